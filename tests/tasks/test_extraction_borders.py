"""Where a value or a list of labels begins and ends: read whole or not at all."""

from __future__ import annotations

from itertools import islice, product

import pytest

from livek12.core.records import Question
from livek12.judges.rules.labels import labelled_option, read_labels
from livek12.tasks.extraction import extract
from tests.judges.helpers import question

BRACKETS = (
    "{}",
    "({})",
    "[{}]",
    "（{}）",
    "【{}】",
    "**{}**",
    "{})",
    '"{}"',
    "${}$",
    "\\text{{{}}}",
    "**({})**",
    "〔{}〕",
    "《{}》",
)
ENGLISH = (
    (
        "The correct options are {}.",
        "Correct answers: {}",
        "The true statements are {}.",
        "{} are the correct choices.",
    ),
    (", ", ", and ", " and ", " & ", ", & ", " as well as ", "; ", ", along with ", ", plus ", ", and also "),
)
CHINESE = (
    ("正确的选项是{}。", "答案：{}", "所以本题选{}。", "综上，{}正确。"),
    ("，", "、", "和", "，和", "以及", "，以及", "、以及", "与", "及", "，还有", "项和"),
)
KOREAN = (
    ("정답은 {}이다.", "따라서 정답은 {}입니다.", "최종 답: {}"),
    (", ", " 그리고 ", ", 그리고 ", " 및 ", "와 ", "과 ", "·"),
)
LISTS = [
    (frame.format(f"{bracket.format('A')}{joint}{bracket.format('C')}{joint}{bracket.format('D')}"), "ACD")
    for frames, joints in (ENGLISH, CHINESE)
    for frame, joint, bracket in islice(product(frames, joints, BRACKETS), 0, None, 3)
] + [
    (frame.format(joint.join(labels)), labels)
    for frame, joint, labels in product(*KOREAN, ("①③④", "ㄱㄷㄹ"))
    if joint != ", and also "
]
ASKED = question("multiple_choice", answer=["?"], language="ko")


def labels_of(text: str) -> frozenset[str] | None:
    answers = extract(text, ASKED, "stop").answers
    return read_labels(answers[0]) if len(answers) == 1 else None


def test_a_list_of_labels_is_read_whole() -> None:
    assert len(LISTS) > 300
    wrong = [text for text, labels in LISTS if labels_of(text) not in (None, read_labels(", ".join(labels)))]
    assert wrong == [], "another list was read"
    assert [text for text, _ in LISTS if labels_of(text) is None and "and also" not in text] == []


@pytest.mark.parametrize(
    "text",
    [
        "The correct options are A, C and possibly D.",
        "The correct answers are (A), (C), and maybe (D).",
        "A and C are the correct options, and so is D.",
        "The answer is A, C (and also D).",
        "Answer: A, C, and of course D",
        "The correct options are A, C and the last one.",
        "I choose A, C; also D.",
        "The answers are A, C — D too.",
        "正确的是A、C，可能还有D。",
        "答案是A、C，另外还有D",
        "故选A、C和也许D。",
        "정답은 ①, ③ 그리고 아마도 ④이다.",
        "The correct statements are A and C; D is also correct.",
        "The correct options are A and C. In addition, D is correct too.",
        "The answer is A and C, but D works as well.",
        "The answer is A, C and, arguably, D.",
        "The correct options are A and C, with D also correct.",
        "The correct options are A and C, or even D.",
        "The correct options are A and C ∪ D.",
        "The correct options are A and C, and one more.",
        "The correct options are A and C and all of the others.",
        "The correct options are A and C, etc.",
        "Final answer: A, C, ...",
        "\\boxed{A, C}, but D also works.",
        "**A, C**\n\nD also holds.",
        "答案为A、C等。",
        "答案是A C 并且 D。",
        "正确答案是A、C，不过D也对。",
        "정답은 A, C이며 D도 옳다.",
    ],
)
def test_where_a_list_goes_on_nothing_is_decided(text: str) -> None:
    assert labels_of(text) in (None, frozenset("ACD"), frozenset("134"))


@pytest.mark.parametrize(
    "text",
    [
        "The answer is A, and B is wrong.",
        "The correct answer is A. C and D are wrong.",
        "故选A，其余B、C、D均错误。",
        "The answer is A, as B contradicts it.",
    ],
)
def test_what_is_said_of_another_label_is_no_list(text: str) -> None:
    assert labels_of(text) in (None, frozenset("A"))


