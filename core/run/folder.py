"""Run folders: the only module that knows their files.

    run.json            model, data and versions (`core.run.spec`)
    questions.jsonl     the questions with their keys, pictures by hash only; of an adaptive run those asked so far
    bank.json           the item bank of an adaptive run (`core.scoring.bank`)
    responses-N.jsonl   one `Response` a line; never more than one a key
    earlier-N.jsonl     replies to the requests before a question's own, kept for resuming
    failures-N.jsonl    one `Failure` a line: requests to send again; void once the key has a response
    verdicts-N.jsonl    one `Verdict` a line; of several on one answer one counts (`core.run.markings`)
    repeats-N.jsonl     one `Verdict` a line, of repeated judging; none of them makes a mark
    regrades.jsonl      marks set by people (`core.run.markings`)
    keys.jsonl          keys that came or changed since the run began (`core.key_versions`)
    criteria.jsonl      wordings of criteria that people mended (`core.run.markings`)
    sessions-N.jsonl    engine times and memory (`core.run.sessions`)
    batches/            requests sent by batches, and their state (`engines.batch.ledger`)
    exams.json          the exams of its questions (`core.exams`), with the scales that people have
    report.json, report.html

Contract: a new folder takes the spec of the current command, and so does one that holds no response while no process
works in it; any other refuses a spec that differs in anything that could change an answer or a mark. A response of
another model, or to a question outside the run, never counts.
"""

from __future__ import annotations

import hashlib
import weakref
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from livek12.core.errors import UserError, explain_errors, why
from livek12.core.files import remove_files, write_atomically
from livek12.core.key_versions import KEYS_FILE, KeyBook, read_keys
from livek12.core.records import (
    Failure,
    Image,
    Key,
    Question,
    Record,
    Response,
    Row,
    State,
    Verdict,
    canonical_json,
    fits,
    row_of,
)
from livek12.core.run.access import Fence, check_links, has_responses, in_use, make_folder, settling, take_part
from livek12.core.run.journal import (
    AnsweredKeys,
    Expected,
    Index,
    JournalWriter,
    KeySet,
    ResponseHead,
    journal_files,
    journal_lines,
    read_journal,
)
from livek12.core.run.locks import close_own
from livek12.core.run.markings import REGRADES, counts_over, in_words, read_regrades, regraded
from livek12.core.run.spec import RunSpec, check_size, current_version, differences, read_spec
from livek12.core.run.sums import sums_path, write_summed
from livek12.core.store import Store

QUESTIONS = "questions.jsonl"
HARNESS_MARKS = "harness.jsonl"
"""The marks of the harness whose log a run was made of."""
LABEL_PLAN = "label-plan.jsonl"
"""The answers that people should label."""


class QuestionChoice(Record):
    """Reason why an adaptive run asked a question: in which batch, its information in bits, the ability known then."""

    batch: int
    information: float
    area: str
    ability: float
    error: float


class RunQuestion(Record):
    """Line of questions.jsonl."""

    task: str
    question: Question
    why: QuestionChoice | None = None

    @property
    def line(self) -> str:
        """Text of the line."""
        return self.model_dump_json(exclude=None if self.why else {"why"}) + "\n"


class _Named(BaseModel):
    id: str


class _QuestionHead(BaseModel):
    task: str
    question: _Named


Q = TypeVar("Q", RunQuestion, _QuestionHead)


