"""Logs of other harnesses: one module a harness.

Contract: a module has `FIELDS`, the paths in an entry; `entries(path, tasks)`, which yields `LogEntry`s one at a time:
of any task or, under our names and ids, of the given tasks of ours; and `ABSENT`, the message for a log without these.
A damaged entry costs one warning with its place; a file that is no log of the harness is a UserError.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from livek12.core.errors import UserError
from livek12.core.progress import warn
from livek12.core.run.access import make_folder
from livek12.core.run.sums import write_summed

READERS: Final[dict[str, str]] = {
    "jsonl": "livek12.evaluation.logs.jsonl",
    "lm-eval": "livek12.evaluation.logs.lm_eval",
    "lmms-eval": "livek12.evaluation.logs.lmms_eval",
    "inspect": "livek12.evaluation.logs.inspect_ai",
    "lighteval": "livek12.evaluation.logs.lighteval",
    "vlmevalkit": "livek12.evaluation.logs.vlmevalkit",
    "evalscope": "livek12.evaluation.logs.evalscope",
}
STEMS: Final = ("question", "Question", "problem", "query", "prompt", "input", "instruction", "text")
"""Field names of a question's text."""
KEYS: Final = ("gold", "answer", "target", "reference", "expected", "ground_truth", "answerKey", "label", "solution")
"""Field names of its key."""
CHOICES: Final = ("options", "choices")


@dataclass(frozen=True)
class Fields:
    """Dotted paths in an entry; the first that exists counts.

    `response` and `score` are empty where the reader knows itself.
    """

    question: tuple[str, ...] = ()
    gold: tuple[str, ...] = ()
    response: tuple[str, ...] = ()
    type: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    score: tuple[str, ...] = ()

    def with_given(self, given: Mapping[str, str]) -> Fields:
        """These, overridden by the user's paths."""
        paths = {name: (path,) for name, path in given.items() if path}
        return Fields(**{item.name: paths.get(item.name, getattr(self, item.name)) for item in fields(self)})


@dataclass(frozen=True)
class LogEntry:
    """Question in a log, with its answers.

    Attributes:
        place: in the log, for messages.
        id: of the question within the task.
        raw: the whole entry, where paths lead.
        answers: in the fields of a plain recorded row (`engines.replay`), one a trial.
        trial: of the first of them.
        scores: the harness's own marks by name, of all of them together.
        model: "" where the log does not say.
        marked: verdict that our plug-in's scorer put into the log.
    """

    place: str
    task: str
    id: str
    raw: Mapping[str, Any]
    answers: tuple[Mapping[str, Any], ...] = ()
    trial: int = 0
    scores: Mapping[str, float] = field(default_factory=dict)
    model: str = ""
    marked: Mapping[str, Any] | None = None


def fields_of(source: str) -> Fields:
    """Default paths of a harness's logs."""
    default: Fields = importlib.import_module(READERS[source]).FIELDS
    return default


def entries(source: str, path: Path) -> Iterator[LogEntry]:
    """Entries of a log."""
    yield from importlib.import_module(READERS[source]).entries(path)


def joined(source: str, path: Path, tasks: Collection[str]) -> Iterator[dict[str, Any]]:
    """Answers to our tasks, as the replay engine takes them, without repeats."""
    reader = importlib.import_module(READERS[source])
    given: dict[tuple[str, str, int], tuple[str, str]] = {}
    models: dict[str, str] = {}
    missing = 0
    for entry in reader.entries(path, tasks):
        about: dict[str, Any] = {"model": entry.model} if entry.model else {}
        about |= {MARKED: entry.marked} if entry.marked else {}
        for trial, answer in enumerate(entry.answers or ({},), entry.trial):
            if not answer:
                missing += 1
                continue
            key, content = (entry.task, entry.id, trial), (entry.place, answer["response"])
            place, response = given.setdefault(key, content)
            if response != answer["response"]:
                raise UserError(
                    f"question {entry.id} of {entry.task} is answered in {place} and, otherwise, in {entry.place};"
                    " give one of them"
                )
            if given[key] is not content:
                continue
            if entry.model and models.setdefault(entry.model, entry.place) == entry.place and len(models) > 1:
                (other, before), *_ = models.items()
                raise UserError(f"{entry.place} is of {entry.model}, {before} of {other}; give the logs of one model")
            yield {"task": entry.task, "question_id": entry.id, "trial": trial, **answer, **about}
    if missing:
        warn(f"{path}: {missing:,} answers are missing in the log")
    elif not given:
        raise UserError(f"{path}: {reader.ABSENT.format(', '.join(sorted(tasks)))}")


IMPORTED = "imported.jsonl"
MARKED: Final = "marked"
"""Field of an imported row with the verdict of a log."""


def as_jsonl(path: Path, source: str, tasks: Collection[str], out: Path) -> Path:
    """Writes a log's recorded responses as JSONL into the run folder."""
    if not path.exists():
        raise UserError(f"{path}: no such file or folder; give what {source} wrote")
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in joined(source, path, tasks)]
    make_folder(out)
    write_summed(out / IMPORTED, "".join(lines))
    return out / IMPORTED
