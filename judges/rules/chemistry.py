r"""Chemistry: formulas, ions, equations, electron configurations, in any notation.

1. Formulas are equal when written alike after notation is unified (indices, charges, bonds, hydrate dots). The same
   composition written otherwise (CH3COOH, C2H4O2) is undecided, another composition or charge rejected.
2. Equations are equal with the same substances and coefficients on each side, in any order; rejected if only the key
   conserves atoms and charge; else undecided.
3. States, ↑, ↓ and conditions count where the key prints them (missing: undecided).
4. Electron configurations are sets of occupied subshells, noble-gas cores written out.
5. A heat of reaction (ΔH = …) is a quantity, and counts only with its equation.
6. Lists of formulas are sets; rejected only when disjoint.

All readings are returned: "Fe2+" is a charge of two, or two atoms and a charge of one. R, X and n are no elements. An
arrow is "=" (=, →, \xlongequal{…}, \ce{->[…]}) or "⇌"; several equals signs are bonds ("CH2=CH2").
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import islice, product

from livek12.core.patterns import late
from livek12.judges.base import AnswerComparison, Decision, accept, reject, undecided
from livek12.judges.rules.notation import bare, closing_brace, to_latex
from livek12.judges.rules.numeric import Number, compare_quantities, read_number

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
    """One formula; `structure` keeps its spelling (isomers)."""

    structure: Structure
    atoms: tuple[tuple[str, int], ...]
    charge: int = 0
    marks: int = field(default=0, compare=False)
    """Signs that only chemistry has: indices, charges, symbols of two letters."""


@dataclass(frozen=True)
class FormulaTerm:
    """A formula with its coefficient and its mark: s, l, g, aq, 浓, 稀, ↑, ↓ or ""."""

    coefficient: Fraction
    species: Species
    state: str = ""


def read_terms(text: str) -> list[tuple[FormulaTerm, ...]]:
    """All readings of "2H_2 + O_2"; empty for anything else."""
    plain = _plain_formula(text) if len(text) <= 2 * MAX_CHARS else ""
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


_SPECIES = late(r"[A-Z]|(?<![a-z\\])[enp](?![a-z])")
"""A letter that any term has: of an element, or an electron, neutron or proton."""


def _plain_formula(text: str) -> str:
    text = to_latex(text)
    if not _SPECIES.search(text):
        return ""
    text = _STYLE.sub("", text)
    text = _SIGN.sub(lambda sign: _SIGNS[sign[0]], _DOTS.sub("·", text))
    text = _GAS.sub(lambda sign: " ↑" if "^" in sign[0] else " ↓", _without_braces(text))
    return " ".join(text.split())


def _without_braces(text: str) -> str:
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
    def __init__(self, text: str) -> None:
        self.text = text

    def sums(self, start: int, sign: int = 1) -> Iterator[tuple[FormulaTerm, ...]]:
        factor = _COEFFICIENT.match(self.text, start)
        assert factor is not None
        numbers = [group for group in factor.groups() if group]
        if len(numbers) == 2 and int(numbers[1]) == 0:
            return
        value = Fraction("/".join(numbers) or 1)
        for species, end in self.species(factor.end()):
            state = _STATE.match(self.text, end)
            after = state.end() if state else end
            printed = (state[1] or state[2]).rstrip(".") if state else ""
            term = FormulaTerm(sign * value, species, _STRENGTH.get(printed, printed))
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
        if electron := _ELECTRON.match(self.text, start):
            yield Species(("e",), (), -1, 1), electron.end()
            return
        parts = self.groups(start, 0)
        if parts is None:
            return
        structure, marks, end = parts
        while dot := _DOT.match(self.text, end):
            part = self.groups(dot.end(), 0)
            if part is None:
                return
            structure, marks, end = (*structure, "·", (part[0], int(dot[1] or 1))), marks + part[1] + 1, part[2]
        yield from self.charged(structure, marks, end)

    def charged(self, structure: Structure, marks: int, end: int) -> Iterator[tuple[Species, int]]:
        """Adds the charge; a digit before an unraised sign is index or charge."""
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
        parts: list[str | tuple[str | Structure, int]] = []
        marks, at, end = 0, start, start
        while depth <= MAX_DEPTH:
            if parts and (bond := _BOND.match(self.text, at)):
                if "-" not in bond[0]:
                    parts.append(bond[0].strip())
                at = bond.end()
            if parts and self.text[at : at + 1] == " ":
                at += 1
            group_read = self.group(at, depth)
            if group_read is None:
                break
            parts.append(group_read[0])
            marks, at = marks + group_read[1], group_read[2]
            end = at
        return (tuple(parts), marks, end) if parts and not isinstance(parts[-1], str) else None

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
    atoms: Counter[str] = Counter()
    for piece in structure:
        if not isinstance(piece, str):
            inner, count = piece
            within = Counter({inner: 1}) if isinstance(inner, str) else _atoms_of(inner)
            atoms.update({name: number * count for name, number in within.items()})
    return atoms


MAX_REACTION = 600
MAX_REACTIONS = 256


@dataclass(frozen=True)
class Reaction:
    """One reading of an equation."""

    left: tuple[FormulaTerm, ...]
    right: tuple[FormulaTerm, ...]
    reversible: bool
    condition: str

    @property
    def amounts(self) -> tuple[dict[Species, Fraction], dict[Species, Fraction]]:
        """The net amount of each substance per side."""
        sides: tuple[dict[Species, Fraction], dict[Species, Fraction]] = ({}, {})
        for side, terms in enumerate((self.left, self.right)):
            for term in terms:
                amounts = sides[side if term.coefficient > 0 else 1 - side]
                amounts[term.species] = amounts.get(term.species, Fraction(0)) + abs(term.coefficient)
        return sides

    @property
    def states(self) -> Counter[tuple[Species, str]]:
        """The states printed behind the substances."""
        return Counter((term.species, term.state) for term in (*self.left, *self.right) if term.state)

    @property
    def nuclear(self) -> bool:
        """Checks for nuclides."""
        return any(name[0].isdigit() for term in (*self.left, *self.right) for name, _ in term.species.atoms)

    @property
    def balanced(self) -> bool:
        """Checks conservation of atoms and charge."""
        total: dict[str, Fraction] = {}
        for sign, amounts in zip((1, -1), self.amounts, strict=True):
            for species, amount in amounts.items():
                for name, number in (*species.atoms, ("charge", species.charge)):
                    total[name] = total.get(name, Fraction(0)) + sign * amount * number
        return not any(total.values())


def read_reaction(text: str) -> list[Reaction]:
    """All readings of an equation, within bounds."""
    if len(text) > MAX_REACTION:
        return []
    plain, condition, reversible = _arrow(to_latex(bare(text)))
    sides = plain.split("⟶")
    if len(sides) != 2:
        return []
    readings = product(read_terms(sides[0]), read_terms(sides[1]))
    return [Reaction(left, right, reversible, condition) for left, right in islice(readings, MAX_REACTIONS)]


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
    """The text with its arrow as "⟶", conditions on it, reversibility."""
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
    return text, "".join(sorted(_HEATED.sub("△", _NOTHING.sub("", each)) for each in conditions)), both


def _arguments(text: str, at: int, most: int) -> tuple[int, list[str]]:
    arguments: list[str] = []
    while len(arguments) < most and text[at : at + 1] in {"[", "{"}:
        end = text.find("]", at) if text[at] == "[" else closing_brace(text, at)
        if end < 0:
            break
        arguments.append(text[at + 1 : end])
        at = end + 1
        while text[at : at + 1] == " " and text[at + 1 : at + 2] in {"[", "{"}:
            at += 1
    return at, arguments


_NOTHING = late(r"\\(?:text|mathrm|rm|ce|quad|qquad|hspace|mathop|[,;:! ])|[\s{}$~⟶=,，、/]")
_HEATED = late(r"\\(?:Delta|triangle)|[△Δ]|加热|heat")


NAME = "chemistry"
_MAX_LIST = 8
_JOINT = late(r"[、,，;；]|和|及|\band\b")


class ChemistryStage:
    """Decides chemical keys and answers."""

    name = NAME

    def decide(self, comparison: AnswerComparison) -> Decision:
        """Accept or reject by the rules above."""
        gold, answer = comparison.gold, comparison.answer
        shells = _configuration(gold), _configuration(answer)
        if shells[0] and shells[1]:
            return _compare_shells(shells[0], shells[1])
        heats = _with_heat(gold), _with_heat(answer)
        if heats[0] and heats[1]:
            return _compare_heats(heats[0], heats[1])
        key = _key_reactions(gold)
        if key:
            return _compare_reactions(key, _reactions(answer))
        if _bears_marks(formulas := _formulas(gold)):
            return _compare_formulas(formulas, _formulas(answer))
        return undecided(NAME)


def is_chemical(text: str) -> bool:
    """Checks for an equation, a configuration, or a purely chemical sign."""
    return bool(_configuration(text) or _key_reactions(text) or _bears_marks(_formulas(text)))


# --- equations ----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _reactions(text: str) -> tuple[Reaction, ...]:
    return tuple(read_reaction(text))


def _key_reactions(text: str) -> list[Reaction]:
    """Conserved readings with two different sides."""
    return [
        reaction
        for reaction in _reactions(text)
        if (reaction.nuclear or reaction.balanced) and reaction.amounts[0] != reaction.amounts[1]
    ]


def _compare_reactions(golds: list[Reaction], answers: tuple[Reaction, ...]) -> Decision:
    if not answers:
        return undecided(NAME, "the answer is no equation that can be read")
    doubt = "an equation of other substances or other coefficients"
    for gold in golds:
        for answer in answers:
            if gold.amounts == answer.amounts and not (doubt := _print_doubt(gold, answer)):
                return accept(NAME, "the same equation")
    nuclear = any(reaction.nuclear for reaction in (*golds, *answers))
    if not nuclear and not any(answer.balanced for answer in answers):
        return reject(NAME, "the equation is not balanced")
    return undecided(NAME, doubt)


def _print_doubt(gold: Reaction, answer: Reaction) -> str:
    if gold.reversible != answer.reversible:
        return "only one of the equations is reversible"
    if gold.states and gold.states != answer.states:
        return "other states than the key's"
    if gold.condition and gold.condition != answer.condition:
        return "other conditions than the key's"
    return ""


_HEAT = late(
    r"(?P<equation>.+?)[\s,，;；]*(?:\\Delta|\\triangle|[\u0394\u2206△])\s*\{?\s*H\s*\}?(?:_\{?\d\}?)?"
    r"\s*=\s*(?P<heat>[^=]+)",
    re.DOTALL,
)


def _with_heat(text: str) -> tuple[str, Number] | None:
    match = _HEAT.fullmatch(bare(text)) if len(text) <= MAX_CHARS else None
    heat = read_number(match["heat"]) if match else None
    return (match["equation"], heat) if match and heat is not None and _key_reactions(match["equation"]) else None


def _compare_heats(gold: tuple[str, Number], answer: tuple[str, Number]) -> Decision:
    result = _compare_reactions(_key_reactions(gold[0]), _reactions(answer[0]))
    outcome, reason = compare_quantities(gold[1], answer[1], None)
    if result.decision != "accept" or outcome == "accept":
        return result
    return reject(NAME, f"the heat: {reason}") if outcome == "reject" else undecided(NAME, f"the heat: {reason}")


# --- formulas -----------------------------------------------------------------------------------------------------

Readings = tuple[FormulaTerm, ...]


@lru_cache(maxsize=4096)
def _formulas(text: str) -> tuple[Readings, ...]:
    if len(text) > MAX_CHARS:
        return ()
    if formula := _formula(text):
        return (formula,)
    pieces = [piece for piece in _JOINT.split(bare(text)) if piece.strip()]
    if not 1 < len(pieces) <= _MAX_LIST:
        return ()
    listed = [_formula(piece) for piece in pieces]
    return tuple(listed) if all(listed) else ()


def _formula(text: str) -> Readings:
    return tuple(terms[0] for terms in read_terms(bare(text)) if len(terms) == 1 and terms[0].coefficient > 0)


def _bears_marks(formulas: tuple[Readings, ...]) -> bool:
    return any(term.species.marks for readings in formulas for term in readings)


def _compare_formulas(golds: tuple[Readings, ...], answers: tuple[Readings, ...]) -> Decision:
    if not answers:
        return undecided(NAME, "the answer is no formula")
    if len(golds) == len(answers) == 1:
        return _compare_pair(golds[0], answers[0])
    rest = list(answers)
    for gold in golds:
        same = next((answer for answer in rest if _compare_pair(gold, answer).decision == "accept"), None)
        if same is not None:
            rest.remove(same)
    if len(golds) == len(answers) and not rest:
        return accept(NAME, "the same formulas")
    shared = any(_compare_pair(gold, answer).decision != "reject" for gold in golds for answer in answers)
    return undecided(NAME, "some of the formulas") if shared else reject(NAME, "other formulas")


def _compare_pair(gold: Readings, answer: Readings) -> Decision:
    pairs = [(term, other) for term in gold for other in answer if term.coefficient == other.coefficient]
    alike = [pair for pair in pairs if _identity(pair[0]) == _identity(pair[1])]
    if any(term.species.structure == other.species.structure for term, other in alike):
        stated = any(not term.state or term.state == other.state for term, other in alike)
        return accept(NAME, "the same formula") if stated else undecided(NAME, "another state than the key's")
    if alike:
        return undecided(NAME, "one composition written in two ways")
    return reject(NAME, "another composition or charge")


def _identity(term: FormulaTerm) -> tuple[object, int]:
    return term.species.atoms, term.species.charge


# --- electron configurations --------------------------------------------------------------------------------------

_ORDER = "1s2 2s2 2p6 3s2 3p6 4s2 3d10 4p6 5s2 4d10 5p6 6s2 4f14 5d10 6p6".split()
_CORES = {"He": 1, "Ne": 3, "Ar": 5, "Kr": 8, "Xe": 11, "Rn": 15}
_CORE = late(r"\[\s?(He|Ne|Ar|Kr|Xe|Rn)\s?\]\s?")
_SHELL = late(r"([1-7])\s?([spdf])\s?(?:\^\s?\{\s?(\d{1,2})\s?\}|\^\s?(\d)|(\d{1,2})(?=\s|[1-7][spdf]|\Z))\s?")
_ROOM = {"s": 2, "p": 6, "d": 10, "f": 14}


def _configuration(text: str) -> dict[str, int]:
    plain = _plain_formula(bare(text)) if len(text) <= MAX_CHARS else ""
    core = _CORE.match(plain)
    shells = {name[:2]: int(name[2:]) for name in _ORDER[: _CORES[core[1]]]} if core else {}
    at = core.end() if core else 0
    while shell := _SHELL.match(plain, at):
        name, count = shell[1] + shell[2], int(shell[3] or shell[4] or shell[5])
        if name in shells or not 0 < count <= _ROOM[shell[2]]:
            return {}
        shells[name], at = count, shell.end()
    return shells if at == len(plain) and at > (core.end() if core else 0) else {}


def _compare_shells(gold: dict[str, int], answer: dict[str, int]) -> Decision:
    if gold == answer:
        return accept(NAME, "the same configuration")
    if gold.items() <= answer.items() or answer.items() <= gold.items():
        return undecided(NAME, "one configuration is part of the other")
    return reject(NAME, "another configuration")
