"""Text for people's eyes: hidden or reordering characters appear as code points, as [U+202E].

Contract: for everything people see. Line breaks, tabs and shapeless signs of writing are kept (a joiner inside a word
or an emoji, a variation selector behind its letter). Data for machines is unchanged.
"""

from __future__ import annotations

import re
from typing import Final

_CONTROLS: Final = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029"
_DIRECTIONS: Final = r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_FORMATS: Final = (
    r"\u070f\u180e\u206a-\u206f\ufeff\ufff9-\ufffb\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
)
_TAGS: Final = r"\U000e0000-\U000e007f"
_NO_CHARACTERS: Final = r"\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"
_JOINERS: Final = r"[\u00ad\u200b-\u200d\u2060-\u2064]"
_SELECTORS: Final = r"[\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]"
_UNSEEN: Final = re.compile(
    f"[{_CONTROLS}{_DIRECTIONS}{_FORMATS}{_TAGS}{_NO_CHARACTERS}]"
    f"|(?<={_JOINERS}){_JOINERS}|{_JOINERS}(?={_JOINERS})|(?<={_SELECTORS}){_SELECTORS}|{_SELECTORS}(?={_SELECTORS})"
)
IN_JAVASCRIPT: Final = re.sub(r"\\U000(\w{5})", r"\\u{\1}", _UNSEEN.pattern)
"""What is shown, as a regular expression of JavaScript with the flags "gu", for pages that show what is typed."""


def visible(text: str) -> str:
    """Text with characters that could hide, reorder or break text as code points in brackets."""
    if text.isascii() and text.isprintable():
        return text
    return _UNSEEN.sub(lambda match: f"[U+{ord(match[0]):04X}]", text)
