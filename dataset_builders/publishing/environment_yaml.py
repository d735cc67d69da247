"""`environment.yaml`, by which the Hub knows a data set for an environment of reinforcement learning.

Contract: the draft `hf-env-0.1` of the Hub's documentation: one environment a flat config, for `verifiers`. Only what
is public is named; the split is `test`, for these questions are not for training.
"""

from __future__ import annotations

from collections.abc import Sequence

from livek12.core.features import SPLIT
from livek12.dataset_builders.writing.flat_tables import FlatConfig

VERSION = "hf-env-0.1"
_VERIFIERS = {"min_version": ">=0.4", "adapter": "livek12_exam.ExamTaskset"}
"""The environment package `livek12-exam`, whose reward is our judge."""


def render_environment_yaml(flat: Sequence[FlatConfig]) -> str:
    """The file for the flat configs of a data set."""
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
