"""Settings needed before any import of vLLM, here and in its processes.

`platform` opens no device. Off the CPU, vLLM's processes are spawned, not forked (a fork copies our threads, and CUDA
refuses one once a device was so much as counted); within `as_main` each begins with this module instead of the
program's main module.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from livek12.engines.torch_builds import mend_torch_builds

SETTINGS = {
    "VLLM_LOGGING_LEVEL": "ERROR",
    # stdout is for results; workers log only to this stream why they cannot start.
    "VLLM_LOGGING_STREAM": "ext://sys.stderr",
    # One pass over logits that sampling passes over several times; otherwise NaN answers look valid.
    "VLLM_COMPUTE_NANS_IN_LOGITS": "1",
}
"""Of vLLM, unless the environment says otherwise."""


def platform() -> Any:
    """VLLM's platform on this machine."""
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    ready_vllm()
    from vllm.platforms import current_platform

    if not current_platform.is_cpu():
        os.environ.setdefault("VLLM_WORKER_MULTIPROC_METHOD", "spawn")
    return current_platform


def ready_vllm() -> None:
    """Mends torch's companions; call before any import of vLLM, in a server too."""
    if mend_torch_builds():
        from vllm.model_executor.models import registry

        # vLLM inspects model classes in a child process, which would meet the unmended torchvision.
        if hasattr(registry, "_run_in_subprocess"):
            registry._run_in_subprocess = lambda function: function()


@contextmanager
def as_main() -> Iterator[None]:
    """Spawned processes begin with this module: scripts need no `__main__` guard."""
    main = sys.modules["__main__"]
    own = main.__spec__
    main.__spec__ = importlib.util.find_spec("livek12.engines.vllm.ready")
    try:
        yield
    finally:
        main.__spec__ = own


if __name__ == "__mp_main__":
    ready_vllm()
