"""What the servers here share: the address they listen at, and the names that they are reached by.

Contract: a server that listens at loopback answers to names of loopback alone, so that no page of another site reaches
it under a name of its own (DNS rebinding).
"""

from __future__ import annotations

import ipaddress
import re
import socket
from typing import Any

from livek12.core.errors import UserError


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Args:
        host: the address or its name.
        port: 0 takes a free one.

    Raises:
        UserError: the address cannot be taken.
    """
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
    """The host as it stands in an address that others may open."""
    if host in ("0.0.0.0", "::"):  # opened by a name that leads here
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


class OwnNames:
    """The names that a server answers to.

    Args:
        host: the address that it listens at.
    """

    def __init__(self, host: str) -> None:
        self._near = is_loopback(host)
        self._names = {"localhost", host.lower()}
        if not self._near:
            self._names |= {socket.gethostname().lower(), socket.getfqdn().lower()}

    def __contains__(self, header: str) -> bool:
        """Whether a Host header is an address of numbers, which no DNS entry can fake, or a name that is ours."""
        name = header.rsplit(":", 1)[0] if re.search(r":\d+$", header) else header
        name = name.strip("[]").lower()
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return name in self._names
        return address.is_loopback or not self._near


class Idlers:
    """Closes connections on which nothing is asked, so that nobody fills a server by opening them.

    Args:
        connections: those of uvicorn.
    """

    def __init__(self, connections: set[Any]) -> None:
        self._connections = connections
        self._waiting: dict[Any, Any] = {}

    async def close(self) -> None:
        """Closes each on which no request was in hand at the last call, nor is now, nor came in between."""
        waiting = {one: one.cycle for one in self._connections if one.cycle is None or one.cycle.response_complete}
        for one, cycle in waiting.items():
            if self._waiting.get(one, self) is cycle:
                one.transport.close()
        self._waiting = waiting
