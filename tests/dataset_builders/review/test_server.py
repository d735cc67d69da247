"""The server over HTTP: who may ask, what is served, and that hostile text comes out as text."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from livek12.dataset_builders.review.guard import Guard
from livek12.dataset_builders.review.server import make_app
from livek12.dataset_builders.review.store import Store
from livek12.dataset_builders.review.view import Rendering
from livek12.scripts.report.markup import render, render_answer
from tests.dataset_builders.review.folders import HOSTILE, make_folder

pytest.importorskip("gradio", reason="the review extra is not installed")
pytestmark = pytest.mark.slow
PAGE = {"Content-Type": "application/json", "X-Livek12": "review"}
TOKEN = "correct-horse"


@contextmanager
def serving(app: Any, host: str, token: str) -> Iterator[int]:
    """The app behind its guard, on a free port of loopback."""
    import socket

    import uvicorn

    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(64)
    port = int(listening.getsockname()[1])
    server = uvicorn.Server(uvicorn.Config(Guard(app, host, port, token), log_level="error", lifespan="off"))  # type: ignore[arg-type]
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield port
    finally:
        server.should_exit = True
        thread.join(20)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = make_folder(
        tmp_path_factory.mktemp("served") / "papers", question=HOSTILE, section=HOSTILE, number="<b>1</b>"
    )
    (root.parent / "secret.png").write_bytes(b"\x89PNG\r\n\x1a\n secret")
    (root / "images" / "link.png").symlink_to(root.parent / "secret.png")
    (root / "images" / "page.png").write_text("<html><script>1</script></html>")
    return root


@pytest.fixture(scope="module")
def ports(folder: Path) -> Iterator[tuple[int, int]]:
    """One for loopback, one as if for the network, with a token."""
    with Store(folder) as store:
        app = make_app(store, Rendering(render, render_answer), "ann")
        with serving(app, "127.0.0.1", "") as near, serving(app, "0.0.0.0", TOKEN) as far:
            yield near, far


def ask(
    port: int, path: str, headers: dict[str, str] | None = None, body: Any = None, method: str = ""
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    payload = None if body is None else json.dumps(body)
    connection.request(method or ("GET" if body is None else "POST"), path, payload, headers or {})
    answer = connection.getresponse()
    found = answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    connection.close()
    return found


@pytest.mark.parametrize(
    "path",
    [
        "/review/image/..%2f..%2fsecret.png",
        "/review/image/../../secret.png",
        "/review/image/%2e%2e%2f%2e%2e%2fsecret.png",
        "/review/image/..\\..\\secret.png",
        "/review/image/%00alpha-q2-1.png",
        "/review/image/link.png",
        "/review/image/page.png",
        "/review/image/.",
        "/review/page/..%2falpha/1",
        "/review/page/alpha/99",
        "/review/page/alpha/..%2f1",
        "/review/page/other/1",
        "/review/crop/alpha?page=1&box=0,0,2,2",
        "/review/crop/alpha?page=1&box=nan,0,1,1",
        "/review/crop/..%2fimages?page=1&box=0,0,1,1",
        "/review/static/server.py",
        "/review/static/..%2fserver.py",
        "/gradio_api/file=/etc/passwd",
        "/gradio_api/file/etc/passwd",
        "/file=/etc/passwd",
        "/gradio_api/proxy=http://127.0.0.1:1/",
        "/gradio_api/upload",
        "/static/../../../routes.py",
        "/assets/..%2f..%2findex.html",
        "/monitoring",
        "/login",
        "/docs",
        "/openapi.json",
        "//etc/passwd",
    ],
)
def test_only_files_of_the_folder_are_served(ports: tuple[int, int], path: str) -> None:
    status, _, body = ask(ports[0], path)
    assert status in (404, 422), path
    assert b"root:" not in body
    assert b"secret" not in body
    assert b"<html" not in body


def test_pictures_of_the_folder_are_served_as_pictures(ports: tuple[int, int]) -> None:
    for path in (
        "/review/image/alpha-q2-1.png",
        "/review/page/alpha/1",
        "/review/crop/alpha?page=1&box=0.1,0.1,0.5,0.5",
    ):
        status, headers, body = ask(ports[0], path)
        assert status == 200, path
        assert headers["content-type"] == "image/png"
        assert headers["x-content-type-options"] == "nosniff"
        assert body.startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:1", 200),
        ("localhost", 200),
        ("[::1]:9", 200),
        ("evil.test", 421),
        ("127.0.0.1.evil.test", 421),
        ("10.0.0.9", 421),
        ("", 421),
    ],
)
def test_a_name_that_is_not_ours_reaches_nothing(ports: tuple[int, int], host: str, status: int) -> None:
    assert ask(ports[0], "/review/queue", {"Host": host})[0] == status


def test_another_page_can_change_nothing(ports: tuple[int, int], folder: Path) -> None:
    said = {"by": "eve", "kind": "accept", "draft": "beta-q1", "said": {}}
    host = f"127.0.0.1:{ports[0]}"
    for wrong in (
        {**PAGE, "Origin": "http://evil.test"},
        {**PAGE, "Origin": "null"},
        {**PAGE, "Origin": f"http://localhost:{ports[0]}"},
        {**PAGE, "Sec-Fetch-Site": "cross-site"},
        {"Content-Type": "application/json"},
        {"X-Livek12": "review", "Content-Type": "text/plain"},
    ):
        assert ask(ports[0], "/review/act", {"Host": host, **wrong}, said)[0] == 403, wrong
    for method in ("PUT", "DELETE", "OPTIONS", "PATCH"):
        assert ask(ports[0], "/review/act", PAGE, said, method)[0] == 404
    assert ask(ports[0], "/review/act", PAGE, {**said, "said": {"text": "x" * 5_000_000}})[0] == 403
    assert ask(ports[0], "/review/queue", {"Sec-Fetch-Site": "cross-site"})[0] == 403
    assert b"eve" not in b"".join(file.read_bytes() for file in (folder / ".ingest").glob("reviews-*"))
    assert (
        ask(ports[0], "/review/act", {**PAGE, "Host": host, "Origin": f"http://{host}"}, {**said, "by": "ann"})[0]
        == 200
    )


def test_beyond_loopback_a_token_is_asked_for_once_and_kept_in_a_cookie(ports: tuple[int, int]) -> None:
    far = ports[1]
    for path in (
        "/",
        "/review/queue",
        "/review/page/alpha/1",
        "/assets/x.js",
        "/?token=",
        "/?token=wrong",
        "/?token=%C3%A9",
    ):
        assert ask(far, path)[0] == 401, path
    status, headers, _ = ask(far, f"/?token={TOKEN}")
    assert (status, headers["location"]) == (303, "/")
    cookie = headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    shown = {"Cookie": cookie.split(";")[0]}
    assert ask(far, "/review/queue", shown)[0] == 200
    assert ask(far, "/review/queue", {**shown, "Host": "192.168.0.7:80"})[0] == 200
    assert ask(far, "/review/queue", {**shown, "Host": "evil.test"})[0] == 421
    assert ask(far, "/review/queue", {"Cookie": cookie.split(";")[0] + "x"})[0] == 401
    assert ask(far, "/review/queue", {"Cookie": "=;;=x; livek12_review"})[0] == 401
    assert ask(far, f"/review/queue?token={TOKEN}")[0] == 401


def test_the_page_points_nowhere_else_and_its_policy_forbids_it(ports: tuple[int, int]) -> None:
    status, headers, body = ask(ports[0], "/")
    assert status == 200
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy
    assert "script-src 'self' 'nonce-" in policy
    assert "'unsafe-inline'" not in policy.split("script-src")[1].split(";")[0]
    assert headers["x-frame-options"] == "DENY"
    text = body.decode()
    for outside in ("https://", "//cdn", "googleapis", "gradio.app", "huggingface.co"):
        assert outside not in text, outside
    assert "livek12-review" in ask(ports[0], "/config")[2].decode()


def test_hostile_text_comes_out_as_text(ports: tuple[int, int]) -> None:
    status, _, body = ask(ports[0], "/review/question/alpha-q1?by=ann")
    assert status == 200
    shown = json.loads(body)
    assert shown["form"]["question"] == HOSTILE
    html = shown["html"]["question"]
    assert "&lt;script&gt;" in html
    for wrong in ("<script", "<img", "<a ", "href=", "root:"):
        assert wrong not in html, wrong
    status, _, body = ask(ports[0], "/review/act", PAGE, {"draft": "alpha-q1", "kind": "<script>", "said": {}})
    assert (status, json.loads(body)["error"]) == (409, "'<script>' is no action")
    for said in ([], "x", 7, None):
        assert ask(ports[0], "/review/act", PAGE, {"draft": "alpha-q1", "kind": "comment", "said": said})[0] == 409
    assert ask(ports[0], "/review/act", PAGE, ["x"])[0] == 422


def test_every_action_is_in_the_journal_when_it_is_answered(ports: tuple[int, int], folder: Path) -> None:
    for n in range(5):
        said = {"draft": "beta-q3", "kind": "edit", "id": f"abc{n}", "said": {"fields": {"question": f"typed {n}"}}}
        assert ask(ports[0], "/review/act", PAGE, said)[0] == 200
        assert f"typed {n}" in "".join(file.read_text() for file in (folder / ".ingest").glob("reviews-*"))
