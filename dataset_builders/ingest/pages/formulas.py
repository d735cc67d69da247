"""Formulas set in two dimensions: brackets, accents, fractions, roots, limits, matrices; and the lines they stand in.

Contract: everything follows from geometry: a rule with something just above and just below is a fraction, one at a root
sign is a root. Anything else is left as it is.
"""

from __future__ import annotations

import bisect
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, combinations, pairwise
from statistics import mode
from typing import Final, TypeVar

from livek12.dataset_builders.ingest.pages.atoms import (
    BIG,
    FENCES,
    FUNCTIONS,
    STRETCHED,
    Atom,
    Finder,
    atom_of,
    explains,
    ideographic,
    joined,
    look_of,
    printed_box,
    symbol,
    tex,
    with_pictures,
    woven,
    written,
)
from livek12.dataset_builders.ingest.pages.blocks import PICTURE, TICKED
from livek12.dataset_builders.ingest.pages.geometry import Bounds, Placed, Rule, chains, hull
from livek12.dataset_builders.ingest.pages.glyphs import AXIS, Glyph

_Sign = TypeVar("_Sign", bound=Glyph)
BLANK: Final = "____"
_LIMITS: Final = frozenset("\\lim \\max \\min \\sup \\inf \\sum \\prod \\bigcup \\bigcap \\int \\iint \\oint".split())
"""Operators with limits below and above."""
_ACCENTS: Final = {
    "\u20d7": "vec", "\u0305": "bar", "\u0304": "bar", "\u0302": "hat", "\u0303": "tilde", "\u0307": "dot",
    "\u0308": "ddot", "\u20d6": "overleftarrow", "\u030c": "check", "\u0306": "breve", "\u203e": "bar", "\u00af": "bar",
    "⏜": "overparen", "⏞": "overbrace", "⏝": "underparen",
    "⏟": "underbrace", "\u0311": "overparen", "\u02c6": "hat", "\u02dc": "tilde", "\u0332": "underline",
    "\u02d9": "dot", "\u00a8": "ddot", "\u02da": "mathring",
}  # fmt: skip
_WIDE: Final = {"vec": "overrightarrow", "bar": "overline", "hat": "widehat", "tilde": "widetilde"}
_OVER: Final = {"⟶": "\u20d7", "→": "\u20d7", "⟵": "\u20d6", "←": "\u20d6"}
"""Arrows that may stand over letters."""
_ARROWS: Final = {"⟶": "\\xrightarrow", "→": "\\xrightarrow", "⟵": "\\xleftarrow", "⟹": "\\xRightarrow"}
_LABELLED: Final = frozenset("=∼≈≡≅≤≥≠∝") | {*_ARROWS}
"""Signs with a label over or under them."""
_BRACES: Final = frozenset("⏞⏟")
_BELOW: Final = frozenset("⏝⏟\u0332")
"""Accents that stand under their letters."""
_UNDERSCORE, _HANGS = 0.7, 0.15
"""Letter sizes of a rule that stands for one sign, and of white space between what stands over or under one rule, at
most: beyond is another line."""
_TALLEST_FENCE, _MOST_FENCES = 9, 400
"""Letter sizes of an upright rule at most; a page with so many of them is none of formulas."""


def drawn_fences(atoms: list[Atom], upright: list[Rule], flat: Sequence[Rule]) -> list[Atom]:
    """Adds signs for pairs of upright rules of one height around letters; the others stay in `upright`."""
    size = max((atom.size for atom in atoms), default=0.0)
    centres = [atom.centre for atom in atoms if atom.text.strip()]
    for pair in [*pair_fences([*upright], flat, centres, size)]:
        for rule in pair:
            upright.remove(rule)
            base = (rule.top + rule.bottom) / 2 + AXIS * size
            atoms = [*atoms, Atom("|", *rule.box, base, size, rule.right, math=True)]
    return atoms


def pair_fences(
    upright: Sequence[Rule], flat: Sequence[Rule], centres: Sequence[tuple[float, float]], size: float
) -> Iterator[tuple[Rule, Rule]]:
    """Pairs of upright rules of one height around letters, without boxes; `size` is that of letters in points."""
    unpaired = sorted((r for r in upright if 0.7 * size < r.length < _TALLEST_FENCE * size), key=lambda rule: rule.left)
    unpaired = unpaired if len(unpaired) < _MOST_FENCES else []
    while unpaired:
        first = unpaired.pop(0)
        last = next((r for r in unpaired if abs(r.top - first.top) + abs(r.bottom - first.bottom) < 2), None)
        ends = [r for r in flat if min(abs(r.top - first.top), abs(r.top - first.bottom)) < 1.5]
        boxed = any(rule.left < first.right + 1.5 and first.left - 1.5 < rule.right for rule in ends)
        if last and not boxed and any(first.left < x < last.right and first.top < y < first.bottom for x, y in centres):
            unpaired.remove(last)
            yield first, last


def accents(atoms: list[Atom], rules: list[Rule]) -> list[Atom]:
    """Attaches accents; a rule that runs into an accent is its shaft."""
    arrows = [atom for atom in atoms if atom.text in _OVER and _spans(atom, atoms)]
    for arrow in arrows:
        arrow.text = _OVER[arrow.text]
    finder = Finder([atom for atom in atoms if atom.text not in _ACCENTS])

    def goes_on(accent: list[Atom], sign: Atom) -> bool:
        first, before, over = accent[0], _letters_at(accent[-1], finder), _letters_at(sign, finder)
        joins = first.left < sign.left < max(first.right, accent[-1].right) and first.top == sign.top
        apart = bool(before and over) and not any(atom in before for atom in over)  # two accents with a letter each
        return first.text == sign.text and joins and not apart

    signs = sorted((a for a in atoms if a.text in _ACCENTS), key=lambda atom: (round(atom.top), atom.left))
    rest: list[Atom] = []
    for accent, *pieces in chains(signs, goes_on):
        accent.right = max(accent.right, *(piece.right for piece in pieces), -math.inf)  # a long arrow of many pieces
        shaft: Placed = accent
        if rule := next((rule for rule in rules if _shaft(rule, accent)), None):
            accent.left, accent.right = min(accent.left, rule.left), max(accent.right, rule.right)
            rules.remove(rule)
            shaft = rule
        tip = finder.between(shaft.right - 2, shaft.right + 0.5 * accent.size)
        finder.replace([atom for atom in tip if accent.text in _OVER.values() and _head(atom, shaft)], [])
        if below := _letters_of(accent, finder, pointed=accent in arrows):
            made = _accented(_ACCENTS[accent.text], below, accent)
            made.sound = made.sound and accent.text not in _BRACES  # what is written at them is not read
            finder.replace(below, [made])
        else:
            accent.sound = not unicodedata.combining(accent.text)
            rest.append(accent)
    return [*finder.atoms, *finder.spaces, *rest]


