"""Questions and answers of a site as pieces of safe HTML: the graded paper's own drawing, without its page.

Contract: what comes out was escaped or rendered by `report.markup`; the page's script puts it in place unread. A piece
is at most `MOST` bytes: what is cut is said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from livek12.core.records import Image, PageBox, Question
from livek12.core.scoring import Row
from livek12.report.html import environment
from livek12.report.paper import PaperEntry, answer_views, question_view
from livek12.report.pictures import PAGE_WIDTH
from livek12.report.site.store import SitePictures

MOST = 1_500_000
Pages = Mapping[tuple[str, int], Image]


@dataclass(frozen=True)
class Places:
    """The pages on which a question stands, and which of them may be shown."""

    pages: Pages
    hidden: frozenset[tuple[str, int]]


def question_fragments(question: Question, task: str, image_only: bool, pictures: SitePictures) -> dict[str, str]:
    """The question as it was asked, and its key with the solution: {"asked", "key"}."""
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
    """The pages that the question stands on: file, size in pixels, and its boxes on them."""
    found = []
    for number in sorted(question.page_numbers):
        key = (question.paper_id or "", number)
        if key in where.hidden or key not in where.pages:
            continue
        placed = pictures.place(where.pages[key], PAGE_WIDTH)
        if not isinstance(placed, str):
            boxes = [_sides(box) for box in question.boxes if box.page == number]
            found.append({"page": number, "file": placed[0], "size": placed[1:], "boxes": boxes})
    return found


def _sides(box: PageBox) -> list[float]:
    return [round(side, 4) for side in (box.left, box.top, box.right, box.bottom)]


def _bounded(piece: str) -> str:
    text = str(piece)
    return text if len(text) <= MOST // 3 else '<p class="cut">Too long to be shown; it is in the run folder.</p>'


@cache
def _parts() -> Any:
    return environment().get_template("parts.html.j2").module
