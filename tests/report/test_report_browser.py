"""report.html in a real browser: it renders, it filters, it asks nothing of a network, hostile text does nothing."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from livek12.core.records import Key, Option, PartVerdict, Process, ProcessError, Question, Response, Verdict, Vote
from livek12.core.scoring import Row
from livek12.report.marks import mark_of
from livek12.report.paper import anchor_of
from tests.report.test_report_html import IMAGE_TASK, TASK, picture, question, row, write

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow


class Opened:
    """A report in a browser without a network, and everything it tried."""

    def __init__(self, browser: Browser, path: Path, width: int = 1100, javascript: bool = True) -> None:
        self.requests: list[str] = []
        self.console: list[str] = []
        self.dialogs: list[str] = []
        context = browser.new_context(
            viewport={"width": width, "height": 900}, offline=True, java_script_enabled=javascript
        )
        self.page: Page = context.new_page()
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.console.append(message.text))
        self.page.on("pageerror", lambda error: self.console.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.dialogs.append(dialog.message), dialog.dismiss()))
        self.page.goto((path / "report.html").as_uri())
        self.page.wait_for_timeout(200)

    def assert_quiet(self) -> None:
        outside = [url for url in self.requests if not url.startswith(("data:", "file:"))]
        assert outside == []
        assert sum(url.startswith("file:") for url in self.requests) == 1
        assert self.console == []
        assert self.dialogs == []
        assert self.page.evaluate("window.pwned") is None

    def widths(self) -> tuple[int, int]:
        """Width of the document and of the window."""
        found = self.page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        return found[0], found[1]


def exam() -> list[Row]:
    """A paper in three languages with every kind of mark."""
    korean = question(
        "ko-1",
        language="ko",
        subject="물리",
        question=r"질량 $m$인 물체의 운동 에너지 $\dfrac{1}{2}mv^2$에 대한 설명으로 옳은 것은?",
        options=[Option(label=label, text=f"보기 {label}") for label in "①②③④⑤"],
        answer=["④"],
    )
    english = question(
        "en-1",
        language="en",
        question_type="fill_in_blank",
        options=[],
        answer=["0.5"],
        question=r"Evaluate $$\int_0^1 x\,\mathrm{d}x = \begin{cases}a\\b\end{cases}$$ It costs $5 or $6.",
    )
    table = question(
        "zh-2",
        question="| $X$ | 0 | 1 |\n|---|---|---|\n| $P$ | $\\frac13$ | $\\frac23$ |\n\n看图 <image>",
        images=[picture(200, 90)],
    )
    return [
        row(
            question("zh-1"),
            1.0,
            text="由题意，**得** $x=2$。\n\n$$\\begin{aligned}x^2&=4\\\\x&=2\\end{aligned}$$\n\n故选 \\boxed{B}",
        ),
        row(table, 0.5),
        row(korean, 0.0, text="정답은 ②이다. $F=ma$"),
        row(english, None, text=r"so \(\frac{1}{2}\)"),
        row(question("zh-3", question_type="multiple_choice"), 0.0, state="no_answer"),
        Row(TASK, question("zh-4", subject="biology"), 0, "failed", None, None),
    ]


@pytest.mark.parametrize("width", [1100, 390])
def test_it_renders_formulas_tables_and_pictures_within_the_window(
    tmp_path: Path, browser: Browser, width: int
) -> None:
    write(tmp_path, exam())
    report = Opened(browser, tmp_path, width)
    formulas = report.page.eval_on_selector_all(
        ".text math, .pen math",
        "all => all.map(m => { const r = m.getBoundingClientRect(); return [r.width, r.height]; })",
    )
    assert len(formulas) >= 12
    assert all(w > 3 and h > 3 for w, h in formulas)
    fraction = report.page.eval_on_selector("[lang=ko] mfrac", "f => f.getBoundingClientRect().height")
    letter = report.page.eval_on_selector("[lang=ko] mi", "m => m.getBoundingClientRect().height")
    assert fraction > 1.4 * letter
    assert report.page.eval_on_selector("img.picture", "i => i.complete && i.naturalWidth") == 200
    assert report.page.locator(".text table td").count() == 3
    document, window = report.widths()
    assert document <= window
    report.assert_quiet()


def test_the_marks_on_the_page_are_the_verdicts(tmp_path: Path, browser: Browser) -> None:
    rows = exam()
    write(tmp_path, rows)
    report = Opened(browser, tmp_path)
    assert report.page.locator(".question .mark .points").all_text_contents() == [mark_of(row).text for row in rows]
    red = report.page.eval_on_selector(".mark .points", "e => getComputedStyle(e).color")
    assert int(re.findall(r"\d+", red)[0]) > 150
    heights = report.page.eval_on_selector_all(".mark .sign", "all => all.map(s => s.getBoundingClientRect().height)")
    assert all(height > 15 for height in heights)


def test_the_filter_shows_what_was_asked_for(tmp_path: Path, browser: Browser) -> None:
    write(tmp_path, exam())
    page = Opened(browser, tmp_path).page

    def shown() -> list[str]:
        return page.locator(".question:visible .id").all_text_contents()

    assert len(shown()) == 6
    page.select_option("[data-filter=states]", "wrong")
    assert shown() == ["ko-1"]
    assert page.locator(".cell:visible").count() == 1
    assert page.inner_text("#showing") == "1 of 6 questions"
    page.select_option("[data-filter=states]", "")
    page.select_option("[data-filter=subject]", "biology")
    assert shown() == ["zh-4"]
    page.select_option("[data-filter=subject]", "math")
    page.select_option("[data-filter=type]", "single choice")
    assert shown() == ["zh-1", "zh-2"]
    page.select_option("[data-filter=states]", "failed")
    assert shown() == []
    assert not page.locator("[data-filter=task]").is_visible()  # there is one task only


def test_without_javascript_it_is_a_plain_page(tmp_path: Path, browser: Browser) -> None:
    write(tmp_path, exam())
    page = Opened(browser, tmp_path, javascript=False).page
    assert page.locator(".question:visible").count() == 6
    assert not page.locator(".tools").is_visible()


def test_answers_unfold_and_cells_lead_to_their_question(tmp_path: Path, browser: Browser) -> None:
    long = row(question("long"), text="开头。\n\n" + "过程 $x^2$。" * 400 + "\n\n结尾。")
    write(tmp_path, [*exam(), long])
    report = Opened(browser, tmp_path)
    assert not report.page.get_by_text("开头。").is_visible()
    report.page.click("#unfold")
    assert report.page.get_by_text("开头。").is_visible()
    anchor = anchor_of(TASK, "long")
    report.page.click(f".cell[data-for={anchor}]")
    assert report.page.url.endswith(f"#{anchor}")
    report.page.wait_for_timeout(300)
    top = report.page.eval_on_selector(f"#{anchor}", "q => q.getBoundingClientRect().top")
    assert -5 < top < 900
    report.assert_quiet()


@pytest.mark.parametrize("width", [1280, 390])
def test_the_key_is_ticked_within_its_option(tmp_path: Path, browser: Browser, width: int) -> None:
    long = "a long option that wraps over several lines on any page of a usual width, " * 3
    options = [Option(label=label, text=f"{long}{label}") for label in "ABCD"]
    write(tmp_path, [row(question("en-1", language="en", options=options, answer=["B"]))])
    opened = Opened(browser, tmp_path, width)
    places = opened.page.evaluate(
        """() => [...document.querySelectorAll(".right-option svg")].map((sign) =>
            [sign.getBoundingClientRect().right, sign.closest("li").getBoundingClientRect().right])"""
    )
    assert places and all(0 < right <= edge + 1 for right, edge in places)


def test_it_prints_on_a4(tmp_path: Path, browser: Browser) -> None:
    pdfium = pytest.importorskip("pypdfium2")
    write(tmp_path, exam())
    report = Opened(browser, tmp_path)
    printed = pdfium.PdfDocument(report.page.pdf(prefer_css_page_size=True))
    sizes = {tuple(round(side) for side in printed[n].get_size()) for n in range(len(printed))}
    assert sizes == {(595, 842)}
    text = "".join(printed[n].get_textpage().get_text_bounded() for n in range(len(printed)))
    assert "5 / 5" in text
    assert "보기" in text


PAYLOADS = [
    "<script>window.pwned=1;alert(1)</script>",
    "<img src=x onerror='window.pwned=1'><svg/onload=window.pwned=1>",
    "</details></div></article></section></main><h1>out</h1>",
    r"$\text{<script>window.pwned=1</script>}$ $\text{</mtext></math><img src=x onerror=window.pwned=1>}$",
    "[x](javascript:window.pwned=1) <javascript:window.pwned=1> ![x](http://127.0.0.1:9/x.png) http://127.0.0.1:9/",
    r"$\href{javascript:window.pwned=1}{x}$ $\class{sheet}{y}$ $\style{position:fixed;width:9999px}{z}$",
    "\u202eneddih\u2066\u200f \x00\x08\x1b \ud800",
    '\' onmouseover=\'window.pwned=1\' x="" style="position:fixed;inset:0" "><b>',
    "{{ 7*7 }} {% raw %} ${7*7} <%= 7 %>",
    "<style>*{display:none}</style><link rel=stylesheet href=http://127.0.0.1:9/x.css><base href=http://127.0.0.1:9/>",
    "<meta http-equiv=refresh content='0;url=http://127.0.0.1:9/'><iframe src=http://127.0.0.1:9/></iframe>",
    "-->]]><!-- <![CDATA[ </style></script></template></textarea></title>",
    "W" * 5000,
    "$" + "{" * 3000 + "$" + "**" * 500 + "|" * 500,
    "ก" + "\u0e49" * 300 + " Z\u0351\u036b\u0343" * 40,
    "```\n</code></pre><script>window.pwned=1</script>",
]


def hostile_row(number: int, payload: str, task: str) -> Row:
    """A row that says the payload wherever a row can say something."""
    asked = Question(
        id=f"h{number} {payload[:300]}",
        benchmark="livek12",
        language="en",
        subject=payload[:200],
        question_type="single_choice",
        question=payload,
        options=[Option(label=payload[:20], text=payload)],
        number=payload[:8],
        paper_id="p" if task == IMAGE_TASK else None,
        page_numbers=[1] if task == IMAGE_TASK else [],
        answer=[payload],
        solution=payload,
        points=5.0,
        exam=payload,
        difficulty=payload[:100],
    )
    key = Key(task=task, question_id=asked.id)
    vote = Vote(judge=payload, decision="reject", raw=payload)
    part = PartVerdict(
        name=payload,
        answer=payload,
        gold=payload,
        decision="reject",
        score=0.0,
        decided_by=payload,
        reason=payload,
        votes=[vote],
    )
    error = ProcessError(type="CIE", step=payload, reason=payload, judge=payload)
    verdict = Verdict(
        key=key,
        state="graded",
        parts=[part, part],
        points=0.0,
        low=0.0,
        high=0.0,
        max_points=5.0,
        correct=False,
        process=Process(cie=1, lae=0, dre=0, errors=[error]),
        reason=payload,
        judge=payload,
        versions={payload: payload},
    )
    response = Response(key=key, text=payload, reasoning=payload, finish_reason=payload, engine=payload, model=payload)
    return Row(task, asked, 0, "graded", response, verdict)


@pytest.mark.parametrize("width", [1100, 390])
def test_hostile_text_does_nothing_and_breaks_nothing(tmp_path: Path, browser: Browser, width: int) -> None:
    rows = [hostile_row(n, payload, TASK) for n, payload in enumerate(PAYLOADS)]
    rows += [hostile_row(n, payload, IMAGE_TASK) for n, payload in enumerate(PAYLOADS[:3])]
    run = {"model": PAYLOADS[0], "engine": PAYLOADS[2], "odd": {PAYLOADS[1]: [PAYLOADS[7], {"x": PAYLOADS[9]}]}}
    write(tmp_path, rows, {("p", 1): picture(400, 500)}, run=run)
    report = Opened(browser, tmp_path, width)
    page = report.page
    assert page.locator("section.paper > article.question").count() == len(rows)
    assert page.locator("main h1").count() == 1
    assert page.locator("main").count() == 1
    assert page.locator("script").count() == 1
    assert page.locator("iframe, object, embed, base, form, a[href^='javascript:'], a[href^=http]").count() == 0
    for selector in (".fold", "summary", ".question"):
        page.eval_on_selector_all(selector, "all => all.forEach(e => { if ('open' in e) e.open = true; })")
    page.evaluate("document.querySelectorAll('*').forEach(e => e.dispatchEvent(new Event('mouseover')))")
    page.wait_for_timeout(300)
    document, window = report.widths()
    assert document <= window
    edges = page.eval_on_selector_all(
        ".question", "all => all.map(q => [q.getBoundingClientRect().left, q.getBoundingClientRect().right])"
    )
    assert len({tuple(map(round, edge)) for edge in edges}) == 1
    assert page.locator(".question .mark .points").all_text_contents() == ["0 / 5"] * len(rows)
    report.assert_quiet()


def test_the_policy_in_the_page_would_stop_what_escaping_missed(tmp_path: Path, browser: Browser) -> None:
    write(tmp_path, exam())
    path = tmp_path / "report.html"
    injected = "<script>window.pwned=1</script><img src='http://127.0.0.1:9/x.png' onerror='window.pwned=1'>"
    path.write_text(path.read_text(encoding="utf-8").replace("<footer", injected + "<footer"), encoding="utf-8")
    report = Opened(browser, tmp_path)
    assert report.page.evaluate("window.pwned") is None
    assert any("Content Security Policy" in message for message in report.console)


@pytest.mark.release
def test_a_real_exam_with_real_answers(tmp_path: Path, browser: Browser, shared_data: Path) -> None:
    folder = shared_data / "gaokao2026_math"
    answers = {}
    for line in (folder / "responses" / "doubao-seed-2-0-pro-260215.2026-national-i-math.jsonl").open(encoding="utf-8"):
        record = json.loads(line)
        answers[record["item_id"]] = record["first_response_text"]
    rows = []
    for line in (folder / "reviewed" / "2026-national-i-math.jsonl").open(encoding="utf-8"):
        item: dict[str, Any] = json.loads(line)
        asked = question(
            item["id"],
            question=item["question"]["content"],
            options=[],
            question_type="open_ended",
            answer=[item["answer"]["standard"]],
            points=float(item["score"]),
            number=item["question_number"],
        )
        rows.append(row(asked, None, text=answers[item["id"]]))
    write(tmp_path, rows)
    report = Opened(browser, tmp_path)
    assert report.page.locator(".question").count() == 19
    assert report.page.locator("math").count() > 500
    assert report.page.locator(".question code.tex").count() == 0
    shown = report.page.locator(".question .text").all_text_contents()
    assert not any("$" in text for text in shown)
    document, window = report.widths()
    assert document <= window
    report.assert_quiet()
