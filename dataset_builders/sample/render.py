"""Rebuilds the sample's figures, papers and page pictures.

Contract: `python -m livek12.dataset_builders.sample.render` writes figures/*.png, papers/*.pdf and pages/*.png here,
and in each jsonl only `page_numbers` and `boxes`. Needs typst, pypdfium2, pillow and Debian's fonts-noto-cjk.
Reproducible with the same tools.
"""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from livek12.core.errors import UserError
from livek12.core.languages import language_of
from livek12.core.records import IMAGE_MARK
from livek12.dataset_builders.sample import PAPERS
from livek12.dataset_builders.sample.markup import blocks

if TYPE_CHECKING:
    import PIL.Image

HERE = Path(__file__).resolve().parent
FIGURE_PPI = 160
FIGURE_SCALE = 0.85
PAGE_PPI = 115
GREYS = 16
MARGIN = 6
"""White pixels around a figure."""
PAGE, PAGE_MARGIN = (595.28, 841.89), (59.53, 53.86)
"""Page size and margins in points (paper.typ)."""
SIDES = ("left", "top", "right", "bottom")
BREAKABLE = {"short_answer", "open_ended", "proof"}


def read(name: str) -> list[dict[str, Any]]:
    """Reads the rows of a group."""
    return [json.loads(line) for line in (HERE / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def write(name: str, rows: list[dict[str, Any]]) -> None:
    """Writes the rows of a group, keys in the given order."""
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (HERE / f"{name}.jsonl").write_text(text, encoding="utf-8")


def grey_png(picture: PIL.Image.Image) -> bytes:
    """Encodes a picture as a small PNG of few greys."""
    from PIL import Image

    out = io.BytesIO()
    picture.convert("L").quantize(GREYS, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()


def trimmed(picture: PIL.Image.Image) -> PIL.Image.Image:
    """Crops a grey picture to its content plus a margin."""
    from PIL import ImageOps

    box = ImageOps.invert(picture).getbbox()
    assert box is not None, "an empty drawing"
    left, top, right, bottom = box
    inner = (max(0, left - MARGIN), max(0, top - MARGIN), right + MARGIN, bottom + MARGIN)
    return picture.crop((*inner[:2], min(picture.width, inner[2]), min(picture.height, inner[3])))


def draw_figures() -> None:
    """Renders figures.typ to figures/NAME.png."""
    import typst
    from PIL import Image

    source = HERE / "figures.typ"
    for name in json.loads(typst.query(source, "<names>", field="value", one=True)):
        png = typst.compile(source, format="png", ppi=FIGURE_PPI, sys_inputs={"name": name})
        (HERE / "figures" / f"{name}.png").write_bytes(grey_png(trimmed(Image.open(io.BytesIO(png)).convert("L"))))


def layout(name: str) -> dict[str, str]:
    """Input of paper.typ for a group: questions by section, texts converted."""
    rows = read(name)
    sections: list[dict[str, Any]] = []
    by_subject = name.startswith("livek12")
    for subject, group in itertools.groupby(rows, key=lambda row: row["subject"] if by_subject else None):
        questions = [_question(row) for row in group]
        points = sum(question["points"] or 0 for question in questions)
        sections.append({"subject": subject, "questions": questions, "points": points})
    return {"paper": json.dumps({"id": PAPERS[name], "sections": sections}, ensure_ascii=False)}


def _question(row: dict[str, Any]) -> dict[str, Any]:
    images = iter(row.get("images", []))
    question = {
        "id": row["id"],
        "language": row["language"],
        "number": row["number"],
        "points": _whole(row.get("points")),
        "breakable": row["question_type"] in BREAKABLE,
        "blocks": [_sized(block) for block in blocks(row["question"], images)],
        "options": [
            {"label": _label(row, option), "blocks": [_sized(block) for block in blocks(option["text"], images)]}
            for option in row.get("options", [])
        ],
    }
    if next(images, None) is not None:
        raise UserError(f"question {row['id']}: more images than {IMAGE_MARK} marks; mend the record")
    return question


def _label(row: dict[str, Any], option: dict[str, str]) -> str:
    return chr(ord("①") + int(option["label"]) - 1) if language_of(row["language"]).numbered else option["label"] + "."


def _whole(points: float | None) -> int | None:
    return None if points is None else int(points)


def _sized(block: dict[str, object]) -> dict[str, object]:
    from PIL import Image

    if block["kind"] != "image":
        return block
    with Image.open(HERE / str(block["path"])) as picture:
        return {**block, "width": picture.width * 72 / FIGURE_PPI * FIGURE_SCALE}


def locate(name: str) -> dict[str, dict[str, Any]]:
    """Returns `page_numbers` (from 1) and `boxes` of each question in its typeset paper."""
    import typst

    places = typst.query(HERE / "paper.typ", "<pages>", field="value", one=True, sys_inputs=layout(name))
    return {
        place["id"]: {"page_numbers": list(range(place["first"], place["last"] + 1)), "boxes": list(_boxes(place))}
        for place in json.loads(places)
    }


def _boxes(place: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for page in range(place["first"], place["last"] + 1):
        top = place["top"] if page == place["first"] else PAGE_MARGIN[1]
        bottom = place["bottom"] if page == place["last"] else PAGE[1] - PAGE_MARGIN[1]
        sides = PAGE_MARGIN[0] / PAGE[0], top / PAGE[1], 1 - PAGE_MARGIN[0] / PAGE[0], bottom / PAGE[1]
        yield {"page": page, **dict(zip(SIDES, (round(side, 4) for side in sides), strict=True))}


def typeset(name: str) -> None:
    """Builds one group: page numbers in its jsonl, PDF, page pictures."""
    import pypdfium2
    import typst

    places = locate(name)
    write(name, [{**row, **places[row["id"]]} for row in read(name)])
    paper = PAPERS[name]
    target = HERE / "papers" / f"{paper}.pdf"
    typst.compile(HERE / "paper.typ", output=target, format="pdf", sys_inputs=layout(name))
    for old in (HERE / "pages").glob(f"{paper}_*.png"):
        old.unlink()
    with pypdfium2.PdfDocument(target) as document:
        for number, page in enumerate(document, 1):
            picture = page.render(scale=PAGE_PPI / 72, grayscale=True).to_pil()
            (HERE / "pages" / f"{paper}_{number}.png").write_bytes(grey_png(picture))


def main() -> None:
    """Builds all; figures first, because the papers show them."""
    for folder in ("figures", "papers", "pages"):
        (HERE / folder).mkdir(exist_ok=True)
    draw_figures()
    for name in PAPERS:
        typeset(name)
        print(f"{name}: papers/{PAPERS[name]}.pdf")


if __name__ == "__main__":
    main()
