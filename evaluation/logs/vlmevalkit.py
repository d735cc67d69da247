"""VLMEvalKit's result files: `MODEL_DATASET.tsv` (or .json, .xlsx), with `run.py --work-dir OUT`.

Contract: a row with `prediction` is an answer; one with "Failed to obtain answer" has none. Marks of single rows
(`hit`) exist only after a judgement of the kit's own. The kit writes neither finish reasons nor token counts. Two
results of one task of ours are refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final

from livek12.core.errors import UserError
from livek12.core.progress import warn
from livek12.core.text import clean
from livek12.evaluation.logs import BAD_ENTRY, KEYS, STEMS, Fields, LogEntry, numbers, results_of
from livek12.tasks.plugins.harness_task import harness_name
from livek12.tasks.plugins.vlmevalkit import FAILED, ID, predictions, result_rows

FIELDS: Final = Fields(
    question=STEMS,
    gold=("answer", *KEYS),
    response=("prediction",),
    type=("question_type", "type"),
    options=("options",),
)
ABSENT: Final = "no answers to {} in its result files"
SCORES: Final = ("hit", "score", "eval_score", "match")
SUFFIXES: Final = (".tsv", ".json", ".xlsx")


def entries(path: Path, tasks: Collection[str] = ()) -> Iterator[LogEntry]:
    """Rows of a result file, or of the only one below a folder (of each task of ours)."""
    files = {file: task for task in tasks if (file := _result(path, task))} if tasks else {_file(path): ""}
    if not files:
        named = " or ".join(f"MODEL_{harness_name(task)}.tsv" for task in sorted(tasks))
        raise UserError(f"{path}: no result file {named}")
    for file, task in files.items():
        model, _, dataset = file.stem.rpartition("_")
        model, limit = file.stem.removesuffix(f"_{harness_name(task)}") if task else model, _limit(file)
        for number, row in enumerate(predictions(file) if task else result_rows(file), 1):
            place = f"{file}: row {number}"
            if not isinstance(row, dict) or "prediction" not in row:
                warn(f"{place}: has no prediction; passed over", kind=BAD_ENTRY)
                continue
            raw = {clean(str(name)): clean(str(value)) for name, value in row.items() if value is not None}
            letters = [name for name in "ABCDEFGHIJ" if raw.get(name, "").strip() not in ("", "nan")]
            options = {name: raw[name] for name in letters} if letters[:2] == ["A", "B"] else None
            thought = {"reasoning": raw["thinking"]} if raw.get("thinking") else {}
            text = raw.get("prediction", "")
            yield LogEntry(
                place=place,
                task=task or dataset or file.stem,
                id=raw[ID] if task else raw.get("index") or str(number - 1),
                raw={**raw, "options": options},
                answers=() if text.startswith(FAILED) else ({"response": text, **limit, **thought},),
                scores=numbers({name: raw[name] for name in SCORES if name in raw}),
                model=model,
            )


def _file(path: Path) -> Path:
    if not path.exists():
        raise UserError(f"{path}: no such file or folder; give a result file of VLMEvalKit, MODEL_DATASET.tsv")
    if path.is_file():
        return path
    files = sorted({file.resolve() for file in path.rglob("*_*") if file.suffix in SUFFIXES and file.is_file()})
    if len(files) != 1:
        number = f"{len(files)} result files, such as {files[0].name}" if files else "no result file"
        raise UserError(f"{path}: holds {number}; give one: MODEL_DATASET.tsv, .json or .xlsx")
    return files[0]


def _limit(file: Path) -> dict[str, int]:
    argv = results_of(file.with_name("status.json")).get("argv")
    words = [str(word) for word in argv] if isinstance(argv, list) else []
    limits = [after for word, after in pairwise(words) if word == "--max-tokens" and after.isdecimal()]
    return {"max_tokens": int(limits[-1])} if limits else {}


def _result(path: Path, task: str) -> Path | None:
    """The kit links to some results from other folders."""
    end = f"_{harness_name(task)}"
    files = [path] if path.is_file() else [file for file in path.rglob(f"*{end}.*") if file.is_file()]
    named = sorted({file.resolve() for file in files if file.stem.endswith(end) and file.suffix in SUFFIXES})
    if named[1:]:
        raise UserError(f"{path} has two results of task {task}: {named[0]} and {named[1]}; give one of the two")
    return named[0] if named else None
