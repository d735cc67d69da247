"""Formulas are explained by their ink: signs, levels and labels; fonts whose letters have other shapes."""

from __future__ import annotations

from dataclasses import replace

import pypdfium2
import pytest

from livek12.dataset_builders.ingest.pages.atoms import atom_of, explains
from livek12.dataset_builders.ingest.pages.formulas import lines_of
from livek12.dataset_builders.ingest.pages.geometry import Rule, Shape
from livek12.dataset_builders.ingest.pages.glyphs import (
    Glyph,
    RawPage,
    _brackets,
    _composed,
    _distrust,
    _measured,
    _name_code,
    _once,
    _part_ligatures,
    _ringed,
    _stacked,
    _trust_nameless,
    known_sign,
    read,
)
from livek12.dataset_builders.ingest.pages.layout import find, whole
from livek12.dataset_builders.ingest.pages.sight import Sight
from livek12.dataset_builders.ingest.pages.text_layer import _labels, draw_points, read_dots
from tests.dataset_builders.ingest.pdf_making import raw_pdf, stream

BASE = 100.0


def glyph(text: str, left: float, right: float, size: float = 10.0, base: float = BASE, tall: float = 0.7) -> Glyph:
    return Glyph(text, left, base - tall * size, right, base, base, size, right, "CMMI10", math=True)


def row(*glyphs: Glyph, rules: tuple[Rule, ...] = ()) -> tuple[str, bool]:
    (line,) = lines_of(glyphs, list(rules))
    return line.text, line.sound


def root(left: float) -> tuple[Glyph, Rule]:
    """A root over two letter sizes."""
    return Glyph("√", left, 90, left + 8, 102, 102, 10, left + 8, "CMEX10", math=True), Rule(
        left + 8, 90, left + 20, 90.4
    )


def test_an_arrow_over_letters_is_their_accent_and_a_label_is_its_own() -> None:
    arrow = Glyph("⟶", 0, 88, 14, 91, 94, 10, 14, "CMSY10", math=True)
    assert row(arrow, glyph("A", 0, 7), glyph("B", 7, 14)) == (r"$\overrightarrow{AB}$", True)
    long = Glyph("⟶", 10, 94, 30, 98, 100, 10, 30, "CMSY10", math=True)
    label = glyph("R", 18, 22, 7, 92)
    assert row(glyph("s", 0, 5), long, label, glyph("t", 34, 38)) == (r"$s\xrightarrow{R}t$", True)


@pytest.mark.parametrize(
    ("small", "text"),
    [(glyph("2", 7.2, 10.5, 6, 96), r"$a^2\sqrt{bc}$"), (glyph("3", 11.5, 14.5, 6, 96), r"$a\sqrt[3]{bc}$")],
)
def test_a_small_number_before_a_root_belongs_to_what_it_touches(small: Glyph, text: str) -> None:
    sign, roof = root(11)
    inner = (glyph("b", 19.5, 24), glyph("c", 25, 30))
    assert row(glyph("a", 1, 7), small, sign, *inner, rules=(roof,)) == (text, True)


@pytest.mark.parametrize(
    ("before", "size", "text"), [("A", 5.5, r"$\mathrm{A}_i$B"), ("A", 7, "AiB"), ("가", 5.5, "가iB")]
)
def test_a_letter_of_half_the_size_on_the_line_is_an_index(before: str, size: float, text: str) -> None:
    letters = (glyph(before, 0, 6), glyph("i", 6.5, 8, size), glyph("B", 8.5, 14))
    assert row(*(replace(letter, math=False) for letter in letters))[0] == text


def test_scripts_of_a_norm_are_set_behind_it() -> None:
    scripts = glyph("2", 17, 20, 7, 95), glyph("2", 17, 20, 7, 103)
    norm = glyph("‖", 0, 3, tall=1), glyph("y", 4, 10), glyph("‖", 12, 15, tall=1)
    assert row(*norm, *scripts) == (r"$\|y\|_2^2$", True)


def test_a_prime_of_an_index_stays_with_it_and_left_scripts_have_their_letter() -> None:
    index, prime = glyph("a", 6, 10, 7, 103, 0.45), glyph("′", 10.2, 12, 5, 101, 0.6)
    assert row(glyph("Q", 0, 6), index, prime, glyph("x", 14, 19)) == ("$Q_{a'}x$", True)
    mass, charge = glyph("2", 12, 15, 7, 96), glyph("1", 12, 15, 7, 103)
    plus = glyph("+", 0, 7, tall=0.5)
    assert row(plus, mass, charge, glyph("H", 15.5, 22)) == (r"$+{}_1^2H$", True)


