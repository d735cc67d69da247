"""The tables of the articles, as data: which answers, which metrics, by which axes.

Contract: a shape says what is in a table, `cells` computes it, `report.tables` writes it. A table has a row for each
run (and language, where a run has answers in several), but where it says `by_paper`. The numbers are those of the
articles' final versions; a table that has no number there is named after what it shows.
"""

from __future__ import annotations

from dataclasses import dataclass

from livek12.core.errors import UserError
from livek12.core.records import BenchmarkName

STANDARD = ""
IMAGE_ONLY = "page images alone"
NO_PICTURES = "without pictures"
DYNAMIC = "transformed"
KPRAG = "knowledge points given"
KPREF = "knowledge points expanded first"
ERRORS = ("CIE", "LAE", "DRE")
"""Error types: in how many answers critics saw one."""
BY_LANGUAGE = frozenset({"livek12"})
"""Benchmarks that ask every question in each of their languages: a row for each."""
QUESTIONS = "questions"
"""How many questions a part has."""

Metric = tuple[str, str]
"""As reports name it, and as the table does."""
ACC, ARL, OCS = ("accuracy", "Acc"), ("ARL", "ARL"), ("OCS", "OCS")
PES, OES = ("PES", "PES"), ("OES", "OES")
MARK = ("mark", "Acc")
"""Partly right answers count by their share, as MDK12-Bench counts them."""


@dataclass(frozen=True)
class Slice:
    """Some answers of a run.

    Attributes:
        way: how the questions were asked: what the task says it differs in (`Task.differs`).
        where: axis and value that each question has.
    """

    way: str = STANDARD
    where: tuple[tuple[str, str], ...] = ()

    def on(self, axis: str, value: str) -> Slice:
        """Those of them with this value."""
        return Slice(self.way, (*self.where, (axis, value)))


@dataclass(frozen=True)
class ColumnBlock:
    """Columns of one kind: each metric, over the whole part and for each value of the axes.

    Attributes:
        metrics: what is shown.
        part: of which answers.
        minus: what is taken off: a difference of the same questions where it was asked in another way.
        by: axes; a column for each combination of values that the runs have.
        head: stands over the whole part; with axes, "" leaves that column out.
    """

    metrics: tuple[Metric, ...]
    part: Slice = Slice()
    minus: Slice | None = None
    by: tuple[str, ...] = ()
    head: str = ""


@dataclass(frozen=True)
class TableShape:
    """One table.

    Attributes:
        name: as `--table` takes it.
        benchmark: whose answers are in it.
        source: where the article has it.
        title: what it shows.
        blocks: its columns.
        by_paper: whether it has a row for each paper and run.
    """

    name: str
    benchmark: BenchmarkName
    source: str
    title: str
    blocks: tuple[ColumnBlock, ...]
    by_paper: bool = False


def _on(axis: str, value: str, way: str = STANDARD) -> Slice:
    return Slice(way, ((axis, value),))


