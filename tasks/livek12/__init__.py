"""LiveK12Bench: Chinese high-school papers in zh and en; text, text with figures, or whole pages.

`livek12` asks every question in its standard modality (text, with the figures it has), so that a paper is sat whole;
the others ask one modality.

Sampling: the models' own decoding defaults, 32,768 completion tokens (LiveK12Bench, sections 3.1 and C.3; the
budget is also the base of Acc≤r). Judges: three drawn from the pool for each question (section 3.1),
which also audit the reasoning (section 2.3).
"""

from __future__ import annotations

from livek12.core.records import Language, Sampling
from livek12.judges.base import NamedJudge
from livek12.tasks.base import Modality, Task

_MODALITIES: dict[str, tuple[str, Modality, str]] = {
    "": ("default", "text_image", "whole papers, questions with the figures they have"),
    "_text_only": ("text_only", "text_only", "questions without figures"),
    "_text_image": ("text_image", "text_image", "questions with figures"),
    "_image_only": ("image_only", "image_only", "every question, from its page images and its number"),
}
_LANGUAGES: dict[Language | None, str] = {None: "all languages", "zh": "Chinese", "en": "English"}

TASKS = [
    Task(
        name=f"livek12{suffix}" + (f"_{language}" if language else ""),
        benchmark="livek12",
        configs=(config,),
        modality=modality,
        description=f"LiveK12Bench, {what} ({tongue})",
        language=language,
        sampling=Sampling(max_tokens=32_768),
        partial_credit="proportional",
        judge=NamedJudge("count", size=3, audit=True),
    )
    for suffix, (config, modality, what) in _MODALITIES.items()
    for language, tongue in _LANGUAGES.items()
]
