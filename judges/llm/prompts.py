"""Prompt files of judges, the case to judge, and the messages made from both.

A prompt is a file `prompts/NAME.md`: a YAML head (`version`, `source`), then `# System`, `# Case` and `# Response`. The
case is the same for every response to a question, so it is the cached prefix. `{{name}}` is a placeholder. `Fenced`
data are put between two lines with a marker that occurs in none of the data, with control tokens of chat templates
broken up. Inserted values are never scanned for placeholders.

Published verifiers need the text of their training, which we may not ship: a `GivenPrompt` is the user's file with
`{{question}}`, `{{reference}}` and `{{response}}`, without fences.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from livek12.core import prompts
from livek12.core.errors import UserError
from livek12.core.prompts import (
    harmless,
    image_part,
    joined_parts,
    marker,
    text_message,
    text_part,
    without_marks,
)
from livek12.core.records import IMAGE_MARK, Call, Image, Message, Part, Question, canonical_json

SECTIONS = ("System", "Case", "Response")
_PLACE = re.compile(r"\{\{(\w+)\}\}")
GIVEN = "given"
"""The prompt of the user, for methods without one of ours."""
GIVEN_PLACES = ("question", "reference", "response")


@dataclass(frozen=True)
class Fenced:
    """External data under a label; `images` replace `<image>` marks."""

    label: str
    text: str
    images: tuple[Image, ...] = ()


Values = Mapping[str, "str | Fenced"]
"""Values of a prompt: our texts verbatim, data fenced."""


@dataclass(frozen=True)
class Prompt:
    """A prompt file. `id` in verdicts: "livek12_count-1+0a1b2c3d"."""

    name: str
    version: int
    sections: tuple[str, str, str]
    sha256: str

    @property
    def id(self) -> str:
        """Name, version and shortened hash."""
        return f"{self.name}-{self.version}+{self.sha256[:8]}"

    def messages(self, values: Values) -> tuple[list[Message], dict[str, Image]]:
        """Messages and their pictures by hash.

        Raises:
            ValueError: more image marks than images, or an image without bytes.
        """
        system, case, response = self.sections
        shared = _names(case)
        fence = _Fence(self, values, shared)
        user = [*_fill(case, values, fence), *_fill(response, values, fence)]
        blocks = [value for value in values.values() if isinstance(value, Fenced)]
        images = {image.sha256: image for block in blocks for image in block.images}
        messages = [
            text_message("system", system.strip()),
            Message(role="user", content=joined_parts(user)),
        ]
        return messages, images


@dataclass(frozen=True)
class GivenPrompt:
    """The user's prompt. `id` in verdicts: "given+0a1b2c3d"."""

    text: str
    sha256: str

    @property
    def id(self) -> str:
        """The shortened hash."""
        return f"{GIVEN}+{self.sha256[:8]}"

    def messages(self, values: Values) -> tuple[list[Message], dict[str, Image]]:
        """One message, and its pictures by hash.

        Raises:
            ValueError: as for `Prompt`.
        """
        blocks = {name: value if isinstance(value, Fenced) else Fenced(name, value) for name, value in values.items()}
        user: list[Part] = []
        for index, piece in enumerate(_PLACE.split(self.text)):
            user += _with_images(blocks[piece]) if index % 2 else [text_part(piece)]
        images = {image.sha256: image for block in blocks.values() for image in block.images}
        return [Message(role="user", content=joined_parts(user))], images


AnyPrompt = Prompt | GivenPrompt


