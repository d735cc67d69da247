"""A limit on thinking: on token sequences, on real engines, and in what an endpoint is sent and says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livek12.core.errors import UserError
from livek12.core.records import Failure, Request, Response
from livek12.engines import make_engine
from livek12.engines.openai.format import read_completion
from livek12.engines.thinking import Thinking
from livek12.engines.thinking_budget import ThinkingLimit, reasoning_config, tags_of
from tests.engines.conftest import needs, needs_transformers
from tests.engines.helpers import ask, by_question, response
from tests.engines.scripted_server import Reply, Script, completion, error, good, serving

BUDGETS = (0, 4, 9, None)
START, END = 100, 101


# --- what has to be said when


def said(limit: ThinkingLimit, prompt: list[int], wishes: list[int]) -> list[int]:
    """What comes of one row whose model would say `wishes`, whatever it said before."""
    torch = pytest.importorskip("torch")
    tokens = list(prompt)
    for wish in wishes:
        scores = torch.zeros(1, 128)
        scores[0, wish] = 1.0
        tokens.append(int(limit(torch.tensor([tokens]), scores)[0].argmax()))
    return tokens[len(prompt) :]


@given(st.lists(st.sampled_from([1, 2, START, END]), min_size=1, max_size=30), st.integers(0, 6), st.booleans())
def test_no_more_is_thought_and_all_else_is_left_alone(wishes: list[int], budget: int, opened: bool) -> None:
    inside, thought = opened, 0
    prompt = [5, START, END, *([START] if opened else [])]
    for wish, token in zip(wishes, said(ThinkingLimit([START], [END], budget), prompt, wishes), strict=True):
        assert token == (END if inside and thought == budget else wish)
        thought += inside and token not in (START, END)
        inside = token == START or (inside and token != END)
    assert thought <= budget


@pytest.mark.parametrize(
    ("wishes", "comes"),
    [
        ([1, 7, 8, 1, 2, 3, 4], [1, 7, 8, 1, 2, 8, 9]),  # opened by 7 8: two of thinking, then closed by 8 9
        ([7, 8, 1, 8, 9, 3, 4], [7, 8, 1, 8, 9, 3, 4]),  # closed of its own accord
        ([7, 1, 8, 9, 1, 1, 1], [7, 1, 8, 9, 1, 1, 1]),  # never opened
    ],
)
def test_tags_may_be_several_tokens(wishes: list[int], comes: list[int]) -> None:
    assert said(ThinkingLimit([7, 8], [8, 9], 2), [5, 5], wishes) == comes


def test_each_row_is_limited_by_itself() -> None:
    torch = pytest.importorskip("torch")
    limit = ThinkingLimit([START], [END], 2)
    rows = [[0, START], [0, 5], [START, END]]
    said: list[list[int]] = [[], [], []]
    for _ in range(5):
        scores = torch.zeros(3, 128)
        scores[:, 9] = 1.0
        for row, ids, token in zip(rows, said, limit(torch.tensor(rows), scores).argmax(-1).tolist(), strict=True):
            row.append(token)
            ids.append(token)
    assert said == [[9, 9, END, 9, 9], [9] * 5, [9] * 5]


# --- whose tags


class Speaker:
    """As much of a tokenizer as the search for tags looks at."""

    def __init__(self, template: str | None, *vocabulary: str) -> None:
        self.chat_template = template
        self._vocabulary = {token: index for index, token in enumerate(vocabulary)}

    def get_vocab(self) -> dict[str, int]:
        return self._vocabulary


@pytest.mark.parametrize(
    ("speaker", "named", "found"),
    [
        (Speaker("", "<think>", "</think>"), Thinking(), ("<think>", "</think>")),
        (Speaker("{{ '<think>' }}", "[THINK]", "[/THINK]"), Thinking(), ("[THINK]", "[/THINK]")),
        (Speaker("… </think> … <think>"), Thinking(), ("<think>", "</think>")),
        (Speaker("assistant\n<thought>"), Thinking(), ("<thought>", "</thought>")),
        (Speaker(None), Thinking("<scratch>", "</scratch>"), ("<scratch>", "</scratch>")),
        (Speaker("", "<think>", "</think>"), Thinking("[THINK]"), ("[THINK]", "[/THINK]")),
    ],
)
def test_the_tags_of_a_model(speaker: Speaker, named: Thinking, found: tuple[str, str]) -> None:
    assert tags_of(speaker, named, "m") == found


def test_a_model_without_known_tags_is_refused_in_one_line() -> None:
    with pytest.raises(UserError, match=r"m: no thinking tags .* think_start=") as raised:
        tags_of(Speaker("plain", "a", "b"), Thinking(), "m")
    assert "\n" not in str(raised.value)


# --- engines


@pytest.fixture(scope="module")
def thinker(tiny_text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random model whose every token is one character, and which thinks between tags that are tokens."""
    from string import ascii_letters, digits

    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import AutoModelForCausalLM, AutoTokenizer, Qwen2TokenizerFast

    folder = tmp_path_factory.mktemp("thinker")
    core = Tokenizer(
        models.BPE({token: index for index, token in enumerate(["<|im_end|>", *ascii_letters, *digits])}, [])
    )
    core.pre_tokenizer, core.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    end = "<|im_end|>"
    tokenizer = Qwen2TokenizerFast(tokenizer_object=core, eos_token=end, pad_token=end, unk_token=None)
    tokenizer.add_tokens(["<think>", "</think>"])
    tokenizer.chat_template = AutoTokenizer.from_pretrained(tiny_text).chat_template
    model = AutoModelForCausalLM.from_pretrained(tiny_text)
    model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    model.config.eos_token_id = model.generation_config.eos_token_id = 0
    model.config.pad_token_id = model.generation_config.pad_token_id = 0
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def requests() -> list[Request]:
    """Some answers under each budget, drawn at random, so that some think to the end if they may."""
    return [
        ask(f"{budget}-{n}", max_tokens=16, temperature=1.0, seed=n, thinking_budget=budget)
        for n in range(8)
        for budget in BUDGETS
    ]


