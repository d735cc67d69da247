"""Marks of other harnesses that are numbers."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from typing import Any


def number(value: Any) -> float | None:
    """A mark as a number: 0 to 1 for no and yes; None where it is none."""
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, int | float):
        return float(value) if abs(value) <= sys.float_info.max else None
    if isinstance(value, str):
        words = {"c": 1.0, "correct": 1.0, "true": 1.0, "yes": 1.0, "i": 0.0, "incorrect": 0.0, "false": 0.0, "no": 0.0}
        words |= {"p": 0.5, "partial": 0.5, "n": 0.0, "1": 1.0, "0": 0.0, "1.0": 1.0, "0.0": 0.0}
        return words.get(value.strip().lower())
    return None


def numbers(said: Any, but: Collection[str] = ()) -> dict[str, float]:
    """The marks among named values."""
    found = said.items() if isinstance(said, Mapping) else ()
    known = ((str(name), number(value)) for name, value in found if name not in but)
    return {name: value for name, value in known if value is not None}
