"""Token budgets as tasks: `TASK@R` asks what TASK asks, with requests limited to floor(R · budget_base) tokens.

Contract: R is a share from above 0 to 1, written the shortest way (`0.1`, `0.25`, `1`); prompts, extraction and
judging are those of TASK, and the model is not told of the limit. `limited(task, share).name` and the reading of that
name are inverse to each other. A task without budgets of its own (`Task.budgets`) has no base to take a share of.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal, InvalidOperation

from livek12.core.errors import UserError
from livek12.tasks.base import Task


def limited(task: Task, share: float) -> Task:
    """The task under a budget.

    Args:
        task: one that has budgets, under none yet.
        share: r of Acc≤r, 0 < r ≤ 1.

    Raises:
        UserError: the task has no budget base, is under a budget already, or the share allows no token.
    """
    if not task.budgets or task.budget is not None:
        why = "is under a budget already" if task.budgets else "has no token budgets: its article reports no Acc≤r"
        raise UserError(f"task {task.name} {why}")
    tokens = int(Decimal(_written(share)) * task.budget_base) if 0 < share <= 1 else 0
    if not tokens:
        raise UserError(
            f"budget {_written(share)}: give shares of {task.budget_base} tokens, such as 0.1,0.25,1 (above 0, up to 1)"
        )
    return replace(
        task,
        name=f"{task.name}@{_written(share)}",
        description=f"{task.description}: at most {tokens} completion tokens",
        budget=share,
        variant_of=task.name,
        differs=f"at most {tokens} completion tokens",
        sampling=task.sampling.model_copy(update={"max_tokens": tokens}),
    )


def parse_shares(text: str) -> list[float]:
    """The shares of a comma-separated list, each once, smallest first.

    Raises:
        UserError: one is no number.
    """
    shares = set()
    for piece in filter(None, map(str.strip, text.split(","))):
        try:
            shares.add(float(Decimal(piece)))
        except (InvalidOperation, ValueError, OverflowError):
            raise UserError(f"--budgets {text!r}: {piece!r} is no number; give shares such as 0.1,0.25,1") from None
    if not shares:
        raise UserError(f"--budgets {text!r}: names no share; give some such as 0.1,0.25,1")
    return sorted(shares)


def siblings(tasks: Iterable[Task]) -> list[list[Task]]:
    """The tasks in groups that ask the same questions with the same prompts, in the order of the first of each."""
    groups: dict[str, list[Task]] = {}
    for task in tasks:
        groups.setdefault(task.base_name, []).append(task)
    return list(groups.values())


def side_by_side(tasks: Iterable[Task]) -> list[list[Task]]:
    """The tasks in groups that are asked side by side: budgets of one task, and all that is derived from one."""
    groups: dict[str, list[Task]] = {}
    for task in tasks:
        groups.setdefault(task.asked_with, []).append(task)
    return list(groups.values())


def _written(share: float) -> str:
    return f"{share:.9g}"
