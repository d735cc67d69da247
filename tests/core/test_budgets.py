"""Accuracy within a token budget, read in both ways, against arithmetic by hand (written beside each case)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livek12.core.records import Question
from livek12.core.scoring import Limit, Row
from tests.core.test_scoring import bounds, ended, graded, question, ungraded
from tests.scored import score

TRUE_01 = [1000, 3276, 2000, 3276]
"""Completion tokens under the limit of 3,276: the second was cut and holds its answer, the fourth holds none."""
LONG = [1000, 5000, 2000, 30_000]
"""Completion tokens without that limit; all are right but the third."""
LIMITS = {"T@0.1": Limit("T", 3276, 0.1), "T@1": Limit("T", 32_768, 1.0)}
QUESTIONS = [question(name) for name in "abcd"]


def of(task: str, row: Row) -> Row:
    """The row as one of that task."""
    assert row.verdict is None or row.response is not None
    return replace(row, task=task)


def exam() -> dict[tuple[str, str], Row]:
    """Both runs by task and question. True at 0.1: a and b of four; cut at 0.1: a; from 0.2 on: a, b; at 1: a, b, d."""
    a, b, c, d = QUESTIONS
    under = [graded(a, tokens=TRUE_01[0]), graded(b, tokens=TRUE_01[1]), graded(c, 0, tokens=TRUE_01[2])]
    under.append(ended(d, "no_answer"))
    free = [graded(q, 0 if q is c else 1, tokens=tokens) for q, tokens in zip(QUESTIONS, LONG, strict=True)]
    found = {("T@0.1", row.question.id): of("T@0.1", row) for row in under}
    return found | {("T@1", row.question.id): of("T@1", row) for row in free}


def curve(rows: dict[tuple[str, str], Row], limits: dict[str, Limit] | None = None) -> Any:
    return score(rows.values(), limits=LIMITS if limits is None else limits)["budgets"]["T"]


def point(found: Any, share: float) -> Any:
    return next(point for point in found["points"] if point["share"] == share)


def test_both_readings_by_hand() -> None:
    found = curve(exam())
    assert (found["longest"], found["longest_tokens"]) == ("T@1", 32_768)
    assert "T@1" in found["counterfactual_means"]
    assert [p["share"] for p in found["points"]] == pytest.approx([tenth / 10 for tenth in range(1, 11)])
    assert [p["tokens"] for p in found["points"]][:3] == [3276, 6553, 9830]
    assert [p["true_task"] for p in found["points"]] == ["T@0.1", *[None] * 8, "T@1"]
    assert [p["true"] and p["true"]["value"] for p in found["points"]] == [0.5, *[None] * 8, 0.75]
    assert [p["counterfactual"]["value"] for p in found["points"]] == [0.25, *[0.5] * 8, 0.75]
    assert {p["counterfactual"]["n"] for p in found["points"]} == {4}
    assert point(found, 0.1)["true"]["n"] == 4


a, b, c, d = QUESTIONS
NO_COUNT = "(1 answer states no token count)"
CASES: list[tuple[str, dict[tuple[str, str], Row], Any, Any]] = [
    # name, rows that are otherwise, what is true at 0.1, what is cut at 0.1: (low, high) or a note
    (
        "a count is missing under the limit",
        {("T@0.1", "b"): graded(b, tokens=None)},
        NO_COUNT,
        (0.25, 0.25),
    ),
    (
        "a count is missing in the long run",
        {("T@1", "d"): graded(d, tokens=None)},
        (0.5, 0.5),
        NO_COUNT,
    ),
    (
        "counts are missing in wrong answers too",
        {("T@1", "c"): graded(c, 0, tokens=None), ("T@1", "d"): graded(d, tokens=None)},
        (0.5, 0.5),
        "(2 answers state no token count)",
    ),
    ("nobody could mark the cut answer", {("T@0.1", "b"): ungraded(b, tokens=3276)}, (0.25, 0.5), (0.25, 0.25)),
    ("nobody could mark a short answer", {("T@1", "a"): ungraded(a, tokens=1000)}, (0.5, 0.5), (0.0, 0.25)),
    ("nobody could mark a long answer", {("T@1", "d"): ungraded(d, tokens=30_000)}, (0.5, 0.5), (0.25, 0.25)),
    ("an answer never came", {("T@1", "d"): ended(d, "failed")}, (0.5, 0.5), (0.25, 0.5)),
    ("an answer never came under the limit", {("T@0.1", "a"): ended(a, "unsupported")}, (0.25, 0.5), (0.25, 0.25)),
    ("at the limit is within it", {("T@1", "b"): graded(b, tokens=3276)}, (0.5, 0.5), (0.5, 0.5)),
    ("one more is not", {("T@1", "b"): graded(b, tokens=3277)}, (0.5, 0.5), (0.25, 0.25)),
]


@pytest.mark.parametrize(("changed", "true", "cut"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_what_is_not_certain_stays_so(changed: dict[tuple[str, str], Row], true: Any, cut: Any) -> None:
    found = point(curve(exam() | {key: of(key[0], row) for key, row in changed.items()}), 0.1)
    for estimate, expected in ((found["true"], true), (found["counterfactual"], cut)):
        if isinstance(expected, str):
            assert estimate["note"] == f"not available {expected}"
            assert bounds(estimate) == (None, None)
        else:
            assert bounds(estimate) == expected


def test_an_engine_that_does_not_keep_the_limit_is_told_on() -> None:
    found = point(curve(exam() | {("T@0.1", "d"): of("T@0.1", graded(d, tokens=4000))}), 0.1)["true"]
    assert found["value"] == 0.5, "right, but longer than the limit"
    assert found["note"] == "1 answers are longer than the limit, which was not kept: they count as not given"


def test_beyond_the_longest_limit_there_is_no_counterfactual() -> None:
    rows = {key: row for key, row in exam().items() if key[0] == "T@0.1"}
    report = score(rows.values(), limits=LIMITS)
    found = report["budgets"]["T"]
    assert point(found, 0.1)["counterfactual"]["value"] == point(found, 0.1)["true"]["value"] == 0.5
    assert bounds(point(found, 0.2)["counterfactual"]) == (None, None)
    assert point(found, 0.2)["counterfactual"]["note"].endswith("limited to 3,276 tokens")
    metrics = report["tasks"]["T@0.1"]["metrics"]
    assert metrics["Acc≤0.1"]["value"] == 0.5
    assert metrics["Acc≤0.2"]["note"] == "not available: the answers were limited to r = 0.1"


@pytest.mark.parametrize(
    ("limit", "at_one", "cut_at_half"),
    [(Limit("T", 32_768), "T", 0.5), (Limit("T", None), None, 0.5), (Limit("T", 4096), None, None)],
    ids=["the base is a budget too", "the limit of recorded answers is not known", "a shorter run"],
)
def test_a_plain_run_has_its_own_limit(limit: Limit, at_one: str | None, cut_at_half: float | None) -> None:
    rows = {("T", key[1]): of("T", row) for key, row in exam().items() if key[0] == "T@1"}
    found = curve(rows, {"T": limit})
    assert point(found, 1.0)["true_task"] == at_one
    assert point(found, 0.5)["counterfactual"]["value"] == cut_at_half


def test_a_budget_between_the_tenths_is_a_point_of_its_own() -> None:
    rows = exam() | {("T@0.25", key[1]): of("T@0.25", row) for key, row in exam().items() if key[0] == "T@0.1"}
    found = curve(rows, LIMITS | {"T@0.25": Limit("T", 8192, 0.25)})
    assert [p["share"] for p in found["points"]][:4] == [0.1, 0.2, 0.25, 0.3]
    assert point(found, 0.25)["true"]["value"] == 0.5
    assert point(found, 0.25)["counterfactual"]["value"] == 0.5


def test_without_limits_nothing_is_said_of_budgets() -> None:
    assert score(exam().values())["budgets"] == {}


def test_pages_are_compared_with_text_under_the_same_budget_only() -> None:
    def layout(name: str) -> Question:
        return question(name, subsets=["complex_layout"])

    rows = [of("I@0.1", graded(layout("a"), 0)), of("T@0.1", graded(layout("a"), 0)), of("T@1", graded(layout("a")))]
    limits = LIMITS | {"I@0.1": Limit("I", 3276, 0.1)}
    deltas = score(rows, modalities={"I@0.1": "image_only"}, limits=limits)["deltas"]
    assert deltas["I@0.1/accuracy/modality/image_only-standard/complex_layout"]["value"] == 0


@pytest.mark.parametrize(
    ("tokens", "kept"), [(3275, 0), (3276, 1), (4096, 1), (32_767, 9), (32_768, 10), (40_000, 10), (None, 10)]
)
def test_a_shorter_run_has_no_accuracy_beyond_its_limit(tokens: int | None, kept: int) -> None:
    """The headline says of each r what the curve says: r = 0.1 allows floor(3,276.8) tokens."""
    rows = [of("T", row) for key, row in exam().items() if key[0] == "T@1"]
    report = score(rows, limits={"T": Limit("T", tokens)})
    metrics = report["tasks"]["T"]["metrics"]
    headline = [metrics[f"Acc≤{tenth / 10:.1f}"] for tenth in range(1, 11)]
    assert [metric["value"] is not None for metric in headline] == [True] * kept + [False] * (10 - kept)
    assert [metric["value"] for metric in headline] == [
        point["counterfactual"]["value"] for point in report["budgets"]["T"]["points"]
    ]
    notes = {metric["note"] for metric in headline[kept:]}
    assert notes <= {f"not available: the answers were limited to {tokens or 0:,} tokens"}


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 40_000)), min_size=1, max_size=12))
def test_more_tokens_never_lower_the_counterfactual(answers: list[tuple[bool, int]]) -> None:
    rows = [of("T", graded(question(f"q{i}"), float(right), tokens=n)) for i, (right, n) in enumerate(answers)]
    found = score(rows, limits={"T": Limit("T", 32_768)})["budgets"]["T"]
    values = [p["counterfactual"]["value"] for p in found["points"]]
    assert values == sorted(values)  # type: ignore[type-var]
    within = [sum(right and tokens <= p["tokens"] for right, tokens in answers) for p in found["points"]]
    assert values == pytest.approx([count / len(answers) for count in within])
