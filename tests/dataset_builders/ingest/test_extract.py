"""Born-digital papers: columns, headers, figures, tables and formulas, on papers typst sets."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pypdfium2")

from livek12.dataset_builders.ingest.extract import extract_pages
from livek12.dataset_builders.ingest.pages.atoms import Atom, tex
from livek12.dataset_builders.ingest.pages.blocks import Block, PageBlocks
from tests.dataset_builders.ingest.pdf_making import typeset


def pages_of(pdf: Path) -> list[PageBlocks]:
    return list(extract_pages(pdf))


def of_kind(page: PageBlocks, kind: str) -> list[Block]:
    return [block for block in page.blocks if block.kind == kind]


def text_of(page: PageBlocks) -> str:
    return "\n".join(block.text for block in page.blocks if block.kind == "text")


TWO_COLUMNS = """
#set page(paper: "a4", columns: 2, header: [2026학년도 모의시험 #h(1fr) 수학 영역 #context counter(page).display()],
  footer: align(center)[이 문제지의 저작권은 만든 사람에게 있습니다.])
"""


def korean(count: int) -> str:
    stem = "함수 $f(x) = x^2 + {n}$ 에 대하여 다음 중 옳은 것만을 있는 대로 고른 것은? "
    stem += "두 조건을 모두 만족시키는 값을 구하시오."
    return "\n\n".join(
        f"{n}. {stem.format(n=n)} [3점]\n\n① 1 #h(2em) ② 2 #h(2em) ③ 3 #h(2em) ④ 4 #h(2em) ⑤ 5\n#v(3em)"
        for n in range(1, count + 1)
    )


def test_columns_are_read_one_after_the_other(tmp_path: Path) -> None:
    pages = pages_of(typeset(korean(24), tmp_path / "ko.pdf", language="ko", setup=TWO_COLUMNS))
    assert len(pages) >= 2
    whole = "\n".join(text_of(page) for page in pages)
    places = [whole.index(f"\n{n}. 함수" if n > 1 else "1. 함수") for n in range(1, 25)]
    assert places == sorted(places)
    assert {block.column for block in pages[0].blocks if block.kind == "text"} == {0, 1}
    assert whole.count("[3점]") == 24
    assert "$f(x)=x^2+7$" in whole


def test_headers_and_footers_are_marked(tmp_path: Path) -> None:
    pages = pages_of(typeset(korean(24), tmp_path / "ko.pdf", language="ko", setup=TWO_COLUMNS))
    for page in pages:
        assert "모의시험" not in text_of(page)
        assert "저작권" not in text_of(page)
        assert of_kind(page, "header") and of_kind(page, "footer")


def test_a_title_that_comes_once_is_no_header(tmp_path: Path) -> None:
    body = "#align(center)[= Final Paper in Physics]\n1. What is the speed of light?\n#pagebreak()\n2. And of sound?"
    pages = pages_of(typeset(body, tmp_path / "en.pdf", setup="#set page(margin: 2cm)"))
    assert "Final Paper in Physics" in text_of(pages[0])


FORMULAS = [
    (r"$frac(x^2, a^2) - frac(y^2, b^2) = 1$", r"\frac{x^2}{a^2}-\frac{y^2}{b^2}=1"),
    (r"$sqrt(x + 1)$", r"\sqrt{x+1}"),
    (r"$frac(sqrt(3), 2)$", r"\frac{\sqrt{3}}{2}"),
    (r"$a_(n+1) = a_n^2$", r"a_{n+1}=a_n^2"),
    (r"$2^(x+1) > e^(-x)$", r"2^{x+1}>e^{-x}"),
    (r"$sin alpha + cos beta$", r"\sin\alpha+\cos\beta"),
    (r"$arrow(a) dot arrow(b)$", r"\vec{a}\cdot\vec{b}"),
    (r"$overline(z) = 3 - 2 i$", r"\overline{z}=3-2i"),
    (r"$A inter B subset.eq C$", r"A\cap B\subseteq C"),
    (r"$frac(1, 1 + frac(1, x))$", r"\frac{1}{1+\frac{1}{x}}"),
    (r"$x in RR, x >= 0$", r"x\in\mathbb{R},x\ge0"),
    (r"$log_2 8 = 3$", r"\log_28=3"),
    (r"$ lim_(x -> 0) frac(sin x, x) $", r"\lim_{x\to0}\frac{\sin x}{x}"),
    (r"$ sum_(k=1)^n k^2 $", r"\sum_{k=1}^{n}k^2"),
    (r"$ f(x) = cases(x + 1 & x < 0, x^2 & x >= 0) $", r"f(x)=\begin{cases}"),
    (r"$x^(frac(1, 2))$", r"x^{\frac{1}{2}}"),
    (r"$90^circle.small$", r"90^{\circ}"),
    (r"$lr([frac(5, 16), frac(53, 80)))$", r"[\frac{5}{16},\frac{53}{80})"),
]


@pytest.fixture(scope="module")
def formula_lines(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    body = "\n\n".join(f"Q{at} shows {source} as it is\n#v(1.5em)" for at, (source, _) in enumerate(FORMULAS))
    pages = pages_of(typeset(body, tmp_path_factory.mktemp("formulas") / "formulas.pdf"))
    return "\n".join(text_of(page) for page in pages).split("Q")


@pytest.mark.parametrize("at", range(len(FORMULAS)))
def test_formulas_come_back_as_latex(formula_lines: list[str], at: int) -> None:
    block = next(text for text in formula_lines if text.startswith(f"{at} shows"))
    simple = block.replace("\\bar{", "\\overline{").replace("\\overrightarrow", "\\vec").replace(" ", "")
    assert FORMULAS[at][1].replace(" ", "") in simple


FIGURE = """
1. 如图，求三角形的面积。

