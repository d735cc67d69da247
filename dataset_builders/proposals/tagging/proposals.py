"""Tag proposals in drafts or rows: knowledge points, subject, difficulty, answer variables, flows, marking schemes.

Contract: proposals fill empty fields only, with a "tags" doubt naming source and confidence. Repetition replaces
proposals, never stated or reviewed values. Variables by rule are part of the key: keys in words give no numeric or
formula variable; choices give none. A model's list counts only if every value and step answer occurs in key or
solution; a scheme only if it adds up to the points. `build` leaves schemes out until a reviewer accepts them, unless
they were asked for `UNREVIEWED`. (CFE-Bench, sections 3.3 and 5.1.)
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from livek12.core.languages import HANGUL, IDEOGRAPHS
from livek12.core.prompts import fenced, load_prompt, text_message
from livek12.core.question_types import CHOICE_TYPES, QuestionType
from livek12.core.records import FlowStep, Key, Request, Sampling, Scheme, Variable, check_scheme
from livek12.core.replies import Unreadable, object_schema, parse_object
from livek12.core.schemes import read_scheme
from livek12.core.store import Store
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.ingest.drafts import Doubt, Draft, IngestedPaper
from livek12.dataset_builders.ingest.folder import PROPOSED, STATE, UNREVIEWED, Folder
from livek12.dataset_builders.proposals.tagging.classifier import (
    KEPT,
    Classifier,
    Difficulty,
    Level,
    Names,
    Proposed,
    Step,
    rule_of_thumb,
)
from livek12.dataset_builders.proposals.tagging.labelled import Item, text_with
from livek12.engines.asking import REPLIES, Asker
from livek12.engines.base import Engine

if TYPE_CHECKING:
    from livek12.dataset_builders.proposals.tagging.trained import TrainedTagger

MOST = 20
LONGEST = 300
Type = Literal["numeric", "formula", "other"]
Proposer: TypeAlias = "Classifier | TrainedTagger"
_WRAPPED = re.compile(r"\$\$?(?P<a>[^$]+)\$\$?|\\\((?P<b>.+)\\\)|\\\[(?P<c>.+)\\\]", re.DOTALL)
_LABEL = re.compile(r"^\s*(?:[（(]\s*(?P<a>\d{1,2}|[ivx]{1,4})\s*[)）]|(?P<b>[①②③④⑤⑥⑦⑧⑨]))\s*", re.IGNORECASE)
_NAME = r"(?:\\[A-Za-z]+|[A-Za-zα-ωΑ-Ω])(?:_(?:\{[^{}]{1,20}\}|\\?\w+))?'*(?:\s*\([A-Za-z]\))?"
_ASSIGNED = re.compile(rf"^\s*(?P<name>{_NAME})\s*=\s*(?P<value>[^=<>≤≥]+)$")
_SEPARATED = re.compile(r"\s*(?:[;；，、]|,(?!\d{3}(?!\d))|\\quad\b)\s*")
_MANTISSA = r"[-+−]?\s*(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
_POWER = r"(?:\s*(?:\\times|×|\\cdot|·)\s*10\s*\^\s*(?:\{\s*[-−]?\d+\s*\}|[-−]?\d)|[eE][-+]?\d+)?"
_RATIO = r"[-+−]?\s*\\[dt]?frac\s*\{\s*-?\d+\s*\}\s*\{\s*\d+\s*\}|[-+−]?\s*\d+\s*/\s*\d+"
_DEGREES = r"\^\s*\{?\s*\\circ\s*\}?"
_UNIT = (
    r"(?:\s*(?:\\?%|°|℃|\\(?:mathrm|text|rm)\s*\{[^{}\d]{1,30}\}|"
    + _DEGREES
    + r"|[A-Za-zΩμ·/^\d{}-]{1,20}|[\u4e00-\u9fff]{1,4}))?"
)
_NUMERIC = re.compile(rf"(?:{_RATIO}|{_MANTISSA}{_POWER}){_UNIT}")
_FORMULA_MARK = re.compile(r"\\[A-Za-z]+|[\^_+*/<>≤≥√πθ]|\d\s*[A-Za-z]|^[A-Za-z]$|[A-Za-z]\s*-\s*\w")
_WORDS = re.compile(rf"[{IDEOGRAPHS}{HANGUL}]{{2,}}|[A-Za-z]{{3,}}\s+[A-Za-z]{{2,}}")
_UNIT_LETTERS = frozenset("m s g N J W V A K C F T L h Hz Pa eV kg km cm mm nm mL kJ kW mV mA kV MW GW mg ms".split())
UNMEASURED = 0.9
"""Confidence of doubts on unmeasured proposals: too high to change the order of review, as all have it."""
SUBJECT_MARGIN = 1.5
"""Lead over the next subject's words that a proposal needs."""
TAGS = ("knowledge_points", "difficulty", "subject")
TASK = "tags/structure"
MOST_STEPS = 30
LONGEST_NAME, LONGEST_VALUE, LONGEST_TEXT = 80, 300, 600
MAX_SHOWN = 12_000
MAX_TOKENS = 4096
_TYPES = ("numeric", "formula", "other")


