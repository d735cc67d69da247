"""Sets of the keys of a run, small enough for millions: one number a question, one bit of it a trial."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet

from livek12.core.records import Key


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
