"""A report of more than one page: an index and pages for each task; and what stands beside the marks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pytest

from livek12.core.scoring import Row
from livek12.report import pdf, sections
from livek12.report.html import further_pages, run_name
from livek12.report.paper import anchor_of
from tests.report.test_report_html import TASK, in_class, question, row, write

if TYPE_CHECKING:
    from playwright.sync_api import Browser

OTHER = "kmmmu/odd name:1"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of six questions or twelve answers."""
    monkeypatch.setattr(sections, "PAGE_QUESTIONS", 6)
    monkeypatch.setattr(sections, "PAGE_ANSWERS", 12)


def rows() -> list[Row]:
    """Three papers of four questions of one task, a question of another."""
    of_task = [
        row(question(f"p{paper}-q{n}", paper_id=f"p{paper}", number=str(n)), 0.0 if n == 2 else 1.0)
        for paper in (1, 2, 3)
        for n in (1, 2, 3, 4)
    ]
    return [*of_task, row(question("loose"), task=OTHER)]


def links(page: Path) -> list[Path]:
    """Where the links of a page lead to, without their anchors."""
    found = re.findall(r'<a [^>]*href="([^"#]+)', page.read_text(encoding="utf-8"))
    return [(page.parent / unquote(href)).resolve() for href in found]


def test_a_small_run_is_one_file(tmp_path: Path) -> None:
    html = write(tmp_path, rows())
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"] and html.count("<article") == 13
    assert further_pages(tmp_path / "report.html") == []


@pytest.mark.usefixtures("small")
def test_a_large_run_is_an_index_and_pages_with_whole_papers(tmp_path: Path) -> None:
    index = write(tmp_path, rows())
    pages = further_pages(tmp_path / "report.html")
    assert [page.name for page in pages] == [
        f"1-{TASK}-1.html", f"1-{TASK}-2.html", f"1-{TASK}-3.html", "2-kmmmu-odd-name-1.html",
    ]  # fmt: skip
    texts = [page.read_text(encoding="utf-8") for page in pages]
    assert "<article" not in index
    assert [in_class(text, "id") for text in texts] == [
        *([f"p{paper}-q{n}" for n in (1, 2, 3, 4)] for paper in (1, 2, 3)),
        ["loose"],
    ]
    # Linked both ways, from disk: each link leads to a file of the report.
    files = {(tmp_path / "report.html").resolve(), *(page.resolve() for page in pages)}
    assert set(links(tmp_path / "report.html")) == {page.resolve() for page in pages}
    for n, page in enumerate(pages):
        around = {pages[m].resolve() for m in (n - 1, n + 1) if 0 <= m < len(pages)}
        assert set(links(page)) == {(tmp_path / "report.html").resolve(), *around} <= files
    # Each cell of the index leads to its question.
    for one in rows():
        anchor = anchor_of(one.task, one.question.id)
        (href,) = re.findall(rf'href="([^"#]+)#{anchor}"', index)
        assert f'id="{anchor}"' in (tmp_path / unquote(href)).read_text(encoding="utf-8")
    assert all("content-security-policy" in text.lower() for text in (index, *texts))


@pytest.mark.usefixtures("small")
def test_many_trials_make_more_pages_and_numbers_go_on(tmp_path: Path) -> None:
    asked = [question(f"q{n}") for n in range(5)]
    answers = [row(one, trial=trial) for one in asked for trial in range(5)]
    write(tmp_path, answers, trials=5)
    texts = [page.read_text(encoding="utf-8") for page in further_pages(tmp_path / "report.html")]
    assert [in_class(text, "number") for text in texts] == [["1", "2"], ["3", "4"], ["5"]]


