"""Claims where locks may not reach other machines: by links, by beats, and never by what may be seen late."""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from livek12.core import compaction
from livek12.core.compaction import check_packed, compact, restore
from livek12.core.errors import UserError
from livek12.core.records import Failure, Key, Response
from livek12.core.run import access, locks
from livek12.core.run import claims as claiming
from livek12.core.run import folder as run_folder
from livek12.core.run.access import alone, settling, take_part
from livek12.core.run.claims import Claims, at_work, unsure
from livek12.core.run.folder import RunFolder
from livek12.core.run.journal import JournalWriter, journal_lines, read_journal
from livek12.core.run.locks import Lease, close_own, lives, shared
from livek12.core.run.spec import RunSpec, TaskSpec
from livek12.core.run.sums import damage
from livek12.dataset_builders import build
from livek12.report.site.files import SiteStore
from tests.endpoint import oracle_at

AT_ONCE = 4


@pytest.fixture(autouse=True)
def _leased(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIVEK12_LEASES", "1")


class OtherMachine:
    """A writer and its claims as those of another machine, whose processes are not seen from here."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with monkeypatch.context() as there:
            there.setattr(locks, "_machine", lambda: "another")
            self.writer = JournalWriter(folder, "r")
        self.claims = Claims(self.writer.path, "r", set)
        self.lease = locks.named(self.writer.path.stem.removeprefix("r-"))
        assert self.lease is not None
        locks._LEASES.discard(self.lease)  # whose beats are this process's

    def beat(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with monkeypatch.context() as there:
            there.setattr(locks, "_machine", lambda: "another")
            assert self.lease is not None
            self.lease.beat()


@pytest.fixture
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "SECONDS", 0.5)
    monkeypatch.setattr(claiming, "LOOK_SECONDS", 0.0)


def test_a_local_disk_needs_no_leases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shared(tmp_path)
    monkeypatch.delenv("LIVEK12_LEASES")
    assert not shared(tmp_path) and not shared(tmp_path / "missing")


@pytest.mark.parametrize(
    ("kind", "remote"),
    [("nfs4", True), ("lustre", True), ("fuse.sshfs", True), ("fuse", True), ("fuseblk", False), ("ext4", False),
     ("overlay", False), ("fuse.fuse-overlayfs", False), ("tmpfs", False)],
)  # fmt: skip
def test_which_file_systems_have_them(kind: str, remote: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LIVEK12_LEASES")
    device = tmp_path.stat().st_dev
    monkeypatch.setattr(locks, "_kinds", lambda: {(locks.os.major(device), locks.os.minor(device)): kind})
    assert shared(tmp_path) is remote


def test_of_two_living_owners_one_gets_the_key_and_a_closed_one_gives_it_back(tmp_path: Path) -> None:
    stored: set[str] = set()
    with JournalWriter(tmp_path, "r") as one, JournalWriter(tmp_path, "r") as two:
        assert one.path != two.path
        first, second = Claims(one.path, "r", set), Claims(two.path, "r", lambda: stored)
        assert first.take("done") and first.take("lost") and second.take("own")
        assert not second.take("done") and not second.take("lost") and not first.take("own")
        assert second.refused and at_work(tmp_path, "r") == sorted([one.path.name, two.path.name])
        stored.add("done")
        one.close()
        time.sleep(1.1)
        assert not second.take("done") and second.take("lost")


@pytest.mark.usefixtures("_short")
def test_one_on_another_machine_is_gone_when_its_lease_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fixed share of the keys a process would leave "a" to nobody."""
    other = OtherMachine(tmp_path, monkeypatch)
    assert other.claims.take("a")
    with JournalWriter(tmp_path, "r") as writer:
        claims = Claims(writer.path, "r", set)
        for _ in range(4):  # it beats, so it lives, though half of its lease has gone each time
            assert not claims.take("a")
            time.sleep(0.25)
            other.beat(monkeypatch)
        assert not claims.take("a")
        time.sleep(0.6)
        assert claims.take("a"), "nothing new was seen of it for as long as its lease"


@pytest.mark.usefixtures("_short")
def test_one_that_was_taken_for_gone_does_not_go_on_with_what_it_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = OtherMachine(tmp_path, monkeypatch)
    assert other.claims.take("a") and other.claims.take("b")
    with JournalWriter(tmp_path, "r") as writer:
        claims = Claims(writer.path, "r", set)
        assert not claims.take("a")
        time.sleep(0.6)
        assert claims.take("a")
        other.beat(monkeypatch)  # it was stopped, and goes on
        assert not other.claims.take("a"), "another has it now"
        assert other.claims.take("b") and not claims.take("b"), "nobody took that over, so it is claimed anew"


@pytest.mark.usefixtures("_short")
def test_what_cannot_be_seen_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with JournalWriter(tmp_path, "r") as one, JournalWriter(tmp_path, "r") as two:
        first, second = Claims(one.path, "r", set), Claims(two.path, "r", set)
        assert first.take("a")
        with monkeypatch.context() as late:
            late.setattr(claiming, "owner_of", lambda path: None)
            late.setattr(locks, "owner_of", lambda path: None)
            assert not second.take("a") and second.refused
        assert not second.take("a")
        one.close()
        assert second.take("a"), "it is looked at again"
    assert lives(tmp_path, "0" * 16), "a holder whose beat is not seen yet"
    time.sleep(0.6)
    assert not lives(tmp_path, "0" * 16), "nor ever"


def test_a_lost_answer_to_ones_own_link_is_no_refusal(tmp_path: Path) -> None:
    lease = Lease(tmp_path)
    assert lease.put("x/y.0") and lease.put("x/y.0") and not Lease(tmp_path).put("x/y.0")


def test_a_tag_is_not_linked_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "MOST_LINKS", 3)
    lease = Lease(tmp_path)
    assert all(lease.put(f"n.{number}") for number in range(8))
    assert len(list(lease.home.glob(f"tag-{lease.token}.*"))) == 3
    assert max(file.stat().st_nlink for file in lease.home.iterdir()) <= 4


