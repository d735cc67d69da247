"""Adaptive exams in Inspect: samples in the order of their information, stopped early, with the predicted mark.

Inspect schedules samples once, so they are ordered for a model of unknown ability; those that run at the end count too.
"""

from __future__ import annotations

from functools import cache
from math import isnan
from pathlib import Path
from typing import Any

from inspect_ai.dataset import Sample
from inspect_ai.log import EvalSpec
from inspect_ai.scorer import Metric, SampleScore, metric
from inspect_ai.util import EarlyStop

from livek12.core.errors import UserError
from livek12.core.scoring.bank import BankEstimate, ExamEnd, ItemBank, in_words, read_bank


@cache
def _bank(path: str) -> ItemBank:
    return read_bank(Path(path))


def in_bank_order(bank: str, task: str, samples: list[Sample]) -> list[Sample]:
    """Samples of the bank's questions, the most informative first."""
    if task != _bank(bank).task:
        raise UserError(f"bank {bank}: is of the task {_bank(bank).task}, not of {task}")
    by_id = {str(sample.id): sample for sample in samples}
    if missing := _bank(bank).places.keys() - by_id.keys():
        raise UserError(
            f"bank {bank}: {len(missing)} of its questions are not in the data, the first: {min(missing)!r}"
        )
    return [by_id[_bank(bank).items[place].id] for place, _ in _bank(bank).curves.choose({}, [], len(by_id))]


def standing_of(bank: str, shares: dict[str, list[float]]) -> BankEstimate:
    """Estimate from decided shares by question; NaN is undecided."""
    decided = {id: [share for share in own if not isnan(share)] for id, own in shares.items()}
    places = _bank(bank).places
    return _bank(bank).curves.estimate({places[id]: sum(own) / len(own) for id, own in decided.items() if own})


def _share(scored: SampleScore) -> float:
    return float(scored.score.as_dict()["score"])


def _predicted_mark(bank: str) -> Metric:
    def compute(scores: list[SampleScore]) -> dict[str, float]:
        shares: dict[str, list[float]] = {}
        for scored in scores:
            shares.setdefault(str(scored.sample_id), []).append(_share(scored))
        standing = standing_of(bank, shares)
        return {
            "predicted_mark": 100 * standing.mark,
            "predicted_mark_error": 100 * standing.mark_error,
            "ability": standing.ability,
            "ability_error": standing.ability_error,
            "asked": float(len(shares)),
        }

    return compute


predicted_mark = metric(name="predicted_mark", scores="unreduced")(_predicted_mark)


class BankStopping:
    """Early stopping at the standard error of the ability, or a number of questions."""

    def __init__(self, bank: str, until: str) -> None:
        self._bank, self._end, self._until = bank, ExamEnd.parse(until), until
        self._shares: dict[str, list[float]] = {}
        self._reason = ""

    async def start_task(self, task: EvalSpec, samples: list[Sample], epochs: int) -> str:
        """Names the manager."""
        return f"livek12 bank {_bank(self._bank).version} until {self._until}"

    async def schedule_sample(self, id: str | int, epoch: int) -> EarlyStop | None:
        """Stops every sample after the end."""
        return EarlyStop(id=id, epoch=epoch, reason=self._reason) if self._reason else None

    async def complete_sample(self, id: str | int, epoch: int, scores: dict[str, SampleScore]) -> None:
        """Takes the mark of a sample."""
        self._shares.setdefault(str(id), []).extend(map(_share, scores.values()))
        self._reason = self._end.reached(standing_of(self._bank, self._shares), len(self._shares))

    async def complete_task(self) -> dict[str, Any]:
        """Estimate, for the log."""
        standing = standing_of(self._bank, self._shares)
        return {**standing._asdict(), "line": in_words(standing), "end": self._reason}
