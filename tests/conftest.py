"""What all tests share: where the real data lies, and what this machine can do."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real exams beside the repository; the test is skipped, saying so, where it is absent."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("real data (../shared/data) is not beside the repository")
    return folder
