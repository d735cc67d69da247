from __future__ import annotations

import csv
import json
import re
import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livek12.core.errors import UserError
from livek12.dataset_builders.ingest.pages.blocks import Block, Box, PageBlocks
from livek12.dataset_builders.ingest.questions import kinds, points
from livek12.dataset_builders.ingest.questions.headings import begins_answers, is_section, marked, passage_range
from livek12.dataset_builders.ingest.questions.numbering import anchors
from livek12.dataset_builders.ingest.questions.options import split
from livek12.dataset_builders.ingest.questions.segment import MISSING, boxes, by_column, missing_numbers
from livek12.dataset_builders.ingest.questions.stream import flatten
from livek12.dataset_builders.ingest.templates import load_template
from tests.dataset_builders.ingest.papers import (
    HEIGHT,
    bare,
    both,
    by_number,
    distance,
    figure,
    page,
    pages_of,
    paper_of,
    read,
    segmented,
    whole,
)

# --- numbers --------------------------------------------------------------------------------------------------------


def numbers(*pages):
    return [found.number for found in segmented(pages)[0].segments]


@pytest.mark.parametrize(
    "form",
    ["{}．题", "{}. 题", "{}、题", "Question {} Find x.", "第{}题 求", "{} . 题", "문항 {} 값은?", "문  제 {}. 값"],
)
def test_every_form_of_a_number_begins_a_question(form: str) -> None:
    assert numbers(page(*(form.format(n) for n in range(1, 6)))) == [1, 2, 3, 4, 5]


def test_a_sign_behind_a_number_and_points_with_a_decimal() -> None:
    drafts = read(page(*(f"{n}. -{n}0 is what?（{n}.0）" for n in range(1, 6)))).drafts
    assert [(draft.question, draft.points) for draft in drafts] == [(f"-{n}0 is what?", n) for n in range(1, 6)]


def test_traditional_letters_are_read_like_simplified_ones() -> None:
    lines = ["壹、單選題（占 20 分）", "說明：第 1 題至第 2 題，每題 5 分。", "第1題 求 x 的值。", "第2題 問 y 為何？"]
    more = [
        "貳、填充題",
        "第3題 面積為____。",
        "參、非選擇題",
        "第4題 試證明 a > b。（本題滿分8分）",
        "參考答案",
        "1. 2",
    ]
    paper = read(page(*lines, *more))
    assert [(draft.question_type_raw, draft.section[:2], draft.points) for draft in paper.drafts] == [
        ("單選題", "壹、", 5),
        ("單選題", "壹、", 5),
        ("填充題", "貳、", None),
        ("非選擇題", "參、", 8),
    ]


def test_statements_within_a_question_begin_none() -> None:
    lines = ["1. 一", "2. 二", "1. 其中一条", "2. 其中二条", "3. 三", "4. 四"]
    found, _ = segmented([page(*lines)])
    assert [segment.number for segment in found.segments] == [1, 2, 3, 4]


def test_rules_for_candidates_are_no_questions() -> None:
    rules = [
        "注意事项：",
        "1．答题前填写姓名",
        "2．选择题用铅笔",
        "3．交回答题卡",
        "一、选择题：本题共3小题，每小题5分，共15分",
    ]
    assert numbers(page(*rules, "1．甲", "2．乙", "3．丙")) == [1, 2, 3]
    assert [draft.points for draft in read(page(*rules, "1．甲", "2．乙", "3．丙")).drafts] == [5, 5, 5]


@given(st.integers(1, 30), st.sets(st.integers(2, 29), max_size=3))
def test_a_number_that_is_not_read_is_missing_and_the_others_stay(last: int, lost: set[int]) -> None:
    kept = [n for n in range(1, last + 1) if n not in lost]
    found, _ = segmented([page(*(f"{n}. x" for n in kept), top=0.0)])
    assert [segment.number for segment in found.segments] == kept
    spans = [list(map(int, re.findall(r"\d+", line))) for line in missing_numbers(found.segments)]
    assert [n for span in spans for n in range(span[0], span[-1] + 1)] == [n for n in range(1, kept[-1]) if n in lost]


@given(st.lists(st.integers(1, 60), max_size=30))
def test_whatever_numbers_stand_there_the_questions_found_are_in_order_of_the_page(found: list[int]) -> None:
    items = flatten([page(*(f"{n}. x" for n in found), top=0.0)]).items
    places = [anchor.place for anchor in anchors(items)]
    assert places == sorted(set(places))


def test_a_doubled_number_is_kept_and_said() -> None:
    paper = read(page("1. a", "2. b", "3. c", "4. d", "4. e", "5. f", "6. g"))
    assert [line for line in paper.errors if "come again" in line] or len(paper.drafts) == 6
    assert len({draft.id for draft in paper.drafts}) == len(paper.drafts)


def test_a_question_goes_on_in_the_next_column_and_on_the_next_page() -> None:
    first = both(page("1. a", "2. b…"), page("goes on", "3. c…", column=1))
    found, stream = segmented([first, page("and on", "4. d", number=2)])
    assert [segment.number for segment in found.segments] == [1, 2, 3, 4]
    places = [len(boxes(segment, stream, by_column(stream))) for segment in found.segments]
    assert places == [1, 2, 2, 1]
    draft = by_number(read(first, page("and on", "4. d", number=2)))["2"]
    assert draft.question == "b goes on"
    assert draft.page_numbers == [1]


def test_nothing_below_the_title_of_a_section_is_the_head_of_a_page() -> None:
    over = page("第二节 填空题", "下列各题只写结果…", top=0.1)
    wide = [replace(block, box=replace(block.box, right=0.95)) for block in over.blocks]
    lines = [replace(block, lines=[replace(block.lines[0], box=block.box)]) for block in wide]
    made = both(
        replace(over, blocks=lines), both(page("1. a", "2. b…", top=0.3), page("goes on", "3. c…", column=1, top=0.3))
    )
    assert "下列各题只写结果" in [item.text for item in flatten([made]).items]


def test_a_shared_passage_goes_to_each_of_its_questions() -> None:
    found = by_number(read(page("1. a", "[2～3] 다음 글을 읽고 물음에 답하시오.", "긴 글", "2. b", "3. c", "4. d")))
    assert "긴 글" in found["2"].question and "긴 글" in found["3"].question
    assert "긴 글" not in found["1"].question and "긴 글" not in found["4"].question


def test_a_range_without_its_sign_names_the_questions_of_a_passage_above_all() -> None:
    paper = read(
        page(
            "[1 2] 다음을 읽고 물음에 답하시오.", "데이터는 자원이다.", "1. 무엇인가?", "2. 왜 그런가?", "3. 어디인가?"
        )
    )
    assert ["자원" in draft.question for draft in paper.drafts] == [True, True, False]


def test_rules_before_a_second_paper_in_the_file_are_no_questions() -> None:
    rules = ["Instructions:", "1. This paper has two parts.", "2. Write legibly.", "3. Answer all.", "SECTION – I"]
    pages = [page(*rules, *(f"{m}. Who is {n}-{m}?" for m in range(7, 13)), number=n) for n in (1, 2)]
    body, _ = segmented(pages)
    assert [(segment.number, len(segment.items)) for segment in body.segments] == [(n, 1) for n in range(7, 13)] * 2


@pytest.mark.parametrize(
    "head", ["(15+5) Problem {}. ", "(20 pts) Problem {}. ", "($10^{{pts}}$)    {}. ", "(20) {}. "]
)
def test_points_before_a_number_hide_no_head(head: str) -> None:
    assert numbers_of(*(f"{head.format(n)}Find the {n}th term." for n in (1, 2, 3))) == list("123")
    assert numbers_of("1. Find a.", "(1) 2. is even?", "(2) 3. is odd?", "2. Find b.", "3. Find c.") == list("123")


def test_questions_without_numbers_stand_between_their_answers() -> None:
    lines = [line for sign in "abcde" for line in (f"Which of these is {sign}?", "A. one", "B. two", "Answer Key: A")]
    drafts = read(page("Name: ____", "Part 1", *lines)).drafts
    assert [draft.question for draft in drafts] == [f"Which of these is {sign}?" for sign in "abcde"]
    assert all("it has no number" in "".join(doubt.text for doubt in draft.doubts) for draft in drafts)


def test_questions_without_numbers_between_long_answers() -> None:
    made = page("The colours", top=0.1)
    for n, colour in enumerate(("red", "blue", "green", "grey")):
        top = 0.16 + 0.2 * n
        made = both(made, page(f"There is {colour} light,", f"and what is {colour}?", top=top))
        made = both(made, page("[풀이]", "6, 8 are its numbers.", "So it is.", top=top + 0.07))
    drafts = read(made).drafts
    assert [(draft.question[:9], (draft.solution or "")[-9:]) for draft in drafts] == [("There is ", "So it is.")] * 4


def test_numerals_are_questions_if_some_have_no_numbers_below() -> None:
    lines = [
        "一.设$f$为凸函数,证明$g$凸.",
        "二.设$x$,求$y$.",
        "三.考虑约束最优化问题",
        "1.构造罚函数;",
        "2.求解.",
        "四.求$z$.",
    ]
    assert numbers(page(*lines)) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "line",
    [
        "Solutions A and B are mixed in a beaker.",
        "Solutions A and B are mixed in a…",
        "Answers without working get no marks.",
        "Correction fluid must not be used",
        "Instructions: choose the best answer.",
    ],
)
def test_a_line_above_numbers_that_go_on_begins_no_key_and_no_rules(line: str) -> None:
    first, second, last = ([f"{n}. Find {n}." for n in range(*ends)] for ends in ((1, 9), (9, 17), (17, 31)))
    pages = page(*first), page(line, *second, number=2), page("Section B", *last, number=3)
    assert numbers(*pages) == [*range(1, 31)]


def test_a_key_in_another_form_first_on_its_page_is_none_of_the_questions() -> None:
    first = page("1. Find a.", "2. Find b.", "3. Find c.")
    assert numbers(first, page("Answers", "Q1 B", "Q2 C", "Q3 D", number=2)) == [1, 2, 3]


@pytest.mark.parametrize("word", ["Question", "Ques□on"])
def test_a_title_of_answers_that_comes_again_heads_those_of_each_question(word: str) -> None:
    lines = [line for n in range(1, 5) for line in (f"{word} {n}. Why is it so?", "Answer Key:", f"Since {n} is so.")]
    drafts = read(page(*lines, top=0.0)).drafts
    assert [(draft.question, draft.answer) for draft in drafts] == [
        ("Why is it so?", [f"Since {n} is so"]) for n in range(1, 5)
    ]


