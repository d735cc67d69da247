"""What an engine holds: device memory as driver and allocator say, and the memory of this process and its children.

Contract: `measure` loads no library and opens no device: devices are asked through the driver's `nvidia-smi`, and
torch's allocator only where this process already uses CUDA. What cannot be read is None or left out, never guessed.
`give_back` returns to the system what closed engines have left.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from livek12.core.run.sessions import DeviceMemory, Memory
from livek12.engines.reaper import family, processes

_QUERY = ["--query-gpu=index,uuid,name,memory.used,memory.total", "--format=csv,noheader,nounits"]
_ANSWER_SECONDS = 20


def measure() -> Memory:
    """What is held now."""
    return Memory(devices=_devices(), rss=_resident())


def peak_rss() -> int:
    """The most bytes of memory that this process has held so far."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most << 10


def bytes_written() -> int | None:
    """Bytes that this process has sent to disks so far; None where the system does not tell."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/self/io").read_text(encoding="ascii").splitlines():
            if line.startswith("write_bytes:"):
                return int(line.partition(":")[2])
    return None


def give_back() -> None:
    """Hands back memory that nothing uses: Python's cycles, torch's cached blocks, the C library's free pages."""
    gc.collect()
    if cuda := _cuda_in_use():
        cuda.empty_cache()
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # another C library than glibc
            ctypes.CDLL("libc.so.6").malloc_trim(0)


def _devices() -> list[DeviceMemory]:
    """The devices that this process may use, numbered as CUDA numbers them here."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return []
    try:
        asked = subprocess.run([tool, *_QUERY], capture_output=True, text=True, timeout=_ANSWER_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    rows = [[cell.strip() for cell in line.split(",")] for line in asked.stdout.splitlines()]
    rows = [row for row in rows if len(row) == len(_QUERY[0].split(","))]
    found = []
    for number, (_, _, name, used, total) in enumerate(visible(rows, os.environ.get("CUDA_VISIBLE_DEVICES"))):
        if used.isdecimal() and total.isdecimal():
            own = _allocator(number)
            found.append(DeviceMemory(index=number, name=name, used=int(used) << 20, total=int(total) << 20, **own))
    return found


def visible(rows: list[list[str]], named: str | None) -> list[list[str]]:
    """Of the driver's rows (index, uuid, …) those that CUDA_VISIBLE_DEVICES names, in its order; all where unset."""
    if named is None:
        return rows
    chosen = []
    for name in filter(None, (piece.strip() for piece in named.split(","))):
        row = next((row for row in rows if name == row[0] or row[1].startswith(name)), None)
        if row is None:
            break  # as CUDA does: what follows an unknown device is not there
        chosen.append(row)
    return chosen


def _allocator(number: int) -> dict[str, int]:
    cuda = _cuda_in_use()
    if cuda is None or number >= cuda.device_count():
        return {}
    return {"allocated": cuda.memory_allocated(number), "reserved": cuda.memory_reserved(number)}


def _cuda_in_use() -> Any:
    """torch.cuda where this process has opened a device; None otherwise, so that asking opens none."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    return cuda if cuda is not None and cuda.is_initialized() else None


def _resident() -> int | None:
    """Resident bytes of this process and of all its descendants."""
    total = 0
    for process in family([os.getpid()], processes()):
        with contextlib.suppress(OSError, ValueError, IndexError):  # it has ended meanwhile
            total += int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return total or None
