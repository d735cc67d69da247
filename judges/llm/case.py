"""One response to be judged, and the blocks that show it to a judge."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from livek12.core.prompts import without_marks
from livek12.core.records import IMAGE_MARK, Call, Image, Question
from livek12.judges.llm.prompts import Fenced

NONE = "(none)"


class CannotShow(Exception):
    """The case cannot be put before a judge; the message says why on one line.

    Attributes:
        calls: what stands for the requests that were not put, where another time they may be.
    """

    def __init__(self, reason: str, waits: bool = False) -> None:
        super().__init__(reason)
        self.calls = (Call(judge="", prompt="", problem=reason),) if waits else ()


@dataclass(frozen=True)
class Case:
    """A question with its key and pictures, and one response to it.

    Attributes:
        id: names the response among those that are judged together.
        question: with the bytes of its pictures.
        response: the text that is judged; never the thinking text.
        pages: the page images that an image-only question is asked from.
        shows_images: false leaves all pictures out (a text-only ablation).
        repeat: how often judges were asked all of this before, for their agreement with themselves.
    """

    id: str
    question: Question
    response: str
    pages: tuple[Image, ...] = ()
    shows_images: bool = True
    repeat: int = 0

    def draw(self, more: bool = False) -> int:
        """The trial of a request to a judge; `more`: it was drawn for this case already, and votes once more."""
        return 2 * self.repeat + more

    @property
    def has_images(self) -> bool:
        """Whether a judge has to see."""
        question = self.question
        shown = [*self.pages, *question.images, *question.answer_images, *question.solution_images]
        return self.shows_images and bool(shown)

    def question_block(self) -> Fenced:
        """Question and options with their pictures at their marks; the pages of a paper first.

        The pages show the figures: where the question holds none of its own, its marks go.

        Raises:
            CannotShow: a picture is not at hand.
        """
        question = self.question
        options = [f"{option.label}. {option.text}" for option in question.options]
        text = "\n".join([question.question, *options])
        if not self.pages:
            return self._block("QUESTION", text, question.images)
        paper = "\n".join([IMAGE_MARK] * len(self.pages) if self.shows_images else [])
        number = f"Question {question.number} on these pages:\n" if question.number else ""
        text = text if question.images else without_marks(text)
        return self._block("QUESTION", f"{paper}\n{number}{text}", [*self.pages, *question.images])

    def reference_block(self, golds: Sequence[str], label: str = "REFERENCE ANSWER") -> Fenced:
        """The key of the parts in question, numbered where there are several, with the key's pictures."""
        numbered = [f"Part {number}: {gold}" for number, gold in enumerate(golds, 1)] if len(golds) > 1 else golds
        return self._block(label, "\n".join(numbered).strip() or NONE, self.question.answer_images)

    def solution_block(self) -> Fenced:
        """The reference solution with its pictures."""
        solution = self.question.solution or ""
        return self._block("REFERENCE SOLUTION", solution.strip() or NONE, self.question.solution_images)

    def response_block(self) -> Fenced:
        """What is judged."""
        return Fenced("RESPONSE", self.response.strip() or NONE)

    def _block(self, label: str, text: str, images: Sequence[Image]) -> Fenced:
        if not self.shows_images:
            return Fenced(label, text)
        if missing := [image.path or "no name" for image in images if not image.bytes]:
            raise CannotShow(
                f"a picture for the judge is not at hand ({missing[0][:80]}); say where the data is (--data)",
                waits=True,
            )
        marks = text.count(IMAGE_MARK)
        if marks > len(images):
            raise CannotShow(f"{label.lower()}: {marks} image marks but {len(images)} images")
        return Fenced(label, text, tuple(images))


def table(label: str, rows: Sequence[dict[str, object]]) -> Fenced:
    """Rows of data as JSON, one a line."""
    return Fenced(label, "\n".join(json.dumps(row, ensure_ascii=False) for row in rows))
