"""transformers in this process: a few requests a batch, left-padded, a batch's outcomes at a time.

The model is AutoModelForImageTextToText where its config says that it sees, else AutoModelForCausalLM. Each
sample is drawn with a random generator of its own, seeded with seed + trial, by the Gumbel-max trick: so it does not
depend on what else is in the batch (rounding apart). A batch that fails is run again one by one, and only the
requests that fail alone end as failures. The defaults of the model's generation_config.json hold unless the
request says otherwise. `seconds` of a response are those of its batch.
"""

from __future__ import annotations

import copy
import gc
import importlib.util
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from livek12.core.engines.base import Outcome
from livek12.core.engines.common import (
    Json,
    cannot_see,
    content_of,
    content_parts,
    failure,
    has_images,
    one_line,
    seed_of,
    versions_of,
)
from livek12.core.engines.images import Pictures
from livek12.core.engines.thinking import Thinking
from livek12.core.engines.torch_builds import mend_torch_builds
from livek12.core.errors import UserError
from livek12.core.records import Request, Response, Sampling


class _DoesNotFit(Exception):
    """A batch that has to be run one by one, or a prompt that fills the context."""


class TransformersEngine:
    """Runs a model with `generate`; accelerate places it where it is installed.

    Args:
        model: Hub name, folder, or a .gguf file.
        batch_size: requests in one batch.
        enable_thinking: switches a hybrid model's thinking on or off through its chat template.
        chat_template_kwargs: further variables of the chat template.
        think_start: tag that opens thinking, where it is an unusual one.
        think_end: tag that closes it.
        revision: of the model at the Hub.
        gguf_file: the file to read in a repository or folder of GGUF files.
        dtype: "auto" for the one the weights are stored in, or float32, bfloat16, float16.
        trust_remote_code: run code that comes with the model.
        library_args: whatever else `from_pretrained` of the model takes (attn_implementation, …).

    Raises:
        UserError: transformers is missing, or this is not a model that it can run.
    """

    name = "transformers"

    def __init__(
        self,
        model: str,
        *,
        batch_size: int = 4,
        enable_thinking: bool | None = None,
        chat_template_kwargs: dict[str, Any] | None = None,
        think_start: str | None = None,
        think_end: str | None = None,
        revision: str | None = None,
        gguf_file: str | None = None,
        dtype: str = "auto",
        trust_remote_code: bool = False,
        **library_args: Any,
    ) -> None:
        if batch_size < 1:
            raise UserError(f"batch_size={batch_size}: a batch holds at least one request")
        self.model = model
        self.revision = revision
        self._batch_size = batch_size
        self._thinking = Thinking(think_start, think_end)
        self._template: Json = dict(chat_template_kwargs or {})
        if enable_thinking is not None:
            self._template["enable_thinking"] = enable_thinking
        folder = model
        if model.endswith(".gguf"):
            folder, gguf_file = str(Path(model).parent), Path(model).name
        source: Json = {"trust_remote_code": trust_remote_code}
        source |= {"revision": revision} if revision else {}
        source |= {"gguf_file": gguf_file} if gguf_file else {}
        self._model, self._processor, self.images = _load(folder, source, {"dtype": dtype} | library_args)
        self._tokenizer = getattr(self._processor, "tokenizer", self._processor)
        self._tokenizer.padding_side = "left"
        if self._tokenizer.pad_token is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        if not (getattr(self._processor, "chat_template", None) or self._tokenizer.chat_template):
            raise UserError(f"{model}: has no chat template, so it cannot be asked questions in a conversation")
        self._special = list(self._tokenizer.all_special_tokens)
        self._pictures = Pictures()

    def generate(self, requests: Iterable[Request]) -> Iterator[Outcome]:
        """Batches consecutive requests with the same sampling, all with images or all without."""
        batch: list[Request] = []
        for request in requests:
            if has_images(request) and not self.images:
                yield cannot_see(request, self.model)
                continue
            if batch and (len(batch) == self._batch_size or _kind(batch[0]) != _kind(request)):
                yield from self._outcomes(batch)
                batch = []
            batch.append(request)
        if batch:
            yield from self._outcomes(batch)

    def versions(self) -> dict[str, str]:
        """Transformers, torch and what else takes part."""
        return versions_of("transformers", "torch", "accelerate", "tokenizers")

    def close(self) -> None:
        """Gives the memory back, the GPU's and ours."""
        import torch

        self._model = self._processor = None
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def _outcomes(self, batch: list[Request]) -> Iterator[Outcome]:
        try:
            outcomes: list[Outcome] = list(self._run(batch))
        except Exception as error:  # an image processor's, a chat template's, out of memory, …
            if len(batch) == 1:
                outcomes = [failure(batch[0], error)]
            else:
                outcomes = [outcome for request in batch for outcome in self._outcomes([request])]
        yield from outcomes

    def _run(self, batch: list[Request]) -> Iterator[Response]:
        import torch

        began = time.monotonic()
        inputs = self._inputs(batch)
        width = inputs["input_ids"].shape[1]
        sampling = batch[0].sampling
        room = self._room(len(batch), width, sampling.max_tokens)
        with torch.inference_mode():
            rows = self._model.generate(
                **inputs,
                generation_config=self._greedy_config(),
                logits_processor=_sampler(sampling, self._model.generation_config, [seed_of(r) for r in batch]),
                max_new_tokens=room,
                stop_strings=sampling.stop or None,
                tokenizer=self._tokenizer if sampling.stop else None,
                pad_token_id=self._tokenizer.pad_token_id,
            )
        seconds = time.monotonic() - began
        for place, request in enumerate(batch):
            prompt = inputs["input_ids"][place][inputs["attention_mask"][place] == 1].tolist()
            yield self._response(request, prompt, rows[place][width:].tolist(), seconds)

    def _inputs(self, batch: list[Request]) -> Any:
        return self._processor.apply_chat_template(
            [self._conversation(request) for request in batch],
            tokenize=True,
            add_generation_prompt=True,
            return_dict=True,
            return_tensors="pt",
            padding=True,
            **self._template,
        ).to(self._model.device)

    def _conversation(self, request: Request) -> list[Json]:
        pictures = self._pictures.of(request)

        def picture(sha256: str) -> Json:
            return {"type": "image", "image": pictures[sha256]}

        # A processor's template reads parts, a tokenizer's a string.
        content = content_parts if self.images else content_of
        return [{"role": message.role, "content": content(message, picture)} for message in request.messages]

    def _room(self, rows: int, width: int, wanted: int) -> int:
        """Tokens that may be generated: as many as wanted and the context holds."""
        context = getattr(self._model.config.get_text_config(), "max_position_embeddings", None)
        if context is None or width + wanted <= context:
            return wanted
        if rows > 1 or width >= context:
            raise _DoesNotFit(f"the prompt of {width} tokens leaves no room in a context of {context}")
        return int(context - width)

    def _greedy_config(self) -> Any:
        """The model's own settings without its sampling, which `_sampler` does."""
        config = copy.deepcopy(self._model.generation_config)
        config.do_sample = False
        config.temperature = config.top_p = config.top_k = config.min_p = config.typical_p = None
        config.max_length = None
        return config

    def _response(self, request: Request, prompt: list[int], tokens: list[int], seconds: float) -> Response:
        text, finish, count = self._read(tokens, request.sampling.stop)
        tail = self._tokenizer.decode(prompt[-16:], skip_special_tokens=False)
        split = self._thinking.split(text, self._thinking.opened_by(tail))
        return Response(
            key=request.key,
            text=self._thinking.without(split.text, self._special),
            reasoning=split.reasoning,
            finish_reason=finish,
            prompt_tokens=len(prompt),
            completion_tokens=count,
            reasoning_tokens=self._count(split.reasoning),
            seconds=seconds,
            engine=self.name,
            model=self.model,
            model_revision=self.revision,
            prompt_sha256=request.prompt_sha256,
            versions=self.versions(),
        )

    def _read(self, tokens: list[int], stops: list[str]) -> tuple[str, str, int]:
        """Text, finish reason and number of generated tokens (with the one that ended it) of one padded row."""
        ends = self._model.generation_config.eos_token_id
        ends = {ends} if isinstance(ends, int) else set(ends or [])
        # Behind a stop string the row is filled up with padding, which may be an end token itself.
        end = next((i for i, token in enumerate(tokens) if token in ends), len(tokens))
        text = self._decoded(tokens[:end])
        if found := [place for stop in stops if (place := text.find(stop)) >= 0]:
            while end and tokens[end - 1] == self._tokenizer.pad_token_id:
                end -= 1
            return text[: min(found)], "stop", end
        return (text, "stop", end + 1) if end < len(tokens) else (text, "length", end)

    def _decoded(self, tokens: list[int]) -> str:
        skip = not self._thinking.special(self._special)
        return str(self._tokenizer.decode(tokens, skip_special_tokens=skip))

    def _count(self, text: str | None) -> int:
        return len(self._tokenizer.encode(text, add_special_tokens=False)) if text else 0


