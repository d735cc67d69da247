"""The summary on the terminal: marks with their intervals, by subject and type, states, tokens.

Contract: says the same as report.json in fewer words; nothing it prints depends on colour, and in a pipe or a
narrow window the tables fold instead of being cut.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from livek12.scripts.report.budgets import curves, lines, notes
from livek12.scripts.report.marks import (
    METRIC_MEANINGS,
    STATE_MEANINGS,
    STATE_WORDS,
    axes,
    group_name,
    mark_sentence,
    number,
    prompt_cache_sentence,
    shown,
    thinking_sentence,
)
from livek12.scripts.report.markup import clean

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

MAX_GROUPS = 20


def print_summary(
    score: Mapping[str, Any], run: Mapping[str, Any] | None = None, console: Console | None = None
) -> None:
    """Prints the marks of a run.

    Args:
        score: the content of report.json.
        run: the content of run.json; by default what the score says of it.
        console: where to; by default standard output.
    """
    from rich.console import Console

    out = console or Console()
    made = run if run is not None else score.get("run", {})
    asked = [task["name"] for task in made.get("tasks", [])]
    names = [
        *(name for name in asked if name in score["tasks"]),
        *(name for name in score["tasks"] if name not in asked),
    ]
    for name in names:
        task = score["tasks"][name]
        out.print()
        title = clean(f"{name}  {made.get('model', '')}".strip())
        out.print(title, style="bold", markup=False, highlight=False)
        _print_mark(out, task)
        for axis, groups in axes(task):
            if len(groups) <= MAX_GROUPS:
                out.print(_group_table(axis, groups))
        _print_counts(out, task)
        _print_tokens(out, task)
    for name, curve in curves(score):
        _print_budgets(out, name, curve)
    out.print(f"\nprofile {score['profile']}; intervals are 95 % unless they say what is undecided", style="dim")


def _print_budgets(out: Console, name: str, curve: Mapping[str, Any]) -> None:
    from rich import box
    from rich.table import Table

    found = lines(curve)
    table = Table(box=box.SIMPLE, pad_edge=False, show_edge=False)
    for heading in ("r", "tokens", "true Acc≤r", "interval", "n", "counterfactual", "interval", "n"):
        table.add_column(heading, justify="right", overflow="fold")
    for line in found:
        true = ("–", "", "") if line.true is None else (line.true.text, line.true.ci, str(line.true_n))
        table.add_row(line.share, line.tokens, *true, line.cut.text, line.cut.ci, str(line.cut_n))
    out.print()
    out.print(clean(f"{name} within a token budget (per cent)"), style="bold", markup=False, highlight=False)
    out.print(table)
    remarks = [f"true: {curve['true_means']}", f"counterfactual: {curve['counterfactual_means']}", *notes(found)]
    for remark in remarks:
        out.print(clean(remark), style="dim", markup=False, highlight=False)


def _print_mark(out: Console, task: Mapping[str, Any]) -> None:
    from rich.text import Text

    mark = shown("mark", task["metrics"]["mark"])
    out.print(
        Text.assemble(("mark ", ""), (f"{mark.text}", "bold red"), (" out of 100" if mark.low is not None else ""))
    )
    if sentence := mark_sentence(task):
        out.print(sentence, style="dim", markup=False, highlight=False)
    others = [name for name in task["metrics"] if name in METRIC_MEANINGS and name not in ("mark", "OCS")]
    parts = []
    for name in others:
        metric = shown(name, task["metrics"][name])
        if metric.low is not None:
            percent = "" if name in ("ARL", "PES", "OES") else " %"
            parts.append(f"{name} {metric.text}{percent}" + (f" ± {metric.std}" if metric.std else ""))
    if parts:
        out.print(" · ".join(parts), markup=False, highlight=False)


def _group_table(axis: str, groups: Mapping[str, Any]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE, pad_edge=False, show_edge=False)
    table.add_column(axis.replace("_", " "), overflow="fold")
    for heading in ("questions", "mark", "interval"):
        table.add_column(heading, justify="right", overflow="fold")
    for value, group in groups.items():
        mark = shown("mark", group["metrics"]["mark"])
        table.add_row(Text(clean(group_name(axis, str(value)))), str(group["questions"]), mark.text, mark.ci)
    return table


def _print_counts(out: Console, task: Mapping[str, Any]) -> None:
    counts = task["counts"]
    trials = f" × {counts['trials']} trials" if counts["trials"] > 1 else ""
    out.print(f"{counts['questions']} questions{trials}: {counts['graded']} graded", highlight=False)
    for state, meaning in STATE_MEANINGS.items():
        if counts[state]:
            out.print(f"  {counts[state]} {STATE_WORDS[state]}: {meaning}", markup=False, highlight=False)


def _print_tokens(out: Console, task: Mapping[str, Any]) -> None:
    out.print(prompt_cache_sentence(task), markup=False, highlight=False)
    if thinking := thinking_sentence(task):
        out.print(thinking, markup=False, highlight=False)
    tokens = task["tokens"]["completion"]
    if tokens["mean"] is None:
        out.print("tokens: no response states them", highlight=False)
        return
    missing = f"; {tokens['missing']} responses do not state them" if tokens["missing"] else ""
    out.print(
        f"completion tokens: {tokens['sum']:,} in all, {number(tokens['mean'], 0)} an answer{missing}", highlight=False
    )
