"""What a reviewer does: one record an action, one line of the journal.

Contract: actions are ordered by (`order`, `by`, `id`): `order` is one more than the largest its writer had seen (a
Lamport clock), so that what was done in answer to something comes after it, whatever the clocks of two machines say.
"""

from __future__ import annotations

from typing import Any, Literal

from livek12.core.records import Record
from livek12.dataset_builders.ingest.drafts import Draft, Figure
from livek12.dataset_builders.ingest.pages.blocks import Box

STEM = "reviews"
"""Of the journal in `.ingest/`."""
Kind = Literal["edit", "split", "merge", "accept", "reject", "reopen", "comment", "settle", "undo"]
Decided = Literal["accepted", "rejected"]
DECISIONS: dict[str, Decided] = {"accept": "accepted", "reject": "rejected"}


class Action(Record):
    """One action.

    Attributes:
        id: made by the page, so that one sent twice is stored once.
        order: see the contract.
        by, at: who, and when (ISO 8601, UTC).
        kind: what.
        draft: the question it is about; of an undo, that of what it takes back.
        group: edits of one go of typing have the same and are taken back together.
        fields: of an edit, the fields of the form that changed; checked when it is made.
        boxes, figures: of an edit, all of them anew (None: as they were).
        replaces, drafts: of a split or merge, the questions that go and those that come in their place.
        digest: of a decision, that of the copy that was decided on.
        text: a reason or a comment.
        other: of a settlement, whose copy holds.
        verdict: of a settlement.
        targets: of an undo, the actions it takes back.
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
        """Its place among all actions."""
        return self.order, self.by, self.id
