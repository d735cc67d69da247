"""Rewards as trainers call them: what each hands over, what it takes back, and how it loads them."""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import pickle
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livek12 import UserError, rewards
from livek12.evaluation.rewarding import (
    _verifiers,
    last_asked,
    openrlhf_rows,
    response_in,
    trl_rows,
    verl_rows,
)
from tests.engines.conftest import needs
from tests.scripts.command import livek12_here

SAID = [r"So \boxed{7}.", r"So \boxed{8}.", "I can say a word.", "The answer is 7."]
SCORES = [1.0, 0.0, None, 1.0]
KEYS = ["7"] * 4


def by_path(name: str) -> Any:
    """A function of the file, loaded as trainers do: the module has a name of its own and is not in `sys.modules`."""
    spec = importlib.util.spec_from_file_location("custom_module", rewards.__file__)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


# --- TRL ------------------------------------------------------------------------------------------------------------


def talk(text: Any, role: str = "assistant") -> list[dict[str, Any]]:
    return [{"role": role, "content": text}]


def test_trl_gets_none_where_nobody_could_decide() -> None:
    assert rewards.accuracy_reward(SAID, KEYS) == SCORES
    assert rewards.accuracy_reward(SAID, KEYS, undecided=-0.5) == [1.0, 0.0, -0.5, 1.0]
    assert rewards.accuracy_reward([], []) == []


SCHEME = [{"points": 1, "text": "the law", "expression": "F = m a"}, {"points": 3, "text": "argues well"}]


def test_a_scheme_gives_the_share_of_the_points() -> None:
    """By the rules alone criteria stay open: `low` is what they have earned, and None leaves such rows out."""
    schemes = [SCHEME[:1], SCHEME, json.dumps(SCHEME)]
    columns: dict[str, Any] = {"scheme": schemes, "completions": ["We know $m a = F$."] * 3}
    assert rewards.accuracy_reward(**columns, undecided="low") == [1.0, 0.25, 0.25]
    assert rewards.accuracy_reward(**columns) == [1.0, None, None]
    score = rewards.compute_score("d", "We know $m a = F$.", None, {"scheme": SCHEME}, undecided="low")
    assert (score["score"], score["undecided"]) == (0.25, 1.0)
    with pytest.raises(UserError, match="undecided 'lo': give a number, None or 'low'"):
        rewards.accuracy_reward(**columns, undecided="lo")


def test_trl_hands_over_conversations_columns_and_tools_of_its_own() -> None:
    extra: dict[str, list[Any]] = {}
    metrics: dict[str, float] = {}
    got = rewards.accuracy_reward(
        prompts=[talk("What is 3+4?", "user")] * 4,
        completions=[talk(text) for text in SAID],
        completion_ids=[[1]] * 4,
        answer=KEYS,
        trainer_state=object(),
        environments=None,
        log_extra=extra.__setitem__,
        log_metric=metrics.__setitem__,
    )
    assert got == SCORES
    assert extra["decision"] == ["accept", "reject", "undecided", "accept"] and all(extra["reason"])
    assert metrics == {"undecided": 0.25}


def test_what_is_undecided_is_told_where_trl_has_no_metric(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "livek12.rewards"):
        rewards.accuracy_reward(SAID * 2, KEYS * 2)
    assert [record.getMessage() for record in caplog.records] == ["2 of 8 completions are undecided"]


