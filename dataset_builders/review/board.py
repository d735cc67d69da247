"""Review state: actions, one a journal line, replayed over the papers.

Contract: actions are ordered by (`order`, `by`, `id`); `order` is a Lamport clock, so responses follow causes whatever
the machines' clocks. `Board(papers, actions)` depends on the set of actions alone; `apply` of a last-ranked action
equals a replay. A decision is valid while its copy is unchanged: an edit reopens the question, as does an ingest with
another outcome.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from livek12.core.errors import UserError
from livek12.core.records import Record
from livek12.dataset_builders.ingest.drafts import Draft, Figure, IngestedPaper
from livek12.dataset_builders.ingest.pages.blocks import Box
from livek12.dataset_builders.review.forms import Copy, copy_of, difference, patched

STEM = "reviews"
"""Journal name in `.ingest/`."""
Kind = Literal["edit", "split", "merge", "add", "accept", "reject", "reopen", "comment", "settle", "undo"]
Decided = Literal["accepted", "rejected"]
DECISIONS: dict[str, Decided] = {"accept": "accepted", "reject": "rejected"}
State = Literal["open", "accepted", "rejected", "conflict"]


class Action(Record):
    """One action.

    Attributes:
        id: made by the page, so that resent actions are stored once.
        draft: the question; for an undo, that of the undone action.
        group: shared by edits that are undone together.
        boxes, figures: complete new values (None: unchanged).
        replaces, drafts: old and new questions of a split or merge; an added question follows `draft` ("": none).
        paper: of an added question.
        digest: of the decided copy.
        other: reviewer whose copy a settlement takes.
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
    paper: str = ""
    digest: str = ""
    text: str = ""
    other: str = ""
    verdict: Decided | None = None
    targets: list[str] = []

    @property
    def rank(self) -> tuple[int, str, str]:
        """Sort key among all actions."""
        return self.order, self.by, self.id


class ReviewDecision(Record):
    """A reviewer's decision, or (with `other`) the settlement of a conflict."""

    by: str
    at: str
    verdict: Decided
    digest: str
    reason: str = ""
    other: str = ""


class Comment(Record):
    """A reviewer's comment on a question."""

    by: str
    at: str
    text: str


@dataclass
class Edits:
    """A reviewer's changes to a question."""

    fields: dict[str, Any] = field(default_factory=dict)
    boxes: list[Box] | None = None
    figures: list[Figure] | None = None
    _copy: Copy | None = None

    def copy_of(self, fresh: Copy) -> Copy:
        """Edited copy, cached."""
        if self._copy is None:
            try:
                self._copy = patched(fresh, self.fields, self.boxes, self.figures)
            except UserError:  # from a hand-written journal
                self._copy = fresh
        return self._copy


@dataclass
class Entry:
    """A question with its edits, decisions and comments.

    Attributes:
        draft: as ingested, split or merged.
        live: False after a split or merge.
        edits, decisions: by reviewer.
        settled: until a later decision.
    """

    paper_id: str
    draft: Draft
    live: bool = True
    edits: dict[str, Edits] = field(default_factory=dict)
    decisions: dict[str, ReviewDecision] = field(default_factory=dict)
    settled: ReviewDecision | None = None
    comments: list[Comment] = field(default_factory=list)
    history: list[Action] = field(default_factory=list)

    @cached_property
    def fresh(self) -> Copy:
        """Unedited copy."""
        return copy_of(self.draft)

    def copy(self, by: str) -> Copy:
        """A reviewer's copy."""
        edits = self.edits.get(by)
        return edits.copy_of(self.fresh) if edits else self.fresh

    def decided(self) -> dict[str, ReviewDecision]:
        """Valid decisions by reviewer."""
        return {by: made for by, made in self.decisions.items() if made.digest == self.copy(by).digest}

    def settlement(self) -> ReviewDecision | None:
        """The settlement, while the copy it took is unchanged."""
        made = self.settled
        return made if made and made.digest == self.copy(made.other).digest else None

    def state(self) -> State:
        """State over all reviewers."""
        if settled := self.settlement():
            return settled.verdict
        decided = list(self.decided().values())
        if not decided:
            return "open"
        if len({made.verdict for made in decided}) > 1 or self.differences():
            return "conflict"
        return decided[0].verdict

    def differences(self) -> list[str]:
        """Fields in which accepted copies differ."""
        copies = [self.copy(by) for by, made in self.decided().items() if made.verdict == "accepted"]
        return list(dict.fromkeys(name for other in copies[1:] for name in difference(copies[0], other)))

    def final(self) -> tuple[Copy, list[ReviewDecision]]:
        """Final copy and its decisions; only for accepted or rejected questions."""
        if settled := self.settlement():
            return self.copy(settled.other), [settled]
        decided = sorted(self.decided().values(), key=lambda made: (made.at, made.by))
        return self.copy(decided[-1].by), decided


