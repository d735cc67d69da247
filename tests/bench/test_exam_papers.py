"""Exam papers by seed: their gold holds, and the score finds what is changed in it and nothing else."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from livek12.dataset_builders.ingest.pages.blocks import Box
from livek12.scripts.bench.exams.gold import (
    GoldPaper,
    LabelledOption,
    PredictedQuestion,
    Prediction,
    PrintedPaper,
    PrintedQuestion,
    matched,
)
from livek12.scripts.bench.exams.layouts import CLOSED, DEVELOPMENT, LAYOUTS
from livek12.scripts.bench.exams.readers import prediction_of
from livek12.scripts.bench.exams.scores import bare, canonical, edit_distance, formulas, score
from livek12.scripts.bench.exams.setting import source_of
from livek12.scripts.bench.exams.tex import math
from tests.seconds import within

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def gold() -> GoldPaper:
    pytest.importorskip("typst")
    from livek12.scripts.bench.exams.printing import printed

    return printed(LAYOUTS["en_ap_two_sections"], 3)[2]


def perfect(gold: GoldPaper) -> Prediction:
    return Prediction(
        questions=[
            PredictedQuestion(
                **one.model_dump(
                    include={"number", "section", "text", "options", "answer", "points", "boxes", "figures"}
                )
            )
            for one in gold.questions
        ]
    )


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_is_written_the_same_for_a_seed_and_otherwise_for_another(name: str) -> None:
    one, same, other = (source_of(LAYOUTS[name], seed).paper for seed in (1, 1, 2))
    assert one == same != other


def test_there_are_many_layouts_and_closed_seeds_are_no_development_seeds() -> None:
    assert len(LAYOUTS) >= 20 and {layout.language for layout in LAYOUTS.values()} == {"en", "zh", "ko"}
    assert not set(DEVELOPMENT) & set(CLOSED)


def test_the_gold_has_its_boxes_where_the_question_is_printed(gold: GoldPaper) -> None:
    pypdfium2 = pytest.importorskip("pypdfium2")
    from livek12.scripts.bench.exams.printing import printed

    pdf, key, again = printed(LAYOUTS["en_ap_two_sections"], 3)
    assert again == gold and key is None
    assert [question.number for question in gold.questions] == [*map(str, range(1, 9)), "1", "2", "3"]
    document = pypdfium2.PdfDocument(pdf)
    for question in gold.questions:
        said = ""
        for box in question.boxes:
            page = document[box.page - 1]
            width, height = page.get_size()
            said += page.get_textpage().get_text_bounded(
                box.left * width - 1, (1 - box.bottom) * height - 1, box.right * width + 1, (1 - box.top) * height + 1
            )
        words = [word for word in question.text.split("$")[0].split() if word.isascii()][:4]
        assert " ".join(words) in " ".join(said.split()), (question.number, said)
    document.close()


def test_a_perfect_reading_has_no_error_and_each_change_is_one(gold: GoldPaper) -> None:
    tally = score(gold, perfect(gold))
    assert tally.clean == tally.questions == 11 and not tally.silent and not tally.doubted
    assert tally.overlap == pytest.approx(11) and tally.similarity == pytest.approx(11)
    changes = {
        "points": {"points": 77.0},
        "answer": {"answer": ["E"]},
        "figures": {"figures": [Box(page=1, left=0, top=0, right=0.01, bottom=0.01)]},
        "options": {"options": [LabelledOption(label="A", text="another")]},
    }
    for name, change in changes.items():
        said = perfect(gold)
        said.questions[0] = said.questions[0].model_copy(update=change)
        tally = score(gold, said)
        assert tally.silent[name] == 1 and tally.clean == 10, name
        said.questions[0].doubts = [*changes, "text"]
        assert not any(score(gold, said).silent.values()) and score(gold, said).doubted[name] == 1


def test_a_lost_question_is_silent_unless_it_is_told(gold: GoldPaper) -> None:
    said = perfect(gold)
    lost = said.questions.pop(4)
    assert dict(score(gold, said).silent) == {"found": 1}
    assert not score(gold, said.model_copy(update={"missing": [lost.number]})).silent
    assert not score(gold, Prediction(error="unreadable")).silent
    said.questions.append(lost.model_copy(update={"number": "44"}))
    assert dict(score(gold, said).silent) == {"found": 1, "extra": 1}


def test_a_formula_without_its_structure_is_wrong(gold: GoldPaper) -> None:
    index, question = next((i, one) for i, one in enumerate(gold.questions) if "\\frac" in one.text)
    said = perfect(gold)
    flat = bare(canonical(question.text))
    said.questions[index] = said.questions[index].model_copy(update={"text": flat})
    tally = score(gold, said)
    assert tally.silent["formulas"] == 1 and not tally.silent.get("text")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (r"$\dfrac12$", r"$\frac{1}{2}$", True),
        ("x²", "$x^{2}$", True),
        ("a₁₂", "$a_{12}$", True),
        (r"$\sqrt[3]{8}$", r"$\sqrt{8}$", False),
        (r"$\vec{AB}$", r"$\overrightarrow{AB}$", True),
        (r"$\triangle ABC$", "△ABC", True),
        ("x2", "$x^2$", False),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "a b 1 2", True),
        ("Find it. [3]", "Find it.", True),
        ("解方程．（5分）", "解方程.", True),
    ],
)
def test_two_spellings_are_one_or_two(one: str, other: str, same: bool) -> None:
    ours, theirs = (canonical(text).replace("|", "") for text in (one, other))
    assert (ours == theirs) is same


@pytest.mark.parametrize("text", ["{" * 2500, "\\frac" * 1500, "$" * 999, "}" * 2500, "\\sqrt[" * 1000, "^" * 2500])
def test_hostile_predictions_are_read_in_time(text: str) -> None:
    with within(5):
        canonical(text)
        formulas(text)


def test_the_edit_distance_is_that_of_the_table() -> None:
    draw = random.Random(5)
    for _ in range(200):
        one, other = ("".join(draw.choices("abcd", k=draw.randint(0, 70))) for _ in range(2))
        row = list(range(len(other) + 1))
        for i, a in enumerate(one, 1):
            new = [i]
            for k, b in enumerate(other, 1):
                new.append(min(row[k] + 1, new[-1] + 1, row[k - 1] + (a != b)))
            row = new
        assert edit_distance(one, other) == row[-1]


def test_plain_text_is_cut_by_its_numbers() -> None:
    text = "Test\n1. First?\n(A) one\n(B) two\n(C) three\n2. Second [4]\nmore\nAnswer Key\n1 B\n"
    said = prediction_of(text)
    assert [(one.number, len(one.options), one.points) for one in said.questions] == [("1", 3, None), ("2", 0, 4)]
    assert said.questions[0].answer == ["B"]


def test_a_formula_that_cannot_be_set_is_no_gold() -> None:
    with pytest.raises(ValueError, match="no typst for"):
        math(r"\foo{x}")


@pytest.mark.slow
def test_anyones_predictions_are_scored_by_one_command(gold: GoldPaper, tmp_path: Path) -> None:
    (tmp_path / "papers").mkdir()
    (tmp_path / "mine").mkdir()
    (tmp_path / "papers" / f"{gold.paper}.gold.json").write_text(gold.model_dump_json())
    (tmp_path / "mine" / f"{gold.paper}.json").write_text(perfect(gold).model_dump_json())
    command = [sys.executable, ROOT / "scripts/bench/paper_card.py", "--papers", tmp_path / "papers"]
    command += ["--predictions", tmp_path / "mine", "--json", tmp_path / "scores.json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "| en_ap_two_sections | 11 | 100.0 % | 1.00 |" in done.stdout
    assert json.loads((tmp_path / "scores.json").read_text())["en_ap_two_sections"]["clean"] == 1.0
    (tmp_path / "mine" / f"{gold.paper}.json").write_text('{"questions": [{"text": 5}]}')
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode and "is not a prediction" in done.stderr and "Traceback" not in done.stderr


def test_questions_of_real_papers_are_matched_by_number_and_beginning() -> None:
    printed = PrintedPaper(
        producer="Word",
        questions=[
            PrintedQuestion(number=n, start=s) for n, s in (("1", "Find the"), ("2", "Prove that"), ("2", "Draw lines"))
        ],
    )
    read = [("1", "[3] Find the root."), ("2", "Prove that x. Draw lines."), ("2", "draw lines here"), ("3", "Name:")]
    prediction = Prediction(questions=[PredictedQuestion(number=number, text=text) for number, text in read])
    assert matched(printed, prediction) == 2
    assert matched(printed, Prediction()) == 0
