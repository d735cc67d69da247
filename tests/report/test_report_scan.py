"""The graded paper on the page itself: every mark at its question, in HTML and as a PDF."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from livek12.core.errors import UserError
from livek12.core.records import Image, Key, PageBox, PartVerdict, Question, Verdict
from livek12.core.run.folder import RunFolder
from livek12.core.schemes import read_scheme
from livek12.core.scoring import Row
from livek12.evaluation.reporting import score_run
from livek12.evaluation.task_data import reload_task_data
from livek12.report import pdf
from livek12.report.html import environment
from livek12.report.paper import PaperEntry, anchor_of
from livek12.report.scan import GradedSheet, sheets

TASK = "kmmmu"


def page(width: int = 800, height: int = 1100) -> Image:
    from PIL import Image as Pillow

    buffer = io.BytesIO()
    Pillow.new("L", (width, height), 255).save(buffer, "PNG")
    return Image(bytes=buffer.getvalue())


def box(number: int, top: float, bottom: float, left: float = 0.1, right: float = 0.9) -> PageBox:
    return PageBox(page=number, left=left, top=top, right=right, bottom=bottom)


def entry(number: int, boxes: list[PageBox], *earned: float | None, **fields: Any) -> PaperEntry:
    """A question worth 4, with an answer for each of `earned`; None: not decided."""
    made: dict[str, Any] = {"question": "?", "answer": ["7"], "number": str(number), **fields}
    question = Question(
        id=f"q{number}", benchmark="kmmmu", language="ko", subject="x", question_type="short_answer", points=4.0,
        paper_id="p", page_numbers=sorted({one.page for one in boxes}), boxes=boxes, **made,
    )  # fmt: skip
    return PaperEntry(TASK, question, [_row(question, n, points) for n, points in enumerate(earned)], False)


def _row(question: Question, trial: int, earned: float | None) -> Row:
    low, high = (0.0, 4.0) if earned is None else (earned, earned)
    part = PartVerdict(answer="<b>8</b>", gold="7", decision="undecided", score=None, decided_by="number")
    verdict = Verdict(
        key=Key(task=TASK, question_id=question.id, trial=trial), state="graded" if earned is not None else "ungraded",
        parts=[part], points=earned, low=low, high=high, max_points=4, correct=None, judge="j",
    )  # fmt: skip
    return Row(TASK, question, trial, verdict.state, None, verdict)


def drawn(*entries: PaperEntry, numbers: tuple[int, ...] = (1, 2)) -> list[GradedSheet]:
    found, left_out = sheets(entries, {("p", number): page() for number in numbers})
    assert left_out == 0
    return found


def test_each_mark_stands_within_the_height_of_its_question() -> None:
    entries = [
        entry(n, [box(1 + n // 5, 0.05 + 0.18 * (n % 5), 0.2 + 0.18 * (n % 5))], 4.0 * (n % 2)) for n in range(1, 10)
    ]
    found = drawn(*entries)
    assert [[pen.anchor for pen in sheet.pens] for sheet in found] == [
        [anchor_of(TASK, f"q{n}") for n in numbers] for numbers in ((1, 2, 3, 4), (5, 6, 7, 8, 9))
    ]
    by_anchor = {anchor_of(TASK, one.question.id): one.question.boxes[0] for one in entries}
    for sheet in found:
        for pen in sheet.pens:
            at = by_anchor[pen.anchor]
            assert at.top * sheet.picture.height <= pen.y
            assert pen.y + pen.size + pen.ink <= at.bottom * sheet.picture.height + 1
            assert at.right * sheet.picture.width < pen.x < sheet.picture.width - pen.size
            assert pen.kind == ("full" if pen.text == "4/4" else "wrong")


def test_the_sum_stands_on_the_first_page_and_a_subtotal_on_each() -> None:
    found = drawn(
        entry(1, [box(1, 0.1, 0.3)], 4.0), entry(2, [box(1, 0.4, 0.6)], 1.5), entry(3, [box(2, 0.1, 0.3)], None)
    )
    assert [sheet.sum for sheet in found] == ["5.5–9.5 / 12", ""]
    assert [sheet.subtotal for sheet in found] == ["5.5 / 8", "0–4 / 4"]
    assert [pen.kind for sheet in found for pen in sheet.pens] == ["full", "part", "open"]


def test_a_question_over_two_pages_is_marked_where_it_ends() -> None:
    found = drawn(entry(1, [box(1, 0.7, 0.95), box(2, 0.05, 0.3)], 4.0))
    assert [len(sheet.pens) for sheet in found] == [0, 1]
    assert [sheet.sum for sheet in found] == ["4 / 4", ""]


def test_in_two_columns_no_mark_stands_on_the_other_column() -> None:
    left, right = box(1, 0.1, 0.4, 0.06, 0.49), box(1, 0.1, 0.4, 0.51, 0.94)
    (sheet,) = drawn(entry(1, [left], 4.0), entry(2, [right], 0.0))
    for pen, at in zip(sheet.pens, (left, right), strict=True):
        assert at.left * sheet.picture.width < pen.x
        assert pen.x + pen.size <= max(at.right, 0.985) * sheet.picture.width
    assert sheet.pens[0].x + sheet.pens[0].size < right.left * sheet.picture.width


def test_repeats_are_averaged() -> None:
    (sheet,) = drawn(entry(1, [box(1, 0.1, 0.5)], 4.0, 0.0, 4.0, 4.0))
    assert (sheet.pens[0].kind, sheet.pens[0].text, sheet.sum) == ("part", "3/4", "3 / 4")


def test_a_question_that_was_not_asked_says_so_and_the_paper_how_many_points_were() -> None:
    unasked = entry(2, [box(1, 0.3, 0.4)])
    unasked = replace(unasked, rows=[Row(TASK, unasked.question, 0, "unsupported", None, None)])
    ((sheet,), _) = sheets([entry(1, [box(1, 0.1, 0.2)], 4.0), unasked], {("p", 1): page()})
    assert [(pen.kind, pen.text) for pen in sheet.pens] == [("full", "4/4"), ("", "not asked")]
    assert (sheet.sum, sheet.remark) == ("4–8 / 8", "4 of its 8 points were asked")


def test_a_page_without_a_picture_and_a_question_without_a_place_are_left_to_the_questions_below() -> None:
    assert drawn(entry(1, [box(2, 0.1, 0.2)], 4.0), entry(2, [], 4.0), numbers=(1,)) == []


def test_the_criteria_of_a_scheme_are_listed_with_their_quotations() -> None:
    scheme = read_scheme([{"points": 3, "text": "a"}, {"points": 1, "text": "b"}])
    base = entry(1, [box(1, 0.1, 0.5)], 3.0, scheme=scheme)
    right = PartVerdict(name="1", answer="<b>so</b>", gold="", decision="accept", score=1.0, decided_by="llm")
    parts = [right, PartVerdict(name="2", answer=None, gold="", decision="reject", score=0.0, decided_by="llm")]
    (row,) = base.rows
    assert row.verdict is not None
    marked = replace(row, verdict=row.verdict.model_copy(update={"parts": parts}))
    (sheet,) = drawn(replace(base, rows=[marked]))
    (answer,) = sheet.notes[0]["answers"]
    assert answer["criteria"] == [("✓ 1", "full", "&lt;b&gt;so&lt;/b&gt;"), ("✗ 2", "wrong", "")]
    shown = str(environment().get_template("scan.html.j2").module.scans([sheet], 0, False))  # type: ignore[attr-defined]
    assert '<mark class="quoted full">&lt;b&gt;so&lt;/b&gt;</mark>' in shown


def test_a_box_off_the_page_is_no_box() -> None:
    for sides in ((0.5, 0.4), (-0.1, 0.5), (0.2, 1.2)):
        with pytest.raises(ValueError, match="a box lies on a page"):
            box(1, *sides)


class TestSample:
    @pytest.fixture
    def tasks(self) -> str:
        return TASK

    @pytest.mark.slow
    def test_the_report_draws_the_two_pages_of_the_paper(self, run: RunFolder) -> None:
        scored = score_run(run, "article", reload_task_data(run))
        assert not scored.write()
        text = (run.path / "report.html").read_text()
        assert text.count('class="scan-picture"') == 2
        assert len(re.findall(r'class="scan-points"', text)) == 9
        mark = scored.scores["tasks"][TASK]["metrics"]["mark"]
        low, high = (round(9 * mark[end] / 100, 2) for end in ("low", "high"))
        assert f"{low:g}–{high:g} / 9" in text

    @pytest.mark.release
    def test_the_pdf_has_every_mark_at_its_question(self, run: RunFolder) -> None:
        """Read back from the PDF: the words of each mark lie at the height of the box of its question."""
        pdfium = pytest.importorskip("pypdfium2")
        if pdf.find_browser() is None:
            pytest.skip("no chromium on this machine")
        exam = reload_task_data(run)
        score_run(run, "article", exam).write()
        pdf.write_pdf(run.path / "report.html", run.path / "report.pdf")
        questions = exam.questions[TASK]
        with pdfium.PdfDocument(run.path / "report.pdf") as document:
            scans = [sheet for sheet in document if _picture(sheet) is not None]
            assert len(scans) >= 2
            for number, sheet in enumerate(scans[:2], 1):
                left, bottom, right, top = _picture(sheet)
                marks = _marks(sheet, left, right, bottom)
                asked = [one for one in questions if one.boxes[0].page == number]
                assert len(marks) == len(asked)
                for height, one in zip(marks, asked, strict=True):
                    share = (top - height) / (top - bottom)
                    assert one.boxes[0].top <= share <= one.boxes[0].bottom, (one.id, share)


def _picture(sheet: Any) -> Any:
    """Where the picture of a scanned page lies on a page of the PDF."""
    found = [one.get_bounds() for one in sheet.get_objects(max_depth=4) if one.type == 3]
    tall = [bounds for bounds in found if bounds[3] - bounds[1] > 300]
    return tall[0] if tall else None


def _marks(sheet: Any, left: float, right: float, bottom: float) -> list[float]:
    """Heights of words like 1/1 in the right margin of the picture, from above; not the subtotal at its foot."""
    text, found = sheet.get_textpage(), []
    search = text.search("/1")
    while (at := search.get_next()) is not None:
        first, low, _, high = text.get_charbox(at[0])
        if left + 0.85 * (right - left) < first < right and low > bottom + 25:
            found.append((low + high) / 2)
    return sorted(found, reverse=True)


def test_without_a_browser_the_command_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="needs Chromium or Chrome"):
        pdf.write_pdf(tmp_path / "report.html", tmp_path / "report.pdf")


def test_a_browser_that_prints_nothing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "chromium"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match=r"did not print .*ended with 3"):
        pdf.write_pdf(tmp_path / "report.html", tmp_path / "report.pdf")
    assert [file.name for file in tmp_path.iterdir()] == ["chromium"]


def of_task(task: str, one: PaperEntry) -> PaperEntry:
    return PaperEntry(task, one.question, one.rows, one.image_only)


def test_tasks_that_share_out_a_paper_are_one_graded_paper_and_others_are_not() -> None:
    first, second = entry(1, [box(1, 0.1, 0.2)], 4.0), entry(2, [box(1, 0.3, 0.4)], 0.0)
    (sheet,) = drawn(of_task("text", first), of_task("figures", second), numbers=(1,))
    assert (sheet.tasks, len(sheet.pens), sheet.sum) == (["text", "figures"], 2, "4 / 8")
    both = drawn(of_task("text", first), of_task("figures", second), of_task("pages", first), numbers=(1,))
    assert [(each.tasks, each.sum) for each in both] == [(["text", "figures"], "4 / 8"), (["pages"], "4 / 4")]


def test_notes_have_a_row_each_from_where_their_question_begins() -> None:
    left = [entry(n, [box(1, n / 10, n / 10 + 0.05, right=0.45)], 4.0) for n in (2, 5)]
    right = entry(9, [box(1, 0.195, 0.3, left=0.55, right=0.95)], 4.0)
    (sheet,) = drawn(*left, right, numbers=(1,))
    assert [(note["number"], note["row"]) for note in sheet.notes] == [("2", 0), ("5", 2), ("9", 1)]
    assert sheet.rows[0] == pytest.approx(0.2) and sheet.rows[-1] == pytest.approx(0.5)
    crowd = [entry(n, [box(1, n / 40, n / 40 + 0.02)], 0.0, answer=["a long key " * 20]) for n in range(1, 31)]
    (sheet,) = drawn(*crowd, numbers=(1,))
    assert sheet.rows == [], "where there is no room they follow each other"


@pytest.mark.slow
@pytest.mark.parametrize("media", ["screen", "print"])
def test_notes_stand_level_with_their_questions(tmp_path: Path, browser: Any, media: Any) -> None:
    from tests.report.test_report_html import question, row, write

    tops = {n: 0.05 + 0.09 * n for n in range(9)}
    asked = [
        question(f"q{n}", number=str(n), paper_id="p", page_numbers=[1], boxes=[box(1, top, top + 0.07)])
        for n, top in tops.items()
    ]
    write(tmp_path, [row(one, (0.0, 1.0, None)[n % 3]) for n, one in enumerate(asked)], {("p", 1): page()})
    tab = browser.new_page(viewport={"width": 1280, "height": 900})
    tab.goto((tmp_path / "report.html").as_uri())
    tab.emulate_media(media=media)
    places = tab.evaluate("""() => {
        const sheet = document.querySelector(".scan-page").getBoundingClientRect();
        return [...document.querySelectorAll(".scan-notes li")].map((note) => {
            const { top, bottom } = note.getBoundingClientRect();
            return [(top - sheet.top) / sheet.height, (bottom - sheet.top) / sheet.height];
        });
    }""")
    tab.close()
    assert len(places) == 9
    for (top, _), wanted in zip(places, tops.values(), strict=True):
        assert top == pytest.approx(wanted, abs=0.02)
    assert all(before[1] <= after[0] + 0.001 for before, after in pairwise(places))
