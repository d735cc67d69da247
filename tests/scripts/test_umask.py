"""Where the umask lets everybody write (as in some containers), what commands make is not writable for everybody."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from livek12.dataset_builders.review.store import ReviewStore
from tests.conftest import ROOT
from tests.endpoint import oracle_at
from tests.scripts.command import livek12_here

pytestmark = pytest.mark.slow
PAPER = ROOT / "dataset_builders" / "sample" / "papers" / "sample_zh.pdf"
TASK = "livek12_text_only_en"


@pytest.fixture
def everybodys() -> Iterator[Callable[[], int]]:
    """Sets the umask to that of such a container."""
    before = os.umask(0)
    os.umask(before)
    yield lambda: os.umask(0)
    os.umask(before)


@pytest.mark.release
def test_nothing_that_a_command_makes_is_writable_for_everybody(
    everybodys: Callable[[], int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pypdfium2")
    for name in ("HOME", "TMPDIR", "XDG_CACHE_HOME", "LIVEK12_CACHE"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.chdir(tmp_path)
    with oracle_at(tmp_path / "asked") as address:
        engine = ["--model", "oracle", "--engine", "openai", "--engine-args", f"base_url={address}"]
        entry = {"name": "oracle", "engine": "openai", "engine_args": {"base_url": address}}
        said = {"out": "sweep", "data": "data", "tasks": [TASK], "limit": 2, "models": [entry]}
        (tmp_path / "sweep.yaml").write_text(yaml.safe_dump(said))
        for command in (
            ["build", "sample", "--out", "data"],
            ["ingest", PAPER, "--out", "exam"],
            ["dedup", "exam", "--against", "data", "--out", "pairs.csv"],
            ["tag", "exam", "--labels", "data"],
            ["translate", "exam", *engine, "--retries", "0", "--out", "translated"],
            ["review", "exam", "--export", "accepted"],
            ["subsets", "propose", "complex_layout", "--data", "data", "--pictures", "--out", "sheet.csv"],
            ["run", "--task", TASK, "--data", "data", *engine, "--limit", "3", "--out", "run"],
            ["report", "run"],
            ["sweep", "sweep.yaml"],
        ):
            everybodys()
            done = livek12_here(*command)
            assert done.code in (0, 1), (command, done.err)
            if command[0] == "translate":
                with ReviewStore(Path("exam")) as store:
                    store.act("ann", "accept", next(iter(store.board.entries)), {})
    found = [path for path in tmp_path.rglob("*") if not path.is_symlink() and path.stat().st_mode & stat.S_IWOTH]
    ours = {tmp_path / name for name in ("asked", "sweep.yaml")}
    assert [str(path.relative_to(tmp_path)) for path in found if path not in ours] == []
    for made in ("data", "exam", "translated", "run/report.html", "sweep", "sheet.csv"):
        assert (tmp_path / made).exists(), made
