"""Options that several subcommands share."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from livek12.core.errors import UserError
from livek12.evaluation.options import GROUPS, OUTPUT, JudgingOptions, RunOptions, SamplingOptions

_NUMBERS = ("int", "float")

if TYPE_CHECKING:
    from livek12.core.run.folder import RunFolder


def place(text: str) -> Path | str:
    """Run folder: a path or an address."""
    from livek12.core.run.remote import is_address

    return text if is_address(text) else Path(text)


def _run_folder(context: typer.Context, named: Any) -> Any:
    return _here(context, named, texts=True)


def _scored_folder(context: typer.Context, named: Any) -> Any:
    return _here(context, named, texts=False)


def _here(context: typer.Context, named: Any, texts: bool) -> Any:
    from livek12.core.run.remote import run_folder as local

    if isinstance(named, list):
        return [_here(context, each, texts) for each in named]
    return named if named is None or context.resilient_parsing else local(named, texts)


def _own_folder(context: typer.Context, named: Any) -> Any:
    from livek12.core.run.remote import own_folder as local

    return named if context.resilient_parsing else local(named)


def confine(*writes: Path, reads: Iterable[Path] = (), data: Iterable[str] = (), network: bool = False) -> None:
    """Leaves a command its folders, its data and, for a Hub dataset, the network."""
    from livek12.core import guard
    from livek12.core.questions import is_on_hub

    named = [place for place in data if place]
    local = [Path(place) for place in named if not is_on_hub(place)]
    guard.confine(writes, [*reads, *local], network or len(local) < len(named))


def data_of(run: RunFolder, data: str = "") -> list[str]:
    """Data sets of a run: `data`, or run.json's; of a run from elsewhere only a built dataset."""
    places = {task.data for task in run.spec().tasks}
    if data or run.made_here():
        return [data] if data else sorted(places)
    return [place for place in places if (Path(place) / "README.md").is_file() and any(Path(place).glob("*/*.parquet"))]


def _option(model: type, field: str, name: str = "") -> Any:
    (flag,) = _hints(model)[field].__metadata__
    return typer.Option(
        name or flag.name or f"--{field.replace('_', '-')}",
        help=flag.help,
        min=flag.min,
        envvar=flag.envvar,
        metavar=flag.metavar,
        rich_help_panel=flag.group,
    )


@cache
def _hints(model: type) -> dict[str, Any]:
    return get_type_hints(model, include_extras=True)


@dataclass(frozen=True)
class Offered:
    """Fields of a model that the command offers, in a parameter's annotation.

    `without` keep their defaults; `names` maps fields to options where they differ from those of other commands.
    """

    without: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)


class Opt:
    """Help and settings of an option; without `names` it is called as its parameter."""

    def __init__(self, help: str, *names: str, **settings: Any) -> None:
        self.help, self.names, self.settings = help, names, settings

    def called(self, parameter: str) -> Any:
        """Option of a parameter."""
        names = self.names or (f"--{parameter.replace('_', '-')}",)
        return typer.Option(*names, help=self.help, **self.settings)


def _as_option(name: str, hint: Any) -> Any:
    stated = next(iter(getattr(hint, "__metadata__", ())), None)
    if not isinstance(stated, str | Opt):
        return hint
    return Annotated[hint.__origin__, (Opt(stated) if isinstance(stated, str) else stated).called(name)]


def _spread(command: Callable[..., None]) -> Callable[..., None]:
    parameters: list[inspect.Parameter] = []
    models: dict[str, tuple[Any, list[str]]] = {}
    hints = get_type_hints(command, include_extras=True)
    for name, parameter in inspect.signature(command).parameters.items():
        hint = _as_option(name, hints[name])
        model: Any = getattr(hint, "__origin__", hint)
        chosen = next(iter(getattr(hint, "__metadata__", ())), Offered())
        if model not in (RunOptions, SamplingOptions, JudgingOptions):
            parameters.append(parameter.replace(annotation=hint))
            continue
        offered = [each for each in fields(model) if each.name not in chosen.without]
        models[name] = (model, [each.name for each in offered])
        for each in offered:
            typed = _hints(model)[each.name]
            option = _option(model, each.name, chosen.names.get(each.name, ""))
            default = parameter.empty if each.default is MISSING else each.default
            annotation: Any = Annotated[typed.__metadata__[0].type or typed.__origin__, option]
            kind = inspect.Parameter.KEYWORD_ONLY
            parameters.append(inspect.Parameter(each.name, kind, default=default, annotation=annotation))

    def called(**values: Any) -> None:
        made = {name: model(**{each: values.pop(each) for each in names}) for name, (model, names) in models.items()}
        command(**made, **values)

    parameters = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    called.__name__, called.__doc__ = command.__name__, command.__doc__
    return called


def _without_type(parameter: Any, record: tuple[str, str]) -> tuple[str, str]:
    """Help with values called N (numbers) or as the option's last word."""
    is_option = parameter.param_type_name != "argument"
    word = max(parameter.opts, key=len).rpartition("-")[2].upper()

    def value(kind: re.Match[str]) -> str:
        return f" {'N' if kind[1] in _NUMBERS else word}" if is_option else ""

    return re.sub(r" <(\w+)[^>]*>", value, record[0]), record[1]


