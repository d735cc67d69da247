"""Varies a data set: draws questions and transforms, makes and judges variants, and writes both.

Contract: draws depend on seed and id only, not on other questions; equal draws give equal bytes. Replies are cached
before parsing, so a resumed command repeats no request. Variants go to the config `dynamic`; `variants.jsonl` records
changes, or the reason for none. A variant with a failed request is missing until the command is repeated.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from livek12.core.errors import UserError
from livek12.core.files import write_atomically
from livek12.core.prompts import load_prompt
from livek12.core.questions import iter_questions
from livek12.core.records import Image, Key, Question, Request, Review, Variant
from livek12.core.store import Store
from livek12.dataset_builders.base import Log, Records, one_line
from livek12.dataset_builders.proposals.variants.transforms import (
    PACKAGE,
    PARAPHRASE,
    TYPE,
    WORDS,
    Sameness,
    can_be_asked,
    conversions,
    invert,
    judging_request,
    pad,
    read_judgement,
    transformed,
    writing_request,
)
from livek12.dataset_builders.registry import builder_of
from livek12.dataset_builders.writing.card import VARIANTS
from livek12.dataset_builders.writing.data_set import check_out, write
from livek12.engines.arguments import bound
from livek12.engines.asking import REPLIES, Asker, ModelSpec, Reply
from livek12.engines.images import BadImage
from livek12.engines.openai.picture_edits import Edit, NoPicture, PictureEditor

PAD, INVERT, STYLE = "pad", "invert", "style"
OF_PICTURES = (PAD, INVERT, STYLE)
OF_TEXT = (WORDS, PARAPHRASE, TYPE)
TRANSFORMS = (*OF_PICTURES, *OF_TEXT)
"""MDK12-Bench, "Dynamic evaluation": three of pictures, three of text."""
SHARE = 0.5
"""Half of the questions ("Dynamic evaluation results")."""
KIND = "dynamic"
_DRAWN = {PAD: pad, INVERT: invert}
Step = Callable[[], None]
NO_REPLY, UNUSABLE, NO_PICTURE = "no reply", "unusable reply", "unusable picture"
MEANING, UNJUDGED = "meaning changed", "not judged"
BENCHMARK = "mdk12"
CONFIG = "mini"
_NOTHING = "no transform"


@dataclass(frozen=True)
class Changes:
    """Transforms of a question.

    Attributes:
        picture: of all its pictures; "" for none.
        text: of its text; "" for none.
        rule: new type by a sound rule, if `text` is `type`.
    """

    picture: str = ""
    text: str = ""
    rule: str = ""

    @property
    def transforms(self) -> list[str]:
        """Names of the transforms, pictures first."""
        return [name for name in (self.picture, self.text) if name]


def _random_of(seed: int, *what: str) -> Random:
    return Random(int.from_bytes(hashlib.sha256("\0".join([str(seed), *what]).encode()).digest()[:8], "big"))


def sample(ids: Sequence[str], share: float, seed: int) -> set[str]:
    """Draws a share of the ids; raises UserError."""
    if not 0 < share <= 1:
        raise UserError(f"--share {share}: give a share of the questions above 0 and up to 1")
    ranked = sorted(ids, key=lambda id: _random_of(seed, id, "sample").random())
    return set(ranked[: max(1, round(share * len(ids)))])


def plan(question: Question, seed: int, offered: Collection[str], model: bool) -> Changes:
    """Draws one transform each of pictures and text, evenly among the possible ones in `offered`."""
    pictures = [name for name in OF_PICTURES if name in offered and question.images]
    rules = conversions(question) if TYPE in offered else {}
    texts = [
        name
        for name in OF_TEXT
        if name in offered and ((name == TYPE and rules) or (model and can_be_asked(question, name)))
    ]
    picture = _random_of(seed, question.id, "picture").choice(pictures) if pictures else ""
    text = _random_of(seed, question.id, "text").choice(texts) if texts else ""
    rule = _random_of(seed, question.id, "rule").choice(list(rules)) if text == TYPE and rules else ""
    return Changes(picture, text, rule)


def _why_none(question: Question, offered: Collection[str], model: bool) -> str:
    reasons = []
    if set(offered) & set(OF_PICTURES) and not question.images:
        reasons.append("it has no pictures")
    if set(offered) & set(OF_TEXT):
        kind = question.question_type
        reasons.append(
            f"no rule converts its type ({kind}) soundly" if TYPE in offered else "its text cannot be varied"
        )
        reasons[-1] += "" if model else " and there is no --model"
    return " and ".join(reasons) or "nothing is offered"


@dataclass
class Made:
    """A question and its variant.

    Attributes:
        text: new text, type and key with the old pictures.
        drawn: draws for each picture, and the new type.
        dropped: short countable reason for no variant, or "".
        failed: a repeated request may succeed.
    """

    question: Question
    plan: Changes
    text: Question | None = None
    drawn: dict[str, Any] = field(default_factory=dict)
    dropped: str = ""
    why: str = ""
    failed: bool = False

    def drop(self, reason: str, why: str, failed: bool = False) -> None:
        """Drops the variant."""
        self.dropped, self.why, self.failed = reason, one_line(why, 300), failed

    @property
    def redrawn(self) -> bool:
        """True if a model redraws its pictures."""
        return self.plan.picture == STYLE and not self.dropped

    @property
    def id(self) -> str:
        """Id of the variant."""
        return f"{self.question.id}:{KIND}"


class Maker:
    """Maker of variants; `editor` is the model for pictures."""

    def __init__(self, seed: int, editor: PictureEditor | None = None) -> None:
        self._seed, self._editor = seed, editor

    def texts(self, made: Iterable[Made], writer: Asker | None, step: Step) -> None:
        """Makes the new texts, by rule or model; raises UserError if the model cannot run."""
        waiting: dict[str, Made] = {}
        for item in made:
            if item.plan.text and not item.plan.rule:
                waiting[item.question.id] = item
                continue
            item.text = self._by_rule(item)
            step()
        if waiting and writer:
            requests = (writing_request(item.question, item.plan.text) for item in waiting.values())
            for reply in writer.replies(requests, lambda key, text: self._read(waiting, key, text)):
                _take_text(waiting[reply.key.question_id], reply)
                step()

    def redraw(self, made: Iterable[Made], step: Step) -> None:
        """Redraws `style` pictures by the model; raises UserError if it cannot run."""
        if self._editor is None:
            return
        waiting: list[Made] = []

        def edits() -> Iterator[Edit]:
            for item in made:
                images = item.text.images if item.text and item.redrawn else ()
                for number, image in enumerate(images, 1):
                    waiting.append(item)
                    yield self._edit(item, number, image)

        for _, came in self._editor.redraw(edits()):
            item = waiting.pop(0)
            if isinstance(came, NoPicture) and not item.dropped:
                item.drop(NO_REPLY if came.failed else NO_PICTURE, f"{STYLE}: {came}", came.failed)
            step()

    def judge(self, made: Iterable[Made], judge: Asker, step: Step) -> None:
        """Drops variants of another meaning; raises UserError if the judge cannot run."""
        waiting: dict[str, Made] = {}

        def requests() -> Iterator[Request]:
            for item in made:
                variant = self.variant(item)
                if variant is None:
                    step()
                    continue
                waiting[item.id] = item
                yield judging_request(item.question, variant, item.plan.transforms, item.id)

        for reply in judge.replies(requests(), lambda _, text: read_judgement(text)):
            _take_judgement(waiting.pop(reply.key.question_id), reply)
            step()

    def variant(self, item: Made) -> Question | None:
        """The complete variant; None if dropped, with the reason in `item`."""
        if item.dropped or item.text is None:
            return None
        try:
            images = [self._picture(item, number, image) for number, image in enumerate(item.text.images, 1)]
        except BadImage as error:
            item.drop(NO_PICTURE, f"{item.plan.picture}: a picture {error}")
            return None
        source = item.question
        return item.text.model_copy(
            update={
                "id": item.id,
                "images": images,
                "subsets": [*(name for name in source.subsets if name != KIND), KIND],
                "review": Review(),
                "variant": Variant(of=source.id, kind=KIND, transforms=item.plan.transforms),
            }
        )

    def _by_rule(self, item: Made) -> Question:
        if not item.plan.rule:
            return item.question
        item.drawn["type"] = {"to": item.plan.rule, "by": "rule"}
        return conversions(item.question)[item.plan.rule](
            item.question, _random_of(self._seed, item.question.id, "option")
        )

    def _read(self, waiting: Mapping[str, Made], key: Key, text: str) -> Question:
        item = waiting[key.question_id]
        random = _random_of(self._seed, item.question.id, "option")
        return transformed(item.question, item.plan.text, text, random)

    def _picture(self, item: Made, number: int, image: Image) -> Image:
        transform = item.plan.picture
        if not transform:
            return image
        if transform == STYLE:
            came = self._editor.known(self._edit(item, number, image)) if self._editor else None
            if came is None:
                raise BadImage("was not redrawn")
            return came
        changed, drawn = _DRAWN[transform](image, _random_of(self._seed, item.question.id, "picture", str(number)))
        item.drawn.setdefault("pictures", {})[str(number)] = drawn
        return changed

    def _edit(self, item: Made, number: int, image: Image) -> Edit:
        return Edit(image, _random_of(self._seed, item.question.id, "picture", str(number)).randrange(2**31))


def _take_text(item: Made, reply: Reply[Question]) -> None:
    if reply.value is None:
        item.drop(NO_REPLY if reply.failed else UNUSABLE, f"{item.plan.text}: {reply.problem}", reply.failed)
        return
    item.text = reply.value
    if item.plan.text == TYPE:
        item.drawn["type"] = {"to": reply.value.question_type, "by": "model"}


def _take_judgement(item: Made, reply: Reply[Sameness]) -> None:
    if reply.value is None:
        item.drop(UNJUDGED, f"judge: {reply.problem}", reply.failed)
    elif not reply.value.stays:
        fault = "its key does not hold" if reply.value.same_meaning else "its meaning changed"
        item.drop(MEANING, f"judge: {fault}: {reply.value.why}")


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
    data: str, out: Path, options: VaryOptions, begin: Callable[[str, int], Step] = lambda what, total: lambda: None
) -> VaryReport:
    """Writes a data set with a variant of each drawn question."""
    if Path(data).is_dir() and Path(data).resolve() == out.resolve():
        raise UserError(f"{out}: is the data set that is varied; choose another --out")
    report = VaryReport()
    offered = _offered(options, report)
    check_out(out.absolute(), BENCHMARK)
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
            beside=lambda folder: write_atomically(
                folder / VARIANTS, (json.dumps(row, ensure_ascii=False) + "\n" for row in _rows(made))
            ),
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
            item.drop(_NOTHING, _why_none(question, offered, model))
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
