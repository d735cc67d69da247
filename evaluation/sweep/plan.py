"""From SWEEP.yaml to runs: which run folders there will be, and the very commands that fill them.

Contract: a run is a model with all its tasks in one folder, OUT/LABEL, so that the model is loaded once; its command is
a `livek12` command anyone could type, as a list of words that no shell reads. What could only fail later (an unknown
task, judge or engine, two models with one label) is refused here, in one line with the path of its key.
"""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from livek12.core.arguments import SPREADING
from livek12.core.engine_kinds import checked_engine, kind_of
from livek12.core.errors import UserError
from livek12.evaluation.sweep.settings import ModelEntry, Sweep, read_sweep

WORK = "_jobs"
"""The folder beside the run folders that holds scripts, logs and who is at what; no label begins with "_"."""
JSON_REPORT, HTML_REPORT = "sweep.json", "sweep.html"
_OURS = frozenset({"replicas", "ray", "gpus", "cpus"})
_LONGEST_LABEL = 80
SLOTS, SHARE, ROWS = 256, 0.9, 8
"""From where less is taken where the file names nothing: vLLM's slots and share of the memory, transformers' rows."""
LEAST_SHARE = 0.35
"""Of the memory; a model needs room for its weights."""


@dataclass(frozen=True)
class PlannedRun:
    """One model of the sweep.

    Attributes:
        label: its name in tables, and of its folder.
        entry: what the file says of it.
        folder: its run folder.
        tasks: the names of its tasks.
        engine: that asks; None where `auto` is settled by the machine that runs the model.
        engine_args: its arguments.
        data: the data set; None where the environment says it.
        trials: answers a question.
        limit: questions a task at most.
        sampling: what is set over the tasks' own.
        mark: the arguments that `livek12 judge` and `run` take on judges.
        finish: the arguments that `livek12 report` and `run` take.
        price: of a GPU-hour; None where nobody says.
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
        """The arguments of `livek12 generate`."""
        said = {
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
        return _flags(said)

    @property
    def whole(self) -> list[str]:
        """`livek12 run`: everything in one command."""
        return ["run", *self.ask, *self.mark, *self.finish]

    @property
    def steps(self) -> list[list[str]]:
        """The commands that follow `livek12 generate`."""
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
        """Where scripts, logs and notes lie."""
        return self.out / WORK


def read_plan(file: Path) -> SweepPlan:
    """Reads SWEEP.yaml and works out its runs.

    Raises:
        UserError: the file says something that cannot be.
    """
    sweep = read_sweep(file)
    if sweep.out.startswith("-"):
        raise UserError(f"{file}: out: {sweep.out!r} looks like an option; write ./{sweep.out}")
    if sweep.retry_smaller and sweep.backend not in ("local", "ray"):
        raise UserError(
            f"{file}: retry_smaller: for the backends local and ray; on {sweep.backend} give the job more memory"
        )
    out = Path(sweep.out)
    labels = _labels(sweep, file)
    _check_gpus(sweep, file)
    mark = _judging(sweep, file)
    runs = []
    for number, (entry, label) in enumerate(zip(sweep.models, labels, strict=True)):
        where = f"{file}: models[{number}]"
        _refuse_secrets(entry.env, f"{where}.env")
        tasks = _tasks(entry.tasks or sweep.tasks, sweep.budgets, f"{where}.tasks" if entry.tasks else f"{file}: tasks")
        _check_judges(sweep, entry.name, tasks, where)
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
                mark=mark,
                finish=[f"--profile={sweep.profile}"],
                price=sweep.price_per_gpu_hour if entry.price_per_gpu_hour is None else entry.price_per_gpu_hour,
            )
        )
    return SweepPlan(file, sweep, out, runs)


def _trials(tasks: list[str]) -> int:
    """As the tasks have it where the file says nothing."""
    from livek12.tasks.registry import default_trials, get_task

    return default_trials(map(get_task, tasks))


def smaller(run: PlannedRun, engine: str) -> PlannedRun | None:
    """The run with less memory for its engine; None where it takes as little as it can.

    Args:
        run: that ran out of memory.
        engine: that ran it, which `auto` may have settled.
    """
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
    """The text as the name of a folder: letters, digits, dot, dash and underscore, none of the last three in front."""
    plain = re.sub(r"[^\w.-]+", "_", unicodedata.normalize("NFC", text)).strip("._-")
    return plain.encode()[:_LONGEST_LABEL].decode(errors="ignore").rstrip("._-")


def _labels(sweep: Sweep, file: Path) -> list[str]:
    found: dict[str, int] = {}
    labels = []
    for number, entry in enumerate(sweep.models):
        where = f"{file}: models[{number}]"
        last = entry.name.rstrip("/").rpartition("/")[2]
        label = safe_label(entry.label if entry.label is not None else last)
        if not label or label in (JSON_REPORT, HTML_REPORT):
            raise UserError(f"{where}: {entry.label or last!r} makes no folder name; give it a label")
        folded = label.casefold()  # some file systems do not tell A from a
        if folded in found:
            raise UserError(f"{where}: has the label of models[{found[folded]}], {label!r}; give one of them a label")
        found[folded] = number
        labels.append(label)
    return labels


def _engine_args(sweep: Sweep, entry: ModelEntry, where: str) -> dict[str, str]:
    """The arguments of the engine: the model's own, and what places its replicas."""
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
    """The arguments by which an engine that runs the model itself has its place."""
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
    """Whether the model runs elsewhere, or not at all: at an endpoint, or as recorded answers."""
    return elsewhere(entry) is not None


