"""Shingles and MinHash signatures of many texts, over numpy.

Contract: pieces of a text are separated by `BREAK`; shingles are runs of `size` characters within a piece, a shorter
piece is one. Signatures are equal on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BREAK = "\0"
_SHINGLE_BITS = 44
"""Hash bits of a shingle in a set, below 20 bits for its text. Two of 300 shingles collide with probability 10^-8."""
_FEW = 1_024
"""Shingles that pass all permutations in one step: those of a single text."""
_FACTOR = 0x100000001B3


class Ragged(NamedTuple):
    """Concatenated runs of numbers, one a text, and their lengths."""

    values: NDArray[np.uint64]
    lengths: NDArray[np.int64]


def shingles(texts: Sequence[str], size: int) -> Ragged:
    """Hashes of each text's shingles in order, repeats included."""
    import numpy as np

    padded = [BREAK.join([piece.ljust(size, BREAK) for piece in text.split(BREAK)]) for text in texts]
    ends = np.cumsum([len(text) + 1 for text in padded], dtype=np.int64)
    joined = BREAK.join([*padded, BREAK * size])
    codes = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.uint64)
    starts = int(ends[-1]) if len(ends) else 0
    hashes: NDArray[np.uint64] = np.zeros(starts, dtype=np.uint64)
    whole: NDArray[np.bool_] = np.ones(starts, dtype=bool)
    for place in range(size):
        hashes = hashes * np.uint64(_FACTOR) + codes[place : place + starts]
        whole &= codes[place : place + starts] != 0
    first = np.concatenate([[True], codes[: starts - 1] == 0])[:starts]
    keep = (codes[:starts] != 0) & (whole | first)  # a run that crosses a break counts only at the start of a piece
    before = np.concatenate([[0], np.cumsum(keep)])
    kept_before = before[np.concatenate([[0], ends])]
    return Ragged(mixed(hashes[keep]), np.diff(kept_before))


def signatures(runs: Ragged, size: int) -> NDArray[np.uint32]:
    """MinHash signatures: shape (size, texts); zeros for a text without shingles."""
    import numpy as np

    factors, offsets = _permutations(size)
    signature: NDArray[np.uint32] = np.zeros((size, len(runs.lengths)), dtype=np.uint32)
    some = runs.lengths > 0
    if not some.any():
        return signature
    starts = (np.cumsum(runs.lengths) - runs.lengths)[some]
    values = (runs.values >> np.uint64(32)).astype(np.uint32)
    if len(values) < _FEW:
        signature[:, some] = np.minimum.reduceat(values[:, None] * factors + offsets, starts, axis=0).T
        return signature
    permuted = np.empty_like(values)
    for row, (factor, offset) in enumerate(zip(factors, offsets, strict=True)):
        np.multiply(values, factor, out=permuted)
        np.add(permuted, offset, out=permuted)
        signature[row, some] = np.minimum.reduceat(permuted, starts)
    return signature


def jaccards(
    texts: Sequence[str], size: int, first: NDArray[np.int64], other: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Jaccard similarity of pairs, given as indices of at most 2^20 texts; at most 2^20 pairs."""
    import numpy as np

    values, lengths = _sets(shingles(texts, size))
    starts = np.cumsum(lengths) - lengths
    pairs = np.arange(len(first), dtype=np.uint64) << np.uint64(_SHINGLE_BITS)
    parts = [values[spread(starts[side], lengths[side])] | np.repeat(pairs, lengths[side]) for side in (first, other)]
    both = np.sort(np.concatenate(parts))
    same = both[1:][both[1:] == both[:-1]] >> np.uint64(_SHINGLE_BITS)
    shared = np.bincount(same.astype(np.int64), minlength=len(first))
    return shared / np.maximum(1, lengths[first] + lengths[other] - shared)


def _sets(runs: Ragged) -> Ragged:
    import numpy as np

    bits = np.uint64(_SHINGLE_BITS)
    texts: NDArray[np.uint64] = np.repeat(np.arange(len(runs.lengths), dtype=np.uint64), runs.lengths)
    tagged = np.sort((texts << bits) | (runs.values >> np.uint64(64 - _SHINGLE_BITS)))
    if len(tagged):
        tagged = tagged[np.concatenate([[True], tagged[1:] != tagged[:-1]])]
    lengths = np.bincount((tagged >> bits).astype(np.int64), minlength=len(runs.lengths))
    return Ragged(tagged & np.uint64((1 << _SHINGLE_BITS) - 1), lengths)


def spread(starts: NDArray[Any], lengths: NDArray[Any]) -> NDArray[np.int64]:
    """Concatenated ranges start, start + 1, …."""
    import numpy as np

    total = int(lengths.sum())
    return np.arange(total, dtype=np.int64) + np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)


def mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Bijection of 64-bit numbers with full avalanche (the finaliser of splitmix64)."""
    import numpy as np

    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


@lru_cache(maxsize=4)
def _permutations(size: int) -> tuple[Any, Any]:
    import numpy as np

    numbers = (mixed(np.arange(1, 2 * size + 1, dtype=np.uint64)) >> np.uint64(32)).astype(np.uint32)
    return numbers[:size] | np.uint32(1), numbers[size:]
