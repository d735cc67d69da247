"""Repositories of the Hub: their state, which of their files are ours, and bringing one to the state of a folder.

Contract: every failure of the Hub or the network becomes a UserError of one line, without the token. Reads are retried
while the Hub is busy; `commit` may be repeated after a lost answer, since it names its parent. Files listed in the
repository's `published.json` are ours; without it, tables and metadata are, by their names. Contents are compared by
the hashes the Hub lists. One commit changes all files together. Then the Hub must list every local hash, and `datasets`
streams each config: the same ids in the same order, and an equal first record.
"""

from __future__ import annotations

import gc
import hashlib
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from livek12.core import hub
from livek12.core.errors import UserError
from livek12.core.features import SPLIT, FlatRow, from_row, is_flat
from livek12.core.progress import Progress
from livek12.core.questions import CARD, data_files, read_card, read_records
from livek12.core.records import Page, Question, Record
from livek12.dataset_builders.base import PAGES, one_line
from livek12.dataset_builders.publishing.policy import read_columns
from livek12.dataset_builders.writing.card import MARK, METADATA
from livek12.dataset_builders.writing.listings import (
    PUBLISHED,
    SHARED,
    Gate,
    Publication,
    parse_published,
)
from livek12.dataset_builders.writing.parquet import flat_rows

if TYPE_CHECKING:
    from huggingface_hub import CommitOperationAdd, GitRefs

T = TypeVar("T")
WAITS = (1.0, 2.0, 4.0, 8.0)
"""Seconds between the attempts of a call while the Hub is busy."""
_BUSY = (429, 500, 502, 503, 504)
HUBS_OWN = frozenset({".gitattributes"})
_TABLE = re.compile(r"\w+/[\w.]+-\d{5}-of-\d{5}\.parquet")
_BESIDE = re.compile(r"(?:[^/]+/)*(?:[^/.]+|\.[^/]+|[^/]+\.(?:md|cff|bib)|licen[cs]e\.txt)", re.IGNORECASE)
"""Files that may accompany any data: a licence, a discussion, a citation."""


class Changed(UserError):
    """The repository changed meanwhile: its head, unless `what` says otherwise."""

    def __init__(self, name: str, what: str = "") -> None:
        super().__init__(
            f"{name} was changed by somebody else in the meantime{what}: see its last commit, then run the same"
            " command again"
        )


class Unanswered(UserError):
    """No answer: the request may have been executed."""


class NotThere(UserError):
    """The repository is missing, or the token cannot see it."""


@dataclass(frozen=True)
class RemoteFile:
    """A file as the Hub lists it: `sha256` of an LFS object, or git's `sha1` of a regular file."""

    size: int
    sha256: str | None
    sha1: str


@dataclass(frozen=True)
class State:
    """A repository at one moment.

    Attributes:
        name: the Hub's name, which differs after renaming.
        files: our files, after `with_owner`.
        tips: the commits of all branches, tags, Hub conversions and pull requests.
    """

    name: str
    head: str
    private: bool
    files: dict[str, RemoteFile]
    tags: dict[str, str]
    branches: dict[str, str]
    tips: frozenset[str]
    theirs: dict[str, RemoteFile] = field(default_factory=dict)
    published: Publication | None = None


