"""`eval.yaml`, by which the Hub knows a dataset as a benchmark and Inspect how to run it, and `environment.yaml`.

Contract: names come from the closed lists of the Hub (huggingface.js, packages/tasks/src/eval.ts) and of Inspect
(`HFTask` in inspect_ai/_eval/task/hf.py). `environment.yaml` registers a reinforcement learning environment (draft
`hf-env-0.1` of the Hub) for each flat config, for `verifiers`; the split is `test`: not for training.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

from livek12.core.errors import UserError
from livek12.core.features import SPLIT, Form
from livek12.dataset_builders.base import one_line, read_yaml
from livek12.dataset_builders.writing.parquet import FlatConfig

FRAMEWORK = "inspect-ai"
FRAMEWORKS = frozenset(
    "exgentic inspect-ai math-arena mteb olmocr-bench harbor archipelago apex-evals screenspot-pro swe-bench"
    " swe-bench-pro nemo-evaluator yc-bench open-asr-leaderboard mdpbench parsebench video-mme-v2 claw-eval"
    " wildclawbench".split()
)
SOLVERS = frozenset(
    "prompt_template system_message user_message chain_of_thought use_tools generate self_critique"
    " multiple_choice".split()
)
SCORERS = frozenset("includes match pattern answer exact f1 model_graded_qa model_graded_fact choice math".split())
TASK_KEYS = frozenset("id config split field_spec shuffle_choices epochs epoch_reducer solvers scorers".split())
BOXED = r"\A(?s:.*)\\boxed(?!(?s:.*)\\boxed)\s*\{\s*(?:\\[a-z]+\s*\{\s*)?[(（]?\s*([A-Za-z0-9]+)\s*[)）.]?\s*\}"
"""Captures the letters that are alone in the last box."""
_GENERATE = {"name": "generate"}
_HOW: Mapping[Form, tuple[dict[str, Any], dict[str, Any]]] = {
    "choices": ({"name": "multiple_choice", "args": {"cot": True}}, {"name": "choice"}),
    "letters": (_GENERATE, {"name": "pattern", "args": {"pattern": BOXED}}),
    "value": (_GENERATE, {"name": "math"}),
}
"""Solver and scorer of each form."""
ENVIRONMENT_VERSION = "hf-env-0.1"
_VERIFIERS = {"min_version": ">=0.4", "adapter": "livek12_exam.ExamTaskset"}
"""The environment package `livek12-exam`, whose reward is our judge."""


def render_eval_yaml(name: str, description: str, flat: Sequence[FlatConfig]) -> str:
    """Renders the file for the flat configs of a dataset."""
    described = {
        "name": name,
        "description": description,
        "evaluation_framework": FRAMEWORK,
        "tasks": [_task(config) for config in flat],
    }
    return yaml.safe_dump(described, sort_keys=False, allow_unicode=True, width=110)


def _task(config: FlatConfig) -> dict[str, Any]:
    solver, scorer = _HOW[config.form]
    fields: dict[str, Any] = {"input": "input", "target": "target", "metadata": ["id", "metadata"]}
    if config.form == "choices":
        fields["choices"] = "choices"
    if config.pictures:
        fields["input_image"] = "image"
    return {
        "id": config.task,
        "config": config.name,
        "split": SPLIT,
        "field_spec": fields,
        "solvers": [deepcopy(solver)],  # or YAML would name it once and refer to it
        "scorers": [deepcopy(scorer)],
    }


def check_eval_yaml(file: Path, configs: Mapping[str, Sequence[str]]) -> None:
    """Refuses a file that the Hub or Inspect would refuse; `configs` are the splits of each config."""
    if problem := next(_problems(read_yaml(file, file.name), configs), None):
        raise UserError(one_line(f"{file}: {problem}; see docs/publish.md"))


def _problems(read: Any, configs: Mapping[str, Sequence[str]]) -> Iterator[str]:
    if not isinstance(read, Mapping):
        yield "is no mapping of name, description, evaluation_framework and tasks"
        return
    for key in ("name", "description", "evaluation_framework"):
        if not isinstance(read.get(key), str) or not read[key].strip():
            yield f"{key} is no text"
    framework = read.get("evaluation_framework")
    if framework not in FRAMEWORKS:
        yield f"evaluation_framework {framework!r} is none that the Hub knows: {', '.join(sorted(FRAMEWORKS))}"
    tasks = read.get("tasks")
    if not isinstance(tasks, list) or not tasks:
        yield "tasks is no list of tasks"
        return
    ids = [task.get("id") if isinstance(task, Mapping) else None for task in tasks]
    if len(tasks) > 1 and (None in ids or len({str(name) for name in ids}) < len(ids)):
        yield "of several tasks each needs an id of its own"
    for number, task in enumerate(tasks, start=1):
        for problem in _task_problems(task, configs, framework == FRAMEWORK):
            yield f"task {ids[number - 1] or number}: {problem}"


def _task_problems(task: Any, configs: Mapping[str, Sequence[str]], inspect: bool) -> Iterator[str]:
    if not isinstance(task, Mapping):
        yield "is no mapping"
        return
    config, split = task.get("config", "default"), task.get("split", "test")
    if config not in configs:
        yield f"config {config!r} is not in the data set; it has {', '.join(configs)}"
    elif split not in configs[config]:
        yield f"split {split!r} is not in config {config}; it has {', '.join(configs[config])}"
    if not inspect:
        return
    if unknown := sorted(map(str, set(task) - TASK_KEYS)):
        yield f"{unknown[0]} is nothing that {FRAMEWORK} knows"
    fields = task.get("field_spec")
    if not isinstance(fields, Mapping) or not {"input", "target"} <= set(fields):
        yield "field_spec does not say which columns are input and target"
    for key, allowed in (("solvers", SOLVERS), ("scorers", SCORERS)):
        listed = task.get(key)
        names = [each.get("name") if isinstance(each, Mapping) else None for each in listed or ()]
        if not isinstance(listed, list) or not names:
            yield f"{key} is no list of names"
        elif wrong := [name for name in names if name not in allowed]:
            yield f"{key}: {wrong[0]!r} is none of {', '.join(sorted(allowed))}"


def render_environment_yaml(flat: Sequence[FlatConfig]) -> str:
    """Renders the file for the flat configs of a dataset."""
    environments = [
        {
            "id": config.task.replace("_", "-"),
            "title": config.description,
            "config_name": config.name,
            "splits": [SPLIT],
            "frameworks": {"verifiers": dict(_VERIFIERS)},
        }
        for config in flat
    ]
    described = {"spec_version": ENVIRONMENT_VERSION, "environments": environments}
    return yaml.safe_dump(described, sort_keys=False, allow_unicode=True, width=110)
