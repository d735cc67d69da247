"""Atoms written as a line: text as it is, formulas as LaTeX with scripts.

A line that ends in Hangul keeps the space behind it: Korean breaks lines within words.
"""

from __future__ import annotations

import bisect
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise, takewhile
from statistics import mode
from typing import Final

from livek12.dataset_builders.ingest.pages.blocks import CHOICE, PICTURE, UNREAD
from livek12.dataset_builders.ingest.pages.geometry import Bounds, around, chains, hull
from livek12.dataset_builders.ingest.pages.glyphs import AXIS, Glyph

FUNCTIONS: Final = frozenset(
    (
        "sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh "
        "ln log lg lim max min exp sup inf det gcd arg dim ker"
    ).split()
)
_NAMES: Final = {
    "−": "-", "×": "\\times", "÷": "\\div", "±": "\\pm", "∓": "\\mp", "·": "\\cdot", "⋅": "\\cdot", "∙": "\\cdot",
    "≤": "\\le", "⩽": "\\le", "≦": "\\le", "≥": "\\ge", "⩾": "\\ge", "≧": "\\ge", "≠": "\\ne", "≈": "\\approx",
    "≡": "\\equiv", "∼": "\\sim", "≅": "\\cong", "∝": "\\propto", "∞": "\\infty", "∈": "\\in", "∉": "\\notin",
    "∋": "\\ni", "⊂": "\\subset", "⊃": "\\supset", "⊆": "\\subseteq", "⊇": "\\supseteq", "⊊": "\\subsetneq",
    "⫋": "\\subsetneqq", "∪": "\\cup", "∩": "\\cap", "∅": "\\varnothing", "∁": "\\complement", "∀": "\\forall",
    "∃": "\\exists", "¬": "\\neg", "∧": "\\wedge", "∨": "\\vee", "⇒": "\\Rightarrow", "⇔": "\\Leftrightarrow",
    "⇐": "\\Leftarrow", "→": "\\to", "←": "\\leftarrow", "↔": "\\leftrightarrow", "⟶": "\\longrightarrow",
    "⟵": "\\longleftarrow", "⟷": "\\longleftrightarrow", "⟹": "\\Longrightarrow", "⟸": "\\Longleftarrow",
    "⟺": "\\Longleftrightarrow",
    "↦": "\\mapsto", "⇌": "\\rightleftharpoons", "∑": "\\sum", "∏": "\\prod", "∫": "\\int", "∬": "\\iint",
    "∮": "\\oint", "⋃": "\\bigcup", "⋂": "\\bigcap", "∂": "\\partial", "∇": "\\nabla", "√": "\\sqrt", "∠": "\\angle",
    "‖": "\\|", "∡": "\\measuredangle", "∢": "\\sphericalangle",
    "∥": "\\parallel", "∦": "\\nparallel", "⊥": "\\perp", "⟂": "\\perp", "△": "\\triangle",
    "∘": "\\circ", "◦": "\\circ", "⚬": "\\circ", "○": "\\circ", "°": "^{\\circ}",
    "⋯": "\\cdots", "…": "\\ldots", "⋮": "\\vdots", "⋱": "\\ddots", "′": "'", "″": "''",
    "‴": "'''", "∣": "|", "∖": "\\setminus",
    "⌊": "\\lfloor", "⌋": "\\rfloor", "⌈": "\\lceil", "⌉": "\\rceil", "⟨": "\\langle", "⟩": "\\rangle",
    "∴": "\\therefore", "∵": "\\because", "⊕": "\\oplus", "⊗": "\\otimes", "{": "\\{", "}": "\\}", "%": "\\%",
    "#": "\\#", "&": "\\&", "$": "\\$", "_": "\\_", "^": "\\hat{}", "~": "\\sim", "\\": "\\backslash", "∗": "*",
    "∶": ":", "ℓ": "\\ell", "Å": "\\mathring{A}", "ℏ": "\\hbar", "ℎ": "h", "∆": "\\Delta", "Ω": "\\Omega", "µ": "\\mu",
    "ϕ": "\\phi", "φ": "\\varphi", "ϵ": "\\epsilon", "ε": "\\varepsilon", "ϑ": "\\vartheta", "ϖ": "\\varpi",
    "ϱ": "\\varrho", "ς": "\\varsigma", "ο": "o", "⩵": "==", "≔": ":=", "≪": "\\ll", "≫": "\\gg", "⋆": "\\star",
    "∎": "\\blacksquare", "♯": "\\sharp", "⊈": "\\nsubseteq", "⊉": "\\nsupseteq", "≮": "\\nless", "≯": "\\ngtr",
    "≰": "\\nleq", "≱": "\\ngeq", "∤": "\\nmid", "⋄": "\\diamond", "⊙": "\\odot", "⊖": "\\ominus", "∐": "\\coprod",
    "≺": "\\prec", "≻": "\\succ", "⪯": "\\preceq", "⪰": "\\succeq",
}  # fmt: skip
_STYLES: Final = {
    "DOUBLE": "mathbb",
    "FRAKTUR": "mathfrak",
    "BLACK": "mathfrak",
    "SCRIPT": "mathcal",
    "BOLD": "boldsymbol",
}


