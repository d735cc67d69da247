"""Marking during the asking: a child process marks the stored answers.

Contract: it reads the responses from the run folder, so the engine never waits for it. Neither it nor the engines of
its judges outlive the command.
"""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from livek12.core.engine_kinds import kind_of
from livek12.core.errors import UserError
from livek12.core.process import ChildProcess, Ended, Link
from livek12.core.progress import show_log, warn
from livek12.evaluation.options import Stages
from livek12.judges.jury import JudgeOptions

if TYPE_CHECKING:
    from livek12.core.run.folder import RunFolder

FEWEST = 64
"""Fewer requests are asked and marked in turn before a second process has started."""
NICE = 5
"""The engine comes first where cores are short."""
_LEAVE_SECONDS = 10.0
"""To give back judges when all is marked."""


def worth_it(stages: Stages, engine: str, engine_args: Mapping[str, Any], options: JudgeOptions, waiting: int) -> bool:
    """Decides about marking during the asking of `waiting` requests.

    With `auto`: when no judge needs the device, and the model runs elsewhere or on a device. One that runs on these
    very cores loses more than the marking wins, and recorded answers come at once.
    """
    if stages != "auto" or not waiting:
        return stages == "overlap" and waiting > 0
    judges = options.panel.judges if options.panel is not None else ()
    if waiting < FEWEST or kind_of(engine).is_recorded or any(not kind_of(judge.runs_on).is_direct for judge in judges):
        return False
    return kind_of(engine).place == "endpoint" or "base_url" in engine_args or "ray" in engine_args or _has_device()


def _has_device() -> bool:
    from livek12.engines.devices import measure

    return bool(measure().devices)


class Overlap:
    """Process, where it is worth it, and its result; an error in the context ends it at once."""

    def __init__(self, options: JudgeOptions, stages: Stages) -> None:
        from livek12.evaluation.marking import Marked

        self._options, self._stages = options, stages
        self._process: ChildProcess | None = None
        self.marked = Marked()

    def start(self, run: RunFolder, engine: str, engine_args: Mapping[str, Any], waiting: int) -> None:
        """Starts marking if it is worth it, once run.json says all about the engine."""
        if not worth_it(self._stages, engine, engine_args, self._options, waiting):
            return
        self._process = ChildProcess(_work, run.path, self._options, quiet=False)

    def __enter__(self) -> Overlap:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is None:
            return
        try:
            if kind is None:
                self._process.send(b"enough")
                self.marked = pickle.loads(self._process.receive())
                self._process.wait(_LEAVE_SECONDS)
        except Ended:
            warn("marking beside the asking broke off; what it left is marked now")
        finally:
            self._process.kill()


def _work(link: Link, folder: Path, options: JudgeOptions) -> None:
    from livek12.core.run.folder import RunFolder
    from livek12.evaluation.marking import Marked, mark
    from livek12.evaluation.task_data import reload_task_data

    os.nice(NICE)
    show_log()
    enough = threading.Event()

    def listen() -> None:
        with suppress(EOFError, OSError):  # its end is that of this process
            link.recv_bytes()
            enough.set()

    threading.Thread(target=listen, daemon=True).start()
    run, marked = RunFolder(folder), Marked()
    try:
        marked = mark(run, options, lambda: reload_task_data(run, options.data), over=enough.is_set)
    except UserError as error:
        warn(f"nothing more is marked while the model is asked: {error}")
    link.send(marked)
