"""Prints the result of a study: first what it found, in sentences; then a table for each group of like things."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from livek12.core.visible import visible
from livek12.report.marks import rounded

Found = Mapping[str, Any]


def show(kind: str, found: Found) -> None:
    """Prints the whole result, nothing left out but examples beyond their first lines."""
    from rich.console import Console

    console = Console(markup=False, highlight=False)
    for sentence in sentences(kind, found):
        console.print(visible(sentence), soft_wrap=True)
    console.print()
    _section(console, kind, found)


# --- sentences ------------------------------------------------------------------------------------------------------


def sentences(kind: str, found: Found) -> Iterator[str]:
    """What a study found, in words."""
    return _SENTENCES[kind](found)


def _agreement(found: Found) -> Iterator[str]:
    for run, beside in found.items():
        for rater, marks in beside["raters"].items():
            agreed = marks["true_accepts"] + marks["true_rejects"]
            yield (
                f"{run} beside {'the labels' if rater == '(unnamed)' else rater}: of {marks['labelled']} labelled"
                f" answers the run decided {marks['decided']}, {agreed} of them as the person did"
                f"{_share(marks['accuracy'], marks['accuracy_ci'])}; it accepted {marks['false_accepts']} that the"
                f" person rejected, and rejected {marks['false_rejects']} that the person accepted. Cohen's κ"
                f" {_number(marks['kappa'])}."
            )


def _inter(found: Found) -> Iterator[str]:
    for run, judges in found.items():
        if judges["parts"]:
            yield (
                f"{run}: {_list(judges['judges'])} voted on {judges['parts']} parts, all alike on"
                f" {_percent(judges['unanimous'])} of them. Krippendorff's α {_number(judges['alpha_decision'])}."
            )
        for error, seen in judges["process"].items():
            yield (
                f"{run}: the critics of {judges['audits']} audits agree on {_percent(seen['unanimous'])} whether there"
                f" is a {error}; one or more saw it in {seen['present']}."
            )


def _between_runs(found: Found) -> Iterator[str]:
    yield (
        f"The {len(found['judges'])} runs hold {found['answers']} answers with a verdict; {found['decided_by_all']} are"
        f" decided in all of them, and {_percent(found['identical'])} of these alike. {found['changed']} verdicts"
        f" differ. Krippendorff's α {_number(found['alpha_correct'])}."
    )
    low, high = found["range"]["low"], found["range"]["high"]
    yield (
        f"Between the runs the accuracy moves by {rounded(100 * low)} points where what is undecided counts as wrong,"
        f" by {rounded(100 * high)} where it counts as right."
    )


def _stability(found: Found) -> Iterator[str]:
    low, high = found["low"], found["high"]
    ranked = sorted(low["scores"], key=lambda run: (-low["scores"][run], -high["scores"][run]))
    scores = (f"{run} {_interval(low['scores'][run], high['scores'][run])}" for run in ranked)
    yield f"{len(ranked)} runs on {found['questions']} shared questions, by {found['metric']}: {'; '.join(scores)}."
    for bound, counted in (("low", "wrong"), ("high", "right")):
        halves = found[bound]["halves"]
        if halves["mean"] is None:
            yield f"Random halves of the questions give no ranking (undecided counted as {counted})."
        else:
            yield (
                f"Two random halves of the questions rank the runs with Kendall's τ {_number(halves['mean'])} on"
                f" average, {_number(halves['min'])} at least (undecided counted as {counted})."
            )
        if low == high:
            return


def _first_error(found: Found) -> Iterator[str]:
    yield f"{found['with_errors']} of {found['solutions']} solutions have a first wrong step that experts marked."
    for critic, seen in [("The panel", found["panel"]), *found["critics"].items()]:
        yield (
            f"{critic} decided {seen['decided']}: saw {seen['errors_seen']} wrong solutions, missed"
            f" {seen['errors_missed']}, raised {seen['false_alarms']} false alarms, and named the very step of"
            f" {_interval(seen['step_accuracy_low'], seen['step_accuracy_high'])} of the wrong ones."
        )


_SENTENCES: dict[str, Callable[[Found], Iterator[str]]] = {
    "agreement": _agreement,
    "inter-judge": _inter,
    "intra-judge": _between_runs,
    "sensitivity": _between_runs,
    "stability": _stability,
    "first-error": _first_error,
}


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{rounded(100 * share)} %"


def _interval(low: float | None, high: float | None) -> str:
    return _percent(low) if low == high or low is None else f"{rounded(100 * low)} to {_percent(high)}"


def _share(share: float | None, interval: Sequence[float] | None) -> str:
    if share is None or interval is None:
        return ""
    return f" ({_percent(share)}, 95 % interval {rounded(100 * interval[0])} to {_percent(interval[1])})"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _list(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else ", ".join(names)


# --- tables ---------------------------------------------------------------------------------------------------------


_OURS = frozenset({"by_stage", "between_raters", "false_accepts", "false_rejects", "not_shared", "question_type"})
"""Groups that are named here; all others bear the names of runs, judges, raters, tasks."""


def _section(console: Any, title: str, found: Found) -> None:
    single = {name: value for name, value in found.items() if not isinstance(value, Mapping) and not _is_list(value)}
    if single:
        _table(console, title, {_words(name): {"value": value} for name, value in single.items()})
    for name, value in found.items():
        below = f"{title}: {_words(name) if name in _OURS else name}"
        if _is_list(value):
            _table(console, below, {str(number): row for number, row in enumerate(value, 1)})
        elif _is_group(value):
            if _is_table(value):
                _table(console, below, value)
            else:
                _section(console, below, value)


def _is_group(value: Any) -> bool:
    return isinstance(value, Mapping) and bool(value)


def _is_list(value: Any) -> bool:
    """Whether it is a list of rows."""
    return isinstance(value, list) and bool(value) and all(isinstance(entry, Mapping) for entry in value)


def _is_table(value: Found) -> bool:
    """Whether all members are mappings of plain values: rows of one table."""
    return all(
        _is_group(row) and not any(_is_group(cell) or _is_list(cell) for cell in row.values()) for row in value.values()
    )


def _table(console: Any, title: str, rows: Mapping[str, Found]) -> None:
    from rich import box
    from rich.table import Table

    columns = list(dict.fromkeys(column for row in rows.values() for column in row))
    heads = ("" if column == "value" else _words(column) for column in columns)
    table = Table("", *heads, box=box.SIMPLE_HEAD, show_header=columns != ["value"])
    for name, row in rows.items():
        table.add_row(visible(name), *(_cell(row.get(column)) for column in columns))
    console.print(visible(title), style="bold")
    console.print(table)


def _words(name: str) -> str:
    """A key of a result as people write it."""
    return name.replace("_", " ")


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, list):
        return "; ".join(_cell(entry) for entry in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{_words(name)} {_cell(entry)}" for name, entry in value.items())
    return visible(" ".join(str(value).split()))
