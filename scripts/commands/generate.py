"""`livek12 generate`: fills a run folder with responses and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from livek12.scripts import options

if TYPE_CHECKING:
    from livek12.core.run_folder import RunFolder
    from livek12.scripts.pipeline import Exam

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
) -> None:
    """Only ask: fill a run folder with responses."""
    sampling = options.sampling(max_tokens, temperature, seed)
    ask(task, model, out, data, engine, engine_args, limit, trials, sampling)


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
) -> tuple[RunFolder, Exam]:
    """Opens the run folder for these options and asks what is missing."""
    from livek12.core.engines import ENGINES, choose_engine, make_engine, parse_engine_args
    from livek12.core.engines.replay import ReplayEngine
    from livek12.core.errors import UserError
    from livek12.core.run_folder import RunFolder
    from livek12.scripts.pipeline import generate as fill
    from livek12.scripts.pipeline import load_exam, make_spec, one_of, outstanding
    from livek12.scripts.progress import warn
    from livek12.tasks.registry import get_tasks

    if not model.strip():
        raise UserError("no model: give --model a folder, a Hub name, the name at an endpoint, or a recorded file")
    tasks = get_tasks(task)
    args = parse_engine_args(engine_args)
    name = choose_engine(model, args) if engine == "auto" else one_of("--engine", engine, ENGINES)
    exam = load_exam(data, tasks, limit)
    # A recorded file is cheap to open and knows whose answers it holds.
    recorded = make_engine(name, model, args) if name == "replay" else None
    spec = make_spec(exam, recorded.model if recorded else model, name, args, trials, limit, sampling)
    folder = RunFolder.create_or_resume(out, spec, exam.questions, warn)
    if outstanding(folder):
        live = recorded or make_engine(name, model, args)
        try:
            fill(folder, exam, live)
        finally:
            live.close()
    if isinstance(recorded, ReplayEngine):
        asked = {question.id for questions in exam.questions.values() for question in questions}
        if strangers := sorted(recorded.question_ids() - asked):
            warn(f"{model}: {len(strangers)} recorded questions are not in this run, the first: {strangers[0]!r}")
    return folder, exam
