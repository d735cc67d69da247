"""The pictures of proposed questions as files, so that a reviewer of a sheet can see them.

Contract: a file is named by the hash of its content and stands in one folder beside the sheet; nothing of a data
set's own names becomes a path. A picture that is there already is not written again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from livek12.core.errors import UserError
from livek12.core.files import make_subfolder, write_atomically
from livek12.core.records import Image, Question

_ENDINGS = {b"\x89PNG": ".png", b"\xff\xd8\xff": ".jpg", b"RIFF": ".webp", b"GIF8": ".gif", b"BM": ".bmp"}


def folder_of(sheet: Path) -> Path:
    """Where the pictures of a sheet stand."""
    return sheet.with_name(f"{sheet.stem}.pictures")


def write(questions: Iterable[Question], ids: Collection[str], sheet: Path) -> dict[str, str]:
    """Writes the pictures of the questions with these ids.

    Returns:
        The files of each question, relative to the sheet's folder, for its cell.

    Raises:
        UserError: a file cannot be written.
    """
    folder = folder_of(sheet)
    found = {}
    try:
        for question in questions:
            if question.id in ids and question.images:
                folder.parent.mkdir(parents=True, exist_ok=True)
                make_subfolder(folder.parent, folder.name)
                names = [_write(image, folder) for image in question.images if image.bytes]
                found[question.id] = "\n".join(f"{folder.name}/{name}" for name in names)
    except OSError as error:
        raise UserError(f"{folder}: pictures cannot be written there ({error.strerror})") from None
    return found


def _write(image: Image, folder: Path) -> str:
    data = image.bytes or b""
    ending = next((ending for magic, ending in _ENDINGS.items() if data.startswith(magic)), ".bin")
    file = folder / f"{image.sha256[:20]}{ending}"
    if not file.exists():
        write_atomically(file, data, sync=False)
    return file.name
