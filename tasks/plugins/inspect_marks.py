"""Inspect scorer and metrics.

An undecided answer is NaN, never 0. Metrics cover every epoch and equal `livek12 report`'s: `accuracy` and `score`
(100·ΣO/ΣV) are lower bounds, `…_high` upper ones; ARL and Acc≤r need the endpoint's completion tokens.
"""

from __future__ import annotations

import atexit
import logging
import math
import os
import re
from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from anyio import CapacityLimiter, to_thread
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import TaskState

from livek12.core.errors import UserError
from livek12.core.records import Image, Key, Question, Response, Verdict
from livek12.core.scoring import Row
from livek12.core.text import clean
from livek12.engines.thinking import Thinking
from livek12.judges.jury import JudgeOptions, Jury
from livek12.judges.llm.spec import parse_judge
from livek12.tasks import scorer as marking
from livek12.tasks.plugins.harness_task import DATA_VARIABLE, HarnessTask, open_task

_FINISHED = {"stop": "stop", "max_tokens": "length", "model_length": "length", "content_filter": "content_filter"}
_SCORED = {"id", "benchmark", "language", "subject", "question_type", "points", "variables", "answer"}
_NAMES = {"accuracy": "accuracy", "mark": "score", "PES": "PES", "OES": "OES", "variable_accuracy": "variable_accuracy"}
_LEAST_THREADS = 8
TASK_NOTE = "livek12_task"
"""Metadata field with our task name."""
_places: dict[str, str] = {}
_HUB_NAME = re.compile(r"\w[\w.-]*/\w[\w.-]*(@[\w./-]+)?")
_log = logging.getLogger(__name__)


def answer_of(output: ModelOutput) -> dict[str, Any]:
    """The model's answer as a plain recorded row.

    Completion tokens include thinking; prompt tokens include cache reads and writes, which Inspect counts apart.
    """
    choice = output.choices[0] if output.choices else None
    content = choice.message.content if choice else ""
    thoughts = [] if isinstance(content, str) else [part for part in content if part.type == "reasoning"]
    thinking = [part.summary if part.redacted else part.reasoning for part in thoughts]
    usage = output.usage
    prompt = [usage.input_tokens, usage.input_tokens_cache_read, usage.input_tokens_cache_write] if usage else []
    return {
        "response": clean(choice.message.text if choice else ""),
        "reasoning": clean("\n".join(filter(None, thinking))) or None,
        "finish_reason": _FINISHED.get(choice.stop_reason) if choice else None,
        "seconds": output.time,
        "prompt_tokens": sum(filter(None, prompt)) or None,
        "cached_tokens": usage.input_tokens_cache_read if usage else None,
        "completion_tokens": (usage.output_tokens or None) if usage else None,
        "reasoning_tokens": usage.reasoning_tokens if usage else None,
    }


def model_name(model: str) -> str:
    """Model without Inspect's provider (and the service of `openai-api`)."""
    provider, _, name = model.partition("/")
    if provider == "openai-api":
        name = name.partition("/")[2] or name
    return name or model


class InspectScorer:
    """Marks answers as `livek12 run --judge`; thread-safe."""

    def __init__(self, exam: HarnessTask, judges: Jury) -> None:
        self._exam = exam
        self._scorer = marking.Scorer.of(judges, exam.task.judge, exam.task.partial_credit)
        self.threads = max(_LEAST_THREADS, judges.threads)

    def response(self, output: ModelOutput, question: str, trial: int, model: str) -> Response:
        """Output as a Response, thinking apart."""
        answer = answer_of(output)
        split = Thinking().split(answer.pop("response"))
        answer["reasoning"] = "\n".join(filter(None, (answer["reasoning"], split.reasoning))) or None
        key = Key(task=self._exam.task.name, question_id=question, trial=trial)
        return Response(key=key, text=split.text, engine="inspect", model=model_name(model), **answer)

    def score(self, output: ModelOutput, question: str, trial: int, model: str) -> Score:
        """The answer, or those of a sheet, as an Inspect score."""
        document = self._exam.document(question)
        pages: tuple[Image, ...] = tuple(document.images) if self._exam.task.modality == "image_only" else ()
        scores = [
            score_of(own, response, self._scorer.mark(own, response, (response.model,), pages))
            for own, response in document.answered(self.response(output, question, trial, model))
        ]
        return scores[0] if document.sheet is None else sheet_score(scores)


@cache
def open_scorer(task: str, data: str, judge: str, audit: bool) -> InspectScorer:
    """Scorer of a task; cached."""
    judges = Jury(JudgeOptions(parse_judge(judge), audit=audit))
    atexit.register(judges.__exit__, None)
    return InspectScorer(open_task(task, placed(data), sheets=True), judges)


def told_place(data: str) -> str:
    """A dataset as given, for the log.

    Its place is cached: Inspect may score from another folder.
    """
    if data and Path(data).is_dir():
        _places[data] = str(Path(data).resolve())
    return data


def placed(data: str) -> str:
    """A log's dataset: as given, else LIVEK12_DATA."""
    if data in _places:
        return _places[data]
    instead = os.environ.get(DATA_VARIABLE, "")
    if not data or not instead or instead == data or Path(data).exists() or _HUB_NAME.fullmatch(data):
        return data
    _log.warning("%s is not here: %s is read in its place, which %s names", data, instead, DATA_VARIABLE)
    return instead