def test_numbers_of_two_levels_are_questions_unless_their_first_level_has_one() -> None:
    lines = ["2-1. 구하시오.", "2-2. 보이시오.", "3-1. 쓰시오.", "3-2. 쓰시오."]
    assert [draft.number for draft in read(page("1. 구하시오.", *lines)).drafts] == ["1", "2-1", "2-2", "3-1", "3-2"]
    assert numbers(page("1. 구하시오.", "2. 다음에 답하시오.", *lines[:2], "3. 다음에 답하시오.", *lines[2:])) == [
        1,
        2,
        3,
    ]
    lines = [line for n in ("1.1", "1.2", "2.1", "2.2") for line in (f"Exercise {n}. (1 point)", "What is it?")]
    assert [draft.number for draft in read(page(*lines)).drafts] == ["1.1", "1.2", "2.1", "2.2"]


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("questions 3 to 5 of Part A, B were not found", ("3", "5", "Part A, B")),
        ("question 5, whose key stands in page 3 of key.pdf, was not found", ("5", None, None)),
    ],
)
def test_a_line_of_missing_numbers_names_their_part(line: str, named: tuple[str | None, ...]) -> None:
    match = MISSING.match(line)
    assert match and match.groups() == named


def test_sections_of_one_name_have_their_numbers_in_their_parts() -> None:
    sections = ["一、计算题（共2分）", "1、求和", "2、求积", "二、计算题（共2分）", "1、求差", "2、求商"]
    assert [draft.elective for draft in read(page(*sections)).drafts] == ["一、计算题"] * 2 + ["二、计算题"] * 2


def test_titles_that_ask_are_questions_behind_sections_that_have_some() -> None:
    titles = ["二、（本题10分）求矩阵的秩。", "三、（本题15分）证明结论。"]
    drafts = read(page("一、单项选择题（每小题2分，共4分）", "1、甲（ ）", "2、乙（ ）", *titles)).drafts
    assert [(draft.elective, draft.number, draft.points) for draft in drafts] == [
        ("单项选择题", "1", 2),
        ("单项选择题", "2", 2),
        ("", "2", 10),
        ("", "3", 15),
    ]


def test_a_number_that_names_a_type_above_a_new_count_is_a_title() -> None:
    sheet = [f"{n}. (10 points) Find {n}." for n in range(1, 7)]
    choices = [line for n in range(1, 9) for line in (f"{n}. 求{n}（ ）", "A. 一    B. 二    C. 三    D. 四")]
    drafts = read(page(*sheet, "7. (40 points) 选择题", top=0.05), page(*choices, number=2, top=0.05)).drafts
    assert [(draft.elective, int(draft.number)) for draft in drafts] == [
        *(("", n) for n in range(1, 7)),
        *(("选择题", n) for n in range(1, 9)),
    ]


def test_rules_on_a_cover_without_a_title_are_no_questions() -> None:
    rules = [
        f"{n}. {text} allowed." for n, text in enumerate(("Notes are not", "A pencil is", "A ruler is", "Food is"), 1)
    ]
    drafts = read(page(*rules, *(f"{n}. (5 points) Find {n}." for n in range(1, 6)))).drafts
    assert [draft.question for draft in drafts] == [f"Find {n}." for n in range(1, 6)]


_SCENARIO = "You plan an installation that turns a sketch and a voice into a short film for visitors of a large museum."


@pytest.mark.parametrize(
    ("text", "shared"),
    [(_SCENARIO, True), ("Please do not open it.", False), (f"{_SCENARIO} If you get stuck, move on.", False)],
)
def test_a_text_behind_the_cover_is_of_all_questions(text: str, shared: bool) -> None:
    pages = [page("Midterm", "Fall"), page("A Scenario of Art", text, number=2), page("1. Why?", "2. How?", number=3)]
    for made in pages:
        for at, block in enumerate(made.blocks):
            size = 0.03 if "Scenario" in block.text else HEIGHT
            made.blocks[at] = replace(block, lines=[replace(block.lines[0], place=100 * made.number + at, size=size)])
    drafts = read(*pages).drafts
    assert [text in draft.question for draft in drafts] == [shared] * 2
    assert [any("behind the cover" in doubt.text for doubt in draft.doubts) for draft in drafts] == [shared] * 2


def test_heads_that_name_a_type_are_questions_of_their_own() -> None:
    choice = [f"{n}. 다음 중 {n}의 값은? ① 1 ② 2 ③ 3" for n in range(1, 9)]
    own = [line for n in range(1, 5) for line in (f"서답형 {n}. (서술형)", f"값 {n}을 구하시오.")]
    drafts = read(page(*choice, *own), page(*["[정답] ②"] * 12, number=2)).drafts
    heads = [(draft.elective, draft.number) for draft in drafts]
    assert heads == [*(("", f"{n}") for n in range(1, 9)), *(("서답형", f"{n}") for n in range(1, 5))]
    assert {draft.question_type for draft in drafts[8:11]} == {"open_ended"}


def test_a_large_line_right_behind_a_head_that_asks_nothing_is_its_own() -> None:
    made = page(
        "1. Why?", "2. Rain", "The river and the town", "Where do they meet in the hills?", "3. How?", "4. Who?"
    )
    for at, block in enumerate(made.blocks):
        made.blocks[at] = replace(block, lines=[replace(block.lines[0], place=at, size=0.03 if at == 2 else HEIGHT)])
    assert ["The river" in draft.question for draft in read(made).drafts] == [False, True, False, False]


def test_parts_with_the_number_of_their_question_are_its_own() -> None:
    text = ["The river rises in the hills above the town and runs down to the sea."] * 2
    pages = page("1. Rain", "QUESTION 1A. Why does it rain?"), page(*text, "QUESTION 1B. How?", "2. Who?", number=2)
    drafts = read(*pages).drafts
    assert [text[0] in draft.question for draft in drafts] == [True, False]


def test_the_next_two_questions_share_their_passage() -> None:
    lead = "The following two questions refer to a relation R."
    drafts = read(page("1. Why?", lead, "2. Which keys has R?", "3. Which rows has R?", "4. How?")).drafts
    assert [lead in draft.question for draft in drafts] == [False, True, True, False]


def test_a_passage_of_one_question_names_it() -> None:
    options = ["(1) a hill", "(2) a lake", "(3) a town", "(4) a field"]
    lead = "Base your answer to question 2 on the passage below"
    below = "The mill stands by the river."
    lines = ["1. The river rises in", *options, lead, below, "2. The mill stands on", *options]
    first, second = read(page(*lines)).drafts
    assert [option.text for option in first.options][3] == "a field" and not second.doubts[1:]
    assert second.question.replace("\n", " ") == f"{lead} {below} The mill stands on"


def test_a_range_at_the_head_of_a_page_is_no_running_head() -> None:
    heads = [f"Questions {n} – {n + 1} (2 points each): Use the following scenario." for n in (1, 3, 5)]
    pages = [
        page(head, "Five tutors are here.", f"{2 * n + 1}. How many?", f"{2 * n + 2}. Why?", number=n + 1, top=0.05)
        for n, head in enumerate(heads)
    ]
    drafts = read(*marked(pages)).drafts
    assert [draft.question.split("\n")[0] for draft in drafts] == [head for head in heads for _ in range(2)]


def test_a_head_at_the_top_of_a_page_whose_form_comes_again_below_is_no_running_head() -> None:
    tops = [0.2, 0.05, 0.3, 0.05, 0.4]
    pages = [page(f"실험{n}  값", "Why?", number=n, top=top) for n, top in enumerate(tops, 1)]
    heads = [item.text for item in flatten([*marked(pages)]).items if item.text != "Why?"]
    assert heads == [f"실험{n}  값" for n in range(1, 6)]
    titled = [page("Mathe 2024", "Why?", "a", "b", "c", "d", number=n, top=0.05) for n in (1, 2, 3)]
    assert "Mathe 2024" not in [item.text for item in flatten([*marked(titled)]).items]


def test_text_at_the_head_of_a_page_is_a_guess() -> None:
    text = ["The river rises in the hills above the town and runs down to the sea."] * 2
    pages = page("1. Why does it rain?"), page(*text, "2. Where is the mill?", "3. Who owns it?", number=2, top=0.05)
    drafts = read(*pages).drafts
    assert [text[0] in draft.question for draft in drafts] == [False, True, True]
    assert all(any("may be of either" in doubt.text for doubt in draft.doubts) for draft in drafts)


@pytest.mark.parametrize(
    ("note", "set_apart"),
    [("Moving charges", True), ("What follows from it?", False), ("(b) A mill", False), ("See it.", False)],
)
def test_a_line_at_a_distance_behind_a_question_is_not_its_own(note: str, set_apart: bool) -> None:
    above = both(page("1. Why does it rain?", "See it.", "Explain the water’s way."), page(note, top=0.3))
    drafts = read(both(above, page("2. Where is the mill?", "3. Who owns it?", top=0.4))).drafts
    assert [note in draft.question for draft in drafts[1:]] == [set_apart, False]
    doubted = [any("may not be its own" in doubt.text for doubt in draft.doubts) for draft in drafts]
    assert doubted == [set_apart, set_apart, False]


def test_text_for_the_next_few_questions_is_a_guess_of_theirs() -> None:
    text = "The next few problems refer to these vectors:", "(a) u = (3, 4)"
    questions = [f"{n}. Find norm {n} of every vector above." for n in range(2, 8)]
    drafts = read(page("1. Why?", *text, *questions, top=0.05)).drafts
    assert ["The next few" in draft.question for draft in drafts] == [False, *[True] * 4, False, False]
    assert [any("may be of either" in doubt.text for doubt in draft.doubts) for draft in drafts[:5]] == [True] * 5


def test_a_closing_line_behind_points_is_no_text_of_the_question() -> None:
    pages = page("1. Why?", "2. Find a.", "[6+6 = 12 marks]")
    line = page("ALL THE BEST", top=0.3).blocks[0]
    line = replace(line, box=replace(line.box, left=0.28))
    last = read(replace(pages, blocks=[*pages.blocks, line])).drafts[-1]
    assert "BEST" not in last.question
    assert any("may not be its own" in doubt.text for doubt in last.doubts)


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("The capital is Paris. a) True b) False", "AB"),
        ("Paris is the capital.\n(a) True\n(b) False", "AB"),
        ("Are they so?\n(a) True\n(b) True", ""),
        ("Which one?\nSelect one:\nA lake\nList-based hills\nA town", "ABC"),
        ("It is a (circle one)\nlake    hill    town", "ABC"),
        ("(a) Find it. (b) It is a (circle one)\nlake    hill    town", ""),
        ("Circle the lake.\nRhine    Alps    Como", "ABC"),
        ("1). Which?\nA) one\nB) two\nC) three\n2). Which?\nA) one\nB) two\nC) three", ""),
        ("Which of ①②③④?\nA. ①②③    B. ②③④\nC. ①③④    D. ①②④", "ABCD"),
        ("Choose.\na. one\nb. two\nc. three\nd. four\n2. And?\na. one\nb. two\nc. three\nd. four", ""),
    ],
)
def test_options_in_other_settings(text: str, labels: str) -> None:
    """Pairs of opposites, lines and cells without labels; several lists are those of several questions."""
    stem, options = split(text, "en", None)
    assert "".join(option.label for option in options) == labels
    assert stem == text if not labels else "one:" in stem or "one)" in stem or "\n" not in stem


