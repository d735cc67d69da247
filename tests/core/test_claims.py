"""Two processes on one run folder share the work; a dead one's claims are void."""

from __future__ import annotations

import fcntl
import subprocess
import sys
import time
from itertools import zip_longest
from pathlib import Path
from types import SimpleNamespace

import pytest

from livek12.core.errors import UserError
from livek12.core.run import claims as claiming
from livek12.core.run.claims import LOOK_SECONDS, Claims, at_work, unsure, with_its_trials
from livek12.core.run.journal import JournalWriter
from livek12.core.run.locks import SECONDS


@pytest.fixture
def _book(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIVEK12_LEASES", request.param)


by_locks_and_by_leases = pytest.mark.parametrize("_book", ["0", "1"], ids=["locks", "leases"], indirect=True)


def test_of_two_living_owners_one_gets_the_key(tmp_path: Path) -> None:
    with JournalWriter(tmp_path, "r") as one, JournalWriter(tmp_path, "r") as two:
        first, second = Claims(one.path, "r", set), Claims(two.path, "r", set)
        assert first.take("a") and second.take("b")
        assert not second.take("a") and not first.take("b")
        assert first.take("a"), "its own claim stands"


def test_a_dead_owners_claim_is_void_unless_the_work_is_stored(tmp_path: Path) -> None:
    stored: set[str] = set()
    with JournalWriter(tmp_path, "r") as held, JournalWriter(tmp_path, "r") as two:
        dead = Claims(held.path, "r", set)
        living = Claims(two.path, "r", lambda: stored)
        assert dead.take("done") and dead.take("lost")
        stored.add("done")
        held.close()
        assert not living.take("done")
        assert living.take("lost")


def test_many_keys_are_claimed_in_one_turn_as_one_by_one(tmp_path: Path) -> None:
    keys = ["t/a/0", "t/a/1", "t/b/0", "t/c/0", "t/done/0"]
    with JournalWriter(tmp_path, "r") as one, JournalWriter(tmp_path, "r") as two, JournalWriter(tmp_path, "r") as gone:
        first, second, dead = (
            Claims(each.path, "r", lambda: {"t/done/0"}, with_its_trials) for each in (one, two, gone)
        )
        assert second.take("t/b/0") and dead.take("t/c/0")
        gone.close()
        assert first.take_all(keys) == ["t/a/0", "t/a/1", "t/c/0"] and first.refused
        assert first.take_all(keys) == ["t/a/0", "t/a/1", "t/c/0"], "its own claims stand"
        assert second.take_all(reversed(keys)) == ["t/b/0"]
        with Path(first._path).open("ab") as torn:
            torn.write(b'["t/to')
        assert first.take_all(["t/d/0", "t/e/0"]) == ["t/d/0", "t/e/0"]
        assert second.take_all(["t/e/0", "t/d/0", "t/f/0"]) == ["t/f/0"]


def test_what_is_stored_is_never_taken(tmp_path: Path) -> None:
    with JournalWriter(tmp_path, "r") as writer:
        claims = Claims(writer.path, "r", lambda: {"a"})
        assert not claims.take("a") and claims.take("b")


WORKER = """
import sys
from pathlib import Path
from livek12.core.run.claims import Claims
from livek12.core.run.journal import JournalWriter
with JournalWriter(Path(sys.argv[1]), "r") as writer:
    claims = Claims(writer.path, "r", set)
    print("ready", flush=True)
    sys.stdin.readline()
    print(*(number for number in range(300) if claims.take(str(number))), flush=True)
    sys.stdin.readline()
"""


@by_locks_and_by_leases
def test_many_processes_take_each_key_once_and_a_killed_one_leaves_its_own_at_once(tmp_path: Path, _book: None) -> None:
    children = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    taken: list[list[str]] = []
    for child in children:
        assert child.stdout is not None and child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("\n")
        child.stdin.flush()
    for child in children:
        assert child.stdout is not None
        taken.append(child.stdout.readline().split())
    assert sorted(int(one) for some in taken for one in some) == list(range(300))
    mine, killed = max(zip(taken, children, strict=True), key=lambda pair: len(pair[0]))
    killed.kill()
    killed.wait()
    with JournalWriter(tmp_path, "r") as writer:
        claims = Claims(writer.path, "r", set)
        assert [one for one in map(str, range(300)) if claims.take(one)] == sorted(mine, key=int)
    for child in children:
        if child is not killed:
            child.communicate("\n")


@by_locks_and_by_leases
def test_what_belongs_together_is_claimed_as_one(tmp_path: Path, _book: None) -> None:
    with JournalWriter(tmp_path, "r") as one, JournalWriter(tmp_path, "r") as two:
        first, second = (Claims(w.path, "r", set, with_its_trials) for w in (one, two))
        assert first.take("t/a/0") and second.take("t/b/63")
        assert [first.take(f"t/{key}") for key in ("a/1", "a/63", "a/64", "b/0")] == [True, True, True, False]
        assert [second.take(f"t/{key}") for key in ("a/2", "a/70", "b/64")] == [False, False, True]


def test_half_a_claim_left_by_a_kill_spoils_no_other(tmp_path: Path) -> None:
    (tmp_path / ".claims-r.jsonl").write_bytes(b'["gone", "r-9.jsonl"]\n[7]\n["ha')
    with JournalWriter(tmp_path, "r") as one, JournalWriter(tmp_path, "r") as two:
        first, second = Claims(one.path, "r", set), Claims(two.path, "r", set)
        assert first.take("a") and first.take("b") and first.take("gone")
        assert not any(map(second.take, ("a", "b", "gone")))
        assert second.take("half")


def test_the_work_of_one_that_has_gone_is_read_once_not_for_each_of_its_claims(tmp_path: Path) -> None:
    reads = 0

    def stored() -> set[str]:
        nonlocal reads
        reads += 1
        return {"0"}

    with JournalWriter(tmp_path, "r") as held, JournalWriter(tmp_path, "r") as two:
        dead, living = Claims(held.path, "r", set), Claims(two.path, "r", stored)
        living.done = set()
        for number in range(50):
            assert dead.take(str(number))
        held.close()
        assert [living.take(str(number)) for number in range(50)] == [False] + [True] * 49
    assert reads == 2, "once at the start, once when the other had gone"


def test_one_that_comes_back_and_goes_again_is_read_again(tmp_path: Path) -> None:
    stored: set[str] = set()
    with JournalWriter(tmp_path, "r") as held, JournalWriter(tmp_path, "r") as two:
        living = Claims(two.path, "r", lambda: set(stored))
        for number in range(3):  # a process on the same file each time
            with JournalWriter(tmp_path, "r") if number else held as again:
                assert again.path.name == "r-0.jsonl"
                dead = Claims(again.path, "r", set)
                assert dead.take(f"done {number}") and dead.take(f"lost {number}")
                stored.add(f"done {number}")
            assert not living.take(f"done {number}")
            assert living.take(f"lost {number}")


def test_a_second_round_sees_what_was_done_meanwhile(tmp_path: Path) -> None:
    stored: set[str] = set()
    for free in (("a", "b"), ("b",)):
        with JournalWriter(tmp_path, "r") as writer:
            claims = Claims(writer.path, "r", lambda: set(stored))
            assert tuple(filter(claims.take, ("a", "b"))) == free
        stored.add("a")


def test_it_is_known_whether_something_was_left_to_others(tmp_path: Path) -> None:
    with JournalWriter(tmp_path, "r") as one, JournalWriter(tmp_path, "r") as two:
        first, second = Claims(one.path, "r", set), Claims(two.path, "r", lambda: {"done"})
        assert first.take("a") and second.take("b") and not second.take("done")
        assert not first.refused and not second.refused
        assert not second.take("a") and second.refused, "found in the file"
        assert not first.take("b") and first.refused
        one.close()
        third = Claims(two.path, "r", lambda: {"done"})
        assert third.take("a") and third.take("b") and not third.refused, "nobody else lives"


def test_who_is_at_work_is_seen_by_many_at_once(tmp_path: Path) -> None:
    with JournalWriter(tmp_path, "r") as one:
        assert at_work(tmp_path, "r") == ["r-0.jsonl"]
        with JournalWriter(tmp_path, "r"), JournalWriter(tmp_path, "other"):
            assert at_work(tmp_path, "r") == ["r-0.jsonl", "r-1.jsonl"]
        assert at_work(tmp_path, "r") == ["r-0.jsonl"]
        one.close()
        with one.path.open("rb") as looking:  # as another process does for a moment
            fcntl.flock(looking, fcntl.LOCK_SH)
            assert at_work(tmp_path, "r") == [], "who looks is not taken for who writes"
            with JournalWriter(tmp_path, "r") as other:
                assert other.path.name == "r-1.jsonl", "and costs the next writer no more than another file"


def test_a_living_holder_is_looked_up_once_in_its_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with JournalWriter(tmp_path, "r") as one, JournalWriter(tmp_path, "r") as two:
        first, second = Claims(one.path, "r", set), Claims(two.path, "r", set)
        assert first.take("a")
        now, looks = [0.0], []
        monkeypatch.setattr(claiming, "time", SimpleNamespace(monotonic=lambda: now[0]))
        monkeypatch.setattr(claiming, "is_held", lambda path: looks.append(path.name) or True)
        for moment, count in ((0.0, 1), (0.9 * LOOK_SECONDS, 1), (LOOK_SECONDS, 2), (1.9 * LOOK_SECONDS, 2)):
            now[0] = moment
            assert not second.take("a") and looks == count * [one.path.name], moment


def test_a_claim_without_a_seen_holder_is_waited_for_in_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unseen, now = claiming._NOT_SEEN, time.monotonic()
    assert unsure(tmp_path, {unseen}, now)
    assert not unsure(tmp_path, {unseen}, now - SECONDS)
    with JournalWriter(tmp_path, "r") as one:
        assert not unsure(tmp_path, {one.path.name}, now), "a lock tells at once"
        assert Claims(one.path, "r", set)._lives(unseen), "its holder is just beginning"
    monkeypatch.setattr(claiming, "time", SimpleNamespace(monotonic=lambda: now))
    assert unsure(tmp_path, {unseen}, now - SECONDS + 1) and not unsure(tmp_path, {unseen}, now - SECONDS)


def test_claims_need_a_folder_that_can_be_written(tmp_path: Path) -> None:
    (tmp_path / ".claims-r.jsonl").mkdir()
    with JournalWriter(tmp_path, "r") as writer, pytest.raises(UserError, match=r"\.claims-r\.jsonl: cannot be used"):
        Claims(writer.path, "r", set)


@by_locks_and_by_leases
def test_two_at_once_share_evenly_and_no_group_is_split(tmp_path: Path, _book: None) -> None:
    """Both go through the same 20 papers of 5 questions in step, as two processes of equal speed do."""
    keys = [f"t/{paper}-{number}/0" for paper in range(20) for number in range(5)]
    with JournalWriter(tmp_path, "r") as one, JournalWriter(tmp_path, "r") as two:
        both = [Claims(writer.path, "r", set, lambda key: key.split("-")[0]) for writer in (one, two)]
        shares = list(zip_longest(*(filter(claims.take, keys) for claims in both)))
    papers = [{key.split("-")[0] for key in share if key} for share in zip(*shares, strict=True)]
    assert not papers[0] & papers[1] and len(papers[0] | papers[1]) == 20
    assert sorted(key for pair in shares for key in pair if key) == sorted(keys)
    assert abs(len(papers[0]) - len(papers[1])) <= 1
