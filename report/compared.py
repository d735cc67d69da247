"""Runs beside each other on the terminal: what `core.scoring.compare` found, as tables.

Contract: a sentence says who is better, or that the data cannot tell; then a table with one row a run, the best first,
and the paired tests in a table of their own. No table is wider than the terminal: names that have no room are cut in
the middle and stand in full below, columns that have none go to a further table. Numbers are written as in reports.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from livek12.core.scoring.metrics import ranking_metrics
from livek12.core.scoring.ranks import ALPHA
from livek12.report.marks import STATE_WORDS, UNDECIDED, interval_heading, shown
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
from livek12.report.usage import MEANING, usage_columns

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from livek12.core.scoring import Comparison
    from livek12.core.scoring.schema import Counts, RunUsage, TaskComparison

COUNTS = {
    "questions": "questions",
    **{state: STATE_WORDS[state] for state in ("no_answer", *UNDECIDED)},
    "truncated": "cut off",
    "truncated_unknown": "end unknown",
}
"""What is counted of each run's answers, and how the column is called."""
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
    'A range in a column of marks is that of what is undecided, counted as 0 and as full; "95 % + open" reaches from'
    " the lower end of the interval at worst to the upper end at best."
)
USAGE = "What asking took"
MANY_PAIRS = 15
"""Beyond these only the pairs with the first run are printed."""
_LEAST_NAME = 12


class Column(NamedTuple):
    """One column of a table."""

    heading: str
    cells: list[str]
    right: bool = True


def heading(task: str, comparison: TaskComparison) -> str:
    """The task, and how many questions it has where that is the same for all runs."""
    asked = {counts["questions"] for counts in comparison["counts"].values()}
    return f"{task}, {asked.pop():,} questions" if len(asked) == 1 else task


def run_columns(comparison: TaskComparison, ranked: Ranking) -> list[list[Column]]:
    """What is known of the runs, in groups of columns that stay together."""
    groups = []
    for metric in ranking_metrics():
        if is_known(comparison, metric):
            found = [comparison["metrics"][metric].get(name) for name in ranked.names]
            written = [shown(metric, estimate) if estimate else None for estimate in found]
            heading = in_words(metric) + (" %" if is_share(metric) else "")
            values = Column(heading, [each.text if each else "–" for each in written])
            ends = Column(interval_heading(written, "95 %"), [each.ci if each else "" for each in written])
            groups.append([values, ends])
    if len(ranked.names) > 1:
        tied = [ranges(ranked.tied(run)) or "–" for run, _ in enumerate(ranked.names, 1)]
        rank = [rank_range(ranked, name) for name in ranked.names]
        groups[1:1] = [[Column("rank", rank)], [Column("tied with", tied)]]
    for state, word in COUNTS.items():
        counts = [counted(comparison["counts"][name], state) for name in ranked.names]
        if any(counts) and (state != "questions" or len(set(counts)) > 1):
            groups.append([Column(word, [str(count) for count in counts])])
    return groups


def counted(counts: Counts, state: str) -> int:
    """One of `COUNTS`."""
    number: int = dict(counts)[state]  # type: ignore[assignment]
    return number


def numbered(ranked: Ranking) -> Column:
    """The numbers of the runs."""
    return Column("", [str(run) for run, _ in enumerate(ranked.names, 1)])


def pair_columns(ranked: Ranking, pairs: Sequence[tuple[int, int]]) -> list[Column]:
    """The paired tests of some pairs of runs."""
    found = [ranked.tests[pair] for pair in pairs]
    tests = [test.found["test"] for test in found]
    differences = [shown(ranked.metric, test.difference) for test in found]
    return [
        Column("pair", [f"{one} − {other}" for one, other in pairs]),
        Column("difference", [difference.text for difference in differences]),
        Column(interval_heading(differences, "95 %"), [difference.ci for difference in differences]),
        Column("p", [p_value(test["p"]) for test in tests]),
        Column("p (Holm)", [p_value(test["p_holm"]) for test in tests]),
        Column("better", [str(pair[0]) if test.told else "–" for pair, test in zip(pairs, found, strict=True)]),
        Column("needs", [about(test.found["needed"]) for test in found]),
        Column("shared", [str(test.shared) for test in found]),
        Column("open", [str(test["undecided"]) for test in tests]),
    ]


def of_usage(usage: Mapping[str, RunUsage], names: Sequence[str]) -> list[Column]:
    """What the engines of the runs used."""
    return [Column(*column) for column in usage_columns(usage, names)]


