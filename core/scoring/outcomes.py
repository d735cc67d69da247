"""Outcomes: the input of the formulas for each answer, without texts: objects, columns, sorted tables and counts.

Contract: a row enters every formula at its worst and at its best. Failed and unsupported answers are anything from
nothing to full marks; an ungraded one is bounded by its verdict (its undecided parts count 0 and full; without a usable
verdict the whole question does); no answer is worth 0. A row that contradicts itself raises UserError with the key.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple, TypeVar, get_args, overload

from livek12.core.errors import UserError
from livek12.core.lazy import np
from livek12.core.records import UNMARKED, EarlierReply, Process, Question, Response, Row, State, Verdict, lacks_key
from livek12.core.scoring.formulas import Answers, PredictedTerm, Presence, Steps, presence_bounds, step_bounds
from livek12.core.scoring.schema import (
    STATES,
    ContextCut,
    Counts,
    ErrorCount,
    ProcessErrors,
    PromptCache,
    ThinkingUse,
    Tokens,
    TokenUse,
    Ungraded,
)
from livek12.core.statistics import Bools, Codes, Floats, Indices

Bounds = tuple[float, float]
Ending = Literal["whole", "truncated", "unknown"]
ENDINGS: tuple[Ending, ...] = get_args(Ending)
Judges = Literal["nobody", "rules", "models", "keyless"]
OPEN: Bounds = (0.0, 1.0)
NOTHING: Bounds = (0.0, 0.0)
DEEPEST = 4
"""Deepest taxonomy layer of report groups."""
T = TypeVar("T")


def _one(value: str | int | bool | None) -> tuple[str, ...]:
    if value is None or value == "":
        return ()
    return (str(value).lower() if isinstance(value, bool) else str(value),)


def _prefixes(path: Sequence[str]) -> tuple[str, ...]:
    """MDK12-Bench has grade, subfield and curriculum below the subject; deeper layers are too many."""
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
"""The axes of report groups, and the values of a question on each."""
_PLACES = {axis: place for place, axis in enumerate(AXES)}


@dataclass(frozen=True, slots=True)
class SlimQuestion:
    """Scoring fields of a question; `values` has a tuple for each of `AXES`.

    `source` is the question that a variant was made from, else its own id: questions of one source are one cluster.
    `translates` is the id of the original of a translation, else "".
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
        """Builds it from a question and its values on each of `AXES`."""
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
    """Token counts of a response; `completion` includes `reasoning`."""

    prompt: int | None
    cached: int | None
    completion: int | None
    reasoning: int | None


class AnswerFinding(NamedTuple):
    """Marks of an answer, which many answers share.

    Attributes:
        presence: errors by the process audit; None: not audited.
        stages: of each part the deciding stage, or "undecided".
    """

    state: State
    share: Bounds
    correct: Bounds
    variables: Bounds
    presence: Presence | None = None
    steps: Steps | None = None
    judged_by: Judges | None = None
    stages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """Answer as scoring reads it.

    Attributes:
        ending: of the response; "whole" without one.
        spent: tokens of all requests for it.
    """

    task: str
    question: SlimQuestion
    trial: int
    finding: AnswerFinding
    tokens: Used | None = None
    ending: Ending = "whole"
    spent: Used | None = None


def finding_of(row: Row) -> AnswerFinding:
    """Marks of a row; UserError without a verdict, or for more points than there are."""
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
    """Makes outcomes of rows; equal values are one object, also across runs."""

    def __init__(self) -> None:
        self._values: dict[object, object] = {}
        self._question: Question | None = None
        self._slim: SlimQuestion

    def __call__(self, row: Row) -> Outcome:
        """Outcome of a row; raises as `finding_of`."""
        if self._question is not row.question:  # the trials of a question follow each other
            self._question, self._slim = row.question, self.question(row.question)
        used = Used(*map(self._same, _used(row.response))) if row.response else None
        return Outcome(
            task=self._same(row.task),
            question=self._slim,
            trial=row.trial,
            finding=self._same(finding_of(row)),
            tokens=used,
            ending=ending_of(row.response.finish_reason) if row.response else "whole",
            spent=_spent(used, row.response.earlier) if row.response and used else None,
        )

    def question(self, question: Question) -> SlimQuestion:
        """Scoring fields of a question."""
        values = tuple(self._same(tuple(values_of(question))) for values_of in AXES.values())
        return self._same(SlimQuestion.of(question, values))

    def _same(self, value: T) -> T:
        first: T = self._values.setdefault(value, value)  # type: ignore[assignment]
        return first


