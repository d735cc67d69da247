"""lighteval through its own registry, prompts, pipeline and command line, where it is installed (an environment of its
own: `pip install "livek12[lighteval]" pytest`); its logs, and what is said where it is not, everywhere."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from livek12.core.errors import UserError
from livek12.core.records import IMAGE_MARK
from livek12.evaluation import logs
from livek12.tasks.plugins import lighteval
from livek12.tasks.plugins.harness_task import DATA_VARIABLE, open_task
from tests.engines.conftest import small_folder  # noqa: F401  (a fixture)
from tests.plugins.conftest import Row, needs, parity_rows, planted_answers, rgb_sha256, write_rows
from tests.scripts.command import livek12_here

rows = partial(logs.joined, "lighteval")
MODULE = lighteval.__name__
FIRST = 50
STATED = {"accuracy": ("accuracy", "low"), "accuracy_high": ("accuracy", "high")}
STATED |= {"score": ("mark", "low"), "score_high": ("mark", "high")}


@pytest.fixture
def harness(tmp_path: Path) -> Path:
    """A folder for what it writes; skips where lighteval cannot start."""
    needs("lighteval")
    folder = Path(importlib.util.find_spec("lighteval").origin or "").parent  # type: ignore[union-attr]
    if not (folder / "tasks/tasks/tinyBenchmarks.pkl").exists():
        pytest.skip(f"lighteval would fetch a file when it starts; once: {lighteval.OFFLINE}")
    return tmp_path


# What reaches the model ----------------------------------------------------------------------------------------------


class Messages:
    """In a tokenizer's place: gives back the messages that lighteval would have it render."""

    def apply_chat_template(self, messages: Any, **_: Any) -> Any:
        return messages


