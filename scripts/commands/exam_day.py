"""`livek12 exam-day` and `keys`: papers asked before their key exists; late or wrong keys.

Contract: each step can be repeated; state and clock are in one file. Questions are frozen before they are asked,
responses sealed before the key is read; both hashes are checked at every call, and a difference ends it. Runs are
marked again from stored responses.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from pydantic import ValidationError

from livek12.core.errors import UserError, explain_errors
from livek12.core.files import make_subfolder, write_atomically
from livek12.core.key_versions import read_keys
from livek12.core.progress import Progress, tell
from livek12.core.records import Page, Question, Record
from livek12.scripts import options
from livek12.scripts.endings import answer
from livek12.scripts.options import subcommand

STATE = "exam.json"
PAGE = "exam.html"
MACHINE = "livek12 exam-day"
"""The reviewer of questions without a doubt."""


class ClockRow(Record):
    """Stretch of work; without an end it was killed."""

    step: str
    by: Literal["machine", "person"]
    began: str
    ended: str | None = None
    seconds: float | None = None


class Frozen(Record):
    """Hash of the questions, with printed keys, and page images."""

    at: str
    sha256: str
    questions: int
    keyless: int


class Sealed(Record):
    """Hashes of each run's responses, and of these."""

    at: str
    sha256: str
    runs: dict[str, str]


class KeyArrival(Record):
    """Time of the first key."""

    at: str
    source: str


class ExamState(Record):
    """Content of exam.json."""

    papers: list[str] = []
    language: str = ""
    frozen: Frozen | None = None
    sealed: Sealed | None = None
    key: KeyArrival | None = None
    clock: list[ClockRow] = []

    def seconds(self) -> dict[str, float]:
        """Work of machine and person."""
        return {by: sum(row.seconds or 0 for row in self.clock if row.by == by) for by in ("machine", "person")}


