"""`livek12 tasks`: the tasks and their questions, as families, or (`NAME`, `--all`) name by name.

Counts are those of the data set where one is named, else those of the papers.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from livek12.core.errors import UserError
from livek12.scripts import options

if TYPE_CHECKING:
    from livek12.tasks.base import Task
    from livek12.tasks.families import Family
    from livek12.tasks.loading import Census

    Counted = list[tuple[Task, int | None]]


@options.command("livek12 tasks cfe --data data/sample")
def tasks(
    name: Annotated[str, typer.Argument(help="List only tasks whose name contains this, one by one.")] = "",
    every: Annotated[bool, options.Opt("List all tasks, one by one.", "--all")] = False,
    data: options.Data = "",
    as_json: Annotated[bool, options.Opt("Print one JSON list of all tasks with all fields.", "--json")] = False,
    judges: Annotated[bool, "List the panels of judges that come with livek12."] = False,
) -> None:
    """List the tasks with their numbers of questions, counted in --data or else as stated by the articles."""
    from livek12.tasks.families import SIGN
    from livek12.tasks.registry import families

    if judges:
        _print_judges(as_json)
        return
    if SIGN in name:
        _print_derived(name, data, as_json)
        return
    census = None
    if data:
        from livek12.tasks.loading import Census

        census = Census(data)
    members_by_family = {family: _members(family, census, name) for family in families()}
    listed = [pair for members in members_by_family.values() for pair in members]
    if not listed:
        _nothing(name, data)
    if as_json:
        shown = [_described(task, questions, data) for task, questions in listed]
        typer.echo(json.dumps(shown, ensure_ascii=False, indent=1))
    elif name or every:
        _print_names(listed)
    else:
        for family, members in members_by_family.items():
            if members:
                _print_family(family, members, data)
        typer.echo(f"\n{'Counted in ' + data if data else 'Counts are those of the papers; --data counts a data set'}.")
        typer.echo("Names one by one: `livek12 tasks --all`, or a part of a name: `livek12 tasks image_only`.")


def _members(family: Family, census: Census | None, part: str) -> Counted:
    exact = family.member(part)
    if census:
        counted: Counted = [pair for pair in census.members(family) if part in pair[0].name]
        return counted or ([(exact, count)] if exact and (count := census.count(exact)) else [])
    counted = [(task, task.published) for task in family.members() if part in task.name]
    return counted or ([(exact, exact.published)] if exact else [])


def _print_judges(as_json: bool) -> None:
    from livek12.judges.llm.spec import FOLDER, SHIPPED, shipped_panels

    panels = shipped_panels()
    if as_json:
        typer.echo(
            json.dumps([{"name": name, **panel} for name, panel in panels.items()], ensure_ascii=False, indent=1)
        )
        return
    for name, panel in panels.items():
        typer.echo(f"{SHIPPED}{name}\n    {panel['about']}")
        for judge in panel["judges"]:
            size = f"{judge['weights_gb']:g} GB of weights, a GPU of {judge['gpu_gb']} GB"
            typer.echo(f"    {judge['model']} ({judge['family']}; {judge['licence']}): {size}")
            typer.echo(f"        vLLM: {json.dumps(judge['vllm'])}")
    typer.echo(f"\nThe needs are reckoned from the weights, not measured. Files to copy from: {FOLDER}")
    typer.echo(
        "On a run: `livek12 judge RUN --judge panel:small`, in vLLM here or at --judge-engine-args base_url=URL."
    )


def _print_derived(name: str, data: str, as_json: bool) -> None:
    from livek12.tasks.families import SIGN
    from livek12.tasks.loading import questions_of
    from livek12.tasks.registry import derived_tasks, get_task

    base, _, word = name.partition(SIGN)
    derived = [get_task(name)] if word else derived_tasks(get_task(base))
    listed: Counted = [(task, len(questions_of(task, data)) if data else None) for task in derived]
    if as_json:
        typer.echo(json.dumps([_described(task, n, data) for task, n in listed], ensure_ascii=False, indent=1))
    elif listed:
        _print_names(listed)
    else:
        typer.echo(f"{base} has no derived tasks")


def _nothing(name: str, data: str) -> NoReturn:
    from livek12.tasks.loading import questions_of
    from livek12.tasks.registry import get_task

    if name:
        questions_of(get_task(name), data)
    raise UserError(f"{data}: no questions for any task; `livek12 build` makes data sets")


def _print_names(listed: Counted) -> None:
    width = max(len(task.name) for task, _ in listed)
    for task, questions in listed:
        typer.echo(f"{task.name:<{width}}  {_number(questions):>7}  {task.modality:<10}  {task.description}")


def _print_family(family: Family, members: Counted, data: str) -> None:
    from livek12.tasks.families import SIGN
    from livek12.tasks.registry import derived_tasks

    counts = {task.name: questions for task, questions in members}
    size = f"{_number(counts.get(family.base.name, 0))} questions" if data else family.size
    typer.echo(f"{family.pattern}\n    {family.base.description}: {size}")
    words = {name.removeprefix(f"{family.base.name}_"): questions for name, questions in counts.items()}
    for axis in family.axes:
        shown = [f"{word} {_number(words[word])}".rstrip() for word in words if axis.takes(word)]
        if axis.pattern and not data:
            shown.append(axis.example)
        if shown:
            typer.echo(f"    {axis.name.upper():<10}  {', '.join(shown)}")
    if derived := derived_tasks(family.base):
        typer.echo(f"    {':WHY':<10}  {', '.join(task.name.partition(SIGN)[2] for task in derived)}")


def _number(questions: int | None) -> str:
    return "" if questions is None else f"{questions:,}"


def _described(task: Task, questions: int | None, data: str) -> dict[str, Any]:
    from livek12.tasks.registry import derived_tasks

    return {
        "name": task.name,
        "benchmark": task.benchmark,
        "configs": list(task.configs),
        "modality": task.modality,
        "language": task.language,
        "selection": task.selection.named,
        "without_pictures": task.without_pictures,
        "questions": questions,
        "counted_in": data or ("the paper" if questions is not None else None),
        "version": task.version,
        "revision": task.revision,
        "prompt_sha256": task.prompt_sha256,
        "prompts": {
            language: {"file": file.name, "version": file.version, "sha256": file.sha256, "source": file.source}
            for language, file in task.prompt_files.items()
        },
        "sampling": task.sampling.model_dump(),
        "partial_credit": task.partial_credit,
        "judge": {"method": task.judge.method, "size": task.judge.size, "audit": task.judge.audit},
        "metrics": list(task.metrics),
        "trials": task.trials,
        "variant_of": task.variant_of or None,
        "differs": task.differs or None,
        "derived": [derived.name for derived in derived_tasks(task)],
        "budgets": list(task.budgets),
        "budget_base": task.budget_base if task.budgets else None,
        "description": task.description,
    }
