"""Rewards for trainers: TRL, verl and OpenRLHF call these functions by name, or load them from this file's path.

Contract: the rules of `livek12.verify` decide, in processes of their own and from any thread; a row that breaks a limit
is undecided and never a silent 0. `undecided` is the value of what is undecided: None where the trainer leaves such
rows out (TRL), else 0, with its count beside it. This file may be loaded twice, by name and by path, and be sent to
other processes: state is in `livek12.evaluation.rewarding`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def accuracy_reward(
    completions: Sequence[Any],
    solution: Sequence[Any] | None = None,
    *,
    prompts: Sequence[Any] | None = None,
    undecided: float | str | None = None,
    workers: int | None = None,
    judge: str | None = None,
    log_extra: Callable[[str, list[Any]], None] | None = None,
    log_metric: Callable[[str, float], None] | None = None,
    **columns: Any,
) -> list[float | None]:
    """Rewards for TRL (`GRPOTrainer(reward_funcs=accuracy_reward)`): the share of the points of each completion.

    Args:
        completions: texts, or conversations whose last assistant message is the response.
        solution: the keys, unless a column `gold`, `ground_truth` or `answer` has them; a worked solution is read for
            the answer that it commits to.
        prompts: read for the question where no column `question` or `problem` has it.
        undecided: the reward of what the rules leave open; None takes the completion out of its group's baseline,
            "low" gives the share of the points that its marking scheme has earned so far.
        workers: processes that compare.
        judge: the model that is asked where the rules leave a completion open.
        log_extra: TRL's; gets decisions and reasons.
        log_metric: TRL's; gets the share of undecided completions, which is otherwise logged.
        columns: of the data set: `question_type`, `options`, `unit`, `variables`, `language`, `scheme` and others of
            docs/verify.md#fields-of-a-row; the rest is ignored.

    Raises:
        UserError: no column has the keys, or one is of another length.
    """
    from livek12.evaluation.rewarding import judged, rewards_of, tell_trl, trl_rows

    rows = trl_rows(completions, prompts, {"solution": solution, **columns})
    judgements = judged(rows, workers, judge)
    tell_trl(judgements, log_extra, log_metric)
    return rewards_of(judgements, undecided)


def unit_reward(
    completions: Sequence[Any],
    reasoning_flow: Sequence[Any],
    *,
    cost: float = 0.1,
    verified: bool = False,
    workers: int | None = None,
    log_metric: Callable[[str, float], None] | None = None,
    **_: Any,
) -> list[float | None]:
    """Rewards for TRL: the share of a question's reasoning units that a completion reaches (CFE-Bench, section 5.6).

    Args:
        completions: texts, or conversations; each step ends with a line `Result: VALUE`.
        reasoning_flow: the units of each question, with `step` and `answer`.
        cost: what a result that reaches no unit costs, in units.
        verified: only units count before the first that the rules do not verify.
        workers: processes that compare.
        log_metric: TRL's; gets means of reached units and of redundant results.

    Raises:
        UserError: a flow is none, or the column has another length.
    """
    from livek12.evaluation.rewarding import trl_unit_rewards
    from livek12.evaluation.verify import last_said

    texts = [last_said(completion, "assistant") for completion in completions]
    rewards, scores = trl_unit_rewards(texts, reasoning_flow, workers, cost, verified)
    counted = [score for score in scores if score is not None]
    if log_metric is not None and counted:
        log_metric("units_reached", sum(score.reached / score.units for score in counted) / len(counted))
        log_metric("redundant_results", sum(score.redundant for score in counted) / len(counted))
    return rewards


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: Any = None,
    *,
    undecided: float | str = 0.0,
    workers: int | None = None,
    judge: str | None = None,
    **_: Any,
) -> dict[str, Any]:
    """The score of one response for verl (`reward.custom_reward_function.name=compute_score`).

    Args:
        data_source: verl's name of the data set.
        solution_str: the response.
        ground_truth: the key; a list has one entry a part.
        extra_info: may hold `question`, `question_type`, `options`, `unit`, `variables`, `language`, `scheme`.
        undecided: the score of what the rules leave open, or "low" (as for TRL); verl knows no None.
        workers: processes that compare.
        judge: the model that is asked where the rules leave a response open.

    Returns:
        `score`; `acc`, which is the same; `undecided` (0 or 1, of which verl logs the mean), `decided_by`, `reason`.
    """
    (score,) = compute_scores(
        [data_source], [solution_str], [ground_truth], [extra_info], undecided=undecided, workers=workers, judge=judge
    )
    return score


def compute_scores(
    data_sources: Sequence[str],
    solution_strs: Sequence[str],
    ground_truths: Sequence[Any],
    extra_infos: Sequence[Any] | None = None,
    *,
    undecided: float | str = 0.0,
    workers: int | None = None,
    judge: str | None = None,
    **_: Any,
) -> list[dict[str, Any]]:
    """`compute_score` of many, for verl's `BatchRewardManager`."""
    from livek12.evaluation.rewarding import judged, verl_rows, verl_scores

    return verl_scores(judged(verl_rows(solution_strs, ground_truths, extra_infos), workers, judge), undecided)


def reward_func(
    queries: Sequence[str],
    prompts: Sequence[str],
    labels: Sequence[Any],
    *,
    undecided: float | str = 0.0,
    workers: int | None = None,
    judge: str | None = None,
    **_: Any,
) -> dict[str, Any]:
    """Rewards for OpenRLHF (`--reward.remote_url FILE.py`).

    Args:
        queries: each prompt with its response.
        prompts: the prompts; one is the question where its label names none.
        labels: the keys; a mapping is a row of docs/verify.md#fields-of-a-row without its response.
        undecided: the reward of what the rules leave open, or "low" (as for TRL); OpenRLHF knows no None.
        workers: processes that compare.
        judge: the model that is asked where the rules leave a response open.

    Returns:
        `rewards` and `scores` (tensors), and as `extra_logs` which are `undecided`.
    """
    from livek12.evaluation.rewarding import judged, openrlhf_rewards, openrlhf_rows

    return openrlhf_rewards(judged(openrlhf_rows(queries, prompts, labels), workers, judge), undecided)