class Board:
    """All questions of a folder.

    Attributes:
        entries: by question id, removed ones included.
        order: ids of live ones by paper.
        applied: ids of actions that had an effect.
    """

    def __init__(self, papers: Sequence[IngestedPaper], actions: Iterable[Action] = ()) -> None:
        self.papers = {paper.paper_id: paper for paper in papers}
        self.entries: dict[str, Entry] = {}
        self.order: dict[str, list[str]] = {}
        self.applied: set[str] = set()
        for paper in papers:
            self.entries |= {draft.id: Entry(paper.paper_id, draft) for draft in paper.drafts}
            self.order[paper.paper_id] = list(dict.fromkeys(draft.id for draft in paper.drafts))
        ranked = sorted(actions, key=lambda action: action.rank)
        self.undone = undone(ranked)
        for action in ranked:
            if action.id not in self.undone:
                self.apply(action)

    def live(self) -> list[Entry]:
        """Current questions, paper by paper, as printed."""
        return [self.entries[id] for ids in self.order.values() for id in ids]

    def entry(self, id: str) -> Entry:
        """Returns a live question, else raises UserError."""
        entry = self.entries.get(id)
        if entry is None or not entry.live:
            raise UserError(f"question {id[:80]!r} is not there (any more); it may have been split or merged")
        return entry

    def apply(self, action: Action) -> None:
        """Applies an action that ranks last and is no undo."""
        if action.kind == "add":
            self._add(action)
            return
        entry = self.entries.get(action.draft)
        if entry is None or not entry.live:
            return
        if action.kind in ("split", "merge"):
            if not self._restructure(action):
                return
        elif action.kind != "undo":
            _act(entry, action)
            entry.history.append(action)
        self.applied.add(action.id)

    def _add(self, action: Action) -> None:
        """Adds a question behind another, at the end if that is gone, or first ("")."""
        ids = self.order.get(action.paper)
        if ids is None or {draft.id for draft in action.drafts} & self.entries.keys():
            return
        place = ids.index(action.draft) + 1 if action.draft in ids else len(ids) if action.draft else 0
        ids[place:place] = [draft.id for draft in action.drafts]
        self.entries |= {draft.id: Entry(action.paper, draft, history=[action]) for draft in action.drafts}
        self.applied.add(action.id)

    def _restructure(self, action: Action) -> bool:
        """False if one of them is gone."""
        old = [self.entries.get(id) for id in action.replaces]
        gone = [entry for entry in old if entry is not None and entry.live]
        taken = {draft.id for draft in action.drafts} & self.entries.keys() - set(action.replaces)
        if len(gone) < len(old) or len({entry.paper_id for entry in gone}) != 1 or taken or not action.drafts:
            return False
        paper_id, comments = gone[0].paper_id, [comment for entry in gone for comment in entry.comments]
        ids = self.order[paper_id]
        place = min(ids.index(id) for id in action.replaces)
        remaining = [id for id in ids if id not in action.replaces]
        self.order[paper_id] = [*remaining[:place], *(draft.id for draft in action.drafts), *remaining[place:]]
        for entry in gone:
            entry.live = False
        for draft in action.drafts:
            self.entries[draft.id] = Entry(paper_id, draft, comments=list(comments), history=[action])
        return True


def undone(ranked: Sequence[Action]) -> set[str]:
    """Ids of undone actions; an undo can itself be undone."""
    ids: set[str] = set()
    for action in reversed(ranked):
        if action.kind == "undo" and action.id not in ids:
            ids.update(action.targets)
    return ids


def _act(entry: Entry, action: Action) -> None:
    by = action.by
    if action.kind == "edit":
        _edit(entry, action)
    elif action.kind in DECISIONS:
        entry.settled = None
        entry.decisions[by] = ReviewDecision(
            by=by, at=action.at, verdict=DECISIONS[action.kind], digest=action.digest, reason=action.text
        )
    elif action.kind == "reopen":
        entry.settled = None
        entry.decisions.pop(by, None)
    elif action.kind == "settle" and action.verdict:
        entry.settled = ReviewDecision(
            by=by, at=action.at, verdict=action.verdict, digest=action.digest, reason=action.text, other=action.other
        )
    elif action.kind == "comment":
        entry.comments.append(Comment(by=by, at=action.at, text=action.text))


def _edit(entry: Entry, action: Action) -> None:
    edits = entry.edits.get(action.by, Edits())
    entry.edits[action.by] = Edits(
        {**edits.fields, **action.fields},
        edits.boxes if action.boxes is None else action.boxes,
        edits.figures if action.figures is None else action.figures,
    )
