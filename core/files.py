"""Files in untrusted folders: opened, written whole and removed, never through a link; Git LFS pointers; bounded YAML.

Contract: everything written into a user's folder goes through this module. A file written in place is regular and has
one name; a whole file takes its place by a rename. Only the user's own folder may be a link.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from livek12.core.errors import UserError, explain_errors
from livek12.core.lazy import yaml

_BLOCK = 1 << 16
Content = str | bytes | Iterable[str | bytes]
LEASES = ".leases"
"""Folder of `core.run.locks`."""
NO_LINKS = frozenset({errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.EMLINK, errno.EXDEV})
"""Errors of file systems on which a file has no second name."""


def open_file(path: Path, flags: int = os.O_RDWR | os.O_APPEND | os.O_CREAT) -> int:
    """Opens a file to write in place, without O_TRUNC (see `create`); refuses links and special files."""
    safe = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe is not waited for
    try:
        fd = os.open(path, flags | safe, 0o644)
    except OSError:
        check_file(path)
        raise
    try:
        _check(path, os.fstat(fd))
    except BaseException:
        os.close(fd)
        raise
    return fd


def create(path: Path) -> BinaryIO:
    """Opens a new file in place of a killed or stopped command's."""
    path.unlink(missing_ok=True)
    return path.open("x+b")


def write_atomically(
    path: Path, content: Content, *, new: bool = False, sync: bool = True, before: Callable[[], None] = lambda: None
) -> None:
    """Writes a whole file; a kill leaves the old content or the new.

    Args:
        content: all of it, or its pieces.
        new: keeps an existing file (FileExistsError).
        sync: waits for the disk.
        before: called before the file takes its place; may raise to prevent it.
    """
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")  # a process id is another's in another container
    try:
        with create(temporary) as file:
            file.writelines(
                piece.encode() if isinstance(piece, str) else piece
                for piece in ([content] if isinstance(content, str | bytes) else content)
            )
            if sync:
                file.flush()
                os.fsync(file.fileno())
        before()
        if not new or not _linked(temporary, path):
            temporary.replace(path)
        if sync:
            sync_place(path.parent)
    except FileExistsError:
        raise
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror}); make room or choose another folder") from error
    finally:
        with suppress(OSError):  # it is in its place, or never was
            temporary.unlink()


def sync_place(place: Path) -> None:
    """Waits until a file, or a folder's names, are on the disk (where the file system can)."""
    fd = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(fd)


def _linked(temporary: Path, path: Path) -> bool:
    """False where the file system has no links."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        if os.path.lexists(path):
            raise FileExistsError(path) from None
        return False
    return True


def heal(fd: int) -> None:
    """Completes a valid last JSON line, else removes it."""
    size = os.lseek(fd, 0, os.SEEK_END)
    start, tail = size, b""
    while start > 0 and b"\n" not in tail:
        step = min(_BLOCK, start)
        start -= step
        tail = os.pread(fd, step, start) + tail
    torn = tail[tail.rfind(b"\n") + 1 :]
    if not torn:
        return
    try:
        json.loads(torn)
    except ValueError:
        os.ftruncate(fd, size - len(torn))
    else:
        os.write(fd, b"\n")


def copy_file(source: Path, target: Path) -> None:
    """Copies a regular file whole; refuses links."""
    check_file(source)
    with explain_errors(f"{source}: cannot be read"), source.open("rb") as file:
        write_atomically(target, iter(partial(file.read, 1 << 20), b""))


def make_subfolder(root: Path, *names: str) -> Path:
    """Makes a missing folder below the user's; refuses links."""
    folder = root
    for name in names:
        folder = folder / name
        with explain_errors(f"{folder}: cannot be made", "; move what is in its place"):
            folder.mkdir(exist_ok=True)
        check_folder(folder)
    return folder


def remove_files(root: Path, names: Iterable[str]) -> None:
    """Removes listed files below a folder; skips paths that lead elsewhere and non-files."""
    for name in names:
        path = root / name
        with suppress(OSError, ValueError):
            steps = path.relative_to(root).parts
            folders = [root.joinpath(*steps[:length]) for length in range(1, len(steps))]
            if steps and ".." not in steps and all(_is_folder(folder.lstat()) for folder in folders):
                path.unlink()


def check_names(folder: Path, owned: Sequence[str]) -> None:
    """Refuses a folder with an owned name (or pattern) that is a link or special file."""
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
        for entry in entries:
            if any(fnmatch(entry.name, pattern) for pattern in owned):
                _check(Path(entry.path), entry.stat(follow_symlinks=False))


def check_tree(folder: Path) -> None:
    """Refuses links and special files at any depth. Leases are hard links, and checked by `core.run.locks`."""
    check_file(folder)
    for place, folders, files in os.walk(folder):
        if Path(place).name == LEASES:
            continue
        for name in (*folders, *files):
            check_file(Path(place, name))


