"""docs/add-a-benchmark.md does what it says: its benchmark works as a folder, and inside with new files alone."""

from __future__ import annotations

import json
import os
import shutil
import tomllib
from pathlib import Path

import pytest

from livek12.core import benchmarks
from tests.conftest import ROOT
from tests.endpoint import oracle_at
from tests.scripts.command import livek12, livek12_here
from tests.test_docs import commands, fences

PAGE = ROOT / "docs" / "add-a-benchmark.md"
ENDPOINT = "http://127.0.0.1:8000/v1"


def shown() -> dict[str, str]:
    """The files that the page shows."""
    tasks, builder = fences(PAGE, "python")
    (prompt,), (card,), (rows,) = (fences(PAGE, language) for language in ("text", "jinja", "json"))
    files = {"tasks.py": tasks, "builder.py": builder, "prompts/en.txt": prompt, "card.md.jinja": card}
    return {f"quiz/{name}": text for name, text in files.items()} | {"quiz.jsonl": rows}


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def test_the_page_runs_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, shown())
    lines = [line for line in commands(PAGE) if "--include" in line]
    assert [line[0] for line in lines] == ["build", "validate", "tasks", "run", "judge"]
    with oracle_at(tmp_path / "log") as address:
        for line in lines:
            ended = livek12_here(*(word.replace(ENDPOINT, address) for word in line))
            assert ended.code == 0, (line, ended.err)
    report = json.loads((tmp_path / "runs" / "quiz" / "report.json").read_text())
    assert report["tasks"]["quiz"]["points"] == 3
    (package,) = fences(PAGE, "toml")
    assert tomllib.loads(package)["project"]["entry-points"] == {benchmarks.GROUP: {"quiz": "quiz"}}


MISTAKES = {
    "the place in the prompt": ("prompts/en.txt", "{question}", "{questoin}", "quiz/en.txt: holds {question} 0 times"),
    "the prompt's language": ("prompts/en.txt", None, "prompts/fr.text", "task quiz has no prompt: write prompts/"),
    "the benchmark": ("builder.py", 'benchmark="quiz"', 'benchmark="quizz"', "of benchmark 'quizz', not 'quiz'"),
    "the type": ("builder.py", '"short_answer"', '"short"', "question_type: Input should be"),
    "a key": ("builder.py", 'row.data["ask"]', 'row.data["aks"]', "KeyError: 'aks'"),
    "an export": ("tasks.py", "TASKS =", "TASK =", "tasks.py has no TASKS = TaskSet(...)"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_in_one_line(mistake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, shown())
    name, right, wrong, said = MISTAKES[mistake]
    file = tmp_path / "quiz" / name
    if right is None:
        file.rename(tmp_path / "quiz" / wrong)
    else:
        assert right in file.read_text()
        file.write_text(file.read_text().replace(right, wrong))
    Path("answers.jsonl").write_text('{"id": "q1", "response": "42"}\n')
    here = ("--include", "quiz")
    ended = livek12("build", "quiz", *here, "--source", "quiz.jsonl", "--out", "data")
    if ended.code == 0:
        ended = livek12("run", *here, "--task", "quiz", "--data", "data", "--model", "answers.jsonl", "--out", "run")
        assert not Path("run").exists()
    assert ended.code == 2
    assert said in ended.errors[-1] and "Traceback" not in ended.err


@pytest.mark.release
def test_inside_it_takes_new_files_alone(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    rooms = [link.name for link in (ROOT / "src" / "livek12").iterdir() if link.is_symlink()]
    for name in (*rooms, "src"):
        shutil.copytree(ROOT / name, tree / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__", "bench"))
    files = shown()
    inside = {
        "tasks/quiz/__init__.py": files["quiz/tasks.py"],
        "tasks/quiz/prompts/en.txt": files["quiz/prompts/en.txt"],
        "dataset_builders/benchmarks/quiz/__init__.py": files["quiz/builder.py"],
        "dataset_builders/benchmarks/quiz/card.md.jinja": files["quiz/card.md.jinja"],
    }
    assert not [name for name in inside if (tree / name).exists()]
    write(tree, inside)
    (tmp_path / "quiz.jsonl").write_text(files["quiz.jsonl"])
    here = {"PYTHONPATH": os.fspath(tree / "src")}
    assert "Quiz, a few general questions" in livek12("tasks", cwd=tmp_path, **here).out
    ended = livek12("build", "quiz", "--source", "quiz.jsonl", "--out", "data", cwd=tmp_path, **here)
    assert ended.code == 0, ended.err
    assert livek12("validate", "data", cwd=tmp_path, **here).code == 0
    assert "2 questions" in livek12("tasks", "--data", "data", cwd=tmp_path, **here).out
    image = ("subsets", "propose", "image_dependent", "--benchmark", "quiz", "--data", "data", "--out", "x.csv")
    assert "decided by runs" in livek12(*image, cwd=tmp_path, **here).err
