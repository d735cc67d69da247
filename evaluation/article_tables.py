"""Tables of the articles: their shapes as data, and their cells as estimates or reasons why there is none.

A table has a row for each run (and language), or for each value of an axis and run (`rows_by`). Numbers follow the
articles' final versions; a table without a number there is named after its content. Each question and trial counts
once. Accuracies are from 0 to 1, marks to 100.
"""

from __future__ import annotations

import json
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
from livek12.core.scoring.formulas import RATIOS, Terms
from livek12.core.scoring.metrics import task_terms
from livek12.core.scoring.outcomes import Outcome, Outcomes, SlimQuestion, answers_of, tabulate
from livek12.core.scoring.outcomes import Table as Answers
from livek12.core.scoring.schema import Estimate, Parameters, parameters_of
from livek12.evaluation.choosing import once
from livek12.report.tables import ArticleTable, Column, as_csv, as_text, written
from livek12.tasks.registry import find_task, way_of

if TYPE_CHECKING:
    from livek12.core.statistics import Indices


STANDARD = ""
IMAGE_ONLY = "page images alone"
NO_PICTURES = "without pictures"
DYNAMIC = "transformed"
KPRAG = "knowledge points given"
KPREF = "knowledge points expanded first"
REASONING = "with reasoning"
"""The second run of a pair, which is the same model in another mode."""
NEWEST = "(newest)"
"""The last value of an axis, to compare with."""
ERRORS = ("CIE", "LAE", "DRE")
"""Error types, counted in answers."""
BY_LANGUAGE = frozenset({"livek12"})
"""Benchmarks that ask every question in each language: a row for each."""
QUESTIONS, ANSWERS, WRONG, WRONG_SHARE = "questions", "answers", "wrong", "wrong_share"
"""Number of questions, of answers and of wrong ones, and the share of these."""

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
    """One table; `rows_by`: a row for each value of an axis with `least` answers; `source`: place in the article."""

    name: str
    benchmark: BenchmarkName
    source: str
    title: str
    blocks: tuple[ColumnBlock, ...]
    rows_by: str = ""
    least: int = 1


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


def _shape(name: str, source: str, title: str, *blocks: ColumnBlock, rows_by: str = "", least: int = 1) -> TableShape:
    """Its name begins with the benchmark, and so does its place with the article."""
    benchmark: BenchmarkName = name.partition("-")[0]
    return TableShape(name, benchmark, f"{_ARTICLES[benchmark]}, {source}", title, blocks, rows_by, least)


def _by_difficulty(way: str, heads: tuple[str, str], standard_first: bool) -> Iterator[ColumnBlock]:
    for name, part in (("Overall", Slice()), *((n.capitalize(), _on("difficulty", n)) for n in _ORDER[:3])):
        other = Slice(way, part.where)
        yield ColumnBlock((MARK,), part, head=f"{name}: {heads[0]}")
        yield ColumnBlock((MARK,), other, head=f"{name}: {heads[1]}")
        yield ColumnBlock((MARK,), *((part, other) if standard_first else (other, part)), head=f"{name}: Δ")


