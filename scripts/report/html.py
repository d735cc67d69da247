"""`report.html`: the whole graded paper in one file that asks nothing of a network.

Contract: the file holds its style, script and pictures; a content security policy in it forbids everything
else, and every text is escaped or comes from `markup`. Without JavaScript it is the same page without filters.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from livek12.core.journal import write_atomically
from livek12.core.records import Image
from livek12.core.scoring import OUT_OF_100, Row
from livek12.scripts.report import budgets, marks
from livek12.scripts.report.markup import clean
from livek12.scripts.report.paper import Entry, Pages, entries, page_views, question_view, selection
from livek12.scripts.report.pictures import Pictures

if TYPE_CHECKING:
    from jinja2 import Environment

MAX_QUESTIONS = 500
TOKEN_KINDS = {
    "prompt": "read",
    "cached": "read from cache",
    "completion": "written",
    "reasoning": "of these, thinking",
}


def write_html(
    path: Path,
    score: Mapping[str, Any],
    rows: Iterable[Row],
    run: Mapping[str, Any],
    pages: Pages | None = None,
    max_questions: int = MAX_QUESTIONS,
) -> None:
    """Writes the report of a run.

    Args:
        path: the file to write.
        score: the content of report.json.
        rows: one for every answer the run asked for, in asking order, questions with their pictures.
        run: the content of run.json.
        pages: page images by paper and page number (from 1), for image-only tasks.
        max_questions: graded questions shown in full; the page says how many are not.

    Raises:
        UserError: the file cannot be written.
    """
    rows = list(rows)
    found = entries(rows, {task["name"]: task.get("modality", "") for task in run.get("tasks", [])})
    chosen = selection(found, max_questions)
    order = {task: rank for rank, task in enumerate(dict.fromkeys(entry.task for entry in found))}
    ordered = sorted(score["tasks"].items(), key=lambda task: order.get(task[0], len(order)))
    page = (
        environment()
        .get_template("report.html.j2")
        .render(
            **_head([name for name, _ in ordered], rows, run),
            tasks=[_task_view(name, task) for name, task in ordered],
            made=_made(run, rows),
            profile=score["profile"],
            parameters=score["parameters"],
            deltas=_deltas(score["deltas"]),
            budgets=[_budget_view(name, curve, score["parameters"]) for name, curve in budgets.curves(score)],
            left_out=len(found) - len(chosen),
            asked=len(found),
            **_paper(chosen, pages or {}),
            **_assets(),
        )
    )
    # A lone surrogate in a name would keep the file from being written at all.
    write_atomically(path, page.encode("utf-8", "replace").decode())


def _head(names: Sequence[str], rows: Sequence[Row], run: Mapping[str, Any]) -> dict[str, Any]:
    exams = list(dict.fromkeys(row.question.exam for row in rows if row.question.exam))
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
        "counts": task["counts"],
        "mark": mark,
        "sentence": marks.mark_sentence(task),
        "points": None if task["points"] is None else marks.points(task["points"]),
        "axes": [_axis_view(axis, groups) for axis, groups in marks.axes(task)],
        "metrics": _metrics(task["metrics"]),
        "deltas": _deltas(task["deltas"]),
        "tokens": [
            _token_row(TOKEN_KINDS[kind], use) for kind, use in task["tokens"].items() if use["mean"] is not None
        ],
        "prompt_cache": marks.prompt_cache_sentence(task),
        "thinking": marks.thinking_sentence(task),
        "process_errors": task["process_errors"],
        "decided_by": task["decided_by"],
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
        "undecided": any(found and not found.decided for line in table for found in (line.true, line.cut)),
        "true_means": curve["true_means"],
        "counterfactual_means": curve["counterfactual_means"],
    }


def _axis_view(axis: str, groups: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": axis.replace("_", " "),
        "main": axis in ("subject", "question_type"),
        "groups": [
            {
                "name": marks.group_name(axis, str(value)),
                "questions": group["questions"],
                "points": None if group["points"] is None else marks.points(group["points"]),
                "mark": marks.shown("mark", group["metrics"]["mark"]),
                "open": marks.undecided(group["counts"]),
            }
            for value, group in groups.items()
        ],
    }


def _metrics(metrics: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "meaning": _meaning(name),
            "shown": marks.shown(name, estimate),
            "unit": "" if name in marks.UNSCALED or name in OUT_OF_100 else "%",
        }
        for name, estimate in metrics.items()
    ]


def _meaning(name: str) -> str:
    if name.startswith("Acc≤"):
        return f"fully correct within {name[4:]} of the token limit"
    if name.startswith("pass@"):
        return f"at least one of {name[5:]} answers fully correct"
    return marks.METRIC_MEANINGS.get(name, "")


def _deltas(deltas: Mapping[str, Any]) -> list[dict[str, Any]]:
    known = (*marks.METRIC_MEANINGS, "Acc≤", "pass@")
    views = []
    for name, estimate in deltas.items():
        metric = next((piece for piece in name.split("/") if piece.startswith(known)), name)
        if metric != "OCS" and not metric.startswith(("Acc≤", "pass@")):
            views.append({"name": name, "shown": marks.shown(metric, estimate)})
    return views


def _token_row(kind: str, use: Mapping[str, Any]) -> dict[str, str]:
    return {
        "kind": kind,
        "sum": f"{use['sum']:,}",
        "mean": f"{use['mean']:,.0f}",
        "median": f"{use['median']:,.0f}",
        "missing": str(use["missing"] or ""),
    }


def _made(run: Mapping[str, Any], rows: Sequence[Row]) -> dict[str, Any]:
    """run.json as it is, and the versions that the answers and verdicts themselves name."""
    seen: dict[str, Counter[str]] = {"judge of the answers": Counter(), "versions of the verdicts": Counter()}
    seen |= {"engine of the answers": Counter(), "versions of the answers": Counter()}
    for row in rows:
        if row.verdict:
            seen["judge of the answers"][row.verdict.judge] += 1
            seen["versions of the verdicts"][_versions(row.verdict.versions)] += 1
        if row.response:
            revision = f" @ {row.response.model_revision}" if row.response.model_revision else ""
            seen["engine of the answers"][f"{row.response.engine}: {row.response.model}{revision}"] += 1
            seen["versions of the answers"][_versions(row.response.versions)] += 1
    stated = {
        what: {name: f"{times:,} answers" for name, times in c.most_common(20) if name} for what, c in seen.items()
    }
    return {**run, **{what: names for what, names in stated.items() if names}}


def _versions(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))


def _paper(chosen: Sequence[Entry], pages: Pages) -> dict[str, Any]:
    pictures = Pictures(_occurring(chosen, pages))
    shown: set[tuple[str, int]] = set()
    sections: list[dict[str, Any]] = []
    places: Counter[str] = Counter()
    for index, entry in enumerate(chosen, 1):
        sheets = page_views(entry, pages, pictures, shown)
        begins = not sections or sections[-1]["task"] != entry.task
        if begins or sheets:
            paper = entry.question.paper_id if entry.image_only else None
            sections.append({"task": entry.task, "paper": paper, "begins": begins, "pages": sheets, "questions": []})
        places[entry.task] += 1
        sections[-1]["questions"].append(question_view(entry, f"q{index}", places[entry.task], pictures))
    return {"sections": sections, "shared_pictures": pictures.shared()}


def _occurring(chosen: Sequence[Entry], pages: Pages) -> list[Image]:
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
    return resources.files("livek12.scripts.report").joinpath("templates", name).read_text(encoding="utf-8")


@cache
def environment() -> Environment:
    """Jinja for our pages: everything escaped, a missing name is an error, signs that no page may hold left out."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    def finalize(value: Any) -> Any:
        return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    return Environment(
        loader=PackageLoader("livek12.scripts.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
