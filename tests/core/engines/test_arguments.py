"""`--engine-args`: text to pairs, pairs to typed arguments."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livek12.core.engines import make_engine, parse_engine_args
from livek12.core.engines.arguments import bound, typed_value
from livek12.core.errors import UserError


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
