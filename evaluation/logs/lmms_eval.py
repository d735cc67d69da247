"""lmms-eval's logs: `DATE_samples_TASK.jsonl` and `DATE_results.json`, with `--log_samples`.

Contract: each repeat is a trial; a text in place of an answer (request failed, budget used up) is none. Logs hold
prompt and target, neither rows nor pictures. Token counts exist for the first repeat alone: a 0 for a text is left out,
so is a count of a batch without the prompt's.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from livek12.core.errors import UserError
from livek12.core.progress import warn
from livek12.evaluation.logs import BAD_ENTRY, Fields, LogEntry, log_files, numbers, objects, results_of
from livek12.tasks.plugins.harness_task import task_name
from livek12.tasks.plugins.lmms_eval import GAVE_UP, ID

FIELDS: Final = Fields(question=("input",), gold=("target",))
_KNOWN: Final = frozenset(
    "doc_id doc target arguments resps filtered_resps token_counts doc_hash input input_media prompt_hash".split()
)
_LIST: Final = re.compile(r"\[\s*(?:(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")\s*,?\s*){1,100}\]")
"""A printed list of texts, in Python's form."""


def entries(path: Path, tasks: Collection[str] = ()) -> Iterator[LogEntry]:
    """Samples of a log."""
    files = log_files(path, (f"*{SAMPLES}*.jsonl",), "what lmms-eval writes with --log_samples")
    named = {file: task_name(file.stem.partition(SAMPLES)[2]) for file in files}
    if tasks and not (files := [file for file, task in named.items() if task in tasks]):
        present = ", ".join(sorted({task for task in named.values() if task})) or "none"
        raise UserError(
            f"{path}: no samples of {', '.join(tasks)} (tasks in it: {present}); lmms-eval writes them with"
            " --log_samples"
        )
    for file in files:
        date, _, task = file.stem.partition(SAMPLES)
        results = results_of(file.with_name(f"{date}{RESULTS}"))
        limit = limit_of(results, task)
        batched = str(_config_of(results).get("batch_size", 1)) != "1"
        for place, raw in objects(file):
            id, texts = raw.get(ID if tasks else "doc_id"), raw.get("resps", raw.get("filtered_resps"))
            texts = [texts] if isinstance(texts, str) else texts
            if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts) or id is None:
                warn(f"{place}: is no sample of lmms-eval with answers; passed over", kind=BAD_ENTRY)
                continue
            yield LogEntry(
                place=place,
                task=named[file] if tasks else task or file.stem,
                id=str(id),
                raw={**raw, "target": _target(raw.get("target"))},
                answers=tuple(_answers(raw, texts, limit, batched)),
                scores=_scores(raw),
                model=_model_of(results),
            )


def _answers(
    raw: dict[str, Any], texts: list[str], limit: Mapping[str, int], batched: bool
) -> Iterator[dict[str, Any]]:
    for trial, text in enumerate(texts):
        if text.startswith(GAVE_UP):
            yield {}
        else:
            yield {"response": text, **limit, **(_counts_of(raw, text, batched) if trial == 0 else {})}


def _scores(raw: Mapping[str, Any]) -> dict[str, float]:
    """Numbers outside the fields that every line has, also inside objects."""
    marks = numbers(raw, but=_KNOWN)
    for name, value in raw.items():
        if name not in _KNOWN and isinstance(value, dict):
            marks |= {f"{name}.{part}": mark for part, mark in numbers(value).items()}
    return marks


def _target(printed: Any) -> Any:
    if isinstance(printed, str) and len(printed) < 10_000 and _LIST.fullmatch(printed):
        try:
            return list(ast.literal_eval(printed))
        except (ValueError, SyntaxError):
            return printed
    return printed


ABSENT: Final = "no entry is an answer to a question of {} (--predict_only leaves out their ids: run without)"
SAMPLES, RESULTS = "_samples_", "_results.json"
COUNTS = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens", "reasoning_tokens": "reasoning_tokens"}


def _counts_of(entry: dict[str, Any], text: str, batched: bool) -> dict[str, int]:
    counts = entry.get("token_counts")
    first = counts[0] if isinstance(counts, list) and counts else None
    if not isinstance(first, dict) or (batched and not first.get("input_tokens")):
        return {}
    values = {ours: first.get(theirs) for ours, theirs in COUNTS.items()}
    return {
        name: value
        for name, value in values.items()
        if isinstance(value, int) and not isinstance(value, bool) and (value > 0 or (value == 0 and not text))
    }


def _model_of(results: Mapping[str, Any]) -> str:
    names = (results.get("model_name"), results.get("model_source"))
    return next((name for name in names if isinstance(name, str) and name), "")


def limit_of(results: Mapping[str, Any], name: str) -> dict[str, int]:
    """Task's token limit; none for vLLM models, which may raise it."""
    if "vllm" in str(_config_of(results).get("model")):
        return {}
    try:
        return {"max_tokens": results["configs"][name]["generation_kwargs"]["max_new_tokens"]}
    except (KeyError, TypeError):
        return {}


def _config_of(results: Mapping[str, Any]) -> Mapping[str, Any]:
    config = results.get("config")
    return config if isinstance(config, dict) else {}
