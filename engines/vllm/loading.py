"""Loads vLLM's `LLM` and releases it.

A model that cannot run is one UserError line and leaves no process behind; nor does the death of this process.
"""

from __future__ import annotations

import gc
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from livek12.core.errors import UserError
from livek12.core.text import one_line
from livek12.engines.arguments import missing, spread_of
from livek12.engines.common import Json, Stages
from livek12.engines.devices import give_back, own_turn
from livek12.engines.reaper import begun, wait_until_gone
from livek12.engines.vllm.ready import as_main, platform
from livek12.engines.vllm.watch import CoreWatch, VllmLog, level_to_hear, starts_processes

_log = logging.getLogger(__name__)

NEEDED = ("_preprocess_chat_one", "get_default_sampling_params")
"""Parts of `LLM` that older versions lack."""
FITTED = -1
"""The `max_model_len` for the model's own context, or less if memory is short."""
END_SECONDS = 30.0
"""Grace period before vLLM's processes, workers included, are killed."""
_loading = threading.Lock()
"""A load changes process-wide state: stderr and the main module."""


def load(model: str, args: Json, watch: CoreWatch, stages: Stages) -> Any:
    """Makes vLLM's `LLM`; changes defaults in `args` in place."""
    if args.get("data_parallel_size", 1) != 1:
        wanted = args["data_parallel_size"]
        raise UserError(
            f"data_parallel_size={wanted}: vLLM takes it in its server alone: say replicas={wanted}, or start `vllm"
            f" serve {model} --data-parallel-size {wanted}` and ask with --engine openai --engine-args base_url=…/v1"
        )
    try:
        here = platform()
        from vllm import LLM

        if not all(hasattr(LLM, name) for name in NEEDED):
            raise UserError("this vLLM is too old for the vllm engine: pip install --upgrade vllm (0.32 or newer)")
        args.setdefault("disable_log_stats", False)  # vllm_watch.py reads preemptions off them
        args.setdefault("max_model_len", FITTED)
        if here.is_cpu():
            _settle_on_cpu(args)
        affinity = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
        try:
            turn = nullcontext() if here.is_cpu() else own_turn(spread_of(args))
            with _loading, turn, as_main(), _heard(watch, stages) if starts_processes(args) else nullcontext():
                if not starts_processes(args):
                    stages.begin("weights", "vLLM loads the model")
                return LLM(model, **args)  # never in a variable: errors kept by libraries would keep it alive
        finally:
            # The CPU build binds this thread to cores, and later threads would inherit that.
            if affinity is not None:
                os.sched_setaffinity(0, affinity)
    except UserError:
        raise
    except ModuleNotFoundError as error:
        raise missing("vllm", error) from error
    except Exception as error:
        raise UserError(f"vLLM cannot run {model}: {one_line(watch.cause() or error)}") from error


@contextmanager
def _heard(watch: CoreWatch, stages: Stages) -> Iterator[None]:
    """Captures vLLM's starting processes, and hides the log lines that this needs."""
    own, level = os.environ.get("VLLM_LOGGING_LEVEL"), level_to_hear(os.environ)
    stages.begin("process", "vLLM starts its process")
    with watch.loading(VllmLog(hides=level is not None, begin=stages.begin)):
        try:
            os.environ["VLLM_LOGGING_LEVEL"] = level or own or "INFO"
            yield
        finally:
            if own is None:
                del os.environ["VLLM_LOGGING_LEVEL"]
            else:
                os.environ["VLLM_LOGGING_LEVEL"] = own
            if level is not None:  # vLLM has set the log of this process to that level as well
                log = logging.getLogger("vllm")
                log.setLevel(logging.ERROR)
                for handler in log.handlers:
                    handler.setLevel(logging.ERROR)


def tell_context(model: str, config: Any) -> None:
    """Warns if memory limits the model's context."""
    if config.original_max_model_len == FITTED and config.max_model_len < (
        own := config.get_and_verify_max_len(FITTED)
    ):
        _log.warning(
            "%s: the KV cache has room for a context of %s tokens, of the model's %s (more with gpu_memory_utilization,"
            " kv_cache_dtype=fp8 or tensor_parallel_size; max_model_len names one)",
            model,
            f"{config.max_model_len:,}",
            f"{own:,}",
        )


def release(llm: Any) -> None:
    """Ends the engine's processes and frees memory."""
    engine = llm.llm_engine
    core, renderer = engine.engine_core, engine.renderer
    manager = getattr(getattr(core, "resources", None), "engine_manager", None)
    ending = begun(process.pid for process in getattr(manager, "processes", ()))
    core.shutdown(timeout=END_SECONDS)
    renderer.shutdown()
    from vllm.distributed import cleanup_dist_env_and_memory

    cleanup_dist_env_and_memory()
    gc.unfreeze()
    give_back()
    wait_until_gone(ending, END_SECONDS)


def _settle_on_cpu(args: Json) -> None:
    """Settings of a quick CPU start: no compilation, no process of its own, a small cache.

    No prompt is read in pieces, unless the size of a step is named: after a piece, vLLM 0.32 resets the generator of a
    drawn request, which a CPU's refuses ("CPU Generator does not use offset"), and stops.
    """
    args.setdefault("enforce_eager", True)
    if "max_num_batched_tokens" not in args:
        args.setdefault("enable_chunked_prefill", False)
    os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
