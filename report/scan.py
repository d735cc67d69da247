"""Graded paper on its scan: ticks, crosses, points and the sum drawn on the pages, answers beside them.

`sheets` gives the pages of questions with `Question.boxes` in order. Marks are those of the verdicts. Pages are bounded
in number; the rest is stated.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from livek12.core.groups import grouped
from livek12.core.records import PageBox, Question
from livek12.core.schemes import is_by_scheme
from livek12.core.scoring import Row
from livek12.report.marks import STATE_WORDS, Kind, ShownMark, mark_of, points, span
from livek12.report.markup import Highlight, excerpt, render_answer
from livek12.report.paper import Pages, PaperEntry, anchor_of, highlights
from livek12.report.pictures import PAGE_WIDTH, Encoded, encode

MOST_PAGES = 60
LONGEST_ANSWER = 140
LONGEST_QUOTE = 40
SHORT_ANSWER = 6
LINE = 14
"""Characters of a line of a note, an East Asian one counting double."""
MOST_LINES = 25.0
"""Lines of notes beside a square page; beyond them, notes are no longer level with questions."""
SIGN = 0.052
"""Width of a sign, as a share of the page's width."""
INK = 0.021
"""Height of the points beside it."""
EDGE = 0.985
"""Right limit of drawing, as a share of the width."""


@dataclass(frozen=True)
class Pen:
    """A mark on a page, in pixels: the sign's corner and size, and the points below; "" has no sign."""

    kind: Kind | Literal[""]
    text: str
    anchor: str
    x: float
    y: float
    size: float
    ink: float


@dataclass(frozen=True)
class GradedSheet:
    """One page with marks and notes; `sum` and `subtotal` are like "12–15 / 20", `remark` a sentence, `begins` a paper.

    `rows` are heights: of the page down to the first note, and from note to note; none where the notes need more room.
    """

    tasks: list[str]
    paper: str
    begins: bool
    number: int
    picture: Encoded
    pens: list[Pen]
    notes: list[dict[str, Any]]
    rows: list[float]
    sum: str
    remark: str
    subtotal: str


def _placed(entries: Iterable[PaperEntry]) -> list[PaperEntry]:
    return [entry for entry in entries if entry.question.boxes and entry.question.paper_id]


def page_keys(questions: Iterable[Question]) -> set[tuple[str, int]]:
    """Pages with boxes of questions."""
    return {(q.paper_id, box.page) for q in questions if q.paper_id for box in q.boxes}


def row_rules(sheets: Sequence[GradedSheet]) -> str:
    """Styles that keep notes level with their questions: a rule for each sheet."""
    rules = []
    for place, sheet in enumerate(sheets):
        if sheet.rows:
            first, *others = (f"{1000 * row:.1f}fr" for row in sheet.rows)
            tracks = " ".join([f"minmax(0,{first})", *(f"minmax(min-content,{row})" for row in others)])
            rules.append(f".notes-{place}{{grid-template-rows:{tracks}}}")
    rules += [f".row-{n}{{grid-row:{n + 2}}}" for n in range(max((len(sheet.rows) for sheet in sheets), default=0))]
    return "".join(rules)


def sheets(entries: Sequence[PaperEntry], pages: Pages) -> tuple[list[GradedSheet], int]:
    """Pages with their marks, and the number of omitted pages."""
    graded: list[GradedSheet] = []
    left_out = 0
    for paper, of_paper in _papers(_placed(entries)):
        numbers = sorted({box.page for entry in of_paper for box in entry.question.boxes})
        there = [number for number in numbers if (image := pages.get((paper, number))) and image.bytes]
        for number in there:
            if len(graded) >= MOST_PAGES:
                left_out += 1
                continue
            if (sheet := _sheet(paper, number, of_paper, pages, begins=number == there[0])) is not None:
                graded.append(sheet)
    return graded, left_out


def _papers(entries: Iterable[PaperEntry]) -> list[tuple[str, list[PaperEntry]]]:
    """Entries of each paper; tasks that share it form one graded paper."""
    by_task = grouped(((entry.question.paper_id or "", entry.task), entry) for entry in entries)
    papers: list[tuple[str, list[PaperEntry]]] = []
    for (paper, _), of_task in by_task.items():
        ids = {entry.question.id for entry in of_task}
        for name, others in papers:
            if name == paper and ids.isdisjoint(entry.question.id for entry in others):
                others.extend(of_task)
                break
        else:
            papers.append((paper, list(of_task)))
    return papers


def sum_of(entries: Iterable[PaperEntry]) -> str:
    """Earned points of the entries over their worth, trials averaged."""
    low = high = of = 0.0
    for entry in entries:
        marks = [mark_of(row) for row in entry.rows]
        low += sum(mark.low for mark in marks) / len(marks)
        high += sum(mark.high for mark in marks) / len(marks)
        of += sum(mark.of for mark in marks) / len(marks)
    return f"{points(low) if points(low) == points(high) else span(low, high, 2)} / {points(of)}"


def _asked(entries: Iterable[PaperEntry]) -> str:
    """Points of a paper that were asked; "" for all."""
    rows = [entry.rows[0] for entry in entries]
    of = sum(mark_of(row).of for row in rows)
    unread = sum(mark_of(row).of for row in rows if row.state == "unsupported")
    return f"{points(of - unread)} of its {points(of)} points were asked" if unread else ""


