"""The house is in order: every room is packaged, every command starts, nothing heavy is imported to list them."""

from __future__ import annotations

import ast
import configparser
import graphlib
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from livek12 import __version__
from livek12.scripts.cli import COMMANDS
from livek12.tasks.registry import get_tasks
from tests import costs
from tests.conftest import ROOT
from tests.scripts.command import leaf, livek12_here

ROOMS = tuple(sorted(link.name for link in (ROOT / "src" / "livek12").iterdir() if link.is_symlink()))
HEAVY = {"torch", "vllm", "transformers", "datasets", "pyarrow", "sympy", "numpy", "fastapi", "ray", "jinja2", "openai"}


TOP = {
    *(".ci", ".github", ".gitignore", ".pre-commit-config.yaml", "ARCHITECTURE.md", "CHANGELOG.md", "CITATION.cff"),
    *(
        "CONTRIBUTING.md",
        "LICENSE",
        "MANIFEST.in",
        "README.md",
        "SECURITY.md",
        "constraints.txt",
        "docs",
        "integrations",
    ),
    *("mkdocs.yml", "pyproject.toml", "setup.cfg", "setup.py", "src", "tests"),
}
"""What lies at the top beside the rooms."""


def settings() -> configparser.ConfigParser:
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg")
    return parser


def test_every_room_is_packaged() -> None:
    (named,) = (node for node in ast.parse((ROOT / "setup.py").read_text()).body if "ROOMS" in ast.unparse(node)[:6])
    assert isinstance(named, ast.Assign)
    assert tuple(sorted(ast.literal_eval(named.value))) == ROOMS


def test_every_data_file_ships() -> None:
    shipped = {
        file
        for package, patterns in settings()["options.package_data"].items()
        for pattern in patterns.split(",")
        for file in ROOT.joinpath("src", *package.split(".")).resolve().glob(pattern.strip())
    }
    own = {file for room in ROOMS for file in (ROOT / room).rglob("*") if file.is_file() and "bench" not in file.parts}
    missing = {f for f in own - shipped if f.suffix not in {".py", ".pyc", ".sh"}}
    assert not missing, sorted(str(file.relative_to(ROOT)) for file in missing)


