"""Heads by example: what two named lines have in common is what begins a question."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livek12.core.errors import UserError
from livek12.dataset_builders.ingest.pages.blocks import PageBlocks
from livek12.dataset_builders.ingest.paper import Options
from tests.dataset_builders.ingest.papers import page, read

CARDS = [
    line
    for name, topic in zip("ABCD", ("Words", "Music", "Rocks", "Rain"), strict=True)
    for line in (f"Card {name} / {topic}", "1. Read the text.", "2. Tell a friend about it.", f"What is {topic}?")
]
FORMS = ["1. Why is it dark?", "2. Why is it cold?", "Work these out.", "(1) What is a sum?", "(2) What is a root?"]
NUMERALS = [line for sign in "一二三" for line in (f"第{sign}大题", "1. 读。", f"求第{sign}个值。")]


def dressed(made: PageBlocks, *places: int, **look: str | int) -> PageBlocks:
    """A page with some of its lines in a look, or bold."""
    blocks = []
    for place, block in enumerate(made.blocks):
        own = replace(block.lines[0], bold=not look, **look) if place in places else block.lines[0]
        blocks.append(replace(block, lines=[own]))
    return replace(made, blocks=blocks)


BOLD = dressed(
    page("Why does ice float", "on a lake?", "It is cold.", "Name a star", "It is far.", "Draw it."), 0, 1, 3
)
MANY = dressed(
    page("Why does ice float on 2 lakes?", "No.", "Say which star is the 3rd, or 4th.", "Yes.", "It is.", "Draw it."),
    0,
    2,
    5,
)


@pytest.mark.parametrize(
    ("made", "examples", "numbers"),
    [
        (page(*CARDS), ["Card A / Words", "Card B / Music"], "A B C D"),
        (page(*CARDS), ["Card B"], "A B C D"),
        (page(*FORMS), ["1. Why", "2. Why", "(1) What"], "1 2 1 2"),
        (page("1.在左。", "2.求右。", "1.在上。", "2.在下。"), ["1.在左", "1.在上"], "1 2 1 2"),
        (page(*NUMERALS), ["第一大题", "第二大题"], "1 2 3"),
        (page("Q１ Say a.", "1. No.", "Q２ Say b.", "Q３ Say c."), ["Q1 Say", "Q2 Say"], "1 2 3"),
        (page("Task 1-1 Say.", "1. No.", "Task 1-2 Tell.", "Task 2-1 Do."), ["Task 1-1", "Task 1-2"], "1-1 1-2 2-1"),
        (BOLD, ["Why does ice", "Name a star"], "1 2"),
        (MANY, [MANY.blocks[place].text for place in (0, 2)], "1 2 3"),
        (page("￼ (5) Say a.", "￼ (5) Say b.", "No.", "No.", "￼ (8) Tell."), ["二、(5) Say a", "四、(8) Tell"], "1 2 3"),
        (page("1 Find.", "2024 schools.", "35 km.", "2 Tell."), ["1 Find", "2 Tell"], "1 2"),
        (page("Q1~Q4", "Q1 Say.", "No.", "Q2 Tell."), ["Q1", "Q2"], "1 2"),
        (page("X-1 Say.", "X-1-1 No.", "X-22004 Say.", "X-3 Do."), ["X-1 Say", "X-2 2004 Say", "X-3"], "1 2 3"),
        (page("NOTES", "1. Be calm.", "2. Sit.", "1. Find.", "2. Tell."), ["1. Find", "2. Tell"], "1 2"),
        (dressed(page("1. Say.", "1. No.", "2. No.", "2. Say."), 0, 3, look="#f00"), ["1. Say", "2. Say"], "1 2"),
        (page("Let $\\mathrm{B}^+$ be a tree.", "9. No.", "Let x be.", "8. No."), ["Let B+ be", "Let x"], "1 2"),
    ],
)  # fmt: skip
def test_lines_like_the_examples_begin_questions(made: PageBlocks, examples: list[str], numbers: str) -> None:
    drafts = read(made, options=Options(heads=tuple(examples))).drafts
    assert [draft.number for draft in drafts] == numbers.split()


def test_a_head_of_several_lines_begins_one_question() -> None:
    first, second = read(BOLD, options=Options(heads=("Why does ice", "Name a star"))).drafts
    assert first.question == "Why does ice float on a lake? It is cold."
    assert second.question.endswith("Draw it.")


def test_names_of_questions_that_count_up_above_shown_heads_are_titles() -> None:
    lines = [line for n in "一二三" for line in (f"第{n}题（20分）", f"1. 读{n}。", f"2. 求{n}。")]
    made = dressed(page(*lines), *range(9), place=0)
    drafts = read(made, options=Options(heads=("1. 读", "2. 求"))).drafts
    assert [draft.question for draft in drafts] == [f"{word}{n}。" for n in "一二三" for word in "读求"]
    assert [draft.section[:3] for draft in drafts] == ["第一题", "第一题", "第二题", "第二题", "第三题", "第三题"]


@pytest.mark.parametrize(
    ("examples", "problem"),
    [
        (["Cart Z"], r"--head 'Cart Z': no line of the paper begins so; the closest is 'Card"),
        (["Card A", "Kapitel 1"], r"--head 'Kapitel 1': no line"),
        (["Tell a", "What is Words"], r"lines look like these heads: name some that begin with a number"),
    ],
)
def test_examples_that_show_nothing_are_refused(examples: list[str], problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        read(page(*CARDS), options=Options(heads=tuple(examples)))


@pytest.mark.parametrize("examples", [[""], ["Card A", " "], ["Card A"] * 21])
def test_examples_are_bounded(examples: list[str]) -> None:
    with pytest.raises(UserError, match="--head: give at most 20 first lines"):
        Options(heads=tuple(examples))


@given(st.lists(st.text(max_size=300), min_size=1, max_size=4))
def test_whatever_is_given_is_read_or_refused(examples: list[str]) -> None:
    try:
        drafts = read(page(*CARDS), options=Options(heads=tuple(examples))).drafts
    except UserError:
        return
    assert drafts
