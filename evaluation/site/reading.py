"""Runs as a site holds them: facts, marks under both profiles, a cell for each answer; and which questions are hidden.

The record of a run is published, and the next build goes on from it: an unchanged run is never read again. Of a hidden
question a site has its place, subject and the like, and its marks: no text, key, picture, id, name or answer. A
question is hidden by its release, by its rights, or as a relative (source, variant, translation) of a hidden one; so is
a page that shows one.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

from livek12.core.engine_kinds import kind_of
from livek12.core.errors import UserError
from livek12.core.exams import EXAMS
from livek12.core.hub import NotFetched
from livek12.core.records import UNMARKED, PartVerdict, Question
from livek12.core.rights import Name, held_release, made_from
from livek12.core.run.folder import RunFolder
from livek12.core.run.markings import KEYS, RegradeCounts
from livek12.core.run.signing import SIGNATURE, signer_of
from livek12.core.run.spec import RunSpec
from livek12.core.run_answers import AlikeAnswers, of_alike, read_alike, with_prediction
from livek12.core.run_answers import answers_of as scored_answers
from livek12.core.scoring import Profile, Row
from livek12.core.scoring.metrics import site_metrics
from livek12.core.scoring.outcomes import Slim, finding_of
from livek12.core.scoring.report import score_outcomes
from livek12.core.scoring.schema import STATES, Estimate, TaskReport
from livek12.core.text import folded
from livek12.core.visible import visible
from livek12.evaluation.reporting import alike, limits_of, read_rows, run_exams, tasks_of
from livek12.report.paper import anchor_of
from livek12.report.site.files import PIECE, SiteStore, digest_of
from livek12.report.site.pages import answer_fragment
from livek12.report.views import row_cells

HELD_BACK = "held back"
Refuses: TypeAlias = Callable[[Question], str]
"""Reason why a question may not be shown, or ""."""


class Hidden:
    """Hidden ones of the questions it has seen.

    `refuses` gives reasons of rights, `held` are the releases held back.
    """

    def __init__(self, refuses: Refuses, held: Iterable[str]) -> None:
        self._refuses, self.held = refuses, frozenset(held)
        self._why: dict[Name, str] = {}
        self._relatives: defaultdict[Name, set[Name]] = defaultdict(set)
        self._shown_on: defaultdict[tuple[str, int], set[Name]] = defaultdict(set)
        self._somewhere_in: defaultdict[str, set[Name]] = defaultdict(set)

    def look(self, questions: Iterable[Question], keys_from_elsewhere: bool = False) -> None:
        """Takes questions in; `keys_from_elsewhere`: answers were marked by the keys of another dataset."""
        for question in questions:
            name = (question.benchmark, question.id)
            keyless = keys_from_elsewhere and not (question.answer or question.variables)
            is_held = question.release in self.held or keyless
            if why := HELD_BACK if is_held else self._refuses(question):
                self._why.setdefault(name, why)
            if others := made_from(question):
                self._relatives[name].update(others)
            if question.paper_id and question.page_numbers:
                for number in question.page_numbers:
                    self._shown_on[question.paper_id, number].add(name)
            elif question.paper_id:
                self._somewhere_in[question.paper_id].add(name)

    def settle(self) -> None:
        """Hides relatives of hidden questions; call it after the last `look`."""
        again = True
        while again:
            again = False
            for name, others in self._relatives.items():
                for relative, other in [(name, other) for other in others] + [(other, name) for other in others]:
                    if relative not in self._why and other in self._why:
                        self._why[relative] = self._why[other]
                        again = True

    def why(self, question: Question) -> str:
        """Reason why a question is hidden, or ""."""
        return self._why.get((question.benchmark, question.id), "")

    def pages(self) -> frozenset[tuple[str, int]]:
        """Pages that may not be shown."""
        pages = {page for page, names in self._shown_on.items() if any(name in self._why for name in names)}
        papers = {paper for paper, names in self._somewhere_in.items() if any(name in self._why for name in names)}
        return frozenset(pages | {page for page in self._shown_on if page[0] in papers})

    def digest(self) -> str:
        """Hash of all that is hidden."""
        return digest_of(sorted(self._why.items()), sorted(self.held))


def held_back_in(data: str) -> str:
    """Release whose answers a dataset keeps elsewhere, or "", also if unreadable."""
    try:
        return held_release(data) or ""
    except (NotFetched, UserError):
        return ""


PROFILES: tuple[Profile, ...] = ("article", "release")
AXES = ("subject", "year", "release")
"""Axes of plots; none names a question or a paper."""
CUT_OFF, NOT_EXTRACTED, DISAGREE, UNDECIDED = 1, 2, 4, 8
"""Warnings of a cell, a bit mask."""
HIDDEN, WITHOUT_TEXT = -1, -2
"""In place of the piece of an answer."""
TOKENS = 6
"""Place in a cell."""
LONGEST_SAID = 160
END = 400
"""Characters at the end of a response that are searched for a key that was not extracted."""
LEAST_SOUGHT = 2
Cell = list[Any]
"""Bounds of the share of points and of fully right, place in `STATES`, warnings, tokens, extracted texts."""


def fingerprint(path: Path) -> list[Any]:
    """Files of a run folder with sizes and times, to detect changes."""
    further = (path / name for name in ("run.json", EXAMS, SIGNATURE))
    files = sorted([*path.glob("*.jsonl"), *path.glob("*.parquet"), *further])
    return [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files if file.is_file()]


def keys_from_elsewhere(spec: RunSpec) -> bool:
    """Answers were marked by the keys of another dataset."""
    return any(KEYS in judge for judge in spec.known_judges)


def read_run(path: Path, slug: str, hidden: Hidden, store: SiteStore) -> dict[str, Any]:
    """Record of a run; its answers go into pieces of their own."""
    folder = RunFolder(path)
    spec = folder.spec()
    pieces = _Pieces(store, slug)
    cells: dict[str, dict[str, list[Any]]] = {}
    judged, spent = Counter[str](), Counter[str]()
    by_kind = read_alike(folder)

    def passing() -> Iterator[Row]:
        for _, trials in groupby(read_rows(folder), key=_asked):
            rows = list(trials)
            task = rows[0].task
            anchor, is_hidden = anchor_of(task, rows[0].question.id), bool(hidden.why(rows[0].question))
            piece = HIDDEN if is_hidden else pieces.add(anchor, answer_fragment(rows))
            cells.setdefault(task, {})[anchor] = [piece, *(cell(row, is_hidden) for row in rows)]
            for row in rows:
                _count(row, spec, judged, spent)
                yield row

    if by_kind is None:
        answers = scored_answers(passing(), Slim())
    else:
        cells, answers = _alike_cells(by_kind, hidden), of_alike(by_kind, Slim())
        for kind, times in Counter(by_kind.kinds.tolist()).items():
            _count(by_kind.rows[kind], spec, judged, spent, times)
    outcomes = with_prediction(folder, answers.outcomes)
    pieces.end()
    modalities = {task.name: task.modality for task in spec.tasks}
    scores = {
        profile: score_outcomes(outcomes, profile, modalities=modalities, limits=limits_of(spec))
        for profile in PROFILES
    }
    tasks = {
        name: {
            "profiles": {profile: _profile(scores[profile]["tasks"][name]) for profile in PROFILES},
            "counts": dict(task["counts"]),
            "tokens": _tokens(task),
            "untold": task["tokens"]["completion"]["missing"],
            "modality": modalities.get(name, ""),
        }
        for name, task in scores["article"]["tasks"].items()
    }
    return {
        "facts": {**_facts(spec, judged, spent), **_regraded(answers.changes), "signed": signer_of(folder)},
        "tasks": tasks,
        "budgets": ({task: list(_points(curve)) for task, curve in scores["article"]["budgets"].items()}),
        "exams": _exams(run_exams(folder, outcomes, alike(tasks_of(spec)), "article")),
        "cells": cells,
    }


def _alike_cells(alike: AlikeAnswers, hidden: Hidden) -> dict[str, dict[str, list[Any]]]:
    of_kind = [([WITHOUT_TEXT, cell(row, False)], [HIDDEN, cell(row, True)]) for row in alike.rows]
    cells: dict[str, dict[str, list[Any]]] = {}
    for (task, question), kind, tokens in zip(alike.exam.questions, alike.kinds.tolist(), alike.tokens, strict=True):
        piece, own = shared = of_kind[kind][bool(hidden.why(question))]
        with_tokens = [piece, [*own[:TOKENS], tokens, *own[TOKENS + 1 :]]]
        cells.setdefault(task, {})[anchor_of(task, question.id)] = shared if tokens is None else with_tokens
    return cells


def _exams(figures: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            **{name: exam[name] for name in ("combination", "missing", "items", "errors")},
            "name": visible(exam["name"]),
            "tasks": exam["tasks"],
            "rows": [[visible(row["name"]), row["depth"], *map(visible, row_cells(row))] for row in exam["rows"]],
            "electives": [[visible(name) for name in names] for row in exam["rows"][:1] for names in row["electives"]],
            "sources": list(map(visible, exam["sources"])),
        }
        for exam in figures
    ]


def _tokens(task: TaskReport) -> dict[str, int]:
    uses: Mapping[str, Any] = {**task["tokens"]}
    return {kind: use["sum"] for kind, use in uses.items() if use["mean"] is not None}


def _asked(row: Row) -> tuple[str, str]:
    return row.task, row.question.id


def answers_of(slug: str) -> str:
    """Prefix of the names of a run's answer pieces, unique to it."""
    return f"answers/{slug}~p"


