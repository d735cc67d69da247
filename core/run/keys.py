"""Sets of the keys of a run, small enough for millions: one number a question, one bit of it a trial."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from livek12.core.light import ResponseHead, StoredKey
from livek12.core.records import Key
from livek12.core.run.journal import Tail, placed_keys

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class KeySet(AbstractSet[str]):
    """A set of keys as text (`str(Key)`); looks like any set of strings, and only grows."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._trials: dict[str, int] = {}
        self._count = 0
        for key in keys:
            name, _, trial = key.rpartition("/")
            self._mark(name, int(trial))

    def add(self, key: Key) -> bool:
        """Adds a key; whether it is new.

        Raises:
            ValueError: a trial below 0.
        """
        return self._mark(f"{key.task}/{key.question_id}", key.trial)

    def _mark(self, name: str, trial: int) -> bool:
        before = self._trials.get(name, 0)
        after = before | 1 << trial
        if after == before:
            return False
        self._trials[name] = after
        self._count += 1
        return True

    def __contains__(self, key: object) -> bool:
        name, _, trial = str(key).rpartition("/")
        found = self._trials.get(name)
        return found is not None and trial.isdecimal() and bool(found >> int(trial) & 1)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        for name, trials in self._trials.items():
            for trial in range(trials.bit_length()):
                if trials >> trial & 1:
                    yield f"{name}/{trial}"

    def __or__(self, other: Iterable[str]) -> KeySet:  # type: ignore[override]  # narrower than any set's
        both = KeySet(other)
        for name, trials in self._trials.items():
            both._trials[name] = both._trials.get(name, 0) | trials
        both._count = sum(trials.bit_count() for trials in both._trials.values())
        return both


class ByModel(Protocol):
    """What is to be known of a response."""

    @property
    def key(self) -> Key:
        """Names it."""

    @property
    def model(self) -> str:
        """Who said it."""


class Expected:
    """Whether a response is by the model of a run, and to something that it asks; counts those that are not.

    Args:
        path: of the run folder.
        model: that the run asks.
        asked: task and id of each of its questions.
        trials: of each question.
        on_problem: told by `tell`.
    """

    def __init__(
        self,
        path: Path,
        model: str,
        asked: Container[tuple[str, str]],
        trials: int,
        on_problem: Callable[[str], None] | None = None,
    ) -> None:
        self._path, self._model, self._trials, self._on_problem = path, model, trials, on_problem
        self._asked = asked
        self._others: dict[str, tuple[str, int]] = {}  # of each kind what is said of the first, and how many there are

    def __call__(self, response: ByModel) -> bool:
        """Whether it is."""
        key = response.key
        if (key.task, key.question_id) not in self._asked or not 0 <= key.trial < self._trials:
            return self._refused("unasked", f"is to {key}, which this run does not ask")
        if response.model != self._model:
            return self._refused("model", f"is by {response.model!r:.80}, and this run asks {self._model!r}")
        return True

    def tell(self) -> None:
        """Says of each kind in one line how many were passed over."""
        for first, count in self._others.values():
            if self._on_problem:
                self._on_problem(f"{self._path}: {count} of its responses passed over: the first {first}")

    def _refused(self, kind: str, told: str) -> bool:
        first, count = self._others.get(kind, (told, 0))
        self._others[kind] = (first, count + 1)
        return False


class AnsweredKeys:
    """The keys of the responses that a run asks for; they only become more.

    Args:
        folder: of the run.
        expected: whether a response is one of the run.
        on_problem: told of damaged lines, at the first look.
    """

    def __init__(self, folder: Path, expected: Expected, on_problem: Callable[[str], None] | None = None) -> None:
        self._folder, self._expected, self._on_problem = folder, expected, on_problem
        self._keys = KeySet()
        self._tail: Tail[ResponseHead] | None = None

    def __call__(self) -> KeySet:
        """The keys as of now; the same set each time.

        Raises:
            UserError: a journal cannot be read.
        """
        if self._tail is None:
            ends: dict[Path, int] = {}
            for place, response in placed_keys(self._folder, "responses", ResponseHead, self._on_problem):
                ends[place.path] = place.end
                self._put(response)
            self._tail = Tail(self._folder, "responses", ResponseHead, ends)
            self._expected.tell()
        for response in self._tail.fresh():
            self._put(response)
        return self._keys

    def _put(self, response: ResponseHead | StoredKey) -> None:
        if self._expected(response):
            self._keys.add(response.key)
