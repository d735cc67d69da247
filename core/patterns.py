"""Patterns that are compiled when they are first used: hundreds of them cost more than marking hundreds of answers."""

from __future__ import annotations

import re
from typing import Any, cast


class _Compiled:
    """Has the methods of a pattern as attributes of its own."""


class _Late(_Compiled):
    """Stands for a pattern until it is used; then it is a plain `_Compiled`, whose attributes are found quicker."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern, self._flags = pattern, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._flags)
        self.__dict__ |= {known: getattr(compiled, known) for known in dir(compiled) if not known.startswith("_")}
        self.__class__ = _Compiled  # type: ignore[assignment]
        return getattr(compiled, name)


def late(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """A pattern, compiled when it is first used: for what many inputs never need.

    It has all that `re.Pattern` has, but is not the object that the `re` of a match names. What is wrong with a pattern
    is told at its first use.
    """
    return cast("re.Pattern[str]", _Late(pattern, flags))
