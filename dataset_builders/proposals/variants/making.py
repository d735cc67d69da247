"""Makes variants of questions: draws, model requests, texts and pictures.

Contract: replies are cached before parsing, so a resumed command repeats no request. Equal draws give equal bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from livek12.core.records import Image, Key, Question, Request, Review, Variant
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.proposals.variants import judging, rewriting
from livek12.dataset_builders.proposals.variants.conversion import conversions
from livek12.dataset_builders.proposals.variants.pictures import invert, pad
from livek12.dataset_builders.proposals.variants.plans import INVERT, PAD, STYLE, Changes, random_of
from livek12.dataset_builders.proposals.variants.rewriting import TYPE
from livek12.engines.asking import Asker, Reply
from livek12.engines.images import BadImage
from livek12.engines.openai.picture_edits import Edit, NoPicture, PictureEditor

KIND = "dynamic"
_DRAWN = {PAD: pad, INVERT: invert}
Step = Callable[[], None]


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


NO_REPLY, UNUSABLE, NO_PICTURE = "no reply", "unusable reply", "unusable picture"
MEANING, UNJUDGED = "meaning changed", "not judged"


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
            requests = (rewriting.request(item.question, item.plan.text) for item in waiting.values())
            for reply in writer.replies(requests, lambda key, text: self._read(waiting, key, text)):
                _take_text(waiting[reply.key.question_id], reply)
                step()

    def redraw(self, made: Iterable[Made], step: Step) -> None:
        """Redraws `style` pictures by the model; raises UserError if it cannot run."""
        if self._editor is None:
            return
        owners = ((item, edit) for item in made if item.redrawn for edit in self._edits(item))
        waiting: list[Made] = []

        def edits() -> Iterator[Edit]:
            for item, edit in owners:
                waiting.append(item)
                yield edit

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
                yield judging.request(item.question, variant, item.plan.transforms, item.id)

        for reply in judge.replies(requests(), lambda key, text: judging.read(text)):
            _take_judgement(waiting.pop(reply.key.question_id), reply)
            step()

    def variant(self, one: Made) -> Question | None:
        """The complete variant; None if dropped, with the reason in `one`."""
        if one.dropped or one.text is None:
            return None
        try:
            images = [self._picture(one, number, image) for number, image in enumerate(one.text.images, 1)]
        except BadImage as error:
            one.drop(NO_PICTURE, f"{one.plan.picture}: a picture {error}")
            return None
        source = one.question
        return one.text.model_copy(
            update={
                "id": one.id,
                "images": images,
                "subsets": [*(name for name in source.subsets if name != KIND), KIND],
                "review": Review(),
                "variant": Variant(of=source.id, kind=KIND, transforms=one.plan.transforms),
            }
        )

    def _by_rule(self, item: Made) -> Question:
        if not item.plan.rule:
            return item.question
        item.drawn["type"] = {"to": item.plan.rule, "by": "rule"}
        return conversions(item.question)[item.plan.rule](
            item.question, random_of(self._seed, item.question.id, "option")
        )

    def _read(self, waiting: Mapping[str, Made], key: Key, text: str) -> Question:
        item = waiting[key.question_id]
        random = random_of(self._seed, item.question.id, "option")
        return rewriting.transformed(item.question, item.plan.text, text, random)

    def _picture(self, item: Made, number: int, image: Image) -> Image:
        transform = item.plan.picture
        if not transform:
            return image
        if transform == STYLE:
            came = self._editor.known(self._edit(item, number, image)) if self._editor else None
            if came is None:
                raise BadImage("was not redrawn")
            return came
        changed, drawn = _DRAWN[transform](image, random_of(self._seed, item.question.id, "picture", str(number)))
        item.drawn.setdefault("pictures", {})[str(number)] = drawn
        return changed

    def _edits(self, item: Made) -> Iterator[Edit]:
        for number, image in enumerate(item.text.images if item.text else (), 1):
            yield self._edit(item, number, image)

    def _edit(self, item: Made, number: int, image: Image) -> Edit:
        return Edit(image, random_of(self._seed, item.question.id, "picture", str(number)).randrange(2**31))


def _take_text(item: Made, reply: Reply[Question]) -> None:
    if reply.value is None:
        item.drop(NO_REPLY if reply.failed else UNUSABLE, f"{item.plan.text}: {reply.problem}", reply.failed)
        return
    item.text = reply.value
    if item.plan.text == TYPE:
        item.drawn["type"] = {"to": reply.value.question_type, "by": "model"}


def _take_judgement(item: Made, reply: Reply[judging.Sameness]) -> None:
    if reply.value is None:
        item.drop(UNJUDGED, f"judge: {reply.problem}", reply.failed)
    elif not reply.value.stays:
        fault = "its key does not hold" if reply.value.same_meaning else "its meaning changed"
        item.drop(MEANING, f"judge: {fault}: {reply.value.why}")
