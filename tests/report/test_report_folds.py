"""Everything that our pages fold away can be read once it is unfolded, on a wide screen and on a phone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from livek12.core.records import FlowStep, PartVerdict, Process, ProcessError, Variable, Vote
from livek12.core.scoring import Limit, Row
from livek12.core.scoring.comparison import Counterpart
from livek12.core.scoring.outcomes import Slim
from livek12.evaluation.article_tables import SHAPES, article_tables
from livek12.report.html import read_template, write_html
from livek12.report.sections import Shown
from tests.report.test_report_browser import Opened
from tests.report.test_report_html import IMAGE_TASK, TASK, picture, question, row, run_of
from tests.scored import score
from tests.scripts.command import ROOT, livek12_here

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow
TEMPLATES = ("report.html.j2", "macros.html.j2", "parts.html.j2", "budgets.html.j2")
LONG = (
    r"The volume is $V=\frac{1}{3}\times S\times h=\frac{1}{3}\times 6\times 2=4$, and so the answer to it is four. "
    * 2
)
SHORT = Limit(of=TASK, tokens=3276, share=0.1)
MEASURE = """
() => {
  // Text that is not wholly drawn inside everything that clips it, by the fold it stands in.
  const problems = [];
  const beside = (r, o, by) =>
    r.left < o.left - 2 || r.right > o.right + 2 || r.top < o.top - by || r.bottom > o.bottom + by;
  const walk = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode;
    const fold = node.parentElement.closest("details")?.dataset.fold || "page";
    if (!node.data.trim() || !node.parentElement.checkVisibility() || node.parentElement.closest("option")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) {
      if (rect.width < 1) continue;  // what joins two factors unseen
      const say = (what) => problems.push(`${fold}: ${what}: ${node.data.trim().slice(0, 40)}`);
      if (rect.height < 7) say("too low");
      for (let box = node.parentElement; box; box = box.parentElement) {
        const { overflowX, overflowY } = getComputedStyle(box);
        if (/auto|scroll/.test(overflowX + overflowY)) break;  // can be scrolled to
        const clips = overflowX !== "visible", fold = box.tagName === "DETAILS";
        // The end of a fraction may stand out of a last line that clips nothing.
        if ((clips || fold) && beside(rect, box.getBoundingClientRect(), clips ? 2 : 8))
          say(`outside ${box.tagName} ${box.className}`);
      }
    }
  }
  const sizes = [...document.querySelectorAll("details")].map((fold) => {
    const box = fold.getBoundingClientRect(), line = fold.querySelector("summary").getBoundingClientRect();
    return {
      kind: fold.dataset.fold, width: box.width, height: box.height, line: line.height,
      room: fold.parentElement.clientWidth,
      cut: fold.scrollWidth > fold.clientWidth || fold.scrollHeight > fold.clientHeight + 8,
    };
  });
  return { problems, sizes };
}
"""


def everything() -> list[Row]:
    """An answer with everything that the page can fold, a page of a paper, and budgets."""
    vote = Vote(judge="judge-a", decision="accept", score=1.0, reason=LONG, raw='{"correct": true, "why": "…"}')
    part = PartVerdict(
        answer=LONG, gold=LONG, decision="accept", score=1.0, decided_by="panel", reason=LONG, votes=[vote, vote]
    )
    errors = [ProcessError(type="LAE", step="由 $a>b$ 得 $a^2>b^2$", reason="signs are not known", judge="judge-b")]
    asked = question(
        "zh-1",
        question="看图 <image>，求体积。\n| $X$ | 0 |\n|---|---|\n| $P$ | $\\frac13$ |\n求 $E(X)$。",
        images=[picture(200, 90)],
        answer_images=[picture(90, 60)],
        solution=LONG + "看图 <image>" + r"$$\sum_{k=1}^{n}\frac{2}{2k+1}<\ln(n+1)<\sum_{k=1}^{n}\frac{1}{k}$$" * 2,
        solution_images=[picture(120, 60)],
        reasoning_flow=[FlowStep(step=LONG, answer=r"\frac{1}{2}")],
        variables=[Variable(name="v", description="speed of the rod", value="0.5")],
        subsets=["complex_layout"],
        difficulty="hard",
        paper_id="p",
        page_numbers=[1],
        number="1",
    )
    marked: dict[str, Any] = {
        "text": "开头。\n\n"
        + "过程 $2KMnO_4+5H_2C_2O_4+3H_2SO_4=2MnSO_4+K_2SO_4+10CO_2+8H_2O$。" * 60
        + "\n\n结尾 $\\frac{1}{2}$",
        "reasoning": LONG * 30,
        "parts": [part],
        "process": Process(cie=0, lae=1, dre=0, errors=errors, critics=["judge-b"]),
    }
    other = question("zh-2", difficulty="easy", subsets=["rigorous_process"], release="2603")
    return [
        row(asked, 1.0, **marked),
        row(other, 0.0),
        row(asked, None, task=IMAGE_TASK, **marked),
        row(other, 1.0, task=IMAGE_TASK),
        row(asked, 1.0, task=f"{TASK}@0.1"),
    ]


def write(path: Path) -> None:
    rows = everything()
    limits = {TASK: Limit(of=TASK, tokens=32_768), f"{TASK}@0.1": SHORT}
    shown = Shown([(row.task, row.question) for row in rows])
    beside = {IMAGE_TASK: [Counterpart(TASK, (TASK,), "page images alone")]}
    scores = score(shown.passing(rows), modalities={IMAGE_TASK: "image_only"}, limits=limits, beside=beside)
    tables = article_tables({"m": list(map(Slim(), rows))}, SHAPES).tables
    write_html(path / "report.html", dict(scores), shown, run_of(rows), {("p", 1): picture(400, 500)}, tables)


def unfolded(tmp_path: Path, browser: Browser, width: int) -> Opened:
    write(tmp_path)
    report = Opened(browser, tmp_path, width)
    report.page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
    report.page.evaluate(
        "document.querySelectorAll('.question').forEach(q => { q.style.contentVisibility = 'visible'; })"
    )
    return report


@pytest.mark.parametrize("width", [1280, 390])
def test_what_is_folded_can_be_read_when_it_is_unfolded(tmp_path: Path, browser: Browser, width: int) -> None:
    report = unfolded(tmp_path, browser, width)
    found = report.page.evaluate(MEASURE)
    kinds = {kind for name in TEMPLATES for kind in re.findall(r'data-fold="([a-z]+)"', read_template(name))}
    # found and key share one; the tables of a variant have a number
    assert sum(read_template(name).count("<details") for name in TEMPLATES) == len(kinds) + 2
    assert {size["kind"] for size in found["sizes"]} == kinds | {"found", "key", "variant-1"}
    for size in found["sizes"]:
        assert size["width"] > 0.9 * size["room"], size
        assert size["height"] > 1.5 * size["line"] > 20, size
        assert not size["cut"], size
    assert found["problems"] == []
    document, window = report.widths()
    assert document <= window
    report.assert_quiet()


def test_the_measure_finds_what_cannot_be_read(tmp_path: Path, browser: Browser) -> None:
    """The fault that hid every key: the size of a sign in the legend, on the fold."""
    report = unfolded(tmp_path, browser, 1280)
    report.page.evaluate(
        "document.querySelectorAll('.reference').forEach(f => { f.style.width = '1.6rem'; f.style.height = '.8rem'; })"
    )
    found = report.page.evaluate(MEASURE)
    assert any(problem.startswith("reference: outside DETAILS") for problem in found["problems"])
    assert {size["kind"] for size in found["sizes"] if size["cut"]} == {"reference"}


def test_no_class_has_two_meanings(tmp_path: Path, browser: Browser) -> None:
    """A class is of the page's text, of its formulas or of its drawings; a rule for one would hit the other."""
    report = unfolded(tmp_path, browser, 1280)
    spaces = report.page.evaluate(
        """() => {
          const found = {};
          for (const element of document.querySelectorAll("[class]"))
            for (const name of element.classList)
              (found[name] ||= new Set()).add(element.namespaceURI.split("/").at(-1));
          return Object.fromEntries(Object.entries(found).map(([name, all]) => [name, [...all]]));
        }"""
    )
    shared = {name for name, all in spaces.items() if len(all) > 1}
    assert shared <= {
        "left",
        "right",
        "picture",
    }  # one meaning each: an alignment, a picture


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("pypdfium2")
    out = tmp_path_factory.mktemp("ingested") / "out"
    paper = ROOT / "dataset_builders/sample/papers/sample_en.pdf"
    ended = livek12_here("ingest", paper, "--answers", paper, "--how", "text", "--out", out)
    assert "no answer was read to 21 questions" in ended.out + ended.err  # the paper itself is no key
    return out


@pytest.mark.parametrize("width", [1280, 390])
def test_an_ingested_paper_can_be_read_too(ingested: Path, browser: Browser, width: int) -> None:
    page = Opened(browser, ingested, width)
    page.page.eval_on_selector_all("details", "all => all.forEach(fold => { fold.open = true; })")
    assert page.page.locator("figure img").count() == 6
    assert page.page.evaluate(MEASURE)["problems"] == []
    document, window = page.widths()
    assert document <= window
