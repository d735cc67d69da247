"""lm-evaluation-harness's logs: `samples_*.jsonl`, with `--log_samples --output_path OUT`.

Contract: each repeat of a document is a trial. A task with several filters has a line for each, with the same answers:
their marks are `METRIC,FILTER`. The model is that of the results file beside it; lm-eval logs neither finish reasons
nor token counts. Two logs with answers to one question of ours are refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from livek12.core.errors import UserError
from livek12.core.progress import warn
from livek12.evaluation.logs import BAD_ENTRY, CHOICES, KEYS, STEMS, Fields, LogEntry, number, objects, results_of

FIELDS: Final = Fields(
    question=(*(f"doc.{name}" for name in STEMS), "arguments.gen_args_0.arg_0"),
    gold=("target", *(f"doc.{name}" for name in KEYS)),
    type=("doc.question_type", "doc.answer_type"),
    options=tuple(f"doc.{name}" for name in CHOICES),
)


def entries(path: Path, tasks: Collection[str] = ()) -> Iterator[LogEntry]:
    """Samples of a log."""
    if not path.exists():
        raise UserError(f"{path}: no such file or folder; give {SAMPLES}*.jsonl, or the folder of it")
    given: dict[tuple[str, str], Path] = {}
    for file in _logs_of(path):
        model = model_of(file)
        for place, raw in objects(file):
            doc = raw.get("doc") if tasks else {"task": _task(file), "id": raw.get("doc_id")}
            task, id = (doc.get("task"), doc.get("id")) if isinstance(doc, dict) else (None, None)
            texts = _answers(raw)
            if texts is None or not isinstance(task, str) or not isinstance(id, int | str):
                if not tasks and _is_likelihood(raw):
                    raise UserError(f"{file}: {task} chooses by likelihood: the log holds no answers to judge")
                warn(f"{place}: is no sample of {'a livek12 task' if tasks else 'lm-eval'}; passed over", BAD_ENTRY)
                continue
            if tasks and task not in tasks:
                continue
            if tasks and (other := given.setdefault((task, str(id)), file)) != file:
                raise UserError(f"question {id} of {task} is answered in {other} and {file}; give one of them")
            limit = _limit_of(raw)
            yield LogEntry(
                place=place,
                task=task,
                id=str(id),
                raw=raw,
                answers=tuple({"response": text, **limit} for text in texts),
                scores=_scores(raw),
                model=model,
            )


def _task(file: Path) -> str:
    return file.stem.removeprefix(SAMPLES).rpartition("_")[0] or file.stem


def _answers(raw: Mapping[str, Any]) -> list[str] | None:
    resps = raw.get("resps")
    if not isinstance(resps, list) or not resps:
        return None
    texts = [resps[0]] if isinstance(resps[0], str) else resps[0]
    return texts if isinstance(texts, list) and texts and all(isinstance(text, str) for text in texts) else None


def _is_likelihood(raw: Mapping[str, Any]) -> bool:
    try:
        value, greedy = raw["resps"][0][0]
        float(value)
    except (KeyError, IndexError, TypeError, ValueError):
        return False
    return str(greedy) in ("True", "False")


def _scores(raw: Mapping[str, Any]) -> dict[str, float]:
    names = raw.get("metrics")
    names = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
    kind = raw.get("filter")
    end = f",{kind}" if isinstance(kind, str) and kind != "none" else ""
    marks = {f"{name}{end}": number(raw.get(name)) for name in names}
    return {name: value for name, value in marks.items() if value is not None}


ABSENT: Final = "no samples of {}; was lm_eval called with --log_samples?"
SAMPLES, RESULTS = "samples_", "results_"
LIMITS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")
"""Names of a request's token limit."""
MOST_FILES = 10_000


def _logs_of(path: Path) -> list[Path]:
    if not path.is_dir():
        if path.name.startswith(RESULTS):
            raise UserError(f"{path} holds the numbers, not the answers; give {SAMPLES}*.jsonl beside it")
        if path.suffix != ".jsonl":
            raise UserError(f"{path}: not a log of samples; give {SAMPLES}*.jsonl, unpacked, or the folder of it")
        return [path]
    logs = sorted(file for file in path.rglob(f"{SAMPLES}*.jsonl") if file.is_file())
    if not logs:
        raise UserError(f"{path} holds no {SAMPLES}*.jsonl; call lm_eval with --log_samples --output_path")
    if len(logs) > MOST_FILES:
        raise UserError(f"{path} holds {len(logs)} logs; give the folder of one run")
    return logs


def _limit_of(sample: Mapping[str, Any]) -> dict[str, int]:
    try:
        settings = sample["arguments"]["gen_args_0"]["arg_1"]
        limits = {settings[name] for name in LIMITS if settings.get(name) is not None}
    except (KeyError, TypeError, AttributeError):
        return {}
    return {"max_tokens": limits.pop()} if len(limits) == 1 else {}


def model_of(log: Path) -> str:
    """Model's name from the results file of the same moment."""
    name = results_of(log.with_name(f"{RESULTS}{log.stem.rpartition('_')[2]}.json")).get("model_name")
    return name if isinstance(name, str) else ""
