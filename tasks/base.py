"""What a task is: one small declarative object; everything that runs it reads this and nothing else.

Contract: a task names its data (configs of a data set, by preference), its modality, its prompts (one file a
language), the sampling of its paper and how partial credit is given. `version` goes up whenever an equal model
could get other marks. Registered by the modules in `tasks/*/`; found by `tasks.registry`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from typing import Literal

from livek12.core.errors import UserError
from livek12.core.records import Benchmark, Language, Sampling
from livek12.judges.base import NamedJudge, PartialCredit

Modality = Literal["text_only", "text_image", "image_only"]


@dataclass(frozen=True)
class Task:
    """One exam to sit.

    Attributes:
        name: unique name, as given to `--task`.
        benchmark: whose questions it asks; rows of another benchmark are refused.
        configs: data-set configs that hold its questions, best first (merged data sets prefix theirs).
        modality: what the model sees: text, text with figures, or whole pages and a question number.
        description: one line for `livek12 tasks`.
        language: asks only questions in this language; None asks all.
        sampling: the paper's defaults; temperature None is the model's own default.
        partial_credit: the named rule for multi-select answers (see `judges.choice`).
        judge: how models judge what the rules leave open, and how many, as the paper has it.
        version: of prompts, extraction and marking together.
    """

    name: str
    benchmark: Benchmark
    configs: tuple[str, ...]
    modality: Modality
    description: str
    language: Language | None = None
    sampling: Sampling = field(default_factory=Sampling)
    partial_credit: PartialCredit = "exact"
    judge: NamedJudge = field(default_factory=lambda: NamedJudge("count"))
    version: int = 1

    @cached_property
    def prompts(self) -> dict[str, str]:
        """The prompt template of each language."""
        folder = resources.files("livek12.tasks").joinpath(self.benchmark, "prompts")
        suffix = ".image_only.txt" if self.modality == "image_only" else ".txt"
        return {
            file.name[: -len(suffix)]: file.read_text(encoding="utf-8")
            for file in sorted(folder.iterdir(), key=lambda file: file.name)
            if file.name.endswith(suffix) and "." not in file.name[: -len(suffix)]
        }

    def prompt(self, language: str) -> str:
        """The template in the question's language.

        Raises:
            UserError: the benchmark has no prompt in that language.
        """
        try:
            return self.prompts[language]
        except KeyError:
            raise UserError(
                f"task {self.name} has no prompt in {language!r}; it has: {', '.join(self.prompts)}"
            ) from None

    @cached_property
    def prompt_sha256(self) -> str:
        """Hash of all templates of the task."""
        texts = "\0".join(f"{language}\0{text}" for language, text in self.prompts.items())
        return hashlib.sha256(texts.encode()).hexdigest()
