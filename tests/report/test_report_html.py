"""report.html as a file: the marks are the verdicts', nothing is left out unsaid, nothing is fetched."""

from __future__ import annotations

import base64
import io
import re
import tracemalloc
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from livek12.core.errors import UserError
from livek12.core.records import (
    Image,
    Key,
    Option,
    PartVerdict,
    Process,
    ProcessError,
    Question,
    Response,
    Variable,
    Verdict,
    Vote,
)
from livek12.core.run_answers import answers_of
from livek12.core.scoring import Row
from livek12.core.scoring.outcomes import Slim
from livek12.core.scoring.report import score_outcomes
from livek12.report.html import write_html
from livek12.report.marks import mark_of
from livek12.report.pictures import encode
from livek12.report.sections import MAX_ANSWERS, Shown

TASK, IMAGE_TASK = "livek12_text_image", "livek12_image_only"


def picture(width: int = 60, height: int = 40, colour: str = "white", kind: str = "PNG") -> Image:
    """A picture with a line in it."""
    from PIL import Image as Pillow
    from PIL import ImageDraw

    bitmap = Pillow.new("RGB", (width, height), colour)
    ImageDraw.Draw(bitmap).line((0, 0, width, height), fill="black", width=2)
    buffer = io.BytesIO()
    bitmap.save(buffer, kind)
    return Image(bytes=buffer.getvalue())


def question(id_: str, **fields: Any) -> Question:
    """A short question; fields as they are given."""
    given = {
        "benchmark": "livek12",
        "language": "zh",
        "subject": "math",
        "question_type": "single_choice",
        "question": "已知 $x^2=4$，则 $x$ 的值为（　　）",
        "options": [Option(label="A", text="$1$"), Option(label="B", text=r"$\pm\dfrac{4}{2}$")],
        "answer": ["B"],
        "points": 5.0,
    }
    return Question(id=id_, **{**given, **fields})


def row(asked: Question, share: float | None = 1.0, *, task: str = TASK, trial: int = 0, **changes: Any) -> Row:
    """A marked row: `share` of the points, or None for ungraded; `changes` to response or verdict."""
    key = Key(task=task, question_id=asked.id, trial=trial)
    worth = asked.points or 1.0
    decided = share is not None
    earned = (share or 0.0) * worth
    part = PartVerdict(
        answer="B",
        gold=asked.answer[0] if asked.answer else "",
        decision="undecided" if share is None else "accept" if share == 1 else "reject",
        score=share,
        decided_by="letters",
    )
    verdict = {
        "key": key,
        "state": "graded" if decided else "ungraded",
        "parts": [part],
        "points": earned if decided else None,
        "low": earned,
        "high": earned if decided else worth,
        "max_points": worth,
        "correct": share == 1 if decided else None,
        "judge": "rules-1",
        "versions": {"judges": "7"},
    }
    response = {"key": key, "text": r"因此 \boxed{B}", "engine": "replay", "model": "m", "completion_tokens": 11}
    verdict |= {name: value for name, value in changes.items() if name in Verdict.model_fields}
    response |= {name: value for name, value in changes.items() if name in Response.model_fields}
    return Row(task, asked, trial, str(verdict["state"]), Response(**response), Verdict(**verdict))  # type: ignore[arg-type]


def run_of(rows: Sequence[Row], **fields: Any) -> dict[str, Any]:
    """A run.json for the rows."""
    tasks = [
        {"name": task, "modality": "image_only" if task == IMAGE_TASK else "text_image", "data_sha256": "ab" * 32}
        for task in dict.fromkeys(row.task for row in rows)
    ]
    return {"model": "a-model", "engine": "vllm", "started_at": "2026-11-21T10:00:00+00:00", "tasks": tasks, **fields}


def write(path: Path, rows: Sequence[Row], pages: dict[tuple[str, int], Image] | None = None, **options: Any) -> str:
    """Scores the rows, writes the report and returns its text."""
    run = run_of(rows, **options.pop("run", {}))
    modalities = {task["name"]: task["modality"] for task in run["tasks"]}
    asked = {(row.task, row.question.id): row.question for row in rows}
    shown = Shown([(task, question) for (task, _), question in asked.items()], **options)
    read = answers_of(shown.passing(rows), Slim())
    shown.count(read.origins)
    write_html(path / "report.html", dict(score_outcomes(read.outcomes, modalities=modalities)), shown, run, pages)
    return (path / "report.html").read_text(encoding="utf-8")


