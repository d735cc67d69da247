"""Pushes a finished run to a dataset of the Hub, or to any folder that fsspec can write.

Contract: a push is one commit on the Hub; elsewhere its files lie in a folder named by their hash, and a manifest
(`push.json`) that names it is written last, so that readers see the old run or the new one. Questions with held-back
answers, and those made from them, are pushed only on request; nothing without a licence goes to a public dataset. The
pushed run.json has no secret and no address of an endpoint.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from livek12.core.errors import UserError
from livek12.core.files import sync_place
from livek12.core.hub import reason
from livek12.core.packed import STEMS
from livek12.core.progress import warn, watched
from livek12.core.records import Question
from livek12.core.run.access import Fence, alone
from livek12.core.run.folder import RunFolder
from livek12.core.run.journal import journal_files
from livek12.core.run.remote import (
    MANIFEST,
    Manifest,
    PushedFile,
    Stored,
    failure,
    is_address,
    is_run_file,
    open_place,
    read_manifest,
    shown,
    stored,
)
from livek12.core.run.spec import RunSpec, differences, public_json, read_spec
from livek12.core.run.sums import summed_name, sums_line, sums_path
from livek12.core.run_answers import read_answers, standing_of
from livek12.core.scoring.bank import ExamEnd
from livek12.core.scoring.outcomes import Slim
from livek12.evaluation.exports import held_releases
from livek12.evaluation.site.reading import HELD_BACK, Hidden, keys_from_elsewhere

if TYPE_CHECKING:
    from huggingface_hub import HfApi

_HUB: Final = re.compile(r"hf://datasets/(?P<repo>\w[\w.-]*/\w[\w.-]*)(?P<folder>(?:/\w[\w.-]*)*)/?", re.ASCII)
_MOST_SPEC: Final = 16 << 20
_CARD: Final = """\
---
viewer: false
tags: [livek12]
---
Run folders of livek12: what models answered in exams, and how that was marked. `livek12 score hf://datasets/{repo}/RUN`
reads one, and `livek12 compare` several.
"""


@dataclass(frozen=True)
class PushWishes:
    """Options of a push.

    Attributes:
        refuses: the reason why the rights of a question forbid showing it; "" where they do not.
        hold: releases that are held back; None: those that the run's datasets hold back.
        unfinished: push a run with missing or unmarked answers.
        public: make a missing dataset public.
    """

    refuses: Callable[[Question], str]
    hold: frozenset[str] | None = None
    reveal: bool = False
    unfinished: bool = False
    public: bool = False


@dataclass(frozen=True)
class Pushed:
    """Finished push: files, their bytes, the address, and the commit where there is one."""

    files: int
    bytes: int
    address: str
    commit: str | None = None


def push(folder: Path, address: str, wishes: PushWishes) -> Pushed:
    """Sends a run to `hf://datasets/ORG/NAME[/FOLDER]`, or to a folder of another file system."""
    if not is_address(address):
        raise UserError(f"{address}: give an address: hf://datasets/ORG/NAME[/FOLDER], s3://BUCKET/FOLDER, …")
    hub = _HUB.fullmatch(address)
    if address.startswith("hf://") and hub is None:
        raise UserError(f"{shown(address)}: give hf://datasets/ORG/NAME[/FOLDER], names of letters, digits, . _ and -")
    run = RunFolder.open(folder, warn)
    with alone(folder) as fence:
        if not wishes.unfinished:
            _check_finished(run)
        unlicensed = _check_held(run, wishes)
        files = _files(run)
        if hub is None:
            return _to_files(run, address, files, fence)
        return _to_hub(run, address, hub["repo"], hub["folder"].strip("/"), files, wishes, unlicensed)


def _check_finished(run: RunFolder) -> None:
    answers = read_answers(run, Slim())
    missing = sum(number for finding, number in answers.outcomes.numbers() if finding.state == "failed")
    counts = {"missing": missing, "not marked": answers.unmarked}
    if left := [f"{count:,} answers are {what}" for what, count in counts.items() if count]:
        raise UserError(f"{run.path}: {' and '.join(left)}; finish the run, or push it as it is with --unfinished")
    if (exam := run.spec().adaptive) and (posed := len(answers.outcomes.asked())) < exam.of:
        standing, _ = standing_of(run, answers.outcomes)
        if not ExamEnd.parse(exam.until).reached(standing, posed):
            raise UserError(
                f"{run.path}: its adaptive exam is not over; run the same command again, or push it as it is with"
                " --unfinished"
            )


def _check_held(run: RunFolder, wishes: PushWishes) -> str:
    spec = run.spec()
    releases = frozenset() if wishes.reveal else held_releases(spec) if wishes.hold is None else wishes.hold
    hidden = Hidden(wishes.refuses, releases)
    hidden.look((question for _, question in run.each_question()), not wishes.reveal and keys_from_elsewhere(spec))
    hidden.settle()
    first, counts = dict[str, str](), Counter[str]()
    for task, question in run.each_question():
        if why := hidden.why(question):
            first.setdefault(why, f"{task}/{question.id}")
            counts[why] += 1
    if count := counts.pop(HELD_BACK, 0):
        raise UserError(
            f"{run.path}: the answers of {count:,} of its questions are held back (the first: {first[HELD_BACK]});"
            " nothing is sent. --reveal-answers sends them all the same"
        )
    return ", ".join(f"{why}: {count:,} questions (the first: {first[why]})" for why, count in counts.items())


def _files(run: RunFolder) -> dict[str, Path | bytes]:
    files: dict[str, Path | bytes] = {}
    dead = {path.name for stem in STEMS for path in run.path.glob(f"{stem}-*.jsonl")}
    dead -= {path.name for stem in STEMS for path in journal_files(run.path, stem)}
    for path in sorted(run.path.iterdir()):
        wanted = is_run_file(path.name) and not {path.name, summed_name(path.name)} & dead
        if wanted and path.is_file() and not path.is_symlink():
            files[path.name] = path
    content = public_json(run.spec())
    return files | {"run.json": content, sums_path(Path("run.json")).name: sums_line(content)}


def _size(file: Path | bytes) -> int:
    return len(file) if isinstance(file, bytes) else file.stat().st_size


def _account(file: Path | bytes) -> PushedFile:
    with io.BytesIO(file) if isinstance(file, bytes) else file.open("rb") as content:
        return PushedFile(size=_size(file), sha256=hashlib.file_digest(content, "sha256").hexdigest())


def _check_same(address: str, files: Any, there: Mapping[str, Stored], spec: RunSpec) -> None:
    if "run.json" not in there:
        return
    try:
        with files.open(there["run.json"].path, "rb") as file:
            stored_spec = read_spec(Path(shown(address)), file.read(_MOST_SPEC))
    except UserError:
        raise
    except ValueError:
        raise UserError(f"{shown(address)}: holds a run.json that cannot be read; name another folder") from None
    except Exception as error:
        raise failure(address, error) from None
    if different := differences(stored_spec, spec):
        raise UserError(f"{shown(address)}: holds another run: {'; '.join(different)}; name another folder")


def _to_files(run: RunFolder, address: str, files: Mapping[str, Path | bytes], fence: Fence) -> Pushed:
    system, path = open_place(address)
    before = read_manifest(address, system, path)
    there = stored(address, system, f"{path}/{before.folder}" if before else path)
    _check_same(address, system, there, run.spec())
    pushed = Manifest(files={name: _account(file) for name, file in files.items()})
    folder = f"{path}/{pushed.folder}"
    try:
        if not system.async_impl:  # fsspec's asynchronous ones store objects: no folders, and a typo made a bucket
            system.makedirs(folder, exist_ok=True)
        for name, file in watched(files.items(), f"sending {run.path.name}", len(files)):
            if isinstance(file, bytes):
                system.pipe_file(f"{folder}/{name}", file)
            else:
                system.put_file(str(file), f"{folder}/{name}")
        _sync(system, *(f"{folder}/{name}" for name in (*files, "")))  # on the disk before the manifest names it
        fence()
        _put_manifest(system, path, pushed.model_dump_json().encode())
        for name in there if pushed != before else ():  # no reader looks at them any more
            if before is None or name in before.files:
                system.rm_file(there[name].path)
        if before is not None and before != pushed and not system.async_impl:
            with suppress(OSError):
                system.rmdir(f"{path}/{before.folder}")
    except Exception as error:
        raise failure(address, error) from None
    return Pushed(len(files), sum(map(_size, files.values())), shown(address))


def _put_manifest(system: Any, path: str, content: bytes) -> None:
    """Atomic, also under a kill."""
    whole = system.async_impl  # an object appears at once
    system.pipe_file(f"{path}/{MANIFEST}" if whole else f"{path}/.{MANIFEST}", content)
    if not whole:
        _sync(system, f"{path}/.{MANIFEST}")
        system.mv(f"{path}/.{MANIFEST}", f"{path}/{MANIFEST}")
        _sync(system, path)


def _sync(system: Any, *places: str) -> None:
    for place in places if "file" in system.protocol else ():
        sync_place(Path(place))


def _to_hub(
    run: RunFolder,
    address: str,
    repo: str,
    folder: str,
    files: Mapping[str, Path | bytes],
    wishes: PushWishes,
    unlicensed: str,
) -> Pushed:
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi

    if wishes.public and unlicensed:
        raise _not_public(run, repo, unlicensed)
    api = HfApi()
    head = _made(api, repo, wishes.public)
    if unlicensed and not head.private:
        raise _not_public(run, repo, unlicensed)
    system, path = open_place(address)
    there = stored(address, system, path)
    _check_same(address, system, there, run.spec())
    prefix = f"{folder}/" if folder else ""
    changes: list[Any] = [CommitOperationAdd(prefix + name, file) for name, file in files.items()]
    changes += [CommitOperationDelete(prefix + name) for name in sorted(there.keys() - files.keys())]
    try:
        if not api.file_exists(repo, "README.md", repo_type="dataset"):
            changes.append(CommitOperationAdd("README.md", _CARD.format(repo=repo).encode()))
        done = api.create_commit(
            repo, changes, repo_type="dataset", commit_message=f"livek12 push {run.path.name}", parent_commit=head.sha
        )
    except Exception as error:  # the Hub's client raises its own, httpx's and OSErrors
        raise UserError(f"{shown(address)}: {reason(error)}; nothing was changed there") from None
    return Pushed(len(files), sum(map(_size, files.values())), shown(address), done.oid)


def _made(api: HfApi, repo: str, public: bool) -> Any:
    try:
        api.create_repo(repo, repo_type="dataset", private=not public, exist_ok=True)
        return api.repo_info(repo, repo_type="dataset")
    except Exception as error:  # as above
        raise UserError(f"{repo}: {reason(error)}; `hf auth login` logs in") from None


def _not_public(run: RunFolder, repo: str, why: str) -> UserError:
    return UserError(
        f"{run.path}: may not go to the public {repo}: {why}; take a private data set, or permit it by --rights FILE"
    )
