"""Glossary from a user's file.

Contract: CSV or TSV with columns `source` and `target`, or YAML with one mapping. Only terms in a question are sent
with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from livek12.core.errors import UserError
from livek12.core.tables import BadLine, read_table
from livek12.dataset_builders.base import one_line

MAX_BYTES = 2 << 20
MAX_TERM = 120
MOST_SHOWN = 40


def read_glossary(file: Path) -> dict[str, str]:
    """Reads a glossary; raises UserError for faulty files."""
    try:
        if file.stat().st_size > MAX_BYTES:
            raise UserError(f"{file}: a glossary has at most {MAX_BYTES >> 20} MiB")
        terms = _yaml(file) if file.suffix.lower() in (".yaml", ".yml") else _table(file)
    except OSError as error:
        raise UserError(f"{file}: cannot be read ({error.strerror})") from None
    if not terms:
        raise UserError(f"{file}: holds no term; a line is SOURCE, TARGET under a heading source, target (or YAML)")
    for source, target in terms.items():
        if not (0 < len(source) <= MAX_TERM and 0 < len(target) <= MAX_TERM):
            raise UserError(f"{file}: term {one_line(source, 40)!r}: terms have 1 to {MAX_TERM} characters")
    return terms


def terms_in(glossary: Mapping[str, str], text: str) -> dict[str, str]:
    """Terms that a text contains, longest first."""
    matches = sorted((term for term in glossary if term in text), key=len, reverse=True)
    return {term: glossary[term] for term in matches[:MOST_SHOWN]}


def _yaml(file: Path) -> dict[str, str]:
    import yaml

    try:
        terms = yaml.safe_load(file.read_text("utf-8"))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UserError(f"{file}: is no YAML that can be read ({one_line(error, 120)})") from None
    if not isinstance(terms, dict) or not all(isinstance(text, str) for pair in terms.items() for text in pair):
        raise UserError(f"{file}: a glossary maps terms to terms, both texts")
    return terms


def _table(file: Path) -> dict[str, str]:
    terms = {}
    for line, row in read_table(file):
        if isinstance(row, BadLine):
            raise UserError(f"{file}:{line}: {row}")
        if not {"source", "target"} <= row.keys():
            raise UserError(f"{file}:{line}: a term has both source and target")
        terms[row["source"].strip()] = row["target"].strip()
    return terms
