"""Spec of a run in run.json, and the differences that keep two commands from sharing a run."""

from __future__ import annotations

import datetime
import hashlib
import re
from collections import Counter
from math import inf
from pathlib import Path, PurePath
from typing import Annotated, Any

from pydantic import BaseModel, Field, field_validator

from livek12.core.arguments import HIDDEN, as_text, masked
from livek12.core.errors import UserError
from livek12.core.records import RECORD_VERSION, Record, Sampling, SparseRecord, canonical_json
from livek12.core.run.markings import in_words
from livek12.core.version import __version__

TRAVEL_ARGS = frozenset(
    {"base_url", "api_key", "concurrency", "timeout", "max_retries", "backoff", "window", "batch_size"}
    | {"key_file", "state", "wait", "poll", "settle", "most_requests", "most_bytes", "price"}
)
OPERATIONAL_ARGS = TRAVEL_ARGS | {"replicas", "ray", "gpus", "cpus", "max_num_seqs", "gpu_memory_utilization"}
"""Engine arguments that say how requests travel and what memory they take, not what the model answers; they may change
on resuming, and each session keeps its own."""


CARRIERS = frozenset({"livek12", "aiohttp"})
"""Libraries that carry requests and have no part in an answer; they may change too."""


PACKED_VERSION = 7
"""Version of a run folder whose journals are Parquet (`core.packed`), which earlier versions cannot see."""


MOST_TRIALS, MOST_ANSWERS = 10_000, 20_000_000
"""Of one question, and of a whole run: room is made for so many answers."""
Count = Annotated[int, Field(strict=True, ge=0, le=1 << 40)]
"""What a run.json, which may come from anybody, can count."""


RESULTS = "results"
"""Where the answers of a run without responses are from: in its engine arguments, and as the engine of each."""


MOST_NAME = 80
"""Characters of what a run calls its model."""


MARKS = ("marks", "shares", "points")
"""Cells of such a run that are no answers."""


class TaskSpec(Record):
    """Task of a run: its versions, and a hash of its questions."""

    name: str
    version: int
    modality: str
    prompt_sha256: str
    data: str
    data_sha256: str
    questions: Count
    sampling: Sampling


class ChosenQuestions(Record):
    """Choice of a run's questions; their hash identifies them.

    Attributes:
        how: the way (`failed-in`).
        failed: number of failed questions by task of that run.
    """

    how: str
    run: str
    model: str
    failed: dict[str, Count]
    of: dict[str, Count]
    undecided: dict[str, list[str]] = {}


class AdaptiveExam(Record):
    """Adaptive exam of a run: version of its bank, its end (`se=0.3,n=50`), questions at a time, and bank size."""

    bank: str
    until: str
    batch: Annotated[int, Field(strict=True, ge=1, le=10_000)]
    of: Count


