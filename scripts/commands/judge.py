"""`livek12 judge`, `judge-pairs` and `serve-judge`: mark run folders, files of pairs, and answers over HTTP."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from livek12.core.arguments import parse_engine_args
from livek12.core.errors import UserError
from livek12.core.progress import tell, warn
from livek12.evaluation.options import JudgingOptions
from livek12.scripts import options
from livek12.scripts.endings import answer, end_judging

if TYPE_CHECKING:
    from livek12.evaluation.pair_file import PairCounts


@options.command("livek12 judge runs/qwen3 --judge Qwen/Qwen3-32B")
def judge(
    run: options.OwnRun,
    judging: Annotated[JudgingOptions, options.Offered(names={"judge_repeats": "--repeats"})],
    answers: Annotated[str, "Data set with the reference answers, if the run's questions have none."] = "",
    data: options.MovedData = "",
    workers: Annotated[int | None, options.Opt("Processes for the rules; default: one per core.", min=1)] = None,
    engine_args: Annotated[str, "ray=auto, local or HOST:PORT: run the rules on a Ray cluster."] = "",
    again: Annotated[bool, "Mark everything again; old marks count until then."] = False,
    as_json: options.Json = False,
) -> None:
    """Mark the unmarked and undecided answers of a run folder."""
    from livek12.core.run.folder import RunFolder, states
    from livek12.evaluation import marking

    judges = judging.judges(answers, data)
    placing = parse_engine_args(engine_args)
    if {*placing} - {"ray"} or (placing and judges.panel is not None):
        raise UserError("--engine-args: rules take ray=… alone; those of judge models are --judge-engine-args")
    folder = RunFolder.open(run, warn)
    if judges.panel is None and not placing:
        options.confine(run, data=[answers, data])
    lost = marking.judge(folder, again=again, options=judges, workers=workers, ray=str(placing.get("ray", "")))
    counts = states(folder)
    summary = ", ".join(f"{count} {state.replace('_', ' ')}" for state, count in counts.items() if count)
    answer(as_json, {"run": str(run), **counts, "lost": lost}, f"{run}: {summary}; next: livek12 report {run}")
    end_judging(lost)


@options.command("livek12 judge-pairs pairs.jsonl decisions.jsonl --judge Qwen/Qwen3-32B")
def judge_pairs(
    source: Annotated[
        Path, typer.Argument(metavar="IN.jsonl", help="Rows {id, question, question_type, gold, response}.")
    ],
    target: Annotated[
        Path, typer.Argument(metavar="OUT.jsonl", help="Judgements, one line per line of IN, in the same order.")
    ],
    judging: Annotated[JudgingOptions, options.Offered(without=("judge_repeats", "audit", "stages"))],
    model: Annotated[str, "Model that wrote the responses; it never judges itself."] = "",
    compare: Annotated[str, "math-verify, or a true/false column of IN; OUT.html shows the disagreements."] = "",
    as_json: options.Json = False,
) -> None:
    """Judge responses against reference answers; resumes an unfinished file."""
    from livek12.evaluation.pair_file import judge_file

    if compare:  # what the page needs is missed before anything is judged
        from livek12.evaluation.other_verdicts import compare_verdicts
    counts = judge_file(source, target, judging.judges(), model)
    answer(as_json, {"out": str(target), **asdict(counts)}, _told(target, counts))
    if compare:
        page = target.with_suffix(".html")
        compared = compare_verdicts(source, target, compare)
        compared.write_page(page)
        tell(f"{page}: {' '.join(compared.sentences())}")
    if counts.bad or counts.lost:
        raise typer.Exit(1)


def _told(target: Path, counts: PairCounts) -> str:
    return (
        f"{target}: {counts.accepted} accepted, {counts.rejected} rejected, {counts.undecided} undecided"
        + (f", {counts.bad} bad rows" if counts.bad else "")
        + (f", {counts.lost} without a judge's answer" if counts.lost else "")
    )


@options.command("livek12 serve-judge --port 7870 --workers 4")
def serve_judge(
    host: Annotated[str, "Address to listen on."] = "127.0.0.1",
    port: Annotated[int, options.Opt("Port to listen on; 0: a free one.", min=0, max=65535)] = 7870,
    workers: Annotated[int | None, options.Opt("Number of processes; default: one per core.", min=1)] = None,
    undecided: Annotated[float | None, "Score of undecided answers; default: null."] = None,
    judge: options.Judge = "rules",
    as_json: options.Json = False,
) -> None:
    """Serve the judge over HTTP: POST /verify, POST /verify/batch, GET /health."""
    from livek12.core.serving import is_loopback
    from livek12.evaluation.judge_service import serve
    from livek12.evaluation.verify import Verifier

    def ready(address: str, version: str) -> None:
        if as_json:
            typer.echo(json.dumps({"url": address, "judge": version}))
            return
        tell(f"judging at {address} (POST /verify, POST /verify/batch, GET /health; Ctrl+C ends it)")
        if not is_loopback(host):
            tell("warning: whoever reaches this address may ask; there is no password", err=True)

    with Verifier(workers, undecided, judge) as verifier:
        serve(verifier, host, port, ready)
