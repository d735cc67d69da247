"""Times of day and ordinals, in digits and words of three languages: what they mean, and whether two of them are one.

Contract: `read_time` and `read_ordinal` read whole texts only, and say None of any other. "2:30" without a.m. or p.m.
may be a ratio, and 3:00 may be 15:00: what could be either is a doubt. Pure functions, linear in the text.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from livek12.core.patterns import late
from livek12.judges.base import Outcome
from livek12.judges.rules.notation import bare
from livek12.judges.rules.numerals import read_numeral

MAX_CHARS = 40
HALF_DAY, DAY = 12 * 60, 24 * 60


class Time(NamedTuple):
    """Minutes since midnight as written; whether the half of the day is plain, and whether it is said (a.m., 下午)."""

    minutes: int
    sure: bool
    said: bool = False


_TIME = late(
    r"(?P<zh>凌晨|早上|上午|中午|下午|晚上|오전|오후|새벽|저녁)?\s*(?P<hour>\d{1,2})"
    r"(?::(?P<minute>[0-5]\d)(?::00)?|\s*[点时시]\s*(?:(?P<minute2>[0-5]?\d)\s*[分분]|整|정각)?|(?=\s*[ap]\.?m))"
    r"\s*(?P<half>[ap]\.?\s?m\b\.?|o'clock)?",
    re.IGNORECASE,
)
_MORNING = frozenset({"凌晨", "早上", "上午", "오전", "새벽", "a"})


def read_time(text: str) -> Time | None:
    """The time of day that a text is; None for anything else."""
    plain = re.sub(r"\\(?:text|mathrm)|[{}\\$]", "", bare(text)).replace("：", ":").strip()
    match = _TIME.fullmatch(plain) if len(text) <= MAX_CHARS else None
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
    """Whether two texts are one time of day; None where they are not both times."""
    one, other = read_time(gold), read_time(answer)
    if one is None or other is None:
        return None
    if one.minutes % DAY == other.minutes % DAY and (one.sure or other.sure or bare(gold) == bare(answer)):
        return "accept"
    if not (one.said or other.said) and _ratio(one) is not None and _ratio(one) == _ratio(other):
        return "undecided"
    both = one.sure and other.sure
    return "reject" if both or one.minutes % HALF_DAY != other.minutes % HALF_DAY else "undecided"


def _ratio(time: Time) -> Fraction | None:
    hours, minutes = divmod(time.minutes, 60)
    return Fraction(hours, minutes) if minutes else None


_ORDINALS = dict(
    zip(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split(),
        range(1, 13),
        strict=True,
    )
)
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


def read_ordinal(text: str) -> int | None:
    """The place that a text names (1st, first, 第一, 첫 번째); None for anything else."""
    plain = re.sub(r"\\(?:text|mathrm|textsuperscript)|[{}^$]", "", bare(text)).strip()
    match = _ORDINAL.fullmatch(plain) if len(text) <= MAX_CHARS else None
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
    """Whether two texts name one place; a bare number may name it too. None where neither is an ordinal."""
    one, other = read_ordinal(gold), read_ordinal(answer)
    if one is not None and other is not None:
        return "accept" if one == other else "reject"
    if one is None and other is None:
        return None
    number = bare(answer if one is not None else gold)
    same = number.isdigit() and number.isascii() and int(number[:9]) == (one if one is not None else other)
    return "accept" if same else None
