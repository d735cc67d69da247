"""`--where FIELD=VALUE[,VALUE]`: some questions of a run, named by one of their fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from livek12.core.errors import UserError
from livek12.core.records import Question
from livek12.core.run_folder import RunFolder
from livek12.core.scoring import AXES

FIELDS: dict[str, Callable[[Question], Iterable[str | None]]] = {
    **AXES,
    "benchmark": lambda q: [q.benchmark],
    "exam": lambda q: [q.exam],
    "id": lambda q: [q.id],
    "knowledge_point": lambda q: q.knowledge_points,
    "number": lambda q: [q.number],
    "paper_id": lambda q: [q.paper_id],
    "points": lambda q: [None if q.points is None else f"{q.points:g}"],
}
"""The fields that can be named, and the values of a question in each."""
_SHOWN = 12


class Where:
    """The questions that have one of the values; without a text, all.

    Args:
        text: as it is written.

    Raises:
        UserError: it names no field, or no value.
    """

    def __init__(self, text: str = "") -> None:
        field, _, listed = text.partition("=")
        if text and (field not in FIELDS or not listed):
            fields = ", ".join(sorted(FIELDS))
            raise UserError(f"--where {text!r:.80}: write FIELD=VALUE[,VALUE]; the fields are {fields}")
        self._text = text
        self._values_of = FIELDS[field] if text else None
        self._values = {value.strip() for value in listed.split(",")}

    def __bool__(self) -> bool:
        """Tells whether it leaves out anything."""
        return self._values_of is not None

    def takes(self, question: Question) -> bool:
        """Whether the question is one of them."""
        return self._values_of is None or not self._values.isdisjoint(self._values_of(question))

    def nothing(self, name: str, run: RunFolder) -> UserError:
        """What to say of a run that has no such question: the values that it has."""
        values_of = self._values_of or (lambda question: ())
        values = sorted({value for _, question in run.each_question() for value in values_of(question) if value})
        more = f" and {len(values) - _SHOWN} more" if len(values) > _SHOWN else ""
        has = f"it has {', '.join(values[:_SHOWN])}{more}" if values else "no question of it has any"
        return UserError(f"{name}: no question where {self._text}: {has}")
