"""Append-only files: nothing stored is lost, whatever kills the writer."""

from __future__ import annotations

import multiprocessing
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from livek12.core.errors import UserError
from livek12.core.files import write_atomically
from livek12.core.records import Failure, Key
from livek12.core.run.journal import JournalWriter, journal_files, read_journal
from livek12.core.run.locks import is_held


def record(number: int, reason: str = "x") -> Failure:
    return Failure(key=Key(task="t", question_id=str(number)), state="failed", reason=reason)


def ids(folder: Path) -> list[int]:
    return [int(r.key.question_id) for r in read_journal(folder, "f", Failure)]


def test_records_come_back_in_order(tmp_path: Path) -> None:
    with JournalWriter(tmp_path, "f") as writer:
        for number in range(5):
            writer.append(record(number, reason="línea\n二行\u2028"))
    assert ids(tmp_path) == [0, 1, 2, 3, 4]
    assert len((tmp_path / "f-0.jsonl").read_bytes().splitlines()) == 5


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(cut=st.integers(min_value=0, max_value=400))
def test_a_torn_tail_costs_only_the_record_it_tore(tmp_path: Path, cut: int) -> None:
    folder = tmp_path / str(time.monotonic_ns())
    folder.mkdir()
    with JournalWriter(folder, "f") as writer:
        for number in range(4):
            writer.append(record(number))
    file = folder / "f-0.jsonl"
    whole = file.read_bytes()
    kept = whole[: max(0, len(whole) - cut)]
    file.write_bytes(kept)
    *lines, last = kept.split(b"\n")
    whole_lines = len(lines) + (1 if last.endswith(b"}") and last.count(b"{") == last.count(b"}") else 0)
    expected = list(range(whole_lines))  # a line that lacks only its newline is whole
    assert ids(folder) == expected
    with JournalWriter(folder, "f") as writer:
        writer.append(record(9))
    assert ids(folder) == [*expected, 9]
    assert file.read_bytes().endswith(b"\n")


def test_living_writers_never_share_a_file(tmp_path: Path) -> None:
    with JournalWriter(tmp_path, "f") as one, JournalWriter(tmp_path, "f") as two:
        one.append(record(1))
        two.append(record(2))
        assert one.path != two.path
    with JournalWriter(tmp_path, "f") as three:
        assert three.path == one.path
    assert sorted(ids(tmp_path)) == [1, 2]


def test_damaged_lines_are_told_file_by_file_and_passed_over(tmp_path: Path) -> None:
    with JournalWriter(tmp_path, "f") as writer:
        writer.append(record(1))
    with (tmp_path / "f-0.jsonl").open("ab") as file:
        file.write(b'{"key": 3}\n\xff\xfe\n')
    with JournalWriter(tmp_path, "f") as writer:
        writer.append(record(2))
    (tmp_path / "f-1.jsonl").write_bytes(b'{"from": "the future"}\n' * 800)
    problems: list[str] = []
    assert [r.key.question_id for r in read_journal(tmp_path, "f", Failure, problems.append)] == ["1", "2"]
    assert len(problems) == 2 and all("\n" not in problem for problem in problems)
    assert "f-0.jsonl:2: not a Failure record (key: Input should be" in problems[0]
    assert problems[0].endswith("passed over, with 1 more of this file")
    assert "f-1.jsonl:1: not a Failure record (" in problems[1]
    assert problems[1].endswith("passed over, with 799 more of this file")


def test_a_journal_of_which_no_line_can_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "f-0.jsonl").write_bytes(b'{"from": "the future"}\n' * 800)
    problems: list[str] = []
    with pytest.raises(UserError, match=r"f-0\.jsonl:1: not a Failure record \(.*another version"):
        list(read_journal(tmp_path, "f", Failure, problems.append))
    assert problems == []
    (tmp_path / "f-0.jsonl").write_bytes(b'{"key": {"task": "t", "quest')  # the first record, torn by a kill
    assert list(read_journal(tmp_path, "f", Failure)) == []


def _append_for_ever(folder: str, start: int) -> None:
    with JournalWriter(Path(folder), "f") as writer:
        number = start
        while True:
            writer.append(record(number, reason="y" * 3000))
            print(number, flush=True)
            number += 1


