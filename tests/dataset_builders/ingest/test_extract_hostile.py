"""Files that are no papers, or worse: each costs one clear line, within limits of time and memory."""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

pytest.importorskip("pypdfium2")

from livek12.core.errors import UserError
from livek12.dataset_builders.ingest import worker
from livek12.dataset_builders.ingest.extract import extract_pages
from livek12.dataset_builders.ingest.page_reader import read_here
from livek12.dataset_builders.ingest.pages import glyphs, pdf
from livek12.engines.reaper import family, processes
from tests.dataset_builders.ingest.pdf_making import needs_ocr, plain_pdf, raw_pdf, stream, typeset
from tests.engines.helpers import gone, wait_until

HELLO = b"BT /F1 12 Tf 72 700 Td (1. Which of these is prime?) Tj ET"
EMPTY_TREE = [b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[]/Count 0>>"]
ENCRYPTED = plain_pdf(1, HELLO).replace(
    b"/Root 1 0 R",
    b"/Root 1 0 R/ID[<00><00>]/Encrypt<</Filter/Standard/V 1/R 2/P -4/O<" + b"41" * 32 + b">/U<" + b"42" * 32 + b">>>",
)

BROKEN = [
    ("empty", b"", "empty"),
    ("jpeg", b"\xff\xd8\xff\xe0" + bytes(500), "JPEG"),
    ("html", b"<!DOCTYPE html><html><body>Please log in</body></html>", "web page"),
    ("zip", b"PK\x03\x04" + bytes(100), "ZIP"),
    ("text", b"1. What is two and two?", "not a PDF"),
    ("cut", plain_pdf(1, HELLO)[:120], "damaged"),
    ("no pages", raw_pdf(EMPTY_TREE), "no pages"),
    ("encrypted", ENCRYPTED, "encrypted"),
    ("too many pages", plain_pdf(2000, HELLO), "2000 pages"),
]


@pytest.mark.parametrize(("name", "data", "said"), BROKEN, ids=[name for name, _, _ in BROKEN])
def test_one_line_that_names_the_file(tmp_path: Path, name: str, data: bytes, said: str) -> None:
    path = tmp_path / "paper-7.pdf"
    path.write_bytes(data)
    with pytest.raises(UserError) as error:
        list(extract_pages(path))
    line = str(error.value)
    assert "paper-7.pdf" in line and said in line and "\n" not in line and len(line) < 300


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"gone\.pdf"):
        list(extract_pages(tmp_path / "gone.pdf"))


def test_a_long_file_can_be_read_in_parts(tmp_path: Path) -> None:
    path = tmp_path / "long.pdf"
    path.write_bytes(plain_pdf(2000, HELLO))
    pages = list(extract_pages(path, pages=range(1990, 1993)))
    assert [page.number for page in pages] == [1990, 1991, 1992]


def test_javascript_is_not_run_and_text_is_read(tmp_path: Path) -> None:
    path = tmp_path / "script.pdf"
    path.write_bytes(plain_pdf(1, HELLO, catalogue=b"/OpenAction<</S/JavaScript/JS(while(true){})>>"))
    (page,) = extract_pages(path)
    assert [block.text for block in page.blocks] == ["1. Which of these is prime?"]


@pytest.mark.parametrize("box", [b"0 0 14400 14400", b"0 0 2e9 2e9", b"0 0 14400 20"])
def test_pages_of_any_size_are_drawn_small(tmp_path: Path, box: bytes) -> None:
    path = tmp_path / "big.pdf"
    path.write_bytes(plain_pdf(1, HELLO, box=box))
    (page,) = extract_pages(path, how="text")
    assert len(page.image) < 3_000_000


@pytest.mark.slow
@pytest.mark.parametrize("crop", [(92.06, 278.73, 93.91, 279.11), (594.9, 841.9, 700, 900), (-9, -9, -5, -5)])
def test_a_crop_of_a_hair_or_at_the_edge_has_pixels(tmp_path: Path, crop: tuple[float, float, float, float]) -> None:
    file = tmp_path / "paper.pdf"
    file.write_bytes(plain_pdf(1, b""))
    with pdf.opened(file) as document:
        assert all(pdf.drawn(document[0], 200, crop).size)


def test_a_picture_that_unpacks_to_gigabytes_does_not_take_memory(tmp_path: Path) -> None:
    entries = b"/Type/XObject/Subtype/Image/Width 30000/Height 30000/BitsPerComponent 8/ColorSpace/DeviceRGB"
    entries += b"/Filter/FlateDecode"
    packed = zlib.compress(bytes(90_000_000), 9)
    path = tmp_path / "bomb.pdf"
    path.write_bytes(
        raw_pdf(
            [
                b"<</Type/Catalog/Pages 2 0 R>>",
                b"<</Type/Pages/Count 1/Kids[4 0 R]>>",
                stream(b"q 500 0 0 700 50 50 cm /I Do Q"),
                b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</XObject<</I 5 0 R>>>>/Contents 3 0 R>>",
                stream(packed, entries),
            ]
        )
    )
    try:
        pages = list(worker.pages(path, "zh", "text", None, memory_bytes=1 << 30))
    except UserError as error:
        assert "bomb.pdf" in str(error)
    else:
        assert len(pages) == 1


