"""lm-evaluation-harness: generated YAML of the tasks, and the call.

lm-eval puts pictures before the model in all requests of a call or in none, so a task with both kinds of question has
two parts, and no group mixes them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

from livek12.core.errors import install
from livek12.core.questions import Facts
from livek12.tasks.base import Task
from livek12.tasks.plugins.harness_task import PREFIX, WEIGHTED, WHOLE, Guide, harness_name
from livek12.tasks.plugins.lm_eval_calls import Part
from livek12.tasks.plugins.yaml_tasks import (
    FILTER,
    Function,
    Kind,
    generation,
    kind_of,
    members_of,
    metadata,
    metric_list,
    sought,
    suites,
    write,
)
from livek12.tasks.registry import SITTINGS, disjoint, find_task

PACKAGE, FLOOR = "lm-eval", "0.4.12"
INSTALL = install("lm-eval", "transformers", beside="torchvision")
CALLS = "livek12.tasks.plugins.lm_eval_calls"


@dataclass(frozen=True)
class TaskEntry:
    """A task, or one part of it."""

    task: Task
    kind: Kind
    part: Part = ""

    @property
    def name(self) -> str:
        """Its name in lm-eval."""
        return "_".join(filter(None, (harness_name(self.task.name), self.part)))


def guide(data: str, folder: Path, every: bool = False) -> Guide:
    """Writes the YAML and its call."""
    place, members = members_of(data)
    written = [entry for task, documents in members for entry in _entries(task, documents, place)]
    entries = [entry for entry in written if every or sought(entry.task)] or written
    groups = _groups(entries) if place else {}
    write(folder, {**groups, **{entry.name: _yaml(entry, place) for entry in entries}})
    return Guide(
        path=str(folder),
        install=INSTALL,
        call=_call(_example(entries), folder),
        notes=_notes(place, len(written) - len(entries)),
    )


def _example(entries: Sequence[TaskEntry]) -> TaskEntry:
    halved = {entry.task.name for entry in entries if entry.part}
    return next(entry for entry in entries if entry.part or entry.task.name not in halved)


def _call(entry: TaskEntry, folder: Path) -> str:
    model = "hf" if entry.kind == "text" else "hf-multimodal"
    return (
        f"lm_eval --model {model} --model_args pretrained=MODEL --tasks {entry.name}"
        f" --include_path {quote(str(folder))} --apply_chat_template --log_samples --output_path OUT"
    )


def _notes(place: str, more: int) -> tuple[str, ...]:
    rest = (f"{more} more (languages, releases, subjects, derived tasks) are written with --all",) if more else ()
    return (
        f"questions come from {place or 'the data set that the variable LIVEK12_DATA names'}",
        "without --apply_chat_template the model is given the bare text",
        "token budgets are the articles' (to 32768); a model with a shorter context needs --gen_kwargs max_gen_toks=N",
        "lm-eval decodes greedily unless --gen_kwargs says otherwise (temperature=0.6 top_p=0.95 do_sample=True)",
        "tasks with pictures need --model hf-multimodal or vllm-vlm (interleaved, which is their default); its models"
        " for endpoints put all pictures before the text: take Inspect there",
        "questions with and without pictures go into calls of their own (…_with_pictures, …_without_pictures)",
        WHOLE,
        "for the full exam marks: livek12 import-responses OUT --from lm-eval --task TASK --data DATA --out RUN",
        *rest,
    )


def _entries(task: Task, documents: Collection[Facts], place: str) -> Iterator[TaskEntry]:
    with_pictures = {bool(facts.images) for facts in documents} if place else {True, False}
    yield TaskEntry(task, kind_of(task, True in with_pictures))
    sheets = (find_task(f"{task.name}@{sitting}") for sitting in SITTINGS)
    yield from (TaskEntry(sheet, kind_of(sheet, True in with_pictures)) for sheet in sheets if sheet)
    if task.modality == "text_image" and len(with_pictures) == 2:
        yield TaskEntry(task, "figures", "with_pictures")
        yield TaskEntry(task, "text", "without_pictures")


def _yaml(entry: TaskEntry, place: str) -> dict[str, Any]:
    task = entry.task
    mean = _ours("by_answer") if task.sitting else "mean"
    return {
        "task": entry.name,
        "tag": [f"{PREFIX}_tag_{entry.kind}", f"{PREFIX}_tag_{task.benchmark}_{entry.kind}"],
        "custom_dataset": _ours("dataset"),
        "dataset_kwargs": {"livek12_task": task.name, "livek12_data": place, "livek12_part": entry.part},
        "test_split": "test",
        "output_type": "generate_until",
        "num_fewshot": 0,
        "doc_to_text": "question",
        "doc_to_target": "target",
        **({} if entry.kind == "text" else {"doc_to_image": _ours("pictures")}),
        "process_results": _ours("results"),
        "generation_kwargs": generation(task, "max_gen_toks"),
        "repeats": 1,
        "filter_list": [{"name": FILTER, "filter": [{"function": "custom", "filter_fn": _ours("keep_all")}]}],
        "metric_list": metric_list(lambda name: _ours(name) if name in WEIGHTED else mean),
        "metadata": metadata(task),
    }


def _groups(entries: Sequence[TaskEntry]) -> dict[str, dict[str, Any]]:
    halved = {entry.task.name for entry in entries if entry.part}
    whole = [entry for entry in entries if entry.task.name in disjoint()]
    return suites(
        {entry.name: (entry.task, entry.kind) for entry in whole if bool(entry.part) == (entry.task.name in halved)}
    )


def _ours(name: str) -> Function:
    return Function(f"{CALLS}.{name}")
