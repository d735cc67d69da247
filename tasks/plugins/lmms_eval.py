"""lmms-eval: generated YAML for `--include_path`, and its functions.

lmms-eval loads a stub of one row, and `process_docs` replaces it with the questions' ids, so `--limit`, `--offset` and
several processes count in asking order, and no log or cache holds a picture. User errors are `SystemExit`: lmms-eval
retries others five times.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

from livek12.core.errors import install
from livek12.core.files import write_atomically
from livek12.tasks.base import Task
from livek12.tasks.plugins.harness_task import (
    METRICS,
    PREFIX,
    WEIGHTED,
    WHOLE,
    Guide,
    HarnessTask,
    harness_name,
    in_one_line,
    joined,
    open_task,
)
from livek12.tasks.plugins.yaml_tasks import (
    FILTER,
    Function,
    generation,
    kind_of,
    members_of,
    metadata,
    metric_list,
    suites,
    write,
)
from livek12.tasks.registry import disjoint

PACKAGE, FLOOR = "lmms_eval", "0.7"
INSTALL = install("lmms-eval")
GAVE_UP = ("[LMMS_EVAL_REQUEST_FAILED", "[LMMS_EVAL_BUDGET_EXCEEDED]")
"""Beginnings of lmms-eval's texts for failed requests."""
ID = "questions"
"""The field of the question's id in the log of samples, and of the number of questions in the results."""
SPLIT = "test"

# What the YAML calls -------------------------------------------------------------------------------------------------


@in_one_line
def process_docs(stub: Any) -> Any:
    """The documents (`datasets.Dataset` of id, task, data)."""
    from datasets import Dataset

    row = stub[0]
    return Dataset.from_list([{"id": document.id, **row} for document in _exam(row).documents])


@in_one_line
def doc_to_messages(doc: Mapping[str, str], lmms_eval_specific_kwargs: Any = None) -> list[dict[str, Any]]:
    """Our messages for chat models."""
    document = _exam(doc).document(doc["id"])
    pictures = iter(document.pictures())
    return [
        {
            "role": message.role,
            "content": [
                {"type": "text", "text": part.text} if part.type == "text" else {"type": "image", "url": next(pictures)}
                for part in message.content
            ],
        }
        for message in document.request.messages
    ]


@in_one_line
def doc_to_text(doc: Mapping[str, str], lmms_eval_specific_kwargs: Any = None) -> str:
    """Prompt for simple models, with `<image>` marks."""
    return _exam(doc).document(doc["id"]).text


@in_one_line
def doc_to_visual(doc: Mapping[str, str]) -> list[Any]:
    """Pictures (PIL, RGB) in order."""
    return _exam(doc).document(doc["id"]).pictures()


@in_one_line
def doc_to_target(doc: Mapping[str, str]) -> str:
    """Key, for the log."""
    return _exam(doc).document(doc["id"]).target


@in_one_line
def process_results(doc: Mapping[str, str], results: Sequence[str]) -> dict[str, Any]:
    """Each metric over all answers to a question."""
    exam = _exam(doc)
    verdicts = [exam.mark_unless(GAVE_UP, doc["id"], text, trial) for trial, text in enumerate(results)]
    return {ID: doc["id"], **joined(verdicts)}


def mean(values: Sequence[float]) -> float:
    """Mean over the questions (`aggregation`)."""
    return METRICS["accuracy"].total(values)


def score(values: Sequence[Any]) -> float:
    """Weighted score (`aggregation`)."""
    return METRICS["score"].total(values)


def count(ids: Sequence[str]) -> int:
    """Number of questions (`aggregation`)."""
    return len(ids)


def _exam(row: Mapping[str, str]) -> HarnessTask:
    return open_task(row["task"], row["data"])


# The YAML ------------------------------------------------------------------------------------------------------------


def guide(data: str, folder: Path) -> Guide:
    """Writes the YAML and its call."""
    place, members = members_of(data)
    tasks = {harness_name(task.name): task for task, _ in members}
    stubs = {name: folder.resolve() / f"{name}.jsonl" for name in tasks}
    kinds = {
        harness_name(task.name): (task, kind_of(task, any(facts.images for facts in documents)))
        for task, documents in members
        if task.name in disjoint()
    }
    groups = suites(kinds) if place else {}
    write(folder, {**groups, **{name: _yaml(name, task, stubs[name]) for name, task in tasks.items()}})
    for name, task in tasks.items():
        write_atomically(stubs[name], json.dumps({"task": task.name, "data": place}) + "\n")
    return Guide(path=str(folder), install=INSTALL, call=_call(next(iter(tasks)), folder), notes=_notes(place))


def _yaml(name: str, task: Task, stub: Path) -> dict[str, Any]:
    hooks = (process_docs, doc_to_messages, doc_to_text, doc_to_visual, doc_to_target, process_results)
    return {
        "task": name,
        "tag": [f"{PREFIX}_tag_{about}" for about in (task.benchmark, task.modality, task.language) if about],
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {SPLIT: str(stub)}},
        "test_split": SPLIT,
        "output_type": "generate_until",
        "num_fewshot": 0,
        **{hook.__name__: _ours(hook) for hook in hooks},
        "generation_kwargs": generation(task, "max_new_tokens"),
        "repeats": 1,
        # The default filter keeps the first of the repeats.
        "filter_list": [{"name": FILTER, "filter": [{"function": "remove_whitespace"}]}],
        # Our marking splits off the thinking; other rules could change marks.
        "reasoning_tags": "none",
        "metric_list": [
            {"metric": ID, "aggregation": _ours(count), "higher_is_better": True},
            *metric_list(lambda name: _ours(score if name in WEIGHTED else mean)),
        ],
        "metadata": metadata(task),
    }


def _ours(function: Callable[..., Any]) -> Function:
    return Function(f"{__name__}.{function.__name__}")


def _call(name: str, folder: Path) -> str:
    return (
        f"lmms-eval --model qwen2_5_vl --model_args pretrained=MODEL --tasks {name} --include_path {quote(str(folder))}"
        " --log_samples --output_path OUT"
    )


def _notes(place: str) -> tuple[str, ...]:
    return (
        f"questions come from {place or 'the data set that the variable LIVEK12_DATA names'}",
        "token budgets are the articles' (up to 32768); for less: --gen_kwargs max_new_tokens=N, and with --model vllm "
        "--model_args max_new_tokens=N too, for it takes the larger of the two",
        "lmms-eval decodes greedily unless --gen_kwargs says otherwise (temperature=0.6,top_p=0.95)",
        "chat models see pictures where they stand in the text, simple ones (--force_simple) where they put them",
        "its caches (--use_cache, --cache_requests) do not see the data set: give each data set a cache of its own",
        WHOLE,
        "for the full exam marks: livek12 import-responses OUT --from lmms-eval --task TASK --data DATA --out RUN "
        "(of a run with --log_samples, without --predict_only)",
    )
