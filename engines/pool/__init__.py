"""A pool: several engines behind one `generate`.

Requests with a common first picture or beginning go to the same member unless it is far behind; others to the least
loaded. Every request has exactly one outcome. If a member dies, its unfinished requests go to the front of the queue
and the member is rebuilt. A request in the hands of two dying members is a suspect: one member does suspects alone, a
few and then one at a time; the one with which it dies alone fails, and an ordinary request proves the next member, so
that many killers do not end it. `FUTILE` deaths in a row with one request or none end a member; without members the
rest fails, not finally, so that the next command repeats it.
"""

from __future__ import annotations

import logging
import queue
import re
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Protocol

from livek12.core.errors import UserError
from livek12.core.records import Key, Request
from livek12.core.run.sessions import Figures
from livek12.core.text import one_line
from livek12.core.version import __version__
from livek12.engines.base import EngineDied, Outcome
from livek12.engines.common import failure, together
from livek12.engines.pool.worker import Abort, Album, AskMessage, End, Lost, Message, Ready, Refused, Report, Stop, Told

_log = logging.getLogger(__name__)

BEHIND = 256
"""Requests waiting for one member while others idle, above which another member encodes their picture too."""
AHEAD = 64
"""Difference in requests between two members above which the other one reads their text too; that costs little next to
the answers, and one question may have hundreds.
"""
HOMES = 4096
"""First pictures and texts whose member is remembered."""
BURST = 64
"""Requests taken between two looks at the members' reports, so that outcomes need no full window."""
SUSPECT, CONVICTED, PART = 2, 3, 8
"""Deaths of a suspect; deaths that isolate it; suspects tried together before that."""
FUTILE = 3
_NO_ROOM = re.compile("memory", re.IGNORECASE)
"""In an engine's error for a device without room."""
AWAY = 64
"""Distance of the request that proves a member after a second lonely death: neighbours may kill alike."""
CLOSING_SECONDS = 45.0
"""Grace period before members are killed: more than vLLM takes to end its own processes."""


