"""Prefix completion of real Korean questions, through the real commands: who knows them, who refuses, who makes up."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from livek12.core.records import Question
from livek12.core.text import tokens_in
from livek12.dataset_builders import build
from livek12.tasks.kmmmu.completion import LONGER_THAN, split, text_of
from livek12.tasks.loading import questions_of
from livek12.tasks.registry import get_task, variants
from tests.engines.scripted_server import Json, Reply, Script, error, good, serving
from tests.judges.llm.judge_server import JudgeScript, says
from tests.judges.llm.judge_server import text_of as prompt_of
from tests.scripts.command import livek12_here

TASKS = "kmmmu:completion,kmmmu:completion_hinted"
REFUSAL = "죄송하지만 시험 문제의 원문은 제공할 수 없습니다."


def clause(*of: object) -> str:
    """A clause of random syllables, so that no text holds another's."""
    letters = random.Random(repr(of))
    return "".join(chr(letters.randrange(0xAC00, 0xD7A3)) if letters.random() > 0.2 else " " for _ in range(60))


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """20 long questions of two exams, of which one has no year; and one that is short."""
    place = tmp_path_factory.mktemp("begun")
    rows: list[dict[str, Any]] = [
        {
            "id": f"q{n:02}",
            "question": f"<{n:02}> " + ", ".join(clause(n, part) for part in range(4)),
            "options": [clause(n, "option", label) for label in "ab"],
            "answer": "1",
            "question_type": "객관식(단일정답)",
            "exam": "PSAT" if n % 2 else "기술사",
            **({"year": 2020 + n % 3} if n % 2 else {}),
        }
        for n in range(20)
    ]
    rows.append({"id": "short", "question": "짧은 문제?", "answer": "1", "question_type": "주관식(단답형 텍스트)"})
    (place / "rows.jsonl").write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    build("kmmmu", str(place / "rows.jsonl"), place / "data")
    return place / "data"


class Writer(Script):
    """Goes on with what it is shown."""

    def __init__(self, whole: dict[int, str], how: Callable[[str, int, bool], str]) -> None:
        super().__init__(lambda question, before: Reply())
        self.whole, self.how = whole, how

    def take(self, body: Json, headers: dict[str, str]) -> Reply:
        with self._lock:
            self._at_once += 1
        text = prompt_of(body)
        number = int(text.partition("<")[2].partition(">")[0])
        return good(self.how(split(self.whole[number])[1], number, "PSAT, 20" in text))


def studied(data: Path, out: Path, how: Callable[[str, int, bool], str], *more: object) -> Any:
    whole = {int(q.id[1:]): text_of(q) for q in questions_of(get_task("kmmmu"), str(data)) if q.id != "short"}
    with serving(Writer(whole, how)) as address:
        args = ("--model", "m", "--engine", "openai", "--engine-args", f"base_url={address},max_retries=0")
        ended = livek12_here("run", "--task", TASKS, "--data", data, *args, "--judge", "rules", "--out", out, "-q")
        assert ended.code == 0, ended.err
    ended = livek12_here("study", "completion", out, "--json", *more)
    assert ended.code == 0, ended.err
    return json.loads(ended.out)["run"]


def shuffled(rest: str, number: int, hinted: bool) -> str:
    letters = list(rest)
    random.Random(number).shuffle(letters)
    return "".join(letters)


@pytest.mark.parametrize(
    ("how", "most", "least", "refused"),
    [
        (lambda rest, number, hinted: rest, 100, 100, 0),
        (lambda rest, number, hinted: REFUSAL, 1, 0, 1),
        (lambda rest, number, hinted: "", 0, 0, 1),
        (shuffled, 2, 0, 0),
    ],
    ids=["echo", "refuser", "silent", "shuffled"],
)
@pytest.mark.release
def test_planted_writers(questions: Path, tmp_path: Path, how: Any, most: float, least: float, refused: float) -> None:
    told = studied(questions, tmp_path / "run", how)
    assert {(cell["source"], cell["hinted"]): cell["questions"] for cell in told["sources"]} == {
        ("(all)", False): 20,
        ("(all)", True): 10,
        ("PSAT", False): 10,
        ("PSAT", True): 10,
        ("기술사", False): 10,
    }, "an exam without its year gives no hint, and a short question is not asked"
    for cell in told["sources"]:
        for figure in ("mean", "median"):
            assert least <= cell["characters"][figure] <= most
        assert cell["refused"]["share"] == refused
        assert (cell["refused_by"], cell["exactness"], cell["hallucinated"]) == ("words", None, None)


