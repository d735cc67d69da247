"""Requests to a model, cached and retried. Model names: MODEL[@ENGINE[:K=V,…]].

The cache holds raw replies, without failures, under the model's whole input. A malformed reply is retried, up to
`ATTEMPTS`: attempt k adds k to the seed and raises a set temperature to at least 0.3·k, as the same draw would give the
same reply. A model that refuses JSON schemas is asked without; parsing is as strict.
"""

from __future__ import annotations

import json
import logging
import queue
import re
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from livek12.core.arguments import arguments_of, parse_engine_args, split_at_commas
from livek12.core.engine_kinds import engine_names, is_engine, kind_of
from livek12.core.errors import UserError
from livek12.core.records import Failure, Key, Request, Response, canonical_json
from livek12.core.replies import Unreadable
from livek12.core.store import Store
from livek12.core.text import one_line
from livek12.engines import choose_engine, in_folder, make_engine
from livek12.engines.base import Engine, Outcome

T = TypeVar("T")
_log = logging.getLogger(__name__)
ATTEMPTS = 3
REPLIES = "replies"
"""The store of replies."""
_NO_SCHEMA = ("response_format", "json_schema", "guided", "structured")


@dataclass(frozen=True)
class Reply(Generic[T]):
    """Parsed value, or (None) the problem; `failed`: worth a retry later."""

    key: Key
    value: T | None
    problem: str = ""
    failed: bool = False


class Asker:
    """One model, with many concurrent requests."""

    def __init__(self, engine: Engine, store: Store | None = None) -> None:
        self._engine, self._memory, self._sender = engine, ReplyMemory(store), Sender(engine)

    @property
    def model(self) -> str:
        """The model's name."""
        return self._engine.model

    def outcomes(self, requests: Iterable[Request]) -> Iterator[Outcome]:
        """One outcome a request, in any order."""
        remembered: deque[Response] = deque()
        names: dict[str, str] = {}

        def unknown() -> Iterator[Request]:
            for request in requests:
                name = memory_key([self._engine.model, self._engine.revision], request)
                if reply := self._memory.get(name):
                    remembered.append(reply.model_copy(update={"key": request.key}))
                else:
                    names[str(request.key)] = name
                    yield request

        for outcome in self._sender.generate(unknown()):
            name = names.pop(str(outcome.key))
            if isinstance(outcome, Response):
                self._memory.put(name, outcome)
            yield outcome
            while remembered:
                yield remembered.popleft()
        yield from remembered

    def replies(
        self, requests: Iterable[Request], read: Callable[[Key, str], T], whole: bool = False
    ) -> Iterator[Reply[T]]:
        """Parsed replies in any order; `whole` rejects cut ones."""
        problems: dict[Key, str] = {}
        open_requests = requests
        for attempt in range(ATTEMPTS):
            sent: dict[Key, Request] = {}
            again: list[Request] = []
            for outcome in self.outcomes(_noted(open_requests, attempt, sent)):
                request = sent.pop(outcome.key)
                if isinstance(outcome, Failure):
                    failed = outcome.state == "failed" and not (attempt and outcome.final)
                    reason = f"{outcome.state}: {one_line(outcome.reason)}"
                    yield Reply(request.key, None, problems.get(request.key, reason), failed)
                    continue
                try:
                    if whole and outcome.finish_reason == "length":
                        raise Unreadable("is not whole")
                    value = read(request.key, outcome.text)
                except Unreadable as error:
                    problems[request.key] = problem_of(error, outcome.finish_reason == "length", request)
                    again.append(request)
                else:
                    yield Reply(request.key, value)
            if not again:
                return
            open_requests = again
        yield from (Reply(request.key, None, problems[request.key]) for request in again)

    def close(self) -> None:
        """Closes the store; reusable."""
        self._memory.close()


