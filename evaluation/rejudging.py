"""Makes a run folder of another harness's log of any task, marked here.

Contract: an unreadable entry costs a warning, a missing answer fails, and a missing key leaves its answers undecided.
Entries are read, and so judged, as rows of `livek12 judge-pairs`: any listed key is right; in plain JSON lines a list
has one entry a part. The harness's own marks are kept in `harness_marks`.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

from livek12.core.errors import UserError
from livek12.core.progress import say, warn, watched
from livek12.core.question_types import kind_of
from livek12.core.records import Failure, Key, Question, Response, Sampling
from livek12.core.run.access import check_out, make_folder
from livek12.core.run.folder import HARNESS_MARKS, RunFolder
from livek12.core.run.journal import KeySet
from livek12.core.run.spec import RunSpec, TaskSpec, check_size
from livek12.core.run.sums import write_summed
from livek12.core.text import clean
from livek12.engines.replay import ending, told_of
from livek12.engines.thinking import Thinking
from livek12.evaluation.logs import (
    BAD_ENTRY,
    MISSING,
    Fields,
    LogEntry,
    entries,
    field_names,
    fields_of,
    first_at,
    number,
    text_of,
)
from livek12.evaluation.pairs import BadPair, read_pair
from livek12.tasks.registry import BENCHMARK, NO_PROMPT, logged_name, logged_task

ENGINE: Final = "replay"
NOBODY: Final = "unknown"
"""The model of a log that names none."""


@dataclass
class _Spool:
    """Content of a log, on disk, task by task."""

    questions: dict[str, IO[bytes]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    digests: dict[str, Any] = field(default_factory=dict)
    asked: dict[str, bytes] = field(default_factory=dict)
    answered: dict[str, bytes] = field(default_factory=dict)
    outcomes: IO[bytes] = field(default_factory=tempfile.TemporaryFile)
    marks: IO[bytes] = field(default_factory=tempfile.TemporaryFile)
    trials: int = 1
    models: dict[str, str] = field(default_factory=dict)
    keyless: int = 0
    first_keyless: str = ""

    def add_question(self, task: str, entry: LogEntry, question: Question) -> None:
        """Keeps a question once; raises BadPair where another one has its id."""
        line = question.model_dump_json().encode() + b"\n"
        digest = hashlib.sha256(line).digest()[:12]
        if (before := self.asked.setdefault(f"{task}/{question.id}", digest)) is not digest:
            if before != digest:
                raise BadPair(f"its id {entry.id!r} is that of another question before it")
            return
        if task not in self.questions:
            self.questions[task] = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the spool)
            self.counts[task], self.digests[task] = 0, hashlib.sha256()
        self.questions[task].write(line)
        self.digests[task].update(line)
        self.counts[task] += 1

    def add_outcome(self, outcome: Response | Failure) -> None:
        """Keeps an outcome once; raises BadPair where the question and trial has another answer."""
        text = outcome.text if isinstance(outcome, Response) else ""
        digest = hashlib.sha256(text.encode()).digest()[:12]
        if (before := self.answered.setdefault(str(outcome.key), digest)) is digest:
            self.trials = max(self.trials, outcome.key.trial + 1)
            self.outcomes.write(outcome.model_dump_json().encode() + b"\n")
        elif before != digest:
            raise BadPair(
                f"question {outcome.key.question_id}, trial {outcome.key.trial}, has another answer before it"
            )

    def add_marks(self, task: str, entry: LogEntry, logged: LoggedQuestion) -> None:
        if logged.scores:
            trial = entry.trial if len(logged.outcomes) == 1 else None
            row = {"task": task, "question_id": entry.id, "trial": trial, "scores": dict(logged.scores)}
            self.marks.write(json.dumps(row).encode() + b"\n")

    def close(self) -> None:
        for file in (*self.questions.values(), self.outcomes, self.marks):
            file.close()


class _Kept:
    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def __iter__(self) -> Iterator[Question]:
        self._file.seek(0)
        yield from map(Question.model_validate_json, self._file)


def rejudge(
    log: Path, source: str, out: Path, given: Mapping[str, str], *, task: str = "", model: str = ""
) -> RunFolder:
    """Makes the run folder of a log, or resumes it; nothing is marked yet."""
    check_out(out)
    with ExitStack() as stack:
        spool = _Spool()
        stack.callback(spool.close)
        _read(spool, log, source, fields_of(source).with_given(given), task, model)
        spec = _spec(spool, log, source, given, model)
        make_folder(out)
        questions = {name: _Kept(file) for name, file in spool.questions.items()}
        run = RunFolder.create_or_resume(out, spec, questions, warn)
        spool.marks.seek(0)
        write_summed(out / HARNESS_MARKS, (line.decode() for line in spool.marks))
        _store(run, spool)
    return run


def _read(spool: _Spool, log: Path, source: str, fields: Fields, task: str, model: str) -> None:
    first: LogEntry | None = None
    refused, others, answers = 0, 0, 0
    for entry in watched(entries(source, log), "reading the log"):
        first = first or entry
        if model and entry.model and entry.model != model:
            others += 1
            continue
        name = logged_name(task or entry.task)
        spool.models.setdefault(entry.model or model, entry.place)
        try:
            logged = asked(entry, fields, name, entry.model or model or NOBODY, parts=source == "jsonl")
            spool.add_question(name, entry, logged.question)
            for outcome in logged.outcomes:
                spool.add_outcome(outcome)
        except (BadPair, RecursionError) as error:
            refused += 1
            why = "is nested too deeply" if isinstance(error, RecursionError) else error
            warn(f"{entry.place}: {why}; passed over", kind=BAD_ENTRY)
            continue
        spool.add_marks(name, entry, logged)
        answers += sum(isinstance(outcome, Response) for outcome in logged.outcomes)
        if not logged.has_key:
            spool.keyless += 1
            spool.first_keyless = spool.first_keyless or entry.place
    _check(spool, log, first, fields, answers)
    if refused:
        warn(f"{log}: {refused:,} entries could not be used and are not in the run")
    if others:
        say(f"{log}: {others:,} entries are of other models than {model} and are left out")


def _check(spool: _Spool, log: Path, first: LogEntry | None, fields: Fields, answers: int) -> None:
    if first is None:
        raise UserError(f"{log}: holds no entry that can be read")
    named = [name for name in spool.models if name]
    if len(named) > 1:
        both = " and ".join(f"{name} ({spool.models[name]})" for name in named[:2])
        raise UserError(f"{log}: holds answers of {both}; choose one with --model, or give one log")
    there = field_names(first.raw)
    if not spool.questions:
        raise UserError(f"{log}: no entry can be used; fields of the first: {there}")
    asked_for = sum(spool.counts.values())
    if not answers:
        where = _paths(fields.response)
        raise UserError(f"{log}: no entry has an answer at {where}; name its field with --response; fields: {there}")
    if spool.keyless >= asked_for:
        where = _paths(fields.gold)
        raise UserError(f"{log}: no entry has a key at {where}; name its field with --gold; fields: {there}")
    if spool.keyless:
        warn(f"{log}: {spool.keyless:,} entries have no key, the first: {spool.first_keyless}; nobody can judge them")


def _paths(paths: tuple[str, ...]) -> str:
    return " or ".join(paths[:3]) + (", …" if len(paths) > 3 else "") if paths else "its place"


def _spec(spool: _Spool, log: Path, source: str, given: Mapping[str, str], model: str) -> RunSpec:
    named = next(filter(None, spool.models), "") or model or NOBODY
    args = {"from": source, **{name: path for name, path in given.items() if path}}
    tasks = []
    for name, digest in spool.digests.items():
        task = logged_task(name)
        assert task is not None
        tasks.append(
            TaskSpec(
                name=name,
                version=task.version,
                modality=task.modality,
                prompt_sha256=NO_PROMPT,
                data=str(log.resolve()),
                data_sha256=digest.hexdigest(),
                questions=spool.counts[name],
                sampling=Sampling(),
            )
        )
    check_size(sum(task.questions for task in tasks), spool.trials)
    return RunSpec(model=named, engine=ENGINE, engine_args=args, tasks=tasks, trials=spool.trials)


def _store(run: RunFolder, spool: _Spool) -> None:
    done, identity = run.answered() | KeySet(run.tries()), run.spec().identity
    spool.outcomes.seek(0)
    with run.writer("responses") as responses, run.writer("failures") as failures:
        for line in spool.outcomes:
            outcome = _outcome(line)
            if str(outcome.key) in done:
                continue
            if isinstance(outcome, Response):
                responses.append(outcome.model_copy(update={"run": identity}))
            else:
                failures.append(outcome)


def _outcome(line: bytes) -> Response | Failure:
    fields = json.loads(line)
    return Failure.model_validate(fields) if "state" in fields else Response.model_validate(fields)


ANY_OF: Final = " ## "
"""Between keys of which any one is right (`judges.grade`)."""
MOST_TRIALS: Final = 10_000
NO_ANSWER: Final = "the log has no answer"
_OF_PAIRS: Final = ("scheme", "part_points", "solution")
"""Fields of `judge-pairs` that plain JSON lines may have."""
_thinking = Thinking()


@dataclass(frozen=True)
class LoggedQuestion:
    """Question from a log, an outcome for each trial, and the harness's own marks by name."""

    question: Question
    outcomes: tuple[Response | Failure, ...]
    scores: Mapping[str, float]
    has_key: bool