def test_signs_over_each_other_and_scripts_of_nothing_are_doubts() -> None:
    above = Glyph("∼", 10, 93, 17, 95, 100, 10, 17, "CMSY10", math=True)
    below = Glyph("=", 10, 96, 17, 98.5, 100, 10, 17, "CMR10", math=True)
    assert not row(glyph("a", 0, 6), above, below, glyph("b", 20, 25))[1]
    assert not row(glyph("=", 0, 7), glyph("2", 9, 12, 6, 95), glyph("=", 20, 27))[1]


def test_each_sign_stands_in_the_text_once() -> None:
    atoms = [atom_of(glyph(text, 0, 5)) for text in "x2≤y"]
    assert explains(r"$x^2\le y$", atoms)
    assert not explains(r"$x\le y$", atoms) and not explains(r"$x^2\le yy$", atoms)


def test_a_font_whose_letters_have_other_shapes_is_not_trusted() -> None:
    plain = [Glyph(t, 0, 93, 5, 100, 100, 10, 5, "CMR10") for t in "ABCDEFGHIKLMN0123456789"]
    lying = [
        Glyph(":", 0, 92, 7, 101, 100, 10, 7, "MSAM10", math=True),
        Glyph("≥", 0, 92, 2, 103, 100, 10, 2, "MSAM10", math=True),
        Glyph("n", 0, 93, 6, 100, 100, 10, 6, "MSAM10", math=True),
    ]
    _distrust([*plain, *lying])
    assert all(g.sound for g in plain) and not any(g.sound for g in lying)


def test_letters_of_a_nameless_font_are_believed_if_they_have_the_shapes_of_their_codes() -> None:
    tall = dict.fromkeys("bdhkl", (0.0, 0.7)) | dict.fromkeys("acemnorsuvwxz", (0.0, 0.45))

    def typed(shift: int) -> list[Glyph]:
        codes = [*tall][shift:] + [*tall][:shift]
        boxes = [(100 - 10 * high, 100 - 10 * low) for low, high in tall.values()]
        return [
            Glyph(sign, 5.0 * at, top, 5.0 * at + 4, foot, 100, 10, 5.0 * at + 4, "#1", sound=False)
            for at, (sign, (top, foot)) in enumerate(zip(codes, boxes, strict=True))
        ]

    pages = typed(0), typed(9)
    for page in pages:
        _trust_nameless(page)
    assert [all(letter.sound for letter in page) for page in pages] == [True, False]
    assert [known_sign("", code) for code in (0x0C, 0x1E, 0x41)] == ["fi", "ffi", None]


@pytest.mark.parametrize(
    ("font", "right", "sign"), [("CambriaMath", 584, "𝐴"), ("Cambria Math", 590, None), ("Cambria", 584, None)]
)
def test_a_letter_without_a_name_is_told_by_its_measures(font: str, right: float, sign: str | None) -> None:
    ink = (20.0, 93.16, 20 + right / 100, 100.0)
    assert _measured(font, ((20.0, 90, 26.38, 102), ink), (26.38, 100.0), 10.0) == sign


def test_a_tall_bracket_takes_the_stroke_between_its_pieces() -> None:
    pieces = [Glyph(sign, 0, top, 3, top + 10, 50, 10, 3, "EQ", math=True) for sign, top in (("⎡", 30), ("⎣", 44))]
    stroke, bar = (Glyph("|", x, 32, x + 0.7, 46, 50, 10, 3, "EQ", math=True) for x in (0, 20))
    assert [(g.text, round(g.height)) for g in _brackets([*pieces, stroke, bar])] == [("[", 24), ("|", 14)]


