"""Proposals of marking schemes in the drafts of an ingested folder, by a model from solution and points.

Contract: only drafts with a solution and points, and without a scheme, get one; it must add up to the points. `build`
leaves proposals out until a reviewer accepts them, unless they were asked for `UNREVIEWED`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from livek12.core.question_types import CHOICE_TYPES
from livek12.core.records import Key, Request, Scheme, check_scheme
from livek12.core.replies import Unreadable, object_schema, parse_object
from livek12.core.schemes import read_scheme
from livek12.core.store import Store
from livek12.dataset_builders.ingest.drafts import Draft
from livek12.dataset_builders.ingest.folder import STATE, UNREVIEWED, Folder
from livek12.dataset_builders.proposals.tagging.proposals import cleared, occurs, proposal_request, put
from livek12.engines.asking import REPLIES, Asker
from livek12.engines.base import Engine

TASK = "tags/scheme"
MOST_CRITERIA = 40
_TEXT = {"type": "string"}
_SCHEMA = object_schema(
    criteria={
        "type": "array",
        "maxItems": MOST_CRITERIA,
        "items": object_schema(
            points={"type": "number"},
            text=_TEXT,
            kind={"enum": ["method", "accuracy", "independent", "answer"]},
            needs={"type": "array", "items": {"type": "integer"}},
            expression=_TEXT,
        ),
    }
)


@dataclass
class SchemeReport:
    """Questions with a proposal, questions asked, and failed (repeatable) requests."""

    proposed: int = 0
    asked: int = 0
    failed: int = 0
    problems: list[str] = field(default_factory=list)


def propose_schemes(
    root: Path, engine: Engine, unreviewed: bool = False, step: Callable[[], None] = lambda: None
) -> SchemeReport:
    """Proposes a scheme in each draft that may have one; earlier proposals are replaced."""
    folder, report = Folder(root), SchemeReport()
    who = f"{engine.model}, {UNREVIEWED}" if unreviewed else engine.model
    with folder.alone():
        for paper in folder.papers():
            drafts = {draft.id: cleared(draft, ["scheme"]) for draft in paper.drafts}
            with closing(Asker(engine, Store(REPLIES, root / STATE))) as asker:
                _propose(drafts, asker, who, report, step)
            folder.save(paper.model_copy(update={"drafts": list(drafts.values())}), {})
    return report


def _propose(drafts: dict[str, Draft], asker: Asker, who: str, report: SchemeReport, step: Callable[[], None]) -> None:
    requests = [build_request(draft) for draft in drafts.values() if _may_have_one(draft)]
    for reply in asker.replies(requests, lambda key, text: read_reply(text, drafts[key.question_id])):
        id = reply.key.question_id
        report.asked += 1
        report.failed += reply.failed
        if reply.value:
            drafts[id] = put(drafts[id], "scheme", reply.value, who, None, 1.0)
            report.proposed += 1
        else:
            report.problems.append(f"{id}: no scheme is taken: {reply.problem}")
        step()


def _may_have_one(draft: Draft) -> bool:
    return bool(draft.solution and draft.points and not draft.scheme and draft.question_type not in CHOICE_TYPES)


def build_request(draft: Draft) -> Request:
    """Builds the model's request for a draft."""
    parts = f" (parts: {', '.join(f'{points:g}' for points in draft.part_points)})" if draft.part_points else ""
    pieces = (
        f"Question ({draft.points:g} points{parts}):\n{draft.question}",
        f"Key:\n{' | '.join(draft.answer)}",
        f"Solution:\n{draft.solution}",
    )
    return proposal_request(Key(task=TASK, question_id=draft.id), "scheme.txt", pieces, 1200, _SCHEMA)


def read_reply(text: str, draft: Draft) -> Scheme:
    """The scheme of a reply; raises Unreadable if it is none for this draft."""
    criteria = parse_object(text).get("criteria")
    if not isinstance(criteria, list) or not 0 < len(criteria) <= MOST_CRITERIA:
        raise Unreadable(f"has no list of 1 to {MOST_CRITERIA} criteria")
    try:
        scheme = read_scheme([_table(entry, place, draft) for place, entry in enumerate(criteria, 1)])
        check_scheme(scheme, draft.points, [])
    except ValueError as error:
        raise Unreadable(str(error)) from None
    return scheme


def _table(entry: object, place: int, draft: Draft) -> dict[str, Any]:
    if not isinstance(entry, dict) or not entry.keys() <= {"points", "text", "kind", "needs", "expression"}:
        raise ValueError(f"scheme: criterion {place} is no object of the fields asked for")
    needs, text = entry.get("needs") or [], entry.get("text")
    if not isinstance(text, str) or not text.strip() or not isinstance(needs, list):
        raise ValueError(f"scheme: criterion {place} says nothing")
    expression = entry.get("expression")
    own = isinstance(expression, str) and occurs(expression, draft.solution or "")
    return {**entry, "needs": [str(need) for need in needs], "expression": expression if own else None}
