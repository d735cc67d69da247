"""Which of several like processes this one is, where a launcher (accelerate, torchrun, mpirun, srun) started them.

Contract: the processes of one launch run the same command on the same run folder and share its work through
`core.run.claims`, by file locks alone. They never meet in a collective of torch.distributed: those time out after
10 to 30 minutes, and one long answer on a slow device takes longer. The first process alone makes the folder, writes
run.json, and goes on after the asking; it waits for the others by their file locks, which end with their processes.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from livek12.core.errors import UserError

_NUMBER = ("RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK")
_COUNT = ("WORLD_SIZE", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE")
_LOCAL = ("LOCAL_RANK", "MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_RANK")
_LOOK_SECONDS = 0.5
_SAY_SECONDS = 30.0
_FOLDER_SECONDS = 3600.0
"""How long the first process may take to read the data set and make the run folder: it may have to download."""


@dataclass(frozen=True)
class Rank:
    """One of `count` processes of a launch on any number of machines; `local` is its number on its machine."""

    number: int = 0
    count: int = 1
    local: int = 0

    @property
    def first(self) -> bool:
        """Whether this is the process that speaks for all; a process that nobody launched is."""
        return self.number == 0

    @property
    def alone(self) -> bool:
        """Whether there are no others."""
        return self.count == 1


def this_rank(environment: Mapping[str, str] = os.environ) -> Rank:
    """What the launcher has said of this process; alone where no launcher has spoken."""
    count, number = _read(environment, _COUNT), _read(environment, _NUMBER)
    if count is None or number is None or not 0 <= number < count:
        return Rank()
    return Rank(number, count, _read(environment, _LOCAL) or 0)


def only_one_started(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether `accelerate launch --cpu` was asked for several processes: without MPI it starts a single one."""
    asked = "ACCELERATE_USE_CPU" in environment and "MASTER_ADDR" in environment
    return asked and _read(environment, _COUNT) is None


def join_launch(folder: Path) -> Rank:
    """What each process of a launch does before it touches the run folder or the data set: the first goes ahead.

    The others wait for its run.json: then the folder is made and the data set is in the cache. A process that the
    launcher ends, as it does with all when one has died, says what to do.

    Returns:
        This process' rank.

    Raises:
        UserError: there is no run.json after an hour.
    """
    rank = this_rank()
    if rank.alone:
        return rank
    signal.signal(signal.SIGTERM, _ended_by_launcher)
    made = folder / "run.json"
    if not rank.first and not wait_until(
        made.exists, lambda seconds: f"waiting for {made} by process 0 since {seconds:.0f} s", _FOLDER_SECONDS
    ):
        raise UserError(f"{made}: process 0 of this launch has not made it; do all machines share this folder?")
    return rank


def _ended_by_launcher(number: int, frame: object) -> None:
    line = f"process {this_rank().number} was ended by its launcher, which ends all when one dies or fails; what is"
    os.write(2, f"{line} stored stands: run the same command again to go on\n".encode())
    os._exit(128 + number)


def wait_until(ready: Callable[[], bool], say: Callable[[float], str], seconds: float | None = None) -> bool:
    """Looks twice a second whether it is so, and says on stderr every half minute what is waited for.

    Args:
        ready: whether the wait is over.
        say: the line to show, from the seconds waited so far.
        seconds: how long to wait at most; None where the end of what is waited for is certain.

    Returns:
        Whether it became so.
    """
    began = said = time.monotonic()
    while not ready():
        now = time.monotonic()
        if seconds is not None and now - began > seconds:
            return False
        if now - said > _SAY_SECONDS:
            said = now
            print(say(now - began), file=sys.stderr, flush=True)
        time.sleep(_LOOK_SECONDS)
    return True


def _read(environment: Mapping[str, str], names: tuple[str, ...]) -> int | None:
    """The first of the variables that holds a number."""
    return next((int(environment[name]) for name in names if environment.get(name, "").isdecimal()), None)
