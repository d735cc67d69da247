"""Equality of two expressions. Worker only.

Expressions are equal when they agree to 15 digits at every point of a fixed set (between 0 and 1, above 1, negative,
whole) where both are defined and real, at least four; they differ when they agree at none. Agreement at some points
(x² and x, sequences equal at whole n), or only one real value (ln|x| and ln x), is undecided. Agreement is rechecked
with many more digits (2^100 and 2^100 + 1 differ in the thirty-first); rationals are compared exactly. Accepted risk:
unequal expressions of at most 2,000 characters that agree at all points.

An expression with a symbol differs from one without, unless the symbol may be a constant (c, g, …), bears a mark or
arguments (a hat, f(x)), or was replaced by decimals. Renamed symbols are undecided.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import permutations

import mpmath
import sympy

from livek12.judges.base import Outcome
from livek12.judges.rules import trees
from livek12.judges.rules.doubles import Functions, functions_of, same_value
from livek12.judges.rules.kinks import WHOLE_NAMES, KinkSide, further, has_kinks
from livek12.judges.rules.numeric import Number, compare
from livek12.judges.rules.units import NO_UNIT, read_unit
from livek12.judges.rules.unknowns import is_unknown, same_in_order
from livek12.judges.rules.values import Expr, Value, evaluate

Point = Mapping[Expr, Expr]
Parts = tuple[Expr, Expr]
"""Real and imaginary part."""
MAX_OPERATIONS, MAX_EXPANDED = 200, 6
DIGITS = 25
_BEYOND_FLOATS = 10**300
TOLERANCE = sympy.Float("1e-15")
SIGNIFICANT_BITS = 30
WHOLE_POINTS, REAL_TURNS = 5, 5
SURE_DIGITS, SURE_TOLERANCE = 160, "1e-130"
"""Digits of a second look, and how closely they must agree."""
ENOUGH = 4
POWERS = 12
"""Points at which the change with a letter is measured."""
CLEARLY = sympy.Float("0.001")
"""How far changes differ that are not one, with decimals."""
MAX_EXACT = 100
"""Whole numbers up to this are put in exactly where cancellation leaves no digits."""
SECOND_LOOKS, MOST_LOOKS = 2, 4
SLOW_LOOKS = 2
"""Points at which doubles that are close are looked at with all digits; if these differ, all points are."""
ENOUGH_APART = 3
SURE = 8
"""Disagreement at so many of the first points: two of each kind are among them."""
KNOWN_CONSTANTS = frozenset({"c", "g", "G", "h", "hbar", "R", "k_B", "epsilon_0", "mu_0", "N_A"})
PHYSICAL_CONSTANTS = KNOWN_CONSTANTS | frozenset(
    "k k_e e e_0 q_e m m_e m_p m_n M_p a_0 r_e alpha sigma sigma_B mu_B R_H R_infty phi Phi_0 M_E R_E C".split()
)
"""Letters that may be constants of nature."""
NUMBERS = KNOWN_CONSTANTS - {"c", "g", "G", "h", "R"}
"""Names that are nothing but constants of nature."""
_K, _HBAR, _OMEGA, _EPSILON, _MASS, _C = sympy.symbols("k hbar omega epsilon_0 m c")
_CHARGE = sympy.E
_BOLTZMANN = frozenset({_K})
DEFINITIONS: tuple[tuple[Expr, Expr], ...] = (
    (sympy.Symbol("beta"), 1 / (_K * sympy.Symbol("T"))), (sympy.Symbol("h"), 2 * sympy.pi * _HBAR),
    (sympy.Symbol("nu"), _OMEGA / (2 * sympy.pi)), (sympy.Symbol("f"), _OMEGA / (2 * sympy.pi)),
    (sympy.Symbol("k_e"), 1 / (4 * sympy.pi * _EPSILON)), (_K, 1 / (4 * sympy.pi * _EPSILON)),
    (sympy.Symbol("mu_0"), 1 / (_EPSILON * sympy.Symbol("c") ** 2)),
    (sympy.Symbol("k_B"), _K), (sympy.Symbol("m_e"), _MASS),
    *((sympy.Symbol(name), value) for square in (_CHARGE**2, _CHARGE**2 / (4 * sympy.pi * _EPSILON))
      for name, value in (("a_0", _HBAR**2 / (_MASS * square)), ("a_B", _HBAR**2 / (_MASS * square)),
                          ("alpha", square / (_HBAR * _C)), ("r_e", square / (_MASS * _C**2)))),
    (sympy.Symbol("mu_B"), _CHARGE * _HBAR / (2 * _MASS)),
)  # fmt: skip
"""Constants in terms of others. Formulas that agree at all points with them are equal."""
MAX_UNIT = 4
"""Letters of a unit that may be read as a product (mph)."""
INTEGRATION = frozenset({"C", "c", "C_0", "C_1", "c_1", "K"})
"""Names of a constant of integration; c and K are other things as well."""
VARIABLES = frozenset("x y z t u v w r s p q theta phi".split())
"""Names of variables of integration."""


ONLY_ITSELF = "notation that equals only itself"
A_NAME = "a name for a formula"


@lru_cache(maxsize=1024)
def free(expr: Expr) -> frozenset[Expr]:
    """The symbols of an expression."""
    return frozenset(expr.free_symbols)


def equal(gold: Value, answer: Value, bound: frozenset[str] = frozenset()) -> tuple[Outcome, str]:
    """Compares two scalars; `bound` are the arguments of the function they define."""
    outcome, reason = _equal(gold, gold.expr, answer, answer.expr, bound)
    if outcome == "reject" and (is_unknown(gold.expr) or is_unknown(answer.expr)):
        return "undecided", ONLY_ITSELF
    degrees = gold.expr is not gold.plain, answer.expr is not answer.plain
    if outcome != "accept" and degrees[0] != degrees[1]:
        plain = _equal(gold, gold.plain, answer, answer.plain, bound)
        if plain[0] != "reject":
            return plain[0], "but for the degree sign: " + plain[1]
    if outcome == "reject" and (gold.vague != answer.vague):
        return "undecided", "a logarithm without a base"
    return outcome, reason


def _equal(gold: Value, left: Expr, answer: Value, right: Expr, bound: frozenset[str]) -> tuple[Outcome, str]:
    if left == right:
        return "accept", "same expression"
    if not (left.is_commutative and right.is_commutative):
        return ("accept", "equal in order") if same_in_order(left, right) else ("undecided", "an order of factors")
    if not free(left) and not free(right):
        return _equal_constants(gold, left, answer, right)
    if free(left) != free(right):
        return _foreign(gold, left, answer, right, bound)
    outcome, reason = agree(left, right)
    if outcome == "reject" and (gold.loose or answer.loose or gold.quantum or answer.quantum):
        return ("undecided", "rounded coefficients") if _near(left, right) else (outcome, reason)
    return outcome, reason


def _foreign(gold: Value, left: Expr, answer: Value, right: Expr, bound: frozenset[str]) -> tuple[Outcome, str]:
    outcome, reason = agree(left, right)
    if outcome == "accept":
        return outcome, reason
    written = in_one_notation(left, right)
    if written[0].free_symbols == written[1].free_symbols and agree(*written)[0] == "accept":
        return "accept", "equal by the definition of a constant"
    more, less = sorted((left.free_symbols, right.free_symbols), key=len, reverse=True)
    extra = {str(name) for name in more - less}
    marked = all("(" in name for name in extra)
    depends = (
        outcome == "reject"
        and not marked
        and less < more
        and not (_inexact(gold, answer) or extra & (KNOWN_CONSTANTS | INTEGRATION))
    )
    if depends and (less or extra <= bound or _is_sum(left) or _is_sum(right)):
        return "reject", f"only one of them depends on {', '.join(sorted(extra))}"
    if outcome == "reject" and not marked and (other := other_kind(left, right)):
        return "reject", other
    if (
        left.is_Symbol
        and right.is_Symbol
        and all(len(str(name)) == 1 and str(name).isascii() for name in (left, right))
    ):
        return ("undecided" if str(left).lower() == str(right).lower() else "reject"), "another letter"
    case = {old: new for old in right.free_symbols - left.free_symbols for new in left.free_symbols - right.free_symbols
            if str(old).lower() == str(new).lower()}  # fmt: skip
    alike = case and right.xreplace(case).free_symbols == left.free_symbols
    if alike and agree(left, right.xreplace(case))[0] == "reject":
        return "reject", "different even if letter case does not count"
    return "undecided", "other symbols"


def in_one_notation(left: Expr, right: Expr) -> tuple[Expr, Expr]:
    """Both sides without the constants that one of them writes in terms of the other's: h for 2π ħ, β for 1/kT."""
    sides = [left, right]
    for name, value in DEFINITIONS:
        for own, other in ((0, 1), (1, 0)):
            meant = (value.free_symbols or {name}) - _BOLTZMANN <= sides[other].free_symbols
            if name in sides[own].free_symbols and name not in sides[other].free_symbols and meant:
                sides[own] = sides[own].xreplace({name: value})
    return sides[0], sides[1]


