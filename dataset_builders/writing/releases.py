"""Adds a release to an earlier revision of a dataset, and withdraws questions from it.

Contract: earlier files are carried over byte for byte, except those with a question withdrawn now, or withheld answers
joined again; ids never change their meaning. An existing release (benchmark, language, name) must be identical, apart
from questions refused then. A new question that is a near-duplicate (see `duplicates`) of one of an older release,
unless withdrawn, is left out and logged.
"""

from __future__ import annotations

import csv
import os
import re
import shutil
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import chain, count, takewhile
from pathlib import Path

import pyarrow as pa

from livek12.core.errors import UserError, why
from livek12.core.files import write_atomically
from livek12.core.questions import fingerprint
from livek12.core.records import Page, Question
from livek12.core.tables import csv_text
from livek12.dataset_builders.base import PAGES, Log, PageKey, Records, UniqueIds, one_line
from livek12.dataset_builders.duplicates.finding import DuplicateIndex, Match
from livek12.dataset_builders.duplicates.library import Stem, stem
from livek12.dataset_builders.reading.built import open_data_set, stored, tables_of
from livek12.dataset_builders.writing.card import WITHDRAWN, WITHDRAWN_COLUMNS, read_withdrawn
from livek12.dataset_builders.writing.parquet import Counts, rewrite, with_column
from livek12.dataset_builders.writing.statistics import NOT_STATED, Statistics, read_statistics
from livek12.dataset_builders.writing.withheld import WithheldAnswers, read_withheld, without_answers

Release = tuple[str, str, str | None]
"""Benchmark, language and name."""


@dataclass(frozen=True)
class Withdrawal:
    """A withdrawn question: its id, the release and the reason."""

    id: str
    release: str
    reason: str


def read_withdrawals(file: Path) -> list[Withdrawal]:
    """Reads a withdrawal list (CSV): id, reason, and the release that withdraws it.

    A first line with `id` is a heading; empty lines and lines that begin with # are skipped. Every line needs all
    three, and ids are unique.
    """
    try:
        rows = list(csv.reader(file.read_text(encoding="utf-8-sig").splitlines()))
    except (OSError, ValueError, csv.Error) as error:
        raise UserError(f"{file}: cannot be read as a list of withdrawals ({why(error)})") from None
    withdrawals: dict[str, Withdrawal] = {}
    for number, row in enumerate(rows, start=1):
        id, reason, release, *_ = [*(cell.strip() for cell in row), "", "", ""]
        if not any(row) or id.startswith("#") or (number == 1 and id.lower() == "id"):
            continue
        if not id or not reason or not release:
            raise UserError(f"{file}:{number}: a line is ID, REASON, RELEASE (the release that withdraws it)")
        if id in withdrawals:
            raise UserError(f"{file}:{number}: {one_line(id, 80)} is already withdrawn by a line above")
        withdrawals[id] = Withdrawal(id, release, reason)
    if not withdrawals:
        raise UserError(f"{file}: names no question to withdraw; a line is ID, REASON, RELEASE")
    return list(withdrawals.values())


