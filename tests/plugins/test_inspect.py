"""The plug-in for Inspect, run by Inspect itself: what reaches a model, what answers are marked, what its logs hold."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import PackageNotFoundError, entry_points
from pathlib import Path
from typing import Any

import pytest

from tests.plugins.conftest import native_sheets, needs, planted_answers, planted_sheets, write_rows
from tests.scripts.command import livek12_here

needs("inspect_ai")

from inspect_ai import eval as inspect_eval  # noqa: E402
from inspect_ai.log import EvalLog, write_eval_log  # noqa: E402
from inspect_ai.model import (  # noqa: E402
    ChatMessage,
    ChatMessageAssistant,
    ContentReasoning,
    ContentText,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    modelapi,
)
from inspect_ai.model._model_output import ChatCompletionChoice  # noqa: E402
from inspect_ai.solver import Generate, Solver, TaskState, solver  # noqa: E402

from livek12.core.errors import UserError  # noqa: E402
from livek12.core.records import Request, Verdict  # noqa: E402
from livek12.core.run.folder import RunFolder  # noqa: E402
from livek12.evaluation import logs  # noqa: E402
from livek12.evaluation.logs import inspect_ai as reader  # noqa: E402
from livek12.tasks.plugins import inspect_ai as plugin  # noqa: E402
from livek12.tasks.plugins.harness_task import open_task  # noqa: E402
from livek12.tasks.plugins.inspect_marks import answer_of, model_name  # noqa: E402
from livek12.tasks.plugins.inspect_tasks import TASKS, exam_task  # noqa: E402
from livek12.tasks.registry import all_tasks  # noqa: E402
from tests.engines.scripted_server import Json, Reply, serving  # noqa: E402
from tests.judges.llm.judge_server import JudgeScript, counted, says, text_of  # noqa: E402

Seen = list[tuple[str, str, str]]
imported = partial(logs.joined, "inspect")
FIRST = 10
SEEN: list[Seen] = []
CONFIGS: list[GenerateConfig] = []


@modelapi(name="livek12_recorder")
class Recorder(ModelAPI):
    """Keeps what it is asked, part by part, and answers without a token count."""

    def __init__(self, model_name: str, base_url: Any = None, api_key: Any = None, config: Any = None, **more: Any):
        super().__init__(model_name, base_url, api_key, [], config or GenerateConfig())

    def max_connections(self) -> int:
        return 1

    async def generate(self, input: list[ChatMessage], tools: Any, tool_choice: Any, config: Any) -> ModelOutput:
        SEEN.append([part for message in input for part in _parts(message)])
        CONFIGS.append(config)
        return ModelOutput.from_content(self.model_name, "\\boxed{A}")


def _parts(message: ChatMessage) -> Iterator[tuple[str, str, str]]:
    content = [ContentText(text=message.content)] if isinstance(message.content, str) else message.content
    for part in content:
        if part.type == "image":
            kind, encoded = part.image.split(",", 1)
            yield message.role, kind, hashlib.sha256(base64.b64decode(encoded)).hexdigest()
        else:
            yield message.role, "text", part.text


def ours(request: Request) -> Seen:
    """The same of our request; the kind of a picture is told by its first bytes."""
    kinds = {
        b"\x89PNG": "data:image/png;base64",
        b"\xff\xd8\xff": "data:image/jpeg;base64",
        b"RIFF": "data:image/webp;base64",
        b"GIF8": "data:image/gif;base64",
    }
    found: Seen = []
    for message in request.messages:
        for part in message.content:
            if part.image:
                encoded = request.images[part.image].bytes or b""
                kind = next((kind for head, kind in kinds.items() if encoded.startswith(head)), "?")
                found.append((message.role, kind, part.image))
            else:
                found.append((message.role, "text", part.text or ""))
    return found


@solver
def recorded(answers: dict[tuple[str, int], dict[str, Any]]) -> Solver:
    """Gives each sample and epoch its recorded answer, in place of a model."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.output = output_of(answers[str(state.sample_id), state.epoch - 1])
        return state

    return solve


