"""A run is a folder; this module is the only one that knows its files.

    run.json            what was run, on which data, with which versions (`RunSpec`)
    questions.jsonl     the questions of the run with their keys, pictures by hash only
    responses-N.jsonl   one `Response` a line; never more than one a key
    failures-N.jsonl    one `Failure` a line: requests to send again; void once the key has a response
    verdicts-N.jsonl    one `Verdict` a line; only those of the judges named in run.json count
    sessions-N.jsonl    when which engine was up, and what memory it held (`core.sessions`)
    report.json, report.html

Contract: a folder is opened with the spec of the command at hand. A new folder takes it; an old one refuses a
spec that differs in anything that could change an answer or a mark, and says what differs.
"""

from __future__ import annotations

import datetime
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from livek12 import __version__
from livek12.core.errors import UserError
from livek12.core.journal import JournalWriter, read_journal, write_atomically
from livek12.core.journal_index import Index
from livek12.core.keys import KeySet
from livek12.core.records import (
    RECORD_VERSION,
    Failure,
    Image,
    Key,
    Question,
    Record,
    Response,
    Sampling,
    Verdict,
)
from livek12.core.scoring import Row

UNMARKED = "none"
"""The judge of a response that nobody has marked yet."""
OPERATIONAL_ARGS = frozenset(
    {"base_url", "api_key", "concurrency", "timeout", "max_retries", "backoff", "window", "batch_size"}
    | {"replicas", "ray", "gpus", "cpus"}
)
"""Engine arguments that say how requests travel, not what the model answers; they may change on resuming."""


class TaskSpec(Record):
    """One task of a run: its versions, and a hash of the very questions it asks."""

    name: str
    version: int
    modality: str
    prompt_sha256: str
    data: str
    data_sha256: str
    questions: int
    sampling: Sampling


