"""Families of tasks (a base task and its axes) and derived tasks.

A benchmark's module `tasks` exports a `TaskSet` as `TASKS`. A member's name is the base's, then a word for each axis in
order (`livek12_text_only_zh_2605`). An axis lists its words, or gives a pattern for open sets (releases).

Derived tasks, `BASE:DIAGNOSTIC`, ask questions made from those of BASE. To add one, name a `Diagnostic` in the
`diagnostics` of the `TaskSet`:

    def _in_capitals(question: Question) -> list[Question]:
        return [variant_of(question, "shouted", question=question.question.upper())]

    TASKS = TaskSet(families, diagnostics=(Diagnostic("shouted", "in capitals", _in_capitals),))

- `derive` is pure. Order its list so that common prompt beginnings grow (for the engine's prefix cache).
- `variant_of` sets `Question.variant`; intervals treat all questions from one source as one cluster.
- An empty list: the question lacks `needs`; such questions are reported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any

from livek12.core.records import Question, Variant
from livek12.tasks.base import Derive, Task

SIGN = ":"
EVERY = "all"
"""After the colon: every derived task of the base."""


@dataclass(frozen=True, eq=False)
class Diagnostic:
    """Derives questions for every task that `of` accepts.

    Attributes:
        word: after the colon of a name; `Variant.kind`.
        differs: from the base, in a few words.
        derive: the questions made from one, maybe none.
        style: of the prompt files; None: the base's.
        needs: what a question must have, for messages.
        own_key: marks are not comparable with the base's.
        beside: a diagnostic with the same questions, for comparison.
    """

    word: str
    differs: str
    derive: Derive
    style: str | None = None
    trials: int = 1
    needs: str = "what it is made from"
    of: Callable[[Task], bool] = lambda task: True
    own_key: bool = False
    beside: str = ""
    changes: Mapping[str, Any] = field(default_factory=dict)

    def task(self, base: Task) -> Task:
        """The derived task."""
        return replace(
            base,
            **{
                "style": base.style if self.style is None else self.style,
                "trials": self.trials,
                "published": None,
                **self.changes,
                "name": f"{base.name}{SIGN}{self.word}",
                "description": f"{base.description}: {self.differs}",
                "variant_of": f"{base.name}{SIGN}{self.beside}" if self.beside else base.name,
                "differs": self.differs,
                "derive": self.derive,
                "needs": self.needs,
                "own_key": self.own_key and not self.beside,
            },
        )


def variant_of(
    source: Question, kind: str, unit: int | None = None, units: int | None = None, /, **changes: Any
) -> Question:
    """Derives a question from `source`: `unit` (from 1) of `units`."""
    place = "" if unit is None else f"{SIGN}{unit}"
    variant = Variant(of=source.id, kind=kind, unit=unit, units=units)
    return source.model_copy(update={**changes, "id": f"{source.id}{SIGN}{kind}{place}", "variant": variant})


def source_of(question: Question) -> str:
    """Id of the source question, or its own."""
    return question.variant.of if question.variant else question.id


@dataclass(frozen=True)
class Choice:
    """Meaning of a word of a name.

    Attributes:
        what: for the description.
        selects: fields of the `Selection`.
        changes: other fields of the task.
        differs: how the same questions are asked otherwise; "" if the word only selects.
    """

    what: str
    selects: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    changes: Mapping[str, Any] = field(default_factory=dict)
    differs: str = ""


@dataclass(frozen=True)
class Axis:
    """An axis on which the members of a family differ.

    Attributes:
        name: in the family's pattern.
        words: word → meaning.
        pattern: further words, values of the property `name`.
        example: of these words.
    """

    name: str
    words: Mapping[str, Choice] = field(default_factory=dict)
    pattern: str = ""
    example: str = ""

    def takes(self, word: str) -> bool:
        """Checks whether the axis has the word."""
        return bool(re.fullmatch(self.expression, word))

    def choice(self, word: str) -> Choice:
        """Meaning of a word of this axis."""
        return self.words.get(word) or Choice(f"{self.name} {word}", {self.name: (word,)})

    @property
    def expression(self) -> str:
        """A regular expression of the words."""
        return "|".join([*map(re.escape, self.words), *([self.pattern] if self.pattern else [])])


@dataclass(frozen=True, eq=False)
class Family:
    """A base task and the axes of its members.

    Attributes:
        axes: in the order of a name.
        together: the most axes of a listed member.
        published: the article's questions by member.
        size: the article's questions, in words.
    """

    base: Task
    axes: tuple[Axis, ...] = ()
    together: int = 9
    size: str = ""
    published: Mapping[str, int] = field(default_factory=dict)

    @property
    def pattern(self) -> str:
        """Form of the names: `livek12[_MODALITY][_LANGUAGE]`."""
        return self.base.name + "".join(f"[_{axis.name.upper()}]" for axis in self.axes)

    def member(self, name: str) -> Task | None:
        """Member of that name, if any."""
        match = self._expression.fullmatch(name)
        return self._make(match.groups()) if match else None

    def members(self, **words: tuple[str, ...]) -> Iterator[Task]:
        """Listed members, the base first, with further `words` by axis."""
        yield from self._members(words) if words else self._listed

    @cached_property
    def _listed(self) -> tuple[Task, ...]:
        return tuple(self._members({}))

    def _members(self, words: Mapping[str, tuple[str, ...]]) -> Iterator[Task]:
        choices = [(None, *axis.words, *words.get(axis.name, ())) for axis in self.axes]
        for chosen in product(*choices):
            if sum(word is not None for word in chosen) <= self.together:
                yield self._make(chosen)

    def sorted_name(self, name: str) -> str | None:
        """Member with the words of `name` reordered."""
        rest, chosen = name.removeprefix(self.base.name) if name.startswith(self.base.name) else "", []
        for axis in self.axes:
            match = re.search(rf"_({axis.expression})(?=_|$)", rest)
            chosen.append(match[1] if match else None)
            rest = rest[: match.start()] + rest[match.end() :] if match else rest
        return None if rest or not any(chosen) else self._make(chosen).name

    @cached_property
    def _expression(self) -> re.Pattern[str]:
        places = "".join(f"(?:_({axis.expression}))?" for axis in self.axes)
        return re.compile(re.escape(self.base.name) + places)

    def _make(self, words: Any) -> Task:
        chosen = [(word, axis.choice(word)) for axis, word in zip(self.axes, words, strict=True) if word]
        name = "_".join([self.base.name, *(word for word, _ in chosen)])
        selects = {field: values for _, choice in chosen for field, values in choice.selects.items()}
        changes = {field: value for _, choice in chosen for field, value in choice.changes.items()}
        what = ", ".join(choice.what for _, choice in chosen)
        same = "_".join([self.base.name, *(word for word, choice in chosen if not choice.differs)])
        own = {
            "name": name,
            "variant_of": "" if same == name else same,
            "differs": ", ".join(choice.differs for _, choice in chosen if choice.differs),
            "description": f"{self.base.description}: {what}" if what else self.base.description,
            "selection": replace(changes.get("selection", self.base.selection), **selects),
            "published": self.published.get(name, None if chosen else self.base.published),
        }
        return replace(self.base, **changes | own)


@dataclass(frozen=True)
class TaskSet:
    """Families of a benchmark.

    Attributes:
        month: of the article, YYYY-MM.
        whole: tasks without shared questions, for sums; default: the families' bases.
        diagnostics: derived tasks (`TASK:WORD`).
    """

    families: tuple[Family, ...]
    month: str = ""
    whole: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def disjoint(self) -> tuple[str, ...]:
        """Tasks that cover the benchmark; those of one kind share no question."""
        return self.whole or tuple(family.base.name for family in self.families)
