"""One judge model: cached, retried, accounted for; alone on its device, or in turns (`Schedule`).

`JudgeModel.ask` is thread-safe and never raises for a failure of a model or endpoint. The store caches replies, not
failures. Malformed replies are retried here (`engines.asking`), transport failures by the engine. A request that the
judge refuses (too long) has a `final` problem.

Of the judges that share a `Schedule` one is loaded; the others answer `NOT_UP`, and the response waits for another
round (`waits_for_turn`). `end_round` loads the judge with most refused requests; call it with no request in flight.
Each request is sent once, and verdicts equal those of judges loaded together. A judge whose engine `gathers` answers
`NOT_UP` too, and gets the requests of a round together at its end.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from livek12.core.engine_kinds import kind_of
from livek12.core.errors import UserError
from livek12.core.prices import Prices
from livek12.core.records import Call, Failure, Key, Request, Response, Sampling, canonical_json
from livek12.core.replies import MAX_REPLY, Unreadable
from livek12.core.run.spec import TRAVEL_ARGS
from livek12.core.store import Store, digest_of
from livek12.core.text import one_line
from livek12.engines.asking import ATTEMPTS, ModelSpec, ReplyMemory, Sender, drawn, memory_key, problem_of
from livek12.engines.sessions import SessionWriter
from livek12.judges.llm.families import short_name
from livek12.judges.llm.forms import Form
from livek12.judges.llm.prompts import AnyPrompt, Values, load_prompt

if TYPE_CHECKING:
    from livek12.engines.base import Engine, Outcome

NOT_UP = "it is another judge's turn"
"""The problem of a request that was not sent; verdicts with it are never stored."""


def waits_for_turn(calls: Iterable[Call]) -> bool:
    """Checks whether a request waits for its judge's turn."""
    return any(call.problem == NOT_UP for call in calls)


class Schedule:
    """Turns of judges that share a device."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._up: JudgeModel | None = None
        self._wanted: dict[str, JudgeModel] = {}
        self._asked: Counter[str] = Counter()
        self._been_up: set[str] = set()
        self._gathering: set[JudgeModel] = set()
        self._reached = 0
        self._paid: set[int] = set()
        self._failed: dict[int, Call] = {}

    def admits(self, judge: JudgeModel) -> bool:
        """Checks whether the judge may be loaded; claims a free turn."""
        with self._lock:
            if self._up is None:
                self._up = judge
            return self._up is judge

    def want(self, judge: JudgeModel) -> None:
        """Counts a refused request of the judge."""
        with self._lock:
            self._wanted[judge.name] = judge
            self._asked[judge.name] += 1

    def gather(self, judge: JudgeModel) -> None:
        """Notes a judge with requests for the end of the round."""
        with self._lock:
            self._gathering.add(judge)

    def end_round(self) -> None:
        """Asks the gathered requests, and gives the turn to the judge with most refused ones.

        Raises:
            UserError: the round made no progress.
        """
        while self._gathering:
            self._gathering.pop().ask_gathered()
        if self._up is not None:
            self._been_up.add(self._up.name)
        reached = len(self._paid) + len(self._been_up)
        if reached == self._reached:
            raise UserError(
                "the judges' replies are not remembered (is the disk of the cache full?), so that they cannot take "
                "turns: make room, or load all judges at once with --stages overlap"
            )
        self._reached = reached
        if self._up is not None:
            self._up.close()
        self._up = self._wanted[self._asked.most_common(1)[0][0]] if self._asked else None
        self._wanted.clear()
        self._asked.clear()

    def keep(self, request: int, failed: Call | None) -> None:
        """Records a request of this sitting, and its failure."""
        with self._lock:
            self._paid.add(request)
            if failed is not None:
                self._failed[request] = failed

    def paid(self, request: int) -> bool:
        """Checks whether this sitting sent the request."""
        return request in self._paid

    def failure(self, request: int) -> Call | None:
        """The request's failure in this sitting."""
        return self._failed.get(request)


