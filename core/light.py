"""Records without their texts: what scores are made of, small enough to be read a million times.

Contract: of a response or verdict everything stands that a score or a comparison looks at, and it says the same there
as the record does; of texts there are hashes, and lengths, which packed files keep though nothing reads them any more.
A packed run folder holds them beside the lines (`core.packed`), so that scores are computed without touching a text.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar, cast

from pydantic_core import to_json

from livek12.core.records import Failure, Key, Record, Response, Verdict
from livek12.core.text import wide_in

R = TypeVar("R", bound=Record)


class StoredKey(NamedTuple):
    """Of a record its key, and of a response its model."""

    key: Key
    model: str


class ResponseHead(Record, extra="ignore", title="Response"):
    """Of a response whose it is; that its line is whole is looked at, and nothing is made of its thinking."""

    key: Key
    text: str
    engine: str
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


def without_key(line: bytes) -> tuple[bytes, bytes] | None:
    """Of a light line of a verdict the hash of its response (b"" for none), and all behind that; None if it has none.

    What is in a text cannot be taken for a name: there a quote has a sign before it.
    """
    head, state, said = line.partition(b',"state":')
    _, name, sha256 = head.rpartition(b',"response_sha256":')
    return (b"" if sha256 == b"null" else sha256.strip(b'"'), state + said) if state and name else None


MODELS: dict[str, type[Response | Failure | Verdict]] = {
    "responses": Response,
    "earlier": Response,
    "failures": Failure,
    "verdicts": Verdict,
    "repeats": Verdict,
}
"""The records of the journals that have keys."""
