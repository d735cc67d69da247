"""Marks on the scales of exams in words, for pages, the terminal and comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from livek12.report.marks import INTERVAL, number, points, span

HEADINGS = ("mark", "of", INTERVAL, "percentile", "grade", "chance of each grade")
_SHOWN_CHANCE = 0.005


@dataclass(frozen=True)
class ExamTable:
    """A table of an exam: rows by name, with indents, below `HEADINGS` of which some are left out."""

    heading: str
    headings: list[str]
    rows: list[tuple[str, int, list[str]]]


@dataclass(frozen=True)
class ExamView:
    """An exam: its sentences and tables."""

    title: str
    sentences: list[str]
    tables: list[ExamTable] = field(default_factory=list)


def exam_views(figures: Sequence[Mapping[str, Any]]) -> list[ExamView]:
    """Exams of a run."""
    views = []
    for exam in figures:
        title = f"{exam['name']}, {' + '.join(exam['tasks'])}"
        tables = [("section", exam["rows"]), ("combination", exam["combinations"])]
        shown = [_table(heading, [(row["name"], row) for row in rows]) for heading, rows in tables if rows]
        views.append(ExamView(title, [*_sentences(exam), *_source(exam)], shown))
    return views


def compared_exams(runs: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[ExamView]:
    """Each exam with a row a run, of whole exams."""
    whole: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for run, exams in runs.items():
        for exam in exams:
            whole.setdefault(f"{exam['name']}, {' + '.join(exam['tasks'])}", []).append((run, exam))
    views = []
    for title, entries in whole.items():
        marked = [(run, exam["rows"][0]) for run, exam in entries if exam["rows"]]
        sentences = [f"{run}: {sentence}" for run, exam in entries for sentence in _sentences(exam)]
        sources = dict.fromkeys(source for _, exam in entries for source in _source(exam))
        views.append(ExamView(title, [*sentences, *sources], [_table("run", marked)] if marked else []))
    return views


def _table(heading: str, rows: Sequence[tuple[str, Mapping[str, Any]]]) -> ExamTable:
    cells = [row_cells(row) for _, row in rows]
    kept = [n for n in range(len(HEADINGS)) if any(row[n] for row in cells)]
    names = [(name, row["depth"]) for name, row in rows]
    shown = [(*name, [row[n] for n in kept]) for name, row in zip(names, cells, strict=True)]
    return ExamTable(heading, [HEADINGS[n] for n in kept], shown)


def row_cells(row: Mapping[str, Any]) -> list[str]:
    """Cells below `HEADINGS`, empty where there is no scale."""
    ci, percentile, grades = row["ci"], row["percentile"], row["grades"]
    return [
        _between(row["low"], row["high"], 2),
        points(row["points"]),
        span(*ci) if ci else "",
        _between(*percentile[:2]) + (f" ({span(*percentile[2:])})" if len(percentile) > 2 else "")
        if percentile
        else "",
        " – ".join(dict.fromkeys(grades)) if grades else "",
        ", ".join(
            f"{grade} {_between(100 * low, 100 * high, 0)} %"
            for grade, (low, high) in row["chances"].items()
            if high >= _SHOWN_CHANCE
        ),
    ]


def _between(low: float, high: float, digits: int = 1) -> str:
    return number(low, digits) if number(low, 6) == number(high, 6) else span(low, high, digits)


def _sentences(exam: Mapping[str, Any]) -> Iterator[str]:
    if not exam["rows"]:
        yield f"no mark: {exam['missing']} of its questions were not asked"
        return
    whole = exam["rows"][0]
    if exam["missing"]:
        yield f"{exam['missing']} questions of elective sections were not asked"
    if whole["electives"]:
        how = "worst" if exam["combination"] == "worst" else "best"
        yield f"elective sections ({how}): {' or '.join(', '.join(names) for names in whole['electives'])}"
    if whole["sittings"]:
        sums = ", ".join(_between(low, high, 2) for low, high in whole["sittings"])
        yield f"{len(whole['sittings'])} sittings: {sums} points"
    if items := exam["items"]:
        yield _correlation(items)
    if errors := exam["errors"]:
        ci = f", {span(*(100 * end for end in errors['ci']))}" if errors["ci"] else ""
        yield (
            f"{errors['same']} of {errors['wrong']} wrong answers ({number(100 * errors['share'])} %{ci}) are the"
            f" commonest wrong option of people; guessing among wrong options: {number(100 * errors['chance'])} %"
        )


def _source(exam: Mapping[str, Any]) -> list[str]:
    return [f"people's results: {'; '.join(exam['sources'])}"] if exam["sources"] else []


def _correlation(items: Mapping[str, Any]) -> str:
    left_out = f", {items['open']} open ones left out" if items["open"] else ""
    if items["correlation"] is None:
        return f"no correlation with people's rates over {items['questions']} questions{left_out}: one does not vary"
    low, high = items["ci"] or (0.0, 0.0)
    ci = f" (95 %: {span(low, high, 2)})" if items["ci"] else ""
    return (
        f"correlation of marks with people's rates over {items['questions']} questions{left_out}:"
        f" {number(items['correlation'], 2)}{ci}"
    )
