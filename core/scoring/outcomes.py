"""Rows made slim: of each answer and question what the formulas need and no text, so that a million can be held.

Contract: a row enters every formula at its worst and at its best. Failed and unsupported answers are anything
from nothing to full marks; an ungraded one is bounded by its verdict (its undecided parts count 0 and full;
without a usable verdict the whole question does); no answer is worth 0. A row that contradicts itself raises
UserError with the key.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar, get_args

from livek12.core.errors import UserError
from livek12.core.records import UNMARKED, EarlierReply, Process, Question, Response, State, Verdict
from livek12.core.rows import Row
from livek12.core.scoring.formulas import Presence, Steps

Bounds = tuple[float, float]
Ending = Literal["whole", "truncated", "unknown"]
ENDINGS: tuple[Ending, ...] = get_args(Ending)
Judges = Literal["nobody", "rules", "models"]
OPEN: Bounds = (0.0, 1.0)
NOTHING: Bounds = (0.0, 0.0)
DEEPEST = 4
"""The last layer of a taxonomy that reports are grouped by."""
T = TypeVar("T")


def _one(value: str | int | bool | None) -> tuple[str, ...]:
    if value is None or value == "":
        return ()
    return (str(value).lower() if isinstance(value, bool) else str(value),)


def _prefixes(path: Sequence[str]) -> tuple[str, ...]:
    """The layers of a taxonomy below its first, which is the subject, each with those above it; a question is in each.

    MDK12-Bench has grade, subfield and curriculum there; the layers below these are too many to report.
    """
    return tuple(" / ".join(path[:depth]) for depth in range(2, min(len(path), DEEPEST) + 1))


AXES: dict[str, Callable[[Question], Iterable[str]]] = {
    "subject": lambda q: _one(q.subject),
    "macro_subject": lambda q: _one(q.attributes.macro_subject),
    "task": lambda q: _one(q.attributes.task),
    "topic": lambda q: _one(q.attributes.topic),
    "question_type": lambda q: _one(q.question_type),
    "modality": lambda q: _one("text_image" if q.images else "text_only"),
    "visual_modality": lambda q: _one(q.attributes.visual_modality),
    "visual_subcategory": lambda q: _one(q.attributes.visual_subcategory),
    "text_in_image": lambda q: _one(q.flags.has_text_in_image),
    "taxonomy": lambda q: _prefixes(q.taxonomy),
    "subset": lambda q: tuple(dict.fromkeys(q.subsets)),
    "difficulty": lambda q: _one(q.difficulty),
    "year": lambda q: _one(q.year),
    "release": lambda q: _one(q.release),
    "language": lambda q: _one(q.language),
    "korean_specific": lambda q: _one(q.flags.is_korean_specific),
    "paper": lambda q: _one(q.paper_id),
}
"""What reports are grouped by, and the values of a question on each axis."""
_PLACES = {axis: place for place, axis in enumerate(AXES)}


@dataclass(frozen=True, slots=True)
class SlimQuestion:
    """What scoring needs of a question; `values` has a tuple for each of `AXES`.

    `source` is the question that it was made from, itself where it was not: what comes from one is one cluster.
    `translates` is the id of the question that it translates, "" where it is none.
    """

    id: str
    source: str
    translates: str
    benchmark: str
    paper_id: str | None
    points: float | None
    has_variables: bool
    values: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, question: Question, values: tuple[tuple[str, ...], ...]) -> SlimQuestion:
        """Of a question, with its values on each of `AXES`."""
        return cls(
            id=question.id,
            source=question.variant.of if question.variant else question.id,
            translates=question.translation_of or "",
            benchmark=question.benchmark,
            paper_id=question.paper_id,
            points=question.points,
            has_variables=bool(question.variables),
            values=values,
        )

    def on(self, axis: str) -> tuple[str, ...]:
        """Its values on one of `AXES`."""
        return self.values[_PLACES[axis]]


class Used(NamedTuple):
    """The tokens that a response states; `completion` includes the thinking, `reasoning` is that part alone."""

    prompt: int | None
    cached: int | None
    completion: int | None
    reasoning: int | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What scoring needs of one answer.

    Attributes:
        task: that asked.
        question: that was asked.
        trial: from 0.
        state: in which it ended.
        share: bounds of the share of the points.
        correct: bounds of being fully correct.
        variables: bounds of the share of correct variables (`variable_bounds`).
        presence: what the process audit found; None: not audited.
        steps: how many erroneous steps its critics list; None: not audited, or it does not say.
        tokens: None where there is no response.
        ending: of the response; what has none is whole.
        judged_by: nobody yet, the rules alone, or models that were asked; None without a verdict.
        stages: for each part the stage that decided it, or "undecided".
        spent: the tokens of all requests that were made for it.
    """

    task: str
    question: SlimQuestion
    trial: int
    state: State
    share: Bounds
    correct: Bounds
    variables: Bounds
    presence: Presence | None
    steps: Steps | None
    tokens: Used | None
    ending: Ending
    judged_by: Judges | None
    stages: tuple[str, ...]
    spent: Used | None = None


class AnswerFinding(NamedTuple):
    """What was found of an answer, which many have in common; the fields are those of `Outcome`."""

    state: State
    share: Bounds
    correct: Bounds
    variables: Bounds
    presence: Presence | None
    steps: Steps | None
    judged_by: Judges | None
    stages: tuple[str, ...]


