"""The numbers of a table: each cell an estimate with its interval, or the reason why there is none.

Contract: of the answers of a run that were asked in one way (and one language: `BY_LANGUAGE`), each question and trial
counts once, whichever task asked it. Budgets and derived tasks (`cfe_text:injection`) are in no table. Every estimate
is made as in reports (`core.scoring`); differences of ways are of the questions that both have. Shares and marks are as
in report.json: accuracies from 0 to 1, those out of 100 from 0 to 100.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

from livek12.core.errors import UserError
from livek12.core.scoring import Profile
from livek12.core.scoring.answers import Table as Answers
from livek12.core.scoring.answers import answers_of, tabulate
from livek12.core.scoring.deltas import delta
from livek12.core.scoring.estimates import Units, draw, estimates, group_difference
from livek12.core.scoring.formulas import Terms
from livek12.core.scoring.outcomes import Outcome, Outcomes, SlimQuestion
from livek12.core.scoring.schema import Estimate, Parameters, parameters_of
from livek12.core.scoring.terms import task_terms
from livek12.evaluation.sieve import once
from livek12.evaluation.tables.shapes import BY_LANGUAGE, ERRORS, QUESTIONS, STANDARD, ColumnBlock, Slice, TableShape
from livek12.report.tables import ArticleTable, Column
from livek12.tasks.registry import find_task, way_of

if TYPE_CHECKING:
    from livek12.core.statistics import Indices

NO_ANSWERS = "no such answers"
_ABOUT = frozenset({"subset", "korean_specific"})
"""Axes that a whole table may be about."""


@dataclass(frozen=True)
class FoundTables:
    """The tables of some runs.

    Attributes:
        tables: those for which there are answers.
        missing: name of each other table, and why it is not there.
    """

    tables: list[ArticleTable]
    missing: dict[str, str]

    def some(self) -> FoundTables:
        """These tables.

        Raises:
            UserError: there is none.
        """
        if not self.tables:
            raise UserError("the runs have no answers for a table: " + "; ".join(map(": ".join, self.missing.items())))
        return self


def article_tables(
    runs: Mapping[str, Iterable[Outcome]], shapes: Iterable[TableShape], profile: Profile = "article"
) -> FoundTables:
    """Makes tables.

    Args:
        runs: the answers of each run by its name.
        shapes: of which tables.
        profile: which formulas.
    """
    sitters = list(_sitters(runs, profile))
    tables, missing = list[ArticleTable](), dict[str, str]()
    for shape in shapes:
        sitting = [each for each in sitters if each.benchmark == shape.benchmark]
        made = _by_paper(shape, sitting) if shape.by_paper else _by_run(shape, sitting)
        if why := _lacks(shape, sitting, made):
            missing[shape.name] = f"{why} ({shape.source}: {shape.title})"
        else:
            tables.append(made)
    return FoundTables(tables, missing)


def _lacks(shape: TableShape, sitters: Sequence[_Sitter], made: ArticleTable) -> str:
    """What a table would be about and no run has; "" where there is one."""
    for block in shape.blocks:
        about = Slice(block.part.way, tuple(where for where in block.part.where if where[0] in _ABOUT))
        if about != Slice() and not any(sitter.picked(about) for sitter in sitters):
            named = (about.way, *(value if axis == "subset" else f"{axis} {value}" for axis, value in about.where))
            return f"no run has answers to questions: {', '.join(filter(None, named))}"
    cells = [cell for row in made["cells"] for cell in row]
    if any(cell["low"] is not None for cell in cells):
        return ""
    return "; ".join(dict.fromkeys(cell["note"] or "" for cell in cells)) or "no run has answers for it"


class _Pool:
    """The answers of one run that were asked in one way."""

    def __init__(self, rows: Outcomes, profile: Profile, parameters: Parameters) -> None:
        self.rows, self._profile, self.parameters = rows, profile, parameters
        self._having: dict[str, dict[str, list[int]]] = {}

    @cached_property
    def table(self) -> Answers:
        return tabulate(self.rows)

    @cached_property
    def units(self) -> Units:
        return Units(self.table.questions, self.parameters)

    @cached_property
    def terms(self) -> Terms:
        return task_terms(self.table, self._profile, self.parameters)

    def having(self, axis: str) -> Mapping[str, Sequence[int]]:
        """The questions (indices) with each value of an axis: a table asks for the papers of a run one by one."""
        if axis not in self._having:
            found = defaultdict[str, list[int]](list)
            for index, question in enumerate(self.table.questions):
                for value in question.on(axis):
                    found[value].append(index)
            self._having[axis] = dict(found)
        return self._having[axis]

    def picked(self, part: Slice) -> list[int]:
        """The questions (indices) of a part."""
        if not part.where:
            return list(range(len(self.table.questions)))
        (axis, value), *others = part.where
        questions = self.table.questions
        return [
            index
            for index in self.having(axis).get(value, ())
            if all(value in questions[index].on(axis) for axis, value in others)
        ]

    def estimate(self, metric: str, questions: Sequence[int]) -> Estimate:
        """A metric over these questions; at least one."""
        picked = answers_of(self.table, questions)
        if metric == QUESTIONS:
            return _count(len(questions), len(questions))
        if metric in ERRORS:
            return self._errors(ERRORS.index(metric), picked)
        if metric not in self.terms:
            return absent("the answers have no such metric", len(questions))
        return estimates(draw({metric: self.terms[metric]}, self.table, self.units, picked))[metric]

    def difference(self, metric: str, one: Sequence[int], other: Sequence[int]) -> Estimate:
        """A metric over some questions minus the same over others."""
        a, b = (answers_of(self.table, questions) for questions in (one, other))
        if metric not in self.terms:
            return absent("the answers have no such metric", len(one))
        return estimates(group_difference({metric: self.terms[metric]}, self.table, self.units, a, b))[metric]

    def _errors(self, place: int, picked: Indices) -> Estimate:
        """In how many answers critics saw an error of a type."""
        found, of = self.table.rows.findings, self.table.rows.finding[picked]
        audited = of[found.audited[of]]
        if found.presence is None or not len(audited):
            return absent("no critics: nobody has audited the reasoning", len(picked))
        missing = len(picked) - len(audited)
        presence, threshold = found.presence[0, audited, place], self.parameters.error_threshold
        even = int((presence == threshold).sum())
        notes = [f"{missing} of {len(picked)} answers not audited"] if missing else []
        notes += [f"{even} answers of which half of the critics saw one are not counted"] if even else []
        return _count(int((presence > threshold).sum()), len(audited), "; ".join(notes) or None)


class _Sitter:
    """One run of a benchmark in one language."""

    def __init__(self, name: str, benchmark: str, ways: Mapping[str, _Pool], profile: Profile) -> None:
        self.name, self.benchmark, self.ways, self._profile = name, benchmark, ways, profile
        self._pairs: dict[tuple[Slice, Slice], dict[str, Estimate] | None] = {}

    def picked(self, part: Slice) -> list[int]:
        return self.ways[part.way].picked(part) if part.way in self.ways else []

    def values(self, part: Slice, axis: str) -> set[str]:
        """The values that the questions of a part have on an axis."""
        if part.way not in self.ways:
            return set()
        pool = self.ways[part.way]
        if not part.where:
            return set(pool.having(axis))
        return {value for index in self.picked(part) for value in pool.table.questions[index].on(axis)}

    def cell(self, block: ColumnBlock, part: Slice, metric: str) -> Estimate:
        """What stands in a column of a block."""
        questions = self.picked(part)
        if not questions:
            return absent(NO_ANSWERS)
        if block.minus is None:
            return self.ways[part.way].estimate(metric, questions)
        if block.minus.way == part.way:
            other = self.picked(block.minus)
            return self.ways[part.way].difference(metric, questions, other) if other else absent(NO_ANSWERS)
        turned = part.way == STANDARD
        pair = (block.minus, part) if turned else (part, block.minus)
        if pair not in self._pairs:
            self._pairs[pair] = self._paired(*pair)
        found = self._pairs[pair]
        if found is None:
            return absent("no question was asked both ways")
        paired = found.get(_as_paired(metric), absent("not paired"))
        return negated(paired) if turned else paired

    def _paired(self, part: Slice, minus: Slice) -> dict[str, Estimate] | None:
        """What a variant has more than what it is a variant of, metric by metric, where both were asked."""
        if part.way not in self.ways:
            return None
        base = self.ways.get(minus.way)
        if base is None:
            return None
        chosen = {base.table.questions[index].id for index in base.picked(minus)}
        rows = base.rows.where(lambda question: question.id in chosen)
        variant = self.ways[part.way]
        found = delta("variant", variant.rows, "base", rows, "", self._profile, base.parameters) if len(rows) else None
        return None if found is None else {name: pair["difference"] for name, pair in found["metrics"].items()}


def _as_paired(metric: str) -> str:
    """The metric under its name among differences: OCS is the mark."""
    return "mark" if metric == "OCS" else metric


def _sitters(runs: Mapping[str, Iterable[Outcome]], profile: Profile) -> Iterator[_Sitter]:
    """The runs, each benchmark and language of its own."""
    parameters = parameters_of(profile)
    for name, outcomes in runs.items():
        pools: defaultdict[tuple[str, str], defaultdict[str, list[Outcomes]]] = defaultdict(lambda: defaultdict(list))
        for named, of_task in Outcomes.of(outcomes).by_task().items():
            task = find_task(named)
            if task is None or task.budget is not None or task.derive is not None:
                continue
            for group in dict.fromkeys(map(_group, of_task.asked())):
                pools[group][way_of(task)].append(of_task.where(partial(_is_in, group)))
        spoken = defaultdict[str, set[str]](set)
        for benchmark, language in pools:
            spoken[benchmark].add(language)
        for (benchmark, language), ways in sorted(pools.items()):
            label = f"{name} ({language})" if len(spoken[benchmark]) > 1 else name
            made = {way: _Pool(once(Outcomes.joined(rows)), profile, parameters) for way, rows in ways.items()}
            yield _Sitter(label, benchmark, made, profile)


def _group(question: SlimQuestion) -> tuple[str, str]:
    """Benchmark, and the language where languages are apart."""
    language = next(iter(question.on("language")), "") if question.benchmark in BY_LANGUAGE else ""
    return question.benchmark, language


def _is_in(group: tuple[str, str], question: SlimQuestion) -> bool:
    return _group(question) == group


def _by_run(shape: TableShape, sitters: Sequence[_Sitter]) -> ArticleTable:
    columns: list[tuple[ColumnBlock, Slice, str, list[str]]] = []
    for block in shape.blocks:
        parts = list(_parts(block, sitters))
        twice = len(parts) == 1 and all(s.picked(parts[0][1]) == s.picked(block.part) for s in sitters)
        if (block.head or not block.by) and not twice:
            parts.append(([block.head] if block.head else [], block.part))
        for head, part in parts:
            columns += [(block, part, metric, [*head, label]) for metric, label in block.metrics]
    sitting = [s for s in sitters if any(s.picked(part) for block, part, _, _ in columns if block.minus is None)]
    deepest = max((len(head) for *_, head in columns), default=1)
    return ArticleTable(
        name=shape.name,
        title=shape.title,
        source=shape.source,
        rows=[sitter.name for sitter in sitting],
        columns=[Column(head=[*[""] * (deepest - len(head)), *head], metric=metric) for _, _, metric, head in columns],
        cells=[[sitter.cell(block, part, metric) for block, part, metric, _ in columns] for sitter in sitting],
    )


def _parts(block: ColumnBlock, sitters: Sequence[_Sitter]) -> Iterator[tuple[list[str], Slice]]:
    """The values of the block's axes that the runs have, and the answers with them."""
    parts: list[tuple[list[str], Slice]] = [([], block.part)] if block.by else []
    for axis in block.by:
        parts = [
            ([*head, _words(value)], part.on(axis, value))
            for head, part in parts
            for value in _in_order(axis, set().union(*(sitter.values(part, axis) for sitter in sitters)))
        ]
    yield from parts


