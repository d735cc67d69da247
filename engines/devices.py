"""Devices and memory: NVML counters, held memory, and turns of loading on one device.

`measure` opens no device: it uses `nvidia-smi`, and torch's allocator only if this process already uses CUDA. GPUs are
those of CUDA_VISIBLE_DEVICES, in its order; figures include other users of a GPU.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import gc
import importlib
import importlib.util
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from livek12.core.errors import UserError
from livek12.core.run.locks import close_own, lock_own
from livek12.core.run.sessions import DeviceMemory, Memory
from livek12.engines.reaper import family, processes

_QUERY = ["--query-gpu=index,uuid,name,memory.used,memory.total", "--format=csv,noheader,nounits"]
_ANSWER_SECONDS = 20


def measure() -> Memory:
    """The memory held now."""
    return Memory(devices=_devices(), rss=_resident())


def peak_rss() -> int:
    """Peak resident bytes of this process."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most << 10


def bytes_written() -> int | None:
    """Bytes written to disks by this process."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/self/io").read_text(encoding="ascii").splitlines():
            if line.startswith("write_bytes:"):
                return int(line.partition(":")[2])
    return None


def give_back() -> None:
    """Frees Python's cycles, torch's cached blocks, the C library's free pages."""
    gc.collect()
    if cuda := _cuda_in_use():
        cuda.empty_cache()
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # another C library than glibc
            ctypes.CDLL("libc.so.6").malloc_trim(0)


def _devices() -> list[DeviceMemory]:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return []
    try:
        reply = subprocess.run([tool, *_QUERY], capture_output=True, text=True, timeout=_ANSWER_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    rows = [[cell.strip() for cell in line.split(",")] for line in reply.stdout.splitlines()]
    rows = [row for row in rows if len(row) == len(_QUERY[0].split(","))]
    memories = []
    for number, (_, _, name, used, total) in enumerate(visible(rows, os.environ.get("CUDA_VISIBLE_DEVICES"))):
        if used.isdecimal() and total.isdecimal():
            own = _allocator(number)
            memories.append(DeviceMemory(index=number, name=name, used=int(used) << 20, total=int(total) << 20, **own))
    return memories


def visible(rows: list[list[str]], named: str | None) -> list[list[str]]:
    """The driver's rows (index, uuid, …) of CUDA_VISIBLE_DEVICES."""
    if named is None:
        return rows
    chosen = []
    for name in filter(None, (piece.strip() for piece in named.split(","))):
        row = next((row for row in rows if name == row[0] or row[1].startswith(name)), None)
        if row is None:
            break  # as in CUDA: devices after an unknown one are absent
        chosen.append(row)
    return chosen


def _allocator(number: int) -> dict[str, int]:
    cuda = _cuda_in_use()
    if cuda is None or number >= cuda.device_count():
        return {}
    return {"allocated": cuda.memory_allocated(number), "reserved": cuda.memory_reserved(number)}


def _cuda_in_use() -> Any:
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    return cuda if cuda is not None and cuda.is_initialized() else None


def _resident() -> int | None:
    total = 0
    for process in family([os.getpid()], processes()):
        with contextlib.suppress(OSError, ValueError, IndexError):  # the process has ended
            total += int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return total or None


T = TypeVar("T")


class Gpus:
    """This process's GPUs, up to `most`; a context manager."""

    def __init__(self, most: int | None = None) -> None:
        self._nvml = _initialised()
        rows = visible(self._rows(), os.environ.get("CUDA_VISIBLE_DEVICES"))[:most]
        self.uuids = [uuid for _, uuid in rows]
        self._handles = [self._nvml.nvmlDeviceGetHandleByIndex(int(index)) for index, _ in rows]

    @property
    def names(self) -> list[str]:
        """The driver's names."""
        return [_text(name) for name in self._each("nvmlDeviceGetName") if name is not None]

    def busy(self) -> float | None:
        """Recent mean share (0 to 1) of time with a running kernel."""
        rates = [rate.gpu / 100 for rate in self._each("nvmlDeviceGetUtilizationRates") if rate is not None]
        return statistics.mean(rates) if rates else None

    def joules(self) -> dict[str, float] | None:
        """Energy counters by UUID."""
        counters = self._each("nvmlDeviceGetTotalEnergyConsumption")  # in mJ
        values = [counter / 1000 for counter in counters if counter is not None]
        return dict(zip(self.uuids, values, strict=True)) if values and len(values) == len(counters) else None

    def close(self) -> None:
        """Shuts NVML down."""
        nvml, self._nvml, self._handles = self._nvml, None, []
        if nvml is not None:
            with suppress(Exception):
                nvml.nvmlShutdown()

    def __enter__(self) -> Gpus:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _rows(self) -> list[list[str]]:
        if self._nvml is None:
            return []

        def row(index: int) -> list[str]:
            return [str(index), _text(self._nvml.nvmlDeviceGetUUID(self._nvml.nvmlDeviceGetHandleByIndex(index)))]

        count = _answer(self._nvml.nvmlDeviceGetCount) or 0
        rows = [_answer(lambda index=index: row(index)) for index in range(count)]  # type: ignore[misc]
        return [cells for cells in rows if cells is not None]

    def _each(self, function: str) -> list[Any]:
        return [_answer(lambda handle=handle: getattr(self._nvml, function)(handle)) for handle in self._handles]  # type: ignore[misc]


def _initialised() -> Any:
    for load in (lambda: importlib.import_module("pynvml"), _copy_of_vllm):
        with suppress(Exception):  # NVML's errors have no common class without it, and its loader raises OSError
            nvml: Any = load()
            nvml.nvmlInit()
            return nvml
    return None


def _copy_of_vllm() -> Any:
    """Loads vLLM's copy from its file: importing vLLM takes seconds."""
    package = importlib.util.find_spec("vllm")
    assert package is not None and package.submodule_search_locations is not None
    file = Path(package.submodule_search_locations[0]) / "third_party" / "pynvml.py"
    spec = importlib.util.spec_from_file_location("livek12_pynvml", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _answer(ask: Callable[[], T]) -> T | None:
    with suppress(Exception):
        return ask()
    return None


def _text(name: Any) -> str:
    return name.decode(errors="replace") if isinstance(name, bytes) else str(name)


_mine: set[str] = set()
"""Devices of the turn that this process has."""


@contextmanager
def own_turn(width: int | None = None) -> Iterator[None]:
    """Locks these devices against loads by other processes of this user and machine.

    vLLM measures the whole device before and after loading, so concurrent loads count as each other's. `width`: the
    first so many of CUDA_VISIBLE_DEVICES.
    """
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = [str(number) for number in range(width or 0)] if named is None else named.split(",")[:width]
    with ExitStack() as stack:
        for name in sorted({name.strip() for name in names} - {"", "-1"} - _mine):
            with suppress(UserError, OSError):
                fd = lock_own(_folder() / f"{re.sub(r'[^A-Za-z0-9-]', '_', name)}.lock", fcntl.LOCK_EX)
                if fd is not None:
                    _mine.add(name)
                    stack.callback(_mine.discard, name)
                    stack.callback(close_own, fd)
        yield


def _folder() -> Path:
    folder = Path(tempfile.gettempdir()) / f"livek12-devices-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise OSError(f"{folder} is another user's")
    return folder
