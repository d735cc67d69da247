"""Runs a command under strace and says whom it talked to beyond this machine, and what it left in the user's folders.

Contract: a TCP connection counts when it is tried, UDP when something is sent (a socket that is only connected, to
learn one's own address, sends nothing); addresses of this machine do not count, but for a request to resolve a name,
whoever answers it. Children count. What the surroundings set to keep libraries quiet, or offline, is taken away first,
so that only what the command itself sees to is seen.
"""

from __future__ import annotations

import ipaddress
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from livek12.core.silence import SILENT
from tests.scripts.command import COMMAND, ROOT, livek12_here

STRACE = ["strace", "-f", "-yy", "--seccomp-bpf", "-qq", "-s", "0", "-e", "signal=none"]
STRACE += ["-e", "trace=connect,sendto,sendmsg,sendmmsg"]
_MARK = 9  # the port to discard at
_BETWEEN = re.compile(rf".*sendto\(.*sin_port=htons\({_MARK}\).*\"127\.0\.0\.1\".*\n")
_CALL = re.compile(r"(connect|send\w+)\(\d+<(\w+)(?:-\w+)?:?\[(.*?)\]>, (.*)")
_ADDRESS = re.compile(
    r"sa_family=AF_INET6?, sin6?_port=htons\((\d+)\).*?(?:inet_addr\(|inet_pton\(AF_INET6, )\"([^\"]+)\""
)
_PEER = re.compile(r"->\[?(.*?)\]?:(\d+)$")
_TOLD = re.compile(r"(?i)^(?:HF_.*|TRANSFORMERS_OFFLINE|\w*_proxy)$")


@dataclass(frozen=True)
class Watched:
    """What a command did; `left` are files it made in the home folder and among temporary files."""

    code: int
    out: str
    err: str
    reached: list[str]
    left: list[str]


@cache
def can_watch() -> str:
    """Why commands cannot be watched here; "" where they can."""
    if not shutil.which("strace"):
        return "strace is not installed"
    done = subprocess.run([*STRACE, "-o", os.devnull, "true"], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"strace does not work here: {done.stderr.strip()[:100]}"


def watched(
    folder: Path,
    *args: object,
    meanwhile: Callable[[subprocess.Popen[str]], None] | None = None,
    cwd: Path = ROOT,
    **environment: str,
) -> Watched:
    """Runs a command of livek12 to its end, in a home of its own.

    Args:
        folder: where home, temporary files and the log go.
        args: of the command.
        meanwhile: called while it runs; then it is told to end.
        cwd: where it runs.
        environment: set for it.
    """
    code, out, err, trace, left = _traced(folder, [*COMMAND, *map(str, args)], meanwhile, cwd, environment)
    return Watched(code, out, err, reached(trace), left)


def watched_each(folder: Path, *commands: tuple[object, ...]) -> list[Watched]:
    """Runs commands of livek12 one after the other in one process, which imports what they share once.

    Args:
        folder: where home, temporary files and the log go.
        commands: the words of each.

    Returns:
        Of each command what `watched` returns.
    """
    ended = folder / "ended.jsonl"
    lines = json.dumps([list(map(str, words)) for words in commands])
    run = [sys.executable, "-c", "from tests.scripts.watched import _run_each; _run_each()", lines, str(ended)]
    code, out, err, trace, left = _traced(folder, run, None, ROOT, {})
    assert code == 0, (out, err)
    rows, traces = map(json.loads, ended.read_text().splitlines()), _BETWEEN.split(trace)
    return [
        Watched(row["code"], row["out"], row["err"], reached(part), [file for file in row["new"] if file in left])
        for row, part in zip(rows, traces[:-1], strict=True)
    ]


def _run_each() -> None:
    """In the traced process: runs each command, and sends a datagram to this machine as a mark between their traces."""
    places = {"home": Path(os.environ["HOME"]), "temporary": Path(os.environ["TMPDIR"])}
    before: set[str] = set()
    with Path(sys.argv[2]).open("w", encoding="utf-8") as rows, socket.socket(type=socket.SOCK_DGRAM) as mark:
        for words in json.loads(sys.argv[1]):
            ended = livek12_here(*words)
            now = {file for name, place in places.items() for file in _files(name, place)}
            rows.write(json.dumps({**vars(ended), "new": sorted(now - before)}) + "\n")
            before = now
            mark.sendto(b"", ("127.0.0.1", _MARK))


def _traced(
    folder: Path,
    command: Sequence[str],
    meanwhile: Callable[[subprocess.Popen[str]], None] | None,
    cwd: Path,
    environment: Mapping[str, str],
) -> tuple[int, str, str, str, list[str]]:
    """Exit code, outputs and trace of a command, and the files that it left in its home and among temporary files."""
    if why := can_watch():
        pytest.skip(why)
    home, log = folder / "home", folder / "trace"
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as short:  # Ray's sockets lie in it, and cannot have a long path
        places = {"HOME": str(home), "XDG_CACHE_HOME": str(home / ".cache"), "TMPDIR": short}
        process = subprocess.Popen(
            [*STRACE, "-o", str(log), *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=cwd,
            env={**_surroundings(), **places, **environment},
            start_new_session=True,
        )
        if meanwhile:
            try:
                meanwhile(process)
            finally:
                os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate()
        left = [*_files("home", home), *_files("temporary", Path(short))]
    return process.returncode, out, err, log.read_text(), left


def _surroundings() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in SILENT and not _TOLD.match(name)}


def _files(name: str, folder: Path) -> list[str]:
    return sorted(f"{name}/{path.relative_to(folder)}" for path in folder.rglob("*") if not path.is_dir())


def reached(trace: str) -> list[str]:
    """Addresses beyond this machine, and name servers, in a log of strace."""
    found = []
    for call, kind, ends, rest in _CALL.findall(trace):
        if kind.startswith("UNIX") or (kind.startswith("UDP") and call == "connect"):
            continue
        if address := _ADDRESS.search(rest):
            port, host = address[1], address[2]
        elif call != "connect" and kind.startswith("UDP") and (peer := _PEER.search(ends)):
            host, port = peer[1], peer[2]
        else:
            continue
        if port == "53" or not _is_here(host):
            found.append(f"{call} {kind} {host}:{port}")
    return list(dict.fromkeys(found))


def _is_here(host: str) -> bool:
    address = ipaddress.ip_address(host)
    plain = getattr(address, "ipv4_mapped", None) or address
    return plain.is_loopback or plain.is_unspecified or str(plain) in _own()


@cache
def _own() -> frozenset[str]:
    """This machine's address towards others, which processes here use among themselves."""
    found = set()
    for family, somewhere in (
        (socket.AF_INET, "192.0.2.254"),
        (socket.AF_INET6, "2001:db8::1"),
        (socket.AF_INET, "8.8.8.8"),
    ):
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect((somewhere, 9))
            except OSError:
                continue
            found.add(probe.getsockname()[0])
    return frozenset(found)
