"""The pictures and tables of `livek12 study diagnostics`: CFE-Bench's figures 3 to 5, of any runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from livek12.report.charts import Chart, PlotPoint, Series, TableShown
from livek12.report.marks import rounded
from livek12.report.ranking import p_value

EXECUTION = ("unit_execution", "unit_execution_text")
NAMES = {
    "unit_execution": "unit execution",
    "unit_execution_text": "unit execution without pictures",
    "reasoning_prefix": "reasoning prefix",
    "prefix_questions": "prefix, questions only",
    "injection": "single-unit injection",
    "injection_question": "injection, question only",
}
Found = Mapping[str, Mapping[str, Mapping[str, Any]]]


def charts(found: Found) -> Iterator[Chart]:
    """The figures of each run and task; none where too few questions stand behind every point."""
    for run, tasks in found.items():
        for base, told in tasks.items():
            yield from (chart for chart in _charts(f"{run}, {base}", told) if any(s.points for s in chart.series))


def _charts(name: str, told: Mapping[str, Any]) -> Iterator[Chart]:
    units, bucket = told["fewest"]
    conditions = told["conditions"]
    others = [each for each in conditions if each not in EXECUTION]
    behind = f"mean over the questions that have the unit, {units} or more; thin strokes are 95 % intervals"
    yield Chart(
        f"{name}: unit execution (CFE-Bench, figure 3)",
        f"Share of samples that answer unit i by itself, given the units before: {behind}.",
        "unit",
        [Series(_named(each), _by_unit(conditions[each]["by_unit"])) for each in EXECUTION if each in conditions],
    )
    yield Chart(
        f"{name}: with a part of the solution, by unit (figures 4 and 5)",
        f"Share of samples with the right final answer: {behind}.",
        "unit",
        [Series(_named(each), _by_unit(conditions[each]["by_unit"])) for each in others],
    )
    yield Chart(
        f"{name}: with a part of the solution, by the length of the flow (figures 4 and 5)",
        f"Mean over the units of a question, then over the questions whose flow is so long, {bucket} or more.",
        "units of the flow",
        [
            Series(_named(each), [_point(cell["units"], cell) for cell in conditions[each]["by_length"]])
            for each in others
        ],
    )


def _by_unit(cells: Sequence[Mapping[str, Any]]) -> list[PlotPoint]:
    return [_point(cell["unit"], cell) for cell in cells]


def _point(x: float, cell: Mapping[str, Any]) -> PlotPoint:
    return PlotPoint(x, cell["low"], cell["high"], cell["interval"])


def _named(condition: str) -> str:
    word, at, budget = condition.partition("@")
    return NAMES.get(word, word) + at + budget


def tables(found: Found) -> Iterator[TableShown]:
    """The numbers behind the figures, and the contrasts."""
    for run, tasks in found.items():
        for base, told in tasks.items():
            name = f"{run}, {base}"
            for axis, key, what in (("by_unit", "unit", "unit"), ("by_length", "units", "length of the flow")):
                if rows := list(_rows(told["conditions"], axis, key)):
                    yield TableShown(f"{name}: by {what}", [key, *map(_named, told["conditions"])], rows)
            yield TableShown(
                f"{name}: conditions beside each other",
                ["", "questions", "difference in points", "95 %", "p", "p (Holm)"],
                [_contrast(cell) for cell in told["contrasts"]],
            )


def _rows(conditions: Mapping[str, Any], axis: str, key: str) -> Iterator[list[str]]:
    places = sorted({cell[key] for each in conditions.values() for cell in each[axis]})
    for place in places:
        cells = [{cell[key]: cell for cell in each[axis]}.get(place) for each in conditions.values()]
        yield [str(place), *map(_cell, cells)]


def _cell(cell: Mapping[str, Any] | None) -> str:
    if cell is None:
        return "–"
    said = "–".join(dict.fromkeys(rounded(100 * cell[end]) for end in ("low", "high")))
    ends = f" [{rounded(100 * cell['interval'][0])}–{rounded(100 * cell['interval'][1])}]" if cell["interval"] else ""
    return f"{said}{ends} n={cell['questions']}"


def _contrast(cell: Mapping[str, Any]) -> list[str]:
    said = " to ".join(dict.fromkeys(rounded(100 * cell[end]) for end in ("low", "high")))
    ends = " to ".join(rounded(100 * end) for end in cell["interval"]) if cell["interval"] else ""
    return [
        f"{_named(cell['condition'])} − {_named(cell['beside'])}",
        str(cell["questions"]),
        said,
        ends,
        p_value(cell["p"]) if cell["p"] is not None else "–",
        p_value(cell["p_holm"]) if cell["p_holm"] is not None else "–",
    ]
