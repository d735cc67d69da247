"""Comparisons of runs (`core.scoring.compare`) on the terminal, in Markdown and as CSV.

On the terminal tables fit the screen: long names are cut in the middle and listed below, further columns go to another
table. Markdown has all names and pairs in full, CSV unrounded numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from livek12.core.lazy import rich
from livek12.core.scoring import Comparison
from livek12.core.scoring.formulas import ADAPTIVE
from livek12.core.scoring.metrics import ranking_metrics
from livek12.core.scoring.ranks import ALPHA
from livek12.core.scoring.schema import (
    Counts,
    Estimate,
    KindMarks,
    PairMetric,
    RunUsage,
    SittingCurve,
    TaskComparison,
    TaskReport,
)
from livek12.core.tables import csv_text
from livek12.report import views
from livek12.report.marks import INTERVAL, STATE_WORDS, UNDECIDED, shown
from livek12.report.markup import clean
from livek12.report.ranking import (
    Ranking,
    about,
    in_words,
    is_known,
    is_share,
    p_value,
    ranges,
    rank_range,
    ranking,
    verdict,
)

COUNTS = {
    "questions": "questions",
    **{state: STATE_WORDS[state] for state in ("no_answer", *UNDECIDED)},
    "truncated": "cut off",
    "truncated_unknown": "end unknown",
}
"""Counts of each run's answers, with headings."""
TIED = (
    f"Tied: the data cannot tell the two apart, for p ≥ {ALPHA} after Holm's adjustment for all pairs of all tasks, or"
    " for a 95 % interval of the difference, which counts what is undecided either way, that reaches 0. Rank: the best"
    " and the worst that this leaves open."
)
NEEDED = (
    "Needs: about so many questions like these would show a difference as large as the one seen"
    f" (80 % power, α {ALPHA}, one test)."
)
OPEN = (
    "A range in a column of marks is that of what is undecided, counted as 0 and as full; its interval reaches from the"
    " lower end at worst to the upper end at best."
)
PROMPTS = (
    "Prompt tokens: mean of one input, over the questions of which all runs state the count; tokenizers, chat templates"
    " and pictures differ by model."
)
USAGE = "What asking took"
KINDS = "Points by kind of criterion, per cent"
MANY_PAIRS = 15
"""Beyond these only the pairs with the first run are printed."""
_LEAST_NAME = 12


class Column(NamedTuple):
    """Column of a table."""

    heading: str
    cells: list[str]
    right: bool = True


def heading(task: str, comparison: TaskComparison) -> str:
    """Task, and its number of questions where all runs agree."""
    totals = {counts["questions"] for counts in comparison["counts"].values()}
    return f"{task}, {totals.pop():,} questions" if len(totals) == 1 else task


def _run_columns(comparison: TaskComparison, ranked: Ranking) -> list[list[Column]]:
    groups = []
    for metric in ranking_metrics():
        if is_known(comparison, metric):
            estimates = [comparison["metrics"][metric].get(name) for name in ranked.names]
            written = [shown(metric, estimate) if estimate else None for estimate in estimates]
            heading = in_words(metric) + (" %" if is_share(metric) else "")
            values = Column(heading, [each.text if each else "–" for each in written])
            ends = Column(INTERVAL, [each.ci if each else "" for each in written])
            groups.append([values, ends])
    if len(ranked.names) > 1:
        tied = [ranges(ranked.tied(run)) or "–" for run, _ in enumerate(ranked.names, 1)]
        rank = [rank_range(ranked, name) for name in ranked.names]
        groups[1:1] = [[Column("rank", rank)], [Column("tied with", tied)]]
    if prompts := comparison.get("prompt_tokens"):
        groups.append([Column("prompt tokens", [f"{prompts[name]:,.1f}" for name in ranked.names])])
    for state, word in COUNTS.items():
        counts = [_counted(comparison["counts"][name], state) for name in ranked.names]
        if any(counts) and (state != "questions" or len(set(counts)) > 1):
            groups.append([Column(word, [str(count) for count in counts])])
    return groups


def _counted(counts: Counts, state: str) -> int:
    number: int = dict(counts)[state]  # type: ignore[assignment]
    return number


def _numbered(ranked: Ranking) -> Column:
    return Column("", [str(run) for run, _ in enumerate(ranked.names, 1)])


