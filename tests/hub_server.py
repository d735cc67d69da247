"""The server of the loopback Hub (see `tests.hub`): the endpoints, who may use them, and the faults.

Run as a program: `python -m tests.hub_server FOLDER [PORT]` prints its address.
"""

from __future__ import annotations

import json
import math
import os
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, quote, unquote, urlsplit

import yaml

from tests.hub import USERS
from tests.hub_storage import DATE, Refusal, Repo, Storage, entries, upload_mode

PAGE = 20
"""Entries of a listing before the next page (the Hub gives 1,000): small, so that clients have to turn pages."""
_REPO = r"(?P<kind>datasets|models|spaces)/(?P<id>[^/]+/[^/]+)"
_LINK = r"(?:(?P<kind>datasets|spaces)/)?(?P<id>[^/]+/[^/]+)"


class Faults:
    """The faults that were ordered and have not happened yet."""

    def __init__(self) -> None:
        self._orders: list[dict[str, Any]] = []
        self._lock = threading.Lock()

    def order(self, fault: dict[str, Any] | None) -> None:
        """Adds one; None forgets all."""
        with self._lock:
            self._orders = [*self._orders, fault] if fault else []

    def due(self, method: str, path: str) -> str:
        """The action for this request; empty for none."""
        with self._lock:
            for order in self._orders:
                if not re.search(order["path"], path) or order["method"] not in ("", method) or order["times"] <= 0:
                    continue
                if order["after"] > 0:
                    order["after"] -= 1
                    continue
                order["times"] -= 1
                return str(order["action"])
        return ""


class Handler(BaseHTTPRequestHandler):
    """One connection; the routes are at the end of the module."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each answer waits 40 ms for an acknowledgement of its head
    storage: ClassVar[Storage]
    log: ClassVar[Path]
    faults: ClassVar[Faults] = Faults()
    log_lock: ClassVar[threading.Lock] = threading.Lock()

    def do_GET(self) -> None:
        self._serve()

    do_HEAD = do_POST = do_PUT = do_DELETE = do_GET

    def _serve(self) -> None:
        url = urlsplit(self.path)
        self.query = parse_qs(url.query)
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if url.path == "/_fault":
            self.faults.order(json.loads(self.body))
            return self.json({})
        action = self.faults.due(self.command, url.path)
        if action.startswith("slow:"):
            time.sleep(float(action[5:]))
        elif action == "die":
            os._exit(1)
        elif action == "drop":
            return self._hang_up()
        self._forgets = action == "forget"
        if action == "html":
            return self.answer(b"<html>Log in</html>", 200, {"Content-Type": "text/html"})
        if action.startswith("move:"):
            old, new = action[5:].split(":")
            return self.answer(b"", 307, {"Location": self.path.replace(old, new)})
        try:
            if action.isdigit():
                raise Refusal(int(action), "ordered by the test")
            self._route(url.path)
        except Refusal as refusal:
            code = {"X-Error-Code": refusal.code} if refusal.code else {}
            self.json({"error": refusal.message}, refusal.status, {"X-Error-Message": refusal.message, **code})
        return None

    def _route(self, path: str) -> None:
        for method, pattern, handle in ROUTES:
            if self.command in method.split() and (match := re.fullmatch(pattern, path)):
                return handle(self, **{name: unquote(value or "") for name, value in match.groupdict().items()})
        raise Refusal(404, f"no such page: {path}")

    # Who asks

    def user(self) -> dict[str, Any] | None:
        """The user of the token; None without one."""
        header = self.headers.get("Authorization")
        if not header:
            return None
        user = USERS.get(header.removeprefix("Bearer "))
        if user is None:
            raise Refusal(401, "Invalid credentials in Authorization header")
        return user

    def may_write(self, namespace: str) -> None:
        """Refuses who may not write there."""
        user = self.user()
        if user is None:
            raise Refusal(401, "Invalid username or password.")
        if not user["write"] or namespace not in (user["name"], *user["orgs"]):
            raise Refusal(403, f"You don't have the rights to write in the namespace {namespace!r}")

    def open(self, kind: str, id: str, *, write: bool = False) -> Repo:
        """The repository, where the user may see it (and write to it)."""
        repo, user, namespace = self.storage.repo(kind or "models", id), self.user(), id.split("/", 1)[0]
        hidden = not repo.exists or (repo.private and (user is None or namespace not in (user["name"], *user["orgs"])))
        if hidden:
            raise Refusal(401 if user is None else 404, "Repository not found", "RepoNotFound")
        if write:
            self.may_write(namespace)
        return repo

    # Answers

    def json(self, value: object, status: int = 200, headers: dict[str, str] | None = None) -> None:
        """Answers with JSON."""
        self.answer(json.dumps(value).encode(), status, {"Content-Type": "application/json", **(headers or {})})

    def listing(self, rows: list[dict[str, Any]]) -> None:
        """Answers with one page of a listing and the link to the next."""
        start = int(self.query.get("cursor", ["0"])[0])
        url = urlsplit(self.path)
        query = "&".join(f"{k}={quote(v[0])}" for k, v in self.query.items() if k != "cursor")
        more = f'<{base(self)}{url.path}?{query}&cursor={start + PAGE}>; rel="next"'
        self.json(rows[start : start + PAGE], headers={"Link": more} if start + PAGE < len(rows) else None)

    def answer(self, content: bytes, status: int, headers: dict[str, str]) -> None:
        """Answers, unless the answer is to be lost."""
        self._note(status)
        if getattr(self, "_forgets", False):
            return self._hang_up()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)
        return None

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _note(self, status: int) -> None:
        path = urlsplit(self.path).path
        row = {"method": self.command, "path": path, "status": status, "bytes": len(self.body)}
        with self.log_lock, self.log.open("a") as log:
            log.write(json.dumps(row) + "\n")

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing on stderr."""


