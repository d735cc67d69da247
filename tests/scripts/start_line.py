"""The `livek12` command of a launched process that asks when all of its launch have their model, and stops after a few.

So that neither who loads faster nor how fast they answer decides what a test of sharing and killing sees:
python -m tests.scripts.start_line FOLDER COMMAND…
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from livek12.engines.transformers import TransformersEngine
from livek12.scripts import cli

ENOUGH = 3
"""Answers of each process."""
SECONDS = 300


def main() -> None:
    folder = Path(sys.argv.pop(1))
    real = TransformersEngine.generate

    def together(engine: TransformersEngine, requests: Any) -> Iterator[Any]:
        (folder / os.environ["RANK"]).touch()
        until = time.monotonic() + SECONDS
        while len(list(folder.iterdir())) < int(os.environ["WORLD_SIZE"]) and time.monotonic() < until:
            time.sleep(0.01)
        for number, outcome in enumerate(real(engine, requests), 1):
            yield outcome
            if number == ENOUGH:
                time.sleep(SECONDS)  # until somebody ends it

    TransformersEngine.generate = together  # type: ignore[method-assign]
    cli.main()


if __name__ == "__main__":
    main()
