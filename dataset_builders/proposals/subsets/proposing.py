"""Proposals of a subset by rules, runs, a draw or an annotating model, and open labels by a model, for the sheet.

Contract: deterministic. Accepted members fill a quota first and rejected ones do not count, so reserves move up. For a
model the question is fenced as data; only the exact JSON object requested counts. Replies are cached next to the sheet.
Pictures are named by content hash; names of the dataset never become paths. Rows of labels are named `label:FIELD`, and
those to audit are stratified by label. Sources: LiveK12Bench section 2.1, KMMMU appendix B.2.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from livek12.core.errors import UserError
from livek12.core.files import make_subfolder, write_atomically
from livek12.core.prompts import PromptFile, fenced, load_prompt
from livek12.core.questions import iter_questions, read_card
from livek12.core.records import IMAGE_MARK, BenchmarkName, Image, Key, Message, Part, Question, Request, Sampling
from livek12.core.replies import Unreadable, a_bool, a_text, fields_of, object_schema, parse_object
from livek12.core.statistics import wilson_interval
from livek12.core.store import Store
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.proposals import figure_parts, number_figures, suffix_of, whole_text
from livek12.dataset_builders.proposals.subsets import decided, sheet
from livek12.dataset_builders.proposals.subsets.candidates import MAX_CHARACTERS, Candidate, Standing, candidate
from livek12.dataset_builders.proposals.subsets.criteria import (
    RULES_VERSION,
    SUBSETS,
    CriteriaContext,
    Finding,
    Subset,
    subset_named,
)
from livek12.dataset_builders.proposals.subsets.decided import seeded_hash
from livek12.dataset_builders.registry import builder_of
from livek12.engines.asking import REPLIES, Asker
from livek12.engines.base import Engine

MAX_TOKENS = 2048
_LONGEST_WHY = 1_000
Begin = Callable[[int], Callable[[], None]]
"""Starts progress over a number of questions; returns the step function."""


@dataclass(frozen=True)
class Annotation:
    """Annotated criteria of a question, or the reason for none."""

    criteria: Mapping[str, bool] | None
    why: str
    failed: bool = False


def annotate(
    engine: Engine,
    subset: Subset,
    file: Path,
    questions: Iterable[Question],
    on_step: Callable[[], None],
    max_tokens: int = MAX_TOKENS,
) -> dict[str, Annotation]:
    """Annotations by question id; `file` is the sheet, `max_tokens` includes thinking.

    Raises UserError if the engine cannot run; replies so far are cached.
    """
    annotations: dict[str, Annotation] = {}
    names = [criterion.name for criterion in subset.criteria]

    def requests() -> Iterator[Request]:
        for question in questions:
            try:
                yield build_request(subset, question, max_tokens)
            except UserError as error:
                annotations[question.id] = Annotation(None, f"not annotated: {error}")
                on_step()

    with closing(Asker(engine, Store(f"{file.stem}.{REPLIES}", file.parent))) as asker:
        for reply in asker.replies(requests(), lambda _, text: parse(text, names)):
            criteria, why = reply.value or (None, f"not annotated: {reply.problem}")
            annotations[reply.key.question_id] = Annotation(criteria, why, reply.failed)
            on_step()
    return annotations


def parse(text: str, names: Sequence[str]) -> tuple[dict[str, bool], str]:
    """Parses criteria and reason, optionally in a code fence; raises Unreadable."""
    reply = fields_of(parse_object(text), "criteria", "why")
    criteria = fields_of(reply["criteria"], *names)
    return {name: a_bool(criteria[name], name) for name in names}, one_line(a_text(reply["why"], "why"), _LONGEST_WHY)


def build_request(subset: Subset, question: Question, max_tokens: int = MAX_TOKENS) -> Request:
    """Builds the annotation request; raises UserError if a picture is missing."""
    key = Key(task=f"subsets/{subset.name}", question_id=question.id)
    return question_request(key, _template(), _described(subset), question, max_tokens)


def question_request(
    key: Key,
    prompt: PromptFile,
    values: Mapping[str, str],
    question: Question,
    max_tokens: int,
    schema: dict[str, Any] | None = None,
) -> Request:
    """Request about a question with its pictures, fenced; raises UserError if a picture is missing."""
    for number, image in enumerate(question.images, 1):
        if not image.bytes:
            raise UserError(f"picture {number} is missing")
    text = whole_text(question.question, question.options)
    unplaced = range(text.count(IMAGE_MARK) + 1, len(question.images) + 1)
    text = number_figures(text, "[figure {}]") + "".join(f"\n[figure {number}]" for number in unplaced)
    if question.solution:
        text += f"\n\nSolution:\n{question.solution.replace(IMAGE_MARK, '[figure]')}"
    text = text[:MAX_CHARACTERS]
    fence, _ = fenced(text)
    content = prompt.filled({"fence": fence, "question": text, **values})
    parts = [Part(type="text", text=content), *figure_parts(question.images, "[figure {}]")]
    return Request(
        key=key,
        messages=[Message(role="user", content=parts)],
        images={image.sha256: image for image in question.images},
        sampling=Sampling(temperature=0.0, max_tokens=max_tokens),
        answer_schema=schema,
    )


def prompt_sha256(subset: Subset) -> str:
    """Hash of the prompt without the question."""
    return hashlib.sha256("\0".join([_template().text, *_described(subset).values()]).encode()).hexdigest()


def _template() -> PromptFile:
    return load_prompt("livek12.dataset_builders.proposals.subsets", "annotate.txt")


def _described(subset: Subset) -> dict[str, str]:
    form = {"criteria": {criterion.name: False for criterion in subset.criteria}, "why": "one sentence"}
    return {
        "subset": subset.says,
        "criteria": "\n".join(f"- {criterion.name}: {criterion.says}" for criterion in subset.criteria),
        "form": json.dumps(form).replace("false", "true|false"),
    }


def _write_pictures(questions: Iterable[Question], ids: Collection[str], sheet: Path) -> dict[str, str]:
    folder = sheet.with_name(f"{sheet.stem}.pictures")
    cells = {}
    try:
        for question in questions:
            if question.id in ids and question.images:
                folder.parent.mkdir(parents=True, exist_ok=True)
                make_subfolder(folder.parent, folder.name)
                names = [_write_picture(image, folder) for image in question.images if image.bytes]
                cells[question.id] = "\n".join(f"{folder.name}/{name}" for name in names)
    except OSError as error:
        raise UserError(f"{folder}: pictures cannot be written there ({error.strerror})") from None
    return cells


def _write_picture(image: Image, folder: Path) -> str:
    file = folder / f"{image.sha256[:20]}.{suffix_of(image, 'bin')}"
    if not file.exists():
        write_atomically(file, image.bytes or b"", sync=False)
    return file.name


@dataclass(frozen=True)
class Wanted:
    """Options of a proposal.

    Attributes:
        benchmark: required only if the subset has none.
        runs: baselines, a cascade in order, or runs with images.
        without_images: runs of the same questions.
        engine: starts it; the caller closes it.
    """

    name: str
    data: Path
    benchmark: BenchmarkName | None = None
    runs: Sequence[Path] = ()
    without_images: Sequence[Path] = ()
    engine: Callable[[], Engine] | None = None
    max_tokens: int = MAX_TOKENS
    per_subject: int | None = None
    confidence: float = 1.0
    share: float = 0.1
    seed: int = 0
    everything: bool = False
    pictures: bool = False


@dataclass
class ProposalReport:
    """Proposed rows, number of questions, lines for the user, and failed (repeatable) annotator requests."""

    rows: list[sheet.SheetRow]
    questions: int
    lines: list[str] = field(default_factory=list)
    failed: int = 0


def propose(wanted: Wanted, file: Path, begin: Begin = lambda total: lambda: None) -> ProposalReport:
    """Writes the proposals to the sheet, keeping its reviews."""
    subset = subset_named(wanted.name)
    _check(subset, wanted)
    old = sheet.read(file) if file.exists() else []
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{file.parent}: cannot be made ({error.strerror}); choose another --out") from None
    report = _proposals(subset, wanted, file, old, begin)
    if wanted.pictures:
        questions = _whole_set(wanted.data, _benchmark(subset, wanted))
        files = _write_pictures(questions, {row.id for row in report.rows}, file)
        report.rows = [replace(row, shown={**row.shown, "pictures": files.get(row.id, "")}) for row in report.rows]
    report.rows = sheet.merged(report.rows, [row for row in old if row.subset == subset.name])
    others = [row for row in old if row.subset != subset.name]
    place = {name: number for number, name in enumerate(SUBSETS)}
    sheet.write(file, sorted([*others, *report.rows], key=lambda row: place.get(row.subset, len(place))))
    return report


def _whole_set(data: Path, benchmark: BenchmarkName) -> Iterator[Question]:
    """Raises UserError without any question."""
    configs = read_card(data)
    has_config = False
    for config in builder_of(benchmark).layout.every_question:
        names = [name for name in (f"{benchmark}_{config}", config) if name in configs]
        if names:
            yield from iter_questions(data, names, benchmark)
            has_config = True
    if not has_config:
        raise UserError(f"{data} has no {benchmark} questions; it has the configs {', '.join(configs)}")


def _check(subset: Subset, wanted: Wanted) -> None:
    if wanted.benchmark and not subset.takes(wanted.benchmark):
        raise UserError(f"{subset.name} is a subset of {subset.benchmark}, not of {wanted.benchmark}")
    _benchmark(subset, wanted)
    if subset.by == "runs" and not wanted.runs:
        raise UserError(f"{subset.name} is decided by runs: name them with --runs")
    if (subset.name == "image_dependent") != bool(wanted.without_images):
        raise UserError("--without-images names the runs without images of image_dependent, which needs them")
    if wanted.engine and subset.by != "features":
        raise UserError(f"{subset.name} is decided by {subset.by}: it takes no --model")
    if not 0 < wanted.confidence <= 1 or not 0 < wanted.share <= 1:
        raise UserError("--confidence and --share are shares: above 0 and at most 1")


def _benchmark(subset: Subset, wanted: Wanted) -> BenchmarkName:
    benchmark = wanted.benchmark or subset.benchmark
    if benchmark is None:
        raise UserError(f"{subset.name} is for any benchmark: say which with --benchmark")
    return benchmark


def _proposals(
    subset: Subset, wanted: Wanted, file: Path, old: Sequence[sheet.SheetRow], begin: Begin
) -> ProposalReport:
    benchmark = _benchmark(subset, wanted)
    if subset.by == "sample":
        return _sampled(subset, wanted, benchmark)
    items = [candidate(question) for question in _whole_set(wanted.data, benchmark)]
    answers = decided.read_runs(wanted.runs)
    if subset.by == "runs":
        return _decided(subset, wanted, items, answers)
    opinions: Mapping[str, Annotation] = {}
    made_by = ""
    if wanted.engine:
        admitted = {item.id for item in items if subset.admits(item)}
        questions = (question for question in _whole_set(wanted.data, benchmark) if question.id in admitted)
        engine = wanted.engine()
        made_by = f"{engine.model}, prompt {_template().version} {prompt_sha256(subset)[:12]}"
        opinions = annotate(engine, subset, file, questions, begin(len(admitted)), wanted.max_tokens)
    context = CriteriaContext(Standing.of(items), decided.long_answers(items, answers), decided.lucky(items, answers))
    rows = [_judged(subset, item, context, opinions.get(item.id), made_by) for item in items]
    ranked = _ranked(subset, rows, old, wanted)
    report = ProposalReport([row for row in ranked if wanted.everything or row.state != "out"], len(items))
    if wanted.engine:
        silent = [opinion for opinion in opinions.values() if opinion.criteria is None]
        report.failed = sum(opinion.failed for opinion in silent)
        report.lines.append(f"annotator {made_by}: {len(opinions) - len(silent)} annotated, {len(silent)} not")
        reasons = Counter(opinion.why for opinion in silent)
        report.lines += [f"  {count} not: {why}" for why, count in reasons.most_common(3)]
    return report


def _judged(
    subset: Subset, item: Candidate, context: CriteriaContext, opinion: Annotation | None, made_by: str
) -> sheet.SheetRow:
    """Features and annotator count half each if both decide."""
    opinions = opinion.criteria if opinion and opinion.criteria else {}
    met, unknown, evidence, score = [], [], [], 0.0
    for criterion in subset.criteria:
        finding = criterion.rule(item, context) if criterion.rule else Finding(None, "")
        strength = finding.strength if finding.met else 0.0
        views = {"features": strength} if finding.met is not None else {}
        if criterion.name in opinions:
            views["annotator"] = float(opinions[criterion.name])
        if yes := [who for who, view in views.items() if view]:
            met.append(f"{criterion.name} ({' + '.join(yes)})")
            score += criterion.weight * sum(views.values()) / len(views)
        if not views:
            unknown.append(criterion.name)
        if finding.met:
            evidence.append(f"{criterion.name}: {finding.why}")
    score /= sum(criterion.weight for criterion in subset.criteria)
    enough = subset.admits(item) and len(met) >= subset.least
    if enough and score < subset.floor and not any(opinions.values()):
        enough = False
        evidence.append(f"a score of {score:.2g} is below {subset.floor:g}: too little for a proposal")
    return _row(
        subset,
        item,
        "proposed" if enough else "out",
        score,
        criteria="; ".join(met),
        unknown="; ".join(unknown),
        evidence="\n".join(evidence),
        annotator=opinion.why if opinion else "",
        made_by="; ".join(filter(None, [f"rules {RULES_VERSION}", made_by])),
    )


def _row(subset: Subset, item: Candidate, state: str, score: float | None, **shown: str) -> sheet.SheetRow:
    features = {name: value for name, value in item.features.items() if value is not None}
    shown = {"question": item.excerpt, "features": json.dumps(features)} | shown
    return sheet.SheetRow(
        subset=subset.name,
        state=state,
        id=item.id,
        text_sha256=item.text_sha256,
        score=score,
        language=item.language,
        subject=item.subject,
        shown=shown,
    )


def _ranked(
    subset: Subset, rows: Sequence[sheet.SheetRow], old: Sequence[sheet.SheetRow], wanted: Wanted
) -> list[sheet.SheetRow]:
    """Sorts by language and subject, best first; rows over the quota become reserves."""
    quota = wanted.per_subject or subset.per_subject
    verdicts = {row.key: row.verdict[0] for row in old}
    rows = [replace(row, state="kept") if row.state == "out" and verdicts.get(row.key) else row for row in rows]
    order = sorted(
        rows,
        key=lambda row: (
            row.language,
            row.subject,
            verdicts.get(row.key) is not True,
            -round(row.score or 0, 6),
            decided.seeded_hash(row.id, wanted.seed),
        ),
    )
    filled: Counter[tuple[str, str]] = Counter()
    ranked = []
    for row in order:
        counts = row.state != "out" and verdicts.get(row.key) is not False
        filled[row.language, row.subject] += counts
        over = quota is not None and counts and filled[row.language, row.subject] > quota
        ranked.append(replace(row, state="reserve") if over and row.state == "proposed" else row)
    return sorted(ranked, key=lambda row: sheet.STATES.index(row.state))


def _decided(
    subset: Subset, wanted: Wanted, items: Sequence[Candidate], answers: Sequence[decided.RunAnswers]
) -> ProposalReport:
    blind = decided.read_runs(wanted.without_images)

    outcomes: dict[str, Callable[[Candidate], decided.Outcome]] = {
        "hard": lambda item: decided.hard(item, answers),
        "adversarial": lambda item: decided.adversarial(item, answers, wanted.confidence),
        "image_dependent": lambda item: decided.image_dependent(item, answers, blind, wanted.confidence),
    }
    run_names = [f"{run.name} ({run.model})" for run in answers]
    run_names += [f"without images {run.name} ({run.model})" for run in blind]
    confidence = "" if subset.name == "hard" else f", confidence {wanted.confidence:g}"
    made_by = f"rules {RULES_VERSION}{confidence}, runs {', '.join(run_names)}"
    rows = []
    for item in items:
        state, why = outcomes[subset.name](item)
        if wanted.everything or state != "out":
            rows.append(_row(subset, item, state, None, evidence=why, made_by=made_by))
    rows.sort(key=lambda row: (sheet.STATES.index(row.state), row.language, row.subject, row.id))
    return ProposalReport(rows, len(items), decided.ablation(items, answers, blind))


def _sampled(subset: Subset, wanted: Wanted, benchmark: BenchmarkName) -> ProposalReport:
    items = [
        decided.Item(question.id, question.difficulty, frozenset(question.knowledge_points))
        for question in _whole_set(wanted.data, benchmark)
    ]
    drawn = decided.sample(items, wanted.share, wanted.seed)
    made_by = f"rules {RULES_VERSION}, share {wanted.share:g}, seed {wanted.seed}"
    rows = [
        _row(subset, candidate(question), "proposed", None, evidence=drawn.picked[question.id], made_by=made_by)
        for question in _whole_set(wanted.data, benchmark)
        if question.id in drawn.picked
    ]
    return ProposalReport(rows, len(items), drawn.notes)


LABEL_FIELDS = {
    "subject": "the field of study it belongs to",
    "task": "what must be done to answer it, such as recalling a rule, calculating or reading a diagram",
    "visual_modality": "the form of its pictures, such as table, circuit, photograph or map",
}
LONGEST_LABEL = 60
_LABEL_TASK = "labels"
_LABEL_SCHEMA = object_schema(label={"type": "string"}, why={"type": "string"})


@dataclass
class LabelReport:
    """Rows of the sheet, problems of replies, and failed (repeatable) requests."""

    rows: list[sheet.SheetRow]
    problems: list[str]
    failed: int = 0


@dataclass(frozen=True)
class Audit:
    """Decisions on a field's labels: to audit, decided and accepted, with a Wilson interval."""

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
    items = {question.id: candidate(question) for question in _whole_set(data, benchmark)}
    engine = start()
    report, step = LabelReport([], []), begin(len(items) * len(fields))

    def requests() -> Iterator[Request]:
        for name in fields:
            for question in _whole_set(data, benchmark):
                try:
                    yield _label_request(name, question, max_tokens)
                except UserError as error:
                    report.problems.append(f"{question.id}: {error}")

    labels: dict[str, dict[str, tuple[str, str]]] = {name: {} for name in fields}
    with closing(Asker(engine, Store(f"{file.stem}.{REPLIES}", file.parent))) as asker:
        for reply in asker.replies(requests(), lambda _, text: read_label(text)):
            step()
            report.failed += reply.failed
            if reply.value:
                labels[reply.key.task.removeprefix(f"{_LABEL_TASK}/")][reply.key.question_id] = reply.value
            else:
                report.problems.append(f"{reply.key.question_id}: {reply.problem}")
    for name, named in labels.items():
        sample = draw(named, audit, seed)
        made = [_label_row(name, items[id], text, why, id in sample, engine.model) for id, (text, why) in named.items()]
        made.sort(key=lambda row: (row.state, row.shown["criteria"], row.id))
        report.rows += sheet.merged(made, [row for row in old if row.subset == sheet.LABEL + name])
    others = [row for row in old if row.subset not in {sheet.LABEL + name for name in fields}]
    sheet.write(file, [*others, *report.rows])
    return report


