"""Whole responses, from their words to the verdict: classes of endings, of denials and of values in other notations."""

from __future__ import annotations

import pytest

from livek12.core.records import Question, Variable
from livek12.tasks.extraction import extract
from tests.judges.helpers import mark, options, question

KEYS = {
    "12": ("12", "15", "fill_in_blank"),
    "5 m/s": ("5 m/s", "8 m/s", "short_answer"),
    "x^2+1": ("$x^2+1$", "$x^2-1$", "short_answer"),
    "photosynthesis": ("photosynthesis", "respiration", "short_answer"),
}


def verdict(asked: Question, response: str) -> bool | None:
    """Whether a response is right; None where the rules leave it open, or find nothing."""
    found = mark(asked, *extract(response, asked, "stop").answers)
    return None if found.state == "no_answer" else found.correct


ENDINGS = [
    "Therefore, {v}.", "I get {v}.", "This gives {v}.", "Result: {v}", "⇒ {v}", "✅ **{v}**", "Final Answer → {v}",
    "Final answer: {v} ✓", "```\n{v}\n```", "Answer: {w}. Wait, that's wrong. The answer is {v}.",
]  # fmt: skip


@pytest.mark.parametrize("gold", KEYS)
@pytest.mark.parametrize("ending", ENDINGS)
def test_an_ending_that_states_the_key_is_right(ending: str, gold: str) -> None:
    value, other, kind = KEYS[gold]
    response = ending.replace("{v}", value).replace("{w}", other)
    assert verdict(question(kind, answer=[gold], language="en"), response) is True


NO_CLAIM = [
    "It is false that the answer is {v}.", "If we forgot the constant, the answer would be {v}.",
    "如果不考虑负号，答案为{v}。", "Final answer: {w}. The reference answer is {v}.",
    "According to the key the answer is {v}. I disagree.", "The user claims that the answer is {v}.",
    "The answer {v} is a common error.", "오답: {v}", "标准答案可能是{v}", "The opposite of {v}.", "{v} is ruled out.",
    "I doubt it's {v}.", "There is no way it is {v}.", "Let x = {v}.", "We are given {v}.", "答案：可能是{v}",
    "The answer is {v}. Just kidding, {w}.", "The answer is {v}. However, this solution is extraneous.",
    "The answer is {v}. We must reject it.", "The answer is {v}. Hence no solution.",
    "The answer is {v}\n\nTherefore {w}.", "Answer: {v} ... or is it {w}?", "Answer: {v}, but I'm probably wrong.",
]  # fmt: skip


@pytest.mark.parametrize("gold", KEYS)
@pytest.mark.parametrize("said", NO_CLAIM)
def test_what_is_told_denied_or_taken_back_is_not_accepted(said: str, gold: str) -> None:
    value, other, kind = KEYS[gold]
    response = said.replace("{v}", value).replace("{w}", other)
    assert verdict(question(kind, answer=[gold], language="en"), response) is not True


CHOICES = [
    ("Final answer: B vs C", False), ("Final answer: B – C", False), ("The answer is B (or C).", False),
    ("Answer: B, alternatively C", False), ("The answer is B when k = 0.", False), ("假设答案为B", False),
    ("The answer is B\n\nTherefore C.", False),
    ("정답은 B로 보이지만 실제로는 C이다.", False), ("I doubt it's B.", False),
    ("It is false that the answer is B.", False), ("The answer is B.\n\nTherefore B.", True), ("参考答案：B", True),
    ("The answer is B, because A or C would be too small.", True), ("参考答案：C，我的答案：B", True),
]  # fmt: skip


@pytest.mark.parametrize(("response", "accepted"), CHOICES)
def test_one_option_without_a_condition_is_a_choice(response: str, accepted: bool) -> None:
    asked = question("single_choice", answer=["B"], options=options("one", "two", "three", "four"))
    assert (verdict(asked, response) is True) is accepted


def test_a_wrong_option_behind_a_list_of_right_ones_is_not_of_the_list() -> None:
    asked = question("multiple_choice", answer=["ABD"], options=options("甲", "乙", "丙", "丁"))
    assert verdict(asked, "正确的是A、B、D，C错误。") is True


VALUES = [
    (r"\boxed{\phantom{12}}", "12", None), (r"\boxed{\color{white}12}", "12", None), (r"2\boxed{12}", "12", None),
    (r"\boxed{15} = \boxed{12}?", "12", None), (r"\boxed{\text{The answer is } 12}", "12", True),
    ("Final answer: 12!", "12", None), ("Final answer: 5!", "120", True), ("Final answer: 2**n", "2^n", True),
    ("Final answer: x**2-1", "x^2-1", True), ("€12.50", "$12.50", None), ("12.5 dollars", "$12.50", True),
    ("3 × 108", r"3.0\times10^8", None), ("0.01 mol/L", "0.1 mol/L", False), ("会增大", "增大", True),
    ("不会增大", "增大", None), ("是线粒体。", "线粒体", True), ("AABb", "AaBb", False), ("aABb", "AaBb", True),
    ("XᴮXᵇ", "X^{B}X^{b}", True), ("1s²2s²2p⁶3s¹", "1s2 2s2 2p6 3s1", True), ("2143", "②①④③", True),
    ("[Ne]3s2", "1s2 2s2 2p6 3s1", False), ("B-A-D-C", "B, A, D, C", True), ("B-A-C-D", "B, A, D, C", False),
    ("3比4", "3:4", True), (r"\boxed{\mathcal{O}(n\log n)}", r"O(n\log n)", True),
    (r"\sum_{k=0}^{\infty}\frac{x^k}{k!}", r"\sum_{n=0}^{\infty}\frac{x^n}{n!}", True),
    (r"\sum_{k=1}^{\infty}\frac{x^k}{k!}", r"\sum_{n=0}^{\infty}\frac{x^n}{n!}", None),
    (r"\boxed{\{x|x=\frac{\pi}{4}+k\pi, k\in Z\}}", r"\{x\mid x=k\pi+\frac{\pi}{4},k\in\mathbb{Z}\}", True),
    (r"\boxed{x=\frac{\pi}{4}+2k\pi, k\in Z}", r"\{x\mid x=k\pi+\frac{\pi}{4},k\in\mathbb{Z}\}", False),
    ("The impedance is 5∠53.1° Ω", r"5\angle 53.1^\circ", None),
]  # fmt: skip


