"""`livek12 study`: the trust that marks of run folders deserve; a module for each kind of study."""

from __future__ import annotations

import importlib

from livek12.scripts import options

KINDS = (
    *("agreement", "corrected", "inter-judge", "intra-judge", "sensitivity", "methods", "stability", "reliability"),
    *("items", "contamination", "first-error", "tables", "diagnostics", "steps", "error-types", "completion"),
)

app = options.command()


@app.callback()
def study() -> None:
    """Measure how far marks can be trusted: agreement, sensitivity, stability, items; judges beside experts."""


for _kind in KINDS:
    _module = importlib.import_module(f"{__name__}.{_kind.replace('-', '_')}")
    app.command(_kind, epilog=_module.EPILOG)(_module.command)
