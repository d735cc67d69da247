"""What SWEEP.yaml may say, and nothing else.

Contract: a file is read whole or refused; every mistake is one line with the path of its key (`models[1].gpus`).
Values are data: texts hold no control characters, so that none can begin a line of its own in a script (a system
prompt may have lines; it stands there in quotes), and keys are never given twice.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from livek12.core.errors import UserError

Backend = Literal["local", "ray", "slurm", "hf-jobs"]
_MOST_BYTES = 1 << 20
_TIME = re.compile(r"(\d+-)?\d+(:\d\d){0,2}")
_MEMORY = re.compile(r"[1-9]\d*[KMGT]?")
_LIST_WORD = re.compile(r"[\w.,:&|*()\[\]@=+-]+")
_SCALARS = {
    "null": "~|null|Null|NULL|",
    "bool": "true|True|TRUE|false|False|FALSE",
    "int": "[-+]?(0|[1-9][0-9]{0,17})",
    "float": r"[-+]?(\.[0-9]+|[0-9]+\.[0-9]*)([eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+",
}
_MAY_BE_SECRET = {"env", "engine_args", "judge_engine_args"}
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _text(value: str) -> str:
    if not value.strip():
        raise ValueError("is empty")
    if any(not sign.isprintable() for sign in value):
        raise ValueError("holds a line break or another sign that cannot be printed")
    return value


def _lines(value: str) -> str:
    if any(not sign.isprintable() and sign not in "\n\t" for sign in value):
        raise ValueError("holds a sign that cannot be printed")
    return value


def _matching(pattern: re.Pattern[str], meaning: str) -> AfterValidator:
    def check(value: str) -> str:
        if not pattern.fullmatch(value):
            raise ValueError(f"{value!r} is not {meaning}")
        return value

    return AfterValidator(check)


def _sbatch_line(value: str) -> str:
    if not value.startswith("-"):
        raise ValueError(f"{value!r} is not an option of sbatch, such as --qos=long")
    return value


def _variables(values: dict[str, str]) -> dict[str, str]:
    for name in values:
        if not _VARIABLE.fullmatch(name):
            raise ValueError(f"{name!r} is not the name of an environment variable")
    return values


Text = Annotated[str, AfterValidator(_text)]
Lines = Annotated[str, AfterValidator(_lines)]
SlurmWord = Annotated[str, _matching(_LIST_WORD, "a name that Slurm takes")]
Time = Annotated[str, _matching(_TIME, "a time that Slurm takes, such as 04:00:00 or 1-12:00:00")]
Memory = Annotated[str, _matching(_MEMORY, "a size such as 64G")]
SbatchLine = Annotated[Text, AfterValidator(_sbatch_line)]
Environment = Annotated[dict[Text, Text], AfterValidator(_variables)]
Positive = Annotated[int, Field(ge=1)]
Replicas = Annotated[int, Field(ge=1, le=1024)]
Price = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Strict(BaseModel):
    """No unknown key, no value of another type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class SamplingChoice(Strict):
    """What is set over the tasks' own sampling, as by the flags of `livek12 run`."""

    max_tokens: Positive | None = None
    temperature: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    top_k: Annotated[int, Field(ge=0)] | None = None
    seed: int | None = None
    system_prompt: Lines | None = None
    thinking_budget: Annotated[int, Field(ge=0)] | None = None


class Resources(Strict):
    """What one replica of a model holds (`gpus` None: as the engine takes them); the last three are for Slurm."""

    gpus: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    cpus: Positive | None = None
    memory: Memory | None = None
    time: Time | None = None
    sbatch: list[SbatchLine] = []


class ModelEntry(Resources):
    """One model of the sweep; what it leaves out is as in the sweep."""

    name: Text
    label: Text | None = None
    engine: Text = "auto"
    engine_args: dict[Text, Any] = {}
    replicas: Replicas = 1
    price_per_gpu_hour: Price | None = None
    tasks: Annotated[list[Text], Field(min_length=1)] | None = None
    trials: Positive | None = None
    limit: Positive | None = None
    sampling: SamplingChoice = SamplingChoice()
    env: Environment = {}


class LocalSettings(Strict):
    """This machine: one model after another, or some at a time."""

    parallel: Positive = 1


class RaySettings(Strict):
    """`address`: local, auto, or HOST:PORT; a cluster places the replicas, and models wait in it for their turn."""

    address: Text = "local"
    parallel: Positive | None = None

    @property
    def at_once(self) -> int:
        """Models at a time: a local Ray belongs to one of them."""
        return self.parallel or (1 if self.address == "local" else 8)


class SlurmSettings(Strict):
    """How jobs are submitted; `judging` is what the last job holds, which judges and reports."""

    partition: SlurmWord | None = None
    account: SlurmWord | None = None
    qos: SlurmWord | None = None
    constraint: SlurmWord | None = None
    time: Time | None = None
    parallel: Positive | None = None
    warn_seconds: Annotated[int, Field(ge=10, le=3600)] = 120
    requeues: Annotated[int, Field(ge=0)] = 20
    sbatch: list[SbatchLine] = []
    setup: list[Text] = []
    command: Annotated[list[Text], Field(min_length=1)] | None = None
    judging: Resources = Resources()