class Sender:
    """A thread-safe engine; drops JSON schemas once refused."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._schemas = True
        self._batcher: Batcher | None = None
        self._lock = threading.Lock()

    def outcome(self, request: Request) -> Outcome:
        """The outcome; a single-threaded engine gets all waiting requests."""
        if kind_of(self._engine.name).is_direct:
            return next(iter(list(self.generate([request]))))
        with self._lock:
            batcher = self._batcher = self._batcher or Batcher(self)
        return batcher.outcome(request)

    def close(self) -> None:
        """Ends the sending thread; the engine is the caller's."""
        with self._lock:
            if self._batcher is not None:
                self._batcher.close()
            self._batcher = None

    def generate(self, requests: Iterable[Request]) -> Iterator[Outcome]:
        """Outcomes, serialised for single-threaded engines."""
        sent: dict[Key, Request] = {}
        refused: list[Request] = []
        for outcome in self._engine.generate(self._taken(requests, sent)):
            request = sent.pop(outcome.key, None)
            if request is None or not (
                isinstance(outcome, Failure) and any(word in outcome.reason.lower() for word in _NO_SCHEMA)
            ):
                yield outcome
                continue
            if self._schemas:
                _log.warning("%s takes no JSON schema; its replies are only read strictly", self._engine.model)
            self._schemas = False
            refused.append(_plain(request))
        if refused:
            yield from self._engine.generate(refused)

    def _taken(self, requests: Iterable[Request], sent: dict[Key, Request]) -> Iterator[Request]:
        for request in requests:
            if request.answer_schema is None or not self._schemas:
                yield _plain(request)
            else:
                sent[request.key] = request
                yield request


class ReplyMemory:
    """Reply cache, by `memory_key`."""

    def __init__(self, store: Store | None) -> None:
        self._store = store

    def get(self, name: str) -> Response | None:
        """The reply, if readable."""
        text = self._store.get(name) if self._store is not None else None
        if text is None:
            return None
        try:
            return Response(key=Key(task="", question_id=""), **json.loads(text))
        except (ValueError, TypeError):
            return None

    def put(self, name: str | bytes, reply: Response) -> None:
        """Stores a reply."""
        if self._store is not None:
            self._store.put(name, reply.model_dump_json(exclude={"key", "reasoning", "versions"}))

    def close(self) -> None:
        """Closes the store."""
        if self._store is not None:
            self._store.close()


def memory_key(recipient: Sequence[Any], request: Request) -> str:
    """Cache key of a reply: recipient and request."""
    given = request.model_dump(include={"messages", "sampling", "answer_schema"})
    return canonical_json([*recipient, given, request.key.trial])


def drawn(request: Request, attempt: int) -> Request:
    """Request with the seed and temperature of an attempt (from 0)."""
    sampling, key = request.sampling, request.key
    if attempt and sampling.temperature is not None:
        sampling = sampling.model_copy(update={"temperature": max(sampling.temperature, 0.3 * attempt)})
    trial = key.trial * ATTEMPTS + attempt
    return request.model_copy(update={"key": key.model_copy(update={"trial": trial}), "sampling": sampling})


def problem_of(error: Unreadable, cut: bool, request: Request) -> str:
    """Problem with a malformed or cut reply."""
    return f"the reply {f'was cut off at {request.sampling.max_tokens} tokens and ' if cut else ''}{error}"


def _noted(requests: Iterable[Request], attempt: int, sent: dict[Key, Request]) -> Iterator[Request]:
    for request in requests:
        attempted = drawn(request, attempt)
        if attempted.key not in sent:  # duplicate ids are sent one at a time
            sent[attempted.key] = request
            yield attempted


def _plain(request: Request) -> Request:
    return request.model_copy(update={"answer_schema": None})


class Generates(Protocol):
    """Part of an engine."""

    def generate(self, requests: Iterable[Request]) -> Iterator[Outcome]:
        """One outcome a request."""
        ...