def test_short_lists_in_rows_that_most_questions_have_are_options() -> None:
    rows = [line for n in range(1, 6) for line in (f"{n}. Find the sum of {n} and 5.", f"a.{n} b.{n + 1} c. 10 d.11")]
    assert [len(draft.options) for draft in read(page(*rows)).drafts] == [4] * 5
    assert not read(page(*rows[:4])).drafts[0].options
    parts = [line.replace("Find the sum of", "Round each of the following to") for line in rows]
    assert not any(draft.options for draft in read(page(*parts)).drafts)


def test_the_cells_of_a_table_may_be_options() -> None:
    made = page("1. Which of them?", "", "2. Why?")
    lines = [replace(made.blocks[1].lines[0], text=text) for text in ("A. one\tC. three", "B. two\tD. four")]
    made.blocks[1] = replace(made.blocks[1], kind="table", lines=lines)
    draft = read(made).drafts[0]
    assert (draft.question, [option.text for option in draft.options]) == (
        "Which of them?",
        ["one", "two", "three", "four"],
    )


@pytest.mark.parametrize(
    ("stem", "labels", "options"),
    [
        ("Find the field", ["(a)", "(b)", "(c)"], 0),
        ("Find the field", ["A.", "B.", "C.", "D."], 4),
        ("Which is the field?", ["(a)", "(b)", "(c)"], 3),
        ("说明下列各条指令", ["(1)", "(2)", "(3)", "(4)", "(5)"], 0),
    ],
)
def test_a_list_below_a_command_has_its_parts(stem: str, labels: list[str], options: int) -> None:
    text = "\n".join([stem, *(f"{label} value {n}" for n, label in enumerate(labels))])
    assert len(split(text, "en", None)[1]) == options


def test_a_table_near_the_next_question_is_doubted_for_both() -> None:
    options = page("1. Which of the following is right?", "A. one", "B. two", "C. three", "D. four")
    rows = page("load\t1", "store\t2", top=0.5).blocks
    box = rows[0].box.joined(rows[1].box)
    table = replace(rows[0], kind="table", box=box, lines=[line for row in rows for line in row.lines])
    made = both(replace(options, blocks=[*options.blocks, table]), page("2. Why is it so?", "3. Why?", top=0.55))
    doubts = [any("may be of either" in doubt.text for doubt in draft.doubts) for draft in read(made).drafts]
    assert doubts[:2] == [True, True]


def test_lists_within_questions_are_none() -> None:
    statements = ["1. It rains.", "2. It snows.", "3. It is dry."]
    lines = [line for n in range(1, 5) for line in (f"{n}. Consider these statements:", *statements, "Which are true?")]
    made = page(*lines)
    blocks = [block if "Consider" in block.text else indented(block) for block in made.blocks]
    assert [draft.number for draft in read(replace(made, blocks=blocks)).drafts] == list("1234")


def test_a_head_beside_a_picture_or_at_the_top_of_a_page_goes_on() -> None:
    made = page("1. Why is it so?", "2. How did they do this?", "3. Who was the first of them?")
    blocks = [*made.blocks[:1], *(indented(block, 0.35) for block in made.blocks[1:])]
    last = page("4 A stone falls from a tower.", "How long does it fall?", number=2, top=0.05)
    last.blocks[:] = map(indented, last.blocks)
    body, _ = segmented([replace(made, blocks=blocks), last])
    assert [question.number for question in body.segments] == [1, 2, 3, 4]


def indented(block: Block, by: float = 0.05) -> Block:
    """A block further to the right."""
    box = replace(block.box, left=block.box.left + by, right=block.box.right + by)
    return replace(block, box=box, lines=[replace(line, box=box) for line in block.lines])


@pytest.mark.parametrize("leader", [" .................... ", "    "])
def test_a_table_of_contents_asks_nothing(leader: str) -> None:
    contents = page(*(f"Question #{n} (1 Point){leader}{n // 2 + 3}" for n in range(1, 7)))
    asking = page(*(line for n in range(1, 7) for line in (f"Question #{n} (1 Point)", "Who?")), number=2)
    assert [draft.question for draft in read(contents, asking).drafts] == ["Who?"] * 6
    contents = page("Contents", *(f"{n}. The {n * 'very '}last ........ {n + 1}" for n in range(1, 5)))
    asking = page(*(f"{n}. Find {n}." for n in range(1, 5)), number=2)
    assert [draft.question for draft in read(contents, asking).drafts] == [f"Find {n}." for n in range(1, 5)]


def test_heads_by_the_shape_of_their_series() -> None:
    lines = [line for n in range(1, 4) for line in (f"문항 A{n}", "다음 중 강은?", "➀ 한강 ➁ 남산 ➂ 부산 ➃ 독도")]
    assert [draft.number for draft in read(page(*lines)).drafts] == list("123")


@pytest.mark.parametrize("form", ["{}: Trek", "Problem {}"])
def test_letters_that_begin_pages_head_questions(form: str) -> None:
    rules = ["You must obey these:", "1. Go.", "2. Stop."]
    pages = [
        page(form.format(name), *(rules if name == "A" else []), f"What is printed for {name}?", number=n)
        for n, name in enumerate("ABCD", 1)
    ]
    drafts = read(*pages).drafts
    assert [draft.number for draft in drafts] == list("ABCD")
    assert all("printed" in draft.question and any("letter" in each.text for each in draft.doubts) for draft in drafts)


def test_titles_that_begin_anew_within_questions_are_those_of_parts() -> None:
    parts = ["Part A", "How high is it?", "Part B", "How long is it?"]
    lines = [line for n in (1, 2, 3) for line in (f"Question {n} (20 points)", f"Ball {n} is thrown.", *parts)]
    drafts = read(page(*lines, "Question 4 (20 points)", "State the law.", top=0.02)).drafts
    assert [(draft.number, draft.points, draft.question.count("Part")) for draft in drafts] == [
        (number, 20, 2 * (number < "4")) for number in "1234"
    ]


@pytest.mark.parametrize(
    ("lines", "doubted"), [(["• Explain it.", "• Describe it."], True), (["Explain it.", "It is small."], False)]
)
def test_questions_without_numbers_below_a_title_with_points_are_doubted(lines: list[str], doubted: bool) -> None:
    drafts = read(page("Section A (10 marks)", "1. What is it? (10 marks)", "Section B (30 marks)", *lines)).drafts
    assert any("no number" in doubt.text for doubt in drafts[-1].doubts) == doubted


def test_a_head_of_several_questions_is_a_section() -> None:
    first = ["第一题 选择题和填空题（每小题1分，共3分）", *(f"{n}. 第{n}个值是多少？" for n in (1, 2, 3))]
    lines = [*first, *(line for n in "二三四" for line in (f"第{n}题（20分）", "1. 求值。", "2. 求和。"))]
    assert [draft.number for draft in read(page(*lines)).drafts] == list("123234")


def test_questions_that_are_named_go_on_in_a_section() -> None:
    lines = [line for n in "一二三" for line in (f"第{n}题（难度 {n}）", "求值。", "A. 1", "B. 2")]
    drafts = read(page("一、选择题（每空30分）", *lines)).drafts
    assert [(draft.section[:5], draft.points) for draft in drafts] == [("一、选择题", 30)] * 3


def test_heads_of_a_word_with_points_below_a_head_that_asks_nothing_are_questions() -> None:
    inner = [line for n in (1, 2, 3) for line in (f"MC{n} (2.5pts)", f"What is {n}?", "(a) x", "(b) y", "(c) z")]
    lines = [
        "1. [Pointers – 20 points].",
        *inner,
        "2. [Trees – 20 points]. Find it.",
        "3. [Links – 20 points]. Find b.",
    ]
    drafts = read(page(*lines)).drafts
    assert [draft.number for draft in drafts] == ["1", "2", "3", "2", "3"]
    assert [draft.section for draft in drafts] == [lines[0]] * 3 + [""] * 2


def test_any_word_heads_questions_that_have_points() -> None:
    lines = [line for n in range(1, 5) for line in (f"Exercice {n} ({n + 2} points)", "Find x.", "Find y.", "Explain.")]
    assert [draft.number for draft in read(page(*lines)).drafts] == list("1234")


def test_steps_within_a_question_are_no_heads() -> None:
    steps = [f"Step {n}: divide by {n}" for n in (1, 2, 3)]
    lines = [line for n in range(1, 4) for line in (f"第{n}題—極限", "What is it?", *(steps if n == 2 else []))]
    assert [draft.number for draft in read(page(*lines)).drafts] == list("123")


PROGRAM = [
    f"#{n}: {line}" for n, line in enumerate(("int main() {", "int a = 1;", "int b;", "b = a;", "f(b);", "}"), 1)
]


@pytest.mark.parametrize(
    ("lines", "heads"),
    [
        # a section has numbers of a form of its own
        (
            [
                "一、選擇題",
                "(  )1. 何者？",
                "(  )2. 何時？",
                "(  )3. 何地？",
                "二、計算題",
                "■ 1 (8pts).求 x。",
                "■ 2.求 y。",
            ],
            "12312",
        ),
        (
            [
                "一、选择题",
                "1. 何者？",
                "2. 何时？",
                "3. 何地？",
                "二、计算题（10分）",
                "已知 a = 1，",
                "(1) 求 x。",
                "(2) 求 y。",
            ],
            "1234",
        ),
        (["$■$ Question 1 of 2 [2 marks]", "Why?", "$■$ Question 2 of 2 [3 marks]", "How?"], "12"),
        # lines of a program are no heads
        (["1. Why?", "2. What does this print?", *PROGRAM, "3. How?"], "123"),
        # nor are rows to tick, or the parts of a section's only question
        (["1. Why?", "2. How?", "3. A B C D E    6. A B C D E", "4. A B C D E    7. A B C D E"], "12"),
        (
            [
                "一、填空题",
                "1. 求____。",
                "2. 求____。",
                "二、综合题（共20分）",
                "已知 a = 1，求：",
                "1) x 的值；",
                "2) y 的值。",
            ],
            "123",
        ),
        # a section's letters
        (
            [
                "Part I: True or False",
                *(f"{a}) {a} is a letter." for a in "ABC"),
                "Part II: Essay",
                "1. Why?",
                "2. How?",
            ],
            "ABC12",
        ),
        # sections numbered in digits of the same look
        (["1基本计算题(共20分)", "1.求 x。", "2.求 y。", "2综合题(共30分)", "3.求 z。", "4.求 u。"], "1234"),
        # a head that goes on
        (["1. Why?", "2. How is it?", "2. contd. How was it?", "3. Who?"], "123"),
    ],
)
def test_heads_of_questions(lines: list[str], heads: str) -> None:
    made = page(*lines)
    blocks = [
        block if line[1:2] != ")" or line[0] not in "abc" else indented(block)
        for line, block in zip(lines, made.blocks, strict=True)
    ]
    body, _ = segmented([replace(made, blocks=blocks)])
    assert "".join(question.label or str(question.number) for question in body.segments) == heads