class Base:
    """Earlier revision of a build; `answers` is the dataset with the answers that it withholds."""

    def __init__(self, place: str, name: str, withdrawals: list[Withdrawal], answers: str = "") -> None:
        self.folder = open_data_set(place)
        self._answers = _held_answers(place, self.folder, answers)
        _, self._tables = tables_of(self.folder)
        if (stored_name := read_statistics(self.folder).get("data_set")) != name:
            raise UserError(
                f"{place} is a data set of {stored_name}, not of {name}: give --base an earlier build of {name}"
            )
        self.statistics = Statistics()
        self.counts: Counts = {}
        self._place = place
        self._withdrawals = {withdrawal.id: withdrawal for withdrawal in withdrawals}
        self._withdrawn: Counter[str] = Counter()
        self._contents: dict[Release, dict[str, str]] = {}
        self._pages: dict[PageKey, str] = {}
        stems: list[Stem] = []
        for record, tables, split in stored(self._tables):
            for table in tables:
                splits = self.counts.setdefault(table, {})
                splits[split] = splits.get(split, 0) + 1
            if isinstance(record, Page):
                self._pages[record.paper_id, record.page_number] = record.image.sha256
                self.statistics.add_page(record, split)
            else:
                question = self._taken(self._answers.filled(record) if self._answers else record)
                self.statistics.add(question, tables, split)
                if question.removed_in is None:
                    stems.append(stem(without_answers(question)))
        if lost := sorted(set(self._withdrawals) - set(self._withdrawn)):
            raise UserError(f"{place} has no question {one_line(lost[0], 80)} to withdraw ({len(lost)} of the list)")
        if double := [id for id, count in self._withdrawn.items() if count > 1]:
            raise UserError(
                f"{place}: several benchmarks have a question {double[0]}; withdraw it in their own data sets"
            )
        self._index = DuplicateIndex(stems)

    @property
    def questions(self) -> int:
        """Questions of the earlier revision."""
        return self.statistics.questions

    def new(self, records: Records, log: Log) -> Records:
        """New records without near-duplicates; UserError if an existing release differs."""
        ids = self._ids()
        seen: dict[Release, set[str]] = {}
        for record in records:
            if isinstance(record, Page):
                if self._is_new(record):
                    yield record
            elif (release := _release(record)) in self._contents:
                if name := self._known_as(record, release):
                    seen.setdefault(release, set()).add(name)
                else:
                    self._check_refused(record, release, log)
            elif not self._is_refused(record, log):
                unique = ids[record.benchmark].claim(record.id)
                if unique != record.id:
                    log.note(_shown(release), record.id, f"an older release has this id: named {unique}")
                yield record.model_copy(update={"id": unique})
        for release, present in seen.items():
            if lost := sorted(set(self._contents[release]) - present):
                raise self._changed(release, f"{lost[0]} is missing now ({len(lost)} questions are)")
            log.notes.append(f"{_shown(release)}: already in {self._place}, the same {len(present)} questions")

    def carry(self, folder: Path) -> None:
        """Adds the earlier files; new files of an existing split are renamed."""
        for table, splits in self._tables.items():
            (folder / table).mkdir(exist_ok=True)
            for split, files in splits.items():
                _make_room(folder / table, split, files)
                for file in files:
                    self._carry_file(file, folder / table / file.name)
        listed = [*read_withdrawn(self.folder), *self._entries()]
        if listed:
            rows = [[entry[name] for name in WITHDRAWN_COLUMNS] for entry in listed]
            write_atomically(folder / WITHDRAWN, csv_text([WITHDRAWN_COLUMNS, *rows]))

    def _entries(self) -> list[dict[str, str]]:
        withdrawn = {entry["id"] for entry in read_withdrawn(self.folder)}
        new = (withdrawal for id, withdrawal in self._withdrawals.items() if id not in withdrawn)
        return [{"id": entry.id, "removed_in": entry.release, "reason": entry.reason} for entry in new]

    def _taken(self, question: Question) -> Question:
        content = fingerprint([question.model_copy(update={"removed_in": None})])
        self._contents.setdefault(_release(question), {})[question.id] = content
        withdrawal = self._withdrawals.get(question.id)
        if withdrawal is None:
            return question
        if question.removed_in not in (None, withdrawal.release):
            raise UserError(f"{question.id} is withdrawn already, in {question.removed_in}; take it off the list")
        self._withdrawn[question.id] += 1
        return question.model_copy(update={"removed_in": withdrawal.release})

    def _ids(self) -> defaultdict[str, UniqueIds]:
        ids: defaultdict[str, UniqueIds] = defaultdict(UniqueIds)
        for (benchmark, _, _), contents in self._contents.items():
            for id in contents:
                ids[benchmark].claim(id)
        return ids

    def _is_new(self, page: Page) -> bool:
        digest = self._pages.get((page.paper_id, page.page_number))
        if digest not in (None, page.image.sha256):
            raise UserError(
                f"page {page.page_number} of paper {page.paper_id} is another picture in {self._place}: a page is"
                " never rewritten; give the new paper an id of its own"
            )
        return digest is None

    def _known_as(self, question: Question, release: Release) -> str | None:
        contents = self._contents[release]
        plain = question.model_copy(update={"removed_in": None})
        for name in chain([question.id], takewhile(self._is_taken, (f"{question.id}-{n}" for n in count(2)))):
            if name in contents and contents[name] == fingerprint([plain.model_copy(update={"id": name})]):
                return name
        return None

    def _is_taken(self, id: str) -> bool:
        return any(id in contents for contents in self._contents.values())

    def _check_refused(self, question: Question, release: Release, log: Log) -> None:
        if question.id in self._contents[release]:
            raise self._changed(release, f"{question.id} has other content there")
        if not self._is_refused(question, log, by_key=True) and not self._is_refused(question, log):
            raise self._changed(release, f"{question.id} is not in it")

    def _changed(self, release: Release, how: str) -> UserError:
        return UserError(
            f"release {_shown(release)} is already in {self._place}, and {how}: a release is never rewritten; give new"
            " questions another release, or withdraw old ones with --withdraw"
        )

    def _is_refused(self, question: Question, log: Log, *, by_key: bool = False) -> bool:
        """True if a question repeats an older one; logs the original.

        Fields derived from keys, which may be withheld, are not compared. `by_key` also refuses as before that rule.
        """
        own, release = stem(without_answers(question)), _release(question)
        others = self._index.matches(own, by_key=by_key)
        matches = [match for match in others if _release(match.other) != release]
        if not matches:
            return False
        where, best = _shown(release), matches[0]
        if not best.difference:
            log.skip(where, question.id, f"near-duplicate of {_pair(own, best)}")
        elif not by_key:
            log.note(where, question.id, f"a variant ({best.difference}) of {_pair(own, best)}")
        return not best.difference

    def _carry_file(self, file: Path, target: Path) -> None:
        marks = {id: withdrawal.release for id, withdrawal in self._withdrawals.items()}
        changed = marks.keys() | (self._answers.ids() if self._answers else set())

        def change(table: pa.Table) -> pa.Table:
            if "removed_in" not in table.column_names:
                raise UserError(f"{file}: has no column removed_in; build the data set again from its source")
            table = self._answers.fill(table) if self._answers else table
            rows = zip(table["id"].to_pylist(), table["removed_in"].to_pylist(), strict=True)
            return with_column(table, "removed_in", [marks.get(id, was) for id, was in rows])

        if file.parent.name != PAGES and rewrite(file, target, changed, change):
            return
        if file.is_symlink():  # a snapshot in the Hub's cache: a change here must not reach it
            shutil.copyfile(file, target)
        else:
            try:
                os.link(file, target)
            except OSError:
                shutil.copyfile(file, target)


