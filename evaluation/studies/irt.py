"""Items by a two-parameter model, where the test tells models apart, and which few questions keep the ranking.

The fit is girth's (expected a posteriori, which holds slopes of few runs back): P(right) = 1 / (1 + e^(-a(θ - b))).
A trial of a run is one sitting; undecided answers are missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from livek12.core.agreement import kendall_tau
from livek12.core.errors import UserError, install
from livek12.core.statistics import mean_std
from livek12.evaluation.studies.items import ExamItem

if TYPE_CHECKING:
    from livek12.core.statistics import Floats, Indices

ABILITIES = (-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0)
ITERATIONS = 25
SEED = 0
SPLITS = 50
"""Into halves, to try a choice on runs that had no part in it."""
FEWEST_RUNS = 6


def fit(items: Sequence[ExamItem]) -> dict[str, Any]:
    """Difficulty b and discrimination a of each item, and the test information at some abilities.

    Items that all sittings, or none, have right tell nothing and have neither.

    Returns:
        `items`: {task, question_id, a, b}; `sittings`: ability by "run/trial"; `information`: {ability: I}, the sum of
        a²P(1-P).

    Raises:
        UserError: girth is not installed, or there are fewer than three sittings or items that tell anything.
    """
    try:
        from girth import tag_missing_data, twopl_mml_eap
    except ImportError:
        raise UserError(f"the two-parameter fit needs girth: {install('stats')}") from None
    import numpy as np

    sittings, marks = _matrix(items)
    telling = [place for place, row in enumerate(marks) if len({*row.tolist()} & {0, 1}) == 2]
    if len(sittings) < 3 or len(telling) < 3:
        raise UserError(
            f"a two-parameter fit needs 3 sittings and 3 questions that some have right and some wrong, not"
            f" {len(sittings)} and {len(telling)}"
        )
    found = twopl_mml_eap(tag_missing_data(marks[telling], [0, 1]), options={"max_iteration": ITERATIONS})
    slopes, places = np.asarray(found["Discrimination"]), np.asarray(found["Difficulty"])
    chances = 1 / (1 + np.exp(-slopes[:, None] * (np.array(ABILITIES)[None] - places[:, None])))
    information = (slopes[:, None] ** 2 * chances * (1 - chances)).sum(axis=0)
    return {
        "items": [
            {"task": items[place].task, "question_id": items[place].question.id, "a": float(a), "b": float(b)}
            for place, a, b in zip(telling, slopes, places, strict=True)
        ],
        "untold": len(items) - len(telling),
        "sittings": {name: float(ability) for name, ability in zip(sittings, found["Ability"], strict=True)},
        "information": {str(ability): float(value) for ability, value in zip(ABILITIES, information, strict=True)},
    }


def _matrix(items: Sequence[ExamItem]) -> tuple[list[str], Indices]:
    """The sittings, and right (1), wrong (0) or missing (-1) of each item in each, shape (items, sittings)."""
    import numpy as np

    sat = ((run, len(given)) for item in items for run, given in item.answers.items())
    names = sorted({(run, trial) for run, trials in sat for trial in range(trials)})
    marks: Indices = np.full((len(items), len(names)), -1, dtype=np.intp)
    for row, item in zip(marks, items, strict=True):
        for place, (run, trial) in enumerate(names):
            given = item.answers.get(run, [])
            if trial < len(given) and (right := given[trial].right) is not None:
                row[place] = int(right)
    return [f"{run}/{trial}" for run, trial in names], marks


def choose(items: Sequence[ExamItem], size: int, seed: int = SEED) -> dict[str, Any]:
    """The questions that stand for all: of each of `size` layers of like difficulty the one that discriminates best.

    The cost is cross-validated: the questions are chosen by one half of the runs, and for the other half the accuracy
    on them is set beside that on all questions, as a mean absolute error and as Kendall's τ of the two rankings; over
    `SPLITS` random halves. Beside it stands what as many questions drawn by chance give to the same halves.

    Args:
        items: from `read_items`.
        size: how many questions to choose.
        seed: of the halves and of the draws by chance.

    Raises:
        UserError: fewer than six runs, or no more questions than are to be chosen.
    """
    import numpy as np

    runs, shares = _shares(items)
    if len(runs) < FEWEST_RUNS:
        raise UserError(
            f"--choose tries its choice on half of the runs and needs {FEWEST_RUNS} or more, not {len(runs)}"
        )
    if not 1 <= size < len(items):
        raise UserError(f"--choose {size}: there are {len(items)} questions; choose fewer")
    rng, chosen, drawn = np.random.default_rng(seed), [], []
    for _ in range(SPLITS):
        order = rng.permutation(len(runs))
        by, on = order[: len(runs) // 2], order[len(runs) // 2 :]
        chosen.append(_cost(shares[:, on], _telling(shares[:, by], size)))
        drawn.append(_cost(shares[:, on], rng.choice(len(items), size, replace=False).tolist()))
    return {
        "questions": [
            {"task": items[place].task, "question_id": items[place].question.id}
            for place in sorted(_telling(shares, size))
        ],
        "halves": SPLITS,
        "chosen": _means(chosen),
        "by_chance": _means(drawn),
    }


def _cost(shares: Floats, places: Sequence[int]) -> tuple[float, float | None]:
    """Mean absolute error of the accuracies, and τ of the rankings (None: no ranking)."""
    import numpy as np

    whole, part = shares.mean(axis=0), shares[places].mean(axis=0)
    return float(np.abs(part - whole).mean()), kendall_tau(whole.tolist(), part.tolist())


def _means(costs: Sequence[tuple[float, float | None]]) -> dict[str, Any]:
    taus = [tau for _, tau in costs if tau is not None]
    error, _ = mean_std([error for error, _ in costs])
    return {"error": error, "tau": mean_std(taus)[0], "rankings": len(taus)}


def _shares(items: Sequence[ExamItem]) -> tuple[list[str], Floats]:
    """Share of right answers, shape (items, runs); an item's mean where a run has no decided answer."""
    import numpy as np

    runs = sorted({run for item in items for run in item.answers})
    shares = np.empty((len(items), len(runs)))
    for row, item in zip(shares, items, strict=True):
        own: Mapping[str, float] = item.scores()
        mean = sum(own.values()) / len(own) if own else 0.0
        row[:] = [own.get(run, mean) for run in runs]
    return runs, shares


def _telling(shares: Floats, size: int) -> list[int]:
    """Of each layer of like difficulty the question that discriminates best."""
    import numpy as np

    centred = shares - shares.mean(axis=1, keepdims=True)
    rest = centred.sum(axis=0) - centred
    rest -= rest.mean(axis=1, keepdims=True)
    spread = np.sqrt((centred**2).sum(axis=1) * (rest**2).sum(axis=1))
    told = np.divide((centred * rest).sum(axis=1), spread, out=np.full(len(shares), -1.0), where=spread > 1e-12)
    layers = np.array_split(np.argsort(shares.mean(axis=1), kind="stable"), size)
    return [int(layer[told[layer].argmax()]) for layer in layers]