def now() -> str:
    """UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class ExamFolder:
    """The folder of one exam."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.paper, self.accepted, self.data = root / "paper", root / "accepted", root / "data"
        self.runs, self.site, self.sweep = root / "runs", root / "site", root / "sweep.yaml"
        with explain_errors(f"{root / STATE}: cannot be read:", "; take another --out", ValidationError):
            content = (root / STATE).read_bytes() if (root / STATE).exists() else b"{}"
            self.state = ExamState.model_validate_json(content)

    def put(self, **changes: Any) -> None:
        """Stores changes of the state."""
        make_subfolder(self.root.parent, self.root.name)
        self.state = self.state.model_copy(update=changes)
        write_atomically(self.root / STATE, self.state.model_dump_json(indent=1) + "\n")

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Clocks a step of the machine."""
        row, began = ClockRow(step=step, by="machine", began=now()), time.monotonic()
        before = self.state.clock
        self.put(clock=[*before, row])
        yield
        seconds = round(time.monotonic() - began, 2)
        self.put(clock=[*before, row.model_copy(update={"ended": now(), "seconds": seconds})])

    def wait_for_person(self, step: str) -> None:
        """Begins a step of a person, once."""
        if all((row.step, row.by) != (step, "person") for row in self.state.clock):
            self.put(clock=[*self.state.clock, ClockRow(step=step, by="person", began=now())])

    def end_person(self, step: str, last: str) -> None:
        """Ends it at the last decision."""
        for place, row in enumerate(self.state.clock):
            if (row.step, row.by, row.ended) == (step, "person", None) and last:
                seconds = (datetime.fromisoformat(last) - datetime.fromisoformat(row.began)).total_seconds()
                done = row.model_copy(update={"ended": last, "seconds": max(0.0, round(seconds, 2))})
                self.put(clock=[*self.state.clock[:place], done, *self.state.clock[place + 1 :]])


def ingest_papers(folder: ExamFolder, pdfs: Sequence[Path], language: str, licence: str) -> list[str]:
    """Reads the papers without a key; returns errors."""
    from livek12.dataset_builders.ingest.paper import Options, ingest
    from livek12.dataset_builders.ingest.report import write_report

    if missing := [pdf for pdf in pdfs if not pdf.is_file()]:
        raise UserError(f"{missing[0]}: no such file; give the PDFs of the papers")
    settings: dict[str, Any] = {"language": language or None, "licence": licence}
    with Progress("pages") as progress:
        outcome = ingest(pdfs, folder.paper, Options(**settings), progress.step, None, None)
    if not outcome.papers:
        raise UserError("; ".join(outcome.failed))
    write_report(folder.paper, outcome.papers, outcome.failed)
    folder.put(papers=[paper.source for paper in outcome.papers])
    return [*outcome.failed, *(line for paper in outcome.papers for line in paper.errors)]


def accept_undoubted(folder: ExamFolder) -> list[str]:
    """Ids that wait for a person (not for a key); without any, all others are accepted."""
    from livek12.dataset_builders.review.store import ReviewStore

    with ReviewStore(folder.paper) as store:
        entries = store.refresh().live()
        undecided = [entry for entry in entries if entry.state() not in ("accepted", "rejected")]
        doubted = [e for e in undecided if e.history or any(doubt.kind != "answer" for doubt in e.draft.doubts)]
        if doubted:
            folder.wait_for_person("review")
            return [entry.draft.id for entry in doubted]
        folder.end_person("review", max((act.at for act in store.actions.values() if act.by != MACHINE), default=""))
        for entry in undecided:
            store.act(MACHINE, "accept", entry.draft.id, {})
    return []


def freeze(folder: ExamFolder) -> None:
    """Builds the data set and notes its hash."""
    from livek12.dataset_builders import build
    from livek12.dataset_builders.review.export import export
    from livek12.dataset_builders.review.store import ReviewStore

    with ReviewStore(folder.paper, read_only=True) as store:
        export(store, folder.accepted)
    report = build("livek12", [str(folder.accepted)], folder.data)
    if report.skipped:
        raise UserError(f"{folder.accepted}: {len(report.skipped)} questions cannot be asked: {report.skipped[0]}")
    digest, questions = _frozen_hash(folder.data)
    keyless = sum(not question.has_key for question in questions)
    folder.put(language=Counter(question.language for question in questions).most_common(1)[0][0])
    folder.put(frozen=Frozen(at=now(), sha256=digest, questions=len(questions), keyless=keyless))
    commit(folder)


def _frozen_hash(data: Path) -> tuple[str, list[Question]]:
    from livek12.core.questions import fingerprint
    from livek12.dataset_builders.reading.built import stored, tables_of

    book, records = read_keys(data), [record for record, _, _ in stored(tables_of(data)[1])]
    questions = [record for record in records if isinstance(record, Question)]
    pages = [record.image for record in records if isinstance(record, Page)]
    return fingerprint(map(book.first, questions), pages), questions


def check_frozen(folder: ExamFolder) -> None:
    """Refuses changed questions or responses."""
    state = folder.state
    if state.frozen and _frozen_hash(folder.data)[0] != state.frozen.sha256:
        raise UserError(f"{folder.data}: is not the exam that was frozen at {state.frozen.at}; put it back")
    if state.sealed:
        for name, digest in state.sealed.runs.items():
            if _responses_hash(folder.runs / name) != digest:
                raise UserError(f"{folder.runs / name}: other responses than were sealed at {state.sealed.at}")


def _responses_hash(run: Path) -> str:
    from livek12.core.run.folder import RunFolder

    lines = sorted(f"{response.key} {response.sha256}" for response in RunFolder.open(run).responses())
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def plan_sweep(folder: ExamFolder, models: Path) -> None:
    """Writes the sweep on the frozen exam."""
    from livek12.evaluation.sweep import sweep_values

    places = {"out": str(folder.runs.resolve()), "data": str(folder.data.resolve())}
    content = json.dumps({**sweep_values(models), **places}, ensure_ascii=False, indent=1)
    write_atomically(folder.sweep, content + "\n")


def seal(folder: ExamFolder, runs: Sequence[Path]) -> None:
    """Notes the hash of every run's responses."""
    hashes = {run.name: _responses_hash(run) for run in runs}
    whole = hashlib.sha256("\n".join(f"{name} {digest}" for name, digest in sorted(hashes.items())).encode())
    folder.put(sealed=Sealed(at=now(), sha256=whole.hexdigest(), runs=hashes))
    commit(folder)


