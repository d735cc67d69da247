"""How a row of HiPhO becomes a question.

A file holds the rows of one paper; its first row holds nothing but what all of its problems may use. Points are those
of each answer; the marking scheme stands as the solution.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from livek12.core.question_types import QuestionType
from livek12.core.records import IMAGE_MARK, Attributes, Question
from livek12.dataset_builders.base import BadRow, Log, PageKey, by_release
from livek12.dataset_builders.builder import Beside, Builder, Layout, own_tables
from livek12.dataset_builders.reading.fields import numbers_of, review_of, source_of, text_of, texts_of
from livek12.dataset_builders.reading.marks import place_marks
from livek12.dataset_builders.reading.publishers import Origin
from livek12.dataset_builders.reading.rows import SourceRow
from livek12.dataset_builders.reading.text import split_options

UPSTREAM = Origin("SciYu/HiPhO", "MIT")
FILES = {
    "55b31bb9e98f4e3dd84eeac6bc93eb68c5a6eab76ddd43e48383bf2a245fd3d3": UPSTREAM,  # EuPhO_2024.json
    "64ea576428cc1caaf912f86321c6c41df4858a3c165717fef3e5475b100538aa": UPSTREAM,  # PanMechanics_2024.json
}
"""What HiPhO published, by SHA-256."""
INFORMATION = "information"
_BOXED = re.compile(r"\\boxed\{(.*)\}", re.DOTALL)


def question(row: SourceRow, beside: Beside, log: Log) -> Question | None:
    """The question of a row; None for the row that holds what a paper gives to all of its problems."""
    data = row.data
    if data.keys() == {INFORMATION}:
        return None
    given: Mapping[str, str] = beside.read
    parts = [given.get(row.file.name, ""), text_of(data, "context"), text_of(data, "question")]
    text, refs = _with_marks("\n\n".join(filter(None, parts)), texts_of(data, "image_question"))
    images = [beside.images.load(ref, row.file.parent) for ref in refs]
    answer = [_plain(entry) for entry in texts_of(data, "answer")]
    kind = _kind(texts_of(data, "answer_type"), answer)
    text, options = split_options(text, set(answer)) if kind == "single_choice" else (text, [])
    text, options, images, change = place_marks(text, options, images)
    if change:
        log.note(row.where, row.id, change)
    units = [unit or "" for unit in data.get("unit") or []]
    paper, _, year = text_of(data, "source").partition("_")
    if not text:
        raise BadRow("it has no question")
    return Question(
        id=row.id,
        benchmark="hipho",
        release=year or None,
        language="zh" if re.search(r"[一-鿿]", text) else "en",
        subject="physics",
        question_type=kind,
        question_type_raw=", ".join(texts_of(data, "answer_type")) or None,
        question=text,
        options=options,
        images=images,
        answer=answer,
        part_points=numbers_of(data, "points") if len(answer) > 1 else [],
        part_units=units if len(units) == len(answer) and any(units) else [],
        points=sum(numbers_of(data, "points")) or None,
        solution=_scheme(data.get("marking")),
        year=int(year) if year.isdigit() else None,
        exam=f"{paper} {year}".strip() or None,
        attributes=Attributes(topic=text_of(data, "field") or None, visual_modality=text_of(data, "modality") or None),
        review=review_of(data, row.origin),
        source=source_of({"upstream_id": row.id}, row.origin),
    )


def _with_marks(text: str, refs: list[str]) -> tuple[str, list[str]]:
    """The text with a mark for each figure it names once, and the pictures in the order of their marks."""
    named = list(dict.fromkeys(int(number) for number in re.findall(r"\[figure ?(\d{1,2})\]", text)))
    known = [number for number in named if 1 <= number <= len(refs)]
    for number in known:
        text = re.sub(rf"\[figure ?{number}\]", IMAGE_MARK, text, count=1)
    return text, [refs[number - 1] for number in known] + [r for n, r in enumerate(refs, 1) if n not in known]


def _plain(entry: str) -> str:
    boxed = _BOXED.fullmatch(entry)
    return (boxed[1] if boxed else entry).strip()


def _kind(types: list[str], answer: list[str]) -> QuestionType:
    if not answer:
        return "open_ended"
    choice = "Multiple Choice" in types and all(re.fullmatch("[A-Z]", entry) for entry in answer)
    return "single_choice" if choice else "short_answer"


def _scheme(marking: Any) -> str | None:
    schemes = [scheme for scheme in marking or [] if isinstance(scheme, list)]
    return "\n\nor\n\n".join("\n".join(f"- {line}" for line in scheme) for scheme in schemes) or None


def _information(root: Path, log: Log) -> dict[str, str]:
    """What each paper gives to all of its problems, by the name of its file."""
    found = {}
    for file in sorted(root.glob("*.json")):
        first = json.loads(file.read_text(encoding="utf-8"))[0]
        if (said := str(first.get(INFORMATION) or "").strip()) not in ("", "None."):
            found[file.name] = said
    return found


def _tables(question: Question, pages: Collection[PageKey]) -> Iterator[str]:
    yield "text_image" if question.images else "text_only"
    if "hard" in question.subsets:
        yield "hard"


BUILDER = Builder(
    question,
    Layout(
        {"default": ("text_only", "text_image"), **own_tables("text_only", "text_image", "hard")},
        _tables,
        split=by_release,
    ),
    month="2025-09",
    files=FILES,
    subsets=("hard",),
    beside=_information,
)
