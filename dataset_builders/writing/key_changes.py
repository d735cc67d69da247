"""Keys that come or change after a dataset was built: read from a file or typed, and put into its rows in one step."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from livek12.core.errors import UserError
from livek12.core.key_versions import KEYS_FILE, KeyBook, KeyChange, KeyVersion, QuestionKey, read_keys
from livek12.core.records import Question
from livek12.dataset_builders.base import PAGES
from livek12.dataset_builders.reading.built import questions_of, tables_of
from livek12.dataset_builders.writing.card import rewrite_metadata
from livek12.dataset_builders.writing.data_set import replace, workspace
from livek12.dataset_builders.writing.parquet import rewrite, with_column

_TYPED = re.compile(r"\s*(?P<name>[^=\s]+)\s*=\s*(?P<answer>.+?)\s*", re.DOTALL)


@dataclass
class KeyReading:
    """New keys by question id, and a line for each number or key not taken."""

    keys: dict[str, QuestionKey] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    sha256: str = ""


def key_questions(folder: Path, paper: str = "") -> list[Question]:
    """Questions of a key's paper.

    Raises:
        UserError: the dataset has several papers and none is named, or not this one.
    """
    questions = [question for question in questions_of(folder) if question.variant is None]
    papers = sorted({question.paper_id or "" for question in questions})
    if paper not in papers and (paper or len(papers) > 1):
        listed = ", ".join(papers[:5]) + (", …" if len(papers) > 5 else "")
        raise UserError(f"{folder}: a key is for one paper: name it with --paper ({listed})")
    return [question for question in questions if not paper or question.paper_id == paper]


def read_key(questions: Sequence[Question], file: Path | None, typed: Sequence[str]) -> KeyReading:
    """Keys of these questions from a PDF or table, and typed ones ("12=B"), which win; doubted ones are not taken."""
    from livek12.dataset_builders.ingest.keys.entries import Entry
    from livek12.dataset_builders.ingest.keys.matching import keyed, match
    from livek12.dataset_builders.ingest.keys.pictures import KeyPictures
    from livek12.dataset_builders.ingest.paper import AnswerKey

    reading, drafts = KeyReading(), {question.id: _draft(question) for question in questions}
    if file is not None:
        if not file.is_file():
            raise UserError(f"{file}: no such file; a key is a PDF, or a CSV with number and answer")
        key = AnswerKey.read(file)
        reading.sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
        letters = KeyPictures()
        matched, lines = match([*drafts.values()], key.entries_for([*drafts.values()], letters), key.name, "")
        reading.problems += [*key.problems, *key.unread, *lines]
        for draft in (letters.placed(each.model_copy(update={"solution": None}), {}) for each in matched):
            doubts = draft.doubts if draft.answer else []
            reading.problems += [f"question {draft.number}: {doubt.text}; not taken" for doubt in doubts]
            if draft.answer and not doubts:
                reading.keys[draft.id] = QuestionKey(answer=draft.answer, question_type=draft.question_type)
    for text in typed:
        question, answer = _typed(text, questions)
        draft = keyed(drafts[question.id], Entry(0, answer), "typed")
        kept = QuestionKey(answer=draft.answer or [answer], question_type=draft.question_type)
        reading.keys[question.id] = kept
    settled = {f"question {drafts[id].number}:" for id in reading.keys}
    reading.problems = [line for line in reading.problems if not any(map(line.startswith, settled))]
    return reading


def _typed(text: str, questions: Sequence[Question]) -> tuple[Question, str]:
    parts = _TYPED.fullmatch(text)
    if not parts:
        raise UserError(f"--key {text!r}: write NUMBER=ANSWER, such as 12=B, or ID=ANSWER")
    meant = [question for question in questions if parts["name"] in (question.id, question.number)]
    if len(meant) != 1:
        raise UserError(f"--key {text!r}: {len(meant)} questions are called {parts['name']}; give the id of one")
    return meant[0], parts["answer"]


def _draft(question: Question) -> Any:
    from livek12.dataset_builders.ingest.drafts import Draft

    middle = question.id.removeprefix(f"{question.paper_id}-")
    elective = re.fullmatch(r"(.+)-q[^-]*(?:-\d+)?", middle)
    return Draft(
        id=question.id,
        number=question.number or "",
        language=question.language,
        subject=question.subject,
        question_type=question.question_type,
        question=question.question,
        options=question.options,
        elective=elective[1] if elective else "",
        points=question.points,
        part_points=question.part_points,
    )


def key_version(
    folder: Path, reading: KeyReading, questions: Sequence[Question], by: str, source: str, reason: str = ""
) -> KeyVersion | None:
    """Version that these keys make; None without a change.

    Raises:
        UserError: changed keys without a reason.
    """
    by_id = {question.id: question for question in questions}
    changes = [
        KeyChange(id=id, was=was, now=now)
        for id, now in sorted(reading.keys.items())
        if (was := QuestionKey.of(by_id[id])) != now
    ]
    if not reason and (others := [change for change in changes if any(map(str.strip, change.was.answer))]):
        shown = f"{others[0].id} has {'; '.join(others[0].was.answer)!r}, now {'; '.join(others[0].now.answer)!r}"
        raise UserError(
            f"{folder}: {len(others)} keys differ ({shown}): `livek12 keys amend` changes keys, with a reason"
        )
    if not changes:
        return None
    book, now = read_keys(folder), datetime.now(UTC).isoformat(timespec="seconds")
    number = len(book.versions) + 1
    return KeyVersion(
        number=number, at=now, by=by, source=source, sha256=reading.sha256, reason=reason, changes=changes
    )


def put_keys(folder: Path, version: KeyVersion) -> KeyBook:
    """Puts a version's keys into a dataset and notes it; the folder is replaced in one step."""
    book = read_keys(folder).with_version(version)
    keys = {change.id: change.now for change in version.changes}
    with workspace(folder) as room:
        new = room / "new"
        shutil.copytree(folder, new, copy_function=_linked)
        for table, splits in tables_of(new)[1].items():
            for file in () if table == PAGES else [file for files in splits.values() for file in files]:
                rewritten = file.with_name(f".{file.name}")
                if rewrite(file, rewritten, keys, lambda table: _keyed(table, keys)):
                    rewritten.replace(file)
        (new / KEYS_FILE).unlink(missing_ok=True)
        (new / KEYS_FILE).write_text(book.text, encoding="utf-8")
        rewrite_metadata(new)
        replace(folder, new, room / "old")
    return book


def _linked(source: str, target: str) -> None:
    """Tables by a link, the small files beside them by a copy, since they are written anew."""
    copy: Callable[[str, str], object] = os.link if source.endswith(".parquet") else shutil.copyfile
    try:
        copy(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _keyed(table: pa.Table, keys: Mapping[str, QuestionKey]) -> pa.Table:
    ids = table["id"].to_pylist()
    for name in ("answer", "question_type"):
        pairs = zip(ids, table[name].to_pylist(), strict=True)
        table = with_column(table, name, [getattr(keys[id], name) if id in keys else was for id, was in pairs])
    return table
