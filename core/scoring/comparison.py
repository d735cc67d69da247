"""`compare`: several runs side by side, and each pair of them on the questions that both have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import combinations
from typing import TYPE_CHECKING

from livek12.core.errors import UserError
from livek12.core.rows import Row
from livek12.core.scoring.answers import Table, tabulate
from livek12.core.scoring.columns import Outcomes
from livek12.core.scoring.estimates import Draw, Units, draw, estimates
from livek12.core.scoring.flips import Flips
from livek12.core.scoring.formulas import Term, arl_term, no_tokens
from livek12.core.scoring.metrics import contrasted_metrics, task_terms, tested_metrics
from livek12.core.scoring.outcomes import Outcome, Slim, SlimQuestion
from livek12.core.scoring.ranks import rank_ranges
from livek12.core.scoring.schema import (
    FORMULAS,
    INTERVALS,
    Comparison,
    Estimate,
    Pair,
    PairedTest,
    PairMetric,
    Parameters,
    Profile,
    TaskComparison,
    parameters_of,
)
from livek12.core.scoring.summaries import count
from livek12.core.statistics import (
    clustered_t_test,
    grouped_sums,
    holm,
    mcnemar_exact,
    questions_needed,
)

if TYPE_CHECKING:
    from livek12.core.statistics import Floats, Indices


def modality_delta(
    standard: Iterable[Row],
    image_only: Iterable[Row],
    subset: str | None = "complex_layout",
    profile: Profile = "article",
    parameters: Parameters | None = None,
) -> dict[str, Estimate]:
    """Image-only minus standard modality, by metric, on the same questions (LiveK12Bench, section 3.2).

    Args:
        standard: rows of the text-only and text-image tasks.
        image_only: rows of the image-only task.
        subset: the subset it is taken on; None: all shared questions.
        profile: which formulas.
        parameters: their constants; None: the profile's own.

    Returns:
        By metric; empty where the two share no question of the subset.
    """
    slim = Slim()
    one, other = (Outcomes.of(map(slim, rows)) for rows in (standard, image_only))
    return modality_difference(one, other, subset, profile, parameters or parameters_of(profile))


def modality_difference(
    standard: Outcomes,
    image_only: Outcomes,
    subset: str | None,
    profile: Profile,
    parameters: Parameters,
) -> dict[str, Estimate]:
    """The same of outcomes."""

    def eligible(question: SlimQuestion) -> bool:
        return subset is None or subset in question.on("subset")

    sides = image_only.where(eligible), standard.where(eligible)
    shared = set.intersection(*({question.id for question in side.asked()} for side in sides))
    if not shared:
        return {}
    a, b = (tabulate(side.where(lambda question: question.id in shared)) for side in sides)
    check_points(a, b)
    units = Units(a.questions, parameters)
    of_a, of_b = (draw(task_terms(table, profile, parameters), table, units) for table in (a, b))
    return estimates(differences(of_a, of_b, contrasted_metrics()))


def check_points(a: Table, b: Table) -> None:
    """Two tables of the same questions must be of one data set.

    Raises:
        UserError: a question is worth more in one than in the other.
    """
    for one, other in zip(a.questions, b.questions, strict=True):
        if one.points != other.points:
            raise UserError(
                f"question {one.id} is worth {one.points} points in one run and {other.points} in the other:"
                " they used different data, so score both on one revision"
            )


def differences(a: Mapping[str, Draw], b: Mapping[str, Draw], names: Iterable[str]) -> dict[str, Draw]:
    """Those of the named metrics that both have: a's minus b's, of the same questions by the same unit."""
    return {name: a[name].minus(b[name]) for name in names if name in a and name in b}


class Watch:
    """Is told how far a comparison is; this one does not mind."""

    def step(self) -> None:
        """One run of one task, or one pair that shares questions, is done."""

    def flipped(self, share: float) -> None:
        """Of the random signs that wait, this share (0 to 1) is tried."""


def compare(
    runs: Mapping[str, Iterable[Row]], profile: Profile = "article", parameters: Parameters | None = None
) -> Comparison:
    """Compares runs, task by task.

    Each metric of each run is over all questions of that run. Differences (b - a) are over the shared
    questions, by their correlation on these; p-values are of the paired test that `PairedTest` names: exact
    McNemar for the accuracy of single trials by question, else sign flips of the units' differences, or a t test by
    papers where these are few. They are adjusted (Holm) over all pairs of all tasks, metric by metric. Under
    profile `release` the ARL is `release_arl`.

    Args:
        runs: name to rows, of at least two runs; read one after the other, and none is kept.
        profile: which formulas.
        parameters: their constants; None: the profile's own.

    Raises:
        UserError: unknown profile; fewer than two runs; or a question is not worth the same in two runs.
    """
    slim = Slim()
    return compare_outcomes({name: map(slim, rows) for name, rows in runs.items()}, profile, parameters)


def compare_outcomes(
    runs: Mapping[str, Iterable[Outcome]],
    profile: Profile = "article",
    parameters: Parameters | None = None,
    watch: Watch | None = None,
) -> Comparison:
    """The same of outcomes, and `watch` is told how far it is."""
    watch = watch or Watch()
    if len(runs) < 2:
        raise UserError("a comparison needs at least two runs: name another one")
    parameters = parameters or parameters_of(profile)
    by_task: defaultdict[str, dict[str, Outcomes]] = defaultdict(dict)
    for name, outcomes in runs.items():
        for asked, rows in Outcomes.of(outcomes).by_task().items():
            by_task[asked][name] = rows
    tasks = {}
    for name in sorted(by_task):
        tables = {run: tabulate(rows) for run, rows in by_task.pop(name).items()}
        tasks[name] = compare_tables(tables, profile, parameters, watch=watch)
    adjust([pair for task in tasks.values() for pair in task["pairs"]])
    for task in tasks.values():
        task["ranks"] = {metric: rank_ranges(task, metric) for metric in tested_metrics() if metric in task["metrics"]}
    return Comparison(
        formulas=FORMULAS,
        profile=profile,
        intervals=INTERVALS,
        parameters=asdict(parameters),
        runs=list(runs),
        tasks=tasks,
    )


def release_arl(
    rows_by_model: Mapping[str, Iterable[Row]], parameters: Parameters | None = None
) -> dict[str, Estimate]:
    """ARL of the release profile on one task: mean of S·(1 + 0.1·ln(l̄/l)) over the questions all models share.

    l̄ is, question by question, the mean over the models of their mean completion tokens over trials. Where
    any answer lacks its token count, one that never came included, l̄ does not exist and neither does the ARL.

    Raises:
        UserError: a model has no rows.
    """
    slim = Slim()
    tables = {name: tabulate(map(slim, rows)) for name, rows in rows_by_model.items()}
    return _release_arl(tables, parameters or parameters_of("release"))


def _release_arl(tables: Mapping[str, Table], parameters: Parameters) -> dict[str, Estimate]:
    import numpy as np

    shared = _shared(tables.values())
    left_out = len({q.id for table in tables.values() for q in table.questions}) - len(shared)
    if shared:
        tables = {name: _restrict(table, shared) for name, table in tables.items()}
    missing = sum(_without_tokens(table) for table in tables.values())
    found: dict[str, Term | str]
    if not shared:
        found = dict.fromkeys(tables, "the models share no question")
    elif missing:
        found = dict.fromkeys(tables, no_tokens(missing))
    else:
        note = f"{left_out} questions that not all models have are left out" if left_out else None
        means = [_question_means(table, table.answers.tokens) for table in tables.values()]
        mean = np.mean(means, axis=0)
        found = {
            name: replace(arl_term(table.answers, mean[table.question], parameters.length_weight), note=note)
            for name, table in tables.items()
        }
    draws: dict[str, Draw] = {}
    for names in _alike(tables):
        units = Units(tables[names[0]].questions, parameters)
        for name in names:
            draws |= draw({name: found[name]}, tables[name], units)
    return estimates({name: draws[name] for name in tables})


def paired(a: Table, b: Table, profile: Profile, parameters: Parameters) -> Pair:
    """Two sets of answers to the very same questions: b - a, with intervals and tests.

    Raises:
        UserError: a question is worth more in one than in the other.
    """
    return _Sides({"a": a, "b": b}, profile, parameters).compare([("a", "b")], Watch())["a", "b"]


def compare_tables(
    tables: Mapping[str, Table],
    profile: Profile,
    parameters: Parameters,
    couples: Collection[tuple[str, str]] | None = None,
    watch: Watch | None = None,
) -> TaskComparison:
    """One task of a comparison, by the tables of its runs; before its p-values are adjusted and its ranks are told.

    Args:
        tables: by run.
        profile: which formulas.
        parameters: their constants.
        couples: the pairs that are compared, each in the order of `tables`; None: all.
        watch: is told how far it is.

    Raises:
        UserError: a question is not worth the same in two runs.
    """
    watch = watch or Watch()
    wanted = list(combinations(tables, 2)) if couples is None else list(couples)
    alike = _alike(tables)
    place = {name: index for index, names in enumerate(alike) for name in names}
    between: defaultdict[tuple[int, int], list[tuple[str, str]]] = defaultdict(list)
    for a, b in wanted:
        between[place[a], place[b]].append((a, b))
    found: dict[str, dict[str, Estimate]] = {}
    pairs: dict[tuple[str, str], Pair] = {}
    # Each run is drawn once, however many of the same questions it is compared with.
    for index, names in enumerate(alike):
        sides = _Sides({name: tables[name] for name in names}, profile, parameters, watch)
        found |= sides.metrics
        pairs |= sides.compare(between.pop((index, index), []), watch)
    for unlike in between.values():
        pairs |= _compare_unlike(unlike, tables, profile, parameters, watch)
    metrics: defaultdict[str, dict[str, Estimate]] = defaultdict(dict)
    for name in tables:
        for metric, estimate in found[name].items():
            metrics[metric][name] = estimate
    if profile == "release" and len(tables) > 1:
        metrics["ARL"] = _release_arl(tables, parameters)
    return TaskComparison(
        counts={name: count(table) for name, table in tables.items()},
        metrics=dict(metrics),
        pairs=[pairs[names] for names in wanted],
        ranks={},  # once all tasks are there
    )


def _alike(tables: Mapping[str, Table]) -> list[list[str]]:
    """The runs, those of the very same questions together."""
    found: defaultdict[tuple[SlimQuestion, ...], list[str]] = defaultdict(list)
    for name, table in tables.items():
        found[table.questions].append(name)
    return list(found.values())


def _compare_unlike(
    couples: Sequence[tuple[str, str]],
    tables: Mapping[str, Table],
    profile: Profile,
    parameters: Parameters,
    watch: Watch,
) -> dict[tuple[str, str], Pair]:
    """Pairs of which all first ones have the same questions, and all second ones others, on those that both have."""
    shared = _shared([tables[name] for name in couples[0]])
    if shared:
        names = dict.fromkeys([*(a for a, _ in couples), *(b for _, b in couples)])
        restricted = {name: _restrict(tables[name], shared) for name in names}
        found = _Sides(restricted, profile, parameters).compare(couples, watch)
    else:
        found = {(a, b): Pair(a=a, b=b, shared=0, only_a=0, only_b=0, metrics={}) for a, b in couples}
    for a, b in couples:
        found[a, b]["only_a"] = len(tables[a].questions) - len(shared)
        found[a, b]["only_b"] = len(tables[b].questions) - len(shared)
    return found


class _Sides:
    """Runs over one set of questions; `metrics` has the estimates of each.

    Raises:
        UserError: a question is worth more in one than in another.
    """

    def __init__(
        self,
        tables: Mapping[str, Table],
        profile: Profile,
        parameters: Parameters,
        watch: Watch | None = None,
    ) -> None:
        first = next(iter(tables.values()))
        self._questions = len(first.questions)
        self._units = Units(first.questions, parameters)
        self._unit = self._units.unit(first.question)
        self.metrics: dict[str, dict[str, Estimate]] = {}
        self._draws: dict[str, dict[str, Draw]] = {}
        self._means: dict[str, dict[str, tuple[Floats, Floats]]] = {}
        self._single = {name: len(table.rows) == len(table.questions) for name, table in tables.items()}
        for name, table in tables.items():
            check_points(first, table)
            terms = task_terms(table, profile, parameters)
            draws = draw(terms, table, self._units)
            self.metrics[name] = estimates(draws)
            self._draws[name] = {metric: draws[metric] for metric in tested_metrics() if metric in draws}
            self._means[name] = {
                metric: (_question_means(table, term.low), _question_means(table, term.high))
                for metric in tested_metrics()
                if isinstance(term := terms.get(metric), Term)
            }
            if watch is not None:
                watch.step()

    def compare(self, couples: Iterable[tuple[str, str]], watch: Watch) -> dict[tuple[str, str], Pair]:
        """Each pair of runs, a step each."""
        pairs: dict[tuple[str, str], Pair] = {}
        flips = Flips(self._units, self._means)
        for a, b in couples:
            metrics = self._metrics(a, b, flips)
            pairs[a, b] = Pair(a=a, b=b, shared=self._questions, only_a=0, only_b=0, metrics=metrics)
            watch.step()
        flips.test(watch.flipped)
        return pairs

    def _metrics(self, a: str, b: str, flips: Flips) -> dict[str, PairMetric]:
        drawn = differences(self._draws[b], self._draws[a], tested_metrics())
        drawn = {name: difference for name, difference in drawn.items() if difference.low is not None}
        return {name: self._tested(name, found, a, b, flips) for name, found in estimates(drawn).items()}

    def _tested(self, name: str, difference: Estimate, a: str, b: str, flips: Flips) -> PairMetric:
        """Tests the questions' differences where both runs are decided."""
        import numpy as np

        (low_a, high_a), (low_b, high_b) = self._means[a][name], self._means[b][name]
        decided = (low_a == high_a) & (low_b == high_b)
        questions = int(decided.sum())
        found = np.where(decided, low_b - low_a, 0.0)
        clusters = _numbered(self._units.clusters(self._unit)[decided])
        few = self._unit == "paper" and questions > 0 and 1 < clusters.max() + 1 < self._units.parameters.few_papers
        apart = self._unit == "question" and self._units.size("question") == self._questions
        mcnemar = name == "accuracy" and apart and self._single[a] and self._single[b]
        test = PairedTest(
            name="mcnemar_exact" if mcnemar else "clustered_t" if few else "sign_flip",
            p=None,
            p_holm=None,
            unit=self._unit,
            questions=questions,
            undecided=len(decided) - questions,
        )
        if questions and mcnemar:
            test["p"] = mcnemar_exact(int((found < 0).sum()), int((found > 0).sum()))
        elif questions:
            # A t test by few papers is never surer than flips of the questions' signs would be.
            flips.add(test, name, a, b, found, "question" if few else self._unit)
            test["p"] = clustered_t_test(found[decided], clusters) if few else None
        return PairMetric(difference=difference, test=test, needed=questions_needed(found[decided], clusters))


