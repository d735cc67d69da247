"""LiveK12Bench: Chinese high-school papers in zh and en; text, text with figures, or whole pages.

Sampling: the models' own decoding defaults, 32,768 completion tokens (LiveK12Bench, sections 3.1 and C.3; the
budget is also the base of Acc≤r).
"""

from __future__ import annotations

from livek12.core.records import Language, Sampling
from livek12.tasks.base import Modality, Task

_MODALITIES: dict[Modality, str] = {
    "text_only": "questions without figures",
    "text_image": "questions with figures",
    "image_only": "every question, from its page images and its number",
}
_LANGUAGES: dict[Language | None, str] = {None: "all languages", "zh": "Chinese", "en": "English"}

TASKS = [
    Task(
        name=f"livek12_{modality}" + (f"_{language}" if language else ""),
        benchmark="livek12",
        configs=(modality,),
        modality=modality,
        description=f"LiveK12Bench, {what} ({tongue})",
        language=language,
        sampling=Sampling(max_tokens=32_768),
        partial_credit="proportional",
    )
    for modality, what in _MODALITIES.items()
    for language, tongue in _LANGUAGES.items()
]
