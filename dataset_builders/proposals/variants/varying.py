"""Varies a data set: draws questions, makes and judges variants, and writes both.

Contract: variants go to the config `dynamic`; `variants.jsonl` records changes, or the reason for none. A variant with
a failed request is missing until the command is repeated.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from livek12.core.errors import UserError
from livek12.core.files import write_atomically
from livek12.core.prompts import load_prompt
from livek12.core.questions import iter_questions
from livek12.core.store import Store
from livek12.dataset_builders.base import Log, Records
from livek12.dataset_builders.proposals.variants.making import Made, Maker, Step
from livek12.dataset_builders.proposals.variants.plans import SHARE, STYLE, TRANSFORMS, plan, sample, why_none
from livek12.dataset_builders.proposals.variants.rewriting import PACKAGE, PARAPHRASE, TYPE, WORDS
from livek12.dataset_builders.registry import builder_of
from livek12.dataset_builders.writing.card import VARIANTS
from livek12.dataset_builders.writing.data_set import check_out, write
from livek12.engines.arguments import bound
from livek12.engines.asking import REPLIES, Asker, ModelSpec
from livek12.engines.openai.picture_edits import PictureEditor

BENCHMARK = "mdk12"
CONFIG = "mini"
_NOTHING = "no transform"


@dataclass(frozen=True)
class VaryOptions:
    """Options of variation.

    Attributes:
        transforms: names among `TRANSFORMS`; empty for all.
        share: of the config's questions.
        style: endpoint that redraws pictures.
    """

    transforms: Sequence[str] = ()
    share: float = SHARE
    seed: int = 0
    config: str = CONFIG
    model: ModelSpec | None = None
    judge: ModelSpec | None = None
    style: ModelSpec | None = None


@dataclass
class VaryReport:
    """Result of variation.

    Attributes:
        made: variants by transform; two transforms count twice.
        dropped: drawn questions without a variant, by transform and reason, counted likewise.
        left_out: the same, each once, by reason.
        failed: variants that a repetition may add.
    """

    questions: int = 0
    drawn: int = 0
    variants: int = 0
    made: dict[str, int] = field(default_factory=dict)
    dropped: dict[str, dict[str, int]] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failed: int = 0


def vary(
    data: str,
    out: Path,
    options: VaryOptions,
    begin: Callable[[str, int], Step] = lambda what, total: lambda: None,
) -> VaryReport:
    """Writes a data set with a variant of each drawn question."""
    if Path(data).is_dir() and Path(data).resolve() == out.resolve():
        raise UserError(f"{out}: is the data set that is varied; choose another --out")
    report = VaryReport()
    offered = _offered(options, report)
    check_out(out.absolute())
    made = _drawn(data, options, offered, report)
    with ExitStack() as stack:
        editor = stack.enter_context(closing(_editor(options.style, _store(out)))) if options.style else None
        maker = Maker(options.seed, editor)
        with _asking(options.model, out) as writer:  # one model at a time: two may not fit in memory
            maker.texts(made, writer, begin("texts", len(made)))
        if editor:
            maker.redraw(made, begin("pictures", sum(len(item.question.images) for item in made if item.redrawn)))
        with _asking(options.judge, out) as judge:
            if judge:
                maker.judge(made, judge, begin("judging", len(made)))
        log = Log()
        write(
            BENCHMARK,
            _records(made, maker),
            builder_of(BENCHMARK).layout,
            out,
            log,
            begin("writing", len(made) + sum(not item.dropped for item in made)),
            data,
            beside=lambda folder: _write_rows(folder / VARIANTS, made),
        )
    return _counted(report, made)


def _offered(options: VaryOptions, report: VaryReport) -> list[str]:
    if unknown := [name for name in options.transforms if name not in TRANSFORMS]:
        raise UserError(f"--transforms: {unknown[0]!r} is none; there are {', '.join(TRANSFORMS)}")
    wanted = [name for name in TRANSFORMS if name in (options.transforms or TRANSFORMS)]
    texts = [name for name in (WORDS, PARAPHRASE) if name in wanted]
    if texts and not options.model:
        report.notes.append(f"no {' and no '.join(texts)}: give --model, the model that writes")
    if TYPE in wanted and not options.model:
        report.notes.append("type conversions by rule only: for the others give --model")
    if STYLE in wanted and not options.style:
        report.notes.append("no style: give --style-model, an endpoint that redraws pictures")
    if not options.judge:
        report.notes.append("nobody checks that meanings stay the same: give --judge")
    possible = [name for name in wanted if not (name in texts and not options.model)]
    possible = [name for name in possible if name != STYLE or options.style]
    if not possible:
        raise UserError(f"nothing can be varied: {report.notes[0]}")
    return possible


def _drawn(data: str, options: VaryOptions, offered: Sequence[str], report: VaryReport) -> list[Made]:
    configs = (f"{BENCHMARK}_{options.config}", options.config)
    # Two passes: pictures of other questions need no memory.
    ids = [question.id for question in iter_questions(data, configs, BENCHMARK) if question.variant is None]
    if not ids:
        raise UserError(f"{data}: config {options.config} has no question of {BENCHMARK} that is no variant itself")
    drawn = sample(ids, options.share, options.seed)
    report.questions, report.drawn = len(ids), len(drawn)
    made = []
    for question in iter_questions(data, configs, BENCHMARK):
        if question.id not in drawn:
            continue
        model = options.model is not None
        item = Made(question, plan(question, options.seed, offered, model))
        if not item.plan.transforms:
            item.drop(_NOTHING, why_none(question, offered, model))
        made.append(item)
    return made


@contextmanager
def _asking(spec: ModelSpec | None, out: Path) -> Iterator[Asker | None]:
    if spec is None:
        yield None
        return
    with closing(spec.start()) as engine, closing(Asker(engine, _store(out))) as asker:
        yield asker


def _store(out: Path) -> Store:
    return Store(f"{out.name}.{REPLIES}", out.absolute().parent)


def _editor(spec: ModelSpec, store: Store) -> PictureEditor:
    if spec.runs_on != "openai":
        raise UserError("--style-model: only an endpoint redraws pictures: give MODEL@openai:base_url=…")
    prompt = load_prompt(PACKAGE, "style.txt").text.strip()
    return PictureEditor(spec.model, prompt, store, **bound(PictureEditor, "style", spec.engine_args))


def _records(made: Sequence[Made], maker: Maker) -> Records:
    for item in made:
        yield item.question
        variant = maker.variant(item)
        if variant is not None:
            yield variant


def _write_rows(file: Path, made: Sequence[Made]) -> None:
    write_atomically(file, (json.dumps(row, ensure_ascii=False) + "\n" for row in _rows(made)))


def _rows(made: Sequence[Made]) -> Iterator[dict[str, Any]]:
    for item in made:
        row: dict[str, Any] = {"of": item.question.id, "transforms": item.plan.transforms, **item.drawn}
        yield {**row, "dropped": item.dropped, "why": item.why} if item.dropped else {"id": item.id, **row}


def _counted(report: VaryReport, made: Sequence[Made]) -> VaryReport:
    kept = Counter[str]()
    dropped: dict[str, Counter[str]] = {}
    for item in made:
        if not item.dropped:
            kept.update(item.plan.transforms)
            continue
        report.lines.append(f"{item.question.id}: no variant: {item.dropped}: {item.why}")
        for name in item.plan.transforms or ["none"]:
            dropped.setdefault(name, Counter())[item.dropped] += 1
    report.variants = sum(not item.dropped for item in made)
    report.made = {name: kept[name] for name in TRANSFORMS if kept[name]}
    report.dropped = {name: dict(dropped[name]) for name in (*TRANSFORMS, "none") if name in dropped}
    report.left_out = dict(Counter(item.dropped for item in made if item.dropped))
    report.failed = sum(item.failed for item in made)
    return report
