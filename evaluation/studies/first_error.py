"""First wrong steps: critics of the process audit against experts' labels of solutions (MR-Ben).

A critic's first wrong step is the earliest one it quotes. A solution without a usable critique is undecided: it counts
against `accuracy_low` and for `accuracy_high`, and is in no coefficient.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from livek12.core.errors import UserError, explain_errors
from livek12.core.records import UNMARKED, Key, Option, Process, Question, Verdict
from livek12.core.statistics import binary_agreement
from livek12.evaluation.studies import Study, interval
from livek12.judges.llm.audit import Auditor, is_quoted
from livek12.judges.llm.prompts import Case


@dataclass(frozen=True)
class Solution:
    """A solution in steps with the experts' label; `first_error` counts from 1, None where all is right."""

    question: Question
    author: str
    steps: tuple[str, ...]
    first_error: int | None


def read_solutions(file: Path, warn: Callable[[str], None]) -> list[Solution]:
    """Solutions of an MR-Ben file (JSON: a mapping of lists, a list, or one object a line)."""
    solutions = []
    for number, row in enumerate(_rows(file), start=1):
        try:
            solutions.append(_solution(row, number))
        except (KeyError, TypeError, ValueError) as error:
            warn(f"{file.name}: solution {number}: passed over: {error!r}")
    if not solutions:
        raise UserError(f"{file}: no labelled solution; rows have Question, Model_Solution_Steps and its labels")
    return solutions


def _rows(file: Path) -> Iterator[Any]:
    with explain_errors(f"{file}: cannot be read:", "", UnicodeDecodeError):
        text = file.read_text(encoding="utf-8")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = [_line(line) for line in text.splitlines() if line.strip()]
    groups = data.values() if isinstance(data, dict) else [data]
    for group in groups:
        yield from group if isinstance(group, list) else [group]


