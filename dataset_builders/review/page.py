"""Review page: its server, and its data as plain values (queue, one question, counts, agreement of reviewers).

Contract: texts are raw, never to be inserted as HTML; only `Rendering` makes HTML, and escapes. Settlements do not
change decisions; undefined coefficients are None. Every action is on disk before the response. No request goes to
another machine.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import combinations, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from markupsafe import Markup
from pydantic import TypeAdapter

from livek12.core.errors import UserError
from livek12.core.question_types import type_names
from livek12.core.records import IMAGE_MARK, Record
from livek12.core.serving import page_app, serve_page
from livek12.core.statistics import cohen_kappa
from livek12.core.visible import IN_JAVASCRIPT
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.ingest.drafts import Doubt, Draft, Figure
from livek12.dataset_builders.ingest.pages.blocks import Box
from livek12.dataset_builders.ingest.questions.segment import MISSING
from livek12.dataset_builders.review import pictures
from livek12.dataset_builders.review.board import Board, Entry
from livek12.dataset_builders.review.forms import LONGEST, Copy, as_draft, difference, figures_left, problems_of
from livek12.dataset_builders.review.pictures import figure_file, is_cut_anew
from livek12.dataset_builders.review.store import BadText, NotStored, ReviewStore
from livek12.report.pictures import sides_of

if TYPE_CHECKING:
    from fastapi import FastAPI

BASE = "review"
"""Prefix of the page's own addresses."""
_TITLE = 60
STATIC = Path(__file__).resolve().parent / "static"


class ReviewAgreement(Record):
    """Agreement of two reviewers.

    Attributes:
        n: questions both decided.
        same: of those, equal verdicts.
        same_answer: of those both accepted, equal answers.
        kappa, answer_kappa: Cohen's κ of verdicts, and of accepted answers as nominal labels.
    """

    a: str
    b: str
    n: int
    same: int
    kappa: float | None
    both_accepted: int
    same_answer: int
    answer_kappa: float | None


def agreements(board: Board) -> list[ReviewAgreement]:
    """Agreement of every two reviewers with a decided question in common, by name."""
    decided = [(entry, made) for entry in board.live() if len(made := entry.decided()) > 1]
    names = sorted({by for _, made in decided for by in made})
    pairs = []
    for a, b in combinations(names, 2):
        common = [(entry, made) for entry, made in decided if a in made and b in made]
        if not common:
            continue
        verdicts = [(made[a].verdict, made[b].verdict) for _, made in common]
        answers = [
            tuple(tuple(" ".join(value.split()) for value in entry.copy(by).form.answer) for by in (a, b))
            for entry, made in common
            if made[a].verdict == made[b].verdict == "accepted"
        ]
        pairs.append(
            ReviewAgreement(
                a=a,
                b=b,
                n=len(common),
                same=sum(x == y for x, y in verdicts),
                kappa=cohen_kappa(*map(list, zip(*verdicts, strict=True))),
                both_accepted=len(answers),
                same_answer=sum(x == y for x, y in answers),
                answer_kappa=cohen_kappa([x for x, _ in answers], [y for _, y in answers]),
            )
        )
    return pairs


@dataclass(frozen=True)
class Rendering:
    """Renderers to HTML: a whole text with its pictures at their marks, and an answer on one line."""

    text: Callable[[str, Sequence[Markup]], Markup]
    answer: Callable[[str], Markup]


Trial = Callable[[Draft, str], dict[str, Any]]
"""Marks a response to a question by its scheme: `low`, `high`, `max_points`, and `criteria` {id, points, reason, …}."""


def row(board: Board, id: str, by: str) -> list[dict[str, Any]]:
    """A question's queue row; empty if removed."""
    entry = board.entries.get(id)
    return [_row(board, entry, by)] if entry is not None and entry.live else []


def queue(board: Board, by: str) -> list[dict[str, Any]]:
    """A row a question, paper by paper, as printed."""
    return [_row(board, entry, by) for entry in board.live()]


def _row(board: Board, entry: Entry, by: str) -> dict[str, Any]:
    draft, copy = entry.draft, entry.copy(by)
    mine = entry.decided().get(by)
    state, others = entry.state(), sum(name != by for name in entry.decided())
    # Others' decisions are hidden from reviewers who have not decided.
    visible = mine is not None or state in ("open", "conflict") or entry.settlement() is not None
    return {
        "id": draft.id,
        "paper": entry.paper_id,
        "number": copy.form.number,
        "type": copy.form.question_type,
        "confidence": round(draft.confidence, 3),
        "doubts": sorted({doubt.kind for doubt in draft.doubts}),
        "doubtful": draft.is_doubtful,
        "part": draft.elective,
        "state": state if visible else "other",
        "mine": mine.verdict if mine else "open",
        "others": others,
        "edited": by in entry.edits,
        "title": " ".join(copy.form.question.split())[:_TITLE],
        "page": copy.boxes[0].page if copy.boxes else (draft.page_numbers or [1])[0],
    }


