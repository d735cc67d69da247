"""Several engines behind one `generate`.

Contract: an Engine whose members are engines elsewhere (child.py, ray_engine.py). Each member is given as much as it
takes, and what shares its first picture, or its prompt, goes to the same member while that one lives and is not far
behind; everything else to the least loaded. No request has two outcomes, none is lost, none with an outcome is asked
again. When a member dies, its unfinished requests go to the front of the common queue and the member is built again. A
request that was in the hands of two members as they died is a suspect: one member, at any time, does suspects and
nothing else, a few and then one at a time, and the one with which it dies alone fails; after that an ordinary request
proves the next member, so that many requests that kill do not end it. `FUTILE` deaths in a row of a member with one
request or none are its end; when no member is left, what is left fails, not finally, so that the next command asks it
again.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice

import livek12
from livek12.core.engines.base import EngineDied, Outcome
from livek12.core.engines.common import failure, one_line
from livek12.core.engines.seat import Job, Member, Seat
from livek12.core.engines.worker import Abort, Album, Lost, Ready, Refused, Report, Stop, Told
from livek12.core.errors import UserError
from livek12.core.records import Request

_log = logging.getLogger(__name__)

BEHIND = 256
"""So many requests waiting for one member, and others without work: then their picture is shown to another one too."""
HOMES = 4096
"""First pictures and prompts whose member is remembered."""
BURST = 64
"""Requests taken between two looks at the members' reports, so that outcomes do not wait for a full window."""
SUSPECT, CONVICTED, PART = 2, 3, 8
"""Deaths that make a suspect; that make it be done alone; suspects done together before that."""
FUTILE = 3
AWAY = 64
"""How many requests beyond the next a member proves itself after a second lonely death: neighbours may kill alike."""
CLOSING_SECONDS = 15.0
"""What members have to close in order before they are killed."""