class Repository:
    """A dataset repository, existing or not."""

    def __init__(self, name: str) -> None:
        from huggingface_hub import HfApi, get_token
        from huggingface_hub.errors import HFValidationError
        from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]
        from huggingface_hub.utils.tqdm import disable_progress_bars

        try:
            validate_repo_id(name)
        except HFValidationError as error:
            raise UserError(f"{name!r} is no name of a repository: give ORG/NAME ({one_line(error, 160)})") from None
        if "/" not in name:
            raise UserError(f"{name!r} is no name of a repository: give ORG/NAME")
        disable_progress_bars()  # they come one a file, beside our own
        self.name = name
        self._token = get_token()
        self._api = HfApi()

    @property
    def url(self) -> str:
        """Address of its page."""
        return f"{self._api.endpoint}/datasets/{self.name}"

    @property
    def logged_in(self) -> bool:
        """True if there is a token."""
        return bool(self._token)

    def check_login(self) -> str:
        """User of the token."""
        if not self._token:
            raise UserError("not logged in to the Hub: run `hf auth login`, or set HF_TOKEN")
        return self._ask(lambda: str(self._api.whoami()["name"]))

    def state(self) -> State | None:
        """Present state; None if the token sees no repository."""
        try:
            info = self._ask(lambda: self._api.repo_info(self.name, repo_type="dataset"))
        except NotThere:
            return None
        refs = self._refs()
        every = (*refs.branches, *refs.tags, *refs.converts, *(refs.pull_requests or ()))
        head = str(info.sha)
        return State(
            name=str(info.id),
            head=head,
            private=bool(info.private),
            files=self.files(head),
            tags={tag.name: tag.target_commit for tag in refs.tags},
            branches={branch.name: branch.target_commit for branch in refs.branches},
            tips=frozenset(ref.target_commit for ref in every),
        )

    def files(self, revision: str) -> dict[str, RemoteFile]:
        """Files of a revision by path."""
        from huggingface_hub.hf_api import RepoFile

        def listed() -> dict[str, RemoteFile]:
            entries = self._api.list_repo_tree(self.name, repo_type="dataset", revision=revision, recursive=True)
            return {
                entry.path: RemoteFile(entry.size, entry.lfs.sha256 if entry.lfs else None, entry.blob_id)
                for entry in entries
                if isinstance(entry, RepoFile)
            }

        return self._ask(listed)

    def history(self, revision: str) -> list[str]:
        """Commits of a revision, newest first."""
        commits = self._ask(lambda: self._api.list_repo_commits(self.name, repo_type="dataset", revision=revision))
        return [commit.commit_id for commit in commits]

    def read(self, path: str, revision: str) -> bytes:
        """Content of a small file."""
        return self._ask(lambda: bytes(self._filesystem().cat_file(self._address(path, revision))))

    def open(self, path: str, revision: str) -> Any:
        """Opens a file; only parts read are fetched."""
        return self._ask(lambda: self._filesystem().open(self._address(path, revision), "rb"))

    def create(self, private: bool) -> None:
        """Creates it if missing."""
        self._ask(lambda: self._api.create_repo(self.name, repo_type="dataset", private=private, exist_ok=True))

    def gate(self, gate: Gate) -> None:
        """Restricts its files to requests, granted at once (`auto`) or by hand (`manual`)."""
        self._ask(lambda: self._api.update_repo_settings(self.name, gated=gate or False, repo_type="dataset"))

    def upload(self, operations: Sequence[CommitOperationAdd]) -> None:
        """Uploads the LFS contents that the Hub lacks."""
        self._ask(
            lambda: self._api.preupload_lfs_files(self.name, operations, repo_type="dataset", free_memory=False),
            repeat=False,
        )

    def commit(self, added: Sequence[CommitOperationAdd], deleted: Sequence[str], message: str, parent: str) -> None:
        """Makes one atomic commit; raises `Changed` if `parent` is no longer the head."""
        from huggingface_hub import CommitOperationDelete

        gone = [CommitOperationDelete(path_in_repo=path, is_folder=False) for path in deleted]
        self._ask(
            lambda: self._api.create_commit(
                self.name, [*added, *gone], repo_type="dataset", commit_message=message, parent_commit=parent
            ),
            repeat=False,
        )

    def tag(self, name: str, commit: str) -> None:
        """Names a commit; raises `Changed` if another has the name."""
        self._ask(
            lambda: self._api.create_tag(self.name, tag=name, revision=commit, repo_type="dataset", exist_ok=True)
        )
        if commit not in (tag.target_commit for tag in self._refs().tags if tag.name == name):
            raise Changed(self.name, f" (the tag {name} names another commit)")

    def _refs(self) -> GitRefs:
        return self._ask(lambda: self._api.list_repo_refs(self.name, repo_type="dataset", include_pull_requests=True))

    def _filesystem(self) -> Any:
        from huggingface_hub import HfFileSystem

        return HfFileSystem(skip_instance_cache=True)

    def _address(self, path: str, revision: str) -> str:
        return f"datasets/{self.name}@{revision}/{path}"

    def _ask(self, call: Callable[[], T], *, repeat: bool = True) -> T:
        for wait in (*WAITS, None) if repeat else (None,):
            try:
                return call()
            except UserError:
                raise
            except Exception as error:  # the Hub's client raises its own, those of its HTTP library, and OSErrors
                failure = self._said(error)
                cause = hub.root(error)
                unreachable = "Connect" in type(cause).__name__ or isinstance(cause, ConnectionRefusedError)
                if wait is None or not isinstance(failure, Unanswered) or unreachable:
                    raise failure from None
                time.sleep(wait)
        raise AssertionError("unreachable")

    def _said(self, error: Exception) -> UserError:
        cause = hub.root(error)
        response = getattr(cause, "response", None)
        status = getattr(response, "status_code", None)
        kind = type(cause).__name__
        if kind == "OfflineModeIsEnabled":
            return UserError("HF_HUB_OFFLINE is set, so the Hub cannot be asked: unset it")
        if hub.is_network(cause):
            return Unanswered(
                f"the Hub at {self._api.endpoint} cannot be reached ({kind}): check the network and HF_ENDPOINT, then"
                " run the same command again; it sends only what is missing"
            )
        if kind == "RepositoryNotFoundError":
            hint = "or your token may not see it" if self._token else "or it is private and you are not logged in"
            return NotThere(f"{self.name}: no such data set on the Hub, {hint}: `hf auth login`")
        if kind == "GatedRepoError":
            return UserError(f"{self.name} is gated, and the token has no access: ask for it on its page of the Hub")
        if hub.is_no_hub(cause):
            return UserError(hub.no_hub())
        if response is not None and response.request.method == "PUT" and status not in _BUSY:
            # Signed addresses work for anyone who has them: never show them.
            return UserError(f"an upload for {self.name} was refused ({status}): run the same command again")
        return self._refused(status, cause)

    def _refused(self, status: int | None, error: BaseException) -> UserError:
        message = one_line(getattr(error, "server_message", None) or error, 200)
        message = message.replace(self._token, "***") if self._token else message
        if status == 401:
            return UserError("the Hub does not accept the token: log in again with `hf auth login`")
        if status == 403:
            return UserError(f"the token may not write to {self.name} ({message}): take one with write access to it")
        if status == 412:
            return Changed(self.name)
        if status in _BUSY:
            return Unanswered(
                f"the Hub answered {status} again and again; a reader sees {self.name} as it was: run the same command"
                " later, it sends only what is missing"
            )
        return UserError(f"the Hub refused{f' ({status})' if status else ''} for {self.name}: {message}")


