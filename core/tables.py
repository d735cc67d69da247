"""Lines and tables (CSV, TSV), read in bounded memory; CSV that is safe in spreadsheets.

Contract: an overlong line or row, an unclosed quote, a row that does not fit the header, and bytes that are not UTF-8
cost one problem each. In our CSV a text that begins like a formula gets an apostrophe before it, which `bare` removes.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

MAX_LINE = 64 << 20
"""Bytes of one line, or of one field of a table: several pictures in base64."""
MAX_ROW_LINES = 10_000
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


class BadLine(ValueError):
    """Line that is no row; `line` counts from 1, `id` is the row's own where it could be read."""

    def __init__(self, line: int, why: str, id: str | None = None) -> None:
        super().__init__(why)
        self.line, self.id = line, id


def read_lines(stream: BinaryIO, most: int = MAX_LINE) -> Iterator[tuple[int, bytes]]:
    """Lines of a file with their numbers from 1; one longer than `most` bytes is cut to one byte more."""
    number = 0
    while line := stream.readline(most + 1):
        number += 1
        rest = line
        while not rest.endswith(b"\n") and (rest := stream.readline(1 << 20)):
            pass
        yield number, line


def read_table(file: Path) -> Iterator[tuple[int, dict[str, str] | BadLine]]:
    """Rows of a CSV or TSV file (by its suffix) as column → text, each with its first line's number.

    Empty fields, and numbers in an unnamed column (an index), are left out; its other cells are `column N`, from 1.
    """
    delimiter = "\t" if file.suffix.lower() == ".tsv" else ","
    csv.field_size_limit(MAX_LINE)
    with file.open("rb") as stream:
        rows = _Rows(stream, delimiter)
        header: list[str] = []
        for line, fields in rows:
            if isinstance(fields, BadLine):
                yield line, fields
                if not header:
                    return
            elif not header:
                header = [name.strip() for name in fields]
                if problem := _header_problem(fields):
                    yield line, BadLine(line, problem)
                    return
            elif len(fields) != len(header):
                yield line, BadLine(line, f"it has {len(fields)} fields where the header has {len(header)}")
            else:
                cells = enumerate(zip(header, fields, strict=True), start=1)
                named_cells = (
                    (name or f"column {n}", name or not field.isdecimal(), field) for n, (name, field) in cells
                )
                row = {name: field for name, counts, field in named_cells if field and counts}
                yield line, row if _is_utf8(*fields) else BadLine(line, "not valid UTF-8", row.get("id"))


def _header_problem(fields: list[str]) -> str:
    names = [name.strip() for name in fields if name.strip()]
    if not _is_utf8(*fields):
        return "the header is not UTF-8; save the table as UTF-8"
    if len(names) != len(set(names)):
        return f"column {next(name for name in names if names.count(name) > 1)!r} is there more than once"
    return ""


def _is_utf8(*texts: str) -> bool:
    try:
        for text in texts:
            text.encode()
    except UnicodeEncodeError:
        return False
    return True


class _Rows:
    """Behind a broken row it goes on at the next line."""

    def __init__(self, stream: BinaryIO, delimiter: str) -> None:
        self._stream, self._delimiter = stream, delimiter
        self._line = self._first = 0
        self._resume = 0
        self._too_long = ""

    def __iter__(self) -> Iterator[tuple[int, list[str] | BadLine]]:
        while True:
            reader = csv.reader(self._texts(), delimiter=self._delimiter, strict=True)
            self._first = 0
            try:
                for fields in reader:
                    line, self._first = self._first, 0
                    if fields:
                        yield line, fields
                return
            except (csv.Error, UnicodeError) as error:
                line = self._first
                yield line, BadLine(line, f"cannot be read: {self._too_long or error}")
            self._stream.seek(self._resume)
            self._line, self._too_long = line, ""

    def _texts(self) -> Iterator[str]:
        for _, raw in read_lines(self._stream):
            self._line += 1
            if not self._first:
                self._first, self._resume = self._line, self._stream.tell()
            if self._line == 1 and raw.startswith(_UTF16):
                raise csv.Error("UTF-16; save the table as UTF-8")
            if len(raw) > MAX_LINE:
                self._too_long = f"a line has more than {MAX_LINE >> 20} MiB"
            if self._line - self._first > MAX_ROW_LINES:
                self._too_long = f"a quote is not closed within {MAX_ROW_LINES} lines"
            if self._too_long:
                raise csv.Error(self._too_long)
            yield raw.decode("utf-8-sig" if self._line == 1 else "utf-8", errors="surrogateescape")


_FORMULA = re.compile(r"'*[=+\-@＝＋－＠\t\r\n]")


def safe(value: Any) -> Any:
    """Cell as written."""
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value


def bare(cell: str) -> str:
    """Text of a written cell."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def csv_text(rows: Iterable[Sequence[Any]], quoted: bool = False) -> str:
    """Rows as CSV; `quoted` puts quotes around every cell."""
    text = io.StringIO(newline="")
    plain = csv.writer(text, lineterminator="\n")
    whole = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    for row in rows:
        broken = any(isinstance(cell, str) and "\r" in cell for cell in row)  # `csv` itself sees no line break in it
        (whole if quoted or broken else plain).writerow([safe(cell) for cell in row])
    return text.getvalue()


def csv_rows(text: str) -> list[dict[str, str]]:
    """Rows of our CSV by column."""
    rows: Iterable[Mapping[str | None, Any]] = csv.DictReader(io.StringIO(text, newline=""), restval="")
    return [{name: bare(cell) for name, cell in row.items() if name} for row in rows]