class Pool:
    """Runs requests on several members; starts with the first that is ready and takes the others in as they come.

    Args:
        builds: makes a member each, again when it died.

    Raises:
        UserError: the engine refuses to run, or every member died before one was ready.
    """

    def __init__(self, builds: Sequence[Callable[[], Member]]) -> None:
        self._events: queue.SimpleQueue[tuple[Member, Report]] = queue.SimpleQueue()
        self._listeners: list[threading.Thread] = []
        self._seats = [Seat(number, build) for number, build in enumerate(builds, start=1)]
        self._epoch = 0
        self._homes: OrderedDict[str, Seat] = OrderedDict()
        self._returned: deque[Job] = deque()
        self._suspects: deque[Job] = deque()
        self._ward: Seat | None = None
        self._stream: Iterator[Request] = iter(())
        self._exhausted = True
        try:
            for seat in self._seats:
                self._start(seat)
            self._facts = self._first_facts()
        except BaseException:
            self.close()
            raise
        self.name, self.model, self.revision = self._facts.name, self._facts.model, self._facts.revision
        self.images = self._facts.images

    def generate(self, requests: Iterable[Request]) -> Iterator[Outcome]:
        """Yields one outcome a request, as they finish; the keys of the requests are distinct."""
        self._epoch += 1
        self._stream, self._exhausted = iter(requests), False
        for seat in self._seats:
            seat.futile = 0
            if not seat.member and not seat.barred:
                self._start(seat)
        try:
            yield from self._absorb(wait=False)
            while True:
                hungry = self._feed()
                if self._exhausted and not self._unfinished():
                    return
                if all(seat.gone for seat in self._seats):
                    yield from self._failures()
                    return
                yield from self._absorb(wait=not hungry)
        finally:
            self._abort()

    def versions(self) -> dict[str, str]:
        """Those of the members, which are all the same."""
        return dict(self._facts.versions)

    def ready(self) -> int:
        """How many members can work now."""
        for _ in self._absorb(wait=False):
            pass  # between calls of `generate` nothing is in hand
        return sum(seat.facts is not None for seat in self._seats)

    def close(self) -> None:
        """Ends all members."""
        members = [(seat.member, CLOSING_SECONDS if seat.facts else 0) for seat in self._seats if seat.member]
        for member, _ in members:
            member.send(Stop())
        closing = [threading.Thread(target=member.close, args=(seconds,)) for member, seconds in members]
        for thread in closing:
            thread.start()
        for thread in (*closing, *self._listeners):
            thread.join(2 * CLOSING_SECONDS)
        for seat in self._seats:
            seat.member, seat.facts, seat.barred, seat.gone = None, None, True, "the pool is closed"

    # Members

    def _start(self, seat: Seat) -> None:
        seat.member, seat.facts, seat.gone, seat.album = seat.build(), None, "", Album()
        listener = threading.Thread(target=_listen, args=(seat.member, self._events), daemon=True, name="pool-member")
        self._listeners = [*filter(threading.Thread.is_alive, self._listeners), listener]
        listener.start()

    def _first_facts(self) -> Ready:
        while True:
            if all(seat.gone for seat in self._seats):
                raise UserError(self._seats[0].gone)
            seat, report = self._next_report()
            if seat and isinstance(report, Refused):
                raise UserError(report.reason)
            if seat and isinstance(report, Lost):
                self._bury(seat, report.reason)
            if seat and isinstance(report, Ready):
                self._welcome(seat, report, {"livek12": livek12.__version__})
                if seat.facts:
                    return seat.facts

    def _next_report(self) -> tuple[Seat | None, Report]:
        """The next report and whose it is; nobody's when it is of a member that was given up meanwhile."""
        member, report = self._events.get()
        return next((seat for seat in self._seats if seat.member is member), None), report

    def _welcome(self, seat: Seat, facts: Ready, versions: dict[str, str]) -> None:
        """Takes a member in, unless what it runs differs: a run's responses are all made by the same versions."""
        for library in sorted({*versions} & {*facts.versions}):
            if versions[library] != facts.versions[library]:
                there = f"{library} {facts.versions[library]} on {facts.host}, {versions[library]} elsewhere"
                self._dismiss(seat, f"it has {there}: install the same on all nodes", bar=True)
                return
        seat.facts, seat.served = facts, True

    def _dismiss(self, seat: Seat, reason: str, bar: bool = False) -> None:
        """Gives a member up, for this call of `generate` or for good."""
        seat.barred = bar
        seat.gone = f"replica {seat.number} is not used: {reason}"
        _log.warning(seat.gone)
        if seat.member:
            seat.member.close(0)
        seat.member, seat.facts = None, None
        if self._ward is seat:
            self._ward = None

    def _bury(self, seat: Seat, reason: str) -> list[Outcome]:
        """Takes the requests of a dead member back and builds it again; gives the failure of one that kills alone."""
        held, failures = len(seat.hand), list[Outcome]()
        for job in seat.hand.values():
            job.deaths += 1
        jobs = seat.leave()
        if held == 1 and jobs[0].deaths >= CONVICTED:
            convicted = jobs.pop(0)
            why = f"the engine died {convicted.deaths} times with this request, and alone: {reason}"
            failures.append(failure(convicted.request, why))
        self._suspects.extend(job for job in jobs if job.deaths >= SUSPECT)
        self._returned.extendleft(reversed([job for job in jobs if job.deaths < SUSPECT]))
        seat.futile += held <= 1
        if seat.futile >= FUTILE:
            self._dismiss(seat, f"it died {seat.futile} times in a row: {reason}")
        else:
            again = f"{len(jobs)} unfinished requests are done again" if jobs else "it is built again"
            _log.warning("replica %d died: %s; %s", seat.number, reason, again)
            if seat.member:
                seat.member.close(0)
            self._start(seat)
        return failures

    # Requests

    def _unfinished(self) -> bool:
        return bool(self._returned or self._suspects or any(seat.load for seat in self._seats))

    def _feed(self) -> bool:
        """Gives members what they have room for; says whether they have room for more at once."""
        self._feed_ward()
        ready = [seat for seat in self._seats if seat.facts and seat is not self._ward]
        hungry = True
        for _ in range(BURST):
            hungry = any(seat.room > len(seat.waiting) for seat in ready)
            job = self._next_job() if hungry else None
            if job is None:
                break
            self._place(job, ready)
        for seat in ready:
            seat.send(self._epoch, seat.room)
            if self._exhausted and not self._returned:
                seat.end(self._epoch)
        return hungry and not (self._exhausted and not self._returned)

    def _next_job(self) -> Job | None:
        if self._returned:
            return self._returned.popleft()
        request = None if self._exhausted else next(self._stream, None)
        if request is None:
            self._exhausted = True
            return None
        return Job(request, _home(request))

    def _place(self, job: Job, ready: list[Seat]) -> None:
        """Puts a request into the queue of the member that has its picture or prompt, or of the least loaded."""
        seat = self._homes.get(job.home)
        if seat not in ready or len(seat.waiting) >= BEHIND:
            seat = min(ready, key=lambda one: one.load)
        seat.waiting.append(job)
        self._homes[job.home] = seat
        self._homes.move_to_end(job.home)
        while len(self._homes) > HOMES:
            self._homes.popitem(last=False)

    def _feed_ward(self) -> None:
        """Lets one member do suspects: when it has finished what it had, some of those with the fewest deaths."""
        if not self._suspects:
            if self._ward and not self._ward.load:
                self._ward = None
            return
        ready = [seat for seat in self._seats if seat.facts]
        if self._ward is None and ready:
            self._ward = min(ready, key=lambda one: one.load)
        ward = self._ward
        if ward is None or not ward.facts:
            return
        if ward.waiting:  # not sent yet: others do it
            self._returned.extendleft(reversed(ward.waiting))
            ward.waiting.clear()
        if not ward.hand:
            ward.waiting.extend(self._trial(ward.futile))
            ward.send(self._epoch, PART)
        ward.end(self._epoch)

    def _trial(self, futile: int) -> list[Job]:
        """What a ward does next: suspects; after a lonely death first what shows that it works, far from them."""
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
        """Deals with the reports that are there; waits for one if told to."""
        while wait or not self._events.empty():
            wait = False
            seat, report = self._next_report()
            if seat is None:
                continue
            if isinstance(report, Told):
                yield from self._hear(seat, report)
            elif isinstance(report, Lost):
                yield from self._bury(seat, report.reason)
            elif isinstance(report, Ready):
                self._welcome(seat, report, self._facts.versions)
            elif seat.facts:  # it had begun to work, so it speaks for all
                raise UserError(report.reason)
            elif seat.served:  # the next one may have room again
                yield from self._bury(seat, report.reason)
            else:
                self._dismiss(seat, report.reason, bar=True)

    def _hear(self, seat: Seat, report: Told) -> Iterator[Outcome]:
        if report.epoch != self._epoch:
            return
        seat.untaken -= report.taken
        for outcome in report.outcomes:
            if seat.hand.pop(outcome.key, None) is not None:
                seat.futile = 0
                yield outcome

    def _failures(self) -> Iterator[Outcome]:
        """The end of what is left when no member is."""
        reason = one_line("no engine is left: " + "; ".join(seat.gone for seat in self._seats))
        for jobs in (self._suspects, self._returned):
            while jobs:
                yield failure(jobs.popleft().request, reason)
        yield from (failure(request, reason) for request in self._stream)

    def _abort(self) -> None:
        """Leaves nothing of this call of `generate` behind, with members or here."""
        for seat in self._seats:
            if seat.leave() and seat.member:
                seat.member.send(Abort(self._epoch))
        self._returned.clear()
        self._suspects.clear()
        self._ward = None
        self._stream, self._exhausted = iter(()), True


def _home(request: Request) -> str:
    """What requests of one member share: the first picture shown, else the prompt, whose trials it is."""
    for message in request.messages:
        for part in message.content:
            if part.type == "image" and part.image:
                return part.image
    return f"{request.key.task}/{request.key.question_id}"


def _listen(member: Member, events: queue.SimpleQueue[tuple[Member, Report]]) -> None:
    """Passes on what a member reports until it is gone."""
    try:
        while True:
            events.put((member, member.receive()))
    except EngineDied as error:
        events.put((member, Lost(str(error))))
    except Exception as error:  # what a transport raises: nothing more can come from there
        with suppress(Exception):
            member.close(0)
        events.put((member, Lost(one_line(f"{type(error).__name__}: {error}"))))