def with_owner(repository: Repository, state: State) -> State:
    """State with our files in `files` and all others in `theirs`."""
    published = parse_published(repository.read(PUBLISHED, state.head)) if PUBLISHED in state.files else None
    card = repository.read(CARD, state.head).decode("utf-8", errors="replace") if CARD in state.files else ""
    if published is None and MARK not in card:
        _check_free(repository.name, state.files)
    mine = {path for path in state.files if _is_ours(path, published)} - HUBS_OWN
    if published:
        hashes = {path: hashlib.sha256(repository.read(path, state.head)).hexdigest() for path in mine & SHARED}
        mine -= {path for path, digest in hashes.items() if digest != published.files[path]}
    return replace(
        state,
        files={path: file for path, file in state.files.items() if path in mine},
        theirs={path: file for path, file in state.files.items() if path not in mine | HUBS_OWN},
        published=published,
    )


def _check_free(name: str, paths: Iterable[str]) -> None:
    foreign = sorted(path for path in paths if path not in {CARD, *SHARED} and not _BESIDE.fullmatch(path))
    if foreign:
        raise UserError(
            f"{name} holds other data ({foreign[0]}) and no card of livek12: publishing would replace its card; give"
            " another repository, or empty it first"
        )


def _is_ours(path: str, published: Publication | None) -> bool:
    if path in (CARD, PUBLISHED):
        return True
    if published is not None:
        return path in published.files
    return path in METADATA or bool(_TABLE.fullmatch(path))


