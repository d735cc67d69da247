"""How many questions and trials of a run are in which state: what a command that judges says at its end.

Contract: the same counts as those of `RunFolder.rows`. Where each answer has one verdict and people have set no mark,
as after a first marking, only the heads of the verdicts are read; otherwise all records.
"""

from __future__ import annotations

from collections import Counter
from typing import get_args

from livek12.core.journal import read_journal
from livek12.core.keys import KeySet
from livek12.core.markings import REGRADES
from livek12.core.record import Record
from livek12.core.run_folder import RunFolder
from livek12.core.run_records import Key, State


class _Head(Record, extra="ignore"):
    """Of a verdict, what it is on and what came of it; the rest of its line is not looked at."""

    key: Key
    state: State


def states(run: RunFolder) -> dict[State, int]:
    """How many there are of each state, in the order of `State`.

    Raises:
        UserError: a file of the run cannot be read.
    """
    found = _by_heads(run) or Counter(row.state for row in run.rows())
    return {state: found[state] for state in get_args(State)}


def _by_heads(run: RunFolder) -> Counter[State] | None:
    """The same, if one verdict on each answer is all that there is."""
    if (run.path / REGRADES).exists():
        return None
    found, answered, marked = Counter[State](), run.answered(), KeySet()
    for verdict in read_journal(run.path, "verdicts", _Head):
        if not marked.add(verdict.key) or str(verdict.key) not in answered:
            return None
        found[verdict.state] += 1
    if len(marked) != len(answered):
        return None
    asked, trials = run.asked(), run.spec().trials
    left = len(asked) * trials - len(answered)
    for failure in run.failures().values() if left else ():
        key = failure.key
        if (key.task, key.question_id) in asked and 0 <= key.trial < trials and str(key) not in answered:
            found[failure.state] += 1
            left -= 1
    found["failed"] += left
    return found