@pytest.mark.parametrize(
    ("completion", "text"),
    [
        ("plain", "plain"),
        (talk("said"), "said"),
        (talk("first") + talk("tool says", "tool") + talk("last"), "last"),
        (talk([{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]), "a\nb"),
        ([{"content": "no role"}], "no role"),
        ([{"role": "assistant", "content": None, "tool_calls": []}], ""),
        ([], ""),
        (None, ""),
    ],
)
def test_the_response_is_what_the_assistant_said_last(completion: Any, text: str) -> None:
    (row,) = trl_rows([completion], None, {"solution": ["1"]})
    assert row["response"] == text


@pytest.mark.parametrize(
    ("prompt", "question"),
    [
        ("What is 3+4?", "What is 3+4?"),
        ("Question: Factor x^2-1.\nAnswer: (x-1)(x+1)\n\nQuestion: What is 3+4?\nAnswer:", "What is 3+4?\nAnswer:"),
        ("Q: 1+1? A: 2\nq: What is 3+4?", "What is 3+4?"),
        ("**Problem 12:** What is 3+4?", "** What is 3+4?"),
        ("问题：1+1？\n答案：2\n问题：3+4？", "3+4？"),
        ("<|im_start|>system\nSimplify.<|im_end|>\n<|im_start|>user\n3+4?<|im_end|>", "3+4?<|im_end|>"),
        ("[INST] 3+4? [/INST]", "3+4? [/INST]"),
        ("The users: how many? FAQ: none.", "The users: how many? FAQ: none."),
    ],
)
def test_of_a_prompt_of_one_text_the_last_question_counts(prompt: str, question: str) -> None:
    assert last_asked(prompt) == question
    (row,) = trl_rows(["r"], [prompt], {"solution": ["1"]})
    assert row["question"] == question


@given(st.text(st.sampled_from("Question:问题：\n #*[INST]<|im_start|>user 1")))
def test_any_prompt_has_a_question(prompt: str) -> None:
    assert last_asked(prompt) in prompt


def test_what_an_example_asks_for_is_not_asked_for() -> None:
    prompt = "Question: Simplify 6/8 to lowest terms.\nAnswer: 3/4\n\nQuestion: What is the ratio?\nAnswer:"
    assert rewards.accuracy_reward([r"\boxed{6/8}"], ["3/4"], prompts=[prompt]) == [1.0]


@pytest.mark.parametrize(
    ("columns", "row"),
    [
        ({"solution": ["s"]}, {"gold": "s"}),
        ({"solution": ["long"], "answer": ["a"]}, {"gold": "a", "solution": "long"}),
        ({"solution": ["long"], "answer": [""]}, {"gold": "long"}),
        ({"solution": ["long"], "answer": [None]}, {"gold": "long"}),
        ({"gold": [0], "answer": ["a"]}, {"gold": 0}),
        ({"ground_truth": [["1", "2"]]}, {"gold": ["1", "2"]}),
        ({"answer": ["a"], "problem": ["p"], "choices": [["x", "y"]]}, {"question": "p", "options": ["x", "y"]}),
        ({"answer": ["a"], "question": ["q"], "problem": ["p"]}, {"question": "q"}),
        ({"answer": ["a"], "unit": ["m"], "question_type": ["单选题"]}, {"unit": "m", "question_type": "单选题"}),
        ({"answer": ["a"], "variables": [None], "trainer_state": object()}, {"gold": "a"}),
    ],
)
def test_columns_become_fields(columns: dict[str, Any], row: dict[str, Any]) -> None:
    (got,) = trl_rows(["r"], ["the prompt"], columns)
    assert row.items() <= got.items()
    assert got["question"] == row.get("question", "the prompt")
    assert ("solution" in got) == ("solution" in row) and "trainer_state" not in got


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({}, "the data set has no column of keys: name one of them gold, ground_truth, answer, solution"),
        ({"answer": ["1"] * 3}, "column answer has 3 values for 4 completions"),
        ({"answer": KEYS, "options": [["a"]]}, "column options has 1 values for 4 completions"),
    ],
)
def test_a_data_set_without_keys_is_refused(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        rewards.accuracy_reward(SAID, **columns)


def test_a_row_without_a_key_is_undecided_and_told(caplog: pytest.LogCaptureFixture) -> None:
    assert rewards.accuracy_reward(SAID[:2], ["7", None], undecided=0.5) == [1.0, 0.5]
    assert "1 of 2 rows cannot be read; the first: row 1 has no gold" in caplog.text


@pytest.mark.parametrize("language", ["English", "zh-CN", "fr", 3, "en", None])
def test_a_language_that_is_none_of_ours_costs_no_row(language: Any) -> None:
    assert rewards.accuracy_reward(SAID[:1], KEYS[:1], language=[language]) == SCORES[:1]


@pytest.mark.parametrize("as_given", [list, numpy.array])
def test_options_in_two_lists_are_read(as_given: Any) -> None:
    choices = {"text": as_given(["the sun", "the moon"]), "label": as_given(["A", "B"])}
    given = {"answer": ["B", "B"], "choices": [choices, choices]}
    assert rewards.accuracy_reward(["The answer is B.", r"\boxed{the sun}"], **given) == [1.0, 0.0]


def test_a_fork_waits_for_no_thread_of_its_parent() -> None:
    rewards.accuracy_reward(SAID[:1], KEYS[:1])
    (verifier,) = (made for key, made in _verifiers.items() if key == (None, None))
    with verifier._rules._lock:  # as another thread may
        if (fork := os.fork()) == 0:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(60)
            os._exit(rewards.accuracy_reward(SAID, KEYS) != SCORES)
    assert os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1]) == 0


def test_settings_travel_to_other_processes() -> None:
    mine = pickle.loads(pickle.dumps(partial(rewards.accuracy_reward, undecided=0.5, workers=1)))
    assert mine(SAID, KEYS) == [1.0, 0.0, 0.5, 1.0]


# --- verl -----------------------------------------------------------------------------------------------------------


def test_verl_calls_for_one_from_its_threads() -> None:
    score = by_path("compute_score")

    def call(place: int) -> dict[str, Any]:
        named = {"data_source": "sums", "solution_str": SAID[place % 4], "ground_truth": "7"}
        got: dict[str, Any] = score(**named, extra_info={"num_turns": None}, undecided=0.25, reward_router_address="x")
        return got

    with ThreadPoolExecutor(16) as threads:
        told = list(threads.map(call, range(64)))
    assert [one["score"] for one in told] == [one["acc"] for one in told] == [1.0, 0.0, 0.25, 1.0] * 16
    assert [one["undecided"] for one in told] == [0.0, 0.0, 1.0, 0.0] * 16
    assert all(isinstance(one["reason"], str) and isinstance(one["decided_by"], str) for one in told)


