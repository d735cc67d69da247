"""Reads the keys of choice questions: the options that a key names.

Contract: `chosen` returns labels only if the key can mean nothing else; otherwise None, and the key is kept as its
source spells it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from livek12.core.records import Option
from livek12.core.text import squeezed

_CIRCLED = {**{chr(0x2460 + n): str(n + 1) for n in range(20)}, **{chr(0x2474 + n): str(n + 1) for n in range(20)}}
_ONE = r"[(（\[]?\s*(?:(\d{1,2})|([A-Ja-j])|([ㄱ-ㅎ])|([가나다라마바사아자차]))\s*[)）\].．]?\s*(?:번|항)?"
_LABELS = re.compile(rf"\s*{_ONE}(?:\s*(?:[,，、/;；&·]|및|와|과|\s)\s*{_ONE})*\s*")
_EACH = re.compile(_ONE)
_LONGEST = 100
"""Characters of a key that consists of labels only."""
_WITH_TEXT = re.compile(rf"\s*{_ONE}\s*[:：.．)\s]\s*(\S.*)", re.DOTALL)


def plain_label(label: str) -> str:
    """A label as keys and answers name it: ① and ⑴ are 1."""
    return _CIRCLED.get(label, label.upper())


def chosen(key: str, options: Sequence[Option], *, unlabelled: bool = False) -> list[str] | None:
    """The labels that a key names, in the order of the options; None if uncertain.

    `unlabelled`: the source has no labels, so a key is an option's text, or a number counted from 0 or 1.
    """
    by_text = [option.label for option in options if _bare(option.text) == _bare(key)]
    named = _labels_of(key)
    if len(by_text) == 1 and (unlabelled or not _in_order(named, options)):
        return by_text
    if unlabelled and key.strip().isdecimal():
        return None
    if named:
        return _in_order(named, options)
    if (match := _WITH_TEXT.fullmatch(_spelled(key))) and (selected := _in_order([_label(match)], options)):
        text = next(option.text for option in options if option.label == selected[0])
        return selected if _bare(text) == _bare(match[match.re.groups]) else None
    return None


def label_only(key: str) -> set[str]:
    """The labels that a key consists of, before the options are known; empty if it has other text."""
    return set(_labels_of(key))


def _labels_of(key: str) -> list[str]:
    spelled = _spelled(key)
    if len(spelled) > _LONGEST or not _LABELS.fullmatch(spelled):
        return []
    return [_label(match) for match in _EACH.finditer(spelled)]


def _spelled(key: str) -> str:
    spaced = "".join(f" {_CIRCLED[character]} " if character in _CIRCLED else character for character in key)
    plain = " ".join(spaced.split())
    return " ".join(plain) if re.fullmatch(r"[A-J]+|[a-j]+|[ㄱ-ㅎ]+", plain) else plain


def _label(match: re.Match[str]) -> str:
    return next(group for group in match.groups()[:4] if group).upper()


def _in_order(labels: Sequence[str], options: Sequence[Option]) -> list[str] | None:
    names = [option.label for option in options]
    if not labels or len(set(labels)) < len(labels) or not set(labels) <= set(names):
        return None
    return sorted(labels, key=names.index)


def _bare(text: str) -> str:
    """A text in the form that two spellings of one option share."""
    return squeezed(text).strip(".。")
