"""Tables of articles and studies as Markdown, LaTeX and CSV, and in words for a page.

Numbers are those of reports (`marks`), but ARL out of 100, as in its article, and counts whole. A cell without a number
has a dash with the number of its reason: never blank, never 0. Names are hostile and escaped. CSV has a line a cell, of
articles unrounded with the interval.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, TypedDict

from livek12.core.scoring.schema import Estimate
from livek12.core.tables import csv_text
from livek12.report.marks import number, shown
from livek12.report.markup import clean

COUNTED = frozenset({"questions", "answers", "wrong", "CIE", "LAE", "DRE"})
"""Metrics that are whole numbers."""
_AS = {"ARL": "accuracy", "wrong_share": "accuracy", "corrected": "accuracy"}
"""Metrics that are printed like another: ARL out of 100."""
_LATEX = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    **{sign: f"{{{sign}}}" for sign in "[]*`'"},  # behind a line's end, [ and * are its arguments
    "–": "--",
    "…": r"\ldots{}",
    **{
        sign: f"${command}$"
        for sign, command in (
            *(("−", "-"), ("≤", r"\le"), ("≥", r"\ge"), ("±", r"\pm"), ("Δ", r"\Delta"), ("²", "^2"), ("→", r"\to")),
            *(("·", r"\cdot"), ("×", r"\times"), ("α", r"\alpha"), ("β", r"\beta"), ("κ", r"\kappa"), ("τ", r"\tau")),
        )
    },
}


class Column(TypedDict):
    """Headings of a column from the top, and its metric."""

    head: list[str]
    metric: str


class ArticleTable(TypedDict):
    """`cells` has a row for each of `rows`, with an estimate for each of `columns`."""

    name: str
    title: str
    source: str
    rows: list[str]
    columns: list[Column]
    cells: list[list[Estimate]]


LONG: Final = 32
"""Most characters of a cell on one line."""


@dataclass(frozen=True)
class TableShown:
    """A table in words."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    texts: bool = False
    """True for columns of texts, which share the width of the page; others are numbers."""

    @property
    def long(self) -> set[int]:
        """Columns of long texts, to be broken into lines."""
        return {place for row in self.rows for place, cell in enumerate(row) if len(cell) > LONG}


class Written(TypedDict):
    """A table in words: cell texts, and the reasons of missing numbers, from 1; studies have no `source`."""

    name: str
    title: str
    source: str
    rows: list[str]
    heads: list[list[str]]
    cells: list[list[str]]
    reasons: list[str]


def written(table: ArticleTable | TableShown, intervals: bool = False) -> Written:
    """A table in words; `intervals`: an article's with 95 % intervals."""
    reasons: list[str] = []
    if isinstance(table, TableShown):
        return Written(
            name=re.sub(r"\W+", "-", table.title.lower(), flags=re.ASCII).strip("-"),
            title=_line(table.title),
            source="",
            rows=[_line(row[0]) for row in table.rows],
            heads=[[_line(head)] for head in table.heads[1:]],
            cells=[[_line(cell) for cell in row[1:]] for row in table.rows],
            reasons=[],
        )

    def cell(metric: str, estimate: Estimate) -> str:
        if estimate["low"] is None:
            reason = estimate["note"] or "not available"
            if reason not in reasons:
                reasons.append(reason)
            return f"–({reasons.index(reason) + 1})"
        if metric in COUNTED:
            return "–".join(dict.fromkeys(number(estimate[end] or 0, 0) for end in ("low", "high")))
        value = shown(_AS.get(metric, metric), estimate)
        spread = f" ± {value.std}" if value.std else ""
        return f"{value.text}{spread}" + (f" [{value.ci}]" if intervals and value.ci else "")

    cells = [
        [cell(column["metric"], estimate) for column, estimate in zip(table["columns"], row, strict=True)]
        for row in table["cells"]
    ]
    return Written(
        name=table["name"],
        title=table["title"],
        source=table["source"],
        rows=[_line(row) for row in table["rows"]],
        heads=[[_line(head) for head in column["head"]] for column in table["columns"]],
        cells=cells,
        reasons=[_line(reason) for reason in reasons],
    )


def _line(text: str) -> str:
    return " ".join(clean(text).split())


