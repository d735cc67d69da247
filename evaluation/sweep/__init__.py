"""Plans of sweeps: SWEEP.yaml, its run folders, and the very commands that fill them.

A file is read whole or refused, with the path of the key (`models[1].gpus`). Texts have no control characters, so that
none can begin a line of its own in a script. A run is a model with all its tasks in one folder, OUT/LABEL; its command
is a list of words that no shell reads. Later errors are refused here.
"""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from livek12.core.arguments import SPREADING, masked, one_of
from livek12.core.engine_kinds import checked_engine, kind_of
from livek12.core.errors import UserError
from livek12.core.files import read_yaml
from livek12.evaluation.options import STAGES, JudgingOptions

Backend = Literal["local", "ray", "slurm", "hf-jobs"]
_MOST_BYTES = 1 << 20
_TIME = re.compile(r"(\d+-)?\d+(:\d\d){0,2}")
_MEMORY = re.compile(r"[1-9]\d*[KMGT]?")
_LIST_WORD = re.compile(r"[\w.,:&|*()\[\]@=+-]+")
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
    """Refuses unknown keys and values of other types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class SamplingChoice(Strict):
    """Sampling over the tasks' own, as by the flags of `livek12 run`."""

    max_tokens: Positive | None = None
    temperature: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    top_k: Annotated[int, Field(ge=0)] | None = None
    seed: int | None = None
    system_prompt: Lines | None = None
    thinking_budget: Annotated[int, Field(ge=0)] | None = None


class Resources(Strict):
    """Resources of one replica (`gpus` None: the engine's choice); the last three are for Slurm."""

    gpus: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    cpus: Positive | None = None
    memory: Memory | None = None
    time: Time | None = None
    sbatch: list[SbatchLine] = []


class ModelEntry(Resources):
    """One model; omitted keys are those of the sweep."""

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
    """This machine, `parallel` models at a time."""

    parallel: Positive = 1


class RaySettings(Strict):
    """`address`: local, auto, or HOST:PORT; a cluster places replicas and queues models."""

    address: Text = "local"
    parallel: Positive | None = None

    @property
    def at_once(self) -> int:
        """Models at a time: a local Ray serves one."""
        return self.parallel or (1 if self.address == "local" else 8)


class SlurmSettings(Strict):
    """Submission of jobs; `judging` are the resources of the last job, which judges and reports."""

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
    """Jobs of the Hub; `bucket` (ORG/NAME) holds the run folders."""

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


def sweep_values(path: Path) -> dict[str, Any]:
    """Plain values of SWEEP.yaml."""
    values = read_yaml(path, _MOST_BYTES)
    if not isinstance(values, dict):
        raise UserError(f"{path}: is not a mapping with out, tasks and models")
    return values


def _read_sweep(path: Path) -> Sweep:
    values = sweep_values(path)
    try:
        return Sweep.model_validate(values)
    except ValidationError as error:
        raise UserError(f"{path}: {_first(error)}") from error


def _first(error: ValidationError) -> str:
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


WORK = "_jobs"
"""The folder of scripts, logs and notes beside the run folders; no label begins with "_"."""
JSON_REPORT, HTML_REPORT = "sweep.json", "sweep.html"
_OURS = frozenset({"replicas", "ray", "gpus", "cpus"})
_LONGEST_LABEL = 80
SLOTS, SHARE, ROWS = 256, 0.9, 8
"""Starting points for less memory, without values in the file: vLLM's slots and share, transformers' rows."""
LEAST_SHARE = 0.35
"""Of the memory, for the weights."""


