"""Reads harnesses' JSON within bounds: lines, results, values at paths as texts and numbers.

Contract of `objects`: UTF-8 with or without a byte order mark, UTF-16 with one; wrong bytes become question marks, with
one warning a file. A line that is no JSON object costs a warning. A path is words with dots between them: names of
fields (which may hold dots) or, in a list, numbers from 0. Nothing is evaluated.
"""

from __future__ import annotations

import codecs
import json
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from livek12.core.errors import UserError
from livek12.core.files import refuse_pointer
from livek12.core.progress import warn
from livek12.core.tables import MAX_LINE
from livek12.core.text import clean_json, one_line

RESULTS_BYTES = 256 << 20
_BOMS: Final = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
BAD_ENTRY: Final = "entry that cannot be read"
MISSING: Final = object()
MOST_SHOWN: Final = 12


def results_of(file: Path) -> dict[str, Any]:
    """The JSON object of a results file; empty if absent or too large."""
    try:
        if file.stat().st_size > RESULTS_BYTES:
            return {}
        results = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return results if isinstance(results, dict) else {}


def objects(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The JSON objects of a file, one a line, each with its place."""
    refuse_pointer(file)
    try:
        with file.open("rb") as stream:
            head = stream.read(3)
        encoding = next((name for mark, name in _BOMS if head.startswith(mark)), "utf-8")
        with file.open(encoding=encoding, errors="replace", newline="\n") as lines:
            yield from _objects(file, lines)
    except (OSError, UnicodeError) as error:
        raise UserError(f"{file}: cannot be read ({getattr(error, 'strerror', None) or one_line(error, 80)})") from None


def _objects(file: Path, lines: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    number, replaced = 0, False
    while line := lines.readline(MAX_LINE + 1):
        number += 1
        cut = len(line) > MAX_LINE
        while cut and not line.endswith("\n") and (line := lines.readline(1 << 20)):
            pass
        if not cut and not line.strip():
            continue
        if not replaced and "�" in line:
            replaced = True
            warn(f"{file}:{number}: holds bytes that are not {lines.encoding.upper()}; question marks stand for them")
        try:
            value = None if cut else json.loads(line)
            value = clean_json(value) if "\\ud" in line.lower() else value
            why = f"is longer than {MAX_LINE >> 20} MiB" if cut else "is no JSON object"
        except (ValueError, RecursionError) as error:
            value, why = None, f"is not JSON ({one_line(error, 60)})"
        if isinstance(value, dict):
            yield f"{file}:{number}", value
        else:
            warn(f"{file}:{number}: {why}; passed over", kind=BAD_ENTRY)


def log_files(path: Path, patterns: Collection[str], what: str) -> list[Path]:
    """Files of a log: the path itself, or what matches below it."""
    if path.is_file():
        return [path]
    if not path.exists():
        raise UserError(f"{path}: no such file or folder; give {what}")
    files = sorted({file for pattern in patterns for file in path.rglob(pattern) if file.is_file()})
    if not files:
        raise UserError(f"{path}: holds no {' or '.join(patterns)}; give {what}")
    return files


def number(value: Any) -> float | None:
    """Mark as a number, 0 or 1 for no or yes."""
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, int | float):
        return float(value) if abs(value) <= sys.float_info.max else None
    if isinstance(value, str):
        words = {"c": 1.0, "correct": 1.0, "true": 1.0, "yes": 1.0, "i": 0.0, "incorrect": 0.0, "false": 0.0, "no": 0.0}
        words |= {"p": 0.5, "partial": 0.5, "n": 0.0, "1": 1.0, "0": 0.0, "1.0": 1.0, "0.0": 0.0}
        return words.get(value.strip().lower())
    return None


def numbers(values: Any, but: Collection[str] = ()) -> dict[str, float]:
    """Marks among named values."""
    items = values.items() if isinstance(values, Mapping) else ()
    marks = ((str(name), number(value)) for name, value in items if name not in but)
    return {name: value for name, value in marks if value is not None}


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


def field_names(entry: Mapping[str, Any]) -> str:
    """Paths in an entry, two levels deep, for a message."""
    names: list[str] = []
    for name, value in entry.items():
        inner = value if isinstance(value, Mapping) else {}
        names += [one_line(f"{name}.{field}", 40) for field in inner] or [one_line(name, 40)]
    more = f" and {len(names) - MOST_SHOWN} more" if len(names) > MOST_SHOWN else ""
    return (", ".join(names[:MOST_SHOWN]) or "none") + more
