"""Seeded rows like those of a training step: prompts with several completions, half of them right.

Hostile completions grow without bound, nest without end, or look like code.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final

Json = dict[str, Any]
COMPLETIONS: Final = 8
"""Of one prompt, as in group-relative training."""
WORDS: Final = (
    "first we write what is given and then we look for what is asked so the next step follows from the last one which "
    "means that both sides have to be equal therefore we take the sum of all terms and check the result once more"
).split()
HOSTILE: Final = (
    "9^{9^{9^{9^9}}}", "99999999!", "{" * 300_000, r"\frac{1}{" * 3000 + "2" + "}" * 3000, "-" * 1900 + "1",
    r"\sqrt[10^9]{5}", "(((x+y)^{99}+z)^{99}+w)^{99}", r"\sin(10^{999})", "+".join(["x"] * 900), "x=" * 500,
    "__import__('os').abort()", r"\newcommand{\x}{\x\x}\x" * 300, "<answer>" * 20_000, "\x00\ud800" * 500,
    r"\lfloor e^{e^{e^9}} \rfloor", r"\begin{pmatrix}" + r"\\".join(["&".join(["x+1"] * 30)] * 30) + r"\end{pmatrix}",
    r"\sum_{n=1}^{\infty}" * 300, "1" * 100_000, r"\int_0^x " * 300 + "x", r"\log_{2^{999}}(3^{999})",
)  # fmt: skip
DEAR: Final = (
    "(x+1)^2+" + "+".join(f"|x^{{{n}}}-y^{{{n}}}|" for n in range(1, 45)),
    "+".join(f"|y^{{{n}}}-x^{{{n}}}|" for n in range(1, 45)) + "+x^2+2x+1",
)
"""A key and an answer that cannot be compared within the limits."""


def _polynomial(draw: Random) -> tuple[Json, str, str]:
    a, b = draw.randint(2, 99), draw.randint(2, 99)
    return {"gold": f"(x+{a})(x-{b})"}, f"x^2+{a - b}x-{a * b}".replace("+-", "-"), f"x^2+{a + b}x-{a * b}"


def _fraction(draw: Random) -> tuple[Json, str, str]:
    a, b = draw.randint(2, 99), draw.randint(2, 99)
    return {"gold": rf"\frac{{x^2-{a * a}}}{{x-{a}}}+{b}"}, f"x+{a + b}", f"x-{a}+{b}"


def _trigonometric(draw: Random) -> tuple[Json, str, str]:
    a = draw.randint(2, 999)
    return {"gold": rf"{a}\sin(2x)"}, rf"{2 * a}\sin x\cos x", rf"{a}\sin x\cos x"


def _root(draw: Random) -> tuple[Json, str, str]:
    a, b = draw.randint(2, 30), draw.choice([2, 3, 5, 7, 11, 13])
    return {"gold": rf"{a}\sqrt{{{b}}}+n"}, rf"n+\sqrt{{{a * a * b}}}", rf"n+\sqrt{{{a * b}}}"


def _interval(draw: Random) -> tuple[Json, str, str]:
    a, b = draw.randint(1, 99), draw.randint(100, 999)
    return {"gold": f"[{a}, {b})"}, rf"{a} \le x < {b}", f"({a}, {b})"


def _number(draw: Random) -> tuple[Json, str, str]:
    a = draw.randint(10, 99_999)
    return {"gold": str(a)}, str(a), str(a + draw.randint(1, 9))


def _unit(draw: Random) -> tuple[Json, str, str]:
    a = draw.randint(2, 999)
    return {"gold": f"{a} km"}, f"{1000 * a} m", f"{100 * a} m"


def _choice(draw: Random) -> tuple[Json, str, str]:
    right, wrong = draw.sample("ABCD", 2)
    options = {label: f"{draw.randint(1, 9999)} m/s" for label in "ABCD"}
    return {"gold": right, "question_type": "single_choice", "options": options}, right, wrong


def _blanks(draw: Random) -> tuple[Json, str, str]:
    a, b = draw.randint(2, 99), draw.randint(100, 999)
    return {"gold": [str(a), str(b)], "question_type": "fill_in_blank"}, f"{a}; {b}", f"{a}; {b + 1}"


def _word(draw: Random) -> tuple[Json, str, str]:
    right, wrong = draw.sample(["heat", "light", "oxygen", "gravity", "friction", "carbon dioxide"], 2)
    return {"gold": right}, right, wrong


KINDS: Final[dict[str, tuple[Callable[[Random], tuple[Json, str, str]], ...]]] = {
    "symbolic": (_polynomial, _fraction, _trigonometric, _root, _interval),
    "ordinary": (_number, _unit, _choice, _blanks, _word),
}


def step(
    count: int,
    hostile: float,
    seed: int,
    kinds: tuple[str, ...] = ("symbolic", "ordinary"),
    completions: int = COMPLETIONS,
) -> list[Json]:
    """`count` rows with a `hostile` share, in groups of `completions`."""
    draw = Random(seed)
    makers = [maker for kind in kinds for maker in KINDS[kind]]
    rows: list[Json] = []
    while len(rows) < count:
        row, right, wrong = makers[len(rows) // completions % len(makers)](draw)
        for _ in range(completions):
            gold, answer = row["gold"], draw.choice([right, wrong])
            if draw.random() < hostile:
                gold, answer = draw.choice([DEAR, *((gold, text) for text in HOSTILE)])
            rows.append({**row, "gold": gold, "response": f"{_thoughts(draw)}\n\nThe answer is \\boxed{{{answer}}}."})
    return rows[:count]


def _thoughts(draw: Random) -> str:
    thoughts = [" ".join(draw.choices(WORDS, k=draw.randint(20, 60))) for _ in range(draw.randint(1, 5))]
    return "\n\n".join(f"{text}, where ${draw.randint(1, 99)}x+{draw.randint(1, 99)}=0$." for text in thoughts)