def steps_of(process: Process) -> Steps | None:
    """Shares of critics that list at least one, and at least two, erroneous steps.

    A type that a critic lists twice for one step counts once.
    """
    listed = {(error.judge, error.type, error.step) for error in process.errors}
    counts = Counter(judge for judge, _, _ in listed)
    if not process.critics or not counts.keys() <= set(process.critics):
        return None
    some, several = (sum(counts[critic] >= least for critic in process.critics) for least in (1, 2))
    return some / len(process.critics), several / len(process.critics)


def _spent(used: Used, earlier: EarlierReply | None) -> Used:
    """None for a kind that either request does not state."""
    if earlier is None:
        return used
    both = zip(used, _used(earlier), strict=True)
    return Used(*(None if a is None or b is None else a + b for a, b in both))


def _used(response: Response | EarlierReply) -> Used:
    return Used(response.prompt_tokens, response.cached_tokens, response.completion_tokens, response.reasoning_tokens)


def ending_of(finish_reason: str | None) -> Ending:
    """Ending of a response."""
    return "unknown" if finish_reason is None else "truncated" if finish_reason == "length" else "whole"


def _judged_by(verdict: Verdict) -> Judges:
    if lacks_key(verdict):
        return "keyless"
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
        # Equal bounds contradict an ungraded answer.
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

    A question without variables counts its sub-answers. Variables without a part in the verdict are wrong in a graded
    answer and undecided in an ungraded one.
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


UNTOLD = -(1 << 62)
"""In a column of tokens: not stated."""
MOST_TOKENS = 1 << 40
"""Greater counts are ignored."""


class Findings:
    """k different findings, and arrays of length k for the formulas."""

    def __init__(self, findings: Sequence[AnswerFinding]) -> None:
        self.distinct = findings

    def __len__(self) -> int:
        return len(self.distinct)

    @cached_property
    def states(self) -> Indices:
        """Index into STATES."""
        return np.array([STATES.index(finding.state) for finding in self.distinct], dtype=np.intp)

    @cached_property
    def share(self) -> Floats:
        """(k, 2)."""
        return _pairs([finding.share for finding in self.distinct])

    @cached_property
    def correct(self) -> Floats:
        """(k, 2)."""
        return _pairs([finding.correct for finding in self.distinct])

    @cached_property
    def variables(self) -> Floats:
        """(k, 2)."""
        return _pairs([finding.variables for finding in self.distinct])

    @cached_property
    def audited(self) -> Bools:
        """Presence of an audit."""
        return np.array([finding.presence is not None for finding in self.distinct], dtype=np.bool_)

    @cached_property
    def presence(self) -> Floats | None:
        """(2, k, 3), see `presence_bounds`."""
        return presence_bounds([finding.presence for finding in self.distinct])

    @cached_property
    def steps(self) -> Floats | None:
        """(2, k, 2), see `step_bounds`."""
        return step_bounds(
            [None if finding.presence is None else (finding.presence, finding.steps) for finding in self.distinct]
        )


def _pairs(bounds: list[Bounds]) -> Floats:
    return np.array(bounds, dtype=np.float64).reshape(-1, 2)


