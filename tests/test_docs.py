"""What README and docs show runs: every command line is understood, those on local data sets and the snippets work."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.scripts.command import livek12_here

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
DATA = ("build-a-data-set.md", "subsets.md", "add-a-release.md")
ELSEWHERE = re.compile(r"hub\b|org/|cfe_bench|mdk12_tsv")
"""Sources that are not here: the Hub, and upstream's own files."""


def fences(page: Path, language: str = "") -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


def commands(page: Path) -> list[list[str]]:
    """The arguments of every `livek12` line in a fence; what stands for more is filled in."""
    shown = "\n".join(block for language in ("", "bash") for block in fences(page, language)).replace("\\\n", " ")
    lines = re.findall(r"^\s*livek12 ([a-z-]{3,}.*)$", shown, re.MULTILINE)
    lines += re.findall(r"`livek12 ((?:run|judge|build|subsets|publish) [^`…]*--[^`…]*)`", page.read_text())
    return [shlex.split(line, comments=True) for line in lines]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_is_understood(page: Path) -> None:
    import typer

    from livek12.scripts.cli import app

    for line in commands(page):
        command: Any = typer.main.get_command(app)
        context, args = None, line
        while hasattr(command, "resolve_command"):
            context = command.make_context("livek12", [], parent=context, resilient_parsing=True)
            _, command, args = command.resolve_command(context, args)
        told = command.make_context(command.name, list(args), parent=context, resilient_parsing=True)
        known = {name for option in command.params for name in option.opts}
        assert not (unknown := {arg for arg in args if re.match(r"--\w", arg)} - known), (page.name, unknown)
        assert not told.args, (page.name, args)


def test_what_the_docs_do_with_data_sets_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    docs = ROOT / "docs"
    (shown,) = fences(docs / DATA[0], "json")
    assert shown.count("\n") == 1, "a row of JSONL is one line"
    row = json.loads(shown)
    mine = [row, {**row, "id": "en_2603_math_0002", "set": "2603", "question": "Which of these is even?\nA. 4\nB. 7"}]
    mine.append({**mine[1], "id": "zh_2603_math_0001", "question": "下列各数中，哪个是质数？\nA. 4\nB. 7"})
    newer = {**row, "id": "en_2605_math_0001", "set": "2605", "question": "How many sides has a square?\nA. 4\nB. 5"}
    for name, rows in (("my_exam.jsonl", mine), ("exams_2605.jsonl", [newer])):
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("withdraw.csv").write_text(next(block for block in fences(docs / DATA[2]) if block.startswith("id,")))
    done = 0
    for page in DATA:
        for args in commands(docs / page):
            if args[0] in ("build", "validate", "subsets") and not ELSEWHERE.search(" ".join(args)) and "--out" in args:
                ended = livek12_here(*args)
                assert ended.code == 0, (args, ended.err)
                done += 1
    assert done >= 6
    snippets = fences(docs / DATA[0], "python")
    for snippet in snippets:
        exec(compile(snippet, DATA[0], "exec"), {})
    assert len(snippets) == 2
