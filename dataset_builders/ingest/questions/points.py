"""Printed points: "(5分)", "（本小题满分13分）", "[3점]", "[4 points]", "每小题5分，共40分".

Contract: only printed ones, with their places in the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from livek12.core.scripts import both_scripts

_NUMBER = r"(\d{1,3}(?:\.\d)?)"
NUMBERS = {name: value for value, name in enumerate("one two three four five six seven eight nine ten".split(), 1)}
_SPELT = rf"(\d{{1,3}}(?:\.\d)?|\b(?:{'|'.join(NUMBERS)})\b)"
_WORTH = r"(?:[\d\s.+＋x×*]{1,24}=\s*)?(\d{1,3}(?:\.\d)?(?:\s*[+＋]\s*\d{1,3}(?:\.\d)?){0,8})"
"""A number or a sum, "6+6" or "6+6 = 12"."""
_SHARE = r"(?:^|(?<=[a-h][)）.])|(?<=[a-h][)）.] ))[(（\[]\s*(\d{1,2}(?:\.\d)?)\s*%\s*[)）\]]"
_MARKS = (
    both_scripts(
        rf"[(（\[【]\s*(?:[^()\[\]【】\n每各共分，,]{{1,12}}[，,])?\s*(?:本[小大]?题)?\s*(?:满分|共|计|分值[:：]?)?\s*{_WORTH}\s*分\s*(?:[，,；;]\s*第\s*\d\s*小?[题问][^()（）\n]{{0,40}})?[)）\]】]"
    ),
    re.compile(rf"[\[(（]\s*{_WORTH}\s*점\s*(?:[\])）]|(?=\n|$))"),  # a scan may lose the bracket at a line's end
    re.compile(
        rf"[\[(（]\s*(?:total\s*)?{_WORTH}\s*(?:\([\d\s+]+\)|/\s*\d{{1,3}})?\s*(?:points?|pts?|p|marks?)"
        r"(?:\s*(?:in\s+)?total|\s*available|\s*[,，;；–—-][^\])）\n]{0,40})?\s*[\])）]",
        re.IGNORECASE,
    ),
    re.compile(rf"[\[(（]\s*(?:points?|marks?)\s*[:=]?\s*{_WORTH}\s*[\])）]", re.IGNORECASE),
    re.compile(_SHARE),
    re.compile(r"[(（]\s*(\d{1,2})\s*[‘’'′´]\s*[)）]"),
    re.compile(
        r"(?:(?<=[a-h][)）]) +|(?:^|(?<=\n))[ \t]*)(\d{1,2})\s+marks?\b(?=[ \t]*(?:\n|$|Select|\([b-h]\)))", re.I
    ),
    re.compile(
        r"(?:^|(?<=\n))[ \t]*Mark(?:s|ed)?(?:\s*:|\s+(?:[\d.]+\s+)?out\s+of)\s+(\d{1,3}(?:\.\d{1,2})?)", re.IGNORECASE
    ),
    re.compile(r"\[\s*(\d{1,2}(?:\.\d)?(?:\s?[+＋]\s?\d{1,2}){0,3})\s*\](?=[ \t]*(?:\n|$))"),
)
_NAMED_SHARE = both_scripts(rf"第\s*\d\s*小?[题问]\s*(?:满分|共|计)?\s*{_NUMBER}\s*分")
"""The points of a part in the bracket of all: 满分12分，第1问5分，第2问7分."""
_BARE = (
    re.compile(r"(?:\A|(?<=\A[a-h][.)]) {1,3}|(?<=\n[a-h][.)]) {1,3})\[(\d{1,2})\](?= )"),
    re.compile(r"\A\((?!1\)[\s\S]*\(2\))(\d{1,2})\)(?= )"),
    re.compile(r"(?<=[^\s(])[ \t]\((\d{1,2})\)[ \t]*(?=\n|\Z)"),
    re.compile(r"[(（](\d{1,2}\.\d)[)）][ \t]*(?=\n|\Z)"),
)
_TOTAL = re.compile(
    rf"[\[(]\s*(?:total(?:\s+for[^\])\n]{{0,40}}?)?|max(?:imum|\.)?\s*(?:marks?|points?|score))\s*[:=]?\s*{_WORTH}"
    r"\s*(?:points?|pts?\.?|marks?)?\s*[\])]",
    re.IGNORECASE,
)
_HEAD = both_scripts(
    rf"(?P<before>[^\n]{{0,20}}?)[，,、:：\s]{{0,9}}(?:本[小大]?题\s{{0,9}})?(?:满分|共)\s*{_WORTH}\s*分\s*[。.]?(?=\n|$)"
)
"""A first line that ends in the points of its question: 第一题，本题共20分."""
_BELOW = re.compile(r"\n[ \t]*[(（](\d{1,2})[)）][ \t]*(?=\n|$)")
"""Marks on a line of their own, below what they are for."""
_EACH = (
    both_scripts(rf"(?:每\s*(?:小?[题題]|空|道题?|个)\s*(?:选对得|答对得|得|各)?|答对)\s*[+＋]?\s*{_NUMBER}\s*分"),
    re.compile(rf"{_NUMBER}\s*(?:points?|marks?|分|점)\s*[*×xX]\s*\d{{1,2}}(?!\d|\s*=)", re.IGNORECASE),
    re.compile(rf"(?:각|문항당|문항\s*당|(?<=\d)\s*(?:문제|문항)\s*[×xX*])\s*{_NUMBER}\s*점"),
    re.compile(rf"(?:points?|pts?|marks?)\s*[,，;]\s*{_SPELT}\s*each\b", re.IGNORECASE),
    re.compile(
        rf"{_SPELT}\s*(?:points?|pts?|marks?)\s*(?:each\b|apiece|for\s+(?:each|every)(?=\s*(?:[.,;)\n]|$))|(?:per|for\s+(?:each|every))\s+(?:question|problem|item))",
        re.IGNORECASE,
    ),
    re.compile(
        rf"each\s+(?:question|item)?\s*(?:is\s+)?(?:worth|carries)\s*{_SPELT}\s*(?:points?|marks?)", re.IGNORECASE
    ),
)
_TIMES = re.compile(
    r"(?<!\d)(\d{1,2})\s*[*×xX]\s*(\d{1,2}(?:\.\d)?|[¼½¾])\s*(?:[%'′分]|points?\b|marks?\b|=\s*(\d{1,3})|\)?$)",
    re.MULTILINE | re.IGNORECASE,
)
"""A number of questions, or of parts, times the points of each, perhaps with their product."""
_BEHIND = re.compile(r"(?:\s{3}|[.．:：?？。)）]\s*)$|(?:^|\n)[ \t]*$")
"""Before the product of a question's own parts."""
_ALL = 100
_PERCENT = re.compile(r"(?<=\D)\s*(\d{1,2})\s*%\s*(?=\n|$)")
_NOT_EACH = r"(?!\s*(?:each|per|apiece|for\s+each))"
_TOGETHER = (
    both_scripts(rf"(?:共|满分|总分|合计|计)\s*(?:为|计|[:：])?\s*{_NUMBER}\s*分(?!\s*钟)"),
    re.compile(rf"(?:총|합계)\s*{_NUMBER}\s*점"),
    re.compile(rf"(?:total|worth)\s*(?:of\s*)?[:=]?\s*{_NUMBER}\s*(?:points?|marks?)\b{_NOT_EACH}", re.IGNORECASE),
    re.compile(rf"questions\s*[,;]\s*{_NUMBER}\s*(?:points?|marks?)\b{_NOT_EACH}", re.IGNORECASE),
    re.compile(rf"(?<!\S){_NUMBER}\s*(?:points?|marks?)?\s*in\s+(?:total|all)\b", re.IGNORECASE),
)
_TO = r"\s*(?:[~～∼〜\-–—－至到]|to|부터)\s*"
_SOME = both_scripts(
    rf"(?:第\s*|questions?\s*)?(?<!\d)[(（]?(?P<low>\d{{1,3}})[)）]?(?:번)?{_TO}(?:第\s*)?[(（]?(?P<high>\d{{1,3}})[)）]?(?:\s*(?:各|小)?题|번)?"
    r"|第\s*(?P<list>\d{1,3}(?:\s*[、,，和]\s*\d{1,3})*)\s*小?题",
    re.IGNORECASE,
)
"""Numbers of the questions that a clause of the instructions speaks of."""
_SINGLES = both_scripts(rf"第?\s*((?:\d{{1,3}}\s*[、,，和]\s*)*\d{{1,3}})\s*(?:小?题)\s*(?:每小?题\s*)?{_NUMBER}\s*分")
_PART = re.compile(
    r"(?:^|(?<=[\n。；;：:]))[^\S\n]*[1-9][)）](?!\s*__)|[(（]\s*(?:[1-9]|[ivxⅰⅱⅲ]{1,4}|[a-h]|[ⅠⅡⅢⅣIV]{1,3})\s*[)）]|(?:^|\n)\s*(?:Q?\s?\d{1,2}\.\d{1,2}\b|\d{1,2}\s?[-–]\s?\d{1,2}\s?[.．)]|(?:Part|PART)\s+[A-H1-9]\b|[a-h][)．]\s|[a-h]\.\s+(?=\S{2})|(?:[a-h]|[ivx]{1,4})\.\s+(?=[\[(]\s*\d))|(?<!\S)[A-H][.)]\s+(?=[\[(]\s*\d)"
)
_BEGINS_PART = re.compile(r"(?m)^\s*(?:[(（]\s*\w{1,4}\s*[)）]|\w{1,2}[.)．])\s")
_MOST_MARKS = 100
_HALF_BLANK = re.compile(r"每\s*小?[空格]")
_OF_CHOICE = both_scripts(r"multiple[- ]choice|选择|객관|선다", re.IGNORECASE)
_SAID_FIRST = re.compile(
    r"(?P<before>[^\n]*?)[(（，,.。\s]\s{0,9}(\d{1,3})\s*(?:pts|points?|marks?)\s*[)）]?\s*(?=\n|$)", re.IGNORECASE
)
"""A first line that ends in points without their bracket, or half of it."""
_OR = re.compile(r"\n[ \t]*(?:OR|Or|或|또는)[ \t]*(?=\n)")
"""Between two parts of which one is answered."""


