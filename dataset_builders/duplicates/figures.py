"""Perceptual hashes of figures, robust to scale, compression, margins and slight crops.

Contract: after cutting margins of one colour, the hash is the signs of the lowest frequencies (discrete cosine
transform of 32 x 32 greys, as in Zauner, "Implementation and Benchmarking of Perceptual Image Hash Functions", 2010).
Empty, tiny and damaged pictures have none; `validate` reports damage.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from livek12.core.records import Image
from livek12.dataset_builders.duplicates.shingling import mixed
from livek12.dataset_builders.reading.pictures import FORMATS, MAX_PIXELS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Figure = tuple[int, float]
"""Hash of `BITS` bits, and width / height without margins."""
FREQUENCIES, GREYS = 12, 32
BITS = FREQUENCIES**2 - 1
"""All but the mean grey."""
SAME_FIGURE = 0.2
"""Largest share of differing bits for one figure, with shapes within `SAME_SHAPE`."""
SAME_ALONE = 0.12
"""The bound if the texts have little in common: charts and sketches of one kind look alike."""
SAME_SHAPE = 1.2
SMALLEST = 32
"""Pixels a side; smaller pictures are symbols in a line."""
LARGEST = 512
"""Pixels a side, to which larger pictures are reduced."""
CONTRAST = 40
"""Smallest difference from the margin's grey, of 256, that is no margin."""
TABLES = 32
LEVELS = (12, 18, 24)
"""Bits that two figures must share in one of `TABLES` draws; more for crowds.

Missed pairs: 1 in 10^4 at a tenth of the bits differing, 8 in 1000 at 15 %, 10 in 100 at the bound.
"""
_MARGINS = 6
MOST_KNOWN = 10_000
_KNOWN: dict[bytes, Figure | None] = {}
"""Hashes of recent pictures by content: a figure may belong to every question of a group."""


def figure_of(image: Image) -> Figure | None:
    """Returns the cached hash of a picture; None for no figure."""
    data = image.bytes or b""
    content = blake2b(data, digest_size=16).digest()
    if content not in _KNOWN:
        if len(_KNOWN) == MOST_KNOWN:
            _KNOWN.clear()
        _KNOWN[content] = _figure(data)
    return _KNOWN[content]


def _figure(data: bytes) -> Figure | None:
    from PIL import Image as Pillow

    try:
        with Pillow.open(io.BytesIO(data), formats=FORMATS) as picture:
            if picture.width * picture.height > MAX_PIXELS:
                return None
            picture.draft("L", (LARGEST, LARGEST))
            if picture.mode in ("L", "RGB") and "transparency" not in picture.info:
                flat = picture.convert("L")
            else:
                grey = picture.convert("LA")
                flat = Pillow.new("L", picture.size, 255)
                flat.paste(grey.getchannel(0), mask=grey.getchannel(1))
    except Exception:  # Pillow's decoders raise whatever a hostile file makes them raise
        return None
    return _hash(flat) if min(flat.size) >= SMALLEST else None


def _hash(picture: Any) -> Figure | None:
    import numpy as np
    from PIL import Image as Pillow

    picture.thumbnail((LARGEST, LARGEST))
    inner = _without_margins(np.asarray(picture, dtype=np.int16))
    if min(inner.shape) < SMALLEST // 4:
        return None
    small = Pillow.fromarray(inner.astype(np.uint8)).resize((GREYS, GREYS), Pillow.Resampling.BOX)
    waves = _cosines()
    amplitudes = (waves @ np.asarray(small, dtype=np.float64) @ waves.T).ravel()[1:]
    bits = np.packbits(amplitudes > np.median(amplitudes)).tobytes()
    return int.from_bytes(bits, "big"), inner.shape[1] / inner.shape[0]


def _without_margins(greys: NDArray[np.int16]) -> NDArray[np.int16]:
    import numpy as np

    for _ in range(_MARGINS):
        edge = np.concatenate([greys[0], greys[-1], greys[:, 0], greys[:, -1]])
        drawn = np.abs(greys - np.median(edge)) > CONTRAST
        rows, columns = np.flatnonzero(drawn.any(axis=1)), np.flatnonzero(drawn.any(axis=0))
        if not len(rows):
            return greys[:0]
        top, left = rows[0] + (rows[0] > 0), columns[0] + (columns[0] > 0)  # greys are blended at the border
        bottom, right = rows[-1] + (rows[-1] == len(greys) - 1), columns[-1] + (columns[-1] == greys.shape[1] - 1)
        inner = greys[top:bottom, left:right]
        if inner.shape == greys.shape or min(inner.shape) < SMALLEST // 4:
            return inner
        greys = inner
    return greys


@lru_cache(maxsize=1)
def _cosines() -> Any:
    """Lowest waves of the discrete cosine transform: shape (FREQUENCIES, GREYS)."""
    import numpy as np

    waves, places = np.arange(FREQUENCIES)[:, None], np.arange(GREYS)[None]
    return np.cos(np.pi * waves * (2 * places + 1) / (2 * GREYS))


def distance(some: Iterable[Figure], others: Sequence[Figure]) -> float | None:
    """Least share of differing bits among figures of one shape; None without such a pair."""
    distances = [
        (bits ^ other).bit_count() / BITS
        for bits, shape in some
        for other, other_shape in others
        if max(shape, other_shape) <= SAME_SHAPE * min(shape, other_shape)
    ]
    return min(distances, default=None)


def is_same(share: float | None, bound: float = SAME_FIGURE) -> bool:
    """Test a distance against the bound of one figure."""
    return share is not None and share <= bound


def figure_keys(figures: Sequence[Figure]) -> NDArray[np.uint64]:
    """Join keys of figures: shape (TABLES, LEVELS, figures), the bits of a draw at each level."""
    import numpy as np

    raw = b"".join(bits.to_bytes((BITS + 7) // 8, "big") for bits, _ in figures)
    bits = np.unpackbits(np.frombuffer(raw, dtype=np.uint8)).reshape(len(figures), -1)[:, :BITS].astype(np.uint64)
    keys: NDArray[np.uint64] = np.empty((TABLES, len(LEVELS), len(figures)), dtype=np.uint64)
    for table in range(TABLES):
        drawn = np.argsort(mixed(np.arange(BITS, dtype=np.uint64) + np.uint64(BITS * table)))
        for level, size in enumerate(LEVELS):
            keys[table, level] = bits[:, drawn[:size]] @ (np.uint64(1) << np.arange(size, dtype=np.uint64))
    return keys