@dataclass(frozen=True, eq=False)
class Outcomes(Sequence[Outcome]):
    """Outcomes of n answers.

    Attributes:
        tasks: their names; like questions and findings, some may have no answer here.
        questions: may contain one twice.
        task, question, finding, ending: indices into `tasks`, `questions`, `findings` and ENDINGS, length n.
        came: presence of a response, and so of tokens.
        used: (n, 4), the fields of `Used`; `UNTOLD` where not stated.
        spent: the same of all requests; None if equal.
        predicted: marks of the bank, if these are all answers of an adaptive exam; {} if they are some.
    """

    tasks: Sequence[str]
    questions: Sequence[SlimQuestion]
    findings: Findings
    task: Codes
    question: Codes
    trial: Codes
    finding: Codes
    ending: Codes
    came: Bools
    used: Indices
    spent: Indices | None = None
    predicted: Mapping[str, PredictedTerm] | None = None

    @classmethod
    def of(cls, outcomes: Iterable[Outcome]) -> Outcomes:
        """Columns of outcomes."""
        if isinstance(outcomes, Outcomes):
            return outcomes
        made = OutcomeColumns()
        for outcome in outcomes:
            made.add(outcome)
        return made.end()

    @classmethod
    def joined(cls, parts: Sequence[Outcomes]) -> Outcomes:
        """Concatenates outcomes."""
        if len(parts) == 1:
            return parts[0]
        sizes = [(len(part.tasks), len(part.questions), len(part.findings)) for part in parts]
        begins = np.cumsum([(0, 0, 0), *sizes], axis=0)
        spent = any(part.spent is not None for part in parts)
        return cls(
            tasks=[task for part in parts for task in part.tasks],
            questions=[question for part in parts for question in part.questions],
            findings=Findings([finding for part in parts for finding in part.findings.distinct]),
            task=_end_to_end([part.task + begins[n, 0] for n, part in enumerate(parts)]),
            question=_end_to_end([part.question + begins[n, 1] for n, part in enumerate(parts)]),
            trial=_end_to_end([part.trial for part in parts]),
            finding=_end_to_end([part.finding + begins[n, 2] for n, part in enumerate(parts)]),
            ending=_end_to_end([part.ending for part in parts]),
            came=np.concatenate([np.zeros(0, dtype=np.bool_), *(part.came for part in parts)]),
            used=np.concatenate([np.zeros((0, 4), dtype=np.int64), *(part.used for part in parts)]),
            spent=np.concatenate([part.spent if part.spent is not None else part.used for part in parts])
            if spent
            else None,
            predicted=None if all(part.predicted is None for part in parts) else {},
        )

    def __len__(self) -> int:
        return len(self.trial)

    @overload
    def __getitem__(self, index: int) -> Outcome: ...

    @overload
    def __getitem__(self, index: slice) -> Outcomes: ...

    def __getitem__(self, index: int | slice) -> Outcome | Outcomes:
        if isinstance(index, slice):
            return self.take(np.arange(len(self))[index])
        came = bool(self.came[index])
        used = _used_of(self.used[index].tolist()) if came else None
        return Outcome(
            task=self.tasks[self.task[index]],
            question=self.questions[self.question[index]],
            trial=int(self.trial[index]),
            finding=self.findings.distinct[self.finding[index]],
            tokens=used,
            ending=ENDINGS[self.ending[index]],
            spent=used if self.spent is None or not came else _used_of(self.spent[index].tolist()),
        )

    def __iter__(self) -> Iterator[Outcome]:
        return (self[index] for index in range(len(self)))

    def take(self, picked: Indices) -> Outcomes:
        """Picks answers (indices, or a mask), in this order."""
        return replace(
            self,
            task=self.task[picked],
            question=self.question[picked],
            trial=self.trial[picked],
            finding=self.finding[picked],
            ending=self.ending[picked],
            came=self.came[picked],
            used=self.used[picked],
            spent=None if self.spent is None else self.spent[picked],
            predicted=None if self.predicted is None else {},
        )

    def where(self, takes: Callable[[SlimQuestion], bool]) -> Outcomes:
        """Picks the answers to some questions."""
        taken: Bools = np.zeros(len(self.questions), dtype=np.bool_)
        for code in np.unique(self.question).tolist():
            taken[code] = takes(self.questions[code])
        return self if taken.all() else self.take(np.flatnonzero(taken[self.question]))

    def by_task(self) -> dict[str, Outcomes]:
        """Groups answers by task, in order of first answers."""
        names, first, code = np.unique(self.task, return_index=True, return_inverse=True)
        numbers: dict[str, list[int]] = {}  # two numbers may stand for one name
        for number in np.argsort(first).tolist():
            numbers.setdefault(self.tasks[names[number]], []).append(number)
        if len(numbers) == 1:
            return dict.fromkeys(numbers, self)
        return {name: self.take(np.flatnonzero(np.isin(code, own))) for name, own in numbers.items()}

    def asked(self) -> list[SlimQuestion]:
        """Questions with answers here, in order of first answers."""
        codes, first = np.unique(self.question, return_index=True)
        return [self.questions[code] for code in codes[np.argsort(first)].tolist()]

    @property
    def states(self) -> Indices:
        """Index into STATES, length n."""
        return self.findings.states[self.finding]

    @property
    def lengths(self) -> Floats:
        """Completion tokens with thinking; NaN without a count (0 of an answer is none)."""
        tokens = self.used[:, 2]
        counted = self.came & ((tokens > 0) | ((tokens == 0) & (self.states == STATES.index("no_answer"))))
        return np.where(counted, tokens, np.nan)

    def numbers(self) -> Iterator[tuple[AnswerFinding, int]]:
        """Findings that occur, with their numbers of answers."""
        counts = np.bincount(self.finding, minlength=len(self.findings)).tolist()
        return ((finding, count) for finding, count in zip(self.findings.distinct, counts, strict=True) if count)


