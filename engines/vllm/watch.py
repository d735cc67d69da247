"""Watches vLLM's engine core: errors, NaN and end of its processes; filters their log.

The cause of a failed start or a death is the first process that names one; none outlives this process (reaper.py). Log
lines below errors are hidden and give the stage of the start.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from multiprocessing.connection import wait
from typing import Any

from livek12.core.text import one_line
from livek12.engines.base import EngineDied
from livek12.engines.reaper import Reaper

_END_SECONDS = 30
"""Time for a dying process to end."""
_LISTEN_SECONDS = 1
_HEARD_BYTES = 1 << 18
_LINE = re.compile(
    r"^(?:\((?P<process>[^()\n]{1,80} pid=\d+)\)[^\]\n]{0,80}\] )?"
    r"(?:(?:\w+\.)*\w*(?:Error|Exception): (?P<error>[^\n]+)|(?P<death>Worker proc \S+ died unexpectedly[^\n,]*))",
    re.MULTILINE,
)
"""A traceback's error line with its process; or the last line about a dead worker."""
_NO_CAUSE = re.compile(r"root cause|Executor failed|^cancelled$", re.IGNORECASE)
"""An error that refers to an earlier one."""


class CoreWatch:
    """Listens to vLLM's engine core.

    vLLM counts NaNs (VLLM_COMPUTE_NANS_IN_LOGITS) and preemptions, but publishes them only in its metrics, so its
    outputs are read on their way. When its process is killed, vLLM's own reader waits for ever: it is woken here.
    """

    def __init__(self) -> None:
        self.nan: set[str] = set()
        """Internal ids of requests whose logits had a NaN."""
        self.preemptions: int | None = None
        """Number of requests preempted from the KV cache, to be computed again; None if not counted."""
        self.own_process = False
        self._core: Any = None
        self._resources: Any = None
        self._processes: list[Any] = []
        self._reaper: Reaper | None = None
        self._heard = bytearray()
        self._listener: threading.Thread | None = None

    @contextmanager
    def loading(self, log: VllmLog) -> Iterator[None]:
        """Passes on stderr of vLLM's loading processes, ends them with this one."""
        self._reaper = Reaper()
        try:
            with self._hearing(log):
                yield
        except BaseException:
            self.close()
            raise
        self._reaper.settle()
        self._heard.clear()

    def attach(self, engine: Any) -> None:
        """Reads a loaded engine's outputs."""
        # The core reports preemptions in its statistics.
        self.preemptions = 0 if engine.log_stats else None
        engine.log_stats, engine.logger_manager, engine.output_processor.log_stats = False, None, False
        core = engine.engine_core
        self.own_process = hasattr(core, "outputs_queue")
        self._core, self._read = core, core.get_output
        core.get_output = self._get_output
        self._resources = getattr(core, "resources", None)
        self._processes = list(getattr(getattr(self._resources, "engine_manager", None), "processes", []))
        if self._processes:
            threading.Thread(target=self._wake, args=(core.outputs_queue,), daemon=True).start()

    def cause(self) -> str:
        """The processes' last error."""
        if self._listener is not None:
            self._listener.join(_LISTEN_SECONDS)
        return named(bytes(self._heard))

    def died(self, error: BaseException) -> EngineDied:
        """The error of a dead engine, with its cause."""
        end = time.monotonic() + _END_SECONDS
        # No join: of two joining threads one gets no exit code until the other has stored it.
        while self.dead and time.monotonic() < end and any(process.exitcode is None for process in self._processes):
            time.sleep(0.05)
        codes = [process.exitcode for process in self._processes if process.exitcode is not None]
        if not codes:
            return EngineDied(f"vLLM stopped: {one_line(self.cause() or error, 200)}")
        if codes[0] < 0:
            hint = " (out of memory?)" if codes[0] == -9 else ""
            return EngineDied(f"vLLM's process was killed by signal {-codes[0]}{hint}")
        why = self.cause()
        return EngineDied(
            f"vLLM's process ended with exit code {codes[0]}" + (f": {one_line(why, 200)}" if why else "")
        )

    @property
    def dead(self) -> bool:
        """Tests for an ending process."""
        return self._resources is not None and bool(self._resources.engine_dead)

    def close(self) -> None:
        """Releases the core."""
        if self._reaper is not None:
            self._reaper.close()
            self._reaper = None
        if self._core is not None:
            del self._core.get_output, self._read
            self._core = None

    def _get_output(self) -> Any:
        outputs = self._read()
        for output in outputs.outputs:
            if self.preemptions is not None:
                self.preemptions += sum(event.type.name == "PREEMPTED" for event in output.events or ())
            if output.num_nans_in_logits:
                self.nan.add(output.request_id)
        return outputs

    def _wake(self, outputs: Any) -> None:
        wait([process.sentinel for process in self._processes])
        self._resources.engine_dead = True
        outputs.put(EngineDied("vLLM's process ended"))

    @contextmanager
    def _hearing(self, log: VllmLog) -> Iterator[None]:
        """Keeps the end of stderr, the only place where vLLM's process names its error."""
        sys.stderr.flush()
        (source, sink), stderr = os.pipe(), os.dup(2)
        os.dup2(sink, 2)
        os.close(sink)

        def show(piece: bytes) -> None:
            self._heard.extend(piece)
            del self._heard[:-_HEARD_BYTES]
            with suppress(OSError):
                os.write(stderr, piece)

        def pass_on() -> None:
            while piece := os.read(source, 1 << 16):
                show(log.feed(piece))
            show(log.end())
            os.close(source)
            os.close(stderr)

        # Lives as long as the processes, which have inherited this stderr.
        self._listener = threading.Thread(target=pass_on, daemon=True)
        self._listener.start()
        try:
            yield
        finally:
            os.dup2(stderr, 2)


