"""Notation that is no product of letters: derivatives, products of vectors, operators, matrices, labels, factors."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from livek12.judges.rules.algebra import Comparer
from livek12.judges.rules.latex import parse
from livek12.judges.rules.trees import Node, holds_opaque
from livek12.judges.rules.unknowns import settled
from livek12.judges.rules.values import value_of
from tests.judges.helpers import outcome


def said(gold: str, answer: str) -> str:
    return Comparer().compare(*settled(parse(gold), parse(answer)))[0]


ALIKE = [
    (r"m\frac{dv}{dt}+mg", r"mg + m\frac{d v}{d t}"), (r"\frac{dy}{dx}", "dy/dx"),
    (r"\frac{dy}{dx}", r"\frac{\mathrm{d}y}{\mathrm{d}x}"), (r"\frac{d^2y}{dx^2}", r"\frac{d^{2}y}{dx^{2}}"),
    (r"\frac{d^2s}{dt^2}", r"\ddot{s}"), (r"\frac{dy}{dx}=2x", "y'=2x"), ("y''+y", r"\frac{d^2y}{dx^2}+y"),
    (r"m\dot{v}", r"m\frac{dv}{dt}"),
    (r"-k\frac{\partial T}{\partial x}", r"-k\,\partial T/\partial x"), (r"m\ddot{x}+kx=0", r"kx+m\ddot x=0"),
    (r"\frac{\partial^2u}{\partial x\partial y}", r"\frac{\partial^2u}{\partial y\partial x}"),
    (r"\frac{d}{dx}(x^2+1)", r"\frac{d(1+x^2)}{dx}"), (r"\frac{\Delta v}{\Delta t}", r"\Delta v/\Delta t"),
    (r"\vec a\times\vec b", r"-\vec b\times\vec a"), (r"\vec a\cdot\vec b", r"\vec b\cdot\vec a"),
    (r"q(\vec E+\vec v\times\vec B)", r"q\vec E+q\vec v\times\vec B"),
    (r"2\vec a\times 3\vec b", r"6\vec a\times\vec b"),
    (r"(\vec a+\vec b)\cdot(\vec a-\vec b)", r"|\vec a|^2-|\vec b|^2"), (r"\vec a\cdot\vec a", r"\vec a^2"),
    (r"|\vec a+\vec b|^2", r"\vec a^2+2\vec a\cdot\vec b+\vec b^2"),
    (r"\mathbf{r}\times\mathbf{p}", r"\vec r\times\vec p"),
    (r"\frac{1}{2}\vec a-\vec b", r"-\vec b+\frac12\vec a"), (r"\hat r\cos\theta", r"\cos\theta\hat r"),
    (r"\sin\theta\hat\phi+\cos\theta\hat r", r"\hat r\cos\theta+\hat\phi\sin\theta"),
    (r"\mathbf{F}=m\mathbf{a}", "F=ma"),
    (r"\boldsymbol{x}=5", "x=5"), (r"\nabla\times\vec B", r"\nabla \times \vec{B}"),
    (r"E[X^2]-(E[X])^2", r"-E[X]^2+E(X^2)"), ("E(R+r)", "ER+Er"), ("Mg(L-d)", "MgL-Mgd"), ("P(1+r)^2", "P(r+1)^2"),
    (r"\operatorname{Var}(X)+\operatorname{Var}(Y)", r"\operatorname{Var}(Y)+\operatorname{Var}(X)"),
    ("A^{-1}B", "A^{-1} B"), ("n R T V^{-1}", r"\frac{nRT}{V}"),
    (r"\hat a^{\dagger}\hat a+\frac12", r"\frac12+\hat a^{\dagger}\hat a"),
    ("x+1", r"\boxed{(b)\ x+1}"), ("x+1", r"(ii)\;x+1"), ("x+1", r"$(b)\, x+1$"), ("x+1", "(b)~x+1"),
    ("x+1", r"\text{(b)} x+1"), (r"(b)\,x", "bx"), (r"(b)\ x+1", r"(b)\;1+x"),
    ("A^2+AB-BA-B^2", "(A-B)(A+B)"), ("AB+BA", "BA+AB"), (r"\frac{PV+VP}{V}", "2P"),
    ("(b) x+1", "x+1"), ("(a)(x+1)", "a(x+1)"), (r"3\times 2x", "6x"), (r"a\times b", "ab"), ("xd+D", "D+dx"),
    (r"\frac{\pi d^2}{4}", r"\pi(\frac{d}{2})^2"), (r"\frac{xd}{D}", r"\frac{dx}{D}"), (r"\frac{2d}{3d}", r"\frac23"),
]  # fmt: skip
DIFFERENT = [
    (r"m\frac{dv}{dt}", r"\frac{mv}{t}"), (r"\frac{d^2y}{dx^2}", r"\frac{y}{x^2}"), ("2x", r"\frac{d}{dx}x^2"),
    (r"\frac{\Delta v}{\Delta t}", r"\frac{v}{t}"), (r"\vec a\times\vec b", r"\vec a\cdot\vec b"),
    (r"\vec a\times\vec b", r"\vec b\times\vec a"), (r"(\vec a\cdot\vec b)\vec c", r"\vec a(\vec b\cdot\vec c)"),
    (r"\frac{\mathbf{r}}{r^3}", r"\frac{1}{r^2}"), (r"\frac{kq}{r^2}\hat r", r"\frac{kq}{r^2}"),
    ("E[X]^2", "E[X^2]"), ("E[X^2]-E[X]^2", "0"), ("P(A)P(B)", "P(AB)"), (r"\Gamma(n+1)", r"n\Gamma(n)"),
    ("A^{-1}B", "BA^{-1}"), ("ABA^{-1}", "B"), ("(AB)^{-1}", "A^{-1}B^{-1}"), ("A^TB", "BA^T"), ("A^TA", "AA^T"),
    (r"\mathbf{A}\mathbf{B}", r"\mathbf{B}\mathbf{A}"), (r"\hat x\hat p", r"\hat p\hat x"),
    (r"\hat a^{\dagger}\hat a", r"\hat a\hat a^{\dagger}"), (r"F^{\mu\nu}", r"F^{\nu\mu}"),
    (r"i\hbar", r"[\hat x,\hat p]"), (r"i\hbar L_z", "[L_x,L_y]"), ("0", "[A,B]"),
    (r"2i\hbar\hat p", r"[\hat x,\hat p^2]"),
    ("A^2-B^2", "A^2+AB-BA-B^2"), ("(A+B)^2", "A^2+2AB+B^2+AB-BA"), ("2AB", "AB+BA"), ("0", "AB-BA"),
    ("xf(x)", "x^2"), ("C_p - C_v = R", "R"), (r"8080g \text{N}", r"79184 \text{ N}"), ("(b) 3x", "(c) 3x"),
    ("det(AB)", "AB"), ("Tr(M)", "0"), ("Var(X)", "rX"),
    (r"\operatorname{tr}(AB)", r"\operatorname{tr}(A)\operatorname{tr}(B)"),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "answer"), ALIKE)
def test_what_is_alike_is_accepted(gold: str, answer: str) -> None:
    assert outcome(gold, answer) == "accept"


@pytest.mark.parametrize(("gold", "answer"), DIFFERENT)
def test_what_equals_only_itself_is_neither_accepted_nor_rejected(gold: str, answer: str) -> None:
    assert [outcome(gold, answer), outcome(answer, gold)] == ["undecided", "undecided"]


@pytest.mark.parametrize(
    ("gold", "answer"),
    [("5", "[1,5]"), ("5", "[0,T]"), ("5", "[a,b]"), ("x+1", r"(b)\ x+2"),
     (r"\frac12\vec a-\vec b", r"\frac12\vec a+\vec b"), (r"2\hat i+3\hat j", r"3\hat i+2\hat j"), ("P(1+r)", "P(1-r)"),
     (r"\vec a\cdot\vec b+1", r"\vec a\cdot\vec b-1"), ("(b) x+1", "bx+1"),
     (r"\frac{dy}{dx}=2x", r"\frac{dy}{dx}=3x"), (r"(1,\frac{dy}{dx})", r"(2,\frac{dy}{dx})")],
)  # fmt: skip
def test_what_is_plainly_different_beside_it_is_rejected(gold: str, answer: str) -> None:
    assert outcome(gold, answer) == "reject"


UNKNOWN = [
    r"\frac{dv}{dt}", r"\frac{d^2v}{dt^2}", r"\frac{\partial v}{\partial t}", "dv/dx", r"\frac{d}{dt}(v^2)",
    r"(\vec a\times\vec b)\cdot\vec c", r"\nabla^2 v", r"\nabla\cdot\vec v", "E[X]", "E[X^2]", "P(A)", r"\Gamma(v+1)",
    r"\operatorname{Var}(X)", r"\operatorname{erf}(v)", r"\det(A)", r"\psi(v)", r"\psi(t)",
]  # fmt: skip
"""Scalars of which nothing is known."""
PLAIN = ["v", "t", "2", "x^2", r"\sin v", r"\sqrt{t}", "(v+t)"]


def term(draw: random.Random, unknowns: list[str]) -> list[str]:
    """The factors of a product, the unknown ones in brackets of their own."""
    return [f"\\left({one}\\right)" for one in unknowns] + draw.choices(PLAIN, k=draw.randint(0, 2))


def written(draw: random.Random, terms: list[list[str]]) -> str:
    """A sum of products in any order."""
    return "+".join(r" \cdot ".join(draw.sample(factors, len(factors))) for factors in draw.sample(terms, len(terms)))


@pytest.mark.parametrize("seed", range(20))
def test_a_tree_of_unknown_nodes_equals_itself_alone(seed: int) -> None:
    draw = random.Random(seed)
    used = draw.sample(UNKNOWN, draw.randint(1, 3))
    terms = [term(draw, [one]) for one in used] + [["7"]]
    other = draw.choice([one for one in UNKNOWN if one not in used])
    replaced = [[f"\\left({other}\\right)", *terms[0][1:]], *terms[1:]]
    gold = written(draw, terms)
    assert said(gold, written(draw, terms)) == "accept"
    for wrong in (
        written(draw, replaced),
        written(draw, terms[1:]),
        "vt",
        "0",
        written(draw, [[*one, "x"] for one in terms]),
    ):
        assert [said(gold, wrong), said(wrong, gold)] == ["undecided", "undecided"]


LETTERS = st.sampled_from("vtxk").map(lambda name: ["sym", name])
NUMBERS = st.integers(1, 9).map(lambda number: ["num", str(number)])
HEADS = st.sampled_from(
    [
        "d / t",
        "d / x x",
        "partial / x y",
        "nabla ^1",
        "nabla times",
        "E()",
        "P()",
        "Var",
        "det",
        "erf",
        "at V",
        "mean E",
        "cross",
    ]
)


def _opaque(inner: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    parts = st.tuples(HEADS, inner, inner)
    return parts.map(lambda node: ["opaque", node[0], [node[1], node[2]] if node[0] == "cross" else [node[1]]])


TREES = st.recursive(
    st.one_of(LETTERS, NUMBERS, _opaque(st.one_of(LETTERS, NUMBERS))),
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: ["add", parts]),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: ["mul", parts]),
        inner.map(lambda node: ["neg", node]),
        inner.map(lambda node: ["pow", node, ["num", "2"]]),
        st.tuples(inner, LETTERS).map(lambda pair: ["div", *pair]),
        _opaque(inner),
    ),
    max_leaves=6,
)


def _turned(node: Any) -> Any:
    """The same tree with terms and factors in reverse."""
    if not isinstance(node, list):
        return node
    parts = [_turned(part) for part in node]
    return [parts[0], parts[1][::-1]] if parts[:1] in (["add"], ["mul"]) else parts


def _first_changed(node: Any) -> tuple[Any, bool]:
    """The tree with the first opaque node about another letter."""
    if not isinstance(node, list):
        return node, False
    if node[:1] == ["opaque"]:
        return ["opaque", "det", [["sym", "w"]]], True
    parts, changed = [], False
    for part in node:
        new, here = (part, False) if changed else _first_changed(part)
        parts.append(new)
        changed = changed or here
    return parts, changed


@settings(max_examples=60, deadline=None)
@given(TREES)
def test_random_trees_over_opaque_nodes_equal_only_what_is_alike(tree: Node) -> None:
    assume(holds_opaque(tree))
    assert Comparer().compare(*settled(tree, _turned(tree)))[0] != "reject"
    assert Comparer().compare(*settled(tree, tree))[0] == "accept"
    changed = _first_changed(tree)[0]
    assume(value_of(tree).expr != value_of(changed).expr)
    for wrong in (changed, ["add", [tree, ["opaque", "det", [["sym", "w"]]]]], ["sym", "w"]):
        for pair in ((tree, wrong), (wrong, tree)):
            assert Comparer().compare(*settled(*pair))[0] == "undecided"
