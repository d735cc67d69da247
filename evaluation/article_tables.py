"""Tables of the articles: their shapes as data, and their cells as estimates or reasons why there is none.

A table has a row for each run (and language), unless it is `by_paper`. Numbers follow the articles' final versions; a
table without a number there is named after its content. Each question and trial counts once. Accuracies are from 0 to
1, marks to 100.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

from livek12.core.errors import UserError
from livek12.core.records import BenchmarkName
from livek12.core.scoring import Profile
from livek12.core.scoring.deltas import delta
from livek12.core.scoring.estimates import Units, draw, estimates, group_difference
from livek12.core.scoring.formulas import Terms
from livek12.core.scoring.metrics import task_terms
from livek12.core.scoring.outcomes import Outcome, Outcomes, SlimQuestion, answers_of, tabulate
from livek12.core.scoring.outcomes import Table as Answers
from livek12.core.scoring.schema import Estimate, Parameters, parameters_of
from livek12.evaluation.choosing import once
from livek12.report.tables import ArticleTable, Column
from livek12.tasks.registry import find_task, way_of

if TYPE_CHECKING:
    from livek12.core.statistics import Indices


STANDARD = ""
IMAGE_ONLY = "page images alone"
NO_PICTURES = "without pictures"
DYNAMIC = "transformed"
KPRAG = "knowledge points given"
KPREF = "knowledge points expanded first"
ERRORS = ("CIE", "LAE", "DRE")
"""Error types, counted in answers."""
BY_LANGUAGE = frozenset({"livek12"})
"""Benchmarks that ask every question in each language: a row for each."""
QUESTIONS = "questions"
"""Number of questions."""

Metric = tuple[str, str]
"""Its names in reports and in the table."""
ACC, ARL, OCS = ("accuracy", "Acc"), ("ARL", "ARL"), ("OCS", "OCS")
PES, OES = ("PES", "PES"), ("OES", "OES")
MARK = ("mark", "Acc")
"""Partly right answers count by their share, as MDK12-Bench counts them."""


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
        minus: subtracted, on the same questions asked in another way.
        by: axes; a column for each combination of values in the runs.
        head: of the whole part; with axes, "" omits that column.
    """

    metrics: tuple[Metric, ...]
    part: Slice = Slice()
    minus: Slice | None = None
    by: tuple[str, ...] = ()
    head: str = ""


@dataclass(frozen=True)
class TableShape:
    """One table; `by_paper` has a row for each paper and run, `source` is its place in the article."""

    name: str
    benchmark: BenchmarkName
    source: str
    title: str
    blocks: tuple[ColumnBlock, ...]
    by_paper: bool = False


def _on(axis: str, value: str, way: str = STANDARD) -> Slice:
    return Slice(way, ((axis, value),))


def _two_ways(
    metrics: tuple[Metric, ...], heads: tuple[str, str], first: Slice, other: Slice
) -> tuple[ColumnBlock, ...]:
    return (
        ColumnBlock(metrics, first, head=heads[0]),
        ColumnBlock(metrics, other, head=heads[1]),
        ColumnBlock(metrics, other, first, head="Δ"),
    )


def _korean(hard: bool) -> tuple[ColumnBlock, ...]:
    part = _on("subset", "hard") if hard else Slice()
    true, false = part.on("korean_specific", "true"), part.on("korean_specific", "false")
    counted = ((QUESTIONS, "#"), ACC)
    return (
        ColumnBlock(counted, true, head="True"),
        ColumnBlock(counted, false, head="False"),
        ColumnBlock((ACC,), true, false, head="Δ"),
    )


def _shape(name: str, source: str, title: str, *blocks: ColumnBlock, by_paper: bool = False) -> TableShape:
    """Its name begins with the benchmark, and so does its place with the article."""
    benchmark: BenchmarkName = name.partition("-")[0]
    return TableShape(name, benchmark, f"{_ARTICLES[benchmark]}, {source}", title, blocks, by_paper)


