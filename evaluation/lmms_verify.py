"""Judge of `livek12.verify` as a `Verifier` of lmms-eval (0.7.3 or newer), for the marks of any task there.

Contract: importing this module puts it into lmms-eval's registry as `livek12`. An undecided answer is not `confident`,
for `CompositeVerifier`; alone, it has score 0.
"""

from __future__ import annotations

from typing import Any, Final

from lmms_eval.verifiers import VERIFIER_REGISTRY
from lmms_eval.verifiers.base import Verifier as LmmsVerifier
from lmms_eval.verifiers.base import VerifyResult

from livek12.core.text import clean
from livek12.evaluation.verify import Verifier
from livek12.evaluation.workers import FIELDS

__all__ = ["RulesVerifier"]
NAME: Final = "livek12"


class RulesVerifier(LmmsVerifier):  # type: ignore[misc]
    """Marks by our rules; `judge` names models for what they leave open, as `livek12.Verifier` takes them."""

    def __init__(self, judge: str = "") -> None:
        self._verifier = Verifier(judge=judge or None)

    def verify(self, question: str, prediction: str, ground_truth: Any, **kwargs: Any) -> VerifyResult:
        """Judges one prediction; `ground_truth` is a text, or a list with one entry a blank or sub-question."""
        fields = {name: value for name, value in kwargs.items() if name in FIELDS}
        row = {**fields, "gold": ground_truth, "response": clean(prediction), "question": clean(question)}
        (judgement,) = self._verifier.batch([row])
        return VerifyResult(
            score=judgement.score or 0.0,
            is_correct=judgement.decision == "accept",
            raw_output=f"{judgement.decision} by {judgement.decided_by}"
            + (f": {judgement.reason}" if judgement.reason else ""),
            metadata={
                "confident": judgement.decision != "undecided",
                "decision": judgement.decision,
                "extracted": judgement.extracted,
                "judge": judgement.judge,
            },
        )


VERIFIER_REGISTRY[NAME] = RulesVerifier
