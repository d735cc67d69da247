"""Names of one model are one model; families bar a judge from its relatives."""

from __future__ import annotations

import pytest

from livek12.judges.llm.families import families_of, normalised, same_model


@pytest.mark.parametrize(
    "names",
    [
        ["Qwen/Qwen3-8B", "qwen3:8b", "Qwen3-8B-AWQ", "/models/qwen3-8b.Q4_K_M.gguf", "Qwen3-8B-GPTQ-Int4",
         "Qwen/Qwen3-8B-FP8", "hub/Qwen3-8B@main", "bartowski/Qwen3-8B-GGUF", "qwen3-8b-4bit", "Qwen3-8B-bnb-4bit"],
        ["SmolLM2-135M-Instruct", "HuggingFaceTB/SmolLM2-135M-Instruct", "SmolLM2-135M-Instruct.Q4_1.gguf"],
        ["gpt-5", "openai/gpt-5", "gpt-5-2025-08-07", "GPT-5-latest"],
        ["gemini-2.5-flash", "models/gemini-2.5-flash", "google/gemini-2.5-flash:free"],
    ],
)  # fmt: skip
def test_one_model(names: list[str]) -> None:
    assert len({normalised(name) for name in names}) == 1


@pytest.mark.parametrize(
    ("a", "b"),
    [("gpt-5", "gpt-5-mini"), ("Qwen3-8B", "Qwen3-32B"), ("Qwen3-8B", "Qwen3-VL-8B"), ("glm-4.5", "glm-4.5v"),
     ("claude-opus-4.5", "claude-opus-4.6"), ("", "")],
)  # fmt: skip
def test_two_models(a: str, b: str) -> None:
    assert not same_model(a, b)


@pytest.mark.parametrize(
    ("name", "families"),
    [
        ("gpt-oss-20b", {"openai"}), ("o3-mini", {"openai"}), ("chatgpt-4o-latest", {"openai"}),
        ("DeepSeek-R1-Distill-Qwen-7B", {"deepseek", "qwen"}), ("QwQ-32B", {"qwen"}),
        ("anthropic.claude-3-5-sonnet-20241022-v2:0", {"anthropic"}), ("GLM_5.1", {"zhipu"}),
        ("Llama-3.1-Nemotron-70B-Instruct-HF", {"meta", "nvidia"}), ("gemma-3-27b-it", {"google"}),
        ("kimi-k2.6", {"moonshot"}), ("doubao-seed-2-0-pro-260215", {"bytedance"}),
        ("HyperCLOVAX-SEED-Vision-3B", {"naver"}), ("my-finetune", set()), ("judge-a", set()), ("m", set()),
    ],
)  # fmt: skip
def test_families(name: str, families: set[str]) -> None:
    assert families_of(name) == families


def test_what_the_user_declares_goes_first() -> None:
    assert families_of("/m/My-Finetune.Q4_K_M.gguf", {"my-finetune": "Qwen"}) == {"qwen"}