class Texts(HTMLParser):
    """The text of every element of a class, by its place."""

    def __init__(self, html: str, wanted: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self._wanted, self._depth = wanted, 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        classes = (dict(attrs).get("class") or "").split()
        if self._depth or self._wanted in classes:
            self._depth += tag not in ("br", "img", "meta", "link", "hr", "use", "rect", "line", "path")
            if self._depth == 1:
                self.found.append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        self._depth -= bool(self._depth)

    def handle_data(self, data: str) -> None:
        if self._depth:
            self.found[-1] += data


def in_class(html: str, name: str) -> list[str]:
    return [" ".join(text.split()) for text in Texts(html, name).found]


def test_every_mark_is_the_verdicts(tmp_path: Path) -> None:
    rows = [row(question(f"q{i}"), share) for i, share in enumerate([1.0, 0.0, 0.5, None])]
    partly = row(question("q4", points=4.0), None, low=1.5, high=4.0)
    html = write(tmp_path, [*rows, partly])
    assert in_class(html, "points") == ["5 / 5", "0 / 5", "2.5 / 5", "0–5 / 5", "1.5–4 / 4"]
    kinds = re.findall(r'class="mark" data-kind="(\w+)"', html)
    assert kinds == ["full", "wrong", "part", "open", "open"]
    assert in_class(html, "word") == ["ungraded", "ungraded"]


@pytest.mark.parametrize("state", ["failed", "unsupported"])
def test_an_answer_that_never_came_may_be_worth_anything(tmp_path: Path, state: Any) -> None:
    html = write(tmp_path, [Row(TASK, question("q"), 0, state, None, None), row(question("r"))])
    assert in_class(html, "points") == ["0–5 / 5", "5 / 5"]
    assert in_class(html, "word") == [{"unsupported": "not asked", "failed": "no response"}[state]]
    assert in_class(html, "big-number") == ["50–100"]
    unread = "1 of 2 questions were asked: this model reads no pictures; 1 is marked."
    assert in_class(html, "basis") == [
        {"unsupported": unread, "failed": "2 questions were asked; 1 is marked, 1 failed."}[state]
    ]


def test_a_decided_run_has_one_mark_and_an_undecided_one_an_interval(tmp_path: Path) -> None:
    rows = [row(question("a")), row(question("b", points=15.0), 0.0)]
    assert in_class(write(tmp_path, rows), "big-number") == ["25"]
    html = write(tmp_path, [*rows, row(question("c", points=20.0), None)])
    assert in_class(html, "big-number") == ["12.5–62.5"]
    assert "The lower end counts what is open as 0" in html


def test_no_answer_is_worth_nothing_and_says_so(tmp_path: Path) -> None:
    nothing = PartVerdict(answer=None, gold="B", decision="reject", score=0.0, decided_by="extraction")
    html = write(tmp_path, [row(question("q"), 0.0, state="no_answer", parts=[nothing], text="")])
    assert in_class(html, "word") == ["no answer"]
    assert "The response is empty." in html
    assert in_class(html, "compare") == ["found nothing key B"]


def test_marks_by_subject_and_type_are_those_of_the_score(tmp_path: Path) -> None:
    rows = [row(question("a")), row(question("b", subject="physics"), 0.0), row(question("c", subject="physics"), None)]
    html = write(tmp_path, rows)
    cells = re.findall(
        r'<th scope="row">([^<]+?)\s*(?:<span.*?)?</th>\s*<td class="right">(\d+)</td>\s*<td[^>]*>(.*?)<', html
    )
    assert ("math", "1", "100") in cells
    assert ("physics", "2", "0–50") in cells
    assert ("single choice", "3", "33.3–66.7") in cells
    assert "95 % interval over" not in html, "fewer than five questions have no interval"
    assert "95 % interval over 5 questions" in write(tmp_path, [row(question(name)) for name in "abcde"])


def test_trials_stand_below_one_question(tmp_path: Path) -> None:
    asked = question("q")
    html = write(tmp_path, [row(asked, 0.0, trial=1, text="第二次"), row(asked, 1.0, trial=0, text="第一次")])
    assert html.count("<article") == 1
    assert in_class(html, "points") == ["5 / 5", "0 / 5"]
    assert html.index("第一次") < html.index("第二次")


def test_votes_process_errors_reasons_and_key_are_shown(tmp_path: Path) -> None:
    vote = Vote(judge="judge-a", decision="accept", score=1.0, raw='{"correct": true}')
    part = PartVerdict(
        name="$v$",
        answer=r"\frac{1}{2}",
        gold="0.5",
        decision="accept",
        score=1.0,
        decided_by="panel",
        reason="equal",
        votes=[vote],
    )
    second = PartVerdict(answer="7", gold="8", decision="reject", score=0.0, decided_by="numeric", reason="7 is not 8")
    error = ProcessError(type="LAE", step="由 $a>b$ 得 $a^2>b^2$", reason="signs are not known", judge="judge-b")
    asked = question(
        "q",
        question_type="short_answer",
        options=[],
        answer=["0.5", "8"],
        part_points=[2, 3],
        solution="**解：**$v=\\frac{1}{2}$",
        variables=[Variable(name="v", description="speed", value="0.5")],
    )
    html = write(
        tmp_path,
        [
            row(
                asked,
                0.4,
                parts=[part, second],
                process=Process(cie=0, lae=1, dre=0, errors=[error]),
                reason="two parts",
            )
        ],
    )
    for text in (
        "judge-a",
        "Right: equal. Decided by a panel of judge models.",
        "Wrong: 7 is not 8. Decided by “numeric”.",
        "LAE",
        "signs are not known",
        "judge-b",
        "speed",
        "Two parts.",
    ):
        assert text in html
    assert "2 / 2" in html
    assert "0 / 3" in html
    assert "<strong>解：</strong>" in html
    assert html.count("<mfrac>") == 2


@pytest.mark.parametrize(
    ("share", "changes", "said"),
    [
        (0.0, {"decided_by": "choice", "reason": "chose D"}, ["Wrong: chose D. Decided by the rule for choices."]),
        (1.0, {"decided_by": "number+symbolic"}, ["Right. Decided by the rule for numbers and the rule for formulas."]),
        (0.5, {"decided_by": "llm", "reason": "one of two. "}, ["Partly right: one of two. Decided by a judge model."]),
        (
            None,
            {"decided_by": "rules", "reason": "needs a reader"},
            [
                "Not decided: needs a reader. The rules could not decide; no judge model was asked.",
                "It was cut off.",
            ],
        ),
        (
            None,
            {"decided_by": "llm", "reason": "no majority", "votes": [Vote(judge="m", decision="undecided")]},
            ["Not decided: no majority. The judge models could not decide.", "m: undecided", "It was cut off."],
        ),
        (1.0, {"decided_by": "llm", "reason": "x" * 5000}, [f"Right: {'x' * 600} …. Decided by a judge model."]),
    ],
)
def test_why_a_part_is_marked_so_is_said_in_sentences(
    tmp_path: Path, share: float | None, changes: dict[str, Any], said: list[str]
) -> None:
    marked = row(question("q"), share)
    assert marked.verdict is not None
    part = marked.verdict.parts[0].model_copy(update={"reason": "", **changes})
    reason = f"{part.reason}; it was cut off" if share is None else ""
    html = write(tmp_path, [row(question("q"), share, parts=[part], reason=reason)])
    assert in_class(html, "why") == said


def test_formulas_in_reasons_are_shown_as_formulas(tmp_path: Path) -> None:
    marked = row(question("q"), 0.0)
    assert marked.verdict is not None
    part = marked.verdict.parts[0].model_copy(update={"reason": r"it is $\frac{1}{2}$, not <b>2</b>"})
    html = write(tmp_path, [row(question("q"), 0.0, parts=[part])])
    assert "<mfrac>" in html
    assert "not &lt;b&gt;2&lt;/b&gt;. Decided by" in html


def test_how_it_was_made_names_every_version(tmp_path: Path) -> None:
    run = {"judges": {TASK: "rules-1"}, "engine_versions": {"vllm": "0.32.0"}, "package_version": "9.9.9"}
    html = write(tmp_path, [row(question("q"), model_revision="abc123", versions={"judges": "7"})], run=run)
    for text in ("0.32.0", "9.9.9", "ab" * 32, "rules-1", "judges 7", "replay: m @ abc123"):
        assert text in html


def test_thinking_is_apart_and_never_rendered(tmp_path: Path) -> None:
    html = write(tmp_path, [row(question("q"), reasoning="我想 $z^9$ **x** " + "长" * 20_000)])
    assert "Thinking, 20,015 characters; not graded" in html
    assert "$z^9$ **x**" in html
    assert "8,015 more characters are in the run folder" in html


def test_a_long_answer_is_folded_but_for_its_end(tmp_path: Path) -> None:
    html = write(tmp_path, [row(question("q"), text="开头。\n\n" + "过程。" * 700 + "\n\n结尾在此。")])
    whole = html[html.index('<details class="fold whole" data-fold="answer">') : html.index("结尾在此")]
    assert "开头" in whole
    assert "</details>" in whole


def test_questions_stand_by_paper_and_number_in_whatever_order_they_were_asked(tmp_path: Path) -> None:
    figure = {"question": "看图 <image>", "images": [picture()]}
    with_figures = [question(f"f{n}", paper_id="p1", number=str(n), **figure) for n in (2, 5, 10)]
    text_only = [question(f"t{n}", paper_id="p1", number=str(n)) for n in (1, 3, 11)]
    asked = [*text_only, *with_figures, question("other", paper_id="p0", number="7"), question("loose")]
    html = write(tmp_path, [row(q) for q in asked] + [row(text_only[0], task="kmmmu")])
    assert in_class(html, "number") == ["7", "1", "2", "3", "5", "10", "11", "8", "1"]
    assert in_class(html, "id") == ["other", "t1", "f2", "t3", "f5", "f10", "t11", "loose", "t1"]
    assert re.findall(r'class="cell"[^>]*>([^<]+)<', html) == ["7", "1", "2", "3", "5", "10", "11", "8", "1"]


@pytest.mark.parametrize("paper", [None, "p1"])
@pytest.mark.parametrize("tasks", [(TASK,), (TASK, "kmmmu")])
def test_no_level_of_headings_is_left_out(tmp_path: Path, tasks: tuple[str, ...], paper: str | None) -> None:
    html = write(tmp_path, [row(question("a", paper_id=paper, number="1"), task=task) for task in tasks])
    levels = [int(level) for level in re.findall(r"<h([1-6])", html)]
    assert levels[0] == 1 and 3 in levels
    assert all(after - before <= 1 for before, after in pairwise(levels)), levels


def test_questions_beyond_the_limit_are_counted_and_said(tmp_path: Path) -> None:
    rows = [row(question(f"a{i}")) for i in range(8)] + [row(question(f"b{i}"), task="kmmmu") for i in range(2)]
    html = write(tmp_path, rows, limit=5)
    assert html.count("<article") == 5
    assert len(re.findall(r'data-task="kmmmu"', html)) == 2
    assert "This page shows 5 of 10 questions" in html
    assert "This page shows" not in write(tmp_path, rows, limit=10)


def test_only_what_is_shown_is_held_and_many_trials_show_fewer_questions() -> None:
    questions = [(TASK, question(f"q{i}")) for i in range(200)]

    def rows(trials: int) -> Iterator[Row]:
        for _, asked in questions:
            yield from (row(asked, trial=trial, text="x" * (100_000 if trials == 1 else 10)) for trial in range(trials))

    shown = Shown(questions, limit=5)
    tracemalloc.start()
    read = answers_of(shown.passing(rows(1)), Slim())
    held = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (len(read.outcomes), len(shown.rows), shown.left_out) == (200, 5, 195)
    assert held < 50 * 100_000
    shown.count(read.origins)
    assert shown.made["judge of the answers"] == {"rules-1": 200}

    many = Shown(questions, trials=100)
    assert sum(1 for _ in many.passing(rows(100))) == 20_000
    assert (len(many.rows), many.left_out) == (MAX_ANSWERS, 200 - MAX_ANSWERS // 100)


def test_pages_are_shown_once_a_paper_and_figures_not_again(tmp_path: Path) -> None:
    pages = {("p1", n): picture(300 + n, 400) for n in (1, 2)} | {("p2", 1): picture(310, 400, "beige")}
    places = [("p1", [1]), ("p1", [1, 2]), ("p1", [2]), ("p2", [1])]
    asked = [
        question(
            f"q{i}", number=str(i + 11), paper_id=paper, page_numbers=numbers, images=[picture()], question="题 <image>"
        )
        for i, (paper, numbers) in enumerate(places)
    ]
    html = write(tmp_path, [row(q, task=IMAGE_TASK) for q in asked], pages)
    assert re.findall(r'alt="([^"]+, page \d)"', html) == ["p1, page 1", "p1, page 2", "p2, page 1"]
    assert html.count("data:image/") == 3
    assert in_class(html, "number") == ["11", "12", "13", "14"]
    assert "the model saw the page only" in html


def test_a_page_that_is_missing_is_said(tmp_path: Path) -> None:
    asked = question("q", number="1", paper_id="p1", page_numbers=[3])
    assert "p1, page 3: the picture is not in the run folder" in write(tmp_path, [row(asked, task=IMAGE_TASK)], {})


def test_a_picture_used_several_times_is_stored_once(tmp_path: Path) -> None:
    figure = picture(200, 100)
    rows = [
        row(question(f"q{i}", images=[figure], question="看图 <image>", solution_images=[figure])) for i in range(3)
    ]
    html = write(tmp_path, rows)
    assert html.count("data:image/") == 1
    ids = re.findall(r'<image id="([\w-]+)"', html)
    assert re.findall(r'<use href="#(picture-[\w-]+)"', html) == ids * 6


def test_figures_stand_at_their_marks_in_text_and_options(tmp_path: Path) -> None:
    figures = [picture(50 + i, 50) for i in range(3)]
    options = [Option(label="A", text="<image>"), Option(label="B", text="无")]
    html = write(tmp_path, [row(question("q", question="甲<image>乙", options=options, images=figures))])
    order = [html.index(text) for text in ("甲", 'alt="figure 1"', "乙", 'alt="figure 3"', 'alt="figure 2"', "无")]
    assert order == sorted(order)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"not a picture", "not a picture that can be read"),
        (picture().bytes[:60], "not a picture that can be read"),  # type: ignore[index]
        (b"", "the picture is not in the run folder"),
        (b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", "not a picture that can be read"),
    ],
)
def test_a_broken_picture_is_a_line_of_text(tmp_path: Path, data: bytes, said: str) -> None:
    html = write(tmp_path, [row(question("q", question="看 <image>", images=[Image(bytes=data, path="/etc/passwd")]))])
    assert f"figure 1: {said}" in html


