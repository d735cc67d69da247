"""OCR of a picture: by rapidocr, and Korean syllables by tesseract.

Contract: a missing program is reported in one line that names the command to install it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from bisect import bisect
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, groupby
from typing import Any, Final, TypeAlias

import numpy as np
from PIL import Image
from PIL.Image import Image as Picture

from livek12.core.errors import UserError
from livek12.core.languages import HANGUL, language_of
from livek12.core.records import Language
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.ingest.pages.geometry import Bounds
from livek12.dataset_builders.ingest.pages.pdf import png
from livek12.dataset_builders.ingest.scans import hangul, scan
from livek12.dataset_builders.ingest.scans.formulas import raised, read_lines
from livek12.dataset_builders.ingest.scans.scan import MOST_PARTS, Read, line_height

THREADS: Final = max(1, min(4, os.cpu_count() or 1))
LONGEST: Final = 1760
"""Pixels of the longer side that lines are looked for in; they are read at the page's own resolution."""
_LINE: Final = 48
"""Pixels of a line's height as tesseract is shown it."""
_SHEET: Final = 12_000
"""Pixels from which lines go on another sheet; tesseract refuses pictures of more than 32,767 pixels a side."""
_SECONDS: Final = 600
"""On the clock, for one page of tesseract, which takes some seconds of a processor."""
_SURE, _MOSTLY, _HANGUL, _FEWEST_HANGUL = 0.95, 0.5, 0.03, 5
"""Confidence of a syllable, share of the syllables that have it (of other scripts read as Hangul few do), share of the
letters and number of them from which a page is Korean."""


class Reader:
    """A session of one language: rapidocr finds lines, then reads all of a page at once, at full resolution."""

    def __init__(self, language: Language) -> None:
        """Prepares an engine; UserError if it is not installed."""
        row = language_of(language)
        if not row.scripts:
            raise UserError(f"scans in {row.labels['en']} cannot be read by rule: read them by a model (--how vlm)")
        self._korean = row.letters == HANGUL
        if self._korean and "kor" not in _languages():
            install = "apt-get install tesseract-ocr tesseract-ocr-kor"
            raise UserError(f"scanned Korean pages are read by tesseract with its data for Korean: {install}")
        import onnxruntime
        from rapidocr import RapidOCR

        onnxruntime.disable_telemetry_events()
        self._engine: Any = RapidOCR(
            params={
                "Global.log_level": "critical",
                "Global.max_side_len": LONGEST,
                "Global.use_cls": False,  # pages are turned upright as a whole
                "Global.return_word_box": True,
                "Det.limit_type": "max",  # a strip of a page is not blown up to the size of a page
                "Det.limit_side_len": LONGEST,
                "EngineConfig.onnxruntime.enable_cpu_mem_arena": True,
                "EngineConfig.onnxruntime.intra_op_num_threads": THREADS,
                "EngineConfig.onnxruntime.inter_op_num_threads": 1,
            }
        )

    def read(self, picture: Picture) -> list[Read]:
        """All text of an upright page, scripts marked."""
        page = scan.grey(picture)
        dark = scan.ink(page)
        pixels = np.asarray(picture.convert("RGB"))[:, :, ::-1]
        boxes = self._boxes(pixels)
        boxes += scan.parted(dark, boxes, line_height(boxes))[:MOST_PARTS] if boxes else []

        def lines(some: Sequence[Bounds]) -> list[Read]:
            return [replace(run, text=raised(run, page)) for run in self._lines(pixels, some)]

        if self._korean:
            return hangul.lines(dark, _letters_of_lines(picture, boxes), lines)
        return read_lines(dark, boxes, lines)

    def _boxes(self, pixels: Any) -> list[Bounds]:
        """Boxes of lines of text."""
        detected = self._engine(pixels, use_det=True, use_rec=False)
        if detected.boxes is None:
            return []
        corners = [([x for x, _ in box], [y for _, y in box]) for box in detected.boxes.tolist()]
        return [(min(xs), min(ys), max(xs), max(ys)) for xs, ys in corners]

    def _lines(self, pixels: Any, boxes: Sequence[Bounds]) -> list[Read]:
        """The texts of boxes, without empty ones; upward texts are turned, unless the page is Korean."""
        crops: list[Any] = []
        kept: list[tuple[Bounds, bool]] = []
        for box in boxes:
            left, top, right, bottom = (max(0, round(value)) for value in box)
            crop = pixels[top:bottom, left:right]
            if min(crop.shape[:2]) < 4:
                continue
            upright = self._korean or crop.shape[0] < 1.5 * crop.shape[1]
            crops.append(np.ascontiguousarray(crop if upright else np.rot90(crop, 3)))
            kept.append((box, upright))
        if not crops:
            return []
        result = self._engine.recognize_txt(crops)
        rows = zip(kept, map(str.strip, result.txts), result.scores, result.word_results, strict=True)
        return [
            Read(text, *box, float(score), _places(text, words, box) if upright else ())
            for (box, upright), text, score, words in rows
            if text
        ]


