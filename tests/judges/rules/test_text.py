"""Text normal forms accept what reads the same and nothing else; words of closed classes are decided."""

from __future__ import annotations

import pytest

from livek12.judges.rules.text import normal_form
from livek12.judges.rules.words import members
from tests.judges.helpers import decide, outcome


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("取代反应", "取代反应。"), ("负极、正极", "负极，正极"), (r"\text{Evelyn}", "evelyn"),
        ("H₂O", r"$\mathrm{H_2O}$"), ("Ｎa", "Na"),
        ("黑刺：白刺 $=1:1$", "黑刺:白刺=1:1"), ("红光和蓝紫光", "红光 和 蓝紫光"),
        (r"3\text{Co}^{2+}", r"3\mathrm{Co}^{2+}"),
        ("负极、正极", "负极和正极"), ("《离骚》", "离骚"), ("“催化剂”", "催化剂"), ("분자 결정", "분자 결정입니다."),
        ("mitochondria", "the mitochondria"), ("X^BX^b", r"$X^{B}X^{b}$"), ("9:3:3:1", "9：3：3：1"),
        ("분자 결정", "분자 결정."), ("**增大**", "增大"), ("ＡＢ型", "AB型"), ("Odd", "odd"),
    ],
)  # fmt: skip
def test_the_same_in_other_dress(gold: str, answer: str) -> None:
    assert outcome(gold, answer, "fill_in_blank") == "accept"


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("AaBb", "AABB"), ("Aabb", "aabb"), ("CO", "Co"), ("①②", "12"), ("x²", "x_2"), (r"\frac{1}{23}x!",
        r"\frac{12}{3}x!"),
        ("减小", "增大"), ("y'", "y"), (">0", "0"), ("Fe²⁺", "Fe³⁺"), ("10_2 base", "102 base"), ("5!", "5"), ("23号",
        "2*3号"),
    ],
)  # fmt: skip
def test_what_differs_is_never_accepted(gold: str, answer: str) -> None:
    assert normal_form(gold) != normal_form(answer)
    assert outcome(gold, answer, "fill_in_blank") != "accept"


WORDS = [
    ("大于", ">", "accept"),
    (">", "大于", "accept"),
    ("大于", "“大于”", "accept"),
    ("大于", "小于", "reject"),
    ("＞", "<", "reject"),
    ("≥", "大于等于", "accept"),
    ("增大", "变大", "accept"),
    ("增大", "减小", "reject"),
    ("增大", "不变", "reject"),
    ("升高", "降低", "reject"),
    ("升高", "增大", "undecided"),
    ("增大", "降低", "undecided"),
    ("左", "向右", "reject"),
    ("左", "水平向左", "accept"),
    ("吸热反应", "放热反应", "reject"),
    ("氧化反应", "还原反应", "reject"),
    ("正极", "负极", "reject"),
    ("正极", "阳极", "undecided"),
    ("原子晶体", "共价晶体", "accept"),
    ("分子晶体", "离子晶体", "reject"),
    ("取代反应", "加成反应", "reject"),
    ("取代反应", "水解反应", "undecided"),
    ("充分不必要条件", "充要条件", "reject"),
    ("充分不必要", "充分而不必要条件", "accept"),
    ("增大", "增大，减小", "undecided"),
    ("增大", "不一定增大", "undecided"),
    ("greater than", "<", "reject"),
    ("increases", "decrease", "reject"),
    ("counterclockwise", "anti-clockwise", "accept"),
    ("left", "to the right", "reject"),
    ("증가한다", "감소합니다", "reject"),
    ("시계 방향", "반시계 방향", "reject"),
    ("크다", "더 크다", "accept"),
]


@pytest.mark.parametrize(("gold", "answer", "expected"), WORDS)
def test_words_of_closed_classes(gold: str, answer: str, expected: str) -> None:
    assert outcome(gold, answer, "fill_in_blank") == expected


def test_the_classes_do_not_contradict_each_other() -> None:
    classes: dict[int, dict[str, int]] = {}
    for word, meanings in members().items():
        for number, meaning in meanings.items():
            classes.setdefault(number, {})[word] = meaning
    for first in classes.values():
        assert len(set(first.values())) > 1
        for second in classes.values():
            shared = [word for word in first if word in second]
            for one in shared:
                assert {first[one] == first[other] for other in shared if second[one] == second[other]} <= {True}


@pytest.mark.parametrize(
    ("gold", "answer", "expected"),
    [
        ("R_1", "R_{2}", "reject"),
        ("$a$", "b", "reject"),
        ("a", "A", "undecided"),
        ("i", "j", "undecided"),
        ("R_1", "R1", "accept"),
    ],
)
def test_another_symbol_in_a_blank_is_wrong(gold: str, answer: str, expected: str) -> None:
    assert outcome(gold, answer, "fill_in_blank") == expected
    assert decide(gold, answer, "short_answer").by != "words"
