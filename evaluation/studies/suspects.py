"""Suspicion of wrong keys, from the models' answers weighted by their ability elsewhere.

`suspicion` compares the chance of all answers if the key is right with that if another answer is. Under each, a run is
right with 1/(1 + e^-(s(θ - b))), θ the logit of its right share on the other questions, s a common slope, b an unknown
difficulty (normal prior, summed over a grid); other runs agree as an attractive distractor makes them (a Pólya urn).
So ten weak models with one wrong answer raise no suspicion; the two best against the key, with no good one for it, do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from math import exp, lgamma, log
from typing import TYPE_CHECKING, NamedTuple

from livek12.core.records import Key, Question
from livek12.core.text import folded
from livek12.judges.grade import GradingConfig, grade
from livek12.judges.jury import JudgeOptions, Jury

if TYPE_CHECKING:
    from livek12.core.statistics import Floats

SLOPE = 1.2
"""s; the mean of two-parameter fits is near it."""
SPREAD = 1.5
"""Standard deviation of b."""
STICKY, KINDS = 0.5, 6
"""The urn of wrong answers: initial weight of each kind, and number of kinds."""
SameAnswer = Callable[[Question, tuple[str, ...], tuple[str, ...]], bool]


@contextmanager
def same_by_rules() -> Iterator[SameAnswer]:
    """Compares two answers by the rules, one as the key."""
    config = GradingConfig()
    with Jury(JudgeOptions()) as jury:

        def same(question: Question, first: tuple[str, ...], other: tuple[str, ...]) -> bool:
            if len(first) != len(other):
                return False
            named = [v.model_copy(update={"value": text}) for v, text in zip(question.variables, first, strict=False)]
            keyed = question.model_copy(update={"answer": list(first), "variables": named})
            key = Key(task="same", question_id=question.id)
            return grade(keyed, key, list(other), config=config, cascade=jury.cascade).correct is True

        yield same


class AnswerSaid(NamedTuple):
    """One decided answer of a run; trials of a run share its weight of 1."""

    run: str
    right: bool
    parts: tuple[str, ...]
    weight: float


class Suspicion(NamedTuple):
    """Chance that the key is wrong, the likeliest other answer, and the number of runs that give it."""

    chance: float
    agreed: tuple[str, ...]
    runs: int


_KEY = -1


def suspicion(
    question: Question, answers: Sequence[AnswerSaid], abilities: Mapping[str, float], same: SameAnswer, prior: float
) -> Suspicion:
    """The chance that the key is wrong, from the decided answers and the runs' abilities (logits)."""
    kinds, groups = _grouped(question, answers, same)
    if not kinds:
        return Suspicion(0.0, (), 0)
    logs = _fits(len(kinds), answers, groups, abilities)
    others = {kind: logs[kind] + log(prior / len(kinds)) for kind in range(len(kinds))}
    best = max(others, key=lambda kind: others[kind])
    key = logs[_KEY] + log(1 - prior)
    chance = 1 - exp(key - _log_sum([key, *others.values()]))
    runs = {answer.run for answer, group in zip(answers, groups, strict=True) if group == best}
    return Suspicion(chance, kinds[best], len(runs))


def _grouped(
    question: Question, answers: Sequence[AnswerSaid], same: SameAnswer
) -> tuple[list[tuple[str, ...]], list[int]]:
    """The different wrong answers, and the group of each answer (_KEY: right)."""
    kinds: list[tuple[str, ...]] = []
    spellings: dict[tuple[str, ...], int] = {}
    groups = []
    for answer in answers:
        if answer.right:
            groups.append(_KEY)
            continue
        spelt = tuple(folded(part) for part in answer.parts)
        if spelt not in spellings:
            alike = (place for place, kind in enumerate(kinds) if same(question, kind, answer.parts))
            if (place := next(alike, None)) is None:
                place = len(kinds)
                kinds.append(answer.parts)
            spellings[spelt] = place
        groups.append(spellings[spelt])
    return kinds, groups


def _fits(
    kinds: int, answers: Sequence[AnswerSaid], groups: Sequence[int], abilities: Mapping[str, float]
) -> dict[int, float]:
    """Log-chance of all answers under the key and under each kind of wrong answer, difficulty summed out.

    A right answer has the log-chance of a wrong one plus its logit: the sum over wrong ones is taken once.
    """
    import numpy as np

    places, prior = _grid()
    weights, of = np.array([answer.weight for answer in answers]), np.array(groups)
    logits = SLOPE * (np.array([abilities[answer.run] for answer in answers])[:, None] - places)
    wrong = prior - weights @ np.logaddexp(0.0, logits)
    own = weights[:, None] * logits
    counts = {kind: float(weights[of == kind].sum()) for kind in dict.fromkeys(groups)}
    logs = {}
    for candidate in (_KEY, *range(kinds)):
        total = wrong + own[of == candidate].sum(axis=0)
        logs[candidate] = _log_sum(total.tolist()) + _urn([n for kind, n in counts.items() if kind != candidate])
    return logs


@cache
def _grid() -> tuple[Floats, Floats]:
    import numpy as np

    places = np.linspace(-4.0, 4.0, 33)
    weights = np.exp(-((places / SPREAD) ** 2) / 2)
    return places, np.log(weights / weights.sum())


def _urn(counts: Sequence[float]) -> float:
    """Log of the chance of such a sequence of kinds (Pólya urn; counts may be fractions)."""
    whole = KINDS * STICKY
    drawn = sum(lgamma(STICKY + count) - lgamma(STICKY) for count in counts)
    return lgamma(whole) - lgamma(whole + sum(counts)) + drawn


def _log_sum(logs: Sequence[float]) -> float:
    most = max(logs)
    return most + log(sum(exp(value - most) for value in logs))
