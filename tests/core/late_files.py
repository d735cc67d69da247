"""A file system through FUSE that shows a folder, and shows late what others do there: one mount is one machine.

`python tests/core/late_files.py FOLDER MOUNT SECONDS`: what the kernel has seen (attributes, names, names that were not
there) it believes for so many seconds, and its locks are its own. So two mounts of one folder see each other's files as
machines on NFS do. Needs mfusepy, libfuse 3 and the right to mount.
"""

# Names come from the kernel, and go back to it.
# ruff: noqa: PTH101, PTH102, PTH104, PTH106, PTH108, PTH208
from __future__ import annotations

import os
import sys
from typing import Any

import mfusepy


class Mirror(mfusepy.Operations):  # type: ignore[misc]
    """The files of a folder."""

    use_ns = True

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def _at(self, path: str) -> str:
        return self.folder + path

    def getattr(self, path: str, fh: int | None = None) -> dict[str, Any]:
        """What the kernel remembers for a while."""
        found = os.lstat(self._at(path)) if fh is None else os.fstat(fh)
        names = ("st_mode", "st_nlink", "st_size", "st_uid", "st_gid", "st_ino")
        times = {f"st_{name}time": getattr(found, f"st_{name}time_ns") for name in "amc"}
        return {name: getattr(found, name) for name in names} | times

    def readdir(self, path: str, fh: int) -> list[str]:
        """Names in a folder."""
        return [".", "..", *os.listdir(self._at(path))]

    def create(self, path: str, mode: int, fi: object = None) -> int:
        """A new file, unless another machine made it."""
        return os.open(self._at(path), os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)

    def open(self, path: str, flags: int) -> int:
        """An open file; places are the kernel's business."""
        return os.open(self._at(path), flags & ~os.O_APPEND)

    def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
        """Bytes."""
        return os.pread(fh, size, offset)

    def write(self, path: str, data: bytes, offset: int, fh: int) -> int:
        """Bytes."""
        return os.pwrite(fh, data, offset)

    def truncate(self, path: str, length: int, fh: int | None = None) -> None:
        """Shortens a file."""
        os.truncate(self._at(path), length)

    def release(self, path: str, fh: int) -> None:
        """Closes a file."""
        os.close(fh)

    def fsync(self, path: str, datasync: int, fh: int) -> None:
        """The disk is not what is tested."""

    def unlink(self, path: str) -> None:
        """Removes a file."""
        os.unlink(self._at(path))

    def mkdir(self, path: str, mode: int) -> None:
        """Makes a folder."""
        os.mkdir(self._at(path), mode)

    def rmdir(self, path: str) -> None:
        """Removes a folder."""
        os.rmdir(self._at(path))

    def rename(self, old: str, new: str) -> None:
        """Renames a file."""
        os.rename(self._at(old), self._at(new))

    def link(self, target: str, source: str) -> None:
        """A further name, unless another machine made it."""
        os.link(self._at(source), self._at(target))

    def chmod(self, path: str, mode: int) -> None:
        """Rights."""
        os.chmod(self._at(path), mode)

    def utimens(self, path: str, times: tuple[int, int] | None = None) -> None:
        """Times."""
        os.utime(self._at(path), ns=times)


if __name__ == "__main__":
    believed = float(sys.argv[3])
    mfusepy.FUSE(
        Mirror(sys.argv[1]),
        sys.argv[2],
        foreground=True,
        nothreads=True,
        attr_timeout=believed,
        entry_timeout=believed,
        negative_timeout=believed,
        kernel_cache=True,
    )
