"""Scoring against arithmetic by hand (written beside each case) and against rules that hold for any rows."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from livek12.core.errors import UserError
from livek12.core.records import (
    Call,
    Image,
    Key,
    PartVerdict,
    Process,
    ProcessError,
    Question,
    Response,
    State,
    Variable,
    Verdict,
    Vote,
)
from livek12.core.scoring import FORMULAS, Parameters, Row
from livek12.core.scoring.formulas import steps_between
from livek12.core.scoring.metrics import pass_sizes
from livek12.core.scoring.outcomes import steps_of
from livek12.core.statistics import mean_interval
from tests.scored import compare, modality_delta, score

TASK = "livek12_text_only"


def question(id: str, **fields: Any) -> Question:
    given = {"benchmark": "livek12", "language": "en", "subject": "math", "question_type": "short_answer"}
    return Question(**{"id": id, "question": "?", "points": 5.0, **given, **fields})


def response(key: Key, tokens: int | None) -> Response:
    return Response(key=key, text="an answer", completion_tokens=tokens, engine="none", model="none")


def part(decision: str) -> PartVerdict:
    score = {"accept": 1.0, "reject": 0.0, "undecided": None}[decision]
    return PartVerdict.model_validate(
        {"answer": "a", "gold": "a", "decision": decision, "score": score, "decided_by": "numeric"}
    )


def graded(
    asked: Question,
    share: float = 1.0,
    *,
    trial: int = 0,
    tokens: int | None = 1000,
    process: tuple[float, float, float] | Process | None = None,
    parts: str = "",
    task: str = TASK,
) -> Row:
    """A graded answer with a share of the points; `parts` has a letter a part: a(ccept), r(eject)."""
    key, worth = Key(task=task, question_id=asked.id, trial=trial), asked.points or 1.0
    verdict = Verdict(
        key=key,
        state="graded",
        parts=[part({"a": "accept", "r": "reject"}[letter]) for letter in parts],
        points=worth * share,
        low=worth * share,
        high=worth * share,
        max_points=worth,
        correct=share == 1,
        process=Process(cie=process[0], lae=process[1], dre=process[2]) if isinstance(process, tuple) else process,
        judge="rules",
    )
    return Row(task, asked, trial, "graded", response(key, tokens), verdict)


def ungraded(
    asked: Question, *, trial: int = 0, tokens: int | None = 1000, low: float = 0.0, high: float = 1.0, parts: str = ""
) -> Row:
    """An answer of which a share from `low` to `high` is earned; `parts` may have u(ndecided) ones."""
    row, worth = graded(asked, trial=trial, tokens=tokens), asked.points or 1.0
    assert row.verdict is not None
    names = {"a": "accept", "r": "reject", "u": "undecided"}
    update = {
        "state": "ungraded",
        "parts": [part(names[letter]) for letter in parts],
        "points": None,
        "low": low * worth,
        "high": high * worth,
        "correct": False if high < 1 else None,
    }
    return replace(row, state="ungraded", verdict=row.verdict.model_copy(update=update))


def ended(asked: Question, state: State, *, trial: int = 0) -> Row:
    """An answer that never came, or came without an answer in it."""
    row = graded(asked, 0.0, trial=trial)
    if state == "no_answer":
        return replace(row, state=state)
    return replace(row, state=state, response=None, verdict=None)


def metrics(rows: list[Row], **options: Any) -> dict[str, Any]:
    """The metrics of the only task."""
    (task,) = score(rows, **options)["tasks"].values()
    return task["metrics"]


def bounds(estimate: Any) -> tuple[float | None, float | None]:
    return estimate["low"], estimate["high"]


def critics(*listed: str) -> Process:
    """An audit: for each critic the errors it lists, a letter each, every one in a step of its own."""
    kinds: dict[str, Any] = {"c": "CIE", "l": "LAE", "d": "DRE"}
    found = [
        ProcessError(type=kinds[letter], step=f"step {n}", reason="so", judge=f"judge {critic}")
        for critic, letters in enumerate(listed)
        for n, letter in enumerate(letters)
    ]
    cie, lae, dre = (sum(letter in letters for letters in listed) / len(listed) for letter in "cld")
    return Process(cie=cie, lae=lae, dre=dre, errors=found, critics=[f"judge {n}" for n in range(len(listed))])


def exam(processes: Sequence[tuple[float, float, float] | Process]) -> list[Row]:
    """10, 5 and 4 points; 10, 2.5 and 4 of them earned; the last in 8,192 tokens."""
    a, b, c = question("a", points=10), question("b", points=5), question("c", points=4)
    return [
        graded(a, 1.0, tokens=4096, process=processes[0]),
        graded(b, 0.5, tokens=50, process=processes[1]),
        graded(c, 1.0, tokens=8192, process=processes[2]),
    ]


def test_paper_profile_by_hand() -> None:
    found = metrics(exam([(1, 0, 2 / 3), (0, 1, 0), (1, 1, 0)]))
    # P = max(0, V - 3Σx): 10 - 3·5/3 = 5; 5 - 3 = 2; max(0, 4 - 6) = 0
    # P·O/V: 5·1 = 5; 2·0.5 = 1; 0.  ES = 0.5·P·O/V + 0.5·O: 7.5; 0.5 + 1.25 = 1.75; 2.  ΣV = 19
    assert found["PES"]["value"] == pytest.approx(100 * (5 + 1 + 0) / 19)
    assert found["OES"]["value"] == pytest.approx(100 * (7.5 + 1.75 + 2) / 19)
    assert found["OCS"]["value"] == pytest.approx(100 * (10 + 2.5 + 4) / 19)
    assert found["mark"] == found["OCS"]
    assert found["accuracy"]["value"] == pytest.approx(2 / 3)
    # ARL: 1 + 0.15·ln(4096/4096) = 1; wrong 0; 1 + 0.15·ln(4096/8192) = 1 - 0.15·ln 2
    assert found["ARL"]["value"] == pytest.approx((1 + 0 + 1 - 0.15 * math.log(2)) / 3)
    # Acc≤r: the limits are 3276.8, 6553.6 and 9830.4 tokens; the short wrong answer never counts
    assert [found[f"Acc≤{r}"]["value"] for r in ("0.1", "0.2", "0.3")] == pytest.approx([0, 1 / 3, 2 / 3])


def test_release_profile_by_hand() -> None:
    found = metrics(exam([critics("dd"), critics(""), critics("l")]), profile="release")
    # erroneous steps: 2 (both DRE), 0, 1.  process half: 0; 1.25; 0.  outcome half: 0 (two steps); 1.25; 2
    assert found["PES"]["value"] == pytest.approx(100 * 1.25 / (19 / 2))
    assert found["OES"]["value"] == pytest.approx(100 * (0 + 2.5 + 2) / 19)
    assert found["OCS"]["value"] == pytest.approx(100 * 16.5 / 19)
    assert bounds(found["ARL"]) == (None, None)
    assert "compare" in found["ARL"]["note"]
    assert found["Acc≤0.3"]["value"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("listed", "half", "outcome"),
    [  # of 10 points: process and outcome half, each the mean over what each critic alone would give
        (["", "", ""], 5, 5),
        (["d", "", ""], 5 * 2 / 3, 5),
        (["dd", "", ""], 5 * 2 / 3, 5 * 2 / 3),
        (["c", "d", ""], 5 / 3, 5),  # two types, but nobody lists two steps
        (["cd", "dd", "l"], 0, 5 / 3),
        (["cldcld"], 0, 0),
    ],
)
def test_release_counts_the_steps_of_each_critic(listed: list[str], half: float, outcome: float) -> None:
    found = metrics([graded(question("a", points=10), process=critics(*listed))], profile="release")
    assert found["PES"]["value"] == pytest.approx(100 * half / 5)
    assert found["OES"]["value"] == pytest.approx(10 * (half + outcome))


def test_an_error_that_a_critic_lists_twice_is_one() -> None:
    process = critics("d")
    twice = process.model_copy(update={"errors": process.errors * 2})
    found = metrics([graded(question("a"), process=twice)], profile="release")
    assert (found["PES"]["value"], found["OES"]["value"]) == (0, 50)


@pytest.mark.parametrize(
    ("presence", "process", "overall"),
    [  # what an audit without its list of steps leaves open, of 100
        ((0, 0, 0), (100, 100), (100, 100)),
        ((1, 0, 0), (0, 0), (0, 50)),  # one step or more
        ((1, 1, 0), (0, 0), (0, 0)),
        ((1 / 3, 1 / 3, 0), (100 / 3, 200 / 3), (100 / 3, (200 / 3 + 100) / 2)),  # by one critic or by two
    ],
)
def test_steps_that_nobody_told_are_bounded(
    presence: tuple[float, float, float], process: tuple[float, float], overall: tuple[float, float]
) -> None:
    found = metrics([graded(question("a"), process=presence)], profile="release")
    assert bounds(found["PES"]) == pytest.approx(process)
    assert bounds(found["OES"]) == pytest.approx(overall)


@given(st.lists(st.text("cld", max_size=3), min_size=1, max_size=4))
def test_bounds_hold_the_steps_that_were_not_told(listed: list[str]) -> None:
    process = critics(*listed)
    presence = (process.cie, process.lae, process.dre)
    (least_high, two_high), (least_low, two_low) = steps_between(presence, None)
    told = steps_of(process)
    assert told is not None
    assert least_low - 1e-9 <= told[0] <= least_high + 1e-9
    assert two_low - 1e-9 <= told[1] <= two_high + 1e-9


def test_without_points_an_error_type_takes_a_third() -> None:
    def of(*listed: str) -> Any:
        return metrics([graded(question("a", points=None), process=critics(*listed))])["PES"]

    assert of("")["value"] == 100
    assert of("d", "", "")["value"] == pytest.approx(100 - 100 / 9), "one critic of three does not take all"
    assert of("d")["value"] == pytest.approx(200 / 3)
    assert of("cld")["value"] == 0
    assert "takes a third of the process score" in of("d")["note"]


def test_questions_of_few_points_say_that_an_error_takes_all() -> None:
    of_few = metrics([graded(question("a", points=3), process=(1, 0, 0))])["PES"]
    assert (of_few["value"], of_few["note"][:14]) == (0, "all or nothing")
    assert metrics([graded(question("a", points=4), process=(1, 0, 0))])["PES"]["note"] is None


def test_a_report_names_the_version_of_its_formulas() -> None:
    assert score([graded(question("a"))])["formulas"] == FORMULAS
    assert compare({"a": [graded(question("a"))], "b": [graded(question("a"))]})["formulas"] == FORMULAS


def test_a_budget_includes_its_limit() -> None:
    found = metrics([graded(question("a"), tokens=16_384), graded(question("b"), tokens=32_769)])
    assert [found[f"Acc≤{r}"]["value"] for r in ("0.4", "0.5", "1.0")] == [0, 0.5, 0.5]


def test_constants_are_parameters() -> None:
    other = Parameters(
        process_penalty=2, process_weight=0.25, length_weight=0.3, reference_tokens=8192, token_limit=10_000
    )
    found = metrics(exam([(1, 0, 1), (0, 1, 0), (0, 0, 0)]), parameters=other)
    # P: 10 - 4 = 6; 5 - 2 = 3; 4.  P·O/V: 6; 1.5; 4.  OES: 0.25·11.5 + 0.75·16.5
    assert found["PES"]["value"] == pytest.approx(100 * 11.5 / 19)
    assert found["OES"]["value"] == pytest.approx(100 * (0.25 * 11.5 + 0.75 * 16.5) / 19)
    assert found["ARL"]["value"] == pytest.approx((1 + 0.3 * math.log(2) + 1) / 3)
    assert [found[f"Acc≤{r}"]["value"] for r in ("0.4", "0.5", "0.9")] == pytest.approx([0, 1 / 3, 2 / 3])
    assert score(exam([(0, 0, 0)] * 3), parameters=other)["parameters"]["token_limit"] == 10_000


def release_arl(models: dict[str, list[Row]]) -> dict[str, Any]:
    return compare(models, "release")["tasks"][TASK]["metrics"]["ARL"]


def test_release_arl_by_hand() -> None:
    a, b, c = question("a"), question("b"), question("c")
    models = {
        "one": [graded(a, tokens=100), graded(b, 0, tokens=300)],
        # two trials of the second model on question a: 200 and 400 tokens, mean 300
        "two": [graded(a, tokens=200), graded(a, tokens=400, trial=1), graded(b, tokens=500), graded(c)],
    }
    found = release_arl(models)
    # l̄, question by question: a (100 + 300)/2 = 200; b (300 + 500)/2 = 400
    assert found["one"]["value"] == pytest.approx((1 + 0.1 * math.log(200 / 100) + 0) / 2)
    two = [1 + 0.1 * math.log(ratio) for ratio in (200 / 200, 200 / 400, 400 / 500)]
    assert found["two"]["value"] == pytest.approx(sum(two) / 3)
    assert found["two"]["note"] == "1 questions that not all models have are left out"

    models["one"][0] = graded(a, tokens=None)
    assert release_arl(models)["two"]["note"] == "not available (1 answer states no token count)"
    models["one"][0] = ended(a, "failed")
    assert release_arl(models)["two"]["low"] is None
    assert release_arl({"one": [graded(a)], "two": [graded(b)]})["one"]["note"] == "the models share no question"


def test_no_state_leaves_a_denominator() -> None:
    rows = [
        graded(question("a", points=6), tokens=4096),
        ended(question("b", points=5), "no_answer"),
        ungraded(question("c", points=4), tokens=4096),
        ended(question("d", points=3), "failed"),
        ended(question("e", points=2), "unsupported"),
    ]
    (task,) = score(rows)["tasks"].values()
    assert task["counts"] == {
        "questions": 5,
        "trials": 1,
        "answers": 5,
        "graded": 1,
        "no_answer": 1,
        "ungraded": 1,
        "failed": 1,
        "unsupported": 1,
        "truncated": 0,
        "truncated_unknown": 3,
    }
    assert task["ungraded"] == {"nobody": 0, "rules": 1, "models": 0}
    found = task["metrics"]
    assert task["points"] == 20
    assert bounds(found["mark"]) == pytest.approx((30, 75))  # 6 of 20; and 4 + 3 + 2 more
    assert bounds(found["accuracy"]) == pytest.approx((1 / 5, 4 / 5))
    assert bounds(found["Acc≤0.1"]) == pytest.approx((0, 2 / 5))  # 4,096 tokens are too many; no answer has none
    # the ungraded answer is worth 1 at best; one that never came could be right in a single token
    assert bounds(found["ARL"]) == pytest.approx((1 / 5, (2 + 2 * (1 + 0.15 * math.log(4096))) / 5))
    assert bounds(found["pass@1"]) == pytest.approx((1 / 5, 4 / 5))
    assert all(found[name]["value"] is None for name in ("mark", "accuracy", "ARL", "pass@1"))
    low, high = found["accuracy"]["ci"]
    assert low <= 1 / 5
    assert high >= 4 / 5


@pytest.mark.parametrize(
    ("row", "mark", "accuracy"),
    [
        (ungraded(question("a"), low=0.5, high=1.0, parts="au"), (50, 100), (0, 1)),
        (ungraded(question("a"), low=0.0, high=0.5, parts="ru"), (0, 50), (0, 0)),
        # a verdict that claims to know it all cannot vouch for an ungraded answer
        (ungraded(question("a"), low=1.0, high=1.0, parts="a"), (0, 100), (0, 1)),
    ],
)
def test_an_ungraded_answer_is_bounded_by_its_decided_parts(row: Row, mark: Any, accuracy: Any) -> None:
    found = metrics([row])
    assert bounds(found["mark"]) == mark
    assert bounds(found["accuracy"]) == accuracy


def test_being_right_at_immense_length_can_cost() -> None:
    # 1 + 0.15·ln(4096/10^7) = -0.17: the wrong answer is the better completion
    found = metrics([ungraded(question("a"), tokens=10_000_000)])
    assert bounds(found["ARL"]) == pytest.approx((1 + 0.15 * math.log(4096 / 1e7), 0))


def test_who_left_an_answer_open_is_counted() -> None:
    def left_open(id: str, **changes: Any) -> Row:
        row = ungraded(question(id), parts="u")
        assert row.verdict is not None
        return replace(row, verdict=row.verdict.model_copy(update=changes))

    voted = part("undecided").model_copy(update={"votes": [Vote(judge="m", decision="undecided")]})
    rows = [
        graded(question("g")),
        left_open("n", judge="none"),
        left_open("r"),
        left_open("v", parts=[voted]),
        left_open("c", calls=[Call(judge="m", prompt="p", problem="no reply")]),
        ended(question("f"), "failed"),
    ]
    (task,) = score(rows)["tasks"].values()
    assert task["ungraded"] == {"nobody": 1, "rules": 1, "models": 2}


@pytest.mark.parametrize("missing", [None, 0])
def test_a_missing_token_count_is_not_invented(missing: int | None) -> None:
    rows = [graded(question("a")), graded(question("b"), 0, tokens=missing), ended(question("c"), "failed")]
    found = metrics(rows)
    for name in ("ARL", "Acc≤0.1", "Acc≤1.0"):
        assert bounds(found[name]) == (None, None)
        assert found[name]["note"] == "not available (1 answer states no token count)"
    assert bounds(found["accuracy"]) == pytest.approx((1 / 3, 2 / 3))
    (task,) = score(rows)["tasks"].values()
    assert task["tokens"]["completion"]["missing"] == (1 if missing is None else 0)
    # where all counts are there the metric is too
    subjects = [replace(row, question=row.question.model_copy(update={"subject": row.question.id})) for row in rows]
    (task,) = score(subjects)["tasks"].values()
    assert task["groups"]["subject"]["a"]["metrics"]["ARL"]["value"] is not None


def test_the_share_of_prompts_from_the_prefix_cache() -> None:
    """Over the answers whose engine tells it; failures and silent engines are left out, and nothing is invented."""

    def told(row: Row, prompt: int | None, cached: int | None) -> Row:
        assert row.response
        counts = {"prompt_tokens": prompt, "cached_tokens": cached}
        return replace(row, response=row.response.model_copy(update=counts))

    a, b, c = (graded(question(name)) for name in "abc")
    rows = [told(a, 1000, 0), told(b, 1000, 900), told(c, 500, None), ended(question("d"), "failed")]
    (task,) = score(rows)["tasks"].values()
    assert task["prompt_cache"] == {"answers": 2, "prompt": 2000, "cached": 900, "share": 0.45}
    (task,) = score([a, b])["tasks"].values()
    assert task["prompt_cache"] is None


def test_without_points_each_question_counts_one() -> None:
    rows = [graded(question("a", points=None)), graded(question("b", points=None), 0.25)]
    found = metrics(rows)
    assert found["mark"]["value"] == pytest.approx(62.5)
    assert found["mark"]["note"] == "no question states points: each counts 1"


def test_points_of_some_questions_only_are_no_mark() -> None:
    rows = [graded(question("a")), graded(question("b", points=None), process=(0, 0, 0)), graded(question("c"))]
    (task,) = score(rows)["tasks"].values()
    for name in ("mark", "OCS", "PES", "OES"):
        assert bounds(task["metrics"][name]) == (None, None)
        assert task["metrics"][name]["note"] == "1 of 3 questions state no points"
    assert task["points"] is None
    assert task["metrics"]["accuracy"]["value"] == 1


def test_process_scores_need_process_verdicts() -> None:
    a, b = question("a"), question("b")
    assert metrics([graded(a), graded(b)])["OES"]["note"] == "no process verdicts"
    # V = 5: with all three errors P = max(0, 5 - 9) = 0, with none P = 5; a wrong answer needs no audit
    some = metrics([graded(a, process=(0, 0, 0)), graded(b)])
    assert bounds(some["PES"]) == pytest.approx((50, 100))
    assert bounds(some["OES"]) == pytest.approx((75, 100))
    assert metrics([graded(a, process=(0, 0, 0)), graded(b, 0)])["PES"]["value"] == pytest.approx(50)
    release = metrics([graded(a, process=(0, 0, 0)), graded(b)], profile="release")
    assert bounds(release["OES"]) == pytest.approx((50, 100))


def test_process_errors_are_counted() -> None:
    rows = exam([(1, 0, 2 / 3), (1 / 3, 1 / 3, 0), (1, 0, 0)])
    (task,) = score([*rows, graded(question("d"))])["tasks"].values()
    assert task["process_errors"] == {
        "audited": 3,
        "CIE": {"answers": 2, "mean_presence": pytest.approx(7 / 9)},
        "LAE": {"answers": 0, "mean_presence": pytest.approx(1 / 9)},
        "DRE": {"answers": 1, "mean_presence": pytest.approx(2 / 9)},
    }
    (task,) = score([graded(question("d"))])["tasks"].values()
    assert task["process_errors"] is None


def test_even_votes_of_critics_are_no_error() -> None:
    rows = exam([(1, 0.5, 0), (0.5, 0.5, 0), (2 / 3, 0, 0)])
    (task,) = score(rows)["tasks"].values()
    assert [task["process_errors"][kind]["answers"] for kind in ("CIE", "LAE", "DRE")] == [2, 0, 0]


def variables(count: int) -> list[Variable]:
    return [Variable(name=f"v{i}", value="1") for i in range(count)]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (graded(question("a", variables=variables(4)), 0.75, parts="aara"), (0.75, 0.75)),
        # a failed extraction (no part for a variable) stays in the denominator
        (graded(question("a", variables=variables(4)), 0.5, parts="aa"), (0.5, 0.5)),
        (ungraded(question("a", variables=variables(4)), parts="aru"), (0.25, 0.75)),
        (ungraded(question("a", variables=variables(4))), (0, 1)),
        (ended(question("a", variables=variables(4)), "no_answer"), (0, 0)),
        (ended(question("a", variables=variables(4)), "failed"), (0, 1)),
    ],
)
def test_variable_accuracy(row: Row, expected: tuple[float, float]) -> None:
    whole = graded(question("b", variables=variables(2)), parts="aa")
    found = metrics([row, whole])
    assert bounds(found["variable_accuracy"]) == pytest.approx(tuple((x + 1) / 2 for x in expected))
    assert found["question_accuracy"] == found["accuracy"]


def test_variable_accuracy_only_where_there_are_variables() -> None:
    assert "variable_accuracy" not in metrics([graded(question("a"))])


def trials(asked: Question, right: str) -> list[Row]:
    """One row a trial: 1 right, 0 wrong, ? never came."""
    return [
        ended(asked, "failed", trial=t) if mark == "?" else graded(asked, float(mark), trial=t)
        for t, mark in enumerate(right)
    ]


def test_pass_at_k_and_spread_over_trials_by_hand() -> None:
    found = metrics(trials(question("a"), "110") + trials(question("b"), "001"))
    # pass@1: (2/3 + 1/3)/2; pass@2: a: 1 - C(1,2)/C(3,2) = 1, b: 1 - C(2,2)/C(3,2) = 2/3; pass@3: both
    assert [found[f"pass@{k}"]["value"] for k in (1, 2, 3)] == pytest.approx([1 / 2, 5 / 6, 1])
    assert "pass@4" not in found
    # trial means 1/2, 1/2, 1/2
    assert found["accuracy"]["std"] == 0
    # trial means 1, 1/2, 0: mean 1/2, squared deviations 1/4 + 0 + 1/4 over 2
    spread = metrics(trials(question("a"), "110") + trials(question("b"), "100"))
    assert spread["accuracy"]["value"] == pytest.approx(1 / 2)
    assert spread["accuracy"]["std"] == pytest.approx(0.5)
    assert spread["mark"]["std"] == pytest.approx(50)
    assert spread["pass@2"]["std"] is None
    assert metrics([graded(question("a"))])["accuracy"]["std"] is None


def test_undecided_trials_bound_pass_at_k_and_have_no_spread() -> None:
    found = metrics(trials(question("a"), "1?0") + trials(question("b"), "000"))
    # a has one or two right of three: pass@2 is 1 - C(2,2)/3 = 2/3 or 1; b: 0
    assert bounds(found["pass@2"]) == pytest.approx((1 / 3, 1 / 2))
    assert found["accuracy"]["std"] is None


def test_groups_by_every_axis_the_rows_have() -> None:
    attributes = {"macro_subject": "science", "task": "calculation", "visual_modality": "graph", "topic": "motion"}
    attributes |= {"visual_subcategory": "chart_line"}
    full = question(
        "a",
        subject="physics",
        question_type="proof",
        images=[Image(bytes=b"x")],
        subsets=["complex_layout", "long_horizon"],
        difficulty="hard",
        year=2026,
        release="2603",
        flags={"is_korean_specific": True, "has_text_in_image": False},
        attributes=attributes,
        taxonomy=["physics", "high school", "mechanics", "motion", "fall", "free fall"],
        paper_id="p1",
    )
    plain = question("b", paper_id="p2")
    (task,) = score([graded(full), graded(plain, 0)])["tasks"].values()
    groups = {axis: {value: g["questions"] for value, g in values.items()} for axis, values in task["groups"].items()}
    assert groups == {
        "subject": {"math": 1, "physics": 1},
        "macro_subject": {"science": 1, "(none)": 1},
        "task": {"calculation": 1, "(none)": 1},
        "topic": {"motion": 1, "(none)": 1},
        "question_type": {"proof": 1, "short_answer": 1},
        "modality": {"text_image": 1, "text_only": 1},
        "visual_modality": {"graph": 1, "(none)": 1},
        "visual_subcategory": {"chart_line": 1, "(none)": 1},
        "text_in_image": {"false": 1, "(none)": 1},
        "taxonomy": {
            "physics / high school": 1,
            "physics / high school / mechanics": 1,
            "physics / high school / mechanics / motion": 1,
            "(none)": 1,
        },
        "subset": {"complex_layout": 1, "long_horizon": 1, "(none)": 1},
        "difficulty": {"hard": 1, "(none)": 1},
        "year": {"2026": 1, "(none)": 1},
        "release": {"2603": 1, "(none)": 1},
        "language": {"en": 2},
        "korean_specific": {"true": 1, "(none)": 1},
        "paper": {"p1": 1, "p2": 1},
    }
    physics = task["groups"]["subject"]["physics"]
    assert physics["metrics"]["accuracy"]["value"] == 1
    assert physics["points"] == 5
    assert physics["counts"]["answers"] == 1


def test_absent_axes_and_a_single_paper_make_no_group() -> None:
    rows = [graded(question("a", paper_id="p")), graded(question("b", paper_id="p"))]
    (task,) = score(rows, modalities={TASK: "image_only"})["tasks"].values()
    assert set(task["groups"]) == {"subject", "question_type", "modality", "language"}
    assert set(task["groups"]["modality"]) == {"image_only"}


def test_korean_specific_gap() -> None:
    def asked(id: str, korean: bool | None) -> Question:
        return question(id, flags={"is_korean_specific": korean})

    rows = [graded(asked(f"k{i}", True), float(i < 2)) for i in range(8)]
    rows += [graded(asked(f"n{i}", False), float(i < 6)) for i in range(8)]
    rows.append(graded(asked("unknown", None)))
    (task,) = score(rows)["tasks"].values()
    gap = task["deltas"]["accuracy/korean_specific/true-false"]
    assert gap["value"] == pytest.approx(1 / 4 - 3 / 4)
    assert gap["n"] == 16
    low, high = gap["ci"]
    assert -1 <= low < -0.5 < high <= 0.5
    rows[2] = ended(rows[2].question, "failed")
    (task,) = score(rows)["tasks"].values()
    assert bounds(task["deltas"]["accuracy/korean_specific/true-false"]) == pytest.approx((-0.5, -0.375))
    (task,) = score([ended(row.question, "failed") for row in rows])["tasks"].values()
    unknown = task["deltas"]["accuracy/korean_specific/true-false"]
    assert bounds(unknown) == (-1, 1)
    assert unknown["ci"] == [-1, 1]


def test_groups_that_do_as_well_still_differ_by_chance() -> None:
    """The questions of two groups are not pairs: equal patterns in both must not cancel out."""
    rows = [
        graded(question(f"{korean}{i}", flags={"is_korean_specific": korean}), float(i % 2))
        for korean in (True, False)
        for i in range(10)
    ]
    (task,) = score(rows)["tasks"].values()
    gap = task["deltas"]["accuracy/korean_specific/true-false"]
    low, high = gap["ci"]
    # two shares of 1/2 of 10: standard error sqrt(2 · 0.25 / 10) = 0.22
    assert gap["value"] == 0
    assert -0.65 < low < -0.3
    assert 0.3 < high < 0.65


def test_releases_are_compared_with_the_one_before() -> None:
    rows = [graded(question(f"{r}{i}", release=r), share) for r, share in (("2603", 1), ("2506", 0.5)) for i in "ab"]
    rows += [graded(question("2605a", release="2605"), 0)]
    (task,) = score(rows)["tasks"].values()
    values = {name: delta["value"] for name, delta in task["deltas"].items()}
    assert values == {
        "accuracy/release/2603-2506": 1,
        "mark/release/2603-2506": 50,
        "accuracy/release/2605-2603": -1,
        "mark/release/2605-2603": -100,
    }


def test_modality_gap_on_the_questions_both_have() -> None:
    hard = [question(f"h{i}", subsets=["complex_layout"]) for i in range(4)]
    other = question("other")
    standard = [graded(q) for q in (*hard, other)]
    images = [graded(q, float(i == 0), task="images") for i, q in enumerate(hard[:3])]
    images.append(graded(other, 0, task="images"))
    gap = modality_delta(standard, images)["accuracy"]
    assert gap["value"] == pytest.approx(1 / 3 - 1)  # h3 was not asked as an image, "other" is not in the subset
    assert gap["n"] == 3
    report = score(standard + images, modalities={"images": "image_only"})
    assert report["deltas"]["images/accuracy/modality/image_only-standard/complex_layout"] == gap
    assert modality_delta(standard, images, subset="rigorous_process") == {}
    assert modality_delta(standard, images, subset=None)["accuracy"]["value"] == pytest.approx(1 / 4 - 1)


@pytest.mark.parametrize(("papers", "unit", "clusters"), [(3, "question", 40), (4, "paper", 4), (10, "paper", 10)])
def test_intervals_are_clustered_by_paper_from_four_papers_on(papers: int, unit: str, clusters: int) -> None:
    draw = random.Random(3)
    right = [float(draw.random() < 0.3 + 0.5 * (i % papers % 2)) for i in range(40)]
    asked = [question(f"q{i:02}", paper_id=f"p{i % papers}") for i in range(40)]
    (task,) = score([graded(q, share) for q, share in zip(asked, right, strict=True)])["tasks"].values()
    found = task["metrics"]["accuracy"]
    assert (found["unit"], found["clusters"], found["n"]) == (unit, clusters, 40)
    of = np.arange(40) % papers if unit == "paper" else None
    assert found["ci"] == pytest.approx(mean_interval(np.array(right), clusters=of)[1:], abs=1e-9)
    # one paper alone is taken by question, and of four questions it has no interval
    alone = task["groups"]["paper"]["p0"]["metrics"]["accuracy"]
    assert (alone["unit"], alone["ci"] is None) == (("question", False) if papers < 10 else (None, True))


def test_a_question_without_a_paper_is_a_cluster_of_its_own() -> None:
    asked = [question(f"q{i:02}", paper_id=f"p{i % 10}") for i in range(20)] + [question("x"), question("y")]
    found = metrics([graded(q) for q in asked])["accuracy"]
    assert (found["unit"], found["clusters"]) == ("paper", 12)


def test_trials_stay_with_their_question() -> None:
    rows = [row for i in range(12) for row in trials(question(f"q{i:02}"), "11" if i % 3 else "00")]
    found = metrics(rows, parameters=Parameters())["accuracy"]
    assert found["ci"] == pytest.approx(mean_interval(np.array([float(bool(i % 3)) for i in range(12)]))[1:], abs=1e-9)
    assert found["clusters"] == 12


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "no answers to score"),
        ([graded(question("a")), graded(question("a"))], f"{TASK}/a/0 occurs twice"),
        ([replace(graded(question("a")), verdict=None)], f"{TASK}/a/0 is graded but has no verdict"),
        ([graded(question("a"), 1.5)], f"{TASK}/a/0: the verdict awards 7.5 to 7.5 of 5.0 points"),
    ],
)
def test_rows_that_contradict_themselves_are_refused(rows: list[Row], message: str) -> None:
    with pytest.raises(UserError, match=message):
        score(rows)


def test_an_unknown_profile_is_refused() -> None:
    profile: Any = "papers"
    with pytest.raises(UserError, match="unknown profile 'papers': choose one of article, release"):
        score([graded(question("a"))], profile)


def test_comparison_of_two_runs() -> None:
    asked = [question(f"q{i}") for i in range(10)]
    a = [graded(q, float(i < 7)) for i, q in enumerate(asked)]
    b = [graded(q, float(i in (0, 8))) for i, q in enumerate(asked)] + [graded(question("extra"))]
    task = compare({"a": a, "b": b})["tasks"][TASK]
    assert task["metrics"]["accuracy"]["b"]["value"] == pytest.approx(3 / 11)
    (pair,) = task["pairs"]
    assert (pair["a"], pair["b"], pair["shared"], pair["only_a"], pair["only_b"]) == ("a", "b", 10, 0, 1)
    found = pair["metrics"]["accuracy"]
    assert found["difference"]["value"] == pytest.approx(2 / 10 - 7 / 10)
    # only a is right on q1 to q6, only b on q8: p = 2·(C(7,0) + C(7,1))/2^7
    assert found["test"] == {
        "name": "mcnemar_exact",
        "p": pytest.approx(2 * 8 / 128),
        "p_holm": pytest.approx(2 * 8 / 128),
        "unit": "question",
        "questions": 10,
        "undecided": 0,
    }
    # every question has 5 points: sign flips of ±5 are the same test
    assert pair["metrics"]["mark"]["test"]["name"] == "sign_flip"
    assert pair["metrics"]["mark"]["test"]["p"] == pytest.approx(2 * 8 / 128)
    assert "PES" not in pair["metrics"]
    # the interval, which t makes wider than the test, reaches 0 where 7 of 10 differ
    assert found["difference"]["ci"] == pytest.approx([-0.782, 0.05], abs=0.01)
    assert found["needed"] == 18  # 7.849 · 0.5 / 0.25 + 1 / 0.5
    assert task["ranks"]["accuracy"] == {"a": [1, 2], "b": [1, 2]}


def test_the_interval_of_a_difference_pairs_the_questions() -> None:
    """Two runs with the same right answers differ by little, however unsure each is: by what 100 never showed."""
    rows = [graded(question(f"q{i}"), float(i % 2)) for i in range(100)]
    (pair,) = compare({"a": rows, "b": rows})["tasks"][TASK]["pairs"]
    low, high = pair["metrics"]["accuracy"]["difference"]["ci"]
    assert low == pytest.approx(-high)
    assert 0.02 < high < 0.03  # the rule of three; each alone reaches 0.1 far
    assert pair["metrics"]["accuracy"]["test"]["p"] == 1
    assert pair["metrics"]["accuracy"]["needed"] is None
    other = [graded(question(f"q{i}"), float(i < 50)) for i in range(100)]  # as many right, but others
    (pair,) = compare({"a": rows, "b": other})["tasks"][TASK]["pairs"]
    assert pair["metrics"]["accuracy"]["difference"]["ci"][1] > 0.13


def reach(value: float, *points: float) -> tuple[float, float]:
    """The interval of values that are all equal, by hand: Wilson's at n / t² questions, half a question added."""
    n, t = sum(points) ** 2 / sum(p * p for p in points), {5: 2.7764, 6: 2.5706}[len(points)]
    spread = value * (1 - value)
    doubt = t * t * 0.5 / n / (n * spread + 0.5)
    half = math.sqrt(doubt * spread + doubt * doubt / 4)
    return (value + doubt / 2 - half) / (1 + doubt), (value + doubt / 2 + half) / (1 + doubt)


