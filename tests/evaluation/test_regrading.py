"""Marks that people set in place of the judges': through the page's server, and in all that follows."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from livek12.core.questions import load_questions
from livek12.core.run.folder import RunFolder
from livek12.core.run.markings import LONGEST_LINE, REGRADES, Regrade, read_regrades
from livek12.evaluation import marking, reporting
from livek12.evaluation.asking import ask
from livek12.evaluation.labelling.server import Regrading, progress
from livek12.evaluation.options import RunOptions
from livek12.tasks.registry import get_tasks
from tests.evaluation.test_labelling import ask as asked
from tests.evaluation.test_labelling import serving
from tests.scripts.command import livek12_here

TASK = "livek12_text_only"


@pytest.fixture
def run(marked_run: Path, tmp_path: Path) -> Path:
    """A copy of the run for each test."""
    return shutil.copytree(marked_run, tmp_path / "run")


@pytest.fixture(scope="module")
def marked_run(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three trials of the sample's questions, marked by the rules: wrong, right, wrong (equal to the first)."""
    (task,) = get_tasks(TASK)
    rows = []
    for one in load_questions(data, task.configs, task.benchmark):
        key = (one.answer or ["?"])[0]
        wrong = next((label for label in "ABCD" if label not in key), "1")
        said = (f"\\boxed{{{wrong}}}", f"\\boxed{{{key}}}", f"So it is this.\n\n\\boxed{{{wrong}}}")
        rows += [
            {"task": TASK, "question_id": one.id, "trial": trial, "response": text, "model": "gpt-x"}
            for trial, text in enumerate(said)
        ]
    tmp_path = tmp_path_factory.mktemp("marked")
    file = tmp_path / "recorded.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    folder, _ = ask(RunOptions(TASK, str(file), tmp_path / "run", str(data), "replay", trials=3), {})
    marking.judge(folder)
    folder.leave()
    return folder.path


Post = Callable[..., tuple[int, Any]]


@contextmanager
def page_of(run: Path, verdict: bool = False) -> Iterator[Post]:
    """The page's own server behind its guard; `post(path, body)` talks to it, as a browser does."""
    pytest.importorskip("fastapi", reason="the review extra is not installed")
    with serving(run, verdict) as port:
        yield lambda path, body=None, **headers: asked(port, path, body, **headers)


def one_choice(run: Path) -> tuple[str, int]:
    """A question that the rules decided thrice, and the place of its first answer in the queue."""
    rows = [row for row in RunFolder(run).rows() if row.response is not None]
    for place, row in enumerate(rows):
        same = [other for other in rows if other.question.id == row.question.id]
        if row.trial == 0 and [other.verdict and other.verdict.correct for other in same] == [False, True, False]:
            return row.question.id, place
    raise AssertionError("the sample has no such question")


def marks(run: Path, question: str) -> list[float | None]:
    rows = [row for row in RunFolder(run).rows() if row.question.id == question]
    return [
        row.verdict.points / row.verdict.max_points if row.verdict and row.verdict.points is not None else None
        for row in rows
    ]


def lines(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / REGRADES).read_text(encoding="utf-8").splitlines()]


def scored(run: Path) -> dict[str, Any]:
    ended = livek12_here("score", run, "--json")
    assert ended.code == 0, ended.err
    found: dict[str, Any] = json.loads((run / "report.json").read_text())
    return found


def test_equal_answers_are_changed_once_and_everything_follows(run: Path) -> None:
    question, place = one_choice(run)
    before, verdicts = scored(run), {file.name: file.read_bytes() for file in run.glob("verdicts-*")}
    other = before["tasks"][TASK]["metrics"]["accuracy"]["value"]
    assert "regraded" not in before and not (run / REGRADES).exists()
    with page_of(run) as talk:
        status, group = talk(f"/review/regrade/{place}")
        assert status == 200
        assert (group["answers"], group["trials"], group["set"]) == (2, [1, 3], None)
        assert len(group["judged"]) == 1 and group["judged"][0]["answers"] == 2
        said = {"correct": True, "reason": "the key has a slip <b>"}
        status, told = talk("/review/regrade", {"place": place, "said": said})
        assert (status, told["answers"], told["set"]["by"], told["set"]["reason"]) == (200, 2, "ann", said["reason"])
    (line,) = lines(run)
    assert (line["by"], line["reason"], line["share"], line["correct"], len(line["responses"])) == (
        "ann", said["reason"], 1.0, True, 2,
    )  # fmt: skip
    assert marks(run, question) == [1.0, 1.0, 1.0]
    after = scored(run)
    questions = after["tasks"][TASK]["counts"]["questions"]
    bounds = [
        (report["tasks"][TASK]["metrics"]["accuracy"][end]) for report in (before, after) for end in ("low", "high")
    ]
    assert bounds[2] - bounds[0] == pytest.approx(2 / 3 / questions), "two of three answers to one question"
    assert bounds[3] - bounds[1] == pytest.approx(2 / 3 / questions)
    assert other is None or after["tasks"][TASK]["metrics"]["accuracy"]["value"] > other
    assert after["regraded"] == {
        "answers": 2, "changed": 2, "settled": 0, "by": {"ann": 2}, "line": "people changed 2 marks (ann: 2)",
    }  # fmt: skip
    assert after["tasks"][TASK]["decided_by"]["person ann"] == 2
    assert {"who": "ann (a person)", "answers": 2} in after["marked_by"]
    assert sum(one["answers"] for one in after["marked_by"]) == sum(one["answers"] for one in before["marked_by"])
    kept = [row for row in RunFolder(run).rows() if row.judged]
    assert [row.judged.correct for row in kept if row.judged] == [False, False], "the judges' verdict stays beside it"
    assert {file.name: file.read_bytes() for file in run.glob("verdicts-*")} == verdicts

    shown = livek12_here("score", run)
    assert "people changed 2 marks (ann: 2)" in " ".join(shown.out.split())
    assert livek12_here("report", run).code == 0
    page = (run / "report.html").read_text()
    assert "people changed 2 marks (ann: 2)" in page and "Set by ann (a person)" in page
    assert "The key has a slip &lt;b&gt;" in page and "slip <b>" not in page


