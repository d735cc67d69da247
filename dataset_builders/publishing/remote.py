"""A dataset repository of the Hub, the few calls that change it, and which of its files are ours.

Contract: every failure of the Hub or the network becomes a UserError of one line. Reads are retried while the Hub is
busy; `commit` may be repeated after a lost answer, since it names its parent. The token is removed from all messages.
Files listed in the repository's `published.json` are ours; without that file, tables and metadata are, by their names.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from livek12.core import hub
from livek12.core.errors import UserError
from livek12.core.questions import CARD
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.writing.card import MARK, METADATA
from livek12.dataset_builders.writing.listings import (
    PUBLISHED,
    SHARED,
    Gate,
    Publication,
    parse_published,
)

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
    """The repository changed in the meantime: its head, unless `what` says otherwise."""

    def __init__(self, name: str, what: str = "") -> None:
        super().__init__(
            f"{name} was changed by somebody else in the meantime{what}: see its last commit, then run the same"
            " command again"
        )


class Unanswered(UserError):
    """The Hub did not answer, or remained busy: the request may have been executed or not."""


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
        files: our files, after `owning.with_owner`.
        tips: the commits of all branches, tags, Hub conversions and pull requests.
        theirs: the files of others.
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
    """A dataset repository, existing or not. Every method raises UserError as the module says."""

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
        """The address of its page."""
        return f"{self._api.endpoint}/datasets/{self.name}"

    @property
    def logged_in(self) -> bool:
        """True if there is a token."""
        return bool(self._token)

    def check_login(self) -> str:
        """The user of the token."""
        if not self._token:
            raise UserError("not logged in to the Hub: run `hf auth login`, or set HF_TOKEN")
        return self._ask(lambda: str(self._api.whoami()["name"]))

    def state(self) -> State | None:
        """The present state; None if the token sees no repository."""
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
        """The files of a revision by path."""
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
        """The commits that led to a revision, newest first."""
        commits = self._ask(lambda: self._api.list_repo_commits(self.name, repo_type="dataset", revision=revision))
        return [commit.commit_id for commit in commits]

    def read(self, path: str, revision: str) -> bytes:
        """The content of a small file."""
        return self._ask(lambda: bytes(self._filesystem().cat_file(self._address(path, revision))))

    def open(self, path: str, revision: str) -> Any:
        """Opens a file of a revision; only the parts read are fetched."""
        return self._ask(lambda: self._filesystem().open(self._address(path, revision), "rb"))

    def create(self, private: bool) -> None:
        """Creates the repository if it is missing."""
        self._ask(lambda: self._api.create_repo(self.name, repo_type="dataset", private=private, exist_ok=True))

    def gate(self, gate: Gate) -> None:
        """Restricts its files to readers who request access, granted at once (`auto`) or by hand (`manual`)."""
        self._ask(lambda: self._api.update_repo_settings(self.name, gated=gate or False, repo_type="dataset"))

    def upload(self, operations: Sequence[CommitOperationAdd]) -> None:
        """Uploads the LFS contents that the Hub lacks."""
        self._ask(
            lambda: self._api.preupload_lfs_files(self.name, operations, repo_type="dataset", free_memory=False),
            repeat=False,
        )

    def commit(self, added: Sequence[CommitOperationAdd], deleted: Sequence[str], message: str, parent: str) -> None:
        """Makes one atomic commit on top of `parent`; raises `Changed` if that is no longer the head."""
        from huggingface_hub import CommitOperationDelete

        gone = [CommitOperationDelete(path_in_repo=path, is_folder=False) for path in deleted]
        self._ask(
            lambda: self._api.create_commit(
                self.name, [*added, *gone], repo_type="dataset", commit_message=message, parent_commit=parent
            ),
            repeat=False,
        )

    def tag(self, name: str, commit: str) -> None:
        """Names a commit; raises `Changed` if the name now belongs to another one."""
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
            # Signed addresses are valid for a while for anyone who has them: never show them.
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


def local_operation(path: str, file: Path) -> CommitOperationAdd:
    """The operation that adds a file to a commit."""
    from huggingface_hub import CommitOperationAdd

    return CommitOperationAdd(path_in_repo=path, path_or_fileobj=file)


def with_owner(repository: Repository, state: State) -> State:
    """The state with our files in `files` and all others in `theirs`."""
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
