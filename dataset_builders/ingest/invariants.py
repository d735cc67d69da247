"""Invariants of papers that were read right.

Contract: `checked` gives each breach as an error of the paper or a doubt of questions; some refuse their keys. An
invariant knows nothing of layouts.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from typing import Final

from livek12.core.languages import languages, listed
from livek12.core.question_types import CHOICE_TYPES
from livek12.core.records import IMAGE_MARK
from livek12.core.scripts import both_scripts
from livek12.core.text import squeezed
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.ingest.drafting import SHOWN, usual_labels
from livek12.dataset_builders.ingest.drafts import DoubtKind, Draft
from livek12.dataset_builders.ingest.keys.entries import Entry
from livek12.dataset_builders.ingest.keys.matching import is_torn, with_doubt
from livek12.dataset_builders.ingest.pages.blocks import PICTURE, UNREAD, Box, PageBlocks, is_label
from livek12.dataset_builders.ingest.questions.headings import (
    INSTRUCTS,
    SOLVED,
    follows,
    is_notice,
    is_part_of_section,
    is_running,
    is_section,
    passage_range,
    width,
)
from livek12.dataset_builders.ingest.questions.kinds import asks, section_type
from livek12.dataset_builders.ingest.questions.labels import label_lists, stray_labels
from livek12.dataset_builders.ingest.questions.points import (
    NUMBERS,
    each_and_total,
    each_blank,
    is_shared,
    marks,
)
from livek12.dataset_builders.ingest.questions.segment import Body, Section, Segment, missing_numbers
from livek12.dataset_builders.ingest.questions.stream import Item, Stream
from livek12.dataset_builders.ingest.questions.texts import CHOOSES, asks_to_choose, begins_option

_N = r"(\d{1,3})"
_COUNTS = (
    both_scripts(rf"共\s*(?:有|计|设|包含)?\s*{_N}\s*(?:[个道]\s*)?(?:小|大)?\s*题"),
    both_scripts(rf"(?<![\d~～∼〜\-–—－至到第])\b{_N}\s*(?:个|道)?\s*小题(?!\s*(?:每|，每)?\s*[\d])"),
    re.compile(rf"(?<![\d~～∼〜\-–—－.第]){_N}\s*(?:개\s*)?문항(?!\s*(?:당|번호|별|마다))"),
    re.compile(
        r"(?<![\d\-–—.])(\d{1,3}|one|two|three|four|five|six|seven|eight|nine|ten)\s+"
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
_BRACKETED = re.compile(r"[(（\[][^()（）\[\]]{0,60}[)）\]]")
_FEWEST_TOLD = 40
"""Letters below a title that are more than instructions."""
_VOLUME = re.compile(r"\s*(?:第\s*\S{1,3}\s*(?:卷|部分)|(?:part|section)\s)", re.I)


# ---- of the paper ----


def _of_paper(stream: Stream, body: Body, drafts: Sequence[Draft]) -> list[str]:
    text = "\n".join(_front(stream, body))
    lines = []
    counts, sums = _combinations(drafts)
    printed = _counts("\n".join(line for line in text.split("\n") if not _OF_PARTS.search(line)))
    if len(printed) == 1 < printed[0] and printed[0] not in counts:
        possible = sorted(counts)
        lines.append(f"the paper says that it has {_either(printed)} questions, and {_either(possible)} were found")
    totals = paper_totals(stream, body)
    if totals and sums and not any(abs(total - value) < 1e-6 for total in totals for value in sums):
        worth = _either(sorted(sums))
        lines.append(f"the paper says that it has {_either(totals)} points, and its questions have {worth}")
    return lines


def paper_totals(stream: Stream, body: Body) -> list[int]:
    """Printed totals of the paper, before its questions or on a line that speaks of the paper."""
    lines = [*_front(stream, body), *(item.text for item in stream.items if _OF_THE_PAPER.search(item.text))]
    sentences = [part for line in lines for part in re.split(r"[\n。；;]|\.\s", line) if not _OF_A_PART.search(part)]
    matches = (match for part in sentences for pattern in _TOTAL for match in pattern.finditer(part))
    return list(dict.fromkeys(int(next(filter(None, match.groups()))) for match in matches))


def _front(stream: Stream, body: Body) -> list[str]:
    """The lines before the first question, heads and feet, without those of sections and their types."""
    return [line for line in _outside(stream, body) if not section_type(line)]


def _outside(stream: Stream, body: Body) -> list[str]:
    titled = {id(item) for section in body.sections for item in section.items}
    front = [item.text or item.block.text for item in (*stream.titles, *body.front) if id(item) not in titled]
    front += [text for texts in stream.headings.values() for text in texts]
    return list(dict.fromkeys(front))


def _combinations(drafts: Sequence[Draft]) -> tuple[set[int], set[float]]:
    """Numbers of questions and points that a candidate may have: all, or the common ones and one part's."""
    many = Counter(draft.elective for draft in drafts)
    worth = dict.fromkeys(many, 0.0)
    for draft in drafts:
        worth[draft.elective] += draft.points or 0
    pairs = [(part, common) for part in many if part for common in {"", part.split(" ")[0]} - {part}]
    counts = {len(drafts), len({draft.number for draft in drafts})} | {many[a] + many[b] for a, b in pairs}
    sums = {sum(worth.values())} | {worth[a] + worth.get(b, 0.0) for a, b in pairs}
    return counts, set() if any(draft.points is None for draft in drafts) else sums


# ---- of its sections ----


def _of_section(section: Section, later: Sequence[Section], by_section: dict[int, list[Draft]]) -> list[str]:
    """Printed counts of a section; a part of the paper with titles below it includes their questions."""
    title = " ".join(section.title.split())[:40]
    own = list(by_section.get(id(section), ()))
    reach = [own]
    for other in later:
        alike = bool(_VOLUME.match(other.title)) == bool(_VOLUME.match(section.title))
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
    if total is not None and not lines:
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


@dataclass(frozen=True)
class PaperReading:
    """A paper as it was read.

    Attributes:
        unkeyed: drafts before keys, one a segment of `body`.
        drafts: with keys.
        key_name: of the files of `--answers`; "" without one.
    """

    pages: Sequence[PageBlocks]
    stream: Stream
    body: Body
    unkeyed: Sequence[Draft]
    drafts: Sequence[Draft]
    entries: Sequence[Entry] = ()
    key_name: str = ""

    @property
    def pairs(self) -> Iterator[tuple[int, Segment, Draft]]:
        """Each question: its place, segment and draft."""
        for place, (segment, draft) in enumerate(zip(self.body.segments, self.drafts, strict=True)):
            yield place, segment, draft

    @property
    def by_section(self) -> dict[int, list[int]]:
        """Places of the questions by the id of their section."""
        places: dict[int, list[int]] = {}
        for place, segment, _ in self.pairs:
            places.setdefault(id(segment.section), []).append(place)
        return places