@pytest.mark.slow
def test_a_form_that_draws_itself_ends(tmp_path: Path) -> None:
    path = tmp_path / "itself.pdf"
    loop = stream(b"/X Do /X Do", b"/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 5 0 R>>>>")
    path.write_bytes(
        raw_pdf(
            [
                b"<</Type/Catalog/Pages 2 0 R>>",
                b"<</Type/Pages/Count 1/Kids[4 0 R]>>",
                stream(b"/X Do"),
                b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</XObject<</X 5 0 R>>>>/Contents 3 0 R>>",
                loop,
            ]
        )
    )
    try:
        list(worker.pages(path, None, "text", None, seconds=20, memory_bytes=1 << 30))
    except UserError as error:
        assert "itself.pdf" in str(error)


def test_a_page_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    path = typeset("1. Why?", tmp_path / "slow.pdf")
    with pytest.raises(UserError, match=r"slow\.pdf: the page after page 0 takes too long to read"):
        list(worker.pages(path, None, "text", None, seconds=0.01))


@pytest.mark.slow
@pytest.mark.release
def test_a_machine_that_is_busy_with_other_things_costs_no_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What counts is the time that the reader has a processor, not what passes while others have it."""
    program = tmp_path / "tesseract"
    program.write_text('#!/bin/sh\nsleep 8\ncase "$*" in *list-langs*) echo kor;; *) echo;; esac\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    needs_ocr()
    path = typeset("1. Why?", tmp_path / "slow.pdf")
    monkeypatch.setattr(worker, "OCR_FACTOR", 1.0)
    (page,) = worker.pages(path, "ko", "ocr", None, seconds=12)
    assert page.number == 1


def test_a_page_that_waits_for_ever_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = typeset("1. Why?", tmp_path / "stuck.pdf")
    monkeypatch.setattr(worker, "WALL_FACTOR", 0.0)
    with pytest.raises(UserError, match=r"stuck\.pdf: the page after page 0 takes too long to read"):
        list(worker.pages(path, None, "text", None))


def test_a_page_of_very_many_things_is_cut_short_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(glyphs, "MAX_GLYPHS", 40)
    monkeypatch.setattr(glyphs, "MAX_OBJECTS", 20)
    path = tmp_path / "dense.pdf"
    path.write_bytes(plain_pdf(1, HELLO * 2 + b"9 9 m 99 99 l S " * 30))
    (page,) = read_here(path, None, "text", None)
    assert any("characters only the first 40" in note for note in page.notes)
    assert any("first 20 drawings" in note for note in page.notes)
    path.write_bytes(plain_pdf(1, HELLO))
    (page,) = read_here(path, None, "text", None)
    assert page.notes == []


@pytest.mark.slow
def test_a_page_that_is_read_by_ocr_has_more_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_ocr("rapidocr")
    path = typeset("1. Which of these numbers is a prime? Give a reason for it.", tmp_path / "slow.pdf")
    monkeypatch.setattr(worker, "OCR_FACTOR", 0.0001)
    with pytest.raises(UserError, match="takes too long to read"):
        list(worker.pages(path, "en", "ocr", None, seconds=60))
    monkeypatch.setattr(worker, "OCR_FACTOR", 3.0)
    (page,) = worker.pages(path, "en", "ocr", None, seconds=60)
    assert "prime" in page.blocks[0].text


def test_a_scan_where_opencv_is_missing_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cv2.py").write_text("raise ModuleNotFoundError(\"No module named 'cv2'\", name='cv2')")
    monkeypatch.syspath_prepend(tmp_path)
    path = typeset("1. Why?", tmp_path / "scan.pdf")
    with pytest.raises(UserError, match=r"scan\.pdf: .*No module named 'cv2'.*pip install") as error:
        list(worker.pages(path, "zh", "ocr", None))
    assert "damaged" not in str(error.value)


def test_a_reader_that_dies_is_one_line(tmp_path: Path) -> None:
    path = typeset("1. Why?", tmp_path / "dies.pdf")
    with pytest.raises(UserError, match=r"dies\.pdf"):
        list(worker.pages(path, None, "text", None, memory_bytes=64 << 20))


def test_the_reader_ends_with_the_generator(tmp_path: Path) -> None:
    path = tmp_path / "long.pdf"
    path.write_bytes(plain_pdf(50, HELLO))
    pages = worker.pages(path, None, "text", None)
    assert next(pages).number == 1
    pages.close()  # type: ignore[attr-defined]
    with pytest.raises(StopIteration):
        next(pages)


def test_the_reader_ends_when_its_caller_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "long.pdf"
    path.write_bytes(plain_pdf(50, HELLO))
    caller = f"""
import sys, time
from pathlib import Path
from livek12.dataset_builders.ingest.worker import pages
found = pages(Path({str(path)!r}), None, "text", None)
print(next(found).number, flush=True)
time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(caller)
        process.stdin.close()
        assert process.stdout.readline() == "1\n"
        own, *readers = family([process.pid], processes())
        assert len(readers) == 1
        process.kill()
    wait_until(lambda: gone(own) and gone(readers[0]), 20)


def test_the_process_that_reads_a_page_loads_no_pydantic_and_nothing_for_scans() -> None:
    code = (
        "import sys; import livek12.dataset_builders.ingest.page_reader; "
        "print(*sorted({name.partition('.')[0] for name in sys.modules} & {'pydantic', 'PIL', 'cv2', 'numpy'}), "
        "*(name for name in sys.modules if '.scans' in name))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
