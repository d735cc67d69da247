"""Judges' opinions on answers of a run for a study, cached so that a killed study resumes.

A judge is never the model under test nor of its family. A missing or malformed reply is an opinion with a problem.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar

from livek12.core.errors import UserError
from livek12.core.records import Key
from livek12.core.replies import Json, fields_of, parse_object
from livek12.core.run.folder import RunFolder
from livek12.core.scoring import Row
from livek12.judges.jury import Jury
from livek12.judges.llm.forms import Form
from livek12.judges.llm.prompts import CannotShow, Case, Values, load_prompt

T = TypeVar("T")


@dataclass(frozen=True)
class Opinions(Generic[T]):
    """Judges' opinions on one answer: (judge, value or None, problem)."""

    given: tuple[tuple[str, T | None, str], ...]

    @property
    def values(self) -> list[T]:
        """The usable values."""
        return [value for _, value, _ in self.given if value is not None]

    @property
    def problem(self) -> str:
        """The reason without a usable value; "" otherwise."""
        if self.values:
            return ""
        return "; ".join(dict.fromkeys(problem for _, _, problem in self.given)) or "no judge may judge this answer"


@dataclass(frozen=True, eq=False)
class JsonForm(Generic[T]):
    """The form of a reply with exactly the fields of `schema`; `parse` raises Unreadable for other values."""

    schema: Json
    parse: Callable[[Json], T]

    def read(self, text: str) -> T:
        """Parses a reply."""
        return self.parse(fields_of(parse_object(text), *self.schema["properties"]))


@dataclass(frozen=True)
class AskedOf(Generic[T]):
    """The request to judges: prompt name, its values (CannotShow without a needed picture), form of the reply."""

    prompt: str
    values: Callable[[Row, Case], Values]
    form: Callable[[Row], Form[T]]


def authors_of(folder: RunFolder) -> tuple[str, ...]:
    """Names of the model under test."""
    spec = folder.spec()
    return tuple(filter(None, (spec.model, spec.model_revision)))


def consult(
    jury: Jury,
    rows: Sequence[Row],
    request: AskedOf[T],
    authors: Iterable[str],
    sees: Callable[[Row], bool],
    step: Callable[[], None],
) -> list[Opinions[T]]:
    """Opinions on each answer, in order; judges never judge themselves or their family.

    Rows have pictures where `sees` grants them to judges; `authors` names the model under test.
    """
    panel, names = jury.panel, frozenset(authors)
    assert panel is not None, "a study with judges has a panel"
    if rows and not panel.eligible(names):
        raise UserError(f"none of the judges may judge {', '.join(names)} (never itself nor its family): name others")

    def one(row: Row) -> Opinions[T]:
        text = row.response.text if row.response else ""
        case = Case(f"{row.task}/{row.question.id}/{row.trial}", row.question, text, shows_images=sees(row))
        key = Key(task=request.prompt, question_id=case.id)
        try:
            values = request.values(row, case)
        except CannotShow as error:
            step()
            return Opinions((("", None, str(error)),))
        given = panel.consult(case, names, None, lambda judge: judge.ask(key, prompt, values, request.form(row)))
        step()
        return Opinions(tuple((judge.name, answer.value, answer.problem) for judge, answer in given))

    prompt = load_prompt(request.prompt)
    with ThreadPoolExecutor(jury.threads) as pool:
        return list(pool.map(one, rows))
