"""A run is a folder; this module is the only one that knows its files.

    run.json            what was run, on which data, with which versions (`core.run.spec`)
    questions.jsonl     the questions of the run with their keys, pictures by hash only
    responses-N.jsonl   one `Response` a line; never more than one a key
    earlier-N.jsonl     replies to requests before those on questions, as responses; a run that goes on finds them here
    failures-N.jsonl    one `Failure` a line: requests to send again; void once the key has a response
    verdicts-N.jsonl    one `Verdict` a line; of several on one answer one counts (`core.run.markings`)
    repeats-N.jsonl     one `Verdict` a line, of judges that were asked once more; none of them makes a mark
    regrades.jsonl      marks that people set in place of the judges' (`core.run.markings`)
    sessions-N.jsonl    when which engine was up, and what memory it held (`core.run.sessions`)
    report.json, report.html

Contract: a folder is opened with the spec of the command at hand. A new folder takes it, and so does one that holds no
response while nobody is at work in it; any other refuses a spec that differs in anything that could change an answer or
a mark, and says what differs. Of several commands that begin at once one makes the folder (`core.run.access`). A
response of another model than the run's, or to what it does not ask, never counts.
"""

from __future__ import annotations

import hashlib
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from livek12.core.errors import UserError, why
from livek12.core.files import write_atomically
from livek12.core.light import ResponseHead
from livek12.core.records import (
    Failure,
    Image,
    Key,
    Question,
    Record,
    Response,
    State,
    Verdict,
)
from livek12.core.rows import Row
from livek12.core.run.access import Fence, check_links, has_responses, in_use, make_folder, settling, take_part
from livek12.core.run.journal import Index, JournalWriter, journal_files, journal_lines, read_journal
from livek12.core.run.keys import AnsweredKeys, Expected, KeySet
from livek12.core.run.locks import close_own
from livek12.core.run.markings import REGRADES, counts_over, in_words
from livek12.core.run.spec import RunSpec, check_size, differences, read_spec
from livek12.core.run_rows import fits, row_of

QUESTIONS = "questions.jsonl"


class RunQuestion(Record):
    """A line of questions.jsonl."""

    task: str
    question: Question


class _Named(BaseModel):
    id: str


class _QuestionHead(BaseModel):
    """Of a line of questions.jsonl, what names the question; the rest is not looked at."""

    task: str
    question: _Named


Q = TypeVar("Q", RunQuestion, _QuestionHead)


