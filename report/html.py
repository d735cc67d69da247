"""`report.html`: the whole graded paper in one file that asks nothing of a network.

Contract: the file holds its style, script and pictures; a content security policy in it forbids everything
else, and every text is escaped or comes from `markup`. Without JavaScript it is the same page without filters.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from livek12.core.journal import write_atomically
from livek12.core.progress import Progress
from livek12.core.records import Image
from livek12.core.scoring import OUT_OF_100
from livek12.report import budgets, deltas, marks
from livek12.report.markup import clean
from livek12.report.paper import (
    ERRORS,
    Pages,
    PaperEntry,
    anchor_of,
    cell_view,
    entries,
    new_pages,
    page_views,
    question_view,
)
from livek12.report.pictures import PictureFiles
from livek12.report.scan import sheets
from livek12.report.shown import Shown
from livek12.report.tables import ArticleTable, with_heads
from livek12.report.times import time_bars

if TYPE_CHECKING:
    from jinja2 import Environment

    from livek12.core.sessions import Session

TOKEN_KINDS = {
    "prompt": "read",
    "cached": "read from cache",
    "completion": "written",
    "reasoning": "of these, thinking",
}


def write_html(
    path: Path,
    score: Mapping[str, Any],
    shown: Shown,
    run: Mapping[str, Any],
    pages: Pages | None = None,
    tables: Sequence[ArticleTable] = (),
    sessions: Sequence[Session] = (),
) -> None:
    """Writes the report of a run.

    Args:
        path: the file to write.
        score: the content of report.json.
        shown: what all rows of the run have passed by, questions with their pictures.
        run: the content of run.json.
        pages: page images by paper and page number (from 1), for image-only tasks.
        tables: the run in the tables of the articles.
        sessions: of the engines that were up for it.

    Raises:
        UserError: the file cannot be written.
    """
    order = {task: rank for rank, task in enumerate(shown.tasks)}
    ordered = sorted(score["tasks"].items(), key=lambda task: order.get(task[0], len(order)))
    chosen = entries(shown.rows, {task["name"]: task.get("modality", "") for task in run.get("tasks", [])})
    drawn, undrawn = sheets(chosen, pages or {})
    on_sheets = {(sheet.paper, sheet.number) for sheet in drawn}
    pictures = PictureFiles(_occurring(chosen, pages or {}))
    with Progress("writing report.html", len(chosen), patient=True) as progress:
        page = (
            environment()
            .get_template("report.html.j2")
            .generate(
                **_head([name for name, _ in ordered], shown.exams, run),
                tasks=[_task_view(name, task) for name, task in ordered],
                made=_made(run, shown.made),
                times=time_bars(sessions),
                method=marks.sentence(marks.method_sentence(score)),
                parameters=score["parameters"],
                deltas=_deltas({name: d for name, d in score["deltas"].items() if "/variant/" not in name}),
                variants=deltas.shown_deltas(score.get("variants", ())),
                delta_headings=deltas.HEADINGS,
                budgets=[_budget_view(name, curve, score["parameters"]) for name, curve in budgets.curves(score)],
                tables=with_heads(tables),
                corrected=score.get("corrected", {}).get("lines", ()),
                harness=score.get("harness", {}),
                regraded=score.get("regraded", {}).get("line", ""),
                left_out=shown.left_out,
                asked=shown.asked,
                scans=drawn,
                scans_left_out=undrawn,
                sections=_sections(chosen, pages or {}, pictures, progress.step, on_sheets),
                shared_pictures=pictures.shared,
                **_assets(),
            )
        )
        # A lone surrogate in a name would keep the file from being written at all.
        write_atomically(path, (piece.encode("utf-8", "replace").decode() for piece in page))


def _head(names: Sequence[str], exams: Sequence[str], run: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "title": exams[0] if len(exams) == 1 else ", ".join(names[:4]) + (" …" if len(names) > 4 else ""),
        "model": run.get("model", "unknown model"),
        "revision": run.get("model_revision"),
        "engine": run.get("engine", ""),
        "date": str(run.get("started_at", ""))[:10],
    }


def _task_view(name: str, task: Mapping[str, Any]) -> dict[str, Any]:
    mark = marks.shown("mark", task["metrics"]["mark"])
    return {
        "name": name,
        "questions": task["counts"]["questions"],
        "ended": marks.counts_line(task["counts"]),
        "notes": marks.counts_notes(task),
        "mark": mark,
        "sentence": marks.mark_sentence(task),
        "endings": marks.endings_sentence(task["counts"], task.get("context_cut")),
        "points": None if task["points"] is None else marks.points(task["points"]),
        "axes": [_axis_view(axis, groups) for axis, groups in marks.axes(task)],
        "metrics": _metrics(task["metrics"]),
        "not_available": marks.not_available(task["metrics"]),
        "deltas": _deltas(task["deltas"]),
        "tokens": [
            _token_row(TOKEN_KINDS[kind], use) for kind, use in task["tokens"].items() if use["mean"] is not None
        ],
        "cache": marks.cache_sentence(task),
        "thinking": marks.thinking_sentence(task),
        "process_errors": task["process_errors"],
        "error_kinds": ERRORS,
        "decided_by": {marks.decider(by): parts for by, parts in task["decided_by"].items()},
    }


def _budget_view(name: str, curve: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    table = budgets.lines(curve)
    return {
        "name": name,
        "open": any(line.true for line in table[:-1]),
        "limit": f"{parameters['token_limit']:,.0f}",
        "lines": table,
        "plot": budgets.plot(curve),
        "notes": budgets.notes(table),
        "true_ends": marks.interval_heading([line.true for line in table]),
        "cut_ends": marks.interval_heading([line.cut for line in table]),
        "undecided": any(found and not found.decided for line in table for found in (line.true, line.cut)),
        "true_means": curve["true_means"],
        "counterfactual_means": curve["counterfactual_means"],
    }


def _axis_view(axis: str, groups: Mapping[str, Any]) -> dict[str, Any]:
    found = [marks.shown("mark", group["metrics"]["mark"]) for group in groups.values()]
    return {
        "ends": marks.interval_heading(found),
        "name": axis.replace("_", " "),
        "main": axis in ("subject", "question_type"),
        "groups": [
            {
                "name": marks.group_name(axis, str(value)),
                "questions": group["questions"],
                "points": None if group["points"] is None else marks.points(group["points"]),
                "mark": mark,
                "open": marks.undecided(group["counts"]),
            }
            for (value, group), mark in zip(groups.items(), found, strict=True)
        ],
    }


def _metrics(metrics: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "meaning": _meaning(name),
            "shown": marks.shown(name, estimate),
            "unit": _unit(name),
        }
        for name, estimate in metrics.items()
        if estimate["low"] is not None
    ]


def _unit(metric: str) -> str:
    return "" if metric in marks.UNSCALED or metric in OUT_OF_100 else "%"


def _meaning(name: str) -> str:
    if name.startswith("Acc≤"):
        return f"fully correct within {name[4:]} of the token limit"
    if name.startswith("pass@"):
        return "an answer is fully correct" if name == "pass@1" else f"one of {name[5:]} answers is fully correct"
    return marks.METRIC_MEANINGS.get(name, "")


def _deltas(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    known = (*marks.METRIC_MEANINGS, "Acc≤", "pass@")
    views = []
    for name, estimate in found.items():
        metric = next((piece for piece in name.split("/") if piece.startswith(known)), name)
        if metric != "OCS" and not metric.startswith(("Acc≤", "pass@")):
            views.append(
                {"name": name.replace("/", " · "), "unit": _unit(metric), "shown": marks.shown(metric, estimate)}
            )
    return views


def _token_row(kind: str, use: Mapping[str, Any]) -> dict[str, str]:
    return {
        "kind": kind,
        "sum": f"{use['sum']:,}",
        "mean": marks.number(use["mean"], 0),
        "median": marks.number(use["median"], 0),
        "missing": str(use["missing"] or ""),
    }


def _made(run: Mapping[str, Any], seen: Mapping[str, Counter[str]]) -> dict[str, Any]:
    """run.json as it is, and the versions that the answers and verdicts themselves name."""
    words = run.get("judged_by", {})
    stated = {
        what: {
            f"{words[name]}: {name}" if name in words else name: f"{times:,} answers"
            for name, times in found.most_common(20)
            if name
        }
        for what, found in seen.items()
    }
    return {**run, **{what: names for what, names in stated.items() if names}}


def _sections(
    chosen: Sequence[PaperEntry],
    pages: Pages,
    pictures: PictureFiles,
    step: Callable[[], None],
    on_sheets: Set[tuple[str, int]],
) -> list[dict[str, Any]]:
    """The questions under their papers; pages and questions are drawn one by one, when the page takes them.

    Pages that stand above with their marks are not shown again.
    """

    def questions(entries: Sequence[tuple[PaperEntry, dict[str, str]]]) -> Iterator[dict[str, Any]]:
        for entry, cell in entries:
            yield question_view(entry, cell, pictures)
            step()

    seen: set[tuple[str, int]] = set(on_sheets)
    sections: list[dict[str, Any]] = []
    cells: dict[str, list[dict[str, str]]] = {}
    for entry in chosen:
        sheets = new_pages(entry, seen)
        seen.update(sheets)
        begins = entry.task not in cells
        in_task = cells.setdefault(entry.task, [])
        in_task.append(cell_view(entry, anchor_of(entry.task, entry.question.id), len(in_task) + 1))
        if begins or sheets:
            paper = entry.question.paper_id if entry.image_only else None
            views = page_views(sheets, pages, pictures)
            sections.append({"task": entry.task, "paper": paper, "begins": begins, "pages": views, "entries": []})
            sections[-1]["cells"] = in_task
        sections[-1]["entries"].append((entry, in_task[-1]))
    for section in sections:
        section["questions"] = questions(section.pop("entries"))
    return sections


def _occurring(chosen: Sequence[PaperEntry], pages: Pages) -> list[Image]:
    sheets = {
        (entry.question.paper_id, number)
        for entry in chosen
        if entry.image_only and entry.question.paper_id
        for number in entry.question.page_numbers
    }
    return [image for entry in chosen for image in entry.images] + [pages[key] for key in sheets if key in pages]


def _assets() -> dict[str, str]:
    style, script = read_template("report.css"), read_template("report.js")
    return {"style": style, "script": script, "style_hash": csp_hash(style), "script_hash": csp_hash(script)}


def csp_hash(content: str) -> str:
    """The hash by which a content security policy lets a style or script of ours in."""
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"


@cache
def read_template(name: str) -> str:
    """A file of `templates/`."""
    return resources.files("livek12.report").joinpath("templates", name).read_text(encoding="utf-8")


@cache
def environment() -> Environment:
    """Jinja for our pages: everything escaped, a missing name is an error, signs that no page may hold left out."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    def finalize(value: Any) -> Any:
        return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    return Environment(
        loader=PackageLoader("livek12.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
