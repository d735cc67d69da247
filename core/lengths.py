"""How long texts are, where nobody has their tokens."""

from __future__ import annotations

from typing import Final

from livek12.core.patterns import late

_WIDE: Final = late(r"[\u2e80-\U0010ffff]")
"""Characters that are about a token each (Han, Hangul, kana); of the others about four are."""


def tokens_in(text: str) -> float:
    """About how many tokens a text is: of one character each in Chinese, Japanese and Korean, else of four."""
    wide = wide_in(text)
    return wide + (len(text) - wide) / 4


def wide_in(text: str) -> int:
    """How many characters of a text are about a token each."""
    return 0 if text.isascii() else len(_WIDE.findall(text))