class Gathered:
    """Requests of one round, on disk; `places` are the calls that wait for each, by the digest of its cache key."""

    def __init__(self) -> None:
        self.places: dict[bytes, list[tuple[int, str]]] = {}
        self._lock, self._lines = threading.Lock(), TemporaryFile()  # noqa: SIM115 (it ends with this object)

    def add(self, digest: bytes, here: int, prompt: str, request: Request) -> None:
        """Adds a request; one of equal content is asked once."""
        key = request.key.model_copy(update={"task": READY, "question_id": digest.hex()})
        with self._lock:
            if digest not in self.places:
                self._lines.write(request.model_copy(update={"key": key}).model_dump_json().encode() + b"\n")
            self.places.setdefault(digest, []).append((here, prompt))

    def requests(self) -> Iterator[Request]:
        """All requests, in order."""
        self._lines.seek(0)
        return map(Request.model_validate_json, self._lines)


T = TypeVar("T")
_log = logging.getLogger(__name__)
READY = "ready"
"""The prompt that an endpoint is tried with."""
GIVE_UP_AFTER = 3
_BUILDING = threading.Lock()
"""Engines are built one at a time: two threads cannot import their libraries at once."""


SAMPLING = Sampling(temperature=0.0, max_tokens=4096)


@dataclass(frozen=True)
class JudgeSpec(ModelSpec):
    """A judge as the user names it.

    Attributes:
        family: its trainer, if the table of `families` lacks it.
        sampling: `max_tokens` has to leave room for a thinking judge.
    """

    family: str | None = None
    prices: Prices | None = None
    sampling: Sampling = SAMPLING

    @property
    def name(self) -> str:
        """Name in votes (see `short_name`)."""
        return short_name(self.model)

    @property
    def identity(self) -> list[Any]:
        """All that may change the judge's replies."""
        args = {name: value for name, value in sorted(self.engine_args.items()) if name not in TRAVEL_ARGS}
        return [self.model, self.engine, args, self.sampling.model_dump()]


@dataclass(frozen=True)
class Answer(Generic[T]):
    """The value or (None) the problem, and all requests sent.

    `lost`: there was no reply, so a later retry makes sense.
    """

    value: T | None
    calls: tuple[Call, ...]
    problem: str = ""
    lost: bool = False

    @property
    def raw(self) -> str | None:
        """Text of the last reply."""
        return next((call.raw for call in reversed(self.calls) if call.raw is not None), None)


