"""Two ways of asking the same questions: every Δ, on all shared questions and on each value of each axis.

Contract: a Δ is the variant minus what it is a variant of, question by question: a question of the variant is paired
with the one of the same id, else with the one it was made from (`SlimQuestion.source`); translations by the question
that they translate. Several that were made from one question count as its trials; points and axes are those of the
base. Only questions that both sides have enter; how many do not is said. Numbers, intervals and tests are those of
`compare` (exact McNemar, else sign flips); the p of one metric are adjusted over the values of each axis (Holm).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from livek12.core.scoring.answers import Table, ranked, tabulate
from livek12.core.scoring.columns import Outcomes
from livek12.core.scoring.comparison import adjust, paired
from livek12.core.scoring.estimates import question_groups
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
    by_task: Mapping[str, Outcomes],
    beside: Mapping[str, Sequence[Counterpart]],
    profile: Profile,
    parameters: Parameters,
) -> list[Delta]:
    """Δ of each task to each task that it is a variant of, where they share questions."""
    found = []
    for task, bases in beside.items():
        for base in bases:
            rows = [by_task[name] for name in base.tasks if name in by_task]
            if task in by_task and rows:
                of_base = Outcomes.joined(rows)
                found.append(delta(task, by_task[task], base.base, of_base, base.differs, profile, parameters))
    return [each for each in found if each is not None]


def language_deltas(
    by_task: Mapping[str, Outcomes], alike: Iterable[Sequence[str]], profile: Profile, parameters: Parameters
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
        named = [task for task in tasks if task in by_task]
        rows = Outcomes.joined([by_task[task] for task in named])
        spoken = {language for question in rows.asked() for language in question.on("language")}
        for one, other in combinations(sorted(spoken), 2):
            names = "+".join(named)
            sides = (f"{names} in {one}", _in(rows, one), f"{names} in {other}", _in(rows, other))
            found.append(delta(*sides, f"{one} instead of {other}", profile, parameters, original_id))
    return [each for each in found if each is not None]


def _in(rows: Outcomes, language: str) -> Outcomes:
    return rows.where(lambda question: language in question.on("language"))


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
    sides = _once(Outcomes.of(of_base)), _once(Outcomes.of(of_task))
    known: dict[str, SlimQuestion] = {}
    for question in sides[0].asked():
        known.setdefault(key(question), question)

    def partner(question: SlimQuestion) -> str:
        return own if (own := key(question)) in known else question.source

    asked = {partner(question) for question in sides[1].asked()}
    shared = {id: replace(known[id], id=id) for id in sorted(known.keys() & asked)}
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
        only_task=len(asked) - len(shared),
        only_base=len(known) - len(shared),
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


def _once(rows: Outcomes) -> Outcomes:
    """The answers, those to a question that several tasks asked for the first of them."""
    import numpy as np

    question = ranked([one.id for one in rows.questions], rows.question)
    task = ranked(rows.tasks, rows.task)
    first = np.unique(question, return_index=True)[1]
    return rows.take(np.flatnonzero(task == task[first][question]))


def _as_one(rows: Outcomes, key: Callable[[SlimQuestion], str], shared: Mapping[str, SlimQuestion]) -> Outcomes:
    """The answers to the shared questions, as answers to those of the base, with trials counted anew."""
    import numpy as np

    place = {id: number for number, id in enumerate(shared)}
    places = np.full(len(rows.questions), -1)
    for code in np.unique(rows.question).tolist():
        places[code] = place.get(key(rows.questions[code]), -1)
    found = places[rows.question]
    order = np.argsort(found, kind="stable")
    order = order[found[order] >= 0]
    found = found[order]
    trial = np.arange(len(found)) - np.searchsorted(found, found)
    return replace(rows.take(order), questions=list(shared.values()), question=found, trial=trial)
