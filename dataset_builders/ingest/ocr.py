"""Text of a picture: rapidocr for Chinese and English, tesseract for Korean.

Contract: a `Reader` is made once a paper and gives pieces of text with their boxes in pixels and how sure it is of
each. What is missing on this machine is said in one line that names the command to install it.
"""

from __future__ import annotations

import csv
import io
import os
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from livek12.core.errors import UserError
from livek12.core.records import Language
from livek12.dataset_builders.ingest.geometry import Bounds

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

THREADS: Final = max(1, min(4, os.cpu_count() or 1))
LONGEST: Final = 2400
"""Pixels of the longer side that OCR sees."""
_SECONDS: Final = 120
_SCRIPTS: Final[dict[str, Language]] = {"Hangul": "ko", "Korean": "ko", "Han": "zh", "Japanese": "zh", "Latin": "en"}


@dataclass(slots=True)
class Read:
    """A run of text on one line."""

    text: str
    box: Bounds
    confidence: float


class Reader:
    """Reads pictures in one language, with one session."""

    def __init__(self, language: Language) -> None:
        """Prepares an engine.

        Raises:
            UserError: it is not installed.
        """
        self.language = language
        self._engine: Any = None
        if language == "ko":
            _tesseract("kor")
        else:
            self._engine = _rapidocr()

    def read(self, picture: Picture) -> list[Read]:
        """All text of the picture."""
        return _by_tesseract(picture, "kor") if self.language == "ko" else _by_rapidocr(self._engine, picture)


def _rapidocr() -> Any:
    try:
        from rapidocr import RapidOCR
    except ImportError:
        raise UserError("reading scanned pages needs rapidocr: pip install 'livek12[ingest]'") from None
    return RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.max_side_len": LONGEST,
            "Global.text_score": 0.05,  # what it is unsure of is told as unread, not left out
            "EngineConfig.onnxruntime.intra_op_num_threads": THREADS,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
    )


def _by_rapidocr(engine: Any, picture: Picture) -> list[Read]:
    import numpy as np

    result = engine(np.asarray(picture.convert("RGB"))[:, :, ::-1])
    if result.boxes is None or result.txts is None:
        return []
    done = []
    for corners, text, score in zip(result.boxes.tolist(), result.txts, result.scores, strict=True):
        xs, ys = [x for x, _ in corners], [y for _, y in corners]
        if text.strip():
            done.append(Read(text.strip(), (min(xs), min(ys), max(xs), max(ys)), float(score)))
    return done


def _tesseract(wanted: str) -> None:
    names = {"kor": "tesseract-ocr-kor", "osd": "tesseract-ocr"}
    install = f"apt-get install tesseract-ocr {names[wanted]}"
    if not shutil.which("tesseract"):
        raise UserError(f"reading scanned Korean pages needs tesseract: {install}")
    if wanted not in _run(["tesseract", "--list-langs"], b"").decode(errors="replace").split():
        raise UserError(f"tesseract has no data for Korean: {install}")


def _run(command: list[str], data: bytes) -> bytes:
    """Standard output; empty where the program fails or takes too long."""
    environment = {**os.environ, "OMP_THREAD_LIMIT": str(THREADS)}
    try:
        done = subprocess.run(command, input=data, capture_output=True, timeout=_SECONDS, env=environment, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return b""
    return done.stdout


def _encoded(picture: Picture) -> bytes:
    buffer = io.BytesIO()
    picture.convert("L").save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def _by_tesseract(picture: Picture, language: str) -> list[Read]:
    command = ["tesseract", "stdin", "stdout", "-l", language, "--psm", "3", "tsv"]
    table = _run(command, _encoded(picture)).decode(errors="replace")
    done: list[Read] = []
    last: tuple[str, ...] = ()
    for row in csv.DictReader(io.StringIO(table), delimiter="\t", quoting=csv.QUOTE_NONE):
        text = (row.get("text") or "").strip()
        if row.get("level") != "5" or not text:
            continue
        left, top, width, height = (float(row[name]) for name in ("left", "top", "width", "height"))
        box = (left, top, left + width, top + height)
        line = (row["block_num"], row["par_num"], row["line_num"])
        score = max(0.0, float(row["conf"]) / 100)
        if done and line == last and left - done[-1].box[2] < 1.2 * max(height, done[-1].box[3] - done[-1].box[1]):
            before = done[-1]
            whole = (before.box[0], min(before.box[1], top), box[2], max(before.box[3], box[3]))
            share = len(text) / (len(text) + len(before.text))
            done[-1] = Read(f"{before.text} {text}", whole, before.confidence * (1 - share) + score * share)
        else:
            done.append(Read(text, box, score))
        last = line
    return done


def orientation(picture: Picture) -> tuple[int, Language | None]:
    """By how many degrees to turn the page clockwise, and the language of its script; (0, None) where nothing tells."""
    if not shutil.which("tesseract"):
        return 0, None
    small = picture.copy()
    small.thumbnail((1800, 1800))
    text = _run(["tesseract", "stdin", "stdout", "--psm", "0"], _encoded(small)).decode(errors="replace")
    said = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    try:
        sure = float(said.get("Orientation confidence", "0")) > 3
        turn = int(said.get("Rotate", "0")) if sure else 0
    except ValueError:
        turn = 0
    script = _SCRIPTS.get(said.get("Script", ""))
    return turn % 360, script
