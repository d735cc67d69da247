"""`livek12 exam-day`: a paper is asked before its key exists, and marked when the key comes; every step resumes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from livek12.core.errors import UserError
from livek12.core.progress import tell
from livek12.scripts import options

if TYPE_CHECKING:
    from livek12.scripts.exam_day import ExamFolder


@options.command("livek12 exam-day paper.pdf --models sweep.yaml --key-later --out exam")
def exam_day(
    out: Annotated[Path, "Folder of the exam; the same command resumes."],
    papers: Annotated[
        list[Path] | None, typer.Argument(metavar="PAPER", help="PDFs of the exam.", show_default=False)
    ] = None,
    models: Annotated[Path | None, options.Opt("Models to run: a file of `livek12 sweep`.", metavar="SWEEP")] = None,
    key: Annotated[
        list[str] | None,
        options.Opt("The key, read after the answers are sealed: a PDF or CSV; repeatable.", metavar="[PAPER=]KEY"),
    ] = None,
    typed: Annotated[list[str] | None, options.Opt("A typed key; repeatable.", metavar="NUMBER=ANSWER")] = None,
    key_later: Annotated[bool, "Stop when the answers are sealed; give the key in a later call."] = False,
    language: Annotated[str, "Language of the papers: zh, ko or en; default: detected."] = "",
    licence: Annotated[str, "Licence of the papers, such as CC-BY-4.0."] = "",
    rights: options.Rights = None,
    as_json: options.Json = False,
) -> None:
    """Run models on a paper before its key exists, then mark them."""
    from livek12.scripts import exam_day as day

    folder = day.ExamFolder(out)
    if not (key or typed or key_later or folder.state.key):
        raise UserError("no key: give --key KEY, or --key-later if it comes after the answers")
    if folder.state.frozen is None:
        _prepare(folder, papers or [], language, licence)
    day.check_frozen(folder)
    if folder.state.sealed is None:
        _ask(folder, models)
    if key or typed:
        _mark(folder, key or [], typed or [])
    with folder.timed("site"):
        _site(folder, rights)
    day.write_page(folder)
    _tell(folder, as_json)


def _prepare(folder: ExamFolder, papers: list[Path], language: str, licence: str) -> None:
    from livek12.scripts import exam_day as day

    if not papers:
        raise UserError(f"{folder.root}: is not frozen yet: give the PDFs of the papers")
    with folder.timed("ingest"):
        errors = day.ingest_papers(folder, papers, language, licence)
    for line in errors:
        tell(f"error: {line}", err=True)
    if doubted := day.accept_undoubted(folder):
        tell(f"{len(doubted)} questions wait for a person: {', '.join(doubted[:10])}", err=True)
        tell(f"decide them with `livek12 review {folder.paper}`, then run the same command again", err=True)
        raise typer.Exit(1)
    with folder.timed("freeze"):
        day.freeze(folder)


def _ask(folder: ExamFolder, models: Path | None) -> None:
    from livek12.evaluation.sweep.plan import read_plan
    from livek12.evaluation.sweep.status import look
    from livek12.scripts import exam_day as day
    from livek12.scripts.commands import sweep

    if models is None and not folder.sweep.exists():
        raise UserError("no models: give --models SWEEP.yaml")
    if models is not None:
        day.plan_sweep(folder, models)
    plan = read_plan(folder.sweep)
    with folder.timed("ask"):
        if sweep.work(plan):
            tell("the jobs ask now; run the same command again when they are done", err=True)
            raise typer.Exit(1)
        if waiting := [cell for cell in look(plan) if cell.state != "done"]:
            for cell in waiting:
                tell(f"{cell.label}, {cell.task}: {cell.state}: {cell.reason}", err=True)
            tell("some answers are missing: run the same command again", err=True)
            raise typer.Exit(1)
    day.seal(folder, [run.folder for run in plan.runs])


def _runs(folder: ExamFolder) -> list[Path]:
    sealed = folder.state.sealed
    return [folder.runs / name for name in sealed.runs] if sealed else []


def _mark(folder: ExamFolder, files: list[str], typed: list[str]) -> None:
    from livek12.scripts import exam_day as day
    from livek12.scripts.commands import keys

    arrival = day.KeyArrival(at=day.now(), source=", ".join([*files, *(["typed"] if typed else [])]))
    with folder.timed("mark"):
        for text in files:
            paper, _, file = text.rpartition("=")
            keys.change(folder.data, _runs(folder), Path(file), [], paper, "", "", as_json=False)
        if typed:
            keys.change(folder.data, _runs(folder), None, typed, "", "", "", as_json=False)
    if folder.state.key is None:
        folder.put(key=arrival)


def _site(folder: ExamFolder, rights: Path | None) -> None:
    from livek12.dataset_builders.publishing.policy import read_rights, refusal
    from livek12.evaluation.site.making import SiteWishes, make_site
    from livek12.scripts import exam_day as day

    day.write_page(folder)
    permissions = read_rights(rights) if rights else []
    wishes = SiteWishes(
        refuses=lambda question: refusal(question, permissions),
        held=(),
        models=None,
        ask_hub=False,
        title=", ".join(Path(name).stem for name in folder.state.papers),
        permits=repr(permissions),
    )
    make_site(_runs(folder), folder.site, wishes)


def _tell(folder: ExamFolder, as_json: bool) -> None:
    state = folder.state
    if as_json:
        typer.echo(json.dumps(state.model_dump(), ensure_ascii=False))
        return
    for name, fact in (("frozen", state.frozen), ("sealed", state.sealed)):
        if fact is not None:
            tell(f"{name} {fact.at}: sha256 {fact.sha256}")
    seconds = {by: sum(row.seconds or 0 for row in state.clock if row.by == by) for by in ("machine", "person")}
    tell(f"clock: machine {seconds['machine'] / 60:.1f} minutes, person {seconds['person'] / 60:.1f} minutes")
    tell(f"site: {folder.site / 'index.html'}; publish {folder.root / 'commitment.json'} where it gets a date")
    if state.key is None:
        tell(f"no key yet: livek12 exam-day --out {folder.root} --key KEY")
