"""`croissant.json` read by mlcroissant: from a folder, from the loopback Hub, and from the address it names.

It has an environment of its own (`pip install mlcroissant gitpython pillow pytest` beside the core); elsewhere these
tests are skipped.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from livek12.core.questions import read_card
from livek12.dataset_builders.writing.statistics import read_statistics
from tests.hub import Hub
from tests.hub_client import Client

pytestmark = pytest.mark.release
mlcroissant = pytest.importorskip("mlcroissant", reason="mlcroissant has an environment of its own")


def rows(described: Any, folder: Path) -> dict[str, int]:
    """Rows of each record set, once its report is clean."""
    assert not described.metadata.ctx.issues.errors
    assert [each.id for each in described.metadata.record_sets][: len(read_card(folder))] == list(read_card(folder))
    return {each.id: sum(1 for _ in described.records(each.id)) for each in described.metadata.record_sets}


def counted(folder: Path) -> dict[str, int]:
    stated = read_statistics(folder)["configs"]
    return {config: sum(stated[config]["splits"].values()) for config in read_card(folder)}


def test_a_folder_is_read(built: Path) -> None:
    assert rows(mlcroissant.Dataset(jsonld=built / "croissant.json"), built) == counted(built)


def test_a_published_set_is_read_by_its_address(
    hub: Hub, logged_in: Client, built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert logged_in.livek12("publish", built, "--repo", "org/exam").code == 0
    tree = hub.repo("org/exam").commit_of("main")["tree"]
    repository = tmp_path / "git" / "datasets" / "org" / "exam"
    for path, entry in tree.items():
        if path != ".gitattributes":
            (repository / path).parent.mkdir(parents=True, exist_ok=True)
            (repository / path).write_bytes(hub.repo("org/exam").content(entry).read_bytes())
    place = f"{hub.url}/datasets/org/exam/resolve/main/croissant.json"
    described = mlcroissant.Dataset(jsonld=place, mapping={"repo": repository})
    assert described.metadata.url == f"{hub.url}/datasets/org/exam"
    assert described.metadata.version == "0.0.0+sample" and described.metadata.date_published
    assert described.metadata.ctx.issues.warnings == set()
    found = rows(described, repository)
    assert {config: found[config] for config in counted(built)} == counted(built)
    assert sum(count for config, count in found.items() if config.startswith("eval_")) > 0

    # By the address alone: git is told that the Hub is this folder, for the Hub of the tests does not speak git.
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=repository, check=True)
    git = {"COUNT": "1", "KEY_0": f"url.{tmp_path / 'git'}/.insteadOf", "VALUE_0": "https://huggingface.co/"}
    for name, value in git.items():
        monkeypatch.setenv(f"GIT_CONFIG_{name}", value)
    monkeypatch.setattr("mlcroissant._src.core.constants.DOWNLOAD_PATH", type(_downloads())(tmp_path / "downloads"))
    (tmp_path / "croissant.json").write_text(
        (repository / "croissant.json").read_text().replace(hub.url, "https://huggingface.co")
    )
    assert rows(mlcroissant.Dataset(jsonld=tmp_path / "croissant.json"), repository) == found
    assert list((tmp_path / "downloads").iterdir())


def _downloads() -> Any:
    from mlcroissant._src.core import constants

    return constants.DOWNLOAD_PATH