@dataclass(frozen=True)
class PlannedRun:
    """Model of the sweep.

    `engine` None: settled on the machine of the model; `data` None: stated by the environment; `mark` are arguments on
    judges, `finish` those for reports; `price` of a GPU-hour, if stated.
    """

    label: str
    entry: ModelEntry
    folder: Path
    tasks: list[str]
    engine: str | None
    engine_args: Mapping[str, str]
    data: str | None
    trials: int
    limit: int | None
    sampling: Mapping[str, Any]
    mark: list[str]
    finish: list[str]
    price: float | None

    @property
    def ask(self) -> list[str]:
        """Arguments of `livek12 generate`."""
        flags = {
            "task": ",".join(self.tasks),
            "model": self.entry.name,
            "engine": self.entry.engine,
            "engine-args": ",".join(f"{name}={value}" for name, value in self.engine_args.items()) or None,
            "data": self.data,
            "trials": self.trials,
            "limit": self.limit,
            **{name.replace("_", "-"): value for name, value in self.sampling.items()},
            "out": self.folder,
        }
        return _flags(flags)

    @property
    def whole(self) -> list[str]:
        """Arguments of `livek12 run`."""
        return ["run", *self.ask, *self.mark, *self.finish]

    @property
    def steps(self) -> list[list[str]]:
        """Commands after `livek12 generate`."""
        folder = str(self.folder)
        return [["judge", folder, *self.mark], ["report", folder, *self.finish]]


@dataclass(frozen=True)
class SweepPlan:
    """All runs of a sweep."""

    file: Path
    sweep: Sweep
    out: Path
    runs: list[PlannedRun]

    @property
    def work(self) -> Path:
        """Folder of scripts, logs and notes."""
        return self.out / WORK


def read_plan(file: Path) -> SweepPlan:
    """Reads SWEEP.yaml and derives its runs."""
    sweep = _read_sweep(file)
    if sweep.out.startswith("-"):
        raise UserError(f"{file}: out: {sweep.out!r} looks like an option; write ./{sweep.out}")
    if sweep.retry_smaller and sweep.backend not in ("local", "ray"):
        raise UserError(
            f"{file}: retry_smaller: for the backends local and ray; on {sweep.backend} give the job more memory"
        )
    out = Path(sweep.out)
    labels = _labels(sweep, file)
    _check_gpus(sweep, file)
    judging = _judging(sweep, file)
    runs = []
    for number, (entry, label) in enumerate(zip(sweep.models, labels, strict=True)):
        where = f"{file}: models[{number}]"
        _refuse_secrets(entry.env, f"{where}.env")
        tasks = _tasks(entry.tasks or sweep.tasks, sweep.budgets, f"{where}.tasks" if entry.tasks else f"{file}: tasks")
        _check_judges(judging, entry.name, tasks, where)
        runs.append(
            PlannedRun(
                label=label,
                entry=entry,
                folder=out / label,
                tasks=tasks,
                engine=elsewhere(entry) if entry.engine == "auto" else entry.engine,
                engine_args=_engine_args(sweep, entry, where),
                data=sweep.data,
                trials=entry.trials or sweep.trials or _trials(tasks),
                limit=entry.limit or sweep.limit,
                sampling=sweep.sampling.model_dump(exclude_none=True) | entry.sampling.model_dump(exclude_none=True),
                mark=_judge_flags(judging),
                finish=[f"--profile={sweep.profile}"],
                price=sweep.price_per_gpu_hour if entry.price_per_gpu_hour is None else entry.price_per_gpu_hour,
            )
        )
    return SweepPlan(file, sweep, out, runs)


def _trials(tasks: list[str]) -> int:
    from livek12.tasks.registry import default_trials, get_task

    return default_trials(map(get_task, tasks))


def smaller(run: PlannedRun, engine: str) -> PlannedRun | None:
    """Run with less memory for its engine (`auto` settled); None at the minimum."""
    args = dict(run.engine_args)
    if engine == "transformers":
        rows = args.get("batch_size", "auto")
        now = int(rows) // 2 if rows.isdecimal() else ROWS
        less = {"batch_size": str(now)} if now else {}
    else:
        slots, share = int(args.get("max_num_seqs", SLOTS)) // 2, float(args.get("gpu_memory_utilization", SHARE)) - 0.1
        less = {"max_num_seqs": str(slots)} if slots else {}
        less |= {"gpu_memory_utilization": f"{share:.2g}"} if slots and share > LEAST_SHARE else {}
    return replace(run, engine_args=args | less) if less else None


