"""kmmmu reader: the published table, rows with more labels, and Korean choice sets.

Contract: options are taken from the text, and keys mapped to labels, only if unambiguous; otherwise both stay as
spelled, with a log line. Labels are 1, 2, 3, ... for numbered options, else A, ㄱ or 가 as printed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from livek12.core.question_types import CHOICE, CHOICE_TYPES, FREE, kind_of, settle
from livek12.core.records import Attributes, Flags, Language, Option, Question
from livek12.dataset_builders.base import BadRow, Log, PageKey
from livek12.dataset_builders.benchmarks import COMMON_KEYS, free_key, plain_fields
from livek12.dataset_builders.builder import ASKED, Beside, Builder, Layout, own_tables
from livek12.dataset_builders.reading.fields import (
    Data,
    joined_of,
    pieces_of,
    points_and_parts,
    stated,
    stated_language,
    text_of,
    texts_of,
    truth_of,
    whole_of,
)
from livek12.dataset_builders.reading.languages import asked_text, written_language
from livek12.dataset_builders.reading.marks import place_marks, take_all_inline
from livek12.dataset_builders.reading.options import chosen, label_only, options_of, placed_key, plain_label
from livek12.dataset_builders.reading.rows import SourceRow
from livek12.dataset_builders.reading.text import parse_list, restore, split_options

KEYS = COMMON_KEYS | {
    *("category", "hard", "is_korean_specific", "macro_subject", "task", "visual_modality", "visual_subcategory"),
    *("has_text_in_image", "answer_index", "answer_place"),
}
"""Row keys read, by our names."""
_CLICK_EXAM = re.compile(r"(?P<exam>[A-Za-z]+)(?:_[A-Za-z]+)?(?:_(?P<year>(?:20)?\d\d)(?=_\d))?_")
_CLICK_NAMES = {"TK": "TOPIK"}
_DATED = frozenset({"CSAT", "PSAT", "PSE", "TK"})
_CLICK = {"id", "paragraph", "question", "choices", "answer"}


def question(row: SourceRow, beside: Beside, log: Log) -> Question:
    """Converts a row; raises BadRow."""
    data = row.data
    listed, are_bare = options_of(data.get("options"), letters=False)
    parts = [restore(text_of(data, key)) for key in ("passage", "question")]
    whole = "\n\n".join(part for part in parts if part)
    text, listed, refs = take_all_inline(whole, listed, parse_list(data.get("images")))
    images = [beside.images.load(ref, row.folder) for ref in refs]
    if not (text or images):
        raise BadRow("it has no question")
    raw_type = joined_of(data, "question_type", by=", ") or None
    kind = kind_of(raw_type) or (CHOICE if listed else None)
    key = [restore(entry) for entry in texts_of(data, "answer")] or placed_key(data, listed)
    if kind == "multiple_choice" and len(key) == 1 and re.fullmatch(r"[1-9]{2,9}", key[0]):
        key = list(key[0])  # a set of at most nine digits
    options = listed
    if not listed and kind in (None, CHOICE, *CHOICE_TYPES):
        text, options = _options(text, key)
    labels = [chosen(entry, options, unlabelled=bool(listed) and are_bare) for entry in key] if options else []
    if kind is None:
        kind = CHOICE if options and any(labels) else FREE
        log.note(row.where, row.id, f"question_type {raw_type!r} is not known: taken as {kind}")
    question_type = settle(kind, several=sum(len(entry_labels or ()) for entry_labels in labels) > 1, has_key=bool(key))
    if question_type in CHOICE_TYPES:
        answer = _choice_key(key, labels, options)
        if options and answer == key and not all(labels):
            log.note(row.where, row.id, f"the key {', '.join(key)!r} names no option for certain: it stays as it is")
    else:
        answer = free_key(text, key, question_type)
    text, options, images, change = place_marks(text, options, images)
    if change:
        log.note(row.where, row.id, change)
    points, part_points = points_and_parts(data)
    is_click = row.as_found.keys() == _CLICK
    exam, year = _click_exam(row.id) if is_click else (None, None)
    return Question(
        id=row.id,
        benchmark="kmmmu",
        language=_language(data, row),
        subject=text_of(data, "subject", "category") or (row.file.stem.split("_")[0].lower() if is_click else ""),
        question_type=question_type,
        question_type_raw=raw_type,
        question=text,
        options=options,
        images=images,
        answer=answer,
        part_points=part_points,
        points=points,
        knowledge_points=pieces_of(data, "knowledge_points"),
        year=whole_of(data, "year") or year,
        subsets=_subsets(data, row, log),
        flags=Flags(
            is_korean_specific=_truth(data, "is_korean_specific", row, log),
            has_text_in_image=_truth(data, "has_text_in_image", row, log),
        ),
        attributes=Attributes(
            macro_subject=text_of(data, "macro_subject") or None,
            task=text_of(data, "task") or None,
            visual_modality=text_of(data, "visual_modality") or None,
            visual_subcategory=text_of(data, "visual_subcategory") or None,
            topic=joined_of(data, "topic", by="; ") or None,
        ),
        exam=joined_of(data, "exam", by="; ") or exam,
        **plain_fields(row),
    )


def _options(text: str, key: Sequence[str]) -> tuple[str, list[Option]]:
    """Splits the options off a text; a key that is no label must equal one of them."""
    names = set().union(*map(label_only, key)) if key and all(map(label_only, key)) else set()
    guesses = [*([names] if names else []), *({label} for label in "A1ㄱ가")] if key else [set[str]()]
    for guess in guesses:
        stem, split = split_options(text, guess)
        options = [Option(label=plain_label(option.label), text=option.text) for option in split]
        if options and (guess is names or not key or any(chosen(entry, options) for entry in key)):
            return stem, options
    return text, []


def _choice_key(key: list[str], labels: list[list[str] | None], options: Sequence[Option]) -> list[str]:
    """Joins one-character labels to one entry; several entries with one label each are one set."""
    if not key or not options or not all(labels):
        return key
    named = [label for entry in labels for label in entry or ()]
    if len(set(named)) < len(named) or max(map(len, named)) > 1 < len(named):
        return key
    order = [option.label for option in options]
    return ["".join(sorted(named, key=order.index))]


def _subsets(data: Data, row: SourceRow, log: Log) -> list[str]:
    subsets = pieces_of(data, "subsets")
    return [*subsets, "hard"] if _truth(data, "hard", row, log) and "hard" not in subsets else subsets


def _truth(data: Data, key: str, row: SourceRow, log: Log) -> bool | None:
    value = stated(data, key)
    truth = None if value is None else truth_of(value)
    if value is not None and truth is None:
        log.note(row.where, row.id, f"{key} {value!r} is neither yes nor no: left empty")
    return truth


def _language(data: Data, row: SourceRow) -> Language:
    """The row's own; a Korean exam is Korean whatever a question's language."""
    if given := stated_language(data):
        return given
    return "ko" if row.language.language == "ko" else written_language(asked_text(data, *ASKED), row.language, "ko")


def _click_exam(id: str) -> tuple[str | None, int | None]:
    """Exam and year from a choice set's id (CSAT_korean_22_6: CSAT of 2022); other exams count rounds."""
    if (match := _CLICK_EXAM.match(id)) is None:
        return None, None
    year = match["year"] if match["exam"] in _DATED else None
    return _CLICK_NAMES.get(match["exam"], match["exam"]), 2000 + int(year[-2:]) if year else None


def _tables(question: Question, pages: Collection[PageKey]) -> Iterator[str]:
    yield "default"
    if "hard" in question.subsets:
        yield "hard"
    if question.flags.is_korean_specific:
        yield "korean_specific"


BUILDER = Builder(
    question,
    Layout(own_tables("default", "hard", "korean_specific"), _tables),
    hub="HAERAE-HUB/KMMMU",
    licence="CC BY-NC 4.0",
    month="2026-04",
    keys=KEYS,
)
