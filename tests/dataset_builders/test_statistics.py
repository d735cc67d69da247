"""What `statistics.json` says: the figures of the papers, of the sample, and that they are those of the rows."""

from __future__ import annotations

import json
import statistics as reference
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from livek12.core.questions import load_pages, load_questions
from livek12.core.records import Image, Question
from livek12.core.text import folded
from livek12.dataset_builders import sample, validate
from livek12.dataset_builders.reading.images import look_of
from livek12.dataset_builders.writing.statistics import (
    Statistics,
    contents_of,
    differences,
    distribution,
    read_statistics,
    recount,
)
from tests.dataset_builders.pictures import picture


def everything() -> list[Question]:
    return [question for group in sample.PAPERS for question in sample.load(group)]


_SPACED = st.text(st.sampled_from("".join(c for c in map(chr, range(0x3001)) if c.isspace()) + "aAａ一ﬁ"))


@given(_SPACED, _SPACED)
@settings(max_examples=300, deadline=None)
def test_the_same_to_the_letter_are_texts_without_spaces_case_and_width(one: str, other: str) -> None:
    question = sample.load("cfe")[0]
    contents = contents_of([question.model_copy(update={"question": text}) for text in (one, other)], [[], []])
    same = "".join(folded(one).split()) == "".join(folded(other).split())
    assert (contents[0] == contents[1]) is same


def test_figures_of_the_cfe_paper(shared_data: Path, cfe_data: str) -> None:
    found = read_statistics(Path(cfe_data))
    text, multimodal = (found["configs"][name]["numbers"] for name in ("text", "multimodal"))
    assert (text["reasoning_flow_steps"]["n"], multimodal["reasoning_flow_steps"]["n"]) == (305, 144)
    assert round(text["reasoning_flow_steps"]["mean"], 2) == 10.73
    assert round(text["reasoning_flow_steps"]["std"], 2) == 4.07
    assert round(multimodal["reasoning_flow_steps"]["mean"], 2) == 11.74
    assert (found["all"]["numbers"]["variables"]["min"], found["all"]["numbers"]["variables"]["max"]) == (1, 10)
    assert found["all"]["by"]["licence"] == {"CC BY-NC-SA 4.0": 228, "not stated": 221}
    assert found["duplicates"]["exact"] == {"within_splits": 5, "across_splits": 0}
    assert found["duplicates"]["near"]["within_splits"] == 8
    # the reasoning flows as they stand in the release's own file
    lengths = [
        len(row["reasoning_flow"]) for row in json.loads((shared_data / "cfe_bench" / "CFE_mm.json").read_text())
    ]
    assert multimodal["reasoning_flow_steps"]["std"] == round(reference.stdev(lengths), 4)


def test_counts_of_the_sample(built: Path) -> None:
    found, questions = read_statistics(built), everything()
    by = found["all"]["by"]
    assert found["all"]["questions"] == len(questions) == 63
    assert by["subject"] == Counter(question.subject for question in questions)
    assert by["language"] == Counter(question.language for question in questions)
    assert by["question_type"] == Counter(question.question_type for question in questions)
    assert by["modality"]["text_image"] == sum(bool(question.images) for question in questions)
    assert by["subset"] == Counter(subset for question in questions for subset in question.subsets or ["none"])
    assert found["configs"]["image_only"]["splits"] == {"en_sample": 21, "zh_sample": 21}
    assert found["configs"]["mdk12_full"]["by"]["benchmark"] == {"mdk12": 6}
    assert found["configs"]["pages"]["splits"]["zh_sample"] == 5
    points = [question.points for question in questions if question.points is not None]
    assert found["all"]["numbers"]["points"]["mean"] == round(reference.mean(points), 4)
    assert found["all"]["numbers"]["points"]["std"] == round(reference.stdev(points), 4)


