"""`--engine-args`: text to pairs, pairs to typed arguments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livek12.core.arguments import masked, typed_value
from livek12.core.errors import UserError
from livek12.engines import check_engine, make_engine, parse_engine_args
from livek12.engines.arguments import bound
from livek12.scripts.bench.models import make_model
from tests.engines.conftest import needs, needs_transformers


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("", {}),
        ("a=1", {"a": "1"}),
        ("a=1, b=x y ,c=", {"a": "1", "b": "x y", "c": ""}),
        ("max-retries=3", {"max_retries": "3"}),
        ("base_url=http://h:1/v1?a=b,api_key=k", {"base_url": "http://h:1/v1?a=b", "api_key": "k"}),
        ('e={"a": [1, 2], "b": "x,}"},c=[1,2]', {"e": '{"a": [1, 2], "b": "x,}"}', "c": "[1,2]"}),
        (r's="a\",b",t=1', {"s": r'"a\",b"', "t": "1"}),
        ("stop=],x=1", {"stop": "]", "x": "1"}),
    ],
)
def test_splits_only_at_commas_outside_json(text: str, pairs: dict[str, str]) -> None:
    assert parse_engine_args(text) == pairs


@pytest.mark.parametrize("text", ["a", "=1", "a=1,b", "a=1,a=2", 'a={"b":1', 'a="x', "a b=1"])
def test_says_in_one_line_what_is_no_argument(text: str) -> None:
    with pytest.raises(UserError) as error:
        parse_engine_args(text)
    assert "\n" not in str(error.value)


def test_half_of_a_key_is_not_shown() -> None:
    with pytest.raises(UserError, match=r"^engine argument 2 is not NAME=VALUE$"):
        parse_engine_args("api_key=sk-first,second")
    with pytest.raises(UserError, match=r"^engine argument 1 \(base_url\) is not NAME=VALUE$"):
        parse_engine_args("base_url,api_key=sk")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.dictionaries(
        st.sampled_from(["a", "b_2", "extra_body"]), st.lists(json_values) | st.dictionaries(st.text(), json_values)
    )
)
def test_any_json_survives_next_to_others(values: dict[str, Any]) -> None:
    text = ",".join(f"{name}={json.dumps(value)}" for name, value in values.items())
    assert {name: typed_value(value) for name, value in parse_engine_args(text).items()} == values


def _build(
    model: str,
    *,
    count: int = 1,
    share: float | None = None,
    on: bool = False,
    label: str | None = None,
    extra: dict[str, Any] | None = None,
    names: list[str] | None = None,
) -> None: ...


def _build_rest(model: str, *, revision: str | None = None, **rest: Any) -> None: ...


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("count", "3", 3),
        ("share", "3", 3.0),
        ("share", "1e-3", 0.001),
        ("share", "none", None),
        ("on", "TRUE", True),
        ("on", "false", False),
        ("label", "12e4567", "12e4567"),
        ("label", "null", None),
        ("extra", '{"a": 1}', {"a": 1}),
        ("names", '["a"]', ["a"]),
    ],
)
def test_values_take_the_declared_type(name: str, text: str, value: object) -> None:
    found = bound(_build, "x", {name: text})[name]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("count", "3.5", "a whole number"),
        ("count", "true", "a whole number"),
        ("share", "x", "a number"),
        ("on", "1", "true or false"),
        ("extra", "[1]", "a JSON object"),
        ("extra", '{"a"', "a JSON object"),
    ],
)
def test_a_value_of_another_type_is_named(name: str, text: str, wanted: str) -> None:
    with pytest.raises(UserError, match=rf"{name}=.* is not {wanted}"):
        bound(_build, "x", {name: text})


def test_an_unknown_argument_names_those_there_are() -> None:
    with pytest.raises(UserError, match=r"no argument concurency; it takes .*concurrency.*timeout"):
        make_engine("openai", "m", {"base_url": "http://127.0.0.1:9", "concurency": "3"})


def test_unknown_arguments_pass_through_to_a_library_typed() -> None:
    rest = {
        "max_model_len": "2048",
        "enforce_eager": "true",
        "hf_overrides": '{"a": 1}',
        "dtype": "auto",
        "revision": "1e5",
    }
    assert bound(_build_rest, "x", rest) == {
        "max_model_len": 2048,
        "enforce_eager": True,
        "hf_overrides": {"a": 1},
        "dtype": "auto",
        "revision": "1e5",
    }


@pytest.mark.parametrize(
    "args",
    [
        {"api_key": "SECRET"},
        {"apikey": "SECRET"},
        {"hf_token": "SECRET"},
        {"token": "SECRET"},
        {"OPENAI_API_KEY": "SECRET"},
        {"password": "12345"},
        {"base_url": "https://me:SECRET@host/v1?api-key=SECRET#SECRET"},
        {"base_url": "https://me:SEC/RET@host/v1"},
        {"proxies": '{"https": "socks5://me:SECRET@proxy:1"}'},
        {"extra_body": '{"api_key": "SECRET", "n": 1}'},
        {"extra_body": {"headers": [{"Authorization": "Bearer SECRET"}, {"X-Api-Key": ["SECRET"]}]}},
        {"extra_body": {"accessToken": "SECRET", "credentials": {"user": "SECRET", "id": 12345}}},
    ],
)
def test_a_secret_is_not_shown_wherever_it_stands(args: dict[str, Any]) -> None:
    shown = str(masked(args))
    assert not any(secret in shown for secret in ("SECRET", "SEC/RET", "12345", "me:"))
    assert "…" in shown or "base_url" in args or "proxies" in args
    assert masked(masked(args)) == masked(args)


@pytest.mark.parametrize(
    "args",
    [
        {"base_url": "http://127.0.0.1:8000/v1", "concurrency": "3", "max_tokens_field": "max_completion_tokens"},
        {
            "tokenizer": "org/name",
            "tokenizer_mode": "auto",
            "max_num_batched_tokens": "8192",
            "skip_tokenizer_init": "",
        },
        {"dbo_decode_token_threshold": "32", "key_mapping": '{"^a": "b"}', "spec_tokens": "3", "token": "true"},
        {"extra_body": '{"thinking": {"budget_tokens": 100}, "cache_key": 3}', "stop": '[ "a",  "b" ]'},
        {"hf_overrides": {"pad_token_id": 0, "author": "x"}, "chat_template_kwargs": None, "deep": "[" * 5000},
    ],
)
def test_what_is_no_secret_stays_as_it_was_written(args: dict[str, Any]) -> None:
    assert masked(args) == args


def test_nesting_without_end_is_not_followed() -> None:
    assert masked({"deep": '{"a":' * 400 + "1" + "}" * 400})["deep"]


def test_a_secret_of_another_type_is_not_shown() -> None:
    def build(model: str, *, api_key: int = 0) -> None: ...

    with pytest.raises(UserError, match="api_key=… is not a whole number"):
        bound(build, "x", {"api_key": "SECRET"})


def test_vllm_is_not_started_with_arguments_that_it_does_not_know() -> None:
    needs("vllm")
    for args, hint in (({"apikey": "x"}, ""), ({"max_model_length": "5"}, "; did you mean max_model_len?")):
        with pytest.raises(UserError, match=f"^the vllm engine takes no argument {next(iter(args))}") as error:
            check_engine("vllm", "org/model", args, here=False)
        assert str(error.value).endswith(hint)
    known = {
        "max_model_len": "5",
        "gpu_memory_utilization": "0.5",
        "enforce_eager": "true",
        "window": "3",
        "hf_token": "x",
    }
    check_engine("vllm", "org/model", known | {"replicas": "2"}, here=False)
    with pytest.raises(UserError, match="replicas=two is not a whole number"):
        check_engine("vllm", "org/model", {"replicas": "two"}, here=False)


@pytest.mark.slow
def test_transformers_takes_what_it_loads_with_and_what_the_config_has(tmp_path: Path) -> None:
    needs_transformers()
    model = str(make_model("tiny", tmp_path))
    check_engine("transformers", model, {"device_map": "cpu", "use_cache": "true", "batch_size": "3"}, here=False)
    with pytest.raises(UserError, match=r"^the transformers engine takes no argument apikey$"):
        make_engine("transformers", model, {"apikey": "x"})
