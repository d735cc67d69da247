"""`mended.json`: how many texts of a source a build had to mend, so that the card can say so.

Contract: counted by the builders while they read (`Log.mended`), by benchmark and field; a build on an earlier one adds
to its counts. Nothing is there where nothing was mended.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from livek12.core.errors import UserError, why

FILE = "mended.json"


def read_mended(folder: Path) -> Counter[str]:
    """How many texts were mended, by "BENCHMARK FIELD"; none where there is no such file.

    Raises:
        UserError: the file is not readable.
    """
    file = folder / FILE
    if not file.is_file():
        return Counter()
    try:
        return Counter({str(name): int(count) for name, count in json.loads(file.read_bytes()).items()})
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise UserError(f"{file}: not readable ({why(error)}); build the data set again") from None


def write_mended(folder: Path, mended: Counter[str]) -> None:
    """Writes the file; nothing where nothing was mended."""
    if mended:
        (folder / FILE).write_text(json.dumps(dict(sorted(mended.items()))) + "\n", encoding="utf-8")
