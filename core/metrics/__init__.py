"""Modules for `evaluate.load`, shipped as files in the folders beside this one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

from livek12.core.arguments import one_of
from livek12.core.errors import UserError, explain_errors
from livek12.core.files import write_atomically

_HERE = Path(__file__).resolve().parent
METRICS: Final = {
    "livek12_answer_judge": "Whether responses agree with reference answers, by rules or a model judge.",
    "livek12_cfe": "Variable accuracy and question accuracy of CFE-Bench.",
    "livek12_exam": "Marks of an exam: accuracy, OCS, PES, OES, ARL, Acc≤r (LiveK12Bench).",
    "pass_at_k_unbiased": "The chance that one of k samples is correct, without bias.",
}
"""Every module with what it computes."""
_CARD = """\
---
title: {name}
sdk: gradio
app_file: app.py
pinned: false
license: apache-2.0
tags:
- evaluate
- metric
description: {about}
---
# {name}

{described}

```python
import evaluate

metric = evaluate.load("{name}")  # the path of this folder, or its name on the Hub
```

## Inputs

{inputs}
"""
_APP = """\
\"\"\"The page of the metric.\"\"\"

from pathlib import Path

import evaluate
from evaluate.utils import launch_gradio_widget

launch_gradio_widget(evaluate.load(str(Path(__file__).resolve().parent / "{name}.py")))
"""


def metric_path(name: str) -> str:
    """Folder of a module of `METRICS`, for `evaluate.load`."""
    return str(_HERE / one_of("METRIC", name, tuple(METRICS)))


def space(name: str, out: Path) -> Path:
    """Writes a module of `METRICS` as a folder for a Space; returns the folder."""
    from livek12.core.version import __version__

    source = (Path(metric_path(name)) / f"{name}.py").read_text(encoding="utf-8")
    files = {
        f"{name}.py": source,
        "README.md": _CARD.format(
            name=name,
            about=json.dumps(METRICS[name], ensure_ascii=False),
            described=_text("DESCRIPTION", source),
            inputs=_text("INPUTS", source),
        ),
        "app.py": _APP.format(name=name),
        "requirements.txt": f"livek12=={__version__}\nevaluate>=0.4.3\n",
    }
    folder = out / name
    with explain_errors(f"{folder}: cannot be written", "; name another folder"):
        folder.mkdir(parents=True, exist_ok=True)
        if strange := sorted(path.name for path in folder.iterdir() if path.name not in {*files, ".git"}):
            raise UserError(f"{folder}: holds {strange[0]}, which is no part of a metric: name another folder")
        for file, text in files.items():
            write_atomically(folder / file, text)
    return folder


def _text(name: str, source: str) -> str:
    """Read from the source so that `evaluate` need not be loaded."""
    match = re.search(rf'^{name} = """\\\n(.+?)"""', source, flags=re.MULTILINE | re.DOTALL)
    assert match is not None, name
    return match[1].strip()