def commit(folder: ExamFolder) -> None:
    """Writes commitment.json."""
    state = folder.state
    content = {"papers": state.papers, **state.model_dump(include={"frozen", "sealed"}, exclude_none=True)}
    write_atomically(folder.root / "commitment.json", json.dumps(content, ensure_ascii=False, indent=1) + "\n")


def write_page(folder: ExamFolder) -> None:
    """Writes the site's page of the exam."""
    from livek12.report.html import environment
    from livek12.report.site.pages import words_in

    book, state = read_keys(folder.data), folder.state
    shown = {"state": state, "versions": book.versions, "sums": state.seconds(), "words": words_in(state.language)}
    page = environment().get_template("exam_day.html.j2").render(shown)
    make_subfolder(folder.root, folder.site.name)
    write_atomically(folder.site / PAGE, page)
    write_atomically(folder.site / STATE, (folder.root / STATE).read_bytes())


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
    folder = ExamFolder(out)
    if not (key or typed or key_later or folder.state.key):
        raise UserError("no key: give --key KEY, or --key-later if it comes after the answers")
    if folder.state.frozen is None:
        _prepare(folder, papers or [], language, licence)
    check_frozen(folder)
    if folder.state.sealed is None:
        _ask(folder, models)
    if key or typed:
        _mark(folder, key or [], typed or [])
    with folder.timed("site"):
        _site(folder, rights)
    write_page(folder)
    _tell(folder, as_json)


def _prepare(folder: ExamFolder, papers: list[Path], language: str, licence: str) -> None:
    if not papers:
        raise UserError(f"{folder.root}: is not frozen yet: give the PDFs of the papers")
    with folder.timed("ingest"):
        errors = ingest_papers(folder, papers, language, licence)
    for line in errors:
        tell(f"error: {line}", err=True)
    if doubted := accept_undoubted(folder):
        tell(f"{len(doubted)} questions wait for a person: {', '.join(doubted[:10])}", err=True)
        tell(f"decide them with `livek12 review {folder.paper}`, then run the same command again", err=True)
        raise typer.Exit(1)
    with folder.timed("freeze"):
        freeze(folder)


def _ask(folder: ExamFolder, models: Path | None) -> None:
    from livek12.evaluation.sweep import read_plan
    from livek12.evaluation.sweep.status import look
    from livek12.scripts.commands import sweep

    if models is None and not folder.sweep.exists():
        raise UserError("no models: give --models SWEEP.yaml")
    if models is not None:
        plan_sweep(folder, models)
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
    seal(folder, [run.folder for run in plan.runs])


def _runs(folder: ExamFolder) -> list[Path]:
    sealed = folder.state.sealed
    return [folder.runs / name for name in sealed.runs] if sealed else []


def _mark(folder: ExamFolder, files: list[str], typed: list[str]) -> None:
    arrival = KeyArrival(at=now(), source=", ".join([*files, *(["typed"] if typed else [])]))
    with folder.timed("mark"):
        for text in files:
            paper, _, file = text.rpartition("=")
            change(folder.data, _runs(folder), Path(file), [], paper, "", "", as_json=False)
        if typed:
            change(folder.data, _runs(folder), None, typed, "", "", "", as_json=False)
    if folder.state.key is None:
        folder.put(key=arrival)