def variables_of(kind: QuestionType, answer: Sequence[str]) -> list[Variable]:
    """Variables of a key, one entry a blank or part; none for choices, true/false and proofs."""
    if kind in CHOICE_TYPES or kind in ("true_false", "proof"):
        return []
    variables: list[Variable] = []
    for number, entry in enumerate(answer, 1):
        if 0 < len(entry.strip()) <= LONGEST:
            named = list(_of_entry(entry, number if len(answer) > 1 else 0))
            bare, values = entry.replace("$", ""), [variable.value for variable in named]
            variables += named if all(v.replace("$", "") in bare or occurs(v, entry) for v in values) else []
    names = [variable.name for variable in variables]
    return [] if len(names) != len(set(names)) or len(variables) > MOST else variables


def type_of(value: str) -> Type:
    """Type of a value: numeric (with or without unit), formula, or other."""
    bare = _bare(value)
    if _NUMERIC.fullmatch(bare) and not _is_product(bare):
        return "numeric"
    return "formula" if _FORMULA_MARK.search(bare) and not _WORDS.search(bare) else "other"


def occurs(value: str, *texts: str) -> bool:
    """True if a text contains the value, ignoring spaces, dollars and braces; numbers match whole."""
    bare = _plain(value)
    if not bare:
        return False
    before = r"(?<![\d.])" if bare[0].isdigit() else ""
    after = r"(?!\.?\d)" if bare[-1].isdigit() else ""
    pattern = re.compile(before + re.escape(bare) + after)
    return any(pattern.search(_plain(text)) for text in texts)


def _plain(text: str) -> str:
    flat = unicodedata.normalize("NFKC", text).replace("−", "-")
    flat = re.sub(
        r"\\(?:left|right|displaystyle|mathrm|text|rm|,|;|!)(?![A-Za-z])|\\d(?=frac)|\\t(?=frac)", _kept, flat
    )
    return re.sub(r"[\s${}]+", "", flat)


def _of_entry(entry: str, number: int) -> Iterator[Variable]:
    label = _LABEL.match(entry)
    body = entry[label.end() :] if label else entry
    where = f"part {label['a'] or label['b']}" if label else f"part {number}" if number else ""
    pieces = [_ASSIGNED.match(_bare(piece)) for piece in _SEPARATED.split(_bare(body)) if piece.strip()]
    if pieces and all(pieces):
        for match in pieces:
            if match:
                value = match["value"].strip(" .。")
                yield Variable(name=match["name"].strip(), description=where, type=type_of(value), value=value)
        return
    value = _bare(body).strip(" .。")
    if value:
        name = f"answer_{number}" if number else "answer"
        yield Variable(name=name, description=where, type=type_of(value), value=value)


def _bare(text: str) -> str:
    return _WRAPPED.sub(lambda match: next(filter(None, match.groups())), text).strip()


def _is_product(bare: str) -> bool:
    """True for `2a`, a formula; False for `2 m`, a number with a usual unit."""
    match = re.fullmatch(r"[-+−]?[\d.,/ ]+?(?P<unit>[A-Za-z]{1,2})", bare)
    return bool(match) and match["unit"] not in _UNIT_LETTERS and not re.search(r"\d\s+[A-Za-z]", bare)  # type: ignore[index]


def _kept(match: re.Match[str]) -> str:
    return "\\" if match[0] in ("\\d", "\\t") else ""


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
    """First point, and sufficiently confident others."""
    return [point for place, point in enumerate(points) if not place or (point.confidence or 0) >= KEPT]


def _draft_item(paper: IngestedPaper, draft: Draft) -> Item:
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
            proposed = make([_draft_item(paper, draft) for draft in paper.drafts])
            for draft, tags in zip(paper.drafts, proposed, strict=True):
                new = _with_tags(_cleared(draft, TAGS), paper, tags, by, threshold)
                tagged.append(new)
                done.append((new, tags))
            folder.save(paper.model_copy(update={"drafts": tagged}), {})
    return done


def _cleared(draft: Draft, fields: Sequence[str]) -> Draft:
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
            empty |= Draft.empty(field)
    return draft.model_copy(update={**empty, "doubts": doubts})


def put(draft: Draft, field: str, value: Any, who: str, confidence: float | None, threshold: float) -> Draft:
    """Fills an empty field with a proposal and a doubt.

    From `threshold` on the doubt does not affect the order of review.
    """
    if getattr(draft, field) or not value:
        return draft
    basis = "unmeasured" if confidence is None else f"right {confidence:.0%} of the time on held-out questions"
    sure = UNMEASURED if confidence is None else 1.0 if confidence >= threshold else confidence
    doubt = Doubt(kind="tags", text=f"{_said(field, value)}{who}, {basis})", confidence=sure)
    return draft.model_copy(update={field: value, "doubts": [*draft.doubts, doubt]})