def other_kind(left: Expr, right: Expr) -> str:
    """The difference that no renaming of letters removes; "" for none."""
    checks = (
        _only_one_vanishes,
        _number_beside_formula,
        _name_beside_formula,
        _without_letters,
        _only_one_has_functions,
        _other_dependence,
    )
    return next((reason for check in checks if (reason := check(left, right))), "")


def _only_one_vanishes(left: Expr, right: Expr) -> str:
    zero = (left == 0 and _cannot_vanish(right) and not _may_be_words(right)) or (right == 0 and _cannot_vanish(left))
    return "only one of them is zero" if zero else ""


def _number_beside_formula(left: Expr, right: Expr) -> str:
    names = _names(left), _names(right)
    if bool(names[0]) == bool(names[1]):
        return ""
    number, formula = (left, right) if not names[0] else (right, left)
    words = formula is right and _may_be_words(formula)
    if not (number.is_number and _is_multiple(formula, number)) and (words or not is_formula(formula)):
        return ""
    return "a formula for a number" if formula is right else "a number for a formula"


def _name_beside_formula(left: Expr, right: Expr) -> str:
    """An answer of one letter, which says nothing of what it depends on."""
    bare_name = right.is_Symbol and right not in left.free_symbols and str(right) not in KNOWN_CONSTANTS
    return A_NAME if bare_name and len(_names(left)) > 1 and is_formula(left) else ""