@pytest.mark.parametrize(("response", "gold", "right"), VALUES)
def test_values_in_other_notations(response: str, gold: str, right: bool | None) -> None:
    assert verdict(question(answer=[gold]), response) is right


STRESS = [
    Variable(name="sigma_11", type="numeric", value="10 MPa"),
    Variable(name="sigma_12", type="numeric", value="-5 MPa"),
]
NAMED = [
    ("sigma_11 = 10 MPa, sigma_12 = -5 MPa", True), ("sigma_12 = -5 MPa; sigma_11 = 10 MPa", True),
    ("So $\\sigma_{11}=10$ MPa and $\\sigma_{12}=-5$ MPa.", True), ("sigma_11 = -5 MPa, sigma_12 = 10 MPa", False),
    ('```json\n{"sigma_11": "10 MPa", "sigma_12": "-5 MPa"}\n```', True),
    ('{"sigma_11": "10 MPa", "sigma_12": "5 MPa"}', False), ("sigma_11 = 10 MPa", False),
    ("We find sigma_11 = 10 MPa, and since it is symmetric, sigma_12 = -5 MPa.", None),
]  # fmt: skip


@pytest.mark.parametrize(("response", "right"), NAMED)
def test_variables_named_on_one_line_or_in_json(response: str, right: bool | None) -> None:
    assert verdict(question("short_answer", variables=STRESS, language="en"), response) is right


SOLUTIONS = [
    (r"y=A\cosh x+B\sinh x", r"y=C_1e^{x}+C_2e^{-x}", True), (r"y(x)=Be^{-x}+Ae^{x}", r"y=C_1e^{x}+C_2e^{-x}", True),
    (r"y=C_1e^{-x}+C_2e^{x}", r"y=C_1e^{x}+C_2e^{-x}", True),
    (r"y=C_1e^{x}+C_2e^{-2x}", r"y=C_1e^{x}+C_2e^{-x}", False),
    (r"y=e^{x}+e^{-x}", r"y=C_1e^{x}+C_2e^{-x}", None), (r"y=Ce^{x}", r"y=C_1e^{x}+C_2e^{-x}", None),
    (r"y=Ce^{-x}+x+3e^{-x}", r"y=Ce^{-x}+x", True), (r"y=C(e^{-x}+x)", r"y=Ce^{-x}+x", False),
    (r"x(t)=A\cos(\omega t)+B\sin(\omega t)", r"x=C_1\cos\omega t+C_2\sin\omega t", True),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "gold", "right"), SOLUTIONS)
def test_constants_of_a_general_solution_are_arbitrary(answer: str, gold: str, right: bool | None) -> None:
    asked = question("short_answer", question="Find the general solution.", answer=[gold], language="en")
    assert verdict(asked, rf"\boxed{{{answer}}}") is right


def test_without_a_differential_equation_constants_are_known() -> None:
    swapped = question("short_answer", answer=[r"y=C_1e^{x}+C_2e^{-x}"], language="en")
    assert verdict(swapped, r"\boxed{y=C_1e^{-x}+C_2e^{x}}") is None


def test_a_statement_that_is_not_the_case_is_not_true() -> None:
    assert (
        verdict(question("true_false", answer=["True"]), "It is not the case that the statement is true.") is not True
    )


def test_several_blanks_as_a_list_in_json() -> None:
    assert verdict(question(answer=["3", "5"]), '["3", "5"]') is True
    assert verdict(question(answer=["3", "5"]), '["5", "3"]') is not True


def test_blanks_with_numbers_and_names_go_to_their_names() -> None:
    asked = question(question="(1) a=____; (2) b=____", answer=["3", "5"])
    assert verdict(asked, "b=5, a=3") is True
    assert verdict(asked, "b=3, a=5") is False


CLOSINGS = [
    ("解：由题意，2x=24，所以x=12。", True), ("由方程解得 x=12，经检验符合题意。", True),
    ("x=10或x=12，又x>11，故x=12。", True),
    ("즉, 12이다.", True), ("모두 12개이다.", True), ("原方程的增根为x=12", False),
    ("The distance is 15 because the height is 12.", False), ("12 should be rejected", False),
    ("> **12**", True), ("常见错误：12", False), ("\\boxed{15} % \\boxed{12}", False),
    ("**Answer:** 12\n\nOn reflection, 15.", False),
    ("检查前的答案：12。检查后发现有误，应为15。", False),
]  # fmt: skip


@pytest.mark.parametrize(("response", "accepted"), CLOSINGS)
def test_what_one_line_comes_to(response: str, accepted: bool) -> None:
    assert (verdict(question(answer=["12"]), response) is True) is accepted
