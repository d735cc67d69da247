"""Whether two trees say the same: values, lists, sets, tuples, regions, equations, matrices. Worker only.

- A bare list is a set of values, unless one side names them; tuples keep their order. An answer that gives one value
  of the key's list, or more than the key's single value, is undecided.
- Intervals, inequalities and set-builders are regions; the same ends with other brackets are undecided.
- A name before a value ("x =") is dropped when only one side has it; other names are undecided.
- A parameter that runs over the whole numbers may have another name; families shifted by whole steps are the same
  when one side says "for every integer".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy

from livek12.judges.base import Outcome
from livek12.judges.equations import as_equation, compare_equations, equation_and_value, same_inequality
from livek12.judges.expressions import WHOLE_NAMES, Unsupported, Value, affine, at, equal, value_of
from livek12.judges.reader import Node
from livek12.judges.regions import Region, Span, region_of
from livek12.judges.trees import HOLDERS, as_quotient, bound_variable, expand, is_nested, numbered, rename, unnamed

Said = tuple[Outcome, str]
MAX_VALUES = 12
_WHOLE = sympy.Float("1e-12")


class Comparer:
    """Compares the trees of one key and one answer."""

    def __init__(self) -> None:
        self.family = False

    def compare(self, gold: Node, answer: Node) -> Said:
        """The outcome and why."""
        try:
            return self._compare(gold, answer)
        except Unsupported as reason:
            return "undecided", str(reason)

    def _compare(self, gold: Node, answer: Node) -> Said:
        kinds = {gold[0], answer[0]}
        if gold == answer:
            return "accept", "same expression"
        if is_nested(gold) or is_nested(answer):
            return "undecided", "a set within a set"
        if "family" in kinds:
            self.family = True
            return self._compare(*(node[2] if node[0] == "family" else node for node in (gold, answer)))
        if "unit" in kinds:
            return self._units(gold, answer)
        if "named" in kinds:
            return self._named(gold, answer)
        if kinds == {"list", "tuple"}:
            return self._list_and_tuple(gold, answer)
        regions = region_of(gold), region_of(answer)
        if regions[0] is not None and regions[1] is not None:
            return self._regions(regions[0], regions[1])
        golds, answers = expand(gold), expand(answer)
        if len(golds) > 1 or len(answers) > 1 or kinds & HOLDERS:
            return self._lists(golds, answers)
        return self._single(gold, answer)

    def _single(self, gold: Node, answer: Node) -> Said:
        kinds = {gold[0], answer[0]}
        if kinds == {"rel"}:
            return self._relations(gold, answer)
        if kinds <= {"tuple", "matrix"}:
            return self._in_order(*_entries(gold, answer))
        if kinds == {"ratio"}:
            return self._ratios(gold[1], answer[1])
        if gold[0] == "rel":
            return equation_and_value(gold, answer)
        if kinds & {"rel", "tuple", "interval", "union", "builder"}:
            return "undecided", "another kind of answer"
        values = value_of(as_quotient(gold)), value_of(as_quotient(answer))
        said = self._scalars(*values)
        if "ratio" in kinds and said[0] == "accept" and any(value.expr.is_Integer for value in values):
            return "undecided", "a ratio beside a whole number"
        return said

    # --- scalars ------------------------------------------------------------------------------------------------

    def _scalars(self, gold: Value, answer: Value, shifts: bool = True) -> Said:
        """Equal values; with `shifts`, a family may be shifted by whole steps."""
        if gold.is_matrix or answer.is_matrix:
            return ("accept", "the same matrix") if gold.expr == answer.expr else ("undecided", "matrices")
        only = [gold.expr.free_symbols - answer.expr.free_symbols, answer.expr.free_symbols - gold.expr.free_symbols]
        renamed = all(len(mine) == 1 and str(next(iter(mine))) in WHOLE_NAMES for mine in only)
        if renamed:
            answer = answer.renamed(next(iter(only[1])), next(iter(only[0])))
        outcome, reason = equal(gold, answer)
        parameter = next((name for name in gold.expr.free_symbols if str(name) in WHOLE_NAMES), None)
        family = self.family or (parameter is not None and _is_periodic(gold.expr, parameter))
        if outcome == "accept" and renamed and not family:
            return "undecided", "other symbols"
        if outcome == "reject" and parameter is not None and family:
            return self._shifted(gold.expr, answer.expr, parameter, shifts)
        return outcome, reason

    def _shifted(self, gold: Any, answer: Any, parameter: Any, shifts: bool) -> Said:
        """Families a·k + b over all whole k: the same set when the steps agree and the offsets differ by steps."""
        first, second = affine(gold, parameter), affine(answer, parameter)
        if first is None or second is None:
            return "undecided", "families"
        step, offset = at(second[0] / first[0], {}), at((second[1] - first[1]) / first[0], {})
        if step is None or offset is None or offset[1] != 0 or abs(abs(step[0]) - 1) > _WHOLE:
            return "undecided", "families"
        if abs(offset[0] - round(offset[0])) < _WHOLE:
            return ("accept", "the same family") if self.family and shifts else ("undecided", "a shifted family")
        return "reject", "another family"

    def _units(self, gold: Node, answer: Node) -> Said:
        units = [node[2] if node[0] == "unit" else "" for node in (gold, answer)]
        words = [node[3] if node[0] == "unit" else "" for node in (gold, answer)]
        if units[0] != units[1] and (units[0] not in {"", "deg^1"} or all(units)):
            return "undecided", "the units differ or one is left out"
        outcome, reason = self._compare(*(node[1] if node[0] == "unit" else node for node in (gold, answer)))
        if all(words) and words[0] != words[1] and outcome == "accept":
            return "undecided", "different words behind the value"
        return outcome, reason

    def _named(self, gold: Node, answer: Node) -> Said:
        """A name on one side falls; f(x) and f(z) are one function; y = … and x = … are read as equations."""
        if gold[0] != "named" or answer[0] != "named":
            other = answer if gold[0] == "named" else gold
            if other[0] == "rel":
                return compare_equations(as_equation(gold), as_equation(answer))
            return self._compare(unnamed(gold), unnamed(answer))
        if gold[1] == answer[1]:
            return self._compare(gold[3], answer[3])
        bound = bound_variable(gold[1]), bound_variable(answer[1])
        if bound[0] and bound[1] and bound[0][0] == bound[1][0]:
            return self._compare(gold[3], rename(answer[3], bound[1][1], bound[0][1]))
        if gold[2] and answer[2]:
            said = compare_equations(as_equation(gold), as_equation(answer))
            if said[0] == "accept":
                return said
        return "undecided", "another name"

    # --- several values -----------------------------------------------------------------------------------------

    def _lists(self, golds: list[Node], answers: list[Node]) -> Said:
        if max(len(golds), len(answers)) > MAX_VALUES:
            return "undecided", "too many values"
        names = [[node[1] for node in nodes if node[0] == "named"] for nodes in (golds, answers)]
        distinct = len(set(names[0])) == len(golds) == len(answers)
        if distinct and sorted(names[0]) == sorted(names[1]):
            by_name = {node[1]: node for node in answers}
            said = self._in_order(golds, [by_name[name] for name in names[0]])
            if said[0] == "reject" and numbered(names[0]) and self._other_numbers(golds, answers):
                return "undecided", "the right values, numbered otherwise"
            return said
        outcome, reason = self._as_sets(golds, answers)
        one_named = any(len(set(mine)) == len(nodes) > 1 for mine, nodes in zip(names, (golds, answers), strict=True))
        if outcome == "accept" and one_named and not all(names) and self._in_order(golds, answers)[0] != "accept":
            return "undecided", "the right values, perhaps of the wrong names"
        if outcome == "reject" and any(node[0] == "rel" and node[1][0] != "=" for node in [*golds, *answers]):
            return "undecided", "several conditions"
        return outcome, reason

    def _other_numbers(self, golds: list[Node], answers: list[Node]) -> bool:
        """Whether the values agree without their names: which root is x_1 is anyone's choice."""
        return self._as_sets(*([unnamed(node) for node in nodes] for nodes in (golds, answers)))[0] != "reject"

    def _as_sets(self, golds: list[Node], answers: list[Node]) -> Said:
        """Every value of one side found on the other; a value of each side found nowhere is a difference."""
        table = [[self.compare(mine, theirs)[0] for theirs in answers] for mine in golds]
        columns = [list(column) for column in zip(*table, strict=True)]
        if all("accept" in line for line in [*table, *columns]):
            return "accept", "the same values"
        missing = any(set(row) == {"reject"} for row in table)
        extra = any(set(column) == {"reject"} for column in columns)
        if (missing and extra) or ((missing or extra) and min(len(golds), len(answers)) > 1):
            return "reject", "other values"
        return "undecided", "a part of the values, or more than the key has" if missing or extra else "values"

    def _in_order(self, golds: Sequence[Node], answers: Sequence[Node]) -> Said:
        if len(golds) != len(answers):
            return "undecided", "another number of entries"
        said = [self.compare(*pair) for pair in zip(golds, answers, strict=True)]
        for wanted in ("reject", "undecided"):
            for outcome, reason in said:
                if outcome == wanted:
                    return outcome, reason
        return "accept", "entry by entry"

    def _list_and_tuple(self, gold: Node, answer: Node) -> Said:
        entries = [[unnamed(entry) for entry in (node[2] if node[0] == "list" else node[1])] for node in (gold, answer)]
        if any(node[0] in {"tuple", "interval", "rel"} for node in [*entries[0], *entries[1]]):
            return "undecided", "a list beside a tuple"
        said = self._in_order(*entries)
        return said if said[0] == "accept" else ("undecided", "a list beside a tuple")

    def _ratios(self, golds: list[Node], answers: list[Node]) -> Said:
        if len(golds) != len(answers):
            return "undecided", "another number of terms"
        relative = [[["div", term, terms[0]] for term in terms[1:]] for terms in (golds, answers)]
        return self._in_order(*relative)

    # --- relations ----------------------------------------------------------------------------------------------

    def _relations(self, gold: Node, answer: Node) -> Said:
        if gold[1] == ["="] and answer[1] == ["="]:
            return compare_equations(gold, answer)
        if len(gold[1]) == 1 and gold[1] == answer[1] and "=" not in gold[1] and same_inequality(gold, answer):
            return "accept", "the same inequality"
        return "undecided", "relations"

    def _regions(self, gold: Region, answer: Region) -> Said:
        if gold.variable and answer.variable and gold.variable != answer.variable:
            return "undecided", "other symbols"
        if len(gold.spans) != len(answer.spans):
            return "undecided", "another number of intervals"
        table = [[self._same_span(mine, theirs) for theirs in answer.spans] for mine in gold.spans]
        columns = [list(column) for column in zip(*table, strict=True)]
        if all("accept" in line for line in [*table, *columns]):
            return "accept", "the same region"
        if any(set(row) == {"reject"} for row in table):
            return "reject", "other ends"
        return "undecided", "the same ends with other brackets, or unclear ends"

    def _same_span(self, gold: Span, answer: Span) -> Outcome:
        ends = {
            self._scalars(gold.low, answer.low, shifts=False)[0],
            self._scalars(gold.high, answer.high, shifts=False)[0],
        }
        if ends != {"accept"}:
            return "reject" if "reject" in ends else "undecided"
        low = gold.low_closed == answer.low_closed or gold.low.expr.is_infinite
        high = gold.high_closed == answer.high_closed or gold.high.expr.is_infinite
        return "accept" if low and high else "undecided"


def _entries(gold: Node, answer: Node) -> tuple[list[Node], list[Node]]:
    """The entries of tuples and matrices; a tuple may stand for a single row or column."""
    shapes = [[len(row) for row in node[1]] if node[0] == "matrix" else None for node in (gold, answer)]
    if None not in shapes and shapes[0] != shapes[1]:
        raise Unsupported("another shape")
    flat = [[entry for row in node[1] for entry in row] if node[0] == "matrix" else node[1] for node in (gold, answer)]
    return flat[0], flat[1]


def _is_periodic(expr: Any, parameter: Any) -> bool:
    """Whether an expression is a·k + b with a rational multiple of π for a: the solutions of a periodic equation."""
    line = affine(expr, parameter)
    return line is not None and (line[0] / sympy.pi).is_Rational is True
