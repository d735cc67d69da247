"""Addresses of local servers, and the names they answer to.

A server at loopback answers to loopback names alone (DNS rebinding).
"""

from __future__ import annotations

import ipaddress
import re
import socket
from typing import Any

from livek12.core.errors import UserError


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
    """Closes idle connections of uvicorn, so that nobody can exhaust a server."""

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
    """Protocol class of uvicorn with so many connections: another one takes the place of an idle one, or is closed."""

    class Bounded(protocol):  # type: ignore[misc]
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            others = [connection for connection in self.connections if connection is not self]
            if len(others) >= most:
                idle = (each for each in others if each.cycle is None or each.cycle.response_complete)
                next(idle, self).transport.close()

    return Bounded