class RunFolder:
    """Reads and writes the files of one run."""

    def __init__(self, path: Path, on_problem: Callable[[str], None] | None = None) -> None:
        self.path = path
        self.on_problem = on_problem
        self._questions: dict[str, list[Question]] | None = None  # read once: only `take_keys` changes them
        self._book: KeyBook | None = None  # the same
        self._asked: dict[tuple[str, str], int] | None = None  # the same
        self._answered: AnsweredKeys | None = None
        self._own: RunSpec | None = None
        self._part: Callable[[], object] | None = None

    @classmethod
    def create_or_resume(
        cls,
        path: Path,
        spec: RunSpec,
        questions: Mapping[str, Iterable[Question]] | bytes,
        on_problem: Callable[[str], None] | None = None,
    ) -> RunFolder:
        """Makes the folder for the spec, or opens one made for an equal spec.

        `questions` are by task, or the questions.jsonl of another folder. A folder of another run takes this one if it
        holds no response and is not in use. No third run can take it until `leave`. `on_problem` receives one line for
        each damaged line, and for another run that gave way.
        """
        run = cls(path, on_problem)
        make_folder(path)
        with settling(path) as fence:
            if not run._file("run.json").exists():
                run._begin(spec, questions, fence)
            elif different := "; ".join(differences(before := run.spec(), spec)):
                run._take_over(different, fence)
                run._begin(spec, questions, fence)
            else:
                if on_problem and before.package_version != spec.package_version:
                    on_problem(
                        f"{path}: begun by livek12 {before.package_version}, goes on with {spec.package_version}"
                    )
                now = before.model_copy(
                    update={"record_version": current_version(before), "name": spec.name or before.name}
                )
                if now != before:
                    run._write_spec(now, fence)
            run._part = weakref.finalize(run, close_own, take_part(path))
        run._own = spec
        with closing(Store("runs")) as store:
            store.put(run._origin(), "")
        return run

    def made_here(self) -> bool:
        """True if this machine began or resumed it, with its named data."""
        with closing(Store("runs")) as store:
            return store.get(self._origin()) is not None

    def _origin(self) -> str:
        spec = self.spec()
        places = [task.data for task in spec.tasks]
        return canonical_json([spec.identity, spec.questions_sha256, spec.started_at, places])

    def leave(self) -> None:
        """Leaves the run."""
        if self._part is not None:
            self._part()

    def _begin(self, spec: RunSpec, questions: Mapping[str, Iterable[Question]] | bytes, fence: Fence) -> None:
        digest = self._write_questions(questions, fence)
        try:
            digest_noted = None if spec.adaptive else digest  # their questions are added batch by batch
            self._write_spec(spec.model_copy(update={"questions_sha256": digest_noted}), fence, new=True)
        except FileExistsError:
            raise UserError(f"{self.path}: another command began a run here meanwhile; run yours again") from None

    def _take_over(self, different: str, fence: Fence) -> None:
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
        files = [file for stem in ("failures", "earlier") for file in journal_files(self.path, stem)]
        names = ["run.json", *(file.name for file in files)]
        remove_files(self.path, [*names, *(sums_path(Path(name)).name for name in names)])
        if self.on_problem:
            self.on_problem(f"{self.path}: held a run without any response, which gives way to this one: {different}")

    @classmethod
    def open(cls, path: Path, on_problem: Callable[[str], None] | None = None) -> RunFolder:
        """Opens a folder that must hold a run."""
        run = cls(path, on_problem)
        check_links(path)
        run.spec()
        return run

    def spec(self) -> RunSpec:
        """Spec in run.json."""
        file = self._file("run.json")
        try:
            spec = read_spec(self.path, file.read_bytes())
        except (FileNotFoundError, NotADirectoryError) as error:
            what = "a data set, not a run folder" if (self.path / "statistics.json").is_file() else "not a run folder"
            raise UserError(f"{self.path}: {what} (no run.json); make one with `livek12 run`") from error
        except (OSError, ValidationError, ValueError) as error:
            raise UserError(f"{file}: cannot be read: {why(error)}") from error
        if self._own is not None and (different := differences(self._own, spec)):
            raise UserError(f"{file}: was made that of another run meanwhile: {'; '.join(different)}")
        return spec

    def amend(self, **changes: Any) -> None:
        """Changes some fields of run.json; the others keep what is on disk."""
        with settling(self.path) as fence:
            self._write_spec(self.spec().model_copy(update=changes), fence)

    def _write_spec(self, spec: RunSpec, fence: Fence, new: bool = False) -> None:
        write_summed(self._file("run.json"), spec.model_dump_json(indent=1) + "\n", new=new, before=fence)

    def questions(self) -> dict[str, list[Question]]:
        """Questions by task in run order; pictures without bytes."""
        if self._questions is None:
            by_task: dict[str, list[Question]] = {task.name: [] for task in self.spec().tasks}
            for task, question in self.each_question():
                by_task[task].append(question)
            self._questions = by_task
        return self._questions

    def each_question(self) -> Iterator[tuple[str, Question]]:
        """Streams each question with its task and newest key, in run order."""
        newest = self.key_book().newest
        return ((item.task, newest(item.question)) for item, _ in self._question_lines(RunQuestion))

    def choices(self) -> list[RunQuestion]:
        """Lines of questions.jsonl."""
        return [item for item, _ in self._question_lines(RunQuestion)]

    def ask_further(self, chosen: Iterable[RunQuestion]) -> None:
        """Adds questions to an adaptive run."""
        with settling(self.path) as fence:
            lines = [*self.choices(), *chosen]
            write_summed(self._file(QUESTIONS), "".join(item.line for item in lines), before=fence)
            spec = self.spec()
            tasks = [task.model_copy(update={"questions": len(lines)}) for task in spec.tasks]
            self._write_spec(spec.model_copy(update={"tasks": tasks}), fence)
        self._questions, self._asked, self._answered = None, None, None

    def key_book(self) -> KeyBook:
        """Key versions of the run."""
        if self._book is None:
            self._book = read_keys(self.path)
        return self._book

    def take_keys(self, book: KeyBook) -> bool:
        """Takes over newer key versions of the dataset; false without any."""
        own = read_keys(self.path)
        if own.extends(book):
            return False
        if not book.extends(own):
            raise UserError(f"{self.path / KEYS_FILE}: other key versions than those of its data set; start a new run")
        with settling(self.path) as fence:
            write_summed(self._file(KEYS_FILE), book.text, before=fence)
        self._book, self._questions = None, None
        return True

    def asked(self) -> Mapping[tuple[str, str], int]:
        """Line in questions.jsonl by task and id."""
        if self._asked is None:
            heads = self._question_lines(_QuestionHead)
            self._asked = {(item.task, item.question.id): place for item, place in heads}
        return self._asked

    def _question_lines(self, model: type[Q]) -> Iterator[tuple[Q, int]]:
        spec, file, digest, place = self.spec(), self._file(QUESTIONS), hashlib.sha256(), 0
        tasks = {task.name for task in spec.tasks}
        with explain_errors(f"{file}: cannot be read:", "; start a new run", ValueError), file.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                digest.update(line)
                check_size(number, spec.trials)
                item = model.model_validate_json(line)
                if item.task not in tasks:
                    raise ValueError(f"{item.task!r:.80} is no task of the run")
                yield item, place
                place += len(line)
        if spec.questions_sha256 not in (None, digest.hexdigest()):
            raise UserError(f"{file}: is not what the run began with; put the file back or start a new run")

    def writer(self, stem: str) -> JournalWriter:
        """Writer for a stem: `responses`, `earlier`, `failures`, `verdicts` or `repeats`."""
        return JournalWriter(self.path, stem, summed=True)

    def responses(self) -> Iterator[Response]:
        """Responses of the run, one a key: the first that was stored."""
        expected, seen = self.expected(), KeySet()
        for response in read_journal(self.path, "responses", Response, self.on_problem):
            if expected(response) and seen.add(response.key):
                yield response
        expected.tell()

    def response_lines(self) -> Iterator[tuple[str, bytes]]:
        """Key and raw line of each response; damaged lines are skipped silently."""
        expected, seen = self.expected(), KeySet()
        for line in journal_lines(self.path, "responses"):
            with suppress(ValueError):
                head = ResponseHead.model_validate_json(line)
                if expected(head) and seen.add(head.key):
                    yield str(head.key), line

    def expected(self, questions: Collection[tuple[str, str]] | None = None) -> Expected:
        """Filter for responses of this run, or of some of its questions."""
        spec, on_problem = self.spec(), self.on_problem if questions is None else None
        return Expected(self.path, spec.model, spec.identity, questions or self.asked().keys(), spec.trials, on_problem)

    def answered(self) -> KeySet:
        """Answered keys; one set that grows with new lines."""
        self._answered = self._answered or self.follow()
        return self._answered()

    def follow(self) -> AnsweredKeys:
        """Set of answered keys for repeated looks."""
        return AnsweredKeys(self.path, self.expected(), self.on_problem)

    def earlier(self) -> Iterator[Response]:
        """Replies to earlier requests, by the keys of the questions they precede."""
        yield from read_journal(self.path, "earlier", Response, self.on_problem)

    def begin_marking(self, judges: dict[str, str], words: dict[str, str], marking: int) -> None:
        """Records a marking in run.json: version of each task's judges, and descriptions."""
        with settling(self.path) as fence:
            spec = self.spec()
            before = spec.judged_by or {version: in_words(version) for version in spec.judges.values()}
            by = {version: text for version, text in before.items() if version not in words} | words
            marking = max(marking, spec.marking)
            self._write_spec(spec.model_copy(update={"judges": judges, "judged_by": by, "marking": marking}), fence)

    def judged(self, among: Callable[[Verdict], bool] | None = None) -> Iterator[tuple[Response, Verdict]]:
        """Responses with a verdict, and the verdict that counts."""
        verdicts = self._verdicts(among)
        for response in self.responses():
            verdict = verdicts.find(response.key)
            if verdict is not None and fits(verdict, response):
                yield response, verdict

    def repeats(self) -> Iterator[Verdict]:
        """Stored verdicts of repeated judging, unfiltered."""
        yield from read_journal(self.path, "repeats", Verdict, self.on_problem)

    def failures(self) -> dict[str, Failure]:
        """Last failure of each key."""
        return {str(f.key): f for f in read_journal(self.path, "failures", Failure, self.on_problem)}

    def tries(self) -> Counter[str]:
        """Number of failures of each key."""
        return Counter(str(f.key) for f in read_journal(self.path, "failures", Failure, self.on_problem))

    def verdicts(self) -> dict[str, Verdict]:
        """Verdict that counts of each key."""
        judges, best, own = self.spec().known_judges, dict[str, Verdict](), self._by_these_keys(None)
        for verdict in read_journal(self.path, "verdicts", Verdict, self.on_problem):
            if own is not None and not own(verdict):
                continue
            before = best.get(str(verdict.key))
            if before is None or counts_over(verdict, before, judges):
                best[str(verdict.key)] = verdict
        return best

    def _by_these_keys(self, among: Callable[[Verdict], bool] | None) -> Callable[[Verdict], bool] | None:
        book = self.key_book()
        if not book.versions:
            return among
        number = book.number
        return lambda verdict: verdict.keys == number(verdict.key.question_id) and (among is None or among(verdict))

    def _verdicts(
        self,
        among: Callable[[Verdict], bool] | None = None,
        texts: bool = True,
        questions: Collection[tuple[str, str]] | None = None,
    ) -> Index[Verdict]:
        spec = self.spec()
        return Index(
            self.path,
            "verdicts",
            Verdict,
            spec.trials,
            wanted=self._by_these_keys(among),
            wins=partial(counts_over, known=spec.known_judges),
            on_problem=self.on_problem if questions is None else None,
            texts=texts,
            questions=questions,
        )

    def rows(self, texts: bool = True, questions: Collection[tuple[str, str]] | None = None) -> Iterator[Row]:
        """Streams one row for each question and trial, with people's marks in place of the judges'.

        `texts` false: no text, thinking or verdict reason is needed, and packed ones are not read.
        """
        regrades = read_regrades(self.path, self.on_problem)
        rows = self.judged_rows(texts, questions)
        return regraded(rows, regrades, self.on_problem if questions is None else None) if regrades else rows

    def judged_rows(self, texts: bool = True, questions: Collection[tuple[str, str]] | None = None) -> Iterator[Row]:
        """Rows with the judges' marks alone."""
        trials, on_problem = self.spec().trials, self.on_problem if questions is None else None
        expected = self.expected(questions)
        responses = Index(
            self.path,
            "responses",
            Response,
            trials,
            named=expected,
            wins=_first,
            on_problem=on_problem,
            texts=texts,
            questions=questions,
        )
        expected.tell()
        failures = Index(self.path, "failures", Failure, trials, on_problem=on_problem)
        verdicts = self._verdicts(texts=texts, questions=questions)
        for task, question in self.each_question():
            for trial in range(trials) if questions is None or (task, question.id) in questions else ():
                key = Key(task=task, question_id=question.id, trial=trial)
                yield row_of(task, question, trial, responses.find(key), failures.find(key), verdicts.find(key))

    def _write_questions(self, questions: Mapping[str, Iterable[Question]] | bytes, fence: Fence) -> str:
        digest = hashlib.sha256()

        def lines() -> Iterator[bytes]:
            for line in [questions] if isinstance(questions, bytes) else _question_lines(questions):
                digest.update(line)
                yield line

        write_atomically(self._file(QUESTIONS), lines(), before=fence)
        return digest.hexdigest()

    def _file(self, name: str) -> Path:
        return self.path / name


