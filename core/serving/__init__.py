"""Servers of this machine: addresses, and local pages with token, guard and files.

A server at loopback answers to loopback names alone (DNS rebinding). Files are served by a list, never by a requested
path.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import secrets
import socket
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from livek12.core.errors import UserError, install

if TYPE_CHECKING:
    from fastapi import FastAPI

SHARED = Path(__file__).resolve().parent / "static"
_KINDS = {".js": "text/javascript", ".css": "text/css"}


def serve_page(make_app: Callable[[], FastAPI], host: str, port: int, ready: Callable[[str], None]) -> None:
    """Serves an application behind its guard until interrupted; `ready` receives the address with its token."""
    listening = listen(host, port)
    try:
        import uvicorn

        app = make_app()
    except ImportError as error:
        listening.close()
        raise UserError(f"the page needs {error.name}: {install('review')}") from None
    port = listening.getsockname()[1]
    token = secrets.token_urlsafe(24)
    guard: Any = Guard(app, host, port, token)  # uvicorn's own types spell out every kind of message
    config = uvicorn.Config(guard, log_level="warning", access_log=False, lifespan="off", timeout_graceful_shutdown=1)
    ready(f"http://{shown_host(host)}:{port}/?token={token}")
    uvicorn.Server(config).run(sockets=[listening])


def page_app(static: Path, names: tuple[str, ...]) -> FastAPI:
    """Application that serves `index.html`, the named files, and the shared `page.js` and `page.css`."""
    from fastapi import FastAPI, HTTPException, Response

    files: Mapping[str, Path] = {name: static / name for name in names} | {
        name: SHARED / name for name in ("page.js", "page.css")
    }
    app = FastAPI(openapi_url=None, redirect_slashes=False)

    def answer(file: Path, media_type: str) -> Response:
        return Response(file.read_bytes(), media_type=media_type, headers={"Cache-Control": "no-store"})

    @app.get("/")
    def page() -> Any:
        return answer(static / "index.html", "text/html")

    @app.get("/review/static/{name}")
    def shared(name: str) -> Any:
        if name not in files:
            raise HTTPException(404, "there is no such file")
        return answer(files[name], _KINDS[files[name].suffix])

    return app


Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LARGEST_BODY = 4_000_000
"""Bytes of a request."""
_CHANGING = frozenset(f"/review/{name}" for name in ("act", "head", "like", "regrade", "points", "wording", "try"))
"""Addresses that change something."""
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class Guard:
    """Layer around an ASGI app, before everything else.

    Contract: a request passes only with an own Host (no DNS rebinding), with the token's cookie (other users of this
    machine reach loopback too), from the own page if it changes something (no cross-site requests), and to an address
    that the page needs. Response headers block loading from elsewhere and foreign scripts.

    Args:
        port: names its cookie, since cookies do not tell ports apart.
        token: shown once by a browser.
    """

    def __init__(self, app: App, host: str, port: int, token: str) -> None:
        self._app, self._names, self._token = app, OwnNames(host), token
        self._cookie = f"livek12_review_{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers or forwards."""
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        path, method = scope["path"], scope["method"]
        if headers.get("host", "") not in self._names:
            await _answer(send, 421, "this server is not reached by that name")
        elif path == "/" and (given := _token_of(scope["query_string"])) is not None:
            await self._log_in(send, given)
        elif not self._is_known(headers.get("cookie", "")):
            await _answer(send, 401, "open the whole address that livek12 review printed: it has the token in it")
        elif headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none") and path != "/":
            await _answer(send, 403, "only the page itself may ask for this")
        elif ".." in path or "\\" in path or "\x00" in path:
            await _answer(send, 404, "there is nothing here")
        elif method == "GET" and (path == "/" or path.startswith("/review/")):
            await self._app(scope, receive, _with_policy(send))
        elif method == "POST" and path in _CHANGING:
            if refused := _why_not(headers):
                await _answer(send, 403, refused)
            else:
                await self._app(scope, _bounded(receive), _with_policy(send))
        else:
            await _answer(send, 404, "there is nothing here")

    def _is_known(self, cookies: str) -> bool:
        named = (part.strip().partition("=") for part in cookies.split(";"))
        return any(name == self._cookie and _same(value, self._token) for name, _, value in named)

    async def _log_in(self, send: Send, given: str) -> None:
        if not _same(given, self._token):
            await _answer(send, 401, "the token is another; open the address that livek12 review printed last")
            return
        # Lax: the address may be opened from a terminal that is a page of another site.
        cookie = f"{self._cookie}={self._token}; Path=/; HttpOnly; SameSite=Lax"
        await _answer(send, 303, "", {"Location": "/", "Set-Cookie": cookie})


