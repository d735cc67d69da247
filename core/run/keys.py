"""Sets of a run's keys: compact for millions, filtered to the run, or kept up to date."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path

from livek12.core.packed import StoredKey
from livek12.core.records import Key, Response
from livek12.core.run.journal import ResponseHead, Tail, placed_keys


class KeySet(AbstractSet[str]):
    """Growing set of keys as text (`str(Key)`): one number a question, one bit of it a trial."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._trials: dict[str, int] = {}
        self._count = 0
        for key in keys:
            name, _, trial = key.rpartition("/")
            self._mark(name, int(trial))

    def add(self, key: Key) -> bool:
        """Adds a key (trial from 0); returns true if it is new."""
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
        trials = self._trials.get(name)
        return trials is not None and trial.isdecimal() and bool(trials >> int(trial) & 1)

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


class Expected:
    """Filter for responses of a run's model to its questions; counts the others."""

    def __init__(
        self,
        path: Path,
        model: str,
        run: str,
        asked: Container[tuple[str, str]],
        trials: int,
        on_problem: Callable[[str], None] | None = None,
    ) -> None:
        self._path, self._model, self._run, self._trials, self._on_problem = path, model, run, trials, on_problem
        self._asked = asked
        self._others: dict[str, tuple[str, int]] = {}  # of each kind what is said of the first, and how many there are

    def __call__(self, response: Response | ResponseHead | StoredKey) -> bool:
        """Returns true for a response of the run."""
        key = response.key
        if (key.task, key.question_id) not in self._asked or not 0 <= key.trial < self._trials:
            return self._refused("unasked", f"is to {key}, which this run does not ask")
        if response.model != self._model:
            return self._refused("model", f"is by {response.model!r:.80}, and this run asks {self._model!r}")
        if response.run not in (None, self._run):
            return self._refused("run", f"is of run {response.run!r:.20}, asked otherwise, and this is {self._run}")
        return True

    def tell(self) -> None:
        """Reports skipped responses, one line for each kind."""
        for first, count in self._others.values():
            if self._on_problem:
                self._on_problem(f"{self._path}: {count} of its responses passed over: the first {first}")

    def _refused(self, kind: str, phrase: str) -> bool:
        first, count = self._others.get(kind, (phrase, 0))
        self._others[kind] = (first, count + 1)
        return False


class AnsweredKeys:
    """Answered keys of a run; reads all once and then what other processes added."""

    def __init__(self, folder: Path, expected: Expected, on_problem: Callable[[str], None] | None = None) -> None:
        self._folder, self._expected, self._on_problem = folder, expected, on_problem
        self._keys = KeySet()
        self._tail: Tail[ResponseHead] | None = None

    def __call__(self) -> KeySet:
        """Same set each time."""
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
