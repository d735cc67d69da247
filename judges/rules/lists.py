"""Several values on each side: lists, sets, tuples, ratios. Worker only.

The lower half of `judges.rules.algebra`, which says how one value is compared with another and when a list is what.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from livek12.judges.base import Outcome
from livek12.judges.rules.families import same_families
from livek12.judges.rules.kinds import is_complete, may_be_interval, named_by_size
from livek12.judges.rules.nodes import Node
from livek12.judges.rules.trees import DOTS, expand, grouped, is_set, numbered, unnamed

Said = tuple[Outcome, str]
MAX_VALUES = 12
_ONE_KIND = frozenset({"tuple", "interval", "matrix"})


class ListComparer(ABC):
    """Compares the entries of two lists, each by `compare`."""

    def __init__(
        self, open_ends: bool = False, ends_count: bool = False, all_asked: bool = False, solutions: bool = False
    ) -> None:
        """What the question says.

        Args:
            open_ends: an interval may be open or closed at its ends.
            ends_count: it may not: the question is known, and does not ask where a function rises or falls.
            all_asked: it asks for all values.
            solutions: it asks for those of a differential equation.
        """
        self.open_ends = open_ends
        self.ends_count = ends_count
        self.all_asked = all_asked
        self.solutions = solutions
        self.family = False
        self.intervals = False
        self.bound: frozenset[str] = frozenset()

    @abstractmethod
    def compare(self, gold: Node, answer: Node) -> Said:
        """The outcome for two trees, and why."""

    def lists(self, golds: list[Node], answers: list[Node], complete: bool) -> Said:
        """Two lists of values; `complete` says that each is plainly the whole of the solutions."""
        if max(len(golds), len(answers)) > MAX_VALUES:
            return "undecided", "too many values"
        if DOTS in [*golds, *answers]:
            same = len(golds) == len(answers) and all(
                (one == DOTS) == (two == DOTS) for one, two in zip(golds, answers, strict=True)
            )
            return (
                self.in_order(*([node for node in nodes if node != DOTS] for nodes in (golds, answers)))
                if same
                else ("undecided", "an ellipsis")
            )
        if self.family and (
            said := same_families([unnamed(node) for node in golds], [unnamed(node) for node in answers])
        ):
            return said
        names = [[node[1] for node in nodes if node[0] == "named"] for nodes in (golds, answers)]
        distinct = len(set(names[0])) == len(golds) == len(answers)
        if distinct and sorted(names[0]) == sorted(names[1]):
            by_name = {node[1]: node for node in answers}
            said = self.in_order(golds, [by_name[name] for name in names[0]])
            if said[0] == "reject" and numbered(names[0]) and self._other_numbers(golds, answers):
                return "undecided", "the right values, numbered otherwise"
            return said
        letters = [{name.partition("_")[0] for name in mine} for mine in names]
        if letters[0] == letters[1] and len(letters[0]) == 1 and len(names[0] + names[1]) == len(golds + answers):
            golds, answers, names = [unnamed(node) for node in golds], [unnamed(node) for node in answers], [[], []]
            complete = True
        outcome, reason = self.as_sets(golds, answers, complete)
        one_named = any(len(set(mine)) == len(nodes) > 1 for mine, nodes in zip(names, (golds, answers), strict=True))
        by_size = {named_by_size(nodes) for nodes in (golds, answers)}
        ordered = outcome == "accept" and self.in_order(golds, answers)[0] == "accept"
        misnamed = one_named and not all(names) and not ordered and True not in by_size
        if outcome == "accept" and (False in by_size or misnamed):
            return "undecided", "the right values, perhaps of the wrong names"
        if outcome == "reject" and any(node[0] == "rel" and node[1][0] != "=" for node in [*golds, *answers]):
            return "undecided", "several conditions"
        return outcome, reason

    def _other_numbers(self, golds: list[Node], answers: list[Node]) -> bool:
        """Whether the values agree without their names: which root is x_1 is anyone's choice."""
        return self.as_sets([unnamed(node) for node in golds], [unnamed(node) for node in answers])[0] != "reject"

    def _pair(self, gold: Node, answer: Node) -> Outcome:
        """One entry of each side; a set within is no element."""
        if is_set(gold) != is_set(answer):
            return "reject"
        return self.compare(gold, answer)[0]

    def as_sets(self, golds: list[Node], answers: list[Node], complete: bool = False) -> Said:
        """Every value of one side found on the other; a value of each side found nowhere is a difference."""
        table = [[self._pair(mine, theirs) for theirs in answers] for mine in golds]
        columns = [list(column) for column in zip(*table, strict=True)]
        if all("accept" in line for line in [*table, *columns]):
            return "accept", "the same values"
        missing = any(set(row) == {"reject"} for row in table)
        extra = any(set(column) == {"reject"} for column in columns)
        points = all(unnamed(node)[0] in _ONE_KIND for node in [*golds, *answers])
        whole = complete or self.all_asked or min(len(golds), len(answers)) > 1
        if (missing and extra) or (missing and whole) or (extra and (whole or points)):
            return "reject", "other values"
        return "undecided", "a part of the values, or more than the key has" if missing or extra else "values"

    def in_order(self, golds: Sequence[Node], answers: Sequence[Node]) -> Said:
        """Entry by entry: a difference in one is a difference."""
        if len(golds) != len(answers):
            return "reject", "another number of entries"
        said = [self.compare(*pair) for pair in zip(golds, answers, strict=True)]
        for wanted in ("reject", "undecided"):
            for outcome, reason in said:
                if outcome == wanted:
                    return outcome, reason
        return "accept", "entry by entry"

    def list_and_tuple(self, gold: Node, answer: Node) -> Said:
        """X = 1, y = 2 beside (1, 2); (x, y) = (1, 2) comes here as a list; points beside one point."""
        entries = [[unnamed(entry) for entry in node[-1]] for node in (gold, answer)]
        if any(node[0] in {"tuple", "interval", "rel"} for node in [*entries[0], *entries[1]]):
            both = [expand(node) if node[0] == "list" else [node] for node in (gold, answer)]
            complete = all(is_complete(node) for node in (gold, answer) if node[0] == "list")
            return self.lists(grouped(both[0]), grouped(both[1]), complete)
        said = self.in_order(*entries)
        unnamed_pair = gold[0] == "tuple" and not any(entry[0] == "named" for entry in answer[2])
        if said[0] == "accept" and unnamed_pair and may_be_interval(gold):
            return "undecided", "two values for a point or an interval"
        if said[0] == "accept" or (gold[0] == "tuple" and said[0] == "reject"):
            return said
        return "undecided", "a list beside a tuple"

    def ratios(self, golds: list[Node], answers: list[Node]) -> Said:
        """The terms of two ratios, in their order."""
        if len(golds) != len(answers):
            return "undecided", "another number of terms"
        if len(golds) == 2 and ["num", "0"] in (golds[1], answers[1]):
            return "undecided", "a ratio with nothing"
        relative = [[["div", term, terms[0]] for term in terms[1:]] for terms in (golds, answers)]
        return self.in_order(*relative)