@pytest.mark.parametrize(
    ("shares", "metric", "most", "value"),
    [
        ([0] * 5, "accuracy", 1, 0),
        ([1] * 5, "accuracy", 1, 1),
        ([0] * 5, "mark", 100, 0),
        ([1] * 6, "mark", 100, 1),
        ([0.5] * 5, "mark", 100, 0.5),
        ([0.1] * 5, "mark", 100, 0.1),  # 0.1 adds up to a sum that is rounded
        ([0] * 5, "Acc≤0.5", 1, 0),
        ([0] * 5, "pass@1", 1, 0),
        ([0] * 5, "ARL", 1 + 0.15 * math.log(4096), 0),  # at most an answer of one token
    ],
)
def test_equal_values_are_no_certainty(shares: list[float], metric: str, most: float, value: float) -> None:
    asked = [question(f"q{i}", points=3.0 + i) for i in range(len(shares))]
    (task,) = score([graded(q, share) for q, share in zip(asked, shares, strict=True)])["tasks"].values()
    points = [3.0 + i if metric == "mark" else 1.0 for i in range(len(shares))]
    assert task["metrics"][metric]["ci"] == pytest.approx([most * end for end in reach(value, *points)], abs=2e-3)


@pytest.mark.parametrize(
    ("shares", "ci"),
    [
        ([None] * 5, [0, 1]),
        ([0, 0, 0, None, None, None], [0, 0.877]),  # at worst all are wrong, at best half of them
        ([0, 1, 0, 1], None),  # of fewer than five questions an interval says nothing
    ],
)
def test_the_interval_reaches_over_what_is_undecided(shares: list[float | None], ci: list[float] | None) -> None:
    asked = [question(f"q{i}") for i in range(len(shares))]
    rows = [ended(q, "failed") if share is None else graded(q, share) for q, share in zip(asked, shares, strict=True)]
    (task,) = score(rows)["tasks"].values()
    assert task["metrics"]["accuracy"]["ci"] == (ci if ci is None else pytest.approx(ci, abs=0.01))


