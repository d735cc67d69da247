"""One judge model: asks it anything that a prompt file words and a form reads; cached, retried, accounted for.

Contract: `JudgeModel.ask` may be called from any number of threads and never raises for what a model or an endpoint
does: an `Answer` has a value, or says in one line why not. (Of judges that take turns, it raises `Asleep` where it is
another's turn.) Replies are remembered on disk by (prompt, model and
revision, engine arguments, messages with image hashes, schema, sampling, trial), so that a marking that was killed or
is repeated asks nothing twice; what failed on the way is not remembered and is asked again. A reply that is not in its
form is asked for again, at most `ATTEMPTS` times in all: attempt k adds k to the seed and raises the temperature (where
one is set) to at least 0.3·k, for the same draw would give the same reply. Failures to get any reply are the
engine's to retry; they end the asking. A judge that refuses the very request (too long for it) has had its say: the
problem is `final`, and nobody asks again.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from livek12.core.engines.common import one_line
from livek12.core.errors import UserError
from livek12.core.records import Call, Failure, Key, Request, Response, Sampling, canonical_json
from livek12.core.sessions import Sitting
from livek12.judges.cache import Store
from livek12.judges.llm.desk import Desk
from livek12.judges.llm.families import normalised
from livek12.judges.llm.forms import MAX_REPLY, Form, Unreadable
from livek12.judges.llm.prompts import Prompt, Values
from livek12.judges.llm.turns import Turns

if TYPE_CHECKING:
    from livek12.core.engines.base import Engine, Outcome

T = TypeVar("T")
_log = logging.getLogger(__name__)
ATTEMPTS = 3
DIRECT = frozenset({"openai", "replay"})
"""Engines that many threads may use at once; the others are given what is waiting, all at once."""
GIVE_UP_AFTER = 3
_BUILDING = threading.Lock()
"""Engines are built one after another: their libraries cannot be imported by two threads at once."""
_TRAVEL = frozenset({"base_url", "api_key", "concurrency", "timeout", "max_retries", "backoff", "window", "batch_size"})
_NO_SCHEMA = ("response_format", "json_schema", "guided", "structured")


@dataclass(frozen=True)
class Prices:
    """What a judge costs, for a million tokens each; cached prompt tokens at their own price, else as prompt."""

    prompt: float
    completion: float
    cached: float | None = None

    def cost(self, prompt: int | None, cached: int | None, completion: int | None) -> float | None:
        """The cost of one request; None where a count is missing."""
        if prompt is None or completion is None:
            return None
        known = min(cached or 0, prompt) if self.cached is not None else 0
        return ((prompt - known) * self.prompt + known * (self.cached or 0.0) + completion * self.completion) / 1e6


SAMPLING = Sampling(temperature=0.0, max_tokens=4096)


@dataclass(frozen=True)
class JudgeSpec:
    """A judge as the user names it.

    Attributes:
        model: Hub name, folder, served name, or a file of recorded replies.
        engine: auto, vllm, transformers, openai or replay.
        engine_args: as for `--engine-args`.
        family: who trains it, where the table of `families` does not know.
        prices: for the accounting.
        sampling: temperature 0 unless set; `max_tokens` has to leave room for a thinking judge.
    """

    model: str
    engine: str = "auto"
    engine_args: Mapping[str, Any] = field(default_factory=dict)
    family: str | None = None
    prices: Prices | None = None
    sampling: Sampling = SAMPLING

    @property
    def name(self) -> str:
        """The name in votes: equal for a model and its quantised or otherwise served variants."""
        return normalised(self.model)

    @property
    def runs_on(self) -> str:
        """The engine that `auto` comes to; a vLLM with an address is an endpoint."""
        from livek12.core.engines import choose_engine

        engine = choose_engine(self.model, self.engine_args) if self.engine == "auto" else self.engine
        return "openai" if engine == "vllm" and self.engine_args.get("base_url") else engine

    @property
    def identity(self) -> list[Any]:
        """All that may change what the judge says; how requests travel is left out."""
        args = {name: value for name, value in sorted(self.engine_args.items()) if name not in _TRAVEL}
        return [self.model, self.engine, args, self.sampling.model_dump()]


@dataclass(frozen=True)
class Answer(Generic[T]):
    """What came of asking: a value, or (None) the problem in one line; and every request that was put.

    `lost`: no reply could be had, and asking again later makes sense.
    """

    value: T | None
    calls: tuple[Call, ...]
    problem: str = ""
    lost: bool = False

    @property
    def raw(self) -> str | None:
        """The text of the last reply."""
        return next((call.raw for call in reversed(self.calls) if call.raw is not None), None)


class JudgeModel:
    """A judge that can be asked. The engine is built when first needed.

    Args:
        spec: the judge.
        store: where replies are remembered; None remembers nothing.
        engine: an engine that is already up, instead of building one.
        turns: shared by judges that may only be up one at a time; it needs a store.
        sessions: the run folder in which the engine's time is kept.
    """

    def __init__(
        self,
        spec: JudgeSpec,
        store: Store | None = None,
        engine: Engine | None = None,
        turns: Turns | None = None,
        sessions: Path | None = None,
    ) -> None:
        self.spec = spec
        self._store = store
        self._engine = engine
        self._turns = turns
        self._takes_turns = turns is not None and spec.runs_on not in DIRECT
        self._sessions = sessions
        self._up = ExitStack()
        if engine is not None:
            self._up.callback(engine.close)
        self._known_to_see: bool | None = None
        self._desk: Desk | None = None
        self._lock = threading.Lock()
        self._schemas = True
        self._failed = 0
        self._down = ""

    def start(self) -> None:
        """Builds the engine now rather than with the first request.

        Raises:
            UserError: the engine cannot run this model.
        """
        self._started()

    @property
    def name(self) -> str:
        """The name in votes; of recorded replies, once started, that of the model that gave them."""
        recorded = self._engine is not None and self.spec.engine == "replay"
        return normalised(self._engine.model) if recorded and self._engine else self.spec.name

    @property
    def sees(self) -> bool:
        """Whether the judge takes images; raises UserError as `start`.

        One that sleeps and never was up is taken to: so it is asked, comes up in its turn, and is known from then on.
        """
        if self._known_to_see is None and self._takes_turns and self._store is not None:
            told = self._store.get(self._eyes)
            self._known_to_see = None if told is None else told == "true"
        if self._known_to_see is None:
            return self._sleeps() or self._started().images
        return self._known_to_see

    @property
    def _eyes(self) -> str:
        """Under what is remembered whether the judge sees, so that one whose replies are known need not come up."""
        return canonical_json(["sees", self.spec.identity])

    def ask(self, key: Key, prompt: Prompt, values: Values, form: Form[T], trial: int = 0) -> Answer[T]:
        """Puts one question to the judge.

        Args:
            key: names what is asked: the prompt (as `task`), question and response. Recorded replies are found by
                it, with the trial `trial * ATTEMPTS + attempt`.
            prompt: the prompt file.
            values: what goes into it.
            form: how the reply has to be.
            trial: another draw of the same question (seed and cache entry differ).
        """
        calls: list[Call] = []
        try:
            messages, images = prompt.messages(values)
        except ValueError as error:
            return Answer(None, (), f"{self.name}: cannot be asked: {one_line(error)}")
        for attempt in range(ATTEMPTS):
            request = Request(
                key=key.model_copy(update={"trial": trial * ATTEMPTS + attempt}),
                messages=messages,
                images=images,
                sampling=_bolder(self.spec.sampling, attempt),
                answer_schema=form.schema,
            )
            call, cut = self._call(prompt, request)
            if call.raw is None:
                calls.append(call)
                break
            try:
                value = form.read(call.raw)
            except Unreadable as error:
                where = f"was cut off at {request.sampling.max_tokens} tokens and " if cut else ""
                calls.append(call.model_copy(update={"problem": f"the reply {where}{error}"}))
                continue
            return Answer(value, (*calls, call))
        return self._unanswered(calls)

    def _unanswered(self, calls: list[Call]) -> Answer[Any]:
        """Why these calls came to nothing."""
        replies, last = [call for call in calls if call.raw is not None], calls[-1]
        if last.raw is None and (last.waits or not replies):
            return Answer(None, tuple(calls), f"{self.name}: {last.problem}", lost=last.waits)
        return Answer(None, tuple(calls), f"{self.name}: no readable reply in {len(replies)}: {replies[-1].problem}")

    def close(self) -> None:
        """Gives the engine back; safe to call twice."""
        with self._lock:
            if self._desk is not None:
                self._desk.close()
            self._engine = self._desk = None
            self._up.close()

    def _call(self, prompt: Prompt, request: Request) -> tuple[Call, bool]:
        """One request and whether its reply was cut off."""
        key = self._memory_key(prompt, request)
        here = hash((key, str(request.key)))
        known = self._recall(key)
        if known is not None:
            now = self._turns is not None and self._turns.paid(here)
            return self._made(prompt, known, remembered=not now), known.finish_reason == "length"
        if self._turns is not None and (failed := self._turns.failure(here)):
            return failed, False
        if self._down:
            return Call(judge=self.name, prompt=prompt.id, problem=self._down), False
        if self._turns is not None and self._sleeps():
            raise self._turns.want(self)
        outcome = self._outcome(request)
        if isinstance(outcome, Failure):
            call = Call(judge=self.name, prompt=prompt.id, problem=outcome.reason, final=outcome.final)
        else:
            call = self._made(prompt, outcome, remembered=False)
            if self._store is not None and self.spec.engine != "replay":
                self._store.put(key, outcome.model_dump_json(exclude={"key", "reasoning", "versions"}))
        if self._turns is not None:
            self._turns.keep(here, call if isinstance(outcome, Failure) else None)
        return call, isinstance(outcome, Response) and outcome.finish_reason == "length"

    def _sleeps(self) -> bool:
        """Whether it is another's turn."""
        return self._takes_turns and self._turns is not None and not self._turns.admits(self)

    def _recall(self, key: str) -> Response | None:
        text = self._store.get(key) if self._store is not None and self.spec.engine != "replay" else None
        if text is None:
            return None
        try:
            fields = json.loads(text)
            return Response(key=Key(task="", question_id=""), **fields)
        except (ValueError, TypeError):
            return None

    def _memory_key(self, prompt: Prompt, request: Request) -> str:
        asked = request.model_dump(include={"messages", "sampling", "answer_schema"})
        # One name may be another model at another address.
        address = self.spec.engine_args.get("base_url") or os.environ.get("OPENAI_BASE_URL", "")
        return canonical_json([prompt.sha256, self.spec.identity, address, asked, request.key.trial])

    def _outcome(self, request: Request) -> Outcome:
        """The engine's outcome; what it raises becomes a failure, and after a few in a row the judge is down.

        Raises:
            UserError: the engine does not even start.
        """
        engine = self._started()
        try:
            outcome = self._sent(engine, request)
        except UserError as error:
            self._failed += 1
            if self._failed >= GIVE_UP_AFTER:
                self._down = f"cannot be asked: {one_line(error)}"
            return Failure(key=request.key, state="failed", reason=one_line(error))
        except Exception as error:  # an engine's library may raise anything; one request is no reason to end a run
            return Failure(key=request.key, state="failed", reason=one_line(error))
        if isinstance(outcome, Response):
            self._failed = 0
        return outcome

    def _sent(self, engine: Engine, request: Request) -> Outcome:
        asked = request if self._schemas else request.model_copy(update={"answer_schema": None})
        outcome = self._through(engine, asked)
        refused = isinstance(outcome, Failure) and any(word in outcome.reason.lower() for word in _NO_SCHEMA)
        if refused and asked.answer_schema is not None:
            # The prompt says the form as well, and the reading is as strict.
            _log.warning("%s does not take a JSON schema; its replies are only read strictly", self.name)
            self._schemas = False
            return self._through(engine, request.model_copy(update={"answer_schema": None}))
        return outcome

    def _through(self, engine: Engine, request: Request) -> Outcome:
        if engine.name in DIRECT:
            return next(iter(list(engine.generate([request]))))
        with self._lock:
            if self._desk is None:
                self._desk = Desk(engine)
        return self._desk.outcome(request)

    def _started(self) -> Engine:
        from livek12.core.engines import make_engine

        spec = self.spec
        with self._lock:
            if self._engine is None:
                with _BUILDING, ExitStack() as stack:
                    sitting = Sitting(self._sessions, "judge", spec.runs_on, spec.model, spec.engine_args)
                    stack.enter_context(sitting)
                    self._engine = make_engine(spec.engine, spec.model, dict(spec.engine_args))
                    stack.callback(self._engine.close)
                    sitting.loaded(self._engine)
                    self._up = stack.pop_all()
                self._known_to_see = self._engine.images
                if self._takes_turns and self._store is not None:
                    self._store.put(self._eyes, json.dumps(self._known_to_see))
            return self._engine

    def _made(self, prompt: Prompt, response: Response, remembered: bool) -> Call:
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
            cost=prices.cost(*counts) if prices else None,
            remembered=remembered,
        )


def _bolder(sampling: Sampling, attempt: int) -> Sampling:
    """The sampling of an attempt after the first: the trial changes the seed, and a set temperature rises."""
    if attempt == 0 or sampling.temperature is None:
        return sampling
    return sampling.model_copy(update={"temperature": max(sampling.temperature, 0.3 * attempt)})
