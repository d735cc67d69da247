"""HTTP of batch APIs: one request a call; bodies and replies are streamed from and to files.

It sends no request twice and follows no redirect; proxies and certificates are those of the environment. Messages omit
the address, which may hold credentials.
"""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit, urlunsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from livek12.core.errors import UserError
from livek12.core.text import one_line, public
from livek12.core.version import __version__
from livek12.engines.common import Json
from livek12.engines.openai.api import retry_after
from livek12.engines.openai.format import said_by_error

SECONDS = 600.0
LONGEST_REPLY = 64 * 2**20
LONGEST_LINE = 16 * 2**20
_LONGEST_ERROR = 1 << 18
_NOT_TAKEN = frozenset({425, 429})
_PERHAPS_TAKEN = frozenset({408, 409})
_NEVER_THERE = (ConnectionRefusedError, socket.gaierror)


class Busy(Exception):
    """The server did not take the request; `wait`: its own seconds until it may."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


class Lost(Exception):
    """No whole reply came: the server may have taken the request."""


class Refused(Exception):
    """The server refused the request for good."""

    def __init__(self, reason: str, status: int) -> None:
        super().__init__(reason)
        self.status = status


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *redirect: Any) -> None:
        """Leaves a redirect to be an error."""


class Http:
    """Requests below one address, with its headers."""

    def __init__(self, address: str, headers: Mapping[str, str]) -> None:
        self._parts = urlsplit(address)
        if public(address) == "…" or "@" in self._parts.netloc:
            raise UserError("base_url is no address without a password: give one such as http://localhost:8000/v1")
        self._headers = {"User-Agent": f"livek12/{__version__}", "Accept-Encoding": "identity", **headers}
        self._opener = build_opener(_NoRedirect())

    @property
    def path(self) -> str:
        """Path of the address."""
        return self._parts.path.strip("/")

    def call(
        self,
        method: str,
        path: str,
        body: bytes | Iterable[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, Any] | None = None,
    ) -> Json:
        """The JSON object of a reply."""
        with self.open(method, path, body, headers, query) as reply:
            data = reply.read(LONGEST_REPLY + 1)
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            raise Lost("the reply is not whole, or no JSON") from None
        if not isinstance(value, dict):
            raise Lost("the reply is no object")
        return value

    def lines(self, path: str, query: Mapping[str, Any] | None = None) -> Iterator[bytes]:
        """The lines of a file; longer ones than `LONGEST_LINE` are cut."""
        with self.open("GET", path, query=query) as reply:
            size, length = 0, reply.headers.get("Content-Length")
            while line := reply.readline(LONGEST_LINE):
                size += len(line)
                yield line
            if length is not None and size < int(length):
                raise Lost("the file broke off")

    @contextmanager
    def open(
        self,
        method: str,
        path: str,
        body: bytes | Iterable[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, Any] | None = None,
    ) -> Iterator[Any]:
        """The open reply; a `path` from the root of the host begins with a slash."""
        request = Request(self._url(path, query or {}), data=body, method=method)
        for name, value in {**self._headers, **(headers or {})}.items():
            request.add_header(name, value)
        try:
            with self._opener.open(request, timeout=SECONDS) as reply:
                yield reply
        except HTTPError as error:
            raise _refusal(error) from None
        except URLError as error:
            never = isinstance(error.reason, _NEVER_THERE)
            raise (Busy if never else Lost)(f"no connection: {one_line(error.reason, 120)}") from None
        except (OSError, http.client.HTTPException) as error:
            raise Lost(f"the connection broke: {one_line(error, 120)}") from None

    def _url(self, path: str, query: Mapping[str, Any]) -> str:
        own = self._parts
        whole = path if path.startswith("/") else f"{own.path.rstrip('/')}/{path}"
        return urlunsplit((own.scheme, own.netloc, whole, "&".join(filter(None, (own.query, urlencode(query)))), ""))

    def path_of(self, url: str) -> str:
        """Path and query of an address that a reply names, which must be on the same host."""
        parts = urlsplit(url)
        if (parts.scheme, parts.netloc) != (self._parts.scheme, self._parts.netloc):
            raise Refused(f"the reply leads to another host ({public(url)})", 0)
        return urlunsplit(("", "", parts.path, parts.query, ""))


def _refusal(error: HTTPError) -> Exception:
    with error:
        try:
            message = said_by_error(error.read(_LONGEST_ERROR))
        except (OSError, http.client.HTTPException):
            message = ""
    reason = f"the provider answered {error.code}: {message}"
    if error.code in _NOT_TAKEN and "insufficient_quota" not in message:
        return Busy(reason, retry_after(error.headers.get("Retry-After")))
    return Lost(reason) if error.code >= 500 or error.code in _PERHAPS_TAKEN else Refused(reason, error.code)
