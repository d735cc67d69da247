"""`livek12 plugins`: a path alone on stdout, the rest on stderr, and one clear line for whatever is wrong."""

from __future__ import annotations

import ast
import configparser
import json
import os
import re
import shlex
import shutil
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from livek12 import __version__
from livek12.core.errors import UserError
from livek12.tasks.plugins import HARNESSES
from livek12.tasks.plugins.harness_task import harness_name, open_task, require
from livek12.tasks.plugins.inspect_ai import FILE, file_of_tasks
from tests.plugins.conftest import needs, planted_answers, sample_data, write_rows  # noqa: F401  (a fixture)
from tests.scripts.command import ROOT, livek12, livek12_here

INSTALL = "pip install '.[lm-eval]' in the clone of livek12"


@pytest.fixture
def lm_eval_here() -> None:
    needs("lm_eval")


@pytest.mark.usefixtures("lm_eval_here")
def test_stdout_is_the_path_alone(sample_data: str) -> None:  # noqa: F811
    ended = livek12_here("plugins", "lm-eval", "--data", sample_data)
    assert ended.code == 0, ended.err
    folder = Path(ended.out.strip())
    assert ended.out == f"{folder}\n"
    assert folder.is_relative_to(Path(os.environ["LIVEK12_CACHE"]).resolve())
    assert (folder / "livek12_kmmmu.yaml").is_file()
    lines = ended.err.splitlines()
    assert lines[0].startswith("install: pip install ")
    assert lines[1].startswith("call: lm_eval ")
    assert f"--include_path {folder} " in lines[1]


@pytest.mark.usefixtures("lm_eval_here")
def test_folders_of_two_data_sets_never_mix(sample_data: str, tmp_path: Path) -> None:  # noqa: F811
    copy = Path(shutil.copytree(sample_data, tmp_path / "copy"))
    folders = {livek12_here("plugins", "lm-eval", "--data", data).out for data in (sample_data, copy, sample_data)}
    folders.add(livek12_here("plugins", "lm-eval").out)
    assert len(folders) == 3
    card = (copy / "README.md").read_text()
    (copy / "README.md").write_text(card.replace('config_name: "kmmmu_default"', 'config_name: "kmmmu_other"'))
    assert (changed := livek12_here("plugins", "lm-eval", "--data", copy).out) not in folders
    assert not (Path(changed.strip()) / "livek12_kmmmu.yaml").exists()


