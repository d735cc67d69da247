"""Outcomes as columns, so that a million answers take as much room as their numbers.

Contract: `Outcomes` is a sequence of `Outcome`, which is made only when one is looked at. What many answers have in
common (the mark, the audit, who decided) stands once, as a `AnswerFinding`; a column has the number of each answer's.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, overload

from livek12.core.scoring.formulas import presence_bounds, step_bounds
from livek12.core.scoring.outcomes import ENDINGS, AnswerFinding, Bounds, Outcome, SlimQuestion, Used
from livek12.core.scoring.schema import STATES

if TYPE_CHECKING:
    from livek12.core.statistics import Bools, Codes, Floats, Indices

T = TypeVar("T")
UNTOLD = -(1 << 62)
"""In a column of tokens: not stated."""
MOST_TOKENS = 1 << 40
"""A count beyond that is none."""


class Findings:
    """Different findings, and what the formulas need of each as arrays of their length."""

    def __init__(self, found: Sequence[AnswerFinding]) -> None:
        self.found = found

    def __len__(self) -> int:
        return len(self.found)

    @cached_property
    def states(self) -> Indices:
        """Index into STATES."""
        import numpy as np

        return np.array([STATES.index(one.state) for one in self.found], dtype=np.intp)

    @cached_property
    def share(self) -> Floats:
        """(k, 2)."""
        return _pairs([one.share for one in self.found])

    @cached_property
    def correct(self) -> Floats:
        """(k, 2)."""
        return _pairs([one.correct for one in self.found])

    @cached_property
    def variables(self) -> Floats:
        """(k, 2)."""
        return _pairs([one.variables for one in self.found])

    @cached_property
    def audited(self) -> Bools:
        """Whether there is an audit."""
        import numpy as np

        return np.array([one.presence is not None for one in self.found], dtype=np.bool_)

    @cached_property
    def presence(self) -> Floats | None:
        """(2, k, 3), see `presence_bounds`."""
        return presence_bounds([one.presence for one in self.found])

    @cached_property
    def steps(self) -> Floats | None:
        """(2, k, 2), see `step_bounds`."""
        return step_bounds([None if one.presence is None else (one.presence, one.steps) for one in self.found])


def _pairs(bounds: list[Bounds]) -> Floats:
    import numpy as np

    return np.array(bounds, dtype=np.float64).reshape(-1, 2)


@dataclass(frozen=True, eq=False)
class Outcomes(Sequence[Outcome]):
    """The outcomes of n answers.

    Attributes:
        tasks: that asked; some may have no answer here, as of questions and findings.
        questions: that were asked; one may be there twice.
        findings: of the answers.
        task: index into `tasks`, length n.
        question: index into `questions`.
        trial: from 0.
        finding: index into `findings`.
        ending: index into ENDINGS.
        came: whether there is a response, and so tokens.
        used: (n, 4), the fields of `Used`; `UNTOLD` where one is not stated.
        spent: the same of all requests; None where that is the same.
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

    @classmethod
    def of(cls, outcomes: Iterable[Outcome]) -> Outcomes:
        """Columns of outcomes; what are columns already is taken as it is."""
        if isinstance(outcomes, Outcomes):
            return outcomes
        made = OutcomeColumns()
        for outcome in outcomes:
            made.add(outcome)
        return made.end()

    @classmethod
    def joined(cls, parts: Sequence[Outcomes]) -> Outcomes:
        """The outcomes of all parts, one part after the other."""
        import numpy as np

        if len(parts) == 1:
            return parts[0]
        sizes = [(len(part.tasks), len(part.questions), len(part.findings)) for part in parts]
        begins = np.cumsum([(0, 0, 0), *sizes], axis=0)
        spent = any(part.spent is not None for part in parts)
        return cls(
            tasks=[task for part in parts for task in part.tasks],
            questions=[question for part in parts for question in part.questions],
            findings=Findings([one for part in parts for one in part.findings.found]),
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
        )

    def __len__(self) -> int:
        return len(self.trial)

    @overload
    def __getitem__(self, index: int) -> Outcome: ...

    @overload
    def __getitem__(self, index: slice) -> Outcomes: ...

    def __getitem__(self, index: int | slice) -> Outcome | Outcomes:
        import numpy as np

        if isinstance(index, slice):
            return self.take(np.arange(len(self))[index])
        found, came = self.findings.found[self.finding[index]], bool(self.came[index])
        used = _used(self.used[index].tolist()) if came else None
        return Outcome(
            task=self.tasks[self.task[index]],
            question=self.questions[self.question[index]],
            trial=int(self.trial[index]),
            tokens=used,
            ending=ENDINGS[self.ending[index]],
            spent=used if self.spent is None or not came else _used(self.spent[index].tolist()),
            **found._asdict(),
        )

    def __iter__(self) -> Iterator[Outcome]:
        return (self[index] for index in range(len(self)))

    def take(self, picked: Indices) -> Outcomes:
        """Those of the picked answers (indices, or a mask), in this order."""
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
        )

    def where(self, takes: Callable[[SlimQuestion], bool]) -> Outcomes:
        """Those to some of the questions."""
        import numpy as np

        taken: Bools = np.zeros(len(self.questions), dtype=np.bool_)
        for code in np.unique(self.question).tolist():
            taken[code] = takes(self.questions[code])
        return self if taken.all() else self.take(np.flatnonzero(taken[self.question]))

    def by_task(self) -> dict[str, Outcomes]:
        """Those of each task, by the first answer of each."""
        import numpy as np

        names, first, code = np.unique(self.task, return_index=True, return_inverse=True)
        numbers: dict[str, list[int]] = {}  # two numbers may stand for one name
        for number in np.argsort(first).tolist():
            numbers.setdefault(self.tasks[names[number]], []).append(number)
        if len(numbers) == 1:
            return dict.fromkeys(numbers, self)
        return {name: self.take(np.flatnonzero(np.isin(code, own))) for name, own in numbers.items()}

    def asked(self) -> list[SlimQuestion]:
        """The questions that have answers here, by the first answer to each."""
        import numpy as np

        codes, first = np.unique(self.question, return_index=True)
        return [self.questions[code] for code in codes[np.argsort(first)].tolist()]

    @property
    def states(self) -> Indices:
        """Index into STATES, length n."""
        return self.findings.states[self.finding]

    @property
    def lengths(self) -> Floats:
        """Completion tokens with thinking; not a number where there is no count (0 of an answer is none)."""
        import numpy as np

        tokens = self.used[:, 2]
        known = self.came & ((tokens > 0) | ((tokens == 0) & (self.states == STATES.index("no_answer"))))
        return np.where(known, tokens, np.nan)

    def numbers(self) -> Iterator[tuple[AnswerFinding, int]]:
        """The different findings, and how many answers have each."""
        import numpy as np

        counts = np.bincount(self.finding, minlength=len(self.findings)).tolist()
        return ((found, count) for found, count in zip(self.findings.found, counts, strict=True) if count)


