"""Data sets that many tests begin with, built once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def built(built_sample: Path) -> Path:
    """The sample exam as a data set, which no test changes."""
    return built_sample


@pytest.fixture
def copied(built: Path, tmp_path: Path) -> Path:
    """The sample exam as a data set that the test may change."""
    return Path(shutil.copytree(built, tmp_path / "data"))
