"""Doubts of one question: what in it no whole one has, and what nothing on the page says of it.

Contract: `doubts_of` looks at the question, its lines and its key alone; a default of the rules is no evidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from livek12.core.question_types import CHOICE_TYPES
from livek12.core.records import IMAGE_MARK
from livek12.core.scripts import both_scripts
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.ingest.drafts import Doubt, DoubtKind, Draft
from livek12.dataset_builders.ingest.keys.matching import is_torn
from livek12.dataset_builders.ingest.pages.blocks import PICTURE, UNREAD, is_label
from livek12.dataset_builders.ingest.questions.headings import INSTRUCTS, passage_range
from livek12.dataset_builders.ingest.questions.kinds import asks, demanding
from livek12.dataset_builders.ingest.questions.labels import are_several, stray_labels
from livek12.dataset_builders.ingest.questions.options import CHOOSES, begins_option
from livek12.dataset_builders.ingest.questions.points import is_shared, marks
from livek12.dataset_builders.ingest.questions.segment import Segment
from livek12.dataset_builders.ingest.questions.texts import half_bracket
from livek12.dataset_builders.reading.text import count_blanks

_FREE: Final = ("open_ended", "short_answer", "proof")
_FIGURES: Final = both_scripts(
    r"如图|图中|下图(?!案)|所示的?[^，。]{0,8}[树图]|그림|(?<![a-z])fig(?:ure)?\.?\s?\d|in the figure|the figure shows"
    r"|shown below|\bthe (?:diagram|drawing|circuit)\b"
    r"|\b(?:following|given|below)(?: [\w-]+){0,3} (?:graph|tree|diagram|figure|circuit|map)\b"
    r"|\b(?:following|given) table\b|[下上]表[为中是所，,：:]|如[下右]?表|(?:다음|위)\s*표|\btable (?:below|above)\b"
    r"|\b(?:graph|tree|diagram|figure|circuit|map)s? (?:below|above|shown|on the right|to the right)\b",
    re.IGNORECASE,
)
"""Speaks of a figure or table that is printed with the question."""
_UNDERLINES: Final = both_scripts(
    r"밑줄\s*친\s*(?:부분|단어|말|표현|문장|곳)|\bunderlined\b(?!\s+\w+\s*[“\"‘'])|[画划]\s*线(?:的?\s*(?:部分|句|词|处))",
    re.IGNORECASE,
)
_LINED: Final = re.compile(r"<u>|[ⓐ-ⓩ㉠-㉭]|[(（][a-e][)）]|_{2}")
_BLANKS: Final = both_scripts(r"\b(?:in|fill) (?:in )?(?:(each|every)|the) blank(s?)\b|空格[处中里]|빈\s*칸에", re.I)
_ROOM: Final = re.compile(r"_{2}|[(（]\s*[)）]|\|\s*\||□|▲|…{2}|\.{6}")
_CODE: Final = re.compile(r"```.*?```", re.DOTALL)
_MATH: Final = re.compile(r"\$[^$]*\$")
_WORD: Final = re.compile(r"[^\W\d_]{3}|[一-鿿가-힣]|```")
_TEXT: Final = re.compile(r"\\(?:text|mathrm)\{[^{}]*\}(?![_^])|\\frac\{[^{}]*[가-힣][^{}]*\}\{[^{}]*\}")
_WOVEN: Final = re.compile(
    r"(?:\{\}[_^]\S{1,3}?-?){2}|_\^|\$\{\}[_^]\{?\d\}?\$|-{2,}\\to|\\to\}|\\(?:sin|cos|tan|exp)_|\\lim_\{[^{}]*\}\^|_\{[-+]'\}"
    r"|\\(?:cap|cup)\s*[|)}]|\\\{\s*\\(?:ge|le|cap|cup)\b|\\#|!\"|\\text\{[一-鿿]|[가-힣。？！；]|[_^]\{?[一-鿿]"
    r"|[_^](?:\{[^{}]*\}|\w)_|\\frac\{[=+,.]\}|(?:cases\}|\\\\)\s*[.,;]\s*\\\\"
    r"|[A-Za-z}]\{\}[_^]|\\sqrt(?:[$})=]|\\mathrm)|/\s*[+=)]|\\(?:sum|prod|int)_\{(?P<below>[^{}]{1,9})\}\^\{(?P=below)\}"
)
"""Pieces that no whole formula has."""
_TAIL: Final = 4
"""Characters by which an option on several lines is longer than the others."""
_WITHIN: Final = re.compile(
    r"\A\s*(?:[–—]\s*[^\W\d]|[,，、;；:：.。)）]\s*\S|[^\n?？.。()（）\[\]'\"]{1,20}[?？]\s*\S)"
)
_ELSEWHERE: Final = re.compile(
    r"\W*(?:(?:the\s)?(?:correct\s)?(?:answers?|options?|choices?|ones?)\s(?:is|are)\s)?"
    r"(?:marked|circled|highlighted|underlined|ticked|boxed|see|refer)\b[^\n]{0,60}",
    re.IGNORECASE,
)
"""A key that is a mark in the question, or stands elsewhere."""
_PARTS: Final = re.compile(
    r"(?m)^[ \t]*[(（]?(?:[a-h]|[ivx]{1,4})[)）.][ \t]*[(（\[]\d{1,2} (?:pts?|points?|marks?)[)）\]].*"
)
"""A part with its points, as a question has it."""
_GAPPED: Final = re.compile(r"(?m)^(?=.*[，。；、])(?:(?! {3}).)*?[一-鿿가-힣）)] {3,}(?=[一-鿿가-힣])(?:(?! {3}).)*$")
_SHORT: Final = frozenset({*CHOICE_TYPES, "fill_in_blank", "true_false"})
"""Types that have a short answer."""
_CAPTIONS: Final = both_scripts(r"(?:[(（]\s*(?:第?\s*\d{1,3}\s*题?\s*图?|备?用?图\s*\d*)\s*[)）]\s*)+")


def doubts_of(segment: Segment, draft: Draft, shared: bool) -> Iterator[Doubt]:
    """The doubts of a question; `shared`: others have its passage too."""
    yield from _of_bounds(segment, draft, shared)
    yield from _of_what_it_speaks(draft)
    yield from _of_lists(segment, draft)
    yield from _of_formulas(draft)
    yield from _of_layout(segment, draft)
    yield from _of_key(draft)


def whole_text(draft: Draft) -> str:
    """A question with its options."""
    return "\n".join((draft.question, *(option.text for option in draft.options)))


def goes_on(text: str) -> bool:
    """Checks for a text whose last sentence demands nothing."""
    sentences = [sentence for sentence in re.split(r"(?<=[。？！?!])|(?<=[.;；])\s|\n", text) if sentence.strip()]
    return not sentences or not asks(sentences[-1])


def _of_bounds(segment: Segment, draft: Draft, shared: bool) -> Iterator[Doubt]:
    """Something asks, in words, and nothing is another's."""
    if segment.guess:
        yield _doubt(segment.guess)
    doubted = any(doubt.kind == "type" for doubt in draft.doubts)
    if draft.question_type in _FREE and not (doubted or asks(draft.question) or demanding([draft.section])):
        yield _doubt("nothing in it asks for anything: it may be part of another, or no question")
    lines = (item.block.text if item.block.kind == "table" else item.text for item in segment.items)
    own = "\n".join(lines)[segment.end :].replace(PICTURE, "").strip()
    worded = _MATH.fullmatch(own.rstrip(".,;")) or _WORD.search(re.sub(r"\\[a-z]+", "", own)) or segment.inline
    empty = not (draft.question.strip() or segment.section.own or segment.inline)
    if empty or not (draft.options or worded or (draft.figures and not own)):
        yield _doubt("it has no words: its text may be elsewhere, or of a picture", confidence=0.1)
    texts = [item.text for item in segment.passage] if shared and not segment.section.title else []
    if (
        texts
        and sum(len(INSTRUCTS.findall(text)) for text in texts) >= 2 * len(texts)
        and not any(map(passage_range, texts))
    ):
        yield _doubt(f"the text above several questions speaks of the exam: {one_line(texts[0], 40)!r}")


