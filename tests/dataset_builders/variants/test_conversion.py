"""Conversions by rule: the new key accepts itself, and neither old letters nor the other options."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from livek12.core.questions import iter_questions
from livek12.core.records import Image, Key, Option, Question, Response
from livek12.dataset_builders import build
from livek12.dataset_builders.proposals.variants import conversions
from livek12.judges.cascade import default_cascade
from livek12.judges.grade import GradingConfig
from livek12.tasks.scorer import mark_response
from tests.conftest import ROOT

DATA = ROOT.parent / "shared" / "data"


def question(text: str, options: list[str], key: str, **more: object) -> Question:
    labelled = [Option(label=label, text=text) for label, text in zip("ABCDEFGH", options, strict=False)]
    kind = "multiple_choice" if len(key) > 1 else "single_choice"
    fields: dict[str, object] = {"id": "q", "benchmark": "mdk12", "language": "en", "subject": "math", **more}
    return Question.model_validate(
        {"question_type": kind, "question": text, "options": labelled, "answer": [key], **fields}
    )


def marked(asked: Question, answer: str) -> float | None:
    response = Response(key=Key(task="t", question_id=asked.id), text=answer, engine="e", model="m")
    verdict = mark_response(asked, response, GradingConfig(), default_cascade())
    return verdict.points


def test_a_value_becomes_a_blank_and_a_statement_true_or_false() -> None:
    asked = question("已知 $x+1=3$，则 $x$ 的值为（　　）", ["$1$", "$2$", "$3$", "$4$"], "B", language="zh")
    found = conversions(asked)
    assert list(found) == ["fill_in_blank", "true_false"]
    fill = found["fill_in_blank"](asked, Random(0))
    assert (fill.question, fill.answer, fill.options) == ("已知 $x+1=3$，则 $x$ 的值为____", ["$2$"], [])
    said = {found["true_false"](asked, Random(seed)).answer[0] for seed in range(20)}
    assert said == {"对", "错"}


def test_true_and_false_are_drawn_evenly_whatever_the_number_of_options() -> None:
    asked = question("The capital of France is", ["Paris", "Lyon", "Nice", "Lille"], "A")
    truths = Counter(conversions(asked)["true_false"](asked, Random(seed)).answer[0] for seed in range(400))
    assert 150 < truths["True"] < 250  # of 400 even draws, five standard deviations


def test_only_the_pictures_of_the_stem_and_of_the_option_in_it_stay() -> None:
    pictures = [Image(bytes=bytes([number])) for number in range(5)]
    asked = question("See <image>. It shows", ["<image>"] * 4, "C", images=pictures)
    assert not conversions(asked), "options that read alike cannot be told apart"
    asked = question("See <image>. It shows", [f"figure {n} <image>" for n in "wxyz"], "C", images=pictures)
    for seed in range(8):
        made = conversions(asked)["true_false"](asked, Random(seed))
        option = next(number for number, name in enumerate("wxyz", 1) if f"figure {name}" in made.question)
        assert made.images == [pictures[0], pictures[option]]
        assert made.answer == ["True" if option == 3 else "False"]


@pytest.mark.parametrize(
    "asked",
    [
        question("Which is closest to 3?", ["1", "2.9", "5"], "B"),
        question("最接近 3 的数是", ["1", "2.9", "5"], "B", language="zh"),
        question("It is", ["1", "2", "none of the above"], "C"),
        question("它是", ["甲", "乙", "以上都对"], "C", language="zh"),
        question("Diagram A and B differ in", ["size", "form"], "A"),
        question("It is", ["A", "B", "C"], "C"),
        question("It is", ["x", "x.", "y"], "C"),
        question("It is", ["x", "", "y"], "C"),
        question("It is", ["x", "y"], "C"),
        question("It is", ["x", "y"], "A", answer=[]),
        question("It is", ["x", "y"], "A", question_type="short_answer"),
        question("그것은", ["x", "y"], "A", language="ko"),
        question("It is <image>", ["x", "y"], "A"),
        question("It is", [], "A"),
        question("It is", list("pqrstuvw"), "A"),
    ],
    ids=lambda asked: asked.question + "/" + ",".join(one.text for one in asked.options),
)
def test_nothing_is_converted_where_the_rule_might_be_wrong(asked: Question) -> None:
    assert not conversions(asked)


@pytest.mark.parametrize(
    "asked",
    [
        question("Which of the following is 3?", ["3", "4"], "A"),
        question("$x$ could be", ["3", "4"], "A"),
        question("Then", ["$x=3$", "$x=4$"], "A"),
        question("The set is", ["$\\{1,2\\}$", "$\\{3\\}$"], "A"),
        question("The gas is", ["oxygen", "hydrogen"], "A"),
    ],
    ids=lambda asked: asked.question,
)
def test_no_blank_where_the_stem_alone_has_no_one_answer(asked: Question) -> None:
    assert list(conversions(asked)) == ["true_false"]


@pytest.mark.release
def test_two_hundred_real_conversions_have_keys_that_hold(tmp_path_factory: pytest.TempPathFactory) -> None:
    if not (DATA / "gaokao_bench").is_dir():
        pytest.skip("../shared/data has no gaokao_bench")
    folder = tmp_path_factory.mktemp("conversions") / "data"
    build("livek12", str(DATA / "gaokao_bench"), folder)
    made: list[tuple[Question, Question]] = []
    kinds = Counter[str]()
    for source in iter_questions(folder, ["default"], "livek12"):
        for kind, convert in conversions(source).items():
            if kinds[f"{source.question_type} {kind}"] < 120:
                kinds[f"{source.question_type} {kind}"] += 1
                made.append((source, convert(source, Random(source.id))))
    assert len(made) >= 200 and len(kinds) == 3, kinds
    for source, variant in made:
        (key,) = variant.answer
        full = marked(variant, rf"\boxed{{{key}}}")
        assert full, (variant.id, variant.question_type, key)
        for letter in (source.answer[0], *(option.label for option in source.options)):
            assert not marked(variant, rf"\boxed{{{letter}}}"), (variant.id, letter)
        if variant.question_type == "true_false":
            other = {"对": "错", "错": "对", "True": "False", "False": "True"}[key]
            assert marked(variant, rf"\boxed{{{other}}}") == 0
        else:
            wrong = [option.text for option in source.options if option.label != source.answer[0]]
            assert not any(marked(variant, rf"\boxed{{{text}}}") for text in wrong), variant.id