def symbol(character: str) -> str:
    """LaTeX of one character of a formula."""
    if character in _NAMES:
        return _NAMES[character]
    if character.isascii():
        return character
    name = unicodedata.name(character, "")
    plain = unicodedata.normalize("NFKC", character)
    if name.startswith("GREEK"):
        return _greek(name, character)
    if name.startswith(("SUPERSCRIPT", "SUBSCRIPT")):
        return f"{'^_'[name.startswith('SUB')]}{{{symbol(plain)}}}"
    if name.startswith(("CIRCLED", "PARENTHESIZED")):
        return character
    if len(plain) == 1 and plain != character and (plain.isascii() or unicodedata.name(plain, "").startswith("GREEK")):
        inner = symbol(plain)
        style = next((style for word, style in _STYLES.items() if word in name), None)
        return f"\\{style}{{{inner}}}" if style and plain.isalpha() else inner
    return character


def _greek(name: str, character: str) -> str:
    words = name.split()
    if len(words) < 4 or words[2] != "LETTER":
        return character
    word = words[3].lower().replace("lamda", "lambda")
    if words[1] != "CAPITAL":
        return f"\\{word}"
    plain = unicodedata.normalize("NFKC", character)
    return f"\\{word.capitalize()}" if plain in "ΓΔΘΛΞΠΣΥΦΨΩ" else {"\u0391": "A", "\u0392": "B"}.get(plain, plain)


def is_math_letter(character: str) -> bool:
    """Checks for Unicode's mathematical alphabets and characters of formulas only."""
    code = ord(character)
    return (
        0x1D400 <= code <= 0x1D7FF
        or character in "ℎℝℤℕℚℂℙℍℓ℘ℬℰℱℋℐℒℳℛℭℌℑℜℨ"
        or (0x2200 <= code <= 0x22FF and character not in "∶∼")
    )


FENCES: Final = frozenset("()[]{}|∣‖⟨⟩⌊⌋⌈⌉")
"""Signs that are stretched to what they enclose: their middle says where they stand, their size nothing."""
BIG: Final = frozenset("∑∏∫∬∮⋃⋂√")
STRETCHED: Final = FENCES | BIG


@dataclass(slots=True)
class Atom(Glyph):
    """Something set like one letter: a glyph, a word, a fraction (`built` of its `parts`), moved down by `lift`."""

    built: bool = False
    roman: bool = False
    parts: tuple[Atom, ...] = ()
    lift: float = 0.0


_OF_GLYPHS: Final = [part.name for part in fields(Glyph)]


def atom_of(glyph: Glyph) -> Atom:
    """A glyph as an atom."""
    atom = Atom(**{name: getattr(glyph, name) for name in _OF_GLYPHS})
    single = len(atom.text) == 1
    atom.roman = single and atom.text.isascii() and atom.text.isalpha() and "MI" not in atom.font[:4]
    if atom.math and (atom.text in FENCES or (atom.text in BIG and not atom.top < atom.axis < atom.bottom)):
        atom.size = min(atom.size, atom.height)
        atom.base = (atom.top + atom.bottom) / 2 + AXIS * atom.size
    atom.math = atom.math or (single and is_math_letter(atom.text))
    atom.text = atom.text if atom.sound or atom.text == PICTURE else UNREAD
    return atom