def _without_letters(left: Expr, right: Expr) -> str:
    names = _names(left), _names(right)
    if not (_are_formulas(left, right) and without_common_letter(left, right)):
        return ""
    inner = [bool(_in_functions(side)) for side in (left, right)]
    return "formulas without a letter in common" if len(names[0]) != len(names[1]) or inner[0] != inner[1] else ""


def _only_one_has_functions(left: Expr, right: Expr) -> str:
    """Waves and decays on one side alone."""
    written = all(side.free_symbols and not side.is_Symbol and not _may_be_words(side) for side in (left, right))
    plain = [not (side.has(sympy.Function) or _in_functions(side)) for side in (left, right)]
    waves = [any(map(_is_wave, sympy.preorder_traversal(side))) for side in (left, right)]
    apart = (waves[0] and plain[1]) or (waves[1] and plain[0])
    return "only one of them has a function" if written and apart else ""


def _is_wave(part: Expr) -> bool:
    if isinstance(part, _ANGULAR):
        return len(part.args[0].free_symbols) > 1
    return (
        bool(part.is_Function or part.is_Pow) and bool(part.args[-1].free_symbols) and not isinstance(part, sympy.Abs)
    )


_ANGULAR = (sympy.sin, sympy.cos, sympy.tan, sympy.asin, sympy.acos, sympy.atan)


