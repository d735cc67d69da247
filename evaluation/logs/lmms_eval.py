"""lmms-eval's logs: `DATE_samples_TASK.jsonl` and `DATE_results.json`, with `--log_samples`.

Contract: each repeat is a trial; a text in place of an answer (request failed, budget used up) is none. Logs hold
prompt and target, neither rows nor pictures, and for our tasks the id that our metrics add. Token counts exist for the
first repeat alone: a 0 for a text is left out, so is a count of a batch without the prompt's, for such models count
every answer as long as the longest.
"""

from __future__ import annotations

import ast
import json
import logging
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from livek12.core.errors import UserError
from livek12.core.progress import warn
from livek12.evaluation.logs import Fields, LogEntry
from livek12.evaluation.logs.lines import BAD_ENTRY, lines_of, log_files, numbers, objects, results_of
from livek12.tasks.plugins.harness_task import task_name
from livek12.tasks.plugins.lmms_eval import GAVE_UP, ID

FIELDS: Final = Fields(question=("input",), gold=("target",))
_KNOWN: Final = frozenset(
    "doc_id doc target arguments resps filtered_resps token_counts doc_hash input input_media prompt_hash".split()
)
_LIST: Final = re.compile(r"\[\s*(?:(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")\s*,?\s*){1,100}\]")
"""A printed list of texts, in Python's form."""


def entries(path: Path) -> Iterator[LogEntry]:
    """Samples of a log."""
    for file in log_files(path, (f"*{SAMPLES}*.jsonl",), "what lmms-eval writes with --log_samples"):
        date, _, task = file.stem.partition(SAMPLES)
        results = results_of(file.with_name(f"{date}{RESULTS}"))
        model = model_of(results).get("model", "")
        limit = limit_of(results, task)
        batched = str(config_of(results).get("batch_size", 1)) != "1"
        for place, raw in objects(file):
            texts = raw.get("resps", raw.get("filtered_resps"))
            texts = [texts] if isinstance(texts, str) else texts
            if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts) or "doc_id" not in raw:
                warn(f"{place}: is no sample of lmms-eval with answers; passed over", kind=BAD_ENTRY)
                continue
            yield LogEntry(
                place=place,
                task=task or file.stem,
                id=str(raw["doc_id"]),
                raw={**raw, "target": _target(raw.get("target"))},
                answers=tuple(_answers(raw, texts, limit, batched)),
                scores=_scores(raw),
                model=model,
            )


def _answers(
    raw: dict[str, Any], texts: list[str], limit: Mapping[str, int], batched: bool
) -> Iterator[dict[str, Any]]:
    for trial, text in enumerate(texts):
        if text.startswith(GAVE_UP):
            yield {}
        else:
            yield {"response": text, **limit, **(counts_of(raw, text, batched) if trial == 0 else {})}


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


SAMPLES, RESULTS = "_samples_", "_results.json"
COUNTS = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens", "reasoning_tokens": "reasoning_tokens"}

_log = logging.getLogger(__name__)


class _BadEntry(Exception):
    """Entry that answers none of our questions."""


def rows(path: Path, tasks: Collection[str]) -> Iterator[dict[str, Any]]:
    """Recorded answers to the tasks."""
    files = sorted(path.rglob(f"*{SAMPLES}*.jsonl")) if path.is_dir() else [path]
    named = [(file, task_name(file.stem.partition(SAMPLES)[2])) for file in files]
    wanted = [(file, task) for file, task in named if task in tasks]
    if not wanted:
        present = ", ".join(sorted({task for _, task in named if task})) or "none"
        raise UserError(
            f"{path}: no samples of {', '.join(tasks)} (tasks in it: {present}); lmms-eval writes them with"
            " --log_samples"
        )
    given: dict[tuple[str, str, int], tuple[Path, str]] = {}
    for file, task in wanted:
        for row in _rows_of(file, task):
            key, text = (task, row["question_id"], row["trial"]), row["response"]
            before, same = given.setdefault(key, (file, text))
            if same != text:
                raise UserError(
                    f"question {key[1]} of {task} is answered in {before} and, otherwise, in {file}; give one of them"
                )
            yield row
    if not given:
        raise UserError(f"{path}: no entry is an answer to a question of {', '.join(tasks)}")


def _rows_of(file: Path, task: str) -> Iterator[dict[str, Any]]:
    date, _, name = file.stem.partition(SAMPLES)
    results = results_of(file.with_name(f"{date}{RESULTS}"))
    about = {"task": task, **model_of(results), **limit_of(results, name)}
    batched = str(config_of(results).get("batch_size", 1)) != "1"
    for number, line in lines_of(file):
        try:
            yield from ({**about, **row} for row in _trials(line, f"{file}:{number}", batched))
        except _BadEntry as error:
            _log.warning("%s:%d: %s; entry passed over", file, number, error)


def _trials(line: bytes, place: str, batched: bool) -> Iterator[dict[str, Any]]:
    try:
        entry = json.loads(line.decode(errors="replace"))
    except (ValueError, RecursionError):
        raise _BadEntry("not JSON") from None
    if not isinstance(entry, dict):
        raise _BadEntry("not an object")
    id = entry.get(ID)
    if not isinstance(id, str):
        raise _BadEntry("no id of a question (with --predict_only lmms-eval leaves it out: run without)")
    # `resps` is there where a filter changed the texts, and has them as they were.
    texts = entry.get("resps", entry.get("filtered_resps"))
    texts = [texts] if isinstance(texts, str) else texts
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        raise _BadEntry("no text of an answer")
    for trial, text in enumerate(texts):
        if text.startswith(GAVE_UP):
            _log.warning("%s: question %s, trial %d has no answer: %s", place, id, trial, text[:200])
        else:
            counts = counts_of(entry, text, batched) if trial == 0 else {}
            yield {"question_id": id, "trial": trial, "response": text, **counts}


def counts_of(entry: dict[str, Any], text: str, batched: bool) -> dict[str, int]:
    """Token counts of the first repeat."""
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


def model_of(results: Mapping[str, Any]) -> dict[str, str]:
    """Model that the results name."""
    names = (results.get("model_name"), results.get("model_source"))
    return next(({"model": name} for name in names if isinstance(name, str) and name), {})


def limit_of(results: Mapping[str, Any], name: str) -> dict[str, int]:
    """Task's token limit; none for vLLM models, which take the larger of it and their own."""
    if "vllm" in str(config_of(results).get("model")):
        return {}
    try:
        return {"max_tokens": results["configs"][name]["generation_kwargs"]["max_new_tokens"]}
    except (KeyError, TypeError):
        return {}


def config_of(results: Mapping[str, Any]) -> Mapping[str, Any]:
    """Harness's settings, from its results."""
    config = results.get("config")
    return config if isinstance(config, dict) else {}