def test_a_difference_of_equal_values_is_as_unsure_as_both_sides() -> None:
    def asked(id: str, korean: bool) -> Question:
        return question(id, flags={"is_korean_specific": korean})

    rows = [graded(asked(f"k{i}", True)) for i in range(5)] + [graded(asked(f"n{i}", False), 0.0) for i in range(6)]
    (task,) = score(rows)["tasks"].values()
    gap = task["deltas"]["accuracy/korean_specific/true-false"]
    sides = 1 - reach(1, *[1] * 5)[0], reach(0, *[1] * 6)[1]
    assert gap["ci"] == pytest.approx([1 - math.hypot(*sides), 1], abs=1e-3)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_runs_that_are_all_right_or_all_wrong_differ_by_no_certainty(share: float) -> None:
    asked = [question(f"q{i}") for i in range(5)]
    task = compare({name: [graded(q, share) for q in asked] for name in ("a", "b")})["tasks"][TASK]
    side = reach(0, *[1] * 5)[1]
    assert task["pairs"][0]["metrics"]["accuracy"]["difference"]["ci"] == pytest.approx([-side, side], abs=1e-3)


def test_holm_takes_all_pairs_of_all_tasks_and_ranks_say_what_is_left_open() -> None:
    def rows(task: str, right: int) -> list[Row]:
        return [graded(question(f"q{i:02}"), float(i < right), task=task) for i in range(60)]

    runs = {name: [*rows("a", n), *rows("b", n + 10)] for name, n in (("good", 45), ("fair", 41), ("poor", 10))}
    found = compare(runs)["tasks"]
    tests = [pair["metrics"]["accuracy"]["test"] for task in found.values() for pair in task["pairs"]]
    assert len(tests) == 6
    least = min(tests, key=lambda test: test["p"] or 0.0)
    assert least["p_holm"] == pytest.approx(6 * (least["p"] or 0.0))
    assert found["a"]["ranks"]["accuracy"] == {"good": [1, 2], "fair": [1, 2], "poor": [3, 3]}


