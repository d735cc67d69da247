"""A reply in its form is read; anything else fails loudly and is never mended."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livek12.core.replies import Unreadable
from livek12.judges.llm.forms import (
    Counted,
    FinalLine,
    Form,
    Marks,
    TruthLine,
    Values,
    Variables,
    Whole,
)

PART = {"part": 1, "reason": "r", "correct": True}


@pytest.mark.parametrize(
    ("form", "text", "meaning"),
    [
        (TruthLine(), "[TRUE]", lambda v: v.correct is True),
        (TruthLine(), " [FALSE]\n", lambda v: v.correct is False),
        (FinalLine(), "Final Answer: ④, Decision: [TRUE]", lambda v: v.correct and "④" in v.reason),
        (FinalLine(), "Final Answer: 1, 2, Decision: [FALSE]", lambda v: v.correct is False),
        (Whole(), '{"reason": "r", "correct": false}', lambda v: v.correct is False),
        (Whole(), '```json\n{"reason": "r", "correct": true}\n```', lambda v: v.correct is True),
        (Marks(), '{"reason": "r", "correct": 1, "total": 2}', lambda v: (v.correct, v.total) == (1, 2)),
        (Counted(1), json.dumps({"parts": [PART], "correct": 1, "total": 1}), lambda v: v.parts[0].correct),
        (Counted(), json.dumps({"parts": [PART], "correct": 1, "total": 1}), lambda v: v.total == 1),
        (Values(("v", "h")), '{"values": [{"name": "v", "value": "3"}, {"name": "h", "value": null}]}',
         lambda v: v == ["3", None]),
        (Values(("v", "h")), '{"values": [{"name": "h", "value": "3"}, {"name": "v", "value": "4"}]}',
         lambda v: v == ["4", "3"]),
        (Variables(("v",)), '{"variables": [{"name": "v", "reason": "", "correct": true}]}', lambda v: v[0].correct),
    ],
)  # fmt: skip
def test_replies_in_their_form(form: Form, text: str, meaning) -> None:
    assert meaning(form.read(text))


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (TruthLine(), "TRUE"),
        (TruthLine(), "[TRUE] because it matches"),
        (TruthLine(), "[TRUE]\n[FALSE]"),
        (TruthLine(), ""),
        (FinalLine(), "Decision: [TRUE]"),
        (FinalLine(), "Final Answer: 3, Decision: TRUE"),
        (Whole(), '{"reason": "r", "correct": "False"}'),
        (Whole(), '{"reason": "r", "correct": "true"}'),
        (Whole(), '{"reason": "r", "correct": 1}'),
        (Whole(), '{"reason": "r"}'),
        (Whole(), '{"reason": "r", "correct": true, "score": 1}'),
        (Whole(), '{"correct": false, "correct": true, "reason": "r"}'),
        (Whole(), '{"reason": "r", "correct": true} {"reason": "r", "correct": false}'),
        (Whole(), 'I think {"reason": "r", "correct": true}'),
        (Whole(), '{"reason": "r", "corr'),
        (Whole(), "[" * 100_000),
        (Whole(), '{"reason": "' + "x" * 300_000 + '", "correct": true}'),
        (Marks(), '{"reason": "r", "correct": 3, "total": 2}'),
        (Marks(), '{"reason": "r", "correct": 0, "total": 0}'),
        (Marks(), '{"reason": "r", "correct": NaN, "total": 2}'),
        (Marks(), '{"reason": "r", "correct": true, "total": 2}'),
        (Marks(), '{"reason": "r", "correct": 0.5, "total": 1}'),
        (Counted(2), json.dumps({"parts": [PART], "correct": 1, "total": 1})),
        (Counted(1), json.dumps({"parts": [PART], "correct": 0, "total": 1})),
        (Counted(1), json.dumps({"parts": [{**PART, "part": 2}], "correct": 1, "total": 1})),
        (Counted(), json.dumps({"parts": [], "correct": 0, "total": 0})),
        (Values(("v", "h")), '{"values": [{"name": "v", "value": "3"}]}'),
        (Values(("v", "h")), '{"values": [{"name": "h", "value": "3"}, {"name": "h", "value": "4"}]}'),
        (Values(("v", "v")), '{"values": [{"name": "v", "value": "3"}, {"name": "w", "value": "4"}]}'),
        (Values(("v",)), '{"values": [{"name": "v", "value": 3}]}'),
        (Variables(("v",)), '{"variables": [{"name": "w", "reason": "", "correct": true}]}'),
    ],
)
def test_replies_out_of_their_form(form: Form, text: str) -> None:
    with pytest.raises(Unreadable) as caught:
        form.read(text)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


FORMS = [TruthLine(), FinalLine(), Whole(), Marks(), Counted(2), Counted(), Values(("v",)), Variables(("v",))]
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["parts", "correct", "total", "reason"]), inner),
)


@given(st.text() | JSON.map(json.dumps))
def test_any_reply_is_read_or_refused(text: str) -> None:
    for form in FORMS:
        try:
            form.read(text)
        except Unreadable as error:
            assert "\n" not in str(error)


@pytest.mark.parametrize("form", [Whole(), Marks(), Counted(2), Counted(), Values(("v", "h")), Variables(("v", "h"))])
def test_schemas_are_closed(form: Form) -> None:
    """Guided decoding can only give what the reading accepts: every object names all its fields."""

    def objects(schema: object):
        if isinstance(schema, dict):
            if schema.get("type") == "object":
                yield schema
            for value in schema.values():
                yield from objects(value)

    found = list(objects(form.schema))
    assert found
    for schema in found:
        assert schema["additionalProperties"] is False
        assert schema["required"] == list(schema["properties"])
