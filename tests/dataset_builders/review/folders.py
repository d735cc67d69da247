"""Small ingested folders, made by hand: what reviewers do to them does not hang on how papers are read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

from livek12.core.records import Option
from livek12.dataset_builders.ingest.drafts import Doubt, Draft, Figure, IngestedPaper
from livek12.dataset_builders.ingest.folder import STATE
from livek12.dataset_builders.ingest.pages.blocks import Box

HOSTILE = (
    "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 2'> $\\href{javascript:window.pwned=3}{x}$ "
    "$\\includegraphics{/etc/passwd}$ \\input{/etc/passwd} [go](javascript:pwned=4) ![](http://elsewhere.test/x.png)"
)


def draft(paper: str, number: int, **more: Any) -> Draft:
    box = Box(page=1 + (number - 1) // 3, left=0.1, top=0.1 + 0.25 * ((number - 1) % 3), right=0.9, bottom=0.3)
    box = replace(box, bottom=box.top + 0.2)
    made: dict[str, Any] = {
        "id": f"{paper}-q{number}",
        "number": str(number),
        "language": "en",
        "subject": "math",
        "question_type": "single_choice",
        "question": f"What is ${number}+1$?",
        "options": [Option(label=label, text=f"${number + i}$") for i, label in enumerate("ABCD")],
        "boxes": [box],
        "page_numbers": [box.page],
        "answer": ["B"],
        "points": 5.0,
        "doubts": [Doubt(kind="text", text="read with little confidence", confidence=number / 10)]
        if number % 2
        else [],
    }
    return Draft.model_validate({**made, **more})


def make_folder(root: Path, papers: tuple[str, ...] = ("alpha", "beta"), questions: int = 4, **first: Any) -> Path:
    """A folder of papers with `questions` each; question 2 has a figure. `first` changes the first question."""
    for name in ("images", "pages", STATE):
        (root / name).mkdir(parents=True, exist_ok=True)
    for paper in papers:
        pages = 1 + (questions - 1) // 3
        for page in range(1, pages + 1):
            picture = Image.new("RGB", (400, 560), "white")
            ImageDraw.Draw(picture).ellipse((200, 180, 300, 260), fill=(200, 30, 40))
            picture.save(root / "pages" / f"{paper}_{page}.png")
        Image.new("RGB", (40, 30), (10, 80, 200)).save(root / "images" / f"{paper}-q2-1.png")
        figure = Figure(name=f"{paper}-q2-1.png", box=Box(page=1, left=0.5, top=0.38, right=0.6, bottom=0.45))
        drafts = [draft(paper, number) for number in range(1, questions + 1)]
        drafts[1] = drafts[1].model_copy(update={"question": "See <image>.", "figures": [figure]})
        if paper == papers[0] and first:
            drafts[0] = drafts[0].model_copy(update=first)
        record = IngestedPaper(
            paper_id=paper,
            title=f"Paper {paper}",
            source=f"{paper}.pdf",
            sha256="0" * 64,
            pages=pages,
            language="en",
            subject="math",
            template="english",
            drafts=drafts,
        )
        (root / STATE / f"{paper}.json").write_text(record.model_dump_json())
    return root
