"""Rows of a reviewed paper, as the livek12 reader takes them.

Contract: a reviewed row holds `question.content`, `answer.standard`, `answer.analysis`, `score`,
`question_type` (single_choice, multiple_choice, fill_blank, solution) and `question_number`; `to_ours`
gives the same row in our keys. The paper is the id without its question number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_READ = {"id", "year", "subject", "question_type", "score", "question", "answer", "question_number", "paper"}
_NO_PLACE = {"country", "province", "requires_vision", "grading", "extraction"}
"""What the form says of how a row was made and marked elsewhere; so are other spellings of an answer."""


def matches(row: Mapping[str, Any]) -> bool:
    """Whether a row has this shape."""
    question, answer = row.get("question"), row.get("answer")
    return isinstance(question, Mapping) and "content" in question and isinstance(answer, Mapping)


def to_ours(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row in our keys; the number that leads the text is kept as `number` only."""
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
