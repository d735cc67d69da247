"""The command line itself: quiet, completed, helpful where it is mistyped, and reachable as a module."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from livek12.scripts.cli import COMMANDS
from tests.scripts.command import livek12, livek12_here


def module(*args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "livek12", *args]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})


def test_the_package_is_the_command() -> None:
    assert module("--version").stdout.startswith("livek12 ")


@pytest.mark.parametrize("name", ["livek12.scripts.cli", "typer", "livek12.core.progress"])
def test_a_signal_ends_it_in_a_line_while_modules_are_loaded(name: str) -> None:
    code = (
        "import os, signal, sys\n"
        "from livek12.__main__ import main\n"
        "class Interrupted:\n"
        f"    def find_spec(self, name, *_): name == {name!r} and os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "sys.argv = ['livek12', 'tasks']\n"
        "main()\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (130, "")
    assert ended.stderr == "stopped; run the same command again to go on\n"


def test_alone_it_shows_its_commands() -> None:
    ended = livek12_here()
    assert ended.code == 2
    assert ended.out.startswith("Usage: livek12") and not ended.err
    assert all(f"\n  {name} " in ended.out for name in COMMANDS)


def test_a_command_in_this_process_leaves_no_answer_to_a_signal_behind() -> None:
    before = signal.getsignal(signal.SIGTERM)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        assert livek12_here("tasks").code == 0
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("runn",), "No such command 'runn'. Did you mean 'run'? See `livek12 --help`"),
        (("subsets", "propse"), "No such command 'propse'. Did you mean 'propose'? See `livek12 subsets --help`"),
        (("--zzz",), "No such option: --zzz; see `livek12 --help`"),
        (("run",), "Missing option '--task'; see `livek12 run --help`"),
        (("subsets", "propose", "mini"), "see `livek12 subsets propose --help`"),
        (("subsets",), "Missing command; see `livek12 subsets --help`"),
        (("import-responses", "x", "--limit", "many"), "see `livek12 import-responses --help`"),
        (("score", "x" * 300), "File name too long"),
    ],
)
def test_what_is_mistyped_names_the_command_at_hand(args: tuple[str, ...], said: str) -> None:
    ended = livek12_here(*args)
    assert ended.code == 2
    (line,) = ended.errors
    assert said in line
    assert ended.err.count("\n") == 1


@pytest.mark.slow
def test_quiet_shows_no_progress(data: Path) -> None:
    loud = livek12_here("validate", data)
    assert loud.code == 0 and "checking rows" in loud.err
    for args in (("-q", "validate"), ("validate", "--quiet")):
        quiet = livek12_here(*args, data)
        assert (quiet.code, quiet.err, quiet.out) == (0, "", loud.out)


@pytest.mark.parametrize(
    ("content", "args", "code", "said"),
    [
        ("limit: 3\nmax-tokens: 9", (), 0, "all: 6 requests"),
        ("limit: 3\nmax-tokens: 9", ("--limit", "1"), 0, "all: 2 requests"),
        ("limits: 3", (), 2, "run.yaml: limits: `livek12 run` has no such option"),
        ("limit: {a: 3}", (), 2, "run.yaml: limit: a value as on the command line is expected"),
        ("limit: some", (), 2, "Invalid value for '--limit'"),
        ("- limit", (), 2, "run.yaml: options by name are expected"),
    ],
)
def test_a_file_states_the_options_of_a_run(
    content: str, args: tuple[str, ...], code: int, said: str, data: Path, tmp_path: Path
) -> None:
    stated = f"task: [kmmmu, livek12_text_only_en]\nmodel: m\nengine: replay\nout: {tmp_path / 'r'}\ndata: {data}\n"
    (tmp_path / "run.yaml").write_text(content if content.startswith("-") else stated + content)
    ended = livek12_here("run", "--config", tmp_path / "run.yaml", "--dry-run", *args)
    assert ended.code == code and said in ended.out + ended.err


def test_quiet_keeps_warnings(data: Path, tmp_path: Path) -> None:
    recorded = tmp_path / "recorded.jsonl"
    recorded.write_text('{"question_id": "nobody", "response": "A"}\n')
    args = ("import-responses", recorded, "--task", "livek12_text_only_en", "--data", data, "--out", tmp_path / "run")
    ended = livek12(*args, "-q")
    assert ended.warnings
    assert not [line for line in ended.err.splitlines() if " after " in line], "progress"


def test_what_is_refused_before_it_begins_shows_no_progress(tmp_path: Path) -> None:
    ended = livek12_here("build", "livek12", "--source", tmp_path / "nowhere", "--out", tmp_path / "data")
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_shown_and_installed(shell: str, tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    shown = module("--show-completion", shell, **environment)
    assert shown.returncode == 0
    assert "_LIVEK12_COMPLETE" in shown.stdout
    assert module("--install-completion", shell, **environment).returncode == 0
    installed = [file for file in tmp_path.rglob("*") if file.is_file() and "_LIVEK12_COMPLETE" in file.read_text()]
    assert installed


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("livek12 ", list(COMMANDS)),
        ("livek12 jud", ["judge", "judge-pairs"]),
        ("livek12 run --top", ["--top-p", "--top-k"]),
        ("livek12 subsets p", ["propose"]),
        ("livek12 sweep --q", ["--quiet"]),
    ],
)
def test_words_are_completed(words: str, offered: list[str]) -> None:
    environment = {
        "_LIVEK12_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    assert module(**environment).stdout.split() == offered


def test_completing_commands_imports_none_of_them() -> None:
    code = (
        "import os, sys\n"
        "from livek12.scripts.cli import app\n"
        "try: app(prog_name='livek12')\n"
        "except SystemExit: pass\n"
        "print(*sys.modules, file=sys.stderr)\n"
    )
    asked = {"_LIVEK12_COMPLETE": "complete_bash", "COMP_WORDS": "livek12 ", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **asked}
    )
    assert done.stdout.split() == list(COMMANDS)
    assert not [name for name in done.stderr.split() if name.startswith("livek12.scripts.commands.")]
    assert "livek12.core.records" not in done.stderr.split()
