r"""Writes what stands in \ce{…} and \pu{…} (the mhchem package's notation) as plain LaTeX.

Contract: `ce(source)` covers formulas with charges, states, isotopes, bonds, hydrates, reaction arrows with
conditions, precipitate and gas arrows; what it does not know passes through unchanged. `pu(source)` writes a
quantity with upright units.
"""

from __future__ import annotations

import re

ARROWS = {
    "<-->": r"\rightleftarrows",
    "<=>>": r"\rightleftharpoons",
    "<<=>": r"\rightleftharpoons",
    "<=>": r"\rightleftharpoons",
    "<->": r"\leftrightarrow",
    "->": r"\rightarrow",
    "<-": r"\leftarrow",
    "=": "=",
}
EXTENSIBLE = {
    r"\rightleftharpoons": r"\xrightleftharpoons",
    r"\rightleftarrows": r"\xrightleftharpoons",
    r"\leftrightarrow": r"\xleftrightarrow",
    r"\rightarrow": r"\xrightarrow",
    r"\leftarrow": r"\xleftarrow",
    "=": r"\xlongequal",
}
PIECE = re.compile(
    r"(?P<arrow><-->|<=>>|<<=>|<=>|<->|->|<-|=(?=[\s\[]))(?:\[(?P<above>[^\]]*)\])?(?:\[(?P<below>[^\]]*)\])?"
    r"|(?<=\s)(?P<gas>\^)(?=\s|$)|(?<=\s)(?P<solid>v)(?=\s|$)|(?<=\s)(?P<plus>\+)(?=\s)"
    r"|(?P<raised>\^)(?:\{(?P<group>[^{}]*)\}|(?P<charge>\d*[+-]|\d+))"
    r"|_(?:\{(?P<lowered>[^{}]*)\}|(?P<low>\d+))"
    r"|(?<=[A-Za-z)\]}])(?P<count>\d+)"
    r"|(?<=[A-Za-z0-9)\]}])(?P<sign>[+-])(?=[\s)\],]|$)"
    r"|(?P<state>\((?:aq|s|l|g)\))|(?P<dot>[*.](?=\d*[A-Z]))|(?P<bond>[-#~](?=[A-Z(\[]))"
    r"|(?P<command>\\[A-Za-z]+)|(?P<math>\$[^$]*\$)|(?P<letters>[A-Za-z]+)|(?P<space>\s+)"
)
PLAIN = {"gas": r"\uparrow ", "solid": r"\downarrow ", "plus": "{}+{}", "space": r"\,", "dot": r"\cdot "}
BONDS = {"-": r"\text{-}", "#": r"\equiv ", "~": r"\sim "}


def ce(source: str) -> str:
    """A chemical formula or equation as LaTeX."""
    return PIECE.sub(_piece, source.strip())


def pu(source: str) -> str:
    """A number with its unit as LaTeX, the unit upright."""
    spaced = re.sub(r"\s*\*\s*", r"\\cdot ", source.strip())
    spaced = re.sub(r"(\d)[eE]([+-]?\d+)", r"\1\\times 10^{\2}", spaced)
    spaced = re.sub(r"\^(-?\d+)", r"^{\1}", spaced)
    spaced = re.sub(r"(?<![\\A-Za-z{])[A-Za-zµμΩ]+|(?<!\S)[A-Za-z]+", lambda unit: rf"\mathrm{{{unit[0]}}}", spaced)
    return re.sub(r"\s+", r"\\,", spaced)


def _piece(found: re.Match[str]) -> str:
    kind = next(name for name, value in found.groupdict().items() if value is not None)
    text = found[kind]
    if kind == "arrow":
        return _arrow(ARROWS[text], found["above"], found["below"])
    if kind == "raised":
        charge = found["group"] if found["group"] is not None else found["charge"]
        return f"^{{{charge}}}"
    if kind in ("lowered", "low", "count"):
        return f"_{{{text}}}"
    if kind == "sign":
        return f"^{{{text}}}"
    if kind == "bond":
        return BONDS[text]
    if kind in ("letters", "state"):
        return rf"\mathrm{{{text}}}"
    if kind == "math":
        return text[1:-1]
    return PLAIN.get(kind, text + " ")


def _arrow(arrow: str, above: str | None, below: str | None) -> str:
    if not above and not below:
        return f" {arrow} "
    under = f"[{_condition(below)}]" if below else ""
    return f" {EXTENSIBLE[arrow]}{under}{{{_condition(above or '')}}} "


def _condition(text: str) -> str:
    return ce(text) if text.isascii() else rf"\text{{{text}}}"
