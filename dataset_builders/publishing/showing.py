"""Permission to show a question to others, as on a site.

Contract: licences are judged as in `publish`, reviews are ignored.
"""

from __future__ import annotations

from collections.abc import Sequence

from livek12.core.records import Question
from livek12.core.rights import licence_refusal
from livek12.dataset_builders.publishing.rights import Permission, covering


def refusal(question: Question, permissions: Sequence[Permission] = ()) -> str:
    """The reason why a question may not be shown; "" if it may."""
    row = {**question.model_dump(include={"id", "paper_id", "release", "benchmark", "source"})}
    if covering(permissions, row) is not None:
        return ""
    return licence_refusal(question.source.licence)
