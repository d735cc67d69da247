"""The `livek12` command: a table of subcommands, each imported only when it is called.

Contract: a subcommand is a module of `scripts.commands` with a typer `app`. UserError becomes one line on stderr
and exit code 2 (wrong use or bad input); 1 is for work that ended with failures; 0 for work done.
"""

from __future__ import annotations

import importlib
import sys

import click

COMMANDS = {
    "demo": "The main job on what ships inside: a small model sits the sample exam.",
    "tasks": "List the tasks.",
    "build": "Build a data set (Parquet and a card) from a source.",
    "validate": "Check a built data set.",
    "run": "Ask, judge, score and report in one go; resumes a run folder.",
    "generate": "Only ask: fill a run folder with responses.",
    "judge": "Mark the responses of a run folder.",
    "score": "Compute the scores of a run folder.",
    "report": "Write and print the report of a run folder.",
    "import-responses": "Make a run folder from recorded responses.",
    "judge-pairs": "Judge rows of gold and response, one decision a row.",
    "compare": "Compare runs: table, intervals, paired tests.",
}


class LazyGroup(click.Group):
    """Lists all subcommands without importing any."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports the module of the subcommand."""
        if cmd_name not in COMMANDS:
            return None
        import typer.main

        module = importlib.import_module(f"livek12.scripts.commands.{cmd_name.replace('-', '_')}")
        command: click.Command = typer.main.get_command(module.app)
        command.name = cmd_name
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the table as it stands."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="livek12")
def app() -> None:
    """Exam benchmarks for language and multimodal models."""


def main() -> None:
    """Entry point of the console script."""
    from livek12.core.errors import UserError

    try:
        app(prog_name="livek12")
    except UserError as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("stopped; run the same command again to go on", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
