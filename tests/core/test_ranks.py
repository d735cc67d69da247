"""Which of several launched processes this one is, from what launchers put into the environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from livek12.core.errors import UserError
from livek12.core.ranks import Rank, join_launch, only_one_started, this_rank, wait_until


@pytest.mark.parametrize(
    ("environment", "rank"),
    [
        ({}, Rank()),
        ({"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1"}, Rank(3, 4, 1)),
        ({"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0"}, Rank()),
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": "1"}, Rank(1, 2, 1)),
        ({"PMI_RANK": "1", "PMI_SIZE": "2"}, Rank(1, 2, 0)),
        ({"RANK": "3"}, Rank()),
        ({"WORLD_SIZE": "3"}, Rank()),
        ({"RANK": "3", "WORLD_SIZE": "3"}, Rank()),
        ({"RANK": "-1", "WORLD_SIZE": "two"}, Rank()),
    ],
)
def test_the_launcher_says_who_we_are(environment: dict[str, str], rank: Rank) -> None:
    assert this_rank(environment) == rank
    assert rank.first is (rank.number == 0)
    assert rank.alone is (rank.count == 1)


@pytest.mark.parametrize(
    ("environment", "only"),
    [
        ({}, False),
        ({"ACCELERATE_USE_CPU": "True"}, False),
        ({"ACCELERATE_USE_CPU": "True", "MASTER_ADDR": "127.0.0.1"}, True),
        ({"ACCELERATE_USE_CPU": "True", "MASTER_ADDR": "127.0.0.1", "RANK": "0", "WORLD_SIZE": "2"}, False),
    ],
)
def test_a_launch_for_cpus_that_started_one_process_is_noticed(environment: dict[str, str], only: bool) -> None:
    assert only_one_started(environment) is only


def test_the_others_wait_for_the_folder_of_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("livek12.core.ranks._FOLDER_SECONDS", 0.0)
    monkeypatch.setattr("livek12.core.ranks._LOOK_SECONDS", 0.01)
    monkeypatch.setattr("livek12.core.ranks.signal.signal", lambda *_: None)
    for number in (0, 1):
        monkeypatch.setenv("RANK", str(number))
        monkeypatch.setenv("WORLD_SIZE", "2")
        if number:
            with pytest.raises(UserError, match="process 0 of this launch has not made it"):
                join_launch(tmp_path)
            (tmp_path / "run.json").write_text("{}")
        assert join_launch(tmp_path).number == number


def test_a_wait_says_what_for_and_ends(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("livek12.core.ranks._LOOK_SECONDS", 0.001)
    monkeypatch.setattr("livek12.core.ranks._SAY_SECONDS", 0.0)
    looks = iter([False, False, True])
    assert wait_until(lambda: next(looks), lambda seconds: f"waiting since {seconds:.0f} s")
    assert capsys.readouterr().err.splitlines() == ["waiting since 0 s"] * 2
    assert not wait_until(lambda: False, lambda _: "", seconds=0.0)
