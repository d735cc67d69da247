"""`livek12 run`, `generate` and `bank`: ask the questions of tasks, all or what tells most; resume interrupted runs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from livek12.core.errors import UserError
from livek12.core.ranks import this_rank
from livek12.evaluation.options import OUTPUT, TASK, JudgingOptions, RunOptions, SamplingOptions
from livek12.scripts import options
from livek12.scripts.endings import answer, end, end_judging, finish

if TYPE_CHECKING:
    from livek12.core.run.folder import RunFolder
    from livek12.evaluation.adaptive import Adaptive
    from livek12.evaluation.asking import PromptCost


@options.command("livek12 run --task livek12_text_only --model Qwen/Qwen3-8B --data data/sample --out runs/qwen3")
def run(
    asking: RunOptions,
    sampling: SamplingOptions,
    judging: JudgingOptions,
    profile: options.Profile = "article",
    adaptive: Annotated[
        Path | None,
        options.Opt("Item bank (`livek12 bank`): ask its most informative questions.", rich_help_panel=TASK),
    ] = None,
    until: Annotated[
        str,
        options.Opt("End of an adaptive exam: se=0.3 (of the ability), n=50, or both.", rich_help_panel=TASK),
    ] = "",
    batch: Annotated[
        int | None,
        options.Opt("Questions that an adaptive exam asks at once; default: 5.", min=1, rich_help_panel=TASK),
    ] = None,
    dry_run: Annotated[
        bool,
        options.Opt(
            "Only print the number of requests and tokens and, with price=, the cost.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    as_json: options.Json = False,
    config: options.Config = None,
) -> None:
    """Ask, judge, score and report in one go."""
    from livek12.core.scoring import profile_named
    from livek12.evaluation.asking import ask_and_mark, expected

    exam = adaptive_exam(asking, adaptive, until, batch, dry_run)
    judges = judging.judges()
    formulas = profile_named(profile)
    draws = sampling.given()
    if dry_run:
        _show_cost(expected(asking, draws), asking, as_json)
        return
    marked = ask_and_mark(asking.with_trials(), draws, judges, judging.stages, exam)
    if marked is None:
        return
    finished = finish(marked.folder, formulas, exam=marked.exam, as_json=as_json)
    end(marked.folder, finished.failed, finished.written)
    end_judging(marked.lost)


def adaptive_exam(
    asking: RunOptions, bank: Path | None, until: str, batch: int | None, dry_run: bool
) -> Adaptive | None:
    """Exam of `--adaptive`, `--until` and `--batch`."""
    from livek12.evaluation.adaptive import BATCH, Adaptive

    if bank is None:
        if until or batch:
            raise UserError("--until and --batch go with --adaptive BANK")
        return None
    if not until:
        raise UserError("--adaptive needs its end: --until se=0.3 (standard error of the ability) or n=50")
    others = {"--limit": asking.limit, "--questions": asking.questions, "--dry-run": dry_run}
    if given := [name for name, value in others.items() if value]:
        raise UserError(f"--adaptive chooses the questions as it goes: leave {given[0]} out")
    return Adaptive.opened(bank, until, batch or BATCH)


def _show_cost(costs: Mapping[str, PromptCost], asking: RunOptions, as_json: bool) -> None:
    from livek12.evaluation.asking import as_json as in_json
    from livek12.evaluation.asking import prices, sentences

    most = prices(costs, asking.engine_args)
    if as_json:
        typer.echo(json.dumps(in_json(costs) | ({"price": most} if most else {})))
        return
    lines = [*sentences(costs)]
    if most:
        lines.append(f"at most {most['direct']:,.2f} asked directly, {most['batch']:,.2f} by batches")
    typer.echo("\n".join(lines))


@options.command("livek12 generate --task cfe_text --model Qwen/Qwen3-8B --data data/sample --out runs/qwen3")
def generate(asking: RunOptions, sampling: SamplingOptions, as_json: options.Json = False) -> None:
    """Only ask: write the responses to a run folder."""
    from livek12.evaluation.asking import ask

    draws = sampling.given()
    folder, _ = ask(asking.with_trials(), draws)
    if this_rank().first:
        counts = _counts(folder)
        summary = ", ".join(f"{number} {what}" for what, number in counts.items())
        line = f"{asking.out}: {summary}; next: livek12 judge {asking.out}"
        answer(as_json, {"run": str(asking.out), **counts}, line)
        end(folder, counts["failed"])


def _counts(folder: RunFolder) -> dict[str, int]:
    """By state; the rest is in the hands of another command."""
    spec, answered = folder.spec(), folder.answered()
    requested = sum(task.questions for task in spec.tasks) * spec.trials
    states = Counter(failure.state for key, failure in folder.failures().items() if key not in answered)
    return {
        "asked": requested,
        "answered": len(answered),
        "unsupported": states["unsupported"],
        "failed": states["failed"],
    }


@options.command("livek12 bank runs/a runs/b runs/c runs/d runs/e --out bank.json")
def bank(
    runs: options.ScoredRuns,
    out: Annotated[Path, "The bank's file."],
    task: Annotated[str, "Task of the runs, if they have several."] = "",
    area: Annotated[str, "Field of the questions that gives the content area."] = "subject",
    samples: Annotated[Path | None, "Also write a fixed exam of --size questions for lm-eval's --samples."] = None,
    size: Annotated[int, options.Opt("Questions of --samples.", min=1)] = 50,
    as_json: options.Json = False,
) -> None:
    """Make an item bank from marked runs, for `run --adaptive`."""
    from livek12.core.files import write_atomically
    from livek12.evaluation.adaptive import bank_of_runs, fixed_exam

    made = bank_of_runs(runs, area, task)
    if samples is not None:
        write_atomically(samples, json.dumps({made.task: fixed_exam(made, runs[0], size)}) + "\n")
    write_atomically(out, made.model_dump_json() + "\n")
    trial, tau = made.trial, made.trial.tau
    lines = [
        f"{out}: version {made.version}, {len(made.items):,} questions of {made.task}, of {len(made.models)} models",
        f"tried on each of them, left out of the fit: with {trial.questions} questions the mark is off by"
        f" {trial.error:.1f} points in the mean, drawn at random by {trial.random:.1f}"
        + ("" if tau is None else f", Kendall's tau of the ranking {tau:.2f}"),
    ]
    answer(as_json, {"file": str(out), **made.model_dump(exclude={"items"}), "questions": len(made.items)}, *lines)
