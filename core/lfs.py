"""Git LFS pointers: what a clone without Git LFS holds in place of its large files."""

from __future__ import annotations

import re
from pathlib import Path

from livek12.core.errors import UserError

_POINTER = re.compile(rb"version https://git-lfs\.github\.com/spec/v1\s")
_SIZE = re.compile(rb"^size (\d{1,18})\s*$", re.MULTILINE)
_LONGEST = 1024
"""Bytes; the specification keeps a pointer below them."""


def pointer_note(data: bytes) -> str:
    """A pointer in words, with the way to its file; "" for anything else.

    Args:
        data: the beginning of a file, 1,024 bytes at least where it has as many.
    """
    if not _POINTER.match(data):
        return ""
    size = _SIZE.search(data[:_LONGEST])
    bytes_ = f" of {int(size[1]):,} bytes" if size else ""
    return f"a Git LFS pointer, not the file itself{bytes_}: run `git lfs pull` in its clone, or download the file"


def pointer_note_of(path: Path) -> str:
    """The same of a file; "" too where it is none, or cannot be read, which its reader tells of."""
    try:
        if not path.is_file():  # a pipe can be read once
            return ""
        with path.open("rb") as file:
            return pointer_note(file.read(_LONGEST))
    except OSError:
        return ""


def refuse_pointer(path: Path) -> None:
    """Looks at a file before it is parsed.

    Raises:
        UserError: it is a pointer.
    """
    if note := pointer_note_of(path):
        raise UserError(f"{path}: is {note}")