def read_label(text: str) -> tuple[str, str]:
    """Label and reason of a reply; raises Unreadable."""
    reply = fields_of(parse_object(text), "label", "why")
    name = " ".join(a_text(reply["label"], "label").split())
    if not 0 < len(name) <= LONGEST_LABEL or not name.isprintable():
        raise Unreadable(f"gives no label of 1 to {LONGEST_LABEL} characters")
    return name, one_line(a_text(reply["why"], "why"))


def draw(labels: dict[str, tuple[str, str]], size: int, seed: int) -> set[str]:
    """Ids of a stratified sample, at even steps through the ids sorted by label."""
    ids = sorted(labels, key=lambda id: (labels[id][0].casefold(), seeded_hash(id, seed)))
    size = min(size, len(ids))
    return {ids[(2 * place + 1) * len(ids) // (2 * size)] for place in range(size)}


def audits(rows: Sequence[sheet.SheetRow]) -> list[Audit]:
    """Audit of each labelled field."""
    fields = {name: [row for row in rows if row.subset == sheet.LABEL + name] for name in LABEL_FIELDS}
    return [_audit(name, labelled) for name, labelled in fields.items() if labelled]


def _audit(name: str, rows: Sequence[sheet.SheetRow]) -> Audit:
    sampled = [row for row in rows if row.state == "proposed"]
    verdicts = [row.verdict[0] for row in sampled if row.verdict[0] is not None]
    interval = wilson_interval(sum(verdicts), len(verdicts)) if verdicts else None
    labels = Counter(row.shown.get("criteria", "") for row in rows)
    return Audit(name, len(sampled), len(verdicts), sum(verdicts), interval, dict(labels.most_common()))


def _label_request(name: str, question: Question, max_tokens: int) -> Request:
    prompt = load_prompt("livek12.dataset_builders.proposals.subsets", "label.txt")
    key = Key(task=f"{_LABEL_TASK}/{name}", question_id=question.id)
    unsolved = question.model_copy(update={"solution": None})
    return question_request(key, prompt, {"what": LABEL_FIELDS[name]}, unsolved, max_tokens, _LABEL_SCHEMA)


def _label_row(name: str, item: Candidate, text: str, why: str, sampled: bool, model: str) -> sheet.SheetRow:
    return sheet.SheetRow(
        subset=sheet.LABEL + name,
        state="proposed" if sampled else "reserve",
        id=item.id,
        text_sha256=item.text_sha256,
        language=item.language,
        subject=item.subject,
        shown={"criteria": text, "annotator": why, "question": item.excerpt, "made_by": model},
    )
