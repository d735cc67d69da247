"""Where the answers to the whole questions are, of a run that asks them in parts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from livek12.core.errors import UserError
from livek12.core.progress import warn
from livek12.core.run.folder import RunFolder
from livek12.core.scoring import Row


def whole_rows(folder: RunFolder, base: Path | None = None) -> Iterator[Row]:
    """The answers of another run to the whole questions.

    Args:
        folder: the run that asks in parts.
        base: the other run; None: the one whose failures were asked about, where there is one and it still lies there.

    Raises:
        UserError: `base` is no run, or one of another model.
    """
    spec = folder.spec()
    if base is None:
        if spec.chosen is None:
            return
        try:
            other = RunFolder.open(Path(spec.chosen.run), warn)
        except UserError as error:
            warn(f"nothing is said of the whole questions: {error}; --base RUN says where they were asked")
            return
    else:
        other = RunFolder.open(base, warn)
        if other.spec().model != spec.model:
            raise UserError(f"--base {base}: is a run of {other.spec().model}, and {folder.path} of {spec.model}")
    yield from other.rows()