@pytest.mark.parametrize(("papers", "name"), [(3, "mcnemar_exact"), (5, "clustered_t"), (14, "sign_flip")])
def test_few_papers_are_tested_by_t(papers: int, name: str) -> None:
    asked = [question(f"q{i:02}", paper_id=f"p{i % papers}") for i in range(70)]
    a, b = ([graded(q, float(i % 10 < right)) for i, q in enumerate(asked)] for right in (3, 7))
    found = compare({"a": a, "b": b})["tasks"][TASK]["pairs"][0]["metrics"]["accuracy"]
    assert found["test"]["name"] == name
    assert found["test"]["p"] is not None
    assert 0 < found["test"]["p"] < 0.02


def test_the_paired_test_says_what_it_left_out() -> None:
    asked = [question(f"q{i}") for i in range(8)]
    a = [graded(q) for q in asked]
    b = [graded(q, 0.0) for q in asked[:6]] + [ungraded(asked[6]), ended(asked[7], "failed")]
    (pair,) = compare({"a": a, "b": b})["tasks"][TASK]["pairs"]
    found = pair["metrics"]["accuracy"]
    assert bounds(found["difference"]) == pytest.approx((-1, -6 / 8))
    assert (found["test"]["questions"], found["test"]["undecided"]) == (6, 2)
    assert found["test"]["p"] == pytest.approx(2 / 64)
    nothing = compare({"a": a, "b": [ended(q, "failed") for q in asked]})["tasks"][TASK]["pairs"][0]
    assert nothing["metrics"]["accuracy"]["test"]["p"] is None