def _sheet(paper: str, number: int, entries: Sequence[PaperEntry], pages: Pages, begins: bool) -> GradedSheet | None:
    picture = encode(pages[paper, number].bytes or b"", PAGE_WIDTH)
    if isinstance(picture, str):
        return None
    # A question's mark is at its end.
    here = [(entry, entry.question.boxes[-1]) for entry in entries if entry.question.boxes[-1].page == number]
    here.sort(key=lambda item: (round(item[1].left, 1), item[1].top))
    others = [box for entry in entries for box in entry.question.boxes if box.page == number]
    pens = [_pen(entry, box, others, picture) for entry, box in here]
    notes = [_note(entry, pen) for (entry, _), pen in zip(here, pens, strict=True)]
    rows = _level(notes, [box.top for _, box in here], picture.height / picture.width)
    return GradedSheet(
        tasks=list(dict.fromkeys(entry.task for entry in entries)),
        paper=paper,
        begins=begins,
        number=number,
        picture=picture,
        pens=pens,
        notes=notes,
        rows=rows,
        sum=sum_of(entries) if begins else "",
        remark=_asked(entries) if begins else "",
        subtotal=sum_of(entry for entry, _ in here) if here else "",
    )


def _level(notes: Sequence[dict[str, Any]], tops: Sequence[float], shape: float) -> list[float]:
    """Sets each note's `row`, level with its question; returns the rows.

    `tops` are the questions' tops as shares of the page's height, `shape` its height over its width.
    """
    if sum(note["lines"] for note in notes) > MOST_LINES * shape:
        return []
    # The left column comes first, though the right one may begin a little higher.
    order = sorted(range(len(notes)), key=lambda n: round(tops[n] * 25))
    for row, n in enumerate(order):
        notes[n]["row"] = row
    edges = [0.0, *(tops[n] for n in order), 1.0]
    return [max(0.0, end - start) for start, end in pairwise(edges)]


def _pen(entry: PaperEntry, box: PageBox, others: Sequence[PageBox], picture: Encoded) -> Pen:
    kind, text = _mark(entry.rows)
    wide, high = picture.width, picture.height
    size, ink = SIGN * wide, INK * wide
    needed = max(SIGN, 0.58 * INK * len(text)) + 0.01
    beside = box.right + needed <= EDGE and not any(_reaches(other, box, needed) for other in others)
    left = box.right + 0.01 if beside else box.right - needed
    # Sign and points lie within the question's height, if possible.
    top = max(box.top * high, min((box.top + box.bottom) / 2 * high - (size + ink) / 2, box.bottom * high - size - ink))
    return Pen(kind, text, anchor_of(entry.task, entry.question.id), left * wide, top, size, ink)


def _reaches(other: PageBox, box: PageBox, needed: float) -> bool:
    """Another question is right of this one, at the place of its mark."""
    beside = other.left < box.right + needed and other.right > box.right + 0.005
    return beside and other.top < box.bottom and box.top < other.bottom


def _mark(rows: Sequence[Row]) -> tuple[Kind | Literal[""], str]:
    if rows[0].state == "unsupported":
        return "", STATE_WORDS["unsupported"]
    marks = [mark_of(row) for row in rows]
    if len(marks) == 1:
        return marks[0].kind, marks[0].text.replace(" ", "")
    kinds = {mark.kind for mark in marks}
    return (marks[0].kind if len(kinds) == 1 else "part"), _mean(marks)


def _mean(marks: Sequence[ShownMark]) -> str:
    low, high, of = (sum(getattr(mark, end) for mark in marks) / len(marks) for end in ("low", "high", "of"))
    return f"{points(low) if points(low) == points(high) else span(low, high, 2)}/{points(of)}"


def _note(entry: PaperEntry, pen: Pen) -> dict[str, Any]:
    answers, key = [_said(row) for row in entry.rows[:4]], "; ".join(_key(entry.question))
    more = max(0, len(entry.rows) - 4)
    lines = sum(_lines(answer["length"], whole=bool(answer["criteria"])) for answer in answers) + (more > 0)
    lines += _lines(len(key)) if pen.kind != "full" and key else 0
    return {
        "lines": lines + (0.5 if _is_short(answers) else 1.5),
        "short": _is_short(answers),
        "number": entry.question.number or "",
        "anchor": pen.anchor,
        "kind": pen.kind,
        "text": pen.text,
        "answers": answers,
        "more": more,
        "key": [render_answer(excerpt(gold, LONGEST_ANSWER)) for gold in _key(entry.question)],
        "language": entry.question.language,
    }


def _key(question: Question) -> list[str]:
    return question.answer or [variable.value for variable in question.variables]


def _said(row: Row) -> dict[str, Any]:
    parts = row.verdict.parts if row.verdict else []
    if is_by_scheme(row.question, parts):
        return _by_criteria(row)
    excerpts = [excerpt(part.answer, LONGEST_ANSWER) for part in parts if part.answer]
    answers = [render_answer(text) for text in excerpts]
    length = len("; ".join(excerpts))
    return {"said": answers, "criteria": [], "length": length, "state": row.state, "word": mark_of(row).word}


def _by_criteria(row: Row) -> dict[str, Any]:
    signed = [Highlight(excerpt(quote, LONGEST_QUOTE), kind, name) for quote, kind, name in highlights(row)]
    length = sum(len(name) + 1 + len(quote) for quote, _, name in signed)
    return {
        "criteria": [(name, kind, render_answer(quote) if quote else "") for quote, kind, name in signed],
        **{"said": [], "length": length, "state": row.state, "word": mark_of(row).word},
    }


def _is_short(answers: Sequence[dict[str, Any]]) -> bool:
    """The answers of a note fit its first line."""
    return len(answers) == 1 and 0 < answers[0]["length"] <= SHORT_ANSWER


def _lines(characters: int, whole: bool = False) -> int:
    """Lines of a note's text: at most three, where the page cuts it."""
    return 1 + characters // LINE if whole else min(3, 1 + characters // LINE)
