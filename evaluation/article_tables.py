"""Tables of the articles: shapes (`article_tables.yaml`), and cells as estimates or reasons for none.

A table has a row for each run (and language), or for each value of an axis and run (`rows_by`). Numbers follow the
articles' final versions; a table without a number there is named after its content. Each question and trial counts
once. Accuracies are from 0 to 1, marks to 100.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from livek12.core.errors import UserError
from livek12.core.groups import grouped
from livek12.core.lazy import yaml
from livek12.core.records import BenchmarkName
from livek12.core.scoring import Profile
from livek12.core.scoring.comparison import delta
from livek12.core.scoring.estimates import Units, draw, estimates, group_difference
from livek12.core.scoring.formulas import Terms
from livek12.core.scoring.metrics import task_terms
from livek12.core.scoring.outcomes import Outcome, Outcomes, SlimQuestion, answers_of, tabulate
from livek12.core.scoring.outcomes import Table as Answers
from livek12.core.scoring.schema import Estimate, Parameters, parameters_of
from livek12.core.statistics import Indices
from livek12.evaluation.choosing import once
from livek12.report.tables import ArticleTable, Column, as_csv, as_text, written
from livek12.tasks.registry import find_task, way_of

if TYPE_CHECKING:
    from livek12.evaluation.studies.corrected import MarkNoise


STANDARD = ""
REASONING = "with reasoning"
"""The second run of a pair, which is the same model in another mode."""
NEWEST = "(newest)"
"""The last value of an axis, to compare with."""
ERRORS = ("CIE", "LAE", "DRE")
"""Error types, counted in answers."""
BY_LANGUAGE = frozenset({"livek12"})
"""Benchmarks that ask every question in each language: a row for each."""
CORRECTED = "corrected"
"""Accuracy without the errors of judge and labels."""
QUESTIONS, ANSWERS, WRONG, WRONG_SHARE = "questions", "answers", "wrong", "wrong_share"
"""Number of questions, of answers and of wrong ones, and the share of these."""

Metric = tuple[str, str]
"""Its names in reports and in the table."""


@dataclass(frozen=True)
class Slice:
    """Some answers of a run: `way` of asking (`Task.differs`), `where` axis and value of each question."""

    way: str = STANDARD
    where: tuple[tuple[str, str], ...] = ()

    def on(self, axis: str, value: str) -> Slice:
        """Its answers with this value."""
        return Slice(self.way, (*self.where, (axis, value)))


@dataclass(frozen=True)
class ColumnBlock:
    """Columns of one kind: each metric, over the whole part and for each value of the axes.

    Attributes:
        minus: subtracted: the same questions asked in another way, or others; its values replace the part's.
        by: axes; a column for each combination of values in the runs.
        head: of the whole part; with axes, "" omits that column.
        tail: behind the headings of its axes.
    """

    metrics: tuple[Metric, ...]
    part: Slice = Slice()
    minus: Slice | None = None
    by: tuple[str, ...] = ()
    head: str = ""
    tail: str = ""


@dataclass(frozen=True)
class TableShape:
    """One table; `rows_by`: rows by values of an axis with `least` answers; `source`: place in the article."""

    name: str
    benchmark: BenchmarkName
    source: str
    title: str
    blocks: tuple[ColumnBlock, ...]
    rows_by: str = ""
    least: int = 1


def _read_shapes() -> Iterator[tuple[bool, TableShape]]:
    text = Path(__file__).with_suffix(".yaml").read_text("utf-8")
    content = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # seven times as fast, in each report
    for name, (source, title, *blocks) in content.items():
        benchmark: BenchmarkName = name.partition("-")[0]
        rows = {key: blocks[0][key] for key in ("rows_by", "least") if key in blocks[0]}
        columns = tuple(block for each in blocks for block in _blocks(each))
        shape = TableShape(name, benchmark, f"{_ARTICLES[benchmark]}, {source}", title, columns, **rows)
        yield blocks[0].get("named", False), shape


def _blocks(block: Mapping[str, Any]) -> Iterator[ColumnBlock]:
    pairs = (text.partition("=") for text in block["show"])
    metrics = tuple((metric, label or metric) for metric, _, label in pairs)
    more = {key: block[key] for key in ("head", "tail") if key in block}
    if "ways" not in block:
        minus = _slice(block["minus"]) if "minus" in block else None
        yield ColumnBlock(metrics, _slice(block), minus, tuple(block.get("by", ())), **more)
        return
    for level in block.get("levels", ("",)):
        where = {"difficulty": level} if level.islower() else block.get("where", {})
        parts = [_slice({"way": way, "where": where}) for way in block["ways"]]
        before = f"{level.capitalize()}: " if level else ""
        for part, head in zip(parts, block["heads"], strict=True):
            yield ColumnBlock(metrics, part, head=before + head)
        first, other = parts if block.get("loss") else parts[::-1]
        yield ColumnBlock(metrics, first, other, head=f"{before}Δ")


def _slice(block: Mapping[str, Any]) -> Slice:
    return Slice(block.get("way", STANDARD), tuple(block.get("where", {}).items()))


_ORDER = ("easy", "medium", "hard", "text_only", "text_image")
_ARTICLES = {"livek12": "LiveK12Bench", "kmmmu": "KMMMU", "cfe": "CFE-Bench", "mdk12": "MDK12-Bench"}
_READ = tuple(_read_shapes())
SHAPES = tuple(shape for named, shape in _READ if not named)
COUNTS = tuple(shape for named, shape in _READ if named)
"""Tables of the data, printed if they are named."""


def shape_named(name: str) -> TableShape:
    """Shape of that name."""
    shapes = {shape.name: shape for shape in (*SHAPES, *COUNTS)}
    if name not in shapes:
        raise UserError(f"unknown table {name!r}: choose one of {', '.join(shapes)}")
    return shapes[name]


NO_ANSWERS = "no such answers"
_ABOUT = frozenset({"subset", "korean_specific"})
"""Axes that a whole table may be about."""


@dataclass(frozen=True)
class FoundTables:
    """Tables of some runs, and `missing` ones with the reason."""

    tables: list[ArticleTable]
    missing: dict[str, str]

    def some(self) -> FoundTables:
        """Tables; UserError if there are none."""
        if not self.tables:
            raise UserError("the runs have no answers for a table: " + "; ".join(map(": ".join, self.missing.items())))
        return self


@dataclass(frozen=True)
class ArticleForms:
    """Forms of `FoundTables`, as `Study` has them; `intervals`: also in Markdown and LaTeX."""

    intervals: bool = False

    def written(self, result: FoundTables, form: str) -> str:
        """Tables in one form; html and json have the missing ones with reasons."""
        if form == "json":
            return json.dumps({"tables": result.tables, "missing": result.missing}, ensure_ascii=False, indent=1)
        if form == "csv":
            return as_csv(result.tables)
        if form == "html":
            from livek12.report.html import as_page

            return as_page(result.tables, result.missing)
        return as_text([written(table, self.intervals) for table in result.tables], form)

    def show(self, result: FoundTables) -> None:
        """Prints Markdown."""
        print(self.written(result, "md"))


def article_tables(
    runs: Mapping[str, Iterable[Outcome]],
    shapes: Iterable[TableShape],
    profile: Profile = "article",
    pairs: Mapping[str, Sequence[str]] | None = None,
    noise: Mapping[str, MarkNoise] | None = None,
) -> FoundTables:
    """Makes tables of the outcomes of runs.

    `pairs`: by name a run without and one with reasoning; `noise`: of each run's marks, for columns without it.
    """
    sitters = list(_sitters(runs, profile, noise or {}))
    shapes = map(_with_corrected, shapes) if noise else shapes
    for name, named in (pairs or {}).items():
        sitters += list(_paired_sitters(name, named, sitters, profile))
    tables, missing = list[ArticleTable](), dict[str, str]()
    for shape in shapes:
        sitting = [each for each in sitters if each.benchmark == shape.benchmark]
        sitting = [
            each for each in sitting if (REASONING in each.ways) == any(b.part.way == REASONING for b in shape.blocks)
        ]
        made = _by_value(shape, sitting) if shape.rows_by else _by_run(shape, sitting)
        if why := _lacks(shape, sitting, made):
            missing[shape.name] = f"{why} ({shape.source}: {shape.title})"
        else:
            tables.append(made)
    return FoundTables(tables, missing)


def _with_corrected(shape: TableShape) -> TableShape:
    """Shape with a column beside each accuracy: as it would be without errors of judge and labels."""
    blocks = []
    for block in shape.blocks:
        named = [
            [(name, label), (CORRECTED, f"{label} corrected")][: 1 + (name == "accuracy")]
            for name, label in block.metrics
        ]
        blocks.append(replace(block, metrics=tuple(chain.from_iterable(named))))
    return replace(shape, blocks=tuple(blocks))


def _lacks(shape: TableShape, sitters: Sequence[_Sitter], made: ArticleTable) -> str:
    for block in shape.blocks:
        about = Slice(block.part.way, tuple(where for where in block.part.where if where[0] in _ABOUT))
        if about != Slice() and not any(sitter.picked(about) for sitter in sitters):
            named = (about.way, *(value if axis == "subset" else f"{axis} {value}" for axis, value in about.where))
            return f"no run has answers to questions: {', '.join(filter(None, named))}"
        for axis, value in block.minus.where if block.minus else ():
            if value == NEWEST and len(set().union(*(sitter.values(block.part, axis) for sitter in sitters))) < 2:
                return f"the questions are of one {axis}"
    cells = [cell for row in made["cells"] for cell in row]
    if any(cell["low"] is not None for cell in cells):
        return ""
    return "; ".join(dict.fromkeys(cell["note"] or "" for cell in cells)) or "no run has answers for it"


class _Pool:
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
        if axis not in self._having:
            places = grouped(
                (value, index) for index, question in enumerate(self.table.questions) for value in question.on(axis)
            )
            self._having[axis] = dict(places)
        return self._having[axis]

    def picked(self, part: Slice) -> list[int]:
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
        picked = answers_of(self.table, questions)
        if metric == QUESTIONS:
            return _plain(len(questions), len(questions), len(questions))
        if metric == ANSWERS:
            return _plain(len(picked), len(picked), len(questions))
        if metric == WRONG:
            most, least = (len(picked) - self.table.answers.correct[:, picked].sum(axis=1)).tolist()
            return _plain(int(least), int(most), len(questions))
        if metric == WRONG_SHARE:
            return _reflected(self.estimate("accuracy", questions), 1)
        if metric in ERRORS:
            return self._errors(ERRORS.index(metric), picked)
        if metric not in self.terms:
            return absent("the answers have no such metric", len(questions))
        return estimates(draw({metric: self.terms[metric]}, self.table, self.units, picked))[metric]

    def difference(self, metric: str, first: Sequence[int], other: Sequence[int]) -> Estimate:
        a, b = (answers_of(self.table, questions) for questions in (first, other))
        if metric not in self.terms:
            return absent("the answers have no such metric", len(first))
        return estimates(group_difference({metric: self.terms[metric]}, self.table, self.units, a, b))[metric]

    def _errors(self, place: int, picked: Indices) -> Estimate:
        findings, of = self.table.rows.findings, self.table.rows.finding[picked]
        audited = of[findings.audited[of]]
        if findings.presence is None or not len(audited):
            return absent("no critics: nobody has audited the reasoning", len(picked))
        missing = len(picked) - len(audited)
        presence, threshold = findings.presence[0, audited, place], self.parameters.error_threshold
        even = int((presence == threshold).sum())
        notes = [f"{missing} of {len(picked)} answers not audited"] if missing else []
        notes += [f"{even} answers of which half of the critics saw one are not counted"] if even else []
        seen = int((presence > threshold).sum())
        return _plain(seen, seen, len(audited), "; ".join(notes) or None)


class _Sitter:
    def __init__(
        self, name: str, benchmark: str, ways: Mapping[str, _Pool], profile: Profile, noise: MarkNoise | None = None
    ) -> None:
        self.name, self.benchmark, self.ways, self._profile, self._noise = name, benchmark, ways, profile, noise
        self._pairs: dict[tuple[Slice, Slice], dict[str, Estimate] | None] = {}

    def picked(self, part: Slice) -> list[int]:
        return self.ways[part.way].picked(part) if part.way in self.ways else []

    def values(self, part: Slice, axis: str) -> set[str]:
        if part.way not in self.ways:
            return set()
        pool = self.ways[part.way]
        if not part.where:
            return set(pool.having(axis))
        return {value for index in self.picked(part) for value in pool.table.questions[index].on(axis)}

    def cell(self, part: Slice, minus: Slice | None, metric: str) -> Estimate:
        if metric == CORRECTED:
            plain = self.cell(part, minus, "accuracy")
            return self._noise.corrected(plain, minus is not None) if self._noise else absent("no labels of this run")
        questions = self.picked(part)
        if not questions:
            return absent(NO_ANSWERS)
        if minus is None:
            return self.ways[part.way].estimate(metric, questions)
        if minus.way == part.way:
            other = self.picked(minus)
            return self.ways[part.way].difference(metric, questions, other) if other else absent(NO_ANSWERS)
        turned = part.way == STANDARD
        pair = (minus, part) if turned else (part, minus)
        if pair not in self._pairs:
            self._pairs[pair] = self._paired(*pair)
        metrics = self._pairs[pair]
        if metrics is None:
            return absent("no question was asked both ways")
        paired = metrics.get("mark" if metric == "OCS" else metric, absent("not paired"))
        return _reflected(paired, 0) if turned else paired

    def _paired(self, part: Slice, minus: Slice) -> dict[str, Estimate] | None:
        if part.way not in self.ways:
            return None
        base = self.ways.get(minus.way)
        if base is None:
            return None
        chosen = {base.table.questions[index].id for index in base.picked(minus)}
        rows = base.rows.where(lambda question: question.id in chosen)
        variant = self.ways[part.way]
        paired = delta("variant", variant.rows, "base", rows, "", self._profile, base.parameters) if len(rows) else None
        return None if paired is None else {name: pair["difference"] for name, pair in paired["metrics"].items()}


def _sitters(
    runs: Mapping[str, Iterable[Outcome]], profile: Profile, noise: Mapping[str, MarkNoise]
) -> Iterator[_Sitter]:
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
            yield _Sitter(label, benchmark, made, profile, noise.get(name))


def _group(question: SlimQuestion) -> tuple[str, str]:
    language = next(iter(question.on("language")), "") if question.benchmark in BY_LANGUAGE else ""
    return question.benchmark, language


def _is_in(group: tuple[str, str], question: SlimQuestion) -> bool:
    return _group(question) == group


def _paired_sitters(name: str, named: Sequence[str], sitters: Sequence[_Sitter], profile: Profile) -> Iterator[_Sitter]:
    if len(named) != 2:
        raise UserError(f"--pair {name}: names {len(named)} runs; write NAME=RUN,RUN: without and with reasoning")
    first, other = ({s.benchmark: s for s in sitters if s.name == run and STANDARD in s.ways} for run in named)
    for benchmark in first.keys() & other.keys():
        ways = {**first[benchmark].ways, REASONING: other[benchmark].ways[STANDARD]}
        yield _Sitter(name, benchmark, ways, profile)


def _by_run(shape: TableShape, sitters: Sequence[_Sitter]) -> ArticleTable:
    columns: list[tuple[Slice, Slice | None, str, list[str]]] = []
    for block in shape.blocks:
        for head, part, minus in _parts(block, sitters):
            columns += [(part, minus, metric, [*head, label]) for metric, label in block.metrics]
    sitting = [s for s in sitters if any(s.picked(part) for part, minus, _, _ in columns if minus is None)]
    deepest = max((len(head) for *_, head in columns), default=1)
    return ArticleTable(
        name=shape.name,
        title=shape.title,
        source=shape.source,
        rows=[sitter.name for sitter in sitting],
        columns=[Column(head=[*[""] * (deepest - len(head)), *head], metric=metric) for *_, metric, head in columns],
        cells=[[sitter.cell(part, minus, metric) for part, minus, metric, _ in columns] for sitter in sitting],
    )


def _parts(block: ColumnBlock, sitters: Sequence[_Sitter]) -> Iterator[tuple[list[str], Slice, Slice | None]]:
    parts: list[tuple[list[str], Slice]] = [([], block.part)] if block.by else []
    for axis in block.by:
        parts = [
            ([*head, _words(value)], part.on(axis, value))
            for head, part in parts
            for value in _in_order(axis, set().union(*(sitter.values(part, axis) for sitter in sitters)))
        ]
    twice = len(parts) == 1 and all(s.picked(parts[0][1]) == s.picked(block.part) for s in sitters)
    if (block.head or not block.by) and not twice:
        parts.append(([block.head] if block.head else [], block.part))
    for head, part in parts:
        minus = block.minus and _subtracted(block.minus, part, sitters)
        if minus != part:
            yield [*head, block.tail] if block.tail else head, part, minus


def _subtracted(minus: Slice, part: Slice, sitters: Sequence[_Sitter]) -> Slice:
    axis = next((axis for axis, value in minus.where if value == NEWEST), None)
    if axis is None:
        return minus
    newest = max(value for sitter in sitters for value in sitter.values(Slice(part.way), axis))
    return Slice(part.way, tuple((name, newest if name == axis else value) for name, value in part.where))


_HEADS = {"text_only": "Text", "text_image": "Multimodal"}


def _words(value: str) -> str:
    return _HEADS.get(value) or (value.replace("_", " ").capitalize() if value.islower() else value)


def _in_order(axis: str, values: set[str]) -> list[str]:
    return sorted(values, key=lambda value: (_ORDER.index(value) if value in _ORDER else -1, value))


def _by_value(shape: TableShape, sitters: Sequence[_Sitter]) -> ArticleTable:
    (block,) = shape.blocks
    own = [sitter.values(block.part, shape.rows_by) for sitter in sitters]
    sat = [
        (part, value, sitter)
        for value in sorted(set().union(*own))
        for part in (block.part.on(shape.rows_by, value),)
        for sitter, values in zip(sitters, own, strict=True)
        if value in values and len(sitter.picked(part)) >= shape.least
    ]
    return ArticleTable(
        name=shape.name,
        title=shape.title,
        source=shape.source,
        rows=[f"{value}: {sitter.name}" for _, value, sitter in sat],
        columns=[Column(head=[label], metric=metric) for metric, label in block.metrics],
        cells=[[sitter.cell(part, block.minus, metric) for metric, _ in block.metrics] for part, _, sitter in sat],
    )


def absent(reason: str, n: int = 0) -> Estimate:
    """Cell without a number."""
    return _plain(None, None, n, reason)


def _plain(low: int | None, high: int | None, n: int, note: str | None = None) -> Estimate:
    value = low if low == high else None
    return Estimate(low=low, high=high, value=value, ci=None, unit=None, clusters=None, n=n, std=None, note=note)


def _reflected(estimate: Estimate, whole: float) -> Estimate:
    def rest(number: float | None) -> float | None:
        return None if number is None else whole - number

    ends = estimate["ci"]
    return {
        **estimate,
        "low": rest(estimate["high"]),
        "high": rest(estimate["low"]),
        "value": rest(estimate["value"]),
        "ci": None if ends is None else [whole - ends[1], whole - ends[0]],
    }