def _kind(request: Request) -> tuple[bool, Sampling]:
    """What requests of one batch have in common."""
    return has_images(request), request.sampling.model_copy(update={"seed": 0})


def _load(model: str, source: Json, args: Json) -> tuple[Any, Any, bool]:
    """The model, its processor (or tokenizer), and whether it sees."""
    try:
        mend_torch_builds()
        import transformers
        from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText
    except ImportError as error:
        raise UserError(
            f"the transformers engine needs torch and transformers: pip install transformers torch"
            f" ({one_line(error, 120)})"
        ) from error
    transformers.logging.set_verbosity_error()
    if importlib.util.find_spec("accelerate"):
        args.setdefault("device_map", "auto")
    try:
        config = AutoConfig.from_pretrained(model, **source)
        sees = type(config) in AutoModelForImageTextToText._model_mapping
        auto = AutoModelForImageTextToText if sees else AutoModelForCausalLM
        reader = transformers.AutoProcessor if sees else transformers.AutoTokenizer
        processor = reader.from_pretrained(model, **source)
        loaded = auto.from_pretrained(model, **source, **args)
    except Exception as error:
        raise UserError(f"transformers cannot load {model}: {one_line(error)}") from error
    loaded.eval()
    return loaded, processor, sees


def _sampler(sampling: Sampling, defaults: Any, seeds: list[int]) -> Any:
    """What turns greedy decoding into sampling, one seeded generator a row; None for greedy requests.

    argmax(logits + Gumbel noise) is a draw from softmax(logits) (Gumbel 1954; Maddison et al. 2014).
    """
    temperature = sampling.temperature
    if temperature is None:
        temperature = (getattr(defaults, "temperature", None) or 1.0) if defaults.do_sample else 0.0
    if temperature <= 0:
        return None
    from transformers import LogitsProcessorList, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

    steps = LogitsProcessorList([TemperatureLogitsWarper(float(temperature))])
    top_k = getattr(defaults, "top_k", None) if sampling.top_k is None else sampling.top_k
    top_p = getattr(defaults, "top_p", None) if sampling.top_p is None else sampling.top_p
    if top_k and top_k > 0:
        steps.append(TopKLogitsWarper(top_k))
    if top_p is not None and top_p < 1:
        steps.append(TopPLogitsWarper(top_p))
    steps.append(_Noise(seeds))
    return steps


class _Noise:
    """Adds Gumbel noise to the logits, each row from a generator of its own."""

    def __init__(self, seeds: list[int]) -> None:
        self._seeds = seeds
        self._generators: list[Any] = []

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Takes and returns logits of shape (rows, vocabulary)."""
        import torch

        if not self._generators:
            self._generators = [torch.Generator(scores.device).manual_seed(seed) for seed in self._seeds]
        drawn = [torch.empty_like(scores[0]).exponential_(generator=g) for g in self._generators]
        return scores - torch.stack(drawn).log()
