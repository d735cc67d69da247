"""Logs of Inspect (`.eval` and `.json`) for any task: read by Inspect's own reader, one sample at a time.

Contract: each epoch of a sample is a trial. A sample that ended in an error has no answer, which is kept. `target` and
`scores` are as Inspect has them: several targets are alternatives, C and I are 1 and 0. A damaged log among several
costs one warning.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from livek12.core.errors import UserError
from livek12.core.progress import warn
from livek12.evaluation.imports.inspect_ai import (
    DamagedLog,
    check_size,
    files_of,
    need_inspect,
    opened,
    samples_of,
)
from livek12.evaluation.logs import Fields, LogEntry
from livek12.evaluation.logs.lines import number, numbers

if TYPE_CHECKING:
    from inspect_ai.log import EvalSample

FIELDS: Final = Fields(
    question=("input",), gold=("target",), type=("metadata.question_type", "metadata.answer_type"), options=("choices",)
)


def entries(path: Path) -> Iterator[LogEntry]:
    """The samples of a log, or of all logs below a folder.

    Raises:
        UserError: inspect-ai is not installed, or there is no readable log.
    """
    need_inspect()
    problems: list[str] = []
    files = files_of(path)
    for file in files:
        try:
            yield from _entries(file)
        except DamagedLog as error:
            problems.append(f"{file}: {error}")
            if len(files) > 1:
                warn(f"{problems[-1]}; log passed over")
    if problems and len(problems) == len(files):
        raise UserError(problems[0])


def _entries(file: Path) -> Iterator[LogEntry]:
    from livek12.tasks.plugins.inspect_marks import answer_of, model_name

    check_size(file)
    log = opened(file)
    limits = [config.max_tokens for config in (log.plan.config, log.eval.model_generate_config) if config.max_tokens]
    limit = {"max_tokens": limits[0]} if limits else {}
    for sample in samples_of(file, log):
        said = answer_of(sample.output) if sample.error is None and sample.output.choices else {}
        known = {name: value for name, value in said.items() if value is not None}
        yield LogEntry(
            place=f"{file}: sample {sample.id}, epoch {sample.epoch}",
            task=log.eval.task,
            id=str(sample.id),
            raw=_raw(sample),
            answers=({**known, **limit},) if said else (),
            trial=max(0, sample.epoch - 1),
            scores=_scores(sample),
            model=model_name(log.eval.model),
        )


def _raw(sample: EvalSample) -> dict[str, Any]:
    """What paths may lead to."""
    asked = sample.input if isinstance(sample.input, str) else [turn.model_dump() for turn in sample.input]
    return {
        "id": sample.id,
        "epoch": sample.epoch,
        "input": asked,
        "choices": sample.choices,
        "target": sample.target,
        "metadata": sample.metadata,
        "output": {"completion": sample.output.completion},
        "scores": {name: score.model_dump() for name, score in (sample.scores or {}).items()},
        "store": sample.store,
    }


def _scores(sample: EvalSample) -> dict[str, float]:
    """Each scorer's value; of one with several, each under a name of its own."""
    found: dict[str, float] = {}
    for name, score in (sample.scores or {}).items():
        if isinstance(score.value, dict):
            found |= {f"{name}.{part}": value for part, value in numbers(score.value).items()}
        elif (value := number(score.value)) is not None:
            found[name] = value
    return found
