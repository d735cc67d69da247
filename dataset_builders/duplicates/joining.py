"""Who is compared with whom: those that share a key, crowds apart.

Contract: the work grows with the number of keys, not with its square.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from livek12.dataset_builders.duplicates.shingling import spread

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CROWD = 16
"""So many that share a key are compared with each other. Where more do, only with the first of them, and with those
that share a narrower key as well; and so on. What may go unseen is a pair of a crowd in which many are alike."""


class Buckets:
    """Who has which key.

    Args:
        levels: the keys of all, widest first; whoever shares a key shares the wider ones too.
        members: whom they belong to, in ascending order; default: 0, 1, 2, ….
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
        """Pairs of an asking row (its place in `asked`) and a member of one of its buckets.

        Args:
            asked: the keys of those that ask, widest first.
        """
        import numpy as np

        rows = np.arange(len(asked[0]))
        askers: list[NDArray[np.int64]] = []
        found: list[NDArray[np.int64]] = []
        for (ordered, members), keys in zip(self._levels, asked, strict=False):
            own = keys[rows]
            left = np.searchsorted(ordered, own, "left")
            count = np.searchsorted(ordered, own, "right") - left
            crowded = count > CROWD
            count[crowded] = 1
            askers.append(np.repeat(rows, count))
            found.append(members[spread(left, count)])
            rows = rows[crowded]
            if not len(rows):
                break
        return np.concatenate(askers), np.concatenate(found)