def _other_dependence(left: Expr, right: Expr) -> str:
    """A common letter on which they depend otherwise.

    How a side changes with the letter must not depend on the letters that only this side has.
    """
    formulas = _are_formulas(left, right) or not any(map(_may_be_words, (left, right)))
    if not formulas or agree(_in_natural_units(left), _in_natural_units(right))[0] == "accept":
        return ""
    own = left.free_symbols ^ right.free_symbols
    if any(str(name)[:2] in {"C_", "c_"} and str(name)[2:].isdigit() for name in own):
        return ""  # constants of integration, some of them 0
    related = KNOWN_CONSTANTS | {str(part) for name, value in DEFINITIONS if name in own for part in value.free_symbols}
    for name in sorted(left.free_symbols & right.free_symbols, key=str):
        if str(name) not in related and _depend_otherwise(left, right, name, own):
            return f"they depend otherwise on {name}"
    return ""


def _in_natural_units(expr: Expr) -> Expr:
    return expr.xreplace({name: sympy.Integer(1) for name in expr.free_symbols if str(name) in KNOWN_CONSTANTS})


def _depend_otherwise(left: Expr, right: Expr, name: Expr, own: set[Expr]) -> bool:
    changes: list[list[Expr]] = []
    draw = random.Random(20260321)
    names = sorted(free(left) | free(right), key=str)
    for _ in range(POWERS):
        first, second = (
            {name: sympy.Rational(draw.randrange(low, 3 * low), 1000) for name in names} for low in (400, 1500)
        )
        others = first | {letter: second[letter] for letter in own}
        change = [_change(side, point, {name: second[name]}) for side in (left, right) for point in (first, others)]
        if None not in change:
            changes.append(change)
    settled = [all(_is_near(change[side], change[side + 1], TOLERANCE) for change in changes) for side in (0, 2)]
    apart = any(settled) and not any(_is_near(change[0], change[2], CLEARLY) for change in changes)
    return apart and len(changes) >= ENOUGH


def _change(expr: Expr, point: Point, other: Point) -> Expr | None:
    values = at(expr, point), at(expr, {**point, **other})
    if values[0] is None or values[1] is None or values[0][1] != 0 or values[1][1] != 0 or values[0][0] == 0:
        return None
    return values[1][0] / values[0][0]


def _is_near(first: Expr, second: Expr, tolerance: Expr) -> bool:
    return bool(abs(first - second) <= tolerance * (abs(first) + abs(second)))


def _are_formulas(left: Expr, right: Expr) -> bool:
    """Checks for two formulas of several letters, neither an abbreviation in capitals."""
    return all(
        len(_names(side)) > 1
        and is_formula(side)
        and not (
            all(map(_may_be_words, sympy.Add.make_args(side)))
            and all(len(name) == 1 and name.isupper() for name in _names(side))
        )
        for side in (left, right)
    )


def _cannot_vanish(expr: Expr) -> bool:
    """Checks for a product of two letters or more, without differences and functions."""
    parts = sympy.preorder_traversal(expr)
    several = len(expr.free_symbols) > 1 or (expr.free_symbols and {*map(str, expr.free_symbols)} <= NUMBERS)
    return bool(several) and all(part.is_Atom or part.func in (sympy.Mul, sympy.Pow, sympy.exp) for part in parts)


def _may_be_words(expr: Expr) -> bool:
    """Checks for a product of letters alone, as which prose is read."""
    powers = [part.as_base_exp() for part in sympy.Mul.make_args(expr)]
    letters = [(base, power) for base, power in powers if not (base.is_Integer and power.is_positive)]
    return all(
        power.is_Integer and (base in (sympy.E, sympy.I) or (base.is_Symbol and len(str(base).rstrip("'")) == 1))
        for base, power in letters
    )