@dataclass(frozen=True)
class Mark:
    """Printed points, their place in the text, and the points of its parts that they are a sum of."""

    points: float
    start: int
    end: int
    terms: tuple[float, ...] = ()


def says_worth(text: str) -> bool:
    """Checks for points of a question or a part, in brackets and with a word."""
    return bool(_TOTAL.search(text)) or any(pattern.search(text) for pattern in _MARKS[:-1])


def _even(text: str) -> str:
    """The text with one spelling of signs, each at its place, and without code."""
    text = re.sub(r"\$?\\times\$?", lambda times: "×".center(len(times[0])), text).translate(_SIGNS)
    text = _CODE.sub(lambda code: " " * len(code[0]), text)
    return re.sub(r"(?<=[(\[]\d),(?=5 ?(?:p|mark))", ".", text)


_CODE = re.compile(r"```.*?```", re.DOTALL)
_SIGNS = str.maketrans("＊＋＝（）［］$", "*+=()[] ")


def _each(times: re.Match[str]) -> float:
    return unicodedata.numeric(times[2]) if times[2] in "¼½¾" else float(times[2])


def _is_product(times: re.Match[str]) -> bool:
    """Checks that a product is printed, and right."""
    return bool(times[3]) and int(times[1]) * _each(times) == float(times[3])