def _with_tags(draft: Draft, paper: IngestedPaper, tags: Tags, by: str, threshold: float) -> Draft:
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
    if isinstance(entry, list):
        return ", ".join(f"{criterion.points:g} for {criterion.text}" for criterion in entry)
    if isinstance(entry, Variable):
        return f"{entry.name} = {entry.value} [{entry.type}]"
    return f"{entry.step} → {entry.answer}" if isinstance(entry, FlowStep) else str(entry)


@dataclass
class StructureReport:
    """Questions with variables and flows, failed (repeatable) requests, and dropped replies."""

    variables: int = 0
    flows: int = 0
    failed: int = 0
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class StructureReply:
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
            drafts = [_cleared(draft, fields) for draft in paper.drafts]
            replies = _ask(drafts, asker, report) if asker else {}
            done = []
            for draft in drafts:
                done.append(_with_structure(draft, replies.get(draft.id), engine, variables, flows, report))
                step()
            folder.save(paper.model_copy(update={"drafts": done}), {})
    return report


def read_reply(text: str, draft: Draft) -> tuple[StructureReply, list[str]]:
    """Accepted parts of a reply, and the faults of the rest.

    Raises Unreadable if it is not the requested object.
    """
    reply = parse_object(text)
    if not reply.keys() <= {"variables", "steps"}:
        raise Unreadable("has fields that were not asked for")
    sources = [*draft.answer, draft.solution or ""]
    faults: list[str] = []
    variables, flow = (_variables(reply.get("variables"), sources, faults), _flow(reply.get("steps"), sources, faults))
    return StructureReply(variables, flow), faults


def build_request(draft: Draft) -> Request:
    """Builds the model's request for a draft."""
    options = "\n".join(f"{option.label}. {option.text}" for option in draft.options)
    pieces = (
        f"Question:\n{draft.question}\n{options}",
        f"Key:\n{' | '.join(draft.answer)}",
        f"Solution:\n{draft.solution}",
    )
    return _proposal_request(Key(task=TASK, question_id=draft.id), "structure.txt", pieces, 800, _SCHEMA)


def _proposal_request(key: Key, file: str, pieces: Sequence[str], tokens: int, schema: dict[str, Any]) -> Request:
    _, text = fenced("\n\n".join(pieces)[:MAX_SHOWN])
    prompt = load_prompt("livek12.dataset_builders.proposals.tagging", file)
    return Request(
        key=key,
        messages=[text_message("system", prompt.text.strip()), text_message("user", text)],
        sampling=Sampling(temperature=0.0, max_tokens=min(MAX_TOKENS, tokens + len(text))),
        answer_schema=schema,
    )


def _ask(drafts: list[Draft], asker: Asker, report: StructureReport) -> dict[str, StructureReply]:
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


def _with_structure(
    draft: Draft,
    reply: StructureReply | None,
    engine: Engine | None,
    variables: bool,
    flows: bool,
    report: StructureReport,
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


SCHEME_TASK = "tags/scheme"
MOST_CRITERIA = 40
_TEXT = {"type": "string"}
_SCHEME_SCHEMA = object_schema(
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
    """Proposes schemes in drafts; earlier proposals are replaced."""
    folder, report = Folder(root), SchemeReport()
    who = f"{engine.model}, {UNREVIEWED}" if unreviewed else engine.model
    with folder.alone():
        for paper in folder.papers():
            drafts = {draft.id: _cleared(draft, ["scheme"]) for draft in paper.drafts}
            with closing(Asker(engine, Store(REPLIES, root / STATE))) as asker:
                _propose(drafts, asker, who, report, step)
            folder.save(paper.model_copy(update={"drafts": list(drafts.values())}), {})
    return report


def _propose(drafts: dict[str, Draft], asker: Asker, who: str, report: SchemeReport, step: Callable[[], None]) -> None:
    worth = [draft for draft in drafts.values() if draft.solution and draft.points and not draft.scheme]
    requests = [scheme_request(draft) for draft in worth if draft.question_type not in CHOICE_TYPES]
    for reply in asker.replies(requests, lambda key, text: read_scheme_reply(text, drafts[key.question_id])):
        id = reply.key.question_id
        report.asked += 1
        report.failed += reply.failed
        if reply.value:
            drafts[id] = put(drafts[id], "scheme", reply.value, who, None, 1.0)
            report.proposed += 1
        else:
            report.problems.append(f"{id}: no scheme is taken: {reply.problem}")
        step()


def scheme_request(draft: Draft) -> Request:
    """Builds the model's request for a draft."""
    parts = f" (parts: {', '.join(f'{points:g}' for points in draft.part_points)})" if draft.part_points else ""
    pieces = (
        f"Question ({draft.points:g} points{parts}):\n{draft.question}",
        f"Key:\n{' | '.join(draft.answer)}",
        f"Solution:\n{draft.solution}",
    )
    return _proposal_request(Key(task=SCHEME_TASK, question_id=draft.id), "scheme.txt", pieces, 1200, _SCHEME_SCHEMA)


def read_scheme_reply(text: str, draft: Draft) -> Scheme:
    """Scheme of a reply; raises Unreadable if it is none for this draft."""
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
