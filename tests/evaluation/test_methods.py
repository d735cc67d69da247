"""Ways of judging beside people: planted errors come out as they were planted, and the AUC is that of ranks."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livek12.core.errors import UserError
from livek12.core.scoring import Row
from livek12.core.statistics import binary_agreement, weighted_agreement
from livek12.evaluation.studies.agreement import METHODS, auc, judging_methods, methods_sentences
from livek12.evaluation.studies.labels import Label
from tests.evaluation.test_study import row
from tests.scripts.command import livek12_here

SEEN = "rules-1+0 {method}-7-abc+00000000+all"


def judged(
    method: str, accepts: float, rejects: float, seed: int = 0, count: int = 2000
) -> tuple[list[Any], list[Any]]:
    """Labelled answers, half of them right, of a judge with these error rates."""
    rng = random.Random(seed)
    pairs = []
    for number in range(count):
        right = number % 2 == 0
        said = right != (rng.random() < (rejects if right else accepts))
        one = row(f"q{number}", said, judge=SEEN.format(method=method), votes={"m": "accept" if said else "reject"})
        pairs.append((Label(f"q{number}", right, None, "t", 0, "expert"), one))
    return pairs, []


def test_planted_errors_come_out() -> None:
    runs = {f"{name}-{n}": judged(name, *rates, seed=n) for (name, rates), n in product(RATES.items(), range(3))}
    found = judging_methods(runs)["methods"]
    for name, (accepts, rejects) in RATES.items():
        one = found[name]
        assert one["runs"] == 3 and one["labels"] == 2000 and one["undecided"] == 0
        assert one["false_accepts"] == pytest.approx(1000 * accepts, abs=30)
        assert one["false_rejects"] == pytest.approx(1000 * rejects, abs=30)
        assert one["auc"] == pytest.approx(1 - (accepts + rejects) / 2, abs=0.02)
        assert one["accuracy"] == pytest.approx(1 - (accepts + rejects) / 2, abs=0.02)
        assert one["recall"] == pytest.approx(1 - rejects, abs=0.03) and one["accuracy_std"] > 0
    assert any(
        "l2l: 87." in line or "l2l: 86." in line or "l2l: 88." in line for line in methods_sentences({"methods": found})
    )


RATES = {"s2s": (0.01, 0.04), "l2l": (0.2, 0.05)}


def test_what_is_undecided_is_counted_and_in_no_rate() -> None:
    pairs, _ = judged("s2s", 0, 0, count=10)
    pairs[0] = (pairs[0][0], replace(pairs[0][1], verdict=row("q0", None, judge=SEEN.format(method="s2s")).verdict))
    one = judging_methods({"a": (pairs, [])})["methods"]["s2s"]
    assert (one["labels"], one["undecided"], one["accuracy"]) == (10, 1, 1)


@given(st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, 0.25, 0.5, 1.0])), max_size=30))
def test_the_auc_is_the_share_of_pairs_in_order(scored: list[tuple[bool, float]]) -> None:
    rights = [score for right, score in scored if right]
    wrongs = [score for right, score in scored if not right]
    won = [1.0 if a > b else 0.5 if a == b else 0.0 for a, b in product(rights, wrongs)]
    assert auc(scored) == (pytest.approx(sum(won) / len(won)) if won else None)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ("open", "--judge-scope all"),
        ("mixed", "is judged in 2 ways \\(l2l, s2s\\)"),
        ("unlabelled", "no label says of a judged answer"),
    ],
)
def test_runs_that_cannot_be_compared_are_one_line(change: str, line: str) -> None:
    pairs, _ = judged("s2s", 0, 0, count=4)
    if change == "open":
        pairs = [(label, _named(one, "rules-1+0 s2s-7-abc+00000000")) for label, one in pairs]
    elif change == "mixed":
        pairs[0] = (pairs[0][0], _named(pairs[0][1], SEEN.format(method="l2l")))
    else:
        pairs = [(replace(label, correct=None), one) for label, one in pairs]
    with pytest.raises(UserError, match=line):
        judging_methods({"a": (pairs, [])})


def _named(one: Row, judge: str) -> Row:
    assert one.verdict
    return replace(one, verdict=one.verdict.model_copy(update={"judge": judge}))


def test_the_command_says_what_is_missing(tmp_path: Path) -> None:
    ended = livek12_here("study", "methods", tmp_path, "--labels", tmp_path / "none.jsonl")
    assert ended.code == 2 and len(ended.errors) == 1


def test_weights_by_class_are_those_of_the_article() -> None:
    """122 answers are wrong and 183 right: with 11 missed and 20 too many, the weighted recall is the accuracy."""
    rows = [(True, n >= 11) for n in range(183)] + [(False, n < 20) for n in range(122)]
    human, judge = zip(*rows, strict=True)
    assert binary_agreement(human, judge)["recall"] == pytest.approx(0.94, abs=0.005)
    found = weighted_agreement(human, judge)
    assert found["weighted_recall"] == pytest.approx((172 + 102) / 305)
    assert found["weighted_precision"] == pytest.approx((183 * 172 / 192 + 122 * 102 / 113) / 305)
    assert found["weighted_f1"] == pytest.approx((183 * 344 / 375 + 122 * 204 / 235) / 305)
    assert weighted_agreement([True], [True])["weighted_f1"] == 1, "a class without marks has no weight"
    assert weighted_agreement([True, False], [True, True])["weighted_precision"] is None
    assert set(weighted_agreement([], []).values()) == {None}


def test_the_table_of_ways_has_means_over_runs() -> None:
    runs = {
        f"{name}-{n}": judged(name, *rates, seed=n, count=200) for (name, rates), n in product(RATES.items(), range(2))
    }
    lines = METHODS.written(judging_methods(runs), "md").splitlines()
    assert lines[0] == "## Ways of judging (CFE-Bench, table 1)"
    assert (
        lines[2]
        == "|  | labels | undecided | Acc (%) | AUC | P | R | F1 | P of right | R of right | F1 of right | FN | FP |"
    )
    assert re.match(r"\| s2s \| 200 \| 0 \| 9\d\.\d\d ± \d\.\d\d \| 0\.9\d ± 0\.0\d \|", lines[5])
