"""Which verdict on an answer counts, where it has several, and who marked what, in words.

Contract: a run is marked once, and anew whenever somebody asks for that (`judge --again`); `Verdict.marking` says which
time it is. Of two verdicts on one answer that of the later marking counts; within one marking a graded one before
others, then one by the keys of another data set, then one of judge models that replied, then that which leaves less
open, then that with an audit of the reasoning, then the later one. But a verdict that waits for a judge, which could
not be asked, gives way to one that decides, whichever marking that is of; and of two within one marking that rules
alone made, by the same keys, that of the rules which came later counts. So a mark stands until another has taken its
place, answer by answer. A verdict of a judge whom run.json does not know, from before markings were counted, counts
only where there is none besides.

A judge is named by a version, `rules-CODE+SETTINGS`, a space, the same of each method of its models (`count-…`), and
what names its keys. CODE is a hash (`judges.code_version`); up to livek12 0.1.0 it was a number that people raised.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, StringConstraints, ValidationError, model_validator

from livek12.core.errors import UserError, why
from livek12.core.records import Record, Verdict
from livek12.core.rows import Row

REGRADES = "regrades.jsonl"
"""The file of a run folder in which the marks stand that people set (`core.run.markings`)."""
PERSON = "person "
"""Stands before the name of a person who set a mark in place of the judges (`core.run.markings`)."""
KEYS = " keys+"
"""Stands in the version of a judge before what names the keys of another data set that it marked by."""

_CODE = re.compile(r"\b([a-z]\w*)-([0-9a-f]+)\+")
"""In the version of a judge: a name with the version of its code."""
_READER = re.compile(r"\+latex2sympy2_extended-[\w.]+")
"""Behind its settings: the library that reads what the rules' own reader cannot, where it is installed."""


def counts_over(new: Verdict, old: Verdict, known: Sequence[str]) -> bool:
    """Whether of two verdicts on one answer the one that was read later counts.

    Args:
        new: read later.
        old: read before.
        known: versions of the judges that run.json knows, in the order in which they came.
    """
    if new.waits != old.waits:
        waiting, other = (new, old) if new.waits else (old, new)
        if not other.is_open:
            return waiting is old
    by_rules = other_rules(new, old.judge) and other_rules(old, new.judge)
    if by_rules and new.marking == old.marking and new.judge in known and old.judge in known:
        return known.index(new.judge) > known.index(old.judge)
    return _rank(new, known) >= _rank(old, known)


def other_rules(verdict: Verdict, judge: str) -> bool:
    """Whether rules alone made a verdict, by the keys that a judge has, but not the rules of that judge."""
    (rules, *_), (others, *_) = verdict.judge.split(" "), judge.split(" ")
    return not verdict.by_models and rules != others and _keys(verdict.judge) == _keys(judge)


def without_code(version: str) -> str:
    """A judge whatever its code: who, by which methods and prompts, with which settings and keys."""
    return _CODE.sub(r"\1+", _READER.sub("", version))


def _keys(version: str) -> str:
    return version.partition(KEYS)[2]


def _rank(verdict: Verdict, known: Sequence[str]) -> tuple[float, ...]:
    marking = verdict.marking if verdict.marking or verdict.judge in known else -1
    heard = verdict.by_models and not verdict.waits
    narrow = (verdict.low - verdict.high) / verdict.max_points if verdict.max_points else 0.0
    return marking, verdict.state == "graded", KEYS in verdict.judge, heard, narrow, verdict.process is not None


def in_words(version: str) -> str:
    """A judge by its version alone, for runs that do not say who it was: "rules 5 and judge models (count, audit)"."""
    if version.startswith(PERSON):
        return f"{version.removeprefix(PERSON)} (a person)"
    names = dict.fromkeys(_CODE.findall(version.partition(KEYS)[0]))
    rules = " ".join(f"rules {number}" for name, number in names if name == "rules") or version
    models = ", ".join("audit" if name.startswith("audit") else name for name, _ in names if name != "rules")
    return rules + (f" and judge models ({models})" if models else "")


LONGEST_REASON = 4000
LONGEST_LINE = 1 << 20
PERSON_NAME = r"^\w[\w.\- ]{0,39}$"
_Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
_Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Key = tuple[str, str, str]
"""Task, question and hash of a response."""


class Regrade(Record):
    """A line of regrades.jsonl.

    Attributes:
        task, question_id: which question.
        responses: the equal answers to it, by their hashes (`Response.sha256`).
        by: who says it.
        reason: why; "" only where it is taken back.
        share: of the full marks, 0 to 1.
        correct: fully right.
        parts: the share of each part, where the person told them apart.
        withdrawn: the mark is the judges' again.
        at: when (ISO 8601).
    """

    task: str
    question_id: str
    responses: Annotated[list[_Sha256], Field(min_length=1)]
    by: Annotated[str, StringConstraints(pattern=PERSON_NAME)]
    reason: Annotated[str, StringConstraints(strip_whitespace=True, max_length=LONGEST_REASON)] = ""
    share: _Share = 0.0
    correct: bool = False
    parts: list[_Share] = []
    withdrawn: bool = False
    at: str = ""

    @model_validator(mode="after")
    def _says_something(self) -> Regrade:
        if not self.withdrawn and not self.reason:
            raise ValueError("a mark is changed for a reason")
        if self.correct and self.share != 1:
            raise ValueError("fully right is what has full marks")
        return self


