"""How answers are drawn: a new choice changes no record and no hash of those that do not make it."""

from __future__ import annotations

import pytest

from livek12.core.records import Key, Message, Part, Request, Sampling
from livek12.evaluation.task_data import sampling_of
from livek12.judges.llm.spec import parse_judge
from livek12.tasks.prompting import build_request
from livek12.tasks.registry import get_task
from tests.tasks.test_prompting import question

OLD = '{"temperature":0.6,"top_p":0.9,"top_k":20,"max_tokens":2048,"thinking_budget":null,"seed":0,"stop":[]}'
"""As run.json held it before there were system prompts."""


def test_without_a_system_prompt_all_is_as_it_was() -> None:
    sampling = Sampling.model_validate_json(OLD)
    assert sampling.model_dump_json() == OLD
    message = Message(role="user", content=[Part(type="text", text="2+2?")])
    request = Request(key=Key(task="t", question_id="q"), messages=[message], sampling=sampling)
    assert request.prompt_sha256 == "73aeb531755f1d7119f37112387b5745ae310d8df49f9e7fda355251982842a0"
    judge = parse_judge("m@openai:base_url=http://x/v1")
    assert judge is not None
    assert judge.version("p1", [], 1).endswith("+284a8a74")


@pytest.mark.parametrize("said", ["Be brief.", "First\nthen", ""])
def test_a_system_prompt_is_the_first_message_and_part_of_the_prompt(said: str) -> None:
    key = Key(task="livek12_text_only", question_id="q1")
    choices = (Sampling(), Sampling(system_prompt=said))
    plain, told = (build_request(get_task(key.task), question(), key, sampling, {}) for sampling in choices)
    assert [message.role for message in told.messages] == ["system", "user"]
    assert "".join(part.text or "" for part in told.messages[0].content) == said
    assert told.messages[1:] == plain.messages
    assert told.prompt_sha256 != plain.prompt_sha256
    assert Sampling.model_validate_json(told.sampling.model_dump_json()).system_prompt == said


def test_a_budget_that_may_be_passed_over_changes_no_older_record() -> None:
    assert "thinking_optional" not in Sampling(thinking_budget=5).model_dump_json()
    optional = Sampling(thinking_budget=5, thinking_optional=True)
    assert Sampling.model_validate_json(optional.model_dump_json()) == optional


@pytest.mark.parametrize(
    ("said", "engine", "budget", "optional"),
    [
        ({}, "vllm", 16_000, True),
        ({"max_tokens": 99}, "openai", 16_000, True),
        ({"thinking_budget": 7}, "vllm", 7, False),
        ({}, "replay", None, False),
    ],
)
def test_cfe_limits_the_thinking_where_that_can_be(
    said: dict[str, int], engine: str, budget: int | None, optional: bool
) -> None:
    sampling = sampling_of(get_task("cfe_text"), said, engine)
    assert (sampling.thinking_budget, sampling.thinking_optional) == (budget, optional)
    assert sampling.max_tokens == said.get("max_tokens", 18_048)
