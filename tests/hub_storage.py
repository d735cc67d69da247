"""What the loopback Hub keeps: repositories with commits, refs and file contents, all in one folder.

Contract: everything is on disk before a call returns, each file replaced whole, so a server that is killed loses
nothing it had acknowledged, and another one on the same folder goes on. Contents are kept by their hash: git's SHA-1
for regular files, SHA-256 for LFS objects. Problems are raised as `Refusal`, with the status and codes of the Hub.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Any

ATTRIBUTES = b"*.parquet filter=lfs diff=lfs merge=lfs -text\n*.bin filter=lfs diff=lfs merge=lfs -text\n"
LFS_PATTERNS = ("*.parquet", "*.bin", "*.safetensors", "*.zip", "*.png", "*.jpg")
REGULAR_BYTES = 10 << 20
DATE = "2026-01-01T00:00:00.000Z"


@dataclass
class Refusal(Exception):
    """An answer that is no success."""

    status: int
    message: str
    code: str = ""


def git_sha1(content: bytes) -> str:
    """The id git gives a file of this content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class Repo:
    """One repository. Commits are `{oid, parent, title, tree: {path: {oid, size, lfs}}}`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self.id = "/".join(folder.parts[-2:])

    @classmethod
    def create(cls, folder: Path, private: bool) -> Repo:
        """A new one with its first commit."""
        for part in ("blobs", "lfs", "commits"):
            (folder / part).mkdir(parents=True)
        repo = cls(folder)
        first = {".gitattributes": repo._store_blob(ATTRIBUTES)}
        oid = repo._store_commit(None, "initial commit", first)
        repo._write("refs.json", {"branches": {"main": oid}, "tags": {}, "converts": {}, "pullRequests": {}})
        repo._write("meta.json", {"private": private})
        return repo

    @property
    def exists(self) -> bool:
        """Whether it was created to its end."""
        return (self._folder / "meta.json").is_file()

    @property
    def private(self) -> bool:
        """Whether only its owners see it."""
        return bool(self._read("meta.json")["private"])

    @property
    def gated(self) -> str | bool:
        """Whether readers have to ask first: auto, manual, or not at all."""
        found: str | bool = self._read("meta.json").get("gated", False)
        return found

    def gate(self, gated: str | bool) -> None:
        """Changes that."""
        with self._lock:
            self._write("meta.json", {**self._read("meta.json"), "gated": gated})

    @property
    def refs(self) -> dict[str, dict[str, str]]:
        """Branches and tags, name to commit."""
        refs: dict[str, dict[str, str]] = self._read("refs.json")
        return refs

    def commit_of(self, revision: str) -> dict[str, Any]:
        """The commit of a branch, tag or commit id."""
        refs = self.refs
        name = revision.removeprefix("refs/heads/").removeprefix("refs/tags/")
        oid = refs["branches"].get(name) or refs["tags"].get(name) or revision
        file = self._folder / "commits" / f"{PurePosixPath(oid).name}.json"
        if not file.is_file():
            raise Refusal(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        commit: dict[str, Any] = json.loads(file.read_text())
        return commit

    def history(self, revision: str) -> list[dict[str, Any]]:
        """The commits that led to a revision, newest first."""
        commits = [self.commit_of(revision)]
        while parent := commits[-1]["parent"]:
            commits.append(self.commit_of(parent))
        return commits

    def content(self, entry: dict[str, Any]) -> Path:
        """The file that holds an entry's content."""
        return self._folder / "lfs" / entry["lfs"]["oid"] if entry.get("lfs") else self._folder / "blobs" / entry["oid"]

    def has_object(self, oid: str) -> bool:
        """Whether an LFS object was uploaded whole."""
        return (self._folder / "lfs" / oid).is_file()

    def store_object(self, oid: str, content: bytes) -> None:
        """Keeps an LFS object."""
        if hashlib.sha256(content).hexdigest() != oid:
            raise Refusal(400, "the content does not have this SHA-256")
        _replace(self._folder / "lfs" / oid, content)

    def commit(self, branch: str, lines: Iterable[dict[str, Any]], pull_request: int | None = None) -> dict[str, Any]:
        """Applies a commit, all of it or nothing; where it is for a pull request, to that and not to the branch.

        Raises:
            Refusal: 412 where the parent is no longer the head, 404 for an unknown file to delete, 400 for an LFS
                file whose object was not uploaded.
        """
        items = list(lines)
        header = next(item["value"] for item in items if item["key"] == "header")
        with self._lock:
            refs = self.refs
            if branch not in refs["branches"]:
                raise Refusal(404, f"Invalid rev id: {branch}", "RevisionNotFound")
            head = self.commit_of(branch)
            if header.get("parentCommit") not in (None, head["oid"]):
                raise Refusal(412, "A commit has happened since. Please refresh and try again.")
            tree = dict(head["tree"])
            for item in items:
                self._apply(item["key"], item["value"], tree)
            made = self._store_commit(head["oid"], header["summary"], tree)
            if pull_request is None:
                refs["branches"][branch] = made
            else:
                refs["pullRequests"][str(pull_request)] = made
            self._write("refs.json", refs)
        return self.commit_of(made)

    def tag(self, name: str, revision: str) -> None:
        """Names a commit; a name is given once."""
        with self._lock:
            refs = self.refs
            if name in refs["tags"]:
                raise Refusal(409, f"Tag reference exists already: {name}")
            refs["tags"][name] = self.commit_of(revision)["oid"]
            self._write("refs.json", refs)

    def squash(self, kind: str) -> None:
        """Forgets history and tags, but for what the Hub keeps at a ref of another kind, such as a conversion."""
        with self._lock:
            old = self.refs["branches"]["main"]
            first = self.history("main")[-1]["oid"]
            refs = {"branches": {"main": first}, "tags": {}, "converts": {}, "pullRequests": {}, kind: {"1": old}}
            self._write("refs.json", refs)

    def delete_tag(self, name: str) -> None:
        """Forgets a tag."""
        with self._lock:
            refs = self.refs
            if refs["tags"].pop(name, None) is None:
                raise Refusal(404, f"Invalid rev id: {name}", "RevisionNotFound")
            self._write("refs.json", refs)

    def _apply(self, key: str, value: dict[str, Any], tree: dict[str, Any]) -> None:
        path = value.get("path", "")
        if key == "file":
            tree[path] = self._store_blob(base64.b64decode(value["content"]))
        elif key == "lfsFile":
            object_ = self._folder / "lfs" / value["oid"]
            if not object_.is_file():
                raise Refusal(400, f"LFS pointer pointed to a file that does not exist: {path}")
            size = object_.stat().st_size
            pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{value['oid']}\nsize {size}\n".encode()
            lfs = {"oid": value["oid"], "size": size, "pointerSize": len(pointer)}
            tree[path] = {"oid": git_sha1(pointer), "size": size, "lfs": lfs}
        elif key in ("deletedFile", "deletedFolder"):
            gone = [name for name in tree if name == path or (key == "deletedFolder" and name.startswith(path))]
            if not gone:
                raise Refusal(404, f"A file with this name doesn't exist: {path}", "EntryNotFound")
            for name in gone:
                del tree[name]

    def _store_blob(self, content: bytes) -> dict[str, Any]:
        oid = git_sha1(content)
        _replace(self._folder / "blobs" / oid, content)
        return {"oid": oid, "size": len(content)}

    def _store_commit(self, parent: str | None, title: str, tree: dict[str, Any]) -> str:
        commit = {"parent": parent, "title": title, "tree": dict(sorted(tree.items()))}
        oid = hashlib.sha1(json.dumps(commit, sort_keys=True).encode()).hexdigest()
        self._write(f"commits/{oid}.json", {"oid": oid, **commit})
        return oid

    def _read(self, name: str) -> Any:
        return json.loads((self._folder / name).read_text())

    def _write(self, name: str, value: Any) -> None:
        _replace(self._folder / name, json.dumps(value).encode())


