"""What a task is: one small declarative object; everything that runs it reads this and nothing else.

Contract: a task names its data (configs of a data set, by preference, and which of their questions), its modality, its
prompts (one file a language), the sampling of its article, the judge, how partial credit is given and what its article
reports. `version` is for people and harnesses: what is asked and how it is marked is known by hashes (of the prompts
here, of the questions in `core.run.spec`, of the rules in `judges.code_version`). Registered by the modules in
`tasks/*/`, most as members of a family (`tasks.families`); found by `tasks.registry`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, cast

from livek12.core.errors import UserError
from livek12.core.prompts import PromptFile
from livek12.core.records import BenchmarkName, Language, Question, Sampling
from livek12.judges.base import NamedJudge, PartialCredit
from livek12.tasks.prompt_files import prompt_files, prompt_name
from livek12.tasks.selection import Selection

Derive = Callable[[Question], list[Question]]
"""The questions that are made of one; the same each time."""
Modality = Literal["text_only", "text_image", "image_only"]


@dataclass(frozen=True)
class Task:
    """One exam to sit.

    Attributes:
        name: unique name, as given to `--task`.
        benchmark: whose questions it asks; rows of another benchmark are refused.
        configs: data-set configs that hold its questions, best first (merged data sets prefix theirs); `A+B` for two
            together.
        modality: what the model sees: text, text with figures, or whole pages and a question number.
        description: one line for `livek12 tasks`.
        selection: which questions of the config are asked.
        without_pictures: asks questions that have pictures without these (an ablation; text-only).
        style: which prompt files: LANGUAGE[.STYLE].txt.
        first_style: those of a request that is made before, whose reply the prompt of the question holds; "" for none.
        sampling: the article's defaults; temperature None is the model's own default.
        partial_credit: the named rule for multi-select answers (see `judges.rules.choice`).
        judge: how models judge what the rules leave open, and how many, as the article has it.
        metrics: what the paper reports, by the names of report.json, the first before all.
        budgets: the r of Acc≤r: shares of `budget_base`.
        budget_base: completion tokens at r = 1.
        budget: the r under which every answer is drawn (a true budget); None: the sampling's own limit.
        revision: of data on the Hub that are given without one; None takes the newest.
        published: how many questions the article has for this task, where it says so.
        trials: answers to each question where a command names no number.
        variant_of: the task that this one is a variant of: it asks the same questions in another way.
        differs: what differs from that one, in a few words.
        derive: how its questions are made of each of `variant_of`; None where they are not (see `tasks.derived`).
        needs: what a question must have for that, in words.
        own_key: what is derived has another key, so that its marks say nothing beside those of `variant_of`.
        version: shown in listings and in the logs of harnesses; nothing is decided by it.
    """

    name: str
    benchmark: BenchmarkName
    configs: tuple[str, ...]
    modality: Modality
    description: str
    selection: Selection = field(default_factory=Selection)
    without_pictures: bool = False
    style: str = ""
    first_style: str = ""
    sampling: Sampling = field(default_factory=Sampling)
    partial_credit: PartialCredit = "exact"
    judge: NamedJudge = field(default_factory=lambda: NamedJudge("count"))
    metrics: tuple[str, ...] = ("accuracy",)
    budgets: tuple[float, ...] = ()
    budget_base: int = 32_768
    budget: float | None = None
    revision: str | None = None
    published: int | None = None
    trials: int = 1
    variant_of: str = ""
    differs: str = ""
    derive: Derive | None = None
    needs: str = ""
    own_key: bool = False
    version: int = 2

    @property
    def joined(self) -> bool:
        """Whether its questions are those of several configs, each of which is a task of its own."""
        return "+" in "".join(self.configs[:1])

    @property
    def language(self) -> Language | None:
        """The one language that is asked; None asks all."""
        languages = self.selection.language
        return cast(Language, languages[0]) if len(languages) == 1 else None

    @property
    def prompt_files(self) -> dict[str, PromptFile]:
        """The prompt file of each language."""
        return prompt_files(self.benchmark, self.style)

    @property
    def base_name(self) -> str:
        """The task's name without its budget: tasks of one base name ask the same questions with the same prompts."""
        return self.name if self.budget is None else self.name.rpartition("@")[0]

    @property
    def asked_with(self) -> str:
        """Tasks with the same one are asked side by side, question by question: what they say begins alike."""
        return self.name.partition(":")[0] if self.derive else self.base_name

    @cached_property
    def prompts(self) -> dict[str, str]:
        """The prompt template of each language.

        Raises:
            UserError: there is none, or one does not hold the place of what is asked exactly once.
        """
        files = self.prompt_files
        if not files:
            raise UserError(f"task {self.name} has no prompt: write prompts/{prompt_name('LANGUAGE', self.style)}")
        place = "{pages}" if self.modality == "image_only" else "{question}"
        for file in files.values():
            if (count := file.text.count(place)) != 1:
                raise UserError(f"prompt {file.name}: holds {place} {count} times; write it once, where it is to be")
        return {language: file.text for language, file in files.items()}

    @property
    def first_prompt_files(self) -> dict[str, PromptFile]:
        """The prompt file of the request before, in each language; none where there is no such request."""
        return prompt_files(self.benchmark, self.first_style) if self.first_style else {}

    @cached_property
    def first_prompts(self) -> dict[str, str]:
        """Their templates."""
        return {language: file.text for language, file in self.first_prompt_files.items()}

    def prompt(self, language: str, first: bool = False) -> str:
        """The template in the question's language; `first` for that of the request before.

        Raises:
            UserError: the benchmark has no prompt in that language.
        """
        prompts = self.first_prompts if first else self.prompts
        try:
            return prompts[language]
        except KeyError:
            missing = prompt_name(language, self.first_style if first else self.style)
            raise UserError(
                f"task {self.name} has no prompt in {language!r}: write prompts/{missing}; it has: {', '.join(prompts)}"
            ) from None

    @cached_property
    def prompt_sha256(self) -> str:
        """Hash of all templates of the task."""
        prompts = [*self.prompts.items(), *self.first_prompts.items()]
        texts = "\0".join(f"{language}\0{text}" for language, text in prompts)
        return hashlib.sha256(texts.encode()).hexdigest()
