"""`livek12 compare`: runs beside each other, with intervals, and pair by pair with paired tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from livek12.core.errors import UserError
from livek12.core.records import Question
from livek12.scripts import options

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.table import Table

    from livek12.core.scoring import Comparison, Row
    from livek12.core.scoring.schema import Estimate, Pair, TaskComparison

app = options.command()

_FIRST = ("mark", "accuracy", "PES", "OES", "ARL", "variable_accuracy", "question_accuracy")
_FEW = 6


@app.command()
def compare(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, two or more.")],
    where: Annotated[str, typer.Option("--where", help="Only some questions: FIELD=VALUE[,VALUE].")] = "",
    profile: options.Profile = "paper",
    as_json: options.Json = False,
) -> None:
    """Compare runs: table, intervals, paired tests."""
    from livek12.core.run_folder import RunFolder
    from livek12.core.scoring import compare as compare_rows
    from livek12.scripts.pipeline import profile_of
    from livek12.scripts.progress import warn
    from livek12.scripts.run_names import run_names

    formulas = profile_of(profile)
    wanted = _filter(where)
    folders = {name: RunFolder.open(path, warn) for name, path in run_names(runs).items()}
    rows = {name: [row for row in folder.rows() if wanted(row)] for name, folder in folders.items()}
    if not all(rows.values()):
        raise UserError(f"no questions where {where} in {', '.join(name for name in rows if not rows[name])}")
    result = compare_rows(rows, formulas)
    if as_json:
        typer.echo(json.dumps(result, ensure_ascii=False, indent=1))
    else:
        show(result)


def _filter(where: str) -> Callable[[Row], bool]:
    """The test that `--where` names, on a field of the question."""
    if not where:
        return lambda row: True
    field, _, listed = where.partition("=")
    values = {value.strip() for value in listed.split(",")}
    if field not in Question.model_fields or not listed:
        raise UserError(f"--where {where!r}: write FIELD=VALUE[,VALUE] with a field of a question, such as subject")
    return lambda row: str(getattr(row.question, field)) in values


def show(result: Comparison) -> None:
    """Prints the tables of a comparison."""
    from rich.console import Console

    console = Console()
    for task, comparison in result["tasks"].items():
        console.print(_table(f"{task} (profile {result['profile']})", comparison))
        for name in _FIRST[:2]:
            if comparison["pairs"] and name in comparison["pairs"][0]["metrics"]:
                console.print(_pairs(name, comparison["pairs"]))
                break


def _table(title: str, comparison: TaskComparison) -> Table:
    from rich.table import Table

    metrics = [name for name in _FIRST if any(_known(e) for e in comparison["metrics"].get(name, {}).values())]
    table = Table("run", *metrics, "undecided", "no answer", "failed", "unsupported", title=title)
    for run, counts in comparison["counts"].items():
        cells = [_estimate(comparison["metrics"][name].get(run)) for name in metrics]
        states = (counts["ungraded"], counts["no_answer"], counts["failed"], counts["unsupported"])
        table.add_row(run, *cells, *(str(state) for state in states))
    return table


def _pairs(metric: str, pairs: list[Pair]) -> Table:
    """All pairs, or where there are many those that differ; `--json` has them all."""
    from rich.table import Table

    shown = pairs if len(pairs) <= _FEW else [pair for pair in pairs if _differ(pair, metric)]
    title = f"{metric}, pair by pair"
    if len(shown) < len(pairs):
        title += f": the {len(shown)} of {len(pairs)} that differ (p < 0.05 after Holm); --json has all"
    table = Table("a", "b", "b - a", "p", "p (Holm)", "shared", "undecided", title=title)
    for pair in shown:
        found = pair["metrics"][metric]
        test = found["test"]
        values = (_p(test["p"]), _p(test["p_holm"]), str(pair["shared"]), str(test["undecided"]))
        table.add_row(pair["a"], pair["b"], _estimate(found["difference"]), *values)
    return table


def _differ(pair: Pair, metric: str) -> bool:
    p = pair["metrics"][metric]["test"]["p_holm"]
    return p is not None and p < 0.05


def _known(estimate: Estimate) -> bool:
    return estimate["low"] is not None


def _estimate(estimate: Estimate | None) -> str:
    """The number or the interval of what is undecided, and in brackets the 95 % interval."""
    if estimate is None or estimate["low"] is None or estimate["high"] is None:
        return "–"
    low, high = estimate["low"], estimate["high"]
    digits = 1 if max(abs(low), abs(high)) > 2 else 3
    text = f"{low:.{digits}f}" if estimate["value"] is not None else f"{low:.{digits}f} to {high:.{digits}f}"
    return text if estimate["ci"] is None else f"{text} [{', '.join(f'{end:.{digits}f}' for end in estimate['ci'])}]"


def _p(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
