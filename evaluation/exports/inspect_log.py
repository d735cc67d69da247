"""A log of Inspect for each task of a run: `inspect view` shows marks, extracted answers and votes.

Contract: a sample is a question of one trial with its key, text, response, thinking and tokens, and the plug-in's score
(`livek12/exam_marks`), NaN if undecided. The metrics include withheld answers. The log names our task, for import.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from livek12.core.engine_kinds import kind_of
from livek12.core.errors import UserError, install
from livek12.core.run.spec import TaskSpec
from livek12.core.scoring import Row
from livek12.core.text import one_line
from livek12.core.version import __version__
from livek12.evaluation.exports import Export, ensure_folder, safe_name

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample

SCORER: Final = "livek12/exam_marks"
_REASONS: Final = {"length": "max_tokens", "content_filter": "content_filter", "stop": "stop"}


def write(export: Export, out: Path) -> list[Path]:
    """Writes a log for each task of a run."""
    try:
        from inspect_ai.log import write_eval_log
    except ImportError:
        raise UserError(
            f"logs of Inspect are written by inspect-ai, which is not installed: {install('inspect')}"
        ) from None

    ensure_folder(out)
    files = []
    for task in export.spec.tasks:
        date = export.spec.started_at.replace(":", "-").replace("+", "-")
        file = out / f"{date}_{safe_name(task.name)}_{safe_name(export.model.replace('/', '--'))}.eval"
        try:
            write_eval_log(_log(export, task), str(file), format="eval")
        except OSError as error:
            raise UserError(f"{file}: cannot be written ({one_line(error, 120)})") from None
        files.append(file)
    return files


def _log(export: Export, task: TaskSpec) -> EvalLog:
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalPlan, EvalPlanStep, EvalSpec, EvalStats
    from inspect_ai.model import GenerateConfig

    spec, (repo, revision) = export.spec, export.data_of(task)
    samples = [_sample(export, row) for row in export.rows(task.name)]
    config = GenerateConfig()  # of recorded answers nobody knows how they were drawn
    if kind_of(spec.engine).draws:
        drawn = task.sampling
        config = GenerateConfig(max_tokens=drawn.max_tokens, temperature=drawn.temperature, top_p=drawn.top_p)
    return EvalLog(
        status="success",
        eval=EvalSpec(
            created=spec.started_at,
            task=task.name,
            task_version=task.version,
            dataset=EvalDataset(
                name=repo or task.name,
                location=f"{repo}@{revision}" if repo and revision else repo or None,
                samples=task.questions,
                sample_ids=list(dict.fromkeys(sample.id for sample in samples)),
            ),
            model=f"{spec.engine}/{export.model}",
            config=EvalConfig(epochs=spec.trials),
            packages={"livek12": __version__},
            metadata={
                "livek12_task": task.name,
                "livek12": spec.package_version,
                "task_version": task.version,
                "prompt_sha256": task.prompt_sha256,
                "data_sha256": task.data_sha256,
                "judges": spec.judges.get(task.name),
                "marked_by": [marker["who"] for marker in export.scores["marked_by"]],
            },
        ),
        plan=EvalPlan(steps=[EvalPlanStep(solver="generate", params={})], config=config),
        results=_results(export, task, len(samples)),
        stats=EvalStats(started_at=spec.started_at, completed_at=spec.started_at),
        samples=samples,
    )


def _sample(export: Export, row: Row) -> EvalSample:
    from inspect_ai.log import EvalSample
    from inspect_ai.model import ChatMessageUser, ModelOutput
    from inspect_ai.scorer import Score

    from livek12.tasks.plugins.inspect_marks import score_of

    question, verdict, response = row.question, row.verdict, row.response
    output = _output(export, row) if response is not None else ModelOutput(model=export.model)
    scores: dict[str, Score] = {}
    if response is not None and verdict is not None:
        scores[SCORER] = score_of(question, response, verdict)
    text = question.question
    return EvalSample(
        id=question.id,
        epoch=row.trial + 1,
        input=text,
        choices=[option.text for option in question.options] or None,
        target=question.answer or [variable.value for variable in question.variables],
        messages=[ChatMessageUser(content=text), *(choice.message for choice in output.choices)],
        output=output,
        scores=scores or None,
        metadata={
            "release": question.release,
            "subject": question.subject,
            "question_type": question.question_type,
            "points": question.points,
            "paper_id": question.paper_id,
            "number": question.number,
            "state": row.state,
            **({"why": row.why} if row.why else {}),
        },
    )


def _output(export: Export, row: Row) -> Any:
    from inspect_ai.model import (
        ChatCompletionChoice,
        ChatMessageAssistant,
        ContentReasoning,
        ContentText,
        ModelOutput,
        ModelUsage,
    )

    response = row.response
    assert response is not None
    content: Any = response.text
    if response.reasoning:
        content = [ContentReasoning(reasoning=response.reasoning), ContentText(text=response.text)]
    message = ChatMessageAssistant(content=content, model=export.model, source="generate")
    reason: Any = _REASONS.get(response.finish_reason or "", "unknown")
    usage = None
    if response.completion_tokens is not None:
        read = response.prompt_tokens or 0
        usage = ModelUsage(
            input_tokens=max(0, read - (response.cached_tokens or 0)),
            output_tokens=response.completion_tokens,
            total_tokens=read + response.completion_tokens,
            input_tokens_cache_read=response.cached_tokens,
            reasoning_tokens=response.reasoning_tokens,
        )
    return ModelOutput(
        model=export.model,
        choices=[ChatCompletionChoice(message=message, stop_reason=reason)],
        usage=usage,
        time=response.seconds,
    )


def _results(export: Export, task: TaskSpec, logged: int) -> Any:
    from inspect_ai.log import EvalMetric, EvalResults, EvalScore

    report = export.scores["tasks"][task.name]
    counts = report["counts"]
    metrics = {name: EvalMetric(name=name, value=value) for name, value in _metrics(report["metrics"])}
    metrics |= {
        state: EvalMetric(name=state, value=counts[state] / max(1, counts["answers"]))
        for state in ("ungraded", "no_answer", "failed", "unsupported", "truncated", "truncated_unknown")
    }
    score = EvalScore(name=SCORER, scorer=SCORER, scored_samples=counts["graded"], metrics=metrics)
    return EvalResults(
        total_samples=counts["answers"],
        completed_samples=counts["answers"] - counts["failed"] - counts["unsupported"],
        logged_samples=logged,
        scores=[score],
    )


def _metrics(scores: dict[str, Any]) -> Iterator[tuple[str, float]]:
    for name, metric in scores.items():
        if metric["low"] is not None:
            yield name, metric["low"]
            if metric["value"] is None:
                yield f"{name}_high", metric["high"]
