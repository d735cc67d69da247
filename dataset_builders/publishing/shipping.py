"""Brings one repository of the Hub to the state of a folder: compare, send, commit, tag, load back.

Contract: a restart skips what was sent; one commit changes all files together.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from livek12.core.errors import UserError
from livek12.core.progress import Progress
from livek12.dataset_builders.publishing.plan import Change, LocalFile, changes, free_tag, is_published
from livek12.dataset_builders.publishing.readback import read_back
from livek12.dataset_builders.publishing.remote import WAITS, Changed, Repository, State, Unanswered, local_operation
from livek12.dataset_builders.writing.listings import Gate

BATCH_FILES = 8
BATCH_BYTES = 256 << 20
ATTEMPTS = 3
"""Attempts of a commit whose answer was lost."""
_TAG = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_-]|\.(?!\.|$|lock$))*")
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
        if not is_published(self._files, state.files):
            state = self._commit(state)
            shipment.committed = True
        if shipment.tagged:
            self._repository.tag(shipment.tag, state.head)
        shipment.commit = state.head
        shipment.loaded = read_back(self._repository, state.head, self._folder, self._files)

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
            if now and is_published(self._files, now.files):
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
    if is_published(files, repository.files(taken[tag])):
        return taken[tag]
    raise UserError(
        f"{repository.name}: tag {tag} names another content already (commit {taken[tag][:12]}), and a tag is never"
        f" moved: give --tag {free_tag(tag, taken)}"
    )
