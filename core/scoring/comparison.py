"""Comparison of runs, each and pair by pair on the questions that both have; and of task variants (Δ).

The sign-flip tests of many pairs are batched: each p is that of `core.statistics.sign_flip_tests` on the pair's
differences, with undecided ones as 0. Flipped sums are linear, so the matrix of signs (questions × permutations) is
multiplied with each run once, not with each pair. Pairs with differences near rounding error, or few enough to try all
patterns, are tested alone.

Δ is variant minus base, paired by id, else by the question it was made from (`SlimQuestion.source`); translations by
their original. Several variants of one question count as its trials; points and axes are the base's. p-values of a
metric are adjusted over the values of each axis (Holm).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from math import erfc, sqrt
from typing import NamedTuple

from livek12.core.errors import UserError
from livek12.core.groups import grouped
from livek12.core.lazy import np
from livek12.core.scoring.estimates import NORMAL, Draw, Units, draw, estimates, question_groups
from livek12.core.scoring.formulas import Term, arl_term, no_tokens
from livek12.core.scoring.metrics import contrasted_metrics, task_terms, tested_metrics
from livek12.core.scoring.outcomes import Outcome, Outcomes, SlimQuestion, Table, count, ranked, tabulate
from livek12.core.scoring.ranks import rank_ranges
from livek12.core.scoring.schema import (
    FORMULAS,
    INTERVALS,
    Comparison,
    Delta,
    DeltaGroup,
    Estimate,
    Pair,
    PairedTest,
    PairMetric,
    Parameters,
    Profile,
    TaskComparison,
    Unit,
    parameters_of,
)
from livek12.core.statistics import (
    FEW_FLIPS,
    Floats,
    Indices,
    clustered_t_test,
    flip_p,
    flip_signs,
    grouped_sums,
    holm,
    mcnemar_exact,
    questions_needed,
    seen_sum,
    sign_flip_tests,
)

PERMUTATIONS = 9999
_AT_ONCE = 2**23
"""Differences that are tested at once: 64 MiB."""
_SUMS_AT_ONCE = 2**22
"""Flipped sums that are held at once: 32 MiB."""
_ROUNDING = 16 * 2.0**-52
"""Times √n · Σ|m|: how far a sum of n numbers m may be off (Higham & Mary 2019, with room)."""

Means = Mapping[str, Mapping[str, "tuple[Floats, Floats]"]]
"""By run and metric the mean of each question, at worst and at best."""


class _Waiting(NamedTuple):
    test: PairedTest
    a: str
    b: str
    total: float
    seen: float
    squares: float


class Flips:
    """Batch of pending tests."""

    def __init__(self, units: Units, means: Means) -> None:
        self._units, self._means = units, means
        self._alone: dict[Unit, list[tuple[PairedTest, Floats]]] = {"paper": [], "question": []}
        self._together: defaultdict[Unit, defaultdict[str, list[_Waiting]]]
        self._together = defaultdict(lambda: defaultdict(list))
        self._sizes: dict[tuple[str, str], float] = {}

    def add(self, test: PairedTest, metric: str, a: str, b: str, difference: Floats, unit: Unit) -> None:
        """Tests b - a, summed within the unit, now or later; an existing p may only rise."""
        size = self._units.size(unit)
        d = grouped_sums(self._units.clusters(unit), difference, size)
        slack = 1e-9 * float(np.abs(d).sum())
        rounding = _ROUNDING * len(difference) ** 0.5 * (self._size(metric, a) + self._size(metric, b))
        if np.count_nonzero(d) > FEW_FLIPS and rounding < slack / 8:
            waiting = _Waiting(test, a, b, float(d.sum()), float(seen_sum(d)), float((d**2).sum()))
            self._together[unit][metric].append(waiting)
            return
        self._alone[unit].append((test, d))
        if len(self._alone[unit]) * size >= _AT_ONCE:
            self._test_alone()

    def _size(self, metric: str, run: str) -> float:
        if (metric, run) not in self._sizes:
            self._sizes[metric, run] = float(np.abs(self._means[run][metric][0]).sum())
        return self._sizes[metric, run]

    def test(self, tell: Callable[[float], None] = lambda share: None) -> None:
        """Runs the pending tests; `tell` receives the finished share (0 to 1)."""
        self._test_alone()
        for number, (unit, by_metric) in enumerate(self._together.items()):
            clusters, groups = self._units.clusters(unit), self._units.size(unit)
            tests = [_Together(waiting, metric, self._means, clusters, groups) for metric, waiting in by_metric.items()]
            tried = 0
            for signs in flip_signs(groups, PERMUTATIONS, self._units.parameters.seed):
                for each in tests:
                    each.count(signs)
                tried += len(signs)
                tell((number + tried / PERMUTATIONS) / len(self._together))
            for each in tests:
                each.tell()
        self._together.clear()

    def _test_alone(self) -> None:
        for waiting in self._alone.values():
            if waiting:
                differences = np.column_stack([difference for _, difference in waiting])
                p_values = sign_flip_tests(differences, permutations=PERMUTATIONS, seed=self._units.parameters.seed)
                for (test, _), p in zip(waiting, p_values, strict=True):
                    _raise(test, p)
            waiting.clear()


def _raise(test: PairedTest, p: float) -> None:
    test["p"] = max(p, test["p"] or 0.0)


@dataclass
class _First:
    """Pairs with one first run: tests, second runs and counts."""

    waiting: list[_Waiting]
    others: Indices
    total: Floats
    seen: Floats
    hits: Floats


class _Together:
    """Pending pairs of one metric, with R runs."""

    def __init__(self, waiting: Sequence[_Waiting], metric: str, means: Means, clusters: Indices, groups: int) -> None:
        self._clusters = clusters
        place = {name: i for i, name in enumerate(dict.fromkeys(name for each in waiting for name in (each.a, each.b)))}
        ends = [means[name][metric] for name in place]
        self._decided = np.column_stack([np.where(low == high, low, 0.0) for low, high in ends])  # (questions, R)
        self._open = {i: np.flatnonzero(low != high) for i, (low, high) in enumerate(ends) if (low != high).any()}
        self._sums = np.column_stack([grouped_sums(clusters, column, groups) for column in self._decided.T])
        by_first = grouped((place[each.a], each) for each in waiting)
        self._firsts = {
            a: _First(
                waiting=pending,
                others=np.array([place[each.b] for each in pending], dtype=np.intp),
                total=np.array([each.total for each in pending]),
                seen=np.array([each.seen for each in pending]),
                hits=np.zeros(len(pending)),
            )
            for a, pending in by_first.items()
        }

    def count(self, signs: Floats) -> None:
        """Counts the patterns, shape (patterns, groups), whose sum is at least the observed one."""
        step = max(1, _SUMS_AT_ONCE // self._sums.shape[1] ** 2)
        for start in range(0, len(signs), step):
            some = signs[start : start + step]
            flipped = some @ self._sums  # (patterns, R)
            without = {a: some[:, self._clusters[open]] @ self._decided[open] for a, open in self._open.items()}
            for a, first in self._firsts.items():
                sums = flipped[:, first.others] - flipped[:, a, None]
                if a in without:
                    sums -= without[a][:, first.others]
                for column, b in enumerate(first.others.tolist()):
                    if b in without:
                        sums[:, column] += without[b][:, a]
                first.hits += np.count_nonzero(np.abs(2 * sums - first.total) >= first.seen, axis=0)

    def tell(self) -> None:
        for first in self._firsts.values():
            squares = np.array([each.squares for each in first.waiting])
            for each, p in zip(first.waiting, flip_p(first.hits, PERMUTATIONS, first.total, squares), strict=True):
                _raise(each.test, float(p))


def modality_difference(
    standard: Outcomes, image_only: Outcomes, subset: str | None, profile: Profile, parameters: Parameters
) -> dict[str, Estimate]:
    """Image-only minus standard modality, by metric, on the same questions (LiveK12Bench, section 3.2).

    `subset` restricts it to a subset; None: all shared questions.
    """

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
    """Refuses tables with different points for a question."""
    for question, other in zip(a.questions, b.questions, strict=True):
        if question.points != other.points:
            raise UserError(
                f"question {question.id} is worth {question.points} points in one run and {other.points} in the other:"
                " they used different data, so score both on one revision"
            )


def differences(a: Mapping[str, Draw], b: Mapping[str, Draw], names: Iterable[str]) -> dict[str, Draw]:
    """Differences b - a of the named metrics of both, on the same questions by the same unit."""
    return {name: a[name].minus(b[name]) for name in names if name in a and name in b}


class Watch:
    """Observer of a comparison's progress; does nothing."""

    def step(self) -> None:
        """Counts one run of one task, or one pair that shares questions."""

    def flipped(self, share: float) -> None:
        """Takes the tried share (0 to 1) of the pending signs."""


