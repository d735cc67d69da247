"""Rank of this process in a launch (accelerate, torchrun, mpirun, srun).

Contract: launched processes share one run folder by file locks, never by a collective of torch.distributed, which times
out sooner than one long answer.
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
    """One of `count` processes of a launch; `local` is its number on its machine."""

    number: int = 0
    count: int = 1
    local: int = 0

    @property
    def first(self) -> bool:
        """True for the process that speaks for all."""
        return self.number == 0

    @property
    def alone(self) -> bool:
        """True without other processes."""
        return self.count == 1


def this_rank(environment: Mapping[str, str] = os.environ) -> Rank:
    """Rank by the launcher's variables."""
    count, number = _read(environment, _COUNT), _read(environment, _NUMBER)
    if count is None or number is None or not 0 <= number < count:
        return Rank()
    return Rank(number, count, _read(environment, _LOCAL) or 0)


def only_one_started(environment: Mapping[str, str] = os.environ) -> bool:
    """Detects `accelerate launch --cpu` for several processes, which without MPI starts one."""
    cpu_launch = "ACCELERATE_USE_CPU" in environment and "MASTER_ADDR" in environment
    return cpu_launch and _read(environment, _COUNT) is None


def join_launch(folder: Path) -> Rank:
    """Joins a launch before touching run folder or dataset; returns this process's rank.

    Others wait up to an hour for the first one's run.json.
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
    """Polls twice a second, with a line on stderr every half minute; returns true if it became ready.

    `say` makes the line from the seconds waited; `seconds` None where the end is certain.
    """
    began = spoken = time.monotonic()
    while not ready():
        now = time.monotonic()
        if seconds is not None and now - began > seconds:
            return False
        if now - spoken > _SAY_SECONDS:
            spoken = now
            print(say(now - began), file=sys.stderr, flush=True)
        time.sleep(_LOOK_SECONDS)
    return True


def _read(environment: Mapping[str, str], names: tuple[str, ...]) -> int | None:
    return next((int(environment[name]) for name in names if environment.get(name, "").isdecimal()), None)
