"""transformers in this process: left-padded batches of similar requests.

Requests of a batch without an answer run again in halves, so only those that fail alone end as failures: after an error
of the batch all, else rows with broken scores and those cut short by a longer neighbour. Lack of memory shrinks
batches. Defaults of generation_config.json hold unless the request overrides them. `seconds` are those of the batch.

Requests of one kind are sorted by prompt length against padding, the longest first to show lack of memory early.
Successive trials of one prompt share a batch if possible.

Rows are drawn by the Gumbel-max trick with their own generators, so they do not depend on the batch (rounding apart).
An image processor is cached only if a trial shows no change: some pad or pack the pictures of a batch together.
"""

from __future__ import annotations

import copy
import importlib.util
import os
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from livek12.core.errors import UserError
from livek12.core.lazy import PIL, torch
from livek12.core.ranks import this_rank
from livek12.core.records import Request, Response, Sampling
from livek12.core.run.sessions import Figures
from livek12.core.text import one_line
from livek12.engines.arguments import missing
from livek12.engines.base import EngineDied, Outcome
from livek12.engines.common import (
    Context,
    Json,
    Stages,
    cannot_see,
    content_of,
    content_parts,
    failure,
    has_images,
    seed_of,
    versions_of,
)
from livek12.engines.devices import give_back
from livek12.engines.images import BadImage, Pictures, pixels_of
from livek12.engines.thinking import TAIL, Thinking, templated, without
from livek12.engines.thinking_budget import budgets_if_possible, thinking_limit
from livek12.engines.torch_builds import mend_torch_builds

ROWS_ON_CPU, ROWS_ON_DEVICE = 8, 64
"""Default requests in a batch; memory may hold fewer."""
AHEAD, AHEAD_SHARED = 8, 2
"""Batches held to choose from; fewer if several processes share the work, so that they end together."""
_PIXELS_A_TOKEN = 28 * 28
_OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "not enough memory", "alloc_failed")
"""Out-of-memory words of torch, its allocator and libraries (CUBLAS_STATUS_ALLOC_FAILED and the like)."""


class _NeverFits(Exception):
    """A prompt that fills the context."""


@dataclass(frozen=True)
class RenderedPrompt:
    """A waiting request.

    Attributes:
        length: approximate tokens of the prompt.
        context: tokens of the model's context, if known.
    """

    request: Request
    length: int
    context: int | None = None

    @property
    def cells(self) -> int:
        """Maximum tokens of prompt and answer."""
        wanted = self.length + self.request.sampling.max_tokens
        return wanted if self.context is None else min(wanted, self.context)


@dataclass
class Room:
    """Size of batches.

    Attributes:
        cells: limit of rows times the longest row, after memory ran out. One request always goes.
    """

    rows: int
    ahead: int
    cells: int | None = None

    def holds(self, rows: int, longest: int) -> bool:
        """Tests whether a batch may be tried."""
        return rows <= 1 or (rows <= self.rows and (self.cells is None or rows * longest <= self.cells))

    def shrink(self, failed: list[list[RenderedPrompt]]) -> None:
        """Limits batches to half of each part that ran out of memory.

        Parts with a request that ran out alone are ignored.
        """
        alone = {str(part[0].request.key) for part in failed if len(part) == 1}
        for part in failed:
            if alone.isdisjoint(str(prompt.request.key) for prompt in part):
                half = len(part) * max(prompt.cells for prompt in part) // 2
                self.cells = half if self.cells is None else min(half, self.cells)


def batches(
    prompts: Iterable[RenderedPrompt], room: Room, kind: Callable[[Request], Hashable]
) -> Iterator[list[RenderedPrompt]]:
    """Batches of one kind; partial ones wait."""
    source = iter(prompts)
    pool: dict[Hashable, list[RenderedPrompt]] = {}
    exhausted = False
    while pool or not exhausted:
        waiting = sum(map(len, pool.values()))
        wanted = max(room.rows * room.ahead - waiting, 0)
        fresh = list(islice(source, wanted))
        exhausted = len(fresh) < wanted
        for prompt in fresh:
            pool.setdefault(kind(prompt.request), []).append(prompt)
        whole = [members for members in pool.values() if len(members) >= room.rows]
        # Without a full batch the largest goes.
        going = list(pool.values()) if exhausted else whole or [max(pool.values(), key=len)]
        for members in going:
            yield from _cut(members, room, exhausted or not whole)
        pool = {name: members for name, members in pool.items() if members}