def marks(text: str, leading: bool = False) -> list[Mark]:
    """All points printed in brackets, in order; `leading`: bare numbers, [4] or (4), at the beginning or end, too."""
    text = _even(text)
    forms = (*_MARKS, *_BARE) if leading else _MARKS
    printed = [Mark(_sum(m[1]), m.start(), m.end(), _terms(m[0])) for form in forms for m in form.finditer(text)]
    printed = [mark for mark in printed if not mark.terms or sum(mark.terms) == mark.points]
    return sorted((mark for mark in printed if mark.points), key=lambda mark: mark.start)


def is_shared(text: str) -> bool:
    """Checks for percentages of parts that are shares of a question's points."""
    return sum(float(share[1]) for share in re.finditer(_SHARE, _even(text))) == _ALL


def _terms(mark: str) -> tuple[float, ...]:
    if named := _NAMED_SHARE.findall(mark):
        return tuple(map(float, named))
    sums = re.search(rf"{_NUMBER}(?:\s*[+＋]\s*{_NUMBER})+", mark)
    return tuple(map(float, re.findall(_NUMBER, sums[0]))) if sums else ()


def _sum(worth: str) -> float:
    return sum(map(float, re.split(r"\s*[+＋]\s*", worth)))


def split_percent(text: str, section: str) -> tuple[str, float | None]:
    """The text without a percentage at the end of its first line, and its points: a percentage if its section's is."""
    match = _PERCENT.search(text.partition("\n")[0]) if _PERCENT.search(section.partition("\n")[0]) else None
    return (f"{text[: match.start()]}{text[match.end() :]}", float(match[1])) if match else (text, None)