def test_pictures_are_scaled_flattened_and_bounded() -> None:
    wide = encode(picture(3000, 600).bytes or b"", 900)
    assert not isinstance(wide, str)
    assert (wide.width, wide.height) == (900, 180)
    from PIL import Image as Pillow

    buffer = io.BytesIO()
    Pillow.new("1", (9000, 9000)).save(buffer, "PNG")
    assert "too large to show (9000 × 9000 pixels)" in str(encode(buffer.getvalue(), 900))
    buffer = io.BytesIO()
    Pillow.new("RGBA", (10, 10), (255, 0, 0, 0)).save(buffer, "PNG")
    flat = encode(buffer.getvalue(), 900)
    assert not isinstance(flat, str)
    shown = Pillow.open(io.BytesIO(base64.b64decode(flat.uri.partition(",")[2])))
    assert shown.convert("RGB").getpixel((5, 5)) == (255, 255, 255)


def test_the_page_refers_to_nothing_outside_itself(tmp_path: Path) -> None:
    html = write(tmp_path, [row(question("q", question="看 <image> https://example.org", images=[picture()]))])
    references = re.findall(r'\b(?:href|src|action|data|poster|srcset)="([^"]*)"', html)
    assert references
    assert all(reference.startswith(("#", "data:")) for reference in references)
    style = html[html.index("<style>") : html.index("</style>")]
    assert "@import" not in style
    assert not re.search(r"url\((?!#)", style)


def test_the_file_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"report\.html: cannot be written"):
        write(tmp_path / "missing", [row(question("q"))])


def test_a_lone_surrogate_anywhere_does_not_stop_the_report(tmp_path: Path) -> None:
    html = write(tmp_path, [row(question("q\ud800", subject="s\udfff"), text="\ud800")], run={"model": "m\ud800"})
    assert "[U+D800]" in html


def test_mark_of_never_rounds_into_full_marks() -> None:
    assert mark_of(row(question("q"), 0.999)).kind == "part"
    assert mark_of(row(question("q", points=None), 1.0)).text == "1 / 1"
