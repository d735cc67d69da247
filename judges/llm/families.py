"""Model names: equality and families.

Comparisons ignore folder, organisation, file ending, quantisation, date and revision. A family is a trainer's line of
models; a distilled model belongs to both families.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

FAMILIES: Mapping[str, str] = {
    "openai": r"gpt|chatgpt|o[1-9]|davinci",
    "anthropic": r"claude",
    "google": r"gemini|gemma|paligemma|palm|bard",
    "qwen": r"qwen|qwq|qvq|tongyi",
    "deepseek": r"deepseek|janus",
    "meta": r"llama|codellama",
    "mistral": r"mistral|mixtral|ministral|magistral|pixtral|codestral|devstral",
    "zhipu": r"glm|chatglm|cogvlm|zai",
    "moonshot": r"kimi|moonlight|moonshot",
    "bytedance": r"doubao|(?<!-)seed",
    "baidu": r"ernie|wenxin",
    "tencent": r"hunyuan",
    "shanghai-ai-lab": r"internlm|internvl|interns|intern-s",
    "01-ai": r"(?<!-)yi",
    "baichuan": r"baichuan",
    "minimax": r"minimax|abab",
    "stepfun": r"(?<!-)step",
    "xiaomi": r"mimo",
    "openbmb": r"minicpm",
    "iflytek": r"(?<!-)spark|xinghuo",
    "skywork": r"skywork",
    "inclusion-ai": r"(?<!-)(?:ling|ring|ming)",
    "xai": r"grok",
    "microsoft": r"(?<!-)phi|wizardlm",
    "nvidia": r"nemotron|nvlm",
    "cohere": r"(?<!-)(?:command|aya)",
    "amazon": r"(?<!-)(?:nova|titan)|amazon",
    "ibm": r"granite",
    "ai2": r"olmo|molmo|tulu",
    "ai21": r"jamba",
    "tii": r"falcon",
    "huggingface": r"smollm|smolvlm|zephyr|idefics",
    "lg": r"exaone",
    "naver": r"hyperclova|hyperclovax|clova",
    "upstage": r"solar",
    "ncsoft": r"varco",
    "kakao": r"kanana",
    "skt": r"a-x|ax",
    "reka": r"reka",
}
"""Family → beginnings of its models' normalised names (a whole word, optionally with a version)."""

_WORDS = {name: re.compile(rf"(?:^|-)(?:{words})(?=$|-|\d|v\d|vl)") for name, words in FAMILIES.items()}
_ENDING = re.compile(r"\.(?:gguf|safetensors|bin|pt|onnx|jsonl)$", re.IGNORECASE)
_QUANTISED = re.compile(
    r"-(?:gguf|ggml|awq|gptq|exl[23]|bnb|mlx|nf4|hqq|aqlm|imatrix|quantized|dynamic|"
    r"i?q[2-8](?:-(?:k|[01]|xxs|xs|s|m|l|xl|nl))*|i1|ud|u?int[48]|[48]bit|fp(?:4|8|16|32)|f16|f32|bf16|mxfp[48]|nvfp4|"
    r"w\d+a\d+|torchao|e4m3|marlin|unsloth)(?=-|$)",
    re.IGNORECASE,
)
_DATED = re.compile(r"-(?:latest|free|20\d{6}|20\d\d-\d\d-\d\d)(?=-|$)", re.IGNORECASE)


def short_name(name: str) -> str:
    """Bare name in its own case: "Qwen/Qwen3-8B-AWQ" is "Qwen3-8B"."""
    last = name.strip().rstrip("/\\").replace("\\", "/").rpartition("/")[2]
    plain = _ENDING.sub("", last.partition("@")[0])
    words = "-".join(re.findall(r"[^\W_]+", plain))
    words = _QUANTISED.sub("", words)
    return _DATED.sub("", words)


def normalised(name: str) -> str:
    """Name for comparisons: "/models/qwen3-8b.Q4_K_M.gguf" and "qwen3:8b" are "qwen3-8b"."""
    return short_name(name.lower())


def families_of(name: str, declared: Mapping[str, str] | None = None) -> frozenset[str]:
    """Known families of a model; `declared` (model → family) comes first."""
    own = normalised(name)
    for model, family in (declared or {}).items():
        if normalised(model) == own:
            return frozenset({family.strip().lower()})
    return frozenset(family for family, pattern in _WORDS.items() if pattern.search(own))


def same_model(a: str, b: str) -> bool:
    """Checks whether two names are one model."""
    return bool(normalised(a)) and normalised(a) == normalised(b)
