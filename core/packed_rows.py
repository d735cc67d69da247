"""The columns of packed journals: keys, numbers, and light records (without their texts).

Contract: the columns are a function of the line and the version of the records, so that files from elsewhere can be
checked. A light record equals the record in all that scores and comparisons read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from pydantic_core import to_json

from livek12.core.records import Failure, Key, Record, Response, Verdict, canonical_json
from livek12.core.text import wide_in

if TYPE_CHECKING:
    from pyarrow import Schema

R = TypeVar("R", bound=Record)
LIGHT, VERSIONS = "light", "versions"
PackedRow = tuple[str, int, bytes]
"""Journal, offset there, and bytes of a line."""
_TOKENS = ("prompt_tokens", "cached_tokens", "completion_tokens", "reasoning_tokens")
_KINDS: Mapping[str, Mapping[str, type]] = {
    "responses": {"model": str, "run": str, "finish_reason": str, **dict.fromkeys(_TOKENS, int), "seconds": float},
    "verdicts": {
        "state": str,
        **dict.fromkeys(("points", "low", "high", "max_points"), float),
        "correct": bool,
        "judge": str,
    },
    "failures": {"state": str},
}
"""Further columns of a stem, with their types."""
WITHOUT_TEXTS = ("responses", "verdicts")
"""Stems with light records."""
MODELS: dict[str, type[Response | Failure | Verdict]] = {
    "responses": Response,
    "earlier": Response,
    "failures": Failure,
    "verdicts": Verdict,
    "repeats": Verdict,
}
"""Records of the journals with keys."""


class StoredKey(NamedTuple):
    """Key of a record; model and run of a response."""

    key: Key
    model: str = ""
    run: str | None = None


class LightResponse(Response):
    """Response without text and thinking; `hash` is its `sha256`, `wide` and `narrow` see `size_of`."""

    hash: str | None = None
    wide: int = 0
    narrow: int = 0

    @property
    def sha256(self) -> str:
        """Hash of the text."""
        return self.hash or super().sha256


def size_of(response: Response) -> tuple[int, int]:
    """Characters of a stripped text that are about a token each (CJK), and the others."""
    if isinstance(response, LightResponse) and response.hash is not None:
        return response.wide, response.narrow
    text = response.text.strip()
    wide = wide_in(text)
    return wide, len(text) - wide


def schema_of(stem: str) -> Schema:
    """The Parquet schema of a stem."""
    import pyarrow as pa

    kinds = {int: pa.int64(), float: pa.float64(), bool: pa.bool_(), str: pa.string()}
    words = pa.dictionary(pa.int32(), pa.string())
    fields = [("file", words), ("start", pa.int64()), ("line", pa.large_binary())]
    fields += [("task", words), ("question_id", pa.string()), ("trial", pa.int64())]
    fields += [
        (name, words if name in ("model", "run") else kinds[kind]) for name, kind in _KINDS.get(stem, {}).items()
    ]
    fields += [(VERSIONS, words), (LIGHT, pa.large_binary())] * (stem in WITHOUT_TEXTS)
    return pa.schema(fields)


def columns_of(stem: str, rows: Iterable[PackedRow]) -> list[list[Any]]:
    """Columns of rows in the order of the schema; null where a line is no record."""
    columns: list[list[Any]] = [[] for _ in schema_of(stem)]
    for row in rows:
        record = _record(stem, row[2])  # with its texts: one at a time
        key = record.key if record else None
        trial = key.trial if key and abs(key.trial) < 1 << 62 else None
        values = [*row, *((key.task, key.question_id, trial) if key else (None, None, None))]
        values += [_fitting(getattr(record, name)) if record else None for name in _KINDS.get(stem, {})]
        if stem in WITHOUT_TEXTS:
            values += (_as_json(tuple(record.versions.items())), light_line(record)) if record else (None, None)
        for column, value in zip(columns, values, strict=True):
            column.append(value)
    return columns


@lru_cache(64)
def _as_json(versions: tuple[tuple[str, str], ...]) -> str:
    return canonical_json(dict(versions))


def _record(stem: str, line: bytes) -> Any:
    try:
        return MODELS[stem].model_validate_json(line)
    except (KeyError, ValueError):
        return None


def _fitting(value: Any) -> Any:
    """None for a number beyond 64 bits."""
    return None if isinstance(value, int) and abs(value) >= 1 << 62 else value


def contradiction(stem: str, rows: Sequence[PackedRow], stored: Mapping[str, Sequence[Any]]) -> tuple[int, str] | None:
    """Row and column of the first value that differs from its line; None if all are equal."""
    for field, made in zip(schema_of(stem), columns_of(stem, rows), strict=True):
        for row, (here, line) in enumerate(zip(stored.get(field.name, made), made, strict=True)):
            if here != line and not (field.name == LIGHT and _same_light(stem, here, line)):
                return row, str(field.name)
    return None


def _same_light(stem: str, stored: bytes | None, made: bytes | None) -> bool:
    """Compares as records: earlier versions left out empty fields."""
    model = light_model(MODELS[stem])
    try:
        return bool(stored and made) and model.model_validate_json(stored or b"") == model.model_validate_json(
            made or b""
        )
    except ValueError:
        return False


def light_line(record: Record) -> bytes | None:
    """Record without its texts, as JSON; None for records with short lines."""
    if isinstance(record, Response):
        return to_json(_of_response(record))
    return to_json(_of_verdict(record)) if isinstance(record, Verdict) else None


def light_model(model: type[R]) -> type[R]:
    """Model of light lines."""
    return cast("type[R]", LightResponse) if model is Response else model


_TEXTS_OF_RESPONSE: Any = {"text", "reasoning", "prompt_sha256", "versions"}
_TEXTS_OF_VERDICT: Any = {
    "reason": True,
    "versions": True,
    "process_ungraded": True,
    "parts": {"__all__": {"answer": True, "gold": True, "reason": True, "votes": {"__all__": {"reason", "raw"}}}},
    "process": {"errors": {"__all__": {"step", "reason"}}},
    "calls": {"__all__": {"raw", "problem"}},
}
# Default values are written out: copying defaults costs pydantic more than parsing them.


def _of_response(response: Response) -> dict[str, Any]:
    wide, narrow = size_of(response)
    light = response.model_dump(exclude=_TEXTS_OF_RESPONSE)
    if response.earlier:
        light["earlier"]["text"] = ""
    return {**light, "text": "", "versions": {}, "hash": response.sha256, "wide": wide, "narrow": narrow}


def _of_verdict(verdict: Verdict) -> dict[str, Any]:
    light = verdict.model_dump(exclude=_TEXTS_OF_VERDICT)
    for part in light["parts"]:
        part |= {"answer": None, "gold": "", "reason": ""}
    for source, call in zip(verdict.calls, light["calls"], strict=True):
        call["raw"] = None if source.raw is None else ""
    if verdict.process is not None:  # scores count distinct steps
        steps = {error.step: None for error in verdict.process.errors}
        numbers = {step: str(number) for number, step in enumerate(steps)}
        for listed, error in zip(verdict.process.errors, light["process"]["errors"], strict=True):
            error |= {"step": numbers[listed.step], "reason": ""}
    return {**light, "process_ungraded": "open" if verdict.process_ungraded else None, "reason": "", "versions": {}}


def with_versions(line: bytes, versions: str | None) -> bytes:
    """Light line with the versions from their own column."""
    if versions in (None, "{}"):
        return line
    stated = b'"versions":' + str(versions).encode()
    return line.replace(b'"versions":{}', stated, 1) if b'"versions":{}' in line else line[:-1] + b"," + stated + b"}"