def _exam_marks(task: str = "", data: str = "", judge: str = "rules", audit: bool = True) -> Scorer:
    """Runs in threads, so that other samples go on.

    Without `task` the sample's metadata name it, so logs can be scored again.
    """
    limiters: list[CapacityLimiter] = []

    async def score(state: TaskState, target: Target) -> Score:
        named = task or str((state.metadata or {}).get(TASK_NOTE) or "")
        if not named:
            raise UserError("the log does not say which task of livek12 it is of: give -S task=NAME")
        scorer = open_scorer(named, data, judge, audit)
        if not limiters:
            limiters.append(CapacityLimiter(scorer.threads))
        work = partial(scorer.score, state.output, str(state.sample_id), state.epoch - 1, str(state.model))
        scored: Score = await to_thread.run_sync(work, limiter=limiters[0])
        return scored

    return score


def _exam_metrics() -> Metric:
    def compute(scores: list[SampleScore]) -> dict[str, float]:
        samples = [scored.score.metadata or {} for scored in scores]
        return totals([_row(each) for metadata in samples for each in metadata.get("sheet", [metadata])])

    return compute


exam_metrics = metric(name="exam_metrics", scores="unreduced")(_exam_metrics)
exam_marks = scorer(metrics=[exam_metrics()], name="exam_marks")(_exam_marks)


def score_of(question: Question, response: Response, verdict: Verdict) -> Score:
    """A verdict as an Inspect score."""
    correct, points = verdict.correct, verdict.points
    return Score(
        value={
            "accuracy": math.nan if correct is None else float(correct),
            "score": math.nan if points is None else points / verdict.max_points,
        },
        answer="; ".join(part.answer for part in verdict.parts if part.answer) or None,
        explanation=explained(verdict),
        metadata={
            "state": verdict.state,
            "question": question.model_dump(mode="json", include=_SCORED),
            "response": response.model_dump(mode="json", exclude={"text", "reasoning"}),
            "verdict": verdict.model_dump(mode="json"),
        },
    )


def sheet_score(scores: Sequence[Score]) -> Score:
    """Scores of a sheet as one."""
    metadata = [score.metadata or {} for score in scores]
    worth = [each["verdict"]["max_points"] for each in metadata]
    shares = [float(score.as_dict()["score"]) for score in scores]
    earned = sum(share * of for share, of in zip(shares, worth, strict=True))
    return Score(
        value={
            "accuracy": sum(float(score.as_dict()["accuracy"]) for score in scores) / len(scores),
            "score": earned / sum(worth),
        },
        answer="; ".join(score.answer or "–" for score in scores),
        explanation="\n".join(
            f"{each['question']['id']}: {of.explanation}" for each, of in zip(metadata, scores, strict=True)
        ),
        metadata={"sheet": metadata},
    )


def explained(verdict: Verdict) -> str:
    """Each part with key, judge and reason, and every vote."""
    lines = [f"{verdict.state}: {verdict.low:g} to {verdict.high:g}" if verdict.points is None else ""]
    lines[0] = (lines[0] or f"{verdict.state}: {verdict.points:g}") + f" of {verdict.max_points:g} points"
    if verdict.reason:
        lines[0] += f" ({verdict.reason})"
    for number, part in enumerate(verdict.parts, 1):
        line = f"{part.name or number}. {part.answer or 'no answer'} / key {part.gold}: {part.decision}"
        lines.append(f"{line} by {part.decided_by}" + (f", {part.reason}" if part.reason else ""))
        lines += [f"   {vote.judge}: {vote.decision}, {vote.reason}" for vote in part.votes]
    return "\n".join(lines)


def _row(metadata: Mapping[str, Any]) -> Row:
    verdict = Verdict.model_validate(metadata["verdict"])
    response = Response.model_validate({**metadata["response"], "text": ""})
    question = Question.model_validate({**metadata["question"], "question": ""})
    return Row(verdict.key.task, question, verdict.key.trial, verdict.state, response, verdict)


def totals(rows: Sequence[Row]) -> dict[str, float]:
    """All metrics over rows of one task."""
    from livek12.core.scoring.formulas import Term
    from livek12.core.scoring.metrics import task_terms
    from livek12.core.scoring.outcomes import Slim, tabulate
    from livek12.core.scoring.schema import parameters_of

    if not rows:
        return {}
    terms = task_terms(tabulate(map(Slim(), rows)), "article", parameters_of("article"))
    names = _NAMES | {name: name for name in terms if _is_wanted(name, rows)}
    values: dict[str, float] = {}
    for ours, name in names.items():
        term = terms.get(ours)
        if isinstance(term, Term) and term.absence() is None:
            low, high = (term.scale * float(side.sum() / term.weight.sum()) for side in (term.low, term.high))
            values[name] = low
            if low != high:
                values[f"{name}_high"] = high
        elif isinstance(term, Term) or ours == "mark":
            values[name] = math.nan
    shares = {
        "ungraded": [row.state == "ungraded" for row in rows],
        "no_answer": [row.state == "no_answer" for row in rows],
        "truncated": [row.response is not None and row.response.finish_reason == "length" for row in rows],
        "truncated_unknown": [row.response is not None and row.response.finish_reason is None for row in rows],
    }
    return values | {name: sum(having) / len(rows) for name, having in shares.items()}


def _is_wanted(name: str, rows: Sequence[Row]) -> bool:
    if name.startswith("pass@"):
        return any(row.trial for row in rows)
    return name.startswith(("ARL", "Acc")) and rows[0].question.benchmark == "livek12"
