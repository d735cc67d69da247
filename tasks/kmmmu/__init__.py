"""KMMMU: Korean expert exams.

Sampling: the models' own decoding defaults (KMMMU, section 5.1). Judge: one, with P2, the prompt that agreed best with
people (appendix G).
"""

from __future__ import annotations

from livek12.core.records import Sampling
from livek12.judges.base import NamedJudge
from livek12.tasks.base import Task

TASKS = [
    Task(
        name="kmmmu",
        benchmark="kmmmu",
        configs=("kmmmu_default", "default"),
        modality="text_image",
        description="KMMMU, Korean expert exams",
        sampling=Sampling(max_tokens=16_384),
        judge=NamedJudge("p2"),
    )
]
