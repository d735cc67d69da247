"""Marking schemes: what is read of them, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from livek12.core.features import from_row, schema, to_row
from livek12.core.records import PointsFor, Question, SchemeCriterion, check_scheme
from livek12.core.schemes import marks_in_solution, read_scheme

SENTENCES = {
    "Award 0.2 pt if the answer gives $g = - \\frac{dU}{dz}$. Partial points: award 0.1 pt if the sign is missing."
    " Otherwise, award 0 pt.": SchemeCriterion(
        id="1",
        points=0.2,
        text="the answer gives $g = - \\frac{dU}{dz}$.",
        expression="g = - \\frac{dU}{dz}",
        partial=[PointsFor(points=0.1, text="the sign is missing")],
    ),
    "Award 0.7 pt if it finds both times. Partial points: deduct 0.2 pt for each mistake. Otherwise, award 0 pt.": (
        SchemeCriterion(
            id="1", points=0.7, text="it finds both times.", deduct=[PointsFor(points=0.2, text="each mistake")]
        )
    ),
    "Award 0.5 pt if it solves it. Partial points: if it is not expanded, award 0.2 pt; otherwise, award 0 pt.": (
        SchemeCriterion(
            id="1",
            points=0.5,
            text="it solves it.",
            partial=[PointsFor(points=0.2, text="it is not expanded")],
        )
    ),
    "如果解答正确写出 $W = Fs$，则得 2 分。否则得 0 分。": SchemeCriterion(
        id="1", points=2, text="如果解答正确写出 $W = Fs$", expression="W = Fs"
    ),
    "A1ft $v = 6$": SchemeCriterion(
        id="1",
        points=1,
        kind="accuracy",
        text="$v = 6$\n(follow through: a value that rightly follows from an earlier wrong one counts)",
        expression="v = 6",
    ),
    "the centre moves on a circle [2]": SchemeCriterion(id="1", points=2, text="the centre moves on a circle"),
    "식을 세운다 (2점)": SchemeCriterion(id="1", points=2, text="식을 세운다"),
    "Award 0.5 pt if it shows that $x = y$.": SchemeCriterion(id="1", points=0.5, text="it shows that $x = y$."),
    "Award 0.5 pt if $x = 1$ and $y = 2$.": SchemeCriterion(id="1", points=0.5, text="$x = 1$ and $y = 2$."),
}


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_sentence_becomes_a_criterion(sentence: str) -> None:
    assert read_scheme([sentence]) == [[SENTENCES[sentence]]]


def test_alternatives_have_criteria_of_their_own_names() -> None:
    scheme = read_scheme([["Award 1 pt if a."], ["Award 0.5 pt if b.", "Award 0.5 pt if c."]])
    assert [[criterion.id for criterion in criteria] for criteria in scheme] == [["A1"], ["B1", "B2"]]


def test_an_accuracy_mark_needs_its_method_mark() -> None:
    (criteria,) = read_scheme(["M1 uses F = ma", "A1 finds a = 3", "B1 names the unit"])
    assert [(criterion.kind, criterion.needs) for criterion in criteria] == [
        ("method", []),
        ("accuracy", ["1"]),
        ("independent", []),
    ]


def test_a_table_may_have_titles_and_descriptions() -> None:
    ((criterion,),) = read_scheme([{"title": "Setup", "desc": "names the angle", "points": 2}])
    assert (criterion.text, criterion.points) == ("Setup: names the angle", 2)


def test_guidelines_of_a_proof_are_levels_of_one_criterion() -> None:
    text = "(Partial)\n 1. Considered a prime.\n(Almost)\n 1. Minor mistakes.\n 2. Omitted a case."
    ((criterion,),) = read_scheme(text, 7)
    assert criterion.points == 7
    assert [(mark.points, mark.text) for mark in criterion.partial] == [
        (1, "Considered a prime."),
        (6, "Minor mistakes."),
        (6, "Omitted a case."),
    ]


PRINTED = {
    "added up": ("由题 a=1 ……2分\n所以 b=2 ………………4分\n故 c=3 ……………………10分", 10, [2, 2, 6]),
    "each": ("(I) 利润 $y=85$ (4分)\n(II) 概率为 $0.7$ (8 分)", 12, [4, 8]),
    "codes": ("F = ma  M1\n a = 3  A1\n so v = 6 A1ft\n units  B1\n", 4, [1, 1, 1, 1]),
    "brackets": ("x = 2 [1]\nso y = 3 [2]\n", 3, [1, 2]),
    "korean": ("식을 세운다 2점\n답을 구한다 3점", 5, [2, 3]),
    "other points": ("x = 2 [1]\nso y = 3 [2]\n", 5, []),
    "one mark": ("x = 2 [3]\n", 3, []),
    "no points": ("x = 2 [1]\nso y = 3 [2]\n", None, []),
}


@pytest.mark.parametrize("name", PRINTED)
def test_marks_printed_in_a_solution(name: str) -> None:
    solution, points, expected = PRINTED[name]
    assert [criterion.points for criteria in marks_in_solution(solution, points) for criterion in criteria] == expected


UNSOUND: dict[str, tuple[list[list[dict[str, Any]]], str]] = {
    "sum": ([[{"id": "1", "points": 1, "text": "a"}]], "add up to 1 points and the question has 2"),
    "cycle": (
        [
            [
                {"id": "1", "points": 1, "text": "a", "needs": ["2"]},
                {"id": "2", "points": 1, "text": "b", "needs": ["1"]},
            ]
        ],
        "criteria 1, 2 need each other",
    ),
    "unknown need": ([[{"id": "1", "points": 2, "text": "a", "needs": ["9"]}]], "criterion 1 needs 9"),
    "twice": (
        [[{"id": "1", "points": 1, "text": "a"}, {"id": "1", "points": 1, "text": "b"}]],
        "criterion 1 is there twice",
    ),
    "partial": (
        [[{"id": "1", "points": 2, "text": "a", "partial": [{"points": 2, "text": "b"}]}]],
        "criterion 1 has a partial mark that is not below its points",
    ),
    "part": (
        [[{"id": "1", "points": 1, "text": "a", "part": 1}, {"id": "2", "points": 1, "text": "b", "part": 1}]],
        "part 1 add up to 2 points and the part has 1",
    ),
}


@pytest.mark.parametrize("name", UNSOUND)
def test_an_unsound_scheme_is_refused(name: str) -> None:
    tables, message = UNSOUND[name]
    with pytest.raises(ValueError, match=message):
        check_scheme(read_scheme(tables), 2, [1, 1] if name == "part" else [])


@pytest.mark.parametrize("value", ["no points", [["no points"]], [{"text": "a"}], [{"points": -1, "text": "a"}], 7])
def test_a_criterion_without_points_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="scheme: "):
        read_scheme(value)


def test_round_trip_through_parquet_and_an_older_table(tmp_path: Any) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    question = Question(
        **{"id": "q", "benchmark": "livek12", "language": "en", "subject": "", "question_type": "proof"},
        question="?",
        points=2,
        scheme=read_scheme([["M1 uses F = ma", "A1 finds a = 3"], ["[2] another way"]]),
    )
    table = pa.Table.from_pylist([to_row(question)], schema=schema(Question))
    pq.write_table(table, tmp_path / "t.parquet")
    (row,) = pq.read_table(tmp_path / "t.parquet").to_pylist()
    assert from_row(Question, row) == question
    del row["scheme"]
    assert from_row(Question, row).scheme == []
    assert "scheme" not in question.model_copy(update={"scheme": []}).model_dump()
