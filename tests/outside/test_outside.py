"""A benchmark that no file of livek12 names, through every command that takes tasks or benchmarks."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from livek12.core import benchmarks
from livek12.core.errors import UserError
from livek12.core.questions import load_questions, read_card
from livek12.core.records import IMAGE_MARK, Question
from livek12.dataset_builders import build
from livek12.dataset_builders.reading import making
from livek12.tasks.registry import all_tasks, families, get_task
from tests.conftest import ROOT
from tests.endpoint import oracle_at
from tests.outside.conftest import HIPHO, SOURCE
from tests.plugins.conftest import needs
from tests.scripts.command import Ended, livek12, livek12_here

REPLAY = ("--task", "hipho", "--engine", "replay", "--model")


def hipho(*args: object) -> Ended:
    ended = livek12_here(*args, "--include", HIPHO)
    assert ended.code == 0, ended.err
    return ended


def test_rows_become_questions(hipho_data: Path) -> None:
    found = {question.id: question for question in load_questions(hipho_data, ["default"], "hipho")}
    assert len(found) == 36
    choice, several = found["PanMechanics_2024_1"], found["EuPhO_2024_1_1"]
    assert (choice.question_type, choice.answer, choice.points) == ("single_choice", ["E"], 2.0)
    assert [option.label for option in choice.options] == list("ABCDE")
    assert choice.question.count(IMAGE_MARK) == len(choice.images) == 1
    assert choice.question.startswith("若有需要，取重力加速度"), "what a paper gives to all of its problems"
    assert (several.part_points, several.language) == ([4.0, 4.0], "en")
    assert several.solution is not None and several.solution.startswith("- Award 0.3 pt")
    assert found["EuPhO_2024_3_1"].question_type == "open_ended"
    assert all(question.source.licence == "MIT" for question in found.values())


def test_the_data_set_is_sound(hipho_data: Path) -> None:
    assert "no problems" in hipho("validate", hipho_data).out
    assert read_card(hipho_data)["text_only"].keys() == {"en_2024", "zh_2024"}
    card = (hipho_data / "README.md").read_text()
    assert "# hipho: physics olympiads" in card
    assert "2509.07894" in card
    assert "| `benchmark` | string | hipho |" in card
    unknown = livek12_here_without("validate", hipho_data)
    assert unknown.code == 1
    assert "unknown benchmark 'hipho'" in unknown.out + unknown.err


def livek12_here_without(*args: object) -> Ended:
    """The command where nothing is included."""
    os.environ.pop(benchmarks.VARIABLE, None)
    return livek12_here(*args)


def test_tasks_are_listed_and_counted(hipho_data: Path) -> None:
    assert "HiPhO, physics olympiads: 36 questions" in hipho("tasks", "--data", hipho_data).out
    named = {task["name"]: task for task in json.loads(hipho("tasks", "--json").out)}
    assert set(named["hipho"]["prompts"]) == {"en", "zh"}
    assert next(iter(named)) == "livek12"
    assert get_task("hipho_text_only_zh").modality == "text_only"
    os.environ.pop(benchmarks.VARIABLE)
    assert "hipho" not in all_tasks()
    assert all(family.base.benchmark != "hipho" for family in families())


def test_run_judge_score_and_report(hipho_data: Path, hipho_answers: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    hipho("generate", *REPLAY, hipho_answers, "--data", hipho_data, "--out", run)
    assert "unknown task 'hipho'" in livek12_here_without("judge", run).err
    hipho("judge", run)
    hipho("score", run)
    hipho("report", run)
    report = json.loads((run / "report.json").read_text())
    assert report["tasks"]["hipho"]["counts"]["questions"] == 36
    hipho("run", *REPLAY, hipho_answers, "--data", hipho_data, "--out", run)
    again = tmp_path / "again"
    hipho("import-responses", hipho_answers, "--task", "hipho", "--data", hipho_data, "--out", again)
    assert json.loads((again / "report.json").read_text())["tasks"] == report["tasks"]


def test_an_endpoint_answers(hipho_data: Path, tmp_path: Path) -> None:
    with oracle_at(tmp_path / "log") as address:
        hipho(
            "run", "--task", "hipho_text_only,hipho_en", "--model", "oracle", "--engine", "openai",
            "--engine-args", f"base_url={address}", "--data", hipho_data, "--out", tmp_path / "run",
        )  # fmt: skip
    assert len((tmp_path / "log").read_text().splitlines()) == 14 + 7
    assert (tmp_path / "run" / "report.html").is_file()


@pytest.mark.release
def test_a_sweep_hands_it_to_its_processes(hipho_data: Path, hipho_answers: Path, tmp_path: Path) -> None:
    settings = {
        "tasks": ["hipho"],
        "data": str(hipho_data),
        "out": str(tmp_path / "runs"),
        "models": [{"name": str(hipho_answers), "engine": "replay"}],
    }
    (tmp_path / "sweep.yaml").write_text(json.dumps(settings))
    ended = livek12("sweep", tmp_path / "sweep.yaml", "--include", HIPHO)
    assert ended.code == 0, ended.err + ended.out
    assert list((tmp_path / "runs").rglob("report.json"))


def test_a_subset_is_proposed_reviewed_and_built(hipho_data: Path, hipho_answers: Path, tmp_path: Path) -> None:
    run, sheet = tmp_path / "run", tmp_path / "hard.csv"
    hipho("run", *REPLAY, hipho_answers, "--data", hipho_data, "--out", run)
    hipho("subsets", "propose", "hard", "--benchmark", "hipho", "--data", hipho_data, "--runs", run, "--out", sheet)
    with sheet.open(encoding="utf-8-sig", newline="") as lines:
        rows = list(csv.DictReader(lines))
    proposed = [row for row in rows if row["state"] == "proposed"]
    assert proposed
    for row in proposed:
        row |= {"decision": "accept", "by": "someone", "at": "2026-05-01"}
    with sheet.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.DictWriter(lines, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    out = tmp_path / "data"
    hipho("build", "hipho", "--source", SOURCE, "--subsets", sheet, "--out", out)
    assert {question.id for question in load_questions(out, ["hard"], "hipho")} == {row["id"] for row in proposed}
    refused = livek12_here("subsets", "propose", "mini", "--benchmark", "hipho", "--data", hipho_data, "--out", sheet)
    assert "mini is a subset of mdk12, not of hipho" in refused.err


def test_it_joins_the_others_in_one_data_set(tmp_path: Path) -> None:
    row = {"id": "en_2603_math_0001", "question": "Find x.", "answer": ["1"]}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n")
    sources = [f"livek12={tmp_path / 'rows.jsonl'}", f"hipho={SOURCE}"]
    hipho("build", "all", *(f"--source={source}" for source in sources), "--out", tmp_path / "o")
    configs = list(read_card(tmp_path / "o"))
    assert configs[0] == "default" and "hipho_text_image" in configs
    assert len(load_questions(tmp_path / "o", get_task("hipho").configs, "hipho")) == 36
    assert "in one data set" in (tmp_path / "o" / "README.md").read_text()
    assert "and hipho" in (tmp_path / "o" / "README.md").read_text()


def test_rows_are_read_by_processes_beside(hipho_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "FEWEST_ROWS", 5)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    benchmarks.include([HIPHO])
    build("hipho", str(SOURCE), tmp_path / "out")
    for file in sorted(hipho_data.rglob("*.parquet")):
        assert (tmp_path / "out" / file.relative_to(hipho_data)).read_bytes() == file.read_bytes()


def tasks_of_lm_eval(data: Path, out: Path) -> str:
    """The folder of tasks that the plug-in writes."""
    folder = hipho("plugins", "lm-eval", "--data", data, "--out", out).out.strip()
    assert (Path(folder) / "livek12_suite_hipho_text.yaml").is_file()
    assert (Path(folder) / "livek12_hipho_text_only.yaml").is_file()
    return folder


@pytest.mark.slow
def test_lm_eval_is_told_of_it(hipho_data: Path, tmp_path: Path) -> None:
    needs("lm_eval")
    tasks_of_lm_eval(hipho_data, tmp_path / "yaml")


@pytest.mark.release
@pytest.mark.slow
def test_lm_eval_and_inspect_ask_it(hipho_data: Path, tmp_path: Path) -> None:
    needs("lm_eval", "inspect_ai")
    folder = tasks_of_lm_eval(hipho_data, tmp_path / "yaml")
    environment = {**os.environ, benchmarks.VARIABLE: str(HIPHO), "HF_HUB_OFFLINE": "1"}
    asked = [sys.executable, "-m", "lm_eval", "--model", "dummy", "--tasks", "livek12_hipho_text_only"]
    done = subprocess.run(
        [*asked, "--include_path", folder, "--output_path", str(tmp_path / "lm")],
        env=environment, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    (results,) = (tmp_path / "lm").rglob("results_*.json")
    assert json.loads(results.read_text())["n-samples"]["livek12_hipho_text_only"]["original"] == 14, done.stderr
    with oracle_at(tmp_path / "log") as address:
        environment |= {"LOCAL_BASE_URL": address, "LOCAL_API_KEY": "none"}
        command = [str(Path(sys.executable).with_name("inspect")), "eval", "livek12/hipho_text_only", "-T"]
        done = subprocess.run(
            [*command, f"data={hipho_data}", "--model", "openai-api/local/oracle", "--log-dir", str(tmp_path / "logs")],
            env=environment, capture_output=True, text=True, check=False, timeout=600,
        )  # fmt: skip
    assert len((tmp_path / "log").read_text().splitlines()) == 14, done.stdout[-2000:] + done.stderr[-2000:]


@pytest.mark.release
@pytest.mark.slow
def test_lmms_eval_asks_it(hipho_data: Path, hipho_answers: Path, tmp_path: Path) -> None:
    needs("lmms_eval")
    folder = hipho("plugins", "lmms-eval", "--data", hipho_data, "--out", tmp_path / "yaml").out.strip()
    rows = [json.loads(line) | {"task": "livek12_hipho", "trial": 0} for line in hipho_answers.read_text().splitlines()]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = subprocess.run(
        [
            sys.executable, "-m", "tests.plugins.lmms_recorder", "--model", "recorder",
            "--model_args", f"answers={tmp_path / 'answers.jsonl'},seen={tmp_path / 'seen.jsonl'}",
            "--tasks", "livek12_hipho", "--include_path", folder, "--output_path", str(tmp_path / "out"),
            "--log_samples",
        ],
        env={**os.environ, benchmarks.VARIABLE: str(HIPHO), "HF_HUB_OFFLINE": "1"},
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    (results,) = (tmp_path / "out").rglob("*_results.json")
    assert json.loads(results.read_text())["results"]["livek12_hipho"]["questions,all"] == 36, done.stderr


def test_the_call_of_a_harness_names_it(hipho_data: Path, tmp_path: Path) -> None:
    needs("inspect_ai")
    ended = hipho("plugins", "inspect", "--data", hipho_data, "--out", tmp_path)
    assert f"call: {benchmarks.VARIABLE}={HIPHO} inspect eval livek12/hipho" in ended.err


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("cfe", "", "two benchmarks are called cfe: livek12 itself and {folder}"),
        ("sample", "", "two benchmarks are called sample"),
        ("Bad-Name", "", "a name is a small letter"),
        ("empty", "", "has no TASKS = TaskSet(...)"),
        ("broken", "import nothing_of_that_name", "tasks cannot be imported (ModuleNotFoundError"),
        ("broken", "def", "tasks cannot be imported (SyntaxError"),
        ("other", "from livek12.core.included.other.hipho import TASKS", "says benchmark='hipho'"),
        ("taken", "from livek12.core.included.taken.own import TASKS", "both have a task kmmmu; rename one"),
    ],
)
def test_what_is_wrong_with_a_folder_is_one_line(tmp_path: Path, name: str, content: str, said: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    (folder / "tasks.py").write_text(content)
    shutil.copy(HIPHO / "tasks.py", folder / "hipho.py")
    own = (HIPHO / "tasks.py").read_text().replace('name="hipho"', 'name="kmmmu"').replace('"hipho"', '"taken"')
    (folder / "own.py").write_text(own)
    ended = livek12("tasks", "--include", folder)
    assert ended.code == 2
    (line,) = ended.errors
    assert said.format(folder=folder) in line


def test_two_folders_of_one_name(tmp_path: Path) -> None:
    other = Path(shutil.copytree(HIPHO, tmp_path / "hipho"))
    benchmarks.include([HIPHO, other])
    with pytest.raises(UserError, match=rf"two benchmarks are called hipho: {HIPHO} and {other}"):
        all_tasks()
    with pytest.raises(UserError, match="no such folder"):
        benchmarks.include([tmp_path / "nowhere"])
    with pytest.raises(UserError, match=r"holds neither tasks\.py nor builder\.py"):
        benchmarks.include([tmp_path])


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("cfe = quiz", "two benchmarks are called cfe: livek12 itself and the installed livek12-quiz; rename one"),
        ("quiz = nothing_of_that_name", "benchmark quiz (the installed livek12-quiz): tasks cannot be imported"),
        ("qu-iz = quiz", "benchmark 'qu-iz' (the installed livek12-quiz): a name is a small letter"),
    ],
)
def test_what_is_wrong_with_an_installed_package_is_one_line(tmp_path: Path, entry: str, said: str) -> None:
    (folder := tmp_path / "livek12_quiz-1.dist-info").mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: livek12-quiz\nVersion: 1\n")
    (folder / "entry_points.txt").write_text(f"[{benchmarks.GROUP}]\n{entry}\n")
    ended = livek12("tasks", PYTHONPATH=os.pathsep.join([str(ROOT / "src"), str(tmp_path)]))
    assert ended.code == 2
    (line,) = ended.errors
    assert said in line


def test_a_data_set_names_no_code(hipho_data: Path, tmp_path: Path) -> None:
    """What a data set says is a benchmark is looked up among those that are known, never imported."""
    copy = Path(shutil.copytree(hipho_data, tmp_path / "copy"))
    (copy / "tasks.py").write_text("raise SystemExit('imported')")
    (copy / "builder.py").write_text("raise SystemExit('imported')")
    ended = livek12("validate", copy, cwd=tmp_path)
    assert "imported" not in ended.out + ended.err
    assert ended.code == 1


@pytest.mark.parametrize("name", ["hipho\n", "Hipho", "../hipho", "", "x" * 33])
def test_a_question_of_no_possible_benchmark(name: str) -> None:
    with pytest.raises(ValueError, match="benchmark"):
        Question(id="q", benchmark=name, language="en", subject="", question_type="proof", question="?")


def test_what_lies_beside_an_included_folder_is_not_imported(tmp_path: Path) -> None:
    for place, name in (("a", "foo"), ("a", "bar"), ("b", "bar")):
        folder = tmp_path / place / name
        folder.mkdir(parents=True)
        (folder / "tasks.py").write_text(f"raise RuntimeError({place!r})\n")
    ended = livek12("tasks", "--include", tmp_path / "a" / "foo", "--include", tmp_path / "b" / "bar")
    assert ended.code == 2 and "RuntimeError: a" in ended.err
    ended = livek12("tasks", "--include", tmp_path / "b" / "bar", "--include", tmp_path / "a" / "foo")
    assert ended.code == 2 and "RuntimeError: b" in ended.err
