"""Choice questions: any script, any order, partial credit by a named rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livek12.core.records import Option
from livek12.judges.base import AnswerComparison
from livek12.judges.rules.choice import ChoiceStage
from livek12.judges.rules.labels import read_labels
from tests.judges.helpers import decide, mark, options, outcome, question

SAME = [
    ("B", "B"), ("B", "b"), ("B", "Ｂ"), ("B", "(B)"), ("B", "**B**"), ("B", r"\text{(B)}"), ("B", "B."),
    ("B", "选项B"),
    ("B", "Option B"), ("B", "B. 6"), ("B", "B、6 cm"), ("（B）", "B"), ("4", "④"), ("④", "4번"),
    ("④", "(4)"), ("④", "4"), ("ㄱ, ㄷ", "ㄷ,ㄱ"), ("ㄱㄷ", "㉠, ㉢"), ("가", "(가)"),
]  # fmt: skip
SETS = [
    "ACD",
    "A, C, D",
    "A、C、D",
    "A,C和D",
    "A, C and D",
    "DCA",
    r"A,\;C,\;D",
    "A C D",
    "(A)(C)(D)",
    "A；C；D",
    "ACD。",
]
OTHER = [("B", "C"), ("B", "(C)"), ("④", "③"), ("4", "5번"), ("ㄱ, ㄴ", "ㄱ, ㄷ")]
UNCLEAR = [
    ("B", "A or B"), ("B", "A或B"), ("B", "vitamin B"), ("B", "Because of B"), ("B", "6"), ("B", ""), ("B", "②"),
    ("4", "D"), ("12 cm", "12 cm"), ("B", "bad"), ("B", "B is not right"),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "answer"), SAME)
def test_same_label_in_any_script(gold: str, answer: str) -> None:
    assert outcome(gold, answer, "single_choice") == "accept"


@pytest.mark.parametrize("answer", SETS)
def test_sets_in_any_order_and_notation(answer: str) -> None:
    assert outcome("ACD", answer, "multiple_choice") == "accept"
    assert outcome("ABD", answer, "multiple_choice") == "reject"


@pytest.mark.parametrize(("gold", "answer"), OTHER)
def test_other_label_is_wrong(gold: str, answer: str) -> None:
    assert outcome(gold, answer, "single_choice") == "reject"


@pytest.mark.parametrize(("gold", "answer"), UNCLEAR)
def test_what_is_no_label_is_not_decided(gold: str, answer: str) -> None:
    assert outcome(gold, answer, "single_choice") == "undecided"


@pytest.mark.parametrize(
    ("rule", "answer", "score"),
    [
        ("exact", "AC", 0.0), ("half", "AC", 0.5), ("proportional", "AC", 2 / 3), ("proportional", "A", 1 / 3),
        ("half", "AB", 0.0), ("proportional", "ABCD", 0.0), ("proportional", "B", 0.0),
    ],
)  # fmt: skip
def test_partial_credit_is_a_named_rule(rule: str, answer: str, score: float) -> None:
    decision = decide("ACD", answer, "multiple_choice", partial_credit=rule)
    assert (decision.decision, decision.score) == ("reject", score)


def test_an_option_given_as_its_text_is_matched_to_its_label() -> None:
    choices = tuple(options(r"\(5\)", r"\(6\)", r"\(\dfrac{\sqrt{65}}{2}\)", "①③"))
    assert outcome("B", "6", "single_choice", options=choices) == "accept"
    assert outcome("A", "6", "single_choice", options=choices) == "reject"
    assert outcome("C", r"d=\frac{\sqrt{65}}2", "single_choice", options=choices) == "accept"
    assert outcome("D", "①③", "single_choice", options=choices) == "accept"
    assert outcome("B", "7", "single_choice", options=choices) == "undecided"


@pytest.mark.parametrize("answer", ["None of the above", "以上都不对", "没有正确选项", "정답 없음", r"\text{None}"])
def test_none_of_the_options_is_wrong_where_no_option_says_so(answer: str) -> None:
    assert outcome("B", answer, "single_choice", options=tuple(options("5", "6", "7", "8"))) == "reject"
    assert outcome("D", answer, "single_choice", options=tuple(options("5", "6", "7", "以上都不对"))) != "reject"
    assert outcome("B", answer, "single_choice") == "undecided"
    assert outcome("B", answer, "single_choice", options=tuple(options("5", "", "7", "8"))) == "undecided"


def test_a_text_that_two_options_share_or_that_contradicts_its_label_is_not_decided() -> None:
    assert outcome("A", "6", "single_choice", options=tuple(options("6", "6", "7"))) == "undecided"
    assert outcome("A", "A. 7", "single_choice", options=tuple(options("6", "8", "7"))) == "undecided"


def test_a_number_that_is_both_a_label_and_another_options_text_is_not_decided() -> None:
    choices = tuple(
        option.model_copy(update={"label": str(index)}) for index, option in enumerate(options("4", "3"), 1)
    )
    assert outcome("1", "4", "single_choice", options=choices) == "accept"
    assert outcome("1", "1", "single_choice", options=choices) == "accept"
    swapped = tuple(
        option.model_copy(update={"label": str(index)}) for index, option in enumerate(options("2", "1"), 1)
    )
    assert outcome("1", "1", "single_choice", options=swapped) == "undecided"


STEPS = [
    ("CAB", "C、A、B", "accept"),
    ("CAB", "C→A→B", "accept"),
    ("CAB", r"C\to A\to B", "accept"),
    ("CAB", "CBA", "reject"),
    ("CAB", "ABC", "reject"),
    ("ABC", "CBA", "undecided"),
    ("ABC", "A, B, C", "accept"),
    ("(b)", "(a) and (b)", "reject"),
    ("(ii)", "(i), (ii)", "reject"),
    ("(a) and (b)", "(b) and (a)", "accept"),
    ("③①②", "③→①→②", "accept"),
    ("③①②", "①②③", "reject"),
    ("①②③", "②①③", "undecided"),
    ("CAB", "先C再A后B", "undecided"),
    ("CAB", "CABD", "undecided"),
]


@pytest.mark.parametrize(("gold", "answer", "expected"), STEPS)
def test_steps_in_their_order(gold: str, answer: str, expected: str) -> None:
    assert outcome(gold, answer, "fill_in_blank") == expected


def test_statement_numbers_in_a_blank_are_a_set() -> None:
    assert outcome("②③", "③②", "fill_in_blank") == "accept"
    assert outcome("②③", "2, 3", "fill_in_blank") == "accept"
    assert outcome("②③", "①②", "fill_in_blank") == "reject"
    assert outcome("②③", "②③正确", "fill_in_blank") == "accept"
    assert outcome("②③", "①③是正确的", "fill_in_blank") == "reject"
    assert outcome("②③", "②③错误", "fill_in_blank") == "undecided"
    assert outcome("23", "②③", "fill_in_blank") == "undecided"


@given(
    st.sets(st.sampled_from("ABCDEFGH"), min_size=1),
    st.randoms(use_true_random=False),
    st.sampled_from(["", ",", "、", " and ", "和", ", "]),
)
def test_order_and_separator_never_matter(letters: set[str], random: object, separator: str) -> None:
    shuffled = sorted(letters)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert read_labels(separator.join(shuffled)) == frozenset(letters)
    assert outcome("".join(sorted(letters)), separator.join(shuffled), "multiple_choice") == "accept"


@pytest.mark.parametrize(
    ("answer", "expected"), [("acd", "accept"), (r"\boxed{acd}", "accept"), ("ab", "reject"), ("ace", "undecided"),
    ("dca", "undecided"), ("bad", "undecided")]
)  # fmt: skip
def test_small_letters_are_labels_where_they_are_options_in_order(answer: str, expected: str) -> None:
    four = tuple(options("5", "6", "7", "8"))
    assert outcome("ACD", answer, "multiple_choice", options=four) == expected


@pytest.mark.parametrize("answer", ["135", "1, 3, 5", "①③⑤", "5번, 3번, 1번", "531"])
@pytest.mark.parametrize("labels", ["12345", ""])
def test_digits_of_a_multiple_choice_are_labels_each(answer: str, labels: str) -> None:
    options = tuple(Option(label=label, text=f"option {label}") for label in labels)
    comparison = AnswerComparison(gold="135", answer=answer, question_type="multiple_choice", options=options)
    assert ChoiceStage().decide(comparison).decision == "accept"
    wrong = AnswerComparison(gold="135", answer="13", question_type="multiple_choice", options=options)
    assert ChoiceStage().decide(wrong).decision == "reject"


def test_a_label_of_two_digits_stays_one() -> None:
    options = tuple(Option(label=str(number), text=f"option {number}") for number in range(1, 16))
    comparison = AnswerComparison(gold="14", answer="1, 4", question_type="multiple_choice", options=options)
    assert ChoiceStage().decide(comparison).decision == "reject"


@pytest.mark.parametrize(
    ("answer", "said"),
    [("13", False), ("15", True), ("1/2", False), ("2", None), ("14.9999", None),
     ("x", None), ("15 or 18", None), ("13 cm", False)],
)  # fmt: skip
def test_a_value_of_no_option_is_wrong(answer: str, said: bool | None) -> None:
    given = options("12", "15", "18", "21")
    assert mark(question("single_choice", answer=["B"], options=given), answer).correct is said
    assert mark(question("single_choice", answer=["B"], options=given[:2]), answer).correct in {said, None}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("D. it can't be A or B", "accept"),
        ("D: 因为其他选项不符合题意", "accept"),
        ("B. it can't be A or D", "undecided"),
    ],
)
def test_a_letter_with_words_where_no_type_is_known(answer: str, said: str) -> None:
    assert outcome("D", answer) == said
    assert outcome("A", "A. 3 B. 5 C. 7 D. 9") == "undecided"
