"""lighteval tasks: `lighteval accelerate MODEL TASK --custom-tasks livek12.tasks.plugins.lighteval`.

Imports without lighteval, which passes on ids alone and puts pictures behind the text with its `<image>` marks.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from shlex import quote
from typing import Any

from livek12.core.errors import UserError, install
from livek12.core.questions import NoConfig, data_files, iter_facts, open_card
from livek12.tasks.base import Task
from livek12.tasks.plugins.harness_task import (
    DATA_VARIABLE,
    METRICS,
    WEIGHTED,
    WHOLE,
    Guide,
    harness_name,
    in_one_line,
    joined,
    open_task,
    require,
)
from livek12.tasks.plugins.yaml_tasks import example, tasks_in

PACKAGE, FLOOR = "lighteval", "0.13"
INSTALL = install("lighteval", beside="torchvision")
OFFLINE = (
    'python -c "import importlib.util as u, pathlib as p;'
    " p.Path(u.find_spec('lighteval').origin).with_name('tasks').joinpath('tasks/tinyBenchmarks.pkl').touch()\""
)
"""lighteval fetches this file of one of its benchmarks at every start and only checks that it exists."""


def guide(data: str, folder: Path) -> Guide:
    """The call; writes nothing."""
    return Guide(
        path=__name__,
        install=INSTALL,
        call=(
            f"{DATA_VARIABLE}={quote(data or 'DATA')} lighteval accelerate model_name=MODEL"
            f" {harness_name(example(data).name)}"
            f" --custom-tasks {__name__} --save-details --output-dir out"
        ),
        notes=(
            f"it needs an environment of its own (huggingface_hub < 1); where there is no network, once: {OFFLINE}",
            WHOLE,
            "--save-details, for `livek12 import-responses out --from lighteval`",
            "pictures come behind the text (accelerate --vision-model) or not at all (endpoint litellm): for true order"
            " take Inspect, which is also what `lighteval eval` runs (0.13.0 passes no custom tasks to it)",
            "--vision-model ends with an error at a question without pictures: not for tasks that have both kinds",
            "the model's arguments set the sampling (generation_parameters={temperature:…}), a task cannot",
            "the token budget is the article's: less with max_length=… (prompt and answer; vision: generation_size=…)",
            "an endpoint's request that lighteval gives up is logged as an empty answer, which reads no_answer here",
        ),
    )


def __getattr__(name: str) -> Any:
    """`TASKS_TABLE`, made on demand."""
    if name != "TASKS_TABLE":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return in_one_line(tasks_table)(os.environ.get(DATA_VARIABLE, ""))


@cache
def tasks_table(data: str) -> list[Any]:
    """The `LightevalTaskConfig` of each task with questions."""
    require(PACKAGE, FLOOR, INSTALL)
    if not data:
        raise UserError(f"no data set: set {DATA_VARIABLE} to a folder made by `livek12 build`, or ORG/NAME on the Hub")
    place, configs = open_card(data)
    holds = cache(partial(_holds, place))
    table = []
    for task, _ in tasks_in(place):
        config = next(config for config in task.configs if config in configs and holds(config, task.benchmark))
        table.append(_config(task, place, config, sorted(configs[config])))
    return table


def _config(task: Task, place: str, config: str, splits: Sequence[str]) -> Any:
    from lighteval.tasks.lighteval_task import LightevalTaskConfig

    repo, revision = (place, _stamp(Path(place))) if Path(place).is_absolute() else place.split("@")
    return LightevalTaskConfig(
        name=harness_name(task.name),
        prompt_function=prompt_of(task, place),
        hf_repo=repo,
        # Part of lighteval's cache key: a rebuilt dataset is asked anew.
        hf_revision=revision,
        hf_subset=config,
        hf_avail_splits=splits,
        evaluation_splits=splits,
        metrics=[marks_of(task, place)],
        generation_size=task.sampling.max_tokens,
        stop_sequence=task.sampling.stop,
        version=task.version,
    )


def prompt_of(task: Task, data: str) -> Callable[[Mapping[str, Any], str], Any]:
    """Converts a row to lighteval's `Doc`."""

    @in_one_line
    def livek12_prompt(row: Mapping[str, Any], name: str) -> Any:
        exam = open_task(task.name, data)
        try:
            document = exam.document(row["id"])
        except UserError:  # withdrawn, or not of this task's questions
            return None
        return _document_class()(
            query=document.text,
            choices=[document.target],
            gold_index=0,
            images=document.pictures() or None,
            task_name=name,
            specific={"task": task.name, "question_id": document.id},
        )

    return livek12_prompt


@cache
def _document_class() -> Any:
    from lighteval.tasks.requests import Doc

    class QuestionDoc(Doc):  # type: ignore[misc]
        """lighteval's document, by the question's id: its number of the split alone is the cache key."""

        @property
        def id(self) -> str:
            return str(self.specific["question_id"])

        @id.setter
        def id(self, number: str) -> None:
            """Ignores lighteval's number."""

    return QuestionDoc


def marks_of(task: Task, data: str) -> Any:
    """Our metrics as one group: each answer is marked once."""
    from lighteval.metrics.metrics_sample import SampleLevelComputation
    from lighteval.metrics.utils.metric_utils import SampleLevelMetricGrouping
    from lighteval.tasks.requests import SamplingMethod

    class Marks(SampleLevelComputation):  # type: ignore[misc]
        """Marks all answers to one question."""

        @in_one_line
        def compute(self, doc: Any, model_response: Any, **kwargs: Any) -> dict[str, Any]:
            exam = open_task(task.name, data)
            verdicts = [
                exam.mark(doc.specific["question_id"], text, trial=trial)
                for trial, text in enumerate(texts_of(model_response.text))
            ]
            return joined(verdicts)

    return SampleLevelMetricGrouping(
        metric_name=list(METRICS),
        higher_is_better={name: metric.higher_is_better for name, metric in METRICS.items()},
        category=SamplingMethod.GENERATIVE,
        sample_level_fn=Marks(),
        corpus_level_fn={
            name: _weighted(name) if name in WEIGHTED else metric.total for name, metric in METRICS.items()
        },
    )


def _weighted(metric: str) -> Callable[[Sequence[Any]], dict[str, float]]:
    """Adds up pairs in a dict, without lighteval's standard error, which divides by its number of draws."""

    def total(values: Sequence[Any]) -> dict[str, float]:
        return {metric: METRICS[metric].total(values)}

    return total


def texts_of(text: str | Sequence[str | None]) -> list[str]:
    """Vision models give one text, others a list."""
    return [text] if isinstance(text, str) else [answer or "" for answer in text]


def _holds(place: str, config: str, benchmark: Any) -> bool:
    try:
        return next(iter_facts(place, (config,), benchmark), None) is not None
    except NoConfig:
        return False


def _stamp(folder: Path) -> str:
    _, configs = open_card(folder)
    patterns = {pattern for splits in configs.values() for patterns in splits.values() for pattern in patterns}
    stats = [(file.name, file.stat()) for file in data_files(folder, sorted(patterns))]
    text = repr([(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats])
    return hashlib.sha256(text.encode()).hexdigest()[:16]
