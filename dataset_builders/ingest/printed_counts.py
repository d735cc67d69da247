"""Printed counts of questions and points, of a paper and its sections, against what was found."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from livek12.core.scripts import both_scripts
from livek12.dataset_builders.ingest.drafts import Draft
from livek12.dataset_builders.ingest.paper_reading import Breach, PaperReading
from livek12.dataset_builders.ingest.questions.points import NUMBERS, all_each, each_and_total, each_blank, marks
from livek12.dataset_builders.ingest.questions.segment import Section

_N = r"(\d{1,3})"
_COUNTS = (
    both_scripts(rf"共\s*(?:有|计|设|包含)?\s*{_N}\s*(?:[个道]\s*)?(?:小|大)?\s*题"),
    both_scripts(rf"(?<![\d~～∼〜\-–—－至到第])\b{_N}\s*(?:个|道)?\s*小题(?!\s*(?:每|，每)?\s*[\d])"),
    both_scripts(rf"(?<![\d~～∼〜\-–—－.第]){_N}\s*(?:개\s*)?문항(?!\s*(?:당|번호|별|마다))"),
    re.compile(
        r"(?<![\d\-–—.])\b(\d{1,3}|one|two|three|four|five|six|seven|eight|nine|ten)\s+"
        r"(?:[a-z-]+\s+){0,3}?(?:questions|problems)\b(?!\s*\d)",
        re.I,
    ),
    re.compile(rf"\bnumber\s+of\s+(?:questions|problems)\s*[:=]?\s*{_N}", re.I),
)
_BIG = both_scripts(r"(?:共|本大题共)[^，,。；;]{0,3}\d{1,3}\s*大题")
_CHOOSE = both_scripts(
    r"\b(?:any|choose|select|of\s+the|out\s+of|only)\b|任选|选做|从.{0,12}[中选].{0,6}(?:任|选)|中\s*任|请考生|골라|중에서",
    re.I,
)
_WORTH = r"(?:marks?|points?|pts|score)"
_WHOLE = r"(?:total|maximum|max\.?|full|overall|out\s+of|worth|altogether|in\s+all)"
_TOTAL = (
    both_scripts(r"(?:满分|总分|卷面|全卷共|试卷共|共)\s*(?:为|计|[:：])?\s*(\d{2,3})\s*分(?!\s*钟)"),
    re.compile(r"(?:총점|만점|배점\s*합계)\s*[:：은는이가]*\s*(\d{2,3})\s*점|(\d{2,3})\s*점\s*만점"),
    re.compile(rf"\b{_WHOLE}\b[^.\d]{{0,30}}?\b{_WORTH}\b[^.\d]{{0,40}}?(\d{{2,3}})(?![\d%]|\.\d|\s*min)", re.I),
    re.compile(rf"\b{_WHOLE}\b[^.\d]{{0,30}}?(\d{{2,3}})\s*{_WORTH}\b", re.I),
    re.compile(rf"(?<![\d.])(\d{{2,3}})\s*{_WORTH}\s*(?:in\s+)?{_WHOLE}\b", re.I),
)
"""Points of a whole paper, with its words in any order."""
_OF_A_PART = both_scripts(
    r"\b(?:questions?|section|part|each|per|pass(?:ing)?)\b|第.{1,3}[卷节部]|每|本题|大题|小题|及格|문항", re.I
)
"""In a line on what a part of the paper is worth, or what passes it."""
_OF_PARTS = both_scripts(r"部分|[卷节]|\b(?:section|part|each|per)\b|영역", re.I)
_OF_THE_PAPER = both_scripts(r"\b(?:paper|exam(?:ination)?|test)\b|试卷|全卷|시험", re.I)
VOLUME = both_scripts(r"\s*(?:第\s*\S{1,3}\s*(?:卷|部分)|(?:part|section)\s)", re.I)


def counts_are_met(reading: PaperReading) -> Iterator[Breach]:
    """Printed counts and sums are those of the questions."""
    lines = _of_paper(reading)
    by_section = {of: [reading.drafts[place] for place in places] for of, places in reading.body.by_section.items()}
    for place, section in enumerate(reading.body.sections):
        lines += _of_section(section, reading.body.sections[place + 1 :], by_section)
    yield from (Breach(line, error=True) for line in lines)


def _of_paper(reading: PaperReading) -> list[str]:
    text = "\n".join(line for text in reading.front for line in text.split("\n") if not _OF_PARTS.search(line))
    lines = []
    counts, sums = _combinations(reading.drafts)
    printed = _counts(text)
    if len(printed) == 1 < printed[0] and printed[0] not in counts:
        possible = sorted(counts)
        lines.append(f"the paper says that it has {_either(printed)} questions, and {_either(possible)} were found")
    totals = _totals(reading)
    if totals and all(draft.points is None for draft in reading.drafts):
        lines.append(f"the paper says that it has {_either(totals)} points, and none of its questions has any")
    elif totals and sums and not any(abs(total - value) < 1e-6 for total in totals for value in sums):
        worth = _either(sorted(sums))
        lines.append(f"the paper says that it has {_either(totals)} points, and its questions have {worth}")
    return lines


def _totals(reading: PaperReading) -> list[int]:
    """Printed totals of the paper, before its questions or on a line that speaks of the paper."""
    lines = [*reading.front, *(item.text for item in reading.stream.items if _OF_THE_PAPER.search(item.text))]
    sentences = [part for line in lines for part in re.split(r"[\n。；;]|\.\s", line) if not _OF_A_PART.search(part)]
    matches = (match for part in sentences for pattern in _TOTAL for match in pattern.finditer(part))
    return list(dict.fromkeys(int(next(filter(None, match.groups()))) for match in matches))


def _combinations(drafts: Sequence[Draft]) -> tuple[set[int], set[float]]:
    """Numbers and points of all questions, or of the common ones and one part's."""
    many = Counter(draft.elective for draft in drafts)
    worth = dict.fromkeys(many, 0.0)
    for draft in drafts:
        worth[draft.elective] += draft.points or 0
    pairs = [(part, common) for part in many if part for common in {"", part.split(" ")[0]} - {part}]
    counts = {len(drafts), len({draft.number for draft in drafts})} | {many[a] + many[b] for a, b in pairs}
    sums = {sum(worth.values())} | {worth[a] + worth.get(b, 0.0) for a, b in pairs}
    return counts, set() if any(draft.points is None for draft in drafts) else sums


