"""`livek12 tasks`: the list of tasks, for people or (`--json`) for programs."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from livek12.scripts import options

app = options.command()


@app.command()
def tasks(as_json: Annotated[bool, typer.Option("--json", help="One JSON list.")] = False) -> None:
    """List the tasks."""
    from livek12.tasks.registry import all_tasks

    if as_json:
        listed = [
            {
                "name": task.name,
                "benchmark": task.benchmark,
                "configs": list(task.configs),
                "modality": task.modality,
                "language": task.language,
                "version": task.version,
                "prompt_sha256": task.prompt_sha256,
                "sampling": task.sampling.model_dump(),
                "partial_credit": task.partial_credit,
                "description": task.description,
            }
            for task in all_tasks().values()
        ]
        typer.echo(json.dumps(listed, ensure_ascii=False, indent=1))
        return
    width = max(map(len, all_tasks()))
    for task in all_tasks().values():
        typer.echo(f"{task.name:<{width}}  {task.modality:<10}  {task.description}")
