"""The cost of judging a run: answers that need a model, and tokens of a panel with and without the rules first.

`python scripts/bench/panel.py RUN… [--judges 3] [--reply 120] [--tokenizer FILE] [--json FILE]`. Every request is made
and measured in characters (and tokens with a tokenizer.json), without a model. A reply counts `--reply` tokens.
Follow-ups (S2S verification, retries) and the process audit are not counted.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from livek12.core.records import Verdict
from livek12.core.run.folder import RunFolder
from livek12.judges.base import Decision, undecided
from livek12.judges.cascade import default_cascade
from livek12.judges.grade import GradingConfig
from livek12.judges.llm.client import Answer
from livek12.judges.llm.forms import Form
from livek12.judges.llm.methods import METHODS, Open
from livek12.judges.llm.panel import open_parts
from livek12.judges.llm.prompts import Case, Fenced, load_prompt
from livek12.judges.parts import GradedPart
from livek12.scripts.bench.common import write_json
from livek12.tasks.registry import get_task
from livek12.tasks.scorer import case_of, mark_response


@dataclass
class PanelTally:
    """Requests to one judge, and their size."""

    answers: int = 0
    requests: int = 0
    characters: int = 0
    tokens: int = 0


@dataclass
class PanelCost:
    """A run's answers, and judging requests with and without rules."""

    answers: int
    with_rules: PanelTally
    without_rules: PanelTally


def cost_of(run: RunFolder, count: Callable[[str], int]) -> PanelCost:
    """Measures a run folder; `count` gives the tokens of a text."""
    cascade, spec = default_cascade(), run.spec()
    questions = {(task, q.id): q for task, items in run.questions().items() for q in items}
    cost = PanelCost(0, PanelTally(), PanelTally())
    for response in run.responses():
        task = get_task(response.key.task)
        question = questions[response.key.task, response.key.question_id]
        verdict = mark_response(question, response, GradingConfig(task.partial_credit), cascade)
        case = case_of(question, response, images=False)
        cut = response.finish_reason == "length"
        cost.answers += 1
        _add(cost.with_rules, case, open_parts(verdict, case, cut)[1], task.judge.method, count)
        _add(cost.without_rules, case, open_parts(_opened(verdict), case, False)[1], task.judge.method, count)
    assert spec.tasks
    return cost


def _opened(verdict: Verdict) -> Verdict:
    parts = [part.model_copy(update={"decision": "undecided", "score": None}) for part in verdict.parts]
    return verdict.model_copy(update={"parts": parts})


def _add(tally: PanelTally, case: Case, parts: Sequence[Open], method: str, count: Callable[[str], int]) -> None:
    def ask(prompt: str, values: Mapping[str, str | Fenced], form: Form[Any], about: str = "") -> Answer[Any]:
        messages, _ = load_prompt(prompt).messages(values)
        text = "\n".join(part.text or "" for message in messages for part in message.content)
        tally.requests += 1
        tally.characters += len(text)
        tally.tokens += count(text)
        return Answer(None, ())

    def decide(part: GradedPart, answer: str) -> Decision:
        return undecided("none")

    if parts:
        tally.answers += 1
        METHODS[method].run(case, parts, ask, decide)


def _counter(tokenizer: Path | None) -> Callable[[str], int]:
    if tokenizer is None:
        return lambda text: 0
    from tokenizers import Tokenizer  # type: ignore[import-untyped, unused-ignore]

    loaded = Tokenizer.from_file(str(tokenizer))
    return lambda text: len(loaded.encode(text).ids)


def report(costs: Mapping[str, PanelCost], judges: int, reply: int) -> Iterable[str]:
    """A line a run, and one for all."""
    total = PanelCost(0, PanelTally(), PanelTally())
    for name, cost in costs.items():
        total.answers += cost.answers
        for mine, theirs in ((total.with_rules, cost.with_rules), (total.without_rules, cost.without_rules)):
            for field, value in asdict(theirs).items():
                setattr(mine, field, getattr(mine, field) + value)
        yield _line(name, cost, judges, reply)
    yield _line("all", total, judges, reply)


def _line(name: str, cost: PanelCost, judges: int, reply: int) -> str:
    first, second = cost.with_rules, cost.without_rules
    tokens = [judges * (tally.tokens + reply * tally.requests) for tally in (first, second)]
    return (
        f"{name}: {first.answers} of {cost.answers} answers need a model ({first.answers / max(1, cost.answers):.1%});"
        f" {judges} judges read {judges * first.characters:,} characters, without the rules"
        f" {judges * second.characters:,}"
        + (f"; {tokens[0]:,} tokens in and out, without the rules {tokens[1]:,}" if second.tokens else "")
    )


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--judges", type=int, default=3)
    parser.add_argument("--reply", type=int, default=120)
    parser.add_argument("--tokenizer", type=Path)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    count = _counter(args.tokenizer)
    costs = {run.name: cost_of(RunFolder.open(run), count) for run in args.runs}
    for line in report(costs, args.judges, args.reply):
        print(line)
    write_json(args.json, {name: asdict(cost) for name, cost in costs.items()})


if __name__ == "__main__":
    main()
