"""Engine arguments: typed from their texts and checked before a library is loaded.

They are an engine's keyword-only constructor arguments; `**rest` passes unknown ones on to its library.
"""

from __future__ import annotations

import ast
import difflib
import importlib.util
import inspect
import types
import typing
from collections.abc import Callable, Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from livek12.core.arguments import masked, typed_value
from livek12.core.engine_kinds import kind_of, local_kinds
from livek12.core.errors import UserError
from livek12.core.text import one_line

_KINDS: dict[type, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    dict: "a JSON object",
    list: "a JSON list",
}


def declared(build: Callable[..., Any]) -> list[str]:
    """The engine's own arguments."""
    return [p.name for p in inspect.signature(build).parameters.values() if p.kind is p.KEYWORD_ONLY]


def bound(build: Callable[..., Any], engine: str, args: Mapping[str, Any]) -> dict[str, Any]:
    """Typed keyword arguments for `build`."""
    allowed = declared(build)
    passes_on = any(p.kind is p.VAR_KEYWORD for p in inspect.signature(build).parameters.values())
    hints = typing.get_type_hints(build.__init__ if inspect.isclass(build) else build)
    values: dict[str, Any] = {}
    for name, value in args.items():
        if name in allowed:
            shown = masked({name: value})[name]
            values[name] = _typed(f"{engine} engine argument {name}={shown}", value, hints[name])
        elif passes_on:
            values[name] = typed_value(value) if isinstance(value, str) else value
        else:
            raise UserError(f"the {engine} engine takes no argument {name}; it takes {', '.join(sorted(allowed))}")
    return values


def _typed(what: str, value: Any, hint: Any) -> Any:
    kinds = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    plain = [typing.get_origin(kind) or kind for kind in kinds]
    if not isinstance(value, str):
        wanted = value
    elif type(None) in plain and value.lower() in ("none", "null"):
        return None
    elif str in plain:
        return value
    else:
        wanted = typed_value(value)
    if float in plain and isinstance(wanted, int) and not isinstance(wanted, bool):
        return float(wanted)
    if any(isinstance(wanted, kind) and (kind is bool or not isinstance(wanted, bool)) for kind in plain):
        return wanted
    raise UserError(
        f"{what} is not {' or '.join(_KINDS.get(kind, kind.__name__) for kind in plain if kind is not type(None))}"
    )


def spread_of(args: Mapping[str, Any]) -> int:
    """Number of devices that an engine spreads over."""
    return _whole(args, "tensor_parallel_size") * _whole(args, "pipeline_parallel_size")


def _whole(args: Mapping[str, Any], name: str) -> int:
    try:
        return max(1, int(args.get(name) or 1))
    except (TypeError, ValueError) as error:
        raise UserError(f"engine argument {name}={args[name]} is not a whole number") from error


_HOW = "in your clone of livek12 (docs/install.md)"
_WITHOUT = "or ask a model that is served elsewhere, with --engine openai --engine-args base_url=http://HOST:PORT/v1"
_LOADING = frozenset(
    "adapter_kwargs adapter_name allow_all_kernels attn_implementation cache_dir code_revision device_map device_mesh"
    " disable_mmap distributed_config experts_implementation force_download fusion_config generation_config"
    " ignore_mismatched_sizes kernel_config key_mapping load_in_4bit load_in_8bit local_files_only low_cpu_mem_usage"
    " max_memory offload_buffers offload_folder offload_state_dict proxies quantization_config subfolder token"
    " torch_dtype tp_plan tp_size use_kernels use_safetensors variant weights_only".split()
)
"""`from_pretrained`'s own arguments; it also takes any field of the model's config."""


def missing(name: str, error: ImportError | None = None) -> UserError:
    """Error of a missing library."""
    why = f" ({one_line(error, 120)})" if error is not None else ""
    kind = kind_of(name)
    how = f"pip install {kind.extra} {_HOW}" if kind.extra else "install it"
    return UserError(f"the {name} engine needs {kind.library}, not installed here{why}: {how}; {_WITHOUT}")


def check_installed(name: str, auto: bool) -> None:
    """Refuses a missing local library; `auto`: the user named no engine."""
    if all(importlib.util.find_spec(module) for module in kind_of(name).modules):
        return
    if not auto:
        raise missing(name)
    extras = ", or ".join(kind.extra for kind in local_kinds())
    raise UserError(f"no engine that could run a model is installed here: pip install {extras} {_HOW}; {_WITHOUT}")


def check_library_args(name: str, model: str, args: Mapping[str, Any], declared: Collection[str]) -> None:
    """Refuses arguments unknown to the library."""
    passed_on = [argument for argument in args if argument not in declared]
    accepted = _vllm_args() if name == "vllm" else _LOADING if name == "transformers" else frozenset[str]()
    unknown = [argument for argument in passed_on if accepted and argument not in accepted]
    if name == "transformers" and unknown:
        unknown = _not_in_config(model, args, unknown)
    if unknown:
        near = difflib.get_close_matches(unknown[0], [*accepted, *declared], 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise UserError(f"the {name} engine takes no argument {unknown[0]}{hint}")


@cache
def _vllm_args() -> frozenset[str]:
    """Read off vLLM's source: importing it takes many seconds."""
    package = importlib.util.find_spec("vllm")
    if package is None or package.origin is None:
        return frozenset()
    try:
        tree = ast.parse((Path(package.origin).parent / "engine" / "arg_utils.py").read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError):
        return frozenset()
    fields = {
        line.target.id
        for definition in tree.body
        if isinstance(definition, ast.ClassDef) and definition.name == "EngineArgs"
        for line in definition.body
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
    }
    return frozenset({*fields, "chat_template"} if "max_model_len" in fields else ())


def _not_in_config(model: str, args: Mapping[str, Any], names: list[str]) -> list[str]:
    from livek12.engines.torch_builds import mend_torch_builds

    try:
        mend_torch_builds()
        from transformers import AutoConfig

        source = {name: args[name] for name in ("revision", "trust_remote_code", "gguf_file") if args.get(name)}
        config = AutoConfig.from_pretrained(model, **source)
    except Exception:  # loading the model reports it
        return []
    return [name for name in names if not hasattr(config, name)]
