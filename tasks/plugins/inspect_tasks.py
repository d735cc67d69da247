"""Inspect's entry point: one registered task a definition; data are read on call.

Logs name the dataset as given, not by its local path. The task `exam` takes any name. Scorer and metrics are registered
here, so that logs can be scored again. Inspect schedules samples once: those of adaptive exams are ordered for a model
of unknown ability, and those that run at the end count too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import isnan
from pathlib import Path
from typing import Any

from inspect_ai import Task, task
from inspect_ai._util.error import PrerequisiteError  # Inspect prints it in one line
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import EvalSpec
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    ContentImage,
    ContentText,
    GenerateConfig,
)
from inspect_ai.scorer import Metric, SampleScore, metric
from inspect_ai.solver import generate
from inspect_ai.util import EarlyStop

from livek12.core.errors import UserError
from livek12.core.records import Image, Sampling
from livek12.core.scoring.bank import BankEstimate, ExamEnd, ItemBank, in_words, read_bank
from livek12.core.text import one_line
from livek12.core.version import __version__
from livek12.engines.openai.format import data_url
from livek12.tasks.plugins.harness_task import Document, HarnessTask, open_task
from livek12.tasks.plugins.inspect_ai import ANY, check_version
from livek12.tasks.registry import all_tasks

_MESSAGES = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
_TOLD = ("release", "subject", "question_type", "points", "subsets", "difficulty", "year", "paper_id", "number")


def exam_task(
    name: str,
    data: str = "",
    judge: str | list[str] = "rules",
    audit: bool = True,
    release: str | int = "",
    bank: str = "",
    until: str = "",
) -> Task:
    """One of our tasks as Inspect's; with an item bank and its end (`se=0.3`, `n=50`) an adaptive exam.

    Raises:
        PrerequisiteError: in one line.
    """
    place = told_place(data)
    judges = ",".join(judge) if isinstance(judge, list) else str(judge)
    name = f"{name}_{release}" if release else name
    try:
        exam = open_task(name, placed(place), sheets=True)
        open_scorer(name, place, judges, audit)
        samples = [_sample(document, name) for document in exam.documents]
        adaptive = _adaptive(bank, until) if bank or until else {}
        samples = in_bank_order(bank, name, samples) if bank else samples
    except UserError as error:
        raise _one_line(error) from error
    return Task(
        dataset=MemoryDataset(samples, name=name, location=place),
        solver=generate(tool_calls="none"),  # command-line tools would lead to the marking of a second answer
        scorer=exam_marks(task=name, data=place, judge=judges, audit=audit),
        config=_config(exam.task.sampling),
        version=exam.task.version,
        metadata=_versions(exam, place),
        **adaptive,
    )


def _adaptive(bank: str, until: str) -> dict[str, Any]:
    if not bank or not until:
        raise UserError("an adaptive exam needs both: -T bank=FILE, its end -T until=se=0.3 or n=50")
    return {"early_stopping": BankStopping(bank, until), "metrics": [predicted_mark(bank)]}


def _one_line(error: UserError) -> Exception:
    from rich.markup import escape

    shown: Exception = PrerequisiteError(escape(f"livek12: {one_line(error, 1000)}"))
    return shown


def _sample(document: Document, task: str) -> Sample:
    question = document.question
    facts = {name: value for name in _TOLD if (value := getattr(question, name)) not in (None, [])}
    facts[TASK_NOTE] = task  # for scoring a log again
    return Sample(id=document.id, input=_messages(document), target=document.target, metadata=facts)


def _messages(document: Document) -> list[ChatMessage]:
    contents = document.messages(
        lambda text: ContentText(text=text), lambda image: ContentImage(image=_url(document.id, image))
    )
    return [_MESSAGES[role](content=content) for role, content in contents]


def _url(question: str, image: Image) -> str:
    try:
        return _url_of(image)
    except Exception as error:  # Pillow raises anything for broken bytes
        raise UserError(f"question {question}: a picture cannot be read ({one_line(error, 100)})") from error


@cache
def _url_of(image: Image) -> str:
    return data_url(image)


def _config(sampling: Sampling) -> GenerateConfig:
    """No seed: Inspect repeats it with every epoch, but trials have to differ."""
    return GenerateConfig(
        max_tokens=sampling.max_tokens,
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        top_k=sampling.top_k,
        stop_seqs=sampling.stop or None,
    )


def _versions(exam: HarnessTask, place: str) -> dict[str, Any]:
    return {
        "livek12_task": exam.task.name,
        "livek12": __version__,
        "task_version": exam.task.version,
        "prompt_sha256": exam.task.prompt_sha256,
        "data": place,
        "data_sha256": exam.data_sha256,
    }


def _registered(name: str) -> Callable[..., Task]:
    def made(data: str = "", judge: str = "rules", audit: bool = True, release: str = "") -> Task:
        return exam_task(name, data, judge, audit, release)

    made.__name__, made.__doc__ = name, all_tasks()[name].description
    registered: Callable[..., Task] = task(name=name)(made)
    return registered


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


check_version()
from livek12.tasks.plugins.inspect_marks import TASK_NOTE, exam_marks, open_scorer, placed, told_place  # noqa: E402 (needs a version that will do)

task(name=ANY)(exam_task)
TASKS = {name: _registered(name) for name in all_tasks()}