def test_several_trials_are_tested_by_their_questions_means() -> None:
    asked = [question(f"q{i}") for i in range(5)]
    a = [row for q in asked for row in trials(q, "10")]
    b = [graded(q) for q in asked]
    (pair,) = compare({"a": a, "b": b})["tasks"][TASK]["pairs"]
    test = pair["metrics"]["accuracy"]["test"]
    # five differences of 1/2 with one sign: p = 2/2^5
    assert (test["name"], test["p"]) == ("sign_flip", pytest.approx(2 / 32))


def test_three_runs_are_adjusted_for_three_tests() -> None:
    asked = [question(f"q{i}") for i in range(8)]
    runs = {name: [graded(q, float(i < n)) for i, q in enumerate(asked)] for name, n in (("a", 8), ("b", 2), ("c", 1))}
    tests = [pair["metrics"]["accuracy"]["test"] for pair in compare(runs)["tasks"][TASK]["pairs"]]
    # a-b: 2/2^6, a-c: 2/2^7, b-c: 1.  Holm: a-c 3·2/128, a-b 2·2/64, b-c 1
    assert [test["p"] for test in tests] == pytest.approx([2 / 64, 2 / 128, 1])
    assert [test["p_holm"] for test in tests] == pytest.approx([4 / 64, 6 / 128, 1])


