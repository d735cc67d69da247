r"""Chemistry: formulas, ions, equations, electron configurations, whatever their notation.

The rules:
1. Formulas are equal when they are written alike after notation is unified (indices, charges, bonds, hydrate dots).
   One composition written in two ways (CH3COOH, C2H4O2) may be two substances: undecided. Another composition or
   charge is another substance: rejected.
2. Equations are equal when both sides hold the same substances with the same coefficients, in any order. An equation
   that conserves atoms or charge in no reading is wrong, where the key conserves them. All else is undecided: other
   multiples, other substances, a reversible arrow for a plain one.
3. States, ↑, ↓ and conditions count where the key prints them (without them: undecided), and are free otherwise.
4. Electron configurations are equal as sets of occupied subshells, a noble-gas core written out.
5. A heat of reaction behind an equation (ΔH = …) is compared as a quantity, and counts only with the equation.
6. Lists of formulas are sets; they are rejected only when they share none.
Names are for a reader.
"""

from __future__ import annotations

import re
from functools import lru_cache

from livek12.core.patterns import late
from livek12.judges.base import AnswerComparison, Decision, accept, reject, undecided
from livek12.judges.rules.formulas import MAX_CHARS, FormulaTerm, plain_formula, read_terms
from livek12.judges.rules.notation import bare
from livek12.judges.rules.numeric import Number, compare_quantities, read_number
from livek12.judges.rules.reactions import Reaction, read_reaction

NAME = "chemistry"
_MAX_LIST = 8
_JOINT = late(r"[、,，;；]|和|及|\band\b")


class ChemistryStage:
    """Decides where key and answer are both plainly chemistry."""

    name = NAME

    def decide(self, comparison: AnswerComparison) -> Decision:
        """Accept or reject by the rules above."""
        if comparison.is_choice:
            return undecided(NAME)
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
    """Whether a text is a formula with a sign that only chemistry has, an equation or a configuration."""
    return bool(_configuration(text) or _key_reactions(text) or _bears_marks(_formulas(text)))


# --- equations ----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def _reactions(text: str) -> tuple[Reaction, ...]:
    return tuple(read_reaction(text))


def _key_reactions(text: str) -> list[Reaction]:
    """The readings of a key that make sense: conserved, with two different sides."""
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
    """What the key prints beside the substances and the answer does not."""
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
    """A thermochemical equation: its equation, and the heat of reaction with its unit; None for anything else."""
    match = _HEAT.fullmatch(bare(text)) if len(text) <= MAX_CHARS else None
    heat = read_number(match["heat"]) if match else None
    return (match["equation"], heat) if match and heat is not None and _key_reactions(match["equation"]) else None


def _compare_heats(gold: tuple[str, Number], answer: tuple[str, Number]) -> Decision:
    """Right where equation and heat are; wrong where the equation is the key's and the heat is another."""
    said = _compare_reactions(_key_reactions(gold[0]), _reactions(answer[0]))
    outcome, reason = compare_quantities(gold[1], answer[1], None)
    if said.decision != "accept" or outcome == "accept":
        return said
    return reject(NAME, f"the heat: {reason}") if outcome == "reject" else undecided(NAME, f"the heat: {reason}")


# --- formulas -----------------------------------------------------------------------------------------------------

Readings = tuple[FormulaTerm, ...]


@lru_cache(maxsize=4096)
def _formulas(text: str) -> tuple[Readings, ...]:
    """The formulas of a list, each in its readings; none where one is no formula."""
    if len(text) > MAX_CHARS:
        return ()
    if found := _formula(text):
        return (found,)
    pieces = [piece for piece in _JOINT.split(bare(text)) if piece.strip()]
    if not 1 < len(pieces) <= _MAX_LIST:
        return ()
    listed = [_formula(piece) for piece in pieces]
    return tuple(listed) if all(listed) else ()


def _formula(text: str) -> Readings:
    """The readings of one formula."""
    return tuple(terms[0] for terms in read_terms(bare(text)) if len(terms) == 1 and terms[0].coefficient > 0)


def _bears_marks(formulas: tuple[Readings, ...]) -> bool:
    """Whether something in them is of chemistry alone: "CO" may be a product."""
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
    """Two single formulas, each in its readings."""
    pairs = [(one, other) for one in gold for other in answer if one.coefficient == other.coefficient]
    alike = [pair for pair in pairs if _identity(pair[0]) == _identity(pair[1])]
    if any(one.species.structure == other.species.structure for one, other in alike):
        stated = any(not one.state or one.state == other.state for one, other in alike)
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
    """Electrons in each subshell; empty where the text is no configuration."""
    plain = plain_formula(bare(text)) if len(text) <= MAX_CHARS else ""
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
