"""Benchmark readers, one folder each: source rows to Questions."""

from __future__ import annotations

from typing import Any

from livek12.dataset_builders.reading import fields
from livek12.dataset_builders.reading.fields import Data
from livek12.dataset_builders.reading.rows import SourceRow
from livek12.dataset_builders.reading.text import count_blanks, restore, split_blanks, split_parts, unlabelled

COMMON_KEYS = frozenset(
    "id index question answer question_type language subject topic options points part_points part_units passage images"
    " solution marking scheme knowledge_points taxonomy difficulty year exam number subsets release paper_id"
    " page_numbers removed_in review source source_url url licence upstream_id".split()
)
"""Row keys that several builders read, by our names."""


def free_key(text: str, key: list[str], question_type: str) -> list[str]:
    """Splits the only entry of a non-choice key by the blanks or parts of the text."""
    if len(key) != 1:
        return unlabelled(key)
    if question_type == "fill_in_blank":
        return split_blanks(key[0], count_blanks(text))
    return split_parts(text, key[0]) if question_type == "short_answer" else key


def solution_of(data: Data) -> str:
    """Solution of a row."""
    return restore(fields.joined_of(data, "solution"))


def plain_fields(row: SourceRow) -> dict[str, Any]:
    """Fields that keep the row's form."""
    data = row.data
    names = ("release", "paper_id", "number", "removed_in", "difficulty")
    return {
        **{name: fields.text_of(data, name) or None for name in names},
        "page_numbers": fields.numbers_of(data, "page_numbers"),
        "part_units": fields.units_of(data),
        "solution": solution_of(data) or None,
        "taxonomy": fields.texts_of(data, "taxonomy"),
        "review": fields.review_of(data, row.origin),
        "source": fields.source_of(data, row.origin),
    }
