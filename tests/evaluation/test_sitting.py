"""A paper that is sat whole: one request, a verdict for each question, nothing asked twice after a kill."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from livek12.core.run.folder import RunFolder
from tests.engines.scripted_server import Reply, Script, good, serving
from tests.judges.llm.judge_server import text_of
from tests.scripts.command import Ended, livek12_here

TASK = "livek12_text_only_en"
RIGHT = re.compile(r"^Question (\d+)", re.MULTILINE)


class Sitter(Script):
    """Answers a whole sheet; which answer each question gets is planted."""

    def __init__(self, planted: dict[str, str]) -> None:
        super().__init__(lambda question, before: good("\n".join(self.sheet())))
        self.planted = planted

    def sheet(self) -> list[str]:
        asked = RIGHT.findall(text_of(self.seen[-1].body))
        return [
            f"Question {label}\nSo it is \\boxed{{{self.planted[label]}}}." for label in asked if label in self.planted
        ]


def run(data: Path, out: Path, address: str, *more: object) -> Ended:
    how = ("--model", "m", "--engine", "openai", "--engine-args", f"base_url={address},max_retries=0")
    return livek12_here("run", "--task", TASK, "--sitting", "paper", "--data", data, *how, "--out", out, "-q", *more)


def test_a_paper_in_one_request(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    planted = {"1": "Z9", "6": "never"}
    with serving(sitter := Sitter(planted)) as address:
        assert run(data, out, address).code in (0, 1)
        folder = RunFolder.open(out)
        questions = {question.id: question for question in folder.questions()[TASK + "@paper"]}
        assert len(sitter.seen) == 1 and len(questions) > 5
        answers = {questions[each.key.question_id].number: each for each in folder.responses()}
        assert {number for number, each in answers.items() if each.text} == {*planted}
        assert sum(each.completion_tokens or 0 for each in answers.values()) == 2
        # what a kill between the sheet and its parts leaves: the parts come from the stored sheet
        (journal,) = out.glob("responses-*.jsonl")
        lines = journal.read_text().splitlines(keepends=True)
        journal.write_text("".join(lines[:3]))
        assert run(data, out, address).code in (0, 1)
        assert len(sitter.seen) == 1 and sorted(journal.read_text().splitlines()) == sorted("".join(lines).splitlines())


def test_what_is_said_beforehand(data: Path, tmp_path: Path) -> None:
    ended = livek12_here(
        *("run", "--task", TASK, "--sitting", "paper", "--data", data, "--model", "m", "--engine", "openai"),
        *("--out", tmp_path / "none", "--dry-run", "--json"),
    )
    assert json.loads(ended.out)["all"]["requests"] == 1


@pytest.mark.parametrize("reply", [Reply(status=400, body=b'{"error": {"message": "too long"}}')])
def test_a_refused_sheet_fails_all_its_questions(data: Path, tmp_path: Path, reply: Reply) -> None:
    out = tmp_path / "run"
    with serving(Script(lambda question, before: reply)) as address:
        run(data, out, address)
    folder = RunFolder.open(out)
    assert not [*folder.responses()]
    assert {*folder.failures()} == {f"{task}/{each.id}/0" for task, some in folder.questions().items() for each in some}
