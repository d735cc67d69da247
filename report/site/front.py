"""`index.html`, the site's own scripts and styles, and the data that the first page is drawn from.

Contract: the page holds the leaderboard as a plain table, so that it is there at once and without scripts; its policy
lets in nothing but the site's own files. The order of runs there is that of the best mark of the first task.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import Any

from livek12.core.scoring.metrics import on_pages
from livek12.report.html import environment, read_template
from livek12.report.marks import number, span
from livek12.report.site.store import SiteStore

SCRIPTS = (
    "words.js",
    "base.js",
    "statistics.js",
    "ranks.js",
    "filters.js",
    "board.js",
    "heat.js",
    "plots.js",
    "exam.js",
    "start.js",
)
MOST_AT_ONCE = 60
"""Runs in the table that the page itself holds."""


def write_front(
    store: SiteStore,
    title: str,
    runs: Mapping[str, Any],
    tasks: Mapping[str, Any],
    groups: Mapping[str, Any],
    method: Mapping[str, Any],
) -> None:
    """Writes the first page and what it needs; `method`: what its script computes intervals and ranks with."""
    names = store.pieces("front", runs.items())
    store.data(
        "site",
        {"title": title, "runs": list(runs), "tasks": tasks, "groups": groups, "method": method, "metrics": on_pages()},
    )
    for name in (*SCRIPTS, "site.css"):
        store.file(f"assets/{name}", asset(name).encode())
    store.file("assets/report.css", read_template("report.css").encode())
    page = (
        environment()
        .get_template("site.html.j2")
        .render(
            title=title,
            scripts=[
                *(f"assets/{name}" for name in SCRIPTS[:-1]),
                *(f"data/{name}.js" for name in ("site", *names)),
                f"assets/{SCRIPTS[-1]}",
            ],
            tasks=list(tasks)[:8],
            rows=_rows(runs, list(tasks)[:8])[:MOST_AT_ONCE],
            runs=len(runs),
        )
    )
    store.file("index.html", page.encode("utf-8", "replace"))


def asset(name: str) -> str:
    """A script or style of the site."""
    return resources.files("livek12.report.site").joinpath("static", name).read_text(encoding="utf-8")


def _rows(runs: Mapping[str, Any], tasks: list[str]) -> list[dict[str, Any]]:
    rows = []
    for slug, run in runs.items():
        marks = [run["tasks"].get(task, {}).get("metrics", {}).get("article", {}).get("mark") for task in tasks]
        best = next((-(mark[0] + mark[1]) for mark in marks if mark), 1.0)
        cells = [_written(mark) for mark in marks]
        rows.append({"slug": slug, "name": run["known"]["name"] or run["model"], "cells": cells, "order": best})
    return sorted(rows, key=lambda row: (row["order"], row["name"]))


def _written(mark: list[float | None] | None) -> str:
    if not mark or mark[0] is None or mark[1] is None:
        return "–"
    return number(mark[0]) if mark[0] == mark[1] else span(mark[0], mark[1])
