"""Built datasets: their folder, tables and records.

Contract: only the files named by the card are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from livek12.core.errors import UserError
from livek12.core.questions import data_files, read_card, read_records, unread_parquet
from livek12.core.records import Page, Question
from livek12.dataset_builders.base import IMAGE_ONLY, PAGES

Tables = dict[str, dict[str, list[Path]]]
"""Files of each table, by split."""
_HUB_NAME = re.compile(r"\w[\w.-]*/\w[\w.-]*(@[\w./-]+)?")


def open_data_set(place: str) -> Path:
    """The folder of a built dataset: a local folder, or ORG/NAME[@REVISION] on the Hub, which is fetched."""
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
    # image-only rows lack the figures, so every question is read from another of its tables
    for table, splits in sorted(tables.items(), key=lambda entry: entry[0] == IMAGE_ONLY):
        for split, files in () if table == PAGES else splits.items():
            for question in (question for file in files for question in read_records(Question, file)):
                if names := members.pop((question.benchmark, question.id), None):
                    yield question, names, split


def tables_of(folder: Path, *, missing_ok: bool = False) -> tuple[dict[str, tuple[str, ...]], Tables]:
    """The tables of each config, and the files of each table by split, as the card names them.

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
    """The tables of each question, by its benchmark and id."""
    import pyarrow as pa
    import pyarrow.parquet as pq

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
