"""The plug-in for lmms-eval, run by its own command line: what reaches a model, what is marked, what it logs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from livek12.core.errors import UserError
from livek12.evaluation import logs
from livek12.tasks.plugins import lmms_eval as plugin
from livek12.tasks.plugins.harness_task import Document, harness_name, open_task, task_name
from livek12.tasks.registry import all_tasks
from tests.plugins.conftest import Row, needs, parity_rows, planted_answers, write_rows
from tests.scripts.command import ROOT, Ended, livek12_here

pytestmark = pytest.mark.slow

needs("lmms_eval")

imported = partial(logs.joined, "lmms-eval")
EXAMS = {
    "cfe_text": "cfe_data",
    "cfe_multimodal": "cfe_data",
    "livek12_text_image": "gaokao_mm_data",
    "livek12_image_only": "sample_data",
    "kmmmu": "sample_data",
    "livek12": "odd_data",
}
LIMIT, TRIALS = 6, 2
SIMPLE = 4
"""How many questions the simple model is asked: it differs from the chat model in where pictures stand."""
LOST = "[LMMS_EVAL_REQUEST_FAILED after 5 retries] Connection error."


def lmms_eval(*args: object, module: str = "lmms_eval", cwd: Path = ROOT, **environment: str) -> Ended:
    """lmms-eval's command line to its end, without a network."""
    done = subprocess.run(
        [sys.executable, "-m", module, *map(str, args)],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        cwd=cwd,
        env={**os.environ, "HF_HUB_OFFLINE": "1", **environment},
    )
    return Ended(done.returncode, done.stdout, done.stderr)