class RunSpec(Record):
    """What a run is. Two commands with equal specs (apart from what `differences` passes over) are one run."""

    record_version: int = RECORD_VERSION
    package_version: str = __version__
    started_at: str = Field(default_factory=lambda: datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"))
    model: str
    model_revision: str | None = None
    engine: str
    engine_args: dict[str, Any] = {}
    engine_versions: dict[str, str] = {}
    tasks: list[TaskSpec]
    trials: int = 1
    limit: int | None = None
    judges: dict[str, str] = {}
    questions_sha256: str | None = None


class RunQuestion(Record):
    """A line of questions.jsonl."""

    task: str
    question: Question


class RunFolder:
    """Reads and writes the files of one run."""

    def __init__(self, path: Path, on_problem: Callable[[str], None] | None = None) -> None:
        self.path = path
        self._on_problem = on_problem
        self._questions: dict[str, list[Question]] | None = None  # read once: they never change

    @classmethod
    def create_or_resume(
        cls,
        path: Path,
        spec: RunSpec,
        questions: dict[str, list[Question]],
        on_problem: Callable[[str], None] | None = None,
    ) -> RunFolder:
        """Makes the folder for the spec, or opens it if it was made for an equal one.

        Args:
            path: the folder; made where it is missing.
            spec: what the command at hand would run.
            questions: the questions of each task, kept in the folder so that marks can be traced.
            on_problem: told of damaged lines, one line each.

        Raises:
            UserError: the folder belongs to another run (says what differs), or cannot be written.
        """
        run = cls(path, on_problem)
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"{path}: cannot be made ({error.strerror}); choose another --out") from error
        if run._file("run.json").exists():
            different = differences(run.spec(), spec)
            if different:
                raise UserError(
                    f"{path}: holds another run: {'; '.join(different)}; choose a new --out, or repeat the "
                    "old command in its old environment to go on"
                )
        else:
            digest = run._write_questions(questions)
            run.write_spec(spec.model_copy(update={"questions_sha256": digest}))
        return run

    @classmethod
    def open(cls, path: Path, on_problem: Callable[[str], None] | None = None) -> RunFolder:
        """Opens a folder that must hold a run.

        Raises:
            UserError: no run.json, or one that this version cannot read.
        """
        run = cls(path, on_problem)
        run.spec()
        return run

    def spec(self) -> RunSpec:
        """The spec in run.json."""
        file = self._file("run.json")
        try:
            return RunSpec.model_validate_json(file.read_bytes())
        except FileNotFoundError as error:
            raise UserError(f"{self.path}: not a run folder (no run.json); make one with `livek12 run`") from error
        except (OSError, ValidationError, ValueError) as error:
            raise UserError(f"{file}: cannot be read: {str(error).splitlines()[0]}") from error

    def write_spec(self, spec: RunSpec) -> None:
        """Replaces run.json."""
        write_atomically(self._file("run.json"), spec.model_dump_json(indent=1) + "\n")

    def questions(self) -> dict[str, list[Question]]:
        """The questions of each task, in the order they are asked; pictures without bytes."""
        if self._questions is None:
            self._questions = self._read_questions()
        return self._questions

    def _read_questions(self) -> dict[str, list[Question]]:
        spec = self.spec()
        found: dict[str, list[Question]] = {task.name: [] for task in spec.tasks}
        file = self._file("questions.jsonl")
        try:
            content = file.read_bytes()
            for line in content.splitlines():
                item = RunQuestion.model_validate_json(line)
                found[item.task].append(item.question)
        except (OSError, ValueError, KeyError) as error:
            raise UserError(f"{file}: cannot be read: {str(error).splitlines()[0]}; start a new run") from error
        if spec.questions_sha256 not in (None, hashlib.sha256(content).hexdigest()):
            raise UserError(f"{file}: is not what the run began with; put the file back or start a new run")
        return found

    def writer(self, stem: str) -> JournalWriter:
        """A writer for `responses`, `failures` or `verdicts`."""
        return JournalWriter(self.path, stem)

    def responses(self) -> Iterator[Response]:
        """The responses to what the run asks, one a key: the first that was stored."""
        asks, seen = self._asks(), KeySet()
        for response in read_journal(self.path, "responses", Response, self._on_problem):
            if asks(response) and seen.add(response.key):
                yield response

    def _asks(self) -> Callable[[Response], bool]:
        """Whether a response is to something that the run asks; says so where it is not."""
        trials = self.spec().trials
        asked = {(task, question.id) for task, questions in self.questions().items() for question in questions}

        def asks(response: Response) -> bool:
            key = response.key
            if (key.task, key.question_id) in asked and 0 <= key.trial < trials:
                return True
            if self._on_problem:
                self._on_problem(f"{self.path}: a response to {key}, which this run does not ask, is passed over")
            return False

        return asks

    def answered(self) -> KeySet:
        """The keys that have a response."""
        return _keys(self.responses())

    def marked(self, counts: Callable[[Verdict], bool] = lambda _: True) -> KeySet:
        """The keys that have a verdict of the present judges on their response.

        Args:
            counts: which verdicts count; default all.
        """
        verdicts = self._verdicts()
        found = ((response, verdicts.find(response.key)) for response in self.responses())
        return _keys(r for r, verdict in found if verdict is not None and _fits(verdict, r) and counts(verdict))

    def failures(self) -> dict[str, Failure]:
        """The last failure of each key."""
        return {str(f.key): f for f in read_journal(self.path, "failures", Failure, self._on_problem)}

    def tries(self) -> Counter[str]:
        """How often each key has failed so far."""
        return Counter(str(f.key) for f in read_journal(self.path, "failures", Failure, self._on_problem))

    def verdicts(self) -> dict[str, Verdict]:
        """The verdicts of the judges named in run.json (one a task), one a key: the last that was stored."""
        present = self._present()
        verdicts = read_journal(self.path, "verdicts", Verdict, self._on_problem)
        return {str(verdict.key): verdict for verdict in verdicts if present(verdict)}

    def _present(self) -> Callable[[Verdict], bool]:
        judges = self.spec().judges
        return lambda verdict: verdict.judge == judges.get(verdict.key.task)

    def _verdicts(self) -> Index[Verdict]:
        """The same where there may be millions."""
        present, trials = self._present(), self.spec().trials
        return Index(self.path, "verdicts", Verdict, trials, present, on_problem=self._on_problem)

    def rows(self) -> Iterator[Row]:
        """One row for each question and trial of the run, whatever became of it; read as they are taken."""
        trials, told = self.spec().trials, self._on_problem
        responses = Index(self.path, "responses", Response, trials, self._asks(), first=True, on_problem=told)
        failures = Index(self.path, "failures", Failure, trials, on_problem=told)
        verdicts = self._verdicts()
        for task, questions in self.questions().items():
            for question in questions:
                for trial in range(trials):
                    key = Key(task=task, question_id=question.id, trial=trial)
                    yield _row(task, question, trial, responses.find(key), failures.find(key), verdicts.find(key))

    def _write_questions(self, questions: dict[str, list[Question]]) -> str:
        """Writes questions.jsonl; returns its hash."""
        lines = (
            RunQuestion(task=task, question=without_bytes(question)).model_dump_json()
            for task, asked in questions.items()
            for question in asked
        )
        text = "".join(line + "\n" for line in lines)
        write_atomically(self._file("questions.jsonl"), text)
        return hashlib.sha256(text.encode()).hexdigest()

    def _file(self, name: str) -> Path:
        return self.path / name


