"""Warnings: each once, of a kind only the first few, and no more of them held than are shown."""

from __future__ import annotations

import pytest

from livek12.scripts import progress


def test_of_many_of_a_kind_few_are_said_and_held(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said: set[str] = set()
    monkeypatch.setattr(progress, "_said", said)
    monkeypatch.setattr(progress, "_warned", {})
    for number in (0, *range(1000)):
        progress.warn(f"t/q/{number}: failed: gone", kind="failed")
    progress.warn("by itself")
    progress.warn("by itself")
    lines = capsys.readouterr().err.splitlines()
    assert lines[:5] == [f"warning: t/q/{number}: failed: gone" for number in range(5)]
    assert lines[5:] == ["warning: more of the kind 'failed'; all are in the run folder", "warning: by itself"]
    assert len(said) == 6
