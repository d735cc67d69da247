"""The pre-annotator: a model says which criteria a question meets, through any engine.

Contract: one request a question, with its pictures; the question is fenced as data. An answer counts only if it is
exactly the JSON object asked for; anything else is "not annotated" with the reason. Answers are journalled beside the
sheet as they come, whole and as received, so that a killed run goes on, and no question is asked twice in the same
words. Source: LiveK12Bench section 2.1 (LLMs as pre-annotators), KMMMU appendix B.2.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from livek12.core.engines.base import Engine
from livek12.core.errors import UserError
from livek12.core.journal import JournalWriter, read_journal
from livek12.core.records import (
    IMAGE_MARK,
    Failure,
    Image,
    Key,
    Message,
    Part,
    Question,
    Record,
    Request,
    Response,
    Sampling,
)
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.subsets.candidates import MAX_CHARACTERS, text_sha256, whole_text
from livek12.dataset_builders.subsets.criteria import Subset

PROMPT_VERSION = 1
"""Goes up with the prompt file, the wording of a criterion and the form of the answer."""
MAX_TOKENS = 2048
_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*)\n[ \t]*```", re.DOTALL | re.IGNORECASE)
_LONGEST_ANSWER = 20_000
_LONGEST_WHY = 1_000


class Annotation(Record):
    """A line of the journal: the answer to one request, as received."""

    subset: str
    question_id: str
    text_sha256: str
    prompt_version: int
    prompt_sha256: str
    request_sha256: str
    response: Response


@dataclass(frozen=True)
class Opinion:
    """What the annotator says of one question: its criteria, or why it is not annotated."""

    criteria: Mapping[str, bool] | None
    why: str
    failed: bool = False


class Annotator:
    """Asks an engine about questions, and remembers its answers in a journal beside the sheet.

    Args:
        engine: any engine; it stays the caller's.
        subset: what is looked for.
        file: the sheet.
        on_problem: told of damaged lines of the journal.
        max_tokens: budget of an answer, thinking included.

    Raises:
        UserError: the journal cannot be read.
    """

    def __init__(
        self,
        engine: Engine,
        subset: Subset,
        file: Path,
        on_problem: Callable[[str], None],
        max_tokens: int = MAX_TOKENS,
    ) -> None:
        self._engine, self._subset, self._max_tokens = engine, subset, max_tokens
        self._folder, self._stem = file.parent, f"{file.stem}.annotations"
        self._stored: dict[tuple[str, str | None, str], Response] = {}
        for line in read_journal(self._folder, self._stem, Annotation, on_problem):
            name = (line.response.model, line.response.model_revision, line.request_sha256)
            self._stored.setdefault(name, line.response)

    @property
    def made_by(self) -> str:
        """Model, prompt version and hash of the prompt: for the sheet."""
        return f"{self._engine.model}, prompt {PROMPT_VERSION} {prompt_sha256(self._subset)[:12]}"

    def opinions(self, questions: Iterable[Question], on_step: Callable[[], None]) -> dict[str, Opinion]:
        """The opinion on every question, by id: from the journal, else asked now and journalled.

        Raises:
            UserError: the engine cannot run at all, or the disk is full; answers that came are stored.
        """
        found: dict[str, Opinion] = {}
        asked: dict[str, tuple[str, str]] = {}
        with JournalWriter(self._folder, self._stem) as journal:
            for outcome in self._engine.generate(self._unasked(questions, found, asked, on_step)):
                id = outcome.key.question_id
                if isinstance(outcome, Failure):
                    found[id] = _silent(outcome)
                else:
                    journal.append(self._line(outcome, *asked[id]))
                    found[id] = self._opinion(outcome)
                on_step()
        return found

    def _unasked(
        self,
        questions: Iterable[Question],
        found: dict[str, Opinion],
        asked: dict[str, tuple[str, str]],
        on_step: Callable[[], None],
    ) -> Iterator[Request]:
        """The requests that have no stored answer; puts stored ones, and what cannot be asked, into `found`."""
        for question in questions:
            try:
                request = build_request(self._subset, question, self._max_tokens)
            except UserError as error:
                found[question.id] = Opinion(None, f"not annotated: {error}")
                on_step()
                continue
            name = (self._engine.model, self._engine.revision, request.prompt_sha256)
            if stored := self._stored.get(name):
                found[question.id] = self._opinion(stored)
                on_step()
                continue
            asked[question.id] = (text_sha256(question), request.prompt_sha256)
            yield request

    def _line(self, response: Response, text: str, request: str) -> Annotation:
        return Annotation(
            subset=self._subset.name,
            question_id=response.key.question_id,
            text_sha256=text,
            prompt_version=PROMPT_VERSION,
            prompt_sha256=prompt_sha256(self._subset),
            request_sha256=request,
            # What asked counts, not what a recording says of itself: the journal is looked up by it.
            response=response.model_copy(update={"model": self._engine.model, "model_revision": self._engine.revision}),
        )

    def _opinion(self, response: Response) -> Opinion:
        names = [criterion.name for criterion in self._subset.criteria]
        try:
            criteria, why = parse(response.text, names)
        except ValueError as error:
            cut = ", cut at its token limit" if response.finish_reason == "length" else ""
            return Opinion(None, f"not annotated: {error}{cut}")
        return Opinion(criteria, why)


def _silent(failure: Failure) -> Opinion:
    why = f"not annotated: {failure.state}: {failure.reason}"
    return Opinion(None, why, failed=failure.state == "failed")


def parse(text: str, names: Iterable[str]) -> tuple[dict[str, bool], str]:
    """The criteria and the sentence of an answer; a code fence around the whole answer is allowed.

    Raises:
        ValueError: it is not exactly the object asked for.
    """
    names = list(names)
    if len(text) > _LONGEST_ANSWER:
        raise ValueError("the answer is too long")
    body = text.strip()
    if fenced := _FENCED.fullmatch(body):
        body = fenced[1]
    try:
        value = json.loads(body, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"no JSON object ({one_line(error, 80)})") from None
    if not isinstance(value, dict) or set(value) != {"criteria", "why"}:
        raise ValueError("not an object with exactly criteria and why")
    criteria, why = value["criteria"], value["why"]
    if not isinstance(criteria, dict) or set(criteria) != set(names):
        raise ValueError("not exactly the criteria asked for")
    if not all(isinstance(answer, bool) for answer in criteria.values()):
        raise ValueError("a criterion is neither true nor false")
    if not isinstance(why, str):
        raise ValueError("why is no text")
    return {name: criteria[name] for name in names}, one_line(why, _LONGEST_WHY)


def build_request(subset: Subset, question: Question, max_tokens: int = MAX_TOKENS) -> Request:
    """What the annotator is asked about a question.

    Raises:
        UserError: the question refers to a picture that is not there.
    """
    for number, image in enumerate(question.images, 1):
        if not image.bytes:
            raise UserError(f"picture {number} is missing")
    text = _number_figures(whole_text(question), len(question.images))
    if question.solution:
        text += f"\n\nSolution:\n{question.solution.replace(IMAGE_MARK, '[figure]')}"
    text = text[:MAX_CHARACTERS]
    # Made from the text itself, so that no text can hold its own fence.
    fence = f"=== {hashlib.sha256(text.encode()).hexdigest()[:16]} ==="
    values = {"fence": fence, "question": text, **_described(subset)}
    prompt = re.sub(r"\{(\w+)\}", lambda match: values[match[1]], template())
    return Request(
        key=Key(task=f"subsets/{subset.name}", question_id=question.id),
        messages=[Message(role="user", content=[Part(type="text", text=prompt), *_pictures(question.images)])],
        images={image.sha256: image for image in question.images},
        sampling=Sampling(temperature=0.0, max_tokens=max_tokens),
    )


def prompt_sha256(subset: Subset) -> str:
    """Hash of everything of the prompt that is the same for all questions."""
    described = _described(subset)
    return hashlib.sha256("\0".join([template(), *described.values()]).encode()).hexdigest()


@cache
def template() -> str:
    """The prompt file: fields {subset}, {criteria}, {form}, {fence} and {question}."""
    return resources.files("livek12.dataset_builders.subsets").joinpath("prompts/annotate.txt").read_text("utf-8")


def _described(subset: Subset) -> dict[str, str]:
    form = {"criteria": {criterion.name: False for criterion in subset.criteria}, "why": "one sentence"}
    return {
        "subset": subset.says,
        "criteria": "\n".join(f"- {criterion.name}: {criterion.says}" for criterion in subset.criteria),
        "form": json.dumps(form).replace("false", "true|false"),
    }


def _number_figures(text: str, pictures: int) -> str:
    """Image marks as [figure N]; pictures without a mark follow the text."""
    pieces = text.split(IMAGE_MARK)
    numbered = "".join(f"[figure {n}]{piece}" if n else piece for n, piece in enumerate(pieces))
    unplaced = range(len(pieces), pictures + 1)
    return numbered + "".join(f"\n[figure {n}]" for n in unplaced)


def _pictures(images: Iterable[Image]) -> Iterator[Part]:
    for number, image in enumerate(images, 1):
        yield Part(type="text", text=f"\n[figure {number}]\n")
        yield Part(type="image", image=image.sha256)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found
