"""Bounds of questions: where they begin and end, what is theirs, and doubts that a second sign settles."""

from __future__ import annotations

from dataclasses import replace

import pytest

from livek12.dataset_builders.ingest.pages.blocks import Block, PageBlocks
from livek12.dataset_builders.ingest.questions.headings import follows, is_notice
from livek12.dataset_builders.ingest.questions.numbering import anchors
from livek12.dataset_builders.ingest.questions.passages import _is_kept
from livek12.dataset_builders.ingest.questions.points import split_points
from livek12.dataset_builders.ingest.questions.stream import flatten
from tests.dataset_builders.ingest.papers import figure, page, read, segmented


def drawn(made: PageBlocks, place: int, *rows: str, kind: str = "figure", wide: float = 0.0) -> PageBlocks:
    """A page with a drawing or table in place of a line."""
    block = made.blocks[place]
    box = replace(block.box, right=block.box.right + wide)
    lines = [replace(block.lines[0], text=row) for row in rows]
    own = Block(kind="table" if kind == "table" else "figure", box=box, lines=lines, picture=b"\x89PNG")
    return replace(made, blocks=[*made.blocks[:place], own, *made.blocks[place + 1 :]])


def doubts(made: PageBlocks, number: str) -> str:
    """The doubts of a question, in words."""
    return "; ".join(doubt.text for draft in read(made).drafts if draft.number == number for doubt in draft.doubts)


def test_labels_and_an_empty_bracket_may_be_set_as_formulas() -> None:
    row = r"$A.-1$    $B.(0,1)$    $\mathrm{C}.x$    $D.$ both"
    (draft,) = read(page("1. Find $x$    $($    $)$", r"$A.-1$    $B.(0,1)$    $C.x$    $D.$ both")).drafts
    assert draft.question == "Find $x$    (    )"
    assert [option.text for option in draft.options] == ["$-1$", "$(0,1)$", "$x$", "both"]
    assert flatten([page(row, "(    )$x$")]).items[1].text == "(    )$x$"
    assert flatten([page(r"$\mathrm{A. CO}_{2}$")]).items[0].text == r"A. $\mathrm{CO}_{2}$"


def test_two_lists_of_rules_end_at_the_title_of_the_first_section() -> None:
    rules = ["注意事项：", "1. 试卷写姓名。", "2. 考生不得交谈。", "宣言：", "1. 考试独立答题。", "2. 考生不作弊。"]
    parts = ["一、填空（3分）", "1. 面积为____", "2. 求 y。", "二、辨析题（2分）", "1. 为什么？", "2. 为何？"]
    body, _ = segmented(
        [page(*rules, *parts, "三、编程（5分）", "请写一个算法。", "四、设计（5分）", "1. 求 z。", top=0.02)]
    )
    heads = [(each.section.title[:1], each.number) for each in body.segments]
    assert heads == [("一", 1), ("一", 2), ("二", 1), ("二", 2), ("三", 1), ("四", 1)]
    assert not any(each.guess for each in body.segments)


@pytest.mark.parametrize(
    ("lines", "heads"),
    [
        (["temp1 = f(x);", "求 y。", "temp2 = g(x);", "求 z。"], []),
        ([f"{n}) {'int a;' if n % 2 else 'char c; {'}" for n in range(1, 9)], []),
        ([f"{n}) What is {n}?" for n in range(1, 4)], [1, 2, 3]),
    ],
)
def test_code_has_no_heads(lines: list[str], heads: list[int]) -> None:
    assert [head.number for head in anchors(segmented([page(*lines)])[1].items)] == heads


@pytest.mark.parametrize(("text", "last"), [("第二题（20分）", "第一题 选择题"), ("三、求", "二、填空")])
def test_titles_and_heads_of_one_series_follow_each_other(text: str, last: str) -> None:
    assert follows(text, last) and not follows(last, text)


def test_a_title_in_a_drawing_of_boxes_is_that_of_its_section() -> None:
    made = page(
        "试卷", "boxes", "1. 树是（  ）。", "A. 一    B. 二    C. 三", "2. 栈是（  ）。", "A. 一    B. 二    C. 三"
    )
    paper = read(drawn(made, 1, "得分 评阅人一、选择题（共2分，每小题1分）", "1    2"))
    assert [(draft.section[:5], draft.points) for draft in paper.drafts] == [("一、选择题", 1), ("一、选择题", 1)]


