"""The `--engine-args` of a command: text to pairs, and pairs to the typed arguments of an engine.

An engine's keyword-only constructor arguments are its engine arguments: their names and types are written
down once, there. An engine that takes `**rest` passes unknown names on to its library; others refuse them.
"""

from __future__ import annotations

import inspect
import json
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

from livek12.core.errors import UserError

_CLOSING = {"{": "}", "[": "]"}
_WORDS = {"true": True, "false": False, "none": None, "null": None}
_KINDS: dict[type, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    dict: "a JSON object",
    list: "a JSON list",
}


def parse_engine_args(text: str) -> dict[str, str]:
    """Splits "K=V,K2=V2" at the commas outside JSON brackets, braces and double quotes.

    Raises:
        UserError: a piece without "=", an empty or repeated name, or brackets that do not close.
    """
    found: dict[str, str] = {}
    for piece in split_at_commas(text):
        name, equals, value = piece.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name.isidentifier():
            raise UserError(f"engine argument {piece.strip()!r} is not NAME=VALUE")
        if name in found:
            raise UserError(f"engine argument {name} is given twice")
        found[name] = value.strip()
    return found


def split_at_commas(text: str) -> list[str]:
    """The pieces between commas that stand in no quote and no bracket; empty ones are left out.

    Raises:
        UserError: the text ends inside a quote or bracket.
    """
    pieces, start, open_brackets, quoted, escaped = [], 0, "", False, False
    for place, character in enumerate(text):
        if quoted:
            quoted = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            quoted = True
        elif character in _CLOSING:
            open_brackets += _CLOSING[character]
        elif open_brackets and character == open_brackets[-1]:
            open_brackets = open_brackets[:-1]
        elif character == "," and not open_brackets:
            pieces.append(text[start:place])
            start = place + 1
    if quoted or open_brackets:
        raise UserError("engine arguments end inside a quote or bracket: each that opens must close")
    return [piece for piece in [*pieces, text[start:]] if piece.strip()]


def typed_value(text: str) -> Any:
    """A value whose type nobody declared: JSON where it is JSON, true/false/none in any case, else the text."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def bound(build: Callable[..., Any], engine: str, args: Mapping[str, Any]) -> dict[str, Any]:
    """The keyword arguments for `build` from texts (values that are no text stay as they are).

    Raises:
        UserError: an argument that `build` does not take, with those it does; or a value of another type.
    """
    parameters = inspect.signature(build).parameters.values()
    allowed = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    passes_on = any(p.kind is p.VAR_KEYWORD for p in parameters)
    hints = typing.get_type_hints(build.__init__ if inspect.isclass(build) else build)
    values: dict[str, Any] = {}
    for name, value in args.items():
        if name in allowed:
            values[name] = _typed(f"{engine} engine argument {name}={value}", value, hints[name])
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
