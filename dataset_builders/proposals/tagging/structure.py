"""Answer variables and reasoning flows in ingested drafts (CFE-Bench, sections 3.3 and 5.1).

Contract: a model's list counts only if bounded and if every value and step answer occurs in key or solution. Proposals
fill empty fields, with a doubt naming the source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from livek12.core.prompts import fenced, load_prompt, text_message
from livek12.core.records import FlowStep, Key, Request, Sampling, Variable
from livek12.core.replies import Unreadable, object_schema, parse_object
from livek12.core.store import Store
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.ingest.drafts import Draft
from livek12.dataset_builders.ingest.folder import STATE, Folder
from livek12.dataset_builders.proposals.tagging.proposals import cleared, put
from livek12.dataset_builders.proposals.tagging.variables import MOST, occurs, variables_of
from livek12.engines.asking import REPLIES, Asker
from livek12.engines.base import Engine

TASK = "tags/structure"
MOST_STEPS = 30
LONGEST_NAME, LONGEST_VALUE, LONGEST_TEXT = 80, 300, 600
MAX_SHOWN = 12_000
MAX_TOKENS = 4096
_TYPES = ("numeric", "formula", "other")


@dataclass
class StructureReport:
    """Questions with variables and flows, failed (repeatable) requests, and dropped replies."""

    variables: int = 0
    flows: int = 0
    failed: int = 0
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Said:
    """Accepted parts of a model's reply."""

    variables: list[Variable]
    flow: list[FlowStep]


def propose_structure(
    root: Path,
    engine: Engine | None,
    *,
    variables: bool = True,
    flows: bool = False,
    step: Callable[[], None] = lambda: None,
) -> StructureReport:
    """Proposes variables and flows in all drafts of a folder.

    Without an engine only rules apply, which make no flows.
    """
    folder, report = Folder(root), StructureReport()
    with folder.alone():
        asker = Asker(engine, Store(REPLIES, root / STATE)) if engine else None
        for paper in folder.papers():
            fields = [name for name, wanted in (("variables", variables), ("reasoning_flow", flows)) if wanted]
            drafts = [cleared(draft, fields) for draft in paper.drafts]
            replies = _asked(drafts, asker, report) if asker else {}
            done = []
            for draft in drafts:
                done.append(_with(draft, replies.get(draft.id), engine, variables, flows, report))
                step()
            folder.save(paper.model_copy(update={"drafts": done}), {})
    return report


def read_reply(text: str, draft: Draft) -> tuple[Said, list[str]]:
    """Returns the accepted parts of a reply, and the faults of the rest.

    Raises Unreadable if it is not the requested object.
    """
    reply = parse_object(text)
    if not reply.keys() <= {"variables", "steps"}:
        raise Unreadable("has fields that were not asked for")
    sources = [*draft.answer, draft.solution or ""]
    faults: list[str] = []
    variables, flow = _variables(reply.get("variables"), sources, faults), _flow(reply.get("steps"), sources, faults)
    return Said(variables, flow), faults


def build_request(draft: Draft) -> Request:
    """Builds the model's request for a draft."""
    options = "\n".join(f"{option.label}. {option.text}" for option in draft.options)
    pieces = (
        f"Question:\n{draft.question}\n{options}",
        f"Key:\n{' | '.join(draft.answer)}",
        f"Solution:\n{draft.solution}",
    )
    _, text = fenced("\n\n".join(pieces)[:MAX_SHOWN])
    prompt = load_prompt("livek12.dataset_builders.proposals.tagging", "structure.txt")
    return Request(
        key=Key(task=TASK, question_id=draft.id),
        messages=[text_message("system", prompt.text.strip()), text_message("user", text)],
        sampling=Sampling(temperature=0.0, max_tokens=min(MAX_TOKENS, 800 + len(text))),
        answer_schema=_SCHEMA,
    )


def _asked(drafts: list[Draft], asker: Asker, report: StructureReport) -> dict[str, Said]:
    by_id = {draft.id: draft for draft in drafts if draft.answer or draft.solution}
    replies = {}
    with closing(asker):
        for reply in asker.replies(
            map(build_request, by_id.values()), lambda key, text: read_reply(text, by_id[key.question_id])
        ):
            id = reply.key.question_id
            report.failed += reply.failed
            if reply.value is None:
                report.problems.append(f"{id}: nothing is taken from it: {reply.problem}")
                continue
            replies[id], faults = reply.value
            report.problems += [f"{id}: {fault}" for fault in faults]
    return replies


def _with(
    draft: Draft, reply: Said | None, engine: Engine | None, variables: bool, flows: bool, report: StructureReport
) -> Draft:
    new = draft
    if variables:
        rules = variables_of(draft.question_type, draft.answer)
        value, who = (
            (reply.variables, engine.model) if reply and reply.variables and engine else (rules, "rules, from the key")
        )
        new = put(new, "variables", value, who, None, 1.0)
        report.variables += new is not draft
    if flows and reply and engine:
        before = new
        new = put(new, "reasoning_flow", reply.flow, engine.model, None, 1.0)
        report.flows += new is not before
    return new


def _variables(value: object, sources: list[str], faults: list[str]) -> list[Variable]:
    variables: list[Variable] = []
    for entry in _entries(value, "variables", MOST, faults):
        name, kind = _text(entry, "name", LONGEST_NAME), _text(entry, "type", LONGEST_NAME)
        content = _text(entry, "value", LONGEST_VALUE)
        if not name or not content or kind not in _TYPES:
            faults.append("variables: one lacks a name, a value or a type, or is too long")
            return []
        if not occurs(content, *sources):
            faults.append(f"variables: {one_line(content, 60)!r} stands neither in the key nor in the solution")
            return []
        description = _text(entry, "description", LONGEST_TEXT)
        variables.append(
            Variable.model_validate({"name": name, "description": description, "type": kind, "value": content})
        )
    if len({variable.name for variable in variables}) != len(variables):
        faults.append("variables: a name is there twice")
        return []
    return variables


def _flow(value: object, sources: list[str], faults: list[str]) -> list[FlowStep]:
    steps = []
    for entry in _entries(value, "steps", MOST_STEPS, faults):
        step, answer = _text(entry, "step", LONGEST_TEXT), _text(entry, "answer", LONGEST_VALUE)
        if not step or not answer:
            faults.append("steps: one lacks its question or its answer, or is too long")
            return []
        if not occurs(answer, *sources):
            faults.append(f"steps: {one_line(answer, 60)!r} stands neither in the key nor in the solution")
            return []
        steps.append(FlowStep(step=step, answer=answer))
    return steps


def _entries(value: object, name: str, most: int, faults: list[str]) -> Iterator[Mapping[str, Any]]:
    if value is None:
        return
    if not isinstance(value, list) or len(value) > most or not all(isinstance(entry, dict) for entry in value):
        faults.append(f"{name}: no list of at most {most} objects")
        return
    yield from value


def _text(entry: Mapping[str, Any], key: str, longest: int) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or len(value) > longest:
        return ""
    flat = " ".join(value.split())
    return flat if flat.isprintable() else ""


_STRING = {"type": "string"}
_SCHEMA = object_schema(
    variables={
        "type": "array",
        "maxItems": MOST,
        "items": object_schema(name=_STRING, description=_STRING, type={"enum": list(_TYPES)}, value=_STRING),
    },
    steps={"type": "array", "maxItems": MOST_STEPS, "items": object_schema(step=_STRING, answer=_STRING)},
)
