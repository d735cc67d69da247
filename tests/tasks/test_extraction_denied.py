"""What denies, supposes or doubts an answer is no commitment; counted and stated values in sentences are."""

from __future__ import annotations

import pytest

from livek12.tasks.extraction import extract
from tests.judges.helpers import mark, options, question

VALUES = [
    ("答案不是8", False), ("误认为答案是8。", False), ("不能得8。", False), ("所以答案至少为8。", False),
    ("注意不能误得 $8$。", False), ("答案为8。\n检验：不成立，舍去。故无解。", False),
    ("答案为8。也可能是9，无法确定。", False),
    ("The answer is not 8.", False), ("The answer is at least 8.", False), ("The answer is 8 or 9.", False),
    ("It cannot be 8.", False), ("It's not 8, it's 9", False), ("There are at least 8 of them.", False),
    ("所以答案为8。", True), ("答：一共有8个。", True), ("There are 8 ways.", True), ("综上，$k$ 的值为8。", True),
    ("It's not 9, it's 8", True), ("Therefore, there are 8 such sequences. I hope it is correct.", True),
    ("Let us see.\nTherefore, the number of them is 8.", True), ("但不是9，其实答案是8。", True),
    (r"We find \boxed{3} apples and \boxed{8}", False),
]  # fmt: skip


@pytest.mark.parametrize(("response", "accepted"), VALUES)
def test_only_a_stated_value_is_accepted(response: str, accepted: bool) -> None:
    asked = question(answer=["8"])
    assert (mark(asked, *extract(response, asked, "stop").answers).correct is True) is accepted


@pytest.mark.parametrize("value", ["[2,5)", "(4,-9)", "(1, 2, 3)"])
def test_a_comma_in_the_value_does_not_part_it_from_its_denial(value: str) -> None:
    asked = question(answer=[value])
    for response in (
        f"综上，答案是${value}$。经检验，${value}$不符合题意。",
        f"The answer is ${value}$. But ${value}$ is wrong.",
    ):
        assert mark(asked, *extract(response, asked, "stop").answers).correct is not True


LEADS = [
    ("The wrong answer is 8.", False), ("The naive answer is 8.", False), ("A student's answer is 8.", False),
    ("错误的答案是8", False), ("常见错误答案：8", False), ("잘못된 답은 8이다", False),
    ("Half the answer is 8.", False),
    (r"Don't write \boxed{8}!", False), (r"The answer is not \boxed{8}.", False), (r"不要写\boxed{8}！", False),
    (r"I would say \boxed{8}, but I would be wrong.", False), (r"\boxed{8}라고 쓰면 안 된다.", False),
    (r"\boxed{8} Please disregard the box above; the result is 9.", False), (r"\boxed{8} 请忽略上面的答案。", False),
    (r"\boxed{8} 위의 답은 무시하세요.", False), (r"As in the example, one would write \boxed{8}.", False),
    ('You asked me to answer in the form "The answer is 8".', False), ("题目的示例写的是“答案是8”。", False),
    ('문제에 따르면 "최종 답을 \\boxed{8}와 같이 쓰시오."', False),
    (r"We put it in the form \boxed{8}.", True), (r"최종 답은 \boxed{8}와 같습니다.", True),
    ("In the form requested, the answer is 8.", True), (r"So you would write \boxed{8}", True),
    (r"I would say \boxed{8}.", True), (r"Since x is not negative, x = \boxed{8}", True), ("My answer is 8.", True),
    ("The exact answer is 8.", True), (r"It isn't hard: \boxed{8}.", True), (r"x 不为负，所以 x=\boxed{8}", True),
]  # fmt: skip


@pytest.mark.parametrize(("response", "accepted"), LEADS)
def test_a_lead_that_denies_or_tells_of_another_gives_no_answer(response: str, accepted: bool) -> None:
    asked = question(answer=["8"])
    assert (mark(asked, *extract(response, asked, "stop").answers).correct is True) is accepted


GOING_ON = [
    (r"\boxed{8}\cdot 2 = 16", False), (r"$\boxed{8} + 1 = 9$", False), (r"-\boxed{8}", False),
    (r"\sqrt{\boxed{8}}", False),
    (r"\boxed{8}\text{ is half of it}", False), (r"$2\cdot\boxed{8}$", False), (r"$\boxed{8}x$", False),
    ("The side is \\boxed{8}, hence the area, which is asked, is 64.", False),
    (r"\boxed{8}. On reflection it is 7, not 8.", False),
    (r"\boxed{8} 그런데 조건에 의해 x<8 하므로 7이다.", False),
    ("\\boxed{8}\n\n> Note: the correct result is 7", False),
    (r"\boxed{8}\text{ cm}", True), (r"$2^3=\boxed{8}$", True), (r"- \boxed{8}", True),
    (r"\boxed{8}, as required.", True),
    (r"\boxed{8}!", True), ("\\boxed{8}\nCheck: 8 + 1 = 9, which is correct.", True), (r"\boxed{8} \checkmark", True),
    (r"\boxed{8} is the correct answer.", True), ("\\boxed{8}. The correct value is 8.", True),
]  # fmt: skip


@pytest.mark.parametrize(("response", "accepted"), GOING_ON)
def test_a_box_that_goes_on_or_is_replaced_is_no_answer(response: str, accepted: bool) -> None:
    asked = question(answer=["8"])
    assert (mark(asked, *extract(response, asked, "stop").answers).correct is True) is accepted


