"""A Hub on loopback: a real HTTP server for what huggingface_hub and datasets ask of the Hub.

Contract: create, commit (with parent check), LFS upload, refs, tags, tree, paths, history and download with ranges;
private repositories, read and write tokens, the Hub's error codes (`tests.hub_server`). State lies in a folder
(`tests.hub_storage`), so the server may be killed and started again on the same port. Every request is logged without
its headers, and faults can be ordered.

    with Hub(folder) as hub:
        subprocess.run([...], env={**os.environ, **hub.environment(home, WRITER)})

Clients read HF_ENDPOINT when they are imported: whatever talks to the Hub runs in a process of its own
(`tests.hub_client`).
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

from tests.hub_storage import Repo

ROOT = Path(__file__).resolve().parents[1]
WRITER, READER, STRANGER = "hf_writer_Qk3vNw81", "hf_reader_Zt7LpX42", "hf_stranger_Bb5mRc90"
USERS: dict[str, dict[str, Any]] = {
    WRITER: {"name": "keeper", "orgs": ["org"], "write": True},
    READER: {"name": "guest", "orgs": ["org"], "write": False},
    STRANGER: {"name": "stranger", "orgs": [], "write": True},
}
"""Access tokens, and whose they are."""


class Hub:
    """The server as a process of its own, on one port for as long as this object lives."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._port = 0
        self._process: subprocess.Popen[str] | None = None
        self.url = ""

    def start(self) -> Hub:
        """Starts it; again on the same port after `kill`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "tests.hub_server", str(self.folder), str(self._port)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        self._port = int(self.url.rsplit(":", 1)[1])
        return self

    def kill(self) -> None:
        """Ends it at once, whatever it is doing."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def environment(self, home: Path, token: str | None = None) -> dict[str, str]:
        """The variables of a client whose caches and token lie in `home`."""
        home.mkdir(parents=True, exist_ok=True)
        if token is not None:
            (home / "token").write_text(token)
        return {
            "HF_ENDPOINT": self.url,
            "HF_HOME": str(home),
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_HUB_OFFLINE": "0",
            "HF_TOKEN": "",
            "USE_TORCH": "0",  # datasets imports it for every stream, and no client needs it
        }

    def fault(self, path: str, action: str, *, method: str = "", after: int = 0, times: int = 1) -> None:
        """Orders a fault for requests whose path matches.

        Args:
            path: a regular expression, searched in the path.
            action: a status such as "503", "drop" (no answer, nothing done), "forget" (done, but no answer),
                "slow:SECONDS", "html" (a login page), "move:OLD:NEW" (a redirect), or "die" (the whole server, at
                once).
            method: only this one.
            after: let so many matching requests pass first.
            times: then hit so many.
        """
        order = {"path": path, "action": action, "method": method, "after": after, "times": times}
        self._order(order)

    def calm(self) -> None:
        """Forgets the faults that have not happened."""
        self._order(None)

    def _order(self, order: dict[str, Any] | None) -> None:
        request = urllib.request.Request(f"{self.url}/_fault", json.dumps(order).encode(), method="POST")
        urllib.request.urlopen(request).close()

    def requests(self, pattern: str = "", status: int | None = None) -> list[dict[str, Any]]:
        """What was asked so far: method, path, status and bytes received, where "METHOD PATH" matches."""
        log = self.folder / "requests.jsonl"
        rows = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
        matches = (row for row in rows if re.search(pattern, f"{row['method']} {row['path']}"))
        return [row for row in matches if status in (None, row["status"])]

    def repo(self, id: str, kind: str = "datasets") -> Repo:
        """A repository as it lies on the disk."""
        return Repo(self.folder / kind / id)

    def __enter__(self) -> Hub:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.kill()
