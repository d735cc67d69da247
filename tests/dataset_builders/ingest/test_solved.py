"""Solved papers given as keys: the difference to the paper is the key."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from livek12.core.records import Option
from livek12.dataset_builders.ingest.drafts import Draft, IngestedPaper
from livek12.dataset_builders.ingest.keys.answers import in_form, split_answered, split_text
from livek12.dataset_builders.ingest.keys.entries import Entry
from livek12.dataset_builders.ingest.keys.matching import is_torn
from livek12.dataset_builders.ingest.keys.words import PaperWords, QuestionWords
from livek12.dataset_builders.ingest.pages.blocks import Block, Box, Line, PageBlocks
from livek12.dataset_builders.ingest.paper import AnswerKey
from livek12.dataset_builders.ingest.questions import points
from tests.dataset_builders.ingest.papers import both, by_number, figure, page, read

PAPER = (
    "1. 所有的输入输出接口电路都包括（    ）端口。",
    "A. 控制 B. 状态 C. 数据 D. 地址",
    "2. 系统总线按信号的类型分为____、____和____。",
    "3. 简述处理器响应中断的条件。",
    "4. 已知集合$A=\\{1,2\\}$，则它的补集是$B=$____。",
    "5. 一个四位小数取近似值为4.68，它的最大值是____，最小值是____ .",
)
SOLVED = (
    "1. 所有的输入输出接口电路都包括（C）端口。",
    "A. 控制 B. 状态 C. 数据 D. 地址",
    "2. 系统总线按信号的类型分为 地址总线 、数据总线和__控制总线__。",
    "3. 简述处理器响应中断的条件。",
    "解：有请求，",
    "且开中断。",
    "4. 已知集合$A=\\{1,2\\}$，则它的补集是$B=\\{3\\}$。",
    "解：全集去掉它。",
    "5. 一个四位小数取近似值为4.68，它的最大值是 4.6849 ，最小值是 4.6750 .",
)


def keyed_by(*lines: str) -> IngestedPaper:
    return read(page(*PAPER), key=key_of(*lines))


def test_the_difference_is_the_key() -> None:
    drafts = by_number(keyed_by(*SOLVED))
    assert [drafts[number].answer for number in "12345"] == [
        ["C"],
        ["地址总线", "数据总线", "控制总线"],
        [],
        ["$\\{3\\}$"],
        ["4.6849", "4.6750"],
    ]
    assert drafts["3"].solution == "有请求，且开中断。"
    assert drafts["4"].solution == "全集去掉它。"
    assert drafts["1"].solution is drafts["5"].solution is None
    assert {draft.answer_from for draft in drafts.values()} == {"k"}


@pytest.mark.parametrize(
    ("line", "solution"),
    [
        ("解：输入以 $ 结束，", "输入以 $ 结束，且开中断。"),  # printed: no formula begins there
        ("解：先有 $p=1$，再以 $ 结束，", "先有 $p=1$，再以 $ 结束，且开中断。"),
    ],
)
def test_a_printed_dollar_begins_no_formula(line: str, solution: str) -> None:
    assert by_number(keyed_by(*SOLVED[:4], line, *SOLVED[5:]))["3"].solution == solution


_PIECES = st.lists(st.sampled_from(["a", "+b", "=c", "-d", "$", " 且 ", "开中断"]), min_size=3, max_size=12)


@given(_PIECES)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_formulas_of_a_key_are_whole(pieces: list[str]) -> None:
    tail = "".join(pieces) + "$" * (pieces.count("$") % 2)
    paper = keyed_by(*SOLVED[:3], f"{SOLVED[3]}$x+y{'$' * (not tail.startswith('$'))}{tail}", *SOLVED[6:])
    draft = by_number(paper)["3"]
    assert not (draft.solution or "").count("$") % 2
    assert not any(answer.count("$") % 2 for answer in draft.answer)


def test_letters_before_numbers_and_signs_behind_options_are_the_answers() -> None:
    stems = [f"{n}. 輸入輸出介面的第{name}種端口是哪一個？" for n, name in enumerate("甲乙丙", 1)]
    options = ("A. 控制", "B. 状态", "C. 数据")
    sheet = page(*(line for stem in stems for line in (stem, *options)))
    filled = [line for stem, label in zip(stems, "BCA", strict=True) for line in (f"（ {label} ） {stem}", *options)]
    signed = [line for stem in stems for line in (stem, *options[:2], options[2] + "+")]
    paged = [line for stem in stems for line in (stem, *options[:2], options[2] + " 7")]
    every = [(filled, ["B", "C", "A"]), (signed, ["C", "C", "C"]), (paged, ["", "", ""])]
    for form in ("{} ✓", "✓ {}"):
        own = [[form.format(each) if each[0] == label else each for each in options] for label in "BCA"]
        every += [([line for at, stem in enumerate(stems) for line in (stem, *own[at])], ["B", "C", "A"])]
    for lines, answers in every:
        key = AnswerKey(name="k", pages={"k": [page(*lines)]})
        assert ["".join(draft.answer) for draft in read(sheet, key=key).drafts] == answers


_DEVICES = ("page", "bus", "disk", "clock", "stack", "cache")
_EXPLAIN = [f"{n}. Explain how the device number {7 * n} handles a {name} fault." for n, name in enumerate(_DEVICES, 1)]


def listed(*lines: str, paper: tuple[str, ...] = tuple(_EXPLAIN)) -> IngestedPaper:
    pages = [page(*lines[at : at + 45], number=1 + at // 45) for at in range(0, len(lines), 45)]
    return read(page(*paper), key=AnswerKey(name="k", pages={"k": pages}))


def test_a_list_that_goes_on_behind_the_paper_tells_of_lost_questions() -> None:
    paper = listed(*(f"{n}. It is the unit of {n}." for n in range(1, 13)))
    assert [draft.solution or draft.answer for draft in paper.drafts] == [
        [f"It is the unit of {n}"] for n in range(1, 7)
    ]
    assert sum("was not found" in line for line in paper.errors) == 6


def test_a_key_of_two_forms_is_not_taken() -> None:
    paper = listed(*(f"{n}. It is the value {form}{n}." for form in range(10) for n in range(1, 7)))
    assert not any(draft.solution or draft.answer for draft in paper.drafts)
    assert any("several keys" in line for line in paper.unmatched)


def test_a_key_with_its_sections_in_another_order() -> None:
    sections = [
        [f"Section {name}", *(f"{n}. Explain the idea of {of} {n} here." for n in (1, 2, 3))]
        for name, of in (("A", "fish"), ("B", "tree"))
    ]
    keys = [[f"Section {name}", *(f"{n}. {of} {n}" for n in (1, 2, 3))] for name, of in (("B", "Big"), ("A", "Air"))]
    paper = listed(*keys[0], *keys[1], paper=(*sections[0], *sections[1]))
    assert [draft.answer for draft in paper.drafts] == [[f"{of} {n}"] for of in ("Air", "Big") for n in (1, 2, 3)]


def test_a_copy_without_answers_is_said_once() -> None:
    key = AnswerKey(name="k", pages={"k": [page(*PAPER)]})
    paper = read(page(*PAPER), key=key)
    assert sum("no answer was read" in line for line in paper.errors) == 1
    assert not any(doubt.kind == "answer" for draft in paper.drafts for doubt in draft.doubts)


def test_a_paper_that_is_printed_again_with_its_answers_is_their_key() -> None:
    sheet = ("1. 简述处理器响应中断的条件是什么。", "2. 简述进程的五种状态及其转换。", "3. 简述虚拟内存怎样换页。")
    solved = [line for n, stem in enumerate(sheet) for line in (stem, "解：" + "甲乙丙"[n] * 5 + "。", *["再算。"] * 9)]
    drafts = read(page(*sheet), page("大学《原理》考试试卷A卷 答案", *solved, number=2)).drafts
    assert len(drafts) == 3
    assert [(draft.solution or "")[:5] for draft in drafts] == ["甲" * 5, "乙" * 5, "丙" * 5]


def test_lines_of_a_key_that_are_left_out_are_named() -> None:
    answers = "1. 12", "2. 13", "3. 第二部分的答案写在下面，评卷时请逐条对照给分。", "答案：14"
    sheet = page("1. How many are there?", "2. How many are left?", "3. How many are lost?")
    paper = read(sheet, key=key_of(*answers))
    doubts = [[doubt.text for doubt in draft.doubts if "left out" in doubt.text] for draft in paper.drafts]
    assert doubts[:2] == [[], []] and "第二部分" in doubts[2][0]


def test_a_copy_in_another_order_is_matched_by_its_words() -> None:
    first, third, fourth = SOLVED[:2], SOLVED[3:6], SOLVED[6:8]
    lines = (
        third[0].replace("3.", "1."),
        *third[1:],
        fourth[0].replace("4.", "2."),
        fourth[1],
        "3" + first[0][1:],
        first[1],
    )
    drafts = by_number(keyed_by(*lines))
    assert drafts["1"].answer == ["C"] and drafts["3"].solution == "有请求，且开中断。"


def test_heads_of_a_copy_begin_the_keys_of_questions_in_another_wording_too() -> None:
    sheet = [f"Uppgift {n}: Rita en graf som har {many} noder och {many} kanter." for n, many in enumerate("579", 1)]
    solved = sheet[0], "Se figuren.", "Uppgift 2: Grafer", "Vi ritar en cykel.", sheet[2], "Den finns inte."
    drafts = read(page(*sheet), key=AnswerKey(name="k", pages={"k": [page(*solved)]})).drafts
    assert [draft.solution for draft in drafts] == ["Se figuren.", "Grafer\nVi ritar en cykel.", "Den finns inte."]


def test_parts_have_their_answers_and_lines_of_the_paper_stay_in_them() -> None:
    parts = ("(a) Why is the first of them done by all?", "(b) Write a function that will return True.")
    stem, second = "1. Read this short text on sorting by comparison.", "2. Name the largest number of nodes in a tree."
    solved = (
        stem, parts[0], "Answer: It is so by this rule.", parts[1], "Answers", "if it is sorted in this way:",
        "return True", second, "Solution 2. It is seven.",
    )  # fmt: skip
    key = AnswerKey(name="k", pages={"k": [page(*solved)]})
    first, last = read(page(stem, *parts, second), key=key).drafts
    assert first.solution == "(a) It is so by this rule\n(b) if it is sorted in this way: return True"
    assert last.solution == "It is seven."


def listing(*lines: str, ask: str) -> PageBlocks:
    made = page(ask, *lines)
    return replace(
        made,
        blocks=[
            made.blocks[0],
            *(replace(each, lines=[replace(each.lines[0], pitch=0.01)]) for each in made.blocks[1:]),
        ],
    )


def test_a_listing_that_a_copy_fills_in_is_whole() -> None:
    sheet = "1. Write the bodies of these two short functions.", "2. Say what each of them gives for the number two."
    empty = "int twice(int number) {", "}", "int half(int number) {", "}"
    filled = empty[0], "return number + number;", *empty[1:3], "return number / 2;", empty[3]
    paper, key = ([listing(*lines, ask=sheet[0]), page(sheet[1], number=2)] for lines in (empty, filled))
    key[1] = page(sheet[1], "Solution: It gives four.", number=2)
    drafts = read(*paper, key=AnswerKey(name="k", pages={"k": key})).drafts
    assert [line in (drafts[0].solution or "") for line in filled] == [True] * 6


def test_a_table_that_a_copy_fills_in_is_whole() -> None:
    def sheet(*rows: str, head: str) -> PageBlocks:
        box = Box(page=1, left=0.1, top=0.2, right=0.5, bottom=0.3)
        lines = [Line(text=row, box=box) for row in rows]
        made = page(head)
        return replace(made, blocks=[*made.blocks, Block(kind="table", box=box, lines=lines)])

    head, last = (
        "1. Complete this table of the two gates with words.",
        "2. Say what each of them gives for the number two.",
    )
    paper = sheet("Gate\tName\tUse", "first\t\t", "second\t\t", head=head), page(last, number=2)
    filled = "Gate\tName\tUse", "first\tAND\tboth are true", "second\tOR\tany is true"
    copy = sheet(*filled, head=head), page(last, "Solution: It gives four.", number=2)
    first = read(*paper, key=AnswerKey(name="k", pages={"k": [*copy]})).drafts[0]
    assert [row in (first.solution or "") for row in ("| Gate | Name | Use |", "| second | OR | any is true |")] == [
        True
    ] * 2
    assert not any("picture only" in doubt.text for doubt in first.doubts)


def test_options_that_a_copy_sets_otherwise_are_its_answers() -> None:
    stems = [f"{n}. 輸入輸出介面的第{name}種端口是哪一個？" for n, name in enumerate("甲乙丙", 1)]
    lines = [line for stem in stems for line in (stem, "A. 控制", "B. 状态", "C. 数据", "D. 地址")]
    copy = page(*lines)
    for at in (2, 8, 11):
        copy.blocks[at].lines[:] = [replace(copy.blocks[at].lines[0], look="#ff0000")]
    drafts = read(page(*lines), key=AnswerKey(name="k", pages={"k": [copy]})).drafts
    assert [draft.answer for draft in drafts] == [["B"], ["C"], ["A"]]


def test_answers_to_several_parts_below_the_last_are_not_the_last_ones_alone() -> None:
    parts = "(a) Name the first of the two cases here.", "(b) Name the second of the two cases.", "(c) Give the sum."
    stem, second = "1. Read this short text on sorting by comparison.", "2. Name the largest number of nodes in a tree."
    solved = stem, *parts, "The first one is seven.", second, "It is all of these nodes.", "It follows."
    first = read(page(stem, *parts, second), key=key_of(*solved)).drafts[0]
    assert first.solution == "The first one is seven."


def test_points_that_a_copy_adds_to_a_question_begin_no_solution() -> None:
    sheet = "1. Say how many minutes the whole journey takes:", "2. Say what it gives for the number two:"
    solved = f"{sheet[0]} (8pts)", "(1) All of the night.", f"{sheet[1]} (12 pts)", "(1) Four of them."
    drafts = read(page(*sheet), key=key_of(*solved)).drafts
    assert [draft.solution for draft in drafts] == ["(1) All of the night.", "(1) Four of them."]


def test_a_picture_above_the_solution_of_a_copy_is_doubted() -> None:
    sheet = "1. Say in a few words what this figure shows.", "2. Say what it gives for the number two."
    solved = page("Solution: It is so.", top=0.5)
    copy = [both(figure(page(sheet[0]), ""), solved), page(sheet[1], "Solution: It gives four.", number=2)]
    drafts = read(page(*sheet), key=AnswerKey(name="k", pages={"k": copy})).drafts
    assert [draft.solution for draft in drafts] == ["It is so.", "It gives four."]
    doubted = ["picture only" in "".join(doubt.text for doubt in draft.doubts) for draft in drafts]
    assert doubted == [True, False]


def test_answers_behind_a_copy_are_a_list() -> None:
    lines = [line for line in PAPER if line[0] in "123"]
    key = AnswerKey(pages={"k": [page(*lines, "1. C", "2. 总线", "3. 有请求")]}, name="k")
    drafts = read(page(*lines), key=key).drafts
    assert [draft.answer[:1] for draft in drafts][:1] == [["C"]]


def test_a_question_of_another_paper_has_no_key() -> None:
    other = ("3. 试论述操作系统怎样管理内存与文件。", "解：分页。")
    drafts = by_number(keyed_by(*SOLVED[:3], *other, *SOLVED[6:]))
    assert not drafts["3"].answer and not drafts["3"].solution
    assert any(doubt.kind == "answer" for doubt in drafts["3"].doubts)


@pytest.mark.parametrize("lines", [("1. C", "2. 总线", "3. 略", "4. 空集"), PAPER])
def test_a_list_of_answers_and_an_unsolved_copy_are_no_solved_paper(lines: tuple[str, ...]) -> None:
    drafts = by_number(keyed_by(*lines))
    assert drafts["1"].answer == (["C"] if lines != PAPER else [])


def test_an_answer_that_runs_into_the_solution_is_doubted() -> None:
    solved = (*SOLVED[:2], "2. 系统总线按信号的类型分为地址", "解：它们是", "数据总线、和、和。", *SOLVED[3:])
    draft = by_number(keyed_by(*solved))["2"]
    assert not draft.answer or any(doubt.kind == "answer" for doubt in draft.doubts)


def test_answers_below_each_part_leave_the_parts_in_the_question() -> None:
    text = "Read.\n(i) Which?\na) one\nb) two\nAnswer: b\n(ii) Why?\nAnswer: It is so.\nAnd more.\n(iii) How?"
    question, answer, solution = split_answered(text)
    assert question == "Read.\n(i) Which?\na) one\nb) two\n(ii) Why?\n(iii) How?"
    assert answer is None and solution == "(i) b\n(ii) It is so.\nAnd more."


def test_answers_below_a_bare_head_leave_the_question_and_places_to_write_stay() -> None:
    text = "Read.\na. [1 points] Which?\nAnswer\nIt is the second of these two.\nb. [3 points] Why?\nAnswer"
    question, _, solution = split_answered(text)
    assert question == "Read.\na. [1 points] Which?\nb. [3 points] Why?\nAnswer"
    assert solution == "(a) It is the second of these two."
    assert points.split_points(question)[1:] == (4, [1, 3])


def test_a_solved_paper_covers_the_questions_whose_keys_it_gives() -> None:
    first = Entry(1, "C", source="key.pdf")
    given = AnswerKey(entries=[first], name="key.pdf", pages={"key.pdf": [page(*SOLVED)]})
    paper = read(page(*PAPER), key=given)
    assert not any("keys, for" in doubt.text for draft in paper.drafts for doubt in draft.doubts)


def test_a_solution_is_whole_lines_of_the_copy() -> None:
    lines = (
        "1. 求方程$x^2=4$的正根，并写出过程。(replace by answer)",
        "2. 这些接口电路都是什么，都包括什么端口？    （    ）",
        "A. 控制 B. 状态",
    )
    solved = (
        "1. 求方程$x^2=4$的正根，并写出过程。", "解：由平方根（见 by answer 书）得", "(1) $x=\\sqrt{4}=2$",
        "2. 这些接口电路都是什么，都包括什么端口？    （ B ）", "A. 控制 B. 状态",
    )  # fmt: skip
    key = AnswerKey(name="k", pages={"k": [page(*solved)]})
    first, second = read(page(*lines), key=key).drafts
    assert first.solution == "由平方根（见 by answer 书）得\n(1) $x=\\sqrt{4}=2$"
    assert second.answer == ["B"] and second.solution is None


@pytest.mark.parametrize(
    ("solution", "torn"),
    [
        ("x=2", False),
        ("so\n$\\infty$\nthus", True),
        ("1    1    2", True),
        ("${}^{2x}$ dy", True),
        ("波形如图：", True),
        ("$\\sqrt\\overrightarrow{2nn}$", True),
        ("$=$    $\\ge 2$", True),
    ],
)
def test_pieces_of_formulas_tear_a_solution(solution: str, torn: bool) -> None:
    assert is_torn(solution) == torn


@pytest.mark.parametrize(
    ("text", "answer", "solution"),
    [
        ("⑤ (무형자산이 아님)", "5", "(무형자산이 아님)"),
        ("③\n상각비는 3", "3", "상각비는 3"),
        ("① x\n② y", "① x", "② y"),
        ("정답 ④. ②는\n① 아니다", "4", "②는\n① 아니다"),
        ("正确答案 B", "B", ""),
        ("【解析】由题意得\n故选 B．", "B", "由题意得\n故选 B．"),
    ],
)
def test_labels_with_their_reasons(text: str, answer: str, solution: str) -> None:
    options = [Option(label=label, text=f"{label}{label}") for label in ("ABCDE" if answer == "B" else "12345")]
    draft = Draft(id="q", number="1", language="ko", question_type="single_choice", question="x", options=options)
    reading = in_form(draft, *split_text(text, draft)[:2])
    assert ("".join(reading.answer), reading.solution) == (answer, solution)


def test_letters_before_most_reasons_are_the_answers() -> None:
    options = "A. 控制 B. 状态 C. 数据 D. 地址"
    stems = ["输入输出接口电路包括哪种端口？", "总线按信号类型分为哪几种？", "处理器响应中断的条件是什么？"]
    paper = [line for n, stem in enumerate(stems, 1) for line in (f"{n}. {stem}", options)]
    reasons = ["1. B    由定义可知。", "2. 【解析】 D 推理判断题。", "3. A 上文提到控制。"]
    drafts = read(page(*paper), key=key_of(*reasons)).drafts
    assert [(draft.answer, draft.solution) for draft in drafts] == [
        (["B"], "由定义可知"), (["D"], "推理判断题。"), (["A"], "上文提到控制"),
    ]  # fmt: skip
    same = read(page(*paper), key=key_of(*(f"{n}. A 点在直线上。" for n in (1, 2, 3)))).drafts
    assert not any(draft.answer == ["A"] for draft in same)


def key_of(*lines: str) -> AnswerKey:
    return AnswerKey(name="k", pages={"k": [page(*lines)]})


def test_only_lines_between_questions_end_a_solution() -> None:
    words = PaperWords(["while (1) {", "}", "return x;"], ["Ch5 Induction", "Part B", "1."])
    assert words.end(["x = 1;", "}"]) == 2
    assert words.end(["It follows.", "Ch5"]) == words.end(["It follows.", "Part B"]) == 1


def test_keys_with_the_words_of_other_questions_are_doubted() -> None:
    words = QuestionWords({"a": "lexical analysis tokens", "b": "parse grammar trees", "c": "stack frames activation"})
    own = {"a": "tokens of the analysis", "b": "draw trees of the grammar", "c": "frames on the stack"}
    assert not words.are_of_others(own)
    assert words.are_of_others(
        {"a": f"{own['b']} {own['c']}", "b": f"{own['c']} {own['a']}", "c": f"{own['a']} {own['b']}"}
    )


def test_points_in_front_of_an_answer_and_names_of_the_question_end_nothing() -> None:
    draft = Draft(id="q", number="1", language="zh", question_type="short_answer", question="x")
    assert split_text("(5分) 12", draft) == ("12", "", "")
    words = PaperWords(["Plan 2 costs 40. Which is cheaper?"], ["Plan 2 costs 40. Which is cheaper?"])
    assert words.end(["So the cheaper is", "Plan 2"], "Plan 2 costs 40. Which is cheaper?") == 2
