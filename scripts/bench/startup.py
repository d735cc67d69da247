"""Measures how long `livek12 --help` and `livek12 tasks` take as whole processes, beside `python -c pass`.

Run it with the Python that livek12 is installed in: `python scripts/bench/startup.py`. The commands take turns, so
that what else the machine does hits all alike; the figure to read is the ratio of the medians.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path


def main() -> None:
    """Prints the median of each command in milliseconds and over the bare interpreter."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=20, help="how often each command is started (default 20)")
    rounds: int = parser.parse_args().rounds
    livek12 = str(Path(sys.executable).with_name("livek12"))
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "livek12 --help": [livek12, "--help"],
        "livek12 tasks": [livek12, "tasks"],
    }
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            began = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            seconds[name].append(time.perf_counter() - began)
    bare = statistics.median(seconds["python -c pass"])
    for name, measured in seconds.items():
        median = statistics.median(measured)
        print(f"{name:15} {1000 * median:6.0f} ms  {median / bare:4.1f} x  (slowest {1000 * max(measured):.0f} ms)")


if __name__ == "__main__":
    main()