def asked(entry: LogEntry, fields: Fields, task: str, model: str, parts: bool) -> LoggedQuestion:
    """Entry as a question with its key and answers; with `parts` a list of keys has one a part."""
    given = _answers(entry, fields)
    options = _options(first_at(entry.raw, fields.options))
    gold = first_at(entry.raw, fields.gold)
    row: dict[str, Any] = {
        "id": entry.id,
        "question": text_of(first_at(entry.raw, fields.question)),
        "question_type": _type(entry.raw, fields.type),
        "gold": "" if gold is MISSING else _gold(gold, options, parts),
        "options": options,
        "response": next((answer["response"] for answer in given if answer), ""),
    }
    row |= {name: entry.raw[name] for name in _OF_PAIRS if parts and entry.raw.get(name)}
    question = _readable(row)
    if entry.trial + len(given) > MOST_TRIALS:
        raise BadPair(f"is of a later trial than a run may have ({MOST_TRIALS:,})")
    outcomes = tuple(
        _recorded(Key(task=task, question_id=entry.id, trial=entry.trial + count), answer, model)
        for count, answer in enumerate(given or ({},))
    )
    has_key = bool(question.scheme) or any(key.strip() for key in question.answer)
    return LoggedQuestion(question, outcomes, _marks_of(entry, fields), has_key)