def _question_lines(questions: Mapping[str, Iterable[Question]]) -> Iterator[bytes]:
    for task, task_questions in questions.items():
        for question in task_questions:
            yield RunQuestion(task=task, question=without_bytes(question)).line.encode()


def _first(new: Record, old: Record) -> bool:
    return False


def with_pictures(question: Question, pictured: Question) -> Question:
    """Question with the pictures' bytes from its dataset."""
    return question.model_copy(
        update={name: getattr(pictured, name) for name in ("images", "answer_images", "solution_images")}
    )


def keys_of(responses: Iterable[Response]) -> KeySet:
    """Keys of responses."""
    keys = KeySet()
    for response in responses:
        keys.add(response.key)
    return keys


def without_bytes(question: Question) -> Question:
    """Question with hashes for pictures (as `path`)."""

    def names(images: Iterable[Image]) -> list[Image]:
        return [Image(path=image.sha256 if image.bytes is not None else image.path) for image in images]

    return question.model_copy(
        update={name: names(getattr(question, name)) for name in ("images", "answer_images", "solution_images")}
    )


class _Head(Record, extra="ignore"):
    key: Key
    state: State


def states(run: RunFolder) -> dict[State, int]:
    """Rows by state, in the order of `State`."""
    counts = _by_heads(run) or Counter(row.state for row in run.rows())
    return {state: counts[state] for state in get_args(State)}


def _by_heads(run: RunFolder) -> Counter[State] | None:
    """None unless each answer has one verdict, by the first keys, and people set no mark."""
    if (run.path / REGRADES).exists() or run.key_book().versions:
        return None
    counts, answered, marked = Counter[State](), run.answered(), KeySet()
    for verdict in read_journal(run.path, "verdicts", _Head):
        if not marked.add(verdict.key) or str(verdict.key) not in answered:
            return None
        counts[verdict.state] += 1
    if len(marked) != len(answered):
        return None
    places, trials = run.asked(), run.spec().trials
    missing = len(places) * trials - len(answered)
    for failure in run.failures().values() if missing else ():
        key = failure.key
        if (key.task, key.question_id) in places and 0 <= key.trial < trials and str(key) not in answered:
            counts[failure.state] += 1
            missing -= 1
    counts["failed"] += missing
    return counts
