"""MODEL@ENGINE:K=V, as every option that names a model to ask reads it."""

from __future__ import annotations

import pytest

from livek12.core.errors import UserError
from livek12.engines.asking import ModelSpec, model_spec, model_specs


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("m", ModelSpec("m", "openai", {"base_url": "u"})),
        (" org/m@main ", ModelSpec("org/m@main", "openai", {"base_url": "u"})),
        ("m@vllm", ModelSpec("m", "vllm", {"base_url": "u"})),
        ("org/m@main@vllm:a=1,b=2", ModelSpec("org/m@main", "vllm", {"a": "1", "b": "2"})),
        ("r.jsonl@replay:pick=x", ModelSpec("r.jsonl", "replay", {"pick": "x"})),
    ],
)
def test_a_model_may_bring_its_engine(text: str, spec: ModelSpec) -> None:
    assert model_spec(text, "--model", "openai", "base_url=u") == spec


def test_models_stand_between_commas() -> None:
    found = model_specs('a@openai:base_url=u,extra={"x": [1, 2]},b,c@vllm', "--judge")
    assert [(spec.model, spec.engine) for spec in found] == [("a", "openai"), ("b", "auto"), ("c", "vllm")]
    assert found[0].engine_args == {"base_url": "u", "extra": '{"x": [1, 2]}'}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (" ", "--model names no model"),
        ("m@vlm:api_key=sk-1", "--model: 'vlm' is no such engine"),
        ("m@vllm:x", "is not"),
    ],
)
def test_what_names_no_model_is_one_line_without_secrets(text: str, problem: str) -> None:
    with pytest.raises(UserError, match=problem) as caught:
        model_spec(text, "--model")
    assert "sk-1" not in str(caught.value) and "\n" not in str(caught.value)


def test_a_vllm_with_an_address_is_an_endpoint() -> None:
    assert ModelSpec("m", "vllm", {"base_url": "http://h/v1"}).runs_on == "openai"
    assert ModelSpec("m.jsonl").runs_on == "replay"