def test_a_sign_of_another_shape_has_its_font_s_meaning_or_none() -> None:
    letters = [Glyph(t, 0, 93, 5, 100, 100, 10, 5, "CMR10") for t in "ABCDEFGHIKLMN0123456789"]
    arrow = Glyph("!", 0, 95, 9, 100, 100, 10, 9, "CMSY10", math=True)
    index = Glyph("(", 0, 93, 6, 100, 100, 10, 6, "CambriaMath", math=True)
    bracket = Glyph("(", 0, 92, 3, 102, 100, 10, 3, "CambriaMath", math=True)
    small = Glyph("g", 0, 95, 5, 100, 100, 10, 5, "CMCSC10")
    tall = Glyph(".", 0, 90, 3, 106, 100, 10, 3, "Euclid", math=True)  # a bracket, whatever its name
    turned = replace(tall, font="CMR10", slanted=True)
    _distrust([*letters, arrow, index, bracket, small, tall, turned])
    assert (arrow.text, arrow.sound, index.sound, bracket.sound, small.sound) == ("→", True, False, True, True)
    assert not tall.sound and turned.sound and all(letter.sound for letter in letters)


def test_two_signs_that_mean_one_are_one() -> None:
    subset, unequal = (
        Glyph("⊂", 10, 90, 16, 94, 94, 8, 16, "Symbol"),
        Glyph("≠", 10.5, 95, 15.5, 100, 100, 8, 16, "Symbol"),
    )
    (sign,) = _stacked([subset, replace(unequal)])
    assert (sign.text, sign.box) == ("⊊", (10, 90, 16, 100))
    assert len(_stacked([subset, replace(unequal, left=20, right=25)])) == 2


def test_code_in_a_font_for_text_keeps_the_columns_that_its_words_are_spread_over() -> None:
    wide, pitch = {"i": 2.8, "t": 3.3, "m": 7.7, "r": 3.9}, 6.0
    letters: list[Glyph] = []
    for base, line in ((100, "int main = unit ; return minus"), (112, "}"), (140, "it remains")):
        for place, word in ((line.index(f" {word}") + 1 if word in line[1:] else 0, word) for word in line.split()):
            natural = sum(wide.get(sign, 5.0) for sign in word)
            spread = base < 140
            gap = (len(word) * pitch - natural) / (len(word) + 1) if spread else 0.1
            x = place * pitch + gap
            for sign in word:
                letters.append(
                    Glyph(sign, x, base - 7, x + wide.get(sign, 5.0), base, base, 10, x + wide.get(sign, 5.0))
                )
                x += wide.get(sign, 5.0) + gap
    _name_code(letters)
    code, brace, text = lines_of(letters, [])
    assert (code.text, round(code.pitch)) == ("int main = unit ; return minus", 6)
    assert brace.pitch and not text.pitch


def test_the_ink_of_a_chinese_letter_begins_in_its_square() -> None:
    """A font whose outlines reach far to the left would put the letter before the digit that it follows."""
    cmap = b"1 begincodespacerange<00><ff>endcodespacerange 1 beginbfchar<41><7684>endbfchar"
    drawn = stream(b"1000 0 -800 0 1000 800 d1 -800 0 1800 800 re f")
    font = (
        b"<</Type/Font/Subtype/Type3/FontBBox[-800 0 1000 800]/FontMatrix[.001 0 0 .001 0 0]/FirstChar 65/LastChar 65"
        b"/Widths[1000]/Encoding<</Differences[65/a]>>/CharProcs<</a 6 0 R>>/Resources<<>>/ToUnicode 5 0 R>>"
    )
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R/Resources<</Font<<"
    page += b"/F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>/F2 7 0 R>>>>>>"
    text = stream(b"BT /F1 12 Tf 50 100 Td (20) Tj /F2 12 Tf (A) Tj ET")
    tree = b"<</Type/Pages/Count 1/Kids[3 0 R]>>"
    document = raw_pdf([b"<</Type/Catalog/Pages 2 0 R>>", tree, page, text, stream(cmap), drawn, font])
    glyphs = read(pypdfium2.PdfDocument(document)[0]).glyphs
    assert "".join(g.text for g in sorted(glyphs, key=lambda g: g.left)) == "20的"


def test_a_wide_accent_has_the_scripts_under_it_and_bars_that_meet_are_one_a_letter() -> None:
    arrow = Glyph("⟶", 0, 88, 17, 91, 94, 10, 17, "CMSY10", math=True)
    index = glyph("1", 7.2, 9.5, 6, 102)
    assert row(arrow, glyph("A", 0, 7), index, glyph("B", 10, 17)) == (r"$\overrightarrow{A_1B}$", True)
    bar = Rule(0, 90, 14, 90.5, joints=(7,))
    assert row(glyph("A", 0, 7), glyph("B", 7, 14), rules=(bar,)) == (r"$\bar{A}\bar{B}$", True)
    assert row(glyph("A", 0, 7), glyph("B", 7, 14), rules=(Rule(0, 90, 14, 90.5),)) == (r"$\overline{AB}$", True)