@dataclass(frozen=True)
class Breach:
    """A broken invariant.

    Attributes:
        text: for a person.
        places: of the doubtful questions.
        kind: of these doubts.
        error: it is an error of the paper.
        refuse: the questions lose their keys.
    """

    text: str
    places: tuple[int, ...] = ()
    kind: DoubtKind = "text"
    confidence: float = 0.3
    error: bool = False
    refuse: bool = False


def checked(reading: PaperReading) -> tuple[list[Draft], list[str]]:
    """Questions and errors by all invariants, those of keys first: the others do not count a refused key."""
    drafts = _with_usual_types(reading)
    errors: list[str] = []
    for check in INVARIANTS:
        for breach in check(replace(reading, drafts=drafts)):
            for place in breach.places:
                draft = drafts[place]
                if breach.refuse:
                    draft = reading.unkeyed[place].model_copy(update={"doubts": draft.doubts})
                drafts[place] = with_doubt(draft, breach.kind, breach.text, breach.confidence)
            errors += [breach.text] if breach.error else []
    return drafts, list(dict.fromkeys(errors))


def _with_usual_types(reading: PaperReading) -> list[Draft]:
    """Drafts without the doubts of a type that most of their section have by their own words."""
    drafts = list(reading.drafts)
    for places in reading.by_section.values():
        free = [at for at in places if drafts[at].question_type in _FREE]
        doubted = [at for at in free if any(doubt.kind == "type" for doubt in drafts[at].doubts)]
        title = _BRACKETED.sub("", drafts[places[0]].section)
        says = asks(title) and not INSTRUCTS.search(title)
        if says or 2 * max(len(doubted), len(places) - len(free)) < len(free):
            for place in doubted:
                others = [doubt for doubt in drafts[place].doubts if doubt.kind != "type"]
                drafts[place] = drafts[place].model_copy(update={"doubts": others})
    return drafts


# ---- numbers and counts ----


def _numbers_follow(reading: PaperReading) -> Iterator[Breach]:
    """Numbers go up by one from 1."""
    for line in missing_numbers(reading.body.segments):
        yield Breach(line, error=True)
    for place, segment, _ in reading.pairs:
        after = reading.body.segments[place + 1 : place + 2]
        skips = after and after[0].elective == segment.elective and after[0].number > segment.number + 1
        if skips and not (segment.stray or after[0].stray):
            yield Breach("the numbers behind it were not found: they may stand in it", (place,), "number", 0.3)


def _numbers_come_once(reading: PaperReading) -> Iterator[Breach]:
    """A number comes again in a titled part, or in a run that is surely one of questions."""
    steady = [(place, each) for place, each, _ in reading.pairs if not (each.stray or each.label)]
    many = Counter((each.elective, each.number) for _, each in steady)
    runs: list[list[int]] = []
    for at, (place, each) in enumerate(steady):
        last = steady[at - 1][1]
        if not at or each.number <= last.number or each.elective != last.elective:
            runs.append([])
        runs[-1].append(place)
    lengths = Counter(len(run) for run in runs if _is_whole(run, reading.body.segments))
    sound = {place for run in runs if _is_sound(run, reading, lengths) for place in run}
    named = {each.number for _, each in steady if each.elective and not reading.body.segments[0].elective}
    places = tuple(
        place
        for place, each in steady
        if place not in sound and (many[each.elective, each.number] > 1 or (not each.elective and each.number in named))
    )
    if places:
        numbers = ", ".join(dict.fromkeys(reading.drafts[place].number for place in places))
        text = f"numbers come again where no part of the paper begins: {one_line(numbers, 60)}"
        yield Breach(text, places, "number", 0.1, error=True)


def _is_whole(run: Sequence[int], segments: Sequence[Segment]) -> bool:
    """Checks for numbers that begin at 1 or with a section, and skip none."""
    own = [segments[place] for place in run]
    begins = own[0].number == 1 or run[0] == 0 or segments[run[0] - 1].section is not own[0].section
    return begins and all(b.number == a.number + 1 or b.section is not a.section for a, b in pairwise(own))


def _is_sound(run: Sequence[int], reading: PaperReading, lengths: Counter[int]) -> bool:
    """Checks for a whole run of questions with options or points, the front's apart, or of several as long that ask."""
    drafts = [(reading.drafts[place], reading.body.segments[place].section.title) for place in run]
    alike = lengths[len(run)] > 1 and len(run) >= _FEWEST_QUESTIONS
    sure = [
        draft.options
        or _WORTHY.search(draft.markdown)
        or (draft.points is not None and (title or marks(draft.markdown)))
        or (alike and asks(draft.question))
        for draft, title in drafts
    ]
    return _is_whole(run, reading.body.segments) and 5 * sum(map(bool, sure)) >= 4 * len(run)


def _printed_counts(reading: PaperReading) -> Iterator[Breach]:
    """Printed counts and sums, of sections and paper, are those of the questions."""
    lines = [*_of_paper(reading.stream, reading.body, reading.drafts)]
    by_section = {of: [reading.drafts[place] for place in places] for of, places in reading.by_section.items()}
    for place, section in enumerate(reading.body.sections):
        lines += _of_section(section, reading.body.sections[place + 1 :], by_section)
    for line in lines:
        yield Breach(line, error=True)


def _tables_have_their_cells(reading: PaperReading) -> Iterator[Breach]:
    """A wide gap within a cell parts two; where a third of all cells is empty, in the head too, rules were missed."""
    for place, segment, _ in reading.pairs:
        tables = [item.block for item in (*segment.passage, *segment.items) if item.block.kind == "table"]
        empty = [[[not cell.strip() for cell in line.text.split("\t")] for line in table.lines] for table in tables]
        if any(re.search(r"\S {4,}\S", line.text) for table in tables for line in table.lines):
            yield Breach("a cell of its table has a wide gap: it may be two", (place,), "text", 0.4)
        elif any(3 * sum(map(sum, rows)) > sum(map(len, rows)) and sum(rows[0]) >= min(2, len(rows)) for rows in empty):
            yield Breach("many cells of its table are empty: compare it with the page", (place,), "text", 0.4)


def _own_text(reading: PaperReading) -> Iterator[Breach]:
    """Each question has a text of its own."""
    for segment, draft in zip(reading.body.segments, reading.unkeyed, strict=True):
        own = re.sub(r"^\s*\d{1,3}\s*[.．、)]?\s*$", "", draft.markdown.strip())
        if not own and not draft.options and not draft.figures and not segment.inline:
            name = f"{draft.elective} {draft.number}".strip()
            yield Breach(f"question {name} has no text of its own: it was not found", error=True)


# ---- text ----

