"""Tag proposals in ingested drafts, or in rows.

Contract: proposals fill empty fields only, with a "tags" doubt naming source and confidence. Repetition replaces
proposals, never stated or reviewed values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from livek12.core.records import FlowStep, Variable
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.ingest.drafts import Doubt, Draft, IngestedPaper
from livek12.dataset_builders.ingest.folder import Folder
from livek12.dataset_builders.proposals.tagging.classifier import Proposed
from livek12.dataset_builders.proposals.tagging.difficulty import Difficulty, Level, rule_of_thumb
from livek12.dataset_builders.proposals.tagging.features import Step
from livek12.dataset_builders.proposals.tagging.labelled import Item, text_with
from livek12.dataset_builders.proposals.tagging.measure import KEPT
from livek12.dataset_builders.proposals.tagging.names import Names

UNMEASURED = 0.9
"""Confidence of doubts on unmeasured proposals: too high to change the order of review, as all have it."""
SUBJECT_MARGIN = 1.5
"""Lead over the next subject's words that a proposal needs."""
TAGS = ("knowledge_points", "difficulty", "subject")
PROPOSED = "proposed"
"""Prefix of doubts on proposals, recognised when proposing again."""


class Proposer(Protocol):
    """Proposer of knowledge points: `Classifier`, or a trained model."""

    @property
    def made_by(self) -> str:
        """Description."""
        ...

    def propose(self, items: Sequence[Item], most: int = 3, step: Step = lambda: None) -> list[list[Proposed]]:
        """Best points of each question, best first."""
        ...


@dataclass(frozen=True)
class Tags:
    """Proposed tags of a question: points, best first; subject, "" if unclear."""

    id: str
    points: Sequence[Proposed]
    subject: str
    difficulty: Level

    def row(self) -> dict[str, Any]:
        """The tags as JSON."""
        return {
            "id": self.id,
            "subject": self.subject or None,
            "knowledge_points": [point.model_dump() for point in self.points],
            "difficulty": self.difficulty.model_dump(),
        }


def tags_of(
    items: Sequence[Item],
    proposer: Proposer,
    names: Names,
    difficulty: Difficulty | None,
    step: Step = lambda: None,
) -> list[Tags]:
    """Proposes tags; the heuristic if `difficulty` is None."""
    points = proposer.propose(items, step=step)
    levels = difficulty(items) if difficulty else [rule_of_thumb(item) for item in items]
    subjects = subjects_of(items, names)
    return [
        Tags(item.id, best, subject, level)
        for item, best, subject, level in zip(items, points, subjects, levels, strict=True)
    ]


def subjects_of(items: Sequence[Item], names: Names) -> list[str]:
    """Subject of each question by its words; "" if unclear."""
    subjects, scores = [], names.subjects([item.text for item in items])
    for row in scores:
        best, *others = sorted(row, reverse=True)
        clear = best > 0 and best >= SUBJECT_MARGIN * max(others, default=0)
        subjects.append(names.tree.subjects[int(row.argmax())] if clear else "")
    return subjects


def kept(points: Sequence[Proposed]) -> list[Proposed]:
    """The first point, and others of sufficient confidence."""
    return [point for place, point in enumerate(points) if not place or (point.confidence or 0) >= KEPT]


def draft_item(paper: IngestedPaper, draft: Draft) -> Item:
    """Converts a draft."""
    return Item(
        id=draft.id,
        text=text_with(draft.question, draft.options),
        language=draft.language,
        subject=draft.subject or paper.subject,
        points=draft.points,
        kind=draft.question_type,
    )


def tag_folder(
    root: Path, make: Callable[[list[Item]], list[Tags]], by: str, threshold: float
) -> list[tuple[Draft, Tags]]:
    """Tags the drafts of an ingested folder, paper by paper.

    Proposals of a confidence below `threshold` are doubted; `by` names their source.
    """
    folder, done = Folder(root), []
    with folder.alone():
        for paper in folder.papers():
            tagged = []
            proposed = make([draft_item(paper, draft) for draft in paper.drafts])
            for draft, tags in zip(paper.drafts, proposed, strict=True):
                new = with_tags(cleared(draft, TAGS), paper, tags, by, threshold)
                tagged.append(new)
                done.append((new, tags))
            folder.save(paper.model_copy(update={"drafts": tagged}), {})
    return done


def cleared(draft: Draft, fields: Sequence[str]) -> Draft:
    """Removes earlier proposals for these fields unless edited since."""
    empty: dict[str, Any] = {}
    doubts = []
    for doubt in draft.doubts:
        field = next(
            (name for name in fields if doubt.kind == "tags" and doubt.text.startswith(f"{PROPOSED} {name}: ")), ""
        )
        if not field:
            doubts.append(doubt)
        elif doubt.text.startswith(_said(field, getattr(draft, field))):
            empty[field] = _FIELDS[field]
    return draft.model_copy(update={**empty, "doubts": doubts})


def put(draft: Draft, field: str, value: Any, who: str, confidence: float | None, threshold: float) -> Draft:
    """Fills an empty field with a proposal and a doubt.

    At a confidence of `threshold` the doubt does not change the order of review.
    """
    if getattr(draft, field) or not value:
        return draft
    basis = "unmeasured" if confidence is None else f"right {confidence:.0%} of the time on held-out questions"
    sure = UNMEASURED if confidence is None else 1.0 if confidence >= threshold else confidence
    doubt = Doubt(kind="tags", text=f"{_said(field, value)}{who}, {basis})", confidence=sure)
    return draft.model_copy(update={field: value, "doubts": [*draft.doubts, doubt]})


def with_tags(draft: Draft, paper: IngestedPaper, tags: Tags, by: str, threshold: float) -> Draft:
    """Fills a draft's empty fields."""
    points = kept(tags.points)
    if points:
        names = [point.name for point in points]
        draft = put(draft, "knowledge_points", names, by, points[0].confidence, threshold)
    if not paper.subject:
        draft = put(draft, "subject", tags.subject, "words of the tree", None, threshold)
    level = tags.difficulty
    who = "rule of thumb by points, type and length" if level.confidence is None else by
    return put(draft, "difficulty", level.name, who, level.confidence, threshold)


def _said(field: str, value: Any) -> str:
    if isinstance(value, list):
        value = "; ".join(_shown(entry) for entry in value)
    return f"{PROPOSED} {field}: {one_line(value or '', 400)} ("


def _shown(entry: Any) -> str:
    if isinstance(entry, Variable):
        return f"{entry.name} = {entry.value} [{entry.type}]"
    return f"{entry.step} → {entry.answer}" if isinstance(entry, FlowStep) else str(entry)


_FIELDS: dict[str, Any] = {
    "knowledge_points": [],
    "difficulty": None,
    "subject": "",
    "variables": [],
    "reasoning_flow": [],
}
"""Proposable fields and their empty values."""
