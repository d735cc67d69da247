"""Passages with several choice questions are taken apart where that is certain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livek12.dataset_builders.reading.text import split_group

FOUR = "A. one B. two C. three D. four"
PASSAGE = "In 1999 3. people went. (See 2 pages.)"


@pytest.mark.parametrize(
    ("text", "key", "asked", "labels"),
    [
        (f"{PASSAGE}\n21. Why?\n{FOUR}\n22. How?\n{FOUR}", "BC", ["21. Why?", "22. How?"], ["ABCD"] * 2),
        (
            f"{PASSAGE} 1．（6 分）何时？（ ） {FOUR} 2．何地？ {FOUR}",
            "AD",
            ["1．（6 分）何时？（ ）", "2．何地？"],
            ["ABCD"] * 2,
        ),
        (f"{PASSAGE}\n（1）对的是\n{FOUR}\n（2）错的是\n{FOUR}", "AB", ["（1）对的是", "（2）错的是"], ["ABCD"] * 2),
        (
            f"{PASSAGE}\n36. {FOUR}\n37 {FOUR}\n38. A. one B. two C three D. four",
            "ABC",
            ["36.", "37", "38."],
            ["ABCD"] * 3,
        ),
        (f"Go __36__ and __37__.\n{FOUR} E. five", "EA", ["36.", "37."], ["ABCDE"] * 2),
        (f"{PASSAGE}\n1. Why?\n{FOUR}\n2. How?\nA. one B two\n3. Who?\n{FOUR}", "BAC", None, ["ABCD", "", "ABCD"]),
        # not certain
        (f"{PASSAGE}\n21. Why?\n{FOUR}\n23. How?\n{FOUR}", "BC", None, []),
        (f"{PASSAGE}\n21. Why?\n{FOUR}\n22. How?", "BC", None, []),
        (f"{PASSAGE}\n21. Why?\n{FOUR}\n22. How?\n{FOUR}", "BE", None, []),
        (f"Go __36__ and on.\n{FOUR} E. five", "EA", None, []),
        ("", "AB", None, []),
    ],
)
def test_groups(text: str, key: str, asked: list[str] | None, labels: list[str]) -> None:
    parts = split_group(text, list(key))
    assert ["".join(option.label for option in part.options) for part in parts] == labels
    if asked:
        assert [part.text.split("\n\n")[-1] for part in parts] == asked
        head = text[:20].strip()
        assert all(part.text.startswith(head) for part in parts)


def test_a_text_of_nothing_but_numbers_is_read_in_bounded_time() -> None:
    assert split_group("1. A. " * 20_000, ["A"] * 5) == []
    assert split_group("\n".join(f"{n % 9}. A. B. C." for n in range(399)), ["A"] * 9) == []


@given(st.text("12. ABCD\n(（）_", max_size=80), st.lists(st.sampled_from("ABCD"), min_size=2, max_size=3))
def test_parts_are_made_of_the_text_alone(text: str, key: list[str]) -> None:
    parts = split_group(text, key)
    assert len(parts) in (0, len(key))
    numbers = [int(part.number) for part in parts]
    assert numbers == list(range(numbers[0], numbers[0] + len(key))) if parts else True
    printed = "".join(text.split())
    for part, letters in zip(parts, key, strict=False):
        assert all("".join(option.text.split()) in printed for option in part.options)
        assert not part.options or letters in {option.label for option in part.options}
