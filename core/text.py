"""Texts: folding for comparison, single lines, lengths, and addresses without secrets."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit, urlunsplit

from livek12.core.patterns import late

CIRCLED: Final = "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳"
"""Numbers in circles, which label options and statements in Chinese and Korean."""
_NARROW: Final = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_USUAL: Final = [(sign, unicodedata.normalize("NFKC", sign)) for sign in "，（）：；？！．①②③④﹣～…\u3000"]
"""What of Chinese and Korean texts NFKC mostly changes."""


_R = TypeVar("_R")
_SHORT: Final = 400
_REMEMBERED: Final = 8192


def of_short(function: Callable[[str], _R]) -> Callable[[str], _R]:
    """Caches a pure function for recent short texts; its results must not be changed."""
    cached = lru_cache(maxsize=_REMEMBERED)(function)

    @wraps(function)
    def said(text: str) -> _R:
        return cached(text) if len(text) <= _SHORT else function(text)

    return said


def narrow(text: str) -> str:
    """Full-width ASCII (Ａ, （, ！) as plain ASCII."""
    return text.translate(_NARROW)


def compatible(text: str) -> str:
    """Normal form NFKC; four times as fast where only full-width signs change."""
    if text.isascii():
        return text
    for sign, plain in _USUAL:
        text = text.replace(sign, plain)
    return text if unicodedata.is_normalized("NFKC", text) else unicodedata.normalize("NFKC", text)


def folded(text: str) -> str:
    """Normal form NFKC (full width, ligatures, ①), case folded."""
    return compatible(text).casefold()


def squeezed(text: str) -> str:
    """Normal form NFKC without white space: equal for two printings of one text."""
    return "".join(compatible(text).split())


def one_line(error: object, limit: int = 300) -> str:
    """Reason on a single line of at most `limit` characters."""
    text = " ".join(clean(str(error)).split())
    if isinstance(error, BaseException) and not text:
        text = type(error).__name__
    return text if len(text) <= limit else text[: limit - 1] + "…"


def public(address: str) -> str:
    """Address without user, password, query and fragment; "…" for anything else."""
    try:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
            return "…"
    except ValueError:  # brackets or a port that are none: a password with a slash in it looks like that
        return "…"
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def clean(text: str) -> str:
    """Lone surrogates, which UTF-8 cannot encode, as question marks."""
    return text.encode("utf-8", "replace").decode()


def clean_json(value: Any) -> Any:
    """Value of JSON without lone surrogates."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [clean_json(item) for item in value]
    if isinstance(value, dict):
        return {clean(name): clean_json(item) for name, item in value.items()}
    return value


_WIDE: Final = late(r"[\u2e80-\U0010ffff]")
"""Characters that are about a token each (Han, Hangul, kana); of the others about four are."""


def tokens_in(text: str) -> float:
    """Estimated tokens: one a character in Chinese, Japanese and Korean, else one for four."""
    wide = wide_in(text)
    return wide + (len(text) - wide) / 4


def wide_in(text: str) -> int:
    """Number of characters that are about a token each."""
    return 0 if text.isascii() else len(_WIDE.findall(text))