def test_pages_that_a_report_has_no_more_are_taken_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as changed:
        changed.setattr(sections, "PAGE_QUESTIONS", 6)
        write(tmp_path, rows())
    (page, *_) = further_pages(tmp_path / "report.html")
    page.with_suffix(".pdf").write_text("old")
    (page.parent / "mine.html").write_text("mine")
    write(tmp_path, rows())
    assert [file.name for file in (tmp_path / "report").iterdir()] == ["mine.html"], "only what is ours goes"


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_an_address_of_a_question_leads_from_the_index_to_its_page(tmp_path: Path, browser: Browser) -> None:
    write(tmp_path, rows())
    tab = browser.new_page(viewport={"width": 390, "height": 800})
    anchor = anchor_of(TASK, "p2-q3")
    tab.goto(f"{(tmp_path / 'report.html').as_uri()}#{anchor}")
    tab.wait_for_url("**/report/1-*")
    assert tab.url.endswith(f"-2.html#{anchor}") and tab.locator(f"#{anchor}").is_visible()
    tab.get_by_role("link", name="whole report").first.click()
    tab.wait_for_url("**/report.html")
    assert tab.locator(".contents .cell").count() == 13 and tab.locator(".contents .cell").first.is_visible()
    assert tab.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    tab.close()


def test_several_papers_have_headings_and_sums(tmp_path: Path) -> None:
    html = write(tmp_path, rows())
    assert in_class(html, "paper-name") == [f"Paper p{n} 15 / 20" for n in (1, 2, 3)]
    assert in_class(html, "grid-paper") == [f"p{n} 15 / 20" for n in (1, 2, 3)]


def test_what_is_open_is_said_with_what_settles_it(tmp_path: Path) -> None:
    folder = tmp_path / "my run"
    folder.mkdir()
    asked = [question(f"q{n}") for n in range(4)]
    failed = Row(TASK, asked[3], 0, "failed", None, None)
    html = write(folder, [row(asked[0]), row(asked[1], None), row(asked[2], None, judge="none"), failed])
    assert in_class(html, "basis") == ["4 questions were asked; 1 is marked, 2 open, 1 failed."]
    said = " ".join(re.sub("<[^>]*>", "", html.partition('data-fold="counts"')[2].partition("</details>")[0]).split())
    assert "Open answers and counts" in said
    assert "1 open: the rules could not decide" in said and "livek12 judge &#39;my run&#39; --judge MODEL" in said
    assert "1 open: not judged yet. Judge them: livek12 judge &#39;my run&#39;" in said
    assert "1 failed: no response came; the command that made the run asks again" in said
    assert "Open answers" not in write(tmp_path, [row(asked[0])])
    assert run_name(Path("runs/a")) == "runs/a"


def test_metrics_stand_beside_the_mark_with_the_answers_that_tell_them_apart(tmp_path: Path) -> None:
    shares = (1.0, 0.5, 0.5, 0.0)
    html = write(tmp_path, [row(question(f"q{n}"), share) for n, share in enumerate(shares)])
    (table,) = in_class(html, "beside")
    said = " ".join(table.split())
    assert "mark points earned out of 10050" in said
    assert "accuracy answers that are fully correct25 % −252 answers count for less" in said
    assert "PES" not in said and "OES" not in said, "nobody audited them"


def test_axes_of_very_many_groups_are_cut_with_a_word(tmp_path: Path) -> None:
    html = write(tmp_path, [row(question(f"q{n}", subject=f"s{n}")) for n in range(203)])
    assert "3 more are in report.json." in html and len(re.findall(r'<th scope="row">s\d+', html)) == 200


@pytest.mark.slow
@pytest.mark.usefixtures("small")
@pytest.mark.release
def test_a_pdf_leads_to_the_other_pdfs_and_says_nothing_of_the_machine(tmp_path: Path) -> None:
    pdfium = pytest.importorskip("pypdfium2")
    if pdf.find_browser() is None:
        pytest.skip("no chromium on this machine")
    folder = tmp_path / "odd (name) é"
    folder.mkdir()
    write(folder, rows())
    index, page = folder / "report.html", further_pages(folder / "report.html")[1]
    found = []
    for one in (index, page):
        pdf.write_pdf(one, one.with_suffix(".pdf"))
        printed = one.with_suffix(".pdf").read_bytes()
        assert b"file:" not in printed and tmp_path.name.encode() not in printed
        found.append({*re.findall(rb"/URI \((.*?)\)", printed)})
        assert len(pdfium.PdfDocument(printed)) >= 1
    names = [b"1-%s-%d.pdf" % (TASK.encode(), n) for n in (1, 2, 3)]
    assert found[0] >= {b"report/" + name for name in names}
    assert found[1] == {b"../report.pdf", names[0], names[2]}