def test_comparisons_that_make_no_sense_are_refused() -> None:
    with pytest.raises(UserError, match="at least two runs"):
        compare({"a": [graded(question("a"))]})
    with pytest.raises(UserError, match=r"question a is worth 5.0 points in one run and 6.0 in the other"):
        compare({"a": [graded(question("a"))], "b": [graded(question("a", points=6))]})


# Rules that hold for any rows.

audits = st.lists(st.text("cld", max_size=3), min_size=1, max_size=3).map(lambda listed: critics(*listed))
shares = st.sampled_from([0.0, 0.25, 0.5, 1.0])
lengths = st.integers(1, 40_000)


@st.composite
def questions(draw: st.DrawFn, index: int) -> Question:
    return question(
        f"q{index}",
        points=draw(st.sampled_from([2.0, 5.0, 12.0])),
        subject=draw(st.sampled_from(["math", "physics"])),
        difficulty=draw(st.sampled_from(["easy", "hard", None])),
        flags={"is_korean_specific": draw(st.sampled_from([True, False]))},
        paper_id=draw(st.sampled_from([None, "p", "r"])),
        subsets=draw(st.lists(st.sampled_from(["complex_layout", "long_horizon"]), unique=True)),
    )


@st.composite
def decided(draw: st.DrawFn, asked: Question, trial: int, audit: bool) -> Row:
    process = draw(audits) if audit else None
    return graded(asked, draw(shares), trial=trial, tokens=draw(lengths), process=process)


