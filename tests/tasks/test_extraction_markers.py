"""Markers in any wording come to one plain form, for every kind of answer; closing sentences answer their question."""

from __future__ import annotations

from itertools import product

import pytest

from livek12.judges.rules.labels import read_labels
from livek12.judges.rules.true_false import read_truth
from livek12.tasks.extraction import extract
from livek12.tasks.extraction.closings import closing_values
from tests.judges.helpers import mark, options, question

LEAD = "We compute step by step.\n\n"
FRAMES = [
    "The answer (in words) is {}.", "**Answer** (final): {}", "Answer (see below): {}", "[Answer] {}", "Result: {}",
    "So, the result is {}.", "Ans. {}", "#### {}", "Verdict — {}", "The answer to this question is {}.", "Answer → {}",
    "答案（如下）：{}", "[正确答案]{}", "【答案】{}", "结果：{}", "结论：{}", "答：{}", "正确答案为{}。",
    "정답 (Answer): {}", "[정답] {}", "결과: {}", "최종 답: {}",
]  # fmt: skip
ASKED = {
    "labels": (question("single_choice", answer=["B"]), "B"),
    "number": (question("short_answer", answer=["17"]), "17"),
    "formula": (question("short_answer", answer=["x+1"]), "x+1"),
    "truth": (question("true_false", answer=["true"]), "True"),
}


@pytest.mark.parametrize(("frame", "kind"), list(product(FRAMES, ASKED)))
def test_every_reader_reads_every_marker(frame: str, kind: str) -> None:
    asked, answer = ASKED[kind]
    answers = extract(LEAD + frame.format(answer), asked, "stop").answers
    assert len(answers) == 1
    if kind == "truth":
        assert read_truth(answers[0], signs=True) is True
    else:
        assert answers[0].strip(".") == answer


@pytest.mark.parametrize(
    ("response", "labels"),
    [
        ("[正确答案]C<eoa>\n选项D是错误的。", "C"),
        ("Q: Which one?\nA: D", "D"),
        ("] C. 给自己买一个玩具</s>", "C"),
        ("3번 - 독자는 필자를 매개로 접할 수 없다.", "3"), ("4: 비난을 수용하지 않는다.", "4"),
        ("A、C、D。\n\n解析：A选项正确，B选项正确。", None), ("Thus, the functions in the set S are (B).", "B"),
        ("故选A，同时选D。", None), ("A. 3 B. 5 C. 7 D. 9", None), ("B. This statement is false.", None),
    ],
)  # fmt: skip
def test_choices(response: str, labels: str | None) -> None:
    asked = question("single_choice", answer=["?"])
    answers = extract(response, asked, "stop").answers
    chosen = read_labels(answers[0]) if answers else None
    assert (chosen if chosen is None or len(chosen) == 1 else None) == (frozenset(labels) if labels else None)


@pytest.mark.parametrize(
    ("response", "labels"),
    [
        ("] A. 重力\nC. 弹力</s>", "AC"), ("A. 重力\nB. 摩擦力\n\n解析：都对。", "AB"),
        ("A、C、D。\n\n解析：略", "ACD"),
        ("A. 重力\nB. 摩擦力\nC. 弹力\nD. 浮力", None),
        ("In conclusion, the functions that belong to S are (A) and (C).", "AC"),
        ("正确的说法为B及C，此外还包括D。", None), ("Answer: A and also B", None),
    ],
)  # fmt: skip
def test_choices_of_several(response: str, labels: str | None) -> None:
    asked = question("multiple_choice", answer=["?"], options=options("重力", "摩擦力", "弹力", "浮力"))
    answers = extract(response, asked, "stop").answers
    assert (read_labels(answers[0]) if answers else None) == (frozenset(labels) if labels else None)


@pytest.mark.parametrize(
    ("response", "value"),
    [
        ("The answer is (B) no.", False), ("The correct answer is (A): Yes. It fits.", True),
        ("Therefore, the answer is B (no).", False),
        ("We cannot see it.\n\n(A) Yes", True),
    ],
)  # fmt: skip
def test_a_truth_value_may_be_an_option(response: str, value: bool) -> None:
    answers = extract(response, question("true_false", answer=["yes"]), "stop").answers
    assert read_truth(answers[0], signs=True, reasoned=True) is value


def test_a_program_is_no_commitment() -> None:
    asked = question("short_answer", answer=["12"])
    assert not extract("```python\nanswer = 12\nanswer += 1\nprint(answer)\n```", asked, "stop").answers
    assert extract('```json\n{"answer": 12}\n```', asked, "stop").answers == ["12"]