def _end_to_end(parts: Sequence[Codes]) -> Codes:
    import numpy as np

    return np.concatenate([np.zeros(0, dtype=np.intp), *parts])


def _used(counts: list[int]) -> Used:
    return Used(*(None if count == UNTOLD else count for count in counts))


def stated(tokens: int | None) -> int:
    """A count of tokens as it stands in a column."""
    return UNTOLD if tokens is None or abs(tokens) > MOST_TOKENS else tokens


class Numbers(dict[T, int]):
    """A number for each value, in the order in which they come."""

    def __missing__(self, value: T) -> int:
        self[value] = number = len(self)
        return number


class OutcomeColumns:
    """Takes outcomes one after the other."""

    def __init__(self) -> None:
        self._tasks = Numbers[str]()
        self._questions: dict[int, int] = {}  # by identity: to compare them takes long
        self._asked: list[SlimQuestion] = []
        self._found = Numbers[AnswerFinding]()
        self._codes = array("q")
        self._used, self._spent = array("q"), array("q")
        self._differs = False

    def add(self, outcome: Outcome) -> None:
        """One more."""
        number = self._questions.get(id(outcome.question))
        if number is None:
            number = self._questions[id(outcome.question)] = len(self._asked)
            self._asked.append(outcome.question)
        used, spent = outcome.tokens, outcome.spent or outcome.tokens
        found = AnswerFinding(*(getattr(outcome, name) for name in AnswerFinding._fields))
        self._codes.extend(
            (
                self._tasks[outcome.task],
                number,
                outcome.trial,
                self._found[found],
                ENDINGS.index(outcome.ending),
                used is not None,
            )
        )
        self._used.extend((UNTOLD,) * 4 if used is None else map(stated, used))
        self._spent.extend((UNTOLD,) * 4 if spent is None else map(stated, spent))
        self._differs |= spent != used

    def end(self) -> Outcomes:
        """All of them."""
        import numpy as np

        codes = np.array(self._codes, dtype=np.int64).reshape(-1, 6)
        task, question, trial, finding, ending, came = (codes[:, n].copy() for n in range(6))
        return Outcomes(
            tasks=list(self._tasks),
            questions=self._asked,
            findings=Findings(list(self._found)),
            task=task,
            question=question,
            trial=trial,
            finding=finding,
            ending=ending,
            came=came.astype(np.bool_),
            used=np.array(self._used, dtype=np.int64).reshape(-1, 4),
            spent=np.array(self._spent, dtype=np.int64).reshape(-1, 4) if self._differs else None,
        )