_ORDER = ("easy", "medium", "hard", "text_only", "text_image")
_ARTICLES = {"livek12": "LiveK12Bench", "kmmmu": "KMMMU", "cfe": "CFE-Bench", "mdk12": "MDK12-Bench"}
_COUNTED = tuple((kind, f"#{kind}") for kind in ERRORS)
_COMPLEX, _RIGOROUS, _LONG = (_on("subset", name) for name in ("complex_layout", "rigorous_process", "long_horizon"))
_HARD = _on("subset", "hard")
_CFE = (("variable_accuracy", "Variable Acc."), ("question_accuracy", "Question Acc."))
_SUBSETS = (("rigorous_process", ""), ("long_horizon", ""), ("complex_layout", IMAGE_ONLY))
_AUDITED = (ACC, ARL, PES, OCS, OES, *_COUNTED)

SHAPES: tuple[TableShape, ...] = (
    _shape("livek12-3", "table 3", "models by subject", ColumnBlock((ACC, ARL, PES, OES), by=("subject",), head="All")),
    _shape(
        "livek12-complex-layout",
        "section 3.2, left table",
        "complex layout: questions as parsed and as images of the pages",
        *_two_ways((ACC, OCS), ("Standard", "Exam"), _COMPLEX, _on("subset", "complex_layout", IMAGE_ONLY)),
    ),
    _shape(
        "livek12-rigorous-process",
        "section 3.2, right table",
        "rigorous process: scores, and answers with an error of a type",
        ColumnBlock((OCS, PES, OES, *_COUNTED), _RIGOROUS, head="Rigorous process"),
        ColumnBlock((OCS, PES, OES), _RIGOROUS, Slice(), head="Δ to all"),
    ),
    *(
        _shape(
            f"livek12-a-{name.replace('_', '-')}",
            "appendix A",
            f"{name.replace('_', ' ')}{way and f', {way}'}: all scores, and answers with an error of a type",
            ColumnBlock(_AUDITED, _on("subset", name, way), head=name.replace("_", " ").capitalize()),
        )
        for name, way in _SUBSETS
    ),
    _shape(
        "livek12-errors",
        "section 2.3",
        "answers with an error of a type, by subject",
        ColumnBlock(_COUNTED, by=("subject",), head="All"),
    ),
    _shape(
        "livek12-long-horizon",
        "figure 5(a)",
        "efficiency on the long-horizon subset",
        ColumnBlock((ARL,), head="All"),
        ColumnBlock((ARL,), _LONG, head="Long horizon"),
        ColumnBlock((ARL,), _LONG, Slice(), head="Δ to all"),
    ),
    _shape(
        "livek12-exams",
        "section 2.3",
        "the mark of each paper, out of 100",
        ColumnBlock((OCS, PES, OES)),
        by_paper=True,
    ),
    *(
        _shape(f"kmmmu-{number}", f"table {number}", title, ColumnBlock((ACC,), part, by=(axis,), head="Overall"))
        for number, title, part, axis in (
            (3, "accuracy by macro subject", Slice(), "macro_subject"),
            (4, "accuracy on the hard subset by macro subject", _HARD, "macro_subject"),
        )
    ),
    _shape(
        "kmmmu-9",
        "table 9",
        "with and without the pictures",
        *_two_ways((ACC,), ("Original", "Text-only"), Slice(), Slice(NO_PICTURES)),
    ),
    *(
        _shape(f"kmmmu-{number}", f"table {number}", title, ColumnBlock((ACC,), part, by=("task",), head="Overall"))
        for number, title, part in (
            (19, "accuracy by task", Slice()),
            (20, "accuracy on the hard subset by task", _HARD),
        )
    ),
    _shape("kmmmu-21", "table 21", "Korean-specific questions", *_korean(hard=False)),
    _shape("kmmmu-22", "table 22", "Korean-specific questions of the hard subset", *_korean(hard=True)),
    _shape(
        "cfe-3",
        "tables 2 and 3",
        "text, multimodal, and both together",
        ColumnBlock(_CFE, by=("modality",), head="Text + Multimodal"),
    ),
    _shape(
        "mdk12-3",
        "table 3",
        "by discipline and difficulty",
        ColumnBlock((MARK,), head="Overall"),
        ColumnBlock((MARK,), by=("subject", "difficulty")),
    ),
    _shape(
        "mdk12-4",
        "table 4",
        "standard and dynamic evaluation",
        *(
            block
            for name, part in (("Overall", Slice()), *((n.capitalize(), _on("difficulty", n)) for n in _ORDER[:3]))
            for other in (Slice(DYNAMIC, part.where),)
            for block in (
                ColumnBlock((MARK,), part, head=f"{name}: Standard"),
                ColumnBlock((MARK,), other, head=f"{name}: Dynamic"),
                ColumnBlock((MARK,), part, other, head=f"{name}: Δ"),
            )
        ),
    ),
    _shape(
        "mdk12-figure-3",
        "figure 3",
        "by discipline and by difficulty",
        ColumnBlock((MARK,), by=("subject",)),
        ColumnBlock((MARK,), by=("difficulty",), head="Overall"),
    ),
    _shape(
        "mdk12-figure-4",
        "figure 4",
        "by difficulty and exam year",
        ColumnBlock((MARK,), by=("difficulty", "year")),
        ColumnBlock((MARK,), by=("year",)),
    ),
    *(
        _shape(
            f"mdk12-figure-5{suffix}",
            "figure 5",
            f"with and without knowledge points{requests}",
            *_two_ways((MARK,), ("Standard", "KP-RAG"), Slice(), Slice(way)),
        )
        for suffix, requests, way in (("", "", KPRAG), ("-two-requests", ", in two requests", KPREF))
    ),
)


