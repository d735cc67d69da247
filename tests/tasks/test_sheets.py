"""A sheet's text is split by its own headings, and a part that cannot be told is given to no question."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livek12.core.errors import UserError
from livek12.core.records import UNSPLIT, Key, Response
from livek12.tasks.registry import find_task, get_task, with_sitting
from livek12.tasks.sheets import QuestionSheet, answers
from livek12.tasks.splitting import split
from tests.tasks.test_prompting import question

FOUR = ("1", "2", "3", "4")
BOXED = {label: rf"\boxed{{{letter}}}" for label, letter in zip(FOUR, "ABCD", strict=True)}
PLAIN = dict(zip(FOUR, "ABCD", strict=True))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Question 1\nA\n\nQuestion 2:\nB\n**Question 3 (5 points)**: C\n### Question 4.\nD", PLAIN),
        ("1. A\n2. B\n3. C\n4. D", PLAIN),
        ("**1)** A\n**2)** B\n**3)** C\n**4)** D", PLAIN),
        ("第1题\nA\n第2题：B\n【第3题】C\n第 4 题、D", PLAIN),
        ("1번: A\n2번: B\n문제 3\nC\n**문제 4**\nD", PLAIN),
        ('{"1": "A", "2": "B", "3": "C", "4": "D"}', BOXED),
        ('```json\n[{"number": 1, "answer": "A"}, {"number": 2, "answer": "B"}]\n```', {k: BOXED[k] for k in "12"}),
        ("1-4: ABCD", BOXED),
        ("1. A  2. B  3. C  4. D", BOXED),
        ("| 1 | A |\n|---|---|\n| 2 | B |\n| 3 | C |\n| 4 | D |", BOXED),
        ("Question 1\nA\nQuestion 3\nC", {"1": "A", "3": "C"}),
        ("Question 3\nC\nQuestion 1\nA\nQuestion 3\nI revise: D", {"1": "A", "3": "C\n\nI revise: D"}),
        ("Question 1\nA\nQuestion 2\nB\n\nQuestion 1 asks for more.\nQuestion 3\nC", None),
        ("Question 1\nx\nQuestion 2\ny\nQuestion 3\nz\nQuestion 4\nw\n1. A 2. B 3. C 4. D", None),
        ("1) Solve:\n (1) first\n (2) second\n2) B\n3) C\n4) D", None),
    ],
)  # fmt: skip
def test_forms_of_a_sheet(text: str, parts: dict[str, str] | None) -> None:
    parted = split(text, FOUR)
    assert not parted.unclear
    if parts is not None:
        assert parted.parts == parts
    else:
        assert all(parted.parts[label].endswith((PLAIN[label], "more.", "second", "}")) for label in parted.parts)
        assert "3" in parted.parts and "C" in parted.parts["3"]


@pytest.mark.parametrize(
    ("text", "unclear"),
    [
        ("1. First\n1. step\n2. step\n2. B\n3. C\n4. D", {"1", "2"}),  # steps of a solution, numbered alike
        ("I would rather not.", {*FOUR}),
        ("", set()),
    ],
)
def test_unclear_parts(text: str, unclear: set[str]) -> None:
    parted = split(text, FOUR)
    assert parted.unclear == unclear and not unclear & {*parted.parts}


HOSTILE = ["*", "1. ", "\n", "| 1 | A ", '{"', "Question ", "第", "\n1", "1-5 ", "\\textbf{", "(", "1A ", '{"a":1}\n']


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_hostile_sheet_takes_seconds(piece: str) -> None:
    began = time.process_time()
    split((piece * 80_000)[:80_000], [str(number) for number in range(1, 47)])
    assert time.process_time() - began < 4


@given(st.lists(st.text("ab \\{}$=+\n", max_size=40), min_size=1, max_size=12), st.sampled_from(["en", "zh", "ko"]))
def test_a_named_part_never_reaches_another_question(texts: list[str], language: str) -> None:
    head = {"en": "Question {}", "zh": "第{}题", "ko": "문제 {}"}[language]
    labels = [str(number) for number in range(1, len(texts) + 1)]
    sheet = "\n".join(f"{head.format(label)}\n{text}" for label, text in zip(labels, texts, strict=True))
    expected = {label: text.strip() for label, text in zip(labels, texts, strict=True) if text.strip()}
    parted = split(sheet, labels)
    assert not parted.unclear
    assert {label: part.split() for label, part in parted.parts.items()} == {
        label: text.split() for label, text in expected.items()
    }


def test_counts_of_the_parts_add_up_and_what_was_cut_off_says_so() -> None:
    sheet = QuestionSheet("p@paper", {label: question(id=f"q{label}", paper_id="p", number=label) for label in FOUR})
    key = Key(task="livek12@paper", question_id=sheet.id)
    text = "Question 1\nA long argument.\nQuestion 2\nB\nQuestion 3\nC is"
    reply = Response(
        key=key, text=text, finish_reason="length", prompt_tokens=103, completion_tokens=77, engine="x", model="m"
    )
    keys = [Key(task="livek12@paper", question_id=f"q{label}") for label in FOUR]
    responses = list(answers(sheet, reply, keys))
    assert sum(each.prompt_tokens or 0 for each in responses) == 103
    assert sum(each.completion_tokens or 0 for each in responses) == 77
    assert [each.finish_reason for each in responses] == ["stop", "stop", "length", "length"]
    assert [each.text for each in responses] == ["A long argument.", "B", "C is", ""]
    assert [each.key for each in answers(sheet, reply, keys[1:2])] == keys[1:2]
    unclear = reply.model_copy(update={"text": "no idea"})
    assert {each.finish_reason for each in answers(sheet, unclear, keys)} == {UNSPLIT}


def test_names() -> None:
    task = get_task("livek12_image_only_zh@paper")
    assert (task.sitting, task.variant_of, task.style) == ("paper", "livek12_image_only_zh", "image_only_sheet")
    assert get_task("livek12@section@0.1").sampling.max_tokens == 3276
    assert with_sitting("livek12,livek12_en", "section") == "livek12@section,livek12_en@section"
    assert with_sitting("cfe", "one") == "cfe"
    assert find_task("cfe@paper") is None
    with pytest.raises(UserError, match="cfe cannot be sat by paper: it has no prompts"):
        with_sitting("cfe", "paper")