def split_points(text: str, leading: bool = False) -> tuple[str, float | None, list[float]]:
    """The text without its total, the total, and the points of its parts; for `leading` see `marks`.

    The total stands at the beginning, or at the end without parts; a mark behind a part is that part's.
    """
    places = [m for m in _TIMES.finditer(_even(text)) if _is_product(m) and _BEHIND.search(text[: m.start()])]
    products = [m for m in places if text[m.end() :].strip() or "\n" not in text[: m.start()].strip()]
    if len(products) == 1:
        return _without(text, Mark(0, products[0].start(), products[0].end())), float(products[0][3]), []
    totals = list(_TOTAL.finditer(text))
    if totals and len({total_mark[1] for total_mark in totals}) == 1:
        worth = _sum(totals[0][1])
        text = _with_marks(
            re.sub(rf"\s*(?:{_TOTAL.pattern})", "", text, flags=re.IGNORECASE).strip().lstrip(":： "), worth
        )
        own = marks(text)
        return text, worth, [mark.points for mark in own] if _PART.search(text) or _begin_lines(text, own) else []
    printed = marks(text, leading)
    if not printed and (head := _HEAD.match(text) or (_SAID_FIRST.match(text) if "\n" in text else None)):
        before = re.sub(r"[(（][^()（）]*$", "", head["before"])
        return f"{before}{text[head.end() :]}".strip(), _sum(head[2]), []
    if not printed or is_shared(text):
        return text, None, []
    printed = _without_alternatives(text, printed)
    parts = [match.start() for match in _PART.finditer(text)] or _begin_lines(text, printed)
    above = text[: printed[0].start]
    sums = len(printed) > 2 and bool(add_up(printed[0].points, printed[1:]))
    inner = [at for at in parts if at < len(above) and not re.match(r"[A-Za-z\d]", above[max(0, at - 1) :])]  # not f(a)
    sums = sums and not (inner or _BEGINS_PART.search(above))
    leads = not above.strip(" 　*") or (parts and len(above) < parts[0]) or sums
    total = printed[0] if len(printed) == 1 or leads else None
    *own, last = printed
    below = text[last.end :].strip() or len(own) < 2  # what a total stands above that is repeated below the parts
    if not below and total and total.points == last.points and text[: last.start].endswith("\n"):
        text, printed = text[: last.start].rstrip(), own
    elif not (below or total or text[own[-1].end : last.start].strip()) and sum(m.points for m in own) == last.points:
        total = last
    others = [mark for mark in printed if mark is not total]
    levels = add_up(total.points, others) if total else []
    if total and others and not levels and leads and _PART.match(text[total.end :].lstrip(" ")):
        total, others = None, printed  # each stands before its part
    rest = [mark.points for mark in levels or others]
    part_points = rest if (parts or levels) and len(rest) >= 2 else []
    if total is None:
        return text, sum(rest), part_points
    named = _NAMED_SHARE.search(text, total.start, total.end)
    if not rest and (named or len(total.terms) == len(parts)):
        part_points = [*total.terms]
    return _without(text, total), total.points, part_points


def add_up(worth: float, printed: Sequence[Mark]) -> list[Mark]:
    """Marks of a question's parts if they are its points, without those of the parts of parts; else none."""
    if sum(mark.points for mark in printed) == worth:
        return [*printed]
    if len(printed) > _MOST_MARKS:
        return []
    top: list[Mark] = []
    end = 0
    for place, mark in enumerate(printed):
        if place >= end:
            sums = list(accumulate(other.points for other in printed[place + 1 :]))
            end = place + 2 + sums.index(mark.points) if mark.points in sums[1:] else place + 1
            top.append(mark)
    return top if sum(mark.points for mark in top) == worth else []


def _without_alternatives(text: str, printed: Sequence[Mark]) -> list[Mark]:
    """Marks without those behind OR, which are as many points as those of the part before it."""
    counted: list[Mark] = []
    spare = 0.0
    ors = [match.start() for match in _OR.finditer(text)]
    for end, mark in zip([0, *(mark.end for mark in printed)], printed, strict=False):
        begin = next((at for at in ors if end <= at < mark.start), None)
        if begin is not None and counted:
            label = next((match[0].strip() for match in _PART.finditer(text, begin, mark.start)), "")
            starts = [match.start() for match in _PART.finditer(text, 0, begin) if match[0].strip() == label]
            group = [own.points for own in counted if starts and own.start > starts[-1]]
            spare = sum(group) or counted[-1].points
        if spare >= mark.points:
            spare -= mark.points
        else:
            spare = 0.0
            counted.append(mark)
    return counted


def of_some_parts(text: str) -> bool:
    """Checks for marks behind some of a text's parts (a), (b), … that are lines, and not behind all or the last."""
    labels = [match.start() for match in re.finditer(r"(?:^|\n)[ \t]*[(（]?[a-h][)）.]\s(?!\s*__)", text)]
    own = [bool(marks(text[begin:end])) for begin, end in pairwise([*labels, len(text)])]
    total = bool(labels) and bool(marks(text[: labels[0]]))
    total = total or any(len(mark.terms) == len(labels) for mark in marks(text))
    return not total and any(own[:-1]) and not all(own)


