"""Judge over HTTP, for any program: `POST /verify`, `POST /verify/batch`, `GET /health`.

Contract: every answer is JSON: judgements as by `Verifier`, or {"error": one line} with a status (413, 415, 421, 422:
the request's fault; 503: retry later). Bodies, rows and concurrent requests are bounded. Requests are not stored, and
no picture is read from a file.
"""

from __future__ import annotations

import asyncio
import heapq
import json
import os
import re
import signal
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import models_json_schema

from livek12.core.errors import UserError, install
from livek12.core.serving import Idlers, OwnNames, bounded, listen, shown_host
from livek12.core.text import one_line
from livek12.evaluation.verify import Judgement, Verifier
from livek12.evaluation.workers import FIELDS, default_size

if TYPE_CHECKING:
    from fastapi import FastAPI

MOST_ROWS: Final = 1024
"""Rows of a batch."""
MOST_VALUES: Final = 4096
"""Values in a row: its fields and the entries of its lists and objects, all together."""
MOST_IN_BODY: Final = 2**18
"""Values in a body; all of its text may be one of them."""
DEEPEST: Final = 16
"""Lists and objects inside each other, in a row."""
_KNOWN: Final = frozenset({"id", *FIELDS})
_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+["\\]?', re.DOTALL)
"""A text in JSON; one that does not end goes to the end of the body, so that no place is looked at twice."""
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
_RETRY: Final = {"retry-after": "2"}
_SLICES: Final = 2
"""Slices of requests that are with the workers at once."""
_QUICK_SECONDS: Final = 0.1
REQUEST_SECONDS: Final = 600
"""Seconds of workers for a request; each works on one row at a time."""
MOST_CONNECTIONS: Final = 512
IDLE_SECONDS = 30
"""After which a connection on which nothing is asked may be closed; it is after twice as long."""
Json = dict[str, Any]
Scalar = bool | int | float | str
Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class Judgements(BaseModel):
    """One judgement a row, in their order."""

    judgements: list[Judgement]


class Problem(BaseModel):
    """Reason for no judgement, in one line."""

    error: str


class Health(BaseModel):
    """Judges of this server: equal versions of the rules decide equally; models decide the rest."""

    judge: str
    models: list[str]
    workers: int
    waiting: int = 0
    """Requests that wait for their turn."""


class Turns:
    """Queue for the workers: some rows at a time, from the request with the fewest judged rows.

    Slices grow while they are quick. A request's first row goes to `quick`, a process of its own, if that is free.
    Judge models have their own queues.
    """

    def __init__(self, verifier: Verifier, quick: Verifier | None, health: Health) -> None:
        self._verifier, self._direct, self._least = verifier, bool(health.models), max(1, health.workers)
        self._quick = quick
        self._free, self._number = _SLICES, 0
        self._queue: list[tuple[int, int, asyncio.Future[None]]] = []

    @property
    def waiting(self) -> int:
        """Number of waiting requests."""
        return sum(not turn.done() for _, _, turn in self._queue)

    async def judge(self, rows: list[Any]) -> list[Judgement]:
        """Judgements of the rows of a request."""
        if self._direct:
            return await self._verifier.abatch(rows, quiet=True)
        spent = list[float]()
        judged = await self._judge_first(rows, spent)
        size = self._least
        while len(judged) < len(rows):
            if sum(spent) > REQUEST_SECONDS:
                raise UserError(f"{len(judged)} of {len(rows)} rows took {REQUEST_SECONDS} s of workers: send fewer")
            await self._take(len(judged))
            try:
                began = time.monotonic()
                judged += await self._judged(self._verifier, rows[len(judged) : len(judged) + size], spent)
            finally:
                self._pass_on()
            size = 2 * size if time.monotonic() - began < _QUICK_SECONDS else self._least
        return judged

    async def _judge_first(self, rows: list[Any], spent: list[float]) -> list[Judgement]:
        quick, self._quick = self._quick, None
        if quick is None:
            return []
        try:
            return await self._judged(quick, rows[:1], spent)
        finally:
            self._quick = quick

    async def _judged(self, verifier: Verifier, rows: list[Any], spent: list[float]) -> list[Judgement]:
        return await verifier.abatch(rows, quiet=True, spent=spent.append)

    async def _take(self, judged: int) -> None:
        if self._free:
            self._free -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._number += 1
        heapq.heappush(self._queue, (judged, self._number, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._pass_on()
            raise

    def _pass_on(self) -> None:
        while self._queue:
            turn = heapq.heappop(self._queue)[2]
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1


def serve(verifier: Verifier, host: str, port: int, ready: Callable[[str, str], None]) -> None:
    """Answers until SIGINT or SIGTERM; requests in hand are answered first, for a while.

    The process's last work. `ready` gets the address and the judges' version.
    """
    listening = listen(host, port)
    quick = Verifier(1, verifier.undecided)
    (first,), _ = (each.batch([{"gold": "1", "response": "1"}]) for each in (verifier, quick))
    workers = verifier.workers or default_size()
    health = Health(judge=first.judge, models=_models(verifier.judge), workers=workers)
    try:
        import uvicorn

        # uvicorn's own types spell out every kind of message
        app: Any = Gate(make_app(Turns(verifier, quick, health), health), host)
    except ImportError as error:
        raise UserError(f"serve-judge needs {error.name}: {install('serve')}") from None
    quiet: Any = {"log_level": "error", "access_log": False}  # a warning stands for each request that is no HTTP
    config = uvicorn.Config(app, lifespan="off", ws="none", timeout_notify=IDLE_SECONDS, **quiet)
    config.load()
    config.http_protocol_class = bounded(config.http_protocol_class, MOST_CONNECTIONS)
    config.timeout_graceful_shutdown = GRACE_SECONDS
    server = uvicorn.Server(config)
    config.callback_notify = Idlers(server.server_state.connections).close
    # uvicorn passes signals on to earlier handlers, whose exceptions would meet its closing loop.
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


def make_app(turns: Turns, health: Health) -> FastAPI:
    """Application, without its gate."""
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
        (judgement,) = await turns.judge([row])
        if judgement.decided_by == "input":
            raise BadRequest(judgement.reason)
        return judgement

    @app.post("/verify/batch", responses=problems)
    async def verify_batch(body: Any = sent) -> Judgements:
        rows = await asyncio.to_thread(many_rows, body)
        return Judgements(judgements=await turns.judge(rows))

    @app.get("/health")
    async def get_health() -> Health:
        return health.model_copy(update={"waiting": turns.waiting})

    describe(app.openapi())
    return app


def _add_errors(app: FastAPI) -> None:
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import JSONResponse
    from starlette.exceptions import HTTPException

    def answer(text: str, status: int) -> JSONResponse:
        return JSONResponse({"error": one_line(text, 200)}, status, headers=_RETRY if status == 503 else None)

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
    """Layer around the app that bounds requests: browsers send forms and plain text unasked, but no JSON."""

    def __init__(self, app: App, host: str) -> None:
        self._app, self._names = app, OwnNames(host)
        self._in_hand = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers or forwards."""
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
        """Some of a body that is too large is dropped: a client that still writes does not read."""
        if declared.isdecimal() and int(declared) > READ_AT_MOST:
            await _refuse(send, 413, _TOO_LARGE)
            return
        body, reserved = bytearray(), min(int(declared), LARGEST_BODY) if declared.isdecimal() else 0
        fits = self._in_hand + reserved <= IN_HAND
        reserved *= fits
        self._in_hand += reserved
        try:
            try:
                async with asyncio.timeout(BODY_SECONDS):
                    seen = await self._read(body, receive, reserved, fits)
            except TimeoutError:
                await _refuse(send, 408, f"a body has to arrive within {BODY_SECONDS} seconds")
                return
            if seen is None:
                return
            problem = self._problem(body, seen)
            if problem is not None:
                await _refuse(send, *problem)
            else:
                await self._answer(scope, bytes(body), receive, send)
        finally:
            self._in_hand -= max(reserved, len(body))

    async def _answer(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        """Cancels the work when the client goes."""
        work = asyncio.ensure_future(self._app(scope, _replayed(body), send))
        gone = asyncio.ensure_future(_departure(receive))
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done() and gone.exception() is None:
                work.cancel()
                with suppress(asyncio.CancelledError):
                    await work
            else:
                await work
        finally:
            gone.cancel()
            work.cancel()

    async def _read(self, body: bytearray, receive: Receive, reserved: int, fits: bool) -> int | None:
        """Bytes received, None from a client that has gone."""
        seen, more = 0, True
        while more and seen <= READ_AT_MOST:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            piece, more = message.get("body", b""), message.get("more_body", False)
            seen += len(piece)
            more_room = max(0, min(len(piece), seen - reserved))
            if fits and seen <= LARGEST_BODY and self._in_hand + more_room <= IN_HAND:
                body += piece
                self._in_hand += more_room
        return seen

    @staticmethod
    def _problem(body: bytearray, seen: int) -> tuple[int, str] | None:
        if seen > LARGEST_BODY:
            return 413, _TOO_LARGE
        if seen > len(body):
            return 503, "too much is being judged: ask again later"
        if b"\0" in body:  # none is in JSON, but where its bytes are not those of UTF-8
            return 422, "the body is no JSON in UTF-8"
        return (413, _TOO_MANY) if too_many_values(body) else None


async def _departure(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _replayed(body: bytes) -> Receive:
    given = False

    async def receiving() -> Message:
        nonlocal given
        if given:
            await asyncio.Future()  # nothing more comes; `Gate` looks out for the client
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receiving


async def _refuse(send: Send, status: int, text: str) -> None:
    body = json.dumps({"error": text}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 503:
        headers += [(name.encode(), value.encode()) for name, value in _RETRY.items()]
    if status in (408, 413):
        headers.append((b"connection", b"close"))  # the rest of the body is not read
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class PairRow(BaseModel):
    """Answer with its key: the fields of docs/verify.md#fields-of-a-row; null counts as absent."""

    model_config = ConfigDict(extra="forbid", title="PairRow")

    id: int | str | None = Field(None, description="Passed over: judgements come in the order of the rows.")
    gold: Scalar | list[Scalar] | None = Field(None, description="The key; a list has one entry a part.")
    response: str = Field(description="A whole response, or a bare answer.")
    question: str | None = None
    question_type: str | None = None
    options: list[str | dict[str, str]] | dict[str, str] | None = None
    images: list[str | dict[str, str]] | None = Field(None, description="Data URLs or base64; no file is read.")
    unit: str | list[str | None] | None = Field(None, description="The unit printed behind the blank.")
    part_units: str | list[str | None] | None = Field(None, description="As `unit`.")
    variables: list[dict[str, Any]] | None = Field(None, description="Typed variables; `gold` may then be missing.")
    language: str | None = None
    subject: str | None = None
    solution: str | None = Field(None, description="For judge models.")
    scheme: list[Any] | str | None = Field(None, description="A marking scheme; `gold` may then be missing.")
    part_points: list[float] | None = None
    finish_reason: str | None = Field(None, description="Why the response ended, such as `length`.")
    model: str | None = Field(None, description="Who wrote the response; never judges itself.")


class PairRows(BaseModel):
    """Rows that are judged together."""

    model_config = ConfigDict(extra="forbid", title="PairRows")

    rows: list[PairRow] = Field(max_length=MOST_ROWS)


class BadRequest(Exception):
    """Unanswerable request, with the reason."""


def describe(described: Json) -> None:
    """Writes the bodies into an OpenAPI description."""
    path = "#/components/schemas/{model}"
    refs, schemas = models_json_schema([(PairRow, "validation"), (PairRows, "validation")], ref_template=path)
    described["components"]["schemas"] |= schemas["$defs"]
    models: dict[str, type[BaseModel]] = {"/verify": PairRow, "/verify/batch": PairRows}
    for place, model in models.items():
        content = described["paths"][place]["post"]["requestBody"]["content"]
        content["application/json"]["schema"] = refs[model, "validation"]


def too_many_values(body: bytes | bytearray) -> bool:
    """Tests a body before anything is made of it."""
    if body.count(b",") <= MOST_IN_BODY:
        return False
    most = 2 * MOST_IN_BODY + 2  # a value is a text at most, with one for its name
    rest, texts = _STRING.subn(b"", body, most)
    return texts == most or rest.count(b",") > MOST_IN_BODY


def one_row(body: Any) -> Any:
    """Row in a body; raises BadRequest."""
    _check(body, "")
    return body


def many_rows(body: Any) -> list[Any]:
    """Rows in the body of a batch; raises BadRequest."""
    rows = body.get("rows") if isinstance(body, dict) else None
    if not isinstance(rows, list) or len(body) > 1:
        raise BadRequest('a batch is an object with nothing but a list of rows: {"rows": […]}')
    if len(rows) > MOST_ROWS:
        raise BadRequest(f"rows: {len(rows)} of them, where a batch has {MOST_ROWS} at most")
    for number, row in enumerate(rows):
        _check(row, f"rows.{number}.")
    return rows


def _check(row: Any, where: str) -> None:
    level, seen, head = [row], 0, where and f"{where[:-1]}: "
    for _ in range(DEEPEST + 1):
        level = [inner for value in level for inner in _inside(value)]
        seen += len(level)
        if seen > MOST_VALUES:
            raise BadRequest(f"{head}a row has {MOST_VALUES} values at most, all lists together")
    if level:
        raise BadRequest(f"{head}a row has more than {DEEPEST} lists and objects inside each other")
    for name in row if isinstance(row, Mapping) else ():
        if name not in _KNOWN:
            raise BadRequest(f"{where}{name:.80}: there is no such field")


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
