"""Verifiers to compare, in warm processes with empty caches.

math-verify and latex2sympy2_extended are stopped by SIGALRM, so they run in main threads. A response without an answer
counts as left open.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import resource
import signal
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from livek12.core.question_types import CHOICE_TYPES
from livek12.core.records import Key
from livek12.scripts.bench.labelled import BenchRow, question_of

WORKERS = 2
CHUNK = 8
SECONDS = 5
"""How long latex2sympy2_extended has for a row, which math-verify has by default for each of its steps."""
MEMORY = 4 * 2**30
"""What a process of latex2sympy2_extended may hold."""
Json = dict[str, Any]


@dataclass(frozen=True)
class SideAnswers:
    """One answer of a side: True, False, None (open); seconds; deciding stages."""

    said: bool | None
    seconds: float
    by: str = ""


# --- the rules ----------------------------------------------------------------------------------------------------

_cascade: Any = None


def _warm_ours() -> None:
    global _cascade  # noqa: PLW0603 (one cascade a process)
    from livek12.judges.cascade import default_cascade
    from livek12.judges.rules import pool

    pool._shared = pool.SymbolicPool(size=1)
    _cascade = default_cascade()
    _ours(BenchRow("", "", "short_answer", "en", "", "", ["(x+1)^2"], "x^2+2x+1", True))
    _ours(BenchRow("", "", "short_answer", "en", "", "", ["5 km"], "5000 m", True))


def _ours(row: BenchRow) -> SideAnswers:
    from livek12.judges.grade import GradingConfig, grade
    from livek12.tasks.extraction import extract
    from livek12.tasks.extraction.regions import spoken

    began = time.perf_counter()
    question = question_of(row)
    answers = extract(row.response, question, "stop").answers
    key = Key(task="bench", question_id="q")
    verdict = grade(question, key, answers, config=GradingConfig(), cascade=_cascade)
    seconds = time.perf_counter() - began
    silent = verdict.state == "no_answer" and spoken(row.response, question)
    answer = None if silent else verdict.correct
    return SideAnswers(answer, seconds, " and ".join(dict.fromkeys(part.decided_by for part in verdict.parts)))


def _our_processes() -> list[int]:
    from livek12.judges.rules.pool import shared_pool

    return [os.getpid(), *shared_pool().pids()]


# --- math-verify --------------------------------------------------------------------------------------------------


def _warm_math_verify() -> None:
    _math_verify(BenchRow("", "", "short_answer", "en", "", "$(x+1)^2$", [], "$x^2+2x+1$", True))


def _math_verify(row: BenchRow) -> SideAnswers:
    from math_verify import StringExtractionConfig, parse, verify

    from livek12.evaluation.other_verdicts import as_formula

    began = time.perf_counter()
    if row.question_type in CHOICE_TYPES:
        config = [StringExtractionConfig(strings=("A", "B", "C", "D", "E", "F"))]
        verdict = verify(parse("".join(row.extracted), config), parse(row.response, config))
    else:
        verdict = verify(parse(as_formula(row.gold)), parse(as_formula(row.response)))
    return SideAnswers(bool(verdict), time.perf_counter() - began)


# --- latex2sympy2_extended ----------------------------------------------------------------------------------------


def _warm_latex2sympy() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    _latex2sympy(BenchRow("", "", "short_answer", "en", "", "$(x+1)^2$", [], "$x^2+2x+1$", True))


def _stop(*_: object) -> None:
    raise TimeoutError


def _latex2sympy(row: BenchRow) -> SideAnswers:
    began = time.perf_counter()
    verdict: bool | None = None
    signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        if row.question_type not in {*CHOICE_TYPES, "true_false"}:
            verdict = _equal_trees(_last_formula(row.gold), _last_formula(row.response))
    except (Exception, RecursionError):
        verdict = None  # it raises bare exceptions
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return SideAnswers(verdict, time.perf_counter() - began)


def _equal_trees(gold: str, answer: str) -> bool:
    from latex2sympy2_extended import latex2sympy
    from sympy import Expr, simplify

    first, second = latex2sympy(gold), latex2sympy(answer)
    if first == second:
        return True
    if isinstance(first, Expr) and isinstance(second, Expr):
        return bool(simplify(first - second) == 0)
    return False


def _last_formula(text: str) -> str:
    formulas = re.findall(r"\\boxed\{.*\}|\$\$?[^$]+\$\$?|\\\(.+?\\\)|\\\[.+?\\\]", text)
    return str(formulas[-1]).strip("$") if formulas else text


# --- all of them --------------------------------------------------------------------------------------------------


def _only_this() -> list[int]:
    return [os.getpid()]


@dataclass(frozen=True)
class MeasuredVerifier:
    """A verifier: warm-up, decision on a row, and names of its processes."""

    warm: Callable[[], None]
    decide: Callable[[BenchRow], SideAnswers]
    processes: Callable[[], list[int]] = _only_this


SIDES = {
    "livek12": MeasuredVerifier(_warm_ours, _ours, _our_processes),
    "math-verify": MeasuredVerifier(_warm_math_verify, _math_verify),
    "latex2sympy2_extended": MeasuredVerifier(_warm_latex2sympy, _latex2sympy),
}


def _in_a_worker(side: str, rows: Sequence[BenchRow]) -> tuple[list[SideAnswers], dict[int, int]]:
    answered = [SIDES[side].decide(row) for row in rows]
    return answered, {process: _peak_kib(process) for process in SIDES[side].processes()}


def _peak_kib(process: int) -> int:
    try:
        match = re.search(r"VmHWM:\s*(\d+) kB", Path(f"/proc/{process}/status").read_text(encoding="ascii"))
    except OSError:
        return 0
    return int(match[1]) if match else 0


def run_side(rows: Sequence[BenchRow], side: str) -> Json:
    """Runs all rows through two warm processes."""
    chunks = [rows[start : start + CHUNK] for start in range(0, len(rows), CHUNK)]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(WORKERS, mp_context=context, initializer=SIDES[side].warm) as pool:
        list(pool.map(time.sleep, [1.0] * WORKERS))
        began = time.perf_counter()
        results = list(pool.map(partial(_in_a_worker, side), chunks))
        seconds = time.perf_counter() - began
    answered = [answer for part, _ in results for answer in part]
    peaks: dict[int, int] = {}
    for _, part in results:
        peaks = {process: max(kib, peaks.get(process, 0)) for process, kib in {**peaks, **part}.items()}
    slowest = max(range(len(rows)), key=lambda index: answered[index].seconds)
    return {
        "rows_per_second": len(rows) / seconds,
        "slowest_row": {"seconds": answered[slowest].seconds, "set": rows[slowest].set, "id": rows[slowest].id},
        "peak_mib": max(peaks.values()) / 1024,
        "answered": answered,
    }


def ours(rows: Sequence[BenchRow]) -> list[SideAnswers]:
    """Judgements of the rules on these rows."""
    _warm_ours()
    return [_ours(row) for row in rows]
