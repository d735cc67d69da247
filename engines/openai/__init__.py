"""Any OpenAI-compatible endpoint: concurrent requests and retries with backoff.

The wire is aiohttp (transport.py), with an eleventh of the openai client's processor time (`docs/cluster.md`). Retried:
429, 5xx, 408, 409, 425 and broken connections, with exponential backoff and jitter, or after Retry-After; a slow answer
gets twice as long, once; a request refused for lack of capacity (429, 503) while others are served waits. Not retried:
other 4xx, and an answer that is not a chat completion (it may have been paid for). An endpoint that was never reached,
or whose first answer is 401, 403, 404 or a redirect (not followed), raises UserError; one that disappears later is
probed every few seconds.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import random
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from email.utils import parsedate_to_datetime
from queue import SimpleQueue
from typing import Any, Literal
from urllib.parse import urljoin

from livek12.core.errors import UserError
from livek12.core.records import Request, Response
from livek12.core.run.sessions import Figures
from livek12.core.text import one_line, public
from livek12.engines.base import Outcome
from livek12.engines.common import Context, Json, cannot_see, failure, has_images, versions_of
from livek12.engines.images import BadImage, Pictures
from livek12.engines.openai.format import (
    BadCompletion,
    Completion,
    RequestForm,
    fitting,
    read_completion,
    response_of,
    said_by_error,
)
from livek12.engines.openai.transport import BrokenOff, Garbled, HttpReply, NoAnswer, TooLong, Wire
from livek12.engines.thinking import Thinking, templated

RETRIED = frozenset({408, 409, 425, 429})
UNFIT = frozenset({400, 413, 414, 415, 422})
"""Statuses of a request that would be refused again: too long, or invalid for this model."""
REFUSED = frozenset({401, 403, 404})
NO_ROOM = frozenset({429, 503})
START_SECONDS, SLOWEST = 600.0, 5.0
"""Time limit of an answer: seconds to begin, and budget tokens a second. (Streaming would tell work from silence, for
45 microseconds of processor time a token: thousands of times what a long answer takes now.)
"""
MAX_ANSWER_BYTES = 16 * 2**20
"""Several times 131,072 tokens; `concurrency` of them may be in memory at once."""
FIRST_CONTACT_RETRIES = 2
LOWERINGS = 2
"""Repeats with fewer tokens: the endpoint's maximum, then the rest after the question."""
LONGEST_BACKOFF = 30.0
CLOSING_SECONDS = 10.0


class _Trouble(Exception):
    """A retryable attempt."""

    def __init__(
        self, kind: Literal["busy", "full", "slow", "gone", "garbled"], reason: str, wait: float | None = None
    ) -> None:
        super().__init__(reason)
        self.kind = kind
        self.wait = wait


class _Refused(Exception):
    """A final attempt; `final` if the request itself is refused."""

    def __init__(self, reason: str, final: bool = False, body: bytes = b"") -> None:
        super().__init__(reason)
        self.final = final
        self.body = body


