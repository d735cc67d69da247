"""Gold of public papers from the shared data; figures may be published, the papers may not.

The 2026 gaokao paper has texts and options; the Korean mathematics paper of November 2022 has boxes alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from livek12.dataset_builders.ingest.pages.blocks import Box
from livek12.scripts.bench.exams.gold import GoldPaper, GoldQuestion, LabelledOption

_DRAWN: Final = re.compile(r"<svg\b.*?</svg>", re.DOTALL)
"""A figure that the transcription draws anew."""
_OPTION: Final = re.compile(r"(?:^|\n|　)\s*([A-D])[.．]\s*")
_WIDTH, _HEIGHT = 1684, 2382
"""Of the pictures that the Korean boxes were drawn in."""


def papers(data: Path) -> Iterator[tuple[Path, GoldPaper]]:
    """PDFs and gold of the papers in the shared data."""
    reviewed = data / "gaokao2026_math/reviewed/2026-national-i-math.jsonl"
    pdf = data / "gaokao2026_math/pdf/national-i.pdf"
    if reviewed.is_file() and pdf.is_file():
        rows = [json.loads(line) for line in reviewed.read_text("utf-8").splitlines()]
        yield pdf, _paper("gaokao_2026_national_i", "zh", 5, [_reviewed(row) for row in rows])
    folder = data / "csat_math_boxes"
    if (folder / "konet_gold/bboxes.json").is_file():
        boxes = json.loads((folder / "konet_gold/bboxes.json").read_text("utf-8"))
        pdf = folder / "202311-h3-math-pro.pdf"
        yield pdf, _paper("csat_2022_11_mathematics", "ko", 12, list(_boxed(boxes)))


def _paper(name: str, language: str, pages: int, questions: list[GoldQuestion]) -> GoldPaper:
    return GoldPaper(paper=name, layout=name, seed=0, language=language, pages=pages, questions=questions)


def _reviewed(row: dict[str, Any]) -> GoldQuestion:
    content = re.sub(r"\\[()\[\]]", "$", _DRAWN.sub("", row["question"]["content"]))
    content = re.sub(rf"^{row['question_number']}\.\s*", "", content)
    places = list(_OPTION.finditer(content)) if "choice" in row["question_type"] else []
    ends = [*(place.start() for place in places[1:]), len(content)]
    return GoldQuestion(
        number=row["question_number"],
        kind="choice" if places else "free",
        text=(content[: places[0].start()] if places else content).strip(),
        options=[
            LabelledOption(label=place[1], text=content[place.end() : end].strip())
            for place, end in zip(places, ends, strict=False)
        ],
    )


def _boxed(rows: list[dict[str, Any]]) -> Iterator[GoldQuestion]:
    for row in rows:
        place = re.fullmatch(r"kocsat_1st_Mathematics_(\d+)\.png", row["img_path"][0])
        if place and int(place[1]) < 12:
            left, top, right, bottom = row["bbox"][0]
            page, across, down = int(place[1]) + 1, (left / _WIDTH, right / _WIDTH), (top / _HEIGHT, bottom / _HEIGHT)
            box = Box(page=page, left=across[0], top=down[0], right=across[1], bottom=down[1])
            number = str(int(row["idx"].rpartition("_")[2]))
            yield GoldQuestion(number=number, kind="boxed", text="", boxes=[box])
