"""The records of a journal as they come: what was appended since the last look, each once.

Contract: only whole lines are read, in the order of each file; nothing is held in memory but a place in each file, so
that a reader may fall behind as far as the disk is large.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Generic, TypeVar

from livek12.core.errors import UserError
from livek12.core.journal import journal_files
from livek12.core.records import Record

R = TypeVar("R", bound=Record)


class Tail(Generic[R]):
    """Reads on where it stopped in every file of a stem.

    Args:
        folder: of the journal.
        stem: of its files.
        model: of its records.
    """

    def __init__(self, folder: Path, stem: str, model: type[R]) -> None:
        self._folder, self._stem, self._model = folder, stem, model
        self._places: dict[Path, int] = {}

    def fresh(self) -> Iterator[R]:
        """The records that were not given before; a line that holds none is passed over.

        Raises:
            UserError: a file cannot be read.
        """
        for path in journal_files(self._folder, self._stem):
            try:
                with path.open("rb") as lines:
                    lines.seek(self._places.get(path, 0))
                    for line in lines:
                        if not line.endswith(b"\n"):
                            break  # it is being written, or a kill cut it short
                        self._places[path] = self._places.get(path, 0) + len(line)
                        try:
                            record = self._model.model_validate_json(line)
                        except ValueError:
                            continue  # whoever reads the whole journal says so
                        yield record
            except OSError as error:
                raise UserError(f"{path}: cannot be read ({error.strerror})") from error