def compare_outcomes(
    runs: Mapping[str, Iterable[Outcome]],
    profile: Profile = "article",
    parameters: Parameters | None = None,
    watch: Watch | None = None,
) -> Comparison:
    """Compares runs, task by task, reporting progress to `watch`.

    Metrics of a run are over all its questions; differences (b - a) over the shared questions, with their correlation.
    p-values: exact McNemar for the accuracy of single trials by question, else sign flips of the units' differences, or
    a t test by papers where these are few; adjusted (Holm) over all pairs of all tasks by metric. Under profile
    `release` the ARL is `release_arl`.
    """
    watch = watch or Watch()
    if len(runs) < 2:
        raise UserError("a comparison needs at least two runs: name another one")
    parameters = parameters or parameters_of(profile)
    by_task: defaultdict[str, dict[str, Outcomes]] = defaultdict(dict)
    for name, outcomes in runs.items():
        for task_name, rows in Outcomes.of(outcomes).by_task().items():
            by_task[task_name][name] = rows
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


def release_arl(tables: Mapping[str, Table], parameters: Parameters) -> dict[str, Estimate]:
    """ARL of the release profile on one task: mean of S·(1 + 0.1·ln(l̄/l)) over the questions all models share.

    l̄ is, question by question, the mean over the models of their mean completion tokens over trials. Where any answer
    lacks its token count there is no ARL.
    """
    shared = _shared(tables.values())
    left_out = len({q.id for table in tables.values() for q in table.questions}) - len(shared)
    if shared:
        tables = {name: _restrict(table, shared) for name, table in tables.items()}
    missing = sum(int(np.isnan(table.answers.tokens).sum()) for table in tables.values())
    arls: dict[str, Term | str]
    if not shared:
        arls = dict.fromkeys(tables, "the models share no question")
    elif missing:
        arls = dict.fromkeys(tables, no_tokens(missing))
    else:
        note = f"{left_out} questions that not all models have are left out" if left_out else None
        means = [_question_means(table, table.answers.tokens) for table in tables.values()]
        mean = np.mean(means, axis=0)
        arls = {
            name: replace(arl_term(table.answers, mean[table.question], parameters.length_weight), note=note)
            for name, table in tables.items()
        }
    draws: dict[str, Draw] = {}
    for names in _alike(tables):
        units = Units(tables[names[0]].questions, parameters)
        for name in names:
            draws |= draw({name: arls[name]}, tables[name], units)
    return estimates({name: draws[name] for name in tables})


