"""The result files of VLMEvalKit for any data set: `MODEL_DATASET.tsv` (or .json, .xlsx), and beside them its marks.

Contract: a row with `prediction` is an answer, one that the kit gave up has none. The kit writes marks of single rows
(`hit`) only after a judgement of its own; they are taken where the file given has them. The whole file is in memory, as
its formats ask.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from livek12.core.errors import UserError
from livek12.core.progress import warn
from livek12.core.text import clean
from livek12.evaluation.imports.lines import BAD_ENTRY
from livek12.evaluation.logs import KEYS, STEMS, Fields, LogEntry
from livek12.evaluation.logs.lines import numbers
from livek12.tasks.plugins.vlmevalkit import FAILED, result_rows

FIELDS: Final = Fields(
    question=STEMS,
    gold=("answer", *KEYS),
    response=("prediction",),
    type=("question_type", "type"),
    options=("options",),
)
SCORES: Final = ("hit", "score", "eval_score", "match")
SUFFIXES: Final = (".tsv", ".json", ".xlsx")


def entries(path: Path) -> Iterator[LogEntry]:
    """The rows of a result file, or of the only one below a folder.

    Raises:
        UserError: there is no such file, or several, or it is not readable.
    """
    file = _file(path)
    model, _, dataset = file.stem.rpartition("_")
    for number, row in enumerate(result_rows(file), 1):
        place = f"{file}: row {number}"
        if not isinstance(row, dict) or "prediction" not in row:
            warn(f"{place}: has no prediction; passed over", kind=BAD_ENTRY)
            continue
        raw = {clean(str(name)): clean(str(value)) for name, value in row.items() if value is not None}
        letters = [name for name in "ABCDEFGHIJ" if raw.get(name, "").strip() not in ("", "nan")]
        options = {name: raw[name] for name in letters} if letters[:2] == ["A", "B"] else None
        gave_up = raw.get("prediction", "").startswith(FAILED)
        thought = {"reasoning": raw["thinking"]} if raw.get("thinking") else {}
        yield LogEntry(
            place=place,
            task=dataset or file.stem,
            id=raw.get("index") or str(number - 1),
            raw={**raw, "options": options},
            answers=() if gave_up else ({"response": raw.get("prediction", ""), **thought},),
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
        found = f"{len(files)} result files, such as {files[0].name}" if files else "no result file"
        raise UserError(f"{path}: holds {found}; give one: MODEL_DATASET.tsv, .json or .xlsx")
    return files[0]
