"""The review server: gradio's page with our piece in it, and what that piece asks for.

Contract: `serve` runs until it is stopped; every action is on the disk before it is answered. Nothing is asked of any
other machine: gradio's analytics and version checks are off, its fonts are the system's.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from livek12.core.errors import UserError
from livek12.dataset_builders.ingest.blocks import Box
from livek12.dataset_builders.review import pictures, view
from livek12.dataset_builders.review.guard import Guard, is_loopback
from livek12.dataset_builders.review.store import Store

if TYPE_CHECKING:
    from fastapi import FastAPI

STATIC = Path(__file__).resolve().parent / "static"
_TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
_SERVED = ("review.js", "parts.js", "review.css")
_QUIET = {"GRADIO_ANALYTICS_ENABLED": "False", "HF_HUB_DISABLE_TELEMETRY": "1", "GRADIO_NODE_PATH": ""}


def serve(
    store: Store, rendering: view.Rendering, reviewer: str, host: str, port: int, ready: Callable[[str], None]
) -> None:
    """Serves the page until it is interrupted.

    Args:
        store: the folder under review.
        rendering: how texts become HTML.
        reviewer: who works on it, unless the page says another name.
        host: the address; any but loopback asks for a token.
        port: 0 takes a free one.
        ready: is told the address to open.

    Raises:
        UserError: the address cannot be taken, or gradio is not installed.
    """
    listening = _listen(host, port)
    try:
        import uvicorn

        app = make_app(store, rendering, reviewer)
    except ImportError as error:
        raise UserError(
            f"the review page needs gradio ({error.name} is missing): pip install 'livek12[review]'"
        ) from None
    port = listening.getsockname()[1]
    token = "" if is_loopback(host) else secrets.token_urlsafe(24)
    shown = f"[{host}]" if ":" in host else host
    if host in ("0.0.0.0", "::"):  # opened by a name that leads here
        shown = socket.gethostname()
    guard = Guard(app, host, port, token)
    config = uvicorn.Config(guard, log_level="warning", access_log=False, timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    ready(f"http://{shown}:{port}/" + (f"?token={token}" if token else ""))
    server.run(sockets=[listening])


def make_app(store: Store, rendering: view.Rendering, reviewer: str) -> FastAPI:
    """The application, without its guard."""
    os.environ.update(_QUIET)
    import gradio as gr
    from fastapi import FastAPI

    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    _add_pictures(app, store)
    _add_data(app, store, rendering, reviewer)
    with gr.Blocks(title=f"review · {store.root.name}", analytics_enabled=False, fill_width=True) as page:
        # Where review.js draws. No gr.HTML: that evaluates strings as scripts, which the guard's policy forbids.
        gr.Column(elem_id="livek12-review")
    theme = gr.themes.Base(font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"])
    mounted: FastAPI = gr.mount_gradio_app(
        app, page, path="/", theme=theme, head=_head(), ssr_mode=False, footer_links=[], show_error=False
    )
    return mounted


def _head() -> str:
    """The piece of the page's head that brings our script, by its hash so that a new one is taken."""
    script = hashlib.sha256((STATIC / "review.js").read_bytes()).hexdigest()[:12]
    return f'<script src="review/static/review.js?{script}" type="module"></script>'


def _add_pictures(app: FastAPI, store: Store) -> None:
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

    @app.get("/review/static/{name}")
    def static(name: str) -> Any:
        if name not in _SERVED:
            raise HTTPException(404, "there is no such file")
        file = STATIC / name
        return Response(file.read_bytes(), media_type=_TYPES[file.suffix], headers={"Cache-Control": "no-store"})


def _add_data(app: FastAPI, store: Store, rendering: view.Rendering, reviewer: str) -> None:
    from fastapi import Body
    from fastapi.responses import JSONResponse

    def answer(make: Callable[[], dict[str, Any]]) -> JSONResponse:
        try:
            return JSONResponse(make(), headers={"Cache-Control": "no-store"})
        except UserError as error:
            return JSONResponse({"error": str(error)}, status_code=409, headers={"Cache-Control": "no-store"})

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
                **view.summary(board),
            }

        return answer(made)

    @app.get("/review/question/{id}")
    def question(id: str, by: str = "") -> Any:
        return answer(lambda: view.question(store.root, store.refresh(), id, by or reviewer, rendering))

    @app.post("/review/act")
    def act(said: dict[str, Any] = Body()) -> JSONResponse:  # noqa: B008 - FastAPI's way
        def made() -> dict[str, Any]:
            by, draft = str(said.get("by") or reviewer), str(said.get("draft") or "")
            rest = said.get("said") or {}
            if not isinstance(rest, dict):
                raise UserError("the action says nothing that can be read")
            action = store.act(by, str(said.get("kind") or ""), draft, rest, str(said.get("id") or ""))
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
    except UserError:  # the question was split or merged away
        return None


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(64)
    except OSError as error:
        raise UserError(f"{host}:{port}: cannot be taken ({error.strerror}); choose another with --port") from None
    return listening
