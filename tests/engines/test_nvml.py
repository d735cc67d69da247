"""GPU counters: those of the GPUs that CUDA shows, and none where there is no driver."""

from __future__ import annotations

import sys

import pytest

from livek12.engines.devices import Gpus
from tests.nvml import FakeNvml


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> FakeNvml:
    """Two GPUs."""
    fake = FakeNvml()
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return fake


@pytest.mark.parametrize(
    ("shown", "most", "names", "busy", "joules"),
    [
        (None, None, ["A", "B"], 0.7, {"GPU-aaaa-0": 10_000, "GPU-bbbb-1": 20_000}),
        (None, 1, ["A"], 0.9, {"GPU-aaaa-0": 10_000}),
        ("1,0", 1, ["B"], 0.5, {"GPU-bbbb-1": 20_000}),
        ("GPU-bb", None, ["B"], 0.5, {"GPU-bbbb-1": 20_000}),
        ("", None, [], None, None),
        ("MIG-5c2f", None, [], None, None),
    ],
)
def test_the_counters_are_those_of_the_gpus_that_cuda_shows(
    shown: str | None,
    most: int | None,
    names: list[str],
    busy: float | None,
    joules: dict[str, float] | None,
    driver: FakeNvml,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if shown is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", shown)
    with Gpus(most) as gpus:
        assert (gpus.names, gpus.busy(), gpus.joules()) == (names, busy, joules)
    assert driver.users == 0


def test_a_gpu_without_a_counter_leaves_the_sum_unknown(driver: FakeNvml) -> None:
    driver.millijoules[1] = driver.percent[0] = None
    with Gpus() as gpus:
        assert gpus.joules() is None
        assert gpus.busy() == 0.5


def test_without_a_driver_there_are_no_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked for real through the copy that vLLM brings; where there is a GPU after all, it may answer."""
    monkeypatch.setitem(sys.modules, "pynvml", None)  # importing it fails
    with Gpus() as gpus:
        if not gpus.uuids:
            assert (gpus.names, gpus.busy(), gpus.joules()) == ([], None, None)
