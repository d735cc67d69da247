"""The site in a real browser, from disk: every page renders, nothing leaves, nothing of an answer runs, keys do."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from livek12.core.records import Option
from livek12.evaluation.site import SiteWishes, make_site
from livek12.report.paper import anchor_of
from livek12.report.site.files import SiteStore
from tests.evaluation.test_site import TASK, asked, marked, run_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

CARRIERS = (
    "<script>{0}</script>", "<img src=x onerror='{0}'>", "<svg onload='{0}'>", "<svg><script>{0}</script></svg>",
    "<iframe srcdoc='<script>parent.{0}</script>'></iframe>", "<a href='javascript:{0}'>x</a>", "[x](javascript:{0})",
    "<math><mtext><style><img src=x onerror='{0}'></style></mtext></math>", "</template><script>{0}</script>",
    r"$\href{{javascript:{0}}}{{x}}$", r"$\text{{<img src=x onerror='{0}'>}}$", "![x](http://elsewhere.test/{0}.png)",
    "<style>@import 'http://elsewhere.test/{0}';</style>", "<link rel=stylesheet href=http://elsewhere.test/{0}>",
    "\");{0};//", "'+{0}+'", "\u2028{0}//", "</script><script>{0}</script>", "<base href=http://elsewhere.test/>{0}",
    "<form action=http://elsewhere.test/><input autofocus onfocus='{0}'></form>",
    "<object data='data:text/html,<script>{0}</script>'></object>", "<body onload='{0}'>",
    "<details open ontoggle='{0}'>",
    "<video><source onerror='{0}'></video>", "<meta http-equiv=refresh content='0;url=http://elsewhere.test/{0}'>",
)  # fmt: skip
PUT = ("{0}", "```\n{0}\n```", "| a |\n| - |\n| {0} |", "**{0}**")
HOSTILE = [put.format(carrier.format("window.pwned=1")) for carrier, put in itertools.product(CARRIERS, PUT)]
assert len(HOSTILE) == 100
SCROLLED = """() => [...document.querySelectorAll("svg.plot")].map((plot) => plot.parentElement)
  .filter((box) => box.scrollWidth > box.clientWidth).length"""
"""Plots that are wider than their place."""
VIEWS = (
    "board", "board?task={t}&axis=subject", "heat", "heat?by=subject&order=right", "papers", "paper?task={t}&paper={p}",
    *(f"plots?kind={kind}" for kind in ("tokens", "cost", "budgets", "dates", "subjects", "ranks")),
    "question?task={t}&q={q}", "graded?run=one&task={t}&q={q}", "model?run=one", "nonsense?x=1",
)  # fmt: skip
CONTRAST = """() => {
  const parse = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const linear = (v) => (v / 255 <= .03928 ? v / 255 / 12.92 : ((v / 255 + .055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => .2126 * linear(r) + .7152 * linear(g) + .0722 * linear(b);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] > .99) return c;
    }
    return [255, 255, 255];
  };
  const bad = [];
  for (const e of document.querySelectorAll("body *")) {
    const says = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!says || !e.getClientRects().length || e.closest("svg, [hidden]")) continue;
    const [a, b] = [light(parse(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
    if ((a + .05) / (b + .05) < 4.5) bad.push([e.tagName, e.className, e.textContent.slice(0, 40)]);
  }
  return bad;
}"""
FOCUSED = """(() => {
  const e = document.activeElement, s = getComputedStyle(e);
  return {tag: e.tagName, seen: s.outlineStyle !== "none" || e.className === "skip"};
})()"""
RUNS = "main script, main iframe, main [onerror], main [href^=java]"


class Tab:
    """A page of the site, and all that it asked for and said."""

    def __init__(self, page: Page, site: Path) -> None:
        self.page, self._site = page, site
        self.requests: list[str] = []
        self.said: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("dialog", lambda dialog: (self.said.append(dialog.message), dialog.dismiss()))

    def open(self, view: str) -> None:
        self.page.goto("about:blank")
        self.page.goto(f"{(self._site / 'index.html').as_uri()}#/{view}")
        self.page.wait_for_selector("body[data-ready]")
        self.page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        self.page.wait_for_timeout(120)

    def assert_quiet(self) -> None:
        root = self._site.as_uri()
        outside = [url for url in self.requests if not url.startswith((root, "data:", "about:"))]
        assert outside == []
        assert self.said == []
        assert self.page.evaluate("window.pwned") is None


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs of a hundred questions: whatever can hold a text holds one that wants to run."""
    folder = tmp_path_factory.mktemp("site")
    questions = []
    for n, text in enumerate(HOSTILE, 1):
        names = {"subject": text[:60], "exam": text, "difficulty": text[:40], "subsets": [text[:40]]}
        texts = {"question": text, "solution": text, "answer": [text], "options": [Option(label="A", text=text)]}
        questions.append(asked(n, paper_id=f"p{n // 50} {HOSTILE[n // 50]}", **names, **texts))
    runs = []
    for name, shift in (("one", 0), ("two", 7), ("three", 31)):
        texts = HOSTILE[shift:] + HOSTILE[:shift]
        answers = [
            marked(q, text, (n + shift) % 3 != 0 or None, response={"text": text, "reasoning": text}, reason=text)
            for n, (q, text) in enumerate(zip(questions, texts, strict=True))
        ]
        runs.append(run_of(folder / name, questions, answers, model=f"{name} {HOSTILE[shift]}"))
    make_site(runs, folder / "site", SiteWishes(refuses=lambda question: "", title=HOSTILE[0]))
    return folder / "site"


@pytest.fixture(params=[(1280, "light"), (390, "dark")], ids=["wide and light", "a phone and dark"])
def tab(browser: Browser, site: Path, request: pytest.FixtureRequest) -> Iterator[Tab]:
    width, scheme = request.param
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)
    yield Tab(context.new_page(), site)
    context.close()


