"""A run marked by several processes, of one command and of several on one folder."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from livek12.core.records import Failure, Key, Question, Verdict
from livek12.core.run.folder import RunFolder, states
from livek12.evaluation.marking import WORTH_A_PROCESS, RunScorer, _unmarked, judge, mark_responses, processes
from livek12.evaluation.workers import MarkPool
from livek12.judges.jury import JudgeOptions, Jury
from livek12.scripts.bench.marking import TASK, make_run
from livek12.scripts.bench.verify import step

RULES = JudgeOptions(cache=False)


def rows(count: int) -> list[tuple[Question, str, str | None]]:
    """Answers to drawn questions, each question's eight behind one another."""
    found: list[tuple[Question, str, str | None]] = []
    for row in step(count, 0.0, 5, ("ordinary",)):
        golds = row["gold"] if isinstance(row["gold"], list) else [row["gold"]]
        options = [{"label": label, "text": text} for label, text in row.get("options", {}).items()]
        question = Question.model_validate(
            {"id": "q", "benchmark": "livek12", "language": "en", "subject": "", "question": "", "options": options,
             "question_type": row.get("question_type", "short_answer"), "answer": golds}
        )  # fmt: skip
        found.append((question, row["response"], "stop"))
    return found


def lines(run: Path) -> list[str]:
    return sorted(line for file in run.glob("verdicts-*.jsonl") for line in file.read_text().splitlines())


def test_processes_give_the_verdicts_of_one_byte_for_byte(tmp_path: Path) -> None:
    count = 2 * WORTH_A_PROCESS
    runs = [make_run(tmp_path / name, rows(count)) for name in ("one", "two")]
    for run, workers in zip(runs, (1, 2), strict=True):
        assert judge(RunFolder.open(run), options=RULES, workers=workers) == 0
    assert lines(runs[0]) == lines(runs[1])
    decided = Counter(Verdict.model_validate_json(line).correct for line in lines(runs[1]))
    assert len(lines(runs[1])) == count and decided[True] > 50 < decided[False]


def test_a_damaged_response_is_passed_over_by_processes_as_by_one(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", rows(2 * WORTH_A_PROCESS + 1))
    file = run / "responses-0.jsonl"
    first, *others = file.read_text().splitlines(keepends=True)
    file.write_text(first.replace('"text":', '"words":', 1) + "".join(others))  # its key and model can be read
    assert judge(RunFolder.open(run), options=RULES, workers=2) == 0
    assert len(lines(run)) == len(others)
    assert states(RunFolder.open(run))["failed"] == 1


def test_what_is_counted_by_heads_is_what_is_counted_by_rows(tmp_path: Path) -> None:
    """Marked once, marked anew, with an answer that nobody marked, and with none marked: the same counts as of rows."""
    run = RunFolder.open(make_run(tmp_path / "run", rows(40)))

    def check() -> Counter[str]:
        found = Counter(states(RunFolder.open(run.path)))
        assert +found == Counter(row.state for row in RunFolder.open(run.path).rows())
        return found

    assert check()["ungraded"] == 40
    judge(run, options=RULES)
    assert check()["graded"] > 30
    with run.writer("failures") as failures:
        for id, state in (("q0", "failed"), ("q40", "unsupported"), ("q39", "unsupported")):
            failures.append(Failure(key=Key(task=TASK, question_id=id), state=state, reason="x"))
    file = run.path / "responses-0.jsonl"
    answers = file.read_text().splitlines(keepends=True)
    file.write_text("".join(answers[:-1]))  # its verdict stands without an answer
    assert check()["unsupported"] == 1
    verdicts = run.path / "verdicts-0.jsonl"
    verdicts.write_text("".join(verdicts.read_text().splitlines(keepends=True)[:-2]))
    assert check()["ungraded"] >= 1
    judge(RunFolder.open(run.path), options=RULES)
    assert check()["unsupported"] == 1
    judge(RunFolder.open(run.path), options=RULES, again=True)
    assert check()["failed"] == 0


@pytest.mark.parametrize(
    ("asked", "waiting", "wanted"), [(None, 50, 0), (1, 10**6, 0), (8, 300, 3), (3, 10**6, 3), (2, 199, 0)]
)
def test_so_many_processes_as_are_worth_their_start(asked: int | None, waiting: int, wanted: int) -> None:
    assert processes(asked, waiting) == wanted


def test_a_response_that_breaks_the_limit_is_ungraded_and_its_neighbours_are_marked(tmp_path: Path) -> None:
    few = rows(6)
    few[3] = (few[3][0], "\\boxed{" + "\\x" * 16_000_000 + "}", "stop")
    run = RunFolder.open(make_run(tmp_path / "run", few))
    with (
        Jury(RULES) as judges,
        MarkPool(
            *(mark_responses, run.path.resolve(), RULES, 0, 0.2),
            unmarked=partial(_unmarked, RunScorer.open(run, judges), 0),
            size=1,
        ) as pool,
    ):
        found = [Verdict.model_validate_json(line) for line in pool.stream(line for _, line in run.response_lines())]
    assert [verdict.key.question_id for verdict in found] == [f"q{number}" for number in range(6)]
    assert [verdict.state for verdict in found].count("ungraded") == 1
    assert found[3].state == "ungraded" and "no result" in found[3].reason and found[3].judge == found[0].judge


@pytest.mark.release
def test_of_two_judges_on_one_folder_one_is_killed_and_the_other_marks_the_rest(tmp_path: Path) -> None:
    count = 800
    run = make_run(tmp_path / "run", rows(count))
    command = [sys.executable, "-m", "livek12.scripts.cli", "judge", str(run), "--no-cache", "--workers", "2"]
    both = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(2)]
    while len(list(run.glob("verdicts-*.jsonl"))) < 2 or not lines(run):
        time.sleep(0.05)
    both[0].kill()
    both[0].wait()
    assert both[1].wait() == 0
    marked = Counter(str(Verdict.model_validate_json(line).key) for line in lines(run))
    assert len(marked) == count and set(marked.values()) == {1}
