"""Prints a paper as a PDF with its gold: typst sets it; a question's boxes are the ink in the places of its pieces."""

from __future__ import annotations

import io
import math
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from livek12.dataset_builders.ingest.pages.blocks import Box
from livek12.scripts.bench.exams.content import AskedItem
from livek12.scripts.bench.exams.gold import GoldPaper, GoldQuestion, LabelledOption
from livek12.scripts.bench.exams.layouts import PaperLayout
from livek12.scripts.bench.exams.setting import source_of

_DPI: Final = 100
_SCAN_DPI: Final = 150
_INK: Final = 200
"""A pixel that is darker is ink."""
_OVER: Final = 2.0
"""Points by which a tall formula may stand out of its line; lines of two questions are further apart."""


def printed(layout: PaperLayout, seed: int) -> tuple[bytes, bytes | None, GoldPaper]:
    """The PDF of a paper, that of its key (None: in the paper), and its gold."""
    import typst

    source = source_of(layout, seed)
    pdf: Any = typst.compile(source.paper.encode())
    marks = _marks(source.paper)
    pages = _pictures(pdf, _DPI)
    gold = GoldPaper(
        paper=f"{layout.name}-{seed}",
        layout=layout.name,
        seed=seed,
        language=layout.language,
        pages=len(pages),
        count_printed=source.count_printed,
        hidden=sorted(set(source.hidden)),
        questions=[_question(entry, layout, marks, pages) for entry in source.asked],
    )
    key = typst.compile(source.key.encode()) if source.key else None
    return pdf, key, gold


def scanned(pdf: bytes, gold: GoldPaper) -> tuple[bytes, GoldPaper]:
    """The paper as a scan (turned, grey, noisy JPEG), and its gold."""
    import numpy
    from PIL import Image

    draw = random.Random(f"scan:{gold.paper}")
    noise = numpy.random.default_rng(draw.getrandbits(32))
    sheets, turns = [], []
    for picture in _pictures(pdf, _SCAN_DPI):
        degrees = draw.uniform(-0.8, 0.8)
        turned = picture.rotate(degrees, Image.Resampling.BICUBIC, fillcolor=255)
        grey = numpy.asarray(turned, dtype=numpy.float32) * 0.9 + 14
        grey = (grey + noise.normal(0, 6, grey.shape)).clip(0, 255).astype(numpy.uint8)
        sheets.append(Image.fromarray(grey))
        turns.append((degrees, picture.width, picture.height))
    buffer = io.BytesIO()
    sheets[0].save(buffer, "PDF", resolution=_SCAN_DPI, save_all=True, append_images=sheets[1:], quality=80)
    questions = [
        question.model_copy(
            update={
                "boxes": [_turned(box, *turns[box.page - 1]) for box in question.boxes],
                "figures": [_turned(box, *turns[box.page - 1]) for box in question.figures],
            }
        )
        for question in gold.questions
    ]
    return buffer.getvalue(), gold.model_copy(
        update={"paper": f"{gold.paper}-scan", "scanned": True, "questions": questions}
    )


def _turned(box: Box, degrees: float, width: int, height: int) -> Box:
    angle = math.radians(degrees)
    corners = [((x - 0.5) * width, (y - 0.5) * height) for x in (box.left, box.right) for y in (box.top, box.bottom)]
    xs = [x * math.cos(angle) + y * math.sin(angle) for x, y in corners]
    ys = [-x * math.sin(angle) + y * math.cos(angle) for x, y in corners]
    return Box(
        page=box.page,
        left=min(xs) / width + 0.5,
        right=max(xs) / width + 0.5,
        top=min(ys) / height + 0.5,
        bottom=max(ys) / height + 0.5,
    )


def _marks(source: str) -> dict[tuple[str, str], list[tuple[int, float, float, float, float]]]:
    import json

    import typst

    records = json.loads(typst.query(source.encode(), "<mark>", field="value"))
    places: dict[tuple[str, str], list[tuple[int, float, float, float, float]]] = defaultdict(list)
    open_: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for mark in records:
        what = (mark["id"], mark["kind"])
        if mark["side"] == "top":
            open_[what].append(mark)
            continue
        top = open_[what].pop()
        x, y = _points(top["x"]), _points(top["y"])
        kind = "figure" if mark["kind"] == "figure" else "piece"
        places[(mark["id"], kind)].append((mark["page"], x, y, x + _points(top["w"]), _points(mark["y"])))
    return places


