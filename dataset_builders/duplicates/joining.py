"""Bucket joins on shared keys, linear in the number of keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from livek12.dataset_builders.duplicates.shingling import spread

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CROWD = 16
"""Members of one bucket that are all compared with each other.

In larger buckets a row meets the first member, and those that share a narrower key. A pair in a crowd of lookalikes may
be missed.
"""


class Buckets:
    """Members by key, in ascending order; default: 0, 1, 2, ….

    Levels run from the widest key to the narrowest; a shared key implies the wider ones.
    """

    def __init__(self, levels: Sequence[NDArray[np.uint64]], members: NDArray[np.int64] | None = None) -> None:
        import numpy as np

        self._levels = []
        for keys in levels:
            order = np.argsort(keys, kind="stable")
            ordered = keys[order]
            self._levels.append((ordered, order if members is None else members[order]))
            if not (ordered[CROWD:] == ordered[: max(0, len(ordered) - CROWD)]).any():
                break

    def join(self, asked: Sequence[NDArray[np.uint64]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Pairs of a row of `asked` (keys, widest first) and a member of one of its buckets."""
        import numpy as np

        rows = np.arange(len(asked[0]))
        askers: list[NDArray[np.int64]] = []
        matches: list[NDArray[np.int64]] = []
        for (ordered, members), keys in zip(self._levels, asked, strict=False):
            own = keys[rows]
            begin = np.searchsorted(ordered, own, "left")
            count = np.searchsorted(ordered, own, "right") - begin
            crowded = count > CROWD
            count[crowded] = 1
            askers.append(np.repeat(rows, count))
            matches.append(members[spread(begin, count)])
            rows = rows[crowded]
            if not len(rows):
                break
        return np.concatenate(askers), np.concatenate(matches)
