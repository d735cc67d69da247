"""What is asked of the judge over HTTP: rows as `livek12.Verifier` takes them, within bounds.

Contract: a row that is within the bounds is handed on as it was sent, so that it is read by the one reader of rows
(`evaluation/pairs.py`) and gets what `Verifier` says to it. The models here describe rows to people and to makers of
clients; they read nothing. All bounds are checked in time that grows with the body alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import models_json_schema

from livek12.evaluation.verify import FIELDS

MOST_ROWS: Final = 1024
"""Rows of a batch."""
MOST_VALUES: Final = 4096
"""Values in a row: its fields and the entries of its lists and objects, all together."""
MOST_IN_BODY: Final = 2**18
"""Values in a body; all of its text may be one of them."""
DEEPEST: Final = 16
"""Lists and objects inside each other, in a row."""
_KNOWN: Final = frozenset({"id", *FIELDS})
_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+["\\]?', re.DOTALL)
"""A text in JSON; one that does not end goes to the end of the body, so that no place is looked at twice."""
Json = dict[str, Any]
Scalar = bool | int | float | str


class PairRow(BaseModel):
    """One answer beside its key; the fields are those of docs/judge-pairs.md, and null is as good as none."""

    model_config = ConfigDict(extra="forbid", title="PairRow")

    id: int | str | None = Field(None, description="Passed over: judgements come in the order of the rows.")
    gold: Scalar | list[Scalar] | None = Field(None, description="The key; a list has one entry a part.")
    response: str = Field(description="A whole response, or a bare answer.")
    question: str | None = None
    question_type: str | None = None
    options: list[str | dict[str, str]] | dict[str, str] | None = None
    images: list[str | dict[str, str]] | None = Field(None, description="Data URLs or base64; no file is read.")
    unit: str | list[str | None] | None = Field(None, description="The unit printed behind the blank.")
    part_units: str | list[str | None] | None = Field(None, description="As `unit`.")
    variables: list[dict[str, Any]] | None = Field(None, description="Typed variables; `gold` may then be missing.")
    language: str | None = None
    subject: str | None = None
    solution: str | None = Field(None, description="For judge models.")
    part_points: list[float] | None = None
    finish_reason: str | None = Field(None, description="Why the response ended, such as `length`.")
    model: str | None = Field(None, description="Who wrote the response; never judges itself.")


class PairRows(BaseModel):
    """Rows that are judged together."""

    model_config = ConfigDict(extra="forbid", title="PairRows")

    rows: list[PairRow] = Field(max_length=MOST_ROWS)


class BadRequest(Exception):
    """What is asked cannot be answered; the message says why."""


def describe(described: Json) -> None:
    """Writes into an OpenAPI description what the bodies hold.

    Args:
        described: of an application whose bodies are read by `one_row` and `many_rows`.
    """
    path = "#/components/schemas/{model}"
    refs, schemas = models_json_schema([(PairRow, "validation"), (PairRows, "validation")], ref_template=path)
    described["components"]["schemas"] |= schemas["$defs"]
    models: dict[str, type[BaseModel]] = {"/verify": PairRow, "/verify/batch": PairRows}
    for place, model in models.items():
        content = described["paths"][place]["post"]["requestBody"]["content"]
        content["application/json"]["schema"] = refs[model, "validation"]


def too_many_values(body: bytes | bytearray) -> bool:
    """Whether a body has more values than `MOST_IN_BODY`, before anything is made of it."""
    if body.count(b",") <= MOST_IN_BODY:
        return False
    most = 2 * MOST_IN_BODY + 2  # a value is a text at most, with one for its name
    rest, texts = _STRING.subn(b"", body, most)
    return texts == most or rest.count(b",") > MOST_IN_BODY


def one_row(body: Any) -> Any:
    """The row in a body.

    Raises:
        BadRequest: it is beyond the bounds.
    """
    _check(body, "")
    return body


def many_rows(body: Any) -> list[Any]:
    """The rows in the body of a batch.

    Raises:
        BadRequest: there is no list of rows, or one of them is beyond the bounds.
    """
    rows = body.get("rows") if isinstance(body, dict) else None
    if not isinstance(rows, list) or len(body) > 1:
        raise BadRequest('a batch is an object with nothing but a list of rows: {"rows": […]}')
    if len(rows) > MOST_ROWS:
        raise BadRequest(f"rows: {len(rows)} of them, where a batch has {MOST_ROWS} at most")
    for number, row in enumerate(rows):
        _check(row, f"rows.{number}.")
    return rows


def _check(row: Any, where: str) -> None:
    """Bounds a row; whether it is one is the reader's to say."""
    level, seen, head = [row], 0, where and f"{where[:-1]}: "
    for _ in range(DEEPEST + 1):
        level = [inner for value in level for inner in _inside(value)]
        seen += len(level)
        if seen > MOST_VALUES:
            raise BadRequest(f"{head}a row has {MOST_VALUES} values at most, all lists together")
    if level:
        raise BadRequest(f"{head}a row has more than {DEEPEST} lists and objects inside each other")
    for name in row if isinstance(row, Mapping) else ():
        if name not in _KNOWN:
            raise BadRequest(f"{where}{name:.80}: there is no such field")


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
