"""Reviewed papers for the livek12 reader.

Contract: a row holds `question.content`, `answer.standard`, `answer.analysis`, `score`, `question_type` and
`question_number`. The paper is the id without its number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_READ = {"id", "year", "subject", "question_type", "score", "question", "answer", "question_number", "paper"}
_NO_PLACE = {"country", "province", "requires_vision", "grading", "extraction"}
"""Provenance and grading fields without a place in a Question."""


def matches(row: Mapping[str, Any]) -> bool:
    """Tests a row for this shape."""
    question, answer = row.get("question"), row.get("answer")
    return isinstance(question, Mapping) and "content" in question and isinstance(answer, Mapping)


def to_ours(row: Mapping[str, Any]) -> dict[str, Any]:
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
        **{key: value for key, value in row.items() if key not in _READ | _NO_PLACE},
    }
