"""The report of a sweep, OUT/sweep.json and OUT/sweep.html: cells with hours and costs, comparison, sessions, gaps."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from livek12.core.errors import UserError
from livek12.core.files import write_atomically
from livek12.core.run.folder import RunFolder
from livek12.core.scoring.metrics import ranking_metrics
from livek12.core.scoring.schema import TaskComparison
from livek12.evaluation.sweep.plan import HTML_REPORT, JSON_REPORT, SweepPlan
from livek12.evaluation.sweep.status import Cell, CellState


def write_report(plan: SweepPlan, cells: Sequence[Cell], states: Mapping[str, CellState]) -> dict[str, Any]:
    """Writes both reports; returns the content of sweep.json."""
    comparison, why = _comparison(plan, states)
    report = {
        "sweep": json.loads(plan.sweep.model_dump_json()),
        "cells": [cell.as_json() for cell in cells],
        "missing": [missing for cell in cells if (missing := _missing(cell))],
        "totals": _totals(cells),
        "comparison": comparison,
        "not_compared": why,
        "sessions": {
            label: [session.model_dump(mode="json") for session in run.sessions] for label, run in states.items()
        },
    }
    try:
        plan.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{plan.out}: cannot be made ({error.strerror}); choose another `out`") from error
    write_atomically(plan.out / JSON_REPORT, json.dumps(report, ensure_ascii=False, indent=1) + "\n")
    _write_page(plan.out / HTML_REPORT, report, cells)
    return report


def _comparison(plan: SweepPlan, states: Mapping[str, CellState]) -> tuple[Any, str]:
    """The comparison of existing runs, or the reason without one."""
    from livek12.core.run_answers import read_answers
    from livek12.core.scoring import profile_named
    from livek12.core.scoring.comparison import compare_outcomes
    from livek12.core.scoring.outcomes import Slim
    from livek12.core.scoring.report import score_outcomes

    profile, slim = profile_named(plan.sweep.profile), Slim()
    begun = [run for run in plan.runs if states[run.label].tallies]
    if not begun:
        return None, "no run has begun"
    try:
        outcomes = {run.label: read_answers(RunFolder(run.folder), slim).outcomes for run in begun}
        if len(outcomes) > 1:
            return compare_outcomes(outcomes, profile), ""
        ((label, own),) = outcomes.items()
        scored = score_outcomes(own, profile)
    except UserError as error:
        return None, str(error)
    tasks = {
        task: {
            "counts": {label: report["counts"]},
            "metrics": {name: {label: estimate} for name, estimate in report["metrics"].items()},
            "pairs": [],
            "ranks": {},
        }
        for task, report in scored["tasks"].items()
    }
    head = {name: scored[name] for name in ("formulas", "profile", "intervals", "parameters")}
    return {**head, "runs": [label], "tasks": tasks}, ""


def _missing(cell: Cell) -> str:
    """Missing work of a cell in a line, or ""."""
    if cell.state == "done":
        return ""
    lacks = "nothing of it is there"
    if counts := cell.counts:
        lacks = f"{counts.asked - counts.answered} of {counts.asked} responses"
        lacks += f" and the verdicts of {counts.unjudged}" if counts.unjudged else ""
    return f"{cell.label}, {cell.task}: {lacks} ({cell.state}{': ' + cell.reason if cell.reason else ''})"


def _totals(cells: Sequence[Cell]) -> dict[str, Any]:
    """Sums over the cells; missing in a cell is missing in all, but for GPUs behind endpoints."""
    billed = [cell.bill for cell in cells if cell.bill]
    taken = [bill.counted for bill in billed]
    costs = [bill.cost for bill in billed]
    stated = [cost for cost in costs if cost is not None]
    return {
        "cells": len(cells),
        "done": sum(cell.state == "done" for cell in cells),
        "gpu_hours": None if None in taken else sum(gpu_hours or 0.0 for gpu_hours in taken),
        "hours": sum(bill.hours for bill in billed),
        "cost": sum(stated) if stated and len(stated) == len(costs) else None,
    }


def _write_page(path: Path, report: Mapping[str, Any], cells: Sequence[Cell]) -> None:
    from markupsafe import Markup

    from livek12.report.html import csp_hash, environment, read_template
    from livek12.report.marks import method_sentence, sentence
    from livek12.report.ranking import p_value

    style = read_template("ingest.css")
    page = (
        environment()
        .get_template("sweep.html.j2")
        .render(
            cells=[_cell_view(cell, report["comparison"]) for cell in cells],
            tasks=[
                _task_view(task, compared)
                for task, compared in ((report["comparison"] or {}).get("tasks") or {}).items()
            ],
            missing=report["missing"],
            not_compared=report["not_compared"],
            totals=report["totals"],
            method=sentence(method_sentence(report["comparison"])) if report["comparison"] else "",
            p_value=p_value,
            shared=sorted({cell.bill.shared_by for cell in cells if cell.bill}),
            hours=hours,
            money=money,
            style=Markup(style),
            style_hash=csp_hash(style),
        )
    )
    write_atomically(path, page.encode("utf-8", "replace").decode())


def _cell_view(cell: Cell, comparison: Any) -> dict[str, Any]:
    from livek12.report.marks import shown

    metrics = ((comparison or {}).get("tasks", {}).get(cell.task) or {}).get("metrics", {})
    mark = metrics.get("mark", {}).get(cell.label)
    return {"cell": cell, "mark": shown("mark", mark) if mark else None}


def _task_view(task: str, compared: TaskComparison) -> dict[str, Any]:
    from livek12.report.marks import shown
    from livek12.report.ranking import about, rank_range, ranking

    estimates = compared["metrics"]
    metrics = [
        name for name in ranking_metrics() if any(e["low"] is not None for e in estimates.get(name, {}).values())
    ]
    columns = [
        [shown(name, estimates[name][label]) if label in estimates[name] else None for label in compared["counts"]]
        for name in metrics
    ]
    ranked = ranking(compared)
    tested = next((name for name in ranking_metrics() for pair in compared["pairs"] if name in pair["metrics"]), None)
    pairs = [
        (
            pair["a"],
            pair["b"],
            shown(tested, pair_metric["difference"]),
            pair_metric["test"],
            about(pair_metric["needed"]),
            pair["shared"],
        )
        for pair in compared["pairs"]
        if tested and (pair_metric := pair["metrics"].get(tested))
    ]
    return {
        "name": task,
        "metrics": metrics,
        "rows": [
            (label, rank_range(ranked, label), [column[row] for column in columns])
            for row, label in enumerate(compared["counts"])
        ],
        "tested": tested,
        "pairs": pairs,
    }


def hours(value: float | None) -> str:
    """Hours with the decimals that seconds need."""
    return "–" if value is None else f"{value:.3f}"


def money(value: float | None) -> str:
    """An amount, or a dash."""
    return "–" if value is None else f"{value:.2f}" if value >= 1 or value == 0 else f"{value:.4f}"
