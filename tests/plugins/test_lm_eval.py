"""lm-evaluation-harness through its own code: what reaches the model, the marks, its logs, and its command line."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from livek12.core.errors import UserError
from livek12.core.run.folder import RunFolder
from livek12.engines.torch_builds import mend_torch_builds
from livek12.evaluation import logs
from livek12.evaluation.logs import READERS, as_jsonl
from livek12.tasks.plugins import lm_eval, lm_eval_calls
from livek12.tasks.plugins.harness_task import METRICS, harness_name, open_task
from tests.plugins.conftest import native_sheets, needs, parity_rows, planted_answers, planted_sheets, write_rows
from tests.scripts.command import livek12_here

needs("lm_eval", "torch", "transformers", "torchvision")  # lm-eval's own class for pictures imports them

pytestmark = pytest.mark.slow

rows = partial(logs.joined, "lm-eval")
FIRST = 25
STATED = {"accuracy": ("accuracy", "low"), "accuracy_high": ("accuracy", "high")}
STATED |= {"score": ("mark", "low"), "score_high": ("mark", "high")}


@pytest.fixture(scope="module")
def sitting() -> ModuleType:
    """What sits the tasks, imported late: torch and the harness would cost every process that collects tests."""
    mend_torch_builds()
    from tests.plugins import lm_eval_sitting

    return lm_eval_sitting


def test_text_reaches_the_model_as_ours(cfe_data: str, tmp_path: Path, sitting: ModuleType) -> None:
    exam = open_task("cfe_text", cfe_data)
    _, model, _ = sitting.sat(cfe_data, tmp_path / "cfe", "livek12_cfe_text", {}, FIRST)
    assert model.given == {document.id: parity_rows(document.request) for document in exam.documents[:FIRST]}
    budget = exam.task.sampling.max_tokens
    said = {"until": [], "max_gen_toks": budget, "do_sample": False}
    assert [json.loads(text) for text in model.budgets] == [said]


@pytest.mark.parametrize("name", ["livek12_text_only_zh", "livek12_image_only", "livek12_kmmmu", "livek12_text_image"])
def test_the_sample_reaches_the_model_as_ours(sample_data: str, tmp_path: Path, name: str, sitting: ModuleType) -> None:
    exam = open_task(name, sample_data)
    _, model, _ = sitting.sat(sample_data, tmp_path / "sample", name, {}, FIRST)
    assert model.given == {document.id: parity_rows(document.request) for document in exam.documents[:FIRST]}
    assert any(kind == "image" for given in model.given.values() for _, kind, _ in given) != ("text_only" in name)


def test_a_sheet_is_our_request_and_gets_our_marks(sample_data: str, tmp_path: Path, sitting: ModuleType) -> None:
    task = "livek12_text_only_en@paper"
    documents = open_task(task, sample_data, sheets=True).documents
    rows = planted_sheets(documents)
    said = {(row["question_id"], 0): row["response"] for row in rows}
    theirs, model, _ = sitting.sat(sample_data, tmp_path / "yaml", harness_name(task), said)
    assert model.given == {document.id: parity_rows(document.request) for document in documents}
    native = native_sheets(task, sample_data, rows, tmp_path)
    for metric, (stated, end) in STATED.items():
        assert theirs[f"{metric},all"] == pytest.approx(native["metrics"][stated][end]), metric
    assert 0 < theirs["no_answer,all"] == pytest.approx(native["counts"]["no_answer"] / native["counts"]["answers"])


@pytest.mark.parametrize("name", ["livek12_text_only", "livek12_text_image"])
def test_odd_texts_and_pictures_reach_the_model_as_ours(
    odd_data: str, tmp_path: Path, name: str, sitting: ModuleType
) -> None:
    exam = open_task(name, odd_data)
    _, model, _ = sitting.sat(odd_data, tmp_path / "odd", name, {})
    assert model.given == {document.id: parity_rows(document.request) for document in exam.documents}


def test_figures_reach_the_model_as_ours(gaokao_mm_data: str, tmp_path: Path, sitting: ModuleType) -> None:
    exam = open_task("livek12_text_image", gaokao_mm_data)
    _, model, _ = sitting.sat(gaokao_mm_data, tmp_path / "gaokao", "livek12_text_image", {}, FIRST)
    assert model.given == {document.id: parity_rows(document.request) for document in exam.documents[:FIRST]}
    assert sum(kind == "image" for given in model.given.values() for _, kind, _ in given) >= FIRST


@pytest.mark.parametrize(("name", "repeats"), [("livek12", 1), ("livek12_text_only", 3), ("livek12_cfe_text", 2)])
def test_marks_and_imported_logs_equal_our_own(
    sample_data: str, tmp_path: Path, name: str, repeats: int, sitting: ModuleType
) -> None:
    """The same answers by way of lm-eval, of its own log, and of a plain file: one set of marks."""
    exam = open_task(name, sample_data)
    plain = planted_answers(exam.documents, repeats)
    said = {(row["question_id"], row["trial"]): row["response"] for row in plain}
    theirs, _, out = sitting.sat(sample_data, tmp_path / "yaml", name, said, repeats=repeats)
    answers = write_rows(tmp_path / "answers.jsonl", plain)
    own = _imported(answers, "jsonl", exam.task.name, sample_data, tmp_path / "own")
    back = _imported(out, "lm-eval", exam.task.name, sample_data, tmp_path / "back")
    assert back["metrics"] == own["metrics"]
    assert back["counts"] == own["counts"]
    for metric, (stated, end) in STATED.items():
        assert theirs[f"{metric},all"] == pytest.approx(own["metrics"][stated][end]), metric
    for state in ("ungraded", "no_answer"):
        assert theirs[f"{state},all"] == pytest.approx(own["counts"][state] / own["counts"]["answers"]), state
        assert own["counts"][state] > 0, "the planted answers no longer have all ends"
    assert 0 < theirs["accuracy,all"] < theirs["accuracy_high,all"] < 1
    assert {metric for metric in METRICS if f"{metric},all" not in theirs} == set()


def test_real_answers_get_the_same_marks(shared_data: Path, tmp_path: Path, sitting: ModuleType) -> None:
    paper = shared_data / "gaokao2026_math"
    source = paper / "reviewed" / "2026-national-i-math.jsonl"
    data = str(tmp_path / "data")
    assert livek12_here("build", "livek12", "--source", source, "--out", data).code == 0
    recorded = sorted((paper / "responses").glob("*.jsonl"))[0]
    own = _imported(recorded, "jsonl", "livek12_text_only", data, tmp_path / "own")
    rows = RunFolder.open(tmp_path / "own").rows()
    said = {(row.question.id, 0): row.response.text for row in rows if row.response}
    theirs, _, _ = sitting.sat(data, tmp_path / "yaml", "livek12_text_only", said)
    assert theirs["sample_len"] == own["counts"]["questions"] == 19
    for metric, (stated, end) in STATED.items():
        assert theirs[f"{metric},all"] == pytest.approx(own["metrics"][stated][end]), metric


def _imported(log: Path, source: str, task: str, data: str, out: Path) -> dict[str, Any]:
    how = ("--from", source, "--task", task, "--data", data, "--out", out)
    ended = livek12_here("import-responses", log, *how)
    assert ended.code in (0, 1), ended.err
    report: dict[str, Any] = json.loads((out / "report.json").read_text())["tasks"][task]
    return report


def test_logs_hold_no_pictures(sample_data: str, tmp_path: Path, sitting: ModuleType) -> None:
    exam = open_task("livek12_image_only", sample_data)
    _, _, out = sitting.sat(sample_data, tmp_path / "yaml", "livek12_image_only", {}, 4)
    (log,) = out.rglob("samples_*.jsonl")
    samples = [json.loads(line) for line in log.read_text().splitlines()]
    assert [sample["doc"]["id"] for sample in samples] == [document.id for document in exam.documents[:4]]
    assert max(map(len, log.read_text().splitlines())) < 20_000
    for sample, document in zip(samples, exam.documents, strict=False):
        assert sample["arguments"]["gen_args_0"]["arg_2"]["visual"].split()[1:] == [
            image.sha256 for image in document.images
        ]


def test_a_model_that_was_shown_no_pictures_gets_no_marks(sample_data: str) -> None:
    docs = lm_eval_calls.dataset("kmmmu", sample_data, "with_pictures")["test"]
    blind, seeing = docs[0], docs[1]
    lm_eval_calls._shown.clear()
    with pytest.raises(UserError, match=f"0 of 1 pictures of question {blind['id']} were taken"):
        lm_eval_calls.results(blind, [["①"]])
    assert [picture.mode for picture in lm_eval_calls.pictures(seeing)] == ["RGB"]
    assert set(lm_eval_calls.results(seeing, [["①"]])) == set(METRICS)


def test_a_model_that_took_some_of_the_pictures_gets_no_marks(sample_data: str) -> None:
    docs = lm_eval_calls.dataset("livek12_image_only", sample_data)["test"]
    doc = next(doc for doc in docs if len(doc["pictures"]) > 1)
    lm_eval_calls._shown.clear()
    list(lm_eval_calls.pictures(doc)[:1])
    with pytest.raises(UserError, match=f"1 of {len(doc['pictures'])} pictures of question {doc['id']} were taken"):
        lm_eval_calls.results(doc, [["x"]])


def test_the_two_parts_of_a_task_are_the_task(sample_data: str) -> None:
    whole, *parts = (
        lm_eval_calls.dataset("kmmmu", sample_data, part)["test"]  # type: ignore[arg-type]
        for part in ("", "with_pictures", "without_pictures")
    )
    assert sorted(whole["id"]) == sorted([*parts[0]["id"], *parts[1]["id"]])
    assert all(len(row["pictures"]) > 0 for row in parts[0])
    assert all(len(row["pictures"]) == 0 for row in parts[1])


def test_groups_mix_no_kinds_and_share_no_questions(sample_data: str, tmp_path: Path, sitting: ModuleType) -> None:
    lm_eval.guide(sample_data, tmp_path)
    files = {file.stem: yaml.load(file.read_text(), sitting.Plain) for file in tmp_path.glob("*.yaml")}
    groups = {name: content for name, content in files.items() if "group" in content}
    assert {f"livek12_suite_{name}" for name in ("text", "pictures", "livek12_text", "kmmmu_figures")} <= set(groups)
    for content in groups.values():
        members = [files[name] for name in content["task"]]
        if "aggregate_metric_list" not in content:
            continue
        assert len({"doc_to_image" in member for member in members}) == 1
        ids = [id for member in members for id in lm_eval_calls.dataset(**member["dataset_kwargs"])["test"]["id"]]
        assert len(ids) == len(set(ids))


def test_yaml_of_another_data_set_goes_and_a_users_own_stays(sample_data: str, cfe_data: str, tmp_path: Path) -> None:
    lm_eval.guide(sample_data, tmp_path)
    (tmp_path / "livek12_mine.yaml").write_text("task: livek12_mine\n")
    before = {file.name for file in tmp_path.iterdir()}
    lm_eval.guide(cfe_data, tmp_path)
    after = {file.name for file in tmp_path.iterdir()}
    assert {"livek12_mine.yaml", "livek12_cfe_text.yaml", "livek12_suite_cfe_text.yaml"} <= after < before


def sample_line(id: str, *said: str, task: str = "cfe_text") -> str:
    return json.dumps({"doc": {"task": task, "id": id}, "resps": [list(said)], "filter": "all"}) + "\n"


def test_damaged_lines_cost_a_warning_each(tmp_path: Path, warnings: Callable[[], list[str]]) -> None:
    log = tmp_path / "samples_livek12_cfe_text_2026.jsonl"
    bad = ["{\n", '{"doc": 3}\n', '{"doc": {"task": "cfe_text", "id": "x"}, "resps": [[1]]}\n', "[" * 100_000 + "\n"]
    log.write_text(sample_line("a", "1", "2") + "".join(bad) + sample_line("b", "3") + sample_line("b", "3") + '{"doc"')
    found = [(row["question_id"], row["trial"], row["response"]) for row in rows(tmp_path, {"cfe_text"})]
    assert found == [("a", 0, "1"), ("a", 1, "2"), ("b", 0, "3")]
    assert [line.split(": ")[0] for line in warnings()] == [f"{log}:{n}" for n in (2, 3, 4, 5, 8)]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, r"holds no samples_\*\.jsonl; call lm_eval with --log_samples"),
        ({"samples_a.jsonl": sample_line("a", "1", task="kmmmu")}, "no samples of cfe_text"),
        (
            {f"samples_{n}.jsonl": sample_line("a", "1") for n in (1, 2)},
            r"question a of cfe_text is answered in .* and ",
        ),
    ],
)
def test_a_log_that_cannot_be_taken_is_one_line(tmp_path: Path, files: dict[str, str], message: str) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=message):
        list(rows(tmp_path, {"cfe_text"}))


@pytest.mark.parametrize("harness", [name for name in READERS if name != "jsonl"])
def test_a_log_that_is_not_there_is_said_so(harness: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"none: no such file or folder; give what {harness} wrote"):
        as_jsonl(tmp_path / "none", harness, {"cfe_text"}, tmp_path / "run")


def test_a_packed_log_is_one_line(tmp_path: Path) -> None:
    packed = tmp_path / "samples_livek12_cfe_text_1.jsonl.gz"
    packed.write_bytes(gzip.compress(sample_line("a", "1").encode()))
    with pytest.raises(UserError, match=r"not a log of samples; give samples_\*\.jsonl, unpacked"):
        list(rows(packed, {"cfe_text"}))


def lm_eval_command(*args: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """The `lm_eval` command in a process of its own."""
    command = [sys.executable, "-m", "lm_eval", *args]
    variables = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", **environment}
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, cwd=cwd, env=variables)


@pytest.mark.release
def test_its_own_command_line_with_a_genuine_model(sample_data: str, served: str, tmp_path: Path) -> None:
    ended = livek12_here("plugins", "lm-eval", "--data", sample_data)
    model = f"model=SmolLM2-135M-Instruct,base_url={served}/chat/completions,num_concurrent=2"
    how = ("--tasks", "livek12_suite_cfe_text", "--include_path", ended.out.strip(), "--apply_chat_template")
    told = ("--gen_kwargs", "max_gen_toks=24", "--log_samples", "--output_path", "out")
    run = lm_eval_command("--model", "local-chat-completions", "--model_args", model, *how, *told, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    (results,) = tmp_path.glob("out/*/results_*.json")
    read = json.loads(results.read_text())
    assert read["results"]["livek12_cfe_text"]["sample_len"] == 4
    assert read["versions"]["livek12_cfe_text"] == open_task("cfe_text", sample_data).task.version
    back = _imported(tmp_path / "out", "lm-eval", "cfe_text", sample_data, tmp_path / "run")
    for metric, (stated, end) in STATED.items():
        assert read["results"]["livek12_cfe_text"][f"{metric},all"] == pytest.approx(back["metrics"][stated][end])
    assert [row["model"] for row in rows(tmp_path / "out", {"cfe_text"})] == ["SmolLM2-135M-Instruct"] * 4


def moved(data: str, folder: Path) -> tuple[Path, str]:
    """The tasks of a data set that is no longer where they say, and the line that says so."""
    (folder / "moved").symlink_to(data)
    tasks = folder / "yaml"
    lm_eval.guide(str(folder / "moved"), tasks)
    for file in tasks.glob("*.yaml"):
        file.write_text(file.read_text().replace(str(Path(data).resolve()), str(folder / "gone")))
    return tasks, f"error: {folder / 'gone'}: no such folder; build a data set with `livek12 build`"


def test_a_data_set_that_was_moved_ends_it_with_one_line(
    sample_data: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    sitting: ModuleType,
) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    tasks, line = moved(sample_data, tmp_path)
    manager = sitting.TaskManager(include_path=str(tasks), include_defaults=False)
    with pytest.raises(UserError) as error:
        sitting.simple_evaluate(
            model=sitting.Recorder({}), tasks=["livek12_cfe_text"], task_manager=manager, bootstrap_iters=0
        )
    capsys.readouterr()
    sys.excepthook(error.type, error.value, error.tb)  # as Python does at the end of its command
    assert capsys.readouterr().err == f"{line}\n"


@pytest.mark.release
def test_a_data_set_that_was_moved_is_one_line_of_its_command(sample_data: str, tmp_path: Path) -> None:
    tasks, line = moved(sample_data, tmp_path)
    how = ("--tasks", "livek12_cfe_text", "--include_path", str(tasks))
    run = lm_eval_command("--model", "dummy", *how, cwd=tmp_path)
    assert run.returncode == 1
    assert "Traceback" not in run.stderr
    assert run.stderr.splitlines()[-1] == line
