"""The interface of the cascade's stages, and what passes between them.

A stage compares one answer with one key and says accept, reject or undecided. It never raises on text of a model or a
data set, never guesses, and rejects only what it can show to be wrong. Text in an answer is parsed within bounds, never
run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol

from livek12.core.question_types import CHOICE_TYPES, QuestionType
from livek12.core.records import Language, Option

PartialCredit = Literal["exact", "half", "proportional"]
VariableType = Literal["numeric", "formula", "other"]
Outcome = Literal["accept", "reject", "undecided"]


@dataclass(frozen=True)
class AnswerComparison:
    """One answer beside its key; hashable, and everything a decision may depend on.

    Attributes:
        gold: the key, as the data set writes it.
        answer: as extracted from the response.
        question_type: the canonical type.
        options: the choices, where the record has them.
        language: of the question.
        unit: that the question itself prints or asks for ("%" for per cent), where that is known.
        unit_shown: the unit of the key is printed somewhere in the question.
        variable_type: of a CFE variable.
        partial_credit: the rule for multiple choice.
        open_ends: the question asks where a function rises or falls, so that an interval may be open or closed.
        ends_count: the question is known and does not ask that, so that the brackets of an interval count.
        all_asked: all values are asked for.
        solutions: those of a differential equation are asked for, with constants of any name.
        asked_form: the kinds of form that the question demands (see `judges.rules.demands`), "" for none.
        asked_expression: the expression that the question asks about; "" where that is not plain.
        question_id: for logs; comparisons that differ in nothing else are equal.
    """

    gold: str
    answer: str
    question_type: QuestionType
    options: tuple[Option, ...] = ()
    language: Language = "en"
    unit: str | None = None
    unit_shown: bool = False
    variable_type: VariableType | None = None
    partial_credit: PartialCredit = "exact"
    open_ends: bool = False
    ends_count: bool = False
    all_asked: bool = False
    solutions: bool = False
    asked_form: str = ""
    asked_expression: str = ""
    question_id: str = field(default="", compare=False)

    @property
    def is_choice(self) -> bool:
        """True where the key is option labels, which no stage but that for choices may read."""
        return self.question_type in CHOICE_TYPES


@dataclass(frozen=True)
class NamedJudge:
    """The model judge that a task names, as its article does.

    Attributes:
        method: one of `judges.llm.methods.METHODS`.
        size: so many judges are drawn for each question; None asks all that the user names.
        audit: whether they also look for errors in the reasoning (see `judges.llm.audit`).
    """

    method: str
    size: int | None = None
    audit: bool = False


@dataclass(frozen=True)
class Decision:
    """The decision of a stage. `score` is the share of the part's points, 0 to 1; None exactly when undecided.

    `lasting` is false for what broke a limit of time: it may be decided on another day, and is not remembered.
    """

    decision: Outcome
    score: float | None
    by: str
    reason: str = ""
    lasting: bool = True


class Stage(Protocol):
    """One step of the cascade."""

    name: str

    def decide(self, comparison: AnswerComparison) -> Decision:
        """Accepts, rejects or leaves the comparison to the next stage."""
        ...


def accept(by: str, reason: str = "") -> Decision:
    """The answer is right."""
    return Decision("accept", 1.0, by, reason)


def reject(by: str, reason: str = "", score: float = 0.0) -> Decision:
    """The answer is wrong; `score` carries partial credit."""
    return Decision("reject", score, by, reason)


def undecided(by: str, reason: str = "", lasting: bool = True) -> Decision:
    """This stage cannot tell; not `lasting` where it might, given more time."""
    return Decision("undecided", None, by, reason, lasting)