_SHARES = 3
"""Questions that have the same are no chance."""
_LONG, _LONG_CHARACTERS, _MOST_PAGES = 5, 900, 3
"""Medians, characters and pages: a question that has more is two, or has what is not its own."""
_FEWEST_QUESTIONS = 4
_SAYS_SOLVED: Final = re.compile(
    r"[^•.。，,]{0,30}(?:答案|\b(?:solutions?|answers?|answer key)|정답)\s*", re.IGNORECASE
)
_MATH: Final = re.compile(r"\$[^$]*\$")
_TEXT: Final = re.compile(r"\\(?:text|mathrm)\{[^{}]*\}(?![_^])|\\frac\{[^{}]*[가-힣][^{}]*\}\{[^{}]*\}")
_WOVEN: Final = re.compile(
    r"(?:\{\}[_^]\S{1,3}?-?){2}|_\^|\$\{\}[_^]\{?\d\}?\$|-{2,}\\to|\\to\}|\\(?:sin|cos|tan|exp)_|\\lim_\{[^{}]*\}\^|_\{[-+]'\}"
    r"|\\(?:cap|cup)\s*[|)}]|\\\{\s*\\(?:ge|le|cap|cup)\b|\\#|!\"|\\text\{[一-鿿]|[가-힣。？！；]|[_^]\{?[一-鿿]"
    r"|[_^](?:\{[^{}]*\}|\w)_|\\frac\{[=+,.]\}|(?:cases\}|\\\\)\s*[.,;]\s*\\\\"
    r"|[A-Za-z}]\{\}[_^]|\\sqrt(?:[$})=]|\\mathrm)"
)
"""Pieces that no whole formula has."""
_TAIL: Final = 4
"""Characters by which an option on several lines is longer than the others."""
_FREE: Final = ("open_ended", "short_answer", "proof")
_LEVEL_SHARE: Final = 0.5
_CLOSE: Final = 0.015
"""Of the page."""
_FORMULA: Final = re.compile(r"\$|[A-Za-z]\s?[=<>≤≥^]|[a-z]\d|\d[a-z]|√")
_OF_CHOICE, _LETTER = both_scripts(r"选择|选题|선다|객관|choice", re.IGNORECASE), re.compile(r"[A-H1-5①-⑤]")
_ASKS_AT_END: Final = re.compile(r"[?？]\s*$")
_ENDS: Final = re.compile(r"(?:[^\w\s,，、+=＝]|[다라오_])\s*$")
_ATOM: Final = "(?:[HCNOSPFKI]|Na|Mg|Al|Si|Cl|Ca|Fe|Cu|Zn|Br|Ag|Ba|Mn|Pb|Cr|Ge)"
_FLAT: Final = re.compile(
    r"\d(?:\s*×| x)\s?10 ?[-–−]?(?!0)\d{1,2}(?![\d.])|[)）] ?(?:2|8|10|16) *[=＝] *[(（]|[A-Za-z]n ?[+−-] ?1 *="
    r"|\d ?[cmk]?m[23]\b"
    rf"|(?<![A-Za-z\d\\{{_-])(?!([A-Z])\d?\1)(?=[A-Za-z]*(?:[A-Za-z]|[(（][A-Za-z\d]+[)）])[2-9])(?:{_ATOM}(?:[2-9]|1\d)?|[(（]{_ATOM}+\d?[)）]\d?){{2,}}"
    r"(?![A-Za-z\d])"
)
"""Powers of ten, bases, units and formulas of chemistry whose digits are as large as all."""
_BRACKETS: Final = str.maketrans("（）［］｛｝〔〕【】", "()[]{}()[]")
_LABELLED: Final = both_scripts(
    r"(?:^|[\s,;:.、，；：。])(?:[A-Za-z]|[ivxIVX]{1,4}|\d{1,2}(?:[.-]\d)?|[一-十가-하ㄱ-ㅎ])$"
)
_BLANK: Final = re.compile(r"_{2}|[(（]\s*[)）]|\|\s*\||□|…{2}|\.{6}")
_CODE: Final = re.compile(r"```.*?```", re.DOTALL)
_WITHIN: Final = re.compile(r"\A\s*(?:[–—]\s*[^\W\d]|[,，、;；:：.。)）]\s*\S)")
_UNDERLINED: Final = both_scripts(
    r"\A(?!.*(?:<u>|[ⓐ-ⓩ㉠-㉭]|[(（][a-e][)）]|_{2})).*(?:밑줄\s*친\s*(?:부분|단어|말|표현|문장|곳)"
    r"|\bunderlined\b(?!\s+\w+\s*[“\"‘'])|[画划]\s*线(?:的?\s*(?:部分|句|词|处)))",
    re.IGNORECASE | re.DOTALL,
)
"""Asks for what is underlined, without labels or rules of it."""
_GAPPED: Final = re.compile(r"(?m)^(?=.*[，。；、])(?:(?! {3}).)*?[一-鿿가-힣）)] {3,}(?=[一-鿿가-힣])(?:(?! {3}).)*$")
_SIGNS: Final[tuple[tuple[re.Pattern[str], str, DoubtKind, float], ...]] = (
    (_UNDERLINED, "it asks for what is underlined, and no underline was read", "text", 0.3),
    (_GAPPED, "a sentence of it has a gap: {}", "text", 0.3),
    (_FLAT, "sub- or superscripts may stand in the line: {}", "text", 0.3),
    (re.compile(UNREAD), "letters of its key were not read: compare it with the page", "answer", 0.1),
    (_WITHIN, "its key begins with {}: what stands before may be its own", "answer", 0.2),
)
"""Of errors, in the key or in the question without its formulas."""
_SOLUTION_HEAD: Final = both_scripts(
    r"[ \t]*[【\[［(（〔]?(?:(?:解|解答|解析|详解|(?:参考)?答案(?:[与及和]解析)?|풀이|정답)"
    r"(?=[】\]］)）〕:：.．\s]|\Z)|Solutions?(?=[\])>:]|\Z))"
    r"[】\]］)）〕>:：.．]?(?![ \t]*[_＿…])"
)
"""A label of a solution that begins a line, with whatever sign behind it."""
_CAPTIONS: Final = both_scripts(r"(?:[(（]\s*(?:第?\s*\d{1,3}\s*题?\s*图?|备?用?图\s*\d*)\s*[)）]\s*)+")
_ODD_SIGN: Final = re.compile(
    r"(?m)(?:^[ \t]*([^\w\s\-–—•·●▪◦*#|$<>(（\[【{`'\"“/\\+=,.。，△:：;；)）\]}]{1,3})[ \t]*\w.{0,40}$\n?)"
    r"(?:^[ \t]*\1[ \t]*\w.{0,40}$\n?){2,}"
)
"""Lines that begin with one sign, which marks no list of statements."""
_WORTHY: Final = both_scripts(
    r"(?<![\d.])\d{1,3}\s*(?:%\s*$|分(?![钟之别为析布])|점\b|(?:points?|marks?|pts)\b)", re.MULTILINE
)
_EACH: Final = re.compile(r"每|各|[×xX*+＋]|\b(?:each|per|every|apiece)\b|당", re.IGNORECASE)
_BRACKET: Final = re.compile(r"[(（]\s*[)）]")
_FILLED_BRACKET: Final = re.compile(r"[(（]\s*[A-H]+\s*[)）]")
_HEAD: Final = both_scripts(
    r"\s*(?:Question|Problem|Exercise|문제|第)\s*(?:#|No\.)?\s*\d{1,2}\s*题?\s*"
    r"(?:[.:：]|[(（\[]\s*\d[\d/.]*\s*(?:p|points?|marks?|점|分)|$)"
)
_SCRIPTS: Final = re.compile(r"LATIN|CJK|HANGUL|GREEK|MATHEMATICAL|FULLWIDTH|IDEOGRAPHIC|SUPERSCRIPT|SUBSCRIPT|CIRCLED")
_FOREIGN, _FEWEST_LETTERS = 0.1, 200
"""Share of letters of other scripts, in a text of so many letters at least."""
_ENGLISH: Final = frozenset(
    "the of and to in is for are be with or by if that this an on as at from which what".split()
)
_LATIN: Final = 0.85
"""Share of Latin letters above which a text is in a language of them: code may have more than half."""
_FEWEST_ENGLISH, _FEWEST_LATIN = 0.06, 100
"""Share of these words in English, in so many Latin words at least: papers have 0.2 and more, of code too."""
_OCR_LINE: Final = 0.8
"""Confidence of a page read by OCR, its mean: below it nothing of the page can be relied on."""


