"""`livek12 generate`: fills a run folder with responses and nothing else."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from livek12.scripts import options

if TYPE_CHECKING:
    from livek12.core.run_folder import RunFolder
    from livek12.scripts.beside import Beside
    from livek12.scripts.pipeline import Exam
    from livek12.tasks.base import Task

app = options.command()


@app.command()
def generate(
    task: options.Tasks,
    model: options.Model,
    out: options.Out,
    data: options.Data = "",
    engine: options.Engine = "auto",
    engine_args: options.EngineArgs = "",
    limit: options.Limit = None,
    trials: options.Trials = 1,
    max_tokens: options.MaxTokens = None,
    temperature: options.Temperature = None,
    seed: options.Seed = None,
    budgets: options.Budgets = "",
    thinking_budget: options.ThinkingBudget = None,
) -> None:
    """Only ask: fill a run folder with responses."""
    from livek12.tasks.registry import with_budgets

    sampling = options.sampling(max_tokens, temperature, seed, thinking_budget)
    ask(with_budgets(task, budgets), model, out, data, engine, engine_args, limit, trials, sampling)


def ask(
    task: str,
    model: str,
    out: Path,
    data: str,
    engine: str,
    engine_args: str,
    limit: int | None,
    trials: int,
    sampling: Mapping[str, Any],
    beside: Beside | None = None,
) -> tuple[RunFolder, Exam]:
    """Opens the run folder for these options and asks what is missing; `beside` may mark meanwhile."""
    from livek12.core.engines import ENGINES, choose_engine, make_engine, parse_engine_args
    from livek12.core.engines.replay import ReplayEngine
    from livek12.core.errors import UserError
    from livek12.core.ranks import join_launch, only_one_started
    from livek12.core.run_folder import RunFolder
    from livek12.core.sessions import Sitting
    from livek12.scripts.pipeline import generate as fill
    from livek12.scripts.pipeline import load_exam, make_spec, one_of, outstanding
    from livek12.scripts.progress import warn
    from livek12.scripts.stages import tell_memory
    from livek12.tasks.registry import get_tasks

    if not model.strip():
        raise UserError("no model: give --model a folder, a Hub name, the name at an endpoint, or a recorded file")
    tasks = get_tasks(task)
    join_launch(out)
    if only_one_started():
        warn("`accelerate launch --cpu` starts one process, however many are asked for; --multi_gpu starts them all")
    args = parse_engine_args(engine_args)
    name = choose_engine(model, args) if engine == "auto" else one_of("--engine", engine, ENGINES)
    _check(tasks, sampling, name)
    exam = load_exam(data, tasks, limit)
    # A recorded file is cheap to open and knows whose answers it holds.
    recorded = make_engine(name, model, args) if name == "replay" else None
    spec = make_spec(exam, recorded.model if recorded else model, name, args, trials, limit, sampling)
    folder = RunFolder.create_or_resume(out, spec, exam.questions, warn)
    began, tried = time.time(), folder.tries()
    if waiting := outstanding(folder):
        sitting = Sitting(folder.path, "generate", name, spec.model, args)
        with beside or nullcontext(), sitting, ExitStack() as stack:  # the engine goes first, then who marks beside it
            live = recorded or make_engine(name, model, args | _for_thinking(name, args, sampling))
            stack.callback(live.close)
            sitting.loaded(live)
            fill(folder, exam, live, partial(beside.start, folder, name, args, waiting) if beside else None, tried)
        tell_memory(folder, began)
    if isinstance(recorded, ReplayEngine):
        asked = {question.id for questions in exam.questions.values() for question in questions}
        if strangers := sorted(recorded.question_ids() - asked):
            warn(f"{model}: {len(strangers)} recorded questions are not in this run, the first: {strangers[0]!r}")
    return folder, exam


def _check(tasks: Iterable[Task], sampling: Mapping[str, Any], engine: str) -> None:
    """Refuses limits that contradict each other, or that nobody could keep."""
    from livek12.core.errors import UserError

    limited = [task.name for task in tasks if task.budget is not None]
    if limited and "max_tokens" in sampling:
        raise UserError(f"--max-tokens and the budget of {limited[0]} are two limits of one answer: give one of them")
    if "thinking_budget" in sampling and engine == "replay":
        raise UserError("recorded answers are not drawn again: --thinking-budget says nothing about them")


def _for_thinking(engine: str, args: Mapping[str, str], sampling: Mapping[str, Any]) -> dict[str, str]:
    """What an engine has to be told before it is asked for a thinking budget."""
    asked = "thinking_budget" in sampling and engine == "vllm" and not args.get("base_url")
    return {"thinking_budgets": "true"} if asked else {}
