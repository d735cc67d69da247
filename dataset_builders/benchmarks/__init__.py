"""Benchmark readers, one folder each: source rows to Questions."""

from __future__ import annotations

from livek12.dataset_builders.reading.fields import Data, joined_of
from livek12.dataset_builders.reading.text import count_blanks, restore, split_blanks, split_parts, unlabelled

COMMON_KEYS = frozenset(
    "id index question answer question_type language subject topic options points part_points part_units passage images"
    " solution marking scheme knowledge_points taxonomy difficulty year exam number subsets release paper_id"
    " page_numbers removed_in review source source_url url licence upstream_id".split()
)
"""Row keys that several builders read, by our names."""


def free_key(text: str, key: list[str], question_type: str) -> list[str]:
    """Splits the only entry of a key that is no choice, by the blanks or parts of the text."""
    if len(key) != 1:
        return unlabelled(key)
    if question_type == "fill_in_blank":
        return split_blanks(key[0], count_blanks(text))
    return split_parts(text, key[0]) if question_type == "short_answer" else key


def solution_of(data: Data) -> str:
    """The solution of a row."""
    return restore(joined_of(data, "solution"))
