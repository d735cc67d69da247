"""Canonical spelling of texts with formulas: LaTeX, Unicode, or letters of a maths font.

A formula that lost its structure (`x2` for `x^{2}`) has another form. Linear in the text.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_FORMULA: Final = re.compile(r"\$([^$]+)\$")
_STRUCTURED: Final = re.compile(r"[\\^_]")
_BLANK: Final = re.compile(r"_{2,}|\\underline\s*\{[^{}]*\}|[（(]\s*[）)]")
"""Places for answers: lines, and empty brackets."""
_FIGURE: Final = re.compile(r"!?\[(?:image|figure|图|그림)[ _]?\d*\](?:\([^()]*\))?|<image[ _]?\d*>", re.IGNORECASE)
_MARKS: Final = re.compile(
    r"(?<!sqrt)\[(?:Total:\s*)?\d+(?:\s*(?:marks?|points?))?\]|[（(]\s*(?:本小?题)?(?:满分)?\s*\d+\s*分\s*[）)]|\[\s*\d+\s*점\s*\]"
)
_TABLE: Final = re.compile(
    r"^[ \t]*\|?(?:[ \t]*:?-{2,}:?[ \t]*\|)+(?:[ \t]*:?-{2,}:?)?[ \t]*$|</?(?:table|thead|tbody|tr|t[dh])[^<>]*>",
    re.MULTILINE,
)
_TOKEN: Final = re.compile(r"\\[A-Za-z]+|\\.|\s+|.", re.DOTALL)
_DROPPED: Final = frozenset(
    "left right mathrm mathbf mathbb mathit mathsf text textbf textit operatorname rm displaystyle textstyle limits"
    " quad qquad big Big bigl bigr boldsymbol bm".split()
)
_SIGNS: Final = {
    "times": "×", "cdot": "·", "div": "÷", "pm": "±", "le": "≤", "leq": "≤", "leqslant": "≤", "ge": "≥", "geq": "≥",
    "geqslant": "≥", "ne": "≠", "neq": "≠", "pi": "π", "theta": "θ", "alpha": "α", "beta": "β", "lambda": "λ",
    "omega": "ω", "Omega": "Ω", "mu": "μ", "Delta": "Δ", "triangle": "△", "angle": "∠", "perp": "⊥", "parallel": "∥",
    "infty": "∞", "in": "∈", "cap": "∩", "cup": "∪", "to": "→", "rightarrow": "→", "longrightarrow": "→", "circ": "°",
    "degree": "°", "ldots": "…", "cdots": "…", "dots": "…", "lbrace": "{", "rbrace": "}", "mid": "|", "vert": "|",
    "lvert": "|", "rvert": "|",
    "int": "∫", "sum": "∑", "complement": "∁", "subseteq": "⊆",
}  # fmt: skip
_LETTERS: Final = str.maketrans("−–—⋅∙•∆～“”’，。：；？！（）、．", '---···Δ~""\',.:;?!(),.', "\u200b")
_UP: Final = {letter: str(digit) for digit, letter in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")} | {"⁻": "-", "ⁿ": "n"}
_DOWN: Final = {letter: str(digit) for digit, letter in enumerate("₀₁₂₃₄₅₆₇₈₉")} | {"ₙ": "n"}
_DEEP: Final = 40
_NOISE: Final = re.compile(r"[\s(){}\[\]^_/$\\,.:;~|]+")


def formulas(text: str) -> list[str]:
    """Formulas that have a structure to lose."""
    return [formula for formula in _FORMULA.findall(text) if _STRUCTURED.search(formula)]


def canonical(text: str) -> str:
    """A text in canonical spelling, without spaces, blanks, points and figures."""
    for pattern in (_TABLE, _BLANK, _FIGURE, _MARKS):
        text = pattern.sub("", text)
    tokens = _TOKEN.findall(_scripts(text).replace("$", "").replace("//", "∥"))
    output, position = _sequence(tokens, 0, "", 0)
    while position < len(tokens):  # a brace too many
        more, position = _sequence(tokens, position + 1, "", 0)
        output += more
    return unicodedata.normalize("NFKC", output).translate(_LETTERS)


def bare(said: str) -> str:
    """Letters and digits of a canonical text."""
    return _NOISE.sub("", said)


def _scripts(text: str) -> str:
    for letters, sign in ((_UP, "^"), (_DOWN, "_")):
        runs = re.split(f"([{''.join(letters)}]+)", text)
        runs[1::2] = [f"{sign}{{{''.join(letters[letter] for letter in run)}}}" for run in runs[1::2]]
        text = "".join(runs)
    return text


def _sequence(tokens: list[str], position: int, end: str, depth: int) -> tuple[str, int]:
    pieces = []
    while position < len(tokens):
        if tokens[position] == "}" or (end and tokens[position] == end):
            break
        piece, position = _one(tokens, position, depth)
        pieces.append(piece)
    return "".join(pieces), position


def _argument(tokens: list[str], position: int, depth: int) -> tuple[str, int]:
    while position < len(tokens) and tokens[position].isspace():
        position += 1
    if position >= len(tokens):
        return "", position
    if tokens[position] != "{":
        return _one(tokens, position, depth)
    argument, position = _sequence(tokens, position + 1, "}", depth)
    return argument, position + 1


def _one(tokens: list[str], position: int, depth: int) -> tuple[str, int]:
    token = tokens[position]
    if token.isspace():
        return "", position + 1
    if depth > _DEEP:
        return token, position + 1
    if token in ("^", "_"):
        argument, position = _argument(tokens, position + 1, depth + 1)
        return (argument if argument == "°" else f"{token}({argument})"), position
    if token == "{":
        return _argument(tokens, position, depth + 1)
    if not token.startswith("\\"):
        return token, position + 1
    return _command(token[1:], tokens, position + 1, depth + 1)


def _command(name: str, tokens: list[str], position: int, depth: int) -> tuple[str, int]:
    if name in ("frac", "dfrac", "tfrac", "cfrac"):
        above, position = _argument(tokens, position, depth)
        below, position = _argument(tokens, position, depth)
        return f"({above})/({below})", position
    if name == "sqrt":
        degree = ""
        if position < len(tokens) and tokens[position] == "[":
            degree, position = _sequence(tokens, position + 1, "]", depth)
            position += 1
        inner, position = _argument(tokens, position, depth)
        return f"√({inner})" if not degree else f"√[{degree}]({inner})", position
    if name in ("overrightarrow", "vec"):
        inner, position = _argument(tokens, position, depth)
        return f"⃗({inner})", position
    if name in ("overline", "bar"):
        inner, position = _argument(tokens, position, depth)
        return f"¯({inner})", position
    if name in _DROPPED:
        return "", position
    if name in _SIGNS:
        return _SIGNS[name], position
    return (name if name.isalpha() or name in "{}%#&$" else ""), position


def edit_distance(one: str, other: str) -> int:
    """Levenshtein distance by bit vectors (Hyyrö 2003)."""
    if not one or not other:
        return len(one) + len(other)
    places: dict[str, int] = {}
    for index, letter in enumerate(one):
        places[letter] = places.get(letter, 0) | 1 << index
    full, last = (1 << len(one)) - 1, 1 << (len(one) - 1)
    rises, falls, distance = full, 0, len(one)
    for letter in other:
        equal = places.get(letter, 0)
        down = equal | falls
        across = (((equal & rises) + rises) ^ rises) | equal
        up = falls | (~(across | rises) & full)
        low = rises & across
        distance += bool(up & last) - bool(low & last)
        up, low = up << 1 | 1, low << 1
        rises = (low | ~(down | up)) & full
        falls = up & down & full
    return distance
