"""Public exam sets by the commands of the docs, each compared with its source: nothing of it is lost."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from livek12.core.records import IMAGE_MARK, Question, SchemeCriterion
from livek12.core.text import squeezed
from livek12.dataset_builders import validate
from livek12.dataset_builders.base import Log
from livek12.dataset_builders.builder import read
from livek12.dataset_builders.registry import builder_of
from tests.conftest import ROOT
from tests.scripts.command import livek12_here
from tests.test_docs import commands

PAGE = ROOT / "docs" / "build-a-data-set.md"
SHOWN = [line for line in commands(PAGE) if line[0] == "build" and "--out" in line and line[3].startswith("exams/")]
SHOWN = [line for line in SHOWN if "exams/mine" not in line]
LEFT_OUT = {"gaokao_bench": 6}
"""Rows whose pictures lie on a host that the command does not name."""
ABSENT = {"click_korean": 6, "hipho": 1, "scibench": 1}
"""Questions whose source itself lacks the passage or the picture that they speak of."""


@dataclass
class Given:
    """What a row of a source holds, read here without livek12."""

    texts: list[str]
    answer: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)
    pictures: list[Path] = field(default_factory=list)
    solution: list[str] = field(default_factory=list)
    scheme: list[str] = field(default_factory=list)
    points: float | None = None


def rows_of(file: Path) -> list[dict[str, Any]]:
    if file.suffix == ".csv":
        with file.open(encoding="utf-8-sig", newline="") as lines:
            return list(csv.DictReader(lines))
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    found = json.loads(text)
    return found if isinstance(found, list) else [found]


def hipho(folder: Path) -> Iterator[Given]:
    for file in sorted(folder.rglob("*.json")):
        head = ""
        for row in rows_of(file):
            if "information" in row:
                head = "" if row["information"] == "None." else row["information"]
                continue
            texts = [head, row["context"], row["question"]]
            pictures = [file.parent / name for name in row["image_question"]]
            scheme = [
                line for scheme in row.get("marking", []) for line in (scheme if isinstance(scheme, list) else [scheme])
            ]
            yield Given(texts, row["answer"], pictures=pictures, scheme=scheme, points=sum(row["points"]))


def scibench(folder: Path) -> Iterator[Given]:
    for file in sorted(folder.rglob("*.json")):
        for row in rows_of(file):
            pictures = sorted(file.parent.glob("*.png")) if file.name == "data.json" else []
            yield Given([row["problem_text"]], [row["answer_number"]], [], pictures, [row.get("solution") or ""])


def tal(folder: Path) -> Iterator[Given]:
    for file in sorted(folder.rglob("*.jsonl")):
        for row in rows_of(file):
            options = [one["content"] for (one,) in row["answer_option_list"]]
            yield Given([row["problem"]], [row["answer_value"]], options, solution=row["answer_analysis"])


def click(folder: Path) -> Iterator[Given]:
    for file in sorted(folder.rglob("*.json")):
        for row in rows_of(file):
            yield Given([row["paragraph"], row["question"]], [row["answer"]], row["choices"])


def papers(folder: Path) -> Iterator[Given]:
    for file in sorted(folder.rglob("*.csv")):
        yield from (Given([row["prompt"]], [row["answer"]]) for row in rows_of(file))


READERS = {
    ("livek12", "hipho"): hipho,
    ("livek12", "scibench"): scibench,
    ("livek12", "tal_scq5k_zh"): tal,
    ("livek12", "click_korean"): click,
    ("kmmmu", "click_korean"): click,
    ("livek12", "gaokao2024_math_scanned"): papers,
}


def plain(text: str) -> str:
    """A text without marks, names of pictures, labels and spaces: what a reader may move or read."""
    bare = re.sub(rf"{IMAGE_MARK}|\[figure ?\d+\]|\\boxed|[{{}}$\\]", "", text.replace("\r", ""))
    return squeezed(re.sub(r"\s+", "", bare))


def said(question: Question) -> str:
    """All that is asked, with the options by their labels as a paper prints them."""
    return plain(question.question + "".join(option.text for option in question.options))


def missing(text: str, whole: str) -> list[str]:
    """The stretches of a source's text that are not in what was built, its labels of options apart."""
    pieces = re.split(r"(?:^|(?<=[\s。．.?？）)]))[(（]?[A-J①-⑩][.．、)）]?\s|[(（][A-J][)）]", text)
    return [piece for piece in pieces if plain(piece) not in whole]


FRAME = re.compile(
    r"(?:award|atotalof|(?:ed)?otherwise|partialpoints?|deduct|pts?|if|forthefollowing|for|and|则?得|分|否则|[\d.,;:，。；()])*",
    re.IGNORECASE,
)
"""What may go where a sentence becomes a criterion: its points, and the words around them."""


def unsaid(criterion: SchemeCriterion, line: str) -> str:
    """The rest of a line, without the words of its criterion."""
    rest = plain(line)
    sentences = criterion.text.split("\n")
    for text in sorted([*sentences, *(mark.text for mark in (*criterion.partial, *criterion.deduct))], key=len)[::-1]:
        assert plain(text).rstrip(".") in rest, (text, line)
        rest = rest.replace(plain(text).rstrip("."), "", 1)
    return rest


@pytest.mark.parametrize(("benchmark", "name"), READERS, ids=str)
@pytest.mark.release
def test_nothing_of_a_source_is_lost(shared_data: Path, benchmark: str, name: str) -> None:
    log = Log()
    built = [q for q in read(builder_of(benchmark), shared_data / name, log) if isinstance(q, Question)]
    given = list(READERS[benchmark, name](shared_data / name))
    assert (len(built), log.skipped) == (len(given), [])
    for question, row in zip(built, given, strict=True):
        whole = said(question)
        assert not [part for text in row.texts for part in missing(text, whole)], question.id
        assert [image.bytes for image in question.images if image.bytes] != [] or not row.pictures
        assert {image.sha256 for image in question.images} == {digest(file) for file in row.pictures}, question.id
        assert not [text for text in row.options if plain(text) not in whole], question.id
        assert not [text for text in row.solution if plain(text) not in plain(question.solution or "")], question.id
        criteria = [criterion for alternative in question.scheme for criterion in alternative]
        for criterion, line in zip(criteria, row.scheme, strict=True):
            assert FRAME.fullmatch(unsaid(criterion, line)), line
        assert question.points == pytest.approx(row.points) if row.points else question.points is None
        named = [option.text for option in question.options if option.label in "".join(question.answer)]
        key = unnumbered("".join([*question.answer, *named]))
        assert not [entry for entry in row.answer if unnumbered(entry) not in key], question.id


def unnumbered(entry: str) -> str:
    """An entry of a key without the numbers of its parts."""
    return re.sub(r"\(\w\)|[;,.。]$", "", plain(entry))


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.mark.release
@pytest.mark.parametrize("line", SHOWN, ids=" ".join)
def test_the_commands_of_the_page_build(line: list[str], shared_data: Path, tmp_path: Path) -> None:
    place = line.index("--source") + 1
    source = shared_data / line[place].removeprefix("exams/")
    out = tmp_path / "data"
    args = [*line[:place], str(source), *line[place + 1 : line.index("--out")], "--out", str(out)]
    ended = livek12_here(*args)
    left_out = LEFT_OUT.get(source.name, 0)
    assert ended.code == int(left_out > 0), ended.err[-800:]
    assert f"{left_out} left out" in ended.out + ended.err
    problems = validate(out)
    assert len(problems) == ABSENT.get(source.name, 0) and all(
        re.search("does not have|and has 0", line) for line in problems
    ), problems
