"""The review page in a real browser, from a PDF to a task run on what was accepted; the server dies on the way."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from livek12.core.questions import load_questions
from livek12.dataset_builders.review.store import ReviewStore
from tests.dataset_builders.review.folders import make_folder
from tests.dataset_builders.review.test_heads import TOPICS, cards
from tests.dataset_builders.review.test_regions import place
from tests.scripts.command import COMMAND, ROOT, livek12_here

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytest.importorskip("fastapi", reason="the review extra is not installed")
pytest.importorskip("pypdfium2", reason="the ingest extra is not installed")
pytestmark = pytest.mark.slow
PAPER = ROOT / "dataset_builders" / "sample" / "papers" / "sample_en.pdf"
WATCH = """
import socket
whole = socket.socket.connect
def connect(self, address):
    if isinstance(address, tuple) and not str(address[0]).startswith(("127.", "::1", "localhost")):
        open({log!r}, "a").write(repr(address) + "\\n")
    return whole(self, address)
socket.socket.connect = connect
resolve = socket.getaddrinfo
def getaddrinfo(host, *rest, **more):
    if host not in (None, "127.0.0.1", "localhost", "::1"):
        open({log!r}, "a").write(repr(host) + "\\n")
    return resolve(host, *rest, **more)
socket.getaddrinfo = getaddrinfo
"""
HOSTILE = "<img src=x onerror=window.pwned=1><script>window.pwned=2</script> $\\href{javascript:window.pwned=3}{x}$"


class Server:
    """`livek12 review` in a process of its own, which says whom it tries to reach."""

    def __init__(self, folder: Path, port: int = 0, watch: Path | None = None, *more: str) -> None:
        environment = {**os.environ, "PYTHONPATH": f"{watch or ''}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
        command = [*COMMAND, "review", str(folder), "--port", str(port), "--reviewer", "ann", "--json", *more]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        assert self.process.stdout is not None
        self.url = json.loads(self.process.stdout.readline())["url"]

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


class Opened:
    """The page in a browser of its own, and everything it asked for or complained of."""

    def __init__(self, browser: Browser, url: str, width: int = 1440, height: int = 900) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": height})
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(40_000)
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.errors.append(dialog.message), dialog.dismiss()))
        self.page.goto(url)
        self.page.wait_for_selector(".text.question")
        assert "token" not in self.page.url

    def go(self, number: str) -> None:
        self.page.keyboard.press("Escape")
        self.page.keyboard.press("g")
        self.page.keyboard.type(number)
        self.page.keyboard.press("Enter")
        self.page.wait_for_function(f"() => document.querySelector('.number')?.textContent === '{number}'")

    def stored(self) -> None:
        self.page.wait_for_function("() => document.querySelector('.saved').textContent === 'all is stored'")

    def counts(self, text: str) -> None:
        self.page.wait_for_function(f"() => document.querySelector('.progress').textContent.includes('{text}')")


@pytest.fixture
def ingested(tmp_path: Path) -> Path:
    folder = tmp_path / "papers"
    ended = livek12_here("ingest", PAPER, "--out", folder)
    assert ended.code == 0, ended.err
    return folder


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "tests.endpoint", str(tmp_path / "asked")]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert child.stdout is not None
    yield child.stdout.readline().strip()
    child.kill()
    child.wait()


def test_from_a_pdf_to_a_run_with_the_server_killed_while_typing(
    ingested: Path, browser: Browser, endpoint: str, tmp_path: Path
) -> None:
    watch, log = tmp_path / "watch", tmp_path / "reached"
    watch.mkdir()
    (watch / "sitecustomize.py").write_text(WATCH.format(log=str(log)))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = Server(ingested, port, watch)
    try:
        opened = Opened(browser, server.url)
        page = opened.page

        opened.go("1")  # fix a formula, seen at once as it will read
        formulas = page.locator(".read .question mfrac").count()
        page.keyboard.press("e")
        page.keyboard.press("Control+End")
        page.keyboard.type(" and $\\frac{p}{q}$")
        page.wait_for_function(f"() => document.querySelectorAll('.read .question mfrac').length === {formulas + 1}")

        page.keyboard.press("Escape")  # move its box
        box = page.locator(".box.place").first
        before: Any = box.bounding_box()
        page.mouse.move(before["x"] + 30, before["y"] + before["height"] - 8)
        page.mouse.down()
        page.mouse.move(before["x"] + 10, before["y"] + before["height"] + 4, steps=4)
        page.mouse.up()
        opened.stored()
        after: Any = box.bounding_box()
        assert (after["x"] - before["x"], after["y"] - before["y"]) == pytest.approx((-20, 12), abs=1.5)

        page.keyboard.press("Escape")
        opened.go("2")  # reject one
        page.keyboard.press("r")
        page.keyboard.type("figure is of another question")
        page.keyboard.press("Enter")
        opened.counts("1 rejected")

        opened.go("3")  # the server dies in the middle of typing
        page.keyboard.press("e")
        page.keyboard.press("Control+End")
        page.keyboard.type(" typed before", delay=15)
        page.wait_for_timeout(500)
        page.keyboard.type(" and while", delay=15)
        server.kill()
        with ReviewStore(ingested, read_only=True) as store:
            assert " typed before" in store.board.entry("sample_en-q3").copy("ann").form.question
        page.keyboard.type(" and after it died", delay=15)
        page.wait_for_selector(".saved.off")
        server = Server(ingested, port, watch)
        page.wait_for_function("() => document.querySelector('.saved').textContent.includes('open the address')")
        opened.context.new_page().goto(server.url)
        opened.stored()
        opened.context.close()  # and the browser is gone too

        again = Opened(browser, server.url, width=1920)
        page = again.page
        again.go("3")
        shown = page.locator("[data-field=question]").input_value()
        assert shown.endswith(" typed before and while and after it died")
        page.locator("[data-field=solution]").fill(HOSTILE)
        page.wait_for_function("() => document.querySelector('.read').textContent.includes('onerror')")
        page.keyboard.press("Escape")
        page.keyboard.press("a")
        again.counts("1 accepted")
        again.go("1")
        page.keyboard.press("a")
        again.counts("2 accepted")
        page.keyboard.press("u")
        again.counts("1 accepted")
        page.keyboard.press("U")
        again.counts("2 accepted")

        assert page.evaluate("window.pwned") is None
        assert opened.errors + again.errors == []
        here = server.url.partition("?")[0], "data:"
        outside = [url for url in opened.requests + again.requests if not url.startswith(here)]
        assert outside == []
        assert not log.exists(), log.read_text()
    finally:
        server.kill()

    out, data, run = tmp_path / "accepted", tmp_path / "data", tmp_path / "run"
    exported = livek12_here("review", ingested, "--export", out, "--json")
    assert exported.code == 0, exported.err
    done = json.loads(exported.out)
    assert (done["accepted"], done["rejected"]) == (2, 1)
    assert done["reasons"] == {"figure is of another question": 1}
    built = livek12_here("build", "livek12", "--source", out, "--out", data)
    assert built.code == 0, built.err
    first, third = load_questions(data, ["default"], "livek12")
    assert first.question.endswith("and $\\frac{p}{q}$")
    assert (first.review.state, first.review.by) == ("accepted", "ann")
    assert third.solution == HOSTILE
    engine = ["--engine", "openai", "--engine-args", f"base_url={endpoint}", "--model", "oracle"]
    ended = livek12_here("run", "--task", "livek12", "--data", data, *engine, "--judge", "rules", "--out", run)
    assert ended.code == 0, ended.err
    report = json.loads((run / "report.json").read_text())
    assert report["tasks"]


@pytest.mark.parametrize("width", [1280, 390])
def test_drafts_are_repaired_by_few_keys(tmp_path: Path, browser: Browser, width: int) -> None:
    folder = make_folder(tmp_path / "papers", ("alpha",))
    server = Server(folder)
    try:
        opened = Opened(browser, server.url, width)
        page, text = opened.page, "[data-field=question]"

        def behind(words: str, keys: str) -> None:
            page.fill(text, f"Why? {words}")
            page.evaluate(f"() => document.querySelector('{text}').setSelectionRange(5, 5)")
            page.keyboard.press(keys)
            opened.stored()

        opened.go("1")
        page.wait_for_function("() => document.querySelector('.crops img').naturalWidth > 100")
        page.click("[data-rest=text]")
        assert page.input_value(text).endswith("\n(a) $1$\n(b) $2$\n(c) $3$\n(d) $4$")
        behind("A. one B. a Big one", "Alt+p")
        opened.go("3")
        behind("Because A. it is so.", "Alt+l")

        opened.go("2")  # its figure belongs to the question behind
        page.click(".thumb img")
        waiting: list[Any] = []
        page.route("**/question/*", lambda route: route.continue_() if waiting else waiting.append(route))
        page.keyboard.press("]")
        opened.go("1")  # before the question behind is there
        waiting[0].continue_()
        page.wait_for_function("() => document.querySelector('.toast')?.textContent.startsWith('moved')")
        opened.stored()  # an invented question before it: all numbers are one too high
        page.keyboard.press("n")
        page.keyboard.type("0")
        page.keyboard.press("Enter")
        opened.stored()
        assert opened.errors == []
    finally:
        server.kill()
    copies = [entry.copy("ann") for entry in ReviewStore(folder).refresh().live()]
    assert [copy.form.number for copy in copies] == ["0", "1", "2", "3"]
    assert [(copy.form.question, len(copy.figures)) for copy in copies[:3]] == [
        ("Why?", 0), ("See .", 0), ("Why?\n<image>", 1)
    ]  # fmt: skip
    assert [(option.label, option.text) for option in copies[0].form.options] == [("A", "one"), ("B", "a Big one")]
    assert copies[2].form.solution == "Because A. it is so."


def test_a_drawn_figure_is_put_below_the_line_of_the_cursor(tmp_path: Path, browser: Browser) -> None:
    server = Server(make_folder(tmp_path / "papers", ("alpha",), question="What is shown here?\nSay why."))
    try:
        opened = Opened(browser, server.url)
        page = opened.page
        opened.go("1")
        for key in ("Control+Home", "Control+End"):
            page.press("[data-field=question]", key)
            page.keyboard.press("Escape")
            page.keyboard.press("f")
            sheet: Any = page.locator(".page").first.bounding_box()
            page.mouse.move(sheet["x"] + 90, sheet["y"] + 90)
            page.mouse.down()
            page.mouse.move(sheet["x"] + 190, sheet["y"] + 190, steps=3)
            page.mouse.up()
            opened.stored()
        assert page.input_value("[data-field=question]") == "What is shown here?\n<image>\nSay why.\n<image>"
        assert opened.errors == []
    finally:
        server.kill()


@pytest.mark.parametrize("width", [1280, 390])
def test_a_missing_question_is_drawn_on_its_page(ingested: Path, browser: Browser, width: int) -> None:
    first, second, third = ReviewStore(ingested, read_only=True).board.live()[:3]
    (state,) = (ingested / ".ingest").glob("*.json")
    paper = json.loads(state.read_text())
    del paper["drafts"][1]
    paper["errors"].append(f"question {second.draft.number} was not found")
    state.write_text(json.dumps(paper))
    server = Server(ingested, 0, None, "--pdfs", str(PAPER.parent))
    try:
        opened = Opened(browser, server.url, width)
        page = opened.page
        opened.go(third.draft.number)
        page.locator(".rail .lost", has_text=f"{second.draft.number} not found").click()
        page.wait_for_selector(".scroll.drawing")
        box = second.draft.boxes[0]
        sheet = page.locator(f".page[data-page='{box.page}']")
        page.evaluate(f"() => {{ document.querySelector('.scroll').scrollTop += {box.top} * 300 - 100; }}")
        place = sheet.bounding_box()
        assert place
        page.mouse.move(place["x"] + box.left * place["width"] + 1, place["y"] + box.top * place["height"] - 1)
        page.mouse.down()
        page.mouse.move(place["x"] + box.right * place["width"], place["y"] + box.bottom * place["height"], steps=4)
        page.mouse.up()
        page.wait_for_function(f"() => location.hash.includes('{first.draft.id}-s2')")
        assert page.locator(".rail .lost", has_text="not found").count() == 0
        page.fill("[data-field=question]", "typed over it")
        opened.stored()
        page.keyboard.press("Escape")
        page.keyboard.press("t")
        page.wait_for_function("() => !document.querySelector('[data-field=question]').value.startsWith('typed')")
        opened.stored()
        assert opened.errors == []
    finally:
        server.kill()
    board = ReviewStore(ingested, read_only=True).board
    assert board.order[first.paper_id][:3] == [first.draft.id, f"{first.draft.id}-s2", third.draft.id]
    added = board.entry(f"{first.draft.id}-s2").copy("ann").form
    assert (added.number, added.question) == (second.draft.number, second.draft.question)


@pytest.mark.parametrize("width", [1280, 390])
def test_questions_are_found_by_the_first_lines_of_two(tmp_path: Path, browser: Browser, width: int) -> None:
    pdf, folder = cards(tmp_path / "cards.pdf"), tmp_path / "papers"
    livek12_here("ingest", pdf, "--out", folder)
    first = ReviewStore(folder, read_only=True).board.live()[0].draft.id
    with ReviewStore(folder) as store:
        store.act("ann", "reject", first, {"text": "no question"})
    server = Server(folder, 0, None, "--pdfs", str(tmp_path))
    try:
        opened = Opened(browser, server.url, width)
        page = opened.page
        page.keyboard.press("h")
        for topic in ("Tell a friend", f"Card / {TOPICS[0]}", f"Card / {TOPICS[1]}"):
            (line,) = place(pdf, topic, topic)
            page.evaluate(f"() => {{ document.querySelector('.scroll').scrollTop = {line['top']} * 300; }}")
            sheet: Any = page.locator(".page").first.bounding_box()
            chips = page.locator(".heads .chip").count()
            page.mouse.move(sheet["x"] + 0.2 * sheet["width"], sheet["y"] + (line["top"] + 0.006) * sheet["height"])
            page.mouse.down()
            page.mouse.move(sheet["x"] + 0.22 * sheet["width"], sheet["y"] + (line["top"] + 0.012) * sheet["height"])
            page.mouse.up()
            page.wait_for_function(f"() => document.querySelectorAll('.heads .chip').length > {chips}")
        page.locator(".heads .chip button").first.click()
        assert page.locator(".heads .chip").all_inner_texts() == ["Card / Words×", "Card / Music×"]
        page.click("[data-heads=find]")
        assert first in page.locator(".dialog p").inner_text()
        page.click(".dialog .act")
        page.wait_for_function("() => document.querySelector('.toast')?.textContent === '6 questions in cards'")
        assert page.locator(".rail [data-id]").count() == len(TOPICS)
        assert page.locator(".heads .chip").count() == 0
        page.keyboard.press("h")
        assert page.locator(".heads .chip").count() == 2
        assert opened.errors == []
    finally:
        server.kill()
