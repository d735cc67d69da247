"""Thoughts and answers of today's open families, by each engine, with thinking on, off and cut in the middle."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from livek12.core.records import Response
from livek12.engines import make_engine
from livek12.engines.thinking import Thinking
from tests.engines.conftest import needs, needs_transformers
from tests.engines.families import ANSWER, FAMILIES, THOUGHT, Family, tokenizer_of
from tests.engines.helpers import ask, response
from tests.engines.scripted_server import Reply, Script, completion, serving

CASES = [
    (name, case) for name, family in FAMILIES.items() for case in ("on", "off", "cut") if family.thinks or case == "on"
]


def written(family: Family, case: str) -> str:
    """What the model writes, with the token that ends it."""
    return family.cut if case == "cut" else getattr(family, case) + family.end


def check(family: Family, case: str, got: Response) -> None:
    thought = {"on": THOUGHT, "off": None, "cut": THOUGHT[:-2]}[case] if family.thinks else None
    assert (got.reasoning, got.text) == (thought, "" if case == "cut" else ANSWER)
    assert got.finish_reason == ("length" if case == "cut" else "stop")


def check_counts(family: Family, tokenizer: Any, case: str, got: Response) -> None:
    assert got.completion_tokens == len(tokenizer(written(family, case))["input_ids"])
    assert got.reasoning_tokens == len(got.reasoning or "")  # the tokenizer is one of bytes


@pytest.fixture(scope="module")
def parrot() -> type:
    """A model that says what its configuration holds, whatever it is asked."""
    needs_transformers()
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, GenerationMixin, PreTrainedConfig, PreTrainedModel
    from transformers.modeling_outputs import CausalLMOutputWithPast

    class ParrotConfig(PreTrainedConfig):
        model_type = "parrot"
        max_position_embeddings = 4096
        vocab_size = num_hidden_layers = num_attention_heads = hidden_size = 1
        script = ()

    class Parrot(PreTrainedModel, GenerationMixin):
        config_class = ParrotConfig

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.weight = torch.nn.Parameter(torch.zeros(1))
            self.said = 0
            self.post_init()

        def forward(self, input_ids: Any, **_: Any) -> Any:
            self.said = 0 if input_ids.shape[1] > 1 else self.said + 1  # the prompt, then token by token
            logits = torch.zeros(*input_ids.shape, self.config.vocab_size)
            logits[:, -1, self.config.script[min(self.said, len(self.config.script) - 1)]] = 1.0
            return CausalLMOutputWithPast(logits=logits)

    AutoConfig.register("parrot", ParrotConfig)
    AutoModelForCausalLM.register(ParrotConfig, Parrot)
    return Parrot


@pytest.mark.parametrize(("name", "case"), CASES)
def test_transformers(parrot: Any, name: str, case: str, tmp_path: Path) -> None:
    family = FAMILIES[name]
    tokenizer = tokenizer_of(family)
    script = tokenizer(written(family, case))["input_ids"]
    config = parrot.config_class(
        script=script, vocab_size=len(tokenizer), eos_token_id=tokenizer.eos_token_id, pad_token_id=0
    )
    parrot(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    args = {"off": {"enable_thinking": "false"}}.get(case, {})
    engine = make_engine("transformers", str(tmp_path), args)
    got = response(next(iter(engine.generate([ask("q", max_tokens=len(script))]))))
    engine.close()
    check(family, case, got)
    check_counts(family, tokenizer, case, got)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "case"), CASES)
def test_vllm_in_process(name: str, case: str) -> None:
    """vLLM's own detokenizer reads the tokens, our engine what comes of them; only the model is not there."""
    needs("vllm")
    needs_transformers()
    from vllm import SamplingParams
    from vllm.v1.engine import EngineCoreRequest
    from vllm.v1.engine.detokenizer import IncrementalDetokenizer

    from livek12.engines.vllm.engine import VLLMEngine

    family = FAMILIES[name]
    tokenizer = tokenizer_of(family)
    engine = VLLMEngine.__new__(VLLMEngine)
    engine.model, engine.revision, engine._thinking = name, None, Thinking()
    engine._special, engine._tokenizer = engine._thinking.kept(tokenizer), tokenizer
    engine._budgets = False
    engine._watch = SimpleNamespace(own_process=False)  # type: ignore[assignment]
    engine._defaults, engine.versions = {}, dict  # type: ignore[method-assign]
    question = [{"role": "user", "content": "2+2?"}]
    prompt = tokenizer.apply_chat_template(
        question, add_generation_prompt=True, return_dict=False, **{family.switch: case != "off"}
    )
    request = ask("q", max_tokens=4000)
    sampling: SamplingParams = engine._sampling(request)
    core = EngineCoreRequest("r", prompt, None, sampling, None, 0.0, None, None, None)
    detokenizer = IncrementalDetokenizer.from_new_request(tokenizer, core)
    tokens = tokenizer(written(family, case))["input_ids"]
    detokenizer.update(tokens, stop_terminated=case != "cut")
    text = detokenizer.get_next_output_text(finished=True, delta=False)
    sample = SimpleNamespace(text=text, token_ids=tokens, finish_reason="length" if case == "cut" else "stop")
    output = SimpleNamespace(prompt=None, prompt_token_ids=prompt, num_cached_tokens=0)
    got = engine._response(request, output, sample, 1.0)
    check(family, case, got)
    check_counts(family, tokenizer, case, got)


@pytest.mark.parametrize(("name", "case"), CASES)
@pytest.mark.parametrize("parsed", [True, False], ids=["own-field", "in-the-text"])
def test_served(name: str, case: str, parsed: bool) -> None:
    """Thoughts in a field of their own, or in the text, from which a server has dropped the special tokens."""
    needs_transformers()
    family = FAMILIES[name]
    thought = {"on": THOUGHT, "off": None, "cut": THOUGHT[:-2]}[case] if family.thinks else None
    args = {"think_opened": "true"} if not parsed and case != "off" and "<think>" in family.opening[0] else {}
    if parsed:
        reply = completion("" if case == "cut" else ANSWER, reasoning_content=thought)
    else:
        tokenizer = tokenizer_of(family)
        tokens = tokenizer(written(family, case).removesuffix(family.end))["input_ids"]
        # Without its special tokens nothing would tell what these two thought (docs/choose-an-engine.md).
        kept = name in ("gemma4", "magistral")
        reply = completion(tokenizer.decode(tokens, skip_special_tokens=not kept))
    reply["choices"][0]["finish_reason"] = "length" if case == "cut" else "stop"
    with serving(Script(lambda question, before: Reply(body=json.dumps(reply).encode()))) as url:
        engine = make_engine("openai", "m", {"base_url": url, **args})
        got = response(next(iter(engine.generate([ask("q")]))))
        engine.close()
    check(family, case, got)