class _Pieces:
    def __init__(self, store: SiteStore, slug: str) -> None:
        self._store, self._slug = store, slug
        self._part: dict[str, str] = {}
        self._size, self._number = 0, 0

    def add(self, anchor: str, fragment: str) -> int:
        self._part[anchor] = fragment
        self._size += len(fragment.encode("utf-8", "replace"))
        number = self._number
        if self._size > PIECE:
            self.end()
        return number

    def end(self) -> None:
        if self._part:
            self._store.data(f"{answers_of(self._slug)}{self._number}", self._part)
            self._number += 1
            self._part, self._size = {}, 0


def cell(row: Row, is_hidden: bool) -> Cell:
    """Cell of an answer."""
    finding = finding_of(row)
    texts = [visible(part.answer or "")[:LONGEST_SAID] for part in row.verdict.parts] if row.verdict else []
    tokens = row.response.completion_tokens if row.response else None
    return [
        *finding.share,
        *finding.correct,
        STATES.index(row.state),
        _warnings(row),
        tokens,
        None if is_hidden else texts,
    ]


def _warnings(row: Row) -> int:
    warnings = CUT_OFF if row.response is not None and row.response.finish_reason == "length" else 0
    if row.state not in ("graded", "no_answer"):
        warnings |= UNDECIDED
    if row.verdict is None:
        return warnings
    parts = row.verdict.parts
    if any(part.score is None for part in parts):
        warnings |= UNDECIDED
    if any(len({vote.decision for vote in part.votes}) > 1 for part in parts):
        warnings |= DISAGREE
    if row.response is not None and any(_stands_in(part, row.response.text) for part in parts):
        warnings |= NOT_EXTRACTED
    return warnings


