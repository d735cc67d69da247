"""Cache on disk: equal inputs are decided once across runs and processes.

Contract: a store maps a text (hashed) to a text, for any threads and processes; values survive `kill -9`. Beyond
`limit` entries the oldest are dropped. A damaged store is made anew or bypassed, without an error.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import sqlite3
import threading
import time
from pathlib import Path

_log = logging.getLogger(__name__)
LAYOUT = 1
DECISIONS = "decisions"
"""The store of what the rules decided."""
VOTES = "votes"
"""The store of what judge models replied."""
LIMIT = 1_000_000
"""The most entries of a store, unless told otherwise."""
BUSY_SECONDS = 5.0
DAMAGED = (
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_FORMAT,
    sqlite3.SQLITE_SCHEMA,
    sqlite3.SQLITE_ERROR,  # other tables or columns than ours
    sqlite3.SQLITE_IOERR,  # a file that was cut short
)
WAITING = 200
"""Values that are not urgent are written so many at a time (or after a second)."""


def cache_folder() -> Path:
    """Folder of stores: LIVEK12_CACHE, else the user's cache folder."""
    own = os.environ.get("LIVEK12_CACHE")
    if own:
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "livek12"


class Store:
    """File of cached values."""

    def __init__(self, name: str, folder: Path | None = None, limit: int = LIMIT) -> None:
        self.path = (folder or cache_folder()) / f"{name}-{LAYOUT}.sqlite"
        self.limit = limit
        self._lock = threading.RLock()
        self._waiting: dict[bytes, str] = {}
        self._written = time.monotonic()
        self._db: sqlite3.Connection | None = None
        self._opened = False
        self._since_prune = 0

    def get(self, key: str | bytes) -> str | None:
        """Value of a key, or of its digest; None if unknown or unreadable."""
        digest = digest_of(key)
        with self._lock:
            if digest in self._waiting:
                return self._waiting[digest]
            row = self._run("SELECT value FROM known WHERE key = ?", (digest,))
        return row[0] if row and isinstance(row[0], str) else None

    def put(self, key: str | bytes, value: str, urgent: bool = True) -> None:
        """Stores a value; `urgent` (paid for) at once, others within a second or a batch."""
        with self._lock:
            self._waiting[digest_of(key)] = value
            if urgent or len(self._waiting) >= WAITING or time.monotonic() - self._written > 1.0:
                self.flush()

    def flush(self) -> None:
        """Writes pending values."""
        with self._lock:
            rows, self._waiting = list(self._waiting.items()), {}
            self._written = time.monotonic()
            if not rows:
                return
            now = int(time.time())
            many = [(key, value, now) for key, value in rows]
            if self._write(many):
                self._since_prune += len(rows)
                if self._since_prune > self.limit // 20:
                    self._prune()

    def close(self) -> None:
        """Writes pending values and closes the file; the store may be used again."""
        with self._lock:
            self.flush()
            if self._db is not None:
                with contextlib.suppress(sqlite3.Error):
                    self._db.close()
            self._db, self._opened = None, False

    def remove(self) -> None:
        """Closes the file and removes it."""
        with self._lock:
            self.close()
            self._unlink()

    def _unlink(self) -> None:
        for file in (self.path, *(self.path.with_name(self.path.name + end) for end in ("-wal", "-shm"))):
            file.unlink(missing_ok=True)

    def __len__(self) -> int:
        with self._lock:
            self.flush()
            row = self._run("SELECT count(*) FROM known", ())
        return int(str(row[0])) if row else 0

    def _run(self, statement: str, values: tuple[object, ...]) -> tuple[object, ...] | None:
        for _ in range(2):
            db = self._connection()
            if db is None:
                return None
            try:
                row: tuple[object, ...] | None = db.execute(statement, values).fetchone()
                return row
            except sqlite3.Error as error:
                self._mend(error)
        return None

    def _write(self, rows: list[tuple[bytes, str, int]]) -> bool:
        for _ in range(2):
            db = self._connection()
            if db is None:
                return False
            try:
                with db:
                    db.executemany("INSERT OR REPLACE INTO known (key, value, at) VALUES (?, ?, ?)", rows)
                return True
            except sqlite3.Error as error:
                self._mend(error)
        return False

    def _prune(self) -> None:
        self._since_prune = 0
        db = self._connection()
        if db is None:
            return
        try:
            with db:
                db.execute(
                    "DELETE FROM known WHERE rowid <= (SELECT rowid FROM known ORDER BY rowid DESC LIMIT 1 OFFSET ?)",
                    (self.limit,),
                )
        except sqlite3.Error as error:
            self._mend(error)

    def _connection(self) -> sqlite3.Connection | None:
        if not self._opened:
            self._opened = True
            try:
                self._db = _open(self.path)
            except (sqlite3.DatabaseError, OSError) as error:
                self._mend(error)
        return self._db

    def _mend(self, error: Exception) -> None:
        """Remakes a damaged file once; leaves a busy one alone; bypasses the store after any other trouble."""
        code = getattr(error, "sqlite_errorcode", None)
        if isinstance(code, int) and code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return
        if self._db is not None:
            with contextlib.suppress(sqlite3.Error):
                self._db.close()
        self._db = None
        try:
            if not isinstance(code, int) or code & 0xFF not in DAMAGED:
                raise error
            self._unlink()
            self._db = _open(self.path)
            _log.warning("%s was damaged (%s) and is begun anew", self.path, error)
        except (sqlite3.Error, OSError) as trouble:
            _log.warning("%s cannot be used (%s): nothing is remembered", self.path, trouble)


def _open(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Autocommit off only inside `with db`; threads share it under the store's lock.
    db = sqlite3.connect(path, timeout=BUSY_SECONDS, check_same_thread=False)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = OFF")  # a kill loses nothing; a power cut costs at most the file
        db.execute("CREATE TABLE IF NOT EXISTS known (key BLOB PRIMARY KEY, value TEXT NOT NULL, at INTEGER NOT NULL)")
        db.execute("SELECT key, value, at FROM known LIMIT 1").fetchone()
        db.commit()
    except sqlite3.Error:
        db.close()
        raise
    return db


def digest_of(key: str | bytes) -> bytes:
    """Name of a key in the file."""
    return key if isinstance(key, bytes) else hashlib.sha256(key.encode("utf-8", "replace")).digest()
