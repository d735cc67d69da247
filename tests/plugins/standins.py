"""In the place of a harness that is not installed here: the few names of it that a plug-in of ours imports.

What stands in has what the harness's documentation says of those names, and no claim beyond that: it shows what our own
code does. Where the harness is installed, the same tests run on it.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import pytest


class Fields:
    """A record of whatever fields it is given; those that its class names have that value otherwise."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


@contextmanager
def plugin(name: str, harness: str, modules: Mapping[str, Mapping[str, Any]]) -> Iterator[Any]:
    """A module of ours, on its harness or on stand-ins; where those are used, nothing of them is left behind.

    Args:
        name: of our module.
        harness: the package of the harness.
        modules: what stands in for which module of it.
    """
    if importlib.util.find_spec(harness) is not None:
        yield importlib.import_module(name)
        return
    with pytest.MonkeyPatch.context() as patch:
        for path, names in modules.items():
            made = ModuleType(path)
            made.__dict__.update(names)
            patch.setitem(sys.modules, path, made)
        try:
            yield importlib.import_module(name)
        finally:
            sys.modules.pop(name, None)
