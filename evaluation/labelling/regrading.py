"""Regrades: people's marks, set once for a group of equal answers to a question.

Answers are equal where the same text was extracted (`PartVerdict.answer`) or, without extraction and with criteria,
where their texts are equal. `put` returns once the row is on the disk; RUN/regrades.jsonl is append-only, and locked
only while written, so that several servers may work. Groups are read anew where answers or verdicts have changed.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from livek12.core.errors import UserError
from livek12.core.records import UNMARKED, PartVerdict, Verdict, canonical_json
from livek12.core.run.folder import RunFolder
from livek12.core.run.markings import LONGEST_REASON, REGRADES, Key, Regrade, read_regrades, with_mark
from livek12.core.schemes import is_by_scheme
from livek12.core.scoring import Row
from livek12.evaluation.labelling.store import append_row, checked_name
from livek12.judges.grade import GradingConfig, total
from livek12.report.marks import mark_of, points
from livek12.report.markup import render_answer

Group = tuple[str, str, bytes]


class EqualAnswer(NamedTuple):
    """One answer of a group: trial, hash of the response, the judges' mark and judge."""

    trial: int
    response: str
    mark: str


class Regrading:
    """The groups of a run and people's marks of them. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._groups: dict[Group, list[EqualAnswer]] = {}
        self._of: dict[Key, Group] = {}
        self._seen: dict[str, tuple[int, int]] | None = None
        self._lock, self._reading = threading.Lock(), threading.Lock()

    def passing(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Notes the groups of passing rows."""
        self._seen = self._files()
        groups, of = dict[Group, list[EqualAnswer]](), dict[Key, Group]()
        for row in rows:
            if row.response is not None and row.verdict is not None:
                member = EqualAnswer(row.trial, row.response.sha256, _judged(row, row.verdict))
                groups.setdefault(_group(row), []).append(member)
                of[_key(row)] = _group(row)
            yield row
        self._groups, self._of = groups, of

    def _files(self) -> dict[str, tuple[int, int]]:
        """Size and time of the files with answers and verdicts."""
        files = {}
        for file in self._folder.iterdir():
            if file.name.startswith(("responses-", "verdicts-")):
                with suppress(FileNotFoundError):
                    files[file.name] = (file.stat().st_size, file.stat().st_mtime_ns)
        return files

    def _members(self, row: Row) -> list[EqualAnswer]:
        """The answers equal to this one now; it alone if the run no longer holds it."""
        with self._reading:
            if self._files() != self._seen:
                for _ in self.passing(RunFolder.open(self._folder).judged_rows()):
                    pass
            own = self._of.get(_key(row))
            if own is not None:
                return self._groups[own]
        response = row.response.sha256 if row.response else ""
        return [EqualAnswer(row.trial, response, _judged(row, _verdict(row)))]

    def marked(self, row: Row) -> Row:
        """An answer with the mark that counts now."""
        regrade = self._said().get(_key(row))
        return with_mark(row, regrade) if regrade else row

    def view(self, row: Row) -> dict[str, Any]:
        """The group of an answer, for a person who sets its mark."""
        verdict, members, every = _verdict(row), self._members(row), self._said()
        regrade = every.get(_key(row))
        now = with_mark(row, regrade) if regrade else row
        full = verdict.max_points
        people = Counter(
            (f"{points(own.share * full)} / {points(full)}", own.by)
            for member in members
            if (own := every.get((row.task, row.question.id, member.response)))
        )
        marks = Counter(member.mark for member in members)
        return {
            "answers": len(members),
            "trials": [member.trial + 1 for member in members],
            "judged": [{"mark": mark, "answers": answers} for mark, answers in marks.most_common()],
            "people": [{"mark": mark, "by": by, "answers": answers} for (mark, by), answers in people.most_common()],
            "unset": len(members) - people.total(),
            "full": points(full),
            "parts": [_part(part) for part in verdict.parts],
            "set": regrade
            and {
                "mark": mark_of(now).text,
                "parts": [part.score for part in now.verdict.parts] if now.verdict else [],
                "by": regrade.by,
                "reason": regrade.reason,
                "at": regrade.at,
            },
        }

    def put(self, by: str, row: Row, request: Mapping[str, Any]) -> int:
        """Sets the mark of an answer and its equals, or restores the judges'; returns their number.

        A request has `reason` and one of `correct`, `score` (points), `parts` (shares); or `withdrawn`.

        Raises:
            LabelNotStored: the disk does not take it.
            UserError: it makes no sense.
        """
        members = self._members(row)
        row_of_file: dict[str, Any] = {
            "task": row.task,
            "question_id": row.question.id,
            "responses": list(dict.fromkeys(member.response for member in members)),
            "by": checked_name(by),
            "at": datetime.now(UTC).isoformat(timespec="microseconds"),
        }
        if request.get("withdrawn") is True:
            if _key(row) not in self._said():
                raise UserError("nobody has set this mark: there is nothing to take back")
            row_of_file["withdrawn"] = True
        else:
            row_of_file |= {"reason": _reason(request), **_mark(row, request)}
        try:
            regrade = Regrade.model_validate(row_of_file)
        except ValidationError:
            raise UserError("the mark says nothing that can be read") from None
        with self._lock:
            append_row(self._folder / REGRADES, regrade)
        return len(members)

    def _said(self) -> dict[Key, Regrade]:
        return read_regrades(self._folder)


