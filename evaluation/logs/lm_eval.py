"""The logs of lm-evaluation-harness for any task that generates: `samples_*.jsonl`, with `--log_samples`.

Contract: each repeat of a document is a trial. A task with several filters has a line of each document for each, with
the same answers: their marks are `METRIC,FILTER`. Tasks that choose by likelihood hold no answers and are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from livek12.core.errors import UserError
from livek12.core.progress import warn
from livek12.evaluation.imports.lines import BAD_ENTRY, objects
from livek12.evaluation.imports.lm_eval import SAMPLES, limit_of, logs_of, model_of
from livek12.evaluation.logs import CHOICES, KEYS, STEMS, Fields, LogEntry
from livek12.evaluation.logs.lines import number

FIELDS: Final = Fields(
    question=(*(f"doc.{name}" for name in STEMS), "arguments.gen_args_0.arg_0"),
    gold=("target", *(f"doc.{name}" for name in KEYS)),
    type=("doc.question_type", "doc.answer_type"),
    options=tuple(f"doc.{name}" for name in CHOICES),
)


def entries(path: Path) -> Iterator[LogEntry]:
    """The samples of a log.

    Raises:
        UserError: no such log, or one of a task without generated answers.
    """
    if not path.exists():
        raise UserError(f"{path}: no such file or folder; give {SAMPLES}*.jsonl, or the folder of it")
    for file in logs_of(path):
        task, model = _task(file), model_of(file).get("model", "")
        for place, raw in objects(file):
            said = _answers(raw)
            if said is None:
                if _is_likelihood(raw):
                    raise UserError(f"{file}: {task} chooses by likelihood: the log holds no answers to judge")
                warn(f"{place}: is no sample of lm-eval; passed over", kind=BAD_ENTRY)
                continue
            limit = limit_of(raw)
            yield LogEntry(
                place=place,
                task=task,
                id=str(raw["doc_id"]),
                raw=raw,
                answers=tuple({"response": text, **limit} for text in said),
                scores=_scores(raw),
                model=model,
            )


def _task(file: Path) -> str:
    """The task that a file names: samples_TASK_DATE.jsonl."""
    return file.stem.removeprefix(SAMPLES).rpartition("_")[0] or file.stem


def _answers(raw: Mapping[str, Any]) -> list[str] | None:
    resps = raw.get("resps")
    if not isinstance(raw.get("doc_id"), int | str) or not isinstance(resps, list) or not resps:
        return None
    said = [resps[0]] if isinstance(resps[0], str) else resps[0]
    return said if isinstance(said, list) and said and all(isinstance(text, str) for text in said) else None


def _is_likelihood(raw: Mapping[str, Any]) -> bool:
    """Whether the answers are pairs of a likelihood and whether it is the greatest."""
    try:
        value, greedy = raw["resps"][0][0]
        float(value)
    except (KeyError, IndexError, TypeError, ValueError):
        return False
    return str(greedy) in ("True", "False")


def _scores(raw: Mapping[str, Any]) -> dict[str, float]:
    """The marks that a line names as such."""
    names = raw.get("metrics")
    names = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
    kind = raw.get("filter")
    end = f",{kind}" if isinstance(kind, str) and kind != "none" else ""
    found = {f"{name}{end}": number(raw.get(name)) for name in names}
    return {name: value for name, value in found.items() if value is not None}
