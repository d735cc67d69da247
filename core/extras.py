"""How a missing extra is installed, said in one place: it changes when livek12 comes onto a package index."""

from __future__ import annotations


def install(*extras: str, beside: str = "") -> str:
    """The line that installs extras, and packages beside them; livek12 is installed from a clone (docs/install.md)."""
    return " ".join(filter(None, (f"pip install '.[{','.join(extras)}]'", beside, "in the clone of livek12")))
