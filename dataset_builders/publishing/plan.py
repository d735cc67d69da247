"""Plan of a publish: the changes in a repository.

Contract: contents are compared by the hashes the Hub lists: SHA-256 for LFS objects, git's SHA-1 for regular files.
Only files of an earlier publish (see `owning`) are removed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from livek12.core.errors import UserError
from livek12.core.features import is_flat
from livek12.core.questions import CARD
from livek12.dataset_builders.publishing.remote import RemoteFile
from livek12.dataset_builders.writing.card import METADATA
from livek12.dataset_builders.writing.listings import PUBLISHED as FILE
from livek12.dataset_builders.writing.listings import SHARED

HUBS_OWN = frozenset({".gitattributes"})
Kind = Literal["added", "changed", "removed", "unchanged"]
_BLOCK = 1 << 20


@dataclass(frozen=True)
class LocalFile:
    """A file of the dataset with the hashes the Hub may list for it."""

    file: Path
    size: int
    sha256: str
    sha1: str

    def is_same(self, remote: RemoteFile | None) -> bool:
        """True if the Hub has the same content."""
        if remote is None:
            return False
        return remote.sha256 == self.sha256 if remote.sha256 else remote.sha1 == self.sha1


@dataclass(frozen=True)
class Change:
    """The change of one file; `bytes` is its size (the old size if it is removed)."""

    path: str
    kind: Kind
    bytes: int


def local_files(folder: Path, only: str = "*") -> dict[str, LocalFile]:
    """The visible files of a dataset by their path in the repository; `only` is a glob of names."""
    return {path: _hashed(file) for path, file in data_set_files(folder, only).items()}


def data_set_files(folder: Path, only: str = "*") -> dict[str, Path]:
    """The same without hashes."""
    by_path = {}
    for file in sorted(folder.rglob(only)):
        path = file.relative_to(folder)
        if not file.is_file() or any(part.startswith(".") for part in path.parts):
            continue
        if file.suffix != ".parquet" and path.as_posix() not in {*METADATA, FILE, *SHARED}:
            raise UserError(f"{folder}: {path} is no file of a data set: move it elsewhere before publishing")
        by_path[path.as_posix()] = file
    return by_path


def changes(local: dict[str, LocalFile], remote: dict[str, RemoteFile]) -> list[Change]:
    """The change of each file in the order of the paths, the card last; `remote` holds our files only."""
    planned = []
    for path in sorted({*local, *remote} - HUBS_OWN, key=lambda path: (path == CARD, path)):
        mine, theirs = local.get(path), remote.get(path)
        if mine is None:
            planned.append(Change(path, "removed", theirs.size if theirs else 0))
        else:
            kind: Kind = "unchanged" if mine.is_same(theirs) else "changed" if theirs else "added"
            planned.append(Change(path, kind, mine.size))
    return planned


def is_published(local: dict[str, LocalFile], remote: dict[str, RemoteFile]) -> bool:
    """True if a revision with these files has this dataset."""
    return all(file.is_same(remote.get(path)) for path, file in local.items())


def holds_records(path: str) -> bool:
    """True for tables of questions or pages; flat tables are regenerated at each publish."""
    return path.endswith(".parquet") and not is_flat(path.partition("/")[0])


def free_tag(name: str, taken: Iterable[str]) -> str:
    """The first of NAME.1, NAME.2, … that is not taken."""
    taken, number = set(taken), 1
    while f"{name}.{number}" in taken:
        number += 1
    return f"{name}.{number}"


def content_hash(local: dict[str, LocalFile]) -> str:
    """The first 12 digits of a hash of the dataset's files."""
    lines = (f"{path} {file.sha256}\n" for path, file in sorted(local.items()))
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:12]


def _hashed(file: Path) -> LocalFile:
    size = file.stat().st_size
    sha256, sha1 = hashlib.sha256(), hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    with file.open("rb") as content:
        while block := content.read(_BLOCK):
            sha256.update(block)
            sha1.update(block)
    return LocalFile(file, size, sha256.hexdigest(), sha1.hexdigest())
