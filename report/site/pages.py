"""Pages of a site: questions and answers as pieces of safe HTML of at most `MOST` bytes, and the first page.

`index.html` holds the leaderboard as a plain table, so that it needs no script.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from livek12.core.languages import languages
from livek12.core.question_types import types
from livek12.core.records import Image, PageBox, Question
from livek12.core.scoring import Row
from livek12.core.scoring.metrics import on_pages
from livek12.report.html import environment, read_template
from livek12.report.marks import number, span
from livek12.report.paper import PaperEntry, answer_views, question_view
from livek12.report.pictures import PAGE_WIDTH
from livek12.report.site.files import SitePictures, SiteStore

MOST = 1_500_000
Pages = Mapping[tuple[str, int], Image]


@dataclass(frozen=True)
class Places:
    """Pages of a question, and the hidden ones."""

    pages: Pages
    hidden: frozenset[tuple[str, int]]


def question_fragments(question: Question, task: str, image_only: bool, pictures: SitePictures) -> dict[str, str]:
    """Question as asked, and its key with the solution: {"asked", "key"}."""
    row = Row(task, question, 0, "failed", None, None)
    view = question_view(PaperEntry(task, question, [row], False), {"anchor": "", "number": ""}, pictures)
    view["image_only"] = image_only
    for option in view["options"]:
        option["chosen"] = False
    parts = _parts()
    return {"asked": _bounded(parts.asked(view)), "key": _bounded(parts.reference(view))}


def answer_fragment(rows: Sequence[Row]) -> str:
    """All answers of a run to a question, with their marking."""
    parts = _parts()
    views, language = answer_views(rows), rows[0].question.language
    drawn = [str(parts.answered(view, language, len(views))) for view in views]
    kept: list[str] = []
    for piece in drawn:
        if sum(map(len, kept)) + len(piece) > MOST // 3:  # a sign may take three bytes
            kept.append(f'<p class="cut">… {len(drawn) - len(kept)} more answers are in the run folder.</p>')
            break
        kept.append(piece)
    return "".join(kept)


def page_places(question: Question, where: Places, pictures: SitePictures) -> list[dict[str, Any]]:
    """Shown pages of a question: file, size in pixels, and its boxes."""
    places = []
    for sheet in sorted(question.page_numbers):
        key = (question.paper_id or "", sheet)
        if key in where.hidden or key not in where.pages:
            continue
        placed = pictures.place(where.pages[key], PAGE_WIDTH)
        if not isinstance(placed, str):
            boxes = [_sides(box) for box in question.boxes if box.page == sheet]
            places.append({"page": sheet, "file": placed[0], "size": placed[1:], "boxes": boxes})
    return places


def _sides(box: PageBox) -> list[float]:
    return [round(side, 4) for side in (box.left, box.top, box.right, box.bottom)]


def _bounded(piece: str) -> str:
    text = str(piece)
    return text if len(text) <= MOST // 3 else '<p class="cut">Too long to be shown; it is in the run folder.</p>'


@cache
def _parts() -> Any:
    return environment().get_template("parts.html.j2").module


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
"""Most runs in the page's own table."""


def write_front(
    store: SiteStore,
    title: str,
    publisher: str,
    runs: Mapping[str, Any],
    tasks: Mapping[str, Any],
    groups: Mapping[str, Any],
    method: Mapping[str, Any],
) -> None:
    """Writes the first page and its data; `method` has the constants for its script."""
    names = store.pieces("front", runs.items())
    store.data(
        "site",
        {
            "title": title,
            "publisher": publisher,
            "runs": list(runs),
            "tasks": tasks,
            "groups": groups,
            "method": method,
            "metrics": on_pages(),
        },
    )
    store.file("assets/words.js", words().encode())
    for name in (*SCRIPTS[1:], "site.css"):
        store.file(f"assets/{name}", _asset(name).encode())
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
            exam_day=(store.root / "exam.html").is_file(),
        )
    )
    store.file("index.html", page.encode("utf-8", "replace"))


def words_in(language: str) -> dict[str, str]:
    """Words by key, in English where the language has none."""
    table = json.loads(_asset("words.json"))
    place = table["code"].index(language) if language in table["code"] else 0
    own = next((row.words for row in languages() if row.code == language), {})
    return {key: texts[place] for key, texts in table.items()} | dict(own)


def words() -> str:
    """Script with the words by key and language."""
    table = json.loads(_asset("words.json"))
    shown = table.pop("code")
    by_key = {key: dict(zip(shown, texts, strict=True)) for key, texts in table.items()}
    by_key |= {row.name: {**row.labels} for row in types()}
    by_key |= {row.code: {**row.labels} for row in languages()}
    for row in languages():
        shown += [row.code] if row.words else []
        for key, text in row.words.items():
            by_key.setdefault(key, {})[row.code] = text
    names = {code: by_key[code].get(code, code) for code in shown}
    texts, own = (json.dumps(value, ensure_ascii=False) for value in (by_key, names))
    return f'"use strict";\nconst WORDS = {texts};\nconst LANGUAGES = {own};\n'


def _asset(name: str) -> str:
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
