"""Tasks: small declarative objects that everything else reads; their prompt files; their selections of questions.

A task names its data (configs of a data set, by preference, and which of their questions), its modality, its prompts
(one file a language), the sampling of its article, the judge, partial credit and the metrics of its article. `version`
is for people and harnesses: runs are identified by hashes (of the prompts here, of the questions in `core.run_spec`, of
the rules in `judges.code_version`). Registered by the modules in `tasks/*/`, most as members of a family
(`tasks.families`); looked up by `tasks.registry`.

A prompt is a file `prompts/LANGUAGE[.STYLE].txt` of a benchmark's folder, with the head that every prompt has
(`core.prompts`) and its places in braces (`{question}`, `{pages}`, `{number}`, `{knowledge_points}`).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import Literal, cast

from livek12.core import benchmarks
from livek12.core.errors import UserError
from livek12.core.prompts import FOLDER, PromptFile, parse_prompt
from livek12.core.questions import Facts
from livek12.core.records import BenchmarkName, Language, Question, Sampling
from livek12.judges.base import NamedJudge, PartialCredit

_SHOWN = 20
_CONTENTS = {"images": "pictures", "knowledge_points": "knowledge points"}


@dataclass(frozen=True)
class Selection:
    """The values taken of each property; none named takes all.

    Attributes:
        language: zh, en, ko.
        release: "2603", …
        subset: complex_layout, hard, …
        subject: the discipline: math, physics, …
        difficulty: easy, medium, hard.
        question_type: canonical types (the form).
        content: what the question must have of `images` and `knowledge_points`.
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
        """The properties that are not left to all, with the values taken."""
        return {field.name: value for field in fields(self) if (value := getattr(self, field.name))}

    def takes(self, question: Question | Facts) -> bool:
        """Checks whether the question is one of these."""
        return all(_has(question, name, values) for name, values in self.named.items())

    def absent(self, counts: Mapping[Facts, int]) -> str:
        """Why nothing of `found` (facts and how often they occur) is taken: the first property that leaves nothing."""
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
    """The values of a question's property; none where it states none."""
    if name == "subset":
        yield from question.subsets
    elif name == "content":
        yield from (content for content in _CONTENTS if getattr(question, content))
    elif (value := getattr(question, name)) is not None:
        yield value


def _said(value: str) -> str:
    return _CONTENTS.get(value, value)


def task_modules() -> dict[str, ModuleType]:
    """The module of each benchmark that says what it asks, by name: those inside first.

    Raises:
        UserError: two benchmarks have one name, or one outside cannot be imported.
    """
    return benchmarks.sides("tasks", "livek12.tasks", marker=FOLDER)


def prompt_files(benchmark: str, style: str = "") -> dict[str, PromptFile]:
    """The prompt files of a benchmark in one style, by language.

    Raises:
        UserError: there are none, or a file has no head.
    """
    folder = Path(task_modules()[benchmark].__file__ or "").parent / FOLDER
    if not folder.is_dir():
        raise UserError(f"benchmark {benchmark}: {folder} is not there; put its prompts into it, LANGUAGE.txt")
    return _read(benchmark, style, folder)


def prompt_name(language: str, style: str) -> str:
    """The name of a prompt's file."""
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
        derive: how its questions are made of each of `variant_of`; None where they are not (see `tasks.families`).
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
        """Checks whether its questions are those of several configs, each of which is a task of its own."""
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
