"""What waits for judges, as often as judges that take turns need it (`judges.llm.client`); once for all others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

from livek12.core.claims import Claims
from livek12.core.keys import KeySet
from livek12.core.progress import Progress
from livek12.core.records import Key, Verdict
from livek12.evaluation.flow import Flow
from livek12.judges.jury import Jury


class Waiting(Protocol):
    """What is to be marked, under the key that it is claimed by."""

    @property
    def key(self) -> Key:
        """Names it among what waits."""


W = TypeVar("W", bound=Waiting)


def in_rounds(
    stream: Callable[[], Iterator[W | None]],
    judges: Jury,
    flow: Flow[W, Verdict],
    claims: Claims,
    progress: Progress | None,
    claimed_by: Callable[[Verdict], Key] = lambda verdict: verdict.key,
) -> Iterator[Verdict]:
    """The verdicts on what waits.

    Args:
        stream: reads what waits, from the beginning; None where none waits at the moment.
        judges: who marks.
        flow: marks.
        claims: on what this process is to do.
        progress: told that there is life.
        claimed_by: the key of what a verdict is on.
    """
    done = KeySet()

    def waiting() -> Iterator[W | None]:
        for one in stream():
            if progress is not None:
                progress.beat()
            if one is None or (str(one.key) not in done and claims.take(str(one.key))):
                yield one

    while True:
        postponed = flow.postponed
        for verdict in flow.run(waiting()):
            if judges.schedule is not None:
                done.add(claimed_by(verdict))
            yield verdict
        if judges.schedule is None or flow.postponed == postponed:
            return
        judges.schedule.end_round()
