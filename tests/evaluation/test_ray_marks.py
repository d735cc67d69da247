"""A run marked by the rules on a Ray cluster of two nodes, of which one is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from livek12.core.run.folder import QUESTIONS, RunFolder
from livek12.evaluation.marking import judge, mark_responses
from livek12.evaluation.workers import LINE_SECONDS, ray_batches
from livek12.scripts.bench.marking import make_run
from tests.engines.conftest import needs
from tests.evaluation.test_mark_workers import RULES, lines, rows

pytestmark = pytest.mark.release


def test_nodes_give_the_verdicts_of_one_process_though_one_is_lost(tmp_path: Path) -> None:
    needs("ray")
    from ray.cluster_utils import Cluster

    small = {"num_cpus": 1, "object_store_memory": 100 << 20, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=small)
    cluster.add_node(num_cpus=1, object_store_memory=100 << 20)
    runs = [RunFolder.open(make_run(tmp_path / name, rows(400))) for name in ("one", "two")]
    judge(runs[0], options=RULES, workers=1)
    found: list[str] = []
    batches = ray_batches(
        (line for _, line in runs[1].response_lines()),
        *(cluster.address, 2, 4, mark_responses),
        {name: (runs[1].path / name).read_bytes() for name in ("run.json", QUESTIONS)},
        *(RULES, 0, LINE_SECONDS),
        unmarked=lambda line, why: pytest.fail(why),
    )
    for replies in batches:
        if not found:
            cluster.remove_node(next(iter(cluster.worker_nodes)))
        found += replies
    assert sorted(found) == lines(runs[0].path)
    judge(runs[1], options=RULES, ray=cluster.address)
    assert lines(runs[1].path) == lines(runs[0].path)
    cluster.shutdown()
