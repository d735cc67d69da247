"""lm-evaluation-harness with a model that keeps what it is given. Imported late: it loads torch."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from lm_eval import simple_evaluate
from lm_eval.api.model import LM
from lm_eval.loggers import EvaluationTracker
from lm_eval.models.hf_vlms import HFMultimodalLM
from lm_eval.tasks import TaskManager
from torch.utils import collect_env

from livek12.tasks.plugins import lm_eval
from tests.plugins.conftest import Row, rgb_sha256

# lm-eval has torch describe the machine at each sitting, by processes such as pip's; here once for all.
collect_env.get_pretty_env_info = functools.cache(collect_env.get_pretty_env_info)


class Recorder(LM):  # type: ignore[misc]
    """A model that sees text: keeps what it is given and says what it is told to."""

    tokenizer_name = "recorder"

    def __init__(self, answers: dict[tuple[str, int], str]) -> None:
        super().__init__()
        self.answers, self.given, self.budgets = answers, {}, set[str]()  # type: ignore[var-annotated]

    def apply_chat_template(self, chat_history: list[dict[str, Any]], add_generation_prompt: bool = True) -> str:
        return json.dumps(chat_history)

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        said, asked = [], dict[str, int]()
        for request in requests:
            id = request.doc["id"]
            asked[id] = asked.get(id, -1) + 1
            context, settings, *more = request.args
            self.budgets.add(json.dumps(settings, sort_keys=True))
            self.given[id] = list(_given(json.loads(context), iter(more[0]["visual"]) if more else iter(())))
            said.append(self.answers.get((id, asked[id]), ""))
        return said

    def loglikelihood(self, requests: list[Any]) -> list[Any]:
        raise NotImplementedError

    loglikelihood_rolling = loglikelihood


class SeeingRecorder(Recorder):
    """The same with lm-eval's own way from marks in the text to pictures between the texts."""

    MULTIMODAL = True
    interleave, max_images = True, 999
    apply_chat_template = HFMultimodalLM.apply_chat_template

    @property
    def processor(self) -> SeeingRecorder:
        return Template()  # type: ignore[return-value]


class Template:
    """Stands where a model's processor renders the messages."""

    def apply_chat_template(self, history: list[dict[str, Any]], **_: Any) -> str:
        return json.dumps(history)


def _given(history: list[dict[str, Any]], pictures: Iterator[Any]) -> Iterator[Row]:
    for turn in history:
        parts = turn["content"]
        for part in [{"type": "text", "text": parts}] if isinstance(parts, str) else parts:
            picture = part["type"] == "image"
            yield turn["role"], part["type"], rgb_sha256(next(pictures)) if picture else part["text"]
    assert next(pictures, None) is None


def sat(
    data: str, folder: Path, name: str, answers: dict[tuple[str, int], str], limit: int | None = None, repeats: int = 1
) -> tuple[dict[str, Any], Recorder, Path]:
    """A task sat in lm-eval: its results, what the model was given, the folder of its logs."""
    lm_eval.guide(data, folder, every=True)
    settings = yaml.load((folder / f"{name}.yaml").read_text(), Plain)
    model = (SeeingRecorder if "doc_to_image" in settings else Recorder)(answers)
    again = {"include": f"{name}.yaml", "task": f"{name}_again", "repeats": repeats}
    (folder / "again.yaml").write_text(yaml.safe_dump(again))
    manager = TaskManager(include_path=str(folder), include_defaults=False)
    found = simple_evaluate(
        model=model,
        tasks=[f"{name}_again"],
        task_manager=manager,
        limit=limit,
        apply_chat_template=True,
        log_samples=True,
        bootstrap_iters=0,
    )
    assert found is not None
    tracker = EvaluationTracker(output_path=str(folder / "out"))
    tracker.general_config_tracker.model_name_sanitized = "recorder"
    samples = found.pop("samples")
    tracker.save_results_aggregated(results=found, samples=samples)
    for task, logged in samples.items():
        tracker.save_results_samples(task_name=task, samples=logged)
    return found["results"][f"{name}_again"], model, folder / "out"


class Plain(yaml.SafeLoader):
    """Reads the functions as their names."""


Plain.add_constructor("!function", lambda loader, node: str(node.value))
