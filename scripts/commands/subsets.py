"""`livek12 subsets`: proposes members of subsets for review, and shows the state of the review."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from livek12.core.arguments import one_of
from livek12.core.progress import tell
from livek12.scripts import options
from livek12.scripts.endings import CommandWork, answer, end_requests

if TYPE_CHECKING:
    from livek12.dataset_builders.proposals.subsets.criteria import Subset
    from livek12.dataset_builders.proposals.subsets.proposing import ProposalReport

subsets = options.group()


@subsets.callback(epilog=options.example("livek12 subsets propose mini --data data/sample --out mini.csv"))
def about() -> None:
    """Propose members of a subset for review."""


@options.subcommand(subsets, "livek12 subsets list")
def list_subsets(as_json: options.Json = False) -> None:
    """List the subsets that can be proposed, with their criteria."""
    from livek12.dataset_builders.proposals.subsets.criteria import SUBSETS

    if as_json:
        typer.echo(json.dumps([_described(subset) for subset in SUBSETS.values()], ensure_ascii=False, indent=1))
        return
    for subset in SUBSETS.values():
        quota = f", {subset.per_subject} a subject" if subset.per_subject else ""
        tell(f"{subset.name} ({subset.benchmark or 'any benchmark'}, by {subset.by}{quota}): {subset.says}")
        for criterion in subset.criteria:
            tell(f"  {criterion.name} (weight {criterion.weight}): {criterion.says}")


@options.subcommand(subsets, "livek12 subsets propose mini --data data/sample --out mini.csv")
def propose(
    name: Annotated[str, typer.Argument(help="The subset; see `livek12 subsets list`.")],
    data: Annotated[Path, options.Opt("Folder made by `livek12 build`.", envvar="LIVEK12_DATA")],
    out: Annotated[Path, "The sheet (CSV); reviews in it are kept."],
    runs: Annotated[str, "Run folders, comma-separated; for a cascade, in its order."] = "",
    without_images: Annotated[str, "Run folders without images, for image_dependent."] = "",
    model: Annotated[str, "Annotator: a model folder, name or recorded file."] = "",
    engine: options.Engine = "auto",
    engine_args: options.EngineArgs = "",
    max_tokens: options.MaxTokens = None,
    per_subject: Annotated[int | None, options.Opt("Maximum number of questions per subject.", min=1)] = None,
    benchmark: Annotated[str, "Benchmark, if several have this subset."] = "",
    confidence: Annotated[float, "Share of trials that must be right to count as solved."] = 1.0,
    share: Annotated[float, "Size of mini, as a share of the set."] = 0.1,
    seed: Annotated[int, "Seed for ties and draws."] = 0,
    all_questions: Annotated[
        bool, options.Opt("Also write questions that are not proposed, with the reason.", "--all")
    ] = False,
    pictures: Annotated[bool, "Also write the questions' images next to the sheet."] = False,
    as_json: options.Json = False,
) -> None:
    """Write proposals with their evidence to a sheet for review."""
    from livek12.dataset_builders.proposals.subsets.proposing import MAX_TOKENS, Wanted
    from livek12.dataset_builders.proposals.subsets.proposing import propose as run
    from livek12.dataset_builders.registry import builders
    from livek12.engines.asking import model_spec

    annotator = model_spec(model, "--model", engine, engine_args) if model else None
    with CommandWork() as work:
        wanted = Wanted(
            name=name,
            data=data,
            benchmark=one_of("--benchmark", benchmark, builders()) if benchmark else None,
            runs=_paths(runs),
            without_images=_paths(without_images),
            max_tokens=max_tokens or MAX_TOKENS,
            engine=work.starting(annotator) if annotator else None,
            per_subject=per_subject,
            confidence=confidence,
            share=share,
            seed=seed,
            everything=all_questions,
            pictures=pictures,
        )
        report = run(wanted, out, work.counting("annotating"))
    _show(name, report, out, as_json)
    end_requests(report.failed, " to the annotator")


@options.subcommand(subsets, "livek12 subsets label --data data/mine --benchmark kmmmu --model qwen3 --out labels.csv")
def label(
    data: Annotated[Path, options.Opt("Folder made by `livek12 build`.", envvar="LIVEK12_DATA")],
    out: Annotated[Path, "The sheet (CSV); reviews in it are kept."],
    model: Annotated[str, "Labelling model: a folder, name or recorded file."],
    engine: options.Engine = "auto",
    engine_args: options.EngineArgs = "",
    max_tokens: options.MaxTokens = None,
    benchmark: Annotated[str, "Benchmark of the questions."] = "kmmmu",
    field: Annotated[str, options.Opt("Fields, comma-separated.", metavar="NAME[,NAME]")] = "",
    audit: Annotated[int, options.Opt("Number of labels per field for people to check.", min=1)] = 300,
    seed: Annotated[int, "Seed of the sample."] = 0,
) -> None:
    """Have a model name questions' subject, task and visual form, and draw a sample for people to check."""
    from livek12.dataset_builders.proposals.subsets.proposing import LABEL_FIELDS, MAX_TOKENS
    from livek12.dataset_builders.proposals.subsets.proposing import label as run
    from livek12.dataset_builders.registry import builders
    from livek12.engines.asking import model_spec

    fields = [one_of("--field", name.strip(), LABEL_FIELDS) for name in (field or ",".join(LABEL_FIELDS)).split(",")]
    benchmark = one_of("--benchmark", benchmark, builders())
    annotator = model_spec(model, "--model", engine, engine_args)
    with CommandWork() as work:
        start, begin = work.starting(annotator), work.counting("labelling")
        report = run(data, benchmark, fields, start, out, audit, max_tokens or MAX_TOKENS, seed, begin)
    for line in report.problems[:3]:
        tell(f"no label: {line}", err=True)
    tell(f"{len(report.rows)} labels, {len(report.problems)} missing: {out}")
    end_requests(report.failed)