def test_small_letters_over_a_relation_are_its_label_and_pieces_of_an_arrow_are_one_accent() -> None:
    over = [glyph(text, left, left + 2, 7, 94) for text, left in (("i", 14), (".", 17), ("i", 20), ("d", 23))]
    relation = Glyph("∼", 16, 96, 23, 98, 100, 10, 23, "CMSY10", math=True)
    assert row(glyph("X", 3, 10), *over, relation, glyph("N", 29, 36)) == (r"$X\overset{i.id}{\sim}N$", True)
    pieces = [Glyph("\u20d7", left, 89, left + 4, 90, 99, 10, left + 4, "CambriaMath") for left in (0, 2, 4, 6, 8, 10)]
    assert row(*pieces, glyph("B", 0, 7), glyph("M", 7, 14)) == (r"$\overrightarrow{BM}$", True)
    arrows = [Glyph("\u20d7", left, 88, left + 9, 91, 91, 10, left + 9, "CMMI10", math=True) for left in (0, 8)]
    assert row(*arrows, glyph("a", 1, 7), glyph("b", 9, 15)) == (r"$\vec{a}\vec{b}$", True)


def test_a_script_of_a_script_stays_in_it() -> None:
    index = glyph("L", 8, 12, 7, 102), glyph("∞", 13, 17, 5, 99), glyph("Ω", 17.5, 22, 7, 102)
    assert row(glyph("u", 0, 7), *index) == (r"$u_{L^{\infty}\Omega}$", True)


def test_a_part_of_a_fraction_that_is_not_in_its_middle_is_a_doubt() -> None:
    below = [replace(glyph(text, left, left + 5, base=108), font="CMR10") for text, left in (("l", 10), ("n", 16))]
    below.append(glyph("x", 22, 27, base=108))
    assert row(glyph("1", 15, 20, base=96), *below, rules=(Rule(9, 98, 28, 98.5),)) == (r"$\frac{1}{\ln x}$", True)
    assert not row(glyph("0", 9, 12, base=96), *below, rules=(Rule(9, 98, 28, 98.5),))[1]


def test_columns_of_a_matrix_are_parted_by_white_space_in_all_rows() -> None:
    tall = {"base": 104.0, "tall": 3.2}
    brackets = glyph("(", 0, 4, **tall), glyph(")", 50, 54, **tall)
    first = [glyph(text, left, left + 5, base=85) for text, left in (("1", 6), ("0", 30))]
    second = [glyph(text, left, left + 5, base=98) for text, left in (("0", 6), ("x", 20), ("−", 27), ("y", 34))]
    text, sound = row(*brackets, *first, *second)
    assert (text, sound) == (r"$\begin{pmatrix}1 & 0 \\ 0 & x-y\end{pmatrix}$", True)


def plain(text: str, left: float, size: float = 10.0, base: float = BASE) -> Glyph:
    """A letter of text, half as wide as it is high."""
    return Glyph(text, left, base - 0.7 * size, left + size / 2, base, base, size, left + size / 2, "Times")


def test_what_is_off_the_line_is_a_script_however_little_or_large() -> None:
    index = [plain(sign, 5 + 3.2 * at, 6.4, BASE + 0.5) for at, sign in enumerate("n+1")]
    assert row(plain("X", 0), *index, plain("=", 15)) == (r"$\mathrm{X}_{n+1}=$", True)
    digits = [plain(sign, 5.0 * at - 40) for at, sign in enumerate("charge: 10")]
    power = [plain(sign, 10 + 5.0 * at, base=BASE - 2) for at, sign in enumerate("-19")]
    assert row(*digits, *power) == ("charge: $10^{-19}$", True)
    beside = [plain(sign, 60 + 5.0 * at, base=BASE - 2) for at, sign in enumerate("61")]
    assert row(*(plain("a", 5.0 * at) for at in range(9)), *beside)[0].endswith("61")


def test_words_behind_a_brace_are_none_of_its_cases() -> None:
    brace = Glyph("{", 0, 70, 5, 120, 120, 10, 5, "CMEX10", math=True)
    cases = [glyph(sign, 6, 11, base=base) for sign, base in (("a", 80), ("b", 98), ("c", 116))]
    after = [plain("i", 30, base=98), plain("f", 34, base=98)]
    assert row(brace, *cases, *after)[0].startswith(r"$\begin{cases}a \\ b \\ c\end{cases}$")


