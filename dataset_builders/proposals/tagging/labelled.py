"""Questions to tag or to learn from: built datasets, ingested folders and files of rows.

Contract: labels may be in any usual field but must be texts. Splits never separate near-duplicates (see `groups`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from livek12.core.errors import UserError
from livek12.core.languages import codes
from livek12.core.questions import CARD
from livek12.core.records import IMAGE_MARK, Image, Language, Option, Question
from livek12.dataset_builders.base import BadRow, Log
from livek12.dataset_builders.duplicates.finding import find_pairs
from livek12.dataset_builders.duplicates.library import Library, stem_of
from livek12.dataset_builders.ingest.pages.geometry import root_of
from livek12.dataset_builders.proposals import every_question, whole_text
from livek12.dataset_builders.reading.fields import stated, text_of, texts_of
from livek12.dataset_builders.reading.rows import SourceRow, read_rows

MAX_TEXT = 6000
"""Characters of a question used for tags."""
_LABELS = ("knowledge_points", "knowledge_point_routes", "考点", "taxonomy")
_STEMS = ("question", "problem", "题目", "stem")
_OPTIONS = ("options", "answer_option_list", "choices")


@dataclass(frozen=True)
class Item:
    """A question for tagging; unstated texts are ""."""

    id: str
    text: str
    language: Language = "zh"
    labels: tuple[str, ...] = ()
    subject: str = ""
    difficulty: str = ""
    images: tuple[Image, ...] = ()
    points: float | None = None
    kind: str = ""


def text_with(question: str, options: Sequence[Option]) -> str:
    """Stem and options as one text, without image marks."""
    return whole_text(question, options).replace(IMAGE_MARK, " ")[:MAX_TEXT]


def _item_of(question: Question) -> Item:
    return Item(
        id=question.id,
        text=text_with(question.question, question.options),
        language=question.language,
        labels=tuple(question.knowledge_points),
        subject=question.subject,
        difficulty=question.difficulty or "",
        images=tuple(question.images),
        points=question.points,
        kind=question.question_type,
    )


def read_items(data: Path, problems: list[str]) -> Iterator[Item]:
    """Yields the questions of a built dataset (a folder with a card), or of a file or folder of rows.

    `problems` gets a line for each invalid row.
    """
    if data.is_dir() and (data / CARD).is_file():
        yield from map(_item_of, every_question(data))
        return
    log = Log()
    for row in read_rows(data, log):
        try:
            yield _item(row)
        except BadRow as error:
            log.skip(row.where, None, error)
    problems += log.skipped


def groups(items: Sequence[Item]) -> list[int]:
    """Group of each question: connected near-duplicates, by MinHash, share one."""
    library, leader = Library(), list(range(len(items)))
    library.add_stems(
        [stem_of(str(n), "livek12", item.language, None, item.text, [], [], []) for n, item in enumerate(items)]
    )

    for earlier, other, *_ in find_pairs(library):
        leader[root_of(leader, earlier)] = root_of(leader, other)
    return [root_of(leader, place) for place in range(len(items))]


def folds(items: Sequence[Item], count: int) -> list[int]:
    """Fold of each question, 0 to count - 1: groups by hash of their first text, dealt in turn."""
    group_ids = groups(items)
    names = {
        group: hashlib.sha256(items[group].text.encode("utf-8", "replace")).hexdigest() for group in set(group_ids)
    }
    place = {group: number % count for number, group in enumerate(sorted(names, key=lambda g: (names[g], g)))}
    return [place[group] for group in group_ids]


def _item(row: SourceRow) -> Item:
    data = row.data
    text = text_of(data, *_STEMS)
    if not text:
        raise BadRow(f"it has no question (looked for {', '.join(_STEMS)})")
    options = list(_options(stated(data, *_OPTIONS)))
    labels = dict.fromkeys(label for key in _LABELS for label in texts_of(data, key))
    id = text_of(data, "id", "qid", "question_id") or row.id
    language = text_of(data, "language")
    return Item(
        id=id,
        text=text_with(text, options),
        language=language if language in codes() else "zh",
        labels=tuple(labels),
        subject=text_of(data, "subject", "学科"),
        difficulty=text_of(data, "difficulty", "difficulty_level"),
        kind=text_of(data, "question_type", "qtype", "题型"),
    )


def _options(value: Any) -> Iterator[Option]:
    for number, entry in enumerate(value if isinstance(value, list) else []):
        option = entry[0] if isinstance(entry, list) and entry else entry
        label = chr(ord("A") + number % 26)
        if isinstance(option, dict):
            texts = [option.get(name) for name in ("text", "content", "value")]
            yield Option(
                label=str(option.get("label") or option.get("aoVal") or label), text=str(next(filter(None, texts), ""))
            )
        elif isinstance(option, str):
            yield Option(label=label, text=option)


def need_labels(items: Sequence[Item], where: str) -> list[Item]:
    """Filters labelled questions; raises UserError without any."""
    with_labels = [item for item in items if item.labels]
    if not with_labels:
        raise UserError(f"{where}: no question has labels ({', '.join(_LABELS)}); give --labels data that has")
    return with_labels
