"""CFE-Bench: university STEM with typed answer variables.

Sampling: chain of thought, thinking capped at 16,000 tokens (section 4), and 2,048 for the answer, which the article
does not limit. Without a thinking budget both share the 18,048 tokens, and the run reports it. Judge: one model
extracts a value for each variable and verifies what the rules leave open (S2S, section 3.3).
"""

from __future__ import annotations

from livek12.core.records import Sampling
from livek12.judges.base import NamedJudge
from livek12.tasks.base import Modality, Task
from livek12.tasks.cfe.diagnostics import DIAGNOSTICS
from livek12.tasks.families import Family, TaskSet

_PARTS: dict[str, tuple[Modality, int]] = {"text": ("text_only", 305), "multimodal": ("text_image", 144)}


def _family(name: str, configs: tuple[str, ...], modality: Modality, part: str, questions: int) -> Family:
    task = Task(
        name=name,
        benchmark="cfe",
        configs=configs,
        modality=modality,
        description=f"CFE-Bench, university STEM ({part})",
        sampling=Sampling(max_tokens=16_000 + 2_048, thinking_budget=16_000, thinking_optional=True),
        judge=NamedJudge("s2s"),
        metrics=("question_accuracy", "variable_accuracy"),
        published=questions,
    )
    return Family(task, size=f"{questions} questions")


_EACH = tuple(
    _family(f"cfe_{config}", (f"cfe_{config}", config), modality, config, questions)
    for config, (modality, questions) in _PARTS.items()
)
_BOTH = _family(
    "cfe",
    ("+".join(f"cfe_{config}" for config in _PARTS), "+".join(_PARTS)),
    "text_image",
    "text and multimodal",
    sum(questions for _, questions in _PARTS.values()),
)

TASKS = TaskSet(
    (*_EACH, _BOTH),
    month="2026-02",
    whole=tuple(family.base.name for family in _EACH),
    diagnostics=DIAGNOSTICS,
)