def test_points_in_a_box_are_those_of_the_line_beside_it() -> None:
    made = page("box", "1. 计算题", "求传动轴的强度。", "box", "2. 计算题", "求压杆的载荷。")
    for place, points in ((0, "题分\t12"), (3, "题分\t15")):
        made = drawn(made, place, points, "得分\t", kind="table")
        box = replace(made.blocks[place].box, bottom=made.blocks[place + 1].box.bottom + 0.001)
        made.blocks[place] = replace(made.blocks[place], box=box)
    assert [draft.points for draft in read(made).drafts] == [12, 15]


def test_a_box_for_the_candidate_is_in_no_question() -> None:
    lines = "1. Why?", "box", "2. How?"
    assert "|" not in read(drawn(page(*lines), 1, "성명\t수험번호\t", kind="table")).drafts[0].question
    assert "|" in read(drawn(page(*lines), 1, "学号\t姓名\t班级", kind="table")).drafts[0].question


def test_pictures_go_to_the_questions_that_their_captions_name() -> None:
    made = page(
        "1. 如图，求 x。", "2. 如图，求 y。", "figure", "（第1题）    （第2题）", "3. 求 z。", "（第4题）", "4. 求 u。"
    )
    made = drawn(drawn(made, 2, ""), 5, "A", "（第4题）")
    left = made.blocks[2]
    right = replace(left, box=replace(left.box, left=0.4, right=0.6))
    paper = read(replace(made, blocks=[*made.blocks[:3], right, *made.blocks[3:]]))
    assert [[each.caption for each in draft.figures] for draft in paper.drafts] == [
        ["（第1题）"],
        ["（第2题）"],
        [],
        ["（第4题）"],
    ]
    assert not any("题）" in draft.question or draft.doubts[1:] for draft in paper.drafts)


def test_a_picture_named_by_no_question_stays() -> None:
    paper = read(figure(page("1. 求 x。", "2. 求 y。"), "（第7题）"))
    assert [len(draft.figures) for draft in paper.drafts] == [0, 1]


def test_a_count_is_a_word_of_its_own() -> None:
    assert not read(page("Most written questions can be solved by hand.", "1. Why?", "2. How?")).errors


def test_points_of_blanks_may_differ_by_numbers() -> None:
    title = "一、填空题(1-2 题每空 1 分，第 3 题每空 2 分，共 5 分)"
    paper = read(page(title, "1. 一为____。", "2. 二为____，三为____。", "3. 四为____。"))
    assert [draft.points for draft in paper.drafts] == [1, 2, 2]


def test_shorter_options_of_a_quarter_of_a_section_are_no_mistake() -> None:
    def made(many: int, step: int = 1) -> PageBlocks:
        fewer = range(0, many * step, step)
        rows = [f"{a}. {a}{n}    " for n in range(12) for a in "ABCDE"[: 4 + (n not in fewer)]]
        lines = "".join(rows).replace("    A.", "\nA.").split("\n")
        return page("Section A", *(line for n, row in enumerate(lines, 1) for line in (f"{n}. Which?", row)), top=0.01)

    assert "those of most others" in doubts(made(2), "1")
    assert "those of most others" not in doubts(made(4), "1")
    assert "those of most others" in doubts(made(4, 3), "1")


@pytest.mark.parametrize(
    ("text", "notice"),
    [("*** End ***", False), ("이제 듣기 문제가 끝났습니다. 18번부터", True), ("end", False), ("the end of it", False)],
)
def test_notices(text: str, notice: bool) -> None:
    assert is_notice(text) == notice


@pytest.mark.parametrize("end", ["The End", "*** End ***"])
def test_the_end_is_the_last_line_of_a_paper(end: str) -> None:
    first, last = read(page("1. Who is Mary?", end, "Mary closed the book.", "2. Why?", end)).drafts
    assert first.question.endswith("Mary closed the book.") and last.question == "Why?"


def test_a_word_is_explained_in_its_question() -> None:
    assert _is_kept("* senescence: 노화") and not _is_kept("* senescence is the ageing of cells")


@pytest.mark.parametrize(
    ("text", "total", "parts"),
    [
        ("设 T。\n1）证明。（10分）\n2）求热容。（10分）", 20, [10, 10]),
        ("设 T。1）写出流程（5分）。\n2）绘图（10分）。", 15, [5, 10]),
    ],
)
def test_parts_by_a_number_and_half_a_bracket(text: str, total: float, parts: list[float]) -> None:
    assert split_points(text)[1:] == (total, parts)


def test_a_question_or_a_part_of_it_that_asks_to_choose_has_options() -> None:
    made = page("1. (a) (2 points) Find the sum.", "(b) (3 points) Choose one of the following.", "2. How?")
    assert "asks to choose" in doubts(made, "1")
    assert "asks to choose" in doubts(page("1. Choose one of the following things.", "2. How?"), "1")