def output_of(row: dict[str, Any]) -> ModelOutput:
    """A plain recorded row as what a provider of Inspect gives."""
    content: list[Any] = [ContentReasoning(reasoning=row["reasoning"])] if row.get("reasoning") else []
    message = ChatMessageAssistant(content=[*content, ContentText(text=row["response"])])
    stop: Any = {"length": "max_tokens", "stop": "stop"}[row["finish_reason"]]
    usage = None
    if "completion_tokens" in row:
        cached = row["cached_tokens"]
        usage = ModelUsage(
            input_tokens=row["prompt_tokens"] - cached,
            input_tokens_cache_read=cached,
            output_tokens=row["completion_tokens"],
            reasoning_tokens=row["reasoning_tokens"],
        )
    choice = ChatCompletionChoice(message=message, stop_reason=stop)
    return ModelOutput(model="m", choices=[choice], usage=usage, time=row["seconds"])


def answers_to(task: str, data: str, trials: int, limit: int | None = None) -> list[dict[str, Any]]:
    """Planted answers with all that a provider tells; some are cut short, some think in a field of their own."""
    rows = planted_answers(open_task(task, data).documents[:limit], trials)
    for index, row in enumerate(rows):
        row |= {"finish_reason": "length" if index % 7 == 6 else "stop", "seconds": 1.5 + index, "model": "x"}
        row |= {"prompt_tokens": 100 + index, "cached_tokens": index % 3, "completion_tokens": 500 * (index % 9) + 7}
        row |= {"reasoning_tokens": index % 5}
        if index % 4 == 0:
            row["reasoning"] = f"thought {index}"
    return rows


def sit(task: str, data: str, rows: list[dict[str, Any]], logs: Path, epochs: int = 1, **more: Any) -> EvalLog:
    """Inspect's own eval over recorded answers."""
    answers = {(row["question_id"], row["trial"]): row for row in rows}
    limit = len({row["question_id"] for row in rows})
    arguments = {"data": data, **more}
    (log,) = inspect_eval(
        TASKS[task](**arguments), "livek12_recorder/x", solver=recorded(answers), log_dir=str(logs), limit=limit,
        epochs=epochs, display="none", log_format="eval",
    )  # fmt: skip
    assert log.status == "success", log.error
    return log


def metrics_of(log: EvalLog) -> dict[str, float]:
    assert log.results
    (marks,) = log.results.scores
    return {name: metric.value for name, metric in marks.metrics.items()}


def report_of(run: Path, *arguments: object) -> dict[str, Any]:
    """The report of a run folder made by `livek12 import-responses`."""
    ended = livek12_here("import-responses", *arguments, "--out", run)
    assert ended.code in (0, 1), ended.err
    report: dict[str, Any] = json.loads((run / "report.json").read_text())
    return report["tasks"]


@modelapi(name="livek12_caller")
class Caller(ModelAPI):
    """Calls a tool that nobody offered; asked once more, it gives an answer."""

    def __init__(self, model_name: str, base_url: Any = None, api_key: Any = None, config: Any = None, **more: Any):
        super().__init__(model_name, base_url, api_key, [], config or GenerateConfig())

    async def generate(self, input: list[ChatMessage], tools: Any, tool_choice: Any, config: Any) -> ModelOutput:
        if any(message.role == "assistant" for message in input):
            return ModelOutput.from_content(self.model_name, "\\boxed{1}")
        call = ModelOutput.for_tool_call(self.model_name, "calculator", {"text": "1 + 1"})
        call.choices[0].message.content = ""
        return call


def test_a_call_of_a_tool_that_nobody_offered_is_no_answer_and_is_not_answered(
    sample_data: str, tmp_path: Path
) -> None:
    made = TASKS["kmmmu"](data=sample_data)
    (log,) = inspect_eval(made, "livek12_caller/x", log_dir=str(tmp_path), limit=3, display="none")
    assert log.status == "success", log.error
    for sample in log.samples or []:
        assert [message.role for message in sample.messages].count("assistant") == 1
        score = (sample.scores or {})["exam_marks"]
        assert (score.metadata or {})["state"] == "no_answer"
        assert isinstance(score.value, dict) and score.value["accuracy"] == 0
    ((task, said),) = report_of(
        tmp_path / "run", tmp_path, "--from", "inspect", "--task", "kmmmu", "--data", sample_data
    ).items()
    assert (task, said["counts"]["no_answer"]) == ("kmmmu", 3), "an import says the same"


