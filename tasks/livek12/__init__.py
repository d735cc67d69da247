"""LiveK12Bench: Chinese high-school papers in zh and en; text, text with figures, or whole pages.

`livek12` asks every question with the figures it has, so that a paper is sat whole.

Sampling: the models' own decoding defaults, 32,768 completion tokens (LiveK12Bench, appendix C.3; the
budget is also the base of Acc≤r). Judges: three drawn from the pool for each question (section 3.1),
which also audit the reasoning (section 2.3).
"""

from __future__ import annotations

from typing import get_args

from livek12.core.records import Sampling
from livek12.judges.base import NamedJudge
from livek12.tasks.base import Modality, Task
from livek12.tasks.families import Axis, Choice, Family, TaskSet

_BUDGET = 32_768
_SUBSETS = ("complex_layout", "rigorous_process", "long_horizon")
_BUDGETS = tuple(tenth / 10 for tenth in range(1, 11))

_FAMILY = Family(
    Task(
        name="livek12",
        benchmark="livek12",
        configs=("default",),
        modality="text_image",
        description="LiveK12Bench, high-school papers",
        sampling=Sampling(max_tokens=_BUDGET),
        partial_credit="proportional",
        judge=NamedJudge("count", size=3, audit=True),
        metrics=("accuracy", "ARL", "PES", "OES", "OCS", *(f"Acc≤{budget:.1f}" for budget in _BUDGETS)),
        budgets=_BUDGETS,
        budget_base=_BUDGET,
    ),
    (
        Axis(
            "modality",
            {
                "text_only": Choice(
                    "questions without figures", changes={"configs": ("text_only",), "modality": "text_only"}
                ),
                "text_image": Choice("questions with figures", changes={"configs": ("text_image",)}),
                "image_only": Choice(
                    "every question from its page images and its number",
                    changes={"configs": ("image_only",), "modality": "image_only", "style": "image_only"},
                    differs="page images alone",
                ),
            },
        ),
        Axis(
            "language",
            {"zh": Choice("Chinese", {"language": ("zh",)}), "en": Choice("English", {"language": ("en",)})},
        ),
        Axis("subset", {subset: Choice(f"subset {subset}", {"subset": (subset,)}) for subset in _SUBSETS}),
        Axis("release", pattern=r"\d{4}", example="those of the data, four digits each: 2603, 2605, …"),
    ),
    size="2,114 questions a language, 1,096 of them without figures; 200 a subset",
    # Section 2.1: as many questions in either language; table 1; 50 questions of each of four subjects a subset.
    published={
        name.replace("*", language): questions
        for language in ("zh", "en")
        for name, questions in {
            "livek12_*": 2_114,
            "livek12_text_only_*": 1_096,
            "livek12_text_image_*": 1_018,
            "livek12_image_only_*": 2_114,
            **{f"livek12_*_{subset}": 200 for subset in _SUBSETS},
            **{f"livek12_image_only_*_{subset}": 200 for subset in _SUBSETS},
        }.items()
    }
    | {"livek12_en_2603": 1_487, "livek12_en_2605": 627},
)

TASKS = TaskSet(
    (_FAMILY,),
    month="2026-05",
    whole=tuple(f"livek12_{modality}_{language}" for modality in get_args(Modality) for language in ("zh", "en")),
)