def _of_what_it_speaks(draft: Draft) -> Iterator[Doubt]:
    """Everything that a question speaks of is there."""
    text = draft.question
    if _FIGURES.search(text) and not (draft.figures or "|---" in text):
        yield _doubt("the text speaks of a figure or table, and none was found", "figure")
    if _UNDERLINES.search(text) and not _LINED.search(text):
        yield _doubt("it asks for what is underlined, and no underline was read")
    blanks = _BLANKS.search(text)
    blank = draft.question_type == "fill_in_blank"
    if (blanks or blank) and not ((draft.figures and not blank) or _ROOM.search(text)):
        yield _doubt("it has no blank to fill in: one may be lost, or filled")
    elif blanks and any(blanks.groups()) and count_blanks(text) == 1:
        yield _doubt("it speaks of several blanks, and one was read")
    if CHOOSES.search(text) and not draft.options and draft.question_type not in CHOICE_TYPES:
        yield _doubt("it asks to choose, and no options were found", "options")


def _of_lists(segment: Segment, draft: Draft) -> Iterator[Doubt]:
    """Labels go up, and options are one list."""
    own = "" if segment.inline else _CODE.sub("", draft.markdown if segment.passage else draft.question)
    within = (label for option in draft.options for label in stray_labels(option.text, whole=False))
    strays = (label for label in (*stray_labels(own), *within) if not _has_earlier(label, draft.markdown))
    if stray := next(strays, ""):
        yield _doubt(f"label {stray} has none before it: the list that it is of was not read whole", "options")
    if are_several(draft.markdown):
        yield _doubt("it has several lists of options: it may be several questions", "number", 0.1)
    *others, last = [option.text.replace(IMAGE_MARK, "").strip() for option in draft.options] or [""]
    longest = max(map(len, others), default=0)
    if others and "\n" in last and not any("\n" in text for text in others) and len(last) > longest + _TAIL:
        yield _doubt(f"option {draft.options[-1].label} goes on below the others", "options")
    if len(marks(draft.question)) > 1 and not (draft.part_points or is_shared(draft.question)):
        yield _doubt("several points stand in its text, and it has no parts")


