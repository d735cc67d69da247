"""`compare`: several runs side by side, and each pair of them on the questions that both have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from itertools import combinations
from typing import TYPE_CHECKING

from livek12.core.errors import UserError
from livek12.core.scoring.answers import Table, tabulate
from livek12.core.scoring.estimates import Draw, Resampler, draw, estimates
from livek12.core.scoring.formulas import Term, Terms, arl_term
from livek12.core.scoring.pairs import paired_difference, paired_terms
from livek12.core.scoring.schema import (
    Comparison,
    Estimate,
    Pair,
    PairedTest,
    PairMetric,
    Parameters,
    Profile,
    Row,
    TaskComparison,
    parameters_of,
)
from livek12.core.scoring.summaries import count
from livek12.core.scoring.terms import task_terms
from livek12.core.statistics import grouped_sums, holm, mcnemar_exact, sign_flip_test

if TYPE_CHECKING:
    from livek12.core.statistics import Floats

TESTED = ("accuracy", "mark", "PES", "OES", "ARL", "variable_accuracy")
"""Metrics that pairs of runs are compared on."""


def compare(
    runs: Mapping[str, Iterable[Row]], profile: Profile = "paper", parameters: Parameters | None = None
) -> Comparison:
    """Compares runs, task by task.

    Each metric of each run is over all questions of that run. Differences (b - a) are over the shared
    questions, with a joint bootstrap of both; p-values are of the paired test that `PairedTest` names: exact
    McNemar for the accuracy of single trials by question, else sign flips of the units' differences. Under
    profile `release` the ARL is `release_arl`.

    Args:
        runs: name to rows; at least two.
        profile: which formulas.
        parameters: their constants; None: the profile's own.

    Raises:
        UserError: unknown profile; fewer than two runs; or a question is not worth the same in two runs.
    """
    if len(runs) < 2:
        raise UserError("a comparison needs at least two runs: name another one")
    parameters = parameters or parameters_of(profile)
    by_task: defaultdict[str, defaultdict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for name, rows in runs.items():
        for row in rows:
            by_task[row.task][name].append(row)
    tasks = {task: _compare_task(by_task[task], profile, parameters) for task in sorted(by_task)}
    return Comparison(profile=profile, parameters=asdict(parameters), runs=list(runs), tasks=tasks)


def release_arl(
    rows_by_model: Mapping[str, Iterable[Row]], parameters: Parameters | None = None
) -> dict[str, Estimate]:
    """ARL of the release profile on one task: mean of S·(1 + 0.1·ln(l̄/l)) over the questions all models share.

    l̄ is, question by question, the mean over the models of their mean completion tokens over trials. Where
    any answer lacks its token count, one that never came included, l̄ does not exist and neither does the ARL.

    Raises:
        UserError: a model has no rows.
    """
    import numpy as np

    parameters = parameters or parameters_of("release")
    tables = {name: tabulate(rows) for name, rows in rows_by_model.items()}
    shared = _shared(tables.values())
    left_out = len({q.id for table in tables.values() for q in table.questions}) - len(shared)
    if shared:
        tables = {name: _restrict(table, shared) for name, table in tables.items()}
    missing = sum(_without_tokens(table) for table in tables.values())
    found: dict[str, Term | str]
    if not shared:
        found = dict.fromkeys(tables, "the models share no question")
    elif missing:
        found = dict.fromkeys(tables, f"not available ({missing} missing)")
    else:
        note = f"{left_out} questions that not all models have are left out" if left_out else None
        means = [_question_means(table, table.answers.tokens) for table in tables.values()]
        mean = np.mean(means, axis=0)
        found = {
            name: replace(arl_term(table.answers, mean[table.question], parameters.length_weight), note=note)
            for name, table in tables.items()
        }
    draws: dict[str, Draw] = {}
    for name, table in tables.items():
        draws |= draw({name: found[name]}, table, Resampler(table.questions, parameters))
    return estimates(draws, parameters.level)


def _compare_task(runs: Mapping[str, list[Row]], profile: Profile, parameters: Parameters) -> TaskComparison:
    tables = {name: tabulate(rows) for name, rows in runs.items()}
    metrics: defaultdict[str, dict[str, Estimate]] = defaultdict(dict)
    for name, table in tables.items():
        drawn = draw(task_terms(table, profile, parameters), table, Resampler(table.questions, parameters))
        for metric, estimate in estimates(drawn, parameters.level).items():
            metrics[metric][name] = estimate
    if profile == "release" and len(tables) > 1:
        metrics["ARL"] = release_arl(runs, parameters)
    pairs = [_compare_pair(a, b, tables, profile, parameters) for a, b in combinations(tables, 2)]
    _adjust(pairs)
    return TaskComparison(
        counts={name: count(table) for name, table in tables.items()}, metrics=dict(metrics), pairs=pairs
    )


def _compare_pair(a: str, b: str, tables: Mapping[str, Table], profile: Profile, parameters: Parameters) -> Pair:
    shared = _shared([tables[a], tables[b]])
    pair = Pair(
        a=a,
        b=b,
        shared=len(shared),
        only_a=len(tables[a].questions) - len(shared),
        only_b=len(tables[b].questions) - len(shared),
        metrics={},
    )
    if shared:
        of_a, of_b = (_restrict(tables[name], shared) for name in (a, b))
        pair["metrics"] = _paired_metrics(of_a, of_b, profile, parameters)
    return pair


def _paired_metrics(a: Table, b: Table, profile: Profile, parameters: Parameters) -> dict[str, PairMetric]:
    resampler = Resampler(a.questions, parameters)
    terms = paired_terms(a, b, profile, parameters)
    drawn = paired_difference((b, terms[1]), (a, terms[0]), resampler)
    drawn = {name: drawn[name] for name in TESTED if name in drawn and drawn[name].low is not None}
    return {
        name: PairMetric(difference=difference, test=_test(name, (a, terms[0]), (b, terms[1]), resampler))
        for name, difference in estimates(drawn, parameters.level).items()
    }


def _test(name: str, a: tuple[Table, Terms], b: tuple[Table, Terms], resampler: Resampler) -> PairedTest:
    """Tests the questions' differences, summed within the unit, where both runs are decided."""
    import numpy as np

    tables = a[0], b[0]
    sides = [term for term in (a[1][name], b[1][name]) if isinstance(term, Term)]
    low, high = (
        [_question_means(table, getattr(term, side)) for table, term in zip(tables, sides, strict=True)]
        for side in ("low", "high")
    )
    decided = (low[0] == high[0]) & (low[1] == high[1])
    difference = np.where(decided, low[1] - low[0], 0.0)
    unit = resampler.unit(np.arange(len(difference)))
    single = all(len(table.rows) == len(table.questions) for table in tables)
    mcnemar = name == "accuracy" and unit == "question" and single
    p = None
    if decided.any() and mcnemar:
        p = mcnemar_exact(int((difference < 0).sum()), int((difference > 0).sum()))
    elif decided.any():
        p = sign_flip_test(
            grouped_sums(resampler.clusters(unit), difference, resampler.size(unit)),
            seed=resampler.parameters.seed,
        )
    return PairedTest(
        name="mcnemar_exact" if mcnemar else "sign_flip",
        p=p,
        p_holm=None,
        unit=unit,
        questions=int(decided.sum()),
        undecided=int((~decided).sum()),
    )


def _adjust(pairs: Iterable[Pair]) -> None:
    """Fills `p_holm`: one family of tests is one metric over all pairs."""
    pairs = list(pairs)
    for name in TESTED:
        tests = [pair["metrics"][name]["test"] for pair in pairs if name in pair["metrics"]]
        for test, adjusted in zip(tests, holm([test["p"] for test in tests]), strict=True):
            test["p_holm"] = adjusted


def _shared(tables: Iterable[Table]) -> set[str]:
    """Ids of the questions that all tables have."""
    return set.intersection(*({question.id for question in table.questions} for table in tables))


def _restrict(table: Table, ids: set[str]) -> Table:
    """The answers to these questions alone."""
    if len(ids) == len(table.questions):
        return table
    return tabulate(row for row in table.rows if row.question.id in ids)


def _question_means(table: Table, values: Floats) -> Floats:
    """Each question's mean over its answers."""
    import numpy as np

    sums = grouped_sums(table.question, values, len(table.questions))
    return sums / grouped_sums(table.question, np.ones_like(values), len(table.questions))


def _without_tokens(table: Table) -> int:
    import numpy as np

    return int(np.isnan(table.answers.tokens).sum())
