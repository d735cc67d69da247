"""The files of a site: data as scripts, pictures by their hash, written only where they change.

Contract: a data file is `livek12.data("NAME", 'JSON')`; `read` gives the JSON back, and the next build goes on from it.
It is a text that the page parses: as part of a script a key `__proto__` would be none.
No data file is larger than `LARGEST`; names are ours, never taken from a record. What a build neither wrote nor kept is
removed at its end.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from markupsafe import Markup

from livek12.core.errors import UserError
from livek12.core.records import Image
from livek12.report.pictures import FIGURE_WIDTH, PictureFiles, scaled

LARGEST = 4_000_000
"""Bytes of a data file at most; browsers read one of these at a time."""
PIECE = 300_000
"""Bytes from which the fragments of one file are enough."""
OWNED = ("data", "images", "assets")
"""Folders that a build clears of what it no longer needs."""


def _quoted(value: Any) -> bytes:
    """JSON as the inside of a string of a script in single quotes."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("'", "\\u0027").replace("\\", "\\\\").encode("utf-8", "replace")


class SiteStore:
    """Writes below one folder.

    Args:
        root: the folder; made where it is missing.

    Raises:
        UserError: it cannot be made.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.written = 0
        self._kept: set[Path] = set()
        for folder in (root, *(root / name for name in OWNED)):
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise UserError(f"{folder}: cannot be made ({error.strerror}); choose another --out") from None

    def data(self, name: str, value: Any) -> None:
        """Writes a data file.

        Raises:
            UserError: it is larger than a file may be, or the disk does not take it.
        """
        content = b"livek12.data(\"%s\",'%s');\n" % (name.encode(), _quoted(value))
        if len(content) > LARGEST:
            raise UserError(f"{name}: {len(content):,} bytes are more than a file of a site may have ({LARGEST:,})")
        self.file(f"data/{name}.js", content)

    def pieces(self, name: str, items: Iterable[tuple[str, Any]]) -> list[str]:
        """Writes items under as many names as their size takes: NAME-0, NAME-1, …; the names."""
        names, part, size = list[str](), dict[str, Any](), 0
        for key, value in items:
            length = len(_quoted({key: value}))
            if part and size + length > LARGEST - 1000:
                names.append(self._piece(name, len(names), part))
                part, size = {}, 0
            part[key] = value
            size += length
        return [*names, self._piece(name, len(names), part)] if part else names

    def _piece(self, name: str, number: int, part: dict[str, Any]) -> str:
        self.data(f"{name}-{number}", part)
        return f"{name}-{number}"

    def read(self, name: str) -> Any:
        """What a data file holds; None where there is none that can be read."""
        with suppress(OSError, ValueError):
            content = (self.root / "data" / f"{name}.js").read_text("utf-8")
            return json.loads(content[content.index("'") + 1 : content.rindex("'")].replace("\\\\", "\\"))
        return None

    def keep(self, pattern: str) -> None:
        """Keeps files of an earlier build; `pattern` below the folder."""
        self._kept.update(self.root.glob(pattern))

    def file(self, name: str, content: bytes) -> None:
        """Writes a file, unless it is there already with this content.

        Raises:
            UserError: the disk does not take it.
        """
        path = self.root / name
        self._kept.add(path)
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            if path.is_file() and path.stat().st_size == len(content) and path.read_bytes() == content:
                return
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(content)
            temporary.replace(path)
            self.written += 1
        except OSError as error:
            with suppress(OSError):
                temporary.unlink()
            raise UserError(
                f"{path}: cannot be written ({error.strerror}); make room or choose another folder"
            ) from None

    def sizes(self) -> dict[str, int]:
        """Bytes of each file that this build wrote or kept."""
        return {path.relative_to(self.root).as_posix(): path.stat().st_size for path in sorted(self._kept)}

    def clear(self) -> None:
        """Removes what this build neither wrote nor kept, in its own folders alone."""
        for path in [path for folder in OWNED for path in self._files(self.root / folder)]:
            if path not in self._kept:
                with suppress(OSError):
                    path.unlink()

    def _files(self, folder: Path) -> Iterator[Path]:
        return (path for path in folder.rglob("*") if path.is_file() or path.is_symlink())


class SitePictures(PictureFiles):
    """Pictures as files of a site, named by their hash."""

    def __init__(self, store: SiteStore) -> None:
        super().__init__(())
        self._store = store

    def show(self, image: Image, label: str, width: int = FIGURE_WIDTH) -> Markup:
        """The picture as HTML, `label` saying what it is."""
        found = self.place(image, width)
        if isinstance(found, str):
            return Markup('<span class="missing">{}</span>').format(f"{label}: {found}")
        name, wide, high = found
        return Markup(
            '<img class="picture" alt="{}" src="{}" width="{}" height="{}" loading="lazy" decoding="async">'
        ).format(label, name, wide, high)

    def place(self, image: Image, width: int) -> tuple[str, int, int] | str:
        """File name, width and height of the picture at that width; or why there is none."""
        if not image.bytes:
            return "the picture is not at hand"
        stem = f"{image.sha256[:20]}-{width}"
        known = next(iter(self._store.root.glob(f"images/{stem}.*")), None)
        if known is not None and (size := _size(known)):
            self._store.keep(f"images/{known.name}")
            return f"images/{known.name}", *size
        small = scaled(image.bytes, width)
        if isinstance(small, str):
            return small
        name = f"images/{stem}.{'png' if small.mime == 'image/png' else 'jpg'}"
        self._store.file(name, small.data)
        return name, small.width, small.height


def _size(path: Path) -> tuple[int, int] | None:
    from PIL import Image as Pillow

    try:
        with Pillow.open(io.BytesIO(path.read_bytes()), formats=("PNG", "JPEG")) as bitmap:
            return bitmap.size
    except Exception:  # a damaged file is made anew
        return None


def digest_of(*values: Any) -> str:
    """A short hash of what a file is made from."""
    text = json.dumps(values, ensure_ascii=False, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]
