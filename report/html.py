"""`report.html`: the graded paper in one file, or an index with a file for each task; also the page of article tables.

Each file holds its style, script and pictures under a content security policy that forbids everything else; every text
is escaped or comes from `markup`.
"""

from __future__ import annotations

import base64
import hashlib
import re
import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from livek12.core.files import make_subfolder, remove_files, write_atomically
from livek12.core.progress import Progress
from livek12.core.run.sessions import Session
from livek12.core.run.spec import shown_model
from livek12.report import marks, views
from livek12.report.markup import clean
from livek12.report.paper import Pages, PaperEntry, entries
from livek12.report.pictures import PictureFiles
from livek12.report.scan import row_rules, sheets
from livek12.report.sections import FOLDER, Shown, contents, occurring, report_pages, sections
from livek12.report.tables import ArticleTable, with_heads

if TYPE_CHECKING:
    from jinja2 import Environment


def write_html(
    path: Path,
    score: Mapping[str, Any],
    shown: Shown,
    run: Mapping[str, Any],
    pages: Pages | None = None,
    tables: Sequence[ArticleTable] = (),
    sessions: Sequence[Session] = (),
) -> list[Path]:
    """Writes the report of a run: one page, or an index (returned first) with pages in the folder `report`.

    Args:
        shown: has seen all rows of the run.
        pages: images by paper and page number (from 1), for image-only tasks.
    """
    chosen = entries(shown.rows, {task["name"]: task.get("modality", "") for task in run.get("tasks", [])})
    parts = report_pages(chosen) if shown.split else []
    order = {task: rank for rank, task in enumerate(shown.tasks)}
    ordered = sorted(score["tasks"].items(), key=lambda task: order.get(task[0], len(order)))
    named = run_name(path.parent)
    by_task = {name: views.task_view(name, task, named, run.get("engine", "")) for name, task in ordered}
    common = {
        **_head(list(by_task), shown.exams, run),
        "method": marks.sentence(marks.method_sentence(score)),
        "left_out": shown.left_out,
        "asked": shown.asked,
        "parameters": score["parameters"],
        "delta_headings": views.DELTA_HEADINGS,
        **_assets(),
    }
    summary = {
        "tasks": list(by_task.values()),
        "made": _made(run, shown.made),
        "times": views.time_bars(sessions),
        "usage": list(views.usage_sentences(score.get("usage"))),
        "deltas": views.delta_views({name: d for name, d in score["deltas"].items() if "/variant/" not in name}),
        "variants": views.shown_deltas(score.get("variants", ())),
        "exams": views.exam_views(score.get("exams", ())),
        "budgets": [views.budget_view(name, curve, score["parameters"]) for name, curve in views.budget_curves(score)],
        "tables": with_heads(tables),
        "corrected": (*score.get("adaptive", {}).get("lines", ()), *score.get("corrected", {}).get("lines", ())),
        "harness": score.get("harness", {}),
        "regraded": score.get("regraded", {}).get("line", ""),
    }
    with Progress("writing report.html", len(chosen), patient=True) as progress:
        files = []
        for n, part in enumerate(parts):
            files.append(make_subfolder(path.parent, FOLDER) / part.file)
            way = {"up": f"../{path.name}", "part": part, "before": parts[n - 1] if n else None}
            way["after"] = parts[n + 1] if n + 1 < len(parts) else None
            own = {
                **dict.fromkeys(summary, ()),
                "made": None,
                "tasks": [by_task[part.task]] if part.task in by_task else [],
            }
            drawn = _drawn(part.entries, pages or {}, progress.step, part.begin)
            _write(files[-1], {**common, **own, **drawn, "way": way, "contents": ()})
        on_page = _drawn([] if parts else chosen, pages or {}, progress.step)
        _write(path, {**common, **summary, **on_page, "way": None, "contents": contents(parts)})
    _clear(path.parent / FOLDER, {file.name for file in files})
    return [path, *files]