@pytest.mark.usefixtures("lm_eval_here")
def test_json_is_the_whole_guide(sample_data: str, tmp_path: Path) -> None:  # noqa: F811
    ended = livek12_here("plugins", "lm-eval", "--data", sample_data, "--out", tmp_path / "yaml", "--json")
    guide = json.loads(ended.out)
    assert set(guide) == {"path", "install", "call", "notes"}
    assert guide["path"] == str(tmp_path / "yaml")
    assert guide["notes"][0] == f"questions come from {Path(sample_data).resolve()}"
    settings = (tmp_path / "yaml" / "livek12_cfe_text.yaml").read_text()
    assert f"livek12: {__version__}" in settings


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nonsense",), "error: HARNESS 'nonsense': choose one of lm-eval, lmms-eval, inspect, lighteval, vlmevalkit"),
        (("lm-eval", "--data", "{tmp}/none"), "error: {tmp}/none: no such folder; build a data set"),
        (("lm-eval", "--data", "{tmp}"), "error: {tmp} has no README.md: not a data set; build one"),
        (("lm-eval", "--out", "{tmp}/file/x"), "error: {tmp}/file/x: cannot be written (Not a directory)"),
    ],
)
@pytest.mark.usefixtures("lm_eval_here")
def test_wrong_use_is_one_line(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    (tmp_path / "file").write_text("")
    ended = livek12_here("plugins", *(argument.format(tmp=tmp_path) for argument in arguments))
    assert ended.code == 2
    assert not ended.out
    assert len(ended.err.splitlines()) == 1
    assert ended.err.startswith(message.format(tmp=tmp_path))


@pytest.mark.parametrize("installed", [True, False])
def test_every_harness_has_its_guide(installed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether or not it is installed here, which a note says."""
    if not installed:
        monkeypatch.setattr("importlib.metadata.version", _nothing_installed)
    for harness in HARNESSES:
        for name in (harness, harness.replace("-", "_")):
            ended = livek12_here("plugins", name, "--out", tmp_path / harness, "--json")
            assert ended.code == 0, ended.err
            guide = json.loads(ended.out)
            assert all(guide[part] for part in ("path", "install", "call"))
            said = [note for note in guide["notes"] if "is not installed in this environment" in note]
            assert installed or len(said) == (harness != "vlmevalkit")


def _nothing_installed(name: str) -> str:
    raise PackageNotFoundError(name)


def test_lm_eval_is_given_the_files_that_people_look_for(tmp_path: Path) -> None:
    few, all_ = tmp_path / "few", tmp_path / "all"
    assert livek12_here("plugins", "lm-eval", "--out", few).code == 0
    assert livek12_here("plugins", "lm-eval", "--out", all_, "--all").code == 0
    names = [{file.stem for file in folder.glob("*.yaml")} for folder in (few, all_)]
    assert names[0] < names[1] and len(names[0]) < 40 < 200 < len(names[1])
    assert {"livek12_text_only", "livek12_cfe_text", "livek12_kmmmu", "livek12_mdk12"} <= names[0]
    assert livek12_here("plugins", "inspect", "--all").code == 2


def test_the_folder_of_lm_eval_describes_itself(sample_data: str, tmp_path: Path) -> None:  # noqa: F811
    """As that harness asks of tasks: articles, groups, tags, tasks, a checklist; nothing of this machine."""
    assert livek12_here("plugins", "lm-eval", "--data", sample_data, "--out", tmp_path).code == 0
    readme = (tmp_path / "README.md").read_text()
    titles = [line.strip("# ") for line in readme.splitlines() if line.startswith("##")]
    assert titles == [
        *("Paper", "Citation", "Groups, Tags, and Tasks", "Groups", "Tags", "Tasks", "Checklist", "Changelog"),
    ]
    listed = set(re.findall(r"^\* `(\w+)`", readme, re.M))
    assert listed >= {file.stem for file in tmp_path.glob("*.yaml")}
    assert "Classroom Final Exam" in readme and "https://arxiv.org/abs/2602.19517" in readme
    assert sample_data not in readme and "--data ORG/NAME" in readme
    (tmp_path / "README.md").write_text("of someone else")
    assert livek12_here("plugins", "lm-eval", "--data", sample_data, "--out", tmp_path).code == 0
    assert (tmp_path / "README.md").read_text() == "of someone else"


def test_the_tasks_for_the_register_of_inspect_are_those_of_today() -> None:
    """The file that a register points at: each task stands in its source."""
    file = ROOT / "integrations" / FILE
    assert file.read_text() == file_of_tasks(every=False), f"write it anew: tasks.plugins.inspect_ai.{file_of_tasks}"
    found = {node.name for node in ast.parse(file.read_text()).body if isinstance(node, ast.FunctionDef)}
    assert {"cfe", "cfe_text", "kmmmu", "mdk12", "livek12_text_only"} <= found and len(found) < 40


def test_the_call_can_be_copied(sample_data: str, tmp_path: Path) -> None:  # noqa: F811
    """It is one shell command, whatever the path looks like, and names a task that the data set has."""
    odd = tmp_path / "a set's folder"
    odd.symlink_to(sample_data)
    listed = {harness_name(row["name"]) for row in json.loads(livek12_here("tasks", "--data", odd, "--json").out)}
    for harness in HARNESSES:
        ended = livek12_here("plugins", harness, "--data", odd, "--out", tmp_path / f"out of {harness}", "--json")
        if ended.code:
            continue
        words = shlex.split(json.loads(ended.out)["call"])
        assert any(str(odd) in word or str(tmp_path / f"out of {harness}") in word for word in words), words
        named = [harness_name(re.sub(r"^livek12/|^.*\.py:|_with(out)?_pictures$", "", word)) for word in words]
        assert listed & set(named), words


@pytest.mark.parametrize("name", ["plain", "资料"])
def test_a_locale_without_utf8_is_no_traceback(sample_data: str, tmp_path: Path, name: str) -> None:  # noqa: F811
    """What a run ends with can be printed, dashes and all; an argument that cannot be read is one line."""
    (tmp_path / name).symlink_to(sample_data)
    answers = write_rows(tmp_path / "rows.jsonl", planted_answers(open_task("kmmmu", sample_data).documents))
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    how = ("--task", "kmmmu", "--data", tmp_path / name, "--out", tmp_path / "run")
    ended = livek12("import-responses", answers, *how, **locale)
    if name == "plain":
        assert ended.code == 0, ended.err
        assert (tmp_path / "run" / "report.html").is_file()
    else:
        assert ended.code == 2
        assert ended.err.splitlines() == [ended.err.strip()]
        assert ended.err.startswith("error: this locale cannot read the command line: set PYTHONUTF8=1")


@pytest.mark.parametrize(
    ("package", "floor", "message"),
    [
        ("no-such-harness", "1", f"no-such-harness is not installed in this environment; {INSTALL}"),
        ("pytest", "9999", f"pytest .* is too old for the plug-in, which needs 9999 or newer; {INSTALL}"),
    ],
)
def test_a_missing_or_old_harness_is_one_line(package: str, floor: str, message: str) -> None:
    with pytest.raises(UserError, match=message.replace("[", r"\[")):
        require(package, floor, INSTALL)
    assert require("pytest", "7", INSTALL)


TITLES = {
    "lm-eval": "lm-evaluation-harness",
    "lmms-eval": "lmms-eval",
    "inspect": "Inspect",
    "lighteval": "lighteval",
    "vlmevalkit": "VLMEvalKit",
}
"""The harnesses that have an extra and whose logs are imported, and what the page calls them."""


@pytest.mark.parametrize("harness", TITLES)
def test_the_page_installs_and_imports_each_harness(harness: str) -> None:
    """`scripts/test_harnesses.sh` takes the install line from the page, and tries it."""
    page = (ROOT / "docs" / "harnesses.md").read_text()
    section = page.split(f"\n## {TITLES[harness]}\n")[1].split("\n## ")[0]
    line = next(line for line in section.splitlines() if line.startswith("pip install "))
    extras = re.search(r"'\.\[([\w,-]+)\]'", line)
    assert extras and harness in extras[1].split(",")
    assert "<" in wanted(harness)[0], "a version that nobody tried"
    assert f"--from {harness} " in section


def wanted(extra: str) -> list[str]:
    """What an extra asks for."""
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg")
    return settings["options.extras_require"][extra].split("\n")[1:]


def test_extras_hold_what_the_documented_calls_import() -> None:
    assert any(one.startswith("openai>=") for one in wanted("inspect"))  # openai-api/… endpoints
    assert any(one.startswith("lighteval[litellm]") for one in wanted("lighteval"))  # endpoint litellm
