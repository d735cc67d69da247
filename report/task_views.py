"""A task's numbers for the page, from report.json in the words of `marks`."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from livek12.core.scoring.metrics import meaning_of, metric_of, metrics, ranking_metrics
from livek12.report import budgets, marks
from livek12.report.paper import ERRORS

TOKEN_KINDS = {
    "prompt": "read",
    "cached": "read from cache",
    "completion": "written",
    "reasoning": "of these, thinking",
}
MOST_GROUPS = 200
"""Groups of an axis on the page; report.json has all."""


def task_view(name: str, task: Mapping[str, Any], run: str, engine: str) -> dict[str, Any]:
    """A task; `run` names the run folder in commands."""
    mark = marks.shown("mark", task["metrics"]["mark"])
    return {
        "name": name,
        "questions": task["counts"]["questions"],
        "basis": marks.basis(task["counts"], engine),
        "notes": marks.counts_notes(task, run, engine),
        "still": sum(task["counts"][state] for state in ("ungraded", "failed")),
        "mark": mark,
        "sentence": marks.mark_sentence(task),
        "endings": marks.endings_sentence(task["counts"], task.get("context_cut")),
        "points": None if task["points"] is None else marks.points(task["points"]),
        "axes": [_axis_view(axis, groups) for axis, groups in marks.axes(task)],
        "beside": _beside_mark(task, mark),
        "metrics": _metrics(task["metrics"]),
        "not_available": marks.not_available(task["metrics"]),
        "deltas": delta_views(task["deltas"]),
        "tokens": [
            _token_row(TOKEN_KINDS[kind], use) for kind, use in task["tokens"].items() if use["mean"] is not None
        ],
        "cache": marks.cache_sentence(task),
        "thinking": marks.thinking_sentence(task),
        "process_errors": task["process_errors"],
        "error_kinds": ERRORS,
        "decided_by": {marks.decider(by): parts for by, parts in task["decided_by"].items()},
    }


def _beside_mark(task: Mapping[str, Any], mark: marks.ShownValue) -> list[dict[str, Any]]:
    """The metrics beside the mark: positions, and numbers of answers on which they differ."""
    against = task.get("against_mark") or {}
    last = max((name for name in against if name.startswith("pass@")), key=lambda name: int(name[5:]), default="")
    views = []
    for name in (*ranking_metrics(), *([last] if last not in ("", "pass@1") else [])):
        if name not in against or (name == "question_accuracy" and "accuracy" in against):
            continue
        value = marks.shown(name, task["metrics"][name])
        if value.low is None or value.high is None or mark.low is None:
            continue
        both = value.decided and mark.decided
        views.append(
            {
                "name": name,
                "meaning": meaning_of(name),
                "shown": value,
                "unit": _unit(name),
                "minus": marks.signed(value.low - mark.low) if both else "",
                "answers": _against_sentence(against[name]),
            }
        )
    return views


def _against_sentence(beside: Mapping[str, Any]) -> str:
    """Number of answers on which a metric differs from the mark."""
    unit = beside["unit"]
    parts = [
        f"{beside[what]:,} {unit}{' counts' if beside[what] == 1 else 's count'} for {how}"
        for what, how in (("less", "less"), ("more", "more"))
        if beside[what]
    ]
    still = f"{beside['open']:,} open" if beside["open"] else ""
    if not parts:
        parts = ["all count alike"] if not still else [f"{beside['same']:,} count alike"] if beside["same"] else []
    return ", ".join(filter(None, (*parts, still)))


def budget_view(name: str, curve: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Marks within token budgets."""
    table = budgets.lines(curve)
    return {
        "name": name,
        "open": any(line.true for line in table[:-1]),
        "limit": f"{parameters['token_limit']:,.0f}",
        "lines": table,
        "plot": budgets.plot(curve),
        "notes": budgets.notes(table),
        "undecided": any(estimate and not estimate.decided for line in table for estimate in (line.true, line.cut)),
        "true_means": curve["true_means"],
        "counterfactual_means": curve["counterfactual_means"],
    }


def _axis_view(axis: str, groups: Mapping[str, Any]) -> dict[str, Any]:
    shown = dict(islice(groups.items(), MOST_GROUPS))
    return {
        "more": len(groups) - len(shown),
        "name": axis.replace("_", " "),
        "main": axis in ("subject", "question_type"),
        "groups": [
            {
                "name": marks.group_name(axis, str(value)),
                "questions": group["questions"],
                "points": None if group["points"] is None else marks.points(group["points"]),
                "mark": mark,
                "open": marks.undecided(group["counts"]),
            }
            for (value, group), mark in zip(shown.items(), marks.group_marks(shown.values()), strict=True)
        ],
    }


def _metrics(metrics: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {"name": name, "meaning": meaning_of(name), "shown": marks.shown(name, estimate), "unit": _unit(name)}
        for name, estimate in metrics.items()
        if estimate["low"] is not None
    ]


def _unit(metric: str) -> str:
    return "%" if metric_of(metric).scale == "share" else ""


def delta_views(deltas_of: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Differences between groups or tasks."""
    names = tuple(metric.name for metric in metrics())
    views = []
    for name, estimate in deltas_of.items():
        metric = next((piece for piece in name.split("/") if piece.startswith(names)), name)
        if metric != "OCS" and not metric_of(metric).is_family:
            views.append(
                {"name": name.replace("/", " · "), "unit": _unit(metric), "shown": marks.shown(metric, estimate)}
            )
    return views


def _token_row(kind: str, use: Mapping[str, Any]) -> dict[str, str]:
    return {
        "kind": kind,
        "sum": f"{use['sum']:,}",
        "mean": marks.number(use["mean"], 0),
        "median": marks.number(use["median"], 0),
        "missing": str(use["missing"] or ""),
    }