class Storage:
    """All repositories below a folder: `KIND/NAMESPACE/NAME`, KIND being datasets, models or spaces."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._repos: dict[str, Repo] = {}
        self._lock = threading.Lock()

    def repo(self, kind: str, id: str) -> Repo:
        """The repository; `exists` says whether it is there."""
        with self._lock:
            folder = self._root / kind / id
            return self._repos.setdefault(str(folder), Repo(folder))

    def create(self, kind: str, id: str, private: bool) -> Repo:
        """A new repository.

        Raises:
            Refusal: 409, it is there.
        """
        repo = self.repo(kind, id)
        with self._lock:
            if repo.exists:
                raise Refusal(409, "You already created this repo")
            Repo.create(self._root / kind / id, private)
        return repo


def entries(tree: dict[str, Any], below: str, recursive: bool) -> list[dict[str, Any]]:
    """Files and folders below a folder, as the tree endpoint lists them."""
    prefix = f"{below}/" if below else ""
    found: dict[str, dict[str, Any]] = {}
    for path, entry in tree.items():
        if not path.startswith(prefix):
            continue
        parts = path[len(prefix) :].split("/")
        for depth in range(1, len(parts) if recursive else min(len(parts), 2)):
            folder = prefix + "/".join(parts[:depth])
            oid = hashlib.sha1(folder.encode()).hexdigest()
            found[folder] = {"type": "directory", "path": folder, "oid": oid, "size": 0}
        if recursive or len(parts) == 1:
            found[path] = {"type": "file", "path": path, **entry}
    return [found[path] for path in sorted(found)]


def upload_mode(path: str, size: int) -> str:
    """Whether the Hub keeps a file of this name and size as an LFS object."""
    return "lfs" if size > REGULAR_BYTES or any(fnmatch(path, pattern) for pattern in LFS_PATTERNS) else "regular"


def _replace(file: Path, content: bytes) -> None:
    temporary = file.with_name(f".{file.name}.{os.getpid()}.{threading.get_ident()}")
    temporary.write_bytes(content)
    temporary.replace(file)
