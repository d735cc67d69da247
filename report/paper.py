"""Graded paper: questions and answers as safe HTML, by paper and number; a cut is stated in its place."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from markupsafe import Markup

from livek12.core.error_types import PROCESS_ERRORS
from livek12.core.question_types import CHOICE_TYPES
from livek12.core.questions import paper_order
from livek12.core.records import IMAGE_MARK, Image, PartVerdict, Process, Question, Response, Verdict, canonical_json
from livek12.core.run.spec import RESULTS
from livek12.core.schemes import is_by_scheme, printed_points
from livek12.core.scoring import Row
from livek12.report.marks import (
    UNDECIDED,
    ShownMark,
    decision_sentence,
    kind_of,
    mark_of,
    points,
    regraded_sentence,
    sentence,
)
from livek12.report.markup import Highlight, clean, excerpt, render, render_answer, render_blocks
from livek12.report.pictures import PAGE_WIDTH, PictureFiles

Pages = Mapping[tuple[str, int], Image]
FOLDED_FROM = 1500
"""Characters from which an answer is folded, except for its end."""
LONG = 90
"""Characters from which a compared answer is folded."""
MAX_THINKING = 12_000
MAX_RAW = 4000
MAX_REASON = 600
ERRORS = {kind.name: kind.title for kind in PROCESS_ERRORS}

EMPTY: dict[str, Any] = {"folded": [], "blocks": [], "thinking": ""}


@dataclass(frozen=True)
class PaperEntry:
    """One question of one task, with all its rows."""

    task: str
    question: Question
    rows: list[Row]
    image_only: bool

    @property
    def images(self) -> list[Image]:
        """Pictures of the entry, without its paper's pages."""
        figures = [] if self.image_only else self.question.images
        return [*figures, *self.question.answer_images, *self.question.solution_images]


def entries(rows: Iterable[Row], modalities: Mapping[str, str]) -> list[PaperEntry]:
    """Questions of a run by task, in row order, then by paper and number."""
    by_task: dict[str, dict[str, PaperEntry]] = {}
    for row in rows:
        image_only = modalities.get(row.task) == "image_only"
        task = by_task.setdefault(row.task, {})
        task.setdefault(row.question.id, PaperEntry(row.task, row.question, [], image_only)).rows.append(row)
    for task in by_task.values():
        for entry in task.values():
            entry.rows.sort(key=lambda row: row.trial)
    return [
        entry
        for task in by_task.values()
        for entry in sorted(task.values(), key=lambda entry: paper_order(entry.question))
    ]


