"""The meaning of each column of a dataset, for the cards."""

from __future__ import annotations

import re
from collections.abc import Iterable

from livek12.core.features import FlatRow
from livek12.core.languages import codes, listed
from livek12.core.question_types import type_names
from livek12.core.records import Page, Question, Record

MEANINGS: dict[type[Record], dict[str, str]] = {
    Question: {
        "id": "unique in its config",
        "benchmark": "livek12, kmmmu, cfe or mdk12",
        "release": "when the question was released or asked",
        "language": listed(codes()),
        "subject": "the school or university subject",
        "question_type": listed(type_names()),
        "question_type_raw": "the type in the source's own words",
        "question": "the text, without the options that could be taken out of it",
        "options": "the choices, in order",
        "images": "the figures, in the order of their marks",
        "paper_id": "the paper the question stands on",
        "page_numbers": "the pages of the paper it stands on, from 1",
        "boxes": "where it stands on these pages, in fractions of width and height; empty where that is not known",
        "number": "its number on the paper",
        "answer": "the key: one entry a blank, sub-question or variable; the letters of a choice are one entry",
        "part_points": "the points of each entry of the key",
        "part_units": "the unit printed after each blank, which an answer may leave out",
        "answer_images": "pictures that belong to the key",
        "solution": "the reference solution",
        "solution_images": "pictures of the solution, in the order of their marks",
        "variables": "the typed answer variables",
        "reasoning_flow": "the sub-questions that lead to the answer, each with its own answer",
        "points": "what a full answer is worth",
        "knowledge_points": "what one must know",
        "taxonomy": "the path from discipline to topic",
        "difficulty": "easy, medium or hard",
        "year": "the year of the exam",
        "subsets": "the named subsets it belongs to",
        "flags": "yes-or-no properties; empty where the source does not say",
        "attributes": "reporting axes that only some benchmarks have",
        "exam": "the exam's name",
        "translation_of": "id of the question this one translates",
        "review": "who accepted the question, and when",
        "removed_in": "the release that withdrew it",
        "source": "address, licence and upstream id",
        "variant": "the question it was made from, and how; empty for a question as it was printed",
    },
    Page: {
        "paper_id": "the paper",
        "page_number": "the page, from 1",
        "image": "the whole page",
        "language": listed(codes()),
        "release": "the paper's release",
    },
    FlatRow: {
        "id": "the question's id in the other configs",
        "input": "what the model is told: the whole prompt, or the question alone where there are choices",
        "target": "the letters, the number or the expression that is right",
        "choices": "the texts of the choices, for the harness to print; empty where the prompt holds them",
        "image": "all pictures of the question in one, as a data address; empty where it has none",
        "metadata": "benchmark, release, language, subject, type, points, licence and address of the question",
    },
}


def meanings(record: type[Record], benchmarks: Iterable[str]) -> dict[str, str]:
    """The meaning of each column in a dataset of these benchmarks."""
    texts, names = MEANINGS[record], sorted(benchmarks)
    named = re.findall(r"\w+", texts.get("benchmark", ""))
    return texts if not named or set(names) <= set(named) else {**texts, "benchmark": " or ".join(names)}
