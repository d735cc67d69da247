"""Papers in the format they were written in: Word, LaTeX, HTML, Markdown."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Final

from livek12.core.errors import UserError
from livek12.dataset_builders.ingest.pages.blocks import PageBlocks

FORMS: Final = {
    ".docx": "word", ".docm": "word", ".tex": "tex", ".html": "web", ".htm": "web", ".xhtml": "web", ".md": "web",
    ".markdown": "web",
}  # fmt: skip
"""The module that reads files of each suffix."""


def is_source(path: Path) -> bool:
    """Checks for a file that is read without pages."""
    return path.suffix.lower() in FORMS


def files_of(path: Path) -> list[Path]:
    """A paper, with the files of its folder that it inputs if it is LaTeX."""
    if FORMS.get(path.suffix.lower()) != "tex":
        return [path]
    module = import_module(f"{__name__}.tex")
    return sorted(module.opened_by(path))


def read(path: Path) -> PageBlocks:
    """All of a source, as one page without a picture; UserError if it cannot be read."""
    module = import_module(f"{__name__}.{FORMS[path.suffix.lower()]}")
    try:
        page: PageBlocks = module.read(path).page()
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
    except RecursionError:
        raise UserError(f"{path}: it is nested too deeply to be read: save it as PDF") from None
    return page
