"""Rewards of trainers: their calls become rows of pairs, and judgements their values.

Contract: equal settings share one `Verifier` for as long as the process lives. Rows keep their order. An unjudgeable
row is undecided, with a warning.

Rewards for the reasoning units of a question (CFE-Bench, section 5.6) count reached intermediate results, less detours:
a response states results in lines `Result: VALUE`, a unit is reached if the rules accept a result as its answer, and
results and units pair off in order, as many as can. Only rules decide; what they leave open reaches nothing.
"""

from __future__ import annotations

import logging
import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import livek12
from livek12.core.errors import UserError
from livek12.core.languages import codes
from livek12.core.process import cores
from livek12.evaluation.verify import Judgement, Verifier, last_said, listed
from livek12.evaluation.workers import MOST

if TYPE_CHECKING:
    from livek12.tasks.plugins.harness_task import Guide

KEYS = ("gold", "ground_truth", "answer", "solution")
"""Columns of keys; the first that says something holds the key of a row."""
QUESTIONS = ("question", "problem")
OPTIONS = ("options", "choices")
PASSED = ("question_type", "unit", "variables", "language", "part_points", "scheme")
LOW = "low"
"""In place of a value for undecided rows: the share of the points that is earned whatever is open."""
_TURN = re.compile(
    r"<\|im_start\|>user|<\|start_header_id\|>user<\|end_header_id\|>|<start_of_turn>user|<｜User｜>|\[INST\]"
    r"|^[ \t#*]{0,9}(?:Question|Problem|User|Human|Instruction|Q|问题|题目|用户|질문|문제)[*]{0,2}[ \t]?\d{0,4}[:：]",
    re.MULTILINE | re.IGNORECASE,
)
"""Where a question begins in a prompt that is one text: after it the last one is asked, before it are examples."""
TRAINERS = ("trl", "verl", "openrlhf", "verifiers")
_UNDECIDED = "what stays undecided counts 0 there, and is counted; another value: see docs/rewards.md"
Row = dict[str, Any]
_log = logging.getLogger("livek12.rewards")
_SEEN = 200
"""Characters at the end of a prompt by which it is found in a query."""


_verifiers: dict[tuple[int | None, str | None], Verifier] = {}


def judged(rows: Sequence[Row], workers: int | None, judge: str | None) -> list[Judgement]:
    """Judgements of rows, in their order."""
    key = workers or _share(), judge
    return (_verifiers.get(key) or _verifiers.setdefault(key, Verifier(key[0], judge=judge))).batch(rows)


