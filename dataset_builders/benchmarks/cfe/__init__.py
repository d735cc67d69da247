"""CFE-Bench reader: university questions with typed answer variables and reasoning flows.

Contract: the source is the release's folder or one of its files. Steps keep the file's order, whatever their step_id.
Each row has its own source's licence by PROVENANCE.csv, or none.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from livek12.core.records import Attributes, FlowStep, Question, Variable
from livek12.dataset_builders.base import BadRow, Log, PageKey
from livek12.dataset_builders.builder import ASKED, Beside, Builder, Layout, own_tables
from livek12.dataset_builders.reading.fields import as_text, points_of, review_of, source_of, units_of
from livek12.dataset_builders.reading.languages import asked_text, written_language
from livek12.dataset_builders.reading.marks import place_marks, without_absent
from livek12.dataset_builders.reading.publishers import Origin
from livek12.dataset_builders.reading.rows import SourceRow
from livek12.dataset_builders.reading.text import parse_list, parse_object, restore_commands

_VARIABLE_TYPES = get_args(Variable.model_fields["type"].annotation)
_NO_LICENCE = "no licence stated"
PROVENANCE, SOURCES = "PROVENANCE.csv", "SOURCES.csv"
KEYS = frozenset(
    {
        *("id", "index", "question", "answer", "reasoning_flow", "part_units", "points", "review", "source"),
        *("source_url", "url", "licence", "upstream_id"),
        *(f"short_answer_{part}" for part in ("value", "variable", "description", "type")),
    }
)
"""Row keys read, by the published names and ours."""
Provenance = Mapping[tuple[str, str], Mapping[str, str]]


def question(row: SourceRow, beside: Beside, log: Log) -> Question:
    """Converts a row; raises BadRow."""
    data, loader = row.data, beside.images
    text, refs = _body(data, "question")
    if not text and not refs:
        raise BadRow("it has no question")
    solution, solution_refs = _body(data, "answer")
    folder = row.folder
    text, _, images, change = place_marks(text, [], [loader.load(ref, folder) for ref in refs])
    solution_images = [loader.load(ref, folder) for ref in solution_refs]
    solution, _, solution_images, solution_change = place_marks(solution, [], solution_images)
    for what in filter(None, (change, solution_change and f"solution: {solution_change}")):
        log.note(row.where, row.id, what)
    variables = _variables(data, row, log)
    entry = beside.read.get(("mm" if images else "text", row.id), {})
    topic = entry.get("topic") or None
    log.mended.update(_mended("question", data.get("question"), text))
    log.mended.update(_mended("solution", data.get("answer"), solution))
    return Question(
        id=row.id,
        benchmark="cfe",
        language=written_language(asked_text(data, *ASKED), row.language, "en"),
        subject=(topic or "").lower(),
        question_type="short_answer",
        question_type_raw=entry.get("question_type") or None,
        question=text,
        images=images,
        answer=[variable.value for variable in variables],
        solution=solution or None,
        solution_images=solution_images,
        variables=variables,
        reasoning_flow=_flow(data, row, log),
        attributes=Attributes(topic=topic),
        part_units=units_of(data),
        points=points_of(data, "points"),
        review=review_of(data, row.origin),
        source=source_of(data, Origin(None, _licence(entry), entry.get("source_url") or row.origin.url)),
    )


def _licence(entry: Mapping[str, str]) -> str | None:
    stated = entry.get("license")
    return None if stated in ("", _NO_LICENCE) else stated


def _body(data: Mapping[str, Any], key: str) -> tuple[str, list[Any]]:
    body = parse_object(data.get(key))
    if body is None or body == "":
        return "", []
    if not isinstance(body, Mapping) or not isinstance(body.get("text") or "", str):
        raise BadRow(f"{key} is not {{text, images}}")
    text, _, refs = without_absent(_as_text(body.get("text")).strip(), [], parse_list(body.get("images")))
    return text, refs


def _mended(name: str, body: object, now: str) -> Iterator[str]:
    parsed = parse_object(body)
    text = as_text(parsed.get("text")) if isinstance(parsed, Mapping) else ""
    if text != now:
        yield name
    if restore_commands(text) != text:
        yield f"{name}, LaTeX commands"


def _as_text(value: object) -> str:
    """Converts a value to text and repairs its LaTeX: a third of the rows was unescaped."""
    return restore_commands(as_text(value))


def _variables(data: Mapping[str, Any], row: SourceRow, log: Log) -> list[Variable]:
    values = [_as_text(value) for value in parse_list(data.get("short_answer_value"))]
    columns = {}
    for part in ("variable", "description", "type"):
        column = parse_list(data.get(f"short_answer_{part}"))
        if column and len(column) != len(values):
            raise BadRow(f"short_answer_{part} has {len(column)} entries for {len(values)} values")
        columns[part] = [_as_text(entry) for entry in column] or [""] * len(values)
    columns["type"] = [kind.strip().lower() for kind in columns["type"]]
    unknown = {kind for kind in columns["type"] if kind and kind not in _VARIABLE_TYPES}
    if unknown:
        log.note(row.where, row.id, f"short_answer_type {', '.join(sorted(unknown))} is not known: taken as other")
    return [
        Variable(name=name, description=description, type=kind if kind in _VARIABLE_TYPES else "other", value=value)
        for value, name, description, kind in zip(values, *columns.values(), strict=True)
    ]


def _flow(data: Mapping[str, Any], row: SourceRow, log: Log) -> list[FlowStep]:
    steps = parse_list(data.get("reasoning_flow"))
    if not all(isinstance(step, Mapping) for step in steps):
        raise BadRow("reasoning_flow is not a list of steps")
    counts = Counter(str(step["step_id"]) for step in steps if "step_id" in step)
    repeated = [step_id for step_id, count in counts.items() if count > 1]
    if repeated:
        log.note(row.where, row.id, f"step_id {', '.join(repeated)} is repeated: steps stay in the file's order")
    return [FlowStep(step=_as_text(step.get("step")), answer=_as_text(step.get("verifiable_answer"))) for step in steps]


def _provenance(root: Path, log: Log) -> Provenance:
    file = root / PROVENANCE
    if not file.is_file():
        log.note(file.name, None, "not beside the rows: topics, addresses and licences stay empty")
        return {}
    with file.open(encoding="utf-8-sig", errors="replace", newline="") as lines:
        return {(entry.get("subset") or "", entry.get("id") or ""): entry for entry in csv.DictReader(lines)}


def _tables(question: Question, pages: Collection[PageKey]) -> Iterator[str]:
    yield "multimodal" if question.images else "text"


BUILDER = Builder(
    question,
    Layout(own_tables("text", "multimodal"), _tables, whole=("text", "multimodal")),
    hub="analogyai/CFE_Benchmark",
    month="2026-02",
    beside=_provenance,
    other_files=(PROVENANCE, SOURCES),
    keys=KEYS,
)
