"""Questions of a report: which are shown, under which papers, on which page.

`Shown` picks rows as they pass, to bound memory. Each of several pages has whole papers of one task where they fit in
`PAGE_QUESTIONS` and `PAGE_ANSWERS`. Questions are drawn when the template takes them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from livek12.core.questions import paper_order
from livek12.core.records import Image, Question
from livek12.core.run_answers import AnswerOrigin
from livek12.core.scoring import Row
from livek12.report.paper import Pages, PaperEntry, anchor_of, cell_view, new_pages, page_views, question_view
from livek12.report.pictures import PictureFiles
from livek12.report.scan import sum_of

PAGE_QUESTIONS = 500
PAGE_ANSWERS = 1000
"""Most on one page: larger runs have an index and pages for each task."""
MAX_QUESTIONS = 2000
MAX_ANSWERS = 8000
"""Most on all pages together."""


class Shown:
    """The first `limit` questions of a run, and after its rows have passed, their answers.

    `questions` holds task and id of those shown; `asked` counts all; `split` if one page would be too heavy; `made`
    counts the versions in verdicts.
    """

    def __init__(self, questions: Iterable[tuple[str, Question]], trials: int = 1, limit: int = MAX_QUESTIONS) -> None:
        by_task: dict[str, list[tuple[Any, str]]] = {}
        exams: dict[str, None] = {}
        for task, question in questions:
            by_task.setdefault(task, []).append((paper_order(question), question.id))
            if question.exam:
                exams[question.exam] = None
        self.tasks = list(by_task)
        self.exams = list(exams)
        self.asked = sum(map(len, by_task.values()))
        self.split = self.asked > PAGE_QUESTIONS or self.asked * trials > PAGE_ANSWERS
        self.rows: list[Row] = []
        kinds = ("judge of the answers", "versions of the verdicts", "engine of the answers", "versions of the answers")
        self.made: dict[str, Counter[str]] = {kind: Counter() for kind in kinds}
        shares = _shares(
            {task: len(questions_of) for task, questions_of in by_task.items()}, min(limit, MAX_ANSWERS // trials)
        )
        self.questions = {
            (task, id_)
            for task, questions_of in by_task.items()
            for _, id_ in sorted(questions_of, key=lambda item: item[0])[: shares[task]]
        }

    @property
    def left_out(self) -> int:
        """Number of questions not shown."""
        return self.asked - len(self.questions)

    def passing(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Passes rows on, picking those to show."""
        for row in rows:
            if (row.task, row.question.id) in self.questions:
                self.rows.append(row)
            yield row

    def count(self, origins: Mapping[AnswerOrigin, int]) -> None:
        """Counts an answer's origin."""
        for origin, answers in origins.items():
            for made, version in zip(self.made.values(), origin, strict=True):
                if version is not None:
                    made[version] += answers