def _stands_in(part: PartVerdict, text: str) -> bool:
    """The key of an unanswered part is at the end of the response, as a word."""
    gold = folded(part.gold)
    if part.answer is not None or len(gold) < LEAST_SOUGHT:
        return False
    return re.search(rf"(?<!\w){re.escape(gold)}(?!\w)", folded(text[-END:])) is not None


def _count(row: Row, spec: RunSpec, judged: Counter[str], spent: Counter[str], times: int = 1) -> None:
    if row.verdict is None or row.verdict.judge == UNMARKED:
        return
    judged[spec.who(row.verdict.judge)] += times
    for call in row.verdict.calls:
        spent["requests"] += 1
        spent["prompt"] += call.prompt_tokens or 0
        spent["completion"] += call.completion_tokens or 0
        if call.cost is not None:
            spent["millionths"] += round(call.cost * 1e6)
        elif call.raw is not None:
            spent["unpriced"] += 1


def _facts(spec: RunSpec, judged: Mapping[str, int], spent: Mapping[str, int]) -> dict[str, Any]:
    recorded = kind_of(spec.engine).is_recorded
    return {
        "model": visible(spec.shown),
        "revision": visible(spec.model_revision or ""),
        "engine": f"{visible(spec.cells)} without responses" if spec.cells else visible(spec.engine),
        "date": spec.started_at[:10],
        "trials": spec.trials,
        "livek12": spec.package_version,
        "limits": {task.name: task.sampling.max_tokens for task in spec.tasks if not recorded},
        "judged": {visible(who): answers for who, answers in judged.items()},
        "judges": dict(spent),
        **({} if spec.stated_cost is None else {"cost": spec.stated_cost}),
        **({"adaptive": {"asked": spec.tasks[0].questions, "of": spec.adaptive.of}} if spec.adaptive else {}),
    }


def _regraded(changes: RegradeCounts) -> dict[str, Any]:
    summary = changes.summary()
    return {"regraded": {**summary, "by": {visible(name): n for name, n in summary["by"].items()}}} if summary else {}


def _profile(task: TaskReport) -> dict[str, Any]:
    groups = {
        axis: {
            visible(str(value)): {"n": group["questions"], **_metrics(group["metrics"], ("mark", "accuracy"))}
            for value, group in values.items()
        }
        for axis, values in task["groups"].items()
        if axis in AXES
    }
    return {"metrics": _metrics(task["metrics"], site_metrics()), "groups": groups}


def _metrics(estimates: Mapping[str, Estimate], names: Iterable[str]) -> dict[str, list[float | None]]:
    """[low, high, lower end, upper end, ± over trials] of each existing metric, unscaled."""
    return {
        name: [
            _short(end)
            for end in (estimate["low"], estimate["high"], *(estimate["ci"] or (None, None)), estimate["std"])
        ]
        for name in names
        if (estimate := estimates.get(name)) is not None and estimate["low"] is not None
    }


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 5)


def _points(curve: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for point in curve["points"]:
        readings = {name: point[name] for name in ("true", "counterfactual") if point[name] is not None}
        yield {"share": point["share"], "tokens": point["tokens"], **_metrics(readings, readings)}
