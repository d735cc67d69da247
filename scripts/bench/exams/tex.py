"""The LaTeX of our questions as typst code.

An unknown command raises ValueError, so that no formula is printed otherwise than its gold.
"""

from __future__ import annotations

import re
from typing import Final

_TOKEN: Final = re.compile(r"\\[A-Za-z]+|\\[{},;%]|[A-Za-z]|\d+(?:\.\d+)?|\S")
_NAMES: Final = {
    "pi": "pi", "alpha": "alpha", "beta": "beta", "theta": "theta", "lambda": "lambda", "omega": "omega", "mu": "mu",
    "Delta": "Delta", "triangle": "triangle.t", "angle": "angle", "circ": "degree", "le": "<=", "ge": ">=", "ne": "!=",
    "times": "times", "cdot": "dot.op", "pm": "plus.minus", "in": "in", "cap": "inter", "cup": "union",
    "to": "->", "perp": "perp", "parallel": "parallel", "infty": "infinity", "sin": "sin", "cos": "cos", "tan": "tan",
    "ln": "ln", "log": "log", "lim": "lim", "sum": "sum", "int": "integral", "ldots": "dots.h", "rightarrow": "->",
    "{": "\\{", "}": "\\}", ",": "thin", ";": "thick", "%": "%", "lim_": "lim",
}  # fmt: skip
_LITERAL: Final = {",": ",", ";": "\\;", "/": "\\/", "#": "\\#", "$": "\\$", "_": "\\_", "&": "\\&", "'": "'"}


def code(text: str) -> str:
    """A typst code block of a text; `____` is a blank (`drawings.py`)."""
    pieces = []
    for index, piece in enumerate(text.split("$")):
        if index % 2:
            pieces.append(f"${math(piece)}$")
        elif piece:
            pieces.append("; blank; ".join(quoted(words) for words in piece.split("____")))
    return "{ " + "; ".join(pieces) + " }"


def quoted(text: str) -> str:
    """A typst string with line breaks."""
    lines = ['"' + line.replace("\\", "\\\\").replace('"', '\\"') + '"' for line in text.split("\n")]
    return "; linebreak(); ".join(lines)


def math(tex: str) -> str:
    """A formula in typst's notation."""
    tokens = _TOKEN.findall(tex)
    said, rest = _sequence(tokens, 0)
    if rest != len(tokens):
        raise ValueError(f"unbalanced: {tex}")
    return said


def _sequence(tokens: list[str], at: int, end: str = "}") -> tuple[str, int]:
    pieces = []
    while at < len(tokens) and tokens[at] != end:
        piece, at = _one(tokens, at)
        pieces.append(piece)
    return " ".join(pieces), at


def _argument(tokens: list[str], at: int) -> tuple[str, int]:
    if tokens[at] != "{":
        return _one(tokens, at)
    said, at = _sequence(tokens, at + 1)
    return said, at + 1


def _one(tokens: list[str], at: int) -> tuple[str, int]:
    token = tokens[at]
    if token in ("^", "_"):
        said, at = _argument(tokens, at + 1)
        return f"{token}({said})", at
    if token == "{":
        said, at = _argument(tokens, at)
        return said, at
    if not token.startswith("\\"):
        return _LITERAL.get(token, token), at + 1
    name = token[1:]
    if name == "frac":
        above, at = _argument(tokens, at + 1)
        below, at = _argument(tokens, at)
        return f"frac({above}, {below})", at
    if name == "sqrt":
        at += 1
        if tokens[at] == "[":
            degree, at = _sequence(tokens, at + 1, "]")
            inner, at = _argument(tokens, at + 1)
            return f"root({degree}, {inner})", at
        inner, at = _argument(tokens, at)
        return f"sqrt({inner})", at
    if name in ("overrightarrow", "vec"):
        inner, at = _argument(tokens, at + 1)
        return f"arrow({inner})", at
    if name in ("mathrm", "text"):
        inner, at = _argument(tokens, at + 1)
        return f"upright({inner})", at
    if name not in _NAMES:
        raise ValueError(f"no typst for \\{name}")
    return _NAMES[name], at + 1
