"""TRL trains with our reward: `scripts/bench/trainers.py trl` as it stands; the others ask for more than tests have."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.engines.conftest import needs


@pytest.mark.release
@pytest.mark.slow
def test_grpo_makes_two_steps_with_our_reward() -> None:
    needs("trl", "torch", "transformers", "torchvision")
    command = [sys.executable, str(ROOT / "scripts" / "bench" / "trainers.py"), "trl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["check"] == "GRPOTrainer, two steps" and sum(told["rewards"].values()) == 64
