"""A task for harnesses: documents, requests, marks, and metrics.

All equal `livek12 run`'s (rules alone, unless a harness brings judges). `accuracy` counts undecided answers as wrong,
`accuracy_high` as right.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from livek12.core.errors import UserError
from livek12.core.lazy import PIL
from livek12.core.questions import fingerprint
from livek12.core.records import IMAGE_MARK, Failure, Image, Key, PartVerdict, Question, Request, Response, Verdict
from livek12.engines.images import BadImage, check_image
from livek12.engines.thinking import Thinking
from livek12.tasks.base import Task
from livek12.tasks.loading import pages_for, questions_of
from livek12.tasks.prompting import Pages, requests
from livek12.tasks.registry import SITTINGS, find_task, get_task
from livek12.tasks.sheets import QuestionSheet, answers, sheet_request, sheets_of

if TYPE_CHECKING:
    from livek12.judges.cascade import Cascade
    from livek12.tasks.scorer import Scorer

DATA_VARIABLE = "LIVEK12_DATA"
PREFIX = "livek12"
AS_WHOLE = "all answers are marked as whole there, for nothing says which were cut"
"""Note for harnesses that do not report how an answer ended."""
WHOLE = "all answers are marked as whole there (truncated_unknown); an import finds out which were cut (--tokenizer)"
"""The same if `livek12 import-responses` reads their logs."""
RIGHT_OR_WRONG = frozenset({"acc", "accuracy", "correct"})
"""Metrics that say an answer is right; the others are bounds, shares and points."""
P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Guide:
    """Place and call of a plug-in.

    Attributes:
        path: for the harness's option.
        install: the command for its environment.
        call: a command line for one task.
        notes: for the user.
    """

    path: str
    install: str
    call: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Document:
    """Question for a harness, or a sheet (`question` then has its id and shared fields)."""

    question: Question
    request: Request
    sheet: QuestionSheet | None = None

    @property
    def id(self) -> str:
        """The question's id."""
        return self.question.id

    @cached_property
    def text(self) -> str:
        """Prompt as one text, with image marks."""
        return "".join(part.text or "" if part.type == "text" else IMAGE_MARK for part in self._parts)

    @cached_property
    def images(self) -> list[Image]:
        """Encoded pictures in mark order."""
        return [self.request.images[part.image] for part in self._parts if part.image]

    def picture(self, place: int) -> PIL.Image.Image:
        """Picture at a mark (from 0): RGB, upright, on white."""
        try:
            return check_image(self.images[place])
        except BadImage as error:
            raise UserError(f"question {self.id}: image {place + 1} of {len(self.images)} {error}") from None

    def pictures(self) -> list[PIL.Image.Image]:
        """Decoded pictures in mark order."""
        return [self.picture(place) for place in range(len(self.images))]

    def messages(self, text: Callable[[str], Any], picture: Callable[[Image], Any]) -> list[tuple[str, Any]]:
        """Role and content of each message: a lone text as it is, which every provider takes, else its parts."""
        return [
            (message.role, message.content[0].text)
            if len(message.content) == 1 and message.content[0].text is not None
            else (
                message.role,
                [picture(self.request.images[p.image]) if p.image else text(p.text or "") for p in message.content],
            )
            for message in self.request.messages
        ]

    @property
    def target(self) -> str:
        """Key on one line, of a sheet by its labels."""
        if self.sheet is not None:
            return " ".join(f"{label}. {_key_of(question)}" for label, question in self.sheet.questions.items())
        return _key_of(self.question)

    def answered(self, reply: Response) -> list[tuple[Question, Response]]:
        """Each question with its response."""
        if self.sheet is None:
            return [(self.question, reply)]
        questions = list(self.sheet.questions.values())
        keys = [reply.key.model_copy(update={"question_id": question.id}) for question in questions]
        return list(zip(questions, answers(self.sheet, reply, keys), strict=True))

    @property
    def _parts(self) -> list[Any]:
        return [part for message in self.request.messages for part in message.content]


def _key_of(question: Question) -> str:
    return "; ".join(question.answer or [variable.value for variable in question.variables])


