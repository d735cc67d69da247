"""What a panel would settle of a run that no judge model has seen, and how much it would read and write for it.

Contract: the requests are those that `judge RUN --judge panel:…` puts first, from the same prompts with the same
question, key and response, and only their text is measured; nothing is asked. Left out are pictures, and what nobody
knows before: votes that are cast again, replies that are asked for again, and what follows on a reply (s2s verifies
what it extracted).
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from livek12.core.errors import UserError
from livek12.core.lengths import tokens_in
from livek12.core.light import size_of
from livek12.core.packed_answers import AskedAlike, left_open
from livek12.core.records import Question, Verdict
from livek12.core.scoring import Row
from livek12.judges.llm.prompts import Fenced, Values, load_prompt
from livek12.tasks.base import Task

if TYPE_CHECKING:
    from livek12.judges.llm.case import Case


@lru_cache(64)
def _of_question(text: str) -> float:
    """The tokens of a text that the answers to one question, which follow each other, have in common."""
    return tokens_in(text)


@cache
def _frame(prompt: str, blocks: tuple[tuple[str, str], ...]) -> float:
    """The tokens of a prompt around its data; the blocks are given by name and label."""
    empty = {name: Fenced(label, "") if label else "" for name, label in blocks}
    messages, _ = load_prompt(prompt).messages(empty)
    return sum(tokens_in(part.text or "") for message in messages for part in message.content)


@dataclass
class _Prompts:
    """What is put to one judge about one answer: requests, their tokens but for the response, how often that stands."""

    requests: int = 0
    tokens: float = 0.0
    responses: int = 0

    def put(self, prompt: str, values: Values) -> None:
        """Counts one request: the prompt and the data in it, which to word anew for each answer would take long."""
        self.requests += 1
        fenced = {name: value for name, value in values.items() if isinstance(value, Fenced)}
        self.tokens += _frame(prompt, tuple((name, fenced[name].label if name in fenced else "") for name in values))
        texts = {name: value.text if isinstance(value, Fenced) else value for name, value in values.items()}
        self.tokens += sum(_of_question(text) for name, text in texts.items() if name != "response")
        self.responses += "response" in texts


@dataclass
class _Expected:
    """Of one task: open answers, answers to audit, requests to one judge, the tokens that one judge would read."""

    seen: bool = False
    answers: int = 0
    audits: int = 0
    requests: int = 0
    tokens: float = 0.0

    def add(self, asked: _Prompts, answers: int, tokens: float) -> None:
        """Counts what is put about so many answers whose texts together have so many tokens."""
        self.requests += answers * asked.requests
        self.tokens += answers * asked.tokens + asked.responses * tokens


@dataclass
class Outlook:
    """Looks at the answers of a run.

    Attributes:
        tasks: those of the run, by name.
        authors: names of the model under test; no judge of its family would be asked.
    """

    tasks: Mapping[str, Task]
    authors: tuple[str, ...]
    _found: dict[str, _Expected] = field(default_factory=dict)
    _question: Question | None = None
    _audit: _Prompts = field(default_factory=_Prompts)
    _open: dict[tuple[bool, ...], _Prompts] = field(default_factory=dict)

    def add(self, row: Row) -> None:
        """Counts what would be asked about the answer of a row."""
        verdict, response = row.verdict, row.response
        if verdict is not None and response is not None:
            wide, narrow = size_of(response)
            cut_short, answers = response.finish_reason == "length", int(wide + narrow > 0)
            self.add_answers(row.task, row.question, AskedAlike(verdict, cut_short, answers, wide + narrow / 4))

    def add_answers(self, name: str, question: Question, said: AskedAlike) -> None:
        """The same of answers to a question of a task; those to one question follow each other."""
        task, verdict = self.tasks.get(name), said.verdict
        if task is None:
            return
        found = self._found.setdefault(name, _Expected())
        found.seen |= bool(verdict.calls) or verdict.process is not None
        if found.seen or not said.answers:
            return
        if self._question is not question:
            self._question, self._open = question, {}
            self._audit = _audit(question) if task.judge.audit else _Prompts()
        kind = said.cut_short, *left_open(verdict)
        if kind not in self._open:
            self._open[kind] = _about_open(task, question, verdict, said.cut_short)
        for asked in (self._open[kind], self._audit):
            found.add(asked, said.answers, said.tokens)
        found.answers += said.answers if self._open[kind].requests else 0
        found.audits += said.answers * self._audit.requests

    def of(self, task: str) -> dict[str, Any] | None:
        """What the report says of a task; None where nothing would be asked, or models were asked already."""
        from livek12.judges.llm.client import SAMPLING
        from livek12.judges.llm.shipped import DEFAULT, SHIPPED

        found = self._found.get(task)
        if found is None or found.seen or not found.requests:
            return None
        judges = self._judges(self.tasks[task])
        if not judges:
            return None
        return {
            "panel": f"{SHIPPED}{DEFAULT}",
            "judges": judges,
            "open": found.answers,
            "audited": found.audits,
            "requests": found.requests * judges,
            "prompt_tokens": round(found.tokens * judges),
            "max_reply_tokens": SAMPLING.max_tokens,
        }

    def _judges(self, task: Task) -> int:
        """How many judges of the proposed panel are asked about an answer of these authors; 0 if they are too few."""
        from livek12.judges.llm.client import JudgeModel
        from livek12.judges.llm.panel import Panel
        from livek12.judges.llm.shipped import DEFAULT, SHIPPED
        from livek12.judges.llm.spec import parse_judge

        spec = parse_judge(f"{SHIPPED}{DEFAULT}")
        assert spec is not None, "a panel has judges"
        with ThreadPoolExecutor(1) as threads:
            panel = Panel(spec, [JudgeModel(judge) for judge in spec.judges], threads, tells=False)
            try:
                panel.check(self.authors, task.judge.size)
            except UserError:
                return 0
            return panel.most(self.authors, task.judge.size)


def _about_open(task: Task, question: Question, verdict: Verdict, cut_short: bool) -> _Prompts:
    """The requests about the parts that the rules left open, as the method of the task words them."""
    from livek12.judges.base import Decision
    from livek12.judges.llm.client import Answer
    from livek12.judges.llm.methods import METHODS
    from livek12.judges.llm.panel_scorer import open_parts

    found, case = _Prompts(), _case(question)
    asked = open_parts(verdict, case, cut_short)[1]
    if not asked:
        return found

    def ask(prompt: str, values: Any, form: Any, about: str = "") -> Answer[Any]:
        found.put(prompt, values)
        return Answer(None, ())

    def decide(part: Any, answer: str) -> Decision:
        raise AssertionError("nothing was answered")

    METHODS[task.judge.method].run(case, asked, ask, decide)
    return found


def _audit(question: Question) -> _Prompts:
    """The request that has the reasoning audited."""
    from livek12.judges.llm.audit import PROMPT, values_of

    found = _Prompts()
    found.put(PROMPT, values_of(_case(question)))
    return found


def _case(question: Question) -> Case:
    """An answer to the question; what it says is counted apart."""
    from livek12.judges.llm.case import Case

    return Case(question.id, question, "x", shows_images=False)