class HfJobsSettings(Strict):
    """Jobs of the Hub: on what they run, in which bucket (ORG/NAME) run folders lie, and what is installed there."""

    flavor: Text = "a10g-large"
    bucket: Text | None = None
    package: Text = "livek12[vllm]"
    timeout: Text = "4h"
    image: Text | None = None
    namespace: Text | None = None
    secrets: list[Text] = ["HF_TOKEN"]


class Sweep(Strict):
    """The whole file."""

    out: Text
    data: Text | None = None
    tasks: Annotated[list[Text], Field(min_length=1)]
    trials: Positive | None = None
    limit: Positive | None = None
    sampling: SamplingChoice = SamplingChoice()
    budgets: list[Share] = []
    judge: Text = "rules"
    judge_engine: Text | None = None
    judge_engine_args: dict[Text, Any] = {}
    judge_method: Text | None = None
    judge_prompt: Text | None = None
    judge_scope: Text | None = None
    judge_repeats: Positive = 1
    cache: bool = True
    audit: bool = True
    stages: Text = "auto"
    retry_smaller: bool = False
    profile: Text = "article"
    price_per_gpu_hour: Price | None = None
    backend: Backend = "local"
    local: LocalSettings = LocalSettings()
    ray: RaySettings = RaySettings()
    slurm: SlurmSettings = SlurmSettings()
    hf_jobs: HfJobsSettings = HfJobsSettings()
    models: Annotated[list[ModelEntry], Field(min_length=1)]


def read_sweep(path: Path) -> Sweep:
    """Reads SWEEP.yaml.

    Raises:
        UserError: it cannot be read, or the first thing in it that is wrong.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    if len(content) > _MOST_BYTES:
        raise UserError(f"{path}: is longer than a sweep can be ({_MOST_BYTES} bytes)")
    said = _parsed(path, content)
    if not isinstance(said, dict):
        raise UserError(f"{path}: is not a mapping with out, tasks and models")
    try:
        return Sweep.model_validate(said)
    except ValidationError as error:
        raise UserError(f"{path}: {_first(error)}") from error


def _parsed(path: Path, content: bytes) -> Any:
    """The YAML as plain values, scalars as YAML 1.2 reads them: 12:00:00 and `no` are texts. Aliases are refused."""
    import yaml

    class Loader(yaml.SafeLoader):
        yaml_implicit_resolvers: dict[str, Any] = {}

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
                raise yaml.MarkedYAMLError(problem="aliases are not taken", problem_mark=mark)
            return super().compose_node(parent, index)

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            seen: set[str] = set()
            for key, _ in node.value:
                if str(key.value) in seen:
                    raise yaml.MarkedYAMLError(problem=f"{key.value!r} is given twice", problem_mark=key.start_mark)
                seen.add(str(key.value))
            return super().construct_mapping(node, deep)

    for kind, pattern in _SCALARS.items():
        Loader.add_implicit_resolver(f"tag:yaml.org,2002:{kind}", re.compile(rf"(?:{pattern})\Z"), None)
    # Libraries beside vLLM have every loader of the process read times as texts.
    Loader.add_constructor("tag:yaml.org,2002:timestamp", Loader.construct_yaml_timestamp)  # type: ignore[type-var]
    try:
        return yaml.load(content, Loader)
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{path}:{mark.line + 1}" if mark is not None else str(path)
        problem = getattr(error, "problem", None) or str(error)
        raise UserError(f"{place}: {' '.join(str(problem).split())[:200]}") from error
    except (KeyError, AttributeError, IndexError, TypeError) as error:  # yaml's word for a value that its tag refuses
        raise UserError(f"{path}: a value is not what its tag says (such as !!bool yes); leave the tags out") from error


def _first(error: ValidationError) -> str:
    """The first mistake: the path of its key, and what is wrong there."""
    wrong = error.errors(include_url=False)[0]
    path = ""
    for step in wrong["loc"]:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else str(step)
    path = path.removesuffix(".[key]")
    kind, given = wrong["type"], wrong.get("input")
    if kind == "extra_forbidden":
        return f"{path}: there is no such key; {_near(wrong['loc'])}"
    if kind == "missing":
        return f"{path}: is missing"
    if kind == "value_error":
        return f"{path}: {wrong['ctx']['error']}"
    message = wrong["msg"].removeprefix("Input should be ").removeprefix("a valid ")
    if kind == "string_type" and isinstance(given, bool | int | float):
        message += "; write it in quotes"
    shown = f" {' '.join(repr(given).split())[:60]}"
    if isinstance(given, str) and _MAY_BE_SECRET & set(wrong["loc"]):
        shown = ""
    return f"{path}:{shown} should be {message}"


def _near(loc: tuple[int | str, ...]) -> str:
    """The keys that are known where one is not."""
    place: Any = Sweep
    for step in loc[:-1]:
        if isinstance(step, str):
            place = {
                "models": ModelEntry,
                "local": LocalSettings,
                "ray": RaySettings,
                "slurm": SlurmSettings,
                "hf_jobs": HfJobsSettings,
                "judging": Resources,
                "sampling": SamplingChoice,
            }[step]
    return f"there are {', '.join(sorted(place.model_fields))}"
