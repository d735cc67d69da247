"""Warnings: each once, of a kind only the first few, and no more of them held than are shown. Progress that waits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from livek12.core import progress


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
    assert lines[5:] == ["warning: more of the kind 'failed' are only counted", "warning: by itself"]
    assert len(said) == 6

    progress.tell_counts()
    assert capsys.readouterr().err == "warning: 995 more of the kind 'failed'; each stands in what was written\n"
    progress.tell_counts()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("seconds", "lines"),
    [
        (0.5, []),
        (2.0, ["reading: 4/4 after 8 s"]),
        (9.0, ["reading: 2/4 after 18 s", "reading: 4/4 after 36 s", "reading: 4/4 after 36 s"]),
    ],
)
def test_what_is_done_within_seconds_is_not_announced(
    seconds: float, lines: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr("livek12.core.progress.time.monotonic", lambda: now[0])

    def work() -> Iterator[int]:
        for item in range(4):
            now[0] += seconds
            yield item

    assert list(progress.watched(work(), "reading", 4)) == [0, 1, 2, 3]
    assert capsys.readouterr().err.splitlines() == lines


def test_watching_begins_with_the_first_item_and_ends_with_the_last(capsys: pytest.CaptureFixture[str]) -> None:
    taken = progress.watched(iter("ab"), "reading")
    assert next(taken) == "a"
    assert next(taken) == "b"
    assert next(taken, None) is None
    assert capsys.readouterr().err == ""