Kind = Literal["added", "changed", "removed", "unchanged"]
_BLOCK = 1 << 20
BATCH_FILES = 8
BATCH_BYTES = 256 << 20
ATTEMPTS = 3
"""Attempts of a commit whose answer was lost."""
_TAG = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_-]|\.(?!\.|$|lock$))*")


@dataclass(frozen=True)
class LocalFile:
    """A file with the hashes the Hub may list."""

    file: Path
    size: int
    sha256: str
    sha1: str

    def is_same(self, remote: RemoteFile | None) -> bool:
        """True if the Hub has the same content."""
        if remote is None:
            return False
        return remote.sha256 == self.sha256 if remote.sha256 else remote.sha1 == self.sha1


@dataclass(frozen=True)
class Change:
    """Change of one file; `bytes` is its size (the old size if it is removed)."""

    path: str
    kind: Kind
    bytes: int


def local_files(folder: Path, only: str = "*") -> dict[str, LocalFile]:
    """Visible files of a dataset by path; `only` is a glob of names."""
    return {path: _hashed(file) for path, file in data_set_files(folder, only).items()}


def data_set_files(folder: Path, only: str = "*") -> dict[str, Path]:
    """The same without hashes."""
    by_path = {}
    for file in sorted(folder.rglob(only)):
        path = file.relative_to(folder)
        if not file.is_file() or any(part.startswith(".") for part in path.parts):
            continue
        if file.suffix != ".parquet" and path.as_posix() not in {*METADATA, PUBLISHED, *SHARED}:
            raise UserError(f"{folder}: {path} is no file of a data set: move it elsewhere before publishing")
        by_path[path.as_posix()] = file
    return by_path


def changes(local: dict[str, LocalFile], remote: dict[str, RemoteFile]) -> list[Change]:
    """In the order of the paths, the card last; `remote` holds our files only."""
    planned = []
    for path in sorted({*local, *remote} - HUBS_OWN, key=lambda path: (path == CARD, path)):
        mine, theirs = local.get(path), remote.get(path)
        if mine is None:
            planned.append(Change(path, "removed", theirs.size if theirs else 0))
        else:
            kind: Kind = "unchanged" if mine.is_same(theirs) else "changed" if theirs else "added"
            planned.append(Change(path, kind, mine.size))
    return planned


def check_free_places(name: str, files: dict[str, LocalFile], state: State) -> None:
    """Refuses to overwrite a file of others."""
    for path, file in files.items():
        if path in state.theirs and not file.is_same(state.theirs[path]):
            raise UserError(
                f"{name} has a file {path} that livek12 did not publish: it stays as it is; move it on the Hub, or take"
                " that of the folder away"
            )


def _is_published(local: dict[str, LocalFile], remote: dict[str, RemoteFile]) -> bool:
    return all(file.is_same(remote.get(path)) for path, file in local.items())


def holds_records(path: str) -> bool:
    """True for tables of questions or pages; flat tables are regenerated at each publish."""
    return path.endswith(".parquet") and not is_flat(table_of(path))


def table_of(path: str) -> str:
    """Table of a file in a repository."""
    return path.partition("/")[0]


def _free_tag(name: str, taken: Iterable[str]) -> str:
    """First free of NAME.1, NAME.2 and so on."""
    taken, number = set(taken), 1
    while f"{name}.{number}" in taken:
        number += 1
    return f"{name}.{number}"


def content_hash(local: dict[str, LocalFile]) -> str:
    """First 12 digits of a hash of the dataset's files."""
    lines = (f"{path} {file.sha256}\n" for path, file in sorted(local.items()))
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:12]