def _letters_of(accent: Atom, finder: Finder, *, pointed: bool) -> list[Atom]:
    long = accent.width > 1.5 * accent.size
    return [
        atom
        for atom in finder.between(accent.left - accent.size, accent.right + accent.size)
        if -0.3 * atom.size
        < (accent.top - atom.bottom if accent.text in _BELOW else atom.top - accent.bottom)
        < (1.3 if long and atom.size < _SCRIPT * accent.size else 0.6) * atom.size
        and atom.size < 1.6 * accent.size
        and (atom.text.isalnum() | atom.built or (long and atom.text in "+-−='"))
        and (not pointed or accent.left < atom.middle < accent.right)
        and min(atom.right, accent.right) - max(atom.left, accent.left) > 0.4 * min(atom.width, accent.width)
    ]


def _letters_at(sign: Atom, finder: Finder) -> list[Atom]:
    near = (atom for atom in finder.between(sign.left, sign.right) if sign.left < atom.middle < sign.right)
    return [atom for atom in near if max(atom.top - sign.bottom, sign.top - atom.bottom) < sign.size]


def _spans(arrow: Atom, atoms: Sequence[Atom]) -> bool:
    """An arrow right over letters, from first to last, with nothing beside it."""
    size = arrow.size
    below = [a for a in atoms if arrow.left - 0.1 * size < a.middle < arrow.right + 0.1 * size and a.text.strip()]
    below = [a for a in below if -0.1 * size < a.top - arrow.bottom < (0.4 if a.size > 0.8 * size else 0.9) * size]
    core = [a for a in below if a.size > 0.8 * size] or below
    if not core or not all(a.text.isalnum() for a in core):
        return False
    left, _, right, _ = hull(below)
    middle = (arrow.top + arrow.bottom) / 2
    level = (a for a in atoms if a.text.strip() and a.text not in FENCES | {*_OVER} and a.top < middle < a.bottom)
    beside = any(max(a.left - arrow.right, arrow.left - a.right) < 0.8 * size for a in level)
    return max(abs(left - arrow.left), abs(right - arrow.right)) < 0.45 * size and not beside


def _shaft(rule: Rule, accent: Atom) -> bool:
    beside = rule.left - 1.5 < accent.right and accent.left < rule.right + 1.5
    tail = accent.height < 0.12 * accent.size  # a long arrow's shaft goes on behind its first piece
    return beside and (tail or rule.left < accent.left) and accent.top - 1 < rule.centre[1] < accent.bottom + 1


def _head(atom: Atom, shaft: Placed) -> bool:
    level = abs((atom.top + atom.bottom) - (shaft.top + shaft.bottom)) < 0.2 * atom.size
    return not atom.sound and level and atom.height < 0.4 * atom.size


def _accented(name: str, below: list[Atom], accent: Atom) -> Atom:
    inner = tex(below)
    wide = len(below) > 1 and not (len(below) == 2 and any(atom.text == "'" for atom in below))
    text = f"\\{_WIDE.get(name, name) if wide else name}{{{inner}}}"
    text = re.sub(r"^\\dot\{\\dot\{(.*)\}\}$", r"\\ddot{\1}", text)
    head = max(below, key=lambda atom: atom.size)
    return joined(text, below, head.base, head.size, extra=accent.box)


_SCRIPT, _OVERHANG = 0.85, 0.3
"""Share of a line's size that its scripts have at most; letter sizes by which a gap's line goes beyond its number."""


def bars(atoms: list[Atom], rules: list[Rule]) -> list[Atom]:
    """Fractions, roots, lines over letters and blanks; the shortest rules first, as they are the innermost.

    The other rules stay in `rules`.
    """
    finder = Finder(atoms)
    rules[:] = [rule for rule in rules if not _read(finder, rule, rules)]
    return [*finder.atoms, *finder.spaces]


def _read(finder: Finder, rule: Rule, rules: Sequence[Rule]) -> bool:
    """Replaces the letters around a rule by their formula; false if there is none."""
    y = (rule.top + rule.bottom) / 2
    near = finder.between(rule.left - 0.4, rule.right + 0.4)
    near = [a for a in near if max(rule.left - a.left, a.right - rule.right) < 1.5 * a.size]
    above = _adjacent([atom for atom in near if atom.bottom < y + 0.12 * atom.size and atom.axis < y], y, down=False)
    below = _adjacent([atom for atom in near if atom.top > y - 0.12 * atom.size and atom.axis > y], y, down=True)
    if _root(finder, rule, near, y):
        return True
    if above and below and _is_fraction(finder, rule, rules, above, below):
        size = max(atom.size for atom in (*above, *below))
        fraction = f"\\frac{{{tex(above)}}}{{{tex(below)}}}"
        made = joined(fraction, [*above, *below], y + AXIS * size, size, extra=(rule.left, y, rule.right, y))
        made.sound = made.sound and _is_centred(rule, above, size) and _is_centred(rule, below, size)
        finder.replace([*above, *below], [made])
    elif not above and (blank := _blank(finder, rule, y)):
        finder.replace([], [blank])
    elif below and _covers(rule, above, below):
        finder.replace(below, _barred(rule, below))
    else:
        return False
    return True


def _is_fraction(finder: Finder, rule: Rule, rules: Sequence[Rule], above: list[Atom], below: list[Atom]) -> bool:
    words = any("\u2e80" <= letter <= "\ud7ff" for atom in (*above, *below) if not atom.built for letter in atom.text)
    signs = any(atom.text in "+−-=·×" for atom in (*above, *below))
    columns = min(len(parted(part, _PARTED)) for part in (above, below))
    if (columns > 2 and not signs) or (words and _is_head(finder, rule, rules)):
        return False
    left, _, right, _ = hull([*above, *below])
    size = max(atom.size for atom in (*above, *below))
    overhangs = max(left - rule.left, rule.right - right) > _OVERHANG * size  # a gap's line is longer at one end
    reach = 2.5 if words else 1.3 if overhangs else 0.45
    if not _snug(rule, above, below) or any(_runs_on(finder, rule, rules, part, reach) for part in (above, below)):
        return False
    return not words or all(_is_centred(rule, part, size) for part in (above, below))


def _is_head(finder: Finder, rule: Rule, rules: Sequence[Rule]) -> bool:
    """Checks for a line under a column's name: another is next to it, with nothing between them."""
    y = rule.centre[1]
    level = ((min(rule.right, r.right), max(rule.left, r.left)) for r in rules if abs(r.centre[1] - y) < 1)
    gaps = (finder.between(left, right) for left, right in level if left < right)
    return any(not any(atom.top < y < atom.bottom for atom in gap) for gap in gaps)


def _is_centred(rule: Rule, part: list[Atom], size: float) -> bool:
    left, _, right, _ = hull(part)
    return abs(left + right - rule.left - rule.right) < 0.8 * size


def _snug(rule: Rule, above: list[Atom], below: list[Atom]) -> bool:
    size = max(atom.size for atom in (*above, *below))
    length = rule.right - rule.left
    widest = max(box[2] - box[0] for box in (hull(above), hull(below)))
    gaps = (rule.top - hull(above)[3], hull(below)[1] - rule.bottom)
    return length < widest + 2.5 * size and (length < 12 * size or max(gaps) < 0.35 * size) and length < 30 * size


