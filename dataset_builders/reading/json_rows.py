"""Reads the rows of a JSON file one after the other, in bounded memory.

Contract: the rows are the elements of the top-level list, or of a list named in `LISTS` in a top-level object, whose
other members are the context of the rows behind them; an object without such a list is one row if it asks something. A
file that breaks off gives what came before and one problem; a row may be `MAX_ROW` characters long.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from livek12.core.lines import BadLine
from livek12.dataset_builders.reading.names import OURS, spelled

LISTS = frozenset({"example", "examples", "data", "rows", "questions", "items", "train", "test", "validation"})
"""What the list of rows is called where it is a member of an object."""
MAX_ROW = 64 << 20
CHUNK = 1 << 20
_NEAR = 16
"""A value that goes on behind what is held fails this near its end, or in an open string."""
_ENDS = {"[": "]", "{": "}"}


@dataclass(frozen=True)
class Element:
    """A row as it stands in the file: its text, what that says, the line it begins at, and its context.

    `alone`: it is the whole file.
    """

    line: int
    text: str
    data: Any
    context: dict[str, Any]
    alone: bool = False


def read_json(file: Path) -> Iterator[Element | BadLine]:
    """The rows of a file. Bytes that are not UTF-8 come as surrogate escapes, for the caller to refuse."""
    with file.open("rb") as stream:
        text = _Text(io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline=""))
        found = False
        try:
            for item in _rows(text):
                found = True
                yield item
            if not found and not text.empty_list:
                yield BadLine(0, "not a list of rows")
        except (ValueError, RecursionError) as error:
            yield BadLine(text.line, f"not JSON ({error}); the file cannot be read from here on")


def _rows(text: _Text) -> Iterator[Element]:
    """The rows of the value that begins here."""
    if text.peek() == "[":
        yield from (Element(line, text.last, row, {}) for line, row in text.elements())
    elif text.peek() == "{":
        context: dict[str, Any] = {}
        members: dict[str, Any] | None = {}
        pieces = []
        for _, name in text.elements(keys=True):
            if name in LISTS and text.peek() == "[":
                members = None
                yield from (Element(line, text.last, row, context) for line, row in text.elements())
                continue
            value = text.value()
            if not isinstance(value, list | dict):
                context[name] = value
            if members is not None:
                members[name] = value
                pieces.append(text.last)
        if members and any(OURS.get(name, name) == "question" for name in map(spelled, members)):
            yield Element(1, " ".join([*members, *pieces]), members, {}, alone=True)


class _Text:
    """The text of a file, of which only the part that is being read is held."""

    def __init__(self, stream: io.TextIOWrapper) -> None:
        self._stream = stream
        self._held, self._at, self._counted = "", 0, 0
        self._line = 1
        self._decoder = json.JSONDecoder()
        self.last = ""
        self.empty_list = False

    @property
    def line(self) -> int:
        """The line that is being read, from 1."""
        self._line += self._held.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def peek(self) -> str:
        """The next character that is no space; empty at the end of the file."""
        while True:
            self._at = json.decoder.WHITESPACE.match(self._held, self._at).end()  # type: ignore[attr-defined]
            if self._at < len(self._held) or not self._more(CHUNK):
                return self._held[self._at : self._at + 1]

    def elements(self, *, keys: bool = False) -> Iterator[tuple[int, Any]]:
        """The elements of the list, or the keys of the object, that begins here, each with its line.

        Whoever takes a key reads its value before the next one.
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
        """The value that begins here."""
        self.peek()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._held, self._at)
            except json.JSONDecodeError as error:
                held = len(self._held) - self._at
                breaks_off = error.msg.startswith("Unterminated") or error.pos >= len(self._held) - _NEAR
                if not breaks_off or held > MAX_ROW or not self._more(max(CHUNK, held)):
                    raise ValueError(error.msg) from None
                continue
            if end == len(self._held) and self._more(CHUNK):
                continue  # a number may go on
            self.last, self._at = self._held[self._at : end], end
            return value

    def _expect(self, characters: str) -> str:
        if (found := self.peek()) and found in characters:
            return self._take()
        raise ValueError(f"{found!r} stands where {' or '.join(characters)} belongs" if found else "the file ends")

    def _take(self) -> str:
        self._at += 1
        return self._held[self._at - 1]

    def _more(self, size: int) -> bool:
        """Holds at least one character more, and lets go of what is read; whether there was any."""
        _ = self.line
        new = self._stream.read(size)
        self._held, self._at, self._counted = self._held[self._at :] + new, 0, 0
        return bool(new)
