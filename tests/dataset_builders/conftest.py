"""Data sets that many tests begin with, built once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from livek12.dataset_builders import build


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample exam as a data set, which no test changes."""
    folder = tmp_path_factory.mktemp("sample") / "data"
    build("sample", "", folder)
    return folder


@pytest.fixture
def copied(built: Path, tmp_path: Path) -> Path:
    """The sample exam as a data set that the test may change."""
    return Path(shutil.copytree(built, tmp_path / "data"))