@st.composite
def any_row(draw: st.DrawFn, asked: Question, trial: int) -> Row:
    """Any state; a graded answer with or without an audit."""
    state = draw(st.sampled_from(["graded", "unaudited", "no_answer", "ungraded", "partly", "failed", "unsupported"]))
    if state in ("graded", "unaudited"):
        return draw(decided(asked, trial, audit=state == "graded"))
    if state == "ungraded":
        return ungraded(asked, trial=trial, tokens=draw(lengths))
    if state == "partly":
        low, high = sorted(draw(st.lists(shares, min_size=2, max_size=2, unique=True)))
        return ungraded(asked, trial=trial, tokens=draw(lengths), low=low, high=high)
    return ended(asked, state, trial=trial)


@st.composite
def runs(draw: st.DrawFn, complete: bool = False) -> list[Row]:
    """One to five questions with one to three trials; `complete`: all graded and audited."""
    count = draw(st.integers(1, 3))
    rows = []
    for index in range(draw(st.integers(1, 5))):
        asked = draw(questions(index))
        rows += [draw(decided(asked, t, True) if complete else any_row(asked, t)) for t in range(count)]
    return rows


def complete(row: Row, draw: st.DrawFn) -> Row:
    """One way in which everything undecided about a row could have turned out."""
    if row.state in ("failed", "unsupported"):
        return draw(decided(row.question, row.trial, audit=True))
    assert row.verdict is not None
    assert row.response is not None
    share, tokens = row.verdict.low / row.verdict.max_points, row.response.completion_tokens
    if row.state == "ungraded":
        high = row.verdict.high / row.verdict.max_points
        share = draw(st.sampled_from([s for s in (0.0, 0.25, 0.5, 1.0) if share <= s <= high]))
    audit = row.verdict.process
    process = draw(audits) if audit is None else audit
    if row.state == "no_answer":
        return row
    return graded(row.question, share, trial=row.trial, tokens=tokens, process=process)