_ORDER = ("easy", "medium", "hard", "text_only", "text_image")
_ARTICLES = {"livek12": "LiveK12Bench", "kmmmu": "KMMMU", "cfe": "CFE-Bench", "mdk12": "MDK12-Bench"}
_COUNTED = tuple((kind, f"#{kind}") for kind in ERRORS)
_COMPLEX, _RIGOROUS, _LONG = (_on("subset", name) for name in ("complex_layout", "rigorous_process", "long_horizon"))
_HARD = _on("subset", "hard")
_CFE = (("variable_accuracy", "Variable Acc."), ("question_accuracy", "Question Acc."))
_SUBSETS = (("rigorous_process", ""), ("long_horizon", ""), ("complex_layout", IMAGE_ONLY))
_AUDITED = (ACC, ARL, ("Acc≤0.5", "Acc≤0.5"), PES, OCS, OES, *_COUNTED)
_WRONG = ((ANSWERS, "Count"), (WRONG, "Error"), (WRONG_SHARE, "Error rate"))

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
        "livek12-figure-5b",
        "figure 5(b)",
        "accuracy on the long-horizon subset within a share of the token limit",
        ColumnBlock(tuple((f"Acc≤{ratio}", f"≤{ratio}") for ratio in reversed(RATIOS)), _LONG),
    ),
    _shape(
        "livek12-13",
        "table 13",
        "older releases by subject, and their difference to the newest",
        ColumnBlock((OES,), by=("release",)),
        ColumnBlock((OES,), minus=_on("release", NEWEST), by=("release",), tail="Δ"),
        ColumnBlock((OES,), by=("release", "subject")),
        ColumnBlock((OES,), minus=_on("release", NEWEST), by=("release", "subject"), tail="Δ"),
    ),
    _shape(
        "livek12-exams",
        "section 2.3",
        "the mark of each paper, out of 100",
        ColumnBlock((OCS, PES, OES)),
        rows_by="paper",
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
    _shape(
        "kmmmu-7",
        "table 7",
        "error rates on the hard subset by visual modality",
        ColumnBlock(_WRONG, _HARD, by=("visual_modality",), head="Overall"),
    ),
    _shape(
        "kmmmu-8",
        "table 8",
        "what reasoning adds",
        *_two_ways((ACC,), ("Instruct (IT)", "Thinking"), Slice(), Slice(REASONING)),
    ),
    _shape(
        "kmmmu-25",
        "table 25",
        "error rates on the hard subset by sub-category of pictures",
        ColumnBlock(_WRONG, _HARD),
        rows_by="visual_subcategory",
        least=10,
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
        *_by_difficulty(DYNAMIC, ("Standard", "Dynamic"), standard_first=True),
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
            f"with and without knowledge points{requests}, by difficulty",
            *_by_difficulty(way, ("Standard", "KP-RAG"), standard_first=False),
        )
        for suffix, requests, way in (("", "", KPRAG), ("-two-requests", ", in two requests", KPREF))
    ),
)


COUNTS = tuple(
    _shape(
        f"{benchmark}-{number}",
        number.replace("figure-", "figure ") if number.startswith("figure") else f"table {number}",
        "questions asked",
        *(ColumnBlock(((QUESTIONS, "#"),), part, by=by, head=head) for part, by, head in blocks),
    )
    for benchmark, number, blocks in (
        ("kmmmu", "figure-1", ((Slice(), ("macro_subject",), "All"),)),
        ("kmmmu", "2", ((Slice(), ("visual_modality",), "All"),)),
        ("kmmmu", "10", ((Slice(), ("korean_specific",), "All"), (Slice(), ("text_in_image",), ""))),
        ("kmmmu", "11", ((Slice(), ("subject",), "All"),)),
        ("kmmmu", "12", ((Slice(), ("task",), "All"),)),
        ("kmmmu", "13", ((Slice(), ("question_type",), "All"),)),
        ("kmmmu", "14", ((Slice(), ("visual_modality", "visual_subcategory"), "All"),)),
        ("kmmmu", "15", ((Slice(), ("macro_subject", "question_type"), "All"),)),
        ("kmmmu", "16", ((_HARD, ("macro_subject",), "Hard"),)),
        ("kmmmu", "17", ((_HARD, ("task",), "Hard"),)),
        ("kmmmu", "18", ((Slice(), ("korean_specific",), "All"), (_HARD, ("korean_specific",), "Hard"))),
        ("cfe", "figure-2", ((Slice(), ("modality", "subject"), "All"),)),
        (
            "mdk12",
            "2",
            tuple((Slice(), (axis,), "") for axis in ("subject", "question_type", "difficulty", "modality")),
        ),
    )
)
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
    """The forms of `FoundTables`, as `Study` has them; `intervals`: also in Markdown and LaTeX."""

    intervals: bool = False

    def written(self, found: FoundTables, form: str) -> str:
        """The tables in one form; html has the missing ones with their reasons, and so has json."""
        if form == "json":
            return json.dumps({"tables": found.tables, "missing": found.missing}, ensure_ascii=False, indent=1)
        if form == "csv":
            return as_csv(found.tables)
        if form == "html":
            from livek12.report.html import as_page

            return as_page(found.tables, found.missing)
        return as_text([written(table, self.intervals) for table in found.tables], form)

    def show(self, found: FoundTables) -> None:
        """Prints Markdown."""
        print(self.written(found, "md"))


