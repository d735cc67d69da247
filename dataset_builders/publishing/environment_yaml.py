"""`environment.yaml`, which registers a dataset on the Hub as a reinforcement learning environment.

Contract: draft `hf-env-0.1` of the Hub's documentation: one environment per flat config, for `verifiers`. The split is
`test`, since these questions are not for training.
"""

from __future__ import annotations

from collections.abc import Sequence

from livek12.core.features import SPLIT
from livek12.dataset_builders.writing.parquet import FlatConfig

VERSION = "hf-env-0.1"
_VERIFIERS = {"min_version": ">=0.4", "adapter": "livek12_exam.ExamTaskset"}
"""The environment package `livek12-exam`, whose reward is our judge."""


def render_environment_yaml(flat: Sequence[FlatConfig]) -> str:
    """Renders the file for the flat configs of a dataset."""
    import yaml

    environments = [
        {
            "id": config.task.replace("_", "-"),
            "title": config.description,
            "config_name": config.name,
            "splits": [SPLIT],
            "frameworks": {"verifiers": dict(_VERIFIERS)},
        }
        for config in flat
    ]
    described = {"spec_version": VERSION, "environments": environments}
    return yaml.safe_dump(described, sort_keys=False, allow_unicode=True, width=110)
