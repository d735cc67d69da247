"""Two processes on one run folder share the work; a dead one's claims are void."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from livek12.core.claims import Claims
from livek12.core.journal import JournalWriter


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


def test_what_is_stored_is_never_taken(tmp_path: Path) -> None:
    with JournalWriter(tmp_path, "r") as writer:
        claims = Claims(writer.path, "r", lambda: {"a"})
        assert not claims.take("a") and claims.take("b")


WORKER = """
import sys, time
from pathlib import Path
from livek12.core.claims import Claims
from livek12.core.journal import JournalWriter
folder = Path(sys.argv[1])
with JournalWriter(folder, "r") as writer:
    claims = Claims(writer.path, "r", set)
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(400):
        if claims.take(str(number)):
            print(number, flush=True)
    print("end", flush=True)
    sys.stdin.readline()
"""


def test_many_processes_take_each_key_once(tmp_path: Path) -> None:
    children = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("\n")
        child.stdin.flush()
    taken: list[int] = []
    for child in children:  # each stays alive, its claims standing, until all are through
        assert child.stdout is not None
        taken += [int(line) for line in iter(child.stdout.readline, "end\n")]
    for child in children:
        child.communicate()
    assert sorted(taken) == list(range(400))
