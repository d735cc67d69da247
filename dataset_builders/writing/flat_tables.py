"""Flat tables of a dataset (`core.features`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from livek12.core.errors import UserError, why
from livek12.core.features import PREFIX, SPLIT, FlatTask, Form
from livek12.dataset_builders.writing.parquet import TableWriters

FORMS: dict[Form, str] = {
    "choices": "the question and its choices",
    "letters": "whole prompt, letters in a box",
    "value": "whole prompt, answer in a box",
}


@dataclass(frozen=True)
class FlatConfig:
    """A flat config on disk; `form` as in `core.features`."""

    task: str
    description: str
    form: Form
    pictures: bool
    rows: int

    @property
    def name(self) -> str:
        """Of the config."""
        return PREFIX + self.task


def write_flat(folder: Path, tasks: Iterable[FlatTask]) -> list[FlatConfig]:
    """Writes the rows of each task as its own table."""
    written = []
    for task in tasks:
        with TableWriters(folder) as writers:
            for row in task.rows:
                writers.write(PREFIX + task.name, SPLIT, row)
            rows = writers.counts.get(PREFIX + task.name, {}).get(SPLIT, 0)
        written.append(FlatConfig(task.name, task.description, task.form, task.pictures, rows))
    return written


def flat_rows(folder: Path) -> dict[str, int]:
    """The flat configs in a folder, with their numbers of rows."""
    return {
        table.name: sum(map(_rows, table.glob(f"{SPLIT}-*.parquet")))
        for table in sorted(folder.glob(f"{PREFIX}*"))
        if table.is_dir() and any(table.glob(f"{SPLIT}-*.parquet"))
    }


def _rows(file: Path) -> int:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return int(pq.read_metadata(file).num_rows)
    except (pa.ArrowException, OSError) as error:
        raise UserError(f"{file}: damaged or not Parquet ({why(error)}); fetch it again") from None
