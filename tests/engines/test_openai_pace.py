"""How many requests an endpoint is given at a time: against models of servers, and real ones with limited room."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest

from livek12.core.records import Request
from livek12.engines import make_engine
from livek12.engines.openai import FIRST, MOST, MOST_BYTES, Pace
from tests.engines.helpers import ask, response
from tests.engines.scripted_server import Reply, Script, error, good, serving


@dataclass
class Server:
    """A server that answers in batches, in a time of its own: the more it runs, the more it does, up to its slots.

    Attributes:
        slots: requests that run together; others wait in the order in which they came.
        refuses: a request beyond so many is refused; 0 for none.
        counts: whether it says how many tokens an answer has.
    """

    slots: int
    refuses: int = 0
    counts: bool = True
    levels: list[int] = field(default_factory=list)
    refused: int = 0

    def speed(self, running: int) -> float:
        """Tokens a second of all that run."""
        return 5000 * running / (running + self.slots / 2)

    def serve(self, pace: Pace, requests: int, seed: int = 0) -> float:
        """Tokens a second over a whole run of answers of very different lengths, as share of what can be reached."""
        lengths = iter([max(10, int(random.Random(seed + n).expovariate(1 / 2000))) for n in range(requests)])
        now, done, tokens, left = 0.0, 0, 0, requests
        there: list[list[float]] = []  # what each has still to write, all of it, when it came, in which round
        while done < requests:
            while left and len(there) < pace.level:
                if self.refuses and len(there) >= self.refuses:
                    self.refused += 1
                    pace.refused(pace.round)
                    break
                length = next(lengths)
                there.append([length, length, now, pace.round])
                left -= 1
            running = there[: self.slots]
            each = self.speed(len(running)) / len(running)
            step = min(one[0] for one in running) / each
            now += step
            for one in running:
                one[0] -= step * each
            for one in [one for one in running if one[0] < 1e-6]:
                there.remove(one)
                done, tokens = done + 1, tokens + int(one[1])
                pace.answered(int(one[3]), int(one[1]) if self.counts else None, now - one[2], left > 0)
                self.levels.append(pace.level)
        return tokens / now / self.speed(min(self.slots, self.refuses or self.slots))


@pytest.mark.parametrize("counts", [True, False])
@pytest.mark.parametrize("slots", [4, 32, 64, 256])
def test_a_server_is_given_about_what_it_can_run_together(slots: int, counts: bool) -> None:
    """Sixteen at a time would leave the largest at a sixth of what it can do."""
    server, fixed = Server(slots, counts=counts), Server(slots, counts=counts)
    speed = server.serve(Pace(None), 8_000)
    assert speed > 0.85
    assert speed > fixed.serve(Pace(FIRST), 8_000) * (3 if slots == 256 else 0.95)
    late = sorted(server.levels[4_000:])
    assert slots / 2 <= late[len(late) // 2] <= max(4 * slots, 8 * FIRST)


@pytest.mark.parametrize("refuses", [1, 20, 100])
def test_a_server_that_refuses_is_given_less_and_then_slowly_more(refuses: int) -> None:
    server = Server(256, refuses)
    assert server.serve(Pace(None), 8_000) > 0.7
    assert server.refused < 8_000 / 10
    assert max(server.levels[4_000:]) <= max(2, 1.5 * refuses)


def test_what_the_user_sets_stays() -> None:
    server = Server(256, refuses=3)
    server.serve(Pace(5), 500)
    assert set(server.levels) == {5}


def test_large_requests_are_fewer() -> None:
    pace = Pace(None)
    pace.weigh(MOST_BYTES // 40)
    server = Server(1024)
    server.serve(pace, 5000)
    assert max(server.levels) == 40
    assert pace.most <= MOST


def _asked(number: int) -> Request:
    return ask(f"q{number}", f"q{number} What is it?")


class Busy(Script):
    """A server that really takes so many at a time, a little while each, and refuses or queues the others."""

    def __init__(self, room: int, refuses: bool) -> None:
        super().__init__(self._reply)
        self._room, self._refuses = threading.Semaphore(room), refuses
        self.refused = 0

    def _reply(self, question: str, before: int) -> Reply:
        if not self._room.acquire(blocking=not self._refuses):
            self.refused += 1
            return error(429, "too many requests", retry_after="0.05")
        try:
            threading.Event().wait(0.02)
            return good(question)
        finally:
            self._room.release()


@pytest.mark.slow
@pytest.mark.parametrize("refuses", [True, False])
def test_nothing_is_lost_at_a_real_server_with_little_room(refuses: bool) -> None:
    """And where it refuses, it is not asked in vain for long."""
    script = Busy(24, refuses)
    with serving(script) as address:
        engine = make_engine("openai", "m", {"base_url": address, "backoff": 0.01})
        outcomes = [response(outcome) for outcome in engine.generate(_asked(number) for number in range(800))]
        engine.close()
    assert {outcome.key.question_id: outcome.text for outcome in outcomes} == {f"q{n}": f"q{n}" for n in range(800)}
    assert script.most_at_once > FIRST
    assert script.refused < 300
    assert set(script.attempts().values()) == {1} or refuses


@pytest.mark.slow
def test_who_finds_no_room_while_others_are_served_waits() -> None:
    """Twelve times, which is more than trouble is retried."""
    others = threading.Semaphore(0)

    def reply(question: str, before: int) -> Reply:
        if question == "q0" and before < 12:
            while others.acquire(blocking=False):
                pass
            for _ in range(2):  # the second that comes now is sent when the first has been answered
                others.acquire(timeout=60)
            return error(429, retry_after="0")
        others.release()
        return good()

    script = Script(reply)
    with serving(script) as address:
        engine = make_engine("openai", "m", {"base_url": address, "backoff": 0.001, "max_retries": 2, "concurrency": 2})
        assert len([response(outcome) for outcome in engine.generate(map(_asked, range(200)))]) == 200
        engine.close()
    assert script.attempts()["q0"] == 13


def test_a_limit_that_nobody_gets_past_ends_the_attempts() -> None:
    script = Script(lambda question, before: error(429, "quota", retry_after="0") if question != "q0" else good())
    with serving(script) as address:
        engine = make_engine("openai", "m", {"base_url": address, "backoff": 0.001, "max_retries": 2})
        list(engine.generate([_asked(0)]))
        found = list(engine.generate(map(_asked, range(1, 40))))
        engine.close()
    assert {getattr(one, "reason", "") for one in found} == {
        "the endpoint answered 429: quota (given up after 3 attempts)"
    }


def test_judges_that_ask_one_by_one_are_never_more_than_before() -> None:
    """Each thread has one request at a time, so that none ever waits behind another of the same call."""
    hold = threading.Barrier(FIRST)

    def reply(question: str, before: int) -> Reply:
        hold.wait(60)  # as many as may be in flight, are
        return good()

    script = Script(reply)
    with serving(script) as address:
        engine = make_engine("openai", "m", {"base_url": address})

        def judge(number: int) -> None:
            response(next(iter(engine.generate([_asked(number)]))))

        with ThreadPoolExecutor(2 * FIRST) as threads:
            list(threads.map(judge, range(16 * FIRST)))
        engine.close()
    assert script.most_at_once == FIRST


def test_a_stream_of_requests_is_taken_as_the_pace_allows() -> None:
    taken, ahead = 0, 0

    def requests() -> Iterator[Request]:
        nonlocal taken
        for number in range(400):
            taken += 1
            yield _asked(number)

    with serving(Busy(64, refuses=False)) as address:
        engine = make_engine("openai", "m", {"base_url": address})
        pace = engine._pace  # type: ignore[attr-defined]
        levels, answered = [pace.level], pace.answered

        def noted(*answer: Any) -> None:
            answered(*answer)
            levels.append(pace.level)

        pace.answered = noted
        for number, _ in enumerate(engine.generate(requests())):
            ahead = max(ahead, taken - number)
        engine.close()
    assert ahead <= 2 * max(levels)
