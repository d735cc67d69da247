"""TRL trains with our reward: two steps of GRPO, whose rewards are the scores of `Verifier`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import livek12.rewards
from livek12 import Verifier
from tests.engines.conftest import needs

SIGNS = ["<pad>", "<eos>", *"0123456789+=", "?"]


def digit_model() -> Any:
    """A model of random weights that says one of `SIGNS` at a time."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(0)
    size = {"vocab_size": len(SIGNS), "max_position_embeddings": 64, "num_key_value_heads": 1, "hidden_size": 16}
    layers = {"intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    return Qwen2ForCausalLM(Qwen2Config(**size, **layers, pad_token_id=0, eos_token_id=1))


def digit_tokenizer() -> Any:
    """One token a sign."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.WordLevel({sign: place for place, sign in enumerate(SIGNS)}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer.decoder = decoders.Fuse()
    ends = {"pad_token": "<pad>", "eos_token": "<eos>"}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **ends, padding_side="left")


@pytest.mark.release
@pytest.mark.slow
def test_grpo_makes_two_steps_with_our_reward(tmp_path: Path) -> None:
    needs("trl", "torch", "transformers", "torchvision")
    from livek12.engines.torch_builds import mend_torch_builds

    mend_torch_builds()
    import torch
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    calls: list[tuple[list[str], list[str], list[float | None]]] = []

    def accuracy_reward(completions: list[str], **columns: Any) -> list[float | None]:
        rewards = livek12.rewards.accuracy_reward(completions, **columns, workers=1)
        calls.append((completions, columns["answer"], rewards))
        return rewards

    model = digit_model()
    before = [weight.clone() for weight in model.parameters()]
    rows = Dataset.from_list([{"prompt": f"{a}+{b}=", "answer": str(a + b)} for a in range(3) for b in range(3)])
    settings = {"max_steps": 2, "per_device_train_batch_size": 32, "num_generations": 16, "report_to": []}
    quiet = {"save_strategy": "no", "disable_tqdm": True, "logging_steps": 1, "use_cpu": True, "bf16": False}
    config = GRPOConfig(str(tmp_path), **settings, **quiet, max_completion_length=1, learning_rate=1e-2, seed=1)
    trainer = GRPOTrainer(model, accuracy_reward, config, rows, processing_class=digit_tokenizer())
    trainer.train()
    logged = [line for line in trainer.state.log_history if "rewards/accuracy_reward/mean" in line]
    assert [line["step"] for line in logged] == [1, 2]
    with Verifier(workers=1) as verifier:
        for (completions, keys, rewards), line in zip(calls, logged, strict=True):
            pairs = [{"gold": key, "response": text} for key, text in zip(keys, completions, strict=True)]
            assert rewards == [judgement.score for judgement in verifier.batch(pairs)]
            decided = [reward for reward in rewards if reward is not None]
            assert line["rewards/accuracy_reward/mean"] == pytest.approx(sum(decided) / len(decided), abs=1e-5)
            assert line["undecided"] == pytest.approx(rewards.count(None) / len(rewards), abs=1e-5)
    assert {1.0, 0.0} <= {reward for _, _, rewards in calls for reward in rewards}
    assert any(not torch.equal(*pair) for pair in zip(before, model.parameters(), strict=True))
