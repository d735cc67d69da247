"""Which packages there are: every folder of the rooms that has an `__init__.py`, so that a new one needs no entry."""

import sys
from pathlib import Path

from setuptools import setup

ROOMS = ("core", "engines", "judges", "tasks", "evaluation", "report", "dataset_builders", "hub_cards", "scripts")
NOT_SHIPPED = "livek12.scripts.bench"
"""Run from a checkout."""

found = sorted(init.parent.as_posix() for room in ROOMS for init in Path(room).rglob("__init__.py"))
packages = [
    name for name in (f"livek12.{folder.replace('/', '.')}" for folder in found) if not name.startswith(NOT_SHIPPED)
]
rooms = {"livek12": "src/livek12", **{f"livek12.{room}": room for room in ROOMS}}
setup(
    packages=["livek12", *packages],
    include_package_data=False,  # setup.cfg names the files; with a [project] table all that MANIFEST.in has would come
    # An editable checkout is a path to src: type checkers follow no import hook.
    package_dir={"": "src"} if "editable_wheel" in sys.argv and Path("src/livek12/core").is_dir() else rooms,
)
