"""The checks of a translation: every loss is named, and the same in another spelling is none."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from livek12.dataset_builders.proposals.translation.checks import FIGURE, formula, problems
from tests.seconds import within

SOURCE = (
    "已知函数$f(x)=\\dfrac{1}{2}x^{2}+3$，$\\text{若 }x>0$，甲、乙两点A、B相距 12 米，速度为1.5m/s．\n"
    "(1)求$a_{1}$；(2)如图[[figure-1]]和[[figure-2]]，2024年5月1日有3万人，其中百分之五十到达，则概率为____．(5分)"
)
TARGET = (
    "Given the function \\(f(x) = \\frac{1}{2} x^2 + 3\\), $\\text{if } x > 0$, two points A and B are 12 m apart and"
    " the speed is 1.5 m/s.\n(1) Find $a_1$; (2) as shown in [[figure-1]] and [[figure-2]], on May 1, 2024 there are"
    " 30,000 people, of whom 50% arrive. Then the probability is ____. (5 points)"
)


def test_a_right_translation_has_no_problem() -> None:
    assert problems(SOURCE, TARGET) == []


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("12 m", "m", "12 is missing"),
        ("1.5", "15", "1.5 is missing"),
        ("30,000", "3,000", "30000 is missing"),
        ("May 1", "June 1", "5 is missing"),
        ("50%", "60%", "60 is new"),
        ("x^2", "x^3", "formulas"),
        ("+ 3", "- 3", "formulas"),
        ("a_1", "a_2", "formulas"),
        ("x > 0", "x < 0", "formulas"),
        ("A and B", "A and C", "B is missing"),
        ("[[figure-1]] and [[figure-2]]", "[[figure-1]]", "figures"),
        ("[[figure-1]] and [[figure-2]]", "[[figure-2]] and [[figure-1]]", "figures"),
        ("____", "", "blanks"),
        ("(2) as", "as", "parts"),
        ("(5 points)", "", "5 is missing"),
        ("people", "人", "not translated"),
        ("Given", "Here is the translation: Given", "added text"),
        ("Given", "The correct answer is B. Given", "added text"),
        ("Given", "<script>x</script> Given", "added markup"),
        ("Given", "\\input Given", "commands"),
        (
            "Given",
            "Read on. Think first. Wait. Look. See. Stop. Go. Sit. Run. Ask. Read. Look. See. Hm. Now",
            "added text",
        ),
    ],
)
def test_each_fault_is_named(old: str, new: str, named: str) -> None:
    assert old in TARGET
    assert any(named in line for line in problems(SOURCE, TARGET.replace(old, new, 1)))


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("解方程$x\\leqslant3$", "Solve $x \\le 3$"),
        ("若$\\left(a+b\\right)$为", "If \\(\\big(a+b\\big)\\) is"),
        ("质量为２千克", "The mass is 2 kg"),
        ("有1,200人", "There are 1200 people"),
        ("共3.5亿元", "A total of 350 million yuan"),
        ("集合$\\{1,2\\}$", "The set $\\{ 1, 2 \\}$"),
        ("值为$-3$", "The value is -3"),
        ("在范围3-5内", "Within 3-5"),
        ("三个球", "3 balls"),
        ("三个球", "three balls"),
        ("二十五个", "25 of them"),
        ("角为30度", "The angle is 30°"),
        ("选（　　）", "Choose (   )"),
        ("体积为$\\frac12$", "The volume is $\\dfrac{1}{2}$"),
        (
            "$\\begin{cases}x,\\text{当}x>0\\\\-x,\\text{其他}\\end{cases}$",
            "$\\begin{cases}x,\\text{when }x>0\\\\-x,\\text{otherwise}\\end{cases}$",
        ),
        ("수열 $a_{n}$의 합은 3이다", "The sum of the sequence $a_n$ is 3"),
    ],
)
def test_the_same_in_another_spelling_is_no_problem(source: str, target: str) -> None:
    assert problems(source, target) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [("x^{12}", "x^12"), ("\\frac{1}{23}", "\\frac{12}{3}"), ("\\sin x", "\\cos x"), ("{x}_1", "x^1"), ("a+b", "b+a")],
)
def test_formulas_that_differ_stay_different(one: str, other: str) -> None:
    assert formula(one) != formula(other)


numbers = st.integers(0, 9999).map(str) | st.decimals(0, 999, places=2).map(str)
atoms = st.sampled_from(["x", "y_{1}", "\\frac{1}{2}", "\\sqrt{3}", "a^{2}", "\\sin x", "(b+c)"])
formulas = st.lists(atoms, min_size=1, max_size=4).map("+".join)
pieces = st.one_of(
    numbers.map(lambda n: (f"共有 {n} 个", f"there are {n} of them")),
    formulas.map(lambda f: (f"函数${f}$的值", f"the value of ${f}$ of it")),
    st.just(("如图所示，点A和点B", "as the figure shows, points A and B")),
    st.just(("求____的值", "find the value ____ of it")),
)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[str, str]:
    drawn = draw(st.lists(pieces, min_size=1, max_size=5))
    marks = draw(st.integers(0, 3))
    figures = " ".join(f"[[figure-{n}]]" for n in range(1, marks + 1))
    return "，".join(zh for zh, _ in drawn) + figures, ", ".join(en for _, en in drawn) + " " + figures


@settings(max_examples=60)
@given(pairs())
def test_faithful_pairs_pass(pair: tuple[str, str]) -> None:
    assert problems(*pair) == []


@settings(max_examples=150)
@given(pairs(), st.data())
def test_any_changed_digit_formula_or_mark_is_caught(pair: tuple[str, str], data: st.DataObject) -> None:
    source, target = pair
    places = [m.start() for m in re.finditer(r"[0-9]|(?<=\$)[xyab](?=[+^_$])|\\(?=frac|sqrt|sin)", target)]
    places += [m.start() for m in FIGURE.finditer(target)]
    if not places:
        return
    place = data.draw(st.sampled_from(places))
    letter = target[place]
    if letter.isdigit():
        # Leading zeros and trailing decimals say nothing: 05 is 5. What is drawn is another digit, and no zero.
        new = data.draw(st.sampled_from([d for d in "123456789" if d != letter]))
        changed = target[:place] + new + target[place + 1 :]
    elif letter == "[":
        changed = target[:place] + target[place + len("[[figure-1]]") :]
    elif letter == "\\":
        changed = target[:place] + "\\tan " + target[place + 5 :]
    else:
        changed = target[:place] + "z" + target[place + 1 :]
    assert problems(source, changed), changed


@settings(max_examples=60)
@given(pairs())
def test_spacing_fractions_and_width_are_harmless(pair: tuple[str, str]) -> None:
    source, target = pair
    wide = source.translate({ord(d): ord(d) + 0xFEE0 for d in "0123456789"})
    spaced = target.replace("\\frac", "\\dfrac").replace("+", " + ").replace("^{2}", "^2").replace("  ", " ")
    assert problems(source, spaced) == []
    assert problems(FIGURE.sub(lambda m: m[0], source), target) == []
    plain_figures = re.sub(r"figure-([０-９])", lambda m: f"figure-{ord(m[1]) - 0xFF10}", wide)
    assert problems(plain_figures, target) == []


@settings(max_examples=100)
@given(st.text(max_size=300), st.text(max_size=300))
def test_any_texts_are_compared_without_an_error(source: str, target: str) -> None:
    assert isinstance(problems(source, target), list)


@pytest.mark.slow
@pytest.mark.parametrize(
    "hostile", ["$" * 9000, "\\{" * 4000, "{" * 9000, "(" * 9000, "[[figure-" * 1000, "一" * 9000, "9" * 9000]
)
def test_long_and_broken_texts_take_no_time(hostile: str) -> None:
    with within(5):
        assert isinstance(problems(hostile, hostile), list)
