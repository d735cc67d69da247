"""Lines of JSON: a question, its key and an answer each, under guessed or given names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from livek12.evaluation.logs import (
    CHOICES,
    KEYS,
    MISSING,
    STEMS,
    Fields,
    LogEntry,
    first_at,
    log_files,
    objects,
    text_of,
)

FIELDS: Final = Fields(
    question=STEMS,
    gold=KEYS,
    response=(
        "response",
        "prediction",
        "pred",
        "output",
        "completion",
        "generated_text",
        "model_output",
        "model_answer",
    ),
    type=("question_type", "type"),
    options=CHOICES,
    score=("score", "correct", "is_correct", "acc", "accuracy", "exact_match"),
)
IDS: Final = ("id", "question_id", "idx", "index", "doc_id", "qid", "sample_id")


def entries(path: Path) -> Iterator[LogEntry]:
    """Lines of a file, or of all `*.jsonl` below a folder; a missing id is the line's number."""
    for file in log_files(path, ("*.jsonl",), "a file of JSON lines"):
        for place, raw in objects(file):
            id, trial = first_at(raw, IDS), first_at(raw, ("trial", "epoch", "repeat"))
            named = text_of(first_at(raw, ("task", "benchmark", "dataset")))
            yield LogEntry(
                place=place,
                task=named or file.stem,
                id=place.rpartition(":")[2] if id is MISSING else text_of(id),
                raw=raw,
                trial=trial if isinstance(trial, int) and not isinstance(trial, bool) and trial >= 0 else 0,
                model=text_of(first_at(raw, ("model", "model_name"))),
            )
