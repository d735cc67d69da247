"""Four releases from every kind of base, held back or not, and killed: no answer is lost, none is leaked.

The table, and the kills at twenty moments, of all combinations: `python -m tests.scripts.test_release_chain FOLDER`.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.hub import WRITER, Hub
from tests.hub_client import Client
from tests.scripts.command import COMMAND
from tests.scripts.release_chain import BASES, RELEASES, Chain

HOLDS = list(itertools.product([True, False], repeat=len(RELEASES)))
MOMENTS = 20


def combination(hub: Hub, client: Client, folder: Path, base: str, holds: tuple[bool, ...]) -> Chain:
    """The four releases one after the other."""
    name = f"{base}-{''.join('h' if hold else 'o' for hold in holds)}"
    chain = Chain(hub, client, folder, name)
    for release, hold in zip(RELEASES, holds, strict=True):
        chain.step(release, base, hold)
    return chain


def table(hub: Hub, client: Client, folder: Path) -> str:
    """All combinations as a Markdown table, one row each."""
    lines = ["| base | held back | " + " | ".join(RELEASES) + " | lost | leaked |", "|---" * 8 + "|"]
    for base, holds in itertools.product(BASES, HOLDS):
        chain = combination(hub, client, folder, base, holds)
        held = ", ".join(release for release, hold in zip(RELEASES, holds, strict=True) if hold) or "none"
        lines.append(f"| {base} | {held} | " + " | ".join(chain.said) + " | 0 | 0 |")
    return "\n".join(lines)


def killed(hub: Hub, client: Client, folder: Path, home: Path, moment: float, number: int) -> str:
    """Kills a publish which holds a newer release back when it has made that share of its requests."""
    chain = Chain(hub, client, folder, f"killed{number}")
    chain.step("2603", "local", True)
    chain._build("2605", "local")
    line = chain.publish_line("2605", True)
    environment = {**os.environ, **hub.environment(home, WRITER)}
    hub.fault(".", "slow:0.02", times=10_000)
    before, seen = len(hub.requests()), 0
    child = subprocess.Popen(
        [*COMMAND, *line], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT, env=environment
    )
    while child.poll() is None and seen < moment:
        seen = len(hub.requests()) - before
        time.sleep(0.005)
    running = child.poll() is None
    child.kill()
    child.wait()
    hub.calm()
    chain.held = "2605"  # never shown, whatever the kill left; and 2603 may be public or not, but is not lost
    chain.check()
    moved = {repo: hub.repo(repo).commit_of("main")["title"] for repo in (chain.keys, chain.repo)}
    ended = client.livek12(*line)
    assert ended.code == 0, ended.err
    chain.took("2605", True)
    chain.step("2607", "public", True)
    return (
        f"{seen} requests, {'running' if running else 'ended'}, keys: {moved[chain.keys]}, public: {moved[chain.repo]}"
    )


@pytest.mark.slow
@pytest.mark.release
def test_the_vault_changes_first_and_the_next_start_goes_on(hub: Hub, logged_in: Client, tmp_path: Path) -> None:
    chain = Chain(hub, logged_in, tmp_path, "between")
    chain.step("2603", "public", True)
    chain._build("2605", "local")
    hub.fault(f"/datasets/{chain.repo}/commit/", "422", times=1000)
    assert chain.publish("2605", True).code == 2
    hub.calm()
    assert hub.repo(chain.keys).commit_of("main")["title"] == "Publish 2605"
    assert hub.repo(chain.repo).commit_of("main")["title"] == "Publish 2603"
    chain.held = "2605"
    chain.check()  # 2603 is not in the public head yet, and still in the private one
    assert chain.publish("2605", True).code == 0
    chain.took("2605", True)
    assert "refused without the answers" not in chain.said
    chain.step("2607", "private", False)
    assert chain.said[-1] == "refused to show the answers"


@pytest.mark.release
@pytest.mark.parametrize("base", BASES)
def test_every_combination_of_base_and_hold(base: str, hub: Hub, logged_in: Client, tmp_path: Path) -> None:
    for holds in HOLDS:
        combination(hub, logged_in, tmp_path, base, holds)


@pytest.mark.release
def test_killed_at_twenty_moments(hub: Hub, logged_in: Client, tmp_path: Path) -> None:
    said = [killed(hub, logged_in, tmp_path, tmp_path / "home", 6 * n, n) for n in range(MOMENTS)]
    assert sum("running" in line for line in said) > MOMENTS // 2, said


if __name__ == "__main__":
    place = Path(sys.argv[1])
    with Hub(place / "hub") as server, Client(server, place / "client") as process:
        print(table(server, process, place))
        for at in range(MOMENTS):
            print(killed(server, process, place, place / "home", 6 * at, at), flush=True)
