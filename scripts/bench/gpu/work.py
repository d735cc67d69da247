"""Stations of the GPU check: models, engines, questions."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

START, END = "start", "end"
QUESTIONS = 2048
"""Text questions of the built set; each point asks the first so many."""
Seen = tuple[str, dict[str, Any]]
"""What a point saw, for people and as figures."""


class Failed(Exception):
    """A failed point, with the reason."""


@dataclass(frozen=True)
class Station:
    """Points that share a process.

    Attributes:
        points: expected seconds of each point on an H100, by name, in order.
        judged: whether a failure counts.
    """

    name: str
    purpose: str
    points: Mapping[str, float]
    start: float
    shape: str = ""
    args: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    gpus: int = 0
    judged: bool = True


TINY = {"max_model_len": 4096, "enforce_eager": True}
SEEING = {"max_model_len": 32768, "enforce_eager": True, "enable_thinking": True, "thinking_budgets": True}
STATIONS = (
    Station("warm-up", "first imports, first kernels", {}, 80, "tiny", TINY, judged=False),
    Station(
        "engine",
        "a vision model of 8B without graphs",
        {
            "auto": 1,
            "pages": 15,
            "generation-256": 55,
            "cancel": 4,
            "thinking": 6,
            "budgets": 4,
            "trials": 15,
            "kv": 60,
        },
        150,
        "qwen3-vl-8b",
        SEEING,
    ),
    Station("commands", "processes of their own", {"kill": 75, "judge": 150, "no-room": 60}, 1, gpus=1),
    Station(
        "graphs",
        "a text model of 8B as users start it",
        {"graphs-256": 35, "graphs-32": 40, "graphs-2048": 60},
        160,
        "qwen3-8b",
        {"max_model_len": 8192},
    ),
    Station("real", "a genuine small model", {"real": 300}, 1),
    Station("shapes", "quantised and mixture models", {"fp8": 75, "moe": 110, "awq": 65}, 1, gpus=1),
    Station("more", "transformers, a sweep", {"transformers": 30, "sweep": 120}, 1),
    Station("shared", "two engines on one card", {"shared": 250}, 1),
    Station("slots", "a KV cache that is too small", {"slots": 170}, 1, gpus=1),
    Station("server", "vLLM's own server", {"served": 75}, 1),
    Station("cards", "several cards", {"replicas": 150, "tensor-parallel": 80}, 1, gpus=2),
)
"""In the order of their value; the seconds are those of an H100 that has just been started."""


class StationWork:
    """The model, engine and questions of a station's points."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.station = next(station for station in STATIONS if station.name == job["station"])
        self.work, self.gpus = Path(job["work"]), int(job["gpus"])
        self.scale, self.real = float(job["scale"]), str(job["real"])
        self.shape = self.station.shape
        self.engine: Any = None
        self.stages: dict[str, float] = {}

    def many(self, questions: int) -> int:
        """`number` at full scale, four at least."""
        return max(4, round(questions * self.scale))

    def model(self, shape: str) -> Path:
        """Folder of a shape (tiny on a CPU), made once."""
        from livek12.scripts.bench.models import CORPUS, SHAPES, make_model

        if not self.gpus and SHAPES[shape].real:
            shape = "tiny-qwen3-vl" if SHAPES[shape].vision else "tiny"
        folder = self.work / "models" / shape
        if not (folder / "config.json").is_file():
            context = None if SHAPES[shape].real else 32768
            make_model(shape, folder, questions(self) if SHAPES[shape].wordy else CORPUS, context)
        return folder

    def args(self, shape: str, **more: Any) -> dict[str, Any]:
        """Engine arguments of a shape; real sizes get random weights."""
        from livek12.scripts.bench.models import SHAPES

        return {**({"load_format": "dummy"} if self.gpus and SHAPES[shape].real else {}), **more}

    def load(self) -> str:
        """Loads the station's engine and reports the seconds of each stage."""
        from livek12.core.records import Response
        from livek12.engines import make_engine
        from livek12.engines.vllm.ready import platform

        began = time.monotonic()
        platform()
        import vllm  # noqa: F401 - to time the imports

        imported = time.monotonic()
        model = self.model(self.shape)
        made = time.monotonic()
        self.engine = make_engine("auto", str(model), self.args(self.shape, **self.station.args))
        loaded = time.monotonic()
        if not isinstance(outcome := next(iter(self.engine.generate([short_request()]))), Response):
            raise Failed(outcome.reason)
        self.stages = {"imports": imported - began, "engine": loaded - made, "first answer": time.monotonic() - loaded}
        self.stages |= stages_in((self.work / f"{self.station.name}.log").read_text(errors="replace"))
        return ", ".join(f"{name} {seconds:.1f}" for name, seconds in self.stages.items())


STAGE_LINES = {
    "weights": r"Model loading took [\d.]+ GiB memory and ([\d.]+) seconds",
    "compilation": r"torch\.compile took ([\d.]+) s in total",
    "graphs": r"Graph capturing finished in ([\d.]+) secs",
    "profile, cache, warm-up": r"init engine \(profile, create kv cache, warmup model\) took ([\d.]+) s",
}


def stages_in(log: str) -> dict[str, float]:
    """Seconds of the stages in vLLM's log."""
    matches = {name: re.findall(pattern, log) for name, pattern in STAGE_LINES.items()}
    return {name: float(values[-1]) for name, values in matches.items() if values}


def short_request(number: int = 0) -> Any:
    """A short question for each number."""
    from livek12.core.records import Key, Message, Part, Request, Sampling

    message = Message(role="user", content=[Part(type="text", text=f"Count on from {number}.")])
    sampling = Sampling(max_tokens=4, temperature=0.0)
    return Request(key=Key(task="t", question_id=str(number), trial=0), messages=[message], sampling=sampling)


@cache
def text_data(work: StationWork) -> Path:
    """The built set of text questions."""
    from livek12.scripts.bench.generation import ROOT, build_questions

    folder = work.work / "text-data"
    if not folder.is_dir():
        folder.mkdir()
        build_questions(ROOT.parent / "shared" / "data", work.many(QUESTIONS), folder)
    return folder / "built"


def questions(work: StationWork) -> list[str]:
    """Texts for tokenizers."""
    lines = (text_data(work).parent / "source" / "en_2601.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["question"] for line in lines]


def last_line(log: Path) -> str:
    """The last error of a log, else its last line."""
    text = log.read_text(errors="replace").replace("\r", "\n")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("error:")]
    return (errors or lines or [""])[-1][:300]
