"""Runs the `livek12` command the way a user does: a process of its own, its two outputs, its exit code."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-m", "livek12.scripts.cli"]


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def errors(self) -> list[str]:
        """The lines on stderr that are errors."""
        return [line for line in self.err.splitlines() if line.startswith("error:")]

    @property
    def warnings(self) -> list[str]:
        """The lines on stderr that are warnings."""
        return [line for line in self.err.splitlines() if line.startswith("warning:")]


def livek12(*args: object, cwd: Path | None = None, **environment: str) -> Ended:
    """Runs a command to its end."""
    done = subprocess.run(
        [*COMMAND, *map(str, args)],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        cwd=cwd,
        env={**os.environ, **environment},
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Ended(done.returncode, done.stdout, done.stderr)


def livek12_here(*args: object) -> Ended:
    """Runs a command to its end in this very process: quicker, where nothing hangs on the process.

    What it answers to SIGTERM is not left behind, for a forked process with threads would not end by it; warnings that
    other tests left are not counted.
    """
    from livek12.core import progress
    from livek12.scripts import cli

    out, err = io.StringIO(), io.StringIO()
    before, sys.argv = sys.argv, ["livek12", *map(str, args)]
    quiet, at_term = progress.quiet, signal.getsignal(signal.SIGTERM)
    progress._warned.clear()
    code: int = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            cli.main()
        except SystemExit as end:
            code = int(end.code or 0)
        finally:
            sys.argv = before
            progress.quiet = quiet
            if signal.getsignal(signal.SIGTERM) is not at_term:
                signal.signal(signal.SIGTERM, at_term)
    return Ended(code, out.getvalue(), err.getvalue())


def leaf(args: list[str]) -> tuple[Any, Any, list[str]]:
    """The subcommand that a line calls, the context above it, and the arguments that it gets."""
    import typer

    from livek12.scripts.cli import app

    command: Any = typer.main.get_command(app)
    context = None
    while hasattr(command, "resolve_command") and (context is None or args):
        context = command.make_context(command.name, [], parent=context, resilient_parsing=True)
        _, command, args = command.resolve_command(context, args)
    return command, context, args
