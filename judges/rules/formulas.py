r"""Chemical formulas as written, read exactly: H_2SO_4, \ce{SO4^2-}, CuSO₄·5H₂O, CH3-CH2-OH, ^{235}_{92}U, e^-.

Contract: `read_terms` gives every reading of a sum of formulas with coefficients, none where anything in it is not
chemistry. A text without raised charges has several ("Fe2+" is a charge of two, or two atoms and a charge of one);
their number and the length of the text are bounded. Known elements only: R, X and n are no elements.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice

from livek12.core.patterns import late
from livek12.judges.rules.notation import to_latex

MAX_CHARS = 400
MAX_READINGS = 64
MAX_DEPTH = 6
ELEMENTS = frozenset(
    "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr Nb "
    "Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au "
    "Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts "
    "Og".split()
)
_PARTICLES = frozenset("nepH")
Structure = tuple["str | tuple[str | Structure, int]", ...]
"""A formula as written: atoms and brackets with their index, "=" and "#" for bonds, "·" before crystal water."""


@dataclass(frozen=True)
class Species:
    """One formula. `structure` is how it is written; two ways to write one composition may be two substances."""

    structure: Structure
    atoms: tuple[tuple[str, int], ...]
    charge: int = 0
    marks: int = field(default=0, compare=False)
    """Signs that only chemistry has: indices, charges, symbols of two letters."""


@dataclass(frozen=True)
class FormulaTerm:
    """A formula with its coefficient and what is printed behind it: s, l, g, aq, 浓, 稀, ↑, ↓ or nothing."""

    coefficient: Fraction
    species: Species
    state: str = ""


def read_terms(text: str) -> list[tuple[FormulaTerm, ...]]:
    """All readings of "2H_2 + O_2"; none where it is no sum of formulas."""
    plain = plain_formula(text) if len(text) <= 2 * MAX_CHARS else ""
    if not plain or len(plain) > MAX_CHARS:
        return []
    return list(dict.fromkeys(islice(_Reader(plain).sums(0), MAX_READINGS)))


_STYLE = late(
    r"\\(?:ce|text|textrm|textup|textbf|textnormal|mathrm|mathbf|mathsf|mathit|mathop|mathrel|boldsymbol|bm|mbox|rm|bf"
    r"|operatorname|displaystyle|left|right|limits|nolimits|q?quad)(?![a-zA-Z])|\\[,;:! ]|[~$`]|\*\*"
)
_DOTS = late(r"\\(?:cdot|bullet|centerdot)(?![a-zA-Z])|[·•・∙*.](?=\s*\d*[A-Z])")
_SIGNS = {"\\uparrow": "↑", "\\downarrow": "↓", "\\equiv": "#", "≡": "#", "\\ominus": "-", "\\oplus": "+", "⊖": "-"}
_GAS = late(r"\s(?:\^|v)(?=\s|$)")
"""Gas and precipitate in mhchem."""
_SIGN = late("|".join(re.escape(sign) + ("(?![a-zA-Z])" if sign.startswith("\\") else "") for sign in _SIGNS))


def plain_formula(text: str) -> str:
    """Without styles and needless braces; scripts stay as _{…} and ^{…}."""
    text = _STYLE.sub("", to_latex(text))
    text = _SIGN.sub(lambda sign: _SIGNS[sign[0]], _DOTS.sub("·", text))
    text = _GAS.sub(lambda sign: " ↑" if "^" in sign[0] else " ↓", _without_braces(text))
    return " ".join(text.split())


def _without_braces(text: str) -> str:
    """Drops braces that are not around a script: "{MnO}_4^{-}" as "MnO_4^{-}"."""
    kept: list[str] = []
    script: list[bool] = []
    for char in text:
        if char == "{":
            script.append("".join(kept[-2:]).rstrip()[-1:] in {"_", "^"})
            kept.append("{" if script[-1] else "")
        elif char == "}":
            kept.append("}" if script and script.pop() else "")
        else:
            kept.append(char)
    return "".join(kept)


_COEFFICIENT = late(r"\s*(?:\\[dt]?frac\s*(\d)\s*(\d)|\\[dt]?frac(\d+) (\d+)|(\d+)/(\d+)|(\d+(?:\.\d+)?))?\s*")
_ATOM = late(r"[A-Z][a-z]?")
_COUNT = late(r"\s?_\{\s*(\d+)\s*\}|\s?_\s?(\d)|(\d+)")
_CHARGE = late(r"\s?\^\s?(?:\{\s*(\d*)\s*([+-])\s*\}|\{\s*([+-])\s*(\d*)\s*\}|(\d*)([+-]))")
_NUCLIDE = late(
    r"(?:\^\{?(?P<mass>\d+)\}?\s*_\{?(?P<number>-?\d+)\}?|_\{?(?P<number2>-?\d+)\}?\s*\^\{?(?P<mass2>\d+)\}?"
    r"|\^\{?(?P<mass3>\d+)\}?)\s*(?P<symbol>[A-Z][a-z]?|[nep])(?![a-z])"
)
_STATE = late(r"\s?(?:[(（]\s*(s|l|g|aq|浓|稀|conc\.?|dil\.?|dilute|concentrated)\s*[)）]|([↑↓]))")
_STRENGTH = {"conc": "浓", "concentrated": "浓", "dil": "稀", "dilute": "稀"}
_BOND = late(r"\s?[-=#]\s?(?=[A-Z([])")
_ELECTRON = late(r"e\s?(?:\^\s?\{?\s*-\s*\}?|-)")
_DOT = late(r"\s?·\s?(\d*)\s?")
_UNRAISED = late(r"[^_\d]\d{1,2}$")
_MINUS_ELECTRONS = late(r"\s*-(?=\s*\d*\s*e\s?(?:\^|-))")


class _Reader:
    """Recursive descent with all readings of unraised charges."""

    def __init__(self, text: str) -> None:
        self.text = text

    def sums(self, start: int, sign: int = 1) -> Iterator[tuple[FormulaTerm, ...]]:
        """Sums of terms from `start` to the end."""
        factor = _COEFFICIENT.match(self.text, start)
        assert factor is not None
        numbers = [group for group in factor.groups() if group]
        if len(numbers) == 2 and int(numbers[1]) == 0:
            return
        value = Fraction("/".join(numbers) or 1)
        for species, end in self.species(factor.end()):
            state = _STATE.match(self.text, end)
            after = state.end() if state else end
            said = (state[1] or state[2]).rstrip(".") if state else ""
            term = FormulaTerm(sign * value, species, _STRENGTH.get(said, said))
            rest = self.text[after:].lstrip()
            if not rest:
                yield (term,)
            elif rest.startswith("+"):
                for more in self.sums(self.text.index("+", after) + 1):
                    yield (term, *more)
            elif minus := _MINUS_ELECTRONS.match(self.text, after):
                for more in self.sums(minus.end(), -1):
                    yield (term, *more)

    def species(self, start: int) -> Iterator[tuple[Species, int]]:
        """The formula at `start` in its readings, and where each ends."""
        if electron := _ELECTRON.match(self.text, start):
            yield Species(("e",), (), -1, 1), electron.end()
            return
        found = self.groups(start, 0)
        if found is None:
            return
        structure, marks, end = found
        while dot := _DOT.match(self.text, end):
            part = self.groups(dot.end(), 0)
            if part is None:
                return
            structure, marks, end = (*structure, "·", (part[0], int(dot[1] or 1))), marks + part[1] + 1, part[2]
        yield from self.charged(structure, marks, end)

    def charged(self, structure: Structure, marks: int, end: int) -> Iterator[tuple[Species, int]]:
        """The formula with the charge behind it; a digit before an unraised sign may be of the index or the charge."""
        if charge := _CHARGE.match(self.text, end):
            size, sign = (charge[1] or charge[4] or charge[5] or "1"), (charge[2] or charge[3] or charge[6])
            yield _species(structure, int(sign + size), marks + 1), charge.end()
            return
        sign, last = self.text[end : end + 1], structure[-1]
        if sign in {"+", "-"} and not isinstance(last, str):
            count, size = divmod(last[1], 10)
            if size and "·" not in structure and _UNRAISED.search(self.text, max(0, end - 3), end):
                yield _species((*structure[:-1], (last[0], count or 1)), int(f"{sign}{size}"), marks + 1), end + 1
            yield _species(structure, int(sign + "1"), marks + 1), end + 1
        if sign != "-" or _MINUS_ELECTRONS.match(self.text, end):
            yield _species(structure, 0, marks), end

    def groups(self, start: int, depth: int) -> tuple[Structure, int, int] | None:
        """Atoms and brackets from `start` on: structure, marks, end. None where there are none."""
        found: list[str | tuple[str | Structure, int]] = []
        marks, at, end = 0, start, start
        while depth <= MAX_DEPTH:
            if found and (bond := _BOND.match(self.text, at)):
                if "-" not in bond[0]:
                    found.append(bond[0].strip())
                at = bond.end()
            if found and self.text[at : at + 1] == " ":
                at += 1
            one = self.group(at, depth)
            if one is None:
                break
            found.append(one[0])
            marks, at = marks + one[1], one[2]
            end = at
        return (tuple(found), marks, end) if found and not isinstance(found[-1], str) else None

    def group(self, at: int, depth: int) -> tuple[tuple[str | Structure, int], int, int] | None:
        """One atom or bracket with its index: (symbol or content, count), marks, end."""
        marks = 0
        inner: str | Structure
        if nuclide := _NUCLIDE.match(self.text, at):
            symbol = nuclide["symbol"]
            if symbol not in ELEMENTS and symbol not in _PARTICLES:
                return None
            mass = nuclide["mass"] or nuclide["mass2"] or nuclide["mass3"]
            inner, end, marks = f"{int(mass)}{symbol}", nuclide.end(), 2
        elif self.text[at : at + 1] in {"(", "["}:
            content = self.groups(at + 1, depth + 1)
            if content is None or self.text[content[2] : content[2] + 1] != {"(": ")", "[": "]"}[self.text[at]]:
                return None
            inner, marks, end = content[0], content[1], content[2] + 1
        else:
            atom = _ATOM.match(self.text, at)
            if atom is None:
                return None
            inner = atom[0] if atom[0] in ELEMENTS else atom[0][0]
            if inner not in ELEMENTS:
                return None
            end = at + len(inner)
            marks = len(inner) - 1
        if (count := _COUNT.match(self.text, end)) is None:
            return (inner, 1), marks, end
        number = int(count[1] or count[2] or count[3])
        return ((inner, number), marks + 1, count.end()) if 1 < number < 1000 else None


def _species(structure: Structure, charge: int, marks: int) -> Species:
    return Species(structure, tuple(sorted(_atoms_of(structure).items())), charge, marks)


def _atoms_of(structure: Structure) -> Counter[str]:
    """How many atoms of each element."""
    atoms: Counter[str] = Counter()
    for piece in structure:
        if not isinstance(piece, str):
            inner, count = piece
            within = Counter({inner: 1}) if isinstance(inner, str) else _atoms_of(inner)
            atoms.update({name: number * count for name, number in within.items()})
    return atoms
