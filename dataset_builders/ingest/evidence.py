"""Evidence: what on the page says that a draft is one question, with what it speaks of, and its passage is its own.

Contract: `unsaid` gives a doubt for each of these that nothing printed says; a default of the rules is no evidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from livek12.core.question_types import CHOICE_TYPES
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.ingest.drafts import Doubt, DoubtKind, Draft
from livek12.dataset_builders.ingest.questions.headings import INSTRUCTS, passage_range
from livek12.dataset_builders.ingest.questions.kinds import demanding, demands
from livek12.dataset_builders.ingest.questions.labels import are_several
from livek12.dataset_builders.ingest.questions.options import CHOOSES
from livek12.dataset_builders.ingest.questions.segment import Segment
from livek12.dataset_builders.reading.text import count_blanks

_FREE: Final = ("open_ended", "short_answer", "proof")
FIGURES: Final = re.compile(
    r"如图|图中|下图(?!案)|所示的?[^，。]{0,8}[树图]|그림|(?<![a-z])fig(?:ure)?\.?\s?\d|in the figure|the figure shows"
    r"|shown below|\bthe (?:diagram|drawing|circuit)\b"
    r"|\b(?:following|given|below)(?: [\w-]+){0,3} (?:graph|tree|diagram|figure|circuit|map)\b"
    r"|\b(?:graph|tree|diagram|figure|circuit|map)s? (?:below|above|shown|on the right|to the right)\b",
    re.IGNORECASE,
)
"""Speaks of a figure that is printed with the question."""
_TABLES: Final = re.compile(
    r"\b(?:following|given) table\b|\btable (?:below|above)\b|[下上]表[为中是所，,：:]|如[下右]?表|(?:다음|위)\s*표",
    re.IGNORECASE,
)
_UNDERLINES: Final = re.compile(
    r"밑줄\s*친\s*(?:부분|단어|말|표현|문장|곳)|\bunderlined\b(?!\s+\w+\s*[“\"‘'])|[画划]\s*线(?:的?\s*(?:部分|句|词|处))",
    re.IGNORECASE,
)
_LINED: Final = re.compile(r"<u>|[ⓐ-ⓩ㉠-㉭]|[(（][a-e][)）]|_{2}")
_BLANKS: Final = re.compile(r"\b(?:in|fill) (?:in )?(?:each|the|every) blanks?\b|空格[处中里]|빈\s*칸에", re.IGNORECASE)
_EACH_BLANK: Final = re.compile(r"\b(?:each|every) blank\b|\bblanks\b|각\s*빈|各空", re.IGNORECASE)
_ROOM: Final = re.compile(r"_{2}|[(（]\s*[)）]|\|\s*\||□|▲|…{2}|\.{6}")


def unsaid(segment: Segment, draft: Draft, shared: bool) -> Iterator[Doubt]:
    """The doubts of a question that nothing printed dispels; `shared`: others have its passage too."""
    doubted = any(doubt.kind == "type" for doubt in draft.doubts)
    if draft.question_type in _FREE and not (doubted or demands(draft.question) or demanding([draft.section])):
        yield _doubt("nothing in it asks for anything: it may be part of another, or no question")
    yield from _of_what_it_speaks(draft)
    rules = sum(len(INSTRUCTS.findall(item.text)) for item in segment.passage) >= 2 * len(segment.passage)
    if shared and rules and not (segment.section.title or any(passage_range(item.text) for item in segment.passage)):
        where = one_line(segment.passage[0].text, 40)
        yield _doubt(f"the text above several questions speaks of the exam: {where!r}")
    if are_several(draft.markdown):
        yield _doubt("it has several lists of options: it may be several questions", "number", 0.1)


def goes_on(text: str) -> bool:
    """Checks for a text that ends in something else than a demand: an answer may stand there."""
    sentences = [sentence for sentence in re.split(r"(?<=[。？！?!])|(?<=[.;；])\s|\n", text) if sentence.strip()]
    return not sentences or not demands(sentences[-1])


def _of_what_it_speaks(draft: Draft) -> Iterator[Doubt]:
    """Figures, tables, underlines, blanks and options of which a question speaks are there."""
    text = draft.question
    seen = bool(draft.figures) or "|---" in text
    if not seen and (match := FIGURES.search(text) or _TABLES.search(text)):
        what = "table" if _TABLES.fullmatch(match[0]) else "figure"
        yield _doubt(f"the text speaks of a {what}, and none was found", "figure")
    if _UNDERLINES.search(text) and not _LINED.search(text):
        yield _doubt("it asks for what is underlined, and no underline was read")
    filled = bool(_BLANKS.search(text))
    if (filled or draft.question_type == "fill_in_blank") and not (draft.figures or _ROOM.search(text)):
        yield _doubt("it has no blank to fill in: one may be lost, or filled")
    elif filled and _EACH_BLANK.search(text) and count_blanks(text) == 1:
        yield _doubt("it speaks of several blanks, and one was read")
    if CHOOSES.search(text) and not draft.options and draft.question_type not in CHOICE_TYPES:
        yield _doubt("it asks to choose, and no options were found", "options")


def _doubt(text: str, kind: DoubtKind = "text", confidence: float = 0.3) -> Doubt:
    return Doubt(kind=kind, text=text, confidence=confidence)
