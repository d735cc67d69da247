"""Which keys of a run have a response, as of now: read once, and from then on only what has been added.

Contract: the answers of a run may be millions, and whoever asks has to know before the engine is made whether any is
missing, and again once he holds a journal, for others may have answered meanwhile. The second look costs what is new.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from livek12.core.journal import ResponseHead, Tail, placed_keys
from livek12.core.keys import KeySet
from livek12.core.packed_rows import StoredKey

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from livek12.core.expected import Expected


class AnsweredKeys:
    """The keys of the responses that a run asks for; they only become more.

    Args:
        folder: of the run.
        expected: whether a response is one of the run.
        on_problem: told of damaged lines, at the first look.
    """

    def __init__(self, folder: Path, expected: Expected, on_problem: Callable[[str], None] | None = None) -> None:
        self._folder, self._expected, self._on_problem = folder, expected, on_problem
        self._keys = KeySet()
        self._tail: Tail[ResponseHead] | None = None

    def __call__(self) -> KeySet:
        """The keys as of now; the same set each time.

        Raises:
            UserError: a journal cannot be read.
        """
        if self._tail is None:
            ends: dict[Path, int] = {}
            for place, response in placed_keys(self._folder, "responses", ResponseHead, self._on_problem):
                ends[place.path] = place.end
                self._put(response)
            self._tail = Tail(self._folder, "responses", ResponseHead, ends)
            self._expected.tell()
        for response in self._tail.fresh():
            self._put(response)
        return self._keys

    def _put(self, response: ResponseHead | StoredKey) -> None:
        if self._expected(response):
            self._keys.add(response.key)
