"""Which questions of a config a task asks: said by their properties, and looked at without reading the questions.

Contract: a `Selection` names the values it takes of each property; a property that is left empty takes all. It holds
for a `Question` and for its `Facts` alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields

from livek12.core.questions import Facts
from livek12.core.records import Question

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
        """Whether the question is one of these."""
        return all(_has(question, name, values) for name, values in self.named.items())

    def absent(self, found: Mapping[Facts, int]) -> str:
        """Why nothing of `found` (facts and how often they occur) is taken: the first property that leaves nothing."""
        left = dict(found)
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
