"""Papers of other kinds than those at hand, set for the tests: what they hold is known by construction."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from livek12.core.records import Language
from livek12.dataset_builders.ingest.drafts import Draft, IngestedPaper
from livek12.dataset_builders.ingest.paper import AnswerKey
from tests.dataset_builders.ingest.papers import distance, page, paper_of, read
from tests.dataset_builders.ingest.pdf_making import typeset

SETUP = """
#set page(paper: "a4", margin: 2cm, numbering: "1")
#set par(leading: .8em)
#let fig(w: 4cm, h: 2.4cm) = box(width: w, height: h, {
  place(dx: 4%, dy: 10%, rect(width: 60%, height: 70%, stroke: .8pt))
  place(dx: 60%, dy: 30%, circle(radius: 0.5cm, stroke: .8pt))
})
#let blank = box(width: 3em, stroke: (bottom: .5pt), outset: (bottom: 2pt))
#let opts(n, ..o) = grid(columns: (1fr,) * n, row-gutter: .65em, ..o)
"""
SOURCES = Path(__file__).parent / "typeset"
Row = tuple[str, str, float | None, int, int]
"""Number, type, points, how many options and figures."""
PAPERS: dict[str, tuple[Language, list[Row]]] = {
    "zh_physics": (
        "zh",
        [
            ("1", "single_choice", 4, 4, 0),
            ("2", "single_choice", 4, 4, 1),
            ("3", "single_choice", 4, 4, 4),
            ("4", "multiple_choice", 6, 4, 0),
            ("5", "multiple_choice", 6, 4, 1),
            ("6", "fill_in_blank", 6, 0, 2),
            ("7", "fill_in_blank", 9, 0, 0),
            ("8", "open_ended", 12, 0, 1),
        ],
    ),
    "zh_biology": (
        "zh",
        [
            ("1", "single_choice", 3, 4, 0),
            ("2", "single_choice", 3, 4, 0),
            ("3", "single_choice", 3, 4, 1),
            ("4", "single_choice", 3, 4, 0),
            ("5", "multiple_choice", 4, 4, 0),
            ("6", "multiple_choice", 4, 4, 1),
            ("7", "fill_in_blank", 10, 0, 0),
        ],
    ),
    "zh_restart": (
        "zh",
        [
            ("单项选择题 1", "single_choice", 3, 4, 0),
            ("单项选择题 2", "single_choice", 3, 4, 0),
            ("填空题 1", "fill_in_blank", 4, 0, 0),
            ("填空题 2", "fill_in_blank", 4, 0, 0),
            ("解答题 1", "proof", 10, 0, 0),
            ("解答题 2", "open_ended", 10, 0, 1),
        ],
    ),
    "zh_english": (
        "zh",
        [
            ("1", "single_choice", 2.5, 4, 0),
            *((str(n), "single_choice", 2.5, 5, 0) for n in (2, 3, 4)),
            *((str(n), "single_choice", 1, 4, 0) for n in (5, 6, 7)),
            *((str(n), "fill_in_blank", 1.5, 0, 0) for n in (8, 9, 10)),
            ("11", "open_ended", 15, 0, 0),
        ],
    ),
    "ko_earth": (
        "ko",
        [
            ("1", "single_choice", None, 5, 1),
            ("2", "single_choice", 3, 5, 0),
            ("3", "single_choice", None, 5, 5),
            ("4", "single_choice", None, 5, 0),
            ("5", "single_choice", 3, 5, 0),
        ],
    ),
    "en_structured": (
        "en",
        [
            ("1", "open_ended", 6, 0, 1),
            ("2", "open_ended", 7, 0, 0),
            ("3", "open_ended", 4, 0, 1),
        ],
    ),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    folder = tmp_path_factory.mktemp("typeset")

    def set_(name: str) -> Path:
        file = folder / f"{name}.pdf"
        body = (SOURCES / f"{name}.typ").read_text(encoding="utf-8")
        return file if file.exists() else typeset(body, file, language=PAPERS[name][0], setup=SETUP)

    return set_


def called(draft: Draft) -> str:
    return f"{draft.elective} {draft.number}".strip()


def drafts(paper: IngestedPaper) -> dict[str, Draft]:
    return {called(draft): draft for draft in paper.drafts}


@pytest.mark.parametrize("name", list(PAPERS))
def test_every_question_has_its_number_type_points_options_and_figures(made: Callable[[str], Path], name: str) -> None:
    paper = paper_of(made(name))
    found = [
        (called(draft), draft.question_type, draft.points, len(draft.options), len(draft.figures))
        for draft in paper.drafts
    ]
    assert found == PAPERS[name][1]
    assert paper.language == PAPERS[name][0] and not paper.unmatched


@pytest.mark.parametrize(
    ("name", "number", "text"),
    [
        ("zh_physics", "1", "2024年6月，嫦娥六号完成月球背面采样。关于探测器绕月做匀速圆周运动，下列说法正确的是"),
        ("zh_physics", "8", "如图，光滑水平面上静置一长木板。\n（1）求速度；（6分）\n（2）求热量。（6分）\n<image>"),
        ("zh_biology", "4", "下列功能中，与信息传递有关的是\n①蜜蜂跳舞 ②植物蒸腾 ③萤火虫发光 ④落叶分解"),
        ("ko_earth", "4", "[4~5]다음글을읽고물음에답하시오.\n지구 내부의 구조는 지진파로 알 수 있다.\n알맞은 것은?"),
        ("en_structured", "3", "A ball is dropped.\n<image>\n(a) Find the speed. [2]\n(b) Sketch it. [2]"),
    ],
)
def test_texts(made: Callable[[str], Path], name: str, number: str, text: str) -> None:
    got = drafts(paper_of(made(name)))[number].question
    assert distance("".join(got.split()), "".join(text.split())) < 0.02, got


def test_pictured_options_hold_a_picture_each(made: Callable[[str], Path]) -> None:
    for name in ("zh_physics", "ko_earth"):
        draft = drafts(paper_of(made(name)))["3"]
        assert {option.text for option in draft.options} == {"<image>"}
        assert [doubt.kind for doubt in draft.doubts] == ["answer"]  # the paper has no key


def test_numbers_within_a_passage_are_said_to_be_read_there(made: Callable[[str], Path]) -> None:
    found = drafts(paper_of(made("zh_english")))
    for number in ("2", "3", "4", "8", "9", "10"):
        assert any("within the passage" in doubt.text for doubt in found[number].doubts)
        assert found[number].question.endswith(f"\n{number}.")
    assert "Many people" in found["3"].question and "A. " not in found["3"].question
    assert found["5"].question.endswith("5.") and "One day" in found["5"].question


KEYS = {
    "table": "#table(columns: 4, [题号],[1],[2],[3],[答案],[B],[AC],[D])\n\n4．2；5",
    "ranges": "1—3 B AC D\n\n4．2；5（每空3分）",
    "list": "1．B  2．AC  3．D\n\n4．2；5",
    "with solutions": "1．B【解析】略\n\n2．AC\n\n【解析】1. 甲；2. 乙。\n\n3．D\n\n【详解】略\n\n4．2；5",
    "columns": "#table(columns: 4, [题号],[答案],[题号],[答案],[1],[B],[3],[D],[2],[AC],[],[])\n\n4．2；5",
}


@pytest.mark.parametrize("title", ["参考答案", "高三物理试题参考答案及评分标准", "答案："])
@pytest.mark.parametrize("form", list(KEYS))
def test_a_key_behind_the_questions(tmp_path: Path, form: str, title: str) -> None:
    body = "一、选择题（每小题4分，共12分）\n\n"
    body += "\n\n".join(f"{n}．第{n}个说法正确的是\n\n#opts(4, [A．甲], [B．乙], [C．丙], [D．丁])" for n in (1, 2, 3))
    body += f"\n\n二、填空题（6分）\n\n4．质量为#blank，速度为#blank。\n\n#pagebreak()\n{title}\n\n{KEYS[form]}"
    paper = paper_of(typeset(body, tmp_path / "p.pdf", language="zh", setup=SETUP))
    assert [draft.answer for draft in paper.drafts] == [["B"], ["AC"], ["D"], ["2", "5"]]
    assert not paper.unmatched


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_a_key_on_a_turned_page(tmp_path: Path, turn: int) -> None:
    pypdfium2 = pytest.importorskip("pypdfium2")
    table = "#table(columns: 3, [문항 번호],[정답],[배점],[1],[③],[2],[2],[②],[3],[3],[④],[2])"
    pdf = typeset(f"과학탐구 영역 (지구과학Ⅰ) 정답표\n\n{table}", tmp_path / "k.pdf", language="ko", setup=SETUP)
    document = pypdfium2.PdfDocument(str(pdf))
    document[0].set_rotation(turn)
    document.save(str(tmp_path / "turned.pdf"))
    document.close()
    asked = page(*(line for n in (1, 2, 3) for line in (f"{n}. 값{n}은?", "① 1 ② 2 ③ 3 ④ 4 ⑤ 5")))
    drafts = read(asked, key=AnswerKey.read(tmp_path / "turned.pdf")).drafts
    assert [(draft.answer, draft.points) for draft in drafts] == [(["3"], 2), (["2"], 3), (["4"], 2)]
