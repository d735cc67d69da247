"""Labelling page: the answers to label, what a rater sees of each, and the server that takes the labels.

Every label is on the disk before the reply. Texts become safe HTML here (`report.markup`). Blind, nothing that is sent
depends on the verdict, on other raters or on why the answer was chosen; no rater sees another's labels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from livek12.core.error_types import PROCESS_ERRORS, KindOfError, one_each
from livek12.core.errors import UserError
from livek12.core.records import ERROR_TYPES
from livek12.core.run.folder import LABEL_PLAN, RunFolder
from livek12.core.run.markings import RegradeCounts, read_regrades, regraded
from livek12.core.scoring import Row
from livek12.core.serving.pages import page_app, serve_page
from livek12.core.visible import IN_JAVASCRIPT
from livek12.evaluation.labelling.regrading import Regrading
from livek12.evaluation.labelling.store import LabelNotStored, LabelStore, criteria_view, mark_by_criteria
from livek12.evaluation.studies.human import decided_by
from livek12.evaluation.studies.label_plan import planned, read_plan
from livek12.evaluation.studies.labels import Label, fit_labels, read_labels
from livek12.report.marks import mark_of, points
from livek12.report.paper import Pages, PaperEntry, new_pages, page_views, question_view
from livek12.report.pictures import PictureFiles

if TYPE_CHECKING:
    from fastapi import FastAPI


def answer_view(row: Row, image_only: bool, pages: Pages, audited: bool, verdict: bool) -> dict[str, Any]:
    """One answer for the page; `audited` adds process errors, `verdict` the run's decision."""
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
    errors = [kind for kind in ERROR_TYPES if process and getattr(process, kind.lower())]
    audit = f"; errors found: {', '.join(errors) or 'none'}" if process else ""
    return f"{mark.text} {mark.word} by {decided_by(row)}{audit}".replace("  ", " ")


def _said_view(label: Label, full: float | None) -> dict[str, Any]:
    score = None if label.share is None else points(round(label.share * (full or 1), 6))
    return {
        "correct": label.correct,
        "score": score,
        **{str(kind): present for kind, present in label.errors.items()},
        "criteria": label.criteria or None,
        "error_type": label.error_type,
        "note": label.note,
    }


STATIC = Path(__file__).resolve().parent / "static"


@dataclass(frozen=True)
class Surroundings:
    """The page's context."""

    run: str
    modalities: Mapping[str, str]
    pages: Pages
    regrading: Regrading
    audited: bool = False
    verdict: bool = False


def serve(
    store: LabelStore, shown: Surroundings, rater: str, host: str, port: int, ready: Callable[[str], None]
) -> None:
    """Serves the page until interrupted; `ready` gets the address with its token."""
    store.labels(rater)
    serve_page(lambda: make_app(store, shown, rater), host, port, ready)


