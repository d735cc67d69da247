"""Key versions: answer keys that came or changed after a dataset was built, in `keys.jsonl` of datasets and runs.

Contract: one line a version, from 1, never changed; each change states the key before it. Identities are by the first
keys. A verdict counts for one version of its question's key (`Verdict.keys`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from livek12.core.errors import explain_errors
from livek12.core.question_types import QuestionType
from livek12.core.records import Question, Record

KEYS_FILE = "keys.jsonl"


class QuestionKey(Record):
    """A key, and the type that depends on it."""

    answer: list[str]
    question_type: QuestionType

    @classmethod
    def of(cls, question: Question) -> QuestionKey:
        """That of a question."""
        return cls(answer=question.answer, question_type=question.question_type)

    def put(self, question: Question) -> Question:
        """Question with it."""
        return question.model_copy(update={"answer": self.answer, "question_type": self.question_type})


class KeyChange(Record):
    """Another key of one question."""

    id: str
    was: QuestionKey
    now: QuestionKey


class KeyVersion(Record):
    """Line of keys.jsonl; `sha256` is of the key's file, `reason` is "" for first keys."""

    number: int
    at: str
    by: str
    source: str = ""
    sha256: str = ""
    reason: str = ""
    changes: list[KeyChange]


@dataclass(frozen=True)
class KeyBook:
    """Key versions of a dataset, oldest first."""

    versions: tuple[KeyVersion, ...] = ()

    @cached_property
    def _last(self) -> dict[str, tuple[int, QuestionKey]]:
        return {change.id: (version.number, change.now) for version in self.versions for change in version.changes}

    @cached_property
    def _first(self) -> dict[str, QuestionKey]:
        changes = (change for version in reversed(self.versions) for change in version.changes)
        return {change.id: change.was for change in changes}

    def number(self, question_id: str) -> int:
        """Version of a question's key; 0: as built."""
        return self._last[question_id][0] if question_id in self._last else 0

    def newest(self, question: Question) -> Question:
        """With its newest key."""
        return self._last[question.id][1].put(question) if question.id in self._last else question

    def first(self, question: Question) -> Question:
        """With its key as built."""
        return self._first[question.id].put(question) if question.id in self._first else question

    @property
    def text(self) -> str:
        """Content of the file."""
        return "".join(version.model_dump_json() + "\n" for version in self.versions)

    @property
    def sha256(self) -> str:
        """Of the content; "" without versions."""
        return hashlib.sha256(self.text.encode()).hexdigest() if self.versions else ""

    def extends(self, other: KeyBook) -> bool:
        """True if it begins with the other."""
        return self.versions[: len(other.versions)] == other.versions

    def only(self, ids: Container[str]) -> KeyBook:
        """Without the keys of other questions."""
        changes = ([change for change in version.changes if change.id in ids] for version in self.versions)
        pairs = zip(self.versions, changes, strict=True)
        return KeyBook(tuple(version.model_copy(update={"changes": of}) for version, of in pairs))

    def errata(self) -> list[tuple[KeyVersion, KeyChange]]:
        """Changes of wrong keys."""
        return [(version, change) for version in self.versions if version.reason for change in version.changes]

    def with_version(self, version: KeyVersion) -> KeyBook:
        """With one more."""
        return KeyBook((*self.versions, version))


def read_keys(folder: Path) -> KeyBook:
    """Key versions in a folder; none without the file.

    Raises:
        UserError: a line is no version, or not the next one.
    """
    file, versions = folder / KEYS_FILE, list[KeyVersion]()
    with explain_errors(f"{file}: cannot be read:", "; put back the file that `livek12 keys` wrote", ValueError):
        lines: Iterable[bytes] = file.read_bytes().splitlines() if file.is_file() else ()
        for number, line in enumerate(lines, 1):
            version = KeyVersion.model_validate_json(line)
            if version.number != number:
                raise ValueError(f"line {number} is version {version.number}")
            versions.append(version)
    return KeyBook(tuple(versions))