def safe_label(text: str) -> str:
    """Text as a folder name of letters, digits, dot, dash and underscore."""
    plain = re.sub(r"[^\w.-]+", "_", unicodedata.normalize("NFC", text)).strip("._-")
    return plain.encode()[:_LONGEST_LABEL].decode(errors="ignore").rstrip("._-")


def _labels(sweep: Sweep, file: Path) -> list[str]:
    places: dict[str, int] = {}
    labels = []
    for number, entry in enumerate(sweep.models):
        where = f"{file}: models[{number}]"
        last = entry.name.rstrip("/").rpartition("/")[2]
        label = safe_label(entry.label if entry.label is not None else last)
        if not label or label in (JSON_REPORT, HTML_REPORT):
            raise UserError(f"{where}: {entry.label or last!r} makes no folder name; give it a label")
        folded = label.casefold()  # some file systems do not tell A from a
        if folded in places:
            raise UserError(f"{where}: has the label of models[{places[folded]}], {label!r}; give one of them a label")
        places[folded] = number
        labels.append(label)
    return labels


def _engine_args(sweep: Sweep, entry: ModelEntry, where: str) -> dict[str, str]:
    from livek12.engines import check_engine, parse_engine_args

    checked_engine(entry.engine, f"{where}.engine:")
    args = dict(entry.engine_args)
    if ours := sorted(_OURS & args.keys()):
        raise UserError(
            f"{where}.engine_args.{ours[0]}: say it beside engine_args, as gpus, cpus or replicas, or as ray"
        )
    if not remote(entry):
        args |= _placing(sweep, entry, where)
    written = parse_engine_args(as_engine_args(args, f"{where}.engine_args"))
    if remote(entry) or sweep.backend == "local":  # nodes of a cluster may have another version of the engine's library
        with placed(f"{where}.engine_args"):
            check_engine(elsewhere(entry) or entry.engine, entry.name, written, here=False)
    return written


def _placing(sweep: Sweep, entry: ModelEntry, where: str) -> dict[str, Any]:
    args: dict[str, Any] = {}
    if entry.engine in ("vllm", "auto") and (entry.gpus or 0) > 1 and not {*SPREADING} & entry.engine_args.keys():
        args["tensor_parallel_size" if entry.engine == "vllm" else "gpus"] = int(entry.gpus or 0)
    if sweep.backend == "ray":
        args["ray"] = sweep.ray.address
        if entry.env and sweep.ray.address != "local":
            raise UserError(f"{where}.env: does not reach the engines on a Ray cluster; set it where its nodes start")
    if sweep.backend == "ray" or (sweep.backend == "local" and entry.replicas > 1):
        placing = {"replicas": entry.replicas, "gpus": entry.gpus, "cpus": entry.cpus}
        args |= {name: value for name, value in placing.items() if value is not None}
    return args


def remote(entry: ModelEntry) -> bool:
    """True for an endpoint, or recorded answers."""
    return elsewhere(entry) is not None


def elsewhere(entry: ModelEntry) -> str | None:
    """Engine of a remote model; None for others."""
    from livek12 import engines

    if entry.engine == "auto":
        return engines.elsewhere(entry.name, entry.engine_args, {**os.environ, **entry.env})
    if entry.engine == "vllm" and entry.engine_args.get("base_url"):
        return "openai"
    return entry.engine if kind_of(entry.engine).is_elsewhere else None


def as_engine_args(args: Mapping[str, Any], where: str) -> str:
    """Mapping for `--engine-args`: K=V,K2=V2."""
    from livek12.engines import parse_engine_args

    _refuse_secrets(args, where)
    texts = {}
    for name, value in args.items():
        if isinstance(value, str):
            texts[name] = value
        elif isinstance(value, float) and value.is_integer():
            texts[name] = str(int(value))
        else:
            try:
                texts[name] = "none" if value is None else json.dumps(value, ensure_ascii=False)
            except TypeError as error:  # a date, bytes or a set, by a tag
                raise UserError(f"{where}.{name}: {value!r} cannot be written as an engine argument") from error
    written = ",".join(f"{name}={value}" for name, value in texts.items())
    with placed(where):
        read = parse_engine_args(written)
    for name, value in texts.items():
        if read.get(name) != value or not value.isprintable():
            raise UserError(
                f"{where}.{name}: {value!r} cannot be written as an engine argument (commas, spaces, quotes)"
            )
    if read.keys() != texts.keys():
        raise UserError(f"{where}: cannot be written as engine arguments: {written!r}")
    return written