def pairs_heading(ranked: Ranking) -> str:
    """What stands above the paired tests."""
    return f"Differences in {in_words(ranked.metric)}{', per cent' if is_share(ranked.metric) else ''}, pair by pair"


def print_comparison(result: Comparison, console: Console | None = None) -> None:
    """Prints the tables of a comparison.

    Args:
        result: what `compare` found.
        console: where to; by default standard output.
    """
    from rich.console import Console

    out = console or Console()
    for task, comparison in result["tasks"].items():
        ranked = ranking(comparison)
        out.print()
        out.print(clean(heading(task, comparison)), style="bold", markup=False, highlight=False)
        out.print(clean(verdict(ranked)), markup=False, highlight=False)
        _print_runs(out, comparison, ranked)
        if ranked.tests:
            _print_pairs(out, ranked)
    from livek12.report.terminal import print_deltas

    print_deltas(out, result.get("variants", ()))
    if usage := result.get("usage"):
        out.print(f"\n{USAGE}", style="bold", highlight=False)
        names = [_cut_to(clean(name), max(_LEAST_NAME, out.width - 50)) for name in result["runs"]]
        out.print(_table([Column("run", names, right=False), *of_usage(usage, result["runs"])]))
    out.print()
    for remark in remarks(result):
        out.print(remark, style="dim", markup=False, highlight=False)


def remarks(result: Comparison) -> list[str]:
    """What explains the tables."""
    tasks = result["tasks"].values()
    tied = any(pair["metrics"] for task in tasks for pair in task["pairs"])
    undecided = any(
        counted(counts, state) for task in tasks for counts in task["counts"].values() for state in UNDECIDED
    )
    return [
        *([TIED, NEEDED] if tied else []),
        *([OPEN] if undecided else []),
        *([MEANING] if result.get("usage") else []),
        *(clean(f"{run}: {one['line']}.") for run, one in result.get("regraded", {}).items()),
        f"Scored with the formulas of profile {result['profile']}, version {result['formulas']}; 95 % intervals by"
        f" {result['intervals']}.",
    ]


def _print_runs(out: Console, comparison: TaskComparison, ranked: Ranking) -> None:
    numbers, names = numbered(ranked), [clean(name) for name in ranked.names]
    room = out.width - _width([numbers]) - 4  # for a name, two blanks and what is known
    least = min(max(map(_cells, names)), max(_LEAST_NAME, room // 3))
    tables = list(_side_by_side(run_columns(comparison, ranked), room - least))
    runs = [[_cut_to(name, max(least, room - _width(columns))) for name in names] for columns in tables]
    for columns, cells in zip(tables, runs, strict=True):
        out.print()
        out.print(_table([numbers, Column("run", cells, right=False), *columns]))
    if names not in runs:
        out.print()
        for number, name in zip(numbers.cells, names, strict=True):
            out.print(f"{number}  {name}", markup=False, highlight=False, soft_wrap=True)


def _print_pairs(out: Console, ranked: Ranking) -> None:
    pairs = list(ranked.tests)
    some = pairs if len(pairs) <= MANY_PAIRS else [pair for pair in pairs if pair[0] == 1]
    rest = "" if some == pairs else f": run 1 beside the others (--md, --csv and --json have all {len(pairs)} pairs)"
    out.print(f"\n{pairs_heading(ranked)}{rest}", highlight=False)
    pair, *columns = pair_columns(ranked, some)
    for beside in _side_by_side([columns[:2], *([column] for column in columns[2:])], out.width - _width([pair]) - 2):
        out.print()
        out.print(_table([pair, *beside]))


def _side_by_side(groups: Sequence[Sequence[Column]], room: int) -> Iterator[list[Column]]:
    """The columns of one table after the other: the first group that is left, and all others that have room by it."""
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


def _table(columns: Sequence[Column]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column.heading, justify="right" if column.right else "left", overflow="fold")
    for row in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*(Text(cell) for cell in row))
    return table


def _width(columns: Sequence[Column]) -> int:
    """Cells that columns take, with two between them."""
    return sum(max(map(_cells, [column.heading, *column.cells])) + 2 for column in columns) - 2


def _cells(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)


def _cut_to(name: str, width: int) -> str:
    """The name in so many cells: names differ in their beginnings and in their ends, so it is cut in the middle."""
    if _cells(name) <= width:
        return name
    return f"{_beginning(name, width // 2)}…{_beginning(name[::-1], width - 1 - width // 2)[::-1]}"


def _beginning(text: str, width: int) -> str:
    end = 0
    while end < len(text) and _cells(text[: end + 1]) <= width:
        end += 1
    return text[:end]
