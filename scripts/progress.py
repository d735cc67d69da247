"""What a person sees while work goes on: a bar on a terminal, a line now and then elsewhere; all on stderr.

Of several launched processes the first alone shows progress; each says its own warnings.
"""

from __future__ import annotations

import sys
import time
from types import TracebackType

from livek12.core.ranks import this_rank

_EVERY_SECONDS = 10.0
_SHOWN_WARNINGS = 5
_warned: dict[str, int] = {}
_said: set[str] = set()


class Progress:
    """Counts steps of one piece of work, of `total` where that is known. Use as a context manager."""

    def __init__(self, what: str, total: int | None = None, done: int = 0) -> None:
        self._what, self._total, self._done = what, total, done
        self._began = self._told = time.monotonic()
        self._bar = None
        self._quiet = not this_rank().first
        if sys.stderr.isatty() and not self._quiet:
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                MofNCompleteColumn,
                TextColumn,
                TimeElapsedColumn,
                TimeRemainingColumn,
            )
            from rich.progress import Progress as Bar

            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
            self._bar = Bar(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=Console(stderr=True))
            self._task = self._bar.add_task(what, total=total, completed=done)

    def step(self) -> None:
        """One more is done."""
        self._done += 1
        if self._bar is not None:
            self._bar.advance(self._task)
        elif time.monotonic() - self._told > _EVERY_SECONDS:
            self._told = time.monotonic()
            self._tell()

    def _tell(self) -> None:
        if self._quiet:
            return
        seconds = time.monotonic() - self._began
        of = "" if self._total is None else f"/{self._total}"
        print(f"{self._what}: {self._done}{of} after {seconds:.0f} s", file=sys.stderr, flush=True)

    def __enter__(self) -> Progress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
        else:
            self._tell()


def show_log() -> None:
    """From now on, what the package logs as a warning is said like any other."""
    import logging

    class Saying(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            warn(record.getMessage())

    logging.getLogger("livek12").addHandler(Saying(logging.WARNING))


def warn(line: str, kind: str = "") -> None:
    """One line on stderr, once; of each kind only the first few (every one stands in the run folder)."""
    if line in _said:
        return
    _warned[kind] = _warned.get(kind, 0) + 1
    if not kind or _warned[kind] <= _SHOWN_WARNINGS:
        _said.add(line)  # only what is shown: a million failures must not be held
        print(f"warning: {' '.join(line.split())}", file=sys.stderr, flush=True)
    elif _warned[kind] == _SHOWN_WARNINGS + 1:
        print(f"warning: more of the kind {kind!r}; all are in the run folder", file=sys.stderr, flush=True)
