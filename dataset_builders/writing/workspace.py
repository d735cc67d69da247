"""Workspace of a build: a hidden folder next to the dataset.

Contract: `out` is replaced at the end or not at all; a killed process leaves at most its hidden folder, which the next
build of the same `out` removes. A running build locks its folder; of concurrent builds the last to finish wins.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from livek12.core.errors import UserError
from livek12.core.questions import CARD
from livek12.dataset_builders.writing.card import MARK, METADATA


@contextmanager
def workspace(out: Path) -> Iterator[Path]:
    """An empty folder on the disk of `out`, locked by this process and removed at the end."""
    out.parent.mkdir(parents=True, exist_ok=True)
    _remove_dead(out)
    folder, lock = _locked(out)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def replace(out: Path, new: Path, old: Path) -> None:
    """Moves `new` to `out` and the former content to `old`, and back if that fails."""
    with suppress(FileNotFoundError):
        out.rename(old)
    try:
        new.rename(out)
    except OSError:
        if old.exists():
            old.rename(out)
        raise


def check_out(out: Path) -> None:
    """Refuses to replace anything but an earlier build."""
    if out.is_file():
        raise UserError(f"{out} is a file: give --out a folder")
    if not out.is_dir() or not any(out.iterdir()):
        return
    card = out / CARD
    if not card.is_file() or MARK not in card.read_text(encoding="utf-8", errors="replace"):
        raise UserError(f"{out} is not empty and no data set of `livek12 build`: give --out another folder")
    foreign = [
        file for file in out.rglob("*") if not (file.is_dir() or file.name in METADATA or file.suffix == ".parquet")
    ]
    if foreign:
        raise UserError(f"{out} holds other files ({foreign[0].relative_to(out)}): move them, or give another --out")


def prefix(out: Path) -> str:
    """The prefix of the hidden folders for `out`."""
    return f".{out.name}.building-"


def _locked(out: Path) -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix(out), dir=out.parent))
        with suppress(OSError):  # one that starts at the same time may have taken it for a dead one
            lock = os.open(folder, os.O_RDONLY)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if folder.exists():
                return folder, lock
            os.close(lock)


def _remove_dead(out: Path) -> None:
    for folder in out.parent.glob(f"{prefix(out)}*"):
        with suppress(OSError):  # held by a living build, or gone by now
            lock = os.open(folder, os.O_RDONLY)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
            finally:
                os.close(lock)
