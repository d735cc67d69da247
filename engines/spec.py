"""A model as the user names it: MODEL, or MODEL@ENGINE[:K=V,…] with an engine and arguments of its own.

Contract: whoever lets a user name a model to ask reads the name here. What is wrong raises UserError in one line, which
says the option and nothing that may be secret.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from livek12.core.arguments import arguments_of, parse_engine_args, split_at_commas
from livek12.core.engine_kinds import engine_names, is_engine
from livek12.core.errors import UserError
from livek12.engines import choose_engine, make_engine
from livek12.engines.base import Engine

_ENGINE = re.compile(r"(?<=.)@(\w[\w-]*)(?=:|\Z)", re.DOTALL)
_NO_ENGINE = re.compile(r"@(\w+):\w+=")


@dataclass(frozen=True)
class ModelSpec:
    """A model to ask.

    Attributes:
        model: Hub name, folder, served name, or a file of recorded replies.
        engine: `auto`, or one of `engine_names`.
        engine_args: as for `--engine-args`.
    """

    model: str
    engine: str = "auto"
    engine_args: Mapping[str, Any] = field(default_factory=dict)

    @property
    def runs_on(self) -> str:
        """The engine that `auto` comes to; a vLLM with an address is an endpoint."""
        engine = choose_engine(self.model, self.engine_args) if self.engine == "auto" else self.engine
        return "openai" if engine == "vllm" and self.engine_args.get("base_url") else engine

    def start(self) -> Engine:
        """The engine with the model, which the caller closes.

        Raises:
            UserError: no such engine, an argument it does not take, or a model that it cannot run.
        """
        return make_engine(self.engine, self.model, dict(self.engine_args))


def model_spec(text: str, option: str, engine: str = "", engine_args: str | Mapping[str, Any] = "") -> ModelSpec:
    """One model.

    Args:
        text: what the user wrote.
        option: where, for messages.
        engine: for a model that names none; "" is auto.
        engine_args: for a model that names none.

    Raises:
        UserError: no model, an unknown engine, or arguments that are none.
    """
    text = text.strip()
    if not text:
        raise UserError(f"{option} names no model: give MODEL or MODEL@ENGINE[:K=V,…]")
    if own := next((mark for mark in _ENGINE.finditer(text) if is_engine(mark[1])), None):
        given = text[own.end() + 1 :]
        return ModelSpec(text[: own.start()], own[1], parse_engine_args(given) if given else arguments_of(engine_args))
    if unknown := _NO_ENGINE.search(text):
        raise UserError(f"{option}: {unknown[1]!r} is no such engine; there are {', '.join(engine_names())}")
    return ModelSpec(text, engine or "auto", arguments_of(engine_args))


def model_specs(text: str, option: str, engine: str = "", engine_args: str | Mapping[str, Any] = "") -> list[ModelSpec]:
    """The models between commas; K=V after a model with an engine are its arguments. See `model_spec`."""
    found: list[str] = []
    for piece in split_at_commas(text):
        if found and "@" in found[-1] and re.match(r"\s*[A-Za-z_]\w*=", piece):
            found[-1] += "," + piece
        else:
            found.append(piece)
    return [model_spec(piece, option, engine, engine_args) for piece in found]
