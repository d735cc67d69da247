"""Which metrics a table of answers has: the exam's, the variables' and pass@k."""

from __future__ import annotations

from typing import TYPE_CHECKING

from livek12.core.scoring.answers import Table
from livek12.core.scoring.formulas import Term, Terms, exam_terms, mean_term
from livek12.core.scoring.metrics import metrics
from livek12.core.scoring.schema import Parameters, Profile
from livek12.core.statistics import pass_at_k

if TYPE_CHECKING:
    from livek12.core.statistics import Floats, Indices


def task_terms(table: Table, profile: Profile, parameters: Parameters) -> Terms:
    """All metrics of a table: the exam's, CFE-Bench's two where there are variables, registered ones, and pass@k."""
    terms = exam_terms(table.answers, profile, parameters)
    if table.variables is not None:
        terms["variable_accuracy"] = mean_term(table.variables, table.answers)
        terms["question_accuracy"] = terms["accuracy"]
    for metric in metrics():
        if metric.terms is not None:
            terms |= metric.terms(table, profile, parameters)
    return terms | _pass_terms(table)


EACH_K = 16
"""pass@k is given for each k up to here, then for powers of two."""


def pass_sizes(trials: int) -> list[int]:
    """The k of pass@k: each up to 16, powers of two above, and the number of trials."""
    powers = (1 << power for power in range(EACH_K.bit_length(), trials.bit_length()))
    return sorted({*range(1, min(trials, EACH_K) + 1), *powers, trials} - {0})


def _pass_terms(table: Table) -> Terms:
    """pass@k of each question, k up to the fewest trials of any question, averaged over questions."""
    import numpy as np

    samples = np.bincount(table.question)
    # Each question counts once: with its first answer.
    first = np.concatenate([[True], table.question[1:] != table.question[:-1]])
    low, high = (np.bincount(table.question, correct).astype(int) for correct in table.answers.correct)
    weight = first.astype(np.float64)
    terms: Terms = {}
    for k in pass_sizes(int(samples.min())):
        chance = {
            (n, c): pass_at_k(n, c, k)
            for n, c in {*zip(samples.tolist(), low.tolist(), strict=True)}
            | {*zip(samples.tolist(), high.tolist(), strict=True)}
        }

        def spread(correct: Indices, chance: dict[tuple[int, int], float] = chance) -> Floats:
            values = np.zeros(len(table.rows))
            values[first] = [chance[key] for key in zip(samples.tolist(), correct.tolist(), strict=True)]
            return values

        worst = spread(low)
        # The same array where nothing is undecided, not an equal one: of a million answers each takes 8 MB.
        best = worst if np.array_equal(low, high) else spread(high)
        terms[f"pass@{k}"] = Term(worst, best, weight, by_trial=False)
    return terms
