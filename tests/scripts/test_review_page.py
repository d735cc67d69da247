"""The review page on screens of every width, and what it does with what cannot be stored."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from livek12.dataset_builders.review.store import ReviewStore
from tests.dataset_builders.review.folders import make_folder
from tests.scripts.test_review_browser import Opened, Server

pytest.importorskip("fastapi", reason="the review extra is not installed")
pytestmark = pytest.mark.slow
# Each control, brought into view: is it whole within the window, and is it what a click in its middle meets?
OUT_OF_REACH = """() => {
  const over = document.querySelector(".dialog") || document, found = [];
  const controls = [...over.querySelectorAll("button, select, input, textarea, summary, .box[data-kind]")];
  for (const node of controls.filter(one => one.checkVisibility())) {
    node.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
    const at = node.getBoundingClientRect(), tall = at.height > innerHeight / 2 || node.matches(".box");
    const met = document.elementFromPoint(at.left + at.width / 2, at.top + at.height / 2);
    const wide = at.left >= -0.5 && at.right <= innerWidth + 0.5;
    const high = tall || at.top >= -0.5 && at.bottom <= innerHeight + 0.5;
    if (wide && high && Math.min(at.width, at.height) >= 14 && (node.contains(met) || met?.closest(".box"))) continue;
    found.push([node.outerHTML.slice(0, 80), at.left, at.right, at.top, at.bottom, met?.outerHTML.slice(0, 80)]);
  }
  return [controls.length, found];
}"""
PARTS = ".app, header, .filters, .tools, .work, .read, .form, footer, .dialog"
TOO_WIDE = f"""() => [...document.querySelectorAll("{PARTS}")].filter(one => one.scrollWidth > one.clientWidth + 1)
  .map(one => [one.className || one.tagName, one.scrollWidth, one.clientWidth])"""
OVERLAP = """() => {
  const before = (p, r) => p.right <= r.left + 1 || p.bottom <= r.top + 1;
  return [...document.querySelectorAll("header, footer, .tools, .progress")].flatMap(part => {
    const at = [...part.children].filter(one => one.checkVisibility()).map(one => [one, one.getBoundingClientRect()]);
    const pairs = at.flatMap(([a, p], i) => at.slice(i + 1).map(([b, r]) => [a.textContent, b.textContent, p, r]));
    return pairs.filter(([a, b, p, r]) => !before(p, r) && !before(r, p));
  });
}"""
DIALOGS = (("?", "Keys"), ("reviewer", "Who is reviewing"), ("Reject", "Reject"), ("Comment", "Comment"))
HALF = """() => {
  const field = document.querySelector("[data-field=question]");
  field.focus();
  field.value = "half " + String.fromCharCode(0xD83D);
  field.dispatchEvent(new InputEvent("input"));
}"""


def until(opened: Opened, selector: str, holds: str) -> None:
    """Waits for what a node of the page says."""
    opened.page.wait_for_function(f"() => (text => {holds})(document.querySelector('{selector}')?.textContent)")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_folder(tmp_path / "papers")


@pytest.fixture
def server(folder: Path) -> Iterator[Server]:
    made = Server(folder)
    yield made
    made.kill()


def in_reach(page: Any) -> int:
    controls, out_of_reach = page.evaluate(OUT_OF_REACH)
    assert out_of_reach == []
    assert page.evaluate(TOO_WIDE) == []
    assert page.evaluate(OVERLAP) == []
    return int(controls)


@pytest.mark.parametrize(
    "width", [1280, 390, *(pytest.param(n, marks=pytest.mark.release) for n in (1600, 1024, 901, 768))]
)
def test_every_control_can_be_reached_and_clicked(server: Server, folder: Path, browser: Any, width: int) -> None:
    opened = Opened(browser, server.url, width, 844 if width < 500 else 900)
    page = opened.page
    page.locator(".rail button", has_text="2").first.click()  # it has a figure
    page.wait_for_selector(".thumb img")
    assert in_reach(page) > 40
    assert page.locator("footer").bounding_box()["height"] < 60, "one row"
    if (more := page.locator("footer .dots")).is_visible():
        more.click()
    for button, dialog in DIALOGS:
        page.locator("header button, footer button", has_text=button).first.click()
        page.wait_for_selector(f".dialog h3:has-text('{dialog}')")
        assert in_reach(page) >= (1 if dialog in ("Who is reviewing", "Comment") else 0)
        page.keyboard.press("Escape")
    page.locator("select[name=order]").select_option("printed")
    page.locator("[data-field=question]").fill("Typed on this screen: <image>")
    until(opened, ".text.question", "text.includes('Typed on this')")
    opened.stored()
    page.locator("[data-act=accept]").click()
    opened.counts("1 accepted")
    page.locator("[data-act=undo]").click()
    opened.counts("0 accepted")
    page.locator("[data-act=reject]").click()
    page.locator(".reasons button").first.click()
    opened.counts("1 rejected")
    opened.stored()
    assert opened.errors == []
    opened.context.close()


def test_a_full_disk_keeps_what_was_typed_in_the_page_until_there_is_room(small_disk: Path, browser: Any) -> None:
    folder, ballast = make_folder(small_disk / "papers"), small_disk / "more"
    server = Server(folder)
    try:
        opened = Opened(browser, server.url)
        opened.go("1")
        with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as stream:
            while True:
                stream.write(bytes(512))
        typed = "typed while the disk was full " * 300
        opened.page.locator("[data-field=question]").fill(typed)
        until(opened, ".saved.off", "text?.includes('No space left')")
        said = opened.page.locator(".saved").inner_text()
        assert "make room; all is kept here and sent again" in said
        assert opened.page.locator("[data-field=question]").input_value() == typed
        opened.page.locator("[data-field=points]").fill("7")
        ballast.unlink()
        opened.stored()
        with ReviewStore(folder, read_only=True) as store:
            form = store.board.entry("alpha-q1").copy("ann").form
        assert (form.question, form.points) == (typed, "7")
        opened.context.close()
    finally:
        server.kill()


def test_half_a_character_blocks_nothing_and_its_field_says_so(server: Server, folder: Path, browser: Any) -> None:
    opened = Opened(browser, server.url)
    page = opened.page
    opened.go("1")
    page.locator("[data-field=points]").fill("9")
    page.evaluate(HALF)
    until(opened, "[data-of=question] em", "text.includes('half a character')")
    opened.stored()  # all but this
    assert page.locator("[data-field=question]").evaluate("node => node.value.charCodeAt(5)") == 0xD83D
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    page.wait_for_selector(".toast.bad")
    opened.counts("0 accepted")
    opened.go("3")
    page.locator("[data-field=points]").fill("4")
    opened.stored()
    opened.go("1")
    assert page.locator("[data-field=question]").evaluate("node => node.value.length") == 6
    assert "half a character" in page.locator("[data-of=question] em").inner_text()
    page.locator("[data-field=question]").fill("whole \U0001f600")
    until(opened, "[data-of=question] em", "!text")
    opened.stored()
    with ReviewStore(folder, read_only=True) as store:
        first, third = (store.board.entry(f"alpha-q{n}").copy("ann").form for n in (1, 3))
    assert (first.question, first.points, third.points) == ("whole \U0001f600", "9", "4")
    assert opened.errors == []
    opened.context.close()


def test_a_long_solution_is_stored(server: Server, folder: Path, browser: Any) -> None:
    """Browsers send no more than 64 KiB in a request that may outlive its page."""
    opened = Opened(browser, server.url)
    opened.go("1")
    opened.page.locator("[data-field=solution]").fill("解" * 60_000)
    opened.stored()
    with ReviewStore(folder, read_only=True) as store:
        assert len(store.board.entry("alpha-q1").copy("ann").form.solution) == 60_000
    opened.context.close()


def test_what_hides_or_reorders_is_shown(server: Server, folder: Path, browser: Any) -> None:
    with ReviewStore(folder) as store:
        store.act("bob", "comment", "alpha-q1", {"text": "safe\u202egpj"})
        store.act("ann", "edit", "alpha-q1", {"fields": {"section": "I\U000e0041", "question": "q\u2066"}})
        store.act("ann", "reject", "alpha-q1", {"text": "why\U000e0042"})
    opened = Opened(browser, f"{server.url}#alpha-q1")
    read = opened.page.locator(".read").inner_text()
    for shown in ("safe[U+202E]gpj", "I[U+E0041]", "q[U+2066]", "why[U+E0042]"):
        assert shown in read
    assert opened.page.locator("[data-field=question]").input_value() == "q\u2066", "what is edited is not changed"
    opened.context.close()


def test_a_rejection_while_another_question_is_opened_is_kept(server: Server, folder: Path, browser: Any) -> None:
    opened = Opened(browser, server.url)
    page = opened.page
    page.locator("[data-act=accept]").click()
    opened.counts("1 accepted")
    page.evaluate(
        "() => { const real = window.fetch; window.fetch = (...given) => String(given[0]).includes('question/')"
        " ? new Promise(go => setTimeout(go, 1500)).then(() => real(...given)) : real(...given); }"
    )
    page.locator("[data-act=undo]").click()  # opens the first one again
    opened.counts("0 accepted")
    page.locator("[data-act=reject]").click()
    page.locator(".reasons button").first.click()
    opened.counts("1 rejected")
    opened.stored()
    assert opened.errors == []