def addresses(site: Path, number: int = 1) -> dict[str, str]:
    anchor = anchor_of(TASK, f"q{number}")
    store = SiteStore(site)
    (name,) = store.read("site")["tasks"][TASK]["index"]
    return {"t": TASK, "q": anchor, "p": store.read(name)[anchor]["paper"]}


def test_every_page_of_hostile_answers_is_quiet_fits_and_can_be_read(tab: Tab, site: Path) -> None:
    for view in VIEWS:
        tab.open(view.format(**addresses(site)))
        tab.assert_quiet()
        wide, window = tab.page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert wide <= window, view
        assert tab.page.evaluate(SCROLLED) == 0, view
        assert tab.page.evaluate(CONTRAST) == [], view
        assert tab.page.locator("h1").count() == 1


@pytest.mark.parametrize("step", [11, pytest.param(1, marks=pytest.mark.release)])
def test_none_of_a_hundred_hostile_answers_runs(browser: Browser, site: Path, step: int) -> None:
    tab = Tab(browser.new_context(offline=True).new_page(), site)
    for number in range(1, 101, step):
        tab.open("question?task={t}&q={q}".format(**addresses(site, number)))
        tab.page.locator(".beside .marking").nth(2).wait_for(state="attached")
        tab.assert_quiet()
    assert tab.page.locator(RUNS).count() == 0


def test_the_keyboard_goes_through_the_heat_map_to_an_answer(tab: Tab, site: Path) -> None:
    tab.open("heat")
    tab.page.locator(".heat-box").focus()
    for key in ("ArrowRight", "ArrowDown", "ArrowDown", "ArrowUp"):
        tab.page.keyboard.press(key)
    assert " 2: " in tab.page.locator(".heat-told").inner_text()
    tab.page.keyboard.press("Enter")
    tab.page.wait_for_selector(".graded .marking")
    assert f"q={anchor_of(TASK, 'q2')}" in tab.page.url


def test_the_keyboard_reaches_all_controls_and_shows_where_it_is(tab: Tab) -> None:
    tab.open("board")
    reached: set[str] = set()
    for _ in range(60):
        tab.page.keyboard.press("Tab")
        found: dict[str, Any] = tab.page.evaluate(FOCUSED)
        if found["tag"] == "BODY":
            break
        assert found["seen"], found
        reached.add(found["tag"])
    assert {"A", "BUTTON", "SELECT", "INPUT"} <= reached


def test_a_view_has_an_address_that_stays(tab: Tab) -> None:
    tab.open(f"board?task={TASK}&metric=accuracy&sort=tokens&lang=ko")
    assert tab.page.locator("html").get_attribute("lang") == "ko"
    assert tab.page.locator("th[aria-sort]").inner_text().startswith("답변당 토큰")
    tab.page.locator("select").first.select_option("mark")
    tab.page.wait_for_url("**metric=mark**")
    assert "sort=tokens" in tab.page.url
    assert "lang=ko" in tab.page.url


def test_without_scripts_the_marks_are_there(browser: Browser, site: Path) -> None:
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto((site / "index.html").as_uri())
    assert page.locator("tbody tr").count() == 3
    assert "table.json" in page.locator("noscript").inner_text()
    context.close()


def test_every_word_is_in_three_languages(browser: Browser, site: Path) -> None:
    tab = Tab(browser.new_context(offline=True).new_page(), site)
    tab.open("board")
    words: dict[str, dict[str, str]] = tab.page.evaluate("WORDS")
    assert all(said.keys() == {"en", "zh", "ko"} and all(said.values()) for said in words.values())
    scripts = "".join(file.read_text() for file in (site / "assets").glob("*.js"))
    used = set(re.findall(r'\bt\("(\w+)"\)', scripts))
    assert len(used) > 50
    assert used <= words.keys(), used - words.keys()


def test_a_table_has_a_column_of_intervals_where_a_row_has_one(tab: Tab) -> None:
    """The marks of a subject are those of one question, those of a model of a hundred."""
    for kind, has_intervals in (("subjects", False), ("tokens", True)):
        tab.open(f"plots?kind={kind}")
        heads = tab.page.locator("main table.plain").first.locator("thead th").all_inner_texts()
        cells = tab.page.locator("main table.plain").first.locator("tbody tr").first.locator("th, td").count()
        assert any("95" in head for head in heads) is has_intervals, heads
        assert len(heads) == cells
