"""The picture and table of `livek12 study completion`: KMMMU's table 26, of any runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from livek12.report.charts import Chart, PlotPoint, Series, TableShown
from livek12.report.marks import rounded

HINTS = {False: "without a hint", True: "with exam and year"}


def charts(found: Mapping[str, Any]) -> Iterator[Chart]:
    """How much of the text came back, by source."""
    for run, told in found.items():
        sources = list(dict.fromkeys(cell["source"] for cell in told["sources"]))
        yield Chart(
            f"{run}: how much of the text came back",
            "Mean share of the runs of five characters (F1).",
            "",
            [
                Series(
                    hint,
                    [
                        PlotPoint(sources.index(cell["source"]) + 1, *[cell["characters"]["mean"] / 100] * 2)
                        for cell in told["sources"]
                        if cell["hinted"] == hinted
                    ],
                )
                for hinted, hint in HINTS.items()
            ],
            bars=True,
            names=sources,
        )


def tables(found: Mapping[str, Any]) -> Iterator[TableShown]:
    """The figures by source and hint."""
    heads = (
        "",
        "hint",
        "questions",
        "exactness",
        "median",
        "characters",
        "median",
        "longest run",
        "refused",
        "made up",
    )
    for run, told in found.items():
        yield TableShown(
            f"{run}: completions (KMMMU, table 26)",
            heads,
            [
                [
                    cell["source"],
                    "yes" if cell["hinted"] else "no",
                    str(cell["questions"]),
                    *_spread(cell["exactness"]),
                    *_spread(cell["characters"]),
                    _spread(cell["longest"])[0],
                    _share(cell["refused"]),
                    _share(cell["hallucinated"]),
                ]
                for cell in told["sources"]
            ],
        )


def _spread(spread: Mapping[str, Any] | None) -> list[str]:
    if spread is None:
        return ["–", "–"]
    std = "–" if spread["std"] is None else rounded(spread["std"])
    return [f"{rounded(spread['mean'])} ± {std}", rounded(spread["median"])]


def _share(share: Mapping[str, Any] | None) -> str:
    if share is None:
        return "–"
    low, high = (rounded(100 * end) for end in share["interval"])
    return f"{rounded(100 * share['share'])} % [{low}–{high}]"
