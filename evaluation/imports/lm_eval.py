"""The logs of lm-evaluation-harness (`lm_eval --log_samples --output_path OUT`) as recorded responses.

Contract: reads `samples_*.jsonl`, a file or all below a folder; a sample names its task and question in `doc`, and
each of its repeats is a trial. The model is that of the results file beside it. lm-eval logs neither finish reasons
nor token counts, so none are given, but the limit that a request had. A damaged line costs one warning; two logs with
answers to one question are refused, for nothing says which is meant.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from livek12.core.errors import UserError
from livek12.evaluation.imports.lines import lines_of, results_of

_log = logging.getLogger(__name__)
SAMPLES, RESULTS = "samples_", "results_"
LIMITS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")
"""How a request may call its limit."""
MOST_FILES = 10_000


def rows(path: Path, tasks: Collection[str]) -> Iterator[dict[str, Any]]:
    """The responses to the wanted tasks.

    Args:
        path: a `samples_*.jsonl`, or a folder with such files in it or below.
        tasks: our names of the tasks that are wanted.

    Raises:
        UserError: no such log, none of the tasks in it, or two logs that answer one question.
    """
    given: dict[tuple[str, str], Path] = {}
    for log in logs_of(path):
        model = model_of(log)
        for number, line in lines_of(log):
            sample = _sample(line, f"{log}:{number}") if line.strip() else None
            if sample is None or sample["task"] not in tasks:
                continue
            key = sample["task"], sample["question_id"]
            if given.get(key, log) != log:
                raise UserError(
                    f"question {key[1]} of {key[0]} is answered in {given[key]} and {log}; give one of them"
                )
            if key not in given:  # a task with several filters logs its samples once for each
                given[key] = log
                same = {"task": key[0], "question_id": key[1], **sample["limit"], **model}
                for trial, said in enumerate(sample["responses"]):
                    yield {**same, "trial": trial, "response": said}
    if not given:
        raise UserError(f"{path}: no samples of {', '.join(sorted(tasks))}; was lm_eval called with --log_samples?")


def logs_of(path: Path) -> list[Path]:
    """The sample files, in the order of their names."""
    if not path.is_dir():
        if path.name.startswith(RESULTS):
            raise UserError(f"{path} holds the numbers, not the answers; give {SAMPLES}*.jsonl beside it")
        if path.suffix != ".jsonl":
            raise UserError(f"{path}: not a log of samples; give {SAMPLES}*.jsonl, unpacked, or the folder of it")
        return [path]
    found = sorted(file for file in path.rglob(f"{SAMPLES}*.jsonl") if file.is_file())
    if not found:
        raise UserError(f"{path} holds no {SAMPLES}*.jsonl; call lm_eval with --log_samples --output_path")
    if len(found) > MOST_FILES:
        raise UserError(f"{path} holds {len(found)} logs; give the folder of one run")
    return found


def _sample(line: bytes, place: str) -> dict[str, Any] | None:
    """Task, question, repeats and limit of a line; None, with a warning, where it is no sample of ours."""
    try:
        read = json.loads(line)
        doc, resps = read["doc"], read["resps"]
        task, question, said = doc["task"], doc["id"], resps[0]
        if isinstance(said, str):  # as versions before the filters wrote it
            said = [said]
        if not (isinstance(task, str) and isinstance(question, str) and said and all(isinstance(x, str) for x in said)):
            raise TypeError
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        _log.warning("%s: no sample of a livek12 task, passed over", place)
        return None
    return {"task": task, "question_id": question, "responses": said, "limit": limit_of(read)}


def limit_of(sample: Mapping[str, Any]) -> dict[str, int]:
    """The most tokens that an answer could have, where the settings of its request stand in the log."""
    try:
        settings = sample["arguments"]["gen_args_0"]["arg_1"]
        limits = {settings[name] for name in LIMITS if settings.get(name) is not None}
    except (KeyError, TypeError, AttributeError):
        return {}
    return {"max_tokens": limits.pop()} if len(limits) == 1 else {}


def model_of(log: Path) -> dict[str, str]:
    """The model's name, where the results file of the same moment says it."""
    name = results_of(log.with_name(f"{RESULTS}{log.stem.rpartition('_')[2]}.json")).get("model_name")
    return {"model": name} if isinstance(name, str) and name else {}
