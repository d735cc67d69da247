"""What a paper prints of how many questions it has and what they are worth, held against what was found.

Contract: `differences` gives a line for each count and each sum of points, of the paper and of its sections, that the
questions found do not agree with; nothing printed, nothing said. "Answer two of the three" is no count.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from livek12.dataset_builders.ingest.drafts import Draft
from livek12.dataset_builders.ingest.kinds import section_type
from livek12.dataset_builders.ingest.points import each_and_total
from livek12.dataset_builders.ingest.segment import Body, Section, Segment
from livek12.dataset_builders.ingest.stream import Stream

_N = r"(\d{1,3})"
_NUMBERS = {name: value for value, name in enumerate("one two three four five six seven eight nine ten".split(), 1)}
_COUNTS = (
    re.compile(rf"共\s*(?:有|计|设|包含)?\s*{_N}\s*(?:[个道]\s*)?(?:小|大)?\s*题"),
    re.compile(rf"(?<![\d~～∼〜\-–—－至到第])\b{_N}\s*(?:个|道)?\s*小题(?!\s*(?:每|，每)?\s*[\d])"),
    re.compile(rf"(?<![\d~～∼〜\-–—－.第]){_N}\s*(?:개\s*)?문항(?!\s*(?:당|번호|별|마다))"),
    re.compile(
        r"(?<![\d\-–—.])(\d{1,3}|one|two|three|four|five|six|seven|eight|nine|ten)\s+"
        r"(?:[a-z-]+\s+){0,3}?(?:questions|problems)\b(?!\s*\d)",
        re.I,
    ),
    re.compile(rf"\bnumber\s+of\s+(?:questions|problems)\s*[:=]?\s*{_N}", re.I),
)
_BIG = re.compile(r"(?:共|本大题共)[^，,。；;]{0,3}\d{1,3}\s*大题")
_CHOOSE = re.compile(
    r"\b(?:any|choose|select|of\s+the|out\s+of|only)\b|任选|选做|从.{0,12}[中选].{0,6}(?:任|选)|中\s*任|请考生|골라|중에서",
    re.I,
)
_WORTH = r"(?:marks?|points?|pts|score)"
_WHOLE = r"(?:total|maximum|max\.?|full|overall|out\s+of|worth|altogether|in\s+all)"
_TOTAL = (
    re.compile(r"(?:满分|总分|卷面|全卷共|试卷共|共)\s*(?:为|计|[:：])?\s*(\d{2,3})\s*分(?!\s*钟)"),
    re.compile(r"(?:총점|만점|배점\s*합계)\s*[:：은는이가]*\s*(\d{2,3})\s*점|(\d{2,3})\s*점\s*만점"),
    re.compile(rf"\b{_WHOLE}\b[^.\d]{{0,30}}?\b{_WORTH}\b[^.\d]{{0,40}}?(\d{{2,3}})(?![\d%]|\.\d|\s*min)", re.I),
    re.compile(rf"\b{_WHOLE}\b[^.\d]{{0,30}}?(\d{{2,3}})\s*{_WORTH}\b", re.I),
    re.compile(rf"(?<![\d.])(\d{{2,3}})\s*{_WORTH}\s*(?:in\s+)?{_WHOLE}\b", re.I),
)
"""What a whole paper is worth, in whatever order its words stand."""
_OF_A_PART = re.compile(
    r"\b(?:questions?|section|part|each|per|pass(?:ing)?)\b|第.{1,3}[卷节部]|每|本题|大题|小题|及格|문항", re.I
)
"""In a line on what a part of the paper is worth, or what passes it."""
_OF_THE_PAPER = re.compile(r"\b(?:paper|exam(?:ination)?|test)\b|试卷|全卷|시험", re.I)
_BLANKS = re.compile(r"填空|\bblanks?\b|\bgaps?\b|\bcloze\b|빈칸", re.I)
"""The title of a section whose numbers stand in gaps."""
_VOLUME = re.compile(r"\s*(?:第\s*\S{1,3}\s*(?:卷|部分)|(?:part|section)\s)", re.I)


def differences(stream: Stream, body: Body, drafts: Sequence[Draft]) -> list[str]:
    """A line for each printed count or sum that what was found does not agree with.

    Args:
        stream: the paper.
        body: it, taken apart.
        drafts: its questions.
    """
    lines = [*_of_paper(stream, body, drafts)]
    by_section = _drafts_by_section(body.segments, drafts)
    for place, section in enumerate(body.sections):
        lines += _of_section(section, body.sections[place + 1 :], by_section)
    return lines


def without_text(body: Body, drafts: Sequence[Draft]) -> list[str]:
    """A line for each question of which no text of its own was found."""
    lines = []
    for segment, draft in zip(body.segments, drafts, strict=True):
        own = re.sub(r"^\s*\d{1,3}\s*[.．、)]?\s*$", "", draft.markdown.strip())
        bare = not own and not draft.options and not draft.figures
        if segment.inline and not draft.options:
            bare = not _BLANKS.search(segment.section.title) and not _is_gap(segment)
        if bare:
            name = f"{draft.elective} {draft.number}".strip()
            lines.append(f"question {name} has no text of its own: it was not found")
    return lines


def _is_gap(segment: Segment) -> bool:
    """Whether the number of a question stands in a gap of its passage: between lines, brackets or white space."""
    number = segment.number
    before = r"(?:[_＿]\s*|[(（\[【]\s*|\s{2,}|[~～])"
    after = r"(?:\s*[_＿]|\s*[)）\]】]|\s{2,}|[~～]|\s*[.．]?\s*[(（]|\s*$)"
    gap = f"{before}{number}{after}"
    return any(re.search(gap, item.line.text) for item in segment.items if item.line)


# ---- of the paper ----


def _of_paper(stream: Stream, body: Body, drafts: Sequence[Draft]) -> list[str]:
    text = "\n".join(_front(stream, body))
    lines = []
    counts, sums = _combinations(drafts)
    said = _counts(text)
    if said and not any(number in counts for number in (*said, sum(said))):
        found = sorted(counts)
        lines.append(f"the paper says that it has {_either(said)} questions, and {_either(found)} were found")
    totals = paper_totals(stream, body)
    if totals and sums and not any(abs(total - value) < 1e-6 for total in totals for value in sums):
        lines.append(
            f"the paper says that it has {_either(totals)} points, and its questions have {_either(sorted(sums))}"
        )
    return lines


def paper_totals(stream: Stream, body: Body) -> list[int]:
    """What the paper is worth as it prints that, before its questions or where a line speaks of the paper."""
    lines = [*_front(stream, body), *(item.text for item in stream.items if _OF_THE_PAPER.search(item.text))]
    sentences = [part for line in lines for part in re.split(r"[\n。；;]|\.\s", line) if not _OF_A_PART.search(part)]
    matches = (match for part in sentences for pattern in _TOTAL for match in pattern.finditer(part))
    return list(dict.fromkeys(int(next(filter(None, match.groups()))) for match in matches))


def _front(stream: Stream, body: Body) -> list[str]:
    """The lines before the first question, and heads and feet, without those of sections."""
    titled = {id(item) for section in body.sections for item in section.items}
    front = [item.text or item.block.text for item in (*stream.titles, *body.front) if id(item) not in titled]
    front += [text for texts in stream.headings.values() for text in texts]
    return [line for line in dict.fromkeys(front) if not section_type(line)]


def _combinations(drafts: Sequence[Draft]) -> tuple[set[int], set[float]]:
    """How many questions, and how many points, a candidate may have: all, or the common ones and one part's."""
    parts = Counter(draft.elective for draft in drafts)
    counts = {len(drafts), len({draft.number for draft in drafts})} | {
        parts[""] + many for part, many in parts.items() if part
    }
    if any(draft.points is None for draft in drafts):
        return counts, set()
    points = {part: sum(draft.points or 0 for draft in drafts if draft.elective == part) for part in parts}
    sums = {sum(points.values())} | {points.get("", 0.0) + worth for part, worth in points.items() if part}
    forms = {part.split(" ")[0] for part in parts if part}
    for form in forms:  # a form's common questions and one of its electives
        own = {part: worth for part, worth in points.items() if part.split(" ")[0] == form}
        many = {part: parts[part] for part in own}
        counts |= {many.get(form, 0) + number for part, number in many.items() if part != form}
        sums |= {own.get(form, 0.0) + worth for part, worth in own.items() if part != form}
    return counts, sums