def _no_sign_of_errors(reading: PaperReading) -> Iterator[Breach]:
    """A question has nothing that no whole one has."""
    for place, draft in enumerate(reading.drafts):
        key = "".join((*draft.answer, draft.solution or ""))
        plain = _MATH.sub("$", "\n".join((draft.question, *_option_texts(draft))))
        for pattern, text, kind, confidence in _SIGNS:
            if match := pattern.search(key if kind == "answer" else plain):
                where = one_line(match[match.lastindex or 0].strip(), 40)
                yield Breach(text.format(where), (place,), kind, confidence)


def _ink_has_an_owner(reading: PaperReading) -> Iterator[Breach]:
    """Text before, between or behind questions or below a title, and in none, is not needed by them."""
    body, owners = reading.body, reading.body.owners
    front = {*map(id, body.front)} | {id(item) for item in reading.stream.titles if item.box.page == 1}
    end = max((page.number for page in reading.pages), default=0)
    notices = {(item.box.page, item.column) for item in reading.stream.items if is_notice(item.text)}
    last = 0
    groups: dict[tuple[int, bool], list[Item]] = {}
    for item in sorted((*reading.stream.titles, *reading.stream.items), key=lambda item: item.box.page):
        last = max(last, owners.get(id(item), last))
        noticed = item.box.page == end and (end, item.column) in notices
        if id(item) not in owners and not noticed:
            groups.setdefault((last, id(item) in front), []).append(item)
    first = min((item.box.page for segment in body.segments for item in segment.items), default=0)
    terms = _terms("\n".join(draft.markdown for draft in reading.drafts))
    for (place, before), items in groups.items():
        texts = [item.text for item in items]
        if before and 2 * len(_needed(texts)) < len(_sentences(texts)):
            continue  # rules
        near = [item.text for item in items if item.box.page > 1 or item.box.page == first or not before]
        beyond = [line for line in _needed(near) if not before or asks(line) or _terms(line) & terms]
        if sum(map(width, beyond)) >= _FEWEST_TOLD:
            where = "before the first question" if before else "between questions"
            text = f"text {where} is in none, and they may need it: {one_line(beyond[0], 40)!r}"
            yield Breach(text, (place,) if reading.drafts else (), "text", 0.3, error=True)
    for item in body.front if sum(draft.is_doubtful for draft in reading.drafts) < len(reading.drafts) else ():
        signs = [sign for sign in _MATH.findall(item.text) if re.search("[A-Za-z]", sign)]
        using = [at for at, draft in enumerate(reading.drafts) if any(sign in draft.markdown for sign in signs)]
        text = f"a line before the first question has a sign of it: {one_line(item.text, 40)!r}"
        yield Breach(text, tuple(using), "text", 0.3)
    for section in body.sections:
        own = [place for place, segment, _ in reading.pairs if segment.section is section and not segment.passage]
        named = section_type(section.title)
        says = bool(_needed([item.text for item in section.items]))
        more = says or any("$" in item.text for item in section.items[1:])
        more = more or (not named and any(item.line is None for item in section.items))
        if own and more:
            text = f"what stands above it may be its own text: {one_line(section.own, 60)!r}"
            yield Breach(text, (*([own[0] - 1] if own[0] and says else []), own[0]), "text", 0.3, error=True)


def _terms(text: str) -> set[str]:
    """Long Latin words, Korean words and pairs of Chinese letters of a text."""
    pairs = (a + b for a, b in pairwise(text) if "一" <= a <= "鿿" and "一" <= b <= "鿿")
    return {*pairs, *re.findall(r"[a-zà-ɏ]{6,}|[가-힣]{2,}", text.lower())}


def _needed(lines: Sequence[str]) -> list[str]:
    """Sentences that are neither the exam's name nor an instruction: they do not speak of answering."""
    return [sentence for sentence in _sentences(lines) if not INSTRUCTS.search(sentence)]


def _sentences(lines: Sequence[str]) -> list[str]:
    text = re.sub(r"(?<=[一-鿿])\n(?=[一-鿿])", "", "\n".join(lines)).replace("\n", " ")
    sentences = re.split(r"(?<=[。.!?？！；;:：)）])\s+|(?<=[。！？；])|\s+(?=[•●▪◦♨※])", _BRACKETED.sub("", text))
    return list(filter(is_running, sentences))


def _sections_have_questions(reading: PaperReading) -> Iterator[Breach]:
    """A section without a question of its own, nor a part below it, is a question itself, or lost them."""
    sections = reading.body.sections
    numbers = {id(segment.section): place for place, segment, _ in reading.pairs}
    last = -1
    for place, section in enumerate(sections):
        last = numbers.get(id(section), last)
        parted = any(is_part_of_section(other.title) for other in sections[place + 1 : place + 2])
        title = _BRACKETED.sub("", section.title)
        running = last >= 0 and is_running(title) and len(INSTRUCTS.findall(title)) < 2
        says = running or sum(len(item.text) for item in section.items[1:]) >= _FEWEST_TOLD or section is sections[-1]
        own = running or not _VOLUME.match(section.title) or _needed([item.text for item in section.items[1:]])
        if id(section) not in numbers and says and not parted and own:
            text = f"section {one_line(section.title, 40)!r} has no question: it may be one"
            yield Breach(text, (last,) if last >= 0 else (), "number", 0.3, error=True)


