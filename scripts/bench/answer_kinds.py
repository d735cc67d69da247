"""Types of answers of a key, by rule.

The first that fits: `choice` and `true or false` by the question's type; `several parts` if the key has more than one;
then, without dollars, boxes and spacing: `quantity` (figures and a unit or a per cent), `text` (words), `set, tuple,
matrix` (lists, unions, intervals), `equation` (a relation), `number` (figures and signs alone), else `expression`.
"""

from __future__ import annotations

import re

from livek12.core.question_types import CHOICE_TYPES
from livek12.scripts.bench.labelled import BenchRow

KINDS = (
    "number", "quantity", "expression", "equation", "set, tuple, matrix", "text", "several parts", "choice",
    "true or false",
)  # fmt: skip
_LAYOUT = re.compile(r"\$|\\(?:boxed|left|right|displaystyle|d?q?quad)(?![a-z])|\\[,;:!() ]|\s")
_FIGURES = re.compile(r"(?:[\d.,+\-−±*/^(){}!:√πei×·]|\\(?:[dt]?frac|sqrt|pi|pm|times|cdot|overline|dots|infty))+")
_UNIT = re.compile(
    r"(?:\\(?:text|mathrm|rm)\{[^{}]*\}|\\?%|\\circ\}?|[°℃]"
    r"|(?:[munkcd]?m|[munk]?g|[mun]?s|[mk]?[WVAJLN]|mol|min|h|K|Hz|Pa|eV|Ω|[a-z]{4,})(?![a-z]))[\w^{}\-/·]*"
)
_RELATION = re.compile(r"[=<>≤≥≠≈≡]|\\(?:le|ge|leq|geq|ne|neq|approx|equiv|lt|gt|sim|parallel|perp)(?![a-z])")
_SETS = re.compile(r"\\(?:cup|cap|in|mathbb|emptyset|varnothing|setminus|begin)(?![a-z])|[∪∩∈∅]|\\\{")
_JOINED = re.compile(r"(?<![A-Za-z])(?:and|or)(?![A-Za-z])|[;；，、和与或]")
_WORDS = re.compile(r"[\u3040-\u9fff\uac00-\ud7a3]|[A-Za-z]{4,}|\\text\{\s*[A-Za-z]+\s*\}")
_COMMAND = re.compile(r"\\(?:begin|end)\{[a-z]*\}|\\(?!text)[A-Za-z]+")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?!\d)")


def answer_kind(row: BenchRow) -> str:
    """One of `KINDS`."""
    if row.question_type in CHOICE_TYPES:
        return "choice"
    if row.question_type == "true_false":
        return "true or false"
    if len(row.extracted) > 1:
        return "several parts"
    return _kind_of_key(row.extracted[0])


def _kind_of_key(spaced: str) -> str:
    spaced = _JOINED.sub(",", spaced).replace("\\text{ , }", ",").replace("{,}", ",")
    key = _LAYOUT.sub("", spaced)
    figures = _FIGURES.match(key)
    if figures is not None and _UNIT.fullmatch(key, figures.end()):
        return "quantity"
    if _WORDS.search(_COMMAND.sub(" ", _LAYOUT.sub(" ", spaced))):
        return "text"
    if _SETS.search(key) or "," in _THOUSANDS.sub("1", key):
        return "set, tuple, matrix"
    if _RELATION.search(key):
        return "equation"
    return "number" if figures is not None and figures.end() == len(key) else "expression"
