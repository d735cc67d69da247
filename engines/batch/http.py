"""HTTP of batch APIs: one request a call; bodies and results are streamed from and to files.

It repeats no request and follows no redirect; proxies and certificates are those of the environment. Messages omit the
address, which may hold credentials.
"""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from livek12.core.errors import UserError
from livek12.core.text import one_line, public
from livek12.core.version import __version__
from livek12.engines.common import Json
from livek12.engines.openai.api import retry_after
from livek12.engines.openai.format import said_by_error
from livek12.engines.openai.transport import LONGEST_ERROR

SECONDS = 600.0
LONGEST_REPLY, LONGEST_LINE = 64 * 2**20, 16 * 2**20
_NOT_TAKEN = (425, 429)
_PERHAPS_TAKEN = (408, 409)


class Busy(Exception):
    """The server did not take the request; `wait`: its own seconds until it may."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


class Lost(Exception):
    """No whole reply came: the server may have taken the request."""


class Refused(Exception):
    """The server refused the request for good."""

    def __init__(self, reason: str, status: int = 0) -> None:
        super().__init__(reason)
        self.status = status


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *redirect: Any) -> None: ...


class Http:
    """Requests below one address, with its headers."""

    def __init__(self, address: str, headers: Mapping[str, str]) -> None:
        parts = urlsplit(address)
        if public(address) == "…" or "@" in parts.netloc:
            raise UserError("base_url is no address without a password: give one such as http://localhost:8000/v1")
        self.origin, self.path, self._query = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/"), parts.query
        self._headers = {"User-Agent": f"livek12/{__version__}", "Accept-Encoding": "identity", **headers}
        self._opener = build_opener(_NoRedirect())

    def call(self, method: str, path: str, body: Json | Iterable[bytes] | None = None, **headers: str) -> Json:
        """The JSON object of a reply; `headers` with _ for -."""
        with self.open(method, path, body, **headers) as reply:
            data = reply.read(LONGEST_REPLY + 1)
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise Lost("the reply is no whole JSON object")
        return value

    def lines(self, path: str) -> Iterator[bytes]:
        """The lines of a file; longer ones than `LONGEST_LINE` come in pieces."""
        with self.open("GET", path) as reply:
            size, length = 0, reply.headers.get("Content-Length")
            while line := reply.readline(LONGEST_LINE):
                size += len(line)
                yield line
            if length is not None and size < int(length):
                raise Lost("the file broke off")

    @contextmanager
    def open(
        self, method: str, path: str, body: Json | Iterable[bytes] | None = None, **headers: str
    ) -> Iterator[http.client.HTTPResponse]:
        """The open reply; a `path` from the root of the host begins with a slash."""
        url = self.origin + (path if path.startswith("/") else f"{self.path}/{path}")
        if self._query:
            url += ("&" if "?" in url else "?") + self._query
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        request = Request(url, data=data, method=method)
        for name, value in {**self._headers, "Content-Type": "application/json", **headers}.items():
            request.add_header(name.replace("_", "-"), value)
        try:
            with self._opener.open(request, timeout=SECONDS) as reply:
                yield reply
        except HTTPError as error:
            raise _refusal(error) from None
        except URLError as error:
            never_there = isinstance(error.reason, ConnectionRefusedError | socket.gaierror)
            raise (Busy if never_there else Lost)(f"no connection: {one_line(error.reason, 120)}") from None
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise Lost(f"the connection broke: {one_line(error, 120)}") from None


def _refusal(error: HTTPError) -> Exception:
    with error:
        try:
            message = said_by_error(error.read(LONGEST_ERROR))
        except (OSError, http.client.HTTPException):
            message = ""
    reason = f"the provider answered {error.code}: {message}"
    if error.code in _NOT_TAKEN and "insufficient_quota" not in message:
        return Busy(reason, retry_after(error.headers.get("Retry-After")))
    return Lost(reason) if error.code >= 500 or error.code in _PERHAPS_TAKEN else Refused(reason, error.code)
