"""Marking beside the asking: a process of its own marks what the engine has answered so far.

Contract: it is help, no more: it reads the responses from the run folder, so the engine never waits for it and it holds
but a few; when the asking ends, it ends with what it has in hand, and the marking that follows in any case does the
rest. It never outlives the command, nor do the engines of its judges. Whether it comes in is settled by `worth_it`.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Mapping
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, get_args

from livek12.core.errors import UserError
from livek12.judges.bench import JudgeOptions
from livek12.scripts.progress import show_log, warn

if TYPE_CHECKING:
    from livek12.core.run_folder import RunFolder

Stages = Literal["auto", "overlap", "turn"]
STAGES: tuple[Stages, ...] = get_args(Stages)
FEWEST = 64
"""Fewer requests are asked and marked in turn before a second process has started."""
NICE = 5
"""The engine comes first where cores are short."""
_LEAVE_SECONDS = 10.0
"""To give back judges when all is marked."""


def worth_it(stages: Stages, engine: str, engine_args: Mapping[str, Any], options: JudgeOptions, waiting: int) -> bool:
    """Whether marking runs beside the asking.

    With `auto`: when no judge needs the device, and the asking leaves cores: the model runs elsewhere or on a device.
    A model that runs on these very cores loses more than the marking wins, and recorded answers come at once.

    Args:
        stages: what the user wants.
        engine: that asks; not `auto`.
        engine_args: its arguments.
        options: who judges.
        waiting: requests that have no response.
    """
    from livek12.judges.llm.client import DIRECT

    if stages != "auto" or not waiting:
        return stages == "overlap" and waiting > 0
    judges = options.panel.judges if options.panel is not None else ()
    if waiting < FEWEST or engine == "replay" or any(judge.runs_on not in DIRECT for judge in judges):
        return False
    return engine == "openai" or "base_url" in engine_args or "ray" in engine_args or _has_device()


def _has_device() -> bool:
    from livek12.core.engines.memory import measure

    return bool(measure().devices)


class Beside:
    """The process, where it is worth it; a context manager. Leaving it after an error ends the process at once.

    Args:
        options: who judges.
        stages: what the user wants.

    Attributes:
        marked: what it has marked, once it has ended.
    """

    def __init__(self, options: JudgeOptions, stages: Stages) -> None:
        from livek12.scripts.stages import Marked

        self._options, self._stages = options, stages
        self._process: Any = None
        self.marked = Marked()

    def start(self, run: RunFolder, engine: str, engine_args: Mapping[str, Any], waiting: int) -> None:
        """Starts marking if that is worth it (see `worth_it`); to be called when run.json says all about the engine."""
        if not worth_it(self._stages, engine, engine_args, self._options, waiting):
            return
        fresh = multiprocessing.get_context("spawn")  # a fork would copy the engine's threads and devices
        self._pipe, theirs = fresh.Pipe()
        # No daemon: those may have no children, and a judge's engine has some.
        self._process = fresh.Process(target=_work, args=(run.path, self._options, theirs))
        self._process.start()
        theirs.close()

    def __enter__(self) -> Beside:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is None:
            return
        try:
            if kind is None:
                self._pipe.send("enough")
                self.marked = self._pipe.recv()
                wait([self._process.sentinel], _LEAVE_SECONDS)
        except (EOFError, OSError):
            warn("marking beside the asking broke off; what it left is marked now")
        finally:
            self._clear()

    def _clear(self) -> None:
        """Ends the process and all that it has started."""
        with contextlib.suppress(ProcessLookupError):  # before it is reaped, its group is surely its own
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()  # where it has no group yet, it has started nothing either
        self._process.join()
        self._pipe.close()


def _work(folder: Path, options: JudgeOptions, pipe: Connection) -> None:
    """What the process does, until the other end says that it is enough, or is gone."""
    from livek12.core.run_folder import RunFolder
    from livek12.scripts.pipeline import reload_exam
    from livek12.scripts.stages import Marked, mark

    os.setsid()  # what it starts ends with its group
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command itself is told, and ends this process
    os.nice(NICE)
    show_log()
    enough, parent = threading.Event(), os.getppid()

    def listen() -> None:
        # A process that the engine forks may hold the other end open when the command is killed.
        while os.getppid() == parent:
            try:
                if pipe.poll(1.0):
                    pipe.recv()
                    enough.set()
            except (EOFError, OSError):
                break
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=listen, daemon=True).start()
    run, marked = RunFolder(folder), Marked()
    try:
        marked = mark(run, options, lambda: reload_exam(run, options.data), over=enough.is_set)
    except UserError as error:
        warn(f"nothing more is marked while the model is asked: {error}")
    pipe.send(marked)
