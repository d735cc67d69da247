"""Warnings: each once, of a kind only the first few, and no more of them held than are shown. Progress that waits."""

from __future__ import annotations

import io
import re
import time
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
        (9.0, ["reading: 2/4 after 18 s", "reading: 4/4 after 36 s"]),
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


def test_waiting_says_for_how_long_and_for_which_stage(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_EVERY_SECONDS", 0.05)
    with progress.WaitProgress("loading m"):
        progress.tell_stage("vLLM captures graphs")
        end = time.monotonic() + 60
        shown = ""
        while "graphs\n" not in shown and time.monotonic() < end:
            shown += capsys.readouterr().err
    shown += capsys.readouterr().err
    assert re.fullmatch(r"(loading m: \d+ s(, vLLM captures graphs)?\n)+loading m: done after \d+ s\n", shown)
    progress.tell_stage("nobody waits")


@pytest.mark.parametrize("quiet", [True, False])
def test_waiting_that_is_short_or_quiet_is_not_announced(
    quiet: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "quiet", quiet)
    monkeypatch.setattr(progress, "_EVERY_SECONDS", 0.01 if quiet else 10.0)
    with progress.WaitProgress("loading m"):
        time.sleep(0.1)
    assert capsys.readouterr().err == ""


def test_on_a_terminal_waiting_is_a_line_that_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    screen.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(progress, "_PATIENCE_SECONDS", 0.01)
    monkeypatch.setattr("sys.stderr", screen)
    with progress.WaitProgress("loading m"):
        progress.tell_stage("vLLM compiles the model")
        end = time.monotonic() + 60
        while "compiles" not in screen.getvalue() and time.monotonic() < end:
            time.sleep(0.01)
    assert "loading m, vLLM compiles the model" in screen.getvalue()
