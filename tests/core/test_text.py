"""Texts in normal form."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from livek12.core.text import compatible, squeezed

SIGNS = st.text(
    alphabet=st.sampled_from("，（）：；？！．①②③④﹣～…\u3000aeA가ᄀ\u1161\u11a8\u0301\u0338\u0327<=Ａ℃ﬁ㎏数"),
    max_size=12,
)


@given(st.text() | SIGNS)
@example("＝\u0338 <\u0338 ；\u0301 …\u0301")
def test_compatible_is_nfkc(text: str) -> None:
    assert compatible(text) == unicodedata.normalize("NFKC", text)


@pytest.mark.parametrize(("one", "other"), [("（ Ａ ）．", "(A)."), ("①…\u3000x", "1...x"), ("가 나", "가나")])
def test_two_printings_of_a_text_are_squeezed_to_one(one: str, other: str) -> None:
    assert squeezed(one) == squeezed(other)
