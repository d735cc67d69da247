"""Our tasks as benchmarks of EvalScope: what reaches the model, the marks, and when a judge is asked."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import PIL.Image
import pytest

from livek12.core.errors import UserError
from livek12.evaluation import logs
from livek12.tasks.plugins.harness_task import DATA_VARIABLE, harness_name, open_task
from livek12.tasks.registry import all_tasks
from tests.plugins.conftest import Row, parity_rows, planted_answers, rgb_sha256
from tests.plugins.standins import Fields, plugin
from tests.scripts.command import livek12_here

imported = partial(logs.joined, "evalscope")
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


def review(number: int, row: Row, score: Any, generation: int = 0) -> str:
    """A line as EvalScope 1.14 logs a sample of ours."""
    turns = [{"role": "user", "content": "?"}, {"role": "assistant", "content": row["response"]}]
    marks = {"score": {"value": score.value}, "group_id": number, "generation_index": generation}
    marks["sample_metadata"] = {"id": row["question_id"]}
    return json.dumps({"index": number, "target": ["?"], "messages": turns, "sample_score": marks}) + "\n"


def test_the_way_back_imports_a_log_and_knows_our_own_columns(benchmark: Any, sample_data: str, tmp_path: Path) -> None:
    rows = planted_answers(open_task("kmmmu", sample_data).documents)
    states = [SimpleNamespace(metadata={"id": row["question_id"]}) for row in rows]
    scores = [
        benchmark("kmmmu").match_score(row["response"], row["response"], "", state)
        for row, state in zip(rows, states, strict=True)
    ]
    assert any(score.value["undecided"] for score in scores) and any(score.value["acc"] for score in scores)
    log = tmp_path / "outputs" / "reviews" / "m" / "livek12_kmmmu_default.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text("".join(map(review, range(len(rows)), rows, scores)))
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row | {"model": "m"}) + "\n" for row in rows))
    found = {}
    for source, place in (("evalscope", tmp_path / "outputs"), ("jsonl", tmp_path / "rows.jsonl")):
        how = ("--from", source, "--task", "kmmmu", "--data", sample_data, "--out", tmp_path / source)
        ended = livek12_here("import-responses", place, *how)
        assert ended.code in (0, 1), ended.err
        found[source] = json.loads((tmp_path / source / "report.json").read_text())["tasks"]
    assert found["evalscope"]["kmmmu"]["metrics"]["accuracy"] == found["jsonl"]["kmmmu"]["metrics"]["accuracy"]
    assert found["evalscope"]["kmmmu"]["counts"] == found["jsonl"]["kmmmu"]["counts"]

    log.write_text(log.read_text().replace('"?"]', '"1"]'))
    ended = livek12_here("rejudge", tmp_path / "outputs", "--from", "evalscope", "--out", tmp_path / "again")
    assert ended.code in (0, 1), ended.err
    (said,) = json.loads((tmp_path / "again" / "report.json").read_text())["harness"]["tasks"].values()
    assert {name for name, figures in said.items() if "both_right" in figures} == {"acc"}
    assert set(said) == set(scores[0].value), "the others have their mean"


def test_two_reviews_that_answer_one_question_are_refused(benchmark: Any, sample_data: str, tmp_path: Path) -> None:
    row = planted_answers(open_task("kmmmu", sample_data).documents)[0]
    score = SimpleNamespace(value={"acc": 0.0})
    for model, text in (("a", "1"), ("b", "2")):
        log = tmp_path / "reviews" / model / "livek12_kmmmu_default.jsonl"
        log.parent.mkdir(parents=True)
        log.write_text(review(0, row | {"response": text}, score))
    with pytest.raises(UserError, match=r"is answered in .* give one"):
        list(imported(tmp_path, ["kmmmu"]))
    with pytest.raises(UserError, match="no reviews of cfe_text"):
        list(imported(tmp_path, ["cfe_text"]))
