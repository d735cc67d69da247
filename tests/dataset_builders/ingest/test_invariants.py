"""What holds of every paper: a reading that breaks an invariant has an error or doubts, any other has none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from livek12.dataset_builders.ingest import page_reader
from livek12.dataset_builders.ingest.doubts import _has_earlier
from livek12.dataset_builders.ingest.invariants import INVARIANTS
from livek12.dataset_builders.ingest.keys.answers import split_answered
from livek12.dataset_builders.ingest.keys.entries import Entry
from livek12.dataset_builders.ingest.pages import glyphs, pdf, text_layer
from livek12.dataset_builders.ingest.pages.blocks import PICTURE, UNREAD, Block, Box, PageBlocks
from livek12.dataset_builders.ingest.pages.glyphs import Glyph, RawPage
from livek12.dataset_builders.ingest.paper import AnswerKey
from livek12.dataset_builders.ingest.questions.headings import SOLVED, is_running, marked
from livek12.dataset_builders.ingest.questions.texts import join
from tests.dataset_builders.ingest.papers import both, by_number, page, read
from tests.dataset_builders.ingest.pdf_making import plain_pdf

LONG = "The quick brown fox jumps over the lazy dog and runs away from the farm at night"
STEMS = ["1. Find the value of a.", "2. Find the value of b.", "3. Find the value of c.", "4. Find the value of d."]
OPTIONS = ["A. one", "B. two", "C. three", "D. four"]


def moved(block: Block, left: float, right: float) -> Block:
    """A block of one line, elsewhere in its row."""
    box = replace(block.box, left=left, right=right)
    return replace(block, box=box, lines=[replace(block.lines[0], box=box)])


def at(box: Box, number: int) -> Box:
    """A box on another page."""
    return replace(box, page=number)


def choices(*labels: str) -> PageBlocks:
    """Questions with options of the given labels, one a question."""
    lines = [line for n, own in enumerate(labels, 1) for line in (f"{n}. Which?", *(f"{a}. {a}{n}" for a in own))]
    return page("Section A: multiple choice", *lines, top=0.05)


SOUND = page(*STEMS)
MAP = Block(kind="figure", box=Box(page=1, left=0.1, top=0.02, right=0.5, bottom=0.12), picture=b"\x89PNG")
PAPERS: dict[str, tuple[tuple[PageBlocks, ...], str, str]] = {
    "pages were read": ((page(*STEMS), replace(page(number=2), lost="TypeError")), "page 2 was not", ""),
    "numbers follow": ((page(STEMS[0], STEMS[1], STEMS[3]),), "question 3 was not found", ""),
    "each is sound; words": ((page(STEMS[0], "2.", STEMS[2]),), "", "2: it has no words"),
    "each is sound; options alone": (
        (page(*(line for n in (1, 2, 3) for line in (f"{n}.", *OPTIONS)), top=0.05),),
        "",
        "2: it has no words",
    ),
    "pictures are used": (
        (replace(SOUND, blocks=[MAP, *SOUND.blocks]),),
        "",
        "1: a picture on page 1 is in no question",
    ),
    "one head a question; lost": (
        (page("Question 1 [5 marks]", "Find x.", *STEMS[1:]),),
        "question 1 was not",
        "2: a question's head",
    ),
    "one head a question; named": (
        (page(STEMS[0], "2. Read the following for questions 3 and 4, of the sea.", *STEMS[2:]),),
        "",
        "2: it names questions behind it",
    ),
    "each is sound; letters": (
        (page("Name the substances below.", "1. water and salt", "2. OH", "3. sugar"),),
        "",
        "2: it has no words",
    ),
    "counts are met": ((page("Section A: 5 Questions", *STEMS),), "says that it has 5 questions", ""),
    "points are read": (
        (page("1. (2 points) Find a.", "2. (2 points) Find b.", "3. (2 points) Find c.", "4. Find d."),),
        "",
        "4: no points were found",
    ),
    "each is sound; guess": (
        (page("Section A: free response", f"{LONG}…", *[f"{LONG}…"] * 6, *STEMS),),
        "",
        "2: text below its section's title stands in each",
    ),
    "no question is too long": (
        (page(*STEMS[:3], "4. Find d.", *[f"{LONG} {n}…" for n in range(15)], top=0.02),),
        "",
        "4: it is much longer than the others",
    ),
    "no solution in the question": (
        (page(STEMS[0], "Solution. We get two.", STEMS[1]),),
        "",
        "1: 'Solution.' in the text",
    ),
    "each is sound; key": (
        (page("1. 函数的定义域为____.", "解法一", "因为分母不为零.", "2. 求值…"),),
        "",
        "1: it has a solution, and no answer",
    ),
    "questions end in what they ask": (
        (page(*[line for stem in STEMS for line in (stem, *[f"{LONG}."] * 6)], top=0.02),),
        "",
        "1: much text stands behind what it asks",
    ),
    "answers are told from all": (
        (page(*[line for n in range(1, 5) for line in (f"{n}. 求值。", *["解：二。"] * (n < 4))]),),
        "",
        "4: the others have answers with them",
    ),
    "each is sound; formulas": (
        (page("1. 设$P,Q^第\\text{为}^1$非空.", "2. 求值…"),),
        "",
        "1: a formula of it is not whole",
    ),
    "each is sound; options": (
        (page("1. Which of them?…", "A. one", "B. two", "C. three", "D. four", "Time and marks are short."),),
        "",
        "1: option D goes on",
    ),
    "each is sound": ((page("1. (b) Find b.", "2. Find c."),), "", "1: label (b) has none before it"),
    "numbers come once": (
        (page(*[f"{n}. {verb} {n}." for verb in ("Find", "Obey rule") for n in range(1, 7)], top=0.05),),
        "numbers come again",
        "1: numbers come again",
    ),
    "one head a question": (
        (page("Q1. Find a.", "Q2. Find b.", "Q3. Find c.", "Q4. Find d.", "Q2. More of it."),),
        "",
        "4: the head of another question",
    ),
    "one head a question; picture": (
        (page("1. Find a.", "2. Find b.", f"{PICTURE} (10 {PICTURE}叙述原理，并证明它."),),
        "",
        "2: the head of another question",
    ),
    "each is sound; evidence": (
        (page("1. Which of the following is right?", "2. Find b."),),
        "",
        "1: it asks to choose",
    ),
    "options are alike": ((choices("ABCD", "ABCD", "ABCD", "ABC"),), "", "4: its options are ABC"),
    "pages were read; script": (
        (page(*[f"{n}. Найдите значение выражения и запишите ответ в градусах." for n in range(1, 8)]),),
        "script without rules here (cyrillic)",
        "1: its text is in a script",
    ),
}


@pytest.mark.parametrize(
    ("above", "doubted"),
    [
        (["The stream rises in the hills and runs to the sea in one week.", f"{LONG}."], True),
        (["There will be no mercy for the weak of this house at any time."], False),
        (["Find the area of the square below for a start, and its side."], True),
        (["Answer all the questions that follow in the space that is given.", "Write your name on each page."], False),
        (["Final examination in mathematics for the second year of the course"], False),
    ],
)
def test_text_above_the_first_question_is_doubted_unless_it_instructs(above: list[str], doubted: bool) -> None:
    paper = read(page(*above, "1. Where does the stream begin?", *STEMS[1:]))
    text = "text before the first question is in none"
    assert any(text in line for line in paper.errors) is doubted
    assert any(text in doubt.text for doubt in by_number(paper)["1"].doubts) is doubted


@pytest.mark.parametrize(("text", "doubted"), [("ⓑ : x    ⓐ : y", True), ("use ②", False), ("(b) of it", False)])
def test_labels_go_up_within_an_option(text: str, doubted: bool) -> None:
    draft = read(page("1. 다음 중 옳은 것은?", f"① {text}", "② Truth", "2. Find c.")).drafts[0]
    assert any("has none before it" in doubt.text for doubt in draft.doubts) is doubted, draft


def test_text_behind_the_title_of_answers_that_no_answer_has_is_left_over() -> None:
    sentence = "Match the words of the lesson with what they mean."
    paper = read(page(*STEMS), page("Answers", sentence, "1. 3", "2. 4", top=0.05))
    assert paper.drafts[0].answer == ["3"]
    assert any(sentence[:20] in line for account in paper.account for line in account.left), paper.account


def test_several_points_without_parts_are_doubted() -> None:
    draft = read(page("1. (8 points) Find a.", "(2 pt)", "and b", "(3 pt)", "2. (2 points) Find c.")).drafts[0]
    assert any("several points stand in its text" in doubt.text for doubt in draft.doubts)


@pytest.mark.parametrize("name", list(PAPERS))
def test_a_reading_that_breaks_an_invariant_says_so(name: str) -> None:
    pages, error, doubt = PAPERS[name]
    paper = read(*pages)
    assert name.split(";", maxsplit=1)[0] in {check.__name__.strip("_").replace("_", " ") for check in INVARIANTS}
    assert any(error in line for line in paper.errors) if error else not paper.errors, paper.errors
    if doubt:
        number, text = doubt.split(": ", 1)
        assert any(text in one.text for one in by_number(paper)[number].doubts), by_number(paper)[number].doubts


@pytest.mark.parametrize(
    ("line", "solved"),
    [
        ("解法一", True),
        ("Sample Answer to Question 1", True),
        ("풀이: 3", True),
        ("Answer: 3", True),
        ("The correct answer is: a lake", True),
        ("Answer: ______", False),
        ("Show that your solution is right.", False),
        ("求方程的解。", False),
    ],
)
def test_heads_of_solutions(line: str, solved: bool) -> None:
    assert bool(SOLVED.search(f"Find a.\n{line}")) == solved


def test_a_proof_is_the_task_where_nothing_else_asks() -> None:
    given, proved = read(page("1. 设甲是对称的矩阵。", "证明：甲可逆。", "2. 求乙的逆矩阵。", "证明：甲可逆。")).drafts
    assert given.question.endswith("证明：甲可逆。") and not any("in the text" in doubt.text for doubt in given.doubts)
    assert (proved.question, proved.solution) == ("求乙的逆矩阵。", "甲可逆。")


@pytest.mark.parametrize(("bare", "compared"), [(0, 0), (1, 0), (2, 3)])
def test_where_many_questions_have_doubts_the_others_are_compared_too(bare: int, compared: int) -> None:
    stems = [f"{number}. Find the value of {letter}." for number, letter in enumerate("abcde", 1)]
    drafts = read(page(*(f"{at + 1}." if at < bare else stem for at, stem in enumerate(stems)))).drafts
    assert sum("compare the others" in doubt.text for draft in drafts for doubt in draft.doubts) == compared


def test_a_sound_reading_breaks_none() -> None:
    paper = read(SOUND)
    assert not paper.errors
    assert {doubt.kind for draft in paper.drafts for doubt in draft.doubts} <= {"type"}


def test_scans_that_cannot_be_read_are_an_error() -> None:
    made = page(*STEMS)
    blocks = [
        replace(block, origin="ocr", lines=[replace(one, confidence=0.7) for one in block.lines])
        for block in made.blocks
    ]
    paper = read(replace(made, blocks=blocks))
    assert any("mean confidence of 0.70" in line for line in paper.errors)
    assert all(draft.confidence <= 0.1 for draft in paper.drafts)


@pytest.mark.parametrize(
    ("text", "running"),
    [
        ("Heap sort is a stable sorting algorithm and so on", True),
        ("vertex 10    vertex 20    vertex 30    vertex 40", False),
        ("在光滑的水平地面上有两个质量分别为的小球", True),
        ("x   y   O   A   B   C   D", False),
        ("图甲  图乙", False),
    ],
)
def test_running_text_is_told_from_labels(text: str, running: bool) -> None:
    assert is_running(text) == running


def test_all_questions_of_a_scan_with_a_formula_are_compared() -> None:
    made = page("1. Find $x$.", "2. Say what 106 is.")
    paper = read(replace(made, blocks=[replace(block, origin="ocr") for block in made.blocks]))
    assert all(any("from a picture" in doubt.text for doubt in draft.doubts) for draft in paper.drafts)


def test_heads_of_questions_at_the_top_of_each_page_are_no_running_heads() -> None:
    pages = [page(f"Question {n} (6 pts)", f"Find {n}.", number=n, top=0.05) for n in range(1, 6)]
    assert [draft.number for draft in read(*marked(pages)).drafts] == ["1", "2", "3", "4", "5"]


def test_a_head_that_ends_in_a_ratio_is_no_running_head() -> None:
    pages = [page(f"{n}    Find the {'shares' * n} in 3 : 5 : 7", "of it.", number=n, top=0.05) for n in range(1, 6)]
    assert [draft.number for draft in read(*marked(pages)).drafts] == ["1", "2", "3", "4", "5"]


def test_a_listing_behind_the_first_head_does_not_make_it_one_of_the_rules() -> None:
    rules = page("Instructions to students:", "Be quiet.", "Write well.")
    listing = ["Q1. Read this:", "1 10.9.152.1 3.3 ms", "2 172.18.68.81 1.1 ms"]
    paper = read(rules, page(*listing, *(f"Q{n}. Find {n}." for n in range(2, 9)), number=2))
    assert [draft.number for draft in paper.drafts] == [str(n) for n in range(1, 9)]


def test_what_the_front_says_of_each_question_is_what_they_are_worth() -> None:
    assert {draft.points for draft in read(page("This paper has 4 questions each worth 3 marks.", *STEMS)).drafts} == {
        3
    }


@pytest.mark.parametrize(("mark", "points"), [("(6+6 = 12 marks)", 12), ("(1 x 3 = 3 marks)", 3), ("(2+3 marks)", 5)])
def test_points_may_be_a_sum(mark: str, points: float) -> None:
    assert by_number(read(page(f"1. Find a. {mark}", "2. Find b.")))["1"].points == points


def test_a_total_below_the_parts_is_no_part() -> None:
    draft = read(
        page("1. Read.", "(a) Find x. (10 points)", "(b) Find y. (10 points)", "(20 points)", "2. Find z.")
    ).drafts[0]
    assert (draft.points, draft.part_points) == (20, [10, 10])


@pytest.mark.parametrize(
    ("lines", "doubt"),
    [
        (("A. 1", "B. 2", "C. 3", "D. 4"), "its options are none"),
        (("[Solution]", "x = 1 because it is."), "an answer or solution stands in the question"),
        (("풀    이 홍길동", "x = 1 이다."), "an answer or solution stands in the question"),
        (("1) [정답] ②", "2) [정답] ③"), "an answer or solution stands in the question"),
    ],
)
def test_what_may_be_options_or_a_solution_is_doubted(lines: tuple[str, ...], doubt: str) -> None:
    """In the first question, or by the options that all but the first have."""
    own = [lines if (n == 1) != (lines[0] == "A. 1") else () for n in range(1, 6)]
    drafts = read(page(*(line for n, some in enumerate(own, 1) for line in (f"{n}. Which is right?", *some)))).drafts
    assert [any(doubt in each.text for each in draft.doubts) for draft in drafts] == [True, *[False] * 4]


@pytest.mark.parametrize(
    ("line", "doubt"),
    [
        ("Find f(x) on [0, 1) where a) it is odd", ""),
        ("某试剂瓶标签如右图，）", "a bracket or listing"),
        ("能浇上水的是（", "a bracket or listing"),
        ("(1)", "no words"),
        ("Say: I. a", ""),
    ],
)
def test_structure_that_nothing_uses_is_doubted(line: str, doubt: str) -> None:
    doubts = " ".join(each.text for each in read(page(f"1. {line}", "2. Find c.")).drafts[0].doubts)
    assert doubt in doubts if doubt else "not whole" not in doubts


def test_words_parted_at_the_end_of_a_line_are_joined() -> None:
    assert join("the presi‐", "dent of") == "the president of"
    assert join("a well-", "known case") == "a well-known case"
    lines = [
        "1. The president of a two-way street, re‐",
        "sides. A presi‐",
        "dent of a two‐",
        "way street is no flow‐",
        "er, though a street and a president meet in street‐",
        "president games.",
    ]
    (draft,) = read(page(*lines)).drafts
    assert "resides. A president of a two-way street is no flower" in draft.question
    assert "in street-president games" in draft.question and not draft.doubts[1:]


# ---- keys ----

GREETING = b"BT /F1 12 Tf 72 700 Td (Good luck!) Tj ET"
POINTS = ["1. (2 points) Find a.", "2. (3 points) Find b."]


@pytest.mark.parametrize(
    "printed",
    [
        "The total number of marks for this paper is 75",
        "The total mark for this paper is 75.",
        "This examination is worth 75 marks",
        "Maximum marks: 75",
        "Full marks 75",
        "There are 75 points in total.",
        "[Total: 75 marks]",
        "全卷满分75分",
        "총점 75점",
    ],
)
def test_printed_totals_in_any_wording(printed: str) -> None:
    assert any("75 points" in line for line in read(page(printed, *POINTS)).errors)
    assert not read(page(printed.replace("75", "5").replace("5", "05"), *POINTS)).errors


@pytest.mark.parametrize(
    "printed",
    [
        "Total time: 75 minutes",
        "Each section is worth 75 marks in total",
        "You need 75 marks to pass of the total",
        "考试时间75分钟",
    ],
)
def test_what_is_no_total_of_the_paper(printed: str) -> None:
    assert not any("75 points" in line for line in read(page(printed, *POINTS)).errors)


def key(*entries: Entry) -> AnswerKey:
    """A key of one file."""
    return AnswerKey([replace(entry, source="k.pdf") for entry in entries], name="k.pdf")


def copies(*stems: str) -> AnswerKey:
    """The answers of a solved paper: each begins as its question does."""
    return key(*(Entry(n, stem.split(". ", 1)[1] + " It is 7.", listed=True) for n, stem in enumerate(stems, 1)))


@pytest.mark.parametrize(
    ("given", "refused", "error"),
    [
        (copies(*STEMS), {"1", "2", "3", "4"}, "k.pdf repeats the questions"),
        (key(Entry(1, "Award marks for each point", listed=True)), {"1"}, "numbered list, and it is no key: 1 of 4"),
        (key(*(Entry(n, str(n), listed=True) for n in range(1, 5))), set(), ""),
        (key(*(Entry(n, "Find the value first, then add.", solution="x") for n in range(1, 5))), set(), ""),
    ],
)
def test_a_key_that_is_none_is_refused(given: AnswerKey, refused: set[str], error: str) -> None:
    paper = read(SOUND, key=given)
    keyed = {str(entry.number) for entry in given.entries} - refused
    assert {draft.number for draft in paper.drafts if draft.answer} == keyed
    assert all(any(doubt.kind == "answer" for doubt in by_number(paper)[n].doubts) for n in refused)
    assert any(error in line for line in paper.errors) if error else not paper.errors


@pytest.mark.parametrize(
    ("text", "answer", "solution"),
    [
        (f"Find a.\nAnswer: 22.\nSummary: {LONG}.", "22", f"Summary: {LONG}."),
        ("Find a.\nAnswer: 22.", "22", None),
        (f"求值。\n【答案】(1) 4\n(2) 5 {LONG}", f"(1) 4\n(2) 5 {LONG}", None),
        ("求值。\n【答案】3\n【解析】略", "3", "略"),
    ],
)
def test_what_follows_an_answer_explains_it(text: str, answer: str, solution: str | None) -> None:
    assert split_answered(text)[1:] == (answer, solution)


@pytest.mark.parametrize(("many", "doubt"), [(1, "1 keys, for 1 of 4 questions"), (9, "9 keys, for 4 of 4 questions")])
def test_keys_of_few_or_other_questions_are_doubted(many: int, doubt: str) -> None:
    paper = read(SOUND, key=key(*(Entry(number, "7") for number in range(1, many + 1))))
    assert by_number(paper)["1"].answer == ["7"]
    assert any(doubt in line for line in paper.errors)


def test_a_key_of_rows_without_names(tmp_path: Path) -> None:
    lines = page("1\t2\t3\t4", "A\tC\tB\tD").blocks
    table = replace(lines[0], kind="table", lines=[line for block in lines for line in block.lines])
    asked = page(*(line for n in range(1, 5) for line in (f"{n}．{'甲' * n}是", "A．1 B．2 C．3 D．4")))
    key = AnswerKey(name="k.pdf", pages={"k.pdf": [replace(page(), blocks=[table])]})
    assert [draft.answer for draft in read(asked, key=key).drafts] == [["A"], ["C"], ["B"], ["D"]]


def test_a_lone_number_beside_a_figure_is_a_question_where_pages_have_numbers_elsewhere() -> None:
    pages = []
    for n in range(1, 6):
        stem = (
            page(f"{n}    Find the value of {chr(96 + n)}.", top=0.08)
            if n != 3
            else page(f"{n}", "The diagram shows.", top=0.08)
        )
        top = page(str(n + 1), top=0.03)
        made = both(top, stem)
        blocks = [replace(block, box=at(block.box, n)) for block in made.blocks]
        blocks = [replace(block, lines=[replace(one, box=at(one.box, n)) for one in block.lines]) for block in blocks]
        pages.append(replace(made, number=n, blocks=blocks))
    paper = read(*marked(pages))
    assert [draft.number for draft in paper.drafts] == ["1", "2", "3", "4", "5"]


def test_a_key_with_letters_that_were_not_read_is_doubted() -> None:
    paper = read(SOUND, key=key(*(Entry(n, f"{UNREAD}{n}" if n == 2 else str(n)) for n in range(1, 5))))
    doubted = {draft.number for draft in paper.drafts if any("not read" in doubt.text for doubt in draft.doubts)}
    assert doubted == {"2"}


@pytest.mark.parametrize(
    ("name", "data"),
    [("broken.pdf", b"%PDF-1.4 nothing"), ("letter.pdf", plain_pdf(1, GREETING))],
)
def test_a_key_that_cannot_be_read_costs_no_question(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    paper = read(SOUND, key=AnswerKey.read(tmp_path / name))
    assert len(paper.drafts) == 4
    assert len(paper.errors) == 1 and paper.errors[0].startswith("the key was not read:") and name in paper.errors[0]


# ---- numbers, ground ----


def test_marks_and_lines_to_write_on_are_no_numbers() -> None:
    dots = "." * 60
    first = page("1    Data are stored.", "(a) State one use.", "Example " + dots, "1 " + dots, "2 " + dots, dots)
    right = [moved(block, 0.8, 0.83) for block in page("[1]", "[3]", top=0.5).blocks]
    second = page("2    A report is sent.", "(a) State why.", "1 " + dots, "2 " + dots, f"{dots} [2]…", number=2)
    paper = read(replace(first, blocks=[*first.blocks, *right]), second)
    found = by_number(paper)
    assert list(found) == ["1", "2"]
    assert "...." not in found["1"].question and found["1"].question_type != "fill_in_blank"
    assert found["2"].points == 2


def test_dots_within_a_sentence_are_a_blank() -> None:
    paper = read(page("1. Cookies are stored by a ............ and are deleted when it is closed.", "2. Find b."))
    assert "by a ____ and" in " ".join(paper.drafts[0].question.split())


def test_what_stands_at_the_same_place_of_all_pages_is_ground() -> None:
    pages = [page(STEMS[n], "□□□□□□", number=n + 1) for n in range(4)]
    paper = read(*pages)
    assert [draft.number for draft in paper.drafts] == ["1", "2", "3", "4"]
    assert not any("□" in draft.question for draft in paper.drafts)


# ---- glyphs and pages ----


def test_each_glyph_is_one_character() -> None:
    digit = Glyph("𝟏", 20, 20, 24, 30, 29, 10, 24, "CambriaMath", math=True)
    lefts = (40, 48, 56)
    text = [Glyph(letter, x, 20, x + 6, 30, 29, 10, x + 6, "Serif") for x, letter in zip(lefts, "abc", strict=True)]
    raw = RawPage(200, 100, [digit, *text])
    text_layer.name_numbers(raw, [(17, 18, 27, 32), (16.5, 17.5, 27.5, 32.5)])
    assert "".join(glyph.text for glyph in raw.glyphs).count("．") == 1
    assert all(len(glyph.text) == 1 for glyph in raw.glyphs)
    assert [glyph.text for glyph in sorted(raw.glyphs, key=lambda g: (g.right, g.left))][:2] == ["𝟏", "．"]


@pytest.mark.parametrize("code", [0, 1, 0xD835, 0xDC34, 0xE123, 0xFFFF])
def test_letters_without_meaning_leave_a_gap_that_can_be_seen(code: int) -> None:
    assert glyphs._character(code) == UNREAD and glyphs._unsound(code)


def test_a_page_on_which_a_rule_fails_costs_itself_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pypdfium2")
    path = tmp_path / "paper.pdf"
    path.write_bytes(plain_pdf(3, b"BT /F1 12 Tf 72 700 Td (1. Which of these is prime?) Tj ET"))
    whole = text_layer.blocks_of

    def fails(raw: RawPage, number: int, *rest: object) -> text_layer.Reading:
        if number == 2:
            raise TypeError("name() argument 1 must be a unicode character")
        return whole(raw, number, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(text_layer, "blocks_of", fails)
    pages = list(page_reader.read_here(path, None, "auto", None))
    assert [bool(one.lost) for one in pages] == [False, True, False]
    assert pages[1].image and "unicode character" in pages[1].lost


def test_what_is_needed_is_looked_for_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from livek12.core.errors import UserError
    from livek12.dataset_builders.ingest.paper import Options, ingest

    monkeypatch.setattr(pdf, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"needs pypdfium2: pip install"):
        ingest([tmp_path / "no.pdf"], tmp_path / "out", Options(answers=(tmp_path / "no.csv",)))
    assert not (tmp_path / "out").exists()


def placed(lines: Sequence[tuple[str, int]]) -> PageBlocks:
    """A page whose lines have places in the text layer."""
    made = page(*(text for text, _ in lines))
    blocks = [
        replace(block, lines=[replace(block.lines[0], place=place)])
        for block, (_, place) in zip(made.blocks, lines, strict=True)
    ]
    return replace(made, blocks=blocks)


@pytest.mark.parametrize(
    ("places", "doubted"),
    [((0, 1, 2, 3), []), ((0, 2, 1, 3), ["1"]), ((0, 2, 3, 4), [])],
)
def test_lines_that_the_text_layer_has_in_another_order_are_doubted(
    places: tuple[int, ...], doubted: list[str]
) -> None:
    lines = ["1. A cart rolls", "down a slope.", "How fast is it?", "2. Why?"]
    paper = read(placed(list(zip(lines, places, strict=True))))
    assert [d.number for d in paper.drafts if any("text layer" in doubt.text for doubt in d.doubts)] == doubted


def test_words_that_another_reading_lacks_are_doubted() -> None:
    made = page("1. Find the worst case ofselection", "2. Why?")
    block = made.blocks[0]
    made.blocks[0] = replace(block, lines=[replace(block.lines[0], other="ofselection")])
    doubts = [[doubt.text for doubt in draft.doubts if doubt.kind == "text"] for draft in read(made).drafts]
    assert doubts == [["another reading of the page does not have: ofselection"], []]


@pytest.mark.parametrize(("cells", "doubted"), [("a\tb", False), ("a\tb    c", True), ("\tb", True)])
def test_tables_whose_rules_were_missed_are_doubted(cells: str, doubted: bool) -> None:
    made = page("1. Read the table.", cells, "2. Why?")
    made.blocks[1] = replace(made.blocks[1], kind="table")
    assert any("of its table" in doubt.text for doubt in read(made).drafts[0].doubts) == doubted


def test_points_that_were_not_read_are_doubted() -> None:
    drafts = read(page("1. Why is it so? worth 5 points", "2. How?", "3. Where?")).drafts
    assert ["may be some" in " ".join(doubt.text for doubt in draft.doubts) for draft in drafts] == [True, False, False]
    above = "第一节（共3小题；每小题2.5分）", "第二节（共2小题）"
    drafts = read(page(*above, "1. Why is it so?", "2. How?")).drafts
    assert ["'2.5分' may be some" in " ".join(doubt.text for doubt in draft.doubts) for draft in drafts] == [True] * 2


ASKS = ["1. Why is it so?", "2. How?", "3. Where?"]


@pytest.mark.parametrize(
    ("above", "lines", "doubted"),
    [
        (["Total: 60 marks"], ASKS, False),
        (["Multiple-choice questions are worth three points each, free-response ones 12 points each."], ASKS, True),
        (["Time: 60 minutes"], ASKS, False),
        ([], ["1. Why is it (1)?", "2. How? (20)", "3. Where?"], False),
        ([], ["1. Why do 30% of all fall?", "They are ill.", "2. How?", "3. Where?"], False),
    ],
)
def test_numbers_with_a_word_of_points_are_taken_or_doubted(above: list[str], lines: list[str], doubted: bool) -> None:
    paper = read(page(*above, *lines))
    first = paper.drafts[0]
    assert first.points is None
    assert any("60 points, and none" in line for line in paper.errors) is ("60 marks" in "".join(above))
    assert any(doubt.kind == "points" for doubt in first.doubts) is doubted


@pytest.mark.parametrize(
    ("above", "lines", "worth"),
    [
        (["注：第1~2题每题8分，第3题每题5分。"], ["1. 求a。", "2. 求b。", "3. 求c。"], [8, 8, 5]),
        (["Each question is worth three points."], ASKS, [3, 3, 3]),
        (["A quiz on this and that…"], [piece for line in ASKS for piece in (line, "Mark out of 1.00")], [1, 1, 1]),
    ],
)
def test_plain_statements_of_points_are_read(above: list[str], lines: list[str], worth: list[float]) -> None:
    paper = read(page(*above, *lines))
    assert [draft.points for draft in paper.drafts] == worth
    assert not any("out of" in draft.question or "%" in draft.question for draft in paper.drafts)


def test_numbers_that_begin_most_questions_are_points() -> None:
    drafts = read(page("1. [4] Find a.", "2. Find b.", "a. [2] Why?", "b. [3] How?", "3. [5] Find c.")).drafts
    assert [(draft.points, draft.part_points) for draft in drafts] == [(4, []), (5, [2, 3]), (5, [])]
    assert drafts[0].question == "Find a."
    assert read(page("1. [4] Find a.", "2. Find b.", "3. Find c.")).drafts[0].points is None
    drafts = read(page("1. Find a (10)", "2. Find b (20)", "3. Find c (1)", "4. Find f (x)")).drafts
    assert [draft.points for draft in drafts] == [10, 20, 1, None]


def test_labels_named_within_an_option_part_no_list() -> None:
    lines = ["(a) Momentum", "(b) Energy", "(c) Spin", "(d) Both (b) and (c)"]
    draft = read(page("1. Which principle explains it?", *lines, "2. Why?")).drafts[0]
    assert [option.text for option in draft.options] == ["Momentum", "Energy", "Spin", "Both (b) and (c)"]


@pytest.mark.parametrize(("asks", "several"), [("모두\n선택하시오.", True), ("모두 고른 것은?", False)])
def test_all_that_are_right_are_several(asks: str, several: bool) -> None:
    lines = [f"1. 옳은 것을 {asks}", "① 가", "② 나", "③ 다", "④ 라", "2. 답을 쓰시오."]
    kind = read(page(*"\n".join(lines).split("\n"))).drafts[0].question_type
    assert (kind == "multiple_choice") is several


@pytest.mark.parametrize(
    ("label", "text", "earlier"),
    [
        ("3)", "f(x+2) is odd.\n3) Find it.", False),
        ("(2)", "f(1) is odd.\n(2) Find it.", False),
        ("(2)", "由(1)得\n(2) 求它", True),
        ("2)", "Find: 1) a\n2) b", True),
    ],
)
def test_a_label_named_within_a_line_is_no_argument(label: str, text: str, earlier: bool) -> None:
    assert _has_earlier(label, text) is earlier


def test_labels_in_another_form_than_others_are_doubted() -> None:
    others = [line for n in "23456" for line in (f"{n}. Which?…", *OPTIONS)]
    drafts = read(page("1. Convert each time.", "a) one", "b) two", "c) three", "d) four", *others, top=0.02)).drafts
    assert [any("another form" in doubt.text for doubt in draft.doubts) for draft in drafts] == [True, *[False] * 5]


@pytest.mark.parametrize(("stated", "own"), [("All questions are worth 12 points each.", False), ("", True)])
def test_what_the_front_says_makes_no_whole_run_of_numbers_that_come_again(stated: str, own: bool) -> None:
    asked = [f"{n}. {verb} {n}.{' (2 points)' * own}" for verb in ("Obey rule", "Find") for n in range(1, 7)]
    paper = read(page(stated or "A test", *asked, top=0.05))
    assert any("numbers come again" in line for line in paper.errors) is not own


@pytest.mark.parametrize(
    ("front", "doubted"), [(["Quiz", "정답", "문제"], False), (["정답", "Quiz"], True), (["기말 정답", "Quiz"], True)]
)
def test_a_bare_word_below_the_title_does_not_make_a_paper_one_with_answers(front: list[str], doubted: bool) -> None:
    drafts = read(page(*front, "1. 값을 구하시오. 답은 3이다.", "2. 합을 구하시오. 합은 4이다.")).drafts
    assert all(any("one with answers" in doubt.text for doubt in draft.doubts) is doubted for draft in drafts)


def test_what_asks_is_a_part_and_no_option() -> None:
    parts = ["A. What is its speed?", "B. What is its mass?", "C. What is its charge?"]
    asked = read(page("1. A cart rolls.", *parts, "2. Why?", "3. How?", "4. Where?")).drafts[0]
    assert not asked.options and "B. What is its mass?" in asked.question and asked.question_type == "open_ended"


@pytest.mark.parametrize(
    ("stem", "doubted"),
    [
        ("In this exercise you should:", "they may be parts"),
        ("Which of the following is right?", ""),
        ("Which of the following is right? Explain your answer.", ""),
    ],
)
def test_options_that_may_be_parts_are_doubted(stem: str, doubted: str) -> None:
    options = [f"({label}) Not call the contract from the account of user {label}." for label in "abc"]
    drafts = read(page(f"1. {stem}", *options, "2. Why?", "3. How?", "4. Where?")).drafts
    doubts = " ".join(doubt.text for doubt in drafts[0].doubts if doubt.kind == "type")
    assert len(drafts[0].options) == 3 and (doubted in doubts if doubted else not doubts)


@pytest.mark.parametrize(("says", "many"), [("a lake or a hill", 4), ("Find the lake", 0)])
def test_lines_with_the_labels_that_others_options_have_are_options_unless_they_ask(says: str, many: int) -> None:
    asked = [line for n in "123" for line in (f"{n}. Which?", *OPTIONS)]
    lines = [f"{label}. {says} of {label}." for label in "abcd"]
    assert len(read(page(*asked, "4. It is so.", *lines, top=0.05)).drafts[3].options) == many


def test_an_answer_in_an_option_is_a_doubt_of_the_options() -> None:
    lines = [line for n in "123" for line in (f"{n}. Which?…", *OPTIONS, "The correct answer is: four")]
    doubts = read(page(*lines)).drafts[0].doubts
    assert {doubt.kind for doubt in doubts if "an answer or solution" in doubt.text} == {"options"}


def test_a_lead_at_the_end_of_a_question_is_doubted_in_both() -> None:
    lead = "Use the table of states to answer the following questions."
    drafts = read(page("1. Find a.", lead, "2. Find b.", "3. Find c.")).drafts
    assert [any("may not be its own" in doubt.text for doubt in draft.doubts) for draft in drafts] == [
        True,
        True,
        False,
    ]


def test_a_section_without_a_question_is_an_error() -> None:
    essay = "六、写作题（60分）"
    paper = read(page("五、简答题（20分）", "1. 什么是网络？", essay, "请以网络为题写一篇文章。"))
    assert any("has no question" in line and "写作题" in line for line in paper.errors)
    assert not read(page("五、简答题（20分）", "1. 什么是网络？", essay, "2. 请以网络为题写一篇文章。")).errors


def test_short_questions_below_a_title_that_names_their_type_ask() -> None:
    listed = [f"{number}. 差商与节点的次序第{number}" for number in range(1, 10)]
    text = "nothing on the paper says"
    assert not any(text in doubt.text for draft in read(page("一、判断题", *listed)).drafts for doubt in draft.doubts)
    assert all(any(text in doubt.text for doubt in draft.doubts) for draft in read(page("目录", *listed)).drafts)


def test_questions_that_ask_nothing_are_doubted_unless_their_section_asks() -> None:
    names = ["1. Formic acid", "2. Acetic acid", "3. Citric acid"]
    for title, doubted in (("Section A", True), ("Section A: Explain these words", False)):
        drafts = read(page(title, *names)).drafts
        assert all((draft.confidence < 0.5) is doubted for draft in drafts)


def test_a_paper_that_is_called_answers_has_them_in_its_texts() -> None:
    drafts = read(page("线性代数期末考试试卷答案", "1. 求秩。秩为二。", "2. 求和。和为三。")).drafts
    assert all(any("one with answers" in doubt.text for doubt in draft.doubts) for draft in drafts)


@pytest.mark.parametrize(
    ("code", "doubted"), [("class S { int a; };", False), ("class S { int a;", True), ("```", True)]
)
def test_code_that_does_not_close_what_it_opens_is_doubted(code: str, doubted: bool) -> None:
    draft = read(page("1. What does it print?", code, "2. Why?")).drafts[0]
    assert any("listing of it is not whole" in doubt.text for doubt in draft.doubts) is doubted


@pytest.mark.parametrize(
    "formula",
    [
        r"$\{\ge M\cap|M$",
        r"$(x)\sin_x^1$",
        r"$\lim_{x\to}f(x)$",
        r"$O--\to C$",
        r'$T_{!"\#}$',
        "${}^1$",
        r"$\cos.\frac{k}{8}/+4$",
    ],
)
def test_formulas_that_lost_a_piece_are_doubted(formula: str) -> None:
    draft = read(page(f"1. Find {formula}.", "2. Find $x$.")).drafts[0]
    assert any("formula of it is not whole" in doubt.text for doubt in draft.doubts)


def test_a_tree_that_is_said_to_be_shown_is_a_figure() -> None:
    draft = read(page("1. 在下列所示的平衡二叉树中插入关键字。", "2. 求值。")).drafts[0]
    assert any("speaks of a figure" in doubt.text for doubt in draft.doubts)


@pytest.mark.parametrize(("worth", "doubted"), [(2, True), (9, False)])
def test_a_long_question_with_the_points_of_several_is_no_doubt(worth: int, doubted: bool) -> None:
    long = [f"{LONG} {n}." for n in range(20)]
    asked = [f"{n}. (2 points) Why is the quick brown fox so quick, and the dog so lazy? Say it." for n in range(2, 30)]
    paper = read(page(f"1. ({worth} points) Why?", *long, top=0.0), page(*asked, number=2, top=0.0))
    doubts = [doubt.text for doubt in paper.drafts[0].doubts]
    assert any("much longer than the others" in text for text in doubts) is doubted


def test_a_letter_where_others_have_an_empty_bracket_is_doubted() -> None:
    asked = [
        line for n in "123" for line in (f"{n}. 正确的是（{'B' if n == '2' else '  '}）", "A. 甲  B. 乙  C. 丙  D. 丁")
    ]
    drafts = by_number(read(page("一、单选题", *asked)))
    doubted = [n for n, draft in drafts.items() if any("empty bracket" in doubt.text for doubt in draft.doubts)]
    assert doubted == ([] if drafts["2"].answer else ["2"])


def test_strips_beside_the_text_are_ground_where_pages_have_them_again() -> None:
    strip, own = (Box(page=1, left=left, top=0.05, right=left + 0.04, bottom=0.9) for left in (0.955, 0.3))
    pages = []
    for number in range(1, 4):
        made = page(f"{number}. Find the value of x.", number=number)
        figures = [Block(kind="figure", box=at(box, number), picture=b"x") for box in (strip, own)]
        pages.append(replace(made, blocks=[*made.blocks, *figures]))
    kinds = [[block.kind for block in each.blocks if block.picture] for each in marked(pages)]
    assert kinds == [["footer", "figure"]] * 3


def test_a_product_behind_an_instruction_is_its_points() -> None:
    paper = read(page("1. Fill in the blanks.    4 × 1 = 4", "He ____ (go) home.", "2. What is 4 × 1 = 4 called?"))
    assert [draft.points for draft in paper.drafts] == [4, None]
    assert not any("4 × 1 = 4" in doubt.text for draft in paper.drafts for doubt in draft.doubts)


def test_the_total_of_a_section_is_of_no_question() -> None:
    def doubts(title: str) -> list[bool]:
        paper = read(page(title, "1. 求 a", "2. 求 b"))
        says = [any("points, and no question has any" in line for line in paper.errors)]
        return [*says, *(any("may be some" in doubt.text for doubt in draft.doubts) for draft in paper.drafts)]

    assert doubts("一、计算题（20分）") == [True, False, False]
    assert doubts("一、（本题共20分）") == [True, False, False]
    assert doubts("一、计算题 各题皆 10分") == [False, True, True]


@pytest.mark.parametrize(
    ("line", "doubted"),
    [
        ("1. What do the underlined words mean? He left in a hurry.", True),
        ("1. What do the underlined words mean? He (a) left in a (b) hurry.", False),
        ("1. What does the underlined word “hurry” mean? He left in a hurry.", False),
        ("1. 밑줄 친 부분의 뜻은?", True),
        ("1. 밑줄 친 ⓐ의 뜻은?", False),
        ("1. 밑줄 친 부분의 뜻은? <u>하늘</u>", False),
    ],
)
def test_underlines_that_a_question_asks_for_are_missed(line: str, doubted: bool) -> None:
    doubts = [doubt.text for doubt in read(page(line, "2. Find b.")).drafts[0].doubts]
    assert any("underlined" in text for text in doubts) is doubted


def test_the_number_of_an_answer_blank_is_no_text() -> None:
    drafts = read(page("1) Which wave travels through space the    1)", "fastest?", "2) Why 2)?    2) ____")).drafts
    assert [draft.question for draft in drafts] == ["Which wave travels through space the fastest?", "Why 2)?"]


@pytest.mark.parametrize(
    ("line", "doubt"),
    [
        ("2. The largest of three", "nothing on the paper says that this is open_ended"),
        ("2. It is used for the best of three.", "nothing on the paper says that this is open_ended"),
        ("2. Write one statement in each blank: a = ____; print(a)", "speaks of several blanks, and one was read"),
        ("2. Write one statement in the blank: a = ____; print(a)", ""),
        ("2. Use the values of the table below to find a.", "speaks of a figure or table, and none was found"),
        ("2. Hence find b, and circle those that you took.", ""),
    ],
)
def test_what_nothing_on_the_page_says_is_doubted(line: str, doubt: str) -> None:
    """A default is no evidence, though the others of the section ask."""
    doubts = [each.text for each in by_number(read(page("1. Find a.", line, "3. Find c.", "4. Find d.")))["2"].doubts]
    assert any(doubt in text for text in doubts) if doubt else not doubts[1:], doubts


def test_a_label_of_a_solution_on_a_line_that_wraps_is_seen() -> None:
    draft = read(page("1. Find the largest of a…", "(풀이) it is 3…", "and c.", "2. Why?", "3. How?")).drafts[0]
    assert any("an answer or solution" in doubt.text for doubt in draft.doubts)


def test_a_table_to_fill_in_is_not_doubted() -> None:
    made = page("1. Read the table.", "", "2. Why?")
    lines = [replace(made.blocks[1].lines[0], text=text) for text in ("Rule\tYes\tNo", "a\t\t", "b\t\t")]
    made.blocks[1] = replace(made.blocks[1], kind="table", lines=lines)
    assert not any("cells of its table" in doubt.text for doubt in read(made).drafts[0].doubts)


@pytest.mark.parametrize(
    ("text", "doubted"), [("求幂级数    的收敛半径、和函数。", True), ("甲    乙    丙，丁", False)]
)
def test_a_gap_within_a_sentence_is_doubted(text: str, doubted: bool) -> None:
    draft = read(page(f"1. {text}", "2. 求值。")).drafts[0]
    assert any("has a gap" in doubt.text for doubt in draft.doubts) is doubted


def test_the_title_of_an_empty_page_is_no_text() -> None:
    drafts = read(page("1. Find a.", "2. Find b."), page("Scratch Paper", number=2)).drafts
    assert [draft.question for draft in drafts] == ["Find a.", "Find b."]