def _pair_columns(ranked: Ranking, pairs: Sequence[tuple[int, int]]) -> list[Column]:
    pair_tests = [ranked.tests[pair] for pair in pairs]
    tests = [test.found["test"] for test in pair_tests]
    differences = [shown(ranked.metric, test.difference) for test in pair_tests]
    return [
        Column("pair", [f"{first} − {other}" for first, other in pairs]),
        Column("difference", [difference.text for difference in differences]),
        Column(INTERVAL, [difference.ci for difference in differences]),
        Column("p", [p_value(test["p"]) for test in tests]),
        Column("p (Holm)", [p_value(test["p_holm"]) for test in tests]),
        Column("better", [str(pair[0]) if test.told else "–" for pair, test in zip(pairs, pair_tests, strict=True)]),
        Column("needs", [about(test.found["needed"]) for test in pair_tests]),
        Column("shared", [str(test.shared) for test in pair_tests]),
        Column("open", [str(test["undecided"]) for test in tests]),
    ]


def _of_kinds(kinds: Mapping[str, Mapping[str, KindMarks]]) -> list[Column]:
    names = list(dict.fromkeys(kind for run in kinds.values() for kind in run))
    return [Column(kind, [_share_of(run.get(kind)) for run in kinds.values()]) for kind in names]


def _share_of(marks: KindMarks | None) -> str:
    if marks is None:
        return ""
    low, high = (f"{100 * marks[end] / marks['of']:.1f}" for end in ("low", "high"))
    return f"{low if low == high else f'{low}–{high}'} ({marks['criteria']:,})"


def _pairs_heading(ranked: Ranking) -> str:
    return f"Differences in {in_words(ranked.metric)}{', per cent' if is_share(ranked.metric) else ''}, pair by pair"


def print_comparison(result: Comparison, console: rich.console.Console | None = None) -> None:
    """Prints the tables of a comparison, to standard output by default."""
    out = console or rich.console.Console()
    for task, comparison in result["tasks"].items():
        ranked = ranking(comparison)
        out.print()
        out.print(clean(heading(task, comparison)), style="bold", markup=False, highlight=False)
        out.print(clean(verdict(ranked)), markup=False, highlight=False)
        _print_runs(out, comparison, ranked)
        if ranked.tests:
            _print_pairs(out, ranked)
    from livek12.report.terminal import print_deltas, print_exams

    print_exams(out, views.compared_exams(result.get("exams", {})))
    print_deltas(out, result.get("variants", ()))
    for curve in result.get("sittings", ()):
        out.print(f"\n{clean(_curve_heading(curve))}", style="bold", markup=False, highlight=False)
        out.print(_table(_curve_columns(curve)))
    for title, columns in _run_tables(result):
        out.print(f"\n{title}", style="bold", highlight=False)
        names = [_cut_to(clean(name), max(_LEAST_NAME, out.width - 50)) for name in result["runs"]]
        out.print(_table([Column("run", names, right=False), *columns]))
    out.print()
    for remark in _remarks(result):
        out.print(remark, style="dim", markup=False, highlight=False)


def _curve_heading(curve: SittingCurve) -> str:
    return f"{curve['task']} minus {curve['base']}, by the place on the sheet"


def _curve_columns(curve: SittingCurve) -> list[Column]:
    rows = curve["positions"]
    deltas = [shown(row["metric"], row["difference"]["difference"]) for row in rows]
    metric = rows[0]["metric"]
    return [
        Column("place", [row["position"] for row in rows], right=False),
        Column("questions", [str(row["questions"]) for row in rows]),
        Column("one by one %", [_percent(row["alone"]) for row in rows]),
        Column("on the sheet %", [_percent(row["sheet"]) for row in rows]),
        Column(f"Δ {in_words(metric)}", [each.text for each in deltas]),
        Column(INTERVAL, [each.ci for each in deltas]),
        Column("skipped %", [f"{100 * row['skipped']:.1f}" for row in rows]),
    ]


def _percent(bounds: Sequence[float]) -> str:
    low, high = (f"{100 * value:.1f}" for value in bounds)
    return low if low == high else f"{low}–{high}"


def _remarks(result: Comparison) -> list[str]:
    tasks = result["tasks"].values()
    tied = any(pair["metrics"] for task in tasks for pair in task["pairs"])
    undecided = any(
        _counted(counts, state) for task in tasks for counts in task["counts"].values() for state in UNDECIDED
    )
    return [
        *([TIED, NEEDED] if tied else []),
        *([OPEN] if undecided else []),
        *([PROMPTS] if any("prompt_tokens" in task for task in tasks) else []),
        *([views.MEANING] if result.get("usage") else []),
        *dict.fromkeys(
            clean(f"{run}: {note}.")
            for task in tasks
            for run, estimate in task["metrics"].get("mark", {}).items()
            if (note := estimate["note"] or "").startswith(ADAPTIVE)
        ),
        *(clean(f"{run}: {regrade['line']}.") for run, regrade in result.get("regraded", {}).items()),
        f"Scored with the formulas of profile {result['profile']}, version {result['formulas']}; 95 % intervals by"
        f" {result['intervals']}.",
    ]


