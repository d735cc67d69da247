"""Marks are printed where nothing can be written: one line says that the reports are not stored, and why."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.scripts.command import livek12_here


@pytest.fixture(scope="module")
def run(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of recorded answers, marked and reported."""
    folder = tmp_path_factory.mktemp("recorded")
    file, out = folder / "answers.jsonl", folder / "run"
    file.write_text(json.dumps({"id": "cfe_sample_0001", "response": r"So it is \boxed{5}."}) + "\n")
    done = livek12_here("import-responses", file, "--task", "cfe_text", "--data", data, "--out", out)
    assert (out / "report.html").exists(), done.err
    return out


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}


@pytest.mark.parametrize(
    ("command", "code", "not_written"),
    [("score", 0, "report.json is not written"), ("report", 1, "report.json and report.html are not written")],
)
def test_a_read_only_folder_is_printed(
    run: Path, read_only: Callable[[Path], Path], command: str, code: int, not_written: str
) -> None:
    before, shown = contents(run), read_only(run)
    expected, printed = livek12_here(command, run), livek12_here(command, shown)
    assert (expected.code, expected.warnings) == (0, [])
    assert printed.code == code
    summary = expected.out.partition("report: ")[0].replace(str(run), str(shown))
    assert printed.out == summary
    assert "out of 100" in summary
    (warning,) = printed.err.splitlines()
    assert warning.startswith(f"warning: {not_written}: {shown}/report.")
    assert "(Read-only file system)" in warning
    as_json = livek12_here(command, shown, "--json")
    assert as_json.code == code
    assert json.loads(as_json.out) == json.loads(before["report.json"])
    assert contents(run).keys() == before.keys()


def test_a_folder_on_a_full_disk_is_printed(run: Path, small_disk: Path) -> None:
    shutil.copytree(run, small_disk / "run", ignore=shutil.ignore_patterns("report.*"))
    (small_disk / "ballast").unlink()
    with (small_disk / "ballast").open("wb", buffering=0) as ballast, pytest.raises(OSError, match="No space left"):
        while True:
            ballast.write(bytes(1000))
    printed = livek12_here("report", small_disk / "run")
    assert printed.code == 1
    assert "out of 100" in printed.out
    assert "report: " not in printed.out
    (warning,) = printed.err.splitlines()
    assert warning.startswith("warning: report.json and report.html are not written: ")
    assert "(No space left on device)" in warning
    assert contents(small_disk / "run").keys() == contents(run).keys() - {"report.json", "report.html"}
