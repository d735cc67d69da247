"""A paper that is sat whole: one request, a verdict for each question, nothing asked twice after a kill."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from livek12.core.run.folder import RunFolder
from livek12.tasks.plugins.harness_task import open_task
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
        (document,) = open_task(TASK + "@paper", str(data), sheets=True).documents
        assert [each.prompt_sha256 for each in folder.earlier()] == [document.request.prompt_sha256]  # as plug-ins ask
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


def test_a_planted_effect_of_the_place_on_the_sheet(tmp_path: Path) -> None:
    """Two papers of ten: all right one by one; on the sheet wrong from the seventh on, and the last is skipped."""
    rows = [
        {"id": f"{paper}-q{n}", "question": f"What is {n}+99?", "answer": str(n + 99), "paper_id": paper, "number": n}
        | {"language": "en", "subject": "math", "question_type": "short_answer", "points": 2}
        for paper in ("p", "q")
        for n in range(1, 11)
    ]
    alone = [{"id": row["id"], "response": f"\\boxed{{{row['answer']}}}"} for row in rows]
    sheet = "\n".join(f"Question {n}\n\\boxed{{{n + 99 + (n > 6)}}}" for n in range(1, 10))
    sheets = [{"id": f"{paper}@paper", "response": sheet} for paper in ("p", "q")]
    for name, lines in {"rows.jsonl": rows, "alone/m.jsonl": alone, "whole/m.jsonl": sheets}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    data, runs = tmp_path / "data", [tmp_path / "alone/run", tmp_path / "whole/run"]
    assert livek12_here("build", "livek12", "--source", tmp_path / "rows.jsonl", "--out", data, "-q").code == 0
    for out, sitting in zip(runs, ("one", "paper"), strict=True):
        how = ("--model", out.parent / "m.jsonl", "--sitting", sitting, "--out", out, "-q")
        assert livek12_here("run", "--task", TASK, "--data", data, *how).code == 0
    shown = json.loads(livek12_here("compare", *runs, "--json", "-q").out)
    (curve,) = shown["sittings"]
    assert curve["task"].endswith(f"{TASK}@paper") and curve["base"].endswith(TASK)
    places = curve["positions"]
    assert [place["questions"] for place in places] == [4] * 5 and all(place["alone"] == [1, 1] for place in places)
    assert [place["sheet"][0] for place in places] == [1, 1, 1, 0, 0]
    assert [place["skipped"] for place in places] == [0, 0, 0, 0, 0.5]
    assert [place["difference"]["difference"]["low"] for place in places] == [0, 0, 0, -100, -100]
    whole = next(delta for delta in shown["variants"] if delta["task"].endswith("@paper"))
    assert whole["metrics"]["mark"]["difference"]["low"] == pytest.approx(-40)
    assert "by the place on the sheet" in livek12_here("compare", *runs, "--md", "-q").out
