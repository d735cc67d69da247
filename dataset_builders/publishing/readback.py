"""Loads the published set back from the Hub, as its readers will, and compares it with the folder.

Contract: the Hub must list every file with its local hash; then `datasets` streams each config by commit into a
temporary cache, and each split must have the same ids in the same order and an equal first record.
"""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from livek12.core.errors import UserError
from livek12.core.features import SPLIT, FlatRow, from_row, is_flat
from livek12.core.progress import Progress
from livek12.core.questions import data_files, read_card, read_records
from livek12.core.records import Page, Question, Record
from livek12.dataset_builders.base import PAGES, one_line
from livek12.dataset_builders.publishing.plan import LocalFile, changes
from livek12.dataset_builders.publishing.policy import read_columns
from livek12.dataset_builders.publishing.remote import Repository
from livek12.dataset_builders.writing.parquet import flat_rows


def read_back(
    repository: Repository, commit: str, folder: Path, local: dict[str, LocalFile]
) -> dict[str, dict[str, int]]:
    """Returns the rows of each config and split as loaded."""
    for change in changes(local, repository.files(commit)):
        if change.kind in ("added", "changed"):
            _differs(repository, f"{change.path} is {change.kind} against the folder")
    configs = read_card(folder) | {name: {SPLIT: [f"{name}/{SPLIT}-*.parquet"]} for name in flat_rows(folder)}
    counts: dict[str, dict[str, int]] = {}
    with (
        _quiet(),
        tempfile.TemporaryDirectory(prefix="livek12-") as cache,
        Progress("loading back", len(configs)) as bar,
    ):
        for config, splits in configs.items():
            loaded = _load(repository, commit, config, Path(cache))
            if set(loaded) != set(splits):
                _differs(repository, f"config {config} has splits {', '.join(sorted(loaded))}")
            for split, patterns in splits.items():
                where, files = f"config {config}, split {split}", data_files(folder, patterns)
                keys = _keys_on_the_hub(repository, commit, folder, files, config)
                _compare(repository, where, files, loaded[split], keys, config)
                counts.setdefault(config, {})[split] = len(keys)
            bar.step()
    return counts


def _keys_on_the_hub(
    repository: Repository, commit: str, folder: Path, files: list[Path], config: str
) -> list[tuple[Any, ...]]:
    keys = []
    for file in files:
        with repository.open(file.relative_to(folder).as_posix(), commit) as remote:
            keys += [tuple(row.values()) for row in read_columns(remote, _key_columns(config))]
    return keys


def _compare(repository: Repository, where: str, files: list[Path], rows: Any, theirs: list[Any], config: str) -> None:
    record: type[Record] = FlatRow if is_flat(config) else Page if config == PAGES else Question
    mine = [tuple(row.values()) for file in files for row in read_columns(file, _key_columns(config))]
    if mine != theirs:
        _differs(repository, f"{where}: {len(theirs)} rows for {len(mine)}, or other ids")
    first = next((streamed for file in files for streamed in read_records(record, file)), None)
    streamed = _first(rows.decode(False))
    if (streamed is None) != (first is None) or (streamed is not None and from_row(record, streamed) != first):
        _differs(repository, f"{where}: the first row is another")


def _first(rows: Any) -> Any:
    """The first row. Ends the reader: Arrow threads that still read abort a process that exits."""
    reading = iter(rows)
    try:
        return next(reading, None)
    finally:
        reading.close()
        gc.collect()


def _load(repository: Repository, commit: str, config: str, cache: Path) -> Any:
    from datasets import load_dataset

    try:
        return load_dataset(repository.name, config, revision=commit, streaming=True, cache_dir=str(cache))
    except Exception as error:  # datasets raises its own, the Hub's and OSErrors
        raise UserError(
            f"{repository.name}: published, but config {config} does not load ({one_line(error, 160)}); run the same"
            " command again"
        ) from None


def _key_columns(config: str) -> list[str]:
    return ["paper_id", "page_number"] if config == PAGES else ["id"]


def _differs(repository: Repository, what: str) -> None:
    raise UserError(f"{repository.name}: published, but not the same when loaded back: {what}; run the command again")


@contextmanager
def _quiet() -> Iterator[None]:
    import datasets

    shown = datasets.utils.is_progress_bar_enabled()
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        if shown:
            datasets.enable_progress_bars()