def _end_to_end(parts: Sequence[Codes]) -> Codes:
    return np.concatenate([np.zeros(0, dtype=np.intp), *parts])


def _used_of(counts: list[int]) -> Used:
    return Used(*(None if count == UNTOLD else count for count in counts))


def stated(tokens: int | None) -> int:
    """Count of tokens as a column has it."""
    return UNTOLD if tokens is None or abs(tokens) > MOST_TOKENS else tokens


class Numbers(dict[T, int]):
    """Numbers values in order of first use."""

    def __missing__(self, value: T) -> int:
        self[value] = number = len(self)
        return number


class OutcomeColumns:
    """Collects outcomes into columns."""

    def __init__(self) -> None:
        self._tasks = Numbers[str]()
        self._questions: dict[int, int] = {}  # by identity, as comparing them is slow
        self._slim: list[SlimQuestion] = []
        self._findings = Numbers[AnswerFinding]()
        self._codes = array("q")
        self._used, self._spent = array("q"), array("q")
        self._differs = False

    def add(self, outcome: Outcome) -> None:
        """Appends an outcome."""
        number = self._questions.get(id(outcome.question))
        if number is None:
            number = self._questions[id(outcome.question)] = len(self._slim)
            self._slim.append(outcome.question)
        used, spent = outcome.tokens, outcome.spent or outcome.tokens
        self._codes.extend(
            (
                self._tasks[outcome.task],
                number,
                outcome.trial,
                self._findings[outcome.finding],
                ENDINGS.index(outcome.ending),
                used is not None,
            )
        )
        self._used.extend((UNTOLD,) * 4 if used is None else map(stated, used))
        self._spent.extend((UNTOLD,) * 4 if spent is None else map(stated, spent))
        self._differs |= spent != used

    def end(self) -> Outcomes:
        """Columns."""
        codes = np.array(self._codes, dtype=np.int64).reshape(-1, 6)
        task, question, trial, finding, ending, came = (codes[:, n].copy() for n in range(6))
        return Outcomes(
            tasks=list(self._tasks),
            questions=self._slim,
            findings=Findings(list(self._findings)),
            task=task,
            question=question,
            trial=trial,
            finding=finding,
            ending=ending,
            came=came.astype(np.bool_),
            used=np.array(self._used, dtype=np.int64).reshape(-1, 4),
            spent=np.array(self._spent, dtype=np.int64).reshape(-1, 4) if self._differs else None,
        )


@dataclass(frozen=True)
class Table:
    """Answers to one set of questions, sorted by question, trial and task.

    `question` and `trial`: indices into `questions` and the sorted trial numbers, length n.
    """

    rows: Outcomes
    questions: tuple[SlimQuestion, ...]
    question: Indices
    trial: Indices
    trials: int

    @cached_property
    def answers(self) -> Answers:
        """Arrays of the exam formulas."""
        findings, of = self.rows.findings, self.rows.finding
        audited = bool(findings.audited[of].any())
        missing = [STATES.index("failed"), STATES.index("unsupported")]
        return Answers(
            points=None if self.worth is None else self.worth[self.question],
            share=findings.share[of].T.copy(),
            correct=findings.correct[of].T.copy(),
            presence=np.take(findings.presence, of, axis=1) if audited and findings.presence is not None else None,
            steps=np.take(findings.steps, of, axis=1) if audited and findings.steps is not None else None,
            tokens=self.rows.lengths,
            came=~np.isin(self.states, missing),
            points_note=question_points(self.questions)[1],
            points_stated=any(question.points is not None for question in self.questions),
        )

    @cached_property
    def worth(self) -> Floats | None:
        """Points of each question; None if only some state them."""
        worth, _ = question_points(self.questions)
        return None if worth is None else np.array(worth)

    @cached_property
    def variables(self) -> Floats | None:
        """(2, n) bounds of the share of correct variables; None without variables."""
        if not any(question.has_variables for question in self.questions):
            return None
        return self.rows.findings.variables[self.rows.finding].T.copy()

    @cached_property
    def begins(self) -> Indices:
        """Index of the first answer to each question, and the end of all; length questions + 1."""
        return np.searchsorted(self.question, np.arange(len(self.questions) + 1))

    @cached_property
    def states(self) -> Indices:
        """Index into STATES, length n."""
        return self.rows.states

    def to(self, questions: Sequence[int]) -> Table:
        """Table of some questions (indices), at least one."""
        return self if len(questions) == len(self.questions) else tabulate(self.rows.take(answers_of(self, questions)))


