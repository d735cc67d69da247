"""Where the rewards for trainers lie, and how each trainer is told of them."""

from __future__ import annotations

import shlex
from pathlib import Path

import livek12
from livek12.tasks.plugins.harness_task import Guide

TRAINERS = ("trl", "verl", "openrlhf", "verifiers")
_UNDECIDED = "what stays undecided counts 0 there, and is counted; another value: see docs/rewards.md"


def trainer_guide(trainer: str) -> Guide:
    """How a trainer of `TRAINERS` is called with the rules as its reward."""
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