@pytest.mark.parametrize(
    ("above", "task"),
    [
        (["Part A", "Write what each program prints:"], "Write what each program prints:"),
        (
            ["Class: ______", "Describe in words the colours of these lights."],
            "Describe in words the colours of these lights.",
        ),
    ],
)
def test_a_task_above_is_of_questions_that_ask_nothing(above: list[str], task: str) -> None:
    lines = [*above, "1. (2 points) f(1)", "2. (3 points) f(2)", "Part B", "3. Why?"]
    assert [draft.question for draft in read(page(*lines)).drafts] == [f"{task}\nf(1)", f"{task}\nf(2)", "Why?"]


@pytest.mark.parametrize(
    ("between", "titled"),
    [
        ("Section B", [True, True, False, False]),
        ("Text for question 3: the dog is here and it barks at night.", [True, True, False, True]),
    ],
)
def test_a_task_is_of_all_of_its_section_and_of_no_other(between: str, titled: list[bool]) -> None:
    lines = ["Section A", "Write what each of them prints on the screen.", "1. f(1)", "2. f(2)"]
    drafts = read(page(*lines, between, "3. f(3)", "4. f(4)")).drafts
    assert [lines[1] in draft.question for draft in drafts] == titled


def test_signs_in_code_do_not_ask() -> None:
    made = page("Part A", "Write what each program prints:", "1. (2 points)", "f(x ? 1 : 2)", "2. (3 points)", "f(y) =")
    lines = [block.lines[0] for block in made.blocks]
    lines = [replace(line, pitch=0.01) if line.text[0] == "f" else line for line in lines]
    blocks = [replace(block, lines=[line]) for block, line in zip(made.blocks, lines, strict=True)]
    assert all(draft.question.startswith("Write") for draft in read(replace(made, blocks=blocks)).drafts)


@pytest.mark.parametrize(
    ("line", "times", "kept", "doubted"),
    [
        ("Marks for this submission: {}/3.", 3, False, False),
        ("（以下两题为二选一，两题全做都不给分 {}。）", 1, True, True),
        ("(Your answer may be in terms of the point P.)", 1, True, True),
        ("NOTHING BELOW POINT {} WILL BE GRADED", 1, True, True),
        ("SCORES OF STUDENTS: TEST A 40, TEST B 5{}", 1, True, True),
        ("(Choose any {} questions to answer.)", 1, True, False),
        ("【课本例题{}】", 1, True, False),
        ("Each class has {} students.", 1, True, False),
        ("Round your answer to {} decimal places.", 3, True, False),
        ("已知考试成绩服从正态分布N({}0,100)。", 2, True, False),
    ],
)
def test_only_lines_of_the_form_that_come_again_behind_most_questions_are_in_none(
    line: str, times: int, kept: bool, doubted: bool
) -> None:
    lines = [text for n in (1, 2, 3) for text in (f"{n}. Find {n}.", line.format(n) if n <= times else "It is so.")]
    drafts = read(page(*lines, "4. Find c.")).drafts
    assert [line[:5] in draft.question for draft in drafts] == [*[kept] * times, *[False] * (4 - times)]
    assert any("may not be its own" in doubt.text for doubt in drafts[0].doubts) == doubted


def test_a_question_goes_on_on_the_next_page_in_a_listing_or_list() -> None:
    code = ["{", "int i = 0;", "return i;", "}"]

    def listed(*lines: str, number: int) -> PageBlocks:
        blocks = []
        for block in page(*lines, number=number).blocks:
            line = block.lines[0]
            within = 0.03 * (line.text in code or line.text.startswith("int"))
            box = replace(line.box, left=line.box.left + within, right=0.14 + 0.01 * len(line.text))
            blocks.append(replace(block, lines=[replace(line, box=box, pitch=0.01 * (line.text in code))]))
        return PageBlocks(number=number, width=595, height=842, image=b"", blocks=blocks)

    first = listed("1. The following program will output ____.", "int f(int a)", *code, number=1)
    second = listed("int main()", *code, "2. The following program will output ____.", "int main()", *code, number=2)
    drafts = read(first, second).drafts
    assert ["main" in draft.question for draft in drafts] == [True, True] and drafts[1].question.startswith("The")
    parts = [f"{sign}. It reads the file and says how large the file is." for sign in ("A", "B", "C")]
    inner = [f"{sign}. The size of all of the file that it has read is printed on the screen…" for sign in ("i", "ii")]
    made = both(page("1. Write a program.", *parts), page(inner[0], top=0.32))
    drafts = read(made, page(inner[1], "2. Write a test.", number=2)).drafts
    assert [draft.question for draft in drafts][1] == "Write a test."


def test_code_and_instructions_that_come_again_are_no_lines_of_the_form() -> None:
    code = "Student s = new Student({}); // the answer"
    made = page(*(text for n in (1, 2, 3) for text in (f"{n}. What does it print?", code.format(n))))
    lines = [block.lines[0] for block in made.blocks]
    lines = [replace(line, pitch=0.01) if line.text[0] == "S" else line for line in lines]
    blocks = [replace(block, lines=[line]) for block, line in zip(made.blocks, lines, strict=True)]
    assert all("Student s" in draft.question for draft in read(replace(made, blocks=blocks)).drafts)
    rule = "本题为多项选择题，每题有两个以上正确答案"
    parts = [line for name in "ABC" for line in (f"Part {name}", rule, "1. Which is a?", "A. x  B. y C. z D. w")]
    assert {draft.question_type for draft in read(page(*parts)).drafts} == {"multiple_choice"}


