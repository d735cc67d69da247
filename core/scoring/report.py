"""Report of one run, task by task, group by group.

Metrics against the mark (`against_mark`): an answer counts numerator over weight in each; undecided ones only where
every outcome agrees. pass@k is compared with the mean mark of the question.

Token budgets (`budget_curves`; LiveK12Bench, sections 2.3 and 3.2): Acc≤r = (1/N)·#(S = 1 and l ≤ r · token limit),
read in two ways over all questions and trials; not available where an answer states no count. `true`: answers drawn
under that limit, and cut there. `counterfactual`: answers of the longest run, cut after the fact.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial

from livek12.core.errors import UserError
from livek12.core.lazy import np
from livek12.core.scoring.comparison import Counterpart, language_deltas, modality_difference, task_deltas
from livek12.core.scoring.estimates import IMAGE_ONLY, Units, draw, estimates, group_deltas, question_groups
from livek12.core.scoring.formulas import RATIOS, Term, Terms, budget_term
from livek12.core.scoring.metrics import task_terms
from livek12.core.scoring.outcomes import (
    Outcome,
    Outcomes,
    SlimQuestion,
    Table,
    answers_of,
    context_cut,
    count,
    decided_by,
    points,
    process_errors,
    prompt_cache,
    tabulate,
    thinking_use,
    token_use,
    ungraded,
)
from livek12.core.scoring.schema import (
    FORMULAS,
    INTERVALS,
    AgainstMark,
    BudgetCurve,
    BudgetPoint,
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
from livek12.core.statistics import Floats

MARK = ("mark", "OCS")
"""Names of the mark itself."""
_EQUAL = 1e-9


def against_mark(terms: Terms, table: Table) -> dict[str, AgainstMark]:
    """Counts of answers by metric against the mark; empty without a mark."""
    mark = terms.get("mark")
    if not isinstance(mark, Term) or mark.absence():
        return {}
    return {
        name: _beside(term, mark, table)
        for name, term in terms.items()
        if name not in MARK and isinstance(term, Term) and not term.absence()
    }


def _beside(term: Term, mark: Term, table: Table) -> AgainstMark:
    low, high, weight = _values(term, table, not term.by_trial)
    mark_low, mark_high, mark_weight = _values(mark, table, not term.by_trial)
    there = (weight > 0) & (mark_weight > 0)
    more = there & (low > mark_high + _EQUAL)
    less = there & (high < mark_low - _EQUAL)
    decided = (np.abs(high - low) <= _EQUAL) & (np.abs(mark_high - mark_low) <= _EQUAL)
    same = there & decided & ~more & ~less
    return AgainstMark(
        unit="answer" if term.by_trial else "question",
        more=int(more.sum()),
        less=int(less.sum()),
        same=int(same.sum()),
        open=int((there & ~more & ~less & ~same).sum()),
    )


def _values(term: Term, table: Table, by_question: bool) -> tuple[Floats, Floats, Floats]:
    sums = [term.low, term.high, term.weight]
    if by_question:
        sums = [np.add.reduceat(array, table.begins[:-1]) for array in sums]
    low, high, weight = sums
    whole = np.where(weight > 0, weight, 1.0)
    return low / whole, high / whole, weight


TRUE = "answers drawn under the limit: one that reached it was cut there and is marked on what it holds"
COUNTERFACTUAL = "answers of {}, cut after the fact: one that is longer than the limit counts as not given"


def budget_curves(
    tables: Mapping[str, Table], limits: Mapping[str, Limit], parameters: Parameters
) -> dict[str, BudgetCurve]:
    """Curve of each task with limits: at the article's r, and at those of its budgets."""
    groups: dict[str, dict[str, Limit]] = {}
    for task in tables:
        if task in limits:
            groups.setdefault(limits[task].of, {})[task] = limits[task]
    return {of: _curve({task: tables[task] for task in group}, group, parameters) for of, group in groups.items()}


def within_limit(terms: Terms, limit: Limit | None, parameters: Parameters) -> Terms:
    """Terms without those Acc≤r beyond the tokens that the answers were allowed."""
    if limit is None or limit.tokens is None:
        return terms
    most = f"{limit.tokens:,} tokens" if limit.share is None else f"r = {limit.share:g}"
    why = f"not available: the answers were limited to {most}"
    beyond = [f"Acc≤{ratio}" for ratio in RATIOS if int(float(ratio) * parameters.token_limit) > limit.tokens]
    return terms | dict.fromkeys(beyond, why)


def _curve(tables: Mapping[str, Table], limits: Mapping[str, Limit], parameters: Parameters) -> BudgetCurve:
    longest = max(limits, key=lambda task: _allowed(limits[task]))
    end = limits[longest].tokens
    shares = sorted({float(ratio) for ratio in RATIOS} | {limit.share for limit in limits.values() if limit.share})
    tokens = {share: int(share * parameters.token_limit) for share in shares}
    cut: Terms = {
        str(share): budget_term(tables[longest].answers, allowed)
        if end is None or allowed <= end
        else f"not available: the longest answers were limited to {end:,} tokens"
        for share, allowed in tokens.items()
    }
    cuts = _drawn(cut, tables[longest], parameters)
    points = []
    for share, allowed in tokens.items():
        task = next((task for task, limit in limits.items() if limit.tokens == allowed), None)
        true = None if task is None else _true(tables[task], allowed, parameters)
        points.append(
            BudgetPoint(share=share, tokens=allowed, true=true, true_task=task, counterfactual=cuts[str(share)])
        )
    return BudgetCurve(
        longest=longest,
        longest_tokens=end,
        true_means=TRUE,
        counterfactual_means=COUNTERFACTUAL.format(longest),
        points=points,
    )


