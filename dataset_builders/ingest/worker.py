"""The process that reads one paper, so that a PDF which crashes or never ends costs that paper and nothing else.

Contract: `pages` starts a fresh interpreter for the paper, with a limit of memory, and takes its pages from a pipe as
they are done; a page that takes too long, or a process that dies, becomes a UserError that names the file and the page.
The process ends with the generator, and by itself when its parent is gone. In it `main` reads the paper with
`extract.read_here` and writes one JSON line a page.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.connection import wait
from pathlib import Path
from typing import IO, Final

from livek12.core.errors import UserError
from livek12.core.records import Language
from livek12.dataset_builders.ingest.blocks import PageBlocks

SECONDS: Final = 30.0
"""For one page; a common one takes less than one."""
OCR_FACTOR: Final = 3.0
"""So many times that where a page is read by OCR, which takes 4 s of a processor and may have to start its engine."""
_SLOW: Final = b'{"slow":true}'
MEMORY_BYTES: Final = 4 << 30
"""Address space; onnxruntime reserves much more than it uses."""
_START: Final = (
    "import sys; sys.path[:] = sys.argv[2:]; del sys.argv[2:]; "
    "from livek12.dataset_builders.ingest.worker import main; main()"
)


def pages(
    path: Path, language: Language | None, how: str, numbers: range | None, seconds: float = SECONDS,
    memory_bytes: int = MEMORY_BYTES,
) -> Iterator[PageBlocks]:  # fmt: skip
    """Yields the pages a process of its own reads.

    Args:
        path: the PDF.
        language: of the text, or None.
        how: as `extract.extract_pages` says.
        numbers: of the pages, or None for all.
        seconds: wall time of one page; `OCR_FACTOR` times that for one that is read by OCR.
        memory_bytes: address space of the process.

    Raises:
        UserError: the paper cannot be read, or breaks a limit.
    """
    span = [numbers.start, numbers.stop, numbers.step] if numbers is not None else None
    task = json.dumps({"path": str(path), "language": language, "how": how, "pages": span, "memory": memory_bytes})
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [sys.executable, "-c", _START, task, *sys.path],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, start_new_session=True,
        )  # fmt: skip
        assert process.stdout is not None
        done = [0]
        try:
            for line in _lines(process.stdout, seconds, path, done):
                message = json.loads(line)
                if "error" in message:
                    raise UserError(message["error"])
                if "end" in message:
                    return
                if "slow" in message:
                    continue
                yield PageBlocks.model_validate(message["page"])
                done[0] = message["page"]["number"]
            raise UserError(
                f"{path}: reading broke off after page {done[0]} ({_reason(process, errors)}); the file may be damaged"
            )
        finally:
            _end(process)


def _lines(pipe: IO[bytes], seconds: float, path: Path, done: list[int]) -> Iterator[bytes]:
    """Whole lines, each within the time limit; ends with the process. `done` holds the last page that came."""
    buffer: list[bytes] = []
    limit = seconds
    deadline = time.monotonic() + limit
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not wait([pipe.fileno()], left):
            raise UserError(
                f"{path}: the page after page {done[0]} took more than {limit:g} s; leave it out with --pages"
            )
        chunk = os.read(pipe.fileno(), 1 << 20)
        if not chunk:
            return
        *whole, rest = chunk.split(b"\n")
        for piece in whole:
            yield b"".join([*buffer, piece])
            buffer = []
            limit = seconds * OCR_FACTOR if piece == _SLOW else seconds
            deadline = time.monotonic() + limit
        buffer.append(rest)


def _reason(process: subprocess.Popen[bytes], errors: IO[bytes]) -> str:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(5)
    errors.seek(0)
    lines = errors.read()[-4000:].decode(errors="replace").strip().splitlines()
    if process.returncode is not None and process.returncode < 0:
        return f"the reader was ended by signal {-process.returncode}"
    return lines[-1][:160] if lines else f"exit status {process.returncode}"


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


# ---- in the process ----


def main() -> None:
    """Reads the paper its argument names and writes its pages; what libraries print goes to standard error."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    task = json.loads(sys.argv[1])
    _limit(task["memory"])
    _watch_parent()
    from livek12.dataset_builders.ingest.extract import read_here

    span = range(*task["pages"]) if task["pages"] else None

    def write(message: bytes) -> None:
        out.write(message + b"\n")
        out.flush()

    try:
        for page in read_here(Path(task["path"]), task["language"], task["how"], span, lambda: write(_SLOW)):
            write(b'{"page":' + page.model_dump_json().encode() + b"}")
        write(b'{"end":true}')
    except UserError as error:
        write(json.dumps({"error": str(error)}).encode())
    except MemoryError:
        limit = task["memory"] >> 20
        write(json.dumps({"error": f"{task['path']}: needs more than {limit} MiB of memory; split the file"}).encode())


def _limit(memory: int) -> None:
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _watch_parent() -> None:
    """Ends the process when the parent's end of standard input closes, even in the middle of a page."""
    import threading

    def watch() -> None:
        with contextlib.suppress(OSError):
            while os.read(0, 1024):
                pass
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
