"""Real papers: what is printed on them comes back, as text and as LaTeX."""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path

import pytest

pytest.importorskip("pypdfium2")

from livek12.dataset_builders.ingest.extract import extract_pages
from livek12.dataset_builders.ingest.pages.blocks import PICTURE, PageBlocks
from tests.dataset_builders.ingest.pdf_making import distance

pytestmark = pytest.mark.slow

SAMPLES = Path(__file__).resolve().parents[3] / "dataset_builders" / "sample" / "papers"
PRIVATE = re.compile("[\ue000-\uf8ff\ufffd□]")


def flow(pages: list[PageBlocks]) -> str:
    return "\n".join(block.text for page in pages for block in page.blocks if block.kind in ("text", "table"))


def numbered(text: str) -> dict[int, str]:
    """Lines by the question they belong to: numbers count up."""
    found: dict[int, str] = {}
    for line in text.split("\n"):
        number = re.match(r"\s*(\d{1,2})\s*[．.]", line)
        if number and int(number[1]) == len(found) + 1:
            found[len(found) + 1] = ""
        if re.match(r"[一二三四]、", line) is None and found:
            found[len(found)] += line
    return found


def bare(text: str) -> str:
    """What is left when ways of writing the same thing in LaTeX are made equal."""
    text = unicodedata.normalize("NFKC", re.sub(r"<svg.*?</svg>", "", text, flags=re.DOTALL))
    text = re.sub(r"\\(left|right|mathrm|mathbb|boldsymbol|mathbf|vec|overrightarrow)(?![a-z])", "", text)
    for one, other in (
        ("dfrac", "frac"),
        ("overline", "bar"),
        ("leqslant", "le"),
        ("geqslant", "ge"),
        ("leq", "le"),
        ("geq", "ge"),
    ):
        text = text.replace(f"\\{one}", f"\\{other}")
    return re.sub(r"\\[()\[\]]|[${}\s().,:;。、\\]|_{2,}", "", text)


def test_formulas_of_a_chinese_paper(shared_data: Path) -> None:
    folder = shared_data / "gaokao2026_math"
    rows = [json.loads(line) for line in (folder / "reviewed" / "2026-national-i-math.jsonl").read_text().splitlines()]
    found = numbered(flow(list(extract_pages(folder / "pdf" / "national-i.pdf"))))
    away = {
        row["question_number"]: distance(
            bare(found.get(int(row["question_number"]), "")), bare(row["question"]["content"])
        )
        for row in rows
    }
    assert len(found) == 19
    assert found[3].count(PICTURE) == 6 and away.pop("3") > 0.5  # its braces have no letters
    assert sum(away.values()) / len(away) < 0.05, away
    assert sum(value == 0 for value in away.values()) >= 10, away


@pytest.mark.parametrize(
    ("paper", "questions"),
    [
        pytest.param("math", 46, marks=pytest.mark.release),
        ("physics-1", 20),
        pytest.param("chemistry-1", 20, marks=pytest.mark.release),
    ],
    ids=["math", "physics", "chemistry"],
)
def test_korean_papers_have_no_private_letters(shared_data: Path, paper: str, questions: int) -> None:
    pages = list(extract_pages(shared_data / "csat2026" / "papers" / f"{paper}.pdf", pages=range(1, 21)))
    text = flow(pages)
    assert len(PRIVATE.findall(text)) <= 0.001 * len(text)
    assert len(re.findall(r"^\d{1,2}\. ", text, re.MULTILINE)) >= questions
    assert "저작권" not in text
    assert {block.column for page in pages for block in page.blocks} == {0, 1}


def test_korean_formulas(shared_data: Path) -> None:
    pages = list(extract_pages(shared_data / "csat2026" / "papers" / "math.pdf", pages=range(1, 9)))
    text = flow(pages)
    for formula in (
        r"$9^{\frac{1}{4}}\times3^{-\frac{1}{2}}$",
        r"$\lim_{h\to0}\frac{f(1+h)-f(1)}{h}$",
        r"$\sum_{k=1}^{4}(2a_k-k)=0$",
        r"$f(x)=\begin{cases}3x-2 & (x<1) \\ x^2-3x+a & (x\ge1)\end{cases}$",
        r"$\overline{CG}=2\sqrt{6}$",
    ):
        assert formula in text
    assert sum(block.kind == "figure" and block.picture is not None for page in pages for block in page.blocks) >= 2


def test_key_tables_keep_their_cells(shared_data: Path) -> None:
    (first, *_) = extract_pages(shared_data / "csat2026" / "keys" / "math.pdf")
    rows = [line.text.split("\t") for block in first.blocks if block.kind == "table" for line in block.lines]
    assert ["1", "①", "2", "12", "②", "4", "23", "③", "2", "23", "③", "2", "23", "③", "2"] in rows
    assert ["11", "③", "4", "22", "457", "4"] in [[cell for cell in row if cell] for row in rows]


@pytest.mark.parametrize("name", ["sample_zh", "sample_en", "kmmmu", "mdk12", "cfe"])
def test_every_letter_of_the_sample_papers_is_sound(name: str) -> None:
    pages = list(extract_pages(SAMPLES / f"{name}.pdf"))
    text = flow(pages)
    assert len(text) > 500 and not PRIVATE.search(text)
    assert not any(line.unread for page in pages for block in page.blocks for line in block.lines)
    assert any(block.kind == "footer" for block in pages[0].blocks)