def look_of(atom: Atom) -> str:
    """The look of most letters in an atom, as in `Line.inks`."""
    leaves = [leaf for leaf in _leaves(atom) if leaf.text.strip()] or [atom]
    looks = [(leaf.colour, "marked" * leaf.marked, "bold" * leaf.bold) for leaf in leaves]
    return " ".join(filter(None, mode(looks)))


def joined(text: str, atoms: Sequence[Atom], base: float, size: float, *, extra: Bounds | None = None) -> Atom:
    """One atom in place of its parts; `extra` is a box that it covers too."""
    box = around([hull(atoms), *([extra] if extra else [])])
    sound = all(atom.sound for atom in atoms)
    sure = sum(atom.confidence for atom in atoms) / len(atoms)
    return Atom(
        text, *box, base, size, box[2], math=True, sound=sound, confidence=sure, built=True, parts=tuple(atoms)
    )  # fmt: skip


def printed_box(atoms: Iterable[Atom]) -> Bounds:
    """The box around atoms where they are printed."""
    return around((atom.left, atom.top - atom.lift, atom.right, atom.bottom - atom.lift) for atom in atoms)


class Finder:
    """Atoms by place, without spaces; taken ones are gone."""

    def __init__(self, atoms: list[Atom]) -> None:
        self.spaces = [atom for atom in atoms if not atom.text.strip()]
        self.atoms = sorted((atom for atom in atoms if atom.text.strip()), key=lambda atom: atom.left)
        self.lefts = [atom.left for atom in self.atoms]
        self.widest = max((atom.right - atom.left for atom in atoms), default=0.0)

    def between(self, left: float, right: float) -> list[Atom]:
        """Atoms with their centre between two x, from left to right."""
        first = bisect.bisect_left(self.lefts, left - self.widest)
        last = bisect.bisect_right(self.lefts, right)
        return [atom for atom in self.atoms[first:last] if left <= atom.middle <= right]

    def replace(self, gone: Sequence[Atom], new: Sequence[Atom]) -> None:
        """Puts one atom in place of its parts."""
        for atom in gone:
            at = bisect.bisect_left(self.lefts, atom.left)
            while self.atoms[at] is not atom:
                at += 1
            del self.atoms[at], self.lefts[at]
        for atom in new:
            at = bisect.bisect_left(self.lefts, atom.left)
            self.atoms.insert(at, atom)
            self.lefts.insert(at, atom.left)
            self.widest = max(self.widest, atom.right - atom.left)


_SPACE, _ROW_GAP = 0.18, 0.5
"""Letter sizes between words of a formula, and between two numbers of a row, (1 15): digits of one are closer."""
_WORD_GAP, _SIGN_GAP = 0.12, 0.22
"""Letter sizes between words and between signs, from the end of one letter with its white space to the origin of the
next: on real papers letters of a word are at most 0.08 apart and words at least 0.14, also in tight lines."""
_NEAR, _FAR = 0.5, 1.3
"""Letter sizes between a formula and the digits that are its own, and within it."""
WIDE_GAP: Final = "    "
"""Stands for a gap of more than a letter, as between options."""
_NO_BASE: Final = frozenset(["\\{", *"([,;=+-<>"])
"""Bases of no script: one behind them belongs to the letter that follows."""
_FULL, _SMALLER = 0.835, 0.75
"""Shares of a line's size: scripts have one at most (TeX's smallest are 5 points beside 6); what has less than the
other, and is off the line however little, is a script."""
_MINUS: Final = frozenset("-−–‐")
_STOPS: Final = frozenset("。，、；：？！")
_NO_SCRIPT: Final = FENCES | _STOPS
_LEVEL, _ON = 0.2, 0.5
"""Letter sizes from the line to the script of a script, and between two letters printed on each other, at most."""
_HALF, _INDEX = 0.6, 0.5
"""Share of its letter's size that an index on the line has at most; points that it is off the line."""
_SHIFTED: Final = 0.14
"""Letter sizes by which a letter of a formula's part stands off its line: the smallest scripts are as big as it."""
_NUMBER: Final = re.compile(r"\d+(\.\d+)?")
_NEUTRAL: Final = re.compile(r"[0-9+\-=<>()\[\],.:;|/*!'′%°]+$")