def test_conditions_far_behind_the_rows_of_a_brace_are_theirs() -> None:
    brace = Glyph("{", 0, 70, 5, 120, 120, 10, 5, "CMEX10", math=True)
    cases = [
        glyph(sign, at, at + 5, base=base)
        for signs, base in (("ax", 84), ("by", 110))
        for sign, at in zip(signs, (6, 60), strict=True)
    ]
    assert row(brace, *cases)[0] == r"$\begin{cases}a & x \\ b & y\end{cases}$"


def test_a_formula_on_a_base_line_of_its_own_is_of_its_line() -> None:
    words = [replace(plain("設", 0), right=10.0, advance=10.0), plain("。", 28)]
    small = [glyph(sign, 24, 26, 5.0, base) for sign, base in (("1", 96.5), ("2", 103.0))]
    formula = [glyph(sign, 11 + 6 * at, 15 + 6 * at, base=BASE + 3.6) for at, sign in enumerate("a3")]
    wide = [glyph(sign, 90 + 6 * at, 95 + 6 * at, base=BASE + 5.2) for at, sign in enumerate("x=3")]
    bar = Rule(23.5, 97.5, 26.5, 97.9)
    text = r"設$a3^{\frac{1}{2}}$。"
    assert row(*words, *formula, *small, rules=(bar,)) == (text, True)
    assert len(lines_of([words[0], *wide], [])) == 2
    near = [replace(sign, left=sign.left - 65, right=sign.right - 65, advance=0.0) for sign in wide]
    assert row(words[0], *near) == (r"設    $x=3$", True)


def test_brackets_within_rows_do_not_tell_how_big_the_rows_are() -> None:
    brace = Glyph("{", 0, 70, 5, 120, 120, 10, 5, "CMEX10", math=True)
    cases = [glyph(sign, 6, 11, base=base) for sign, base in (("a", 80), ("b", 98), ("c", 116))]
    words = [
        replace(plain(sign, left, base=98), right=left + 9, advance=left + 10)
        for sign, left in (("當", 12), ("時", 22))
    ]
    after = [glyph("(", 40, 44, 16, 98), glyph(")", 50, 54, 16, 98)]
    assert row(brace, *cases, *words, *after)[0].startswith(r"$\begin{cases}a \\ b \\ c\end{cases}$當時")
    fences = [glyph(sign, left, left + 3, 16, 81) for sign, left in (("(", 6), (")", 20))]
    tall = {"base": 104.0, "tall": 3.2}
    inner = [glyph("x", 11, 16, base=80), glyph("y", 11, 16, base=98)]
    matrix = glyph("(", 0, 4, **tall), *fences, *inner, glyph(")", 30, 34, **tall)
    assert row(*matrix)[0] == r"$\begin{pmatrix}(x) \\ y\end{pmatrix}$"


def test_dots_of_a_drawn_sign_are_read_and_a_row_of_more_is_none() -> None:
    def dotted(many: int) -> RawPage:
        dots = [Shape("image", 20 + 3.5 * at, 96, 21.5 + 3.5 * at, 97.5) for at in range(many)]
        return RawPage(200, 200, [plain("6", 10)], shapes=dots)

    pages = {many: dotted(many) for many in (2, 3, 6, 9)}
    assert [len(read_dots(page, 10)) for page in pages.values()] == [0, 1, 2, 0]
    assert row(*pages[6].glyphs) == (r"6 $\cdots\cdots$", True) and not pages[6].shapes and len(pages[9].shapes) == 9


def test_points_of_a_plot_that_are_set_as_signs_are_a_drawing() -> None:
    text = [glyph(letter, at, at + 5, base=20) for at, letter in enumerate("MPG", 100)]
    bullets = [glyph("●", 90, 94, base=20 + 0.3 * at) for at in range(3)]
    points = [glyph("●", 50 + 37 * at % 90, 53 + 37 * at % 90, 5, 100 + 53.7 * at % 80) for at in range(40)]
    for level, count in ((False, 40), (True, 0)):  # signs in the cells of a table are level
        for sign in points if level else ():
            sign.base = 20 * round(sign.base / 20)
        page = RawPage(600, 800, [*text, *bullets, *points], [], [])
        draw_points(page)
        assert (len(page.glyphs), len(page.shapes)) == (46 - count, count)


