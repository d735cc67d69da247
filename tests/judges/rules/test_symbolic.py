"""Symbolic equality: what is the same is accepted, what differs rejected, the rest left alone."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livek12.judges.rules.latex import parse
from livek12.judges.rules.tokens import Unparsable
from tests.judges.helpers import outcome

ACCEPT = [
    ("a=1, b=2", "1, 2"), ("(A): 3, (B): 5", "3, 5"), ("(A): 3, (B): 5", "(B): 5, (A): 3"), ("x=1, x=2", "2, 1"),
    (r"\frac{\sqrt{66}}{6}", r"\sqrt{\frac{11}{6}}"), (r"\sqrt[3]{\dfrac{3}{2}}", r"\frac{\sqrt[3]{12}}{2}"),
    (r"\frac{3\pi}{2}", "3π/2"), ("2√3", r"\sqrt{12}"), (r"\sqrt3/2", r"\frac{\sqrt{3}}{2}"), ("(x+1)^2", "x^2+2x+1"),
    (r"2\sin x\cos x", r"\sin 2x"), (r"\tan^2(y)+1", r"\sec^2(y)"), (r"\sin^2 x+\cos^2 x", "1"), (r"\ln 2", "ln(2)"),
    (r"\log_2 8", "3"), (r"\lg 100", "2"), (r"\frac{(n-1)!}{k!}\frac{n}{(n-k)!}", r"\binom{n}{k}"), ("5!", "120"),
    (r"2 \arcsin \sqrt{a}", r"\arccos(1-2a)"), (r"e^{-x}", r"\frac{1}{e^x}"), (r"x^{\frac12}", r"\sqrt{x}"),
    (r"\frac{q_0}{\sqrt{2LC}}", r"\frac{q_{0}}{\sqrt{2 C L}}"), (r"a=\frac12\hbar\omega_{L}^{\prime}\frac vc",
    r"\frac{\hbar v \omega_L'}{2c}"), (r"\dfrac{3\pi}{4}", r"135^\circ"), ("1-i", "-i+1"), (r"|{-3}|", "3"),
    (r"\theta=\dfrac{3\pi}{2}", "3π/2"), ("f(x)=2 x", "f(t)=2t"), ("x=1", "1"), (r"|AB|=\sqrt2", r"\sqrt{2}"),
    (r"\cos A=\frac13", r"\frac{1}{3}"), ("(p,q)=(3,2)", "(3,2)"), (r"E[X]=-\dfrac1{21}", r"-\frac{1}{21}"),
    (r"x=\frac{6}{4}=\frac32\approx1.5", "1.5"), ("离心率为√2", r"\sqrt 2"),
    ("3,1,2", r"\{1,2,3\}"), (r"1 \pm \sqrt{19}", r"1+\sqrt{19}, 1-\sqrt{19}"), ("x=1 或 x=2", "2, 1"),
    ("x_1=-2, x_2=3", "x_2=3, x_1=-2"),
    ("(2,1),(3,1)", "(3,1), (2,1)"), (r"(1) $\frac12$; (2). $\ln 2$", r"\frac{1}{2}; \ln 2"),
    ("7:32", "14:64"), ("20:3", r"\frac{20}{3}"),
    (r"(-\infty,1]\cup[10,+\infty)", r"x\le 1 \text{ or } x\ge 10"), ("x>5", "5<x"), ("x < 1", "-x > -1"),
    ("(-4, 0]", r"-4<m\leq0"), (r"\{x|-2<x<3\}", "(-2,3)"), ("a ≠ 2", r"a \neq 2"), (r"[\frac{1}{2}, 8]",
    "0.5 ≤ x ≤ 8"),
    (r"x\in[-2,7]", "[-2, 7]"), (r"\mathbb{R}", r"(-\infty,+\infty)"),
    ("x^2+y^2=1", "1-x^{2}-y^{2}=0"), ("2x+4y-3=0", r"y=-\frac{1}{2}x+\frac{3}{4}"), ("y=-8(x-3)", "-8x+24"),
    (r"\begin{pmatrix} 1/5 \\ -18/5 \end{pmatrix}", r"\begin{bmatrix} 0.2 \\ -3.6 \end{bmatrix}"),
    (r"\begin{pmatrix}-2&1\\1&0\end{pmatrix}", r"A^{-1}=-\begin{bmatrix}2&-1\\-1&0\end{bmatrix}"),
    (r"\begin{pmatrix}6&8\\10&12\end{pmatrix}",
    r"\begin{pmatrix}1&2\\3&4\end{pmatrix}+\begin{pmatrix}5&6\\7&8\end{pmatrix}"),
    (r"\cos ^{10}(\frac{\pi}{10})", "0.6054"), (r"\sqrt2", "1.4142"), (r"41.4\%", r"\sqrt{2}-1"),
    (r"\varnothing", r"\emptyset"), (r"\varnothing", "空集"), ("공집합", "∅"), (r"(-1)^n", r"\cos n\pi"),
    (r"\{1,2\},\{3\}", r"\{3\},\{2,1\}"), (r"x=k\pi", r"n\pi"),
    (r"x = k\pi+\frac{\pi}{4}, k\in\mathbb{Z}", r"k\pi-\frac{3\pi}{4}\ (k\in Z)"),
    (r"\frac{\sqrt{3}}{2}\text{ m}", r"\frac{\sqrt{3}}{2}\,\mathrm{m}"), (r"\vec{a}+\vec{b}", r"\vec b+\vec a"),
    (r"\boldsymbol{\frac{1}{3}}", "1/3"), (r"\\frac{1}{3}", r"\frac13"), ("1.5 + 5.5(-1)^n",
    r"\dfrac{3 + 11(-1)^n}{2}"), (r"n2^{n-1}", r"n\cdot 2^{n-1}"), (r"$N2^{-N}$", "N / 2^N"),
    ("n(n+1)2^{n-2}", r"2^{n-2}n(n+1)"),
]  # fmt: skip
REJECT = [
    ("a=1, b=2", "1, 3"), ("(A): 3, (B): 5", "(A): 3, (B): 6"), ("(A): 3, (B): 5", "(B): 3, (A): 5"),
    (r"\frac{\sqrt{66}}{6}", r"\frac{\sqrt{65}}{6}"), (r"\sqrt2", "1.5"), ("(x+1)^2", "x^2+2x+2"), ("4",
    r"4\sqrt{2}"),
    (r"2\sin x", r"\sin 2x"), (r"\ln 2", r"\ln 3"), ("x=1", "x=2"), ("f(x)=2x", "f(t)=3t"), ("1,2,3", "1,2,4"),
    (r"1\pm\sqrt{19}", r"1\pm\sqrt{17}"), ("(1,2)", "(1,3)"), ("(1,2)", "(2,1)"), ("x>5", "x<5"), ("(-4,0]",
    "-4<m≤4"),
    (r"(0,1)\cup(2,3)", r"(0,1)\cup(2,4)"), ("x^2+y^2=1", "x^2-y^2=1"), ("x^2+y^2=1", "x^2+y^2=2"), ("2x+y=1",
    "2x-y=1"),
    (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", r"\begin{pmatrix}1&2\\3&5\end{pmatrix}"), ("7:32", "7:33"),
    (r"\dfrac{3\pi}{4}", r"120^\circ"), ("1-i", "1+i"), (r"2^{k-n}", r"2^{k-n+1}"), (r"1.5+5.5(-1)^n",
    r"\frac{3n+11(-1)^{n+1}}{2}"),
    ("x_1=1,x_2=2", "x_1=2,x_2=3"), (r"\{1,2\},\{3\}", r"\{1,5\},\{2,3\}"), (r"\sqrt2", "1.49"),
    ("(3,5)", "(-\\infty,5)"), ("n2^{n-1}", "n2^n"),
]  # fmt: skip
UNDECIDED = [
    ("[3, 5]", "3, 5"), ("[1, -1]", "1 and -1"),
    ("a=1, b=2", "2, 1"), ("(A): 3, (B): 5", "5, 3"), ("Paolo: 18, Qing: 14", "14, 18"),
    (r"\sqrt{x^2}", "x"), ("2x", "2y"), ("x=1", "y=1"),
    ("5", "5, 7"),
    (r"\log x", r"\lg x"), ("0<f(x)<1", "0<x<1"), ("x>5", "y>5"),
    ("AB", "BA"), (r"k\pi+\frac{\pi}{4}", r"k\pi-\frac{3\pi}{4}"), (r"f(x+y)", "f(x)+f(y)"),
    ("n+1", "k+1"),
    (r"\sqrt3", "1.7"), (r"\frac{1}{2x}", "1/2x"), (r"\int_0^1 x dx", "1/2"), ("free group", "abelian group"),
    ("sad", "das"),
    ("5 m", r"\sqrt{25}\text{ cm}"), (r"x^2=4", "x=2"), (r"2\sqrt3\text{ m}", r"2\sqrt3"), (r"\frac{x}{0}", "x"),
    (r"\ln|x|+C", r"\ln x+C"), (r"\ln|x|", r"\ln x"), (r"\ln x", r"\ln|x|"), (r"\sqrt{x}", r"\sqrt{|x|}"),
    (r"y=\ln|x|", r"y=\ln x"), (r"y-\ln|x|=0", r"y=\ln x"),
    ("3", "3:1"), ("x_1=1,x_2=2", "x_1=2,x_2=1"), ("a2^n", "2a^n"),
    ("y=2x", "y'=2x"), ("u_t=ku_{xx}", "u_{tt}=ku_{xx}"),
    ("C", r"-\frac14\ln|x|+C"), ("B", "[4, -4]"),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "answer"), ACCEPT)
def test_accepts_what_is_equal(gold: str, answer: str) -> None:
    assert outcome(gold, answer) == "accept"


@pytest.mark.parametrize(("gold", "answer"), REJECT)
def test_rejects_what_is_demonstrably_different(gold: str, answer: str) -> None:
    assert outcome(gold, answer) == "reject"


@pytest.mark.parametrize(("gold", "answer"), UNDECIDED)
def test_leaves_the_rest_to_a_reader(gold: str, answer: str) -> None:
    assert outcome(gold, answer) == "undecided"


@pytest.mark.parametrize(
    "text", ["", "hello world", "1/2x", r"\int", "{", "(1", "1)", r"\frac{1}", "2 3", r"\unknown", "x^", "*",
    "ABC", "=", "1=", "__x", r"\angle"]
)  # fmt: skip
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(Unparsable):
        parse(text)


_PIECES = r"""
\frac \sqrt \angle \vec \hat \dot \overline \int \sum \lim \to \log \sin \nabla \partial \triangle \left( \right)
\begin{cases} \end{cases} { } ( ) [ ] _ ^ | ' ! % & \\\\ / = + - , ; 2 x AB d n2
\cdot \times \in \pm \infty \mathrm{m} \text{a}
""".split()


@given(st.lists(st.sampled_from(_PIECES), max_size=8).map(" ".join))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(Unparsable):
        parse(text)