def test_the_version_is_the_one_that_changelog_and_citation_name() -> None:
    assert f"\n## {__version__} (" in (ROOT / "CHANGELOG.md").read_text()
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Imports inside functions count: they hide a circle and do not break it. Those for types alone load nothing."""
    grimp = pytest.importorskip("grimp", reason="import-linter is not installed")
    graph = grimp.build_graph("livek12", exclude_type_checking_imports=True, cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) - {module} for module in graph.modules}
    assert len(imports) > 300
    graphlib.TopologicalSorter(imports).prepare()  # raises CycleError, with the circle


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_explains_itself(command: str) -> None:
    ended = livek12_here(command, "--help")
    assert ended.code == 0
    assert ended.out.startswith(f"Usage: livek12 {command}")


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_shows_an_example_that_is_understood(command: str) -> None:
    group, _, _ = leaf([command])
    for words in [[command, name] for name in getattr(group, "commands", ())] or [[command]]:
        one, above, _ = leaf(words)
        line = shlex.split(one.epilog.splitlines()[-1])
        assert line[: len(words) + 1] == ["livek12", *words]
        called, _, args = leaf(line[1:])
        assert called.name == one.name
        given = one.make_context(one.name, args, parent=above)  # complains of what is missing, unknown or too much
        assert not given.params.get("task") or get_tasks(given.params["task"])


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


def test_nothing_else_lies_at_the_top() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {name.partition("/")[0] for name in listed.splitlines()} == TOP | {*ROOMS}


def test_costs_are_of_tests_that_are_there() -> None:
    listed = [name.split("::") for name in costs.listed()]
    texts = {name: (ROOT / name).read_text() if (ROOT / name).exists() else "" for name, *_ in listed}
    gone = ["::".join(name) for name in listed if f"def {name[-1]}(" not in texts[name[0]]]
    assert len(gone) < len(listed) / 10, f"measure the suite anew (tests/costs.py): {gone}"


def test_what_the_docs_have_people_make_is_ignored() -> None:
    ignored = {line.strip("/") for line in (ROOT / ".gitignore").read_text().splitlines()}
    assert {"accepted", "data", "demo", "exam", "exported", "papers", "runs", "site"} <= ignored


def test_workflows_pin_their_actions_and_run_on_every_supported_python() -> None:
    workflows = {file.name: file.read_text() for file in (ROOT / ".github" / "workflows").glob("*.yml")}
    used = re.findall(r"uses: (\S+)(.*)", "".join(workflows.values()))
    loose = [
        name for name, tag in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", name) or not tag.startswith("  # v")
    ]
    assert len(used) > 5 and not loose
    versions = re.findall(r"Python :: (3\.\d+)", (ROOT / "setup.cfg").read_text())
    assert f"python: {json.dumps(versions)}" in workflows["test.yml"]
    assert "pip-audit --strict --requirement constraints.txt" in workflows["test.yml"]
    installed = re.findall(r"python -m pip install (.*)", "".join(workflows.values()))
    assert {*installed} == {
        "--require-hashes --requirement .github/tools.txt",
        "--constraint constraints.txt dist/*.whl",
    }
    assert "cyclonedx-py environment" in workflows["release.yml"] and "id-token: write" in workflows["release.yml"]


def test_no_file_names_this_machine_or_a_registry() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.split(b"\0")
    marks = [b"/wo" + b"rk/", b"py" + b"pi.org", b"deb" + b"ian.org", b"npm" + b"js.org"]
    for path in (ROOT / name.decode() for name in filter(None, listed)):
        content = b"" if path.is_symlink() else path.read_bytes()
        assert not [mark for mark in marks if mark in content], path


@cache
def parsed(module: Path) -> ast.Module:
    return ast.parse(module.read_text(encoding="utf-8"))


def test_no_class_has_the_name_of_one_in_another_room() -> None:
    rooms: dict[str, set[str]] = {}
    for room in ROOMS:
        for module in (ROOT / room).rglob("*.py"):
            for node in parsed(module).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    rooms.setdefault(node.name, set()).add(room)
    assert not {name: found for name, found in rooms.items() if len(found) > 1}


MOST = {"vague names": 61, "first words": 0, "words in 1,000 lines": 805}
"""Ratchet of the house's words (see CONTRIBUTING.md): each number may only fall."""
_VAGUE = {"found", "said", "told", "one", "known", "held", "asked"}
_QUESTION = re.compile(r"(What|Whether|Who|Where|How)\b")


def test_the_words_of_the_code_only_get_fewer_and_plainer() -> None:
    """Counts variables with vague names, docstrings that open like a question, and the density of words for people."""
    counts, prose, length = dict.fromkeys(MOST, 0), 0, 0
    for module in (file for room in ROOMS for file in (ROOT / room).rglob("*.py")):
        if "bench" in module.parts:
            continue
        lines = module.read_text(encoding="utf-8").splitlines()
        length += len(lines)
        prose += sum(len(line.split()) - 1 for line in lines if line.lstrip().startswith("# "))
        for node in ast.walk(parsed(module)):
            stored = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id
            counts["vague names"] += (stored or (isinstance(node, ast.arg) and node.arg)) in _VAGUE
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                docstring = ast.get_docstring(node) or ""
                counts["first words"] += bool(_QUESTION.match(docstring))
                prose += len(docstring.split())
    counts["words in 1,000 lines"] = 1000 * prose // length
    assert {name: count for name, count in counts.items() if count > MOST[name]} == {}