def _hashed(file: Path) -> LocalFile:
    size = file.stat().st_size
    sha256, sha1 = hashlib.sha256(), hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    with file.open("rb") as content:
        while block := content.read(_BLOCK):
            sha256.update(block)
            sha1.update(block)
    return LocalFile(file, size, sha256.hexdigest(), sha1.hexdigest())


def _read_back(
    repository: Repository, commit: str, folder: Path, local: dict[str, LocalFile]
) -> dict[str, dict[str, int]]:
    for change in changes(local, repository.files(commit)):
        if change.kind in ("added", "changed"):
            _differs(repository, f"{change.path} is {change.kind} against the folder")
    configs = read_card(folder) | {name: {SPLIT: [f"{name}/{SPLIT}-*.parquet"]} for name in flat_rows(folder)}
    counts: dict[str, dict[str, int]] = {}
    with (
        _quiet(),
        tempfile.TemporaryDirectory(prefix="livek12-") as cache,
        Progress("loading back", len(configs)) as bar,
    ):
        for config, splits in configs.items():
            loaded = _load(repository, commit, config, Path(cache))
            if set(loaded) != set(splits):
                _differs(repository, f"config {config} has splits {', '.join(sorted(loaded))}")
            for split, patterns in splits.items():
                where, files = f"config {config}, split {split}", data_files(folder, patterns)
                keys = _keys_on_the_hub(repository, commit, folder, files, config)
                _compare(repository, where, files, loaded[split], keys, config)
                counts.setdefault(config, {})[split] = len(keys)
            bar.step()
    return counts


def _keys_on_the_hub(
    repository: Repository, commit: str, folder: Path, files: list[Path], config: str
) -> list[tuple[Any, ...]]:
    keys = []
    for file in files:
        with repository.open(file.relative_to(folder).as_posix(), commit) as remote:
            keys += [tuple(row.values()) for row in read_columns(remote, _key_columns(config))]
    return keys


def _compare(repository: Repository, where: str, files: list[Path], rows: Any, theirs: list[Any], config: str) -> None:
    record: type[Record] = FlatRow if is_flat(config) else Page if config == PAGES else Question
    mine = [tuple(row.values()) for file in files for row in read_columns(file, _key_columns(config))]
    if mine != theirs:
        _differs(repository, f"{where}: {len(theirs)} rows for {len(mine)}, or other ids")
    first = next((streamed for file in files for streamed in read_records(record, file)), None)
    streamed = _first(rows.decode(False))
    if (streamed is None) != (first is None) or (streamed is not None and from_row(record, streamed) != first):
        _differs(repository, f"{where}: the first row is another")


def _first(rows: Any) -> Any:
    """Ends the reader: Arrow threads that still read abort a process that exits."""
    reading = iter(rows)
    try:
        return next(reading, None)
    finally:
        reading.close()
        gc.collect()


def _load(repository: Repository, commit: str, config: str, cache: Path) -> Any:
    from datasets import load_dataset

    try:
        return load_dataset(repository.name, config, revision=commit, streaming=True, cache_dir=str(cache))
    except Exception as error:  # datasets raises its own, the Hub's and OSErrors
        raise UserError(
            f"{repository.name}: published, but config {config} does not load ({one_line(error, 160)}); run the same"
            " command again"
        ) from None


def _key_columns(config: str) -> list[str]:
    return ["paper_id", "page_number"] if config == PAGES else ["id"]


def _differs(repository: Repository, what: str) -> None:
    raise UserError(f"{repository.name}: published, but not the same when loaded back: {what}; run the command again")


@contextmanager
def _quiet() -> Iterator[None]:
    import datasets

    shown = datasets.utils.is_progress_bar_enabled()
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        if shown:
            datasets.enable_progress_bars()


Files = dict[str, LocalFile]


@dataclass
class Shipment:
    """Changes of one repository.

    Attributes:
        created: it did not exist (or this token cannot see it).
        tagged: the tag is new.
    """

    repo: str
    private: bool
    created: bool
    files: list[Change]
    tag: str
    tagged: bool
    committed: bool = False
    commit: str | None = None
    loaded: dict[str, dict[str, int]] = field(default_factory=dict)

    def of_kind(self, kind: str) -> list[Change]:
        """Those of a `Kind`."""
        return [change for change in self.files if change.kind == kind]


