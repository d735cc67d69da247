"""Records through Arrow, Parquet and `datasets`, and back."""

from __future__ import annotations

import io
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from livek12.core.features import columns, from_row, schema, to_row
from livek12.core.languages import codes
from livek12.core.question_types import type_names
from livek12.core.records import Page, PageBox, Question, Record, Review, SchemeCriterion
from livek12.dataset_builders import sample

TEXT = st.text(max_size=12)
SCALARS = {
    str: TEXT,
    int: st.integers(-(2**63), 2**63 - 1),
    float: st.floats(allow_nan=False),
    bool: st.booleans(),
    bytes: st.binary(max_size=12),
}


def values(annotation: Any) -> st.SearchStrategy[Any]:
    """Anything a field of that type can hold."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return st.none() | values(next(member for member in inner if member is not NoneType))
    if origin is list:
        return st.lists(values(inner[0]), max_size=3)
    if origin is Literal:
        return st.sampled_from(inner)
    return records(annotation) if issubclass(annotation, Record) else SCALARS[annotation]


SIDES = st.lists(st.floats(0, 1), min_size=2, max_size=2, unique=True).map(sorted)


def boxes() -> st.SearchStrategy[PageBox]:
    """Any place on a page."""
    sides = st.tuples(st.integers(1, 2**31), SIDES, SIDES)
    return sides.map(lambda of: PageBox(page=of[0], left=of[1][0], top=of[2][0], right=of[1][1], bottom=of[2][1]))


def records(kind: type[Record]) -> st.SearchStrategy[Any]:
    """Any record of a class."""
    if kind is PageBox:
        return boxes()
    fields = {name: values(field.annotation) for name, field in kind.model_fields.items() if name != "language"}
    if "language" in kind.model_fields:
        fields["language"] = st.sampled_from(codes())
    if "question_type" in fields:
        fields["question_type"] = st.sampled_from(type_names())
    if "scheme" in fields:
        fields["scheme"] = st.just([])
    if "benchmark" in fields:
        fields["benchmark"] = st.from_regex(r"[a-z][a-z0-9_]{0,31}", fullmatch=True)
    return st.builds(kind, **fields)


def schemed(question: Question, texts: list[str]) -> Question:
    """The question with a scheme of one point a text."""
    criteria = [SchemeCriterion(id=str(number), points=1, text=text) for number, text in enumerate(texts)]
    worth = {"points": float(len(texts)) or None, "part_points": []}
    return question.model_copy(update={"scheme": [criteria] if texts else [], **worth})


def through_parquet(rows: list[Any]) -> list[dict[str, Any]]:
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([to_row(row) for row in rows], schema=schema(type(rows[0]))), buffer)
    return pq.read_table(buffer).to_pylist()


@pytest.mark.parametrize("kind", [Question, Page])
def test_schema_is_the_one_datasets_derives(kind: type[Record]) -> None:
    import datasets

    assert datasets.Features.from_dict(columns(kind)).arrow_schema.equals(schema(kind), check_metadata=True)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.builds(schemed, records(Question), st.lists(TEXT, max_size=3)), min_size=1, max_size=3))
def test_any_question_survives_parquet(questions: list[Question]) -> None:
    assert [from_row(Question, row) for row in through_parquet(questions)] == questions


@settings(max_examples=20, deadline=None)
@given(st.lists(records(Page), min_size=1, max_size=3))
def test_any_page_survives_parquet(pages: list[Page]) -> None:
    assert [from_row(Page, row) for row in through_parquet(pages)] == pages


def test_real_questions_survive_datasets_with_undecoded_images() -> None:
    import datasets

    questions = [question for group in sample.PAPERS for question in sample.load(group)]
    assert any(question.images for question in questions)
    loaded = datasets.Dataset(pa.Table.from_pylist([to_row(q) for q in questions], schema=schema(Question)))
    assert loaded.features == datasets.Features.from_dict(columns(Question))
    undecoded = datasets.List(datasets.Image(decode=False))
    for column in ("images", "answer_images", "solution_images"):
        loaded = loaded.cast_column(column, undecoded)
    assert [from_row(Question, row) for row in loaded] == questions


def test_older_and_newer_columns() -> None:
    row = to_row(sample.load("cfe")[0].model_copy(update={"review": Review()}))
    older = {name: value for name, value in row.items() if name not in ("review", "part_points", "removed_in")}
    newer = {**row, "novelty": 1, "source": {**row["source"], "doi": "10/x"}}
    newer["variables"] = [{**variable, "unit": "m"} for variable in row["variables"]]
    assert row["variables"]
    expected = from_row(Question, row)
    assert from_row(Question, newer) == expected
    assert from_row(Question, {**older, "flags": None, "options": None}) == expected


def test_missing_required_column_is_refused() -> None:
    row = to_row(sample.load("cfe")[0])
    del row["question"]
    with pytest.raises(ValidationError, match="question"):
        from_row(Question, row)
