"""Interface of the cascade's stages.

A stage never raises on text of a model or a dataset, never guesses, and rejects only proven errors. It parses text in
answers within bounds and never runs it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:  # a process for symbolic checks needs no records: they take a quarter of its start
    from livek12.core.question_types import QuestionType
    from livek12.core.records import Language, Option, PartVerdict

PartialCredit = Literal["exact", "half", "proportional"]
VariableType = Literal["numeric", "formula", "other"]
Outcome = Literal["accept", "reject", "undecided"]


@dataclass(frozen=True)
class AnswerComparison:
    """An answer with its key, hashable: everything that a decision may depend on.

    Attributes:
        gold: the key, as in the dataset.
        answer: as extracted.
        question_type: canonical.
        options: the choices, if recorded.
        unit: printed or requested by the question ("%" for per cent).
        unit_shown: the question prints the key's unit.
        variable_type: of a CFE variable.
        partial_credit: the rule for multiple choice.
        open_ends: monotonicity, where intervals may be open or closed.
        ends_count: the question is known and about other things, so brackets count.
        all_asked: all values are required.
        solutions: a differential equation, with constants of any name.
        asked_form: required forms (see `judges.rules.demands`).
        asked_expression: the expression in question, if clear.
        question_id: for logs; ignored in comparisons.
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

    def __hash__(self) -> int:
        return hash((self.gold, self.answer, self.question_type, *(option.text for option in self.options)))

    @property
    def is_choice(self) -> bool:
        """The key is option labels, for the stage for choices alone."""
        from livek12.core.question_types import CHOICE_TYPES

        return self.question_type in CHOICE_TYPES


@dataclass(frozen=True)
class NamedJudge:
    """Model judge of a task's article.

    Attributes:
        method: one of `judges.llm.methods.METHODS`.
        size: judges for each question; None is all.
        audit: whether they audit the reasoning (see `judges.llm.audit`).
    """

    method: str
    size: int | None = None
    audit: bool = False


@dataclass(frozen=True)
class Decision:
    """A stage's decision. `score` is the share of the points, 0 to 1; None exactly when undecided.

    `lasting` is false after a timeout, which is not cached.
    """

    decision: Outcome
    score: float | None
    by: str
    reason: str = ""
    lasting: bool = True

    def verdict(self, name: str | None, gold: str, answer: str | None) -> PartVerdict:
        """Verdict of a part."""
        from livek12.core.records import PartVerdict

        return PartVerdict(
            name=name,
            answer=answer,
            gold=gold,
            decision=self.decision,
            score=self.score,
            decided_by=self.by,
            reason=self.reason,
        )


class Stage(Protocol):
    """Step of the cascade."""

    name: str

    def decide(self, comparison: AnswerComparison) -> Decision:
        """Decides the comparison, or leaves it."""
        ...


def accept(by: str, reason: str = "") -> Decision:
    """The answer is right."""
    return Decision("accept", 1.0, by, reason)


def reject(by: str, reason: str = "", score: float = 0.0) -> Decision:
    """The answer is wrong; `score` carries partial credit."""
    return Decision("reject", score, by, reason)


def undecided(by: str, reason: str = "", lasting: bool = True) -> Decision:
    """Undecided; not `lasting` after a timeout."""
    return Decision("undecided", None, by, reason, lasting)
