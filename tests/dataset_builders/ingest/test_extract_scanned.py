"""Scanned papers: straightened, turned, read in the right language and order."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("pypdfium2")

from livek12.core.errors import UserError
from livek12.core.records import Language
from livek12.dataset_builders.ingest.extract import extract_pages
from livek12.dataset_builders.ingest.pages import glyphs, text_layer
from livek12.dataset_builders.ingest.pages.blocks import PageBlocks
from livek12.dataset_builders.ingest.pages.geometry import Shape
from livek12.dataset_builders.ingest.scans import ocr, scan
from tests.dataset_builders.ingest.pdf_making import distance, needs_ocr, scanned, typeset

pytestmark = pytest.mark.slow

CHINESE = """
#set page(height: 13cm)
1. 已知平面内两点之间的距离为五，求以这两点为直径的圆的面积。

A. 甲 #h(3em) B. 乙 #h(3em) C. 丙 #h(3em) D. 丁

#box(width: 6cm, height: 2.5cm, { place(circle(radius: 1.2cm)); place(line(start: (0cm, 2.4cm), end: (6cm, 0cm))) })

2. 某校有学生二百人，其中男生一百二十人，从中随机抽取一人，求抽到女生的概率。

3. 请说明光合作用的过程，并写出它的反应物和生成物。
"""
KOREAN = """
1. 다음은 학생이 수행한 탐구 활동이다. 이에 대한 설명으로 옳은 것만을 있는 대로 고른 것은?

2. 우리나라의 전통 음악에 대한 설명으로 가장 적절한 것을 고르시오.
"""


def flow(page: PageBlocks) -> str:
    return "\n".join(block.text for block in page.blocks if block.kind in ("text", "caption"))


def letters(text: str) -> str:
    return re.sub(r"[\s.,，。、?？#]", "", text)


def has_korean() -> bool:
    if not shutil.which("tesseract"):
        return False
    said = subprocess.run(["tesseract", "--list-langs"], capture_output=True, text=True, check=False).stdout
    return "kor" in said.split()


@pytest.mark.parametrize(("degrees", "turn"), [pytest.param(1.5, 0, marks=pytest.mark.release), (-2.0, 90)])
def test_a_scan_that_lies_askew_is_read(tmp_path: Path, degrees: float, turn: int) -> None:
    needs_ocr("rapidocr")
    if turn and not shutil.which("tesseract"):
        pytest.skip("pages are turned upright by tesseract")
    pdf = scanned(typeset(CHINESE, tmp_path / "a.pdf", language="zh"), tmp_path / "b.pdf", degrees=degrees, turn=turn)
    (page,) = extract_pages(pdf, language="zh")
    assert any("straightened" in note for note in page.notes)
    assert page.width < page.height or page.width > page.height * 1.3
    read = flow(page)
    gold = "".join(line for line in CHINESE.splitlines() if line[:1] in "123")
    body = "".join(line for line in read.splitlines() if "A." not in line and "A．" not in line)
    assert distance(letters(body), letters(gold)) < 0.05
    assert [read.index(f"{n}") for n in (1, 2, 3)] == sorted(read.index(f"{n}") for n in (1, 2, 3))
    assert re.search(r"A\.?\s*甲 {4}B\.?\s*乙", read)
    figures = [block for block in page.blocks if block.kind == "figure"]
    assert len(figures) == 1 and figures[0].picture is not None
    assert all(block.origin == "ocr" and 0 < block.confidence <= 1 for block in page.blocks)


@pytest.mark.release
def test_korean_is_read_without_being_told(tmp_path: Path) -> None:
    needs_ocr()
    if not has_korean():
        pytest.skip("tesseract with Korean is not installed")
    pdf = scanned(typeset(KOREAN, tmp_path / "a.pdf", language="ko"), tmp_path / "b.pdf", degrees=1.0, dpi=200)
    (page,) = extract_pages(pdf)
    assert distance(letters(flow(page)), letters(KOREAN)) < 0.1


def test_a_missing_tesseract_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UserError, match="apt-get install tesseract-ocr tesseract-ocr-kor") as error:
        ocr.Reader("ko")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("angle", [-4.0, -1.5, -0.3, 0.0, 0.7, 3.0])
@pytest.mark.parametrize(("language", "body"), [("zh", CHINESE), ("ko", KOREAN)])
def test_the_angle_is_found(tmp_path: Path, angle: float, language: Language, body: str) -> None:
    needs_ocr()
    import pypdfium2

    pdf = scanned(typeset(body, tmp_path / "a.pdf", language=language), tmp_path / "b.pdf", degrees=angle, dpi=100)
    document = pypdfium2.PdfDocument(str(pdf))
    dark = scan.ink(scan.grey(document[0].render(scale=100 / 72).to_pil()))
    assert scan.skew(dark) == pytest.approx(angle, abs=0.2)
    assert not scan.sideways(dark)
    assert scan.sideways(dark.T)
    document.close()


FORMULAS = """
#set page(height: 11cm)
1. 已知集合中的元素满足 $x^3 + y^2 < 5$，数列 $a_1$ 与 $a_2$ 之和为 $e^x$，求它们的积的取值范围。