def test_compare_and_site_say_how_many(run: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(run, tmp_path / "copy")
    untouched = json.loads(livek12_here("compare", run, copy, "--json").out)
    assert "regraded" not in untouched
    row = next(row for row in RunFolder(run).judged_rows() if row.response and row.verdict)
    groups = Regrading(run)
    list(groups.passing(RunFolder(run).judged_rows()))
    groups.put("bob", row, {"correct": True, "reason": "right in fact"})
    ended = livek12_here("compare", run, copy, "--json")
    found = json.loads(ended.out)
    assert set(found["regraded"]) == {"run"} and found["regraded"]["run"]["by"] == {"bob": 2}
    assert ended.warnings == []
    assert "run: people changed 2 marks (bob: 2)." in " ".join(livek12_here("compare", run, copy).out.split())
    assert livek12_here("site", run, copy, "--out", tmp_path / "site").code == 0
    table = json.loads((tmp_path / "site" / "table.json").read_text())
    assert {one["run"]: one.get("regraded", {}).get("changed") for one in table} == {"run": 2, "copy": None}
    assert any("bob (a person)" in one["judged_by"] for one in table)


def test_two_people_the_later_counts_and_taking_back_gives_the_judges_mark(run: Path) -> None:
    question, place = one_choice(run)
    untouched = scored(run)
    with page_of(run) as ann, page_of(run) as bob:
        assert ann("/review/regrade", {"place": place, "said": {"correct": True, "reason": "ok"}})[0] == 200
        _, seen = bob(f"/review/regrade/{place}")
        assert (seen["set"]["by"], seen["set"]["mark"].split(" / ")[0]) == ("ann", seen["full"])
        half = {"place": place, "by": "bob", "said": {"score": float(seen["full"]) / 2, "reason": "half of it"}}
        assert bob("/review/regrade", half)[0] == 200
        assert marks(run, question) == [0.5, 1.0, 0.5]
        assert scored(run)["regraded"]["by"] == {"bob": 2}
        status, told = ann("/review/regrade", {"place": place, "said": {"withdrawn": True}})
        assert (status, told["set"]) == (200, None)
        assert marks(run, question) == [0.0, 1.0, 0.0]
        assert ann("/review/regrade", {"place": place, "said": {"withdrawn": True}})[0] == 409
    assert [line["by"] for line in lines(run)] == ["ann", "bob", "ann"], "every row stays"
    assert scored(run) == untouched


def test_groups_follow_answers_that_come_while_the_page_is_open(run: Path) -> None:
    question, place = one_choice(run)
    (file,) = run.glob("responses-*.jsonl")
    answers = file.read_text(encoding="utf-8").splitlines(keepends=True)
    late = [line for line in answers if json.loads(line)["key"]["trial"] == 2]
    file.write_text("".join(line for line in answers if line not in late), encoding="utf-8")
    with page_of(run) as talk:
        place = [row.question.id for row in RunFolder(run).judged_rows() if row.response].index(question)
        said = {"place": place, "said": {"correct": True, "reason": "it is"}}
        _, told = talk("/review/regrade", said)
        assert (told["answers"], told["unset"], told["people"][0]["answers"]) == (1, 0, 1)
        with file.open("a", encoding="utf-8") as more:
            more.writelines(late)
        _, group = talk(f"/review/regrade/{place}")
        assert (group["answers"], group["unset"], group["trials"]) == (2, 1, [1, 3]), (
            "the third answer equals the first"
        )
        assert group["people"] == [{"mark": group["set"]["mark"], "by": "ann", "answers": 1}]
        _, told = talk("/review/regrade", said)
        assert (told["answers"], told["unset"], told["people"][0]["answers"]) == (2, 0, 2)
    assert marks(run, question) == [1.0, 1.0, 1.0]


def test_many_at_once_lose_nothing(run: Path) -> None:
    rows = [row for row in RunFolder(run).judged_rows() if row.response]
    desks = [Regrading(run), Regrading(run)]
    for desk in desks:
        list(desk.passing(iter(rows)))

    def work(desk: Regrading, name: str) -> None:
        for row in rows[:15]:
            desk.put(name, row, {"correct": True, "reason": name})

    jobs = [threading.Thread(target=work, args=(desk, f"p{n}")) for n, desk in enumerate((*desks, desks[0]))]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join(60)
    assert sorted(line["by"] for line in lines(run)) == ["p0"] * 15 + ["p1"] * 15 + ["p2"] * 15


def test_it_stands_after_the_run_is_marked_anew_and_settles_what_is_open(run: Path) -> None:
    question, place = one_choice(run)
    rows = [row for row in RunFolder(run).rows() if row.response is not None]
    undecided = [n for n, row in enumerate(rows) if row.state == "ungraded"]
    with page_of(run) as talk:
        for where in (place, *undecided[:1]):
            assert talk("/review/regrade", {"place": where, "said": {"correct": True, "reason": "read"}})[0] == 200
    assert undecided, "the sample has questions that rules leave open"
    found = scored(run)
    assert found["regraded"]["changed"] == 2 and found["regraded"]["settled"] >= 1
    assert "settled" in found["regraded"]["line"]
    before = livek12_here("judge", run, "--again")
    assert before.code == 0, before.err
    assert marks(run, question) == [1.0, 1.0, 1.0]
    assert scored(run)["regraded"] == found["regraded"]


def test_without_any_nothing_changes_by_a_byte(run: Path) -> None:
    livek12_here("report", run)
    before = {name: (run / name).read_bytes() for name in ("report.json", "report.html")}
    with page_of(run) as talk:
        talk("/review/regrade/0")
    (run / REGRADES).write_text("")
    livek12_here("report", run)
    assert {name: (run / name).read_bytes() for name in before} == before


def test_studies_of_the_judges_look_at_what_the_judges_said(run: Path) -> None:
    _, place = one_choice(run)
    with page_of(run) as talk:
        talk("/review/act", {"place": place, "said": {"correct": True}})
        before = livek12_here("study", "agreement", run, "--labels", run / "labels-ann.jsonl", "--json").out
        talk("/review/regrade", {"place": place, "said": {"correct": True, "reason": "it is"}})
        assert livek12_here("study", "agreement", run, "--labels", run / "labels-ann.jsonl", "--json").out == before
    assert progress(run, None, lambda line: None)["regraded"]["by"] == {"ann": 2}


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ({"correct": True}, "say why"),
        ({"correct": True, "reason": "  "}, "say why"),
        ({"correct": True, "reason": ["x"]}, "say why"),
        ({"correct": True, "reason": "x" * 4001}, "at most 4,000"),
        ({"correct": True, "reason": "\ud800"}, "half a character"),
        ({"reason": "x"}, "say one thing"),
        ({"reason": "x", "correct": True, "score": 1}, "say one thing"),
        ({"reason": "x", "correct": 1}, "right (true) or wrong"),
        ({"reason": "x", "score": -1}, "marks are a number from 0 to"),
        ({"reason": "x", "score": 1e9}, "marks are a number from 0 to"),
        ({"reason": "x", "score": "nan"}, "marks are a number from 0 to"),
        ({"reason": "x", "score": True}, "marks are a number from 0 to"),
        ({"reason": "x", "score": 10**400}, "marks are a number from 0 to"),
        ({"reason": "x", "parts": []}, "say the share of each"),
        ({"reason": "x", "parts": [1] * 99}, "say the share of each"),
        ({"reason": "x", "parts": {"0": 1}}, "say the share of each"),
        ({"reason": "x", "parts": [2]}, "from 0 to 1"),
        ({"withdrawn": True}, "nothing to take back"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_one_line_and_changes_nothing(served: Post, said: dict[str, Any], line: str) -> None:
    status, told = served("/review/regrade", {"place": 0, "said": said})
    assert status == 409 and line in told["error"] and "\n" not in told["error"]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Post]:
    from tests.evaluation.test_site import asked as question
    from tests.evaluation.test_site import simple

    questions = [question(n) for n in range(1, 3)]
    path = simple(tmp_path_factory.mktemp("served") / "run", "m", (True, False), questions)
    with page_of(path) as talk:
        yield talk
    assert not (path / REGRADES).exists()


def test_only_the_page_is_answered(served: Post) -> None:
    body = {"place": 0, "said": {"correct": True, "reason": "x"}}
    assert served("/review/regrade", body, token="wrong")[0] == 401
    assert served("/review/regrade", body, Origin="http://evil.test")[0] == 403
    assert served("/review/regrade/99")[0] == 404
    for wrong in (
        {},
        {"place": True, "said": {}},
        {"place": 0, "said": []},
        {**body, "place": 99},
        {**body, "by": "../x"},
    ):
        assert served("/review/regrade", wrong)[0] == 409


def test_a_file_with_hostile_rows_does_what_its_good_rows_say(run: Path) -> None:
    question, _ = one_choice(run)
    rows = [row for row in RunFolder(run).judged_rows() if row.question.id == question and row.response]
    sha = rows[0].response.sha256 if rows[0].response else ""
    good = {
        "task": TASK,
        "question_id": question,
        "responses": [sha],
        "by": "ann",
        "reason": "r",
        "share": 1.0,
        "correct": True,
    }
    bad: list[object] = [
        "x", 1, [], {}, {**good, "share": 2}, {**good, "share": -1}, {**good, "by": "../../x"}, {**good, "by": "a\n"},
        {**good, "reason": ""}, {**good, "responses": []}, {**good, "responses": ["../x"]}, {**good, "share": 0.5},
        {**good, "extra": 1}, {**good, "reason": "x" * 4001}, {**good, "parts": [7]},
    ]  # fmt: skip
    told: list[str] = []
    with (run / REGRADES).open("w", encoding="utf-8") as file:
        file.write(json.dumps(good) + "\n")
        file.writelines(json.dumps(one) + "\n" for one in bad)
        file.write(json.dumps({**good, "correct": False, "share": 0})[:-1] + ', "share": NaN}\n')
        file.write("[" * 100_000 + "\n" + '{"by": "\\ud800"}\n' + "x" * (LONGEST_LINE + 10) + "\n\n")
        file.write(json.dumps({**good, "question_id": "elsewhere"}) + "\n" + '{"task": "torn')
    assert set(read_regrades(run, told.append)) == {(TASK, question, sha), (TASK, "elsewhere", sha)}
    assert len(told) == len(bad) + 5 and all(one.startswith(f"{REGRADES}:") and len(one) < 320 for one in told)
    assert marks(run, question) == [1.0, 1.0, 0.0], "the very response that it names, and no other"
    ended = livek12_here("score", run)
    assert ended.code == 0
    assert "1 of the answers that it marks are not in the run" in ended.err
    with page_of(run) as talk:  # a torn row is healed by whoever writes next
        place = next(n for n, row in enumerate(RunFolder(run).judged_rows()) if row.question.id == question)
        assert talk("/review/regrade", {"place": place, "said": {"withdrawn": True}})[0] == 200
    assert marks(run, question) == [0.0, 1.0, 0.0]


def test_parts_are_marked_one_by_one(tmp_path: Path) -> None:
    from livek12.core.records import PartVerdict
    from tests.evaluation.test_site import asked as question
    from tests.evaluation.test_site import marked, run_of

    one = question(1, answer=["2", "3"], part_points=[1.5, 0.5])
    response, verdict = marked(one, "2", False)
    pairs = (("2.0", "2"), ("9", "3"))
    wrong = {"decision": "reject", "score": 0.0, "decided_by": "number"}
    parts = [PartVerdict(answer=said, gold=gold, **wrong) for said, gold in pairs]
    run = run_of(tmp_path / "run", [one], [(response, verdict.model_copy(update={"parts": parts}))])
    with page_of(run, verdict=True) as talk:
        assert [part["score"] for part in talk("/review/regrade/0")[1]["parts"]] == [0.0, 0.0]
        talk("/review/regrade", {"place": 0, "said": {"parts": [1, 0], "reason": "2.0 is 2"}})
        assert talk("/review/answer/0")[1]["verdict"] == "1.5 / 2 by person ann"
    (row,) = RunFolder(run).rows()
    assert row.verdict is not None
    assert (row.verdict.points, row.verdict.correct) == (1.5, False)
    assert [(part.decision, part.score, part.decided_by) for part in row.verdict.parts] == [
        ("accept", 1.0, "person ann"),
        ("reject", 0.0, "person ann"),
    ]
    assert reporting.score(RunFolder(run))["tasks"]["livek12_text_only"]["metrics"]["mark"]["value"] == 75.0


def test_a_row_says_all_that_is_needed() -> None:
    row = {
        "task": TASK,
        "question_id": "q",
        "responses": ["a" * 64],
        "by": "王老师",
        "reason": "键错",
        "share": 1,
        "correct": True,
    }
    assert Regrade.model_validate(row).by == "王老师"