def _refuse_secrets(args: Mapping[str, Any], where: str) -> None:
    """Refuses secrets, which scripts, logs and process arguments would reveal."""
    for name, value in args.items():
        if masked({name: value}) != {name: value}:
            raise UserError(
                f"{where}.{name}: a key or password does not belong in a file whose values go into scripts and logs; "
                "export it (OPENAI_API_KEY, HF_TOKEN, …) where the sweep is started"
            )


def _judging(sweep: Sweep, file: Path) -> JudgingOptions:
    from livek12.core.scoring import profile_named

    with placed(f"{file}: profile"):
        profile_named(sweep.profile)
    with placed(f"{file}: stages"):
        one_of("--stages", sweep.stages, STAGES)
    given = {each.name: getattr(sweep, each.name, None) for each in fields(JudgingOptions)}
    given["judge_engine_args"] = as_engine_args(sweep.judge_engine_args, f"{file}: judge_engine_args")
    return JudgingOptions(**{name: value for name, value in given.items() if value is not None})


def _judge_flags(options: JudgingOptions) -> list[str]:
    values = {name.replace("_", "-"): value for name, value in vars(options).items() if value and value != 1}
    return [*_flags(values), *([] if options.cache else ["--no-cache"]), *([] if options.audit else ["--no-audit"])]


def _check_judges(options: JudgingOptions, model: str, tasks: list[str], where: str) -> None:
    from livek12.evaluation.marking import check_judges
    from livek12.judges.llm.spec import names_file

    if options.judge == "rules":
        return
    with placed(f"{where}: judge"):
        judging = options.judges()
        if judging.panel is not None and not names_file(options.judge):
            for judge in judging.panel.judges:
                _refuse_secrets(judge.engine_args, judge.model)
        check_judges(judging, model, ",".join(tasks))


def _tasks(names: list[str], budgets: list[float], where: str) -> list[str]:
    from livek12.tasks.registry import get_tasks, with_budgets

    for number, name in enumerate(names):
        if "," in name:
            raise UserError(f"{where}[{number}]: {name!r}: write each task as an entry of its own")
    with placed(where):
        listed = with_budgets(",".join(names), ",".join(map(str, budgets)))
        return [task.name for task in get_tasks(listed)]


def _check_gpus(sweep: Sweep, file: Path) -> None:
    """Refuses parts of GPUs without a scheduler, and two models on one GPU that nothing separates."""
    for number, entry in enumerate(sweep.models):
        where = f"{file}: models[{number}].gpus"
        gpus = entry.gpus or 0
        if (gpus > 1 or sweep.backend == "slurm") and gpus != int(gpus):
            raise UserError(f"{where}: {gpus:g}: a part of a GPU can only be one below 1, and not on Slurm")
        crowded = {"local": sweep.local.parallel > 1, "ray": sweep.ray.address == "local" and sweep.ray.at_once > 1}
        if crowded.get(sweep.backend) and entry.gpus and "CUDA_VISIBLE_DEVICES" not in entry.env:
            raise UserError(
                f"{where}: several models at a time would share the GPUs; take a Ray cluster, which places"
                " them, or `parallel: 1`, or name each model's in env.CUDA_VISIBLE_DEVICES"
            )
    judging = sweep.slurm.judging.gpus or 0
    if judging != int(judging):
        raise UserError(f"{file}: slurm.judging.gpus: {judging:g}: Slurm gives whole GPUs")


def _flags(values: Mapping[str, object]) -> list[str]:
    """One word a flag, so that no value looks like a flag."""
    return [f"--{name}={value}" for name, value in values.items() if value is not None]


@contextmanager
def placed(where: str) -> Iterator[None]:
    """Prefixes an error with the path of its key."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{where}: {error}") from error
