"""The second reader: used where it is installed, accepts only what our comparison accepts, and evaluates no text."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from livek12.judges.cascade import rules_digest
from livek12.judges.grade import GradingConfig, judge_version
from livek12.judges.rules import second_reader
from tests.judges.helpers import outcome

INSTALLED = bool(second_reader.version())
ACCEPTED = r"""
\max(2,5) @ 5
\gcd(12,18) @ 6
\operatorname{lcm}(4,6) @ 12
\sum_{k=1}^{10}k^2 @ 385
\sum_{k=1}^{3} x^k @ x+x^2+x^3
x+x^2+x^3 @ \sum_{k=1}^{3} x^k
\sum_{k=1}^{3} k+1 @ 7
\max(x,20) @ \frac{x+20+|x-20|}{2}
\min(a,b) @ \min(b,a)
"""
NOT_ACCEPTED = r"""
5 @ \max(2,5)
6 @ \gcd(12,18)
1 @ \gcd(m,9)
\gcd(m,9) @ 1
\operatorname{lcm}(a,b) @ ab
5 @ \max(2,6)
386 @ \sum_{k=1}^{10}k^2
\max(x,20) @ 20
\max(x,20) @ x
\min(a,b) @ \max(a,b)
9 @ \sum_{k=1}^{3} k+1
1 @ \prod_{k=1}^{60} k^{9999}
2 @ \gcd(2^{99999999},2)
1 @ \sum_{k=1}^{100000000} k
1 @ \max(x^{9999999},1)
"""
NOT_FOR_IT = [
    "Becker", "odd", "the sum is 5", r"\max(1.5,2)", r"\max(1/2x,2)", r"\text{max}(2,5)", r"|\max(2,5)|", "x+1",
    r"\max(__import__('os'))", r"\max(" + "9" * 40 + ")", "\\max(" + "(" * 300,
]  # fmt: skip


def lines(table: str) -> list[tuple[str, str]]:
    return [(line.partition(" @ ")[0], line.partition(" @ ")[2]) for line in table.strip().splitlines()]


@pytest.mark.skipif(not INSTALLED, reason="latex2sympy2_extended is not installed")
@pytest.mark.parametrize(("gold", "answer"), lines(ACCEPTED))
def test_what_only_the_second_reader_reads_is_accepted(gold: str, answer: str) -> None:
    assert outcome(gold, answer) == "accept"


@pytest.mark.parametrize(("gold", "answer"), lines(NOT_ACCEPTED))
def test_and_never_rejected_by_it_nor_accepted_wrongly(gold: str, answer: str) -> None:
    assert outcome(gold, answer) == "undecided"


@pytest.mark.parametrize("text", NOT_FOR_IT)
def test_what_it_reads_otherwise_than_we_do_is_not_given_to_it(text: str) -> None:
    assert not second_reader.may_read(text)


def test_the_version_says_whether_it_is_used() -> None:
    named = second_reader.LIBRARY in rules_digest(), second_reader.LIBRARY in judge_version(GradingConfig())
    assert named == (INSTALLED, INSTALLED)


@pytest.mark.skipif(not INSTALLED, reason="latex2sympy2_extended is not installed")
def test_no_text_is_evaluated_once_it_has_read(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    code = f"""
import sympy
from livek12.judges.rules.second_trees import second_reading
print(second_reading(r"\\max(2,5)"))
try:
    sympy.sympify("__import__('pathlib').Path({str(marker)!r}).touch()")
except Exception as error:
    print("refused", type(error).__name__)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "refused" in done.stdout
    assert not marker.exists()


def test_the_caller_imports_neither_it_nor_sympy() -> None:
    code = "import sys, livek12.judges.rules.symbolic; assert not {'sympy', 'antlr4'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
