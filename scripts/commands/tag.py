"""`livek12 tag` and `scheme`: propose tags and marking schemes of questions, for review."""

from __future__ import annotations

from contextlib import closing, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from livek12.core.engine_kinds import BUILT_IN, engine_names, is_engine
from livek12.core.errors import UserError
from livek12.core.progress import Progress, tell
from livek12.scripts import options
from livek12.scripts.endings import answer

if TYPE_CHECKING:
    from livek12.dataset_builders.proposals.tagging.labelled import Item
    from livek12.dataset_builders.proposals.tagging.tree import Tree


@options.command("livek12 tag mine --labels labelled.jsonl")
def tag(
    data: Annotated[
        Path | None, typer.Argument(help="An ingested folder, a built data set, or a file or folder of rows.")
    ] = None,
    tree: Annotated[
        Path | None, "YAML file of knowledge points; default: those of the labels, else the built-in tree."
    ] = None,
    engine: Annotated[
        str,
        (
            "Who answers: light, embedding or the folder of a trained model (tags); that of --model (variables and"
            f" flows): {BUILT_IN}."
        ),
    ] = "auto",
    how: Annotated[str, options.Opt("The older name for who tags.", "--with", hidden=True)] = "",
    labels: Annotated[
        list[Path] | None, options.Opt("Labelled data to learn from; repeatable.", metavar="FILE")
    ] = None,
    measure: Annotated[bool, "Only measure accuracy on a held-out fifth of --labels."] = False,
    threshold: Annotated[
        float, options.Opt("Proposals with less confidence are reviewed early.", min=0.0, max=1.0)
    ] = 0.6,
    variables: Annotated[bool, "Also propose answer variables, by rules or by --model."] = False,
    flows: Annotated[bool, "Also propose reasoning flows, by --model."] = False,
    model: Annotated[str, "The model that proposes variables and flows."] = "",
    engine_args: options.EngineArgs = "",
    as_json: options.Json = False,
) -> None:
    """Propose tags for review: knowledge points, difficulty, answer variables."""
    from livek12.dataset_builders.proposals.tagging.classifier import LIGHT

    how = how or (LIGHT if is_engine(engine) else engine)
    engine = engine if is_engine(engine) else "auto"
    if measure:
        _measure(tree, how, labels or [], as_json)
        return
    if data is None:
        raise UserError("name the questions: an ingested folder, a built data set, or a file of rows")
    if flows and not model:
        raise UserError("--flows needs --model: no rule can take a solution apart into steps")
    structure = bool(variables or flows or model)
    if structure:
        _check_ingested(data)
    problems: list[str] = []
    rows, note = _tag(data, tree, how, labels or [], threshold, problems)
    failed = 0
    if structure:
        failed = _structure(data, variables or not flows, flows, (engine, model, engine_args), problems)
    for line in problems:
        tell(f"warning: {line}", err=True)
    answer(as_json, {"questions": rows, "by": note}, *map(_line, rows), f"{len(rows)} questions tagged by {note}")
    if failed:
        raise typer.Exit(1)


def _tag(
    data: Path, tree: Path | None, how: str, labels: list[Path], threshold: float, problems: list[str]
) -> tuple[list[dict[str, Any]], str]:
    from livek12.dataset_builders.ingest.folder import STATE
    from livek12.dataset_builders.proposals.tagging import proposals
    from livek12.dataset_builders.proposals.tagging.classifier import Names, encoder, train_difficulty
    from livek12.dataset_builders.proposals.tagging.labelled import read_items
    from livek12.dataset_builders.proposals.tagging.tree import load_tree

    shipped = Names(load_tree())
    with Progress("tagging") as progress:
        learned = _labelled(labels, problems)
        proposer, notes = _proposer(tree, how, learned, progress.step)
        level = train_difficulty(encoder("light"), learned) if learned else None
        if level and not level.better:
            level = None
            notes.append("difficulty by rule of thumb: the labels teach nothing better than their commonest level")
        by = f"{how}: {proposer.made_by}" if how not in ("light", "embedding") else proposer.made_by

        def make(items: list[Item]) -> list[proposals.Tags]:
            return proposals.tags_of(items, proposer, shipped, level, progress.step)

        if (data / STATE).is_dir():
            rows = [tags.row() for _, tags in proposals.tag_folder(data, make, by, threshold)]
        else:
            items = list(read_items(data, problems))
            if not items:
                first = f" ({len(problems)} rows left out; the first: {problems[0]})" if problems else ""
                raise UserError(f"{data}: no question could be read{first}")
            rows = [tags.row() for tags in make(items)]
    return rows, "; ".join([by, *notes])