def _verdict(row: Row) -> Verdict:
    if row.verdict is None:
        raise UserError("there is no answer to mark")
    return row.verdict


def _key(row: Row) -> Key:
    return row.task, row.question.id, row.response.sha256 if row.response else ""


def _group(row: Row) -> Group:
    parts = row.verdict.parts if row.verdict and not is_by_scheme(row.question, row.verdict.parts) else []
    texts = [" ".join((part.answer or "").split()) for part in parts]
    text = row.response.text.strip() if row.response else ""
    own = canonical_json(texts if any(texts) else text)
    return row.task, row.question.id, sha256(own.encode("utf-8", "replace")).digest()


def _judged(row: Row, verdict: Verdict) -> str:
    mark = mark_of(row)
    who = "" if verdict.judge == UNMARKED else " by " + "+".join(dict.fromkeys(p.decided_by for p in verdict.parts))
    return f"{mark.text} {mark.word}{who if verdict.parts else ''}".replace("  ", " ").strip()


def _part(part: PartVerdict) -> dict[str, Any]:
    return {
        "name": part.name or "",
        "found": "" if part.answer is None else render_answer(part.answer[:LONGEST_REASON]),
        "key": render_answer(part.gold[:LONGEST_REASON]),
        "score": part.score,
    }


def _reason(request: Mapping[str, Any]) -> str:
    reason = request.get("reason")
    if not isinstance(reason, str) or not reason.strip():
        raise UserError("say why: a mark is changed for a reason")
    if len(reason) > LONGEST_REASON:
        raise UserError(f"a reason has at most {LONGEST_REASON:,} characters")
    try:
        reason.encode()
    except UnicodeEncodeError:
        raise UserError("the reason holds half a character (a lone surrogate): delete it") from None
    return reason.strip()


def _mark(row: Row, request: Mapping[str, Any]) -> dict[str, Any]:
    verdict = _verdict(row)
    names = [name for name in ("correct", "score", "parts") if request.get(name) not in (None, "")]
    if len(names) != 1:
        raise UserError("say one thing: right or wrong, marks, or the share of each part")
    value = request[names[0]]
    if names == ["correct"]:
        if not isinstance(value, bool):
            raise UserError("an answer is right (true) or wrong (false)")
        return {"share": float(value), "correct": value}
    if names == ["score"]:
        score, full = _number(value), verdict.max_points
        if not 0 <= score <= full + 1e-9:
            raise UserError(f"marks are a number from 0 to {points(full)}")
        share = min(1.0, score / full) if full else 0.0
        return {"share": share, "correct": share == 1}
    if not isinstance(value, list) or not value or len(value) != len(verdict.parts):
        raise UserError(f"the answer has {len(verdict.parts)} parts: say the share of each")
    shares = [_number(number) for number in value]
    if not all(0 <= share <= 1 for share in shares):
        raise UserError("the share of a part is a number from 0 to 1")
    parts = [
        part.model_copy(update={"score": share, "decision": "accept" if share == 1 else "reject"})
        for part, share in zip(verdict.parts, shares, strict=True)
    ]
    mark = total(row.question, verdict.key, parts, GradingConfig())
    right = all(share == 1 for share in shares)
    return {"share": 1.0 if right else min(1.0, mark.low / mark.max_points), "correct": right, "parts": shares}


def _number(value: object) -> float:
    """A number from a page or program; NaN for others."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return float("nan")
    try:
        return float(value)
    except (ValueError, OverflowError):
        return float("nan")
