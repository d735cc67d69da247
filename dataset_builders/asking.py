"""Asks an engine and remembers: what builders that propose things with a model share.

Contract: an answer is stored whole, as received, before anybody reads it, so that a killed run goes on and no question
is put twice to one model in the same words. What a model wrote is read as one JSON object, bounded, and nothing else.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from livek12.core.engines.base import Engine, Outcome
from livek12.core.journal import JournalWriter, read_journal
from livek12.core.records import Record, Request, Response
from livek12.dataset_builders.base import one_line

MAX_REPLY = 60_000
_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*)\n[ \t]*```", re.DOTALL | re.IGNORECASE)


class Answered(Record):
    """A line of the journal: the answer to one request."""

    model: str
    revision: str | None
    request_sha256: str
    response: Response


class Memory:
    """The answers of a journal.

    Args:
        folder: where the journal's files lie.
        stem: what they are called.
        on_problem: told of damaged lines.

    Raises:
        UserError: the journal cannot be read.
    """

    def __init__(self, folder: Path, stem: str, on_problem: Callable[[str], None]) -> None:
        self._folder, self._stem = folder, stem
        self._stored: dict[tuple[str, str | None, str], Response] = {}
        for line in read_journal(folder, stem, Answered, on_problem):
            self._stored.setdefault((line.model, line.revision, line.request_sha256), line.response)

    def ask(self, engine: Engine, requests: Iterable[Request]) -> Iterator[Outcome]:
        """One outcome a request: stored answers first as they come, others asked now and stored.

        Raises:
            UserError: the engine cannot run at all, or the disk is full; answers that came are stored.
        """
        known: list[Response] = []
        names: dict[tuple[str, str, int], str] = {}

        def unknown() -> Iterator[Request]:
            for request in requests:
                name = request.prompt_sha256
                if stored := self._stored.get((engine.model, engine.revision, name)):
                    known.append(stored.model_copy(update={"key": request.key}))
                else:
                    names[request.key.task, request.key.question_id, request.key.trial] = name
                    yield request

        with JournalWriter(self._folder, self._stem) as journal:
            for outcome in engine.generate(unknown()):
                if isinstance(outcome, Response):
                    key = outcome.key
                    name = names[key.task, key.question_id, key.trial]
                    journal.append(
                        Answered(model=engine.model, revision=engine.revision, request_sha256=name, response=outcome)
                    )
                    self._stored[engine.model, engine.revision, name] = outcome
                yield outcome
        yield from known


def json_object(text: str, longest: int = MAX_REPLY) -> dict[str, Any]:
    """The JSON object a reply consists of; a code fence around the whole of it is allowed.

    Raises:
        ValueError: it is something else, says a key twice, or is longer than `longest`.
    """
    if len(text) > longest:
        raise ValueError("the reply is too long")
    body = text.strip()
    if fenced := _FENCED.fullmatch(body):
        body = fenced[1]
    try:
        value = json.loads(body, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"no JSON object ({one_line(error, 80)})") from None
    if not isinstance(value, dict):
        raise ValueError("no JSON object")
    return value


def fenced(text: str) -> tuple[str, str]:
    """A fence that a text cannot hold, because it is made of it, and the text between two of them."""
    fence = f"=== {hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:16]} ==="
    return fence, f"{fence}\n{text}\n{fence}"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found
