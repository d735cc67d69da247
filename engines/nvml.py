"""GPUs as NVML counts them: their names, busy shares, and the joules each has used since its driver was loaded.

Contract: reading opens no device and raises nothing: without NVML, a driver or a counter, a figure is None. The GPUs
are those that CUDA_VISIBLE_DEVICES names, in its order. A figure covers the whole GPU, whoever uses it.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import statistics
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from livek12.engines.memory import visible

T = TypeVar("T")


class Gpus:
    """The GPUs that this process may use; a context manager, or close it.

    Args:
        most: only the first so many; None for all.
    """

    def __init__(self, most: int | None = None) -> None:
        self._nvml = _initialised()
        rows = visible(self._rows(), os.environ.get("CUDA_VISIBLE_DEVICES"))[:most]
        self.uuids = [uuid for _, uuid in rows]
        self._handles = [self._nvml.nvmlDeviceGetHandleByIndex(int(index)) for index, _ in rows]

    @property
    def names(self) -> list[str]:
        """What the driver calls each."""
        return [_text(name) for name in self._each("nvmlDeviceGetName") if name is not None]

    def busy(self) -> float | None:
        """The mean share (0 to 1) of the last moment in which some kernel ran; None where no GPU tells."""
        rates = [rate.gpu / 100 for rate in self._each("nvmlDeviceGetUtilizationRates") if rate is not None]
        return statistics.mean(rates) if rates else None

    def joules(self) -> dict[str, float] | None:
        """The energy counter of each GPU by its UUID; None where there is no GPU, or one has no counter."""
        counters = self._each("nvmlDeviceGetTotalEnergyConsumption")  # in mJ
        known = [counter / 1000 for counter in counters if counter is not None]
        return dict(zip(self.uuids, known, strict=True)) if known and len(known) == len(counters) else None

    def close(self) -> None:
        """Lets go of NVML."""
        nvml, self._nvml, self._handles = self._nvml, None, []
        if nvml is not None:
            with suppress(Exception):
                nvml.nvmlShutdown()

    def __enter__(self) -> Gpus:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _rows(self) -> list[list[str]]:
        """Index and UUID of each GPU of this machine."""
        if self._nvml is None:
            return []

        def row(index: int) -> list[str]:
            return [str(index), _text(self._nvml.nvmlDeviceGetUUID(self._nvml.nvmlDeviceGetHandleByIndex(index)))]

        count = _answer(self._nvml.nvmlDeviceGetCount) or 0
        rows = [_answer(lambda index=index: row(index)) for index in range(count)]  # type: ignore[misc]
        return [found for found in rows if found is not None]

    def _each(self, function: str) -> list[Any]:
        """The answer of a function of NVML on each GPU, None where it has none."""
        return [_answer(lambda handle=handle: getattr(self._nvml, function)(handle)) for handle in self._handles]  # type: ignore[misc]


def _initialised() -> Any:
    """The module of NVML (of nvidia-ml-py, or vLLM's copy of it), ready to be asked; None where it has no driver."""
    for load in (lambda: importlib.import_module("pynvml"), _copy_of_vllm):
        with suppress(Exception):  # NVML's errors have no common class without it, and its loader raises OSError
            nvml: Any = load()
            nvml.nvmlInit()
            return nvml
    return None


def _copy_of_vllm() -> Any:
    """VLLM's copy, loaded from its file: importing vLLM takes seconds."""
    package = importlib.util.find_spec("vllm")
    assert package is not None and package.submodule_search_locations is not None
    file = Path(package.submodule_search_locations[0]) / "third_party" / "pynvml.py"
    spec = importlib.util.spec_from_file_location("livek12_pynvml", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _answer(ask: Callable[[], T]) -> T | None:
    with suppress(Exception):
        return ask()
    return None


def _text(name: Any) -> str:
    return name.decode(errors="replace") if isinstance(name, bytes) else str(name)
