"""Formulas in what OCR read: runs of mathematical signs become LaTeX between dollar signs.

Contract: only signs are written differently, none is added. Letters marked as raised or lowered (`ocrscripts`) become
scripts within a formula and lose the mark elsewhere. Words are left alone; formulas that were already put together
(fractions) are kept and joined with their neighbours.
"""

from __future__ import annotations

import re
from typing import Final

from livek12.dataset_builders.ingest import latex
from livek12.dataset_builders.ingest.ocrscripts import DOWN, UP

_SIGNS: Final = "+\\-−=<>≤≥⩽⩾≠≈×÷±·⋅√∞∈∉∪∩⊂⊆⊥∥∠△°′'|(){}\\[\\]^/*,.:→⇒∑∫∅∀∃⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ₀₁₂₃₄₅₆₇₈₉ₙ\x02\x03"
_RUN: Final = re.compile(rf"[A-Za-z0-9\u0370-\u03ff\s{_SIGNS}]+")
_TELLING: Final = re.compile(
    r"[=<>≤≥⩽⩾≠≈×÷±√∞∈∉∪∩⊂⊆⊥∥∠△°→⇒∑∫\u0370-\u03ff⁰¹²³⁴-⁹ⁿ₀-₉\x02\x03]|[A-Za-z0-9)]\s*[+−]\s*[A-Za-z0-9(]|(?<!\d)[-−]\d"
)
_LABEL: Final = re.compile(r"\s*(?:[A-H]|\d{1,2}|[(（]\d{1,2}[)）])\s*[.．、)]\s*")
_ROOT: Final = re.compile(r"√\s*(\d+|[A-Za-z]|\(([^()]*)\))")
_EDGE: Final = " ,.:"
_RAISED: Final = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", "0123456789+-n")
_LOWERED: Final = str.maketrans("₀₁₂₃₄₅₆₇₈₉ₙ", "0123456789n")
_SCRIPTS: Final = (("^", re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ]+"), _RAISED), ("_", re.compile("[₀₁₂₃₄₅₆₇₈₉ₙ]+"), _LOWERED))
_MARKED: Final = re.compile(r"([\x02\x03])[^\x02\x03](?:\1[^\x02\x03])*")


def formulas(text: str) -> str:
    """The text with its formulas as LaTeX."""
    parts = text.split("$")
    if len(parts) % 2 == 0:
        return text
    done = "".join(f"${part}$" if at % 2 else _plain(part, at == 0) for at, part in enumerate(parts))
    return re.sub(r"(?<=[^$\s])\$ ?\$(?=[^$\s])", "", done).replace(UP, "").replace(DOWN, "")


def _plain(text: str, first: bool) -> str:
    label = _LABEL.match(text) if first else None
    start = label.end() if label else 0
    pieces = re.split(r"( {4,})", text[start:])
    return text[:start] + "".join(_option(piece) for piece in pieces)


def _option(text: str) -> str:
    label = _LABEL.match(text)
    start = label.end() if label else 0
    return text[:start] + _RUN.sub(lambda run: _formula(run[0]), text[start:])


def _formula(run: str) -> str:
    core = run.strip(_EDGE)
    words = re.findall(r"[A-Za-z]{3,}", core)
    known = all(word.lower() in latex.FUNCTIONS or (word.isupper() and len(word) < 6) for word in words)
    if not core or not known or not _TELLING.search(core):
        return run
    at = run.index(core)
    return f"{run[:at]}${latex_of(core)}${run[at + len(core) :]}"


def latex_of(core: str) -> str:
    """The LaTeX of a formula, without dollar signs."""
    core = _ROOT.sub(lambda root: f"\x00{root[2] or root[1]}\x01", core)
    pieces = []
    for piece in re.findall(r"[\x02\x03].|[A-Za-z]+|\s+|.", core):
        if piece.isspace():
            continue
        if piece[0] in UP + DOWN:
            pieces.append(piece[0] + latex.symbol(piece[1:]))
            continue
        if piece in latex.FUNCTIONS:
            pieces.append(f"\\{piece}")
        elif (piece.isalpha() and piece.isascii()) or any(run.match(piece) for _, run, _ in _SCRIPTS):
            pieces.append(piece)
        else:
            pieces.append(latex.symbol(piece))
    text = ""
    for piece in pieces:
        space = re.search(r"\\[A-Za-z]+$", text) and piece[:1].isalpha()
        text += f" {piece}" if space else piece
    for mark, run, plain in _SCRIPTS:
        text = run.sub(lambda found, mark=mark, plain=plain: _script(mark, found[0].translate(plain)), text)  # type: ignore[misc]
    text = _MARKED.sub(lambda run: _script("^" if run[1] == UP else "_", re.sub("[\x02\x03]", "", run[0])), text)
    return text.replace("\x00", "\\sqrt{").replace("\x01", "}")


def _script(mark: str, inner: str) -> str:
    return f"{mark}{{{inner}}}" if len(inner) > 1 else f"{mark}{inner}"