def _readable(row: dict[str, Any]) -> Question:
    try:
        question = _question(row)
    except BadPair:
        if not row["options"]:
            raise
        question = _question(
            {**row, "options": None}
        )  # options of a form that we do not know, of a question that we do
    return question.model_copy(update={"benchmark": BENCHMARK, "subject": question.subject or "unknown"})


def _question(row: dict[str, Any]) -> Question:
    try:
        line = json.dumps(row).encode()
    except (TypeError, ValueError, RecursionError):
        raise BadPair("holds what JSON cannot spell") from None
    return read_pair(line, None).question


def _answers(entry: LogEntry, fields: Fields) -> tuple[Mapping[str, Any], ...]:
    if not fields.response:
        return entry.answers
    value = first_at(entry.raw, fields.response)
    beside = entry.answers[0] if len(entry.answers) == 1 else (entry.raw if not entry.answers else {})
    if value is MISSING:
        return ({},)
    if isinstance(value, list) and value and all(isinstance(text, str) for text in value):
        return tuple({**beside, "response": text} for text in value)
    return ({**beside, "response": text_of(value)},)


def _recorded(key: Key, answer: Mapping[str, Any], model: str) -> Response | Failure:
    text = answer.get("response")
    if not isinstance(text, str):
        return Failure(key=key, state="failed", reason=NO_ANSWER, final=True)
    values = told_of({name: value for name, value in answer.items() if name != "model"})
    limit, _ = values.pop("max_tokens", None), values.pop("last_token", None)
    if limit and values.get("completion_tokens") and not values.get("finish_reason"):
        values["finish_reason"] = ending(values["completion_tokens"], limit)
    split = _thinking.split(clean(text))
    values["reasoning"] = "\n".join(filter(None, (values.pop("reasoning", None), split.reasoning))) or None
    return Response(key=key, text=split.text, engine="replay", model=model, **values)


def _marks_of(entry: LogEntry, fields: Fields) -> Mapping[str, float]:
    mark = first_at(entry.raw, fields.score)
    value = None if mark is MISSING else number(mark)
    return entry.scores if value is None else {"score": value}


def _type(raw: Mapping[str, Any], paths: Sequence[str]) -> str | None:
    """A single "path" may be a type itself."""
    kind = first_at(raw, paths)
    if kind is MISSING and len(paths) == 1 and kind_of(paths[0]) is not None:
        return paths[0]
    return kind if isinstance(kind, str) and kind_of(kind) is not None else None


def _options(value: Any) -> Any:
    if value is MISSING or isinstance(value, str):
        return None
    if isinstance(value, Mapping) and isinstance(value.get("text"), list):
        texts, labels = value["text"], value.get("label")
        if not isinstance(labels, list) or len(labels) != len(texts):
            return texts
        return [{"label": str(label), "text": str(text)} for label, text in zip(labels, texts, strict=True)]
    return [text if isinstance(text, dict) else str(text) for text in value] if isinstance(value, list) else value


def _gold(value: Any, options: Any, parts: bool) -> Any:
    if isinstance(value, Mapping):
        inner = next((value[name] for name in ("text", "value", "answer", "normalized_value") if name in value), None)
        if inner is None:
            raise BadPair("its key is an object without text, value or answer: name the field with --gold")
        return _gold(inner, options, parts)
    if isinstance(value, list):
        keys = [_gold(listed, options, parts) for listed in dict.fromkeys(map(_hashable, value))]
        keys = [key for key in keys if str(key).strip()]
        if parts or len(keys) < 2:
            return keys if parts and keys else (keys[0] if keys else "")
        return ANY_OF.join(map(str, keys))
    if (
        isinstance(value, int)
        and not isinstance(value, bool)
        and isinstance(options, list)
        and 0 <= value < len(options)
    ):
        texts = [listed.get("text") if isinstance(listed, dict) else listed for listed in options]
        if str(value) not in texts:
            return chr(65 + value) if not isinstance(options[value], dict) else options[value].get("label", value)
    return value


def _hashable(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool) else json.dumps(value, default=str)
