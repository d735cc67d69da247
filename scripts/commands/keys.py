"""`livek12 keys`: keys that come after the answers, or turn out wrong; runs are marked again from stored responses."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from livek12.core.errors import UserError
from livek12.scripts import options
from livek12.scripts.endings import answer
from livek12.scripts.options import subcommand

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
    """Makes the next key version and marks the runs by it; may be repeated."""
    from livek12.core.key_versions import read_keys
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
