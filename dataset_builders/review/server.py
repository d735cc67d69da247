"""Review server: the page, its pictures and its data.

Contract: every action is on disk before the response. No request goes to another machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from livek12.core.errors import UserError
from livek12.core.serving.pages import page_app, serve_page
from livek12.core.visible import IN_JAVASCRIPT
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.ingest.pages.blocks import Box
from livek12.dataset_builders.review import pictures, view
from livek12.dataset_builders.review.store import BadText, NotStored, ReviewStore

if TYPE_CHECKING:
    from fastapi import FastAPI

STATIC = Path(__file__).resolve().parent / "static"


def serve(
    store: ReviewStore, rendering: view.Rendering, reviewer: str, host: str, port: int, ready: Callable[[str], None]
) -> None:
    """Serves the page until interrupted.

    `reviewer` is the default name. Every user of the machine can reach 127.0.0.1; `ready` receives the address with the
    token that requests need.
    """
    serve_page(lambda: make_app(store, rendering, reviewer), host, port, ready)


def make_app(store: ReviewStore, rendering: view.Rendering, reviewer: str) -> FastAPI:
    """The application, without its guard."""
    app = page_app(STATIC, ("review.js", "parts.js", "review.css"))
    _add_pictures(app, store)
    _add_data(app, store, rendering, reviewer)
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
    def page(paper_id: str, number: int) -> Any:
        return answer(lambda: pictures.page_file(store.root, paper(paper_id), number).read_bytes())

    @app.get("/review/image/{name}")
    def image(name: str) -> Any:
        return answer(lambda: pictures.figure_file(store.root, name).read_bytes())

    @app.get("/review/crop/{paper_id}")
    def crop(paper_id: str, page: int, box: str) -> Any:
        try:
            left, top, right, bottom = map(float, box.split(","))
        except ValueError:
            raise HTTPException(404, "a box has four sides") from None
        if not (0 <= left < right <= 1 and 0 <= top < bottom <= 1):
            raise HTTPException(404, "the box is not on the page")
        place = Box(page=page, left=left, top=top, right=right, bottom=bottom)
        return answer(lambda: pictures.crop(store.root, paper(paper_id), place))


def _add_data(app: FastAPI, store: ReviewStore, rendering: view.Rendering, reviewer: str) -> None:
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
    def queue(by: str = "") -> Any:
        def made() -> dict[str, Any]:
            board = store.refresh()
            name = by or reviewer
            return {
                "reviewer": name,
                "folder": store.root.name,
                "key": hashlib.sha256(str(store.root.resolve()).encode()).hexdigest()[:12],
                "queue": view.queue(board, name),
                "unseen": IN_JAVASCRIPT,
                **view.summary(board),
            }

        return answer(made)

    @app.get("/review/question/{id}")
    def question(id: str, by: str = "") -> Any:
        return answer(lambda: view.question(store.root, store.refresh(), id, by or reviewer, rendering))

    @app.post("/review/act")
    def act(body: dict[str, Any] = Body()) -> JSONResponse:  # noqa: B008 - FastAPI's way
        def made() -> dict[str, Any]:
            by, draft = str(body.get("by") or reviewer), str(body.get("draft") or "")
            rest = body.get("said") or {}
            if not isinstance(rest, dict):
                raise UserError("the action says nothing that can be read")
            action = store.act(by, str(body.get("kind") or ""), draft, rest, str(body.get("id") or ""))
            board, draft = store.refresh(), action.draft if action else draft
            whole = action is None or action.kind in ("split", "merge", "undo")
            return {
                "draft": draft,
                "whole": whole,
                "queue": view.queue(board, by) if whole else view.row(board, draft, by),
                "counts": view.counts(board),
                "question": _or_none(lambda: view.question(store.root, board, draft, by, rendering)),
            }

        return answer(made)


def _or_none(make: Callable[[], dict[str, Any]]) -> dict[str, Any] | None:
    try:
        return make()
    except UserError:  # split or merged
        return None