@pytest.mark.parametrize(
    ("asked", "response", "value"),
    [
        ("How many buses are there? There are 15 vehicles.", "Therefore, there are 9 buses.", "9"),
        ("How many quarters are there?", "So there are 28 nickels.", None),
        ("Find the larger number.", "So the smaller number is 19.", None),
        ("Find the larger number.", "So the larger number is 65.", "65"),
        ("How long will it take them together?", "It will take the two 2.4 hours to paint it.", "2.4 hours"),
        ("How much must be paid to reach 70 %?", "She needs to pay 300 dollars to reach 70 %.", "300 dollars"),
        ("What are the two numbers? Their sum is 25.", "So the two numbers are 19 and 6.", "19, 6"),
        ("Find the numbers.", "Therefore, the two numbers are x = 4 and y = 18.", "4, 18"),
        ("How many apples are left?", "There are at least 4 apples left.", None),
        ("How many apples are left?", "There are 4 or 5 apples left.", None),
        ("How old is the wood?", "This time corresponds to an age of roughly 15,400 years.", None),
        ("How many apples are left?", "If he ate 3, there are apples left.", None),
        ("文书中涉及的犯罪总金额是多少？", "因此，犯罪总金额为3360元+230元=3590元。", "3590元"),
        ("一共有多少个苹果？", "所以第3个篮子最大。", None),
        ("속력은 몇 km/h인가?", "따라서 속력은 시속 60 km이다.", "60"),
    ],
)  # fmt: skip
def test_a_closing_sentence_gives_what_the_question_asks_for(asked: str, response: str, value: str | None) -> None:
    assert closing_values(response, asked) == value


WAYS = "How many ways are there to choose a president and a secretary from 15 people?"
CHAINS = [
    (WAYS, r"In all $15\times 14=210$ ways.", "210"),
    (WAYS, "There are 15 choices, then 14.\n\nIn all $15\\times 14=210$ ways.", "210"),
    (WAYS, r"So there are \(15 \cdot 14 = 210\) ways in total.", "210"),
    (WAYS, r"That gives $\binom{15}{2}\cdot 2!=105\cdot 2=210$ ways.", "210"),
    ("What is the probability that both are red?",
     r"The probability is thus $\frac{3}{10}\cdot\frac{2}{9}=\frac{6}{90}=\frac{1}{15}$ for both.", "1/15"),
    ("How many litres of water are left?", r"Subtracting leaves $30-12=18\text{ litres}$ of water.", "18"),
    ("从5人中选2人，共有多少种选法？", r"一共有$\frac{5\times4}{2}=10$种不同的选法。", "10"),
    ("长方形的面积是多少平方厘米？", r"长方形的面积就是$8\times6=48$平方厘米。", "48"),
    ("서로 다른 방법은 몇 가지인가?", r"방법은 $4\times3=12$가지이다.", "12"),
    ("사과는 모두 몇 개인가?", r"그래서 $5\times 6=30$개가 된다.", "30"),
    (WAYS, r"In all at least $15\times 14=210$ ways.", None), (WAYS, r"In all $15\times 14=210n$ ways.", None),
    (WAYS, r"In all $15\times 14=210$ ways if order matters.", None),
    (WAYS, r"It is not $15\times 14=210$ ways.", None),
    (WAYS, r"There are $15\times 14=210$ ways or $15\times 7=105$ ways.", None),
    (WAYS, r"In all $15\times 14\approx 200$ ways.", None), (WAYS, r"In all $n=15\times 14$ ways.", None),
    (WAYS, r"The president can sit in $5\times 2=10$ seats.", None), (WAYS, r"Is it $15\times 14=210$ ways?", None),
    (WAYS, r"In all $15\times 14=210>200$ ways.", None), (WAYS, r"In all $15\times 14=$ ways.", None),
    (WAYS, r"We get $15\times 14=210$ ways for the first $3$ rows.", None),
    ("从5人中选2人，共有多少种选法？", r"一共不是$5\times4=20$种选法。", None),
    ("从5人中选2人，共有多少种选法？", r"每人有$5\times4=20$元。", None),
    ("사과는 모두 몇 개인가?", r"아마 $5\times 6=30$개가 된다.", None),
    ("사과는 모두 몇 개인가?", r"그래서 $5\times 6=30$원이다.", None),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "response", "value"), CHAINS)
def test_a_closing_chain_of_equalities_comes_to_one_value(asked: str, response: str, value: str | None) -> None:
    assert closing_values(response, asked) == value


def test_a_closing_chain_is_marked() -> None:
    asked = question("short_answer", answer=["210"], question=WAYS)
    response = r"There are 15 choices for one and 14 for the other." + "\n\n" + r"In all $15\times 14=210$ ways."
    assert mark(asked, *extract(response, asked, "stop").answers).correct is True


def test_a_sentence_announced_as_the_answer_gives_its_number() -> None:
    asked = question("short_answer", answer=["60"], question="20 got on. How many passengers ride the bus?")
    response = "We add.\n\nAnswer:\nAfter the second stop, there are 60 passengers on the bus."
    assert mark(asked, *extract(response, asked, "stop").answers).correct is True
