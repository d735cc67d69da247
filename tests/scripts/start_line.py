"""The `livek12` command of a launched process that asks only when all processes of its launch have their model.

So that a test of sharing does not depend on who loads faster: python -m tests.scripts.start_line FOLDER COMMAND…
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

from livek12.core.engines.transformers_engine import TransformersEngine
from livek12.scripts import cli

SECONDS = 300


def main() -> None:
    folder = Path(sys.argv.pop(1))
    real = TransformersEngine.generate

    def together(engine: TransformersEngine, requests: Any) -> Any:
        (folder / os.environ["RANK"]).touch()
        until = time.monotonic() + SECONDS
        while len(list(folder.iterdir())) < int(os.environ["WORLD_SIZE"]) and time.monotonic() < until:
            time.sleep(0.01)
        return real(engine, requests)

    TransformersEngine.generate = together  # type: ignore[method-assign]
    cli.main()


if __name__ == "__main__":
    main()