def test_what_sharing_pages_saves(built: Path) -> None:
    pages = load_pages(built)
    asked = load_questions(built, ["image_only"], "livek12")
    each = sum(len(pages[q.paper_id or "", number].bytes or b"") for q in asked for number in q.page_numbers)
    found = read_statistics(built)["pages"]
    assert found["pages"] == len(pages) == 15
    assert found["bytes"] == sum(len(page.bytes or b"") for page in pages.values())
    assert found["bytes_if_stored_with_each_question"] == each
    assert found["bytes_saved"] == each - found["bytes"] > 0


def test_counting_again_gives_the_same(built: Path) -> None:
    assert recount(built, "sample") == read_statistics(built)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda stated: stated["all"]["by"]["subject"].update(math=99), "all.by.subject.math is 99, the data has 13"),
        (lambda stated: stated["configs"].pop("cfe_text"), "configs.cfe_text is null, the data has {"),
        (lambda stated: stated["releases"].clear(), "releases is [], the data has ["),
    ],
)
def test_validate_counts_again(copied: Path, change: Any, said: str) -> None:
    stated = read_statistics(copied)
    change(stated)
    (copied / "statistics.json").write_text(json.dumps(stated))
    problems = validate(copied)
    assert [problem for problem in problems if said in problem]
    assert not any("\n" in problem for problem in problems)


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", None])
def test_validate_without_statistics(copied: Path, content: bytes | None) -> None:
    file = copied / "statistics.json"
    file.unlink() if content is None else file.write_bytes(content)
    (problem,) = validate(copied)
    assert "statistics.json" in problem
    assert "build the data set again" in problem


@given(st.lists(st.integers(0, 50) | st.floats(0, 50, width=32), min_size=1, max_size=60))
def test_distributions(values: list[float]) -> None:
    found = distribution(Counter(values))
    assert found["n"] == len(values)
    assert found["mean"] == pytest.approx(reference.fmean(values), abs=1e-4)
    expected = reference.stdev(values) if len(values) > 1 else None
    assert found["std"] == (None if expected is None else pytest.approx(expected, abs=1e-3))
    assert (found["min"], found["max"]) == (min(values), max(values))
    for share, value in found["quantiles"].items():
        assert sum(other <= value for other in values) >= len(values) * int(share) / 100
        assert sum(other < value for other in values) < max(1, len(values) * int(share) / 100)


@settings(max_examples=4)
@given(st.randoms(), st.integers(0, 63))
def test_merging_is_counting_all_in_any_order(draw: Any, cut: int) -> None:
    questions = everything()
    draw.shuffle(questions)
    whole, first, second = Statistics(), Statistics(), Statistics()
    for number, question in enumerate(questions):
        for statistics in (whole, first if number < cut else second):
            statistics.add(question, ["default"], question.language)
    first.merge(second)
    configs = {"default": ("default",)}
    in_order = Statistics()
    for question in everything():
        in_order.add(question, ["default"], question.language)
    assert first.summary("x", configs) == whole.summary("x", configs) == in_order.summary("x", configs)


def test_duplicates_within_and_across_splits() -> None:
    questions = sample.load("livek12_en")[:3]
    statistics = Statistics()
    copies = [(questions[0], "a"), (questions[0], "a"), (questions[0], "b"), (questions[1], "a"), (questions[2], "b")]
    for number, (question, split) in enumerate(copies):
        statistics.add(question.model_copy(update={"id": str(number)}), ["default"], split)
    found = statistics.summary("x", {"default": ("default",)})["duplicates"]
    assert found["exact"] == {"within_splits": 1, "across_splits": 3}
    assert found["near"] == {"within_splits": 1, "across_splits": 1, "variants": 0}


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "BMP"])
def test_image_sizes(kind: str) -> None:
    assert look_of(Image(bytes=picture(0, kind, (37, 21)))).pixels == (37, 21)
    assert look_of(Image(bytes=b"<html>")).pixels is None
    assert look_of(Image(bytes=None)).pixels is None


def test_differences_are_none_between_equals(built: Path) -> None:
    stated = read_statistics(built)
    assert list(differences(stated, json.loads(json.dumps(stated)))) == []