#box(width: 6cm, height: 4cm, {
  place(line(start: (0cm, 4cm), end: (5cm, 4cm)))
  place(line(start: (0cm, 4cm), end: (2cm, 0.3cm)))
  place(line(start: (5cm, 4cm), end: (2cm, 0.3cm)))
  place(dx: 2.1cm, dy: 0cm, [$A$])
  place(dx: 5.1cm, dy: 3.6cm, [$B$])
})

图 1

#rect(width: 100%)[已知条件：两边之和等于第三边的两倍，且三角形的周长为十二。]

2. 下表给出了数据。

#table(columns: 3, [组别], [人数], [频率], [第一组], [40], [0.2], [第二组], [60], [0.3])

3. 计算它们的和，写出所有可能的取值并说明理由。
"""


def test_figures_tables_and_frames(tmp_path: Path) -> None:
    (page,) = pages_of(typeset(FIGURE, tmp_path / "zh.pdf", language="zh"))
    (figure,) = of_kind(page, "figure")
    assert figure.picture is not None
    assert "A" in figure.text and "B" in figure.text
    assert 0.1 < figure.box.right - figure.box.left < 0.4
    (table,) = of_kind(page, "table")
    assert [line.text.split("\t") for line in table.lines] == [
        ["组别", "人数", "频率"],
        ["第一组", "40", "0.2"],
        ["第二组", "60", "0.3"],
    ]
    text = text_of(page)
    assert "已知条件" in text
    assert text.index("1.") < text.index("已知条件") < text.index("2.") < text.index("3.")
    assert [block.text for block in of_kind(page, "caption")] == ["图 1"]
    kinds = [block.kind for block in page.blocks]
    assert kinds.index("figure") < kinds.index("caption") < kinds.index("table")


def test_blanks_are_kept(tmp_path: Path) -> None:
    blank = "#box(width: 3cm, stroke: (bottom: 0.5pt))"
    body = f"1. The sum is {blank} metres, and the product is {blank}."
    (page,) = pages_of(typeset(body, tmp_path / "en.pdf"))
    assert text_of(page).count("____") == 2


def test_labels_of_pictured_options_stand_before_their_pictures(tmp_path: Path) -> None:
    drawn = "{{place(line(start: (0cm, 2cm), end: (3cm, 0cm))); place(circle(radius: 0.8cm))}}"
    cell = "{label} #box(width: 3cm, height: 2cm, " + drawn + ")"
    grid = ", ".join(f"[{cell.format(label=label)}]" for label in ("A.", "B.", "C.", "D."))
    (page,) = pages_of(
        typeset(f"1. Which graph is right?\n\n#grid(columns: 2, row-gutter: 1em, {grid})", tmp_path / "en.pdf")
    )
    flow = [block.text if block.kind == "text" else block.kind for block in page.blocks if block.kind != "footer"]
    assert flow == ["1. Which graph is right?", "A.", "figure", "B.", "figure", "C.", "figure", "D.", "figure"]


def test_boxes_are_fractions_of_the_page(tmp_path: Path) -> None:
    pages = pages_of(typeset(korean(6), tmp_path / "ko.pdf", language="ko", setup=TWO_COLUMNS))
    for block in (block for page in pages for block in page.blocks):
        for box in (block.box, *(line.box for line in block.lines)):
            assert 0 <= box.left < box.right <= 1 and 0 <= box.top < box.bottom <= 1


def test_only_the_pages_asked_for(tmp_path: Path) -> None:
    pdf = typeset(korean(24), tmp_path / "ko.pdf", language="ko", setup=TWO_COLUMNS)
    assert [page.number for page in extract_pages(pdf, pages=range(2, 3))] == [2]


def test_a_sparse_landscape_sheet_has_two_columns(tmp_path: Path) -> None:
    long = "What is the speed of a body that falls from a height of two metres, if the air does not slow it down?"
    parts = [f"{number}. {long}" for number in range(1, 7)]
    body = "\n\n".join(parts[:3]) + "\n#colbreak()\n" + "\n\n".join(parts[3:])
    setup = "#set page(width: 42cm, height: 29.7cm, columns: 2, footer: align(center)[Page 1 of 4])"
    (page,) = extract_pages(typeset(body, tmp_path / "a.pdf", setup=setup))
    lines = [line.text for block in page.blocks if block.kind == "text" for line in block.lines]
    assert [line[0] for line in lines if line[0].isdigit()] == list("123456")


def test_a_ligature_in_a_word_is_no_function(tmp_path: Path) -> None:
    (page,) = extract_pages(typeset("1. An infinite, affine, infinitum word.", tmp_path / "a.pdf"))
    assert "An infinite, affine, infinitum word." in page.blocks[0].text


def test_a_tall_sign_off_the_base_line_is_no_script() -> None:
    """Word's formula editor sets a bigger integral around the axis of its line."""
    atoms = [Atom("∫", 0, 335.7, 5, 353.9, 352.0, 17.7, math=True)]
    atoms += [Atom(text, left, 342.6, left + 5, 347.9, 347.8, 11.8, math=True) for text, left in (("f", 6), ("x", 12))]
    assert tex(atoms) == r"\int fx"


@pytest.mark.parametrize(("left", "text"), [(16.1, r"(1\quad 15)"), (5.3, "(115)")])
def test_numbers_of_a_row_are_apart(left: float, text: str) -> None:
    places = (("(", -4.0), ("1", 0.0), ("1", left), ("5", left + 5), (")", left + 10))
    atoms = [Atom(sign, at, 307.5, at + 5, 314.2, 314.1, 10, at + 5, math=True) for sign, at in places]
    assert tex(atoms) == text