@pytest.mark.parametrize(
    ("task", "data"),
    [
        ("cfe_text", "cfe_data"),
        ("cfe_multimodal", "cfe_data"),
        ("livek12_text_image", "gaokao_mm_data"),
        ("livek12_image_only", "sample_data"),
        ("kmmmu", "sample_data"),
        ("livek12", "odd_data"),
    ],
)
def test_what_reaches_the_model_is_our_request(
    task: str, data: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    place = request.getfixturevalue(data)
    SEEN.clear()
    CONFIGS.clear()
    made = TASKS[task](data=place)
    (log,) = inspect_eval(made, "livek12_recorder/x", log_dir=str(tmp_path), limit=FIRST, display="none", max_samples=1)
    documents = open_task(task, place).documents[:FIRST]
    assert log.status == "success", log.error
    assert [ours(document.request) for document in documents] == SEEN
    assert {sample.id for sample in log.samples or []} == {document.id for document in documents}
    sampling = all_tasks()[task].sampling
    assert {(c.max_tokens, c.temperature, c.top_p, c.seed) for c in CONFIGS} == {
        (sampling.max_tokens, sampling.temperature, sampling.top_p, None)
    }
    assert {made.metadata["task_version"], made.version} == {all_tasks()[task].version}


def test_a_sheet_is_our_request_and_gets_our_marks(sample_data: str, tmp_path: Path) -> None:
    task = "livek12_text_only_en@paper"
    documents = open_task(task, sample_data, sheets=True).documents
    SEEN.clear()
    (log,) = inspect_eval(
        exam_task(task, sample_data), "livek12_recorder/x", log_dir=str(tmp_path / "asked"), display="none"
    )
    assert log.status == "success" and [ours(document.request) for document in documents] == SEEN
    rows = [{**row, "finish_reason": "stop", "seconds": 1.0} for row in planted_sheets(documents)]
    answers = {(row["question_id"], 0): row for row in rows}
    (log,) = inspect_eval(
        exam_task(task, sample_data), "livek12_recorder/x", solver=recorded(answers), log_dir=str(tmp_path / "logs"),
        display="none",
    )  # fmt: skip
    native = native_sheets(task, sample_data, rows, tmp_path)
    metrics = metrics_of(log)
    assert 0 < metrics["accuracy"] == pytest.approx(native["metrics"]["accuracy"]["low"])
    assert metrics["score"] == pytest.approx(native["metrics"]["mark"]["low"])
    assert 0 < metrics["no_answer"] == pytest.approx(native["counts"]["no_answer"] / native["counts"]["answers"])
    with pytest.raises(UserError, match="asks whole sheets"):
        open_task(task, sample_data)


@pytest.mark.parametrize(
    ("task", "data", "trials", "limit"),
    [
        ("livek12_text_only", "sample_data", 2, None),
        ("livek12_image_only", "sample_data", 1, None),
        ("cfe_text", "cfe_data", 2, 20),
    ],
)
@pytest.mark.release
def test_marks_and_imported_log_equal_a_native_run(
    task: str, data: str, trials: int, limit: int | None, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    place = request.getfixturevalue(data)
    rows = answers_to(task, place, trials, limit)
    common = ("--task", task, "--data", place, *(("--limit", limit) if limit else ()))
    native = report_of(tmp_path / "native", write_rows(tmp_path / "rows.jsonl", rows), "--from", "jsonl", *common)
    log = sit(task, place, rows, tmp_path / "logs", trials)
    theirs = report_of(tmp_path / "theirs", tmp_path / "logs", "--from", "inspect", *common)

    assert theirs == native
    metrics = native[task]["metrics"]
    assert metrics["ARL"]["low"] is not None, "token counts came through"
    assert native[task]["counts"]["ungraded"], "the planted answers hold undecidable ones"
    found = metrics_of(log)
    names = {"accuracy": "accuracy", "mark": "score"}
    if task.startswith("livek12"):
        names |= {name: name for name in metrics if name.startswith(("ARL", "Acc"))}
    if task.startswith("cfe"):
        names["variable_accuracy"] = "variable_accuracy"
    if trials > 1:
        names |= {f"pass@{k}": f"pass@{k}" for k in range(1, trials + 1)}
    for name, in_log in names.items():
        low, high = metrics[name]["low"], metrics[name]["high"]
        assert found[in_log] == pytest.approx(low), name
        assert found.get(f"{in_log}_high", found[in_log]) == pytest.approx(high), name
    counts = native[task]["counts"]
    for state in ("ungraded", "no_answer"):
        assert found[state] == pytest.approx(counts[state] / counts["answers"])
    assert found["truncated"] == pytest.approx(sum(row["finish_reason"] == "length" for row in rows) / len(rows))
    assert log.eval.metadata
    same = log.eval.metadata["data_sha256"] == _spec(tmp_path / "native")["data_sha256"]
    assert same == (limit is None), "the whole task is named, whatever Inspect's --limit"


def _spec(run: Path) -> dict[str, Any]:
    (task,) = json.loads((run / "run.json").read_text())["tasks"]
    found: dict[str, Any] = task
    return found


def test_an_undecided_answer_is_unscored_and_a_missing_count_invents_nothing(sample_data: str, tmp_path: Path) -> None:
    rows = answers_to("livek12_text_only", sample_data, 1)
    for row in rows[:1]:
        del row["completion_tokens"]
    log = sit("livek12_text_only", sample_data, rows, tmp_path)
    found = metrics_of(log)
    assert math.isnan(found["ARL"]) and math.isnan(found["Acc≤0.1"])
    assert found["accuracy"] < found["accuracy_high"]
    scores = [sample.scores["exam_marks"] for sample in log.samples or [] if sample.scores]
    states = {score.metadata["state"]: score for score in scores if score.metadata}
    assert math.isnan(states["ungraded"].value["score"])  # type: ignore[index,call-overload]
    assert states["no_answer"].value == {"accuracy": 0.0, "score": 0.0}
    assert "undecided by" in (states["ungraded"].explanation or "")


def test_judges_are_asked_what_the_rules_leave_open(sample_data: str, tmp_path: Path) -> None:
    rows = answers_to("livek12_text_only", sample_data, 1)
    replies = tmp_path / "judge.jsonl"
    write_rows(replies, [{"question_id": "nobody", "response": "{}", "model": "judge-a"}])
    spec = f"{replies}@replay"
    log = sit("livek12_text_only", sample_data, rows, tmp_path / "logs", judge=spec, audit=False)
    scores = [sample.scores["exam_marks"] for sample in log.samples or [] if sample.scores]
    votes = [vote for score in scores for part in (score.metadata or {})["verdict"]["parts"] for vote in part["votes"]]
    assert votes and {vote["judge"] for vote in votes} == {"judge-a"}
    assert any("judge-a: undecided" in (score.explanation or "") for score in scores)


def votes(body: Json) -> Reply:
    """A judge's reply that hangs on its name and on what it is asked."""
    digest = hashlib.sha256((body["model"] + text_of(body)).encode()).digest()
    if "response_format" not in body:  # whether the judge is there at all
        return says("yes")
    parts = body["response_format"]["json_schema"]["schema"]["properties"]["parts"]["minItems"]
    return says(counted(*(byte % 2 == 0 for byte in digest[:parts])))


def test_a_panel_gives_the_verdicts_of_a_native_run(sample_data: str, tmp_path: Path) -> None:
    rows = answers_to("livek12_text_only", sample_data, 1)
    run, common = tmp_path / "native", ("--task", "livek12_text_only", "--data", sample_data)
    report_of(run, write_rows(tmp_path / "rows.jsonl", rows), "--from", "jsonl", *common)
    with serving(JudgeScript(lambda question, before, body: votes(body))) as url:
        panel = ",".join(f"judge-{name}@openai:base_url={url}" for name in "abc")
        log = sit("livek12_text_only", sample_data, rows, tmp_path / "logs", judge=panel, audit=False)
        ended = livek12_here("judge", run, "--judge", panel, "--no-audit", "--no-cache", "--again")
    assert ended.code == 0, ended.err
    native = {row.question.id: row.verdict for row in RunFolder.open(run).rows() if row.verdict}
    scores = {str(sample.id): sample.scores["exam_marks"] for sample in log.samples or [] if sample.scores}
    theirs = {id: Verdict.model_validate((score.metadata or {})["verdict"]) for id, score in scores.items()}
    told = {"state", "points", "low", "high", "correct", "parts"}
    assert {id: one.model_dump(include=told) for id, one in theirs.items()} == {
        id: one.model_dump(include=told) for id, one in native.items()
    }
    decided = [part.decision for one in theirs.values() for part in one.parts if len(part.votes) == 3]
    assert {"accept", "reject"} <= set(decided)


@pytest.mark.slow
def test_marks_and_audits_of_a_log_are_taken_where_they_are_asked_for(sample_data: str, tmp_path: Path) -> None:
    rows = answers_to("livek12_text_only", sample_data, 1)

    def says_both(question: int, before: int, body: Json) -> Reply:
        parts = (
            "response_format" not in body or "parts" in body["response_format"]["json_schema"]["schema"]["properties"]
        )
        return votes(body) if parts else says({"errors": [{"type": "LAE", "step": "2", "reason": "nobody said so"}]})

    with serving(JudgeScript(says_both)) as url:
        panel = ",".join(f"judge-{name}@openai:base_url={url}" for name in "abc")
        log = sit("livek12_text_only", sample_data, rows, tmp_path / "logs", judge=panel)
    found, common = metrics_of(log), ("--from", "inspect", "--task", "livek12_text_only", "--data", sample_data)
    taken = report_of(tmp_path / "taken", tmp_path / "logs", *common, "--log-marks")["livek12_text_only"]["metrics"]
    for metric, name in (("accuracy", "accuracy"), ("mark", "score"), ("PES", "PES"), ("OES", "OES")):
        assert taken[metric]["low"] == pytest.approx(found[name]), metric
    (by,) = [
        one for one in json.loads((tmp_path / "taken" / "report.json").read_text())["marked_by"] if "log" in one["who"]
    ]
    assert by["who"].startswith("judges of the imported log: judge-a")
    ended = livek12_here("import-responses", tmp_path / "logs", *common, "--out", tmp_path / "rules")
    assert "--log-marks takes them" in ended.err
    rules = json.loads((tmp_path / "rules" / "report.json").read_text())["tasks"]["livek12_text_only"]["metrics"]
    assert rules["PES"]["low"] is None and rules["PES"]["note"]


@pytest.mark.parametrize(
    "change", [{"max_points": 1e6, "points": 1e6}, {"response_sha256": "0" * 64}, {"calls": 7}, {}]
)
def test_a_mark_that_does_not_fit_is_not_taken(change: dict[str, Any], tmp_path: Path) -> None:
    from livek12.evaluation.logs.harness_marks import take_marks
    from tests.evaluation.labelled_runs import make_run, verdict

    run = make_run(tmp_path / "run", each=1)
    (response,) = run.responses()
    call = {"judge": "j", "prompt": "p", "raw": "r"}
    marked = verdict(response, right=True).model_dump(mode="json") | {"judge": "theirs", "calls": [call]} | change
    for file in (tmp_path / "run").glob("verdicts-*"):
        file.unlink()
    (tmp_path / "rows.jsonl").write_text(json.dumps({"marked": marked}) + "\n")
    take_marks(RunFolder.open(tmp_path / "run"), tmp_path / "rows.jsonl")
    taken = [verdict.judge for _, verdict in RunFolder.open(tmp_path / "run").judged()]
    assert taken == ([] if change else ["theirs"])


def test_a_log_tells_of_thinking_counts_and_endings(sample_data: str, tmp_path: Path) -> None:
    row = answers_to("livek12_text_only", sample_data, 1)[0]
    said = answer_of(output_of(row))
    for name in ("response", "reasoning", "finish_reason", "seconds", "prompt_tokens", "cached_tokens"):
        assert said[name] == row[name], name
    assert (said["completion_tokens"], said["reasoning_tokens"]) == (row["completion_tokens"], row["reasoning_tokens"])
    assert answer_of(ModelOutput())["response"] == ""
    assert [model_name(name) for name in ("hf/a/b", "openai-api/local/m", "openai/gpt", "bare")] == [
        "a/b",
        "m",
        "gpt",
        "bare",
    ]


def test_a_sample_that_failed_has_no_row_and_json_logs_are_read(
    sample_data: str, tmp_path: Path, warnings: Callable[[], list[str]]
) -> None:
    rows = answers_to("livek12_text_only", sample_data, 1)
    log = sit("livek12_text_only", sample_data, rows, tmp_path / "logs")
    assert log.samples
    from inspect_ai.log import EvalError

    log.samples[0].error = EvalError(message="lost", traceback="", traceback_ansi="")
    log.status = "started"
    as_json = tmp_path / "other" / "log.json"
    as_json.parent.mkdir()
    write_eval_log(log, str(as_json))
    found = list(imported(as_json, ["livek12_text_only"]))
    assert {row["question_id"] for row in found} == {row["question_id"] for row in rows} - {log.samples[0].id}
    unfinished, missing = warnings()
    assert missing == f"{as_json}: 1 answers are missing in the log"
    assert "the eval did not end; `inspect log recover`" in unfinished
    with pytest.raises(UserError, match="no answers to cfe_text"):
        list(imported(as_json, ["cfe_text"]))
    (tmp_path / "other" / "damaged.eval").write_bytes(b"PK\x03\x04 and no more")
    assert len(list(imported(as_json.parent, ["livek12_text_only"]))) == len(found)
    assert "damaged.eval: is no whole archive" in " ".join(warnings())


def test_two_logs_of_one_question_are_an_error(sample_data: str, tmp_path: Path) -> None:
    rows = answers_to("livek12_text_only", sample_data, 1, 5)
    sit("livek12_text_only", sample_data, rows, tmp_path)
    sit("livek12_text_only", sample_data, rows, tmp_path)
    assert len(list(imported(tmp_path, ["livek12_text_only"]))) == len(rows), "the same log twice"
    rows[3]["response"] = "something else"
    sit("livek12_text_only", sample_data, rows, tmp_path)
    with pytest.raises(UserError, match=f"question {rows[3]['question_id']} .* and, otherwise, in "):
        list(imported(tmp_path, ["livek12_text_only"]))


def bomb(file: Path) -> None:
    """An archive that says it holds ten bytes and unpacks to 30 MiB."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("header.json", "w") as stream:
        for _ in range(30):
            stream.write(bytes(1 << 20))
    raw = bytearray(file.read_bytes())
    true = struct.pack("<I", 30 << 20)
    assert raw.count(true) >= 1
    file.write_bytes(raw.replace(true, struct.pack("<I", 10)))


@pytest.mark.parametrize("kind", ["bomb", "cut", "empty", "json", "deep", "folder", "missing"])
def test_a_hostile_log_ends_in_one_line(
    kind: str, sample_data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "MOST_BYTES", 25 << 20)
    file = tmp_path / ("log.json" if kind in ("json", "deep") else "log.eval")
    if kind == "bomb":
        bomb(file)
    elif kind == "cut":
        rows = answers_to("livek12_text_only", sample_data, 1, 4)
        log = sit("livek12_text_only", sample_data, rows, tmp_path / "logs")
        file.write_bytes(Path(log.location).read_bytes()[:3000])
    elif kind == "folder":
        file.mkdir()
    elif kind != "missing":
        file.write_text({"empty": "", "json": '{"version": 2, "eval": 7}', "deep": "[" * 100_000}[kind])
    with pytest.raises(UserError) as caught:
        list(imported(file, ["livek12_text_only"]))
    assert "\n" not in str(caught.value) and str(file) in str(caught.value)


@pytest.mark.parametrize(("found", "said"), [("0.3.99", "is too old"), (None, "is not installed")])
def test_an_old_version_is_named(found: str | None, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if found is None:
            raise PackageNotFoundError(name)
        return found

    monkeypatch.setattr("importlib.metadata.version", version)
    with pytest.raises(UserError, match=f"{said}.*pip install"):
        plugin.check_version()
    assert any(said in note for note in json.loads(livek12_here("plugins", "inspect", "--json").out)["notes"])


def test_every_task_is_there_and_wrong_use_is_one_line(sample_data: str, tmp_path: Path) -> None:
    assert list(TASKS) == list(all_tasks())
    for arguments in ({"data": str(tmp_path)}, {"data": sample_data, "judge": "x@openai:base_url=nowhere"}):
        with pytest.raises(Exception) as caught:
            TASKS["livek12_text_only"](**arguments)
        assert type(caught.value).__name__ == "PrerequisiteError"
        assert "\n" not in str(caught.value.message)  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.release
def test_the_command_line_of_inspect(sample_data: str, served: str, tmp_path: Path) -> None:
    """`inspect list tasks`, and `inspect eval` with a genuine small model behind an endpoint, ending in its log."""
    guide = plugin.guide(sample_data, tmp_path)
    listed = _inspect(tmp_path, "list", "tasks")
    assert {f"{plugin.FILE}@{name}" for name in all_tasks() if name.isidentifier()} <= set(listed.split())
    installed = any(point.name == guide.path for point in entry_points(group="inspect_ai"))
    task = f"{guide.path}/livek12_text_only" if installed else f"{plugin.FILE}@livek12_text_only"
    where = ["-T", f"data={sample_data}", "--log-dir", str(tmp_path / "logs"), "--model-base-url", served]
    small = ["--limit", "2", "--max-tokens", "8", "--display", "plain", "--model", "openai-api/local/small"]
    out = _inspect(tmp_path, "eval", task, *where, *small, LOCAL_API_KEY="none")
    assert "truncated" in out, out
    rows = list(imported(tmp_path / "logs", ["livek12_text_only"]))
    asked = open_task("livek12_text_only", sample_data).documents[:2]
    assert {row["question_id"] for row in rows} == {document.id for document in asked}
    assert all(row["model"] == "small" and 0 < row["completion_tokens"] <= 8 for row in rows)


def _inspect(folder: Path, *arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "inspect_ai", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=folder,
        env={**os.environ, "COLUMNS": "200", **environment},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_bank_orders_the_samples_ends_the_exam_and_predicts_the_mark(data: Path, tmp_path: Path) -> None:
    import numpy as np

    from livek12.core.scoring.bank import BankItem, make_bank

    task = "livek12_text_only_en"
    ids = [document.id for document in open_task(task, str(data)).documents]
    items = [BankItem(id=id, area="all", slope=1, level=0, answers=0) for id in ids]
    right = np.arange(len(ids)) < np.arange(1, 8)[:, None] * len(ids) / 8
    bank = make_bank(task, [f"m{n}" for n in range(7)], items, right.astype(float))
    (tmp_path / "bank.json").write_text(bank.model_dump_json())
    exam = exam_task(task, str(data), bank=str(tmp_path / "bank.json"), until="n=3")
    assert [sample.id for sample in exam.dataset][: len(bank.anchors)] == bank.anchors
    (log,) = inspect_eval(exam, model="livek12_recorder/any", max_samples=1, log_dir=str(tmp_path), display="none")
    assert log.status == "success" and log.results is not None and log.results.early_stopping is not None
    asked = {sample.id for sample in log.samples or []}
    assert asked == {*bank.anchors[:3]} and len(log.results.early_stopping.early_stops) == len(ids) - 3
    metrics = log.results.scores[0].metrics
    assert metrics["asked"].value == 3 and 0 <= metrics["predicted_mark"].value <= 100
    assert "accuracy" not in metrics, "the mean over chosen questions is no mark"
    with pytest.raises(Exception, match="needs both"):
        exam_task(task, str(data), bank=str(tmp_path / "bank.json"))
