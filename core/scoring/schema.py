"""The shapes that scoring takes and gives: rows and parameters in, typed JSON objects out (see the package)."""

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
        length_weight: weight of brevity in ARL.
        reference_tokens: completion length at which ARL equals accuracy (profile `article`).
        token_limit: completion tokens that Acc≤1.0 allows.
        error_threshold: mean presence above which an answer is counted as having an error of a type (0.5: where more
            than half of the critics saw it; even votes do not count).
        seed: of the sign flips of paired tests.
        level: of the confidence intervals.
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
    min_papers: int = 4
    few_papers: int = 14


PARAMETERS: dict[Profile, Parameters] = {"article": Parameters(), "release": Parameters(length_weight=0.1)}


def profile_named(name: str) -> Profile:
    """The profile of that name; `paper` is the old name of `article`.

    Raises:
        UserError: there is no such profile.
    """
    profiles: tuple[Profile, ...] = get_args(Profile)
    meant = "article" if name == "paper" else name
    for profile in profiles:
        if meant == profile:
            return profile
    raise UserError(f"unknown profile {name!r}: choose one of {', '.join(profiles)}")


def parameters_of(profile: str) -> Parameters:
    """The constants of a profile.

    Raises:
        UserError: there is no such profile.
    """
    return PARAMETERS[profile_named(profile)]


@dataclass(frozen=True)
class Limit:
    """Under which token limit a task of the run was asked.

    Attributes:
        of: the task whose budgets these are: tasks with the same `of` ask the same questions.
        tokens: completion tokens that its requests were limited to; None: not known.
        share: r, where the task is one of the budgets of `of`; None where it is `of` itself.
    """

    of: str
    tokens: int | None
    share: float | None = None


class Estimate(TypedDict):
    """A number with all that is unsure about it."""

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
    """Questions, distinct trials, answers, and in which state the answers ended.

    `truncated` responses were cut off at their token limit; of `truncated_unknown` ones nobody knows whether they were.
    """

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
    """Who left the ungraded answers open: nobody has judged them yet, the rules alone, or models that were asked."""

    nobody: int
    rules: int
    models: int


class Group(TypedDict):
    """One value of one axis."""

    questions: int
    points: float | None
    counts: Counts
    metrics: dict[str, Estimate]


class ErrorCount(TypedDict):
    """One process error type: answers where a majority of critics saw it, and its mean presence."""

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
    """Token use by kind. `completion` includes the thinking tokens; `reasoning` is that part alone."""

    prompt: TokenUse
    cached: TokenUse
    completion: TokenUse
    reasoning: TokenUse


class PromptCache(TypedDict):
    """Prompt tokens of the `answers` whose engine tells what its prefix cache served, and how many it served.

    `share` is cached over prompt (None: nothing was asked). Every answer counts the whole prompt it was given, and
    samples of one prompt count it each, as computed or as served.
    """

    answers: int
    prompt: int
    cached: int
    share: float | None


class ThinkingUse(TypedDict):
    """How a thinking budget was kept: answers that thought longer, those that do not say, and the longest thinking."""

    budget: int
    over: int
    unknown: int
    most: int | None


class ContextCut(TypedDict):
    """Answers cut off where the context ended, before the `budget` that was asked for; tokens of the shortest."""

    budget: int
    answers: int
    fewest: int


class AgainstMark(TypedDict):
    """How a metric counts the answers beside their marks, each from nothing to full.

    Attributes:
        unit: what is counted: answers, or questions where the metric is of all trials of a question together.
        more: how many count for more than their mark.
        less: how many count for less.
        same: how many count as their mark does.
        open: of how many it cannot be told while they, or their mark, are undecided.
    """

    unit: Literal["answer", "question"]
    more: int
    less: int
    same: int
    open: int


