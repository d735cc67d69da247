"""Mathematics questions in three languages: choices, blanks and questions of several parts."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from livek12.scripts.bench.exams.content import ItemPart, Language, PaperItem, choice, filled

Template = Callable[[random.Random, Language], PaperItem]
Said = dict[Language, str]


def _frac(value: Fraction) -> str:
    if value.denominator == 1:
        return f"${value.numerator}$"
    sign = "-" if value < 0 else ""
    return f"${sign}\\frac{{{abs(value.numerator)}}}{{{value.denominator}}}$"


def linear(draw: random.Random, language: Language) -> PaperItem:
    """A linear equation."""
    a, x, b = draw.randint(2, 9), draw.randint(2, 15), draw.randint(1, 20)
    stems: Said = {
        "en": "If $<a>x+<b>=<c>$, what is the value of $x$?",
        "zh": "若 $<a>x+<b>=<c>$，则 $x$ 的值为",
        "ko": "방정식 $<a>x+<b>=<c>$을 만족시키는 $x$의 값은?",
    }
    stem = filled(stems[language], {"a": a, "b": b, "c": a * x + b})
    return choice(draw, stem, x, [x + 1, x - 1, x + b, a + x, 2 * x], keep_order=True)


def half(draw: random.Random, language: Language) -> PaperItem:
    """A sum of fractions."""
    b, d = draw.sample([2, 3, 4, 5, 6, 7, 8, 9], 2)
    a, c = draw.randint(1, b - 1), draw.randint(1, d - 1)
    stems: Said = {
        "en": "Which of the following is equal to $\\frac{<a>}{<b>}+\\frac{<c>}{<d>}$?",
        "zh": "计算 $\\frac{<a>}{<b>}+\\frac{<c>}{<d>}$ 的结果是",
        "ko": "$\\frac{<a>}{<b>}+\\frac{<c>}{<d>}$의 값은?",
    }
    right = Fraction(a, b) + Fraction(c, d)
    wrong = [Fraction(a + c, b + d), Fraction(a * c, b * d), right + 1, Fraction(a + c, b * d), right / 2]
    stem = filled(stems[language], {"a": a, "b": b, "c": c, "d": d})
    return choice(draw, stem, _frac(right), [_frac(value) for value in wrong])


def radical(draw: random.Random, language: Language) -> PaperItem:
    """A product of square roots."""
    n, m = draw.choice([(2, 3), (2, 5), (3, 5), (2, 7), (3, 7), (5, 6)])
    k = draw.randint(2, 6)
    stems: Said = {
        "en": "The product $<k>\\sqrt{<n>}\\cdot\\sqrt{<m>}$ equals",
        "zh": "化简 $<k>\\sqrt{<n>}\\cdot\\sqrt{<m>}$ 得",
        "ko": "$<k>\\sqrt{<n>}\\cdot\\sqrt{<m>}$을 간단히 하면?",
    }
    right = f"${k}\\sqrt{{{n * m}}}$"
    wrong = [f"$\\sqrt{{{k * n * m}}}$", f"${k}\\sqrt{{{n + m}}}$", f"${k * n * m}$", f"${k * n}\\sqrt{{{m}}}$"]
    return choice(draw, filled(stems[language], {"k": k, "n": n, "m": m}), right, wrong)


def cube_root(draw: random.Random, language: Language) -> PaperItem:
    """A cube root times a square root."""
    a, b = draw.randint(2, 5), draw.randint(2, 9)
    stems: Said = {
        "en": "What is $\\sqrt[3]{<c>}\\times\\sqrt{<d>}$?",
        "zh": "$\\sqrt[3]{<c>}\\times\\sqrt{<d>}$ 的值为",
        "ko": "$\\sqrt[3]{<c>}\\times\\sqrt{<d>}$의 값은?",
    }
    stem = filled(stems[language], {"c": a**3, "d": b * b})
    return choice(draw, stem, a * b, [a * b * 2, a + b, a * a * b, a * b + 1], keep_order=True)


def vectors(draw: random.Random, language: Language) -> PaperItem:
    """A point that divides the side of a triangle."""
    k = draw.randint(2, 4)
    stems: Said = {
        "en": "In triangle $ABC$ the point $D$ lies on $BC$ with $\\overrightarrow{BD}=<k>\\overrightarrow{DC}$. "
        "Then $\\overrightarrow{AD}$ equals",
        "zh": "在 $\\triangle ABC$ 中，点 $D$ 在边 $BC$ 上，且 $\\overrightarrow{BD}=<k>\\overrightarrow{DC}$，则 "
        "$\\overrightarrow{AD}=$",
        "ko": "삼각형 $ABC$의 변 $BC$ 위의 점 $D$가 $\\overrightarrow{BD}=<k>\\overrightarrow{DC}$를 만족시킬 때, "
        "$\\overrightarrow{AD}$와 같은 것은?",
    }
    ab, ac = "\\overrightarrow{AB}", "\\overrightarrow{AC}"
    share, more = f"\\frac{{1}}{{{k + 1}}}", f"\\frac{{{k}}}{{{k + 1}}}"
    right = f"${share}{ab}+{more}{ac}$"
    wrong = [
        f"${more}{ab}+{share}{ac}$",
        f"${more}{ab}-{share}{ac}$",
        f"${share}{ab}-{more}{ac}$",
        f"$-{share}{ab}+{more}{ac}$",
    ]
    return choice(draw, filled(stems[language], {"k": k}), right, wrong)


def powers(draw: random.Random, language: Language) -> PaperItem:
    """Laws of exponents."""
    a, b, c = draw.randint(2, 5), draw.randint(2, 4), draw.randint(1, 5)
    stems: Said = {
        "en": "For every positive $x$, the expression $\\frac{(x^{<a>})^{<b>}}{x^{<c>}}$ is the same as",
        "zh": "设 $x>0$，则 $\\frac{(x^{<a>})^{<b>}}{x^{<c>}}=$",
        "ko": "$x>0$일 때, $\\frac{(x^{<a>})^{<b>}}{x^{<c>}}$을 간단히 하면?",
    }
    right = a * b - c
    wrong = [f"$x^{{{n}}}$" for n in (a + b - c, a**b - c, a * b + c, right + 1, right + 2)]
    return choice(draw, filled(stems[language], {"a": a, "b": b, "c": c}), f"$x^{{{right}}}$", wrong)


def sequence(draw: random.Random, language: Language) -> PaperItem:
    """An arithmetic sequence."""
    first, step, n = draw.randint(1, 9), draw.randint(2, 7), draw.randint(8, 20)
    stems: Said = {
        "en": "An arithmetic sequence has $a_{1}=<f>$ and $a_{2}=<s>$. What is $a_{<n>}$?",
        "zh": "已知等差数列 $\\{a_{n}\\}$ 满足 $a_{1}=<f>$，$a_{2}=<s>$，则 $a_{<n>}=$",
        "ko": "등차수열 $\\{a_{n}\\}$에 대하여 $a_{1}=<f>$, $a_{2}=<s>$일 때, $a_{<n>}$의 값은?",
    }
    right = first + (n - 1) * step
    stem = filled(stems[language], {"f": first, "s": first + step, "n": n})
    return choice(draw, stem, right, [right + step, right - step, n * step, right + 1], keep_order=True)


def trigonometry(draw: random.Random, language: Language) -> PaperItem:
    """The cosine of an acute angle from its sine."""
    a, b, c = draw.choice([(3, 4, 5), (5, 12, 13), (8, 15, 17), (7, 24, 25)])
    stems: Said = {
        "en": "The angle $\\theta$ is acute and $\\sin\\theta=\\frac{<a>}{<c>}$. Find $\\cos\\theta$.",
        "zh": "已知 $\\theta$ 为锐角，$\\sin\\theta=\\frac{<a>}{<c>}$，则 $\\cos\\theta=$",
        "ko": "예각 $\\theta$에 대하여 $\\sin\\theta=\\frac{<a>}{<c>}$일 때, $\\cos\\theta$의 값은?",
    }
    wrong = [Fraction(a, b), Fraction(b, a), Fraction(a, c), Fraction(c, b)]
    stem = filled(stems[language], {"a": a, "c": c})
    return choice(draw, stem, _frac(Fraction(b, c)), [_frac(value) for value in wrong])


def area(draw: random.Random, language: Language) -> PaperItem:
    """The area of a triangle that is drawn."""
    base, height = 2 * draw.randint(2, 9), draw.randint(3, 11)
    stems: Said = {
        "en": "In the figure, $BC=<b>$ and the height from $A$ is $<h>$. The area $S_{\\triangle ABC}$ is",
        "zh": "如图，$BC=<b>$，$BC$ 边上的高为 $<h>$，则 $S_{\\triangle ABC}=$",
        "ko": "그림과 같이 $BC=<b>$이고 높이가 $<h>$인 삼각형 $ABC$의 넓이는?",
    }
    right = base * height // 2
    stem = filled(stems[language], {"b": base, "h": height})
    return choice(
        draw, stem, right, [base * height, right + 3, base + height, right - 2], figure="triangle", keep_order=True
    )


def frequency(draw: random.Random, language: Language) -> PaperItem:
    """A mean from a table."""
    counts = [draw.randint(2, 9) for _ in range(4)]
    counts[-1] += -sum(value * count for value, count in zip((1, 2, 3, 4), counts, strict=True)) % 2
    head: dict[Language, tuple[str, str]] = {
        "en": ("Score", "Pupils"),
        "zh": ("得分", "人数"),
        "ko": ("점수", "학생 수"),
    }
    stems: Said = {
        "en": "The table shows the scores of a class in a quiz. How many pupils scored more than 2?",
        "zh": "某班一次小测验的得分情况如下表，得分大于 2 的人数为",
        "ko": "다음 표는 어느 학급의 쪽지 시험 점수를 나타낸 것이다. 점수가 2보다 큰 학생 수는?",
    }
    rows = [[head[language][0], "1", "2", "3", "4"], [head[language][1], *map(str, counts)]]
    right = counts[2] + counts[3]
    wrong = [sum(counts), counts[1] + right, counts[2], counts[3], right + 10]
    return choice(draw, stems[language], right, wrong, table=rows, keep_order=True)


CHOICES: Final[tuple[Template, ...]] = (
    linear, half, radical, cube_root, vectors, powers, sequence, trigonometry, area, frequency
)  # fmt: skip


def modulus(draw: random.Random, language: Language) -> PaperItem:
    """The length of a vector."""
    a, b = draw.sample(range(1, 8), 2)
    stems: Said = {
        "en": "If $\\vec{a}=(<a>,<b>)$, then $|\\vec{a}|=$ ____.",
        "zh": "已知向量 $\\vec{a}=(<a>,<b>)$，则 $|\\vec{a}|=$____．",
        "ko": "벡터 $\\vec{a}=(<a>,<b>)$에 대하여 $|\\vec{a}|$의 값을 구하시오.",
    }
    return PaperItem(filled(stems[language], {"a": a, "b": b}), "blank", answer=f"$\\sqrt{{{a * a + b * b}}}$")


def probability(draw: random.Random, language: Language) -> PaperItem:
    """A ball from a bag."""
    red, blue = draw.randint(2, 8), draw.randint(2, 8)
    stems: Said = {
        "en": "A bag holds <r> red and <b> blue balls. One ball is taken at random. The probability that it is red "
        "is ____.",
        "zh": "袋中有 <r> 个红球和 <b> 个蓝球，从中任取一个，取到红球的概率为____．",
        "ko": "주머니에 빨간 공 <r>개와 파란 공 <b>개가 있다. 한 개를 꺼낼 때, 빨간 공일 확률을 구하시오.",
    }
    return PaperItem(filled(stems[language], {"r": red, "b": blue}), "blank", answer=_frac(Fraction(red, red + blue)))


def derivative(draw: random.Random, language: Language) -> PaperItem:
    """The slope of a curve at a point."""
    a, b, x = draw.randint(2, 6), draw.randint(1, 9), draw.randint(1, 4)
    stems: Said = {
        "en": "The slope of the curve $y=<a>x^{2}-<b>x$ at $x=<x>$ is ____.",
        "zh": "曲线 $y=<a>x^{2}-<b>x$ 在 $x=<x>$ 处的切线斜率为____．",
        "ko": "곡선 $y=<a>x^{2}-<b>x$ 위의 $x=<x>$인 점에서의 접선의 기울기를 구하시오.",
    }
    return PaperItem(filled(stems[language], {"a": a, "b": b, "x": x}), "blank", answer=f"{2 * a * x - b}")


def logarithm(draw: random.Random, language: Language) -> PaperItem:
    """A logarithm that is a whole number."""
    base, power = draw.choice([2, 3, 5]), draw.randint(2, 5)
    stems: Said = {
        "en": "$\\log_{<b>}<p>=$ ____.",
        "zh": "$\\log_{<b>}<p>=$____．",
        "ko": "$\\log_{<b>}<p>$의 값을 구하시오.",
    }
    return PaperItem(filled(stems[language], {"b": base, "p": base**power}), "blank", answer=str(power))


BLANKS: Final[tuple[Template, ...]] = (modulus, probability, derivative, logarithm)


def parabola(draw: random.Random, language: Language) -> PaperItem:
    """A parabola: zeros, vertex, area."""
    p, q = sorted(draw.sample(range(1, 9), 2))
    stems: Said = {
        "en": "The curve $C$ has the equation $y=x^{2}-<s>x+<t>$. Part of it is shown in the figure.",
        "zh": "已知抛物线 $C$：$y=x^{2}-<s>x+<t>$，其部分图象如图所示．",
        "ko": "그림과 같이 곡선 $C$의 방정식이 $y=x^{2}-<s>x+<t>$이다.",
    }
    first: Said = {
        "en": "Find the coordinates of the points at which $C$ meets the $x$-axis.",
        "zh": "求 $C$ 与 $x$ 轴交点的坐标；",
        "ko": "$C$가 $x$축과 만나는 점의 좌표를 구하시오.",
    }
    two: Said = {
        "en": "Show that the least value of $y$ is $-\\frac{<d>}{4}$.",
        "zh": "证明 $y$ 的最小值为 $-\\frac{<d>}{4}$；",
        "ko": "$y$의 최솟값이 $-\\frac{<d>}{4}$임을 보이시오.",
    }
    three: Said = {
        "en": "Hence calculate the area enclosed by $C$ and the $x$-axis.",
        "zh": "求 $C$ 与 $x$ 轴所围成图形的面积．",
        "ko": "$C$와 $x$축으로 둘러싸인 부분의 넓이를 구하시오.",
    }
    values = {"s": p + q, "t": p * q, "d": (q - p) ** 2}
    return PaperItem(
        filled(stems[language], values),
        "free",
        parts=(
            ItemPart(first[language], f"({p}, 0), ({q}, 0)", 2),
            ItemPart(filled(two[language], values), "", 3),
            ItemPart(three[language], _frac(Fraction((q - p) ** 3, 6)), 4),
        ),
        figure="curve",
    )


def solid(draw: random.Random, language: Language) -> PaperItem:
    """A right prism: length, volume."""
    a, b, h = draw.randint(2, 6), draw.randint(2, 6), draw.randint(3, 9)
    stems: Said = {
        "en": "A right prism has a right-angled triangle $ABC$ as its base, with $AB=<a>$, $AC=<b>$ and height "
        "$AA_{1}=<h>$.",
        "zh": "在直三棱柱 $ABC-A_{1}B_{1}C_{1}$ 中，$AB\\perp AC$，$AB=<a>$，$AC=<b>$，$AA_{1}=<h>$．",
        "ko": "직삼각기둥의 밑면은 $AB=<a>$, $AC=<b>$인 직각삼각형 $ABC$이고 높이는 $AA_{1}=<h>$이다.",
    }
    first: Said = {"en": "Find the length of $BC$.", "zh": "求 $BC$ 的长；", "ko": "$BC$의 길이를 구하시오."}
    two: Said = {"en": "Find the volume of the prism.", "zh": "求该三棱柱的体积．", "ko": "부피를 구하시오."}
    return PaperItem(
        filled(stems[language], {"a": a, "b": b, "h": h}),
        "free",
        parts=(
            ItemPart(first[language], f"$\\sqrt{{{a * a + b * b}}}$", 3),
            ItemPart(two[language], _frac(Fraction(a * b * h, 2)), 4),
        ),
    )


def growth(draw: random.Random, language: Language) -> PaperItem:
    """A population that grows by a fixed share, with a table."""
    start, rate = 100 * draw.randint(2, 9), draw.choice([10, 20, 50])
    stems: Said = {
        "en": "A colony of <s> beetles grows by <r> % each week. The table is to be completed.",
        "zh": "某昆虫种群有 <s> 只，每周增长 <r> %，如下表．",
        "ko": "딱정벌레 <s>마리가 매주 <r> %씩 늘어난다. 다음 표를 완성하려 한다.",
    }
    head: Said = {"en": "Week", "zh": "周", "ko": "주"}
    number: Said = {"en": "Beetles", "zh": "数量", "ko": "마리 수"}
    first: Said = {
        "en": "Work out the number of beetles after one week.",
        "zh": "求一周后的数量；",
        "ko": "1주 후의 마리 수를 구하시오.",
    }
    two: Said = {
        "en": "Write down an expression for the number after $n$ weeks.",
        "zh": "写出 $n$ 周后的数量的表达式；",
        "ko": "$n$주 후의 마리 수를 식으로 나타내시오.",
    }
    three: Said = {
        "en": "Give one reason why the model fails for large $n$.",
        "zh": "说明当 $n$ 很大时该模型不适用的一个理由．",
        "ko": "$n$이 클 때 이 모형이 맞지 않는 까닭을 한 가지 쓰시오.",
    }
    values = {"s": start, "r": rate}
    return PaperItem(
        filled(stems[language], values),
        "free",
        parts=(
            ItemPart(first[language], str(start * (100 + rate) // 100), 1),
            ItemPart(two[language], f"${start}\\times{1 + rate / 100:g}^{{n}}$", 2),
            ItemPart(three[language], "", 1),
        ),
        table=((head[language], "0", "1", "2"), (number[language], str(start), "", "")),
    )


FREE: Final[tuple[Template, ...]] = (parabola, solid, growth)