def test_kill_9_loses_no_stored_record(tmp_path: Path) -> None:
    """Every record whose append had returned is there after a kill at a random moment."""
    start = 0
    for _ in range(4):
        code = f"from tests.core.test_journal import _append_for_ever as f; f({str(tmp_path)!r}, {start})"
        child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=Path.cwd())
        assert child.stdout is not None
        stored = int(child.stdout.readline())
        time.sleep(random.random() * 0.1)
        child.send_signal(signal.SIGKILL)
        rest = child.stdout.read().split("\n")
        child.wait()
        stored = max([stored, *(int(line) for line in rest[:-1])])
        found = ids(tmp_path)
        assert found == list(range(len(found)))
        assert stored < len(found) <= stored + 2
        start = len(found)
    assert len(journal_files(tmp_path, "f")) == 1


FORKING = """
import os, signal, sys
from pathlib import Path
from livek12.core.run.claims import Claims
from livek12.core.run.journal import JournalWriter
with JournalWriter(Path(sys.argv[1]), "f") as writer:
    claims = Claims(writer.path, "f", set)
    if os.fork() == 0:
        sys.exit()  # leaves the block, and closes nothing a second time
    assert os.wait()[1] == 0
    if os.fork() == 0:
        try:
            os.fstat(claims._book._fd)
        except OSError:
            print("claims are closed", flush=True)
        sys.stdin.read()
        os._exit(0)
    signal.pause()
"""


def test_a_forked_child_does_not_hold_what_its_parent_wrote(tmp_path: Path) -> None:
    """As processes of an engine's library may, which outlive for a while the command that was killed."""
    command = [sys.executable, "-c", FORKING, str(tmp_path)]
    parent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    try:
        assert parent.stdout.readline() == "claims are closed\n"
        with JournalWriter(tmp_path, "f") as other:
            assert other.path.name == "f-1.jsonl", "the parent holds its file, whatever its children did"
        parent.kill()
        parent.wait()
        with JournalWriter(tmp_path, "f") as again:
            assert again.path.name == "f-0.jsonl", "the child that lives on does not"
    finally:
        parent.kill()
        parent.communicate()  # ends the child, which reads on to the end of its input


def _append_some(folder: str, start: int) -> None:
    with JournalWriter(Path(folder), "f") as writer:
        for number in range(start, start + 300):
            writer.append(record(number))


def test_many_writers_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    children = [context.Process(target=_append_some, args=(str(tmp_path), 300 * n)) for n in range(4)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert sorted(ids(tmp_path)) == list(range(1200))


def test_a_full_disk_is_one_clear_line_and_loses_nothing(small_disk: Path) -> None:
    stored = 0
    with JournalWriter(small_disk, "f") as writer, pytest.raises(UserError, match="No space left"):
        for stored in range(10_000):
            writer.append(record(stored, reason="z" * 5000))
    assert ids(small_disk) == list(range(stored))
    (small_disk / "ballast").unlink()
    with JournalWriter(small_disk, "f") as writer:
        writer.append(record(stored))
    assert ids(small_disk) == list(range(stored + 1))


def test_a_full_disk_keeps_the_old_file(small_disk: Path) -> None:
    write_atomically(small_disk / "run.json", "old")
    with pytest.raises(UserError, match="No space left"):
        write_atomically(small_disk / "run.json", "new" * 10_000_000)
    assert (small_disk / "run.json").read_text() == "old"
    assert {path.name for path in small_disk.iterdir()} == {"run.json", "ballast"}


WRITING = """
import sys
from pathlib import Path
from livek12.core.files import write_atomically
for number in range(150):
    write_atomically(Path(sys.argv[1]), sys.argv[2] * 2000)
"""


def test_processes_of_one_id_in_two_containers_write_one_file_whole(tmp_path: Path) -> None:
    alone = ["unshare", "--pid", "--fork"]  # each child is process 1 of a namespace of its own, as in a container
    if shutil.which("unshare") is None or subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no process namespaces here")
    file = tmp_path / "run.json"
    file.write_text("a" * 2000)
    children = [
        subprocess.Popen([*alone, sys.executable, "-c", WRITING, str(file), sign], stderr=subprocess.PIPE, text=True)
        for sign in "ab"
    ]
    while any(child.poll() is None for child in children):
        assert file.read_text() in ("a" * 2000, "b" * 2000)
    assert [child.communicate()[1] for child in children] == ["", ""]
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_a_file_on_a_disk_that_is_read_only_is_one_line(read_only: Callable[[Path], Path], tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("old")
    folder = read_only(tmp_path)
    with pytest.raises(UserError, match=r"run\.json: cannot be written \(Read-only file system\)"):
        write_atomically(folder / "run.json", "new")
    with pytest.raises(UserError, match=r"f-0\.jsonl: cannot be opened for writing \(Read-only file system\)"):
        JournalWriter(folder, "f")
    assert not is_held(folder / "run.json")
