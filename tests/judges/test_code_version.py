"""The version of the code that decides: it follows what the code says, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from livek12.judges.code_version import DECIDING, PANEL, code_version, version_of

CODE = b'''"""A module."""
from typing import TYPE_CHECKING
from livek12.judges.rules.names import placed

if TYPE_CHECKING:
    from livek12.judges.base import Stage

LIMIT = 3
"""How many."""


def decide(gold: str, answer: str) -> bool:
    """Whether they are equal."""
    import re

    return re.sub(r"\\s", "", gold) == answer[:LIMIT]  # spaces say nothing
'''
SAME = {
    "comment": (b"  # spaces say nothing", b""),
    "docstring": (b"Whether they are equal.", b"Whether two are equal."),
    "text below a constant": (b'"""How many."""', b""),
    "import": (b"livek12.judges.rules.names", b"livek12.judges.naming"),
    "annotation": (b"gold: str, answer: str) -> bool", b"gold, answer)"),
    "layout": (b"gold) == answer", b"gold) == (\n        answer)".replace(b"(\n        answer)", b"(answer)")),
    "place": (b'LIMIT = 3\n"""How many."""\n', b""),
}
OTHER = {
    "constant": (b"LIMIT = 3", b"LIMIT = 4"),
    "operator": (b"==", b"!="),
    "name": (b"re.sub", b"re.match"),
    "text": (b'"", gold', b'" ", gold'),
    "missing": (b"[:LIMIT]", b""),
}


@pytest.mark.parametrize("edit", SAME)
def test_how_it_is_written_does_not_matter(edit: str) -> None:
    before, after = SAME[edit]
    assert before in CODE
    moved = [b"LIMIT = 3\n"] if edit == "place" else []
    assert version_of([*moved, CODE.replace(before, after)]) == version_of([CODE])


@pytest.mark.parametrize("edit", OTHER)
def test_what_it_says_does(edit: str) -> None:
    before, after = OTHER[edit]
    assert before in CODE
    assert version_of([CODE.replace(before, after)]) != version_of([CODE])


def test_files_may_be_joined_and_taken_apart() -> None:
    assert version_of([b"A = 1\nB = 2\n", b"C = 3\n"]) == version_of([b"C = 3\nA = 1\n", b"B = 2\n"])


def test_it_covers_all_that_marking_by_rule_imports() -> None:
    """A module of the rules that is forgotten would leave stale marks."""
    program = """
import sys
from livek12.judges.cascade import default_cascade
from livek12.tasks.scorer import mark_response
default_cascade()
print(*(name for name in sys.modules if name.startswith("livek12.")))
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    modules = {name.partition(".")[2].replace(".", "/") for name in found.split()}
    covered = {place.removesuffix(".py") for place in DECIDING}
    left = {name for name in modules if not any(name == one or name.startswith(f"{one}/") for one in covered)}
    rooms = {"core", "judges", "tasks"}
    records = {"core/records"}
    engines = {"engines", "engines/arguments", "engines/base", "engines/checks", "core/arguments", "core/engine_kinds"}
    told = {"core/progress", "core/ranks", "core/version", "core/visible"}
    process = {"core/errors", "core/process", "core/silence", "core/store"}
    decide_nothing = {*engines, *told, *process, *records}
    assert left <= rooms | decide_nothing | {"judges/code_version"}, "put it into DECIDING, or here"
    assert covered <= modules, "is gone"


def test_it_is_remembered_and_a_damaged_memory_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = [code_version(DECIDING), code_version(PANEL)]
    monkeypatch.setenv("LIVEK12_CACHE", str(tmp_path))
    for _ in range(2):
        code_version.cache_clear()
        assert [code_version(DECIDING), code_version(PANEL)] == known
    monkeypatch.setattr("livek12.judges.code_version.version_of", lambda sources: pytest.fail("it was known"))
    code_version.cache_clear()
    assert [code_version(DECIDING), code_version(PANEL)] == known
    monkeypatch.undo()
    monkeypatch.setenv("LIVEK12_CACHE", "/dev/null/nowhere")
    code_version.cache_clear()
    assert [code_version(DECIDING), code_version(PANEL)] == known
