"""Types of scoring: rows and parameters in, typed JSON objects out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NotRequired, TypedDict, get_args

from livek12.core.errors import UserError
from livek12.core.records import State
from livek12.core.run.sessions import Usage

Profile = Literal["article", "release"]
Unit = Literal["paper", "question"]
FORMULAS = 2
"""Version of the formulas, in every report: raised where the same answers and verdicts give another number.

1: reports without a version. 2: profile `release` counts erroneous steps (not error
types), and the penalty of profile `article` is scaled where no question states points.
"""
STATES: tuple[State, ...] = ("graded", "no_answer", "ungraded", "failed", "unsupported")


INTERVALS = "Wilson's method on the effective number of questions, with Student's t"
"""How the 95 % intervals of all reports are made (`livek12.core.statistics`): "95 % intervals by …"."""


@dataclass(frozen=True)
class Parameters:
    """Constants of the formulas (LiveK12Bench, sections 2.3 and 3.1) and of the uncertainty.

    Attributes:
        process_penalty: points taken off for each process error present.
        process_weight: share of the process in the overall exam score.
        reference_tokens: completion length at which ARL equals accuracy (profile `article`).
        token_limit: completion tokens that Acc≤1.0 allows.
        error_threshold: mean presence above which an answer has an error of a type (0.5: a strict majority of critics).
        min_questions: questions from which on a number has an interval.
        min_papers: papers from which on intervals are clustered by paper.
        few_papers: papers below which paired tests by paper are t tests: sign flips could not reach a small p.
    """

    process_penalty: float = 3.0
    process_weight: float = 0.5
    length_weight: float = 0.15
    reference_tokens: float = 4096
    token_limit: float = 32_768
    error_threshold: float = 0.5
    seed: int = 0
    level: float = 0.95
    min_questions: int = 5
    min_papers: int = 4
    few_papers: int = 14


PARAMETERS: dict[Profile, Parameters] = {"article": Parameters(), "release": Parameters(length_weight=0.1)}


def profile_named(name: str) -> Profile:
    """Profile of that name; `paper` is the old name of `article`."""
    profiles: tuple[Profile, ...] = get_args(Profile)
    meant = "article" if name == "paper" else name
    for profile in profiles:
        if meant == profile:
            return profile
    raise UserError(f"unknown profile {name!r}: choose one of {', '.join(profiles)}")


def parameters_of(profile: str) -> Parameters:
    """Constants of a profile."""
    return PARAMETERS[profile_named(profile)]


@dataclass(frozen=True)
class Limit:
    """Token limit of a task.

    Attributes:
        of: the task whose budgets these are: tasks with the same `of` ask the same questions.
        tokens: completion tokens that its requests were limited to; None: unknown.
        share: r, if the task is one of the budgets of `of`; None if it is `of` itself.
    """

    of: str
    tokens: int | None
    share: float | None = None


class Estimate(TypedDict):
    """Number with its uncertainty."""

    low: float | None
    high: float | None
    value: float | None
    ci: list[float] | None
    unit: Unit | None
    clusters: int | None
    n: int
    std: float | None
    note: str | None


class Counts(TypedDict):
    """Questions, distinct trials, and answers by state; no record tells about `truncated_unknown` ones."""

    questions: int
    trials: int
    answers: int
    graded: int
    no_answer: int
    ungraded: int
    failed: int
    unsupported: int
    truncated: int
    truncated_unknown: int


class Ungraded(TypedDict):
    """Ungraded answers: not judged yet, left open by the rules alone, or by models, or without a key yet."""

    nobody: int
    rules: int
    models: int
    keyless: NotRequired[int]


class Group(TypedDict):
    """One value of one axis."""

    questions: int
    points: float | None
    counts: Counts
    metrics: dict[str, Estimate]


class ErrorCount(TypedDict):
    """Process error type: answers in which most critics saw it, and its mean presence."""

    answers: int
    mean_presence: float


class ProcessErrors(TypedDict):
    """Process errors over the audited answers."""

    audited: int
    CIE: ErrorCount
    LAE: ErrorCount
    DRE: ErrorCount


class TokenUse(TypedDict):
    """Tokens of one kind over the responses that state them; `missing` responses do not."""

    sum: int
    mean: float | None
    median: float | None
    missing: int


class Tokens(TypedDict):
    """Token use by kind. `completion` includes thinking; `reasoning` is thinking alone."""

    prompt: TokenUse
    cached: TokenUse
    completion: TokenUse
    reasoning: TokenUse


class PromptCache(TypedDict):
    """Prompt tokens of the `answers` with prefix-cache figures, and how many the cache served.

    `share` is cached over prompt. Each sample of a prompt counts the whole prompt.
    """

    answers: int
    prompt: int
    cached: int
    share: float | None


class ThinkingUse(TypedDict):
    """Answers over the thinking budget, answers without a count, and the longest thinking."""

    budget: int
    over: int
    unknown: int
    most: int | None


class ContextCut(TypedDict):
    """Answers cut off by the context before the requested `budget`; tokens of the shortest."""

    budget: int
    answers: int
    fewest: int


class AgainstMark(TypedDict):
    """Metric against the answers' marks: numbers above (`more`), below, equal, and `open` while undecided."""

    unit: Literal["answer", "question"]
    more: int
    less: int
    same: int
    open: int


