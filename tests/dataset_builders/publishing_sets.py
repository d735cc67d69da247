"""Small built data sets for the tests of publishing."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from livek12.core.records import FlowStep, Image, Page, Question, Review, SchemeCriterion, Source, Variable
from livek12.dataset_builders.base import IMAGE_ONLY, PAGES
from livek12.dataset_builders.registry import builder_of, split_of
from livek12.dataset_builders.writing.card import write_metadata
from livek12.dataset_builders.writing.parquet import TableWriters
from livek12.dataset_builders.writing.statistics import Statistics
from tests.dataset_builders.pictures import picture


def question(
    id: str, release: str = "2605", state: str = "accepted", licence: str | None = "MIT", **more: Any
) -> Question:
    """A livek12 question with everything that tells its answer."""
    worth = more.get("points", 5.0) or sum(more.get("part_points", [2.0, 3.0])) or 1.0
    return Question(
        **{
            "id": id,
            "benchmark": "livek12",
            "release": release,
            "language": "en",
            "subject": "math",
            "question_type": "fill_in_blank",
            "question": f"What is the number of {id}? ____ and ____",
            "answer": [f"secret {id}", "2"],
            "part_points": [2.0, 3.0],
            "solution": f"secret way to {id}",
            "solution_images": [image(7)],
            "answer_images": [image(8)],
            "variables": [Variable(name="x", description="the number", type="numeric", value=f"secret {id}")],
            "reasoning_flow": [FlowStep(step="Count.", answer=f"secret {id}")],
            "scheme": [[SchemeCriterion(id="1", points=worth, text=f"secret step of {id}")]],
            "points": 5.0,
            "paper_id": f"paper_{release}",
            "page_numbers": [1],
            "number": id,
            "review": Review(state=state),
            "source": Source(licence=licence, url="https://exams.example/one"),
            **more,
        }
    )


def image(colour: int = 0) -> Image:
    """A small picture."""
    return Image(bytes=picture(colour), path=f"{colour}.png")


def page(number: int, release: str = "2605") -> Page:
    """A page of the paper of a release."""
    return Page(paper_id=f"paper_{release}", page_number=number, image=image(number), language="en", release=release)


def make_set(folder: Path, questions: Iterable[Question], pages: Iterable[Page] = ()) -> Path:
    """Writes a livek12 data set as a build does."""
    folder.mkdir(parents=True)
    layout, statistics, known = builder_of("livek12").layout, Statistics(), set()
    with TableWriters(folder) as writers:
        for record in pages:
            writers.write(PAGES, split_of(record), record)
            statistics.add_page(record, split_of(record))
            known.add((record.paper_id, record.page_number))
        for record in questions:
            tables = list(layout.tables(record, known))
            statistics.add(record, tables, split_of(record))
            for table in tables:
                writers.write(table, split_of(record), as_stored(table, record))
        written = set(writers.counts)
    configs = {name: tuple(part for part in parts if part in written) for name, parts in layout.configs.items()}
    configs |= {PAGES: (PAGES,)} if PAGES in written else {}
    present = {name: parts for name, parts in configs.items() if parts}
    write_metadata(folder, statistics.summary("livek12", present), present)
    return folder


def as_stored(table: str, question: Question) -> Question:
    """The row of a question in a table: image-only rows leave the figures to their pages."""
    return question.model_copy(update={"images": []}) if table == IMAGE_ONLY else question
