"""What papers of other boards print: marks in all places, numbers in brackets, keys below or with remarks."""

from __future__ import annotations

import pytest

from livek12.dataset_builders.ingest.questions.headings import follows, marked
from livek12.dataset_builders.ingest.questions.points import split_points
from tests.dataset_builders.ingest.papers import both, by_number, page, read

TOTAL = "(Total for Question 5 is {} marks)"
MARKED = "A prism.\n(a) Find.    [3]\n(b) Show.    [4]"


@pytest.mark.parametrize(
    ("text", "rest", "total", "parts"),
    [
        (f"[Maximum mark: 7]\n{MARKED}", MARKED, 7, [3, 4]),
        ("(Maximum marks 6) Solve it.", "Solve it.", 6, []),
        (f"A prism.\n(a) Find.\n(3)\n(b) Show.\n(4)\n{TOTAL.format(7)}", MARKED, 7, [3, 4]),
        (f"A prism.\n(a) Find.\n(3)\n(b) Show.\n(4)\n[Total: 7] {TOTAL.format(7)}", MARKED, 7, [3, 4]),
        (f"Which?\nA 2\nB 5\n(1)\n{TOTAL.format(1)}", "Which?\nA 2\nB 5", 1, []),
        (f"Use\n(2)\nto find it. {TOTAL.format(7)}", "Use\n(2)\nto find it.", 7, []),
    ],
)
def test_marks_below_before_and_behind(text: str, rest: str, total: float, parts: list[float]) -> None:
    assert split_points(text) == (rest, total, parts)


def test_numbers_in_brackets_are_those_of_questions_where_no_others_are() -> None:
    lines = [line for n in range(1, 7) for line in (f"({n}) What is value {n}?", "(A) a", "(B) b", "(C) c", "(D) d")]
    found = by_number(read(page(*lines)))
    assert [*found] == ["1", "2", "3", "4", "5", "6"] and [o.label for o in found["3"].options] == list("ABCD")


def test_numbers_in_brackets_are_parts_where_others_are_there() -> None:
    lines = [line for n in range(1, 5) for line in (f"{n}. Look at it.", "(1) Find it.", "(2) Show it.")]
    found = by_number(read(page(*lines)))
    assert [*found] == ["1", "2", "3", "4"] and "(2) Show it." in found["4"].question


def test_the_parts_of_one_question_are_no_questions() -> None:
    found = by_number(read(page("1. Look at it.", *(f"({n}) Find value {n}." for n in range(1, 8)))))
    assert [*found] == ["1"] and "(7) Find value 7." in found["1"].question


def test_a_key_below_each_question() -> None:
    choice = ["Q.{n} What is value {n}?", "(1) one", "(2) two", "(3) three", "(4) four", "Ans. ({a})"]
    lines = [line.format(n=n, a=n % 4 + 1) for n in range(1, 6) for line in choice]
    found = by_number(read(page(*lines)))
    assert [found[str(n)].answer for n in range(1, 6)] == [["2"], ["3"], ["4"], ["1"], ["2"]]
    assert [option.text for option in found["5"].options] == ["one", "two", "three", "four"]


def test_points_and_remarks_of_a_key_are_no_answer() -> None:
    lines = ["1. 二加三等于____。", "2. 四加五等于____。", "3. 一加一等于____。", "参考答案"]
    key = ["1．5（5分）　评分说明：只写过程得 2 分。", "2．9（5分）", "3．2"]
    found = by_number(read(page(*lines), page(*key, number=2)))
    assert [found[n].answer for n in "123"] == [["5"], ["9"], ["2"]]
    assert "评分说明" in (found["1"].solution or "")


def test_bare_marks_at_the_edge_of_a_column_are_marks() -> None:
    lines = [line for n in range(1, 6) for line in (f"{n}. Look at it.", f"(a) Find it.    {n}", "(b) Show it.    2")]
    found = by_number(read(page(*lines)))
    assert [found[str(n)].points for n in range(1, 6)] == [n + 2 for n in range(1, 6)]
    assert found["4"].part_points == [4, 2]


