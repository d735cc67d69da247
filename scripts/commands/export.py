"""`livek12 export` and `site`: the results of run folders in the forms of others, and as a static site."""

from __future__ import annotations

import importlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from livek12.core.arguments import one_of
from livek12.core.errors import UserError
from livek12.core.progress import tell, warn
from livek12.scripts import options
from livek12.scripts.endings import answer

if TYPE_CHECKING:
    from livek12.evaluation.exports import Export


@options.command("livek12 export runs/qwen3 --to inspect --out exported")
def export(
    runs: options.Runs,
    to: Annotated[str, "eee (Every Eval Ever 0.3), eval-results (of the Hub) or inspect."],
    out: Annotated[Path, "Folder for the files."],
    model_id: Annotated[str, "The model's name on the Hub, ORG/NAME."] = "",
    data_repo: Annotated[str, "The data set's name on the Hub, ORG/NAME."] = "",
    rows: Annotated[str, "Answers to export: public (those that may be shown), all, or none."] = "public",
    hold: options.Hold = None,
    bounds: Annotated[bool, "If a mark is an interval, write its lower end, with the interval in the notes."] = False,
    organization: Annotated[str, "Organization that evaluated."] = "",
    relationship: Annotated[
        str, "Its relationship to the model: first_party, third_party, collaborative or other."
    ] = "other",
    source_url: Annotated[str, "Address with more about the results."] = "",
    pull_request: Annotated[bool, "eval-results: open one pull request at the model."] = False,
    dry_run: Annotated[bool, "Print what would be proposed; send nothing."] = False,
    profile: options.Profile = "article",
    as_json: options.Json = False,
) -> None:
    """Write the results of runs for other platforms."""
    from livek12.core.run.folder import RunFolder
    from livek12.core.scoring import profile_named
    from livek12.evaluation.adaptive import check_full
    from livek12.evaluation.exports import FORMS, Export, held_releases, model_name, tell_withheld, which_named
    from livek12.evaluation.reporting import score

    one_of("--to", to, tuple(FORMS))
    one_of("--relationship", relationship, ("first_party", "third_party", "collaborative", "other"))
    if (pull_request or bounds or dry_run) and to != "eval-results":
        raise UserError("--pull-request, --dry-run and --bounds go with --to eval-results")
    if model_id and len(runs) > 1:
        raise UserError("--model-id names one model: export one run at a time")
    which, formulas, releases = which_named(rows), profile_named(profile), frozenset(hold or ())

    def opened(run: Path) -> Export:
        folder = RunFolder.open(run, warn)
        check_full([folder], "the forms of others have the marks of")
        spec = folder.spec()
        withheld = frozenset[str]() if which != "public" else releases - {"none"} if releases else held_releases(spec)
        about = model_name(model_id, spec), data_repo, organization, relationship, source_url
        return Export(folder, score(folder, formulas), *about, which, withheld)

    outgoing = [opened(run) for run in runs]
    if to == "eval-results":
        files, lines = _results(outgoing, out, bounds=bounds, pull_request=pull_request, dry_run=dry_run)
    else:
        form = importlib.import_module(FORMS[to])
        files, lines = [file for each in outgoing for file in form.write(each, out)], []
        for each in outgoing:
            tell_withheld(each)
    written = [str(file) for file in files]
    answer(as_json, {"files": written, "proposed": lines}, *written, *lines)


def _results(
    outgoing: list[Export], out: Path, *, bounds: bool, pull_request: bool, dry_run: bool
) -> tuple[list[Path], list[str]]:
    from livek12.evaluation.exports import eval_results

    files = [file for each in outgoing for file in eval_results.write(each, out, bounds=bounds)]
    if not pull_request and not dry_run:
        return files, []
    proposed = [proposal for each in outgoing for proposal in eval_results.proposals(each, bounds=bounds)]
    return files, list(eval_results.propose(proposed, out, dry_run=dry_run))


@options.command("livek12 site runs/qwen3 runs/gemma3 --out site")
def site(
    runs: options.Runs,
    out: Annotated[Path, "Folder of the site; a repeated call writes only what changed."],
    space: Annotated[str, "Upload the site to this static Space of the Hub: ORG/NAME."] = "",
    models: Annotated[Path | None, "YAML file with dates, sizes, licences and prices of models."] = None,
    ask_hub: Annotated[bool, "Ask the Hub about models that --models lacks."] = False,
    hold: Annotated[
        list[str] | None, options.Opt("A release that is held back: marks only; repeatable.", metavar="RELEASE")
    ] = None,
    rights: options.Rights = None,
    title: Annotated[str, "Title of the site; default: the exam's name."] = "",
    publisher: Annotated[str, "Publisher on the About page: a name, with or without an https:// address."] = "",
    as_json: options.Json = False,
) -> None:
    """Make a static site of runs: leaderboard, heat-map, plots, questions, papers."""
    from livek12.core.run.folder import RunFolder
    from livek12.dataset_builders.publishing.policy import read_rights, refusal
    from livek12.evaluation.site import SiteWishes, check_space, make_site, read_models, send

    if space:
        check_space(space)
    permissions = read_rights(rights) if rights else []
    wishes = SiteWishes(
        refuses=lambda question: refusal(question, permissions),
        held=hold or (),
        models=read_models(models) if models else None,
        ask_hub=ask_hub,
        title=title,
        publisher=publisher,
        permits=repr(permissions),
    )
    places = [place for run in runs for place in options.data_of(RunFolder.open(run))]
    options.confine(*runs, out, data=places, network=bool(space) or ask_hub)
    made = make_site(runs, out, wishes)
    sent = send(out, space, title) if space else ""
    if as_json:
        typer.echo(json.dumps({**asdict(made), "site": str(out / "index.html"), "space": sent or None}))
        return
    tell(
        f"{out / 'index.html'}: {made.runs} runs ({made.read} read anew), {made.questions} questions"
        f" ({made.hidden} hidden), {made.written} files written"
    )
    if sent:
        tell(f"space: {sent}")
