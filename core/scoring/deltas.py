"""Deltas of task variants: the same questions asked in two ways, overall and by each value of each axis.

Contract: Δ is variant minus base, paired by id, else by the question it was made from (`SlimQuestion.source`);
translations by their original. Several variants of one question count as its trials; points and axes are the base's.
p-values of a metric are adjusted over the values of each axis (Holm).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from livek12.core.scoring.comparison import adjust, paired
from livek12.core.scoring.estimates import question_groups
from livek12.core.scoring.outcomes import Outcome, Outcomes, SlimQuestion, Table, ranked, tabulate
from livek12.core.scoring.schema import Delta, DeltaGroup, Pair, Parameters, Profile

MOST_GROUPS = 200
"""An axis with more values (papers) has no Δ for each."""


@dataclass(frozen=True)
class Counterpart:
    """Base of a task variant.

    `tasks` are those of the run that ask as it does: itself, or tasks for parts of its questions.
    """

    base: str
    tasks: tuple[str, ...]
    differs: str


def task_deltas(
    by_task: Mapping[str, Outcomes],
    beside: Mapping[str, Sequence[Counterpart]],
    profile: Profile,
    parameters: Parameters,
) -> list[Delta]:
    """Δ of each task to each of its bases with which it shares questions."""
    deltas = []
    for task, bases in beside.items():
        for base in bases:
            rows = [by_task[name] for name in base.tasks if name in by_task]
            if task in by_task and rows:
                of_base = Outcomes.joined(rows)
                deltas.append(delta(task, by_task[task], base.base, of_base, base.differs, profile, parameters))
    return [each for each in deltas if each is not None]


def language_deltas(
    by_task: Mapping[str, Outcomes], alike: Iterable[Sequence[str]], profile: Profile, parameters: Parameters
) -> list[Delta]:
    """Δ between the languages of multilingual questions; tasks in a group of `alike` differ only in questions."""
    deltas = []
    for tasks in alike:
        named = [task for task in tasks if task in by_task]
        rows = Outcomes.joined([by_task[task] for task in named])
        spoken = {language for question in rows.asked() for language in question.on("language")}
        for first, other in combinations(sorted(spoken), 2):
            names = "+".join(named)
            sides = (f"{names} in {first}", _in(rows, first), f"{names} in {other}", _in(rows, other))
            deltas.append(delta(*sides, f"{first} instead of {other}", profile, parameters, original_id))
    return [each for each in deltas if each is not None]


def _in(rows: Outcomes, language: str) -> Outcomes:
    return rows.where(lambda question: language in question.on("language"))


def own_id(question: SlimQuestion) -> str:
    """Id of a question."""
    return question.id


def original_id(question: SlimQuestion) -> str:
    """Id of the translated question, else its own."""
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
        base: the name of the base.
        of_base: its answers.
        differs: the difference in words.
        profile: of the formulas.
        parameters: constants.
        key: the id by which questions are paired; unpaired ones of the variant use that of their source.
    """
    sides = once_each(Outcomes.of(of_base)), once_each(Outcomes.of(of_task))
    originals: dict[str, SlimQuestion] = {}
    for question in sides[0].asked():
        originals.setdefault(key(question), question)

    def partner(question: SlimQuestion) -> str:
        return own if (own := key(question)) in originals else question.source

    partners = {partner(question) for question in sides[1].asked()}
    shared = {id: replace(originals[id], id=id) for id in sorted(originals.keys() & partners)}
    if not shared:
        return None
    a, b = (tabulate(_as_one(*side, shared)) for side in zip(sides, (key, partner), strict=True))
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
        only_task=len(partners) - len(shared),
        only_base=len(originals) - len(shared),
        metrics=whole["metrics"],
        groups=groups,
    )


def _groups(
    a: Table, b: Table, values: Mapping[str, Sequence[int]], profile: Profile, parameters: Parameters
) -> dict[str, DeltaGroup]:
    pairs: dict[str, Pair] = {}
    for value, questions in values.items():
        pairs[value] = paired(a.to(questions), b.to(questions), profile, parameters)
    adjust(pairs.values())
    return {value: DeltaGroup(questions=pair["shared"], metrics=pair["metrics"]) for value, pair in pairs.items()}


def once_each(rows: Outcomes) -> Outcomes:
    """Of a question that several tasks asked, only the answers of the first task."""
    import numpy as np

    question = ranked([item.id for item in rows.questions], rows.question)
    task = ranked(rows.tasks, rows.task)
    first = np.unique(question, return_index=True)[1]
    return rows.take(np.flatnonzero(task == task[first][question]))


def _as_one(rows: Outcomes, key: Callable[[SlimQuestion], str], shared: Mapping[str, SlimQuestion]) -> Outcomes:
    """Keyed by the base's questions, with trials numbered anew."""
    import numpy as np

    place = {id: number for number, id in enumerate(shared)}
    places = np.full(len(rows.questions), -1)
    for code in np.unique(rows.question).tolist():
        places[code] = place.get(key(rows.questions[code]), -1)
    numbers = places[rows.question]
    order = np.argsort(numbers, kind="stable")
    order = order[numbers[order] >= 0]
    numbers = numbers[order]
    trial = np.arange(len(numbers)) - np.searchsorted(numbers, numbers)
    return replace(rows.take(order), questions=list(shared.values()), question=numbers, trial=trial)
