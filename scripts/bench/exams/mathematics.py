"""Mathematics questions in three languages: choices, blanks and questions of several parts."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Final

from livek12.scripts.bench.exams.content import ItemPart, PaperItem, Template, Words, choice, filled


def _frac(value: Fraction) -> str:
    if value.denominator == 1:
        return f"${value.numerator}$"
    sign = "-" if value < 0 else ""
    return f"${sign}\\frac{{{abs(value.numerator)}}}{{{value.denominator}}}$"


def linear(draw: random.Random, words: Words) -> PaperItem:
    """A linear equation."""
    a, x, b = draw.randint(2, 9), draw.randint(2, 15), draw.randint(1, 20)
    stem = filled(words["stem"], {"a": a, "b": b, "c": a * x + b})
    return choice(draw, stem, x, [x + 1, x - 1, x + b, a + x, 2 * x], keep_order=True)


def half(draw: random.Random, words: Words) -> PaperItem:
    """A sum of fractions."""
    b, d = draw.sample([2, 3, 4, 5, 6, 7, 8, 9], 2)
    a, c = draw.randint(1, b - 1), draw.randint(1, d - 1)
    right = Fraction(a, b) + Fraction(c, d)
    wrong = [Fraction(a + c, b + d), Fraction(a * c, b * d), right + 1, Fraction(a + c, b * d), right / 2]
    stem = filled(words["stem"], {"a": a, "b": b, "c": c, "d": d})
    return choice(draw, stem, _frac(right), [_frac(value) for value in wrong])


def radical(draw: random.Random, words: Words) -> PaperItem:
    """A product of square roots."""
    n, m = draw.choice([(2, 3), (2, 5), (3, 5), (2, 7), (3, 7), (5, 6)])
    k = draw.randint(2, 6)
    right = f"${k}\\sqrt{{{n * m}}}$"
    wrong = [f"$\\sqrt{{{k * n * m}}}$", f"${k}\\sqrt{{{n + m}}}$", f"${k * n * m}$", f"${k * n}\\sqrt{{{m}}}$"]
    return choice(draw, filled(words["stem"], {"k": k, "n": n, "m": m}), right, wrong)


def cube_root(draw: random.Random, words: Words) -> PaperItem:
    """A cube root times a square root."""
    a, b = draw.randint(2, 5), draw.randint(2, 9)
    stem = filled(words["stem"], {"c": a**3, "d": b * b})
    return choice(draw, stem, a * b, [a * b * 2, a + b, a * a * b, a * b + 1], keep_order=True)


def vectors(draw: random.Random, words: Words) -> PaperItem:
    """A point that divides the side of a triangle."""
    k = draw.randint(2, 4)
    ab, ac = "\\overrightarrow{AB}", "\\overrightarrow{AC}"
    share, more = f"\\frac{{1}}{{{k + 1}}}", f"\\frac{{{k}}}{{{k + 1}}}"
    right = f"${share}{ab}+{more}{ac}$"
    wrong = [
        f"${more}{ab}+{share}{ac}$",
        f"${more}{ab}-{share}{ac}$",
        f"${share}{ab}-{more}{ac}$",
        f"$-{share}{ab}+{more}{ac}$",
    ]
    return choice(draw, filled(words["stem"], {"k": k}), right, wrong)


def powers(draw: random.Random, words: Words) -> PaperItem:
    """Laws of exponents."""
    a, b, c = draw.randint(2, 5), draw.randint(2, 4), draw.randint(1, 5)
    right = a * b - c
    wrong = [f"$x^{{{n}}}$" for n in (a + b - c, a**b - c, a * b + c, right + 1, right + 2)]
    return choice(draw, filled(words["stem"], {"a": a, "b": b, "c": c}), f"$x^{{{right}}}$", wrong)


def sequence(draw: random.Random, words: Words) -> PaperItem:
    """An arithmetic sequence."""
    first, step, n = draw.randint(1, 9), draw.randint(2, 7), draw.randint(8, 20)
    right = first + (n - 1) * step
    stem = filled(words["stem"], {"f": first, "s": first + step, "n": n})
    return choice(draw, stem, right, [right + step, right - step, n * step, right + 1], keep_order=True)


def trigonometry(draw: random.Random, words: Words) -> PaperItem:
    """The cosine of an acute angle from its sine."""
    a, b, c = draw.choice([(3, 4, 5), (5, 12, 13), (8, 15, 17), (7, 24, 25)])
    wrong = [Fraction(a, b), Fraction(b, a), Fraction(a, c), Fraction(c, b)]
    stem = filled(words["stem"], {"a": a, "c": c})
    return choice(draw, stem, _frac(Fraction(b, c)), [_frac(value) for value in wrong])


def area(draw: random.Random, words: Words) -> PaperItem:
    """The area of a triangle that is drawn."""
    base, height = 2 * draw.randint(2, 9), draw.randint(3, 11)
    right = base * height // 2
    stem = filled(words["stem"], {"b": base, "h": height})
    return choice(
        draw, stem, right, [base * height, right + 3, base + height, right - 2], figure="triangle", keep_order=True
    )


def frequency(draw: random.Random, words: Words) -> PaperItem:
    """A mean from a table."""
    counts = [draw.randint(2, 9) for _ in range(4)]
    counts[-1] += -sum(value * count for value, count in zip((1, 2, 3, 4), counts, strict=True)) % 2
    rows = [[words["head"][0], "1", "2", "3", "4"], [words["head"][1], *map(str, counts)]]
    right = counts[2] + counts[3]
    wrong = [sum(counts), counts[1] + right, counts[2], counts[3], right + 10]
    return choice(draw, words["stem"], right, wrong, table=rows, keep_order=True)


CHOICES: Final[tuple[Template, ...]] = (
    linear, half, radical, cube_root, vectors, powers, sequence, trigonometry, area, frequency
)  # fmt: skip


def modulus(draw: random.Random, words: Words) -> PaperItem:
    """The length of a vector."""
    a, b = draw.sample(range(1, 8), 2)
    return PaperItem(filled(words["stem"], {"a": a, "b": b}), "blank", answer=f"$\\sqrt{{{a * a + b * b}}}$")


def probability(draw: random.Random, words: Words) -> PaperItem:
    """A ball from a bag."""
    red, blue = draw.randint(2, 8), draw.randint(2, 8)
    return PaperItem(filled(words["stem"], {"r": red, "b": blue}), "blank", answer=_frac(Fraction(red, red + blue)))


def derivative(draw: random.Random, words: Words) -> PaperItem:
    """The slope of a curve at a point."""
    a, b, x = draw.randint(2, 6), draw.randint(1, 9), draw.randint(1, 4)
    return PaperItem(filled(words["stem"], {"a": a, "b": b, "x": x}), "blank", answer=f"{2 * a * x - b}")


def logarithm(draw: random.Random, words: Words) -> PaperItem:
    """A logarithm that is a whole number."""
    base, power = draw.choice([2, 3, 5]), draw.randint(2, 5)
    return PaperItem(filled(words["stem"], {"b": base, "p": base**power}), "blank", answer=str(power))


BLANKS: Final[tuple[Template, ...]] = (modulus, probability, derivative, logarithm)


def parabola(draw: random.Random, words: Words) -> PaperItem:
    """A parabola: zeros, vertex, area."""
    p, q = sorted(draw.sample(range(1, 9), 2))
    values = {"s": p + q, "t": p * q, "d": (q - p) ** 2}
    return PaperItem(
        filled(words["stem"], values),
        "free",
        parts=(
            ItemPart(words["first"], f"({p}, 0), ({q}, 0)", 2),
            ItemPart(filled(words["two"], values), "", 3),
            ItemPart(words["three"], _frac(Fraction((q - p) ** 3, 6)), 4),
        ),
        figure="curve",
    )


def solid(draw: random.Random, words: Words) -> PaperItem:
    """A right prism: length, volume."""
    a, b, h = draw.randint(2, 6), draw.randint(2, 6), draw.randint(3, 9)
    return PaperItem(
        filled(words["stem"], {"a": a, "b": b, "h": h}),
        "free",
        parts=(
            ItemPart(words["first"], f"$\\sqrt{{{a * a + b * b}}}$", 3),
            ItemPart(words["two"], _frac(Fraction(a * b * h, 2)), 4),
        ),
    )


def growth(draw: random.Random, words: Words) -> PaperItem:
    """A population that grows by a fixed share, with a table."""
    start, rate = 100 * draw.randint(2, 9), draw.choice([10, 20, 50])
    values = {"s": start, "r": rate}
    return PaperItem(
        filled(words["stem"], values),
        "free",
        parts=(
            ItemPart(words["first"], str(start * (100 + rate) // 100), 1),
            ItemPart(words["two"], f"${start}\\times{1 + rate / 100:g}^{{n}}$", 2),
            ItemPart(words["three"], "", 1),
        ),
        table=((words["head"], "0", "1", "2"), (words["number"], str(start), "", "")),
    )


FREE: Final[tuple[Template, ...]] = (parabola, solid, growth)