def _two_ways(metrics: tuple[Metric, ...], heads: tuple[str, str], one: Slice, other: Slice) -> tuple[ColumnBlock, ...]:
    """Each of two ways of asking, and the difference: other minus one."""
    return (
        ColumnBlock(metrics, one, head=heads[0]),
        ColumnBlock(metrics, other, head=heads[1]),
        ColumnBlock(metrics, other, one, head="Δ"),
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


_COMPLEX, _RIGOROUS, _LONG = (_on("subset", name) for name in ("complex_layout", "rigorous_process", "long_horizon"))
_HARD = _on("subset", "hard")
_CFE = (("variable_accuracy", "Variable Acc."), ("question_accuracy", "Question Acc."))
_YEARS = (ColumnBlock((MARK,), by=("difficulty", "year")), ColumnBlock((MARK,), by=("year",)))
_SUBSETS = (("rigorous_process", ""), ("long_horizon", ""), ("complex_layout", IMAGE_ONLY))
_AUDITED = (ACC, ARL, PES, OCS, OES, *((kind, f"#{kind}") for kind in ERRORS))

SHAPES: tuple[TableShape, ...] = (
    TableShape(
        "livek12-3",
        "livek12",
        "LiveK12Bench, table 3",
        "models by subject",
        (ColumnBlock((ACC, ARL, PES, OES), by=("subject",), head="All"),),
    ),
    TableShape(
        "livek12-complex-layout",
        "livek12",
        "LiveK12Bench, section 3.2, left table",
        "complex layout: questions as parsed and as images of the pages",
        _two_ways((ACC, OCS), ("Standard", "Exam"), _COMPLEX, _on("subset", "complex_layout", IMAGE_ONLY)),
    ),
    TableShape(
        "livek12-rigorous-process",
        "livek12",
        "LiveK12Bench, section 3.2, right table",
        "rigorous process: scores, and answers with an error of a type",
        (
            ColumnBlock((OCS, PES, OES, *((kind, f"#{kind}") for kind in ERRORS)), _RIGOROUS, head="Rigorous process"),
            ColumnBlock((OCS, PES, OES), _RIGOROUS, Slice(), head="Δ to all"),
        ),
    ),
    *(
        TableShape(
            f"livek12-a-{name.replace('_', '-')}",
            "livek12",
            "LiveK12Bench, appendix A",
            f"{name.replace('_', ' ')}{way and f', {way}'}: all scores, and answers with an error of a type",
            (ColumnBlock(_AUDITED, _on("subset", name, way), head=name.replace("_", " ").capitalize()),),
        )
        for name, way in _SUBSETS
    ),
    TableShape(
        "livek12-errors",
        "livek12",
        "LiveK12Bench, section 2.3",
        "answers with an error of a type, by subject",
        (ColumnBlock(tuple((kind, f"#{kind}") for kind in ERRORS), by=("subject",), head="All"),),
    ),
    TableShape(
        "livek12-long-horizon",
        "livek12",
        "LiveK12Bench, figure 5(a)",
        "efficiency on the long-horizon subset",
        (
            ColumnBlock((ARL,), head="All"),
            ColumnBlock((ARL,), _LONG, head="Long horizon"),
            ColumnBlock((ARL,), _LONG, Slice(), head="Δ to all"),
        ),
    ),
    TableShape(
        "livek12-exams",
        "livek12",
        "LiveK12Bench, section 2.3",
        "the mark of each paper, out of 100",
        (ColumnBlock((OCS, PES, OES)),),
        by_paper=True,
    ),
    TableShape(
        "kmmmu-3",
        "kmmmu",
        "KMMMU, table 3",
        "accuracy by macro subject",
        (ColumnBlock((ACC,), by=("macro_subject",), head="Overall"),),
    ),
    TableShape(
        "kmmmu-4",
        "kmmmu",
        "KMMMU, table 4",
        "accuracy on the hard subset by macro subject",
        (ColumnBlock((ACC,), _HARD, by=("macro_subject",), head="Overall"),),
    ),
    TableShape(
        "kmmmu-9",
        "kmmmu",
        "KMMMU, table 9",
        "with and without the pictures",
        _two_ways((ACC,), ("Original", "Text-only"), Slice(), Slice(NO_PICTURES)),
    ),
    TableShape(
        "kmmmu-19", "kmmmu", "KMMMU, table 19", "accuracy by task", (ColumnBlock((ACC,), by=("task",), head="Overall"),)
    ),
    TableShape(
        "kmmmu-20",
        "kmmmu",
        "KMMMU, table 20",
        "accuracy on the hard subset by task",
        (ColumnBlock((ACC,), _HARD, by=("task",), head="Overall"),),
    ),
    TableShape("kmmmu-21", "kmmmu", "KMMMU, table 21", "Korean-specific questions", _korean(hard=False)),
    TableShape(
        "kmmmu-22", "kmmmu", "KMMMU, table 22", "Korean-specific questions of the hard subset", _korean(hard=True)
    ),
    TableShape(
        "cfe-3",
        "cfe",
        "CFE-Bench, tables 2 and 3",
        "text, multimodal, and both together",
        (ColumnBlock(_CFE, by=("modality",), head="Text + Multimodal"),),
    ),
    TableShape(
        "mdk12-3",
        "mdk12",
        "MDK12-Bench, table 3",
        "by discipline and difficulty",
        (ColumnBlock((MARK,), head="Overall"), ColumnBlock((MARK,), by=("subject", "difficulty"))),
    ),
    TableShape(
        "mdk12-4",
        "mdk12",
        "MDK12-Bench, table 4",
        "standard and dynamic evaluation",
        tuple(
            block
            for name, part, other in (
                ("Overall", Slice(), Slice(DYNAMIC)),
                *(
                    (level.capitalize(), _on("difficulty", level), _on("difficulty", level, DYNAMIC))
                    for level in ("easy", "medium", "hard")
                ),
            )
            for block in (
                ColumnBlock((MARK,), part, head=f"{name}: Standard"),
                ColumnBlock((MARK,), other, head=f"{name}: Dynamic"),
                ColumnBlock((MARK,), part, other, head=f"{name}: Δ"),
            )
        ),
    ),
    TableShape(
        "mdk12-figure-3",
        "mdk12",
        "MDK12-Bench, figure 3",
        "by discipline and by difficulty",
        (ColumnBlock((MARK,), by=("subject",)), ColumnBlock((MARK,), by=("difficulty",), head="Overall")),
    ),
    TableShape("mdk12-figure-4", "mdk12", "MDK12-Bench, figure 4", "by difficulty and exam year", _YEARS),
    *(
        TableShape(
            f"mdk12-figure-5{suffix}",
            "mdk12",
            "MDK12-Bench, figure 5",
            f"with and without knowledge points{said}",
            _two_ways((MARK,), ("Standard", "KP-RAG"), Slice(), Slice(way)),
        )
        for suffix, said, way in (("", "", KPRAG), ("-two-requests", ", in two requests", KPREF))
    ),
)


def shape_named(name: str) -> TableShape:
    """The shape of that name.

    Raises:
        UserError: there is none.
    """
    for shape in SHAPES:
        if shape.name == name:
            return shape
    raise UserError(f"unknown table {name!r}: choose one of {', '.join(shape.name for shape in SHAPES)}")