class TaskReport(TypedDict):
    """All of one task.

    `context_cut` is None where no answer is known to have been cut off by the context rather than by its budget;
    `thinking` is None where the run set no thinking budget, `prompt_cache` where no engine told what it had cached.
    """

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
    """Acc≤r at one r. `true` is of `true_task`, whose requests had the limit; None where none of the run had it."""

    share: float
    tokens: int
    true: Estimate | None
    true_task: str | None
    counterfactual: Estimate


class BudgetCurve(TypedDict):
    """Acc≤r of one task, smallest r first; the counterfactual is cut from `longest`, limited to `longest_tokens`.

    `longest_tokens` is None where the limit is not known (recorded answers). `true_means` and `counterfactual_means`
    say in words what the two are.
    """

    longest: str
    longest_tokens: int | None
    true_means: str
    counterfactual_means: str
    points: list[BudgetPoint]


class PairedTest(TypedDict):
    """A paired test on the shared questions that are decided in both runs; `undecided` were left out.

    `p_holm` is adjusted over all pairs of runs of all tasks for the same metric.
    """

    name: Literal["mcnemar_exact", "sign_flip", "clustered_t"]
    p: float | None
    p_holm: float | None
    unit: Unit
    questions: int
    undecided: int


class PairMetric(TypedDict):
    """b - a on the shared questions, and its test.

    `needed` questions like these would show a difference as large as the one seen (80 % power, α 0.05, a single
    test); None where it is 0, or nothing is decided.
    """

    difference: Estimate
    test: PairedTest
    needed: int | None


class DeltaGroup(TypedDict):
    """The Δ on one value of one axis."""

    questions: int
    metrics: dict[str, PairMetric]


class Delta(TypedDict):
    """A variant minus what it is a variant of, on the questions that both asked (`livek12.core.scoring.deltas`).

    `task` and `base` name them, `differs` says what differs; `only_task` and `only_base` count the questions that the
    other side lacks.
    """

    task: str
    base: str
    differs: str
    shared: int
    only_task: int
    only_base: int
    metrics: dict[str, PairMetric]
    groups: dict[str, dict[str, DeltaGroup]]


class Report(TypedDict):
    """The content of `report.json`, by the formulas of version `formulas` (`FORMULAS`).

    `intervals` names their method; reports without it have percentile bootstrap intervals. `variants` has the Δ of each
    task to what it is a variant of; `budgets` has the tasks whose limits are known, by name without the budget.
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
    """Two runs on one task; `only_a` and `only_b` count the questions that the other run lacks."""

    a: str
    b: str
    shared: int
    only_a: int
    only_b: int
    metrics: dict[str, PairMetric]


class TaskComparison(TypedDict):
    """One task over the runs that have it.

    `ranks` has, by metric and run, the best and the worst rank that the data leave open: as many runs are told to be
    better, or worse.
    """

    counts: dict[str, Counts]
    metrics: dict[str, dict[str, Estimate]]
    pairs: list[Pair]
    ranks: dict[str, dict[str, list[int]]]


class RunUsage(TypedDict):
    """What the engines of a run used; `judging` is None where no judge model was loaded for it.

    `watt_hours_per_mark` is the energy of asking over the points of the answers, with all that is undecided at its best
    and at its worst; None where the energy was not measured, or no point is certain.
    """

    asking: Usage
    judging: Usage | None
    watt_hours_per_mark: list[float] | None


class Comparison(TypedDict):
    """What `livek12 compare` prints: metric by run, then pair by pair.

    `variants` has each pair of runs axis by axis, and what one run asked as a variant of what another asked; `task` and
    `base` there are RUN/TASK. It is empty where there are more than `MOST_PAIRS` pairs. `regraded` says of the runs in
    which people set marks how many these are (`core.run.markings.RegradeCounts`). `usage` has the runs whose engines
    kept sessions, where all their questions are compared.
    """

    formulas: int
    profile: Profile
    intervals: str
    parameters: dict[str, float]
    runs: list[str]
    tasks: dict[str, TaskComparison]
    variants: NotRequired[list[Delta]]
    regraded: NotRequired[dict[str, dict[str, Any]]]
    usage: NotRequired[dict[str, RunUsage]]