def answers_of(table: Table, questions: Sequence[int]) -> Indices:
    """Indices of the answers to questions (indices)."""
    # Linear in the answers returned: a task may have thousands of groups (papers).
    some = np.unique(np.asarray(questions, dtype=np.intp))
    begins, ends = table.begins[some], table.begins[some + 1]
    counts = ends - begins
    firsts = np.cumsum(counts) - counts
    return np.repeat(begins - firsts, counts) + np.arange(counts.sum())


def tabulate(rows: Iterable[Outcome]) -> Table:
    """Sorts outcomes into a table; UserError for none, or two of the same task, question and trial."""
    outcomes = Outcomes.of(rows)
    if not len(outcomes):
        raise UserError("there are no answers to score: run or import some first")
    questions = outcomes.questions
    question = ranked([each.id for each in questions], outcomes.question)
    trial = np.unique(outcomes.trial, return_inverse=True)[1]
    task = ranked(outcomes.tasks, outcomes.task)
    order = np.lexsort((task, trial, question))
    question, trial, task = (column[order] for column in (question, trial, task))
    outcomes = replace(outcomes.take(order), predicted=outcomes.predicted)
    same = (np.diff(question) == 0) & (np.diff(trial) == 0) & (np.diff(task) == 0)
    if same.any():
        twice = outcomes[int(np.argmax(same))]
        raise UserError(
            f"{twice.task}/{twice.question.id}/{twice.trial} occurs twice: give each answer one trial number"
        )
    last = np.flatnonzero(np.concatenate([np.diff(question) != 0, [True]]))
    ordered = tuple(questions[code] for code in outcomes.question[last].tolist())
    return Table(outcomes, ordered, question, trial, trials=int(trial.max()) + 1)


def ranked(names: Sequence[str], codes: Codes) -> Indices:
    """Ranks of codes (indices into the names) by the sorted occurring names."""
    used = np.unique(codes)
    place = {name: rank for rank, name in enumerate(sorted({names[code] for code in used.tolist()}))}
    ranks: Indices = np.zeros(len(names), dtype=np.intp)
    ranks[used] = [place[names[code]] for code in used.tolist()]
    return ranks[codes]


def question_sums(table: Table, *values: Floats) -> dict[tuple[str, str], tuple[float, ...]]:
    """Sums of values over the answers by task and question, in table order."""
    task = ranked(table.rows.tasks, table.rows.task)
    pairs = table.question * (int(task.max()) + 1) + task
    _, first, pair = np.unique(pairs, return_index=True, return_inverse=True)
    sums = np.stack([np.bincount(pair, value) for value in values], axis=1).tolist()
    questions, tasks = table.question[first].tolist(), table.rows.task[first].tolist()
    return {
        (table.rows.tasks[tasks[n]], table.questions[questions[n]].id): tuple(sums[n])
        for n in np.argsort(first).tolist()
    }


def question_points(questions: Sequence[SlimQuestion]) -> tuple[list[float] | None, str | None]:
    """Points of each question and a remark; None and the reason if only some questions state points."""
    stated = sum(question.points is not None for question in questions)
    if stated == 0:
        return [1.0] * len(questions), "no question states points: each counts 1"
    if stated < len(questions):
        return None, f"{len(questions) - stated} of {len(questions)} questions state no points"
    return [float(question.points or 0) for question in questions], None


def points_awarded(outcomes: Outcomes) -> tuple[float, float] | None:
    """Bounds of the points of all answers.

    None if only some questions of a task state points; if none does, each counts 1.
    """
    total = np.zeros(2)
    for own in outcomes.by_task().values():
        codes = np.unique(own.question)
        worth, _ = question_points([own.questions[code] for code in codes.tolist()])
        if worth is None:
            return None
        of_answers = np.array(worth)[np.searchsorted(codes, own.question)]
        total += of_answers @ own.findings.share[own.finding]
    return float(total[0]), float(total[1])


