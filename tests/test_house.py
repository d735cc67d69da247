"""The house is in order: every room is packaged, every command starts, nothing heavy is imported to list them."""

from __future__ import annotations

import configparser
import subprocess
import sys
from pathlib import Path

import pytest

from livek12.scripts.cli import COMMANDS
from tests.conftest import ROOT
from tests.scripts.command import livek12

ROOMS = ("core", "judges", "tasks", "dataset_builders", "hub_cards", "scripts")
HEAVY = {"torch", "vllm", "transformers", "datasets", "pyarrow", "sympy", "numpy", "gradio", "ray", "jinja2", "openai"}


def settings() -> configparser.ConfigParser:
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg")
    return parser


def test_every_package_is_listed() -> None:
    listed = set(settings()["options"]["packages"].split())
    found = {
        f"livek12.{init.parent.relative_to(ROOT).as_posix().replace('/', '.')}"
        for room in ROOMS
        for init in (ROOT / room).rglob("__init__.py")
    }
    assert listed == found | {"livek12"}


def test_every_data_file_of_a_package_ships() -> None:
    patterns = settings()["options.package_data"]
    for init in (init for room in ROOMS for init in (ROOT / room).rglob("__init__.py")):
        folder = init.parent
        name = f"livek12.{folder.relative_to(ROOT).as_posix().replace('/', '.')}"
        shipped = {
            file for pattern in patterns.get(name, "").split(",") if pattern for file in folder.glob(pattern.strip())
        }
        below = {file for inner in folder.iterdir() if inner.is_dir() for file in inner.rglob("*") if file.is_file()}
        packages = {init.parent for init in folder.rglob("__init__.py")} - {folder}
        own = {f for f in {*folder.iterdir(), *below} if f.is_file() and not any(p in f.parents for p in packages)}
        missing = {f for f in own - shipped if f.suffix not in {".py", ".pyc", ".sh"}}
        assert not missing, f"{name} ships without {sorted(file.name for file in missing)}"


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_explains_itself(command: str) -> None:
    ended = livek12(command, "--help")
    assert ended.code == 0
    assert ended.out.startswith(f"Usage: livek12 {command}")


@pytest.mark.parametrize("arguments", [["--help"], ["tasks"], ["tasks", "--json"]])
def test_listing_imports_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys\n"
        "from livek12.scripts.cli import app\n"
        f"app({arguments!r}, standalone_mode=False)\n"
        "print(*sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not HEAVY & {name.split(".")[0] for name in done.stderr.split()}
    assert done.stdout


def test_no_file_names_this_machine_or_a_registry() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.split(b"\0")
    marks = [b"/wo" + b"rk/", b"py" + b"pi.org", b"deb" + b"ian.org", b"npm" + b"js.org"]
    for name in filter(None, listed):
        content = (ROOT / Path(name.decode())).read_bytes()
        assert not [mark for mark in marks if mark in content], name.decode()
