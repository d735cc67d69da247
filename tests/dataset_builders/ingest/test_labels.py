"""Lists of labels, wherever they stand; numerals, titles and keys that lead or count questions."""

from __future__ import annotations

from pathlib import Path

import pytest

from livek12.dataset_builders.ingest.questions.labels import label_lists, stray_labels
from tests.dataset_builders.ingest.papers import page, read, segmented
from tests.dataset_builders.ingest.pdf_making import typeset

TEXTS = ("a stack", "a queue", "a heap of some kind", "a tree")
STEMS = ("Which is last in, first out?", "Which is first in, first out?", "Which has a root?", "Which is ordered?")


def columns(stem: str, label: str, order: str) -> str:
    places = {"down": (0, 2, 1, 3), "across": (0, 1, 2, 3)}[order]
    cells = (f"[{label.format('ABCD'[at] if '.' in label else 'abcd'[at])} {TEXTS[at]}]" for at in places)
    return f"{stem}\n\n#grid(columns: (1fr, 1fr), row-gutter: 6pt, {', '.join(cells)})"


@pytest.mark.parametrize("order", ["down", "across"])
@pytest.mark.parametrize("label", ["({})", "{})", "{}."])
def test_options_in_two_columns_are_read_in_the_order_of_their_labels(tmp_path: Path, label: str, order: str) -> None:
    from livek12.dataset_builders.ingest.extract import extract_pages

    body = "\n\n".join(f"{n}. {columns(stem, label, order)}" for n, stem in enumerate(STEMS, 1))
    paper = read(*extract_pages(typeset(body, tmp_path / "paper.pdf")))
    assert [[option.text for option in draft.options] for draft in paper.drafts] == [list(TEXTS)] * len(STEMS)
    assert not any(doubt.kind != "answer" for draft in paper.drafts for doubt in draft.doubts)


def test_options_within_a_line_are_read() -> None:
    lines = [f"{n}. {stem} a) one b) two c) three d) four" for n, stem in enumerate(STEMS, 1)]
    drafts = read(page(*lines)).drafts
    assert [draft.question for draft in drafts] == list(STEMS)
    assert all([option.text for option in draft.options] == ["one", "two", "three", "four"] for draft in drafts)


def test_a_list_that_is_to_be_worked_through_is_one_of_parts() -> None:
    draft = read(page("1. Define the following terms (a) distance (b) speed (c) force", "2. Why?", "3. How?")).drafts[0]
    assert not draft.options and "(c) force" in draft.question
    lines = [f"{label}. {text} Find its image and tell the size…" for label, text in zip("ABC", STEMS, strict=False)]
    assert not read(page("1. A lens stands here.", *lines, "2. Why?", "3. How?")).drafts[0].options


def test_long_options_that_complete_the_sentence_of_the_stem() -> None:
    texts = [f"the distance from the lens at which all of the rays that are parallel meet at point {n}" for n in "pqrs"]
    lines = [f"{label}. {text}" for label, text in zip("abcd", texts, strict=True)]
    draft = read(page("1. The focal length of a lens is", *lines, "2. Why?", "3. How?")).drafts[0]
    assert [option.text for option in draft.options] == texts


@pytest.mark.parametrize(
    ("text", "lists", "stray"),
    [
        ("Pick:\n(a) x\n(b) y\n(c) z", ["in2"], []),
        ("It is\n(a) x\n(c) z", [], ["(c)"]),
        ("① $100 ② $150 ③ $200", ["ring0"], []),
        ("as in part b. and vitamin B. It is", [], []),
        ("Is it a.8 b.9 c. 10 d.11", ["dotted2"], []),
        ("Is it as in a. or as in b. or c. and a. too", [], []),
        ("see (A), then (C)\nA. x\nB. y\nC. z", ["dotted1"], []),
    ],
)
def test_lists_are_whole_and_other_labels_are_strays(text: str, lists: list[str], stray: list[str]) -> None:
    assert [each.style for each in label_lists(text)] == lists
    assert stray_labels(text) == stray


def test_numerals_without_numbers_below_are_questions_of_their_own() -> None:
    numbered = ["一．填空题（每题3分，共9分）", "1、甲是____。", "2、乙是____。", "3、丙是____。"]
    paper = read(page(*numbered, "二、（15分）求电流。", "三、（13分）求电压。", "四、（10分）证明等式。", top=0.05))
    assert [(draft.elective, draft.number) for draft in paper.drafts] == [
        *(("填空题", number) for number in "123"),
        *(("", number) for number in "234"),
    ]
    assert [draft.question_type for draft in paper.drafts[3:]] == ["open_ended", "open_ended", "proof"]


@pytest.mark.parametrize("form", ["Problem 1.{}. Find x.", "(Q{}) Find x.", "문제 2.{}. 값을 구하시오."])
def test_other_forms_of_numbers(form: str) -> None:
    assert [each.number for each in segmented([page(*(form.format(n) for n in range(1, 6)))])[0].segments] == [
        *range(1, 6)
    ]


def test_remarks_on_marking_below_each_question_begin_no_key() -> None:
    lines = [line for n in range(1, 6) for line in (f"QUESTION {n} [20 points]: Say why.", f"评分标准：写对{n}项给分")]
    assert len(read(page(*lines, top=0.05)).drafts) == 5


@pytest.mark.parametrize(
    ("title", "led"),
    [("#text(size: 16pt)[Story Two]", ["3", "4", "5"]), ('#text(weight: "bold")[Deques]', ["3", "4"])],
)
def test_a_title_set_apart_leads_the_questions_below_it(tmp_path: Path, title: str, led: list[str]) -> None:
    from livek12.dataset_builders.ingest.extract import extract_pages

    story = "A deque is a queue with two ends, and its items lie in an array that is as long as needed."
    first = "1. Why is a list slow?\n\n2. Why is an array fast?"
    second = f"#pagebreak()\n\n{title}\n\n{story}\n\n3. Why has it two ends?\n\n4. Why is it long?"
    body = f"{first}\n\n{second}\n\n#pagebreak()\n\n5. Why is a tree high?"
    drafts = read(*extract_pages(typeset(body, tmp_path / "paper.pdf"))).drafts
    assert [draft.number for draft in drafts] == list("12345")
    assert [draft.number for draft in drafts if story in draft.question] == led
    assert not any(doubt.kind == "text" for draft in drafts for doubt in draft.doubts)