# ---- of its sections ----


def _drafts_by_section(segments: Sequence[Segment], drafts: Sequence[Draft]) -> dict[int, list[Draft]]:
    found: dict[int, list[Draft]] = {}
    for segment, draft in zip(segments, drafts, strict=True):
        found.setdefault(id(segment.section), []).append(draft)
    return found


def _of_section(section: Section, later: Sequence[Section], by_section: dict[int, list[Draft]]) -> list[str]:
    """What is printed of one section; a part of the paper with titles below it has the questions of these too."""
    title = " ".join(section.title.split())[:40]
    own = list(by_section.get(id(section), ()))
    reach = [own]
    for other in later:
        if bool(_VOLUME.match(other.title)) == bool(_VOLUME.match(section.title)) and not other.above:
            break
        if other.above and section.above:
            break
        reach.append([*reach[-1], *by_section.get(id(other), ())])
    text = _instructions(section)
    each, total = each_and_total(text)
    said = _counts(text)
    lines = []
    if not said and each and total and (total / each).is_integer() and not re.search(r"每\s*空", text):
        said = [int(total / each)]
    if said and not any(len(some) in said for some in reach):
        lines.append(
            f"section {title!r} says that it has {_either(said)} questions, and {len(own or reach[-1])} were found"
        )
    if total is not None and not lines:
        sums = [
            sum(draft.points or 0 for draft in some)
            for some in reach
            if some and all(d.points is not None for d in some)
        ]
        if sums and not any(abs(value - total) < 1e-6 for value in sums):
            lines.append(f"section {title!r} says that it has {total:g} points, and its questions have {sums[0]:g}")
    return lines


def _instructions(section: Section) -> str:
    """Title and instructions, not a passage that was read into them."""
    return "\n".join(item.text for item in section.items[:6])[:600]


def _counts(text: str) -> list[int]:
    """The numbers of questions that a text says there are."""
    found: list[int] = []
    for line in re.split(r"[\n。；;]|\.\s", text):
        if _CHOOSE.search(line) or _BIG.search(line):
            continue
        for pattern in _COUNTS:
            found += [
                _NUMBERS.get(match[1].lower()) or int(match[1])
                for match in pattern.finditer(line)
                if match[1].lower() in _NUMBERS or match[1].isdigit()
            ]
    return list(dict.fromkeys(number for number in found if 0 < number <= 200))


def _either(values: Sequence[float]) -> str:
    return " or ".join(f"{value:g}" for value in values)
