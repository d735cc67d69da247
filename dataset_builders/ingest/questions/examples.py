"""Heads by example: a person names the first lines of a few questions, and lines of their form and look are heads too.

Contract: the form is the label that the examples share (words, and the places of their numbers), the look what they
share of letters and place. A head has both; nothing else is one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import replace
from difflib import get_close_matches
from itertools import accumulate, combinations, pairwise
from statistics import mean
from typing import Final

from livek12.core.errors import UserError
from livek12.core.scripts import chinese_number
from livek12.core.text import squeezed
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.ingest.pages.blocks import PICTURE, UNREAD
from livek12.dataset_builders.ingest.questions.numbering import Anchor
from livek12.dataset_builders.ingest.questions.stream import Item, Stream

MOST_EXAMPLES: Final = 20
LONGEST_EXAMPLE: Final = 200
"""Characters of a line that are compared."""
_TYPESET: Final = re.compile(rf"\\[a-zA-Z]+|[${{}}^_{PICTURE}{UNREAD}]")
"""Commands and signs of formulas and places of pictures, which a person does not type."""
_ALIKE: Final = 0.6
"""Least likeness of a line to an example that none begins with: a sign may have been read otherwise."""
_NEAR: Final = 0.4
"""Least likeness of a line that a person may have meant."""
_NARROW: Final = {wide: wide - 0xFEE0 for wide in range(0xFF01, 0xFF5F)}
"""Letters and signs of full width, to those of ASCII."""
_ROMAN: Final = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII")
_DIGITS: Final = r"\d{1,3}"
_COUNTS: Final[Mapping[str, Callable[[str], int]]] = {
    _DIGITS: int,
    "[一二三四五六七八九十]{1,3}": chinese_number,
    "[①-⑳]": lambda sign: ord(sign) - ord("①") + 1,
    "[IVX]{1,4}": lambda sign: _ROMAN.index(sign) + 1 if sign in _ROMAN else 0,
    "[A-Z]": lambda sign: ord(sign) - ord("A") + 1,
    "[a-z]": lambda sign: ord(sign) - ord("a") + 1,
}
"""Forms of numbers, with their values."""
_TOKEN: Final = re.compile(rf"(?:{'|'.join(_COUNTS)})(?![A-Za-z])|[A-Za-z]+|\s+|\S")
_TOLERANCES: Final = {"look": 0.0, "bold": 0.0, "size": 0.06, "left": 0.012, "middle": 0.012}
"""Within which two lines are alike: of the size of letters its share, of edges shares of the page's width."""
_SUBSETS: Final = [names for many in range(len(_TOLERANCES) + 1) for names in combinations(_TOLERANCES, many)]
_SAME: Final = 0.002
"""Half a distance that is no chance."""
_LEVELS: Final = tuple("-–.．")
_CLOSES: Final = tuple(".:,、)】]}>|/–—-．：，）")
_OPENS: Final = tuple("([【{（〔")
_MOST_WORDS: Final = 4
"""Words, or signs of Chinese and Korean, before the number of a label that has one example."""
_ENDS: Final = r"(?!\s?[~～∼]|[-–]\d|[.．]\d{1,2}(?:[.．\s]|$))"
"""Behind the last number of a label: no range (Q1~Q4), and no further level (X-2-1)."""
_BEHIND: Final = rf"[\s{re.escape(''.join(_CLOSES))}]*"
"""What closes a label."""
_MOST_ALIKE: Final = 0.6
"""Share of a paper's lines above which a look without a label tells no heads."""


def examples_of(texts: Sequence[str]) -> tuple[str, ...]:
    """Examples as they are compared and kept.

    Raises:
        UserError: one is empty, or there are too many.
    """
    examples = tuple(text.strip()[:LONGEST_EXAMPLE].strip() for text in texts)
    if len(examples) > MOST_EXAMPLES or not all(examples):
        raise UserError(f"--head: give at most {MOST_EXAMPLES} first lines of questions, none of them empty")
    return examples


def heads_like(stream: Stream, items: Sequence[Item], rules: Collection[int]) -> list[Anchor]:
    """The heads among these items of a stream that its examples have shown; none without examples.

    Args:
        rules: places of rules for candidates, whose numbers are no questions'.

    Raises:
        UserError: no line begins so, or lines that do have neither a label nor a look of their own.
    """
    heads = [head for some in _groups(stream.examples) for head in _heads(some, stream, items, rules)]
    heads = sorted({head.place: head for head in heads}.values(), key=lambda head: head.place)
    runs = [0, *accumulate(int(b.number <= a.number) for a, b in pairwise(heads))]
    return [replace(head, run=run) for head, run in zip(heads, runs, strict=False)]


