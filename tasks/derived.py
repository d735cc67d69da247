"""Derived tasks: `BASE:DIAGNOSTIC` asks questions that are made from those of BASE, to find out why it went wrong.

How to add one. Write a `Diagnostic` and name it in the `diagnostics` of the benchmark's `TaskSet`; nothing else is
needed. Asking, claims, resume, sweeps, budgets, judging and storing are those of any task, and `data_sha256` of a run
covers the very questions that were derived.

    def _in_capitals(question: Question) -> list[Question]:
        return [variant_of(question, "shouted", question=question.question.upper())]

    TASKS = TaskSet(families, diagnostics=(Diagnostic("shouted", "in capitals", _in_capitals),))

- `derive` is a pure function of one question: the same question gives the same list, in the order in which it is best
  asked: what several prompts have in common comes first in them, and grows from one to the next (the engine's prefix
  cache then computes it once). Derived tasks of one base are asked question by question, all that comes from one
  question together.
- `variant_of` makes a derived question: its id names the source, the kind and the unit, and `Question.variant` says
  the same for reports (`of`, `kind`, `unit`, `units`). Intervals take all that comes from one question as one cluster.
- an empty list says that the question lacks what the diagnostic needs (`needs`); such questions are counted aloud.
- `style` names the prompt files, `LANGUAGE.STYLE.txt`; `changes` sets any other field of the task (judge, sampling).
- what pairs the answers with those of the base is at hand: `Task.variant_of` and `Question.variant.of`.

Contract: `find` and `Diagnostic.task` are inverse to each other: `find(d.task(base).name) == d.task(base)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
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
