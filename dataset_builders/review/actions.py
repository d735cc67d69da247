"""Review actions, one a journal line.

Contract: actions are ordered by (`order`, `by`, `id`); `order` is a Lamport clock, so responses follow causes whatever
the machines' clocks.
"""

from __future__ import annotations

from typing import Any, Literal

from livek12.core.records import Record
from livek12.dataset_builders.ingest.drafts import Draft, Figure
from livek12.dataset_builders.ingest.pages.blocks import Box

STEM = "reviews"
"""Journal name in `.ingest/`."""
Kind = Literal["edit", "split", "merge", "accept", "reject", "reopen", "comment", "settle", "undo"]
Decided = Literal["accepted", "rejected"]
DECISIONS: dict[str, Decided] = {"accept": "accepted", "reject": "rejected"}


class Action(Record):
    """One action.

    Attributes:
        id: made by the page, so that resent actions are stored once.
        at: ISO 8601, UTC.
        draft: the question; for an undo, that of the undone action.
        group: shared by edits that are undone together.
        fields: changed form fields.
        boxes, figures: complete new values (None: unchanged).
        replaces, drafts: old and new questions of a split or merge.
        digest: of the decided copy.
        text: a reason or a comment.
        other: reviewer whose copy a settlement takes.
        targets: undone actions.
    """

    id: str
    order: int
    by: str
    at: str
    kind: Kind
    draft: str
    group: str = ""
    fields: dict[str, Any] = {}
    boxes: list[Box] | None = None
    figures: list[Figure] | None = None
    replaces: list[str] = []
    drafts: list[Draft] = []
    digest: str = ""
    text: str = ""
    other: str = ""
    verdict: Decided | None = None
    targets: list[str] = []

    @property
    def rank(self) -> tuple[int, str, str]:
        """Sort key among all actions."""
        return self.order, self.by, self.id
