"""Tasks by name: members of families, sittings (`T@paper`), budgets (`T@0.1`), logs of other harnesses.

`TASK@paper` and `TASK@section` ask all questions of a paper, or of a section of it, in one request (`tasks.sheets`).

`TASK@R` limits TASK's requests to floor(R · budget_base) tokens, 0 < R ≤ 1 in its shortest form; the model does not see
the limit.

`log.NAME` is a task of another harness's log (`livek12 rejudge`), for marking only.
"""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import Final, cast

from livek12.core import benchmarks
from livek12.core.errors import UserError
from livek12.judges.base import NamedJudge
from livek12.tasks.base import Sitting, Task, prompt_files, prompt_name, task_modules
from livek12.tasks.families import EVERY, SIGN, Family, TaskSet


def limited(task: Task, share: float) -> Task:
    """Task under the budget `share`, the r of Acc≤r (0 < r ≤ 1).

    Raises:
        UserError: the task takes no budget, or the share allows no token.
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


SITTINGS: Final[dict[str, str]] = {
    "paper": "a whole paper in one request",
    "section": "a section of a paper in one request",
}
SHEET: Final = "sheet"
"""Style of the prompts for sheets, after the task's own."""


def sat(task: Task, sitting: str) -> Task:
    """Task with whole papers or sections in one request.

    Raises:
        UserError: it has no prompts for that, or is already asked otherwise.
    """
    if sitting not in SITTINGS:
        raise UserError(f"--sitting {sitting}: it is one of {', '.join(SITTINGS)}")
    style = "_".join(filter(None, (task.style, SHEET)))
    if task.derive or task.first_style or task.sitting or task.budget is not None or task.without_pictures:
        raise UserError(f"task {task.name} cannot be sat by {sitting}: its questions are asked in a way of their own")
    if not prompt_files(task.benchmark, style):
        raise UserError(
            f"task {task.name} cannot be sat by {sitting}: it has no prompts/{prompt_name('LANGUAGE', style)}"
        )
    return replace(
        task,
        name=f"{task.name}@{sitting}",
        description=f"{task.description}: {SITTINGS[sitting]}",
        sitting=cast("Sitting", sitting),
        style=style,
        published=None,
        variant_of=task.name,
        differs=SITTINGS[sitting],
    )


def parse_shares(text: str) -> list[float]:
    """Distinct shares of a comma-separated list, ascending."""
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
    """Groups tasks with the same questions and prompts."""
    groups: dict[str, list[Task]] = {}
    for task in tasks:
        groups.setdefault(task.base_name, []).append(task)
    return list(groups.values())


def side_by_side(tasks: Iterable[Task]) -> list[list[Task]]:
    """Groups tasks for joint runs: budgets and derived tasks."""
    groups: dict[str, list[Task]] = {}
    for task in tasks:
        groups.setdefault(task.asked_with, []).append(task)
    return list(groups.values())


def _written(share: float) -> str:
    return f"{share:.9g}"


PREFIX: Final = "log."
BENCHMARK: Final = "log"
"""The benchmark of logged questions; no data set has it."""
NO_PROMPT: Final = hashlib.sha256(b"").hexdigest()
"""The hash of a logged task's prompts, which are unknown."""
_NAME: Final = re.compile(r"log\.[\w.-]{1,120}", re.ASCII)


def logged_name(name: str) -> str:
    """Our name of a harness's task."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip("_.-")[: 120 - len(PREFIX)]
    return PREFIX + (plain or "task")


def is_logged(name: str) -> bool:
    """Checks whether a task comes from a log."""
    return _NAME.fullmatch(name) is not None


@cache
def logged_task(name: str) -> Task | None:
    """Logged task of that name."""
    if not is_logged(name):
        return None
    return Task(
        name=name,
        benchmark=BENCHMARK,
        configs=(),
        modality="text_only",
        description="answers from another harness's log",
        partial_credit="proportional",
        judge=NamedJudge("count"),
    )


def task_sets() -> tuple[TaskSet, ...]:
    """Task set of each benchmark, the newest first."""
    return _checked(benchmarks.named())


@cache
def _checked(included: str) -> tuple[TaskSet, ...]:
    owners: dict[str, str] = {}
    checked = []
    for name, module in task_modules().items():
        tasks = getattr(module, "TASKS", None)
        if not isinstance(tasks, TaskSet):
            raise UserError(f"benchmark {name}: {module.__file__} has no TASKS = TaskSet(...)")
        for task in (member for family in tasks.families for member in family.members()):
            if task.benchmark != name:
                raise UserError(f"benchmark {name}: its task {task.name} says benchmark={task.benchmark!r}; mend it")
            if owners.setdefault(task.name, name) != name:
                raise UserError(f"benchmarks {owners[task.name]} and {name} both have a task {task.name}; rename one")
        checked.append(tasks)
    return tuple(sorted(checked, key=lambda tasks: tasks.month, reverse=True))


def families() -> tuple[Family, ...]:
    """Every family in listing order."""
    return tuple(family for tasks in task_sets() for family in tasks.families)


def all_tasks() -> dict[str, Task]:
    """Listed tasks; more names are valid (releases, further members)."""
    return _listed(families())


@cache
def _listed(families: tuple[Family, ...]) -> dict[str, Task]:
    return {task.name: task for family in families for task in family.members()}


def disjoint() -> tuple[str, ...]:
    """Tasks that cover the benchmarks, disjoint by kind."""
    return tuple(name for tasks in task_sets() for name in tasks.disjoint)


def is_derived(name: str) -> bool:
    """Its questions are derived."""
    task = find_task(name)
    return task is not None and task.derive is not None


def find_task(name: str) -> Task | None:
    """Task of that name, listed or not."""
    if name in all_tasks():
        return all_tasks()[name]
    if is_logged(name):
        return logged_task(name)
    base, at, share = name.rpartition("@")
    if at:
        return _sat(base, share) if share in SITTINGS else _budgeted(base, share, name)
    base, colon, word = name.partition(SIGN)
    if colon:
        task = find_task(base)
        return _derived(task).get(word) if task else None
    return next((task for family in families() if (task := family.member(name))), None)


def derived_tasks(task: Task) -> list[Task]:
    """Derived tasks in the benchmark's order."""
    return list(_derived(task).values())