class RunSpec(SparseRecord):
    """Spec of a run. Commands with equal specs (apart from what `differences` ignores) share one run.

    Engine arguments carry no secret, not even when read from an earlier version's run.json.
    """

    sparse = {"name": "", "judged_by": {}, "marking": 0, "chosen": None, "adaptive": None}

    record_version: int = RECORD_VERSION
    package_version: str = __version__
    started_at: str = Field(default_factory=lambda: datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"))
    model: str
    name: Annotated[str, Field(max_length=MOST_NAME)] = ""
    """What tables and pages call the model; "": `shown_model`."""
    model_revision: str | None = None
    engine: str
    engine_args: dict[str, Any] = {}
    engine_versions: dict[str, str] = {}
    tasks: list[TaskSpec]
    trials: Annotated[int, Field(strict=True, ge=1, le=MOST_TRIALS)] = 1
    limit: Count | None = None
    chosen: ChosenQuestions | None = None
    adaptive: AdaptiveExam | None = None
    judges: dict[str, str] = {}
    """Who marked each task last, by version."""
    judged_by: dict[str, str] = {}
    """All that ever marked the run, in words, by version; who came last stands last."""
    marking: Count = 0
    """How often it was begun to mark the run anew."""
    questions_sha256: str | None = None

    @field_validator("tasks")
    @classmethod
    def _each_once(cls, tasks: list[TaskSpec]) -> list[TaskSpec]:
        repeated = [name for name, times in Counter(task.name for task in tasks).items() if times > 1]
        if repeated or not tasks:
            raise ValueError(f"task {repeated[0]} is listed more than once" if repeated else "no task is listed")
        return tasks

    @field_validator("engine_args")
    @classmethod
    def _without_secrets(cls, args: dict[str, Any]) -> dict[str, Any]:
        return masked(args)

    @property
    def identity(self) -> str:
        """Short hash of what `differences` compares, without versions."""
        args = {
            name: as_text(value) for name, value in masked(self.engine_args).items() if name not in OPERATIONAL_ARGS
        }
        fields = {
            **self.model_dump(include={"model", "engine", "trials", "limit"}),
            "args": {name: text for name, text in args.items() if HIDDEN not in text and text != as_text(None)},
            "tasks": {task.name: _asked_by(task) for task in self.tasks},
            **({"adaptive": self.adaptive.model_dump()} if self.adaptive else {}),
        }
        return hashlib.sha256(canonical_json(fields).encode()).hexdigest()[:12]

    @property
    def shown(self) -> str:
        """Public name of the model."""
        return shown_model(self.model, self.name)

    @property
    def cells(self) -> str:
        """Kind of the cells of a run without responses ("letters", "marks"); "" for others."""
        return str(self.engine_args.get("cells", "")) if self.engine_args.get("from") == RESULTS else ""

    @property
    def stated_cost(self) -> float | None:
        """Cost of all answers, as stated by the table of a run without responses."""
        cost = self.engine_args.get("cost") if self.cells else None
        return cost if isinstance(cost, int | float) and 0 <= cost < inf else None

    @property
    def known_judges(self) -> tuple[str, ...]:
        """Versions of all judges of the run; of older runs, of the last ones."""
        return tuple(self.judged_by or self.judges.values())

    def who(self, version: str) -> str:
        """Judge in words."""
        return self.judged_by.get(version) or in_words(version)


def shown_model(model: str, name: str = "") -> str:
    """Public name of a model: the one it was given, else of a path only the last part."""
    is_place = model.startswith(("/", "~", ".", "\\")) or re.match(r"[A-Za-z]:[\\/]", model) is not None
    return name or (PurePath(model.replace("\\", "/")).name if is_place else model)


def check_size(questions: int, trials: int) -> None:
    """Refuses a run with more answers than allowed."""
    if trials > MOST_TRIALS:
        raise UserError(f"{trials:,} trials: a run has at most {MOST_TRIALS:,}")
    if questions * trials > MOST_ANSWERS:
        raise UserError(f"{questions:,} questions × {trials:,} trials: a run has at most {MOST_ANSWERS:,} answers")


def _asked_by(task: TaskSpec) -> list[Any]:
    return [
        task.prompt_sha256,
        task.data_sha256,
        task.sampling.model_copy(update={"thinking_optional": False}).model_dump(),
    ]


_ENDPOINTS = ("base_url",)


def current_version(spec: RunSpec) -> int:
    """Version of a run's records when this version adds some."""
    return PACKED_VERSION if spec.record_version in (5, PACKED_VERSION) else RECORD_VERSION


def public_json(spec: RunSpec) -> bytes:
    """Public content of a run.json: without addresses of endpoints."""
    args = {name: value for name, value in spec.engine_args.items() if name not in _ENDPOINTS}
    return (spec.model_copy(update={"engine_args": args}).model_dump_json(indent=1) + "\n").encode()


class _Maker(BaseModel):
    """First look at a run.json: later versions may have other fields."""

    record_version: int = 0
    package_version: str = ""


def read_spec(path: Path, content: bytes) -> RunSpec:
    """Parses a run.json; UserError if a later version made it, ValueError if it is no spec."""
    maker = _Maker.model_validate_json(content)
    if maker.record_version > PACKED_VERSION:
        raise UserError(
            f"{path}: was made by livek12 {maker.package_version:.20} with records of version {maker.record_version}, "
            f"and livek12 {__version__} reads them up to version {PACKED_VERSION}: take the later livek12"
        )
    return RunSpec.model_validate_json(content)


def differences(old: RunSpec, new: RunSpec) -> list[str]:
    """Differences between two specs that make them two runs, a phrase each.

    Ignored: start time, judge (verdicts carry theirs), operational and secret engine arguments, engine versions or a
    revision that one side does not know yet, and hand-set versions: hashes identify what a task asks.
    """
    phrases: list[str] = []

    def check(name: str, was: Any, now: Any) -> None:
        if was != now:
            phrases.append(f"{name} was {was!r}, now {now!r}")

    for name in ("model", "engine", "trials", "limit"):
        check(name.replace("_", " "), getattr(old, name), getattr(new, name))
    check("adaptive exam", str(old.adaptive), str(new.adaptive))
    if old.model_revision and new.model_revision:
        check("model revision", old.model_revision, new.model_revision)
    was_args, now_args = masked(old.engine_args), masked(new.engine_args)
    for arg in sorted({*was_args, *now_args} - OPERATIONAL_ARGS):
        was_value, now_value = was_args.get(arg), now_args.get(arg)
        if HIDDEN not in (was_value, now_value) and as_text(was_value) != as_text(now_value):
            check(f"engine argument {arg}", was_value, now_value)
    for library in sorted(({*old.engine_versions} & {*new.engine_versions}) - CARRIERS):
        check(f"version of {library}", old.engine_versions[library], new.engine_versions[library])
    was_tasks, now_tasks = {t.name: t for t in old.tasks}, {t.name: t for t in new.tasks}
    check("tasks", sorted(was_tasks), sorted(now_tasks))
    for name in sorted({*was_tasks} & {*now_tasks}):
        was, now = was_tasks[name], now_tasks[name]
        check(f"prompt of {name}", was.prompt_sha256[:12], now.prompt_sha256[:12])
        check(f"data of {name}", was.data_sha256[:12], now.data_sha256[:12])
        check(f"sampling of {name}", *_unlike(was.sampling, now.sampling))
    return phrases


def _unlike(was: Sampling, now: Sampling) -> tuple[str, str]:
    """A thinking budget that may be exceeded counts as the same."""
    fields = [name for name in Sampling.model_fields if name != "thinking_optional"]
    fields = [name for name in fields if getattr(was, name) != getattr(now, name)]
    first, second = (" ".join(f"{name}={getattr(sampling, name)!r}" for name in fields) for sampling in (was, now))
    return first, second