@dataclass(frozen=True)
class Sitting:
    """A run of lmms-eval with the recording model, and what is left of it."""

    folder: Path
    places: dict[str, str]

    @property
    def seen(self) -> list[dict[str, Any]]:
        """What reached the model, request by request."""
        return [json.loads(line) for line in (self.folder / "seen.jsonl").read_text(encoding="utf-8").splitlines()]

    @property
    def results(self) -> dict[str, dict[str, Any]]:
        """The results of each task."""
        (file,) = self.folder.rglob("*_results.json")
        found: dict[str, dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["results"]
        return found

    def documents(self, task: str) -> list[Document]:
        """Those that were asked."""
        return open_task(task, self.places[task]).documents[:LIMIT]


def arguments(folder: Path, include: Path, places: dict[str, str], trials: int, limit: int = LIMIT) -> list[object]:
    """What puts recorded answers to all of the tasks, each from its own data set, before the recording model."""
    folder.mkdir()
    answers = {task: answers_to(open_task(task, data).documents[:limit], trials) for task, data in places.items()}
    rows = [{**row, "task": harness_name(task)} for task, of in answers.items() for row in of]
    file = write_rows(folder / "answers.jsonl", rows)
    return [
        "--model", "recorder", "--model_args", f"answers={file},seen={folder}/seen.jsonl", "--include_path", include,
        "--tasks", ",".join(map(harness_name, places)), "--limit", limit, "--repeats", trials, "--log_samples",
        "--output_path", folder / "out",
    ]  # fmt: skip


def answers_to(documents: list[Document], trials: int) -> list[dict[str, Any]]:
    """Planted answers, among them one that lmms-eval never got."""
    rows = planted_answers(documents, trials)
    rows[len(rows) // 2]["response"] = LOST
    return rows


@dataclass(frozen=True)
class Sittings:
    """Three runs in one process: of a chat model, of a simple one, and one whose data set has moved."""

    chat: Sitting
    simple: Sitting
    moved: Path
    ended: Ended


@pytest.fixture(scope="module")
def sittings(
    cfe_data: str, gaokao_mm_data: str, sample_data: str, odd_data: str, tmp_path_factory: pytest.TempPathFactory
) -> Sittings:
    """The chat model is asked everything twice, the simple one once."""
    folder = tmp_path_factory.mktemp("lmms-eval")
    (include := folder / "tasks").mkdir()
    data = {"cfe_data": cfe_data, "gaokao_mm_data": gaokao_mm_data, "sample_data": sample_data, "odd_data": odd_data}
    guides = {name: Path(plugin.guide(place, folder / name).path) for name, place in data.items()}
    for task, name in EXAMS.items():
        shutil.copy(guides[name] / f"{harness_name(task)}.yaml", include)
    places = {task: data[name] for task, name in EXAMS.items()}
    chat, simple = Sitting(folder / "chat", places), Sitting(folder / "simple", places)
    moved = folder / "moved"
    shutil.copytree(sample_data, moved)
    plugin.guide(str(moved), folder / "tasks-moved")
    last = arguments(folder / "last", folder / "tasks-moved", {"kmmmu": str(moved)}, 1)
    moved.rename(folder / "elsewhere")
    ended = lmms_eval(
        *arguments(chat.folder, include, places, TRIALS), "--",
        *arguments(simple.folder, include, places, 1, SIMPLE), "--force_simple", "--",
        *last, module="tests.plugins.lmms_recorder",
    )  # fmt: skip
    assert list(simple.folder.rglob("*_results.json")), ended.out[-3000:] + ended.err[-3000:]
    return Sittings(chat, simple, moved, ended)


@pytest.fixture(scope="module")
def chat(sittings: Sittings) -> Sitting:
    """The chat model's."""
    return sittings.chat


@pytest.fixture(scope="module")
def simple(sittings: Sittings) -> Sitting:
    """The simple model's."""
    return sittings.simple


@pytest.mark.parametrize("task", EXAMS)
def test_what_reaches_a_chat_model_is_our_request(task: str, chat: Sitting) -> None:
    sampling = all_tasks()[task].sampling
    seen = [entry for entry in chat.seen if entry["task"] == harness_name(task)]
    expected = [(one.id, parity_rows(one.request)) for one in chat.documents(task) for _ in range(TRIALS)]
    assert [(entry["question_id"], [tuple(row) for row in entry["rows"]]) for entry in seen] == expected
    asked = {"max_new_tokens": sampling.max_tokens, "until": [], "do_sample": False}
    assert all(entry["asked"] == asked for entry in seen)


@pytest.mark.parametrize("task", EXAMS)
@pytest.mark.release
def test_what_reaches_a_simple_model_is_our_request_with_marks(task: str, simple: Sitting) -> None:
    seen = [entry for entry in simple.seen if entry["task"] == harness_name(task)]
    expected = [(one.id, marked(parity_rows(one.request))) for one in simple.documents(task)[:SIMPLE]]
    assert [(entry["question_id"], [tuple(row) for row in entry["rows"]]) for entry in seen] == expected


def marked(rows: list[Row]) -> list[Row]:
    """The texts with a mark for each picture, then the pictures."""
    text = "".join("<image>" if kind == "image" else said for _, kind, said in rows)
    return [("user", "text", text), *(row for row in rows if row[1] == "image")]


@pytest.mark.parametrize("task", EXAMS)
def test_marks_and_imported_log_equal_a_native_run(task: str, chat: Sitting, tmp_path: Path) -> None:
    common = ("--task", task, "--data", chat.places[task], "--limit", LIMIT)
    given = [row for row in answers_to(chat.documents(task), TRIALS) if row["response"] != LOST]
    native = report_of(tmp_path / "native", write_rows(tmp_path / "rows.jsonl", given), "--from", "jsonl", *common)
    theirs = report_of(tmp_path / "theirs", chat.folder / "out", "--from", "lmms-eval", *common)
    assert theirs["tasks"] == native["tasks"]
    assert verdicts(tmp_path / "theirs") == verdicts(tmp_path / "native")

    ours, metrics = native["tasks"][task], chat.results[harness_name(task)]
    assert ours["counts"]["failed"] == 1
    assert metrics["questions,all"] == ours["counts"]["questions"]
    reported = ours["metrics"]
    assert metrics["accuracy,all"] == pytest.approx(reported["accuracy"]["low"])
    assert metrics["accuracy_high,all"] == pytest.approx(reported["accuracy"]["high"])
    assert metrics["score,all"] == pytest.approx(reported["mark"]["low"])
    assert metrics["score_high,all"] == pytest.approx(reported["mark"]["high"])
    counts = ours["counts"]
    asked = counts["questions"] * TRIALS
    assert metrics["ungraded,all"] == pytest.approx((counts["ungraded"] + counts["failed"]) / asked)
    assert metrics["no_answer,all"] == pytest.approx(counts["no_answer"] / asked)
    assert 0 < metrics["accuracy,all"] < metrics["accuracy_high,all"] < 1


def report_of(run: Path, *arguments: object) -> dict[str, Any]:
    """The report of a run folder made by `livek12 import-responses`."""
    ended = livek12_here("import-responses", *arguments, "--out", run)
    assert ended.code in (0, 1), ended.err
    report: dict[str, Any] = json.loads((run / "report.json").read_text(encoding="utf-8"))
    return report


def verdicts(run: Path) -> list[Any]:
    """All verdicts of a run, in an order of their own."""
    lines = [json.loads(line) for file in run.glob("verdicts-*.jsonl") for line in file.read_text().splitlines()]
    kept = [{key: row[key] for key in ("key", "state", "parts", "low", "high", "max_points")} for row in lines]
    return sorted(kept, key=lambda row: json.dumps(row["key"]))


def test_logs_hold_no_picture(chat: Sitting) -> None:
    for file in chat.folder.rglob("*_samples_*.jsonl"):
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"base64|[A-Za-z0-9+/]{400}", text)


@pytest.mark.release
def test_its_command_line_runs_the_sample(sample_data: str, tiny_qwen25_vl: Path, tmp_path: Path) -> None:
    needs("decord", "qwen_vl_utils")
    # Beside a CPU build of torch the index's torchvision needs mending before anything imports it.
    (tmp_path / "sitecustomize.py").write_text(
        "from livek12.engines.torch_builds import mend_torch_builds\nmend_torch_builds()\n"
    )
    ended = livek12_here("plugins", "lmms-eval", "--data", sample_data, "--out", tmp_path / "tasks")
    tasks = ["livek12_image_only", "livek12_kmmmu", "livek12_cfe_text"]
    run = lmms_eval(
        "--model", "qwen2_5_vl", "--model_args", f"pretrained={tiny_qwen25_vl},device_map=cpu", "--device", "cpu",
        "--include_path", ended.out.strip(), "--tasks", ",".join(tasks), "--limit", 2,
        "--gen_kwargs", "max_new_tokens=8", "--log_samples", "--output_path", tmp_path / "out",
        PYTHONPATH=os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]),
    )  # fmt: skip
    files = list((tmp_path / "out").rglob("*_results.json"))
    assert files, run.out[-3000:] + run.err[-3000:]
    results = json.loads(files[0].read_text(encoding="utf-8"))["results"]
    assert {task: results[task]["questions,all"] for task in tasks} == dict.fromkeys(tasks, 2)
    rows = list(imported(tmp_path / "out", ["livek12_image_only", "kmmmu", "cfe_text"]))
    assert len(rows) == 6 and {row["model"] for row in rows} == {str(tiny_qwen25_vl)}
    assert all(0 < row["completion_tokens"] <= 8 for row in rows)


