"""Run folders at an fsspec address (`hf://`, `s3://`, …), as a copy on this machine.

Contract: only files of runs directly in the folder are considered; their names are checked, their number and bytes
bounded. Unchanged files are not fetched again. An unfinished push is reported, and so is a file other than the one
pushed. Addresses are shown without user, password and query; credentials are left to the libraries.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from fcntl import LOCK_EX
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

from pydantic import Field, ValidationError

from livek12.core.errors import UserError, explain_errors
from livek12.core.files import create, remove_files, write_atomically
from livek12.core.hub import reason
from livek12.core.packed import PACKED, STEMS, PackedLines
from livek12.core.progress import Progress, warn
from livek12.core.records import Record
from livek12.core.run.locks import close_own, lock_own
from livek12.core.run.sums import summed_name
from livek12.core.store import cache_folder
from livek12.core.text import one_line

_JOURNALS: Final = "|".join(STEMS)
RUN_FILE: Final = re.compile(
    rf"(?:run|report|signature|exams|bank)\.json|(?:questions|regrades|criteria|keys|harness|imported|label-plan)\.jsonl"
    rf"|labels-[\w.-]+\.jsonl"
    rf"|(?:{_JOURNALS})-[\w.-]+\.jsonl|(?:{_JOURNALS})\.parquet",
    re.ASCII,
)
"""The files that a run is read from, and its scores."""
MANIFEST: Final = "push.json"
"""Where a place has no commits: the files of the last push, in the folder named by their hash."""
_MOST_MANIFEST: Final = 16 << 20
MOST_FILES: Final = 20_000
MOST_BYTES: Final = 256 << 30
_BLOCK: Final = 16 << 20
_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)


@dataclass(frozen=True)
class Stored:
    """File at an address: path in its file system, bytes, a hash that changes with it, and the SHA-256 if known."""

    path: str
    size: int
    print: str
    sha256: str | None = None


class PushedFile(Record):
    """File of a push."""

    size: Annotated[int, Field(ge=0, le=MOST_BYTES)]
    sha256: str


class Manifest(Record):
    """Files of a push."""

    files: dict[str, PushedFile] = {}

    @property
    def folder(self) -> str:
        """Name of their folder."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:16]


def is_run_file(name: str) -> bool:
    """True for the files of a run and their sums."""
    return RUN_FILE.fullmatch(summed_name(name) or name) is not None


def run_folder(place: str | Path, texts: bool = True) -> Path:
    """Named local run folder, or a copy of the one at an address.

    `texts` false: packed responses may come without texts.
    """
    return fetch(str(place), texts) if is_address(str(place)) else Path(place)


def own_folder(place: str | Path) -> Path:
    """Local folder for commands that write in it; UserError for an address."""
    if is_address(str(place)):
        raise UserError(f"{shown(str(place))}: this command works on a folder of this machine; copy the run to one")
    return Path(place)


def is_address(text: str) -> bool:
    """True for an address, false for a path."""
    return _ADDRESS.match(text) is not None


def shown(address: str) -> str:
    """Address without user, password and query."""
    scheme, _, rest = address.partition("://")
    host, slash, path = re.split(r"[?#]", rest, maxsplit=1)[0].partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"


def open_place(address: str) -> tuple[Any, str]:
    """File system of an address, and the path in it."""
    from fsspec.core import url_to_fs

    try:
        files, path = url_to_fs(address)
    except Exception as error:  # each file system raises its own
        raise failure(address, error) from None
    return files, str(path).rstrip("/")


def stored(address: str, files: Any, path: str) -> dict[str, Stored]:
    """Files of a run at an address by name."""
    try:
        files.invalidate_cache()
        entries = files.ls(path, detail=True)
    except FileNotFoundError:
        return {}
    except Exception as error:
        raise failure(address, error) from None
    files_by_name: dict[str, Stored] = {}
    for entry in entries:
        folder, _, name = str(entry["name"]).rpartition("/")
        if folder.strip("/") == path.strip("/") and entry.get("type") == "file" and is_run_file(name):
            about = json.dumps(entry, sort_keys=True, default=str)
            files_by_name[name] = Stored(
                str(entry["name"]), int(entry.get("size") or 0), hashlib.sha256(about.encode()).hexdigest()
            )
    if len(files_by_name) > MOST_FILES:
        raise UserError(
            f"{shown(address)}: has {len(files_by_name):,} files; `livek12 compact` makes few of a run's many"
        )
    return files_by_name


def fetch(address: str, texts: bool = True) -> Path:
    """Cached copy of the run at an address.

    Harness marks and people's labels force `texts`.
    """
    files, path = open_place(address)
    pushed = read_manifest(address, files, path)
    there = stored(address, files, f"{path}/{pushed.folder}" if pushed else path)
    if pushed is not None:
        there = _as_pushed(address, there, pushed)
    if "run.json" not in there:
        raise UserError(f"{shown(address)}: not a run folder (no run.json), or not one that you may read")
    texts = texts or any(name.startswith(("harness", "label")) for name in there)
    home = cache_folder() / ("runs" if texts else "light") / hashlib.sha256(address.encode()).hexdigest()[:24]
    folder = home / (re.sub(r"[^\w.-]+", "-", path.rpartition("/")[2], flags=re.ASCII).strip(".-") or "run")
    with explain_errors(f"{folder}: cannot be made", "; name another folder in LIVEK12_CACHE"):
        folder.mkdir(parents=True, exist_ok=True)
    fd = lock_own(home / "lock", LOCK_EX)
    try:
        _renew(address, files, there, folder, home / "fetched.json", texts)
        if read_manifest(address, files, path) != pushed:
            raise UserError(_CHANGED.format(shown(address)))
    finally:
        if fd is not None:
            close_own(fd)
    if not texts and any(name.endswith(PACKED) for name in there):
        warn(
            f"{shown(address)}: marks are read from columns; the lines that they were made of are not fetched and not"
            " compared with them (a command that reads texts, as `report`, does both)"
        )
    return folder