def test_verl_calls_for_a_batch_with_columns_of_numpy() -> None:
    infos = numpy.array([{"question": "3+4?", "answer": "a long solution"}] * 4, dtype=object)
    keys = numpy.array(KEYS, dtype=object)
    told = by_path("compute_scores")(data_sources=numpy.array(["s"] * 4), solution_strs=SAID, ground_truths=keys,
                                     extra_infos=infos)  # fmt: skip
    assert [one["score"] for one in told] == [1.0, 0.0, 0.0, 1.0]


def test_the_key_of_verl_is_its_ground_truth() -> None:
    info = {"answer": "worked", "solution": "worked", "question": "q", "options": numpy.array(["x", "y"])}
    (row,) = verl_rows(["r"], [numpy.array(["1", "2"])], [info])
    assert row == {"gold": ["1", "2"], "response": "r", "question": "q", "options": ["x", "y"]}


def test_a_function_loaded_by_path_can_be_sent_to_ray() -> None:
    needs("ray")
    from ray import cloudpickle

    (told,) = cloudpickle.loads(cloudpickle.dumps(by_path("compute_scores")))(["s"], SAID[:1], KEYS[:1])
    assert told["score"] == 1.0


# --- OpenRLHF -------------------------------------------------------------------------------------------------------


def test_openrlhf_gets_tensors() -> None:
    needs("torch")
    prompt = "<|im_start|>user\nWhat is 3+4?<|im_end|>\n<|im_start|>assistant\n"
    queries = [f"{prompt}{text}<|im_end|>" for text in SAID]
    told = by_path("reward_func")(queries, [prompt] * 4, KEYS, undecided=0.5)
    assert told["rewards"].tolist() == told["scores"].tolist() == [1.0, 0.0, 0.5, 1.0]
    assert told["extra_logs"]["undecided"].tolist() == [0.0, 0.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("query", "prompt", "response"),
    [
        ("ask: say", "ask:", " say"),
        ("<s> ask:\n say", "ask: ", "\n say"),  # tokens before it, and white space that tokens say otherwise
        ("of a long prompt: say", "the beginning " * 30 + "end of a long prompt:", None),
        ("z" * 300 + ": say", "the beginning " * 30 + "z" * 300 + ":", " say"),
        ("ask: it said ask: again", "ask:", " it said ask: again"),
        ("another text", "ask:", None),
        ("say", "", "say"),
    ],
)
def test_the_response_stands_behind_the_prompt(query: str, prompt: str, response: str | None) -> None:
    assert response_in(query, prompt) == response
    (row,) = openrlhf_rows([query], [prompt], ["7"])
    assert row.get("response") == response


@given(st.text(), st.text())
def test_a_query_of_prompt_and_response_gives_the_response(prompt: str, response: str) -> None:
    assert response_in(prompt + response, prompt) == response


def test_a_query_without_its_prompt_is_no_silent_zero() -> None:
    needs("torch")
    told = rewards.reward_func([r"other \boxed{8}"], ["the prompt"], ["7"], undecided=-1.0)
    assert (told["rewards"].tolist(), told["extra_logs"]["undecided"].tolist()) == ([-1.0], [1.0])


def test_a_label_may_be_a_whole_row() -> None:
    label = {"gold": "B", "question_type": "单选题", "options": {"A": "x", "B": "y"}, "question": "q"}
    (row,) = openrlhf_rows(["ask: 故选B。"], ["ask:"], [label])
    assert row == {**label, "response": " 故选B。"}


# --- the house ------------------------------------------------------------------------------------------------------


def test_nothing_heavy_is_imported() -> None:
    code = "import sys; from livek12 import rewards; rewards.accuracy_reward(['7'], ['7']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert not loaded & {"torch", "transformers", "datasets", "sympy", "numpy", "pint"}


@pytest.mark.parametrize("ranks", ["1", "2", "1000"])
def test_ranks_of_one_machine_share_its_cores(ranks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from livek12.core.process import cores
    from livek12.evaluation.rewarding import _share

    monkeypatch.setenv("LOCAL_WORLD_SIZE", ranks)
    assert _share() == {"1": None, "2": max(1, min(32, cores() // 2)), "1000": 1}[ranks]


@pytest.mark.parametrize("trainer", ["trl", "verl", "openrlhf", "verifiers"])
def test_the_command_says_where_the_reward_of_a_trainer_lies(trainer: str) -> None:
    ended = livek12_here("plugins", trainer)
    place = ended.out.strip()
    named = "livek12-exam" if trainer == "verifiers" else place  # verifiers asks for its package, not for the place
    assert ended.code == 0 and named in ended.err
    if trainer == "verifiers":
        assert importlib.util.find_spec(place) is not None
    elif trainer == "trl":
        assert place == f"{rewards.__name__}.{rewards.accuracy_reward.__name__}"
    else:
        assert Path(place).samefile(rewards.__file__)