class OpenAIEngine:
    """Uses `/chat/completions` under `base_url`.

    Args:
        base_url: up to and with `/v1`; default OPENAI_BASE_URL. Credentials and query in it are never written down.
        api_key: default OPENAI_API_KEY, else "EMPTY", which local servers take.
        concurrency: requests in flight; default as many as the endpoint sustains (`Pace`).
        timeout: seconds of the first attempt; default ten minutes and a second for every five requested tokens.
        max_retries: after the first attempt.
        backoff: seconds before the first retry; doubles each time, up to 30, times 0.5 to 1.5.
        extra_body: more fields of the request body.
        chat_template_kwargs: for vLLM, SGLang, llama.cpp.
        enable_thinking: switches a hybrid model's thinking, at those servers.
        reasoning_effort: for models that take it.
        max_tokens_field: "max_completion_tokens" for models that refuse "max_tokens".
        thinking_budget_field: default vLLM's; a dot leads into an object: "thinking.budget_tokens".
        omit: body fields not to send, as a JSON list.
        think_start: unusual tag that opens thinking, if the endpoint leaves it in the text.
        think_opened: the template opens thinking in the prompt.
    """

    name = "openai"
    revision: str | None = None

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        concurrency: int | None = None,
        timeout: float | None = None,
        max_retries: int = 5,
        backoff: float = 1.0,
        images: bool = True,
        extra_body: dict[str, Any] | None = None,
        chat_template_kwargs: dict[str, Any] | None = None,
        enable_thinking: bool | None = None,
        reasoning_effort: str | None = None,
        max_tokens_field: str = "max_tokens",
        thinking_budget_field: str = "thinking_token_budget",
        omit: list[str] | None = None,
        think_start: str | None = None,
        think_end: str | None = None,
        think_opened: bool = False,
    ) -> None:
        address = base_url or os.environ.get("OPENAI_BASE_URL") or ""
        if not address.startswith(("http://", "https://")):
            raise UserError(
                "the openai engine needs an address that begins with http:// or https://, as --engine-args"
                " base_url=http://… or in OPENAI_BASE_URL"
            )
        if concurrency is not None and concurrency < 1:
            raise UserError(f"concurrency={concurrency}: at least one request must be in flight")
        self.model = model
        self.images = images
        self.address = public(address)
        self._timeout = timeout
        self._max_retries = max_retries
        self._backoff = backoff
        fields: Json = dict(extra_body or {})
        if template := templated(chat_template_kwargs, enable_thinking):
            fields["chat_template_kwargs"] = template
        if reasoning_effort:
            fields["reasoning_effort"] = reasoning_effort
        self._form = RequestForm(model, fields, max_tokens_field, thinking_budget_field, frozenset(omit or []))
        self._thinking = Thinking(think_start, think_end)
        self._opened = think_opened
        self._pictures = Pictures()
        self._line = Endpoint()
        self._context = Context(model)
        self._pace = Pace(concurrency)
        self._wire = _wire(address, api_key, self._pace.most)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="openai-engine", daemon=True)
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._wire.open(), self._loop).result()

    def generate(self, requests: Iterable[Request]) -> Iterator[Outcome]:
        """Keeps requests in flight as the pace allows, and as many ready."""
        batch = Batch()
        reading = 0
        try:
            for request in requests:
                batch.waiting.append(request)
                if batch.workers < self._pace.level:
                    self._loop.call_soon_threadsafe(self._hire, batch)
                reading += 1
                while reading >= 2 * self._pace.level or not batch.done.empty():
                    reading -= 1
                    yield batch.taken()
            while reading:
                reading -= 1
                yield batch.taken()
        finally:
            if not self._loop.is_closed():
                self._loop.call_soon_threadsafe(batch.dismiss)

    @property
    def figures(self) -> Figures:
        """Figures stated by the endpoint."""
        return Figures(context=self._context.size)

    def versions(self) -> dict[str, str]:
        """The client's version alone."""
        return versions_of("aiohttp")

    def close(self) -> None:
        """Closes the connections and ends the thread."""
        if not self._thread.is_alive():
            return
        ended = asyncio.run_coroutine_threadsafe(self._end(), self._loop)
        with contextlib.suppress(TimeoutError):  # a picture in the making holds it up, and need not be waited for
            ended.result(CLOSING_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CLOSING_SECONDS)
        if ended.done():
            self._loop.close()

    async def _end(self) -> None:
        await self._wire.close()
        await self._loop.shutdown_default_executor()

    def _hire(self, batch: Batch) -> None:
        if batch.waiting and batch.workers < self._pace.level:
            batch.workers += 1
            task = self._loop.create_task(self._work(batch))
            batch.tasks.add(task)
            task.add_done_callback(batch.tasks.discard)

    async def _work(self, batch: Batch) -> None:
        while True:
            while batch.waiting:
                request = batch.waiting.popleft()
                await self._pace.enter()
                try:
                    batch.done.put(await self._outcome(request, batch))
                except Exception as error:
                    batch.done.put(error)
                finally:
                    self._pace.leave()
            # Leave first: `generate` adds first and then counts the workers.
            batch.workers -= 1
            if not batch.waiting:
                return
            batch.workers += 1

    async def _outcome(self, request: Request, batch: Batch) -> Outcome:
        try:
            if has_images(request) and not self.images:
                return cannot_see(request, self.model)
            completion, seconds, sent_in = await self._completed(request)
            self._pace.answered(sent_in, completion.completion_tokens, seconds, bool(batch.waiting))
            return self._response(request, completion, seconds)
        except (_Refused, BadImage) as error:
            return failure(request, error, final=isinstance(error, BadImage) or error.final)
        except BadCompletion as error:
            return failure(request, error)

    async def _completed(self, request: Request) -> tuple[Completion, float, int]:
        wanted, form = request.sampling.max_tokens, self._form
        tokens, refusals = self._context.left(0, wanted), 0
        while True:
            if has_images(request):
                await asyncio.to_thread(self._pictures.of, request)
                body = await asyncio.to_thread(form.body, request, tokens)
            else:
                body = form.body(request, tokens)
            self._pace.weigh(len(body))
            try:
                answer = await self._answer(body, tokens)
            except _Refused as refused:
                refusals += 1
                if limits := fitting(refused.body, tokens) if refusals <= LOWERINGS else None:
                    self._context.size, tokens = limits
                    self._context.tell(0, wanted)
                elif other := form.mended(request, refused.body, not self._line.served, self.address):
                    form = other
                else:
                    raise
            else:
                if self._form.budgets and not form.budgets:
                    self._form = form
                    form.tell_without_budgets(self.address)
                return answer

    async def _answer(self, body: bytes, tokens: int) -> tuple[Completion, float, int]:
        began, attempt, waited, slow = time.monotonic(), 0, 0, 0
        seconds = self._timeout or START_SECONDS + tokens / SLOWEST
        while True:
            if not self._line.open():
                raise _Refused(f"{self.address} stopped answering: {self._line.reason}")
            sent, sent_in = time.monotonic(), self._pace.round
            try:
                data = await self._post(body, seconds)
                return read_completion(data), time.monotonic() - sent, sent_in
            except _Trouble as trouble:
                if trouble.kind in ("full", "slow"):
                    self._pace.refused(sent_in)
                if trouble.kind == "full" and self._line.last_served > sent:
                    waited += 1  # others are served, so there is capacity
                elif self._again(slow if trouble.kind == "slow" else attempt, trouble, began):
                    attempt += 1
                else:
                    final = trouble.kind == "slow" and self._line.last_served > began
                    raise _Refused(f"{trouble} (given up after {attempt + waited + 1} attempts)", final) from None
                if trouble.kind == "slow":
                    slow, seconds = slow + 1, 2 * seconds
                await asyncio.sleep(self._pause(attempt + waited - 1, trouble))

    def _again(self, attempt: int, trouble: _Trouble, began: float) -> bool:
        """Decides on a retry; raises if the endpoint never answered."""
        never_there = self._line.last_answer == 0.0
        allowed = self._max_retries
        if never_there and trouble.kind in ("gone", "garbled"):
            allowed = min(allowed, FIRST_CONTACT_RETRIES)
        if trouble.kind == "slow":
            allowed = min(allowed, 1)
        if attempt < allowed:
            return True
        if trouble.kind == "garbled" and never_there:
            raise UserError(f"what answers at {self.address} is no endpoint ({trouble}): is the address right?")
        if trouble.kind == "gone" and never_there:
            raise UserError(f"nothing answers at {self.address} ({trouble}): is the address right and the server up?")
        if trouble.kind == "slow" and never_there:
            raise UserError(f"{self.address} answers nothing ({trouble}): is the server up, or timeout= too short?")
        if trouble.kind not in ("busy", "full") and self._line.last_answer < began:
            self._line.lost(str(trouble))
        return False

    def _pause(self, attempt: int, trouble: _Trouble) -> float:
        if trouble.wait is not None:
            return trouble.wait
        return float(min(self._backoff * 2**attempt, LONGEST_BACKOFF)) * random.uniform(0.5, 1.5)

    async def _post(self, body: bytes, seconds: float) -> bytes:
        """One attempt; raises _Trouble if a retry may help, else _Refused."""
        try:
            async with asyncio.timeout(seconds):
                answer = await self._wire.post(body)
        except TimeoutError:
            raise _Trouble("slow", f"timed out after {seconds:g} s") from None
        except NoAnswer as error:
            raise _Trouble("gone", f"no connection: {error}") from None
        except Garbled as error:
            raise _Trouble("garbled", f"the answer is no HTTP: {error}") from None
        except BrokenOff as error:
            raise _Trouble("gone", f"the answer broke off: {error}") from None
        except TooLong:
            raise _Refused(f"the endpoint's answer is longer than {MAX_ANSWER_BYTES} bytes") from None
        self._line.heard(answered=answer.good)
        if not answer.good:
            raise self._status_trouble(answer)
        return answer.data

    def _status_trouble(self, answer: HttpReply) -> Exception:
        status, message = answer.status, said_by_error(answer.data)
        reason = f"the endpoint answered {status}: {message}"
        if 300 <= status < 400:
            return self._sent_elsewhere(answer)
        if status in REFUSED and not self._line.served:
            return UserError(f"{self.address} does not serve {self.model}: {reason}")
        if (status in RETRIED or status >= 500) and "insufficient_quota" not in message:
            return _Trouble("full" if status in NO_ROOM else "busy", reason, retry_after(answer.retry_after))
        return _Refused(reason, final=status in UNFIT, body=answer.data if status in UNFIT else b"")

    def _sent_elsewhere(self, answer: HttpReply) -> Exception:
        where = elsewhere(self.address, answer.location) if answer.location else "and does not say where"
        reason = f"{self.address} sends elsewhere ({where}): give the address it really has"
        return _Refused(reason) if self._line.served else UserError(reason)

    def _response(self, request: Request, completion: Completion, seconds: float) -> Response:
        split = self._thinking.split(completion.text, self._opened and not completion.reasoning)
        return response_of(completion, split, request.key, request.prompt_sha256, self, seconds)