class Shipping:
    """Shipment of one folder to one repository.

    `private` holds for a new repository; `gate` None leaves access unchanged.
    """

    def __init__(
        self,
        repository: Repository,
        before: State | None,
        folder: Path,
        files: Files,
        tag: str,
        *,
        private: bool,
        gate: Gate | None = None,
    ) -> None:
        self._repository, self._before, self._folder, self._files = repository, before, folder, files
        self._gate = gate
        tagged = _tagged_commit(repository, before, files, tag)
        self.shipment = Shipment(
            repo=repository.name,
            private=before.private if before else private,
            created=before is None,
            files=changes(files, before.files if before else {}),
            tag=tag,
            tagged=tagged is None,
            commit=tagged,
        )

    def ship(self) -> None:
        """Ships the folder; after a failure a reader sees the old set or the new one."""
        shipment = self.shipment
        state = self._before or self._create()
        if self._gate is not None:
            self._repository.gate(self._gate)
        if not _is_published(self._files, state.files):
            state = self._commit(state)
            shipment.committed = True
        if shipment.tagged:
            self._repository.tag(shipment.tag, state.head)
        shipment.commit = state.head
        shipment.loaded = _read_back(self._repository, state.head, self._folder, self._files)

    def _create(self) -> State:
        self._repository.create(self.shipment.private)
        state = self._repository.state()
        if state is None:
            raise UserError(
                f"{self._repository.name} is there, but the token does not see it: take one that may read it"
            )
        return state

    def _commit(self, state: State) -> State:
        """After a lost answer there is still only one commit."""
        from huggingface_hub import CommitOperationAdd

        todo = changes(self._files, state.files)
        paths = [change.path for change in todo if change.kind in ("added", "changed")]
        removed = [change.path for change in todo if change.kind == "removed"]
        operations = {path: CommitOperationAdd(path, self._files[path].file) for path in paths}
        with Progress("uploading", len(paths)) as bar:
            for batch in _batches(paths, self._files):
                self._repository.upload([operations[path] for path in batch])
                for _ in batch:
                    bar.step()
        for wait in (*WAITS[: ATTEMPTS - 1], None):
            problem: Changed | Unanswered | None = None
            try:
                self._repository.commit(list(operations.values()), removed, f"Publish {self.shipment.tag}", state.head)
            except (Changed, Unanswered) as error:
                problem = error
            now = self._repository.state()
            if now and _is_published(self._files, now.files):
                return now
            if now is None or now.head != state.head:
                raise Changed(self._repository.name)
            if problem is None or wait is None:
                raise problem or Unanswered(
                    f"{self._repository.name}: the Hub took the commit, but does not show it yet: run the same command"
                    " again"
                )
            time.sleep(wait)
        raise AssertionError("the last attempt returns or raises")


def _batches(paths: Sequence[str], files: Files) -> Iterator[list[str]]:
    batch: list[str] = []
    for path in paths:
        if batch and (len(batch) == BATCH_FILES or sum(files[p].size for p in batch) + files[path].size > BATCH_BYTES):
            yield batch
            batch = []
        batch.append(path)
    if batch:
        yield batch


def _tagged_commit(repository: Repository, before: State | None, files: Files, tag: str) -> str | None:
    if not _TAG.fullmatch(tag) or (before and tag in before.branches):
        raise UserError(f"--tag {tag!r} is no name for a tag: take letters, digits, '.', '-' and '_'")
    taken = before.tags if before else {}
    if tag not in taken:
        return None
    if _is_published(files, repository.files(taken[tag])):
        return taken[tag]
    raise UserError(
        f"{repository.name}: tag {tag} names another content already (commit {taken[tag][:12]}), and a tag is never"
        f" moved: give --tag {_free_tag(tag, taken)}"
    )