def elsewhere(entry: ModelEntry) -> str | None:
    """The engine where the model does not run in it: an endpoint or a record; None where it does."""
    from livek12 import engines

    if entry.engine == "auto":
        return engines.elsewhere(entry.name, entry.engine_args, {**os.environ, **entry.env})
    if entry.engine == "vllm" and entry.engine_args.get("base_url"):
        return "openai"
    return entry.engine if kind_of(entry.engine).is_direct else None


def as_engine_args(args: Mapping[str, Any], where: str) -> str:
    """The mapping as `--engine-args` takes it: K=V,K2=V2.

    Raises:
        UserError: a value that cannot be written that way.
    """
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
    """Refuses what scripts, logs and the arguments of processes would show to everybody."""
    from livek12.core.arguments import masked

    for name, value in args.items():
        if masked({name: value}) != {name: value}:
            raise UserError(
                f"{where}.{name}: a key or password does not belong in a file whose values go into scripts and logs; "
                "export it (OPENAI_API_KEY, HF_TOKEN, …) where the sweep is started"
            )


def _judging(sweep: Sweep, file: Path) -> list[str]:
    from livek12.core.arguments import one_of
    from livek12.core.scoring import profile_named
    from livek12.evaluation.options import STAGES

    with placed(f"{file}: profile"):
        profile_named(sweep.profile)
    with placed(f"{file}: stages"):
        one_of("--stages", sweep.stages, STAGES)
    flags = {
        "judge": sweep.judge,
        "judge-engine": sweep.judge_engine,
        "judge-engine-args": as_engine_args(sweep.judge_engine_args, f"{file}: judge_engine_args") or None,
        "judge-method": sweep.judge_method,
        "judge-prompt": sweep.judge_prompt,
        "judge-scope": sweep.judge_scope,
        "judge-repeats": sweep.judge_repeats if sweep.judge_repeats > 1 else None,
        "stages": sweep.stages,
    }
    return [*_flags(flags), *([] if sweep.cache else ["--no-cache"]), *([] if sweep.audit else ["--no-audit"])]


def _check_judges(sweep: Sweep, model: str, tasks: list[str], where: str) -> None:
    """Refuses judges that could not be, or that may not judge this model."""
    from livek12.evaluation.judging import check_judges
    from livek12.evaluation.options import JudgingOptions
    from livek12.judges.llm.spec import names_file

    if sweep.judge == "rules":
        return
    args = as_engine_args(sweep.judge_engine_args, f"{where}: judge_engine_args")
    with placed(f"{where}: judge"):
        named = sweep.judge_method or "", sweep.judge_prompt or "", sweep.judge_scope or ""
        options = JudgingOptions(sweep.judge, sweep.judge_engine or "", args, *named, judge_repeats=sweep.judge_repeats)
        judging = options.judges()
        if judging.panel is not None and not names_file(sweep.judge):
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
    """Refuses parts of GPUs that nobody gives, and two models on one GPU where nobody would tell them apart."""
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


def _flags(said: Mapping[str, object]) -> list[str]:
    """One word a flag, so that a value that looks like a flag is none."""
    return [f"--{name}={value}" for name, value in said.items() if value is not None]


@contextmanager
def placed(where: str) -> Iterator[None]:
    """Puts the path of a key before what is wrong with its value."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{where}: {error}") from error
