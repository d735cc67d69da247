"""What a publish would drop: rows, answers and configs that a head of the Hub has and the data set has not.

Contract: of a head only tables are looked at that do not go out again as they are, and of those only the columns that
name a row or tell its answer. An answer that moves from the private repository to the public one is not dropped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from livek12.core.errors import UserError
from livek12.core.questions import CARD, configs_of, read_card
from livek12.dataset_builders.base import PAGES
from livek12.dataset_builders.publishing.answers import answered
from livek12.dataset_builders.publishing.plan import LocalFile, holds_records
from livek12.dataset_builders.publishing.policy import QuestionId, read_columns
from livek12.dataset_builders.publishing.remote import Repository, State


@dataclass
class Content:
    """Rows by benchmark and id (of pages: `pages` and their name), answers, and the names of configs."""

    rows: set[tuple[str, str]] = field(default_factory=set)
    answers: set[QuestionId] = field(default_factory=set)
    configs: set[str] = field(default_factory=set)

    def add(self, file: Any, table: str) -> None:
        """Notes what a table (a path or an open file) holds."""
        if table == PAGES:
            rows = read_columns(file, ("paper_id", "page_number"))
            self.rows |= {(PAGES, f"page {row['page_number']} of {row['paper_id']}") for row in rows}
        else:
            self.rows |= {(row["benchmark"], row["id"]) for row in read_columns(file, ("benchmark", "id"))}
            self.answers |= answered(file)

    def without(self, other: Content) -> Content:
        """What the other does not hold; the answers of a row that is gone go without saying."""
        rows = self.rows - other.rows
        return Content(rows, self.answers - other.answers - rows, self.configs - other.configs)

    def __bool__(self) -> bool:
        return bool(self.rows or self.answers or self.configs)

    def __str__(self) -> str:
        said = [f"{_many(self.rows, 'row')} ({min(self.rows)[1]})"] if self.rows else []
        said += [f"the answers of {_many(self.answers, 'question')} ({min(self.answers)[1]})"] if self.answers else []
        said += [f"the configs {', '.join(sorted(self.configs))}"] if self.configs else []
        return ", ".join(said)


Head = tuple[Repository, State]


def dropped(
    public: Head | None,
    private: Sequence[Head],
    outgoing: Mapping[Path, Mapping[str, LocalFile]],
    unseen: set[QuestionId],
) -> Content:
    """What the heads have and the folders have not.

    Args:
        public: the repository as it is.
        private: those that keep its answers.
        outgoing: the folders that go out, with their files, the public one first.
        unseen: questions whose answers are kept where this token does not look.
    """
    same = {name for files in outgoing.values() for file in files.values() for name in (file.sha256, file.sha1)}
    had = Content(answers=set(unseen), configs=_configs(*public) if public else set())
    for repository, state in (*((public,) if public else ()), *private):
        for path, file in state.files.items():
            if holds_records(path) and (file.sha256 or file.sha1) not in same:
                _add(had, repository, state, path)
    has = Content(configs=set(read_card(next(iter(outgoing)))))
    if had.rows or had.answers:
        for folder, files in outgoing.items():
            for path in files:
                if holds_records(path):
                    has.add(folder / path, _table(path))
    return had.without(has)


def _add(had: Content, repository: Repository, state: State, path: str) -> None:
    import pyarrow as pa

    with repository.open(path, state.head) as file:
        try:
            had.add(file, _table(path))
        except pa.ArrowException:
            """No table at all, so nothing to read in it."""


def _configs(repository: Repository, state: State) -> set[str]:
    """The configs that the card of a head names."""
    if CARD not in state.files:
        return set()
    try:
        return set(configs_of(repository.read(CARD, state.head).decode("utf-8", errors="replace"), repository.name))
    except UserError:
        return set()


def _table(path: str) -> str:
    return path.partition("/")[0]


def _many(found: set[Any], what: str) -> str:
    return f"{len(found)} {what}{'s' * (len(found) != 1)}"
