"""Varies a data set: draws its questions, makes their variants, has them judged, and writes both as a data set.

Contract: the data set holds the drawn questions where they were, and their variants in its config `dynamic`; its
`variants.jsonl` says for each drawn question what was done or why not. Replies are remembered beside it. A variant
whose request failed is left out this time; the same command asks for it again.
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
from livek12.dataset_builders.writing.data_set import write
from livek12.dataset_builders.writing.workspace import check_out
from livek12.engines.arguments import bound
from livek12.engines.asking import REPLIES, Asker
from livek12.engines.picture_edits import PictureEditor
from livek12.engines.spec import ModelSpec

BENCHMARK = "mdk12"
CONFIG = "mini"
_NOTHING = "no transform"


@dataclass(frozen=True)
class VaryOptions:
    """How questions are varied.

    Attributes:
        transforms: names among `TRANSFORMS`; empty for all.
        share: of the questions of the config, how many are drawn.
        seed: of all that is drawn.
        config: whose questions.
        model: for the texts.
        judge: drops variants whose meaning changed.
        style: for the pictures: an endpoint that redraws them.
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
    """What came of it.

    Attributes:
        questions: how many the config has.
        drawn: how many of them were drawn.
        variants: how many have a variant in the data set.
        made: variants in the data set, by transform; one with two transforms counts for both.
        dropped: drawn questions without a variant, by transform and reason; those with two transforms count for both.
        left_out: the same, each once, by reason.
        lines: one line a question without a variant.
        notes: transforms that could not be offered, and what nobody checked.
        failed: variants that asking again may bring.
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
    """Writes a data set with a variant of each drawn question.

    Args:
        data: a built data set.
        out: the data set to write, with the drawn questions and their variants.
        options: what is drawn, and who helps.
        begin: starts a progress bar of this name and length; gives what to call after each.

    Raises:
        UserError: no such questions, an unknown transform, nothing that can be made, or a model that cannot run.
    """
    if Path(data).is_dir() and Path(data).resolve() == out.resolve():
        raise UserError(f"{out}: is the data set that is varied; choose another --out")
    report = VaryReport()
    offered = _offered(options, report)
    check_out(out.absolute())
    made = _drawn(data, options, offered, report)
    with ExitStack() as stack:
        editor = stack.enter_context(closing(_editor(options.style, _store(out)))) if options.style else None
        maker = Maker(options.seed, editor)
        with _asking(options.model, out) as writer:  # one model at a time: two may not fit side by side
            maker.texts(made, writer, begin("texts", len(made)))
        if editor:
            maker.redraw(made, begin("pictures", sum(len(one.question.images) for one in made if one.redrawn)))
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
            begin("writing", len(made) + sum(not one.dropped for one in made)),
            data,
            beside=lambda folder: _write_rows(folder / VARIANTS, made),
        )
    return _counted(report, made)


def _offered(options: VaryOptions, report: VaryReport) -> list[str]:
    """The transforms that can be made; what of those asked for cannot is noted.

    Raises:
        UserError: unknown ones, or none is left.
    """
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
    left = [name for name in wanted if not (name in texts and not options.model)]
    left = [name for name in left if name != STYLE or options.style]
    if not left:
        raise UserError(f"nothing can be varied: {report.notes[0]}")
    return left


def _drawn(data: str, options: VaryOptions, offered: Sequence[str], report: VaryReport) -> list[Made]:
    """The drawn questions with what is to be done to them."""
    configs = (f"{BENCHMARK}_{options.config}", options.config)
    # Read twice: the pictures of questions that are not drawn need not be in memory.
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
        one = Made(question, plan(question, options.seed, offered, model))
        if not one.plan.transforms:
            one.drop(_NOTHING, why_none(question, offered, model))
        made.append(one)
    return made


@contextmanager
def _asking(spec: ModelSpec | None, out: Path) -> Iterator[Asker | None]:
    """The model, started and closed again; None where none is named."""
    if spec is None:
        yield None
        return
    with closing(spec.start()) as engine, closing(Asker(engine, _store(out))) as asker:
        yield asker


def _store(out: Path) -> Store:
    """Where replies are remembered: beside the data set, which is replaced as a whole."""
    return Store(f"{out.name}.{REPLIES}", out.absolute().parent)


def _editor(spec: ModelSpec, store: Store) -> PictureEditor:
    if spec.runs_on != "openai":
        raise UserError("--style-model: only an endpoint redraws pictures: give MODEL@openai:base_url=…")
    prompt = load_prompt(PACKAGE, "style.txt").text.strip()
    return PictureEditor(spec.model, prompt, store, **bound(PictureEditor, "style", spec.engine_args))


def _records(made: Sequence[Made], maker: Maker) -> Records:
    """Each drawn question, then its variant where it has one."""
    for one in made:
        yield one.question
        variant = maker.variant(one)
        if variant is not None:
            yield variant


def _write_rows(file: Path, made: Sequence[Made]) -> None:
    write_atomically(file, (json.dumps(row, ensure_ascii=False) + "\n" for row in _rows(made)))


def _rows(made: Sequence[Made]) -> Iterator[dict[str, Any]]:
    for one in made:
        row: dict[str, Any] = {"of": one.question.id, "transforms": one.plan.transforms, **one.drawn}
        yield {**row, "dropped": one.dropped, "why": one.why} if one.dropped else {"id": one.id, **row}


def _counted(report: VaryReport, made: Sequence[Made]) -> VaryReport:
    kept = Counter[str]()
    dropped: dict[str, Counter[str]] = {}
    for one in made:
        if not one.dropped:
            kept.update(one.plan.transforms)
            continue
        report.lines.append(f"{one.question.id}: no variant: {one.dropped}: {one.why}")
        for name in one.plan.transforms or ["none"]:
            dropped.setdefault(name, Counter())[one.dropped] += 1
    report.variants = sum(not one.dropped for one in made)
    report.made = {name: kept[name] for name in TRANSFORMS if kept[name]}
    report.dropped = {name: dict(dropped[name]) for name in (*TRANSFORMS, "none") if name in dropped}
    report.left_out = dict(Counter(one.dropped for one in made if one.dropped))
    report.failed = sum(one.failed for one in made)
    return report
