"""Supervised process for each paper: a PDF that crashes or never ends costs that paper alone.

Contract: a page that takes too long, or a process that dies, is a UserError that names file and page. The process runs
`page_reader.read_paper` and ends with the generator; each page comes back as JSON, which is checked here.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter

from livek12.core.errors import UserError
from livek12.core.process import ChildProcess, Ended
from livek12.core.records import Language
from livek12.core.text import one_line
from livek12.dataset_builders.ingest.page_reader import Pages, read_paper
from livek12.dataset_builders.ingest.pages.blocks import PageBlocks

SECONDS: Final = 30.0
"""Of a processor, for one page; a common one takes less than one."""
OCR_FACTOR: Final = 3.0
"""So many times that where a page is read by OCR, which takes 4 s of a processor and may have to start its engine."""
WALL_FACTOR: Final = 20.0
"""So many times that on the clock, for what waits and for a machine that is busy with other things."""
MEMORY_BYTES: Final = 4 << 30
"""Address space; onnxruntime reserves much more than it uses."""
_PAGE: Final = TypeAdapter(PageBlocks)


def pages(
    path: Path, language: Language | None, how: str, numbers: Pages, seconds: float = SECONDS,
    memory_bytes: int = MEMORY_BYTES,
) -> Iterator[PageBlocks]:  # fmt: skip
    """Yields the pages that a process reads, as `page_reader.read_here` does; UserError if they break a limit.

    Args:
        seconds: processor time of one page; `OCR_FACTOR` times that for OCR.
        memory_bytes: address space of the process.
    """
    limits = seconds, seconds * OCR_FACTOR
    what = path, language, how, numbers
    child = ChildProcess(read_paper, what, limits, memory_bytes, quiet=True, memory_bytes=memory_bytes)
    done, limit = 0, limits[0]
    late = "takes too long to read; read it another way (--how), or without that page"
    try:
        while True:
            message = json.loads(child.receive(WALL_FACTOR * limit))
            limit = limits["slow" in message]
            if "error" in message:
                raise UserError(message["error"])
            if "end" in message:
                return
            if "page" in message:
                page = _PAGE.validate_python(message["page"])
                yield page
                done = page.number
    except TimeoutError:
        raise UserError(f"{path}: the page after page {done} {late}") from None
    except Ended as end:
        if child.returncode == -signal.SIGPROF:
            raise UserError(f"{path}: the page after page {done} {late}") from None
        reason = one_line(end, 160)
        raise UserError(f"{path}: reading broke off after page {done} ({reason}); the file may be damaged") from None
    finally:
        child.kill()
