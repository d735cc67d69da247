"""Makes the variants of questions: draws, asks models, and puts texts and pictures together.

Contract: what a model says is remembered before it is read, so that the same command after a kill asks nothing twice.
Pictures are made when they are needed and again when they are written: equal draws give equal bytes.
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
    """A question and what becomes of its variant.

    Attributes:
        question: the source.
        plan: what is done to it.
        text: the source with its new text, type and key; its pictures are still the old ones.
        drawn: what was drawn for each picture, and to what type the question went.
        dropped: why there is no variant, in a word or two that are counted; "" where there is one.
        why: more on that, on one line.
        failed: asking again may bring one.
    """

    question: Question
    plan: Changes
    text: Question | None = None
    drawn: dict[str, Any] = field(default_factory=dict)
    dropped: str = ""
    why: str = ""
    failed: bool = False

    def drop(self, reason: str, why: str, failed: bool = False) -> None:
        """Leaves the variant out."""
        self.dropped, self.why, self.failed = reason, one_line(why, 300), failed

    @property
    def redrawn(self) -> bool:
        """Whether its pictures are for the model that redraws them."""
        return self.plan.picture == STYLE and not self.dropped

    @property
    def id(self) -> str:
        """The id of the variant."""
        return f"{self.question.id}:{KIND}"


NO_REPLY, UNUSABLE, NO_PICTURE = "no reply", "unusable reply", "unusable picture"
MEANING, UNJUDGED = "meaning changed", "not judged"


class Maker:
    """Makes variants.

    Args:
        seed: of all that is drawn.
        editor: the model for pictures, where there is one.
    """

    def __init__(self, seed: int, editor: PictureEditor | None = None) -> None:
        self._seed, self._editor = seed, editor

    def texts(self, made: Iterable[Made], writer: Asker | None, step: Step) -> None:
        """Makes the new texts: by rule at once, by the model as its replies come.

        Raises:
            UserError: the model cannot be asked at all.
        """
        waiting: dict[str, Made] = {}
        for one in made:
            if one.plan.text and not one.plan.rule:
                waiting[one.question.id] = one
                continue
            one.text = self._by_rule(one)
            step()
        if waiting and writer:
            asked = (rewriting.request(one.question, one.plan.text) for one in waiting.values())
            for reply in writer.replies(asked, lambda key, text: self._read(waiting, key, text)):
                _take_text(waiting[reply.key.question_id], reply)
                step()

    def redraw(self, made: Iterable[Made], step: Step) -> None:
        """Has pictures redrawn by the model; the others are made when they are needed.

        Raises:
            UserError: its endpoint cannot be asked at all.
        """
        if self._editor is None:
            return
        owners = ((one, edit) for one in made if one.redrawn for edit in self._edits(one))
        waiting: list[Made] = []

        def edits() -> Iterator[Edit]:
            for one, edit in owners:
                waiting.append(one)
                yield edit

        for _, came in self._editor.redraw(edits()):
            one = waiting.pop(0)
            if isinstance(came, NoPicture) and not one.dropped:
                one.drop(NO_REPLY if came.failed else NO_PICTURE, f"{STYLE}: {came}", came.failed)
            step()

    def judge(self, made: Iterable[Made], judge: Asker, step: Step) -> None:
        """Drops what the judge does not find to mean the same.

        Raises:
            UserError: the judge cannot be asked at all.
        """
        waiting: dict[str, Made] = {}

        def requests() -> Iterator[Request]:
            for one in made:
                variant = self.variant(one)
                if variant is None:
                    step()
                    continue
                waiting[one.id] = one
                yield judging.request(one.question, variant, one.plan.transforms, one.id)

        for reply in judge.replies(requests(), lambda key, text: judging.read(text)):
            _take_judgement(waiting.pop(reply.key.question_id), reply)
            step()

    def variant(self, one: Made) -> Question | None:
        """The variant, pictures and all; None where it is left out, for which `one` then has the reason."""
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

    def _by_rule(self, one: Made) -> Question:
        if not one.plan.rule:
            return one.question
        one.drawn["type"] = {"to": one.plan.rule, "by": "rule"}
        return conversions(one.question)[one.plan.rule](one.question, random_of(self._seed, one.question.id, "option"))

    def _read(self, waiting: Mapping[str, Made], key: Key, text: str) -> Question:
        one = waiting[key.question_id]
        random = random_of(self._seed, one.question.id, "option")
        return rewriting.transformed(one.question, one.plan.text, text, random)

    def _picture(self, one: Made, number: int, image: Image) -> Image:
        """One picture as the plan has it.

        Raises:
            BadImage: it cannot be made.
        """
        transform = one.plan.picture
        if not transform:
            return image
        if transform == STYLE:
            came = self._editor.known(self._edit(one, number, image)) if self._editor else None
            if came is None:
                raise BadImage("was not redrawn")
            return came
        changed, drawn = _DRAWN[transform](image, random_of(self._seed, one.question.id, "picture", str(number)))
        one.drawn.setdefault("pictures", {})[str(number)] = drawn
        return changed

    def _edits(self, one: Made) -> Iterator[Edit]:
        for number, image in enumerate(one.text.images if one.text else (), 1):
            yield self._edit(one, number, image)

    def _edit(self, one: Made, number: int, image: Image) -> Edit:
        return Edit(image, random_of(self._seed, one.question.id, "picture", str(number)).randrange(2**31))


def _take_text(one: Made, reply: Reply[Question]) -> None:
    if reply.value is None:
        one.drop(NO_REPLY if reply.failed else UNUSABLE, f"{one.plan.text}: {reply.problem}", reply.failed)
        return
    one.text = reply.value
    if one.plan.text == TYPE:
        one.drawn["type"] = {"to": reply.value.question_type, "by": "model"}


def _take_judgement(one: Made, reply: Reply[judging.Sameness]) -> None:
    if reply.value is None:
        one.drop(UNJUDGED, f"judge: {reply.problem}", reply.failed)
    elif not reply.value.stays:
        fault = "its key does not hold" if reply.value.same_meaning else "its meaning changed"
        one.drop(MEANING, f"judge: {fault}: {reply.value.why}")
