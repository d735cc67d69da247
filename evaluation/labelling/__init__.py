"""Label store: the labels of a run, read back on restart and appended to one file a rater; marks by criteria.

`put` returns once the label is on the disk. RUN/labels-RATER.jsonl is append-only and belongs to one server at a time;
a later row of an answer replaces the earlier one.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from livek12.core.errors import UserError
from livek12.core.files import remove_files
from livek12.core.records import ERROR_TYPES, Key, Question, Record, SchemeCriterion, Verdict
from livek12.core.run.journal import LineFile
from livek12.core.run.markings import PERSON_NAME, WORDINGS, Wording, read_wordings
from livek12.core.schemes import criteria_of
from livek12.core.scoring import Row
from livek12.evaluation.studies.labels import Label, check_kind, fit_labels, label_of, read_labels
from livek12.judges.base import Decision, undecided
from livek12.judges.grade import GradingConfig, total
from livek12.judges.scheme import marks_of
from livek12.report.marks import points
from livek12.report.markup import render_answer

LONGEST_NOTE = 4000
_PATIENCE = 5.0
"""Seconds that another server may take to write a row."""
_NAME = re.compile(PERSON_NAME)
_SAID = ("correct", "score", "criteria", *ERROR_TYPES, "error_type", "note", "withdrawn")


class LabelNotStored(UserError):
    """The disk refused a label: it may be sent again."""


class LabelStore:
    """Labels of a run. Thread-safe. Use as a context manager, or `close` it.

    `answers` are in queue order.
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

    def put(self, rater: str, place: int, label_fields: Mapping[str, Any]) -> list[int]:
        """Stores a label in place of an earlier one, by criteria for all equal responses; returns their places.

        Raises:
            LabelNotStored: the disk does not take it.
            UserError: it makes no sense.
        """
        with self._lock:
            labels = self.labels(rater)
            row = self._row(rater, place, label_fields)
            by_criteria = "criteria" in row or (place in labels and labels[place].criteria)
            places = self._equal(place) if by_criteria else [place]
            rows = [row if equal == place else {**row, **self._read(equal)} for equal in places]
            try:
                new = [label_of(row) for row in rows]
            except ValueError as error:
                raise UserError(str(error)) from None
            check_kind(new[0], self.answers[place])
            write_rows(self._files[rater], [json.dumps(own, ensure_ascii=False) for own in rows], "label")
            for equal, label in zip(places, new, strict=True):
                self._labels[rater].pop(equal, None)
                if not label.withdrawn:
                    self._labels[rater][equal] = label
            return places

    def _equal(self, place: int) -> list[int]:
        own = self.answers[place]
        text = own.response.text if own.response else None
        near = ((n, row) for n, row in enumerate(self.answers) if row.question.id == own.question.id)
        same = (n for n, row in near if row.task == own.task and row.response and row.response.text == text)
        return list(same) if own.response else [place]

    def wordings(self) -> Mapping[tuple[str, str], Mapping[str, Wording]]:
        """Mended wordings of criteria, by task and question."""
        return read_wordings(self.folder)

    def mend(self, by: str, place: int, criterion: str, text: str) -> None:
        """Stores the wording of a criterion.

        Raises:
            LabelNotStored: the disk does not take it.
            UserError: there is no such criterion, or no such text.
        """
        answer = self.answers[place]
        if criterion not in {own.id for own in criteria_of(answer.question)}:
            raise UserError(f"{answer.question.id}: its scheme has no criterion {criterion[:40]!r}")
        try:
            fields = {"task": answer.task, "question_id": answer.question.id, "criterion": criterion, "text": text}
            wording = Wording.model_validate({**fields, "by": checked_name(by), "at": _now()})
            text.encode()
        except ValueError:
            raise UserError("a criterion is a text of 1 to 4,000 whole characters") from None
        append_row(self.folder / WORDINGS, wording)

    def outdated(self, rater: str) -> set[int]:
        """Places of a rater's marks by criteria that are older than the wording of one."""
        wordings = self.wordings()
        last = {question: max(wording.at for wording in own.values()) for question, own in wordings.items()}
        return {
            place
            for place, label in self.labels(rater).items()
            if label.criteria and label.at < last.get((self.answers[place].task, label.question_id), "")
        }

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
        if "criteria" in stated:
            stated |= points_by_criteria(answer.question, stated["criteria"])
        elif "score" in stated:
            stated["max_score"] = answer.question.points or 1
        about = {"task": answer.task, "question_id": answer.question.id}
        return {**about, "model": self._model, "rater": rater, **stated, **self._read(place), "at": _now()}

    def _read(self, place: int) -> dict[str, Any]:
        answer = self.answers[place]
        read = {"response_sha256": answer.response.sha256} if answer.response else {}
        return {"trial": answer.trial, **read}

    def _open(self, rater: str) -> None:
        file = LineFile(self.folder / f"labels-{checked_name(rater)}.jsonl", summed=True)
        try:
            labels = read_labels(file.path, None, lambda line: None) if file.path.stat().st_size else []
            pairs, _ = fit_labels(labels, self.answers)
        except UserError:
            file.close()
            raise
        self._files[rater] = file
        self._labels[rater] = {self._places[row.task, row.question.id, row.trial]: label for label, row in pairs}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