def test_letters_of_other_alphabets_and_accents_set_apart_are_named() -> None:
    assert [known_sign(font, ord("A"), False) for font in ("EUFM10", "CMSY10", "MSBM7", "CMR10")] == [
        "𝔄",
        "𝒜",
        "𝔸",
        None,
    ]
    assert [known_sign("SymbolMT", ord(sign), False) for sign in "£å·"] == ["≤", "∑", None]
    assert [known_sign("Wingdings-Regular", ord(sign), False) for sign in "¨lJ•"] == ["○", "●", "□", None]
    assert [known_sign("MSAM10", ord(sign)) for sign in "\\]^"] == ["∠", "∡", "∢"]
    codes = {"Wingdings": 0xF0E8, "Wingdings2": 0xF052, "Wingdings3": 0xF06C}
    assert [known_sign(font, code) for font, code in codes.items()] == ["➔", "ticked", None]
    assert row(glyph("𝔭", 0, 5), glyph("ℬ", 5, 10)) == (r"$\mathfrak{p}\mathcal{B}$", True)
    assert [g.text for g in _composed([plain("´", 1), plain("e", 0), plain("¨", 9), plain("ı", 8)])] == ["é", "ï"]
    small = Glyph("\u0301", 0, 88, 4, 91, 96, 7, 4, "Marks")
    [letter] = _composed([plain("e", 0), small])
    assert (letter.text, letter.base, letter.size) == ("é", plain("e", 0).base, plain("e", 0).size)
    assert [g.text for g in _composed([plain("⺠", 0), plain("民", 0)])] == ["民"]


def test_a_picture_under_letters_is_its_dark_pieces() -> None:
    numpy = pytest.importorskip("numpy")
    ink = numpy.full((400, 400), 255, dtype=numpy.uint8)
    ink[40:60, 40:60], ink[300:304, 100:200], ink[100:250, 100:250] = 0, 0, 200
    raw = RawPage(200, 200, [plain("a", 90)], shapes=[Shape("image", 10, 10, 190, 190)])
    Sight(2.0, ink, ink).part_pictures(raw)
    assert [shape.box for shape in raw.shapes] == [(20, 20, 30, 30)] and raw.rules[0].box == (50, 150, 100, 152)
    bare = RawPage(200, 200, shapes=[Shape("image", 10, 10, 190, 190)])
    Sight(2.0, ink, ink).part_pictures(bare)
    assert len(bare.shapes) == 1 and not bare.rules


