"""Fetches images from the named hosts only.

Contract: http and https, named hosts (redirects too), at most `MAX_BYTES` and `MAX_SECONDS` per image; the bytes are
not yet known to be a picture. All failures raise BadRow.
"""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from collections.abc import Collection
from http.client import HTTPException
from typing import IO, Any
from urllib.parse import urlsplit

from livek12.dataset_builders.base import BadRow, one_line

MAX_BYTES = 64 << 20
MAX_SECONDS = 60.0
WAIT_SECONDS = 20.0
"""Timeout for one answer of the host, or one piece of it."""
_PIECE = 1 << 16


def is_address(ref: str) -> bool:
    """True if a reference to an image is a URL and no path."""
    return "://" in ref[:64] or ref.startswith("//")


def is_allowed(url: str, hosts: Collection[str]) -> bool:
    """True if a URL is http(s) on one of the hosts, given as HOST (any port) or HOST:PORT."""
    try:
        parts = urlsplit(url)
        names = {parts.hostname or "", f"{parts.hostname}:{parts.port}"} if parts.port else {parts.hostname or ""}
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(names & {host.lower() for host in hosts})


def fetch(url: str, hosts: Collection[str]) -> bytes:
    """Downloads an address."""
    shown = f"image {one_line(url, 120)}"
    if not is_allowed(url, hosts):
        raise BadRow(
            f"{shown} is an address on another host and was not fetched; allow its host or put the file beside the rows"
        )
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _AllowedRedirects(hosts),
    ):
        opener.add_handler(handler)
    try:
        with opener.open(url, timeout=WAIT_SECONDS) as answer:
            return _read(answer, shown)
    except urllib.error.HTTPError as error:
        raise BadRow(
            f"{shown} could not be fetched: the host answers {error.code} {one_line(error.reason, 60)}"
        ) from None
    except (OSError, HTTPException, ValueError) as error:
        if isinstance(error, BadRow):
            raise
        raise BadRow(f"{shown} could not be fetched: {one_line(getattr(error, 'reason', error), 120)}") from None


def _read(answer: Any, shown: str) -> bytes:
    end = time.monotonic() + MAX_SECONDS
    pieces, size = [], 0
    while piece := answer.read1(_PIECE):
        size += len(piece)
        pieces.append(piece)
        if size > MAX_BYTES:
            raise BadRow(f"{shown} has more than {MAX_BYTES >> 20} MiB")
        if time.monotonic() > end:
            raise BadRow(f"{shown} could not be fetched: it takes more than {MAX_SECONDS:.0f} seconds")
    if (stated := answer.headers.get("Content-Length")) and stated.isdigit() and size < int(stated):
        raise BadRow(f"{shown} could not be fetched: {size} of {stated} bytes came")
    return b"".join(pieces)


class _AllowedRedirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to allowed hosts only."""

    def __init__(self, hosts: Collection[str]) -> None:
        self._hosts = hosts

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        if not is_allowed(newurl, self._hosts):
            here, there = one_line(req.full_url, 120), one_line(newurl, 120)
            raise BadRow(f"image {here} was not fetched: it leads to {there}, on another host")
        return super().redirect_request(req, fp, code, msg, headers, newurl)