@settings(max_examples=60, deadline=None)
@given(runs(complete=True))
def test_paper_equations_force_the_overall_score_to_be_the_mean_of_its_halves(rows: list[Row]) -> None:
    found = metrics(rows)
    halves = found["PES"]["value"] + found["OCS"]["value"]
    assert found["OES"]["value"] == pytest.approx(halves / 2)


@settings(max_examples=60, deadline=None)
@given(runs(complete=True), st.sampled_from(["article", "release"]))
def test_nothing_undecided_leaves_no_interval(rows: list[Row], profile: Any) -> None:
    for name, found in metrics(rows, profile=profile).items():
        assert found["value"] is not None or (profile, name) == ("release", "ARL")


@settings(max_examples=60, deadline=None)
@given(st.data(), runs(), st.sampled_from(["article", "release"]))
def test_bounds_hold_whatever_the_undecided_turns_out_to_be(data: st.DataObject, rows: list[Row], profile: Any) -> None:
    before = metrics(rows, profile=profile)
    after = metrics([complete(row, data.draw) for row in rows], profile=profile)
    for name, found in before.items():
        if found["low"] is not None:
            assert found["low"] - 1e-9 <= after[name]["value"] <= found["high"] + 1e-9, name
    undecided = any(row.state not in ("graded", "no_answer") for row in rows)
    if undecided:
        assert before["mark"]["value"] is None
    else:
        assert before["mark"]["value"] is not None


@settings(max_examples=40, deadline=None)
@given(runs(), st.randoms())
def test_the_order_of_the_rows_changes_nothing(rows: list[Row], shuffler: random.Random) -> None:
    shuffled = rows.copy()
    shuffler.shuffle(shuffled)
    assert score(shuffled) == score(rows)


@settings(max_examples=40, deadline=None)
@given(runs())
def test_groups_of_a_single_valued_axis_add_up(rows: list[Row]) -> None:
    (task,) = score(rows)["tasks"].values()
    for axis, groups in task["groups"].items():
        if axis == "subset":
            continue
        for count, total in task["counts"].items():
            if count != "trials":
                assert sum(group["counts"][count] for group in groups.values()) == total, (axis, count)
        assert sum(group["points"] for group in groups.values()) == task["points"]
        marks = sum(group["points"] * group["metrics"]["mark"]["low"] for group in groups.values())
        assert marks / task["points"] == pytest.approx(task["metrics"]["mark"]["low"])


@settings(max_examples=40, deadline=None)
@given(runs(), st.sampled_from(["article", "release"]))
def test_reports_are_json_and_intervals_are_in_order(rows: list[Row], profile: Any) -> None:
    report = score(rows, profile)
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    for found in report["tasks"][TASK]["metrics"].values():
        if found["ci"]:
            assert found["ci"][0] <= found["ci"][1]
            assert found["unit"] == "question"
        assert found["low"] is None or found["low"] <= found["high"]


@pytest.mark.parametrize(
    ("trials", "sizes"), [(1, [1]), (5, [1, 2, 3, 4, 5]), (16, [*range(1, 17)]), (100, [*range(1, 17), 32, 64, 100])]
)
def test_the_sizes_of_pass_at_k_grow_slowly_with_the_trials(trials: int, sizes: list[int]) -> None:
    assert pass_sizes(trials) == sizes
