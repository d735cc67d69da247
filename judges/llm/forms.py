"""Forms of a judge's reply, and their strict reading.

`read` never repairs or guesses: "False" is no truth value, and missing parts or second objects are `Unreadable`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from livek12.core.records import SchemeCriterion
from livek12.core.replies import (
    MAX_REPLY,
    Json,
    Unreadable,
    a_bool,
    a_count,
    a_list,
    a_text,
    fields_of,
    glimpse,
    object_schema,
    parse_object,
)
from livek12.core.schemes import folded
from livek12.judges.scheme import marks_of

T_co = TypeVar("T_co", covariant=True)


class Form(Protocol[T_co]):
    """Form of a reply."""

    @property
    def schema(self) -> Json | None:
        """JSON schema of the reply; None for plain text."""
        ...

    def read(self, text: str) -> T_co:
        """Value of a reply."""
        ...


@dataclass(frozen=True)
class Checked:
    """A right or wrong item, with the reason."""

    correct: bool
    reason: str = ""


@dataclass(frozen=True)
class Earned:
    """Points of a criterion, and the place in the response that earns them."""

    points: float
    quote: str
    reason: str = ""


@dataclass(frozen=True)
class Invalid:
    """Parts that are neither right nor wrong (cut off, say)."""

    reason: str


@dataclass(frozen=True)
class Share:
    """k of n right parts; `parts` is optional."""

    correct: int
    total: int
    parts: tuple[Checked, ...] = ()
    reason: str = ""


# --- lines of text (KMMMU, Table 23) --------------------------------------------------------------------------------

_TRUTH = {"[TRUE]": True, "[FALSE]": False}
_FINAL = re.compile(r"Final Answer:\s*(?P<answer>.*?)\s*,\s*Decision:\s*(?P<decision>\[TRUE\]|\[FALSE\])")


@dataclass(frozen=True)
class TruthLine:
    """P1 and P2: one line, [TRUE] or [FALSE]."""

    schema: Json | None = None

    def read(self, text: str) -> Checked:
        """Truth value of the line."""
        line = text.strip()
        if line not in _TRUTH:
            raise Unreadable(f"is neither [TRUE] nor [FALSE]: {glimpse(text)}")
        return Checked(_TRUTH[line])


@dataclass(frozen=True)
class FinalLine:
    """P3: one line, `Final Answer: …, Decision: [TRUE]` or `[FALSE]`."""

    schema: Json | None = None

    def read(self, text: str) -> Checked:
        """The decision; the extracted answer is its reason."""
        match = _FINAL.fullmatch(text.strip())
        if match is None:
            raise Unreadable(f"is not 'Final Answer: …, Decision: [TRUE] or [FALSE]': {glimpse(text)}")
        return Checked(_TRUTH[match["decision"]], f"final answer: {match['answer']}")


# --- published verifiers --------------------------------------------------------------------------------------------

_COMPASS = re.compile(
    r"(?:Final Judge?ment:)?\s*\$?(?:\\boxed\{(?P<boxed>[ABC])\}|\(?(?P<plain>[ABC])\)?)\$?"
    r"(?:\s*[-–—:]\s*(?P<word>[A-Z]+))?\.?"
)
_COMPASS_WORDS = {"CORRECT": "A", "INCORRECT": "B"} | dict.fromkeys(
    ("INVALID", "INCOMPLETE", "REPETITIVE", "REFUSAL"), "C"
)


@dataclass(frozen=True)
class CompassLine:
    r"""CompassVerifier: A (right), B (wrong) or C (no valid answer), alone or as the last line of an analysis.

    Also `Final Judgment: \boxed{A} - CORRECT`, or the word alone; letter and word must agree.
    """

    schema: Json | None = None

    def read(self, text: str) -> Checked | Invalid:
        """Judgement of the last line."""
        line = _last_line(text)
        match = _COMPASS.fullmatch(line)
        letter = (match["boxed"] or match["plain"]) if match else _COMPASS_WORDS.get(line)
        word = match["word"] if match else line
        if letter is None or (word and _COMPASS_WORDS.get(word) != letter):
            raise Unreadable(f"does not end in A, B or C: {glimpse(line)}")
        return Invalid(f"no valid answer ({word or letter})") if letter == "C" else Checked(letter == "A")


@dataclass(frozen=True)
class XVerifyWord:
    """xVerify: Correct or Incorrect, with or without square brackets."""

    schema: Json | None = None

    def read(self, text: str) -> Checked:
        """The one word."""
        word = re.fullmatch(r"\[?(correct|incorrect)\]?\.?", text.strip().lower())
        if word is None:
            raise Unreadable(f"is neither Correct nor Incorrect: {glimpse(text)}")
        return Checked(word[1] == "correct")


def _last_line(text: str) -> str:
    if len(text) > MAX_REPLY:
        raise Unreadable(f"is {len(text)} characters long")
    return text.rstrip("* \t\r\n").rpartition("\n")[2].replace("*", "").strip()


# --- JSON -----------------------------------------------------------------------------------------------------------

_REASON: Json = {"type": "string"}
_BOOL: Json = {"type": "boolean"}


@dataclass(frozen=True)
class Whole:
    """One verdict (L2L): {"reason": …, "correct": true or false}."""

    @property
    def schema(self) -> Json:
        """Reason and truth value."""
        return object_schema(reason=_REASON, correct=_BOOL)

    def read(self, text: str) -> Checked:
        """The verdict."""
        reply = fields_of(parse_object(text), "reason", "correct")
        return Checked(a_bool(reply["correct"], "correct"), a_text(reply["reason"], "reason"))


@dataclass(frozen=True)
class Counted:
    """Correct parts (livek12): {"parts": [{"part", "reason", "correct"}], "correct": k, "total": n}.

    `total` is None if the judge counts the parts.
    """

    total: int | None = None

    @property
    def schema(self) -> Json:
        """A list of parts and two counts."""
        part = object_schema(part={"type": "integer"}, reason=_REASON, correct=_BOOL)
        bounds = {"minItems": 1} if self.total is None else {"minItems": self.total, "maxItems": self.total}
        counts: Json = {"type": "integer", "minimum": 0}
        return object_schema(parts={"type": "array", "items": part, **bounds}, correct=counts, total=counts)

    def read(self, text: str) -> Share:
        """Parts and their count, which must agree."""
        reply = fields_of(parse_object(text), "parts", "correct", "total")
        parts = [fields_of(part, "part", "reason", "correct") for part in a_list(reply["parts"], "parts")]
        checked = tuple(Checked(a_bool(p["correct"], "correct"), a_text(p["reason"], "reason")) for p in parts)
        numbers = [a_count(part["part"], "part") for part in parts]
        if numbers != list(range(1, len(parts) + 1)) or not parts:
            raise Unreadable(f"numbers the parts {numbers} instead of 1 to {self.total or 'n'}")
        correct, total = a_count(reply["correct"], "correct"), a_count(reply["total"], "total")
        if total != len(parts) or (self.total is not None and total != self.total):
            raise Unreadable(f"has {len(parts)} parts and says {total} of {self.total or 'as many as there are'}")
        if correct != sum(part.correct for part in checked):
            raise Unreadable(f"says {correct} correct and marks {sum(part.correct for part in checked)}")
        return Share(correct, total, checked)


@dataclass(frozen=True)
class Marks:
    """Partial credit (MDK12): {"reason": …, "correct": m, "total": n}."""

    @property
    def schema(self) -> Json:
        """Reason and two counts."""
        return object_schema(
            reason=_REASON,
            correct={"type": "integer", "minimum": 0},
            total={"type": "integer", "minimum": 1},
        )

    def read(self, text: str) -> Share:
        """The m and the n."""
        reply = fields_of(parse_object(text), "reason", "correct", "total")
        correct, total = a_count(reply["correct"], "correct"), a_count(reply["total"], "total")
        if not 0 <= correct <= total or total == 0:
            raise Unreadable(f"says {correct} correct of {total}")
        return Share(correct, total, reason=a_text(reply["reason"], "reason"))


@dataclass(frozen=True)
class Values:
    """Extracted values (S2S): {"values": [{"name": …, "value": text or null}]}."""

    names: tuple[str, ...]

    @property
    def schema(self) -> Json:
        """A list of names and values."""
        value = {"anyOf": [{"type": "string"}, {"type": "null"}]}
        item = object_schema(name={"type": "string", "enum": sorted(set(self.names))}, value=value)
        count = len(self.names)
        return object_schema(values={"type": "array", "items": item, "minItems": count, "maxItems": count})

    def read(self, text: str) -> list[str | None]:
        """Values in name order."""
        reply = fields_of(parse_object(text), "values")
        items = [fields_of(item, "name", "value") for item in a_list(reply["values"], "values")]
        items = _by_names(items, self.names)
        return [None if item["value"] is None else a_text(item["value"], "value") for item in items]


@dataclass(frozen=True)
class Variables:
    """A verdict for each variable (S2S and L2S): {"variables": [{"name": …, "reason": …, "correct": …}]}."""

    names: tuple[str, ...]

    @property
    def schema(self) -> Json:
        """A list of verdicts."""
        name = {"type": "string", "enum": sorted(set(self.names))}
        item = object_schema(name=name, reason=_REASON, correct=_BOOL)
        count = len(self.names)
        return object_schema(variables={"type": "array", "items": item, "minItems": count, "maxItems": count})

    def read(self, text: str) -> list[Checked]:
        """Verdicts in name order."""
        reply = fields_of(parse_object(text), "variables")
        items = [fields_of(item, "name", "reason", "correct") for item in a_list(reply["variables"], "variables")]
        items = _by_names(items, self.names)
        return [Checked(a_bool(item["correct"], "correct"), a_text(item["reason"], "reason")) for item in items]


@dataclass(frozen=True)
class Earnings:
    """Points by criterion (scheme): {"criteria": [{"id", "reason", "quote", "decision", "points"}]}.

    A decision that awards impossible points, quotes what `words` lacks, or is missing or repeated is `Invalid`; an
    unrequested criterion makes the whole unreadable.
    """

    criteria: tuple[SchemeCriterion, ...]
    words: str

    @property
    def schema(self) -> Json:
        """A list of decisions."""
        text: Json = {"type": "string"}
        item = object_schema(
            id={"type": "string", "enum": [criterion.id for criterion in self.criteria]},
            reason=text,
            quote=text,
            decision={"type": "string", "enum": list(_DECISIONS)},
            points={"type": "number", "minimum": 0},
        )
        count = len(self.criteria)
        return object_schema(criteria={"type": "array", "items": item, "minItems": count, "maxItems": count})

    def read(self, text: str) -> list[Earned | Invalid]:
        """Decisions in criterion order."""
        reply = fields_of(parse_object(text), "criteria")
        items = [
            fields_of(item, "id", "reason", "quote", "decision", "points")
            for item in a_list(reply["criteria"], "criteria")
        ]
        named: dict[str, list[Json]] = {criterion.id: [] for criterion in self.criteria}
        for item in items:
            if not isinstance(item["id"], str) or item["id"] not in named:
                raise Unreadable(f"decides criterion {glimpse(str(item['id']))}, which it was not asked for")
            named[item["id"]].append(item)
        words = folded(self.words)
        return [_earned(criterion, named[criterion.id], words) for criterion in self.criteria]


_DECISIONS = ("full", "partial", "none")


def _earned(criterion: SchemeCriterion, items: Sequence[Json], words: str) -> Earned | Invalid:
    if len(items) != 1:
        return Invalid(f"criterion {criterion.id} is decided {len(items)} times" if items else "it is not decided")
    item = items[0]
    points, quote, reason = item["points"], a_text(item["quote"], "quote"), a_text(item["reason"], "reason")
    allowed = {"full": [criterion.points], "none": [0.0], "partial": marks_of(criterion)}.get(str(item["decision"]))
    if allowed is None or isinstance(points, bool) or not isinstance(points, int | float):
        raise Unreadable(f"decides {glimpse(str(item['decision']))} with {glimpse(str(points))} points")
    if not any(abs(points - mark) < 1e-6 for mark in allowed):
        listed = ", ".join(f"{mark:g}" for mark in allowed) or "no partial mark"
        return Invalid(f"{item['decision']} is given {points:g} points, where there is {listed}")
    if points and (not folded(quote) or folded(quote) not in words):
        return Invalid(f"its quote is not in the response: {glimpse(quote)}")
    return Earned(float(points), quote, reason)


def _by_names(items: Sequence[Json], names: Sequence[str]) -> list[Json]:
    given = [item["name"] for item in items]
    if given == list(names):
        return list(items)
    named = {item["name"]: item for item in items if isinstance(item["name"], str)}
    if len(named) == len(items) == len(names) and named.keys() == set(names):
        return [named[name] for name in names]
    raise Unreadable(f"names {glimpse(str(given))} instead of {glimpse(str(list(names)))}")
