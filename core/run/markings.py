"""Markings: which of several verdicts on an answer counts, marks set by people, and judges in words.

Contract: of two verdicts on one answer the later marking (`Verdict.marking`) wins; within one marking, in this order:
graded, by the keys of another dataset, by judge models that replied, the narrower range, with an audit of the
reasoning, the later one. But a verdict that waits for a judge loses to a decided one of any marking, and of two
rules-only verdicts of one marking by the same keys the later rules win. A verdict of a judge that run.json does not
know counts only where it is the only one.

A judge's version is `rules-CODE+SETTINGS`, a space, the same for each method of its models (`count-…`), and the name of
its keys; CODE is a hash.

A row of `regrades.jsonl` is one person's mark of equal answers to one question. The last row on a response counts, and
a withdrawn one restores the judges' verdict. A row of `criteria.jsonl` is one person's wording of a criterion of a
marking scheme; people's marks of that question from before it are to be looked at again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, ValidationError, model_validator

from livek12.core.errors import UserError, why
from livek12.core.records import Record, Row, Verdict
from livek12.core.tables import read_lines

REGRADES = "regrades.jsonl"
"""The file of a run folder in which the marks stand that people set (`core.run.markings`)."""
WORDINGS = "criteria.jsonl"
"""The file of a run folder with the wordings of criteria that people mended."""
PERSON = "person "
"""Stands before the name of a person who set a mark in place of the judges (`core.run.markings`)."""
KEYS = " keys+"
"""Stands in the version of a judge before what names the keys of another data set that it marked by."""

_CODE = re.compile(r"\b([a-z]\w*)-([0-9a-f]+)\+")
"""In the version of a judge: a name with the version of its code."""
_READER = re.compile(r"\+latex2sympy2_extended-[\w.]+")
"""Behind its settings: the library that reads what the rules' own reader cannot, where it is installed."""


def counts_over(new: Verdict, old: Verdict, known: Sequence[str]) -> bool:
    """True if the later of two verdicts counts; `known` are the judges in run.json, oldest first."""
    if new.waits != old.waits:
        waiting, other = (new, old) if new.waits else (old, new)
        if not other.is_open:
            return waiting is old
    by_rules = other_rules(new, old.judge) and other_rules(old, new.judge)
    if by_rules and new.marking == old.marking and new.judge in known and old.judge in known:
        return known.index(new.judge) > known.index(old.judge)
    return _rank(new, known) >= _rank(old, known)


def other_rules(verdict: Verdict, judge: str) -> bool:
    """True for a rules-only verdict by the judge's keys but other rules."""
    (rules, *_), (others, *_) = verdict.judge.split(" "), judge.split(" ")
    return not verdict.by_models and rules != others and _keys(verdict.judge) == _keys(judge)


def without_code(version: str) -> str:
    """Version without code hashes."""
    return _CODE.sub(r"\1+", _READER.sub("", version))


def _keys(version: str) -> str:
    return version.partition(KEYS)[2]


def _rank(verdict: Verdict, judges: Sequence[str]) -> tuple[float, ...]:
    marking = verdict.marking if verdict.marking or verdict.judge in judges else -1
    heard = verdict.by_models and not verdict.waits
    narrow = (verdict.low - verdict.high) / verdict.max_points if verdict.max_points else 0.0
    return marking, verdict.state == "graded", KEYS in verdict.judge, heard, narrow, verdict.process is not None


def in_words(version: str) -> str:
    """Judge by its version alone, for runs without a description: "rules 5 and judge models (count, audit)"."""
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
Change = Literal["settled", "changed", "confirmed"]
"""Of a person's mark: it closes what judges left open, differs from theirs, or equals it."""


class Regrade(Record):
    """Line of regrades.jsonl.

    Attributes:
        responses: equal answers, by `Response.sha256`.
        reason: "" only where it is withdrawn.
        share: of the full marks, 0 to 1.
        parts: the share of each part, where the person told them apart.
        withdrawn: restores the judges' mark.
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
    """People's mark of each response."""
    marks: dict[Key, Regrade] = {}
    for place, line in _lines(folder / REGRADES):
        try:
            regrade = Regrade.model_validate_json(line)
        except (ValidationError, ValueError) as error:
            if tell is not None:
                tell(f"{REGRADES}:{place}: says no mark that can be used; passed over: {_first(error)}")
            continue
        for response in regrade.responses:
            key = (regrade.task, regrade.question_id, response)
            marks.pop(key, None)
            if not regrade.withdrawn:
                marks[key] = regrade
    return marks


class Wording(Record):
    """Line of criteria.jsonl: a mended criterion; `at` is ISO 8601."""

    task: str
    question_id: str
    criterion: str
    text: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_REASON)]
    by: Annotated[str, StringConstraints(pattern=PERSON_NAME)]
    at: str