class TaskReport(TypedDict):
    """Report of one task; `context_cut`, `thinking` and `prompt_cache` are None where they do not apply."""

    counts: Counts
    ungraded: Ungraded
    points: float | None
    metrics: dict[str, Estimate]
    against_mark: dict[str, AgainstMark]
    groups: dict[str, dict[str, Group]]
    deltas: dict[str, Estimate]
    process_errors: ProcessErrors | None
    tokens: Tokens
    prompt_cache: PromptCache | None
    thinking: ThinkingUse | None
    context_cut: ContextCut | None
    decided_by: dict[str, int]


class BudgetPoint(TypedDict):
    """Acc≤r at one r. `true` is of `true_task`, whose requests had the limit."""

    share: float
    tokens: int
    true: Estimate | None
    true_task: str | None
    counterfactual: Estimate


class BudgetCurve(TypedDict):
    """Acc≤r of one task, smallest r first; the counterfactual is cut from `longest`, limited to `longest_tokens`."""

    longest: str
    longest_tokens: int | None
    true_means: str
    counterfactual_means: str
    points: list[BudgetPoint]


class PairedTest(TypedDict):
    """Paired test on the shared questions decided in both runs; `undecided` were left out.

    `predicted` compares an adaptive exam's predicted mark, whose `questions` were asked, with an independent one.

    `p_holm` is adjusted over all pairs of runs of all tasks for the same metric.
    """

    name: Literal["mcnemar_exact", "sign_flip", "clustered_t", "predicted"]
    p: float | None
    p_holm: float | None
    unit: Unit
    questions: int
    undecided: int


class PairMetric(TypedDict):
    """b - a on the shared questions, and its test.

    `needed` questions like these would show this difference (80 % power, α 0.05, a single test); None where it is 0, or
    nothing is decided.
    """

    difference: Estimate
    test: PairedTest
    needed: int | None


class DeltaGroup(TypedDict):
    """The Δ on one value of one axis."""

    questions: int
    metrics: dict[str, PairMetric]


class Delta(TypedDict):
    """Variant minus base on shared questions (`comparison`); `only_*` count the others."""

    task: str
    base: str
    differs: str
    shared: int
    only_task: int
    only_base: int
    metrics: dict[str, PairMetric]
    groups: dict[str, dict[str, DeltaGroup]]


class Report(TypedDict):
    """Content of `report.json`; `formulas` is their version.

    `intervals` names their method; without it they are percentile bootstrap intervals. `variants` has the Δ of each
    task to its bases; `budgets` the tasks with known limits.
    """

    formulas: int
    profile: Profile
    intervals: str
    parameters: dict[str, float]
    tasks: dict[str, TaskReport]
    deltas: dict[str, Estimate]
    variants: list[Delta]
    budgets: dict[str, BudgetCurve]


class Pair(TypedDict):
    """Two runs on one task; `only_a` and `only_b` count unshared questions."""

    a: str
    b: str
    shared: int
    only_a: int
    only_b: int
    metrics: dict[str, PairMetric]


class TaskComparison(TypedDict):
    """One task over its runs.

    `ranks` has the best and worst rank by metric and run; `prompt_tokens` the mean tokens of one input by run, over the
    questions of which all runs state them.
    """

    counts: dict[str, Counts]
    metrics: dict[str, dict[str, Estimate]]
    pairs: list[Pair]
    ranks: dict[str, dict[str, list[int]]]
    prompt_tokens: NotRequired[dict[str, float]]


class RunUsage(TypedDict):
    """Engine use of a run; `judging` is None without a judge model.

    `watt_hours_per_mark` is the energy of asking over the points, with undecided ones at best and at worst; None where
    the energy was not measured, or no point is certain.
    """

    asking: Usage
    judging: Usage | None
    watt_hours_per_mark: list[float] | None


class SheetPosition(TypedDict):
    """One fifth of a sheet: mean shares of the points asked alone and on the sheet, least and most, and their Δ."""

    position: str
    questions: int
    alone: list[float]
    sheet: list[float]
    skipped: float
    metric: str
    difference: PairMetric


class SittingCurve(TypedDict):
    """A sitting minus its questions one by one, by the place on the sheet."""

    task: str
    base: str
    positions: list[SheetPosition]


class KindMarks(TypedDict):
    """Marks for criteria of one kind: their number, the points earned, with open ones at worst and best, and all."""

    criteria: int
    low: float
    high: float
    of: float


class Comparison(TypedDict):
    """Content of `livek12 compare --json`: metric by run, then pair by pair.

    `variants` has each pair of runs axis by axis, and tasks against bases in another run; `task` and `base` are
    RUN/TASK. It is empty above `MOST_PAIRS` pairs. `regraded` counts people's marks by run. `usage` has the runs with
    sessions, `exams` (`core.scoring.exam_marks`) those that sat one, where all questions are compared; `kinds` the
    marks by kind of criterion, of questions that all runs have.
    """

    formulas: int
    profile: Profile
    intervals: str
    parameters: dict[str, float]
    runs: list[str]
    tasks: dict[str, TaskComparison]
    variants: NotRequired[list[Delta]]
    sittings: NotRequired[list[SittingCurve]]
    regraded: NotRequired[dict[str, dict[str, Any]]]
    usage: NotRequired[dict[str, RunUsage]]
    exams: NotRequired[dict[str, list[Any]]]
    kinds: NotRequired[dict[str, dict[str, KindMarks]]]
