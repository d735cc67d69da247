"""Who hears of forks of this process: what holds locks, threads or children.

Contract: each is called once in every fork, while that has but one thread; nobody is kept alive for it.
"""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


class OfOneProcess(Protocol):
    """What holds locks, threads or children, none of which a fork may use."""

    def after_fork(self) -> None:
        """Lets go of them, in the fork, while that has but one thread."""
        ...


_told_of_forks: WeakSet[OfOneProcess] = WeakSet()


def tell_of_forks(thing: OfOneProcess) -> None:
    """From now on, and as long as it is used, calls `after_fork` in each fork of this process."""
    _told_of_forks.add(thing)


def _forked() -> None:
    for thing in list(_told_of_forks):
        thing.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
