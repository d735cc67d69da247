"""Engines on Ray: a cluster of two nodes on this machine; processes and a node of it are lost."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from livek12 import engines
from livek12.core.errors import UserError
from livek12.core.records import Response
from livek12.engines import make_engine
from livek12.engines.pool.ray import RayEngine
from tests.engines.conftest import needs
from tests.engines.helpers import ask, response
from tests.engines.scripted_engine import answered, check_once, loading, refusing, scripted

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def _ray() -> None:
    needs("ray")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A Ray cluster whose two nodes have room for an engine each."""
    from ray.cluster_utils import Cluster

    small = {"num_cpus": 1, "object_store_memory": 100 << 20, "include_dashboard": False}
    made = Cluster(initialize_head=True, head_node_args=small)
    made.add_node(num_cpus=1, object_store_memory=100 << 20)
    yield made
    made.shutdown()


def until_ready(pool: RayEngine, count: int) -> None:
    deadline = time.monotonic() + 120
    while pool.ready() < count:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_killed_actors_and_lost_nodes_lose_nothing_and_nothing_is_done_twice(cluster: Any, tmp_path: Path) -> None:
    """Three are wanted where two have room; a process is killed, then a node; the last ones do the rest."""
    log = tmp_path / "asked"
    three = RayEngine(scripted(log), cluster.address, replicas=3)
    assert (three.name, three.versions()) == ("scripted", {"scripted": "1"})
    until_ready(three, 2)
    outcomes: list[Response] = []
    for outcome in three.generate(ask(f"q{number}") for number in range(300)):
        outcomes.append(response(outcome))
        if len(outcomes) == 50:
            os.kill(int(outcomes[0].text.partition("-")[0]), signal.SIGKILL)
            before = answered(log, outcomes)
        if len(outcomes) == 150:
            cluster.remove_node(next(iter(cluster.worker_nodes)))
            before |= answered(log, outcomes)
    three.close()
    check_once(log, outcomes, before)
    assert len(outcomes) == 300


@pytest.mark.release
def test_those_that_ray_places_on_one_gpu_are_loaded_one_after_another(cluster: Any, tmp_path: Path) -> None:
    node = cluster.add_node(num_cpus=2, num_gpus=1, object_store_memory=100 << 20)
    log = tmp_path / "loads"
    two = RayEngine(partial(loading, log), cluster.address, replicas=2, gpus=0.5)
    until_ready(two, 2)
    two.close()
    cluster.remove_node(node)
    assert [line.split()[0] for line in log.read_text().splitlines()] == ["begin", "end"] * 2
    assert len({line.split()[1] for line in log.read_text().splitlines()}) == 1


def test_auto_is_settled_where_ray_would_place_the_engine(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine of the command has no GPU, or no vLLM; a node has."""
    needs("vllm")
    with monkeypatch.context() as here:
        here.setattr(engines.importlib.util, "find_spec", lambda name: None)
        assert engines.choose_engine("org/model", {}) == "transformers"
        assert engines.choose_engine("org/model", {"ray": cluster.address}) == "vllm"


def test_what_the_actor_refuses_is_told_as_it_stands(cluster: Any) -> None:
    with pytest.raises(UserError, match=r"^nobody: no such model; give a folder$"):
        RayEngine(refusing, cluster.address)


@pytest.mark.parametrize("name", ["transformers", "auto"])
@pytest.mark.parametrize("address", ["127.0.0.1:9", "ray://127.0.0.1:9", "nonsense"])
def test_where_there_is_no_ray_one_line_says_so(address: str, name: str) -> None:
    with pytest.raises(UserError, match=f"^ray={address}: cannot be joined: [^\n]*$"):
        make_engine(name, "nowhere", {"ray": address})
