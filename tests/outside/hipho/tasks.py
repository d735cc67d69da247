"""What HiPhO asks: physics olympiads in English and Chinese, with the figures they have."""

from __future__ import annotations

from livek12.core.records import Sampling
from livek12.judges.base import NamedJudge
from livek12.tasks.base import Task
from livek12.tasks.families import Axis, Choice, Family, TaskSet

FAMILY = Family(
    Task(
        name="hipho",
        benchmark="hipho",
        configs=("hipho_default", "default"),
        modality="text_image",
        description="HiPhO, physics olympiads",
        sampling=Sampling(max_tokens=16_384),
        judge=NamedJudge("count"),
        metrics=("mark", "accuracy"),
    ),
    (
        Axis(
            "part",
            {
                "text_only": Choice(
                    "problems without figures",
                    changes={"configs": ("hipho_text_only", "text_only"), "modality": "text_only"},
                ),
                "hard": Choice("the hard subset", changes={"configs": ("hipho_hard", "hard")}),
            },
        ),
        Axis(
            "language", {"zh": Choice("Chinese", {"language": ("zh",)}), "en": Choice("English", {"language": ("en",)})}
        ),
    ),
    size="403 problems",
    published={"hipho": 403},
)
TASKS = TaskSet((FAMILY,), month="2025-09")