def counts(board: Board) -> dict[str, int]:
    """Questions by state."""
    states = Counter(entry.state() for entry in board.live())
    return {state: states[state] for state in ("accepted", "rejected", "conflict", "open")}


def summary(board: Board) -> dict[str, Any]:
    """Counts, papers and agreement, for the page's head and for `--status`."""
    papers = []
    for paper_id, ids in board.order.items():
        paper = board.papers[paper_id]
        states = Counter(board.entries[id].state() for id in ids)
        papers.append(
            {
                "paper_id": paper_id,
                "title": paper.title,
                "source": paper.source,
                "pages": paper.pages,
                "language": paper.language,
                "questions": len(ids),
                **{state: states[state] for state in ("accepted", "rejected", "conflict", "open")},
                "unmatched": paper.unmatched,
                "errors": [_error(line) for line in paper.errors],
                "notes": paper.notes,
                "heads": paper.heads,
            }
        )
    names = sorted({by for entry in board.live() for by in entry.decided()})
    return {
        "counts": counts(board),
        "papers": papers,
        "reviewers": names,
        "agreement": [pair.model_dump() for pair in agreements(board)],
    }


def _error(line: str) -> dict[str, Any]:
    """An error of a paper, the first and last number that it names as lost, and the part that lacks them."""
    run = MISSING.match(line)
    numbers = [int(run[1]), int(run[2] or run[1])] if run else []
    return {"text": line, "numbers": numbers, "part": (run[3] if run else None) or ""}


def question(root: Path, board: Board, id: str, by: str, rendering: Rendering) -> dict[str, Any]:
    """A question as its reviewer sees it; UserError for a removed one."""
    entry = board.entry(id)
    copy, decided, paper = entry.copy(by), entry.decided(), board.papers[entry.paper_id]
    mine, state = decided.get(by), entry.state()
    shown = mine is not None or state == "conflict"
    stale = by in entry.decisions and mine is None
    siblings = board.order[entry.paper_id]
    return {
        **_row(board, entry, by),
        "language": entry.draft.language,
        "pages": paper.pages,
        "paper_title": paper.title,
        "keys": [key.model_dump() for key in paper.keys],
        "form": copy.form.model_dump(),
        "boxes": [asdict(box) for box in copy.boxes],
        "figures": [{**figure.model_dump(), "src": _figure_src(root, entry, figure)} for figure in copy.figures],
        "neighbours": [_place(board, other, by) for other in siblings if other != id],
        "doubts_said": [_doubt(doubt, rendering) for doubt in entry.draft.doubts],
        "problems": problems_of(copy),
        "answer_from": entry.draft.answer_from,
        "markdown": entry.draft.markdown,
        "comments": [comment.model_dump() for comment in entry.comments],
        "reason": mine.reason if mine else "",
        "stale": stale,
        "versions": [_version(root, entry, name, by, rendering) for name in decided if name != by] if shown else [],
        "differences": entry.differences() if shown else [],
        "settled": settled.model_dump() if (settled := entry.settlement()) else None,
        "html": _rendered(root, entry, copy, rendering, _lead(board, entry, by)),
    }


def _doubt(doubt: Doubt, rendering: Rendering) -> dict[str, Any]:
    """A doubt, with both readings where its text has them not whole."""
    readings = doubt.readings or ()
    shown = readings if any(repr(text) not in doubt.text for text in readings) else ()
    return {**doubt.model_dump(), "readings": [rendering.text(text, []) for text in shown]}


def _lead(board: Board, entry: Entry, by: str) -> str:
    """The lines, such as a section's instructions, that a question begins with as the one before it does."""
    ids = board.order[entry.paper_id]
    place = ids.index(entry.draft.id)
    own, before = (board.entries[id].copy(by).form.question.split("\n") for id in (ids[place], ids[place - 1]))
    same = takewhile(lambda pair: place and pair[0] == pair[1], zip(own, before, strict=False))
    lines = [line for line, _ in same]
    is_whole = lines and len(lines) < len(own) and not own[len(lines)].startswith("|")
    lead = "\n".join([*lines, ""]) if is_whole else ""
    return "" if lead.count("```") % 2 or lead.count("$$") % 2 else lead