def test_what_a_hint_brings_is_told_question_by_question(questions: Path, tmp_path: Path) -> None:
    told = studied(questions, tmp_path / "run", lambda rest, n, hinted: rest if hinted and n > 4 else clause("made up"))
    hint = told["hint"]
    assert (hint["of"], hint["questions"]) == ("characters", 10)
    assert hint["low"] == pytest.approx(0.8, abs=0.01) and hint["p"] < 0.01


def test_a_judge_says_exactness_refusals_and_what_is_made_up(questions: Path, tmp_path: Path) -> None:
    def answer(name: str, before: int, body: Json) -> Reply:
        assert "REAL TEXT" in prompt_of(body)
        refused = REFUSAL in prompt_of(body)
        return says({"reason": "", "exactness": 0 if refused else 30, "refused": refused, "hallucinated": not refused})

    with serving(JudgeScript(answer)) as address:
        judge = ("--judge", f"alpha@openai:base_url={address},max_retries=0", "--html", tmp_path / "page.html")
        how = lambda rest, n, hinted: REFUSAL if n % 4 == 1 else clause(n, "else")  # noqa: E731
        told = studied(questions, tmp_path / "run", how, *judge)
    cell = next(cell for cell in told["sources"] if (cell["source"], cell["hinted"]) == ("PSAT", False))
    assert cell["exactness"] == pytest.approx({"mean": 15, "std": 15.81139, "median": 15})
    assert (cell["refused_by"], cell["refused"]["share"], cell["hallucinated"]["share"]) == ("judge", 0.5, 0.5)
    assert "기술사" in (tmp_path / "page.html").read_text()


def test_a_third_is_shown_and_no_more(questions: Path) -> None:
    whole = {q.id: q for q in questions_of(get_task("kmmmu"), str(questions))}
    begun = questions_of(get_task("kmmmu:completion"), str(questions))
    for one in begun:
        assert one.variant is not None
        text = text_of(whole[one.variant.of])
        assert one.question + one.answer[0] == text
        assert 0.35 <= tokens_in(one.question) / tokens_in(text) < 0.37
        assert tokens_in(text) > LONGER_THAN
    assert variants(get_task("kmmmu:completion")) == []
    hinted = questions_of(get_task("kmmmu:completion_hinted"), str(questions))
    assert all(one.question.startswith("PSAT, 20") for one in hinted)


def test_latin_words_and_numbers_are_not_cut() -> None:
    text = "antidisestablishmentarianism 1234567890 " * 30
    begun, rest = split(text)
    assert begun + rest == text and (begun.endswith(" ") or rest.startswith(" "))
    assert split("") == ("", "")


def test_wrong_use_is_one_line(questions: Path, tmp_path: Path) -> None:
    with serving(Script(lambda question, before: error(500))) as address:
        args = ("--model", "m", "--engine", "openai", "--engine-args", f"base_url={address},max_retries=0")
        for task, name in (("kmmmu:completion", "run"), ("kmmmu", "whole")):
            livek12_here("run", "--task", task, "--data", questions, *args, "--out", tmp_path / name, "-q")
    for name, said in (("run", "20 were asked for and none came"), ("whole", "the run asks for none")):
        ended = livek12_here("study", "completion", tmp_path / name)
        assert (ended.code, len(ended.errors)) == (2, 1) and said in ended.errors[0]


def test_choice_sets_name_their_exams(shared_data: Path, tmp_path: Path) -> None:
    build("kmmmu", str(shared_data / "click_korean" / "Dataset" / "Culture" / "Korean Law"), tmp_path / "data")
    found: list[Question] = questions_of(get_task("kmmmu"), str(tmp_path / "data"))
    dated = {(one.exam, one.year) for one in found}
    assert ("PSAT", 2017) in dated and ("KIIP", None) in dated
