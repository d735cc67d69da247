"""Judges of commands: their options, their costs, and the thread-safe scorer of a run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from livek12.core.errors import UserError
from livek12.core.progress import warn
from livek12.core.question_index import question_indexes
from livek12.core.records import Call, Image, Key, PartVerdict, Question, Response, Verdict
from livek12.core.run.keys import KeySet
from livek12.core.run.markings import KEYS, in_words, other_rules
from livek12.evaluation.workers import Flow
from livek12.judges.grade import judge_version, total
from livek12.judges.jury import JudgeOptions, Jury
from livek12.judges.llm.client import waits_for_turn
from livek12.judges.rules.pool import shared_pool
from livek12.tasks.registry import get_task, is_logged
from livek12.tasks.scorer import Scorer, stamped

if TYPE_CHECKING:
    from livek12.core.progress import Progress
    from livek12.core.run.claims import Claims
    from livek12.core.run.folder import RunFolder
    from livek12.core.run.spec import RunSpec
    from livek12.evaluation.task_data import TaskData
    from livek12.tasks.base import Task
    from livek12.tasks.prompting import Pages


def check_judges(options: JudgeOptions, author: str, tasks: str, here: bool = False) -> None:
    """Refuses a panel that could decide nothing about this model; `here`: this machine must run the judges."""
    if options.panel is None:
        return
    from livek12.engines import check_engine
    from livek12.judges.llm.client import JudgeModel
    from livek12.judges.llm.panel import Panel
    from livek12.tasks.registry import get_tasks

    with ThreadPoolExecutor(1) as threads:
        panel = Panel(options.panel, [JudgeModel(judge) for judge in options.panel.judges], threads)
        for task in get_tasks(tasks):
            panel.check([author], task.judge.size)
    for judge in options.panel.judges if here else ():
        try:
            check_engine(judge.engine, judge.model, judge.engine_args)
        except UserError as error:
            raise UserError(f"judge {judge.model}: {error}") from error


class Waiting(Protocol):
    """Item to be marked, and the key that it is claimed by."""

    @property
    def key(self) -> Key:
        """Its name among all that waits."""


W = TypeVar("W", bound=Waiting)


def marking_flow(judges: Jury, mark: Callable[[W], Verdict]) -> Flow[W, Verdict]:
    """Threads that keep every judge busy or, with rules alone, every symbolic worker."""
    return Flow(mark, judges.threads if judges.panel else 2 * max(2, shared_pool().size))


def in_rounds(
    stream: Callable[[], Iterator[W | None]],
    judges: Jury,
    flow: Flow[W, Verdict],
    claims: Claims,
    progress: Progress | None,
    claimed_by: Callable[[Verdict], Key] = lambda verdict: verdict.key,
) -> Iterator[Verdict]:
    """Verdicts on a stream, read once or, where judges take turns (`judges.llm.client`), once a round.

    `stream` begins anew each time, with None where none waits at the moment; `claimed_by` gives the key of the claim.
    """
    done = KeySet()

    def waiting() -> Iterator[W | None]:
        for item in stream():
            if progress is not None:
                progress.beat()
            if item is None or (str(item.key) not in done and claims.take(str(item.key))):
                yield item

    while True:
        postponed = False
        for verdict in flow.run(waiting()):
            if waits_for_turn(verdict.calls):
                postponed = True
                continue
            if judges.schedule is not None:
                done.add(claimed_by(verdict))
            yield verdict
        if judges.schedule is None or not postponed:
            return
        judges.schedule.end_round()


def unanswered(verdict: Verdict) -> bool:
    """True if something is ungraded for want of a reply."""
    return verdict.is_open and any(call.raw is None for call in verdict.calls)


@dataclass
class JudgeUsage:
    """Requests to judge models and their cost; remembered replies cost nothing anew."""

    requests: int = 0
    remembered: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    uncounted: int = 0
    cost: float | None = None

    def add(self, calls: Iterable[Call]) -> None:
        """Counts the calls of one verdict."""
        for call in calls:
            if not call.prompt:
                continue  # it was not put
            if call.remembered:
                self.remembered += 1
                continue
            self.requests += 1
            self.failed += call.raw is None
            self.prompt_tokens += call.prompt_tokens or 0
            self.completion_tokens += call.completion_tokens or 0
            self.uncounted += call.raw is not None and (call.prompt_tokens is None or call.completion_tokens is None)
            if call.cost is not None:
                self.cost = (self.cost or 0.0) + call.cost

    def merge(self, other: JudgeUsage) -> None:
        """Adds what was spent elsewhere."""
        for name in ("requests", "remembered", "failed", "prompt_tokens", "completion_tokens", "uncounted"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        if other.cost is not None:
            self.cost = (self.cost or 0.0) + other.cost

    def __str__(self) -> str:
        text = f"judges: {self.requests} requests, {self.prompt_tokens:,} tokens in, {self.completion_tokens:,} out"
        text += f" ({self.uncounted} without counts)" if self.uncounted else ""
        text += f", cost {self.cost:.4f}" if self.cost is not None else ""
        text += f", {self.failed} failed" if self.failed else ""
        return text + (f"; {self.remembered} remembered" if self.remembered else "")


@dataclass(frozen=True)
class RunScorer:
    """Scorer of each task of a run, with questions and pictures."""

    questions: dict[str, Mapping[str, Question]]
    pages: Pages
    authors: tuple[str, ...]
    scorers: dict[str, Scorer]
    versions: dict[str, str]
    """Of each task: who marks it, as verdicts name them."""
    words: dict[str, str]
    """The same for people, by version."""

    @classmethod
    def open(cls, run: RunFolder, judges: Jury, exam: Callable[[], TaskData] | None = None) -> RunScorer:
        """Reads questions, keys and, by `exam` if a judge needs them, pictures."""
        spec = run.spec()
        tasks = {task.name: get_task(task.name) for task in spec.tasks}
        authors = tuple(name for name in (spec.model, spec.model_revision) if name)
        scorers = {name: Scorer.of(judges, task.judge, task.partial_credit, authors) for name, task in tasks.items()}
        questions = _questions_of(run, judges.options)
        pages: Pages = {}
        if exam is not None and judges.panel is not None and _shows_pictures(questions, tasks):
            pictured = exam()
            pages = pictured.pages
            for name, own in pictured.questions.items():
                questions[name] = {**questions[name], **{q.id: q for q in own if q.id in questions[name]}}
        keys = add_keys(questions, tasks, judges.options.answers) if judges.options.answers else ""
        versions = {name: scorer.version + keys for name, scorer in scorers.items()}
        words = {versions[name]: _in_words(scorer, judges.options, authors) for name, scorer in scorers.items()}
        return cls(questions, pages, authors, scorers, versions, words)

    def check_keys(self, spec: RunSpec) -> None:
        """Refuses to mark a run by the keys of another data set."""
        before = [version.partition(KEYS)[2] for version in (*spec.judged_by, *spec.judges.values())]
        mine = {version.partition(KEYS)[2] for version in self.versions.values()} - {""}
        if mine and (last := next((keys for keys in reversed(before) if keys), None)) and last not in mine:
            raise UserError(
                "the answers of this run are marked by the keys of another data set than that of --answers;"
                " `--again` marks them anew by these"
            )

    def is_settled(self, response: Response, verdict: Verdict) -> bool:
        """True if these judges have nothing to add to a verdict of others, nor newer rules."""
        task, question = response.key.task, self._question(response)
        if other_rules(verdict, self.versions[task]):
            return False
        scorer, keyless = self.scorers[task], KEYS in self.versions[task] and KEYS not in verdict.judge
        if scorer.sees_everything and scorer.has_more(question, response, verdict):
            return False
        if verdict.state != "graded" and (verdict.is_open or keyless or scorer.has_more(question, response, verdict)):
            return False
        return scorer.auditor is None or verdict.process is not None or not response.text.strip()

    def critiques(self, task: str) -> int:
        """Most critics of each answer to a task."""
        auditor = self.scorers[task].auditor
        return auditor.panel.most(self.authors, auditor.size) if auditor else 0

    def by_rules(self, response: Response) -> Verdict:
        """Verdict of the rules."""
        question, scorer = self._question(response), self.scorers[response.key.task]
        if is_logged(response.key.task):  # as rows of judge-pairs are: a bare answer needs no commitment
            from livek12.evaluation.pairs import JudgedPair, rule_verdict

            pair = JudgedPair(question.id, question, response)
            return self._named(stamped(rule_verdict(pair, scorer.cascade), response))
        return self._named(scorer.by_rules(question, response))

    def unmarked(self, response: Response, why: str) -> Verdict:
        """Verdict on a response over which the rules broke off."""
        question, scorer = self._question(response), self.scorers[response.key.task]
        gold = "; ".join(question.answer)
        part = PartVerdict(answer=None, gold=gold, decision="undecided", score=None, decided_by="rules", reason=why)
        return self._named(stamped(total(question, response.key, [part], scorer.config), response))

    def mark(self, response: Response, repeat: int = 0) -> Verdict:
        """Verdict of the rules and, on open parts, of models, asked `repeat` times before."""
        verdict = self.by_rules(response)
        if not self.scorers[response.key.task].is_open(self._question(response), response, verdict):
            return verdict
        question, task = self._question(response), response.key.task
        pages: tuple[Image, ...] = ()
        if get_task(task).modality == "image_only" and question.paper_id:
            keys = [(question.paper_id, number) for number in question.page_numbers]
            pages = tuple(self.pages.get(key) or Image(path=f"page {key[1]} of {key[0]}") for key in keys)
        wrote = [name for name in (*self.authors, response.model) if name]
        return self._named(self.scorers[task].by_models(question, response, verdict, wrote, pages, repeat))

    def _question(self, response: Response) -> Question:
        return self.questions[response.key.task][response.key.question_id]

    def _named(self, verdict: Verdict) -> Verdict:
        judge = self.versions[verdict.key.task]
        return verdict.model_copy(update={"judge": judge, "versions": {**verdict.versions, "judge": judge}})


def _questions_of(run: RunFolder, options: JudgeOptions) -> dict[str, Mapping[str, Question]]:
    """An index where models need no more: there may be many questions."""
    by_rules = options.panel is None and not options.answers
    if by_rules or all(is_logged(task.name) for task in run.spec().tasks):
        return {**question_indexes(run)}
    return {task: {q.id: q for q in own} for task, own in run.questions().items()}


def _in_words(scorer: Scorer, options: JudgeOptions, authors: Collection[str]) -> str:
    words = in_words(judge_version(scorer.config))
    if options.panel is not None and scorer.panel is not None:
        words += f" and {scorer.panel.panel.members(authors, scorer.panel.named.size)}"
        words += f" ({options.panel.method})" if options.panel.method else ""
        words += ", who see every answer" if options.panel.scope == "all" else ""
    return words + (f" with the keys of {options.answers}" if options.answers else "")


def _shows_pictures(questions: Mapping[str, Mapping[str, Question]], tasks: Mapping[str, Task]) -> bool:
    if any(task.modality == "image_only" for task in tasks.values()):
        return True
    shown = (question for own in questions.values() for question in own.values())
    return any(q.images or q.answer_images or q.solution_images for q in shown)


def add_keys(questions: dict[str, Mapping[str, Question]], tasks: Mapping[str, Task], answers: str) -> str:
    """Puts the keys of another data set into the questions, by id; returns the name of these keys in versions."""
    from livek12.core.questions import fingerprint, load_questions, with_answers

    used: list[Question] = []
    for name, own in questions.items():
        rows = load_questions(answers, tasks[name].configs, tasks[name].benchmark, tasks[name].language)
        keys = {question.id: question for question in rows}
        if not (shared := own.keys() & keys.keys()):
            raise UserError(f"{answers}: has no row with the id of a question of {name}; is it the key to this run?")
        if missing := sorted(own.keys() - shared):
            warn(f"{answers}: {len(missing)} questions of {name} are not in it, the first: {missing[0]!r}")
        used += [keys[question_id] for question_id in sorted(shared)]
        questions[name] = {question.id: question for question in with_answers(own.values(), rows)}
    return f"{KEYS}{fingerprint(used)[:8]}"
