"""Strict reading of a model's JSON.

Contract: nothing is evaluated, repaired or guessed. A reply is one JSON object, bare or in one code fence; anything
else is `Unreadable`, whose message completes "the reply …".
"""

from __future__ import annotations

import json
from typing import Any

from livek12.core.text import one_line

Json = dict[str, Any]
MAX_REPLY = 200_000
"""A longer reply, in characters, is not read."""
_FENCE = "```"


class Unreadable(ValueError):
    """Malformed reply."""


def parse_object(text: str) -> Json:
    """One JSON object of a reply; `Unreadable` for duplicate fields and numbers that JSON does not know."""
    if len(text) > MAX_REPLY:
        raise Unreadable(f"is {len(text)} characters long")
    try:
        value = json.loads(_bare(text), object_pairs_hook=_once, parse_constant=_no_number)
    except Unreadable:
        raise
    except (ValueError, RecursionError):
        raise Unreadable(f"is not one JSON object: {glimpse(text)}") from None
    if not isinstance(value, dict):
        raise Unreadable(f"is no object but {glimpse(json.dumps(value))}")
    return value


def _bare(text: str) -> str:
    bare = text.strip()
    if len(bare) < 2 * len(_FENCE) or not (bare.startswith(_FENCE) and bare.endswith(_FENCE)):
        return bare
    inside = bare[len(_FENCE) : -len(_FENCE)]
    return inside[4:] if inside[:4].lower() == "json" else inside


def _once(pairs: list[tuple[str, Any]]) -> Json:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise Unreadable(f"gives a field twice: {glimpse(str([name for name, _ in pairs]))}")
    return fields


def _no_number(name: str) -> Any:
    raise Unreadable(f"holds {name}")


def object_schema(**properties: Json) -> Json:
    """JSON schema of an object with exactly these fields, in this order."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def fields_of(value: Any, *names: str) -> Json:
    """Object, which must have exactly these fields."""
    entry = an_object(value, "an entry")
    if set(entry) != set(names):
        raise Unreadable(f"has the fields {one_line(sorted(entry), 100)} instead of {sorted(names)}")
    return entry


def an_object(value: Any, what: str) -> Json:
    """Value as an object."""
    if not isinstance(value, dict):
        raise Unreadable(f"gives for {what} no object but {glimpse(json.dumps(value))}")
    return value


def a_list(value: Any, what: str) -> list[Any]:
    """Value as a list."""
    if not isinstance(value, list):
        raise Unreadable(f"gives for {what} no list but {glimpse(json.dumps(value))}")
    return value


def a_text(value: Any, what: str) -> str:
    """Value as a text."""
    if not isinstance(value, str):
        raise Unreadable(f"gives for {what} no text but {glimpse(json.dumps(value))}")
    return value


def a_bool(value: Any, what: str) -> bool:
    """Value as a truth value."""
    if not isinstance(value, bool):
        raise Unreadable(f"gives for {what} neither true nor false but {glimpse(json.dumps(value))}")
    return value


def a_count(value: Any, what: str) -> int:
    """Value as a whole number from 0."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise Unreadable(f"gives for {what} no count but {glimpse(json.dumps(value))}")
    return value


def glimpse(text: str) -> str:
    """Beginning of a text, quoted on one line."""
    line = " ".join(text.split())
    return repr(line if len(line) <= 100 else line[:99] + "…")