def shape_named(name: str) -> TableShape:
    """Shape of that name."""
    for shape in SHAPES:
        if shape.name == name:
            return shape
    raise UserError(f"unknown table {name!r}: choose one of {', '.join(shape.name for shape in SHAPES)}")


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


def article_tables(
    runs: Mapping[str, Iterable[Outcome]], shapes: Iterable[TableShape], profile: Profile = "article"
) -> FoundTables:
    """Makes tables of the outcomes of runs."""
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
        """Questions (indices) by value of an axis, computed once: a table asks paper by paper."""
        if axis not in self._having:
            places = defaultdict[str, list[int]](list)
            for index, question in enumerate(self.table.questions):
                for value in question.on(axis):
                    places[value].append(index)
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
            return _count(len(questions), len(questions))
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
        return _count(int((presence > threshold).sum()), len(audited), "; ".join(notes) or None)


class _Sitter:
    def __init__(self, name: str, benchmark: str, ways: Mapping[str, _Pool], profile: Profile) -> None:
        self.name, self.benchmark, self.ways, self._profile = name, benchmark, ways, profile
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

    def cell(self, block: ColumnBlock, part: Slice, metric: str) -> Estimate:
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
        metrics = self._pairs[pair]
        if metrics is None:
            return absent("no question was asked both ways")
        paired = metrics.get(_as_paired(metric), absent("not paired"))
        return negated(paired) if turned else paired

    def _paired(self, part: Slice, minus: Slice) -> dict[str, Estimate] | None:
        """Excess of a variant over its source, metric by metric, where both were asked."""
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


def _as_paired(metric: str) -> str:
    """OCS is the mark."""
    return "mark" if metric == "OCS" else metric


def _sitters(runs: Mapping[str, Iterable[Outcome]], profile: Profile) -> Iterator[_Sitter]:
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
    return _HEADS.get(value) or (value.replace("_", " ").capitalize() if value.islower() else value)


def _in_order(axis: str, values: set[str]) -> list[str]:
    return sorted(values, key=lambda value: (_ORDER.index(value) if value in _ORDER else -1, value))


def _by_paper(shape: TableShape, sitters: Sequence[_Sitter]) -> ArticleTable:
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
    """Cell without a number."""
    return Estimate(low=None, high=None, value=None, ci=None, unit=None, clusters=None, n=n, std=None, note=reason)


def negated(estimate: Estimate) -> Estimate:
    """Negative of a difference."""

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
