"""The `livek12` command: subcommands, imported when called.

Contract: UserError becomes one line on stderr and exit code 2; 1 is for work with failures, 0 for work done.
"""

from __future__ import annotations

import errno
import importlib
import io
import os
import signal
import sys
import threading
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

STOPPED = 130
GROUPS = {
    "Exams": {
        "demo": "Run a small model on the sample exam.",
        "tasks": "List the tasks.",
        "run": "Ask, judge, score and report; resumes an unfinished run.",
        "generate": "Only ask: write the responses to a run folder.",
        "exam-day": "Run models on a paper before its key exists, then mark them.",
        "import-responses": "Make a run folder from recorded responses.",
        "import-results": "Make run folders from a table of published results.",
        "rejudge": "Mark the log of any task of another harness.",
        "plugins": "Print the path of the plug-in for a harness or trainer, and how to call it.",
        "sweep": "Run models × tasks × trials on this machine, Ray, Slurm or the Hub's jobs.",
    },
    "Runs": {
        "status": "Show the progress of a run and its batches.",
        "score": "Compute the scores of a run folder.",
        "report": "Write and print the report of a run folder.",
        "export": "Write results for Every Eval Ever, the Hub's model pages or Inspect.",
        "compare": "Compare runs: a table, intervals and paired tests.",
        "check": "Check the files, lines and numbers of a run folder.",
        "bank": "Make an item bank from marked runs, for adaptive exams (`run --adaptive`).",
        "compact": "Pack the journals of a finished run into Parquet, losslessly.",
        "sign": "Sign a finished run.",
        "push": "Send a finished run to the Hub or a bucket.",
        "site": "Make a static site of runs: leaderboard, heat-map, plots, questions, papers.",
    },
    "Judging": {
        "judge": "Mark the responses of a run folder.",
        "import-judgements": "Mark a run by a judge's recorded marks or replies.",
        "judge-pairs": "Judge responses against reference answers, without a run folder.",
        "serve-judge": "Judge over HTTP, for trainers and other programs.",
        "label-plan": "Choose the answers of a run that people should label.",
        "study": "Study runs: reliability of the marks, wrong keys, errors, contamination.",
    },
    "Data": {
        "build": "Build a data set (Parquet and a card) from a source.",
        "validate": "Check a built data set.",
        "keys": "Add missing keys or correct wrong ones, and mark the runs again.",
        "ingest": "Turn exam papers into questions for review.",
        "review": "Review ingested questions, or label answers, in the browser.",
        "dedup": "Find duplicate questions in a source and in earlier releases.",
        "tag": "Propose knowledge points, difficulty and answer variables.",
        "scheme": "Propose marking schemes for review.",
        "translate": "Translate questions, and check that nothing is lost.",
        "vary": "Make variants of questions: other images, other words, another type.",
        "subsets": "Propose members of a subset for review.",
    },
    "Publishing": {
        "publish": "Publish a data set to the Hub.",
        "metrics": "Print the paths of the modules for `evaluate.load`, or write them as Spaces.",
    },
}
COMMANDS = {name: text for group in GROUPS.values() for name, text in group.items()}
FAMILIES = {
    "build": ("validate", "dedup"),
    "exam_day": ("keys",),
    "export": ("site",),
    "imports": ("import-judgements", "import-responses", "import-results", "rejudge"),
    "judge": ("judge-pairs", "serve-judge"),
    "plugins": ("metrics",),
    "report": ("score", "compare"),
    "review": ("label-plan",),
    "run": ("generate", "bank"),
    "run_folder": ("status", "check", "compact", "sign", "push"),
    "tag": ("scheme",),
    "translate": ("vary",),
}
"""Commands in a module with another name."""
MODULES = {name: module for module, names in FAMILIES.items() for name in names}


