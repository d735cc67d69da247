"""The console script and `python -m livek12`: the command, which Ctrl-C ends in one line from its first moment on."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Runs the command; while its modules are loaded, nothing else would answer Ctrl-C."""
    try:
        from livek12.core import guard
        from livek12.scripts.cli import main as run

        guard.own_process = True
        run()
    except KeyboardInterrupt:
        print("stopped; run the same command again to go on", file=sys.stderr, flush=True)
        os._exit(130)


if __name__ == "__main__":
    main()
