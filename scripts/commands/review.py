"""`livek12 review` and `label-plan`: people confirm the questions of `ingest`, or label chosen answers of a run."""

from __future__ import annotations

import getpass
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from livek12.core.arguments import one_of
from livek12.core.errors import UserError
from livek12.core.progress import tell, warn
from livek12.scripts import options
from livek12.scripts.endings import answer

if TYPE_CHECKING:
    from livek12.dataset_builders.ingest.drafts import Draft
    from livek12.dataset_builders.review.export import Exported


@options.command("livek12 review mine")
def review(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A folder made by `livek12 ingest`, or a run folder to label.")
    ],
    port: Annotated[int, options.Opt("Port to listen on; 0: a free one.", min=0, max=65535)] = 7860,
    host: Annotated[str, "Address to listen on."] = "127.0.0.1",
    reviewer: Annotated[str, "Your name; default: your user name."] = "",
    export: Annotated[Path | None, "Write the accepted questions to this folder, without serving the page."] = None,
    pdfs: Annotated[Path | None, "Folder of the PDFs and keys, to read drawn boxes and cut moved figures from."] = None,
    status: Annotated[bool, "Print the state of the review, without serving the page."] = False,
    rater: Annotated[str, "For a run: your name; default: your user name."] = "",
    plan: Annotated[
        Path | None, "For a run: plan of the answers; default: RUN/label-plan.jsonl, else all answers."
    ] = None,
    data: Annotated[str, "For a run: current place of its data set, if it has moved."] = "",
    show_verdict: Annotated[bool, "For a run: show its verdicts; labels are then not blind."] = False,
    as_json: options.Json = False,
) -> None:
    """Review ingested questions, or label the answers of a run, on a page in the browser."""
    if (folder / "run.json").is_file():
        if export is not None or pdfs is not None:
            raise UserError(
                f"{folder}: is a run folder, whose labels lie in it: --export and --pdfs are for ingested ones"
            )
        _label(folder, rater or reviewer or user_name(), plan, data, show_verdict, status, host, port, as_json)
        return
    if rater or plan is not None or data or show_verdict:
        raise UserError(
            f"{folder}: is no run folder (no run.json): --rater, --plan, --data, --show-verdict are for runs"
        )
    from livek12.dataset_builders.review.export import export as run
    from livek12.dataset_builders.review.page import summary
    from livek12.dataset_builders.review.store import ReviewStore

    with ReviewStore(folder, status or export is not None, pdfs) as store:
        for line in store.problems:
            tell(f"warning: {line}", err=True)
        if export is not None:
            _tell_export(run(store, export, pdfs), export, as_json)
        elif status:
            state = summary(store.board)
            answer(as_json, state, *_lines(state))
        else:
            _serve(store, reviewer or user_name(), host, port, as_json)


def _serve(store: Any, reviewer: str, host: str, port: int, as_json: bool) -> None:
    from livek12.dataset_builders.review.page import Rendering, serve
    from livek12.report.markup import render, render_answer

    def ready(address: str) -> None:
        if as_json:
            typer.echo(json.dumps({"url": address, "reviewer": reviewer}))
        else:
            tell(f"reviewing {store.root} as {reviewer}: open {address} (Ctrl+C ends it; all is stored as you go)")

    def trial(draft: Draft, response: str) -> dict[str, Any]:
        from livek12.evaluation.verify import verify

        scheme = [[criterion.model_dump() for criterion in criteria] for criteria in draft.scheme]
        return asdict(verify(draft.answer or None, response, draft.question, scheme=scheme))

    serve(store, Rendering(render, render_answer), reviewer, host, port, ready, trial)