def base(handler: Handler) -> str:
    """The address of the server, as the client knows it."""
    return f"http://{handler.headers['Host']}"


# Routes: each takes the handler and the named groups of its pattern.


def whoami(handler: Handler) -> None:
    user = handler.user()
    if user is None:
        raise Refusal(401, "Invalid username or password.")
    role = "write" if user["write"] else "read"
    orgs = [{"type": "org", "name": name} for name in user["orgs"]]
    token = {"accessToken": {"displayName": "test", "role": role}}
    handler.json({"type": "user", "name": user["name"], "orgs": orgs, "auth": {"type": "access_token", **token}})


def create(handler: Handler) -> None:
    order = json.loads(handler.body)
    user = handler.user()
    namespace = order.get("organization") or (user["name"] if user else "")
    handler.may_write(namespace)
    kind, id = f"{order.get('type') or 'model'}s", f"{namespace}/{order['name']}"
    url = f"{base(handler)}/{'' if kind == 'models' else kind + '/'}{id}"
    try:
        handler.storage.create(kind, id, order.get("visibility") == "private" or bool(order.get("private")))
    except Refusal as refusal:
        return handler.json({"error": refusal.message, "url": url}, refusal.status)
    return handler.json({"url": url, "name": id, "id": id})


def validate_yaml(handler: Handler) -> None:
    import yaml

    content = json.loads(handler.body)["content"]
    front = re.match(r"---\s*\n(.*?)\n---\s*(?:\n|$)", content, re.DOTALL)
    try:
        yaml.safe_load(front[1] if front else "")
    except yaml.YAMLError as error:
        return handler.json({"errors": [{"message": str(error)}], "warnings": []}, 400)
    return handler.json({"errors": [], "warnings": []})


def info(handler: Handler, kind: str, id: str, revision: str = "main") -> None:
    repo = handler.open(kind, id)
    commit = repo.commit_of(revision)
    files = [{"rfilename": path} for path in commit["tree"]]
    facts = {
        "id": id,
        "sha": commit["oid"],
        "private": repo.private,
        "gated": repo.gated,
        "siblings": files,
        "lastModified": DATE,
    }
    facts |= model_facts(repo, commit["tree"]) if kind == "models" else {"tags": []}
    handler.json({**facts, "createdAt": DATE, "disabled": False, "gated": repo.gated, "downloads": 0})


def model_facts(repo: Repo, tree: dict[str, Any]) -> dict[str, Any]:
    """What the Hub reads out of a model's files: the front matter of its card, and what its weights say they hold."""
    found: dict[str, Any] = {"tags": []}
    if card := tree.get("README.md"):
        text = repo.content(card).read_text(encoding="utf-8")
        data = yaml.safe_load(text.split("---")[1]) if text.startswith("---") else None
        if data:
            found |= {"cardData": data, "tags": [f"license:{data['license']}"] if "license" in data else []}
    if weights := tree.get("model.safetensors"):
        content = repo.content(weights).read_bytes()
        tensors = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        counts: dict[str, int] = {}
        for tensor in tensors.values():
            counts[tensor["dtype"]] = counts.get(tensor["dtype"], 0) + math.prod(tensor["shape"])
        found["safetensors"] = {"parameters": counts, "total": sum(counts.values())}
    return found