def _rendered(root: Path, entry: Entry, copy: Copy, rendering: Rendering, lead: str = "") -> dict[str, Any]:
    pictures, solved = (
        [_picture(root, entry, figure) for figure in own]
        for own in (copy.figures, figures_left(entry.draft, copy.form.solution))
    )
    mark = copy.form.question.count(IMAGE_MARK)
    # Without marks in the options, remaining pictures follow the question.
    total = copy.marks
    shown = pictures[:mark] + (pictures[total:] if total < len(pictures) else [])
    options, place = [], mark
    for option in copy.form.options:
        many = option.text.count(IMAGE_MARK)
        options.append({"label": option.label, "html": rendering.text(option.text, pictures[place : place + many])})
        place += many
    led = lead.count(IMAGE_MARK)
    return {
        "lead": rendering.text(lead, shown[:led]) if lead else "",
        "question": rendering.text(copy.form.question.removeprefix(lead), shown[led:]),
        "options": options,
        "answer": [rendering.answer(entry_) for entry_ in copy.form.answer],
        "solution": rendering.text(copy.form.solution, solved) if copy.form.solution.strip() else "",
        "scheme": [
            [{"id": typed.id, "points": typed.points, "html": rendering.answer(typed.text)} for typed in criteria]
            for criteria in copy.form.scheme
        ],
    }


def _figure_src(root: Path, entry: Entry, figure: Figure) -> str:
    if figure.box and (not figure.name or is_cut_anew(entry.draft, figure)):
        box = figure.box
        sides = ",".join(f"{side:.6f}" for side in (box.left, box.top, box.right, box.bottom))
        return f"{BASE}/crop/{quote(entry.paper_id, safe='')}?page={box.page}&box={sides}"
    return f"{BASE}/image/{quote(figure.name, safe='')}"


def _picture(root: Path, entry: Entry, figure: Figure) -> Markup:
    sides = Markup("")
    with suppress(UserError):
        sides = sides_of(figure_file(root, figure.name))
    src = _figure_src(root, entry, figure)
    return Markup('<img class="picture" src="{}" alt="{}"{}>').format(src, figure.caption, sides)


def _place(board: Board, id: str, by: str) -> dict[str, Any]:
    entry = board.entries[id]
    copy = entry.copy(by)
    return {"id": id, "number": copy.form.number, "boxes": [asdict(box) for box in copy.boxes]}


def _version(root: Path, entry: Entry, name: str, by: str, rendering: Rendering) -> dict[str, Any]:
    made, copy = entry.decided()[name], entry.copy(name)
    return {
        **made.model_dump(),
        "differs": difference(entry.copy(by), copy),
        "form": copy.form.model_dump(),
        "boxes": [asdict(box) for box in copy.boxes],
        "figures": [figure.model_dump() for figure in copy.figures],
        "html": _rendered(root, entry, copy, rendering),
    }


def serve(
    store: ReviewStore,
    rendering: Rendering,
    reviewer: str,
    host: str,
    port: int,
    ready: Callable[[str], None],
    trial: Trial | None = None,
) -> None:
    """Serves the page until interrupted.

    `reviewer` is the default name. Every user of the machine can reach 127.0.0.1; `ready` receives the address with the
    token that requests need.
    """
    serve_page(lambda: make_app(store, rendering, reviewer, trial), host, port, ready)


def make_app(store: ReviewStore, rendering: Rendering, reviewer: str, trial: Trial | None = None) -> FastAPI:
    """Application, without its guard."""
    app = page_app(STATIC, ("review.js", "parts.js", "scheme.js", "review.css"))
    _add_pictures(app, store)
    _add_data(app, store, rendering, reviewer, trial)
    return app


def _add_pictures(app: FastAPI, store: ReviewStore) -> None:
    from fastapi import HTTPException, Response

    def answer(get: Callable[[], bytes]) -> Response:
        try:
            data = get()
        except (UserError, OSError) as error:
            raise HTTPException(404, str(error)) from None
        kind = pictures.kind_of(data)
        if kind is None:
            raise HTTPException(404, "this is no picture")
        return Response(data, media_type=kind, headers={"Cache-Control": "private, max-age=300"})

    def paper(paper_id: str) -> str:
        if paper_id not in store.board.papers:
            raise HTTPException(404, "there is no such paper")
        return paper_id

    @app.get("/review/page/{paper_id}/{number}")
    def get_page(paper_id: str, number: int) -> Any:
        return answer(lambda: pictures.page_file(store.root, paper(paper_id), number).read_bytes())

    @app.get("/review/key/{sha256}/{number}")
    def get_key(sha256: str, number: int) -> Any:
        for key in (key for paper in store.board.papers.values() for key in paper.keys if key.sha256 == sha256):
            return answer(lambda key=key: pictures.key_file(store.root, key, number).read_bytes())  # type: ignore[misc]
        raise HTTPException(404, "there is no such key")

    @app.get("/review/image/{name}")
    def get_image(name: str) -> Any:
        return answer(lambda: pictures.figure_file(store.root, name).read_bytes())

    @app.get("/review/crop/{paper_id}")
    def get_crop(paper_id: str, page: int, box: str) -> Any:
        try:
            left, top, right, bottom = map(float, box.split(","))
        except ValueError:
            raise HTTPException(404, "a box has four sides") from None
        if not (0 <= left < right <= 1 and 0 <= top < bottom <= 1):
            raise HTTPException(404, "the box is not on the page")
        place = Box(page=page, left=left, top=top, right=right, bottom=bottom)
        return answer(lambda: pictures.crop(store.root, paper(paper_id), place))