def _names(expr: Expr) -> set[str]:
    names = {str(name) for name in expr.free_symbols}
    return names - KNOWN_CONSTANTS or names - NUMBERS


def without_common_letter(left: Expr, right: Expr) -> bool:
    """Compares the base letters of two sides, one of which has several."""
    letters = [{trees.base_letter(name) for name in _names(expr)} for expr in (left, right)]
    return min(map(len, letters)) > 0 and max(map(len, letters)) > 1 and not letters[0] & letters[1]


def _is_multiple(formula: Expr, number: Expr) -> bool:
    """Checks for another multiple of letters that are no units."""
    names = {str(name) for name in formula.free_symbols}
    if names & PHYSICAL_CONSTANTS or any(len(name) == 1 or "(" in name or _is_unit(f"\\{name}") for name in names):
        return False
    factor, letters = formula.as_independent(*formula.free_symbols, as_Add=False)
    plain = all(part.is_Symbol or part.is_Pow for part in sympy.Mul.make_args(letters))
    return plain and factor != 1 and abs(sympy.N(factor - number)) > abs(sympy.N(factor)) / 10


def _in_functions(expr: Expr) -> set[Expr]:
    """The symbols in functions and exponents."""
    inner = [*expr.atoms(sympy.Function), *(power.exp for power in expr.atoms(sympy.Pow))]
    return {name for part in inner for name in part.free_symbols}


def is_name_of_quantity(node: trees.Node) -> bool:
    """Checks for a letter that is no constant of nature."""
    return node[0] == "sym" and str(node[1]) not in PHYSICAL_CONSTANTS


def is_formula(expr: Expr) -> bool:
    """Checks for variables beyond constants, labels and letters of a unit."""
    names = {name for name in map(str, expr.free_symbols) if "(" not in name}
    label = expr.is_Symbol and "_" not in str(expr)
    if names <= PHYSICAL_CONSTANTS or label:
        return False
    number, product = expr.as_independent(*expr.free_symbols, as_Add=False)
    letters = product.args if product.is_Mul else (product,)
    if (number == 1 and not product.is_Add) or len(names) > MAX_UNIT:
        return not all(letter.is_Symbol and len(str(letter)) == 1 and str(letter).isupper() for letter in letters)
    written = [name if len(name) == 1 else f"\\{name}" for name in names]
    words = ("".join(word) for word in permutations(written))
    return (product.is_Add or len(names) > 1) and not any(map(_is_unit, words)) and not all(map(_is_unit, written))


def _is_unit(name: str) -> bool:
    return bool((read_unit(name) or NO_UNIT).symbol)


def _is_sum(expr: Expr) -> bool:
    parts = expr.args if expr.is_Mul else (expr,)
    return any(part.is_Add and part.free_symbols for part in parts)


def _equal_constants(gold: Value, left: Expr, answer: Value, right: Expr) -> tuple[Outcome, str]:
    if left.is_infinite or right.is_infinite:
        return "reject", "only one of them is finite, or the sign differs"
    if left.is_Rational and right.is_Rational and max(left.p, left.q, right.p, right.q) > _BEYOND_FLOATS:
        return "reject", "different exact values"
    first, second = at(left, {}), at(right, {})
    if first is None or second is None:
        return "undecided", "no value"
    exact = left.is_Rational and right.is_Rational
    if not exact and _close(first, second, sympy.Float("1e-20")) and gold.quantum is None and answer.quantum is None:
        return _TO_THE_LAST_DIGIT[surely(left, right, {})]
    if (first[1] == 0) != (second[1] == 0) and _holds_odd_root(left, right):
        return "undecided", "an odd root of a negative number"
    if first[1] != 0 or second[1] != 0:
        far = not _close(first, second, sympy.Float("0.01"))
        return ("reject", "different values") if far or not _inexact(gold, answer) else ("undecided", "close")
    key_number = Number(_fraction(left, first[0]), gold.quantum, gold.digits, gold.marked, gold.percent)
    two = Number(_fraction(right, second[0]), answer.quantum, answer.digits, answer.marked, answer.percent)
    low, high = sorted((abs(key_number.value), abs(two.value)))
    if key_number.percent != two.percent and abs(100 * low - high) <= high / 10**12:
        return "undecided", "only one of them is in per cent"
    outcome, reason = compare(key_number, two)
    if outcome == "reject" and (gold.loose or answer.loose) and _close(first, second, sympy.Float("0.01")):
        return "undecided", "close"
    return outcome, reason


