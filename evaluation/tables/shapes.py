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
class Part:
    """Some answers of a run.

    Attributes:
        way: how the questions were asked: what the task says it differs in (`Task.differs`).
        where: axis and value that each question has.
    """

    way: str = STANDARD
    where: tuple[tuple[str, str], ...] = ()

    def on(self, axis: str, value: str) -> Part:
        """Those of them with this value."""
        return Part(self.way, (*self.where, (axis, value)))


@dataclass(frozen=True)
class Block:
    """Columns of one kind: each metric, over the whole part and for each value of the axes.

    Attributes:
        metrics: what is shown.
        part: of which answers.
        minus: what is taken off: a difference of the same questions where it was asked in another way.
        by: axes; a column for each combination of values that the runs have.
        head: stands over the whole part; with axes, "" leaves that column out.
    """

    metrics: tuple[Metric, ...]
    part: Part = Part()
    minus: Part | None = None
    by: tuple[str, ...] = ()
    head: str = ""


@dataclass(frozen=True)
class Shape:
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
    blocks: tuple[Block, ...]
    by_paper: bool = False


def _on(axis: str, value: str, way: str = STANDARD) -> Part:
    return Part(way, ((axis, value),))


def _two_ways(metrics: tuple[Metric, ...], heads: tuple[str, str], one: Part, other: Part) -> tuple[Block, ...]:
    """Each of two ways of asking, and the difference: other minus one."""
    return (
        Block(metrics, one, head=heads[0]),
        Block(metrics, other, head=heads[1]),
        Block(metrics, other, one, head="Δ"),
    )


def _korean(hard: bool) -> tuple[Block, ...]:
    part = _on("subset", "hard") if hard else Part()
    true, false = part.on("korean_specific", "true"), part.on("korean_specific", "false")
    counted = ((QUESTIONS, "#"), ACC)
    return (
        Block(counted, true, head="True"),
        Block(counted, false, head="False"),
        Block((ACC,), true, false, head="Δ"),
    )


_COMPLEX, _RIGOROUS, _LONG = (_on("subset", name) for name in ("complex_layout", "rigorous_process", "long_horizon"))
_HARD = _on("subset", "hard")
_CFE = (("variable_accuracy", "Variable Acc."), ("question_accuracy", "Question Acc."))
_YEARS = (Block((MARK,), by=("difficulty", "year")), Block((MARK,), by=("year",)))
_SUBSETS = (("rigorous_process", ""), ("long_horizon", ""), ("complex_layout", IMAGE_ONLY))
_AUDITED = (ACC, ARL, PES, OCS, OES, *((kind, f"#{kind}") for kind in ERRORS))

