"""Says in a published data set whose answers are held back: `held_back.json`, which the card shows.

Contract: the file holds the release without answers and the private data set that has them, and nothing else.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

FILE = "held_back.json"


@dataclass(frozen=True)
class Held:
    """Which release's answers are kept where."""

    release: str
    repo: str

    def write(self, folder: Path) -> None:
        """Writes the file."""
        (folder / FILE).write_text(json.dumps(asdict(self), ensure_ascii=False) + "\n", encoding="utf-8")


def read_held(folder: Path) -> Held | None:
    """What a data set says of held answers; None where all answers are there."""
    file = folder / FILE
    return parse_held(file.read_bytes()) if file.is_file() else None


def parse_held(content: bytes) -> Held | None:
    """The same from the file's content; None where it says nothing readable."""
    try:
        found = json.loads(content)
        return Held(str(found["release"]), str(found["repo"]))
    except (ValueError, KeyError, TypeError):
        return None
