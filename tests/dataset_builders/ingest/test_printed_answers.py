"""Answers printed with the questions of a paper, known by their heads or by how they are set; and running heads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from livek12.core.records import Option
from livek12.dataset_builders.ingest.drafts import IngestedPaper
from livek12.dataset_builders.ingest.keys.answers import split_answered
from livek12.dataset_builders.ingest.keys.ink import solution_of, take_ink
from livek12.dataset_builders.ingest.pages.blocks import TICKED, PageBlocks
from livek12.dataset_builders.ingest.questions.headings import marked
from livek12.dataset_builders.ingest.questions.stream import flatten
from livek12.dataset_builders.ingest.report import counts, write_report
from tests.dataset_builders.ingest.papers import both, by_number, figure, page, pages_of, paper_of, read
from tests.dataset_builders.ingest.pdf_making import plain_pdf, typeset

NAMES = ("Octanoic acid", "Formic acid OR Methanoic acid", "Glucose", "Ethene")
FORMULAS = ("C8H16O2", "CH2O2", "C6H12O6", "C2H4")
OPTIONS = "A. one #h(2em) B. two #h(2em) C. three #h(2em) D. four"


def printed(questions: list[str], folder: Path) -> IngestedPaper:
    pytest.importorskip("pypdfium2")
    body = "\n\n".join(rf"{number}\. {text}" for number, text in enumerate(questions, 1))
    return paper_of(typeset(body, folder / "paper.pdf"))


@pytest.mark.parametrize(
    "set_apart",
    [
        "#box(stroke: 0.5pt, inset: 3pt)[{}]",
        "#h(2cm) #box(stroke: 0.5pt, inset: 3pt)[{}]",
        "\\ #box(stroke: 0.5pt, inset: 3pt)[{}]",
        "\\ #text(fill: red)[{}]",
    ],
)
def test_what_is_set_apart_below_most_questions_is_their_answer(set_apart: str, tmp_path: Path) -> None:
    sheet = [f"Name the compound {formula}." for formula in FORMULAS]
    paper = printed([f"{ask} {set_apart.format(name)}" for ask, name in zip(sheet, NAMES, strict=True)], tmp_path)
    assert [draft.answer for draft in paper.drafts] == [[name] for name in NAMES]
    assert [draft.question for draft in paper.drafts] == sheet
    assert all(
        "its key is told from how it is set: compare it" in {own.text for own in draft.doubts} for draft in paper.drafts
    )


def test_what_is_set_apart_below_a_part_is_the_key_too(tmp_path: Path) -> None:
    parts = [rf"Use {formula}. \ (a) Name it. \ #text(fill: red)[{name}] \ (b) Why? \ #text(fill: red)[By {name}]"
             for formula, name in zip(FORMULAS, NAMES, strict=True)]  # fmt: skip
    for draft, name in zip(printed(parts, tmp_path).drafts, NAMES, strict=True):
        assert name not in draft.question
        key = " ".join([*draft.answer, draft.solution or ""])
        assert key.replace("(a) ", "").replace("(b) ", "").split() == f"{name} By {name}".split()


def test_a_picture_behind_the_head_of_a_solution_is_the_solutions(tmp_path: Path) -> None:
    drawn = figure(page("1. Find a.", "【答案】 5", "【解析】 as drawn:"), "")
    (draft,) = (paper := read(drawn)).drafts
    assert (draft.question, draft.answer, draft.solution) == ("Find a.", ["5"], "as drawn:\n<image>")
    assert [(own.name, own.box) for own in draft.solution_figures] == [(f"{draft.id}-solution-1.png", None)]
    assert not draft.figures
    write_report(tmp_path, [paper])
    assert f'<img src="images/{draft.id}-solution-1.png"' in (tmp_path / "report.html").read_text("utf-8")


def test_a_letter_below_the_options_of_most_questions_is_the_key() -> None:
    keys = ["B because it is the only one", "C", "A: 1/0.05 = 20", "D"]
    stems = [f"{n}. Which of these is number {n}?" for n in (1, 2, 3, 4)]
    options = ["(a) one", "(b) two", "(c) three", "(d) four"]
    paper = read(page(*(line for ask, key in zip(stems, keys, strict=True) for line in (ask, *options, key))))
    assert [draft.answer for draft in paper.drafts] == [["B"], ["C"], ["A"], ["D"]]
    assert {draft.options[-1].text for draft in paper.drafts} == {"four"}
    assert paper.drafts[2].solution == "1/0.05 = 20"


@pytest.mark.parametrize("tick", ["$\\sqrt$ [unit 2]", "✓ [unit 2]"])
def test_the_option_with_a_tick_is_the_key(tick: str) -> None:
    lines = []
    for place in range(4):
        options = [f"{label}. {n}{f' {tick}' * (n == place)}" for n, label in enumerate("ABCD")]
        lines += [f"{place + 1}. Which is it, of number {place}?", *options]
    paper = read(page(*lines))
    assert [draft.answer for draft in paper.drafts] == [["A"], ["B"], ["C"], ["D"]]
    assert {(draft.options[-1].text, draft.solution) for draft in paper.drafts} == {("3", "[unit 2]")}
    roots = [line.replace(tick, "√2") for line in lines]
    assert not any(draft.answer for draft in read(page(*roots)).drafts)


@pytest.mark.parametrize("apart", ["box", "bold"])
def test_the_option_that_is_set_apart_in_a_copy_is_the_key(apart: str, tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    names = ["carbon dioxide", "nitrogen gas", "pure oxygen", "water vapour"]

    def copy(name: str, keys: list[int]) -> Path:
        lines = []
        for number, key in enumerate(keys or [4, 4, 4], 1):
            lines.append(rf"{number}\. Which of the gases number {number} is the one that leaves the vessel first?")
            for at, text in enumerate(names):
                box = f"#box(width: 7pt, height: 7pt, radius: 2pt, stroke: 0.6pt{', fill: blue' * (at == key)}) " * (
                    apart == "box"
                )
                own = f"*{text}*" if apart == "bold" and at == key else text
                lines.append(box + ("" if apart == "box" else "ABCD"[at] + ". ") + own)
        return typeset("\n\n".join(lines), tmp_path / name)

    paper = paper_of(copy("paper.pdf", []), copy("key.pdf", [2, 0, 3]))
    assert [draft.answer for draft in paper.drafts] == [["C"], ["A"], ["D"]]


@pytest.mark.parametrize(("texts", "bold", "label"), [("1234", 2, "B"), ("1234", 0, ""), (["", "", "", ""], 0, "")])
def test_the_bold_head_of_a_copy_is_no_option(texts: Sequence[str], bold: int, label: str) -> None:
    made = page("1. How many roots has it?", *(f"{name}. {text}" for name, text in zip("ABCD", texts, strict=True)))
    made.blocks[bold] = replace(made.blocks[bold], lines=[replace(made.blocks[bold].lines[0], bold=True)])
    options = [Option(label=name, text=text) for name, text in zip("ABCD", texts, strict=True)]
    assert take_ink(flatten([made]).items, 2, options, "bold").chosen == label


@pytest.mark.parametrize(
    "frame",
    [
        "#box(stroke: 0.5pt, inset: 3pt)[Answer]",
        "#box(stroke: 0.5pt, inset: 3pt)[It was {}] in the end.",
        "\\ #rect(width: 100%)[Note that the shop also sells {}.]",
        "\\ #text(fill: red)[(5 marks)]",
        "\\ #text(fill: blue)[https:\\//example.org/{}]",
        "Find the *mass of {}*.",
        "Then look \\ *at the parts of {}.*",
        "#align(right)[*({size})*]",
        "#text(fill: blue)[({size})]",
        "#text(fill: blue)[[{size}]]",
        "It is in #text(fill: blue)[Fig. {size}.]",
        "It is in #text(fill: blue)[图{size}]",
        "See #text(fill: blue)[www.example.org/{size}]",
        "\\ A. #box(stroke: 0.5pt, inset: 3pt)[{}] \\ B. #box(stroke: 0.5pt, inset: 3pt)[nothing]",
    ],
)
def test_what_frames_a_part_of_the_question_is_no_answer(frame: str, tmp_path: Path) -> None:
    paper = printed(
        [f"Which compound is {f}? {frame.format(n, size=len(n))}" for f, n in zip(FORMULAS, NAMES, strict=True)],
        tmp_path,
    )
    assert not any(draft.answer or draft.solution for draft in paper.drafts)


def test_framed_numbers_are_a_part_of_the_question(tmp_path: Path) -> None:
    box = "#box(stroke: 0.5pt, inset: 3pt)"
    paper = printed([f"What is half of {n} and {box}[{worth}]" for n, worth in enumerate((10, 15, 20))], tmp_path)
    assert [draft.question for draft in paper.drafts] == [f"What is half of {n} and {5 * n + 10}" for n in range(3)]


def test_points_in_a_colour_of_their_own_are_no_answer(tmp_path: Path) -> None:
    paper = printed([f"(#text(fill: red)[{n} marks]) Halve {n} and {n}{n}." for n in (5, 6, 7)], tmp_path)
    assert [(draft.points, draft.answer) for draft in paper.drafts] == [(5, []), (6, []), (7, [])]


def test_a_frame_at_one_question_is_a_part_of_it(tmp_path: Path) -> None:
    stems = [f"Name the compound {formula}." for formula in FORMULAS]
    paper = printed([f"{stems[0]} #box(stroke: 0.5pt, inset: 3pt)[{NAMES[0]}]", *stems[1:]], tmp_path)
    assert [draft.question for draft in paper.drafts] == [f"{stems[0]} {NAMES[0]}", *stems[1:]]


def solved(letters: str, blank: str = "（ {} ）") -> IngestedPaper:
    lines = [f"{n}．这个数是{blank.format(letter)}。" for n, letter in enumerate(letters, 1)]
    questions = [text for line in lines for text in (line, "A．1    B．2    C．3    D．4")]
    return read(page(*questions, f"{len(letters) + 1}．求这个数的值。", "这个数的值是 5，因为它等于 2 加 3。"))


@pytest.mark.parametrize(("blank", "empty"), [("（ {} ）", "（  ）"), ("____ {} ____", "____")])
def test_letters_in_the_blanks_of_most_choices_are_their_keys(blank: str, empty: str) -> None:
    paper = solved("BCAD", blank)
    assert [draft.answer for draft in paper.drafts] == [["B"], ["C"], ["A"], ["D"], []]
    assert paper.drafts[0].question == f"这个数是{empty}。"
    assert any("have answers with them" in doubt.text for doubt in paper.drafts[-1].doubts)


def test_a_letter_on_the_rule_of_one_choice_is_its_key() -> None:
    first, *_ = read(
        page("1．这个数是__B__。", "A．1    B．2    C．3    D．4", "2．求这个数的值。", "3．证明它是正数。")
    ).drafts
    assert (first.answer, first.question) == (["B"], "这个数是____。")


def test_an_acronym_fills_no_bracket_and_one_may_go_on_in_the_next_line() -> None:
    own = (
        "1．数据库（DB）和它的表的关系是（",
        "A  ）。",
        "2．这个数（DB）是（ B ）。",
        "3．数是（",
        "C  ）的数。",
        "4．数是（ D ）。",
    )
    lines = [text for line in own for text in (line, "A．1    B．2    C．3    D．4")[: 1 + (line[-1] != "（")]]
    drafts = read(page(*lines)).drafts
    assert [draft.answer for draft in drafts] == [["A"], ["B"], ["C"], ["D"]]
    assert "".join(drafts[0].question.split()) == "数据库（DB）和它的表的关系是（）。"
    assert "".join(drafts[2].question.split()) == "数是（）的数。"


def test_a_tick_that_a_question_speaks_of_ticks_nothing() -> None:
    sheet = [
        f"(a) Show the device of the {name} by a tick (✓) in one box. Give a reason."
        for name in ("page", "bus", "disk")
    ]
    lines = [text for n, own in enumerate(sheet, 1) for text in (f"{n}. The computer has a {n}.", own)]
    drafts = read(page(*lines)).drafts
    assert [draft.question.endswith(own) for draft, own in zip(drafts, sheet, strict=True)] == [True] * 3


def test_a_letter_in_the_bracket_of_one_choice_is_its_text() -> None:
    assert not any(draft.answer for draft in solved("B   ").drafts)


@pytest.mark.parametrize(
    ("text", "answer", "solution"),
    [
        ("Mechanisms\nAnswer:\n$•$ Natural selection\n$•$ Drift", "$•$ Natural selection\n$•$ Drift", None),
        (f"Cycle\nAnswer: It includes:\n$•$ {'a cycle ' * 9}", f"It includes:\n$•$ {'a cycle ' * 9}".strip(), None),
        (f"Cycle\nAnswer: C\nIt is so {'for a reason ' * 6}", "C", f"It is so {'for a reason ' * 6}".strip()),
        ("문제는?\n① 가 ② 나\n□ 해설\n손에 세균이 묻는다.", None, "손에 세균이 묻는다."),
    ],
)
def test_an_answer_reaches_to_the_next_head(text: str, answer: str | None, solution: str | None) -> None:
    assert split_answered(text)[1:] == (answer, solution)


def test_the_head_of_an_answer_begins_a_line_behind_a_full_one() -> None:
    paper = read(page("1. A diet low in fats results in a lack of:…", "Answer: c. Hormones", "2. Find b."))
    assert (paper.drafts[0].question, paper.drafts[0].answer) == (
        "A diet low in fats results in a lack of:",
        ["c. Hormones"],
    )


def test_letters_that_are_filled_and_stroked_are_bold(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    file = tmp_path / "paper.pdf"
    file.write_bytes(plain_pdf(1, b"BT /F1 12 Tf 60 700 Td 2 Tr (1. Find a.) Tj 0 -20 Td 0 Tr (It is four.) Tj ET"))
    assert [line.bold for each in pages_of(file) for block in each.blocks for line in block.lines] == [True, False]


def heads(pages: list[PageBlocks]) -> list[str]:
    kinds = ("header", "footer")
    return [block.text for each in marked(pages) for block in each.blocks if block.kind in kinds]


@pytest.mark.parametrize(
    ("lines", "head"),
    [
        (["一、选择题（每小题4分）", "1．求{p}的值。"], False),
        (["예방 수칙    Q{n}    객관식", "{p}은 어떻게 해야 할까요?"], False),
        (["{n}. Perform 9x11 in unsigned format.", "Use table {p}."], False),
        (["一、选择题（每小题4分）", "{n}7．求{p}的值。"], True),
        (["Final Exam    {n}", "1. Find {p}."], True),
    ],
)
def test_a_running_head_counts_no_questions(lines: list[str], head: bool) -> None:
    sheets = [page(*(line.format(n=n, p="甲乙丙丁"[n - 1]) for line in lines), number=n, top=0.05) for n in range(1, 5)]
    assert bool(heads(sheets)) is head


@pytest.mark.parametrize(
    "rows", [["Q1    Q2    Q3    Q4", "O    X    X    O"], ["Q1    Q2", "O    X", "Q3    Q4", "X    O"]]
)
def test_labels_before_the_names_of_questions_and_a_key_in_rows(rows: list[str]) -> None:
    sheet = [(f"예방    Q{n}    O/X", f"손을 {n}번 씻어야 하나요?…", "□ 해설", f"균이 {n}번 묻어요.") for n in "1234"]
    paper = read(page(*(line for lines in sheet for line in lines)), page("정답 확인", *rows, number=2))
    assert [(draft.number, draft.answer, draft.solution) for draft in paper.drafts] == [
        (n, [answer], f"균이 {n}번 묻어요.") for n, answer in zip("1234", "OXXO", strict=True)
    ]


def test_a_title_at_one_height_of_all_pages_begins_a_section_on_each() -> None:
    sheets = [page("一、选择题（每小题4分）", f"1．求{n}。", f"2．解{n}。", number=n) for n in range(1, 4)]
    assert [draft.section[:5] for draft in read(*marked(sheets)).drafts] == ["一、选择题"] * 6


def test_a_numbered_line_over_two_columns_is_a_question() -> None:
    over = page("7. (Extra credit) Perform 9x11 with the shift-and-add method.", top=0.08)
    over.blocks[0].lines[0] = replace(over.blocks[0].lines[0], box=replace(over.blocks[0].box, right=0.9))
    columns = both(page("Step 1…", "Step 2…", "Step 3…"), page("A…", "B…", "C…", column=1))
    paper = read(page(*(f"{n}. Find {n}." for n in range(1, 7))), replace(both(over, columns), number=2))
    assert "7" in by_number(paper)


@pytest.mark.parametrize(
    ("errors", "missing"),
    [
        (["questions 2 to 5 were not found", "question 7 was not found"], 5),
        (["the paper says that it has 8 questions, and 7 were found"], 1),
        (["section '一、选择题' says that it has 5 questions, and 8 were found"], 0),
        (["section '三、求极限' has no question: it may be one", "question 1 was not found"], 2),
        (["numbers come again where no part of the paper begins: 1, 2"], 0),
    ],
)
def test_missing_numbers_are_those_of_the_errors(errors: list[str], missing: int) -> None:
    paper = read(page("1. Find a."))
    assert counts(paper.model_copy(update={"errors": errors}))["missing"] == missing


@pytest.mark.parametrize(
    ("source", "look", "part"),
    [
        ("Is it #text(fill: red)[gold] or tin?", "#f43", "gold"),
        ("Is it *gold* or tin?", "bold", "gold"),
        ("Is it #highlight(fill: yellow)[gold] or tin?", "marked", "gold"),
        ("Is it #text(fill: red)[$x^2+1$] or $y^3$?", "#f43", "$x^2+1$"),
    ],
)
def test_parts_of_a_line_have_looks_of_their_own(source: str, look: str, part: str, tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    (made,) = pages_of(typeset(source, tmp_path / "paper.pdf"))
    ((line,),) = (block.lines for block in made.blocks)
    assert [(own, text.strip()) for own, text in line.inks if own] == [(look, part)]
    assert "".join(text for _, text in line.inks) == line.text
    assert line.look == ""


def test_letters_of_which_a_cover_leaves_an_edge_are_not_printed(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    file = tmp_path / "paper.pdf"
    covered = b"BT /F1 12 Tf 110 700 Td (covered) Tj ET 1 g 100 700.15 120 12 re f 0 g "
    file.write_bytes(plain_pdf(1, covered + b"BT /F1 12 Tf 40 700 Td (1. Find) Tj ET"))
    assert [block.text for block in pages_of(file)[0].blocks] == ["1. Find"]


def test_white_letters_on_a_rule_are_not_printed(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    file = tmp_path / "paper.pdf"
    rule = b"0 g 100 698 120 1 re f 1 g BT /F1 12 Tf 110 700 Td (hidden gaps) Tj ET 0 g "
    file.write_bytes(plain_pdf(1, rule + b"BT /F1 12 Tf 40 700 Td (1. Find) Tj ET"))
    assert "hidden" not in "".join(block.text for block in pages_of(file)[0].blocks)
    assert not any(letter in pages_of(file)[0].blocks[0].text for letter in "gp")


@pytest.mark.parametrize("mark", ["#text(fill: red)[{}]", "#highlight(fill: yellow)[{}]", "*{}*"])
def test_an_option_of_a_row_in_the_ink_is_the_key(mark: str, tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")

    def copy(name: str, keys: str) -> Path:
        sheet = []
        for number, key in enumerate(keys, 1):
            options = [f"{label}. {number}{n}" for n, label in enumerate("ABCD")]
            row = " #h(2em) ".join(mark.format(own) if own[0] == key else own for own in options)
            sheet.append(rf"{number}\. How many of the stones of heap {number} are left? \ {row}")
        return typeset("\n\n".join(sheet), tmp_path / name)

    solved_copy = copy("key.pdf", "CAD")
    for paper in (paper_of(copy("paper.pdf", "   "), solved_copy), paper_of(solved_copy)):
        assert [draft.answer for draft in paper.drafts] == [["C"], ["A"], ["D"]]
        assert paper.drafts[0].options[2].text == "12"


def test_lines_in_the_ink_begin_no_question_and_no_passage(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    sheet = [rf"{n}\. Explain why stone {n} rolls." for n in (1, 2, 3, 4)]
    steps = [[f"#text(fill: red)[The {name} is {word}.]" for word in ("steep", "round")] for name in NAMES]
    lines = [text for ask, step in zip(sheet, steps, strict=True) for text in (ask, *step)]
    lines.insert(4, "#pagebreak()")
    paper = paper_of(typeset("\n\n".join(lines), tmp_path / "paper.pdf"))
    assert [draft.question for draft in paper.drafts] == [f"Explain why stone {n} rolls." for n in (1, 2, 3, 4)]
    keys = [" ".join([*draft.answer, draft.solution or ""]).replace(".", "").split() for draft in paper.drafts]
    assert keys == [f"The {name} is steep The {name} is round".split() for name in NAMES]


def test_an_answer_below_each_part_ends_where_the_next_is_due() -> None:
    sheet = ["(a) What goes in blank 1?", "Solution: x{n}", "(b) Which is the word?", "Solution: y{n}", "(i) second"]
    names = ("gold", "tin", "iron")
    sheet = ["{at}. Fill in.", *sheet, "(c) Why?"]
    lines = [text.format(at=at, n=name) for at, name in enumerate(names, 1) for text in sheet]
    for draft, name in zip(read(page(*lines)).drafts, names, strict=True):
        assert draft.question.split("\n")[1:] == ["(a) What goes in blank 1?", "(b) Which is the word?", "(c) Why?"]
        assert " ".join([*draft.answer, draft.solution or ""]).split() == f"(a) x{name} (b) y{name} (i) second".split()


def test_a_part_without_an_answer_is_doubted_where_the_others_have_one() -> None:
    names = ("gold", "tin", "iron")
    sheet = ("{at}. Fill in.", "(a) Which metal?", "(b) Which word?", "Solution: y{n}", "(c) Why?", "Solution: z{n}")
    lines = [text.format(at=at, n=name) for at, name in enumerate(names, 1) for text in sheet]
    for draft in read(page(*lines)).drafts:
        assert "no answer to (a) was told from its text" in {doubt.text for doubt in draft.doubts}


def test_circles_of_parts_that_are_not_told_apart_are_doubted() -> None:
    made = page("1. Judge both.", "(a) It is so.", "○ True    ○ False", "(b) It is not.", "○ True    ○ False")
    solved = replace(made, blocks=[*made.blocks, *page("Solution: See the lecture.", top=0.5).blocks])
    doubts = [[doubt.text for doubt in read(own).drafts[0].doubts] for own in (made, solved)]
    assert [any("circles are filled" in text for text in texts) for texts in doubts] == [False, True]


@pytest.mark.parametrize(
    ("piece", "filled"),
    [
        ("5 marks", []),
        ("red.com", []),
        ("http://red.com/a", []),
        ("gold", ["gold"]),
        ("Bezos founded Amazon.com", ["Bezos founded Amazon.com"]),
    ],
)
def test_points_and_links_set_otherwise_fill_no_bracket(piece: str, filled: list[str]) -> None:
    made = page(f"1. ({piece}) Which metal is it?")
    inks = (("", "1. ("), ("bold", piece), ("", ") Which metal is it?"))
    made.blocks[0].lines[:] = [replace(made.blocks[0].lines[0], inks=inks)]
    assert take_ink(flatten([made]).items, 2, [], "bold").fills == filled


def test_the_ticked_option_of_each_part_is_its_answer() -> None:
    made = page("1. Choose.", "a) Which?", "○ one", "and more", "○ two", "b) Why?", "○ three", "○ four")
    for at in (2, 7):
        made.blocks[at].lines[:] = [replace(made.blocks[at].lines[0], look=TICKED)]
    options = [
        Option(label=label, text=text) for label, text in zip("ABCD", ("one", "two", "three", "four"), strict=True)
    ]
    taken = take_ink(flatten([made]).items, 2, options, TICKED)
    assert [item.text for item in solution_of([taken])] == ["a) one", "and more", "b) four"]
    assert len(taken.rest) == 8 and not taken.chosen
