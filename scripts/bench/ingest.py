"""Time and peak memory of reading papers, born-digital and scanned, beside bare rapidocr and MinerU.

    python scripts/bench/ingest.py PAPER.pdf [PAPER.pdf …] [--how auto|text|ocr] [--layer] [--rapidocr]
        [--mineru PATH/TO/mineru-kit]

Contract: each paper is read in a process of its own, as `livek12 ingest` reads it; memory is that of the process at its
highest, processor time holds on a busy machine too. The bare text layer (pypdfium2) is a lower bound of what is
born-digital. Rapidocr with its own settings reads pictures of the same pages at the same resolution; `ratio` is our
processor time to its. MinerU runs on the same files (tier flash, which needs no
download). One line a paper and reader, as a table.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

_READ = (
    "import sys; from pathlib import Path; from livek12.dataset_builders.ingest.page_reader import read_here; "
    "print(sum(1 for _ in read_here(Path(sys.argv[1]), None, sys.argv[2], None)))"
)


_LAYER = (
    "import sys; import pypdfium2; document = pypdfium2.PdfDocument(sys.argv[1]); "
    "print(sum(1 for page in document if page.get_textpage().get_text_range() is not None))"
)


_RAPIDOCR = (
    "import sys; from pathlib import Path; import numpy; from rapidocr import RapidOCR; "
    "from livek12.dataset_builders.ingest.pages import pdf\n"
    "from livek12.dataset_builders.ingest.scans import scanner\n"
    "engine = RapidOCR(params={'Global.log_level': 'critical'})\n"
    "with pdf.opened(Path(sys.argv[1])) as document:\n"
    "    for page in document: engine(numpy.asarray(pdf.drawn(page, scanner.DPI))[:, :, ::-1])\n"
    "    print(len(document))"
)


@dataclass
class Cost:
    """Wall and processor time in seconds, peak memory in MiB (of the process and those it waited for), last line."""

    seconds: float
    processor: float
    memory: int
    printed: str


def measured(command: list[str]) -> Cost:
    """Runs a command.

    Raises:
        RuntimeError: it failed.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=out, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        for file in (out, errors):
            file.seek(0)
        if process.returncode:
            said = errors.read().decode(errors="replace").strip().splitlines()
            raise RuntimeError(said[-1] if said else f"exit status {process.returncode}")
        printed = out.read().decode(errors="replace").strip().splitlines()
    return Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss // 1024, printed[-1] if printed else "")


def row(paper: Path, reader: str, pages: int, cost: Cost, ratio: str = "") -> str:
    """One line of the table."""
    return (
        f"{paper.name:32} {reader:8} {pages:5} {cost.seconds:8.1f} {pages / cost.seconds:8.2f} "
        f"{cost.processor / pages:8.2f} {cost.memory:8} {ratio:>6}"
    )


def main() -> None:
    """Measures each paper and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("papers", nargs="+", type=Path)
    parser.add_argument("--how", default="auto", choices=("auto", "text", "ocr"))
    parser.add_argument("--layer", action="store_true", help="beside the bare text layer")
    parser.add_argument("--rapidocr", action="store_true", help="beside rapidocr alone, for scanned papers")
    parser.add_argument("--mineru", type=Path, help="mineru-kit of an environment that has it")
    options = parser.parse_args()
    print(
        f"{'paper':32} {'reader':8} {'pages':>5} {'seconds':>8} {'pages/s':>8} {'cpu s/p':>8} {'MiB':>8} {'ratio':>6}"
    )
    for paper in options.papers:
        ours = measured([sys.executable, "-c", _READ, str(paper), options.how])
        pages = int(ours.printed)
        ratio = ""
        if options.layer:
            print(row(paper, "layer", pages, measured([sys.executable, "-c", _LAYER, str(paper)])), flush=True)
        if options.rapidocr:
            bare = measured([sys.executable, "-c", _RAPIDOCR, str(paper)])
            print(row(paper, "rapidocr", pages, bare), flush=True)
            ratio = f"{ours.processor / bare.processor:.2f}"
        print(row(paper, options.how, pages, ours, ratio), flush=True)
        if options.mineru:
            with tempfile.TemporaryDirectory() as out:
                command = [str(options.mineru), "parse", str(paper), "-o", out, "--tier", "flash", "-f", "middle_json"]
                try:
                    print(row(paper, "mineru", pages, measured(command)), flush=True)
                except RuntimeError as error:
                    print(f"{paper.name:32} mineru   failed: {str(error)[:80]}", flush=True)


if __name__ == "__main__":
    main()