def test_a_long_tail_behind_the_last_question_is_read_in_time() -> None:
    tail = [line for n in range(250) for line in (f"{300 + n}. Find the value of it.", "It is so.", "It is graded.")]
    pages = [page(*tail[at : at + 40], number=at // 40 + 2) for at in range(0, len(tail), 40)]
    begun = perf_counter()
    segmented([page("1. Find a.", "2. Find b.", "3. Find c."), *pages])
    assert perf_counter() - begun < 15


def test_a_page_left_of_the_lines_that_hang_behind_a_number_leads_the_next_questions() -> None:
    first = page("1. Complete the function…", "that prints them:", "void f() {")
    boxes = [replace(block.box, left=block.box.left + 0.03 * (at > 0)) for at, block in enumerate(first.blocks)]
    blocks = [
        replace(block, lines=[replace(block.lines[0], box=box)], box=box)
        for block, box in zip(first.blocks, boxes, strict=True)
    ]
    text = ["This page tells of ropes. Read it, and then go on.", "They are trees."]
    drafts = read(replace(first, blocks=blocks), page(*text, "2. Why?", "3. How?", number=2)).drafts
    assert [text[0] in draft.question for draft in drafts] == [False, True, True]
    assert all(any("may be of either" in doubt.text for doubt in draft.doubts) for draft in drafts)
    last = read(page("1. Why does it rain?", "Explain."), page(*text * 3, number=2)).drafts[-1]
    assert any("may not be its own" in doubt.text for doubt in last.doubts) and text[0] in last.question


def test_a_title_that_comes_again_with_the_answers_begins_them() -> None:
    title = "大学2024年《离散数学》考试试卷A卷"
    questions = [f"{n}. 求集合 {n} 的元素。" for n in range(1, 4)]
    solved = [line for question in questions for line in (question.replace("求", "求出"), "解 略")]
    assert [draft.number for draft in read(page(title, *questions, title + "答案", *solved)).drafts] == list("123")


def test_a_title_for_answers_above_the_same_numbers_begins_them() -> None:
    sheet, solved = ([f"{n}. {text} (5 marks)" for n in range(1, 9)] for text in ("Find the sum.", "It is as said."))
    pages = [page(*sheet), page("The Solution of the Test", *solved, number=2)]
    assert [draft.question for draft in read(*pages).drafts] == ["Find the sum."] * 8


def test_questions_whose_texts_come_again_below_other_numbers_are_answered_there() -> None:
    sheet = [f"What is the {colour} colour of light?" for colour in ("red", "blue", "green")]
    cards = [line for text in sheet for line in (f"Topic    {text}", "1. Its meaning", "2. Its use", "It is so.")]
    pages = [page(*(f"{n}. {text}" for n, text in enumerate(sheet, 1))), page(*cards, number=2)]
    assert [draft.question for draft in read(*pages).drafts] == sheet


def test_a_foot_is_told_by_its_place_and_the_number_of_its_page() -> None:
    feet = ["Go on. 1", "2 Still more", "The end of it 3"]
    pages = [
        both(page(f"{n}. Why is it {n}?", "A. one", number=n), page(foot, number=n, top=0.94))
        for n, foot in enumerate(feet, 1)
    ]
    assert [draft.question for draft in read(*marked(pages)).drafts] == [f"Why is it {n}?\nA. one" for n in (1, 2, 3)]
    sheet = [both(page(f"{n}. Why?", number=n), page("A. one    B. two", number=n, top=0.94)) for n in (1, 2, 3)]
    assert all("A. one" in whole(draft) for draft in read(*marked(sheet)).drafts)
    ends = ["round it", "give cm", "use ln2"]
    begun = [both(page(f"{n}. Find {n},", number=n), page(end, number=n, top=0.94)) for n, end in enumerate(ends, 1)]
    assert [draft.question[8:] for draft in read(*marked(begun)).drafts] == ends


def test_a_paper_printed_again_is_its_key() -> None:
    questions = [f"{n}. What is {word}?" for n, word in enumerate(("red", "blue", "green"), 1)]
    solved = [line for question in questions for line in (question, "It is a colour.")]
    assert [draft.number for draft in read(page(*questions, *solved)).drafts] == list("123")


def test_a_paper_whose_numbers_or_front_come_again_with_answers_is_its_key() -> None:
    questions = [line for n in (1, 2, 3) for line in (f"{n}. 다음 중 {n}의 값은?", "① 1 ② 2 ③ 3 ④ 4")]
    key = ["A    ANSWER", *(line for n in (1, 2, 3) for line in (f"{n}. 계산 | 쉬움 | 정답 ③", "[해설] 더한다."))]
    assert [draft.number for draft in read(page(*questions), page(*key, number=2)).drafts] == list("123")
    front = ["2024年全国统一考试数学", "一、填空题"]
    sheet = [f"{n}. 求 {n} 的值____。" for n in (1, 2, 3)]
    solved = [line for n in (1, 2, 3) for line in (f"【{n}题答案】", f"【答案】{n}")]
    drafts = read(page(*front, *sheet), page(*front, *solved, number=2)).drafts
    assert [draft.question for draft in drafts] == [f"求 {n} 的值____。" for n in (1, 2, 3)]


def test_a_line_to_write_on_has_the_number_of_its_question() -> None:
    drafts = read(page("1. What is one?", "1. ____", "2. What is two?", "2. ____")).drafts
    assert [draft.question for draft in drafts] == ["What is one?", "What is two?"]


def test_a_box_for_marks_is_in_no_question_and_a_picture_is_no_blank() -> None:
    first = figure(page("一、填空题", "1．如图，它的值是 5 mm。"), "")
    made = page("2．它的值是____。", "题分", "二、计算题", "3．求它的值。", top=0.5)
    row = made.blocks[1].lines[0]
    made.blocks[1] = replace(
        made.blocks[1], kind="table", lines=[replace(row, text=text) for text in ("题分\t得分", "12\t")]
    )
    drafts = read(both(first, made)).drafts
    assert [draft.question for draft in drafts] == ["如图，它的值是 5 mm。\n<image>", "它的值是____。", "求它的值。"]
    doubted = ["no blank" in "".join(doubt.text for doubt in draft.doubts) for draft in drafts]
    assert doubted == [True, False, False]


def test_points_of_each_blank_count_if_they_add_up() -> None:
    for total, worth in ((6, [2, 4]), (8, [None, None])):
        drafts = read(page(f"二、填空题（共{total}分，每空2分）", "1、和为____。", "2、积为____，商为____。")).drafts
        assert [draft.points for draft in drafts] == worth


def test_options_with_numbers_behind_a_question_by_its_name() -> None:
    options = ["1. A hill", "2. A lake", "3. A sea", "4. No"]
    lines = [line for n in "123" for line in (f"Problem {n}", "It is as wide as the column.…", "What is it?", *options)]
    assert [[option.label for option in draft.options] for draft in read(page(*lines)).drafts] == [list("1234")] * 3


def test_a_passage_that_nothing_announces_goes_to_the_questions_behind_it() -> None:
    text = ["The river rises in the hills above the town and runs to the sea…"] * 4
    options = "A. one B. two C. three D. four"
    lines = [
        "一、阅读理解",
        "1. Who?",
        options,
        *text,
        "2. Where?",
        options,
        "3. When?",
        options,
        "二、完形填空",
        "4. a",
        options,
    ]
    found = by_number(read(page(*lines, top=0.0)))
    assert "river" not in found["1"].question and [o.text for o in found["1"].options][3] == "four"
    assert "river" in found["2"].question and found["2"].question.endswith("Where?")
    assert "river" in found["3"].question and "river" not in found["4"].question


def test_parts_of_a_paper_number_on_their_own() -> None:
    common = [page("수학 영역", *(f"{n}. {'가' * n}의 값은? [3점]" for n in range(1, 4)), number=1, top=0.05)]
    parts = [
        page(f"수학 영역({name})", *(f"{n}. {'나' * n}의 값은? [4점]" for n in (4, 5)), number=number, top=0.05)
        for number, name in ((2, "미적분"), (3, "기하"))
    ]
    paper = read(*common, *parts)
    assert [(draft.elective, draft.number) for draft in paper.drafts] == [
        *(("", str(n)) for n in (1, 2, 3)),
        *((name, str(n)) for name in ("미적분", "기하") for n in (4, 5)),
    ]
    assert not paper.unmatched
    assert len({draft.id for draft in paper.drafts}) == 7


def test_each_part_has_its_own_passages_even_if_they_are_the_same() -> None:
    passage = [
        "[4～5] 다음 글을 읽고 물음에 답하시오.",
        *(f"강물은 {where} 흐르고 사람들은 모인다." for where in ("길게", "넓게", "깊게", "늘")),
    ]
    sheet = [f"{n}. 윗글에 대한 설명으로 옳은 것은? [2점]" for n in (4, 5)]
    common = page("국어 영역", *(f"{n}. {'가' * n}의 뜻은? [3점]" for n in range(1, 4)), top=0.05)
    parts = [
        page(f"국어 영역({name})", *passage, *sheet, f"6. {name}의 뜻은? [3점]", number=number, top=0.05)
        for number, name in ((2, "언어와 매체"), (3, "화법과 작문"))
    ]
    drafts = read(common, *parts).drafts
    assert [draft.question.count("강물은") for draft in drafts] == [0] * 3 + [4, 4, 0] * 2


def test_a_paper_without_questions_is_one_line() -> None:
    with pytest.raises(UserError, match="no numbered question was found") as error:
        read(page("Dear Sir,", "thank you."))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "section"),
    [
        ("一、选择题：本题共8小题", True),
        ("二、填空题", True),
        ("三.简答    第17-19题每题14分", True),
        ("三、设它大于零，比较两者。", False),
        ("Part II. Physics (5 questions, 22 points)", True),
        ("5지선다형", True),
        ("단답형", True),
        ("第Ⅱ卷（非选择题）", True),
        ("一辆汽车", False),
        ("Part of the energy is lost.", False),
        ("단답형으로 답한 사람은", False),
    ],
)
def test_titles_of_sections(text: str, section: bool) -> None:
    assert is_section(text) is section


@pytest.mark.parametrize(
    ("text", "shared"),
    [
        ("[5~6] 다음 글을 읽고", (5, 6)),
        ("阅读下面的文字，完成6～9题。", (6, 9)),
        ("Questions 3-5 refer to the graph.", (3, 5)),
        ("[3] 그림은", None),
        ("完成第9～6题", None),
    ],
)
def test_passages_name_their_questions(text: str, shared: tuple[int, int] | None) -> None:
    assert passage_range(text) == shared


def test_answers_begin_with_their_title() -> None:
    assert (
        begins_answers("参考答案")
        and begins_answers("2026年数学试题参考答案与评分标准")
        and begins_answers("Answer key")
        and begins_answers("The Solution of The Mid-Term")
        and begins_answers("附录：答案及评分标准")
    )
    assert not begins_answers("写出你的答案。")


def test_a_title_of_answers_in_the_head_of_a_page_begins_them() -> None:
    sheet, key = ["1. What?", "2. Where?", "3. Why?"], ["1. Six", "2. Two", "3. Ten"]
    head = page("期末试题答案及评分标准", number=2, top=0.04).blocks[0]
    behind = page(*key, number=2)
    paper = read(page(*sheet), replace(behind, blocks=[replace(head, kind="header"), *behind.blocks]))
    assert [draft.answer for draft in paper.drafts] == [["Six"], ["Two"], ["Ten"]]


@pytest.mark.parametrize(("lines", "questions"), [(["3. Why?", "4. How?"], 4), (["1. Six", "2. Two"], 2)])
def test_a_head_of_answers_amid_the_questions_is_no_title(lines: list[str], questions: int) -> None:
    paper = read(page("1. What?", "2. Where?", "Show your working.", "Answers:", *lines))
    assert len(paper.drafts) == questions


# --- what is in a question ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "rest", "total", "parts"),
    [
        ("（5分）已知", "已知", 5, []),
        ("（本小题满分13分）已知", "已知", 13, []),
        ("의 값은? [3점]", "의 값은?", 3, []),
        ("$f(1)$의 값은? [3점]", "$f(1)$의 값은?", 3, []),
        ("[4 points] Find x.", "Find x.", 4, []),
        ("(5 marks) Find x.", "Find x.", 5, []),
        ("求：(1) a；（4分） (2) b．（6分）", None, 10, [4, 6]),
        ("（10分）求：(1) a；（4分） (2) b．（6分）", "求：(1) a；（4分） (2) b．（6分）", 10, [4, 6]),
        ("没有", "没有", None, []),
        ("[Total: 15 pts]: Explain.\nQ2.1 [7 pts]: Why?\nQ2.2 [8 pts]: How?", None, 15, [7, 8]),
        ("Find x.（8‘）", "Find x.", 8, []),
        ("A) Discuss it. [3]\nB) How? [2]\nC) Why? [1]", None, 6, []),
        ("(20%) Look.\n(a) (5%) Why?\n(b) (15%) How?", "Look.\n(a) (5%) Why?\n(b) (15%) How?", 20, [5, 15]),
        ("（12 marks）Find x.", "Find x.", 12, []),
        ("Answer any two:    3×2 = 6\n(a) x    [3]\n(b) y    [3]\n(c) z    [3]", None, 6, []),
        ("Find: [2.5+2.5=5 Marks]\n(a) x\n(b) y", "Find: \n(a) x\n(b) y", 5, [2.5, 2.5]),
        ("Find:\n[2 marks] the value x\n[4 marks] the value y", None, 6, [2, 4]),
        ("a. Find x (2 points).\nb. Find y (3 points).", None, 5, [2, 3]),
        ("(a) x [2]\n(b) y [3]\nOR\nz [3]", None, 5, [2, 3]),
        ("(a) x [2]\n(b) (i) y [1]\n(ii) z [2]\nOR\n(i) u [2]\n(ii) v [1]", None, 5, [2, 1, 2]),
        ("Find (a) x (4 marks) (b) y (2 marks) (c) z (2 marks)", None, 8, [4, 2, 2]),
        (
            "Let f(a) = a. (11 points)\n(a) One. (8 points)\n(b) Two. (3 points)",
            "Let f(a) = a. \n(a) One. (8 points)\n(b) Two. (3 points)",
            11,
            [8, 3],
        ),
        (
            "(9 points)\n(a) (3 points)\n(i) (1 point)\n(ii) (2 points)\n(b) (6 points)",
            "(a) (3 points)\n(i) (1 point)\n(ii) (2 points)\n(b) (6 points)",
            9,
            [3, 6],
        ),
        ("Solve $x = 0. (4$ points)", "Solve $x = 0.$", 4, []),
        ("Find x.    [2.5]", "Find x.", 2.5, []),
        ("Find x. [4.0]", "Find x.", 4, []),
        ("(12 points total) Find x.", "Find x.", 12, []),
        ("Answer ONE，15 pts\nWhy?", "Answer ONE\nWhy?", 15, []),
        ("Fill in (5 marks each, total 20 marks)\n1) A is ____.", "Fill in \n1) A is ____.", 20, []),
        ("（本题满分14分，第1小题满分6分，第2小题满分8分）求 x。", "求 x。", 14, [6, 8]),
        ("（满分12分，第1问5分，第2问6分）求 x。", None, None, []),
        ("[10 points-2 each] Name five.", "Name five.", 10, []),
        ("(6 marks) (a) Why?\n(7pts) (b) How?", None, 13, [6, 7]),
        ("(2,5 points) Find x.", "Find x.", 2.5, []),
        ("（难度系数3，满分50分）编程", "编程", 50, []),
        ("(a) (30%) Why?\n(b) (70%) How?", None, None, []),
        ("Marks: 1\nFind x.", "Find x.", 1, []),
        ("(9 points) Find\n(a) x (5 points)\n(b) y\n(9 points)", "Find\n(a) x (5 points)\n(b) y", 9, []),
        ("(3 points) Why?\n```\nx = [55]\n```", "Why?\n```\nx = [55]\n```", 3, []),
    ],
)
def test_points_as_printed(text: str, rest: str | None, total: float | None, parts: list[float]) -> None:
    read, worth, each = points.split_points(text)
    assert (worth, each) == (total, parts)
    assert read == (text if rest is None else rest) or text.startswith(("[Total", "Answer any"))


