"""The pictures and tables of `livek12 study error-types`: KMMMU's figure 2 and tables 6 and 24, of any runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from livek12.report.charts import Chart, PlotPoint, Series, TableShown
from livek12.report.marks import rounded
from livek12.report.ranking import p_value

MOST_SERIES = 6
_SHORT = 13
AXES = {"visual_modality": "kind of pictures", "visual_subcategory": "sub-category of pictures", "subject": "subject"}


def charts(found: Mapping[str, Any]) -> Iterator[Chart]:
    """The composition of errors by run, and by the kind of pictures and subject."""
    for benchmark, told in found.items():
        kinds = told["kinds"]
        runs = {
            run: each["kinds"]
            for run, each in told["runs"].items()
            if any(k["answers"] for k in each["kinds"].values())
        }
        for part in range(0, len(runs), MOST_SERIES):
            shown = dict(list(runs.items())[part : part + MOST_SERIES])
            yield Chart(
                f"{benchmark}: kinds of errors by run (KMMMU, figure 2)",
                "Share of the wrong answers; thin strokes are 95 % intervals.",
                "",
                [Series(run, list(_bars(shares, kinds))) for run, shares in shown.items()],
                bars=True,
                names=[_short(kind) for kind in kinds],
            )
        for axis, name in AXES.items():
            if values := told[f"by_{axis}"]:
                yield Chart(
                    f"{benchmark}: kinds of errors by {name}",
                    "Share of the wrong answers of all runs; groups of 10 answers or more.",
                    "",
                    [
                        Series(
                            kind.replace("_", " "),
                            [_bar(place, each["kinds"][kind]) for place, each in enumerate(values.values(), 1)],
                        )
                        for kind in kinds[:MOST_SERIES]
                    ],
                    bars=True,
                    names=[_short(value) for value in values],
                )


def _bars(shares: Mapping[str, Any], kinds: list[str]) -> Iterator[PlotPoint]:
    for place, kind in enumerate(kinds, 1):
        yield _bar(place, shares[kind])


def _bar(place: int, share: Mapping[str, Any]) -> PlotPoint:
    value = share["share"] or 0.0
    return PlotPoint(place, value, value, share["interval"])


def _short(name: str) -> str:
    text = name.replace("_", " ")
    return text if len(text) <= _SHORT else text[: _SHORT - 1] + "…"


def tables(found: Mapping[str, Any]) -> Iterator[TableShown]:
    """Shares by run and group, agreement, and the regressions."""
    for benchmark, told in found.items():
        kinds = told["kinds"]
        heads = [kind.replace("_", " ") for kind in kinds]
        yield TableShown(
            f"{benchmark}: share of the wrong answers, and rate of all answers, by run",
            ["", "accuracy", "wrong", "looked at", *heads],
            [
                [run, _percent(each["accuracy"]), str(each["wrong"]), str(each["looked_at"])]
                + [f"{_share(each['kinds'][kind])}; {_percent(each['kinds'][kind]['rate'])}" for kind in kinds]
                for run, each in told["runs"].items()
            ],
        )
        for axis, name in AXES.items():
            if values := told[f"by_{axis}"]:
                yield TableShown(
                    f"{benchmark}: share of the wrong answers by {name} (KMMMU, table 6)",
                    ["", "answers", *heads],
                    [
                        [value, str(each["answers"]), *(_share(each["kinds"][kind]) for kind in kinds)]
                        for value, each in values.items()
                    ],
                )
        for group, fit in told["regressions"].items():
            if "coefficients" in fit:
                yield TableShown(
                    f"{benchmark}, {group}: accuracy on the rates of unit variance (KMMMU, table 24)",
                    ["", "β", "standard error", "p"],
                    [
                        [kind, f"{cell['beta']:+.4f}", f"{cell['error']:.4f}", _p(cell["p"])]
                        for kind, cell in fit["coefficients"].items()
                    ],
                )


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{rounded(100 * value)} %"


def _share(share: Mapping[str, Any]) -> str:
    if share["share"] is None:
        return "–"
    low, high = share["interval"]
    return f"{_percent(share['share'])} [{rounded(100 * low)}–{rounded(100 * high)}]"


def _p(p: float | None) -> str:
    return "–" if p is None else p_value(p)
