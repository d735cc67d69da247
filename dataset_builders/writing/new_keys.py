"""Newer keys in the rows of a built data set, which is replaced in one step."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from livek12.core.key_versions import KEYS_FILE, KeyBook, KeyVersion, QuestionKey, read_keys
from livek12.dataset_builders.base import PAGES
from livek12.dataset_builders.reading.built import tables_of
from livek12.dataset_builders.writing.card import rewrite_metadata
from livek12.dataset_builders.writing.data_set import replace, workspace
from livek12.dataset_builders.writing.parquet import writer_options


def put_keys(folder: Path, version: KeyVersion) -> KeyBook:
    """Puts a version's keys into the rows of a data set and notes it; the folder is replaced in one step."""
    book = read_keys(folder).with_version(version)
    keys = {change.id: change.now for change in version.changes}
    with workspace(folder) as room:
        new = room / "new"
        shutil.copytree(folder, new, copy_function=_linked)
        for table, splits in tables_of(new)[1].items():
            for file in () if table == PAGES else [file for files in splits.values() for file in files]:
                _rewrite(file, keys)
        (new / KEYS_FILE).unlink(missing_ok=True)
        (new / KEYS_FILE).write_text(book.text, encoding="utf-8")
        rewrite_metadata(new)
        replace(folder, new, room / "old")
    return book


def _linked(source: str, target: str) -> None:
    """Tables by a link, the small files beside them by a copy, since they are written anew."""
    copy: Callable[[str, str], object] = os.link if source.endswith(".parquet") else shutil.copyfile
    try:
        copy(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _rewrite(file: Path, keys: Mapping[str, QuestionKey]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if keys.keys().isdisjoint(pq.read_table(file, columns=["id"], partitioning=None)["id"].to_pylist()):
        return
    target = file.with_name(f".{file.name}")
    with pq.ParquetFile(file) as parquet:
        columns = parquet.schema_arrow
        with pq.ParquetWriter(target, columns, **writer_options(columns)) as writer:
            for group in range(parquet.num_row_groups):
                table = parquet.read_row_group(group)
                ids = table["id"].to_pylist()
                for name in ("answer", "question_type"):
                    place = columns.get_field_index(name)
                    values = table[name].to_pylist()
                    new = [getattr(keys[id], name) if id in keys else was for id, was in zip(ids, values, strict=True)]
                    table = table.set_column(place, columns.field(place), pa.array(new, columns.field(place).type))
                writer.write_table(table, row_group_size=max(1, table.num_rows))
    target.replace(file)
