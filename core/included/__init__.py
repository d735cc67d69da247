"""Folders of `--include` as packages: FOLDER/NAME is `livek12.core.included.NAME` (see `core.benchmarks`).

The prefix avoids clashes with installed packages and lets workers unpickle functions. Neighbours of a folder are never
imported.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

from livek12.core.benchmarks import included

__path__ = []


def add(folder: Path) -> None:
    """Makes a folder a subpackage of this one."""
    name = f"{__name__}.{folder.name}"
    if name in sys.modules:
        return
    spec: ModuleSpec | None = ModuleSpec(name, None, is_package=True)
    if (folder / "__init__.py").is_file():
        spec = importlib.util.spec_from_file_location(name, folder / "__init__.py")
    assert spec is not None
    spec.submodule_search_locations = [str(folder)]
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        if spec.loader is not None:
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise


for _folder in included():
    with contextlib.suppress(Exception):  # whoever asks for this one is told
        add(_folder)