def _count(folder: Path) -> None:
    counter = folder / "counter"
    for _ in range(5):
        with settling(folder):
            number = int(counter.read_text())
            time.sleep(0.01)
            counter.write_text(str(number + 1))


def test_one_settles_at_a_time(tmp_path: Path) -> None:
    (tmp_path / "counter").write_text("0")
    processes = [multiprocessing.get_context("fork").Process(target=_count, args=(tmp_path,)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert (tmp_path / "counter").read_text() == "15"


def test_who_takes_part_keeps_others_from_being_alone(tmp_path: Path) -> None:
    with settling(tmp_path):
        part = take_part(tmp_path)
    with pytest.raises(UserError, match="another command is at work here"), alone(tmp_path):
        pass
    close_own(part)
    with alone(tmp_path), settling(tmp_path):
        pass


@pytest.fixture
def spec() -> RunSpec:
    task = TaskSpec.model_validate(
        {"name": "t", "version": 1, "modality": "text_only", "prompt_sha256": "p", "data": "d", "data_sha256": "d",
         "questions": 1, "sampling": {}}
    )  # fmt: skip
    return RunSpec(model="m", engine="e", trials=1, tasks=[task])


def test_a_run_is_made_gone_on_with_and_read(tmp_path: Path, spec: RunSpec) -> None:
    runs = [RunFolder.create_or_resume(tmp_path / "run", spec, {"t": []}) for _ in range(2)]
    failure = Failure(key=Key(task="t", question_id="q", trial=0), state="failed", reason="x")
    for run in runs:
        with run.writer("failures") as writer:
            writer.append(failure)
        run.leave()
    assert len(list(read_journal(tmp_path / "run", "failures", Failure))) == 2
    folder = tmp_path / "run"
    with pytest.raises(UserError, match="holds no response yet"):
        compact(folder)
    with runs[0].writer("responses") as writer:
        writer.append(Response(key=failure.key, text="4", engine="e", model="m"))
        with pytest.raises(UserError, match="another command writes it"):
            compact(folder)
    journals = {file.name: file.read_bytes() for file in folder.glob("*-*.jsonl") if file.stat().st_size}
    compact(folder)
    assert not list(folder.glob("responses-*.jsonl")) and len(list(read_journal(folder, "responses", Response))) == 1
    restore(folder)
    assert {name: (folder / name).read_bytes() for name in journals} == journals


@contextmanager
def stopped_past_lease(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Another machine, to which all that holds the folder here is gone and no lock reaches."""
    mine = {lease.token: lease for lease in locks._LEASES if lease.home.parent == folder}
    with monkeypatch.context() as there:
        for module in (access, locks):
            there.setattr(module, "lives", lambda where, token: token not in mine and lives(where, token))
        there.setattr(access, "_mine", threading.local())
        there.setattr(locks.fcntl, "flock", lambda *_: None)
        yield
    for lease in mine.values():
        lease.lapses += 1


@pytest.mark.parametrize(
    ("command", "moment"),
    [(compact, (compaction, "_check")), (compact, (RunFolder, "amend")), (restore, (compaction, "_write_journals"))],
    ids=["before the packed file is in place", "before the journals go", "before the journals are back"],
)
def test_who_was_stopped_past_the_lease_replaces_nothing_that_another_packed(
    tmp_path: Path,
    spec: RunSpec,
    monkeypatch: pytest.MonkeyPatch,
    command: Callable[[Path], Any],
    moment: tuple[Any, str],
) -> None:
    folder = tmp_path / "run"
    run = RunFolder.create_or_resume(folder, spec, {"t": []})

    def answer(trial: int) -> str:
        with run.writer("responses") as writer:
            text = Response(key=Key(task="t", question_id="q", trial=trial), text="4", engine="e", model="m")
            writer.append(text)
        return text.model_dump_json()

    answers = [answer(0)]
    run.leave()
    if command is restore:
        compact(folder)
    real = getattr(*moment)

    def stop(*given: Any, **named: Any) -> None:
        monkeypatch.setattr(*moment, real)
        real(*given, **named)
        with stopped_past_lease(folder, monkeypatch):
            answers.append(answer(1))
            compact(folder)

    monkeypatch.setattr(*moment, stop)
    with pytest.raises(UserError, match="another took over"):
        command(folder)
    assert sorted(each.model_dump_json() for each in read_journal(folder, "responses", Response)) == sorted(answers)
    check_packed(folder, "responses")
    assert not damage(folder / "responses.parquet") and not list(folder.glob(".*.parquet.new"))
    restore(folder)
    assert sorted(line.decode().strip() for line in journal_lines(folder, "responses")) == sorted(answers)


def test_no_answer_goes_to_a_journal_that_another_packed(
    tmp_path: Path, spec: RunSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    run = RunFolder.create_or_resume(folder, spec, {"t": []})
    answers = [
        Response(key=Key(task="t", question_id="q", trial=trial), text="4", engine="e", model="m") for trial in range(3)
    ]
    with run.writer("responses") as writer:
        writer.append(answers[0])
        with stopped_past_lease(folder, monkeypatch):
            pass
        writer.append(answers[1])  # nobody took over
        with stopped_past_lease(folder, monkeypatch):
            compact(folder)
        for _ in range(2):
            with pytest.raises(UserError, match="was compacted while this command was stopped; run it again"):
                writer.append(answers[2])
    assert len(list(read_journal(folder, "responses", Response))) == 2


def test_no_page_of_a_site_is_written_or_removed_once_another_builds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with access.only_writer(tmp_path) as fence:
        store = SiteStore(tmp_path, fence=fence)
        store.data("first", 1)
        with stopped_past_lease(tmp_path, monkeypatch), access.only_writer(tmp_path):
            SiteStore(tmp_path).data("second", 2)
        for act in (lambda: store.data("second", 3), store.clear, store.end):
            with pytest.raises(UserError, match="another took over"):
                act()
        assert store.read("first") == 1 and store.read("second") == 2


@pytest.mark.parametrize("stopped", ["beginning", "amending"])
def test_who_was_stopped_past_the_lease_overwrites_no_other_run(
    tmp_path: Path, spec: RunSpec, monkeypatch: pytest.MonkeyPatch, stopped: str
) -> None:
    folder = tmp_path / "run"
    if stopped == "amending":
        RunFolder.create_or_resume(folder, spec, {"t": []}).leave()
    else:
        folder.mkdir()
    other = spec.model_copy(update={"model": "other"})
    real = run_folder.write_summed

    def stop(path: Path, *content: Any, **how: Any) -> None:
        """The other takes over while this one is stopped, right before a file takes its place."""
        if path.name == "run.json":
            monkeypatch.setattr(run_folder, "write_summed", real)
            with stopped_past_lease(folder, monkeypatch):
                RunFolder.create_or_resume(folder, other, {"t": []}).leave()
        real(path, *content, **how)

    monkeypatch.setattr(run_folder, "write_summed", stop)
    with pytest.raises(UserError, match="another took over"):
        if stopped == "amending":
            RunFolder(folder).amend(model_revision="r")
        else:
            RunFolder.create_or_resume(folder, spec, {"t": []})
    assert RunFolder.open(folder).spec().model == "other"
    list(RunFolder.open(folder).each_question())


def test_who_was_stopped_goes_on_where_nobody_took_over(tmp_path: Path, spec: RunSpec) -> None:
    RunFolder.create_or_resume(tmp_path / "run", spec, {"t": []}).leave()
    with settling(tmp_path / "run") as fence:
        for lease in locks._LEASES:
            lease.lapses += 1
        fence()
        fence()


def test_a_run_begins_once(tmp_path: Path, spec: RunSpec) -> None:
    """However late others see it."""
    run = RunFolder.create_or_resume(tmp_path / "run", spec, {"t": []})
    with pytest.raises(UserError, match="another command began a run here"):
        RunFolder(tmp_path / "run")._begin(spec.model_copy(update={"model": "other"}), {"t": []}, lambda: None)
    assert run.spec().model == "m"


@pytest.mark.usefixtures("_short")
def test_whether_another_lives_is_unsure_until_it_beats_or_was_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = OtherMachine(tmp_path, monkeypatch)
    assert other.claims.take("a")
    with JournalWriter(tmp_path, "r") as writer:
        claims = Claims(writer.path, "r", set)
        assert not claims.take("a") and claims.refused == {other.writer.path.name}
        now = time.monotonic()
        assert unsure(tmp_path, claims.refused, now)
        other.beat(monkeypatch)
        assert not unsure(tmp_path, claims.refused, now)
        time.sleep(0.3)
        assert unsure(tmp_path, claims.refused, now), "it was silent for longer than between two beats"
        time.sleep(0.3)
        assert not unsure(tmp_path, claims.refused, now) and at_work(tmp_path, "r") == [writer.path.name]
        assert claims.take("a")


# --- two machines that see each other's files late --------------------------------------------------------------------


@pytest.fixture
def two_mounts(tmp_path: Path) -> Iterator[tuple[Path, Path, Path]]:
    """A folder and two mounts of it, each of which shows for three seconds what it has seen before."""
    pytest.importorskip("mfusepy", reason="needs mfusepy and libfuse 3")
    if not Path("/dev/fuse").exists() or locks.os.geteuid() != 0:
        pytest.skip("needs /dev/fuse and the right to mount")
    folder, *mounts = (tmp_path / name for name in ("folder", "one", "two"))
    servers = []
    for place in (folder, *mounts):
        place.mkdir()
    for mount in mounts:
        command = [sys.executable, str(Path(__file__).with_name("late_files.py")), str(folder), str(mount), "3"]
        servers.append(subprocess.Popen(command))
    try:
        for mount in mounts:
            for _ in range(100):
                if mount.is_mount():
                    break
                time.sleep(0.1)
            else:
                pytest.skip("this system mounts nothing through FUSE")
        yield folder, mounts[0], mounts[1]
    finally:
        for mount, server in zip(mounts, servers, strict=True):
            subprocess.run(["umount", "-l", str(mount)], check=False)
            server.kill()
            server.wait()


@pytest.mark.release
def test_two_machines_that_see_late_mark_each_answer_once_though_one_is_killed(
    two_mounts: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each process has process ids of its own, so that neither sees from /proc whether the other lives."""
    from livek12.scripts.bench.marking import make_run, responses

    folder, *mounts = two_mounts
    data = Path(__file__).parents[2] / ".." / "shared" / "data"
    if not (data / "judge").exists():
        pytest.skip("needs the real responses of ../shared/data")
    monkeypatch.setenv("LIVEK12_LEASES", "0")
    make_run(folder / "run", list(responses(data))[::8])
    assert all(list((mount / "run").iterdir()) for mount in mounts), "so that each has seen that there are no verdicts"
    monkeypatch.delenv("LIVEK12_LEASES")
    monkeypatch.setenv("LIVEK12_LEASE_SECONDS", "15")
    judge = ["unshare", "-pf", "--mount-proc", "--kill-child", sys.executable, "-m", "livek12.scripts.cli", "judge"]
    both = [subprocess.Popen([*judge, str(mount / "run"), "--no-cache"], stderr=subprocess.DEVNULL) for mount in mounts]
    while sum(1 for _ in _verdicts(folder / "run")) < 100:
        time.sleep(0.2)
    both[0].kill()
    assert [process.wait() for process in both] == [-9, 0]
    found = Counter(_verdicts(folder / "run"))
    assert len(found) == len(list(RunFolder(folder / "run").responses())) and set(found.values()) == {1}


@pytest.mark.release
@pytest.mark.parametrize("task", ["mdk12", "mdk12_kpref"])
def test_two_machines_that_see_late_ask_each_question_once_though_both_are_killed(
    task: str, two_mounts: tuple[Path, Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As above; each is killed, in turn, and at last one of the two ends the run alone."""
    folder, *mounts = two_mounts
    rows = [
        {"id": f"item_{n}", "question": f"Item {n}: which letter?", "options": ["one", "two"], "answer": "B",
         "subject": "physics", "question_type": "single_choice", "knowledge_points": [f"point {n}"]} for n in range(200)
    ]  # fmt: skip
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    build("mdk12", str(tmp_path / "rows.jsonl"), tmp_path / "data")
    (tmp_path / "log").touch()
    monkeypatch.setenv("LIVEK12_LEASE_SECONDS", "15")
    with oracle_at(tmp_path / "log") as address:
        line = [
            "unshare",
            "-pf",
            "--mount-proc",
            "--kill-child",
            sys.executable,
            "-m",
            "livek12.scripts.cli",
            "generate",
        ]
        line += ["--task", task, "--trials", "3", "--data", str(tmp_path / "data"), "--model", "oracle", "--engine"]
        line += ["openai", "--engine-args", f"base_url={address},concurrency={AT_ONCE}", "-q", "--out"]

        def start(mount: Path) -> subprocess.Popen[bytes]:
            return subprocess.Popen([*line, str(mount / "run")], stderr=subprocess.DEVNULL)

        both = [start(mount) for mount in mounts]
        for turn, goal in enumerate([150, 300, 450]):
            while sum(1 for _ in _lines(folder / "run", "responses")) < goal:
                assert any(process.poll() is None for process in both), "they ended before they were killed"
                time.sleep(0.1)
            both[turn % 2].kill()
            both[turn % 2].wait()
            if turn < 2:
                both[turn % 2] = start(mounts[turn % 2])
        assert [process.wait() for process in both] == [-9, 0]
    found = Counter(_lines(folder / "run", "responses"))
    assert len(found) == 600 and set(found.values()) == {1}
    asked = Counter((tmp_path / "log").read_text().split())
    wanted = 600 * (2 if task == "mdk12_kpref" else 1)
    # A kill leaves what was sent and not stored: what was in flight, and what was answered and on its way.
    assert len(asked) <= wanted and wanted <= sum(asked.values()) <= wanted + 3 * 2 * AT_ONCE


def _verdicts(run: Path) -> Iterator[str]:
    return _lines(run, "verdicts")


def _lines(run: Path, stem: str) -> Iterator[str]:
    for file in run.glob(f"{stem}-*.jsonl"):
        for line in file.read_bytes().splitlines(keepends=True):
            if line.endswith(b"\n"):
                yield json.dumps(json.loads(line)["key"])