CHOSEN = question("single_choice", answer=["C"], question="Which of these is the speed? A. 4 B. 5 C. 6 D. 7")
WRONG_ONE = question("single_choice", answer=["C"], question="Which statement is incorrect? A. p B. q C. r D. s")


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (CHOSEN, "The answer is C, because A and B violate the law."),
        (CHOSEN, "A is wrong, so the answer is C."),
        (CHOSEN, "The answer is C. B also fails, D too."),
        (CHOSEN, "The answer is C, but D is tempting."),
        (CHOSEN, "The answer is C, with D being excluded."),
        (CHOSEN, "The answer is C. D might look correct too, but it ignores friction."),
        (CHOSEN, "Answer: C. Options A and D are also too far off."),
        (CHOSEN, "The answer is C (see the figure), D being too large."),
        (CHOSEN, "\\boxed{C}\nA is too small, B also is not right."),
        (CHOSEN, "答案是C。A也不对，B错误。"),
        (CHOSEN, "答案选C，A项正确但不符合题意。"),
        (CHOSEN, "정답은 C이고 A도 틀렸다."),
        (WRONG_ONE, "The answer is C. A is correct, B is also correct, D too."),
        (WRONG_ONE, "The answer is C, while D is true."),
    ],
)
def test_words_on_other_options_leave_the_answer_as_it_is(asked: Question, text: str) -> None:
    (answer,) = extract(text, asked, "stop").answers
    assert read_labels(answer) == frozenset("C")


@pytest.mark.parametrize(
    "text",
    [
        "The answer is C, but D also works.",
        "The answer is C; however, D is better.",
        "\\boxed{C}, though D works too.",
        "**C**\n\nD also fits.",
        "答案是C，不过D也对。",
        "정답은 C이지만 D도 맞다.",
    ],
)
def test_an_answer_that_another_option_shares_is_not_decided(text: str) -> None:
    assert not any(read_labels(answer) for answer in extract(text, CHOSEN, "stop").answers)


WHOLE = ("7", "-7", "3√7", "2√6", "x > 7", "1/7", "12%", "7 cm", "1,250", "0.25", "x^2+1", "{3, 7}", "(3, 7)", "x = 7",
         "±7", "$3\\sqrt{7}$", "\\(7\\)", "10^7", "12:7", "7x", "√7", "n ≥ 7", "log 7", "f(7)", "7!",
         "π/7")  # fmt: skip
"""Values that are read with all that belongs to them."""
UNREAD = ("6 or 7", "between 3 and 7", "about 7", "not 7", "half of 7", "twice 7", "3 and 7", "more than 7", "12 to 7",
          "at most 7", "7 or more", "the square of 7", "minus 7", "7 times x", "a multiple of 7")  # fmt: skip
"""Words that say more, or less, than the number in them."""
SAID = ("{} is the answer.", "So, after simplifying, {} is the answer.", "We check it.\n\n{} is the final answer.",
        "{} is the correct answer", "因此{}就是答案。", "{}是正确答案。", "계산하면 {}이 정답이다.")  # fmt: skip
VALUE = question("short_answer", answer=["?"], language="en")


@pytest.mark.parametrize("said", SAID)
def test_a_value_before_the_verb_reaches_from_the_border_of_its_clause_to_the_verb(said: str) -> None:
    assert [value for value in WHOLE if extract(said.format(value), VALUE, "stop").answers != [value]] == []
    for words in UNREAD:
        (answer,) = extract(said.format(words), VALUE, "stop").answers or ["…"]
        assert words in answer or answer == "…", f"{said.format(words)!r} gives {answer!r}"


@pytest.mark.parametrize(
    "text", ["It is √7.", "So it is 7π.", "It is x > 7.", "The total is ±7.", "There are 12√2 of them."]
)
def test_a_number_of_a_larger_value_is_not_the_value_of_its_sentence(text: str) -> None:
    assert extract(text, VALUE, "stop").answers in ([text], [text.rstrip(".")], [])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("So I pick it.\n\n<|begin_of_box|>$7$<|end_of_box|>", "7"),
        ("<|begin_of_box|>\\boxed{\\frac{1}{2}}<|end_of_box|>", "\\frac{1}{2}"),
        ("First <|begin_of_box|>8<|end_of_box|>, then <|begin_of_box|>7<|end_of_box|>.", "7"),
        ("<think>It is <|begin_of_box|>8<|end_of_box|></think><|begin_of_box|>7<|end_of_box|>", "7"),
    ],
)
def test_a_box_of_tokens(text: str, value: str) -> None:
    assert [answer.strip("$") for answer in extract(text, VALUE, "stop").answers] == [value]
    assert extract("It is <|begin_of_box|>7", VALUE, "stop").answers == []


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("The correct options are:\n\n(A) The area is 35.\n\n(C) The tangents meet at (-3,0).", "AC"),
        ("The right choices are (a), (c) plus (d).", "ACD"),
        ("The right choice is (a).", "A"),
    ],
)
def test_options_in_brackets(text: str, labels: str) -> None:
    several = question(answer=["ACD"], question_type="multiple_choice")
    assert [read_labels(answer) for answer in extract(text, several, "stop").answers] == [frozenset(labels)]


def test_two_options_with_their_texts_are_none() -> None:
    assert labelled_option("(A) -9, (D) 8") is None
    assert labelled_option("(D) 8, or so") == ("D", "8, or so")


def test_a_value_that_spans_lines_is_kept_with_its_words() -> None:
    text = "故是 : （CH\nB vs(C 项 （ $x=12$."
    assert extract(text, question("fill_in_blank", answer=["12"]), "stop").answers == [text]