def paired(a: Table, b: Table, profile: Profile, parameters: Parameters) -> Pair:
    """Difference b - a on the same questions, with intervals and tests."""
    return _Sides({"a": a, "b": b}, profile, parameters).compare([("a", "b")], Watch())["a", "b"]


def compare_tables(
    tables: Mapping[str, Table],
    profile: Profile,
    parameters: Parameters,
    couples: Collection[tuple[str, str]] | None = None,
    watch: Watch | None = None,
) -> TaskComparison:
    """Compares the tables of one task, before p-values are adjusted and ranks are derived.

    `couples` are the pairs to compare, each in the order of `tables`; None: all.
    """
    watch = watch or Watch()
    wanted = list(combinations(tables, 2)) if couples is None else list(couples)
    alike = _alike(tables)
    place = {name: index for index, names in enumerate(alike) for name in names}
    between: defaultdict[tuple[int, int], list[tuple[str, str]]] = defaultdict(list)
    adaptive = {name for name, table in tables.items() if table.rows.predicted is not None}
    by_metric: dict[str, dict[str, Estimate]] = {}
    pairs: dict[tuple[str, str], Pair] = {}
    for a, b in wanted:
        if adaptive.isdisjoint((a, b)):
            between[place[a], place[b]].append((a, b))
        else:
            pairs[a, b] = _compare_predicted(a, b, tables, profile, parameters)
    # Each run is drawn once, however often it is compared.
    for index, names in enumerate(alike):
        sides = _Sides({name: tables[name] for name in names}, profile, parameters, watch)
        by_metric |= sides.metrics
        pairs |= sides.compare(between.pop((index, index), []), watch)
    for unlike in between.values():
        pairs |= _compare_unlike(unlike, tables, profile, parameters, watch)
    metrics: defaultdict[str, dict[str, Estimate]] = defaultdict(dict)
    for name in tables:
        for metric, estimate in by_metric[name].items():
            metrics[metric][name] = estimate
    if profile == "release" and len(tables) > 1:
        metrics["ARL"] = release_arl(tables, parameters)
    return TaskComparison(
        counts={name: count(table) for name, table in tables.items()},
        metrics=dict(metrics),
        pairs=[pairs[names] for names in wanted],
        ranks={},  # once all tasks are there
    )


