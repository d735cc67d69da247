"""Dates, times of day and ordinals, in digits and words of three languages.

1949年10月1日, October 1, 1949, 1949-10-01, 公元前221年, 221 BC; half past two, 第三. Readers take
whole texts only. Ambiguities (3/4/1990, 2:30 as a ratio, 3:00 as 15:00) and dates coarser than the key are doubts.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from livek12.core.patterns import late
from livek12.judges.base import Outcome
from livek12.judges.rules.notation import bare, to_latex
from livek12.judges.rules.numerals import read_numeral

MAX_TIME = 40
HALF_DAY, DAY = 12 * 60, 24 * 60


class Time(NamedTuple):
    """Minutes since midnight; whether the half of the day is clear, and stated (a.m., 下午)."""

    minutes: int
    sure: bool
    said: bool = False


_TIME = late(
    r"(?P<zh>凌晨|早上|上午|中午|下午|晚上|오전|오후|새벽|저녁)?\s*(?P<hour>\d{1,2})"
    r"(?::(?P<minute>[0-5]\d)(?::00)?|\s*[点时시]\s*(?:(?P<minute2>[0-5]?\d)\s*[分분]|整|정각)?|(?=\s*[ap]\.?m))"
    r"\s*(?P<half>[ap]\.?\s?m\b\.?|o'clock)?",
    re.IGNORECASE,
)
_OF_A_TIME = late(r"[:：点时시]|[ap]\.?m", re.IGNORECASE)
_MORNING = frozenset({"凌晨", "早上", "上午", "오전", "새벽", "a"})


def _read_time(text: str) -> Time | None:
    if len(text) > MAX_TIME or not _OF_A_TIME.search(text):
        return None
    match = _TIME.fullmatch(re.sub(r"\\(?:text|mathrm)|[{}\\$]", "", bare(text)).replace("：", ":").strip())
    if match is None:
        return None
    hour, minute = int(match["hour"]), int(match["minute"] or match["minute2"] or 0)
    half = (match["zh"] or match["half"] or "").lower()
    if hour > 24 or (half == "o'clock" and hour > 12):
        return None
    if not half or half == "o'clock":
        return Time(hour * 60 + minute, hour > 12 or hour == 0)
    if hour > 12:
        return Time(hour * 60 + minute, True, True)
    morning = half in _MORNING or half[0] == "a"
    if half == "中午":
        return Time((hour if hour >= 11 else hour + 12) * 60 + minute, True, True)
    return Time((hour % 12 + (0 if morning else 12)) * 60 + minute, True, True)


def compare_times(gold: str, answer: str) -> Outcome | None:
    """Compares two times of day; None if either is none."""
    key, other = _read_time(gold), _read_time(answer)
    if key is None or other is None:
        return None
    if key.minutes % DAY == other.minutes % DAY and (key.sure or other.sure or bare(gold) == bare(answer)):
        return "accept"
    if not (key.said or other.said) and _ratio(key) is not None and _ratio(key) == _ratio(other):
        return "undecided"
    both = key.sure and other.sure
    return "reject" if both or key.minutes % HALF_DAY != other.minutes % HALF_DAY else "undecided"


def _ratio(time: Time) -> Fraction | None:
    hours, minutes = divmod(time.minutes, 60)
    return Fraction(hours, minutes) if minutes else None


_ORDINALS = {word: rank for rank, word in enumerate(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split(), 1)}  # fmt: skip
_KO_ORDINALS = {"첫": 1, "두": 2, "세": 3, "네": 4, "다섯": 5, "여섯": 6, "일곱": 7, "여덟": 8, "아홉": 9, "열": 10}
_ORDINAL = late(
    r"(?:the )?(?P<word>" + "|".join(_ORDINALS) + r")|(?:the )?(?P<digits>\d{1,4})(?P<end>st|nd|rd|th)"
    r"|第\s?(?P<zh>[\d零一二两三四五六七八九十百千]{1,7})(?:个|名|次|位|项|题|天|年|层|排|行|列|步|组|件|张)?"
    r"|(?P<ko>"
    + "|".join(_KO_ORDINALS)
    + r")\s?(?:번째|째)|제?\s?(?P<konumber>\d{1,4})\s?번째|제\s?(?P<kodigits>\d{1,4})",
    re.IGNORECASE,
)
_ENDINGS = {1: "st", 2: "nd", 3: "rd"}


def _read_ordinal(text: str) -> int | None:
    plain = re.sub(r"\\(?:text|mathrm|textsuperscript)|[{}^$]", "", bare(text)).strip()
    match = _ORDINAL.fullmatch(plain) if len(text) <= MAX_TIME else None
    if match is None:
        return None
    if match["word"]:
        return _ORDINALS[match["word"].lower()]
    if match["digits"]:
        number = int(match["digits"])
        ending = "th" if number % 100 in {11, 12, 13} else _ENDINGS.get(number % 10, "th")
        return number if match["end"].lower() == ending else None
    if match["ko"]:
        return _KO_ORDINALS[match["ko"]]
    written = match["zh"] or match["konumber"] or match["kodigits"]
    if written.isascii() and written.isdigit():
        return int(written)
    numeral = read_numeral(written)
    return int(numeral.value) if numeral is not None and not numeral.rest else None


def compare_ordinals(gold: str, answer: str) -> Outcome | None:
    """Compares ranks; the key's may be answered by a bare number, which is no rank itself. None without an ordinal."""
    key, other = _read_ordinal(gold), _read_ordinal(answer)
    if key is not None and other is not None:
        return "accept" if key == other else "reject"
    if key is None and other is None:
        return None
    number = bare(answer if key is not None else gold)
    same = number.isdigit() and number.isascii() and int(number[:9]) == (key if key is not None else other)
    return None if not same else "undecided" if key is None else "accept"


MAX_DATE = 60
Date = tuple[int | None, int | None, int | None]
"""Year (negative: BC), month, day; None if not stated."""
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
    """The date of a text."""
    plain = re.sub(r"\\(?:text|mathrm)|[{}$]", "", to_latex(bare(text))).strip() if len(text) <= MAX_DATE else ""
    match = next(filter(None, (form.fullmatch(plain) for form in _FORMS)), None)
    if match is None:
        return None
    groups = dict.fromkeys(("zh", "era", "name", "year", "month", "day"), "") | {
        part: text or "" for part, text in match.groupdict().items()
    }
    year, day = (int(groups[part]) if groups[part] else None for part in ("year", "day"))
    name = groups["name"][:3].lower()
    month = int(groups["month"]) if groups["month"] else None
    if name:
        month = next(number for number, each in enumerate(_MONTHS, 1) if each.startswith(name))
    if not (1 <= (month or 1) <= 12 and 1 <= (day or 1) <= 31):
        return None
    before = groups["zh"] in {"公元前", "前", "기원전"} or groups["era"][:1].lower() == "b"
    return (-year if year and before else year), month, day


def compare_dates(gold: str, answer: str) -> Outcome | None:
    """Compares two dates; None if one is no date or both are plain years."""
    key = read_date(gold)
    other = read_date(answer) if key else None
    if key is None or other is None or (_is_plain_year(key) and _is_plain_year(other)):
        return None
    if key == other:
        return "accept"
    differ = any(a is not None and b is not None and a != b for a, b in zip(key, other, strict=True))
    return "reject" if differ else "undecided"


def _is_plain_year(date: Date) -> bool:
    return (date[0] or 0) > 0 and date[1:] == (None, None)