def _print_runs(out: rich.console.Console, comparison: TaskComparison, ranked: Ranking) -> None:
    numbers, names = _numbered(ranked), [clean(name) for name in ranked.names]
    room = out.width - _width([numbers]) - 4  # for a name, two blanks and what is known
    least = min(max(map(_cells, names)), max(_LEAST_NAME, room // 3))
    tables = list(_side_by_side(_run_columns(comparison, ranked), room - least))
    runs = [[_cut_to(name, max(least, room - _width(columns))) for name in names] for columns in tables]
    for columns, cells in zip(tables, runs, strict=True):
        out.print()
        out.print(_table([numbers, Column("run", cells, right=False), *columns]))
    if names not in runs:
        out.print()
        for number, name in zip(numbers.cells, names, strict=True):
            out.print(f"{number}  {name}", markup=False, highlight=False, soft_wrap=True)


def _print_pairs(out: rich.console.Console, ranked: Ranking) -> None:
    pairs = list(ranked.tests)
    some = pairs if len(pairs) <= MANY_PAIRS else [pair for pair in pairs if pair[0] == 1]
    rest = "" if some == pairs else f": run 1 beside the others (--md, --csv and --json have all {len(pairs)} pairs)"
    out.print(f"\n{_pairs_heading(ranked)}{rest}", highlight=False)
    pair, *columns = _pair_columns(ranked, some)
    for beside in _side_by_side([columns[:2], *([column] for column in columns[2:])], out.width - _width([pair]) - 2):
        out.print()
        out.print(_table([pair, *beside]))


def _side_by_side(groups: Sequence[Sequence[Column]], room: int) -> Iterator[list[Column]]:
    """Columns of each table: the first group left, and all others with room beside it."""
    left = list(groups)
    while left:
        columns, waiting = list(left[0]), []
        for group in left[1:]:
            if _width([*columns, *group]) <= room:
                columns += group
            else:
                waiting.append(group)
        yield columns
        left = waiting


def _table(columns: Sequence[Column]) -> rich.table.Table:
    table = rich.table.Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column.heading, justify="right" if column.right else "left", overflow="fold")
    for row in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*(rich.text.Text(cell) for cell in row))
    return table


def _width(columns: Sequence[Column]) -> int:
    return sum(max(map(_cells, [column.heading, *column.cells])) + 2 for column in columns) - 2


def _cells(text: str) -> int:
    return rich.cells.cell_len(text)


def _cut_to(name: str, width: int) -> str:
    """Name cut in the middle: names differ at both ends."""
    if _cells(name) <= width:
        return name
    return f"{_beginning(name, width // 2)}…{_beginning(name[::-1], width - 1 - width // 2)[::-1]}"


def _beginning(text: str, width: int) -> str:
    end = 0
    while end < len(text) and _cells(text[: end + 1]) <= width:
        end += 1
    return text[:end]


_USED = ("tokens_a_second", "busy", "watt_hours", "watt_hours_per_mark_low", "watt_hours_per_mark_high")
_ENDS = ("low", "high", "ci_low", "ci_high", "rank_best", "rank_worst", "p", "p_holm", "questions_needed")


def as_markdown(result: Comparison) -> str:
    """All tables of a comparison."""
    blocks = [block for task, comparison in result["tasks"].items() for block in _markdown(task, comparison)]
    variants = [block for each in views.shown_deltas(result.get("variants", ())) for block in markdown_delta(each)]
    exams = [block for exam in views.compared_exams(result.get("exams", {})) for block in _markdown_exam(exam)]
    curves = [
        text
        for curve in result.get("sittings", ())
        for text in (f"## {_escaped(_curve_heading(curve))}", _markdown_table(_curve_columns(curve)))
    ]
    tables = []
    for title, columns in _run_tables(result):
        tables += [f"## {title}", _markdown_table([Column("run", result["runs"], right=False), *columns])]
    return "\n\n".join([*blocks, *exams, *variants, *curves, *tables, *_remarks(result)])


def _markdown_exam(exam: views.ExamView) -> Iterator[str]:
    yield f"## {_escaped(exam.title)}"
    for table in exam.tables:
        cells = zip(*(cells for _, _, cells in table.rows), strict=True)
        names = Column(table.heading, [name for name, _, _ in table.rows], right=False)
        yield _markdown_table(
            [names, *(Column(head, list(column)) for head, column in zip(table.headings, cells, strict=True))]
        )
    if exam.sentences:
        yield "\n".join(f"- {_escaped(sentence)}" for sentence in exam.sentences)