def _places(text: str, words: Any, box: Bounds) -> tuple[float, ...]:
    """X of the middle of each letter; spaces get that of the letter before."""
    columns = [column for word in words.word_cols for column in word]
    if len(columns) != sum(1 for letter in text if not letter.isspace()) or not words.line_txt_len:
        return ()
    step = (box[2] - box[0]) / words.line_txt_len
    places: list[float] = []
    rest = iter(columns)
    for letter in text:
        places.append(places[-1] if letter.isspace() else box[0] + (next(rest) + 0.5) * step)
    return tuple(places)


def _languages() -> list[str]:
    """Of tesseract; none if it is not installed."""
    listing = _run(["tesseract", "--list-langs"], b"") if shutil.which("tesseract") else b""
    return listing.decode(errors="replace").split()


def _run(command: list[str], data: bytes) -> bytes:
    """Output of tesseract; UserError if it fails, or takes too long."""
    # Its threads wait for each other by spinning: two of them on a busy machine take thirty times the processor time.
    environment = {**os.environ, "OMP_THREAD_LIMIT": "1"}
    try:
        done = subprocess.run(command, input=data, capture_output=True, timeout=_SECONDS, env=environment, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UserError(f"tesseract failed ({one_line(error, 120)})") from None
    if done.returncode:
        errors = done.stderr.decode(errors="replace").strip().splitlines()
        raise UserError(f"tesseract failed ({one_line(errors[-1] if errors else done.returncode, 120)})")
    return done.stdout


def _letters(picture: Picture, layout: str = "3") -> list[hangul.Letter]:
    command = ["tesseract", "stdin", "stdout", "-l", "kor", "--psm", layout, "-c", "hocr_char_boxes=1", "hocr"]
    return hangul.letters_of(_run(command, png(picture.convert("L"))).decode(errors="replace"))


_Home: TypeAlias = tuple[Bounds, list[hangul.Letter]]


def _letters_of_lines(picture: Picture, boxes: Sequence[Bounds]) -> list[_Home]:
    """Boxes with tesseract's characters; it sees them one below another, as frames confuse it."""
    grey, scale = picture.convert("L"), min(_LINE / line_height(boxes), _SHEET / max(picture.size))
    ends = accumulate((box[3] - box[1] + 5) * scale + _LINE for box in boxes)
    sheets = groupby(zip(boxes, ends, strict=True), key=lambda pair: pair[1] // _SHEET)
    return [home for _, pairs in sheets for home in _letters_of_sheet(grey, [box for box, _ in pairs], scale)]


def _letters_of_sheet(grey: Picture, boxes: Sequence[Bounds], scale: float) -> list[_Home]:
    crops, corners, tops = [], [], [_LINE]
    for box in boxes:
        left, top = (max(0, round(value) - 2) for value in box[:2])
        crop = grey.crop((left, top, min(grey.width, round(box[2]) + 3), min(grey.height, round(box[3]) + 3)))
        size = max(1, round(crop.width * scale)), max(1, round(crop.height * scale))
        crops.append(crop.resize(size, Image.Resampling.BICUBIC))
        corners.append((left, top))
        tops.append(tops[-1] + size[1] + _LINE // 2)
    sheet = Image.new("L", (max(crop.width for crop in crops) + 2 * _LINE, tops[-1] + _LINE), 255)
    for crop, y in zip(crops, tops, strict=False):
        sheet.paste(crop, (_LINE, y))
    homes: list[_Home] = [(box, []) for box in boxes]
    for letter in _letters(sheet, "6"):
        place = min(len(boxes), max(1, bisect(tops, letter.centre[1] + _LINE / 4))) - 1
        (x, y), start = corners[place], tops[place]
        start_x, end_x = (x + (value - _LINE) / scale for value in (letter.left, letter.right))
        upper, lower = (y + (value - start) / scale for value in (letter.top, letter.bottom))
        homes[place][1].append(replace(letter, left=start_x, top=upper, right=end_x, bottom=lower))
    return homes


def orientation(picture: Picture) -> tuple[int | None, bool]:
    """Degrees to turn the page clockwise, None if unsure; True if it looks Korean."""
    if not shutil.which("tesseract"):
        return None, False
    small = picture.copy()
    small.thumbnail((1800, 1800))
    try:
        text = _run(["tesseract", "stdin", "stdout", "--psm", "0"], png(small.convert("L"))).decode(errors="replace")
        fields = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
        turn = int(fields.get("Rotate", "0")) % 360
        sure = float(fields.get("Orientation confidence", "0")) > 3
    except (UserError, ValueError):  # too few letters to tell by
        return None, False
    return turn if sure else None, fields.get("Script", "") in language_of("ko").scripts.split()


def is_korean(picture: Picture) -> bool:
    """Checks the middle of an upright page for Hangul."""
    middle = picture.crop((0, picture.height // 3, picture.width, 2 * picture.height // 3))
    try:
        letters = _letters(middle) if "kor" in _languages() else []
    except UserError:
        return False
    syllables = [letter for letter in letters if letter.hangul]
    sure = sum(letter.confidence > _SURE for letter in syllables)
    return sure > max(_FEWEST_HANGUL, _HANGUL * len(letters), _MOSTLY * len(syllables))
