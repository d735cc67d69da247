"""Our tasks as benchmarks of EvalScope: what reaches the model, the marks, and when a judge is asked."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import PIL.Image
import pytest

from livek12.tasks.plugins.harness_task import DATA_VARIABLE, harness_name, open_task
from livek12.tasks.registry import all_tasks
from tests.plugins.conftest import Row, parity_rows, planted_answers, rgb_sha256
from tests.plugins.standins import Fields, plugin

MODULE = "livek12.tasks.plugins.evalscope_benchmarks"
ASKED = "asked of the judge"


class Adapter:
    """EvalScope's, which asks its judge of an answer."""

    def __init__(self, benchmark_meta: Any, task_config: Any = None) -> None:
        self.name = benchmark_meta.name

    def judge_definition(self, context: Any) -> Any:
        return ASKED


class Definition:
    """EvalScope's declaration of what a judge is asked."""

    @classmethod
    def skip(cls, score: Any, reason: str) -> Any:
        return SimpleNamespace(immediate_score=score, skip_reason=reason)


def _message(role: str) -> type[Fields]:
    return type(role, (Fields,), {"role": role})


LISTED: dict[str, Any] = {}


def _register(meta: Any) -> Any:
    def registered(adapter: Any) -> Any:
        LISTED[meta.name] = adapter(benchmark_meta=meta)
        return adapter

    return registered


API: dict[str, dict[str, Any]] = {
    "benchmark": {"BenchmarkMeta": Fields, "DefaultDataAdapter": Adapter},
    "dataset": {"DatasetDict": dict, "MemoryDataset": lambda samples, name: samples, "Sample": Fields},
    "judge": {"JudgeDefinition": Definition},
    "messages": {
        "ChatMessageAssistant": _message("assistant"),
        "ChatMessageSystem": _message("system"),
        "ChatMessageUser": _message("user"),
        "ContentImage": Fields,
        "ContentText": Fields,
    },
    "metric": {"Score": Fields},
    "registry": {"register_benchmark": _register, "get_benchmark": LISTED.__getitem__},
}


@pytest.fixture(scope="module")
def harness() -> Iterator[Any]:
    modules = {f"evalscope.api.{name}": names for name, names in API.items()}
    with plugin(MODULE, "evalscope", {"evalscope": {}, "evalscope.api": {}, **modules}) as module:
        yield module


@pytest.fixture
def benchmark(harness: Any, sample_data: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What makes EvalScope's benchmark of a task."""
    from evalscope.api.registry import get_benchmark

    monkeypatch.setenv(DATA_VARIABLE, sample_data)
    return lambda task: get_benchmark(harness_name(task))


def seen(sample: Any) -> list[Row]:
    """What EvalScope puts to a model, part by part."""
    rows: list[Row] = []
    for message in sample.input:
        parts = message.content
        for part in [parts] if isinstance(parts, str) else parts:
            if isinstance(part, str) or getattr(part, "image", None) is None:
                rows.append((message.role, "text", part if isinstance(part, str) else part.text))
            else:
                picture = PIL.Image.open(io.BytesIO(base64.b64decode(part.image.partition("base64,")[2])))
                rows.append((message.role, "image", rgb_sha256(picture)))
    return rows


@pytest.mark.parametrize("task", ["cfe_text", "kmmmu", "livek12_text_image", "livek12_image_only"])
def test_requests_are_ours(benchmark: Any, sample_data: str, task: str) -> None:
    samples, fewshot = benchmark(task).load()
    documents = open_task(task, sample_data).documents
    assert fewshot is None and [sample.metadata["id"] for sample in samples["default"]] == [one.id for one in documents]
    for sample, document in zip(samples["default"], documents, strict=True):
        assert seen(sample) == parity_rows(document.request)
        assert sample.target == document.target


def test_marks_are_those_of_the_rules_and_a_judge_is_asked_the_rest(benchmark: Any, sample_data: str) -> None:
    task = benchmark("kmmmu")
    exam = open_task("kmmmu", sample_data)
    undecided = 0
    for row in planted_answers(exam.documents):
        id, said = row["question_id"], row["response"]
        state = SimpleNamespace(metadata={"id": id})
        score, verdict = task.match_score(said, said, "", state), exam.mark(id, said)
        assert score.value == {
            "acc": float(verdict.correct is True),
            "acc_high": float(verdict.correct is not False),
            "score": verdict.low / verdict.max_points,
            "undecided": float(verdict.state == "ungraded"),
        }
        if verdict.state == "ungraded":
            undecided += 1
            continue
        asked = task.judge_definition(SimpleNamespace(original_prediction=said, task_state=state))
        assert asked.immediate_score.value == score.value and asked.skip_reason
    assert 0 < undecided < len(exam.documents)


def test_what_the_rules_leave_open_is_left_to_the_judge(
    harness: Any, benchmark: Any, sample_data: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(harness.DefaultDataAdapter, "judge_definition", lambda self, context: ASKED)
    exam = open_task("kmmmu", sample_data)
    rows = planted_answers(exam.documents)
    open_row = next(row for row in rows if exam.mark(row["question_id"], row["response"]).state == "ungraded")
    state = SimpleNamespace(metadata={"id": open_row["question_id"]})
    context = SimpleNamespace(original_prediction=open_row["response"], task_state=state)
    assert benchmark("kmmmu").judge_definition(context) == ASKED


def test_every_task_is_listed_and_a_missing_data_set_is_one_line(
    benchmark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert all(benchmark(name) for name in all_tasks())
    monkeypatch.delenv(DATA_VARIABLE)
    with pytest.raises(SystemExit, match=r"^livek12: no data set: set LIVEK12_DATA"):
        benchmark("cfe_text").load()