def _points(length: str) -> float:
    return float(length.removesuffix("pt"))


def _question(
    entry: AskedItem,
    layout: PaperLayout,
    marks: Mapping[tuple[str, str], Sequence[tuple[int, float, float, float, float]]],
    pages: Sequence[Any],
) -> GoldQuestion:
    item = entry.item
    lines = [item.stem, *(" ".join(row) for row in item.table)]
    lines += [f"{label} {part.text}" for label, part in zip(entry.parts, item.parts, strict=True)]
    lines += ["OR", item.alternative] if item.alternative else []
    key = [entry.answer] if layout.key and entry.answer else []
    carried = layout.marks in ("end", "korean", "total", "maximum", "margin")
    return GoldQuestion(
        number=entry.number,
        section=entry.section,
        kind=item.kind,
        text="\n".join(lines),
        passage=entry.passage,
        options=[
            LabelledOption(label=label, text=text) for label, text in zip(entry.labels, item.options, strict=True)
        ],
        answer=key,
        points=entry.points if _says_points(layout, entry) else None,
        part_points=[part.points for part in item.parts] if carried and _says_points(layout, entry) else [],
        boxes=_joined(marks[(entry.mark, "piece")], layout, pages),
        figures=[_ink(place, pages) for place in marks.get((entry.mark, "figure"), ())],
    )


def _says_points(layout: PaperLayout, entry: AskedItem) -> bool:
    if entry.points is None:
        return False
    if layout.number == "cell" or layout.marks in ("end", "each", "korean", "total", "maximum", "margin"):
        return True
    if layout.marks == "start" and entry.item.kind == "free":
        return True
    in_title = layout.titled and layout.counts and bool(entry.points) and entry.item.kind != "free"
    return in_title or (layout.key in ("points", "items") and bool(entry.answer))


def _joined(
    places: Sequence[tuple[int, float, float, float, float]], layout: PaperLayout, pages: Sequence[Any]
) -> list[Box]:
    groups: dict[tuple[int, int], list[tuple[int, float, float, float, float]]] = defaultdict(list)
    for place in places:
        width = pages[place[0] - 1].width * 72 / _DPI
        left = layout.split[0] / sum(layout.split) if layout.split else 0.5
        column = int((layout.columns == 2 or layout.split is not None) and place[1] > width * left - 5)
        groups[(place[0], column)].append(place)
    boxes = []
    for (page, _), group in sorted(groups.items()):
        _, lefts, tops, rights, bottoms = zip(*group, strict=True)
        boxes.append(_ink((page, min(lefts), min(tops), max(rights), max(bottoms)), pages))
    return boxes


def _ink(place: tuple[int, float, float, float, float], pages: Sequence[Any]) -> Box:
    page, *corners = place
    picture = pages[page - 1]
    corners = [corners[0], corners[1] - _OVER, corners[2], corners[3] + _OVER]
    left, top, right, bottom = (max(0, round(value * _DPI / 72)) for value in corners)
    crop = picture.crop((left, top, max(right, left + 1), max(bottom, top + 1)))
    inner = crop.point(lambda value: 255 if value < _INK else 0).getbbox() or (0, 0, crop.width, crop.height)
    return Box(
        page=page,
        left=round((left + inner[0]) / picture.width, 5),
        top=round((top + inner[1]) / picture.height, 5),
        right=round((left + inner[2]) / picture.width, 5),
        bottom=round((top + inner[3]) / picture.height, 5),
    )


def _pictures(pdf: bytes, dpi: int) -> list[Any]:
    import pypdfium2

    document = pypdfium2.PdfDocument(pdf)
    try:
        return [page.render(scale=dpi / 72).to_pil().convert("L") for page in document]
    finally:
        document.close()
