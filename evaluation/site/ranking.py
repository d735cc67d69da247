"""Ranks of the runs of a site, and how far they would move.

Contract: works on the records of runs (`reading`), so that no run is read again. Ranks are those of `livek12 compare`;
what a pair of runs was found to be is kept from build to build under a hash of what it was found from, so that a run
that comes in is tested against the others and nothing is tested twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from livek12.core.records import Question
from livek12.core.scoring.answers import Table, tabulate
from livek12.core.scoring.comparison import compare_tables
from livek12.core.scoring.formulas import Term
from livek12.core.scoring.outcomes import AXES, AnswerFinding, Outcome, SlimQuestion
from livek12.core.scoring.ranks import ALPHA, ranges, side, tied
from livek12.core.scoring.schema import STATES, parameters_of
from livek12.core.scoring.stability import rank_stability
from livek12.core.scoring.terms import task_terms
from livek12.core.statistics import holm
from livek12.report.site.store import SiteStore, digest_of

MOST_RANKED = 100
"""Runs of a task, the best ones, that are tested against each other."""
RANKED = ("mark", "accuracy")
Records = Mapping[str, Mapping[str, Any]]
"""The records of runs by slug."""
Placed = dict[str, dict[str, Mapping[str, Any]]]
"""By metric and run: "ranks" the best and the worst that the data leave open, "tied" the place that a group of runs
shares, "stability" the lower end, median and upper end of resampled ranks."""


def place(
    task: str, stem: str, questions: Mapping[str, Question], records: Records, store: SiteStore, code: str
) -> Placed:
    """The ranks of the best runs of a task; of one run, none. What other `code` found of pairs is not taken."""
    slim = {anchor: _slim(question) for anchor, question in questions.items()}
    runs = {slug: record["cells"][task] for slug, record in records.items() if task in record["cells"]}
    best = sorted(runs, key=lambda slug: -_middle(records[slug], task))[:MOST_RANKED]
    if len(best) < 2:
        return {"ranks": {}, "tied": {}, "stability": {}}
    chosen = [slug for slug in runs if slug in set(best)]
    tables = {slug: tabulate(_outcomes(task, runs[slug], slim)) for slug in chosen}
    terms = {slug: task_terms(table, "article", parameters_of("article")) for slug, table in tables.items()}
    pairs = _pairs(tables, f"pairs/{stem}", store, code)
    placed: Placed = {"ranks": {}, "tied": {}, "stability": {}}
    for number, metric in enumerate(RANKED):
        having = {slug: term for slug in chosen if isinstance(term := terms[slug].get(metric), Term)}
        tested = [(a, b, *found[number]) for (a, b), found in pairs.items() if found[number] is not None]
        adjusted = holm([p for *_, p in tested])
        told = [
            (a, b, sign if p is not None and p < ALPHA else 0)
            for (a, b, sign, _), p in zip(tested, adjusted, strict=True)
        ]
        if having:
            placed["ranks"][metric] = ranges(list(having), told)
            placed["tied"][metric] = tied(sorted(having, key=lambda slug: -_half_way(having[slug])), told)
            placed["stability"][metric] = rank_stability(tables, having, parameters_of("article"))
    return placed


def _middle(record: Mapping[str, Any], task: str) -> float:
    mark = record["tasks"][task]["profiles"]["article"]["metrics"].get("mark")
    return -1.0 if mark is None else float(mark[0] + mark[1]) / 2


def _half_way(term: Term) -> float:
    return float((term.low + term.high).sum() / term.weight.sum())


def _pairs(tables: Mapping[str, Table], name: str, store: SiteStore, code: str) -> dict[tuple[str, str], list[Any]]:
    """What each pair was found to be, metric by metric: [side of the interval of b - a, p], or None."""
    marks = {slug: digest_of(code, _basis(table))[:12] for slug, table in tables.items()}
    known: dict[str, list[Any]] = {}
    number = 0
    while isinstance(part := store.read(f"{name}-{number}"), dict):
        known |= part
        number += 1
    couples = list(combinations(tables, 2))
    keys = {(a, b): marks[a] + marks[b] for a, b in couples}
    missing = [couple for couple in couples if keys[couple] not in known]
    if missing:
        compared = compare_tables(tables, "article", parameters_of("article"), missing)
        for pair in compared["pairs"]:
            found = [pair["metrics"].get(metric) for metric in RANKED]
            known[keys[pair["a"], pair["b"]]] = [one and [side(one), one["test"]["p"]] for one in found]
    kept = {keys[couple]: known[keys[couple]] for couple in couples}
    store.pieces(name, kept.items())
    return {couple: known[keys[couple]] for couple in couples}


def _basis(table: Table) -> list[Any]:
    """All that the comparison of two runs hangs on."""
    asked = [(q.id, q.source, q.paper_id, q.points) for q in table.questions]
    return [asked, [(row.question.id, row.trial, row.finding.share, row.finding.correct) for row in table.rows]]


def _slim(question: Question) -> SlimQuestion:
    """Without variables, whose own metrics have no ranks here."""
    return replace(SlimQuestion.of(question, tuple(() for _ in AXES)), has_variables=False)


def _outcomes(task: str, cells: Mapping[str, Sequence[Any]], slim: Mapping[str, SlimQuestion]) -> Iterator[Outcome]:
    for anchor, (_, *trials) in cells.items():
        for trial, (low, high, least, most, state, *_) in enumerate(trials):
            # Without tokens nothing is tested that is ranked by them.
            yield Outcome(
                task,
                slim[anchor],
                trial,
                AnswerFinding(STATES[state], (low, high), (least, most), (least, most)),
            )