def _of_section(section: Section, later: Sequence[Section], by_section: dict[int, list[Draft]]) -> list[str]:
    """Printed counts of a section, whose parts may have titles."""
    title = " ".join(section.title.split())[:40]
    own = list(by_section.get(id(section), ()))
    reach = [own]
    for other in later:
        alike = bool(VOLUME.match(other.title)) == bool(VOLUME.match(section.title))
        if section.above if other.above else alike:
            break
        reach.append([*reach[-1], *by_section.get(id(other), ())])
    text = "\n".join(item.text for item in section.items[:6])[:600]  # a passage may be read into it
    each, total = each_and_total(text)
    printed = _counts(text)
    lines = []
    if not printed and each and total and (total / each).is_integer() and not re.search(r"每\s*空", text):
        printed = [int(total / each)]
    if printed and not any(len(some) in printed for some in reach):
        many = len(own or reach[-1])
        lines.append(f"section {title!r} says that it has {_either(printed)} questions, and {many} were found")
    only = {mark.points for mark in marks(section.title)}
    if (
        own
        and not (all_each(text) or each_blank(text))
        and all(draft.points is None for draft in own)
        and (total or len(only) == 1)
    ):
        lines.append(f"section {title!r} says that it has {total or only.pop():g} points, and no question has any")
    elif total is not None and not lines:
        worth = [[draft.points for draft in some] for some in reach]
        sums = [sum(filter(None, points)) for points in worth if points and None not in points]
        if sums and not any(abs(value - total) < 1e-6 for value in sums):
            lines.append(f"section {title!r} says that it has {total:g} points, and its questions have {sums[0]:g}")
    return lines


def _counts(text: str) -> list[int]:
    lines = (line for line in re.split(r"[\n。；;]|\.\s", text) if not (_CHOOSE.search(line) or _BIG.search(line)))
    words = [match[1].lower() for line in lines for pattern in _COUNTS for match in pattern.finditer(line)]
    counts = [NUMBERS.get(word) or int(word) for word in words if word in NUMBERS or word.isdigit()]
    return list(dict.fromkeys(number for number in counts if 0 < number <= 200))


def _either(values: Sequence[float]) -> str:
    return " or ".join(f"{value:g}" for value in values)