def read_wordings(folder: Path) -> dict[tuple[str, str], dict[str, Wording]]:
    """Last wording of each mended criterion, by task and question."""
    wordings: dict[tuple[str, str], dict[str, Wording]] = {}
    for _, line in _lines(folder / WORDINGS):
        with suppress(ValueError):
            wording = Wording.model_validate_json(line)
            wordings.setdefault((wording.task, wording.question_id), {})[wording.criterion] = wording
    return wordings


def _lines(file: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with file.open("rb") as lines:
            yield from ((place, line) for place, line in read_lines(lines, LONGEST_LINE - 1) if line.strip())
    except FileNotFoundError:
        return
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {why(error)}") from error


def _first(error: ValueError) -> str:
    if not isinstance(error, ValidationError):
        return str(error)[:200]
    detail = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, detail['loc']))[:60]} {detail['msg']}".strip()[:200]


def regraded(
    rows: Iterable[Row], regrades: Mapping[Key, Regrade], tell: Callable[[str], None] | None = None
) -> Iterator[Row]:
    """Rows with people's marks; judges' verdicts move to `Row.judged`."""
    questions = {key[:2] for key in regrades}
    unused = set(regrades)
    for row in rows:
        if row.response is None or (row.task, row.question.id) not in questions:
            yield row
            continue
        key = (row.task, row.question.id, row.response.sha256)
        unused.discard(key)
        yield with_mark(row, regrades[key]) if key in regrades else row
    if unused and tell is not None:
        task, question, response = min(unused)
        tell(
            f"{REGRADES}: {len(unused):,} of the answers that it marks are not in the run, such as"
            f" {response[:12]}… to {task}/{question}: nothing is changed by them"
        )


def with_mark(row: Row, regrade: Regrade) -> Row:
    """Row with a person's mark; the audit of the reasoning is kept."""
    judged = row.verdict
    if judged is None:
        return row
    shares = regrade.parts if len(regrade.parts) == len(judged.parts) else [regrade.share] * len(judged.parts)
    by = PERSON + regrade.by
    parts = [
        part.model_copy(
            update={"decision": "accept" if share == 1 else "reject", "score": share, "decided_by": by, "reason": ""}
        )
        for part, share in zip(judged.parts, shares, strict=True)
    ]
    points = round(regrade.share * judged.max_points, 9)
    verdict = judged.model_copy(
        update={
            "state": "graded",
            "parts": parts,
            "points": points,
            "low": points,
            "high": points,
            "correct": regrade.correct,
            "reason": regrade.reason,
            "judge": by,
        }
    )
    return replace(row, state="graded", verdict=verdict, judged=judged)


def change_of(row: Row) -> Change | None:
    """Effect of a person's mark on a row; None without one."""
    if row.judged is None or row.verdict is None:
        return None
    if row.judged.state == "ungraded" or row.judged.low != row.judged.high:
        return "settled"
    return "confirmed" if _same(row.verdict, row.judged) else "changed"


@dataclass
class RegradeCounts:
    """Counts of people's marks and their effect.

    Attributes:
        changed: of these, marked otherwise by the judges.
        settled: of these, left open by the judges.
    """

    answers: int = 0
    changed: int = 0
    settled: int = 0
    by: Counter[str] = field(default_factory=Counter)

    def add(self, row: Row) -> None:
        """Counts a row."""
        if row.verdict is not None:
            self.note(change_of(row), row.verdict.judge)

    def note(self, change: Change | None, judge: str, answers: int = 1) -> None:
        """Counts answers with the same change by the same person."""
        if change is None:
            return
        self.answers += answers
        self.by[judge.removeprefix(PERSON)] += answers
        self.settled += answers * (change == "settled")
        self.changed += answers * (change == "changed")

    def passing(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Rows, counted as they pass."""
        for row in rows:
            self.add(row)
            yield row

    def summary(self) -> dict[str, Any]:
        """The `regraded` entry of report.json."""
        if not self.answers:
            return {}
        counts = {"answers": self.answers, "changed": self.changed, "settled": self.settled}
        return {**counts, "by": dict(sorted(self.by.items())), "line": self.line()}

    def line(self) -> str:
        """Counts in one line."""
        same = self.answers - self.changed - self.settled
        done = [
            f"changed {_marks(self.changed)}",
            *([f"settled {_marks(self.settled)} that the judges had left open"] if self.settled else []),
            *([f"confirmed {_marks(same)}"] if same else []),
        ]
        return f"people {', '.join(done)} ({', '.join(f'{name}: {n:,}' for name, n in sorted(self.by.items()))})"


def _same(verdict: Verdict, other: Verdict) -> bool:
    return abs(verdict.low - other.low) < 1e-9 and verdict.correct == other.correct


def _marks(number: int) -> str:
    return "1 mark" if number == 1 else f"{number:,} marks" if number else "no mark"