def starts_processes(args: Mapping[str, Any]) -> bool:
    """Tests whether vLLM starts processes."""
    spread = any(args.get(name, 1) != 1 for name in ("tensor_parallel_size", "pipeline_parallel_size"))
    return spread or os.environ.get("VLLM_ENABLE_V1_MULTIPROCESSING") != "0"


def named(heard: bytes) -> str:
    """The error of the first of vLLM's processes that names one, or "".

    A process's last error counts: libraries report one as the cause of the next.
    """
    last: dict[str | None, str] = {}
    for match in _LINE.finditer(heard.decode(errors="replace")):
        words = match["error"] or match["death"]
        if not _NO_CAUSE.search(words):
            last.pop(match["process"], None)
            last[match["process"]] = words
    return next(iter(last.values()), "")


_COLOUR = rb"(?:\x1b\[[\d;]*m)*"
_LOG_LINE = re.compile(
    _COLOUR
    + rb"\([^()\n]{1,80} pid=\d+\)"
    + _COLOUR
    + b" "
    + _COLOUR
    + rb"(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL)\b"
)
_BEGINNING = re.compile(_COLOUR + rb"\([^)\n]{0,80}(?:\)|$)")
_LONGEST = 1 << 16
_STAGES: tuple[tuple[re.Pattern[bytes], str, str], ...] = tuple(
    (re.compile(pattern), name, words)
    for pattern, name, words in (
        (rb"Initializing a V1 LLM engine", "device", "vLLM opens the device"),
        (rb"Starting to load model|Loading model from scratch", "weights", "vLLM loads the weights"),
        (rb"Model loading took", "memory", "vLLM measures memory"),
        (rb"Starting torch\.compile", "compile", "vLLM compiles the model"),
        (rb"torch\.compile took", "memory", "vLLM measures memory"),
        (rb"Profiling CUDA graph memory|Capturing CUDA graphs", "graphs", "vLLM captures graphs"),
        (rb"Graph capturing finished|Warming up", "warm-up", "vLLM warms up"),
        (rb"init engine \(", "ready", "vLLM gets ready"),
    )
)
"""Words of vLLM 0.32 with which a stage begins."""


def level_to_hear(environment: Mapping[str, str]) -> str | None:
    """The log level with vLLM's stages, unless set."""
    own = environment.get("VLLM_LOGGING_PREFIX") or environment.get("VLLM_LOGGING_CONFIG_PATH")
    return "INFO" if environment.get("VLLM_LOGGING_LEVEL", "").upper() == "ERROR" and not own else None


class VllmLog:
    """Filters the log of processes, piece by piece; `begin` gets each stage."""

    def __init__(self, hides: bool, begin: Callable[[str, str], None]) -> None:
        self._hides, self._begin = hides, begin
        self._kept = b""
        self._middle = False

    def feed(self, piece: bytes) -> bytes:
        """The part for the screen."""
        shown = bytearray()
        *lines, rest = (self._kept + piece).split(b"\n")
        self._kept = b""
        for line in lines:
            shown += self._line(line + b"\n")
            self._middle = False
        if rest:
            self._tell(rest)
            if _BEGINNING.match(rest) and len(rest) < _LONGEST:
                self._kept = rest
            else:
                shown += rest
                self._middle = True
        return bytes(shown)

    def end(self) -> bytes:
        """The rest of an unfinished line."""
        kept, self._kept = self._kept, b""
        return kept

    def _line(self, line: bytes) -> bytes:
        self._tell(line)
        written = _LOG_LINE.match(line)
        return b"" if self._hides and written and written["level"] in (b"DEBUG", b"INFO", b"WARNING") else line

    def _tell(self, text: bytes) -> None:
        for pattern, name, words in _STAGES:
            if pattern.search(text):
                self._begin(name, words)
