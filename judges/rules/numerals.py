"""Numbers in Chinese or Sino-Korean characters, and the counting words behind a number.

Only whole texts are numerals, not words that begin with one (三角形, 一定, 이상): whole numbers below 10,000 (times 万
or 亿), decimals (三点五), fractions (四分之三, 백분의 오), tenths (五成). Single Korean syllables, discounts (九折) and
a bare 百 or 千 (千米) are none.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from livek12.core.patterns import late

_ZH = dict(zip("零一二三四五六七八九", range(10), strict=True)) | {"〇": 0, "两": 2}
_KO = dict(zip("영일이삼사오육칠팔구", range(10), strict=True))
_DIGITS = _ZH | _KO
_STEPS = {"十": 10, "百": 100, "千": 1000, "십": 10, "백": 100, "천": 1000}
_LARGE = {"万": 10**4, "亿": 10**8, "만": 10**4, "억": 10**8}


def _whole(digit: str, zero: str, steps: str) -> str:
    """The pattern of whole numbers; "一百二" (120, not 102) is none."""
    ten, hundred, thousand = tuple(steps)
    tens = f"{digit}{ten}{digit}?"
    hundreds = f"{digit}{hundred}(?:{zero}{digit}|{tens})?"
    return f"(?:{digit}{thousand}(?:{zero}{digit}|{zero}{tens}|{hundreds})?|{hundreds}|{digit}?{ten}{digit}?|{digit})"


_ZH_WHOLE = f"(?:{_whole('[一二两三四五六七八九]', '[零〇]', '十百千')}|[零〇])"
_KO_WHOLE = _whole("[일이삼사오육칠팔구]", "", "십백천")
_COUNTERS = (
    "个 種 种 次 人 条 本 名 位 只 张 件 块 片 支 枝 根 棵 株 颗 粒 座 栋 间 家 所 辆 艘 架 台 部 册 页 篇 首 句 段 行 "
    "列 组 套 批 层 排 号 题 道 项 处 班 箱 袋 瓶 杯 碗 盒 包 桶 头 匹 口 户 幅 场 局 轮 回 遍 趟 步 圈 周 月 "
    "个月 日 岁 届 期 类 份 门 集 章 节 分 星期 个单位 单位 单位长度 个单位长度 平方单位"
).split()
_KO_COUNTERS = (
    "개 명 번 가지 개월 마리 권 장 살 대 회 번째 그루 송이 자루 곳 단계 점 칸 층 쪽 페이지 세트 조각 문제 사람 "
    "인분 월 주 주일"
).split()
_NOUN = r"(?:(?:个|名|种|条)[\u4e00-\u9fff]{1,4})"
COUNTED = rf"{'|'.join(sorted([*_COUNTERS, *_KO_COUNTERS], key=len, reverse=True))}|{_NOUN}"
"""Pattern of the counting words of the two languages, and of a few of them with a noun ("3个交点")."""
_BEHIND = {
    "zh": "|".join(sorted({*_COUNTERS, *"天 年 元 米 厘米 毫米 公里 小时 分钟 秒 秒钟 公斤".split()} - {"分", "号"})),
    "ko": "|".join(sorted({*_KO_COUNTERS, "년", "원"})),
}


class Numeral(NamedTuple):
    """A value; the worth of its last decimal digit, and its digits; the text behind it."""

    value: Fraction
    quantum: Fraction | None
    digits: int
    percent: bool
    rest: str


_NUMERAL = late(
    r"(?P<sign>负|마이너스\s*)?(?:"
    rf"(?:(?P<mixed>{_ZH_WHOLE}|\d+)又)?(?P<bottom>{_ZH_WHOLE}|[百千万]|\d+)分之(?P<top>{_ZH_WHOLE}|百|\d+)"
    r"(?:(?P<topdot>点)(?P<topplaces>[零〇一二三四五六七八九]{1,9}))?"
    rf"|(?P<kobottom>{_KO_WHOLE}|[백천만]|\d+)\s*분의\s*(?P<kotop>{_KO_WHOLE}|\d+)"
    rf"|(?P<before>{_ZH_WHOLE})点(?P<places>[零〇一二三四五六七八九]{{1,9}})"
    r"|(?P<tenths>[一二三四五六七八九])成(?P<more>[一二三四五六七八九])?"
    rf"|(?P<zh>{_ZH_WHOLE})(?P<zhlarge>[万亿])?\s*(?P<zhrest>{_BEHIND['zh']})?"
    rf"|(?P<ko>{_KO_WHOLE})(?P<kolarge>[만억])?\s*(?P<korest>{_BEHIND['ko']})?"
    r")"
)
MAX_CHARS = 40


def read_numeral(text: str) -> Numeral | None:
    """The number of a whole text, with counting word or unit."""
    match = _NUMERAL.fullmatch(text) if len(text) <= MAX_CHARS and not text.isascii() else None
    if match is None:
        return None
    number = _fraction(match) or _decimal(match) or _counted(match)
    if number is None or not match["sign"]:
        return number
    return number._replace(value=-number.value)


_EN_ONES = {word: number for number, word in enumerate(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen".split())}  # fmt: skip
_EN_TENS = dict(zip("twenty thirty forty fifty sixty seventy eighty ninety".split(), range(20, 100, 10), strict=True))
_EN_STEPS = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}


def _read_english(text: str) -> int | None:
    words = [word for word in text.lower().replace("-", " ").split() if word != "and"]
    if not 0 < len(words) <= 12 or len(text) > MAX_ENGLISH:
        return None
    total = part = 0
    previous = 10**12
    for word in words:
        if word in _EN_ONES and previous >= 20:
            part, previous = part + _EN_ONES[word], _EN_ONES[word]
        elif word in _EN_TENS and previous >= 100:
            part, previous = part + _EN_TENS[word], _EN_TENS[word]
        elif word in _EN_STEPS and part > 0 and (word != "hundred" or part < 10):
            part *= _EN_STEPS[word]
            if word != "hundred":
                total, part = total + part, 0
            previous = 10**12 if word != "hundred" else 100
        else:
            return None
    return total + part


MAX_ENGLISH = 80
_PARTS = {
    "half": 2, "halve": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8,
    "ninth": 9, "tenth": 10, "eleventh": 11, "twelfth": 12, "twentieth": 20, "hundredth": 100, "thousandth": 1000,
}  # fmt: skip
_FRACTION = late(
    r"(?:(?P<whole>[a-z-]+|\d{1,9})[ -]and[ -])?(?P<top>an?|[a-z]+|\d{1,6})[ -](?P<bottom>"
    + "|".join(_PARTS)
    + r")(?P<plural>s)?"
)


def _read_english_fraction(text: str) -> Fraction | None:
    if text.lower() == "half":
        return Fraction(1, 2)
    match = _FRACTION.fullmatch(text.lower()) if len(text) <= MAX_ENGLISH else None
    if match is None:
        return None
    if match["top"].isdigit() and match["bottom"] in {"quarter", "half", "halve"}:
        return None
    whole, top = (_count(match[name] or "0") for name in ("whole", "top"))
    if whole is None or not top or bool(match["plural"]) != (top > 1) or (match["bottom"] == "halve" and top == 1):
        return None
    return whole + Fraction(top, _PARTS[match["bottom"]])


def _count(word: str) -> int | None:
    return int(word) if word.isdigit() else 1 if word in {"a", "an"} else _read_english(word)


def _fraction(match: re.Match[str]) -> Numeral | None:
    bottom, top = match["bottom"] or match["kobottom"], match["top"] or match["kotop"]
    if bottom is None or _integer(bottom) == 0:
        return None
    value, below = Fraction(_integer(top)), _integer(bottom)
    quantum, digits = None, 0
    if match["topdot"]:
        value, quantum, digits = _with_places(top, match["topplaces"])
        quantum /= below
    value = value / below + _integer(match["mixed"] or "0")
    return Numeral(value, quantum, digits, bottom in {"百", "백", "100"}, "")


def _decimal(match: re.Match[str]) -> Numeral | None:
    if match["tenths"]:
        return Numeral(Fraction(_integer(match["tenths"]), 10) + Fraction(_integer(match["more"] or "0"), 100),
                       None, 0, False, "")  # fmt: skip
    if match["before"] is None:
        return None
    return Numeral(*_with_places(match["before"], match["places"]), False, "")


def _counted(match: re.Match[str]) -> Numeral | None:
    written, large = match["zh"] or match["ko"], match["zhlarge"] or match["kolarge"]
    rest = match["zhrest"] or match["korest"] or ""
    if written is None:
        return None
    if len(written) == 1 and (written in _KO or written in "십" or (written == "两" and not rest)):
        return None
    if written[-1] in "百千" and rest in {"米", "克"}:
        return None
    return Numeral(Fraction(_integer(written) * _LARGE.get(large or "", 1)), None, 0, False, rest)


def _with_places(whole: str, places: str) -> tuple[Fraction, Fraction, int]:
    quantum = Fraction(1, 10 ** len(places))
    written = f"{_integer(whole)}{''.join(str(_ZH[char]) for char in places)}"
    return int(written) * quantum, quantum, len(written.lstrip("0"))


def _integer(written: str) -> int:
    if written.isascii():
        return int(written)
    if written in _LARGE:
        return _LARGE[written]
    total = digit = 0
    for char in written:
        if char in _STEPS:
            total += (digit or 1) * _STEPS[char]
            digit = 0
        else:
            digit = _DIGITS[char]
    return total + digit


_KO_ONES = dict(zip("하나 둘 셋 넷 다섯 여섯 일곱 여덟 아홉".split(), range(1, 10), strict=True))
_KO_BEFORE = {"한": 1, "두": 2, "세": 3, "네": 4}
_KO_TENS = {"열": 10, "스물": 20, "스무": 20, "서른": 30, "마흔": 40, "쉰": 50}
_NATIVE = late(
    rf"(?P<tens>{'|'.join(_KO_TENS)})?\s?(?P<ones>{'|'.join(_KO_ONES)})?"
    rf"|(?P<tens2>{'|'.join(_KO_TENS)})?\s?(?P<before>{'|'.join([*_KO_ONES, *_KO_BEFORE])})?"
    r"\s?(?:개|명|번|마리|권|장|살|대|가지|그루|쌍|송이)"
)


def _read_native_korean(text: str) -> int | None:
    match = _NATIVE.fullmatch(text) if 1 < len(text) <= MAX_CHARS else None
    if match is None:
        return None
    tens = match["tens"] or match["tens2"]
    ones = match["ones"] or match["before"]
    value = (_KO_TENS[tens] if tens else 0) + ({**_KO_ONES, **_KO_BEFORE}[ones] if ones else 0)
    return value or None


def spelled(text: str) -> Fraction | None:
    """A number in English or native Korean words, or an English fraction."""
    minus = _MINUS_WORD.match(text)
    words = text[minus.end() :] if minus else text
    for value in (_read_english(words), _read_native_korean(words), _read_english_fraction(words)):
        if value is not None:
            return Fraction(-value if minus else value)
    return None


_MINUS_WORD = late(r"(?:minus|negative)\s+(?=[a-z])", re.IGNORECASE)
