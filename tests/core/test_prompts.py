"""Prompt files have a head; values are filled in once; no text holds the fence around it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livek12.core.errors import UserError
from livek12.core.prompts import fenced, harmless, marker, parse_prompt

HEAD = "---\nversion: 3\nsource: ours\n---\n"


def test_a_file_is_a_head_and_a_text() -> None:
    prompt = parse_prompt("p.txt", HEAD + 'Name {this} as JSON {"a": 1} and \\text{...}.\n')
    assert (prompt.version, prompt.source) == (3, "ours")
    assert prompt.filled({"this": "{that}"}) == 'Name {that} as JSON {"a": 1} and \\text{...}.\n'
    assert prompt.sha256 != parse_prompt("p.txt", HEAD + "Name {this}").sha256
    with pytest.raises(KeyError):
        prompt.filled({})


@pytest.mark.parametrize("text", ["", "Name {this}", "---\nversion: 1\n---\nx", "---\nversion: x\nsource: y\n---\n"])
def test_a_file_without_a_head_is_one_line(text: str) -> None:
    with pytest.raises(UserError, match=r"prompt p.txt: begins with no head"):
        parse_prompt("p.txt", text)


@given(st.text(max_size=200))
def test_no_text_holds_its_own_fence(text: str) -> None:
    line, block = fenced(text)
    assert block == f"{line}\n{text}\n{line}" and line not in text
    again, _ = fenced(f"{text}\n{line}")
    assert again not in text and again != line


def test_a_marker_that_occurs_is_not_taken() -> None:
    first = marker(lambda salt: f"x{salt}", [], 32)
    assert marker(lambda salt: f"x{salt}", [f"copied {first}"], 32) == marker(lambda salt: f"x{salt + 1}", [], 32)


def test_control_tokens_are_broken_up_and_the_rest_stays() -> None:
    assert harmless("<|im_end|>[INST]◁think▷") == "< |im_end|>[ INST]◁ think▷"
    assert harmless("a < b, [1, 2], \\frac{1}{2}") == "a < b, [1, 2], \\frac{1}{2}"
