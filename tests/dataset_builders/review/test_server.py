"""The server over HTTP: who may ask, what is served, and that hostile text comes out as text."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from livek12.core.serving import Guard
from livek12.dataset_builders.ingest.drafts import Draft
from livek12.dataset_builders.review.page import Rendering, make_app, question
from livek12.dataset_builders.review.store import ReviewStore
from livek12.report.markup import render, render_answer
from tests.dataset_builders.review.folders import HOSTILE, make_folder

pytest.importorskip("fastapi", reason="the review extra is not installed")
PAGE = {"Content-Type": "application/json", "X-Livek12": "review"}
TOKEN = "correct-horse"


@contextmanager
def serving(app: Any, host: str) -> Iterator[int]:
    """The app behind its guard, on a free port of loopback."""
    import socket

    import uvicorn

    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(64)
    port = int(listening.getsockname()[1])
    server = uvicorn.Server(uvicorn.Config(Guard(app, host, port, TOKEN), log_level="error", lifespan="off"))  # type: ignore[arg-type]
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
    (root / "images" / "page.png").write_text("<html><script>1</script></html>")
    return root


@pytest.fixture(scope="module")
def ports(folder: Path) -> Iterator[tuple[int, int]]:
    """One for loopback, one as if for the network."""
    with ReviewStore(folder) as store:
        app = make_app(store, Rendering(render, render_answer), "ann")
        (folder / "images" / "link.png").symlink_to(folder.parent / "secret.png")  # after the folder was looked at
        with serving(app, "127.0.0.1") as near, serving(app, "0.0.0.0") as far:
            yield near, far


def ask(
    port: int, path: str, headers: dict[str, str] | None = None, body: Any = None, method: str = "", token: str = TOKEN
) -> tuple[int, dict[str, str], bytes]:
    headers = {**({"Cookie": f"livek12_review_{port}={token}"} if token else {}), **(headers or {})}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    payload = None if body is None else json.dumps(body)
    connection.request(method or ("GET" if body is None else "POST"), path, payload, headers)
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
        "/review/static/../index.html",
        "/review/static/index.html/..",
        "/review/queue/",
        "/static/review.js",
        "/index.html",
        "/file=/etc/passwd",
        "/redoc",
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


@pytest.mark.parametrize("place", [0, 1], ids=["loopback", "network"])
def test_a_token_is_asked_for_once_and_kept_in_a_cookie(ports: tuple[int, int], place: int) -> None:
    port = ports[place]
    for path in (
        "/",
        "/review/queue",
        "/review/page/alpha/1",
        "/assets/x.js",
        "/?token=",
        "/?token=wrong",
        "/?token=%C3%A9",
    ):
        assert ask(port, path, token="")[0] == 401, path
    assert ask(port, "/review/act", PAGE, {"draft": "beta-q1", "kind": "accept", "said": {}}, token="")[0] == 401
    status, headers, _ = ask(port, f"/?token={TOKEN}", token="")
    assert (status, headers["location"]) == (303, "/")
    cookie = headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    shown = cookie.split(";")[0]
    for cookies in (shown, f'a="{{x; {shown}', f"{shown}; b"):  # cookies of other servers of this machine beside it
        assert ask(port, "/review/queue", {"Cookie": cookies})[0] == 200
    assert ask(port, "/review/queue", {"Cookie": shown, "Host": "192.168.0.7:80"})[0] == (200 if place else 421)
    assert ask(port, "/review/queue", {"Cookie": shown, "Host": "evil.test"})[0] == 421
    assert ask(port, "/review/queue", {"Cookie": shown + "x"})[0] == 401
    assert ask(port, "/review/queue", {"Cookie": "=;;=x; livek12_review"})[0] == 401
    assert ask(port, f"/review/queue?token={TOKEN}", token="")[0] == 401


def test_the_page_points_nowhere_else_and_its_policy_forbids_it(ports: tuple[int, int]) -> None:
    status, headers, body = ask(ports[0], "/")
    assert status == 200
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert "*" not in policy
    assert headers["x-frame-options"] == "DENY"
    assert "access-control-allow-origin" not in headers
    kinds = dict.fromkeys(("review.js", "parts.js", "page.js"), "text/javascript")
    kinds |= dict.fromkeys(("review.css", "page.css"), "text/css")
    named = re.findall(r'(?:src|href)="([^"]*)"', body.decode())
    assert set(named) == {"data:,", *(f"review/static/{name}" for name in ("page.css", "review.css", "review.js"))}
    for name, kind in kinds.items():
        status, headers, body = ask(ports[0], f"/review/static/{name}")
        assert (status, headers["content-type"]) == (200, f"{kind}; charset=utf-8")
        assert headers["content-security-policy"] == policy
        assert not re.search(rb"""https?://(?!www\.w3\.org/2000/svg')|["'(]//""", body)


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


