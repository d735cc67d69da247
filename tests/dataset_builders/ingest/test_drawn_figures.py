"""Figures drawn with bare lines, rectangles and curves: found whole, with their labels and captions."""

# ruff: noqa: E501 (lines of typst)

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from livek12.core.records import Language
from livek12.dataset_builders.ingest.extract import extract_pages
from livek12.dataset_builders.ingest.pages import text_layer
from livek12.dataset_builders.ingest.pages.blocks import Block, Box
from livek12.dataset_builders.ingest.pages.geometry import Rule, Shape
from livek12.dataset_builders.ingest.pages.glyphs import Glyph, RawPage
from tests.dataset_builders.ingest.papers import paper_of
from tests.dataset_builders.ingest.pdf_making import distance, needs_ocr, scanned, typeset

SETUP = """
#set page(paper: "a4", margin: 2cm)
#set par(leading: .8em)
#let ln(x0, y0, x1, y1, ..s) = place(line(start: (x0 * 1mm, y0 * 1mm), end: (x1 * 1mm, y1 * 1mm), stroke: .7pt, ..s))
#let re(x, y, w, h, ..s) = place(dx: x * 1mm, dy: y * 1mm, rect(width: w * 1mm, height: h * 1mm, stroke: .7pt, ..s))
#let ci(x, y, r) = place(dx: (x - r) * 1mm, dy: (y - r) * 1mm, circle(radius: r * 1mm, stroke: .7pt))
#let tx(x, y, t) = place(dx: x * 1mm, dy: y * 1mm, text(size: 9pt, t))
#let fig(w, h, body) = align(center, box(width: w * 1mm, height: h * 1mm, align(left + top, {
  context [#metadata((x: here().position().x.pt(), y: here().position().y.pt(), w: (w * 1mm).pt(), h: (h * 1mm).pt())) <drawn>]
  body
})))
#let blank = box(width: 3em, stroke: (bottom: .5pt), outset: (bottom: 2pt))
#let opts(n, ..o) = grid(columns: (1fr,) * n, row-gutter: .65em, ..o)
"""


@dataclass(frozen=True)
class Drawn:
    """A paper of two questions, the first with a figure: `around` goes into both questions' texts."""

    language: Language
    body: str
    question: str
    labels: tuple[str, ...]
    caption: str = ""