def _allowed(limit: Limit) -> float:
    return float("inf") if limit.tokens is None else limit.tokens


def _true(table: Table, allowed: int, parameters: Parameters) -> Estimate:
    over = int((table.answers.tokens > allowed).sum())
    estimate = _drawn({"true": budget_term(table.answers, allowed)}, table, parameters)["true"]
    if over and estimate["note"] is None:
        estimate["note"] = f"{over} answers are longer than the limit, which was not kept: they count as not given"
    return estimate


def _drawn(terms: Terms, table: Table, parameters: Parameters) -> dict[str, Estimate]:
    return estimates(draw(terms, table, Units(table.questions, parameters)))


def score_outcomes(
    outcomes: Iterable[Outcome],
    profile: Profile = "article",
    parameters: Parameters | None = None,
    modalities: Mapping[str, str] | None = None,
    limits: Mapping[str, Limit] | None = None,
    thinking: Mapping[str, int | None] | None = None,
    requested: Mapping[str, int] | None = None,
    beside: Mapping[str, Sequence[Counterpart]] | None = None,
    alike: Iterable[Sequence[str]] = (),
) -> Report:
    """Scores a run: an outcome for every requested answer, in any order.

    Args:
        modalities: task to modality, where it is not that of the questions ("image_only").
        limits: task to its token limit, for tasks with token budgets.
        thinking: task to its thinking budget, if any.
        requested: task to its maximum of tokens, where known.
        alike: groups of tasks that differ only in chosen questions, for multilingual questions.
    """
    parameters = parameters or parameters_of(profile)
    modalities, limits, thinking, requested = modalities or {}, limits or {}, thinking or {}, requested or {}
    by_task = Outcomes.of(outcomes).by_task()
    if not by_task:
        raise UserError("there are no answers to score: run or import some first")
    pairs = task_deltas(by_task, beside or {}, profile, parameters)
    pairs += language_deltas(by_task, alike, profile, parameters)
    tables = {task: tabulate(by_task[task]) for task in sorted(by_task)}
    return Report(
        formulas=FORMULAS,
        profile=profile,
        intervals=INTERVALS,
        parameters=asdict(parameters),
        tasks={
            task: _score_task(
                table,
                profile,
                parameters,
                modalities.get(task),
                limits.get(task),
                thinking.get(task),
                requested.get(task),
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
    requested: int | None,
) -> TaskReport:
    terms = within_limit(task_terms(table, profile, parameters), limit, parameters)
    units = Units(table.questions, parameters)
    everything = estimates(draw(terms, table, units))

    def group(questions: Sequence[int]) -> Group:
        picked = answers_of(table, questions)
        whole = len(questions) == len(table.questions) and table.rows.predicted is None
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
        groups={axis: {value: group(indices) for value, indices in values.items()} for axis, values in groups.items()},
        deltas=group_deltas(groups, terms, table, units),
        process_errors=process_errors(table.rows, parameters.error_threshold),
        tokens=token_use(table.rows),
        prompt_cache=prompt_cache(table.rows),
        thinking=thinking_use(table.rows, thinking),
        context_cut=context_cut(table.rows, requested),
        decided_by=decided_by(table.rows),
    )


def _task_deltas(
    by_task: Mapping[str, Outcomes],
    profile: Profile,
    parameters: Parameters,
    modalities: Mapping[str, str],
    limits: Mapping[str, Limit],
) -> dict[str, Estimate]:
    deltas: dict[str, Estimate] = {}
    subset = "complex_layout"
    budget = {task: limits[task].share if task in limits else None for task in by_task}
    for task in sorted(by_task):
        if modalities.get(task) != IMAGE_ONLY:
            continue
        benchmark = by_task[task][0].question.benchmark
        others = [n for n in by_task if modalities.get(n) != IMAGE_ONLY and budget[n] == budget[task]]
        standard = Outcomes.joined([by_task[name].where(partial(_is_of, benchmark)) for name in others])
        by_metric = modality_difference(standard, by_task[task], subset, profile, parameters)
        deltas |= {f"{task}/{name}/modality/image_only-standard/{subset}": value for name, value in by_metric.items()}
    return deltas


def _is_of(benchmark: str, question: SlimQuestion) -> bool:
    return question.benchmark == benchmark


def _flat(pairs: Iterable[Delta]) -> dict[str, Estimate]:
    return {
        f"{pair['task']}/{metric}/variant/{pair['task']}-{pair['base']}": estimate["difference"]
        for pair in pairs
        for metric, estimate in pair["metrics"].items()
    }
