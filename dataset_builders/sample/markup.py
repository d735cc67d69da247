"""Converts question text (plain text, LaTeX, images, pipe tables, code) to typst blocks for the sample.

Contract: only the sample's LaTeX is supported; anything else raises UserError.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from livek12.core.errors import UserError
from livek12.core.records import IMAGE_MARK

MAX_DEPTH = 20
_TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|\d+(?:\.\d+)?|[^\s]", re.DOTALL)
_MATH = re.compile(r"(\$\$.+?\$\$|\$.+?\$|_{3,})", re.DOTALL)

_SYMBOLS = {
    "Delta": "Delta",
    "Omega": "Omega",
    "alpha": "alpha",
    "beta": "beta",
    "gamma": "gamma",
    "eta": "eta",
    "theta": "theta",
    "lambda": "lambda",
    "mu": "mu",
    "pi": "pi",
    "rho": "rho",
    "sigma": "sigma",
    "tau": "tau",
    "omega": "omega",
    "sin": "sin",
    "cos": "cos",
    "tan": "tan",
    "ln": "ln",
    "max": "max",
    "sum": "sum",
    "int": "integral",
    "infty": "infinity",
    "cdot": "dot.op",
    "times": "times",
    "pm": "plus.minus",
    "le": "lt.eq",
    "ge": "gt.eq",
    "ne": "eq.not",
    "approx": "approx",
    "to": "arrow.r",
    "rightarrow": "arrow.r",
    "uparrow": 'class("normal", arrow.t)',
    "circ": "compose",
    "angle": "angle",
    "triangle": "triangle.stroke.t",
    "perp": "perp",
    "in": "in",
    "cdots": "dots.h.c",
    "dots": "dots.h",
    "quad": "quad",
    "%": "%",
    ",": "thin",
    "{": r"\{",
    "}": r"\}",
}
_ACCENTS = {
    "vec": "arrow",
    "overrightarrow": "arrow",
    "bar": "macron",
    "hat": "hat",
    "dot": "dot",
    "ddot": "dot.double",
}
_SETS = {"R": "RR", "N": "NN", "Z": "ZZ", "C": "CC"}
# A product of units must neither spread nor wrap.
_UNIT_DOT = 'class("normal", dot.op)'
# Special in typst, bare characters in LaTeX.
_ESCAPED = set('(),;/"#&')


class _Parser:
    """Recursive-descent parser of one formula."""

    def __init__(self, latex: str) -> None:
        self.latex = latex
        self.tokens = _TOKEN.findall(latex)
        self.at = 0
        self.depth = 0

    def peek(self) -> str | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def take(self, expected: str | None = None) -> str:
        token = self.peek()
        if token is None or (expected is not None and token != expected):
            actual = token or "its end"
            raise UserError(f"formula {self.latex!r}: expected {expected or 'more'}, found {actual}; mend the text")
        self.at += 1
        return token

    def row(self, *ends: str) -> str:
        """Parses up to one of the end tokens, which remains."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise UserError(f"formula {self.latex[:60]!r}: nested deeper than {MAX_DEPTH}; simplify it")
        parts: list[str] = []
        while (token := self.peek()) is not None and token not in ends:
            if token in ("^", "_"):
                self.take()
                parts.append((parts.pop() if parts else '""') + f"{token}({self.argument()})")
            elif token == "'":
                self.take()
                parts.append((parts.pop() if parts else '""') + "'")
            else:
                parts.append(self.atom())
        self.depth -= 1
        return " ".join(parts)

    def argument(self) -> str:
        """Parses one braced group or one atom."""
        if self.peek() != "{":
            return self.atom()
        self.take("{")
        inner = self.row("}")
        self.take("}")
        return inner

    def atom(self) -> str:
        token = self.take()
        if token == "}":
            raise UserError(f"formula {self.latex!r}: a brace closes that was not opened; mend the text")
        if token == "{":
            self.at -= 1
            return f"#[${self.argument()}$]"
        if token.startswith("\\"):
            return self.command(token[1:])
        return f"\\{token}" if token in _ESCAPED else token

    def command(self, name: str) -> str:
        if name in _SYMBOLS:
            return _SYMBOLS[name]
        if name in _ACCENTS:
            return f"{_ACCENTS[name]}({self.argument()})"
        if name in ("frac", "dfrac"):
            fraction = f"frac({self.argument()}, {self.argument()})"
            return f"display({fraction})" if name == "dfrac" else fraction
        if name == "sqrt":
            return f"sqrt({self.argument()})"
        if name == "mathrm":
            return f"upright({self.argument().replace('dot.op', _UNIT_DOT)})"
        if name == "mathbb":
            return _SETS[self.argument()]
        if name == "left":
            opening, inner = self.take(), self.row(r"\right")
            self.take(r"\right")
            return f"lr({_delimiter(opening)} {inner} {_delimiter(self.take())})"
        raise UserError(f"formula {self.latex!r}: \\{name} is not among the LaTeX of the sample; add it to markup.py")


def _delimiter(token: str) -> str:
    return {"(": r"\(", ")": r"\)", r"\{": r"\{", r"\}": r"\}", ".": ""}.get(token, token)


def math(latex: str) -> str:
    """Converts a LaTeX formula (without dollars) to typst."""
    parser = _Parser(latex)
    result = parser.row()
    if parser.peek() is not None:
        raise UserError(f"formula {latex!r}: {parser.peek()!r} is out of place; mend the text")
    return result


def inline(text: str) -> str:
    """Converts one paragraph to typst markup; `____` becomes a blank."""
    parts = []
    for piece in _MATH.split(text):
        if piece.startswith("$$"):
            parts.append(f"$ {math(piece[2:-2])} $")
        elif piece.startswith("$"):
            formula = math(piece[1:-1])
            parts.append(f"$display({formula})$" if "frac(" in formula else f"${formula}$")
        elif piece.startswith("___"):
            parts.append("#blank")
        elif piece := piece if not parts or not parts[-1].startswith("$ ") else piece.lstrip():
            parts.append(f"#{json.dumps(piece, ensure_ascii=False)};")
    return "".join(parts)


def blocks(text: str, images: Iterator[str]) -> list[dict[str, object]]:
    """Splits a text into blocks for `paper.typ`; every image mark takes the next of `images`.

    Returns dictionaries with `kind` text (`body`: markup), image (`path`), table (`rows` of markup) or code (`body`).
    """
    result: list[dict[str, object]] = []
    lines = text.split("\n")
    while lines:
        line = lines.pop(0)
        if line.startswith("```"):
            end = lines.index("```")
            result.append({"kind": "code", "body": "\n".join(lines[:end])})
            del lines[: end + 1]
        elif line.startswith("|"):
            table = [line]
            while lines and lines[0].startswith("|"):
                table.append(lines.pop(0))
            result.append({"kind": "table", "rows": [_cells(row) for row in table if set(row) - set("|-: ")]})
        else:
            result += _paragraph(line, images)
    return result


def _cells(row: str) -> list[str]:
    return [inline(cell.strip()) for cell in row.strip("|").split("|")]


def _paragraph(line: str, images: Iterator[str]) -> list[dict[str, object]]:
    pieces: list[dict[str, object]] = []
    for index, piece in enumerate(line.split(IMAGE_MARK)):
        if index:
            path = next(images, None)
            if path is None:
                raise UserError(f"text {line[:40]!r}: more {IMAGE_MARK} marks than images; mend the record")
            pieces.append({"kind": "image", "path": path})
        if piece.strip():
            pieces.append({"kind": "text", "body": inline(piece.strip())})
    return pieces
