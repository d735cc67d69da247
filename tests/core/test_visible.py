"""What people see hides nothing: the same characters on the terminal, in reports, in cards, on pages."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from livek12.core.visible import visible
from tests.scripts.command import livek12

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("safe\u202egpj.exe", "safe[U+202E]gpj.exe"),
        ("\u2067\u2069", "[U+2067][U+2069]"),
        ("\u061c\u200f", "[U+061C][U+200F]"),
        ("B" + "".join(chr(0xE0000 + ord(letter)) for letter in "A!"), "B[U+E0041][U+E0021]"),
        ("\x1b[2J\x9b\x07", "[U+001B][2J[U+009B][U+0007]"),
        ("a\ufe00\ufe01\U000e0100", "a[U+FE00][U+FE01][U+E0100]"),
        ("1\u200b\u200c2", "1[U+200B][U+200C]2"),
        ("\ud83d", "[U+D83D]"),
        ("a\u2028b\ufeff", "a[U+2028]b[U+FEFF]"),
    ],
)
def test_what_hides_or_reorders_is_shown(text: str, seen: str) -> None:
    assert visible(text) == seen


@pytest.mark.parametrize(
    "text", ["第1题\n\tx² ≥ 0", "가나다", FAMILY, "❤\ufe0f\u200d\U0001f525", "می\u200cخواهم", "葛\U000e0100"]
)
def test_writing_stays_as_it_is(text: str) -> None:
    assert visible(text) == text


def test_no_character_without_a_shape_hides_in_a_row() -> None:
    """Whatever Unicode calls a control, a format or a surrogate is shown, alone or in a row."""
    signs = [chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) in ("Cc", "Cf", "Cs")]
    # Signs of Arabic and Kaithi that have a shape, for all that they are called.
    drawn = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u0890\u0891\u08e2\U000110bd\U000110cd"
    hidden = {sign for sign in signs if f"a{sign}{sign}" == visible(f"a{sign}{sign}")} - set("\n\t" + drawn)
    assert {hex(ord(sign)) for sign in hidden} == set()


def test_an_error_on_the_terminal_shows_it() -> None:
    ended = livek12("score", "no\u202esuch\U000e0041\x1b[2J")
    assert ended.code == 2
    assert "no[U+202E]such[U+E0041][U+001B][2J" in ended.err
    assert not set("\u202e\U000e0041\x1b") & set(ended.err)
