"""Models for benchmarks and tests: tiny ones with random weights, real sizes without weights.

`make_model` writes a folder for transformers and vLLM: configuration, learned tokenizer, chat template and, for vision
models, a processor. A real size has no weight file (`load_format=dummy`). Random weights are seeded, and large enough
that another picture gives other words.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter

from livek12.core.lazy import torch

SPECIAL = [
    *("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|vision_pad|>"),
    *("<|image_pad|>", "<|video_pad|>"),
]
CORPUS = ["What is in the picture?", "The answer is 4 because 2 + 2 = 4.", "答案是 4。", "정답은 ④"] * 8
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n"
    "{% if message.content is string %}{{ message.content }}{% else %}{% for part in message.content %}"
    "{% if part.type == 'text' %}{{ part.text }}{% elif 'image' in part.type %}"
    "<|vision_start|><|image_pad|><|vision_end|>{% endif %}{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and enable_thinking %}<think>\n{% endif %}{% endif %}"
)


@dataclass(frozen=True)
class ModelShape:
    """The sizes of a model.

    Attributes:
        vocabulary: tokens in all, filled up with ones no text has; 0: those that were learned.
        picture_tokens: the fewest and the most tokens that a picture becomes.
    """

    family: str
    text: dict[str, Any]
    vision: dict[str, Any] | None = None
    learned: int = 400
    vocabulary: int = 0
    picture_tokens: tuple[int, int] = (4, 256)

    @property
    def wordy(self) -> bool:
        """True if its tokenizer is learned from the prompts."""
        return self.learned > 400

    @property
    def real(self) -> bool:
        """True for a real size, without weights on disk."""
        return self.vocabulary > 0


SHAPES = TypeAdapter(dict[str, ModelShape]).validate_python(
    yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
)


def make_model(name: str, folder: Path, corpus: Iterable[str] = CORPUS, context: int | None = None) -> Path:
    """Writes a model of `SHAPES` and returns its folder (`corpus`: the texts of its tokenizer)."""
    from livek12.engines.torch_builds import mend_torch_builds

    mend_torch_builds()
    shape = SHAPES[name]
    if context:
        shape = replace(shape, text={**shape.text, "max_position_embeddings": context})
    tokenizer = _tokenizer(shape, corpus)
    config_class, model_class = _classes(shape.family)
    config = config_class(**_configuration(shape, tokenizer))
    if shape.real:
        config.architectures, config.dtype = [model_class.__name__], torch.bfloat16
        config.save_pretrained(folder)
    else:
        torch.manual_seed(0)
        model_class(config).save_pretrained(folder)
    if shape.vision:
        _save_processor(shape, tokenizer, folder)
    else:
        tokenizer.save_pretrained(folder)
    return folder


def small_model_folder(gguf: Path, cache: Path) -> Path:
    """The genuine small model as safetensors, cached in `cache` (needs `gguf`; 40 s, 260 MB)."""
    folder = cache / "SmolLM2-135M-Instruct"
    if not folder.is_dir():
        part = cache / f"converting-{os.getpid()}"
        _convert(gguf, part)
        if folder.is_dir():  # another process was faster
            shutil.rmtree(part)
        else:
            part.rename(folder)
    return folder


def _convert(gguf: Path, folder: Path) -> None:
    from livek12.engines.torch_builds import mend_torch_builds

    mend_torch_builds()
    from transformers import AutoModelForCausalLM, AutoTokenizer

    read = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.bfloat16)
    read.config.quantization_config = None
    del read.config.quantization_config
    fresh = AutoModelForCausalLM.from_config(read.config, dtype=torch.bfloat16)
    fresh.load_state_dict(read.state_dict())
    fresh.save_pretrained(folder)
    AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name).save_pretrained(folder)


def _tokenizer(shape: ModelShape, corpus: Iterable[str]) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import Qwen2TokenizerFast

    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=shape.learned, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    core.train_from_iterator(corpus, trainer)
    # A random model may say any token, so each must have a text.
    core.add_tokens([f" w{number}" for number in range(shape.vocabulary - core.get_vocab_size())])
    return Qwen2TokenizerFast(
        tokenizer_object=core,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        unk_token=None,
        additional_special_tokens=SPECIAL,  # the name that transformers 4 and 5 know
        chat_template=TEMPLATE,
    )


def _classes(family: str) -> tuple[Any, Any]:
    import transformers as t

    return {
        "qwen2": (t.Qwen2Config, t.Qwen2ForCausalLM),
        "qwen3": (t.Qwen3Config, t.Qwen3ForCausalLM),
        "qwen2.5-vl": (t.Qwen2_5_VLConfig, t.Qwen2_5_VLForConditionalGeneration),
        "qwen3-vl": (t.Qwen3VLConfig, t.Qwen3VLForConditionalGeneration),
    }[family]


def _configuration(shape: ModelShape, tokenizer: Any) -> dict[str, Any]:
    ids = {"eos_token_id": 2, "bos_token_id": 0, "pad_token_id": 0}
    text = {"vocab_size": len(tokenizer), "tie_word_embeddings": False, **ids, **shape.text}
    if not shape.vision:
        return text
    names = {"image_token_id": "<|image_pad|>", "video_token_id": "<|video_pad|>"}
    names |= {"vision_start_token_id": "<|vision_start|>", "vision_end_token_id": "<|vision_end|>"}
    marks = {key: tokenizer.convert_tokens_to_ids(token) for key, token in names.items()}
    return {"text_config": text, "vision_config": dict(shape.vision), **marks}


def _save_processor(shape: ModelShape, tokenizer: Any, folder: Path) -> None:
    import transformers as t

    assert shape.vision is not None
    patch = shape.vision["patch_size"]
    third = shape.family == "qwen3-vl"
    processor, video = (
        (t.Qwen3VLProcessor, t.Qwen3VLVideoProcessor) if third else (t.Qwen2_5_VLProcessor, t.Qwen2VLVideoProcessor)
    )
    fewest, most = ((patch * 2) ** 2 * tokens for tokens in shape.picture_tokens)
    images = t.Qwen2VLImageProcessor(
        patch_size=patch, merge_size=2, size={"shortest_edge": fewest, "longest_edge": most}
    )
    videos = video(patch_size=patch, merge_size=2)
    processor(images, tokenizer, videos, chat_template=TEMPLATE).save_pretrained(folder)
