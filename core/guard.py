"""Landlock: drops rights that a command on a foreign folder does not need, for all that it starts too.

Contract: without Landlock nothing is taken and nothing fails. UDP and Unix sockets are not covered.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import struct
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from livek12.core.benchmarks import included
from livek12.core.store import cache_folder

OFF: Final = "LIVEK12_GUARD"
"""Variable that switches it off by `off`."""
_CREATE, _ADD, _RESTRICT = 444, 445, 446
"""System calls, of equal number on all architectures."""
_NO_NEW_PRIVILEGES: Final = 38
_LEAST: Final = 2
"""Version of the interface; the first one forbids a rename into another folder."""
_READ: Final = 1 << 0 | 1 << 2 | 1 << 3
"""Execute, read files, list folders."""
_OF_FILES: Final = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15
_REMOVE_FOLDER: Final = 1 << 4
_DEVICES: Final = 1 << 6 | 1 << 11
_TCP: Final = 0b11
_SYSTEM: Final = ("/bin", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/nix", "/opt", "/proc", "/run", "/sbin", "/sys")
_SYSTEM_TOO: Final = ("/usr", "/var/cache/fontconfig", "/var/lib/fonts", "/snap")

own_process = False
"""Set by the entry point of the command: a process of somebody else's is left as it is."""
active = False
"""This process is confined."""


def version() -> int:
    """Version of the kernel's interface; 0 without one, or where it is switched off."""
    return max(0, _call(_CREATE, None, 0, 1)) if sys.platform == "linux" and not _is_off() else 0


def state() -> str:
    """State in words."""
    number = version()
    if _is_off():
        return f"Landlock: switched off by {OFF}"
    if number < _LEAST:
        return "Landlock: not in this kernel; commands are not confined"
    return f"Landlock: active, version {number}" + ("" if number >= 4 else " (connections are not covered)")


def _is_off() -> bool:
    return os.environ.get(OFF, "").lower() in ("off", "0")


def confine(writes: Iterable[Path], reads: Iterable[Path] = (), network: bool = False) -> bool:
    """Leaves this process these folders, caches, the system and Python; makes missing `writes`."""
    global active  # noqa: PLW0603 (the process is)
    number = version() if own_process else 0
    if number < _LEAST:
        return False
    rights = (1 << min(number, 3) + 12) - 1 | (1 << 15 if number >= 5 else 0)
    closed = _TCP if number >= 4 and not network else 0
    rules = _call(_CREATE, struct.pack("QQ", rights, closed), 16 if number >= 4 else 8, 0)
    if rules < 0:
        return False
    try:
        for folder in (*writes, cache_folder(), *_hub_caches(network)):
            if not folder.exists():
                _make(rules, folder)
        for folder in (*writes, cache_folder(), *_hub_caches(network), Path(tempfile.gettempdir()), Path("/dev")):
            _allow(rules, folder, rights & ~_DEVICES)
        for folder in (*reads, *map(Path, (*_SYSTEM, *_SYSTEM_TOO)), *_python()):
            _allow(rules, folder, _READ)
        libc = ctypes.CDLL(None)
        active = libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0 and _call(_RESTRICT, rules, 0) == 0
    finally:
        os.close(rules)
    return active


def _make(rules: int, folder: Path) -> None:
    with suppress(OSError):  # which the command will say
        folder.mkdir(parents=True)
        _allow(rules, folder.parent, _REMOVE_FOLDER)
        atexit.register(_remove_empty, folder)


def _remove_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


def _allow(rules: int, place: Path, rights: int) -> None:
    with suppress(OSError, ValueError):  # what is not there is not read
        fd = os.open(place, os.O_PATH | os.O_CLOEXEC)
        try:
            allowed = rights if place.is_dir() else rights & _OF_FILES
            _call(_ADD, rules, 1, struct.pack("=Qi", allowed, fd), 0)
        finally:
            os.close(fd)


def _hub_caches(network: bool) -> list[Path]:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "huggingface"
    home = Path(os.environ.get("HF_HOME") or cache)
    # Beside them lies the user's token.
    return [home] if network else [home / name for name in ("datasets", "hub", "modules")]


def _python() -> Iterator[Path]:
    """Folders of modules, also of editable installs; never the user's home."""
    finders = [sys.modules.get(getattr(finder, "__module__", "")) for finder in sys.meta_path]
    mapped = [getattr(finder, "MAPPING", {}) for finder in finders]
    modules = [getattr(module, "__path__", ()) for name, module in list(sys.modules.items()) if "." not in name]
    places = {sys.prefix, sys.base_prefix, *sys.path, *map(str, included())}
    for paths in (*modules, *(mapping.values() for mapping in mapped if isinstance(mapping, dict))):
        places |= {*map(str, paths)}
    for place in map(Path, filter(None, places)):
        if not Path.home().is_relative_to(place.resolve()):
            yield place
            yield from (entry.resolve() for entry in (place.iterdir() if (place / "core").is_symlink() else ()))


def _call(number: int, *arguments: object) -> int:
    try:
        return int(ctypes.CDLL(None).syscall(ctypes.c_long(number), *map(_argument, arguments)))
    except (AttributeError, OSError, TypeError):
        return -1


def _argument(value: object) -> object:
    return ctypes.c_long(value) if isinstance(value, int) else value
