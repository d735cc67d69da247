"""CSV that spreadsheets open: no cell is one that they would take for a formula.

Contract: every CSV of ours is written here and read back by `bare` (tests/test_house.py). A text that begins as
formulas do, behind any apostrophes, gets an apostrophe before it; numbers stay numbers.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_FORMULA = re.compile(r"'*[=+\-@＝＋－＠\t\r\n]")


def safe(value: Any) -> Any:
    """A cell as it is written."""
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value


def bare(cell: str) -> str:
    """The text of a cell that was written so."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def csv_text(rows: Iterable[Sequence[Any]], quoted: bool = False) -> str:
    """Rows as CSV; None is an empty cell.

    Args:
        rows: of cells.
        quoted: whether every cell has quotes around it.
    """
    text = io.StringIO(newline="")
    plain = csv.writer(text, lineterminator="\n")
    whole = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    for row in rows:
        broken = any(isinstance(cell, str) and "\r" in cell for cell in row)  # `csv` itself sees no line break in it
        (whole if quoted or broken else plain).writerow([safe(cell) for cell in row])
    return text.getvalue()


def csv_rows(text: str) -> list[dict[str, str]]:
    """The rows of a CSV of ours by the names of its columns; missing cells are empty."""
    rows: Iterable[Mapping[str | None, Any]] = csv.DictReader(io.StringIO(text, newline=""), restval="")
    return [{name: bare(cell) for name, cell in row.items() if name} for row in rows]
