"""Our judge as a verifier of lmms-eval, in lmms-eval's own pipelines."""

from __future__ import annotations

from typing import Any

import pytest

from tests.plugins.conftest import needs

needs("lmms_eval")

from lmms_eval.verifiers import CompositeVerifier, VerifyResult, build_verification_pipeline  # noqa: E402
from lmms_eval.verifiers.base import Verifier as LmmsVerifier  # noqa: E402

from livek12.evaluation.lmms_verify import RulesVerifier  # noqa: E402
from livek12.evaluation.verify import verify  # noqa: E402

OPTIONS = ["one", "two", "three", "four"]
ASKED: list[tuple[str, str, Any, dict[str, Any], str]] = [
    ("What is 3/4 as a decimal?", "So it is $\\frac{3}{4}$; the answer is 0.750.", "0.75", {}, "accept"),
    ("How far is it?", "The answer is 3000 m.", "3 km", {"question_type": "short_answer"}, "accept"),
    ("What is 2+2?", "<think>4</think>The answer is 5.", "4", {}, "reject"),
    ("Which is even?", "ANSWER: D", "D", {"options": OPTIONS, "of_others": object()}, "accept"),
    ("x and y?", "x = 1, y = 2", ["1", "2"], {"question_type": "fill_in_blank"}, "accept"),
    ("Prove it.", "Let us see.", "See above.", {"question_type": "proof"}, "undecided"),
    ("What is it?", "4", {"no": "key"}, {}, "undecided"),
]


@pytest.fixture(scope="module")
def pipeline() -> Any:
    """As a task of lmms-eval builds one from settings."""
    return build_verification_pipeline(
        {"extractors": [{"type": "strip_reasoning"}], "verifier": {"type": "livek12"}},
    )


@pytest.mark.parametrize(("question", "said", "gold", "more", "wanted"), ASKED)
def test_a_pipeline_says_what_verify_says(
    pipeline: Any, question: str, said: str, gold: Any, more: dict[str, Any], wanted: str
) -> None:
    found = pipeline(question, said, gold, **more)
    assert (found.metadata["decision"], found.is_correct) == (wanted, wanted == "accept"), found
    assert found.score == float(wanted == "accept")
    assert found.metadata["confident"] == (wanted != "undecided")
    assert wanted in found.raw_output
    if isinstance(gold, str):
        known = {name: value for name, value in more.items() if name != "of_others"}
        assert verify(gold, said, question, **known).decision == wanted


def test_what_the_rules_leave_open_goes_to_the_next_of_a_chain() -> None:
    asked: list[str] = []

    class Model(LmmsVerifier):  # type: ignore[misc]
        """In the place of a judge model."""

        def verify(self, question: str, prediction: str, ground_truth: str, **kwargs: Any) -> VerifyResult:
            asked.append(question)
            return VerifyResult(score=1.0, is_correct=True)

    chain = CompositeVerifier([RulesVerifier(), Model()])
    said = [chain(question, said, gold, **more).is_correct for question, said, gold, more, _ in ASKED[:6]]
    assert said == [True, True, False, True, True, True]
    assert asked == ["Prove it."]