def _line(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _solution(row: Any, number: int) -> Solution:
    steps = row["Model_Solution_Steps"]
    if not isinstance(steps, list) or not steps or not all(isinstance(step, str) for step in steps):
        raise ValueError("Model_Solution_Steps is no list of texts")
    steps = [step for step in steps if step.strip()]  # blank lines between steps are not numbered
    right = {"correct": True, "incorrect": False}[row["Model_Solution_Correctness"]]
    first = None if right else _position(int(row["Model_Solution_First_Error_Step"]), steps)
    key = str(row.get("Ground_Truth_Answer_Modified") or row.get("Ground_Truth_Answer") or "")
    lines = str(row.get("Options") or "").splitlines()
    options = [
        Option(label=label.strip(), text=text.strip()) for label, _, text in (x.partition(":") for x in lines) if text
    ]
    question = Question(
        id=f"{row.get('Question_UUID', 'solution')}/{number}",
        benchmark="livek12",
        language="en",
        subject=str(row.get("Subject") or ""),
        question_type="multiple_choice" if len(key) > 1 else "single_choice",
        question=str(row["Question"]),
        options=options,
        answer=[key] if key else [],
        solution=str(row.get("Ground_Truth_Analysis") or "") or None,
    )
    return Solution(question, str(row.get("Sampled_Model") or ""), tuple(steps), first)


def _position(number: int, steps: Sequence[str]) -> int:
    named = (place for place, step in enumerate(steps, 1) if re.match(rf"\s*step\s*{number}\b", step, re.IGNORECASE))
    place = next(named, number)
    if not 1 <= place <= len(steps):
        raise ValueError(f"first wrong step {number} of {len(steps)}")
    return place


def first_wrong_step(process: Process, judge: str, steps: Sequence[str]) -> int | None:
    """Earliest step quoted by a critic, from 1; None without an error."""
    places = [_place(error.step, steps) for error in process.errors if error.judge == judge]
    return min(places, default=None)


def _place(quotation: str, steps: Sequence[str]) -> int:
    for end in range(1, len(steps) + 1):
        if is_quoted(quotation, "\n".join(steps[:end])):
            starts = [
                number for number in range(1, end + 1) if is_quoted(quotation, "\n".join(steps[number - 1 : end]))
            ]
            return starts[-1]
    return len(steps)


def first_errors(
    solutions: Sequence[Solution], auditor: Auditor, threads: int, step: Callable[[], None]
) -> dict[str, Any]:
    """Audits the solutions and compares with the experts."""

    def audit(solution: Solution) -> Process | None:
        case = Case(solution.question.id, solution.question, "\n".join(solution.steps))
        first_steps = auditor.audit(_blank(solution), case, {solution.author} if solution.author else ()).process
        step()
        return first_steps

    with ThreadPoolExecutor(threads) as pool:
        processes = list(pool.map(audit, solutions))
    critics = sorted({critic for process in processes if process for critic in process.critics})
    judged = {
        critic: [_of_critic(p, critic, s) for s, p in zip(solutions, processes, strict=True)] for critic in critics
    }
    panel = [_of_panel(process, solution) for solution, process in zip(solutions, processes, strict=True)]
    return {
        "solutions": len(solutions),
        "with_errors": sum(solution.first_error is not None for solution in solutions),
        "panel": _measure(solutions, panel),
        "critics": {critic: _measure(solutions, first_steps) for critic, first_steps in judged.items()},
    }


UNDECIDED = -1
"""First wrong step of a solution without a readable critique."""


def _of_critic(process: Process | None, critic: str, solution: Solution) -> int | None:
    if process is None or critic not in process.critics:
        return UNDECIDED
    return first_wrong_step(process, critic, solution.steps)


def _of_panel(process: Process | None, solution: Solution) -> int | None:
    if process is None:
        return UNDECIDED
    steps = [first_wrong_step(process, critic, solution.steps) for critic in process.critics]
    wrong = [step for step in steps if step is not None]
    if 2 * len(wrong) == len(steps):
        return UNDECIDED
    if 2 * len(wrong) < len(steps):
        return None
    ranked = Counter(wrong).most_common(2)
    return UNDECIDED if len(ranked) > 1 and ranked[0][1] == ranked[1][1] else ranked[0][0]


def _measure(solutions: Sequence[Solution], first_steps: Sequence[int | None]) -> dict[str, Any]:
    """Wrong or not (Matthews' coefficient), and the exact step (over the wrong solutions)."""
    pairs = [(solution.first_error, step) for solution, step in zip(solutions, first_steps, strict=True)]
    decided = [(human, critic) for human, critic in pairs if critic != UNDECIDED]
    seen = binary_agreement([human is not None for human, _ in decided], [critic is not None for _, critic in decided])
    wrong = [(human, critic) for human, critic in pairs if human is not None]
    exact = sum(human == critic for human, critic in wrong)
    open_ = sum(critic == UNDECIDED for _, critic in wrong)
    return {
        "decided": len(decided),
        "undecided": len(pairs) - len(decided),
        "errors_seen": seen["true_accepts"],
        "errors_missed": seen["false_rejects"],
        "false_alarms": seen["false_accepts"],
        "accuracy": seen["accuracy"],
        "matthews": _matthews(seen["true_accepts"], seen["false_accepts"], seen["false_rejects"], seen["true_rejects"]),
        "step_accuracy_low": exact / len(wrong) if wrong else None,
        "step_accuracy_high": (exact + open_) / len(wrong) if wrong else None,
    }


def _matthews(tp: int, fp: int, fn: int, tn: int) -> float | None:
    spread = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return (tp * tn - fp * fn) / math.sqrt(spread) if spread else None


def _blank(solution: Solution) -> Verdict:
    key = Key(task="first-error", question_id=solution.question.id)
    return Verdict(key=key, state="ungraded", points=None, low=0, high=1, max_points=1, correct=None, judge=UNMARKED)


def sentences(result: Mapping[str, Any]) -> Iterator[str]:
    """Result in sentences."""
    yield f"{result['with_errors']} of {result['solutions']} solutions have a first wrong step that experts marked."
    for critic, seen in [("The panel", result["panel"]), *result["critics"].items()]:
        yield (
            f"{critic} decided {seen['decided']}: saw {seen['errors_seen']} wrong solutions, missed"
            f" {seen['errors_missed']}, raised {seen['false_alarms']} false alarms, and named the very step of"
            f" {interval(seen['step_accuracy_low'], seen['step_accuracy_high'])} of the wrong ones."
        )


STUDY = Study("first-error", sentences)