def adjust(pairs: Iterable[Pair]) -> None:
    """Fills `p_holm`: one family of tests is one metric over all these pairs, as they are printed together."""
    pairs = list(pairs)
    for name in tested_metrics():
        tests = [pair["metrics"][name]["test"] for pair in pairs if name in pair["metrics"]]
        for test, adjusted in zip(tests, holm([test["p"] for test in tests]), strict=True):
            test["p_holm"] = adjusted


def _numbered(codes: Indices) -> Indices:
    """Codes from 0 on without gaps, in the same order; like the inverse of `numpy.unique`, without sorting."""
    import numpy as np

    return np.asarray((np.cumsum(np.bincount(codes) > 0) - 1)[codes])


def _shared(tables: Iterable[Table]) -> set[str]:
    """Ids of the questions that all tables have."""
    return set.intersection(*({question.id for question in table.questions} for table in tables))


def _restrict(table: Table, ids: set[str]) -> Table:
    """The answers to these questions alone."""
    return table.to([number for number, question in enumerate(table.questions) if question.id in ids])


def _question_means(table: Table, values: Floats) -> Floats:
    """Each question's mean over its answers."""
    import numpy as np

    sums = grouped_sums(table.question, values, len(table.questions))
    return sums / grouped_sums(table.question, np.ones_like(values), len(table.questions))


def _without_tokens(table: Table) -> int:
    import numpy as np

    return int(np.isnan(table.answers.tokens).sum())
