"""What the Python API refuses, in one line, before anything is written; and how it is called in odd places."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import livek12
from livek12.evaluation.asking import ask
from livek12.evaluation.options import RunOptions
from livek12.evaluation.site import SiteWishes, make_site

QUESTION = livek12.Question(
    id="q", benchmark="cfe", language="en", subject="math", question_type="fill_in_blank", question="?", answer=["5/6"]
)


@pytest.fixture
def recorded(data: Path, tmp_path: Path) -> Path:
    file = tmp_path / "answers.jsonl"
    rows = [{"id": question.id, "response": "\\boxed{1}"} for question in livek12.load(data, "cfe_text")]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ({"limit": -1}, "--limit -1 is not a whole number from 1 upwards"),
        ({"limit": 0}, "--limit 0 is not a whole number from 1 upwards"),
        ({"limit": "3"}, "--limit '3' is not a whole number from 1 upwards"),
        ({"trials": 0}, "--trials 0 is not a whole number from 1 upwards"),
        ({"max_tokens": 0}, "--max-tokens 0 is not a whole number from 1 upwards"),
        ({"max_tokens": "5"}, "--max-tokens '5' is not a whole number from 1 upwards"),
        ({"top_k": -1}, "--top-k -1 is not a whole number from 0 upwards"),
        ({"temperature": "hot"}, "--temperature hot is not a number from 0 upwards"),
        ({"top_p": 3}, "--top-p 3 is not a number above 0 and up to 1"),
        ({"tempersture": 1}, "tempersture: is nothing that sampling knows"),
        ({"engine_args": ["base_url"]}, "give a mapping from names to values"),
        ({"data": [QUESTION, "?"]}, "give the folder of a data set"),
        ({"data": []}, "or a list of livek12.Question"),
        ({"model": 5}, "model 5: give a folder, a name, a file of recorded answers, or a function"),
        ({"model": "setup.py"}, "is no model and no recorded answers"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_in_one_line(
    said: dict[str, Any], line: str, data: Path, recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("setup.py").touch()
    given = {"model": recorded, "data": data, "out": tmp_path / "run"} | said
    with pytest.raises(livek12.UserError, match=r"\A[^\n]*\Z") as refused:
        livek12.evaluate("cfe_text", **given)
    assert line in str(refused.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "call",
    [
        lambda: livek12.judge(QUESTION.model_dump(), "5/6"),  # type: ignore[arg-type]
        lambda: livek12.judge(QUESTION, None),  # type: ignore[arg-type]
        lambda: livek12.judge(QUESTION, "5/6", task="cfe_txt"),
        lambda: livek12.load("nowhere/at-all", "cfe_text", limit=-1),
        lambda: livek12.Run("nowhere/at-all"),
    ],
)
def test_so_are_questions_responses_tasks_and_folders(call: Callable[[], object]) -> None:
    with pytest.raises(livek12.UserError):
        call()


def test_a_run_of_recorded_answers_goes_on_and_reads_as_a_table(data: Path, recorded: Path, tmp_path: Path) -> None:
    run = livek12.evaluate("cfe_text", recorded, data, tmp_path / "run")
    again = livek12.evaluate("cfe_text", recorded, data, tmp_path / "run")
    table = again.to_pandas()
    assert list(table["state"]) == [row.state for row in run.rows()]
    assert run.scores.estimate("accuracy") == again.scores.estimate("accuracy")
    assert (table["correct"].dtype, table["points"].dtype) == ("boolean", "Float64")
    decided = table["correct"].notna()
    assert 0 < decided.sum() < len(table), "some are decided, and some are not"
    assert (table["correct_low"][decided] == table["correct"][decided]).all()
    assert run.scores.bounds("accuracy") == pytest.approx((table["correct_low"].mean(), table["correct_high"].mean()))
    assert len(table) < 5 and run.scores.interval("accuracy") is None
    with pytest.raises(KeyError, match="it has accuracy"):
        run.scores["acuracy"]
    stored = json.loads(run.report_json.read_text())
    assert stored["tasks"] == run.report["tasks"]


def test_a_run_is_called_by_its_name_wherever_it_is_shown(data: Path, recorded: Path, tmp_path: Path) -> None:
    run, plain = tmp_path / "run", tmp_path / "plain"
    livek12.evaluate("cfe_text", recorded, data, plain)
    assert "name" not in json.loads((plain / "run.json").read_text()), "folders without a name are as they were"
    livek12.evaluate("cfe_text", recorded, data, run, name="before")
    shown = livek12.evaluate("cfe_text", recorded, data, run, name="Our model, q4")._repr_html_()
    assert json.loads((run / "run.json").read_text())["name"] == "Our model, q4", "the same run may be renamed"
    assert "Our model, q4" in shown and "<dd>Our model, q4" in (run / "report.html").read_text()
    assert list(livek12.compare([run, plain])["tasks"]["cfe_text"]["metrics"]["mark"]) == ["Our model, q4", "plain"]
    site = SiteWishes(refuses=lambda question: "")
    make_site([run, plain], tmp_path / "site", site)
    rows = json.loads((tmp_path / "site" / "table.json").read_text())
    assert next(row["model"] for row in rows if row["profile"] == "article") == "Our model, q4"
    with pytest.raises(livek12.UserError, match="--name"):
        livek12.evaluate("cfe_text", recorded, data, run, name="two\nlines")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["script", "standard input", "no standard error"])
def test_it_works_unguarded_from_standard_input_and_without_standard_error(how: str, tmp_path: Path) -> None:
    code = (
        f"import livek12, pathlib\nquestion = livek12.Question(**{QUESTION.model_dump()!r})\n"
        "verdict = livek12.judge(question, 'so \\\\boxed{\\\\frac{10}{12}}')\n"
        f"pathlib.Path({str(tmp_path / 'said')!r}).write_text(str(verdict.correct))\n"
    )
    script = tmp_path / "script.py"
    script.write_text(code)
    if how == "standard input":
        subprocess.run([sys.executable, "-"], input=code, text=True, check=True)
    elif how == "script":
        subprocess.run([sys.executable, str(script)], check=True)
    else:
        subprocess.run(["bash", "-c", f"exec {sys.executable} {script} 2>&-"], check=True)
    assert (tmp_path / "said").read_text() == "True"


def test_a_run_of_two_trials_of_which_one_is_stored_asks_the_other(data: Path, tmp_path: Path) -> None:
    file, out = tmp_path / "answers.jsonl", tmp_path / "run"
    rows = [
        {"question_id": question.id, "trial": trial, "response": f"\\boxed{{{trial}}}"}
        for question in livek12.load(data, "cfe_text")
        for trial in range(2)
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    how = RunOptions("cfe_text", str(file), out, str(data), "replay", trials=2)
    ask(how, {})[0].leave()
    (journal,) = out.glob("responses-*.jsonl")
    stored = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(line for line in stored if json.loads(line)["key"]["trial"] == 0))
    folder, _ = ask(how, {})
    assert sorted(str(response.key) for response in folder.responses()) == sorted(
        f"cfe_text/{row['question_id']}/{row['trial']}" for row in rows
    )


def test_reading_a_data_set_does_not_import_pandas(data: Path) -> None:
    """It costs half a second of each command, and pyarrow does so of itself where it is installed."""
    pytest.importorskip("pandas")
    code = "import sys, livek12; print(len(livek12.load(sys.argv[1], 'cfe_text')), 'pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, data], capture_output=True, text=True, check=False)
    count, imported = done.stdout.split()
    assert int(count) > 0 and imported == "False", done.stderr


def _judging(request: livek12.Request) -> str:
    return "no verdict"


def test_functions_and_lists_of_questions_are_models_judges_and_data(tmp_path: Path) -> None:
    questions = [QUESTION.model_copy(update={"id": f"q{n}", "answer": [str(n)], "question": f"{n}?"}) for n in range(3)]
    prompts: list[str] = []

    def model(prompt: str) -> str:
        prompts.append(prompt)
        if "1?" in prompt:
            raise RuntimeError("busy")
        return "<think>\\boxed{9}</think>\\boxed{0}"

    run = livek12.evaluate("cfe_text", model, questions, tmp_path / "run", judge=_judging)
    assert prompts == [livek12.prompt_for("cfe_text", question) for question in questions]
    table = run.to_pandas()
    assert table["state"].to_list() == ["graded", "failed", "graded"]
    assert table["correct"].to_list()[::2] == [True, False]
    assert (len(run), bool(run), len(run.to_dataset())) == (3, True, 3)
    assert run.by("subject")["math"]["n"] == 3
    assert "accuracy" in run._repr_html_()
    livek12.evaluate("cfe_text", model, questions, tmp_path / "run", judge=_judging)
    assert len(prompts) == 4  # only the failed one again
    other = livek12.evaluate("cfe_text", lambda prompt: "\\boxed{2}", questions, tmp_path / "other")
    compared = livek12.compare([run, other])
    (difference,) = compared.differences()
    assert (difference.a, difference.b, difference.shared) == ("run", "other", 3)
    assert "<table>" in compared._repr_html_()
    with pytest.raises(livek12.UserError, match="no task: speed is not compared"):
        compared.differences("speed")
    with pytest.raises(livek12.UserError, match="has no axis 'colour'"):
        run.by("colour")


def test_a_function_that_takes_requests_sees_pictures_and_another_says_that_it_cannot(
    data: Path, tmp_path: Path
) -> None:
    seen: list[int] = []

    def looking(request: livek12.Request) -> str:
        seen.append(len(request.images))
        return ""

    livek12.evaluate("cfe_multimodal", looking, data, tmp_path / "looking", limit=1)
    assert seen[0] > 0
    blind = livek12.evaluate("cfe_multimodal", lambda prompt: "", data, tmp_path / "blind", limit=1)
    assert blind.to_pandas()["state"].to_list() == ["unsupported"]


@pytest.mark.parametrize(
    ("engine", "model", "spelled"),
    [
        ("hf", "org/name", ("transformers", "org/name")),
        ("auto", "hf/org/name", ("transformers", "org/name")),
        ("auto", "vllm/org/name", ("vllm", "org/name")),
        ("auto", "openai/gpt-oss-20b", ("auto", "openai/gpt-oss-20b")),
        ("vllm", "hf/org/name", ("vllm", "hf/org/name")),
        ("auto", "models/vllm/name", ("auto", "models/vllm/name")),
    ],
)
def test_engines_are_spelled_as_in_other_harnesses(engine: str, model: str, spelled: tuple[str, str]) -> None:
    options = RunOptions("cfe_text", model, Path("run"), engine=engine)
    assert (options.engine, options.model) == spelled


def test_tasks_are_listed_by_benchmark_modality_and_language() -> None:
    assert {livek12.get_task(name).benchmark for name in livek12.list_tasks(benchmark="cfe")} == {"cfe"}
    chinese = livek12.list_tasks("livek12", "image_only", "zh")
    assert "livek12_image_only_zh" in chinese
    assert "livek12_image_only_en" not in chinese
    with pytest.raises(livek12.UserError, match="there are cfe, kmmmu, livek12, mdk12"):
        livek12.list_tasks(benchmark="mmlu")
