"""Ground, underlines and rows of numbers of typeset papers."""

from __future__ import annotations

from pathlib import Path

from livek12.dataset_builders.ingest.extract import extract_pages
from tests.dataset_builders.ingest.papers import paper_of
from tests.dataset_builders.ingest.pdf_making import typeset

_MARKED = """
#set page(paper: "a4", margin: 2cm, background: place(dx: 60mm, dy: 30mm,
  polygon(fill: rgb("#c0d0e0"), (0mm, 0mm), (90mm, 60mm), (60mm, 120mm), (10mm, 90mm))))
"""


def _texts(path: Path) -> list[str]:
    return [line.text for page in extract_pages(path) for block in page.blocks for line in block.lines]


def test_drawing_of_each_page_is_ground(tmp_path: Path) -> None:
    pages = [f"{n}. What is the sum of the first {n} odd numbers?\n\n(A) {n} (B) {n * n}" for n in (1, 2, 3)]
    path = typeset("\n#pagebreak()\n".join(pages), tmp_path / "marked.pdf", setup=_MARKED)
    blocks = [block for page in extract_pages(path) for block in page.blocks]
    assert not [block for block in blocks if block.kind == "figure"]
    assert sum("What is the sum" in line.text for block in blocks for line in block.lines) == 3


def test_drawing_of_one_page_is_a_figure(tmp_path: Path) -> None:
    path = typeset("1. What is drawn?", tmp_path / "one.pdf", setup=_MARKED)
    assert [block.kind for page in extract_pages(path) for block in page.blocks].count("figure") == 1


def test_underlined_words_that_are_asked_of(tmp_path: Path) -> None:
    body = (
        "1. What does the underlined word mean? The sky was #underline[clear] at noon.\n\n2. Why is it #underline[so]?"
    )
    drafts = paper_of(typeset(body, tmp_path / "lined.pdf")).drafts
    assert [draft.question.count("<u>clear</u>") for draft in drafts] == [1, 0]
    assert "<u>" not in drafts[1].question


def test_rows_of_numbers_without_rules(tmp_path: Path) -> None:
    body = "1. Find the mean.\n\n#table(columns: 2, [x \\ y], [384.2 325.4 331.8 \\ 401.2 341.5 361.7])"
    texts = _texts(typeset(body, tmp_path / "rows.pdf"))
    assert [text.split("\t") for text in texts if "\t" in text] == [
        ["x", "384.2 325.4 331.8"],
        ["y", "401.2 341.5 361.7"],
    ]
