"""Recorded judgements become votes of a named judge; the study of points beside people's, with planted marks."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from livek12.core.run.folder import RunFolder
from livek12.core.statistics import cohen_kappa
from livek12.evaluation.rejudging import rejudge
from tests.scripts.command import livek12_here

ANSWERS = 40
FULL = 6
CRITERIA = [{"id": id, "points": points, "text": f"step {id}"} for id, points in (("a", 1), ("b", 2), ("c", 3))]
WORTH = {str(criterion["id"]): criterion["points"] for criterion in CRITERIA}
Marks = list[dict[str, float]]


def lines(path: Path, rows: Sequence[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def planted(seed: int, right: float, truth: Marks) -> Marks:
    """Marks that agree with the truth on a criterion with this probability."""
    draw = random.Random(seed)
    return [{id: own[id] if draw.random() < right else WORTH[id] - own[id] for id in own} for own in truth]


DRAW = random.Random(7)
PEOPLE: Marks = [{id: WORTH[id] * DRAW.randrange(2) for id in WORTH} for _ in range(ANSWERS)]
SECOND = planted(1, 0.95, PEOPLE)
JUDGES = [planted(seed, 0.8, PEOPLE) for seed in (2, 3, 4)]


def name(number: int) -> str:
    return f"q{number % 4}-{number // 4}"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    rows = [
        {"id": name(n), "question": f"Question {n}", "gold": "", "response": f"Answer {n}", "scheme": CRITERIA}
        for n in range(ANSWERS)
    ]
    rejudge(lines(tmp_path / "rows.jsonl", rows), "jsonl", tmp_path / "run", {})
    return tmp_path / "run"


def imported(run: Path, *files: Path, judge: str = "gpt-x") -> Any:
    ended = livek12_here("import-judgements", run, *files, "--judge", judge, "--json")
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


def studied(run: Path, labels: Path) -> Any:
    ended = livek12_here("study", "scheme", run, "--labels", labels, "--json")
    assert ended.code == 0, ended.err
    return json.loads(ended.out)["run"]


def vector(own: dict[str, float]) -> str:
    return "Each item in turn.\n{" + ",".join(f"{value:g}" for value in own.values()) + "}"


def labels_of(path: Path) -> Path:
    raters = {"ann": PEOPLE, "bob": SECOND}
    rows = [{"question_id": name(n), "rater": r, "criteria": raters[r][n]} for r in raters for n in range(ANSWERS)]
    return lines(path / "labels.jsonl", rows)


def qwk_by_matrix(a: Sequence[float], b: Sequence[float]) -> float:
    """QWK by the matrices of observed and expected counts."""
    size, n = FULL + 1, len(a)
    observed = [[sum((x, y) == (i, j) for x, y in zip(a, b, strict=True)) for j in range(size)] for i in range(size)]
    of = [[sum(x == i for x in own) for i in range(size)] for own in (a, b)]
    cells = [(i, j, ((i - j) / FULL) ** 2) for i in range(size) for j in range(size)]
    expected = sum(weight * of[0][i] * of[1][j] / n for i, j, weight in cells)
    return 1 - sum(weight * observed[i][j] for i, j, weight in cells) / expected


def test_planted_marks_come_back(run: Path, tmp_path: Path) -> None:
    replies = [
        lines(tmp_path / f"p{k}.jsonl", [{"question_id": name(n), "reply": vector(own)} for n, own in enumerate(marks)])
        for k, marks in enumerate(JUDGES)
    ]
    labels = labels_of(tmp_path)
    given = [sum(own.values()) for own in PEOPLE]
    for marks, file in zip(JUDGES, replies, strict=True):
        assert imported(run, file) == {"run": str(run), "judge": "gpt-x", "graded": ANSWERS, "unreadable": 0}
        own = studied(run, labels)["raters"]["ann"]
        judged = [sum(each.values()) for each in marks]
        apart = [b - a for a, b in zip(given, judged, strict=True)]
        assert own["mae_points"] == pytest.approx(sum(map(abs, apart)) / ANSWERS)
        assert own["mae_share"] == pytest.approx(sum(map(abs, apart)) / ANSWERS / FULL)
        assert own["mae_points_bounds"] == [own["mae_points"]] * 2
        assert own["exact"] == apart.count(0) / ANSWERS
        assert own["within_one"] == sum(abs(each) <= 1 for each in apart) / ANSWERS
        assert own["bias_points"] == pytest.approx(sum(apart) / ANSWERS)
        assert own["qwk"] == pytest.approx(qwk_by_matrix(given, judged)) == own["qwk_share"]
        none = [each / FULL for each, points in zip(apart, given, strict=True) if points == 0]
        assert own["bands"]["nothing"] == {
            "answers": len(none), "bias_share": pytest.approx(sum(none) / len(none)),
            "mae_share": pytest.approx(sum(map(abs, none)) / len(none)),
        }  # fmt: skip
        for id, full in WORTH.items():
            a, b = ([each[id] / full for each in side] for side in (PEOPLE, marks))
            one = own["by_criterion"][f"{id} step {id}"]
            assert one["agreement"] == sum(x == y for x, y in zip(a, b, strict=True)) / ANSWERS
            assert one["kappa"] == cohen_kappa(a, b)
        same = [sum(PEOPLE[n][id] == marks[n][id] for id in WORTH) / 3 for n in range(ANSWERS)]
        assert own["criteria"]["all_the_same"] == same.count(1) / ANSWERS
        assert own["criteria"]["mean_agreement"] == pytest.approx(sum(same) / ANSWERS)
    imported(run, *replies)
    result = studied(run, labels)
    medians = [median(sum(marks[n].values()) for marks in JUDGES) for n in range(ANSWERS)]
    assert result["raters"]["ann"]["qwk"] == pytest.approx(qwk_by_matrix(given, medians))
    assert result["between_raters"]["ann / bob"]["qwk"] == pytest.approx(
        qwk_by_matrix(given, [sum(own.values()) for own in SECOND])
    )
    row = next(RunFolder.open(run).rows())
    assert row.verdict is not None and row.verdict.judge.endswith("+gpt-x")
    assert [vote.judge for vote in row.verdict.parts[0].votes] == ["gpt-x (p0)", "gpt-x (p1)", "gpt-x (p2)"]
    said = livek12_here("study", "scheme", run, "--labels", labels)
    assert "ann / bob: 40 answers with marks of both: mean absolute error" in said.out


def test_open_marks_are_intervals(run: Path, tmp_path: Path) -> None:
    """An unreadable reply leaves its answer open; two readable ones of three prompts decide."""
    first = [{"item_id": name(0), "score": 6, "max_score": 6, "verdict": "correct", "rationale": "all there"},
             {"item_id": name(1), "score": 0, "max_score": 6}, {"item_id": name(2), "reply": "Well done!"}]  # fmt: skip
    ended = livek12_here("import-judgements", run, lines(tmp_path / "marks.jsonl", first), "--judge", "teacher")
    assert ended.code == 0, ended.err
    assert "q2-0: the reply concludes with no mark: 'Well done!'; it is no vote" in ended.err
    assert "37 answers of the run have no judgement in these files" in ended.err
    labels = [{"question_id": name(n), "score": score, "max_score": 6} for n, score in enumerate((6, 1, 6))]
    own = studied(run, lines(tmp_path / "labels.jsonl", labels))["raters"]["(unnamed)"]
    assert (own["answers"], own["decided"], own["open"]) == (3, 2, 1)
    assert own["mae_points"] == 0.5
    assert own["mae_points_bounds"] == pytest.approx([1 / 3, 7 / 3])
    assert own["exact_bounds"] == pytest.approx([1 / 3, 2 / 3])
    assert own["intervals"] == {"answers": 1, "covered": 1, "mean_width_share": 1}
    replies = ["{1,2,3}", "?", "{1,0,3}"]
    rows = [{"id": name(3), "prompt": prompt, "reply": reply} for prompt, reply in zip("xyz", replies, strict=True)]
    assert imported(run, lines(tmp_path / "three.jsonl", rows)) | {"run": ""} == {
        "run": "", "judge": "gpt-x", "graded": 1, "unreadable": 1,
    }  # fmt: skip
    rows_of = {row.question.id: row for row in RunFolder.open(run).rows()}
    verdict, before = rows_of[name(3)].verdict, rows_of[name(0)].verdict
    assert verdict is not None and (verdict.points, [part.score for part in verdict.parts]) == (5, [1, 0.5, 1])
    assert before is not None and (before.points, before.parts[0].votes[0].reason) == (6, "all there")


def row(**fields: Any) -> dict[str, Any]:
    return {"question_id": name(0), **fields}


BAD: list[tuple[list[dict[str, Any]], str]] = [
    ([row(score=8, max_score=6)], "bad.jsonl:1: q0-0: awards 8 of 6 points"),
    ([row(score="nan", max_score=6)], "q0-0: awards 'nan' of 6 points"),
    ([row(score=3, max_score=0)], "q0-0: awards 0 of 0 points"),
    ([row(score=3, max_score="six")], "q0-0: awards 'six' of 'six' points"),
    ([{"question_id": "q9", "score": 1, "max_score": 6}], "bad.jsonl:1: q9: is no question of the run"),
    ([row(score=1, max_score=6, trial=3)], "q0-0: the run has no trial 3 of it"),
    ([row(score=1, max_score=6, trial="x")], "q0-0: trial is 'x': write a number from 0"),
    ([row(score=1), row(score=2)], "bad.jsonl:2: q0-0: trial 0 has another mark in "),
    ([row()], "q0-0: says no mark: it needs score, criteria, verdict or reply"),
    ([{"score": 1, "max_score": 6}], "bad.jsonl:1: names no question"),
    ([row(criteria={"a": 1, "b": 2, "z": 3})], "q0-0: decides criterion 'z', which the scheme lacks"),
    ([row(criteria={"a": 1, "b": 2})], "q0-0: does not decide criterion 'c'"),
    ([row(criteria=[1, 2, 4])], "q0-0: awards 4 of 3 points"),
    ([row(criteria="[[[")], "q0-0: criteria is no JSON"),
    ([row(verdict="partial")], "q0-0: says 'partial', which tells no points of 6"),
    ([row(verdict="fine")], "q0-0: says 'fine', which tells no points of 6"),
    ([row(verdict="correct", score=0)], "q0-0: verdict is 'correct', but score is 0 of 6.0"),
    ([row(score=1, response_sha256="ab")], "q0-0: the label is of another response than the run's"),
]


def test_bad_rows_are_one_line_and_change_nothing(run: Path, tmp_path: Path) -> None:
    before = {file.name: file.read_bytes() for file in run.iterdir() if file.is_file()}
    for rows, problem in BAD:
        ended = livek12_here("import-judgements", run, lines(tmp_path / "bad.jsonl", rows), "--judge", "j")
        assert (ended.code, len(ended.err.strip().splitlines())) == (2, 1), ended.err
        assert problem in ended.err, ended.err
    for file, judge, problem in (
        (tmp_path / "none.jsonl", "j", "none.jsonl: cannot be read"),
        (tmp_path / "bad.jsonl", "a\nb", "--judge 'a b': give a name"),
    ):
        ended = livek12_here("import-judgements", run, file, "--judge", judge)
        assert ended.code == 2 and problem in ended.err, ended.err
    assert {file.name: file.read_bytes() for file in run.iterdir() if file.is_file()} == before


def test_marks_without_a_maximum(tmp_path: Path) -> None:
    """Of a question without points the maximum has to be said, and is then that of the verdict."""
    rows = [{"id": "q", "question": "Why?", "gold": "Because.", "response": "So.", "question_type": "open"}]
    rejudge(lines(tmp_path / "rows.jsonl", rows), "jsonl", tmp_path / "run", {})
    file = lines(tmp_path / "marks.jsonl", [{"id": "q", "score": 3}])
    ended = livek12_here("import-judgements", tmp_path / "run", file, "--judge", "j")
    assert ended.code == 2 and "marks.jsonl:1: q: awards 3 points and says no maximum" in ended.err
    imported(tmp_path / "run", lines(file, [{"id": "q", "score": 3, "max_score": 4}]))
    (only,) = RunFolder.open(tmp_path / "run").rows()
    assert only.verdict is not None and (only.verdict.points, only.verdict.max_points) == (3, 4)
