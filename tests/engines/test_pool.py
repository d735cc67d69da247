"""Several engines behind one: what the pool gives to whom, with far ends in threads that get pickled messages."""

from __future__ import annotations

import itertools
import logging
import pickle
import queue
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livek12.core.errors import UserError
from livek12.core.records import Failure, Image, Request
from livek12.core.run.spec import OPERATIONAL_ARGS
from livek12.engines import make_engine
from livek12.engines.base import Engine, EngineDied
from livek12.engines.pool import AHEAD, BURST, Pool
from livek12.engines.replicas import PLACING
from livek12.engines.slot import PREFETCH
from livek12.engines.worker import Album, Lost, Message, Report, Worker
from tests.engines.helpers import ask, by_question, failure, response, wait_until
from tests.engines.scripted_engine import asked, built, crowded, refusing, scripted

CLOSED = "its thread is let go"


class Thread:
    """A member whose far end is a thread; messages are pickled as on any way between processes, and counted."""

    sent = 0

    def __init__(self, build: Callable[[], Engine]) -> None:
        self._reports: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._worker = Worker(build, lambda report: self._reports.put(pickle.dumps(report)))
        threading.Thread(target=self._worker.run, daemon=True).start()

    def send(self, message: Message) -> None:
        data = pickle.dumps(message)
        Thread.sent += len(data)
        self._worker.post(pickle.loads(data))

    def receive(self) -> Report:
        report: Report = pickle.loads(self._reports.get())
        if report == Lost(CLOSED):
            raise EngineDied(CLOSED)
        return report

    def close(self, seconds: float) -> None:
        self._reports.put(pickle.dumps(Lost(CLOSED)))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "asked"


def pool(*builds: Callable[[], Engine]) -> Pool:
    """A pool of threads, all ready."""
    made = Pool([partial(Thread, build) for build in builds])
    wait_until(lambda: made.ready() == len(builds) - sum(bool(slot.gone) for slot in made._slots))
    return made