WRITERS = {
    "core/files.py": "the one place",
    "core/compaction.py": "its own temporary files, which take their places",
    "core/run/remote.py": "the cache of the user",
    "core/run_answers.py": "the same",
    "core/store.py": "the same",
    "core/run/locks.py": "links names that nobody has",
    "core/run/access.py": "a file without a name of its own",
    "engines/small_model.py": "the cache of the user",
    "evaluation/marking.py": "a folder of its own, made for it",
    "evaluation/results.py": "a temporary copy without gzip",
    "tasks/plugins/vlmevalkit.py": "a new name, which then takes its place",
    "dataset_builders/review/export.py": "removes what the list of the last export holds",
    "dataset_builders/writing/": "a hidden folder of its own (`workspace`)",
    "dataset_builders/publishing/": "the same",
}
"""Modules that write, rename or remove in another way than by `core.files`, and where."""
_WRITING = {
    *("write_text", "write_bytes", "touch", "symlink_to", "hardlink_to", "rmtree", "copyfile", "copy2", "copytree"),
    *("os.link", "os.replace", "os.rename", "os.truncate", "os.symlink", "NamedTemporaryFile"),
    *("unlink", "os.remove", "removedirs"),
}
_RENAMING = {"replace", "rename"}
"""Of paths, where they have one argument."""


def writes(call: ast.Call) -> bool:
    """Whether a call writes, renames or removes a file, opens one for writing, or removes a folder with its content."""
    name = ast.unparse(call.func)
    if name not in _WRITING and name.rpartition(".")[2] in _RENAMING:
        return len(call.args) == 1 and not call.keywords
    if name == "os.open":
        return any(flag in ast.unparse(call) for flag in ("O_WRONLY", "O_RDWR", "O_CREAT"))
    if name == "open" or name.endswith(".open"):
        values = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == "mode")]
        modes = [value.value for value in values if isinstance(value, ast.Constant) and isinstance(value.value, str)]
        return any({*mode} & {*"wax+"} for mode in modes if {*mode} <= {*"rwaxbt+"})
    return name in _WRITING or name.rpartition(".")[2] in _WRITING


def calls(*rooms: str) -> Iterator[tuple[str, ast.Call]]:
    """Every call of some rooms with the path of its module; what measures is not looked at."""
    for room in rooms:
        for module in sorted((ROOT / room).rglob("*.py")):
            path = module.relative_to(ROOT).as_posix()
            if not path.startswith("scripts/bench/"):
                yield from ((path, node) for node in ast.walk(parsed(module)) if isinstance(node, ast.Call))


def test_files_are_written_in_one_way() -> None:
    """Whatever lies in a folder that a user names is written and removed by `core.files`, which follows no link."""
    found = {path: node for path, node in calls(*ROOMS) if writes(node)}
    strange = {path: node.lineno for path, node in found.items() if not path.startswith(tuple(WRITERS))}
    assert not strange
    assert not {prefix for prefix in WRITERS if not any(path.startswith(prefix) for path in found)}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("open(path, 'a')", True),
        ("path.open('wb')", True),
        ("path.open(mode='r+')", True),
        ("os.open(path, os.O_RDWR | os.O_CREAT)", True),
        ("path.write_text(text)", True),
        ("shutil.rmtree(folder)", True),
        ("path.open('rb')", False),
        ("os.open(path, os.O_RDONLY)", False),
        ("Run.open('ab', 'c')", True),
        ("RunFolder.open(path, warn)", False),
        ("write_atomically(path, text)", False),
        ("path.unlink(missing_ok=True)", True),
        ("temporary.replace(path)", True),
        ("out.rename(old)", True),
        ("os.rename(old, new)", True),
        ("text.replace('a', 'b')", False),
        ("dataclasses.replace(row, text='')", False),
    ],
)
def test_what_writes_is_noticed(code: str, expected: bool) -> None:
    (call,) = (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call))
    assert writes(call) == expected


def test_every_csv_is_safe_to_open() -> None:
    """Of what people open in a spreadsheet; a harness reads its own tables as they are."""
    found = {path for path, call in calls(*ROOMS) if ast.unparse(call.func) in ("csv.writer", "csv.DictWriter")}
    assert found == {"core/tables.py", "tasks/plugins/vlmevalkit.py"}
