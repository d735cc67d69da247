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
    """A typst code block of a text; `____` is a blank (`drawings.typ`)."""
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
    formula, rest = _sequence(tokens, 0)
    if rest != len(tokens):
        raise ValueError(f"unbalanced: {tex}")
    return formula


def _sequence(tokens: list[str], position: int, end: str = "}") -> tuple[str, int]:
    pieces = []
    while position < len(tokens) and tokens[position] != end:
        piece, position = _one(tokens, position)
        pieces.append(piece)
    return " ".join(pieces), position


def _argument(tokens: list[str], position: int) -> tuple[str, int]:
    if tokens[position] != "{":
        return _one(tokens, position)
    argument, position = _sequence(tokens, position + 1)
    return argument, position + 1


def _one(tokens: list[str], position: int) -> tuple[str, int]:
    token = tokens[position]
    if token in ("^", "_"):
        argument, position = _argument(tokens, position + 1)
        return f"{token}({argument})", position
    if token == "{":
        argument, position = _argument(tokens, position)
        return argument, position
    if not token.startswith("\\"):
        return _LITERAL.get(token, token), position + 1
    name = token[1:]
    if name == "frac":
        above, position = _argument(tokens, position + 1)
        below, position = _argument(tokens, position)
        return f"frac({above}, {below})", position
    if name == "sqrt":
        position += 1
        if tokens[position] == "[":
            degree, position = _sequence(tokens, position + 1, "]")
            inner, position = _argument(tokens, position + 1)
            return f"root({degree}, {inner})", position
        inner, position = _argument(tokens, position)
        return f"sqrt({inner})", position
    if name in ("overrightarrow", "vec"):
        inner, position = _argument(tokens, position + 1)
        return f"arrow({inner})", position
    if name in ("mathrm", "text"):
        inner, position = _argument(tokens, position + 1)
        return f"upright({inner})", position
    if name not in _NAMES:
        raise ValueError(f"no typst for \\{name}")
    return _NAMES[name], position + 1