def finding_of(row: Row) -> AnswerFinding:
    """What was found of the answer in a row; of its response it tells nothing, and of its question what parts it has.

    Raises:
        UserError: it lacks a verdict, or the verdict awards more points than there are.
    """
    share, correct = outcome_bounds(row)
    process, parts = (row.verdict.process, row.verdict.parts) if row.verdict else (None, [])
    return AnswerFinding(
        state=row.state,
        share=share,
        correct=correct,
        variables=variable_bounds(row),
        presence=(process.cie, process.lae, process.dre) if process else None,
        steps=steps_of(process) if process else None,
        judged_by=_judged_by(row.verdict) if row.verdict else None,
        stages=tuple("undecided" if part.decision == "undecided" else part.decided_by for part in parts),
    )


class Slim:
    """Makes rows slim. What the rows of one `Slim` have in common is held once, be they of one run or of many."""

    def __init__(self) -> None:
        self._held: dict[object, object] = {}
        self._asked: Question | None = None
        self._item: SlimQuestion

    def __call__(self, row: Row) -> Outcome:
        """The outcome of a row.

        Raises:
            UserError: it lacks a verdict, or the verdict awards more points than there are.
        """
        if self._asked is not row.question:  # the trials of a question follow each other
            self._asked, self._item = row.question, self.question(row.question)
        found = self._same(finding_of(row))
        used = Used(*map(self._same, _used(row.response))) if row.response else None
        return Outcome(
            task=self._same(row.task),
            question=self._item,
            trial=row.trial,
            tokens=used,
            ending=ending_of(row.response.finish_reason) if row.response else "whole",
            spent=_spent(used, row.response.earlier) if row.response and used else None,
            **found._asdict(),
        )

    def question(self, question: Question) -> SlimQuestion:
        """What scoring needs of a question."""
        values = tuple(self._same(tuple(values_of(question))) for values_of in AXES.values())
        return self._same(SlimQuestion.of(question, values))

    def _same(self, value: T) -> T:
        held: T = self._held.setdefault(value, value)  # type: ignore[assignment]
        return held


def steps_of(process: Process) -> Steps | None:
    """Shares of the critics that list at least one and at least two erroneous steps; None where it names no critics.

    What one critic lists twice, the same type in the same step, is one.
    """
    listed = {(error.judge, error.type, error.step) for error in process.errors}
    counts = Counter(judge for judge, _, _ in listed)
    if not process.critics or not counts.keys() <= set(process.critics):
        return None
    one, two = (sum(counts[critic] >= least for critic in process.critics) for least in (1, 2))
    return one / len(process.critics), two / len(process.critics)


def _spent(used: Used, earlier: EarlierReply | None) -> Used:
    """The tokens of a response and of the reply before it; a kind that one of them does not state is not known."""
    if earlier is None:
        return used
    both = zip(used, _used(earlier), strict=True)
    return Used(*(None if one is None or other is None else one + other for one, other in both))


def _used(response: Response | EarlierReply) -> Used:
    return Used(response.prompt_tokens, response.cached_tokens, response.completion_tokens, response.reasoning_tokens)


def ending_of(finish_reason: str | None) -> Ending:
    """How a response ended."""
    return "unknown" if finish_reason is None else "truncated" if finish_reason == "length" else "whole"


def _judged_by(verdict: Verdict) -> Judges:
    return "nobody" if verdict.judge == UNMARKED else "models" if verdict.by_models else "rules"


def outcome_bounds(row: Row) -> tuple[Bounds, Bounds]:
    """Bounds of the share of the points and of being fully correct."""
    if row.state in ("failed", "unsupported"):
        return OPEN, OPEN
    if row.state == "no_answer":
        return NOTHING, NOTHING
    verdict = _verdict(row)
    correct = OPEN if verdict.correct is None else (float(verdict.correct), float(verdict.correct))
    share = _share(verdict, correct)
    if row.state == "ungraded" and share[0] == share[1]:
        # A verdict that bounds nothing cannot vouch for an answer that nobody could grade.
        return OPEN, OPEN if verdict.correct is not False else correct
    return share, correct


def _share(verdict: Verdict, correct: Bounds) -> Bounds:
    if verdict.max_points <= 0:
        return correct
    if not -1e-9 <= verdict.low <= verdict.high <= verdict.max_points + 1e-9:
        raise UserError(
            f"{verdict.key}: the verdict awards {verdict.low} to {verdict.high} of {verdict.max_points} points:"
            " judge it again"
        )
    return max(0.0, verdict.low / verdict.max_points), min(1.0, verdict.high / verdict.max_points)


def _verdict(row: Row) -> Verdict:
    if row.verdict is None:
        raise UserError(f"{row.task}/{row.question.id}/{row.trial} is {row.state} but has no verdict: judge it again")
    return row.verdict


def variable_bounds(row: Row) -> Bounds:
    """Bounds of the share of correct variables (CFE-Bench: a failed extraction stays in the denominator).

    A question without variables counts its sub-answers instead. Variables without a part in the verdict are
    wrong in a graded answer and undecided in an ungraded one.
    """
    if row.state in ("failed", "unsupported"):
        return OPEN
    if row.state == "no_answer":
        return NOTHING
    parts = _verdict(row).parts
    total = max(len(row.question.variables) or len(row.question.answer), len(parts), 1)
    if not parts:
        return outcome_bounds(row)[1]
    accepted = sum(part.decision == "accept" for part in parts)
    undecided = sum(part.decision == "undecided" for part in parts)
    if row.state == "ungraded":
        undecided += total - len(parts)
        if not undecided:
            return OPEN
    return accepted / total, (accepted + undecided) / total