def scores_markdown(model: str, tasks: Mapping[str, TaskReport]) -> str:
    """Available metrics of each task of one run."""
    blocks = []
    for task, report in tasks.items():
        estimates = {metric: estimate for metric, estimate in report["metrics"].items() if estimate["low"] is not None}
        written = [shown(metric, estimate) for metric, estimate in estimates.items()]
        names = Column(
            clean(model), [in_words(metric) + (" %" if is_share(metric) else "") for metric in estimates], False
        )
        ends = Column(INTERVAL, [each.ci for each in written])
        blocks += [f"## {_escaped(task)}", _markdown_table([names, Column("", [each.text for each in written]), ends])]
    return "\n\n".join(blocks)


def as_html(markdown: str) -> str:
    """Our Markdown as HTML; HTML in it is text."""
    from markdown_it import MarkdownIt

    return str(MarkdownIt("js-default", {"linkify": False}).render(markdown))


def _run_tables(result: Comparison) -> Iterator[tuple[str, list[Column]]]:
    if kinds := result.get("kinds"):
        yield KINDS, _of_kinds(kinds)
    if usage := result.get("usage"):
        yield USAGE, [Column(*column) for column in views.usage_columns(usage, result["runs"])]


def markdown_delta(delta: views.ShownDelta) -> Iterator[str]:
    """One Δ: heading, sentences, and a table for each axis."""
    yield f"## {_escaped(delta.title)}"
    yield "\n".join(f"- {_escaped(sentence)}" for sentence in delta.sentences)
    for axis, values in delta.tables.items():
        names = Column(axis, list(values), right=False)
        cells = zip(*values.values(), strict=True)
        yield _markdown_table(
            [names, *(Column(head, list(column)) for head, column in zip(views.DELTA_HEADINGS, cells, strict=True))]
        )


def _markdown(task: str, comparison: TaskComparison) -> Iterator[str]:
    ranked = ranking(comparison)
    yield f"## {_escaped(heading(task, comparison))}"
    yield _escaped(verdict(ranked))
    columns = [column for group in _run_columns(comparison, ranked) for column in group]
    yield _markdown_table([_numbered(ranked), Column("run", ranked.names, right=False), *columns])
    if ranked.tests:
        yield f"{_pairs_heading(ranked)}:"
        yield _markdown_table(_pair_columns(ranked, list(ranked.tests)))


def _markdown_table(columns: Sequence[Column]) -> str:
    rows = [
        [_escaped(column.heading) for column in columns],
        ["--:" if column.right else ":--" for column in columns],
        *([_escaped(cell) for cell in row] for row in zip(*(column.cells for column in columns), strict=True)),
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*\[\]<>|#~])", r"\\\1", " ".join(clean(text).split()))


def as_csv(result: Comparison) -> str:
    """A row a run, then a row a pair: `run` minus `minus`."""
    metrics = [name for name in ranking_metrics() if any(is_known(task, name) for task in result["tasks"].values())]
    usage = result.get("usage", {})
    used = _USED if usage else ()
    prompts = ("prompt_tokens",) if any("prompt_tokens" in task for task in result["tasks"].values()) else ()
    head = ["task", "run", "minus", *COUNTS, *(f"{m}_{end}" for m in metrics for end in _ENDS), *prompts, *used]
    table: list[list[Any]] = [head]
    for task, comparison in result["tasks"].items():
        for name, counts in comparison["counts"].items():
            values = [value for metric in metrics for value in _ranked(comparison, metric, name)]
            values += [comparison.get("prompt_tokens", {}).get(name)] if prompts else ()
            values += _used(usage.get(name)) if usage else ()
            table.append([task, name, None, *(_counted(counts, c) for c in COUNTS), *values])
        for pair in comparison["pairs"]:
            values = [value for metric in metrics for value in _tested(pair["metrics"].get(metric))]
            blank = [None] * (len(COUNTS) - 1)
            table.append(
                [task, pair["b"], pair["a"], pair["shared"], *blank, *values, *[None] * len((*prompts, *used))]
            )
    return csv_text(table)


def _ends(estimate: Estimate | None) -> list[float | None]:
    if estimate is None:
        return [None] * 4
    return [estimate["low"], estimate["high"], *(estimate["ci"] or (None, None))]


def _ranked(comparison: TaskComparison, metric: str, name: str) -> list[float | None]:
    ranks = comparison["ranks"].get(metric, {}).get(name, [None, None])
    return [*_ends(comparison["metrics"].get(metric, {}).get(name)), *ranks, None, None, None]


def _tested(pair: PairMetric | None) -> list[float | None]:
    if pair is None:
        return [None] * len(_ENDS)
    return [*_ends(pair["difference"]), None, None, pair["test"]["p"], pair["test"]["p_holm"], pair["needed"]]


def _used(usage: RunUsage | None) -> list[float | None]:
    if usage is None:
        return [None] * len(_USED)
    asking = usage["asking"]
    return [
        asking["tokens_a_second"],
        asking["busy"],
        asking["watt_hours"],
        *(usage["watt_hours_per_mark"] or (None, None)),
    ]
