"""The form that the question asks for: what restates the question, or misses its form, is not accepted."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from livek12.judges.base import AnswerComparison
from livek12.judges.rules.demands import MAX_EXPRESSION, demand
from livek12.judges.rules.form import _CHECKS, _DOUBTS, FormStage
from tests.judges.helpers import mark, question
from tests.judges.hostile import hostile_strings

CASES = r"""
en
Compute $2+2$. @ 4 @ 2+2 @ reject
Compute $2+2$. @ 4 @ 4 @ accept
Compute $2+2$. @ 4 @ 2+2=4 @ accept
Compute $2+2$. @ 4 @ 4 (=2+2) @ accept
Compute $2+2$. @ 4 @ 1+3 @ undecided
Compute 12 + 30. @ 42 @ 30+12 @ reject
What is 1/2 + 1/3? @ 5/6 @ 10/12 @ accept
What is 1/2 + 1/3? @ 5/6 @ 3/6 + 2/6 @ undecided
What is 6!? @ 720 @ 6! @ reject
What is 6!? @ 6! @ 720 @ accept
Find the value of $\sqrt{144}$. @ 12 @ \sqrt{144} @ reject
Evaluate $\int_0^1 2x\,dx$. @ 1 @ \int_0^1 2x\,dx @ reject
Given $f(x)=x^2+1$, find $f(2)$. @ 5 @ f(2) @ reject
Given $f(x)=x^2+1$, find $f(2)$. @ 5 @ 2^2+1 @ undecided
Evaluate $\sum_{k=1}^{3} k$. @ 6 @ 1+2+3 @ undecided
How many orders have five books? @ 120 @ 5! @ accept
What is $2^{100}$? @ 2^{100} @ 2^{100} @ accept
Factor $x^2-5x+6$. @ (x-2)(x-3) @ x^2-5x+6 @ reject
Factor $x^2-5x+6$. @ (x-2)(x-3) @ 6+x^2-5x @ reject
Factor $x^2-5x+6$. @ (x-2)(x-3) @ (3-x)(2-x) @ accept
Factor $x^2-5x+6$. @ x^2-5x+6 @ (x-2)(x-3) @ accept
Factor completely: $2x^2-8$ @ 2(x-2)(x+2) @ 2(x^2-4) @ undecided
Factor completely: $2x^2-8$ @ 2(x-2)(x+2) @ (2x-4)(x+2) @ undecided
Factor completely: $2x^2-8$ @ 2(x-2)(x+2) @ 2(x+2)(x-2) @ accept
Write $x^2-1$ in factored form. @ (x-1)(x+1) @ x^2-1 @ reject
Find the prime factorization of 360. @ 2^3\cdot 3^2\cdot 5 @ 360 @ reject
Find the prime factorization of 360. @ 2^3\cdot 3^2\cdot 5 @ 5\cdot 2^3\cdot 3^2 @ accept
Factor $x^2+5x+6$ as $(x+a)(x+b)$. Find $a+b$. @ 5 @ 5 @ accept
Expand $(x+1)(x+2)$. @ x^2+3x+2 @ (x+2)(x+1) @ reject
Expand $(x+1)(x+2)$. @ x^2+3x+2 @ x(x+2)+(x+2) @ undecided
Expand $(x+1)^2$. @ x^2+2x+1 @ 1+2x+x^2 @ accept
Simplify $8/12$. @ 2/3 @ \frac{8}{12} @ reject
Simplify $8/12$. @ 2/3 @ 4/6 @ undecided
Simplify $8/12$. @ 2/3 @ 8/12 = 2/3 @ accept
Simplify $\sqrt{50}$. @ 5\sqrt2 @ \sqrt{50} @ reject
Simplify $3x+2x$. @ 5x @ 2x+3x @ reject
Simplify $3x+2x$. @ 5x @ x \cdot 5 @ accept
Simplify $\frac{1}{2}(x+1)$. @ \frac{x+1}{2} @ \frac{x}{2}+\frac12 @ accept
Write 18/24 in lowest terms. @ 3/4 @ 9/12 @ reject
Write 18/24 in lowest terms. @ 3/4 @ 18/24 @ reject
Write 18/24 in lowest terms. @ 3/4 @ \dfrac34 @ accept
Rationalize the denominator of $\frac{1}{\sqrt2}$. @ \frac{\sqrt2}{2} @ \frac{1}{\sqrt2} @ reject
Rationalize the denominator of $\frac{1}{\sqrt2}$. @ \frac{\sqrt2}{2} @ \frac{2}{2\sqrt2} @ undecided
Rationalize the denominator of $\frac{1}{\sqrt2}$. @ \frac{\sqrt2}{2} @ \frac12\sqrt2 @ accept
Write 0.000032 in scientific notation. @ 3.2\times 10^{-5} @ 0.000032 @ reject
Express 45000 in scientific notation. @ 4.5\times 10^4 @ 45\times 10^3 @ undecided
Express 45000 in scientific notation. @ 4.5\times 10^4 @ 4.5 × 10⁴ @ accept
Express 45000 in scientific notation. @ 4.5\times 10^4 @ 4.5e4 @ accept
Express 45000 in scientific notation. @ 4.5\times 10^4 @ 45e3 @ undecided
Compute $3\cdot 10^5\cdot 2$. Give your answer in scientific notation. @ 6\times10^5 @ 600000 @ undecided
Compute $1/2+1/4$. Give your answer in lowest terms. @ 3/4 @ 6/8 @ undecided
What polynomial is it, in factored form? @ (x-1)(x+1) @ x^2-1 @ undecided
Distribute: 4(x - 7) @ 4x-28 @ 4(x-7) @ reject
Evaluate the determinant $\begin{vmatrix}1&2\\3&4\end{vmatrix}$. @ -2 @ \begin{vmatrix}1&2\\3&4\end{vmatrix} @ reject
Round 2.71828 to the nearest hundredth. @ 2.72 @ 2.71828 @ reject
Round 2.71828 to the nearest hundredth. @ 2.72 @ 2.718 @ undecided
Round 2.71828 to the nearest hundredth. @ 2.72 @ 2.72 @ accept
How long is it? Round your answer to two decimal places. @ 3.14 @ 3.14159 @ accept
Write 1/8 as a decimal. @ 0.125 @ 1/8 @ reject
Write 0.25 as a fraction. @ 1/4 @ 0.25 @ reject
Convert $0.\overline{3}$ to a fraction. @ \frac13 @ 0.\overline{3} @ reject
Convert $0.\overline{3}$ to a fraction. @ \frac13 @ 1/3 @ accept
Convert 3/4 to a percent. @ 75\% @ 3/4 @ reject
Convert 3/4 to a percent. @ 75\% @ 0.75 @ undecided
Write 7/3 as a mixed number. @ 2\frac13 @ 7/3 @ reject
What is the area in terms of $\pi$? @ 9\pi @ 28.2743 @ undecided
What is the area in terms of $\pi$? @ 9\pi @ \pi\cdot 9 @ accept
Give the exact value of $\cos 45^\circ$. @ \frac{\sqrt2}{2} @ 0.7071 @ undecided
Give the exact value of $\cos 45^\circ$. @ \frac{\sqrt2}{2} @ \frac{1}{\sqrt2} @ accept
Give the exact value of the slope. @ 1/4 @ 0.25 @ accept
Give the exact value of the slope. @ 1/3 @ 0.333333 @ undecided
Give the slope. @ 1/3 @ 0.333333 @ accept
Compute $5!$. @ 120 @ 5!=120 @ accept
Compute $5!$. @ 120 @ 5!=121 @ undecided
1/2 + 1/3 = ? @ 5/6 @ 1/2+1/3 @ reject
What is the factored form of $x^2-4$? @ (x-2)(x+2) @ x^2-4 @ reject
What is the simplest form of $\sqrt{27}$? @ 3\sqrt3 @ \sqrt{27} @ reject
The value of $\sin 30^\circ$ is @ 1/2 @ \sin 30^\circ @ reject
Perform the indicated operation: 3/8 + 1/8 @ 1/2 @ 3/8+1/8 @ reject
Perform the indicated operation and simplify: 3/8 + 1/8 @ 1/2 @ 4/8 @ undecided
Factor out the greatest common factor of $12x+18$. @ 6(2x+3) @ 2(6x+9) @ undecided
Factor out the greatest common factor of $12x+18$. @ 6(2x+3) @ 12x+18 @ reject
Factor by grouping: $x^3+x^2+x+1$ @ (x+1)(x^2+1) @ x^2(x+1)+(x+1) @ reject
Express 84 as a product of prime factors. @ 2^2 \cdot 3 \cdot 7 @ 12\cdot 7 @ undecided
Multiply and simplify: (x-2)(x+2) @ x^2-4 @ (x-2)(x+2) @ reject
Expand and collect like terms: $3(x+2)+2(x-1)$ @ 5x+4 @ 3x+6+2x-2 @ undecided
Write with a rational denominator: 5/√5 @ √5 @ 5/√5 @ reject
Solve the inequality 2x > 8. @ x > 4 @ 2x > 8 @ reject
Round $\pi$ to two decimal places. @ 3.14 @ 3.14159 @ undecided
Find the area of the square with side $\sqrt{2}$. @ 2 @ \sqrt{2}^2 @ accept
Compute the number of divisors of $2^{10}$. @ 11 @ 11 @ accept
What is the square root of 81? @ 9 @ \sqrt{81} @ reject
What is the square root of 81? @ 9 @ 9 @ accept
What is 2 to the power of 6? @ 64 @ 2^6 @ reject
What is 5 cubed? @ 125 @ 5^3 @ reject
Find $3/4$ of 100. @ 75 @ 3/4 \cdot 100 @ reject
What is the sum of 1/4 and 1/2? @ 3/4 @ 1/4+1/2 @ reject
What is the sum of 1/4 and 1/2? @ 3/4 @ 6/8 @ accept
What is the product of 3 and 4 apples and 5 pears? @ 12 @ 3\cdot 4 @ accept
Use the distributive property to expand 3(2x+5). @ 6x+15 @ 3(2x+5) @ reject
Simplify the ratio 12:18. @ 2:3 @ 12:18 @ reject
Turn 1.2 into a fraction in simplest form. @ 6/5 @ 1.2 @ reject
Solve: 12 + 5 @ 17 @ 12+5 @ reject
Expand: (2x+1)(x-3) = ___ @ 2x^2-5x-3 @ (2x+1)(x-3) @ reject
Solve $2x=6$. @ x=3 @ 2x=6 @ reject
Solve for $y$: $2x+y=4$ @ y=4-2x @ 2x+y=4 @ reject
Solve for $y$: $2x+y=4$ @ y=4-2x @ y=-2x+4 @ accept
Express $y$ in terms of $x$. @ y=2x @ y-2x=0 @ undecided
Express $y$ in terms of $x$. @ y=2x @ x=\frac{y}{2} @ undecided
Express $y$ in terms of $x$. @ y=2x @ y=x\cdot 2 @ accept
Find the equation of the line. @ y=2x+1 @ 2x-y+1=0 @ accept
Complete the square: $x^2+6x+1$ @ (x+3)^2-8 @ 6x+x^2+1 @ reject
Write the parabola in vertex form. @ y=(x+3)^2-8 @ y=x^2+6x+1 @ undecided
Write the parabola in vertex form. @ y=(x+3)^2-8 @ y=-8+(3+x)^2 @ accept
Convert $30^\circ$ to radians. @ \frac{\pi}{6} @ 30^\circ @ reject
Convert 36 km/h to m/s. @ 10 m/s @ 36 km/h @ reject
Convert 36 km/h to m/s. @ 10 m/s @ 10 m/s @ accept
(1) Factor $x^2-1$. (2) Expand $(x+1)^2$. @ (x-1)(x+1) @ x^2-1 @ accept
Simplify $8/12$. Then add $1/3$. @ 1 @ 1 @ accept
zh
计算：$(-2)^3+|-5|$=____． @ -3 @ (-2)^3+|-5| @ reject
计算：$(-2)^3+|-5|$=____． @ -3 @ -3 @ accept
$\sqrt{16}$=____ @ 4 @ \sqrt{16} @ reject
求 $\sin\frac{\pi}{6}$ 的值。 @ 1/2 @ \sin\frac{\pi}{6} @ reject
求 $\sin\frac{\pi}{6}$ 的值。 @ 1/2 @ 0.5 @ accept
因式分解：$x^2-9$ @ (x+3)(x-3) @ x^2-9 @ reject
把多项式 $a^3-a$ 分解因式。 @ a(a+1)(a-1) @ a(a^2-1) @ undecided
把多项式 $a^3-a$ 分解因式。 @ a(a+1)(a-1) @ (a-1)(a+1)a @ accept
展开 $(a-b)^2$ @ a^2-2ab+b^2 @ (b-a)^2 @ reject
约分 $\frac{15}{20}$ @ 3/4 @ \frac{15}{20} @ reject
化简：$\sqrt{12}$ @ 2\sqrt3 @ \sqrt{12} @ reject
分母有理化：$\frac{3}{\sqrt5}$ @ \frac{3\sqrt5}{5} @ 3/\sqrt5 @ reject
0.000032用科学记数法表示为____ @ 3.2\times10^{-5} @ 0.000032 @ reject
0.000032用科学记数法表示为____ @ 3.2\times10^{-5} @ 3.2×10^{-5} @ accept
把 0.25 化成分数 @ \frac14 @ 0.25 @ reject
分解因式：x² - 9 = _______。 @ (x+3)(x-3) @ x² - 9 @ reject
小说约有3630000字，用科学记数法表示为______字 @ 3.63×10^6 @ 3630000 @ reject
$|-3|+\sqrt{4}=$（　　） @ 5 @ |-3|+\sqrt4 @ reject
化简二次根式 $\sqrt{20}$ @ 2\sqrt5 @ \sqrt{20} @ reject
计算下列算式的结果：$3\times 4$ @ 12 @ 4\times 3 @ reject
约简 $\frac{14}{21}$ @ 2/3 @ 14/21 @ reject
已知 $f(x)=x^2$，则 $f(3)=$____ @ 9 @ f(3) @ reject
已知 $f(x)=x^2$，则 $f(3)=$____ @ 9 @ f(3)=9 @ accept
去括号：$-(x-y)$ @ y-x @ -(x-y) @ reject
函数 $f(x)=x^2$ 的值域是 @ [0,+\infty) @ [0,+\infty) @ accept
将正方体展开，面积是多少？ @ 2\cdot 3 @ 6 @ accept
ko
$3^4$의 값을 구하시오. @ 81 @ 3^4 @ reject
$3^4$의 값을 구하시오. @ 81 @ 81 @ accept
다음 식의 값을 구하시오: $2^5$ @ 32 @ 2^5 @ reject
다음을 계산하시오: $12\times 11$ @ 132 @ 12\times 11 @ reject
다항식 $x^2-4x+3$을 인수분해하시오. @ (x-1)(x-3) @ x^2-4x+3 @ reject
다항식 $x^2-4x+3$을 인수분해하시오. @ (x-1)(x-3) @ (x-3)(x-1) @ accept
다음 식을 전개하시오. $(x+2)^2$ @ x^2+4x+4 @ (x+2)^2 @ reject
$\sqrt{18}$을 간단히 하시오. @ 3\sqrt2 @ \sqrt{18} @ reject
$\frac{1}{\sqrt3}$의 분모를 유리화하시오. @ \frac{\sqrt3}{3} @ \frac{1}{\sqrt3} @ reject
$\frac69$를 기약분수로 나타내시오. @ 2/3 @ 6/9 @ reject
60을 소인수분해하시오. @ 2^2\times 3\times 5 @ 60 @ reject
다음 다항식을 인수분해하시오.  $$ x^2 - 4 $$ @ (x-2)(x+2) @ x^2-4 @ reject
다항식 $P(x)=x^2-9$를 인수분해하시오. [4점] @ (x-3)(x+3) @ x^2-9 @ reject
x² - 9를 인수분해하시오. @ (x+3)(x-3) @ x^2-9 @ reject
0.6을 분수로 나타내시오. @ 3/5 @ 0.6 @ reject
en
Give 2/3 to 4 decimals. @ 0.6667 @ 2/3 @ reject
Give 2/3 to 4 decimals. @ 0.6667 @ 0.6667 @ accept
Give 22/7 to 4 decimals. @ 3.1429 @ 3.143 @ undecided
Give 22/7 to 4 decimals. @ 3.1429 @ 3.142857 @ undecided
State 5/8 as a decimal. @ 0.625 @ 5/8 @ reject
Work out the square of 5. @ 25 @ 5^2 @ reject
What is the square of the sum of 3 and 4? @ 49 @ (3+4)^2 @ reject
What is the square of the sum of 3 and 4? @ 49 @ 49 @ accept
Find half of 30. @ 15 @ \frac12\cdot 30 @ reject
Find twice 17. @ 34 @ 2\cdot 17 @ reject
What is the reciprocal of 4? @ 1/4 @ 0.25 @ accept
What is five squared? @ 25 @ 5^2 @ reject
Calculate 2 to the power of 10. @ 1024 @ 2^{10} @ reject
What is the square root of 50, to 3 decimal places? @ 7.071 @ \sqrt{50} @ reject
Find the square of the number of apples. @ 9 @ 3^2 @ accept
zh
求5的平方。 @ 25 @ 5^2 @ reject
求5的平方。 @ 25 @ 25 @ accept
求五的平方 @ 25 @ 5^2 @ reject
求3与4的和的平方。 @ 49 @ (3+4)^2 @ reject
8的立方根是多少？ @ 2 @ \sqrt[3]{8} @ reject
2的10次方等于多少？ @ 1024 @ 2^{10} @ reject
计算12乘以11 @ 132 @ 12\times 11 @ reject
用小数表示3/4 @ 0.75 @ 3/4 @ reject
已知5的平方是25，求它的一半 @ 12.5 @ 12.5 @ accept
将22/7保留两位小数 @ 3.14 @ 22/7 @ reject
ko
5의 제곱의 값을 구하시오. @ 25 @ 5^2 @ reject
5의 제곱의 값을 구하시오. @ 25 @ 25 @ accept
3과 4의 합의 제곱은 얼마인가? @ 49 @ (3+4)^2 @ reject
2의 10제곱은 얼마인가? @ 1024 @ 2^{10} @ reject
8의 세제곱근을 구하시오. @ 2 @ \sqrt[3]{8} @ reject
2/3을 소수 넷째 자리까지 나타내시오. @ 0.6667 @ 2/3 @ reject
12 곱하기 11은 무엇인가? @ 132 @ 12\times 11 @ reject
"""


def rows() -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    language = ""
    for line in CASES.strip().splitlines():
        if " @ " in line:
            found.append((language, *line.split(" @ ")))
        else:
            language = line
    return found


@pytest.mark.parametrize(("language", "text", "key", "answer", "decision"), rows())
def test_the_form_asked_for(language: str, text: str, key: str, answer: str, decision: str) -> None:
    asked = question("short_answer", question=text, answer=[key], language=language)
    assert mark(asked, answer).parts[0].decision == decision


def test_a_choice_has_no_form() -> None:
    asked = question("single_choice", question="Compute $2+2$.", answer=["B"], language="en")
    assert mark(asked, "B").correct


def test_parts_of_one_question_have_none() -> None:
    asked = question(question="Factor $x^2-1$ and $x^2-4$.", answer=["(x-1)(x+1)", "(x-2)(x+2)"], language="en")
    assert mark(asked, "x^2-1", "x^2-4").correct


@pytest.mark.parametrize(
    ("text", "form", "expression"),
    [
        ("Factor completely: $x^4-1$", "factor", "x^4-1"),
        ("Factorise the polynomial\n$$x^2-1$$", "factor", "x^2-1"),
        ("Expand and simplify \\((x+1)^2\\).", "expand simplify", "(x+1)^2"),
        ("What is 8/12 in simplest form?", "find simplify", "8/12"),
        ("Round 3.14159 to two decimal places.", "places:2", "3.14159"),
        ("把 3.14159 精确到 0.01", "places:2", "3.14159"),
        ("先化简，再求值：$\\frac{x^2-1}{x+1}$，其中 $x=2$。", "evaluate", "\\frac{x^2-1}{x+1}"),
        ("Write your answer as a common fraction.", "fraction", ""),
        ("Write the answer as a fraction or as a decimal.", "", ""),
        ("Factor $x^2-1$. Expand $(x+1)^2$.", "", ""),
        ("What is the number of ways?", "", ""),
        ("What is $\\frac13$ of $12$?", "", ""),
        ("Find $x$.", "", ""),
        ("Four players take part in a round of $8/12$ matches.", "", ""),
        ("The expression $x^2-1$ can be factored.", "", ""),
        ("如果你用计算机 $2+3$", "", ""),
        ("Compute " + "9" * 5000, "", ""),
    ],
)
def test_what_a_question_demands(text: str, form: str, expression: str) -> None:
    assert demand(text) == (form, expression)


@pytest.mark.parametrize(
    ("form", "texts"),
    {
        "lowest": "in lowest terms|an irreducible fraction|一个最简分数|기약분수로",
        "simplify": "in simplest radical form|最简二次根式|가장 간단한",
        "scientific": "in scientific notation|用科学记数法|과학적 표기법",
        "fraction": "as a common fraction|用分数表示|분수로",
        "decimal": "as a decimal|化成小数|소수로",
        "percent": "as a percentage|化成百分数|백분율로",
        "mixed": "as a mixed number|化成带分数|대분수로",
        "pi": "in terms of $\\pi$|in terms of π|结果保留 $\\pi$|用 π 表示",
        "exact": "the exact value|精确值|정확한 값",
        "factor": "in factored form",
        "expand": "in expanded form",
        "square": "in vertex form|配方|완전제곱식",
        "solved": "Express $y$ in terms of $x$|in slope-intercept form|用含 $x$ 的代数式表示",
    }.items(),
)
def test_phrases(form: str, texts: str) -> None:
    assert [text for text in texts.split("|") if form not in demand(text).form.split()] == []


def test_no_hostile_text_breaks_the_reader_or_the_stage(tmp_path: Path) -> None:
    kinds = " ".join(sorted(_CHECKS | _DOUBTS)).replace("places", "places:2") + " solve solved"
    for text in hostile_strings(str(tmp_path)).values():
        asked = demand(text)
        assert len(asked.expression) <= MAX_EXPRESSION
        for gold, answer, expression in (("4", text, "2+2"), (text, "4", asked.expression), ("(x+1)^2", text, text)):
            said = FormStage().decide(
                AnswerComparison(gold, answer, "short_answer", asked_form=kinds, asked_expression=expression)
            )
            assert said.decision != "accept"


TERMS = st.integers(1, 99).map(str)
SUMS = st.recursive(
    TERMS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "\\times "]), inner).map(lambda one: f"({''.join(one)})"),
        st.tuples(inner, inner).map(lambda one: f"\\frac{{{one[0]}}}{{{one[1]}}}"),
        inner.map(lambda one: f"\\sqrt{{{one}}}"),
        inner.map(lambda one: f"({one}+x)^2"),
    ),
    max_leaves=5,
)
KINDS = st.sets(
    st.sampled_from(
        "factor expand lowest simplify evaluate find rationalise scientific fraction decimal percent mixed pi exact "
        "places:2 convert solve solved square round".split()
    )
)


@settings(max_examples=150, deadline=None)
@given(SUMS, SUMS, KINDS, st.booleans())
def test_what_reads_as_the_key_is_never_touched(key: str, asked: str, kinds: set[str], bare: bool) -> None:
    comparison = AnswerComparison(
        key, key if bare else f"$ {key} $.", "short_answer", asked_form=" ".join(sorted(kinds)), asked_expression=asked
    )
    said = FormStage().decide(comparison)
    assert (said.decision, said.reason) == ("undecided", "")


ASKING = [
    "Compute ${}$.",
    "What is the value of ${}$?",
    "Simplify ${}$",
    "计算：${}$",
    "求${}$的值。",
    "${}$=____",
    "${}$의 값은?",
    "다음을 계산하시오. ${}$",
]


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from(ASKING),
    st.integers(2, 60),
    st.sampled_from(["+", "-", "\\times ", "/"]),
    st.integers(2, 60),
    st.booleans(),
)
def test_the_asked_expression_is_no_answer(asking: str, one: int, sign: str, two: int, boxed: bool) -> None:
    expression = f"{one}{sign}{two}"
    value = {"+": Fraction(one + two), "-": Fraction(one - two), "/": Fraction(one, two)}.get(sign, Fraction(one * two))
    asked = question("short_answer", question=asking.format(expression), answer=[str(value)], language="en")
    answer = f"$\\boxed{{{expression}}}$" if boxed else expression
    written_alike = value.denominator > 1 and value == Fraction(one, two) and value.numerator == one
    assert (mark(asked, answer).parts[0].decision == "accept") == written_alike
