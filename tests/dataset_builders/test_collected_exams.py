"""Collected exams whose rows are taken apart or mended: every word, picture, key and point of the source is there."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from livek12.core.records import IMAGE_MARK, Question
from livek12.dataset_builders.base import Log
from livek12.dataset_builders.builder import read
from livek12.dataset_builders.registry import builder_of
from tests.dataset_builders.test_public_exams import digest, plain, rows_of, said

HEADS = {"答案"}
"""Words that say no more than that a key follows."""


@dataclass
class Source:
    """A row of a source, read here without livek12, and the id of the questions that are made of it."""

    id: str
    question: str
    answer: list[str]
    solution: str
    points: float | None
    pictures: set[str] = field(default_factory=set)
    solution_pictures: set[str] = field(default_factory=set)
    steps: list[str] = field(default_factory=list)


def collected(folder: Path) -> Iterator[Source]:
    for file in sorted(folder.rglob("*.json")):
        found = json.loads(file.read_text(encoding="utf-8"))
        for row in found["example"]:
            answer = row["answer"] if isinstance(row["answer"], list) else [row["answer"]]
            solution = row["analysis"] if isinstance(row["analysis"], str) else "\n".join(row["analysis"])
            points = (row["score"] or 0) * (len(answer) if isinstance(row["answer"], list) else 1)
            files = [file.parent / Path(name).parent.name / Path(name).name for name in row.get("picture") or []]
            id = f"{found['keywords']}_{row['index']}"
            yield Source(id, row["question"], list(map(str, answer)), solution, points, set(map(digest, files)))


def reviewed(folder: Path) -> Iterator[Source]:
    for file in sorted(folder.rglob("*.jsonl")):
        for row in rows_of(file):
            answer = row["answer"]["standard"]
            answers = list(map(str, answer)) if isinstance(answer, list) else [str(answer)]
            yield Source(row["id"], row["question"]["content"], answers, row["answer"]["analysis"] or "", row["score"])


def cfe(folder: Path) -> Iterator[Source]:
    for name in ("CFE_mm.json", "CFE_text.json"):
        for row in rows_of(folder / name):
            question, answer = row["question"], row["answer"]
            steps = [spelled(step[part]) for step in row["reasoning_flow"] for part in ("step", "verifiable_answer")]
            yield Source(
                row["id"],
                question["text"],
                list(map(spelled, row["short_answer_value"])),
                answer["text"] or "",
                None,
                {digest(folder / path) for path in question["images"] or []},
                {digest(folder / path) for path in answer["images"] or []},
                steps,
            )


def spelled(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def words(text: str) -> set[str]:
    """The words of a text: runs of letters and digits, two at least, without commands of LaTeX, broken or not."""
    text = re.sub(rf"[\\\a\b\v\f\r][a-zA-Z]+|{IMAGE_MARK}", " ", re.sub(r"[ \t　]+", " ", text))
    return set(re.findall(r"[^\W_①-⑳]{2,}", text)) - HEADS


def absent(text: str, whole: str) -> list[str]:
    """The words that are not there, labels that stand before or behind them apart."""
    return [
        word
        for word in words(text)
        if not any(plain(word.strip(label)) in whole for label in ("", "ABCDEFGHIJ", "0123456789"))
    ]


def of_rows(benchmark: str, folder: Path) -> tuple[dict[str, list[Question]], Log]:
    """The questions by the row that they are made of."""
    found, log = defaultdict[str, list[Question]](list), Log()
    for question in read(builder_of(benchmark), folder, log):
        assert isinstance(question, Question)
        found[question.source.upstream_id or question.id].append(question)
    return found, log


def check(row: Source, questions: list[Question]) -> None:
    """Nothing of a row is lost in the questions that are made of it."""
    assert questions, row.id
    asked = "".join(map(said, questions))
    keyed = plain("".join(entry for one in questions for entry in (*one.answer, *(v.value for v in one.variables))))
    worked = plain("".join(one.solution or "" for one in questions))
    flow = plain("".join(step.step + step.answer for one in questions for step in one.reasoning_flow))
    for text, whole in (
        (row.question, asked),
        ("\n".join(row.answer), keyed),
        (row.solution, worked),
        ("\n".join(row.steps), flow),
    ):
        assert not absent(text, whole), row.id
    assert {image.sha256 for one in questions for image in one.images} == row.pictures, row.id
    assert {image.sha256 for one in questions for image in one.solution_images} >= row.solution_pictures, row.id
    if row.points is not None:
        assert sum(one.points or 0 for one in questions) == pytest.approx(row.points), row.id


SETS: list[Any] = [
    ("livek12", "gaokao_mm", collected),
    ("livek12", "gaokao_bench_updates", collected),
    ("livek12", "gaokao2026_math/reviewed", reviewed),
    ("cfe", "cfe_bench", cfe),
    pytest.param("livek12", "gaokao_bench", collected, marks=pytest.mark.release),
]
FAR = {"gaokao_bench": 6}
"""Rows with a picture on another host."""


@pytest.mark.parametrize(("benchmark", "name", "reader"), SETS)
def test_nothing_is_lost(shared_data: Path, benchmark: str, name: str, reader: Any) -> None:
    built, log = of_rows(benchmark, shared_data / name)
    given = list(reader(shared_data / name))
    assert len(log.skipped) == FAR.get(name, 0), log.skipped[:3]
    left_out = [row for row in given if row.id not in built]
    assert len(left_out) == len(log.skipped) and all("](http" in row.question for row in left_out)
    twice = Counter(row.id for row in given)
    for row in given:
        questions = built[row.id]
        if twice[row.id] > 1:  # five ids of CFE-Bench: their rows come in the order of the file
            questions = [questions.pop(0)]
        if row not in left_out:
            check(row, questions)