def _groups(examples: Sequence[str]) -> list[list[str]]:
    """The examples by the form of their labels: 1. and 2., (1) and (2), or none."""
    groups: list[list[str]] = []
    for text in examples:
        has_label = bool(_label([text])[1])
        own = next((some for some in groups if _are_alike([*some, text], has_label)), [])
        if not own:
            groups.append(own)
        own.append(text)
    return groups


def _are_alike(examples: Sequence[str], have_label: bool) -> bool:
    label, forms = _label(examples)
    same = not label or all(label.match(text.translate(_NARROW)) for text in examples)
    return bool(forms) == have_label and same


def _heads(examples: Sequence[str], stream: Stream, items: Sequence[Item], rules: Collection[int]) -> list[Anchor]:
    lines = [place for place, item in enumerate(items) if item.text and place not in rules]
    label, forms = _label(examples)
    plain = {place: _plain(items[place].text) for place in lines}
    labels = {place for place in lines if label and label.match(items[place].text.translate(_NARROW))}
    named = {place: text for text in examples if (place := _line_of(_plain(text), plain, labels)) is not None}
    if named and all(items[place].text.startswith((PICTURE, UNREAD)) for place in named):
        label = None  # it was not read
    shown = [items[place] for place in named]
    if label is None:
        heads = _alike(shown, stream, items, lines)
    else:
        texts = {place: line.text for place in lines if (line := items[place].line)}
        read = [(place, _labelled(label, forms, place, text)) for place, text in texts.items()]
        given = {
            place: _labelled(label, forms, place, text, in_line=False)
            for place, text in named.items()
            if plain[place].startswith(_plain(text))
        }
        labelled = [head for place, own in read if (head := own or given.get(place))]
        looks = [_look(shown, stream, names) for names in _SUBSETS if forms or names == tuple(_TOLERANCES)]
        runs = [[head for head in labelled if look(items[head.place])] for look in looks]
        heads = _counted(max(runs, key=_goes_on), {*named}) if forms else _numbered(runs[0])
    if heads:
        return heads
    near = get_close_matches(examples[0], [items[place].text[: len(examples[0]) + 20] for place in lines], 1, _NEAR)
    closest = f"; the closest is {one_line(near[0], 60)!r}" if near else ""
    raise UserError(f"--head {one_line(examples[0], 60)!r}: no line of the paper begins so{closest}")


def _alike(shown: Sequence[Item], stream: Stream, items: Sequence[Item], lines: Sequence[int]) -> list[Anchor]:
    """Heads without a label: lines with the look of those shown, and their sign, if they begin with one."""
    look, signs = _look(shown, stream), {item.text[0] for item in shown}
    sign = "".join(signs) if len(signs) == 1 and not any(map(str.isalnum, signs)) else ""
    alike = [place for place in lines if shown and look(items[place]) and items[place].text.startswith(sign)]
    if len(alike) > _MOST_ALIKE * len(lines):
        too_many = f"{len(alike)} of {len(lines)} lines look like these heads"
        raise UserError(f"--head: {too_many}: name some that begin with a number")
    begins = [b for a, b in pairwise([-2, *alike]) if sign or b != a + 1]  # a head may have several lines
    return _numbered([Anchor(place, 0, 0) for place in begins])


def _numbered(heads: Sequence[Anchor]) -> list[Anchor]:
    return [replace(head, number=number) for number, head in enumerate(heads, 1)]


def _counted(heads: Sequence[Anchor], named: Set[int]) -> list[Anchor]:
    """Heads without numbers before the first named one that it does not go on from, and without those in between.

    Of 1, 35, 2 the one between counts something else.
    """
    first = next((head for head in heads if head.place in named), None)
    heads = [head for head in heads if not (first and head.place < first.place and head.number >= first.number)]
    around = zip(heads, heads[1:], heads[2:], strict=False)
    others = {b.place for a, b, c in around if c.number == a.number + 1 and b.number not in (1, c.number)} - named
    return [head for head in heads if head.place not in others]


def _labelled(
    label: re.Pattern[str], forms: Sequence[str], place: int, text: str, in_line: bool = True
) -> Anchor | None:
    """The head with its number, which ends in the line's text if it is `in_line`: a label may be glued to a number."""
    if not (match := label.match(text.translate(_NARROW))):
        return None
    counts = [_COUNTS[form](sign) for form, sign in zip(forms, match.groups(), strict=True)]
    printed = squeezed(match.string[match.start(1) : match.end(len(forms))]) if forms else ""
    is_name = len(forms) > 1 or (printed.isascii() and printed.isalpha())
    return Anchor(place, counts[-1] if counts else 0, match.end() * in_line, label=printed if is_name else "")


