"""The kinds of errors of wrong answers, as judges or people tell them: the sample, the question put, who said what.

Contract: the sample is drawn from the answers that are decided and wrong, stratified by task, subject and the kind of
pictures (every n-th of them in that order, at random within a stratum, from a seed). A benchmark's kinds are those of
its article (`core.error_types`): of KMMMU and MDK12-Bench a wrong answer has one, of LiveK12Bench any number. Of
several judges, or raters, it is what more than half of them say; where they are even it is nothing. A response without
any text is incomplete by what it is, where the article has such a kind: nobody is asked.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

from livek12.core.error_types import KindOfError, error_types, one_each
from livek12.core.records import ERROR_TYPES
from livek12.core.replies import Json, Unreadable, a_list, a_text, fields_of, object_schema, parse_object
from livek12.core.scoring import Row
from livek12.core.scoring.outcomes import outcome_bounds
from livek12.evaluation.studies.consulting import AskedOf, Opinions
from livek12.evaluation.studies.labels import Label
from livek12.judges.llm.prompts import Case, Values

PROMPT = "error_type"
BY_ITSELF = "incomplete"
"""The beginning of the name of the kind that a response without text is of."""
Kinds: TypeAlias = frozenset[str]
Stratum: TypeAlias = tuple[str, str, str]


@dataclass(frozen=True)
class Wrong:
    """A wrong answer of the sample.

    Attributes:
        row: the answer.
        kinds: what it is; None where nobody said, or no more than half the same.
        said: what each judge or rater said.
        problem: why a judge said nothing.
    """

    row: Row
    kinds: Kinds | None = None
    said: tuple[tuple[str, Kinds], ...] = ()
    problem: str = ""


def stratum_of(row: Row) -> Stratum:
    """Task, subject and kind of pictures of an answer."""
    return row.task, row.question.subject, row.question.attributes.visual_modality or ""


def sampled(rows: Iterable[Row], size: int, seed: int = 0) -> list[Row]:
    """A stratified sample of answers, in the order of the strata; all where there are no more than that."""

    def order(row: Row) -> tuple[Stratum, bytes]:
        name = f"{seed}/{row.task}/{row.question.id}/{row.trial}"
        return stratum_of(row), hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()

    ordered = sorted(rows, key=order)
    step = len(ordered) / size
    return ordered if step <= 1 else [ordered[int((n + 0.5) * step)] for n in range(size)]


def is_wrong(row: Row) -> bool:
    """Whether it is decided that the answer is not fully right; one that never came is not decided."""
    return row.response is not None and outcome_bounds(row)[1] == (0.0, 0.0)


def is_right(row: Row) -> bool:
    """Whether it is decided that the answer is fully right."""
    return outcome_bounds(row)[1] == (1.0, 1.0)


def kinds_of(benchmark: str) -> tuple[KindOfError, ...]:
    """The kinds that a benchmark tells apart; none where its article has none."""
    return error_types(benchmark) or ()


# --- judges ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class KindReply:
    """The form of a reply: {"reason", "kind"} where an answer has one kind, else {"reason", "kinds"}."""

    names: tuple[str, ...]
    one: bool

    @property
    def schema(self) -> Json:
        """An object with a reason and the kind or kinds."""
        kind: Json = {"type": "string", "enum": list(self.names)}
        reason: Json = {"type": "string", "maxLength": 2000}
        if self.one:
            return object_schema(reason=reason, kind=kind)
        return object_schema(reason=reason, kinds={"type": "array", "items": kind, "maxItems": len(self.names)})

    def read(self, text: str) -> Kinds:
        """The kinds.

        Raises:
            Unreadable: the reply is not in the form, or names a kind that there is not.
        """
        found = fields_of(parse_object(text), "reason", "kind" if self.one else "kinds")
        a_text(found["reason"], "reason")
        said = [found["kind"]] if self.one else a_list(found["kinds"], "kinds")
        if strange := [kind for kind in said if kind not in self.names]:
            raise Unreadable(f"names the kind {str(strange[0])[:40]!r} instead of {', '.join(self.names)}")
        return frozenset(map(str, said))


def put_to_judges() -> AskedOf[Kinds]:
    """How judges are asked."""
    return AskedOf(PROMPT, _values, _form)


def _form(row: Row) -> KindReply:
    kinds = kinds_of(row.question.benchmark)
    return KindReply(tuple(kind.name for kind in kinds), bool(one_each(row.question.benchmark)))


def _values(row: Row, case: Case) -> Values:
    kinds, form = kinds_of(row.question.benchmark), _form(row)
    listed = "\n".join(f"- {kind.name}: {kind.meaning}" for kind in kinds)
    ask = (
        'The answer is of one kind. Reply with one JSON object and nothing else: {"reason": "one short sentence",'
        ' "kind": "one of these names"}'
        if form.one
        else "Any of these may be in the response, or none. Reply with one JSON object and nothing else:"
        ' {"reason": "one short sentence", "kinds": ["each name that applies"]}'
    )
    return {
        "question": case.question_block(),
        "reference": case.reference_block([gold for gold in case.question.answer if gold.strip()]),
        "solution": case.solution_block(),
        "response": case.response_block(),
        "kinds": f"Kinds of errors:\n{listed}\n{ask}",
    }


def by_judges(rows: Sequence[Row], opinions: Sequence[Opinions[Kinds]]) -> list[Wrong]:
    """The answers with what the judges said."""
    found = []
    for row, opinion in zip(rows, opinions, strict=True):
        said = tuple((judge, kinds) for judge, kinds, _ in opinion.given if kinds is not None)
        found.append(Wrong(row, most(row, [kinds for _, kinds in said]), said, opinion.problem))
    return found


def by_itself(row: Row) -> Wrong | None:
    """An answer whose kind nobody need be asked about; None where somebody has to be."""
    if row.response is None or row.response.text.strip():
        return None
    kind = next((k.name for k in kinds_of(row.question.benchmark) if k.name.startswith(BY_ITSELF)), None)
    return Wrong(row, frozenset([kind])) if kind else Wrong(row, problem="the response has no text")


# --- people ---------------------------------------------------------------------------------------------------------


def label_kinds(label: Label, row: Row) -> Kinds | None:
    """The kinds that a person told; None where they said nothing of them."""
    if one_each(row.question.benchmark):
        return frozenset([label.error_type]) if label.error_type else None
    if set(label.errors) != set(ERROR_TYPES):
        return None
    return frozenset(name for name, there in label.errors.items() if there)


def by_people(rows: Iterable[Row], pairs: Iterable[tuple[Label, Row]]) -> list[Wrong]:
    """The answers with what people said of them; those of which nobody said a kind are left out."""

    def key(row: Row) -> tuple[str, str, int]:
        return row.task, row.question.id, row.trial

    said = sorted(
        ((key(row), label.rater, kinds) for label, row in pairs if (kinds := label_kinds(label, row)) is not None),
        key=lambda each: each[:2],
    )
    by_answer = {of: [(rater, kinds) for _, rater, kinds in each] for of, each in groupby(said, key=lambda e: e[0])}
    return [
        Wrong(row, most(row, [kinds for _, kinds in own]), tuple(own))
        for row in rows
        if (own := by_answer.get(key(row)))
    ]


def most(row: Row, said: Sequence[Kinds]) -> Kinds | None:
    """What more than half say: the one kind, or of each kind whether it is there (even: None)."""
    if not said:
        return None
    counts = Counter(kind for kinds in said for kind in kinds)
    if one_each(row.question.benchmark):
        top = [kind for kind, count in counts.items() if 2 * count > len(said)]
        return frozenset(top) if top else None
    if any(2 * count == len(said) for count in counts.values()):
        return None
    return frozenset(kind for kind, count in counts.items() if 2 * count > len(said))