def _adjacent(atoms: list[Atom], y: float, *, down: bool) -> list[Atom]:
    """The row next to a rule, with all that hangs together with it."""

    def gap(atom: Atom) -> float:
        return (atom.top - y) if down else (y - atom.bottom)

    if not atoms:
        return []
    nearest = min(atoms, key=gap)
    if gap(nearest) > 0.75 * nearest.size:
        return []
    size = max(a.size for a in atoms if gap(a) < 0.75 * (a if _touches(a, nearest) else nearest).size)
    reach = gap(nearest) + max(nearest.height, 0.7 * size) + 0.35 * size
    row: list[Atom] = []
    for atom in sorted(atoms, key=gap):
        hangs = not row or gap(atom) < max(gap(other) + other.height for other in row) + _HANGS * size
        row += [atom] if hangs and gap(atom) < reach else []
    far = max(abs((atom.bottom if down else atom.top) - y) for atom in row)
    return row if far < 6 * size else []


def _runs_on(finder: Finder, rule: Rule, rules: Sequence[Rule], part: list[Atom], reach: float) -> bool:
    """Text at a rule, within a longer line without rules of its own: the rule underlines."""
    level = [other for other in rules if other is not rule and abs(other.top - rule.top) < 1.0]
    size = max(atom.size for atom in part)
    base = max(part, key=lambda atom: atom.size).base
    left, _, right, _ = hull(part)
    beside = finder.between(left - (reach + 0.5) * size, right + (reach + 0.5) * size)
    return any(
        atom not in part
        and atom.text not in STRETCHED
        and abs(atom.base - base) < 0.1 * size
        and (0 <= atom.left - right < reach * size or 0 <= left - atom.right < reach * size)
        and (atom.middle > rule.right + 1 or atom.middle < rule.left - 1)
        and not any(other.left - 1 < atom.middle < other.right + 1 for other in level)
        for atom in beside
    )


def _root(finder: Finder, rule: Rule, near: list[Atom], y: float) -> bool:
    roots = (atom for atom in finder.between(rule.left - 24, rule.left + 6) if atom.text == "√")
    signs = [a for a in roots if max(abs(a.right - rule.left), abs(a.top - y)) < 0.35 * a.size]
    sign = min(signs, key=lambda atom: abs(atom.right - rule.left), default=None)
    under = [a for a in near if sign and a.top > y - 0.15 * sign.size and a.axis < sign.bottom + 0.1 * sign.size]
    inner = [atom for atom in under if atom is not sign]
    if not sign or not inner:
        return False
    index = _index(finder, sign)
    order = f"[{tex(index)}]" if index else ""
    parts = [sign, *inner, *(index if order else [])]
    head = max(inner, key=lambda atom: atom.size)
    base = head.base if not head.built else head.axis + AXIS * head.size
    made = joined(f"\\sqrt{order}{{{tex(inner)}}}", parts, base, head.size, extra=(rule.left, y, rule.right, y))
    finder.replace(parts, [made])
    return True


def _index(finder: Finder, sign: Atom) -> list[Atom]:
    """The small letters of a line over the hook of a root, or before it behind no letter."""
    index: list[Atom] = []
    before = finder.between(sign.left - 3 * sign.size, sign.middle)
    for atom in reversed(before):
        level = sign.top - 0.3 * sign.size < atom.bottom < sign.bottom - 0.3 * sign.height
        small = atom is not sign and atom.size < 0.8 * sign.size and atom.right < sign.middle + 0.2 * sign.size
        reach = -0.3 * atom.size if index or not any(_touches(other, atom) for other in before) else 0.05 * sign.size
        edge = index[-1].left if index else sign.left
        if level and small and atom.right > edge + reach and (not index or abs(atom.base - index[0].base) < 1):
            index.append(atom)
    return index


def _touches(base: Atom, script: Atom) -> bool:
    beside = base.left <= script.left < base.right + 0.15 * base.size
    return (base.math or base.text.isascii()) and base.size > 1.15 * script.size and beside


def _covers(rule: Rule, above: list[Atom], below: list[Atom]) -> bool:
    """A bar over letters: far from what is above it, or at least twice as near to what is below."""
    left, top, right, bottom = hull(below)
    free = all(rule.top - atom.bottom > min(0.45 * atom.size, 2 * (top - rule.bottom)) for atom in above)
    size = max(atom.size for atom in below)
    gap = 0.35 if bottom - top > 0.55 * size else 0.6  # the bar over an x may be as high as that over a capital
    snug = rule.right - rule.left < right - left + 0.9 * size and top - rule.bottom < gap * size
    few = len(below) < 6
    lettered = all(a.math or (few and (a.roman or a.text in "'′″" or a.text.isdecimal())) for a in below)
    return free and snug and lettered


def _barred(rule: Rule, below: list[Atom]) -> list[Atom]:
    """Letters under their bars: two that meet between letters are one a letter."""
    joints = [x for x in rule.joints if not any(atom.left + 1 < x < atom.right - 1 for atom in below)]
    spans = [*pairwise((rule.left, *joints, rule.right))]
    parts = [[atom for atom in below if left - 1 < atom.middle <= right + 1] for left, right in spans]
    close = 0.2 * max(atom.size for atom in below)
    hug = all(
        max(abs(hull(p)[0] - x), abs(hull(p)[2] - y)) < close for p, (x, y) in zip(parts, spans, strict=True) if p
    )
    if not hug or not all(parts) or sum(map(len, parts)) != len(below):
        spans, parts = [(rule.left, rule.right)], [below]
    y, size = rule.bottom, below[0].size
    bars = [Atom("\u0305", left, rule.top, right, y, y, size, right) for left, right in spans]
    return [_accented("bar", part, bar) for part, bar in zip(parts, bars, strict=True)]


def _blank(finder: Finder, rule: Rule, y: float) -> Atom | None:
    for atom in finder.between(rule.left - 40, rule.right + 40):
        beside = atom.right < rule.left + 2 or atom.left > rule.right - 2
        if beside and not atom.built and -0.15 * atom.size < y - atom.base < 0.4 * atom.size:
            short = rule.length < _UNDERSCORE * atom.size
            if short and any(abs(a.axis - y) < 0.1 * a.size for a in finder.between(rule.left - 9, rule.right + 9)):
                return None  # a minus
            if rule.length <= 14 and not (short and rule.left < atom.right + 0.3 * atom.size):
                continue
            box = rule.left, atom.base - 0.6 * atom.size, rule.right, y
            return Atom("_" if short else BLANK, *box, atom.base, atom.size, rule.right)
    return None


def functions(atoms: list[Atom]) -> list[Atom]:
    """Joins upright letters that spell a function, if they are in a font for formulas or mathematics is at them."""
    letters = sorted((atom for atom in atoms if atom.roman and not atom.built), key=lambda a: (round(a.base), a.left))

    def goes_on(run: list[Atom], atom: Atom) -> bool:
        level = abs(atom.base - run[-1].base) <= 0.3 and atom.math == run[-1].math
        return level and -0.3 < (atom.left - run[-1].right) / atom.size < 0.28

    rest = (atom for atom in atoms if atom.built or not atom.roman)
    finder = Finder(atoms)
    return [*rest, *(atom for run in chains(letters, goes_on) for atom in _named(run, finder))]