class GroupedHelp(TyperCommand):
    """Lists the options by their groups, those of all commands last."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes a section a group, if there are several."""
        records = [(each, record) for each in self.get_params(ctx) if (record := each.get_help_record(ctx)) is not None]
        panels = [getattr(each, "rich_help_panel", None) for each, _ in records]
        grouped = any(panel not in (None, OUTPUT) for panel in panels)
        groups: dict[str, list[Any]] = {name: [] for name in ("Arguments", *GROUPS, "Options")}
        for (parameter, record), panel in zip(records, panels, strict=True):
            other = "Arguments" if parameter.param_type_name == "argument" else "Options"
            groups[panel if panel and grouped else other].append(_without_type(parameter, record))
        for name, listed in groups.items():
            if listed:
                with formatter.section(name):
                    formatter.write_dl(listed)


def _take_config(context: typer.Context, config: Path | None) -> Path | None:
    """Makes the values of a YAML file the defaults of a command's options."""
    from livek12.core.files import read_yaml

    values = {} if config is None else read_yaml(config, 1 << 16)
    named = {name.lstrip("-"): each for each in context.command.params for name in each.opts if each.name != "config"}
    if not isinstance(values, dict):
        raise UserError(f"{config}: options by name are expected, such as `model: Qwen/Qwen3-8B`")
    defaults: dict[str, Any] = {}
    for name, value in values.items():
        if name not in named:
            raise UserError(f"{config}: {name}: `livek12 {context.info_name}` has no such option")
        if isinstance(value, dict) or value is None:
            raise UserError(f"{config}: {name}: a value as on the command line is expected")
        joined = isinstance(value, list) and named[name].nargs == 1
        defaults[str(named[name].name)] = ",".join(map(str, value)) if joined else value
    context.default_map = defaults
    return config


Profile = Annotated[
    str, Opt("Score formulas: article (the equations) or release (its authors' code).", rich_help_panel=OUTPUT)
]
Config = Annotated[
    Path | None,
    Opt("YAML file of options by name; the command line takes precedence.", callback=_take_config, is_eager=True),
]
Data = Annotated[str, _option(RunOptions, "data")]
Engine = Annotated[str, _option(RunOptions, "engine")]
EngineArgs = Annotated[str, _option(RunOptions, "engine_args")]
Limit = Annotated[int | None, _option(RunOptions, "limit")]
Model = Annotated[str, _option(RunOptions, "model")]
Name = Annotated[str, _option(RunOptions, "name")]
Out = Annotated[Path, _option(RunOptions, "out")]
Tasks = Annotated[str, _option(RunOptions, "task")]
MaxTokens = Annotated[int | None, _option(SamplingOptions, "max_tokens")]
Cache = Annotated[bool, _option(JudgingOptions, "cache")]
Judge = Annotated[str, _option(JudgingOptions, "judge")]
MovedData = Annotated[str, "Current place of the data set, if it has moved."]
OwnRun = Annotated[Path, typer.Argument(help="A run folder.", parser=place, callback=_own_folder, metavar="RUN")]
_PLACE, _PLACES = "A run folder, or its address (hf://, s3://).", "Run folders, or their addresses (hf://, s3://)."
_READ: dict[str, Any] = {"parser": place, "callback": _run_folder}
_SCORED: dict[str, Any] = {"parser": place, "callback": _scored_folder}
Run = Annotated[Path, typer.Argument(help=_PLACE, metavar="RUN", **_READ)]
Runs = Annotated[list[Path], typer.Argument(help=_PLACES, metavar="RUN", **_READ)]
ScoredRun = Annotated[Path, typer.Argument(help=_PLACE, metavar="RUN", **_SCORED)]
ScoredRuns = Annotated[list[Path], typer.Argument(help=_PLACES, metavar="RUN", **_SCORED)]
BaseRun = Annotated[
    Path | None, Opt("Run of the whole questions; default: that of --questions.", metavar="RUN", **_READ)
]
Hold = Annotated[list[str] | None, Opt("Release whose answers are held back; none: no release.", metavar="RELEASE")]
Rights = Annotated[Path | None, "Permissions for questions without a licence (docs/publish.md)."]
Json = Annotated[bool, Opt("Print JSON.", "--json", rich_help_panel=OUTPUT)]


class _WholeHelp(TyperGroup):
    """Lists its commands with uncut descriptions."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, (sub.help or "").partition("\n\n")[0]) for name, sub in self.commands.items()])


def group() -> typer.Typer:
    """App of a subcommand: plain help, no shell completion."""
    return typer.Typer(cls=_WholeHelp, rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


def command(line: str) -> Callable[[Callable[..., None]], typer.Typer]:
    """Makes a function the app of its subcommand, with an example."""

    def made(function: Callable[..., None]) -> typer.Typer:
        app = group()
        app.command(epilog=example(line), cls=GroupedHelp)(_spread(function))
        return app

    return made


def subcommand(app: typer.Typer, line: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Adds a function to a group of commands; the example begins with its name."""

    def added(function: Callable[..., None]) -> Callable[..., None]:
        app.command(line.split()[2], epilog=example(line), cls=GroupedHelp)(_spread(function))
        return function

    return added


def example(line: str) -> str:
    """End of a command's help: a command line on one line, to be copied."""
    return f"\b\nExample:\n  {line}"
