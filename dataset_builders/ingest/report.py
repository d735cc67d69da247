"""`report.html` of ingested papers.

Contract: a paper's text is escaped or comes from `markup`; the page runs no script and asks nothing of a network; names
of pictures are checked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from livek12.core.files import write_atomically
from livek12.core.records import IMAGE_MARK
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
    """Writes `root/report.html`; `failed` has a line for each unusable PDF of the last call."""
    pages = find_pages(root)
    style = read_template("ingest.css")
    rows = [_paper(root, paper, pages) for paper in papers]
    page = (
        environment()
        .get_template("ingest.html.j2")
        .render(
            papers=rows,
            failed=list(failed),
            permille=lambda share: round(1000 * share),
            totals=sum((Counter(row["counts"]) for row in rows), Counter()),
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


def _paper(root: Path, paper: IngestedPaper, pages: dict[tuple[str, int], Path]) -> dict[str, Any]:
    """A paper with what the template does not make of it itself."""
    length = f"{paper.pages} pages" if paper.pages else ""
    return {
        "record": paper,
        "counts": counts(paper),
        "facts": [fact for fact in (paper.language, paper.subject, length, paper.release) if fact],
        "unmatched": _together([line for line in paper.unmatched if line not in paper.errors]),
        "questions": [_question(root, draft) for draft in paper.drafts],
        "pages": [
            {"number": number, "file": _link("pages", file.name)}
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


def _question(root: Path, draft: Draft) -> dict[str, Any]:
    pictures = iter([_picture(root, figure.name, figure.caption) for figure in draft.figures])

    def shown(text: str) -> Markup:
        return render(text, list(islice(pictures, text.count(IMAGE_MARK))))

    return {
        "draft": draft,
        "text": shown(draft.question),
        "options": [{"label": option.label, "text": shown(option.text)} for option in draft.options],
        "answer": [render_answer(answer) for answer in draft.answer],
        "solution": render(
            draft.solution or "", [_picture(root, own.name, own.caption) for own in draft.solution_figures]
        ),
    }


def _picture(root: Path, name: str, caption: str) -> Markup:
    sides = sides_of(root / "images" / name) if _NAME.fullmatch(name) else ""
    form = Markup('<img src="{}" alt="{}"{} loading="lazy">')
    return form.format(_link("images", name), clean(caption) or "figure", sides)


def _link(folder: str, name: str) -> str:
    return f"{folder}/{quote(name)}" if _NAME.fullmatch(name) else ""