def _named(run: list[Atom], finder: Finder) -> list[Atom]:
    word = "".join(atom.text for atom in run)
    done: list[Atom] = []
    rest = 0
    for match in _FUNCTION.finditer(word):
        part = run[match.start() : match.end()]
        if part[0].math or (match[0] == word and _is_at_formula(part, finder)):
            done += [*run[rest : match.start()], joined(f"\\{match[0]}", part, part[0].base, part[0].size)]
            rest = match.end()
    return [*done, *run[rest:]]


def _is_at_formula(name: Sequence[Atom], finder: Finder) -> bool:
    """Checks for mathematics closer to letters than words are, behind a bracket too, or a limit under them."""
    left, top, right, bottom = hull(name)
    first, last, size = name[0].span[0], name[-1].span[1], name[0].size
    atoms = finder.between(left - 3 * size, right + 3 * size)
    under = any(left < a.middle < right and a.size < _SCRIPT * size and -1 < a.top - bottom < size for a in atoms)
    level = [a for a in atoms if a.text.strip() and a.top < bottom and top < a.bottom]
    beside = [a for a in level if max(a.span[0] - last, first - a.span[1]) < _AT * size]
    brackets = [a.span[1] for a in beside if a.text in ("(", "[") and a.left > right - 1]
    beside += [a for a in level if a.left > right and a.span[0] - max(brackets, default=left) < _AT * size]
    named = any(len(a.text) == 1 and symbol(a.text)[1:].isalpha() for a in beside)  # by LaTeX, as α
    return not name[0].pitch and (under or named or any(not a.sound or a.math or a.text.isdigit() for a in beside))


_FUNCTION: Final = re.compile("|".join(sorted(FUNCTIONS, key=len, reverse=True)))
_AT: Final = 0.2
"""Letter sizes between a function and its argument, which are closer than words are."""
_INTEGRALS: Final = frozenset("∫∬∮")