def differences(old: RunSpec, new: RunSpec) -> list[str]:
    """What keeps two specs from being one run, a phrase each.

    Passed over: the start time, the judge (verdicts carry theirs), operational engine arguments, and engine
    versions or a revision that one side does not know yet (they are known once the engine is up).
    """
    found: list[str] = []

    def check(name: str, was: Any, now: Any) -> None:
        if was != now:
            found.append(f"{name} was {was!r}, now {now!r}")

    for name in ("record_version", "package_version", "model", "engine", "trials", "limit"):
        check(name.replace("_", " "), getattr(old, name), getattr(new, name))
    if old.model_revision and new.model_revision:
        check("model revision", old.model_revision, new.model_revision)
    for arg in sorted({*old.engine_args, *new.engine_args} - OPERATIONAL_ARGS):
        check(f"engine argument {arg}", old.engine_args.get(arg), new.engine_args.get(arg))
    for library in sorted({*old.engine_versions} & {*new.engine_versions}):
        check(f"version of {library}", old.engine_versions[library], new.engine_versions[library])
    was_tasks, now_tasks = {t.name: t for t in old.tasks}, {t.name: t for t in new.tasks}
    check("tasks", sorted(was_tasks), sorted(now_tasks))
    for name in sorted({*was_tasks} & {*now_tasks}):
        was, now = was_tasks[name], now_tasks[name]
        for field in ("version", "prompt_sha256", "data_sha256", "sampling"):
            check(f"{field.replace('_sha256', '')} of {name}", _short(was, field), _short(now, field))
    return found


def _keys(responses: Iterable[Response]) -> KeySet:
    keys = KeySet()
    for response in responses:
        keys.add(response.key)
    return keys


def without_bytes(question: Question) -> Question:
    """The question with each picture replaced by its hash (as `path`)."""

    def names(images: Iterable[Image]) -> list[Image]:
        return [Image(path=image.sha256 if image.bytes is not None else image.path) for image in images]

    return question.model_copy(
        update={name: names(getattr(question, name)) for name in ("images", "answer_images", "solution_images")}
    )


def _row(
    task: str,
    question: Question,
    trial: int,
    response: Response | None,
    failure: Failure | None,
    verdict: Verdict | None,
) -> Row:
    if response is None:
        if failure is None:
            return Row(task, question, trial, "failed", None, None, "not asked yet")
        return Row(task, question, trial, failure.state, None, None, failure.reason)
    if verdict is None or not _fits(verdict, response):
        verdict = _unmarked(question, response)
    return Row(task, question, trial, verdict.state, response, verdict)


def _fits(verdict: Verdict | None, response: Response) -> bool:
    """Whether the verdict is on this very response."""
    return verdict is not None and verdict.response_sha256 in (None, response.sha256)


def _unmarked(question: Question, response: Response) -> Verdict:
    """Stands for the verdict of a response that no judge has seen yet."""
    worth = question.points or 1.0
    reason = "not judged yet"
    return Verdict(
        key=response.key,
        state="ungraded",
        points=None,
        low=0.0,
        high=worth,
        max_points=worth,
        correct=None,
        reason=reason,
        judge=UNMARKED,
    )


def _short(task: TaskSpec, field: str) -> str:
    value = getattr(task, field)
    return value[:12] if field.endswith("_sha256") else str(value)
