"""MDK12-Bench: six K-12 subjects. Answers are capped at 2,048 tokens; partial credit is m of n (MDK12-Bench).

Judge: one model gives m of n.
"""

from __future__ import annotations

from livek12.core.records import Sampling
from livek12.judges.base import NamedJudge
from livek12.tasks.base import Task

TASKS = [
    Task(
        name="mdk12",
        benchmark="mdk12",
        configs=("mdk12_full", "full"),
        modality="text_image",
        description="MDK12-Bench, six K-12 subjects",
        sampling=Sampling(max_tokens=2_048),
        partial_credit="proportional",
        judge=NamedJudge("marks"),
    )
]
