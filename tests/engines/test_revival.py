"""What Revived does with an engine that dies: on given requests, at any moment, or whenever it is built.

The engine here is scripted, so that it can die of anything; tests/engines/test_vllm_faults.py kills a real one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from livek12.core.errors import UserError
from livek12.core.records import Request, Response
from livek12.engines.base import EngineDied, Outcome
from livek12.engines.pool.replicas import AWAY, DEATHS, Revived
from tests.engines.helpers import ask, by_question, failure, response


class Lab:
    """Builds engines that keep `window` requests in hand and die as they are told to."""

    def __init__(self, poison: set[int] = frozenset(), deaths: Iterable[int] = (), window: int = 4) -> None:  # type: ignore[assignment]
        self.poison, self.deaths, self.window = poison, iter(deaths), window
        self.built = self.closed = self.living = 0
        self.buildable: int | None = None
        self.asked: Counter[str] = Counter()

    def build(self) -> Scripted:
        """One more engine."""
        if self.buildable is not None and self.built >= self.buildable:
            raise UserError("no memory for it")
        assert self.living == 0, "the dead engine is closed before the next is built"
        self.built += 1
        self.living += 1
        return Scripted(self)


class Scripted:
    """Yields the last request in hand first; dies of poison in hand, or after so many outcomes."""

    name, model, revision, images = "scripted", "m", "r", True

    def __init__(self, lab: Lab) -> None:
        self.lab, self.left, self.open = lab, next(lab.deaths, None), True

    def generate(self, requests: Iterable[Request]) -> Iterator[Outcome]:
        """As an engine does."""
        stream = iter(requests)
        while True:
            hand = list(islice(stream, self.lab.window))
            if not hand:
                return
            while hand:
                if self.left == 0:
                    raise EngineDied("killed")
                if any(int(request.key.question_id) in self.lab.poison for request in hand):
                    raise EngineDied("poisoned")
                request = hand.pop()
                self.lab.asked[request.key.question_id] += 1
                if self.left is not None:
                    self.left -= 1
                yield Response(key=request.key, text="yes", engine="scripted", model="m")
                hand += islice(stream, 1)

    def versions(self) -> dict[str, str]:
        """None but its own."""
        return {"scripted": "1"}

    def close(self) -> None:
        """Once."""
        assert self.open
        self.open = False
        self.lab.living -= 1
        self.lab.closed += 1


def run(lab: Lab, count: int) -> dict[str, Outcome]:
    """The outcomes of so many requests, one each."""
    engine = Revived(lab.build)
    found = by_question(list(engine.generate(ask(str(n)) for n in range(count))))
    engine.close()
    engine.close()
    assert lab.living == 0
    assert sorted(found, key=int) == [str(n) for n in range(count)]
    return found


@given(st.sets(st.integers(0, 39), max_size=2), st.lists(st.integers(1, 30), max_size=4), st.integers(1, 9))
def test_each_request_is_done_once_and_only_poison_fails(poison: set[int], deaths: list[int], window: int) -> None:
    """Whatever the moments at which engines are killed (after at least one outcome)."""
    lab = Lab(poison, deaths, window)
    for question, outcome in run(lab, 40).items():
        if int(question) in poison:
            assert "the engine died of this request: " in failure(outcome).reason
            assert not failure(outcome).final
        else:
            response(outcome)
            assert lab.asked[question] == 1


@settings(max_examples=30)
@given(st.integers(0, 40), st.integers(2, 8), st.integers(1, 9))
def test_neighbours_that_all_kill_cost_only_themselves(first: int, killers: int, window: int) -> None:
    """As many as there may be, if others come after them: the questions on a page that kills."""
    poison = {*range(first, first + killers)}
    lab = Lab(poison, window=window)
    for question, outcome in run(lab, first + killers * AWAY).items():
        if int(question) in poison:
            assert "the engine died of this request: " in failure(outcome).reason
        else:
            response(outcome)


def test_the_last_ones_may_kill() -> None:
    found = run(Lab({*range(290, 299)}, window=512), 300)
    lost = {int(question) for question, outcome in found.items() if not isinstance(outcome, Response)}
    assert lost == {*range(290, 299)}


def test_a_request_that_kills_is_found_in_few_deaths() -> None:
    lab = Lab({300}, window=512)
    found = run(lab, 512)
    assert "poisoned" in failure(found["300"]).reason
    assert lab.built <= 13  # the first, the second with all in hand, and about log2(512) for the parts


def test_an_engine_that_always_dies_is_given_up() -> None:
    lab = Lab(set(range(1000)), window=64)
    found = run(lab, 200)
    assert all(failure(outcome).final is False for outcome in found.values())
    reasons = Counter(failure(outcome).reason for outcome in found.values())
    assert reasons["the engine died of this request: poisoned"] == DEATHS
    assert reasons[f"the engine died {DEATHS} times in a row: poisoned"] == 200 - DEATHS
    assert lab.built <= 8


def test_an_engine_that_dies_idle_is_given_up() -> None:
    """It is lost before it takes anything, every time."""
    lab = Lab(deaths=[0] * 50, window=1)
    found = run(lab, 5)
    assert all("the engine died" in failure(outcome).reason for outcome in found.values())
    assert lab.built <= 2 * DEATHS


def test_an_engine_that_cannot_be_built_again_fails_the_rest() -> None:
    lab = Lab(deaths=[7])
    lab.buildable = 1
    found = run(lab, 20)
    assert sum(isinstance(outcome, Response) for outcome in found.values()) == 7
    reason = f"the engine died {DEATHS} times in a row: it cannot be built again: no memory for it"
    assert {failure(o).reason for o in found.values() if not isinstance(o, Response)} == {reason}


def test_it_is_tried_again_with_the_next_requests() -> None:
    lab = Lab(deaths=[1])
    lab.buildable = 1
    engine = Revived(lab.build)
    assert len(list(engine.generate(ask(str(n)) for n in range(3)))) == 3
    lab.buildable = None
    assert [response(o).text for o in engine.generate([ask("7")])] == ["yes"]
    engine.close()


def test_requests_are_taken_as_the_engine_takes_them() -> None:
    taken = 0

    def endless() -> Iterator[Request]:
        nonlocal taken
        while True:
            yield ask(str(taken))
            taken += 1

    engine = Revived(Lab(window=4, deaths=[5, 5]).build)
    for done, _ in enumerate(islice(engine.generate(endless()), 30), start=1):
        assert taken <= done + 4
    engine.close()


def test_the_first_engine_has_to_be_there() -> None:
    lab = Lab()
    lab.buildable = 0
    with pytest.raises(UserError, match="no memory"):
        Revived(lab.build)

    def dies() -> Scripted:
        raise EngineDied("while loading")

    with pytest.raises(UserError, match="while loading"):
        Revived(dies)


def test_what_the_requests_raise_is_no_death() -> None:
    lab = Lab()

    def broken() -> Iterator[Request]:
        yield ask("1")
        raise UserError("no such file")

    engine = Revived(lab.build)
    with pytest.raises(UserError, match="no such file"):
        list(engine.generate(broken()))
    assert lab.built == 1
    engine.close()
