"""What the leaderboard computes from in the browser, for whatever questions a reader chooses.

Contract: of each task every run's bounds, answer by answer, in the order of the questions' ids (`places`), with the
constants of the intervals and tests (`method`): the page's script finds the very marks, intervals and ranks that
`livek12 compare` finds on those questions. What was said, and the names of questions, are not in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import NormalDist
from typing import Any

from livek12.core.records import Question
from livek12.core.scoring.flips import PERMUTATIONS
from livek12.core.scoring.ranks import ALPHA
from livek12.core.scoring.schema import STATES, parameters_of
from livek12.core.statistics import (
    FEW_FLIPS,
    FLIPS_AT_ONCE,
    LEAST_FREEDOM,
    PRIOR,
    UNSEEN_PAIRS,
    WITHIN_PAPERS,
)
from livek12.evaluation.site.ranking import MOST_RANKED, Records

OPEN_STATES = ("ungraded", "failed", "unsupported")
NO_VALUE = "(none)"
AXES = {
    "release": "release",
    "language": "language",
    "modality": "modality",
    "subset": "subsets",
    "subject": "subject",
    "macro_subject": "field",
    "question_type": "type",
    "difficulty": "difficulty",
    "year": "year",
}
"""What questions are chosen by, and where an index entry says it."""
MOST_VALUES = 300
"""An axis with more values is no filter."""


def method() -> dict[str, Any]:
    """The constants of intervals and tests, and the state of the random numbers after their seed."""
    import numpy as np

    parameters = parameters_of("article")
    drawn: Any = np.random.PCG64(parameters.seed).state
    return {
        "level": parameters.level,
        "normal": NormalDist().inv_cdf((1 - parameters.level) / 2),
        "minPapers": parameters.min_papers,
        "fewPapers": parameters.few_papers,
        "prior": PRIOR,
        "withinPapers": WITHIN_PAPERS,
        "leastFreedom": LEAST_FREEDOM,
        "unseenPairs": UNSEEN_PAIRS,
        "fewFlips": FEW_FLIPS,
        "permutations": PERMUTATIONS,
        "block": FLIPS_AT_ONCE,
        "alpha": ALPHA,
        "most": MOST_RANKED,
        "state": str(drawn["state"]["state"]),  # of 128 bits: more than a number of JavaScript holds
        "increment": str(drawn["state"]["inc"]),
    }


def places(questions: Mapping[str, Question]) -> dict[str, tuple[int, int]]:
    """Of each question, by anchor, its place by id and the number of what it was made from: scoring's own order."""
    order = sorted(questions, key=lambda anchor: questions[anchor].id)
    sources: dict[str, int] = {}
    found = {}
    for place, anchor in enumerate(order):
        question = questions[anchor]
        source = question.variant.of if question.variant else question.id
        found[anchor] = place, sources.setdefault(source, len(sources))
    return found


def scores(task: str, order: Mapping[str, tuple[int, int]], records: Records) -> Iterable[tuple[str, dict[str, Any]]]:
    """Of each run that has the task its answers, by the place of their questions: see `_scores`."""
    for slug, record in records.items():
        if cells := record["cells"].get(task):
            yield slug, _scores(cells, order)


def _scores(cells: Mapping[str, Sequence[Any]], order: Mapping[str, tuple[int, int]]) -> dict[str, Any]:
    """The kinds of answers, and of each question which kind its answers are, with their tokens; None: not asked.

    A kind is [least and most share of the points, at worst and at best fully right, whether nothing is decided].
    """
    kinds: dict[tuple[float, ...], int] = {}
    answers: list[Any] = [None] * len(order)
    tokens: list[Any] = [None] * len(order)
    for anchor, (_, *trials) in cells.items():
        place = order[anchor][0]
        those = [(*cell[:4], int(STATES[cell[4]] in OPEN_STATES)) for cell in trials]
        answers[place] = _plain([kinds.setdefault(one, len(kinds)) for one in those])
        tokens[place] = _plain([cell[6] for cell in trials])
    return {"kinds": list(kinds), "answers": answers, "tokens": tokens}


def _plain(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else values


def axes(entries: Iterable[Mapping[str, Any]]) -> list[list[Any]]:
    """The axes that tell these questions apart, each with its values: [[axis, [value, …]], …]."""
    rows = list(entries)
    found = []
    for axis, name in AXES.items():
        seen = {str(value) for row in rows for value in values_of(row[name])}
        if 1 < len(seen) <= MOST_VALUES:
            found.append([axis, sorted(seen, key=lambda value: (value == NO_VALUE, value))])
    return found


def values_of(value: Any) -> Sequence[Any]:
    """The values of an index entry: one, several, or `NO_VALUE`."""
    several = value if isinstance(value, list) else [value]
    return [one for one in several if one not in (None, "")] or [NO_VALUE]