class HarnessTask:
    """A task over a dataset."""

    def __init__(self, task: Task, data: str) -> None:
        self.task, self.data = task, data
        self.questions = questions_of(task, data)
        self._pages = pages_for(task, data, self.questions)
        self.documents = documents(task, self.questions, self._pages)
        self._by_id = {document.id: document for document in self.documents}

    @cached_property
    def data_sha256(self) -> str:
        """Fingerprint of the questions, as in run.json."""
        pages = {(question.paper_id, number) for question in self.questions for number in question.page_numbers}
        return fingerprint(self.questions, [page for key, page in self._pages.items() if key in pages])

    @cached_property
    def _marker(self) -> Scorer:
        from livek12.judges.grade import GradingConfig
        from livek12.tasks.scorer import Scorer

        return Scorer(GradingConfig(partial_credit=self.task.partial_credit), _cascade())

    def document(self, id: str) -> Document:
        """Document of an id."""
        try:
            return self._by_id[id]
        except KeyError:
            raise UserError(f"task {self.task.name}: no question {id!r} in {self.data}; is it the same data?") from None

    def mark(self, id: str, text: str, finish_reason: str | None = None, trial: int = 0) -> Verdict:
        """Marks one answer by the rules."""
        (verdict,) = self.marks(id, text, finish_reason, trial)
        return verdict

    def marks(self, id: str, text: str, finish_reason: str | None = None, trial: int = 0) -> list[Verdict]:
        """Marks the answers of a document by the rules."""
        key = Key(task=self.task.name, question_id=id, trial=trial)
        split = Thinking().split(text)
        response = Response(
            key=key, text=split.text, reasoning=split.reasoning, finish_reason=finish_reason, engine="harness", model=""
        )
        return [self._marker.by_rules(question, own) for question, own in self.document(id).answered(response)]

    def mark_unless(self, failed: str | tuple[str, ...], id: str, text: str, trial: int = 0) -> Verdict:
        """Marks one answer; undecided if its text begins with one of `failed`, the harness's own."""
        from livek12.judges.grade import GradingConfig, total

        if not text.startswith(failed):
            return self.mark(id, text, trial=trial)
        key = Key(task=self.task.name, question_id=id, trial=trial)
        part = PartVerdict(
            answer=None, gold="", decision="undecided", score=None, decided_by="harness", reason=f"no answer: {text}"
        )
        return total(self.document(id).question, key, [part], GradingConfig())


def documents(task: Task, questions: Sequence[Question], pages: Pages) -> list[Document]:
    """Each question with its request, in order."""
    if task.first_style:
        raise UserError(f"task {task.name} makes two requests for an answer: use `livek12 run`, or mdk12_kprag here")
    if task.sitting:
        return [_sheet_document(task, sheet, pages) for sheet in sheets_of(task, questions)]
    outcomes = list(requests(task, questions, 1, task.sampling, pages, lambda key: True))
    if unaskable := [outcome for outcome in outcomes if isinstance(outcome, Failure)]:
        more = f" (and {len(unaskable) - 1} more)" if unaskable[1:] else ""
        raise UserError(f"task {task.name}: {unaskable[0].reason}{more}")
    by_id = {question.id: question for question in questions}
    return [Document(by_id[made.key.question_id], made) for made in outcomes if isinstance(made, Request)]


def _sheet_document(task: Task, sheet: QuestionSheet, pages: Pages) -> Document:
    first = next(iter(sheet.questions.values()))
    unset: dict[str, Any] = {"number": None, "points": None, "difficulty": None, "subsets": []}
    key = Key(task=task.name, question_id=sheet.id)
    return Document(
        first.model_copy(update={"id": sheet.id, **unset}), sheet_request(task, sheet, key, task.sampling, pages), sheet
    )


def joined(verdicts: Sequence[Verdict], counted: bool = False) -> dict[str, Any]:
    """Each metric over repeats: points add up; shares are averaged, or a sum and number if `counted`."""
    values: dict[str, Any] = {}
    for name, metric in METRICS.items():
        each = [metric.of(verdict) for verdict in verdicts]
        is_share = not isinstance(each[0], tuple)
        total, number = map(sum, zip(*((one, 1) for one in each) if is_share else each, strict=True))
        values[name] = total / number if is_share and not counted else (total, number)
    return values


