"""Runs `livek12.rewards` by the own code of trainers, on a CPU: `python scripts/bench/trainers.py trl|verl|openrlhf`.

Each needs its trainer in the environment (`pip install trl`, `pip install verl`); OpenRLHF, which asks for a GPU's
packages, is taken from `--source`, the folder of its unpacked wheel, of which only the module that calls rewards is
loaded. Prints one line of JSON a check; a reward that differs from what `Verifier` says ends it.

- trl: two steps of GRPOTrainer on a model of random weights that says digits
- verl: its loader, by file and by package, its reward managers (naive, batch, of the reward loop and of Ray)
- openrlhf: its loader and executor
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import sys
import tempfile
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import livek12.rewards
from livek12 import Verifier
from livek12.engines.torch_builds import mend_torch_builds

SIGNS = ["<pad>", "<eos>", *"0123456789+=", "?"]
RESPONSES = (r"So \boxed{7}.", r"So \boxed{8}.", "I can say a word.", "The answer is 7.")
GOLD = "7"
OPEN_SCORE = 0.25


def say(check: str, **figures: Any) -> None:
    """One line for a check that has passed."""
    print(json.dumps({"check": check, **figures}), flush=True)


def expected(responses: list[str], golds: list[str]) -> list[float | None]:
    """The scores of the verifier itself."""
    with Verifier(workers=1) as verifier:
        judged = verifier.batch([{"gold": gold, "response": text} for gold, text in zip(golds, responses, strict=True)])
    return [one.score for one in judged]


def check(what: str, got: list[Any], wanted: list[Any]) -> None:
    """Ends the script where they differ."""
    if got != wanted:
        sys.exit(f"{what}: {got} where {wanted} was expected")


# --- TRL ------------------------------------------------------------------------------------------------------------


def trl() -> None:
    """Two steps of GRPO: TRL calls the reward, knows None, and learns from what was decided."""
    mend_torch_builds()
    import torch
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    rows = [{"prompt": f"{a}+{b}=", "answer": str(a + b)} for a in range(3) for b in range(3)]
    asked: list[tuple[list[str], list[str], list[float | None]]] = []

    def accuracy_reward(completions: list[str], **told: Any) -> list[float | None]:
        rewards = livek12.rewards.accuracy_reward(completions, **told, workers=1)
        asked.append((completions, told["answer"], rewards))
        return rewards

    model = digit_model()
    before = [weight.clone() for weight in model.parameters()]
    with tempfile.TemporaryDirectory() as out:
        settings = {"max_steps": 2, "per_device_train_batch_size": 32, "num_generations": 16, "report_to": []}
        quiet = {"save_strategy": "no", "disable_tqdm": True, "logging_steps": 1, "use_cpu": True, "bf16": False}
        config = GRPOConfig(out, **settings, **quiet, max_completion_length=1, learning_rate=1e-2, seed=1)
        trainer = GRPOTrainer(
            model, accuracy_reward, config, Dataset.from_list(rows), processing_class=digit_tokenizer()
        )
        trainer.train()
    logged = [line for line in trainer.state.log_history if "rewards/accuracy_reward/mean" in line]
    check("steps", [line["step"] for line in logged], [1, 2])
    for (completions, golds, rewards), line in zip(asked, logged, strict=True):
        check("rewards", rewards, expected(completions, golds))
        decided = [reward for reward in rewards if reward is not None]
        check("mean", [round(line["rewards/accuracy_reward/mean"], 5)], [round(sum(decided) / len(decided), 5)])
        check("undecided", [round(line["undecided"], 5)], [round(rewards.count(None) / len(rewards), 5)])
    moved = any(not torch.equal(*pair) for pair in zip(before, model.parameters(), strict=True))
    counts = {str(kind): sum(rewards.count(kind) for _, _, rewards in asked) for kind in (1.0, 0.0, None)}
    check("a model that learns", [moved, all(counts[str(kind)] for kind in (1.0, 0.0))], [True, True])
    say("GRPOTrainer, two steps", rewards=counts, logged=[line["undecided"] for line in logged])


def digit_model() -> Any:
    """A model of random weights that says one of `SIGNS` at a time."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(0)
    size = {"vocab_size": len(SIGNS), "max_position_embeddings": 64, "num_key_value_heads": 1, "hidden_size": 16}
    layers = {"intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    ends = {"pad_token_id": 0, "eos_token_id": 1}
    return Qwen2ForCausalLM(Qwen2Config(**size, **layers, **ends))


def digit_tokenizer() -> Any:
    """One token a sign."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.WordLevel({sign: place for place, sign in enumerate(SIGNS)}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>", padding_side="left"
    )


# --- verl -----------------------------------------------------------------------------------------------------------


class _Signs:
    """A tokenizer whose tokens are code points."""

    def __call__(self, text: str, **_: Any) -> dict[str, Any]:
        import torch

        return {"input_ids": torch.tensor([list(map(ord, text))])}

    def decode(self, ids: Any, skip_special_tokens: bool = True) -> str:
        return "".join(chr(int(number)) for number in ids if int(number))


def verl() -> None:
    """The loader of verl, and its managers."""
    from omegaconf import OmegaConf
    from verl.experimental.reward_loop.reward_manager import get_reward_manager_cls as in_loop
    from verl.trainer.ppo.reward import get_custom_reward_fn
    from verl.workers.reward_manager import get_reward_manager_cls

    wanted = [OPEN_SCORE if score is None else score for score in expected([*RESPONSES], [GOLD] * len(RESPONSES))]
    for place in (livek12.rewards.__file__, "pkg://livek12.rewards"):
        settings = {"undecided": OPEN_SCORE, "workers": 1}
        named = {"path": place, "reward_kwargs": settings}
        one, many = (
            get_custom_reward_fn(OmegaConf.create({"reward": {"custom_reward_function": {**named, "name": name}}}))
            for name in ("compute_score", "compute_scores")
        )
        for name, function in (("naive", one), ("batch", many)):
            manager = get_reward_manager_cls(name)(_Signs(), 0, compute_score=function)
            told = manager(verl_rows(), return_dict=True)
            check(name, told["reward_tensor"].sum(-1).tolist(), wanted)
            say(f"verl {name}", place=place, undecided=told["reward_extra_info"]["undecided"])
        config = OmegaConf.create({"reward": {"num_workers": 2}})
        for name in ("naive", "remote"):
            check(f"loop {name}", asyncio.run(verl_loop(in_loop(name), config, one)), wanted)
            say(f"verl reward loop {name}", place=place)


async def verl_loop(manager: Any, config: Any, function: Any) -> list[float]:
    """The scores of a manager of verl's reward loop."""
    made, rows = manager(config, _Signs(), function), verl_rows()
    told = await asyncio.gather(*(made.run_single(rows[place : place + 1]) for place in range(len(RESPONSES))))
    return [one["reward_score"] for one in told]


def verl_rows() -> Any:
    """`RESPONSES` as verl holds them."""
    import numpy
    import torch
    from verl import DataProto

    prompt, longest = 3, max(map(len, RESPONSES))
    responses = torch.zeros(len(RESPONSES), longest, dtype=torch.long)
    mask = torch.zeros(len(RESPONSES), prompt + longest, dtype=torch.long)
    for place, text in enumerate(RESPONSES):
        responses[place, : len(text)] = torch.tensor(list(map(ord, text)))
        mask[place, : prompt + len(text)] = 1
    prompts = torch.full((len(RESPONSES), prompt), ord("?"))
    columns = {"data_source": "sums", "reward_model": {"ground_truth": GOLD}, "extra_info": {"question": "3+4?"}}
    values = {name: numpy.array([value for _ in RESPONSES], dtype=object) for name, value in columns.items()}
    tensors = {"prompts": prompts, "responses": responses, "attention_mask": mask}
    return DataProto.from_dict(tensors=tensors, non_tensors=values)


# --- OpenRLHF -------------------------------------------------------------------------------------------------------


def openrlhf(source: Path) -> None:
    """OpenRLHF's loader and the executor that calls rewards."""
    for name in ("openrlhf", "openrlhf.utils"):
        sys.modules[name] = ModuleType(name)
    (folder,) = {path.parent for path in source.rglob("openrlhf/utils/agent.py")}
    loaded = {name: _load(f"openrlhf.utils.{name}", folder / f"{name}.py") for name in ("logging_utils", "agent")}
    executor = loaded["agent"].SingleTurnAgentExecutor(livek12.rewards.__file__)
    told = asyncio.run(_all_executed(executor))
    wanted = expected([*RESPONSES], [GOLD] * len(RESPONSES))
    check("rewards", [one["reward"].item() for one in told], [score or 0.0 for score in wanted])
    open_ones = [one["extra_logs"]["undecided"].item() for one in told]
    check("undecided", open_ones, [float(score is None) for score in wanted])
    say("OpenRLHF, single turn", rewards=[one["reward"].tolist() for one in told], undecided=open_ones)


async def _all_executed(executor: Any) -> list[Any]:
    prompt = "<|im_start|>user\nWhat is 3+4?<|im_end|>\n<|im_start|>assistant\n"
    sampling = SimpleNamespace(max_tokens=50, logprobs=None)
    calls = [executor.execute(prompt, GOLD, sampling, 500, _Signs(), _Says(text)) for text in RESPONSES]
    return list(await asyncio.gather(*calls))


class _Says:
    """An engine that gives one response."""

    def __init__(self, text: str) -> None:
        self._text = text

    async def generate(self, *_: Any, **__: Any) -> Any:
        output = SimpleNamespace(token_ids=list(map(ord, self._text)), finish_reason="stop", logprobs=None)
        return SimpleNamespace(outputs=[output])


def _load(name: str, file: Path) -> Any:
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Runs the checks of one trainer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trainer", choices=("trl", "verl", "openrlhf"))
    parser.add_argument("--source", type=Path, help="of openrlhf: the folder of its unpacked wheel")
    args = parser.parse_args()
    if args.trainer == "openrlhf":
        if args.source is None:
            parser.error("openrlhf needs --source")
        openrlhf(args.source)
    else:
        {"trl": trl, "verl": verl}[args.trainer]()


if __name__ == "__main__":
    main()
