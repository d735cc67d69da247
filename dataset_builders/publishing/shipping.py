"""Brings one repository of the Hub to the state of a folder: compare, send, commit, tag, load back.

Contract: contents are compared by the hashes the Hub lists: SHA-256 for LFS objects, git's SHA-1 for regular files.
Only files of an earlier publish (see `remote.with_owner`) are removed. A restart skips what was sent; one commit
changes all files together. Then the Hub must list every file with its local hash, and `datasets` streams each config by
commit into a temporary cache: each split must have the same ids in the same order and an equal first record.
"""

from __future__ import annotations

import gc
import hashlib
import re
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from livek12.core.errors import UserError
from livek12.core.features import SPLIT, FlatRow, from_row, is_flat
from livek12.core.progress import Progress
from livek12.core.questions import CARD, data_files, read_card, read_records
from livek12.core.records import Page, Question, Record
from livek12.dataset_builders.base import PAGES, one_line
from livek12.dataset_builders.publishing.policy import read_columns
from livek12.dataset_builders.publishing.remote import (
    HUBS_OWN,
    WAITS,
    Changed,
    RemoteFile,
    Repository,
    State,
    Unanswered,
    local_operation,
)
from livek12.dataset_builders.writing.card import METADATA
from livek12.dataset_builders.writing.listings import PUBLISHED, SHARED, Gate
from livek12.dataset_builders.writing.parquet import flat_rows

Kind = Literal["added", "changed", "removed", "unchanged"]
_BLOCK = 1 << 20
BATCH_FILES = 8
BATCH_BYTES = 256 << 20
ATTEMPTS = 3
"""Attempts of a commit whose answer was lost."""
_TAG = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_-]|\.(?!\.|$|lock$))*")


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
        if file.suffix != ".parquet" and path.as_posix() not in {*METADATA, PUBLISHED, *SHARED}:
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


def check_free_places(name: str, files: dict[str, LocalFile], state: State) -> None:
    """Refuses to overwrite a file of others."""
    for path, file in files.items():
        if path in state.theirs and not file.is_same(state.theirs[path]):
            raise UserError(
                f"{name} has a file {path} that livek12 did not publish: it stays as it is; move it on the Hub, or take"
                " that of the folder away"
            )


def _is_published(local: dict[str, LocalFile], remote: dict[str, RemoteFile]) -> bool:
    return all(file.is_same(remote.get(path)) for path, file in local.items())


def holds_records(path: str) -> bool:
    """True for tables of questions or pages; flat tables are regenerated at each publish."""
    return path.endswith(".parquet") and not is_flat(table_of(path))


def table_of(path: str) -> str:
    """The table of a file in a repository."""
    return path.partition("/")[0]


def _free_tag(name: str, taken: Iterable[str]) -> str:
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


def _read_back(
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


Files = dict[str, LocalFile]


@dataclass
class Shipment:
    """The planned or completed changes of one repository.

    Attributes:
        created: it did not exist (or this token cannot see it).
        tag: the name of this state; `tagged`: the tag is new.
        commit: the tagged one, None until it exists.
    """

    repo: str
    private: bool
    created: bool
    files: list[Change]
    tag: str
    tagged: bool
    committed: bool = False
    commit: str | None = None
    loaded: dict[str, dict[str, int]] = field(default_factory=dict)

    def of_kind(self, kind: str) -> list[Change]:
        """The files that are added, changed, removed or unchanged."""
        return [change for change in self.files if change.kind == kind]


class Shipping:
    """The shipment of one folder to one repository.

    `private` holds only for a repository that is created; `gate` None leaves the access unchanged.
    """

    def __init__(
        self,
        repository: Repository,
        before: State | None,
        folder: Path,
        files: Files,
        tag: str,
        *,
        private: bool,
        gate: Gate | None = None,
    ) -> None:
        self._repository, self._before, self._folder, self._files = repository, before, folder, files
        self._gate = gate
        tagged = _tagged_commit(repository, before, files, tag)
        self.shipment = Shipment(
            repo=repository.name,
            private=before.private if before else private,
            created=before is None,
            files=changes(files, before.files if before else {}),
            tag=tag,
            tagged=tagged is None,
            commit=tagged,
        )

    def ship(self) -> None:
        """Ships the folder; after a failure a reader sees the old set or the new one."""
        shipment = self.shipment
        state = self._before or self._create()
        if self._gate is not None:
            self._repository.gate(self._gate)
        if not _is_published(self._files, state.files):
            state = self._commit(state)
            shipment.committed = True
        if shipment.tagged:
            self._repository.tag(shipment.tag, state.head)
        shipment.commit = state.head
        shipment.loaded = _read_back(self._repository, state.head, self._folder, self._files)

    def _create(self) -> State:
        self._repository.create(self.shipment.private)
        state = self._repository.state()
        if state is None:
            raise UserError(
                f"{self._repository.name} is there, but the token does not see it: take one that may read it"
            )
        return state

    def _commit(self, state: State) -> State:
        """Sends the missing contents and commits; after a lost answer there is still only one commit."""
        todo = changes(self._files, state.files)
        paths = [change.path for change in todo if change.kind in ("added", "changed")]
        removed = [change.path for change in todo if change.kind == "removed"]
        operations = {path: local_operation(path, self._files[path].file) for path in paths}
        with Progress("uploading", len(paths)) as bar:
            for batch in _batches(paths, self._files):
                self._repository.upload([operations[path] for path in batch])
                for _ in batch:
                    bar.step()
        for wait in (*WAITS[: ATTEMPTS - 1], None):
            problem: Changed | Unanswered | None = None
            try:
                self._repository.commit(list(operations.values()), removed, f"Publish {self.shipment.tag}", state.head)
            except (Changed, Unanswered) as error:
                problem = error
            now = self._repository.state()
            if now and _is_published(self._files, now.files):
                return now
            if now is None or now.head != state.head:
                raise Changed(self._repository.name)
            if problem is None or wait is None:
                raise problem or Unanswered(
                    f"{self._repository.name}: the Hub took the commit, but does not show it yet: run the same command"
                    " again"
                )
            time.sleep(wait)
        raise AssertionError("the last attempt returns or raises")


def _batches(paths: Sequence[str], files: Files) -> Iterator[list[str]]:
    batch: list[str] = []
    for path in paths:
        if batch and (len(batch) == BATCH_FILES or sum(files[p].size for p in batch) + files[path].size > BATCH_BYTES):
            yield batch
            batch = []
        batch.append(path)
    if batch:
        yield batch


def _tagged_commit(repository: Repository, before: State | None, files: Files, tag: str) -> str | None:
    if not _TAG.fullmatch(tag) or (before and tag in before.branches):
        raise UserError(f"--tag {tag!r} is no name for a tag: take letters, digits, '.', '-' and '_'")
    taken = before.tags if before else {}
    if tag not in taken:
        return None
    if _is_published(files, repository.files(taken[tag])):
        return taken[tag]
    raise UserError(
        f"{repository.name}: tag {tag} names another content already (commit {taken[tag][:12]}), and a tag is never"
        f" moved: give --tag {_free_tag(tag, taken)}"
    )
