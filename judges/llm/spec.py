"""Panels, and the forms of `--judge` that name them.

    rules                                    no model
    MODEL[,MODEL…]                           engine and arguments from --judge-engine and --judge-engine-args
    MODEL@ENGINE[:K=V,…][,MODEL@ENGINE…]     each with its own
    FILE.yaml                                a panel file (see `read_panel_file`)
    panel:NAME                               the shipped `panels/NAME.yaml`

Quantisations of one model are one judge.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

from livek12.core.errors import UserError
from livek12.core.prices import read_prices
from livek12.core.records import Sampling, canonical_json
from livek12.engines.asking import model_spec, model_specs
from livek12.judges.code_version import PANEL, code_version
from livek12.judges.llm.client import JudgeSpec
from livek12.judges.llm.families import normalised
from livek12.judges.llm.prompts import GIVEN, AnyPrompt, GivenPrompt, load_prompt, read_given_prompt

SHIPPED = "panel:"
"""Prefix of shipped panels in `--judge`."""
FOLDER = Path(__file__).parent / "panels"


def shipped_panels() -> dict[str, dict[str, Any]]:
    """Shipped panels by name, smaller first."""
    import yaml

    panels = {file.stem: yaml.safe_load(file.read_text(encoding="utf-8")) for file in FOLDER.glob("*.yaml")}
    return dict(sorted(panels.items(), key=lambda named: sum(judge["weights_gb"] for judge in named[1]["judges"])))


def shipped_file(name: str, engine: str = "", shared: Mapping[str, Any] | None = None) -> tuple[Path, str]:
    """File of a shipped panel, and its judges' engine.

    `engine` defaults to that of the endpoint in `shared` (`--judge-engine-args`), else vLLM.
    """
    files = {file.stem: file for file in FOLDER.glob("*.yaml")}
    if name not in files:
        raise UserError(f"--judge {SHIPPED}{name[:80]}: there is no such panel; there are {', '.join(sorted(files))}")
    address = (shared or {}).get("base_url") or os.environ.get("OPENAI_BASE_URL")
    if engine == "openai" and not address:
        raise UserError(
            f"--judge {SHIPPED}{name}: no endpoint is named: give --judge-engine-args base_url=URL, or leave out"
            " --judge-engine to run the judges here in vLLM"
        )
    if engine in ("", "auto"):
        engine = "openai" if address else "vllm"
    return files[name], engine


Scope = Literal["open", "all"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
EVERY_ANSWER = "+all"
"""Version suffix of a panel that sees every answer."""
SchemeRequests = Literal["one", "each"]
SCHEME_REQUESTS: tuple[SchemeRequests, ...] = get_args(SchemeRequests)
Rule = Literal["mean", "majority", "unanimous"]
RULES: tuple[Rule, ...] = get_args(Rule)


@dataclass(frozen=True)
class PanelSpec:
    """A panel of judges for what the rules leave open.

    Attributes:
        judges: the pool, each model once.
        scope: `open`: parts that the rules leave open. `all`: every answer with text, without the rules (as in the
            articles' studies of judges).
        method: None is the task's own.
        prompt: the user's, for methods without one of ours.
        size: judges for a question; None is the task's own (or all).
        rule: `mean`, `majority`, or `unanimous`.
        quorum: usable votes needed; None is more than half of those drawn.
        spread: votes further apart than this (of 1) call for `extra` votes; None never.
        extra: from undrawn judges, else the drawn ones with another seed.
        exclude_family: excludes judges of the model's family (the model itself always is).
        families: model → family, added to the table.
        images: show judges the pictures.
        scheme_requests: `one` for all open criteria of an answer, or `each` its own.
        seed: of the draw.
    """

    judges: tuple[JudgeSpec, ...]
    scope: Scope = "open"
    method: str | None = None
    prompt: GivenPrompt | None = None
    size: int | None = None
    rule: Rule = "mean"
    quorum: int | None = None
    spread: float | None = 0.5
    extra: int = 2
    exclude_family: bool = True
    families: Mapping[str, str] = field(default_factory=dict)
    images: bool = True
    seed: int = 0
    scheme_requests: SchemeRequests = "one"

    def version(self, method: str, prompts: Sequence[str], size: int | None, beside: Sequence[str] = ()) -> str:
        """Equal strings mark equally, as far as we control it; prompts `beside` the method's count as code."""
        own = [
            *(getattr(self, f.name) for f in fields(self) if f.name not in _NAMED_APART),
            dict(self.families),
            [judge.identity for judge in self.judges],
            [self.prompt_of(prompt).sha256 for prompt in prompts],
            size,
        ]
        if beside and self.scheme_requests != "one":
            own.append(self.scheme_requests)
        digest = hashlib.sha256(canonical_json([method, *own]).encode()).hexdigest()
        code = code_version(PANEL)
        if beside:
            texts = [load_prompt(name).sha256 for name in beside]
            code = hashlib.sha256(canonical_json([code, *texts]).encode()).hexdigest()[:8]
        return f"{method}-{code}+{digest[:8]}" + (EVERY_ANSWER if self.scope == "all" else "")

    def prompt_of(self, name: str) -> AnyPrompt:
        """A method's prompt: ours, or the user's."""
        return self.prompt if name == GIVEN and self.prompt is not None else load_prompt(name)


_NAMED_APART = frozenset({"judges", "families", "size", "method", "prompt", "scope", "scheme_requests"})
"""Fields with their own place in the version of a panel."""


def parse_judge(
    text: str,
    engine: str = "",
    engine_args: str | Mapping[str, Any] = "",
    method: str = "",
    prompt: str | Path = "",
    scope: str = "",
    scheme_requests: str = "",
) -> PanelSpec | None:
    """Parses `--judge` (`text`); None for `rules`.

    The other arguments are `--judge-engine`, `--judge-engine-args`, `--judge-method`, `--judge-prompt`,
    `--judge-scope` and `--scheme-requests`; "" takes the default of the task or panel file.
    """
    from livek12.core.arguments import arguments_of
    from livek12.core.engine_kinds import checked_engine
    from livek12.judges.llm.methods import METHODS

    if method and method not in METHODS:
        raise UserError(f"--judge-method {method!r}: choose one of {', '.join(METHODS)}")
    if scope and scope not in SCOPES:
        raise UserError(f"--judge-scope {scope!r}: choose one of {', '.join(SCOPES)}")
    if scheme_requests and scheme_requests not in SCHEME_REQUESTS:
        raise UserError(f"--scheme-requests {scheme_requests!r}: choose one of {', '.join(SCHEME_REQUESTS)}")
    if engine:
        checked_engine(engine, "--judge-engine")
    if text.strip() == "rules":
        if engine or engine_args or method or prompt or scope == "all":
            flags = "--judge-engine, --judge-engine-args, --judge-method, --judge-prompt and --judge-scope all"
            raise UserError(f"{flags} go with --judge MODEL")
        if scheme_requests:
            raise UserError("--scheme-requests goes with --judge MODEL")
        return None
    shared = arguments_of(engine_args)
    if text.strip().startswith(SHIPPED):
        file, engine = shipped_file(text.strip().removeprefix(SHIPPED), engine, shared)
        panel = read_panel_file(file, engine, shared)
    elif names_file(text):
        panel = read_panel_file(Path(text.strip()), engine or "auto", shared)
    else:
        judges = [JudgeSpec(**vars(spec)) for spec in model_specs(text, "--judge", engine, shared)]
        if not judges:
            raise UserError("--judge names nobody: give rules, MODEL[,MODEL…], FILE.yaml or panel:NAME")
        panel = PanelSpec(judges=_each_once(judges))
    if method:
        panel = replace(panel, method=method)
    if scope:
        panel = replace(panel, scope="all" if scope == "all" else "open")
    if scheme_requests:
        panel = replace(panel, scheme_requests="each" if scheme_requests == "each" else "one")
    if prompt:
        panel = replace(panel, prompt=read_given_prompt(Path(prompt)))
    takes = panel.method is not None and METHODS[panel.method].takes_prompt
    if takes and panel.prompt is None:
        raise UserError(
            f"method {panel.method} has no prompt of ours: give the file of the verifier's with --judge-prompt"
        )
    if panel.prompt is not None and not takes:
        named = " or ".join(name for name, method_entry in METHODS.items() if method_entry.takes_prompt)
        raise UserError(f"--judge-prompt goes with --judge-method {named}; the other methods have prompts of their own")
    return panel


def names_file(text: str) -> bool:
    """Checks whether `--judge` names a panel file."""
    return re.search(r"\.ya?ml$", text.strip()) is not None


def _each_once(judges: Sequence[JudgeSpec]) -> tuple[JudgeSpec, ...]:
    from livek12.engines import check_engine

    specs: dict[str, JudgeSpec] = {}
    for judge in judges:
        if not judge.name:
            raise UserError(f"judge {judge.model!r} has no name to speak of")
        try:
            check_engine(judge.engine, judge.model, judge.engine_args, here=False)
        except UserError as error:
            raise UserError(f"judge {judge.model}: {error}") from error
        specs.setdefault(normalised(judge.model), judge)
    return tuple(specs.values())


# --- a panel in a file ----------------------------------------------------------------------------------------------

_SHARED = frozenset({"engine", "engine_args", "about"})
_PANEL = frozenset(f.name for f in fields(PanelSpec)) | _SHARED
_TOLD = frozenset({"licence", "weights_gb", "gpu_gb"})
"""Fields of a file for people."""
_JUDGE = frozenset({"model", "engine", "engine_args", "vllm", "family", "price", "sampling"}) | _TOLD


def read_panel_file(path: Path, engine: str = "auto", shared: Mapping[str, Any] | None = None) -> PanelSpec:
    """A panel from YAML.

    judges:                       # required; a name, or a mapping
      - model: gpt-x
        engine: openai
        engine_args: {base_url: "https://…/v1", concurrency: 8}
        family: openai            # where the name does not tell
        price: {prompt: 1.25, cached: 0.125, completion: 10}    # for a million tokens
        sampling: {temperature: 0, max_tokens: 4096}
        vllm: {max_model_len: 32768}    # further arguments where it runs here in vLLM
        licence: Apache-2.0             # for people, as are weights_gb, gpu_gb, and `about` of the panel
      - qwen-y
    engine: openai                # for judges that name none; engine_args likewise
    size: 3                       # and any other field of PanelSpec
    """
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: is not YAML: {' '.join(str(error).split())[:200]}") from error
    if not isinstance(content, dict) or not isinstance(content.get("judges"), list) or not content["judges"]:
        raise UserError(f"{path}: needs a list of judges")
    _known(content, _PANEL, f"{path}")
    engine = _text(content.get("engine", engine), f"{path}: engine")
    shared = content.get("engine_args", shared or {})
    judges = [_file_judge(entry, engine, shared, f"{path}: judge {n}") for n, entry in enumerate(content["judges"], 1)]
    rest = {name: value for name, value in content.items() if name not in {"judges", *_SHARED}}
    _check(rest, str(path))
    if "prompt" in rest:
        rest["prompt"] = read_given_prompt(path.parent / rest["prompt"])
    return PanelSpec(judges=_each_once(judges), **rest)


def _file_judge(entry: Any, engine: str, shared: Any, where: str) -> JudgeSpec:
    from livek12.core.engine_kinds import checked_engine

    if isinstance(entry, str):
        return JudgeSpec(**vars(model_spec(entry, where, engine, shared)))
    if not isinstance(entry, dict) or not isinstance(entry.get("model"), str):
        raise UserError(f"{where}: needs a model")
    _known(entry, _JUDGE, where)
    own_engine = checked_engine(_text(entry.get("engine", engine), f"{where}: engine"), f"{where}: engine")
    args, here = entry.get("engine_args", shared), entry.get("vllm", {})
    if not isinstance(args, dict) or not isinstance(here, dict):
        raise UserError(f"{where}: {'vllm' if isinstance(args, dict) else 'engine_args'} is a mapping")
    if own_engine == "vllm" and not args.get("base_url"):
        args = {**here, **args}
    family = entry.get("family")
    return JudgeSpec(
        model=entry["model"],
        engine=own_engine,
        engine_args=args,
        family=None if family is None else _text(family, f"{where}: family"),
        prices=read_prices(entry.get("price"), f"{where}: price"),
        sampling=_sampling(entry.get("sampling"), where),
    )


def _sampling(content: Any, where: str) -> Sampling:
    from pydantic import ValidationError

    default = JudgeSpec("x").sampling.model_dump()
    if isinstance(content, dict) and "system_prompt" in content:
        raise UserError(f"{where}: sampling: a judge is told what its prompt says, and has no other system_prompt")
    try:
        return Sampling(**{**default, **(content or {})})
    except (ValidationError, TypeError) as error:
        raise UserError(f"{where}: sampling: {str(error).splitlines()[-2].strip()[:200]}") from error


_KINDS: Mapping[str, tuple[str, type | tuple[type, ...]]] = {
    "size": ("a whole number from 1", int),
    "quorum": ("a whole number from 1", int),
    "extra": ("a whole number from 0", int),
    "seed": ("a whole number", int),
    "spread": ("a number from 0 to 1, or null", (int, float, type(None))),
    "exclude_family": ("true or false", bool),
    "images": ("true or false", bool),
    "families": ("a mapping of models to families", dict),
    "method": ("the name of a method", str),
    "prompt": ("the path of a file, seen from here", str),
    "rule": (f"one of {', '.join(RULES)}", str),
    "scope": (f"one of {', '.join(SCOPES)}", str),
    "scheme_requests": (f"one of {', '.join(SCHEME_REQUESTS)}", str),
}
_LEAST = {"size": 1, "quorum": 1, "extra": 0, "spread": 0}


def _check(content: Mapping[str, Any], where: str) -> None:
    from livek12.judges.llm.methods import METHODS

    for name, value in content.items():
        what, kind = _KINDS[name]
        fits = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
        if fits and name in _LEAST and value is not None:
            fits = value >= _LEAST[name]
        if name == "rule":
            fits = value in RULES
        if name == "scope":
            fits = value in SCOPES
        if name == "scheme_requests":
            fits = value in SCHEME_REQUESTS
        if name == "method":
            what, fits = f"one of {', '.join(METHODS)}", value in METHODS
        if name == "families" and fits:
            fits = all(isinstance(text, str) for pair in value.items() for text in pair)
        if not fits:
            raise UserError(f"{where}: {name} is {what}, not {value!r}")


def _known(content: Mapping[str, Any], names: frozenset[str], where: str) -> None:
    if unknown := sorted(str(name) for name in content if name not in names):
        raise UserError(f"{where}: unknown field {unknown[0]!r}; there are {', '.join(sorted(names))}")


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise UserError(f"{what} is a text, not {value!r}")
    return value