def append_row(path: Path, row: Record) -> None:
    """Appends a row to a file of several servers; LabelNotStored where the disk does not take it."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            file = LineFile(path, summed=True)
            break
        except UserError as error:
            if time.monotonic() > end:
                raise LabelNotStored(f"{path.name}: does not take the mark ({error})") from None
            time.sleep(0.02)
    with file:
        write_rows(file, [row.model_dump_json(exclude_unset=True)], "mark")


def write_rows(file: LineFile, rows: Sequence[str], what: str) -> None:
    """Writes rows and syncs them; LabelNotStored where the disk does not take them."""
    try:
        file.write_lines(rows)
        file.sync()
    except (UserError, OSError) as error:
        reason = getattr(error.__cause__ or error, "strerror", None) or str(error)
        raise LabelNotStored(f"{file.path.name}: does not take the {what} ({reason})") from None


def checked_name(rater: str) -> str:
    """The name, if it can be part of a file's name."""
    if not _NAME.fullmatch(rater) or rater != rater.strip():
        raise UserError("a rater has a name of 1 to 40 letters, digits, spaces, dots, dashes; a letter or digit first")
    return rater


def mark_by_criteria(question: Question, given: Any) -> Verdict:
    """Verdict of a person's points by criterion; those without are open.

    Raises:
        UserError: a criterion that the scheme lacks, or a mark that it does not give.
    """
    if not isinstance(given, Mapping) or not all(type(mark) in (int, float) for mark in given.values()):
        raise UserError("marks by criteria are points by criterion")
    criteria = {criterion.id: criterion for criterion in criteria_of(question)}
    if unknown := given.keys() - criteria.keys():
        raise UserError(f"{question.id}: its scheme has no criterion {min(unknown)[:40]!r}")
    parts = []
    for id, criterion in criteria.items():
        mark = given.get(id)
        if mark is not None and mark not in (marks := marks_shown(criterion)):
            listed = ", ".join(map(points, marks))
            raise UserError(f"{question.id}: criterion {id} gives {listed} points, not {mark:g}")
        if mark is None:
            decision = undecided("person", "open")
        else:
            full = mark == criterion.points
            decision = Decision("accept" if full else "reject", mark / criterion.points, "person")
        parts.append(decision.verdict(id, criterion.text, None))
    return total(question, Key(task="", question_id=question.id), parts, GradingConfig())


def points_by_criteria(question: Question, given: Any) -> dict[str, Any]:
    """Fields of a label by its criteria.

    Raises:
        UserError: a mark that there is not, or criteria that still matter are open.
    """
    if not question.scheme:
        raise UserError(f"{question.id}: has no marking scheme to mark by")
    verdict = mark_by_criteria(question, given)
    if verdict.points is None:
        open_ids = [part.name or "" for part in verdict.parts if part.score is None]
        raise UserError(f"mark criterion {', '.join(open_ids)}: {points(verdict.low)} to {points(verdict.high)} points")
    share = verdict.points / verdict.max_points
    return {"score": verdict.points, "max_score": verdict.max_points, "correct": share == 1}


def marks_shown(criterion: SchemeCriterion) -> list[float]:
    """All marks that a criterion may get, the most first."""
    return [criterion.points, *reversed(marks_of(criterion)), 0.0]


def criteria_view(question: Question, mended: Mapping[str, Wording]) -> list[dict[str, Any]]:
    """Criteria of a question for the page, with the alternative (from 1) of each."""
    return [
        {
            "id": criterion.id,
            "alternative": number if len(question.scheme) > 1 else 0,
            "text": (text := mended[criterion.id].text if criterion.id in mended else criterion.text),
            "html": render_answer(text),
            "marks": marks_shown(criterion),
            "notes": [
                render_answer(f"{sign}{points(mark.points)}: {mark.text}")
                for sign, marks in (("", criterion.partial), ("−", criterion.deduct))
                for mark in marks
            ],
            "kind": criterion.kind or "",
            "needs": criterion.needs,
            "mended": mended[criterion.id].by if criterion.id in mended else "",
        }
        for number, criteria in enumerate(question.scheme, 1)
        for criterion in criteria
    ]
