"""Labelling page: answers, what a rater sees of each, and the server for labels and regrades.

Every label is on the disk before the reply. Texts become safe HTML here (`report.markup`). Blind, nothing that is sent
depends on the verdict, on other raters or on why the answer was chosen; no rater sees another's labels.

Regrades are set once for a group of equal answers to a question: those with the same extracted text
(`PartVerdict.answer`) or, without extraction and with criteria, the same text. `put` returns once the row is on the
disk; RUN/regrades.jsonl is append-only, and locked only while written, so that several servers may work. Groups are
read anew where answers or verdicts changed.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup
from pydantic import ValidationError

from livek12.core.error_types import PROCESS_ERRORS, KindOfError, one_each
from livek12.core.errors import UserError
from livek12.core.records import ERROR_TYPES, UNMARKED, PartVerdict, Verdict, canonical_json
from livek12.core.run.folder import LABEL_PLAN, RunFolder
from livek12.core.run.markings import (
    LONGEST_REASON,
    REGRADES,
    Key,
    Regrade,
    RegradeCounts,
    read_regrades,
    regraded,
    with_mark,
)
from livek12.core.schemes import is_by_scheme
from livek12.core.scoring import Row
from livek12.core.serving import page_app, serve_page
from livek12.core.visible import IN_JAVASCRIPT
from livek12.evaluation.labelling import (
    LabelNotStored,
    LabelStore,
    append_row,
    checked_name,
    criteria_view,
    mark_by_criteria,
)
from livek12.evaluation.studies.agreement import decided_by
from livek12.evaluation.studies.labels import Label, fit_labels, planned, read_labels, read_plan
from livek12.judges.grade import GradingConfig, total
from livek12.report.marks import mark_of, points
from livek12.report.markup import render_answer
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
        "verdict": _verdict_shown(row) if verdict else "",
    }


def _kind(kind: KindOfError) -> dict[str, str]:
    return {"name": kind.name, "title": kind.title, "meaning": kind.meaning}


def _verdict_shown(row: Row) -> str:
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
    """Application, without its guard."""
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
    """Store and context of the page; `plan` None is the run's own plan, else all answers."""
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
    """Answers to label, and those labelled by each rater."""
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


Group = tuple[str, str, bytes]


class EqualAnswer(NamedTuple):
    """One answer of a group: trial, hash of the response, the judges' mark and judge."""

    trial: int
    response: str
    mark: str


class Regrading:
    """Groups of a run and people's marks of them. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._groups: dict[Group, list[EqualAnswer]] = {}
        self._of: dict[Key, Group] = {}
        self._seen: dict[str, tuple[int, int]] | None = None
        self._lock, self._reading = threading.Lock(), threading.Lock()

    def passing(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Notes the groups of passing rows."""
        self._seen = self._files()
        groups, of = dict[Group, list[EqualAnswer]](), dict[Key, Group]()
        for row in rows:
            if row.response is not None and row.verdict is not None:
                member = EqualAnswer(row.trial, row.response.sha256, _judged(row, row.verdict))
                groups.setdefault(_group(row), []).append(member)
                of[_key(row)] = _group(row)
            yield row
        self._groups, self._of = groups, of

    def _files(self) -> dict[str, tuple[int, int]]:
        files = {}
        for file in self._folder.iterdir():
            if file.name.startswith(("responses-", "verdicts-")):
                with suppress(FileNotFoundError):
                    files[file.name] = (file.stat().st_size, file.stat().st_mtime_ns)
        return files

    def _members(self, row: Row) -> list[EqualAnswer]:
        """Answers equal to this one now; it alone if the run no longer holds it."""
        with self._reading:
            if self._files() != self._seen:
                for _ in self.passing(RunFolder.open(self._folder).judged_rows()):
                    pass
            own = self._of.get(_key(row))
            if own is not None:
                return self._groups[own]
        response = row.response.sha256 if row.response else ""
        return [EqualAnswer(row.trial, response, _judged(row, _verdict(row)))]

    def marked(self, row: Row) -> Row:
        """An answer with the mark that counts now."""
        regrade = self._said().get(_key(row))
        return with_mark(row, regrade) if regrade else row

    def view(self, row: Row) -> dict[str, Any]:
        """Group of an answer, for the person setting its mark."""
        verdict, members, every = _verdict(row), self._members(row), self._said()
        regrade = every.get(_key(row))
        now = with_mark(row, regrade) if regrade else row
        full = verdict.max_points
        people = Counter(
            (f"{points(own.share * full)} / {points(full)}", own.by)
            for member in members
            if (own := every.get((row.task, row.question.id, member.response)))
        )
        marks = Counter(member.mark for member in members)
        return {
            "answers": len(members),
            "trials": [member.trial + 1 for member in members],
            "judged": [{"mark": mark, "answers": answers} for mark, answers in marks.most_common()],
            "people": [{"mark": mark, "by": by, "answers": answers} for (mark, by), answers in people.most_common()],
            "unset": len(members) - people.total(),
            "full": points(full),
            "parts": [_part(part) for part in verdict.parts],
            "set": regrade
            and {
                "mark": mark_of(now).text,
                "parts": [part.score for part in now.verdict.parts] if now.verdict else [],
                "by": regrade.by,
                "reason": regrade.reason,
                "at": regrade.at,
            },
        }

    def put(self, by: str, row: Row, request: Mapping[str, Any]) -> int:
        """Sets the mark of an answer and its equals, or restores the judges'; returns their number.

        A request has `reason` and one of `correct`, `score` (points), `parts` (shares); or `withdrawn`.

        Raises:
            LabelNotStored: the disk does not take it.
            UserError: it makes no sense.
        """
        members = self._members(row)
        row_of_file: dict[str, Any] = {
            "task": row.task,
            "question_id": row.question.id,
            "responses": list(dict.fromkeys(member.response for member in members)),
            "by": checked_name(by),
            "at": datetime.now(UTC).isoformat(timespec="microseconds"),
        }
        if request.get("withdrawn") is True:
            if _key(row) not in self._said():
                raise UserError("nobody has set this mark: there is nothing to take back")
            row_of_file["withdrawn"] = True
        else:
            row_of_file |= {"reason": _reason(request), **_mark(row, request)}
        try:
            regrade = Regrade.model_validate(row_of_file)
        except ValidationError:
            raise UserError("the mark says nothing that can be read") from None
        with self._lock:
            append_row(self._folder / REGRADES, regrade)
        return len(members)

    def _said(self) -> dict[Key, Regrade]:
        return read_regrades(self._folder)


