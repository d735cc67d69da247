r"""Chemical equations as written: two sums of formulas, the arrow between them, the conditions on it.

Contract: `read_reaction` gives every reading; none where the text is no equation. The arrow is "=" for any plain one
(=, →, \xlongequal{…}, \ce{->[…]}) and "⇌" for a reversible one. A bond of a structural formula ("CH2=CH2") is no
arrow: of several equals signs without an arrow none is read.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, product

from livek12.core.patterns import late
from livek12.judges.rules.formulas import FormulaTerm, Species, read_terms
from livek12.judges.rules.notation import bare, closing_brace, to_latex

MAX_CHARS = 600
MAX_READINGS = 256


@dataclass(frozen=True)
class Reaction:
    """One reading of an equation."""

    left: tuple[FormulaTerm, ...]
    right: tuple[FormulaTerm, ...]
    reversible: bool
    condition: str

    @property
    def amounts(self) -> tuple[dict[Species, Fraction], dict[Species, Fraction]]:
        """How much of each substance stands on each side; what is taken away on one is put on the other."""
        sides: tuple[dict[Species, Fraction], dict[Species, Fraction]] = ({}, {})
        for side, terms in enumerate((self.left, self.right)):
            for term in terms:
                amounts = sides[side if term.coefficient > 0 else 1 - side]
                amounts[term.species] = amounts.get(term.species, Fraction(0)) + abs(term.coefficient)
        return sides

    @property
    def states(self) -> Counter[tuple[Species, str]]:
        """What is printed behind the substances."""
        return Counter((term.species, term.state) for term in (*self.left, *self.right) if term.state)

    @property
    def nuclear(self) -> bool:
        """Whether nuclides stand in it, which turn into each other."""
        return any(name[0].isdigit() for term in (*self.left, *self.right) for name, _ in term.species.atoms)

    @property
    def balanced(self) -> bool:
        """Whether atoms and charge are conserved."""
        total: dict[str, Fraction] = {}
        for sign, amounts in zip((1, -1), self.amounts, strict=True):
            for species, amount in amounts.items():
                for name, number in (*species.atoms, ("charge", species.charge)):
                    total[name] = total.get(name, Fraction(0)) + sign * amount * number
        return not any(total.values())


def read_reaction(text: str) -> list[Reaction]:
    """All readings of an equation within the bounds."""
    if len(text) > MAX_CHARS:
        return []
    plain, condition, reversible = _arrow(to_latex(bare(text)))
    sides = plain.split("⟶")
    if len(sides) != 2:
        return []
    readings = product(read_terms(sides[0]), read_terms(sides[1]))
    return [Reaction(left, right, reversible, condition) for left, right in islice(readings, MAX_READINGS)]


_STRETCHED = late(r"\\x(?P<kind>longequal|(?:long)?rightarrow|rightleftharpoons|leftrightarrow)\s*(?=[\[{])")
_STACKED = late(r"\\(?:over|under)?(?:set|stackrel|brace)(?![a-zA-Z])\s*(?=\{)|\\stackrel\s*(?=\{)")
_EQUALS = late(r"(?:=\s*(?:\\!\s*)*){2,}|\\(?:longequal|Longequal)(?![a-z])")
_MHCHEM = late(r"(?P<both><=>>?|<<=>|<->)|-+>(?:\[(?P<above>[^\]]*)\])?(?:\[(?P<below>[^\]]*)\])?")
_PLAIN = late(
    r"(?P<both>\\(?:rightleftharpoons|leftrightharpoons|rightleftarrows|leftrightarrow)(?![a-zA-Z])|[⇌⇋⇄↔])"
    r"|\\(?:long)?rightarrow(?![a-zA-Z])|\\to(?![a-zA-Z])|[→⟶⟹]"
)
_ON_IT = (
    r"(?:(?:[\u4e00-\u9fff△]|\\triangle\s?|\\Delta\s?){1,10}"
    r"|(?:MnO_?\{?2\}?|V_?\{?2\}?O_?\{?5\}?|Al_?\{?2\}?O_?\{?3\}?|Pt|Ni|Fe|Cu)(?![A-Za-z\d]))"
)
"""Conditions and the usual catalysts."""
_WRITTEN = late(rf"[=-]+\s*[(（]?({_ON_IT}(?:[,，、/]{_ON_IT})?)[)）]?\s*[=-]+>?")


def _arrow(text: str) -> tuple[str, str, bool]:
    """The text with its one arrow as "⟶", what stands on the arrow, and whether it is reversible."""
    conditions: list[str] = []
    both = False
    while stretched := _STRETCHED.search(text):
        end, arguments = _arguments(text, stretched.end(), 2)
        conditions += arguments
        both = both or stretched["kind"] in {"rightleftharpoons", "leftrightarrow"}
        text = f"{text[: stretched.start()]}⟶{text[end:]}"
    while stacked := _STACKED.search(text):
        end, arguments = _arguments(text, stacked.end(), 2)
        if len(arguments) != 2:
            return text, "", False
        inner, above, two_way = _arrow(arguments[1])
        both = both or two_way
        conditions += [arguments[0], above]
        text = f"{text[: stacked.start()]}{inner if '⟶' in inner else inner.replace('=', '⟶')}{text[end:]}"
    for pattern in (_WRITTEN, _MHCHEM, _PLAIN):
        for match in pattern.finditer(text):
            groups = match.groupdict()
            both = both or bool(groups.get("both"))
            conditions += [groups.get("above") or "", groups.get("below") or ""]
            conditions += [match[1]] if pattern is _WRITTEN else []
        text = pattern.sub("⟶", text)
    text = re.sub(r"\\math(?:op|rel|bin)(?![a-z])|⟶[\s{}]*(?=⟶)", "", text)
    if "⟶" not in text:
        text = _EQUALS.sub("=", text)
        text = text.replace("=", "⟶") if text.count("=") == 1 else text
    return text, _condition(conditions), both


def _arguments(text: str, at: int, most: int) -> tuple[int, list[str]]:
    """The arguments in brackets and braces that follow a command, and where they end."""
    found: list[str] = []
    while len(found) < most and text[at : at + 1] in {"[", "{"}:
        end = text.find("]", at) if text[at] == "[" else closing_brace(text, at)
        if end < 0:
            break
        found.append(text[at + 1 : end])
        at = end + 1
        while text[at : at + 1] == " " and text[at + 1 : at + 2] in {"[", "{"}:
            at += 1
    return at, found


_NOTHING = late(r"\\(?:text|mathrm|rm|ce|quad|qquad|hspace|mathop|[,;:! ])|[\s{}$~⟶=,，、/]")
_HEAT = late(r"\\(?:Delta|triangle)|[△Δ]|加热|heat")


def _condition(written: list[str]) -> str:
    """What stands on an arrow in one spelling; heat is △."""
    return "".join(sorted(_HEAT.sub("△", _NOTHING.sub("", text)) for text in written))