LETTERS = [
    ("Answer: D → C", False), ("答案是D型", False), ("The answer is D++.", False), ("选D以外的", False),
    ("I don't think it's D. My pick would be C.", False), ("I don't think it's C. My pick would be D.", True),
    ("Steps: A → B. Answer: D", True), ("D → 8", False), ("答案：D项", True),
]  # fmt: skip


@pytest.mark.parametrize(("response", "accepted"), LETTERS)
def test_a_letter_that_goes_on_is_no_choice(response: str, accepted: bool) -> None:
    asked = question("single_choice", answer=["D"], options=options("5", "6", "7", "8"))
    assert (mark(asked, *extract(response, asked, "stop").answers).correct is True) is accepted


TRUTHS = [
    ("该命题的否命题正确", False), ("The negation of the statement is true", False),
    ("正确的说法是另一个，本题错误", False),
    ("正确。但其否命题不正确。", True), ("命题正确，但逆命题错误。", True),
    ("The statement is true. Its converse is false.", True),
    ("说法是正确的", True), ("判断：是", True),
]  # fmt: skip


@pytest.mark.parametrize(("response", "accepted"), TRUTHS)
def test_a_truth_value_of_another_statement_is_none_of_this(response: str, accepted: bool) -> None:
    asked = question("true_false", answer=["正确"])
    assert (mark(asked, *extract(response, asked, "stop").answers).correct is True) is accepted


CHOICES = [
    ("答案是D。也可能是B，无法确定。", False), ("故选D（错误），正确应为B。", False),
    ("如果答案是D，那么……不成立。", False),
    ("故选D，或B。", False), ("题目可能有误，答案是D或没有正确选项。", False), ("D、C都对", False),
    ("因此，答案是 D. 7", False), ("因此，答案是 D. 8", True), ("因此，答案是 D. 四十", True),
    ("(D) 8", True), ("D. 7", False),
    ("所以D正确，故选D。", True), ("如果 a>0，则无解；所以答案是D。", True), ("正确答案为D项。", True),
]  # fmt: skip


@pytest.mark.parametrize(("response", "accepted"), CHOICES)
def test_only_a_plain_choice_is_accepted(response: str, accepted: bool) -> None:
    asked = question("single_choice", answer=["D"], options=options("5", "6", "7", "8"))
    assert (mark(asked, *extract(response, asked, "stop").answers).correct is True) is accepted


KOREAN = [
    ("③ 또는 ④", False), ("③ 혹은 ④", False), ("③이나 ④", False), ("정답은 ③ 또는 ②", False),
    ("정답은 ③이 아니다", False),
    ("③을 제외한 나머지", False), ("③번은 틀렸다", False), ("③ 아니면 ⑤", False), ("③?④?", False),
    ("③이 아닌 ④", False),
    ("②번이 아니라 ④번", False), ("②번이 아니라 ③번", True), ("정답은 ③", True), ("답 : ③번", True),
    ("③ 12", True), ("③입니다", True),
]  # fmt: skip


@pytest.mark.parametrize(("response", "accepted"), KOREAN)
def test_korean_particles_are_read(response: str, accepted: bool) -> None:
    asked = question("single_choice", answer=["③"], language="ko")
    assert (mark(asked, *extract(response, asked, "stop").answers).correct is True) is accepted


@pytest.mark.parametrize("response", ["(A)(C)(D)", "[A][C][D]", "A. 5\nC. 7\nD. 8"])
def test_several_bracketed_or_quoted_options(response: str) -> None:
    asked = question("multiple_choice", answer=["ACD"], options=options("5", "6", "7", "8"))
    assert mark(asked, *extract(response, asked, "stop").answers).correct is True


BOUND = [
    ("B. Hold on, B assumes there is no friction, so it cannot hold here.", False),
    ("B. Option C would need friction to vanish, which is impossible.", True),
    ("B, six newtons. Though six newtons is what you get if you drop the weight, so that is ruled out.", False),
    ("B) six newtons. B) six newtons is not attainable, as shown above.", False),
    ("B. Zero displacement would not be attainable, as shown above.", True),
    ("B, but honestly B does not satisfy the boundary condition.", False),
    ("B. A is rejected, C does not satisfy the boundary condition.", True),
    ("B. I overlooked the pulley.", False), ("B. A typical slip is to overlook the pulley, which yields D.", True),
]  # fmt: skip


@pytest.mark.parametrize(("response", "accepted"), BOUND)
def test_a_denial_binds_to_the_option_that_its_clause_is_about(response: str, accepted: bool) -> None:
    texts = ("four meters", "six newtons", "zero displacement", "a constant force")
    asked = question("single_choice", answer=["B"], language="en", options=options(*texts))
    assert (mark(asked, *extract(f"The answer is {response}", asked, "stop").answers).correct is True) is accepted


BOUND_VALUES = [
    ("The answer is 12. Oh, I forgot to halve it.", False), ("답은 12이다. 아차, 부호를 반대로 썼다.", False),
    ("The answer is 12. Had we forgotten to halve it, we would have got 24, which is wrong.", True),
    (r"\boxed{12}. Checking: 12 is not divisible by 5, so it has to be thrown out.", False),
    (r"\boxed{12}. Checking: 12 is divisible by 3, so the condition is not violated.", True),
    (r"\boxed{12} 그러나 12는 조건에 어긋난다.", False), ("답은 12이다. 다른 근 -2는 조건에 어긋난다.", True),
]  # fmt: skip


@pytest.mark.parametrize(("response", "accepted"), BOUND_VALUES)
def test_a_denial_binds_to_the_value_that_its_clause_is_about(response: str, accepted: bool) -> None:
    asked = question(answer=["12"])
    assert (mark(asked, *extract(response, asked, "stop").answers).correct is True) is accepted
