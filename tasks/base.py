"""Task definitions, their prompt files and selections of questions.

Modules in `tasks/*/` register tasks. A prompt is a file `prompts/LANGUAGE[.STYLE].txt` with a head (`core.prompts`) and
placeholders (`{question}`, `{pages}`, `{number}`, `{knowledge_points}`).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import Literal

from livek12.core import benchmarks
from livek12.core.errors import UserError
from livek12.core.languages import languages
from livek12.core.prompts import FOLDER, PromptFile, parse_prompt
from livek12.core.questions import Facts
from livek12.core.records import BenchmarkName, Language, Question, Sampling
from livek12.judges.base import NamedJudge, PartialCredit

_SHOWN = 20
_CONTENTS = {"images": "pictures", "knowledge_points": "knowledge points"}


@dataclass(frozen=True)
class Selection:
    """Values taken of each property; empty takes all.

    Attributes:
        release: "2603", …
        subset: complex_layout, hard, …
        subject: math, physics, …
        difficulty: easy, medium, hard.
        question_type: canonical types.
        content: `images`, `knowledge_points`.
    """

    language: tuple[str, ...] = ()
    release: tuple[str, ...] = ()
    subset: tuple[str, ...] = ()
    subject: tuple[str, ...] = ()
    difficulty: tuple[str, ...] = ()
    question_type: tuple[str, ...] = ()
    content: tuple[str, ...] = ()

    @property
    def named(self) -> dict[str, tuple[str, ...]]:
        """Restricted properties with their values."""
        return {field.name: value for field in fields(self) if (value := getattr(self, field.name))}

    def takes(self, question: Question | Facts) -> bool:
        """Checks whether the selection takes the question."""
        return all(_has(question, name, values) for name, values in self.named.items())

    def absent(self, counts: Mapping[Facts, int]) -> str:
        """The first property that leaves nothing."""
        left = dict(counts)
        for name, values in self.named.items():
            kept = {facts: n for facts, n in left.items() if _has(facts, name, values)}
            if not kept:
                there: Counter[str] = Counter()
                for facts, n in left.items():
                    there.update(dict.fromkeys(_values(facts, name), n))
                shown = [f"{value} ({n})" for value, n in sorted(there.items())]
                more = [f"{len(shown) - _SHOWN} more"] if len(shown) > _SHOWN else []
                listed = ", ".join([*shown[:_SHOWN], *more]) or "none at all"
                what = name.replace("_", " ")
                return f"none has {what} {' or '.join(map(_said, values))}; {what} there: {listed}"
            left = kept
        return "" if left else "it is empty"


def _has(question: Question | Facts, name: str, values: tuple[str, ...]) -> bool:
    return any(value in values for value in _values(question, name))


def _values(question: Question | Facts, name: str) -> Iterator[str]:
    if name == "subset":
        yield from question.subsets
    elif name == "content":
        yield from (content for content in _CONTENTS if getattr(question, content))
    elif (value := getattr(question, name)) is not None:
        yield value


def _said(value: str) -> str:
    return _CONTENTS.get(value, value)


def task_modules() -> dict[str, ModuleType]:
    """Task module of each benchmark, ours first.

    Raises:
        UserError: duplicate names, or a failing import.
    """
    return benchmarks.sides("tasks", "livek12.tasks", marker=FOLDER)


def prompt_files(benchmark: str, style: str = "") -> dict[str, PromptFile]:
    """Prompt files of a benchmark in one style, by language."""
    folder = Path(task_modules()[benchmark].__file__ or "").parent / FOLDER
    if not folder.is_dir():
        raise UserError(f"benchmark {benchmark}: {folder} is not there; put its prompts into it, LANGUAGE.txt")
    others = [row.prompts / benchmark for row in languages() if row.prompts and (row.prompts / benchmark).is_dir()]
    return {language: file for place in (folder, *others) for language, file in _read(benchmark, style, place).items()}


def prompt_name(language: str, style: str) -> str:
    """Name of a prompt's file."""
    return f"{language}.{style}.txt" if style else f"{language}.txt"


@cache
def _read(benchmark: str, style: str, folder: Path) -> dict[str, PromptFile]:
    suffix = prompt_name("", style)
    files = {}
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        language = file.name.removesuffix(suffix)
        if file.name.endswith(suffix) and "." not in language:
            files[language] = parse_prompt(f"{benchmark}/{file.name}", file.read_text(encoding="utf-8"))
    return files


Derive = Callable[[Question], list[Question]]
"""Derives questions from one; deterministic."""
Modality = Literal["text_only", "text_image", "image_only"]
Sitting = Literal["", "section", "paper"]
"""Asked in one request: a question, a section, or a paper."""


@dataclass(frozen=True)
class Task:
    """An exam.

    Attributes:
        benchmark: rows of another benchmark are refused.
        configs: dataset configs, best first (merged datasets prefix theirs); `A+B` for both.
        without_pictures: the text-only ablation.
        first_style: style of a preliminary request, whose reply goes into the question's prompt.
        sampling: the article's; temperature None is the model's default.
        partial_credit: for multi-select answers (see `judges.rules.choice`).
        metrics: the paper's, by the names of report.json, the main one first.
        budgets: the r of Acc≤r: shares of `budget_base`.
        budget_base: completion tokens at r = 1.
        budget: the r that limits every request; None: the sampling's limit.
        revision: default on the Hub; None takes the newest.
        published: the article's number of questions.
        variant_of: the task that asks the same questions otherwise.
        differs: from that one, in a few words.
        derive: derives questions from `variant_of` (see `tasks.families`).
        own_key: marks are not comparable with `variant_of`.
        version: for listings and logs only.
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
    sitting: Sitting = ""
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
        """Checks whether it joins configs of several tasks."""
        return "+" in "".join(self.configs[:1])

    @property
    def language(self) -> Language | None:
        """The only language; None for all."""
        named = self.selection.language
        return named[0] if len(named) == 1 else None

    @property
    def prompt_files(self) -> dict[str, PromptFile]:
        """Prompt file of each language."""
        return prompt_files(self.benchmark, self.style)

    @property
    def base_name(self) -> str:
        """Name without its budget."""
        return self.name if self.budget is None else self.name.rpartition("@")[0]

    @property
    def asked_with(self) -> str:
        """Groups tasks whose prompts begin alike."""
        return self.name.partition(":")[0] if self.derive else self.base_name

    @cached_property
    def prompts(self) -> dict[str, str]:
        """Prompt template of each language.

        Raises:
            UserError: none, or a placeholder does not occur exactly once.
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
        """The preliminary request's prompt file in each language."""
        return prompt_files(self.benchmark, self.first_style) if self.first_style else {}

    @cached_property
    def first_prompts(self) -> dict[str, str]:
        """Templates of the preliminary request."""
        return {language: file.text for language, file in self.first_prompt_files.items()}

    def prompt(self, language: str, first: bool = False) -> str:
        """Template in a language; `first` for the preliminary request."""
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