def _compare_predicted(a: str, b: str, tables: Mapping[str, Table], profile: Profile, parameters: Parameters) -> Pair:
    """Pair with an adaptive exam: its predicted mark and the other run's, independent.

    No difference where the other run lacks questions of the bank.
    """
    shared = len(_shared([tables[a], tables[b]]))
    only_a, only_b = (len(tables[name].questions) - shared for name in (a, b))
    terms = [term for name in (a, b) for term in (tables[name].rows.predicted or {}).values()]
    draws = [_draws_of_bank(tables[name], terms[0].bank, profile, parameters) if terms else {} for name in (a, b)]
    drawn = differences(draws[1], draws[0], tested_metrics())
    metrics = {name: _predicted_test(each) for name, each in drawn.items() if each.low is not None}
    return Pair(a=a, b=b, shared=shared, only_a=only_a, only_b=only_b, metrics=metrics)


def _draws_of_bank(table: Table, bank: frozenset[str], profile: Profile, parameters: Parameters) -> dict[str, Draw]:
    if table.rows.predicted is None:
        if bank - {question.id for question in table.questions}:
            return {}
        table = _restrict(table, {*bank})
    elif any(term.bank != bank for term in table.rows.predicted.values()):
        return {}
    return draw(task_terms(table, profile, parameters), table, Units(table.questions, parameters))


def _predicted_test(difference: Draw) -> PairMetric:
    low, high, below, above = difference.low or 0.0, difference.high or 0.0, difference.below, difference.above
    off = max(low, -high, 0.0)
    reach = below if low > 0 else above
    p = erfc(off / reach * NORMAL / sqrt(2)) if reach else None
    test = PairedTest(name="predicted", p=p, p_holm=None, unit="question", questions=difference.clusters, undecided=0)
    return PairMetric(difference=estimates({"": difference})[""], test=test, needed=None)


def _alike(tables: Mapping[str, Table]) -> list[list[str]]:
    groups = grouped((table.questions, name) for name, table in tables.items())
    return list(groups.values())