def _cut(members: list[RenderedPrompt], room: Room, last: bool) -> Iterator[list[RenderedPrompt]]:
    members.sort(key=lambda prompt: -prompt.length)
    while members and (last or len(members) >= room.rows):
        longest = members[0].cells
        count = next((n for n in range(len(members), 1, -1) if n <= room.rows and room.holds(n, longest)), 1)
        if count < len(members) and (whole := _start_of_trials(members, count)):
            count = whole
        batch = members[:count]
        del members[:count]
        yield batch


def _start_of_trials(members: list[RenderedPrompt], end: int) -> int:
    """Start of the trials parted by a cut at `end`, if the next batch fits them; else 0."""
    start = end
    while start and _question(members[start - 1]) == _question(members[end]):
        start -= 1
    rest = end
    while rest < len(members) and _question(members[rest]) == _question(members[end]):
        rest += 1
    return start if rest - start <= end else 0


def _question(prompt: RenderedPrompt) -> tuple[str, str]:
    return prompt.request.key.task, prompt.request.key.question_id


class TransformersEngine:
    """Runs a model with `generate`, placed by accelerate if installed.

    Args:
        model: Hub name, folder, or a .gguf file.
        batch_size: the most requests in a batch; "auto" for as many as memory holds, up to a bound.
        enable_thinking: switches a hybrid model's thinking through its chat template.
        dtype: "auto" for that of the weights, or float32, bfloat16, float16.
        library_args: for the model's `from_pretrained` (device_map, max_memory, attn_implementation, …).
    """

    name = "transformers"

    def __init__(
        self,
        model: str,
        *,
        batch_size: str = "auto",
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
        rows = _rows(batch_size)
        self._stages = Stages("imports", "importing transformers")
        self.model = model
        self.revision = revision
        self._thinking = Thinking(think_start, think_end)
        self._told: set[str] = set()
        self._template = templated(chat_template_kwargs, enable_thinking)
        folder = model
        if model.endswith(".gguf"):
            folder, gguf_file = str(Path(model).parent), Path(model).name
        source: Json = {"trust_remote_code": trust_remote_code}
        source |= {"revision": revision} if revision else {}
        source |= {"gguf_file": gguf_file} if gguf_file else {}
        self._model, self._processor, self.images = load(folder, source, {"dtype": dtype} | library_args, self._stages)
        self.gpus = len(devices_of(self._model))
        size = getattr(self._model.config.get_text_config(), "max_position_embeddings", None)
        self._context = Context(model, size)
        self._tokenizer = getattr(self._processor, "tokenizer", self._processor)
        self._tokenizer.padding_side = "left"
        if self._tokenizer.pad_token is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        if not (getattr(self._processor, "chat_template", None) or self._tokenizer.chat_template):
            raise UserError(f"{model}: has no chat template, so it cannot be asked questions in a conversation")
        if hasattr(self._processor, "image_processor"):
            self._processor.image_processor = remembering(self._processor.image_processor)
        self._special = self._thinking.kept(self._tokenizer)
        self._pictures = Pictures()
        usual = ROWS_ON_CPU if self._model.device.type == "cpu" else ROWS_ON_DEVICE
        self._room = Room(
            rows=rows or usual,
            ahead=AHEAD if this_rank().alone else AHEAD_SHARED,
            cells=None if rows else cells_in_memory(self._model),
        )

    def generate(self, requests: Iterable[Request]) -> Iterator[Outcome]:
        """Reads ahead and batches similar lengths."""
        unseen: list[Outcome] = []
        for batch in batches(self._prompts(requests, unseen), self._room, _kind):
            yield from self._outcomes(batch)
            yield from unseen
            unseen.clear()
        yield from unseen

    @property
    def figures(self) -> Figures:
        """Context, and stages of the start."""
        return Figures(context=self._context.size, stages=self._stages.seconds)

    def versions(self) -> dict[str, str]:
        """Versions of transformers, torch and companions."""
        return versions_of("transformers", "torch", "accelerate", "tokenizers")

    def close(self) -> None:
        """Frees GPU and host memory."""
        self._model = self._processor = self._tokenizer = None
        self._pictures.close()
        give_back()

    def _prompts(self, requests: Iterable[Request], unseen: list[Outcome]) -> Iterator[RenderedPrompt]:
        for request in requests:
            if has_images(request) and not self.images:
                unseen.append(cannot_see(request, self.model))
            else:
                yield RenderedPrompt(request, self._length(request), self._context.size)

    def _length(self, request: Request) -> int:
        parts = [part for message in request.messages for part in message.content]
        shown = [request.images[part.image] for part in parts if part.image in request.images]
        text = "".join(part.text or "" for part in parts)
        return self._count(text) + sum(pixels_of(image) for image in shown) // _PIXELS_A_TOKEN

    def _outcomes(self, batch: list[RenderedPrompt]) -> Iterator[Outcome]:
        parts: list[list[RenderedPrompt]] = [batch]
        too_large: list[list[RenderedPrompt]] = []
        while parts:
            part = parts.pop()
            answers, trouble = self._tried(part)
            if trouble is not None and _memory_ran_out(trouble):
                too_large.append(part)
                give_back()
            again = []
            for prompt, answer in zip(part, answers, strict=True):
                if isinstance(answer, Response):
                    yield answer
                elif len(part) == 1:
                    yield failure(prompt.request, answer, final=isinstance(trouble, (BadImage, _NeverFits)))
                else:
                    again.append(prompt)
            half = len(again) // 2
            parts += [rest for rest in (again[half:], again[:half]) if rest]
        self._room.shrink(too_large)

    def _tried(self, batch: list[RenderedPrompt]) -> tuple[list[Response | str], Exception | None]:
        """Results, or the problem for each and its exception.

        Raises:
            EngineDied: this process has lost the device.
        """
        try:
            return self._run([prompt.request for prompt in batch]), None
        except UserError:  # no request can be run as it is asked
            raise
        except Exception as error:  # an image processor's, a chat template's, out of memory, …
            trouble = error.with_traceback(None)  # whose frames would hold the batch's tensors
        if _device_is_lost(trouble):
            raise EngineDied(f"the device of {self.model} is lost to this process: {one_line(trouble, 160)}")
        return [_said(trouble) for _ in batch], trouble

    def _run(self, batch: list[Request]) -> list[Response | str]:
        began = time.monotonic()
        inputs = self._inputs(batch)
        width = inputs["input_ids"].shape[1]
        sampling = batch[0].sampling
        most = self._tokens_left(width, sampling.max_tokens)
        watch = NanWatch()
        seeds = [seed_of(request) for request in batch]
        steps = score_steps(sampling, self._model.generation_config, seeds, watch)
        if sampling.thinking_budget is not None:
            with budgets_if_possible(sampling.thinking_optional, self._told):
                steps.append(thinking_limit(self._tokenizer, self._thinking, self.model, sampling.thinking_budget))
        with torch.inference_mode():
            rows = self._model.generate(
                **inputs,
                generation_config=self._greedy_config(),
                logits_processor=steps,
                stopping_criteria=[watch.ends],
                max_new_tokens=most,
                stop_strings=sampling.stop or None,
                tokenizer=self._tokenizer if sampling.stop else None,
                pad_token_id=self._tokenizer.pad_token_id,
            )
        seconds = time.monotonic() - began
        prompts = [
            ids[mask == 1].tolist() for ids, mask in zip(inputs["input_ids"], inputs["attention_mask"], strict=True)
        ]
        answers = rows[:, width:].tolist()
        return [
            self._response(request, prompt, tokens, most, seconds, broken)
            for request, prompt, tokens, broken in zip(batch, prompts, answers, watch.broken_at(), strict=True)
        ]

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
            return {"type": "image", "image": named(pictures[sha256], sha256)}

        # A processor's template reads parts, a tokenizer's a string.
        content = content_parts if self.images else content_of
        return [{"role": message.role, "content": content(message, picture)} for message in request.messages]

    def _tokens_left(self, width: int, wanted: int) -> int:
        if self._context.left(width, 1) < 1:
            raise _NeverFits(f"the prompt of {width} tokens leaves no room in a context of {self._context.size}")
        return self._context.left(width, wanted)

    def _greedy_config(self) -> Any:
        config = copy.deepcopy(self._model.generation_config)
        config.do_sample = False
        config.temperature = config.top_p = config.top_k = config.min_p = config.typical_p = None
        config.max_length = None
        return config

    def _response(
        self, request: Request, prompt: list[int], tokens: list[int], most: int, seconds: float, broken: int
    ) -> Response | str:
        self._context.tell(len(prompt), request.sampling.max_tokens)
        text, finish, count = self._read(tokens, request.sampling.stop)
        if 0 <= broken < count:
            return (
                f"the model computed NaN or infinity instead of scores for token {broken + 1} of the answer: its"
                " weights are damaged, or its dtype is too narrow (--engine-args dtype=bfloat16 or float32)"
            )
        if finish == "length" and most < self._tokens_left(len(prompt), request.sampling.max_tokens):
            return "cut by a longer neighbour"
        tail = self._tokenizer.decode(prompt[-TAIL:], skip_special_tokens=False)
        split = self._thinking.split(text, self._thinking.opened_by(tail))
        return Response(
            key=request.key,
            text=without(split.text, self._special),
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
        """Text, finish reason and tokens (with the final one) of a padded row."""
        ends = self._model.generation_config.eos_token_id
        ends = {ends} if isinstance(ends, int) else set(ends or [])
        # Behind a stop string the row has padding, which may be an end token itself.
        end = next((i for i, token in enumerate(tokens) if token in ends), len(tokens))
        text = self._decoded(tokens[:end])
        if places := [place for stop in stops if (place := text.find(stop)) >= 0]:
            while end and tokens[end - 1] == self._tokenizer.pad_token_id:
                end -= 1
            return text[: min(places)], "stop", end
        return (text, "stop", end + 1) if end < len(tokens) else (text, "length", end)

    def _decoded(self, tokens: list[int]) -> str:
        return str(self._tokenizer.decode(tokens, skip_special_tokens=not self._special))

    def _count(self, text: str | None) -> int:
        return len(self._tokenizer.encode(text, add_special_tokens=False)) if text else 0


def _kind(request: Request) -> tuple[bool, str]:
    return has_images(request), request.sampling.model_copy(update={"seed": 0}).model_dump_json()


def _rows(batch_size: str) -> int | None:
    if batch_size == "auto":
        return None
    if str(batch_size).isdecimal() and int(batch_size) > 0:
        return int(batch_size)
    raise UserError(f"batch_size={batch_size}: give the number of requests in a batch, at least 1, or auto")


def _memory_ran_out(error: Exception) -> bool:
    return isinstance(error, MemoryError) or any(words in str(error).lower() for words in _OUT_OF_MEMORY)


def _device_is_lost(error: Exception) -> bool:
    if _memory_ran_out(error):  # some libraries call it a "CUDA error" too
        return False
    kinds = getattr(torch, "AcceleratorError", ())
    return isinstance(error, kinds) or "device-side assert" in str(error) or "CUDA error" in str(error)


def _said(error: Exception) -> str:
    if _memory_ran_out(error):
        return f"memory does not hold this request even alone: {one_line(error, 160)}"
    return one_line(error)


class NanWatch:
    """Records a row's first NaN or infinite scores and ends it, without device synchronisation."""

    def __init__(self) -> None:
        self._step = 0
        self._since: Any = None

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Scores (rows, vocabulary) unchanged."""
        # The maximum is NaN if any score is; a row without a finite maximum has no next token.
        broken = ~torch.isfinite(scores.amax(dim=-1))
        if self._since is None:
            self._since = torch.full(broken.shape, -1, dtype=torch.long, device=scores.device)
        self._since = torch.where((self._since < 0) & broken, self._step, self._since)
        self._step += 1
        return scores

    def ends(self, input_ids: Any, scores: Any, **more: Any) -> Any:
        """Booleans of shape (rows,)."""
        return (self._since >= 0).to(input_ids.device)

    def broken_at(self) -> list[int]:
        """Step (from 0) of each row's first broken scores, or -1."""
        return [] if self._since is None else [int(step) for step in self._since.tolist()]


def score_steps(sampling: Sampling, defaults: Any, seeds: list[int], watch: NanWatch | None = None) -> Any:
    """Logits processors before argmax: the watch and the draw.

    argmax(logits + Gumbel noise) is a draw from softmax(logits) (Gumbel 1954; Maddison et al. 2014).
    """
    from transformers import LogitsProcessorList, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

    steps = LogitsProcessorList([watch] if watch else [])
    temperature = sampling.temperature
    if temperature is None:
        temperature = (getattr(defaults, "temperature", None) or 1.0) if defaults.do_sample else 0.0
    if temperature <= 0:
        return steps
    steps.append(TemperatureLogitsWarper(float(temperature)))
    top_k = getattr(defaults, "top_k", None) if sampling.top_k is None else sampling.top_k
    top_p = getattr(defaults, "top_p", None) if sampling.top_p is None else sampling.top_p
    if top_k and top_k > 0:
        steps.append(TopKLogitsWarper(top_k))
    if top_p is not None and top_p < 1:
        steps.append(TopPLogitsWarper(top_p))
    steps.append(_Noise(seeds))
    return steps


class _Noise:
    def __init__(self, seeds: list[int]) -> None:
        self._seeds = seeds
        self._generators: list[Any] = []

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Logits of shape (rows, vocabulary)."""
        if not self._generators:
            self._generators = [torch.Generator(scores.device).manual_seed(seed) for seed in self._seeds]
        drawn = [torch.empty_like(scores[0]).exponential_(generator=g) for g in self._generators]
        return scores - torch.stack(drawn).log()


KEPT_BYTES = 1 << 30
"""Of processed pictures: a page at 200 dpi has about 50 MB, so this holds the pages of one paper."""
_NAME = "livek12"
_TRIED = ((96, 64), (160, 224), (900, 90))


class _Apart(Exception):
    """Pictures that have to be padded to each other."""


def named(picture: Any, name: str) -> Any:
    """Names the picture for the cache."""
    picture.info[_NAME] = name
    return picture


def remembering(image_processor: Any, kept_bytes: int = KEPT_BYTES) -> Any:
    """Image processor, cached if that changes nothing."""
    small, two, wide = (named(PIL.Image.effect_noise(size, 64).convert("RGB"), str(size)) for size in _TRIED)
    memo = _Remembering(image_processor, kept_bytes)
    try:
        for shown in ([small, two, wide], [[small], [two, small]]):
            whole = image_processor(shown, return_tensors="pt")
            if not _equal(whole, memo.apart(list(_flat(shown)), {"return_tensors": "pt"})):
                return image_processor
    except Exception:  # it wants its pictures otherwise
        return image_processor
    memo.forget()
    return memo


class _Remembering:
    def __init__(self, image_processor: Any, kept_bytes: int) -> None:
        self._image_processor = image_processor
        self._limit = kept_bytes
        self._joins = True
        self.forget()

    def forget(self) -> None:
        self._kept: OrderedDict[tuple[str, str], Mapping[str, Any]] = OrderedDict()
        self._bytes = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._image_processor, name)

    def __call__(self, images: Any, *args: Any, **options: Any) -> Any:
        pictures = list(_flat(images))
        recognisable = pictures and all(map(_name_of, pictures)) and options.get("return_tensors") == "pt"
        if args or not recognisable or not self._joins:
            return self._image_processor(images, *args, **options)
        made = [self._made(picture, options) for picture in pictures]
        try:
            return _joined(made)
        except _Apart:
            self._joins = False
            return self._image_processor(images, *args, **options)

    def apart(self, pictures: list[Any], options: dict[str, Any]) -> Any:
        """Outputs of single pictures, concatenated along the first dimension.

        Raises:
            _Apart: they cannot be joined.
        """
        return _joined([self._made(picture, options) for picture in pictures])

    def _made(self, picture: Any, options: dict[str, Any]) -> Any:
        key = (_name_of(picture), repr(sorted(options.items(), key=str)))
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        made = self._image_processor([picture], **options)
        self._kept[key] = made
        self._bytes += _size(made)
        while self._bytes > self._limit and len(self._kept) > 1:
            self._bytes -= _size(self._kept.popitem(last=False)[1])
        return made


def _name_of(picture: Any) -> str:
    return str(getattr(picture, "info", {}).get(_NAME, ""))


def _flat(images: Any) -> Iterator[Any]:
    if isinstance(images, (list, tuple)):
        for image in images:
            yield from _flat(image)
    else:
        yield images


def _joined(made: list[Any]) -> Any:
    joined: dict[str, Any] = {}
    for key in made[0]:
        values = [part.get(key) for part in made]
        if all(isinstance(value, list) for value in values):
            joined[key] = [item for value in values for item in value]
        elif all(isinstance(value, torch.Tensor) and value.shape[1:] == values[0].shape[1:] for value in values):
            joined[key] = torch.cat(values)
        else:
            raise _Apart
    return type(made[0])(data=joined)


def _equal(value: Any, other: Any) -> bool:
    if isinstance(value, torch.Tensor) and isinstance(other, torch.Tensor):
        return value.dtype == other.dtype and bool(torch.equal(value, other))
    if isinstance(value, Mapping) and isinstance(other, Mapping):
        return set(value) == set(other) and all(_equal(value[key], other[key]) for key in value)
    return type(value) is type(other) and bool(value == other)


def _size(made: Mapping[str, Any]) -> int:
    return sum(int(getattr(value, "nbytes", 0)) for value in made.values())


_FREE_SHARE = 0.7
"""Share of a device's free memory for the key-value cache of a batch; the rest is for the layers."""


def load(model: str, source: Json, args: Json, stages: Stages) -> tuple[Any, Any, bool]:
    """Model, processor (or tokenizer), and whether it has vision."""
    try:
        mend_torch_builds()
        import transformers
        from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText
    except ImportError as error:
        raise missing("transformers", error) from error
    transformers.logging.set_verbosity_error()
    if not this_rank().first:
        transformers.logging.disable_progress_bar()
    place = own_place()
    by_accelerate = bool(importlib.util.find_spec("accelerate"))
    if by_accelerate:
        args = {"device_map": place} | args
    try:
        config = AutoConfig.from_pretrained(model, **source)
        sees = type(config) in AutoModelForImageTextToText._model_mapping
        auto = AutoModelForImageTextToText if sees else AutoModelForCausalLM
        reader = transformers.AutoProcessor if sees else transformers.AutoTokenizer
        processor = reader.from_pretrained(model, **source)
        stages.begin("weights", "transformers loads the weights")
        loaded = auto.from_pretrained(model, **source, **args)
        if not by_accelerate and place != "auto":
            loaded.to(place)
    except Exception as error:
        raise UserError(f"transformers cannot load {model}: {one_line(error)}") from error
    loaded.eval()
    stages.end()
    return loaded, processor, sees


def own_place() -> str:
    """Device map of this process: "auto", or one device if several were launched.

    More processes than devices share them, even where each sees one device.
    """
    if os.environ.get("ACCELERATE_USE_CPU", "").lower() in ("1", "true", "yes"):
        return "cpu"
    rank = this_rank()
    if rank.alone:
        return "auto"
    if not torch.accelerator.is_available():
        return "cpu"
    kind = torch.accelerator.current_accelerator().type
    return f"{kind}:{rank.local % torch.accelerator.device_count()}"


def cells_in_memory(model: Any) -> int | None:
    """Tokens of key-value cache that fit on the devices, at 2 · layers · heads · head size · bytes a number."""
    devices = {device for device in devices_of(model) if device.type == "cuda"}
    size = bytes_a_cell(model.config.get_text_config(), model.dtype.itemsize)
    if not devices or not size:
        return None
    free = min(torch.cuda.mem_get_info(device)[0] for device in devices) * len(devices)
    return int(_FREE_SHARE * free / size)


def devices_of(model: Any) -> set[Any]:
    """The model's devices without the CPU."""
    places = getattr(model, "hf_device_map", None) or {"": model.device}
    devices = {torch.device(place) for place in places.values() if place != "disk"}
    return {device for device in devices if device.type not in ("cpu", "meta")}


def bytes_a_cell(config: Any, itemsize: int) -> int | None:
    """Bytes of key-value cache a token, if known."""
    layers = getattr(config, "num_hidden_layers", None)
    queries = getattr(config, "num_attention_heads", None)
    if not layers or not queries:
        return None
    heads = getattr(config, "num_key_value_heads", None) or queries
    width = getattr(config, "head_dim", None) or config.hidden_size // queries
    return int(2 * layers * heads * width * itemsize)
