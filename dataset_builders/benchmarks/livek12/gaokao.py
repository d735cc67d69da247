"""Rows of collected exam papers ({keywords, example: [...]}), as the livek12 reader takes them.

Contract: a row stands in a list `example` whose file names itself in `keywords`, and holds year, category, question,
answer, analysis, index, score and, with figures, picture. `to_upstream` gives the row in upstream's English keys.

A key that is a list has one entry a sub-question, and `score` is the points of each; a key that is a text answers the
whole question, which `score` is for. The papers are Chinese, whatever language an item's text is in. The year is the
release. Pictures that are the options stay at the end of the question: their letters are printed in them, and they do
not come in the letters' order.
"""

from __future__ import annotations

import re
from typing import Any

from livek12.core.question_types import CHOICE, FREE
from livek12.dataset_builders.reading.fields import as_text
from livek12.dataset_builders.reading.rows import SourceRow
from livek12.dataset_builders.reading.text import parse_list

SUBJECTS = {
    **{
        name: name for name in ("math", "physics", "chemistry", "biology", "chinese", "english", "history", "geography")
    },
    **{"political": "politics", "politics": "politics", "mathematics": "math"},
}
_YEARS = re.compile(r"^\d{4}(?:-\d{4})?_")


def matches(row: SourceRow) -> bool:
    """Whether a row has this shape."""
    return "keywords" in row.context and {"question", "answer", "category", "score"} <= row.data.keys()


def published_by(row: SourceRow) -> str:
    """Who published rows of this shape."""
    return "OpenMOSS/GAOKAO-MM" if "picture" in row.data else "OpenLMLab/GAOKAO-Bench"


def to_upstream(row: SourceRow) -> dict[str, Any]:
    """The row in upstream's keys."""
    data, keywords = row.data, str(row.context["keywords"])
    key = data["answer"]
    entries = [as_text(entry).strip() for entry in parse_list(key)]
    listed = isinstance(key, list) and len(entries) > 1
    score = data["score"]
    year, category = as_text(data.get("year")).strip(), as_text(data.get("category")).strip()
    points = {"point_value": score}
    if listed and isinstance(score, int | float) and not isinstance(score, bool):
        points = {"point_value": score * len(entries), "part_points": [score] * len(entries)}
    return {
        "id": f"{keywords}_{data['index']}" if data.get("index") is not None else None,
        "set": year or None,
        "language": "zh",
        "subject": _subject(keywords),
        "question_type": _YEARS.sub("", keywords).replace("_", " "),
        "question": data["question"],
        "answer": entries,
        "solution": data.get("analysis"),
        "images": parse_list(data.get("picture")),
        "year": year or None,
        "exam": category.strip("()（） ") or None,
        **points,
        **{name: data[name] for name in ("review", "licence", "license") if name in data},
    }


def _subject(keywords: str) -> str:
    words = keywords.lower().split("_")
    return next((SUBJECTS[word] for word in words if word in SUBJECTS), "")


def kind(row: SourceRow) -> str:
    """What the type of a row comes to: letters in a list answer a choice question, else the file's name says it."""
    keywords, key = str(row.context["keywords"]), row.data["answer"]
    if isinstance(key, list) and all(re.fullmatch(r"[A-Ga-g]+", as_text(entry).strip()) for entry in key):
        entries = [as_text(entry).strip() for entry in key]
        if len(entries) == 1:
            return CHOICE
        return "multiple_choice" if any(len(entry) > 1 for entry in entries) else "single_choice"
    return "fill_in_blank" if re.search(r"fill[-_ ]in|cloze", keywords, re.IGNORECASE) else FREE
