"""Stands in for the module `pynvml` of nvidia-ml-py, whose driver this machine may not have."""

from __future__ import annotations

from types import SimpleNamespace


class FakeNvml:
    """GPUs with counters that a test sets.

    Args:
        gpus: how many.
    """

    def __init__(self, gpus: int = 2) -> None:
        self.millijoules: list[int | None] = [10_000_000 * (n + 1) for n in range(gpus)]
        """What each has used since its driver was loaded; None: it has no such counter."""
        self.percent: list[int | None] = [90, 50, 10, 0][:gpus]
        self.users = 0

    def nvmlInit(self) -> None:
        self.users += 1

    def nvmlShutdown(self) -> None:
        self.users -= 1

    def nvmlDeviceGetCount(self) -> int:
        return len(self.millijoules)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlDeviceGetUUID(self, handle: int) -> bytes:  # as text or as bytes, by its version
        return f"GPU-{'abcd'[handle] * 4}-{handle}".encode()

    def nvmlDeviceGetName(self, handle: int) -> str:
        return "AB"[handle]

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> SimpleNamespace:
        return SimpleNamespace(gpu=self._given(self.percent[handle]), memory=0)

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: int) -> int:
        return self._given(self.millijoules[handle])

    def _given(self, value: int | None) -> int:
        if value is None:
            raise RuntimeError("NVMLError_NotSupported")
        return value