@dataclass(slots=True)
class _Token:
    text: str
    math: bool
    left: float
    right: float
    size: float
    space: bool = False
    pitch: float = 0.0


def tex(atoms: Iterable[Atom]) -> str:
    """LaTeX of a fraction's part, a root's content or a script; rows one after the other."""
    ordered = sorted((atom for atom in atoms if atom.text.strip()), key=lambda atom: (atom.left, atom.right))
    if not ordered:
        return ""
    tokens = _tokens(ordered, _reference(ordered), _SHIFTED)
    return _formula(tokens)


def _reference(atoms: Sequence[Atom]) -> Atom:
    letters = [atom for atom in atoms if atom.built or atom.text not in STRETCHED] or list(atoms)
    size = max(atom.size for atom in letters)
    full = [atom for atom in letters if atom.size >= 0.87 * size]
    plain = [atom for atom in full if not atom.built] or full
    return sorted(plain, key=lambda atom: atom.base)[len(plain) // 2]


def _tokens(row: Sequence[Atom], reference: Atom, off: float = 0.3) -> list[_Token]:
    """Letters of a line from left to right, with scripts; `off` the line are big ones."""
    tokens: list[_Token] = []
    last: Atom | None = None
    at = 0
    while at < len(row):
        atom = row[at]
        if not atom.text.strip() or not _shift(atom, reference, off, row[at - 1] if at else None):
            at += 1
            space = not atom.text.strip()
            tokens.append(_Token(" ", False, atom.left, atom.advance, atom.size, True) if space else _plain(atom))
            if last is not None and not space and _overlap(last, atom):
                last.sound = atom.sound = False
            last = last if space else atom
            continue
        scripts: list[tuple[Atom, int]] = []
        while at < len(row) and row[at].text.strip():
            shift = _shift(row[at], reference, off, row[at - 1] if at else None)
            if scripts and (_is_second(row[at], *scripts[-1], reference) or not shift):
                shift = scripts[-1][1] if shift or _touches(row[at], scripts[-1][0], reference) else 0
            if not shift:
                break
            scripts.append((row[at], shift))
            at += 1
        _script(tokens, scripts, reference, row[at] if at < len(row) else None)
        bare = at < len(row) and row[at].text in ")]" and bool(tokens) and "{}" in tokens[-1].text
        for script, _ in scripts:
            script.sound = script.sound and not bare and not _too_big(script, reference)
    return tokens


def _overlap(atom: Atom, other: Atom) -> bool:
    across = min(atom.right, other.right) - max(atom.left, other.left)
    apart = min(atom.bottom, other.bottom) < max(atom.top, other.top)
    on = abs(atom.span[0] - other.span[0]) < _ON * atom.size  # the tail of a Q may be under its u
    letters = on and atom.text.isalnum() and other.text.isalnum()
    return (apart or letters) and across > 0.6 * min(atom.right - atom.left, other.right - other.left)


def _too_big(script: Atom, reference: Atom) -> bool:
    far = abs(script.base - reference.base) > 0.3 * reference.size
    return far and len(script.text) == 1 and script.text.isalnum() and script.size > _FULL * reference.size


def _shift(atom: Atom, reference: Atom, full: float, before: Atom | None) -> int:
    """1 raised, -1 lowered, 0 on the line."""
    if atom.text == PICTURE or atom.text in _STOPS:
        return 0
    if atom.text in ("′", "″", "'"):  # of a letter below the line
        return -1 if atom.size < _FULL * reference.size and atom.bottom > reference.axis else 0
    if atom is reference or (atom.text in "°" and not atom.built):
        return 0
    if atom.text in FENCES and atom.top < reference.axis < atom.bottom and atom.height > 0.8 * reference.size:
        return 0
    if atom.built or atom.text in STRETCHED or atom.height > 1.35 * atom.size:
        off = (reference.axis - atom.axis) if atom.built else reference.axis - (atom.top + atom.bottom) / 2
        limit = 0.34 if atom.size > 0.85 * reference.size else 0.2
        return 0 if abs(off) < limit * reference.size else (1 if off > 0 else -1)
    off = reference.base - atom.base
    gap = (atom.left - max(before.right, before.advance)) / before.size if before else math.inf
    numeric = atom.text.isdigit() or atom.text in _MINUS
    parted = before and gap < _NEAR and abs(atom.base - before.base) > 0.03 * before.size
    if atom.size > _FULL * reference.size:
        exponent = before and numeric and parted and gap < _WORD_GAP and before.text.isalnum()
        least = 0.1 if exponent else full
    else:
        least = 0.03 if (numeric or parted) and atom.size < _SMALLER * reference.size else 0.08  # Word's half a point
        on_line = gap < _WORD_GAP and abs(off) < _INDEX and atom.text.isalnum()
        if before and on_line and before.text.isascii() and before.text.isalpha() and atom.size < _HALF * before.size:
            return -1
    return 0 if abs(off) < least * reference.size else (1 if off > 0 else -1)


def _plain(atom: Atom) -> _Token:
    text = atom.text if atom.built or not atom.math else symbol(atom.text)
    if atom.built and not atom.sound:
        text = UNREAD
    return _Token(text, atom.math, *atom.span, atom.size, pitch=atom.pitch)


def _is_second(atom: Atom, script: Atom, shift: int, reference: Atom) -> bool:
    """Checks for a script of a script, set back towards the line (the ∞ of an index L^∞)."""
    off = shift * (script.base - atom.base)
    near = abs(reference.base - atom.base) < _LEVEL * reference.size
    return script.text.isalnum() and atom.size < _FULL * script.size and off < 0 and near


def _touches(atom: Atom, script: Atom, reference: Atom) -> bool:
    """A small letter right behind a script is the script's own, and so is a digit on its line."""
    level = atom.text.isdigit() and max(abs(atom.base - script.base), abs(atom.size - script.size)) < 0.03 * atom.size
    own = (level or atom.size < _FULL * reference.size) and atom.text not in _NO_SCRIPT
    return own and atom.left - max(script.right, script.advance * level) < _SIGN_GAP * atom.size


def _script(tokens: list[_Token], shifted: Sequence[tuple[Atom, int]], reference: Atom, after: Atom | None) -> None:
    text = ""
    scripts = [atom for atom, _ in shifted]
    for mark, sign in (("_", -1), ("^", 1)):
        inner = tex([atom for atom, shift in shifted if shift == sign])
        if inner:
            text += f"{mark}{{{inner}}}" if len(inner) > 1 else f"{mark}{inner}"
    left, _, right, _ = hull(scripts)
    size = max([reference.size, *(token.size for token in tokens[-1:])])
    ahead = after is not None and after.text.isalpha() and after.left - right < 2 * _SPACE * size
    parted = not tokens or tokens[-1].space or left - tokens[-1].right > _SPACE * size
    blank = bool(tokens) and tokens[-1].text.endswith("__")
    if (ahead and (parted or tokens[-1].text in ".:" or _is_no_base(tokens[-1].text))) or blank:
        tokens.append(_Token("{}" + text, True, left, right, size))
        return
    while tokens and tokens[-1].space:
        tokens.pop()
    if tokens and left - tokens[-1].right < 0.8 * size and not _is_no_base(tokens[-1].text):
        last = tokens[-1]
        if not last.math and len(last.text) > 1 and not last.text.isascii():  # a run that OCR read: its last letter
            tokens.append(_Token(last.text[-1], False, last.right, last.right, last.size))
            last.text = last.text[:-1]
            last = tokens[-1]
        if not last.math:
            last.text, last.math = _roman(last.text), True
            _absorb(tokens)
        last = tokens[-1]
        last.text, last.right = last.text + text, right
    else:  # of no base
        in_formula = any(atom.math for atom in scripts)
        tokens += [_Token("{}" + text, True, left, right, size)] if in_formula else [_plain(atom) for atom in scripts]
        for atom in scripts:
            atom.sound = False


_SIGN: Final = re.compile(r"\\(?:begin|end)\{[a-z]+\}|\\[A-Za-z]+|\\?.", re.DOTALL)
_STRUCTURE: Final = frozenset(
    (
        "mathrm mathbb mathfrak mathcal boldsymbol text frac quad overset overparen overbrace underparen underbrace "
        "underline overline vec bar hat tilde dot ddot check breve mathring overrightarrow overleftarrow widehat "
        "widetilde xrightarrow xleftarrow xRightarrow to longrightarrow longleftarrow Longrightarrow leftarrow"
    ).split()
)
"""Commands that stand for no sign of their own, and arrows, which may be accents."""


def explains(text: str, atoms: Iterable[Atom]) -> bool:
    """Checks that a line has each of its letters and signs as often as they are printed."""
    return _signs(text) == _signs(*(leaf.text for atom in atoms for leaf in _leaves(atom)))


def _signs(*texts: str) -> Counter[str]:
    signs: Counter[str] = Counter()
    for text in texts:
        for token in _SIGN.findall(
            re.sub(r"\\(begin|end)\{([pv])matrix\}", lambda m: "|" if m[2] == "v" else "()"[m[1] == "end"], text)
        ):
            for sign in _SIGN.findall(symbol(token)) if len(token) == 1 else [token]:
                if sign[1:] in FUNCTIONS:
                    signs.update(sign[1:])
                elif sign.strip(" \t\u3000\xa0{}[]$&_^\\#%~=-") and sign[1:] not in _STRUCTURE and "{" not in sign:
                    signs[sign] += 1
    return signs


def _leaves(atom: Atom) -> Iterator[Atom]:
    for part in atom.parts:
        yield from _leaves(part)
    if not atom.parts:
        yield atom


def _is_no_base(text: str) -> bool:
    """A sign, or a Korean letter: a script behind it belongs to what follows (the 7 of ₇N)."""
    wide = len(text) == 1 and not (text.isascii() or text.isalnum() or text in "）］｝")
    return wide or text in _NO_BASE or "가" <= text[-1:] <= "힣"


def _roman(text: str) -> str:
    if text.isascii():
        return f"\\mathrm{{{text}}}" if text.isalpha() else text
    plain = "".join(map(symbol, text))
    return f"\\text{{{text}}}" if plain == text else plain


def _absorb(tokens: list[_Token]) -> None:
    """Joins letters or digits right before a script's base to its formula (the C of CO₂, the 1 of 10³)."""
    last = tokens[-1]
    while len(tokens) > 1:
        before = tokens[-2]
        near = last.left - before.right < 0.15 * last.size
        number = last.text.isdecimal() and before.text.isdecimal()
        if before.math or before.space or not near or not (before.text.isascii() and before.text.isalnum()):
            return
        inner = re.fullmatch(r"\\mathrm\{(.*)\}", last.text)
        if not inner and not number:
            return
        last.text = f"\\mathrm{{{before.text}{inner[1]}}}" if inner else before.text + last.text
        last.left = before.left
        del tokens[-2]


def _with_words(tokens: Sequence[_Token]) -> Iterator[_Token]:

    def goes_on(run: list[_Token], token: _Token) -> bool:
        return all(_is_letter(each) for each in (run[-1], token)) and _gap(run[-1], token) < _SPACE

    runs = chains(tokens, goes_on)
    for before, run, after in zip([None, *runs], runs, [*runs[1:], None], strict=False):
        first, last, word = run[0], run[-1], "".join(token.text for token in run)
        spaced = (before and _gap(before[-1], first) > _SPACE) or (after and _gap(last, after[0]) > _SPACE)
        if _is_letter(first) and word in FUNCTIONS and not last.pitch:
            yield _Token(f"\\{word}", True, first.left, last.right, last.size)
        elif len(run) > 1 and spaced:
            yield _Token(f"\\text{{ {word} }}", True, first.left, last.right, last.size)
        else:
            yield from run


def _is_letter(token: _Token) -> bool:
    return not token.math and token.text.isascii() and token.text.isalpha()


def _formula(tokens: Sequence[_Token]) -> str:
    text = ""
    before: _Token | None = None
    for token in _with_words(tokens):
        piece = token.text if token.math else _in_formula(token.text)
        if not piece.strip():
            continue
        if text and re.search(r"\\[A-Za-z]+$", text) and piece[0].isalpha():
            text += " "
        elif text[-1:].isdigit() and piece[0].isdigit() and _gap(before, token) > _ROW_GAP:
            text += "\\quad "
        text += piece
        before = token
    return text


def _in_formula(text: str) -> str:
    if any(unicodedata.category(character) == "Lo" for character in text):
        return f"\\text{{{text}}}" if " " in text else text
    return "".join(symbol(character) for character in text)


def written(row: list[Atom], head: Atom) -> str:
    """The line's text, formulas between dollar signs."""
    tokens = _tokens(row, head)
    _neutral(tokens)
    text = ""
    at = 0
    previous: _Token | None = None
    while at < len(tokens):
        end = at + 1
        if tokens[at].math:
            while (
                end < len(tokens)
                and (tokens[end].math or (tokens[end].space and end + 1 < len(tokens) and tokens[end + 1].math))
                and _gap(tokens[end - 1], tokens[end]) < _FAR
            ):
                end += 1
            piece = _formula(tokens[at:end])
            piece = f"${piece}$" if piece and not _NUMBER.fullmatch(piece) else piece
        else:
            piece = tokens[at].text
        gap = _gap(previous, tokens[at]) if previous else 0.0
        if previous and tokens[at].pitch and not tokens[at].space:  # code keeps its columns
            text = text.rstrip() + " " * max(
                gap > _WORD_GAP, round((tokens[at].left - previous.right) / tokens[at].pitch)
            )
        elif gap > 1.4 and not tokens[at].space:
            text = text.rstrip() + WIDE_GAP
        elif text and piece and not text[-1].isspace() and not (ideographic(text[-1]) or ideographic(piece[:1])):
            text += " " * (gap > (_WORD_GAP if _are_words(text[-1], piece[0]) else _SIGN_GAP))
        text += piece
        previous = tokens[end - 1] if not tokens[end - 1].space else previous
        at = end
    text = re.sub(r"(?<! ) {2,3}(?! )", " ", text).lstrip()
    bare = text.rstrip()
    return f"{bare} " if len(bare) < len(text) and "가" <= bare[-1:] <= "힣" else bare


_WOVEN: Final = 0.35
"""Letter sizes between the signs of one formula, at most."""
_NUMBERED: Final = re.compile(r"[(（\[]?(?:[A-Ha-h]|\d{1,3}|[ivx]{1,4})[)）\].．、:：]|[①-⑳]")
_SHORTEST_WORD: Final = 3
_APART: Final = 0.8
"""Letter sizes of white space before the label of an option within a line."""
_NO_BEGIN, _NO_END = frozenset(".,;:?!)]}"), frozenset(".,;:?!([{")


def with_pictures(row: Sequence[Atom], head: Atom) -> list[Atom]:
    """The atoms of a line, with one picture for each unread sign and the formula that it is woven with."""
    ink = [atom for atom in row if atom.text.strip()]
    loose = [*woven(ink)]
    runs: list[range] = []
    for place, atom in enumerate(ink):
        if not atom.sound and loose[place] and not (runs and place in runs[-1]):
            run = range(place, place + 1)
            while (wider := _wider(run, ink, loose)) != run:
                run = wider
            while runs and runs[-1].stop >= run.start:
                run = range(min(run.start, runs.pop().start), run.stop)
            runs.append(run)
    pictures: list[Atom] = []
    for run in runs:
        parts = [ink[place] for place in run]
        while parts[-1].text in _NO_END and parts[-1].sound:
            parts.pop()
        while parts[0].text in _NO_BEGIN and parts[0].sound:
            del parts[0]
        box = printed_box(parts)
        pictures.append(Atom(PICTURE, *box, head.base, head.size, box[2], sound=False, parts=tuple(parts)))
    gone = {id(part) for picture in pictures for part in picture.parts}
    kept = [atom for atom in row if id(atom) not in gone]
    spaces = [a for a in kept if not a.text.strip() and any(p.left < a.middle < p.right for p in pictures)]
    return sorted([*(a for a in kept if a not in spaces), *pictures], key=lambda atom: (atom.left, atom.right))


def woven(ink: Sequence[Atom]) -> Iterator[bool]:
    """For each letter, true if a formula may go on with it: no word, blank, number of a question or label."""
    labelled = word = 0
    for place, atom in enumerate(ink):
        if not place or atom.left - ink[place - 1].right > _APART * atom.size:
            text = "".join(other.text if len(other.text) == 1 else " " for other in ink[place : place + 5])
            labelled = place + match.end() if (match := _NUMBERED.match(text)) else 0
        if place >= word and (count := _word(ink, place, 1)) >= _SHORTEST_WORD:
            word = place + count
        sign = len(atom.text) == 1 and not (ideographic(atom.text) or "가" <= atom.text <= "힣" or atom.text == CHOICE)
        yield place >= labelled and (atom.built or atom.math or (sign and place >= word))


def _word(ink: Sequence[Atom], place: int, step: int) -> int:
    """Letters of a word from a place on, to the right (1) or the left (-1)."""
    letters = takewhile(lambda a: a.text.isascii() and a.text.isalpha() and a.sound and not a.math, ink[place::step])
    count = 1
    for last, atom in pairwise(letters):
        gap = max(atom.left - last.right, last.left - atom.right)
        if gap > _SIGN_GAP * atom.size or abs(atom.base - last.base) > 0.1 * atom.size:
            break
        count += 1
    return count


def _wider(run: range, ink: Sequence[Atom], loose: Sequence[bool]) -> range:
    left, right = min(ink[at].left for at in run), max(ink[at].right for at in run)
    first, last = run.start, run.stop
    for place, end in ((first - 1, first), (last, last - 1)):
        if not 0 <= place < len(ink):
            continue
        atom = ink[place]
        gap = max(left - atom.right, atom.left - right)
        in_word = atom.text.isalpha() and _word(ink, place, 1 if place > end else -1) > 1
        reach = _FAR if not (atom.sound or ink[end].sound) else _SIGN_GAP if in_word else _WOVEN
        if left < atom.middle < right or (loose[place] and gap < reach * max(atom.size, ink[end].size)):
            first, last = min(first, place), max(last, place + 1)
    return range(first, last)


def _gap(before: _Token | None, after: _Token) -> float:
    return (after.left - before.right) / max(before.size, 0.1) if before else 0.0


def _are_words(before: str, after: str) -> bool:
    """Checks that a narrow gap parts words: beside Latin letters, bullets and arrows, and between Korean letters.

    Hangul's editor leaves such gaps around formulas.
    """
    kinds = [unicodedata.category(sign) for sign in (before, after)]
    latin = any(sign.isascii() and sign.isalpha() for sign in (before, after))
    return latin or "So" in kinds or "→" in (before, after) or all(kind in ("Lo", "Nl") for kind in kinds)


def ideographic(character: str) -> bool:
    """Checks for a Chinese letter or sign."""
    return bool(character) and (
        unicodedata.name(character, "").startswith("CJK")
        or "\u3000" <= character <= "\u30ff"
        or "\uff00" <= character <= "\uffef"
    )


def _neutral(tokens: list[_Token]) -> None:
    """Takes digits, signs and brackets between two pieces of a formula into it."""
    for place, token in enumerate(tokens):
        alone = token.text == "." and not any(other.math for other in tokens[max(0, place - 1) : place + 2 : 2])
        token.math = token.math and not (alone and place)
    at = 0
    while at < len(tokens):
        end = at
        while (
            end < len(tokens)
            and not (tokens[end].math or tokens[end].space)
            and _NEUTRAL.match(tokens[end].text)
            and (end == at or _gap(tokens[end - 1], tokens[end]) < _FAR)
        ):
            end += 1
        if end == at:
            at += 1
            continue
        before = at > 0 and tokens[at - 1].math and _gap(tokens[at - 1], tokens[at]) < _NEAR
        after = end < len(tokens) and tokens[end].math and _gap(tokens[end - 1], tokens[end]) < _NEAR
        closes = before and tokens[at].text in ")]" and _open(tokens[:at])
        while end > at + 1 and not after and (closes or tokens[end - 1].text in "(["):  # of a label behind
            end -= 1
        if (before and after) or closes or (before and tokens[at].text in "=<>+-" and not _is_hyphen(tokens, at)):
            for token in tokens[at:end]:
                token.math, token.text = True, _in_formula(token.text)
        at = end


def _is_hyphen(tokens: Sequence[_Token], at: int) -> bool:
    sign, after = tokens[at], tokens[at + 1 : at + 2]
    short = sign.text == "-" and sign.right - sign.left < 0.45 * sign.size
    return short and bool(after) and after[0].text.isalpha() and _gap(sign, after[0]) < _SPACE


def _open(tokens: Sequence[_Token]) -> bool:
    text = "".join(token.text for token in tokens if token.math)
    return text.count("(") + text.count("[") > text.count(")") + text.count("]")
