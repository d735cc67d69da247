"""Progress on stderr: a bar on a terminal, a line now and then elsewhere.

Of several launched processes only the first shows progress.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import TypeVar

from livek12.core.ranks import this_rank
from livek12.core.visible import visible

_EVERY_SECONDS = 10.0
_PATIENCE_SECONDS = 3.0
_SHOWN_WARNINGS = 5
quiet = False
"""Whether nothing but warnings is to be said."""
_bars: list[Progress] = []
"""Those that the terminal shows now."""
_waiting: list[WaitProgress] = []
_warned: dict[str, int] = {}
_said: set[str] = set()
T = TypeVar("T")


class Progress:
    """Counts the steps of one task; a context manager.

    `more` is further status text, for slow steps; `patient` is silent for the first few seconds.
    """

    def __init__(
        self,
        what: str,
        total: int | None = None,
        done: int = 0,
        more: Callable[[], str] = lambda: "",
        patient: bool = False,
    ) -> None:
        self._more = more
        self._what, self._total, self._done, self._before = what, total, done, done
        self._began = self._told = time.monotonic()
        self._silent_until = self._began + (_PATIENCE_SECONDS if patient else 0.0)
        self._line = ""
        self._bar = None
        self._quiet = quiet or not this_rank().first
        if sys.stderr is not None and sys.stderr.isatty() and not self._quiet:  # a service may have none
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
            self._bar = Bar(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=Console(stderr=True))
            self._task = self._bar.add_task(what, total=total, completed=done)

    def step(self, count: int = 1) -> None:
        """Counts finished steps."""
        self._done += count
        self.beat()

    def beat(self) -> None:
        """Shows life without a finished step."""
        now = time.monotonic()
        if now < self._silent_until:
            return
        if self._bar is not None:
            self._show()
            self._bar.update(self._task, completed=self._done, description=self._what + self._more())
        elif now - self._told > _EVERY_SECONDS:
            self._told = now
            self._tell()

    def _tell(self) -> None:
        if self._quiet:
            return
        seconds = time.monotonic() - self._began
        of = "" if self._total is None else f"/{self._total}"
        line = f"{self._what}: {self._done}{of} after {seconds:.0f} s{self._more()}"
        if line != self._line:
            print(line, file=sys.stderr, flush=True)
        self._line = line

    def _show(self) -> None:
        if self._bar is not None and self not in _bars:
            _bars.append(self)
            self._bar.start()

    def __enter__(self) -> Progress:
        if time.monotonic() >= self._silent_until:
            self._show()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            _bars[:] = [other for other in _bars if other is not self]
            self._bar.stop()
        elif time.monotonic() < self._silent_until:
            return
        elif value is None or self._done > self._before:  # what was refused before it began has no progress
            self._tell()


class WaitProgress:
    """Shows a wait and its stage; a context manager."""

    def __init__(self, what: str) -> None:
        self._what = what
        self.stage = ""
        self._over = threading.Event()
        self._began = time.monotonic()
        self._told = False
        silent = quiet or not this_rank().first or sys.stderr is None
        self._thread = None if silent else threading.Thread(target=self._wait, name="waiting", daemon=True)
        # Read now: while an engine loads, stderr may be a pipe.
        self._terminal = not silent and sys.stderr.isatty()

    def _wait(self) -> None:
        if self._terminal:
            if self._over.wait(_PATIENCE_SECONDS):
                return
            if not _bars:
                self._turn()
        while not self._over.wait(_EVERY_SECONDS):
            self._tell()

    def _tell(self) -> None:
        self._told = True
        seconds = time.monotonic() - self._began
        print(f"{self._what}: {seconds:.0f} s{self._doing()}", file=sys.stderr, flush=True)

    def _turn(self) -> None:
        from rich.console import Console
        from rich.progress import Progress as Bar
        from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

        console = Console(stderr=True, force_terminal=True)
        with Bar(TextColumn("{task.description}"), SpinnerColumn(), TimeElapsedColumn(), console=console) as bar:
            task = bar.add_task("")
            bar.tasks[0].start_time = bar.get_time() - (time.monotonic() - self._began)
            while True:
                bar.update(task, description=self._what + self._doing())
                if self._over.wait(0.5):
                    return

    def _doing(self) -> str:
        return f", {self.stage}" if self.stage else ""

    def __enter__(self) -> WaitProgress:
        _waiting.append(self)
        if self._thread is not None:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        _waiting.remove(self)
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        if self._told and value is None:
            say(f"{self._what}: done after {time.monotonic() - self._began:.0f} s")


def tell_stage(words: str) -> None:
    """Reports the current stage to the innermost wait."""
    for waiting in _waiting[-1:]:
        waiting.stage = words


def watched(items: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
    """Items, with progress after a few seconds."""
    with Progress(what, total, patient=True) as progress:
        for item in items:
            yield item
            progress.step()


def say(line: str) -> None:
    """Prints a status line to stderr."""
    if not quiet and this_rank().first:
        print(visible(" ".join(line.split())), file=sys.stderr, flush=True)


def tell(line: str, err: bool = False) -> None:
    """Prints a line of a command's result."""
    import typer

    typer.echo(visible(line), err=err)


def show_log() -> None:
    """Prints the package's logged warnings like others."""
    import logging

    class Saying(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            warn(record.getMessage())

    logging.getLogger("livek12").addHandler(Saying(logging.WARNING))


def warn(line: str, kind: str = "") -> None:
    """Prints a warning once; of each kind the first few, and at the end the number of others."""
    if line in _said:
        return
    _warned[kind] = _warned.get(kind, 0) + 1
    if not kind or _warned[kind] <= _SHOWN_WARNINGS:
        _said.add(line)  # only what is shown: a million failures must not be held
        print(f"warning: {visible(' '.join(line.split()))}", file=sys.stderr, flush=True)
    elif _warned[kind] == _SHOWN_WARNINGS + 1:
        print(f"warning: more of the kind {kind!r} are only counted", file=sys.stderr, flush=True)


def tell_counts() -> None:
    """Prints the number of suppressed warnings of each kind."""
    for kind, count in _warned.items():
        if kind and count > _SHOWN_WARNINGS:
            more = count - _SHOWN_WARNINGS
            print(f"warning: {more} more of the kind {kind!r}; each stands in what was written", file=sys.stderr)
    _warned.clear()
