"""`report.html` of ingested papers.

Contract: a paper's text is escaped or comes from `markup`; the page runs no script and asks nothing of a network; names
of pictures are checked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from livek12.core.files import write_atomically
from livek12.dataset_builders.ingest.drafts import Draft, IngestedPaper
from livek12.dataset_builders.ingest.questions.segment import MISSING
from livek12.dataset_builders.reading.images import find_pages
from livek12.report.html import csp_hash, environment, read_template
from livek12.report.markup import clean, render, render_answer
from livek12.report.pictures import sides_of

_LOST = re.compile(r"section .* has no question")
_SHORT = re.compile(r"(?:the paper|section .*) says that it has (\d+).* questions, and (\d+)")
_OF_QUESTION = re.compile(r"question ([^:,]{1,40}): (no key in .+)")
_NAME = re.compile(r"[\w.-]{1,200}")


def write_report(root: Path, papers: Sequence[IngestedPaper], failed: Sequence[str] = ()) -> Path:
    """Writes `root/report.html`; `failed` has a line for each unusable PDF of the last call.

    Raises:
        UserError: the file cannot be written.
    """
    pages = find_pages(root)
    style = read_template("ingest.css")
    page = (
        environment()
        .get_template("ingest.html.j2")
        .render(
            papers=[_paper(root, paper, pages) for paper in papers],
            failed=list(failed),
            totals=_totals(papers),
            style=Markup(style),
            style_hash=csp_hash(style),
        )
    )
    target = root / "report.html"
    write_atomically(target, page.encode("utf-8", "replace").decode())
    return target


def counts(paper: IngestedPaper) -> dict[str, int]:
    """Counts of questions, keyed ones, doubtful ones, and unmatched numbers."""
    return {
        "found": len(paper.drafts),
        "matched": sum(bool(draft.answer or draft.solution) for draft in paper.drafts),
        "doubtful": sum(draft.is_doubtful for draft in paper.drafts),
        "missing": _missing(paper.errors),
    }


def _missing(errors: Sequence[str]) -> int:
    """Questions that errors name, or by which printed counts are higher."""
    runs = [run for line in errors if (run := MISSING.match(line))]
    named = sum(int(run[2] or run[1]) - int(run[1]) + 1 for run in runs) + sum(map(bool, map(_LOST.match, errors)))
    return max(named, sum(max(0, int(short[1]) - int(short[2])) for line in errors if (short := _SHORT.match(line))))


def _totals(papers: Sequence[IngestedPaper]) -> dict[str, int]:
    rows = [counts(paper) for paper in papers]
    return {name: sum(row[name] for row in rows) for name in ("found", "matched", "doubtful", "missing")}


def _paper(root: Path, paper: IngestedPaper, pages: dict[tuple[str, int], Path]) -> dict[str, Any]:
    boxes: dict[int, list[dict[str, Any]]] = {}
    for place, draft in enumerate(paper.drafts):
        for box in draft.boxes:
            view = {
                "x": round(box.left * 1000),
                "y": round(box.top * 1000),
                "width": round((box.right - box.left) * 1000),
                "height": round((box.bottom - box.top) * 1000),
                "number": draft.number,
                "anchor": f"{paper.paper_id}-{place}",
                "doubtful": draft.is_doubtful,
            }
            boxes.setdefault(box.page, []).append(view)
    return {
        "id": paper.paper_id,
        "title": paper.title or paper.paper_id,
        "source": paper.source,
        "facts": [
            *filter(None, (paper.language, paper.subject, f"{paper.pages} pages" * bool(paper.pages), paper.release))
        ],
        "read": f"template {paper.template}, parsed by {paper.parsed_by}",
        "counts": counts(paper),
        "errors": paper.errors,
        "unmatched": _together([line for line in paper.unmatched if line not in paper.errors]),
        "account": paper.account,
        "notes": paper.notes,
        "questions": [_question(root, paper, draft, place) for place, draft in enumerate(paper.drafts)],
        "pages": [
            {"number": number, "file": _link("pages", file.name), "boxes": boxes.get(number, [])}
            for (name, number), file in pages.items()
            if name == paper.paper_id
        ],
    }


def _together(lines: Sequence[str]) -> list[str]:
    """Lines on questions, those that say the same as one."""
    names: dict[str, list[str]] = {}
    for line in lines:
        match = _OF_QUESTION.fullmatch(line)
        names.setdefault(match[2] if match else line, []).extend([match[1]] if match else [])
    return [f"question{'s' * (len(own) > 1)} {', '.join(own)}: {text}" if own else text for text, own in names.items()]


def _question(root: Path, paper: IngestedPaper, draft: Draft, place: int) -> dict[str, Any]:
    pictures = [_picture(root, figure.name, figure.caption) for figure in draft.figures]
    cut = draft.question.count("<image>")
    used = pictures[:cut]
    rest = iter(pictures[cut:])
    options = []
    for option in draft.options:
        own = [picture for _, picture in zip(range(option.text.count("<image>")), rest, strict=False)]
        options.append({"label": option.label, "text": render(option.text, own)})
    return {
        "anchor": f"{paper.paper_id}-{place}",
        "number": f"{draft.elective} {draft.number}".strip(),
        "type": draft.question_type.replace("_", " "),
        "printed_type": draft.question_type_raw,
        "points": f"{draft.points:g}" if draft.points is not None else "",
        "section": draft.section,
        "text": render(draft.question, used),
        "options": options,
        "answer": [render_answer(answer) for answer in draft.answer],
        "answer_from": draft.answer_from,
        "solution": render(draft.solution) if draft.solution else "",
        "doubts": [{"kind": doubt.kind, "text": doubt.text} for doubt in draft.doubts],
        "doubtful": draft.is_doubtful,
        "pages": ", ".join(map(str, draft.page_numbers)),
    }


def _picture(root: Path, name: str, caption: str) -> Markup:
    sides = sides_of(root / "images" / name) if _NAME.fullmatch(name) else ""
    form = Markup('<img src="{}" alt="{}"{} loading="lazy">')
    return form.format(_link("images", name), clean(caption) or "figure", sides)


def _link(folder: str, name: str) -> str:
    return f"{folder}/{quote(name)}" if _NAME.fullmatch(name) else ""
