"""Loads a model for the transformers engine: class, devices, memory left.

A single process spreads the model over all devices; each of several launched processes uses its own. `accelerate launch
--cpu` and the user's `device_map=…` take precedence.
"""

from __future__ import annotations

import importlib.util
import os
from typing import Any

from livek12.core.errors import UserError
from livek12.core.ranks import this_rank
from livek12.core.text import one_line
from livek12.engines.arguments import missing
from livek12.engines.common import Json, Stages
from livek12.engines.torch_builds import mend_torch_builds

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

    More processes than devices share them, also if the launcher shows each its own device alone.
    """
    import torch

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
    import torch

    devices = {device for device in devices_of(model) if device.type == "cuda"}
    size = bytes_a_cell(model.config.get_text_config(), model.dtype.itemsize)
    if not devices or not size:
        return None
    free = min(torch.cuda.mem_get_info(device)[0] for device in devices) * len(devices)
    return int(_FREE_SHARE * free / size)


def devices_of(model: Any) -> set[Any]:
    """The model's devices without the CPU."""
    import torch

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