def _one_head_a_question(reading: PaperReading) -> Iterator[Breach]:
    """No head of a question or section stands in a question."""
    heads = [segment.items[0] for segment in reading.body.segments]
    form = _usual_head(reading.body.segments)
    for place, segment, _ in reading.pairs:
        lines = [item for item in segment.items[1:] if item.line and item not in reading.body.part_heads]
        other = next((line for line in lines if _is_another_head(line, segment, form, heads)), None)
        if other:
            text = f"the head of another question or section stands in it: {one_line(other.text, 40)!r}"
            yield Breach(text, (place,), "number", 0.1)
    if lost := next((item.text for item in reading.body.front if _HEAD.match(item.text)), ""):
        text = f"a question's head stands before the first question: {one_line(lost, 40)!r}"
        yield Breach(text, (0,), "number", 0.1, error=True)


def _is_another_head(line: Item, segment: Segment, form: re.Pattern[str] | None, heads: Sequence[Item]) -> bool:
    """A number in the usual form, level with the others' if it has no word; a section's title; or "Question 5:"."""
    if is_section(line.text) and not is_part_of_section(line.text):
        return True
    if form and (number := form.match(line.text)):
        level = (abs(head.box.left - line.box.left) < _CLOSE / 2 for head in heads if head.column == line.column)
        return bool(re.search(r"[^\W\d_]", number[0])) or any(level)
    return follows(line.text, segment.section.title) or bool(_HEAD.match(line.text))


def _usual_head(segments: Sequence[Segment]) -> re.Pattern[str] | None:
    """The forms of printed numbers that come often; a bracket or a bare number is one if most have it."""
    shapes = Counter(re.sub(r"\d+", "#", squeezed(each.items[0].text[: each.end])) for each in segments)
    often = {shape: 5 * many >= 4 * len(segments) for shape, many in shapes.items() if "#" in shape and many >= _SHARES}
    usual = [shape for shape, most in often.items() if most or (len(shape) > 1 and shape[0] not in "(（[")]
    forms = (r"\s*".join(r"\d{1,3}" if sign == "#" else re.escape(sign) for sign in shape) for shape in usual)
    return re.compile(rf"\s*(?:{'|'.join(forms)})(?![\d.,])") if usual else None


def _roles_are_sure(reading: PaperReading) -> Iterator[Breach]:
    """No text may be of a question or of its neighbour."""
    for place, segment, _ in reading.pairs:
        if segment.guess:
            yield Breach(segment.guess, (place,), "text", 0.3)


def _order_is_that_of_the_layer(reading: PaperReading) -> Iterator[Breach]:
    """The text layer has lines in an order of its own: where a question's differs from it, one of them is wrong."""
    for place, segment, _ in reading.pairs:
        lines = [item for item in segment.items if not (is_label(item.text) or begins_option(item.text))]
        lines = [item for item in lines if not _CAPTIONS.fullmatch(item.text)]  # it stands where its figure does
        placed = [(item.box.page, item.line.place, item.text) for item in lines if item.line and item.line.place >= 0]
        turned = next((b[2] for a, b in pairwise(placed) if a[0] == b[0] and b[1] < a[1]), "")
        if turned:
            text = f"the text layer has {one_line(turned, 40)!r} before the line above it"
            yield Breach(text, (place,), "text", 0.3)


def _points_are_read(reading: PaperReading) -> Iterator[Breach]:
    """Points that are printed, of a question, its section, most others or the paper, are read; several are of parts."""
    outside = "\n".join(_outside(reading.stream, reading.body))
    by_section = reading.by_section
    above = {mark.points for line in _front(reading.stream, reading.body) for mark in marks(line)}
    worth = {draft.points for draft in reading.drafts}
    most = 2 * sum(draft.points is not None for draft in reading.drafts) > len(reading.drafts)
    if lost := sorted(above - worth - {sum(draft.points or 0 for draft in reading.drafts)}):
        text = f"points stand before the first question, and none has them: {_either(lost)}"
        yield Breach(text, (0,), "number", 0.3, error=True)
    for place, segment, draft in reading.pairs:
        lines = draft.question.strip().split("\n") or [""]
        title = segment.section.own if not segment.section.above else ""
        total = len(_WORTHY.findall(title)) == 1 and not _EACH.search(title)  # of the section
        title = "" if len(by_section[id(segment.section)]) > 1 and total else title
        texts = (title, lines[0], lines[-1], outside)
        match = _WORTHY.search("\n".join(texts))
        if draft.points is None and (match or most):
            why = f"{match[0].strip()!r} may be some" if match else "most others have them"
            why = "the blanks of its section do not add up" if each_blank(title) else why
            yield Breach(f"no points were found, and {why}", (place,), "points", 0.4)
        several = len(marks(draft.question)) > 1 and not (draft.part_points or is_shared(draft.question))
        if several:
            yield Breach("several points stand in its text, and it has no parts", (place,), "text", 0.3)


def _no_question_is_too_long(reading: PaperReading) -> Iterator[Breach]:
    """None has half of the paper, five medians, or more than three pages."""
    lengths = [len(squeezed(draft.markdown)) for draft in reading.unkeyed]
    if not sum(lengths):
        return
    usual = median(lengths) if len(lengths) >= _FEWEST_QUESTIONS else max(lengths)
    worth = median(draft.points or 0 for draft in reading.drafts)
    for place, segment, draft in reading.pairs:
        pages = len({item.box.page for item in segment.items})
        most = len(lengths) >= _FEWEST_QUESTIONS and 2 * lengths[place] > sum(lengths)
        if most and lengths[place] > _LONG_CHARACTERS:
            name = f"{draft.elective} {draft.number}".strip()
            text = f"question {name} is longer than all others together: others may be in it"
            yield Breach(text, (place,), "number", 0.1, error=True)
        elif pages > _MOST_PAGES or (
            lengths[place] > max(_LONG * usual, _LONG_CHARACTERS) and not 0 < 2 * worth <= (draft.points or 0)
        ):
            text = f"it is much longer than the others ({pages} pages): it may have what is not its own"
            yield Breach(text, (place,), "text", 0.4, error=len(lengths) < _FEWEST_QUESTIONS)