def _drawn(chosen: Sequence[PaperEntry], pages: Pages, step: Callable[[], None], begin: int = 0) -> dict[str, Any]:
    """Questions of one page, after `begin` others of their task, and their scans."""
    drawn, undrawn = sheets(chosen, pages)
    pictures = PictureFiles(occurring(chosen, pages))
    on_sheets = {(sheet.paper, sheet.number) for sheet in drawn}
    rules = row_rules(drawn)
    return {
        "scans": drawn,
        "scan_style": rules,
        "scan_hash": csp_hash(rules),
        "scans_left_out": undrawn,
        "sections": sections(chosen, pages, pictures, step, on_sheets, begin),
        "shared_pictures": pictures.shared,
    }


def further_pages(index: Path) -> list[Path]:
    """The further pages of a report in order, if any."""
    files = (index.parent / FOLDER).glob("[0-9]*-*.html")
    return sorted(
        files, key=lambda file: [int(digits) for digits in re.findall(r"^\d+|(?<=-)\d+(?=\.html$)", file.name)]
    )


def _write(path: Path, content: Mapping[str, Any]) -> None:
    page = environment().get_template("report.html.j2").generate(**content)
    # A lone surrogate in a name would prevent writing.
    write_atomically(path, (piece.encode("utf-8", "replace").decode() for piece in page))


def _clear(folder: Path, kept: Set[str]) -> None:
    old = [file.name for file in folder.glob("[0-9]*-*.*") if file.suffix in (".html", ".pdf")]
    gone = [name for name in old if Path(name).with_suffix(".html").name not in kept]
    remove_files(folder.parent, [f"{folder.name}/{name}" for name in gone])
    if not kept:
        with suppress(OSError):
            folder.rmdir()


def run_name(folder: Path) -> str:
    """Run folder in commands; of an absolute path only the name."""
    return shlex.quote(folder.name if folder.is_absolute() else str(folder))


def _head(names: Sequence[str], exams: Sequence[str], run: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "title": exams[0] if len(exams) == 1 else ", ".join(names[:4]) + (" …" if len(names) > 4 else ""),
        "model": shown_model(run.get("model", "unknown model"), run.get("name", "")),
        "revision": run.get("model_revision"),
        "engine": run.get("engine", ""),
        "date": str(run.get("started_at", ""))[:10],
    }


def _made(run: Mapping[str, Any], seen: Mapping[str, Counter[str]]) -> dict[str, Any]:
    words = run.get("judged_by", {})
    stated = {
        what: {
            f"{words[name]}: {name}" if name in words else name: f"{times:,} answers"
            for name, times in counts.most_common(20)
            if name
        }
        for what, counts in seen.items()
    }
    return {**run, **{what: names for what, names in stated.items() if names}}


def _assets() -> dict[str, str]:
    style, script = read_template("report.css"), read_template("report.js")
    return {"style": style, "script": script, "style_hash": csp_hash(style), "script_hash": csp_hash(script)}


def csp_hash(content: str) -> str:
    """Hash that admits a style or script of ours to a content security policy."""
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"


@cache
def read_template(name: str) -> str:
    """A file of `templates/`."""
    return resources.files("livek12.report").joinpath("templates", name).read_text(encoding="utf-8")


@cache
def environment() -> Environment:
    """Jinja for our pages: escapes everything, refuses missing names, drops forbidden signs."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

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


def styled_page(template: str, *styles: str, **content: Any) -> str:
    """A page of `templates/` with its styles, without lone surrogates."""
    style = "".join(map(read_template, styles))
    page = environment().get_template(template).render(**content, style=Markup(style), style_hash=csp_hash(style))
    return page.encode("utf-8", "replace").decode()


def as_page(tables: Sequence[ArticleTable], missing: Mapping[str, str]) -> str:
    """Page of article tables, and of missing ones with the reason."""
    return styled_page("tables.html.j2", "ingest.css", tables=with_heads(tables), missing=missing)
