"""Heavy libraries, imported when first used."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

__all__ = ["PIL", "np", "pa", "pq", "ray", "rich", "torch", "yaml"]


class Lazy:
    """A library; its submodules are attributes, imported or not."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # looked for by tools that go through modules
            raise AttributeError(name)
        library = import_module(self._name)
        if not hasattr(library, name) and find_spec(f"{self._name}.{name}"):
            import_module(f"{self._name}.{name}")
        value = getattr(library, name)
        setattr(self, name, value)
        return value


if TYPE_CHECKING:
    import numpy as np
    import PIL.Image
    import PIL.ImageChops
    import PIL.ImageDraw
    import PIL.ImageFont
    import PIL.ImageOps
    import pyarrow as pa
    import pyarrow.parquet as pq
    import ray
    import rich.box
    import rich.cells
    import rich.console
    import rich.padding
    import rich.progress
    import rich.table
    import rich.text
    import torch
    import yaml
else:
    PIL, np, pa, pq = map(Lazy, ("PIL", "numpy", "pyarrow", "pyarrow.parquet"))
    ray, rich, torch, yaml = map(Lazy, ("ray", "rich", "torch", "yaml"))