def check(outcomes: list[Any]) -> None:
    thought: dict[str, list[Response]] = {}
    for name, outcome in by_question(outcomes).items():
        thought.setdefault(name.partition("-")[0], []).append(response(outcome))
    for budget in BUDGETS[:-1]:
        # A random model may say a tag of its own accord, and then again: only those that said the one are looked at.
        once = [got for got in thought[str(budget)] if _tags(got) == 1]
        assert max(got.reasoning_tokens or 0 for got in once) == budget
        assert any(got.text for got in once), "after the thinking comes an answer"
    assert max(got.reasoning_tokens or 0 for got in thought["None"]) > 9


def _tags(got: Response) -> int:
    """How many tags an answer said: all its tokens are one character, but for tags and the one that ends it."""
    assert got.completion_tokens is not None
    said = (got.reasoning or "").replace("\n", "") + got.text
    return got.completion_tokens - len(said) - (got.finish_reason == "stop")


def test_transformers_closes_the_thinking(thinker: Path) -> None:
    needs_transformers()
    engine = make_engine("transformers", str(thinker), {"enable_thinking": "true", "batch_size": "16"})
    check(list(engine.generate(requests())))
    engine.close()


@pytest.mark.parametrize("name", ["transformers", pytest.param("vllm", marks=[pytest.mark.slow, pytest.mark.release])])
def test_a_model_that_does_not_think_is_refused_unless_the_budget_is_optional(
    thinker: Path, tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    needs(*({"vllm": ["vllm"]}.get(name, [])))
    shutil.copytree(thinker, tmp_path / "mute")
    for file in ("tokenizer.json", "tokenizer_config.json", "added_tokens.json", "chat_template.jinja"):
        if (path := tmp_path / "mute" / file).exists():
            path.write_text(path.read_text().replace("think>", "mute>"))
    args = {"vllm": {"thinking_budgets": "true"}}.get(name, {})
    with pytest.raises(UserError, match="no thinking tags"):
        list(make_engine(name, str(tmp_path / "mute"), args).generate(requests()))
    optional = make_engine(name, str(tmp_path / "mute"), {**args, **({"thinking_optional": "true"} if args else {})})
    asked = [ask(f"q{n}", max_tokens=4, **OPTIONAL) for n in range(2)]
    assert all(isinstance(outcome, Response) for outcome in optional.generate(asked))
    assert [text.count("share the limit of tokens") for text in caplog.messages].count(1) == 1, "it is said once"
    optional.close()


@pytest.mark.slow
@pytest.mark.release
def test_vllm_closes_the_thinking(thinker: Path) -> None:
    needs("vllm")
    args = {"enable_thinking": "true", "thinking_budgets": "true", "max_model_len": "256"}
    engine = make_engine("vllm", str(thinker), args)
    check(list(engine.generate(requests())))
    engine.close()


def test_a_tokenizer_with_code_of_its_own_is_read_where_that_is_trusted(thinker: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    shutil.copytree(thinker, own)
    (own / "tokenization_own.py").write_text(
        "from transformers import Qwen2TokenizerFast\n\nclass OwnTokenizer(Qwen2TokenizerFast):\n    pass\n"
    )
    config = json.loads((own / "tokenizer_config.json").read_text())
    config |= {
        "tokenizer_class": "OwnTokenizer",
        "auto_map": {"AutoTokenizer": [None, "tokenization_own.OwnTokenizer"]},
    }
    (own / "tokenizer_config.json").write_text(json.dumps(config))
    model = json.loads((own / "config.json").read_text()) | {"model_type": "own"}
    (own / "config.json").write_text(json.dumps(model))
    with pytest.raises(UserError, match="cannot be read for thinking tags") as raised:
        reasoning_config(str(own), Thinking(), None)
    assert "\n" not in str(raised.value)
    tags = {"reasoning_start_str": "<think>", "reasoning_end_str": "</think>"}
    assert reasoning_config(str(own), Thinking(), None, trust_remote_code=True) == tags


# --- endpoints


def answered(script: Script, request: Request, **args: str) -> Any:
    with serving(script) as url:
        engine = make_engine("openai", "m", {"base_url": url, "max_retries": "0", **args})
        try:
            return next(iter(engine.generate([request])))
        finally:
            engine.close()


@pytest.mark.parametrize(
    ("args", "path", "beside"),
    [
        ({}, ["thinking_token_budget"], {}),
        ({"thinking_budget_field": "thinking_budget"}, ["thinking_budget"], {}),
        (
            {"thinking_budget_field": "thinking.budget_tokens", "extra_body": '{"thinking": {"type": "enabled"}}'},
            ["thinking", "budget_tokens"],
            {"type": "enabled"},
        ),
    ],
)
def test_an_endpoint_is_sent_the_budget_as_it_calls_it(
    args: dict[str, str], path: list[str], beside: dict[str, str]
) -> None:
    script = Script(lambda question, before: good())
    response(answered(script, ask("q", thinking_budget=5), **args))
    (seen,) = script.seen
    value: Any = seen.body
    for name in path[:-1]:
        value = value[name]
        assert beside.items() <= value.items()
    assert value[path[-1]] == 5
    script = Script(lambda question, before: good())
    response(answered(script, ask("q"), **args))
    assert path[-1] not in str(script.seen[0].body), "without a budget nothing is said of one"


@pytest.mark.parametrize("status", [400, 422])
def test_an_endpoint_that_takes_no_budget_ends_the_run_in_one_line(status: int) -> None:
    def refuse(question: str, before: int) -> Reply:
        return error(status, "Unrecognized request argument supplied: thinking_token_budget")

    with pytest.raises(UserError, match=r"takes no thinking budget as thinking_token_budget.*leave --thinking-budget"):
        answered(Script(refuse), ask("q", thinking_budget=5))


OPTIONAL = {"thinking_budget": 5, "thinking_optional": True}


@pytest.mark.parametrize(
    "words", ["Unrecognized request argument: thinking_token_budget", "Extra inputs are forbidden"]
)
def test_an_endpoint_that_takes_no_budget_is_asked_without_where_it_is_optional(
    words: str, caplog: pytest.LogCaptureFixture
) -> None:
    script = Script(lambda question, before: good() if before else error(400, words))
    response(answered(script, ask("q", **OPTIONAL)))
    with_it, without = (seen.body for seen in script.seen)
    assert with_it.pop("thinking_token_budget") == 5
    assert with_it == without
    (said,) = caplog.messages
    assert "takes no thinking budget as thinking_token_budget; thinking and answer share the limit" in said


def test_a_refusal_of_both_keeps_the_budget_and_is_the_request_s_own(caplog: pytest.LogCaptureFixture) -> None:
    script = Script(lambda question, before: error(400, "not this question"))
    assert isinstance(answered(script, ask("q", **OPTIONAL)), Failure)
    assert len(script.seen) == 2
    assert not caplog.messages


def test_another_refusal_is_the_request_s_own() -> None:
    outcome = answered(Script(lambda question, before: error(400, "too long")), ask("q", thinking_budget=5))
    assert isinstance(outcome, Failure)
    assert outcome.final


@pytest.mark.parametrize(
    ("counted", "written"),
    [
        ((100, 90, 110), 100),  # thinking is part of the completion
        ((100, 90, 200), 190),  # thinking is counted beside it: 10 + 100 + 90
        ((100, 90, None), 100),  # no total that would show it
        ((100, 0, 110), 100),
    ],
)
def test_completion_tokens_are_all_that_was_written(counted: tuple[int, int, int | None], written: int) -> None:
    whole = completion("4")
    whole["usage"] = {
        "prompt_tokens": 10,
        "completion_tokens": counted[0],
        "completion_tokens_details": {"reasoning_tokens": counted[1]},
        **({} if counted[2] is None else {"total_tokens": counted[2]}),
    }
    got = read_completion(json.dumps(whole).encode())
    assert (got.completion_tokens, got.reasoning_tokens) == (written, counted[1])