def read_manifest(address: str, files: Any, path: str) -> Manifest | None:
    """Manifest of the last push; None without one."""
    try:
        with files.open(f"{path}/{MANIFEST}", "rb") as file:
            return Manifest.model_validate_json(file.read(_MOST_MANIFEST))
    except (FileNotFoundError, NotADirectoryError, FileExistsError):  # below a file
        return None
    except ValidationError:
        raise UserError(f"{shown(address)}: holds a {MANIFEST} that cannot be read; remove it and push again") from None
    except Exception as error:
        raise failure(address, error) from None


def _as_pushed(address: str, there: Mapping[str, Stored], pushed: Manifest) -> dict[str, Stored]:
    for name, file in pushed.files.items():
        if name not in there or there[name].size != file.size:
            what = "has gone since" if name not in there else "is another than when"
            raise UserError(f"{shown(address)}: {name} {what} the run was pushed; push it again")
    if others := sorted(there.keys() - pushed.files.keys()):
        warn(f"{shown(address)}: passed over, as no files of what was pushed: {', '.join(others[:3])}")
    return {name: replace(there[name], print=file.sha256, sha256=file.sha256) for name, file in pushed.files.items()}


_CHANGED: Final = "{}: was changed while it was read; run the same command again"


def _renew(address: str, files: Any, there: Mapping[str, Stored], folder: Path, account: Path, texts: bool) -> None:
    prints = _known(account)
    due = {
        name: file for name, file in there.items() if prints.get(name) != file.print or not (folder / name).is_file()
    }
    size, room = sum(file.size for file in due.values()), shutil.disk_usage(folder).free
    if size > min(MOST_BYTES, room):
        most = f"{room / 1e9:,.1f} GB are free" if size > room else f"{MOST_BYTES / 1e9:,.0f} GB are the most"
        raise UserError(f"{shown(address)}: {size / 1e9:,.1f} GB to fetch, and {most}; make room in {folder.parent}")
    remove_files(folder, prints.keys() - there.keys())
    kept = {name: prints[name] for name in prints.keys() & there.keys() - due.keys()}
    try:
        with Progress(f"fetching {shown(address)}", len(due), patient=True) as progress:
            for name, file in due.items():
                if texts or not _copied_light(address, files, file, folder / name):
                    _copy(address, files, file, folder / name, progress)
                kept[name] = file.print
                progress.step()
    finally:
        write_atomically(account, json.dumps(kept))


def _known(account: Path) -> dict[str, str]:
    with suppress(OSError, ValueError):
        prints = json.loads(account.read_bytes())
        if isinstance(prints, dict):
            return {str(name): str(print) for name, print in prints.items() if is_run_file(str(name))}
    return {}


@contextmanager
def _part_of(address: str, target: Path) -> Iterator[Path]:
    """Yields a temporary file that takes its place when whole; failures become one line about the address."""
    part = target.with_name(f".{target.name}.part")
    try:
        yield part
    except UserError:
        raise
    except Exception as error:
        raise failure(address, error) from None
    finally:
        part.unlink(missing_ok=True)


def _copy(address: str, files: Any, file: Stored, target: Path, progress: Progress) -> None:
    """Never fetches more than the stated size."""
    with _part_of(address, target) as part:
        with create(part) as copy, files.open(file.path, "rb", block_size=_BLOCK) as source:
            remaining, digest = file.size, hashlib.sha256()
            while block := source.read(min(_BLOCK, remaining + 1)):
                remaining -= len(block)
                if remaining < 0:
                    break
                copy.write(block)
                digest.update(block)
                progress.beat()
        if remaining:
            raise UserError(_CHANGED.format(f"{shown(address)}: {target.name}"))
        if file.sha256 not in (None, digest.hexdigest()):
            raise UserError(f"{shown(address)}: {target.name} is another than when the run was pushed; push it again")
        part.replace(target)


def _copied_light(address: str, files: Any, file: Stored, target: Path) -> bool:
    """False if the texts are not stored apart."""
    if target.suffix != PACKED:
        return False
    with _part_of(address, target) as part:
        with files.open(file.path, "rb", cache_type="none") as source:
            if not PackedLines(target, source=source).write_light(part):
                return False
        part.replace(target)
    return True


def failure(address: str, error: BaseException) -> UserError:
    """Reason of a failure, without the address's secrets."""
    scheme = address.partition("://")[0]
    if isinstance(error, ImportError):
        return UserError(f"{shown(address)}: {scheme}:// needs another library: {_library(scheme, error)}")
    text = reason(error) if scheme == "hf" else one_line(error, 200)
    parts = urlsplit(address)
    for secret in filter(None, (parts.username, parts.password, parts.query, parts.fragment)):
        text = text.replace(secret, "…")
    return UserError(f"{shown(address)}: {text}")


def _library(scheme: str, error: ImportError) -> str:
    from fsspec.registry import known_implementations

    cause = one_line(error.__cause__ or error, 160)
    package = str(known_implementations.get(scheme, {}).get("class", "")).partition(".")[0]
    return f"pip install {package} ({cause})" if package not in ("", "fsspec") else cause
