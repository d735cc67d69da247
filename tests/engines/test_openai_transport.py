"""The wire of the openai engine: kept connections that close, proxies, certificates, addresses."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from livek12.core.errors import UserError
from livek12.core.records import Response
from livek12.engines import make_engine
from livek12.engines.openai import OpenAIEngine
from tests.endpoint import Server, serving
from tests.engines.helpers import ask, failure, response
from tests.engines.scripted_server import good

PAYLOAD = good("4").body
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(PAYLOAD) + PAYLOAD
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


class Hasty:
    """A server that promises to keep connections and closes each when it has answered some requests.

    Args:
        answers: how many requests of a connection are answered; the next one finds it closed.
    """

    def __init__(self, answers: int) -> None:
        self.connections = self.requests = 0
        self._answers = answers
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as lines:
            for number in range(self._answers + 1):
                length = 0
                while (line := lines.readline()).strip():
                    if line.lower().startswith(b"content-length:"):
                        length = int(line.split(b":")[1])
                if not line:
                    return
                lines.read(length)
                self.requests += 1
                if number < self._answers:
                    connection.sendall(ANSWER)

    def close(self) -> None:
        self._socket.close()


@contextmanager
def hasty(answers: int) -> Iterator[Hasty]:
    server = Hasty(answers)
    try:
        yield server
    finally:
        server.close()


def test_a_kept_connection_that_is_closed_costs_no_attempt() -> None:
    """Every second request meets a connection that closes on it; with no retries at all each is answered."""
    with hasty(answers=1) as server:
        engine = make_engine("openai", "m", {"base_url": server.address, "max_retries": 0, "concurrency": 1})
        outcomes = list(engine.generate(ask(str(number)) for number in range(20)))
        engine.close()
    assert all(isinstance(outcome, Response) for outcome in outcomes)
    assert (server.connections, server.requests) == (20, 39), "sent again once each, on a new connection"


def test_a_new_connection_that_is_closed_is_an_attempt() -> None:
    with hasty(answers=0) as server:
        engine = make_engine("openai", "m", {"base_url": server.address, "max_retries": 1, "backoff": 0.01})
        with pytest.raises(UserError, match="nothing answers at"):
            list(engine.generate([ask("q")]))
        engine.close()
    assert server.requests == 2


@contextmanager
def saying(reply: bytes) -> Iterator[str]:
    """A server that says this to whatever it is asked, and closes."""
    listening = socket.create_server(("127.0.0.1", 0))

    def run() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                connection.recv(1 << 16)
                connection.sendall(reply)

    threading.Thread(target=run, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()


HEAD = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (b"220 mail.example ESMTP\r\n", "is no endpoint (the answer is no HTTP: Bad status line"),
        (HEAD + b"Content-Length: many\r\n\r\n{}", "is no endpoint (the answer is no HTTP: Invalid"),
        (HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "is no endpoint (the answer is no HTTP: Dupl"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n", "is no endpoint (the answer is no HTTP: Invalid"),
        (HEAD + b"nonsense\r\n\r\n{}", "is no endpoint (the answer is no HTTP: Invalid header"),
        (HEAD + b"Content-Length: 9\r\n\r\n{}", "the answer broke off"),
        (HEAD[:12], "nothing answers at"),
        (b"", "nothing answers at"),
    ],
)
def test_a_server_that_speaks_no_http_is_called_that(reply: bytes, said: str) -> None:
    with saying(reply) as address:
        engine = make_engine("openai", "m", {"base_url": address, "max_retries": 0})
        with pytest.raises(UserError) as error:
            list(engine.generate([ask("q")]))
        engine.close()
    assert said in str(error.value)
    assert ("no connection" in str(error.value)) == ("nothing answers" in said)


class Proxy(BaseHTTPRequestHandler):
    """Answers whatever it is asked to pass on, with the address that was asked for."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        body = good(f"{self.path} {self.headers['Host']}").body
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing on stderr."""


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_a_proxy_of_the_environment_is_used(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Python reads HTTP_PROXY only where it cannot be a request header handed on by a web server.
    monkeypatch.delenv("REQUEST_METHOD", raising=False)
    with serving(Proxy) as proxy:
        monkeypatch.setenv(name, proxy)
        engine = make_engine("openai", "m", {"base_url": "http://models.invalid/v1"})
        (outcome,) = engine.generate([ask("q")])
        engine.close()
    assert response(outcome).text == "http://models.invalid/v1/chat/completions models.invalid"


def test_what_no_proxy_names_is_asked_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "localhost,127.0.0.1")
    with hasty(answers=5) as server:
        engine = make_engine("openai", "m", {"base_url": server.address})
        (outcome,) = engine.generate([ask("q")])
        engine.close()
    assert response(outcome).text == "4"


def test_a_proxy_of_another_kind_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://u:secret@127.0.0.1:9")
    with pytest.raises(UserError, match=r"the proxy socks5://… .* cannot be used"):
        make_engine("openai", "m", {"base_url": "http://models.invalid/v1"})


@pytest.mark.parametrize("address", ["http://[x", "http://h:port/v1"])
def test_an_impossible_address_is_one_line(address: str) -> None:
    with pytest.raises(UserError, match=r"base_url=.* is no address"):
        make_engine("openai", "m", {"base_url": address})


@pytest.mark.parametrize(
    ("given", "asked", "authorization"),
    [
        ("http://{host}/v1", "/v1/chat/completions", "Bearer k"),
        ("http://{host}/v1/", "/v1/chat/completions", "Bearer k"),
        ("http://{host}", "/chat/completions", "Bearer k"),
        ("http://{host}/a%20b/v1?api-version=2&x=%2F", "/a%20b/v1/chat/completions?api-version=2&x=/", "Bearer k"),
        ("http://user:word@{host}/v1", "/v1/chat/completions", "Basic dXNlcjp3b3Jk"),
    ],
)
def test_the_address_is_kept_with_all_that_belongs_to_it(given: str, asked: str, authorization: str) -> None:
    seen: list[tuple[str, str, str]] = []

    class Listening(Proxy):
        def do_POST(self) -> None:
            headers = self.headers
            seen.append((self.path, headers["Authorization"], headers["OpenAI-Organization"]))
            super().do_POST()

    with serving(Listening) as address, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_ORG_ID", "us")
        host = address.removeprefix("http://")
        engine = make_engine("openai", "m", {"base_url": given.format(host=host), "api_key": "k"})
        response(next(engine.generate([ask("q")])))
        engine.close()
    assert seen == [(asked, authorization, "us")]


@pytest.mark.parametrize(
    ("status", "piece", "said"),
    [
        (200, b" ", "the endpoint's answer is longer than 100000 bytes"),
        (400, b"no! ", "the endpoint answered 400: no! no!"),  # read only as far as it says something
    ],
)
def test_an_answer_without_end_is_given_up(
    status: int, piece: bytes, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("livek12.engines.openai.MAX_ANSWER_BYTES", 100_000)

    class Endless(Proxy):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.end_headers()
            with pytest.raises(OSError, match=r"."):
                while True:
                    self.wfile.write(piece * 65536)

    with serving(Endless) as address:
        engine = make_engine("openai", "m", {"base_url": f"{address}/v1"})
        (outcome,) = engine.generate([ask("q")])
        engine.close()
    reason = failure(outcome).reason
    assert reason.startswith(said) if status == 400 else reason == said


def test_who_answers_in_another_tongue_is_quoted_without_the_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")

        threading.Thread(target=answer, daemon=True).start()
        address = f"http://us:hidden@127.0.0.1:{server.getsockname()[1]}/v1?key=hidden"
        engine = make_engine("openai", "m", {"base_url": address, "max_retries": 0})
        with pytest.raises(UserError, match="is no endpoint") as error:
            list(engine.generate([ask("q")]))
        engine.close()
    assert "SSH-2.0" in str(error.value) and "hidden" not in str(error.value)


def test_an_engine_is_closed_though_a_picture_is_still_in_the_making(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("livek12.engines.openai.CLOSING_SECONDS", 0.2)
    engine, made = make_engine("openai", "m", {"base_url": "http://127.0.0.1:9/v1"}), threading.Event()
    assert isinstance(engine, OpenAIEngine)
    engine._loop.run_in_executor(None, made.wait)
    try:
        engine.close()
        engine.close()
    finally:
        made.set()
    engine._thread.join(30)
    assert not engine._thread.is_alive()


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    if shutil.which("openssl") is None:
        pytest.skip("needs the openssl command to make a certificate")
    made = tmp_path / "own.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", made, "-out", tmp_path / "cert.pem"),
        ],
        check=True,
        capture_output=True,
    )
    made.write_text(made.read_text() + (tmp_path / "cert.pem").read_text())
    return made


def test_certificates_are_checked_and_can_be_named(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(("127.0.0.1", 0), Proxy)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"https://127.0.0.1:{server.server_port}/v1"
    try:
        engine = make_engine("openai", "m", {"base_url": address, "max_retries": 0})
        with pytest.raises(UserError, match=r"nothing answers at .*CERTIFICATE_VERIFY_FAILED"):
            list(engine.generate([ask("q")]))
        engine.close()
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate.with_name("cert.pem")))
        engine = make_engine("openai", "m", {"base_url": address, "max_retries": 0})
        assert response(next(engine.generate([ask("q")]))).text.startswith("/v1/chat")
        engine.close()
    finally:
        server.shutdown()
        server.server_close()
