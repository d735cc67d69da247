"""Formulas in what OCR read: signs as LaTeX, words and labels left alone."""

from __future__ import annotations

import pytest

from livek12.dataset_builders.ingest.scans.formulas import formulas

CASES = [
    ("1. 已知集合 A = {x|− 5 < x},则A∩ B=", "1. 已知集合 $A=\\{x|-5<x\\}$,则$A\\cap B=$"),
    (
        "A. 2√3π    B. √10    C. -1+i    D. [0, +∞)",
        "A. $2\\sqrt{3}\\pi$    B. $\\sqrt{10}$    C. $-1+i$    D. $[0,+\\infty)$",
    ),
    ("已知 sin α = 0.5, 求 cos α", "已知 $\\sin\\alpha=0.5$, 求 $\\cos\\alpha$"),
    ("2. Which of these words is well-known?", "2. Which of these words is well-known?"),
    ("本题共 8 小题，每小题 5 分，共 40 分", "本题共 8 小题，每小题 5 分，共 40 分"),
    ("若$\\frac{z}{z-1}$=1+i,则z=", "若$\\frac{z}{z-1}=1+i$,则$z=$"),
    ("(2024-06-07)", "(2024-06-07)"),
    ("a $ b", "a $ b"),
    ("已知x∈R，x²-2x-3<0的解集为", "已知$x\\in R$，$x^2-2x-3<0$的解集为"),
    ("x¹⁰ + a₁₂ > 0", "$x^{10}+a_{12}>0$"),
]


@pytest.mark.parametrize(("read", "written"), CASES)
def test_signs_become_latex(read: str, written: str) -> None:
    assert formulas(read) == written
