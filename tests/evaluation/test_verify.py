"""`livek12.verify` and `Verifier`: one answer to a row, whoever asks, from wherever, beside whatever."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from livek12 import Judgement, UserError, Verifier, verify
from livek12.evaluation.workers import FIELDS
from livek12.judges.grade import GradingConfig, judge_version

Json = dict[str, Any]


@pytest.fixture(scope="module")
def verifier() -> Iterator[Verifier]:
    with Verifier(workers=2) as verifier:
        yield verifier


@pytest.mark.parametrize(
    ("gold", "response", "correct"), [("12", "13", False), ("12", "12", True), ("x", "It rises.\n\nI know.", None)]
)
def test_a_judgement_has_no_truth_value(verifier: Verifier, gold: str, response: str, correct: bool | None) -> None:
    judged = verifier.verify(gold, response)
    assert judged.correct is correct
    for ask in (bool, lambda one: one == True, lambda one: one != False, lambda one: one in (True,)):  # noqa: E712
        with pytest.raises(UserError, match=r"\.score .* \.correct .* \.decision"):
            ask(judged)
    assert judged == replace(judged)
    assert judged != replace(judged, reason="another")


def test_one_response() -> None:
    right = verify(r"\frac{1}{2}", "So the answer is 0.5.")
    assert (right.decision, right.score, right.extracted) == ("accept", 1.0, ["0.5"])
    assert right.judge == judge_version(GradingConfig()), "as on the card, in runs and in judge-pairs"
    assert verify("(x+1)^2", r"\boxed{x^2+2x+2}").decision == "reject"
    assert verify("B", "故选B。", question_type="单选题", options={"A": "1", "B": "2"}).decision == "accept"
    assert verify(["1", "2"], r"\boxed{1} and \boxed{2}", question_type="fill_in_blank").extracted == ["1", "2"]
    assert verify("3", "3 m/s", question_type="fill_in_blank", unit="m/s").decision == "accept"
    assert verify(None, "v = 3", variables=[{"name": "v", "type": "numeric", "value": "3"}]).decision == "accept"
    silent = verify("4", "I add.\n\nI look at it.\n\nDone.", question_type="fill_in_blank")
    assert (silent.decision, silent.score, silent.decided_by) == ("undecided", None, "extraction")


@pytest.mark.parametrize("gold", [None, [], {}, object(), [None]])
def test_what_cannot_be_verified_is_said_on_one_line(gold: object) -> None:
    with pytest.raises(UserError, match=r"^the row to verify has no gold \(a text, a number, or a list of them\)$"):
        verify(gold, "12")


def test_a_bad_row_costs_only_itself_and_is_no_zero(caplog: pytest.LogCaptureFixture) -> None:
    rows: list[Any] = [{"gold": "1", "response": "1"}, {"response": "1"}, None, {"gold": "1", "response": 1}]
    with Verifier(workers=1, undecided=0.0) as verifier:
        judged = verifier.batch([*rows, {"gold": "1", "response": "a word"}])
        assert verifier.batch([*rows, {"gold": "1", "response": "a word"}]) == judged
    assert [found.score for found in judged] == [1.0, None, None, None, 0.0]
    assert [found.decided_by == "input" for found in judged] == [False, True, True, True, False]
    told = [record.getMessage() for record in caplog.records]
    why = "row 1 has no gold (a text, a number, or a list of them)"
    assert told == [f"3 of 5 rows cannot be read; the first: {why}"] * 2, "of each batch, not once in a life"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"workers": 0}, "workers 0: "),
        ({"workers": True}, "workers True: "),
        ({"workers": 10**6}, "workers 1000000: "),
        ({"undecided": True}, "undecided True: "),
        ({"judge": 3}, "judge 3: "),
        ({"undecided": "0"}, "undecided '0': "),
        ({"undecided": float("nan")}, "undecided nan: "),
        ({"judge": " "}, "names nobody"),
        ({"judge": "m@openai:foo"}, "foo"),
    ],
)
def test_settings_that_cannot_be(settings: Json, words: str) -> None:
    with pytest.raises(UserError, match=words):
        Verifier(**settings)


@pytest.mark.parametrize("rows", [{"gold": "1", "response": "1"}, "12", b"12"])
def test_what_is_no_list_of_rows(verifier: Verifier, rows: Any) -> None:
    with pytest.raises(UserError, match=r"^the rows to judge are one row or a text: give a list of rows$"):
        verifier.batch(rows)


def test_pairs_and_messages_are_rows_and_an_unknown_type_is_told_once(
    verifier: Verifier, caplog: pytest.LogCaptureFixture
) -> None:
    messages = [
        {"role": "user", "content": "\\boxed{3}"},
        {"role": "assistant", "content": [{"type": "text", "text": "\\boxed{4}"}]},
    ]
    typed = {"gold": "4", "response": messages, "question_type": "guess the number"}
    judged = verifier.batch([("3", "\\boxed{3}"), typed, typed, ("3", "4", "5")])  # type: ignore[list-item]
    assert [judgement.decision for judgement in judged] == ["accept", "accept", "accept", "undecided"]
    assert [record.getMessage().split(":")[0] for record in caplog.records] == [
        "question_type 'guess the number' is not known",
        "1 of 4 rows cannot be read; the first",
    ]


def test_an_empty_batch(verifier: Verifier) -> None:
    assert verifier.batch([]) == []
    assert isinstance(verifier.verify("1", "1"), Judgement)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.binary(max_size=5)
    | st.just(...),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
ROWS = st.lists(st.dictionaries(st.sampled_from([*FIELDS, "id", "more"]), VALUES), max_size=8)


@settings(max_examples=40)
@given(rows=ROWS)
def test_whatever_rows_hold_each_has_a_judgement_and_no_other_is_touched(verifier: Verifier, rows: list[Json]) -> None:
    sound = {"gold": "12", "response": "The answer is 12."}
    judged = verifier.batch([part for row in rows for part in (row, sound)])
    assert len(judged) == 2 * len(rows)
    assert all(found.decision == "accept" for found in judged[1::2])
    assert all(found.score is None for found in judged if found.decision == "undecided")


def test_values_of_other_libraries_are_read(verifier: Verifier) -> None:
    rows = [
        {"gold": np.int64(12), "response": np.str_("12")},
        {"gold": np.float32(0.5), "response": "1/2"},
        {"gold": np.array(["1", "2"]), "response": "1; 2", "question_type": "fill_in_blank"},
        {"gold": ("1", "2"), "response": "1; 2", "question_type": "fill_in_blank", "images": [{"bytes": b"GIF"}]},
    ]
    assert [found.decision for found in verifier.batch(rows)] == ["accept"] * 4


@pytest.mark.parametrize(
    ("gold", "right", "not_right"),
    [
        (25.0, "25", "25.04"),
        (np.float64(25), "25.0", "25.04"),
        (2 / 3, r"\frac{2}{3}", "0.67"),
        (0.1 + 0.2, "0.3", "0.34"),
        (2**0.5, r"\sqrt{2}", "1.4"),
        (0.667, r"\frac{2}{3}", "0.67"),
        (np.float32(0.1), "0.1", "0.14"),
        (np.float16(0.1), "0.1", "0.14"),
        (np.array([0.1], dtype=np.float32), "0.1", "0.14"),
        (6.02e23, r"6.02\times10^{23}", r"6.1\times10^{23}"),
        (Decimal("0.50"), "1/2", "0.6"),
        (Fraction(1, 3), r"\frac{1}{3}", "0.34"),
    ],
)
def test_a_computed_key_has_no_rounding(verifier: Verifier, gold: Any, right: str, not_right: str) -> None:
    judged = verifier.batch([{"gold": gold, "response": said} for said in (right, not_right)])
    assert [found.decision == "accept" for found in judged] == [True, False]


class Hostile(dict[str, Any]):
    """A row whose methods raise what they like."""

    def get(self, name: str, default: Any = None) -> Any:
        raise KeyError(name)


class Broken:
    """A value whose methods raise what they like."""

    def tolist(self) -> Any:
        raise RuntimeError("no list")


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"gold": "YWJj", "response": b"abc"}, "has no response"),
        ({"gold": b"25", "response": "25"}, "has no gold"),
        ({"gold": Broken(), "response": "25"}, "has no gold"),
        ({"gold": 10**5000, "response": "25"}, "has no gold"),
        (Hostile(gold="1", response="1"), "is no JSON object"),
        *(
            ({"gold": ["1", "2"], "response": "1; 2", "part_points": points}, "part_points that are no numbers from 0")
            for points in ([float("nan"), 1], [float("inf"), 1], [1e308, 1e308], [0, 0], [-1, 2], [True, 1])
        ),
    ],
)
def test_what_is_no_value_of_a_field_is_a_bad_row(verifier: Verifier, row: Any, words: str) -> None:
    bad, sound = verifier.batch([row, {"gold": 25, "response": "25"}])
    assert (bad.decided_by, bad.score) == ("input", None)
    assert words in bad.reason
    assert sound.decision == "accept"


def test_a_scheme_gives_points(verifier: Verifier) -> None:
    scheme = ["Award 1 pt if $F = m a$. Otherwise, award 0 pt.", "Award 2 pt if it is large."]
    judged = verifier.verify(None, "We know $a m = F$.", scheme=scheme)
    assert (judged.points, judged.low, judged.high, judged.max_points) == (None, 1, 3, 3)
    assert [criterion["decision"] for criterion in judged.criteria] == ["accept", "undecided"]
