"""Reads the `exam.yaml` files of a source into the data set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from livek12.core.errors import UserError
from livek12.core.exams import EXAMS, SOURCE, AskedQuestion, Exam, read_built, read_source, resolve, written
from livek12.core.files import write_atomically
from livek12.dataset_builders.base import PAGES, Log

_COLUMNS = ["id", "benchmark", "paper_id", "number", "points"]


def exam_files(source: Path) -> list[Path]:
    """Files of a folder, or beside a file: `exam.yaml` or PAPER.exam.yaml."""
    if source.is_dir():
        named = {*source.rglob(SOURCE), *source.rglob(f"*.{SOURCE}")}
        return sorted(file for file in named if file.is_file())
    own = source.with_name(f"{source.stem}.{SOURCE}")
    return [file for file in (own, source.with_name(SOURCE)) if file.is_file()][:1]


def write_exams(sources: Iterable[Path], older: Path | None, log: Log, folder: Path) -> None:
    """Writes the exams of sources and of an earlier data set beside the new tables."""
    files = [file for source in sources for file in exam_files(source)]
    earlier = read_built(older / EXAMS) if older else []
    questions = list(_questions(folder)) if files else []
    exams: dict[tuple[str, str], Exam] = {}
    for file in files:
        try:
            resolved = resolve(read_source(file), questions, str(file))
        except UserError as error:
            raise UserError(f"{error}{log.left_out}") from None
        for exam in resolved:
            if exams.setdefault((exam.benchmark, exam.name), exam) is not exam:
                raise UserError(f"{file}: {exam.name}: another exam of the data set has this name")
    if exams := {**{(exam.benchmark, exam.name): exam for exam in earlier}, **exams}:
        write_atomically(folder / EXAMS, written(list(exams.values())))


def _questions(folder: Path) -> Iterator[AskedQuestion]:
    import pyarrow.parquet as pq

    seen = set[tuple[str, str]]()
    for file in sorted(folder.glob("*/*.parquet")):
        if file.parent.name == PAGES:
            continue
        for row in pq.read_table(file, columns=_COLUMNS, partitioning=None).to_pylist():
            question = AskedQuestion(*(row[name] for name in _COLUMNS))
            if (question.benchmark, question.id) not in seen:
                seen.add((question.benchmark, question.id))
                yield question
