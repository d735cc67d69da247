"""Papers for the tests of ingestion: pages made of lines, and drafts of real PDFs."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from livek12.core.records import Language
from livek12.dataset_builders.ingest.drafts import Draft, IngestedPaper
from livek12.dataset_builders.ingest.page_reader import read_here
from livek12.dataset_builders.ingest.pages.blocks import Block, Box, Line, PageBlocks
from livek12.dataset_builders.ingest.paper import AnswerKey, Options, read_paper
from livek12.dataset_builders.ingest.questions.headings import marked
from livek12.dataset_builders.ingest.questions.segment import Body, segment
from livek12.dataset_builders.ingest.questions.stream import Stream, flatten

HEIGHT = 0.02


def page(*lines: str, number: int = 1, column: int = 0, top: float = 0.15) -> PageBlocks:
    """A page whose lines stand below each other; "…" at a line's end makes it as wide as the column."""
    left = 0.1 + 0.42 * column
    blocks = []
    for place, text in enumerate(lines):
        above = top + place * 1.4 * HEIGHT
        width = 0.38 if text.endswith("…") else 0.2
        box = Box(page=number, left=left, top=above, right=left + width, bottom=above + HEIGHT)
        line = Line(text=text.removesuffix("…"), box=box, size=HEIGHT)
        blocks.append(Block(kind="text", box=box, column=column, lines=[line]))
    return PageBlocks(number=number, width=595, height=842, image=b"", blocks=blocks)


def both(left: PageBlocks, right: PageBlocks) -> PageBlocks:
    """One page of two columns."""
    return replace(left, blocks=[*left.blocks, *right.blocks])


def figure(made: PageBlocks, text: str) -> PageBlocks:
    """A page with a picture behind its last line, with text in it."""
    last = made.blocks[-1]
    box = replace(last.box, top=last.box.bottom + 0.01, bottom=last.box.bottom + 0.05)
    line = replace(last.lines[0], text=text, box=box)
    block = Block(kind="figure", box=box, lines=[line], picture=b"\x89PNG")
    return replace(made, blocks=[*made.blocks, block])


def read(*pages: PageBlocks, key: AnswerKey | None = None, options: Options | None = None) -> IngestedPaper:
    """The paper that pages make."""
    paper, _ = read_paper(
        Path("paper.pdf"), pages, "paper", "0" * 64, options or Options(), None, key or AnswerKey(), None
    )
    return paper


def by_number(paper: IngestedPaper) -> dict[str, Draft]:
    """The drafts of a paper whose numbers are all different."""
    return {draft.number: draft for draft in paper.drafts}


@cache
def pages_of(file: Path, numbers: range | None = None) -> tuple[PageBlocks, ...]:
    """The pages of a PDF, read once a session, in this process: one of its own takes most of a second to start."""
    return tuple(marked(read_here(file, None, "auto", numbers)))


@cache
def paper_of(
    file: Path, key: Path | None = None, numbers: range | None = None, language: Language | None = None
) -> IngestedPaper:
    """A PDF, as a paper with its key."""
    options = Options(language=language)
    found = AnswerKey.read(key) if key else AnswerKey()
    pages = pages_of(file, numbers)
    return read_paper(file, pages, file.stem, "0" * 64, options, None, found, None)[0]


def segmented(pages: Sequence[PageBlocks]) -> tuple[Body, Stream]:
    """Pages, taken apart."""
    stream = flatten(pages)
    return segment(stream), stream


def bare(text: str) -> str:
    """A text as two transcriptions of it agree: no spaces, dollars, braces, upright letters, image marks."""
    text = unicodedata.normalize("NFKC", text)
    text = re.sub(r"<image>|<svg.*?</svg>", "", text, flags=re.DOTALL)
    text = text.replace(r"\dfrac", r"\frac").replace(r"\rightarrow", r"\to").replace("↑", r"\uparrow")
    text = re.sub(r"\\(?:leqslant|leq)(?![a-z])", r"\\le", text)
    text = re.sub(r"\\(?:geqslant|geq)(?![a-z])", r"\\ge", text)
    text = re.sub(r"\\(?:mathrm|mathbf|mathbb|boldsymbol|vec|text|left|right|quad)(?![a-z])|\\[,;!()\[\]]", "", text)
    return re.sub(r"[\s${}\\_.。]|\(\)", "", text)


def whole(draft: Draft) -> str:
    """A draft's text with its options, as papers print it."""
    return "\n".join([draft.question, *(f"{option.label}. {option.text}" for option in draft.options)])


def distance(one: str, other: str) -> float:
    """Normalised edit distance (Levenshtein), 0 to 1."""
    last = list(range(len(other) + 1))
    for row, a in enumerate(one, 1):
        current = [row]
        for column, b in enumerate(other, 1):
            current.append(min(last[column] + 1, current[-1] + 1, last[column - 1] + (a != b)))
        last = current
    return last[-1] / max(len(one), len(other), 1)
