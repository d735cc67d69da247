"""Label store: the labels of a run, read back on restart and appended to one file a rater.

`put` returns once the label is on the disk. RUN/labels-RATER.jsonl is append-only and belongs to one server at a time;
a later row of an answer replaces the earlier one.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from livek12.core.errors import UserError
from livek12.core.files import remove_files
from livek12.core.records import ERROR_TYPES
from livek12.core.run.journal import LineFile
from livek12.core.run.markings import PERSON_NAME
from livek12.core.scoring import Row
from livek12.evaluation.studies.labels import Label, check_kind, fit_labels, label_of, read_labels

LONGEST_NOTE = 4000
_NAME = re.compile(PERSON_NAME)
_SAID = ("correct", "score", *ERROR_TYPES, "error_type", "note", "withdrawn")


class LabelNotStored(UserError):
    """The disk refused a label: it may be sent again."""


class LabelStore:
    """The labels of a run. Thread-safe. Use as a context manager, or `close` it.

    `answers` are in the order of the queue.
    """

    def __init__(self, folder: Path, model: str, answers: Sequence[Row]) -> None:
        self.folder, self.answers = folder, answers
        self._model = model
        self._places = {(row.task, row.question.id, row.trial): n for n, row in enumerate(answers)}
        self._files: dict[str, LineFile] = {}
        self._labels: dict[str, dict[int, Label]] = {}
        self._lock = threading.RLock()

    def __enter__(self) -> LabelStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Releases the files, and removes empty ones."""
        with self._lock:
            while self._files:
                file = self._files.popitem()[1]
                if not file.path.stat().st_size:  # nobody said anything
                    remove_files(self.folder, [file.path.name])
                file.close()

    def labels(self, rater: str) -> Mapping[int, Label]:
        """A rater's labels, by place in the queue."""
        with self._lock:
            if rater not in self._labels:
                self._open(rater)
            return dict(self._labels[rater])

    def put(self, rater: str, place: int, label_fields: Mapping[str, Any]) -> None:
        """Stores a label in place of an earlier one.

        Raises:
            LabelNotStored: the disk does not take it.
            UserError: it makes no sense.
        """
        with self._lock:
            self.labels(rater)
            row = self._row(rater, place, label_fields)
            try:
                label = label_of(row)
            except ValueError as error:
                raise UserError(str(error)) from None
            check_kind(label, self.answers[place])
            try:
                self._files[rater].write_line(json.dumps(row, ensure_ascii=False))
                self._files[rater].sync()
            except (UserError, OSError) as error:
                reason = getattr(error.__cause__ or error, "strerror", None) or str(error)
                raise LabelNotStored(f"{self._files[rater].path.name}: does not take the label ({reason})") from None
            if label.withdrawn:
                self._labels[rater].pop(place, None)
            else:
                self._labels[rater][place] = label

    def _row(self, rater: str, place: int, fields: Mapping[str, Any]) -> dict[str, Any]:
        if not 0 <= place < len(self.answers):
            raise UserError("there is no such answer")
        answer = self.answers[place]
        stated = {name: fields[name] for name in _SAID if fields.get(name) not in (None, "")}
        if len(str(stated.get("note", ""))) > LONGEST_NOTE:
            raise UserError(f"a note has at most {LONGEST_NOTE:,} characters")
        try:
            json.dumps(stated, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise UserError("the note holds half a character (a lone surrogate): delete it") from None
        full = {"max_score": answer.question.points or 1} if "score" in stated else {}
        read = {"response_sha256": answer.response.sha256} if answer.response else {}
        return {
            "task": answer.task,
            "question_id": answer.question.id,
            "trial": answer.trial,
            "model": self._model,
            "rater": rater,
            **stated,
            **full,
            **read,
            "at": datetime.now(UTC).isoformat(timespec="microseconds"),
        }

    def _open(self, rater: str) -> None:
        file = LineFile(self.folder / label_file(rater), summed=True)
        try:
            labels = read_labels(file.path, None, lambda line: None) if file.path.stat().st_size else []
            pairs, _ = fit_labels(labels, self.answers)
        except UserError:
            file.close()
            raise
        self._files[rater] = file
        self._labels[rater] = {self._places[row.task, row.question.id, row.trial]: label for label, row in pairs}


def label_file(rater: str) -> str:
    """The name of a rater's file."""
    return f"labels-{checked_name(rater)}.jsonl"


def checked_name(rater: str) -> str:
    """The name, if it can be part of a file's name."""
    if not _NAME.fullmatch(rater) or rater != rater.strip():
        raise UserError("a rater has a name of 1 to 40 letters, digits, spaces, dots, dashes; a letter or digit first")
    return rater
