"""Publishing a built data set to the Hub, and holding back what may not go there.

Contract: a set goes out only if it is sound (`validate`), and of it only rows that somebody reviewed and whose
licence is stated or whose permission is named; the rest is listed as withheld. A publish is one commit, so a reader
sees the old set or the new one; what was sent before a kill is not sent again; the same data commits nothing. A tag
is never moved. What was published is loaded back and compared. No token is ever printed or written.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from livek12.dataset_builders.publishing.publisher import Published


class Steps(Protocol):
    """Counts the steps of one piece of work."""

    def step(self) -> None:
        """One more is done."""


Watch = Callable[[str, int], AbstractContextManager[Steps]]
"""Shows progress: called with what is done and how many steps it takes."""


def publish(
    folder: Path,
    repo: str,
    *,
    private: bool = False,
    dry_run: bool = False,
    rights: Path | None = None,
    hold_answers: str | None = None,
    reveal_answers: bool = False,
    tag: str | None = None,
    watch: Watch | None = None,
) -> Published:
    """Publishes a built data set as a dataset repository of the Hub.

    Args:
        folder: made by `livek12 build`.
        repo: ORG/NAME; created where it is missing.
        private: create it private.
        dry_run: change nothing, and say what would change.
        rights: a file that names permissions for rows without a licence (see `rights`).
        hold_answers: ORG/NAME of a private repository that gets the newest release with its answers; the public
            one gets it without.
        reveal_answers: publish answers that an earlier publish held back.
        tag: name of this state; the newest release, or a hash of the content, where it is None.
        watch: shows progress.

    Raises:
        UserError: the set is not sound (`NotSound`), nothing of it may be published, the Hub refuses, or a tag or
            an earlier commit stands against it. Nothing half done is ever seen by a reader.
    """
    from livek12.dataset_builders.publishing.publisher import Publisher

    return Publisher(folder, watch).publish(
        repo,
        private=private,
        dry_run=dry_run,
        rights=rights,
        hold_answers=hold_answers,
        reveal_answers=reveal_answers,
        tag=tag,
    )
