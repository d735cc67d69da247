"""Lazily compiled regular expressions (compiling all at import costs more than marking a few hundred answers)."""

from __future__ import annotations

import re
from typing import Any, cast


class _Compiled:
    """Has the methods of a pattern as attributes of its own."""


class _Late(_Compiled):
    """Pattern until its first use; then a faster `_Compiled`."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern, self._flags = pattern, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._flags)
        self.__dict__ |= {
            attribute: getattr(compiled, attribute) for attribute in dir(compiled) if not attribute.startswith("_")
        }
        self.__class__ = _Compiled  # type: ignore[assignment]
        return getattr(compiled, name)


def late(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Pattern compiled at its first use; a match's `re` is another object."""
    return cast("re.Pattern[str]", _Late(pattern, flags))
