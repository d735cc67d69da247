"""Files of a site: data as scripts, pictures by their hash, written only on change.

A data file is `livek12.data("NAME", 'JSON')`, a text that the page parses (in a script, a key `__proto__` would be
lost); `read` returns the JSON. Names are ours, never a record's. A build lists each file in `data/.written` before it
writes it, and removes at its end the unneeded files of earlier or killed builds: only listed ones, none through a link.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import weakref
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from markupsafe import Markup

from livek12.core.errors import UserError, explain_errors
from livek12.core.files import check_names, check_tree, make_subfolder, open_file, remove_files, write_atomically
from livek12.core.records import Image
from livek12.report.pictures import FIGURE_WIDTH, PictureFiles, scaled, size_of

LARGEST = 4_000_000
"""Most bytes of a data file; browsers read one at a time."""
PIECE = 300_000
"""Bytes of fragments that fill a file."""
OWNED = ("data", "images", "assets")
"""Folders that a build clears of unneeded files."""
_FOLDERS = [(name,) for name in OWNED]
_TOP = ("*.html", "*.json", "*.parquet", ".*")
_WRITTEN = "data/.written"
"""Names of files of an unfinished build, one a line."""
_TEMPORARY = re.compile(r"\.[\w.~-]+\.[0-9a-f]{32}")


def _quoted(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("'", "\\u0027").replace("\\", "\\\\").encode("utf-8", "replace")


class SiteStore:
    """Writes below one folder, of which the caller is the only writer (`core.run.access.only_writer`).

    `before` are the files of the build before; `fence` raises where another writes them now.
    """

    def __init__(self, root: Path, before: Iterable[str] = (), fence: Callable[[], None] = lambda: None) -> None:
        self.root, self._fence = root, fence
        self.written = 0
        self._kept: set[Path] = set()
        check_names(root, _TOP)
        for name in OWNED:
            check_tree(make_subfolder(root, name))
        self._log: int | None = None
        cut_off = (root / _WRITTEN).read_text("utf-8", "replace") if is_half_made(root) else ""
        self._listed = {*before, *cut_off.splitlines()}

    def data(self, name: str, value: Any) -> None:
        """Writes a data file."""
        content = b"livek12.data(\"%s\",'%s');\n" % (name.encode(), _quoted(value))
        if len(content) > LARGEST:
            raise UserError(f"{name}: {len(content):,} bytes are more than a file of a site may have ({LARGEST:,})")
        self.file(f"data/{name}.js", content)

    def pieces(self, name: str, items: Iterable[tuple[str, Any]]) -> list[str]:
        """Writes items in as many files as needed, NAME-0, NAME-1, …; returns their names."""
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
        """Content of a data file; None if unreadable."""
        with suppress(OSError, ValueError):
            content = (self.root / "data" / f"{name}.js").read_text("utf-8")
            return json.loads(content[content.index("'") + 1 : content.rindex("'")].replace("\\\\", "\\"))
        return None

    def keep(self, pattern: str) -> None:
        """Keeps files of an earlier build, by a glob."""
        self._kept.update(self.root.glob(pattern))

    def file(self, name: str, content: bytes) -> None:
        """Writes a file unless it has this content."""
        path = self.root / name
        self._kept.add(path)
        with explain_errors(f"{path}: cannot be written", "; make room or choose another folder"):
            if path.is_file() and path.stat().st_size == len(content) and path.read_bytes() == content:
                return
            self._list(name)
        make_subfolder(self.root, *Path(name).parts[:-1])
        write_atomically(path, content, sync=False, before=self._fence)
        self.written += 1

    def _list(self, name: str) -> None:
        if name in self._listed:
            return
        if self._log is None:
            self._log = open_file(self.root / _WRITTEN)
            weakref.finalize(self, os.close, self._log)
        os.write(self._log, f"{name}\n".encode())
        self._listed.add(name)

    def sizes(self) -> dict[str, int]:
        """Bytes of each file written or kept."""
        return {path.relative_to(self.root).as_posix(): path.stat().st_size for path in sorted(self._kept)}

    def clear(self) -> None:
        """Removes files of earlier builds, in our folders alone."""
        self._fence()
        kept = {path.relative_to(self.root).as_posix() for path in self._kept}
        remove_files(self.root, [name for name in self._listed - kept if Path(name).parts[:1] in _FOLDERS])
        for folder in OWNED:
            for place, _, files in os.walk(self.root / folder):
                remove_files(Path(place), filter(_TEMPORARY.fullmatch, files))

    def end(self) -> None:
        """Ends the build: its own list now names its files."""
        self._fence()
        remove_files(self.root, [_WRITTEN])


def is_half_made(root: Path) -> bool:
    """A build of the site was killed."""
    return (root / _WRITTEN).exists()


class SitePictures(PictureFiles):
    """Pictures as files of a site, named by hash."""

    def __init__(self, store: SiteStore) -> None:
        super().__init__(())
        self._store = store

    def show(self, image: Image, label: str, width: int = FIGURE_WIDTH) -> Markup:
        """The picture as HTML."""
        placed = self.place(image, width)
        if isinstance(placed, str):
            return Markup('<span class="missing">{}</span>').format(f"{label}: {placed}")
        name, wide, high = placed
        return Markup(
            '<img class="picture" alt="{}" src="{}" width="{}" height="{}" loading="lazy" decoding="async">'
        ).format(label, name, wide, high)

    def place(self, image: Image, width: int) -> tuple[str, int, int] | str:
        """File name, width and height of the picture; or the reason without."""
        if not image.bytes:
            return "the picture is not at hand"
        stem = f"{image.sha256[:20]}-{width}"
        stored = next(iter(self._store.root.glob(f"images/{stem}.*")), None)
        if stored is not None and (size := size_of(stored)):
            self._store.keep(f"images/{stored.name}")
            return f"images/{stored.name}", *size
        small = scaled(image.bytes, width)
        if isinstance(small, str):
            return small
        name = f"images/{stem}.{'png' if small.mime == 'image/png' else 'jpg'}"
        self._store.file(name, small.data)
        return name, small.width, small.height


def digest_of(*values: Any) -> str:
    """A short hash of a file's inputs."""
    text = json.dumps(values, ensure_ascii=False, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]