def _holds_odd_root(*exprs: Expr) -> bool:
    powers = {power for expr in exprs for power in expr.atoms(sympy.Pow) if power.exp.is_Rational}
    return any(power.base.is_negative and power.exp.q % 2 == 1 and power.exp.q > 1 for power in powers)


def _inexact(gold: Value, answer: Value) -> bool:
    return bool(gold.loose or answer.loose or gold.quantum or answer.quantum)


def _fraction(exact: Expr, approximate: Expr) -> Fraction:
    if exact.is_Rational:
        return Fraction(int(exact.p), int(exact.q))
    rational = sympy.Rational(approximate)
    return Fraction(int(rational.p), int(rational.q))


_TO_THE_LAST_DIGIT: Mapping[bool | None, tuple[Outcome, str]] = {
    True: ("accept", "equal values"),
    False: ("reject", "different, if only a little"),
    None: ("undecided", "close, and no more digits to be had"),
}


def agree(left: Expr, right: Expr) -> tuple[Outcome, str]:
    """Compares two expressions at the points."""
    imaginary = left.has(sympy.I) or right.has(sympy.I)
    names = tuple(sorted(free(left) | free(right), key=str))
    functions = None if imaginary else functions_of(left, right, names)
    other = alone = whole = 0
    agreed: list[Point] = []
    for point, numbers in zip(_points(names), _doubles(names), strict=True):
        same = same_value(functions, numbers) if functions else None
        if same is None or (same and len(agreed) < SLOW_LOOKS):
            first, second = at(left, point), at(right, point)
            if first is None or second is None:
                continue
            if not imaginary and (first[1] != 0 or second[1] != 0):
                alone += one_is_real(first, second, point)
                continue
            close = _close(first, second, TOLERANCE)
            functions = None if same and not close else functions
            same = close
        if same:
            agreed.append(point)
            whole += all(value.is_Integer for value in point.values())
        else:
            other += 1
            if other >= SURE and not agreed:
                return _nowhere(left, right)
    if agreed and alone:
        return "undecided", "equal where both are real, but only one is real elsewhere"
    if not other and not alone:
        return _everywhere(left, right, agreed, functions)
    if other >= ENOUGH_APART and len(agreed) == whole <= 1:
        return "reject", "different at all points but whole ones"
    return "undecided", "equal at some points only" if agreed else "defined at too few points"


def _everywhere(left: Expr, right: Expr, agreed: list[Point], functions: Functions | None) -> tuple[Outcome, str]:
    beyond = look_further(left, right, lambda first, second: _close(first, second, TOLERANCE), functions)
    if beyond is None:
        return "undecided", "equal near 0, but not everywhere"
    agreed = [*agreed, *beyond]
    if len(agreed) < ENOUGH:
        return "undecided", "equal at some points only" if agreed else "defined at too few points"
    looks = [surely(left, right, point) for point in agreed[:MOST_LOOKS]]
    if False in looks:
        return "undecided", "different, if only a little"
    if looks.count(True) < SECOND_LOOKS:
        return "undecided", "equal, but no more digits to be had"
    return "accept", "equal at all points"


