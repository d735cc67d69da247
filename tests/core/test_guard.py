"""Landlock: what a confined command cannot do, its children neither; and where there is none, nothing changes."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from livek12.core import guard
from livek12.scripts import cli
from tests.conftest import ROOT
from tests.scripts.command import livek12_here

CONFINED = ("judge", "score", "report", "site", "compare", "rejudge", "validate")
TRIES = """
import json, os, socket, subprocess, sys
from pathlib import Path
from livek12.core import guard
inside, data, outside, port = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])
guard.own_process = True
confined = guard.confine([inside / "new", inside], [data], network=sys.argv[5] == "network")
child = f"from pathlib import Path; Path({str(outside / 'key')!r}).read_text()"
tries = {
    "write inside": lambda: (inside / "new" / "a").write_text("x"),
    "move inside": lambda: (inside / "new" / "a").rename(inside / "a"),
    "read data": (data / "key").read_text,
    "import": lambda: __import__("livek12.core.scoring.report"),
    "child runs": lambda: subprocess.run([sys.executable, "-c", "1"], check=True),
    "write data": lambda: (data / "key").write_text("x"),
    "read outside": (outside / "key").read_text,
    "list outside": lambda: list(outside.iterdir()),
    "write outside": lambda: (outside / "a").write_text("x"),
    "remove outside": (outside / "key").unlink,
    "link inside": lambda: (inside / "b").symlink_to(outside / "key"),
    "follow it": (inside / "b").read_text,
    "child reads outside": lambda: subprocess.run([sys.executable, "-c", child], check=True, capture_output=True),
    "connect": lambda: socket.create_connection(("127.0.0.1", port), 1),
}
done = {}
for name, try_it in tries.items():
    try:
        try_it()
        done[name] = True
    except (OSError, subprocess.CalledProcessError):
        done[name] = False
print(json.dumps([confined, done]))
"""
ALLOWED = ("write inside", "move inside", "read data", "import", "child runs", "link inside")


@pytest.mark.parametrize("mode", ["alone", "network", "off"])
def test_a_confined_process_reaches_its_folders_alone(mode: str, tmp_path: Path) -> None:
    if mode != "off" and guard.version() < 4:
        pytest.skip(guard.state())
    for name in ("inside", "data", "outside", "tmp"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "key").write_text("secret")
    places = [tmp_path / name for name in ("inside", "data", "outside")]
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp"), "LIVEK12_CACHE": str(tmp_path / "cache")}
    environment |= {guard.OFF: "off"} if mode == "off" else {}
    with socket.create_server(("127.0.0.1", 0)) as server:
        words = [*places, server.getsockname()[1], mode]
        run = [sys.executable, "-c", TRIES, *map(str, words)]
        out = subprocess.run(run, env=environment, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    confined, done = json.loads(out)
    reached = {"alone": ALLOWED, "network": (*ALLOWED, "connect"), "off": tuple(done)}[mode]
    assert confined == (mode != "off")
    if mode == "off":
        assert done["read outside"] and done["connect"]
    else:
        assert [name for name, way in done.items() if way] == list(reached)


def test_commands_on_folders_of_others_confine_themselves(tmp_path: Path) -> None:
    modules = {name: ROOT / "scripts" / "commands" / f"{cli.MODULES.get(name, name)}.py" for name in CONFINED}
    functions = {name: module.read_text().partition(f"\ndef {name}(")[2] for name, module in modules.items()}
    sources = {name: re.split(r"\n(?=@|def |class )", function)[0] for name, function in functions.items()}
    assert [name for name, source in sources.items() if "options.confine(" not in source] == []
    if guard.version() < 2:
        pytest.skip(guard.state())
    (tmp_path / "set").mkdir()
    (tmp_path / "tmp").mkdir()
    (tmp_path / "card").write_text("---\nconfigs: []\n---\n")
    (tmp_path / "set" / "README.md").symlink_to(tmp_path / "card")
    run = [sys.executable, "-m", "livek12", "validate", str(tmp_path / "set")]
    ended = subprocess.run(
        run, env={**os.environ, "TMPDIR": str(tmp_path / "tmp")}, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in ended.stderr
    assert ended.returncode and "Permission denied" in ended.stdout + ended.stderr


@pytest.mark.parametrize("reply", [-1, 0, 1])
def test_a_kernel_without_it_changes_nothing(reply: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "own_process", True)
    monkeypatch.setattr(guard, "_call", lambda *_: reply)
    assert guard.confine([tmp_path / "missing"]) is False
    assert not (tmp_path / "missing").exists()
    assert "not in this kernel" in livek12_here("--version", "--verbose").out
