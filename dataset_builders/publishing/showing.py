"""Whether the rights of a question let it be shown to others, as on a site.

Contract: what `publish` would not send out for its licence is not shown either, unless a rights file permits it.
Whether anybody reviewed a question does not matter here.
"""

from __future__ import annotations

from collections.abc import Sequence

from livek12.core.records import Question
from livek12.core.rights import licence_refusal
from livek12.dataset_builders.publishing.rights import Permission, covering


def refusal(question: Question, permissions: Sequence[Permission] = ()) -> str:
    """Why a question may not be shown; "" where it may."""
    row = {**question.model_dump(include={"id", "paper_id", "release", "benchmark", "source"})}
    if covering(permissions, row) is not None:
        return ""
    return licence_refusal(question.source.licence)
