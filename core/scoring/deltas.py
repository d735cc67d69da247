"""Two ways of asking the same questions: every Δ, on all shared questions and on each value of each axis.

Contract: a Δ is the variant minus what it is a variant of, question by question: a question of the variant is paired
with the one of the same id, else with the one it was made from (`SlimQuestion.source`); translations by the question
that they translate. Several that were made from one question count as its trials; points and axes are those of the
base. Only questions that both sides have enter; how many do not is said. Numbers, intervals and tests are those of
`compare` (exact McNemar, else sign flips); the p of one metric are adjusted over the values of each axis (Holm).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from livek12.core.scoring.answers import Table, tabulate
from livek12.core.scoring.comparison import adjust, paired
from livek12.core.scoring.groups import question_groups
from livek12.core.scoring.outcomes import Outcome, SlimQuestion
from livek12.core.scoring.schema import Delta, DeltaGroup, Pair, Parameters, Profile

MOST_GROUPS = 200
"""An axis with more values (papers) has no Δ for each."""


@dataclass(frozen=True)
class Counterpart:
    """What a task is compared with.

    Attributes:
        base: its name.
        tasks: those of the run that ask as it does: itself, or tasks for parts of its questions.
        differs: what differs from it, in words.
    """

    base: str
    tasks: tuple[str, ...]
    differs: str


def task_deltas(
    by_task: Mapping[str, Sequence[Outcome]],
    beside: Mapping[str, Sequence[Counterpart]],
    profile: Profile,
    parameters: Parameters,
) -> list[Delta]:
    """Δ of each task to each task that it is a variant of, where they share questions."""
    found = []
    for task, bases in beside.items():
        for base in bases:
            rows = [row for name in base.tasks for row in by_task.get(name, ())]
            if task in by_task and rows:
                found.append(delta(task, by_task[task], base.base, rows, base.differs, profile, parameters))
    return [each for each in found if each is not None]


def language_deltas(
    by_task: Mapping[str, Sequence[Outcome]], alike: Iterable[Sequence[str]], profile: Profile, parameters: Parameters
) -> list[Delta]:
    """Δ between the languages of the questions that were asked in several, over tasks that ask alike.

    Args:
        by_task: the answers.
        alike: groups of tasks that differ in nothing but the questions they choose.
        profile: which formulas.
        parameters: their constants.
    """
    found = []
    for tasks in alike:
        spoken: defaultdict[str, list[Outcome]] = defaultdict(list)
        for task in tasks:
            for row in by_task.get(task, ()):
                for language in row.question.on("language"):
                    spoken[language].append(row)
        for one, other in combinations(sorted(spoken), 2):
            names = "+".join(task for task in tasks if task in by_task)
            sides = (f"{names} in {one}", spoken[one], f"{names} in {other}", spoken[other])
            found.append(delta(*sides, f"{one} instead of {other}", profile, parameters, original_id))
    return [each for each in found if each is not None]


def own_id(question: SlimQuestion) -> str:
    """The id of a question."""
    return question.id


def original_id(question: SlimQuestion) -> str:
    """The id of the question that this one translates, else its own."""
    return question.translates or question.id


def delta(
    task: str,
    of_task: Iterable[Outcome],
    base: str,
    of_base: Iterable[Outcome],
    differs: str,
    profile: Profile,
    parameters: Parameters,
    key: Callable[[SlimQuestion], str] = own_id,
) -> Delta | None:
    """The Δ of two sets of answers; None where they share no question.

    Args:
        task: the name of the variant.
        of_task: its answers.
        base: the name of the other.
        of_base: its answers.
        differs: what differs, in words.
        profile: which formulas.
        parameters: their constants.
        key: the id by which questions are paired; those of the variant without a partner, by that of their source.
    """
    base_rows = _once(of_base, key)
    known = {id: rows[0].question for id, rows in base_rows.items()}
    rows = _once(of_task, lambda question: own if (own := key(question)) in known else question.source)
    shared = sorted(known.keys() & rows.keys())
    if not shared:
        return None
    a, b = (tabulate(_as_one(side, known, shared)) for side in (base_rows, rows))
    whole = paired(a, b, profile, parameters)
    groups = {
        axis: _groups(a, b, values, profile, parameters)
        for axis, values in question_groups(a.questions).items()
        if 1 < len(values) <= MOST_GROUPS
    }
    return Delta(
        task=task,
        base=base,
        differs=differs,
        shared=len(shared),
        only_task=len(rows) - len(shared),
        only_base=len(base_rows) - len(shared),
        metrics=whole["metrics"],
        groups=groups,
    )


def _groups(
    a: Table, b: Table, values: Mapping[str, Sequence[int]], profile: Profile, parameters: Parameters
) -> dict[str, DeltaGroup]:
    pairs: dict[str, Pair] = {}
    for value, questions in values.items():
        ids = {a.questions[index].id for index in questions}
        one, other = (tabulate(row for row in table.rows if row.question.id in ids) for table in (a, b))
        pairs[value] = paired(one, other, profile, parameters)
    adjust(pairs.values())
    return {value: DeltaGroup(questions=pair["shared"], metrics=pair["metrics"]) for value, pair in pairs.items()}


def _once(rows: Iterable[Outcome], key: Callable[[SlimQuestion], str]) -> dict[str, list[Outcome]]:
    """The answers by the id they are paired by; a question that several tasks asked counts for the first of them."""
    asked_by: dict[str, str] = {}
    found: defaultdict[str, list[Outcome]] = defaultdict(list)
    for row in rows:
        if asked_by.setdefault(row.question.id, row.task) == row.task:
            found[key(row.question)].append(row)
    return found


def _as_one(
    rows: Mapping[str, Sequence[Outcome]], questions: Mapping[str, SlimQuestion], shared: Iterable[str]
) -> Iterator[Outcome]:
    """The answers to the shared questions, as answers to those of the base, with trials counted anew."""
    for id in shared:
        question = replace(questions[id], id=id)
        for trial, row in enumerate(rows[id]):
            yield replace(row, question=question, trial=trial)