def test_marks_that_are_multiples_of_five_are_no_numbers_of_lines() -> None:
    pages = [page(*(f"{n}. Find it.    {n * 5}" for n in (at, at + 1)), number=at) for at in (1, 3)]
    assert [draft.points for draft in read(*pages).drafts] == [5, 10, 15, 20]


def test_a_number_behind_a_gap_in_one_line_is_none() -> None:
    found = by_number(read(page("1. Add up.    4", "2. Take away.", "3. Go on.")))
    assert found["1"].points is None and "4" in found["1"].question


def test_a_total_at_the_foot_of_pages_is_no_foot() -> None:
    total = "(Total for Question {} is 3 marks)"
    pages = [page("(3)", total.format(n), number=n, top=0.94) for n in (1, 2, 3)]
    assert all(block.kind == "text" for one in marked(pages) for block in one.blocks if "Total" in block.text)
    alike = [both(page(f"{n}. Find {n}.", number=n), page(f"(Total {n} marks)", number=n, top=0.94)) for n in (1, 2, 3)]
    assert [draft.points for draft in read(*marked(alike)).drafts] == [1, 2, 3]


def test_digits_behind_a_gap_are_the_text_of_a_head() -> None:
    drafts = by_number(read(page("문제 1. 0과 1을 더하시오.", "문제 2. 두 수를 더하시오.", "문제 3. 0을 빼시오.")))
    assert [*drafts] == ["1", "2", "3"] and drafts["3"].question == "0을 빼시오."


def test_spaces_before_a_number_cost_no_more_than_their_count() -> None:
    drafts = by_number(read(page(" " * 5_000 + "1. What is it?", "2. What else?")))  # cubic: hours
    assert [*drafts] == ["1", "2"] and drafts["1"].question == "What is it?"


def test_a_total_in_brackets_is_no_head_where_numbers_were_not_read() -> None:
    heads = ["1. Given", "2. Given", "Given", "4. Given", "Given", "6. Given", "7. Given"]
    pairs = [(f"{head} {n}, find x.", f"(Total for Question {n} is 3 marks)") for n, head in enumerate(heads, 1)]
    drafts = by_number(read(page(*(line for pair in pairs for line in pair))))
    assert [*drafts] == ["1", "2", "4", "6", "7"]
    assert all(draft.question.startswith("Given") for draft in drafts.values())


@pytest.mark.parametrize(
    ("last", "text", "goes_on"),
    [
        ("三、完形填空", "四、语法填空：共6小题", True),
        ("三、完形填空", "五、写作", False),
        ("", "一、选择题", False),
        ("Section I", "四、语法填空", False),
    ],
)
def test_titles_of_sections_count(last: str, text: str, goes_on: bool) -> None:
    assert follows(text, last) == goes_on


def test_the_last_section_has_its_gaps_though_no_number_begins_a_line() -> None:
    lines = ["一、选择题", *(line for n in (1, 2) for line in (f"{n}. Which?", "A. a", "B. b", "C. c", "D. d"))]
    gaps = ["二、语法填空", "The bridge, 3 (build) in 1902, is closed. Its beams 4 (become) weak, 5 it was old."]
    paper = read(page(*lines, *gaps))
    assert [draft.number for draft in paper.drafts] == ["1", "2", "3", "4", "5"] and not paper.errors
    assert "bridge" not in by_number(paper)["2"].options[-1].text


def test_a_choice_of_a_paper_without_any_key_is_doubted() -> None:
    lines = [line for n in (1, 2) for line in (f"{n}. Which?", "A. a", "B. b", "C. c", "D. d")]
    without = read(page(*lines))
    assert all("no key was found" in doubt.text for draft in without.drafts for doubt in draft.doubts)
    assert all(draft.doubts for draft in without.drafts)
    keyed = read(page(*lines, "参考答案", "1. A", "2. B"))
    assert not any("no key was found" in doubt.text for draft in keyed.drafts for doubt in draft.doubts)