def _shares(questions: Mapping[str, int], limit: int) -> dict[str, int]:
    """Shown questions by task: in proportion, at least one."""
    shares: dict[str, int] = {}
    for rank, task in enumerate(sorted(questions, key=lambda task: questions[task])):
        shares[task] = min(questions[task], max(1, limit // (len(questions) - rank)))
        limit -= shares[task]
    return shares


FOLDER = "report"
"""The folder of further pages."""


@dataclass(frozen=True)
class ReportPage:
    """A file with some questions of one task, after `begin` others."""

    task: str
    file: str
    entries: list[PaperEntry]
    begin: int
    number: int
    of: int

    @property
    def label(self) -> str:
        """The page's name within its task."""
        first, last = (entry.question.number or "" for entry in (self.entries[0], self.entries[-1]))
        papers = [paper for paper in dict.fromkeys(_paper_name(entry) for entry in self.entries) if paper]
        if len(papers) > 1:
            return f"{papers[0]} to {papers[-1]}"
        return f"{papers[0] if papers else self.task}{f', {first} to {last}' if first and last else ''}"


def report_pages(chosen: Sequence[PaperEntry]) -> list[ReportPage]:
    """Pages of a report with one or more for each task."""
    pages = []
    for rank, (task, of_task) in enumerate(groupby(chosen, key=lambda entry: entry.task), 1):
        parts = list(_parts(list(of_task)))
        stem = f"{rank}-{re.sub(r'[^A-Za-z0-9._-]+', '-', task)[:80]}"
        for number, part in enumerate(parts, 1):
            name = f"{stem}{f'-{number}' if len(parts) > 1 else ''}.html"
            pages.append(ReportPage(task, name, part, sum(map(len, parts[: number - 1])), number, len(parts)))
    return pages


def _parts(entries: Sequence[PaperEntry]) -> Iterator[list[PaperEntry]]:
    """Questions of each page: whole papers, unless one alone is too much."""
    part: list[PaperEntry] = []
    for _, of_paper in groupby(entries, key=_paper_name):
        paper = list(of_paper)
        if part and not _fits([*part, *paper]):
            yield part
            part = []
        for entry in paper:
            if part and not _fits([*part, entry]):
                yield part
                part = []
            part.append(entry)
    yield part


def _fits(entries: Sequence[PaperEntry]) -> bool:
    return len(entries) <= PAGE_QUESTIONS and sum(len(entry.rows) for entry in entries) <= PAGE_ANSWERS


def contents(parts: Sequence[ReportPage]) -> list[dict[str, Any]]:
    """Index: each task with its pages and cells."""
    tasks: list[dict[str, Any]] = []
    for part in parts:
        if part.number == 1:
            tasks.append({"task": part.task, "pages": []})
        grid = overview(part.entries, part.begin)
        tasks[-1]["pages"].append({"href": f"{FOLDER}/{part.file}", "label": part.label, "grid": grid})
    return tasks


def _paper_name(entry: PaperEntry) -> str:
    return entry.question.paper_id or ""


def overview(entries: Sequence[PaperEntry], begin: int = 0) -> list[dict[str, Any]]:
    """Cells of a task's questions by paper, with sums; `begin` are on pages before."""
    several = len({_paper_name(entry) for entry in entries}) > 1
    groups = []
    place = begin
    for paper, of_paper in groupby(entries, key=_paper_name):
        together = list(of_paper)
        cells = []
        for entry in together:
            place += 1
            cells.append(cell_view(entry, anchor_of(entry.task, entry.question.id), place))
        groups.append({"paper": paper if several else "", "sum": sum_of(together) if several else "", "cells": cells})
    return groups


def sections(
    chosen: Sequence[PaperEntry],
    pages: Pages,
    pictures: PictureFiles,
    step: Callable[[], None],
    on_sheets: Set[tuple[str, int]],
    begin: int = 0,
) -> list[dict[str, Any]]:
    """Questions under their papers, without the pages in `on_sheets` (shown above with marks)."""

    def questions(entries: Sequence[tuple[PaperEntry, dict[str, str]]]) -> Iterator[dict[str, Any]]:
        for entry, cell in entries:
            yield question_view(entry, cell, pictures)
            step()

    seen: set[tuple[str, int]] = set(on_sheets)
    papers: list[dict[str, Any]] = []
    for task, each in groupby(chosen, key=lambda entry: entry.task):
        of_task = list(each)
        grid = overview(of_task, begin)
        cells = iter([cell for group in grid for cell in group["cells"]])
        sums = {group["paper"]: group["sum"] for group in grid if group["paper"]}
        for n, entry in enumerate(of_task):
            sheets = new_pages(entry, seen)
            seen.update(sheets)
            paper = _paper_name(entry)
            turns = n == 0 or (bool(sums) and paper != _paper_name(of_task[n - 1]))
            if turns or sheets:
                views = page_views(sheets, pages, pictures)
                named = paper if entry.image_only or (sums and turns) else ""
                section = {"task": task, "paper": named, "sum": sums.get(paper, "") if turns else "", "begins": n == 0}
                papers.append({**section, "pages": views, "entries": [], "grid": grid if n == 0 else ()})
            papers[-1]["entries"].append((entry, next(cells)))
    for section in papers:
        section["questions"] = questions(section.pop("entries"))
    return papers


def occurring(chosen: Sequence[PaperEntry], pages: Pages) -> list[Image]:
    """Pictures of a page, as often as they occur."""
    sheets = {
        (entry.question.paper_id, number)
        for entry in chosen
        if entry.image_only and entry.question.paper_id
        for number in entry.question.page_numbers
    }
    return [image for entry in chosen for image in entry.images] + [pages[key] for key in sheets if key in pages]
