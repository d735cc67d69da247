"""`score`: the report of one run, task by task, group by group. The package's docstring shows the shape."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import TypedDict, Unpack

from livek12.core.errors import UserError
from livek12.core.rows import Row
from livek12.core.scoring.against import against_mark
from livek12.core.scoring.answers import Table, answers_of, tabulate
from livek12.core.scoring.budgets import budget_curves, within_limit
from livek12.core.scoring.deltas import Counterpart, language_deltas, task_deltas
from livek12.core.scoring.estimates import Units, draw, estimates
from livek12.core.scoring.groups import IMAGE_ONLY, group_deltas, question_groups
from livek12.core.scoring.outcomes import Outcome, Outcomes, Slim, SlimQuestion
from livek12.core.scoring.pairs import modality_difference
from livek12.core.scoring.schema import (
    FORMULAS,
    INTERVALS,
    Delta,
    Estimate,
    Group,
    Limit,
    Parameters,
    Profile,
    Report,
    TaskReport,
    parameters_of,
)
from livek12.core.scoring.summaries import (
    context_cut,
    count,
    decided_by,
    points,
    process_errors,
    prompt_cache,
    thinking_use,
    token_use,
    ungraded,
)
from livek12.core.scoring.terms import task_terms


class ScoreOptions(TypedDict, total=False):
    """What scoring is told beside the answers.

    Attributes:
        parameters: constants; None: the profile's own.
        modalities: task to modality, for tasks whose modality is not that of their questions ("image_only").
        limits: task to its token limit, for the tasks that have token budgets.
        thinking: task to its thinking budget, for the tasks that have one.
        asked: task to the most tokens that an answer of it was asked for, where that is known.
        beside: task to the tasks that it is a variant of.
        alike: groups of tasks that differ only in the questions they choose, for questions asked in several languages.
    """

    parameters: Parameters | None
    modalities: Mapping[str, str] | None
    limits: Mapping[str, Limit] | None
    thinking: Mapping[str, int | None] | None
    asked: Mapping[str, int] | None
    beside: Mapping[str, Sequence[Counterpart]] | None
    alike: Iterable[Sequence[str]]


def score(rows: Iterable[Row], profile: Profile = "article", **options: Unpack[ScoreOptions]) -> Report:
    """Scores a run.

    Args:
        rows: one for every answer the run asked for, of any number of tasks, in any order; none is kept.
        profile: `paper` or `release` (see `formulas`).
        options: see `ScoreOptions`.

    Raises:
        UserError: unknown profile; no rows; rows that occur twice, lack a verdict, or award more points than there are.
    """
    return score_outcomes(map(Slim(), rows), profile, **options)


def score_outcomes(
    outcomes: Iterable[Outcome], profile: Profile = "article", **options: Unpack[ScoreOptions]
) -> Report:
    """The same of outcomes, which may be scored several times."""
    parameters = options.get("parameters") or parameters_of(profile)
    modalities, limits = options.get("modalities") or {}, options.get("limits") or {}
    thinking, asked = options.get("thinking") or {}, options.get("asked") or {}
    by_task = Outcomes.of(outcomes).by_task()
    if not by_task:
        raise UserError("there are no answers to score: run or import some first")
    pairs = task_deltas(by_task, options.get("beside") or {}, profile, parameters)
    pairs += language_deltas(by_task, options.get("alike", ()), profile, parameters)
    tables = {task: tabulate(by_task[task]) for task in sorted(by_task)}
    return Report(
        formulas=FORMULAS,
        profile=profile,
        intervals=INTERVALS,
        parameters=asdict(parameters),
        tasks={
            task: _score_task(
                table, profile, parameters, modalities.get(task), limits.get(task), thinking.get(task), asked.get(task)
            )
            for task, table in tables.items()
        },
        deltas=_task_deltas(by_task, profile, parameters, modalities, limits) | _flat(pairs),
        variants=pairs,
        budgets=budget_curves(tables, limits, parameters),
    )


def _score_task(
    table: Table,
    profile: Profile,
    parameters: Parameters,
    modality: str | None,
    limit: Limit | None,
    thinking: int | None,
    asked: int | None,
) -> TaskReport:
    terms = within_limit(task_terms(table, profile, parameters), limit, parameters)
    units = Units(table.questions, parameters)
    everything = estimates(draw(terms, table, units))

    def group(questions: Sequence[int]) -> Group:
        picked = answers_of(table, questions)
        whole = len(questions) == len(table.questions)
        return Group(
            questions=len(questions),
            points=points(table, questions),
            counts=count(table, picked),
            metrics=everything if whole else estimates(draw(terms, table, units, picked)),
        )

    groups = question_groups(table.questions, modality)
    return TaskReport(
        counts=count(table),
        ungraded=ungraded(table.rows),
        points=points(table, range(len(table.questions))),
        metrics=everything,
        against_mark=against_mark(terms, table),
        groups={axis: {value: group(found) for value, found in values.items()} for axis, values in groups.items()},
        deltas=group_deltas(groups, terms, table, units),
        process_errors=process_errors(table.rows, parameters.error_threshold),
        tokens=token_use(table.rows),
        prompt_cache=prompt_cache(table.rows),
        thinking=thinking_use(table.rows, thinking),
        context_cut=context_cut(table.rows, asked),
        decided_by=decided_by(table.rows),
    )


def _task_deltas(
    by_task: Mapping[str, Outcomes],
    profile: Profile,
    parameters: Parameters,
    modalities: Mapping[str, str],
    limits: Mapping[str, Limit],
) -> dict[str, Estimate]:
    """Δ modality of each image-only task against the other tasks of its benchmark, under the same budget."""
    deltas: dict[str, Estimate] = {}
    subset = "complex_layout"
    budget = {task: limits[task].share if task in limits else None for task in by_task}
    for task in sorted(by_task):
        if modalities.get(task) != IMAGE_ONLY:
            continue
        benchmark = by_task[task][0].question.benchmark
        others = [n for n in by_task if modalities.get(n) != IMAGE_ONLY and budget[n] == budget[task]]
        standard = Outcomes.joined([by_task[name].where(partial(_is_of, benchmark)) for name in others])
        found = modality_difference(standard, by_task[task], subset, profile, parameters)
        deltas |= {f"{task}/{name}/modality/image_only-standard/{subset}": value for name, value in found.items()}
    return deltas


def _is_of(benchmark: str, question: SlimQuestion) -> bool:
    return question.benchmark == benchmark


def _flat(pairs: Iterable[Delta]) -> dict[str, Estimate]:
    """The Δ on all shared questions, under names like those of the other differences."""
    return {
        f"{pair['task']}/{metric}/variant/{pair['task']}-{pair['base']}": found["difference"]
        for pair in pairs
        for metric, found in pair["metrics"].items()
    }
