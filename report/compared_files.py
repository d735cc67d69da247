"""Runs beside each other for other programs: what `core.scoring.compare` found, in Markdown and as CSV.

Contract: Markdown has the tables of the terminal, with every name in full and all pairs; CSV has the numbers as they
are, unrounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from livek12.core.scoring.metrics import ranking_metrics
from livek12.core.tables import csv_text
from livek12.report.compared import (
    COUNTS,
    USAGE,
    Column,
    counted,
    heading,
    numbered,
    of_usage,
    pair_columns,
    pairs_heading,
    remarks,
    run_columns,
)
from livek12.report.deltas import HEADINGS, ShownDelta, shown_deltas
from livek12.report.markup import clean
from livek12.report.ranking import is_known, ranking, verdict

if TYPE_CHECKING:
    from livek12.core.scoring import Comparison
    from livek12.core.scoring.schema import Estimate, PairMetric, RunUsage, TaskComparison

_USED = ("tokens_a_second", "busy", "watt_hours", "watt_hours_per_mark_low", "watt_hours_per_mark_high")
_ENDS = ("low", "high", "ci_low", "ci_high", "rank_best", "rank_worst", "p", "p_holm", "questions_needed")


def as_markdown(result: Comparison) -> str:
    """All tables of a comparison."""
    blocks = [block for task, comparison in result["tasks"].items() for block in _markdown(task, comparison)]
    variants = [block for each in shown_deltas(result.get("variants", ())) for block in markdown_delta(each)]
    usage = list(_usage(result))
    return "\n\n".join([*blocks, *variants, *usage, *remarks(result)])


def _usage(result: Comparison) -> Iterator[str]:
    if usage := result.get("usage"):
        yield f"## {USAGE}"
        yield _markdown_table([Column("run", result["runs"], right=False), *of_usage(usage, result["runs"])])


def markdown_delta(delta: ShownDelta) -> Iterator[str]:
    """One Δ: a heading, its sentences, and a table for each axis."""
    yield f"## {_escaped(delta.title)}"
    yield "\n".join(f"- {_escaped(sentence)}" for sentence in delta.sentences)
    for axis, values in delta.tables.items():
        names = Column(axis, list(values), right=False)
        cells = zip(*values.values(), strict=True)
        yield _markdown_table(
            [names, *(Column(head, list(column)) for head, column in zip(HEADINGS, cells, strict=True))]
        )


def _markdown(task: str, comparison: TaskComparison) -> Iterator[str]:
    ranked = ranking(comparison)
    yield f"## {_escaped(heading(task, comparison))}"
    yield _escaped(verdict(ranked))
    columns = [column for group in run_columns(comparison, ranked) for column in group]
    yield _markdown_table([numbered(ranked), Column("run", ranked.names, right=False), *columns])
    if ranked.tests:
        yield f"{pairs_heading(ranked)}:"
        yield _markdown_table(pair_columns(ranked, list(ranked.tests)))


def _markdown_table(columns: Sequence[Column]) -> str:
    rows = [
        [_escaped(column.heading) for column in columns],
        ["--:" if column.right else ":--" for column in columns],
        *([_escaped(cell) for cell in row] for row in zip(*(column.cells for column in columns), strict=True)),
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*\[\]<>|#~])", r"\\\1", " ".join(clean(text).split()))


def as_csv(result: Comparison) -> str:
    """One table: a row a run, and below these a row a pair, which holds the differences `run` minus `minus`."""
    metrics = [name for name in ranking_metrics() if any(is_known(task, name) for task in result["tasks"].values())]
    usage = result.get("usage", {})
    used = _USED if usage else ()
    head = ["task", "run", "minus", *COUNTS, *(f"{m}_{end}" for m in metrics for end in _ENDS), *used]
    table: list[list[Any]] = [head]
    for task, comparison in result["tasks"].items():
        for name, counts in comparison["counts"].items():
            values = [value for metric in metrics for value in _ranked(comparison, metric, name)]
            values += _used(usage.get(name)) if usage else ()
            table.append([task, name, None, *(counted(counts, c) for c in COUNTS), *values])
        for pair in comparison["pairs"]:
            values = [value for metric in metrics for value in _tested(pair["metrics"].get(metric))]
            blank = [None] * (len(COUNTS) - 1)
            table.append([task, pair["b"], pair["a"], pair["shared"], *blank, *values, *[None] * len(used)])
    return csv_text(table)


def _ends(estimate: Estimate | None) -> list[float | None]:
    if estimate is None:
        return [None] * 4
    return [estimate["low"], estimate["high"], *(estimate["ci"] or (None, None))]


def _ranked(comparison: TaskComparison, metric: str, name: str) -> list[float | None]:
    ranks = comparison["ranks"].get(metric, {}).get(name, [None, None])
    return [*_ends(comparison["metrics"].get(metric, {}).get(name)), *ranks, None, None, None]


def _tested(found: PairMetric | None) -> list[float | None]:
    if found is None:
        return [None] * len(_ENDS)
    return [*_ends(found["difference"]), None, None, found["test"]["p"], found["test"]["p_holm"], found["needed"]]


def _used(usage: RunUsage | None) -> list[float | None]:
    """The figures of asking, as `_USED` names them: of the whole run, in the line of each of its tasks."""
    if usage is None:
        return [None] * len(_USED)
    asking = usage["asking"]
    return [
        asking["tokens_a_second"],
        asking["busy"],
        asking["watt_hours"],
        *(usage["watt_hours_per_mark"] or (None, None)),
    ]
