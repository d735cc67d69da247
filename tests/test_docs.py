"""What README and docs show runs: every command line is understood, those on local data sets and the snippets work."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import livek12
from tests.conftest import ROOT
from tests.endpoint import oracle_at
from tests.engines.scripted_server import serving
from tests.judges.llm.judge_server import replying
from tests.scripts.command import leaf, livek12_here

GUIDES = [ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"]
PAGES = [ROOT / "README.md", *GUIDES, *sorted((ROOT / "docs").glob("*.md"))]
DATA = ("build-a-data-set.md", "curate.md", "publish.md")
ELSEWHERE = re.compile(r"hub\b|org/|cfe_bench|mdk12_tsv|\b(?:exams|papers)/|mine-en")
"""Sources that are not here: the Hub, files of others, and what models make."""


def fences(page: Path, language: str = "", section: str = "") -> list[str]:
    text = page.read_text()
    if section:
        text = text.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [block for name, block in blocks if name == language]


def commands(page: Path) -> list[list[str]]:
    """The arguments of every `livek12` line in a fence; what stands for more is filled in."""
    shown = "\n".join(block for language in ("", "bash") for block in fences(page, language)).replace("\\\n", " ")
    lines = re.findall(r"^\s*livek12 ([a-z-]{3,}.*)$", shown, re.MULTILINE)
    lines += re.findall(r"`livek12 ((?:run|judge|build|subsets|publish) [^`…]*--[^`…]*)`", page.read_text())
    return [shlex.split(line, comments=True) for line in lines]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_is_understood(page: Path) -> None:
    for line in commands(page):
        command, context, args = leaf(line)
        told = command.make_context(command.name, list(args), parent=context, resilient_parsing=True)
        known = {name for option in command.params for name in option.opts}
        assert not (unknown := {arg for arg in args if re.match(r"--\w", arg)} - known), (page.name, unknown)
        assert not told.args, (page.name, args)


def test_navigation_and_index_name_every_page_in_one_order() -> None:
    """mkdocs ends with an error where its navigation lacks a page (`bash scripts/docs.sh`)."""
    pages = {page.name for page in (ROOT / "docs").glob("*.md")}
    navigation = re.findall(r": ([\w-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(navigation) == sorted(pages)
    assert ["index.md", *_links("docs/index.md")] == navigation
    readme = [page for page in _links("README.md") if page in navigation[1:]]
    assert readme == [page for page in navigation if page in readme]


def _links(page: str) -> list[str]:
    return re.findall(r"\]\((?:docs/)?([\w-]+\.md)\)", (ROOT / page).read_text())


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.name)
def test_every_file_that_a_guide_names_is_there(page: Path) -> None:
    text = page.read_text()
    named = re.findall(r"`([\w./-]+/[\w./-]*)`", text) + re.findall(r"\]\((?!http)([^)#]+)\)", text)
    places = {name: re.sub(r"\bX$|[A-Z]{4,}", "*", name) for name in named}
    missing = [name for name, place in places.items() if not [*ROOT.glob(place)]]
    assert len(named) > 10 and not missing


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


def test_the_python_page_runs_as_it_stands(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "sample").symlink_to(data)
    shown: dict[str, object] = {}
    with oracle_at(tmp_path / "log") as address:
        for snippet in fences(ROOT / "docs" / "python.md", "python"):
            here = snippet.replace("http://127.0.0.1:8000/v1", address)
            exec(compile(here, "python.md", "exec"), shown)
    run, other, verdict = shown["run"], shown["other"], shown["verdict"]
    assert isinstance(run, livek12.Run) and isinstance(other, livek12.Run) and isinstance(verdict, livek12.Verdict)
    assert verdict.correct is True
    assert run.scores.bounds("accuracy") is not None and run.report_html.is_file()
    assert len(run.to_pandas()) == run.spec.tasks[0].questions
    assert other.scores["accuracy"] != 1


def test_the_page_of_the_verifier_runs_as_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    shown: dict[str, object] = {}
    told: list[str] = []
    with serving(replying()) as address:
        for snippet in fences(ROOT / "docs" / "verify.md", "python", "From Python"):
            exec(compile(snippet.replace("http://127.0.0.1:8000/v1", address), "verify.md", "exec"), shown)
            told += re.findall(r"print\(.*?\)  # (.*)$", snippet, re.MULTILINE)
    said = capsys.readouterr().out.splitlines()
    assert len(said) == len(told)
    for line, as_told in zip(said, told, strict=True):
        assert re.fullmatch(re.escape(as_told).replace("…", ".*"), line), (line, as_told)
    assert [found.decision for found in shown["judged"]] == ["accept", "reject", "undecided"]  # type: ignore[attr-defined]


def printed(snippets: list[str]) -> list[str]:
    """What the `print` lines of a page say that they print."""
    return [line.rpartition("  # ")[2] for snippet in snippets for line in snippet.splitlines() if "print(" in line]


def test_the_page_on_rewards_runs_as_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    """But for the trainer itself."""
    snippets = fences(ROOT / "docs" / "rewards.md", "python")
    here = [snippet for snippet in snippets if "from trl" not in snippet]
    shown: dict[str, Any] = {}
    for snippet in here:
        exec(compile(snippet, "rewards.md", "exec"), shown)
    assert capsys.readouterr().out.splitlines() == printed(here)
    said = [{"role": "assistant", "content": "The answer is 7."}]
    assert asyncio.run(shown["correct"](said, "7", prompt="What is 3+4?")) == 1.0
    assert len(snippets) == len(here) + 1 == 6


@pytest.mark.slow
def test_the_site_of_the_docs_builds_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="the docs extra is not installed")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    reference = (tmp_path / "site" / "reference" / "index.html").read_text()
    for name in livek12.__all__:
        assert name == "__version__" or f'id="livek12.{name}"' in reference, name
