"""Families of tasks (a base task and the axes on which its members differ) and tasks derived from others.

A benchmark is a `TaskSet` of families: the module `tasks` of a benchmark exports one as `TASKS`. A member's name is the
base's, then one word for each axis on which it differs, in the order of the axes (`livek12_text_only_zh_2605`).
`Family.member(name)` and `member.name` are inverse to each other. An axis lists its words, or gives a pattern for words
that nobody can list (releases, of which new ones come).

Derived tasks, `BASE:DIAGNOSTIC`, ask questions that are made from those of BASE, to find out why it went wrong. To add
one, write a `Diagnostic` and name it in the `diagnostics` of the benchmark's `TaskSet`; nothing else is needed.

    def _in_capitals(question: Question) -> list[Question]:
        return [variant_of(question, "shouted", question=question.question.upper())]

    TASKS = TaskSet(families, diagnostics=(Diagnostic("shouted", "in capitals", _in_capitals),))

- `derive` is a pure function of one question. Its list is in the order in which it is best asked: what several prompts
  have in common comes first in them, and grows from one to the next (the engine's prefix cache computes it once). All
  questions derived from one are asked together.
- `variant_of` makes a derived question: its id names the source, the kind and the unit, and `Question.variant` tells
  reports the same. Intervals take all that comes from one question as one cluster.
- An empty list: the question lacks what the diagnostic needs (`needs`); such questions are counted aloud.
- `style` names the prompt files, `LANGUAGE.STYLE.txt`; `changes` sets any other field of the task (judge, sampling).

`d.task(base).name` and the look-up of that name are inverse to each other.
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
"""After the sign: every derived task of the base."""


@dataclass(frozen=True, eq=False)
class Diagnostic:
    """A way to derive questions, for every task that `of` takes.

    Attributes:
        word: after the colon of a name; `Variant.kind` of what it derives.
        differs: what differs from the base, in a few words.
        derive: the questions made from one; none where it lacks what is needed.
        style: which prompt files; None: those of the base.
        trials: answers to each question where a command names no number.
        needs: what a question must have, for the message on those that lack it.
        of: whether a task has this diagnostic.
        own_key: what it asks has another key than the base, so that the two are not compared.
        beside: the word of another diagnostic that asks the very same questions in another way, to compare it with.
        changes: further fields of the task.
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
    """A question that is derived from another.

    Args:
        source: the other one.
        kind: the diagnostic's word.
        unit: which of its units the question is about, from 1.
        units: how many the source has.
        changes: the fields that differ from the source's.
    """
    place = "" if unit is None else f"{SIGN}{unit}"
    variant = Variant(of=source.id, kind=kind, unit=unit, units=units)
    return source.model_copy(update={**changes, "id": f"{source.id}{SIGN}{kind}{place}", "variant": variant})


def source_of(question: Question) -> str:
    """The id of the question that this one was made from; its own where it was not."""
    return question.variant.of if question.variant else question.id


@dataclass(frozen=True)
class Choice:
    """The meaning of a word of a name.

    Attributes:
        what: a few words for the description.
        selects: fields of the `Selection` that it sets.
        changes: other fields of the task that it sets.
        differs: what differs in how the same questions are asked, in a few words; "" where a word only chooses among
            questions. A member with such words is a variant of the one without them.
    """

    what: str
    selects: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    changes: Mapping[str, Any] = field(default_factory=dict)
    differs: str = ""


@dataclass(frozen=True)
class Axis:
    """One way in which the members of a family differ.

    Attributes:
        name: in capitals in the family's pattern.
        words: word → what it stands for.
        pattern: other words that may stand here; they select by the property of the axis's name.
        example: what these words are, for lists.
    """

    name: str
    words: Mapping[str, Choice] = field(default_factory=dict)
    pattern: str = ""
    example: str = ""

    def takes(self, word: str) -> bool:
        """Checks whether the word may stand here."""
        return bool(re.fullmatch(self.expression, word))

    def choice(self, word: str) -> Choice:
        """The meaning of a word of this axis."""
        return self.words.get(word) or Choice(f"{self.name} {word}", {self.name: (word,)})

    @property
    def expression(self) -> str:
        """A regular expression of the words."""
        return "|".join([*map(re.escape, self.words), *([self.pattern] if self.pattern else [])])


@dataclass(frozen=True, eq=False)
class Family:
    """A base task and what its members may differ in.

    Attributes:
        base: the member that differs in nothing.
        axes: in the order of their words in a name.
        together: members are listed that differ on at most so many axes; names may differ on all.
        published: questions of a member in its article, by name.
        size: how many questions the article has, in words.
    """

    base: Task
    axes: tuple[Axis, ...] = ()
    together: int = 9
    size: str = ""
    published: Mapping[str, int] = field(default_factory=dict)

    @property
    def pattern(self) -> str:
        """The form of the names: `livek12[_MODALITY][_LANGUAGE]`."""
        return self.base.name + "".join(f"[_{axis.name.upper()}]" for axis in self.axes)

    def member(self, name: str) -> Task | None:
        """The member of that name, if it is one."""
        match = self._expression.fullmatch(name)
        return self._make(match.groups()) if match else None

    def members(self, **words: tuple[str, ...]) -> Iterator[Task]:
        """The members that are listed, the base first.

        Args:
            words: by axis, further words: those that its pattern takes and a data set has.
        """
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
        """The name of the member with the words of `name`, whose order is not that of the axes."""
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
    """The families of a benchmark; `prompts/` beside the module that exports it holds the prompts.

    Attributes:
        families: its tasks.
        month: when its article appeared, YYYY-MM as far as it is known; newer benchmarks are listed first.
        whole: the tasks, no two of which share a question, that harnesses sum up; default: the families' bases.
        diagnostics: what is derived from its tasks (`TASK:WORD`).
    """

    families: tuple[Family, ...]
    month: str = ""
    whole: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def disjoint(self) -> tuple[str, ...]:
        """Names of tasks that cover the benchmark, those with the same kind of request without sharing a question."""
        return self.whole or tuple(family.base.name for family in self.families)
