"""Logs of any task of other harnesses, entry by entry: one module a harness.

Contract: a module has `FIELDS`, where an entry of its logs holds what is needed, and `entries(path)`, which yields
`LogEntry`s one at a time, however long a log is. A damaged entry costs one warning with its place and reading goes on;
what is no log of the harness at all is a UserError. Nothing that a log does not say is put in. (The logs of our own
tasks, whose questions a data set has, are read by `evaluation.imports`.)
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

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
"""What data sets call the text of a question."""
KEYS: Final = ("gold", "answer", "target", "reference", "expected", "ground_truth", "answerKey", "label", "solution")
"""What they call its key."""
CHOICES: Final = ("options", "choices")


@dataclass(frozen=True)
class Fields:
    """Where an entry holds what is needed: dotted paths, the first that is there counts.

    Attributes:
        question: its text.
        gold: its key.
        response: the answer; none where the reader knows itself.
        type: the kind of question.
        options: what a choice offers.
        score: the harness's own mark; none where the reader knows itself.
    """

    question: tuple[str, ...] = ()
    gold: tuple[str, ...] = ()
    response: tuple[str, ...] = ()
    type: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    score: tuple[str, ...] = ()

    def with_given(self, given: Mapping[str, str]) -> Fields:
        """These, with the paths that the user named in the place of ours."""
        said = {name: (path,) for name, path in given.items() if path}
        return Fields(**{one.name: said.get(one.name, getattr(self, one.name)) for one in fields(self)})


@dataclass(frozen=True)
class LogEntry:
    """What a log says of one question.

    Attributes:
        place: where it stands, for messages.
        task: as the harness calls it.
        id: of the question within the task.
        raw: the whole entry, where paths lead.
        answers: in the fields of a plain recorded row (`engines.replay`), one a trial.
        trial: of the first of them.
        scores: the harness's own marks by name, of all of them together.
        model: who answered; "" where the log does not say.
    """

    place: str
    task: str
    id: str
    raw: Mapping[str, Any]
    answers: tuple[Mapping[str, Any], ...] = ()
    trial: int = 0
    scores: Mapping[str, float] = field(default_factory=dict)
    model: str = ""


def fields_of(source: str) -> Fields:
    """Where entries of a harness's logs hold what is needed, if nobody says otherwise."""
    found: Fields = importlib.import_module(READERS[source]).FIELDS
    return found


def entries(source: str, path: Path) -> Iterator[LogEntry]:
    """The entries of a log.

    Args:
        source: the harness, one of `READERS`.
        path: the log, a file or a folder.

    Raises:
        UserError: it cannot be read, or is no log of the harness.
    """
    yield from importlib.import_module(READERS[source]).entries(path)
