"""The picture and table of `livek12 study steps`: CFE-Bench's figure 6 and table 4, of any runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from livek12.report.charts import Chart, PlotPoint, Series, TableShown
from livek12.report.marks import rounded


def charts(found: Mapping[str, Any]) -> Iterator[Chart]:
    """The distribution of lengths of each run, with the means as dashed lines."""
    for run, told in found.items():
        counts = told["distribution"]
        yield Chart(
            f"{run}: steps of responses and references (CFE-Bench, figure 6)",
            "How many answers have so many steps; dashed lines are the means.",
            "steps",
            [
                Series(
                    name,
                    [PlotPoint(int(n), count, count) for n, count in counts[name].items()],
                    told["outcomes"]["all"][name],
                )
                for name in ("reference", "response")
            ],
            bars=True,
            percent=False,
        )


def tables(found: Mapping[str, Any]) -> Iterator[TableShown]:
    """Lengths by outcome, as in table 4."""
    for run, told in found.items():
        yield TableShown(
            f"{run}: lengths in steps (CFE-Bench, table 4)",
            ["", *told["outcomes"]],
            [
                ["answers", *(str(each["answers"]) for each in told["outcomes"].values())],
                *(
                    [what, *(_spread(each, what) for each in told["outcomes"].values())]
                    for what in ("reference", "response")
                ),
            ],
        )


def _spread(each: Mapping[str, Any], what: str) -> str:
    mean, std = each[what], each[f"{what}_std"]
    if mean is None:
        return "–"
    return f"{rounded(mean, 2)} ± {'–' if std is None else rounded(std, 2)}"