def _site(folder: ExamFolder, rights: Path | None) -> None:
    from livek12.dataset_builders.publishing.policy import read_rights, refusal
    from livek12.evaluation.site import SiteWishes, make_site

    write_page(folder)
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
    seconds = state.seconds()
    tell(f"clock: machine {seconds['machine'] / 60:.1f} minutes, person {seconds['person'] / 60:.1f} minutes")
    tell(f"site: {folder.site / 'index.html'}; publish {folder.root / 'commitment.json'} where it gets a date")
    if state.key is None:
        tell(f"no key yet: livek12 exam-day --out {folder.root} --key KEY")


keys = options.group()

Data = Annotated[Path, typer.Argument(help="The built data set.")]
Runs = Annotated[
    list[Path] | None, typer.Argument(help="Runs on this data set, to mark again.", metavar="RUN", show_default=False)
]
KeyFile = Annotated[
    Path | None, options.Opt("Key file: a PDF, or a CSV with number and answer.", "--from", metavar="KEY")
]
Typed = Annotated[list[str] | None, options.Opt("A typed key; repeatable.", metavar="NUMBER=ANSWER")]
Paper = Annotated[str, "The paper that the key is for, if the data set has several."]
By = Annotated[str, "Your name; default: your user name."]


@keys.callback()
def about() -> None:
    """Add missing keys or correct wrong ones, and mark the runs again."""


@subcommand(keys, "livek12 keys add data/exam runs/qwen3 --from key.pdf")
def add(
    data: Data,
    runs: Runs = None,
    file: KeyFile = None,
    key: Typed = None,
    paper: Paper = "",
    by: By = "",
    as_json: options.Json = False,
) -> None:
    """Add missing keys, and mark the answers of the runs."""
    change(data, runs or [], file, key or [], paper, by, "", as_json)


@subcommand(keys, 'livek12 keys amend data/exam runs/qwen3 --key 12=B --reason "the board withdrew C"')
def amend(
    data: Data,
    reason: Annotated[str, "Reason, shown on the card of the data set."],
    runs: Runs = None,
    file: KeyFile = None,
    key: Typed = None,
    paper: Paper = "",
    by: By = "",
    as_json: options.Json = False,
) -> None:
    """Change wrong keys, mark the runs again, and show which marks and ranks move."""
    if not reason.strip():
        raise UserError("--reason is empty: say why the key was wrong")
    change(data, runs or [], file, key or [], paper, by, " ".join(reason.split()), as_json)


def change(
    data: Path, runs: list[Path], file: Path | None, typed: list[str], paper: str, by: str, reason: str, as_json: bool
) -> None:
    """Makes the next key version and marks the runs; repeatable."""
    from livek12.dataset_builders.writing.key_changes import key_questions, key_version, put_keys, read_key
    from livek12.evaluation.comparing import check_runs, mark_again
    from livek12.scripts.commands.review import user_name

    if file is None and not typed:
        raise UserError("no key: give --from KEY, or --key NUMBER=ANSWER")
    questions = key_questions(data, paper)
    reading = read_key(questions, file, typed)
    source = file.name if file is not None else "typed"
    version = key_version(data, reading, questions, by or user_name(), source, reason)
    book = read_keys(data)
    next_book = book if version is None else book.with_version(version)
    check_runs(runs, data, next_book, [question.id for question in questions])
    if version is not None:
        put_keys(data, version)
    marked = mark_again(runs, next_book)
    lacking = [question.number or question.id for question in key_questions(data, paper) if not question.has_key]
    changes = [] if version is None else version.changes
    lines = [f"{c.id}: {'; '.join(c.was.answer) or 'no key'} → {'; '.join(c.now.answer)}" for c in changes if reason]
    lines += reading.problems
    lines.append(f"{data}: {len(changes)} keys {'changed' if reason else 'added'}, version {len(next_book.versions)}")
    if lacking:
        lines.append(f"no key yet: {len(lacking)} questions ({', '.join(lacking[:10])})")
    lines += marked.lines() if reason else marked.lines()[len(marked.questions) :]
    content = {
        "version": len(next_book.versions),
        "changes": [change.model_dump() for change in changes],
        "problems": reading.problems,
        "lacking": lacking,
        **marked.as_json(),
    }
    answer(as_json, content, *lines)
