"""Streams the rows of a JSON file in bounded memory.

Contract: rows are the elements of the top-level list, or of a list named in `LISTS` in a top-level object, whose other
members are the context of the rows after them; a context member after the rows is a problem. An object without such a
list is one row if it asks something, else the lists in it hold the rows. A truncated file gives the rows before the
break and one problem; a row may have `MAX_ROW` characters.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from livek12.core.tables import BadLine
from livek12.dataset_builders.reading.names import NAMES, OURS, spelled

LISTS = frozenset({"example", "examples", "data", "rows", "questions", "items", "train", "test", "validation"})
"""Names of the list of rows as a member of an object."""
MAX_ROW = 64 << 20
CHUNK = 1 << 20
_NEAR = 16
"""Parsing an incomplete value fails this near its end, or in an open string."""
_ENDS = {"[": "]", "{": "}"}


@dataclass(frozen=True)
class Element:
    """A row of the file: its text, parsed value, first line and context; `alone` if it is the whole file."""

    line: int
    text: str
    data: Any
    context: dict[str, Any]
    alone: bool = False


def read_json(file: Path) -> Iterator[Element | BadLine]:
    """Yields the rows of a file; bytes that are not UTF-8 become surrogate escapes, for the caller to refuse."""
    with file.open("rb") as stream:
        text = _Text(io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline=""))
        try:
            yield from _rows(text)
        except (ValueError, RecursionError) as error:
            yield BadLine(text.line, f"not JSON ({error}); the file cannot be read from here on")


def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """`object_pairs_hook` that raises `Twice` for a duplicate member, which would be lost."""
    members_by_name = dict(pairs)
    if len(members_by_name) < len(pairs):
        names = [name for name, _ in pairs]
        raise Twice(next(name for name in names if names.count(name) > 1))
    return members_by_name


class Twice(ValueError):
    """An object has a duplicate member."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name!r} is there more than once")


def _rows(text: _Text) -> Iterator[Element | BadLine]:
    first = True
    while first or text.peek():
        start, line, any_value, text.empty_list = text.peek(), text.line, False, False
        if start and start not in _ENDS and not first:
            raise ValueError(f"{start!r} stands where a row belongs")
        for item in _list(text, {}) if start == "[" else _object(text, first) if start == "{" else ():
            any_value = True
            yield item
        if not any_value and not text.empty_list:
            yield BadLine(0 if first else line, "not a list of rows")
        if start not in _ENDS:
            return
        first = False


def _list(text: _Text, context: dict[str, Any]) -> Iterator[Element | BadLine]:
    for line, row in text.elements():
        yield row if isinstance(row, BadLine) else Element(line, text.last, row, context)


def _object(text: _Text, first: bool) -> Iterator[Element | BadLine]:
    begin, listed, pieces = text.line, False, list[str]()
    rest: dict[str, Any] = {}
    context: dict[str, Any] = {}
    for line, name in text.elements(keys=True):
        if name in LISTS and text.peek() == "[":
            listed = True
            yield from _list(text, context)
            continue
        value = text.value()
        if isinstance(value, BadLine) or name in rest:
            yield value if isinstance(value, BadLine) else BadLine(line, str(Twice(name)))
        elif listed and _known(name) and not isinstance(value, list | dict):
            yield BadLine(line, f"{name!r} holds for the rows, and stands behind them: put it before them")
        else:
            rest[name] = value
            pieces += [name, text.last]
            if not listed and not _holds_rows(value):
                context[name] = value
    if not listed and _asks(rest):
        yield Element(begin, " ".join(pieces), rest, {}, alone=first and not text.peek())
        return
    if rest and not listed and all(map(_asks, rest.values())):
        yield from (Element(begin, "", {"id": name, **row}, {}) for name, row in rest.items())
        return
    for value in filter(_holds_rows, rest.values()):
        yield from (Element(begin, json.dumps(row), row, context) for row in value)


def _asks(value: object) -> bool:
    return isinstance(value, dict) and any(OURS.get(name, name) == "question" for name in map(spelled, value))


def _holds_rows(value: object) -> bool:
    return isinstance(value, list) and any(map(_asks, value))


def _known(name: str) -> bool:
    return spelled(name) in OURS or spelled(name) in NAMES


class _Text:
    """The text of a file, of which only the part being read is in memory."""

    def __init__(self, stream: io.TextIOWrapper) -> None:
        self._stream = stream
        self._held, self._at, self._counted = "", 0, 0
        self._line = 1
        self._decoder, self._plain = json.JSONDecoder(object_pairs_hook=members), json.JSONDecoder()
        self.last = ""
        self.empty_list = False

    @property
    def line(self) -> int:
        self._line += self._held.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def peek(self) -> str:
        """The next non-space character; empty at the end of the file."""
        while True:
            self._at = json.decoder.WHITESPACE.match(self._held, self._at).end()  # type: ignore[attr-defined]
            if self._at < len(self._held) or not self._more(CHUNK):
                return self._held[self._at : self._at + 1]

    def elements(self, *, keys: bool = False) -> Iterator[tuple[int, Any]]:
        """The elements of the list, or the keys of the object, that begins here, each with its line.

        The caller must read the value of a key before the next key.
        """
        end = _ENDS[self._take()]
        if self.peek() == end:
            self._take()
            self.empty_list = True
            return
        while True:
            self.peek()
            line, value = self.line, self.value()
            if keys:
                self._expect(":")
                yield line, str(value)
            elif self.peek() not in (",", end):
                raise ValueError("the list breaks off after this row")
            else:
                yield line, value
            if self._expect("," + end) == end:
                return

    def value(self) -> Any:
        """The value that begins here; a `BadLine` if it has a duplicate member."""
        self.peek()
        while True:
            try:
                value, end = self._decode()
            except json.JSONDecodeError as error:
                buffered = len(self._held) - self._at
                breaks_off = error.msg.startswith("Unterminated") or error.pos >= len(self._held) - _NEAR
                if not breaks_off or buffered > MAX_ROW or not self._more(max(CHUNK, buffered)):
                    raise ValueError(error.msg) from None
                continue
            if end == len(self._held) and self._more(CHUNK):
                continue  # a number may go on
            self.last, self._at = self._held[self._at : end], end
            return value

    def _decode(self) -> tuple[Any, int]:
        try:
            return self._decoder.raw_decode(self._held, self._at)
        except Twice as error:
            _, end = self._plain.raw_decode(self._held, self._at)
            return BadLine(self.line, str(error)), end

    def _expect(self, characters: str) -> str:
        if (character := self.peek()) and character in characters:
            return self._take()
        raise ValueError(
            f"{character!r} stands where {' or '.join(characters)} belongs" if character else "the file ends"
        )

    def _take(self) -> str:
        self._at += 1
        return self._held[self._at - 1]

    def _more(self, size: int) -> bool:
        _ = self.line
        new = self._stream.read(size)
        self._held, self._at, self._counted = self._held[self._at :] + new, 0, 0
        return bool(new)