class LazyGroup(TyperGroup):
    """Lists and completes subcommands without importing them."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = {name: TyperCommand(name, help=text) for name, text in COMMANDS.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Imports the module of the subcommand."""
        name, subcommand, rest = super().resolve_command(ctx, args)
        if name is None or subcommand is None:
            return name, subcommand, rest
        return name, _command(name), rest

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes the table with one column of names for all groups."""
        width = max(map(len, COMMANDS))
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), text) for name, text in commands.items()])


app = typer.Typer(
    cls=LazyGroup,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _be_quiet(wanted: bool) -> None:
    from livek12.core import progress

    progress.quiet = progress.quiet or wanted


Quiet = Annotated[
    bool,
    typer.Option(
        "-q", "--quiet", callback=_be_quiet, expose_value=False, help="Hide progress; warnings are still shown."
    ),
]


def _include(folders: list[Path] | None) -> None:
    if folders:
        from livek12.core.benchmarks import include

        include(folders)


Include = Annotated[
    list[Path] | None,
    typer.Option(
        "--include",
        metavar="FOLDER",
        callback=_include,
        expose_value=False,
        help="Folder of your own benchmark; its code is run. Repeatable.",
    ),
]


@cache
def _command(name: str) -> Any:
    word = name.replace("-", "_")
    module = importlib.import_module(f"livek12.scripts.commands.{MODULES.get(name, word)}")
    command: Any = typer.main.get_command(getattr(module, word))
    command.name = name
    shared = _options_of_all()
    for each in (command, *getattr(command, "commands", {}).values()):
        each.params += shared
    return command


def _options_of_all() -> list[Any]:
    only = typer.Typer(add_completion=False)

    @only.command()
    def command(quiet: Quiet = False, include: Include = None) -> None: ...

    return typer.main.get_command(only).params


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="With --version: also if commands are confined.")] = False,
    quiet: Quiet = False,
    include: Include = None,
) -> None:
    """Exam benchmarks for language and multimodal models."""
    if version:
        from livek12.core import guard
        from livek12.core.version import __version__

        typer.echo(f"livek12 {__version__}" + (f"\n{guard.state()}" if verbose else ""))
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)


def main() -> None:
    """Entry point of the console script."""
    from livek12.core.errors import UserError, install
    from livek12.core.progress import show_log, tell_counts

    _mend_streams()
    _end_cleanly()
    os.umask(os.umask(0o022) | 0o002)  # nothing that a command makes can be changed by everybody
    show_log()
    if any("\udc80" <= sign <= "\udcff" for argument in sys.argv for sign in argument):
        _fail("this locale cannot read the command line: set PYTHONUTF8=1, or a locale of UTF-8 (LC_ALL=C.UTF-8)")
    try:
        result = app(prog_name="livek12", standalone_mode=False)
    except UserError as error:
        _fail(str(error))
    except (KeyboardInterrupt, typer.Abort):
        _stop()
    except ModuleNotFoundError as error:
        if (error.name or "livek12").partition(".")[0] == "livek12":
            raise
        _fail(f"this command needs {error.name}, which is not installed here: {install()}")
    except MemoryError:
        _fail("memory ran out; what was finished is stored: free some, and run the same command again")
    except OSError as error:
        # No right, no room, too long a name.
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except Exception as error:
        # Wrong options: typer's handler would print four lines.
        if not hasattr(error, "format_message"):
            raise
        message = error.format_message().rstrip(".")
        where = getattr(getattr(error, "ctx", None), "command_path", "livek12")
        _fail(f"{message}{' See' if message.endswith('?') else '; see'} `{where} --help`")
    finally:
        tell_counts()
    if result == STOPPED:  # typer's word for a KeyboardInterrupt
        _stop()
    sys.exit(result if isinstance(result, int) else 0)


def _mend_streams() -> None:
    """An unprintable character must not turn finished work into an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower() not in ("utf-8", "utf8"):
            ascii_only = "é".encode(stream.encoding, "ignore") == b""
            stream.reconfigure(encoding="utf-8" if ascii_only else None, errors="backslashreplace")


def _end_cleanly() -> None:
    """SIGTERM, by which schedulers end a job, ends the work as Ctrl-C does."""
    ours = threading.current_thread() is threading.main_thread()
    if ours and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, signal.default_int_handler)


def _stop() -> NoReturn:
    print("stopped; run the same command again to go on", file=sys.stderr, flush=True)
    sys.stdout.flush()
    os._exit(STOPPED)  # what was done is stored; threads that wait for an endpoint are not waited for


def _fail(message: str) -> NoReturn:
    from livek12.core import guard
    from livek12.core.visible import visible

    if guard.active and os.strerror(errno.EACCES) in message:
        message += f" (this command is confined to its folders and data; {guard.OFF}=off lifts that)"
    print(f"error: {visible(' '.join(message.split()))}", file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    main()
