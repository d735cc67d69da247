"""The kinds of exam papers, by name."""

from __future__ import annotations

from typing import Final

from livek12.scripts.bench.exams.chinese import CHINESE
from livek12.scripts.bench.exams.english import ENGLISH
from livek12.scripts.bench.exams.korean import KOREAN

LAYOUTS: Final = {layout.name: layout for layout in (*ENGLISH, *CHINESE, *KOREAN)}
DEVELOPMENT: Final = range(0, 5)
"""Seeds that rules are written with."""
CLOSED: Final = range(1000, 1005)
"""Seeds that nobody looks at: the card says how they were read, and no more."""