@pytest.mark.parametrize(
    ("text", "number", "worth"),
    [
        ("一、选择题：本题共8小题，每小题5分，共40分．", 3, 5),
        ("二、选择题：每小题6分，部分选对的得3分", 9, 6),
        ("第1~6题每小题4分，第7~12题每小题5分", 8, 5),
        ("三、解答题：共77分", 15, None),
        ("每空2分", 12, None),
        ("Section A (2 points each)", 1, 2),
        ("Ⅰ. 객관식문제(20문제×2점 = 40점)", 3, 2),
        ("一.定义叙述(5 points * 10)", 3, 5),
        ("评分规则：答对+3分，空白0分，答错-1分", 3, 3),
        ("Part I（2 points for each question, 20 points total）", 3, 2),
        ("一、單選題(每題4分，共40分)", 3, 4),
        ("1. Single choice selection (20 points, 1 each)", 3, 1),
        ("Part 1. Terms, 30 points\nNOTE: 5 points for each.", 3, 5),
    ],
)
def test_points_by_the_section(text: str, number: int, worth: float | None) -> None:
    assert points.section_points(text, number) == worth


@pytest.mark.parametrize(("many", "worth"), [(1, 10), (5, 2), (4, 2)])
def test_the_only_question_of_a_section_has_the_points_of_all(many: int, worth: float) -> None:
    assert points.section_points("Section A: 5 x 2", 1, many) == worth
    assert points.section_points("Ch2 – Sets (6%)", 1, many) == (6 if many == 1 else None)


def test_questions_with_options_have_the_points_of_theirs() -> None:
    text = "thirteen multiple-choice questions worth three points each, and three others worth 12 points each"
    assert [points.section_points(text, 1, choice=choice) for choice in (True, False)] == [3, None]
    assert points.section_points("三、计算题（本题8分）", 11, 1) == 8


def test_parts_without_points_beside_others_are_doubted() -> None:
    drafts = read(page("1. Look.", "(a) Why? [2]", "(b) How?", "2. Look.", "(a) Why? [2]", "(b) How? [3]")).drafts
    assert [any("have no points" in doubt.text for doubt in draft.doubts) for draft in drafts] == [True, False]


@pytest.mark.parametrize(
    ("lines", "worth"),
    [
        (["1. Why? (10)", "2. How? (20)", "3. Who? (5)"], [10, 20, 5]),
        (["1. (2) Why?", "2. (1) How?", "3. (3) Who?"], [2, 1, 3]),
        (["1. (1) Why? (2) How?", "2. (1) Why? (2) How?", "3. (1) Why? (2) How?"], [None] * 3),
        (["1. Read.", *(f"a line of a poem    {n}" for n in (5, 10, 15, 20)), "2. Why?"], [None, None]),
        (["1. Read.", *(f"a line that asks why    {n}" for n in (2, 3, 2, 4)), "2. Why?"], [11, None]),
    ],
)
def test_bare_numbers_that_are_points(lines: list[str], worth: list[float | None]) -> None:
    assert [draft.points for draft in read(page(*lines)).drafts] == worth


def test_marks_that_were_read_into_a_formula_are_points() -> None:
    assert read(page("1. Minimize $L$.    $[6]$", "2. Find $x$.")).drafts[0].points == 6


@pytest.mark.parametrize(
    ("text", "language", "labels"),
    [
        ("x 的值\nA．1 B．2 C．3 D．4", "zh", "ABCD"),
        ("x의 값은?\n① 1 ② 2 ③ 3 ④ 4 ⑤ 5", "ko", "12345"),
        ("which\n(A) a\n(B) b\n(C) c\n(D) d", "en", "ABCD"),
        ("四个结论：\n①a\n②b\n③c\n④d\n其中正确的是____", "zh", ""),
        ("값은?\n① \n② \n③ \n④ \n⑤ ", "ko", "12345"),
        ("글 ①가 나 ②다 라 ③마 ④바 ⑤사 중 틀린 것은?", "ko", ""),
    ],
)
def test_options(text: str, language: str, labels: str) -> None:
    stem, found = split(text, language, choice=False)  # type: ignore[arg-type]
    assert "".join(option.label for option in found) == labels
    assert stem == text if not labels else "\n" not in stem


@pytest.mark.parametrize(
    ("text", "has_options", "section", "language", "kind"),
    [
        ("x", True, "一、单选题", "zh", "single_choice"),
        ("x", True, "二、选择题：有多项符合题目要求", "zh", "multiple_choice"),
        ("x", True, "一、选择题：只有一项是符合题目要求的", "zh", "single_choice"),
        ("正确的有（多选）", True, "一、数学", "zh", "multiple_choice"),
        ("값은?", True, "5지선다형", "ko", "single_choice"),
        ("있는 대로 고른 것은?", True, "", "ko", "single_choice"),
        ("모두 고르시오.", True, "", "ko", "multiple_choice"),
        ("값을 구하시오.", False, "단답형", "ko", "short_answer"),
        ("则 a=____．", False, "三、填空题", "zh", "fill_in_blank"),
        ("is ____.", False, "", "en", "fill_in_blank"),
        ("True or false: x.", False, "", "en", "true_false"),
        ("각 변수는 참 또는 거짓이다. 경우의 수는 몇 가지인가?", False, "", "ko", "short_answer"),
        ("（1）证明：a；（2）证明：b", False, "", "zh", "proof"),
        ("证明：（1）a；（2）又 b", False, "", "zh", "proof"),
        ("다음이 성립함을 보여라. (도움말: $f(x)=1$을 이용하시오.)", False, "", "ko", "proof"),
        ("A是方阵，证明：$A^2=E$。", False, "一、判断题", "zh", "proof"),
        ("(a) Which is best? [1]\n(b) True or false: x. [1]", False, "", "en", "open_ended"),
        ("（1）证明：a；（2）求 b", False, "四、解答题", "zh", "open_ended"),
        ("求极限。", False, "二、解答与证明题（共11题，共80分）", "zh", "open_ended"),
        ("试讨论其奇偶性。", False, "二、解答与证明题（共11题，共80分）", "zh", "open_ended"),
        ("试证明其存在。", False, "二、解答与证明题（共11题，共80分）", "zh", "proof"),
        ("设 f 连续，则 f 有界。", False, "五、证明题", "zh", "proof"),
        ("求极限。", False, "五、证明题", "zh", "open_ended"),
        ("There may be several correct answers; indicate them all.", True, "", "en", "multiple_choice"),
        ("Which of these multiple choice tests is best?", True, "", "en", "single_choice"),
        ("Implement __eval__ of\n```\ndef __init__(self): ____\n```", False, "", "en", "open_ended"),
        ("Propose two mutants and describe them. Show that they differ.", False, "", "en", "open_ended"),
    ],
)
def test_types(text: str, has_options: bool, section: str, language: str, kind: str) -> None:
    found, _, _ = kinds.type_of(text, has_options, section, language, load_template(language))  # type: ignore[arg-type]
    assert kinds.settled(found, []) == kind


@pytest.mark.parametrize(
    ("text", "section", "language", "sure"),
    [
        ("The speed is ____ m/s.", "", "en", True),
        ("Complete the sentences. The speed is ____ m/s.", "", "en", True),
        ("Describe how ____ moves, and why.", "", "en", False),
        ("Describe how ____ moves, and why.", "Fill in the blanks", "en", True),
        ("Purpose of the checkpoint", "", "en", False),
        ("Purpose of the checkpoint:", "", "en", True),
        ("Purpose of the checkpoint", "Explain these words", "en", True),
        ("What is its purpose?", "", "en", True),
        ("출력을 써라.", "", "ko", True),
        ("복호화 진행한다.", "", "ko", False),
        ("복호화 진행한다.", "단답형", "ko", True),
    ],
)
def test_types_without_evidence_are_uncertain(text: str, section: str, language: str, sure: bool) -> None:
    found = kinds.type_of(text, False, section, language, load_template(language))  # type: ignore[arg-type]
    assert (found[2] >= 0.5) is sure


# --- real papers ----------------------------------------------------------------------------------------------------


def test_gaokao_national_i(shared_data: Path) -> None:
    found = paper_of(shared_data / "gaokao2026_math/pdf/national-i.pdf")
    lines = (shared_data / "gaokao2026_math/reviewed/2026-national-i-math.jsonl").read_text().splitlines()
    gold = {row["question_number"]: row for row in map(json.loads, lines)}
    free = {"open_ended", "short_answer", "proof"}
    wanted = {"fill_blank": {"fill_in_blank"}, "solution": free}
    assert [draft.number for draft in found.drafts] == list(gold)
    assert not found.unmatched
    far = {}
    for number, draft in by_number(found).items():
        kind = gold[number]["question_type"]
        assert draft.question_type in wanted.get(kind, {kind}), number
        far[number] = distance(bare(whole(draft)), bare(re.sub(r"^\d+\.", "", gold[number]["question"]["content"])))
    assert far.pop("3") > 0.5  # pictures: its braces have no letters
    assert statistics.mean(far.values()) < 0.08, far
    assert statistics.median(far.values()) < 0.06, far