class RunFolder:
    """Reads and writes the files of one run."""

    def __init__(self, path: Path, on_problem: Callable[[str], None] | None = None) -> None:
        self.path = path
        self.on_problem = on_problem
        self._questions: dict[str, list[Question]] | None = None  # read once: they never change
        self._asked: dict[tuple[str, str], int] | None = None  # the same
        self._answered: AnsweredKeys | None = None
        self._own: RunSpec | None = None
        self._part: Callable[[], object] | None = None

    @classmethod
    def create_or_resume(
        cls,
        path: Path,
        spec: RunSpec,
        questions: Mapping[str, Iterable[Question]],
        on_problem: Callable[[str], None] | None = None,
    ) -> RunFolder:
        """Makes the folder for the spec, or opens it if it was made for an equal one.

        A folder that was made for another one takes this one if it holds no response and nobody is at work in it.
        Nobody else can give it to a third one for as long as what is returned here lives and has not left.

        Args:
            path: the folder; made where it is missing.
            spec: what the command at hand would run.
            questions: the questions of each task, kept in the folder so that marks can be traced.
            on_problem: told of damaged lines, one line each, and of another run that gave way.

        Raises:
            UserError: the folder belongs to another run (says what differs), is none of a run, or cannot be written.
        """
        run = cls(path, on_problem)
        make_folder(path)
        with settling(path) as fence:
            if not run._file("run.json").exists():
                run._begin(spec, questions, fence)
            elif different := "; ".join(differences(found := run.spec(), spec)):
                run._take_over(different, fence)
                run._begin(spec, questions, fence)
            elif on_problem and found.package_version != spec.package_version:
                on_problem(f"{path}: begun by livek12 {found.package_version}, goes on with {spec.package_version}")
            run._part = weakref.finalize(run, close_own, take_part(path))
        run._own = spec
        return run

    def leave(self) -> None:
        """Takes no part in the run any more, however long this object, kept by a traceback perhaps, still lives."""
        if self._part is not None:
            self._part()

    def _begin(self, spec: RunSpec, questions: Mapping[str, Iterable[Question]], fence: Fence) -> None:
        digest = self._write_questions(questions, fence)
        try:
            self._write_spec(spec.model_copy(update={"questions_sha256": digest}), fence, new=True)
        except FileExistsError:
            raise UserError(f"{self.path}: another command began a run here meanwhile; run yours again") from None

    def _take_over(self, different: str, fence: Fence) -> None:
        """Clears away what another run left that came to nothing.

        Raises:
            UserError: it did come to something, or is about to.
        """
        busy = in_use(self.path)  # first: who is at work may store a response and leave while we look
        if has_responses(self.path):
            raise UserError(
                f"{self.path}: holds another run: {different}; choose a new --out, or repeat the "
                "old command in its old environment to go on"
            )
        if busy:
            raise UserError(
                f"{self.path}: another command is at work on another run here: {different}; choose a new --out, or wait"
            )
        fence()
        left = [file for stem in ("failures", "earlier") for file in journal_files(self.path, stem)]
        for file in (self._file("run.json"), *left):
            file.unlink()
        if self.on_problem:
            self.on_problem(f"{self.path}: held a run without any response, which gives way to this one: {different}")

    @classmethod
    def open(cls, path: Path, on_problem: Callable[[str], None] | None = None) -> RunFolder:
        """Opens a folder that must hold a run.

        Raises:
            UserError: no run.json, or one that this version cannot read, or one of its files is a link.
        """
        run = cls(path, on_problem)
        check_links(path)
        run.spec()
        return run

    def spec(self) -> RunSpec:
        """The spec in run.json.

        Raises:
            UserError: it is missing or damaged, or of a later version than this one, or no longer that of this command.
        """
        file = self._file("run.json")
        try:
            found = read_spec(self.path, file.read_bytes())
        except (FileNotFoundError, NotADirectoryError) as error:
            what = "a data set, not a run folder" if (self.path / "statistics.json").is_file() else "not a run folder"
            raise UserError(f"{self.path}: {what} (no run.json); make one with `livek12 run`") from error
        except (OSError, ValidationError, ValueError) as error:
            raise UserError(f"{file}: cannot be read: {why(error)}") from error
        if self._own is not None and (different := differences(self._own, found)):
            raise UserError(f"{file}: was made that of another run meanwhile: {'; '.join(different)}")
        return found

    def amend(self, **changes: Any) -> None:
        """Writes some fields of run.json anew; the others stand, whoever wrote them last."""
        with settling(self.path) as fence:
            self._write_spec(self.spec().model_copy(update=changes), fence)

    def _write_spec(self, spec: RunSpec, fence: Fence, new: bool = False) -> None:
        write_atomically(self._file("run.json"), spec.model_dump_json(indent=1) + "\n", new=new, before=fence)

    def questions(self) -> dict[str, list[Question]]:
        """The questions of each task, in the order they are asked; pictures without bytes."""
        if self._questions is None:
            found: dict[str, list[Question]] = {task.name: [] for task in self.spec().tasks}
            for task, question in self.each_question():
                found[task].append(question)
            self._questions = found
        return self._questions

    def each_question(self) -> Iterator[tuple[str, Question]]:
        """Each question with its task, in the order they are asked; read as they are taken, and not kept.

        Raises:
            UserError: the file cannot be read; or, at its end, it is not what the run began with.
        """
        return ((item.task, item.question) for item, _ in self._question_lines(RunQuestion))

    def asked(self) -> Mapping[tuple[str, str], int]:
        """Of the task and id of each question, where its line begins in questions.jsonl; raises as `each_question`."""
        if self._asked is None:
            found = self._question_lines(_QuestionHead)
            self._asked = {(item.task, item.question.id): place for item, place in found}
        return self._asked

    def _question_lines(self, model: type[Q]) -> Iterator[tuple[Q, int]]:
        """The lines of questions.jsonl, as much of each as a model takes, with their places."""
        spec, file, digest, place = self.spec(), self._file(QUESTIONS), hashlib.sha256(), 0
        tasks = {task.name for task in spec.tasks}
        try:
            with file.open("rb") as lines:
                for number, line in enumerate(lines, 1):
                    digest.update(line)
                    check_size(number, spec.trials)
                    item = model.model_validate_json(line)
                    if item.task not in tasks:
                        raise ValueError(f"{item.task!r:.80} is no task of the run")
                    yield item, place
                    place += len(line)
        except (OSError, ValueError) as error:
            raise UserError(f"{file}: cannot be read: {why(error)}; start a new run") from error
        if spec.questions_sha256 not in (None, digest.hexdigest()):
            raise UserError(f"{file}: is not what the run began with; put the file back or start a new run")

    def writer(self, stem: str) -> JournalWriter:
        """A writer for `responses`, `earlier`, `failures`, `verdicts` or `repeats`."""
        return JournalWriter(self.path, stem)

    def responses(self) -> Iterator[Response]:
        """The responses to what the run asks, one a key: the first that was stored."""
        expected, seen = self.expected(), KeySet()
        for response in read_journal(self.path, "responses", Response, self.on_problem):
            if expected(response) and seen.add(response.key):
                yield response
        expected.tell()

    def response_lines(self) -> Iterator[tuple[str, bytes]]:
        """The same, each as its key and the line that holds it; damaged lines are passed over in silence."""
        expected, seen = self.expected(), KeySet()
        for line in journal_lines(self.path, "responses"):
            with suppress(ValueError):
                head = ResponseHead.model_validate_json(line)
                if expected(head) and seen.add(head.key):
                    yield str(head.key), line

    def expected(self) -> Expected:
        """Whether a response is one of this run."""
        spec = self.spec()
        return Expected(self.path, spec.model, self.asked().keys(), spec.trials, self.on_problem)

    def answered(self) -> KeySet:
        """The keys that have a response as of now; the same set each time, for which only what is new is read."""
        self._answered = self._answered or self.follow()
        return self._answered()

    def follow(self) -> AnsweredKeys:
        """The same for who looks more than once: each look reads what is new."""
        return AnsweredKeys(self.path, self.expected(), self.on_problem)

    def earlier(self) -> Iterator[Response]:
        """The replies to requests before those on questions, by the keys of the latter."""
        yield from read_journal(self.path, "earlier", Response, self.on_problem)

    def begin_marking(self, judges: dict[str, str], words: dict[str, str], marking: int) -> None:
        """Notes who marks from now on.

        Args:
            judges: version of each task's judges.
            words: who they are, by version.
            marking: its number (see `core.run.markings`).
        """
        with settling(self.path) as fence:
            spec = self.spec()
            before = spec.judged_by or {version: in_words(version) for version in spec.judges.values()}
            by = {version: said for version, said in before.items() if version not in words} | words
            marking = max(marking, spec.marking)
            self._write_spec(spec.model_copy(update={"judges": judges, "judged_by": by, "marking": marking}), fence)

    def judged(self, among: Callable[[Verdict], bool] | None = None) -> Iterator[tuple[Response, Verdict]]:
        """The responses that have a verdict, with the one that counts.

        Args:
            among: which verdicts are looked at; None: all.
        """
        verdicts = self._verdicts(among)
        for response in self.responses():
            verdict = verdicts.find(response.key)
            if verdict is not None and fits(verdict, response):
                yield response, verdict

    def repeats(self) -> Iterator[Verdict]:
        """What judges said when they were asked once more, as it is stored; the caller looks what it belongs to."""
        yield from read_journal(self.path, "repeats", Verdict, self.on_problem)

    def failures(self) -> dict[str, Failure]:
        """The last failure of each key."""
        return {str(f.key): f for f in read_journal(self.path, "failures", Failure, self.on_problem)}

    def tries(self) -> Counter[str]:
        """How often each key has failed so far."""
        return Counter(str(f.key) for f in read_journal(self.path, "failures", Failure, self.on_problem))

    def verdicts(self) -> dict[str, Verdict]:
        """The verdict that counts of each key."""
        known, found = self.spec().known_judges, dict[str, Verdict]()
        for verdict in read_journal(self.path, "verdicts", Verdict, self.on_problem):
            before = found.get(str(verdict.key))
            if before is None or counts_over(verdict, before, known):
                found[str(verdict.key)] = verdict
        return found

    def _verdicts(self, among: Callable[[Verdict], bool] | None = None, texts: bool = True) -> Index[Verdict]:
        """The same where there may be millions."""
        spec = self.spec()
        wins = partial(counts_over, known=spec.known_judges)
        told = self.on_problem
        return Index(self.path, "verdicts", Verdict, spec.trials, wanted=among, wins=wins, on_problem=told, texts=texts)

    def rows(self, texts: bool = True) -> Iterator[Row]:
        """One row for each question and trial of the run, whatever became of it; read as they are taken.

        Marks are those of the judges, save where people set others (`core.run.markings`).

        Args:
            texts: false where nobody looks at a text, thinking, or the words of a verdict: then those that are packed
                are not read (`core.light`).
        """
        from livek12.core.run.markings import read_regrades, regraded  # whose records take a while to be made

        said = read_regrades(self.path, self.on_problem)
        rows = self.judged_rows(texts)
        return regraded(rows, said, self.on_problem) if said else rows

    def judged_rows(self, texts: bool = True) -> Iterator[Row]:
        """The same with the marks of the judges alone, for whoever asks how good these are."""
        trials, told = self.spec().trials, self.on_problem
        expected = self.expected()
        responses = Index(
            self.path, "responses", Response, trials, named=expected, wins=_first, on_problem=told, texts=texts
        )
        expected.tell()
        failures = Index(self.path, "failures", Failure, trials, on_problem=told)
        verdicts = self._verdicts(texts=texts)
        for task, question in self.each_question():
            for trial in range(trials):
                key = Key(task=task, question_id=question.id, trial=trial)
                yield row_of(task, question, trial, responses.find(key), failures.find(key), verdicts.find(key))

    def _write_questions(self, questions: Mapping[str, Iterable[Question]], fence: Fence) -> str:
        """Writes questions.jsonl; returns its hash."""
        digest = hashlib.sha256()

        def lines() -> Iterator[str]:
            for task, asked in questions.items():
                for question in asked:
                    line = RunQuestion(task=task, question=without_bytes(question)).model_dump_json() + "\n"
                    digest.update(line.encode())
                    yield line

        write_atomically(self._file(QUESTIONS), lines(), before=fence)
        return digest.hexdigest()

    def _file(self, name: str) -> Path:
        return self.path / name