class Pool:
    """Starts with the first ready member; `builds` make one each."""

    def __init__(self, builds: Sequence[Callable[[], Member]]) -> None:
        self._events: queue.SimpleQueue[tuple[Member, Report]] = queue.SimpleQueue()
        self._listeners: list[threading.Thread] = []
        self._slots = [Slot(number, build) for number, build in enumerate(builds, start=1)]
        self._epoch = 0
        self._homes: OrderedDict[str, Slot] = OrderedDict()
        self._returned: deque[Job] = deque()
        self._suspects: deque[Job] = deque()
        self._suspect_slot: Slot | None = None
        self._stream: Iterator[Request] = iter(())
        self._exhausted = True
        try:
            for slot in self._slots:
                self._start(slot)
            self._facts = self._first_facts()
        except BaseException:
            self.close()
            raise
        self.name, self.model, self.revision = self._facts.name, self._facts.model, self._facts.revision
        self.images = self._facts.images

    def generate(self, requests: Iterable[Request]) -> Iterator[Outcome]:
        """Yields one outcome a request; requests have distinct keys."""
        self._epoch += 1
        self._stream, self._exhausted = iter(requests), False
        for slot in self._slots:
            slot.futile = 0
            if not slot.member and not slot.barred:
                self._start(slot)
        try:
            yield from self._absorb(wait=False)
            while True:
                hungry = self._feed()
                if self._exhausted and not self._unfinished():
                    return
                if all(slot.gone for slot in self._slots):
                    yield from self._failures()
                    return
                yield from self._absorb(wait=not hungry)
        finally:
            self._abort()

    def versions(self) -> dict[str, str]:
        """The members' common versions."""
        return dict(self._facts.versions)

    @property
    def figures(self) -> Figures:
        """Figures of all members."""
        return together(slot.figures for slot in self._slots)

    def ready(self) -> int:
        """Number of working members."""
        for _ in self._absorb(wait=False):
            pass  # between calls of `generate` nothing is in hand
        return sum(slot.facts is not None for slot in self._slots)

    def close(self) -> None:
        """Ends all members."""
        members = [(slot.member, CLOSING_SECONDS if slot.facts else 0) for slot in self._slots if slot.member]
        for member, _ in members:
            member.send(Stop())
        closing = [threading.Thread(target=member.close, args=(seconds,)) for member, seconds in members]
        for thread in closing:
            thread.start()
        for thread in (*closing, *self._listeners):
            thread.join(2 * CLOSING_SECONDS)
        for slot in self._slots:
            slot.member, slot.facts, slot.barred, slot.gone = None, None, True, "the pool is closed"

    # Members

    def _start(self, slot: Slot) -> None:
        slot.member, slot.facts, slot.gone, slot.album = slot.build(), None, "", Album()
        listener = threading.Thread(target=_listen, args=(slot.member, self._events), daemon=True, name="pool-member")
        self._listeners = [*filter(threading.Thread.is_alive, self._listeners), listener]
        listener.start()

    def _first_facts(self) -> Ready:
        while True:
            if all(slot.gone for slot in self._slots):
                raise UserError(self._slots[0].gone)
            slot, report = self._next_report()
            if slot and isinstance(report, Refused):
                if not _NO_ROOM.search(report.reason):
                    raise UserError(report.reason)
                self._dismiss(slot, report.reason, bar=True)  # others may have a device to themselves
            if slot and isinstance(report, Lost):
                self._bury(slot, report.reason)
            if slot and isinstance(report, Ready):
                self._welcome(slot, report, {"livek12": __version__})
                if slot.facts:
                    return slot.facts

    def _next_report(self) -> tuple[Slot | None, Report]:
        member, report = self._events.get()
        return next((slot for slot in self._slots if slot.member is member), None), report

    def _welcome(self, slot: Slot, facts: Ready, versions: dict[str, str]) -> None:
        for library in sorted({*versions} & {*facts.versions}):
            if versions[library] != facts.versions[library]:
                there = f"{library} {facts.versions[library]} on {facts.host}, {versions[library]} elsewhere"
                self._dismiss(slot, f"it has {there}: install the same on all nodes", bar=True)
                return
        slot.facts, slot.served = facts, True
        slot.figures = facts.figures

    def _dismiss(self, slot: Slot, reason: str, bar: bool = False) -> None:
        slot.barred = bar
        slot.gone = f"replica {slot.number} is not used: {reason}"
        _log.warning(slot.gone)
        if slot.member:
            slot.member.close(0)
        slot.member, slot.facts = None, None
        if self._suspect_slot is slot:
            self._suspect_slot = None

    def _bury(self, slot: Slot, reason: str) -> list[Outcome]:
        """Rebuilds a dead member; returns a lone killer's failure."""
        in_hand, failures = len(slot.hand), list[Outcome]()
        for job in slot.hand.values():
            job.deaths += 1
        jobs = slot.leave()
        if in_hand == 1 and jobs[0].deaths >= CONVICTED:
            convicted = jobs.pop(0)
            why = f"the engine died {convicted.deaths} times with this request, and alone: {reason}"
            failures.append(failure(convicted.request, why))
        self._suspects.extend(job for job in jobs if job.deaths >= SUSPECT)
        self._returned.extendleft(reversed([job for job in jobs if job.deaths < SUSPECT]))
        slot.futile += in_hand <= 1
        if slot.futile >= FUTILE:
            self._dismiss(slot, f"it died {slot.futile} times in a row: {reason}")
        else:
            again = f"{len(jobs)} unfinished requests are done again" if jobs else "it is built again"
            _log.warning("replica %d died: %s; %s", slot.number, reason, again)
            if slot.member:
                slot.member.close(0)
            self._start(slot)
        return failures

    # Requests

    def _unfinished(self) -> bool:
        return bool(self._returned or self._suspects or any(slot.load for slot in self._slots))

    def _feed(self) -> bool:
        self._feed_suspect_slot()
        ready = [slot for slot in self._slots if slot.facts and slot is not self._suspect_slot]
        hungry = True
        for _ in range(BURST):
            hungry = any(slot.room > len(slot.waiting) for slot in ready)
            job = self._next_job() if hungry else None
            if job is None:
                break
            self._place(job, ready)
        for slot in ready:
            slot.send(self._epoch, slot.room)
            if self._exhausted and not self._returned:
                slot.end(self._epoch)
        return hungry and not (self._exhausted and not self._returned)

    def _next_job(self) -> Job | None:
        if self._returned:
            return self._returned.popleft()
        request = None if self._exhausted else next(self._stream, None)
        if request is None:
            self._exhausted = True
            return None
        return Job(request, _home(request))

    def _place(self, job: Job, ready: list[Slot]) -> None:
        slot, least = self._homes.get(job.home), min(ready, key=lambda member: member.load)
        if slot not in ready or _far_behind(slot, least, job.request):
            slot = least
        slot.waiting.append(job)
        self._homes[job.home] = slot
        self._homes.move_to_end(job.home)
        while len(self._homes) > HOMES:
            self._homes.popitem(last=False)

    def _feed_suspect_slot(self) -> None:
        if not self._suspects:
            if self._suspect_slot and not self._suspect_slot.load:
                self._suspect_slot = None
            return
        ready = [slot for slot in self._slots if slot.facts]
        if self._suspect_slot is None and ready:
            self._suspect_slot = min(ready, key=lambda candidate: candidate.load)
        suspect_slot = self._suspect_slot
        if suspect_slot is None or not suspect_slot.facts:
            return
        if suspect_slot.waiting:  # not sent yet, so others do it
            self._returned.extendleft(reversed(suspect_slot.waiting))
            suspect_slot.waiting.clear()
        if not suspect_slot.hand:
            suspect_slot.waiting.extend(self._trial(suspect_slot.futile))
            suspect_slot.send(self._epoch, PART)
        suspect_slot.end(self._epoch)

    def _trial(self, futile: int) -> list[Job]:
        """Next suspects; after a lonely death first an ordinary request."""
        if futile and (ahead := list(islice(iter(self._next_job, None), AWAY ** (futile - 1)))):
            self._returned.extendleft(reversed(ahead[:-1]))
            return ahead[-1:]
        fewest = min(job.deaths for job in self._suspects)
        equal = [job for job in self._suspects if job.deaths == fewest]
        chosen = equal[-1:] if futile else equal[: PART if fewest < CONVICTED else 1]
        for job in chosen:
            self._suspects.remove(job)
        return chosen

    def _absorb(self, wait: bool) -> Iterator[Outcome]:
        while wait or not self._events.empty():
            wait = False
            slot, report = self._next_report()
            if slot is None:
                continue
            if isinstance(report, Told):
                yield from self._hear(slot, report)
            elif isinstance(report, Lost):
                yield from self._bury(slot, report.reason)
            elif isinstance(report, Ready):
                self._welcome(slot, report, self._facts.versions)
            elif slot.facts:  # it had begun to work, so its error holds for all
                raise UserError(report.reason)
            elif slot.served:  # the next one may have room again
                yield from self._bury(slot, report.reason)
            else:
                self._dismiss(slot, report.reason, bar=True)

    def _hear(self, slot: Slot, report: Told) -> Iterator[Outcome]:
        slot.figures = report.figures or slot.figures
        if report.epoch != self._epoch:
            return
        slot.untaken -= report.taken
        for outcome in report.outcomes:
            if slot.hand.pop(outcome.key, None) is not None:
                slot.futile = 0
                yield outcome

    def _failures(self) -> Iterator[Outcome]:
        reason = one_line("no engine is left: " + "; ".join(slot.gone for slot in self._slots))
        for jobs in (self._suspects, self._returned):
            while jobs:
                yield failure(jobs.popleft().request, reason)
        yield from (failure(request, reason) for request in self._stream)

    def _abort(self) -> None:
        for slot in self._slots:
            if slot.leave() and slot.member:
                slot.member.send(Abort(self._epoch))
        self._returned.clear()
        self._suspects.clear()
        self._suspect_slot = None
        self._stream, self._exhausted = iter(()), True


