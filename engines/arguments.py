"""Engine arguments, which come as pairs of texts (`core.arguments`), as the typed arguments of an engine.

An engine's keyword-only constructor arguments are its engine arguments: their names and types are written
down once, there. An engine that takes `**rest` passes unknown names on to its library; others refuse them.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

from livek12.core.arguments import masked, typed_value
from livek12.core.errors import UserError

_KINDS: dict[type, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    dict: "a JSON object",
    list: "a JSON list",
}


def declared(build: Callable[..., Any]) -> list[str]:
    """The arguments that an engine takes itself."""
    return [p.name for p in inspect.signature(build).parameters.values() if p.kind is p.KEYWORD_ONLY]


def bound(build: Callable[..., Any], engine: str, args: Mapping[str, Any]) -> dict[str, Any]:
    """The keyword arguments for `build` from texts (values that are no text stay as they are).

    Raises:
        UserError: an argument that `build` does not take, with those it does; or a value of another type.
    """
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
    """Over how many devices an engine with these arguments spreads.

    Raises:
        UserError: a size is not a whole number.
    """
    return _whole(args, "tensor_parallel_size") * _whole(args, "pipeline_parallel_size")


def _whole(args: Mapping[str, Any], name: str) -> int:
    try:
        return max(1, int(args.get(name) or 1))
    except (TypeError, ValueError) as error:
        raise UserError(f"engine argument {name}={args[name]} is not a whole number") from error
