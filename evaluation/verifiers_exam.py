"""An environment for `verifiers` (v1): the questions of a task of ours, with our judge as the reward.

`vf-validate livek12.evaluation.verifiers_exam --taskset.data data/mine` checks each key, `vf-eval` asks a model.

Contract: questions with pictures are left out. An undecided answer is 0 and counted by the metric `undecided`.
Held-back releases and questions without a key are never in it; nor, unless `held` names releases, is the newest.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import verifiers.v1 as vf

from livek12.core.errors import UserError
from livek12.core.records import Question
from livek12.core.rights import held_release
from livek12.evaluation.verify import Judgement, Row, Verifier
from livek12.tasks.plugins.harness_task import Document, open_task

__all__ = ["ExamTaskset"]
_log = logging.getLogger(__name__)


class ExamData(vf.TaskData):  # type: ignore[misc]
    """Question for `verifiers`; `row` is the judge's, without the response, `scheme` for `SchemeJudge`."""

    row: dict[str, Any] = {}
    key: str = ""
    scheme: list[Any] = []


class ExamConfig(vf.TasksetConfig):  # type: ignore[misc]
    """Options of the environment.

    Attributes:
        data: a folder of `livek12 build`, or ORG/NAME on the Hub; default the variable LIVEK12_DATA.
        exam: our name of the task.
        held: releases that are left out besides those that the dataset holds back; "none" for none. Without it the
            newest release is left out.
    """

    data: str = ""
    exam: str = "livek12_text_only"
    held: list[str] = []


@cache
def _verifier() -> Verifier:
    return Verifier()


async def judge_rows(rows: Sequence[Row]) -> list[Judgement]:
    """Judgements by the rules, without a warning for undecided ones."""
    return await _verifier().abatch(rows, quiet=True)


class ExamTask(vf.Task[ExamData]):  # type: ignore[misc]
    """One question."""

    @vf.reward  # type: ignore[untyped-decorator]
    async def correct(self, trace: vf.Trace) -> float:
        """Share of the points."""
        return (await self._judged(trace.last_reply)).score or 0.0

    @vf.metric  # type: ignore[untyped-decorator]
    async def undecided(self, trace: vf.Trace) -> float:
        """1 for an undecided answer."""
        return float((await self._judged(trace.last_reply)).decision == "undecided")

    async def validate(self, runtime: vf.Runtime) -> bool | None:
        """True if the key accepts itself; None where it can only be read."""
        judgement = await self._judged(f"\\boxed{{{self.data.key}}}")
        return None if judgement.decision == "undecided" else judgement.decision == "accept"

    async def _judged(self, response: str) -> Judgement:
        (judgement,) = await judge_rows([{**self.data.row, "response": response}])
        return judgement


class ExamTaskset(vf.Taskset[ExamTask, ExamConfig]):  # type: ignore[misc]
    """Questions of a task."""

    def load(self) -> Iterator[ExamTask]:
        """Questions, in asking order."""
        exam = open_task(self.config.exam, self.config.data)
        releases = held_releases(
            exam.data, {document.question.release for document in exam.documents}, self.config.held
        )
        kept = [document for document in exam.documents if not _why_not(document, releases)]
        if out := len(exam.documents) - len(kept):
            _log.warning("%s: %d questions are left out: held back, without a key, or with pictures", exam.data, out)
        if not kept:
            why = f"held: {', '.join(sorted(releases))}" if releases else "without a key, or with pictures"
            raise UserError(
                f"{exam.data}: no question of {self.config.exam} is left to train on ({why}); --taskset.exam NAME asks"
                " another task, --taskset.held '[\"none\"]' the newest release too"
            )
        yield from filter(None, map(self.task_of, kept))

    def task_of(self, document: Document) -> Any:
        """Task of a question; None leaves it out."""
        return ExamTask(ExamData(**self.data_of(document)), self.config.task)

    def data_of(self, document: Document) -> dict[str, Any]:
        """Fields of a question's task data."""
        question = document.question
        parts = [part.text or "" for message in document.request.messages for part in message.content]
        scheme = [
            [criterion.model_dump(exclude_defaults=True) for criterion in criteria] for criteria in question.scheme
        ]
        about = {"row": _row(question), "key": document.target, "scheme": scheme}
        return {"id": question.id, "name": question.id, "prompt": "\n".join(parts), **about}


def held_releases(data: str, releases: set[str | None], chosen: list[str]) -> set[str]:
    """Releases that are not trained on: held-back and chosen ones, else the newest."""
    releases_out = set(chosen) - {"none"}
    if not chosen and (named := [release for release in releases if release]):
        releases_out.add(max(named))
    if Path(data).is_dir() and (release := held_release(data)):
        releases_out.add(release)
    return releases_out


def _why_not(document: Document, releases: set[str]) -> bool:
    question = document.question
    keyless = not any(answer.strip() for answer in question.answer) and not question.variables
    return question.release in releases or keyless or bool(document.request.images)


def _row(question: Question) -> dict[str, Any]:
    fields = {
        "question": question.question,
        "question_type": question.question_type,
        "gold": question.answer or [variable.value for variable in question.variables],
        "options": [option.model_dump() for option in question.options],
        "variables": [variable.model_dump() for variable in question.variables],
        "part_units": question.part_units,
        "part_points": question.part_points,
        "language": question.language,
        "subject": question.subject,
    }
    return {name: value for name, value in fields.items() if value}
