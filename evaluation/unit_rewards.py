"""Rewards for the reasoning units of a question (CFE-Bench, section 5.6): reached intermediate results, less detours.

Contract: a response states results in lines `Result: VALUE`. A unit is reached if the rules accept a result as its
answer; results and units pair off in order, as many as can. Only rules decide; what they leave open reaches nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from livek12.core.errors import UserError
from livek12.evaluation.verify import Judgement, listed

INSTRUCTION = "Solve the problem in steps. End each step with a line `Result: VALUE`."
_RESULT = re.compile(r"^[ \t>*_#-]*Result[*_]*[ \t]*[:：][*_ \t]*(?P<value>\S[^\n]*)$", re.MULTILINE | re.IGNORECASE)
MOST_RESULTS = 60
"""Results that are compared; those behind them are detours."""
COST = 0.1


@dataclass(frozen=True)
class UnitScore:
    """Units of a flow, those reached, results that reach none, and decisions left open.

    `verified` units are those before the first that is not reached.
    """

    units: int
    reached: int
    verified: int
    redundant: int
    undecided: int

    def reward(self, cost: float, verified: bool) -> float:
        """Share of the units, less `cost` units for each redundant result; at least 0."""
        return max(0.0, (self.verified if verified else self.reached) - cost * self.redundant) / self.units


def units_of(flow: Any) -> list[tuple[str, str]]:
    """Sub-question and answer of each unit with an answer; a flow is a list of units, or lists by field."""
    if isinstance(flow, Mapping):
        flow = [dict(zip(flow, values, strict=True)) for values in zip(*map(listed, flow.values()), strict=True)]
    if not isinstance(flow, Sequence) or not all(isinstance(unit, Mapping) for unit in flow):
        raise UserError("a reasoning flow is a list of units with step and answer")
    pairs = [(str(unit.get("step", "")), unit.get("answer", unit.get("verifiable_answer"))) for unit in flow]
    return [(step, str(answer)) for step, answer in pairs if answer is not None and str(answer).strip()]


def results_in(response: str) -> list[str]:
    """Stated results, in order."""
    return [match["value"].rstrip(" *_") for match in _RESULT.finditer(response)]


def unit_rows(units: Sequence[tuple[str, str]], response: str) -> list[dict[str, Any]]:
    """Rows for the judge: each result against each unit's answer, result by result."""
    return [
        {"gold": answer, "response": f"\\boxed{{{result}}}", "question": step}
        for result in results_in(response)[:MOST_RESULTS]
        for step, answer in units
    ]


def unit_score(units: Sequence[tuple[str, str]], response: str, judgements: Sequence[Judgement]) -> UnitScore:
    """The score by the judgements of `unit_rows`."""
    width, results = len(units), len(results_in(response))
    compared = min(results, MOST_RESULTS)
    accepted = [[judgements[n * width + unit].correct is True for unit in range(width)] for n in range(compared)]
    best = [[0] * (width + 1) for _ in range(compared + 1)]
    for n, row in enumerate(accepted, 1):
        for unit, right in enumerate(row, 1):
            best[n][unit] = max(best[n - 1][unit], best[n][unit - 1], best[n - 1][unit - 1] + right)
    reached = best[compared][width]
    verified = next((unit for unit in range(width) if best[compared][unit + 1] <= unit), width)
    undecided = sum(judgement.correct is None for judgement in judgements)
    return UnitScore(width, reached, verified, results - reached, undecided)


def trl_unit_rewards(
    completions: Sequence[str], flows: Sequence[Any], workers: int | None, cost: float, verified: bool
) -> tuple[list[float | None], list[UnitScore | None]]:
    """Rewards and scores; None for a question without units."""
    from livek12.evaluation.rewarding import judged

    if len(flows) != len(completions):
        raise UserError(f"column reasoning_flow has {len(flows)} values for {len(completions)} completions")
    units = [units_of(flow) for flow in flows]
    rows = [unit_rows(own, text) for own, text in zip(units, completions, strict=True)]
    judgements = iter(judged([row for own in rows for row in own], workers, None))
    scores = [
        unit_score(own, text, [next(judgements) for _ in of]) if own else None
        for own, text, of in zip(units, completions, rows, strict=True)
    ]
    return [None if score is None else score.reward(cost, verified) for score in scores], scores
