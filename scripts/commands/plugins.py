"""`livek12 plugins NAME` and `metrics`: plug-ins, rewards and modules for `evaluate`, where they lie and their calls.

stdout has the path alone, stderr text for people. Generated files are cached by version of package and data set.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import json
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from livek12.core.arguments import one_of
from livek12.core.benchmarks import VARIABLE
from livek12.core.errors import UserError
from livek12.scripts import options

if TYPE_CHECKING:
    from livek12.tasks.plugins.harness_task import Guide

EVERY = "lm-eval"


@options.command("livek12 plugins lm-eval --data data/sample")
def plugins(
    harness: Annotated[
        str,
        typer.Argument(
            help="lm-eval, lmms-eval, inspect, lighteval, vlmevalkit, evalscope, nemo-evaluator; trl, verl, openrlhf,"
            " verifiers."
        ),
    ],
    data: options.Data = "",
    out: Annotated[Path | None, "Folder for generated files; default: in the cache."] = None,
    every: Annotated[bool, options.Opt("lm-eval: also write tasks by language, release, subject, ….", "--all")] = False,
    as_json: options.Json = False,
) -> None:
    """Print the path of the plug-in for a harness, or of the reward for a trainer, and how to call it."""
    from livek12.evaluation.rewarding import TRAINERS, trainer_guide
    from livek12.tasks.plugins import HARNESSES

    name = harness.lower().replace("_", "-")
    name = harness if name not in (*HARNESSES, *TRAINERS) else name  # as people write it: lm_eval
    one_of("HARNESS", name, (*HARNESSES, *TRAINERS))
    guide = trainer_guide(name) if name in TRAINERS else _harness_guide(name, data, out, every)
    if as_json:
        typer.echo(json.dumps(dataclasses.asdict(guide), ensure_ascii=False, indent=1))
        return
    for line in (f"install: {guide.install}", f"call: {guide.call}", *(f"note: {note}" for note in guide.notes)):
        typer.echo(line, err=True)
    typer.echo(guide.path)


def _harness_guide(harness: str, data: str, out: Path | None, every: bool) -> Guide:
    from livek12.tasks.plugins import HARNESSES

    if every and harness != EVERY:
        raise UserError(f"--all goes with {EVERY}, which has a file for each task")
    folder = (out or _cached(harness, data)).resolve()
    module = importlib.import_module(HARNESSES[harness])
    guide: Guide = module.guide(data, folder, every=True) if every else module.guide(data, folder)
    if harness == EVERY:
        _describe(folder, data)
    if missing := _missing(module):
        guide = dataclasses.replace(guide, notes=(*guide.notes, missing))
    if place := os.environ.get(VARIABLE):  # the harness finds the same benchmarks
        guide = dataclasses.replace(guide, call=f"{VARIABLE}={shlex.quote(place)} {guide.call}")
    return guide


def _describe(folder: Path, data: str) -> None:
    from livek12.dataset_builders.registry import CITATION, builders, text_of
    from livek12.tasks.plugins.lm_eval import write_readme

    write_readme(folder, data, {name: text for name in builders() if (text := text_of(name, CITATION))})


def _missing(module: Any) -> str:
    from livek12.tasks.plugins.harness_task import require

    if not hasattr(module, "PACKAGE"):  # VLMEvalKit may be a checkout, of no version
        return ""
    try:
        require(module.PACKAGE, module.FLOOR, module.INSTALL)
    except UserError as error:
        return f"here: {error}"
    return ""


def _cached(harness: str, data: str) -> Path:
    from livek12.core.questions import open_card
    from livek12.core.store import cache_folder
    from livek12.core.version import __version__

    named = [__version__, *(open_card(data) if data else ())]
    key = hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()[:16]
    return cache_folder() / "plugins" / harness / key


@options.command("livek12 metrics livek12_exam --out spaces")
def metrics(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A module; default: all of them.")] = "",
    out: Annotated[Path | None, "Write each module to OUT/NAME, ready for a Space."] = None,
    as_json: options.Json = False,
) -> None:
    """Print the paths of the modules for `evaluate.load`, or write them as folders for Spaces."""
    from livek12.core.metrics import METRICS, metric_path, space

    names = [name] if name else list(METRICS)
    paths = {each: metric_path(each) if out is None else str(space(each, out)) for each in names}
    if as_json:
        rows = [{"name": each, "path": path, "about": METRICS[each]} for each, path in paths.items()]
        typer.echo(json.dumps(rows, ensure_ascii=False, indent=1))
        return
    for each, path in paths.items():
        typer.echo(f"{each}: {METRICS[each]}", err=True)
        typer.echo(path)
