"""Pre-annotator: a model judges the criteria of a question.

Contract: the question is fenced as data; only the exact JSON object requested counts. Replies are cached next to the
sheet, so a killed run resumes. Source: LiveK12Bench section 2.1 (LLMs as pre-annotators), KMMMU appendix B.2.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from livek12.core.errors import UserError
from livek12.core.prompts import PromptFile, fenced, load_prompt
from livek12.core.records import IMAGE_MARK, Image, Key, Message, Part, Question, Request, Sampling
from livek12.core.replies import a_bool, a_text, fields_of, parse_object
from livek12.core.store import Store
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.proposals.subsets.candidates import MAX_CHARACTERS, whole_text
from livek12.dataset_builders.proposals.subsets.criteria import Subset
from livek12.engines.asking import REPLIES, Asker
from livek12.engines.base import Engine

MAX_TOKENS = 2048
_LONGEST_WHY = 1_000


@dataclass(frozen=True)
class Annotation:
    """Annotated criteria of a question, or the reason for none."""

    criteria: Mapping[str, bool] | None
    why: str
    failed: bool = False


class Annotator:
    """Annotator of questions, with cached replies; the caller closes the engine.

    `max_tokens` includes thinking.
    """

    def __init__(self, engine: Engine, subset: Subset, file: Path, max_tokens: int = MAX_TOKENS) -> None:
        self._asker = Asker(engine, Store(f"{file.stem}.{REPLIES}", file.parent))
        self._subset, self._max_tokens = subset, max_tokens

    @property
    def made_by(self) -> str:
        """Model, prompt version and prompt hash, for the sheet."""
        return f"{self._asker.model}, prompt {template().version} {prompt_sha256(self._subset)[:12]}"

    def opinions(self, questions: Iterable[Question], on_step: Callable[[], None]) -> dict[str, Annotation]:
        """Annotations by question id.

        Raises UserError if the engine cannot run; replies so far are cached.
        """
        annotations: dict[str, Annotation] = {}
        names = [criterion.name for criterion in self._subset.criteria]
        requests = self._requests(questions, annotations, on_step)
        with closing(self._asker):
            for reply in self._asker.replies(requests, lambda key, text: parse(text, names)):
                criteria, why = reply.value or (None, f"not annotated: {reply.problem}")
                annotations[reply.key.question_id] = Annotation(criteria, why, reply.failed)
                on_step()
        return annotations

    def _requests(
        self, questions: Iterable[Question], annotations: dict[str, Annotation], on_step: Callable[[], None]
    ) -> Iterator[Request]:
        for question in questions:
            try:
                yield build_request(self._subset, question, self._max_tokens)
            except UserError as error:
                annotations[question.id] = Annotation(None, f"not annotated: {error}")
                on_step()


def parse(text: str, names: Sequence[str]) -> tuple[dict[str, bool], str]:
    """Parses criteria and reason, optionally in a code fence; raises Unreadable."""
    reply = fields_of(parse_object(text), "criteria", "why")
    criteria = fields_of(reply["criteria"], *names)
    return {name: a_bool(criteria[name], name) for name in names}, one_line(a_text(reply["why"], "why"), _LONGEST_WHY)


def build_request(subset: Subset, question: Question, max_tokens: int = MAX_TOKENS) -> Request:
    """Builds the annotation request; raises UserError if a picture is missing."""
    for number, image in enumerate(question.images, 1):
        if not image.bytes:
            raise UserError(f"picture {number} is missing")
    text = _number_figures(whole_text(question), len(question.images))
    if question.solution:
        text += f"\n\nSolution:\n{question.solution.replace(IMAGE_MARK, '[figure]')}"
    text = text[:MAX_CHARACTERS]
    fence, _ = fenced(text)
    prompt = template().filled({"fence": fence, "question": text, **_described(subset)})
    return Request(
        key=Key(task=f"subsets/{subset.name}", question_id=question.id),
        messages=[Message(role="user", content=[Part(type="text", text=prompt), *_pictures(question.images)])],
        images={image.sha256: image for image in question.images},
        sampling=Sampling(temperature=0.0, max_tokens=max_tokens),
    )


def prompt_sha256(subset: Subset) -> str:
    """Hash of the prompt without the question."""
    return hashlib.sha256("\0".join([template().text, *_described(subset).values()]).encode()).hexdigest()


def template() -> PromptFile:
    """The prompt file, with {subset}, {criteria}, {form}, {fence} and {question}."""
    return load_prompt("livek12.dataset_builders.proposals.subsets", "annotate.txt")


def _described(subset: Subset) -> dict[str, str]:
    form = {"criteria": {criterion.name: False for criterion in subset.criteria}, "why": "one sentence"}
    return {
        "subset": subset.says,
        "criteria": "\n".join(f"- {criterion.name}: {criterion.says}" for criterion in subset.criteria),
        "form": json.dumps(form).replace("false", "true|false"),
    }


def _number_figures(text: str, pictures: int) -> str:
    pieces = text.split(IMAGE_MARK)
    numbered = "".join(f"[figure {n}]{piece}" if n else piece for n, piece in enumerate(pieces))
    unplaced = range(len(pieces), pictures + 1)
    return numbered + "".join(f"\n[figure {n}]" for n in unplaced)


def _pictures(images: Iterable[Image]) -> Iterator[Part]:
    for number, image in enumerate(images, 1):
        yield Part(type="text", text=f"\n[figure {number}]\n")
        yield Part(type="image", image=image.sha256)