def test_no_built_in_has_our_names(tmp_path: Path, sample_data: Path) -> None:
    """Asked of its files, for a built-in wins over an external task of the same name."""
    import importlib.util

    found = importlib.util.find_spec("lmms_eval")
    assert found and found.submodule_search_locations
    room = Path(found.submodule_search_locations[0]) / "tasks"
    named = re.compile(r"^(?:task|group|tag)\s*:\s*[\"']?([\w.\-]+)|^\s*-\s*[\"']?([\w.\-]+)", re.MULTILINE)
    texts = [file.read_text(encoding="utf-8") for file in room.rglob("*.yaml")]
    built_in = {match[1] or match[2] for text in texts for match in named.finditer(text)}
    assert len(built_in) > 1000
    folders = [plugin.guide("", tmp_path / "all").path, plugin.guide(str(sample_data), tmp_path / "sample").path]
    written = [yaml.load(file.read_text(), Loader=_Loader) for of in folders for file in Path(of).glob("*.yaml")]
    ours = {one.get("group") or one["task"] for one in written} | {tag for one in written for tag in one.get("tag", [])}
    asked_once = {harness_name(name) for name, task in all_tasks().items() if not task.first_style and not task.joined}
    assert ours >= asked_once | {"livek12_suite_text", "livek12_suite_kmmmu_figures"}
    assert not ours & built_in
    assert {task_name(harness_name(task)) for task in all_tasks()} == set(all_tasks())


class _Loader(yaml.SafeLoader):
    """Reads `!function` as the name it holds."""


_Loader.add_constructor("!function", lambda loader, node: node.value)