def test_gaokao_keys_of_a_table_of_its_own(shared_data: Path, tmp_path: Path) -> None:
    lines = (shared_data / "gaokao2026_math/reviewed/2026-national-i-math.jsonl").read_text().splitlines()
    gold = {row["question_number"]: row["answer"]["standard"] for row in map(json.loads, lines)}
    with (tmp_path / "key.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerows([("题号", "答案"), *gold.items()])
    found = paper_of(shared_data / "gaokao2026_math/pdf/national-i.pdf", tmp_path / "key.csv")
    assert not found.unmatched and all(draft.answer for draft in found.drafts)
    choices = {draft.number: draft.answer for draft in found.drafts if draft.options}
    assert choices == {number: ["".join(re.findall("[A-D]", gold[number]))] for number in choices}
    assert len(choices) == 11


def test_gaokao_beijing(shared_data: Path) -> None:
    found = paper_of(shared_data / "gaokao2026_math/pdf/beijing.pdf")
    lines = (shared_data / "gaokao2026_math/pdf/beijing.questions.jsonl").read_text().splitlines()
    gold = dict(re.match(r"(\d+)\.\s*(.*)", json.loads(line)["question"], re.DOTALL).groups() for line in lines)
    drafts = by_number(found)
    assert list(drafts) == [str(number) for number in range(1, 22)]
    kinds_found = [draft.question_type for draft in found.drafts]
    assert kinds_found[:15] == ["single_choice"] * 10 + ["fill_in_blank"] * 5
    assert not set(kinds_found[15:]) & {"single_choice", "fill_in_blank"}
    assert all([option.label for option in drafts[str(n)].options] == list("ABCD") for n in range(1, 11))
    far = [distance(bare(whole(drafts[number])), bare(text)) for number, text in gold.items()]
    assert statistics.mean(far) < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["physics-1", pytest.param("chemistry-1", marks=pytest.mark.release)])
def test_csat_sciences_with_their_key(shared_data: Path, name: str) -> None:
    folder = shared_data / "csat2026"
    found = paper_of(folder / f"papers/{name}.pdf", folder / f"keys/{name}.pdf")
    assert [draft.number for draft in found.drafts] == [str(number) for number in range(1, 21)]
    assert all([option.label for option in draft.options] == list("12345") for draft in found.drafts)
    assert all(len(draft.answer) == 1 and draft.answer[0] in "12345" for draft in found.drafts)
    assert sum(draft.points for draft in found.drafts) == 50
    assert {draft.elective for draft in found.drafts} == {""}
    assert not found.unmatched
    assert not [doubt for draft in found.drafts for doubt in draft.doubts if doubt.kind in ("answer", "points")]


@pytest.mark.slow
def test_csat_math_with_its_electives(shared_data: Path) -> None:
    folder = shared_data / "csat2026"
    found = paper_of(folder / "papers/math.pdf", folder / "keys/math.pdf", range(1, 21))
    parts = {
        part: [int(d.number) for d in found.drafts if d.elective == part]
        for part in ("", "확률과 통계", "미적분", "기하")
    }
    assert parts == {"": [*range(1, 23)], **{part: [*range(23, 31)] for part in list(parts)[1:]}}
    assert all(sum(d.points for d in found.drafts if d.elective in ("", part)) == 100 for part in list(parts)[1:])
    last = {draft.elective: draft.answer for draft in found.drafts if draft.number == "30"}
    assert last == {"확률과 통계": ["262"], "미적분": ["11"], "기하": ["221"]}
    seventh = next(draft for draft in found.drafts if draft.number == "7")
    assert seventh.answer == ["5"], "the form that is printed on the paper (홀수형), not the other one's 1"
    assert "<image>" in seventh.question, "the figure below the options"
    assert not any("<image>" in option.text for draft in found.drafts for option in draft.options)
    doubts = [doubt.text for draft in found.drafts for doubt in draft.doubts]
    assert not found.unmatched and not doubts, doubts


def test_question_boxes_against_gold(shared_data: Path) -> None:
    folder = shared_data / "csat_math_boxes"
    gold = json.loads((folder / "konet_gold/bboxes.json").read_text())
    overlaps: dict[str, float] = {}
    for part, first in (("pro", 0), ("dif", 12), ("geo", 16)):
        numbers = None if part == "pro" else range(9, 13)
        body, stream = segmented(pages_of(folder / f"202311-h3-math-{part}.pdf", numbers))
        columns = by_column(stream)
        ours = {found.number: boxes(found, stream, columns) for found in body.segments}
        for row in gold:
            place = re.fullmatch(r"kocsat_1st_Mathematics_(\d+)\.png", row["img_path"][0])
            if place and first <= int(place[1]) < (12 if part == "pro" else first + 4):
                number = int(place[1]) + 1 if part == "pro" else int(place[1]) - first + 9
                left, top, right, bottom = row["bbox"][0]
                box = Box(page=number, left=left / 1684, top=top / 2382, right=right / 1684, bottom=bottom / 2382)
                found = ours.get(int(row["idx"].rpartition("_")[2]), [])
                overlaps[row["idx"]] = box.overlap(found[0]) if len(found) == 1 else 0.0
    assert len(overlaps) == 46
    assert sum(value >= 0.8 for value in overlaps.values()) / 46 >= 0.95, overlaps


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (["1. 공기 저항은 작고 공기 저…", "항은 무시한다."], "공기 저항은 작고 공기 저항은 무시한다."),
        (["1. 이에 대한 설명으로 옳은…", "것은 무엇인가?"], "이에 대한 설명으로 옳은 것은 무엇인가?"),
        (["1. 혼합 용액의 부피는 일정…", "하다고 한다."], "혼합 용액의 부피는 일정 하다고 한다."),
        (["1. 이것은 학생의 설명…", "이다."], "이것은 학생의 설명이다."),
        (["1. 관측자의 위치…", "에서 본다."], "관측자의 위치에서 본다."),
    ],
)
def test_a_word_of_korean_that_a_line_breaks_is_one(lines: list[str], text: str) -> None:
    assert [draft.question for draft in read(page(*lines)).drafts] == [text]


@given(st.lists(st.sampled_from(["물체의", "운동을", "나타낸", "것이다"]), min_size=2, max_size=12))
def test_whatever_line_korean_words_break_at_they_stay_apart(words: list[str]) -> None:
    half = len(words) // 2
    known = "2. " + " ".join(["가", "물체의", "운동을", "나타낸", "것이다", "나"])
    paper = read(page("1. " + " ".join(words[:half]) + "…", " ".join(words[half:]), known))
    assert paper.drafts[0].question.split() == words


def test_a_picture_beside_the_first_line_is_of_that_question() -> None:
    sheet = page("1. 第一", "2. 如图，求长度")
    second = sheet.blocks[1].box
    box = Box(page=1, left=0.35, right=0.5, top=second.top - 0.002, bottom=second.bottom + 0.1)
    figure = Block(kind="figure", box=box, picture=b"\x89PNG")
    paper = read(replace(sheet, blocks=[sheet.blocks[0], figure, sheet.blocks[1]]))
    assert [len(draft.figures) for draft in paper.drafts] == [0, 1]


def test_a_picture_beside_lines_stands_behind_a_sentence() -> None:
    sheet = page("1. 已知甲在乙的", "左边。丙在其", "右边。求距离，", "再求高。")
    first, second = (sheet.blocks[at].box for at in (0, 1))
    box = Box(page=1, left=0.5, right=0.7, top=first.top - 0.002, bottom=second.bottom)
    figure = Block(kind="figure", box=box, picture=b"\x89PNG")
    (draft,) = read(replace(sheet, blocks=[figure, *sheet.blocks])).drafts
    assert draft.question.replace("\n", "") == "已知甲在乙的左边。丙在其右边。求距离，再求高。<image>"


@pytest.mark.parametrize(("cells", "kept"), [(("7 2 5", "17 97 21"), 1), (("本题得分", "得分"), 0)])
def test_a_table_that_comes_again_as_it_is_is_a_head(cells: tuple[str, str], kept: int) -> None:
    pages = [page(cells[number - 1], f"{number}. 求和。", number=number) for number in (1, 2)]
    for made in pages:
        made.blocks[0] = replace(made.blocks[0], kind="table")
    drafts = read(*pages).drafts
    assert sum(text in f"{draft.question}" for text in dict.fromkeys(cells) for draft in drafts) == kept


RANGES = "一、选择题：第1～7题只有一项符合，每小题4分；第8～10题有多项符合题目要求，每小题6分。"
ONE_WORTH = "一、选择题：每小题6分。第14~18题只有一项符合题目要求，第19~21题有多项符合题目要求。"


@pytest.mark.parametrize(
    ("section", "number", "worth", "kind"),
    [
        (RANGES, 7, 4, "single_choice"),
        (RANGES, 8, 6, "multiple_choice"),
        (ONE_WORTH, 18, 6, "single_choice"),
        (ONE_WORTH, 19, 6, "multiple_choice"),
    ],
)
def test_instructions_that_name_numbers(section: str, number: int, worth: float, kind: str) -> None:
    assert points.section_points(section, number) == worth
    assert kinds.type_of("题", True, points.said_of(section, number), "zh", load_template("zh"))[0] == kind


def numbers_of(*lines: str) -> list[str]:
    return [draft.number for draft in read(page(*lines)).drafts]


def test_heads_that_the_numbers_leave_over_are_questions_with_a_doubt() -> None:
    lines = ["1. Find a.", "2. Find b.", "3. Find c.", "4. Find d.", "4. Find e.", "Essays", "1. Find f.", "2. Find g."]
    paper = read(page(*lines))
    assert [draft.number for draft in paper.drafts] == ["1", "2", "3", "4", "4", "1", "2"]
    doubted = [any("does not go on" in doubt.text for doubt in draft.doubts) for draft in paper.drafts]
    assert doubted == [False, False, False, True, True, True, True]


