"""Reads what harnesses write as JSON: lines of samples, and the results beside them, each within bounds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from livek12.core.errors import UserError
from livek12.core.lfs import refuse_pointer
from livek12.core.lines import read_lines

RESULTS_BYTES = 256 << 20


def lines_of(log: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a log with their numbers from 1; one over the limit comes cut, and is no JSON.

    Raises:
        UserError: the log cannot be read.
    """
    refuse_pointer(log)
    try:
        with log.open("rb") as file:
            yield from read_lines(file)
    except OSError as error:
        raise UserError(f"{log}: cannot be read ({error.strerror})") from None


def results_of(file: Path) -> dict[str, Any]:
    """The JSON object of a results file; nothing where there is none, or it is too large."""
    try:
        if file.stat().st_size > RESULTS_BYTES:
            return {}
        found = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