class Batcher:
    """Batches requests of threads for a single-threaded engine."""

    def __init__(self, engine: Generates) -> None:
        self._engine = engine
        self._waiting: queue.SimpleQueue[tuple[Request, Future[Outcome]] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._serve, name="batcher", daemon=True)
        self._thread.start()

    def outcome(self, request: Request) -> Outcome:
        """Waits for the outcome."""
        future: Future[Outcome] = Future()
        with self._lock:
            if self._closed:
                raise UserError("the engine was closed before it was asked")
            self._waiting.put((request, future))
        return future.result()

    def close(self) -> None:
        """Ends the thread after its queue."""
        with self._lock:
            self._closed = True
            self._waiting.put(None)
        self._thread.join(timeout=60)

    def _serve(self) -> None:
        while (first := self._waiting.get()) is not None:
            sent: list[Future[Outcome]] = []
            stop = self._round(first, sent)
            if stop:
                return

    def _round(self, first: tuple[Request, Future[Outcome]], sent: list[Future[Outcome]]) -> bool:
        keys: list[Key] = []
        stop = False

        def take() -> Iterator[Request]:
            nonlocal stop
            item: tuple[Request, Future[Outcome]] | None = first
            while item is not None:
                request, future = item
                sent.append(future)
                keys.append(request.key)
                number = Key(task="batch", question_id=str(len(sent) - 1), trial=request.key.trial)
                yield request.model_copy(update={"key": number})
                try:
                    item = self._waiting.get_nowait()
                except queue.Empty:
                    return
                stop = item is None

        try:
            for outcome in self._engine.generate(take()):
                number = int(outcome.key.question_id)
                sent[number].set_result(outcome.model_copy(update={"key": keys[number]}))
        except BaseException as error:
            for future in sent:
                if not future.done():
                    future.set_exception(error)
        for future in sent:
            if not future.done():
                future.set_exception(UserError("the engine gave no outcome"))
        return stop


_ENGINE = re.compile(r"(?<=.)@(\w[\w-]*)(?=:|\Z)", re.DOTALL)
_NO_ENGINE = re.compile(r"@(\w+):\w+=")


@dataclass(frozen=True)
class ModelSpec:
    """A model (Hub name, folder, served name, or recorded replies), its engine and `--engine-args`."""

    model: str
    engine: str = "auto"
    engine_args: Mapping[str, Any] = field(default_factory=dict)

    @property
    def runs_on(self) -> str:
        """Engine of `auto`; a vLLM with an address is an endpoint."""
        engine = choose_engine(self.model, self.engine_args) if self.engine == "auto" else self.engine
        return "openai" if engine == "vllm" and self.engine_args.get("base_url") else engine

    def start(self, run: Path | None = None) -> Engine:
        """Loaded engine, with its state in the run folder; the caller closes it."""
        return make_engine(self.engine, self.model, {**in_folder(self.engine, run), **self.engine_args})


def model_spec(text: str, option: str, engine: str = "", engine_args: str | Mapping[str, Any] = "") -> ModelSpec:
    """Parses one model; errors contain no secret."""
    text = text.strip()
    if not text:
        raise UserError(f"{option} names no model: give MODEL or MODEL@ENGINE[:K=V,…]")
    if own := next((mark for mark in _ENGINE.finditer(text) if is_engine(mark[1])), None):
        given = text[own.end() + 1 :]
        return ModelSpec(text[: own.start()], own[1], parse_engine_args(given) if given else arguments_of(engine_args))
    if unknown := _NO_ENGINE.search(text):
        raise UserError(f"{option}: {unknown[1]!r} is no such engine; there are {', '.join(engine_names())}")
    return ModelSpec(text, engine or "auto", arguments_of(engine_args))


def model_specs(text: str, option: str, engine: str = "", engine_args: str | Mapping[str, Any] = "") -> list[ModelSpec]:
    """Parses models between commas, each with its arguments K=V."""
    pieces: list[str] = []
    for piece in split_at_commas(text):
        if pieces and "@" in pieces[-1] and re.match(r"\s*[A-Za-z_]\w*=", piece):
            pieces[-1] += "," + piece
        else:
            pieces.append(piece)
    return [model_spec(piece, option, engine, engine_args) for piece in pieces]