def _wire(address: str, api_key: str | None, connections: int) -> Wire:
    try:
        return Wire(address, api_key, connections, MAX_ANSWER_BYTES)
    except ImportError:
        raise UserError("the openai engine needs the aiohttp package: pip install aiohttp") from None


class Batch:
    """Unsent requests, workers and outcomes."""

    def __init__(self) -> None:
        self.waiting: deque[Request] = deque()
        self.done: SimpleQueue[Outcome | Exception] = SimpleQueue()
        self.workers = 0
        self.tasks: set[asyncio.Task[None]] = set()

    def taken(self) -> Outcome:
        """Next outcome or fatal error."""
        outcome = self.done.get()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def dismiss(self) -> None:
        """Cancels the rest."""
        self.waiting.clear()
        for task in self.tasks:
            task.cancel()


PROBE_SECONDS = 5.0
LONGEST_RETRY_AFTER = 300.0


class Endpoint:
    """Reachability of the endpoint."""

    def __init__(self) -> None:
        self.served = False
        self.last_answer = 0.0
        self.last_served = 0.0
        self.reason = ""
        self._next_probe: float | None = None

    def heard(self, answered: bool = False) -> None:
        """Records an HTTP answer."""
        self.last_answer = time.monotonic()
        if answered:
            self.served, self.last_served = True, self.last_answer
        self._next_probe = None

    def lost(self, reason: str) -> None:
        """Records an exhausted request."""
        self.reason = reason
        self._next_probe = time.monotonic() + PROBE_SECONDS

    def open(self) -> bool:
        """Allows sending, or a probe every few seconds."""
        now = time.monotonic()
        if self._next_probe is None:
            return True
        if now < self._next_probe:
            return False
        self._next_probe = now + PROBE_SECONDS
        return True


