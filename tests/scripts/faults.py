"""A fault at the n-th change of a file, for every n until the command meets it no more, and the same command again.

    LD_PRELOAD=faults.so python -m tests.scripts.faults FOLDER SECONDS [COMMAND | KIND …]

Contract: a command on which a fault fell ends in one line, or as without it, or is killed; run again without a fault
it ends as if there had been none, and nothing is lost or doubled. Prints a line of JSON a command. A trial is a fork,
so that modules are imported once. `memory` is raised in Python where a file is opened, renamed or removed. `lost` and
`torn` are power cuts at a call, or after the last one: what was not synced is gone, with renames of folders that were
not (`lost`), or is empty under its new name (`torn`); what was removed stays so. `stop` stops the command, past all
leases of a second of it, as on another machine; the same command runs meanwhile, and then the first one goes on.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from livek12.core.run import locks
from livek12.core.run.folder import RunFolder
from tests.hub import WRITER, Hub
from tests.scripts.command import livek12_here

KINDS = {"eio": 1, "enospc": 2, "estale": 3, "short": 4, "kill": 5, "lost": 6, "torn": 6, "stop": 7, "memory": 0}
CUTS = ("lost", "torn")
TRIAL_SECONDS, MEANWHILE_SECONDS = 240, 20
LEAST = 20
"""Trials of a command, however slow the machine is."""
_EVENTS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate"}


@dataclass
class Ended:
    """End of a forked command; `code` None if it was killed."""

    code: int | None
    err: str
    met: int
    crash: str = ""


@dataclass
class Tried:
    """Trials of a command: calls that a fault met, by kind, and what went wrong."""

    command: str
    trials: int = 0
    calls: dict[str, int] = field(default_factory=dict)
    whole: bool = True
    failures: list[str] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(frozen=True)
class Command:
    """A command with the folder that it works in, and what must be equal in the end."""

    words: Callable[[Path], list[object]]
    state: Callable[[Path], Any]
    prepare: Callable[[Path], object] = lambda place: None
    over: str = "nothing"
    """In the message of a command that has nothing more to do."""
    without: tuple[str, ...] = ()
    """Kinds that tell nothing: what children sync is not noted."""


def of_run(name: str) -> Callable[[Path], Any]:
    """Answers and marks of a run, and the faults that `check` finds."""

    def state(place: Path) -> Any:
        from livek12.evaluation.checking import check_run

        if not (place / name / "run.json").exists():
            return []
        run = RunFolder.open(place / name)
        rows = [
            f"{row.question.id} {row.trial} {row.response and row.response.text} {row.verdict and row.verdict.points}"
            for row in run.rows()
        ]
        return [*sorted(rows), *check_run(place / name).faults]

    return state


def of_files(name: str, *unlike: str) -> Callable[[Path], Any]:
    """Names and contents of the visible files; of `unlike` ones the names alone."""

    def state(place: Path) -> Any:
        files = [file for file in (place / name).rglob("*") if file.is_file()]
        shown = [file for file in files if not any(part.startswith(".") for part in file.relative_to(place).parts)]
        return sorted(
            (str(file.relative_to(place)), "" if file.name in unlike else hashlib.sha256(file.read_bytes()).hexdigest())
            for file in shown
        )

    return state


def commands(room: Path) -> dict[str, Command]:
    """Commands, on folders that `make` has made in `room`."""
    data, runs = room / "data", room / "runs"

    def copy(*names: str) -> Callable[[Path], object]:
        return lambda place: [shutil.copytree(runs / name, place / name, symlinks=True) for name in names]

    how = ["--task", "livek12_text_only_en", "--data", data, "--limit", 3, "--quiet"]
    replayed = ["--model", runs / "answers.jsonl", "--engine", "replay"]
    return {
        "run": Command(lambda place: ["run", *how, *replayed, "--out", place / "run"], of_run("run")),
        "judge": Command(lambda place: ["judge", place / "a", "--again", "--quiet"], of_run("a"), copy("a")),
        "report": Command(lambda place: ["report", place / "a", "--quiet"], of_run("a"), copy("a")),
        "compact": Command(lambda place: ["compact", place / "a", "--quiet"], of_run("a"), copy("a")),
        "undo": Command(
            lambda place: ["compact", place / "p", "--undo", "--quiet"], of_run("p"), copy("p"), "is not compacted"
        ),
        "push": Command(
            lambda place: ["push", place / "a", f"file://{place}/pushed", "--quiet"],
            of_files("pushed", "push.json"),
            copy("a"),
        ),
        "site": Command(
            lambda place: ["site", place / "a", place / "b", "--out", place / "site", "--quiet"],
            of_files("site", "site.json"),
            copy("a", "b"),
        ),
        "build": Command(
            lambda place: ["build", "livek12", "--source", room / "rows.jsonl", "--out", place / "set", "--quiet"],
            of_files("set"),
        ),
        "ingest": Command(
            lambda place: ["ingest", room / "paper.pdf", "--out", place / "exam", "--quiet"],
            of_files("exam", "ingest.json"),
        ),
        "review": Command(
            lambda place: ["review", place / "drafts", "--export", place / "accepted"],
            of_files("accepted"),
            lambda place: shutil.copytree(room / "drafts", place / "drafts"),
        ),
        "sweep": Command(
            lambda place: ["sweep", _sweep_file(place, data, runs), "--quiet"],
            lambda place: [
                of_run(f"out/{run.name}")(place) for run in sorted((place / "out").glob("*/")) if run.is_dir()
            ],
            without=CUTS,
        ),
        "publish": Command(
            lambda place: ["publish", place / "set", "--repo", "org/faults", "--dry-run", "--quiet"],
            of_files("set"),
            lambda place: shutil.copytree(room / "published", place / "set"),
        ),
    }


def _sweep_file(place: Path, data: Path, runs: Path) -> Path:
    model = {"name": str(runs / "answers.jsonl"), "label": "again", "engine": "replay"}
    plan = {"out": str(place / "out"), "data": str(data), "tasks": ["livek12_text_only_en"], "limit": 3}
    file = place / "sweep.yaml"
    file.write_text(json.dumps({**plan, "backend": "local", "models": [model]}))
    return file


def make(room: Path, names: set[str]) -> None:
    """Makes what these commands work on."""
    from livek12.core.compaction import compact
    from livek12.core.questions import load_questions
    from livek12.dataset_builders import build
    from livek12.dataset_builders.review.store import ReviewStore
    from tests.conftest import ROOT
    from tests.dataset_builders.publishing_sets import make_set, page, question
    from tests.dataset_builders.review.folders import make_folder
    from tests.evaluation.test_site import asked, simple

    for name in ("a", "b", "p"):
        simple(room / "runs" / name, name, [True, False, True], [asked(n) for n in range(1, 4)])
        assert livek12_here("report", room / "runs" / name).code == 0
    compact(room / "runs" / "p")
    if {"run", "sweep"} & names:
        build("sample", "", room / "data")
        questions = load_questions(room / "data", ["text_only"], "livek12", "en")
        lines = [json.dumps({"id": question.id, "response": "\\boxed{1}"}) for question in questions]
        (room / "runs" / "answers.jsonl").write_text("\n".join(lines) + "\n")
    row = {"id": "en_2603_math_0001", "set": "2603", "subject": "math", "question": "What is it?", "answer": ["1"]}
    row |= {"question_type": "short_answer", "language": "en"}
    (room / "rows.jsonl").write_text(json.dumps(row) + "\n")
    shutil.copy(ROOT / "dataset_builders" / "sample" / "papers" / "mdk12.pdf", room / "paper.pdf")
    make_folder(room / "drafts")
    with ReviewStore(room / "drafts") as store:
        for draft in ("alpha-q1", "alpha-q2"):
            store.act("ann", "accept", draft, {})
    make_set(room / "published", [question("a")], [page(1)])


@cache
def _shim() -> Any:
    library = ctypes.CDLL(None)
    library.note_in.argtypes = [ctypes.c_char_p]
    library.arm.argtypes = [ctypes.c_char_p, ctypes.c_long, ctypes.c_int]
    library.calls_met.restype = ctypes.c_long
    return library


def forked(
    words: list[object],
    place: Path,
    kind: str = "",
    call: int = 0,
    meanwhile: Callable[[], object] = lambda: None,
    seconds: int = TRIAL_SECONDS,
) -> Ended:
    """Runs a command in a fork, with a fault at its `call`-th change below the folder; `meanwhile` it is stopped."""
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(seconds)
        os.setsid()
        try:
            if kind in ("stop", "second"):
                os.environ["LIVEK12_LEASES"] = "1"
                locks._machine = lambda: kind
            ended = _armed(words, place, kind, call)
        except BaseException as error:
            ended = Ended(None, "", call, crash=f"{type(error).__name__}: {error}"[:300])
        os.write(theirs, json.dumps(asdict(ended)).encode())
        os._exit(0)
    os.close(theirs)
    status = os.waitpid(child, os.WUNTRACED)[1] if kind == "stop" else None
    if status is not None and os.WIFSTOPPED(status):
        meanwhile()
        os.kill(child, signal.SIGCONT)
        status = None
    with os.fdopen(ours, "rb") as pipe:
        text = pipe.read()
    status = os.waitpid(child, 0)[1] if status is None else status
    if text:
        return Ended(**json.loads(text))
    killed = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    return Ended(None, "", call, "" if killed == signal.SIGKILL else f"ended by signal {killed}")


def _armed(words: list[object], place: Path, kind: str, call: int) -> Ended:
    met = 0

    def raise_there(event: str, values: tuple[Any, ...]) -> None:
        nonlocal met
        if armed and event in _EVENTS and any(str(value).startswith(str(place)) for value in values[:2]):
            met += 1
            if met == call:
                raise MemoryError

    armed = kind == "memory"
    if armed:
        sys.addaudithook(raise_there)
    elif kind in KINDS:
        _shim().note_in(str(_notes(place)).encode())
        _shim().arm(str(place).encode(), call, KINDS[kind])
    ended = livek12_here(*words)
    met = met if armed else _shim().calls_met() if kind in KINDS else 0
    if kind in KINDS and not armed:
        _shim().arm(b"", 0, 0)
    armed = False
    return Ended(ended.code, ended.err, met)


def _notes(place: Path) -> Path:
    return place.with_name("notes")


def contents(place: Path) -> dict[str, bytes]:
    """Contents of all files of a folder, by path."""
    return {str(file): file.read_bytes() for file in place.rglob("*") if file.is_file() and not file.is_symlink()}


def cut_power(place: Path, before: dict[str, bytes], kind: str) -> None:
    """Leaves what is on the disk: the synced content of a file; its new names if the folder was synced, or `torn`."""
    disk = {path: [content] for path, content in before.items()}  # a list is a file, of which one content is synced
    names = dict(disk)
    for line in _notes(place).read_text().splitlines() if _notes(place).exists() else ():
        what, path, other = line.split("\t")
        if what == "S":
            is_new = other not in names
            names.setdefault(other, []).append(_notes(place).with_name(f"notes.{path}").read_bytes())
            if is_new and not other.endswith(" (deleted)"):
                disk[other] = names[other]
        elif what == "D":
            here = {name for name in {*disk, *names} if str(Path(name).parent) == path}
            disk = {name: file for name, file in disk.items() if name not in here}
            disk |= {name: names[name] for name in here & {*names}}
        elif what == "U":
            names.pop(path, None)
            disk.pop(path, None)
        else:
            for name in [name for name in {*names, path} if name == path or name.startswith(f"{path}/")]:
                file = names.setdefault(name, [])
                names[other + name.removeprefix(path)] = file
                if what == "R":
                    del names[name]
    after = contents(place)
    ours = {path: file[-1] for path, file in disk.items() if file}
    ours = ours if kind == "lost" else {path: (names.get(path) or [b""])[-1] for path in after}
    for path in after.keys() - ours:
        Path(path).unlink()
    for path, content in ours.items():
        if after.get(path) != content:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_bytes(content)


def problems(
    command: Command, ended: Ended, again: Ended, before: Ended, states: tuple[Any, Any, Any]
) -> Iterator[str]:
    """What is wrong with a trial; `states`: after a calm command, after the fault, after the command again."""
    calm, faulty, mended = states
    errors = [line for line in ended.err.splitlines() if line.startswith("error:")]
    if ended.crash or "Traceback" in ended.err:
        yield f"no line, but {ended.crash or ended.err[-300:]}"
    elif ended.code == 2 and len(errors) != 1:
        yield f"{len(errors)} errors: {ended.err[-300:]}"
    elif ended.code == before.code and faulty != calm:
        yield f"said nothing, and the end is another: {_difference(calm, faulty)}"
    if again.crash or (again.code != before.code and command.over not in again.err):
        yield f"again: code {again.code} {again.crash}{again.err[-300:]}"
    elif mended != calm:
        yield f"again: another end: {_difference(calm, mended)}"


def _difference(calm: Any, other: Any) -> str:
    if isinstance(calm, list) and isinstance(other, list):
        gone, new = ([row for row in one if row not in two][:2] for one, two in ((calm, other), (other, calm)))
        return f"missing {gone}, new {new}"[:400]
    return f"{calm!r:.200} / {other!r:.200}"


def attack(name: str, command: Command, room: Path, seconds: float, only: set[str], seed: int = 0) -> Tried:
    """All faults on a command, or some kinds `only`, in an order by the seed, as long as there is time."""
    tried, until, began = Tried(name), time.monotonic() + seconds, time.monotonic()

    place = room / "place"

    def fresh() -> list[object]:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        command.prepare(place)
        return command.words(place)

    def trial(kind: str, call: int) -> tuple[Ended, Ended, Any, Any]:
        words = fresh()
        for file in place.parent.glob("notes*"):
            file.unlink()
        before = contents(place) if kind in CUTS else {}
        # a sweep waits for a stopped one on its machine, and is killed
        ended = forked(words, place, kind, call, lambda: forked(words, place, "second", seconds=MEANWHILE_SECONDS))
        if kind in CUTS:
            cut_power(place, before, kind)
        faulty = _stated(command, place)
        again = forked(words, place, "second" if kind == "stop" else "")
        return ended, again, faulty, _stated(command, place)

    livek12_here(*fresh())  # imports what all forks need
    before, _, calm, _ = trial("", 0)
    if before.code not in (0, 1):
        tried.failures.append(f"does not run: {before}")
        return tried
    for kind in ("eio", "memory"):
        ended, *_ = trial(kind, 1 << 40)
        kinds = [other for other in KINDS if (other == "memory") == (kind == "memory") and other not in command.without]
        tried.calls |= {other: ended.met for other in kinds if other in only or not only}
    plan = [(kind, call) for kind, calls in tried.calls.items() for call in range(1, calls + 1 + (kind in CUTS))]
    random.Random(seed).shuffle(plan)
    for kind, call in plan:
        if time.monotonic() > until and tried.trials >= LEAST:
            tried.whole = False
            break
        ended, again, faulty, mended = trial(kind, call)
        tried.trials += 1
        tried.failures += [
            f"{kind} {call}: {each}" for each in problems(command, ended, again, before, (calm, faulty, mended))
        ]
    tried.seconds = round(time.monotonic() - began, 1)
    return tried


def _stated(command: Command, place: Path) -> Any:
    try:
        return command.state(place)
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:300]


def main() -> None:
    """Attacks the named commands, or all, by the named kinds, or all."""
    room, seconds, words = Path(sys.argv[1]).resolve(), float(sys.argv[2]), sys.argv[3:]
    names, only = [word for word in words if word not in KINDS], {*words} & {*KINDS}
    os.environ |= {"TMPDIR": str(room / "tmp"), "LIVEK12_CACHE": str(room / "cache"), "HF_HUB_OFFLINE": "0"}
    locks.SECONDS = 1.0
    (room / "tmp").mkdir(parents=True)
    make(room, {*names} or {*commands(room)})
    every = commands(room)
    with Hub(room / "hub") as hub:
        os.environ |= hub.environment(room / "home", WRITER)
        for name in names or every:
            print(json.dumps(asdict(attack(name, every[name], room, seconds, only))), flush=True)


if __name__ == "__main__":
    main()