def article_tables(
    runs: Mapping[str, Iterable[Outcome]],
    shapes: Iterable[TableShape],
    profile: Profile = "article",
    pairs: Mapping[str, Sequence[str]] | None = None,
) -> FoundTables:
    """Makes tables of the outcomes of runs; `pairs`: by name a run without and one with reasoning."""
    sitters = list(_sitters(runs, profile))
    sitters += [pair for name, named in (pairs or {}).items() for pair in _paired_sitters(name, named, sitters)]
    tables, missing = list[ArticleTable](), dict[str, str]()
    for shape in shapes:
        sitting = [each for each in sitters if each.benchmark == shape.benchmark]
        sitting = [each for each in sitting if (REASONING in each.ways) == _is_paired(shape)]
        made = _by_value(shape, sitting) if shape.rows_by else _by_run(shape, sitting)
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
        if metric in (ANSWERS, WRONG):
            most, least = (len(picked) - self.table.answers.correct[:, picked].sum(axis=1)).tolist()
            return _count(len(picked), len(questions)) if metric == ANSWERS else _between(least, most, len(questions))
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
        return _count(int((presence > threshold).sum()), len(audited), "; ".join(notes) or None)


class _Sitter:
    def __init__(self, name: str, benchmark: str, ways: Mapping[str, _Pool], profile: Profile) -> None:
        self.name, self.benchmark, self.ways, self._profile = name, benchmark, ways, profile
        self._pairs: dict[tuple[Slice, Slice], dict[str, Estimate] | None] = {}

    def beside(self, name: str, way: str, other: _Sitter) -> _Sitter:
        """With the other's standard way as a way of its own."""
        return _Sitter(name, self.benchmark, {**self.ways, way: other.ways[STANDARD]}, self._profile)

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
        paired = metrics.get(_as_paired(metric), absent("not paired"))
        return _reflected(paired, 0) if turned else paired

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


def _paired_sitters(name: str, named: Sequence[str], sitters: Sequence[_Sitter]) -> Iterator[_Sitter]:
    """The standard ways of two runs as two ways of one."""
    if len(named) != 2:
        raise UserError(f"--pair {name}: names {len(named)} runs; write NAME=RUN,RUN: without and with reasoning")
    first, other = ({s.benchmark: s for s in sitters if s.name == run and STANDARD in s.ways} for run in named)
    for benchmark in first.keys() & other.keys():
        yield first[benchmark].beside(name, REASONING, other[benchmark])


def _is_paired(shape: TableShape) -> bool:
    return any(block.part.way == REASONING for block in shape.blocks)


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
    """Headings, part and what is subtracted, for each combination of values and for the whole."""
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
    """What is subtracted from a part: with the newest value, the part of that value."""
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
    return Estimate(low=None, high=None, value=None, ci=None, unit=None, clusters=None, n=n, std=None, note=reason)


def _reflected(estimate: Estimate, whole: float) -> Estimate:
    """The whole minus an estimate."""

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


def _between(low: float, high: float, n: int) -> Estimate:
    return {**_count(int(low), n), "high": int(high), "value": int(low) if low == high else None}


def _count(value: int, n: int, note: str | None = None) -> Estimate:
    return Estimate(low=value, high=value, value=value, ci=None, unit=None, clusters=None, n=n, std=None, note=note)
