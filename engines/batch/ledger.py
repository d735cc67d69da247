"""Ledger of batches in a folder: what was submitted, and what came back.

    batches-0.jsonl     one `Batch` a line: its whole state; the last line of a token counts
    TOKEN.jsonl         its requests, as the provider takes them
    TOKEN.ids           16 bytes a request: a hash of its key and content
    TOKEN.answers.jsonl its results, as they came

Contract: a line is on the disk before its act: without `before` nothing was submitted, and with it the provider's list
decides. Requests and results are removed once every outcome is taken and the engine closed; until then zeros replace
the hash of one that was.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
import uuid
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from livek12.core.errors import UserError, explain_errors
from livek12.core.files import check_tree, create, make_subfolder, remove_files, write_atomically
from livek12.core.records import Record, canonical_json
from livek12.core.run.access import BATCHES, only_writer
from livek12.core.run.journal import JournalWriter, read_journal

STEM = "batches"
ID_BYTES = 16
_FORGOTTEN = bytes(ID_BYTES)
INPUT, IDS, ANSWERS = ".jsonl", ".ids", ".answers.jsonl"


class Batch(Record):
    """State of one batch.

    Attributes:
        before: the provider's newest batch before the submission; None: it was not submitted.
        file: the input's name at the provider.
        answered: requests so far, as the provider counts; `failed` likewise.
        how: it ended (completed, expired, cancelled, failed).
        at: time of this line, in seconds since the epoch.
    """

    token: str = Field(pattern=r"^[0-9a-f]{32}$")
    provider: str
    address: str
    model: str
    requests: int = Field(ge=1, le=1 << 24)
    bytes: int
    state: Literal["sending", "waiting", "fetched", "done", "void"] = "sending"
    before: str | None = None
    file: str = ""
    id: str = ""
    answered: int = 0
    failed: int = 0
    how: str = ""
    reason: str = ""
    at: float = 0.0

    @property
    def is_open(self) -> bool:
        """Its results may still be wanted."""
        return self.state in ("sending", "waiting", "fetched")


class Ledger:
    """Batches of one model at one address; held by one process at a time."""

    def __init__(self, root: Path, provider: str, address: str, model: str) -> None:
        name = hashlib.sha256(canonical_json([provider, address, model]).encode()).hexdigest()[:12]
        root.mkdir(parents=True, exist_ok=True)
        self.folder = make_subfolder(root, name)
        self.named: dict[str, Any] = {"provider": provider, "address": address, "model": model}
        self._held = ExitStack()
        self._held.enter_context(only_writer(self.folder))
        check_tree(self.folder)
        self._writer = self._held.enter_context(JournalWriter(self.folder, STEM))
        self.batches = _last_states(self.folder)
        self._remove_remains()

    def put(self, batch: Batch, **changes: Any) -> Batch:
        """Notes a new state on the disk."""
        batch = batch.model_copy(update={**changes, "at": time.time()})
        self._writer.append(batch)
        self._writer.sync()
        self.batches[batch.token] = batch
        if not batch.is_open:
            remove_files(self.folder, [batch.token + ending for ending in (INPUT, IDS, ANSWERS)])
        return batch

    def file(self, batch: Batch, ending: str) -> Path:
        """A file of a batch."""
        return self.folder / (batch.token + ending)

    def ids(self, batch: Batch) -> list[bytes]:
        """Hashes of its requests, in order."""
        with explain_errors(f"{self.file(batch, IDS)}: cannot be read", "; put it back"):
            data = self.file(batch, IDS).read_bytes()
        if len(data) != ID_BYTES * batch.requests:
            raise UserError(f"{self.file(batch, IDS)}: has another length than it was written with; put it back")
        return [data[start : start + ID_BYTES] for start in range(0, len(data), ID_BYTES)]

    def note_taken(self, batch: Batch, taken: Collection[bytes]) -> None:
        """Forgets these hashes; a batch without others is done."""
        ids = [_FORGOTTEN if id in taken else id for id in self.ids(batch)]
        if {*ids} == {_FORGOTTEN}:
            self.put(batch, state="done")
        else:
            write_atomically(self.file(batch, IDS), ids)

    def close(self) -> None:
        """Leaves the folder to others; idempotent."""
        self._held.close()

    def _remove_remains(self) -> None:
        """Removes files whose batch was never noted, or is over, and half-written ones."""
        kept = (".", STEM, *(batch.token for batch in self.batches.values() if batch.is_open))
        names = [file.name for file in self.folder.iterdir()]
        remains = [name for name in names if not name.startswith(kept) or re.match(r"\.[0-9a-f]{32}\.", name)]
        remove_files(self.folder, remains)


class Outbox:
    """Files of requests to be submitted, split by the provider's limits."""

    def __init__(self, ledger: Ledger, most_requests: int, most_bytes: int) -> None:
        self._ledger, self._most_requests, self.most_bytes = ledger, most_requests, most_bytes
        self._begin()

    def _begin(self) -> None:
        self._token, self._ids, self._size = uuid.uuid4().hex, list[bytes](), 0

    @property
    def next_id(self) -> str:
        """Id of the next request, as the provider sees it."""
        return f"{self._token}-{len(self._ids)}"

    def has_room(self, size: int) -> bool:
        """True if a line fits into the file."""
        return not self._ids or (len(self._ids) < self._most_requests and self._size + size <= self.most_bytes)

    def add(self, id: bytes, line: bytes) -> None:
        """Writes a line, which has `next_id`."""
        if not self._ids:
            self._lines = create(self._ledger.folder / (self._token + INPUT))
        self._lines.write(line)
        self._ids.append(id)
        self._size += len(line)

    def end(self) -> Batch | None:
        """File as a batch to be submitted; None if it is empty."""
        if not self._ids:
            return None
        with self._lines as lines:
            lines.flush()
            os.fsync(lines.fileno())
        write_atomically(self._ledger.folder / (self._token + IDS), self._ids)
        batch = Batch(token=self._token, requests=len(self._ids), bytes=self._size, **self._ledger.named)
        self._begin()
        return self._ledger.put(batch)


def read_batches(run: Path) -> Iterator[Batch]:
    """Last state of every batch of a run folder, oldest first."""
    check_tree(run / BATCHES)
    for folder in sorted(path for path in (run / BATCHES).glob("*") if path.is_dir()):
        yield from _last_states(folder).values()


def _last_states(folder: Path) -> dict[str, Batch]:
    """By token; each process may have its own file."""
    return {batch.token: batch for batch in sorted(read_journal(folder, STEM, Batch), key=lambda batch: batch.at)}
