"""POST requests to one address over kept connections, on aiohttp.

One `post` is one request, except that a kept connection found closed before any byte of an answer is replaced and the
request repeated (at worst an answer is generated twice). Proxies come from HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and
NO_PROXY, certificates from the system or SSL_CERT_FILE and SSL_CERT_DIR. It follows no redirects; error messages omit
the address, which may hold credentials. For one event loop.
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from livek12.core.errors import UserError
from livek12.core.text import one_line, public
from livek12.core.version import __version__

if TYPE_CHECKING:
    import aiohttp
    from yarl import URL

CONNECT_SECONDS = 30.0
ALIVE = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4}
"""Keep-alive: seconds without a byte before a probe, between probes, and the number of probes."""
IDLE_SECONDS = 4.0
"""Lifetime of an unused connection: below the five seconds after which common servers close it."""
LONGEST_ERROR = 1 << 18
"""Bytes read of an error answer."""
_ABOUT_US = {"OPENAI_ORG_ID": "OpenAI-Organization", "OPENAI_PROJECT_ID": "OpenAI-Project"}


class NoAnswer(Exception):
    """No byte of an answer came."""


class Garbled(Exception):
    """The answer is no HTTP."""


class BrokenOff(Exception):
    """An answer ended early."""


class TooLong(Exception):
    """The answer exceeds the limit."""


@dataclass(frozen=True)
class HttpReply:
    """An answer of any status."""

    status: int
    data: bytes
    retry_after: str | None = None
    location: str | None = None

    @property
    def good(self) -> bool:
        """Tests for a 2xx status."""
        return _is_good(self.status)


class Wire:
    """Connections to one path under an address, with its credentials and query.

    `api_key` is the bearer token: default OPENAI_API_KEY, else "EMPTY", which local servers take. `longest`: bytes.
    """

    def __init__(
        self,
        address: str,
        api_key: str | None,
        connections: int,
        longest: int,
        path: str = "chat/completions",
        content_type: str = "application/json",
    ) -> None:
        from yarl import URL

        try:
            base = URL(address)
            self._url = base.joinpath(*path.split("/")).with_query(base.query)
        except ValueError:
            base = URL()
        if not base.host:
            raise UserError(
                f"base_url={public(address)} is no address: give one such as http://localhost:8000/v1 (a password in "
                "it has to be percent-encoded)"
            )
        self._proxy = _proxy_of(self._url)
        self._connections = connections
        self._longest = longest
        self._headers = {"Accept": "application/json", "Content-Type": content_type}
        self._headers |= {name: os.environ[key] for key, name in _ABOUT_US.items() if os.environ.get(key)}
        if base.user is None:
            key = api_key or os.environ.get("OPENAI_API_KEY") or "EMPTY"
            self._headers["Authorization"] = f"Bearer {key}"
        self._session: aiohttp.ClientSession | None = None

    async def open(self) -> None:
        """Opens the session, without connections."""
        import ssl

        import aiohttp

        # aiohttp's own context is created at import, so it would miss later environment changes.
        context = ssl.create_default_context() if self._url.scheme == "https" else True
        traces = aiohttp.TraceConfig()
        traces.on_connection_reuseconn.append(_note_reuse)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                ssl=context, limit=self._connections, keepalive_timeout=IDLE_SECONDS, socket_factory=_watched
            ),
            timeout=aiohttp.ClientTimeout(total=None, connect=None, sock_read=None, sock_connect=CONNECT_SECONDS),
            headers={**self._headers, "User-Agent": f"livek12/{__version__}"},
            cookie_jar=aiohttp.DummyCookieJar(),
            trace_configs=[traces],
        )

    async def close(self) -> None:
        """Closes every connection."""
        if self._session is not None:
            await self._session.close()

    async def post(self, body: bytes) -> HttpReply:
        """Sends a body and reads the whole answer.

        Raises:
            NoAnswer: no connection, or it was closed before any answer.
            Garbled: no valid status line, headers or framing.
            BrokenOff: closed or invalid after that.
            TooLong: a good answer exceeds the limit.
        """
        import aiohttp

        kept = _Kept()
        try:
            try:
                return await self._send(body, kept)
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
                if not kept.reused:
                    raise
                return await self._send(body, kept)
        except aiohttp.ClientResponseError as error:  # its status is aiohttp's own; a proxy's refusal has a true one
            proxied = isinstance(error, aiohttp.ClientHttpProxyError)
            raise NoAnswer(_said(error)) if proxied else Garbled(one_line(error.message, 120)) from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise NoAnswer(_said(error)) from None

    async def _send(self, body: bytes, kept: _Kept) -> HttpReply:
        assert self._session is not None, "opened before use"
        async with self._session.post(
            self._url, data=body, proxy=self._proxy, allow_redirects=False, trace_request_ctx=kept
        ) as answer:
            data, good = bytearray(), _is_good(answer.status)
            try:
                async for chunk in answer.content.iter_any():
                    data += chunk
                    if len(data) > (self._longest if good else LONGEST_ERROR):
                        break
            except TimeoutError:
                raise
            except Exception as error:  # aiohttp's own errors, those of sockets and of decompression
                raise BrokenOff(_said(error)) from None
            if good and len(data) > self._longest:
                raise TooLong
            headers = answer.headers
            return HttpReply(answer.status, bytes(data), headers.get("Retry-After"), headers.get("Location"))


class _Kept:
    reused = False


async def _note_reuse(session: object, context: Any, parameters: object) -> None:
    context.trace_request_ctx.reused = True


def _watched(address: aiohttp.AddrInfoType) -> socket.socket:
    """With keep-alive: many minutes without a byte are normal."""
    made = socket.socket(*address[:3])
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in ALIVE.items():
        if hasattr(socket, option):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return made


def _is_good(status: int) -> bool:
    return 200 <= status < 300


def _said(error: Exception) -> str:
    import aiohttp

    if isinstance(error, aiohttp.ClientResponseError):
        return one_line(f"{error.status} {error.message}", 120)
    if isinstance(error, aiohttp.ServerDisconnectedError):  # its message may be what had come of a head
        return "the server closed the connection"
    return one_line(getattr(error, "message", None) or error, 120)


def _proxy_of(url: URL) -> str | None:
    from urllib.request import getproxies, proxy_bypass

    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    if not proxy or not url.host or proxy_bypass(url.host):
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    if not proxy.startswith(("http://", "https://")):
        raise UserError(f"the proxy {proxy.split('://')[0]}://… of the environment cannot be used: name an http one")
    return proxy
