"""A judge plugin for `verifiers` (v1) in place of its `RubricJudge`: weighted criteria, decided by rules and judges.

`--taskset.task.judges '[{"id": "livek12.evaluation.verifiers_rubric", "path": "rubric.toml", "models": "MODEL"}]'`

Contract: the reward is the share of the points, the metrics `NAME/CRITERION` those of each criterion. An answer that
stays open is an error of the judge, or worth `undecided`; it is never scored against the model.
"""

from __future__ import annotations

import json
import tomllib
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import verifiers.v1 as vf

from livek12.evaluation.rewarding import rewards_of
from livek12.evaluation.verify import Verifier

__all__ = ["SchemeJudge"]


class SchemeJudgeConfig(vf.JudgeConfig):  # type: ignore[misc]
    """Options of the judge.

    Attributes:
        path: criteria as `RubricJudge` takes them, or a marking scheme; default: the task's `scheme`.
        weights: points of criteria by name.
        models: for what the rules leave open, as `livek12 judge --judge`.
        question_field: of the task; default its prompt.
        answer_field: of the task, with the final answer.
        undecided: reward of open answers, or "low"; None makes them an error.
    """

    path: Path | None = None
    weights: dict[str, float] = {}
    models: str = ""
    question_field: str = ""
    answer_field: str = ""
    undecided: float | str | None = None


@cache
def _verifier(models: str) -> Verifier:
    return Verifier(judge=models or None)


class SchemeJudge(vf.Judge[float, SchemeJudgeConfig]):  # type: ignore[misc]
    """Points by the criteria of a marking scheme."""

    @cached_property
    def scheme(self) -> list[Any]:
        """Scheme of the file."""
        if self.config.path is None:
            return []
        text = self.config.path.read_text(encoding="utf-8")
        data = tomllib.loads(text) if self.config.path.suffix.lower() == ".toml" else json.loads(text)
        items = data.get("criteria", []) if isinstance(data, dict) else data
        return [_criterion(item, self.config.weights) if isinstance(item, dict) else item for item in items]

    async def score(self, task: vf.TaskData, trace: vf.Trace) -> float:
        """Share of the points."""
        row = {
            "gold": getattr(task, self.config.answer_field) if self.config.answer_field else None,
            "question": str(getattr(task, self.config.question_field or "prompt_text")),
            "scheme": self.scheme or getattr(task, "scheme", None),
            "response": trace.last_reply,
        }
        if not row["scheme"]:
            raise ValueError("the rubric judge needs criteria: give `path`, or a task with a `scheme`")
        (judged,) = await _verifier(self.config.models).abatch([row], quiet=True)
        if judged.decided_by == "input":
            raise ValueError(f"the rubric judge cannot read its row: it {judged.reason}")
        for criterion in judged.criteria:
            if criterion["points"] is not None:
                trace.record_metric(f"{self.reward_name}/{criterion['id']}", criterion["points"] / criterion["of"])
        (reward,) = rewards_of([judged], self.config.undecided)
        if reward is None:
            raise ValueError(f"the answer stays open: {judged.reason}")
        return reward


def _criterion(item: dict[str, Any], weights: dict[str, float]) -> dict[str, Any]:
    """A criterion of `RubricJudge` as one of a scheme; its middle choices are partial marks, evenly spaced."""
    if "name" not in item:
        return item
    points = weights.get(item["name"], item.get("weight", 1.0))
    choices = item.get("choices", ["no", "yes"])
    middle = enumerate(choices[1:-1], 1)
    partial = [{"points": points * place / (len(choices) - 1), "text": choice} for place, choice in middle]
    return {"id": item["name"], "points": points, "text": item["text"], "partial": partial}
