"""Differences between two ways of asking the same questions (`core.scoring.deltas`), in points of a hundred."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from livek12.core.scoring.metrics import tested_metrics
from livek12.report.marks import INTERVAL, group_name, shown
from livek12.report.ranking import in_words, p_value

MOST_ROWS = 20
TESTS = {"mcnemar_exact": "exact McNemar", "sign_flip": "sign flips", "clustered_t": "t by paper"}
HEADINGS = ("questions", "Δ accuracy", INTERVAL, "p", "p (Holm)")


@dataclass(frozen=True)
class ShownDelta:
    """One Δ: a sentence for each metric, and tables by axis and value with cells under `HEADINGS`."""

    title: str
    sentences: list[str]
    tables: dict[str, dict[str, list[str]]]


def shown_deltas(deltas: Sequence[Mapping[str, Any]]) -> list[ShownDelta]:
    """Every Δ for display."""
    return [ShownDelta(_title(delta), list(_sentences(delta)), _tables(delta)) for delta in deltas]


def _title(delta: Mapping[str, Any]) -> str:
    run, _, task = delta["task"].rpartition("/")
    other, _, base_task = delta["base"].rpartition("/")
    if task == base_task:
        return f"{task}, part by part: {run} minus {other}"
    return f"{delta['task']} minus {delta['base']}: {delta['differs']}"


def _sentences(delta: Mapping[str, Any]) -> Iterator[str]:
    left_out = [
        f"{delta[side]:,} that only {delta[name]} asked"
        for side, name in (("only_task", "task"), ("only_base", "base"))
        if delta[side]
    ]
    yield f"{delta['shared']:,} shared questions" + (f"; left out: {' and '.join(left_out)}" if left_out else "")
    for name in tested_metrics():
        if name in delta["metrics"] and not (name == "mark" and _same(delta["metrics"])):
            yield f"Δ {in_words(name)} {tested(name, delta['metrics'][name])}"


def _same(metrics: Mapping[str, Any]) -> bool:
    mark, accuracy = metrics["mark"]["difference"], metrics.get("accuracy", {}).get("difference")
    return accuracy is not None and all(
        abs(mark[end] - 100 * accuracy[end]) < 1e-9 for end in ("low", "high") if mark[end] is not None
    )


def tested(name: str, estimate: Mapping[str, Any]) -> str:
    """A difference in words: "−12.5 (95 %: −20 to −5; p 0.004 by exact McNemar)"."""
    difference, test = shown(name, estimate["difference"]), estimate["test"]
    notes = [f"95 %: {difference.ci}"] if difference.ci else []
    if test["p"] is not None:
        undecided = f", {test['undecided']:,} undecided left out of the test" if test["undecided"] else ""
        notes.append(f"p {p_value(test['p'])} by {TESTS[test['name']]}{undecided}")
    elif test["undecided"]:
        notes.append(f"no test: {test['undecided']:,} questions are undecided")
    return difference.text + (f" ({'; '.join(notes)})" if notes else "")


def _tables(delta: Mapping[str, Any]) -> dict[str, dict[str, list[str]]]:
    return {
        axis.replace("_", " "): {group_name(axis, value): _cells(group) for value, group in values.items()}
        for axis, values in delta["groups"].items()
        if len(values) <= MOST_ROWS
    }


def _cells(group: Mapping[str, Any]) -> list[str]:
    estimate = group["metrics"].get("accuracy")
    if estimate is None:
        return [f"{group['questions']:,}", "–", "", "–", "–"]
    difference, test = shown("accuracy", estimate["difference"]), estimate["test"]
    p = [p_value(test["p"]), p_value(test["p_holm"])]
    return [f"{group['questions']:,}", difference.text, difference.ci, *p]