def _share() -> int | None:
    """Cores of this process where a launcher started several on this machine."""
    ranks = os.environ.get("LOCAL_WORLD_SIZE", "")
    return max(1, min(MOST, cores() // int(ranks))) if ranks.isdecimal() and int(ranks) > 1 else None


def rewards_of(judgements: Sequence[Judgement], undecided: float | str | None) -> list[float | None]:
    """Share of the points of each; `undecided` for open ones, or their least share with `LOW`."""
    if isinstance(undecided, str):
        if undecided != LOW:
            raise UserError(f"undecided {undecided!r:.40}: give a number, None or {LOW!r}")
        return [_least(judgement) if judgement.score is None else judgement.score for judgement in judgements]
    return [undecided if judgement.score is None else judgement.score for judgement in judgements]


def _least(judgement: Judgement) -> float:
    return judgement.low / judgement.max_points if judgement.low and judgement.max_points else 0.0


def trl_rows(completions: Sequence[Any], prompts: Sequence[Any] | None, columns: Mapping[str, Any]) -> list[Row]:
    """Rows of a TRL call; UserError without keys, or for a column of another length."""
    wanted = (*KEYS, *QUESTIONS, *OPTIONS, *PASSED)
    there = {name: columns[name] for name in wanted if columns.get(name) is not None}
    if not any(name in there for name in (*KEYS, "variables", "scheme")):
        raise UserError(f"the data set has no column of keys: name one of them {', '.join(KEYS)}")
    for name, values in there.items():
        if len(values) != len(completions):
            raise UserError(f"column {name} has {len(values)} values for {len(completions)} completions")
    rows = []
    for place, (completion, prompt) in enumerate(zip(completions, prompts or [None] * len(completions), strict=True)):
        cells = {name: values[place] for name, values in there.items()}
        question = last_asked(prompt) if isinstance(prompt, str) else last_said(prompt, "user")
        rows.append(_row(cells, last_said(completion, "assistant"), question))
    return rows


def tell_trl(
    judgements: Sequence[Judgement],
    log_extra: Callable[[str, list[Any]], None] | None,
    log_metric: Callable[[str, float], None] | None,
) -> None:
    """Logs decisions in TRL, and the share of undecided ones anywhere."""
    count = sum(judgement.score is None for judgement in judgements)
    if log_extra is not None:
        log_extra("decision", [judgement.decision for judgement in judgements])
        log_extra("reason", [judgement.reason for judgement in judgements])
    if log_metric is not None and judgements:
        log_metric("undecided", count / len(judgements))
    elif count:
        _log.warning("%d of %d completions are undecided", count, len(judgements))


def last_asked(prompt: str) -> str:
    """Question in a one-text prompt, behind its examples."""
    turns = [match.end() for match in _TURN.finditer(prompt)]
    return prompt[turns[-1] :].strip() if turns else prompt


def verl_rows(responses: Sequence[str], keys: Sequence[Any], infos: Sequence[Any] | None) -> list[Row]:
    """Rows of a verl call, whose columns may be numpy's."""
    rows = []
    for response, key, info in zip(responses, keys, [None] * len(keys) if infos is None else infos, strict=True):
        besides = {name: info[name] for name in info if name not in KEYS} if isinstance(info, Mapping) else {}
        rows.append(_row({**besides, "gold": key}, response, ""))
    return rows


def verl_scores(judgements: Sequence[Judgement], undecided: float | str) -> list[Row]:
    """Scores for verl, with logged fields."""
    return [
        {
            "score": reward,
            "acc": reward,
            "undecided": float(judgement.score is None),
            "decided_by": judgement.decided_by,
            "reason": judgement.reason,
        }
        for judgement, reward in zip(judgements, rewards_of(judgements, undecided), strict=True)
    ]


def openrlhf_rows(queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any]) -> list[Row]:
    """Rows of an OpenRLHF call, without a response where the query lacks its prompt."""
    rows = []
    for query, prompt, label in zip(queries, prompts, labels, strict=True):
        row = _row(label if isinstance(label, Mapping) else {"gold": label}, "", last_asked(prompt))
        response = response_in(query, prompt)
        if response is None:
            del row["response"]
        else:
            row["response"] = response
        rows.append(row)
    return rows


def openrlhf_rewards(judgements: Sequence[Judgement], undecided: float | str) -> dict[str, Any]:
    """Values for OpenRLHF."""
    try:
        import torch
    except ModuleNotFoundError:
        raise UserError("OpenRLHF's rewards are tensors: install torch, or call livek12.Verifier") from None

    rewards = torch.tensor(rewards_of(judgements, undecided), dtype=torch.float32)
    is_open = torch.tensor([float(judgement.score is None) for judgement in judgements])
    return {"rewards": rewards, "scores": rewards, "extra_logs": {"undecided": is_open}}


def response_in(query: str, prompt: str) -> str | None:
    """Text behind the prompt in a query.

    A query is decoded from tokens: white space may differ, and only the prompt's end may be in it.
    """
    if query.startswith(prompt):
        return query[len(prompt) :]
    end = "".join(prompt[-_SEEN:].split())
    seen = [place for place, sign in enumerate(query) if not sign.isspace()]
    at = "".join(query.split()).find(end)
    return None if not end or at < 0 else query[seen[at + len(end) - 1] + 1 :]


def _row(columns: Mapping[str, Any], response: str, prompt: str) -> Row:
    values = {name: listed(value) for name, value in columns.items()}
    keys = {name: values[name] for name in KEYS if values.get(name) not in (None, "", [])}
    row: Row = {name: values[name] for name in PASSED if values.get(name) is not None}
    row["gold"] = next(iter(keys.values()), None)
    row["response"] = response
    row["question"] = _first(values, QUESTIONS) or prompt
    row["options"] = _options(_first(values, OPTIONS))
    if row.get("language") not in codes():  # others, or these by another name: what a row is written in shows
        row.pop("language", None)
    if isinstance(keys.get("solution"), str) and len(keys) > 1:
        row["solution"] = keys["solution"]
    return row


def _first(values: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((values[name] for name in names if values.get(name)), None)


def _options(value: Any) -> Any:
    """ARC has the texts and the labels in two lists."""
    if not isinstance(value, Mapping) or set(value) != {"text", "label"}:
        return value or []
    texts, labels = listed(value["text"]), listed(value["label"])
    if not isinstance(texts, list) or not isinstance(labels, list) or len(texts) != len(labels):
        return value
    return [{"label": label, "text": text} for label, text in zip(labels, texts, strict=True)]


def trainer_guide(trainer: str) -> Guide:
    """Call of a trainer of `TRAINERS` with the rules as its reward."""
    from livek12.tasks.plugins.harness_task import Guide

    file = str(Path(livek12.__file__).resolve().with_name("rewards.py"))
    path, call, notes = {
        "trl": (
            (name := "livek12.rewards.accuracy_reward"),
            f"trl grpo --model_name_or_path MODEL --dataset_name DATA --reward_funcs {name}",
            ("the data set needs a column gold, ground_truth, answer or solution",),
        ),
        "verl": (
            file,
            f"python3 -m verl.trainer.main_ppo {shlex.quote(f'reward.custom_reward_function.path={file}')}"
            " reward.custom_reward_function.name=compute_score",
            ("the batch reward manager calls compute_scores", _UNDECIDED),
        ),
        "openrlhf": (
            file,
            f"python3 -m openrlhf.cli.train_ppo_ray --reward.remote_url {shlex.quote(file)} --data.label_key answer",
            (_UNDECIDED,),
        ),
        "verifiers": (
            "livek12.evaluation.verifiers_exam",
            "vf-validate livek12-exam --taskset.data DATA --only-gold --runtime.type subprocess",
            (
                "an environment (v1): the questions of a task with our judge as the reward; vf-eval asks a model",
                "the package livek12-exam is integrations/livek12_exam of the clone, installed beside livek12",
                "the newest release, and what the data set holds back, is left out (--taskset.held)",
                _UNDECIDED,
            ),
        ),
    }[trainer]
    beside = " integrations/livek12_exam" if trainer == "verifiers" else ""
    return Guide(path, f"pip install {trainer} '.'{beside} in the clone of livek12", call, notes)


INSTRUCTION = "Solve the problem in steps. End each step with a line `Result: VALUE`."
_RESULT = re.compile(r"^[ \t>*_#-]*Result[*_]*[ \t]*[:：][*_ \t]*(?P<value>\S[^\n]*)$", re.MULTILINE | re.IGNORECASE)
MOST_RESULTS = 60
"""Results that are compared; those behind them are detours."""
COST = 0.1


@dataclass(frozen=True)
class UnitScore:
    """Units of a flow, those reached, results that reach none, and decisions left open.

    `verified` units are those before the first that is not reached.
    """

    units: int
    reached: int
    verified: int
    redundant: int
    undecided: int

    def reward(self, cost: float, verified: bool) -> float:
        """Share of the units, less `cost` units for each redundant result; at least 0."""
        return max(0.0, (self.verified if verified else self.reached) - cost * self.redundant) / self.units


def units_of(flow: Any) -> list[tuple[str, str]]:
    """Sub-question and answer of each unit with an answer; a flow is a list of units, or lists by field."""
    if isinstance(flow, Mapping):
        flow = [dict(zip(flow, values, strict=True)) for values in zip(*map(listed, flow.values()), strict=True)]
    if not isinstance(flow, Sequence) or not all(isinstance(unit, Mapping) for unit in flow):
        raise UserError("a reasoning flow is a list of units with step and answer")
    pairs = [(str(unit.get("step", "")), unit.get("answer", unit.get("verifiable_answer"))) for unit in flow]
    return [(step, str(answer)) for step, answer in pairs if answer is not None and str(answer).strip()]


def results_in(response: str) -> list[str]:
    """Stated results, in order."""
    return [match["value"].rstrip(" *_") for match in _RESULT.finditer(response)]


def unit_rows(units: Sequence[tuple[str, str]], response: str) -> list[dict[str, Any]]:
    """Rows for the judge: each result against each unit's answer, result by result."""
    return [
        {"gold": answer, "response": f"\\boxed{{{result}}}", "question": step}
        for result in results_in(response)[:MOST_RESULTS]
        for step, answer in units
    ]


def unit_score(units: Sequence[tuple[str, str]], response: str, judgements: Sequence[Judgement]) -> UnitScore:
    """Score by the judgements of `unit_rows`."""
    width, results = len(units), len(results_in(response))
    compared = min(results, MOST_RESULTS)
    accepted = [[judgements[n * width + unit].correct is True for unit in range(width)] for n in range(compared)]
    best = [[0] * (width + 1) for _ in range(compared + 1)]
    for n, row in enumerate(accepted, 1):
        for unit, right in enumerate(row, 1):
            best[n][unit] = max(best[n - 1][unit], best[n][unit - 1], best[n - 1][unit - 1] + right)
    reached = best[compared][width]
    verified = next((unit for unit in range(width) if best[compared][unit + 1] <= unit), width)
    undecided = sum(judgement.correct is None for judgement in judgements)
    return UnitScore(width, reached, verified, results - reached, undecided)


def trl_unit_rewards(
    completions: Sequence[str], flows: Sequence[Any], workers: int | None, cost: float, verified: bool
) -> tuple[list[float | None], list[UnitScore | None]]:
    """Rewards and scores; None for a question without units."""
    from livek12.evaluation.rewarding import judged

    if len(flows) != len(completions):
        raise UserError(f"column reasoning_flow has {len(flows)} values for {len(completions)} completions")
    units = [units_of(flow) for flow in flows]
    rows = [unit_rows(own, text) for own, text in zip(units, completions, strict=True)]
    judgements = iter(judged([row for own in rows for row in own], workers, None))
    scores = [
        unit_score(own, text, [next(judgements) for _ in of]) if own else None
        for own, text, of in zip(units, completions, rows, strict=True)
    ]
    return [None if score is None else score.reward(cost, verified) for score in scores], scores