def check_file(path: Path) -> None:
    """Refuses a link or special file."""
    with suppress(FileNotFoundError, NotADirectoryError):
        _check(path, path.lstat())


def check_folder(path: Path) -> None:
    """Refuses anything but a folder."""
    if not _is_folder(path.lstat()):
        raise UserError(f"{path}: is no folder of its own, but a link or a file; move it away")


def _is_folder(state: os.stat_result) -> bool:
    return stat.S_ISDIR(state.st_mode)


def _check(path: Path, state: os.stat_result) -> None:
    if _is_folder(state) or (stat.S_ISREG(state.st_mode) and (state.st_nlink <= 1 or _is_half_placed(path, state))):
        return
    kinds = {stat.S_IFLNK: "a link", stat.S_IFREG: "one file with another (a hard link)"}
    kind = kinds.get(stat.S_IFMT(state.st_mode), "no file")
    raise UserError(f"{path}: is {kind}, and writing to it could reach outside the folder; use a copy (`cp -rL`)")


def _is_half_placed(path: Path, state: os.stat_result) -> bool:
    """True if its two names are those of `write_atomically`, killed between them; the temporary one is removed."""
    name = _TEMPORARY.fullmatch(path.name)
    for other in path.parent.iterdir() if state.st_nlink == 2 else ():
        if (match := _TEMPORARY.fullmatch(other.name)) and match[1] == (name[1] if name else path.name):
            with suppress(OSError):
                if os.path.samestat(other.lstat(), state):
                    other.unlink()
                    return True
    return False


_TEMPORARY = re.compile(r"\.(.+)\.[0-9a-f]{32}")
_POINTER = re.compile(rb"version https://git-lfs\.github\.com/spec/v1\s")
_SIZE = re.compile(rb"^size (\d{1,18})\s*$", re.MULTILINE)
_LONGEST = 1024
"""Bytes; the specification keeps a pointer below them."""


def pointer_note(data: bytes) -> str:
    """Pointer in words, from the first 1,024 bytes of a file."""
    if not _POINTER.match(data):
        return ""
    size = _SIZE.search(data[:_LONGEST])
    bytes_ = f" of {int(size[1]):,} bytes" if size else ""
    return f"a Git LFS pointer, not the file itself{bytes_}: run `git lfs pull` in its clone, or download the file"


def pointer_note_of(path: Path) -> str:
    """Pointer note of a file; "" also if unreadable."""
    try:
        if not path.is_file():  # a pipe can be read once
            return ""
        with path.open("rb") as file:
            return pointer_note(file.read(_LONGEST))
    except OSError:
        return ""


def refuse_pointer(path: Path) -> None:
    """Refuses a pointer before its file is parsed."""
    if note := pointer_note_of(path):
        raise UserError(f"{path}: is {note}")


_SCALARS = {
    "null": "~|null|Null|NULL|",
    "bool": "true|True|TRUE|false|False|FALSE",
    "int": "[-+]?(0|[1-9][0-9]{0,17})",
    "float": r"[-+]?(\.[0-9]+|[0-9]+\.[0-9]*)([eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+",
}


def read_yaml(path: Path, most: int) -> Any:
    """Plain values of a file of at most `most` bytes, scalars by YAML 1.2: 12:00:00 and `no` are texts."""
    with explain_errors(f"{path}: cannot be read"), path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise UserError(f"{path}: has more than {most} bytes; such a file is smaller")

    class Loader(yaml.SafeLoader):
        yaml_implicit_resolvers: dict[str, Any] = {}

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
                raise yaml.MarkedYAMLError(problem="aliases are not taken", problem_mark=mark)
            return super().compose_node(parent, index)

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            seen: set[str] = set()
            for key, _ in node.value:
                if str(key.value) in seen:
                    raise yaml.MarkedYAMLError(problem=f"{key.value!r} is given twice", problem_mark=key.start_mark)
                seen.add(str(key.value))
            return super().construct_mapping(node, deep)

    for kind, pattern in _SCALARS.items():
        Loader.add_implicit_resolver(f"tag:yaml.org,2002:{kind}", re.compile(rf"(?:{pattern})\Z"), None)
    # Libraries beside vLLM have every loader of the process read times as texts.
    Loader.add_constructor("tag:yaml.org,2002:timestamp", Loader.construct_yaml_timestamp)  # type: ignore[type-var]
    try:
        return yaml.load(content, Loader)
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{path}:{mark.line + 1}" if mark is not None else str(path)
        problem = getattr(error, "problem", None) or str(error)
        raise UserError(f"{place}: {' '.join(str(problem).split())[:200]}") from error
    except (KeyError, AttributeError, IndexError, TypeError) as error:  # yaml's word for a value that its tag refuses
        raise UserError(f"{path}: a value is not what its tag says (such as !!bool yes); leave the tags out") from error