def _verdict(row: Row) -> Verdict:
    if row.verdict is None:
        raise UserError("there is no answer to mark")
    return row.verdict


def _key(row: Row) -> Key:
    return row.task, row.question.id, row.response.sha256 if row.response else ""


def _group(row: Row) -> Group:
    parts = row.verdict.parts if row.verdict and not is_by_scheme(row.question, row.verdict.parts) else []
    texts = [" ".join((part.answer or "").split()) for part in parts]
    text = row.response.text.strip() if row.response else ""
    own = canonical_json(texts if any(texts) else text)
    return row.task, row.question.id, sha256(own.encode("utf-8", "replace")).digest()


def _judged(row: Row, verdict: Verdict) -> str:
    mark = mark_of(row)
    who = "" if verdict.judge == UNMARKED else " by " + "+".join(dict.fromkeys(p.decided_by for p in verdict.parts))
    return f"{mark.text} {mark.word}{who if verdict.parts else ''}".replace("  ", " ").strip()


def _part(part: PartVerdict) -> dict[str, Any]:
    return {
        "name": part.name or "",
        "found": "" if part.answer is None else render_answer(part.answer[:LONGEST_REASON]),
        "key": render_answer(part.gold[:LONGEST_REASON]),
        "score": part.score,
    }


def _reason(request: Mapping[str, Any]) -> str:
    reason = request.get("reason")
    if not isinstance(reason, str) or not reason.strip():
        raise UserError("say why: a mark is changed for a reason")
    if len(reason) > LONGEST_REASON:
        raise UserError(f"a reason has at most {LONGEST_REASON:,} characters")
    try:
        reason.encode()
    except UnicodeEncodeError:
        raise UserError("the reason holds half a character (a lone surrogate): delete it") from None
    return reason.strip()


def _mark(row: Row, request: Mapping[str, Any]) -> dict[str, Any]:
    verdict = _verdict(row)
    names = [name for name in ("correct", "score", "parts") if request.get(name) not in (None, "")]
    if len(names) != 1:
        raise UserError("say one thing: right or wrong, marks, or the share of each part")
    value = request[names[0]]
    if names == ["correct"]:
        if not isinstance(value, bool):
            raise UserError("an answer is right (true) or wrong (false)")
        return {"share": float(value), "correct": value}
    if names == ["score"]:
        score, full = _number(value), verdict.max_points
        if not 0 <= score <= full + 1e-9:
            raise UserError(f"marks are a number from 0 to {points(full)}")
        share = min(1.0, score / full) if full else 0.0
        return {"share": share, "correct": share == 1}
    if not isinstance(value, list) or not value or len(value) != len(verdict.parts):
        raise UserError(f"the answer has {len(verdict.parts)} parts: say the share of each")
    shares = [_number(number) for number in value]
    if not all(0 <= share <= 1 for share in shares):
        raise UserError("the share of a part is a number from 0 to 1")
    parts = [
        part.model_copy(update={"score": share, "decision": "accept" if share == 1 else "reject"})
        for part, share in zip(verdict.parts, shares, strict=True)
    ]
    mark = total(row.question, verdict.key, parts, GradingConfig())
    right = all(share == 1 for share in shares)
    return {"share": 1.0 if right else min(1.0, mark.low / mark.max_points), "correct": right, "parts": shares}


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return float("nan")
    try:
        return float(value)
    except (ValueError, OverflowError):
        return float("nan")