def test_a_list_within_a_question_is_none_of_questions() -> None:
    lines = ["1. Find a.", "2. Find b.", "3. Find c.", "4. Write the following:", "1. Find f.", "2. Find g."]
    assert numbers_of(*lines) == ["1", "2", "3", "4"]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (("1. Find a.", "2. Find b.", "3. Find c.", "Bonus (5 points) Find d."), ["1", "2", "3", "4"]),
        (("一、计算题", "1. 求和", "2. 求积", "二、证明题（10分）", "证明它成立"), ["1", "2", "3"]),
        (("一、计算题", "1. 求和", "2. 求积", "简答题", "什么是网络？"), ["1", "2", "3"]),
        (("[2] Problem 1. Find a.", "[3] Problem 2. Find b.", "[2] Problem 3. Find c."), ["1", "2", "3"]),
        (("Task 1: Find a.", "Task 2: Find b.", "Task 3: Find c."), ["1", "2", "3"]),
        (tuple(f"{'' if n in (5, 6) else 'Question '}{n}. Find {n}." for n in range(1, 9)), [*"12345678"]),
        (("1. Find a.", "2. Read of laws:", "(3) Show it.", "(4) Show it.", "5. Find e.", "6. Find f."), [*"1256"]),
        (
            ("注意：", "1.时间为 9 分钟；", "2.请上传。", "第一题，简答", "何？", "第二题，简答", "何？"),
            ["1", "2"],
        ),
        (("1填空题(4×2=8)", "1设$x=1$，求$y$.", "2求值.", "2解答题(10×1=10)", "3求证它."), ["1", "2", "3"]),
    ],
)
def test_heads_of_any_form(lines: tuple[str, ...], expected: list[str]) -> None:
    assert numbers_of(*lines) == expected


def test_heads_of_another_form_in_a_gap_are_doubted() -> None:
    drafts = read(page(*(f"{'' if n in (3, 4) else 'Question '}{n}. Find {n}." for n in range(1, 7)))).drafts
    doubted = [any("in its form" in doubt.text for doubt in draft.doubts) for draft in drafts]
    assert [draft.number for draft in drafts] == [*"123456"] and doubted[2:4] == [True, True]


def set_in_bold(whole: PageBlocks, *places: int) -> PageBlocks:
    """A page some of whose lines are bold."""
    blocks = list(whole.blocks)
    for place in places:
        lines = [replace(line, bold=True, place=0) for line in blocks[place].lines]
        blocks[place] = replace(blocks[place], lines=lines)
    return replace(whole, blocks=[replace(b, lines=[replace(each, place=0) for each in b.lines]) for b in blocks])


def test_bold_numbered_titles_above_numbers_that_begin_anew_are_sections() -> None:
    titles = ["1 Circles [4 points]", "2 Lines (3 pts)", "3 Planes [2 points]"]
    below = [[f"1. Find {sign}.", "It is odd.", f"2. Show {sign}.", "It is even."] for sign in "abc"]
    lines = [line for title, some in zip(titles, below, strict=True) for line in (title, *some)]
    body, _ = segmented([set_in_bold(page(*lines, top=0.02), 0, 5, 10)])
    assert [segment.number for segment in body.segments] == [1, 2, 1, 2, 1, 2]
    assert [section.title for section in body.sections] == titles


def test_titles_of_another_form_within_one_count_are_sections() -> None:
    titles = ["1、辐射场", "2、运动电荷的辐射", "3、MAC协议"]
    lines = [
        line
        for at, title in enumerate(titles)
        for line in (title, *(f"{n}.求第{n}项。" for n in range(3 * at + 1, 3 * at + 4)))
    ]
    body, _ = segmented([set_in_bold(page(*lines, top=0.02), 0, 4, 8)])
    assert [segment.number for segment in body.segments] == [*range(1, 10)]
    assert [section.title for section in body.sections] == titles


@pytest.mark.parametrize(
    "titles", [("[1계 방정식]", "[2계 방정식]"), ("1 SECTION A", "2 SECTION B"), ("Sets", "Graphs (4%)")]
)
def test_names_above_questions_in_a_look_of_their_own_are_sections(titles: tuple[str, str]) -> None:
    lines = [titles[0], "1. 해를 구하라.", titles[1], "2. 해를 구하라.", "3. 해를 구하라."]
    body, _ = segmented([set_in_bold(page(*lines), 0, 2)])
    assert [segment.section.title for segment in body.segments] == [titles[0], titles[1], titles[1]]
    body, _ = segmented([set_in_bold(page(*lines, titles[1], "ㄱ. 그렇다."), 0, 2, 5)])
    assert not body.sections


def test_a_head_that_is_continued_and_a_worth_alone_begin_no_question() -> None:
    lines = [line for n in (1, 2) for line in (f"Question {n}", "Find x.", f"Question {n}, continued", "Find y.")]
    body, _ = segmented([page(*lines)])
    assert [segment.items[1].text for segment in body.segments] == ["Find x."] * 2
    body, _ = segmented([page("判断题", "1分一个，20个", "简答题", "1.求a。", "2.求b。", "3.求c。")])
    assert [segment.items[0].text for segment in body.segments] == ["1.求a。", "2.求b。", "3.求c。"]


def test_a_title_of_a_series_at_the_head_of_two_pages_is_no_running_head() -> None:
    below = [f"SECTION – {name}" for name in ("I", "II", "IV")]
    first, second = (page(*(f"{title}" for title in below), number=n) for n in (1, 3))
    heads = [page("SECTION – III", f"{n}. Why?", number=n, top=0.05) for n in (2, 4)]
    texts_ = [item.text for item in flatten([*marked([first, heads[0], second, heads[1]])]).items]
    assert texts_.count("SECTION – III") == 2


def test_parts_whose_heads_say_nothing_count_anew() -> None:
    lines = [
        line
        for part in "abc"
        for line in (f"Part {part.upper()}", *(f"Question {n}\nFind {part}{n}." for n in (1, 2, 3)))
    ]
    body, _ = segmented([page(*(each for line in lines for each in line.split("\n")))])
    assert [segment.number for segment in body.segments] == [1, 2, 3] * 3


def test_a_head_printed_again_on_the_next_page_begins_no_question() -> None:
    pages = [page(f"Q {head} [5 marks]", "Find a.", number=n) for n, head in enumerate((1, 1, 2, 2, 3, 4), 1)]
    assert numbers(*pages) == [1, 2, 3, 4]


def test_a_section_numbered_by_letters() -> None:
    lines = ["Section A", "(a) Find a.", "(b) Find b.", "(c) Find c.", "Section B", "1. Find d.", "2. Find e."]
    assert numbers_of(*lines) == ["a", "b", "c", "1", "2"]


def test_lines_that_announce_questions_lead_the_next() -> None:
    lines = ["1. 1-1. a를 구하시오(1점).", "표를 기반으로 아래의 작업을 수행하시오.", "2. 2-1. b를 구하시오(1점)."]
    first, second = (draft.question for draft in read(page(*lines)).drafts)
    assert "표를" not in first and second.startswith("표를")


def test_a_picture_stands_where_its_caption_is_named() -> None:
    made = page("1. What is 2?", "2. Find x in 圖(二).", "(A) 1", "3. What is 3?", "圖(二)", "4. What is 4?")
    place = made.blocks[4].box
    figure = Block(kind="figure", box=place, picture=b"\x89PNG", caption="圖(二)")
    caption = replace(made.blocks[4], kind="caption")
    pages = [replace(made, blocks=[*made.blocks[:4], figure, caption, *made.blocks[5:]])]
    order = [item.text or "figure" for item in flatten(pages).items]
    assert order[1:4] == ["2. Find x in 圖(二).", "figure", "(A) 1"]


@pytest.mark.parametrize(
    ("lines", "at"),
    [
        (["Question 1", "What?", "Figure 1", "Question 2", "As Figure 1 shows.", "Question 3", "Why?"], 4),
        (["1. What?", "Figure 1", "2. Find x in Figure 1.", "END OF TEST"], 2),
        (["1. What?", "2. Find x in Figure 1 or Figure 1.", "3. Why?", "Figure 1"], 2),
    ],
)
def test_a_picture_goes_no_further_than_its_question(lines: list[str], at: int) -> None:
    made = page(*lines)
    blocks = [
        replace(block, kind="figure", caption="Figure 1", picture=b"\x89PNG", lines=[]) if line == "Figure 1" else block
        for line, block in zip(lines, made.blocks, strict=True)
    ]
    items = flatten([replace(made, blocks=blocks), page("Answers", "1. B", "2. C", number=2)]).items
    assert [item.line is None for item in items].index(True) == at


def _two_sections(titles: Sequence[str], task: str, answer: str) -> list[PageBlocks]:
    choices = (line for n in range(1, 6) for line in (f"{n}. 下列正确的是（ ）", "A. 一    B. 二    C. 三    D. 四"))
    tasks = (line for n in range(1, 6) for line in (f"{n}. {task}", answer))
    return [page(titles[0], *choices, top=0.05), page(titles[1], *tasks, number=2, top=0.05)]


@pytest.mark.parametrize(
    ("pages", "many"),
    [
        (_two_sections(["一、选择题", "二、填空题"], "求平方。", "答案：______"), 10),
        (_two_sections(["一、选择题", "二、填空题"], "求平方。", "【答案】9"), 10),
        (_two_sections(["[선택형]", "[서술형]"], "제곱을 구하시오.", "정답: ______"), 10),
        ([page(f"Part {part}: some", *(f"{n}. True or false? ____" for n in range(1, 6)), number=at)
          for at, part in enumerate("AB", 1)], 10),
        ([page(f"Short {kind}Questions Section", *(f"{n}. Find {kind}{n}." for n in range(1, 6)), number=at)
          for at, kind in enumerate(("", "Answer "), 1)], 10),
        ([page("Solve each equation.", *(f"{n}. x + {n} = 2;" for n in range(1, 9)), top=0.05)], 8),
        ([page("一、听录音，选出你所听到的图片", *(f"(   ) {n}. A.    B.    C." for n in range(1, 7)))], 6),
    ],
)  # fmt: skip
def test_a_section_of_its_own_is_no_key_and_short_lines_no_listing(pages: Sequence[PageBlocks], many: int) -> None:
    assert len(read(*pages).drafts) == many


@pytest.mark.parametrize("text", ["陆、海、空三军联合演习的选择", "伍、陆两位同学做实验", "拾、物招领的表达"])
def test_a_formal_numeral_that_is_a_word_begins_no_title(text: str) -> None:
    assert not is_section(text) and is_section(f"{text[0]}、計算題") and is_section("參、非選擇題")


@pytest.mark.parametrize(
    ("feet", "is_foot"),
    [
        (("give cm units", "round it up", "use metres"), False),
        (("参考数据 ln2", "提示 用换元", "取整数部分"), False),
        (("round to 2", "use metres", "keep to 3"), False),
        (("Sets and logic 4", "Mapping 5", "Groups of order 6"), True),
    ],
)
def test_a_line_apart_below_the_text_is_a_foot_by_its_number(feet: Sequence[str], is_foot: bool) -> None:
    pages = []
    for number, text in enumerate(feet, 1):
        made, foot = page(f"{number}. Find the value and", number=number), page(text, number=number, top=0.93)
        pages.append(replace(made, blocks=[*made.blocks, *foot.blocks]))
    assert [each.blocks[-1].kind == "footer" for each in marked(pages)] == [is_foot] * 3
