"""Values of other libraries as Python's own, which JSON can say.

Contract: imports none of those libraries, and a value that cannot be said becomes something that no field of a row may
be.
"""

from __future__ import annotations

import struct
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

_PACKED: Final = {"float16": "e", "float32": "f"}
"""Of short floats the form in `struct`, by the last part of their type's name."""


def listed(value: Any) -> Any:
    """Python's own value for one of numpy or torch; any other as it is.

    Short floats become the shortest that is the same there: float32's 0.1 is 0.1, not 0.10000000149011612.
    """
    if not callable(own := getattr(value, "tolist", None)):
        return value
    kind = str(getattr(value, "dtype", "")).rpartition(".")[2]
    return _shortest(own(), _PACKED[kind]) if kind in _PACKED else own()


def plain(value: Any) -> Any:
    """What `json.dumps` cannot say by itself: numbers and lists of other libraries; else what no field may be."""
    if isinstance(value, Decimal | Fraction):
        return str(value)
    own = listed(value)
    return {"kind": type(value).__name__} if own is value else own


def _shortest(value: Any, packed: str) -> Any:
    if isinstance(value, list):
        return [_shortest(entry, packed) for entry in value]
    texts = (float(f"{value:.{digits}g}") for digits in range(1, 10))
    return next((short for short in texts if _bits(short, packed) == _bits(value, packed)), value)


def _bits(value: float, packed: str) -> bytes:
    try:
        return struct.pack(packed, value)
    except OverflowError:  # rounded up beyond the largest
        return b""
