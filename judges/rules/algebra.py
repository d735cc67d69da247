"""Comparison of two trees: values, lists, sets, tuples, regions, equations, matrices. Worker only.

- A bare list is a set of values unless one side names them; tuples are ordered. Several solutions (or, ±, a set,
  points, one name) must match exactly; one value of a plain list is undecided.
- Brackets of regions count, except for questions of monotony; without a question, all finite ends open instead of
  closed are undecided. Unsolved inequalities and equations match only their own form.
- A name before a value ("x =") is dropped when only one side has it; other names are undecided.
- Whole-number parameters and constants of integration may be renamed; with "for every integer" families are unions of
  arithmetic progressions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import sympy

from livek12.core.patterns import late
from livek12.judges.base import Outcome
from livek12.judges.rules import equations, expressions, trees
from livek12.judges.rules.kinks import WHOLE_NAMES
from livek12.judges.rules.numeric import by_a_change_of_units
from livek12.judges.rules.regions import LineSpan, Region, is_numeric, region_of
from livek12.judges.rules.trees import Node
from livek12.judges.rules.units import conversion
from livek12.judges.rules.unknowns import components_of
from livek12.judges.rules.values import TooBig, Unsupported, Value, value_of

Said = tuple[Outcome, str]


def _is_complete(node: Node) -> bool:
    names = {entry[1] for entry in node[2] if entry[0] == "named"}
    return node[1] == "or" or (len(names) == 1 and all(entry[0] == "named" for entry in node[2]))


def _based(gold: Node, answer: Node) -> Said:
    if answer[0] == "num" and gold[0] == "based" and gold[2] != "10" and gold[1] == answer[1]:
        return "accept", "the same digits, the base left out"
    if gold[0] != answer[0]:
        return "undecided", "a number in a base beside another"
    values = [int(node[1], int(node[2])) for node in (gold, answer)]
    if gold[2] == answer[2]:
        return ("accept", "the same number") if values[0] == values[1] else ("reject", "other digits")
    return ("undecided", "another base") if values[0] == values[1] else ("reject", "another number")


def _one_is_huge(gold: Node, answer: Node) -> Said:
    sizes = []
    for node in (gold, answer):
        try:
            value = value_of(trees.as_quotient(node)).expr
            sizes.append("small" if value.is_Rational else "")
        except TooBig:
            sizes.append("huge" if _is_tower(node) else "")
    return ("reject", "another size") if sorted(sizes) == ["huge", "small"] else ("undecided", "a power too big")


def _is_tower(node: Node) -> bool:
    return (node[0] == "num" and "." not in node[1]) or (node[0] == "pow" and all(map(_is_tower, node[1:])))


def _agree_all(relation: Node) -> bool:
    values = [value_of(side) for side in relation[2]]
    return all(expressions.equal(values[0], value)[0] == "accept" for value in values[1:])


def entries(gold: Node, answer: Node) -> tuple[list[Node], list[Node]]:
    """The entries of tuples and matrices; a tuple may be a single row or column."""
    flat = [[entry for row in node[1] for entry in row] if node[0] == "matrix" else node[1] for node in (gold, answer)]
    return flat[0], flat[1]


def _worst(results: Sequence[Said]) -> Said:
    return min(results, key=lambda result: ("reject", "undecided", "accept").index(result[0]), default=("accept", ""))


def _is_vector(node: Node) -> bool:
    return node[0] != "matrix" or len(node[1]) == 1 or all(len(row) == 1 for row in node[1])


_GREATER = late(r"max|larg|great|最大|较大|최대|최댓", re.IGNORECASE)
_LESS = late(r"min|small|least|最小|较小|최소|최솟", re.IGNORECASE)


def _named_by_size(nodes: list[Node]) -> bool | None:
    sizes: dict[str, Any] = {}
    for node in nodes:
        kinds = (("greater", _GREATER), ("less", _LESS)) if node[0] == "named" else ()
        for kind in (kind for kind, pattern in kinds if pattern.search(node[1])):
            value = expressions.at(value_of(node[3]).expr, {})
            if value is not None and value[1] == 0:
                sizes[kind] = value[0]
    return bool(sizes["greater"] > sizes["less"]) if len(nodes) == len(sizes) == 2 else None


def _may_be_interval(pair: Node) -> bool:
    ends = [expressions.at(value_of(end).expr, {}) for end in pair[1]] if len(pair[1]) == 2 else []
    numbers = [end[0] for end in ends if end is not None and end[1] == 0]
    return len(ends) == 2 and not (len(numbers) == 2 and bool(numbers[0] >= numbers[1]))


_UNCLEAR: Said = ("undecided", "a relation beside another")
MAX_VALUES = 12
MIN_LETTERS = 3
_RATES = frozenset({"omega", "f", "nu", "t"})
"""Names of a frequency or period, which are taken for one another."""
_ONE_KIND = frozenset({"tuple", "interval", "matrix"})
_REALS: Node = ["const", "reals"]
_REGIONS = frozenset({"tuple", "interval", "union", "matrix"})
_CONTAINERS = frozenset({"tuple", "list", "set", "matrix"})
_NUMBERS = frozenset({"num", "div", "root", "percent"})


def _on_unknown_grounds(gold: Node, answer: Node) -> bool:
    values = [trees.unnamed(node) for node in (gold, answer)]
    return any(value[0] not in _CONTAINERS and trees.holds_opaque(value) for value in values)


def _matrix_of(node: Node) -> Node:
    """The matrix that a power of a letter equals: A^{-1} = …."""
    if node[0] != "rel" or {*node[1]} != {"="} or node[2][0][0] != "pow" or node[2][0][1][0] != "sym":
        return node
    last: Node = node[2][-1]
    return last if trees.holds(last, "matrix") else node


class Comparer:
    """Compares the trees of one key and one answer."""

    def __init__(
        self, open_ends: bool = False, ends_count: bool = False, all_asked: bool = False, solutions: bool = False
    ) -> None:
        """Sets the demands of the question.

        Args:
            open_ends: open and closed intervals are equal.
            ends_count: brackets count: the question is known and does not ask for monotony.
            all_asked: all values are required.
            solutions: of a differential equation.
        """
        self.open_ends = open_ends
        self.ends_count = ends_count
        self.all_asked = all_asked
        self.solutions = solutions
        self.family = False
        self.intervals = False
        self.bound: frozenset[str] = frozenset()

    def compare(self, gold: Node, answer: Node) -> Said:
        """The outcome and its reason."""
        try:
            result = self._compare(gold, answer)
            return (
                ("undecided", expressions.ONLY_ITSELF)
                if result[0] == "reject" and _on_unknown_grounds(gold, answer)
                else result
            )
        except Unsupported as reason:
            return "undecided", str(reason)

    def _compare(self, gold: Node, answer: Node) -> Said:
        if (finite := (self._finite(gold), self._finite(answer))) != (gold, answer):
            gold, answer = finite
        gold, answer = _matrix_of(gold), _matrix_of(answer)
        kinds = {gold[0], answer[0]}
        if gold == answer:
            return "accept", "same expression"
        named = trees.named_sets(gold), trees.named_sets(answer)
        if kinds & {"union", "without"} and named[0] is not None and named[1] is not None:
            return ("accept", "the same sets") if named[0] == named[1] else ("undecided", "other sets")
        if "named" in kinds and not {"named", "tuple"} >= kinds:
            if trees.as_count(gold) != gold:
                return "undecided", "a point or a number of choices"
            answer = trees.as_count(answer)
            kinds = {gold[0], answer[0]}
        if gold == _REALS and answer == ["sym", "R"]:
            return "accept", "the real numbers"
        if "named" in kinds and "rel" in kinds and (trees.has_sign(gold) or trees.has_sign(answer)):
            both = [[equations.as_equation(one) for one in trees.expand(node)] for node in (gold, answer)]
            return self.lists(both[0], both[1], complete=True)
        if "given" in kinds:
            return self._conditioned(gold, answer)
        if "family" in kinds:
            self.family = True
            return self._compare(*(node[2] if node[0] == "family" else node for node in (gold, answer)))
        if trees.EMPTY in (gold, answer):
            return self._empty(answer if gold == trees.EMPTY else gold)
        if "unit" in kinds and "list" not in kinds:
            return self._units(gold, answer)
        bounds = trees.bounds_of(gold), trees.bounds_of(answer)
        if ("bond" in kinds or bool(bounds[0]) != bool(bounds[1])) and (result := self._bounds(gold, answer, *bounds)):
            return result
        golds_named, answers_named = trees.named_entries(gold), trees.named_entries(answer)
        if (golds_named or answers_named) and {"list"} & kinds:
            listed = [
                ["list", "and", named] if named else node
                for named, node in ((golds_named, gold), (answers_named, answer))
            ]
            return self._compare(*listed)
        if "named" in kinds:
            return self._named(gold, answer)
        conditions = [entry[0] == "rel" for node in (gold, answer) if node[0] == "list" for entry in node[2]]
        if kinds == {"list", "tuple"} and not (conditions and all(conditions)):
            return self.list_and_tuple(gold, answer)
        if kinds == {"list", "interval"}:
            ends = [node[1:3] if node[0] == "interval" else node[2] for node in (gold, answer)]
            if self.in_order(*ends)[0] == "accept":
                return "undecided", "two values for an interval"
        if kinds == {"tuple"} and (result := self.in_order(gold[1], answer[1]))[0] != "undecided":
            return result
        regions = region_of(gold), region_of(answer)
        if regions[0] is not None and regions[1] is not None:
            result = self._regions(regions[0], regions[1])
            return self._relations(gold, answer) if result[0] == "undecided" and kinds == {"rel"} else result
        golds, answers = (trees.grouped(trees.expand(node)) for node in (gold, answer))
        if len(golds) > 1 or len(answers) > 1 or kinds & trees.HOLDERS:
            return self.lists(golds, answers, all(_is_complete(node) for node in (gold, answer) if node[0] == "list"))
        return self._single(gold, answer)

    def _finite(self, node: Node) -> Node:
        if node[0] == "union" and all(part[0] == "set" for part in node[1]):
            return ["set", [entry for part in node[1] for entry in part[1]]]
        if node[0] != "without" or not node[1][0] == node[2][0] == "set":
            return node
        kept = []
        for entry in node[1][1]:
            outcomes = {self._pair(entry, gone) for gone in node[2][1]}
            if outcomes != {"reject"} and "accept" not in outcomes:
                raise Unsupported("a difference of sets")
            kept += [] if "accept" in outcomes else [entry]
        return ["set", kept] if kept else trees.EMPTY

    @staticmethod
    def _empty(other: Node) -> Said:
        if other[0] == "set" or (other[0] in {"num", "tuple", "interval"}):
            return "reject", "only one of them is empty"
        return "undecided", "the empty set beside another kind of answer"

    def _single(self, gold: Node, answer: Node) -> Said:
        kinds = {gold[0], answer[0]}
        if kinds == {"rel"}:
            return self._relations(gold, answer)
        if gold[0] == "matrix" or kinds == {"matrix", "tuple"}:
            gold, answer = (trees.rows_of(node) for node in (gold, answer))
            kinds = {gold[0], answer[0]}
        if kinds <= {"tuple", "matrix"}:
            if kinds == {"matrix"} and [len(row) for row in gold[1]] != [len(row) for row in answer[1]]:
                return "reject", "another shape"
            if kinds == {"matrix", "tuple"} and not all(_is_vector(node) for node in (gold, answer)):
                return "reject", "a matrix beside a row of numbers"
            return self.in_order(*entries(gold, answer))
        if kinds == {"congruent"}:
            return equations.compare_congruences(gold, answer)
        if kinds == {"cases"}:
            return self._pieces(gold[1], answer[1])
        if "cases" in kinds:
            pieces = [[row[0] for row in node[1]] if node[0] == "cases" else [node] for node in (gold, answer)]
            other = all(self.compare(mine, theirs)[0] == "reject" for mine in pieces[0] for theirs in pieces[1])
            return ("reject", "none of the pieces") if other else ("undecided", "pieces beside a value")
        if "based" in kinds:
            return _based(gold, answer)
        if kinds == {"ratio"}:
            return self.ratios(gold[1], answer[1])
        if gold[0] == "rel":
            return equations.equation_and_value(gold, answer)
        if answer[0] == "rel" and answer[1] == ["="] * len(answer[1]) and _agree_all(answer):
            return self._compare(gold, answer[2][-1])
        if "tuple" in kinds and (components := self._components(gold, answer)):
            return components
        if kinds & _REGIONS and (kinds & _NUMBERS or trees.holds(gold, "interval") != trees.holds(answer, "interval")):
            return "reject", "only one of them is a number"
        if kinds & {"rel", "tuple", "interval", "union", "builder"}:
            return "undecided", "another kind of answer"
        if trees.holds(answer, "interval") and not trees.holds(gold, "interval"):
            return "reject", "only one of them is a number"
        try:
            values = value_of(trees.as_quotient(gold)), value_of(trees.as_quotient(answer))
        except TooBig:
            return _one_is_huge(gold, answer)
        result = self._scalars(*values)
        if "ratio" in kinds and result[0] == "accept" and any(value.expr.is_Integer for value in values):
            return "undecided", "a ratio beside a whole number"
        other = values[1].expr
        if result[0] == "reject" and (ends := trees.as_range(gold)) and other.is_number and ends[0] <= other <= ends[1]:
            return "undecided", "a number within what may be a range"
        return result

    def _components(self, gold: Node, answer: Node) -> Said | None:
        pair, total = (gold[1], answer) if gold[0] == "tuple" else (answer[1], gold)
        if total[0] in trees.NOT_SCALAR or (parts := components_of(value_of(total).expr, len(pair))) is None:
            return None
        results = [self._scalars(value_of(entry), Value(part, part)) for entry, part in zip(pair, parts, strict=True)]
        return _worst(results)

    # --- scalars ------------------------------------------------------------------------------------------------

    def _scalars(self, gold: Value, answer: Value, shifts: bool = True) -> Said:
        """Equal values; with `shifts`, up to whole steps of a family."""
        if gold.is_matrix or answer.is_matrix:
            return ("accept", "the same matrix") if gold.expr == answer.expr else ("undecided", "matrices")
        if not (gold.expr.is_commutative and answer.expr.is_commutative):
            return expressions.equal(gold, answer, self.bound)
        letters = expressions.free(gold.expr), expressions.free(answer.expr)
        only = [letters[0] - letters[1], letters[1] - letters[0]]
        renamed = all(len(mine) == 1 and str(next(iter(mine))) in WHOLE_NAMES for mine in only)
        if renamed:
            answer = answer.renamed(next(iter(only[1])), next(iter(only[0])))
        result = equations.same_solutions(gold.expr, answer.expr)
        if result is not None and self.solutions:
            return result
        if self.integrated(gold, answer):
            return "accept", "equal but for the constant"
        outcome, reason = expressions.equal(gold, answer, self.bound)
        parameter = next((name for name in letters[0] if str(name) in WHOLE_NAMES), None)
        family = self.family or (parameter is not None and equations.is_periodic(gold.expr, parameter))
        if outcome == "accept" and renamed and not family:
            return "undecided", "other symbols"
        if outcome == "reject" and parameter is not None and family:
            outcome, reason = equations.shifted(gold.expr, answer.expr, parameter)
            if outcome == "accept" and not (self.family and shifts):
                return "undecided", "a shifted family"
        alike = letters[0] == expressions.free(answer.expr)
        if outcome == "reject" and alike and result is not None and result[0] == "accept":
            return "undecided", "equal but for the constants, if they are arbitrary"
        return outcome, reason

    @staticmethod
    def integrated(gold: Value, answer: Value) -> bool:
        """Checks for F + C with any constants C."""
        plain, names = [], set()
        for value in (gold, answer):
            constants = [name for name in expressions.free(value.expr) if str(name) in expressions.INTEGRATION]
            slope = sympy.diff(value.expr, constants[0]) if len(constants) == 1 else sympy.Integer(0)
            if slope != 1 and (slope != -1 or str(constants[0])[0] != "C"):
                return False
            plain.append(value.expr.xreplace({constants[0]: sympy.Integer(0)}))
            names.add(str(constants[0]))
        variables = {str(name) for name in plain[0].free_symbols}
        if plain[0].free_symbols != plain[1].free_symbols or not variables & expressions.VARIABLES:
            return False
        if not any(name.startswith("C") for name in names) or any(name[0].isupper() for name in variables):
            return False
        real = {name: sympy.Symbol(str(name), real=True) for name in plain[0].free_symbols}
        plain = [side.xreplace(real) for side in plain]
        slopes = [[sympy.diff(side, name) for name in sorted(plain[0].free_symbols, key=str)] for side in plain]
        same = all(expressions.agree(mine, theirs)[0] == "accept" for mine, theirs in zip(*slopes, strict=True))
        return same and expressions.real_together(plain[0], plain[1])

    def _units(self, gold: Node, answer: Node) -> Said:
        units = [node[2] if node[0] == "unit" else "" for node in (gold, answer)]
        words = [node[3] if node[0] == "unit" else "" for node in (gold, answer)]
        values = [node[1] if node[0] == "unit" else node for node in (gold, answer)]
        doubt = "the units differ" if all(units) and units[0] != units[1] else ""
        if units[0] != units[1] and units[0] not in {"", "deg^1"}:
            doubt = doubt or "the key has a unit, the answer none"
        chained = any(value[0] == "named" and len(value) > 4 for value in values)
        plain = not chained and not words[1]
        if doubt and not units[1] and plain and expressions.is_name_of_quantity(trees.unnamed(values[1])):
            return "reject", "a name for a quantity"
        if doubt and units[0] and plain and self._is_unevaluated(*map(trees.unnamed, values)):
            return "reject", "a formula for a quantity"
        if all(units) and conversion(units[1], units[0])[0] == "other":
            return "reject", f"other units: {units[0]} and {units[1]}"
        if doubt:
            unexplained = not all(units) and plain and self._are_apart(*map(trees.unnamed, values))
            return ("reject", "another value, without its unit") if unexplained else ("undecided", doubt)
        outcome, reason = self._compare(*values)
        if all(words) and words[0] != words[1] and outcome == "accept":
            return "undecided", "different words behind the value"
        if words[1] and outcome == "reject" and trees.holds_symbol(values[1]):
            return "undecided", "words behind letters, which may be words too"
        return outcome, reason

    @staticmethod
    def _are_apart(gold: Node, answer: Node) -> bool:
        """Checks for two numbers that no change of units makes one."""
        if {gold[0], answer[0]} & trees.NOT_SCALAR or trees.holds_symbol(gold) or trees.holds_symbol(answer):
            return False
        numbers = [expressions.at(value_of(side).expr, {}) for side in (gold, answer)]
        sizes = [Fraction(str(number[0])) for number in numbers if number is not None and number[1] == 0]
        return len(sizes) == len(numbers) and 0 not in sizes and not by_a_change_of_units(*sizes)

    @staticmethod
    def _is_unevaluated(gold: Node, answer: Node) -> bool:
        if {gold[0], answer[0]} & trees.NOT_SCALAR or trees.holds_symbol(gold) or not trees.holds_symbol(answer):
            return False
        sides = value_of(gold), value_of(answer)
        return (
            expressions.is_formula(sides[1].expr) and expressions.agree(*(side.expr for side in sides))[0] == "reject"
        )

    def _named(self, gold: Node, answer: Node) -> Said:
        """Drops a name on one side; f(x) and f(z) are one function."""
        if gold[0] != "named" or answer[0] != "named":
            other = answer if gold[0] == "named" else gold
            if other[0] == "rel":
                return self._named_and_equation(gold, answer)
            if gold[0] == "named" and answer == gold[2] and answer != gold[3]:
                return "reject", "only the name of what is asked for"
            return self._compare(trees.unnamed(gold), trees.unnamed(answer))
        bound = trees.bound_variable(gold[1]), trees.bound_variable(answer[1])
        if bound[0]:
            self.bound = frozenset({bound[0][1]})
        if gold[1] == answer[1]:
            result = self._compare(gold[3], answer[3])
            return (
                ("undecided", "another step to the value")
                if result[0] == "accept" and self._apart(gold, answer)
                else result
            )
        heads = {bound[1] is None and answer[1], bound[0] is None and gold[1]} - {False}
        function, argument = next((entry for entry in bound if entry), ("", ""))
        if heads in ({"y"}, {function}) and argument and argument not in heads:
            result = self._compare(gold[3], answer[3])
            if result[0] == "accept" and str(argument) in map(str, value_of(gold[3]).expr.free_symbols):
                return result
        if bound[0] and bound[1] and bound[0][0] == bound[1][0]:
            if trees.holds_symbol(answer[3], bound[0][1]) or trees.holds_symbol(gold[3], bound[1][1]):
                return "undecided", "a function of another variable"
            return self._compare(gold[3], trees.substituted(answer[3], {bound[1][1]: ["sym", bound[0][1]]}))
        if gold[2] and answer[2]:
            result = equations.compare_equations(equations.as_equation(gold), equations.as_equation(answer))
            both = gold[2][0] == answer[2][0] == "sym" and value_of(gold[3]).expr.free_symbols
            if result[0] == "accept" or (result[0] == "reject" and both):
                return result
        return self._other_names(gold, answer)

    def _other_names(self, gold: Node, answer: Node) -> Said:
        """E and E_1 with one formula are equal; names with values that are no multiples differ."""
        doubt: Said = ("undecided", "another name")
        plain = [bool(node[2]) and node[2][0] in {"sym", "opaque"} for node in (gold, answer)]
        names = [
            trees.name_of(node[2]) if simple else node[1] for node, simple in zip((gold, answer), plain, strict=True)
        ]
        values = [gold[3], answer[3]]
        sides = [trees.symbols(node[2]) if node[2] and node[2][0] != "opaque" else set() for node in (gold, answer)]
        related = sides[0] & sides[1] | (sides[0] | sides[1]) & trees.symbols(values)
        arguments = {bound[1] for node in (gold, answer) if (bound := trees.bound_variable(node[1]))}
        named_inside = related - arguments or any(trees.holds_symbol(values, name) for name in names)
        chained = max(len(gold), len(answer)) > 4
        unread = not gold[2] or not answer[2]
        if named_inside and not unread:
            return doubt
        outcome, reason = self._compare(gold[3], answer[3])
        if outcome != "accept" and (chained or reason == expressions.A_NAME):
            return doubt
        if unread:
            return (outcome, reason) if outcome == "reject" else doubt
        exprs = [value_of(value).expr for value in values]
        if outcome == "undecided" and not trees.holds_opaque(values) and (other := expressions.other_kind(*exprs)):
            return "reject", other
        if outcome == "undecided" and (
            not all(plain)
            or trees.base_letter(names[0]) == trees.base_letter(names[1])
            or trees.holds_opaque(values)
            or not expressions.without_common_letter(*exprs)
        ):
            return doubt
        if outcome == "accept":
            alike = trees.alike_but_for_index(*names) if exprs[0].free_symbols else False
            alike = not related and (alike or self._is_one_formula(names, exprs[0]))
            return (outcome, reason) if alike else doubt
        directed = [trees.is_directed(value) for value in values]
        if directed[0] != directed[1] or (exprs[0].free_symbols and equations.proportion(*exprs) is not None):
            return doubt
        return "reject", "another name, and another value"

    @staticmethod
    def _is_one_formula(names: Sequence[str], value: Any) -> bool:
        """Checks for a value that no other quantity has by chance."""
        letters = [trees.base_letter(name) for name in names]
        return len(value.free_symbols) >= MIN_LETTERS and letters[0] != letters[1] and not _RATES.issuperset(letters)

    def _apart(self, gold: Node, answer: Node) -> bool:
        earlier = [node[4] if len(node) > 4 else [] for node in (gold, answer)]
        if len(earlier[0]) != len(earlier[1]) or not trees.holds_symbol(gold[3]):
            return False
        return any(self.compare(*pair)[0] == "reject" for pair in zip(*earlier, strict=True))

    @staticmethod
    def _named_and_equation(gold: Node, answer: Node) -> Said:
        """X = 3 and 2x = 6 differ in form; y = 2x and 2x - y = 0 are equal."""
        result = equations.compare_equations(equations.as_equation(gold), equations.as_equation(answer))
        constant = gold[0] == "named" and not value_of(gold[3]).expr.free_symbols
        if result[0] == "accept" and constant:
            return "undecided", "an equation that is still to be solved"
        return result

    # --- relations ----------------------------------------------------------------------------------------------

    def _conditioned(self, gold: Node, answer: Node) -> Said:
        """Values under conditions, which are no reason to reject."""
        defined = trees.definitions(gold) | trees.definitions(answer)
        values = [node[1] if node[0] == "given" else node for node in (gold, answer)]
        result = self._compare(*values)
        if result[0] != "accept" and defined:
            result = self._compare(*(trees.substituted(value, defined) for value in values))
        conditions = [
            [part for part in (node[2] if node[0] == "given" else []) if part[0] != "named" or part[1] not in defined]
            for node in (gold, answer)
        ]
        same = conditions[0] == conditions[1]
        return result if same or result[0] != "accept" else ("undecided", "under another condition")

    def _bounds(self, gold: Node, answer: Node, gold_bounds: list[Node], answer_bounds: list[Node]) -> Said | None:
        """A bound beside a value that is not the bound, or two limits; None for other kinds of values."""
        if gold[0] == answer[0] == "bond" and gold[1] == answer[1]:
            results = [self.compare(*pair)[0] for pair in zip(gold[2:], answer[2:], strict=True)]
            if results == ["accept", "accept"]:
                return "accept", "the same relation"
            return ("reject", "another limit") if results == ["accept", "reject"] and gold[1] == "->" else _UNCLEAR
        golds, answers = gold_bounds or [trees.unnamed(gold)], answer_bounds or [trees.unnamed(answer)]
        if any(value[0] in trees.NOT_SCALAR for value in [*golds, *answers]):
            return _UNCLEAR if "bond" in {gold[0], answer[0]} else None
        if ["bond", "prop"] in (gold[:2], answer[:2]):
            return _UNCLEAR
        whole = any(trees.symbols(node) & WHOLE_NAMES for node in (gold, answer) if trees.bounds_of(node))
        other = all(self.compare(mine, theirs)[0] == "reject" for mine in golds for theirs in answers)
        return ("reject", "not the bound") if other and not whole else _UNCLEAR

    def _relations(self, gold: Node, answer: Node) -> Said:
        if gold[1] == ["="] and answer[1] == ["="]:
            return equations.compare_equations(gold, answer)
        if "=" in gold[1] or "=" in answer[1]:
            return "undecided", "relations"
        return equations.compare_inequalities(gold, answer)

    def _regions(self, gold: Region, answer: Region) -> Said:
        if gold.variable and answer.variable and gold.variable != answer.variable:
            return "undecided", "other symbols"
        self.intervals = not (gold.variable or answer.variable)
        normal = is_numeric(gold) and is_numeric(answer)
        if len(gold.spans) != len(answer.spans):
            return ("reject", "other intervals") if normal else ("undecided", "another number of intervals")
        table = [[self._same_span(mine, theirs) for theirs in answer.spans] for mine in gold.spans]
        columns = [list(column) for column in zip(*table, strict=True)]
        if all("accept" in line for line in [*table, *columns]):
            if answer.solved or not gold.solved:
                return "accept", "the same region"
            return "undecided", "an inequality that is still to be solved"
        if any(set(row) == {"reject"} for row in table):
            return "reject", "other ends"
        return "undecided", "the same ends with other brackets, or unclear ends"

    def _same_span(self, gold: LineSpan, answer: LineSpan) -> Outcome:
        ends = {
            self._scalars(gold.low, answer.low, shifts=False)[0],
            self._scalars(gold.high, answer.high, shifts=False)[0],
        }
        if ends != {"accept"}:
            return "reject" if "reject" in ends else "undecided"
        flips = [
            mine != theirs
            for end, mine, theirs in (
                (gold.low, gold.low_closed, answer.low_closed),
                (gold.high, gold.high_closed, answer.high_closed),
            )
            if not end.expr.is_infinite
        ]
        if not any(flips) or self.open_ends:
            return "accept"
        if self.ends_count:
            return "reject"
        alike = gold.low_closed == gold.high_closed and answer.low_closed == answer.high_closed
        return "undecided" if self.intervals and all(flips) and (len(flips) == 1 or alike) else "reject"

    def _pieces(self, golds: list[list[Node]], answers: list[list[Node]]) -> Said:
        if len(golds) != len(answers):
            return "undecided", "another number of pieces"
        left = list(answers)
        for value, condition in golds:
            match = next((entry for entry in left if self._same_condition(condition, entry[1])), None)
            if match is None:
                return "undecided", "other conditions"
            outcome, reason = self.compare(value, match[0])
            if outcome != "accept":
                return outcome, reason
            left.remove(match)
        return "accept", "the same pieces"

    def _same_condition(self, gold: Node | None, answer: Node | None) -> bool:
        if gold is None or answer is None or ["const", "otherwise"] in (gold, answer):
            return gold == answer
        return self.compare(gold, answer)[0] == "accept"

    # --- several values on each side ---

    def lists(self, golds: list[Node], answers: list[Node], complete: bool) -> Said:
        """Two lists of values; `complete`: each is all solutions."""
        if max(len(golds), len(answers)) > MAX_VALUES:
            return "undecided", "too many values"
        if trees.DOTS in [*golds, *answers]:
            same = len(golds) == len(answers) and all(
                (entry == trees.DOTS) == (two == trees.DOTS) for entry, two in zip(golds, answers, strict=True)
            )
            return (
                self.in_order(*([node for node in nodes if node != trees.DOTS] for nodes in (golds, answers)))
                if same
                else ("undecided", "an ellipsis")
            )
        if self.family and (
            result := equations.same_families(
                [trees.unnamed(node) for node in golds], [trees.unnamed(node) for node in answers]
            )
        ):
            return result
        names = [[node[1] for node in nodes if node[0] == "named"] for nodes in (golds, answers)]
        distinct = len(set(names[0])) == len(golds) == len(answers)
        if distinct and sorted(names[0]) == sorted(names[1]):
            by_name = {node[1]: node for node in answers}
            result = self.in_order(golds, [by_name[name] for name in names[0]])
            plain = [[trees.unnamed(node) for node in nodes] for nodes in (golds, answers)]
            if result[0] == "reject" and trees.numbered(names[0]) and self.as_sets(plain[0], plain[1])[0] != "reject":
                return "undecided", "the right values, numbered otherwise"
            return result
        letters = [{name.partition("_")[0] for name in mine} for mine in names]
        if letters[0] == letters[1] and len(letters[0]) == 1 and len(names[0] + names[1]) == len(golds + answers):
            golds, answers = ([trees.unnamed(node) for node in nodes] for nodes in (golds, answers))
            names, complete = [[], []], True
        outcome, reason = self.as_sets(golds, answers, complete)
        one_named = any(len(set(mine)) == len(nodes) > 1 for mine, nodes in zip(names, (golds, answers), strict=True))
        by_size = {_named_by_size(nodes) for nodes in (golds, answers)}
        ordered = outcome == "accept" and self.in_order(golds, answers)[0] == "accept"
        misnamed = one_named and not all(names) and not ordered and True not in by_size
        if outcome == "accept" and (False in by_size or misnamed):
            return "undecided", "the right values, perhaps of the wrong names"
        if outcome == "reject" and any(node[0] == "rel" and node[1][0] != "=" for node in [*golds, *answers]):
            return "undecided", "several conditions"
        return outcome, reason

    def _pair(self, gold: Node, answer: Node) -> Outcome:
        """One entry of each side; a nested set is no element."""
        if trees.is_set(gold) != trees.is_set(answer):
            return "reject"
        return self.compare(gold, answer)[0]

    def as_sets(self, golds: list[Node], answers: list[Node], complete: bool = False) -> Said:
        """Order-free comparison; an unmatched value on each side is a difference."""
        table = [[self._pair(mine, theirs) for theirs in answers] for mine in golds]
        columns = [list(column) for column in zip(*table, strict=True)]
        if all("accept" in line for line in [*table, *columns]):
            return "accept", "the same values"
        missing = any(set(row) == {"reject"} for row in table)
        extra = any(set(column) == {"reject"} for column in columns)
        points = all(trees.unnamed(node)[0] in _ONE_KIND for node in [*golds, *answers])
        whole = complete or self.all_asked or min(len(golds), len(answers)) > 1
        if (missing and extra) or (missing and whole) or (extra and (whole or points)):
            return "reject", "other values"
        return "undecided", "a part of the values, or more than the key has" if missing or extra else "values"

    def in_order(self, golds: Sequence[Node], answers: Sequence[Node]) -> Said:
        """Entry by entry."""
        if len(golds) != len(answers):
            return "reject", "another number of entries"
        worst = _worst([self.compare(*pair) for pair in zip(golds, answers, strict=True)])
        return worst if worst[0] != "accept" else ("accept", "entry by entry")

    def list_and_tuple(self, gold: Node, answer: Node) -> Said:
        """X = 1, y = 2 and (1, 2); points and one point."""
        entries = [[trees.unnamed(entry) for entry in node[-1]] for node in (gold, answer)]
        if any(node[0] in {"tuple", "interval", "rel"} for node in [*entries[0], *entries[1]]):
            both = [trees.expand(node) if node[0] == "list" else [node] for node in (gold, answer)]
            complete = all(_is_complete(node) for node in (gold, answer) if node[0] == "list")
            return self.lists(trees.grouped(both[0]), trees.grouped(both[1]), complete)
        result = self.in_order(*entries)
        unnamed_pair = gold[0] == "tuple" and not any(entry[0] == "named" for entry in answer[2])
        if result[0] == "accept" and unnamed_pair and _may_be_interval(gold):
            return "undecided", "two values for a point or an interval"
        if result[0] == "accept" or (gold[0] == "tuple" and result[0] == "reject"):
            return result
        return "undecided", "a list beside a tuple"

    def ratios(self, golds: list[Node], answers: list[Node]) -> Said:
        """Two ratios, term by term."""
        if len(golds) != len(answers):
            return "undecided", "another number of terms"
        if len(golds) == 2 and ["num", "0"] in (golds[1], answers[1]):
            return "undecided", "a ratio with nothing"
        relative = [[["div", term, terms[0]] for term in terms[1:]] for terms in (golds, answers)]
        return self.in_order(*relative)
