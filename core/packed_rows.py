"""The columns of packed journals: what stands in them is made of the lines, and says the same.

Contract: of one line and one version of the records the columns are always the same, so that those of a file that comes
from elsewhere can be compared with its lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from livek12.core.light import MODELS, light_line, light_model
from livek12.core.records import Failure, Response, Verdict, canonical_json

if TYPE_CHECKING:
    from pyarrow import Schema

LIGHT, VERSIONS = "light", "versions"
PackedRow = tuple[str, int, bytes]
"""Journal, first byte in it, and bytes of a line."""
_TOKENS = ("prompt_tokens", "cached_tokens", "completion_tokens", "reasoning_tokens")
_KINDS: Mapping[str, Mapping[str, type]] = {
    "responses": {"model": str, "finish_reason": str, **dict.fromkeys(_TOKENS, int), "seconds": float},
    "verdicts": {
        "state": str,
        **dict.fromkeys(("points", "low", "high", "max_points"), float),
        "correct": bool,
        "judge": str,
    },
    "failures": {"state": str},
}
"""The columns of a stem beside those of the key, and what they hold."""
WITHOUT_TEXTS = ("responses", "verdicts")
"""Stems whose records stand in a column without their texts as well."""


def schema_of(stem: str) -> Schema:
    """The columns of a stem."""
    import pyarrow as pa

    kinds = {int: pa.int64(), float: pa.float64(), bool: pa.bool_(), str: pa.string()}
    words = pa.dictionary(pa.int32(), pa.string())
    fields = [("file", words), ("start", pa.int64()), ("line", pa.large_binary())]
    fields += [("task", words), ("question_id", pa.string()), ("trial", pa.int64())]
    fields += [(name, words if name == "model" else kinds[kind]) for name, kind in _KINDS.get(stem, {}).items()]
    fields += [(VERSIONS, words), (LIGHT, pa.large_binary())] * (stem in WITHOUT_TEXTS)
    return pa.schema(fields)


def columns_of(stem: str, rows: Iterable[PackedRow]) -> list[list[Any]]:
    """The columns of a group in the order of the schema; a line that is no record has none of its own."""
    columns: list[list[Any]] = [[] for _ in schema_of(stem)]
    for row in rows:
        record = _record(stem, row[2])  # with its texts: one at a time
        key = record.key if record else None
        trial = key.trial if key and abs(key.trial) < 1 << 62 else None
        values = [*row, *((key.task, key.question_id, trial) if key else (None, None, None))]
        values += [_held(getattr(record, name)) if record else None for name in _KINDS.get(stem, {})]
        if stem in WITHOUT_TEXTS:
            values += _without_texts(record)
        for column, value in zip(columns, values, strict=True):
            column.append(value)
    return columns


def _without_texts(record: Any) -> tuple[str | None, bytes | None]:
    """The versions that a response or verdict names, as JSON, and its light line."""
    return (_as_json(tuple(record.versions.items())), light_line(record)) if record else (None, None)


@lru_cache(64)
def _as_json(versions: tuple[tuple[str, str], ...]) -> str:
    """As most records have the same."""
    return canonical_json(dict(versions))


def _record(stem: str, line: bytes) -> Response | Failure | Verdict | None:
    try:
        return MODELS[stem].model_validate_json(line)
    except (KeyError, ValueError):
        return None


def _held(value: Any) -> Any:
    """A value that a column can hold; a number of more than 64 bits stands in its line alone."""
    return None if isinstance(value, int) and abs(value) >= 1 << 62 else value


def contradiction(stem: str, rows: Sequence[PackedRow], stored: Mapping[str, Sequence[Any]]) -> tuple[int, str] | None:
    """The first row, and the column, that says other than its line; None where all say the same.

    Args:
        stem: of the journal.
        rows: the lines.
        stored: what stands in the columns beside them; those that this version does not know are passed over.
    """
    for field, made in zip(schema_of(stem), columns_of(stem, rows), strict=True):
        for row, (here, line) in enumerate(zip(stored.get(field.name, made), made, strict=True)):
            if here != line and not (field.name == LIGHT and _same_light(stem, here, line)):
                return row, str(field.name)
    return None


def _same_light(stem: str, stored: bytes | None, made: bytes | None) -> bool:
    """Whether two light lines are of one record: earlier versions left out what is empty by default."""
    model = light_model(MODELS[stem])
    try:
        return bool(stored and made) and model.model_validate_json(stored or b"") == model.model_validate_json(
            made or b""
        )
    except ValueError:
        return False
