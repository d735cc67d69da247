"""Preview: the first rows of a source as they would be built.

Contract: nothing is written.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from livek12.core.errors import UserError
from livek12.core.records import Question
from livek12.dataset_builders.base import Log, one_line
from livek12.dataset_builders.reading.naming import NOTHING, Given, lost_keys
from livek12.dataset_builders.sources import find_sources, read_source

SHOWN = 3
LOOKED_AT = 200
"""Questions of a source that are read to estimate losses."""
_LONGEST = 400


@dataclass(frozen=True)
class Preview:
    """Preview of a source; `lost` counts the rows with text in a key without a place."""

    questions: list[dict[str, Any]]
    lost: dict[str, int]
    said: list[str]
    looked_at: int

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {"questions": self.questions, "lost": self.lost, "said": self.said, "looked_at": self.looked_at}

    def lines(self) -> Iterator[str]:
        """Lines for people: a block per question, a line per field."""
        for question in self.questions:
            yield f"{one_line(question['id'], 120)}:"
            yield from (f"  {name}: {_shown(value)}" for name, value in question.items() if name != "id")
        yield from self.said
        for key, count in self.lost.items():
            yield f"would be lost: {one_line(key, 60)}, which holds text in {count} rows"
        yield f"{self.looked_at} questions looked at, nothing written"


def preview(
    benchmark: str, source: str | Sequence[str], hosts: Collection[str] = (), given: Given = NOTHING
) -> Preview:
    """Reads the first questions of each source as they would be built."""
    questions: list[dict[str, Any]] = []
    lost: dict[str, int] = {}
    messages: list[str] = []
    looked_at = 0
    sources = [source] if isinstance(source, str) else source
    for name, place in find_sources(benchmark, sources, Log()).items():
        log = Log()
        records = (record for record in read_source(name, place, log, hosts, given) if isinstance(record, Question))
        sample = list(islice(records, LOOKED_AT))
        records.close()
        questions += [_held(question) for question in sample[:SHOWN]]
        lost |= lost_keys(log)
        messages += [*log.skipped[:SHOWN], *log.notes[:SHOWN]]
        looked_at += len(sample)
        if not sample:
            why = f" ({len(log.skipped)} rows left out; the first: {log.skipped[0]})" if log.skipped else ""
            unknown = f"; keys without a place: {one_line(', '.join(sorted(log.unread)))}" if log.unread else ""
            raise UserError(f"{place.path}: no question could be read{why}{unknown}")
    return Preview(questions, lost, messages, looked_at)


def _held(question: Question) -> dict[str, Any]:
    pictures = ("images", "answer_images", "solution_images")
    fields = question.model_dump(mode="json", exclude={*pictures}, exclude_defaults=True)
    named = {name: [image.path for image in getattr(question, name)] for name in pictures if getattr(question, name)}
    return {**fields, **named}


def _shown(value: object) -> str:
    return one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), _LONGEST)