DRAWN = {
    "circuit": Drawn(
        "zh",
        """
1．如图所示的电路中，电源电动势为6伏，内阻不计，两个电阻阻值相等。闭合开关后，电流表的示数为

#fig(70, 40, {
  ln(0, 5, 20, 5); re(20, 2, 12, 6); ln(32, 5, 45, 5); re(45, 2, 12, 6); ln(57, 5, 70, 5)
  ln(0, 5, 0, 38); ln(70, 5, 70, 38); ln(0, 38, 30, 38); ln(30, 34, 30, 40); ln(33, 31.5, 33, 40); ln(33, 38, 70, 38)
  tx(23, 9.5, [$R_1$]); tx(48, 9.5, [$R_2$]); tx(25, 29, [E]); tx(60, 20, [S])
})
#align(center)[第1题图]

#opts(4, [A．1安], [B．2安], [C．3安], [D．4安])

2．关于电场线，下列说法正确的是

#opts(2, [A．电场线是闭合的], [B．电场线可以相交], [C．电场线不存在], [D．电场线越密场强越大])
""",
        "如图所示的电路中，电源电动势为6伏，内阻不计，两个电阻阻值相等。闭合开关后，电流表的示数为",
        ("R", "S"),
        "第1题图",
    ),
    "mechanics": Drawn(
        "ko",
        """
1. 그림은 수평면 위에서 물체 두 개가 실로 연결되어 움직이는 모습을 나타낸 것이다. 이에 대한 설명으로 옳은 것은?

#fig(64, 20, {
  ln(0, 20, 64, 20); re(4, 2, 14, 18); ln(18, 11, 36, 11); re(36, 2, 14, 18); ln(50, 11, 62, 11)
  ln(62, 11, 59, 9); ln(62, 11, 59, 13); tx(9, 9, [A]); tx(41, 9, [B]); tx(25, 5, [실]); tx(57, 4, [$F$])
})
#align(center)[\\<그림 1\\>]

① 가속도는 같다. \\ ② 속력은 다르다. \\ ③ 힘은 같다. \\ ④ 질량은 같다. \\ ⑤ 운동량은 같다.

2. 빛에 대한 설명으로 옳은 것은?

① 느리다. \\ ② 빠르다. \\ ③ 굽는다. \\ ④ 멈춘다. \\ ⑤ 사라진다.
""",
        "그림은 수평면 위에서 물체 두 개가 실로 연결되어 움직이는 모습을 나타낸 것이다. 이에 대한 설명으로 옳은 것은?",
        ("실", "F"),
        "<그림 1>",
    ),
    "optics": Drawn(
        "en",
        """
1. The figure shows rays of light that pass through a thin lens. Which statement about the image is correct?

#fig(80, 44, {
  ln(0, 22, 80, 22); ln(40, 2, 40, 42); ln(8, 22, 8, 10); ln(8, 10, 40, 10); ln(40, 10, 76, 36.5)
  ln(8, 10, 76, 35.5); ln(8, 10, 6, 13); ln(8, 10, 10, 13); tx(3, 6, [P]); tx(56, 24, [focus]); tx(42, 1, [lens])
})
#align(center)[Figure 1: An object in front of a lens of focal length 10 cm.]

#opts(2, [A. It is real.], [B. It is virtual.], [C. It is upright.], [D. It is absent.])

2. Which of these is a unit of power?

#opts(4, [A. joule], [B. watt], [C. newton], [D. pascal])
""",
        "The figure shows rays of light that pass through a thin lens. Which statement about the image is correct?"
        " Figure 1: An object in front of a lens of focal length 10 cm.",
        ("focus", "lens"),
        "Figure 1: An object in front of a lens of focal length 10 cm.",
    ),
    "apparatus": Drawn(
        "zh",
        """
1．某同学用下面的装置制取并收集气体，下列说法正确的是

#fig(72, 44, {
  re(4, 14, 14, 28); ln(4, 24, 18, 24); ln(11, 14, 11, 4); ln(11, 4, 36, 4); ln(36, 4, 36, 36)
  re(28, 18, 16, 24); ln(28, 28, 44, 28); ln(44, 20, 60, 20); ln(60, 20, 60, 34); re(54, 24, 14, 18)
  tx(6, 31, [石灰石]); tx(46, 13, [导管]); tx(30, 37, [水]); tx(69, 30, [甲])
})
#align(center)[图1]

#opts(2, [A．装置漏气], [B．气体难溶于水], [C．反应需加热], [D．尾气无毒])

2．下列物质属于电解质的是

#opts(4, [A．铜], [B．蔗糖], [C．食盐], [D．酒精])
""",
        "某同学用下面的装置制取并收集气体，下列说法正确的是",
        ("石灰石", "导管"),
        "图1",
    ),
    "graph": Drawn(
        "zh",
        """
1．一物体沿直线运动，其速度随时间变化的关系如下，下列说法正确的是

#fig(60, 40, {
  ln(6, 36, 60, 36); ln(6, 36, 6, 0); ln(60, 36, 57, 35); ln(60, 36, 57, 37); ln(6, 0, 5, 3); ln(6, 0, 7, 3)
  place(curve(stroke: .7pt, curve.move((6mm, 34mm)), curve.cubic((20mm, 2mm), (36mm, 2mm), (54mm, 30mm))))
  ln(30, 10.2, 30, 36); tx(0, 0, [$v$]); tx(56, 37, [$t$]); tx(28, 37, [$t_1$]); tx(2, 36, [$O$])
})
#align(center)[图2]

#opts(2, [A．物体做匀速运动], [B．速度先增大后减小], [C．物体静止], [D．加速度不变])

2．下列单位中属于基本单位的是

#opts(4, [A．牛顿], [B．焦耳], [C．千克], [D．瓦特])
""",
        "一物体沿直线运动，其速度随时间变化的关系如下，下列说法正确的是",
        ("t_1",),
        "图2",
    ),
    "triangle": Drawn(
        "ko",
        """
1. 그림과 같은 삼각형에서 두 변의 길이가 같을 때, 옳은 것은?

#fig(50, 36, {
  ln(4, 32, 46, 32); ln(4, 32, 25, 3); ln(25, 3, 46, 32); ln(25, 3, 25, 32); re(25, 29, 3, 3)
  tx(1, 31, [P]); tx(47.5, 31, [Q]); tx(27, 0, [R]); tx(24, 33, [M])
})
#align(center)[그림 2.]

① 직각이다. \\ ② 예각이다. \\ ③ 둔각이다. \\ ④ 평각이다. \\ ⑤ 없다.

2. 가장 작은 수는?

① 하나 \\ ② 둘 \\ ③ 셋 \\ ④ 넷 \\ ⑤ 다섯
""",
        "그림과 같은 삼각형에서 두 변의 길이가 같을 때, 옳은 것은?",
        ("Q", "M"),
        "그림 2.",
    ),
    "flow chart": Drawn(
        "en",
        """
1. The chart shows how a sample is treated in the laboratory. Which step is the slowest?

#fig(90, 40, {
  re(2, 2, 24, 10); re(34, 2, 24, 10); re(66, 2, 22, 10); re(34, 26, 24, 12)
  ln(26, 7, 34, 7); ln(58, 7, 66, 7); ln(46, 12, 46, 26); ln(34, 7, 32, 6); ln(34, 7, 32, 8); ln(66, 7, 64, 6)
  ln(66, 7, 64, 8); ln(46, 26, 45, 24); ln(46, 26, 47, 24)
  tx(8, 5, [crush]); tx(39, 5, [dissolve]); tx(71, 5, [filter]); tx(37, 30, [evaporate])
})
#align(center)[Fig. 3]

#opts(4, [A. first], [B. second], [C. third], [D. last])

2. Which of these is a metal?

#opts(4, [A. iron], [B. sulfur], [C. carbon], [D. neon])
""",
        "The chart shows how a sample is treated in the laboratory. Which step is the slowest?",
        ("crush", "dissolve", "evaporate"),
        "Fig. 3",
    ),
}
NONE = {
    "table": "1．下表为某物体的数据，求速度。\n\n#table(columns: 4, [时间], [1], [2], [3], [位移], [3], [6], [9])",
    "boxed text": "1．阅读材料，回答问题。\n\n#rect(width: 60%)[材料：甲同学认为力是维持运动的原因，乙同学认为力是改变运动的原因。]",
    "stacked boxes": "1．阅读材料。\n\n#rect(width: 60%)[甲：力是维持运动的原因，我认为是这样。]\n\n#rect(width: 60%)[乙：力是改变运动的原因，我认为不是。]",
    "blanks": "1．质量为#blank，速度为#blank，动量为#blank，\n\n动能为#blank，功率为#blank，周期为#blank。",
    "answer lines": "1．写出推导过程。\n\n" + "#line(length: 100%, stroke: .5pt)\n\n" * 4,
    "fractions": r"1．计算 $frac(1, 2) + frac(3, 4) + sqrt(frac(5, 6)) + sqrt(7)$ 和 $frac(frac(1, x) + 1, frac(1, y) + 2)$ 的值。",
    "long division": "1．计算下面的除法。\n\n#grid(columns: 2, column-gutter: 2pt, row-gutter: 3pt, [], box(stroke: (bottom: .5pt), outset: 2pt)[36], [12], box(stroke: (left: .5pt), inset: (left: 3pt))[432], [], box(stroke: (bottom: .5pt), outset: 1pt)[36], [], [72], [], box(stroke: (bottom: .5pt), outset: 1pt)[72], [], [0])",
}
Set = Callable[[str, bool], tuple[Path, dict[str, float]]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Set:
    typst = pytest.importorskip("typst")
    folder = tmp_path_factory.mktemp("drawn")

    def set_(name: str, scan: bool) -> tuple[Path, dict[str, float]]:
        drawn = DRAWN[name]
        file = folder / f"{name}.pdf"
        if not file.exists():
            typeset(drawn.body, file, language=drawn.language, setup=SETUP)
        places = json.loads(typst.query(f"{SETUP}\n{drawn.body}".encode(), "<drawn>", field="value"))
        return (scanned(file, folder / f"{name}-scan.pdf") if scan else file), places[0]

    return set_


def shared(box: Box, place: dict[str, float]) -> float:
    """Intersection over union of a box and the place where the figure was drawn, on A4."""
    one = (box.left * 595.28, box.top * 841.89, box.right * 595.28, box.bottom * 841.89)
    other = (place["x"], place["y"], place["x"] + place["w"], place["y"] + place["h"])
    common = max(0.0, min(one[2], other[2]) - max(one[0], other[0])) * max(
        0.0, min(one[3], other[3]) - max(one[1], other[1])
    )
    areas = sum((b[2] - b[0]) * (b[3] - b[1]) for b in (one, other))
    return common / (areas - common)


SCANS = {
    "optics": [],
    "graph": [pytest.mark.release],
    "circuit": [pytest.mark.release],
    "apparatus": [pytest.mark.release],
}
SCANNED = [
    pytest.param(name, True, id=f"{name} scan", marks=[pytest.mark.slow, *marks]) for name, marks in SCANS.items()
]


@pytest.mark.parametrize(("name", "scan"), [*(pytest.param(name, False, id=name) for name in DRAWN), *SCANNED])
def test_a_drawn_figure_is_one_figure_with_its_labels_and_caption(made: Set, name: str, scan: bool) -> None:
    drawn = DRAWN[name]
    if scan:
        needs_ocr("rapidocr")
    pdf, place = made(name, scan)
    first, second = paper_of(pdf).drafts
    (figure,) = first.figures
    assert figure.box and shared(figure.box, place) >= 0.7
    assert not second.figures and len(first.options) in (4, 5)
    text, said = ("".join(part.split()) for part in (first.question.replace("<image>", ""), drawn.question))
    assert distance(text, said) < (0.1 if scan else 0.001), text  # the reader's own slips are not the matter here
    assert not any(label in option.text for label in drawn.labels for option in first.options)
    assert distance(figure.caption, drawn.caption) < (0.2 if scan else 0.001)


@pytest.mark.parametrize("name", list(NONE))
def test_what_is_ruled_is_no_figure(tmp_path: Path, name: str) -> None:
    body = f"{NONE[name]}\n\n2．下列说法正确的是\n\n#opts(2, [A．甲], [B．乙], [C．丙], [D．丁])"
    pdf = typeset(body, tmp_path / "p.pdf", language="zh", setup=SETUP)
    blocks = [block for page in extract_pages(pdf) for block in page.blocks]
    assert not [block.box for block in blocks if block.kind == "figure"]
    assert any(block.text.startswith("1．") for block in blocks)


RADIO = """
1. Which planet is the largest?

#for name in ("Mercury", "Venus", "Jupiter") [#box(circle(radius: 4pt)) #name \\ ]

2. Name another.
"""
SLANTED = """
#place(center + horizon, rotate(-40deg, text(size: 40pt, fill: luma(60%))[SAMPLE SAMPLE]))
1. Find the largest planet of all the planets that go around the sun, and say why it is so large.

2. Name the others in the order in which they go around the sun, and say what each of them looks like.
"""
SQUARED = """
1. Read the graph.

#box(width: 120pt, height: 80pt)[
  #for i in range(7) { place(line(start: (i * 20pt, 0pt), end: (i * 20pt, 80pt))) }
  #for i in range(5) { place(line(start: (0pt, i * 20pt), end: (120pt, i * 20pt))) }
  #place(curve(curve.move((0pt, 80pt)), curve.quad((60pt, 60pt), (115pt, 5pt))))
]

2. What next?
"""


RINGED = """
1. Write the number in the circle as a product of primes.

#align(center, box(width: 4cm, height: 3cm)[#place(circle(radius: 1.3cm)) #place(dx: 1cm, dy: 1.1cm)[84]])

2. What next?
"""


def blocks(body: str, path: Path) -> list[Block]:
    return [block for page in extract_pages(typeset(body, path), how="text") for block in page.blocks]


def test_drawn_circles_before_options_are_read(tmp_path: Path) -> None:
    lines = [line.text for block in blocks(RADIO, tmp_path / "radio.pdf") for line in block.lines]
    assert [line for line in lines if line.startswith("○")] == ["○ Mercury", "○ Venus", "○ Jupiter"]


def test_slanted_text_is_ground_and_a_graph_on_squared_paper_a_figure(tmp_path: Path) -> None:
    text = " ".join(block.text for block in blocks(SLANTED, tmp_path / "slanted.pdf"))
    assert "all the planets that go around" in text and "S" not in text.replace("Say", "")
    kinds = [block.kind for block in blocks(SQUARED, tmp_path / "squared.pdf")]
    assert "figure" in kinds and "table" not in kinds


def test_a_circle_around_text_is_a_figure(tmp_path: Path) -> None:
    (first, second) = paper_of(typeset(RINGED, tmp_path / "ringed.pdf")).drafts
    assert len(first.figures) == 1 and "84" not in first.question and second.question == "What next?"


def test_circles_are_labels_of_options(tmp_path: Path) -> None:
    (first, *_) = paper_of(typeset(RADIO, tmp_path / "radio.pdf")).drafts
    assert [(option.label, option.text) for option in first.options] == [
        ("A", "Mercury"),
        ("B", "Venus"),
        ("C", "Jupiter"),
    ]


def _line(text: str, left: float, base: float) -> list[Glyph]:
    """Letters of text, each half as wide as high; spaces are as wide."""
    places = ((sign, left + 5.0 * at) for at, sign in enumerate(text))
    return [Glyph(sign, x, base - 7, x + 5, base, base, 10, x + 5, "Times") for sign, x in places]


@pytest.mark.parametrize(
    ("lines", "images", "kept"),
    [
        (  # the first word of a justified line, beside a picture
            [
                ("picaresque novels of the time", 100, 100),
                ("first", 100, 116),
                ("person, in form of a letter", 140, 116),
            ],
            [(20, 80, 95, 150)],
            "first person, in form of a letter",
        ),
        (  # words behind pictures in a line
            [("1. The bottle shows the signs", 40, 100), ("so it is", 262, 100), ("()", 320, 100)],
            [(200, 75, 230, 125), (230, 75, 260, 125)],
            "so it is",
        ),
        (  # pictures that touch, with lines between them
            [("Consider these models:", 40, 150), ("derive the formula of this", 40, 170)],
            [(300, 60, 420, 120), (380, 120, 480, 190), (60, 190, 400, 220)],
            "Consider these models: derive the formula",
        ),
    ],
)
def test_pictures_take_no_words_of_lines(
    lines: list[tuple[str, float, float]], images: list[tuple[float, float, float, float]], kept: str
) -> None:
    raw = RawPage(500, 400, [glyph for line in lines for glyph in _line(*line)])
    raw.shapes = [Shape("image", *box) for box in images]
    blocks = text_layer.blocks_of(raw, 1, lambda _: b"", text_layer.Reading()).blocks
    words = " ".join(line.text for block in blocks if block.kind == "text" for line in block.lines)
    assert kept in " ".join(words.split())


def _grid(xs: list[float], ys: list[float]) -> list[Rule]:
    flat = [Rule(xs[0], y, xs[-1], y) for y in ys]
    return flat + [Rule(x, ys[0], x, ys[-1]) for x in xs]


def test_cells_have_their_own_fractions_and_letters_and_a_double_rule_parts_no_table() -> None:
    """A picture above reaches into the head of the table; another one has a table in it."""
    words = [("Sizes of all", 20, 120), ("n", 112, 112), ("x", 152, 118), ("y", 152, 129), ("1", 112, 155)]
    raw = RawPage(500, 400, [glyph for line in [*words, ("2", 152, 155)] for glyph in _line(*line)])
    raw.rules = [*_grid([100, 140, 180], [100, 140]), *_grid([100, 140, 180], [142.4, 160]), Rule(150, 120, 159, 120.4)]
    raw.shapes = [Shape("image", 100, 50, 200, 108), Shape("image", 250, 200, 400, 300)]
    raw.rules += _grid([280, 300, 320], [220, 240, 260])
    raw.glyphs += _line("7", 285, 232)
    blocks = text_layer.blocks_of(raw, 1, lambda _: b"", text_layer.Reading()).blocks
    tables = [[line.text for line in block.lines] for block in blocks if block.kind == "table"]
    assert tables == [[r"n	$\frac{x}{y}$", "1	2"]]
    assert [line.text for block in blocks if block.kind == "text" for line in block.lines] == ["Sizes of all"]