def _no_solution_in_the_question(reading: PaperReading) -> Iterator[Breach]:
    """No head of an answer or solution stands in a question, and no letter where others have an empty bracket."""
    empty = sum(bool(_BRACKET.search(draft.question)) for draft in reading.drafts)
    for place, segment, draft in reading.pairs:
        filled = _FILLED_BRACKET.search(draft.question) if draft.options and not draft.answer else None
        if filled and 2 * empty > len(reading.drafts):
            yield Breach(f"{filled[0]!r} stands where others have an empty bracket: the key?", (place,), "answer", 0.2)
        own = "\n".join((draft.question, *_option_texts(draft)))
        whole = squeezed(own)
        lines = [item.text.replace(PICTURE, IMAGE_MARK) for item in segment.items[1:]]
        lines = [line for line in lines if line and squeezed(line) in whole]
        if lines and _SOLUTION_HEAD.fullmatch(lines[-1]):
            lines.pop()  # a place to write
        if match := next(filter(None, map(_SOLUTION_HEAD.match, lines)), None) or SOLVED.search(own):
            head = one_line(match[0].strip(), 20)
            line = f"{head!r} in the text: an answer or solution stands in the question"
            yield Breach(line, (place,), "text" if match[0] in draft.question else "options", 0.2)


def _answers_stand_with_solutions(reading: PaperReading) -> Iterator[Breach]:
    """A question of a type with short answers has one if it has a solution."""
    short = {*CHOICE_TYPES, "fill_in_blank", "true_false"}
    for place, draft in enumerate(reading.drafts):
        if draft.solution and not draft.answer and draft.question_type in short:
            yield Breach("it has a solution, and no answer was found in it", (place,), "answer", 0.3)


def _answers_are_told_from_all(reading: PaperReading) -> Iterator[Breach]:
    """If a paper's title or most questions have answers, all have, in their keys and not in their texts."""
    answered = [bool(draft.answer or draft.solution) for draft in reading.unkeyed]
    without = tuple(place for place, own in enumerate(answered) if not own)
    front = _front(reading.stream, reading.body)
    title = next((line for line in front if _SAYS_SOLVED.fullmatch(line) and (len(line) > 2 or line == front[0])), "")
    if sum(answered) >= max(_SHARES, len(answered) / 2):
        yield Breach("the others have answers with them, and it has none: it may stand in it", without, "text", 0.3)
    elif title and not reading.body.answers:
        text = f"the paper is one with answers ({one_line(title, 40)!r}), and it has none: one may stand in it"
        yield Breach(text, without, "text", 0.3)


def _structure_is_used(reading: PaperReading) -> Iterator[Breach]:
    """Labels, brackets, listings, blanks and numbers of questions are parts of whole ones."""
    most = 2 * sum(bool(draft.options) for draft in reading.drafts) >= len(reading.drafts)
    last = {segment.elective: segment.number for segment in reading.body.segments}
    for place, segment, draft in reading.pairs:
        own = "" if segment.inline else _CODE.sub("", draft.markdown if segment.passage else draft.question)
        fields = [draft.question, *_option_texts(draft)]
        strays = [*stray_labels(own), *(label for text in fields[1:] for label in stray_labels(text, whole=False))]
        strays = [label for label in strays if not _has_earlier(label, draft.markdown)]
        lists = [each for each in label_lists(draft.question) if each.begins_line and not each.is_number]
        listed = any(sum(not asks(text) for text in each.texts) >= _SHARES for each in lists)
        halves = list(filter(None, map(_half_bracket, fields)))
        ranges = list(filter(None, map(passage_range, own.split("\n"))))
        if strays:
            text = f"label {strays[0]} has none before it: the list that it is of was not read whole"
            yield Breach(text, (place,), "options", 0.3)
        elif not draft.options and ((most and listed) or _ODD_SIGN.search(draft.question)):
            yield Breach("lines of its text begin as options do: they may be some", (place,), "options", 0.3)
        if any(segment.number < low < high <= last[segment.elective] for low, high in ranges):
            yield Breach("it names questions behind it: a text of theirs may be in it", (place,), "text", 0.3)
        halves += ["$" for field in fields if field.count("$") % 2 and "\\" in _CODE.sub("", field)]
        if halves or any(field.count("```") % 2 for field in fields):
            where = one_line(halves[0], 40) if halves else "```"
            yield Breach(f"a bracket or listing of it is not whole: {where!r}", (place,), "text", 0.2)
        if draft.question_type == "fill_in_blank" and not (draft.figures or _BLANK.search(draft.question)):
            yield Breach("it has no blank to fill in: one may be lost, or filled", (place,), "text", 0.3)
        if not (draft.options or draft.figures or re.search(r"[A-Za-z]{2}|[一-鿿가-힣$]", draft.question)):
            yield Breach("it has no words: its text may be elsewhere", (place,), "text", 0.1)


def _has_earlier(label: str, text: str) -> bool:
    """Checks for the label before another, with its bracket, within a line: "Find: (1) …"."""
    name = re.sub(r"\W", "", label) or label
    earlier = label.replace(name, str(int(name) - 1) if name.isdecimal() else chr(ord(name[-1]) - 1))
    return label[-1] in ")）" and bool(re.search(rf"(?<![A-Za-z\d+−-]){re.escape(earlier)}", text))  # not in f(x+2)


def _half_bracket(text: str) -> str:
    """The text before a bracket without its other half; the labels a) and intervals [0, 1) are whole."""
    plain = re.sub(r"\\[{}]|(['\"])[()\[\]]+\1", "", text).translate(_BRACKETS)
    words = _MATH.sub("", plain)
    if words.count("{") != words.count("}"):
        return words[words.rfind("{") :]
    plain, depth = _CODE.sub("", plain), 0
    for match in re.finditer(r"[()\[\]]", plain):
        depth += 1 if match[0] in "([" else -1
        if depth < 0 and match[0] == ")" and _LABELLED.search(plain[max(0, match.start() - 9) : match.start()]):
            depth = 0
        if depth < 0:
            return plain[max(0, match.start() - 30) : match.end()]
    return plain[plain.rfind("(") :] if depth else ""


def _option_texts(draft: Draft) -> list[str]:
    return [option.text for option in draft.options]


def _formulas_are_whole(reading: PaperReading) -> Iterator[Breach]:
    """Formulas close what they open and have no Chinese letters in scripts."""
    for place, draft in enumerate(reading.drafts):
        formulas = _TEXT.sub("", "".join(_MATH.findall("\n".join((draft.question, *_option_texts(draft))))))
        if _WOVEN.search(formulas) or formulas.count("\\{") != formulas.count("\\}"):
            yield Breach("a formula of it is not whole: compare it with the page", (place,), "text", 0.2)
        key = "".join(_MATH.findall("\n".join((*draft.answer, draft.solution or ""))))
        braces = key.replace("\\{", "").replace("\\}", "")
        if _WOVEN.search(_TEXT.sub("", key)) or braces.count("{") != braces.count("}") or is_torn(draft.solution or ""):
            yield Breach("a formula of its key is not whole: compare it with the page", (place,), "answer", 0.2)


