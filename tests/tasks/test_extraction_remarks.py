"""Remarks, corrections and negations around a committed answer; several labels."""

from __future__ import annotations

import pytest

from tests.tasks.test_extraction import answers, ask, chosen

KOREAN = [
    "정답은 ①과 ④입니다",
    "정답: 1, 4",
    "정답: 1번, 4번",
    "정답: ① 및 ④",
    "정답은 ① · ④",
    "정답: (1), (4)",
    "정답: 1과 4",
]


@pytest.mark.parametrize("response", KOREAN)
def test_several_korean_labels(response: str) -> None:
    assert chosen(response, "multiple_choice", language="ko") == "14"


ONE = [
    ("\\boxed{B}\n易错点：很多同学会选C。", "B"), ("\\boxed{B}\n很多人选A，因为忘了符号。", "B"),
    ("故选B。（注：有的资料答案为C，是错误的）", "B"), ("答案：B。假如选 C 则矛盾", "B"), ("答案：B\n…\nC. 选C不对", "B"),  # noqa: E501
    ("Answer: B. Students who choose C forget friction.", "B"),
    ("\\boxed{B}\nOption C is the best choice only if x>0.", "B"), ("My answer is B... no wait, C", "C"),
    ("答案是B。不，应该是C。", "C"), ("【答案】B", "B"), ("[答案] B", "B"), ("選B", "B"), ("選擇(B)", "B"),
    ("B。因为A错。", "B"), ("A错误；B正确；C错误；D错误", "B"), ("答案不是B，而是C", "C"), ("B is correct.", "B"),
    ("(B) is correct", "B"), ("Thus B.", "B"), ("Hence, (B).", "B"), ("It's B.", "B"), ("I would go with B.", "B"),
    ("选A还是B呢？", None), ("Answer: A good approach is to...", None), ("答案是A点的坐标", None),
]  # fmt: skip


@pytest.mark.parametrize(("response", "labels"), ONE)
def test_one_choice_among_remarks(response: str, labels: str | None) -> None:
    assert chosen(response) == labels


@pytest.mark.parametrize("response", ["정답은 ③이 아니라 ④이다", "정답은 3번이 아니라 4번입니다.", "옳은 것은 ④이다."])
def test_korean_negation(response: str) -> None:
    assert chosen(response, language="ko") == "4"


@pytest.mark.parametrize(
    ("response", "labels"), [("1. \\boxed{A}\n2. \\boxed{C}\n3. \\boxed{D}", "ACD"), ("故选:B.D", "BD")]
)
def test_several_in_a_list(response: str, labels: str) -> None:
    assert chosen(response, "multiple_choice") == labels


VALUES = [
    ("故答案为 $5$. 注意：若忽略定义域，会得到答案为 3。", "$5$"), ("答案：5\n常见错误答案：3", "5"),
    ("【答案】12", "12"), ("所以填 12。", "12"), ("故填12", "12"), ("\\boxed{5}\n常见错误答案：3", "5"),
    ("答案为12，而不是13", "12"), ("The answer is 12, not 13.", "12"),
]  # fmt: skip


@pytest.mark.parametrize(("response", "value"), VALUES)
def test_one_value_among_remarks(response: str, value: str) -> None:
    assert answers(response) == [value]


def test_a_retracted_value_is_not_the_answer() -> None:
    assert answers("The answer is 13... no wait, 12.") not in (["13"], ["13.."])


def test_part_labels_before_boxes_give_their_order() -> None:
    assert answers("(2)\\boxed{5}\n(1)\\boxed{3}", ask(parts=2)) == ["3", "5"]


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ("First, 5 + 7.\n\n### Final Answer\n12", "12"),
        ("We add.\n**Answer**\n12", "12"),
        ("先相加。\n答案\n12", "12"),
        ("5。", "5"),
        ("先求和，再化简。综上，x=12。", "x=12"),
        ("We divide both sides by 3. Therefore x = 12", "x = 12"),
        ("The answer sheet has room.\nIt is large.", None),
        ("综上，两式都成立。", None),
    ],
)
def test_headings_and_plain_conclusions(response: str, expected: str | None) -> None:
    assert answers(response) == ([] if expected is None else [expected])


FORMS_ONE = [
    ("答案：B<eoa>", "B"), ("B<|end|>\n", "B"), ("答案是B<br>", "B"), ("so #### B", "B"), ("so\n#### B", "B"),
    ("只有 C 正确，其他选项均错误。", "C"), ("Only C is correct; the others are wrong.", "C"),
    ("B is the only correct option.", "B"), ("因此B", "B"), ("B是正确答案。", "B"), ("答案：\nB. 5\nC. 7", "?"),
    ("正确答案应该是\nA. 3\nB. 5\nC. 7\nD. 9", "?"), ("A. 3 B. 5 C. 7 D. 9", None), ("无法选择C。", None),
    ("对应于选项 B. $2\\sqrt3-1$ 是错误的", "?"), ("B. $2\\sqrt3-1$ is false.", "?"),
    ('答案：A<span style="display:none">答案：B</span>', "A"), ("答案：~~A~~ B", "B"), ("故选B<!-- 故选C -->", "B"),
]  # fmt: skip


@pytest.mark.parametrize(("response", "labels"), FORMS_ONE)
def test_further_forms_of_one_choice(response: str, labels: str | None) -> None:
    assert chosen(response) in ({None, "?"} if labels is None else {labels})


@pytest.mark.parametrize(
    ("response", "labels"),
    [("3번 - 물은 끓는다", "3"), ("3) 물은 끓는다", "3"), ("③만 옳다.", "3"), ("3번을 선택한다.", "3")],
)
def test_further_forms_of_a_korean_choice(response: str, labels: str) -> None:
    assert chosen(response, language="ko") == labels


FORMS_VALUE = [
    ("we have 18. #### 18", "18"), ("we have it\n#### 18", "18"), ("The answer is:\n```\n12\n```", "12"),
    ("Answer:\n- 12", "12"), ("12 is the answer.", "12"), ("12가 정답이다.", "12"), ("<ans>12</ans>", "12"),
    ("Ans. 12", "12"), ("The answer is exactly $12$.", "$12$"), ("12<eoa>", "12"), ("答案：12 解析：略", "12"),
]  # fmt: skip


@pytest.mark.parametrize(("response", "value"), FORMS_VALUE)
def test_further_forms_of_a_value(response: str, value: str) -> None:
    assert answers(response, ask("short_answer")) == [value]


def test_the_wrong_one_is_not_the_one_called_right() -> None:
    asked = {"question": "下列说法错误的是（ ）"}
    assert chosen("选项A是正确的", **asked) == "?"
    assert chosen("A正确，B正确，C错误，D正确。", **asked) == "C"
    assert chosen("错误的是C。", **asked) == "C"
    assert chosen("故选C。C错误。", **asked) == "C"
    assert chosen("故选C。但C其实是正确的。", **asked) == "?"