def settings(handler: Handler, kind: str, id: str) -> None:
    repo, asked = handler.open(kind, id, write=True), json.loads(handler.body)
    if asked.get("gated") not in ("auto", "manual", False):
        raise Refusal(400, "gated is auto, manual or false")
    repo.gate(asked["gated"])
    handler.json({})


def preupload(handler: Handler, kind: str, id: str, revision: str) -> None:
    tree = handler.open(kind, id, write=not _proposes(handler)).commit_of(revision)["tree"]
    files = []
    for file in json.loads(handler.body)["files"]:
        entry = tree.get(file["path"])
        oid = (entry.get("lfs") or entry)["oid"] if entry else None
        mode = upload_mode(file["path"], file["size"])
        files.append({"path": file["path"], "uploadMode": mode, "shouldIgnore": False, "oid": oid})
    handler.json({"files": files})


def lfs_batch(handler: Handler, kind: str, id: str) -> None:
    repo = handler.open(kind, id, write=True)
    objects = []
    for wanted in json.loads(handler.body)["objects"]:
        answer = {"oid": wanted["oid"], "size": wanted["size"]}
        if not repo.has_object(wanted["oid"]):
            place = f"{base(handler)}/_lfs/{kind or 'models'}/{id}/{wanted['oid']}"
            upload, verify = {"href": place, "header": {}}, {"href": f"{place}/verify", "header": {}}
            answer |= {"authenticated": True, "actions": {"upload": upload, "verify": verify}}
        objects.append(answer)
    handler.json({"transfer": "basic", "objects": objects})


def lfs_put(handler: Handler, kind: str, id: str, oid: str) -> None:
    handler.storage.repo(kind, id).store_object(oid, handler.body)  # like a signed address: no token
    handler.json({})


def lfs_verify(handler: Handler, kind: str, id: str, oid: str) -> None:
    if not handler.open(kind, id, write=True).has_object(oid):
        raise Refusal(404, "no such object")
    handler.json({})


def commit(handler: Handler, kind: str, id: str, revision: str) -> None:
    proposes = _proposes(handler)
    repo = handler.open(kind, id, write=not proposes)
    number = len(repo.refs["pullRequests"]) + 1 if proposes else None
    made = repo.commit(revision, (json.loads(line) for line in handler.body.splitlines() if line.strip()), number)
    answer = {"success": True, "commitOid": made["oid"], "commitUrl": f"{base(handler)}/{id}/commit/{made['oid']}"}
    if proposes:
        answer["pullRequestUrl"] = f"{base(handler)}/{id}/discussions/{number}"
    handler.json(answer)


def _proposes(handler: Handler) -> bool:
    """Whether a pull request is to be opened, which whoever may read may do."""
    return handler.query.get("create_pr", [""])[0] == "1"


def tree(handler: Handler, kind: str, id: str, revision: str, path: str = "") -> None:
    head = handler.open(kind, id).commit_of(revision)
    found = entries(head["tree"], path, handler.query.get("recursive", [""])[0].lower() == "true")
    if path and not found:
        raise Refusal(404, f"{path} does not exist", "EntryNotFound")
    handler.listing(_dated(handler.query, head, found))


def paths_info(handler: Handler, kind: str, id: str, revision: str) -> None:
    head = handler.open(kind, id).commit_of(revision)
    form = handler.headers.get("Content-Type", "").startswith("application/x-www-form")
    asked = parse_qs(handler.body.decode()) if form else json.loads(handler.body)
    wanted = {path.strip("/") for path in asked["paths"]}
    found = [entry for entry in entries(head["tree"], "", recursive=True) if entry["path"] in wanted]
    handler.json(_dated(asked, head, found))


