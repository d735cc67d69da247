"""Signs of errors in one question: in its text, options, formulas, tables, lines and key.

Contract: `signs_of` gives a doubt for each thing that no whole question has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from livek12.core.question_types import CHOICE_TYPES
from livek12.core.records import IMAGE_MARK
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.ingest.drafts import Doubt, DoubtKind, Draft
from livek12.dataset_builders.ingest.keys.matching import is_torn
from livek12.dataset_builders.ingest.pages.blocks import UNREAD, is_label
from livek12.dataset_builders.ingest.questions.labels import stray_labels
from livek12.dataset_builders.ingest.questions.options import begins_option
from livek12.dataset_builders.ingest.questions.points import is_shared, marks
from livek12.dataset_builders.ingest.questions.segment import Segment
from livek12.dataset_builders.ingest.questions.texts import half_bracket

_CODE: Final = re.compile(r"```.*?```", re.DOTALL)
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
_WITHIN: Final = re.compile(r"\A\s*(?:[–—]\s*[^\W\d]|[,，、;；:：.。)）]\s*\S)")
_GAPPED: Final = re.compile(r"(?m)^(?=.*[，。；、])(?:(?! {3}).)*?[一-鿿가-힣）)] {3,}(?=[一-鿿가-힣])(?:(?! {3}).)*$")
_SHORT: Final = frozenset({*CHOICE_TYPES, "fill_in_blank", "true_false"})
"""Types that have a short answer."""
_CAPTIONS: Final = re.compile(r"(?:[(（]\s*(?:第?\s*\d{1,3}\s*题?\s*图?|备?用?图\s*\d*)\s*[)）]\s*)+")


def signs_of(segment: Segment, draft: Draft) -> Iterator[Doubt]:
    """The doubts of a question by itself."""
    for signs in (
        _of_text,
        _of_labels,
        _of_brackets,
        _of_formulas,
        _of_tables,
        _of_order,
        _of_options,
        _of_points,
        _of_key,
    ):
        yield from signs(segment, draft)


def whole_text(draft: Draft) -> str:
    """A question with its options."""
    return "\n".join((draft.question, *(option.text for option in draft.options)))


def _of_text(segment: Segment, draft: Draft) -> Iterator[Doubt]:
    """Words without a counterpart on the page, and text that may be of a neighbour."""
    if segment.guess:
        yield _doubt(segment.guess)
    if gap := _GAPPED.search(_MATH.sub("$", whole_text(draft))):
        yield _doubt(f"a sentence of it has a gap: {one_line(gap[0].strip(), 40)}")
    if not (draft.options or draft.figures or re.search(r"[A-Za-z]{2}|[一-鿿가-힣$]", draft.question)):
        yield _doubt("it has no words: its text may be elsewhere", confidence=0.1)


def _of_labels(segment: Segment, draft: Draft) -> Iterator[Doubt]:
    """Labels without the one before them."""
    own = "" if segment.inline else _CODE.sub("", draft.markdown if segment.passage else draft.question)
    within = (label for option in draft.options for label in stray_labels(option.text, whole=False))
    for label in (*stray_labels(own), *within):
        if not _has_earlier(label, draft.markdown):
            yield _doubt(f"label {label} has none before it: the list that it is of was not read whole", "options")
            return


def _has_earlier(label: str, text: str) -> bool:
    """Checks for the label before another, with its bracket, within a line: "Find: (1) …"."""
    name = re.sub(r"\W", "", label) or label
    earlier = label.replace(name, str(int(name) - 1) if name.isdecimal() else chr(ord(name[-1]) - 1))
    return label[-1] in ")）" and bool(re.search(rf"(?<![A-Za-z\d+−-]){re.escape(earlier)}", text))  # not in f(x+2)


def _of_brackets(segment: Segment, draft: Draft) -> Iterator[Doubt]:
    """Brackets, listings and formulas without their other half."""
    fields = [draft.question, *(option.text for option in draft.options)]
    halves = [half_bracket(_MATH.sub("", field)) or half_bracket(_CODE.sub("", field), "()[]") for field in fields]
    halves += ["$" for field in fields if field.count("$") % 2 and "\\" in _CODE.sub("", field)]
    halves += ["```" for field in fields if field.count("```") % 2]
    if half := next(filter(None, halves), ""):
        yield _doubt(f"a bracket or listing of it is not whole: {one_line(half, 40)!r}", confidence=0.2)


def _of_formulas(segment: Segment, draft: Draft) -> Iterator[Doubt]:
    """Formulas that do not close what they open, or have pieces that none has."""
    text = whole_text(draft)
    own = "".join(_MATH.findall(text))
    if _is_woven(text) or own.count("\\{") != own.count("\\}"):
        yield _doubt("a formula of it is not whole: compare it with the page", confidence=0.2)
    if _is_woven("\n".join((*draft.answer, draft.solution or ""))) or is_torn(draft.solution or ""):
        yield _doubt("a formula of its key is not whole: compare it with the page", "answer", 0.2)


def _is_woven(text: str) -> bool:
    formulas = "".join(_MATH.findall(text))
    braces = formulas.replace("\\{", "").replace("\\}", "")
    return bool(_WOVEN.search(_TEXT.sub("", formulas))) or braces.count("{") != braces.count("}")


def _of_tables(segment: Segment, draft: Draft) -> Iterator[Doubt]:
    """A wide gap within a cell parts two; where a third of all cells is empty, in the head too, rules were missed."""
    tables = [item.block for item in (*segment.passage, *segment.items) if item.block.kind == "table"]
    empty = [[[not cell.strip() for cell in line.text.split("\t")] for line in table.lines] for table in tables]
    if any(re.search(r"\S {4,}\S", line.text) for table in tables for line in table.lines):
        yield _doubt("a cell of its table has a wide gap: it may be two", confidence=0.4)
    elif any(3 * sum(map(sum, rows)) > sum(map(len, rows)) and sum(rows[0]) >= min(2, len(rows)) for rows in empty):
        yield _doubt("many cells of its table are empty: compare it with the page", confidence=0.4)


def _of_order(segment: Segment, draft: Draft) -> Iterator[Doubt]:
    """The text layer has lines in an order of its own: where a question's differs from it, one of them is wrong."""
    lines = [item for item in segment.items if not (is_label(item.text) or begins_option(item.text))]
    lines = [item for item in lines if not _CAPTIONS.fullmatch(item.text)]  # it stands where its figure does
    placed = [(item.box.page, item.line.place, item.text) for item in lines if item.line and item.line.place >= 0]
    if turned := next((b[2] for a, b in pairwise(placed) if a[0] == b[0] and b[1] < a[1]), ""):
        yield _doubt(f"the text layer has {one_line(turned, 40)!r} before the line above it")