def operators(atoms: list[Atom]) -> list[Atom]:
    """Attaches limits to sums and the like."""
    heads = [atom for atom in atoms if _limited(atom)]
    if not heads:
        return atoms
    usual = sorted(atom.size for atom in atoms)[len(atoms) // 2]
    finder = Finder(atoms)
    for head in sorted(heads, key=lambda atom: atom.left):
        reach = 4 * head.size  # of what is under a minimum
        integral = head.text in _INTEGRALS
        size = min(head.size, usual) if integral else head.size
        others = [other for other in heads if other is not head and other.text not in _LABELLED]
        near = [a for a in finder.between(head.left - reach, head.right + reach) if a is not head]
        near = [
            a
            for a in near
            if a.size < 0.85 * size
            if (integral and head.left < a.middle < head.right) or not any(_is_script_of(a, other) for other in others)
        ]
        off = 0.35 * usual if integral else 0.7 * head.size
        under = _limit([a for a in near if -0.25 * a.size < a.top - head.bottom < off], head)
        over = _limit([a for a in near if -0.25 * a.size < head.top - a.bottom < off], head)
        if integral or head.text in _LABELLED:
            under, over = ([a for a in row if _is_label(row, head, finder)] for row in (under, over))
        if not under and not over:
            continue
        text = head.text if head.built else symbol(head.text)
        if head.text in _ARROWS:
            text = f"{_ARROWS[head.text]}{f'[{tex(under)}]' if under else ''}{{{tex(over)}}}"
        elif head.text in _LABELLED:
            text = f"\\overset{{{tex(over)}}}{{{text}}}" if over else text
        else:
            text += (f"_{{{tex(under)}}}" if under else "") + (f"^{{{tex(over)}}}" if over else "")
        made = joined(text, [head, *under, *over], head.axis + AXIS * size, size)
        finder.replace([head, *under, *over], [made])
    return [*finder.atoms, *finder.spaces]


def _is_script_of(atom: Atom, head: Atom) -> bool:
    level = head.top - 0.3 * head.size < (atom.top + atom.bottom) / 2 < head.bottom + 0.3 * head.size
    return level and -1.0 < atom.left - head.right < 1.6 * head.size


def _is_label(row: Sequence[Atom], head: Atom, finder: Finder) -> bool:
    """Checks for a label of an arrow or a sign of equality or the limit of an integral, which is no script."""
    left, top, right, bottom = hull(row)
    larger = (a for a in finder.between(left - head.size, left) if a.size > row[0].size)
    level = (a for a in larger if a.top < bottom and top < a.bottom)
    base = any(left - max(a.right, a.advance) < 0.3 * a.size for a in level)
    return abs(left + right - head.left - head.right) < 0.6 * head.size and not base


def _limited(atom: Atom) -> bool:
    name = atom.text if atom.built else symbol(atom.text) if len(atom.text) == 1 else ""
    return atom.text in _LABELLED or name in _LIMITS


def _limit(near: list[Atom], head: Atom) -> list[Atom]:
    reach = 0.9 * head.size
    close = [atom for atom in near if head.left - reach < atom.middle < head.right + reach]
    if not close:
        return []
    edge = (head.top + head.bottom) / 2
    first_row = min(close, key=lambda atom: abs(atom.axis - edge))
    row = sorted((a for a in near if abs(a.axis - first_row.axis) < 0.5 * first_row.size), key=lambda a: a.left)
    core = min((atom for atom in row if atom in close), key=lambda atom: abs(atom.middle - head.middle))
    runs = chains(row, lambda run, atom: atom.left - run[-1].right < 0.5 * core.size)
    run = next(run for run in runs if core in run)
    return run if run[0].left < head.middle + 0.1 * head.size else []


_COLUMN, _PARTED = 0.45, 0.7
"""Letter sizes of white space between the columns of a matrix, and within a cell that make two of it."""
_BIGGER, _FAR_BEHIND = 1.3, 3.0
"""Share of the size of a brace's rows, and letter sizes of white space, from which on something is none of them."""
_MATRIX: Final = {"(": "pmatrix", "[": "bmatrix", "|": "vmatrix", "∣": "vmatrix"}
_CLOSES: Final = {"(": ")", "[": "]", "{": "}", "|": "|", "∣": "∣"}


def cases(atoms: list[Atom]) -> list[Atom]:
    """Joins rows behind a tall brace."""
    braces = [atom for atom in atoms if atom.text == "{" and not atom.built and atom.height > 1.6 * atom.size]
    for brace in sorted(braces, key=lambda atom: -atom.left):
        top, bottom = brace.top - 0.5 * brace.size, brace.bottom + 0.5 * brace.size
        level = (atom for atom in atoms if atom.text.strip() and atom.top > top and atom.bottom < bottom)
        inside = [atom for atom in level if atom.left > brace.middle]
        closed = any(atom.text == "}" and atom.height > 0.7 * brace.height for atom in inside)
        rows = [] if closed else _rows_behind(inside, brace)
        if len(rows) > 1:
            atoms = _enclosed(atoms, [brace, *chain(*rows)], "cases", map(_wide, rows))
    return atoms


def matrices(atoms: list[Atom]) -> list[Atom]:
    """Joins rows between two tall brackets of one height."""
    signs = [a for a in atoms if a.text in "()[]|∣" and not a.built and a.height > 1.35 * a.size and a.text.strip()]
    for first in sorted((a for a in signs if a.text in _MATRIX), key=lambda atom: -atom.left):
        last = closing(first, signs)
        if last is None or first not in atoms or last not in atoms:
            continue
        between = (a for a in atoms if a.text.strip() and first.middle < a.middle < last.middle)
        level = (atom for atom in between if first.top - 1 < atom.centre[1] < first.bottom + 1)
        inside = [atom for atom in level if atom not in (first, last)]
        size = max((atom.size for atom in inside if atom.text not in STRETCHED), default=0.0)
        rows = _stacked(inside, size, 0.83)
        gaps = (min(a.top for a in low) - max(a.bottom for a in high) for high, low in pairwise(rows))
        if len(rows) < 2 or any(gap <= -0.1 * size for gap in gaps):  # something stands between them
            continue
        columns = [set(map(id, column)) for column in parted(inside, _COLUMN)]
        cells = [[[atom for atom in row if id(atom) in column] for column in columns] for row in rows]
        lines = (" & ".join(map(tex, row)) for row in cells)
        atoms = _enclosed(atoms, [first, *inside, last], _MATRIX[first.text], lines)
        torn = any(len(parted(cell, _PARTED)) > 1 for row in cells for cell in row)
        atoms[-1].sound = atoms[-1].sound and not torn and not any(atom in signs for atom in inside)
    return atoms


def _enclosed(atoms: Sequence[Atom], parts: list[Atom], name: str, rows: Iterable[str]) -> list[Atom]:
    bracket, body = parts[0], " \\\\ ".join(rows)
    text, base = f"\\begin{{{name}}}{body}\\end{{{name}}}", bracket.centre[1] + AXIS * bracket.size
    gone = set(map(id, parts))
    return [*(atom for atom in atoms if id(atom) not in gone), joined(text, parts, base, bracket.size)]


def closing(first: Glyph, signs: Iterable[_Sign]) -> _Sign | None:
    """The nearest of some signs that closes a bracket and is as high."""
    near = 0.15 * first.size
    ends = (
        sign
        for sign in signs
        if sign.text == _CLOSES.get(first.text) and sign.left > first.right
        if abs(first.top - sign.top) < near and abs(first.bottom - sign.bottom) < near
    )
    return min(ends, key=lambda sign: sign.left, default=None)


def _stacked(atoms: list[Atom], full: float, share: float) -> list[list[Atom]]:
    """Atoms by the lines of those larger than a share of the full size; smaller ones join the nearest."""
    big = sorted((a for a in atoms if a.size > share * full or a.built), key=lambda a: a.axis)
    rows = chains(big, lambda row, atom: abs(atom.axis - row[0].axis) < 0.5 * full)
    for atom in (a for a in atoms if not (a.size > share * full or a.built)):
        min(rows, key=lambda row: abs(row[0].axis - atom.axis)).append(atom)
    return rows


def parted(atoms: Iterable[Atom], gap: float) -> list[list[Atom]]:
    """Atoms from left to right, parted at white space of `gap` letter sizes that all rows have."""
    parts: list[list[Atom]] = []
    reach = -math.inf
    for atom in sorted((atom for atom in atoms if atom.text.strip()), key=lambda atom: atom.left):
        if atom.left - reach > gap * atom.size:
            parts.append([])
        parts[-1].append(atom)
        reach = max(reach, atom.right)
    return parts


def _wide(row: list[Atom]) -> str:
    value, *condition = parted(row, 0.9)
    return " & ".join(map(tex, (value, chain(*condition)) if condition else (value,)))


def _columns(atoms: list[Atom]) -> list[Atom]:
    """Atoms up to white space behind a brace's rows, and behind it those that have a part of each row."""
    own, *behind = parted(atoms, _FAR_BEHIND) or [[]]
    full = max((atom.size for atom in own), default=0.0)
    rows = _stacked(own, full, 0.87)
    for part in behind if len(rows) > 1 else ():
        if not all(any(abs(atom.axis - row[0].axis) < 0.3 * full for atom in part) for row in rows):
            break
        own += part
    return own


def _rows_behind(atoms: list[Atom], brace: Atom) -> list[list[Atom]]:
    """Rows within a brace's height, without what follows on its line or is bigger."""
    atoms = _columns(atoms)
    letters = [atom for atom in atoms if atom.text not in STRETCHED]
    if not letters:
        return []
    first, *others = parted(letters, _PARTED)[0]
    full = max(atom.size for atom in (first, *others)) if first.built else first.size
    big = min((atom.left for atom in letters if atom.size > _BIGGER * full), default=math.inf)
    atoms = [atom for atom in atoms if atom.left < big]
    rows = _stacked(atoms, full, 0.87)
    centred = [row for row in rows if abs(row[0].axis - (brace.top + brace.bottom) / 2) < 0.3 * full]
    for row in centred if len(rows) > 2 else ():
        edge = max(atom.right for other in rows if other is not row for atom in other) - 1
        ordered = sorted(row, key=lambda atom: atom.left)
        words = (y for x, y in pairwise(ordered) if y.left > edge and _goes_apart(x, y, full))
        end = ordered[0] if ordered[0].left > edge else next(words, None)
        row[:] = [atom for atom in row if end is None or atom.left < end.left]
    return [row for row in rows if row]


def _goes_apart(before: Atom, atom: Atom, full: float) -> bool:
    words = ideographic(atom.text[:1]) and not ideographic(before.text[:1])
    return words or atom.left - before.right > _PARTED * full


_NO_BASE: Final = FENCES | {PICTURE}
"""Signs that no script belongs to."""
_LONGEST_SCRIPT, _FEWEST_WIDE, _FEWEST_LETTERS = 6, 3, 12
"""Letters of a run that OCR read as one: a longer one is text; Chinese letters of small print above or below a line,
and letters of any script that make a line."""
_BAND, _BESIDE, _SOLID = 0.4, 2.0, 0.9
"""Share of the lower line's height; letter sizes between lines, and between base lines at least."""
_UNDERLINED, _LINED = 0.6, 0.45
"""Share of an underline that its text covers: the line of a fraction may be longer; letter sizes under a base line."""
_RUN, _PLAIN_FENCE = 0.25, 1.2
"""Letter sizes between small letters of one script, at most, and of a bracket on the base line of its line."""
_RAISED, _SAME_BASE, _FILLED, _FAR_FILLED = 0.55, 0.05, 1.0, 3.0
"""Letter sizes between the base lines of parts of one line, of letters of one part, and from one part to the next, with
formulas too, at most."""
_TOUCHES, _WIDEST_SCRIPT, _SCALED = 0.15, 3.0, 0.8
"""Letter sizes by which a script is apart from its letter, and is wide, at most; share of a line's size that formulas
of their own have at least."""
_ON: Final = 0.2
"""Letter sizes that two signs share from side to side, of which one stands over the other."""
_ASIDE, _OFF = 1.4, 0.3
"""Letter sizes of white space before words, and between their base lines, that show that they are of another line."""
_NO_LINE: Final = STRETCHED | {PICTURE}
"""Signs that do not tell their base line."""
_COVERED, _HANGS_OFF, _TALLER, _SHORT_ROW = 0.7, 0.6, 1.6, 4.0
"""Share of a row that an unread sign covers from side to side; letter sizes between the two, of a brace, and of a row
that is a part of the line beside it."""


@dataclass(slots=True)
class TextLine:
    """A line before it is a `blocks.Line`, in points; `shown` has a box for each `PICTURE` in its text."""

    text: str
    box: Bounds
    size: float
    base: float
    bold: bool
    sound: bool
    confidence: float = 1.0
    pitch: float = 0.0
    place: int = -1
    other: str = ""
    look: str = ""
    inks: tuple[tuple[str, str], ...] = ()
    shown: tuple[Bounds, ...] = ()
    lined: tuple[str, ...] = ()


def lines_of(glyphs: Iterable[Glyph], rules: Sequence[Rule]) -> list[TextLine]:
    """The lines of a column from top to bottom; one crossed by an unread rule is not sound."""
    glyphs = list(glyphs)
    atoms = [atom_of(glyph) for glyph in glyphs]
    printed = any(glyph.place >= 0 or glyph.text == PICTURE for glyph in glyphs)  # OCR has no places
    upright = [rule for rule in rules if not rule.flat]
    rules = sorted((rule for rule in rules if rule.flat), key=lambda rule: rule.right - rule.left)
    atoms = drawn_fences(atoms, upright, rules)
    atoms = operators(functions(accents(atoms, rules)))
    atoms = matrices(cases(operators(bars(atoms, rules))))
    rows = [row for row in _rows(atoms) if any(atom.text.strip() for atom in row)]
    lines = [_line(row, printed) for row in rows]
    for row, line in zip(rows, lines, strict=True):
        cuts = [rule for rule in [*rules, *upright] if _cuts(rule, line, lines)]
        line.sound = line.sound and not cuts
        for rule in cuts if printed else ():  # it is shown
            row.append(Atom(PICTURE, *rule.box, row[0].base, row[0].size, rule.right, sound=False))
    if printed:
        _hang(rows)
        lines = [_line(row, printed) for row in rows]
    for row, line in zip(rows, lines, strict=True) if printed else ():
        line.lined = tuple(text for rule in rules if (text := _underlined(rule, row)) and text in line.text)
    lines = [line for line in lines if line.text.strip()]
    for line, other in combinations(lines, 2):
        if share_a_band(line, other):
            line.sound = other.sound = False
    return lines


def _underlined(rule: Rule, row: Sequence[Atom]) -> str:
    head = row[0]
    over = [atom for atom in row if rule.left - 1 < atom.middle < rule.right + 1]
    letters = [atom for atom in over if atom.text.strip()]
    if not letters or not 0 <= (rule.top + rule.bottom) / 2 - head.base < _LINED * head.size:
        return ""
    left, _, right, _ = hull(letters)
    hugs = max(abs(left - rule.left), abs(right - rule.right)) < head.size
    return written(sorted(over, key=lambda atom: (atom.left, atom.right)), head).strip() if hugs else ""


def _hang(rows: list[list[Atom]]) -> None:
    """Joins what is over, under or behind an unread sign, and no word, to its line, in place."""
    for row in sorted(rows, key=lambda row: max(atom.size for atom in row)):
        home: list[Atom] = []
        alone = all(woven([atom for atom in row if atom.text.strip()]))  # not the number of a question
        for own in parted(row, 1) if alone else ():
            box, size = hull(own), own[0].size
            others = (other for other in rows if other is not row)
            signs = [(sign, other) for other in others for sign in other if _hangs_at(box, size, sign)]
            if not signs and not any(atom.text == "{" for atom in home):
                home = []
                continue
            if signs:
                middle = box[1] + box[3]
                home = min((other for _, other in signs), key=lambda other: abs(2 * other[0].axis - middle))
            for atom in (*own, *(sign for sign, other in signs if other is home)):
                atom.sound = False
            home += own
            gone = set(map(id, own))
            row[:] = [atom for atom in row if id(atom) not in gone]
    rows[:] = [row for row in rows if any(atom.text.strip() for atom in row)]


def _hangs_at(row: Bounds, size: float, sign: Atom) -> bool:
    left, top, right, bottom = row
    if sign.text == "{" and sign.height > _TALLER * sign.size:
        return sign.left < left < sign.right + sign.size and sign.top - 1 < (top + bottom) / 2 < sign.bottom + 1
    over = min(right, sign.right) - max(left, sign.left) > _COVERED * (right - left)
    hangs = not sign.sound and over and max(top - sign.bottom, sign.top - bottom) < _HANGS_OFF * size
    level = min(bottom, sign.bottom) - max(top, sign.top) > _BAND * (bottom - top)
    beside = max(left - sign.right, sign.left - right) < _RUN * size and right - left < _SHORT_ROW * sign.size
    return hangs or (level and beside and bool(sign.text.strip()))


def share_a_band(line: TextLine, other: TextLine) -> bool:
    """Two lines nearer than lines are set are a formula whose rows were not joined."""
    apart = max(line.box[0], other.box[0]) - min(line.box[2], other.box[2])
    shared = min(line.box[3], other.box[3]) - max(line.box[1], other.box[1])
    size = min(line.size, other.size)
    worded = all(any(map(str.isalnum, each.text)) for each in (line, other))
    solid = apart < 0 and abs(line.base - other.base) < _SOLID * size and worded
    near = apart < _BESIDE * size
    return solid or (near and shared > _BAND * min(line.box[3] - line.box[1], other.box[3] - other.box[1]))


def _cuts(rule: Rule, line: TextLine, lines: Sequence[TextLine]) -> bool:
    """An unread rule over, through or between letters of a line, not under any."""
    left, top, right, bottom = line.box
    if not rule.flat:
        inside = left < rule.left < right and top - 1 < (rule.top + rule.bottom) / 2 < bottom + 1
        return inside and rule.length < 3 * line.size
    y = (rule.top + rule.bottom) / 2
    if min(right, rule.right) - max(left, rule.left) < 0.5 * (rule.right - rule.left):
        return False
    if not top - 0.3 * line.size < y < line.base - 0.12 * line.size:
        return False
    return not any(
        other is not line
        and min(other.box[2], rule.right) - max(other.box[0], rule.left) > _UNDERLINED * (rule.right - rule.left)
        and 0 <= y - other.base < min(0.5 * other.size, top - y + 0.2 * line.size)
        for other in lines
    )


def _rows(atoms: list[Atom]) -> list[list[Atom]]:
    ink = [atom for atom in atoms if atom.text.strip()]
    small = _small(ink)
    stretched = [atom for atom in ink if id(atom) not in small and _stretched(atom)]
    loose = {id(atom) for atom in stretched}

    def goes_on(row: list[Atom], atom: Atom) -> bool:
        return atom.axis - sum(member.axis for member in row) / len(row) < 0.42 * min(atom.size, row[0].size)

    rows = chains(sorted((atom for atom in ink if id(atom) not in small | loose), key=lambda atom: atom.axis), goes_on)
    _place(rows, [*stretched, *(atom for atom in ink if id(atom) in small)])
    rows = [_headed(row, small) for row in rows]
    _join(rows, small)
    for row in rows:
        _level(row, small)
    for atom in atoms:
        if not atom.text.strip():
            home = min(rows, key=lambda row: abs(row[0].base - atom.base), default=None)
            if home is not None and abs(home[0].base - atom.base) < 0.5 * home[0].size:
                home.append(atom)
    return rows


def _join(rows: list[list[Atom]], small: set[int]) -> None:
    """Joins rows that fill each other's gaps, in place: Word raises formulas by some points."""
    rows.sort(key=lambda row: row[0].base)
    for place in range(len(rows) - 1, 0, -1):
        above, below = rows[place - 1 : place + 1]
        size = min(above[0].size, below[0].size)
        if below[0].base - above[0].base < _RAISED * size and _fill(above, below, size):
            rows[place - 1 : place + 1] = [_headed([*above, *below], small)]


def _level(row: list[Atom], small: set[int]) -> None:
    """Moves the parts of a row to the base line of its first letter, in place: a formula may have its own."""
    head, ordered = row[0], sorted(row, key=lambda atom: atom.left)
    full = (atom for atom in ordered if not atom.built and atom.size > _SCALED * head.size)
    lined = [atom for atom in full if id(atom) not in small and atom.text not in _NO_LINE]
    runs = chains(lined, lambda run, atom: abs(atom.base - run[-1].base) < _SAME_BASE * head.size)
    lifts = [head.base - run[-1].base for run in runs]
    lifts = [lift * (abs(lift) > _SAME_BASE * head.size) for lift in lifts]
    for place, run in enumerate(runs):
        if lifts[place] and run[0] is not ordered[0]:
            before, *after = ordered[ordered.index(run[0]) - 1], *ordered[ordered.index(run[-1]) + 1 :][:1]
            sides = [(before, run[0]), *((run[-1], other) for other in after)]
            over = any(a.right > b.left + _ON * head.size for a, b in sides)  # an arrow over letters
            lifts[place] *= not (over or _is_script(before, run, head.size))
            aside = run[0].left - before.right > _ASIDE * head.size and not any(atom.math for atom in run)
            off = abs(lifts[place]) > (_OFF if run[0].size > _SCRIPT * head.size else 0.0) * head.size
            for atom in run if aside and off else ():  # of a figure or a list beside the text
                atom.sound = False
    if not any(lifts):
        return
    homes = {id(atom): place for place, run in enumerate(runs) for atom in run}
    last = 0
    for at, atom in enumerate(ordered):
        last = homes.get(id(atom), last)
        homes.setdefault(id(atom), _home(atom, ordered[at - 1 : at + 2] if at else ordered[:2], last, runs, small))
    for atom in ordered:
        lift = lifts[homes[id(atom)]]
        atom.top, atom.bottom, atom.base = atom.top + lift, atom.bottom + lift, atom.base + lift
        atom.lift += lift


def _home(atom: Atom, near: Sequence[Atom], last: int, runs: Sequence[Sequence[Atom]], small: set[int]) -> int:
    """The part of a row that a script, a fraction or a bracket belongs to: the last one or the next."""
    if last + 1 == len(runs) or atom.left < runs[0][0].left:
        return last
    if id(atom) in small:
        after = near[-1].left - atom.right
        return last + (near[0] is not atom and after < atom.left - near[0].right - _RUN * atom.size)
    axis = atom.axis if atom.built else atom.centre[1]
    return min((last, last + 1), key=lambda place: abs(runs[place][-1].axis - axis))


def _is_script(before: Atom, run: Sequence[Atom], size: float) -> bool:
    """Checks a few letters right behind another for a script of full size."""
    short = run[-1].right - run[0].left < _WIDEST_SCRIPT * size and all(atom.text.isascii() for atom in run)
    touches = run[0].left - max(before.right, before.advance) < _TOUCHES * size
    return short and touches and before.text[-1:].isascii() and before.text[-1:].isalnum()


def _fill(row: Sequence[Atom], other: Sequence[Atom], size: float) -> bool:
    own = set(map(id, row))
    ordered = sorted((*row, *other), key=lambda atom: atom.left)
    pairs = [(a, b) for a, b in pairwise(ordered) if (id(a) in own) != (id(b) in own)]
    widest = _FAR_FILLED if any(atom.math for atom in ordered) else _FILLED
    return all(-0.1 * size < b.left - a.right < widest * size for a, b in pairs)


def _stretched(atom: Atom) -> bool:
    """A bracket or big sign whose base line does not tell its line."""
    tall = atom.height > _PLAIN_FENCE * atom.size or not atom.top < atom.axis < atom.bottom
    return not atom.built and (atom.text in BIG or (tall and atom.text in STRETCHED))


def _headed(row: list[Atom], small: set[int]) -> list[Atom]:
    plain = [atom for atom in row if not atom.built and id(atom) not in small and atom.text not in STRETCHED] or row
    wide = [atom for atom in plain if atom.text[0] >= "\u2e80" and not atom.math]  # formulas are set in any size
    plain = wide if len(wide) >= _FEWEST_WIDE else plain
    sizes: dict[int, float] = {}
    for atom in plain:
        sizes[round(2 * atom.size)] = sizes.get(round(2 * atom.size), 0.0) + max(1.0, atom.right - atom.left)
    common = max(sizes, key=lambda size: sizes[size])
    usual = sorted((atom for atom in plain if round(2 * atom.size) == common), key=lambda atom: atom.base)
    head = usual[len(usual) // 2]
    return [head, *(atom for atom in row if atom is not head)]


def _small(atoms: list[Atom]) -> set[int]:
    """Scripts: smaller than their neighbours, and raised or lowered."""
    scripts: set[int] = set()
    ordered = sorted(atoms, key=lambda atom: atom.left)
    lefts = [atom.left for atom in ordered]
    for atom in atoms:
        if len(atom.text) > _LONGEST_SCRIPT and not atom.built:
            continue
        reach = 0.45 * atom.size
        first = bisect.bisect_left(lefts, atom.left - 80)
        for other in ordered[first : bisect.bisect_right(lefts, atom.right + reach)]:
            if other is atom or other.size < 1.19 * atom.size or other.text in _NO_BASE:
                continue
            behind = -0.6 * atom.size < atom.left - other.right < 3.2 * atom.size
            level = atom.top < other.bottom + 0.5 * other.size and atom.bottom > other.top - 0.75 * other.size
            built = atom.built or atom.text in FENCES
            shift, least = (atom.axis - other.axis, 0.2) if built else (atom.base - other.base, 0.1)
            if (behind or 0 <= other.left - atom.right < reach) and level and abs(shift) > least * other.size:
                scripts.add(id(atom))
                break
    for last, atom in pairwise(ordered):  # what goes on from a script on its line
        level = abs(atom.base - last.base) < 0.1 * last.size or atom.text in FENCES
        near = abs(atom.size - last.size) < 0.1 * last.size and atom.left < last.right + 0.45 * last.size
        if id(last) in scripts and level and near:
            scripts.add(id(atom))
    return scripts - _small_print(atoms, scripts)


def _small_print(atoms: Sequence[Atom], scripts: set[int]) -> set[int]:
    """Letters of lines of text, which may be below a bigger number: with Chinese ones, or most at no bigger letter."""
    lines: dict[tuple[int, int], list[Atom]] = {}
    for atom in (atom for atom in atoms if not atom.built):
        lines.setdefault((round(atom.base), round(2 * atom.size)), []).append(atom)
    small: set[int] = set()
    for line in lines.values():
        own = {id(atom) for atom in line} & scripts
        wide = sum("一" <= atom.text[:1] <= "\u9fff" for atom in line if id(atom) in own)
        if wide >= _FEWEST_WIDE or (len(line) >= _FEWEST_LETTERS and 2 * len(own) < len(line)):
            small |= own
    return small


def _place(rows: list[list[Atom]], small: list[Atom]) -> None:
    spans = [(min(a.top for a in row), max(a.bottom for a in row), max(a.size for a in row)) for row in rows]
    placed: set[int] = set()
    for run in _runs(small):
        costs = [cost for atom in (run[0], run[-1]) for cost in _costs(atom, rows, spans, placed)]
        if not costs:
            rows.append(run)
            spans.append((run[0].top, run[0].bottom, run[0].size))
        else:
            rows[min(costs)[1]] += run
            placed.update(map(id, run))


def _runs(small: list[Atom]) -> list[list[Atom]]:
    runs: list[list[Atom]] = []
    for atom in sorted(small, key=lambda atom: atom.left):
        for run in runs:
            last = run[-1]
            level = abs(last.base - atom.base) < 0.1 * atom.size and not atom.built | last.built
            if level and -0.3 * atom.size < atom.left - last.right < _RUN * atom.size:
                run.append(atom)
                break
        else:
            runs.append([atom])
    return runs


def _costs(
    atom: Atom, rows: Sequence[list[Atom]], spans: Sequence[tuple[float, float, float]], placed: set[int]
) -> Iterator[tuple[float, int]]:
    centre = (atom.top + atom.bottom) / 2
    for at, (top, bottom, size) in enumerate(spans):
        if top - 0.7 * size < centre < bottom + 0.6 * size:
            big = [host for host in rows[at] if host.size > 1.15 * atom.size and not host.built]
            over = any(host.left < atom.middle < host.right for host in big)
            nearest = min(
                min(abs(atom.left - host.right), abs(host.left - atom.right) + 0.2 * size)
                + max(0.0, host.top - 0.2 * size - centre, centre - host.bottom - 0.2 * size)
                + 0.05 * size * (id(host) in placed)
                for host in rows[at]
            )
            yield size * over + nearest, at


_IMPOSSIBLE: Final = re.compile(
    r"([_^])(?:\{[^{}]*\}|[^{}\\_^])\1|(?:\\(?:sim|approx|equiv|cong|le|ge|ne|to)|[=<>])\^|\\(?:vec|overrightarrow)\{\\(?:vec|over)"
)
"""Two scripts at one place, which LaTeX does not set; exponents of relations, and arrows over arrows."""


def _line(row: list[Atom], printed: bool) -> TextLine:
    head = row[0]
    ink = [atom for atom in row if atom.text.strip()]
    ordered = sorted(row, key=lambda atom: (atom.left, atom.right))
    shown: tuple[Bounds, ...] = ()
    try:
        text, sound = written(ordered, head), all(atom.sound for atom in ink)
        sound = sound and (
            "$" not in text or (explains(text, ink) and not any(map(_IMPOSSIBLE.search, text.split("$")[1::2])))
        )
        for _ in range(2 * printed):  # what a picture was the base of is shown with it
            if not all(atom.sound or (atom.text == PICTURE and atom.parts) for atom in ordered):
                ordered = with_pictures(ordered, head)
                text = written(ordered, head)
        shown = tuple(printed_box([atom]) for atom in ordered if atom.text == PICTURE)
    except RecursionError:  # letters that each seem a script of the next: as they stand, and said to be unread
        text, sound = "".join(atom.text for atom in ordered), False
    letters = sum(len(atom.text) for atom in ink)
    bold = 2 * sum(len(atom.text) for atom in ink if atom.bold) > letters
    plain = [atom for atom in ink if not atom.built] or ink
    size = sorted(atom.size for atom in plain)[len(plain) // 2]
    sure = sum(atom.confidence * len(atom.text) for atom in ink) / max(1, letters)
    typed = [atom for atom in ink if atom.pitch or not atom.text.isdecimal()]
    code = 2 * sum(atom.pitch > 0 for atom in typed) > len(typed)
    pitch = max(atom.pitch for atom in ink) if code else 0.0
    placed = sorted((atom for atom in ink if atom.place >= 0), key=lambda atom: atom.place)
    place = placed[len(placed) // 2].place if placed else -1
    other = ", ".join(_read_otherwise(text, placed)) if placed else ""
    line = TextLine(text, printed_box(ink), size, head.base, bold, sound, sure, pitch, place, other, shown=shown)
    looks = Counter(look_of(atom) for atom in ink)
    plain_looks = [look.removesuffix("bold").rstrip() for look in looks.elements()]
    line.look = TICKED if TICKED in plain_looks else mode(plain_looks)
    line.look *= line.look == TICKED or plain_looks.count(line.look) > _COLOURED * len(plain_looks)
    line.inks = _inks(ordered, head, text) if len(looks) > 1 else ()
    return line


_COLOURED, _MOST_INKS = 0.8, 100
"""Share of a line's letters that give it their look; parts of a line with looks of their own."""


def _inks(ordered: Sequence[Atom], head: Atom, text: str) -> tuple[tuple[str, str], ...]:
    """Looks and texts of a line's parts in turn, if they make up its text."""
    runs: list[tuple[str, list[Atom]]] = []
    for atom in ordered:
        look = look_of(atom) if atom.text.strip() else runs[-1][0] if runs else ""
        if not runs or runs[-1][0] != look:
            runs.append((look, []))
        runs[-1][1].append(atom)
    if not 1 < len(runs) < _MOST_INKS:
        return ()
    bare = [_GROUND.sub("", written([*map(replace, run)], head)) for _, run in runs]  # writing doubts its letters
    places = [place for place, sign in enumerate(text) if not _GROUND.match(sign)]
    if "".join(bare) != "".join(text[place] for place in places):
        return ()
    ends = [*accumulate(map(len, bare))]
    cuts = [places[end] if end < len(places) else len(text) for end in ends]
    cuts = [cut - (text[cut - 1] == "$" and text.count("$", 0, cut) % 2) for cut in cuts]
    return tuple((look, text[a:b]) for (look, _), a, b in zip(runs, [0, *cuts], [*cuts[:-1], len(text)], strict=False))


_GROUND: Final = re.compile(r"[\s$]")


_WORD: Final = re.compile(r"[A-Za-z]{2,}|[가-힣]+")
_AT_GAP: Final = re.compile(r"(?:[A-Za-z]{1,40}|[가-힣]{1,40})?(?:\$[^$]*\$|\s{3,})(?:[A-Za-z]{1,40}|[가-힣]{1,40})?")


def _read_otherwise(text: str, placed: Sequence[Atom]) -> list[str]:
    """Words of a line that are none of pdfium's, which looks for words in its own way.

    Not those beside formulas and wide gaps.
    """
    theirs: list[str] = []
    for atom in placed:
        if atom.parted or not theirs:
            theirs.append("")
        theirs[-1] += atom.text
    words_of_others = set(_WORD.findall(" ".join(theirs)))
    return [word for word in _WORD.findall(_AT_GAP.sub(" ", text)) if word not in words_of_others]
