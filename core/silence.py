"""Telemetry of libraries, switched off at the package's import; variables that the user has set are kept."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

SILENT: Final[Mapping[str, str]] = {
    "DO_NOT_TRACK": "1",  # vLLM, huggingface_hub, and whoever else honours it
    "ORT_DISABLE_TELEMETRY": "1",  # onnxruntime, which also leaves an id of the machine in the user's cache
    "HF_HUB_DISABLE_TELEMETRY": "1",  # huggingface_hub, transformers
    "HF_HUB_DISABLE_UPDATE_CHECK": "1",
    "HF_UPDATE_DOWNLOAD_COUNTS": "0",  # datasets and evaluate: a request for each thing that is loaded
    "VLLM_NO_USAGE_STATS": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "LITELLM_TELEMETRY": "False",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else fetched when it is imported
}
"""Variables of the environment."""


def silence() -> None:
    """Sets unset variables."""
    for name, value in SILENT.items():
        os.environ.setdefault(name, value)


@contextmanager
def silent_ray() -> Iterator[None]:
    """Starts Ray without its dashboard, which queries the clouds' metadata services."""
    from ray._private import services

    before = getattr(services, "start_api_server", None)
    if before is None:
        yield
        return
    services.start_api_server = lambda *_, **__: (None, None)  # what Ray goes on with where it cannot be started
    try:
        yield
    finally:
        services.start_api_server = before
