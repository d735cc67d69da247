"""Answers made from a key: written otherwise they are never rejected, with one thing changed never accepted."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from livek12.judges.rules.algebra import Comparer
from livek12.judges.rules.latex import parse

NUMBERS = st.fractions(min_value=-20, max_value=40, max_denominator=9)
DIFFERENT = st.sampled_from([Fraction(1), Fraction(-1), Fraction(1, 2), Fraction(10)])


def said(gold: str, answer: str) -> str:
    return Comparer(ends_count=True).compare(parse(gold), parse(answer))[0]


def tex(value: Fraction, slash: bool = False) -> str:
    sign, size = "-" if value < 0 else "", abs(value)
    if size.denominator == 1:
        return f"{sign}{size}"
    return f"{sign}{size}" if slash else rf"{sign}\frac{{{size.numerator}}}{{{size.denominator}}}"


@given(st.lists(NUMBERS, min_size=2, max_size=4), st.integers(0, 3), DIFFERENT)
@settings(max_examples=40, deadline=None)
def test_points(entries: list[Fraction], place: int, change: Fraction) -> None:
    gold = f"({','.join(map(tex, entries))})"
    assert said(gold, f"({', '.join(tex(one, slash=True) for one in entries)})") == "accept"
    place %= len(entries)
    other = [*entries[:place], entries[place] + change, *entries[place + 1 :]]
    assert said(gold, f"({','.join(map(tex, other))})") == "reject"
    if entries != entries[::-1]:
        assert said(gold, f"({','.join(map(tex, entries[::-1]))})") == "reject"


@given(st.sets(NUMBERS, min_size=2, max_size=4), DIFFERENT)
@settings(max_examples=40, deadline=None)
def test_sets(entries: set[Fraction], change: Fraction) -> None:
    ordered = sorted(entries)
    gold = rf"\{{{','.join(map(tex, ordered))}\}}"
    assert said(gold, rf"\{{{', '.join(tex(one, slash=True) for one in ordered[::-1])}\}}") == "accept"
    assert said(gold, rf"\{{{','.join(map(tex, ordered[1:]))}\}}") != "accept"
    assert said(gold, rf"\{{{','.join(map(tex, [*ordered, ordered[-1] + abs(change)]))}\}}") == "reject"


@given(NUMBERS, NUMBERS, st.booleans(), st.booleans(), DIFFERENT)
@settings(max_examples=40, deadline=None)
def test_intervals(low: Fraction, high: Fraction, left: bool, right: bool, change: Fraction) -> None:
    low, high = sorted((low, high))
    assume(high - low > 1)

    def interval(a: Fraction, b: Fraction, closed: bool, closed_too: bool) -> str:
        return f"{'[' if closed else '('}{tex(a)},{tex(b)}{']' if closed_too else ')'}"

    gold = interval(low, high, left, right)
    signs = [r"\le " if closed else "<" for closed in (left, right)]
    chain = f"{tex(low)}{signs[0]}x{signs[1]}{tex(high)}"
    assert said(gold, chain) == said(chain, gold) == "accept"
    for other in (
        interval(low, high, not left, right), interval(low, high, left, not right),
        interval(low, high, not left, not right), interval(low - abs(change), high, left, right),
        interval(low, high + abs(change), left, right),
    ):  # fmt: skip
        assert said(gold, other) == "reject"


@given(NUMBERS, st.sampled_from(["<", ">", r"\le ", r"\ge "]), st.sampled_from("xyta"))
@settings(max_examples=30, deadline=None)
def test_inequalities(bound: Fraction, sign: str, name: str) -> None:
    turned = {"<": ">", ">": "<", r"\le ": r"\ge ", r"\ge ": r"\le "}
    closed = {"<": r"\le ", r"\le ": "<", ">": r"\ge ", r"\ge ": ">"}
    gold = f"{name}{sign}{tex(bound)}"
    assert said(gold, f"{tex(bound)}{turned[sign]}{name}") == "accept"
    assert said(gold, f"{name}{turned[sign]}{tex(bound)}") == "reject"
    assert said(gold, f"{name}{closed[sign]}{tex(bound)}") == "reject"
    assert said(gold, f"{name}{sign}{tex(bound + 1)}") == "reject"


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 9), st.sampled_from(["c", "K", "C", "k", "m", "t"]))
@settings(max_examples=40, deadline=None)
def test_sums_with_names_of_constants(first: int, second: int, third: int, name: str) -> None:
    gold = f"{first}a+{second}{name}+{third}b"
    assert said(gold, f"{third}b+{first}a+{second}{name}") == "accept"
    for other in (f"{gold}+1", f"{first}a-{second}{name}+{third}b", f"{first}a+{second + 1}{name}+{third}b"):
        assert said(gold, other) == "reject"