def _label(
    folder: Path,
    rater: str,
    plan: Path | None,
    data: str,
    show_verdict: bool,
    status: bool,
    host: str,
    port: int,
    as_json: bool,
) -> None:
    from livek12.evaluation.labelling.server import open_labels, progress, serve

    if status:
        labelling = progress(folder, plan, warn)
        raters = (f"{name}: {labelled} labelled" for name, labelled in labelling["raters"].items())
        answer(as_json, labelling, f"{folder}: {labelling['answers']} answers to label", *raters)
        return

    def ready(address: str) -> None:
        if as_json:
            typer.echo(json.dumps({"url": address, "rater": rater}))
        else:
            tell(f"labelling {folder} as {rater}: open {address} (Ctrl+C ends it; all is stored as you go)")

    store, shown = open_labels(folder, plan, data, show_verdict, warn)
    with store:
        serve(store, shown, rater, host, port, ready)


def user_name() -> str:
    """Name of the system's user."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        return "reviewer"


def _tell_export(done: Exported, out: Path, as_json: bool) -> None:
    if as_json:
        typer.echo(done.model_dump_json())
        return
    tell(f"{out}: {done.accepted} accepted questions of {', '.join(done.papers)}; {done.cut} figures cut anew")
    if done.unkeyed:
        tell(f"without a key: {done.unkeyed}; their answers get no mark until you add it (livek12 keys add)")
    tell(f"left out: {done.rejected} rejected, {done.conflict} in conflict, {done.open} open")
    for reason, many in done.reasons.items():
        tell(f"  rejected {many}: {' '.join(reason.split())[:120]}")
    tell(f"go on with: livek12 build livek12 --source {out} --out DATA")


def _lines(status: dict[str, Any]) -> Iterator[str]:
    for paper in status["papers"]:
        states = ", ".join(f"{paper[state]} {state}" for state in ("accepted", "rejected", "conflict", "open"))
        yield f"{paper['paper_id']}: {paper['questions']} questions, {states}"
    for pair in status["agreement"]:
        kappa, answers = (_coefficient(pair[name]) for name in ("kappa", "answer_kappa"))
        yield f"{pair['a']} and {pair['b']}: {pair['same']} of {pair['n']} decided alike (Cohen's κ {kappa})"
        yield f"  same answer in {pair['same_answer']} of {pair['both_accepted']} both accepted (κ {answers})"


def _coefficient(value: float | None) -> str:
    return "not defined" if value is None else f"{value:.3f}"


@options.command("livek12 label-plan runs/qwen3 --budget 60")
def label_plan(
    run: options.OwnRun,
    budget: Annotated[int, options.Opt("Number of answers to label.", min=1)] = 60,
    seed: Annotated[int, "Seed of the random choice."] = 0,
    metric: Annotated[str, "Metric to correct: accuracy or mark."] = "accuracy",
    out: Annotated[Path | None, "Default: RUN/label-plan.jsonl."] = None,
) -> None:
    """Choose the answers that reveal most about the judge's errors, and print how to label them."""
    from livek12.core.files import write_atomically
    from livek12.core.run.folder import LABEL_PLAN, RunFolder
    from livek12.core.run.sums import write_summed
    from livek12.evaluation.studies.labels import METRICS
    from livek12.evaluation.studies.labels import label_plan as chosen

    file = out or run / LABEL_PLAN
    if file.exists():
        raise UserError(f"{file}: is there already; remove it, or name another file by --out")
    rows = chosen(RunFolder.open(run, warn).judged_rows(), budget, seed, one_of("--metric", metric, METRICS))
    write = write_atomically if out else write_summed
    write(file, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    counts: dict[str, list[int]] = {}
    for row in rows:
        counts[f"{row['task']}, {row['stratum']}"] = [row["planned"], row["answers"]]
    for name, (planned, of) in sorted(counts.items()):
        typer.echo(f"{name}: {planned} of {of} answers", err=True)
    where = "" if out is None else f" --plan {out}"
    typer.echo(f"{file}: {len(rows)} answers; label them with: livek12 review {run}{where} --rater YOUR-NAME", err=True)
