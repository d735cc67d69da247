"""Paths into an entry of a log, and values as text.

Contract: a path is words with dots between them: names of fields (which may hold dots) or, in a list, numbers from 0.
Nothing is evaluated.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from livek12.core.text import one_line

MISSING: Final = object()
MOST_SHOWN: Final = 12


def at(value: Any, path: str) -> Any:
    """Value at a path; `MISSING` if the path ends early."""
    if isinstance(value, Mapping):
        if path in value:
            return value[path]
        parts = path.split(".")
        for count in range(len(parts) - 1, 0, -1):  # the longest name first: it may hold dots
            if (name := ".".join(parts[:count])) in value:
                return at(value[name], ".".join(parts[count:]))
        return MISSING
    first, _, rest = path.partition(".")
    if isinstance(value, Sequence) and not isinstance(value, str | bytes) and first.isdecimal():
        if int(first) >= len(value):
            return MISSING
        return at(value[int(first)], rest) if rest else value[int(first)]
    return MISSING


def first_at(value: Any, paths: Iterable[str]) -> Any:
    """First value that is not null; else `MISSING`."""
    values = (at(value, path) for path in paths)
    return next(
        (value_there for value_there in values if value_there is not MISSING and value_there is not None), MISSING
    )


def text_of(value: Any) -> str:
    """Text of a question or answer; of a conversation, the last turn of the user (or model)."""
    if isinstance(value, str):
        return _last_said(_parsed(value)) if value.lstrip().startswith('[{"') else value
    if isinstance(value, Mapping):
        return text_of(value.get("content", value.get("text", "")))
    if isinstance(value, Sequence):
        if value and all(isinstance(turn, Mapping) and "role" in turn for turn in value):
            return _last_said(value)
        return "\n".join(filter(None, map(text_of, value)))
    return "" if value is None or value is MISSING else json.dumps(value, ensure_ascii=False, default=str)


def _parsed(text: str) -> Any:
    try:
        turns_read = json.loads(text)
    except (ValueError, RecursionError):
        return text
    turns = isinstance(turns_read, list) and all(isinstance(turn, dict) and "role" in turn for turn in turns_read)
    return turns_read if turns else text


def _last_said(turns: Any) -> str:
    if isinstance(turns, str):
        return turns
    users = [turn for turn in turns if turn.get("role") == "user"] or [turns[-1]]
    content = users[-1].get("content")
    return content if isinstance(content, str) else text_of(content)


def field_names(value: Any, depth: int = 2) -> str:
    """Paths in an entry, for a message."""
    names: list[str] = []

    def add(inner: Any, before: str, left: int) -> None:
        for name, item in inner.items() if isinstance(inner, Mapping) else ():
            if isinstance(item, Mapping) and left > 1 and item:
                add(item, f"{before}{name}.", left - 1)
            else:
                names.append(one_line(f"{before}{name}", 40))

    add(value, "", depth)
    more = f" and {len(names) - MOST_SHOWN} more" if len(names) > MOST_SHOWN else ""
    return (", ".join(names[:MOST_SHOWN]) or "none") + more
