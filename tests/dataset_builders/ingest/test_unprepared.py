"""Classes of papers that nobody prepared: columns, grids of questions, heads, bare labels, keys, hidden text."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from livek12.core.errors import UserError
from livek12.dataset_builders.ingest.drafts import Draft
from livek12.dataset_builders.ingest.keys.entries import Entry
from livek12.dataset_builders.ingest.keys.matching import keyed
from livek12.dataset_builders.ingest.keys.solved import aligned_entries
from livek12.dataset_builders.ingest.keys.words import PaperWords
from livek12.dataset_builders.ingest.pages.assemble import Sheet, assembled
from livek12.dataset_builders.ingest.pages.atoms import Atom
from livek12.dataset_builders.ingest.pages.blocks import Block, figure_names
from livek12.dataset_builders.ingest.pages.formulas import _small, pair_fences
from livek12.dataset_builders.ingest.pages.geometry import Rule
from livek12.dataset_builders.ingest.pages.glyphs import Glyph, _composed, known_sign
from livek12.dataset_builders.ingest.paper import AnswerKey
from livek12.dataset_builders.ingest.questions.stream import _MARKS_BEFORE, flatten
from tests.dataset_builders.ingest.papers import both, by_number, page, paper_of, read
from tests.dataset_builders.ingest.pdf_making import typeset

SETUP = '#set page(paper: "a4", margin: 2cm)\n#set text(size: 10pt)\n'
OPTIONS = "#grid(columns: (1fr, 1fr), row-gutter: .6em, {})"


def question(number: int, sign: str = ".") -> str:
    cells = ", ".join(f"[{label}. {label.lower()}{number}]" for label in "ABCD")
    return f"{number}{sign} What is value {number}?\n\n{OPTIONS.format(cells)}\n"


def texts(drafts: Sequence[Draft]) -> list[tuple[str, str, list[str]]]:
    return [(draft.number, draft.question, [option.text for option in draft.options]) for draft in drafts]


def asked(numbers: Sequence[int]) -> list[tuple[str, str, list[str]]]:
    return [(str(n), f"What is value {n}?", [f"{label}{n}" for label in "abcd"]) for n in numbers]


@pytest.mark.parametrize("widths", ["(1fr, 1fr)", "(3fr, 2fr)", "(2fr, 3fr)"])
@pytest.mark.parametrize("left", [3, 5])
def test_columns_of_any_width_and_length(tmp_path: Path, widths: str, left: int) -> None:
    columns = ["\n".join(map(question, part)) for part in (range(1, left + 1), range(left + 1, 7))]
    body = f"#grid(columns: {widths}, column-gutter: 13pt, [{columns[0]}], [{columns[1]}])"
    assert texts(paper_of(typeset(body, tmp_path / "p.pdf", setup=SETUP)).drafts) == asked(range(1, 7))


def test_three_columns_of_a_folded_sheet_with_a_title_that_hangs_out(tmp_path: Path) -> None:
    columns = ["\n".join(map(question, range(first, first + 4))) for first in (1, 5, 9)]
    body = "#grid(columns: (1fr, 1fr, 1fr), column-gutter: 14pt, [#pad(left: -4mm)[一、选择题]\n{}], [{}], [{}])"
    setup = SETUP.replace('"a4"', '"a3", flipped: true')
    paper = paper_of(typeset(body.format(*columns), tmp_path / "p.pdf", setup=setup))
    assert texts(paper.drafts) == asked(range(1, 13))


def test_bands_of_columns_below_titles_that_do_not_cross(tmp_path: Path) -> None:
    def band(first: int) -> str:
        left, right = (
            "\n".join(map(question, part)) for part in (range(first, first + 2), range(first + 2, first + 4))
        )
        return f"#grid(columns: (1fr, 1fr), column-gutter: 14pt, [{left}], [{right}])"

    body = f"Section I: Choice\n\n{band(1)}\n\nSection II: Choice\n\n{band(5)}"
    paper = paper_of(typeset(body, tmp_path / "p.pdf", setup=SETUP))
    assert texts(paper.drafts) == asked(range(1, 9))
    assert [draft.section[:11].strip() for draft in paper.drafts] == ["Section I:"] * 4 + ["Section II:"] * 4


def test_options_in_two_columns_of_one_are_no_columns_of_the_page(tmp_path: Path) -> None:
    body = "\n".join(map(question, range(1, 9)))
    assert texts(paper_of(typeset(body, tmp_path / "p.pdf", setup=SETUP)).drafts) == asked(range(1, 9))


def test_rows_of_a_grid_are_questions_with_their_figures_and_points(tmp_path: Path) -> None:
    figure = "#align(center, rect(width: 3cm, height: 2cm, radius: 8mm)[#place(circle(radius: 5mm))])"
    rows = ", ".join(
        f"[{n}], [How long is the thread number {n} now? {figure if n == 11 else ''}], [{n - 8}]" for n in (9, 10, 11)
    )
    body = f"#table(columns: (1.2cm, 1fr, 1.4cm), align: horizon, {rows})"
    paper = paper_of(typeset(body, tmp_path / "p.pdf", setup=SETUP))
    found = by_number(paper)
    assert [(draft.number, draft.points, len(draft.figures)) for draft in paper.drafts] == [
        ("9", 1, 0), ("10", 2, 0), ("11", 3, 1),
    ]  # fmt: skip
    assert found["9"].question == "How long is the thread number 9 now?"


def test_a_table_of_data_stays_one(tmp_path: Path) -> None:
    rows = ", ".join(f"[{n}], [the thread is heated for a while], [{n}0]" for n in (1, 2, 3))
    body = (
        f"1. Read the table.\n\n#table(columns: (1fr, 2fr, 1fr), [Step], [What is done], [°C], {rows})\n\n2. Explain."
    )
    paper = paper_of(typeset(body, tmp_path / "p.pdf", setup=SETUP))
    assert [draft.number for draft in paper.drafts] == ["1", "2"]
    assert "| 2 | the thread is heated for a while | 20 |" in paper.drafts[0].question


@pytest.mark.parametrize("mirrored", [False, True])
def test_heads_in_another_layout_are_heads(mirrored: bool) -> None:
    names = ["Unit Test", "Northfield Spring 2026"]
    first = both(page(names[0], top=0.03), page(names[1], column=1, top=0.03))
    second = page("    ".join(reversed(names) if mirrored else names), number=2, top=0.03)
    pages = [
        replace(one, blocks=[*one.blocks, *page(*lines, number=n).blocks])
        for n, (one, lines) in enumerate(
            ((first, ["1. One?", "2. Two?"]), (second, ["and more of it", "3. Three?"])), 1
        )
    ]
    from livek12.dataset_builders.ingest.questions.headings import marked

    paper = read(*marked(pages))
    assert [draft.question for draft in paper.drafts] == ["One?", "Two? and more of it", "Three?"]


def test_numbers_at_the_edge_of_a_page_are_no_page_numbers_where_text_goes_on() -> None:
    from livek12.dataset_builders.ingest.questions.headings import marked

    first = page("Question 1", "One?", top=0.02)
    second = page("Question 2", "Two?", number=2, top=0.02)
    third = page("Question 3", "the height is", "7.", "(a) Find it.", number=3, top=0.86)
    paper = read(*marked([first, second, third]))
    assert [draft.number for draft in paper.drafts] == ["1", "2", "3"]
    assert "7." in paper.drafts[2].question


@pytest.mark.parametrize(
    ("lines", "options"),
    [
        (["A 14    B 18", "C 20    D 23"], ["14", "18", "20", "23"]),
        (["A 14    B 18    C 20    D 23"], ["14", "18", "20", "23"]),
        (["A one of", "them", "B two", "C three", "D four"], ["one of them", "two", "three", "four"]),
        (["A 14    B 18", "C 20"], []),
        (["A 14    B 18", "D 20    C 23"], []),
        (["A ball falls.", "B is its mass."], []),
    ],
)
def test_labels_without_a_sign(lines: list[str], options: list[str]) -> None:
    draft = read(page("1. Which is right?", *lines, "2. Next?")).drafts[0]
    assert [option.text for option in draft.options] == options
    if not options:
        assert all(line in draft.question for line in lines)


def pictured(said: str, confidence: float) -> Block:
    block = page(said).blocks[0]
    line = replace(block.lines[0], confidence=confidence)
    return replace(block, lines=[line], origin="ocr", confidence=confidence)


@pytest.mark.parametrize(
    ("answer", "confidence", "kind", "doubted"),
    [
        ("B", 0.97, "single_choice", False),
        ("B", 0.7, "single_choice", True),
        ("E", 0.97, "single_choice", True),
        ("8", 0.97, "single_choice", True),
        ("12", 0.97, "fill_in_blank", True),
    ],
)
def test_a_key_read_from_a_picture_is_doubted(answer: str, confidence: float, kind: str, doubted: bool) -> None:
    lines = ["1. Which?", "A. a", "B. b", "C. c", "D. d"] if kind == "single_choice" else ["1. It is ____."]
    draft = read(page(*lines)).drafts[0].model_copy(update={"doubts": []})
    entry = Entry(1, answer, confidence=confidence, by_ocr=True)
    assert any(doubt.kind == "answer" for doubt in keyed(draft, entry, "k").doubts) == doubted
    assert (
        not any(doubt.kind == "answer" for doubt in keyed(draft, Entry(1, "B"), "k").doubts) or kind != "single_choice"
    )


def test_the_confidence_of_a_key_is_that_of_its_line() -> None:
    blocks = [pictured("1. A    2. B    3. C", 0.99), pictured("4. D    5. A    6. B", 0.6)]
    questions = [line for n in range(1, 7) for line in (f"{n}. Which is {'a' * n}?", "A. a", "B. b", "C. c", "D. d")]
    found = aligned_entries(read(page(*questions)).drafts, PaperWords(), flatten([replace(page(), blocks=blocks)]), "k")
    assert [(entry.number, entry.confidence, entry.by_ocr) for entry in found] == [
        (1, 0.99, True), (2, 0.99, True), (3, 0.99, True), (4, 0.6, True), (5, 0.6, True), (6, 0.6, True),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("key", "answers"),
    [
        ("#table(columns: 3, [Question],[1],[2],[Answer],[carbon dioxide],[$5/12$])",
         ["carbon dioxide", "$\\frac{5}{12}$"]),
        ("#table(columns: 3, [No.],[Answer],[Points],[1],[carbon dioxide],[2],[2],[$sqrt(5)$],[2])",
         ["carbon dioxide", "$\\sqrt{5}$"]),
        ("#h(0pt)1. oxygen #h(3em) 2. 心脏 #h(3em) 3. $-4$", ["oxygen", "心脏", "$-4$"]),
    ],
)  # fmt: skip
def test_keys_of_any_kind_of_answer(tmp_path: Path, key: str, answers: list[str]) -> None:
    from livek12.dataset_builders.ingest.paper import AnswerKey

    given = AnswerKey.read(typeset(f"Answer Key\n\n{key}", tmp_path / "k.pdf", setup=SETUP))
    asked_for = page(*(f"{n}. The {'very ' * n}last of these is ____." for n, _ in enumerate(answers, 1)))
    assert [draft.answer for draft in read(asked_for, key=given).drafts] == [[answer] for answer in answers]


HIDDEN = [
    '#place(dy: -.35em, text(fill: white, size: 6pt, "draft seven of the editors"))',
    '#place(dy: -.8em, dx: 1em, text(fill: white, size: 9pt, "placeholder 91"))',
    '#place(dy: .2em, text(fill: rgb(0, 0, 0, 0), "never shown to anybody"))',
]


@pytest.mark.parametrize("hidden", HIDDEN)
def test_letters_that_nobody_sees_are_not_woven_into_formulas(tmp_path: Path, hidden: str) -> None:
    first, second = "1. What is $root(3, 64) times sqrt(25)$?", "2. If $arrow(a)=(4,5)$, then what is $(x^5)^2/x$?"
    body = f"{first}\n\n{hidden}\n{second}\n\n{hidden}"
    paper = paper_of(typeset(body, tmp_path / "p.pdf", setup=SETUP))
    assert [draft.question for draft in paper.drafts] == [
        "What is $\\sqrt[3]{64}\\times\\sqrt{25}$?",
        "If $\\vec{a}=(4,5)$, then what is $\\frac{(x^5)^2}{x}$?",
    ]


def test_white_letters_on_dark_ground_are_read(tmp_path: Path) -> None:
    number = '#box(fill: black, inset: 3pt, text(fill: white, "{}"))'
    body = "\n\n".join(f"{number.format(n)}#h(1em) What is $sqrt({n})$ worth?" for n in (1, 2, 3))
    assert [draft.number for draft in paper_of(typeset(body, tmp_path / "p.pdf", setup=SETUP)).drafts] == [
        "1",
        "2",
        "3",
    ]


@pytest.mark.parametrize(
    ("above", "below", "joined"),
    [
        ("The table shows how many of all", "pupils passed the test", True),
        ("The table shows how many.", "pupils passed the test", False),
        ("小球沿斜面运动的时间和位移的数据如", "下表所示", True),
        ("The table shows how many of all", "A. pupils", False),
        ("The table shows how many of all", "(1) Find x.", False),
    ],
)
def test_lines_that_had_no_room_for_the_next_word_go_on(above: str, below: str, joined: bool) -> None:
    wide = page("1. " + "x" * 34 + "…")
    lines = page(f"2. {above}", below, top=0.3)
    first = lines.blocks[0]
    box = replace(first.box, right=first.box.left + 0.345)
    line = replace(first.lines[0], box=box)
    blocks = [*wide.blocks, replace(first, box=box, lines=[line]), *lines.blocks[1:]]
    draft = read(replace(wide, blocks=blocks)).drafts[1]
    whole = "\n".join([draft.question, *(option.text for option in draft.options)])
    assert ("\n" not in whole) == joined


def test_a_row_of_a_grid_goes_on_over_a_page_and_a_short_grid_below_is_one(tmp_path: Path) -> None:
    columns = "columns: (1.2cm, 1fr, 1.4cm)"
    body = (
        f"#v(20cm)\n#table({columns}, [1], [How long is the thread now, and by how much did it grow since?], [3],"
        " [2], [What is measured here, and with what? #parbreak() (a) State it. #v(2cm) (b) Explain it. #v(1cm)"
        f" (c) Show it.], [6])\nSection II\n\n#table({columns}, [3], [$x=$ ?], [2])"
    )
    paper = paper_of(typeset(body, tmp_path / "p.pdf", setup=SETUP))
    assert [(draft.number, draft.points) for draft in paper.drafts] == [("1", 3), ("2", 6), ("3", 2)]
    assert paper.drafts[1].question.endswith("(a) State it.\n(b) Explain it.\n(c) Show it.")
    assert paper.drafts[1].page_numbers == [1, 2]


@pytest.mark.parametrize(("left", "times"), [(".4cm", 1), ("3cm", 6)])
def test_turned_text_at_the_edge_or_along_the_page_is_a_head(left: str, times: int, tmp_path: Path) -> None:
    seal = "School Class Name seal " * times
    place = f'place(dx: {left}, dy: 2cm, rotate(-90deg, reflow: true)["{seal}"])'
    sealed = f"#set page(margin: (left: 5cm), background: {place})\n"
    body = "\n".join(map(question, range(1, 9)))
    paper = paper_of(typeset(body, tmp_path / "p.pdf", setup=SETUP + sealed))
    assert texts(paper.drafts) == asked(range(1, 9))
    assert any("School" in line for line in paper.account[0].left)


def test_words_down_the_margin_are_a_head(tmp_path: Path) -> None:
    letters = "装订线内不要答题自觉遵守考试规则"
    column = f'stack(spacing: 5pt, ..("{letters}").clusters().map(c => [#c]))'
    margin = f'#set page(background: place(dx: .8cm, dy: 4cm, {column}))\n#set text(font: "Noto Serif CJK SC")\n'
    body = "\n".join(map(question, range(1, 9)))
    paper = paper_of(typeset(body, tmp_path / "p.pdf", setup=SETUP + margin))
    assert texts(paper.drafts) == asked(range(1, 9))
    assert any(letters in line for line in paper.account[0].left)


def sheet_of(lines: list[tuple[str, float, float]], width: float = 600.0, **parts: Any) -> list[Block]:
    """Blocks of a page with these texts at (left, base)."""
    glyphs = [
        Glyph(sign, left + 8 * at, base - 8, left + 8 * at + 7.5, base + 2, base, 9, left + 8 * at + 8, "F")
        for text, left, base in lines
        for at, sign in enumerate(text)
    ]
    empty: dict[str, Any] = {"pieces": [], "rules": [], "frames": [], "dividers": []}
    sheet = Sheet(1, width, 800.0, "text_layer", glyphs, **{**empty, **parts})
    return assembled(sheet, lambda box: b"", None)[0]


def test_first_letters_of_lines_in_the_margin_are_no_word_down_it() -> None:
    rows = [
        (text, left, 100.0 + 40 * n) for n, c in enumerate("甲乙丙丁戊己") for text, left in ((c, 56), ("先说明", 80))
    ]
    for step in (1, 2):  # 40 and 80 points from letter to letter
        blocks = sheet_of([(text, left, step * base) for text, left, base in rows])
        assert {block.kind for block in blocks} == {"text"}


def test_spaces_cost_no_more_than_their_number() -> None:
    begun = time.process_time()
    assert figure_names("x" + " " * 50_000 + "y 图 3") == ["图3"]
    assert not _MARKS_BEFORE.match("(3" + " " * 20_000 + "x")
    rules = [Rule(0.3 * at, 100, 0.3 * at + 0.5, 110) for at in range(4000)]
    assert not [*pair_fences(rules, rules, [], 10.0)]
    assert time.process_time() - begun < 2


@pytest.mark.parametrize("base", [645, 651, 652, 654])
def test_a_line_across_columns_of_half_a_page_is_read_once(base: float) -> None:
    columns = ((40.0, 26), (320.0, 26), (640.0, 57))
    lines = [
        (f"{20 * at + n}." + "m" * wide, x, 82.0 + 26 * n) for at, (x, wide) in enumerate(columns) for n in range(1, 21)
    ]
    lines += [("F" * 138, 40, 660.0), ("L" * 48, 120, base)]
    blocks = sheet_of(lines, 1200.0, dividers=[Rule(599.5, 80, 600.5, 700)])
    text = "".join(line.text for block in blocks for line in block.lines)
    assert [text.count(sign) for sign in "LFm"] == [48, 138, 20 * 109]


def test_lines_of_a_listing_are_no_questions() -> None:
    code = [f"{number}    run(step{number});" for number in range(1, 13)]
    paper = read(page("Question 1 [5 pts]: What does it print?", *code, "Question 2 [5 pts]: And why?"))
    assert [draft.number for draft in paper.drafts] == ["1", "2"]
    assert "12    run(step12);" in paper.drafts[0].question


def test_numbers_of_parts_are_no_numbers() -> None:
    paper = read(page("Question 1: Read it.", "Q1.1 [2 pts]: Why?", "Q1.2 [3 pts]: How?", "Question 2: Say it."))
    assert [(draft.number, draft.points) for draft in paper.drafts] == [("1", 5), ("2", None)]


@pytest.mark.parametrize(
    ("titles", "questions"), [("求解方程。 证明不等式。 计算积分。", 3), ("选择题 填空题 解答题", 0)]
)
def test_chinese_numerals_number_the_questions_of_a_paper_without_others(titles: str, questions: int) -> None:
    lines = [f"{number}、（20分）{title}" for number, title in zip("一二三", titles.split(), strict=True)]
    pages = page(*lines)
    if questions:
        assert [(draft.number, draft.points) for draft in read(pages).drafts] == [("1", 20), ("2", 20), ("3", 20)]
    else:
        with pytest.raises(UserError, match="no numbered question"):
            read(pages)


def test_numbers_below_some_chinese_numerals_are_parts() -> None:
    lines = [
        "一、（20分）叙述定义：",
        "1. 范数；",
        "2. 等价的范数。",
        "二、（20分）证明定理。",
        "三、（20分）计算积分。",
    ]
    paper = read(page(*lines))
    assert [(draft.number, draft.points) for draft in paper.drafts] == [("1", 20), ("2", 20), ("3", 20)]
    assert "2. 等价的范数" in paper.drafts[0].question


def test_a_box_for_the_score_is_no_part_of_a_title() -> None:
    lines = ["得分    一、选择题", "1. 哪个？ A. 甲 B. 乙 C. 丙 D. 丁", "得分    二、填空题", "1. 它是____。"]
    paper = read(page(*lines))
    assert [(draft.elective, draft.number, len(draft.options)) for draft in paper.drafts] == [
        ("选择题", "1", 4), ("填空题", "1", 0),
    ]  # fmt: skip
    assert paper.drafts[0].options[3].text == "丁"


def test_small_print_above_a_line_is_no_script() -> None:
    line = [Atom(sign, 12.0 * x, 10, 12.0 * x + 11, 20, 20, 12) for x, sign in enumerate("设两个非空实数集")]
    small = [Atom(sign, 9.0 * x, 4, 9.0 * x + 8, 12, 12, 9) for x, sign in enumerate("第13题每题5分")]
    assert not _small([*line, *small])
    number = [Atom(sign, 12.0 * x, 5, 12.0 * x + 11, 20, 20, 16) for x, sign in enumerate("Q.4.")]
    below = [Atom(sign, 40 + 6.0 * x, 28, 46 + 6.0 * x, 36, 36, 12) for x, sign in enumerate("andlisteningonport")]
    assert not _small([*number, *below])


FORMS = {
    "bracket": lambda n: f"(#h(2em)) {n}. ",
    "zero": lambda n: f"{n:0>2}#h(1em)",
}


@pytest.mark.parametrize("form", list(FORMS))
def test_numbers_of_other_forms(tmp_path: Path, form: str) -> None:
    body = "\n\n".join(
        f"{FORMS[form](n)}길이가 {n}인 끈은 몇 개인가? \\\n① 갑 ② 을 ③ 병 ④ 정 ⑤ 무" for n in range(1, 12)
    )
    paper = paper_of(typeset(body, tmp_path / "p.pdf", language="ko", setup=SETUP))
    assert [draft.number for draft in paper.drafts] == [str(n) for n in range(1, 12)]
    assert all(len(draft.options) == 5 for draft in paper.drafts)


def test_options_in_brackets_with_numbers_and_parts_that_are_none(tmp_path: Path) -> None:
    body = (
        "1. Which is it?\n\n(1) two #h(2em) (2) three #h(2em) (3) four #h(2em) (4) five\n\n"
        "2. A thread is cut.\n\n(1) Find it.\n\n(2) Show why.\n\n(3) State when.\n\n(4) Explain.\n\n"
        "3. Fill in.\n\n(1) \\_\\_\\_\\_\n\n(2) \\_\\_\\_\\_\n\n(3) \\_\\_\\_\\_\n\n(4) \\_\\_\\_\\_"
    )
    found = by_number(paper_of(typeset(body, tmp_path / "p.pdf", setup=SETUP)))
    assert [(option.label, option.text) for option in found["1"].options] == [
        ("1", "two"), ("2", "three"), ("3", "four"), ("4", "five"),
    ]  # fmt: skip
    assert not found["2"].options and not found["3"].options


def test_a_sentence_that_breaks_before_a_number_begins_no_question(tmp_path: Path) -> None:
    first = "\n".join(question(n) for n in (1, 2))
    body = (
        f"{first}\n3. The height of the triangle and of the other one below it is \\\n4. Find its area.\n\n"
        + question(4)
    )
    paper = paper_of(typeset(f"#box(width: 9cm)[{body}]", tmp_path / "p.pdf", setup=SETUP))
    assert [draft.number for draft in paper.drafts] == ["1", "2", "3", "4"]
    assert paper.drafts[2].question.endswith("is 4. Find its area.")


def test_a_line_between_columns_begins_below_their_first_lines(tmp_path: Path) -> None:
    ground = "#set page(columns: 2, background: place(dx: 50%, dy: 12%, line(length: 80%, angle: 90deg)))\n"
    body = "\n".join(map(question, range(1, 15)))
    paper = paper_of(typeset(body, tmp_path / "p.pdf", setup=SETUP + ground))
    assert texts(paper.drafts) == asked(range(1, 15))


def test_a_key_of_its_own_with_spans_in_a_table_and_values_below(tmp_path: Path) -> None:
    cells = "[题号], [1-5], [6-8], [答案], [ABCDA], [BCD]"
    pdf = typeset(
        f"参考答案\n\n#table(columns: 3, {cells})\n\n9. 12\n\n10. 4", tmp_path / "k.pdf", language="zh", setup=SETUP
    )
    lines = [line for n in range(1, 9) for line in (f"{n}．{'甲' * n}是", "A．1 B．2 C．3 D．4")]
    drafts = read(page(*lines, "9．则 a=____", "10．则 b=____"), key=AnswerKey.read(pdf)).drafts
    assert [draft.answer for draft in drafts] == [[answer] for answer in [*"ABCDABCD", "12", "4"]]


@pytest.mark.parametrize("layout", ["en_state_columns", "zh_answer_grid", "ko_passages"])
def test_papers_of_the_bench_are_read_whole(tmp_path: Path, layout: str) -> None:
    from livek12.scripts.bench.exams.layouts import LAYOUTS
    from livek12.scripts.bench.exams.printing import printed

    pdf, _, gold = printed(LAYOUTS[layout], 7)
    (tmp_path / "p.pdf").write_bytes(pdf)
    paper = paper_of(tmp_path / "p.pdf")
    assert [draft.number for draft in paper.drafts] == [one.number for one in gold.questions]
    assert [draft.points for draft in paper.drafts] == [one.points for one in gold.questions]


def test_formulas_of_lines_that_nearly_touch_keep_apart(tmp_path: Path) -> None:
    from livek12.scripts.bench.exams.layouts import LAYOUTS
    from livek12.scripts.bench.exams.printing import printed

    pdf, _, _ = printed(LAYOUTS["en_forms"], 84)
    (tmp_path / "p.pdf").write_bytes(pdf)
    found = by_number(paper_of(tmp_path / "p.pdf"))
    assert "\\frac{(x^5)^2}{x^5}" in found["10"].question
    assert found["9"].options[1].text.count("\\frac{1}{4}") == 1


@pytest.mark.parametrize(
    ("font", "code", "unmapped", "text"),
    [
        ("SymbolMT", 0xF03D, False, "="), ("SymbolMT,Italic", 0xF061, False, "α"), ("CMEX10", 0x58, True, "∑"),
        ("CMEX10", 0x58, False, "∑"), ("SimSun", 0xF03D, False, None), ("Symbol", 0xF8F7, False, "⎟"),
        ("MT-Extra", 0xF04C, False, "⋯"), ("CMMI8", 0x3F, True, "⋆"), ("CMMI10", 0x15, False, "λ"),
        ("CMMI10", 0x0F, True, "ϵ"), ("CMSY10", 0x05, True, "⋄"), ("CMSY8", 0xA1, False, "−"),
        ("CMEX8", 0xA1, False, "("), ("CMBX10", 0x0C, True, "fi"),
        ("CMSY8", ord("f"), False, "{"), ("CMSY8", ord("|"), False, None), ("CMMI8", ord(";"), False, ","),
        ("CMMI10", ord("®"), False, "α"), ("CMMI10", ord("."), False, None), ("CMMI10", ord("µ"), False, None),
        ("Fourier-Math-Extension", 0xA3, True, "["), ("Fourier-Math-Symbols", 0x70, True, "√"),
        ("EuropeanComputerModern-BoldExtended10pt", 0x1E, False, "ffi"), ("MSBM10", 0x2A, True, "⊈"),
        ("HyhwpEQ", 0xE104, True, "⎦"), ("HancomEQN", 0xE0FC, False, "𝑥"), ("MSAM10", 0x36, False, "⩽"),
        ("NewMathExtn", 0x41, True, ")"), ("EuclidExtra", 0xF06F, True, "∘"),
    ],
)  # fmt: skip
def test_fonts_for_formulas_have_the_same_code_in_every_file(
    font: str, code: int, unmapped: bool, text: str | None
) -> None:
    assert known_sign(font, code, unmapped) == text


@pytest.mark.parametrize(
    ("pieces", "whole"), [("\u1100\u1161\u11a8", "각"), ("\u0338=", "≠"), ("/∈", "∉"), ("1/2", "1/2")]
)
def test_pieces_set_over_each_other_are_one_sign(pieces: str, whole: str) -> None:
    step = 6 if whole == "1/2" else 1
    glyphs = [Glyph(sign, step * at, 0, step * at + 5, 10, 10, 10, 10, "") for at, sign in enumerate(pieces)]
    assert "".join(glyph.text for glyph in _composed(glyphs)) == whole


def test_numbers_below_heads_are_parts() -> None:
    words = ["Problem 1 (20p): laws", "Consider these.", "1. First law", "2. Second law", "a) Prove both.", "b) Why?"]
    paper = read(page(*words, "Problem 2 (5p): more", "Consider this.", "1. Third law", "Prove it.", "And show it."))
    assert [(draft.number, draft.points) for draft in paper.drafts] == [("1", 20), ("2", 5)]
    given = [
        "一、（14分）设$X$服从均匀分布。",
        "1. 求期望。",
        "2. 求方差。",
        "二、（18分）",
        "1. 叙述定义。",
        "2. 证明它。",
    ]
    paper = read(page(*given))
    assert [(draft.number, draft.points) for draft in paper.drafts] == [("1", 14), ("2", 18)]


def test_a_mark_scheme_with_plain_numbers_is_read() -> None:
    lines = [
        "Question    Answer    Marks",
        "1(a)    Format check    1",
        "1(b)    One mark per point    2",
        "of the list",
    ]
    drafts = read(page("1. Name the check and its use.")).drafts
    entries = aligned_entries(drafts, PaperWords(), flatten([page(*lines)]), "scheme")
    assert [(entry.number, entry.points, len(entry.scheme[0])) for entry in entries] == [(1, 3, 2)]
    assert "of the list" in (entries[0].solution or "")


def test_listings_keep_their_columns_and_blank_lines(tmp_path: Path) -> None:
    code = "int f(int x) {\n    if (x.y <= 0) {\n        return -1;\n    }\n\n    return g(x);\n}"
    body = f"1. What does the program below print, and why does it do so?\n\n```\n{code}\n```\n\n2. Why?"
    draft = paper_of(typeset(body, tmp_path / "p.pdf", setup=SETUP)).drafts[0]
    assert draft.question == f"What does the program below print, and why does it do so?\n```\n{code}\n```"


def test_a_typed_paper_is_no_listing(tmp_path: Path) -> None:
    setup = SETUP + '#set text(font: "DejaVu Sans Mono")\n'
    draft = paper_of(
        typeset("1. What is it?\n\nIt is small. #linebreak() It is red.\n\n2. Why?", tmp_path / "p.pdf", setup=setup)
    ).drafts[0]
    assert "```" not in draft.question and draft.question.startswith("What is it?")


def test_words_are_parted_in_tight_lines_and_behind_slanted_letters(tmp_path: Path) -> None:
    body = (
        "1. #text(spacing: 55%)[What is the cost of sorting if all of three lists are full of seven tables?]\n\n2. Why?"
    )
    draft = paper_of(typeset(body, tmp_path / "p.pdf", setup=SETUP)).drafts[0]
    assert draft.question == "What is the cost of sorting if all of three lists are full of seven tables?"
    assert not [doubt for doubt in draft.doubts if doubt.kind == "text"]


def test_points_by_counts_and_percentages() -> None:
    paper = read(
        page(
            "一、简答题2*4%",
            "1. 什么是网络？",
            "2. 什么是端口？",
            "二、综合题11%",
            "3. 填空，增长8% 5%",
            "4. 比较二者 6%",
        )
    )
    assert [(draft.number, draft.points) for draft in paper.drafts] == [("1", 4), ("2", 4), ("3", 5), ("4", 6)]
    assert paper.drafts[3].question == "比较二者"


def test_heads_with_points_are_the_questions_not_the_guidelines_above() -> None:
    rules = [f"{n}. Please do as rule {n} says." for n in range(1, 5)]
    first = page("Guidelines:", *rules)
    second = page(
        "Question 1 [ 4/9 points ] Why?",
        "It is a long story.",
        "a. One.",
        "b. Two.",
        "c. Three.",
        "Question 2 [ 5/9 points ] How?",
        "a. One.",
        "b. Two.",
        "c. Three.",
        number=2,
    )
    paper = read(first, second)
    assert [(draft.number, draft.points) for draft in paper.drafts] == [("1", 4), ("2", 5)]


def test_a_single_question_of_many_pages_is_an_error() -> None:
    words = ["1. All", "of the", "proof is", "left to", "its readers"]
    paper = read(*(page(word, number=n, top=0.2 + n / 10) for n, word in enumerate(words, 1)))
    assert len(paper.drafts) == 1 and any("much longer" in line for line in paper.errors)


def test_chinese_heads_that_end_in_points_are_questions_with_parts() -> None:
    paper = read(
        page(
            "第一题，本题共20分",
            "1. 什么是网络？…",
            "2. 什么是端口？",
            "第二题，共30分",
            "1. 比较二者。…",
            "2. 求和。",
            "第三题（共50分）",
            "证明它。",
        )
    )
    assert [(draft.number, draft.points) for draft in paper.drafts] == [("1", 20), ("2", 30), ("3", 50)]
    assert "".join(paper.drafts[0].question.split()) == "1.什么是网络？2.什么是端口？"


def test_a_rule_left_of_a_number_is_no_part_of_it() -> None:
    lines = [text for n in range(1, 5) for text in (f"{'_    ' * (n % 2)}{n}    Name one use of item {n}.", "[2]")]
    assert [draft.number for draft in read(page(*lines)).drafts] == ["1", "2", "3", "4"]
