"""Numbers: the same value in any notation, the rule of precision, units."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livek12.judges.rules.numeric import read_number
from tests.judges.helpers import outcome

VALUES = [
    ("5", 5), ("-5", -5), ("−5", -5), ("５", 5), ("+3", 3), ("7,425,000", 7425000), ("1 000", 1000),
    ("14{,}916", 14916),
    (r"12,\!000,\!003", 12000003), (".4", Fraction(2, 5)), (r"\frac{10}{9}", Fraction(10, 9)),
    (r"\frac12", Fraction(1, 2)),
    (r"-\dfrac{3}{2}", Fraction(-3, 2)), ("3/4", Fraction(3, 4)), ("½", Fraction(1, 2)),
    (r"6\frac{1}{64}", Fraction(385, 64)),
    ("2 1/2", Fraction(5, 2)), (r"1.2\times10^{-3}", Fraction(12, 10000)), ("1.2×10⁻³", Fraction(12, 10000)),
    ("1.2e-3", Fraction(12, 10000)), ("10^{5}", 100000), ("28%", Fraction(28, 100)), (r"28\%", Fraction(28, 100)),
    ("28 percent", Fraction(28, 100)), ("$x=\\frac{1}{3}$", Fraction(1, 3)), ("f(2)=3", 3),
    ("离心率为3/2", Fraction(3, 2)),
    ("最大值是 5", 5), ("三", 3), ("十二", 12), ("二百五十", 250), ("이십", 20), ("5个", 5),
    ("15th Day", 15), ("二分之一", Fraction(1, 2)), ("四分之三", Fraction(3, 4)), ("十分之一", Fraction(1, 10)),
    ("三点五", Fraction(7, 2)), ("零点五", Fraction(1, 2)), ("五成", Fraction(1, 2)), ("百分之五", Fraction(1, 20)),
    ("千分之三", Fraction(3, 1000)), ("百分之十二点五", Fraction(1, 8)), ("一又二分之一", Fraction(3, 2)),
    ("삼분의 일", Fraction(1, 3)), ("4分之3", Fraction(3, 4)), ("负3", -3), ("负三", -3),
    ("负二分之一", Fraction(-1, 2)),
    ("三个", 3), ("两个", 2), ("3个交点", 3), ("5가지", 5), ("一千零五", 1005), ("九千九百九十九", 9999),
    ("三万", 30000),
    ("十", 10), ("십이", 12), ("\\text{答案是}12", 12), ("이십 개", 20),
    ("1.5万", 15000), (r"\boxed{35 cm}", 35), (r"\(\theta = 30^\circ\)", 30), ("**42**", 42), ("（5）", 5),
]  # fmt: skip
NOT_NUMBERS = [
    "", "x", "5 or 7", "5或7", "1,2", "2^10", "3x", r"3\pi", "5以上", "至少5", "不是5", "大于5", "at least 5", "3!",
    "1:2", "±3", "三角形", "삼각형", "一定", "一次函数", "일정", "오른쪽", "오답", "이상", "이온", "사람",
    "구심력", "千米",
    "二氧化碳", "两极", "两", "九折", "3折", "3次方", "3成", "3倍", "一百二", "삼", "천사", "3个三分之一",
    "5분의", "분의",
    "七八", "二零二四", "五千米", "三分", "百", "3个左右", "负",
    "1-2", "(1,234)", "1/0", "1e999", "9" * 100, "5 millions", "10^{-16.7}", "2.2.2", "A5", "5 and more", "√5",
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), VALUES)
def test_reads_the_value_exactly(text: str, value: Fraction) -> None:
    number = read_number(text)
    assert number is not None
    assert number.value == value


@pytest.mark.parametrize("text", NOT_NUMBERS)
def test_reads_nothing_into_what_is_no_number(text: str) -> None:
    assert read_number(text) is None


PRECISION = [
    ("5", "5.0", "accept"), ("5", "5.01", "undecided"), ("5", "5.1", "reject"), ("300", "301", "reject"), ("1/3",
    "2/6", "accept"),
    ("1/3", "0.3333", "accept"), ("1/3", "0.33", "undecided"), ("1/3", "0.4", "reject"), ("1/3", "0.5", "reject"),
    ("0.458", "27/59", "accept"), ("0.458", "31/60", "reject"), ("1.57", "1.566", "accept"), ("1.57", "1.58",
    "undecided"),
    ("1.57", "1.7", "reject"), ("0.5", "0.52", "undecided"), ("0.5", "0.7", "reject"), ("1.6", "1.57", "undecided"),
    ("约1.6", "1.57", "accept"), ("3.14", "22/7", "accept"), ("2.653", "2.65", "undecided"), ("2.653", "2.50",
    "reject"),
    ("7.8×10²", "780", "accept"), (r"6.35\times10^{-3}", "0.00635", "accept"), ("0.6", "60%", "accept"),
    ("1/6", "17%", "undecided"), ("1/6", "20%", "reject"),
    ("28%", "28", "accept"), ("28", "28%", "undecided"), ("0.5%", "0.5", "undecided"), ("1%", "1", "undecided"), ("28%",
    "29", "reject"),
    ("28%", "2800", "reject"), ("1.57", "1.1%", "reject"), ("1.57", "1.57%", "undecided"), ("12.5%", "12.49", "accept"),
    ("28%", "0.28", "accept"), ("28%", "30%", "reject"), ("1000", "1,000", "accept"),
    ("784", "785.12", "undecided"), ("0", "0.0", "accept"), ("0", "-0", "accept"), ("1.0000001", "1", "undecided"),
    ("x=5", "y=5", "undecided"), ("x=5", "x=6", "reject"),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "answer", "expected"), PRECISION)
def test_rule_of_precision(gold: str, answer: str, expected: str) -> None:
    assert outcome(gold, answer) == expected


UNITS = [
    ("12个月", "12月", "accept"), ("12个月", "13月", "reject"), ("12月", "12个月", "undecided"),
    ("5 m", "5m", "accept"), ("5 m/s", r"5\ \mathrm{m\cdot s^{-1}}", "accept"), ("5米/秒", "5 m/s", "accept"),
    ("5 m", "500 cm", "accept"), ("5 m", "5 km", "reject"), ("5 m", "6 km", "reject"), ("5", "5 m",
    "accept"),
    ("5 m", "5", "undecided"), ("0.64N", r"\frac{16}{25}N", "accept"), ("0.64N", "0.64", "reject"),
    ("44^\\circ", "44", "accept"), ("44°", "45°", "reject"), ("5个", "5", "accept"), ("5 apples", "5 pears",
    "undecided"),
    ("15 yuan", "15", "accept"), ("37℃", "37 °C", "accept"), ("1.57 kΩ", r"1.57\ \text{k}\Omega", "accept"),
    ("3", "3d", "undecided"), ("3", "3cm^2", "accept"), ("3", "3cm/s", "undecided"),
    ("5", "5cm", "accept"), ("6.46", "6.46 days",
    "accept"), ("三角形", "3", "undecided"),
    ("二氧化碳", "2", "undecided"), ("三分之一", "1/3", "accept"), ("百分之五", "5%", "accept"), ("5\\%",
    "百分之五", "accept"),
    ("三分之一", "3", "reject"), ("百分之五", "100", "reject"), ("2", "二分之一", "reject"), ("1000", "千米",
    "undecided"),
    ("5", "500%", "undecided"), ("1", "100%", "accept"), ("500%", "5", "undecided"), ("5 m/s", "5", "undecided"),
    ("4 slugs", "4 kg", "reject"), ("170 Torr", "170 s", "reject"), ("3 parsecs", "3 km", "reject"),
    ("8 bits", "8 kg", "undecided"), ("5 people", "5 days", "undecided"), ("7次", "7秒", "undecided"),
    ("3 apples", "3", "accept"), ("6250 kbp", "6.25 Mbp", "accept"), ("10 kbp", "10000 bp", "accept"),
    ("10 bp", "10 m", "undecided"), ("0.1 mol/L", "0.1 M", "accept"), ("0.1 mol/L", "0.2 M", "undecided"),
    ("1592년", "1592년도", "accept"), ("5 square units", "5", "accept"), ("5뉴턴", "5 N", "accept"),
]  # fmt: skip


def _written_in_chinese(value: int) -> str:
    digits = "零一二三四五六七八九"
    written = "".join(
        digits[int(digit)] + step if digit != "0" else "零"
        for digit, step in zip(f"{value:04}", ["千", "百", "十", ""], strict=True)
    )
    return re.sub("零+", "零", written).strip("零")


@given(st.integers(1, 9999))
def test_every_chinese_numeral_has_its_value_and_only_as_a_whole(value: int) -> None:
    written = _written_in_chinese(value)
    number = read_number(written)
    assert number is not None
    assert number.value == value
    assert read_number(written + "角形") is None


@pytest.mark.parametrize(("gold", "answer", "expected"), UNITS)
def test_units_are_equal_or_absent(gold: str, answer: str, expected: str) -> None:
    assert outcome(gold, answer) == expected


def test_the_unit_printed_in_the_question_may_be_left_out_but_not_replaced() -> None:
    assert outcome("5 m", "5", unit="m") == "accept"
    assert outcome("5", "5 km", unit="m") == "undecided"
    assert outcome("5", "6", unit="m") == "reject"


def _notations(value: Fraction) -> list[str]:
    top, bottom = value.numerator, value.denominator
    sign = "-" if top < 0 else ""
    return [
        f"{top}/{bottom}",
        rf"{sign}\frac{{{abs(top)}}}{{{bottom}}}",
        rf"$x = {sign}\dfrac{{{abs(top)}}}{{{bottom}}}$",
    ]


@given(st.fractions(min_value=-(10**6), max_value=10**6, max_denominator=10**4))
def test_every_notation_of_a_fraction_is_equal(value: Fraction) -> None:
    texts = _notations(value)
    assert all(outcome(gold, answer) == "accept" for gold in texts for answer in texts)


@given(st.integers(-(10**12), 10**12))
def test_every_notation_of_an_integer_is_equal(value: int) -> None:
    for text in (f"{value:,}", f"{value}.0", f"{value}.", f"\\boxed{{{value}}}", f"{value} 个", f"x={value}"):
        assert outcome(str(value), text) == "accept"


@given(
    st.fractions(min_value=-1000, max_value=1000, max_denominator=1000),
    st.fractions(min_value=-1000, max_value=1000, max_denominator=1000),
)
def test_different_exact_values_are_never_equal(gold: Fraction, answer: Fraction) -> None:
    expected = "accept" if gold == answer else "reject"
    assert outcome(f"{gold.numerator}/{gold.denominator}", f"{answer.numerator}/{answer.denominator}") == expected


@given(st.decimals(-1000, 1000, places=4), st.decimals(-1000, 1000, places=4))
def test_different_decimals_of_equal_length_are_never_accepted(gold: object, answer: object) -> None:
    assert (outcome(str(gold), str(answer)) == "accept") == (gold == answer)