def _of_options(segment: Segment, draft: Draft) -> Iterator[Doubt]:
    """The last option is no longer than its question."""
    *others, last = [option.text.replace(IMAGE_MARK, "").strip() for option in draft.options] or [""]
    longest = max(map(len, others), default=0)
    if others and "\n" in last and not any("\n" in text for text in others) and len(last) > longest + _TAIL:
        yield _doubt(f"option {draft.options[-1].label} goes on below the others", "options")


def _of_points(segment: Segment, draft: Draft) -> Iterator[Doubt]:
    if len(marks(draft.question)) > 1 and not (draft.part_points or is_shared(draft.question)):
        yield _doubt("several points stand in its text, and it has no parts")


def _of_key(segment: Segment, draft: Draft) -> Iterator[Doubt]:
    """A key has letters that were read, begins with its own, and a short answer where its type has one."""
    key = "".join((*draft.answer, draft.solution or ""))
    if UNREAD in key:
        yield _doubt("letters of its key were not read: compare it with the page", "answer", 0.1)
    if match := _WITHIN.match(key):
        where = one_line(match[0].strip(), 40)
        yield _doubt(f"its key begins with {where}: what stands before may be its own", "answer", 0.2)
    if draft.solution and not draft.answer and draft.question_type in _SHORT:
        yield _doubt("it has a solution, and no answer was found in it", "answer")


def _doubt(text: str, kind: DoubtKind = "text", confidence: float = 0.3) -> Doubt:
    return Doubt(kind=kind, text=text, confidence=confidence)


_SIGNS_OF: Final = (
    *(_of_text, _of_labels, _of_brackets, _of_formulas, _of_tables),
    *(_of_order, _of_options, _of_points, _of_key),
)
