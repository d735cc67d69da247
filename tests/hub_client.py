"""A process that talks to the loopback Hub: `livek12` commands and pieces of Python, one after the other.

Contract: clients read HF_ENDPOINT when they are imported, so they run in a process of their own; this one imports
them once for many commands. Run as a program it takes a JSON line a job on stdin and answers each with one.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

from tests.hub import ROOT, WRITER, Hub
from tests.scripts.command import Ended, livek12_here


class Client:
    """The process. Use as a context manager.

    Args:
        hub: a running Hub.
        home: for caches and the token; `log_in` changes the token.
    """

    def __init__(self, hub: Hub, home: Path, token: str | None = WRITER) -> None:
        self._home = home
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.hub_client"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, **hub.environment(home, token)},
        )

    def log_in(self, token: str | None) -> None:
        """From now on with this token, or none."""
        (self._home / "token").unlink(missing_ok=True)
        if token is not None:
            (self._home / "token").write_text(token)

    def livek12(self, *args: object) -> Ended:
        """Runs a command of livek12."""
        ended = Ended(**self._ask({"args": [str(arg) for arg in args]}))
        assert "Traceback" not in ended.err, ended.err
        return ended

    def python(self, code: str) -> Any:
        """Runs statements, and gives what they leave in `result` (JSON)."""
        answer = self._ask({"code": code})
        assert "error" not in answer, answer["error"]
        return answer["result"]

    def _ask(self, job: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.communicate()


def _livek12(args: list[str]) -> dict[str, Any]:
    try:
        return vars(livek12_here(*args))
    except BaseException:
        return {"code": 1, "out": "", "err": traceback.format_exc()}


def _python(code: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            exec(code, names)
        except BaseException:
            return {"error": traceback.format_exc()}
    return {"result": names.get("result")}


if __name__ == "__main__":
    answers = sys.stdout
    for line in sys.stdin:
        gc.freeze()  # what is imported stays: publishing collects twice a data set, a tenth of a second each
        job = json.loads(line)
        answer = _livek12(job["args"]) if "args" in job else _python(job["code"])
        print(json.dumps(answer), file=answers, flush=True)