def _dated(asked: dict[str, Any], head: dict[str, Any], found: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    expand = str(asked.get("expand", [""])).lower().strip("[]'\"") == "true"
    last = {"lastCommit": {"id": head["oid"], "title": head["title"], "date": DATE}} if expand else {}
    return [{**entry, **last} for entry in found]


def refs(handler: Handler, kind: str, id: str) -> None:
    found = handler.open(kind, id).refs
    listed = {
        group: [{"name": n, "ref": f"refs/{place}/{n}", "targetCommit": oid} for n, oid in found[group].items()]
        for group, place in (("branches", "heads"), ("tags", "tags"), ("converts", "convert"), ("pullRequests", "pr"))
    }
    handler.json(listed)


def commits(handler: Handler, kind: str, id: str, revision: str) -> None:
    history = handler.open(kind, id).history(revision)
    handler.listing(
        [{"id": c["oid"], "title": c["title"], "message": "", "date": DATE, "authors": []} for c in history]
    )


def tag(handler: Handler, kind: str, id: str, revision: str) -> None:
    repo = handler.open(kind, id, write=True)
    if handler.command == "DELETE":
        repo.delete_tag(revision)
    else:
        repo.tag(json.loads(handler.body)["tag"], revision)
    handler.json({})


def resolve(handler: Handler, kind: str, id: str, revision: str, path: str) -> None:
    repo, user = handler.open(kind or "models", id), handler.user()
    if repo.gated and (user is None or id.split("/", 1)[0] not in (user["name"], *user["orgs"])):
        raise Refusal(401 if user is None else 403, f"Access to {id} is restricted", "GatedRepo")
    head = repo.commit_of(revision)
    about = {"X-Repo-Commit": head["oid"]}
    entry = head["tree"].get(path)
    if entry is None:
        refusal = {"X-Error-Code": "EntryNotFound", "X-Error-Message": "Entry not found"}
        return handler.json({"error": "Entry not found"}, 404, {**about, **refusal})
    about |= {"ETag": f'"{(entry.get("lfs") or entry)["oid"]}"', "Accept-Ranges": "bytes"}
    about["Content-Type"] = "application/octet-stream"
    asked = re.fullmatch(r"bytes=(\d*)-(\d*)", handler.headers.get("Range", ""))
    if handler.command == "HEAD":
        return handler.answer(b"", 200, {**about, "Content-Length": str(entry["size"])})
    content = repo.content(entry).read_bytes()
    if asked is None:
        return handler.answer(content, 200, about)
    first = int(asked[1]) if asked[1] else max(0, len(content) - int(asked[2]))
    last = min(int(asked[2]), len(content) - 1) if asked[1] and asked[2] else len(content) - 1
    if first > last:
        return handler.answer(b"", 416, {**about, "Content-Range": f"bytes */{len(content)}"})
    return handler.answer(
        content[first : last + 1], 206, {**about, "Content-Range": f"bytes {first}-{last}/{len(content)}"}
    )


ROUTES: list[tuple[str, str, Callable[..., None]]] = [
    ("GET", r"/api/whoami-v2", whoami),
    ("POST", r"/api/repos/create", create),
    ("POST", r"/api/validate-yaml", validate_yaml),
    ("GET", rf"/api/{_REPO}", info),
    ("GET", rf"/api/{_REPO}/revision/(?P<revision>[^/]+)", info),
    ("PUT", rf"/api/{_REPO}/settings", settings),
    ("POST", rf"/api/{_REPO}/preupload/(?P<revision>[^/]+)", preupload),
    ("POST", rf"/api/{_REPO}/commit/(?P<revision>[^/]+)", commit),
    ("GET", rf"/api/{_REPO}/tree/(?P<revision>[^/]+)(?:/(?P<path>.+))?", tree),
    ("POST", rf"/api/{_REPO}/paths-info/(?P<revision>[^/]+)", paths_info),
    ("GET", rf"/api/{_REPO}/refs", refs),
    ("GET", rf"/api/{_REPO}/commits/(?P<revision>[^/]+)", commits),
    ("POST DELETE", rf"/api/{_REPO}/tag/(?P<revision>[^/]+)", tag),
    ("POST", rf"/{_LINK}\.git/info/lfs/objects/batch", lfs_batch),
    ("PUT", rf"/_lfs/{_REPO}/(?P<oid>[0-9a-f]{{64}})", lfs_put),
    ("POST", rf"/_lfs/{_REPO}/(?P<oid>[0-9a-f]{{64}})/verify", lfs_verify),
    ("GET HEAD", rf"/{_LINK}/resolve/(?P<revision>[^/]+)/(?P<path>.+)", resolve),
]


class Server(ThreadingHTTPServer):
    """A thread for each connection; clients may be killed at any moment."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing of connections that a client broke off."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


if __name__ == "__main__":
    Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    Handler.storage = Storage(Path(sys.argv[1]))
    Handler.log = Path(sys.argv[1]) / "requests.jsonl"
    server = Server(("127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 0), Handler)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
