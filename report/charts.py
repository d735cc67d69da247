"""Charts of studies as SVG, and their page: one file without scripts or links.

A chart shows nothing that its table lacks. Thin strokes are 95 % intervals, thick ones undecided ranges. The template
escapes hostile names. Series differ in marks and colours.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from livek12.report.tables import TableShown

BOX = (640.0, 260.0)
"""Width and height of the plot."""
SHIFT = 7.0
"""Distance of the series at one place."""
MOST_TICKS = 24
MARKS = ("circle", "square", "diamond", "triangle", "ring", "cross")


@dataclass(frozen=True)
class PlotPoint:
    """A value between two ends, with its interval; shares from 0 to 1."""

    x: float
    low: float
    high: float
    interval: Sequence[float] | None = None


@dataclass(frozen=True)
class Series:
    """A line, or the bars of one colour, from left to right."""

    name: str
    points: Sequence[PlotPoint]
    mean: float | None = None
    """A dashed line across a bar chart."""


@dataclass(frozen=True)
class Chart:
    """A picture.

    Bars or lines (`joined`) of `series`; `names` of the places 1, 2, …, else numbers. Values are shares of 1
    (`percent`) or counts; `top` None is 1 for shares, else the largest; `across` are the edge places, None: from the
    points.
    """

    title: str
    note: str
    x_label: str
    series: Sequence[Series]
    bars: bool = False
    names: Sequence[str] = ()
    percent: bool = True
    joined: bool = True
    bottom: float = 0.0
    top: float | None = None
    across: tuple[float, float] | None = None


def drawn(chart: Chart) -> dict[str, Any]:
    """A chart in coordinates, y downwards."""
    places = sorted({point.x for series in chart.series for point in series.points})
    first, last = chart.across or ((places[0], places[-1]) if places else (0.0, 1.0))
    largest = max((p.high for series in chart.series for p in series.points), default=1.0) or 1.0
    top = chart.top if chart.top is not None else 1.0 if chart.percent else largest
    whole = chart.across is None and all(place == int(place) for place in places)
    margin = 0.5 if whole else 0.0
    width = BOX[0] / max(2 * margin, last - first + 2 * margin)

    def across(x: float) -> float:
        return (x - first + margin) * width

    def down(value: float) -> float:
        return BOX[1] * (1 - min(1.0, max(0.0, (value - chart.bottom) / (top - chart.bottom))))

    count = len(chart.series)
    gap = min(SHIFT, width / (count + 1)) if not chart.bars else width / (count + 1)

    def one(number: int, series: Series) -> dict[str, Any]:
        shift = (number - (count - 1) / 2) * gap if whole else 0.0
        points = [
            {
                "x": across(point.x) + shift,
                "low": down(point.low),
                "high": down(point.high),
                "ends": [down(end) for end in point.interval] if point.interval else None,
            }
            for point in series.points
        ]
        return {
            "name": series.name,
            "style": f"series-{number % len(MARKS)}",
            "mark": MARKS[number % len(MARKS)],
            "points": points,
            "paths": _paths(points) if chart.joined else [],
            "mean": None if series.mean is None else across(series.mean),
        }

    every = max(1, -(-len(places) // MOST_TICKS))
    shown = places[::every] if whole else [first + (last - first) * part / 4 for part in range(5)]
    labels = [(x, chart.names[int(x) - 1] if chart.names else f"{x:g}") for x in shown]
    return {
        "title": chart.title,
        "note": chart.note,
        "x_label": chart.x_label,
        "bars": chart.bars,
        "bar": max(1.0, gap * 0.9),
        "width": BOX[0],
        "height": BOX[1],
        "series": [one(number, series) for number, series in enumerate(chart.series)],
        "ticks": [{"x": across(x), "text": text} for x, text in labels],
        "rules": [
            {"y": down(value), "text": f"{100 * value:g} %" if chart.percent else f"{value:.3g}"}
            for value in (chart.bottom + (top - chart.bottom) * part / 4 for part in range(5))
        ],
    }


def _paths(points: Sequence[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(" ".join(f"{p['x']:.1f},{p[end]:.1f}" for p in points) for end in ("low", "high")))


def study_page(title: str, sentences: Iterable[str], charts: Iterable[Chart], tables: Iterable[TableShown]) -> str:
    """Page of a study; its title is the question that it answers."""
    from livek12.report.html import styled_page

    drawings = [drawn(chart) for chart in charts]
    content = {"title": title, "sentences": list(sentences), "charts": drawings, "tables": list(tables)}
    return styled_page("study.html.j2", "ingest.css", "study.css", **content)