def _release(question: Question | Stem) -> Release:
    return question.benchmark, question.language, question.release


def _shown(release: Release) -> str:
    benchmark, language, name = release
    return f"{benchmark} {language} {name or NOT_STATED}"


def _pair(own: Stem, match: Match) -> str:
    other = match.other
    return f"{other.id} ({match.similarity:.2f}): “{one_line(own.shown, 70)}” / “{one_line(other.shown, 70)}”"


def _make_room(folder: Path, split: str, old: list[Path]) -> None:
    new = sorted(folder.glob(f"{split}-*.parquet"))
    added = [int(match[1]) for file in old if (match := re.match(rf"{re.escape(split)}-add(\d+)-", file.name))]
    for file in new:
        rest = file.name.removeprefix(f"{split}-")
        file.rename(folder / f"{split}-add{max(added, default=0) + 1:02d}-{rest}")


def _held_answers(place: str, folder: Path, answers: str) -> WithheldAnswers | None:
    withheld = read_withheld(folder)
    if withheld and not answers:
        raise UserError(
            f"{place} holds the answers of release {withheld.release} back, and a data set built on it would have lost"
            f" them: add --base-answers {withheld.repo}, or build on a folder that has them"
        )
    if answers and not withheld:
        raise UserError(f"{place} holds no answers back: leave --base-answers out")
    return WithheldAnswers(withheld, answers, open_data_set(answers)) if withheld else None
