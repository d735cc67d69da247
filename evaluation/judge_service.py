"""The judge over HTTP, for any program: `POST /verify`, `POST /verify/batch`, `GET /health`.

Contract: every answer is JSON: judgements, or {"error": one line} with a status that says whose fault it is (413, 415,
421, 422: the request's; 503: ask again later). Bodies, rows and what is in hand at a time are bounded. Nothing of a
request is written anywhere, and no picture is read from a file.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Awaitable, Callable, MutableMapping
from types import FrameType
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from livek12.core.errors import UserError
from livek12.core.extras import install
from livek12.core.serving import Idlers, OwnNames, listen, shown_host
from livek12.core.text import one_line
from livek12.evaluation.judge_requests import MOST_IN_BODY, BadRequest, describe, many_rows, one_row, too_many_values
from livek12.evaluation.line_workers import default_size
from livek12.evaluation.verify import Judgement, Verifier

if TYPE_CHECKING:
    from fastapi import FastAPI

LARGEST_BODY = 16 * 2**20
"""Bytes of a request."""
READ_AT_MOST = 4 * LARGEST_BODY
"""Bytes of a request that are read before it is refused for its size."""
_TOO_LARGE = f"a body has {LARGEST_BODY} bytes at most"
_TOO_MANY = f"a body has {MOST_IN_BODY} values at most"
IN_HAND = 256 * 2**20
"""Bytes of all requests that are being read or answered."""
GRACE_SECONDS = 30
"""For requests in hand when the server is ended."""
BODY_SECONDS = 120
"""In which a body has to arrive."""
IDLE_SECONDS = 30
"""After which a connection on which nothing is asked may be closed; it is after twice as long."""
Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class Judgements(BaseModel):
    """One judgement a row, in their order."""

    judgements: list[Judgement]


class Problem(BaseModel):
    """Why there is no judgement, in one line."""

    error: str


class Health(BaseModel):
    """Who judges here: equal versions of the rules decide equally; judge models are asked what they leave open."""

    judge: str
    models: list[str]
    workers: int


def serve(verifier: Verifier, host: str, port: int, ready: Callable[[str, str], None]) -> None:
    """Answers until SIGINT or SIGTERM ends it; requests in hand are answered first, for a while.

    It is the last work of its process: a signal that comes after it ends the process at once.

    Args:
        verifier: who judges.
        host: the address.
        port: 0 takes a free one.
        ready: is told the address and the judges' version, when the first row is judged.

    Raises:
        UserError: the address cannot be taken, or FastAPI or uvicorn is not installed.
    """
    listening = listen(host, port)
    (first,) = verifier.batch([{"gold": "1", "response": "1"}])
    workers = verifier.workers or default_size()
    health = Health(judge=first.judge, models=_models(verifier.judge), workers=workers)
    try:
        import uvicorn

        app: Any = Gate(make_app(verifier, health), host)  # uvicorn's own types spell out every kind of message
    except ImportError as error:
        raise UserError(f"serve-judge needs {error.name}: {install('serve')}") from None
    quiet: Any = {"log_level": "error", "access_log": False}  # a warning stands for each request that is no HTTP
    config = uvicorn.Config(app, lifespan="off", ws="none", timeout_notify=IDLE_SECONDS, **quiet)
    config.timeout_graceful_shutdown = GRACE_SECONDS
    server = uvicorn.Server(config)
    config.callback_notify = Idlers(server.server_state.connections).close
    # uvicorn hands a signal on to the handlers from before. An exception of theirs, or of a second signal, would meet
    # its loop while that closes.
    _handle_signals(server.handle_exit)
    ready(f"http://{shown_host(host)}:{listening.getsockname()[1]}", health.judge)
    server.run(sockets=[listening])
    _handle_signals(lambda *_: os._exit(0))  # nothing is in hand; our processes end with this one


def _handle_signals(handler: Callable[[int, FrameType | None], None]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handler)


def _models(judge: str | None) -> list[str]:
    from livek12.evaluation.options import JudgingOptions

    panel = JudgingOptions(judge or "rules").judges().panel
    return [one.model for one in panel.judges] if panel else []


def make_app(verifier: Verifier, health: Health) -> FastAPI:
    """The application, without its gate.

    Args:
        verifier: who judges.
        health: what is said of it.
    """
    from fastapi import Body, FastAPI

    problems: Any = {status: {"model": Problem} for status in (408, 413, 415, 422, 503)}
    app = FastAPI(  # its pages of docs would be fetched from elsewhere
        title="livek12 judge", version=health.judge, docs_url=None, redoc_url=None, redirect_slashes=False
    )
    sent = Body()
    _add_errors(app)

    @app.post("/verify", responses=problems)
    async def verify(body: Any = sent) -> Judgement:
        row = await asyncio.to_thread(one_row, body)
        (judgement,) = await verifier.abatch([row], quiet=True)
        if judgement.decided_by == "input":
            raise BadRequest(judgement.reason)
        return judgement

    @app.post("/verify/batch", responses=problems)
    async def verify_batch(body: Any = sent) -> Judgements:
        rows = await asyncio.to_thread(many_rows, body)
        return Judgements(judgements=await verifier.abatch(rows, quiet=True))

    @app.get("/health")
    async def get_health() -> Health:
        return health

    describe(app.openapi())
    return app


def _add_errors(app: FastAPI) -> None:
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import JSONResponse
    from starlette.exceptions import HTTPException

    def answer(text: str, status: int) -> JSONResponse:
        return JSONResponse({"error": one_line(text, 200)}, status)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Any, error: RequestValidationError) -> JSONResponse:
        empty = error.errors()[0]["type"] == "missing"
        return answer("the body is empty" if empty else "the body is no JSON", 422)

    @app.exception_handler(HTTPException)
    async def refused(_: Any, error: HTTPException) -> JSONResponse:
        return answer(error.detail, error.status_code)

    @app.exception_handler(BadRequest)
    async def unreadable(_: Any, error: BadRequest) -> JSONResponse:
        return answer(str(error), 422)

    @app.exception_handler(UserError)
    async def unable(_: Any, error: UserError) -> JSONResponse:
        return answer(str(error), 503)


class Gate:
    """The layer around the app: whose requests pass, and how much of them.

    A browser asks nobody before it sends a form or plain text to another site; JSON it may not send unasked.

    Args:
        app: what it guards.
        host: the address it is served at.
    """

    def __init__(self, app: App, host: str) -> None:
        self._app, self._names = app, OwnNames(host)
        self._in_hand = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on, or answers it."""
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if headers.get("host", "") not in self._names:
            await _refuse(send, 421, "this server is not reached by that name")
        elif scope["method"] != "POST":
            await self._app(scope, receive, send)
        elif headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            await _refuse(send, 415, "the body has to be application/json")
        else:
            await self._with_body(scope, receive, send, headers.get("content-length", ""))

    async def _with_body(self, scope: Scope, receive: Receive, send: Send, declared: str) -> None:
        """Reads the whole body, within the bounds, and gives it to the app in one piece.

        Of one that is too large some is read and dropped: who still writes does not read our answer.
        """
        if declared.isdecimal() and int(declared) > READ_AT_MOST:
            await _refuse(send, 413, _TOO_LARGE)
            return
        body = bytearray()
        try:
            try:
                async with asyncio.timeout(BODY_SECONDS):
                    seen = await self._read(body, receive)
            except TimeoutError:
                await _refuse(send, 408, f"a body has to arrive within {BODY_SECONDS} seconds")
                return
            if seen is None:
                return
            problem = self._problem(body, seen)
            if problem is not None:
                await _refuse(send, *problem)
            else:
                await self._app(scope, _replayed(bytes(body), receive), send)
        finally:
            self._in_hand -= len(body)

    async def _read(self, body: bytearray, receive: Receive) -> int | None:
        """Reads what is within the bounds into `body`; how much came in all, None from who has gone."""
        seen, more = 0, True
        while more and seen <= READ_AT_MOST:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            piece, more = message.get("body", b""), message.get("more_body", False)
            seen += len(piece)
            if seen <= LARGEST_BODY and self._in_hand + len(piece) <= IN_HAND:
                body += piece
                self._in_hand += len(piece)
        return seen

    @staticmethod
    def _problem(body: bytearray, seen: int) -> tuple[int, str] | None:
        """Why what was read is not given to the app, with its status."""
        if seen > LARGEST_BODY:
            return 413, _TOO_LARGE
        if seen > len(body):
            return 503, "too much is being judged: ask again later"
        if b"\0" in body:  # none is in JSON, but where its bytes are not those of UTF-8
            return 422, "the body is no JSON in UTF-8"
        return (413, _TOO_MANY) if too_many_values(body) else None


def _replayed(body: bytes, receive: Receive) -> Receive:
    given = False

    async def receiving() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receiving


async def _refuse(send: Send, status: int, text: str) -> None:
    body = json.dumps({"error": text}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status in (408, 413):
        headers.append((b"connection", b"close"))  # the rest of the body is not read
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