def photo(number: int, size: int = 20_000) -> Image:
    return Image(bytes=number.to_bytes(4, "big") * (size // 4))


def workers_of(log: Path) -> dict[str, set[str]]:
    """Who was asked, by the part of the question before the dash."""
    found: dict[str, set[str]] = defaultdict(set)
    for one, key, _ in asked(log):
        found[key.partition("/")[0].partition("-")[0]].add(one)
    return found


def test_it_is_the_engine_of_its_members(log: Path) -> None:
    both = pool(*[scripted(log)] * 2)
    assert (both.name, both.model, both.revision, both.images) == ("scripted", "nobody", None, True)
    assert both.versions() == {"scripted": "1"}
    assert list(both.generate([])) == []
    outcomes = by_question(list(both.generate(ask(f"q{number}") for number in range(100))))
    assert set(outcomes) == {f"q{number}" for number in range(100)}
    assert len({response(outcome).text for outcome in outcomes.values()}) == 2
    both.close()
    both.close()


def test_requests_are_taken_as_there_is_room_and_left_when_nobody_waits(log: Path) -> None:
    both = pool(*[scripted(log)] * 2)
    taken = itertools.count()
    endless = both.generate(ask(f"old{next(taken)}") for _ in itertools.repeat(0))
    got = list(itertools.islice(endless, 50))
    endless.close()  # type: ignore[attr-defined]
    assert len(by_question(got)) == 50
    assert next(taken) <= 50 + BURST + 2 * (4 + PREFETCH[1])
    assert set(by_question(list(both.generate([ask("new1"), ask("new2")])))) == {"new1", "new2"}
    both.close()


def test_the_error_of_a_source_is_its_callers(log: Path) -> None:
    def source() -> Iterator[Request]:
        yield ask("q")
        raise UserError("a damaged row")

    one = pool(scripted(log))
    with pytest.raises(UserError, match="a damaged row"):
        list(one.generate(source()))
    assert len(list(one.generate([ask("q")]))) == 1
    one.close()


class TestAffinity:
    def test_a_picture_travels_once_and_a_paper_stays_with_one_member(self, log: Path) -> None:
        pages = {paper: tuple(photo(paper * 100 + page) for page in range(4)) for paper in range(12)}
        three = pool(*[scripted(log)] * 3)
        Thread.sent = 0
        list(three.generate(ask(f"{paper}-{n}", images=pages[paper]) for paper in pages for n in range(20)))
        three.close()
        workers = workers_of(log)
        assert {len(who) for who in workers.values()} == {1}
        assert len(set().union(*workers.values())) == 3
        assert {len(seen.split(",")) for _, _, seen in asked(log)} == {4}  # whole: checked by their hashes
        distinct = 12 * 4 * 20_000
        assert distinct <= Thread.sent < 1.5 * distinct  # twenty times as much, were it sent with each question

    def test_the_conditions_of_a_question_stay_together(self, log: Path) -> None:
        """So that what they begin with is computed by one member alone."""
        three = pool(*[scripted(log)] * 3)
        conditions = [(n, kind, unit) for n in range(30) for kind in "abcde" for unit in range(4)]
        list(three.generate(ask(f"{n}-{kind}{unit}", together=f"cfe/{n}") for n, kind, unit in conditions))
        three.close()
        workers = workers_of(log)
        assert {len(who) for who in workers.values()} == {1}
        assert len(set().union(*workers.values())) == 3

    def test_conditions_by_the_hundred_leave_no_member_without_work(self, log: Path) -> None:
        three = pool(*[scripted(log)] * 3)
        list(three.generate(ask(f"q-{n}", together="cfe/q") for n in range(1000)))
        three.close()
        done = Counter(who for who, _, _ in asked(log))
        assert len(done) == 3
        assert min(done.values()) > AHEAD

    def test_the_trials_of_a_prompt_stay_together(self, log: Path) -> None:
        three = pool(*[scripted(log)] * 3)
        outcomes = list(three.generate(ask(f"{n}-", trial=trial) for n in range(30) for trial in range(8)))
        three.close()
        assert len({outcome.key for outcome in outcomes}) == 240
        workers = workers_of(log)
        assert {len(who) for who in workers.values()} == {1}
        assert len(set().union(*workers.values())) == 3

    def test_a_picture_that_all_share_does_not_leave_the_others_idle(self, log: Path) -> None:
        both = pool(*[scripted(log, seconds=0.0005)] * 2)
        assert len(list(both.generate(ask(f"logo-{n}", images=(photo(1),)) for n in range(900)))) == 900
        both.close()
        assert len(workers_of(log)["logo"]) == 2

    @given(st.lists(st.lists(st.integers(0, 9), max_size=4, unique=True), max_size=40), st.integers(0, 100))
    def test_both_ends_hold_the_same_pictures_within_a_bound(self, shown: list[list[int]], limit: int) -> None:
        near, far = Album(limit * 1000), Album(limit * 1000)
        largest = 0
        for number, pages in enumerate(shown):
            request = ask(f"q{number}", images=tuple(photo(page, 4000 * (page + 1)) for page in pages))
            assert far.unpack(pickle.loads(pickle.dumps(near.pack(request)))) == request
            held = sum(len(image.bytes or b"") for image in far._kept.values())
            largest = max(largest, sum(4000 * (page + 1) for page in pages))
            assert held <= max(limit * 1000, largest)


class TestDeaths:
    @pytest.mark.parametrize("members", [1, 3])
    def test_a_request_that_kills_fails_alone(self, log: Path, members: int, caplog: pytest.LogCaptureFixture) -> None:
        some = pool(*[scripted(log)] * members)
        deadly = {"q5", "q50", "q99"}
        questions = [f"q{n}" for n in range(100)]
        outcomes = by_question(list(some.generate(ask(q, "lose" if q in deadly else "live") for q in questions)))
        some.close()
        assert set(outcomes) == set(questions)
        assert {q for q, outcome in outcomes.items() if isinstance(outcome, Failure)} == deadly
        for question in deadly:
            found = failure(outcomes[question])
            assert "the engine died" in found.reason
            assert "with this request, and alone: told to be lost" in found.reason
            assert not found.final
        assert "unfinished requests are done again" in caplog.text
        assert built(log) < 50

    @pytest.mark.parametrize("members", [1, 3])
    def test_neighbours_that_all_kill_cost_only_themselves(self, log: Path, members: int) -> None:
        """The questions on a page that kills, if others come after them."""
        some = pool(*[scripted(log, seconds=0.0)] * members)
        deadly = {f"q{n}" for n in range(50, 58)}
        asked = (ask(f"q{n}", "lose" if f"q{n}" in deadly else "live") for n in range(1000))
        outcomes = by_question(list(some.generate(asked)))
        some.close()
        assert len(outcomes) == 1000
        assert {q for q, outcome in outcomes.items() if isinstance(outcome, Failure)} == deadly

    def test_a_member_that_once_cannot_be_built_again_is_used_once_more(self, log: Path) -> None:
        """As when the memory of a killed process is not free yet; a member that never worked is left."""
        builds = itertools.count()

        def sick() -> Engine:
            if next(builds) == 1:
                raise UserError("no memory for it")
            return scripted(log)()

        one = pool(sick)
        outcomes = by_question(list(one.generate(ask(f"q{n}", "lose" if n == 5 else "live") for n in range(100))))
        one.close()
        assert {q for q, outcome in outcomes.items() if isinstance(outcome, Failure)} == {"q5"}
        assert next(builds) > 2

    def test_an_engine_that_always_dies_is_given_up(self, log: Path) -> None:
        both = pool(*[scripted(log)] * 2)
        outcomes = by_question(list(both.generate(ask(f"q{n}", "lose") for n in range(300))))
        assert len(outcomes) == 300
        assert {failure(outcome).final for outcome in outcomes.values()} == {False}
        assert "no engine is left: replica 1 is not used: it died 3 times" in failure(outcomes["q299"]).reason
        assert built(log) < 100  # and not one for each request
        assert response(next(iter(both.generate([ask("later")])))).key.question_id == "later"
        both.close()

    def test_a_user_error_ends_the_pool(self, log: Path) -> None:
        with pytest.raises(UserError, match=r"^nobody: no such model; give a folder$"):
            Pool([partial(Thread, refusing)] * 2)
        both = pool(*[scripted(log)] * 2)
        with pytest.raises(UserError, match=r"^told to refuse$"):
            list(both.generate([ask("q", "refuse")]))
        both.close()

    def test_a_device_that_is_full_costs_its_replica_only(self, log: Path, caplog: pytest.LogCaptureFixture) -> None:
        """However early it says so; and all of them are an error."""
        two = pool(crowded, scripted(log), crowded)
        outcomes = by_question(list(two.generate(ask(f"q{n}") for n in range(20))))
        assert all(response(outcome) for outcome in outcomes.values())
        assert len(outcomes) == 20
        assert "replica 1 is not used: vLLM cannot run m: Free memory on device" in caplog.text
        two.close()
        with pytest.raises(UserError, match=r"^replica 1 is not used: vLLM cannot run m: Free memory on device"):
            Pool([partial(Thread, crowded)] * 2)

    def test_members_with_other_versions_are_not_used(self, log: Path, caplog: pytest.LogCaptureFixture) -> None:
        with caplog.at_level(logging.WARNING):
            mixed = pool(scripted(log), scripted(log, version="2"), scripted(log))
        texts = {response(outcome).text for outcome in mixed.generate(ask(f"q{n}") for n in range(60))}
        mixed.close()
        used = 2 if mixed.versions() == {"scripted": "1"} else 1
        assert len(texts) == used
        assert caplog.text.count("elsewhere: install the same on all nodes") == 3 - used


@pytest.mark.parametrize(
    ("engine", "args", "says"),
    [
        ("openai", {"base_url": "http://127.0.0.1:9/v1", "replicas": "2"}, "replicas: for engines that run a model"),
        ("replay", {"ray": "local", "cpus": "1"}, "cpus, ray: for engines that run a model here"),
        ("transformers", {"replicas": "0"}, "above zero"),
        ("transformers", {"replicas": "two"}, "is not a whole number"),
        ("transformers", {"cpus": "-1"}, "above zero"),
        ("transformers", {"gpus": "1.5"}, "an engine has whole GPUs"),
        ("transformers", {"replicas": "3", "gpus": "2"}, "replicas=3 with 2 GPUs each need 6, and there are 4"),
        ("transformers", {"replicas": "5", "gpus": "0.7"}, "need 5, and there are 4: take fewer, or two on each GPU"),
        ("vllm", {"window": "0"}, "window=0: a number above zero"),
        ("vllm", {"replicas": "2", "tensor_parallel_size": "two"}, "tensor_parallel_size=two is not a whole number"),
    ],
)
def test_wrong_arguments_say_so_in_one_line(
    engine: str, args: dict[str, str], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1,2,3")
    with pytest.raises(UserError) as error:
        make_engine(engine, "nowhere", args)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_a_run_may_go_on_with_other_replicas() -> None:
    assert PLACING <= OPERATIONAL_ARGS
