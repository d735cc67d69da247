"""The main path from an installed wheel, with no checkout in sight: the benchmark as a folder, and as a package."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.outside.conftest import HERE, SOURCE, write_answers

pytestmark = pytest.mark.slow
NOT_COPIED = shutil.ignore_patterns("__pycache__", "build", "*.egg-info")


def ended(*command: object, cwd: Path) -> str:
    """What a command says on stdout; nothing of this checkout or of this process's settings reaches it."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "LIVEK12_INCLUDE")}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=kept, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, (command, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout


def wheel_of(tree: Path, out: Path) -> Path:
    """The wheel of a source tree, built without a network."""
    ended(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", out, tree, cwd=out)
    (wheel,) = out.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheels of livek12 and of the benchmark outside, each from a copy of its tree."""
    folder = tmp_path_factory.mktemp("wheels")
    shutil.copytree(
        ROOT, folder / "livek12", symlinks=True,
        ignore=shutil.ignore_patterns(".*", "tests", "docs", "runs", "__pycache__", "build", "*.egg-info"),
    )  # fmt: skip
    shutil.copytree(HERE, folder / "outside", ignore=NOT_COPIED)
    for name in ("one", "two"):
        (folder / name).mkdir()
    return wheel_of(folder / "livek12", folder / "one"), wheel_of(folder / "outside", folder / "two")


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """Python of a new environment that sees what livek12 needs, and neither livek12 nor this checkout."""
    ended(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv", cwd=tmp_path)
    found = tmp_path / "venv" / "bin" / "python"
    place = ended(found, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=tmp_path).strip()
    (Path(place) / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return found


def install(python: Path, *wheels: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", "--no-index"]
    ended(*pip, "--ignore-installed", *wheels, cwd=python.parent)
    said = ended(python, "-c", "import livek12; print(livek12.__file__)", cwd=python.parent)
    assert Path(said.strip()).is_relative_to(python.parents[1])


def sit_the_exam(python: Path, folder: Path, *options: object) -> None:
    """Build, validate, list, ask, judge, score, report, propose: all that a benchmark is for."""
    livek12 = python.with_name("livek12")
    data, run, answers = folder / "data", folder / "run", folder / "answers.jsonl"
    ended(livek12, "build", "hipho", "--source", SOURCE, "--out", data, *options, cwd=folder)
    assert "no problems" in ended(livek12, "validate", data, *options, cwd=folder)
    assert "HiPhO, physics olympiads: 36 questions" in ended(livek12, "tasks", "--data", data, *options, cwd=folder)
    write_answers(data, answers)
    replay = ("--engine", "replay", "--model", answers)
    ended(livek12, "run", "--task", "hipho", *replay, "--data", data, "--out", run, *options, cwd=folder)
    assert json.loads((run / "report.json").read_text())["tasks"]["hipho"]["counts"]["questions"] == 36
    named = ("hard", "--benchmark", "hipho", "--data", data, "--runs", run, "--out", folder / "hard.csv")
    assert "proposed" in ended(livek12, "subsets", "propose", *named, *options, cwd=folder)


@pytest.mark.release
def test_with_a_folder(wheels: tuple[Path, Path], python: Path, tmp_path: Path) -> None:
    install(python, wheels[0])
    folder = shutil.copytree(HERE / "hipho", tmp_path / "elsewhere" / "hipho", ignore=NOT_COPIED)
    sit_the_exam(python, tmp_path, "--include", folder)


@pytest.mark.release
def test_as_an_installed_package(wheels: tuple[Path, Path], python: Path, tmp_path: Path) -> None:
    install(python, *wheels)
    sit_the_exam(python, tmp_path)


def test_the_wheel_holds_every_file_of_the_benchmarks(wheels: tuple[Path, Path]) -> None:
    ours, outside = (set(zipfile.ZipFile(wheel).namelist()) for wheel in wheels)
    for room in ("tasks", "dataset_builders/benchmarks"):
        files = {file.relative_to(ROOT) for file in (ROOT / room).rglob("*") if file.is_file()}
        assert {f"livek12/{file}" for file in files if file.suffix != ".pyc"} <= ours
    assert {"hipho/prompts/zh.txt", "hipho/card.md.jinja", "hipho/citation.bib"} <= outside