def _proposer(tree: Path | None, how: str, learned: list[Item], step: Any) -> tuple[Any, list[str]]:
    from livek12.dataset_builders.proposals.tagging.classifier import EMBEDDING, LIGHT, encoder, train, untrained
    from livek12.dataset_builders.proposals.tagging.tree import load_tree

    if how not in (LIGHT, EMBEDDING):
        from livek12.dataset_builders.proposals.tagging.trained import TrainedTagger

        if not Path(how).is_dir():
            others = ", ".join(engine_names())
            raise UserError(f"--engine {how!r}: choose light, embedding, the folder of a trained model, or {others}")
        if learned or tree:
            raise UserError(f"{how}: a trained model has its own labels and tree; leave --labels and --tree out")
        return TrainedTagger(Path(how)), []
    if learned:
        return train(_tree(tree, learned), encoder(how), learned, step)
    return untrained(load_tree(tree), encoder(how)), ["nothing learned, confidences unmeasured: give --labels"]


def _tree(file: Path | None, learned: list[Item]) -> Tree:
    from livek12.dataset_builders.proposals.tagging.tree import load_tree, tree_of

    return load_tree(file) if file else tree_of((label for item in learned for label in item.labels), "labels")


def _labelled(places: list[Path], problems: list[str]) -> list[Item]:
    from livek12.dataset_builders.proposals.tagging.labelled import need_labels, read_items

    items = [item for place in places for item in read_items(place, problems)]
    return need_labels(items, ", ".join(map(str, places))) if places else []


def _check_ingested(data: Path) -> None:
    from livek12.dataset_builders.ingest.folder import STATE

    if not (data / STATE).is_dir():
        raise UserError(f"{data}: variables and flows are proposed in the drafts of an ingested folder")


def _structure(data: Path, variables: bool, flows: bool, spec: tuple[str, str, str], problems: list[str]) -> int:
    from livek12.dataset_builders.proposals.tagging.proposals import propose_structure
    from livek12.engines.asking import model_spec

    name, model, args = spec
    engine: Any = closing(model_spec(model, "--model", name, args).start()) if model else nullcontext()
    with engine as made, Progress("variables and flows") as progress:
        report = propose_structure(data, made, variables=variables, flows=flows, step=progress.step)
    problems += report.problems
    tell(f"proposed variables for {report.variables} questions, flows for {report.flows}", err=True)
    return report.failed


def _measure(tree: Path | None, how: str, labels: list[Path], as_json: bool) -> None:
    from livek12.dataset_builders.proposals.tagging.classifier import EMBEDDING, LIGHT, encoder, measure

    if not labels or how not in (LIGHT, EMBEDDING):
        raise UserError("--measure needs --labels, and --engine light or embedding")
    problems: list[str] = []
    items = _labelled(labels, problems)
    with Progress("measuring") as progress:
        measures = measure(_tree(tree, items), encoder(how), items, progress.step)
    for line in problems:
        tell(f"warning: {line}", err=True)
    lines = []
    for name, figures in measures.items():
        text = ", ".join(f"{what} {value}" for what, value in figures.items()) if isinstance(figures, dict) else figures
        lines.append(f"{name}: {text}")
    answer(as_json, measures, *lines)


def _line(row: dict[str, Any]) -> str:
    shown = [
        f"{point['name']}{'' if point['confidence'] is None else ' ' + format(point['confidence'], '.2f')}"
        for point in row["knowledge_points"]
    ]
    return f"{row['id']}: {row['subject'] or '?'}, {row['difficulty']['name']}: {', '.join(shown) or 'no point'}"


scheme = options.group()


@scheme.callback(epilog=options.example("livek12 scheme propose mine --model Qwen/Qwen3-8B"))
def about() -> None:
    """Propose marking schemes for review."""


@options.subcommand(scheme, "livek12 scheme propose mine --model Qwen/Qwen3-8B")
def propose(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder made by `livek12 ingest`.")],
    model: Annotated[str, "The model that proposes: a folder, name or recorded file."],
    engine: options.Engine = "auto",
    engine_args: options.EngineArgs = "",
    unreviewed: Annotated[bool, "Let `build` use the proposals before anybody has reviewed them."] = False,
    as_json: options.Json = False,
) -> None:
    """Propose schemes for questions with a solution and points."""
    from livek12.dataset_builders.ingest.folder import STATE
    from livek12.dataset_builders.proposals.tagging.proposals import propose_schemes
    from livek12.engines.asking import model_spec

    if not (folder / STATE).is_dir():
        raise UserError(f"{folder}: schemes are proposed in the drafts of an ingested folder; make one: livek12 ingest")
    with closing(model_spec(model, "--model", engine, engine_args).start()) as made, Progress("schemes") as progress:
        report = propose_schemes(folder, made, unreviewed, progress.step)
    for line in report.problems:
        tell(f"warning: {line}", err=True)
    line = f"proposed schemes for {report.proposed} of {report.asked} questions; review them: livek12 review {folder}"
    answer(as_json, asdict(report), line)
    if report.failed:
        raise typer.Exit(1)
