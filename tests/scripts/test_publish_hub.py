"""The loopback Hub behaves as its clients expect of the Hub."""

from __future__ import annotations

import hashlib
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from tests.hub import READER, STRANGER, WRITER, Hub
from tests.hub_client import Client

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    folder = tmp_path_factory.mktemp("hub")
    with Hub(folder / "hub") as server, Client(server, folder / "home") as client:
        client.python(
            "from huggingface_hub import HfApi\n"
            "api = HfApi()\n"
            "for name, private in (('open', False), ('closed', True)):\n"
            "    repo = {'repo_id': f'org/{name}', 'repo_type': 'dataset'}\n"
            "    api.create_repo(**repo, private=private)\n"
            "    for number in range(25):\n"
            "        api.upload_file(**repo, path_or_fileobj=b'x%d' % number, path_in_repo=f'a/b{number}.txt')\n"
            "    api.upload_file(**repo, path_or_fileobj=b'0123456789', path_in_repo='data.bin')\n"
        )
        yield server


def ask(hub: Hub, path: str, token: str | None = None, data: bytes | None = None, **headers: str) -> Any:
    """Status, headers and body of an answer."""
    request = urllib.request.Request(f"{hub.url}{path}", data, headers)
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


@pytest.mark.parametrize(
    ("path", "token", "status", "code"),
    [
        ("/api/datasets/org/open", None, 200, None),
        ("/api/datasets/org/closed", None, 401, "RepoNotFound"),
        ("/api/datasets/org/closed", STRANGER, 404, "RepoNotFound"),
        ("/api/datasets/org/closed", READER, 200, None),
        ("/api/datasets/org/nothing", None, 401, "RepoNotFound"),
        ("/api/datasets/org/nothing", WRITER, 404, "RepoNotFound"),
        ("/api/datasets/org/open", "hf_unknown", 401, None),
        ("/api/datasets/org/open/revision/v9", None, 404, "RevisionNotFound"),
        ("/datasets/org/open/resolve/main/nothing.txt", None, 404, "EntryNotFound"),
        ("/datasets/org/closed/resolve/main/data.bin", None, 401, "RepoNotFound"),
        ("/api/whoami-v2", None, 401, None),
    ],
)
def test_who_sees_what(path: str, token: str | None, status: int, code: str | None, hub: Hub) -> None:
    found, headers, _ = ask(hub, path, token)
    assert (found, headers["X-Error-Code"]) == (status, code)


def test_downloads_by_range(hub: Hub) -> None:
    place = "/datasets/org/open/resolve/main/data.bin"
    status, headers, body = ask(hub, place)
    assert (status, body) == (200, b"0123456789")
    assert headers["ETag"] == f'"{hashlib.sha256(body).hexdigest()}"'
    assert headers["X-Repo-Commit"] == hub.repo("org/open").refs["branches"]["main"]
    for asked, status, got in (("2-4", 206, b"234"), ("7-", 206, b"789"), ("-2", 206, b"89"), ("10-", 416, b"")):
        found, headers, body = ask(hub, place, Range=f"bytes={asked}")
        assert (found, body) == (status, got), asked


def test_long_listings_come_in_pages(hub: Hub) -> None:
    _, headers, body = ask(hub, "/api/datasets/org/open/tree/main?recursive=true")
    assert len(json.loads(body)) == 20 and 'rel="next"' in headers["Link"]
    with Client(hub, hub.folder.parent / "reader", None) as client:
        code = "from huggingface_hub import HfApi, snapshot_download\nimport os\n"
        code += "listed = HfApi().list_repo_tree('org/open', repo_type='dataset', recursive=True)\n"
        code += "folder = snapshot_download('org/open', repo_type='dataset')\n"
        code += "result = [len(list(listed)), len(os.listdir(folder + '/a'))]"
        assert client.python(code) == [28, 25]  # 25 files, data.bin, .gitattributes and the folder


def test_commits_are_refused_whole(hub: Hub) -> None:
    repo = hub.repo("org/open")
    head = repo.refs["branches"]["main"]

    def commit(*operations: tuple[str, dict[str, Any]], parent: str = head, token: str = WRITER) -> int:
        lines = [("header", {"summary": "s", "parentCommit": parent}), *operations]
        data = "\n".join(json.dumps({"key": key, "value": value}) for key, value in lines).encode()
        status: int = ask(hub, "/api/datasets/org/open/commit/main", token, data)[0]
        return status

    new = ("file", {"path": "new.txt", "content": "bmV3"})
    assert commit(new, parent="0" * 40) == 412
    assert commit(new, ("deletedFile", {"path": "nothing.txt"})) == 404
    assert commit(new, ("lfsFile", {"path": "x.bin", "oid": "0" * 64, "size": 3})) == 400
    assert commit(new, token=READER) == 403
    assert repo.refs["branches"]["main"] == head
    hub.kill()
    hub.start()
    assert commit(new) == 200
    assert repo.history("main")[1]["oid"] == head


def test_an_object_has_the_content_it_says(hub: Hub) -> None:
    oid = hashlib.sha256(b"right").hexdigest()
    for content, status in ((b"wrong", 400), (b"right", 200)):
        request = urllib.request.Request(f"{hub.url}/_lfs/datasets/org/open/{oid}", content, method="PUT")
        try:
            found = urllib.request.urlopen(request).status
        except urllib.error.HTTPError as error:
            found = error.code
        assert found == status
    batch = json.dumps({"operation": "upload", "objects": [{"oid": oid, "size": 5}]}).encode()
    _, _, body = ask(hub, "/datasets/org/open.git/info/lfs/objects/batch", WRITER, batch)
    assert json.loads(body)["objects"] == [{"oid": oid, "size": 5}]