@options.subcommand(subsets, "livek12 subsets status mini.csv")
def status(
    sheet: Annotated[Path, typer.Argument(help="A sheet under review.")],
    other: Annotated[Path | None, typer.Argument(help="The same sheet by a second reviewer.")] = None,
    as_json: options.Json = False,
) -> None:
    """Show the state of the review.

    With the sheets of two reviewers, also how far they agree (Cohen's kappa).
    """
    from livek12.dataset_builders.proposals.subsets import sheet as review
    from livek12.dataset_builders.proposals.subsets.proposing import audits
    from livek12.dataset_builders.proposals.subsets.sheet import read

    rows = read(sheet)
    pairs = review.agreement(rows, read(other)) if other else []
    counts, labels = review.counts(rows), audits(rows)
    if as_json:
        shown = {"counts": counts, "agreement": [asdict(pair) for pair in pairs]}
        shown |= {"labels": [asdict(audit) for audit in labels]} if labels else {}
        typer.echo(json.dumps(shown, ensure_ascii=False))
        return
    for line in review.problems(rows):
        tell(f"does not count: {line}")
    for subset, tally in counts.items():
        tell(f"{subset}: " + ", ".join(f"{what} {count}" for what, count in tally.items()))
    for audit in labels:
        share = "" if not audit.interval else f", 95 % [{audit.interval[0]:.1%}, {audit.interval[1]:.1%}]"
        tell(
            f"{audit.field}: {sum(audit.labels.values())} labels of {len(audit.labels)} kinds; audited {audit.decided}"
            f" of {audit.sampled}, right {audit.accepted}{share}"
        )
    for pair in pairs:
        kappa = "does not exist" if pair.kappa is None else f"{pair.kappa:.3f}"
        tell(
            f"{pair.subset}: both decided {pair.both}, alike {pair.agreed}, both accepted {pair.accepted},"
            f" only one decided {pair.only_one}; Cohen's kappa {kappa}"
        )
        for id in pair.disputed:
            tell(f"  disputed: {id}")


def _described(subset: Subset) -> dict[str, Any]:
    fields = {name: getattr(subset, name) for name in ("name", "benchmark", "by", "per_subject", "says")}
    criteria = [
        {"name": criterion.name, "weight": criterion.weight, "says": criterion.says} for criterion in subset.criteria
    ]
    return {**fields, "criteria": criteria}


def _paths(listed: str) -> list[Path]:
    return [Path(path.strip()) for path in listed.split(",") if path.strip()]


def _show(name: str, report: ProposalReport, out: Path, as_json: bool) -> None:
    groups = Counter((row.state, row.language, row.subject) for row in report.rows)
    rows = [dict(zip(("state", "language", "subject"), key, strict=True), rows=n) for key, n in groups.items()]
    counts = [
        f"{state}: {language} {subject or '(no subject)'} {n}" for (state, language, subject), n in groups.items()
    ]
    states = Counter(row.state for row in report.rows)
    summary = ", ".join(f"{count} {state}" for state, count in states.items()) or "nothing proposed"
    content = {"subset": name, "questions": report.questions, "rows": rows, "notes": report.lines}
    answer(as_json, content, *report.lines, *counts, f"{name}: {report.questions} questions, {summary}: {out}")