def _same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode(), token.encode())


def _token_of(query: bytes) -> str | None:
    return parse_qs(query.decode("latin-1"), max_num_fields=20).get("token", [None])[0] if b"token=" in query else None


def _why_not(headers: dict[str, str]) -> str:
    origin = headers.get("origin")
    if origin is not None and origin.split("://", 1)[-1].lower() != headers.get("host", "").lower():
        return "the request comes from another page"
    if headers.get("x-livek12") != "review" or not headers.get("content-type", "").startswith("application/json"):
        return "the request does not come from the page"  # another site cannot set this header without asking
    if not headers.get("content-length", "").isdigit() or int(headers["content-length"]) > LARGEST_BODY:
        return "the request is too large"
    return ""


def _bounded(receive: Receive) -> Receive:
    read = 0

    async def receiving() -> MutableMapping[str, Any]:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        return message if read <= LARGEST_BODY else {"type": "http.disconnect"}

    return receiving


def _with_policy(send: Send) -> Send:
    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            _put(message, {**_HEADERS, "Content-Security-Policy": _POLICY})
        await send(message)

    return sending


def _put(start: MutableMapping[str, Any], headers: dict[str, str]) -> None:
    names = {name.lower().encode() for name in headers}
    kept = [(name, value) for name, value in start["headers"] if name.lower() not in names]
    start["headers"] = [*kept, *((name.lower().encode(), value.encode()) for name, value in headers.items())]


async def _answer(send: Send, status: int, text: str, headers: dict[str, str] | None = None) -> None:
    body = (text + "\n").encode() if text else b""
    start: dict[str, Any] = {"type": "http.response.start", "status": status, "headers": []}
    _put(start, {**_HEADERS, "Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(body))})
    _put(start, {"Cache-Control": "no-store", **(headers or {})})
    await send(start)
    await send({"type": "http.response.body", "body": body})


def listen(host: str, port: int) -> socket.socket:
    """Listening socket; port 0 takes a free one."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(64)
    except (OSError, UnicodeError) as error:  # UnicodeError: a name that no host can have
        why = getattr(error, "strerror", None) or "no name of a host"
        raise UserError(f"{host[:80]}:{port}: cannot be taken ({why}); choose another with --port") from None
    return listening


def shown_host(host: str) -> str:
    """Host as printed in an address for others."""
    if host in ("0.0.0.0", "::"):  # opened by a name that leads here
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host


def is_loopback(host: str) -> bool:
    """True if only this machine can reach the address."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


class OwnNames:
    """Names that a server answers to; `host` is its address."""

    def __init__(self, host: str) -> None:
        self._near = is_loopback(host)
        self._names = {"localhost", host.lower()}
        if not self._near:
            self._names |= {socket.gethostname().lower(), socket.getfqdn().lower()}

    def __contains__(self, header: str) -> bool:
        name = header.rsplit(":", 1)[0] if re.search(r":\d+$", header) else header
        name = name.strip("[]").lower()
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return name in self._names
        return address.is_loopback or not self._near


class Idlers:
    """Closes idle connections of uvicorn, against exhaustion."""

    def __init__(self, connections: set[Any]) -> None:
        self._connections = connections
        self._waiting: dict[Any, Any] = {}

    async def close(self) -> None:
        """Closes each connection without a request since the last call."""
        waiting = {
            connection: connection.cycle
            for connection in self._connections
            if connection.cycle is None or connection.cycle.response_complete
        }
        for connection, cycle in waiting.items():
            if self._waiting.get(connection, self) is cycle:
                connection.transport.close()
        self._waiting = waiting


def bounded(protocol: Any, most: int) -> Any:
    """Protocol class of uvicorn with so many connections: another one replaces an idle one, or is closed."""

    class Bounded(protocol):  # type: ignore[misc]
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            others = [connection for connection in self.connections if connection is not self]
            if len(others) >= most:
                idle = (each for each in others if each.cycle is None or each.cycle.response_complete)
                next(idle, self).transport.close()

    return Bounded
