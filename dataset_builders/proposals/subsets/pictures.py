"""Picture files of proposed questions, for reviewers of a sheet.

Contract: files are named by content hash; names of the data set never become paths.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from livek12.core.errors import UserError
from livek12.core.files import make_subfolder, write_atomically
from livek12.core.records import Image, Question

_ENDINGS = {b"\x89PNG": ".png", b"\xff\xd8\xff": ".jpg", b"RIFF": ".webp", b"GIF8": ".gif", b"BM": ".bmp"}


def folder_of(sheet: Path) -> Path:
    """Picture folder of a sheet."""
    return sheet.with_name(f"{sheet.stem}.pictures")


def write(questions: Iterable[Question], ids: Collection[str], sheet: Path) -> dict[str, str]:
    """Writes the pictures of the questions with these ids; returns each one's cell of relative paths."""
    folder = folder_of(sheet)
    cells = {}
    try:
        for question in questions:
            if question.id in ids and question.images:
                folder.parent.mkdir(parents=True, exist_ok=True)
                make_subfolder(folder.parent, folder.name)
                names = [_write(image, folder) for image in question.images if image.bytes]
                cells[question.id] = "\n".join(f"{folder.name}/{name}" for name in names)
    except OSError as error:
        raise UserError(f"{folder}: pictures cannot be written there ({error.strerror})") from None
    return cells


def _write(image: Image, folder: Path) -> str:
    data = image.bytes or b""
    ending = next((ending for magic, ending in _ENDINGS.items() if data.startswith(magic)), ".bin")
    file = folder / f"{image.sha256[:20]}{ending}"
    if not file.exists():
        write_atomically(file, data, sync=False)
    return file.name