def _derived(base: Task) -> dict[str, Task]:
    if base.derive or base.budget is not None:  # a budget comes last: TASK:WORD@R
        return {}
    named = _checked(benchmarks.named())
    of = next((tasks for tasks in named if tasks.families[0].base.benchmark == base.benchmark), None)
    return {each.word: each.task(base) for each in (of.diagnostics if of else ()) if each.of(base)}


def variants(task: Task) -> list[tuple[str, str]]:
    """Tasks with comparable marks, each with the difference.

    The original of a variant with the same key, and of a budget also those under the same budget.
    """
    comparable = task.variant_of and (task.budget is not None or not task.own_key)
    pairs = [(task.variant_of, task.differs)] if comparable else []
    if task.budget is not None and (whole := find_task(task.base_name)):
        pairs += [(f"{name}@{task.budget:.9g}", differs) for name, differs in variants(whole)]
    return pairs


def way_of(task: Task) -> str:
    """Differences from the standard task, or ""."""
    base = find_task(task.variant_of) if task.variant_of else None
    return ", ".join(filter(None, (way_of(base) if base else "", task.differs)))


def default_trials(tasks: Iterable[Task]) -> int:
    """Default answers to each question."""
    wanted: dict[int, str] = {}
    for task in tasks:
        wanted.setdefault(task.trials, task.name)
    if len(wanted) > 1:
        listed = " and ".join(f"{name} asks {trials}" for trials, name in wanted.items())
        raise UserError(f"a run has one number of trials, but {listed}: give --trials N, or make two runs")
    return next(iter(wanted), 1)


def _named(name: str) -> list[Task]:
    if is_logged(name):
        raise UserError(f"task {name} is of another harness's log and cannot be asked here: see `livek12 rejudge`")
    base, colon, word = name.partition(SIGN)
    if colon and word == EVERY and (derived := derived_tasks(get_task(base))):
        return derived
    return [get_task(name)]


def _sat(base: str, sitting: str) -> Task | None:
    task = find_task(base)
    try:
        return sat(task, sitting) if task else None
    except UserError:
        return None


def _budgeted(base: str, share: str, name: str) -> Task | None:
    try:
        task = find_task(base)
        limited_task = limited(task, parse_shares(share)[0]) if task else None
    except UserError:
        return None
    return limited_task if limited_task and limited_task.name == name else None


def get_task(name: str) -> Task:
    """Task of that name."""
    if task := find_task(name):
        return task
    base, at, share = name.rpartition("@")
    if share in SITTINGS:
        return sat(get_task(base), share)
    if at:
        meant = limited(get_task(base), parse_shares(share)[0])
        raise UserError(f"unknown task {name!r}: did you mean {meant.name}?")
    base, colon, _ = name.partition(SIGN)
    if colon:
        words = ", ".join(task.name for task in derived_tasks(get_task(base))) or "none"
        raise UserError(f"unknown task {name!r}: the derived tasks of {base} are {words}")
    sorted_name = next((candidate for family in families() if (candidate := family.sorted_name(name))), None)
    near = [sorted_name] if sorted_name else difflib.get_close_matches(name, all_tasks(), n=3, cutoff=0.5)
    hint = f"did you mean {', '.join(near)}?" if near else "see `livek12 tasks`; --include FOLDER adds a benchmark"
    raise UserError(f"unknown task {name!r}: {hint}")


def with_budgets(names: str, budgets: str) -> str:
    """Task names under each of the budgets (shares, comma-separated).

    Raises:
        UserError: an unknown task, a task without budgets, or an invalid share.
    """
    if not budgets:
        return names
    shares = parse_shares(budgets)
    return ",".join(limited(task, share).name for task in get_tasks(names) for share in shares)


def with_sitting(names: str, sitting: str) -> str:
    """Task names with whole papers or sections in one request; "" or "one" leaves them.

    Raises:
        UserError: an unknown task or sitting, or an unsuitable task.
    """
    if sitting in ("", "one"):
        return names
    return ",".join(sat(task, sitting).name for task in get_tasks(names))


def get_tasks(names: str) -> list[Task]:
    """Tasks of a comma-separated list; `BASE:all` are all derived ones of BASE."""
    each = [task for name in names.split(",") if name.strip() for task in _named(name.strip())]
    chosen = {task.name: task for task in each}
    if not chosen:
        raise UserError("no task named: give --task NAME[,NAME]; see `livek12 tasks`")
    return list(chosen.values())
