"""Entry point of Inspect: our tasks, and `livek12/verify`, the judge of `livek12.verify` as a scorer for any task.

Contract: the scorer uses the question, the choices and, in the sample's metadata, `question_type`, `unit`, `subject`
and `scheme`; several targets are alternatives. An undecided sample is NaN, never 0: `accuracy` counts it as wrong,
`accuracy_high` as right.
"""

from __future__ import annotations

import json
import math
from functools import cache
from typing import Any, Final

from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import TaskState

from livek12.core.text import clean
from livek12.evaluation.rejudging import ANY_OF
from livek12.evaluation.verify import Judgement, Verifier
from livek12.tasks.plugins.inspect_tasks import TASKS  # registers the tasks

__all__ = ["TASKS", "verify", "verify_metrics"]
SHARE: Final = {"accept": 1.0, "reject": 0.0, "undecided": math.nan}
_KNOWN: Final = ("question_type", "unit", "subject", "language")


@cache
def _verifier(judge: str) -> Verifier:
    return Verifier(judge=judge or None)


def _verify_metrics() -> Metric:
    def compute(scores: list[SampleScore]) -> dict[str, float]:
        values = [float(scored.score.as_dict()["accuracy"]) for scored in scores]
        if not values:
            return {}
        undecided = sum(map(math.isnan, values))
        right = sum(value for value in values if not math.isnan(value))
        count = len(values)
        low, high = right / count, (right + undecided) / count
        return {"accuracy": low, **({"accuracy_high": high} if undecided else {}), "undecided": undecided / count}

    return compute


def _verify(judge: str | list[str] = "", partial: bool = False) -> Scorer:
    """Marks by our rules."""
    models = ",".join(judge) if isinstance(judge, list) else judge

    async def score(state: TaskState, target: Target) -> Score:
        (judged,) = await _verifier(models).abatch([_row(state, target)], quiet=True)
        share = judged.score if partial else SHARE[judged.decision]
        return Score(
            # Two values: Inspect leaves a single one that is NaN out of all metrics.
            value={
                "accuracy": math.nan if share is None else share,
                "undecided": float(judged.decision == "undecided"),
            },
            answer="; ".join(judged.extracted) or None,
            explanation=f"{judged.decision} by {judged.decided_by}" + (f": {judged.reason}" if judged.reason else ""),
            metadata=_told(judged),
        )

    return score


verify_metrics = metric(name="verify_metrics", scores="unreduced")(_verify_metrics)
verify = scorer(metrics=[verify_metrics()], name="verify")(_verify)


def _row(state: TaskState, target: Target) -> dict[str, Any]:
    choices = [choice.value for choice in state.choices] if state.choices else []
    fields = {name: state.metadata[name] for name in _KNOWN if isinstance((state.metadata or {}).get(name), str)}
    golds = [text for text in target.target if text.strip()]
    if scheme := (state.metadata or {}).get("scheme"):
        fields["scheme"] = scheme
    return {
        **fields,
        "gold": ANY_OF.join(golds) if golds else "",
        "response": clean(state.output.completion),
        "question": clean(state.input_text),
        "finish_reason": "length" if state.output.stop_reason in ("max_tokens", "model_length") else None,
        "model": str(state.model),
        **({"options": choices} if choices else {}),
    }


def _told(judged: Judgement) -> dict[str, Any]:
    fields = {name: getattr(judged, name) for name in ("decision", "score", "decided_by", "judge", "extracted")}
    if judged.criteria:
        fields |= {name: getattr(judged, name) for name in ("points", "low", "high", "max_points", "criteria")}
    plain: dict[str, Any] = json.loads(json.dumps(fields))
    return plain
