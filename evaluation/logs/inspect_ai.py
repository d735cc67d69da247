"""Inspect's logs (`.eval` and `.json`), read by Inspect's own reader, one sample at a time.

Contract: an archive is first read through with bounds. Each epoch of a sample is a trial; a sample that ended in an
error has no answer. Several targets are alternatives, C and I are 1 and 0.
"""

from __future__ import annotations

import logging
import zipfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from livek12.core.errors import UserError, install
from livek12.core.progress import warn
from livek12.core.text import one_line
from livek12.evaluation.logs import Fields, LogEntry, number, numbers

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample

FIELDS: Final = Fields(
    question=("input",), gold=("target",), type=("metadata.question_type", "metadata.answer_type"), options=("choices",)
)


def entries(path: Path, tasks: Collection[str] = ()) -> Iterator[LogEntry]:
    """Samples of a log, or of all logs below a folder."""
    _need_inspect()
    problems: list[str] = []
    files = _files_of(path)
    for file in files:
        try:
            yield from _entries(file, tasks)
        except DamagedLog as error:
            problems.append(f"{file}: {error}")
            if len(files) > 1:
                warn(f"{problems[-1]}; log passed over")
    if problems and len(problems) == len(files):
        raise UserError(problems[0])


def _entries(file: Path, tasks: Collection[str]) -> Iterator[LogEntry]:
    from livek12.tasks.plugins.inspect_marks import answer_of, model_name

    check_size(file)
    log = opened(file)
    if tasks and _task_of(log) not in tasks:
        return
    if log.status == "started":
        warn(f"{file}: the eval did not end; `inspect log recover` brings back what it had not yet written")
    limit = _limit_of(log)
    for sample in samples_of(file, log):
        answer = answer_of(sample.output) if sample.error is None and sample.output.choices else {}
        values = {name: value for name, value in answer.items() if value is not None}
        yield LogEntry(
            place=f"{file}: sample {sample.id}, epoch {sample.epoch}",
            task=_task_of(log) if tasks else log.eval.task,
            id=str(sample.id),
            raw=_raw(sample),
            answers=({**values, **limit},) if answer else (),
            trial=max(0, sample.epoch - 1),
            scores=_scores(sample),
            model=model_name(log.eval.model),
            marked=_marked(sample),
        )


def _raw(sample: EvalSample) -> dict[str, Any]:
    prompt = sample.input if isinstance(sample.input, str) else [turn.model_dump() for turn in sample.input]
    return {
        "id": sample.id,
        "epoch": sample.epoch,
        "input": prompt,
        "choices": sample.choices,
        "target": sample.target,
        "metadata": sample.metadata,
        "output": {"completion": sample.output.completion},
        "scores": {name: score.model_dump() for name, score in (sample.scores or {}).items()},
        "store": sample.store,
    }


def _scores(sample: EvalSample) -> dict[str, float]:
    values: dict[str, float] = {}
    for name, score in (sample.scores or {}).items():
        if isinstance(score.value, dict):
            values |= {f"{name}.{part}": value for part, value in numbers(score.value).items()}
        elif (value := number(score.value)) is not None:
            values[name] = value
    return values


_log = logging.getLogger(__name__)
ABSENT: Final = "no answers to {} in it"
SUFFIXES = (".eval", ".json")
MOST_BYTES = 1 << 28
"""Of one member of an archive, unpacked: a sample with the pages of a long paper has a tenth of it."""
MOST_JSON = 1 << 30
MOST_TIMES = 200
"""Multiple of its own size that an archive may unpack to, above the first `MOST_JSON` bytes."""
_CHUNK = 1 << 20


class DamagedLog(Exception):
    """Unusable log; the message gives the reason on one line."""


def _need_inspect() -> None:
    try:
        import inspect_ai.log  # noqa: F401  (teaches zipfile the compression of its logs, too)
    except ImportError:
        raise UserError(
            f"Inspect's logs are read by its own reader, which is not installed: {install('inspect')}"
        ) from None


def _files_of(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise UserError(f"{path}: no such log or folder of logs")
    files = sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES and file.is_file())
    if not files:
        raise UserError(f"{path}: holds no log of Inspect ({' or '.join(SUFFIXES)})")
    return files


def _marked(sample: EvalSample) -> dict[str, Any] | None:
    score = (sample.scores or {}).get("exam_marks")
    verdict = (score.metadata or {}).get("verdict") if score else None
    return verdict if isinstance(verdict, dict) and (verdict.get("calls") or verdict.get("process")) else None


def _task_of(log: EvalLog) -> str:
    noted = (log.eval.metadata or {}).get("livek12_task")
    return noted if isinstance(noted, str) else log.eval.task.removeprefix("livek12/")


def _limit_of(log: EvalLog) -> dict[str, int]:
    limits = [config.max_tokens for config in (log.plan.config, log.eval.model_generate_config) if config.max_tokens]
    return {"max_tokens": limits[0]} if limits else {}


def opened(file: Path) -> EvalLog:
    """Log, of an archive without its samples (JSON's head alone would take quadratic memory)."""
    from inspect_ai.log import read_eval_log

    try:
        return read_eval_log(str(file), header_only=file.suffix != ".json")
    except Exception as error:  # whatever its reader makes of hostile bytes
        raise DamagedLog(f"is no log of Inspect that can be read ({one_line(error, 150)})") from None


def samples_of(file: Path, log: EvalLog) -> Iterator[EvalSample]:
    """Samples; of an archive, one in memory at a time."""
    from inspect_ai.log import read_eval_log_sample, read_eval_log_sample_summaries

    if log.samples is not None:
        yield from log.samples
        return
    try:
        listed = [(summary.id, summary.epoch) for summary in read_eval_log_sample_summaries(str(file))]
    except Exception as error:
        raise DamagedLog(f"its samples cannot be read ({one_line(error, 150)})") from None
    damaged: list[str] = []
    for id, epoch in listed:
        try:
            yield read_eval_log_sample(str(file), id=id, epoch=epoch)
        except Exception as error:
            damaged.append(f"sample {id}, epoch {epoch} ({one_line(error, 150)})")
    if damaged:
        _log.warning("%s: %d samples cannot be read, the first: %s", file, len(damaged), damaged[0])


def check_size(file: Path) -> None:
    """Reads an archive through with bounds, whatever it says about its sizes."""
    size = file.stat().st_size
    if file.suffix == ".json":
        if size > MOST_JSON:
            raise DamagedLog(f"has {size >> 20} MiB of JSON; make it smaller with `inspect log convert --to eval`")
        return
    try:
        with zipfile.ZipFile(file) as archive:
            left = MOST_JSON + MOST_TIMES * size
            for member in archive.infolist():
                member.file_size = MOST_BYTES + 1
                with archive.open(member) as stream:
                    length = 0
                    while chunk := stream.read(_CHUNK):
                        length += len(chunk)
                        left -= len(chunk)
                        if length > MOST_BYTES or left < 0:
                            raise DamagedLog(f"{member.filename} unpacks to more than is read; is it a log of Inspect?")
    except DamagedLog:
        raise
    except Exception as error:  # what zipfile and the decompressors raise for damaged archives
        raise DamagedLog(f"is no whole archive ({one_line(error, 150)})") from None
