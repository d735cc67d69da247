"""Process audit (LiveK12Bench, section 2.3): critics look for errors in the reasoning.

A critic reports root causes of three types, each with a quoted step and a reason. Malformed critiques and false
quotations are retried, then discarded. Fewer critiques than the quorum leave the process ungraded.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, cast

from livek12.core.records import ERROR_TYPES, ErrorType, Key, Process, ProcessError, Verdict
from livek12.core.replies import Json, Unreadable, a_list, a_text, fields_of, object_schema, parse_object
from livek12.core.text import folded
from livek12.judges.llm.client import Answer, JudgeModel
from livek12.judges.llm.panel import Panel
from livek12.judges.llm.prompts import CannotShow, Case, Fenced, load_prompt

PROMPT = "livek12_audit"
MOST = 50


@dataclass(frozen=True)
class FoundError:
    """An error with its step and reason."""

    type: ErrorType
    step: str
    reason: str


@dataclass(frozen=True)
class Critique:
    """The form {"errors": [{"type", "step", "reason"}]}, each step a quotation from the response."""

    response: str

    @property
    def schema(self) -> Json:
        """An object with a list of errors."""
        text: Json = {"type": "string", "minLength": 1, "maxLength": 2000}
        error = object_schema(type={"type": "string", "enum": list(ERROR_TYPES)}, step=text, reason=text)
        return object_schema(errors={"type": "array", "items": error, "maxItems": MOST})

    def read(self, text: str) -> tuple[FoundError, ...]:
        """The reported errors."""
        reply = fields_of(parse_object(text), "errors")
        entries = [fields_of(entry, "type", "step", "reason") for entry in a_list(reply["errors"], "errors")]
        if len(entries) > MOST:
            raise Unreadable(f"reports {len(entries)} errors")
        return tuple(self._error(entry) for entry in entries)

    def _error(self, entry: Json) -> FoundError:
        if entry["type"] not in ERROR_TYPES:
            raise Unreadable(
                f"reports an error of type {str(entry['type'])[:40]!r} instead of {', '.join(ERROR_TYPES)}"
            )
        step = a_text(entry["step"], "step")
        if not is_quoted(step, self.response):
            raise Unreadable(f"quotes what the response does not say: {step[:100]!r}")
        return FoundError(cast(ErrorType, entry["type"]), step.strip(), a_text(entry["reason"], "reason").strip())


def is_quoted(quotation: str, text: str) -> bool:
    """Checks whether a text holds a quotation, piece by piece where dots shorten it.

    Models change spacing, case, widths, punctuation and mark-up, so these do not count.
    """
    pieces = [_essence(piece) for piece in quotation.replace("...", "…").replace("\\dots", "…").split("…")]
    body, place = _essence(text), 0
    if not any(pieces):
        return False
    for piece in pieces:
        place = body.find(piece, place)
        if place < 0:
            return False
        place += len(piece)
    return True


def _essence(text: str) -> str:
    return "".join(c for c in folded(text) if c.isalnum() or unicodedata.category(c) == "Sm" or c in "-/^_*")


@dataclass(frozen=True)
class Auditor:
    """A panel as critics; `size` critics for each question (None: all)."""

    panel: Panel
    size: int | None = None

    @property
    def version(self) -> str:
        """Equal strings audit equally."""
        return self.panel.spec.version("audit", (PROMPT,), self.panel.spec.size or self.size)

    @property
    def versions(self) -> dict[str, str]:
        """Versions of the audit and its prompt."""
        return {"audit": self.version, f"prompt {PROMPT}": load_prompt(PROMPT).sha256}

    def audit(self, verdict: Verdict, case: Case, authors: Collection[str] = ()) -> Verdict:
        """Adds the process to the verdict, unless the response is empty."""
        if not case.response.strip():
            return _with(verdict, self, None, None)
        try:
            values = values_of(case)
        except CannotShow as error:
            changed = verdict.model_copy(update={"calls": [*verdict.calls, *error.calls]})
            return _with(changed, self, None, str(error))
        form = Critique(case.response)

        def critique(judge: JudgeModel) -> Answer[tuple[FoundError, ...]]:
            return judge.ask(Key(task=PROMPT, question_id=case.id), load_prompt(PROMPT), values, form, case.draw())

        given = self.panel.consult(case, authors, self.size, critique)
        calls = [call for _, answer in given for call in answer.calls]
        usable = [(judge.name, answer.value) for judge, answer in given if answer.value is not None]
        quorum = self.panel.quorum(len(given))
        changed = verdict.model_copy(update={"calls": [*verdict.calls, *calls]})
        if not given:
            return _with(changed, self, None, "no judge may audit this response")
        if len(usable) < quorum:
            problems = "; ".join(dict.fromkeys(answer.problem for _, answer in given if answer.value is None))
            return _with(changed, self, None, f"{len(usable)} of {len(given)} critiques, {quorum} needed: {problems}")
        return _with(changed, self, process_of(usable), None)


def values_of(case: Case) -> dict[str, Fenced]:
    """Values shown to a critic."""
    return {
        "question": case.question_block(),
        "reference": case.reference_block([gold for gold in case.question.answer if gold.strip()]),
        "solution": case.solution_block(),
        "response": case.response_block(),
    }


def process_of(critiques: Sequence[tuple[str, Sequence[FoundError]]]) -> Process:
    """Mean presence of each error type over the critics (at least one)."""

    def presence(kind: ErrorType) -> float:
        return sum(any(error.type == kind for error in found) for _, found in critiques) / len(critiques)

    errors = [
        ProcessError(type=error.type, step=error.step, reason=error.reason, judge=judge)
        for judge, found in critiques
        for error in found
    ]
    critics = [judge for judge, _ in critiques]
    return Process(cie=presence("CIE"), lae=presence("LAE"), dre=presence("DRE"), errors=errors, critics=critics)


def _with(verdict: Verdict, auditor: Auditor, process: Process | None, ungraded: str | None) -> Verdict:
    changes: dict[str, Any] = {"process": process, "process_ungraded": ungraded}
    return verdict.model_copy(
        update=changes
        | {"judge": f"{verdict.judge} {auditor.version}", "versions": verdict.versions | auditor.versions}
    )
