"""Fonts with a code of their own: private-use characters of known equation fonts, as Unicode.

Contract: `character` gives what a code prints, or None where it is not known; nothing is guessed. HyhwpEQ is the font
of the equation editor of Hangul, the word processor Korean papers are set with; its code is the same in every file.
"""

from __future__ import annotations

from typing import Final

BAR: Final = "BAR"
"""A horizontal line: of a fraction, a root or over letters."""


def _italic(first: int, count: int) -> list[str]:
    """Mathematical italic letters; the italic h has a place of its own."""
    return ["\u210e" if code == 0x1D455 else chr(code) for code in range(first, first + count)]


def _table() -> dict[int, str]:
    table = {0xE05B: "∫", 0xE05C: "√", 0xE067: "∑", 0xE06D: BAR, 0xE06E: "\u20d7", 0xE101: "|"}
    runs: tuple[tuple[int, str | list[str]], ...] = (
        (0xE000, _italic(0x1D434, 26)),
        (0xE034, "1234567890"),
        (0xE044, "()−=+[]{}"),
        (0xE04F, ":"),
        (0xE052, ",./<>"),
        (0xE078, "⎧⎨⎩⎪"),
        (0xE09D, "αβγδεζηθικλμνξοπ"),
        (0xE0E5, _italic(0x1D44E, 26)),
    )
    for first, characters in runs:
        table.update(zip(range(first, first + len(characters)), characters, strict=True))
    return table


_HYHWPEQ: Final = _table()


def character(font: str, code: int) -> str | None:
    """What the code prints in the font; None where it stands for itself or is not known."""
    if not 0xE000 <= code < 0xF900:
        return None
    return _HYHWPEQ.get(code) if font.lower() == "hyhwpeq" else None