def _nowhere(left: Expr, right: Expr) -> tuple[Outcome, str]:
    beyond = further(left, right, search=False) if has_kinks(left, right) else None
    for side in (beyond.far, *(side.points for side in beyond.sides)) if beyond else ():
        values = [(at(left, point), at(right, point)) for point in side]
        same = [
            first_value is not None and two is not None and _close(first_value, two, TOLERANCE)
            for first_value, two in values
        ]
        if sum(same) > 1:
            return "undecided", "equal at some points only"
    return "reject", "different at all points"


def look_further(
    left: Expr, right: Expr, same: Callable[[Parts, Parts], bool], functions: Functions | None = None
) -> list[Point] | None:
    """Points beyond those near 0 at which two expressions are `same`, or equal `functions`; None unless everywhere."""
    imaginary = left.has(sympy.I) or right.has(sympy.I)
    names = sorted(free(left) | free(right), key=str)
    beyond = further(left, right)
    agreed: list[Point] = []
    for side in (*(KinkSide([point]) for point in beyond.far), *beyond.sides):
        evaluated = False
        for point in side.points:
            if functions and same_value(functions, [float(point[name]) for name in names]):
                agreed.append(point)
                evaluated = True
                continue
            first, second = at(left, point), at(right, point)
            if first is None or second is None:
                continue
            if imaginary or first[1] == second[1] == 0:
                if not same(first, second):
                    return None
                agreed.append(point)
            elif one_is_real(first, second, point) and not side.of_sign:
                return None
            evaluated = True
        if side.needed and not evaluated:
            return None
    for point in beyond.complex:
        first, second = at(left, point), at(right, point)
        if first is None or second is None or not same(first, second):
            return None
    return agreed


def real_together(left: Expr, right: Expr) -> bool:
    """Checks whether two expressions are real at the same points."""
    for point in points(left.free_symbols | right.free_symbols):
        first, second = at(left, point), at(right, point)
        if first is not None and second is not None and one_is_real(first, second, point):
            return False
    return look_further(left, right, lambda first, second: True) is not None


def surely(left: Expr, right: Expr, point: Point) -> bool | None:
    """Compares at a point in all digits of a second evaluation; None where impossible."""
    try:
        first, second = (evaluate(expr, point, SURE_DIGITS) for expr in (left, right))
    except OverflowError:
        return None
    if first is None or second is None:
        return _exactly(left, right, point)
    with mpmath.workdps(SURE_DIGITS):
        return bool(abs(first - second) <= mpmath.mpf(SURE_TOLERANCE) * max(abs(first), abs(second)))


def _exactly(left: Expr, right: Expr, point: Point) -> bool | None:
    try:
        apart = (left.xreplace(dict(point)) - right.xreplace(dict(point))).evalf(DIGITS, maxn=SURE_DIGITS)
        size = left.evalf(DIGITS, subs=dict(point), maxn=SURE_DIGITS)
    except (ValueError, TypeError, ArithmeticError, AttributeError):
        return None
    if not apart.is_number or not size.is_number or apart.has(sympy.nan, sympy.zoo, sympy.oo):
        return None
    return bool(abs(apart) <= sympy.Float("1e-100") * (1 + abs(size)))


def one_is_real(first: tuple[Expr, Expr], second: tuple[Expr, Expr], point: Mapping[Expr, Expr]) -> bool:
    """Checks whether only one value is real, with whole-number parameters whole."""
    whole = all(value.is_Integer for name, value in point.items() if str(name) in WHOLE_NAMES)
    return whole and (first[1] == 0) != (second[1] == 0)


def _near(left: Expr, right: Expr) -> bool:
    for point in points(left.free_symbols | right.free_symbols):
        first, second = at(left, point), at(right, point)
        if first is not None and second is not None and _close(first, second, sympy.Float("0.01")):
            return True
    return False


