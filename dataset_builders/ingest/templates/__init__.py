"""Templates: kinds of papers, for the rules and for a model that parses them."""

from __future__ import annotations

import re
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError, field_validator

from livek12.core.errors import UserError
from livek12.core.languages import codes, language_of
from livek12.core.question_types import QuestionType
from livek12.core.records import Language, Record
from livek12.core.scripts import simplified
from livek12.dataset_builders.base import one_line

MAX_BYTES = 64 << 10
FIELDS: dict[str, dict[str, Any]] = {
    "number": {"type": "string"},
    "question": {"type": "string"},
    "options": {
        "type": "array",
        "maxItems": 10,
        "items": {
            "type": "object",
            "properties": {
                "label": {"type": "string"},
                "text": {"type": "string"},
            },
            "required": ["label", "text"],
            "additionalProperties": False,
        },
    },
    "points": {"type": ["number", "null"]},
    "answer": {"type": ["string", "null"]},
    "solution": {"type": ["string", "null"]},
}
"""Fields of a parse, with JSON schemas; `question_type` is added from the template's types.

Lengths are bounded by the tokens a reply may have: engines turn a bound in the schema into a large grammar."""


class TypeOf(Record):
    """A type of question.

    Attributes:
        name: as printed.
        kind: ours.
        names: other printed names.
        features: for a model.
    """

    name: str = Field(min_length=1, max_length=60)
    kind: QuestionType
    names: list[str] = []
    features: str = Field(default="", max_length=600)


class Template(Record):
    """A kind of papers.

    Attributes:
        layout: in words: order, sections, numbering, options, places of points and answers.
        fields: of a parse, each with its form; names of `FIELDS`.
    """

    name: str = Field(min_length=1, max_length=60)
    language: Language
    layout: str = Field(min_length=1, max_length=4000)
    types: list[TypeOf] = Field(min_length=1, max_length=30)
    fields: dict[str, str] = Field(min_length=1)

    @field_validator("fields")
    @classmethod
    def _known(cls, fields: dict[str, str]) -> dict[str, str]:
        if unknown := sorted(fields.keys() - FIELDS.keys()):
            raise ValueError(f"there is no field {unknown[0]!r}; there are {', '.join(FIELDS)}")
        return fields

    def type_in(self, section: str) -> tuple[str, TypeOf] | None:
        """The type named in a section's title, and that name; the longest of several."""
        squeeze = partial(re.sub, r"(?<![a-z])\s+|\s+(?![a-z])", "")
        named = [(name, type_) for type_ in self.types for name in (type_.name, *type_.names)]
        words = [rf"(?<![a-z]){re.escape(squeeze(simplified(name.lower())))}(?![a-z])" for name, _ in named]
        fitting = [
            pair
            for pair, word in zip(named, words, strict=True)
            if re.search(word, squeeze(simplified(section.lower())))
        ]
        return max(fitting, key=lambda pair: len(pair[0]), default=None)

    def told(self) -> dict[str, str]:
        """The description of the papers for a model, by placeholders of the prompts."""
        return {
            "layout": self.layout.strip(),
            "types": "\n".join(f"- {type_.kind} ({type_.name}): {type_.features}" for type_ in self.types),
            "fields": "\n".join(f"- {name}: {how}" for name, how in self.fields.items()),
            "kinds": ", ".join(sorted({type_.kind for type_ in self.types})),
        }

    def json_form(self) -> dict[str, Any]:
        """The JSON schema of one parsed question."""
        properties = {name: FIELDS[name] for name in FIELDS if name in self.fields}
        properties["question_type"] = {"enum": sorted({type_.kind for type_ in self.types})}
        return {
            "type": "object",
            "properties": properties,
            "required": sorted(properties),
            "additionalProperties": False,
        }


def shipped() -> list[str]:
    """Names of the shipped templates."""
    files = resources.files(__package__).iterdir()
    return sorted(file.name.removesuffix(".yaml") for file in files if file.name.endswith(".yaml"))


def load_template(name: str) -> Template:
    """A template by its name, its file, or the language of its papers.

    Raises:
        UserError: there is none of that name, or the file is no template.
    """
    if name in codes() and not (name := (row := language_of(name)).template):
        raise UserError(f"no template is for papers in {row.labels['en']}: give --template FILE.yaml")
    if name in shipped():
        return _parse(resources.files(__package__).joinpath(f"{name}.yaml").read_bytes(), name)
    file = Path(name)
    if file.suffix.lower() not in (".yaml", ".yml"):
        raise UserError(f"there is no template {name!r}; there are {', '.join(shipped())}, or give a file NAME.yaml")
    try:
        with file.open("rb") as stream:
            return _parse(stream.read(MAX_BYTES + 1), str(file))
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {error.strerror or error}") from None


def _parse(data: bytes, where: str) -> Template:
    import yaml

    if len(data) > MAX_BYTES:
        raise UserError(f"{where}: has more than {MAX_BYTES >> 10} KiB; a template is smaller")
    try:
        raw = yaml.safe_load(data.decode("utf-8"))
        if not isinstance(raw, dict):
            raise UserError(f"{where}: is no template: it needs name, language, layout, types and fields")
        return Template.model_validate(raw)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "template"
        raise UserError(f"{where}: {place}: {one_line(first['msg'], 160)}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UserError(f"{where}: is not YAML: {one_line(error, 160)}") from None
