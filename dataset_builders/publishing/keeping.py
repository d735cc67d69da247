"""Answers and losses of a publish: withheld answers, and content that a head on the Hub has and the dataset lacks.

Contract: two builds that differ only in keys give the same public rows: in those of the newest release every field that
tells the answer is empty, and fields derived from the key have the value they have without it. Translations are
withheld with their question; variants remain private. The private dataset has complete rows and pages of this release
and of those before. Both heads are compared with all that is published. A question is kept if each column has as many
entries as before; if text and key both differ it is another question; the same text with another key has lost its key.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from livek12.core.errors import UserError
from livek12.core.questions import CARD, configs_of, read_card
from livek12.dataset_builders.base import PAGES
from livek12.dataset_builders.publishing.policy import QuestionId, name_of, read_columns
from livek12.dataset_builders.publishing.remote import LocalFile, Repository, State, holds_records, table_of
from livek12.dataset_builders.writing.withheld import FIELDS

_COLUMNS = ("id", "benchmark", "answer", "solution", "variables", "reasoning_flow", "scheme")
_PICTURES = ("answer_images", "solution_images")
_DATED = re.compile(r"\d{4}(?:[-.]?\d{2})?")
Head = tuple[Repository, State]
_PICTURE = ".bytes"


def newest_release(releases: Mapping[str, Mapping[str, object]]) -> str:
    """Last release of livek12, or of the only other benchmark; releases are named by year and month (2605)."""
    names = set(releases.get("livek12", ())) or {name for named in releases.values() for name in named}
    if not names:
        raise UserError("no question names its release, so there is no newest one")
    if len(names) > 1 and (len({len(name) for name in names}) > 1 or not all(map(_DATED.fullmatch, names))):
        raise UserError(
            f"which release is the newest cannot be told from their names: {', '.join(sorted(names))}; name them by"
            " year and month, such as 2605"
        )
    return max(names)


def check_history(
    repository: Repository, state: State, local: Mapping[str, LocalFile], questions: set[QuestionId]
) -> None:
    """Refuses to withhold answers that an earlier commit shows.

    Only answer columns are fetched, and each content only once.
    """
    looked = {file.sha256 for file in local.values()}
    for commit in dict.fromkeys(commit for tip in sorted(state.tips) for commit in repository.history(tip)):
        for path, file in repository.files(commit).items():
            if not path.endswith(".parquet") or (file.sha256 or file.sha1) in looked:
                continue
            looked.add(file.sha256 or file.sha1)
            shown = _answered_there(repository, path, commit) & questions
            if shown:
                raise UserError(
                    f"{repository.name}: commit {commit[:12]} already shows the answers of {len(shown)} questions that"
                    f" are to be held back ({min(shown)[1]}), and a commit stays readable: publish to a new --repo, or"
                    " remove its history and tags first"
                )


def answered(file: Any) -> set[QuestionId]:
    """Questions of a table (a path or an open file) with an answer."""
    # Of pictures only the names are read.
    names = (f"{column}.list.{inner}.path" for column in _PICTURES for inner in ("element", "item"))
    return {
        name_of(row)
        for row in read_columns(file, (*_COLUMNS, *names))
        if any(variable["value"] for variable in row["variables"] or ())
        or row["solution"]
        or any(any(row[name] or ()) for name in ("answer", "reasoning_flow", "scheme", *_PICTURES))
    }


def _answered_there(repository: Repository, path: str, commit: str) -> set[QuestionId]:
    with repository.open(path, commit) as file:
        try:
            return answered(file)
        except pa.ArrowException:
            return set()  # no table at all, so nothing to read in it


@dataclass
class QuestionContent:
    """Content of one question: entries by column, texts and keys."""

    entries: dict[str, int] = field(default_factory=dict)
    texts: set[str] = field(default_factory=set)
    keys: set[str] = field(default_factory=set)

    def add(self, row: Mapping[str, Any]) -> None:
        """Adds a row of a table."""
        for column, value in row.items():
            self.entries[column] = max(self.entries.get(column, 0), _entries(value))
        self.texts.add(repr((row.get("question"), row.get("options") or [])))
        key = (row.get("answer") or [], [variable["value"] for variable in row.get("variables") or ()])
        if any(map(any, key)):
            self.keys.add(repr(key))

    def is_other(self, now: QuestionContent) -> bool:
        """True if the id now belongs to another question."""
        return self.texts.isdisjoint(now.texts) and self.keys.isdisjoint(now.keys)

    def lost(self, now: QuestionContent) -> set[str]:
        """Columns that have fewer entries now, or another key."""
        columns = {column for column, count in self.entries.items() if now.entries.get(column, 0) < count}
        return columns | ({"answer"} if self.keys and self.keys.isdisjoint(now.keys) else set())


@dataclass
class Content:
    """Questions and pages of repositories, or of folders to publish."""

    questions: defaultdict[QuestionId, QuestionContent] = field(default_factory=lambda: defaultdict(QuestionContent))
    pages: set[str] = field(default_factory=set)

    def add(self, file: Any, table: str, wanted: Collection[QuestionId] | None = None) -> None:
        """Adds the rows of a table (a path or an open file), perhaps only wanted ones."""
        if table == PAGES:
            rows = read_columns(file, ("paper_id", "page_number"))
            self.pages |= {f"page {row['page_number']} of {row['paper_id']}" for row in rows}
            return
        for row in _rows(file):
            name = name_of(row)
            if wanted is None or name in wanted:
                self.questions[name].add(row)


@dataclass
class Losses:
    """Content that a publish drops; `fields` holds questions by column."""

    rows: set[QuestionId] = field(default_factory=set)
    answers: set[QuestionId] = field(default_factory=set)
    fields: dict[str, set[QuestionId]] = field(default_factory=dict)
    configs: set[str] = field(default_factory=set)

    @property
    def of_rows(self) -> bool:
        """True if more than configs would be lost."""
        return bool(self.rows or self.answers or self.fields)

    def __bool__(self) -> bool:
        return self.of_rows or bool(self.configs)

    def __str__(self) -> str:
        phrases = [f"{_many(self.rows, 'row')} ({min(self.rows)[1]})"] if self.rows else []
        phrases += (
            [f"the answers of {_many(self.answers, 'question')} ({min(self.answers)[1]})"] if self.answers else []
        )
        phrases += [
            f"{column} of {_many(questions, 'question')} ({min(questions)[1]})"
            for column, questions in sorted(self.fields.items())
        ]
        phrases += [f"the configs {', '.join(sorted(self.configs))}"] if self.configs else []
        return ", ".join(phrases)


def losses(
    heads: Sequence[Head],
    outgoing: Mapping[Path, Mapping[str, LocalFile]],
    unseen: set[QuestionId],
    replaced: Mapping[Path, Head],
) -> Losses:
    """Compares the heads with the folders to publish.

    `unseen` are questions whose answers are kept where this token has no access; `replaced` gives the head that each
    folder replaces, whose configs it must name.
    """
    same = {name for files in outgoing.values() for file in files.values() for name in (file.sha256, file.sha1)}
    had, has = Content(), Content()
    for repository, state in heads:
        for path, file in state.files.items():
            if holds_records(path) and (file.sha256 or file.sha1) not in same:
                _add(had, repository, state, path)
    if had.questions or had.pages or unseen:
        for folder, files in outgoing.items():
            for path in files:
                if holds_records(path):
                    has.add(folder / path, table_of(path), {*had.questions, *unseen})
    dropped = _compared(had, has)
    dropped.answers |= {question for question in unseen - dropped.rows if not has.questions[question].keys}
    for folder, head in replaced.items():
        dropped.configs |= _configs(*head) - set(read_card(folder))
    return dropped


def kept_by(heads: Sequence[Head]) -> set[QuestionId]:
    """Questions in private repositories."""
    questions = set[QuestionId]()
    for repository, state in heads:
        for path in state.files:
            if holds_records(path) and table_of(path) != PAGES:
                with repository.open(path, state.head) as file, suppress(pa.ArrowException):
                    questions |= {name_of(row) for row in read_columns(file, ("benchmark", "id"))}
    return questions


def _compared(had: Content, has: Content) -> Losses:
    dropped = Losses(rows={(PAGES, page) for page in had.pages - has.pages})
    for question, before in had.questions.items():
        now = has.questions.get(question)
        if now is None or before.is_other(now):
            dropped.rows.add(question)
            continue
        for column in before.lost(now):
            if column in FIELDS:
                dropped.answers.add(question)
            else:
                dropped.fields.setdefault(column, set()).add(question)
    return dropped


def _rows(file: Any) -> Iterator[dict[str, Any]]:
    with pq.ParquetFile(file) as parquet:
        paths = (parquet.schema.column(number).path for number in range(len(parquet.schema)))
        for batch in parquet.iter_batches(columns=[path for path in paths if not path.endswith(_PICTURE)]):
            yield from batch.to_pylist()


def _entries(value: Any) -> int:
    if isinstance(value, Mapping):
        return sum(map(_entries, value.values()))
    if isinstance(value, list):
        return sum(max(1, _entries(entry)) if isinstance(entry, Mapping) else _entries(entry) for entry in value)
    return int(value is not None and value != "")


def _add(content: Content, repository: Repository, state: State, path: str) -> None:
    with repository.open(path, state.head) as file, suppress(pa.ArrowException):  # what is no table holds nothing
        content.add(file, table_of(path))


def _configs(repository: Repository, state: State) -> set[str]:
    if CARD not in state.files:
        return set()
    try:
        return set(configs_of(repository.read(CARD, state.head).decode("utf-8", errors="replace"), repository.name))
    except UserError:
        return set()


def _many(items: set[Any], what: str) -> str:
    return f"{len(items)} {what}{'s' * (len(items) != 1)}"