def _caption(table: Written) -> str:
    return ": ".join(filter(None, (table["source"], table["title"])))


def as_text(tables: Sequence[Written], form: str) -> str:
    """All tables as `md` (each under a heading), as `latex` (each a `tabular`, without packages) or as `csv`."""
    if form == "csv":
        head = ["table", "row", "column", "value"]
        return csv_text([head, *(line for table in tables for line in _cells(table))])
    if form == "latex":
        return "\n\n".join(map(_latex, tables))
    return "\n\n".join(block for table in tables for block in _markdown(table))


def _cells(table: Written) -> Iterator[list[str]]:
    for row, cells in zip(table["rows"], table["cells"], strict=True):
        for head, cell in zip(table["heads"], cells, strict=True):
            yield [table["title"], row, " / ".join(filter(None, head)), cell]


def _markdown(table: Written) -> Iterator[str]:
    yield f"## {_escaped(_caption(table))}"
    heads = [" · ".join(filter(None, head)) for head in table["heads"]]
    rows = [["", *heads], [":--", *["--:"] * len(heads)]]
    rows += [[name, *cells] for name, cells in zip(table["rows"], table["cells"], strict=True)]
    lines = (" | ".join(row if n == 1 else map(_escaped, row)) for n, row in enumerate(rows))
    yield "\n".join(f"| {line} |" for line in lines)
    if table["reasons"]:
        yield "\n".join(f"- ({n}) {_escaped(reason)}" for n, reason in enumerate(table["reasons"], 1))


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*\[\]<>|#~_$])", r"\\\1", text)


def _latex(table: Written) -> str:
    lines = [
        r"\begin{table}",
        rf"\caption{{{latex_text(_caption(table))}}}",
        rf"\label{{tab:{table['name']}}}",
        rf"\begin{{tabular}}{{l{'r' * len(table['heads'])}}}",
        r"\hline",
    ]
    for spans in head_rows(table["heads"]):
        cells = [rf"\multicolumn{{{n}}}{{c}}{{{latex_text(text)}}}" if n > 1 else latex_text(text) for text, n in spans]
        lines.append(" & ".join(["", *cells]) + r" \\")
    lines.append(r"\hline")
    for row, values in zip(table["rows"], table["cells"], strict=True):
        lines.append(" & ".join(map(latex_text, (row, *values))) + r" \\")
    lines += [r"\hline", r"\end{tabular}"]
    lines += [rf"\par ({n}) {latex_text(reason)}" for n, reason in enumerate(table["reasons"], 1)]
    return "\n".join([*lines, r"\end{table}"])


def latex_text(text: str) -> str:
    """A text for LaTeX without commands."""
    return "".join(_LATEX.get(sign, sign) for sign in _line(text))


def head_rows(heads: Sequence[Sequence[str]]) -> Iterator[list[tuple[str, int]]]:
    """Heading rows: texts with spans, merged only below the same text."""
    for level in range(len(heads[0]) if heads else 0):
        last = level == len(heads[0]) - 1
        keys = [(*head[: level + 1], n if last else "") for n, head in enumerate(heads)]
        yield [(str(key[level]), len(list(group))) for key, group in groupby(keys)]


def with_heads(tables: Sequence[ArticleTable]) -> list[tuple[Written, list[list[tuple[str, int]]]]]:
    """Tables in words with intervals and heading rows."""
    return [(table, list(head_rows(table["heads"]))) for table in (written(each, True) for each in tables)]


def as_csv(tables: Sequence[ArticleTable]) -> str:
    """One line a cell, unrounded: shares from 0 to 1, marks from 0 to 100."""
    lines: list[list[Any]] = [
        ["table", "row", "column", "metric", "low", "high", "ci_low", "ci_high", "std", "questions", "note"]
    ]
    for table in tables:
        for row, cells in zip(table["rows"], table["cells"], strict=True):
            for column, cell in zip(table["columns"], cells, strict=True):
                head = " / ".join(filter(None, column["head"]))
                values = [cell["low"], cell["high"], *(cell["ci"] or (None, None)), cell["std"], cell["n"]]
                lines.append([table["name"], _line(row), _line(head), column["metric"], *values, cell["note"]])
    return csv_text(lines)
