"""Copies of a dataset with fewer rows, or with rows without answers, for publishing.

Contract: the same rows give the same bytes. A page that shows something withheld is left out, and so is an `image_only`
row that needs it. Variants of a question without its answer, and the values drawn for them, are never published.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Literal

from livek12.core.questions import read_records
from livek12.core.records import Page, Question, Record, Source
from livek12.dataset_builders.base import IMAGE_ONLY, PAGES, PageKey
from livek12.dataset_builders.publishing.policy import PolicyRuling, QuestionId, name_of, read_columns
from livek12.dataset_builders.reading.built import tables_of
from livek12.dataset_builders.reading.keyless import without_answers
from livek12.dataset_builders.writing.card import METADATA, VARIANTS, rewrite_metadata
from livek12.dataset_builders.writing.membership import FILE as MEMBERS
from livek12.dataset_builders.writing.membership import members_of, read_members, write_members
from livek12.dataset_builders.writing.parquet import TableWriters
from livek12.dataset_builders.writing.withheld import Withheld

Fate = Literal["keep", "change", "drop"]
_COLUMNS: dict[bool, tuple[str, ...]] = {
    True: ("paper_id", "page_number"),
    False: ("benchmark", "id", "paper_id", "page_numbers", "variant"),
}


def copy_public(
    folder: Path, out: Path, ruling: PolicyRuling, keyless: Collection[QuestionId], withheld: Withheld | None
) -> None:
    """Copies the public part: nothing withheld, and the questions of `keyless` without their answers."""

    def fate(table: str, row: dict[str, Any]) -> Fate:
        outcome = _fate(table, row, ruling)
        if outcome == "drop" or table == PAGES or name_of(row) not in keyless:
            return outcome
        return "drop" if row["variant"] else "change"

    def change(question: Question) -> Question:
        licensed = _licensed(question, ruling)
        return without_answers(licensed) if (question.benchmark, question.id) in keyless else licensed

    _copy(folder, out, fate, change, withheld, keyless)


def copy_held(folder: Path, out: Path, ruling: PolicyRuling, wanted: Collection[QuestionId]) -> None:
    """Copies the complete rows of some questions, and their pages."""
    pages = set[PageKey]()

    def fate(table: str, row: dict[str, Any]) -> Fate:
        if table == PAGES:
            return _fate(table, row, ruling) if (row["paper_id"], row["page_number"]) in pages else "drop"
        if name_of(row) not in wanted:
            return "drop"
        pages.update(_page_keys(row))
        return _fate(table, row, ruling)

    _copy(folder, out, fate, lambda question: _licensed(question, ruling), None)


def _fate(table: str, row: dict[str, Any], ruling: PolicyRuling) -> Fate:
    if table == PAGES:
        return "drop" if (row["paper_id"], row["page_number"]) in ruling.pages else "keep"
    if name_of(row) in ruling.withheld or (table == IMAGE_ONLY and ruling.pages.intersection(_page_keys(row))):
        return "drop"
    return "change" if name_of(row) in ruling.permitted else "keep"


def _licensed(question: Question, ruling: PolicyRuling) -> Question:
    permission = ruling.permitted.get((question.benchmark, question.id))
    if permission is None:
        return question
    source = Source(**{**question.source.model_dump(), "licence": permission.licence})
    return question.model_copy(update={"source": source})


def _copy(
    folder: Path,
    out: Path,
    fate: Callable[[str, dict[str, Any]], Fate],
    change: Callable[[Question], Question],
    withheld: Withheld | None,
    keyless: Collection[QuestionId] = (),
) -> None:
    out.mkdir()
    _, tables = tables_of(folder)
    kept, whole = set[QuestionId](), True
    # Pages come last: the wanted ones are known only after the questions.
    for table, splits in sorted(tables.items(), key=lambda entry: entry[0] == PAGES):
        for split, files in splits.items():
            rows = [row for file in files for row in read_columns(file, _COLUMNS[table == PAGES])]
            fates = [fate(table, row) for row in rows]
            whole = whole and set(fates) <= {"keep"}
            if table != PAGES:
                kept.update(name_of(row) for row, outcome in zip(rows, fates, strict=True) if outcome != "drop")
            if set(fates) <= {"keep"}:
                (out / table).mkdir(exist_ok=True)
                for file in files:
                    (out / table / file.name).symlink_to(file.resolve())
            elif set(fates) != {"drop"}:
                _rewrite(table, split, files, out, fates, change)
    for name in set(METADATA) - {MEMBERS, VARIANTS}:
        if (folder / name).is_file():
            shutil.copyfile(folder / name, out / name)
    _copy_drawn(folder, out, {id for _, id in kept.difference(keyless)})
    write_members(out, members_of(read_members(folder), kept))
    if withheld:
        withheld.write(out)
    if withheld or not whole:
        rewrite_metadata(out)


def _copy_drawn(folder: Path, out: Path, ids: Collection[str]) -> None:
    if (folder / VARIANTS).is_file():
        lines = (folder / VARIANTS).read_text(encoding="utf-8").splitlines(keepends=True)
        (out / VARIANTS).write_text("".join(line for line in lines if json.loads(line).get("of") in ids), "utf-8")


def _rewrite(
    table: str, split: str, files: list[Path], out: Path, fates: list[Fate], change: Callable[[Question], Question]
) -> None:
    kind: type[Record] = Page if table == PAGES else Question
    records = (record for file in files for record in read_records(kind, file))
    with TableWriters(out) as writers:
        for outcome, record in zip(fates, records, strict=True):
            if outcome != "drop":
                changed = change(record) if outcome == "change" and isinstance(record, Question) else record
                writers.write(table, split, changed)


def _page_keys(row: dict[str, Any]) -> list[PageKey]:
    return [(row["paper_id"], number) for number in row["page_numbers"] or ()] if row["paper_id"] else []
