"""Images behind addresses: fetched from named hosts only, else taken from beside the rows or refused."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from livek12.dataset_builders.base import BadRow, Log
from livek12.dataset_builders.reading import images
from livek12.dataset_builders.reading.images import ImageLoader, is_allowed
from tests.dataset_builders.pictures import BAD, HTML, picture

PNG = picture()


class Pictures(BaseHTTPRequestHandler):
    """Serves /NAME.png, bodies that are none, and redirects; counts what it is asked."""

    asked: list[str] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        name = self.path.split("?")[0].strip("/")
        port = self.server.server_address[1]
        if name.startswith("to/"):
            where = {"same": "/a.png", "other": f"http://localhost:{port}/a.png", "file": "file:///etc/hostname"}
            self.send_response(302)
            self.send_header("Location", where.get(name[3:], "/to/loop"))
            self.end_headers()
            return
        bodies = {"a.png": PNG, "page.png": HTML, "torn.png": BAD["truncated PNG"][0], "huge.png": BAD["huge"][0]}
        body = bodies.get(name)
        self.send_response(200 if body is not None else 404)
        self.send_header("Content-Length", str(len(body or b"") + (10 if name == "short" else 0)))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    Pictures.asked = []
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Pictures)
    thread = threading.Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{httpd.server_address[1]}"
    finally:
        httpd.shutdown()
        thread.join()
        httpd.server_close()


@pytest.mark.parametrize("hosts", [["127.0.0.1"], ["HOST:PORT"], ["other.example", "127.0.0.1"]])
def test_named_hosts(server: str, tmp_path: Path, hosts: list[str]) -> None:
    loader = ImageLoader(tmp_path, [host.replace("HOST:PORT", server) for host in hosts])
    for path in ("a.png", "a.png?size=2", "to/same"):
        image = loader.load(f"http://{server}/{path}", tmp_path)
        assert (image.bytes, image.path) == (PNG, "same" if path == "to/same" else "a.png")


@pytest.mark.parametrize("hosts", [[], ["example.org"], ["127.0.0.1:1"], ["27.0.0.1"]])
def test_other_hosts_are_never_asked(server: str, tmp_path: Path, hosts: list[str]) -> None:
    loader = ImageLoader(tmp_path, hosts)
    with pytest.raises(BadRow, match="an address on another host"):
        loader.load(f"http://{server}/a.png", tmp_path)
    assert Pictures.asked == []


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("page.png", "HTML page"),
        ("torn.png", "damaged"),
        ("huge.png", "too large"),
        ("none.png", "answers 404"),
        ("to/other", "leads to http://localhost"),
        ("to/file", "Redirection to url .file:"),
        ("to/loop", "could not be fetched"),
        ("a b.png", "could not be fetched"),
    ],
)
def test_what_is_no_picture_costs_one_line(server: str, tmp_path: Path, path: str, said: str) -> None:
    with pytest.raises(BadRow, match=said) as caught:
        ImageLoader(tmp_path, ["127.0.0.1"]).load(f"http://{server}/{path}", tmp_path)
    assert "\n" not in str(caught.value)


def test_size_is_bounded(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "MAX_BYTES", len(PNG) - 1)
    with pytest.raises(BadRow, match="has more than"):
        ImageLoader(tmp_path, ["127.0.0.1"]).load(f"http://{server}/a.png", tmp_path)


def test_nobody_there(tmp_path: Path) -> None:
    with pytest.raises(BadRow, match="could not be fetched"):
        ImageLoader(tmp_path, ["127.0.0.1"]).load("http://127.0.0.1:9/a.png", tmp_path)


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("https://example.org/a.png", True),
        ("https://EXAMPLE.org:8443/a.png", True),
        ("https://example.org@evil.test/a.png", False),
        ("https://evil.test/example.org/a.png", False),
        ("https://example.org.evil.test/a.png", False),
        ("ftp://example.org/a.png", False),
        ("file://example.org/etc/passwd", False),
        ("//example.org/a.png", False),
        ("https://[::1", False),
        ("https://example.org:99999/a", False),
    ],
)
def test_which_addresses_are_allowed(url: str, allowed: bool) -> None:
    assert is_allowed(url, ["example.org"]) is allowed


def test_files_of_the_same_name_beside_the_rows(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.png").write_bytes(PNG)
    (tmp_path / "2024" / "q").mkdir(parents=True)
    (tmp_path / "2024" / "q" / "b.png").write_bytes(picture(1))
    (tmp_path / "b.png").write_bytes(picture(2))
    loader, log = ImageLoader(tmp_path), Log()
    assert loader.load("https://h.test/x/a.png?v=1", tmp_path).bytes == PNG
    assert loader.load("https://h.test/s/2024/q/b.png", tmp_path).bytes == picture(1)  # the longest end of the path
    assert loader.load("https://h.test/x/a.png?v=1", tmp_path).bytes == PNG
    with pytest.raises(BadRow, match="already another address's file"):
        loader.load("https://h.test/y/a.png", tmp_path)
    with pytest.raises(BadRow, match="another host"):
        loader.load("https://h.test/%2e%2e/secret.png", tmp_path)
    loader.report(log, "rows.csv")
    assert log.notes == ["rows.csv: 2 images were taken from files beside the rows, not fetched"]
