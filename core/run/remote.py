"""Run folders at an address that fsspec knows (`hf://`, `s3://`, …), as a copy on this machine.

Contract: only the files that a run is read from are looked at, right in the folder at the address; their names are
checked, so that none can lead out of the copy, and files and bytes are bounded. What did not change is not fetched
again, and of a compacted run no text where nobody looks at texts. What a push began and did not end is told, and so is
a file that is not the one that was pushed. Nothing secret is said or written: of an address
neither user, password nor query, and keys are where the libraries look for them (`hf auth login`, the environment).
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

from livek12.core.errors import UserError
from livek12.core.files import create, write_atomically
from livek12.core.hub import reason
from livek12.core.packed import PACKED, STEMS, PackedLines
from livek12.core.progress import Progress, warn
from livek12.core.records import Record
from livek12.core.run.locks import close_own, lock_own
from livek12.core.store import cache_folder
from livek12.core.text import one_line

_JOURNALS: Final = "|".join(STEMS)
RUN_FILE: Final = re.compile(
    rf"run\.json|(?:questions|regrades|harness|imported|label-plan)\.jsonl|labels-[\w.-]+\.jsonl"
    rf"|(?:{_JOURNALS})-[\w.-]+\.jsonl|(?:{_JOURNALS})\.parquet",
    re.ASCII,
)
"""The files that a run is read from; reports are made of them."""
MANIFEST: Final = "push.json"
"""Where a place has no commits: the files of the last push that came to its end, with size and SHA-256 of each."""
_MOST_MANIFEST: Final = 16 << 20
MOST_FILES: Final = 20_000
MOST_BYTES: Final = 256 << 30
_BLOCK: Final = 16 << 20
_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)


@dataclass(frozen=True)
class Stored:
    """A file at an address: where its file system has it, its size in bytes, and a hash that changes when it does.

    `sha256` is that of its content, where it is known.
    """

    path: str
    size: int
    print: str
    sha256: str | None = None


class PushedFile(Record):
    """A file of a push."""

    size: Annotated[int, Field(ge=0, le=MOST_BYTES)]
    sha256: str


class Manifest(Record):
    """A push: its files, if it is `whole`."""

    whole: bool = False
    files: dict[str, PushedFile] = {}


def run_folder(place: str | Path, texts: bool = True) -> Path:
    """A run folder on this machine: the one that is named, or a copy of the one at an address.

    Args:
        place: a folder or an address.
        texts: false where nothing but scores is made of it; then what is packed may come without texts (`core.light`).

    Raises:
        UserError: nothing can be fetched from the address.
    """
    return fetch(str(place), texts) if is_address(str(place)) else Path(place)


def own_folder(place: str | Path) -> Path:
    """The same for commands that write in it, for which it has to be here.

    Raises:
        UserError: it is an address.
    """
    if is_address(str(place)):
        raise UserError(f"{shown(str(place))}: this command works on a folder of this machine; copy the run to one")
    return Path(place)


def is_address(text: str) -> bool:
    """Whether a text is an address, and no path."""
    return _ADDRESS.match(text) is not None


def shown(address: str) -> str:
    """An address without user, password and query."""
    scheme, _, rest = address.partition("://")
    host, slash, path = re.split(r"[?#]", rest, maxsplit=1)[0].partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"


def open_place(address: str) -> tuple[Any, str]:
    """The file system of an address, and the path in it.

    Raises:
        UserError: it is no address, or the library for it is not installed.
    """
    from fsspec.core import url_to_fs

    try:
        files, path = url_to_fs(address)
    except Exception as error:  # each file system raises its own
        raise failure(address, error) from None
    return files, str(path).rstrip("/")


def stored(address: str, files: Any, path: str) -> dict[str, Stored]:
    """The files of a run at an address, by their names; none where nothing is there.

    Raises:
        UserError: it cannot be read, or there are more than `MOST_FILES`.
    """
    try:
        files.invalidate_cache()
        entries = files.ls(path, detail=True)
    except FileNotFoundError:
        return {}
    except Exception as error:
        raise failure(address, error) from None
    found: dict[str, Stored] = {}
    for entry in entries:
        folder, _, name = str(entry["name"]).rpartition("/")
        if folder.strip("/") == path.strip("/") and entry.get("type") == "file" and RUN_FILE.fullmatch(name):
            about = json.dumps(entry, sort_keys=True, default=str)
            found[name] = Stored(
                str(entry["name"]), int(entry.get("size") or 0), hashlib.sha256(about.encode()).hexdigest()
            )
    if len(found) > MOST_FILES:
        raise UserError(f"{shown(address)}: has {len(found):,} files; `livek12 compact` makes few of a run's many")
    return found


def fetch(address: str, texts: bool = True) -> Path:
    """A copy of the run at an address, in the cache; what did not change since the last time is there already.

    Args:
        address: of the run folder.
        texts: see `run_folder`; marks of harnesses and labels of people are joined by texts, which then come too.

    Raises:
        UserError: there is no run, it cannot be read, is too big, or changes while it is read.
    """
    files, path = open_place(address)
    there = stored(address, files, path)
    pushed = read_manifest(address, files, path) if there else None
    if pushed is not None:
        there = _as_pushed(address, there, pushed)
    if "run.json" not in there:
        raise UserError(f"{shown(address)}: not a run folder (no run.json), or not one that you may read")
    texts = texts or any(name.startswith(("harness", "label")) for name in there)
    home = cache_folder() / ("runs" if texts else "scored") / hashlib.sha256(address.encode()).hexdigest()[:24]
    folder = home / (re.sub(r"[^\w.-]+", "-", path.rpartition("/")[2], flags=re.ASCII).strip(".-") or "run")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder}: cannot be made ({error.strerror}); name another folder in LIVEK12_CACHE") from error
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
    """What the last push to a place says of it; None where no push of this kind was made.

    Raises:
        UserError: it cannot be read.
    """
    try:
        with files.open(f"{path}/{MANIFEST}", "rb") as file:
            return Manifest.model_validate_json(file.read(_MOST_MANIFEST))
    except FileNotFoundError:
        return None
    except ValidationError:
        raise UserError(f"{shown(address)}: holds a {MANIFEST} that cannot be read; push the run again") from None
    except Exception as error:
        raise failure(address, error) from None


def _as_pushed(address: str, there: Mapping[str, Stored], pushed: Manifest) -> dict[str, Stored]:
    """The files of the last push, if it came to its end and nothing was changed since.

    Raises:
        UserError: a push is going on, or was cut off, or a file is another than the one that was pushed.
    """
    if not pushed.whole:
        raise UserError(
            f"{shown(address)}: a push to it is going on or was cut off; wait for it, or push the run again"
        )
    for name, file in pushed.files.items():
        if name not in there or there[name].size != file.size:
            what = "has gone since" if name not in there else "is another than when"
            raise UserError(f"{shown(address)}: {name} {what} the run was pushed; push it again")
    if others := sorted(there.keys() - pushed.files.keys()):
        warn(f"{shown(address)}: passed over, as no files of what was pushed: {', '.join(others[:3])}")
    return {name: replace(there[name], print=file.sha256, sha256=file.sha256) for name, file in pushed.files.items()}


_CHANGED: Final = "{}: was changed while it was read; run the same command again"


def _renew(address: str, files: Any, there: Mapping[str, Stored], folder: Path, account: Path, texts: bool) -> None:
    """Fetches what is new or changed, and removes what is gone."""
    known = _known(account)
    due = {name: one for name, one in there.items() if known.get(name) != one.print or not (folder / name).is_file()}
    size, room = sum(one.size for one in due.values()), shutil.disk_usage(folder).free
    if size > min(MOST_BYTES, room):
        most = f"{room / 1e9:,.1f} GB are free" if size > room else f"{MOST_BYTES / 1e9:,.0f} GB are the most"
        raise UserError(f"{shown(address)}: {size / 1e9:,.1f} GB to fetch, and {most}; make room in {folder.parent}")
    for name in known.keys() - there.keys():
        (folder / name).unlink(missing_ok=True)
    kept = {name: known[name] for name in known.keys() & there.keys() - due.keys()}
    try:
        with Progress(f"fetching {shown(address)}", len(due), patient=True) as progress:
            for name, one in due.items():
                if texts or not _copied_light(address, files, one, folder / name):
                    _copy(address, files, one, folder / name, progress)
                kept[name] = one.print
                progress.step()
    finally:
        write_atomically(account, json.dumps(kept))


def _known(account: Path) -> dict[str, str]:
    """What was fetched before: name → print."""
    with suppress(OSError, ValueError):
        found = json.loads(account.read_bytes())
        if isinstance(found, dict):
            return {str(name): str(print) for name, print in found.items() if RUN_FILE.fullmatch(str(name))}
    return {}


@contextmanager
def _part_of(address: str, target: Path) -> Iterator[Path]:
    """Where a file is fetched to, until it is whole and put in its place; whatever fails is one line of the address."""
    part = target.with_name(f".{target.name}.part")
    try:
        yield part
    except UserError:
        raise
    except Exception as error:
        raise failure(address, error) from None
    finally:
        part.unlink(missing_ok=True)


def _copy(address: str, files: Any, one: Stored, target: Path, progress: Progress) -> None:
    """Fetches one file, never more than its stated size."""
    with _part_of(address, target) as part:
        with create(part) as copy, files.open(one.path, "rb", block_size=_BLOCK) as source:
            left, digest = one.size, hashlib.sha256()
            while block := source.read(min(_BLOCK, left + 1)):
                left -= len(block)
                if left < 0:
                    break
                copy.write(block)
                digest.update(block)
                progress.beat()
        if left:
            raise UserError(_CHANGED.format(f"{shown(address)}: {target.name}"))
        if one.sha256 not in (None, digest.hexdigest()):
            raise UserError(f"{shown(address)}: {target.name} is another than when the run was pushed; push it again")
        part.replace(target)


def _copied_light(address: str, files: Any, one: Stored, target: Path) -> bool:
    """Fetches a packed file without its texts; whether it has them apart."""
    if target.suffix != PACKED:
        return False
    with _part_of(address, target) as part:
        with files.open(one.path, "rb", cache_type="none") as source:
            if not PackedLines(target, source=source).write_light(part):
                return False
        part.replace(target)
    return True


def failure(address: str, error: BaseException) -> UserError:
    """Why something at an address cannot be had, without what is secret in the address."""
    scheme = address.partition("://")[0]
    if isinstance(error, ImportError):
        return UserError(f"{shown(address)}: {scheme}:// needs another library: {_library(scheme, error)}")
    text = reason(error) if scheme == "hf" else one_line(error, 200)
    parts = urlsplit(address)
    for secret in filter(None, (parts.username, parts.password, parts.query, parts.fragment)):
        text = text.replace(secret, "…")
    return UserError(f"{shown(address)}: {text}")


def _library(scheme: str, error: ImportError) -> str:
    """How the library of a scheme is installed, where fsspec names one, and what its import said."""
    from fsspec.registry import known_implementations

    said = one_line(error.__cause__ or error, 160)
    package = str(known_implementations.get(scheme, {}).get("class", "")).partition(".")[0]
    return f"pip install {package} ({said})" if package not in ("", "fsspec") else said