def points(symbols: set[Expr]) -> Sequence[Mapping[Expr, Expr]]:
    """Fixed points, equal in every process: reals in three ranges and whole numbers, in turn."""
    return _points(tuple(sorted(symbols, key=str)))


@lru_cache(maxsize=256)
def _points(names: tuple[Expr, ...]) -> Sequence[Mapping[Expr, Expr]]:
    return tuple(_drawn(names))


@lru_cache(maxsize=256)
def _doubles(names: tuple[Expr, ...]) -> Sequence[Sequence[float]]:
    return tuple(tuple(float(point[name]) for name in names) for point in _points(names))


def _drawn(names: tuple[Expr, ...]) -> Iterator[Mapping[Expr, Expr]]:
    draw = random.Random(20260321)
    for turn in range(WHOLE_POINTS):
        for low, high in ((0.05, 0.95), (1.1, 4.0), (-3.0, -0.2))[: 3 if turn < REAL_TURNS else 0]:
            yield {name: sympy.Rational(round(draw.uniform(low, high) * 10**6), 10**6) for name in names}
        values = draw.sample(range(2, 10 + len(names)), len(names))
        yield {name: sympy.Integer(value) for name, value in zip(names, values, strict=True)}


def at(expr: Expr, point: Mapping[Expr, Expr]) -> tuple[Expr, Expr] | None:
    """Real and imaginary part at a point, rounding rests as 0; None without a finite value."""
    if not expr.is_commutative:
        return None
    try:
        quick = evaluate(expr, point)
    except OverflowError:
        return None
    if quick is not None:
        small = abs(quick.imag) <= 1e-15 * abs(quick.real)
        return sympy.Float(quick.real, DIGITS), sympy.Integer(0) if small else sympy.Float(quick.imag, DIGITS)
    if point and all(value.is_Integer and abs(value) <= MAX_EXACT for value in point.values()):
        expr, point = expr.xreplace(dict(point)), {}
        if expr.is_Rational:
            return expr, sympy.Integer(0)
    try:
        value = expr.evalf(DIGITS, subs=dict(point), maxn=80)
    except (ValueError, TypeError, ArithmeticError, AttributeError):
        return None
    if not value.is_number or value.has(sympy.nan, sympy.zoo, sympy.oo, -sympy.oo):
        return None
    parts = [_settled(part) for part in value.as_real_imag()]
    real, imaginary = parts
    if real is None or imaginary is None:
        return None
    return real, sympy.Integer(0) if abs(imaginary) <= TOLERANCE * abs(real) else imaginary


def _settled(part: Expr) -> Expr | None:
    """A part with significant digits; 0 for a tiny rest of cancellation; else None."""
    if part.is_Float and part._prec < SIGNIFICANT_BITS:
        return sympy.Integer(0) if abs(part) < TOLERANCE else None
    return part if part.is_Float or part.is_Rational else None


def _close(first: tuple[Expr, Expr], second: tuple[Expr, Expr], tolerance: Expr) -> bool:
    scale = max(abs(first[0]) + abs(first[1]), abs(second[0]) + abs(second[1]))
    apart = abs(first[0] - second[0]) + abs(first[1] - second[1])
    return bool(apart <= tolerance * scale)


def is_small(expr: Expr) -> bool:
    """Checks whether an expression may be expanded."""
    powers = (power for power in expr.atoms(sympy.Pow) if power.base.is_Add and power.exp.is_Integer)
    return expr.count_ops() <= MAX_OPERATIONS and all(abs(int(power.exp)) <= MAX_EXPANDED for power in powers)


def affine(expr: Expr, symbol: Expr) -> tuple[Expr, Expr] | None:
    """Slope and constant of an expression linear in a symbol."""
    slope = sympy.diff(expr, symbol)
    if slope == 0 or slope.has(symbol):
        slope = sympy.expand(slope) if is_small(slope) else slope
        if slope == 0 or slope.has(symbol):
            return None
    return slope, expr.xreplace({symbol: sympy.Integer(0)})
