"""The tokens of a text as they are reckoned where no tokenizer is at hand."""

from __future__ import annotations

import pytest

from livek12.core.text import tokens_in


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a" * 400, 100), ("求函数的值", 5), ("함수의 값", 4.25), ("x" * 4 + "值", 2)]
)
def test_how_tokens_are_reckoned(text: str, tokens: float) -> None:
    assert tokens_in(text) == tokens
