"""Environment for `verifiers` (v1): questions with reasoning flows, rewarded by the units reached.

`vf-eval livek12.evaluation.verifiers_units --taskset.data data/mine`; else as `verifiers_exam`.
"""

from __future__ import annotations

from typing import Any

import verifiers.v1 as vf

from livek12.evaluation.rewarding import COST, INSTRUCTION, UnitScore, unit_rows, unit_score, units_of
from livek12.evaluation.verifiers_exam import ExamConfig, ExamData, ExamTask, ExamTaskset, judge_rows
from livek12.tasks.plugins.harness_task import Document

__all__ = ["UnitTaskset"]


class UnitData(ExamData):
    """Question with its units, and how they are rewarded."""

    units: list[tuple[str, str]] = []
    cost: float = COST
    verified: bool = False


class UnitConfig(ExamConfig):
    """Options of the environment.

    Attributes:
        cost: of a result that reaches no unit, in units.
        verified: only units count before the first that the rules do not verify.
    """

    exam: str = "cfe_text"
    cost: float = COST
    verified: bool = False


class UnitTask(ExamTask):
    """Question with its units."""

    @vf.reward  # type: ignore[untyped-decorator]
    async def correct(self, trace: vf.Trace) -> float:
        """Share of the units."""
        return (await self._score(trace)).reward(self.data.cost, self.data.verified)

    @vf.metric  # type: ignore[untyped-decorator]
    async def final(self, trace: vf.Trace) -> float:
        """Share of the points of the final answer."""
        return (await self._judged(trace.last_reply)).score or 0.0

    @vf.metric  # type: ignore[untyped-decorator]
    async def redundant(self, trace: vf.Trace) -> float:
        """Results that reach no unit."""
        return float((await self._score(trace)).redundant)

    async def check(self, unit: int, value: str) -> str:
        """A tool: whether a value is the answer of a unit, from 1; right, wrong or open."""
        ((step, answer),) = self.data.units[unit - 1 : unit] or [("", "")]
        (judgement,) = await judge_rows([{"gold": answer, "response": f"\\boxed{{{value}}}", "question": step}])
        return {"accept": "right", "reject": "wrong"}.get(judgement.decision, "open")

    async def _score(self, trace: vf.Trace) -> UnitScore:
        judgements = await judge_rows(unit_rows(self.data.units, trace.last_reply))
        return unit_score(self.data.units, trace.last_reply, judgements)


class UnitTaskset(ExamTaskset):
    """Questions of a task with a reasoning flow."""

    def task_of(self, document: Document) -> Any:
        """The question's task; None without units."""
        units = units_of([unit.model_dump() for unit in document.question.reasoning_flow])
        if not units:
            return None
        about = self.data_of(document)
        about |= {"prompt": f"{about['prompt']}\n\n{INSTRUCTION}", "units": units}
        return UnitTask(UnitData(**about, cost=self.config.cost, verified=self.config.verified), self.config.task)
