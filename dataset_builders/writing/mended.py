"""`mended.json`: counts of source texts that a build repaired, by benchmark and field."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from livek12.core.errors import UserError, why

FILE = "mended.json"


def read_mended(folder: Path) -> Counter[str]:
    """The number of repaired texts, by "BENCHMARK FIELD"; none without the file."""
    file = folder / FILE
    if not file.is_file():
        return Counter()
    try:
        return Counter({str(name): int(count) for name, count in json.loads(file.read_bytes()).items()})
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise UserError(f"{file}: not readable ({why(error)}); build the data set again") from None


def write_mended(folder: Path, mended: Counter[str]) -> None:
    """Writes the file if anything was repaired."""
    if mended:
        (folder / FILE).write_text(json.dumps(dict(sorted(mended.items()))) + "\n", encoding="utf-8")
