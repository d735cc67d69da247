"""One run as a site holds it: what it was, its marks under both profiles, and a cell for each answer.

Contract: `read_run` reads the answers once. A cell says what an answer was worth and what is to be warned of; what it
said stands there only where the question may be shown. The run's record is published as it is and is what the next
build goes on from, so that a run that did not change is never read again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path, PurePath
from typing import Any

from livek12.core.engine_kinds import kind_of
from livek12.core.markings import KEYS
from livek12.core.records import UNMARKED, PartVerdict
from livek12.core.regrades import RegradeCounts
from livek12.core.run_folder import RunFolder
from livek12.core.run_spec import RunSpec
from livek12.core.scoring import Profile, Row
from livek12.core.scoring.metrics import site_metrics
from livek12.core.scoring.outcomes import OutcomeColumns, Slim, finding_of
from livek12.core.scoring.report import score_outcomes
from livek12.core.scoring.schema import STATES, Estimate, TaskReport
from livek12.core.text import folded
from livek12.core.visible import visible
from livek12.evaluation.reporting import limits_of, read_rows
from livek12.evaluation.site.hidden import Hidden
from livek12.report.paper import anchor_of
from livek12.report.site.fragments import answer_fragment
from livek12.report.site.store import PIECE, SiteStore

PROFILES: tuple[Profile, ...] = ("article", "release")
AXES = ("subject", "year", "release")
"""What plots show marks by; none of them names a question or a paper."""
CUT_OFF, NOT_EXTRACTED, DISAGREE, UNDECIDED = 1, 2, 4, 8
"""Warnings of a cell, added up."""
LONGEST_SAID = 160
END = 400
"""Characters at the end of a response in which a key that nobody took from it is looked for."""
LEAST_SOUGHT = 2
Cell = list[Any]
"""Bounds of the share of the points and of being fully right, place in `STATES`, warnings, tokens, what it said."""


def fingerprint(path: Path) -> list[Any]:
    """What tells whether a run folder changed: its files, their sizes and times."""
    files = sorted([*path.glob("*.jsonl"), *path.glob("*.parquet"), path / "run.json"])
    return [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files if file.is_file()]


def keys_from_elsewhere(spec: RunSpec) -> bool:
    """Whether answers were marked by the keys of another data set."""
    return any(KEYS in judge for judge in spec.known_judges)


def read_run(path: Path, slug: str, hidden: Hidden, store: SiteStore) -> dict[str, Any]:
    """The record of a run; its answers go into pieces of their own."""
    folder = RunFolder(path)
    spec = folder.spec()
    slim, columns, pieces = Slim(), OutcomeColumns(), _Pieces(store, slug)
    cells: dict[str, dict[str, list[Any]]] = {}
    judged, spent, changes = Counter[str](), Counter[str](), RegradeCounts()
    for _, trials in groupby(read_rows(folder), key=_asked):
        rows = list(trials)
        task = rows[0].task
        anchor, is_hidden = anchor_of(task, rows[0].question.id), bool(hidden.why(rows[0].question))
        piece = -1 if is_hidden else pieces.add(anchor, answer_fragment(rows))
        cells.setdefault(task, {})[anchor] = [piece, *(cell(row, is_hidden) for row in rows)]
        for row in rows:
            columns.add(slim(row))
            _count(row, spec, judged, spent)
            changes.add(row)
    pieces.end()
    outcomes = columns.end()
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
        "facts": {**_facts(spec, judged, spent), **_regraded(changes)},
        "tasks": tasks,
        "budgets": _budgets(scores["article"]["budgets"]),
        "cells": cells,
    }


def _tokens(task: TaskReport) -> dict[str, int]:
    """The sums of what is stated."""
    uses: Mapping[str, Any] = {**task["tokens"]}
    return {kind: use["sum"] for kind, use in uses.items() if use["mean"] is not None}


def _asked(row: Row) -> tuple[str, str]:
    return row.task, row.question.id


def answers_of(slug: str) -> str:
    """How the names of the pieces with a run's answers begin; no other run's begin so."""
    return f"answers/{slug}~p"


class _Pieces:
    """The fragments of a run's answers, some at a time in a file each."""

    def __init__(self, store: SiteStore, slug: str) -> None:
        self._store, self._slug = store, slug
        self._part: dict[str, str] = {}
        self._size, self._number = 0, 0

    def add(self, anchor: str, fragment: str) -> int:
        """Takes a fragment in; the number of the piece that holds it."""
        self._part[anchor] = fragment
        self._size += len(fragment.encode("utf-8", "replace"))
        number = self._number
        if self._size > PIECE:
            self.end()
        return number

    def end(self) -> None:
        """Writes what is left."""
        if self._part:
            self._store.data(f"{answers_of(self._slug)}{self._number}", self._part)
            self._number += 1
            self._part, self._size = {}, 0


