"""A model that reads papers: its engine, the cache of its replies, and the comparison of its readings with the rules'.

Contract: two readings are equal if their letters, digits and signs are, in the same order; within formulas, which are
spelt in many ways, the order may differ.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Final

from livek12.core.store import Store
from livek12.dataset_builders.ingest.pages.atoms import symbol
from livek12.engines.asking import REPLIES, Asker, ModelSpec

_FORMULA: Final = re.compile(r"(?<!\\)\$(?:[^$\\]|\\.)*\$", re.DOTALL)
_SPELLING: Final = re.compile(
    r"\\(?:text|math[a-z]{2,6}|operatorname|left|right|displaystyle|[dt]?frac|limits)(?![A-Za-z])"
    r"|(?<=\\[lgn]e)q(?![A-Za-z])|-\s*\n|[\s${}\\\ufffc]+"
)
"""Signs and commands of LaTeX that print nothing, spaces, hyphens at a line's end, and places of pictures."""


class Model:
    """A started model, with a cache if there is a folder; UserError if there is no such engine or model."""

    def __init__(self, spec: ModelSpec, folder: Path | None) -> None:
        self._engine = spec.start()
        self._asker = Asker(self._engine, Store(REPLIES, folder) if folder else None)
        self.name = self._engine.model

    def close(self) -> None:
        """Frees memory and processes."""
        self._engine.close()
        self._asker.close()


def bare(text: str) -> str:
    """A text for comparison: compatible small letters without spaces and the spelling of LaTeX."""
    compatible = unicodedata.normalize("NFKC", text)
    spelt = "".join(sign if sign.isascii() else symbol(sign) for sign in compatible)
    return _SPELLING.sub("", spelt).lower()


def read_alike(first: str, second: str) -> bool:
    """Tests two readings for equality."""
    if bare(first) == bare(second):
        return True
    apart = [bare(_FORMULA.sub("", text)) for text in (first, second)]
    signs = [Counter(bare("".join(_FORMULA.findall(text)))) for text in (first, second)]
    return apart[0] == apart[1] and signs[0] == signs[1]