_HEADS = {"text_only": "Text", "text_image": "Multimodal"}


def _words(value: str) -> str:
    """A value as people write it over a column."""
    return _HEADS.get(value) or (value.replace("_", " ").capitalize() if value.islower() else value)


_ORDER = ("easy", "medium", "hard", "text_only", "text_image")


def _in_order(axis: str, values: set[str]) -> list[str]:
    return sorted(values, key=lambda value: (_ORDER.index(value) if value in _ORDER else -1, value))


def _by_paper(shape: TableShape, sitters: Sequence[_Sitter]) -> ArticleTable:
    """A row for each paper and run that sat it."""
    (block,) = shape.blocks
    papers = [sitter.values(block.part, "paper") for sitter in sitters]
    sat = [
        (paper, sitter)
        for paper in sorted(set().union(*papers))
        for sitter, own in zip(sitters, papers, strict=True)
        if paper in own
    ]
    return ArticleTable(
        name=shape.name,
        title=shape.title,
        source=shape.source,
        rows=[f"{paper}: {sitter.name}" for paper, sitter in sat],
        columns=[Column(head=[label], metric=metric) for metric, label in block.metrics],
        cells=[
            [sitter.cell(block, block.part.on("paper", paper), metric) for metric, _ in block.metrics]
            for paper, sitter in sat
        ],
    )


def absent(reason: str, n: int = 0) -> Estimate:
    """Stands where there is no number."""
    return Estimate(low=None, high=None, value=None, ci=None, unit=None, clusters=None, n=n, std=None, note=reason)


def negated(estimate: Estimate) -> Estimate:
    """The difference the other way round."""

    def minus(number: float | None) -> float | None:
        return None if number is None else 0 - number

    ends = estimate["ci"]
    return {
        **estimate,
        "low": minus(estimate["high"]),
        "high": minus(estimate["low"]),
        "value": minus(estimate["value"]),
        "ci": None if ends is None else [0 - ends[1], 0 - ends[0]],
    }


def _count(value: int, n: int, note: str | None = None) -> Estimate:
    return Estimate(low=value, high=value, value=value, ci=None, unit=None, clusters=None, n=n, std=None, note=note)