def cell(row: Row, is_hidden: bool) -> Cell:
    """What a site holds of an answer beside its fragment."""
    found = finding_of(row)
    said = [visible(part.answer or "")[:LONGEST_SAID] for part in row.verdict.parts] if row.verdict else []
    tokens = row.response.completion_tokens if row.response else None
    return [
        *found.share,
        *found.correct,
        STATES.index(row.state),
        _warnings(row),
        tokens,
        None if is_hidden else said,
    ]


def _warnings(row: Row) -> int:
    found = CUT_OFF if row.response is not None and row.response.finish_reason == "length" else 0
    if row.state not in ("graded", "no_answer"):
        found |= UNDECIDED
    if row.verdict is None:
        return found
    parts = row.verdict.parts
    if any(part.score is None for part in parts):
        found |= UNDECIDED
    if any(len({vote.decision for vote in part.votes}) > 1 for part in parts):
        found |= DISAGREE
    if row.response is not None and any(_stands_in(part, row.response.text) for part in parts):
        found |= NOT_EXTRACTED
    return found


def _stands_in(part: PartVerdict, text: str) -> bool:
    """Whether the key of a part that got no answer stands at the end of the response, as a word of its own."""
    gold = folded(part.gold)
    if part.answer is not None or len(gold) < LEAST_SOUGHT:
        return False
    return re.search(rf"(?<!\w){re.escape(gold)}(?!\w)", folded(text[-END:])) is not None


def _count(row: Row, spec: RunSpec, judged: Counter[str], spent: Counter[str]) -> None:
    """Who marked the answer, and what judge models read and wrote for it."""
    if row.verdict is None or row.verdict.judge == UNMARKED:
        return
    judged[spec.who(row.verdict.judge)] += 1
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
        "model": shown_name(spec.model),
        "revision": visible(spec.model_revision or ""),
        "engine": visible(spec.engine),
        "date": spec.started_at[:10],
        "trials": spec.trials,
        "livek12": spec.package_version,
        "limits": {task.name: task.sampling.max_tokens for task in spec.tasks if not recorded},
        "judged": {visible(who): answers for who, answers in judged.items()},
        "judges": dict(spent),
    }


def _regraded(changes: RegradeCounts) -> dict[str, Any]:
    """How many marks people set; nothing where none."""
    said = changes.summary()
    return {"regraded": {**said, "by": {visible(name): n for name, n in said["by"].items()}}} if said else {}


def shown_name(model: str) -> str:
    """A model as it is named before others: of a place on a disk the last name alone."""
    is_place = model.startswith(("/", "~", ".", "\\")) or re.match(r"[A-Za-z]:[\\/]", model) is not None
    return visible(PurePath(model.replace("\\", "/")).name if is_place else model)


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


def _metrics(found: Mapping[str, Estimate], names: Iterable[str]) -> dict[str, list[float | None]]:
    """[low, high, lower end, upper end, over the trials ±] of each metric that exists, shares and marks as they are."""
    return {
        name: [_short(end) for end in (one["low"], one["high"], *(one["ci"] or (None, None)), one["std"])]
        for name in names
        if (one := found.get(name)) is not None and one["low"] is not None
    }


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 5)


def _budgets(curves: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Of each curve its points: share, tokens, and Acc≤r in both readings."""
    return {task: list(_points(curve)) for task, curve in curves.items()}


def _points(curve: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for point in curve["points"]:
        readings = {name: point[name] for name in ("true", "counterfactual") if point[name] is not None}
        yield {"share": point["share"], "tokens": point["tokens"], **_metrics(readings, readings)}