def asked(data: str, task: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """lighteval's messages of the questions, by id, in its own order before it shuffles."""
    from lighteval.tasks.prompt_manager import PromptManager
    from lighteval.tasks.registry import Registry

    monkeypatch.setenv(DATA_VARIABLE, data)
    (found,) = Registry(tasks=task, custom_tasks=MODULE).load_tasks().values()
    manager = PromptManager(use_chat_template=True, tokenizer=Messages())
    docs = found.eval_docs()
    ask = manager.prepare_prompt_api if docs[0].images is None else manager.prepare_prompt_multimodal
    return {doc.specific["question_id"]: ask(doc) for doc in docs}


def interleaved(messages: list[dict[str, Any]]) -> list[Row]:
    """Texts and pictures with each picture at the place of its mark: lighteval has them all behind the text."""
    rows: list[Row] = []
    for message in messages:
        (text, *pictures), role = message["content"], message["role"]
        pieces = text["text"].split(IMAGE_MARK)
        assert len(pieces) == len(pictures) + 1
        for piece, picture in zip(pieces, [*pictures, None], strict=True):
            rows += [(role, "text", piece)] if piece else []
            rows += [(role, "image", rgb_sha256(picture["image"]))] if picture else []
    return rows


@pytest.mark.slow
def test_texts_reach_the_model_as_ours_do(cfe_data: str, harness: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = asked(cfe_data, "livek12_cfe_text", monkeypatch)
    documents = open_task("cfe_text", cfe_data).documents
    assert list(given) == [document.id for document in documents]
    for document in documents[:FIRST]:
        said = [(message["role"], "text", message["content"]) for message in given[document.id]]
        assert said == parity_rows(document.request)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "task"),
    [
        ("cfe_data", "cfe_multimodal"),
        ("gaokao_mm_data", "livek12_text_image"),
        ("sample_data", "livek12_image_only"),
        ("odd_data", "livek12_text_image"),
    ],
)
def test_pictures_reach_the_model_in_the_order_of_their_marks(
    data: str, task: str, harness: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    folder = request.getfixturevalue(data)
    given = asked(folder, lighteval.harness_name(task), monkeypatch)
    documents = open_task(task, folder).documents
    assert set(given) == {document.id for document in documents}
    for document in documents[:FIRST]:
        assert interleaved(given[document.id]) == parity_rows(document.request)


# Marks and logs ------------------------------------------------------------------------------------------------------


def sat(data: str, task: str, answers: dict[str, str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """lighteval's whole pipeline over recorded answers; its results, and its logs in the folder."""
    from lighteval.logging.evaluation_tracker import EvaluationTracker
    from lighteval.models.dummy.dummy_model import DummyModel, DummyModelConfig
    from lighteval.models.model_output import ModelResponse
    from lighteval.pipeline import ParallelismManager, Pipeline, PipelineParameters
    from lighteval.tasks.requests import SamplingMethod
    from lighteval.utils.cache_management import cached

    class Recorded(DummyModel):  # type: ignore[misc]
        @cached(SamplingMethod.GENERATIVE)  # as its real models have it
        def greedy_until(self, docs: list[Any]) -> list[Any]:
            return [ModelResponse(text=[answers[doc.specific["question_id"]]]) for doc in docs]

    monkeypatch.setenv(DATA_VARIABLE, data)
    tracker = EvaluationTracker(output_dir=str(folder), save_details=True)
    parameters = PipelineParameters(launcher_type=ParallelismManager.NONE, custom_tasks_directory=MODULE)
    model = Recorded(DummyModelConfig(model_name="org/recorded", cache_dir=str(folder.parent / "cache")))
    pipeline = Pipeline(tasks=task, pipeline_parameters=parameters, evaluation_tracker=tracker, model=model)
    pipeline.evaluate()
    pipeline.save_and_push_results()
    return results_of(folder, task)


def results_of(folder: Path, task: str) -> dict[str, Any]:
    """The numbers in the one results file of a run."""
    (file,) = folder.rglob("results_*.json")
    results: dict[str, Any] = json.loads(file.read_text())["results"][f"{task}|0"]
    return results


@pytest.mark.slow
def test_scores_of_recorded_answers_are_ours(cfe_data: str, harness: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = open_task("cfe_text", cfe_data).documents
    planted = planted_answers(documents)
    said = {row["question_id"]: row["response"] for row in planted}
    theirs = sat(cfe_data, "livek12_cfe_text", said, harness / "out", monkeypatch)

    own = report("jsonl", write_rows(harness / "planted.jsonl", planted), cfe_data, harness / "own")
    for metric, (stated, end) in STATED.items():
        assert theirs[metric] == pytest.approx(own["metrics"][stated][end]), metric
    for state in ("ungraded", "no_answer"):
        assert theirs[state] == pytest.approx(own["counts"][state] / own["counts"]["answers"]), state
        assert own["counts"][state] > 0, "the planted answers no longer have all ends"
    assert 0 < theirs["accuracy"] < theirs["accuracy_high"] < 1

    back = list(rows(harness / "out", {"cfe_text"}))
    assert {row["question_id"]: row["response"] for row in back} == said
    assert {(row["task"], row["trial"], row["model"]) for row in back} == {("cfe_text", 0, "org/recorded")}
    imported = report("lighteval", harness / "out", cfe_data, harness / "imported")
    assert imported["metrics"] == own["metrics"]


@pytest.mark.slow
def test_answers_to_a_data_set_of_several_splits_stay_apart(
    sample_data: str, harness: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """lighteval numbers the documents of each split from 0; asked again, it answers from its cache."""
    documents = open_task("livek12_text_only", sample_data).documents
    said = {document.id: f"\\boxed{{{document.id}}}" for document in documents}
    for folder, answers in (("first", said), ("again", dict.fromkeys(said, "not asked again"))):
        sat(sample_data, "livek12_text_only", answers, harness / folder, monkeypatch)
        back = list(rows(harness / folder, {"livek12_text_only"}))
        assert {row["question_id"]: row["response"] for row in back} == said


def report(source: str, file: Path, data: str, out: Path) -> dict[str, Any]:
    """The task's part of report.json after an import."""
    ended = livek12_here("import-responses", file, "--from", source, "--task", "cfe_text", "--data", data, "--out", out)
    assert ended.code in (0, 1), ended.err
    found: dict[str, Any] = json.loads((out / "report.json").read_text())["tasks"]["cfe_text"]
    return found


@pytest.mark.slow
def test_command_line_ends_in_its_own_files(sample_data: str, harness: Path, small_folder: Path) -> None:  # noqa: F811
    arguments = (
        f"model_name={small_folder},device=cpu,dtype=float32,batch_size=1,max_length=512,cache_dir={harness}/cache"
    )
    ended = command(sample_data, harness, arguments, "livek12_text_only_en", "--max-samples", "2", "--save-details")
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert "accuracy" in results_of(harness / "out", "livek12_text_only_en")
    assert len(list(rows(harness / "out", {"livek12_text_only_en"}))) == 2


@pytest.mark.slow
def test_a_data_set_that_was_moved_is_one_line(harness: Path) -> None:
    ended = command(str(harness / "gone"), harness, "model_name=none,device=cpu", "livek12_cfe_text")
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    last = ended.stderr.strip().splitlines()[-1]
    assert last.startswith("livek12:")
    assert "gone" in last


def command(data: str, folder: Path, model: str, task: str, *more: str) -> subprocess.CompletedProcess[str]:
    """`lighteval accelerate` in a process of its own."""
    environment = {**os.environ, DATA_VARIABLE: data, "HF_HUB_OFFLINE": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    called = [sys.executable, "-m", "lighteval", "accelerate", model, task, "--custom-tasks", MODULE]
    return subprocess.run(
        [*called, "--output-dir", str(folder / "out"), *more],
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
        env=environment,
    )


# Without lighteval ---------------------------------------------------------------------------------------------------


def log_of(folder: Path, entries: list[dict[str, Any]], date: str = "2026-01-02T03-04-05") -> Path:
    """A log as lighteval lays it out."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = folder / "details/org/model" / date / f"details_livek12_cfe_text|0_{date}.parquet"
    file.parent.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist(entries), file)
    return file


def entry(text: Any, question: Any = "q1", task: Any = "cfe_text", reasonings: Any = None) -> dict[str, Any]:
    about = {"task": task, "question_id": question}
    said = {"text": text, "reasonings": reasonings or [None], "output_tokens": [[1, 2, 2]]}
    return {"doc": {"query": "?", "id": "7", "specific": about}, "metric": {"accuracy": 0.0}, "model_response": said}


def test_a_log_gives_every_answer_and_nothing_it_does_not_say(tmp_path: Path) -> None:
    log_of(tmp_path, [entry(["one", "two"], reasonings=["so", None]), entry([""], "q2"), entry(["x"], task="other")])
    same = {"task": "cfe_text", "model": "org/model"}
    assert list(rows(tmp_path, {"cfe_text"})) == [
        {**same, "question_id": "q1", "trial": 0, "response": "one", "reasoning": "so", "last_token": 2},
        {**same, "question_id": "q1", "trial": 1, "response": "two"},
        {**same, "question_id": "q2", "trial": 0, "response": "", "last_token": 2},
    ]


def test_a_vision_model_logs_one_text(tmp_path: Path) -> None:
    one = entry("B", reasonings=["", ""])
    one["model_response"]["output_tokens"] = [7, 8, 9]
    log = log_of(tmp_path, [one])
    assert [(row["response"], row["last_token"]) for row in rows(log, {"cfe_text"})] == [("B", 9)]


def test_a_damaged_entry_costs_one_warning(tmp_path: Path, warnings: Callable[[], list[str]]) -> None:
    log_of(tmp_path, [entry(["a"]), entry(["b"], question=None), entry(None, "q3"), entry(["c"], "q4")])
    assert [row["question_id"] for row in rows(tmp_path, {"cfe_text"})] == ["q1", "q4"]
    first, second = warnings()
    assert "entry 2" in first and "entry 3" in second


def bad_logs(folder: Path) -> Iterator[tuple[str, str]]:
    yield "empty", "--save-details"
    log_of(folder / "other", [entry(["a"], task="other")])
    yield "other", "cfe_text"
    log_of(folder / "two", [entry(["a"])])
    log_of(folder / "two", [entry(["a"])], date="2027-01-02T03-04-05")
    yield "two", "two logs"
    log_of(folder / "damaged", [entry(["a"])]).write_bytes(b"PAR1 not")
    yield "damaged", "not Parquet"
    log_of(folder / "foreign", [{"a": 1}])
    yield "foreign", "cfe_text"


def test_bad_logs_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name, said in bad_logs(tmp_path):
        with pytest.raises(UserError, match=said) as caught:
            list(rows(tmp_path / name, {"cfe_text"}))
        assert "\n" not in str(caught.value)


def test_guide_names_the_module_and_needs_no_lighteval(tmp_path: Path) -> None:
    ended = livek12_here("plugins", "lighteval", "--out", tmp_path)
    assert (ended.code, ended.out.strip()) == (0, MODULE)


@pytest.mark.skipif(importlib.util.find_spec("lighteval") is not None, reason="lighteval is installed here")
def test_without_lighteval_the_table_is_one_line(monkeypatch: pytest.MonkeyPatch, sample_data: str) -> None:
    monkeypatch.setenv(DATA_VARIABLE, sample_data)
    with pytest.raises(SystemExit, match=r"lighteval is not installed .*pip install"):
        _ = lighteval.TASKS_TABLE
