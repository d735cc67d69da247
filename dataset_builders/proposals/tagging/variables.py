"""Answer variables from the key alone: names, values and types as printed (CFE-Bench, section 3.3).

Contract: every value is part of the key. Keys in words give no numeric or formula variable; choices give none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Literal

from livek12.core.languages import HANGUL, IDEOGRAPHS
from livek12.core.question_types import CHOICE_TYPES, QuestionType
from livek12.core.records import Variable

MOST = 20
LONGEST = 300
Type = Literal["numeric", "formula", "other"]
_WRAPPED = re.compile(r"\$\$?(?P<a>[^$]+)\$\$?|\\\((?P<b>.+)\\\)|\\\[(?P<c>.+)\\\]", re.DOTALL)
_LABEL = re.compile(r"^\s*(?:[（(]\s*(?P<a>\d{1,2}|[ivx]{1,4})\s*[)）]|(?P<b>[①②③④⑤⑥⑦⑧⑨]))\s*", re.IGNORECASE)
_NAME = r"(?:\\[A-Za-z]+|[A-Za-zα-ωΑ-Ω])(?:_(?:\{[^{}]{1,20}\}|\\?\w+))?'*(?:\s*\([A-Za-z]\))?"
_ASSIGNED = re.compile(rf"^\s*(?P<name>{_NAME})\s*=\s*(?P<value>[^=<>≤≥]+)$")
_SEPARATED = re.compile(r"\s*(?:[;；，、]|,(?!\d{3}(?!\d))|\\quad\b)\s*")
_MANTISSA = r"[-+−]?\s*(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
_POWER = r"(?:\s*(?:\\times|×|\\cdot|·)\s*10\s*\^\s*(?:\{\s*[-−]?\d+\s*\}|[-−]?\d)|[eE][-+]?\d+)?"
_RATIO = r"[-+−]?\s*\\[dt]?frac\s*\{\s*-?\d+\s*\}\s*\{\s*\d+\s*\}|[-+−]?\s*\d+\s*/\s*\d+"
_DEGREES = r"\^\s*\{?\s*\\circ\s*\}?"
_UNIT = (
    r"(?:\s*(?:\\?%|°|℃|\\(?:mathrm|text|rm)\s*\{[^{}\d]{1,30}\}|"
    + _DEGREES
    + r"|[A-Za-zΩμ·/^\d{}-]{1,20}|[\u4e00-\u9fff]{1,4}))?"
)
_NUMERIC = re.compile(rf"(?:{_RATIO}|{_MANTISSA}{_POWER}){_UNIT}")
_FORMULA_MARK = re.compile(r"\\[A-Za-z]+|[\^_+*/<>≤≥√πθ]|\d\s*[A-Za-z]|^[A-Za-z]$|[A-Za-z]\s*-\s*\w")
_WORDS = re.compile(rf"[{IDEOGRAPHS}{HANGUL}]{{2,}}|[A-Za-z]{{3,}}\s+[A-Za-z]{{2,}}")


def variables_of(kind: QuestionType, answer: Sequence[str]) -> list[Variable]:
    """Variables of a key, one entry a blank or part; none for choices, true/false and proofs."""
    if kind in CHOICE_TYPES or kind in ("true_false", "proof"):
        return []
    variables: list[Variable] = []
    for number, entry in enumerate(answer, 1):
        if 0 < len(entry.strip()) <= LONGEST:
            variables += _of_entry(entry, number if len(answer) > 1 else 0)
    names = [variable.name for variable in variables]
    return [] if len(names) != len(set(names)) or len(variables) > MOST else variables


def type_of(value: str) -> Type:
    """Type of a value: numeric (with or without unit), formula, or other."""
    bare = _bare(value)
    if _NUMERIC.fullmatch(bare) and not _is_product(bare):
        return "numeric"
    return "formula" if _FORMULA_MARK.search(bare) and not _WORDS.search(bare) else "other"


def occurs(value: str, *texts: str) -> bool:
    """True if a text contains the value, ignoring spaces, dollars and braces; numbers match whole."""
    bare = plain(value)
    if not bare:
        return False
    before = r"(?<![\d.])" if bare[0].isdigit() else ""
    after = r"(?!\.?\d)" if bare[-1].isdigit() else ""
    pattern = re.compile(before + re.escape(bare) + after)
    return any(pattern.search(plain(text)) for text in texts)


def plain(text: str) -> str:
    """Normalises spelling for comparison."""
    flat = unicodedata.normalize("NFKC", text).replace("−", "-")
    flat = re.sub(
        r"\\(?:left|right|displaystyle|mathrm|text|rm|,|;|!)(?![A-Za-z])|\\d(?=frac)|\\t(?=frac)", _kept, flat
    )
    return re.sub(r"[\s${}]+", "", flat)


def _of_entry(entry: str, number: int) -> Iterator[Variable]:
    label = _LABEL.match(entry)
    body = entry[label.end() :] if label else entry
    where = f"part {label['a'] or label['b']}" if label else f"part {number}" if number else ""
    pieces = [_ASSIGNED.match(_bare(piece)) for piece in _SEPARATED.split(_bare(body)) if piece.strip()]
    if pieces and all(pieces):
        for match in pieces:
            if match:
                value = match["value"].strip(" .。")
                yield Variable(name=match["name"].strip(), description=where, type=type_of(value), value=value)
        return
    value = _bare(body).strip(" .。")
    if value:
        name = f"answer_{number}" if number else "answer"
        yield Variable(name=name, description=where, type=type_of(value), value=value)


def _bare(text: str) -> str:
    return _WRAPPED.sub(lambda match: next(filter(None, match.groups())), text).strip()


def _is_product(bare: str) -> bool:
    """True for `2a`, a formula; False for `2 m`, a number with a usual unit."""
    match = re.fullmatch(r"[-+−]?[\d.,/ ]+?(?P<unit>[A-Za-z]{1,2})", bare)
    return bool(match) and match["unit"] not in _UNIT_LETTERS and not re.search(r"\d\s+[A-Za-z]", bare)  # type: ignore[index]


_UNIT_LETTERS = frozenset("m s g N J W V A K C F T L h Hz Pa eV kg km cm mm nm mL kJ kW mV mA kV MW GW mg ms".split())


def _kept(match: re.Match[str]) -> str:
    return "\\" if match[0] in ("\\d", "\\t") else ""