def retry_after(value: str | None) -> float | None:
    """Seconds of a Retry-After header (or date)."""
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return None
    return None if math.isnan(seconds) else min(max(seconds, 0.0), LONGEST_RETRY_AFTER)


def elsewhere(address: str, location: str) -> str:
    """A redirect's target as a `base_url`."""
    try:
        whole = urljoin(f"{address.rstrip('/')}/chat/completions", location)
    except ValueError:
        return "…"
    return one_line(public(whole).removesuffix("/chat/completions"), 200)


FIRST, MOST = 16, 1024
MOST_BYTES = 1 << 30
"""Of requests in flight with their pictures, whatever the speed."""
RISE = 1.15
"""Required growth of speed when concurrency doubles."""
PATIENCE = 8
"""Rounds at one level before another attempt at the next."""


class Pace:
    """Admits requests, `level` (at most `most`) at a time: the user's number, else as many as raise the throughput.

    It measures tokens a second (or answers) in rounds, raises the level while that helps and retries now and then. A
    refusal for lack of capacity or a time-out halves the level, which then grows a little each round.
    """

    def __init__(self, fixed: int | None) -> None:
        self.most = fixed or min(MOST, _descriptors())
        self.level = fixed or FIRST
        self.round = 0
        self._fixed = fixed is not None
        self._room = asyncio.Semaphore(self.level)
        self._owed = 0
        self._step = 2.0
        self._largest = 1
        self._speeds: dict[int, float] = {}
        self._waits = 0
        self._changed = True
        self._answers, self._seconds = 0, 0.0
        self._tokens: int | None = 0

    async def enter(self) -> None:
        """Waits for a free place."""
        await self._room.acquire()

    def leave(self) -> None:
        """Frees a place."""
        if self._owed:
            self._owed -= 1
        else:
            self._room.release()

    def weigh(self, size: int) -> None:
        """Adds a request's bytes in flight."""
        self._largest = max(self._largest, size)

    def answered(self, sent_in: int, tokens: int | None, seconds: float, more: bool) -> None:
        """Records an answer of the round `sent_in`; `more`: others wait."""
        if self._changed:
            self._changed = False
            self._begin()
        if self._fixed or sent_in != self.round or not more:
            return
        self._answers += 1
        self._tokens = None if tokens is None or self._tokens is None else self._tokens + tokens
        self._seconds += seconds
        if self._answers >= max(FIRST, self.level // 2):
            self._measure()

    def refused(self, sent_in: int) -> None:
        """Records a lack of capacity or a time-out."""
        if not self._fixed and sent_in == self.round:
            self._speeds.pop(self.level, None)
            self._step = 1 + 1 / 8
            self._change(max(1, self.level // 2))

    def _begin(self) -> None:
        self.round += 1
        self._answers, self._seconds, self._tokens = 0, 0.0, 0

    def _measure(self) -> None:
        work = self._answers if self._tokens is None else self._tokens
        self._speeds[self.level] = self.level * work / max(self._seconds, 1e-6)
        best = max(self._speeds.values())
        enough = min(level for level, speed in self._speeds.items() if speed * RISE >= best)
        higher = min(max(self.level + 1, int(self.level * self._step)), self.most, MOST_BYTES // self._largest)
        if self.level > 1.5 * enough:
            self._waits = PATIENCE
            self._change(enough)
        elif self._waits and self._step == 2.0:
            self._waits -= 1
            self._begin()
        else:
            self._change(max(higher, self.level))

    def _change(self, level: int) -> None:
        more = level - self.level
        self.level, self._changed = level, True
        self._begin()
        for _ in range(more):
            self.leave()
        self._owed += max(0, -more)


def _descriptors() -> int:
    try:
        import resource
    except ImportError:  # Windows
        return MOST
    return max(FIRST, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
