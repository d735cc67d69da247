"""A model's JSON is read strictly and within bounds, wherever it comes from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livek12.core.replies import MAX_REPLY, Unreadable, fields_of, parse_object
from tests.seconds import within


@pytest.mark.parametrize(
    "text", ['{"a": 1}', ' {"a": 1}\n', '```json\n{"a": 1}\n```', '```\n{"a": 1}```', '```JSON {"a": 1} ```']
)
def test_an_object_is_read_bare_or_in_a_fence(text: str) -> None:
    assert parse_object(text) == {"a": 1}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is not one JSON object"),
        ("``````", "is not one JSON object"),
        ('{"a": 1} as asked', "is not one JSON object"),
        ('```json\n{"a": 1}\n```\n```json\n{"a": 2}\n```', "is not one JSON object"),
        ("[1]", "^is no object but"),
        ('{"a": 1, "a": 2}', "gives a field twice"),
        ('{"a": NaN}', "holds NaN"),
        ("[" * 50_000, "is not one JSON object"),
        ('{"a": ' + "1" * 10_000 + "}", "is not one JSON object"),
        ("x" * (MAX_REPLY + 1), "characters long"),
    ],
)
def test_anything_else_is_unreadable_in_one_line(text: str, problem: str) -> None:
    with pytest.raises(Unreadable, match=problem) as caught:
        parse_object(text)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300


@pytest.mark.parametrize("filling", ["\n", " ", "`", "`\n", "```json\n"])
def test_a_hostile_reply_takes_no_time(filling: str) -> None:
    with within(1), pytest.raises(Unreadable):
        parse_object("```" + filling * (MAX_REPLY // len(filling) - 9) + "x```")


@given(st.text(max_size=200))
def test_any_text_is_an_object_or_unreadable(text: str) -> None:
    try:
        assert isinstance(parse_object(text), dict)
    except Unreadable as error:
        assert str(error)


def test_fields_are_exactly_those_asked_for() -> None:
    assert fields_of({"a": 1, "b": 2}, "b", "a") == {"a": 1, "b": 2}
    with pytest.raises(Unreadable, match=r"has the fields \['a', 'c'\] instead of \['a', 'b'\]"):
        fields_of({"a": 1, "c": 2}, "a", "b")