2. 曲线上的点与直线相交，则函数 $y = 2 sin(3 x - display(frac(pi, 6)))$ 的零点个数为多少？

3. 普通的句子里 x3 与 a1 只是编号，2024 年也只是年份。
"""


@pytest.mark.release
def test_raised_and_lowered_letters_and_small_fractions_of_a_scan(tmp_path: Path) -> None:
    needs_ocr("rapidocr")
    pdf = scanned(typeset(FORMULAS, tmp_path / "a.pdf", language="zh"), tmp_path / "b.pdf", degrees=0.6, dpi=200)
    (page,) = extract_pages(pdf, language="zh")
    read = flow(page)
    assert all(formula in read for formula in ("x^3", "y^2", "a_1", "a_2", "e^x")), read
    assert r"\frac{\pi}{6}" in read
    last = read[read.index("普通") :]
    assert "^" not in last and "_" not in last, "what stands on the line is not raised"
    assert not {chr(2), chr(3)} & set(read)


def test_a_ruled_grid_of_a_scan_is_a_table(tmp_path: Path) -> None:
    needs_ocr("rapidocr")
    cells = ", ".join(f"[{cell}]" for cell in ("Liquid", "Mass", "Volume", "W", "20", "25", "X", "30", "20"))
    body = (
        f"#set page(height: 8cm)\n1. The table shows three liquids.\n\n#table(columns: 3, {cells})\n\nWhich is densest?"
    )
    pdf = scanned(typeset(body, tmp_path / "a.pdf"), tmp_path / "b.pdf", degrees=1.0, dpi=180)
    (page,) = extract_pages(pdf, language="en")
    tables = [block for block in page.blocks if block.kind == "table"]
    assert [table.text for table in tables] == ["Liquid\tMass\tVolume\nW\t20\t25\nX\t30\t20"]
    assert "densest" in flow(page) and "Liquid" not in flow(page) and "frac" not in flow(page)


@pytest.mark.parametrize(
    ("letters", "share", "sound"),
    [(11, 0.95, False), (0, 0.45, False), (0, 0.1, True), (11, 0.45, True), (400, 0.95, True)],
)
def test_a_page_that_is_a_picture_has_no_sound_text_layer(letters: int, share: float, sound: bool) -> None:
    """A scanner's mark is no text; a large figure below a short question is no scan."""
    mark = [glyphs.Glyph("a", 10.0 + n, 780, 15.0 + n, 790, 789, 10, 15.0 + n, "Serif") for n in range(letters)]
    raw = glyphs.RawPage(600, 800, mark, shapes=[Shape("image", 0, 0, 600, 800 * share)])
    assert text_layer.sound(raw) is sound


@pytest.mark.parametrize("formulas", [True, False])
def test_formulas_that_are_not_read_leave_the_words_sound(formulas: bool) -> None:
    marks = [glyphs.Glyph("a", n, 10, n, 20, 19, 10, n, "F", math=formulas, sound=n < 300) for n in range(500)]
    assert text_layer.sound(glyphs.RawPage(600, 800, marks)) is formulas