def _compare_unlike(
    couples: Sequence[tuple[str, str]],
    tables: Mapping[str, Table],
    profile: Profile,
    parameters: Parameters,
    watch: Watch,
) -> dict[tuple[str, str], Pair]:
    """Pairs whose first runs have one set of questions and second runs another, on shared questions."""
    shared = _shared([tables[name] for name in couples[0]])
    if shared:
        names = dict.fromkeys([*(a for a, _ in couples), *(b for _, b in couples)])
        restricted = {name: _restrict(tables[name], shared) for name in names}
        pairs = _Sides(restricted, profile, parameters).compare(couples, watch)
    else:
        pairs = {(a, b): Pair(a=a, b=b, shared=0, only_a=0, only_b=0, metrics={}) for a, b in couples}
    for a, b in couples:
        pairs[a, b]["only_a"] = len(tables[a].questions) - len(shared)
        pairs[a, b]["only_b"] = len(tables[b].questions) - len(shared)
    return pairs


class _Sides:
    def __init__(
        self, tables: Mapping[str, Table], profile: Profile, parameters: Parameters, watch: Watch | None = None
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
            tested = [metric for metric in tested_metrics() if isinstance(terms.get(metric), Term)]
            self._draws[name] = {metric: draws[metric] for metric in tested}
            self._means[name] = {
                metric: (_question_means(table, term.low), _question_means(table, term.high))
                for metric in tested
                if isinstance(term := terms[metric], Term)
            }
            if watch is not None:
                watch.step()

    def compare(self, couples: Iterable[tuple[str, str]], watch: Watch) -> dict[tuple[str, str], Pair]:
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
        return {name: self._tested(name, estimate, a, b, flips) for name, estimate in estimates(drawn).items()}

    def _tested(self, name: str, difference: Estimate, a: str, b: str, flips: Flips) -> PairMetric:
        (low_a, high_a), (low_b, high_b) = self._means[a][name], self._means[b][name]
        decided = (low_a == high_a) & (low_b == high_b)
        questions = int(decided.sum())
        values = np.where(decided, low_b - low_a, 0.0)
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
            test["p"] = mcnemar_exact(int((values < 0).sum()), int((values > 0).sum()))
        elif questions:
            # A t test by few papers is never surer than flips of the questions' signs would be.
            flips.add(test, name, a, b, values, "question" if few else self._unit)
            test["p"] = clustered_t_test(values[decided], clusters) if few else None
        return PairMetric(difference=difference, test=test, needed=questions_needed(values[decided], clusters))


def adjust(pairs: Iterable[Pair]) -> None:
    """Fills `p_holm`; a family of tests is one metric over all these pairs."""
    pairs = list(pairs)
    for name in tested_metrics():
        tests = [pair["metrics"][name]["test"] for pair in pairs if name in pair["metrics"]]
        for test, adjusted in zip(tests, holm([test["p"] for test in tests]), strict=True):
            test["p_holm"] = adjusted


def _numbered(codes: Indices) -> Indices:
    """Inverse of `numpy.unique`, without sorting."""
    return np.asarray((np.cumsum(np.bincount(codes) > 0) - 1)[codes])


def _shared(tables: Iterable[Table]) -> set[str]:
    return set.intersection(*({question.id for question in table.questions} for table in tables))


def _restrict(table: Table, ids: set[str]) -> Table:
    return table.to([number for number, question in enumerate(table.questions) if question.id in ids])


def _question_means(table: Table, values: Floats) -> Floats:
    sums = grouped_sums(table.question, values, len(table.questions))
    return sums / grouped_sums(table.question, np.ones_like(values), len(table.questions))


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
    """Δ between languages of multilingual questions; tasks in a group of `alike` differ only in questions."""
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
    """Δ of a variant and its base; None where they share no question.

    Questions are paired by `key`, unpaired ones of the variant by that of their source.
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
    """Of each question, only the first task's answers."""
    question = ranked([item.id for item in rows.questions], rows.question)
    task = ranked(rows.tasks, rows.task)
    first = np.unique(question, return_index=True)[1]
    return rows.take(np.flatnonzero(task == task[first][question]))


def _as_one(rows: Outcomes, key: Callable[[SlimQuestion], str], shared: Mapping[str, SlimQuestion]) -> Outcomes:
    """Keyed by the base's questions, with trials numbered anew."""
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