@lru_cache(1 << 16)  # each run of a site has the same questions
def anchor_of(task: str, question_id: str) -> str:
    """Anchor of a question, the same on every page."""
    return "q" + hashlib.sha256(canonical_json([task, question_id]).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def cell_view(entry: PaperEntry, anchor: str, place: int) -> dict[str, str]:
    """Overview cell of a task's `place`-th question."""
    marks = [mark_of(row) for row in entry.rows]
    return {
        "anchor": anchor,
        "number": entry.question.number or str(place),
        "kind": marks[0].kind if len({mark.kind for mark in marks}) == 1 else "part",
        "title": f"{entry.question.id}: {', '.join(mark.text for mark in marks)}",
    }


def question_view(entry: PaperEntry, cell: Mapping[str, str], pictures: PictureFiles) -> dict[str, Any]:
    """Template data of a question; `cell` is its overview cell."""
    question = entry.question
    marks = [mark_of(row) for row in entry.rows]
    figures = [] if entry.image_only else _figures(question, pictures)
    in_text = question.question.count(IMAGE_MARK)
    in_options = sum(option.text.count(IMAGE_MARK) for option in question.options)
    own, later = figures[:in_text], figures[in_text : in_text + in_options]
    return {
        "anchor": cell["anchor"],
        "number": cell["number"],
        "id": question.id,
        "task": entry.task,
        "language": question.language,
        "subject": question.subject,
        "type": question.question_type.replace("_", " "),
        "points": None if question.points is None else points(question.points),
        "states": sorted({_state(row, mark) for row, mark in zip(entry.rows, marks, strict=True)}),
        "text": render(_text_of(question, entry.image_only), [*own, *figures[in_text + in_options :]]),
        "image_only": entry.image_only,
        "options": _options(entry, later) if any(option.text for option in question.options) else [],
        "short_options": all(len(option.text) <= 24 for option in question.options),
        "answers": answer_views(entry.rows),
        "key": _key_view(question, pictures),
    }


def answer_views(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Answers to one question by trial, with marking."""
    return [_answer_view(row, mark_of(row)) for row in rows]


def new_pages(entry: PaperEntry, shown: Set[tuple[str, int]]) -> list[tuple[str, int]]:
    """Paper and number of an image-only question's unshown pages."""
    paper = entry.question.paper_id
    if not entry.image_only or paper is None:
        return []
    return [(paper, number) for number in entry.question.page_numbers if (paper, number) not in shown]


def page_views(sheets: Iterable[tuple[str, int]], pages: Pages, pictures: PictureFiles) -> Iterator[Markup]:
    """The pages as pictures."""
    for paper, number in sheets:
        yield pictures.show(pages.get((paper, number), Image()), f"{paper}, page {number}", PAGE_WIDTH)


def _state(row: Row, mark: ShownMark) -> str:
    if row.state in (*UNDECIDED, "no_answer"):
        return row.state
    return "ungraded" if mark.kind == "open" else mark.kind


def _figures(question: Question, pictures: PictureFiles) -> list[Markup]:
    return [pictures.show(image, f"figure {number}") for number, image in enumerate(question.images, 1)]


def _text_of(question: Question, image_only: bool) -> str:
    """The text; of an image-only question, whose figures are on the page, without image marks."""
    return question.question.replace(IMAGE_MARK, " ") if image_only else question.question


def _options(entry: PaperEntry, figures: Sequence[Markup]) -> list[dict[str, Any]]:
    views = []
    labels = {option.label for option in entry.question.options}
    key = _letters(" ".join(entry.question.answer), labels)
    chosen = _chosen(entry, labels)
    for option in entry.question.options:
        used = option.text.count(IMAGE_MARK)
        text = option.text.replace(IMAGE_MARK, " ") if entry.image_only else option.text
        views.append(
            {
                "label": option.label,
                "text": render(text, figures[:used]),
                "right": option.label in key,
                "chosen": option.label in chosen,
            }
        )
        figures = figures[used:]
    return views


def _chosen(entry: PaperEntry, labels: set[str]) -> set[str]:
    """Options of a single answer; several trials have no one choice."""
    verdict = entry.rows[0].verdict
    if len(entry.rows) != 1 or verdict is None or len(verdict.parts) != 1:
        return set()
    return _letters(verdict.parts[0].answer or "", labels)


def _letters(answer: str, labels: set[str]) -> set[str]:
    signs = set(re.sub(r"[\s,，、;]+", "", answer))
    return signs if signs <= labels else set()


def _answer_view(row: Row, mark: ShownMark) -> dict[str, Any]:
    verdict, response = row.verdict, row.response
    process = verdict.process if verdict else None
    return {
        "trial": row.trial + 1,
        "state": row.state,
        "recorded": response is None or response.engine != RESULTS,
        "mark": mark,
        **EMPTY,
        **(_response_view(response, highlights(row)) if response else {}),
        "facts": _facts(response),
        "parts": [_part_view(verdict, index, row.question) for index in range(len(verdict.parts))] if verdict else [],
        "several_parts": verdict is not None and len(verdict.parts) > 1,
        "by_scheme": verdict is not None and is_by_scheme(row.question, verdict.parts),
        "unreviewed": row.question.review.state == "unreviewed",
        "reason": render_answer(regraded_sentence(row) or sentence(_own_reason(verdict) if verdict else row.why)),
        "process": _process_view(process) if process else None,
        "process_ungraded": verdict.process_ungraded if verdict else None,
    }


def highlights(row: Row) -> list[Highlight]:
    """Quotations that decide the criteria of an answer."""
    parts = row.verdict.parts if row.verdict else []
    signs = {"full": "✓", "part": "½", "wrong": "✗", "open": "?"}
    marked = [(part, kind_of(part)) for part in parts if is_by_scheme(row.question, parts)]
    return [Highlight(part.answer or "", kind, f"{signs[kind]} {part.name}") for part, kind in marked]


def _response_view(response: Response, highlights: Sequence[Highlight]) -> dict[str, Any]:
    blocks = render_blocks(response.text, highlights=highlights)
    folded = blocks[: _ending(blocks)] if len(response.text) > FOLDED_FROM else []
    thinking = response.reasoning or ""
    return {
        "folded": folded,
        "blocks": blocks[len(folded) :],
        "quoted_in_fold": any('<mark class="quoted' in block for block in folded),
        "characters": len(response.text),
        "thinking": clean(thinking[:MAX_THINKING]),
        "thinking_characters": len(thinking),
        "thinking_cut": max(0, len(thinking) - MAX_THINKING),
    }


def _ending(blocks: Sequence[Markup]) -> int:
    """Start of the visible end of an answer: its last blocks, up to some size."""
    size, start = 0, len(blocks)
    while start > 0 and (size == 0 or size + len(blocks[start - 1].striptags()) < FOLDED_FROM // 4):
        start -= 1
        size += len(blocks[start].striptags())
    while start < len(blocks) - 1 and blocks[start].startswith("<hr"):
        start += 1
    return start


def _facts(response: Response | None) -> list[str]:
    if response is None:
        return []
    facts = ["the response itself is not recorded"] if response.engine == RESULTS else []
    if response.completion_tokens is not None:
        thinking = f", {response.reasoning_tokens:,} of them thinking" if response.reasoning_tokens else ""
        facts.append(f"{response.completion_tokens:,} tokens{thinking}")
    if response.seconds is not None:
        facts.append(f"{response.seconds:.1f} s")
    if response.finish_reason is None and response.engine != RESULTS:
        facts.append("truncated: unknown")
    elif response.finish_reason == "length":
        facts.append("cut off at the token budget")
    elif response.finish_reason not in (None, "stop"):
        facts.append(f"ended by {response.finish_reason}")
    return facts


def _own_reason(verdict: Verdict) -> str:
    doubts = "; ".join(dict.fromkeys(part.reason for part in verdict.parts if part.score is None))
    return verdict.reason.removeprefix(doubts).lstrip("; ")


def _part_view(verdict: Verdict, index: int, question: Question) -> dict[str, Any]:
    part, worths = verdict.parts[index], printed_points(question, verdict.parts)
    worth = worths[index] if index < len(worths) else None
    return {
        "name": part.name or f"({index + 1})",
        "found": None if part.answer is None else _compared(part.answer),
        "gold": _compared(part.gold),
        "kind": kind_of(part),
        "score": _part_score(part.score, worth),
        "decision": "" if verdict.state == "no_answer" else _decision(part, verdict.by_models),
        "votes": [
            {
                "judge": vote.judge,
                "decision": vote.decision,
                "score": "" if vote.score is None or vote.score in (0, 1) else points(vote.score),
                "reason": render_answer(excerpt(vote.reason, MAX_REASON)),
                "raw": (vote.raw or "")[:MAX_RAW],
                "cut": max(0, len(vote.raw or "") - MAX_RAW),
            }
            for vote in part.votes
        ],
    }


def _decision(part: PartVerdict, by_models: bool) -> Markup:
    short = part.model_copy(update={"reason": excerpt(part.reason, MAX_REASON)})
    return render_answer(decision_sentence(short, by_models))


def _process_view(process: Process) -> dict[str, Any]:
    presence = {"CIE": process.cie, "LAE": process.lae, "DRE": process.dre}
    return {
        "critics": len(process.critics),
        "presence": ", ".join(f"{ERRORS[kind]} ({kind}) {points(value)}" for kind, value in presence.items() if value),
        "errors": [
            {
                "type": error.type,
                "step": render_answer(excerpt(error.step, MAX_REASON)),
                "reason": render_answer(excerpt(error.reason, MAX_REASON)),
                "judge": error.judge,
            }
            for error in process.errors
        ],
    }


def _compared(text: str) -> dict[str, Any]:
    """An answer or key for comparison: on the line, or folded if long."""
    long = len(text) > LONG or "\n\n" in text.strip()
    return {"long": len(text) if long else 0, "html": render(text) if long else render_answer(text)}


def _part_score(score: float | None, worth: float | None) -> str:
    if worth is None:
        return "" if score is None or score in (0, 1) else points(score)
    return f"0–{points(worth)} / {points(worth)}" if score is None else f"{points(score * worth)} / {points(worth)}"


def _key_view(question: Question, pictures: PictureFiles) -> dict[str, Any]:
    named = question.variables
    return {
        "answers": [render_answer(answer) for answer in question.answer],
        "variables": [(v.name, v.description, render_answer(v.value)) for v in named],
        "images": [pictures.show(image, f"key, picture {n}") for n, image in enumerate(question.answer_images, 1)],
        "solution": render(question.solution, list(_solution_images(question, pictures))) if question.solution else "",
        "loose_images": [] if question.solution else list(_solution_images(question, pictures)),
        "flow": [(render(step.step), render_answer(step.answer)) for step in question.reasoning_flow],
        "scheme": [[(c.id, points(c.points), render_answer(c.text)) for c in criteria] for criteria in question.scheme],
        "choice": question.question_type in CHOICE_TYPES,
    }


def _solution_images(question: Question, pictures: PictureFiles) -> Iterator[Markup]:
    for number, image in enumerate(question.solution_images, 1):
        yield pictures.show(image, f"solution, picture {number}")
