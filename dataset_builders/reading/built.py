"""Built datasets: their folder, tables, records and exams (from the `exam.yaml` files of a source).

Contract: only the files named by the card are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from livek12.core.errors import UserError
from livek12.core.exams import EXAMS, SOURCE, AskedQuestion, Exam, read_built, read_source, resolve, written
from livek12.core.files import write_atomically
from livek12.core.lazy import pa, pq
from livek12.core.questions import data_files, read_card, read_records, unread_parquet
from livek12.core.records import Page, Question
from livek12.dataset_builders.base import IMAGE_ONLY, PAGES, Log

Tables = dict[str, dict[str, list[Path]]]
"""Files of each table, by split."""
_HUB_NAME = re.compile(r"\w[\w.-]*/\w[\w.-]*(@[\w./-]+)?")


def open_data_set(place: str) -> Path:
    """Folder of a built dataset: a local folder, or ORG/NAME[@REVISION] on the Hub, which is fetched."""
    if not Path(place).is_dir() and _HUB_NAME.fullmatch(place):
        from livek12.core.hub import NotFetched, fetch

        name, _, revision = place.partition("@")
        try:
            return fetch(name, revision or None)
        except NotFetched as error:
            raise UserError(f"cannot fetch {place} from the Hub ({error}); give a folder") from None
    return Path(place)


def stored(tables: Tables) -> Iterator[tuple[Question | Page, list[str], str]]:
    """Yields every record of a dataset once, pages first, with all its tables and its split."""
    members = members_of(tables)
    for split, files in tables.get(PAGES, {}).items():
        yield from ((page, [PAGES], split) for file in files for page in read_records(Page, file))
    # image-only rows lack the figures: questions are read from other tables
    for table, splits in sorted(tables.items(), key=lambda entry: entry[0] == IMAGE_ONLY):
        for split, files in () if table == PAGES else splits.items():
            for question in (question for file in files for question in read_records(Question, file)):
                if names := members.pop((question.benchmark, question.id), None):
                    yield question, names, split


def questions_of(folder: Path) -> Iterator[Question]:
    """Yields every question of a dataset once."""
    return (record for record, _, _ in stored(tables_of(folder)[1]) if isinstance(record, Question))


def tables_of(folder: Path, *, missing_ok: bool = False) -> tuple[dict[str, tuple[str, ...]], Tables]:
    """Tables of each config, and the files of each table by split, as the card names them.

    With `missing_ok`, tables and configs with missing files are left out.
    """
    configs: dict[str, tuple[str, ...]] = {}
    tables: Tables = {}
    for config, splits in read_card(folder).items():
        for split, patterns in splits.items():
            for file in data_files(folder, patterns, missing_ok=missing_ok):
                table = file.relative_to(folder).parts[0]
                configs[config] = tuple(dict.fromkeys([*configs.get(config, ()), table]))
                files = tables.setdefault(table, {}).setdefault(split, [])
                files += [file] * (file not in files)
    return configs, tables


def members_of(tables: Tables) -> dict[tuple[str, str], list[str]]:
    """Tables of each question, by its benchmark and id."""
    members: dict[tuple[str, str], list[str]] = {}
    for table, splits in tables.items():
        for file in (file for files in splits.values() for file in files if table != PAGES):
            try:
                columns = pq.read_table(file, columns=["benchmark", "id"], partitioning=None).to_pydict()
            except (pa.ArrowException, OSError, UnicodeError) as error:
                raise UserError(unread_parquet(file, error)) from None
            for key in zip(columns["benchmark"], columns["id"], strict=True):
                members.setdefault(key, []).append(table)
    return members


_COLUMNS = ["id", "benchmark", "paper_id", "number", "points"]


def exam_files(source: Path) -> list[Path]:
    """Files of a folder, or beside a file: `exam.yaml` or PAPER.exam.yaml."""
    if source.is_dir():
        named = {*source.rglob(SOURCE), *source.rglob(f"*.{SOURCE}")}
        return sorted(file for file in named if file.is_file())
    own = source.with_name(f"{source.stem}.{SOURCE}")
    return [file for file in (own, source.with_name(SOURCE)) if file.is_file()][:1]


def write_exams(sources: Iterable[Path], older: Path | None, log: Log, folder: Path) -> None:
    """Writes the exams of sources and an earlier dataset beside the tables."""
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
    seen = set[tuple[str, str]]()
    for file in sorted(folder.glob("*/*.parquet")):
        if file.parent.name == PAGES:
            continue
        for row in pq.read_table(file, columns=_COLUMNS, partitioning=None).to_pylist():
            question = AskedQuestion(*(row[name] for name in _COLUMNS))
            if (question.benchmark, question.id) not in seen:
                seen.add((question.benchmark, question.id))
                yield question