@pytest.mark.parametrize(
    ("stub", "says"),
    [
        ({"task": "kmmmu", "data": ""}, "livek12: no data set: set LIVEK12_DATA to a folder"),
        ({"task": "kmmmu", "data": "{cfe}"}, "livek12: {cfe}"),
        ({"task": "kmmmu", "data": "{cfe}-gone"}, "livek12: {cfe}-gone"),
        ({"task": "kmmmuu", "data": "{cfe}"}, "livek12: unknown task 'kmmmuu'"),
    ],
)
def test_a_mistake_of_the_user_ends_the_run(
    stub: dict[str, str], says: str, cfe_data: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LIVEK12_DATA", raising=False)
    with pytest.raises(SystemExit) as ended:
        plugin.process_docs([{name: value.replace("{cfe}", cfe_data) for name, value in stub.items()}])
    said = str(ended.value.code)
    assert said.startswith(says.replace("{cfe}", cfe_data)) and "\n" not in said


def test_a_moved_data_set_ends_its_command_line_with_one_line(sittings: Sittings) -> None:
    assert sittings.ended.code == 1
    assert "Traceback" not in sittings.ended.err
    assert sittings.ended.err.strip().splitlines()[-1].startswith(f"livek12: {sittings.moved}")


def test_an_old_version_is_said(sample_data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda name: "0.6.1")
    ended = livek12_here("plugins", "lmms-eval", "--data", sample_data, "--out", tmp_path / "made")
    assert ended.code == 0
    assert re.search(r"lmms_eval 0\.6\.1 is too old.*0\.7 or newer; pip install", ended.err)


def entry(**fields: Any) -> dict[str, Any]:
    """An entry of its log of samples."""
    return {"doc_id": 0, "questions": "q1", "filtered_resps": ["A"], "token_counts": [None], **fields}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, [(0, "A", None)]),
        ({"filtered_resps": "A"}, [(0, "A", None)]),
        ({"filtered_resps": ["A", "B"], "token_counts": [{"output_tokens": 7}]}, [(0, "A", 7), (1, "B", None)]),
        ({"resps": [" A"], "filtered_resps": ["A"]}, [(0, " A", None)]),
        ({"token_counts": [{"output_tokens": 0}]}, [(0, "A", None)]),
        ({"filtered_resps": [""], "token_counts": [{"output_tokens": 0}]}, [(0, "", 0)]),
        ({"filtered_resps": [LOST, "B"]}, [(1, "B", None)]),
        ({"filtered_resps": ["B", "[LMMS_EVAL_BUDGET_EXCEEDED]"]}, [(0, "B", None)]),
    ],
)
def test_an_entry_of_its_log(fields: dict[str, Any], expected: list[Any], tmp_path: Path) -> None:
    file = write_rows(tmp_path / "20260101_000000_samples_livek12_kmmmu.jsonl", [entry(**fields)])
    (tmp_path / "20260101_000000_results.json").write_text('{"model_name": "org/model"}')
    rows = list(imported(file, ["kmmmu"]))
    assert [(row["trial"], row["response"], row.get("completion_tokens")) for row in rows] == expected
    assert {(row["task"], row["question_id"], row["model"]) for row in rows} == {("kmmmu", "q1", "org/model")}


@pytest.mark.parametrize(
    "damaged",
    [
        "{",
        "[]",
        "[" * 100_000,
        json.dumps(entry(questions=None)),
        json.dumps(entry(filtered_resps=None)),
        json.dumps(entry(filtered_resps=[["A"]])),
    ],
)
def test_a_damaged_entry_costs_a_warning(damaged: str, tmp_path: Path, warnings: Callable[[], list[str]]) -> None:
    file = write_rows(tmp_path / "1_samples_livek12_kmmmu.jsonl", [entry()])
    file.write_text(damaged + "\n" + file.read_text())
    assert [row["question_id"] for row in imported(tmp_path, ["kmmmu"])] == ["q1"]
    (warning,) = warnings()
    assert warning.startswith(f"{file}:1: ") and warning.endswith("; passed over")


@pytest.mark.parametrize(
    ("name", "rows", "says"),
    [
        ("1_samples_livek12_kmmmu.jsonl", [entry()], "no samples of cfe_text (tasks in it: kmmmu)"),
        ("other.jsonl", [entry()], "holds no *_samples_*.jsonl"),
        (
            "1_samples_livek12_cfe_text.jsonl",
            [entry(questions=None)],
            "no entry is an answer to a question of cfe_text",
        ),
    ],
)
def test_a_log_of_something_else(name: str, rows: list[dict[str, Any]], says: str, tmp_path: Path) -> None:
    write_rows(tmp_path / name, rows)
    with pytest.raises(UserError, match=re.escape(says)):
        list(imported(tmp_path, ["cfe_text"]))
    with pytest.raises(UserError, match="no such file"):
        list(imported(tmp_path / "absent", ["cfe_text"]))


def test_two_answers_to_one_question_are_refused_and_the_same_twice_is_not(tmp_path: Path) -> None:
    line = {"questions": "a", "filtered_resps": ["1"]}
    for date in (1, 2):
        write_rows(tmp_path / f"{date}_samples_livek12_cfe_text.jsonl", [line])
    assert {row["response"] for row in imported(tmp_path, ["cfe_text"])} == {"1"}
    write_rows(tmp_path / "2_samples_livek12_cfe_text.jsonl", [{**line, "filtered_resps": ["2"]}])
    with pytest.raises(UserError, match=r"question a of cfe_text .* in .*1_samples.*, otherwise, in .*2_s"):
        list(imported(tmp_path, ["cfe_text"]))
