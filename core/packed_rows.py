"""The columns of packed journals, made of the lines: keys, numbers, and records without their texts.

Contract: of one line and one version of the records the columns are always the same, so that those of a file that comes
from elsewhere can be compared with its lines. A light record has all that a score or a comparison looks at, and equals
the record there; of texts it has hashes, and lengths, which packed files keep though nothing reads them any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from pydantic_core import to_json

from livek12.core.lengths import wide_in
from livek12.core.record import canonical_json
from livek12.core.records import Failure, Key, Record, Response, Verdict

if TYPE_CHECKING:
    from pyarrow import Schema

R = TypeVar("R", bound=Record)
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
MODELS: dict[str, type[Response | Failure | Verdict]] = {
    "responses": Response,
    "earlier": Response,
    "failures": Failure,
    "verdicts": Verdict,
    "repeats": Verdict,
}
"""The records of the journals that have keys."""


class StoredKey(NamedTuple):
    """Of a record its key, and of a response its model."""

    key: Key
    model: str


class LightResponse(Response):
    """A response without text and thinking.

    Attributes:
        hash: what `sha256` was; None in one that has its text.
        wide, narrow: how many characters of its text (without white space around it) are about a token each, and
            how many are not.
    """

    hash: str | None = None
    wide: int = 0
    narrow: int = 0

    @property
    def sha256(self) -> str:
        """Hash of what is marked."""
        return self.hash or super().sha256


def size_of(response: Response) -> tuple[int, int]:
    """Of a text, without white space around it: characters that are about a token each, and those that are not."""
    if isinstance(response, LightResponse) and response.hash is not None:
        return response.wide, response.narrow
    text = response.text.strip()
    wide = wide_in(text)
    return wide, len(text) - wide


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
            values += (_as_json(tuple(record.versions.items())), light_line(record)) if record else (None, None)
        for column, value in zip(columns, values, strict=True):
            column.append(value)
    return columns


@lru_cache(64)
def _as_json(versions: tuple[tuple[str, str], ...]) -> str:
    """As most records have the same."""
    return canonical_json(dict(versions))


def _record(stem: str, line: bytes) -> Any:
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


def light_line(record: Record) -> bytes | None:
    """A record without its texts, as JSON; None for those whose lines are short anyway."""
    if isinstance(record, Response):
        return to_json(_of_response(record))
    return to_json(_of_verdict(record)) if isinstance(record, Verdict) else None


def light_model(model: type[R]) -> type[R]:
    """What a light line of a record of this kind is parsed as."""
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
# What a field would otherwise get by default is written out: pydantic copies each default anew, which takes long.


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
    for said, call in zip(verdict.calls, light["calls"], strict=True):
        call["raw"] = None if said.raw is None else ""
    if verdict.process is not None:  # how many steps are wrong counts, and which are the same
        steps = {error.step: None for error in verdict.process.errors}
        numbers = {step: str(number) for number, step in enumerate(steps)}
        for found, error in zip(verdict.process.errors, light["process"]["errors"], strict=True):
            error |= {"step": numbers[found.step], "reason": ""}
    return {**light, "process_ungraded": "open" if verdict.process_ungraded else None, "reason": "", "versions": {}}


def with_versions(line: bytes, versions: str | None) -> bytes:
    """A light line with the versions that stand in a column of their own."""
    if versions in (None, "{}"):
        return line
    stated = b'"versions":' + str(versions).encode()
    return line.replace(b'"versions":{}', stated, 1) if b'"versions":{}' in line else line[:-1] + b"," + stated + b"}"