def _options_end_at_their_end(reading: PaperReading) -> Iterator[Breach]:
    """The last option is no longer than its question."""
    for place, draft in enumerate(reading.drafts):
        *others, last = [option.text.replace(IMAGE_MARK, "").strip() for option in draft.options] or [""]
        longest = max(map(len, others), default=0)
        if others and "\n" in last and not any("\n" in text for text in others) and len(last) > longest + _TAIL:
            yield Breach(f"option {draft.options[-1].label} goes on below the others", (place,), "options", 0.3)


def _pictures_have_one_question(reading: PaperReading) -> Iterator[Breach]:
    """A picture covers no line and no other picture, and stands level with its own question."""
    places = {id_: place for id_, place in reading.body.owners.items() if place >= 0}
    by_page: dict[int, list[Item]] = {}
    for item in reading.stream.items:
        by_page.setdefault(item.box.page, []).append(item)
    doubted: set[int] = set()
    for item in reading.stream.items:
        place = places.get(id(item), -1)
        if item.block.kind != "figure" or item.line or place < 0:
            continue
        others = [other for other in by_page[item.box.page] if other is not item]
        covered = [other for other in others if _covers(item.box, other)]
        column = [other for other in others if other.line and other.column == item.column]
        beside = [other for other in column if _level_with(item.box, other.box) > _LEVEL_SHARE]
        foreign = {places[id(other)] for other in beside if places.get(id(other), place) != place}
        own = any(places.get(id(other), -1) == place for other in beside)
        if covered:
            foreign = {places.get(id(other), place) for other in covered if not _ENDS.search(other.text)}
            other = one_line(covered[0].text or "a picture", 40)
            text = f"its picture and something else stand in one place: {other!r}"
        elif foreign and not own:
            text = "its picture stands beside another question"
        else:
            continue
        yield Breach(text, tuple({place, *foreign} - doubted), "figure", 0.3)
        doubted |= {place, *foreign}


_UNUSED: Final = 0.03
"""Share of a page that a picture takes which is more than an ornament."""


def _pictures_are_used(reading: PaperReading) -> Iterator[Breach]:
    """A big picture right above a question is in one, or in the title of a section; else those below may lack it."""
    segments, owners = reading.body.segments, reading.body.owners
    for item, below in pairwise(reading.stream.items):
        big = item.line is None and item.block.kind == "figure" and item.box.area > _UNUSED
        first = owners.get(id(below), -1)
        if big and id(item) not in owners and first >= 0:
            same = [at for at, each in enumerate(segments) if at >= first and each.section is segments[first].section]
            lacking = [at for at in same if SHOWN.search(reading.drafts[at].question)]
            text = f"a picture on page {item.box.page} is in no question: it may belong to these"
            yield Breach(text, tuple(lacking or same), "figure", 0.3)


def _covers(box: Box, other: Item) -> bool:
    """A line whose middle is in a picture, or a picture that overlaps or adjoins it."""
    if other.line is None:
        return other.block.kind == "figure" and _adjoin(box, other.box)
    x, y = (other.box.left + other.box.right) / 2, (other.box.top + other.box.bottom) / 2
    return box.left < x < box.right and box.top < y < box.bottom


def _level_with(box: Box, line: Box) -> float:
    """Share of a line that is level with a picture."""
    return (min(box.bottom, line.bottom) - max(box.top, line.top)) / max(line.bottom - line.top, 1e-6)


def _adjoin(box: Box, other: Box) -> bool:
    """Pictures that overlap, or stand one below the other with next to nothing between them."""
    down = max(box.top, other.top) - min(box.bottom, other.bottom)
    across = max(box.left, other.left) - min(box.right, other.right)
    return box.page == other.page and ((down < 0 and across < 0) or (down < _CLOSE and across < -_CLOSE))


def _script_is_read(reading: PaperReading) -> Iterator[Breach]:
    """The text is in a script and language that the rules know."""
    if text := unknown_language(reading.stream):
        yield Breach(text, tuple(range(len(reading.drafts))), "text", 0.2, error=True)


def unknown_language(stream: Stream) -> str:
    """A line on the script or language of a paper that no rules know; "" if they do."""
    text = " ".join(_MATH.sub("", item.text) for item in stream.items)
    letters = [sign for sign in text if sign.isalpha()]
    own = re.compile("|".join(f"[{row.letters}]" for row in languages() if row.letters))
    others = Counter(unicodedata.name(sign, "").split(" ")[0] for sign in letters if not own.match(sign))
    foreign = {name: many for name, many in others.items() if name and not _SCRIPTS.match(name)}
    words = [word.lower() for word in re.findall(r"[A-Za-zÀ-ɏ]{2,}", text)]
    script = ""
    if len(letters) >= _FEWEST_LETTERS and sum(foreign.values()) > _FOREIGN * len(letters):
        script = f"script without rules here ({max(foreign, key=foreign.__getitem__).lower()})"
    elif len(words) >= _FEWEST_LATIN and others["LATIN"] > _LATIN * len(letters):
        english = sum(word in _ENGLISH for word in words) > _FEWEST_ENGLISH * len(words)
        script = "" if english else "language without rules here (Latin letters, not English)"
    names_here = listed((row.labels["en"] for row in languages()), "and")
    return script and f"its text is in a {script}: the rules know {names_here}"


def _pages_were_read(reading: PaperReading) -> Iterator[Breach]:
    """No rule failed on a page; a scan is read with some confidence, and OCR reads roots and exponents flat."""
    for page in reading.pages:
        lines = [line for block in page.blocks if block.origin == "ocr" for line in block.lines if line.text.strip()]
        mean = sum(line.confidence for line in lines) / len(lines) if lines else 1.0
        if page.lost:
            yield Breach(f"page {page.number} was not read ({page.lost}); please report this paper", error=True)
        elif mean < _OCR_LINE:
            places = [place for place, draft in enumerate(reading.drafts) if page.number in draft.page_numbers]
            text = f"page {page.number} was read with a mean confidence of {mean:.2f}: compare all of it with the page"
            yield Breach(text, tuple(places), "text", 0.1, error=True)
    by_ocr = [any(item.block.origin == "ocr" for item in (*each.passage, *each.items)) for _, each, _ in reading.pairs]
    places = [place for place, own in enumerate(by_ocr) if own]
    if any(_FORMULA.search(f"{reading.drafts[place].question}\n{reading.drafts[place].options}") for place in places):
        text = "formulas were read from a picture: compare them with the page"
        yield Breach(text, tuple(places), "text", 0.5)


_FEW: Final = 0.75
"""Share of questions with doubts from which the others of a paper are doubted too."""


