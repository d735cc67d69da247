"""Other forms of livek12 rows: reviewed papers, and collected exam papers ({keywords, example: [...]}).

Contract: a reviewed row holds `question.content`, `answer.standard`, `answer.analysis`, `score`, `question_type` and
`question_number`; the paper is the id without its number. In a collected row a list key has one entry a sub-question,
with `score` points each; `questions` separates them if their passage splits unambiguously. A text key and its `score`
are of the whole question. These papers are Chinese, whatever a text's language; the year is the release. Pictures that
are options stay at the end: their printed letters may be out of order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from livek12.core.question_types import CHOICE, FREE
from livek12.dataset_builders.reading.fields import as_text
from livek12.dataset_builders.reading.groups import split_group
from livek12.dataset_builders.reading.latex import restore
from livek12.dataset_builders.reading.rows import SourceRow
from livek12.dataset_builders.reading.text import parse_list

_REVIEWED = {"id", "year", "subject", "question_type", "score", "question", "answer", "question_number", "paper"}
_NO_PLACE = {"country", "province", "requires_vision", "grading", "extraction"}
"""Provenance and grading fields without a place in a Question."""


def rows(row: SourceRow) -> list[SourceRow]:
    """Converts a row of a known form to rows in our keys, one a question."""
    if is_reviewed(row.data):
        return [replace(row, data=of_reviewed(row.data), found=row.data)]
    if is_collected(row):
        gaokao_row = replace(row, context={}, found=row.data)
        return [replace(gaokao_row, data=data) for data in questions(row)]
    return [row]


def is_reviewed(row: Mapping[str, Any]) -> bool:
    """Tests a row for this shape."""
    question, answer = row.get("question"), row.get("answer")
    return isinstance(question, Mapping) and "content" in question and isinstance(answer, Mapping)


def of_reviewed(row: Mapping[str, Any]) -> dict[str, Any]:
    """Converts a row to our keys; the number is cut from the text."""
    question, answer = row["question"], row["answer"]
    number = str(row.get("question_number") or "") or None
    content = question["content"]
    if number and isinstance(content, str):
        content = re.sub(rf"^\s*{re.escape(number)}\s*[.．、]\s*", "", content)
    year = row.get("year")
    paper = re.fullmatch(r"(.+?)-q\d+", str(row.get("id") or ""))
    return {
        "id": row.get("id"),
        "set": None if year is None else str(year),
        "subject": row.get("subject"),
        "question_type": row.get("question_type"),
        "points": row.get("score"),
        "question": content,
        "answer": answer.get("standard"),
        "solution": answer.get("analysis"),
        "images": question.get("assets"),
        "number": number,
        "year": year,
        "exam": row.get("paper"),
        "paper_id": paper[1] if paper else None,
        **{key: value for key, value in row.items() if key not in _REVIEWED | _NO_PLACE},
    }


SUBJECTS = {
    **{
        name: name for name in ("math", "physics", "chemistry", "biology", "chinese", "english", "history", "geography")
    },
    **{"political": "politics", "politics": "politics", "mathematics": "math"},
}
_COLLECTED = {"year", "category", "question", "answer", "analysis", "index", "score", "picture"}
_LETTERS = re.compile(r"[A-Ga-g]+")
_YEARS = re.compile(r"^\d{4}(?:-\d{4})?_")


def is_collected(row: SourceRow) -> bool:
    """Tests a row for this shape."""
    return "keywords" in row.context and {"question", "answer", "category", "score"} <= row.data.keys()


def of_collected(row: SourceRow) -> dict[str, Any]:
    """Converts a row to our keys."""
    data, keywords = row.data, str(row.context["keywords"])
    key = data["answer"]
    entries = [as_text(entry).strip() for entry in parse_list(key)]
    listed = isinstance(key, list) and len(entries) > 1
    score = data["score"]
    year, category = as_text(data.get("year")).strip(), as_text(data.get("category")).strip()
    points = {"points": score}
    if listed and isinstance(score, int | float) and not isinstance(score, bool):
        points = {"points": score * len(entries), "part_points": [score] * len(entries)}
    return {
        "id": f"{keywords}_{data['index']}" if data.get("index") is not None else None,
        "set": year or None,
        "language": "zh",
        "subject": _subject(keywords),
        "question_type": kind(row),
        "question_type_raw": _YEARS.sub("", keywords).replace("_", " "),
        "question": data["question"],
        "answer": entries,
        "solution": data.get("analysis"),
        "images": parse_list(data.get("picture")),
        "year": year or None,
        "exam": category.strip("()（） ") or None,
        **points,
        **{name: value for name, value in data.items() if name not in _COLLECTED},
    }


def questions(row: SourceRow) -> list[dict[str, Any]]:
    """Converts a row to our keys: its passage's questions if the key has letters for each, else itself."""
    whole = of_collected(row)
    entries = whole["answer"]
    several = isinstance(row.data["answer"], list) and len(entries) > 1 and all(map(_LETTERS.fullmatch, entries))
    parts = split_group(restore(as_text(row.data["question"])), entries) if several else []
    shared = {name: value for name, value in whole.items() if name != "part_points"}
    return [
        {
            **shared,
            "id": f"{whole['id']}_{place}" if whole["id"] else None,
            "upstream_id": whole["id"],
            "question": part.text,
            "options": [{"label": option.label, "text": option.text} for option in part.options],
            "number": part.number,
            "answer": [entry],
            "question_type": CHOICE,
            "points": row.data["score"],
        }
        for place, (part, entry) in enumerate(zip(parts, entries, strict=False), start=1)
    ] or [whole]


def _subject(keywords: str) -> str:
    words = keywords.lower().split("_")
    return next((SUBJECTS[word] for word in words if word in SUBJECTS), "")


def kind(row: SourceRow) -> str:
    """Question type: a choice for a list of letters, else from the file's name."""
    keywords, key = str(row.context["keywords"]), row.data["answer"]
    if isinstance(key, list) and all(_LETTERS.fullmatch(as_text(entry).strip()) for entry in key):
        entries = [as_text(entry).strip() for entry in key]
        if len(entries) == 1:
            return CHOICE
        return "multiple_choice" if any(len(entry) > 1 for entry in entries) else "single_choice"
    return "fill_in_blank" if re.search(r"fill[-_ ]in|cloze", keywords, re.IGNORECASE) else FREE
