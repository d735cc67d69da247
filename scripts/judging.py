"""What `judge`, `run` and `judge-pairs` share: the judges of a command, opened and closed together.

Contract: `Judges` holds the rules with their store and, where `--judge` names models, the panel with its threads and
its store of replies. It is a context manager: leaving it writes what waits and closes every engine.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from livek12.core.errors import UserError
from livek12.core.records import Call, Image, Question, Response, Verdict
from livek12.judges.bench import JudgeOptions, Judges
from livek12.judges.cascade import Cascade
from livek12.judges.grade import GradingConfig, judge_version
from livek12.judges.llm.turns import Asleep
from livek12.scripts.progress import warn

if TYPE_CHECKING:
    from livek12.core.run_folder import RunFolder
    from livek12.judges.llm.audit import Auditor
    from livek12.judges.llm.settle import Settler
    from livek12.scripts.pipeline import Exam
    from livek12.tasks.base import Task

Pages = Mapping[tuple[str, int], Image]

__all__ = ["JudgeOptions", "Judges"]


def check_judges(options: JudgeOptions, author: str, tasks: str) -> None:
    """Refuses, before anything is asked, a panel that could decide nothing about this model.

    Args:
        options: who judges.
        author: the model under test.
        tasks: names of the tasks, comma-separated.

    Raises:
        UserError: too few judges may judge this model.
    """
    if options.panel is None:
        return
    from livek12.judges.llm.client import JudgeModel
    from livek12.judges.llm.panel import Panel
    from livek12.tasks.registry import get_tasks

    with ThreadPoolExecutor(1) as threads:
        panel = Panel(options.panel, [JudgeModel(judge) for judge in options.panel.judges], threads)
        for task in get_tasks(tasks):
            panel.check([author], task.judge.size)


def quick_threads() -> int:
    """Threads for the rules: enough to keep every symbolic worker busy while one of them parses."""
    return 2 * max(2, min(8, os.cpu_count() or 1))


def unfinished(verdict: Verdict | None) -> bool:
    """Whether a judge could not be asked, so that asking again makes sense."""
    return any(call.waits for call in unanswered(verdict))


def unanswered(verdict: Verdict | None) -> list[Call]:
    """The requests that brought no reply, where for want of it something is ungraded."""
    if verdict is None or not (verdict.state == "ungraded" or verdict.process_ungraded):
        return []
    return [call for call in verdict.calls if call.raw is None]


@dataclass
class Spent:
    """What judge models were asked, and what it cost; remembered replies cost nothing anew."""

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

    def merge(self, other: Spent) -> None:
        """Adds what was spent elsewhere."""
        for name in ("requests", "remembered", "failed", "prompt_tokens", "completion_tokens", "uncounted"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        if other.cost is not None:
            self.cost = (self.cost or 0.0) + other.cost

    def __str__(self) -> str:
        said = f"judges: {self.requests} requests, {self.prompt_tokens:,} tokens in, {self.completion_tokens:,} out"
        said += f" ({self.uncounted} without counts)" if self.uncounted else ""
        said += f", cost {self.cost:.4f}" if self.cost is not None else ""
        said += f", {self.failed} failed" if self.failed else ""
        return said + (f"; {self.remembered} remembered" if self.remembered else "")


@dataclass(frozen=True)
class MarkingDesk:
    """Everything that marking one response of a run needs."""

    questions: dict[str, dict[str, Question]]
    pages: Pages
    authors: tuple[str, ...]
    cascade: Cascade
    configs: dict[str, GradingConfig]
    settlers: dict[str, Settler]
    auditors: dict[str, Auditor]
    versions: dict[str, str]
    mark: str
    """The end of each version that names the keys of another data set; empty without them."""

    @classmethod
    def open(cls, run: RunFolder, judges: Judges, exam: Callable[[], Exam]) -> MarkingDesk:
        """Reads questions, keys and pictures.

        Args:
            run: the run folder.
            judges: who marks.
            exam: reads the questions with their pictures; called when a judge has some to look at.

        Raises:
            UserError: a panel that may not judge this model, or keys that are not those of the run.
        """
        from livek12.tasks.registry import get_task

        spec = run.spec()
        tasks = {task.name: get_task(task.name) for task in spec.tasks}
        authors = tuple(name for name in (spec.model, spec.model_revision) if name)
        configs = {name: GradingConfig(partial_credit=task.partial_credit) for name, task in tasks.items()}
        settlers: dict[str, Settler] = {}
        auditors: dict[str, Auditor] = {}
        for name, task in tasks.items():
            if settler := judges.settler(task.judge, configs[name]):
                settler.panel.check(authors, task.judge.size)
                settlers[name] = settler
            if auditor := judges.auditor(task.judge):
                auditors[name] = auditor
        questions = {task: {q.id: q for q in asked} for task, asked in run.questions().items()}
        pages: Pages = {}
        if settlers and _shows_pictures(questions, tasks):
            pictured = exam()
            pages = pictured.pages
            for name, asked in pictured.questions.items():
                questions[name] |= {q.id: q for q in asked if q.id in questions[name]}
        mark = ""
        if judges.options.answers:
            mark = add_keys(questions, tasks, judges.options.answers)
        versions = {
            name: " ".join(
                [
                    settlers[name].version if name in settlers else judge_version(config),
                    *([auditors[name].version] if name in auditors else []),
                ]
            )
            + mark
            for name, config in configs.items()
        }
        return cls(questions, pages, authors, judges.cascade, configs, settlers, auditors, versions, mark)

    @property
    def keyless(self) -> dict[str, str]:
        """The versions of the same judges before the keys of another data set were there."""
        return {name: version.removesuffix(self.mark) for name, version in self.versions.items()}

    def by_rule(self, response: Response) -> Verdict:
        """What the rules say."""
        from livek12.tasks.marking import mark_response

        task = response.key.task
        return self._named(mark_response(self._question(response), response, self.configs[task], self.cascade))

    def is_open(self, response: Response, verdict: Verdict) -> bool:
        """Whether judges have to be asked."""
        from livek12.tasks.marking import needs_second_look

        if response.key.task in self.auditors and response.text.strip():
            return True
        return needs_second_look(self._question(response), response, verdict, self.settlers[response.key.task])

    def by_models(self, response: Response, verdict: Verdict) -> Verdict:
        """What the panel says to what the rules left open, and to the reasoning.

        Raises:
            Asleep: a judge was asked whose turn it is not.
        """
        from livek12.tasks.marking import audited, second_look
        from livek12.tasks.registry import get_task

        question, task = self._question(response), response.key.task
        pages: tuple[Image, ...] = ()
        if get_task(task).modality == "image_only" and question.paper_id:
            found = (self.pages.get((question.paper_id, number)) for number in question.page_numbers)
            pages = tuple(page for page in found if page is not None)
        wrote = [name for name in (*self.authors, response.model) if name]
        asleep: Asleep | None = None
        try:
            marked = second_look(question, response, verdict, self.settlers[task], wrote, pages)
        except Asleep as error:  # whose turn it is hears about the reasoning as well before the next one comes up
            asleep, marked = error, verdict
        if task in self.auditors:
            marked = audited(question, response, marked, self.auditors[task], wrote, pages)
        if asleep is not None:
            raise asleep
        return self._named(marked)

    def _question(self, response: Response) -> Question:
        return self.questions[response.key.task][response.key.question_id]

    def _named(self, verdict: Verdict) -> Verdict:
        judge = self.versions[verdict.key.task]
        return verdict.model_copy(update={"judge": judge, "versions": {**verdict.versions, "judge": judge}})


def _shows_pictures(questions: Mapping[str, Mapping[str, Question]], tasks: Mapping[str, Task]) -> bool:
    """Whether a judge has pictures to look at."""
    if any(task.modality == "image_only" for task in tasks.values()):
        return True
    asked = (question for found in questions.values() for question in found.values())
    return any(q.images or q.answer_images or q.solution_images for q in asked)


def add_keys(questions: dict[str, dict[str, Question]], tasks: Mapping[str, Task], answers: str) -> str:
    """Puts the keys of another data set into the questions, by id; returns a mark of these very keys.

    Raises:
        UserError: the data set has no key for any question of a task, or that of another text.
    """
    from livek12.core.questions import fingerprint, load_questions, with_answers

    used: list[Question] = []
    for name, asked in questions.items():
        rows = load_questions(answers, tasks[name].configs, tasks[name].benchmark, tasks[name].language)
        keys = {question.id: question for question in rows}
        if not (known := asked.keys() & keys.keys()):
            raise UserError(f"{answers}: has no row with the id of a question of {name}; is it the key to this run?")
        if missing := sorted(asked.keys() - known):
            warn(f"{answers}: {len(missing)} questions of {name} are not in it, the first: {missing[0]!r}")
        used += [keys[question_id] for question_id in sorted(known)]
        questions[name] = {question.id: question for question in with_answers(asked.values(), rows)}
    return f" keys+{fingerprint(used)[:8]}"
