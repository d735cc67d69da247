"""The labelling page in a real browser: by keys alone, killed on the way, with hostile answers, on a telephone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.evaluation.labelled_runs import HOSTILE, make_run
from tests.scripts.test_review_browser import Server
from tests.scripts.test_review_page import OUT_OF_REACH

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytest.importorskip("fastapi", reason="the review extra is not installed")
pytestmark = pytest.mark.slow


class Labelling:
    """The page, opened, and what went wrong on it."""

    def __init__(self, browser: Browser, url: str, width: int = 1400) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 860})
        self.context.set_default_timeout(15_000)
        self.page: Page = self.context.new_page()
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("dialog", lambda dialog: (self.errors.append(dialog.message), dialog.dismiss()))
        self.page.goto(url)
        self.page.wait_for_selector(".answers .act")

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def done(self, text: str) -> None:
        self.page.wait_for_function(f"() => document.querySelector('.progress').textContent.startsWith('{text} ')")

    def at(self, number: int) -> None:
        self.page.wait_for_function(f"() => document.querySelector('.rail .current')?.textContent === '{number}'")


def stored(run: Path, rater: str = "ann") -> list[dict[str, object]]:
    return [json.loads(line) for line in (run / f"labels-{rater}.jsonl").read_text(encoding="utf-8").splitlines()]


def test_labels_by_keys_alone_with_the_server_killed_on_the_way(tmp_path: Path, browser: Browser) -> None:
    run = make_run(tmp_path / "run", ("livek12", "kmmmu"), 3, HOSTILE).path
    server = Server(run)
    try:
        first = Labelling(browser, server.url)
        page = first.page
        first.at(1)
        first.press("Enter")  # nothing said yet
        page.wait_for_selector(".toast.bad")
        first.press("r", "d", "n")
        page.keyboard.type("skips <b>a</b> case")
        first.press("Enter")
        first.at(2)
        first.done("1")
        first.press("m")
        page.keyboard.type("1.5")
        first.press("Escape", "x", "Enter")
        first.at(3)
        server.kill()
        first.press("w", "Enter")
        page.wait_for_selector(".toast.bad")
        assert page.locator(".saved").inner_text() == "not stored yet"
        server = Server(run)
        first.context.close()

        again = Labelling(browser, server.url)  # goes on where it stopped
        page = again.page
        again.at(3)
        again.done("2")
        again.press("w", "Enter")
        again.at(4)  # of KMMMU: the five kinds
        assert page.locator("[data-say=CIE]").count() == 0
        assert page.locator(".group[aria-label='kind of error'] button").count() == 5
        again.press("3", "Enter")
        again.at(5)
        again.press("r", "k")  # what is not stored is not left without a word
        assert again.errors == ["What you said of this answer is not stored. Leave it?"]
        again.errors.clear()
        again.press("Enter")
        again.at(6)
        again.press("w", "Enter")
        again.done("6")
        again.press("g")
        page.keyboard.type("1")
        again.press("Enter")
        again.at(1)
        assert page.locator("[name=note]").input_value() == "skips <b>a</b> case"
        assert page.locator("[data-say=DRE]").get_attribute("aria-pressed") == "true"
        again.press("u")
        again.done("5")

        page.locator(".who").click()  # another rater, on the same page, sees none of it
        page.locator(".dialog input").fill("bob")
        again.press("Enter")
        again.done("0")
        again.press("w", "Enter")
        again.done("1")
        assert page.evaluate("window.pwned") is None
        assert (
            page.locator(".response script, .question script, .question img, .response img, .response a").count() == 0
        )
        assert again.errors + first.errors == []
        here = "http://127.0.0.1"
        assert [url for url in first.requests + again.requests if not url.startswith((here, "data:"))] == []
    finally:
        server.kill()

    rows = stored(run)
    assert len(rows) == 7
    note = {"correct": True, "CIE": False, "LAE": False, "DRE": True, "note": "skips <b>a</b> case"}
    assert rows[0] == rows[0] | note
    assert rows[1] == rows[1] | {"correct": False, "score": "1.5", "max_score": 4.0, "DRE": False}
    assert rows[3] == rows[3] | {"correct": False, "error_type": "visual_perception_error"}
    assert rows[6] == rows[6] | {"question_id": "livek12-q1", "withdrawn": True}
    assert [row["rater"] for row in stored(run, "bob")] == ["bob"]


@pytest.mark.parametrize("width", [pytest.param(1400, marks=pytest.mark.release), 390])
def test_every_control_can_be_reached(tmp_path: Path, browser: Browser, width: int) -> None:
    server = Server(make_run(tmp_path / "run").path)
    try:
        opened = Labelling(browser, server.url, width)
        controls, out_of_reach = opened.page.evaluate(OUT_OF_REACH)
        assert out_of_reach == []
        assert controls > 12
        assert opened.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        for name in ("wrong", "LAE"):
            opened.page.locator(f"[data-say={name}]").click()
        opened.page.locator("[data-act=store]").click()
        opened.done("1")
        assert opened.errors == []
    finally:
        server.kill()


@pytest.mark.parametrize("width", [pytest.param(1400, marks=pytest.mark.release), 390])
def test_a_mark_is_overridden_with_a_reason_and_given_back(tmp_path: Path, browser: Browser, width: int) -> None:
    run = make_run(tmp_path / "run", ("livek12",), 2, HOSTILE, trials=2).path
    server = Server(run)
    try:
        opened = Labelling(browser, server.url, width)
        page = opened.page
        assert page.locator("text=judges").count() == 0, "blind until it is asked for"
        page.locator("[data-act=override]").click()
        page.wait_for_selector(".regrade")
        assert "2 equal answers to this question (1, 2)" in page.locator(".regrade").inner_text()
        controls, out_of_reach = page.evaluate(OUT_OF_REACH)
        assert controls > 4 and out_of_reach == []
        assert page.evaluate(
            "() => { const d = document.querySelector('.dialog'); return d.scrollWidth <= d.clientWidth; }"
        )
        page.locator("[data-act=set]").click()  # nothing said yet
        page.wait_for_selector(".toast.bad")
        page.locator(".regrade [data-say=wrong]").click()
        page.locator("[data-act=set]").click()  # and not why
        page.wait_for_selector(".toast.bad:has-text('say why')")
        page.locator("[name=reason]").fill("<img src=x onerror='window.pwned = 5'>")
        page.locator("[data-act=set]").click()
        page.wait_for_selector(".regrade", state="detached")
        opened.press("o")
        page.wait_for_selector(".regrade .verdict")
        assert "set by ann" in page.locator(".regrade .verdict").inner_text()
        assert page.locator(".regrade img").count() == 0
        page.locator("[data-act=give-back]").click()
        page.wait_for_selector(".regrade", state="detached")
        assert opened.errors == [] and page.evaluate("window.pwned") is None
    finally:
        server.kill()
    rows = [json.loads(line) for line in (run / "regrades.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(row["by"], row.get("share"), row.get("withdrawn")) for row in rows] == [
        ("ann", 0.0, None),
        ("ann", None, True),
    ]
