"""Puts answers of a run before judges for a study: everybody's opinion on each, remembered, asked once.

Contract: as for the marks, a judge is never the model under test nor of its family, and replies are remembered, so that
a study that was killed goes on. What a judge did not say, or not in its form, is an opinion with a problem; nothing is
made up for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar

from livek12.core.errors import UserError
from livek12.core.records import Key
from livek12.core.run_folder import RunFolder
from livek12.core.scoring import Row
from livek12.judges.jury import Jury
from livek12.judges.llm.forms import Form
from livek12.judges.llm.prompts import CannotShow, Case, Values, load_prompt

T = TypeVar("T")


@dataclass(frozen=True)
class Opinions(Generic[T]):
    """What judges say of one answer: by judge a value, or (None) why there is none."""

    given: tuple[tuple[str, T | None, str], ...]

    @property
    def values(self) -> list[T]:
        """The usable ones."""
        return [value for _, value, _ in self.given if value is not None]

    @property
    def problem(self) -> str:
        """Why there is none that is usable; "" where there is one."""
        if self.values:
            return ""
        return "; ".join(dict.fromkeys(problem for _, _, problem in self.given)) or "no judge may judge this answer"


@dataclass(frozen=True)
class AskedOf(Generic[T]):
    """How judges are asked.

    Attributes:
        prompt: the prompt's name.
        values: what goes into it; raises CannotShow where a picture is not at hand.
        form: of the reply, for an answer.
    """

    prompt: str
    values: Callable[[Row, Case], Values]
    form: Callable[[Row], Form[T]]


def authors_of(folder: RunFolder) -> tuple[str, ...]:
    """The names of the model under test."""
    spec = folder.spec()
    return tuple(filter(None, (spec.model, spec.model_revision)))


def consult(
    jury: Jury,
    rows: Sequence[Row],
    asked: AskedOf[T],
    authors: Iterable[str],
    sees: Callable[[Row], bool],
    step: Callable[[], None],
) -> list[Opinions[T]]:
    """What the judges say of each answer, in order.

    Args:
        jury: judges that are up.
        rows: answers with text; with the pictures of their questions where judges see them.
        asked: how.
        authors: names of the model under test.
        sees: whether the judges are shown the pictures of an answer's question.
        step: called after each answer.

    Raises:
        UserError: nobody may judge this model.
    """
    panel, names = jury.panel, frozenset(authors)
    assert panel is not None, "a study with judges has a panel"
    if rows and not panel.eligible(names):
        raise UserError(f"none of the judges may judge {', '.join(names)} (never itself nor its family): name others")

    def one(row: Row) -> Opinions[T]:
        text = row.response.text if row.response else ""
        case = Case(f"{row.task}/{row.question.id}/{row.trial}", row.question, text, shows_images=sees(row))
        key = Key(task=asked.prompt, question_id=case.id)
        try:
            values = asked.values(row, case)
        except CannotShow as error:
            step()
            return Opinions((("", None, str(error)),))
        given = panel.consult(case, names, None, lambda judge: judge.ask(key, prompt, values, asked.form(row)))
        step()
        return Opinions(tuple((judge.name, answer.value, answer.problem) for judge, answer in given))

    prompt = load_prompt(asked.prompt)
    with ThreadPoolExecutor(jury.threads) as pool:
        return list(pool.map(one, rows))
