"""MDK12-Bench: six K-12 subjects. Answers are capped at 2,048 tokens; partial credit is m of n (MDK12-Bench).

Judge: one model gives m of n.

`kprag` (KP-RAG) and `kpref` ask only questions that name their knowledge points, in one request and in two.
"""

from __future__ import annotations

from livek12.core.records import Sampling
from livek12.judges.base import NamedJudge
from livek12.tasks.base import Task
from livek12.tasks.families import Axis, Choice, Family, TaskSet

_SUBJECTS = ("math", "physics", "chemistry", "biology", "geography", "information_science")
_DIFFICULTIES = ("easy", "medium", "hard")
_FORMS = {
    "single_choice": ("single_choice",),
    "multiple_choice": ("multiple_choice",),
    "fill_in_blank": ("fill_in_blank",),
    "true_false": ("true_false",),
    "open_ended": ("short_answer", "open_ended", "proof"),
}
"""The article's five forms; its open-ended ones (calculations among them) are told apart further here."""

_FAMILY = Family(
    Task(
        name="mdk12",
        benchmark="mdk12",
        configs=("mdk12_full", "full"),
        modality="text_image",
        description="MDK12-Bench, six K-12 subjects",
        sampling=Sampling(max_tokens=2_048),
        partial_credit="proportional",
        judge=NamedJudge("marks"),
        metrics=("mark", "accuracy"),
    ),
    (
        Axis(
            "variant",
            {
                "mini": Choice("a tenth of it", changes={"configs": ("mdk12_mini", "mini")}),
                "dynamic": Choice(
                    "transformed questions", changes={"configs": ("mdk12_dynamic", "dynamic")}, differs="transformed"
                ),
                "kprag": Choice(
                    "knowledge points explained first",
                    {"content": ("knowledge_points",)},
                    {"style": "kprag"},
                    differs="knowledge points given",
                ),
                "kpref": Choice(
                    "knowledge points explained in a request of their own",
                    {"content": ("knowledge_points",)},
                    {"style": "kpref", "first_style": "kpref_first"},
                    differs="knowledge points expanded first",
                ),
            },
        ),
        Axis("subject", {subject: Choice(subject, {"subject": (subject,)}) for subject in _SUBJECTS}),
        Axis("difficulty", {level: Choice(level, {"difficulty": (level,)}) for level in _DIFFICULTIES}),
        Axis("form", {form: Choice(form, {"question_type": types}) for form, types in _FORMS.items()}),
    ),
    together=2,
    size="141,320 questions, about 10,000 of them public",
    published={  # table 2
        "mdk12": 141_320,
        "mdk12_mini": 14_856,
        **{f"mdk12_mini_{level}": 4_952 for level in _DIFFICULTIES},
    },
)

TASKS = TaskSet((_FAMILY,), month="2025")