def _most_are_understood(reading: PaperReading) -> Iterator[Breach]:
    """If most questions have doubts of their bounds, the layout is not understood, and others have errors too."""
    without = tuple(place for place, draft in enumerate(reading.drafts) if not draft.is_doubtful)
    kinds = [{doubt.kind for doubt in draft.doubts} for draft in reading.drafts]
    all_, doubtful = len(kinds), sum(bool(own & {"number", "text", "options"}) for own in kinds)
    if all_ >= _FEWEST_QUESTIONS and doubtful >= _FEW * all_:
        text = f"the layout of this paper is not understood: {doubtful} of its {all_} questions have doubts"
        yield Breach(text, without, "text", 0.4)


# ---- options ----


def _choices_have_options(reading: PaperReading) -> Iterator[Breach]:
    """A question that asks to choose has options, and where few have any, it says that they are."""
    chosen = sum(bool(draft.options) for draft in reading.drafts)
    few = 4 * chosen <= len(reading.drafts)
    for place, draft in enumerate(reading.drafts):
        if not draft.options and draft.question_type not in CHOICE_TYPES and CHOOSES.search(draft.question):
            yield Breach("it asks to choose, and no options were found", (place,), "options", 0.3)
        named = bool(_OF_CHOICE.search(draft.section) or _LETTER.fullmatch("".join(draft.answer)))
        alone = few and not named and not asks_to_choose(draft.question) and not _ASKS_AT_END.search(draft.question)
        if draft.options and alone:
            text = "few questions have options, and it does not ask to choose: they may be parts"
            yield Breach(text, (place,), "type", 0.3)


def _options_are_alike(reading: PaperReading) -> Iterator[Breach]:
    """The questions of a section have equally many options of one alphabet, and labels of one form in a paper."""
    for places in reading.by_section.values():
        usual = usual_labels([reading.drafts[place] for place in places])
        most = 4 * sum(bool(reading.drafts[place].options) for place in places) >= 3 * len(places)
        last = max(place for place in places if reading.drafts[place].options) if usual else 0
        for place in places if usual else ():
            own = "".join(option.label for option in reading.drafts[place].options)
            if not own.startswith(usual) and (own or (most and place < last)):
                text = f"its options are {own or 'none'}, those of most others of its section {usual}"
                yield Breach(text, (place,), "options", 0.3)
    named = [(draft.markdown, [option.label for option in draft.options]) for draft in reading.drafts]
    styles = [next((e.style for e in label_lists(text) if e.names == names), "") for text, names in named]
    (usual, many), *_ = Counter(filter(None, styles)).most_common(1) or [("", 0)]
    for place, own in enumerate(styles):
        if own not in ("", usual) and many >= max(_SHARES, 4 * styles.count(own)):
            text = "the labels of its options have another form than those of most others: they may be parts"
            yield Breach(text, (place,), "options", 0.3)


# ---- keys ----

_REPEATED, _FEWEST, _COPIED = 24, 12, 30
"""Letters at the beginning of a question that its key may not repeat, one of Chinese or Korean counting two; of a key
that is shorter; and characters anywhere in it."""
_SOLVED_COPY: Final = 0.4
"""Share of the keys of a file that repeat their questions: above it the file is the paper with its answers."""


def _keys_are_no_copies(reading: PaperReading) -> Iterator[Breach]:
    """A key that repeats its question is a solved paper's: none of the file is taken."""
    for source, places in _keyed(reading).items():
        copies = [place for place in places if _repeats(reading.drafts[place])]
        if len(copies) > 1 and len(copies) > _SOLVED_COPY * len(places):
            text = f"{source} repeats the questions: it is the paper with its answers, and none was taken from it"
            yield Breach(text, tuple(places), "answer", 0.3, error=source != "the paper", refuse=True)
        else:
            text = f"its key in {source} repeats the question; it was not taken"
            yield Breach(text, tuple(copies), "answer", 0.3, refuse=True)


def _keys_cover_the_paper(reading: PaperReading) -> Iterator[Breach]:
    """A numbered list with the numbers of only a few questions is no key; a table may be. A solved copy has no list."""
    numbers = {draft.number for draft in reading.drafts}
    for source, places in _keyed(reading).items():
        entries = [entry for entry in reading.entries if (entry.source or reading.key_name) == source]
        listed_numbers = {str(entry.number) for entry in entries}
        covered = len(listed_numbers & numbers | {reading.drafts[place].number for place in places})
        few = bool(entries) and 2 * covered < len(numbers)
        if few and all(entry.listed for entry in entries):
            text = f"{source} has a numbered list, and it is no key: {covered} of {len(numbers)} questions"
            yield Breach(text, tuple(places), "answer", 0.3, error=True, refuse=True)
        elif few or 2 * len(listed_numbers & numbers) < len(listed_numbers):
            text = f"{source} has {len(listed_numbers)} keys, for {covered} of {len(numbers)} questions: compare them"
            yield Breach(text, tuple(places), "answer", 0.1)


def _keyed(reading: PaperReading) -> dict[str, list[int]]:
    sources: dict[str, list[int]] = {}
    for place, draft in enumerate(reading.drafts):
        if draft.answer_from and (draft.answer or draft.solution):
            sources.setdefault(draft.answer_from, []).append(place)
    return sources


def _repeats(draft: Draft) -> bool:
    """Checks whether a key begins as its question, or repeats a sentence of it."""
    if draft.question_type in CHOICE_TYPES and draft.answer:
        return False
    key = _plain("".join(draft.answer) + (draft.solution or ""))
    answer = _plain("".join(draft.answer))
    question = _plain(draft.question)
    beginning = next((key[:end] for end in range(len(key)) if width(key[:end]) >= _REPEATED), key)
    begins = width(beginning) >= _FEWEST and question.startswith(beginning)
    begins = begins or (width(question) >= _FEWEST and key.startswith(question))
    return begins or (len(answer) >= _COPIED and answer in question)


def _plain(text: str) -> str:
    return re.sub(r"[\s$，,。.；;_]", "", text)


INVARIANTS: Final = (
    _pages_were_read,
    _keys_cover_the_paper,
    _keys_are_no_copies,
    _numbers_follow,
    _numbers_come_once,
    _tables_have_their_cells,
    _own_text,
    _printed_counts,
    _ink_has_an_owner,
    _sections_have_questions,
    _one_head_a_question,
    _roles_are_sure,
    _order_is_that_of_the_layer,
    _points_are_read,
    _structure_is_used,
    _no_sign_of_errors,
    _no_question_is_too_long,
    _no_solution_in_the_question,
    _answers_stand_with_solutions,
    _answers_are_told_from_all,
    _formulas_are_whole,
    _pictures_have_one_question,
    _pictures_are_used,
    _choices_have_options,
    _options_are_alike,
    _options_end_at_their_end,
    _script_is_read,
    _most_are_understood,
)
"""In the order in which they are checked; their names and first lines say what always holds."""