def make_app(store: LabelStore, shown: Surroundings, rater: str) -> FastAPI:
    """The application, without its guard."""
    from fastapi import APIRouter, Body, HTTPException
    from fastapi.responses import JSONResponse

    class Fresh(JSONResponse):
        def __init__(self, content: Any, status_code: int = 200, **more: Any) -> None:
            super().__init__(content, status_code, **{**more, "headers": {"Cache-Control": "no-store"}})

    app = page_app(STATIC, ("label.js", "label.css", "regrade.js", "criteria.js"))
    pages = APIRouter(prefix="/review", default_response_class=Fresh)
    answers, regrading = store.answers, shown.regrading

    @app.exception_handler(UserError)
    def refused(_: Any, error: UserError) -> JSONResponse:
        return Fresh({"error": str(error)}, 507 if isinstance(error, LabelNotStored) else 409)

    @pages.get("/queue")
    def queue(by: str = "") -> Any:
        name = by or rater
        done = store.labels(name).keys() - store.outdated(name)
        rows = [
            {"task": row.task, "id": row.question.id, "trial": row.trial + 1, "done": place in done}
            for place, row in enumerate(answers)
        ]
        return {"rater": name, "run": shown.run, "unseen": IN_JAVASCRIPT, "queue": rows}

    @pages.get("/answer/{place}")
    def one(place: int, by: str = "") -> Any:
        if not 0 <= place < len(answers):
            raise HTTPException(404, "there is no such answer")
        row = answers[place]
        said = store.labels(by or rater).get(place)
        image_only = shown.modalities.get(row.task) == "image_only"
        marked = regrading.marked(row) if shown.verdict else row
        view = answer_view(marked, image_only, shown.pages, shown.audited, shown.verdict)
        mended = store.wordings().get((row.task, row.question.id), {})
        return {
            **view,
            "place": place,
            "criteria": criteria_view(row.question, mended),
            "outdated": place in store.outdated(by or rater),
            "said": said and _said_view(said, row.question.points),
        }

    @pages.post("/points")
    def add_points(request: dict[str, Any] = Body()) -> Any:  # noqa: B008 - FastAPI's way
        place, marks = _what(request, len(answers))
        verdict = mark_by_criteria(answers[place].question, marks)
        return {"low": verdict.low, "high": verdict.high, "of": verdict.max_points}

    @pages.post("/wording")
    def mend(request: dict[str, Any] = Body()) -> Any:  # noqa: B008 - FastAPI's way
        place, fields = _what(request, len(answers))
        by = str(request.get("by") or rater)
        store.mend(by, place, str(fields.get("criterion")), str(fields.get("text") or ""))
        return {"done": True}

    @pages.get("/regrade/{place}")
    def group(place: int) -> Any:
        if not 0 <= place < len(answers):
            raise HTTPException(404, "there is no such answer")
        return regrading.view(answers[place])

    @pages.post("/regrade")
    def regrade(told: dict[str, Any] = Body()) -> Any:  # noqa: B008 - FastAPI's way
        place, said = _what(told, len(answers))
        changed = regrading.put(str(told.get("by") or rater), answers[place], said)
        return {"answers": changed, **regrading.view(answers[place])}

    @pages.post("/act")
    def act(told: dict[str, Any] = Body()) -> Any:  # noqa: B008 - FastAPI's way
        place, said = _what(told, len(answers))
        by = str(told.get("by") or rater)
        places = store.put(by, place, said)
        return {"done": place in store.labels(by), "places": places}

    app.include_router(pages)
    return app


def _what(told: dict[str, Any], answers: int) -> tuple[int, dict[str, Any]]:
    """The place of an answer in the queue, and its label."""
    place, said = told.get("place"), told.get("said")
    if type(place) is not int or not isinstance(said, dict):
        raise UserError("the label says nothing that can be read")
    if not 0 <= place < answers:
        raise UserError("there is no such answer")
    return place, said


Tell = Callable[[str], None]


def open_labels(
    folder: Path, plan: Path | None, data: str, verdict: bool, warn: Tell
) -> tuple[LabelStore, Surroundings]:
    """The store and context of the page; `plan` None is the run's own plan, else all answers."""
    from livek12.evaluation.task_data import illustrated, reload_task_data

    run = RunFolder.open(folder, warn)
    regrading = Regrading(folder)
    spec, rows = run.spec(), _answers(run, plan, warn, regrading)
    exam = reload_task_data(run, data)
    shown = Surroundings(
        run=folder.resolve().name,
        modalities={task.name: task.modality for task in spec.tasks},
        pages=exam.pages,
        regrading=regrading,
        audited=any(row.verdict and (row.verdict.process or row.verdict.process_ungraded) for row in rows),
        verdict=verdict,
    )
    read_regrades(folder, warn)
    return LabelStore(folder, spec.model, list(illustrated(rows, exam))), shown


def progress(folder: Path, plan: Path | None, warn: Tell) -> dict[str, Any]:
    """Number of answers to label, and of those labelled by each rater."""
    rows = _answers(RunFolder.open(folder, warn), plan, warn)
    raters = {}
    for file in sorted(folder.glob("labels-*.jsonl")):
        labels = read_labels(file, None, warn) if file.stat().st_size else []
        raters[file.stem.removeprefix("labels-")] = len(fit_labels(labels, rows)[0])
    changes = RegradeCounts()
    for _ in changes.passing(regraded(rows, read_regrades(folder, warn))):
        pass
    summary = changes.summary()
    return {"answers": len(rows), "raters": raters, **({"regraded": summary} if summary else {})}


def _answers(run: RunFolder, plan: Path | None, warn: Tell, regrading: Regrading | None = None) -> list[Row]:
    own = run.path / LABEL_PLAN
    file = plan if plan is not None else own if own.is_file() else None
    rows = run.judged_rows() if regrading is None else regrading.passing(run.judged_rows())
    return planned(rows, None if file is None else read_plan(file), (file or own).name, warn)
