"""`livek12 judge-pairs`: judges answers beside their keys, without a run folder."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from livek12.core.progress import tell
from livek12.evaluation.options import JudgingOptions
from livek12.scripts import options
from livek12.scripts.endings import answer

if TYPE_CHECKING:
    from livek12.evaluation.pair_file import PairCounts


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

    counts = judge_file(source, target, judging.judges(), model)
    answer(as_json, {"out": str(target), **asdict(counts)}, _told(target, counts))
    if compare:
        _compare(source, target, compare)
    if counts.bad or counts.lost:
        raise typer.Exit(1)


def _compare(source: Path, target: Path, other: str) -> None:
    from livek12.evaluation.other_verdicts import compare_verdicts

    page = target.with_suffix(".html")
    compared = compare_verdicts(source, target, other)
    compared.write_page(page)
    tell(f"{page}: {' '.join(compared.sentences())}")


def _told(target: Path, counts: PairCounts) -> str:
    return (
        f"{target}: {counts.accepted} accepted, {counts.rejected} rejected, {counts.undecided} undecided"
        + (f", {counts.bad} bad rows" if counts.bad else "")
        + (f", {counts.lost} without a judge's answer" if counts.lost else "")
    )
