"""Questions on the pages of their papers: the images that they stand on, and the order in which people read them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, TypeVar

from livek12.core.errors import UserError
from livek12.core.records import Question

Pages = Mapping[tuple[str, int], Any]
"""Page images by paper and page number (from 1)."""
Q = TypeVar("Q", Question, Mapping[str, Any])


def join_pages(questions: Iterable[Q], pages: Pages | Iterable[Any]) -> Iterator[tuple[Q, list[Any]]]:
    """Each question with the images of the pages it stands on, in page order.

    Args:
        questions: `Question` records, or rows of config `image_only` as `datasets` gives them.
        pages: what `load_pages` gives, or `Page` records, or rows of config `pages` (one split, or a dict of splits).

    Raises:
        UserError: a question names no pages, or one of them is not among `pages`.
    """
    found = page_index(pages)
    for question in questions:
        yield question, pages_of(question, found)


def pages_of(question: Question | Mapping[str, Any], pages: Pages) -> list[Any]:
    """The images of the pages that a question stands on, in page order.

    Raises:
        UserError: it names no pages, or one of them is not among `pages`.
    """
    id, paper, numbers = (_field(question, name) for name in ("id", "paper_id", "page_numbers"))
    if not paper or not numbers:
        raise UserError(f"question {id} names no paper or pages; it cannot be asked from page images")
    for number in numbers:
        if (paper, number) not in pages:
            raise UserError(f"question {id}: page {number} of paper {paper} is missing")
    return [pages[paper, number] for number in sorted(numbers)]


def paper_order(question: Question) -> tuple[Any, ...]:
    """Sort key of every list of questions that people read: by paper, and in it by number (2 before 10, 10 before 10a).

    Questions without a paper come last, those without a number last in their paper, both as they stood.
    """
    return (_natural(question.paper_id), _natural(question.number))


def _natural(name: str | None) -> tuple[bool, list[tuple[int, int, str]]]:
    pieces = re.findall(r"([0-9]{1,18})|([^0-9]+)", name or "")
    return not name, [(0, int(digits), "") if digits else (1, 0, text) for digits, text in pieces]


def page_index(pages: Pages | Iterable[Any]) -> Pages:
    """Page images by paper and page number; see `join_pages` for what `pages` may be."""
    if isinstance(pages, Mapping):
        if all(isinstance(key, tuple) for key in pages):
            return pages
        pages = chain.from_iterable(pages.values())
    return {(_field(page, "paper_id"), _field(page, "page_number")): _field(page, "image") for page in pages}


def _field(row: Any, name: str) -> Any:
    """A field of a record or of a row of `datasets`."""
    return row[name] if isinstance(row, Mapping) else getattr(row, name)
