"""The `livek12` command: a table of subcommands, each imported only when it is called.

Contract: a subcommand is a module of `scripts.commands` with a typer `app`. UserError becomes one line on stderr
and exit code 2 (wrong use or bad input); 1 is for work that ended with failures; 0 for work done.
"""

from __future__ import annotations

import importlib
import io
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

if TYPE_CHECKING:
    from typer.core import TyperCommand

STOPPED = 130
COMMANDS = {
    "demo": "The main job on what ships inside: a small model sits the sample exam.",
    "tasks": "List the tasks.",
    "build": "Build a data set (Parquet and a card) from a source.",
    "validate": "Check a built data set.",
    "ingest": "Turn exam PDFs into questions to review.",
    "review": "Confirm ingested questions on a page in the browser; export the accepted.",
    "dedup": "Find duplicate questions, within a source and against earlier releases.",
    "tag": "Propose knowledge points, difficulty and answer variables.",
    "translate": "Translate questions, with checks that nothing is lost.",
    "subsets": "Propose members of a subset for review.",
    "publish": "Publish a data set to the Hub.",
    "run": "Ask, judge, score and report in one go; resumes a run folder.",
    "generate": "Only ask: fill a run folder with responses.",
    "judge": "Mark the responses of a run folder.",
    "score": "Compute the scores of a run folder.",
    "report": "Write and print the report of a run folder.",
    "import-responses": "Make a run folder from recorded responses.",
    "plugins": "Say where the plug-in for a harness lies and how it is called.",
    "judge-pairs": "Judge pairs of answer and key, with no run folder.",
    "study": "Agreement, sensitivity and stability of the marks of run folders.",
    "sweep": "Models × tasks × trials, here, on Ray or on Slurm.",
    "compare": "Compare runs: table, intervals, paired tests.",
}


class LazyGroup(TyperGroup):
    """Lists all subcommands without importing any."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | None:
        """Imports the module of the subcommand."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"livek12.scripts.commands.{cmd_name.replace('-', '_')}")
        command: TyperCommand = typer.main.get_command(module.app)  # type: ignore[assignment]
        command.name = cmd_name
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes the table as it stands."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


app = typer.Typer(
    cls=LazyGroup,
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from livek12 import __version__

        typer.echo(f"livek12 {__version__}")
        raise typer.Exit


@app.callback()
def root(version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True)] = False) -> None:
    """Exam benchmarks for language and multimodal models."""


def main() -> None:
    """Entry point of the console script."""
    from livek12.core.errors import UserError
    from livek12.scripts.progress import show_log

    _mend_streams()
    _end_cleanly()
    show_log()
    if any("\udc80" <= sign <= "\udcff" for argument in sys.argv for sign in argument):
        _fail("this locale cannot read the command line: set PYTHONUTF8=1, or a locale of UTF-8 (LC_ALL=C.UTF-8)")
    try:
        result = app(prog_name="livek12", standalone_mode=False)
    except UserError as error:
        _fail(str(error))
    except (KeyboardInterrupt, typer.Abort):
        _stop()
    except Exception as error:
        # Wrong options: typer's own exceptions say it in one line, but its handler would print four.
        if not hasattr(error, "format_message"):
            raise
        _fail(f"{error.format_message().rstrip('.')}; see `livek12 --help`, `livek12 COMMAND --help`")
    if result == STOPPED:  # typer's word for a KeyboardInterrupt
        _stop()
    sys.exit(result if isinstance(result, int) else 0)


def _mend_streams() -> None:
    """Lets every character be printed, so that work that is done never ends in an error for its last line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower() not in ("utf-8", "utf8"):
            ascii_only = "é".encode(stream.encoding, "ignore") == b""
            stream.reconfigure(encoding="utf-8" if ascii_only else None, errors="backslashreplace")


def _end_cleanly() -> None:
    """Has SIGTERM, by which schedulers end a job, end the work as Ctrl-C does."""
    ours = threading.current_thread() is threading.main_thread()
    if ours and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, signal.default_int_handler)


def _stop() -> NoReturn:
    print("stopped; run the same command again to go on", file=sys.stderr, flush=True)
    sys.stdout.flush()
    os._exit(STOPPED)  # what was done is stored; threads that wait for an endpoint are not waited for


def _fail(message: str) -> NoReturn:
    print(f"error: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    main()
