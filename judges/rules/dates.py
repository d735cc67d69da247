"""Dates and places on the globe: 1949年10月1日, October 1, 1949, 1949-10-01, 公元前221年, 221 BC; 东经120°, 120°E.

Contract: `read_date` and `read_place` read whole texts only, and say None of any other. What could be month or day
first (3/4/1990) is no date. A date that says less than the key (1949年10月) is a doubt, never equal. Pure, and linear.
"""

from __future__ import annotations

import re
from fractions import Fraction

from livek12.core.patterns import late
from livek12.judges.base import Outcome
from livek12.judges.rules.notation import bare, to_latex

MAX_CHARS = 60
Date = tuple[int | None, int | None, int | None]
"""Year (negative: before Christ), month, day; None is not said."""
_MONTHS = "january february march april may june july august september october november december".split()
_MONTH = "|".join(f"{name}|{name[:3]}\\.?" for name in _MONTHS) + "|sept\\.?"
_BEFORE = r"b\.?\s?c\.?(?:\s?e\.?)?"
_FORMS = (
    late(
        r"(?P<zh>公元前|前|公元|기원전|서기)?\s*(?P<year>\d{1,4})\s*(?:年|년)"
        r"(?:\s*(?P<month>\d{1,2})\s*(?:月|월)(?:\s*(?P<day>\d{1,2})\s*(?:日|号|일))?)?"
    ),
    late(r"(?P<month>\d{1,2})\s*(?:月|월)\s*(?P<day>\d{1,2})\s*(?:日|号|일)"),
    late(r"(?P<year>\d{4})(?P<sign>[-./])(?P<month>\d{1,2})(?P=sign)(?P<day>\d{1,2})"),
    late(rf"(?P<name>{_MONTH})\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+(?P<year>\d{{4}}))?", re.IGNORECASE),
    late(
        rf"(?:the\s+)?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<name>{_MONTH})(?:,?\s+(?P<year>\d{{4}}))?",
        re.IGNORECASE,
    ),
    late(rf"(?P<name>{_MONTH}),?\s+(?P<year>\d{{4}})", re.IGNORECASE),
    late(rf"(?:in\s+)?(?P<year>\d{{1,4}})\s*(?P<era>{_BEFORE}|a\.?\s?d\.?|c\.?\s?e\.?)", re.IGNORECASE),
    late(r"(?P<zh>公元前|기원전)\s*(?P<year>\d{1,4})"),
    late(r"(?P<era>a\.?\s?d\.?)\s*(?P<year>\d{1,4})", re.IGNORECASE),
)


def read_date(text: str) -> Date | None:
    """The date that a text is; None for anything else."""
    plain = re.sub(r"\\(?:text|mathrm)|[{}$]", "", to_latex(bare(text))).strip() if len(text) <= MAX_CHARS else ""
    match = next(filter(None, (form.fullmatch(plain) for form in _FORMS)), None)
    if match is None:
        return None
    said = dict.fromkeys(("zh", "era", "name", "year", "month", "day"), "") | {
        part: text or "" for part, text in match.groupdict().items()
    }
    year, day = (int(said[part]) if said[part] else None for part in ("year", "day"))
    month = _month(said["name"]) if said["name"] else int(said["month"]) if said["month"] else None
    if not (1 <= (month or 1) <= 12 and 1 <= (day or 1) <= 31):
        return None
    before = said["zh"] in {"公元前", "前", "기원전"} or said["era"][:1].lower() == "b"
    return (-year if year and before else year), month, day


def _month(name: str) -> int:
    return next(number for number, month in enumerate(_MONTHS, 1) if month.startswith(name[:3].lower()))


def compare_dates(gold: str, answer: str) -> Outcome | None:
    """Whether two texts are one date; None where they are not both dates, or both a plain year, which is a number."""
    one = read_date(gold)
    other = read_date(answer) if one else None
    if one is None or other is None or (_is_plain_year(one) and _is_plain_year(other)):
        return None
    if one == other:
        return "accept"
    differ = any(a is not None and b is not None and a != b for a, b in zip(one, other, strict=True))
    return "reject" if differ else "undecided"


def _is_plain_year(date: Date) -> bool:
    return (date[0] or 0) > 0 and date[1:] == (None, None)


_SIDES = {"东经": "E", "西经": "W", "北纬": "N", "南纬": "S", "동경": "E", "서경": "W", "북위": "N", "남위": "S"}
_NUMBER = r"(?P<{}>\d{{1,3}}(?:\.\d{{1,6}})?)\s*(?:°|\^?\s*\\circ|\^\{{\\circ\}}|度|도)"
_PLACE = late(
    rf"(?P<side>{'|'.join(_SIDES)})\s*(?:约|약)?\s*{_NUMBER.format('before')}|{_NUMBER.format('behind')}\s*(?P<letter>[EWNS])"
)


def read_place(text: str) -> dict[str, Fraction] | None:
    """Latitude, longitude or both, by "NS" and "EW", south and west negative; None for anything else."""
    plain = re.sub(r"\\(?:text|mathrm)|[{}$]", "", bare(text)).strip("()（） ") if len(text) <= MAX_CHARS else ""
    found: dict[str, Fraction] = {}
    for piece in re.split(r"\s*[,，、;；]\s*", plain):
        match = _PLACE.fullmatch(piece)
        side = (match["letter"] or _SIDES[match["side"]]) if match else ""
        axis = "NS" if side in {"N", "S"} else "EW"
        if match is None or axis in found:
            return None
        degrees = Fraction(match["before"] or match["behind"])
        found[axis] = -degrees if side in {"S", "W"} else degrees
    return found


def compare_places(gold: str, answer: str) -> Outcome | None:
    """Whether two texts are one latitude, longitude or place; None where they are not both such."""
    one = read_place(gold)
    other = read_place(answer) if one else None
    if one is None or other is None:
        return None
    if one == other:
        return "accept"
    return "reject" if one.keys() == other.keys() else "undecided"