def _goes_on(heads: Sequence[Anchor]) -> int:
    """The worth of their steps: one more is good, a new count is bad, others are worse."""
    steps = ((b.number - a.number == 1, b.number == 1) for a, b in pairwise(heads))
    return sum(1 if good else -1 if again else -2 for good, again in steps)


def _line_of(wanted: str, texts: Mapping[int, str], labels: Set[int]) -> int | None:
    """The first line that begins so, if one can with the label, or has the text in it, or begins most like it."""
    if not wanted:
        return None
    begun = [place for place, own in texts.items() if own.startswith(wanted)]
    begins = next((place for place in begun if place in labels), begun[0] if begun else None)
    within = next((place for place, own in texts.items() if wanted in own), None)
    if begins is not None or within is not None:
        return within if begins is None else begins
    near = get_close_matches(wanted, [own[: len(wanted)] for own in texts.values()], 1, _ALIKE)
    return next((place for place, own in texts.items() if near and own.startswith(near[0])), None)


def _plain(text: str) -> str:
    return squeezed(_TYPESET.sub("", unicodedata.normalize("NFKC", text[:LONGEST_EXAMPLE]))).casefold()


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text.translate(_NARROW))


def _label(examples: Sequence[str]) -> tuple[re.Pattern[str] | None, list[str]]:
    """The words and numbers that all begin with, numbers of any value, and their forms; None if there are none."""
    pieces: list[str] = []
    counted: list[str] = []
    rows = [_tokens(text) for text in examples]
    last = sign = ""
    end = 0
    for place, tokens in enumerate(zip(*rows, strict=False)):
        forms = [form for form in _COUNTS if all(re.fullmatch(form, token) for token in tokens)]
        alike = len({token.casefold() for token in tokens}) == 1
        behind = "".join(rows[0][place + 1 : place + 2]).strip()
        signed = not tokens[0].isascii() or behind in _CLOSES or not (behind or tokens[0].islower())
        goes_on = alike and (tokens[0] in _CLOSES or not (tokens[0].isascii() or last in _CLOSES))
        if len(examples) == 1 and not counted and sum(map(bool, pieces)) > _MOST_WORDS:
            break  # a number of the question
        if counted and not (goes_on or (forms[:1] == [_DIGITS] and last in _LEVELS)):
            break
        worth = sign in _OPENS and behind not in _CLOSES  # (10 points), no number
        if forms and not worth and (forms[0] == _DIGITS or not alike or (len(examples) == 1 and signed)):
            pieces.append(rf"({forms[0]})(?![A-Za-z\d])")
            counted.append(forms[0])
            end = len(pieces)
        elif alike:
            pieces.append(rf"(?i:{re.escape(tokens[0])})" if tokens[0].strip() else "")
        else:
            break
        last, sign = tokens[0], tokens[0].strip() or sign
    pieces[end - 1 : end] = [piece + _ENDS for piece in pieces[end - 1 : end] if counted]
    is_label = counted or ("".join(pieces) and len(examples) > 1)
    return (re.compile(r"\s*" + r"\s*".join(filter(None, pieces)) + _BEHIND) if is_label else None), counted


def _look(
    examples: Sequence[Item], stream: Stream, names: Sequence[str] = tuple(_TOLERANCES)
) -> Callable[[Item], bool]:
    """A test of a line for what the examples share of these features of their look."""
    looks = [_features(item, stream) for item in examples]
    usual, spread = {}, {}
    for name in names if looks else ():
        values = [look[name] for look in looks]
        middle, spread[name] = mean(values), max(values) - min(values)
        if all(_near(name, value, middle) for value in values) and not (len(looks) == 1 and name == "middle"):
            usual[name] = middle
    if "left" in usual and "middle" in usual:  # one by chance: lines of one length, or centred ones of nearly one
        del usual["left" if spread["middle"] < spread["left"] / 2 > _SAME else "middle"]

    def fits(item: Item) -> bool:
        own = _features(item, stream)
        return all(_near(name, own[name], value) for name, value in usual.items())

    return fits


def _near(name: str, value: float, other: float) -> bool:
    scale = other if name == "size" else 1.0
    return abs(value - other) <= _TOLERANCES[name] * scale


def _features(item: Item, stream: Stream) -> dict[str, float]:
    box, line = item.box, item.line
    left, right = stream.columns.get((box.page, item.column), (0.0, 1.0))
    return {
        "bold": float(line.bold if line else False),
        "look": float(hash(line.look if line else "")),
        "size": line.size if line else 0.0,
        "left": box.left - left,
        "middle": box.left + box.right - left - right,
    }