def _far_behind(slot: Slot, least: Slot, request: Request) -> bool:
    if request.images:
        return len(slot.waiting) >= BEHIND
    return slot.load - least.load >= AHEAD


def _home(request: Request) -> str:
    for message in request.messages:
        for part in message.content:
            if part.type == "image" and part.image:
                return part.image
    return request.together or f"{request.key.task}/{request.key.question_id}"


def _listen(member: Member, events: queue.SimpleQueue[tuple[Member, Report]]) -> None:
    try:
        while True:
            events.put((member, member.receive()))
    except EngineDied as error:
        events.put((member, Lost(str(error))))
    except Exception as error:  # the transport failed: no more reports
        with suppress(Exception):
            member.close(0)
        events.put((member, Lost(one_line(f"{type(error).__name__}: {error}"))))


PREFETCH = (8, 256)
"""Requests queued at a member beyond those its engine has taken: a quarter of these, within these bounds. They cover a
pause of the near end for a quarter of a request's time; more would cost memory and leave many with a slow member.
"""


class Member(Protocol):
    """Near end of a remote engine; returns at once."""

    def send(self, message: Message) -> None:
        """Sends without blocking."""
        ...

    def receive(self) -> Report:
        """Waits in one thread; raises EngineDied at the end."""
        ...

    def close(self, seconds: float) -> None:
        """Waits for a stopped member, then kills it."""
        ...


@dataclass(slots=True)
class Job:
    """A request in the pool."""

    request: Request
    home: str
    deaths: int = 0


@dataclass(slots=True, eq=False)
class Slot:
    """A member's place, which outlives it."""

    number: int
    build: Callable[[], Member]
    member: Member | None = None
    facts: Ready | None = None
    figures: Figures = field(default_factory=Figures)
    gone: str = ""
    barred: bool = False
    served: bool = False
    futile: int = 0
    album: Album = field(default_factory=Album)
    waiting: deque[Job] = field(default_factory=deque)
    hand: dict[Key, Job] = field(default_factory=dict)
    untaken: int = 0
    ended: bool = True

    @property
    def load(self) -> int:
        """Requests in hand or queued."""
        return len(self.hand) + len(self.waiting)

    @property
    def room(self) -> int:
        """Further requests to queue."""
        least, most = PREFETCH
        return min(most, max(least, (len(self.hand) - self.untaken) // 4)) - self.untaken

    def send(self, epoch: int, count: int) -> None:
        """Sends the first of the queue."""
        jobs = [self.waiting.popleft() for _ in range(min(count, len(self.waiting)))]
        if jobs and self.member:
            self.hand.update((job.request.key, job) for job in jobs)
            self.untaken += len(jobs)
            self.ended = False
            self.member.send(AskMessage(epoch, [self.album.pack(job.request) for job in jobs]))

    def end(self, epoch: int) -> None:
        """Signals a pause of requests."""
        if self.member and not self.ended and not self.waiting:
            self.ended = True
            self.member.send(End(epoch))

    def leave(self) -> list[Job]:
        """Takes its requests back in order."""
        jobs = [*self.hand.values(), *self.waiting]
        self.hand.clear()
        self.waiting.clear()
        self.untaken, self.ended = 0, True
        return jobs