def read_given_prompt(path: Path) -> GivenPrompt:
    """Reads the user's prompt file."""
    try:
        raw = path.read_bytes()
        text = raw.decode("utf-8-sig")
    except OSError as error:
        raise UserError(f"judge prompt {path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise UserError(f"judge prompt {path}: is not UTF-8") from error
    places, wanted = _names(text), " ".join(f"{{{{{name}}}}}" for name in GIVEN_PLACES)
    if missing := [name for name in GIVEN_PLACES if name not in places]:
        raise UserError(f"judge prompt {path}: has no {{{{{missing[0]}}}}}; the data go where {wanted} stand")
    if unknown := [name for name in places if name not in GIVEN_PLACES]:
        raise UserError(
            f"judge prompt {path}: {{{{{unknown[0]}}}}} is no place for data; there are {wanted}"
            " (a brace that Python's format doubles is written once here)"
        )
    return GivenPrompt(text, hashlib.sha256(raw).hexdigest())


@cache
def load_prompt(name: str) -> Prompt:
    """Prompt of that name."""
    if name not in prompt_names():
        raise UserError(f"there is no judge prompt {name!r}; there are {', '.join(prompt_names())}")
    text = _folder().joinpath(f"{name}.md").read_text(encoding="utf-8")
    return parse_prompt(name, text)


def parse_prompt(name: str, text: str) -> Prompt:
    """Parses a prompt file."""
    file = prompts.parse_prompt(name, text)
    pieces = re.split(r"^# (\w+)\n", file.text, flags=re.MULTILINE)
    if tuple(pieces[1::2]) != SECTIONS:
        raise UserError(f"judge prompt {name}: needs the sections {', '.join(SECTIONS)}, in this order")
    system, case, response = pieces[2::2]
    return Prompt(name, file.version, (system.strip(), case.strip() + "\n\n", response.strip()), file.sha256)


@cache
def prompt_names() -> tuple[str, ...]:
    """Names of all prompt files."""
    return tuple(sorted(file.name[:-3] for file in _folder().iterdir() if file.name.endswith(".md")))


def _folder() -> resources.abc.Traversable:
    return resources.files("livek12.judges.llm").joinpath("prompts")


class _Fence:
    """Markers of one request, by hash: reproducible, and in none of the data.

    Markers of the case depend on the case alone (cached prefix); that of the response depends on everything, so its
    author cannot know it.
    """

    def __init__(self, prompt: Prompt, values: Values, shared: Sequence[str]) -> None:
        texts = {name: value.text if isinstance(value, Fenced) else value for name, value in values.items()}
        self._all = list(texts.values())
        self._shared = set(shared)
        case = {name: text for name, text in texts.items() if name in self._shared}
        self._case = self._marker([prompt.sha256, "case", case])
        self._rest = self._marker([prompt.sha256, "response", texts])

    def _marker(self, of: list[object]) -> str:
        return marker(lambda salt: canonical_json([*of, salt]), self._all, 32)

    def around(self, name: str, block: Fenced) -> Iterator[Part]:
        marker = self._case if name in self._shared else self._rest
        yield text_part(f"<<<{block.label} {marker}>>>\n")
        yield from _with_images(block)
        yield text_part(f"\n<<<END {block.label} {marker}>>>")


def _with_images(block: Fenced) -> Iterator[Part]:
    pieces = block.text.split(IMAGE_MARK) if block.images else [block.text]
    if len(pieces) - 1 > len(block.images):
        raise ValueError(f"{block.label}: {len(pieces) - 1} image marks but {len(block.images)} images")
    for index, piece in enumerate(pieces):
        if index:
            yield image_part(block.images[index - 1])
        yield text_part(harmless(piece))
    for image in block.images[len(pieces) - 1 :]:
        yield text_part("\n")
        yield image_part(image)


def _fill(section: str, values: Values, fence: _Fence) -> Iterator[Part]:
    for index, piece in enumerate(_PLACE.split(section)):
        if index % 2 == 0:
            yield text_part(piece)
        else:
            value = values[piece]
            if isinstance(value, str):
                yield text_part(value)
            else:
                yield from fence.around(piece, value)


def _names(section: str) -> list[str]:
    return _PLACE.findall(section)


NONE = "(none)"


class CannotShow(Exception):
    """The case cannot be shown to a judge.

    `calls` stand for the requests, if a retry is possible.
    """

    def __init__(self, reason: str, waits: bool = False) -> None:
        super().__init__(reason)
        self.calls = (Call(judge="", prompt="", problem=reason),) if waits else ()


@dataclass(frozen=True)
class Case:
    """A question and one response to it.

    Attributes:
        id: names the response.
        question: with the bytes of its pictures.
        response: without the thinking text.
        pages: of an image-only question.
        shows_images: false is the text-only ablation.
        repeat: earlier repeats, for self-agreement.
    """

    id: str
    question: Question
    response: str
    pages: tuple[Image, ...] = ()
    shows_images: bool = True
    repeat: int = 0

    def draw(self, more: bool = False) -> int:
        """Trial of a request; `more`: an extra vote."""
        return 2 * self.repeat + more

    @property
    def has_images(self) -> bool:
        """Checks whether the case needs vision."""
        question = self.question
        shown = [*self.pages, *question.images, *question.answer_images, *question.solution_images]
        return self.shows_images and bool(shown)

    def question_block(self) -> Fenced:
        """Question and options with their pictures; pages first.

        Without own figures its marks are removed, as the pages show them.

        Raises:
            CannotShow: a picture is missing.
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
        """Key of the open parts with its pictures."""
        numbered = [f"Part {number}: {gold}" for number, gold in enumerate(golds, 1)] if len(golds) > 1 else golds
        return self._block(label, "\n".join(numbered).strip() or NONE, self.question.answer_images)

    def solution_block(self) -> Fenced:
        """Reference solution with its pictures."""
        solution = self.question.solution or ""
        return self._block("REFERENCE SOLUTION", solution.strip() or NONE, self.question.solution_images)

    def response_block(self) -> Fenced:
        """The response."""
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
    """Rows as JSON lines."""
    return Fenced(label, "\n".join(json.dumps(row, ensure_ascii=False) for row in rows))
