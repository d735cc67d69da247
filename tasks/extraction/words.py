"""Words of a response as tokens with classes, from one lexicon (`lexicon.txt`) in all languages."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files

Token = tuple[int, int, frozenset[str]]
"""Start and end of a word, and its classes."""
_NONE: frozenset[str] = frozenset()


@cache
def _lexicon() -> Mapping[str, tuple[str, ...]]:
    """The words of each class, in the order of the file."""
    classes: dict[str, list[str]] = defaultdict(list)
    for line in files(__package__).joinpath("lexicon.txt").read_text("utf-8").splitlines():
        name, _, words = line.partition(": ")
        classes[name] += [] if name.startswith("#") else words.split()
    return {name: tuple(words) for name, words in classes.items()}


@cache
def any_of(*classes: str) -> str:
    """Regular expression of the words of classes, in small letters."""
    words = sorted({word for name in classes for word in _lexicon()[name]}, key=lambda word: (-len(word), word))
    by_first: dict[str, list[str]] = defaultdict(list)
    for word in words:
        rest = re.escape(word[1:].removesuffix("*")).replace("_", r"\s" if word.isascii() else r"\s?")
        by_first[word[0]].append(rest + ("[a-z]*" if word.endswith("*") else ""))
    latin = "".join(filter(lambda first: "a" <= first <= "z", by_first))
    ways = [
        f"{first}(?<![a-z_].)(?:{'|'.join(rests)})(?![a-z_])" if first in latin else f"{first}(?:{'|'.join(rests)})"
        for first, rests in by_first.items()
    ]
    return f"(?:{'|'.join(ways)})"


@cache
def _scan() -> re.Pattern[str]:
    return re.compile(rf"n['’]t(?![a-z])|{any_of(*_lexicon())}")


@cache
def _classes() -> Mapping[str, frozenset[str]]:
    classes: dict[str, set[str]] = defaultdict(set)
    for name, words in _lexicon().items():
        for word in words:
            classes[word.replace("_", "")].add(name)
    return {word: frozenset(names) for word, names in classes.items()}


@lru_cache(maxsize=4096)
def _classes_of(word: str) -> frozenset[str]:
    plain = "".join(word.split()).replace("’", "'")
    if plain == "n't":
        return frozenset({"deny"})
    stems = (plain[:end] + "*" for end in range(1, len(plain) + 1))
    return _NONE.union(*(_classes().get(form, ()) for form in (plain, *stems)))


@lru_cache(maxsize=4096)
def tokens(text: str) -> tuple[Token, ...]:
    """The known words of a text; longer ones win."""
    small = text.lower()
    small = small if len(small) == len(text) else text
    return tuple((word.start(), word.end(), _classes_of(word[0])) for word in _scan().finditer(small))


@lru_cache(maxsize=4096)
def classes(text: str) -> frozenset[str]:
    """The classes of all words of a text."""
    return _NONE.union(*(kinds for *_, kinds in tokens(text)))