SHAPES: tuple[Shape, ...] = (
    Shape(
        "livek12-3",
        "livek12",
        "LiveK12Bench, table 3",
        "models by subject",
        (Block((ACC, ARL, PES, OES), by=("subject",), head="All"),),
    ),
    Shape(
        "livek12-complex-layout",
        "livek12",
        "LiveK12Bench, section 3.2, left table",
        "complex layout: questions as parsed and as images of the pages",
        _two_ways((ACC, OCS), ("Standard", "Exam"), _COMPLEX, _on("subset", "complex_layout", IMAGE_ONLY)),
    ),
    Shape(
        "livek12-rigorous-process",
        "livek12",
        "LiveK12Bench, section 3.2, right table",
        "rigorous process: scores, and answers with an error of a type",
        (
            Block((OCS, PES, OES, *((kind, f"#{kind}") for kind in ERRORS)), _RIGOROUS, head="Rigorous process"),
            Block((OCS, PES, OES), _RIGOROUS, Part(), head="Δ to all"),
        ),
    ),
    *(
        Shape(
            f"livek12-a-{name.replace('_', '-')}",
            "livek12",
            "LiveK12Bench, appendix A",
            f"{name.replace('_', ' ')}{way and f', {way}'}: all scores, and answers with an error of a type",
            (Block(_AUDITED, _on("subset", name, way), head=name.replace("_", " ").capitalize()),),
        )
        for name, way in _SUBSETS
    ),
    Shape(
        "livek12-errors",
        "livek12",
        "LiveK12Bench, section 2.3",
        "answers with an error of a type, by subject",
        (Block(tuple((kind, f"#{kind}") for kind in ERRORS), by=("subject",), head="All"),),
    ),
    Shape(
        "livek12-long-horizon",
        "livek12",
        "LiveK12Bench, figure 5(a)",
        "efficiency on the long-horizon subset",
        (
            Block((ARL,), head="All"),
            Block((ARL,), _LONG, head="Long horizon"),
            Block((ARL,), _LONG, Part(), head="Δ to all"),
        ),
    ),
    Shape(
        "livek12-exams",
        "livek12",
        "LiveK12Bench, section 2.3",
        "the mark of each paper, out of 100",
        (Block((OCS, PES, OES)),),
        by_paper=True,
    ),
    Shape(
        "kmmmu-3",
        "kmmmu",
        "KMMMU, table 3",
        "accuracy by macro subject",
        (Block((ACC,), by=("macro_subject",), head="Overall"),),
    ),
    Shape(
        "kmmmu-4",
        "kmmmu",
        "KMMMU, table 4",
        "accuracy on the hard subset by macro subject",
        (Block((ACC,), _HARD, by=("macro_subject",), head="Overall"),),
    ),
    Shape(
        "kmmmu-9",
        "kmmmu",
        "KMMMU, table 9",
        "with and without the pictures",
        _two_ways((ACC,), ("Original", "Text-only"), Part(), Part(NO_PICTURES)),
    ),
    Shape("kmmmu-19", "kmmmu", "KMMMU, table 19", "accuracy by task", (Block((ACC,), by=("task",), head="Overall"),)),
    Shape(
        "kmmmu-20",
        "kmmmu",
        "KMMMU, table 20",
        "accuracy on the hard subset by task",
        (Block((ACC,), _HARD, by=("task",), head="Overall"),),
    ),
    Shape("kmmmu-21", "kmmmu", "KMMMU, table 21", "Korean-specific questions", _korean(hard=False)),
    Shape("kmmmu-22", "kmmmu", "KMMMU, table 22", "Korean-specific questions of the hard subset", _korean(hard=True)),
    Shape(
        "cfe-3",
        "cfe",
        "CFE-Bench, tables 2 and 3",
        "text, multimodal, and both together",
        (Block(_CFE, by=("modality",), head="Text + Multimodal"),),
    ),
    Shape(
        "mdk12-3",
        "mdk12",
        "MDK12-Bench, table 3",
        "by discipline and difficulty",
        (Block((MARK,), head="Overall"), Block((MARK,), by=("subject", "difficulty"))),
    ),
    Shape(
        "mdk12-4",
        "mdk12",
        "MDK12-Bench, table 4",
        "standard and dynamic evaluation",
        tuple(
            block
            for name, part, other in (
                ("Overall", Part(), Part(DYNAMIC)),
                *(
                    (level.capitalize(), _on("difficulty", level), _on("difficulty", level, DYNAMIC))
                    for level in ("easy", "medium", "hard")
                ),
            )
            for block in (
                Block((MARK,), part, head=f"{name}: Standard"),
                Block((MARK,), other, head=f"{name}: Dynamic"),
                Block((MARK,), part, other, head=f"{name}: Δ"),
            )
        ),
    ),
    Shape(
        "mdk12-figure-3",
        "mdk12",
        "MDK12-Bench, figure 3",
        "by discipline and by difficulty",
        (Block((MARK,), by=("subject",)), Block((MARK,), by=("difficulty",), head="Overall")),
    ),
    Shape("mdk12-figure-4", "mdk12", "MDK12-Bench, figure 4", "by difficulty and exam year", _YEARS),
    *(
        Shape(
            f"mdk12-figure-5{suffix}",
            "mdk12",
            "MDK12-Bench, figure 5",
            f"with and without knowledge points{said}",
            _two_ways((MARK,), ("Standard", "KP-RAG"), Part(), Part(way)),
        )
        for suffix, said, way in (("", "", KPRAG), ("-two-requests", ", in two requests", KPREF))
    ),
)


def shape_named(name: str) -> Shape:
    """The shape of that name.

    Raises:
        UserError: there is none.
    """
    for shape in SHAPES:
        if shape.name == name:
            return shape
    raise UserError(f"unknown table {name!r}: choose one of {', '.join(shape.name for shape in SHAPES)}")
