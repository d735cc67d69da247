"""Open labels: a model names subject, task and visual form of questions; people audit a sample (KMMMU, appendix B.2).

Contract: each label is asked for on its own, from no fixed list. The sheet is that of subsets, its rows named
`label:FIELD`; rows to audit are stratified by label.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from livek12.core.errors import UserError
from livek12.core.prompts import load_prompt
from livek12.core.records import BenchmarkName, Key, Question, Request
from livek12.core.replies import Unreadable, a_text, fields_of, object_schema, parse_object
from livek12.core.statistics import wilson_interval
from livek12.core.store import Store
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.proposals.subsets import sheet
from livek12.dataset_builders.proposals.subsets.candidates import Candidate, candidate
from livek12.dataset_builders.proposals.subsets.decided import seeded_hash
from livek12.dataset_builders.proposals.subsets.proposing import question_request, whole_set
from livek12.engines.asking import REPLIES, Asker
from livek12.engines.base import Engine

FIELDS = {
    "subject": "the field of study it belongs to",
    "task": "what must be done to answer it, such as recalling a rule, calculating or reading a diagram",
    "visual_modality": "the form of its pictures, such as table, circuit, photograph or map",
}
LONGEST = 60
_TASK = "labels"
_SCHEMA = object_schema(label={"type": "string"}, why={"type": "string"})


@dataclass
class LabelReport:
    """Rows of the sheet, problems of replies, and failed (repeatable) requests."""

    rows: list[sheet.SheetRow]
    problems: list[str]
    failed: int = 0


@dataclass(frozen=True)
class Audit:
    """People's decisions on the labels of a field: of those to audit, decided and accepted, with a Wilson interval."""

    field: str
    sampled: int
    decided: int
    accepted: int
    interval: tuple[float, float] | None
    labels: dict[str, int]


def label(
    data: Path,
    benchmark: BenchmarkName,
    fields: Sequence[str],
    start: Callable[[], Engine],
    file: Path,
    audit: int,
    max_tokens: int,
    seed: int = 0,
    begin: Callable[[int], Callable[[], None]] = lambda total: lambda: None,
) -> LabelReport:
    """Writes a label of each field and question to the sheet, keeping its reviews."""
    old = sheet.read(file) if file.exists() else []
    items = {question.id: candidate(question) for question in whole_set(data, benchmark)}
    engine = start()
    report, step = LabelReport([], []), begin(len(items) * len(fields))

    def requests() -> Iterator[Request]:
        for name in fields:
            for question in whole_set(data, benchmark):
                try:
                    yield _request(name, question, max_tokens)
                except UserError as error:
                    report.problems.append(f"{question.id}: {error}")

    labels: dict[str, dict[str, tuple[str, str]]] = {name: {} for name in fields}
    with closing(Asker(engine, Store(f"{file.stem}.{REPLIES}", file.parent))) as asker:
        for reply in asker.replies(requests(), lambda _, text: read_label(text)):
            step()
            report.failed += reply.failed
            if reply.value:
                labels[reply.key.task.removeprefix(f"{_TASK}/")][reply.key.question_id] = reply.value
            else:
                report.problems.append(f"{reply.key.question_id}: {reply.problem}")
    for name, named in labels.items():
        sample = draw(named, audit, seed)
        made = [_row(name, items[id], text, why, id in sample, engine.model) for id, (text, why) in named.items()]
        made.sort(key=lambda row: (row.state, row.shown["criteria"], row.id))
        report.rows += sheet.merged(made, [row for row in old if row.subset == sheet.LABEL + name])
    others = [row for row in old if row.subset not in {sheet.LABEL + name for name in fields}]
    sheet.write(file, [*others, *report.rows])
    return report


def read_label(text: str) -> tuple[str, str]:
    """Label and reason of a reply; raises Unreadable."""
    reply = fields_of(parse_object(text), "label", "why")
    name = " ".join(a_text(reply["label"], "label").split())
    if not 0 < len(name) <= LONGEST or not name.isprintable():
        raise Unreadable(f"gives no label of 1 to {LONGEST} characters")
    return name, one_line(a_text(reply["why"], "why"))


def draw(labels: dict[str, tuple[str, str]], size: int, seed: int) -> set[str]:
    """Ids of a sample in which each label has its share, drawn at even steps through the ids sorted by label."""
    ids = sorted(labels, key=lambda id: (labels[id][0].casefold(), seeded_hash(id, seed)))
    size = min(size, len(ids))
    return {ids[(2 * place + 1) * len(ids) // (2 * size)] for place in range(size)}


def audits(rows: Sequence[sheet.SheetRow]) -> list[Audit]:
    """The audit of each field that has labels."""
    fields = {name: [row for row in rows if row.subset == sheet.LABEL + name] for name in FIELDS}
    return [_audit(name, labelled) for name, labelled in fields.items() if labelled]


def _audit(name: str, rows: Sequence[sheet.SheetRow]) -> Audit:
    sampled = [row for row in rows if row.state == "proposed"]
    verdicts = [row.verdict[0] for row in sampled if row.verdict[0] is not None]
    interval = wilson_interval(sum(verdicts), len(verdicts)) if verdicts else None
    labels = Counter(row.shown.get("criteria", "") for row in rows)
    return Audit(name, len(sampled), len(verdicts), sum(verdicts), interval, dict(labels.most_common()))


def _request(name: str, question: Question, max_tokens: int) -> Request:
    prompt = load_prompt("livek12.dataset_builders.proposals.subsets", "label.txt")
    key = Key(task=f"{_TASK}/{name}", question_id=question.id)
    unsolved = question.model_copy(update={"solution": None})
    return question_request(key, prompt, {"what": FIELDS[name]}, unsolved, max_tokens, _SCHEMA)


def _row(name: str, item: Candidate, text: str, why: str, sampled: bool, model: str) -> sheet.SheetRow:
    return sheet.SheetRow(
        subset=sheet.LABEL + name,
        state="proposed" if sampled else "reserve",
        id=item.id,
        text_sha256=item.text_sha256,
        language=item.language,
        subject=item.subject,
        shown={"criteria": text, "annotator": why, "question": item.excerpt, "made_by": model},
    )
