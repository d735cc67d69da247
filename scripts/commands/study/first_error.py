"""`livek12 study first-error`: critics beside experts on labelled solutions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from livek12.scripts import options
from livek12.scripts.commands.study.shared import tell

EPILOG = options.example(
    "livek12 study first-error mr_ben.jsonl --judge qwen3@openai:base_url=http://localhost:8000/v1"
)


def command(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Files of labelled solutions (MR-Ben).")],
    judge: Annotated[
        str, typer.Option("--judge", help="The judges that look for errors; written as for `livek12 judge`.")
    ] = "",
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Only the first N solutions.")] = None,
    cache: options.Cache = True,
    as_json: options.Json = False,
) -> None:
    """Ask critics for the first wrong step of solutions that experts have marked."""
    from livek12.core.errors import UserError
    from livek12.core.progress import Progress, warn
    from livek12.evaluation.options import JudgingOptions
    from livek12.evaluation.studies.first_error import STUDY, first_errors, read_solutions
    from livek12.judges.jury import Jury
    from livek12.judges.llm.audit import Auditor

    if not judge or judge == "rules":
        raise UserError("first-error needs critics: --judge MODEL[,MODEL…]")
    solutions = [solution for file in files for solution in read_solutions(file, warn)][:limit]
    with (
        Jury(JudgingOptions(judge, cache=cache).judges()) as judges,
        Progress("auditing", len(solutions)) as progress,
    ):
        assert judges.panel is not None
        result = first_errors(solutions, Auditor(judges.panel), judges.threads, progress.step)
    tell(STUDY, result, as_json)
