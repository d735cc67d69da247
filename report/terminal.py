"""Summary on the terminal: report.json in fewer words, without need of colour; narrow windows fold tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from livek12.core.lazy import rich
from livek12.core.run.spec import shown_model
from livek12.core.scoring.metrics import metrics as registered
from livek12.report import views
from livek12.report.marks import (
    INTERVAL,
    axes,
    basis,
    counts_notes,
    endings_sentence,
    group_marks,
    group_name,
    mark_sentence,
    method_sentence,
    shown,
    token_sentences,
)
from livek12.report.markup import clean

MAX_GROUPS = 20


def print_summary(
    score: Mapping[str, Any], console: rich.console.Console | None = None, *, run_name: str = "RUN"
) -> None:
    """Prints the marks of a run."""
    out = console or rich.console.Console()
    made = score.get("run", {})
    names = _in_asking_order(score, made)
    for name in names:
        task = score["tasks"][name]
        out.print()
        title = clean(f"{name}  {shown_model(made.get('model', ''), made.get('name', ''))}".strip())
        out.print(title, style="bold", markup=False, highlight=False)
        _print_mark(out, task, made.get("engine", ""))
        _print_counts(out, task, run_name, made.get("engine", ""))
        out.print(_metric_table(task["metrics"]))
        for axis, groups in axes(task):
            out.print()
            if len(groups) <= MAX_GROUPS:
                out.print(_group_table(axis, groups))
            else:
                out.print(
                    f"{axis.replace('_', ' ')}: {len(groups):,} groups, in report.html and report.json", style="dim"
                )
        out.print()
        for sentence in token_sentences(task):
            out.print(sentence, markup=False, highlight=False)
    print_exams(out, views.exam_views(score.get("exams", ())))
    for name, curve in views.budget_curves(score):
        _print_budgets(out, name, curve)
    print_deltas(out, score.get("variants", ()))
    beside = [line for part in ("adaptive", "corrected", "harness") for line in score.get(part, {}).get("lines", ())]
    for line in (*beside, *filter(None, [score.get("regraded", {}).get("line")])):
        out.print(clean(f"\n{line}"), markup=False, highlight=False)
    if by := ", ".join(
        f"{regrader['who']} ({regrader['answers']:,} answers)" for regrader in score.get("marked_by", ())
    ):
        out.print(clean(f"\nmarked by {by}"), style="dim", markup=False, highlight=False)
    for sentence in views.usage_sentences(score.get("usage")):
        out.print(f"\n{sentence}", style="dim", markup=False, highlight=False)
    out.print(f"\n{method_sentence(score)}", style="dim", markup=False, highlight=False)


def _table(first: str, *headings: str) -> rich.table.Table:
    table = rich.table.Table(box=rich.box.SIMPLE, pad_edge=False, show_edge=False)
    table.add_column(first, overflow="fold")
    for heading in headings:
        table.add_column(heading, justify="right", overflow="fold")
    return table


def _text(cell: str) -> rich.text.Text:
    return rich.text.Text(clean(cell))


def print_exams(out: rich.console.Console, exams: Sequence[views.ExamView]) -> None:
    """Prints exams on their own scales."""
    for exam in exams:
        out.print(clean(f"\n{exam.title}"), style="bold", markup=False, highlight=False)
        for view in exam.tables:
            table = _table(view.heading, *view.headings)
            for name, depth, cells in view.rows:
                table.add_row(*map(_text, ("– " * depth + name, *cells)))
            out.print(table)
        for sentence in exam.sentences:
            out.print(clean(sentence), markup=False, highlight=False)


def print_deltas(out: rich.console.Console, deltas: Sequence[Mapping[str, Any]]) -> None:
    """Prints each Δ between two ways of asking, in all and by axis."""
    for delta in views.shown_deltas(deltas):
        out.print()
        out.print(clean(delta.title), style="bold", markup=False, highlight=False)
        for sentence in delta.sentences:
            out.print(clean(sentence), markup=False, highlight=False)
        for axis, values in delta.tables.items():
            table = _table(axis, *views.DELTA_HEADINGS)
            for value, cells in values.items():
                table.add_row(*map(_text, (value, *cells)))
            out.print()
            out.print(table)


def _in_asking_order(score: Mapping[str, Any], run: Mapping[str, Any]) -> list[str]:
    order = [task["name"] for task in run.get("tasks", [])]
    return sorted(score["tasks"], key=lambda name: order.index(name) if name in order else len(order))


def print_marks(runs: Mapping[str, Mapping[str, Any]], console: rich.console.Console | None = None) -> None:
    """Prints the marks of runs of the same tasks by name: a line a task."""
    first, *_ = runs.values()
    table = _table("marks of 100", "questions", *map(clean, runs))
    for task in _in_asking_order(first, first["run"]):
        marks = group_marks(score["tasks"][task] for score in runs.values())
        table.add_row(_text(task), str(first["tasks"][task]["counts"]["questions"]), *(m.text for m in marks))
    (console or rich.console.Console()).print(table)


def _print_budgets(out: rich.console.Console, name: str, curve: Mapping[str, Any]) -> None:
    points = views.budget_lines(curve)
    table = _table("r", "tokens", "true Acc≤r", INTERVAL, "n", "counterfactual", INTERVAL, "n")
    for line in points:
        true = ("–", "", "") if line.true is None else (line.true.text, line.true.ci, str(line.true_n))
        table.add_row(line.share, line.tokens, *true, line.cut.text, line.cut.ci, str(line.cut_n))
    out.print()
    out.print(clean(f"{name} within a token budget (per cent)"), style="bold", markup=False, highlight=False)
    out.print(table)
    remarks = [
        f"true: {curve['true_means']}",
        f"counterfactual: {curve['counterfactual_means']}",
        *views.budget_notes(points),
    ]
    for remark in remarks:
        out.print(clean(remark), style="dim", markup=False, highlight=False)


def _print_mark(out: rich.console.Console, task: Mapping[str, Any], engine: str) -> None:
    mark = shown("mark", task["metrics"]["mark"])
    of = " out of 100" if mark.low is not None else ""
    out.print(rich.text.Text.assemble("mark ", (mark.text, "bold red"), of))
    out.print(f"{basis(task['counts'], engine)}.", markup=False, highlight=False)
    if sentence := mark_sentence(task):
        out.print(sentence, style="dim", markup=False, highlight=False)


def _print_counts(out: rich.console.Console, task: Mapping[str, Any], run: str, engine: str) -> None:
    for note, command in counts_notes(task, run, engine):
        out.print(rich.padding.Padding(rich.text.Text(note, style="dim"), (0, 0, 0, 2), expand=False))
        if command:  # in one piece, to be copied
            out.print(f"    {command}", markup=False, highlight=False, soft_wrap=True)
    if endings := endings_sentence(task["counts"], task.get("context_cut")):
        out.print(endings, markup=False, highlight=False)


def _metric_table(metrics: Mapping[str, Any]) -> rich.table.Table:
    table = rich.table.Table(box=None, pad_edge=False, show_header=False)
    table.add_column("metric", overflow="fold")
    table.add_column("value", justify="right", overflow="fold")
    table.add_column("meaning", overflow="fold", style="dim")
    for metric in registered():
        name = metric.name
        estimate = shown(name, metrics[name]) if name in metrics and name not in ("mark", "OCS", "pass@1") else None
        if estimate is not None and estimate.low is not None:
            percent = " %" if metric.scale == "share" else ""
            table.add_row(
                name, f"{estimate.text}{percent}{f' ± {estimate.std}' if estimate.std else ''}", metric.meaning
            )
    return table


def _group_table(axis: str, groups: Mapping[str, Any]) -> rich.table.Table:
    marks = group_marks(groups.values())
    table = _table(axis.replace("_", " "), "questions", "mark", *([INTERVAL] if any(m.ci for m in marks) else []))
    for (value, group), mark in zip(groups.items(), marks, strict=True):
        cells = [str(group["questions"]), mark.text, mark.ci]
        table.add_row(_text(group_name(axis, str(value))), *cells[: len(table.columns) - 1])
    return table