def _begin_lines(text: str, printed: Sequence[Mark]) -> list[int]:
    """Marks that each begin a line, of several; the part has no other label."""
    begins = [mark.start for mark in printed if mark.start and text[mark.start - 1] == "\n"]
    whole = any(text[mark.end :].lstrip(" ")[:1] in ("", "\n") for mark in printed)
    return begins if len(begins) == len(printed) > 1 and not whole else []


def _with_marks(text: str, total: float) -> str:
    """Moves marks on lines of their own, (3), that add up to the total behind their parts, as [3].

    A question without parts repeats them, and loses them.
    """
    below = list(_BELOW.finditer(text))
    if not below or sum(float(mark[1]) for mark in below) != total:
        return text
    parts = _PART.search(_BELOW.sub("", text))
    return _BELOW.sub(lambda mark: f"    [{mark[1]}]" if parts else "", text)


def _without(text: str, mark: Mark) -> str:
    formula = "$" * (text[mark.start : mark.end].count("$") % 2)  # it ends within the mark
    before, after = text[: mark.start].rstrip(" 　") + formula, text[mark.end :].lstrip(" 　")
    after = after if before else after.lstrip(":：. 　\n")
    apart = before and after and not before.endswith("\n") and after[0] not in ".。．,，"
    return (before + (" " if apart else "") + after).strip()


def _clauses(text: str) -> list[re.Match[str]]:
    return [match for match in _SOME.finditer(text) if match["list"] or int(match["low"]) < int(match["high"]) <= 200]


def said_of(text: str, number: int) -> str:
    """Clauses of a section's title and instructions that name a question's number, and the text before such clauses.

    Without such clauses, everything.
    """
    if not (some := _clauses(text)):
        return text
    ends = [*(match.start() for match in some[1:]), len(text)]
    own = [text[match.start() : end] for match, end in zip(some, ends, strict=True) if _covers(match, number)]
    return "\n".join([*own, text[: some[0].start()]])


def each_blank(text: str) -> float | None:
    """Points of each blank by a section's title."""
    match = re.search(rf"每\s*小?[空格]\s*(?:各|得)?\s*{_NUMBER}\s*分", text)
    return float(match[1]) if match else None


def _covers(match: re.Match[str], number: int) -> bool:
    if match["list"]:
        return str(number) in re.split(r"\D+", match["list"])
    return int(match["low"]) <= number <= int(match["high"])


def all_each(text: str, choice: bool = False) -> set[float]:
    """All points that a text gives to each question; those with options have their own, if it tells them apart."""
    matches = sorted((match for pattern in _EACH for match in pattern.finditer(text)), key=lambda match: match.start())
    begins = [0, *(match.end() for match in matches)]
    of_choice = [
        bool(_OF_CHOICE.search(text, begin, match.end())) for begin, match in zip(begins, matches, strict=False)
    ]
    if choice and len({*of_choice}) > 1:
        matches = [match for match, own in zip(matches, of_choice, strict=True) if own]
    return {float(NUMBERS.get(match[1].lower(), match[1])) for match in matches}


def each_and_total(text: str) -> tuple[float | None, float | None]:
    """Points of each question of a section and of all, as printed."""
    each = all_each(text)
    totals = {float(match[1]) for pattern in _TOGETHER for match in pattern.finditer(text)}
    alone = not _SOME.search(text)
    return (each.pop() if len(each) == 1 and alone else None), (totals.pop() if len(totals) == 1 else None)


def section_points(text: str, number: int, many: int = 0, choice: bool = False) -> float | None:
    """Points of a question by the instructions of its section, which has so `many`; an only one has those of all."""
    for match in _SINGLES.finditer(text):
        if str(number) in re.split(r"\D+", match[1]):
            return float(match[2])
    own = said_of(text, number)
    if _HALF_BLANK.search(own):
        return None
    if each := all_each(own, choice):
        return each.pop() if len(each) == 1 else None
    first = text.partition("\n")[0]
    only = {mark.points for mark in marks(first)} or {*map(float, re.findall(r"[(（](\d{1,2})%?[)）]$", first))}
    if many == 1 and len(only) == 1:
        return only.pop()
    if times := _TIMES.search(_even(own)):
        two = float(times[1]), _each(times)
        counted = {1.0: two[0] * two[1], two[0]: two[1], two[1]: two[0]}  # which is the number of questions is not said
        return counted.get(float(many)) if times[3] else counted[1.0] if many == 1 else two[1]
    everywhere = all_each(text)
    return everywhere.pop() if len(everywhere) == 1 and own != text[: len(own)] else None
