"""Recorded judgements: marks or replies in files become the votes of a named judge in a run.

Contract: a file with an unusable row is refused whole; an unreadable reply is a vote that leaves its answer open. Marks
of one answer by several prompts count as their median; a criterion's decision is the median of its votes.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from livek12.core.errors import UserError
from livek12.core.records import PartVerdict, Question, SchemeCriterion, Verdict, Vote
from livek12.core.replies import Unreadable
from livek12.core.run.folder import RunFolder
from livek12.core.schemes import criteria_of
from livek12.core.scoring import Row
from livek12.core.text import one_line
from livek12.evaluation.choosing import RunRows
from livek12.evaluation.studies.labels import Label, fit_labels, of_model, read_rows, refuse_strangers
from livek12.judges.grade import GradingConfig, judge_version, total
from livek12.judges.llm.forms import Invalid
from livek12.judges.recorded import (
    RECORDED,
    Award,
    outcome_of,
    points_by_name,
    points_by_place,
    read_reply,
    share_of,
    share_of_word,
)
from livek12.tasks.extraction.regions import spoken
from livek12.tasks.scorer import stamped

ALIASES = {"item_id": "question_id", "id": "question_id", "points": "score", "max_points": "max_score"}
ALIASES |= {"reason": "rationale", "label": "verdict", "raw": "reply"}
COLUMNS = ("task", "question_id", "trial", "model", "response_sha256", "prompt")
SAYING = ("score", "criteria", "verdict", "reply")
"""Columns with a judgement, of which a row has one at least."""
JUDGE_NAME = r"\w[\w.\-/:+ ]{0,79}"
CONFIG: Final = GradingConfig()
_Json = Mapping[str, Any]


@dataclass(frozen=True)
class RecordedMark:
    """One judgement of one answer: an award, or why there is none."""

    place: str
    prompt: str
    award: Award | None
    problem: str = ""
    reason: str = ""
    raw: str | None = None
    full: float | None = None

    @property
    def content(self) -> tuple[object, ...]:
        """The repeatable content."""
        return self.award, self.problem


def import_judgements(run: RunFolder, files: Sequence[Path], judge: str, warn: Callable[[str], None]) -> Counter[str]:
    """Writes judgements into a run as a marking; returns counts of answers."""
    if not re.fullmatch(JUDGE_NAME, judge):
        raise UserError(f"--judge {one_line(judge, 40)!r}: give a name of letters, digits and . - / : +")
    answers = _by_answer(run, files, warn)
    spec, digest = run.spec(), hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:8]
    version = f"{judge_version(CONFIG)}{RECORDED}{digest}+{judge.replace(' ', '_')}"
    prompts = {judgement.prompt for _, own in answers for judgement in own}
    counts = Counter[str]()
    with run.writer("verdicts") as writer:
        for row, own in answers:
            verdict = _verdict(row, own, judge)
            versions = {**verdict.versions, "judge": version}
            fields = {"judge": version, "versions": versions, "marking": spec.marking + 1}
            writer.append(verdict.model_copy(update=fields))
            counts[verdict.state] += 1
            counts["unreadable"] += sum(bool(judgement.problem) for judgement in own)
    if silent := len(run.answered()) - len(answers):
        warn(f"{silent:,} answers of the run have no judgement in these files, and keep their marks")
    words = f"recorded judgements of {judge}" + (f" (median of {len(prompts)} prompts)" if len(prompts) > 1 else "")
    marked = {row.task for row, _ in answers}
    run.begin_marking({**spec.judges, **dict.fromkeys(marked, version)}, {version: words}, spec.marking + 1)
    return counts


def _by_answer(
    run: RunFolder, files: Sequence[Path], warn: Callable[[str], None]
) -> list[tuple[Row, list[RecordedMark]]]:
    rows = dict(_rows(files, warn))
    if not rows:
        raise UserError(f"{files[0]}: holds no judgement; rows are {{question_id, score, max_score}}")
    labels = of_model([_label(place, row) for place, row in rows.items()], run.spec().model, files)
    pairs, strangers = fit_labels(labels, RunRows(run, judged=True))
    refuse_strangers([strangers])
    problems, answers = list[str](), defaultdict[tuple[str, str, int], dict[str, RecordedMark]](dict)
    questions: dict[tuple[str, str, int], Row] = {}
    for label, row in pairs:
        key = row.task, row.question.id, row.trial
        questions[key] = row
        try:
            judgement = _judgement(label.place, rows[label.place], row)
            before = answers[key].setdefault(judgement.prompt, judgement)
            if before.content != judgement.content:
                raise ValueError(
                    f"trial {row.trial} has another mark in {before.place}; name their prompts in `prompt`"
                )
        except ValueError as error:
            problems.append(f"{label.place}: {one_line(label.question_id, 80)}: {one_line(error, 300)}")
            continue
        if judgement.problem:
            warn(f"{label.place}: {label.question_id}: {one_line(judgement.problem, 200)}; it is no vote")
    if problems:
        more = f" (and {len(problems) - 1} more such rows)" if len(problems) > 1 else ""
        raise UserError(problems[0] + more)
    return [(questions[key], list(own.values())) for key, own in answers.items()]


def _rows(files: Sequence[Path], warn: Callable[[str], None]) -> Iterator[tuple[str, _Json]]:
    """Rows by place, under our names; of several files each is a prompt."""
    unread = set[str]()
    names = {*COLUMNS, *SAYING, "max_score", "rationale"}
    for file, line, row in ((path, *entry) for path in files for entry in read_rows(path)):
        place = f"{file}:{line}"
        if row is None:
            raise UserError(f"{place}: not a JSON object")
        own = {ALIASES.get(name, name): value for name, value in row.items()} | {n: row[n] for n in names & row.keys()}
        unread |= own.keys() - names
        if len(files) > 1:
            own.setdefault("prompt", file.stem)
        yield place, own
    if unread:
        warn(f"columns that are not read: {', '.join(map(one_line, sorted(unread)))}")


def _label(place: str, row: _Json) -> Label:
    id, trial = row.get("question_id"), row.get("trial") or 0
    if id in (None, "") or isinstance(id, bool | float | list | dict):
        raise UserError(f"{place}: names no question: it needs question_id (or id, item_id)")
    if not re.fullmatch(r"\d{1,9}", str(trial)):
        raise UserError(f"{place}: {id}: trial is {str(trial)[:40]!r}: write a number from 0")
    if not any(name in row for name in SAYING):
        raise UserError(f"{place}: {id}: says no mark: it needs {', '.join(SAYING[:-1])} or {SAYING[-1]}")
    names = ("task", "model", "response_sha256")
    task, model, response = (str(row[name]) if row.get(name) not in (None, "") else None for name in names)
    return Label(str(id), None, None, task, int(trial), "", model=model, response_sha256=response, place=place)


def _judgement(place: str, row: _Json, answer: Row) -> RecordedMark:
    """Judgement of a row; ValueError for an impossible mark."""
    criteria, prompt = criteria_of(answer.question), str(row.get("prompt") or "")
    full, reply = _maximum(row, answer.question), row.get("reply")
    reason = str(row.get("rationale") or "")
    if answer.response is None:
        raise ValueError("the run has no answer to it")
    if isinstance(reply, dict):
        reply = json.dumps(reply, ensure_ascii=False)
    if isinstance(reply, str) and reply.strip():
        try:
            award = read_reply(reply, criteria, full, spoken(answer.response.text, answer.question))
        except Unreadable as error:
            return RecordedMark(place, prompt, None, f"the reply {error}", reason, reply)
        return RecordedMark(place, prompt, award, "", reason, reply, full)
    marks = row.get("criteria")
    if isinstance(marks, str) and marks.strip():
        try:
            marks = json.loads(marks)
        except (ValueError, RecursionError):
            raise ValueError("criteria is no JSON object or list") from None
    if isinstance(marks, dict | list) and marks:
        read = points_by_name(marks, criteria) if isinstance(marks, dict) else points_by_place(marks, criteria)
        return RecordedMark(place, prompt, read, "", reason)
    word, score = str(row.get("verdict") or "").strip(), row.get("score")
    if score not in (None, ""):
        share = share_of(score, full)
        if share in (0, 1) and word.lower() == ("incorrect" if share else "correct"):
            raise ValueError(f"verdict is {word!r}, but score is {score} of {full}")
        return RecordedMark(place, prompt, Award(share), "", reason, full=full)
    if word:
        return RecordedMark(place, prompt, Award(share_of_word(word, full)), "", reason, full=full)
    return RecordedMark(place, prompt, None, "the judge gave no mark", reason)


def _maximum(row: _Json, question: Question) -> float | None:
    stated = row.get("max_score")
    if stated in (None, ""):
        return _full(question)
    share_of(stated, stated)
    return float(str(stated))


def _full(question: Question) -> float | None:
    return question.points or sum(question.part_points) or sum(c.points for c in (question.scheme or [[]])[0]) or None


# --- the votes of an answer -----------------------------------------------------------------------------------------


def _verdict(row: Row, judgements: Sequence[RecordedMark], judge: str) -> Verdict:
    assert row.response is not None
    key, quorum = row.response.key, len(judgements) // 2 + 1
    awards = [judgement.award for judgement in judgements if judgement.award]
    by_criterion = bool(awards) and all(award.criteria for award in awards)
    votes = _votes(row.question, judgements, judge, by_criterion)
    parts = [_part(row.question, criterion, own, quorum) for criterion, own in votes]
    verdict = total(row.question, key, parts, CONFIG)
    shares = [share for share in (_share(row, judgement, judge) for judgement in judgements) if share is not None]
    if len(shares) >= quorum:  # the median of the marks, which that of each criterion need not add up to
        share = median(shares)
        points = round(share * verdict.max_points, 9)
        fields = {
            "state": "graded",
            "points": points,
            "low": points,
            "high": points,
            "reason": "",
            "correct": share == 1,
        }
        verdict = verdict.model_copy(update=fields)
    full = next((float(judgement.full) for judgement in judgements if judgement.full), None)
    if _full(row.question) is None and full:
        scaled = {name: getattr(verdict, name) for name in ("points", "low", "high", "max_points")}
        verdict = verdict.model_copy(update={n: None if v is None else round(v * full, 9) for n, v in scaled.items()})
    return stamped(verdict, row.response)


def _share(row: Row, judgement: RecordedMark, judge: str) -> float | None:
    assert row.response is not None
    if judgement.award is None or not judgement.award.criteria:
        return judgement.award.share if judgement.award else None
    votes = _votes(row.question, [judgement], judge, by_criterion=True)
    verdict = total(row.question, row.response.key, [_part(row.question, c, own, 1) for c, own in votes], CONFIG)
    return None if verdict.points is None else verdict.points / verdict.max_points


_Votes = list[tuple[Vote, str | None]]


def _votes(
    question: Question, judgements: Sequence[RecordedMark], judge: str, by_criterion: bool
) -> list[tuple[SchemeCriterion | None, _Votes]]:
    criteria: list[SchemeCriterion | None] = [*criteria_of(question)] if by_criterion else [None]
    return [(c, [_vote(own, c, place, judge) for own in judgements]) for place, c in enumerate(criteria)]


def _vote(
    judgement: RecordedMark, criterion: SchemeCriterion | None, place: int, judge: str
) -> tuple[Vote, str | None]:
    name = f"{judge} ({judgement.prompt})" if judgement.prompt else judge
    share, reason, quote = None, judgement.problem or judgement.reason, None
    if judgement.award and criterion:
        decision = judgement.award.criteria[place]
        if isinstance(decision, Invalid):
            reason = decision.reason
        else:
            share, quote = decision.points / criterion.points, decision.quote or None
            reason = decision.reason or reason
    elif judgement.award and judgement.award.share is not None:
        share = judgement.award.share
    raw = None if place else judgement.raw
    return Vote(judge=name, decision=outcome_of(share), score=share, reason=reason, raw=raw), quote


def _part(question: Question, criterion: SchemeCriterion | None, votes: _Votes, quorum: int) -> PartVerdict:
    shares = [vote.score for vote, _ in votes if vote.score is not None]
    score = median(shares) if len(shares) >= quorum else None
    reasons = dict.fromkeys(vote.reason for vote, _ in votes if (vote.score is None) == (score is None))
    return PartVerdict(
        name=criterion.id if criterion else None,
        answer=next((quote for _, quote in votes if quote), None),
        gold=criterion.text if criterion else "; ".join(question.answer),
        decision=outcome_of(score),
        score=score,
        decided_by="panel" if len(votes) > 1 else "llm",
        reason=next(iter(reasons), "") if len(votes) == 1 or score is None else f"the median of {len(shares)} votes",
        votes=[vote for vote, _ in votes],
    )