def _first(new: Record, old: Record) -> bool:
    return False


def keys_of(responses: Iterable[Response]) -> KeySet:
    """The keys of responses."""
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


class _Head(Record, extra="ignore"):
    """Of a verdict, what it is on and what came of it; the rest of its line is not looked at."""

    key: Key
    state: State


def states(run: RunFolder) -> dict[State, int]:
    """How many there are of each state, in the order of `State`.

    Raises:
        UserError: a file of the run cannot be read.
    """
    found = _by_heads(run) or Counter(row.state for row in run.rows())
    return {state: found[state] for state in get_args(State)}


def _by_heads(run: RunFolder) -> Counter[State] | None:
    """The same, if one verdict on each answer is all that there is."""
    if (run.path / REGRADES).exists():
        return None
    found, answered, marked = Counter[State](), run.answered(), KeySet()
    for verdict in read_journal(run.path, "verdicts", _Head):
        if not marked.add(verdict.key) or str(verdict.key) not in answered:
            return None
        found[verdict.state] += 1
    if len(marked) != len(answered):
        return None
    asked, trials = run.asked(), run.spec().trials
    left = len(asked) * trials - len(answered)
    for failure in run.failures().values() if left else ():
        key = failure.key
        if (key.task, key.question_id) in asked and 0 <= key.trial < trials and str(key) not in answered:
            found[failure.state] += 1
            left -= 1
    found["failed"] += left
    return found
