"""KMMMU: Korean expert exams.

Sampling: the models' decoding defaults (section 4.2). Judge: one, with P2, which agreed best with people (appendix G).

The image ablation (section 7.1) excludes questions without pictures, which would shrink the measured gap.
"""

from __future__ import annotations

from livek12.core.records import Sampling
from livek12.judges.base import NamedJudge
from livek12.tasks.base import Task
from livek12.tasks.families import Axis, Choice, Family, TaskSet
from livek12.tasks.kmmmu.completion import DIAGNOSTICS

_FAMILY = Family(
    Task(
        name="kmmmu",
        benchmark="kmmmu",
        configs=("kmmmu_default", "default"),
        modality="text_image",
        description="KMMMU, Korean expert exams",
        sampling=Sampling(max_tokens=16_384),
        judge=NamedJudge("p2"),
    ),
    (
        Axis(
            "part",
            {
                "hard": Choice("the hard subset", changes={"configs": ("kmmmu_hard", "hard")}),
                "korean_specific": Choice(
                    "questions about Korea", changes={"configs": ("kmmmu_korean_specific", "korean_specific")}
                ),
            },
        ),
        Axis(
            "ablation",
            {
                "text_only": Choice(
                    "questions with pictures, asked without them",
                    {"content": ("images",)},
                    {"modality": "text_only", "without_pictures": True},
                    differs="without pictures",
                )
            },
        ),
    ),
    size="3,466 questions, all with pictures",
    published={  # table 10, and section 4.1 for the hard subset (627 in a later version of the paper)
        **dict.fromkeys(("kmmmu", "kmmmu_text_only"), 3_466),
        **dict.fromkeys(("kmmmu_hard", "kmmmu_hard_text_only"), 1_053),
        **dict.fromkeys(("kmmmu_korean_specific", "kmmmu_korean_specific_text_only"), 299),
    },
)

TASKS = TaskSet((_FAMILY,), month="2026-04", diagnostics=DIAGNOSTICS)