def _has_earlier(label: str, text: str) -> bool:
    """Checks for the label before another, with its bracket, within a line: "Find: (1) …"."""
    name = re.sub(r"\W", "", label) or label
    earlier = label.replace(name, str(int(name) - 1) if name.isdecimal() else chr(ord(name[-1]) - 1))
    return label[-1] in ")）" and bool(re.search(rf"(?<![A-Za-z\d+−-]){re.escape(earlier)}", text))  # not in f(x+2)


def _of_formulas(draft: Draft) -> Iterator[Doubt]:
    """Brackets and formulas are closed."""
    text = whole_text(draft)
    fields = [draft.question, *(option.text for option in draft.options)]
    halves = [half_bracket(_MATH.sub("", field)) or half_bracket(_CODE.sub("", field), "()[]") for field in fields]
    halves += ["$" for field in fields if field.count("$") % 2 and "\\" in _CODE.sub("", field)]
    halves += ["```" for field in fields if field.count("```") % 2]
    if half := next(filter(None, halves), ""):
        yield _doubt(f"a bracket or listing of it is not whole: {one_line(half, 40)!r}", confidence=0.2)
    own = "".join(_MATH.findall(text))
    if _is_woven(text) or own.count("\\{") != own.count("\\}"):
        yield _doubt("a formula of it is not whole: compare it with the page", confidence=0.2)


def _is_woven(text: str) -> bool:
    formulas = "".join(_MATH.findall(text))
    braces = formulas.replace("\\{", "").replace("\\}", "")
    return bool(_WOVEN.search(_TEXT.sub("", formulas))) or braces.count("{") != braces.count("}")


def _of_layout(segment: Segment, draft: Draft) -> Iterator[Doubt]:
    """Lines are in the order of the text layer, without gaps."""
    lines = [item for item in segment.items if not (is_label(item.text) or begins_option(item.text))]
    lines = [item for item in lines if not _CAPTIONS.fullmatch(item.text)]  # it stands where its figure does
    placed = [(item.box.page, item.line.place, item.text) for item in lines if item.line and item.line.place >= 0]
    if turned := next((b[2] for a, b in pairwise(placed) if a[0] == b[0] and b[1] < a[1]), ""):
        yield _doubt(f"the text layer has {one_line(turned, 40)!r} before the line above it")
    if gap := _GAPPED.search(_MATH.sub("$", whole_text(draft))):
        yield _doubt(f"a sentence of it has a gap: {one_line(gap[0].strip(), 40)}")
    tables = [item.block for item in (*segment.passage, *segment.items) if item.block.kind == "table"]
    empty = [[[not cell.strip() for cell in line.text.split("\t")] for line in table.lines] for table in tables]
    if any(re.search(r"\S {4,}\S", line.text) for table in tables for line in table.lines):
        yield _doubt("a cell of its table has a wide gap: it may be two", confidence=0.4)
    elif any(3 * sum(map(sum, rows)) > sum(map(len, rows)) and sum(rows[0]) >= min(2, len(rows)) for rows in empty):
        yield _doubt("many cells of its table are empty: compare it with the page", confidence=0.4)


def _of_key(draft: Draft) -> Iterator[Doubt]:
    """The key is whole, and of the question's type."""
    key = "".join((*draft.answer, draft.solution or ""))
    if UNREAD in key:
        yield _doubt("letters of its key were not read: compare it with the page", "answer", 0.1)
    if _ELSEWHERE.fullmatch(key):
        yield _doubt(f"its key stands elsewhere: {one_line(key, 40)!r}", "answer", 0.2)
    if match := _WITHIN.match(key):
        where = one_line(match[0].strip(), 40)
        yield _doubt(f"its key begins with {where}: what stands before may be its own", "answer", 0.2)
    numbers = re.findall(r"\n[ \t]*(\d{1,3})[ \t]*((?:\(\w{1,4}\)[ \t]*){0,3})(?=\n|\Z)", draft.solution or "")
    following = int(draft.number) + 1 if draft.number.isdecimal() else 0
    alone = {int(number) for number, _ in numbers} == {following}  # no column of marks
    if alone or any(parts and int(number) == following for number, parts in numbers):
        yield _doubt("the number of the next question stands in its key", "answer", 0.2)
    if draft.answer_from in ("", "the paper") and any(map(asks, _PARTS.findall(draft.solution or ""))):
        yield _doubt("parts of the question stand in its key", "answer", 0.2)
    if draft.solution and not (draft.answer or draft.scheme) and draft.question_type in _SHORT:
        yield _doubt("it has a solution, and no answer was found in it", "answer")
    if _is_woven("\n".join((*draft.answer, draft.solution or ""))) or is_torn(draft.solution or ""):
        yield _doubt("a formula of its key is not whole: compare it with the page", "answer", 0.2)


def _doubt(text: str, kind: DoubtKind = "text", confidence: float = 0.3) -> Doubt:
    return Doubt(kind=kind, text=text, confidence=confidence)
