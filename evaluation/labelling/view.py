"""What a rater sees of an answer: question, key and response; of what others said nothing, unless it is asked for.

Contract: texts are turned into safe HTML here (`report.markup`). Blind, nothing of what is sent depends on the verdict,
on other raters or on why the answer was chosen.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from markupsafe import Markup

from livek12.core.error_types import PROCESS_ERRORS, KindOfError, one_each
from livek12.core.records import ERROR_TYPES
from livek12.core.scoring import Row
from livek12.evaluation.studies.human import decided_by
from livek12.evaluation.studies.labels import Label
from livek12.report.marks import mark_of, points
from livek12.report.paper import Pages, PaperEntry, new_pages, page_views, question_view
from livek12.report.pictures import PictureFiles


def answer_view(row: Row, image_only: bool, pages: Pages, audited: bool, verdict: bool) -> dict[str, Any]:
    """One answer for the page.

    Args:
        row: the answer, with the pictures of its question.
        image_only: the task asks from page images.
        pages: page images.
        audited: the reasoning of the run's answers is audited.
        verdict: show what the run decided.
    """
    entry = PaperEntry(row.task, row.question, [replace(row, verdict=None, why="")], image_only)
    pictures = PictureFiles(())
    cell = {"anchor": "", "number": row.question.number or ""}
    shown = question_view(entry, cell, pictures)
    [answer] = shown.pop("answers")
    sheets = Markup("").join(page_views(new_pages(entry, set()), pages, pictures))
    benchmark = row.question.benchmark
    several = PROCESS_ERRORS if audited or benchmark == "livek12" else ()
    return {
        **{name: shown[name] for name in ("id", "number", "task", "subject", "type", "language", "short_options")},
        "trial": row.trial + 1,
        "full": row.question.points,
        "points": shown["points"],
        "text": shown["text"],
        "pages": sheets,
        "options": [{"label": option["label"], "text": option["text"]} for option in shown["options"]],
        "key": shown["key"],
        "response": Markup("").join([*answer["folded"], *answer["blocks"]]),
        "thinking": {"text": answer["thinking"], "cut": answer.get("thinking_cut", 0)},
        "facts": answer["facts"],
        "process_errors": [_kind(kind) for kind in several],
        "error_types": [_kind(kind) for kind in one_each(benchmark)],
        "verdict": _verdict(row) if verdict else "",
    }


def _kind(kind: KindOfError) -> dict[str, str]:
    return {"name": kind.name, "title": kind.title, "meaning": kind.meaning}


def _verdict(row: Row) -> str:
    mark = mark_of(row)
    process = row.verdict.process if row.verdict else None
    found = [kind for kind in ERROR_TYPES if process and getattr(process, kind.lower())]
    audit = f"; errors found: {', '.join(found) or 'none'}" if process else ""
    return f"{mark.text} {mark.word} by {decided_by(row)}{audit}".replace("  ", " ")


def said_view(label: Label, full: float | None) -> dict[str, Any]:
    """What the rater said before, for the form."""
    score = None if label.share is None else points(round(label.share * (full or 1), 6))
    return {
        "correct": label.correct,
        "score": score,
        **{str(kind): found for kind, found in label.errors.items()},
        "error_type": label.error_type,
        "note": label.note,
    }
