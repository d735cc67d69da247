"""Logs of other harnesses as recorded responses: one module a harness.

Contract: a module's `rows(path, tasks)` yields plain rows (`task`, `question_id`, `trial`, `response` and whatever the
log tells of `finish_reason`, `max_tokens`, `model`, `seconds`, token counts), as the replay engine takes them, and in
`marked` what judge models said there (`marks`). Nothing the log does not say is put in. A damaged entry costs one
warning with its place; a log with none of the tasks is a UserError.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Collection
from pathlib import Path

from livek12.core.errors import UserError
from livek12.core.files import write_atomically
from livek12.core.run.access import make_folder

READERS: dict[str, str] = {
    "lm-eval": "livek12.evaluation.imports.lm_eval",
    "lmms-eval": "livek12.evaluation.imports.lmms_eval",
    "inspect": "livek12.evaluation.imports.inspect_ai",
    "lighteval": "livek12.evaluation.imports.lighteval",
    "vlmevalkit": "livek12.evaluation.imports.vlmevalkit",
    "evalscope": "livek12.evaluation.imports.evalscope",
}
IMPORTED = "imported.jsonl"


def as_jsonl(path: Path, source: str, tasks: Collection[str], out: Path) -> Path:
    """The recorded responses of a harness's log as a JSONL file in the run folder.

    Args:
        path: the log, a file or a folder.
        source: the harness, one of `READERS`.
        tasks: our names of the tasks that are wanted.
        out: the run folder.

    Raises:
        UserError: the log is not there, not readable, or holds none of the tasks; or `out` is something else.
    """
    if not path.exists():
        raise UserError(f"{path}: no such file or folder; give what {source} wrote")
    rows = importlib.import_module(READERS[source]).rows(path, tasks)
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    make_folder(out)
    write_atomically(out / IMPORTED, "".join(lines))
    return out / IMPORTED
