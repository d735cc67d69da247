"""Arrow columns of records, derived from their pydantic classes, and flat rows for the Hub's own evaluations.

Contract: `from_row(cls, to_row(record)) == record`, through Parquet and `datasets` with undecoded images.

Flat rows are published as config `eval_TASK`, split `test`, with either the whole prompt without `choices`, or the bare
question with its choices.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from livek12.core.lazy import pa
from livek12.core.records import Image, Record

DTYPES: dict[object, str] = {str: "string", int: "int64", float: "float64", bool: "bool"}
R = TypeVar("R", bound=Record)


@cache
def columns(record: type[Record]) -> dict[str, Any]:
    """Columns, in the form of `datasets.Features.to_dict`."""
    return {name: _feature(field.annotation) for name, field in record.model_fields.items()}


def schema(record: type[Record]) -> pa.Schema:
    """Columns as an Arrow schema, with the image metadata of `datasets`."""
    described = json.dumps({"info": {"features": columns(record)}})
    fields = [pa.field(name, _arrow(feature)) for name, feature in columns(record).items()]
    return pa.schema(fields, metadata={"huggingface": described})


def to_row(record: Record) -> dict[str, Any]:
    """Plain data for one row of `schema(type(record))`; ten times as fast as `model_dump`."""
    row = dict(record.__dict__)
    for name in _nested(type(record)):
        value = row[name]
        if value is not None and value != []:
            row[name] = _rows(value)
    return row


def _rows(value: Any) -> Any:
    return [_rows(item) for item in value] if type(value) is list else to_row(value)


def from_row(record: type[R], row: Mapping[str, Any]) -> R:
    """Record of a row (images not decoded).

    Missing or null columns take defaults and unknown ones are ignored, so older and newer datasets are readable.
    """
    return record.model_validate(_known(record, row))


def _known(record: type[Record], row: Mapping[str, Any]) -> dict[str, Any]:
    present = {name: row[name] for name in record.model_fields if row.get(name) is not None}
    for name, nested in _nested(record).items():
        if name in present:
            present[name] = _known_items(nested, present[name])
    return present


def _known_items(nested: type[Record], value: Any) -> Any:
    if isinstance(value, list):
        return [_known_items(nested, item) for item in value]
    return _known(nested, value) if isinstance(value, Mapping) else value


@cache
def _nested(record: type[Record]) -> dict[str, type[Record]]:
    nested = {}
    for name, field in record.model_fields.items():
        inner = get_args(field.annotation)
        for candidate in (field.annotation, *inner, *(deeper for member in inner for deeper in get_args(member))):
            if isinstance(candidate, type) and issubclass(candidate, Record):
                nested[name] = candidate
    return nested


def _feature(annotation: Any) -> dict[str, Any]:
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        (only,) = (member for member in inner if member is not NoneType)
        return _feature(only)
    if origin is Annotated:
        return _feature(inner[0])
    if origin is list:
        return {"feature": _feature(inner[0]), "_type": "List"}
    if origin is Literal:
        (annotation,) = {type(member) for member in inner}
    elif annotation is Image:
        return {"_type": "Image"}
    elif issubclass(annotation, Record):
        return columns(annotation)
    return {"dtype": DTYPES[annotation], "_type": "Value"}


def _arrow(feature: Mapping[str, Any]) -> pa.DataType:
    match feature.get("_type"):
        case "Value":
            return pa.type_for_alias(feature["dtype"])
        case "List":
            return pa.list_(_arrow(feature["feature"]))
        case "Image":
            return pa.struct([("bytes", pa.binary()), ("path", pa.string())])
        case _:
            return pa.struct([(name, _arrow(member)) for name, member in feature.items()])


PREFIX = "eval_"
"""How the configs of flat rows begin; no other config does."""
SPLIT = "test"
Form = Literal["choices", "letters", "value"]
"""How one answer decides: `choices` are printed by the harness; `letters` and `value` are asked for in a box."""


class FlatFacts(Record):
    """Facts of a question for the logs of a harness."""

    benchmark: str
    release: str | None = None
    language: str
    subject: str
    question_type: str
    difficulty: str | None = None
    points: float | None = None
    paper_id: str | None = None
    number: str | None = None
    licence: str | None = None
    url: str | None = None


class FlatRow(Record):
    """One question; `image` is a `data:` address of all its pictures in one."""

    id: Annotated[str, "the question's id in the other configs"]
    input: Annotated[str, "what the model is told: the whole prompt, or the question alone where there are choices"]
    target: Annotated[str, "the letters, the number or the expression that is right"]
    choices: Annotated[
        list[str], "the texts of the choices, for the harness to print; empty where the prompt holds them"
    ] = []
    image: Annotated[str, "all pictures of the question in one, as a data address; empty where it has none"] = ""
    metadata: Annotated[
        FlatFacts, "benchmark, release, language, subject, type, points, licence and address of the question"
    ]


@dataclass(frozen=True)
class FlatTask:
    """Flat rows of one task: the questions that one answer decides.

    Attributes:
        pictures: true if any row has one.
        asked: all questions of the task in the dataset.
        rows: lazy, each readable once.
    """

    name: str
    description: str
    form: Form
    pictures: bool
    asked: int
    rows: Iterable[FlatRow]


Flatten = Callable[[Path], Iterator[FlatTask]]
"""Gives the flat tasks of a data set that lies in a folder."""


def is_flat(config: str) -> bool:
    """Recognises a config or table of flat rows."""
    return config.startswith(PREFIX)