class JudgeModel:
    """A judge model; its engine is built on first use.

    Args:
        spec: the judge.
        store: caches replies.
        engine: a loaded engine.
        schedule: shared by judges in turns; needs a store.
        sessions: the run folder that records the engine's time.
    """

    def __init__(
        self,
        spec: JudgeSpec,
        store: Store | None = None,
        engine: Engine | None = None,
        schedule: Schedule | None = None,
        sessions: Path | None = None,
    ) -> None:
        self.spec = spec
        self._store = store
        self._memory = ReplyMemory(None if kind_of(spec.engine).is_recorded else store)
        self._engine = engine
        self._schedule = schedule
        kind = kind_of(spec.runs_on)
        self._takes_turns = schedule is not None and not kind.is_elsewhere
        self._gathered = Gathered() if schedule is not None and kind.gathers else None
        self._price_share = kind.price_share
        self._sessions = sessions
        self._sitting: SessionWriter | None = None
        self._up = ExitStack()
        if engine is not None:
            self._up.callback(engine.close)
        self._known_to_see: bool | None = None
        self._sender: Sender | None = None
        self._lock = threading.Lock()
        self._ended = False
        self._failed = 0
        self._down = ""
        self.asked = 0
        """Requests put so far."""

    def start(self) -> None:
        """Builds the engine before the first request."""
        self._started()

    def try_out(self) -> None:
        """Starts the judge and sends an endpoint a small request."""
        try:
            engine = self._started()
            kind = kind_of(engine.name)
            failed = kind.place == "endpoint" and not kind.gathers and self._sent(engine, self._trial())
        except UserError as error:
            raise UserError(f"judge {self.name} cannot be asked: {one_line(error)}") from error
        if isinstance(failed, Failure):
            raise UserError(f"judge {self.name} cannot be asked: {failed.reason}")

    def _trial(self) -> Request:
        messages, _ = load_prompt(READY).messages({})
        return Request(key=Key(task=READY, question_id=self.name), messages=messages, sampling=self.spec.sampling)

    @property
    def name(self) -> str:
        """Name in votes; for recordings, once started, the recorded model's."""
        recorded = self._engine is not None and kind_of(self.spec.engine).is_recorded
        return short_name(self._engine.model) if recorded and self._engine else self.spec.name

    @property
    def sees(self) -> bool:
        """Checks whether the judge takes images.

        True for a judge that never was loaded: its first request settles this.
        """
        if self._known_to_see is None and self._takes_turns and self._store is not None:
            stored = self._store.get(self._eyes)
            self._known_to_see = None if stored is None else stored == "true"
        if self._known_to_see is None:
            return self._sleeps() or self._started().images
        return self._known_to_see

    @property
    def _eyes(self) -> str:
        """Store key of the judge's vision, known without loading it."""
        return canonical_json(["sees", self.spec.identity])

    def ask(self, key: Key, prompt: AnyPrompt, values: Values, form: Form[T], trial: int = 0) -> Answer[T]:
        """Sends one question to the judge.

        Args:
            key: prompt (as `task`), question and response. Recordings have the trial `trial * ATTEMPTS + attempt`.
            prompt: the wording.
            values: for its placeholders.
            form: of the reply.
            trial: another draw (seed and cache entry differ).
        """
        calls: list[Call] = []
        try:
            messages, images = prompt.messages(values)
        except ValueError as error:
            return Answer(None, (), f"{self.name}: cannot be asked: {one_line(error)}")
        first = Request(
            key=key.model_copy(update={"trial": trial}),
            messages=messages,
            images=images,
            sampling=self.spec.sampling,
            answer_schema=form.schema,
        )
        for attempt in range(ATTEMPTS):
            request = drawn(first, attempt)
            call, cut = self._call(prompt, request)
            if call.raw is None:
                calls.append(call)
                break
            try:
                value = form.read(call.raw)
            except Unreadable as error:
                calls.append(call.model_copy(update={"problem": problem_of(error, cut, request)}))
                continue
            return Answer(value, (*calls, call))
        return self._unanswered(calls)

    def _unanswered(self, calls: list[Call]) -> Answer[Any]:
        replies, last = [call for call in calls if call.raw is not None], calls[-1]
        if last.raw is None and (last.waits or not replies):
            return Answer(None, tuple(calls), f"{self.name}: {last.problem}", lost=last.waits)
        return Answer(None, tuple(calls), f"{self.name}: no readable reply in {len(replies)}: {replies[-1].problem}")

    def end(self) -> None:
        """Closes the engine for good, also for late threads."""
        self._ended = True
        self.close()

    def close(self) -> None:
        """Closes the engine; idempotent."""
        with self._lock:
            if self._sender is not None:
                self._sender.close()
            self._engine = self._sender = None
            self._up.close()

    def _call(self, prompt: AnyPrompt, request: Request) -> tuple[Call, bool]:
        key = self._memory_key(prompt, request)
        here = hash((key, str(request.key)))
        remembered = self._memory.get(key)
        if remembered is not None:
            now = self._schedule is not None and self._schedule.paid(here)
            return self._made(prompt, remembered, remembered=not now), remembered.finish_reason == "length"
        if self._schedule is not None and (failed := self._schedule.failure(here)):
            return failed, False
        if self._down:
            return Call(judge=self.name, prompt=prompt.id, problem=self._down), False
        if self._schedule is not None and self._sleeps():
            self._schedule.want(self)
            return Call(judge=self.name, prompt=prompt.id, problem=NOT_UP), False
        if self._schedule is not None and self._gathered is not None:
            self._gathered.add(digest_of(key), here, prompt.id, request)
            self._schedule.gather(self)
            return Call(judge=self.name, prompt=prompt.id, problem=NOT_UP), False
        outcome = self._outcome(request)
        if isinstance(outcome, Failure):
            call = self._failed_call(prompt.id, outcome)
        else:
            call = self._made(prompt, outcome, remembered=False)
            self._memory.put(key, outcome)
        if self._schedule is not None:
            self._schedule.keep(here, call if isinstance(outcome, Failure) else None)
        return call, isinstance(outcome, Response) and outcome.finish_reason == "length"

    def _failed_call(self, prompt: str, failed: Failure) -> Call:
        return Call(judge=self.name, prompt=prompt, problem=failed.reason, final=failed.final)

    def ask_gathered(self) -> None:
        """Asks the requests of a round together, and keeps their replies for the next."""
        assert self._gathered is not None and self._schedule is not None
        gathered, self._gathered = self._gathered, Gathered()
        self.asked += len(gathered.places)
        for outcome in Sender(self._started()).generate(gathered.requests()):
            digest = bytes.fromhex(outcome.key.question_id)
            if isinstance(outcome, Response):
                self._memory.put(digest, outcome)
            for here, prompt in gathered.places[digest]:
                call = self._failed_call(prompt, outcome) if isinstance(outcome, Failure) else None
                self._schedule.keep(here, call)
            if (sitting := self._sitting) is not None:
                sitting.count(1, outcome.completion_tokens if isinstance(outcome, Response) else 0)

    def _sleeps(self) -> bool:
        return self._takes_turns and self._schedule is not None and not self._schedule.admits(self)

    def _memory_key(self, prompt: AnyPrompt, request: Request) -> str:
        # One name may be another model at another address.
        address = self.spec.engine_args.get("base_url") or os.environ.get("OPENAI_BASE_URL", "")
        return memory_key([prompt.sha256, self.spec.identity, address], request)

    def _outcome(self, request: Request) -> Outcome:
        """The engine's outcome; repeated exceptions put the judge out of service."""
        engine = self._started()
        self.asked += 1
        try:
            outcome = self._sent(engine, request)
        except UserError as error:
            self._failed += 1
            if self._failed >= GIVE_UP_AFTER:
                self._down = f"cannot be asked: {one_line(error)}"
            return Failure(key=request.key, state="failed", reason=one_line(error))
        except Exception as error:  # a library may raise anything; one request must not end the run
            return Failure(key=request.key, state="failed", reason=one_line(error))
        if isinstance(outcome, Response):
            self._failed = 0
        if (sitting := self._sitting) is not None:
            sitting.count(1, outcome.completion_tokens if isinstance(outcome, Response) else 0)
        return outcome

    def _sent(self, engine: Engine, request: Request) -> Outcome:
        with self._lock:
            self._sender = self._sender or Sender(engine)
        return self._sender.outcome(request)

    def _started(self) -> Engine:
        spec = self.spec
        with self._lock:
            if self._ended:
                raise UserError("the judge was closed before it was asked")
            if self._engine is None:
                with _BUILDING, ExitStack() as stack:
                    sitting = SessionWriter(self._sessions, "judge", spec.runs_on, spec.model, spec.engine_args)
                    stack.enter_context(sitting)
                    self._engine = spec.start(self._sessions)
                    stack.callback(self._engine.close)
                    sitting.loaded(self._engine)
                    self._sitting = sitting
                    self._up = stack.pop_all()
                self._known_to_see = self._engine.images
                if self._takes_turns and self._store is not None:
                    self._store.put(self._eyes, json.dumps(self._known_to_see))
            return self._engine

    def _made(self, prompt: AnyPrompt, response: Response, remembered: bool) -> Call:
        prices = self.spec.prices
        counts = (response.prompt_tokens, response.cached_tokens, response.completion_tokens)
        return Call(
            judge=self.name,
            prompt=prompt.id,
            raw=response.text[: MAX_REPLY + 1],
            prompt_tokens=response.prompt_tokens,
            cached_tokens=response.cached_tokens,
            completion_tokens=response.completion_tokens,
            reasoning_tokens=response.reasoning_tokens,
            seconds=response.seconds,
            cost=prices.cost(*counts, self._price_share) if prices else None,
            remembered=remembered,
        )
