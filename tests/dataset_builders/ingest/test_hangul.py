"""Korean scans: syllables by one engine, what stands between them by another; fractions read part by part."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

pytest.importorskip("numpy")
pytest.importorskip("cv2")

import numpy as np
from PIL import Image as Pictures
from PIL.Image import Image as Picture

from livek12.core.errors import UserError
from livek12.dataset_builders.ingest.pages.geometry import Bounds
from livek12.dataset_builders.ingest.scans import formulas, hangul, ocr
from livek12.dataset_builders.ingest.scans.hangul import Letter
from livek12.dataset_builders.ingest.scans.ocr import _LINE as LINE
from livek12.dataset_builders.ingest.scans.scan import Read
from livek12.dataset_builders.ingest.scans.scanner import Scanner

WIDE, TALL = 20, 30


def drawn(text: str, sure: float = 0.99) -> tuple[np.ndarray, list[Letter]]:
    """Ink and letters of a line; a space is half as wide, and what is no Hangul is read badly by the first engine."""
    dark = np.zeros((TALL + 10, WIDE * (len(text) + 2)), bool)
    letters, x = [], 10
    for letter in text:
        if letter == " ":
            x += WIDE // 2
            continue
        dark[8:TALL, x + 1 : x + WIDE - 1] = True
        known = "가" <= letter <= "힣"
        letters.append(Letter(letter if known else "@", *(x, 5, x + WIDE, TALL), sure if known else 0.4))
        x += WIDE
    return dark, letters


def engine(answers: Sequence[str]) -> tuple[list[Bounds], hangul.ReadBoxes]:
    """One that gives answers in order, and the boxes that it was asked about."""
    asked: list[Bounds] = []

    def read(boxes: Sequence[Bounds]) -> list[Read]:
        asked.extend(boxes)
        return [Read(text, *box, 0.97) for text, box in zip(answers, boxes, strict=False)]

    return asked, read


@pytest.mark.parametrize(
    ("printed", "answers", "said"),
    [
        ("값은", [], "값은"),
        ("값을 구하시오", [], "값을 구하시오"),
        ("방정식 x 의 값", ["x"], "방정식 x 의 값"),
        ("XX일 때", ["a=1"], "a=1일 때"),
        ("점수가 X", ["2"], "점수가 2"),
    ],
)
def test_each_engine_reads_what_it_knows(printed: str, answers: list[str], said: str) -> None:
    dark, letters = drawn(printed)
    asked, read = engine(answers)
    lines = hangul.lines(dark, [((5, 3, dark.shape[1] - 5, TALL + 3), letters)], read)
    assert [one.text for one in lines] == [said] and len(asked) == len(answers)


def test_what_no_engine_reads_makes_the_line_unsure() -> None:
    dark, letters = drawn("점수가 X인")
    letters = [letter for letter in letters if letter.hangul]
    (line,) = hangul.lines(dark, [((5, 3, dark.shape[1] - 5, TALL + 3), letters)], engine([])[1])
    assert line.text.startswith("점수가") and line.confidence <= formulas.UNSURE


def test_a_wide_gap_ends_a_run() -> None:
    dark, letters = drawn("하나    둘")
    home = (5.0, 3.0, dark.shape[1] - 5.0, TALL + 3.0)
    assert [one.text for one in hangul.lines(dark, [(home, letters)], engine([])[1])] == ["하나", "둘"]


def test_letters_of_hocr() -> None:
    said = (
        "<span class='ocr_line' id='line_1'><span class='ocrx_cinfo' title='x_bboxes 1 2 3 4; x_conf 99.5'>가</span>"
        "<span class='ocr_line' id='line_2'><span class='ocrx_cinfo' title='x_bboxes 5 6 7 8; x_conf 50'>&lt;</span>"
    )
    read = [(letter.text, letter.box, letter.confidence) for letter in hangul.letters_of(said)]
    assert read == [("가", (1, 2, 3, 4), 0.995), ("<", (5, 6, 7, 8), 0.5)]


def test_many_lines_are_shown_to_tesseract_on_sheets_that_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    sheets: list[Picture] = []

    def letters(sheet: Picture, _: str) -> list[Letter]:
        sheets.append(sheet)
        foot = sheet.height - 2.5 * LINE
        return [Letter("가", *(LINE, foot, 2 * LINE, foot + LINE), 0.99)]

    monkeypatch.setattr(ocr, "_letters", letters)
    boxes = [(0.0, 12.0 * at, 90.0, 12.0 * at + 10) for at in range(700)]
    homes = ocr._letters_of_lines(Pictures.new("L", (100, 8400), 255), [*boxes, (0.0, 0.0, 100.0, 8400.0)])
    assert [box for box, _ in homes][:700] == boxes and max(max(sheet.size) for sheet in sheets) < 32_000
    assert len(sheets) > 1 and sum(len(own) for _, own in homes) == len(sheets)


def test_a_failure_of_tesseract_while_guessing_the_language_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Sequence[str], __: bytes) -> bytes:
        raise UserError("tesseract failed")

    monkeypatch.setattr(ocr, "_run", fail)
    monkeypatch.setattr(ocr.shutil, "which", lambda _: "/usr/bin/tesseract")
    assert not ocr.is_korean(Pictures.new("L", (60, 60), 255))


def test_the_language_is_guessed_before_a_page_is_turned_and_not_after(monkeypatch: pytest.MonkeyPatch) -> None:
    guesses: list[Picture] = []
    monkeypatch.setattr(ocr, "is_korean", lambda picture: bool(guesses.append(picture)))
    unsure = [Read("x", 0.0, 0.0, 9.0, 9.0, 0.1)]
    monkeypatch.setattr(ocr.Reader, "__init__", lambda self, language: None)
    monkeypatch.setattr(ocr.Reader, "read", lambda self, picture: unsure)
    scanner = Scanner("zh")
    scanner._reader = ocr.Reader("zh")
    scanner._read(Pictures.new("L", (60, 60), 255))
    assert len(guesses) == 1


def fraction() -> tuple[np.ndarray, Bounds]:
    """A line of letters with a fraction behind them, and its box."""
    dark = np.zeros((60, 120), bool)
    dark[22:38, 10:24] = True
    dark[12:24, 42:50] = True
    dark[29:31, 39:54] = True
    dark[36:48, 42:50] = True
    return dark, (6.0, 8.0, 60.0, 52.0)


@pytest.mark.parametrize(
    ("answers", "said"),
    [(["whole", "x=", "3", "4"], ["x= $\\frac{3}{4}$"]), (["参考答案", "x=", "安", "米"], ["参考答案"])],
)
def test_what_reads_as_characters_above_and_below_a_bar_is_no_fraction(answers: list[str], said: list[str]) -> None:
    dark, box = fraction()
    _, read = engine(answers)
    found = formulas.read_lines(dark, [box, (70.0, 10.0, 90.0, 34.0), (70.0, 36.0, 90.0, 58.0)], lambda boxes: read([
        one for one in boxes if one[0] < 65
    ]))  # fmt: skip
    assert [one.text for one in found] == said