def count(table: Table, picked: Indices | None = None) -> Counts:
    """Counts of the picked answers (indices; default all)."""
    picked = np.arange(len(table.rows)) if picked is None else picked
    states = np.bincount(table.states[picked], minlength=len(STATES)).tolist()
    graded, no_answer, ungraded, failed, unsupported = states
    _, truncated, unknown = np.bincount(table.rows.ending[picked], minlength=len(ENDINGS)).tolist()
    return Counts(
        questions=len(np.unique(table.question[picked])),
        trials=len(np.unique(table.trial[picked])),
        answers=len(picked),
        graded=graded,
        no_answer=no_answer,
        ungraded=ungraded,
        failed=failed,
        unsupported=unsupported,
        truncated=truncated,
        truncated_unknown=unknown,
    )


def ungraded(rows: Outcomes) -> Ungraded:
    """Ungraded answers by their last judge."""
    judges = Counter[str]()
    for verdict, answers in rows.numbers():
        if verdict.state == "ungraded" and verdict.judged_by is not None:
            judges[verdict.judged_by] += answers
    left = Ungraded(nobody=judges["nobody"], rules=judges["rules"], models=judges["models"])
    return {**left, "keyless": judges["keyless"]} if judges["keyless"] else left


def points(table: Table, questions: Sequence[int]) -> float | None:
    """Total points of the questions (indices)."""
    return None if table.worth is None else float(table.worth[questions].sum())


def process_errors(rows: Outcomes, threshold: float) -> ProcessErrors | None:
    """Process errors by type, by that threshold of mean presence; None without an audit."""
    findings = rows.findings
    audited = rows.finding[findings.audited[rows.finding]]
    if findings.presence is None or not len(audited):
        return None
    presence = findings.presence[0]

    def tally(kind: int) -> ErrorCount:
        seen = presence[audited, kind].tolist()
        return ErrorCount(answers=sum(x > threshold for x in seen), mean_presence=sum(seen) / len(seen))

    return ProcessErrors(audited=len(audited), CIE=tally(0), LAE=tally(1), DRE=tally(2))


def token_use(rows: Outcomes) -> Tokens:
    """Tokens of responses and their earlier requests by kind; unstated counts are `missing`."""
    spent = rows.used if rows.spent is None else rows.spent
    prompt, cached, completion, reasoning = (_use(spent[rows.came, kind]) for kind in range(4))
    return Tokens(prompt=prompt, cached=cached, completion=completion, reasoning=reasoning)


def _use(counts: Indices) -> TokenUse:
    stated = np.sort(counts[counts != UNTOLD])
    total, number = int(stated.sum()), len(stated)
    return TokenUse(
        sum=total,
        mean=total / number if number else None,
        median=(int(stated[(number - 1) // 2]) + int(stated[number // 2])) / 2 if number else None,
        missing=len(counts) - number,
    )


def prompt_cache(rows: Outcomes) -> PromptCache | None:
    """Prefix-cache use."""
    stated = rows.used[(rows.used[:, :2] != UNTOLD).all(axis=1), :2]
    if not len(stated):
        return None
    prompt, cached = map(int, stated.sum(axis=0))
    return PromptCache(answers=len(stated), prompt=prompt, cached=cached, share=cached / prompt if prompt else None)


def thinking_use(rows: Outcomes, budget: int | None) -> ThinkingUse | None:
    """Thinking against its budget."""
    if budget is None:
        return None
    counts = rows.used[rows.came, 3]
    stated = counts[counts != UNTOLD]
    return ThinkingUse(
        budget=budget,
        over=int((stated > budget).sum()),
        unknown=len(counts) - len(stated),
        most=int(stated.max()) if len(stated) else None,
    )


def context_cut(rows: Outcomes, budget: int | None) -> ContextCut | None:
    """Answers that ended at a limit shorter than the budget."""
    if budget is None:
        return None
    lengths = rows.used[rows.came & (rows.ending == ENDINGS.index("truncated")), 2]
    cut = lengths[(lengths != UNTOLD) & (lengths < budget)]
    return ContextCut(budget=budget, answers=len(cut), fewest=int(cut.min())) if len(cut) else None


def decided_by(rows: Outcomes) -> dict[str, int]:
    """Parts by the stage that decided them, most first."""
    stages = Counter[str]()
    for verdict, answers in rows.numbers():
        for stage in verdict.stages:
            stages[stage] += answers
    return dict(sorted(stages.items(), key=lambda item: (-item[1], item[0])))
