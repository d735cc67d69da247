"""Choices of questions: `--questions failed-in RUN`, and `--where FIELD=VALUE`.

A question counts as failed where more than half of its trials are decided and not fully right (no answer is not right);
as solved where at least half are decided and right; else as undecided, left out and named in run.json. Of a derived
task it is the question it is derived from.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from livek12.core.errors import UserError
from livek12.core.progress import say, warn
from livek12.core.records import Question
from livek12.core.run.folder import RunFolder
from livek12.core.run.spec import ChosenQuestions
from livek12.core.scoring import AXES, Row
from livek12.core.scoring.outcomes import outcome_bounds
from livek12.tasks.base import Task
from livek12.tasks.registry import find_task, is_derived

HOW = ("failed-in",)
_SHOWN = 5
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
_MOST_VALUES = 12


@dataclass
class OutcomeSplit:
    """Questions of one task of a run by outcome; ids in the order they were asked."""

    failed: list[str]
    solved: list[str]
    undecided: list[str]

    @property
    def all(self) -> int:
        """Their number."""
        return len(self.failed) + len(self.solved) + len(self.undecided)


@dataclass(frozen=True)
class Chosen:
    """Questions that a run asks or derives from, by task, and the same for run.json."""

    ids: Mapping[str, Collection[str]]
    noted: ChosenQuestions


def chosen_questions(given: tuple[str, Path] | None, tasks: Iterable[Task], model: str = "") -> Chosen | None:
    """Choice of `--questions HOW RUN`; None for no choice."""
    if given is None:
        return None
    how, path = given
    if how not in HOW:
        raise UserError(f"--questions {how}: is no way to choose questions; write --questions failed-in RUN")
    folder = RunFolder.open(path, warn)
    spec = folder.spec()
    if model and spec.model != model:
        warn(f"--questions: {path} is a run of {spec.model}, and the model asked now is {model}")
    bases = {task.name: _asked_in(task, {named.name for named in spec.tasks}, path) for task in tasks}
    splits = split_by_outcome(row for row in folder.rows() if row.task in bases.values())
    for name in dict.fromkeys(bases.values()):
        split = splits[name]
        if not split.failed:
            raise UserError(
                f"--questions failed-in {path}: no question of {name} counts as failed ({len(split.solved)} solved,"
                f" {len(split.undecided)} undecided): nothing to ask"
            )
        left_out = f"; {len(split.undecided)} are undecided and left out{_named(split)}" if split.undecided else ""
        say(f"{path}: {len(split.failed)} of {split.all} questions of {name} count as failed{left_out}")
    noted = ChosenQuestions(
        how=how,
        run=str(path),
        model=spec.model,
        failed={name: len(split.failed) for name, split in splits.items()},
        of={name: split.all for name, split in splits.items()},
        undecided={name: split.undecided for name, split in splits.items() if split.undecided},
    )
    return Chosen({name: frozenset(splits[base].failed) for name, base in bases.items()}, noted)


def split_by_outcome(rows: Iterable[Row]) -> dict[str, OutcomeSplit]:
    """Questions of each task by outcome."""
    right: defaultdict[str, dict[str, Counter[str]]] = defaultdict(dict)
    for row in rows:
        low, high = outcome_bounds(row)[1]
        word = "open" if low != high else "right" if low == 1 else "wrong"
        right[row.task].setdefault(row.question.id, Counter())[word] += 1
    splits = {}
    for task, questions in right.items():
        split = splits[task] = OutcomeSplit([], [], [])
        for id, trials in questions.items():
            total = trials.total()
            kept = (
                split.failed
                if 2 * trials["wrong"] > total
                else split.solved
                if 2 * trials["right"] >= total
                else split.undecided
            )
            kept.append(id)
    return splits


def asked_again(folder: RunFolder) -> dict[str, Collection[str]] | None:
    """Chosen questions of a run by task; None where it asked all."""
    if folder.spec().chosen is None:
        return None
    ids: defaultdict[str, set[str]] = defaultdict(set)
    for task, question in folder.each_question():
        ids[task].add(question.variant.of if is_derived(task) and question.variant else question.id)
    return dict(ids)


def _asked_in(task: Task, names: Collection[str], path: Path) -> str:
    looked_for = list(dict.fromkeys(_bases(task)))
    for name in looked_for:
        if name in names:
            return name
    raise UserError(
        f"--questions failed-in {path}: has no task {' or '.join(looked_for)}, whose failures {task.name} would ask;"
        f" it has {', '.join(sorted(names))}"
    )


def _bases(task: Task) -> Iterator[str]:
    if task.derive:
        yield task.asked_with
    else:
        yield from (task.name, task.base_name)
    if (base := find_task(task.variant_of)) and task.variant_of:
        yield from _bases(base)


def _named(split: OutcomeSplit) -> str:
    names = ", ".join(split.undecided[:_SHOWN])
    more = f" and {len(split.undecided) - _SHOWN} more, all in run.json" if len(split.undecided) > _SHOWN else ""
    return f" ({names}{more})"


class Where:
    """Questions that have one of the values; UserError for no field or value."""

    def __init__(self, text: str = "") -> None:
        field, _, listed = text.partition("=")
        if text and (field not in FIELDS or not listed):
            fields = ", ".join(sorted(FIELDS))
            raise UserError(f"--where {text!r:.80}: write FIELD=VALUE[,VALUE]; the fields are {fields}")
        self._text = text
        self._values_of = FIELDS[field] if text else None
        self._values = {value.strip() for value in listed.split(",")}

    def __bool__(self) -> bool:
        return self._values_of is not None

    def takes(self, question: Question) -> bool:
        """Tests whether the question is one of them."""
        return self._values_of is None or not self._values.isdisjoint(self._values_of(question))

    def nothing(self, name: str, run: RunFolder) -> UserError:
        """Error for a run without such a question."""
        values_of = self._values_of or (lambda question: ())
        values = sorted({value for _, question in run.each_question() for value in values_of(question) if value})
        more = f" and {len(values) - _MOST_VALUES} more" if len(values) > _MOST_VALUES else ""
        has = f"it has {', '.join(values[:_MOST_VALUES])}{more}" if values else "no question of it has any"
        return UserError(f"{name}: no question where {self._text}: {has}")