def _add_data(app: FastAPI, store: ReviewStore, rendering: Rendering, reviewer: str, trial: Trial | None) -> None:
    from fastapi import Body
    from fastapi.responses import JSONResponse

    def answer(make: Callable[[], dict[str, Any]]) -> JSONResponse:
        content: dict[str, Any]
        try:
            content, status = make(), 200
        except NotStored as error:
            content, status = {"error": str(error)}, 507
        except BadText as error:
            content, status = {"error": str(error), "field": error.field}, 422
        except UserError as error:
            content, status = {"error": str(error)}, 409
        except ValueError as error:  # invalid action: a retry would fail again
            content, status = {"error": one_line(error, 200)}, 422
        return JSONResponse(content, status_code=status, headers={"Cache-Control": "no-store"})

    @app.get("/review/queue")
    def get_queue(by: str = "") -> Any:
        def made() -> dict[str, Any]:
            board = store.refresh()
            name = by or reviewer
            return {
                "reviewer": name,
                "folder": store.root.name,
                "key": hashlib.sha256(str(store.root.resolve()).encode()).hexdigest()[:12],
                "queue": queue(board, name),
                "unseen": IN_JAVASCRIPT,
                "types": type_names(),
                **summary(board),
            }

        return answer(made)

    @app.get("/review/question/{id}")
    def get_question(id: str, by: str = "") -> Any:
        return answer(lambda: question(store.root, store.refresh(), id, by or reviewer, rendering))

    @app.post("/review/try")
    def post_try(body: dict[str, Any] = Body()) -> JSONResponse:  # noqa: B008 - FastAPI's way
        def made() -> dict[str, Any]:
            entry = store.refresh().entry(str(body.get("draft") or ""))
            copy = entry.copy(str(body.get("by") or reviewer))
            draft = as_draft(entry.draft, copy)
            if (problem := problems_of(copy).get("scheme")) or not draft.scheme or trial is None:
                raise UserError(problem or "there is no scheme to mark by")
            return trial(draft, str(body.get("response") or "")[:LONGEST])

        return answer(made)

    @app.post("/review/head")
    def post_head(body: dict[str, Any] = Body()) -> JSONResponse:  # noqa: B008 - FastAPI's way
        return answer(lambda: {"text": store.head(str(body.get("paper") or ""), body.get("box"))})

    @app.post("/review/like")
    def post_like(body: dict[str, Any] = Body()) -> JSONResponse:  # noqa: B008 - FastAPI's way
        def made() -> dict[str, Any]:
            heads = TypeAdapter(list[str]).validate_python(body.get("heads"))
            return {"changed": store.find_like(str(body.get("paper") or ""), heads, body.get("anyway") is True)}

        return answer(made)

    @app.post("/review/act")
    def post_act(body: dict[str, Any] = Body()) -> JSONResponse:  # noqa: B008 - FastAPI's way
        def made() -> dict[str, Any]:
            by, draft = str(body.get("by") or reviewer), str(body.get("draft") or "")
            rest = body.get("said") or {}
            if not isinstance(rest, dict):
                raise UserError("the action says nothing that can be read")
            action = store.act(by, str(body.get("kind") or ""), draft, rest, str(body.get("id") or ""))
            board, draft = store.refresh(), action.draft if action else draft
            whole = action is None or action.kind in ("split", "merge", "add", "undo")
            draft = action.drafts[0].id if action and action.kind == "add" else draft
            return {
                "draft": draft,
                "whole": whole,
                "queue": queue(board, by) if whole else row(board, draft, by),
                "counts": counts(board),
                "question": _or_none(lambda: question(store.root, board, draft, by, rendering)),
            }

        return answer(made)


def _or_none(make: Callable[[], dict[str, Any]]) -> dict[str, Any] | None:
    try:
        return make()
    except UserError:  # split or merged
        return None
