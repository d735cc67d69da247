r"""Names of variables in any notation: assigns answers to variables.

`sigma_11`, `\sigma_{11}`, `σ₁₁` and `\mathrm{sigma\_11}` are one name, and so are `w_tilde_star` and `\tilde{w}^{*}`,
`focal_length` and "The focal length". A name precedes "=", a colon, an inequality, 为 or 는; an ambiguous one fits
none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from livek12.core.patterns import late

MAX_CHARS = 120
"""A longer text before a sign is no name."""
MAX_SIGNS = 4
_GREEK = {
    char: f" {name.title() if char.isupper() else name.lower()} ".replace("amda", "ambda")
    for char in map(chr, range(0x391, 0x3CA))
    if (name := unicodedata.name(char, "").rpartition(" ")[2])
}
_SIGN = late(
    r"(?P<open>[({\[（])|(?P<close>[)}\]）])|\\(?:left|right)(?![a-zA-Z])"
    r"|(?P<equals>[=＝≈≃]|\\(?:approx|simeq|sim)(?![a-zA-Z]))"
    r"|(?P<label>[:：]|(?<=[\u4e00-\u9fff\uac00-\ud7a3])\s?(?:为|是|은|는)\s?)"
    r"|(?P<than>[<>≤≥≪≫]|\\(?:le|ge|leq|geq|leqslant|geqslant|lt|gt)(?![a-zA-Z]))|\\[a-zA-Z]+|\\."
)
_WRAPPER = late(
    r"\\(?:text|textbf|textit|mathrm|mathbf|mathit|mathsf|mathcal|boldsymbol|bm|operatorname|displaystyle|left|right|big"
    r"|Big|quad|qquad|[,;:!() ])\*?(?![a-zA-Z])|[$`]|\*\*"
)
_LABEL = late(r"^\s*\\text\{[^{}]*\}")
_MARKS = (
    (late(r"\\(?:var)?([a-zA-Z]+)"), r" \1 "),
    (late(r"\b(?:overline|widebar)\b"), "bar"),
    (late(r"\bwidetilde\b"), "tilde"),
    (late(r"\bwidehat\b"), "hat"),
    (late(r"\b(?:ast|star)\b|\*"), " star "),
    (late(r"['′]"), " prime "),
)
_TOKEN = late(r"[A-Za-z]+|\d+|[\u4e00-\u9fff\uac00-\ud7a3]+")
_ARGUMENT = late(r"\((?:[^()]|\([^()]*\))*\)\s*$")
_EMPTY_WORDS = frozenset({"the", "of", "is", "its"})


def placed(answers: Sequence[str | None], names: Sequence[str]) -> list[str | None] | None:
    """One answer a variable: by name, the others in order.

    Surplus answers are dropped only if each name occurs exactly once. None for duplicate names or unresolved counts.
    """
    places = [place_of(answer, names) for answer in answers]
    taken = [place for place in places if place is not None]
    if len(set(taken)) < len(taken):
        return None
    if len(answers) != len(names):
        by_place = {place: answer for place, answer in zip(places, answers, strict=True) if place is not None}
        return [by_place[place] for place in range(len(names))] if len(by_place) == len(names) else None
    free = iter(place for place in range(len(names)) if place not in taken)
    matches = {next(free) if place is None else place: answer for place, answer in zip(places, answers, strict=True)}
    return [matches[place] for place in range(len(names))]


def place_of(answer: str | None, names: Sequence[str]) -> int | None:
    """The index of the variable that an answer names."""
    matches = (_matching(head.name, tuple(names)) for head in _heads(answer or ""))
    return next((place for place in matches if place is not None), None)


def place_of_phrase(phrase: str, names: Sequence[str]) -> int | None:
    """The index of the name that a phrase means: in another notation, or by words that no other name has."""
    place = _matching(phrase, tuple(names))
    if place is not None:
        return place
    stems = [_stems(name) for name in names]
    own = [each.difference(*stems[:place], *stems[place + 1 :]) for place, each in enumerate(stems)]
    given = _stems(phrase)
    hits = [place for place, each in enumerate(own) if any(_is_stem(*pair) for pair in product(given, each))]
    return hits[0] if len(hits) == 1 else None


def _stems(name: str) -> set[str]:
    """The words of a name in lower case, and its Chinese characters."""
    words = [word.lower() for word in _words(name)]
    return {stem for word in words for stem in (word if "\u4e00" <= word[0] <= "\u9fff" else [word])}


def _is_stem(first: str, second: str) -> bool:
    short, long = sorted((first, second), key=len)
    return short == long or (long.startswith(short) and len(short) >= (_STEM if short.isascii() else 2))


_STEM = 3
"""Letters by which a word is another: max, maximum."""


def is_named(text: str) -> bool:
    """Checks for a possible name before a sign."""
    return next(_heads(text), None) is not None


def unnamed(answer: str, gold: str, name: str) -> tuple[str, str]:
    """Answer and key without the variable's name.

    An inequality or equation (x = y = 3) loses it only if the key has none there ("≥ 11"); labels (x: y = 3) always go.
    """
    bare = _value_of(gold, name)
    begins = _SIGN.match(bare.strip("$ "))
    return _value_of(answer, name, of_inequality=bool(begins and begins["than"])), bare


def _value_of(answer: str, name: str, of_inequality: bool = False) -> str:
    value, label = answer, False
    for _ in range(MAX_SIGNS):
        head = next((head for head in _heads(value) if _matching(head.name, (name,)) is not None), None)
        if head is None or (head.sign == "than" and not of_inequality):
            break
        value, label = head.value, label or head.sign == "label"
    return value if label or not _is_equation(value) else answer


def _is_equation(text: str) -> bool:
    return any(sign["equals"] and not depth for sign, depth in _signs(text, len(text)))


class _Head(NamedTuple):
    """A possible name, its value, and the kind of sign between (a group of `_SIGN`)."""

    name: str
    value: str
    sign: str


def _heads(answer: str) -> Iterator[_Head]:
    begin = count = 0
    for sign, depth in _signs(answer, MAX_CHARS):
        kind = next((kind for kind in ("equals", "label", "than") if sign[kind]), "")
        if depth or not kind:
            continue
        head, value = answer[: sign.start()], answer[sign.start() if kind == "than" else sign.end() :].strip()
        if head.count("$") % 2 and value.endswith("$") and value.count("$") == 1:
            value = value[:-1].strip()
        for name in (head, head.rpartition("$")[2], _LABEL.sub("", head), head[begin:]) if value else ():
            yield _Head(name, value, kind)
        begin, count = sign.end() if kind == "label" else 0, count + 1
        if count == MAX_SIGNS:
            return


def _signs(text: str, end: int) -> Iterator[tuple[re.Match[str], int]]:
    depth = 0
    for sign in _SIGN.finditer(text, 0, end):
        depth += (sign["open"] is not None) - (sign["close"] is not None and depth > 0)
        yield sign, depth


def _matching(name: str, names: tuple[str, ...]) -> int | None:
    for form in _FORMS:
        own = form(name)
        hits = [place for place, other in enumerate(names) if own and form(other) == own]
        if hits:
            return hits[0] if len(hits) == 1 else None
    return None


@lru_cache(maxsize=4096)
def _words(name: str) -> tuple[str, ...]:
    plain = unicodedata.normalize("NFKC", _WRAPPER.sub(" ", name))
    plain = "".join(_GREEK.get(char, char) for char in plain)
    for pattern, replacement in _MARKS:
        plain = pattern.sub(replacement, plain)
    return tuple(word for word in _TOKEN.findall(plain) if word.lower() not in _EMPTY_WORDS)


def _as_written(name: str) -> str:
    words = _words(name)
    return "".join(words) if any(not word.isdigit() for word in words) else ""


_FORMS: tuple[Callable[[str], str], ...] = (
    _as_written,
    lambda name: " ".join(sorted(_words(name))) if _as_written(name) else "",
    lambda name: _as_written(_ARGUMENT.sub("", name.strip().strip("$*` "))),
    lambda name: written.lower() if len(written := _as_written(name)) > 1 else "",
)