def test_a_picture_of_more_pieces_than_are_looked_at_stays_whole_and_unexplained_ink_is_all_said() -> None:
    numpy = pytest.importorskip("numpy")
    halftone = numpy.full((400, 400), 255, dtype=numpy.uint8)
    for dot in range(9):
        halftone[20 + dot // 3 : 380 : 8, 20 + dot % 3 : 380 : 8] = 0
    raw = RawPage(200, 200, [plain("a", 90)], shapes=[Shape("image", 10, 10, 190, 190)])
    sight = Sight(2.0, halftone, halftone)
    sight.part_pictures(raw)
    assert [shape.box for shape in raw.shapes] == [(10, 10, 190, 190)]
    assert (0, 0, 200, 200) in sight.unexplained([], [])


@pytest.mark.parametrize(("inner", "sign"), [("5", "⑤"), ("*", "○"), ("", "○")])
def test_rings_around_one_place_are_one_sign(inner: str, sign: str) -> None:
    rings = [Glyph("○", 10 - off, 10 - off, 20 + off, 20 + off, 20, 10, 20 + off, "") for off in (0, 1)]
    letters = [Glyph(text, 13, 12, 17, 18, 18, 6, 17, "") for text in inner]
    assert [glyph.text for glyph in _ringed([*rings, *letters])] == [sign]


def test_functions_are_named_where_mathematics_is_at_them() -> None:
    def word(text: str, left: float, pitch: float = 0.0) -> list[Glyph]:
        letters = [plain(sign, left + 5.0 * at) for at, sign in enumerate(text)]
        return [replace(letter, pitch=pitch) for letter in letters]

    assert row(*word("det", 0), *word("kan", 18))[0] == "det kan"
    assert row(*word("det", 0), glyph("A", 18, 24))[0] == "det $A$"
    assert row(*word("det", 0), glyph("A", 16, 22))[0] == r"$\det A$"
    assert row(*word("ln(", 0), glyph("x", 15, 20), *word(")", 20))[0] == r"$\ln(x)$"
    limit = [plain("a", 5, 6, BASE + 8)]
    assert row(*word("max", 0), *limit, glyph("x", 18, 23))[0] == r"$\max_{a}x$"
    code = [*word("f(int", 0, 5.0), *word("max)", 30, 5.0)]
    assert row(*code)[0] == "f(int max)"
    assert row(*word("max", 0, 5.0), glyph("x", 15, 20))[0] == "max$x$"
    over, under = word("sin", 0), glyph("x", 4, 9, base=BASE + 10)
    assert row(*over, under, rules=(Rule(0, BASE + 1.5, 15, BASE + 2),))[0] == r"$\frac{\sin}{x}$"


@pytest.mark.parametrize(("width", "text"), [(6.6, "tt"), (3.3, "t")])
def test_a_letter_named_twice_is_a_ligature_if_it_is_wider_than_one(width: float, text: str) -> None:
    letters = [replace(plain("t", 0), right=width, advance=width, item=7, place=at) for at in (3, 4)]
    assert len(_once([letters[0], replace(letters[1], item=8)])) == 1
    read = _once(letters)
    _part_ligatures(read)
    assert "".join(letter.text for letter in read) == text and read[-1].right == width


def test_one_sign_that_means_a_letter_twice_is_a_ligature() -> None:
    letters = [replace(plain("f", 0), place=3, item=7), replace(plain("f", 0), place=3, item=7), plain("f", 50)]
    assert len(_once(letters)) == 3


def test_a_word_beside_a_picture_is_of_its_line_and_labels_are_of_the_picture() -> None:
    def word(text: str, left: float, base: float = BASE) -> list[Glyph]:
        return [plain(sign, left + 5.0 * at, base=base) for at, sign in enumerate(text)]

    box = (0.0, 60.0, 50.0, 140.0)
    line = [*word("primera", 55), *word("persona,", 108)]
    (figure,), text = _labels([box], [*line, *word("9", 10, 90)])
    assert [label.text for label in figure.lines] == ["9"] and text == line
    axis = [*word("1", 5, 148), *word("2", 25, 148), *word("3", 45, 148)]
    (figure,), text = _labels([box], axis)
    assert len(figure.lines) == 1 and not text


def test_pictures_with_text_between_them_stay_apart() -> None:
    boxes = [(0.0, 0.0, 60.0, 20.0), (50.0, 15.0, 100.0, 100.0)]
    text = (0.0, 50.0, 40.0, 60.0)
    assert whole(boxes, [text]) == boxes and whole(boxes, [(60.0, 50.0, 90.0, 60.0)]) == [(0, 0, 100, 100)]
    pictures = [Shape("image", *box) for box in boxes]
    words = [plain(sign, 2.5 * at, base=60) for at, sign in enumerate("several words")]
    raw = RawPage(600, 800, words, shapes=pictures)
    assert sorted(find(raw).figures) == boxes


def test_names_of_columns_over_their_lines_are_no_numerators() -> None:
    letters = [plain(sign, left, base=base) for sign, left in (("가", 0), ("나", 60)) for base in (BASE, BASE + 12)]
    rules = [Rule(-1, BASE + 2, 6, BASE + 2.5), Rule(59, BASE + 2, 66, BASE + 2.5)]
    assert [line.text for line in lines_of(letters, rules)] == ["가    나", "가    나"]
    equal = [*letters, plain("=", 30, base=BASE + 5)]
    assert r"$\frac{가}{가}$" in row(*equal, rules=(rules[0], rules[1]))[0]
    wide = [
        plain(sign, left, base=base) for sign, left in (("a", 0), ("b", 20), ("c", 40)) for base in (BASE, BASE + 12)
    ]
    assert len(lines_of(wide, [Rule(-1, BASE + 2, 46, BASE + 2.5)])) == 2


def test_brackets_behind_a_function_are_looked_through_once() -> None:
    brackets = [plain("(", 15 + 0.33 * at, 10.0) for at in range(40)]
    letters = [plain(text, 5.0 * at) for at, text in enumerate("max")]
    assert row(*letters, *brackets, *(plain(text, 35 + 5.0 * at) for at, text in enumerate("wide")))[0].startswith(
        "max"
    )
    small = [plain(text, 1.75 * at, 3.5) for at, text in enumerate("max(w)")]
    assert "max" in row(*small)[0]