def open_task(name: str, data: str = "", sheets: bool = False) -> HarnessTask:
    """Exam of a task by our or its harness name; cached.

    Raises:
        UserError: no data, or a task of `sheets` for a harness that takes none.
    """
    if get_task(task_name(name)).sitting and not sheets:
        raise UserError(f"task {name} asks whole sheets: use `livek12 run`, Inspect or lm-eval")
    place = data or os.environ.get(DATA_VARIABLE, "")
    if not place:
        raise UserError(f"no data set: set {DATA_VARIABLE} to a folder made by `livek12 build`, or ORG/NAME on the Hub")
    return _opened(task_name(name), place)


@cache
def _opened(name: str, place: str) -> HarnessTask:
    return HarnessTask(get_task(name), place)


def require(package: str, floor: str, install: str) -> str:
    """Installed version of a harness's package."""
    from importlib.metadata import PackageNotFoundError, version

    from packaging.version import Version

    try:
        installed = version(package)
    except PackageNotFoundError:
        raise UserError(f"{package} is not installed in this environment; {install}") from None
    if Version(installed) < Version(floor):
        raise UserError(f"{package} {installed} is too old for the plug-in, which needs {floor} or newer; {install}")
    return installed


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Ends a harness on a UserError with one line."""
    try:
        yield
    except UserError:
        sys.excepthook = _say_in_one_line
        raise


def in_one_line(function: Callable[P, R]) -> Callable[P, R]:
    """As `one_line_errors`, for a function."""

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except UserError as error:
            raise SystemExit(f"livek12: {error}") from None

    return called


def _say_in_one_line(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if isinstance(error, UserError):
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)


_BY = "_by_"
"""Stands for the sign of a sitting, which harnesses do not take in a name."""


def harness_name(task: str) -> str:
    """A task's harness name, prefixed against name clashes."""
    task = task.replace("@", _BY)
    return task if task.startswith(PREFIX) else f"{PREFIX}_{task}"


def task_name(name: str) -> str:
    """Our name of a harness's task."""
    for sitting in SITTINGS:
        if name.endswith(f"{_BY}{sitting}"):
            name = f"{name.removesuffix(f'{_BY}{sitting}')}@{sitting}"
    bare = name.removeprefix(f"{PREFIX}_")
    return bare if find_task(bare) else name


@dataclass(frozen=True)
class Metric:
    """A value of each verdict, and their total."""

    of: Callable[[Verdict], Any]
    total: Callable[[Sequence[Any]], float]
    higher_is_better: bool = True


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else float("nan")


def _ratio(pairs: Sequence[tuple[float, float]]) -> float:
    """100 · ΣO / ΣV (LiveK12Bench, section 2.3)."""
    worth = sum(pair[1] for pair in pairs)
    return 100 * sum(pair[0] for pair in pairs) / worth if worth else float("nan")


METRICS: Mapping[str, Metric] = {
    "accuracy": Metric(lambda verdict: float(verdict.correct is True), _mean),
    "accuracy_high": Metric(lambda verdict: float(verdict.correct is not False), _mean),
    "score": Metric(lambda verdict: (verdict.low, verdict.max_points), _ratio),
    "score_high": Metric(lambda verdict: (verdict.high, verdict.max_points), _ratio),
    "ungraded": Metric(lambda verdict: float(verdict.state == "ungraded"), _mean, higher_is_better=False),
    "no_answer": Metric(lambda verdict: float(verdict.state == "no_answer"), _mean, higher_is_better=False),
    # These harnesses do not report how an answer ended.
    "truncated_unknown": Metric(lambda verdict: 1.0, _mean, higher_is_better=False),
}


WEIGHTED = ("score", "score_high")
"""Metrics over points, not over answers."""


@cache
def _cascade() -> Cascade:
    from livek12.judges.cascade import default_cascade

    return default_cascade()