def read_regrades(folder: Path, tell: Callable[[str], None] | None = None) -> dict[Key, Regrade]:
    """What people say of each response, as far as it stands.

    Args:
        folder: of the run.
        tell: told in one line of each row that cannot be used.

    Raises:
        UserError: the file cannot be read.
    """
    found: dict[Key, Regrade] = {}
    for place, line in _lines(folder / REGRADES):
        try:
            said = Regrade.model_validate_json(line)
        except (ValidationError, ValueError) as error:
            if tell is not None:
                tell(f"{REGRADES}:{place}: says no mark that can be used; passed over: {_first(error)}")
            continue
        for response in said.responses:
            key = (said.task, said.question_id, response)
            found.pop(key, None)
            if not said.withdrawn:
                found[key] = said
    return found


def _lines(file: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with file.open("rb") as lines:
            place = 0
            while line := lines.readline(LONGEST_LINE):
                place += 1
                if line.strip():
                    yield place, line
                while len(line) == LONGEST_LINE and not line.endswith(b"\n"):  # the rest of one that is too long
                    line = lines.readline(LONGEST_LINE)
    except FileNotFoundError:
        return
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {why(error)}") from error


def _first(error: ValueError) -> str:
    if not isinstance(error, ValidationError):
        return str(error)[:200]
    one = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, one['loc']))[:60]} {one['msg']}".strip()[:200]


def regraded(
    rows: Iterable[Row], said: Mapping[Key, Regrade], tell: Callable[[str], None] | None = None
) -> Iterator[Row]:
    """The rows with the marks that people set; each that has one keeps the judges' verdict beside it (`Row.judged`).

    Args:
        rows: as judged.
        said: from `read_regrades`.
        tell: told at the end how many marks are of no answer among them.
    """
    questions = {key[:2] for key in said}
    left = set(said)
    for row in rows:
        if row.response is None or (row.task, row.question.id) not in questions:
            yield row
            continue
        key = (row.task, row.question.id, row.response.sha256)
        left.discard(key)
        yield with_mark(row, said[key]) if key in said else row
    if left and tell is not None:
        task, question, response = min(left)
        tell(
            f"{REGRADES}: {len(left):,} of the answers that it marks are not in the run, such as"
            f" {response[:12]}… to {task}/{question}: nothing is changed by them"
        )


def with_mark(row: Row, said: Regrade) -> Row:
    """A row with the mark that a person set; the audit of the reasoning stays."""
    judged = row.verdict
    if judged is None:
        return row
    shares = said.parts if len(said.parts) == len(judged.parts) else [said.share] * len(judged.parts)
    by = PERSON + said.by
    parts = [
        part.model_copy(
            update={
                "decision": "accept" if share == 1 else "reject",
                "score": share,
                "decided_by": by,
                "reason": "",
            }
        )
        for part, share in zip(judged.parts, shares, strict=True)
    ]
    points = round(said.share * judged.max_points, 9)
    verdict = judged.model_copy(
        update={
            "state": "graded",
            "parts": parts,
            "points": points,
            "low": points,
            "high": points,
            "correct": said.correct,
            "reason": said.reason,
            "judge": by,
        }
    )
    return replace(row, state="graded", verdict=verdict, judged=judged)


@dataclass
class RegradeCounts:
    """How many marks people set, and what that changed.

    Attributes:
        answers: that people set the mark of.
        changed: of these, how many the judges had marked otherwise.
        settled: how many they had left open.
        by: answers of each person.
    """

    answers: int = 0
    changed: int = 0
    settled: int = 0
    by: Counter[str] = field(default_factory=Counter)

    def add(self, row: Row) -> None:
        """Counts a row."""
        if row.judged is None or row.verdict is None:
            return
        self.answers += 1
        self.by[row.verdict.judge.removeprefix(PERSON)] += 1
        if row.judged.state == "ungraded" or row.judged.low != row.judged.high:
            self.settled += 1
        elif not _same(row.verdict, row.judged):
            self.changed += 1

    def passing(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The rows, counted as they are taken."""
        for row in rows:
            self.add(row)
            yield row

    def summary(self) -> dict[str, Any]:
        """For report.json; {} where nobody set a mark."""
        if not self.answers:
            return {}
        counts = {"answers": self.answers, "changed": self.changed, "settled": self.settled}
        return {**counts, "by": dict(sorted(self.by.items())), "line": self.line()}

    def line(self) -> str:
        """What is said of them in one line."""
        same = self.answers - self.changed - self.settled
        done = [
            f"changed {_marks(self.changed)}",
            *([f"settled {_marks(self.settled)} that the judges had left open"] if self.settled else []),
            *([f"confirmed {_marks(same)}"] if same else []),
        ]
        return f"people {', '.join(done)} ({', '.join(f'{name}: {n:,}' for name, n in sorted(self.by.items()))})"


def _same(one: Verdict, other: Verdict) -> bool:
    return abs(one.low - other.low) < 1e-9 and one.correct == other.correct


def _marks(number: int) -> str:
    return "1 mark" if number == 1 else f"{number:,} marks" if number else "no mark"