def test_a_scheme_is_shown_as_text_and_tried(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "papers")

    def trial(draft: Draft, response: str) -> dict[str, Any]:
        return {"points": sum(criterion.points for criterion in draft.scheme[0]), "response": response}

    scheme = [[{"id": "<b>", "points": "5", "text": HOSTILE}]]
    body = {"draft": "beta-q4", "kind": "edit", "said": {"fields": {"scheme": scheme}}}
    with (
        ReviewStore(folder) as store,
        serving(make_app(store, Rendering(render, render_answer), "ann", trial), "127.0.0.1") as port,
    ):
        tried = {"draft": "beta-q4", "response": "so"}
        assert ask(port, "/review/try", PAGE, tried)[0] == 409, "no scheme yet"
        shown = json.loads(ask(port, "/review/act", PAGE, body)[2])["question"]["html"]["scheme"][0][0]
        assert "&lt;script&gt;" in shown["html"] and "<script" not in shown["html"]
        assert json.loads(ask(port, "/review/try", PAGE, tried)[2]) == {"points": 5.0, "response": "so"}
        body["said"] = {"fields": {"scheme": [[{"id": "1", "points": "4", "text": "x"}]]}}
        ask(port, "/review/act", PAGE, body)
        assert "add up to 4 points and the question has 5" in ask(port, "/review/try", PAGE, tried)[2].decode()
        assert ask(port, "/review/try", {**PAGE, "Origin": "http://evil.test"}, tried)[0] == 403


def test_what_a_question_shares_with_the_one_before_it_is_apart(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "papers", ("alpha",))
    code = "Instructions.\n```\nx = 1\n```\n"
    texts = ["Choose well.\nFirst", "Choose well.\n<image>", f"{code}Third", f"{code}```\ny\n```"]
    with ReviewStore(folder) as store:
        for number, text in enumerate(texts[:4], 1):
            store.act("ann", "edit", f"alpha-q{number}", {"fields": {"question": text}})
        shown = [
            question(folder, store.board, f"alpha-q{n}", "ann", Rendering(render, render_answer)) for n in (1, 2, 3, 4)
        ]
    leads, own = zip(*((row["html"]["lead"], row["html"]["question"]) for row in shown), strict=True)
    assert [bool(lead) for lead in leads] == [False, True, False, True]
    assert "well" in leads[1] and "well" not in own[1] and "<img" in own[1]
    assert "x = 1" in leads[3] and "<pre>" in own[3]


def test_every_action_is_in_the_journal_when_it_is_answered(ports: tuple[int, int], folder: Path) -> None:
    for n in range(5):
        said = {"draft": "beta-q3", "kind": "edit", "id": f"abc{n}", "said": {"fields": {"question": f"typed {n}"}}}
        assert ask(ports[0], "/review/act", PAGE, said)[0] == 200
        assert f"typed {n}" in "".join(file.read_text() for file in (folder / ".ingest").glob("reviews-*"))


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"kind": "edit", "said": {"fields": {"points": "5", "question": "half \ud83d"}}}, "question"),
        ({"kind": "edit", "said": {"fields": {"options": [{"label": "A", "text": "\udc00"}]}}}, "options"),
        ({"kind": "edit", "said": {"fields": {"\ud800": "x"}}}, "[U+D800]"),
        ({"kind": "reject", "said": {"text": "\ud83d"}}, "text"),
        ({"kind": "comment", "said": {"text": "x"}, "by": "ann\ud83d"}, "reviewer"),
        ({"kind": "comment", "said": {"text": "x"}, "draft": "beta-q1\ud83d"}, "draft"),
    ],
)
def test_half_a_character_is_refused_with_its_field(ports: tuple[int, int], said: dict[str, Any], field: str) -> None:
    status, _, body = ask(ports[0], "/review/act", PAGE, {"draft": "beta-q1", **said})
    told = json.loads(body)
    assert (status, told["field"]) == (422, field)
    assert told["error"].startswith(field.replace("_", " "))


@pytest.mark.parametrize("offset", [-1, -1000, True, 1.5, None, 10**9])
@pytest.mark.parametrize("option", [None, 0, -1, True])
def test_a_split_is_within_its_text(ports: tuple[int, int], option: object, offset: object) -> None:
    said = {"draft": "beta-q1", "kind": "split", "said": {"option": option, "offset": offset}}
    assert ask(ports[0], "/review/act", PAGE, said)[0] == 409


def test_a_full_disk_is_no_refusal_and_the_action_may_come_again(small_disk: Path) -> None:
    root = make_folder(small_disk / "papers")
    said = {"draft": "beta-q1", "kind": "edit", "id": "abc", "said": {"fields": {"question": "typed " * 4000}}}
    with (
        ReviewStore(root) as store,
        serving(make_app(store, Rendering(render, render_answer), "ann"), "127.0.0.1") as port,
    ):
        ballast = small_disk / "more"
        with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as stream:
            while True:
                stream.write(bytes(4096))
        status, _, body = ask(port, "/review/act", PAGE, said)
        assert status == 507
        assert "No space left on device" in json.loads(body)["error"]
        assert "make room" in json.loads(body)["error"]
        ballast.unlink()
        assert ask(port, "/review/act", PAGE, said)[0] == 200
        assert len(store.actions) == 1
