"""Engines that share a device are loaded one after another.

Contract: within `own_turn`, no other process of this user on this machine is in it with one of the same devices; a
process that ends has had its turn. For what is loaded at the same time is counted as one's own: vLLM measures the
memory of the whole device before and after. Where no lock can be had, nobody waits.
"""

from __future__ import annotations

import fcntl
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from livek12.core.errors import UserError
from livek12.core.run.locks import close_own, lock_own

_mine: set[str] = set()
"""Devices of the turn that this process has."""


@contextmanager
def own_turn(width: int | None = None) -> Iterator[None]:
    """Waits for devices, in one order for all.

    Args:
        width: how many of those in CUDA_VISIBLE_DEVICES, from the first on, or of all where that is not set; None for
            all that it names.
    """
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = [str(number) for number in range(width or 0)] if named is None else named.split(",")[:width]
    with ExitStack() as held:
        for name in sorted({name.strip() for name in names} - {"", "-1"} - _mine):
            with suppress(UserError, OSError):
                fd = lock_own(_folder() / f"{re.sub(r'[^A-Za-z0-9-]', '_', name)}.lock", fcntl.LOCK_EX)
                if fd is not None:
                    _mine.add(name)
                    held.callback(_mine.discard, name)
                    held.callback(close_own, fd)
        yield


def _folder() -> Path:
    """Where the locks lie: on this machine alone, and nobody else's.

    Raises:
        OSError: it cannot be made, or is another user's.
    """
    folder = Path(tempfile.gettempdir()) / f"livek12-devices-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise OSError(f"{folder} is another user's")
    return folder
