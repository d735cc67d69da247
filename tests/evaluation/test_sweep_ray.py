"""A sweep on a local Ray: its actors have the model, our commands are the drivers. Skipped without Ray."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engines.conftest import needs, needs_transformers
from tests.evaluation.test_sweep import TASKS, Sweeping, answered

pytestmark = pytest.mark.slow


@pytest.mark.release
def test_replicas_on_ray_answer_all_once(data: Path, tmp_path: Path) -> None:
    needs("ray")
    needs_transformers()
    from livek12.scripts.bench.models import make_model

    model = {"name": str(make_model("tiny", tmp_path / "tiny")), "engine": "transformers", "replicas": 2, "cpus": 1}
    said = {"backend": "ray", "trials": 2, "limit": 3, "sampling": {"max_tokens": 8}, "models": [model]}
    sweeping = Sweeping(tmp_path, data, **said)
    ended = sweeping.run()
    assert ended.code == 0, ended.err
    assert answered(sweeping.out / "tiny") == 2 * 3 * len(TASKS)
    (session,) = (one for one in sweeping.report()["sessions"]["tiny"] if one["stage"] == "generate")
    assert (session["replicas"], session["gpus"], session["ended"]) == (2, 0, True)
    assert {cell["cost"] for cell in sweeping.report()["cells"]} == {None}, "no price was given"
