"""Registry of the reports' metrics, with all facts that tables, pages and studies need.

A metric with `terms` is computed for every task (`task_terms`) and appears in all reports.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from livek12.core.lazy import np
from livek12.core.scoring.formulas import BY_DESIGN, Term, Terms, exam_terms, mean_term
from livek12.core.scoring.outcomes import Table
from livek12.core.scoring.schema import Parameters, Profile
from livek12.core.statistics import Floats, Indices, pass_at_k

Scale = Literal["share", "out_of_100", "number"]


@dataclass(frozen=True)
class ReportMetric:
    """Metric, or a family of metrics.

    Attributes:
        name: as in report.json; that of a family ends in its sign ("pass@", "Acc≤").
        meaning: in English; in that of a family `{}` is the text after the sign.
        labels: its heading on the site by language, if it is not the name.
        scale: of its values: a share of one, points out of 100, or a number of its own.
        ranks: place among the ranking metrics, of which the first available one counts. None: not compared.
        on_site: shown on sites; compared metrics always are.
        tested: pairs of runs are tested on it.
        contrasted: differences between groups of questions and studies use it.
        terms: computes it for the answers of a task.
    """

    name: str
    meaning: str
    labels: Mapping[str, str] = field(default_factory=dict)
    scale: Scale = "share"
    ranks: int | None = None
    on_site: bool = False
    tested: bool = False
    contrasted: bool = False
    terms: Callable[[Table, Profile, Parameters], Terms] | None = None

    @property
    def is_family(self) -> bool:
        """True if the name is a prefix of several names."""
        return self.name.endswith(_SIGNS)


_SIGNS: Final = ("@", "≤")
_METRICS: Final[dict[str, ReportMetric]] = {}


def register(metric: ReportMetric) -> ReportMetric:
    """Adds a metric, or replaces the one of its name."""
    _METRICS[metric.name] = metric
    return metric


def metrics() -> tuple[ReportMetric, ...]:
    """All metrics in order of registration."""
    return tuple(_METRICS.values())


def metric_of(name: str) -> ReportMetric:
    """Metric of that name, or its family; a share if unregistered."""
    if (metric := _METRICS.get(name)) is not None:
        return metric
    ends = max(map(name.rfind, _SIGNS)) + 1
    return _METRICS.get(name[:ends]) or ReportMetric(name, "")


def meaning_of(name: str) -> str:
    """Meaning of a metric in English."""
    metric = metric_of(name)
    return metric.meaning.format(name.removeprefix(metric.name))


def ranking_metrics() -> tuple[str, ...]:
    """Compared metrics; the first available one ranks."""
    compared = [metric for metric in metrics() if metric.ranks is not None]
    return tuple(metric.name for metric in sorted(compared, key=lambda metric: metric.ranks or 0))


def site_metrics() -> tuple[str, ...]:
    """Metrics on sites."""
    return (*ranking_metrics(), *(metric.name for metric in metrics() if metric.on_site and metric.ranks is None))


def tested_metrics() -> tuple[str, ...]:
    """Metrics that pairs of runs are tested on."""
    return tuple(metric.name for metric in metrics() if metric.tested)


def contrasted_metrics() -> tuple[str, ...]:
    """Metrics of differences between groups of questions."""
    return tuple(metric.name for metric in metrics() if metric.contrasted)


def on_pages() -> dict[str, dict[str, Any]]:
    """Facts for the site's scripts, by metric."""
    return {name: {"scale": metric_of(name).scale, "labels": dict(metric_of(name).labels)} for name in site_metrics()}


_MARK: Final = {"en": "mark of 100", "zh": "得分（满分100）", "ko": "점수(100점)"}
_ACCURACY: Final = {"en": "fully right, %", "zh": "完全正确，%", "ko": "정답률, %"}
_PROCESS: Final = "process score: points for correct outcomes, less those for process errors"
_EXAM: Final = "exam score: outcome and process together"
for _metric in (
    ReportMetric("accuracy", "answers that are fully correct", _ACCURACY, ranks=1, tested=True, contrasted=True),
    ReportMetric("mark", "points earned out of 100", _MARK, "out_of_100", ranks=0, tested=True, contrasted=True),
    ReportMetric("OCS", "outcome score: points earned out of 100", scale="out_of_100"),
    ReportMetric("PES", _PROCESS, scale="out_of_100", ranks=2, tested=True, contrasted=True),
    ReportMetric("OES", _EXAM, scale="out_of_100", ranks=2, tested=True, contrasted=True),
    ReportMetric("ARL", "accuracy weighted by brevity; may exceed 1", scale="number", ranks=2, tested=True),
    ReportMetric("variable_accuracy", "answer variables that are right", ranks=2, tested=True),
    ReportMetric("question_accuracy", "questions with every variable right", ranks=2),
    ReportMetric("Acc≤", "fully correct within {} of the token limit"),
    ReportMetric("pass@1", "an answer is fully correct", on_site=True),
    ReportMetric("pass@", "one of {} answers is fully correct"),
):
    register(_metric)


def task_terms(table: Table, profile: Profile, parameters: Parameters) -> Terms:
    """All metrics of a table: the exam's, CFE-Bench's two where there are variables, registered ones, and pass@k."""
    terms = exam_terms(table.answers, profile, parameters)
    if table.variables is not None:
        terms["variable_accuracy"] = mean_term(table.variables, table.answers)
        terms["question_accuracy"] = terms["accuracy"]
    for metric in metrics():
        if metric.terms is not None:
            terms |= metric.terms(table, profile, parameters)
    terms |= _pass_terms(table)
    if table.rows.predicted is None:
        return terms
    return {**dict.fromkeys(terms, BY_DESIGN), **table.rows.predicted}


EACH_K = 16
"""pass@k is given for each k up to here, then for powers of two."""


def pass_sizes(trials: int) -> list[int]:
    """K of pass@k: each up to 16, powers of two above, and the number of trials."""
    powers = (1 << power for power in range(EACH_K.bit_length(), trials.bit_length()))
    return sorted({*range(1, min(trials, EACH_K) + 1), *powers, trials} - {0})


def _pass_terms(table: Table) -> Terms:
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
        # The same array where nothing is undecided (8 MB a million answers).
        best = worst if np.array_equal(low, high) else spread(high)
        terms[f"pass@{k}"] = Term(worst, best, weight, by_trial=False)
    return terms
