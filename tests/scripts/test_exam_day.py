"""Exam day: a paper without a key from PDF to site, killed on the way, then its key."""

from __future__ import annotations

import json
import random
import signal
import subprocess
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from livek12.core.errors import UserError
from livek12.core.run.folder import RunFolder
from livek12.dataset_builders import sample
from livek12.dataset_builders.review.store import ReviewStore
from livek12.scripts.commands.exam_day import ExamFolder
from tests.scripts.command import COMMAND, livek12_here

PAPER = Path(sample.__file__).parent / "papers/mdk12.pdf"
KEY = "number,answer\n1,A\n3,0.4; 32.2\n4,True\n5,AC\n6,B\n"


@pytest.fixture
def begun(tmp_path: Path) -> Iterator[tuple[str, ...]]:
    """The arguments of a first call, with a recorded model."""
    answers = {1: "A", 3: "0.4; 32.2", 4: "True", 5: "AC", 6: "C"}
    rows = [{"id": f"mdk12-q{n}", "response": f"\\boxed{{{answers.get(n, 'x')}}}"} for n in range(1, 7)]
    (tmp_path / "m.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    models = [{"name": str(tmp_path / "m.jsonl"), "label": "m"}]
    (tmp_path / "sweep.yaml").write_text(json.dumps({"tasks": ["livek12_text_only"], "models": models}))
    (tmp_path / "key.csv").write_text(KEY)
    yield ("exam-day", str(PAPER), "--models", str(tmp_path / "sweep.yaml"), "--out", str(tmp_path / "exam"), "-q")


def points(exam: Path) -> dict[str, tuple[float, float]]:
    rows = RunFolder.open(exam / "runs/m").rows()
    return {row.question.number or "": (row.verdict.low, row.verdict.high) for row in rows if row.verdict}


def test_from_pdf_to_site_with_a_kill_after_each_step(
    begun: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exam, put = tmp_path / "exam", ExamFolder.put
    assert "give --key KEY, or --key-later" in livek12_here(*begun).err and not exam.exists()
    for killed_at in count(1):
        puts = count(1)

        def killing(folder: ExamFolder, puts: Iterator[int] = puts, last: int = killed_at, **changes: object) -> None:
            put(folder, **changes)
            if next(puts) == last:
                raise UserError("killed")

        monkeypatch.setattr(ExamFolder, "put", killing)
        ended = livek12_here(*begun, "--key-later")
        if killed_at == 3:  # ingested: a person edits a question, and the exam waits for the decision
            with ReviewStore(exam / "paper") as store:
                store.act("ann", "edit", "mdk12-q2", {"fields": {"points": "8"}})
        elif "wait for a person: mdk12-q2" in ended.err:
            with ReviewStore(exam / "paper") as store:
                store.act("ann", "accept", "mdk12-q2", {})
        elif "killed" not in ended.err:
            break
    assert ended.code == 0 and killed_at > 5, ended.err
    state = json.loads((exam / "exam.json").read_text())
    assert state["frozen"]["keyless"] == state["frozen"]["questions"] == 6 and state["key"] is None
    steps = {(row["step"], row["by"]) for row in state["clock"]}
    assert steps == {(step, "machine") for step in ("ingest", "freeze", "ask", "site")} | {("review", "person")}
    commitment = json.loads((exam / "commitment.json").read_text())
    assert {name: commitment[name] for name in ("frozen", "sealed")} == {n: state[n] for n in ("frozen", "sealed")}
    assert all(low < high for low, high in points(exam).values())
    assert "尚无答案" in (exam / "site/exam.html").read_text()
    responses = [file.read_bytes() for file in sorted((exam / "runs/m").glob("responses-*"))]

    monkeypatch.undo()
    later = ("exam-day", "--out", exam, "-q")
    assert livek12_here(*later, "--key", tmp_path / "key.csv").code == 0
    marks = points(exam)
    assert marks["1"] == marks["4"] == (1, 1) and marks["6"] == (0, 0)
    assert [file.read_bytes() for file in sorted((exam / "runs/m").glob("responses-*"))] == responses
    page = (exam / "site/exam.html").read_text()
    assert state["frozen"]["sha256"] in page and state["sealed"]["runs"]["m"] in page and "key.csv" in page
    assert "exam.html" in (exam / "site/index.html").read_text()
    # what was frozen and sealed cannot change unseen
    (journal,) = (exam / "runs/m").glob("responses-*")
    journal.write_bytes(journal.read_bytes().replace(b"boxed{C}", b"boxed{B}"))
    assert "other responses than were sealed" in livek12_here(*later).err


@pytest.mark.release
def test_ten_random_kills(begun: tuple[str, ...], tmp_path: Path) -> None:
    moments, exam = random.Random(20261127), tmp_path / "exam"
    for later in [("--key-later",)] * 5 + [("--key", str(tmp_path / "key.csv"))] * 5:
        process = subprocess.Popen([*COMMAND, *begun, *later], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(moments.uniform(0.5, 25))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
    ended = livek12_here(*begun, "--key", tmp_path / "key.csv")
    assert ended.code == 0, ended.err
    marks = points(exam)
    assert marks["1"] == marks["4"] == (1, 1) and marks["6"] == (0, 0)
    assert livek12_here("check", exam / "runs/m").code == 0
