"""Tiny models built on the spot: a randomly initialised Qwen2.5-VL, Qwen3-VL or Qwen2 with its own tokenizer.

They say nothing sensible; they take the same path through processor, chat template and engine as the real
ones. The random weights are seeded, and large enough that another picture gives other words.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

SPECIAL = [
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|vision_pad|>",
    "<|image_pad|>",
    "<|video_pad|>",
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


def _tokenizer() -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import Qwen2TokenizerFast

    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=SPECIAL, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    core.train_from_iterator(CORPUS, trainer)
    return Qwen2TokenizerFast(
        tokenizer_object=core,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        unk_token=None,
        extra_special_tokens=SPECIAL,
        chat_template=TEMPLATE,
    )


def _text_config(vocabulary: int, **more: Any) -> dict[str, Any]:
    return {
        "vocab_size": vocabulary,
        "hidden_size": 128,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 32,
        "max_position_embeddings": 2048,
        "tie_word_embeddings": False,
        "eos_token_id": 2,
        "bos_token_id": 0,
        "pad_token_id": 0,
        "initializer_range": 0.3,
        **more,
    }


def _token_ids(tokenizer: Any) -> dict[str, int]:
    names = {"image_token_id": "<|image_pad|>", "video_token_id": "<|video_pad|>"}
    names |= {"vision_start_token_id": "<|vision_start|>", "vision_end_token_id": "<|vision_end|>"}
    return {key: tokenizer.convert_tokens_to_ids(token) for key, token in names.items()}


def _rope(section: list[int], **more: Any) -> dict[str, Any]:
    return {"rope_type": "default", "mrope_section": section, "rope_theta": 10000.0, **more}


def build_text(folder: Path) -> Path:
    """A Qwen2 of 0.1 M parameters that reads text only; returns its folder."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    tokenizer = _tokenizer()
    torch.manual_seed(0)
    model = Qwen2ForCausalLM(Qwen2Config(**_text_config(len(tokenizer))))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def build_qwen25_vl(folder: Path) -> Path:
    """A Qwen2.5-VL of under a million parameters; one image token is 28 x 28 pixels."""
    import torch
    from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration
    from transformers import Qwen2_5_VLProcessor as Processor

    tokenizer = _tokenizer()
    config = Qwen2_5_VLConfig(
        text_config=_text_config(len(tokenizer), rope_parameters=_rope([4, 6, 6])),
        vision_config={
            "depth": 2,
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_heads": 4,
            "out_hidden_size": 128,
            "patch_size": 14,
            "spatial_merge_size": 2,
            "window_size": 112,
            "fullatt_block_indexes": [1],
            "initializer_range": 0.3,
        },
        **_token_ids(tokenizer),
    )
    torch.manual_seed(0)
    Qwen2_5_VLForConditionalGeneration(config).save_pretrained(folder)
    _save_processor(Processor, tokenizer, 14, folder)
    return folder


def build_qwen3_vl(folder: Path) -> Path:
    """A Qwen3-VL of under a million parameters; one image token is 32 x 32 pixels."""
    import torch
    from transformers import Qwen3VLConfig, Qwen3VLForConditionalGeneration, Qwen3VLProcessor

    tokenizer = _tokenizer()
    config = Qwen3VLConfig(
        text_config=_text_config(len(tokenizer), rope_parameters=_rope([8, 4, 4], mrope_interleaved=True)),
        vision_config={
            "depth": 2,
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_heads": 4,
            "out_hidden_size": 128,
            "patch_size": 16,
            "spatial_merge_size": 2,
            "num_position_embeddings": 256,
            "deepstack_visual_indexes": [0],
            "initializer_range": 0.3,
        },
        **_token_ids(tokenizer),
    )
    torch.manual_seed(0)
    Qwen3VLForConditionalGeneration(config).save_pretrained(folder)
    _save_processor(Qwen3VLProcessor, tokenizer, 16, folder)
    return folder


def convert_small(gguf: Path, folder: Path) -> Path:
    """The genuine small model as safetensors; a fresh model is saved, for one read from GGUF refuses to be."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    read = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.bfloat16)
    read.config.quantization_config = None
    del read.config.quantization_config
    fresh = AutoModelForCausalLM.from_config(read.config, dtype=torch.bfloat16)
    fresh.load_state_dict(read.state_dict())
    fresh.save_pretrained(folder)
    AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name).save_pretrained(folder)
    return folder


def _save_processor(kind: Any, tokenizer: Any, patch: int, folder: Path) -> None:
    from transformers import Qwen2VLImageProcessor, Qwen2VLVideoProcessor, Qwen3VLVideoProcessor

    video = Qwen3VLVideoProcessor if patch == 16 else Qwen2VLVideoProcessor
    side = patch * 2
    pixels = {"shortest_edge": side * side * 4, "longest_edge": side * side * 256}
    images = Qwen2VLImageProcessor(patch_size=patch, merge_size=2, size=pixels)
    kind(images, tokenizer, video(patch_size=patch, merge_size=2), chat_template=TEMPLATE).save_pretrained(folder)
